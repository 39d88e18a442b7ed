/* SPDX-License-Identifier: BSD-2-Clause */
/* A routing engine: of the shortest ways that climb by rank and then descend, one at random. */
#include <stdlib.h>
#include <weft/plugin.h>

struct ways {
	uint32_t *hops;		/* by switch: to the switch in question; WEFT_NONE */
	uint8_t *falls;		/* by switch: its ways descend all along */
};
static int climbs(const uint8_t *rank, uint32_t s, uint32_t to)
{
	return !rank || rank[to] < rank[s] || (rank[to] == rank[s] && to < s);
}

/* May packets go from s to `next`, which is a hop nearer? */
static int leads(const struct weft_fabric *f, const struct ways *w, uint32_t s, uint32_t next)
{
	int up = climbs(f->switch_rank, s, next);

	return w->falls[s] ? !up && w->falls[next] : up || w->falls[next];
}

/* Breadth first from `home`, through no switch that forwards as it likes. */
static void find_ways(const struct weft_fabric *f, uint32_t home, struct ways *w, uint32_t *queue)
{
	for (uint32_t s = 0; s < f->nswitches; s++)
		w->hops[s] = s == home ? 0 : WEFT_NONE, w->falls[s] = s == home;
	queue[0] = home;
	for (uint32_t i = 0, n = 1; i < n; i++)
		for (uint32_t l = f->link_first[queue[i]]; l < f->link_first[queue[i] + 1]; l++) {
			uint32_t at = queue[i], s = f->link_to[l];

			if (f->switch_fixed[s] || w->hops[s] <= w->hops[at] || !leads(f, w, s, at))
				continue;
			if (w->hops[s] == WEFT_NONE)
				w->hops[s] = w->hops[at] + 1, queue[n++] = s;
			w->falls[s] |= w->falls[at] && !climbs(f->switch_rank, s, at);
		}
}

static void fill(const struct weft_fabric *f, uint32_t s, uint32_t home, const struct ways *w,
		 uint64_t seed, uint8_t *row)
{
	uint8_t out[256];
	uint32_t n = 0;

	for (uint32_t l = f->link_first[s]; w->hops[s] + 1 && l < f->link_first[s + 1]; l++)
		if (w->hops[f->link_to[l]] + 1 == w->hops[s] && leads(f, w, s, f->link_to[l]))
			out[n++] = f->link_out[l];
	for (uint32_t lid = 1; lid <= f->top_lid; lid++) {
		/* By chance, and yet equal tables for equal input: a number that these make. */
		uint64_t x = (seed ^ ((uint64_t)s << 32 | lid)) * 0x9e3779b97f4a7c15u;

		if (f->lid_switch[lid] == home && (s == home || n))
			row[lid] = s == home ? f->lid_port[lid] : out[(x ^ x >> 29) % n];
	}
}

static int route(const struct weft_host *host, const struct weft_fabric *f, struct weft_result *r)
{
	uint32_t n = f->nswitches, *memory = (uint32_t *)malloc((n + 1) * 3 * sizeof(*memory));
	struct ways w = { memory, (uint8_t *)(memory + 2 * n) };
	uint64_t seed = host->number(host, "seed");

	for (uint32_t home = 0; home < n; home++) {
		find_ways(f, home, &w, memory + n);
		for (uint32_t s = 0; s < n; s++)
			fill(f, s, home, &w, seed, r->lft + (size_t)s * f->row_len);
	}
	free(memory);
	return WEFT_OK;
}

static const struct weft_option option = { sizeof(option), WEFT_OPTION_NUMBER, "seed", "1", 0,
	99, NULL, "Another number gives other tables." };
static const struct weft_engine engine = { sizeof(engine), 0, "trees", route };
WEFT_PLUGIN_EXPORT const struct weft_plugin weft_plugin = { WEFT_PLUGIN_ABI, sizeof(weft_plugin),
	"random-shortest", "1.0", "shortest ways, at random", &option, 1, &engine, NULL };
