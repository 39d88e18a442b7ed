/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/ctl/command.h"

/*
 * show ha: this subnet manager, the others, and whether one may be stopped without loss.
 */

static void
put_wall(struct json *j, const char *key, int64_t wall)
{
	char text[CLOCK_TEXT_SIZE];

	jw_str(j, key, wall ? clock_text(text, wall) : NULL);
}

static void
put_copy(struct json *j, const struct ha_copy *c)
{
	if (!c->wall) {
		jw_null(j, "copied");
		return;
	}
	jw_object(j, "copied");
	put_wall(j, "at", c->wall);
	jw_uint(j, "members", c->members);
	jw_uint(j, "services", c->services);
	jw_uint(j, "subscriptions", c->subscriptions);
	jw_uint(j, "guid_blocks", c->guids);
	jw_end(j);
}

static void
put_manager(struct json *j, const struct ha_manager *m)
{
	jw_object(j, NULL);
	jw_str(j, "node", m->node);
	jw_guid(j, "node_guid", m->node_guid);
	jw_uint(j, "port", m->port);
	jw_guid(j, "guid", m->guid);
	jw_uint(j, "lid", m->lid);
	jw_uint(j, "priority", m->priority);
	jw_str(j, "state", m->state);
	jw_bool(j, "leads", m->leads);
	jw_str(j, "sm_key", m->key);
	jw_bool(j, "allowed", m->allowed);
	jw_bool(j, "lost", m->lost);
	jw_uint(j, "activity", m->activity);
	put_wall(j, "last_heard", m->heard);
	put_copy(j, &m->copy);
	jw_end(j);
}

static void
put_takeover(struct json *j, const struct ha_status *h)
{
	static const char *const why[] = {
		[TAKEOVER_NONE] = "none", [TAKEOVER_FIRST] = "nobody led",
		[TAKEOVER_LOST] = "the master was lost",
		[TAKEOVER_RESIGNED] = "the master did not lead any more",
		[TAKEOVER_HANDED] = "the master handed over",
	};

	if (h->takeover.why == TAKEOVER_NONE) {
		jw_null(j, "last_takeover");
		return;
	}
	jw_object(j, "last_takeover");
	put_wall(j, "at", h->takeover.wall);
	jw_str(j, "why", why[h->takeover.why]);
	if (h->takeover.guid)
		jw_guid(j, "from_guid", h->takeover.guid);
	else
		jw_null(j, "from_guid");
	jw_real(j, "lead_ms", h->takeover.lead_ms);
	if (h->takeover.up_ms > 0)
		jw_real(j, "programmed_ms", h->takeover.up_ms);
	else
		jw_null(j, "programmed_ms");
	jw_end(j);
}

static void
put_beyond(struct json *j, const struct store_beyond *st)
{
	static const char *const states[] = {
		[STORE_ENDPOINT_UNTRIED] = "not asked", [STORE_ENDPOINT_ANSWERS] = "answers",
		[STORE_ENDPOINT_FAILED] = "failed",
	};

	jw_object(j, "etcd");
	jw_str(j, "state", st->safe ? "has all" : st->away ? "away" : "behind");
	put_wall(j, "away_since", st->away ? st->since : 0);
	jw_uint(j, "unsent", st->unsent);
	jw_uint(j, "revision", st->revision);
	jw_array(j, "endpoints");
	for (unsigned i = 0; i < st->nendpoints; i++) {
		jw_object(j, NULL);
		jw_str(j, "url", st->endpoints[i].url);
		jw_str(j, "state", states[st->endpoints[i].state]);
		jw_str(j, "why", st->endpoints[i].why[0] ? st->endpoints[i].why : NULL);
		jw_end(j);
	}
	jw_end(j);
	jw_end(j);
}

static void
put_subnet(struct json *j, const struct ctl_subnet *s)
{
	struct ha_status h = { 0 };

	s->ha(s->subnet, &h);
	jw_object(j, NULL);
	jw_str(j, "name", s->name);
	jw_str(j, "role", h.role);
	put_wall(j, "role_since", h.role_since);
	jw_uint(j, "priority", h.priority);
	jw_guid(j, "guid", h.guid);
	jw_uint(j, "lid", h.lid);
	jw_str(j, "master", h.master[0] ? h.master : NULL);
	put_takeover(j, &h);
	jw_array(j, "managers");
	for (unsigned i = 0; i < h.nmanagers; i++)
		put_manager(j, &h.managers[i]);
	jw_end(j);
	if (h.shared)
		put_beyond(j, &h.beyond);
	else
		jw_null(j, "etcd");
	jw_bool(j, "safe", h.nreasons == 0);
	jw_array(j, "reasons");
	for (unsigned i = 0; i < h.nreasons; i++)
		jw_str(j, NULL, h.reasons[i]);
	jw_end(j);
	jw_end(j);
}

static void
show_ha(struct ctl_req *r)
{
	struct json *j = req_begin(r);

	jw_array(j, "subnets");
	for (unsigned i = 0; i < r->host->nsubnets; i++)
		if (!r->subnet || r->subnet == &r->host->subnets[i])
			put_subnet(j, &r->host->subnets[i]);
	req_end(r);
}

const struct ctl_command ctl_cmd_ha[] = {
	{ .name = "show ha", .scope = SCOPE_ALL, .run = show_ha },
	{ 0 },
};
