/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What came out of a routing and of a push: published, refused, or still to be done, and the words
 * for it. subnet.c says what happens next.
 */
#include "sm/core/planner.h"

#include <stdio.h>
#include <string.h>
#include "routing/keep.h"
#include "sm/core/push_i.h"

/* True: hosts are to register anew, for their multicast groups are not as they know them. */
static bool
publish(struct subnet *s, struct plan_job *job)
{
	struct plan *plan = job->plan;
	bool changed;

	proof_published(s, !job->fresh && job->previous && job->previous->proof && plan->proof);
	rules_job_adopt(s, &job->rules, s->plan ? s->plan->levels : NULL, plan->levels);
	plan_unref(s->plan);
	s->plan = plan_ref(plan);
	s->outdated = false;
	s->keeps = !strcmp(plan->engine_running, engine_keep.name);
	partition_job_adopt(s, job->parts);
	job->parts = NULL;
	changed = part_groups_set(s);
	s->lanes_looked = false;
	office_gave(s, &job->given);
	s->published_wall = loop_wall(s->env.loop);
	multicast_changed_all(s);
	guids_all(s);
	congestion_all(s);
	s->adaptive.due = true;
	s->st.route_ms = (double)plan->route_us / 1e3;
	s->st.check_ms = (double)plan->check_us / 1e3;
	return changed;
}

static void
tell_engine(struct subnet *s, const struct plan *plan)
{
	bool news = !s->plan || strcmp(s->plan->engine_running, plan->engine_running) ||
		    strcmp(s->plan->reason, plan->reason);

	if (news && plan->reason[0])
		subnet_event(s, EVENT_FALLBACK, LOG_L_WARNING, 0, 0,
			     "engine %s runs instead of %s: %s", plan->engine_running,
			     plan->engine_requested, plan->reason);
}

/* An engine that a command asked for: what runs goes on running. */
static void
command_refused(struct subnet *s, const struct plan_job *job)
{
	s->want_route |= s->reroute.c.full;	/* what the sweep found is still to be routed */
	subnet_command_failed(s, ERR_REFUSED, job->why.text);
	subnet_rest(s);
}

static void
route_refused(struct subnet *s, struct plan_job *job)
{
	char before[sizeof(s->why_not)];

	if (s->reroute.done && !s->reroute.waiting) {
		command_refused(s, job);
		return;
	}
	memcpy(before, s->why_not, sizeof(before));
	s->unrouted = true;
	s->outdated = false;		/* there is nothing newer to wait for */
	s->lanes_looked = false;
	push_tables_forgive(s);
	if (s->push_incomplete) {
		/* What an earlier push left open waits on, longer each time. */
		s->failures++;
		s->retry_at = loop_now(s->env.loop) + subnet_retry_delay(s);
	}
	subnet_not_up(s, "no routing could be proved, so nothing was programmed%s: %s",
	       s->plan ? " and the old tables stay" : "", job->why.text);
	if (strcmp(before, s->why_not))
		subnet_event(s, EVENT_UNROUTED, LOG_L_ERROR, 0, 0, "%s", s->why_not);
	subnet_finish_sweep(s, false);
	subnet_rest(s);
}

/* For the command that asked. */
static void
report(struct subnet *s, const struct plan_job *job)
{
	struct change_report *r = &s->reroute.report;
	uint64_t cut_off = job->plan->check.cut_off, before = 0;

	if (job->previous)
		before = job->previous->check.cut_off;
	snprintf(r->engine, sizeof(r->engine), "%s", job->plan->engine_running);
	r->entries = job->entries;
	r->blocks = job->blocks;
	r->writes = job->writes;
	r->group_writes = job->group_writes;
	r->switches = job->switches;
	r->waits = job->stages && job->stages->drain;
	r->measured = job->measured;
	r->load_before = job->load_before;
	r->load_after = job->load_after;
	r->cut_off = cut_off > before ? cut_off - before : 0;
}

static void
rehearsed(struct subnet *s, const struct plan_job *job)
{
	const struct change_report *r = &s->reroute.report;

	reroute_answer(s, 0, "engine %s would change %llu entries in %u blocks%s%s; proved: no "
		       "unreachable pair, no loop, no credit loop",
		       job->plan->engine_running, (unsigned long long)job->entries, job->blocks,
		       job->stages && job->stages->shifts ? "; tables from service levels to "
		       "lanes would change, so all that passes between switches would be dropped "
		       "for a moment" : r->waits ? "; old and new tables together could deadlock, "
		       "so changed entries would drop packets for a moment" : "",
		       job->plan->reason[0] ? " (not the engine asked for)" : "");
	subnet_rest(s);
}

/* Packets pass by maps that a plan of ours may have made, and that are not known: they are read,
 * and it is routed once more. */
static bool
look_at_lanes(struct subnet *s, const struct plan_job *job)
{
	bool ours = !s->plan || s->plan->sls;

	if (s->lanes_looked || !job->plan->sls || !job->shadow || !ours || !push_needs_lanes(s))
		return false;
	s->lanes_looked = true;
	subnet_set_stage(s, SUBNET_PUSH);
	push_start_reading_lanes(s);
	return true;
}

void
subnet_route_done(struct subnet *s, struct plan_job *job)
{
	struct plan_stages *stages = job->stages;
	bool reregister, changed;

	s->job = NULL;
	plugged_done(s, &job->plugged);
	if (!job->error && s->reroute.done && !s->reroute.waiting)
		report(s, job);
	if (job->dry_run && !job->error) {
		rehearsed(s, job);
		planner_free_job(job);
		return;
	}
	if (job->error) {
		route_refused(s, job);
		planner_free_job(job);
		return;
	}
	if (look_at_lanes(s, job)) {
		planner_free_job(job);
		return;
	}
	if (stages && stages->drain)
		subnet_event(s, EVENT_ROUTED, LOG_L_NOTICE, 0, 0, "%s drop packets for the packet "
			     "lifetime", stages->shifts ? "packets are on their way by tables from "
			     "service levels to lanes that change: entries that lead to other "
			     "switches" : "old and new tables together could deadlock: entries "
			     "that change");
	tell_engine(s, job->plan);
	s->unrouted = false;
	job->stages = NULL;
	changed = publish(s, job);
	if (s->first_master_sweep)
		office_look(s);
	reregister = changed || (s->first_master_sweep && !office_is_ours(s));
	plan_ref(job->plan);
	if (!job->withdraw || !mft_withdraw(s, job->plan, stages, reregister)) {
		subnet_set_stage(s, SUBNET_PUSH);
		push_start(s, job->plan, stages, reregister);
	}
	planner_free_job(job);
}

/* "2 cables and 1 node lost, 3 cables back: ", or "" where nothing came or went. */
static const char *
met_text(const struct subnet *s, char *to, size_t size)
{
	const struct {
		uint32_t count;
		const char *one;	/* what it is */
		const char *fate;
	} rows[] = {
		{ s->met.links_lost, "cable", "lost" }, { s->met.nodes_lost, "node", "lost" },
		{ s->met.links_back, "cable", "back" }, { s->met.nodes_back, "node", "back" },
	};
	size_t used = 0;

	to[0] = '\0';
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].count)
			used += (size_t)snprintf(to + used, size - used, "%s%u %s%s %s",
						 used ? ", " : "", rows[i].count, rows[i].one,
						 rows[i].count == 1 ? "" : "s", rows[i].fate);
	if (used)
		snprintf(to + used, size - used, ": ");
	return to;
}

static void
set_met(const struct subnet *s, struct event *ev)
{
	if (s->met.links_lost || s->met.nodes_lost)
		ev->type = EVENT_REPAIRED;
	event_set(ev, EVENT_LINKS_LOST, s->met.links_lost);
	event_set(ev, EVENT_LINKS_BACK, s->met.links_back);
	event_set(ev, EVENT_NODES_LOST, s->met.nodes_lost);
	event_set(ev, EVENT_NODES_BACK, s->met.nodes_back);
	event_set(ev, EVENT_CUT_OFF, s->plan->check.cut_off);
}

static void
tell_up(struct subnet *s)
{
	const struct fabric *f = s->plan->fabric;
	const struct subnet_status *st = &s->st;
	monotime passed = loop_now(s->env.loop) - s->change_started;
	struct event ev = { .type = EVENT_ROUTED, .level = LOG_L_NOTICE };
	char took[DURATION_TEXT_SIZE], met[120], lost[64] = "", drained[32] = "";
	uint32_t off = fabric_drained_links(f);

	duration_text(took, passed);
	event_set(&ev, EVENT_TOOK_US, (uint64_t)passed / 1000);
	event_set(&ev, EVENT_ENTRIES, s->push.entries);
	event_set(&ev, EVENT_BLOCKS, s->push.blocks);
	set_met(s, &ev);
	if (s->plan->check.cut_off)
		snprintf(lost, sizeof(lost), ", %llu pairs that no cables connect",
			 (unsigned long long)s->plan->check.cut_off);
	if (off)
		snprintf(drained, sizeof(drained), ", %u of them drained", off);
	subnet_tell(s, &ev, "%ssubnet %s is up: %u hosts, %u switches, %u links%s%s, engine %s, %u "
		    "blocks (%u entries) written, in %s (discovery %.0f ms, routing %.0f ms, "
		    "proof %.0f ms, programming %.0f ms, %llu MADs so far)",
		    met_text(s, met, sizeof(met)), s->conf->name, f->ncas, f->nswitches,
		    f->nlinks + off, drained, lost, s->plan->engine_running, s->push.blocks,
		    s->push.entries, took, st->discover_ms, st->route_ms, st->check_ms,
		    st->program_ms,
		    (unsigned long long)transact_counters(s->transact)->sent_total);
	memset(&s->met, 0, sizeof(s->met));
}

static void
tell_mads(const struct subnet *s)
{
	const struct transact_counters *c = transact_counters(s->transact);

	for (uint16_t i = 0; i < 256; i++) {
		const char *name = mad_attr_name(i);

		if (c->sent[i])
			log_debug("%llu requests of %s so far, %llu repeated in all",
				  (unsigned long long)c->sent[i], name ? name : "others",
				  (unsigned long long)c->retried);
	}
}

static void
push_verdict(struct subnet *s)
{
	const struct push *p = &s->push;

	s->push_incomplete = p->failed_tables || p->failed_ports || p->refused || p->lost;
	s->failures = s->push_incomplete ? s->failures + 1 : 0;
	s->retry_at = loop_now(s->env.loop) + subnet_retry_delay(s);
	if (p->failed_tables) {
		subnet_not_up(s, "tables could not be written: %s", p->first_failure);
		return;
	}
	s->up = true;
	s->unproved = false;
	if (s->push_incomplete)
		snprintf(s->why_not, sizeof(s->why_not), "%u ports are not as they should be: %s",
			 p->failed_ports, p->first_failure);
	else
		s->why_not[0] = '\0';
	if (s->st.up_ms <= 0)
		s->st.up_ms = (double)(loop_now(s->env.loop) - s->born) / 1e6;
}

void
subnet_push_done(struct subnet *s)
{
	if (!s->push.plan) {
		/* Only tables were read: the reading step has no plan. */
		subnet_route(s);
		return;
	}
	s->st.program_ms = (double)(loop_now(s->env.loop) - s->push.started) / 1e6;
	if (s->first_master_sweep)
		health_begin(s);
	if (s->first_master_sweep)
		multicast_leads(s, !office_is_ours(s));
	s->first_master_sweep = false;
	office_remember(s);
	push_verdict(s);
	if (s->up)
		takeover_up(s);
	push_pkeys_written(s);
	push_arbitration_written(s);
	admin_settled(s);
	subnet_finish_sweep(s, true);
	partitions_pushed(s);
	tell_mads(s);
	if (!partitions_tell(s) && s->up && (s->push.sets || s->reroute.done || s->st.sweeps == 1))
		tell_up(s);
	if (s->up)
		reroute_done(s);
	else
		subnet_command_failed(s, ERR_REFUSED, s->why_not);
	subnet_rest(s);
}
