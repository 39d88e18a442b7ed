/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/depend_groups.h"
#include <stdlib.h>
#include <string.h>
#include "routing/depend_impl.h"
#include "sm/base/mem.h"

/*
 * To one LID packets go from each link that they come by to the port of the row, or to any port of
 * the group. From all sources on, depth first, the links that they may come to are put in order:
 * unless ways go round, each stands before all that follow it, and what packets are in on a link,
 * (lane, class) as in depend_lanes.c, is complete when it is handed on. With two tables ways may go
 * round; sets are then handed on until none grows.
 *
 * LIDs of a home that no group is for are followed by rows alone.
 */
enum mark { NEW, OPEN, DONE };	/* of a link: not met, on the way just now, followed */

struct depend_groups {
	const struct plan_adaptive *of[2];	/* that packets may meet; NULL */
	uint32_t *from;			/* by edge: the switch that it leaves */
	bool *home;			/* by switch: there are groups for its LIDs */
	unsigned tables[2];		/* private LFTs that a switch of these has at most */
	unsigned kinds;			/* of in ports: by the tables that they mean */
	uint16_t *begins;		/* by switch: bit n: packets begin there as if they came in
					 * by a port of kind n */
	const struct depend_wait *waits;	/* whose fault they are is asked; NULL */
	size_t nwaits;
	bool look;			/* for ways that do not arrive */
	struct depend_faults *found;	/* by thread */
};

/* Place on the way that is followed. */
struct step {
	uint32_t edge;
	uint32_t next;		/* of the ways on from there: to be looked at next */
};

struct depend_ways {
	uint32_t *first;	/* by switch and kind of in port: its ways */
	uint32_t *way;		/* edges; len, room for size */
	uint32_t len, size;
	uint8_t *mark;		/* by edge: enum mark */
	uint32_t *order;	/* edges, each behind those that follow it; norder */
	uint32_t norder;
	struct step *stack;	/* by edge */
	uint64_t *sets;		/* by edge: what packets are in there; zero between LIDs */
	bool round;		/* ways go round */
};

/* ---- Faults ---- */

void
depend_faults_free(struct depend_faults *f)
{
	mem_free(f->all);
	*f = (struct depend_faults){ 0 };
}

static int
by_entry(const void *x, const void *y)
{
	const struct depend_fault *a = x, *b = y;

	if (a->sw != b->sw)
		return a->sw < b->sw ? -1 : 1;
	if (a->home != b->home)
		return a->home < b->home ? -1 : 1;
	return a->port < b->port ? -1 : a->port > b->port;
}

static void
add_fault(struct depend_faults *f, struct depend_fault fault)
{
	if (f->len && !by_entry(&f->all[f->len - 1], &fault))
		return;
	if (f->len == f->size) {
		f->size = f->size ? 2 * f->size : 64;
		f->all = mem_realloc(f->all, f->size, sizeof(*f->all));
	}
	f->all[f->len++] = fault;
}

static void
sort_faults(struct depend_faults *f)
{
	size_t len = 0;

	if (!f->len)
		return;
	qsort(f->all, f->len, sizeof(*f->all), by_entry);
	for (size_t i = 1; i < f->len; i++)
		if (by_entry(&f->all[len], &f->all[i]))
			f->all[++len] = f->all[i];
	f->len = len + 1;
}

static void
gather_faults(const struct checker *c, struct depend_faults *to)
{
	for (unsigned i = 0; i < c->threads; i++) {
		struct depend_faults *f = &c->lanes->groups->found[i];

		for (size_t k = 0; k < f->len; k++)
			add_fault(to, f->all[k]);
		if (f->lid && (!to->lid || f->lid < to->lid))
			to->lid = f->lid;
		depend_faults_free(f);
	}
	sort_faults(to);
}

/* The port of the row of `in->rows`, or of the other; LFT_NO_PORT. */
static uint8_t
row_port(const struct checker *c, uint32_t sw, uint32_t lid, unsigned k)
{
	struct plan_row *const *rows = k ? c->in->also : c->in->rows;

	return rows && rows[sw] ? plan_row_port(rows[sw], lid) : LFT_NO_PORT;
}

/* Groups of a switch for a LID are at fault. */
static bool
blame(const struct checker *c, struct depend_faults *f, uint32_t sw, uint32_t lid)
{
	const struct depend_groups *g = c->lanes->groups;
	const struct plan_ar_switch *s = g->of[0] ? g->of[0]->sw[sw] : NULL;
	const struct plan_dest *dest = &c->in->lids->dest[lid];
	uint8_t port = row_port(c, sw, lid, 0);
	bool any = false;

	for (unsigned t = 0; s && t < s->ntables; t++) {
		if (!plan_ar_group(s, t, dest, port))
			continue;
		add_fault(f, s->table[t].by_port ?
			  (struct depend_fault){ sw, FABRIC_NONE, port } :
			  (struct depend_fault){ sw, dest->sw, 0 });
		any = true;
	}
	return any;
}

static void
lost(const struct checker *c, struct depend_faults *f, uint32_t sw, uint32_t lid)
{
	if (!c->lanes->groups->look || !blame(c, f, sw, lid))
		return;
	if (!f->lid || lid < f->lid)
		f->lid = lid;
}

/* ---- Ways from a switch ---- */

static unsigned
kind_of(const struct checker *c, uint32_t sw, unsigned in)
{
	const struct depend_groups *g = c->lanes->groups;
	unsigned kind = 0;

	if (g->kinds == 1)
		return 0;
	for (unsigned k = 0; k < 2; k++) {
		const struct plan_ar_switch *s = g->of[k] ? g->of[k]->sw[sw] : NULL;

		kind = kind * g->tables[k] + (s ? s->table_of[in] : 0u);
	}
	return kind;
}

static void
add_way(struct depend_ways *w, uint32_t first, uint32_t e)
{
	for (uint32_t i = first; i < w->len; i++)
		if (w->way[i] == e)
			return;
	if (w->len == w->size) {
		w->size = w->size ? 2 * w->size : 1024;
		w->way = mem_realloc(w->way, w->size, sizeof(*w->way));
	}
	w->way[w->len++] = e;
}

/* The ports of a group besides that of the row. */
static void
add_choices(const struct checker *c, struct depend_ways *w, struct depend_faults *f, uint32_t sw,
	    uint32_t lid, const struct ar_ports *ports, uint32_t first)
{
	for (unsigned i = 0; i < 4; i++)
		for (uint64_t left = ports->word[i]; left; left &= left - 1) {
			unsigned port = i * 64 + (unsigned)__builtin_ctzll(left);
			uint32_t e = depend_edge(c, sw, (uint8_t)port);

			if (e == FABRIC_NONE || c->channels.to[e] == sw ||
			    !c->in->rows[c->channels.to[e]])
				lost(c, f, sw, lid);
			else
				add_way(w, first, e);
		}
}

/* Packets of one kind of in port. */
static void
list_kind(const struct checker *c, struct depend_ways *w, struct depend_faults *f, uint32_t sw,
	  uint32_t lid, unsigned kind)
{
	const struct depend_groups *g = c->lanes->groups;
	const struct plan_dest *dest = &c->in->lids->dest[lid];
	unsigned table[2] = { kind / g->tables[1], kind % g->tables[1] };
	uint32_t first = w->len;

	for (unsigned k = 0; k < 2 && dest->sw != sw; k++) {
		uint8_t port = row_port(c, sw, lid, k);
		uint32_t e = port == LFT_NO_PORT ? FABRIC_NONE : depend_edge(c, sw, port);

		/* An entry that spreads does so too where the row's own port is dead. */
		if (e != FABRIC_NONE)
			add_way(w, first, e);
		for (unsigned j = 0; j < 2; j++) {
			const struct plan_ar_switch *s = g->of[j] ? g->of[j]->sw[sw] : NULL;
			struct ar_ports more = { { 0 } };

			if (s && table[j] < s->ntables)
				more = plan_ar_choices(s, table[j], dest, port);
			add_choices(c, w, f, sw, lid, &more, first);
		}
	}
}

static void
list_ways(const struct checker *c, struct depend_ways *w, struct depend_faults *f, uint32_t lid)
{
	const struct depend_groups *g = c->lanes->groups;

	w->len = 0;
	for (uint32_t sw = 0; sw < c->f->nswitches; sw++)
		for (unsigned kind = 0; kind < g->kinds; kind++) {
			w->first[sw * g->kinds + kind] = w->len;
			list_kind(c, w, f, sw, lid, kind);
		}
	w->first[c->f->nswitches * g->kinds] = w->len;
}

/* ---- Links in order ---- */

static const uint32_t *
ways_on(const struct checker *c, const struct depend_ways *w, uint32_t e)
{
	uint32_t to = c->channels.to[e];

	return &w->first[to * c->lanes->groups->kinds + kind_of(c, to, c->f->edges[e].in)];
}

/* The links on the stack from this one on go round. */
static void
goes_round(const struct checker *c, struct depend_ways *w, struct depend_faults *f, size_t len,
	   uint32_t edge, uint32_t lid)
{
	w->round = true;
	while (len-- > 0) {
		lost(c, f, c->lanes->groups->from[w->stack[len].edge], lid);
		if (w->stack[len].edge == edge)
			return;
	}
}

static void
open_edge(const struct checker *c, struct depend_ways *w, struct depend_faults *f, size_t len,
	  uint32_t e, uint32_t lid)
{
	const uint32_t *on = ways_on(c, w, e);
	uint32_t sw = c->lanes->groups->from[e];

	w->mark[e] = OPEN;
	w->stack[len] = (struct step){ e, on[0] };
	/* Where the row itself leads there is a way on, if there is any. */
	if (on[0] == on[1] && c->channels.to[e] != c->in->lids->dest[lid].sw &&
	    c->channels.out[e] != row_port(c, sw, lid, 0))
		lost(c, f, sw, lid);
}

static void
order_from(const struct checker *c, struct depend_ways *w, struct depend_faults *f, uint32_t e,
	   uint32_t lid)
{
	size_t len = 1;

	if (w->mark[e] != NEW)
		return;
	open_edge(c, w, f, 0, e, lid);
	while (len) {
		struct step *at = &w->stack[len - 1];
		uint32_t next;

		if (at->next == ways_on(c, w, at->edge)[1]) {
			w->mark[at->edge] = DONE;
			w->order[w->norder++] = at->edge;
			len--;
			continue;
		}
		next = w->way[at->next++];
		if (w->mark[next] == OPEN)
			goes_round(c, w, f, len, next, lid);
		else if (w->mark[next] == NEW)
			open_edge(c, w, f, len++, next, lid);
	}
}

static void
order_ways(const struct checker *c, struct depend_work *work, struct depend_faults *f, uint32_t lid)
{
	const struct depend_groups *g = c->lanes->groups;
	struct depend_ways *w = work->ways;
	unsigned words = c->lanes->words;

	w->norder = 0;
	w->round = false;
	for (uint32_t i = 0; i < c->f->nswitches * g->kinds; i++) {
		uint32_t sw = i / g->kinds;

		if (w->first[i] == w->first[i + 1] || !(g->begins[sw] >> i % g->kinds & 1))
			continue;
		for (uint32_t k = w->first[i]; k < w->first[i + 1]; k++) {
			uint32_t e = w->way[k];

			order_from(c, w, f, e, lid);
			depend_start(c->lanes, e, work->classes[sw], &w->sets[(size_t)e * words],
				     words);
		}
	}
}

/* ---- To one LID ---- */

/* False: nothing grew. */
static bool
hand_on(const struct checker *c, struct depend_ways *w, unsigned words)
{
	bool grew = false;

	for (uint32_t i = w->norder; i-- > 0;) {
		uint32_t e = w->order[i];
		const uint32_t *on = ways_on(c, w, e);

		for (uint32_t k = on[0]; k < on[1]; k++) {
			uint64_t *there = &w->sets[(size_t)w->way[k] * words];
			uint64_t had[WORDS_MAX];

			memcpy(had, there, words * sizeof(*had));
			depend_pass(c, e, w->way[k], &w->sets[(size_t)e * words], there, words);
			grew |= memcmp(had, there, words * sizeof(*had)) != 0;
		}
	}
	return grew;
}

static bool
goes_on(const struct depend_ways *w, const uint32_t *on, uint32_t e)
{
	for (uint32_t k = on[0]; k < on[1]; k++)
		if (w->way[k] == e)
			return true;
	return false;
}

/* Do packets to this LID hold and wait so? Then by the group at the end of the one link, or at its
 * beginning, or by one that led them there. */
static void
look_at_wait(const struct checker *c, const struct depend_ways *w, struct depend_faults *f,
	     const struct depend_wait *wait, uint32_t lid)
{
	unsigned lanes = c->channels.lanes, words = c->lanes->words;
	uint32_t e = wait->from / lanes, then = wait->to / lanes;
	unsigned a = wait->from % lanes, b = wait->to % lanes;
	uint32_t here = c->channels.to[e], before = c->lanes->groups->from[e];
	uint64_t classes = w->sets[(size_t)e * words + a / LANES_A_WORD] >>
		a % LANES_A_WORD * CLASSES_MAX & UINT16_MAX;

	if (!classes || !goes_on(w, ways_on(c, w, e), then))
		return;
	classes &= depend_pair(c, e, then)[b / LANES_A_WORD] >> b % LANES_A_WORD * CLASSES_MAX;
	if (!classes)
		return;
	if (c->channels.out[then] != row_port(c, here, lid, 0) && blame(c, f, here, lid))
		return;
	if (c->channels.out[e] != row_port(c, before, lid, 0) && blame(c, f, before, lid))
		return;
	for (uint32_t sw = 0; sw < c->f->nswitches; sw++)
		blame(c, f, sw, lid);
}

static void
follow(const struct checker *c, struct depend_work *work, struct depend_faults *f, uint32_t lid)
{
	const struct depend_groups *g = c->lanes->groups;
	struct depend_ways *w = work->ways;
	unsigned words = c->lanes->words;

	list_ways(c, w, f, lid);
	order_ways(c, work, f, lid);
	while (hand_on(c, w, words) && w->round)
		;
	for (size_t i = 0; i < g->nwaits; i++)
		look_at_wait(c, w, f, &g->waits[i], lid);
	for (uint32_t i = 0; i < w->norder; i++) {
		memset(&w->sets[(size_t)w->order[i] * words], 0, words * sizeof(*w->sets));
		w->mark[w->order[i]] = NEW;
	}
}

static void
follow_lid(const struct checker *c, unsigned thread, uint32_t i)
{
	const struct depend_groups *g = c->lanes->groups;
	struct depend_work *w = &c->lanes->work[thread];
	uint32_t lid = w->columns.lid[i];

	if (g->home[c->in->lids->dest[lid].sw])
		follow(c, w, &g->found[thread], lid);
	else if (!g->nwaits)
		depend_follow(c, w, i);
}

/* ---- All of it ---- */

/* For whose LIDs there are groups. */
static void
note_homes(const struct checker *c, const struct plan_adaptive *a, bool *home)
{
	for (uint32_t sw = 0; a && sw < a->nswitches; sw++) {
		const struct plan_ar_switch *s = a->sw[sw];

		for (unsigned t = 0; s && s->used && t < s->ntables; t++) {
			if (s->table[t].by_port) {
				memset(home, true, c->f->nswitches * sizeof(*home));
				return;
			}
			for (uint32_t i = 0; i < s->nhomes && i < c->f->nswitches; i++)
				home[i] |= s->table[t].group[i] != 0;
		}
	}
}

/* At hosts, and at the switch itself. */
static void
note_begins(const struct checker *c, uint32_t sw)
{
	const struct fabric_node *n = fabric_switch_node(c->f, sw);

	for (unsigned in = 0; in <= n->nports; in++)
		if (!in || (c->f->ports[n->first_port + in].peer != FABRIC_NONE &&
			    c->hops[sw].edge_at[in] == FABRIC_NONE))
			c->lanes->groups->begins[sw] |= (uint16_t)(1u << kind_of(c, sw, in));
}

static struct depend_ways *
ways_new(const struct checker *c)
{
	struct depend_ways *w = mem_zalloc(sizeof(*w));
	uint32_t n = c->f->nedges + 1u;

	w->first = mem_array((size_t)c->f->nswitches * c->lanes->groups->kinds + 1,
			     sizeof(*w->first));
	w->mark = mem_array(n, 1);
	w->order = mem_array(n, sizeof(*w->order));
	w->stack = mem_array(n, sizeof(*w->stack));
	w->sets = mem_array(n, c->lanes->words * sizeof(*w->sets));
	return w;
}

static void
ways_free(struct depend_ways *w)
{
	mem_free(w->first);
	mem_free(w->way);
	mem_free(w->mark);
	mem_free(w->order);
	mem_free(w->stack);
	mem_free(w->sets);
	mem_free(w);
}

/* Private LFTs, and the kinds that in ports are of by them. */
static void
count_kinds(struct depend_groups *g)
{
	g->kinds = 1;
	for (unsigned k = 0; k < 2; k++) {
		g->tables[k] = 1;
		for (uint32_t sw = 0; g->of[k] && sw < g->of[k]->nswitches; sw++)
			if (g->of[k]->sw[sw] && g->of[k]->sw[sw]->ntables > g->tables[k])
				g->tables[k] = g->of[k]->sw[sw]->ntables;
		g->kinds *= g->tables[k];
	}
}

static void
groups_open(struct checker *c)
{
	struct depend_groups *g = mem_zalloc(sizeof(*g));

	g->of[0] = c->in->adaptive;
	g->of[1] = c->in->adaptive_also;
	count_kinds(g);
	g->from = mem_array(c->f->nedges + 1u, sizeof(*g->from));
	g->home = mem_array(c->f->nswitches + 1u, sizeof(*g->home));
	g->begins = mem_array(c->f->nswitches + 1u, sizeof(*g->begins));
	g->found = mem_array(c->threads, sizeof(*g->found));
	for (uint32_t sw = 0; sw < c->f->nswitches; sw++)
		for (uint32_t e = c->f->edge_first[sw]; e < c->f->edge_first[sw + 1]; e++)
			g->from[e] = sw;
	note_homes(c, g->of[0], g->home);
	note_homes(c, g->of[1], g->home);
	depend_lanes_open(c);
	c->lanes->groups = g;
	for (uint32_t sw = 0; sw < c->f->nswitches; sw++)
		note_begins(c, sw);
	for (unsigned i = 0; i < c->threads; i++)
		c->lanes->work[i].ways = ways_new(c);
}

static void
groups_close(struct checker *c)
{
	struct depend_groups *g = c->lanes->groups;

	for (unsigned i = 0; i < c->threads; i++)
		ways_free(c->lanes->work[i].ways);
	mem_free(g->from);
	mem_free(g->home);
	mem_free(g->begins);
	mem_free(g->found);
	mem_free(g);
	depend_lanes_close(c);
}

void
depend_with_groups(struct checker *c, struct depend_faults *faults)
{
	groups_open(c);
	c->lanes->groups->look = faults != NULL;
	depend_each(c, follow_lid);
	if (faults)
		gather_faults(c, faults);
	depend_enter(c);
	groups_close(c);
}

void
depend_blame(struct checker *c, const struct depend_wait *waits, size_t len,
	     struct depend_faults *faults)
{
	groups_open(c);
	c->lanes->groups->waits = waits;
	c->lanes->groups->nwaits = len;
	depend_each(c, follow_lid);
	gather_faults(c, faults);
	groups_close(c);
}
