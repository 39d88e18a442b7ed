/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "routing/adaptive.h"
#include "routing/engine.h"
#include "sm/base/clock.h"
#include "tests/unit/tree_fault.h"
#include "tests/unit/tree_help.h"

/*
 * What groups of adaptive routing, and their proof, cost beside routing and its proof: the whole
 * fabric, and the repair after each of some cables is lost. Processor time of one thread, the least
 * of the tries; "of full" is in parts of the full route with its groups.
 *
 * usage: bench_regroup RECIPE ENGINE [LOSSES [TRIES]]
 */
struct cost {
	double route;	/* seconds: engine and proof */
	double groups;	/* groups and theirs */
};

static void
fail(const char *text)
{
	fprintf(stderr, "%s\n", text);
	exit(1);
}

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void
make_groups(struct plan *p, const struct plan_adaptive *held)
{
	struct adaptive_ability *a = mem_array(p->fabric->nswitches, sizeof(*a));
	struct adaptive_input in = {
		.plan = p, .ability = a, .mode = AR_FREE, .sls = 0xffff, .recovery = true,
		.threads = 1, .held = held,
	};

	for (uint32_t i = 0; i < p->fabric->nswitches; i++)
		a[i] = (struct adaptive_ability){
			.able = true, .groups = 2048, .subs = 1, .tables = 1, .recovery = true,
		};
	p->adaptive = adaptive_make(&in);
	mem_free(a);
}

/* Route from what there was (NULL: nothing), with groups. The plan has the reference to `lids`. */
static struct plan *
route(const char *engine, struct fabric *f, struct plan_lids *lids, const struct plan *previous,
      struct cost *least)
{
	const char *const names[] = { engine, NULL };
	struct chain_options o = { .engines = names, .engine = { .threads = 1 } };
	struct plan *p = plan_new(f);
	struct error e = { 0 };
	double start = now(), routed;

	p->lids = lids;
	if (engine_chain(p, NULL, previous, &o, &e))
		fail(e.text);
	routed = now();
	make_groups(p, previous ? previous->adaptive : NULL);
	if (least->route <= 0 || routed - start < least->route)
		least->route = routed - start;
	if (least->groups <= 0 || now() - routed < least->groups)
		least->groups = now() - routed;
	return p;
}

static void
show(const char *what, const struct cost *c, const struct cost *full)
{
	printf("%-12s route and proof %9.4f s, groups and proof %9.4f s (%.0f %% more), "
	       "of full 1/%.1f\n", what, c->route, c->groups, 100 * c->groups / c->route,
	       (full->route + full->groups) / (c->route + c->groups));
	fflush(stdout);
}

/* A cable between switches: the at-th of n, spread over the fabric. */
static uint32_t
cable(const struct fabric *f, unsigned at, unsigned n)
{
	uint32_t e = (uint32_t)((uint64_t)f->nedges * (2 * at + 1) / (2 * n));
	uint32_t sw = 0;

	while (f->edge_first[sw + 1] <= e)
		sw++;
	return fabric_switch_node(f, sw)->first_port + f->edges[e].out;
}

int
main(int argc, char **argv)
{
	struct generate_options o = { 0 };
	struct error e = { 0 };
	struct cost full = { 0 };
	struct fabric *whole;
	struct tree_fault fault;
	struct plan *plan = NULL;
	struct plan_lids *lids;
	struct ibnet *net;
	unsigned losses, tries;

	if (argc < 3) {
		fprintf(stderr, "usage: bench_regroup RECIPE ENGINE [LOSSES [TRIES]]\n");
		return 2;
	}
	losses = argc > 3 ? (unsigned)atoi(argv[3]) : 3;
	tries = argc > 4 ? (unsigned)atoi(argv[4]) : 3;
	if (generate_words(&net, argv[1], &o, &e))
		fail(e.text);
	whole = fabric_from_ibnet(net);
	ibnet_free(net);
	lids = help_lids(whole, 0);
	for (unsigned i = 0; i < tries; i++) {
		plan_unref(plan);
		plan = route(argv[2], whole, plan_lids_ref(lids), NULL, &full);
	}
	printf("%s, %s: %u switches\n", argv[1], argv[2], whole->nswitches);
	show("full", &full, &full);
	fault_init(&fault, whole);
	for (unsigned k = 0; k < losses; k++) {
		uint32_t port = cable(whole, k, losses);
		struct cost c = { 0 };
		struct fabric *f;
		char what[24];

		fault_cable(&fault, port, true);
		f = fault_fabric(&fault);
		for (unsigned i = 0; i < tries; i++)
			plan_unref(route(argv[2], f, fault_lids(&fault, lids, f), plan, &c));
		snprintf(what, sizeof(what), "cable %u", k + 1);
		show(what, &c, &full);
		fabric_unref(f);
		fault_cable(&fault, port, false);
	}
	fault_free(&fault);
	plan_unref(plan);
	plan_lids_unref(lids);
	fabric_unref(whole);
	return 0;
}
