/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What comes unasked: traps of devices (IBA 14.2.5.1 and 13.4.8) and questions of other subnet
 * managers (SMInfo, 14.2.5.13); what is for the subnet administrator is handed on to it, or as an
 * answer of the master's to copies.c.
 *
 * A trap is answered with TrapRepress in every role that may receive it, and is then the business
 * of trap.c.
 */
#include "sm/core/subnet_i.h"

#include <string.h>

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

/*
 * The specification has the key told to a master alone (IBA 14.4.1). OpenSM tells it to all that
 * say they are, and takes a manager that does not for nobody: it would rule beside a weftd that is
 * master. But to one that stands by it would hand over for a lower GUID, and a new manager does not
 * capture a live fabric: from a standby that is not to lead and has the lower GUID at the master's
 * priority the key is kept.
 */
static uint64_t
told_key(const struct subnet *s)
{
	bool captures = s->conf->priority == s->master.priority &&
		s->port->id.guid < s->master.guid && !s->conf->accept_handover;

	if (s->role == ROLE_MASTER || s->handover.from)
		return s->conf->sm_key;
	return s->role == ROLE_STANDBY && !captures ? s->conf->sm_key : 0;
}

void
notice_own_sminfo(const struct subnet *s, struct sminfo *i)
{
	static const uint8_t states[] = {
		[ROLE_WAITING] = SM_NOT_ACTIVE, [ROLE_DISCOVERING] = SM_DISCOVERING,
		[ROLE_STANDBY] = SM_STANDBY, [ROLE_NOT_ACTIVE] = SM_NOT_ACTIVE,
		[ROLE_MASTER] = SM_MASTER,
	};

	*i = (struct sminfo){
		.guid = s->port->id.guid,
		.sm_key = told_key(s),
		.activity = (uint32_t)transact_counters(s->transact)->sent_total,
		.priority = (uint8_t)s->conf->priority,
		.state = s->handover.from ? SM_MASTER : states[s->role],
	};
}

/* What we say of ourselves, after we have done what a Set asks, if that is legal. */
static void
sm_info(struct subnet *s, const struct port_mad *m, struct smp *smp)
{
	struct sminfo i;

	if (smp->h.method == MAD_SET && !handover_asked(s, m, smp))
		smp->h.status = MAD_STATUS_BAD_FIELD;
	notice_own_sminfo(s, &i);
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
		if (!copies_answer(s, m))
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
		trap_came(s, m->lid, smp.h.tid, &n);
		return;
	}
	/* Our trap 144 arrived: it need not be repeated. */
	if (smp.h.method == MAD_TRAP_REPRESS && smp.h.tid == s->handover.tid)
		return;
	s->st.mads_unsolicited++;
}
