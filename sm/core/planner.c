/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Routing on a worker: snapshot + LIDs + configuration + previous plan -> proved plan.
 *
 * The job holds references to all that it reads; the loop goes on meanwhile. After the chain of
 * engines has given tables that pass the checker, stages.c finds in which order they may take the
 * place of what the switches hold now.
 */
#include "sm/core/planner.h"
#include "sm/core/multicast_i.h"

#include <stdio.h>
#include <string.h>
#include "routing/check.h"
#include "routing/classes.h"
#include "routing/engine.h"
#include "routing/keep.h"
#include "sm/base/log.h"
#include "sm/base/mem.h"
#include "sm/text/lfts.h"

#define MEASURED_SHIFTS 31	/* permutations that tell the load in a rehearsal */

/* The engine that was asked for by name goes first; while the command that asked waits for its
 * answer it goes alone. */
static char **
copy_names(const struct subnet *s, bool dry_run)
{
	const char *first = dry_run && s->reroute.engine[0] ? s->reroute.engine :
			    s->engine_override;
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

/* A reload frees the configuration while the worker reads. */
static char **
copy_texts(const char *const *texts)
{
	size_t n = 0;
	char **copy;

	while (texts && texts[n])
		n++;
	copy = mem_array(n + 1, sizeof(*copy));
	for (size_t i = 0; i < n; i++)
		copy[i] = mem_strdup(texts[i]);
	return copy;
}

static void
free_texts(char **texts)
{
	for (char **t = texts; t && *t; t++)
		mem_free(*t);
	mem_free(texts);
}

static struct plan_row **
fixed_rows(const struct plan *plan, const struct plan *shadow)
{
	const struct fabric *f = plan->fabric;
	struct plan_row **fixed = mem_array(f->nswitches + 1, sizeof(*fixed));

	for (uint32_t sw = 0; shadow && sw < f->nswitches; sw++)
		if (fabric_switch_node(f, sw)->flags & FABRIC_NODE_FIXED)
			fixed[sw] = shadow->rows[sw];
	return fixed;
}

/* Of equal rows and blocks one is kept, so that what has not changed is known by its address. */
static void
share_rows(struct plan_job *j)
{
	for (uint32_t sw = 0; j->shadow && sw < j->plan->fabric->nswitches; sw++) {
		struct plan_row **new = &j->plan->rows[sw], *old = j->shadow->rows[sw];

		if (*new)
			*new = plan_row_settle(*new, old);
	}
}

/* The switch that the subnet manager is, or hangs on; FABRIC_NONE. */
static uint32_t
own_switch(const struct fabric *f)
{
	const struct fabric_port *p = f->sm_port == FABRIC_NONE ? NULL : &f->ports[f->sm_port];

	if (!p || f->nodes[p->node].sw != FABRIC_NONE || p->peer == FABRIC_NONE)
		return p ? f->nodes[p->node].sw : FABRIC_NONE;
	return f->nodes[f->ports[p->peer].node].sw;
}

/* By switch: a rehearsal of a loss takes it out of our reach, so nobody will write to it. */
static bool *
find_gone(const struct plan_job *j)
{
	const struct fabric *f = j->plan->fabric;
	uint32_t *queue = mem_array(f->nswitches + 1, sizeof(*queue)), len = 0;
	bool *gone = mem_array(f->nswitches + 1, sizeof(*gone));
	uint32_t own = own_switch(f);

	for (uint32_t sw = 0; sw < f->nswitches; sw++)
		gone[sw] = j->dry_run && own != FABRIC_NONE && sw != own;
	if (own != FABRIC_NONE)
		queue[len++] = own;
	for (uint32_t i = 0; i < len; i++)
		for (uint32_t e = f->edge_first[queue[i]]; e < f->edge_first[queue[i] + 1]; e++)
			if (gone[f->edges[e].to]) {
				gone[f->edges[e].to] = false;
				queue[len++] = f->edges[e].to;
			}
	mem_free(queue);
	return gone;
}

static uint32_t
next_change(const struct plan_row *new, const struct plan_row *old, uint32_t block)
{
	return old ? plan_row_differs(new, old, block) : block;
}

static void
count_block(struct plan_job *j, const struct plan_row *new, const struct plan_row *old,
	    uint32_t block)
{
	uint64_t before = j->entries;

	for (uint32_t i = block * LFT_BLOCK_LEN; i < (block + 1) * LFT_BLOCK_LEN; i++)
		j->entries += plan_row_port(new, i) != plan_row_port(old, i);
	j->blocks += j->entries != before || !old;
}

static void
count_changes(struct plan_job *j)
{
	bool *gone = find_gone(j);

	for (uint32_t sw = 0; sw < j->plan->fabric->nswitches; sw++) {
		const struct plan_row *new = j->plan->rows[sw];
		const struct plan_row *old = j->shadow ? j->shadow->rows[sw] : NULL;

		if (!new || new == old || j->plan->fixed[sw] || gone[sw])
			continue;
		j->switches++;
		for (uint32_t b = next_change(new, old, 0); b < plan_row_blocks(new);
		     b = next_change(new, old, b + 1))
			count_block(j, new, old, b);
	}
	mem_free(gone);
}

const struct plan_row *
planner_stage_row(const struct plan_job *j, unsigned stage, uint32_t sw)
{
	return j->stages && stage < j->stages->len ? j->stages->rows[stage][sw] :
						     j->plan->rows[sw];
}

/* Blocks that a switch is to be written, stage by stage. */
static uint32_t
writes_of(const struct plan_job *j, uint32_t sw)
{
	const struct plan_row *held = j->shadow ? j->shadow->rows[sw] : NULL;
	const unsigned stages = j->stages ? j->stages->len : 0;
	uint32_t writes = 0;

	for (unsigned i = 0; i <= stages; i++) {
		const struct plan_row *to = planner_stage_row(j, i, sw);

		if (!to || to == held)
			continue;
		for (uint32_t b = next_change(to, held, 0); b < plan_row_blocks(to);
		     b = next_change(to, held, b + 1))
			writes++;
		held = to;
	}
	return writes;
}

static void
count_writes(struct plan_job *j)
{
	bool *gone = find_gone(j);

	for (uint32_t sw = 0; sw < j->plan->fabric->nswitches; sw++)
		if (j->plan->rows[sw] && !j->plan->fixed[sw] && !gone[sw] &&
		    !adaptive_count_writes(j, sw))
			j->writes += writes_of(j, sw);
	mem_free(gone);
}

static void
forget_counts(struct plan_job *j)
{
	j->entries = 0;
	j->blocks = j->switches = 0;
}

/* We led last, by another engine: whoever names a new one and starts the daemon wants it. */
static bool
engine_is_new(const struct plan_job *j)
{
	return j->led_last && j->given.engine[0] && strcmp(j->given.engine, engine_keep.name) &&
	       strcmp(j->given.engine, j->plan->engine_running);
}

/* By port of the snapshot: some entry leads there. */
static bool *
ports_used(const struct plan *p)
{
	const struct fabric *f = p->fabric;
	bool *used = mem_array(f->nports, sizeof(*used));

	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		const struct fabric_node *n = fabric_switch_node(f, sw);

		for (uint32_t lid = 1; p->rows[sw] && lid <= p->lids->top; lid++) {
			uint8_t port = plan_row_port(p->rows[sw], lid);

			if (port && port <= n->nports)
				used[n->first_port + port] = true;
		}
	}
	return used;
}

/* We led last, and a cable that nothing goes by is one that has come back meanwhile. */
static bool
cables_are_back(const struct plan_job *j, const struct plan *kept)
{
	bool *new = ports_used(j->plan), *old = ports_used(kept), back = false;

	for (uint32_t i = 0; i < j->plan->fabric->nports; i++) {
		uint32_t peer = j->plan->fabric->ports[i].peer;

		back |= new[i] && !old[i] && peer != FABRIC_NONE && !old[peer];
	}
	mem_free(new);
	mem_free(old);
	return j->led_last && back;
}

/* What the engines made is not what switches hold: that is taken instead, if it can be proved. */
static void
keep_tables(struct plan_job *j, struct plan_row *const *fixed, const struct chain_options *chain)
{
	struct chain_options o = *chain;
	struct plan *kept;
	struct error why;
	bool differs;

	if (engine_is_new(j))
		return;
	count_changes(j);
	differs = j->entries > 0;
	forget_counts(j);
	if (!differs)
		return;
	kept = plan_new(j->plan->fabric);
	kept->lids = plan_lids_ref(j->plan->lids);
	o.only = &engine_keep;
	if (engine_chain(kept, fixed, j->shadow, &o, &why)) {
		log_notice("the tables that switches hold are not kept: %s", why.text);
		plan_unref(kept);
		return;
	}
	if (cables_are_back(j, kept)) {
		plan_unref(kept);
		return;
	}
	snprintf(kept->engine_requested, sizeof(kept->engine_requested), "%s",
		 j->plan->engine_requested);
	plan_unref(j->plan);
	j->plan = kept;
}

static uint32_t
worst_load(const struct plan *p, unsigned threads)
{
	struct check_input in = {
		.fabric = p->fabric, .lids = p->lids, .rows = p->rows, .lanes = p->lanes,
		.ranks = p->ranks, .threads = threads,
	};
	struct quality_report q;

	quality_measure(&in, 1, MEASURED_SHIFTS, 1, &q);
	return q.shift_max;
}

/* What the change would mean for traffic. */
static void
measure(struct plan_job *j)
{
	j->load_before = worst_load(j->previous, j->threads);
	j->load_after = worst_load(j->plan, j->threads);
}

static void
run(void *arg)
{
	struct plan_job *j = arg;
	struct plan_row **fixed = fixed_rows(j->plan, j->shadow);
	const struct classes classes = {
		.storage = (const char *const *)j->storage,
		.other = (const char *const *)j->other,
	};
	uint8_t *node_class = classes_of(&classes, j->plan->fabric);
	struct compose_policy qos = { .max_vls = j->max_vls };
	struct chain_options o = {
		.maybe = j->maybe, .engines = (const char *const *)j->names,
		.more = j->plugged.engines,
		.fallback = j->fallback, .compose = lanes_compose, .compose_arg = j,
		.engine = {.roots = j->roots, .nroots = j->nroots, .threads = j->threads,
			   .lanes = j->lanes, .tables = j->tables,
			   .node_class = node_class, .full = j->full},
	};

	qos_levels_policy(j->conf, &j->levels, &qos);
	o.engine.max_vls = compose_engine_vls(&qos, j->plan->fabric);
	o.shared_vls = qos.merge ? qos.max_vls : 0;
	plugged_before(&j->plugged);
	j->error = engine_chain(j->plan, fixed, j->fresh ? NULL :
				j->previous ? j->previous : j->shadow, &o, &j->why);
	plugged_after(&j->plugged);
	if (!j->error)
		share_rows(j);
	if (!j->error && j->keep && j->shadow) {
		keep_tables(j, fixed, &o);
		share_rows(j);
	}
	mem_free(node_class);
	mem_free(fixed);
	if (j->error)
		return;
	j->plan->doubtful |= j->blind;
	lanes_share(j);
	if (j->parts) {
		partition_job_run(j->parts);
		j->plan->pkeys = plan_pkeys_ref(j->parts->pkeys);
	}
	j->error = j->dry_run ? 0 : rules_job_run(&j->rules, j->parts ? j->parts->policy : NULL,
						  j->plan, &j->why);
	if (j->error)
		return;
	adaptive_run(j);
	count_changes(j);
	mtree_close(j->plan->fabric, &j->trees);
	j->shifts = j->shadow && lanes_shift(j);
	if (j->shadow && (j->entries || j->shifts))
		stages_make(j);
	adaptive_mix(j);
	count_writes(j);
	if (j->measured)
		measure(j);
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

/* A rehearsal must not move LIDs, and none need move: nodes and ports are those of the published
 * plan. */
static struct plan_lids *
published_lids(const struct subnet *s, const struct fabric *f)
{
	struct plan_lids *l = plan_lids_new(f);
	const struct plan_lids *from = s->plan->lids;

	memcpy(l->base, from->base, f->nports * sizeof(*l->base));
	memcpy(l->lmc, from->lmc, f->nports * sizeof(*l->lmc));
	plan_lids_index(l, f);
	return l;
}

/* What switches hold of SL to VL maps. While no plan of ours has any, nobody asks what they are. */
static void
find_held(struct plan_job *j, struct subnet *s, const struct fabric *f)
{
	bool asked = s->lanes_looked || (s->plan && s->plan->sls);

	j->held = mem_array(f->nswitches + 1, sizeof(struct lane_tables *));
	j->refuses = mem_array(f->nswitches + 1, sizeof(*j->refuses));
	j->given = s->given;
	/* It forwarded before us: who knows what else hosts were told. */
	if (!j->given.engine[0] && j->shadow)
		j->given.stale = 1;
	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		struct device *d = topo_find(&s->topo, fabric_switch_node(f, sw)->guid);

		if (!d)
			continue;
		j->refuses[sw] = d->lanes_refused ||
				 !(d->ports[0].info.cap_mask & CAP_SL_MAPPING);
		if (asked)
			j->held[sw] = lane_tables_ref(lanes_of_device(&s->topo.tables, d));
	}
}

/* Silent switches that were not heard of any more amid their tables. */
static void
find_maybe(struct plan_job *j, struct subnet *s, const struct fabric *f)
{
	for (uint32_t sw = 0; j->shadow && sw < f->nswitches; sw++) {
		const struct device *d = topo_find(&s->topo, fabric_switch_node(f, sw)->guid);

		/* Another manager wrote it, and it fell silent before it was read; or it may spread
		 * packets, over whatever ports. */
		j->blind |= d && d->silent && (!d->lft || (d->ar && d->ar->leave));
		if (!d || !d->silent || d->lft_trusted || !d->lft || !d->lft_tried)
			continue;
		if (!j->maybe)
			j->maybe = mem_array(f->nswitches, sizeof(struct plan_row *));
		j->maybe[sw] = plan_row_ref(d->lft_tried);
	}
}

/* Whoever takes over keeps what is there, until something changes or is asked for; whose own port
 * was away does not take over. */
static bool
may_keep(const struct subnet *s)
{
	return s->conf->takeover == TAKEOVER_KEEP && !s->engine_override[0] &&
	       (!s->plan || (s->first_master_sweep && !s->office[0]) ||
		(s->keeps && !s->sweep.changed));
}

void
planner_start(struct subnet *s, const struct fabric *f, const struct fabric *whole,
	      struct plan_lids *lids)
{
	bool dry_run = !lids;
	struct plan_job *j = mem_zalloc(sizeof(*j));
	const struct reroute *r = s->reroute.done && !s->reroute.waiting ? &s->reroute : NULL;

	j->s = s;
	j->plan = plan_new(f);
	j->whole = f == whole ? NULL : fabric_ref(whole);
	j->plan->lids = dry_run ? published_lids(s, f) : lids;
	j->full = r && r->c.kind == CHANGE_ROUTE && r->c.full;
	j->fresh = s->proof.distrust || j->full;
	j->keep = !dry_run && !r && may_keep(s);
	j->led_last = s->office[0] != '\0';
	j->measured = r && dry_run && r->c.kind != CHANGE_ROUTE;
	j->previous = s->plan ? plan_ref(s->plan) : NULL;
	j->shadow = push_shadow_plan(s, f);
	if (j->shadow)
		j->shadow->lids = plan_lids_from_fabric(f);
	find_maybe(j, s, f);
	mft_held(s, f, NULL, &j->trees);
	multicast_levels(s, &j->trees);
	find_held(j, s, f);
	adaptive_begin(s, j);
	if (r && r->c.kind == CHANGE_ROUTE && r->c.forget_levels)
		j->given.stale = 0;
	rules_job_begin(&j->rules, s, r && r->c.kind == CHANGE_ROUTE && r->c.apply_names);
	j->parts = dry_run ? NULL : partition_job_new(s, f, false);
	j->names = copy_names(s, dry_run);
	j->nroots = s->conf->routing.nroots;
	j->roots = mem_array(j->nroots + 1, sizeof(*j->roots));
	if (j->nroots)
		memcpy(j->roots, s->conf->routing.roots, j->nroots * sizeof(*j->roots));
	j->storage = copy_texts(s->conf->routing.classes.storage);
	j->other = copy_texts(s->conf->routing.classes.other);
	j->tables = lfts_ref(s->tables);
	plugged_begin(&j->plugged, s, r != NULL);
	j->fallback = s->conf->routing.fallback == FALLBACK_WARN;
	j->dry_run = dry_run;
	j->conf = config_ref(s->parts.conf);
	qos_levels_of(j->conf, &j->levels);
	j->max_vls = s->conf->max_op_vls;
	j->lanes = s->conf->routing.lanes;
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
	partition_job_drop(j->s, j->parts, j->s != NULL);
	rules_job_end(&j->rules);
	config_free(j->conf);
	fabric_unref(j->whole);
	plan_unref(j->previous);
	plan_unref(j->shadow);
	free_texts(j->names);
	free_texts(j->storage);
	free_texts(j->other);
	mem_free(j->roots);
	lfts_free(j->tables);
	plugged_end(&j->plugged);
	mtree_set_free(&j->trees);
	for (uint32_t sw = 0; sw < j->plan->fabric->nswitches; sw++) {
		lane_tables_unref(j->held[sw]);
		plan_row_unref(j->maybe ? j->maybe[sw] : NULL);
	}
	mem_free(j->maybe);
	adaptive_end(j);
	mem_free(j->held);
	mem_free(j->refuses);
	plan_unref(j->plan);
	mem_free(j);
}
