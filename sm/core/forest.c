/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Multicast trees made and proved, on a worker: what multicast.c asks for becomes what mft.c
 * writes.
 *
 * A job is about some blocks of multicast LIDs, and has for each the members of its groups, the
 * trees of before, and what switches held. Trees of groups whose members are as they were are those
 * of before, or after a takeover those that are held (mtree_keep()); others follow what was there
 * (mtree_follow()). Without that, a group that grows would have another root each time, and where
 * old and new do not go together, packets under way are waited for in between: a second.
 *
 * Trees are made by the ranks of the plan (routing/mtree.h). Where these ranks prove the unicast
 * tables too, trees that keep to them need no other proof, each for itself, so that a job need not
 * be about more than what changed. Otherwise it is about all blocks there are, whose trees are
 * proved together with the unicast tables; where they have a credit loop there, as they may where
 * lanes are taken, they are made anew as parts of one tree that has none (routing/span.h). It is
 * also found out whether packets may meet these trees and those that switches hold at once.
 */
#include "sm/core/multicast_i.h"

#include <string.h>
#include "sm/base/mem.h"

void
forest_free(struct forest *f)
{
	if (!f || --f->refs)
		return;
	mem_free(f->ports);
	mem_free(f->members);
	mtree_set_free(&f->set);
	mem_free(f->first);
	mem_free(f->by_switch);
	mem_free(f);
}

void
forest_job_free(struct forest_job *j)
{
	if (!j)
		return;
	for (uint32_t i = 0; i < j->nblocks; i++) {
		forest_free(j->blocks[i].forest);
		forest_free(j->blocks[i].before);
	}
	mem_free(j->blocks);
	mtree_set_free(&j->held);
	mtree_set_free(&j->found);
	span_free(j->span);
	plan_unref(j->plan);
	mem_free(j);
}

uint32_t
forest_tree_size(const struct forest *f, uint16_t mlid)
{
	for (uint32_t i = 0; f && i < f->ngroups; i++)
		if (f->groups[i].mlid == mlid)
			return (i + 1 < f->ngroups ? f->groups[i + 1].from : f->set.len) -
				f->groups[i].from;
	return 0;
}

/* ---- Members ---- */

/* Ports that are not there, or on no switch, are in no tree. */
static bool
find_member(const struct plan *p, const struct forest_port *from, struct mtree_member *m)
{
	uint32_t port = fabric_port_by_guid(p->fabric, from->guid);
	const struct plan_dest *to;

	if (port == FABRIC_NONE || !p->lids->base[port])
		return false;
	to = &p->lids->dest[p->lids->base[port]];
	*m = (struct mtree_member){ .sw = to->sw, .port = to->out, .receives = from->receives };
	return to->sw != FABRIC_NONE;
}

/* Groups without any go. */
static void
find_members(const struct plan *p, struct forest *f)
{
	uint32_t total = 0, n = 0, groups = 0;

	for (uint32_t i = 0; i < f->ngroups; i++)
		total += f->groups[i].len;
	f->members = mem_array(total + 1, sizeof(*f->members));
	for (uint32_t i = 0; i < f->ngroups; i++) {
		struct forest_group g = f->groups[i];
		const struct forest_port *from = &f->ports[g.first];

		g.first = n;
		for (uint32_t k = 0; k < g.len; k++)
			n += find_member(p, &from[k], &f->members[n]);
		g.len = n - g.first;
		if (g.len)
			f->groups[groups++] = g;
	}
	f->ngroups = groups;
	mem_free(f->ports);
	f->ports = NULL;
}

/* ---- Trees ---- */

/* One member that is left out, so that it can be named. */
static void
note_left_out(struct forest_job *j, const struct forest *f, const struct forest_group *g)
{
	for (uint32_t i = 0; i < g->len && j->left_port == FABRIC_NONE; i++) {
		const struct mtree_member *m = &f->members[g->first + i];
		uint32_t at = g->from;

		while (at < f->set.len && f->set.trees[at].sw != m->sw)
			at++;
		if (at == f->set.len)
			j->left_port = fabric_switch_node(j->plan->fabric, m->sw)->first_port +
				m->port;
	}
}

static bool
has_members_of(const struct forest *f, const struct forest_group *g, const struct forest *b,
	       const struct forest_group *was)
{
	if (was->mlid != g->mlid || was->len != g->len)
		return false;
	for (uint32_t i = 0; i < g->len; i++) {
		const struct mtree_member *x = &f->members[g->first + i];
		const struct mtree_member *y = &b->members[was->first + i];

		if (x->sw != y->sw || x->port != y->port || x->receives != y->receives)
			return false;
	}
	return true;
}

/* The tree of before, if it has the same members and none was left out then. */
static bool
take_over(const struct forest_job *j, struct forest *f, const struct forest_group *g,
	  const struct forest *b)
{
	uint32_t at = 0;

	if (!b || b->left_out || j->was_inside != j->inside ||
	    (j->inside && j->span_sls != j->sls))
		return false;
	while (at < b->ngroups && b->groups[at].mlid < g->mlid)
		at++;
	if (at == b->ngroups || !has_members_of(f, g, b, &b->groups[at]))
		return false;
	for (uint32_t i = b->groups[at].from; i < b->set.len && b->set.mlids[i] == g->mlid; i++)
		mtree_set_add(&f->set, g->mlid, &b->set.trees[i]);
	return true;
}

static bool
take_held(struct forest_job *j, const struct mtree *t, struct forest *f,
	  const struct forest_group *g)
{
	bool good = j->keep && mtree_keep(t, g->mlid, f->members + g->first, g->len, &f->set);

	j->kept |= good;
	return good;
}

static void
make_forest(struct forest_job *j, struct mtree *const *trees, uint32_t ntrees, struct forest *f,
	    const struct forest *before)
{
	mtree_set_free(&f->set);
	f->left_out = 0;
	for (uint32_t i = 0; i < f->ngroups; i++) {
		struct forest_group *g = &f->groups[i];
		struct mtree *t = trees[g->mlid % ntrees];
		uint32_t left = 0;

		g->from = f->set.len;
		if (!take_over(j, f, g, before) && !take_held(j, t, f, g))
			left = mtree_add(t, g->mlid, f->members + g->first, g->len, &f->set);
		if (left)
			note_left_out(j, f, g);
		f->left_out += left;
		for (uint32_t k = g->from; k < f->set.len; k++)
			f->set.trees[k].sls = g->sls;
	}
}

/* What new trees should be like: what is held, or about to be. */
static void
find_former(const struct forest_job *j, struct mtree_set *former)
{
	bool *odd = mem_array(MTREE_MLIDS, sizeof(*odd));

	for (uint32_t i = 0; i < j->nblocks; i++)
		for (unsigned k = 0; k < MULTICAST_BLOCK; k++)
			odd[j->blocks[i].number * MULTICAST_BLOCK + k] = !j->blocks[i].pending;
	mtree_set_pick(former, &j->held, odd);
	for (uint32_t i = 0; i < j->nblocks; i++)
		if (j->blocks[i].pending)
			mtree_set_join(former, &j->blocks[i].before->set);
	mem_free(odd);
}

/* ---- The proof ---- */

static int
prove(const struct forest_job *j, const struct mtree_set *set, struct plan_check *report)
{
	const struct plan *p = j->plan;
	struct check_input in = {
		.fabric = p->fabric, .lids = p->lids, .rows = p->rows, .also = p->rows,
		.proved = p->rows, .lanes = p->lanes, .ranks = p->ranks, .trees = set->trees,
		.ntrees = set->len, .adaptive = p->adaptive, .threads = j->threads,
	};

	if (!set->len)
		return 0;
	if (!j->whole)
		return check_trees(&in) ? 0 : ERR_REFUSED;
	return check_union(&in, report);
}

/* Nor is anything of them taken over later. */
static void
drop_trees(const struct forest_job *j)
{
	for (uint32_t i = 0; i < j->nblocks; i++) {
		mtree_set_free(&j->blocks[i].forest->set);
		j->blocks[i].forest->ngroups = 0;
	}
}

/* Of the trees that are held, and those that were being written, which are no parts of new ones;
 * false: all are. Then so is any mixture. */
static bool
find_odd(const struct forest_job *j, const struct mtree_set *all, bool odd[MTREE_MLIDS])
{
	bool any = false;

	mtree_set_odd(&j->held, all, odd);
	for (uint32_t i = 0; i < j->nblocks; i++)
		if (j->blocks[i].pending)
			mtree_set_odd(&j->blocks[i].before->set, all, odd);
	for (uint32_t i = 0; i < MTREE_MLIDS; i++)
		any |= odd[i];
	return any;
}

/* The new trees together with those that are odd. */
static bool
prove_mixture(const struct forest_job *j, const struct mtree_set *all,
	      const bool odd[MTREE_MLIDS])
{
	struct mtree_set both = { 0 }, held = { 0 };
	struct plan_check report;
	bool good;

	mtree_set_pick(&held, &j->held, odd);
	mtree_close(j->plan->fabric, &held);
	mtree_set_join(&both, all);
	mtree_set_join(&both, &held);
	for (uint32_t i = 0; i < j->nblocks; i++)
		if (j->blocks[i].pending)
			mtree_set_pick(&both, &j->blocks[i].before->set, odd);
	good = !prove(j, &both, &report);
	mtree_set_free(&held);
	mtree_set_free(&both);
	return good;
}

/* The new trees, and whether those that are held go with them: then one proof does for both. */
static void
prove_all(struct forest_job *j)
{
	bool *odd = mem_array(MTREE_MLIDS, sizeof(*odd));
	struct mtree_set all = { 0 };

	for (uint32_t i = 0; i < j->nblocks; i++)
		mtree_set_join(&all, &j->blocks[i].forest->set);
	j->grows = !find_odd(j, &all, odd);
	j->mixes = !j->grows && prove_mixture(j, &all, odd);
	j->verdict = j->mixes ? 0 : prove(j, &all, &j->report);
	j->mixes |= j->grows && !j->verdict;
	mtree_set_free(&all);
	mem_free(odd);
}

/* Groups are spread over `trees`, which are freed. */
static void
make_spread(struct forest_job *j, struct mtree *const *trees, uint32_t ntrees)
{
	struct mtree_set former = { 0 };

	j->left_port = FABRIC_NONE;
	find_former(j, &former);
	for (uint32_t i = 0; i < ntrees; i++)
		mtree_follow(trees[i], &former);
	for (uint32_t i = 0; i < j->nblocks; i++)
		make_forest(j, trees, ntrees, j->blocks[i].forest, j->blocks[i].before);
	for (uint32_t i = 0; i < ntrees; i++)
		mtree_free(trees[i]);
	mtree_set_free(&former);
	prove_all(j);
}

static void
make_trees(struct forest_job *j, struct mtree *t)
{
	make_spread(j, &t, 1);
}

/* By trees that the engine has made; false: they do not go with the routing. Whether they do cannot
 * be told before all of them are looked at together. */
static bool
make_given(struct forest_job *j)
{
	const struct plan_trees *given = j->plan->trees;
	uint32_t n = given->ntrees;
	struct mtree **trees = mem_array(n, sizeof(struct mtree *));
	struct span *spans = mem_array(n, sizeof(*spans));

	for (uint32_t i = 0; i < n; i++) {
		spans[i] = (struct span){
			.refs = 1, .nswitches = given->nswitches,
			.parent = given->parent + (size_t)i * given->nswitches,
			.root = given->root + (size_t)i * given->nswitches,
		};
		trees[i] = mtree_new_on(j->plan->fabric, &spans[i]);
	}
	make_spread(j, trees, n);
	mem_free(trees);
	mem_free(spans);
	return !j->verdict || !j->whole;
}

/* ---- Where lanes are taken ---- */

/* The tree that all others are parts of: that of the round before, if the routing is the same. */
static void
find_span(struct forest_job *j)
{
	const struct plan *p = j->plan;
	struct check_input in = {
		.fabric = p->fabric, .lids = p->lids, .rows = p->rows, .lanes = p->lanes,
		.ranks = p->ranks, .adaptive = p->adaptive, .threads = j->threads,
	};
	uint32_t near = j->root ? fabric_node_by_guid(p->fabric, j->root) : FABRIC_NONE;

	if (j->span && j->span_sls == j->sls)
		return;
	span_free(j->span);
	j->span = span_make(&in, j->sls, near == FABRIC_NONE ? FABRIC_NONE :
						 p->fabric->nodes[near].sw);
	j->root = 0;
	for (uint32_t sw = 0; sw < j->span->nswitches && !j->root; sw++)
		if (j->span->root[sw] == sw)
			j->root = fabric_switch_node(p->fabric, sw)->guid;
}

/* ---- The job ---- */

/* The entries of each switch together, in the order of MLIDs as they were made. */
static void
sort_entries(struct forest *f, uint32_t nswitches)
{
	uint32_t *at;

	f->first = mem_array(nswitches + 2, sizeof(*f->first));
	f->by_switch = mem_array(f->set.len + 1, sizeof(*f->by_switch));
	for (uint32_t i = 0; i < f->set.len; i++)
		f->first[f->set.trees[i].sw + 1]++;
	for (uint32_t sw = 0; sw < nswitches; sw++)
		f->first[sw + 1] += f->first[sw];
	at = mem_array(nswitches + 1, sizeof(*at));
	memcpy(at, f->first, nswitches * sizeof(*at));
	for (uint32_t i = 0; i < f->set.len; i++)
		f->by_switch[at[f->set.trees[i].sw]++] = i;
	mem_free(at);
}

/* Trees by an order of switches may close loops with unicast tables that take lanes. What went
 * inside once stays there as long as lanes are taken. */
void
forest_run(void *job)
{
	struct forest_job *j = job;
	const struct plan *p = j->plan;
	bool lanes = p->sls != NULL;

	for (uint32_t i = 0; i < j->nblocks; i++) {
		struct forest *f = j->blocks[i].forest;

		find_members(p, f);
		for (uint32_t k = 0; k < f->ngroups; k++)
			j->sls |= f->groups[k].sls;
	}
	found_add(j);
	j->inside &= lanes;
	if (!j->inside && (!p->trees || !make_given(j))) {
		make_trees(j, mtree_new(p->fabric, p->ranks));
		/* They are proved together with the routing before they are given up. */
		if (j->verdict && j->whole && j->kept) {
			j->keep = false;
			make_trees(j, mtree_new(p->fabric, p->ranks));
		}
		j->inside = lanes && j->whole && j->verdict;
	}
	if (j->inside) {
		j->keep = false;
		find_span(j);
		make_trees(j, mtree_new_on(p->fabric, j->span));
	}
	if (j->verdict)
		drop_trees(j);
	for (uint32_t i = 0; i < j->nblocks; i++)
		sort_entries(j->blocks[i].forest, p->fabric->nswitches);
}
