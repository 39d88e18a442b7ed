/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A routing engine for fat trees that says which ports packets may choose among. Ways climb from
 * rank to rank and then descend. The table has one port; the set beside it has all ports that are
 * as near. As no way climbs again once it descends, no mixture of them closes a credit loop.
 */
#include <stdlib.h>
#include <string.h>
#include <weft/plugin.h>

struct tree {
	const struct weft_fabric *f;
	uint32_t home;		/* switch that packets are for */
	uint32_t *down;		/* hops to it by links that all descend; WEFT_NONE */
	uint32_t *hops;		/* hops to it by links that climb, then descend; WEFT_NONE */
	uint32_t *order;	/* switches, the highest first */
};

/* Does a link lead up, away from hosts? Ranks count from 0 at the top; ties go by number. */
static int climbs(const struct weft_fabric *f, uint32_t from, uint32_t to)
{
	uint8_t a = f->switch_rank[from], b = f->switch_rank[to];

	return b < a || (b == a && to < from);
}

/* Least hops over the links of a switch that climb, or that do not, from those in `to`. */
static uint32_t least(const struct tree *t, uint32_t s, int up, const uint32_t *to)
{
	uint32_t best = WEFT_NONE;

	for (uint32_t l = t->f->link_first[s]; l < t->f->link_first[s + 1]; l++) {
		uint32_t n = t->f->link_to[l];

		if (n == s || climbs(t->f, s, n) != up || to[n] >= best - 1)
			continue;
		if (n == t->home || !t->f->switch_fixed[n])
			best = to[n] + 1;
	}
	return best;
}

static void distances(struct tree *t)
{
	uint32_t n = t->f->nswitches;

	for (uint32_t i = n; i-- > 0;)
		t->down[t->order[i]] = t->order[i] == t->home ? 0 :
				       least(t, t->order[i], 0, t->down);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t s = t->order[i];

		t->hops[s] = t->down[s] != WEFT_NONE ? t->down[s] : least(t, s, 1, t->hops);
	}
}

/* The ports that lead nearer, as a set; returns how many. */
static uint32_t nearer(const struct tree *t, uint32_t s, uint64_t set[WEFT_SET_WORDS],
		       uint8_t out[256])
{
	int up = t->down[s] == WEFT_NONE;
	const uint32_t *to = up ? t->hops : t->down;
	uint32_t n = 0;

	memset(set, 0, WEFT_SET_WORDS * sizeof(*set));
	if (t->hops[s] == WEFT_NONE)
		return 0;
	for (uint32_t l = t->f->link_first[s]; l < t->f->link_first[s + 1]; l++) {
		uint32_t next = t->f->link_to[l];
		uint8_t port = t->f->link_out[l];

		if (next == s || climbs(t->f, s, next) != up || to[next] + 1 != t->hops[s] ||
		    (next != t->home && t->f->switch_fixed[next]))
			continue;
		set[port / 64] |= UINT64_C(1) << port % 64;
		out[n++] = port;
	}
	return n;
}

/* The number of a set at a switch: the one that it has already, or a new one; 0: no room. */
static uint16_t number(struct weft_result *r, uint32_t s, const uint64_t set[WEFT_SET_WORDS])
{
	uint64_t *have = r->set + (size_t)s * r->sets_max * WEFT_SET_WORDS;
	uint16_t n = r->nsets[s];

	for (uint16_t i = 0; i < n; i++)
		if (!memcmp(have + i * WEFT_SET_WORDS, set, WEFT_SET_WORDS * sizeof(*set)))
			return (uint16_t)(i + 1);
	if (n >= r->sets_max)
		return 0;
	memcpy(have + n * WEFT_SET_WORDS, set, WEFT_SET_WORDS * sizeof(*set));
	return r->nsets[s] = (uint16_t)(n + 1);
}

static void towards(const struct tree *t, uint32_t s, struct weft_result *r)
{
	const struct weft_fabric *f = t->f;
	uint8_t *row = r->lft + (size_t)s * f->row_len, out[256];
	uint64_t set[WEFT_SET_WORDS];
	uint32_t n = s == t->home ? 0 : nearer(t, s, set, out), turn = 0;

	if (n > 1)
		r->set_of[(size_t)s * f->nswitches + t->home] = number(r, s, set);
	for (uint32_t lid = 1; lid <= f->top_lid; lid++) {
		if (f->lid_switch[lid] != t->home)
			continue;
		/* Hosts in turn over the ports, and those of the next switch from another on. */
		row[lid] = s == t->home ? f->lid_port[lid] :
			   n ? out[(t->home + turn++) % n] : (uint8_t)WEFT_DROP;
	}
}

/* Switches by rank, then number: the order that climbs() goes by. */
static void sort(const struct weft_fabric *f, uint32_t *order)
{
	uint32_t n = 0;

	for (uint32_t rank = 0; rank <= UINT8_MAX; rank++)
		for (uint32_t s = 0; s < f->nswitches; s++)
			if (f->switch_rank[s] == rank)
				order[n++] = s;
}

static int route(const struct weft_host *host, const struct weft_fabric *f, struct weft_result *r)
{
	struct tree t = { f, 0, NULL, NULL, NULL };
	size_t n = f->nswitches;

	if (!f->switch_rank) {
		host->refuse(host, "nothing is known of ranks: is this a tree? Name the roots in "
				   "routing.roots");
		return WEFT_REFUSED;
	}
	t.down = (uint32_t *)malloc((n + 1) * 3 * sizeof(*t.down));
	t.hops = t.down + n;
	t.order = t.hops + n;
	sort(f, t.order);
	for (t.home = 0; t.home < f->nswitches; t.home++) {
		distances(&t);
		for (uint32_t s = 0; s < f->nswitches; s++)
			towards(&t, s, r);
	}
	memcpy(r->rank, f->switch_rank, n);
	r->has_rank = 1;
	r->has_sets = 1;
	free(t.down);
	return WEFT_OK;
}

static const struct weft_engine engine = {
	sizeof(engine), WEFT_ENGINE_DEADLOCK_FREE, "fat trees", route,
};
WEFT_PLUGIN_EXPORT const struct weft_plugin weft_plugin = {
	WEFT_PLUGIN_ABI, sizeof(weft_plugin), "adaptive", "1.0",
	"up and down, with all ports that are as near", NULL, 0, &engine, NULL,
};
