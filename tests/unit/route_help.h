/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_ROUTE_HELP_H
#define TESTS_ROUTE_HELP_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "routing/engine.h"
#include "sim/generate.h"
#include "sm/base/mem.h"
#include "sm/text/ibnet.h"

/* Fabrics and LIDs for the tests and the benchmark of routing. */

/* A snapshot of a recipe, "ft3 8" say; NULL with the reason on stderr. */
static inline struct fabric *
help_generate(const char *recipe, bool shuffle, uint64_t seed)
{
	char *copy = mem_strdup(recipe), *args[16], *save = NULL;
	struct generate_options o = { .shuffle_guids = shuffle, .seed = seed };
	struct ibnet *net = NULL;
	struct fabric *f = NULL;
	struct error e = { 0 };
	unsigned n = 0;

	for (char *w = strtok_r(copy, " ", &save); w && n < 16; w = strtok_r(NULL, " ", &save))
		args[n++] = w;
	if (generate(&net, args[0], n - 1, args + 1, &o, &e))
		fprintf(stderr, "%s: %s\n", recipe, e.text);
	else
		f = fabric_from_ibnet(net);
	ibnet_free(net);
	mem_free(copy);
	return f;
}

static inline struct fabric *
help_read(const char *path)
{
	struct ibnet *net = NULL;
	struct fabric *f = NULL;
	struct error e = { 0 };

	if (ibnet_read(&net, path, &e))
		fprintf(stderr, "%s\n", e.text);
	else
		f = fabric_from_ibnet(net);
	ibnet_free(net);
	return f;
}

/* The LIDs of the snapshot or, if it has none, new ones: hosts in order of (switch, port), each
 * with 2^lmc LIDs, then switches. */
static inline struct plan_lids *
help_lids(const struct fabric *f, uint8_t lmc)
{
	struct plan_lids *l = plan_lids_from_fabric(f);
	uint32_t lid = 1u << lmc;

	if (l->top)
		return l;
	for (uint32_t sw = 0; sw < f->nswitches; sw++)
		for (unsigned i = 1; i <= fabric_switch_node(f, sw)->nports; i++) {
			uint32_t peer = fabric_port_at(f, f->switches[sw], i)->peer;

			if (peer == FABRIC_NONE || f->nodes[f->ports[peer].node].sw != FABRIC_NONE)
				continue;
			l->base[peer] = (uint16_t)lid;
			l->lmc[peer] = lmc;
			lid += 1u << lmc;
		}
	for (uint32_t sw = 0; sw < f->nswitches; sw++)
		l->base[fabric_switch_node(f, sw)->first_port] = (uint16_t)lid++;
	plan_lids_index(l, f);
	return l;
}

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
