/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/fattree_impl.h"
#include "routing/balance.h"
#include "sm/base/mem.h"

/*
 * Silent switches forward by the tables that they hold. Mostly these are ours, and agree with what
 * would be chosen today, or lead another of the ways that are as short: then nothing needs to be
 * done. The LIDs for which they do not are routed by up*-down* trees that go around them or through
 * them as they are, and spread by load.
 */

/* Is the port by which a silent switch sends to a home one of its ways there? */
static bool
leads_on(const struct fattree *ft, const struct fattree_ways *w, uint8_t out)
{
	for (uint32_t i = 0; i < w->len; i++)
		if (ft->t->out[w->link[i]] == out)
			return true;
	return false;
}

/* Mark LIDs that the silent vertex sends elsewhere; returns how many. */
static uint32_t
mark_odd(const struct fattree *ft, uint32_t v, const struct plan_row *fixed, uint8_t *odd)
{
	struct fattree_view live = fattree_live(ft);
	const struct tree_numbers *n = ft->numbers;
	struct fattree_ways w;
	uint32_t marked = 0;

	for (uint32_t home = 0; home < ft->t->n; home++) {
		if (n->first[home] == n->first[home + 1])
			continue;
		fattree_find_ways(ft, &live, v, home, &w);
		for (uint32_t i = n->first[home]; i < n->first[home + 1]; i++)
			for (uint32_t k = 0; k < n->runs[i].len; k++) {
				uint32_t lid = n->runs[i].lid + k;
				uint8_t out = plan_row_port(fixed, lid);
				bool good = home == v ? out == ft->in->lids->dest[lid].out :
					leads_on(ft, &w, out);

				marked += !good && !odd[lid];
				odd[lid] |= !good;
			}
	}
	return marked;
}

static void
forget(const struct fattree *ft, struct engine_output *out, const uint8_t *odd)
{
	for (uint32_t sw = 0; sw < ft->in->fabric->nswitches; sw++)
		for (uint32_t lid = 1; out->rows[sw] && lid <= ft->in->lids->top; lid++)
			if (odd[lid])
				plan_row_set(&out->rows[sw], lid, LFT_NO_PORT);
}

void
fattree_heed_silent(const struct fattree *ft, struct engine_output *out, const struct ranks *r)
{
	const struct balance_trees trees = {
		.hosts = ranks_tree, .hosts_arg = r, .switches = ranks_tree, .switches_arg = r,
	};
	uint8_t *odd = mem_array(ft->in->lids->top + 1u, 1);
	uint32_t n = 0;

	for (uint32_t sw = 0; ft->in->fixed && sw < ft->in->fabric->nswitches; sw++)
		if (ft->in->fixed[sw])
			n += mark_odd(ft, ft->s.vertex[sw], ft->in->fixed[sw], odd);
	if (n) {
		forget(ft, out, odd);
		balance_lids(ft->in, out, &trees, odd);
	}
	mem_free(odd);
}
