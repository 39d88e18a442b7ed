/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_ENGINE_HELP_H
#define TESTS_ENGINE_HELP_H

#include "routing/engine.h"
#include "tests/unit/route_help.h"

/* A plan of one engine, proved; NULL with the refusal in `e`. */
static inline struct plan *
help_plan(const struct fabric *f, const char *engine, const struct plan *previous, uint8_t lmc,
	  unsigned threads, struct error *e)
{
	const char *const names[] = { engine, NULL };
	struct chain_options o = { .engines = names, .engine.threads = threads };
	struct plan *p = plan_new(f);

	p->lids = help_lids(f, lmc);
	if (engine_chain(p, NULL, previous, &o, e) == 0)
		return p;
	plan_unref(p);
	return NULL;
}

#endif
