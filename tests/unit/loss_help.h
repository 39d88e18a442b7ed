/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_LOSS_HELP_H
#define TESTS_LOSS_HELP_H

#include "qos/compose.h"
#include "routing/engine.h"
#include "tests/unit/route_help.h"

/* Engines with lanes, and what they make of random losses; cmocka.h must be included before. */

static inline uint64_t
help_mix(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	return z ^ z >> 31;
}

/* The plan of an engine for a snapshot, with the tables from service levels to lanes; NULL with `e`
 * if it is refused. */
static inline struct plan *
help_route_lmc(const struct fabric *f, const char *engine, const struct plan *previous,
	       uint8_t lmc, unsigned vls, struct error *e)
{
	const char *const names[] = { engine, NULL };
	struct compose_policy sls = { .levels = 1, .max_vls = vls, .previous = previous };
	struct chain_options o = {
		.engines = names, .compose = compose_chain, .compose_arg = &sls,
		.engine = { .threads = 2, .max_vls = vls, .lanes = vls },
	};
	struct plan *p = plan_new(f);

	p->lids = help_lids(f, lmc);
	if (engine_chain(p, NULL, previous, &o, e) == 0)
		return p;
	plan_unref(p);
	return NULL;
}

static inline struct plan *
help_route(const struct fabric *f, const char *engine, const struct plan *previous, unsigned vls,
	   struct error *e)
{
	return help_route_lmc(f, engine, previous, 0, vls, e);
}

/* Some links between switches are cut. */
static inline struct fabric *
help_cut_links(const struct fabric *f, unsigned n, uint64_t seed)
{
	bool *cut = mem_array(f->nports, sizeof(*cut));
	struct fabric *less;

	for (unsigned i = 0; i < n; i++) {
		uint32_t e = (uint32_t)(help_mix(&seed) % f->nedges), sw = 0;

		while (f->edge_first[sw + 1] <= e)
			sw++;
		cut[fabric_switch_node(f, sw)->first_port + f->edges[e].out] = true;
	}
	less = fabric_cut(f, cut, 0, f->generation + 1);
	mem_free(cut);
	return less;
}

/* How many of `n` random losses are refused; what is refused names the two switches. */
static inline unsigned
help_refusals(const char *recipe, const char *engine, const struct plan *whole, unsigned links,
	      bool less_one, unsigned n)
{
	const struct fabric *f = whole->fabric;
	unsigned refused = 0;

	for (uint64_t seed = 0; seed < n; seed++) {
		struct fabric *g = help_cut_links(f, links, seed);
		uint32_t gone = g->switches[seed * 7 % g->nswitches];
		struct fabric *h = less_one ? help_without(g, gone, FABRIC_NONE) : fabric_ref(g);
		struct error e = { 0 };
		struct plan *p = help_route(h, engine, whole, 8, &e);

		if (!p && !strstr(e.text, "there is no way from "))
			fail_msg("%s, %u links: %s", recipe, links, e.text);
		refused += !p;
		plan_unref(p);
		fabric_unref(h);
		fabric_unref(g);
	}
	return refused;
}

/* Losses of all sizes on each of the recipes (NULL at the end). Every plan was proved; some of the
 * larger losses may be refused. */
static inline void
help_losses(const char *engine, const char *const *recipes)
{
	static const struct {
		unsigned links;		/* lost */
		bool less_one;		/* and a switch */
		unsigned refused;	/* of 12 at most */
	} losses[] = { { 0, true, 0 }, { 1, false, 0 }, { 2, true, 0 }, { 5, false, 1 },
		       { 10, true, 2 } };

	for (; *recipes; recipes++) {
		struct fabric *f = help_generate(*recipes, true, 1);
		struct error e = { 0 };
		struct plan *whole = help_route(f, engine, NULL, 8, &e);

		if (!whole)
			fail_msg("%s: %s", *recipes, e.text);
		for (unsigned k = 0; k < sizeof(losses) / sizeof(losses[0]); k++) {
			unsigned refused = help_refusals(*recipes, engine, whole, losses[k].links,
							 losses[k].less_one, 12);

			if (refused > losses[k].refused)
				fail_msg("%s: %u of 12 refused with %u links lost", *recipes,
					 refused, losses[k].links);
		}
		plan_unref(whole);
		fabric_unref(f);
	}
}

#endif
