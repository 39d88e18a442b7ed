/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/direct.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "sim/kernel/kernel.h"
#include "sm/base/log.h"
#include "sm/base/mem.h"
#include "sm/wire/congestion.h"
#include "sm/wire/perf.h"

/*
 * A port of a simulated device as a transport: agents of a simulated kernel, the same that
 * sm/port/umad.c registers with a real one.
 *
 * A struct direct has a kernel of its own with four agents on one port. It watches the port, and
 * tells of its link's state from a timer, so never inside a call. A callback may close the port:
 * nothing is touched after one.
 */
#define SA_CLASS_VERSION 2
#define BIT(method) (1u << (method))
#define SMP_METHODS (BIT(MAD_GET) | BIT(MAD_SET) | BIT(MAD_TRAP) | BIT(MAD_TRAP_REPRESS))
#define SA_METHODS (SMP_METHODS | BIT(MAD_REPORT) | BIT(MAD_GET_TABLE) | BIT(MAD_GET_TRACE) | \
		    BIT(MAD_GET_MULTI) | BIT(MAD_DELETE))

enum {
	AGENT_SMP_LID,
	AGENT_SMP_DIRECT,
	AGENT_SA,
	AGENT_CONGESTION,
	AGENT_PERF,
	AGENTS,
};

struct direct {
	struct port port;		/* first: this is a struct port */
	struct model *m;		/* the fabric */
	struct kernel *k;		/* owns what follows, but for the timer */
	struct kernel_agent *agents[AGENTS];	/* one for each class */
	struct loop_timer *state;	/* tells the state, at first and when it has changed */
	struct port_events ev;		/* whom to tell */
	uint64_t too_long;		/* messages over PORT_LEN_MAX */
	struct log_limit log_too_long;	/* for these */
	uint32_t node;			/* where it is attached */
	bool told;			/* the state, at least once */
};

static struct direct *
direct_of(struct port *p)
{
	return (struct direct *)(void *)p;
}

/* ---- Out ---- */

static struct kernel_agent *
agent_of(const struct direct *d, uint8_t mgmt_class)
{
	switch (mgmt_class) {
	case MAD_CLASS_SUBN_LID:
		return d->agents[AGENT_SMP_LID];
	case MAD_CLASS_SUBN_DIRECT:
		return d->agents[AGENT_SMP_DIRECT];
	case MAD_CLASS_SUBN_ADM:
		return d->agents[AGENT_SA];
	case MAD_CLASS_CONGESTION:
		return d->agents[AGENT_CONGESTION];
	case MAD_CLASS_PERF:
		return d->agents[AGENT_PERF];
	default:
		return NULL;
	}
}

static void
put_grh(struct kernel_mad *to, const struct port_grh *grh)
{
	to->grh = true;
	memcpy(to->gid, grh->gid, sizeof(to->gid));
	to->flow_label = grh->flow_label;
	to->gid_index = grh->gid_index;
	to->hop_limit = grh->hop_limit;
	to->traffic_class = grh->traffic_class;
}

/* What the kernel refuses is a second request of one transaction id, until the first is over; a
 * second answer to one, which nobody misses; or what can be no message. */
static int
direct_send(struct port *p, const struct port_mad *m)
{
	struct direct *d = direct_of(p);
	struct kernel_agent *a = agent_of(d, port_mad_bytes(m)[1]);
	struct kernel_mad out = {
		.data = port_mad_bytes(m), .len = port_mad_len(m), .timeout_ms = m->timeout_ms,
		.retries = m->retries, .lid = m->lid, .sl = m->sl, .pkey_index = m->pkey_index,
		.path_bits = m->path_bits,
		.qpn = m->qp && !m->remote_qp ? 1 : m->qp ? m->remote_qp : 0,
		.qkey = m->qp ? PORT_Q_KEY : 0,
	};

	if (!port_mad_ok(m))
		return ERR_INVALID;
	if (!p->up)
		return ERR_CLOSED;
	if (!a)
		return ERR_UNSUPPORTED;
	if (m->has_grh)
		put_grh(&out, &m->grh);
	if (!kernel_send(a, &out))
		return 0;
	return m->timeout_ms ? ERR_BUSY : ERR_IO;
}

static int
direct_set_issm(struct port *p, bool on, struct error *e)
{
	struct direct *d = direct_of(p);

	(void)e;
	kernel_issm(d->k, d->node, p->id.number, on);	/* which is EBUSY if it is on already */
	return 0;
}

/* ---- In ---- */

static void
take_grh(struct port_grh *grh, const struct kernel_mad *from)
{
	memcpy(grh->gid, from->gid, sizeof(grh->gid));
	grh->flow_label = from->flow_label;
	grh->gid_index = from->gid_index;
	grh->hop_limit = from->hop_limit;
	grh->traffic_class = from->traffic_class;
}

static void
on_receive(void *arg, const struct kernel_mad *m)
{
	struct direct *d = arg;
	struct port_mad in = {
		.data = m->len > MAD_SIZE ? m->data : NULL, .len = m->status ? 0 : (uint32_t)m->len,
		.lid = m->lid, .qp = m->qpn != 0, .sl = m->sl, .remote_qp = m->qpn,
		.pkey_index = m->pkey_index, .path_bits = m->path_bits, .has_grh = m->grh,
		.status = m->status ? ERR_TIMEOUT : 0,
	};

	if (m->len > PORT_LEN_MAX) {
		d->too_long++;
		log_limited(&d->log_too_long, LOG_L_WARNING,
			    "%s: dropped a management message of %zu bytes", d->port.id.name,
			    m->len);
		return;
	}
	if (m->grh)
		take_grh(&in.grh, m);
	memcpy(in.mad, m->data, m->len < MAD_SIZE ? m->len : MAD_SIZE);
	d->ev.receive(d->ev.arg, &in);
}

static void
on_watch(void *arg)
{
	struct direct *d = arg;

	if (model_link_is_up(d->m, d->node, d->port.id.number) != d->port.up)
		loop_timer_set(d->state, 0);
}

static void
tell_state(void *arg)
{
	struct direct *d = arg;
	bool up = model_link_is_up(d->m, d->node, d->port.id.number);
	char why[160];

	if (d->told && up == d->port.up)
		return;
	d->told = true;
	d->port.up = up;
	snprintf(why, sizeof(why), "the cable of port %u of %.64s %s", d->port.id.number,
		 model_ibnet(d->m)->nodes[d->node].name, up ? "is in order" : "carries no signal");
	d->ev.state(d->ev.arg, up, why);
}

/* ---- Life ---- */

static void
direct_close(struct port *p)
{
	struct direct *d = direct_of(p);

	kernel_free(d->k);
	loop_timer_free(d->state);
	mem_free(d);
}

static int
register_agents(struct direct *d)
{
	static const struct kernel_registration what[AGENTS] = {
		[AGENT_SMP_LID] = { .mgmt_class = MAD_CLASS_SUBN_LID, .class_version = 1,
				    .methods = { SMP_METHODS } },
		[AGENT_SMP_DIRECT] = { .mgmt_class = MAD_CLASS_SUBN_DIRECT, .class_version = 1,
				       .methods = { SMP_METHODS } },
		[AGENT_SA] = { .qp = 1, .mgmt_class = MAD_CLASS_SUBN_ADM, .rmpp_version = 1,
			       .class_version = SA_CLASS_VERSION,
			       .methods = { SA_METHODS } },
		[AGENT_CONGESTION] = { .qp = 1, .mgmt_class = MAD_CLASS_CONGESTION,
				       .class_version = CC_CLASS_VERSION },
		[AGENT_PERF] = { .qp = 1, .mgmt_class = MAD_CLASS_PERF,
				 .class_version = PERF_CLASS_VERSION },
	};
	struct kernel_events ev = { on_receive, d };

	for (unsigned i = 0; i < AGENTS; i++)
		if (kernel_register(&d->agents[i], d->k, d->node, d->port.id.number, &what[i],
				    &ev))
			return ERR_NOT_FOUND;
	return 0;
}

static const struct port_ops direct_ops = {
	.send = direct_send,
	.set_issm = direct_set_issm,
	.close = direct_close,
};

int
direct_open(struct port **p, struct model *m, uint32_t node, unsigned port,
	    const struct port_events *ev, struct error *e)
{
	struct direct *d = mem_zalloc(sizeof(*d));

	*p = NULL;
	d->port.ops = &direct_ops;
	d->port.id.number = (uint8_t)port;
	d->m = m;
	d->k = kernel_new(m);
	d->node = node;
	d->ev = *ev;
	d->state = loop_timer_new(model_loop(m), tell_state, d);
	if (port > UINT8_MAX || register_agents(d)) {
		direct_close(&d->port);
		return error_set(e, ERR_NOT_FOUND, "the simulated fabric has no free end port %u "
				 "on node %" PRIu32, port, node);
	}
	snprintf(d->port.id.name, sizeof(d->port.id.name), "%.54s:%u",
		 model_ibnet(m)->nodes[node].name, port);
	d->port.id.guid = model_port_guid(m, node, port);
	kernel_watch(d->k, node, port, on_watch, d);
	loop_timer_set(d->state, 0);
	*p = &d->port;
	return 0;
}

uint64_t
direct_unsolicited(const struct port *p)
{
	return kernel_dropped(((const struct direct *)(const void *)p)->k);
}

uint64_t
direct_too_long(const struct port *p)
{
	return ((const struct direct *)(const void *)p)->too_long;
}
