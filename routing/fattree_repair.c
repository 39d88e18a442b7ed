/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/fattree_impl.h"
#include <string.h>
#include "sm/base/mem.h"
#include "sm/base/parallel.h"

/*
 * Repair: what a run from nothing would find, from what the last one found, where only some cables
 * between switches were lost or came back. An entry depends on the numbers and the nominal costs,
 * which stay, and on the links and costs of the switch and its neighbours. So
 *
 *  - the table of a switch with such a cable is filled anew;
 *  - of other switches, entries of homes to which its own cost or a neighbour's changed. Which
 *    homes these are follows from the ends of the cables (tree_costs_changes());
 *  - of what goes another way than it should, what was chosen by things that changed
 *    (fattree_spread.c);
 *  - all else, blocks of rows too, is the previous plan's, by reference.
 *
 * It gives up where the order of switches changes, or when so much does that a run from nothing is
 * as fast.
 */
struct repair {
	struct fattree *ft;		/* what is repaired */
	const struct fattree_memo *memo;	/* from what */
	const struct tree_costs *was;	/* costs to all homes, as they were */
	uint8_t *refill;		/* by vertex: its table is filled anew */
	uint32_t *homes;		/* whose costs changed, in order of ordinals */
	uint32_t nhomes;		/* how many */
	struct tree_costs *live;	/* costs to these, as they are */
	uint8_t *differs;		/* see tree_costs_patch() */
	uint8_t *dirty;			/* by vertex: some cost of it changed */
	uint8_t *concerned;		/* scratch, by thread and home */
	uint32_t *listed;		/* likewise */
	struct fattree_work *work;	/* by thread */
	const uint32_t *downwards;	/* vertices of one rank */
	uint64_t *changed;		/* by vertex: see fattree_near() */
};

static void
copy_state(const struct fattree *ft, const struct tree_state *from, struct tree_state *to)
{
	const struct tree *t = ft->t;
	uint32_t n = t->n, nsw = ft->in->fabric->nswitches, ngroups = t->first[n];

	*to = *from;
	to->sw = memcpy(mem_array(n, sizeof(*to->sw)), from->sw, n * sizeof(*to->sw));
	to->vertex = memcpy(mem_array(nsw, sizeof(*to->vertex)), from->vertex,
			    nsw * sizeof(*to->vertex));
	to->up = memcpy(mem_array(t->nlinks, 1), from->up, t->nlinks);
	to->rate = memcpy(mem_array(t->nlinks, sizeof(*to->rate)), from->rate,
			  t->nlinks * sizeof(*to->rate));
	to->nup = memcpy(mem_array(ngroups, 1), from->nup, ngroups);
	to->rank = memcpy(mem_array(n, sizeof(*to->rank)), from->rank, n * sizeof(*to->rank));
	to->uneven = memcpy(mem_array(n, 1), from->uneven, n);
}

/* Enter what happened to a port. */
static void
change_port(struct repair *r, uint32_t port)
{
	struct fattree *ft = r->ft;
	const struct fabric_port *p = &ft->in->fabric->ports[port];
	const struct tree *t = ft->t;
	uint32_t v = ft->s.vertex[ft->in->fabric->nodes[p->node].sw];
	uint8_t up = p->peer != FABRIC_NONE;

	r->refill[v] = 1;
	for (uint32_t g = t->first[v]; g < t->first[v + 1]; g++)
		for (uint32_t i = 0; i < t->groups[g].len; i++) {
			uint32_t l = t->groups[g].link + i;

			if (t->out[l] != p->number)
				continue;
			ft->s.nup[g] = (uint8_t)(ft->s.nup[g] - ft->s.up[l] + up);
			ft->s.up[l] = up;
			ft->s.rate[l] = up ? p->rate_mbps : 0;
		}
}

/* The order of switches holds if each vertex whose links changed still has a way up, or never
 * should have one: then there is no new top. */
static bool
order_holds(const struct repair *r)
{
	const struct fattree *ft = r->ft;
	const struct tree *t = ft->t;

	for (uint32_t v = 0; v < t->n; v++) {
		bool should = false, has = false;

		for (uint32_t g = t->first[v]; r->refill[v] && g < t->first[v + 1]; g++) {
			bool up = tree_up(t->rank, v, t->groups[g].to);

			should |= up;
			has |= up && ft->s.nup[g];
		}
		if (should && !has)
			return false;
	}
	return true;
}

/* Links of today, from those of the last run; false if the order does not hold. */
static bool
change_state(struct repair *r, const struct fattree_memo *memo, const struct fattree_changes *c)
{
	struct fattree *ft = r->ft;
	uint32_t lost = 0;

	if (memcmp(memo->s.rank, memo->t->rank, memo->t->n * sizeof(*memo->s.rank)) != 0)
		return false;
	copy_state(ft, &memo->s, &ft->s);
	for (uint32_t i = 0; i < c->len; i++)
		change_port(r, c->port[i]);
	for (uint32_t l = 0; l < ft->t->nlinks; l++)
		lost += !ft->s.up[l];
	ft->s.nlost = lost / 2;
	ft->s.whole = !lost;
	for (uint32_t v = 0; v < ft->t->n; v++)
		if (r->refill[v])
			ft->s.uneven[v] = tree_is_uneven(ft->t, &ft->s, v);
	return order_holds(r);
}

/* Find the homes whose costs changed, and these. False if they are too many. */
static bool
change_costs(struct repair *r, const struct fattree_memo *memo)
{
	struct fattree *ft = r->ft;
	uint32_t n = ft->t->n, *column = mem_array(n, sizeof(*column));
	uint8_t *changed = mem_array(n, 1);

	tree_costs_changes(ft->t, &ft->s, memo->live, r->refill, changed);
	r->homes = mem_array(n, sizeof(*r->homes));
	for (uint32_t i = 0; i < n; i++) {
		uint32_t v = ft->numbers->homes[i];

		column[v] = changed[v] ? r->nhomes : FABRIC_NONE;
		if (changed[v])
			r->homes[r->nhomes++] = v;
	}
	mem_free(changed);
	if (r->nhomes <= n / 4 + 1) {
		r->live = tree_costs_new(ft->t, &ft->s, column, r->nhomes, ft->threads);
		r->differs = mem_array(n, r->nhomes);
		ft->live = tree_costs_patch(ft->t, memo->live, r->live, r->homes, r->nhomes,
					    r->differs, ft->threads);
	}
	mem_free(column);
	return ft->live != NULL;
}

/* Mark who has a cost that changed; switches that count their loads are filled anew. */
static void
mark_dirty(struct repair *r)
{
	for (uint32_t v = 0; v < r->ft->t->n; v++) {
		r->dirty[v] = r->nhomes &&
			memchr(&r->differs[(size_t)v * r->nhomes], 1, r->nhomes);
		r->refill[v] |= r->nhomes && r->ft->s.uneven[v];
	}
}

static void
add_concerned(const struct repair *r, uint32_t v, uint8_t *restrict concerned)
{
	const uint8_t *restrict differs = &r->differs[(size_t)v * r->nhomes];

	for (uint32_t i = 0; i < r->nhomes; i++)
		concerned[i] |= differs[i];
}

/* Marks homes to which the cost of `v` or of a neighbour changed; false if there are none. */
static bool
find_concerned(const struct repair *r, uint32_t v, uint8_t *concerned)
{
	const struct tree *t = r->ft->t;
	bool any = r->dirty[v];

	memset(concerned, 0, r->nhomes);
	if (any)
		add_concerned(r, v, concerned);
	for (uint32_t g = t->first[v]; g < t->first[v + 1]; g++) {
		uint32_t to = t->groups[g].to;

		if (!r->dirty[to])
			continue;
		add_concerned(r, to, concerned);
		any = true;
	}
	return any;
}

/* Did the ways from `v`, whose links are those that were, to the i-th home change, or the cost? */
static bool
ways_changed(const struct repair *r, uint32_t v, uint32_t i)
{
	const struct tree *t = r->ft->t;
	uint32_t home = r->homes[i];
	struct fattree_cost then = fattree_cost(r->was, v, home);
	struct fattree_cost now = fattree_cost(r->live, v, i);

	if (then.any != now.any)
		return true;
	for (uint32_t g = t->first[v]; g < t->first[v + 1]; g++) {
		uint32_t to = t->groups[g].to;
		bool up = tree_up(r->ft->s.rank, v, to);

		if (r->ft->s.nup[g] &&
		    fattree_is_way(then, fattree_cost(r->was, to, home), up) !=
		    fattree_is_way(now, fattree_cost(r->live, to, i), up))
			return true;
	}
	return false;
}

static void
refill_rows(void *arg, unsigned thread, size_t first, size_t end)
{
	const struct repair *r = arg;
	struct fattree *ft = r->ft;

	for (size_t v = first; v < end; v++) {
		if (ft->s.sw[v] == FABRIC_NONE || !r->refill[v])
			continue;
		ft->rows[v] = plan_row_blank(ft->in->lids->top);
		fattree_fill(ft, (uint32_t)v, plan_row_entries(ft->rows[v]), &r->work[thread]);
	}
}

/* What changed at those above that choices look at. */
static uint64_t
changed_above(const struct repair *r, uint32_t v)
{
	const struct tree *t = r->ft->t;
	uint64_t near = 0;

	for (uint32_t g = t->first[v]; g < t->first[v + 1]; g++)
		if (r->ft->s.rank[t->groups[g].to] < r->ft->s.rank[v])
			near |= r->changed[t->groups[g].to];
	return near;
}

/* Homes to which the ways from `v` changed, into `homes`; returns how many. */
static uint32_t
list_concerned(const struct repair *r, uint32_t v, uint8_t *concerned, uint32_t *homes)
{
	uint32_t n = 0;

	if (!find_concerned(r, v, concerned))
		return 0;
	for (uint32_t i = 0; i < r->nhomes; i++)
		if (concerned[i] && r->homes[i] != v && ways_changed(r, v, i))
			homes[n++] = r->homes[i];
	return n;
}

/* What is broken at a vertex whose table is filled anew. */
static void
finish_refill(const struct repair *r, uint32_t v, struct plan_row *old)
{
	struct fattree *ft = r->ft;

	fattree_spread_vertex(ft, v);
	ft->rows[v] = plan_row_settle(ft->rows[v], old);
	if (ft->rows[v] != old || !fattree_spill_equal(ft->spill[v], r->memo->spill[v]))
		r->changed[v] = UINT64_MAX;
}

/* Entries of homes whose costs changed nearby, and what was chosen by things that changed. */
static void
repair_row(const struct repair *r, uint32_t v, struct plan_row *old, unsigned thread)
{
	struct fattree *ft = r->ft;
	struct fattree_spill *spilt = r->memo->spill[v];
	uint32_t *homes = &r->listed[(size_t)thread * r->nhomes];
	uint64_t near = spilt ? changed_above(r, v) : 0;
	uint32_t n = list_concerned(r, v, &r->concerned[(size_t)thread * r->nhomes], homes);

	ft->rows[v] = plan_row_ref(old);
	if (!n && !near) {
		ft->spill[v] = fattree_spill_ref(spilt);
		return;
	}
	r->changed[v] = fattree_spread_again(ft, v, spilt, homes, n, near);
	ft->rows[v] = plan_row_settle(ft->rows[v], old);
}

static void
repair_rows(void *arg, unsigned thread, size_t first, size_t end)
{
	const struct repair *r = arg;

	for (size_t i = first; i < end; i++) {
		uint32_t v = r->downwards[i], sw = r->ft->s.sw[v];

		if (sw == FABRIC_NONE)
			continue;
		if (r->refill[v])
			finish_refill(r, v, r->ft->in->previous->rows[sw]);
		else
			repair_row(r, v, r->ft->in->previous->rows[sw], thread);
	}
}

static void
repair_all(struct repair *r)
{
	struct fattree *ft = r->ft;
	uint32_t *downwards, *first, nranks = fattree_ranked(ft, &downwards, &first);

	fattree_digits_make(ft, r->refill);
	r->work = fattree_work_new(ft);
	r->concerned = mem_array(ft->threads, r->nhomes);
	r->listed = mem_array(ft->threads * (size_t)r->nhomes, sizeof(*r->listed));
	r->changed = mem_array(ft->t->n, sizeof(*r->changed));
	fattree_rows_new(ft);
	parallel_run(ft->threads, ft->t->n, 16, refill_rows, r);
	for (uint32_t i = 0; i < nranks; i++) {
		r->downwards = &downwards[first[i]];
		parallel_run(ft->threads, first[i + 1] - first[i], 16, repair_rows, r);
	}
	fattree_work_free(ft, r->work);
	mem_free(downwards);
	mem_free(first);
}

bool
fattree_repair(struct fattree *ft)
{
	const struct fattree_memo *memo = fattree_memo_of(ft->in);
	struct fattree_changes changes;
	struct repair r = { .ft = ft, .memo = memo };
	bool done = false;

	if (fattree_memo_fits(ft->in, &changes)) {
		ft->t = tree_ref(memo->t);
		ft->numbers = tree_numbers_ref(memo->numbers);
		ft->nominal = tree_costs_ref(memo->nominal);
		memcpy(ft->roots, memo->roots, sizeof(ft->roots));
		ft->apart = memo->apart;
		r.refill = mem_array(ft->t->n, 1);
		r.dirty = mem_array(ft->t->n, 1);
		done = change_state(&r, memo, &changes);
		fattree_decide(ft);
		done = done && ft->full == memo->full && change_costs(&r, memo);
		r.was = memo->live;
	}
	ft->repaired = done;
	if (done) {
		mark_dirty(&r);
		repair_all(&r);
	}
	mem_free(changes.port);
	mem_free(r.refill);
	mem_free(r.dirty);
	mem_free(r.homes);
	mem_free(r.differs);
	mem_free(r.concerned);
	mem_free(r.listed);
	mem_free(r.changed);
	tree_costs_unref(r.live);
	return done;
}
