/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * At rest: nothing misbehaves any more, what is broken is broken. In bounded time each part of the
 * fabric that cables join has one master, which programmed it as it is; all pairs are routed on
 * every level; no address moved without a reason, and no two ports have one; and then nothing more
 * is written.
 */
#include "tests/unit/harness.h"

#include <stdio.h>
#include <string.h>
#include "sim/model/model_impl.h"
#include "sm/base/mem.h"

#define BOUND SEC(200)		/* until all is well */
#define PAUSE MSEC(100)		/* between looks, at first; links that are mended train meanwhile */
#define SILENCE SEC(25)		/* without a Set */
#define SILENT_IN SEC(900)	/* at the latest */

/* ---- Roles ---- */

static bool
same_part(const struct harness_run *r, unsigned a, unsigned b)
{
	return bed_healthy(r->sms[a].sm, r->sms[b].sm->node);
}

static bool
port_up(const struct harness_run *r, unsigned i)
{
	return model_link_is_up(r->b->m, r->sms[i].sm->node, 1);
}

static void
check_roles(struct harness_run *r, char *why, size_t size)
{
	for (unsigned i = 0; i < r->nsms; i++) {
		unsigned masters = 0;

		if (!r->sms[i].sm->s || !port_up(r, i))
			continue;
		for (unsigned k = 0; k < r->nsms; k++)
			masters += r->sms[k].sm->s && port_up(r, k) && same_part(r, i, k) &&
				r->sms[k].sm->s->role == ROLE_MASTER;
		if (masters != 1)
			snprintf(why, size, "%u masters where manager %u is", masters, i);
	}
}

static bool
is_quiet(const struct subnet *s)
{
	return (s->stage == SUBNET_IDLE || s->stage == SUBNET_WAITING) && s->wanted == SWEEP_NONE &&
		!(s->want_route && s->role == ROLE_MASTER) && !loop_timer_pending(s->soon);
}

static void
check_quiet(const struct harness_run *r, char *why, size_t size)
{
	for (unsigned i = 0; i < r->nsms; i++) {
		const struct subnet *s = r->sms[i].sm->s;

		if (s && port_up(r, i) && !is_quiet(s))
			snprintf(why, size, "manager %u is busy: %s, wants %s %u%s%s", i,
				 harness_place_name(harness_place(s)), "sweep", s->wanted,
				 s->want_route ? ", route" : "",
				 loop_timer_pending(s->soon) ? ", soon" : "");
	}
}

/* ---- P_Keys ---- */

static bool
has_tenant(const struct harness_run *r, uint32_t node)
{
	for (unsigned i = 0; i < model_pkeys(r->b->m, node, 1); i++)
		if ((model_pkey(r->b->m, node, 1, i) & 0x7fff) == 0x42)
			return true;
	return false;
}

static void
check_pkeys(struct harness_run *r, const struct bed_sm *sm, char *why, size_t size)
{
	unsigned host = 0;

	for (uint32_t n = 0; n < r->b->net->nnodes && r->sched->tenants; n++) {
		bool member;

		if (harness_is_switch(r, n))
			continue;
		member = !host || r->members >> host % 64 & 1 ||
			(host < 64 && r->commanded >> host & 1);
		host++;
		if (r->commanding >= 0 || !bed_healthy(sm, n) || has_tenant(r, n) == member)
			continue;
		snprintf(why, size, "%s is %s the tenant's partition", r->b->net->nodes[n].name,
			 member ? "not in" : "in");
	}
}

/* ---- All of it ---- */

static void
check_master(struct harness_run *r, struct harness_sm *h, char *why, size_t size)
{
	struct subnet_status st;

	if (!bed_good(h->sm))
		snprintf(why, size, "%s", h->sm->why);
	if (!why[0])
		harness_adaptive_check(r, h, why, size);
	if (!why[0])
		check_pkeys(r, h->sm, why, size);
	if (!why[0])
		harness_judge_pairs(r, h->sm->s, why, size);
	if (!why[0] && !subnet_is_up(h->sm->s)) {
		subnet_status(h->sm->s, &st);
		snprintf(why, size, "manager %u says that it is not up: %s",
			 (unsigned)(h - r->sms), h->sm->s->why_not);
	}
}

static bool
is_well(struct harness_run *r, char *why, size_t size)
{
	why[0] = '\0';
	check_quiet(r, why, size);
	if (!why[0])
		check_roles(r, why, size);
	for (unsigned i = 0; i < r->nsms && !why[0]; i++)
		if (r->sms[i].sm->s && port_up(r, i) && r->sms[i].sm->s->role == ROLE_MASTER)
			check_master(r, &r->sms[i], why, size);
	return !why[0];
}

void
harness_settle(struct harness_run *r)
{
	monotime end = loop_now(r->b->loop) + BOUND, pause = PAUSE;
	char why[600];

	do {
		harness_wait(r, pause, NULL);
		pause = pause < SEC(2) ? pause * 3 / 2 : pause;
	} while (!is_well(r, why, sizeof(why)) && !r->why[0] && loop_now(r->b->loop) < end);
	if (why[0])
		harness_wrong(r, "settle: %s", why);
	harness_say(r, "settled");
}

/* ---- Addresses ---- */

static void
check_lid(struct harness_run *r, uint32_t n)
{
	uint16_t lid = harness_lid(r, n);
	struct harness_port *p = &r->ports[n];
	bool must = !r->lids_may_move && (!p->restless || p->reign == r->reigns);

	if (p->lid && must && p->lid != lid)
		harness_wrong(r, "moved: %s had LID %u and has %u", r->b->net->nodes[n].name,
			      p->lid, lid);
	*p = (struct harness_port){ .lid = lid, .reign = r->reigns };
}

static void
check_lids(struct harness_run *r)
{
	const struct harness_sm *h = harness_master(r);

	/* Nobody has set right yet what there was a reason for. */
	if (!h)
		return;
	for (uint32_t n = 0; n < r->b->net->nnodes; n++) {
		if (r->lids_may_move)
			r->ports[n].lid = 0;
		if (bed_healthy(h->sm, n))
			check_lid(r, n);
	}
	r->lids_may_move = r->lmc_changed;
}

/* ---- Nothing more is written ---- */

static uint64_t
all_sets(const struct harness_run *r)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < ATTRS; i++)
		n += r->b->m->counts[i][COUNT_SET];
	return n + r->ar_sets;
}

void
harness_silence(struct harness_run *r)
{
	monotime end = loop_now(r->b->loop) + SILENT_IN;
	uint64_t before;

	do {
		before = all_sets(r);
		harness_wait(r, SILENCE, NULL);
	} while (!r->why[0] && before != all_sets(r) && loop_now(r->b->loop) < end);
	if (before != all_sets(r))
		harness_wrong(r, "writes: %u more Sets in %u s at rest",
			      (unsigned)(all_sets(r) - before), (unsigned)(SILENCE / SEC(1)));
}

void
harness_rest(struct harness_run *r, bool last)
{
	harness_say(r, last ? "all is mended" : "all is calm");
	harness_calm(r, last);
	harness_settle(r);
	if (r->why[0])
		return;
	harness_judge_resume(r);
	harness_judge_look(r, true);
	check_lids(r);
	harness_clients_rest(r);
	r->counts->rests++;
	r->counts->sets = r->counts->sets + (last ? all_sets(r) : 0);
	if (!last || r->why[0])
		return;
	harness_silence(r);
	harness_adaptive_rest(r);
	harness_settle(r);
	check_lids(r);
	harness_frugal(r);
}
