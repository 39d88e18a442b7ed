/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/fattree.h"
#include <stdio.h>
#include <string.h>
#include "routing/balance.h"
#include "routing/fattree_impl.h"
#include "sm/base/mem.h"
#include "sm/base/parallel.h"

/*
 * Engine fattree: closed-form routing of trees of any depth, whole, degraded or irregular. A run
 * finds the tree that the fabric should be (tree.c) and what of it is there (tree_state.c), costs
 * of all ways in both (tree_cost.c) and numbers of destinations (tree_number.c), and fills tables
 * from these (fattree_fill.c, fattree_spread.c); or it changes those of the previous run
 * (fattree_repair.c). Both give the same.
 *
 * Tables stay as they would be without loss but for what used what is lost, so that few entries
 * move, and move back. That was measured against tables made for what is left (Dmodc) on a tree of
 * 11,664 hosts: up to one cable in ten lost, the load of shifts is lower and effective bisection
 * higher, in proportion to the capacity that is left. So the latter are made only when asked for.
 */

struct filling {
	struct fattree *ft;		/* what is filled */
	struct fattree_work *work;	/* by thread */
};

static void
fill_rows(void *arg, unsigned thread, size_t first, size_t end)
{
	const struct filling *fl = arg;
	struct fattree *ft = fl->ft;

	for (size_t v = first; v < end; v++) {
		struct plan_row *row;

		if (ft->s.sw[v] == FABRIC_NONE)
			continue;
		row = plan_row_blank(ft->in->lids->top);
		fattree_fill(ft, (uint32_t)v, plan_row_entries(row), &fl->work[thread]);
		ft->rows[v] = row;
	}
}

static void
fill_all(struct fattree *ft)
{
	struct filling fl = { .ft = ft, .work = fattree_work_new(ft) };

	parallel_run(ft->threads, ft->t->n, 4, fill_rows, &fl);
	fattree_work_free(ft, fl.work);
	fattree_spread(ft);
}

void
fattree_rows_new(struct fattree *ft)
{
	ft->rows = mem_array(ft->t->n, sizeof(struct plan_row *));
	ft->broken = mem_array(ft->t->n, sizeof(uint8_t *));
	ft->spill = mem_array(ft->t->n, sizeof(struct fattree_spill *));
}

/* Do most hosts hang on switches with others below that lead to hosts? Then digits mean nothing. */
static bool
is_no_tree(const struct fattree *ft)
{
	uint32_t above = 0;

	for (uint32_t lid = 1; lid <= ft->in->lids->top; lid++) {
		const struct plan_dest *d = &ft->in->lids->dest[lid];

		above += d->port != FABRIC_NONE && d->sw != FABRIC_NONE && d->out && !d->offset &&
			ft->t->nested[ft->s.vertex[d->sw]];
	}
	return 2 * above > ft->numbers->nhosts;
}

static int
prepare(struct fattree *ft, struct error *e)
{
	int rc = tree_new(ft->in, &ft->t, e);

	if (rc)
		return rc;
	rc = tree_state_find(ft->t, ft->in, &ft->s, e);
	if (rc)
		return rc;
	fattree_decide(ft);
	ft->numbers = tree_numbers_new(ft->t, &ft->s, ft->in);
	ft->nominal = tree_costs_new(ft->t, NULL, NULL, 0, ft->threads);
	ft->live = ft->s.whole ? tree_costs_ref(ft->nominal) :
		tree_costs_new(ft->t, &ft->s, NULL, 0, ft->threads);
	fattree_digits_make(ft, NULL);
	return 0;
}

/* What has not changed is the previous plan's row or block itself. */
static void
share_rows(const struct engine_input *in, struct engine_output *out)
{
	const struct plan *prev = in->previous;

	for (uint32_t sw = 0; prev && sw < in->fabric->nswitches; sw++) {
		uint32_t n = fabric_node_by_guid(prev->fabric,
						 fabric_switch_node(in->fabric, sw)->guid);
		uint32_t old = n == FABRIC_NONE ? FABRIC_NONE : prev->fabric->nodes[n].sw;

		if (old != FABRIC_NONE && out->rows[sw])
			out->rows[sw] = plan_row_settle(out->rows[sw], prev->rows[old]);
	}
}

/* In the order of switches, but by load, as engine updn does. */
static void
balance_all(const struct fattree *ft, struct engine_output *out, const struct ranks *r)
{
	const struct balance_trees trees = {
		.hosts = ranks_tree, .hosts_arg = r, .switches = ranks_tree, .switches_arg = r,
	};

	balance_rows(ft->in, out, &trees);
}

static void
give_out(struct fattree *ft, struct engine_output *out)
{
	const struct fabric *f = ft->in->fabric;
	struct ranks r = { .f = f, .rank = mem_array(f->nswitches, sizeof(*r.rank)) };

	out->ranks = mem_alloc(f->nswitches);
	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		uint32_t v = ft->s.vertex[sw];

		r.rank[sw] = ft->s.rank[v];
		out->ranks[sw] = (uint8_t)ft->s.rank[v];
		if (engine_is_fixed(ft->in, sw) || ft->no_tree)
			continue;
		out->rows[sw] = ft->rows[v];
		ft->rows[v] = NULL;
	}
	out->roots = plan_roots_ref(ft->t->roots);
	fattree_describe(ft, &r, out->note, sizeof(out->note));
	if (ft->no_tree || ft->in->fixed)
		ranks_split(&r);
	if (ft->no_tree)
		balance_all(ft, out, &r);
	else if (ft->in->fixed)
		fattree_heed_silent(ft, out, &r);
	if (!ft->repaired)
		share_rows(ft->in, out);
	ranks_free(&r);
}

static void
done(struct fattree *ft)
{
	for (uint32_t v = 0; ft->rows && v < ft->t->n; v++)
		plan_row_unref(ft->rows[v]);
	for (uint32_t v = 0; ft->broken && v < ft->t->n; v++)
		mem_free(ft->broken[v]);
	mem_free(ft->rows);
	mem_free(ft->broken);
	if (ft->t)
		fattree_spill_free(ft->spill, ft->t->n);
	fattree_digits_free(ft);
	tree_costs_unref(ft->nominal);
	tree_costs_unref(ft->live);
	tree_numbers_unref(ft->numbers);
	tree_state_free(&ft->s);
	tree_unref(ft->t);
}

void
fattree_decide(struct fattree *ft)
{
	const struct fattree_memo *memo = fattree_memo_of(ft->in);
	const struct engine_options *o = ft->in->options;

	ft->full = ft->s.nlost && ((o && o->full) || (memo && memo->full));
}

/* Forget a repair that came to nothing. */
static void
start_anew(struct fattree *ft)
{
	struct fattree fresh = { .in = ft->in, .threads = ft->threads, .row_len = ft->row_len };

	done(ft);
	*ft = fresh;
}

static int
route_anew(struct fattree *ft, struct error *e)
{
	int rc = prepare(ft, e);

	if (rc)
		return rc;
	ft->no_tree = is_no_tree(ft);
	if (ft->no_tree)
		return 0;
	fattree_rows_new(ft);
	fill_all(ft);
	return 0;
}

static int
fattree_route(const struct engine_input *in, struct engine_output *out, struct error *e)
{
	struct fattree ft = {
		.in = in, .threads = parallel_threads(in->options ? in->options->threads : 0),
		.row_len = plan_row_len(in->lids->top),
	};
	int rc = 0;

	if (!fattree_repair(&ft)) {
		start_anew(&ft);
		rc = route_anew(&ft, e);
	}
	if (rc == 0) {
		give_out(&ft, out);
		out->memo = fattree_memo_make(&ft);
	}
	done(&ft);
	return rc;
}

const struct engine engine_fattree = {
	.name = "fattree",
	.help = "closed-form routing of fat trees, stable under faults, free of credit loops",
	.topologies = "trees of any depth, degraded or irregular",
	.deadlock_free = true,
	.route = fattree_route,
};
