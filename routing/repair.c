/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/repair.h"
#include <string.h>
#include "routing/checker.h"
#include "sm/base/mem.h"
#include "sm/base/parallel.h"

/*
 * From tables whose proof is an order of switches (ladder.h) to others, by what differs. Rows and
 * blocks that two plans share are equal without a look. A new entry, or one whose port leads
 * elsewhere now, must arrive, and no way may turn up at it: neither behind it nor, if it leads up
 * where the old one did not, before it. All else goes by entries of old until it meets a new one.
 * So if all new ones are as long as those they replace, so are all ways; the ways to other LIDs are
 * counted anew, a block of them at once.
 */
#define LONGEST 127u	/* switches, as in ladder.c */

struct repair {
	const struct plan_lids *lids;		/* of both tables */
	const struct fabric *f;			/* now */
	struct ladder now;			/* the order, and the links as they are */
	struct ladder before;			/* the links as they were; not for unions */
	struct plan_row *const *rows;		/* by switch: the new tables */
	struct plan_row *const *also;		/* a second set; unions only */
	struct plan_row *const *proved;		/* the old ones */
	struct finder *finders;			/* by thread */
};

struct finder {
	uint64_t *longer;	/* bitmap: LIDs to which the length of a way changed */
	bool failed;		/* there is something that a whole proof has to look at */
};

/* What is to be done with an entry that differs; false if it is not proved. */
typedef bool (*entry_fn)(const struct repair *r, struct finder *t, uint32_t place, uint32_t lid,
			 struct plan_row *const *rows);

static uint8_t
entry(const struct ladder *l, struct plan_row *const *rows, uint32_t place, uint32_t lid)
{
	return plan_row_port(rows[l->order[place - LADDER_FIRST]], lid);
}

static uint16_t
behind(const struct ladder *l, uint32_t place, uint8_t out)
{
	uint32_t sw = l->order[place - LADDER_FIRST];

	return out <= l->nports[sw] ? l->to[l->first[sw] + out] : (uint16_t)LADDER_END;
}

/* The place to which tables send a LID. */
static uint16_t
next(const struct ladder *l, struct plan_row *const *rows, uint32_t place, uint32_t lid)
{
	return behind(l, place, entry(l, rows, place, lid));
}

/* Switches from a place to the owner of a LID, both ends counted; 0 if it does not arrive. */
static uint32_t
way_len(const struct repair *r, const struct ladder *l, struct plan_row *const *rows,
	uint32_t place, uint32_t lid)
{
	const struct plan_dest *d = &r->lids->dest[lid];
	uint32_t home = l->place[d->sw];

	for (uint32_t len = 1; len <= LONGEST && place >= LADDER_FIRST; len++) {
		if (place == home)
			return entry(l, rows, place, lid) == d->out ? len : 0;
		place = next(l, rows, place, lid);
	}
	return 0;
}

/* Does some switch above send the LID down to this place? */
static bool
comes_down(const struct repair *r, struct plan_row *const *rows, uint32_t place, uint32_t lid)
{
	uint32_t sw = r->now.order[place - LADDER_FIRST];

	for (uint32_t e = r->f->edge_first[sw]; e < r->f->edge_first[sw + 1]; e++) {
		uint32_t from = r->now.place[r->f->edges[e].to];

		if (from > place && next(&r->now, rows, from, lid) == place)
			return true;
	}
	return false;
}

/* An entry of the new tables. */
static bool
prove_entry(const struct repair *r, struct finder *t, uint32_t place, uint32_t lid,
	    struct plan_row *const *rows)
{
	const struct plan_dest *d = &r->lids->dest[lid];
	uint16_t to = next(&r->now, rows, place, lid);
	uint32_t len, old;

	if (r->now.place[d->sw] == place)
		return entry(&r->now, rows, place, lid) == d->out;
	if (to < LADDER_FIRST)
		return false;
	if (to < place && next(&r->now, rows, to, lid) > to)
		return false;
	if (to > place && next(&r->before, r->proved, place, lid) < place &&
	    comes_down(r, rows, place, lid))
		return false;
	len = way_len(r, &r->now, rows, place, lid);
	old = way_len(r, &r->before, r->proved, place, lid);
	if (len != old)
		t->longer[lid / 64] |= (uint64_t)1 << lid % 64;
	return len && old;
}

/* An entry of either set of a union, with the tables that are proved as a third. */
static bool
unite_entry(const struct repair *r, struct finder *t, uint32_t place, uint32_t lid,
	    struct plan_row *const *rows)
{
	struct plan_row *const *sets[] = { r->proved, r->rows, r->also };
	uint16_t to = next(&r->now, rows, place, lid);
	bool bad = to == LADDER_SELF;

	(void)t;
	if (to >= LADDER_FIRST && to < place)
		for (unsigned i = 0; i < 3; i++)
			bad |= next(&r->now, sets[i], to, lid) > to;
	if (to > place && next(&r->now, r->proved, place, lid) < place)
		for (unsigned i = 0; i < 3; i++)
			bad |= comes_down(r, sets[i], place, lid);
	return !bad;
}

/* Marks the ports that lead elsewhere than before; says if there are any. */
static bool
find_moved(const struct repair *r, uint32_t place, bool moved[UINT8_MAX + 1])
{
	uint32_t sw = r->now.order[place - LADDER_FIRST];
	const uint16_t *now = &r->now.to[r->now.first[sw]];
	const uint16_t *before = &r->before.to[r->now.first[sw]];
	unsigned n = r->now.nports[sw];

	if (memcmp(now, before, (n + 1) * sizeof(*now)) == 0)
		return false;
	memset(moved, 0, UINT8_MAX + 1);
	for (unsigned i = 0; i <= n; i++)
		moved[i] = now[i] != before[i];
	return true;
}

static void
try_entry(const struct repair *r, struct finder *t, uint32_t place, uint32_t lid,
	  struct plan_row *const *rows, entry_fn fn)
{
	const struct plan_dest *d = &r->lids->dest[lid];

	if (d->port != FABRIC_NONE && d->sw != FABRIC_NONE && !fn(r, t, place, lid, rows))
		t->failed = true;
}

static void
read_block(const struct plan_row *row, uint32_t block, uint8_t *port)
{
	if (row && block < plan_row_blocks(row))
		memcpy(port, plan_row_block(row, block), LFT_BLOCK_LEN);
	else
		memset(port, LFT_NO_PORT, LFT_BLOCK_LEN);
}

/* The next block that is to be looked at. */
static uint32_t
next_block(const struct plan_row *mine, const struct plan_row *old, const bool *moved,
	   uint32_t block)
{
	return mine && old && !moved ? plan_row_differs(mine, old, block) : block;
}

/* Entries of one switch, in one block. */
static void
each_of_block(const struct repair *r, struct finder *t, uint32_t place, uint32_t block,
	      struct plan_row *const *rows, const bool *moved, entry_fn fn)
{
	uint32_t sw = r->now.order[place - LADDER_FIRST], first = block * LFT_BLOCK_LEN;
	uint8_t mine[LFT_BLOCK_LEN], old[LFT_BLOCK_LEN];

	read_block(rows[sw], block, mine);
	read_block(r->proved[sw], block, old);
	for (uint32_t i = 0; i < LFT_BLOCK_LEN && first + i <= r->lids->top; i++)
		if (mine[i] != old[i] || (moved && moved[mine[i]]))
			try_entry(r, t, place, first + i, rows, fn);
}

/* Entries of one switch that differ from the proved ones, or whose port moved. */
static void
each_entry(const struct repair *r, struct finder *t, uint32_t place,
	   struct plan_row *const *rows, const bool *moved, entry_fn fn)
{
	uint32_t sw = r->now.order[place - LADDER_FIRST], last = r->lids->top / LFT_BLOCK_LEN;
	const struct plan_row *mine = rows[sw], *old = r->proved[sw];

	if (mine == old && !moved)
		return;
	for (uint32_t block = next_block(mine, old, moved, 0); block <= last && !t->failed;
	     block = next_block(mine, old, moved, block + 1))
		each_of_block(r, t, place, block, rows, moved, fn);
}

static void
prove_switches(void *arg, unsigned thread, size_t first, size_t end)
{
	const struct repair *r = arg;
	struct finder *t = &r->finders[thread];

	for (size_t at = first; at < end && !t->failed; at++) {
		uint32_t place = LADDER_FIRST + (uint32_t)at;
		bool moved[UINT8_MAX + 1], any = find_moved(r, place, moved);

		each_entry(r, t, place, r->rows, any ? moved : NULL, prove_entry);
	}
}

static void
unite_switches(void *arg, unsigned thread, size_t first, size_t end)
{
	const struct repair *r = arg;
	struct finder *t = &r->finders[thread];

	for (size_t at = first; at < end && !t->failed; at++) {
		each_entry(r, t, LADDER_FIRST + (uint32_t)at, r->rows, NULL, unite_entry);
		each_entry(r, t, LADDER_FIRST + (uint32_t)at, r->also, NULL, unite_entry);
	}
}

static void
repair_free(struct repair *r, unsigned threads)
{
	for (unsigned i = 0; i < threads; i++)
		mem_free(r->finders[i].longer);
	mem_free(r->finders);
	ladder_free(&r->now);
	ladder_free(&r->before);
}

/* Look at all that differs. False: failed. The LIDs whose ways changed are in finders[0]. */
static bool
run(struct repair *r, unsigned threads, parallel_fn fn)
{
	uint32_t words = r->lids->top / 64u + 1;
	bool good = true;

	r->finders = mem_array(threads, sizeof(*r->finders));
	for (unsigned i = 0; i < threads; i++)
		r->finders[i].longer = mem_array(words, sizeof(uint64_t));
	parallel_run(threads, r->now.n, 32, fn, r);
	for (unsigned i = 0; i < threads; i++) {
		good &= !r->finders[i].failed;
		for (uint32_t w = 0; i && w < words; w++)
			r->finders[0].longer[w] |= r->finders[i].longer[w];
	}
	return good;
}

static bool
same_lids(const struct plan_lids *a, const struct plan_lids *b)
{
	if (a == b)
		return true;
	if (a->top != b->top || a->nports != b->nports ||
	    memcmp(a->base, b->base, a->nports * sizeof(*a->base)) != 0 ||
	    memcmp(a->lmc, b->lmc, a->nports) != 0)
		return false;
	for (uint32_t lid = 0; lid <= a->top; lid++) {
		const struct plan_dest *x = &a->dest[lid], *y = &b->dest[lid];

		if (x->port != y->port || x->sw != y->sw || x->out != y->out)
			return false;
	}
	return true;
}

static bool
same_switches(const struct fabric *a, const struct fabric *b)
{
	if (a == b)
		return true;
	if (a->nswitches != b->nswitches || a->nports != b->nports)
		return false;
	for (uint32_t sw = 0; sw < a->nswitches; sw++) {
		const struct fabric_node *x = fabric_switch_node(a, sw);
		const struct fabric_node *y = fabric_switch_node(b, sw);

		if (x->guid != y->guid || x->first_port != y->first_port || x->nports != y->nports)
			return false;
	}
	return true;
}

/* Ports that hang on no switch reach each other or nobody, as before. */
static bool
same_alone(const struct plan_lids *l, const struct fabric *a, const struct fabric *b)
{
	for (uint32_t lid = 1; lid <= l->top; lid++) {
		uint32_t port = l->dest[lid].port;

		if (port != FABRIC_NONE && l->dest[lid].sw == FABRIC_NONE &&
		    a->ports[port].peer != b->ports[port].peer)
			return false;
	}
	return true;
}

/* Is a proof from what was proved before possible at all? */
static bool
comparable(const struct check_input *in, const struct plan *p)
{
	uint32_t n = in->fabric->nswitches;

	if (!p || !p->proof || !p->ranks || !in->ranks || in->also)
		return false;
	return same_switches(in->fabric, p->fabric) && memcmp(in->ranks, p->ranks, n) == 0 &&
		same_lids(in->lids, p->lids) && same_alone(in->lids, in->fabric, p->fabric);
}

/* The base LID of the port whose last LID this is, if ways to it count; else 0. */
static uint32_t
counts_for(const struct plan_lids *l, uint32_t lid)
{
	uint32_t port = l->dest[lid].port, base = l->base[port];

	if (!l->dest[lid].out || l->dest[base].port != port)
		return 0;
	for (uint32_t k = lid + 1; k < base + (1u << (l->lmc[port] & 7)) && k <= l->top; k++)
		if (l->dest[k].port == port)
			return 0;
	return base;
}

static uint32_t *
count_sources(const struct repair *r)
{
	const struct plan_lids *l = r->lids;
	uint32_t *sources = mem_array(r->now.n, sizeof(*sources));

	for (uint32_t lid = 1; lid <= l->top; lid++) {
		const struct plan_dest *d = &l->dest[lid];

		if (d->port != FABRIC_NONE && l->base[d->port] == lid && d->out)
			sources[d->sw]++;
	}
	return sources;
}

/* Count the ways to some LIDs anew. */
static bool
recount(const struct repair *r, const struct ladder_query *q, struct ladder_block *b,
	const uint16_t *list, uint32_t len, struct plan_proof *proof)
{
	ladder_block_list(b, r->lids, list, len);
	ladder_walk(&r->now, q, b);
	for (uint32_t i = 0; i < len; i++) {
		struct plan_proof_lid *l = &proof->lid[counts_for(r->lids, list[i])];

		if (!b->sound[i])
			return false;
		proof->hops += (uint64_t)b->hops[i] - l->hops;
		*l = (struct plan_proof_lid){ b->hops[i], b->max_hops[i] };
	}
	return true;
}

/* Count the ways to all LIDs where some length changed. */
static bool
recount_longer(const struct repair *r, struct plan_proof *proof)
{
	struct ladder_query q = {
		.rows = ladder_rows(&r->now, r->rows), .sources = count_sources(r),
	};
	struct ladder_block b;
	uint16_t list[LADDER_LANES];
	uint32_t len = 0;
	bool good = true;

	ladder_block_init(&b, &r->now);
	for (uint32_t lid = 1; lid <= r->lids->top && good; lid++) {
		if ((r->finders[0].longer[lid / 64] >> lid % 64 & 1) && counts_for(r->lids, lid))
			list[len++] = (uint16_t)lid;
		if (len && (len == LADDER_LANES || lid == r->lids->top)) {
			good = recount(r, &q, &b, list, len, proof);
			len = 0;
		}
	}
	ladder_block_free(&b);
	mem_free((void *)(uintptr_t)q.sources);
	mem_free((void *)(uintptr_t)q.rows);
	return good;
}

static struct plan_proof *
copy_proof(const struct plan_proof *p)
{
	struct plan_proof *copy = plan_proof_new(p->top);

	copy->hops = p->hops;
	copy->reached = p->reached;
	memcpy(copy->lid, p->lid, (p->top + 1u) * sizeof(p->lid[0]));
	return copy;
}

static bool
any_longer(const struct repair *r)
{
	uint64_t any = 0;

	for (uint32_t w = 0; w <= r->lids->top / 64u; w++)
		any |= r->finders[0].longer[w];
	return any != 0;
}

/* The report and the proof that follow; NULL if the ways that changed do not arrive. */
static struct plan_proof *
conclude(const struct repair *r, const struct plan *previous, struct plan_check *report)
{
	struct plan_proof *proof;

	*report = previous->check;
	if (!any_longer(r))
		return plan_proof_ref(previous->proof);
	proof = copy_proof(previous->proof);
	if (!recount_longer(r, proof)) {
		plan_proof_unref(proof);
		return NULL;
	}
	report->mean_hops = proof->reached ? (double)proof->hops / (double)proof->reached : 0;
	report->max_hops = 0;
	for (uint32_t lid = 1; previous->check.max_hops && lid <= proof->top; lid++)
		if (proof->lid[lid].max_hops > report->max_hops)
			report->max_hops = proof->lid[lid].max_hops;
	return proof;
}

bool
repair_prove(const struct check_input *in, const struct plan *previous, struct plan_check *report,
	     struct plan_proof **proof)
{
	struct repair r = { .lids = in->lids, .f = in->fabric, .rows = in->rows };
	unsigned threads = parallel_threads(in->threads);

	if (!proof || !comparable(in, previous) || !ladder_init(&r.now, in->fabric, in->ranks))
		return false;
	ladder_init(&r.before, previous->fabric, in->ranks);
	r.proved = previous->rows;
	*proof = run(&r, threads, prove_switches) && !multicast_turns(&r.now, in) ?
		conclude(&r, previous, report) : NULL;
	repair_free(&r, threads);
	return *proof != NULL;
}

bool
repair_unites(const struct check_input *in)
{
	struct repair r = {
		.lids = in->lids, .f = in->fabric, .rows = in->rows, .also = in->also,
		.proved = in->proved,
	};
	unsigned threads = parallel_threads(in->threads);
	bool good;

	if (!in->proved || !in->ranks || !ladder_init(&r.now, in->fabric, in->ranks))
		return false;
	good = run(&r, threads, unite_switches) && !multicast_turns(&r.now, in);
	repair_free(&r, threads);
	return good;
}
