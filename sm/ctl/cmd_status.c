/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/ctl/command.h"

#include <stdio.h>
#include <string.h>
#include "sm/base/mem.h"
#include "sm/base/version.h"
#include "sm/ctl/find.h"

/*
 * status and wait: what each subnet says of itself, with the proof of its published plan; and the
 * same question asked again until every subnet is up, and stays so for a moment: what has happened
 * just now has not been told of yet.
 */
#define WAIT_INTERVAL MSEC(50)
#define WAIT_QUIET MSEC(100)
#define WAIT_MAX (7u * 24 * 3600)	/* seconds */
#define PLACE_SIZE 600

static void
put_wall(struct json *j, const char *key, int64_t wall)
{
	char text[CLOCK_TEXT_SIZE];

	jw_str(j, key, wall ? clock_text(text, wall) : NULL);
}

static void
put_proof(struct json *j, const struct plan *p, const struct subnet_status *st)
{
	const struct plan_check *c = &p->check;

	jw_str(j, "note", p->note);
	jw_object(j, "proof");
	jw_bool(j, "ok", !c->unreachable && !c->loops && !c->holes && !c->misdelivered &&
			   !c->credit_loops);
	jw_bool(j, "whole", st->proof_whole);
	jw_uint(j, "pairs", c->pairs);
	jw_uint(j, "unreachable", c->unreachable);
	jw_uint(j, "cut_off", c->cut_off);
	jw_uint(j, "loops", c->loops);
	jw_uint(j, "credit_loops", c->credit_loops);
	jw_uint(j, "max_hops", c->max_hops);
	jw_real(j, "mean_hops", c->mean_hops);
	jw_str(j, "first", c->first);
	jw_end(j);
	jw_uint(j, "path_classes", p->sls ? p->sls->classes : p->lanes ? p->lanes->classes : 1);
	jw_uint(j, "lanes", p->lanes ? p->lanes->lanes : 1);
}

static void
put_routing(struct json *j, const struct subnet_status *st)
{
	char configured[sizeof(st->configured)], *name, *rest;

	jw_str(j, "engine_requested", st->engine_requested);
	jw_str(j, "engine_running", st->engine_running);
	jw_bool(j, "engine_override", st->override);
	jw_array(j, "engines_configured");
	memcpy(configured, st->configured, sizeof(configured));
	for (name = strtok_r(configured, ", ", &rest); name; name = strtok_r(NULL, ", ", &rest))
		jw_str(j, NULL, name);
	jw_end(j);
	jw_str(j, "reason", st->reason);
	jw_bool(j, "current", st->current);
	put_wall(j, "as_of", st->state_wall);
	jw_uint(j, "nodes", st->nodes);
	jw_uint(j, "switches", st->switches);
	jw_uint(j, "hosts", st->hosts);
	jw_uint(j, "links", st->links);
	jw_uint(j, "drained_links", st->drained_links);
	jw_uint(j, "silent", st->silent);
	jw_uint(j, "top_lid", st->top_lid);
}

static void
put_traps(struct json *j, const struct subnet_status *st)
{
	jw_object(j, "traps");
	jw_uint(j, "received", st->traps);
	jw_uint(j, "repeated", st->traps_repeated);
	jw_uint(j, "suppressed", st->traps_suppressed);
	jw_uint(j, "unknown", st->traps_unknown);
	jw_end(j);
}

static void
put_drops(struct json *j, const struct sa_drops *d)
{
	jw_uint(j, "dropped",
		d->malformed + d->method + d->key + d->flood + d->resigned + d->unsent);
	jw_object(j, "drops");
	jw_uint(j, "malformed", d->malformed);
	jw_uint(j, "no_question", d->method);
	jw_uint(j, "wrong_sm_key", d->key);
	jw_uint(j, "flood", d->flood);
	jw_uint(j, "resigned", d->resigned);
	jw_uint(j, "not_taken", d->unsent);
	jw_end(j);
}

static void
put_sa(struct json *j, const struct subnet_status *st)
{
	jw_object(j, "sa");
	jw_uint(j, "requests", st->sa_requests);
	jw_uint(j, "answered", st->sa_answered);
	jw_uint(j, "refused", st->sa_refused);
	jw_object(j, "busy");
	jw_uint(j, "rate", st->sa_busy_rate);
	jw_uint(j, "waiting", st->sa_busy_queue);
	jw_uint(j, "open", st->sa_busy_open);
	jw_end(j);
	put_drops(j, &st->sa_dropped);
	jw_uint(j, "pending", st->sa_pending);
	jw_uint(j, "services", st->sa_services);
	jw_uint(j, "subscriptions", st->sa_subscriptions);
	jw_object(j, "reports");
	jw_uint(j, "sent", st->reports_sent);
	jw_uint(j, "answered", st->reports_answered);
	jw_uint(j, "lost", st->reports_lost);
	jw_uint(j, "forgotten_subscribers", st->reports_forgotten);
	jw_end(j);
	jw_end(j);
}

static void
put_sweep(struct json *j, const struct subnet_status *st)
{
	jw_uint(j, "sweeps", st->sweeps);
	put_wall(j, "last_sweep", st->last_sweep_wall);
	jw_real(j, "last_sweep_ms", st->last_sweep_ms);
	jw_object(j, "stages");
	jw_real(j, "discover_ms", st->discover_ms);
	jw_real(j, "route_ms", st->route_ms);
	jw_real(j, "check_ms", st->check_ms);
	jw_real(j, "program_ms", st->program_ms);
	jw_end(j);
	jw_real(j, "up_ms", st->up_ms);
	jw_object(j, "mads");
	jw_uint(j, "sent", st->mads_sent);
	jw_uint(j, "timed_out", st->mads_timed_out);
	jw_uint(j, "malformed", st->mads_malformed);
	jw_uint(j, "unsolicited", st->mads_unsolicited);
	jw_uint(j, "refused", st->mads_refused);
	jw_end(j);
}

static uint64_t
lost_links(const struct plan *p)
{
	uint64_t lost = 0;

	for (uint32_t i = 0; p && i < p->fabric->nports; i++)
		lost += link_lost(p->fabric, i);
	return lost;
}

/* {node, guid, port, reason} each; port null: the whole switch. */
static void
put_drained(struct json *j, const struct subnet_status *st, const struct plan *p)
{
	char guid[GUID_TEXT_SIZE];

	jw_array(j, "drained");
	for (uint32_t i = 0; i < st->ndrained && i < STATUS_MAX_DRAINED; i++) {
		uint32_t node = p ? fabric_node_by_guid(p->fabric, st->drained[i].guid) :
				FABRIC_NONE;

		jw_object(j, NULL);
		jw_str(j, "node", node == FABRIC_NONE ? guid_text(guid, st->drained[i].guid) :
						        p->fabric->nodes[node].name);
		jw_guid(j, "guid", st->drained[i].guid);
		if (st->drained[i].port == CHANGE_ALL_PORTS)
			jw_null(j, "port");
		else
			jw_uint(j, "port", (uint64_t)st->drained[i].port);
		jw_str(j, "reason", st->drained[i].why);
		jw_end(j);
	}
	jw_end(j);
	jw_uint(j, "drained_total", st->ndrained);
}

static void
put_subnet(struct json *j, const struct ctl_subnet *s)
{
	struct subnet_status st = { 0 };
	const struct plan *p;
	bool standby;

	s->status(s->subnet, &st);
	p = s->plan(s->subnet);
	standby = st.role && strcmp(st.role, "standby") == 0;
	jw_object(j, NULL);
	jw_str(j, "name", s->name);
	jw_str(j, "role", st.role);
	put_wall(j, "role_since", st.role_since);
	jw_str(j, "state", st.state);
	jw_bool(j, "up", st.up);
	jw_str(j, "port", st.port);
	jw_guid(j, "port_guid", st.port_guid);
	jw_uint(j, "sm_lid", st.sm_lid);
	jw_uint(j, "priority", st.priority);
	jw_str(j, "master", standby && st.master[0] ? st.master : NULL);
	put_routing(j, &st);
	jw_uint(j, "lost_links", lost_links(p));
	put_drained(j, &st, p);
	put_sweep(j, &st);
	put_traps(j, &st);
	put_sa(j, &st);
	if (p)
		put_proof(j, p, &st);
	plan_unref(p);
	jw_array(j, "warnings");
	for (unsigned i = 0; i < st.nwarnings && i < STATUS_MAX_WARNINGS; i++)
		jw_str(j, NULL, st.warnings[i]);
	jw_end(j);
	jw_uint(j, "more_warnings", st.more_warnings);
	jw_end(j);
}

static void
put_loop(struct json *j, const struct loop_turns *turns)
{
	jw_object(j, "loop");
	jw_uint(j, "slow", turns->slow);
	jw_real(j, "longest_ms", (double)turns->longest / 1e6);
	jw_str(j, "longest_at", turns->site);
	jw_end(j);
}

static void
status(struct ctl_req *r)
{
	struct json *j = req_begin(r);

	jw_str(j, "version", WEFT_VERSION);
	put_loop(j, loop_turns(r->loop));
	jw_array(j, "subnets");
	for (unsigned i = 0; i < r->host->nsubnets; i++) {
		if (!r->subnet || r->subnet == &r->host->subnets[i])
			put_subnet(j, &r->host->subnets[i]);
	}
	req_end(r);
}

static bool
all_up(const struct ctl_req *r)
{
	bool up = r->host->nsubnets > 0;

	for (unsigned i = 0; i < r->host->nsubnets && up; i++) {
		const struct ctl_subnet *s = &r->host->subnets[i];

		up = (r->subnet && r->subnet != s) || s->up(s->subnet);
	}
	return up;
}

/* The first subnet that is not up, in words; "" if all are. */
static void
what_is_missing(const struct ctl_req *r, char place[PLACE_SIZE])
{
	place[0] = '\0';
	for (unsigned i = 0; i < r->host->nsubnets && !place[0]; i++) {
		const struct ctl_subnet *s = &r->host->subnets[i];
		struct subnet_status st = { 0 };
		char why[WHY_SIZE];

		if (r->subnet && r->subnet != s)
			continue;
		s->status(s->subnet, &st);
		if (st.up)
			continue;
		snprintf(place, PLACE_SIZE, "subnet %.60s is not up: %s", s->name,
			 status_why(&st, why));
	}
	if (!r->host->nsubnets)
		snprintf(place, PLACE_SIZE, "no subnet is configured");
}

static void
wait_look(struct ctl_req *r)
{
	uint64_t timeout = req_number(r, "timeout_ms", UINT64_MAX);
	monotime now = loop_now(r->loop), *since = r->state;
	bool over = timeout != UINT64_MAX && now - r->started >= MSEC(timeout);
	char place[PLACE_SIZE];
	struct json *j;

	if (!all_up(r)) {
		*since = now;
		if (!over)
			return;
		what_is_missing(r, place);
		req_fail(r, EXIT_TIMEOUT, "%s", place);
	} else if (over || now - *since >= WAIT_QUIET) {
		j = req_begin(r);
		jw_bool(j, "up", true);
		jw_real(j, "waited_ms", (double)(now - r->started) / 1e6);
		req_end(r);
	}
}

static void
wait_up(struct ctl_req *r)
{
	monotime *since = mem_alloc(sizeof(*since));

	*since = loop_now(r->loop);
	r->state = since;
	r->state_free = mem_free;
	wait_look(r);
	if (!r->answered)
		req_poll(r, wait_look, WAIT_INTERVAL);
}

static const struct ctl_arg wait_args[] = {
	{ .name = "timeout_ms", .kind = ARG_NUMBER, .max = WAIT_MAX * (uint64_t)1000 },
	{ 0 },
};

const struct ctl_command ctl_cmd_status[] = {
	{ .name = "status", .scope = SCOPE_ALL, .run = status },
	{ .name = "wait", .args = wait_args, .scope = SCOPE_ALL, .run = wait_up },
	{ 0 },
};
