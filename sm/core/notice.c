/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What comes unasked: traps of devices (IBA 14.2.5.1 and 13.4.8) and questions of other subnet
 * managers (SMInfo, 14.2.5.13); what is for the subnet administrator is handed on to it.
 *
 * A trap is answered with TrapRepress in every role that may receive it, then turned into an event
 * and, as master, into the smallest sweep that looks at what it names. Nothing here trusts the
 * sender: unknown LIDs and impossible ports are told (rate-limited) and looked at by a light sweep.
 */
#include "sm/core/subnet_i.h"

#include <string.h>

#define TRAP_QUIET SEC(60)	/* one event a port in this time, with the count */

/* The device that holds a LID, by the published plan. */
static struct device *
device_by_lid(struct subnet *s, uint16_t lid)
{
	const struct plan_lids *l = s->plan ? s->plan->lids : NULL;
	uint32_t port;

	if (!l || !lid || lid > l->top || (port = l->dest[lid].port) == FABRIC_NONE)
		return NULL;
	return topo_find(&s->topo, s->plan->fabric->nodes[s->plan->fabric->ports[port].node].guid);
}

/* Send back what came, as its answer. */
static void
answer(struct subnet *s, const struct port_mad *in, struct smp *smp)
{
	struct port_mad out = {0};

	out.qp = 0;
	out.lid = in->lid;
	if (smp->h.mgmt_class == MAD_CLASS_SUBN_DIRECT) {
		out.lid = smp->dr_slid;
		smp->direction = true;
	}
	smp_encode(smp, out.mad);
	transact_send(s->transact, &out);
}

static void
repress(struct subnet *s, const struct port_mad *in, const struct smp *trap)
{
	struct smp smp = *trap;

	smp.h.method = MAD_TRAP_REPRESS;
	smp.h.attr_mod = 0;
	smp.h.status = 0;
	smp.m_key = s->conf->m_key;
	answer(s, in, &smp);
}

static void
trap_link_state(struct subnet *s, const struct notice *n)
{
	uint16_t lid = notice_subject_lid(n);
	struct device *d = device_by_lid(s, lid ? lid : n->issuer_lid);
	char text[DEVICE_TEXT_SIZE];

	if (!d) {
		log_limited(&s->limit_trap, LOG_L_NOTICE,
			    "trap 128 from LID %u, which is nobody's: a light sweep follows", lid);
		s->told = true;
		subnet_want_sweep(s, SWEEP_LIGHT);
		return;
	}
	log_limited(&s->limit_trap, LOG_L_INFO, "trap 128: a link of %s changed",
		    device_text(text, d, s->env.names));
	subnet_want_device(s, d->guid);
	if (s->stage == SUBNET_PUSH && d->info.node_type == NODE_SWITCH)
		push_link_changed(s, d);
}

static void
trap_capability(struct subnet *s, const struct notice *n)
{
	uint16_t lid = notice_subject_lid(n);
	struct device *d = device_by_lid(s, lid ? lid : n->issuer_lid);
	char text[DEVICE_TEXT_SIZE];

	if (!d) {
		log_limited(&s->limit_trap, LOG_L_NOTICE,
			    "trap 144 from LID %u, which is nobody's: a light sweep follows", lid);
		s->told = true;
		subnet_want_sweep(s, SWEEP_LIGHT);
		return;
	}
	log_limited(&s->limit_trap, LOG_L_INFO, "trap 144: %s changed its %s",
		    device_text(text, d, s->env.names),
		    notice_144_flags(n) & NOTICE_144_NODE_DESCRIPTION ? "description" :
		    "capabilities");
	/* Both are read again with the device; a new subnet manager shows in the capabilities. */
	subnet_want_device(s, d->guid);
}

static void
trap_port_errors(struct subnet *s, const struct notice *n)
{
	struct device *d = device_by_lid(s, notice_subject_lid(n));
	unsigned port = notice_subject_port(n);
	char text[DEVICE_TEXT_SIZE];
	struct live_port *p;

	if (!d || port > d->info.num_ports) {
		log_limited(&s->limit_trap, LOG_L_NOTICE, "trap %u names LID %u port %u, which is "
			    "nobody's", n->trap, notice_subject_lid(n), port);
		return;
	}
	p = &d->ports[port];
	p->traps++;
	if (p->trap_told && loop_now(s->env.loop) - p->trap_told < TRAP_QUIET)
		return;
	p->trap_told = loop_now(s->env.loop);
	subnet_event(s, EVENT_TRAP, LOG_L_WARNING, d->guid, port,
		     "trap %u (%u in all): %s on port %u of %s: check its cable", n->trap,
		     p->traps, n->trap == TRAP_LOCAL_INTEGRITY ? "local link integrity errors" :
		     n->trap == TRAP_BUFFER_OVERRUN ? "buffer overruns" :
		     "flow control watchdog expired", port, device_text(text, d, s->env.names));
}

static void
trap(struct subnet *s, const struct notice *n)
{
	if (s->role != ROLE_MASTER)
		return;		/* the master's business; ours was to stop the repeats */
	admin_trap(s, n);
	if (!n->generic) {
		log_limited(&s->limit_trap, LOG_L_INFO, "vendor notice from LID %u",
			    n->issuer_lid);
		return;
	}
	switch (n->trap) {
	case TRAP_LINK_STATE:
		trap_link_state(s, n);
		break;
	case TRAP_CAPABILITY:
	case TRAP_SYSTEM_IMAGE_GUID:
		trap_capability(s, n);
		break;
	case TRAP_LOCAL_INTEGRITY:
	case TRAP_BUFFER_OVERRUN:
	case TRAP_FLOW_CONTROL:
		trap_port_errors(s, n);
		break;
	default:
		log_limited(&s->limit_trap, LOG_L_NOTICE, "trap %u from LID %u", n->trap,
			    n->issuer_lid);
	}
}

/*
 * The specification has the key told to a master alone (IBA 14.4.1). OpenSM tells it to all, and
 * takes a manager that does not for nobody: it would rule beside a weftd that is master. But to
 * one that stands by and is not to lead it would hand over for a lower GUID, and a new manager
 * does not capture a live fabric: from that one the key is kept.
 */
static uint64_t
told_key(const struct subnet *s)
{
	bool leads = s->role == ROLE_MASTER ||
		(s->role == ROLE_STANDBY && s->conf->priority > s->master.priority);

	return leads ? s->conf->sm_key : 0;
}

void
notice_own_sminfo(const struct subnet *s, struct sminfo *i)
{
	static const uint8_t states[] = {
		[ROLE_WAITING] = SM_NOT_ACTIVE, [ROLE_DISCOVERING] = SM_DISCOVERING,
		[ROLE_STANDBY] = SM_STANDBY, [ROLE_MASTER] = SM_MASTER,
	};

	*i = (struct sminfo){
		.guid = s->port->id.guid,
		.sm_key = told_key(s),
		.activity = (uint32_t)transact_counters(s->transact)->sent_total,
		.priority = (uint8_t)s->conf->priority,
		.state = states[s->role],
	};
}

/* What we say of ourselves. Set (handover and the like) is answered as illegal in this state: a
 * master keeps its office, and a standby takes over when the master is gone. */
static void
sm_info(struct subnet *s, const struct port_mad *m, struct smp *smp)
{
	struct sminfo i;

	notice_own_sminfo(s, &i);
	if (smp->h.method == MAD_SET)
		smp->h.status = MAD_STATUS_BAD_FIELD;
	smp->h.method = MAD_GET_RESP;
	sminfo_encode(&i, smp->data);
	answer(s, m, smp);
}

void
notice_request(void *subnet, const struct port_mad *m)
{
	struct subnet *s = subnet;
	struct smp smp;
	struct notice n;

	if (port_mad_bytes(m)[1] == MAD_CLASS_SUBN_ADM) {
		admin_request(s, m);
		return;
	}
	if (smp_decode(&smp, m->mad, sizeof(m->mad))) {
		s->st.mads_malformed++;
		return;
	}
	if (smp.h.attr_id == ATTR_SM_INFO &&
	    (smp.h.method == MAD_GET || smp.h.method == MAD_SET)) {
		peers_asked(s, &smp);
		sm_info(s, m, &smp);
		return;
	}
	if (smp.h.method == MAD_TRAP && smp.h.attr_id == ATTR_NOTICE) {
		repress(s, m, &smp);
		notice_decode(&n, smp.data);
		trap(s, &n);
		return;
	}
	s->st.mads_unsolicited++;
}
