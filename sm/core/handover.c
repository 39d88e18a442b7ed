/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What subnet managers ask of each other: Set(SMInfo), IBA 14.2.5.13, by the states of 14.4.1.
 *
 *   DISCOVERING --another leads, or is better--> STANDBY --HANDOVER, or the master lost--> MASTER
 *                                                |  ^ ^--a better one took HANDOVER, or leads--
 *                                        DISABLE v  | STAND_BY
 *                                              NOT_ACTIVE
 *
 * rules[] is the specification's table: in which state what may be asked, by whom; all else is
 * answered with status 7. Nothing is done for a manager that is not allowed or has another SM_Key.
 *
 * A master offers its office to a standby of higher priority, never for a lower GUID alone. If the
 * standby takes it, the master stands by at once, as OpenSM does before it hears an answer; the
 * ACKNOWLEDGE that follows, which OpenSM never sends, says the same once more. Who takes an office
 * says that it is master from then on, and writes nothing before it has read the whole fabric.
 */
#include "sm/core/subnet_i.h"

#include <stdio.h>
#include <string.h>

#define OFFER_FIRST SEC(1)		/* to one that did not take it, */
#define OFFER_MAX SEC(300)
#define LOOKS 50			/* at who offered its office in vain, without a pause */
#define TELL_AGAIN SEC(60)		/* of what one manager asks for again and again */
#define ANNOUNCE_FIRST SEC(1)		/* that our priority is higher, */
#define ANNOUNCE_MAX SEC(60)

static const char *const names[] = {
	[SM_HANDOVER] = "HANDOVER", [SM_ACKNOWLEDGE] = "ACKNOWLEDGE", [SM_DISABLE] = "DISABLE",
	[SM_STAND_BY] = "STANDBY", [SM_DISCOVER] = "DISCOVER",
};

/* ---- Who may ask ---- */

/* An event, but not each time that a manager repeats itself. */
static bool
worth_telling(struct subnet *s, uint64_t guid)
{
	struct handover *h = &s->handover;
	monotime now = loop_now(s->env.loop);

	if (h->told_of == guid && now - h->told_at < TELL_AGAIN)
		return false;
	h->told_of = guid;
	h->told_at = now;
	return true;
}

/* OpenSM shows a key to nobody that it does not take for the master: who leads us is known. */
static bool
has_key(const struct subnet *s, uint32_t modifier, const struct sminfo *i)
{
	bool ours = !s->conf->sm_key || i->sm_key == s->conf->sm_key;
	bool leads_us = s->role == ROLE_STANDBY && i->guid == s->master.guid;

	return ours || (modifier == SM_HANDOVER && !i->sm_key && leads_us);
}

static bool
is_trusted(struct subnet *s, uint32_t modifier, const struct sminfo *i)
{
	bool allowed = peers_allowed(s, i->guid), key = has_key(s, modifier, i);
	char guid[GUID_TEXT_SIZE];

	if (allowed && key)
		return true;
	if (worth_telling(s, i->guid))
		subnet_event(s, EVENT_ROLE, LOG_L_WARNING, i->guid, 0, "the subnet manager with "
			     "GUID %s %s, and asks for %s: that is refused",
			     guid_text(guid, i->guid), allowed ? "has not our sm_key" :
			     "is not among allowed_sm_guids", names[modifier]);
	return false;
}

static bool
leads_us(struct subnet *s, const struct sminfo *i)
{
	return i->guid == s->master.guid;
}

/* OpenSM stands back though its offer is refused: nobody leads then, and that is seen soon. */
static bool
may_take(struct subnet *s, const struct sminfo *i)
{
	char guid[GUID_TEXT_SIZE];

	if (s->conf->priority > i->priority || s->conf->accept_handover)
		return true;
	if (leads_us(s, i))
		subnet_poll_soon(s, LOOKS);
	if (worth_telling(s, i->guid))
		subnet_event(s, EVENT_ROLE, LOG_L_NOTICE, i->guid, 0, "the subnet manager with "
			     "GUID %s and priority %u offers its office, which is not taken with "
			     "priority %u: raise that, or say accept_handover",
			     guid_text(guid, i->guid), i->priority, s->conf->priority);
	return false;
}

static bool
was_offered(struct subnet *s, const struct sminfo *i)
{
	return s->handover.to == i->guid;
}

/* ---- What is done ---- */

/* Say ACKNOWLEDGE once, back over the way that the handover came. Nobody waits for its answer. */
static void
acknowledge(struct subnet *s, const struct port_mad *m, const struct smp *in)
{
	struct port_mad out = { .lid = m->lid };
	struct smp smp = {
		.h = { .base_version = 1, .class_version = 1, .method = MAD_SET,
		       .mgmt_class = in->h.mgmt_class, .attr_id = ATTR_SM_INFO,
		       .attr_mod = SM_ACKNOWLEDGE, .tid = ++s->handover.tid },
		.m_key = s->conf->m_key, .dr_slid = LID_PERMISSIVE, .dr_dlid = LID_PERMISSIVE,
	};
	struct sminfo i;

	if (in->h.mgmt_class == MAD_CLASS_SUBN_DIRECT) {
		if (in->hop_count > SMP_MAX_HOPS)
			return;
		out.lid = LID_PERMISSIVE;
		smp.hop_count = in->hop_count;
		for (unsigned n = 1; n <= in->hop_count; n++)
			smp.path[n] = in->return_path[in->hop_count + 1 - n];
	}
	notice_own_sminfo(s, &i);
	i.state = SM_STANDBY;		/* so says the specification: as it was when it was asked */
	i.sm_key = s->conf->sm_key;
	sminfo_encode(&i, smp.data);
	smp_encode(&smp, out.mad);
	transact_send(s->transact, &out);
}

static void
take(struct subnet *s, const struct sminfo *i)
{
	char guid[GUID_TEXT_SIZE];

	subnet_event(s, EVENT_ROLE, LOG_L_NOTICE, i->guid, 0, "the subnet manager with GUID %s "
		     "and priority %u hands over", guid_text(guid, i->guid), i->priority);
	s->handover.from = i->guid;
	/* Its office is not given back at once, though its priority may be the higher one. */
	for (unsigned n = 0; n < s->npeers; n++)
		if (s->peers[n].guid == i->guid) {
			s->peers[n].state = SM_STANDBY;
			s->peers[n].offer_at = loop_now(s->env.loop) + OFFER_MAX;
		}
	takeover_begins(s, TAKEOVER_HANDED, i->guid);
	subnet_want_sweep(s, SWEEP_HEAVY);
}

static void
other_stands_back(struct subnet *s, const struct sminfo *i)
{
	char guid[GUID_TEXT_SIZE];

	log_limited(&s->limit_device, LOG_L_NOTICE, "the subnet manager with GUID %s led too and "
		    "stands back: what it wrote is read back", guid_text(guid, i->guid));
	s->rivals = true;
	subnet_want_sweep(s, SWEEP_LIGHT);
}

static void
given(struct subnet *s, const struct sminfo *i)
{
	(void)i;
	s->handover.given = true;
}

static void
disable(struct subnet *s, const struct sminfo *i)
{
	char guid[GUID_TEXT_SIZE];

	subnet_retire(s, guid_text(guid, i->guid));
}

static void
stand_by_again(struct subnet *s, const struct sminfo *i)
{
	(void)i;
	subnet_reconsider(s, ROLE_STANDBY, "the master has asked for it");
}

static void
discover(struct subnet *s, const struct sminfo *i)
{
	(void)i;
	subnet_reconsider(s, ROLE_DISCOVERING, "the master has asked for it");
}

/* ---- The table ---- */

struct rule {
	enum subnet_role role;		/* ours */
	enum sm_modifier modifier;	/* what is asked */
	enum sm_state sender;		/* state that the other one says it is in */
	bool (*may)(struct subnet *s, const struct sminfo *i);	/* or NULL */
	void (*act)(struct subnet *s, const struct sminfo *i);	/* or NULL */
};

static const struct rule rules[] = {
	{ ROLE_STANDBY, SM_HANDOVER, SM_MASTER, may_take, take },
	{ ROLE_STANDBY, SM_ACKNOWLEDGE, SM_STANDBY, NULL, NULL },	/* we have stood back */
	{ ROLE_STANDBY, SM_DISABLE, SM_MASTER, leads_us, disable },
	{ ROLE_STANDBY, SM_DISCOVER, SM_MASTER, leads_us, discover },
	{ ROLE_MASTER, SM_HANDOVER, SM_MASTER, NULL, other_stands_back },
	{ ROLE_MASTER, SM_ACKNOWLEDGE, SM_STANDBY, was_offered, given },
	{ ROLE_NOT_ACTIVE, SM_STAND_BY, SM_MASTER, NULL, stand_by_again },
};

static const struct rule *
rule_of(const struct subnet *s, uint32_t modifier)
{
	for (size_t n = 0; n < sizeof(rules) / sizeof(rules[0]); n++)
		if (rules[n].role == s->role && rules[n].modifier == modifier)
			return &rules[n];
	return NULL;
}

bool
handover_asked(struct subnet *s, const struct port_mad *m, const struct smp *smp)
{
	const struct rule *r = rule_of(s, smp->h.attr_mod);
	struct sminfo i;

	sminfo_decode(&i, smp->data);
	/* Our answer was lost, and it asks again: it is taken already. */
	if (s->handover.from && i.guid == s->handover.from && smp->h.attr_mod == SM_HANDOVER)
		return true;
	if (!r || i.state != r->sender || i.guid == s->port->id.guid || s->handover.from)
		return false;
	if (!is_trusted(s, r->modifier, &i) || (r->may && !r->may(s, &i)))
		return false;
	if (r->modifier == SM_HANDOVER)
		acknowledge(s, m, smp);
	if (r->act)
		r->act(s, &i);
	return true;
}

/* ---- Offering ours ---- */

static bool
deserves(const struct subnet *s, const struct peer_sm *p)
{
	return p->presence == PEER_HERE && p->state == SM_STANDBY && !p->wrong_key &&
	       !p->unwanted && p->priority > s->conf->priority &&
	       loop_now(s->env.loop) >= p->offer_at;
}

struct peer_sm *
handover_heir(struct subnet *s)
{
	struct peer_sm *best = NULL;

	for (unsigned n = 0; n < s->npeers; n++) {
		struct peer_sm *p = &s->peers[n];

		if (!deserves(s, p))
			continue;
		if (!best || p->priority > best->priority ||
		    (p->priority == best->priority && p->guid < best->guid))
			best = p;
	}
	return best;
}

void
handover_answered(struct subnet *s, struct peer_sm *p, const struct transact_result *res)
{
	char text[200];

	if (!res->error && !res->mad_status) {
		s->handover.given = true;
		return;
	}
	p->offer_at = loop_now(s->env.loop) + backoff_delay(OFFER_FIRST, OFFER_MAX, p->offers++);
	/* Perhaps it has taken it, and that was not heard. */
	if (res->error)
		subnet_want_sweep(s, SWEEP_LIGHT);
	if (worth_telling(s, p->guid))
		subnet_event(s, EVENT_ROLE, LOG_L_NOTICE, p->guid, p->port, "a subnet manager of "
			     "higher priority %s: %s", res->error ? "does not answer when it is "
			     "offered this one's office" : "refuses this one's office",
			     peers_text(s, p, text, sizeof(text)));
}

/* ---- Announcing ourselves ---- */

/* Trap 144 to the master: our priority is not what it was, to it at least (IBA 14.4.1). */
static void
announce(struct subnet *s)
{
	const struct live_port *own = &s->topo.own->ports[s->topo.own_port];
	struct port_mad out = { .lid = s->master.lid };
	struct smp smp = {
		.h = { .base_version = 1, .class_version = 1, .method = MAD_TRAP,
		       .mgmt_class = MAD_CLASS_SUBN_LID, .attr_id = ATTR_NOTICE,
		       .tid = ++s->handover.tid },
		.m_key = s->conf->m_key,
	};
	struct notice n;

	notice_make_144(&n, s->topo.own->info.node_type, own->info.lid, own->info.cap_mask,
			NOTICE_144_SM_PRIORITY);
	notice_encode(&n, smp.data);
	smp_encode(&smp, out.mad);
	transact_send(s->transact, &out);
}

void
handover_announce(struct subnet *s)
{
	struct handover *h = &s->handover;
	monotime now = loop_now(s->env.loop);

	if (s->role != ROLE_STANDBY || s->conf->priority <= s->master.priority || !s->topo.own ||
	    !s->topo.own->ports[s->topo.own_port].info.lid || !s->master.lid ||
	    now < h->announce_at)
		return;
	h->announce_at = now + backoff_delay(ANNOUNCE_FIRST, ANNOUNCE_MAX, h->announced++);
	announce(s);
}
