/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/fattree_impl.h"
#include <string.h>
#include "sm/base/mem.h"

/*
 * A switch whose links differ in rate. Digits would load them alike, so its table is filled by
 * counting: destinations, in order of their numbers, go where the load after the choice is least,
 * a link of a quarter of the rate being as full with a quarter of them. Equal loads leave the
 * choice to the number. Links below an eighth of the best rate carry nothing where there are
 * others: one transfer across such a link would hold up all that wait behind it.
 */
#define SLOW 8u			/* so many times slower than the best is left out */
#define LOAD_UNIT 64u		/* load of one destination on the fastest way */

/* Leave out links that are too slow. */
static void
drop_slow(const struct fattree *ft, struct fattree_ways *w)
{
	uint32_t best = 0, len = 0;

	for (uint32_t i = 0; i < w->len; i++)
		best = ft->s.rate[w->link[i]] > best ? ft->s.rate[w->link[i]] : best;
	for (uint32_t i = 0; i < w->len; i++)
		if (ft->s.rate[w->link[i]] >= best / SLOW)
			w->link[len++] = w->link[i];
	w->len = len;
}

/* The link with the least load; load[] is by link of the vertex. */
static uint32_t
pick(const struct fattree *ft, const struct fattree_ways *w, const uint64_t *load,
     const uint64_t *step, uint32_t first, uint32_t q)
{
	uint32_t best = w->link[q % w->len];

	for (uint32_t i = 1; i < w->len; i++) {
		uint32_t link = w->link[(q + i) % w->len];

		if (load[link - first] + step[link - first] <
		    load[best - first] + step[best - first])
			best = link;
	}
	(void)ft;
	return best;
}

void
fattree_fill_uneven(const struct fattree *ft, uint32_t v, uint8_t *port)
{
	const struct tree_numbers *n = ft->numbers;
	uint32_t first = ft->t->groups[ft->t->first[v]].link, home = FABRIC_NONE, fastest = 1;
	uint64_t load[UINT8_MAX + 1] = { 0 }, step[UINT8_MAX + 1] = { 0 };
	struct fattree_view live = fattree_live(ft);
	struct fattree_ways w = { 0 };

	for (uint32_t g = ft->t->first[v]; g < ft->t->first[v + 1]; g++)
		for (uint32_t i = 0; i < ft->t->groups[g].len; i++)
			if (ft->s.rate[ft->t->groups[g].link + i] > fastest)
				fastest = ft->s.rate[ft->t->groups[g].link + i];
	for (uint32_t g = ft->t->first[v]; g < ft->t->first[v + 1]; g++)
		for (uint32_t i = 0; i < ft->t->groups[g].len; i++) {
			uint32_t link = ft->t->groups[g].link + i;

			step[link - first] = (uint64_t)fastest * LOAD_UNIT /
				(ft->s.rate[link] ? ft->s.rate[link] : fastest);
		}
	memset(port, LFT_NO_PORT, ft->row_len);
	for (uint32_t i = 0; i < n->len; i++) {
		uint32_t lid = n->order[i], link;

		if (ft->s.vertex[ft->in->lids->dest[lid].sw] != home) {
			home = ft->s.vertex[ft->in->lids->dest[lid].sw];
			fattree_find_ways(ft, &live, v, home, &w);
			drop_slow(ft, &w);
		}
		if (home == v || !w.len)
			continue;
		link = pick(ft, &w, load, step, first, n->number[lid] / ft->t->divider[v]);
		load[link - first] += step[link - first];
		port[lid] = ft->t->out[link];
	}
	fattree_fill_own(ft, v, port);
}
