/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_ENGINE_HELP_H
#define TESTS_ENGINE_HELP_H

#include "routing/engine.h"
#include "tests/unit/route_help.h"

static inline struct plan *
help_plan_with(const struct fabric *f, const char *engine, const struct plan *previous,
	       uint8_t lmc, const struct engine_options *options, struct error *e)
{
	const char *const names[] = { engine, NULL };
	struct chain_options o = { .engines = names, .engine = *options };
	struct plan *p = plan_new(f);

	p->lids = help_lids(f, lmc);
	if (engine_chain(p, NULL, previous, &o, e) == 0)
		return p;
	plan_unref(p);
	return NULL;
}

/* A plan of one engine, proved; NULL with the refusal in `e`. */
static inline struct plan *
help_plan(const struct fabric *f, const char *engine, const struct plan *previous, uint8_t lmc,
	  unsigned threads, struct error *e)
{
	return help_plan_with(f, engine, previous, lmc,
			      &(struct engine_options){ .threads = threads }, e);
}

/* The same with so many lanes at most. */
static inline struct plan *
help_plan_lanes(const struct fabric *f, const char *engine, const struct plan *previous,
		uint8_t lmc, unsigned lanes, struct error *e)
{
	return help_plan_with(f, engine, previous, lmc,
			      &(struct engine_options){ .threads = 2, .max_vls = lanes,
							.lanes = lanes }, e);
}

/* Two switches, LIDs 1 and 2 on ports 1 and 2 of the first, 3 and 4 on those of the second; cables
 * between ports 3 (100 Gbit/s) and between ports 4. */
static inline struct fabric *
help_two(uint32_t second_mbps, struct plan_lids **lids)
{
	struct fabric_builder *b = fabric_builder_new();
	uint32_t s = help_switch(b, 1, 4, "s"), t = help_switch(b, 2, 4, "t");
	struct fabric *f;

	help_cable(b, s, 3, t, 3, 100000);
	help_cable(b, s, 4, t, 4, second_mbps);
	help_host(b, 0x10, "h1", s, 1);
	help_host(b, 0x20, "h2", s, 2);
	help_host(b, 0x30, "h3", t, 1);
	help_host(b, 0x40, "h4", t, 2);
	f = fabric_build(b, 1);
	*lids = plan_lids_new(f);
	for (uint16_t i = 1; i <= 4; i++)
		(*lids)->base[fabric_port_by_guid(f, 0x10u * i + 1)] = i;
	plan_lids_index(*lids, f);
	return f;
}

#endif
