/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/model/model.h"

#include <string.h>
#include "sim/model/counters.h"
#include "sim/model/model_impl.h"

/*
 * Traps of the simulated devices: a notice is sent to the subnet manager's LID and again until a
 * TrapRepress with its transaction id comes (IBA volume 1, 13.4.9; which and when: 14.2.5.1).
 *
 * A node has one struct sim_trap for each kind of trap that an end port of it ever sent; a newer
 * notice of the kind takes the place of an older one that still waits. A FLIGHT_TRAP is due
 * whenever the notice is to be sent. No port sends traps faster than one in its SubnetTimeOut, so
 * several that wait take turns.
 */
#define TRAP_INTERVAL_MIN MSEC(10)
#define NOTICE_URGENT 1
#define NOTICE_SECURITY 2
#define NOTICE_INFO 4

/* Trap 256: flags in front of the length of the return path, and what there is room for of it. */
#define DR_NOTICE 0x80
#define DR_TRUNCATED 0x40
#define DR_PATH_MAX 30

/* Trap 259: all of the fields are valid but the GIDs, which come with a GRH only. */
#define VALID_ALL_BUT_GIDS 0x3f

static void
put16(uint8_t *at, uint16_t v)
{
	at[0] = (uint8_t)(v >> 8);
	at[1] = (uint8_t)v;
}

static void
put32(uint8_t *at, uint32_t v)
{
	put16(at, (uint16_t)(v >> 16));
	put16(at + 2, (uint16_t)v);
}

static void
put64(uint8_t *at, uint64_t v)
{
	put32(at, (uint32_t)(v >> 32));
	put32(at + 4, (uint32_t)v);
}

/* ---- Sending ---- */

static struct sim_trap *
trap_of(struct model *m, struct sim_node *n, unsigned port, uint16_t number)
{
	struct sim_trap *t = n->traps;

	while (t && !(t->port == port && t->number == number))
		t = t->next;
	if (t)
		return t;
	t = region_alloc(m->region, sizeof(*t));
	t->port = (uint8_t)port;
	t->number = number;
	t->due = MONOTIME_NEVER;
	t->next = n->traps;
	n->traps = t;
	return t;
}

static bool
may_trap(const struct model *m, uint32_t node, unsigned port)
{
	return !m->quiet && m->nodes[node].ports[port].info.sm_lid;
}

/* It is sent at this time. Its last flight may be under way to a later one, and then does nothing:
 * however often a trap is started, few flights are. */
static void
send_at(struct model *m, uint32_t node, struct sim_trap *t, monotime when)
{
	struct flight *f;

	if (t->due <= when)
		return;
	t->due = when;
	f = flight_new(m, FLIGHT_TRAP, node, t->port);
	f->tid = t->number;
	flight_start(m, f, when - loop_now(m->loop));
}

static void
start_trap(struct model *m, uint32_t node, unsigned port, struct notice *notice)
{
	struct sim_node *n = &m->nodes[node];
	struct sim_trap *t = trap_of(m, n, port, notice->trap);
	monotime now = loop_now(m->loop), next = n->ports[port].trap_next;

	notice->generic = true;
	notice->producer = n->type;
	notice->issuer_lid = n->ports[port].info.lid;
	notice->count = n->notices++ & 0x7fff;
	notice_encode(notice, t->data);
	t->tid = ++m->tid ? m->tid : ++m->tid;
	t->sent = 0;
	send_at(m, node, t, next > now ? next : now);
}

static void
send_trap(struct model *m, uint32_t node, struct sim_trap *t)
{
	const struct portinfo *i = &m->nodes[node].ports[t->port].info;
	struct flight *f;

	if (m->nodes[node].silence != MODEL_ANSWERS)
		return;
	f = flight_new(m, FLIGHT_ARRIVE, node, t->port);
	memset(&f->smp, 0, sizeof(f->smp));
	f->smp.h = (struct mad_header){
		.base_version = 1, .class_version = 1, .mgmt_class = MAD_CLASS_SUBN_LID,
		.method = MAD_TRAP, .attr_id = ATTR_NOTICE, .tid = t->tid,
	};
	memcpy(f->smp.data, t->data, sizeof(t->data));
	t->sent++;
	flight_send_smp(m, f, node, t->port, i->sm_lid);
}

void
trap_due(struct model *m, struct flight *f)
{
	struct sim_node *n = &m->nodes[f->node];
	struct sim_port *p = &n->ports[f->port];
	monotime now = loop_now(m->loop), interval = 4096 * ((monotime)1 << p->info.subnet_timeout);
	struct sim_trap *t = trap_of(m, n, f->port, (uint16_t)f->tid);
	uint32_t node = f->node;

	flight_end(m, f);
	if (now < t->due)
		return;
	t->due = MONOTIME_NEVER;
	if (!t->tid || !p->info.sm_lid)
		return;
	if (now < p->trap_next) {
		send_at(m, node, t, p->trap_next);
		return;
	}
	if (interval < TRAP_INTERVAL_MIN)
		interval = TRAP_INTERVAL_MIN;
	p->trap_next = now + interval;
	send_trap(m, node, t);
	send_at(m, node, t, now + interval + 1);	/* behind those that waited for it */
}

/* The TID names the trap; its upper half belongs to the sender's kernel. */
bool
trap_repressed(struct model *m, uint32_t node, unsigned in, uint16_t slid, const struct smp *s)
{
	for (struct sim_trap *t = m->nodes[node].traps; t; t = t->next) {
		if (!t->tid || t->tid != (uint32_t)s->h.tid)
			continue;
		if (sma_key_allows(m, node, in, slid, s))
			t->tid = 0;
		return true;
	}
	return false;
}

/* ---- Each kind ---- */

void
trap_128(struct model *m, uint32_t node)
{
	struct notice notice = { .type = NOTICE_URGENT, .trap = TRAP_LINK_STATE };

	if (!may_trap(m, node, 0))
		return;
	put16(notice.details, m->nodes[node].ports[0].info.lid);
	start_trap(m, node, 0, &notice);
}

void
model_port_errors(struct model *m, uint32_t node, unsigned port, enum trap_number which)
{
	struct notice notice = { .type = NOTICE_URGENT, .trap = (uint16_t)which };
	unsigned from;

	if (!model_has_port(m, node, port) || which < TRAP_LOCAL_INTEGRITY ||
	    which > TRAP_FLOW_CONTROL)
		return;
	from = end_number(&m->nodes[node], port);
	if (!may_trap(m, node, from))
		return;
	put16(notice.details + 2, m->nodes[node].ports[from].info.lid);
	notice.details[4] = (uint8_t)port;
	start_trap(m, node, from, &notice);
}

static unsigned
past_threshold(uint8_t *count, unsigned threshold, uint32_t n)
{
	uint64_t all = *count + (uint64_t)n;

	*count = (uint8_t)(all % (threshold + 1));
	return (unsigned)(all / (threshold + 1));
}

/* A link had `n` more errors of a kind (129: marginal link errors, 130: buffer overruns); a trap
 * where they pass the threshold of PortInfo. Returns how often. */
static unsigned
count_errors(struct model *m, uint32_t node, unsigned port, enum trap_number kind, uint32_t n)
{
	struct sim_port *p = &m->nodes[node].ports[port];
	unsigned times = kind == TRAP_LOCAL_INTEGRITY ?
		past_threshold(&p->phy_errors, p->info.local_phy_errors, n) :
		past_threshold(&p->overruns, p->info.overrun_errors, n);

	if (times)
		model_port_errors(m, node, port, kind);
	return times;
}

void
trap_counted(struct model *m, uint32_t node, unsigned port, unsigned counter, uint64_t n)
{
	uint32_t errors = n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
	unsigned times;

	switch (counter) {
	case CTR_SYMBOL:
	case CTR_RCV_PHYSICAL:
		times = count_errors(m, node, port, TRAP_LOCAL_INTEGRITY, errors);
		counter_add(m, node, port, CTR_LOCAL_INTEGRITY, times);
		break;
	case CTR_RCV_OVERRUN:
		times = count_errors(m, node, port, TRAP_BUFFER_OVERRUN, errors);
		counter_add(m, node, port, CTR_OVERRUN, times);
		break;
	case CTR_LOCAL_INTEGRITY:
		model_port_errors(m, node, port, TRAP_LOCAL_INTEGRITY);
		break;
	case CTR_OVERRUN:
		model_port_errors(m, node, port, TRAP_BUFFER_OVERRUN);
		break;
	}
}

void
trap_144(struct model *m, uint32_t node, unsigned port, uint16_t flags)
{
	struct notice notice = { .type = NOTICE_INFO, .trap = TRAP_CAPABILITY };
	const struct portinfo *i = &m->nodes[node].ports[port].info;

	if (!may_trap(m, node, port))
		return;
	put16(notice.details + 2, i->lid);
	notice.details[5] = flags ? 1 : 0;
	put32(notice.details + 6, i->cap_mask);
	put16(notice.details + 10, flags);
	put16(notice.details + 12, i->cap_mask2);
	start_trap(m, node, port, &notice);
}

void
trap_145(struct model *m, uint32_t node, unsigned port)
{
	struct notice notice = { .type = NOTICE_INFO, .trap = TRAP_SYSTEM_IMAGE_GUID };

	if (!may_trap(m, node, port))
		return;
	put16(notice.details + 2, m->nodes[node].ports[port].info.lid);
	put64(notice.details + 6, m->nodes[node].system_guid);
	start_trap(m, node, port, &notice);
}

void
trap_bad_mkey(struct model *m, uint32_t node, unsigned in, uint16_t slid, const struct smp *s)
{
	struct notice notice = { .type = NOTICE_SECURITY, .trap = TRAP_BAD_M_KEY };
	unsigned port = end_number(&m->nodes[node], in);
	unsigned hops = s->hop_count;
	uint8_t *d = notice.details;

	if (!may_trap(m, node, port))
		return;
	put16(d + 2, slid);
	d[6] = s->h.method;
	put16(d + 8, s->h.attr_id);
	put32(d + 10, s->h.attr_mod);
	put64(d + 14, s->m_key);
	if (s->h.mgmt_class == MAD_CLASS_SUBN_DIRECT) {
		put16(d + 2, LID_PERMISSIVE);
		put16(d + 4, s->dr_slid);
		d[23] = DR_NOTICE | (hops > DR_PATH_MAX ? DR_TRUNCATED : 0);
		hops = hops > DR_PATH_MAX ? DR_PATH_MAX : hops;
		d[23] |= (uint8_t)hops;
		memcpy(d + 24, s->return_path + 1, hops);
	}
	start_trap(m, node, port, &notice);
}

static void
count_violation(uint16_t *counter)
{
	if (*counter < 0xffff)
		++*counter;
}

/* MulticastPKeyTrapSuppressionEnabled keeps traps about P_Keys of multicast packets back. */
static bool
suppressed(const struct portinfo *i, const struct trap_packet *p)
{
	return i->mcast_pkey_trap && p->dlid > LID_UNICAST_MAX && p->dlid != LID_PERMISSIVE;
}

static void
trap_bad_key(struct model *m, uint32_t node, unsigned port, uint16_t number,
	     const struct trap_packet *p)
{
	struct notice notice = { .type = NOTICE_SECURITY, .trap = number };
	uint8_t *d = notice.details;

	if (!may_trap(m, node, port))
		return;
	put16(d + 2, p->slid);
	put16(d + 4, p->dlid);
	put32(d + 6, p->key);
	put32(d + 10, (uint32_t)p->sl << 28 | (p->src_qp & 0xffffff));
	put32(d + 14, p->dst_qp & 0xffffff);
	start_trap(m, node, port, &notice);
}

void
trap_bad_pkey(struct model *m, uint32_t node, unsigned port, const struct trap_packet *p)
{
	struct portinfo *i = &m->nodes[node].ports[port].info;

	count_violation(&i->p_key_violations);
	if (!suppressed(i, p))
		trap_bad_key(m, node, port, TRAP_BAD_P_KEY, p);
}

void
trap_switch_bad_pkey(struct model *m, uint32_t node, unsigned port, const struct trap_packet *p)
{
	struct notice notice = { .type = NOTICE_SECURITY, .trap = TRAP_SWITCH_BAD_P_KEY };
	struct sim_port *ports = m->nodes[node].ports;
	uint8_t *d = notice.details;

	count_violation(&ports[port].info.p_key_violations);
	if (!may_trap(m, node, 0) || suppressed(&ports[0].info, p))
		return;
	put16(d, VALID_ALL_BUT_GIDS);
	put16(d + 2, p->slid);
	put16(d + 4, p->dlid);
	put16(d + 6, (uint16_t)p->key);
	put32(d + 8, (uint32_t)p->sl << 28 | (p->src_qp & 0xffffff));
	put32(d + 12, p->dst_qp & 0xffffff);
	put16(d + 48, ports[0].info.lid);
	d[50] = (uint8_t)port;
	start_trap(m, node, 0, &notice);
}

void
model_bad_key(struct model *m, uint32_t node, unsigned port, enum trap_number which, uint32_t key,
	      uint16_t slid)
{
	struct trap_packet p = { .key = key, .src_qp = 1, .dst_qp = 1, .slid = slid };
	struct sim_node *n;

	if (!model_has_port(m, node, port))
		return;
	n = &m->nodes[node];
	if (which == TRAP_SWITCH_BAD_P_KEY && n->type == NODE_SWITCH && port) {
		trap_switch_bad_pkey(m, node, port, &p);
		return;
	}
	if (!is_end_port(n, port))
		return;
	p.dlid = n->ports[port].info.lid;
	if (which == TRAP_BAD_P_KEY) {
		trap_bad_pkey(m, node, port, &p);
	} else if (which == TRAP_BAD_Q_KEY) {
		count_violation(&n->ports[port].info.q_key_violations);
		trap_bad_key(m, node, port, TRAP_BAD_Q_KEY, &p);
	}
}
