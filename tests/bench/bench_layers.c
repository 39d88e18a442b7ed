/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include "tests/unit/engine_help.h"
#include "tests/unit/layers_help.h"

/*
 * What the LIDs of hosts by their LMC gain: links on the ways to each, how many ways of a pair of
 * switches share no link, and the load of the worst link where switches send to each other, to all
 * LIDs evenly and to the first alone.
 *
 * usage: bench_layers RECIPE ENGINE LMC LANES
 */
int
main(int argc, char **argv)
{
	struct help_layers m;
	struct error e = { 0 };
	struct fabric *f;
	struct plan *p;
	unsigned lmc;

	if (argc != 5)
		return 2;
	lmc = (unsigned)strtoul(argv[3], NULL, 10);
	f = help_generate(argv[1], true, 1);
	if (!f || lmc > 3)
		return 2;
	p = help_plan_lanes(f, argv[2], NULL, (uint8_t)lmc,
			    (unsigned)strtoul(argv[4], NULL, 10), &e);
	if (!p || !help_measure_layers(p, 1u << lmc, &m)) {
		fprintf(stderr, "%s\n", e.text);
		return 1;
	}
	printf("%s, %s, LMC %u, lanes %u: %.1f ms, proof %.1f ms; %s\n", argv[1], argv[2], lmc,
	       p->lanes ? p->lanes->lanes : 1u, (double)p->route_us / 1e3,
	       (double)p->check_us / 1e3, p->note);
	printf("  links");
	for (unsigned y = 0; y < m.layers; y++)
		printf(" %.2f", m.hops[y]);
	printf(", %u at most; ways apart %.2f, %u at least\n", m.longest, m.apart, m.least_apart);
	printf("  switch to switch: %.2f worst, %.2f mean; all, by shifts: %.2f worst, %.2f mean, "
	       "first LID alone %.2f, %.2f\n", m.pair_worst, m.pair_mean, m.shift_worst,
	       m.shift_mean, m.shift_one, m.shift_one_mean);
	plan_unref(p);
	fabric_unref(f);
	return 0;
}
