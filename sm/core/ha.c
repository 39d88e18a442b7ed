/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What this subnet manager says of itself and the others, for whoever has to know whether one of
 * them may be stopped: roles, how the last takeover went, and each reason why the next one would
 * not be without loss. Parts that know such a reason add it by ha_reason().
 */
#include "sm/core/subnet_i.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *
sm_state_text(unsigned state)
{
	static const char *const states[] = {
		[SM_NOT_ACTIVE] = "not active", [SM_DISCOVERING] = "discovering",
		[SM_STANDBY] = "standby", [SM_MASTER] = "master",
	};

	return state <= SM_MASTER ? states[state] : "in an unknown state";
}

/* ---- Takeovers ---- */

void
takeover_begins(struct subnet *s, enum takeover_why why, uint64_t guid)
{
	s->takeover.why = why;
	s->takeover.guid = guid;
	s->takeover.since = why == TAKEOVER_HANDED ? loop_now(s->env.loop) : s->master.heard;
}

void
takeover_leads(struct subnet *s)
{
	struct takeover *t = &s->takeover;

	if (s->role != ROLE_STANDBY || t->why == TAKEOVER_NONE) {
		*t = (struct takeover){ .why = TAKEOVER_FIRST, .since = s->born };
		if (s->role != ROLE_DISCOVERING)
			t->since = loop_now(s->env.loop);
	}
	t->wall = loop_wall(s->env.loop);
	t->led = loop_now(s->env.loop);
	t->up = 0;
}

void
takeover_up(struct subnet *s)
{
	struct takeover *t = &s->takeover;
	char lead[DURATION_TEXT_SIZE], up[DURATION_TEXT_SIZE];

	if (t->up)
		return;
	t->up = loop_now(s->env.loop);
	if (t->why > TAKEOVER_FIRST)
		subnet_event(s, EVENT_ROLE, LOG_L_NOTICE, t->guid, 0, "took over: master %s after "
			     "the one before %s, all programmed after %s",
			     duration_text(lead, t->led - t->since),
			     t->why == TAKEOVER_HANDED ? "handed over" : "was heard last",
			     duration_text(up, t->up - t->since));
}

/* ---- Reasons ---- */

void
ha_reason(struct ha_status *h, const char *fmt, ...)
{
	va_list ap;

	if (h->nreasons == HA_MAX_REASONS)
		return;
	va_start(ap, fmt);
	vsnprintf(h->reasons[h->nreasons++], sizeof(h->reasons[0]), fmt, ap);
	va_end(ap);
}

static bool
could_lead(const struct peer_sm *p)
{
	return !p->wrong_key && !p->unwanted;
}

/* As master: who would lead when this one is gone. */
static void
reason_heirs(const struct subnet *s, struct ha_status *h)
{
	unsigned standbys = 0, lost = 0, strangers = 0;

	for (unsigned n = 0; n < s->npeers; n++) {
		const struct peer_sm *p = &s->peers[n];

		if (!could_lead(p))
			strangers++;
		else if (p->presence == PEER_LOST)
			lost += p->heard > 0;
		else
			standbys += p->state == SM_STANDBY;
	}
	if (standbys)
		return;
	if (lost)
		ha_reason(h, "no standby answers: %u %s known, and lost", lost,
			  lost == 1 ? "is" : "are");
	else if (strangers)
		ha_reason(h, "there is no standby: %u other manager%s no right sm_key, or not "
			  "allowed", strangers, strangers == 1 ? " has" : "s have");
	else
		ha_reason(h, "there is no standby");
}

/* Others that lead, or would, and must not. */
static void
reason_strangers(const struct subnet *s, struct ha_status *h)
{
	for (unsigned n = 0; n < s->npeers; n++) {
		const struct peer_sm *p = &s->peers[n];
		char guid[GUID_TEXT_SIZE];

		if (p->presence == PEER_LOST || could_lead(p))
			continue;
		ha_reason(h, "the manager with GUID %s %s, and would lead beside the one that "
			  "follows", guid_text(guid, p->guid), p->wrong_key ?
			  "has another sm_key" : "is not among allowed_sm_guids");
	}
}

static void
reason_role(const struct subnet *s, struct ha_status *h)
{
	switch (s->role) {
	case ROLE_MASTER:
		reason_heirs(s, h);
		if (!subnet_is_up(s))
			ha_reason(h, "this manager is not done: %.180s", s->why_not[0] ?
				  s->why_not : "it programs the fabric");
		break;
	case ROLE_STANDBY:
		if (s->poll_failures)
			ha_reason(h, "the master has not answered %u time%s in a row",
				  s->poll_failures, s->poll_failures == 1 ? "" : "s");
		break;
	case ROLE_NOT_ACTIVE:
		ha_reason(h, "this manager was disabled by the master, and would not take over");
		break;
	default:
		ha_reason(h, "this manager has not found out yet who leads");
	}
}

/* ---- Status ---- */

static void
fill_manager(const struct subnet *s, const struct peer_sm *p, struct ha_manager *m)
{
	const struct device *d = topo_find(&s->topo, p->node_guid);
	const char *mapped;

	*m = (struct ha_manager){
		.guid = p->guid, .node_guid = p->node_guid, .port = p->port, .lid = p->lid,
		.priority = p->priority, .state = p->heard ? sm_state_text(p->state) : "unknown",
		.key = p->wrong_key ? "wrong" : p->told_key ? "right" : "not shown",
		.allowed = !p->unwanted, .activity = p->activity,
		.leads = s->role == ROLE_STANDBY && p->guid == s->master.guid,
		.lost = p->presence == PEER_LOST,
	};
	copies_status(s, p, &m->copy);
	if (p->heard)
		m->heard = loop_wall(s->env.loop) - (loop_now(s->env.loop) - p->heard) / 1000;
	mapped = name_map_get(s->env.names, p->node_guid);
	if (mapped || d)
		snprintf(m->node, sizeof(m->node), "%.64s", mapped ? mapped : d->desc);
}

static void
fill_takeover(const struct subnet *s, struct ha_status *h)
{
	const struct takeover *t = &s->takeover;

	if (!t->wall)
		return;
	h->takeover.why = t->why;
	h->takeover.guid = t->guid;
	h->takeover.wall = t->wall;
	h->takeover.lead_ms = (double)(t->led - t->since) / 1e6;
	if (t->up)
		h->takeover.up_ms = (double)(t->up - t->since) / 1e6;
}

void
subnet_ha(struct subnet *s, struct ha_status *h)
{
	*h = (struct ha_status){
		.role = subnet_role_name(s), .role_since = s->role_since,
		.priority = (uint8_t)s->conf->priority,
	};
	snprintf(h->name, sizeof(h->name), "%s", s->conf->name);
	if (s->port && s->port->up)
		h->guid = s->port->id.guid;
	if (s->topo.own)
		h->lid = s->topo.own->ports[s->topo.own_port].info.lid;
	if (s->role == ROLE_STANDBY)
		peers_text(s, &s->master, h->master, sizeof(h->master));
	fill_takeover(s, h);
	for (unsigned n = 0; n < s->npeers && n < HA_MAX_MANAGERS; n++)
		fill_manager(s, &s->peers[n], &h->managers[h->nmanagers++]);
	reason_role(s, h);
	reason_strangers(s, h);
	beyond_reasons(s, h);
	if (!h->shared)
		copies_reasons(s, h);
}
