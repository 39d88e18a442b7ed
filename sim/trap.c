/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include "sim/model_impl.h"

/*
 * Traps of the simulated devices: a notice is sent to the subnet manager's LID and again until a
 * TrapRepress with its transaction id comes (IBA volume 1, 13.4.9; which and when: 14.2.5.1).
 *
 * A node has one slot for each kind of trap; a newer notice of the kind takes the place of an older
 * one that still waits. A FLIGHT_TRAP is due whenever the notice is to be sent.
 */
#define TRAP_INTERVAL_MIN MSEC(10)

/* A TrapRepress ends the trap of its TID; the upper half belongs to the sender's kernel. */
bool
trap_repressed(struct sim_node *n, const struct smp *s)
{
	for (unsigned i = 0; i < TRAP_SLOTS; i++) {
		if (n->traps[i].tid && n->traps[i].tid == (uint32_t)s->h.tid) {
			n->traps[i].tid = 0;
			return true;
		}
	}
	return false;
}

static void
start_trap(struct model *m, uint32_t node, unsigned slot, unsigned port, struct notice *notice)
{
	struct sim_node *n = &m->nodes[node];
	struct sim_trap *t = &n->traps[slot];
	struct flight *f;

	notice->generic = true;
	notice->producer = n->type;
	notice->issuer_lid = n->ports[port].info.lid;
	notice->count = n->notices++ & 0x7fff;
	notice_encode(notice, t->data);
	t->port = (uint8_t)port;
	t->tid = ++m->tid ? m->tid : ++m->tid;
	f = flight_new(m, FLIGHT_TRAP, node, slot);
	f->tid = t->tid;
	flight_start(m, f, 0);
}

void
trap_128(struct model *m, uint32_t node)
{
	struct notice notice = { .type = 1, .trap = TRAP_LINK_STATE };
	const struct portinfo *i = &m->nodes[node].ports[0].info;

	if (m->quiet || !i->sm_lid)
		return;
	notice.details[0] = (uint8_t)(i->lid >> 8);
	notice.details[1] = (uint8_t)i->lid;
	start_trap(m, node, TRAP_SLOT_128, 0, &notice);
}

void
trap_144(struct model *m, uint32_t node, unsigned port, uint16_t flags)
{
	struct notice notice = { .type = 4, .trap = TRAP_CAPABILITY };
	const struct portinfo *i = &m->nodes[node].ports[port].info;

	if (m->quiet || !i->sm_lid)
		return;
	notice.details[2] = (uint8_t)(i->lid >> 8);
	notice.details[3] = (uint8_t)i->lid;
	notice.details[5] = flags ? 1 : 0;
	for (unsigned k = 0; k < 4; k++)
		notice.details[6 + k] = (uint8_t)(i->cap_mask >> (24 - 8 * k));
	notice.details[10] = (uint8_t)(flags >> 8);
	notice.details[11] = (uint8_t)flags;
	start_trap(m, node, TRAP_SLOT_144, port, &notice);
}

static void
send_trap(struct model *m, uint32_t node, const struct sim_trap *t)
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
	flight_send_smp(m, f, node, t->port, i->sm_lid);
}

void
trap_due(struct model *m, struct flight *f)
{
	struct sim_trap *t = &m->nodes[f->node].traps[f->port];
	const struct portinfo *i = &m->nodes[f->node].ports[t->port].info;
	monotime interval = 4096 * ((monotime)1 << i->subnet_timeout);

	if (t->tid != f->tid || !i->sm_lid) {
		flight_end(m, f);
		return;
	}
	send_trap(m, f->node, t);
	flight_start(m, f, interval > TRAP_INTERVAL_MIN ? interval : TRAP_INTERVAL_MIN);
}
