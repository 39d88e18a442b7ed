/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/tree.h"
#include <string.h>
#include "routing/levels.h"
#include "sm/base/map.h"
#include "sm/base/mem.h"

/*
 * Numbering. Leaves are taken in topological order, the hosts of a leaf in order of its ports; each
 * leaf has as many numbers as the fullest one, rounded up so that a number's digits begin anew with
 * each leaf if that wastes little. A host whose cable is lost keeps its number for when it comes
 * back; its class is not known then, and taken to be that of its neighbour.
 *
 * The ports of one host should not meet in one spine (Bogdanski, PDP 2014): a port gets a number
 * with another lowest digit than its siblings have, if its leaf has one left. The further LIDs of a
 * port (LMC) have numbers that differ by equal parts of the ways up.
 */
#define CLASSES (2u * (UINT8_MAX + 1))	/* node classes, on leaves and above them */
#define SIBLINGS_MAX 16u		/* that are looked at */
#define NONE UINT32_MAX

/* A port of a switch that a host hangs on, or hung. */
struct seat {
	uint32_t home;		/* vertex */
	uint32_t port;		/* the host's port in the snapshot, FABRIC_NONE: not there */
	uint32_t sibling;	/* earlier seat of the same host, NONE */
	uint32_t number;	/* what we are here for */
	uint16_t class;		/* below CLASSES */
};

struct numbering {
	const struct tree *t;			/* the tree */
	const struct tree_state *s;		/* what is there */
	const struct engine_input *in;		/* whose LIDs */
	struct seat *seats;			/* by class, then topological order */
	uint32_t first[CLASSES + 1];		/* where a class starts */
	uint32_t *component;			/* by vertex: connected part */
	struct tree_numbers *n;			/* to be filled */
};

/* The host's port at a seat, in the snapshot. */
static uint32_t
seat_port(const struct numbering *nb, uint32_t v, unsigned number)
{
	const struct fabric *f = nb->in->fabric;

	return nb->s->sw[v] == FABRIC_NONE ? FABRIC_NONE :
		fabric_port_at(f, f->switches[nb->s->sw[v]], number)->peer;
}

static unsigned
node_class(const struct numbering *nb, uint32_t port)
{
	const struct engine_options *o = nb->in->options;

	return o && o->node_class ? o->node_class[nb->in->fabric->ports[port].node] : 0;
}

/* List the seats of one switch; returns how many. */
static uint32_t
list_seats(const struct numbering *nb, uint32_t v, struct seat *seats)
{
	const struct fabric *nominal = nb->t->f;
	unsigned class = NONE, above = nb->t->nested[v];
	uint32_t len = 0;

	for (unsigned i = 1; i <= fabric_switch_node(nominal, v)->nports; i++) {
		uint32_t peer = fabric_port_at(nominal, nominal->switches[v], i)->peer;
		uint32_t port;

		if (peer == FABRIC_NONE ||
		    nominal->nodes[nominal->ports[peer].node].sw != FABRIC_NONE)
			continue;
		port = seat_port(nb, v, i);
		if (port != FABRIC_NONE && class == NONE)	/* those before are not there */
			for (uint32_t k = 0; k < len; k++)
				seats[k].class = (uint16_t)(2 * node_class(nb, port) + above);
		class = port != FABRIC_NONE ? node_class(nb, port) : class;
		seats[len++] = (struct seat){
			.home = v, .port = port, .sibling = NONE,
			.class = (uint16_t)(2 * (class == NONE ? 0 : class) + above),
		};
	}
	return len;
}

/* All seats, by class and topological order. */
static void
find_seats(struct numbering *nb)
{
	const struct tree *t = nb->t;
	struct seat *all = mem_array(t->f->nports, sizeof(*all));
	uint32_t *by_place = mem_array(t->n, sizeof(*by_place)), len = 0, at[CLASSES];

	for (uint32_t v = 0; v < t->n; v++)
		by_place[t->place[v]] = v;
	for (uint32_t i = 0; i < t->n; i++)
		len += list_seats(nb, by_place[i], &all[len]);
	for (uint32_t i = 0; i < len; i++)
		nb->first[all[i].class + 1]++;
	for (unsigned c = 0; c < CLASSES; c++) {
		at[c] = nb->first[c];
		nb->first[c + 1] += nb->first[c];
	}
	nb->seats = mem_array(len, sizeof(*nb->seats));
	for (uint32_t i = 0; i < len; i++)
		nb->seats[at[all[i].class]++] = all[i];
	mem_free(all);
	mem_free(by_place);
}

/* Chain the seats of each host that has several in one connected part. */
static void
find_siblings(struct numbering *nb)
{
	const struct fabric *f = nb->in->fabric;
	struct map last = { 0 };

	for (uint32_t i = 0; i < nb->first[CLASSES]; i++) {
		struct seat *seat = &nb->seats[i];
		const struct fabric_node *node;
		uint64_t key;

		if (seat->port == FABRIC_NONE)
			continue;
		node = &f->nodes[f->ports[seat->port].node];
		if (node->nports < 2 && (!node->system_guid || node->system_guid == node->guid))
			continue;
		key = node->system_guid ? node->system_guid : node->guid;
		seat->sibling = map_get(&last, key);	/* MAP_NONE is NONE */
		map_set(&last, key, i);
	}
	map_free(&last);
}

/* Ways up from most homes of a class. */
struct usual {
	unsigned ways;		/* groups */
	unsigned links;		/* cables */
};

static unsigned
links_above(const struct tree *t, uint32_t v)
{
	unsigned n = 0;

	for (uint32_t g = t->first[v]; g < t->first[v + 1]; g++)
		n += t->groups[g].above ? t->groups[g].len : 0;
	return n;
}

static struct usual
usual_ways(const struct numbering *nb, unsigned class)
{
	uint32_t ways[UINT8_MAX + 1] = { 0 }, links[UINT8_MAX + 1] = { 0 };
	struct usual most = { 0, 0 };

	for (uint32_t i = nb->first[class]; i < nb->first[class + 1]; i++) {
		ways[nb->t->nabove[nb->seats[i].home]]++;
		links[links_above(nb->t, nb->seats[i].home)]++;
	}
	for (unsigned i = 0; i <= UINT8_MAX; i++) {
		most.ways = ways[i] > ways[most.ways] ? i : most.ways;
		most.links = links[i] > links[most.links] ? i : most.links;
	}
	return most;
}

/* Numbers for each leaf: the fullest has `most`. Rounded to what begins with the same digit on each
 * leaf, if that leaves less than a quarter of them out. */
static uint32_t
find_stride(uint32_t most, uint32_t links)
{
	for (uint32_t n = most; links && n <= UINT8_MAX && n < most + (most + 2) / 3; n++)
		if (n % links == 0 || links % n == 0)
			return n;
	return most;
}

static bool
meets_sibling(const struct numbering *nb, const struct seat *seat, uint32_t number, unsigned ways)
{
	uint32_t i = seat->sibling;

	for (unsigned n = 0; i != NONE && n < SIBLINGS_MAX; n++, i = nb->seats[i].sibling)
		if (nb->component[nb->seats[i].home] == nb->component[seat->home] &&
		    nb->seats[i].number % ways == number % ways)
			return true;
	return false;
}

/* The seat met a sibling in all numbers that were left: change with another of the leaf. */
static void
change_seats(struct numbering *nb, uint32_t first, uint32_t i, unsigned ways)
{
	struct seat *seat = &nb->seats[i];

	for (uint32_t k = first; k < i; k++) {
		struct seat *other = &nb->seats[k];
		uint32_t number = other->number;

		if (meets_sibling(nb, seat, number, ways) ||
		    meets_sibling(nb, other, seat->number, ways))
			continue;
		other->number = seat->number;
		seat->number = number;
		return;
	}
}

/* Number the seats [first, end) of one leaf from `base`. */
static void
number_leaf(struct numbering *nb, uint32_t first, uint32_t end, uint32_t base, uint32_t stride,
	    unsigned ways)
{
	bool taken[UINT8_MAX + 1] = { false };

	for (uint32_t i = first; i < end; i++) {
		struct seat *seat = &nb->seats[i];
		uint32_t pick = NONE;

		for (uint32_t k = 0; k < stride; k++) {
			if (taken[k])
				continue;
			if (pick == NONE)
				pick = k;
			if (seat->sibling == NONE || ways < 2)
				break;
			if (!meets_sibling(nb, seat, base + k, ways)) {
				pick = k;
				break;
			}
		}
		taken[pick] = true;
		seat->number = base + pick;
		if (seat->sibling != NONE && ways > 1 &&
		    meets_sibling(nb, seat, seat->number, ways))
			change_seats(nb, first, i, ways);
	}
}

static void
set_lids(struct numbering *nb, const struct seat *seat, unsigned ways)
{
	const struct plan_lids *l = nb->in->lids;
	uint32_t base = seat->port == FABRIC_NONE ? 0 : l->base[seat->port], apart;

	if (!base)
		return;
	apart = ways >> (l->lmc[seat->port] & 7) ? ways >> (l->lmc[seat->port] & 7) : 1;
	for (uint32_t k = 0; k < 1u << (l->lmc[seat->port] & 7); k++) {
		if (base + k > l->top || l->dest[base + k].port != seat->port)
			continue;
		nb->n->number[base + k] = seat->number + k * apart;
		nb->n->order[nb->n->len++] = (uint16_t)(base + k);
	}
}

static void
number_class(struct numbering *nb, unsigned class)
{
	uint32_t most = 0, first = nb->first[class], end = nb->first[class + 1], stride;
	struct usual usual = usual_ways(nb, class);

	for (uint32_t i = first, run = 0; i < end; i++) {
		run = i > first && nb->seats[i].home == nb->seats[i - 1].home ? run + 1 : 1;
		most = run > most ? run : most;
	}
	stride = find_stride(most, usual.links);
	for (uint32_t i = first, k, base = 0; i < end; i = k, base += stride) {
		for (k = i + 1; k < end && nb->seats[k].home == nb->seats[i].home;)
			k++;
		number_leaf(nb, i, k, base, stride, usual.ways);
	}
	for (uint32_t i = first; i < end; i++)
		set_lids(nb, &nb->seats[i], usual.ways);
}

/* Switches: from the lowest level up, each level in topological order. */
static void
number_switches(struct numbering *nb)
{
	const struct tree *t = nb->t;
	const struct fabric *f = nb->in->fabric;
	uint32_t *by_place = mem_array(t->n, sizeof(*by_place)), n = 0;

	for (uint32_t v = 0; v < t->n; v++)
		by_place[t->place[v]] = v;
	for (unsigned level = t->levels; level-- > 0;)
		for (uint32_t i = 0; i < t->n; i++) {
			uint32_t v = by_place[i], sw = nb->s->sw[v];
			struct seat seat = { .home = v, .number = n, .port = FABRIC_NONE };

			if (t->level[v] != level)
				continue;
			n++;
			if (sw != FABRIC_NONE)
				seat.port = fabric_switch_node(f, sw)->first_port;
			set_lids(nb, &seat, t->nabove[v]);
		}
	mem_free(by_place);
}

/* LIDs of each home, in runs. */
static void
find_runs(struct numbering *nb)
{
	const struct plan_lids *l = nb->in->lids;
	struct tree_numbers *n = nb->n;
	uint32_t *at = mem_array(nb->t->n + 1u, sizeof(*at)), before = FABRIC_NONE;

	for (unsigned round = 0; round < 2; round++) {
		for (uint32_t lid = 1; lid <= l->top; lid++) {
			uint32_t sw = l->dest[lid].port == FABRIC_NONE ? FABRIC_NONE :
				l->dest[lid].sw;
			uint32_t v = sw == FABRIC_NONE ? FABRIC_NONE : nb->s->vertex[sw];

			if (v != FABRIC_NONE && v != before && round)
				n->runs[at[v]++] = (struct tree_run){ .lid = (uint16_t)lid };
			else if (v != FABRIC_NONE && v != before)
				n->first[v + 1]++;
			if (v != FABRIC_NONE && round)
				n->runs[at[v] - 1].len++;
			before = v;
		}
		for (uint32_t v = 0; v < nb->t->n && !round; v++) {
			at[v] = n->first[v];
			n->first[v + 1] += n->first[v];
		}
		if (!round)
			n->runs = mem_array(n->first[nb->t->n], sizeof(*n->runs));
		before = FABRIC_NONE;
	}
	mem_free(at);
}

static void
count_hosts(struct numbering *nb)
{
	const struct plan_lids *l = nb->in->lids;
	uint8_t *leaf = mem_array(nb->t->n, 1);

	for (uint32_t i = 0; i < nb->first[CLASSES]; i++) {
		const struct seat *seat = &nb->seats[i];

		if (seat->port == FABRIC_NONE || !l->base[seat->port])
			continue;
		nb->n->nhosts++;
		nb->n->nleaves += !leaf[seat->home];
		leaf[seat->home] = 1;
	}
	mem_free(leaf);
}

/* List homes: those of hosts first. Seats that are lost count, so that nobody's place changes. */
static void
order_homes(struct numbering *nb)
{
	const struct tree *t = nb->t;
	struct tree_numbers *n = nb->n;
	uint32_t *by_place = mem_array(t->n, sizeof(*by_place)), len = 0;
	uint8_t *seated = mem_array(t->n, 1);

	for (uint32_t i = 0; i < nb->first[CLASSES]; i++)
		seated[nb->seats[i].home] = 1;
	for (uint32_t v = 0; v < t->n; v++)
		by_place[t->place[v]] = v;
	n->homes = mem_array(t->n, sizeof(*n->homes));
	n->ordinal = mem_array(t->n, sizeof(*n->ordinal));
	for (unsigned round = 0; round < 2; round++)
		for (uint32_t i = 0; i < t->n; i++) {
			uint32_t v = by_place[i];

			if (!seated[v] != (round == 1))
				continue;
			n->ordinal[v] = len;
			n->homes[len++] = v;
			n->nseated += seated[v];
		}
	mem_free(seated);
	mem_free(by_place);
}

/* From the lowest level up: the first and the last home of hosts below each vertex. */
static void
find_spans(struct numbering *nb)
{
	const struct tree *t = nb->t;
	struct tree_numbers *n = nb->n;
	uint32_t *last = mem_array(t->n, sizeof(*last)), *first;

	n->span = mem_array(t->n, sizeof(*n->span));
	first = n->turn = mem_array(t->n, sizeof(*n->turn));
	for (uint32_t v = 0; v < t->n; v++) {
		bool seated = n->ordinal[v] < n->nseated;

		first[v] = seated ? n->ordinal[v] : NONE;
		last[v] = seated ? n->ordinal[v] : 0;
	}
	for (unsigned level = t->levels; level-- > 0;)
		for (uint32_t v = 0; v < t->n; v++)
			for (uint32_t g = t->first[v]; t->level[v] == level && g < t->first[v + 1];
			     g++) {
				uint32_t to = t->groups[g].to;

				if (!t->groups[g].above)
					continue;
				first[to] = first[v] < first[to] ? first[v] : first[to];
				last[to] = last[v] > last[to] ? last[v] : last[to];
			}
	for (uint32_t v = 0; v < t->n; v++) {
		n->span[v] = first[v] == NONE ? 1 : last[v] - first[v] + 1;
		n->turn[v] = first[v] == NONE ? 0 : first[v] / n->span[v];
	}
	mem_free(last);
}

struct tree_numbers *
tree_numbers_new(const struct tree *t, const struct tree_state *s, const struct engine_input *in)
{
	struct tree_numbers *n = mem_zalloc(sizeof(*n));
	struct numbering nb = { .t = t, .s = s, .in = in, .n = n };

	n->refs = 1;
	n->number = mem_array(in->lids->top + 1u, sizeof(*n->number));
	n->order = mem_array(in->lids->top + 1u, sizeof(*n->order));
	n->first = mem_array(t->n + 1u, sizeof(*n->first));
	nb.component = mem_array(t->n, sizeof(*nb.component));
	levels_components(t->f, nb.component);
	find_seats(&nb);
	find_siblings(&nb);
	for (unsigned class = 0; class < CLASSES; class++)
		if (nb.first[class] < nb.first[class + 1])
			number_class(&nb, class);
	number_switches(&nb);
	find_runs(&nb);
	count_hosts(&nb);
	order_homes(&nb);
	find_spans(&nb);
	mem_free(nb.seats);
	mem_free(nb.component);
	return n;
}

struct tree_numbers *
tree_numbers_ref(struct tree_numbers *n)
{
	__atomic_add_fetch(&n->refs, 1, __ATOMIC_RELAXED);
	return n;
}

void
tree_numbers_unref(struct tree_numbers *n)
{
	if (!n || __atomic_sub_fetch(&n->refs, 1, __ATOMIC_ACQ_REL))
		return;
	mem_free(n->number);
	mem_free(n->order);
	mem_free(n->first);
	mem_free(n->runs);
	mem_free(n->homes);
	mem_free(n->ordinal);
	mem_free(n->span);
	mem_free(n->turn);
	mem_free(n);
}
