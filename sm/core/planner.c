/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Routing on a worker: snapshot + LIDs + configuration + previous plan -> proved plan.
 *
 * The job holds references to all that it reads; the loop goes on meanwhile. After the chain of
 * engines has given tables that pass the checker, they are proved once more together with what the
 * switches hold now: packets meet any mixture of both while blocks are written. Where the mixture
 * could loop or deadlock, entries change in an order, nearest to their destination first, so that
 * a changed entry leads to changed ones only; each step's mixture is proved in turn. Where that
 * fails too, entries that change are dropped first.
 */
#include "sm/core/planner.h"

#include <stdio.h>
#include <string.h>
#include "routing/check.h"
#include "routing/engine.h"
#include "sm/base/mem.h"

#define LEVEL_FAR 255	/* no way, or none that ends */

/* The engine that was asked for by name goes first; while the command that asked waits for its
 * answer it goes alone. */
static char **
copy_names(const struct subnet *s, bool dry_run)
{
	const char *first = dry_run ? s->reroute.engine : s->engine_override;
	bool alone = first[0] && s->reroute.done && !s->reroute.waiting;
	const char **chain = s->conf->routing.engines;
	size_t len = 0, n = 0;
	char **names;

	while (chain[len])
		len++;
	names = mem_array(len + 2, sizeof(*names));
	if (first[0])
		names[n++] = mem_strdup(first);
	for (size_t i = 0; i < len && !alone; i++)
		if (strcmp(chain[i], first))
			names[n++] = mem_strdup(chain[i]);
	return names;
}

static struct plan_row **
fixed_rows(const struct plan *plan, const struct plan *shadow)
{
	const struct fabric *f = plan->fabric;
	struct plan_row **fixed = mem_array(f->nswitches + 1, sizeof(*fixed));

	for (uint32_t sw = 0; shadow && sw < f->nswitches; sw++)
		if (fabric_switch_node(f, sw)->flags & FABRIC_NODE_SILENT)
			fixed[sw] = shadow->rows[sw];
	return fixed;
}

static void
count_changes(struct plan_job *j)
{
	for (uint32_t sw = 0; sw < j->plan->fabric->nswitches; sw++) {
		const struct plan_row *new = j->plan->rows[sw];
		const struct plan_row *old = j->shadow ? j->shadow->rows[sw] : NULL;

		for (uint32_t at = 0; new && !j->plan->fixed[sw] && at < new->len;
		     at += LFT_BLOCK_LEN) {
			uint64_t before = j->entries;

			for (uint32_t i = at; i < at + LFT_BLOCK_LEN; i++)
				j->entries += new->port[i] != plan_row_port(old, i);
			j->blocks += j->entries != before || !old;
		}
	}
}

/*
 * Getting from the old tables to the new ones.
 */
void
plan_stages_free(struct plan_stages *st)
{
	for (unsigned i = 0; st && i < st->len; i++) {
		for (uint32_t sw = 0; sw < st->nswitches; sw++)
			plan_row_unref(st->rows[i][sw]);
		mem_free(st->rows[i]);
	}
	mem_free(st);
}

static struct plan_stages *
stages_new(const struct plan_job *j, unsigned len)
{
	struct plan_stages *st = mem_zalloc(sizeof(*st));

	st->nswitches = j->plan->fabric->nswitches;
	st->len = len;
	for (unsigned i = 0; i < len; i++)
		st->rows[i] = mem_array(st->nswitches, sizeof(struct plan_row *));
	return st;
}

/* The table of the switch changes, and what it holds now is known. */
static bool
row_changes(const struct plan_job *j, uint32_t sw)
{
	const struct plan_row *old = j->shadow->rows[sw], *new = j->plan->rows[sw];

	return old && new && !j->plan->fixed[sw] && !plan_row_equal(old, new);
}

/* Old entries that stay, and "drop" where they change: a subset of both tables. */
static void
make_drain(struct plan_job *j)
{
	j->stages = stages_new(j, 1);
	j->stages->drain = true;
	for (uint32_t sw = 0; sw < j->stages->nswitches; sw++) {
		const struct plan_row *old = j->shadow->rows[sw], *new = j->plan->rows[sw];
		struct plan_row *row;

		if (!row_changes(j, sw))
			continue;
		row = plan_row_new(j->plan->lids->top);
		for (uint32_t i = 0; i < row->len; i++)
			if (plan_row_port(old, i) == plan_row_port(new, i))
				row->port[i] = plan_row_port(old, i);
		j->stages->rows[0][sw] = row;
	}
}

/* The switch behind a port, FABRIC_NONE if there is none. */
static uint32_t
next_switch(const struct fabric *f, uint32_t sw, uint8_t out)
{
	const struct fabric_node *n = fabric_switch_node(f, sw);
	uint32_t peer = out && out <= n->nports ? f->ports[n->first_port + out].peer : FABRIC_NONE;

	return peer == FABRIC_NONE ? FABRIC_NONE : f->nodes[f->ports[peer].node].sw;
}

/* Switches from each switch to the destination by the new tables; a way is walked once. */
static void
find_levels(const struct plan_job *j, uint32_t lid, uint8_t *level, uint32_t *way)
{
	const struct fabric *f = j->plan->fabric;
	uint32_t home = j->plan->lids->dest[lid].sw;

	memset(level, 0, f->nswitches);
	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		uint32_t len = 0, at = sw;
		unsigned far = LEVEL_FAR;

		while (at != FABRIC_NONE && at != home && !level[at] && len < PLAN_MAX_HOPS) {
			way[len++] = at;
			at = next_switch(f, at, plan_row_port(j->plan->rows[at], lid));
		}
		if (at != FABRIC_NONE && len < PLAN_MAX_HOPS)
			far = at == home ? 0 : level[at];
		while (len)
			level[way[--len]] = (uint8_t)(far < LEVEL_FAR ? ++far : LEVEL_FAR);
	}
}

/* The sets into which one LID's changed entries come: `set` by level. */
static void
stage_lid(struct plan_job *j, uint32_t lid, const uint8_t *level, const uint8_t *set)
{
	struct plan_stages *st = j->stages;

	for (uint32_t sw = 0; sw < st->nswitches; sw++)
		for (unsigned i = set[level[sw]]; i < st->len && st->rows[i][sw]; i++)
			st->rows[i][sw]->port[lid] = plan_row_port(j->plan->rows[sw], lid);
}

/* Whether some known table changes for a LID; its levels are marked as used. */
static bool
mark_levels(const struct plan_job *j, uint32_t lid, const bool *changes, uint8_t *level,
	    uint32_t *way, uint8_t *used)
{
	bool any = false;

	for (uint32_t sw = 0; sw < j->plan->fabric->nswitches; sw++) {
		if (!changes[sw] || plan_row_port(j->shadow->rows[sw], lid) ==
				    plan_row_port(j->plan->rows[sw], lid))
			continue;
		if (!any)
			find_levels(j, lid, level, way);
		any = true;
		used[level[sw]] = 1;
	}
	return any;
}

/* Rows as they are now, where they change; elsewhere the plan's, so that equal ones are one. */
static struct plan_row **
rows_now(const struct plan_job *j)
{
	uint32_t n = j->plan->fabric->nswitches;
	struct plan_row **rows = mem_array(n, sizeof(struct plan_row *));

	for (uint32_t sw = 0; sw < n; sw++)
		rows[sw] = row_changes(j, sw) ? j->shadow->rows[sw] : j->plan->rows[sw];
	return rows;
}

static bool
mix(const struct plan_job *j, struct plan_row **one, struct plan_row **other,
    struct plan_check *report)
{
	struct check_input in = {
		.fabric = j->plan->fabric, .lids = j->plan->lids, .lanes = j->plan->lanes,
		.threads = j->threads, .rows = one, .also = other, .ranks = j->plan->ranks,
		.proved = j->plan->proof ? j->plan->rows : NULL,
	};

	*report = (struct plan_check){0};
	return check_union(&in, report) == 0;
}

/* The mixture of the tables before and after each step is proved. */
static bool
stages_proved(const struct plan_job *j)
{
	uint32_t n = j->stages->nswitches;
	struct plan_row **now = rows_now(j), **then = mem_array(n, sizeof(struct plan_row *));
	struct plan_check report;
	bool proved = true;

	for (unsigned i = 0; i <= j->stages->len && proved; i++) {
		for (uint32_t sw = 0; sw < n; sw++)
			then[sw] = i < j->stages->len && j->stages->rows[i][sw] ?
				   j->stages->rows[i][sw] : j->plan->rows[sw];
		proved = mix(j, then, now, &report);
		memcpy(now, then, n * sizeof(*now));
	}
	mem_free(now);
	mem_free(then);
	return proved;
}

/* Each level that is in use gets a set, but the farthest: what is left is the plan itself. */
static unsigned
number_sets(const uint8_t *used, uint8_t *set)
{
	unsigned sets = 0;

	for (unsigned level = 0; level <= LEVEL_FAR; level++) {
		set[level] = (uint8_t)sets;
		sets += used[level];
	}
	return sets ? sets - 1 : 0;
}

static void
fill_stages(struct plan_job *j, const bool *changes)
{
	struct plan_stages *st = j->stages;
	uint16_t top = j->plan->lids->top;

	for (uint32_t sw = 0; sw < st->nswitches; sw++)
		for (unsigned i = 0; i < st->len && changes[sw]; i++) {
			st->rows[i][sw] = plan_row_new(top);
			for (uint32_t lid = 0; lid <= top; lid++)
				st->rows[i][sw]->port[lid] =
					plan_row_port(j->shadow->rows[sw], lid);
		}
}

/* Sets of rows in which entries change nearest to their destination first. */
static bool
make_stages(struct plan_job *j)
{
	const struct plan_lids *l = j->plan->lids;
	uint32_t n = j->plan->fabric->nswitches;
	uint8_t *level = mem_array(n, 1), used[LEVEL_FAR + 1] = {0}, set[LEVEL_FAR + 1];
	uint32_t *way = mem_array(PLAN_MAX_HOPS, sizeof(*way));
	bool *changes = mem_array(n, sizeof(*changes)), fits;
	unsigned len;

	for (uint32_t sw = 0; sw < n; sw++)
		changes[sw] = row_changes(j, sw);
	for (uint32_t lid = 1; lid <= l->top; lid++)
		if (l->dest[lid].sw != FABRIC_NONE)
			mark_levels(j, lid, changes, level, way, used);
	len = number_sets(used, set);
	fits = len > 0 && len <= STAGES_MAX;
	if (fits) {
		j->stages = stages_new(j, len);
		fill_stages(j, changes);
	}
	for (uint32_t lid = 1; fits && lid <= l->top; lid++)
		if (l->dest[lid].sw != FABRIC_NONE &&
		    mark_levels(j, lid, changes, level, way, used))
			stage_lid(j, lid, level, set);
	mem_free(changes);
	mem_free(level);
	mem_free(way);
	return fits && stages_proved(j);
}

static void
prove_union(struct plan_job *j)
{
	struct plan_row **now = rows_now(j);
	struct plan_check report;
	bool mixes = mix(j, j->plan->rows, now, &report);

	mem_free(now);
	if (mixes)
		return;
	snprintf(j->union_cycle, sizeof(j->union_cycle), "%s", report.cycle);
	if (make_stages(j))
		return;
	plan_stages_free(j->stages);
	make_drain(j);
}

static void
run(void *arg)
{
	struct plan_job *j = arg;
	struct plan_row **fixed = fixed_rows(j->plan, j->shadow);
	struct chain_options o = {
		.engines = (const char *const *)j->names,
		.fallback = j->fallback,
		.engine = {.roots = j->roots, .nroots = j->nroots, .threads = j->threads},
	};

	j->error = engine_chain(j->plan, fixed, j->previous ? j->previous : j->shadow, &o, &j->why);
	mem_free(fixed);
	if (j->error)
		return;
	count_changes(j);
	if (j->shadow && j->entries)
		prove_union(j);
	/* Virtual time stands still meanwhile; what the machine took differs from run to run. */
	if (j->untimed)
		j->plan->route_us = j->plan->check_us = 0;
}

static void
done(void *arg)
{
	struct plan_job *j = arg;

	/* A job that its subnet has let go of (planner_drop) is nobody's. */
	if (j->s)
		subnet_route_done(j->s, j);
	else
		planner_free_job(j);
}

void
planner_drop(struct subnet *s)
{
	if (s->job)
		s->job->s = NULL;
	s->job = NULL;
}

void
planner_start(struct subnet *s, const struct fabric *f, bool dry_run)
{
	struct plan_job *j = mem_zalloc(sizeof(*j));

	j->s = s;
	j->plan = plan_new(f);
	/* A rehearsal must not move LIDs, and none need move: it starts from the published plan. */
	j->plan->lids = dry_run && s->plan && s->plan->fabric == f ? plan_lids_ref(s->plan->lids) :
			lids_assign(s, f);
	j->previous = s->plan ? plan_ref(s->plan) : NULL;
	j->shadow = push_shadow_plan(s, f);
	if (j->shadow)
		j->shadow->lids = plan_lids_from_fabric(f);
	j->names = copy_names(s, dry_run);
	j->nroots = s->conf->routing.nroots;
	j->roots = mem_array(j->nroots + 1, sizeof(*j->roots));
	if (j->nroots)
		memcpy(j->roots, s->conf->routing.roots, j->nroots * sizeof(*j->roots));
	j->fallback = s->conf->routing.fallback == FALLBACK_WARN;
	j->dry_run = dry_run;
	j->threads = s->env.threads;
	j->untimed = loop_is_virtual(s->env.loop);
	s->job = j;
	loop_work(s->env.loop, run, done, j, MSEC(1));
}

void
planner_free_job(struct plan_job *j)
{
	if (!j)
		return;
	plan_stages_free(j->stages);
	plan_unref(j->plan);
	plan_unref(j->previous);
	plan_unref(j->shadow);
	for (char **n = j->names; n && *n; n++)
		mem_free(*n);
	mem_free(j->names);
	mem_free(j->roots);
	mem_free(j);
}
