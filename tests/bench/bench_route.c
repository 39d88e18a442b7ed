/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include "routing/check.h"
#include "routing/engine.h"
#include "sm/base/clock.h"
#include "tests/unit/route_help.h"

/*
 * Routes a fabric and says what it took.
 *
 * usage: bench_route [-t THREADS] [-r REPEATS] [-l LMC] [-qsd] FILE|RECIPE ENGINE...
 *   -q quality too, -s GUIDs shuffled, -d print the tables
 */
struct bench {
	unsigned threads;	/* for engines and proof; 0: one per core */
	unsigned repeats;	/* the best one counts */
	uint8_t lmc;		/* of hosts' ports */
	bool quality;		/* measure it */
	bool shuffle;		/* GUIDs */
	bool dump;		/* print all entries */
};

/* Processor time of all threads: other work on the machine disturbs it less than the clock. */
static double
cpu_ms(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e3 +
		(double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e3;
}

static long
peak_rss_kb(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return u.ru_maxrss;
}

/* One line a switch and LID, for a judge of another make. */
static void
dump(const struct fabric *f, const struct plan_lids *lids, struct plan_row *const *rows)
{
	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		printf("Unicast lids [0x0-0x%x] of switch Lid %u guid 0x%016llx (x):\n", lids->top,
		       lids->base[fabric_switch_node(f, sw)->first_port],
		       (unsigned long long)fabric_switch_node(f, sw)->guid);
		for (uint32_t lid = 1; lid <= lids->top; lid++)
			if (plan_row_port(rows[sw], lid) != LFT_NO_PORT)
				printf("0x%04x %03u : (x)\n", lid, rows[sw]->port[lid]);
	}
}

static void
run(const struct bench *b, const struct fabric *f, const struct engine *engine)
{
	struct engine_options o = { .threads = b->threads };
	struct plan_lids *lids = help_lids(f, b->lmc);
	struct plan_check c = { 0 };
	monotime route = MONOTIME_NEVER, check = MONOTIME_NEVER;
	double route_cpu = 1e9, check_cpu = 1e9, c0, c1;

	for (unsigned i = 0; i < b->repeats; i++) {
		struct engine_input in = { .fabric = f, .lids = lids, .options = &o };
		struct engine_output out = {
			.rows = mem_array(f->nswitches, sizeof(struct plan_row *)),
		};
		struct check_input ci = { .fabric = f, .lids = lids, .rows = out.rows,
					  .threads = b->threads };
		struct error e = { 0 };
		monotime t0 = clock_monotonic(), t1, t2;

		c0 = cpu_ms();
		if (engine->route(&in, &out, &e)) {
			printf("%s: %s\n", engine->name, e.text);
			return;
		}
		t1 = clock_monotonic();
		c1 = cpu_ms();
		route_cpu = c1 - c0 < route_cpu ? c1 - c0 : route_cpu;
		check_routing(&ci, &c);
		t2 = clock_monotonic();
		c0 = cpu_ms();
		check_cpu = c0 - c1 < check_cpu ? c0 - c1 : check_cpu;
		route = t1 - t0 < route ? t1 - t0 : route;
		check = t2 - t1 < check ? t2 - t1 : check;
		if (i + 1 == b->repeats) {
			printf("%s: %u switches, top LID %u, route %.1f ms (cpu %.0f), "
			       "check %.1f ms (cpu %.0f), peak %ld kB, %s\n",
			       engine->name, f->nswitches, lids->top, (double)route / 1e6, route_cpu,
			       (double)check / 1e6, check_cpu, peak_rss_kb(), out.note);
			printf("%s: pairs %llu, unreachable %llu, cut off %llu, loops %llu, holes %llu, "
			       "misdelivered %llu, credit loop %u, hops %u/%.3f %s\n", engine->name,
			       (unsigned long long)c.pairs, (unsigned long long)c.unreachable,
			       (unsigned long long)c.cut_off, (unsigned long long)c.loops,
			       (unsigned long long)c.holes, (unsigned long long)c.misdelivered,
			       c.credit_loops, c.max_hops, c.mean_hops, c.first);
			if (b->dump)
				dump(f, lids, out.rows);
			if (b->quality) {
				struct quality_report q;

				t0 = clock_monotonic();
				quality_measure(&ci, 1, f->ncas > 2000 ? 200 : 0, 101, &q);
				printf("%s: shift %u/%.3f (%u), a2a %u, rp %u, ebb %.3f, %.0f ms\n",
				       engine->name, q.shift_max, q.shift_mean, q.shifts, q.a2a,
				       q.rp_median, q.ebb, (double)(clock_monotonic() - t0) / 1e6);
			}
		}
		for (uint32_t sw = 0; sw < f->nswitches; sw++)
			plan_row_unref(out.rows[sw]);
		mem_free(out.rows);
		mem_free(out.ranks);
	}
	plan_lids_unref(lids);
}

int
main(int argc, char **argv)
{
	struct bench b = { .repeats = 1 };
	struct fabric *f;
	int opt;

	while ((opt = getopt(argc, argv, "t:r:l:qsd")) != -1) {
		b.threads = opt == 't' ? (unsigned)atoi(optarg) : b.threads;
		b.repeats = opt == 'r' ? (unsigned)atoi(optarg) : b.repeats;
		b.lmc = opt == 'l' ? (uint8_t)atoi(optarg) : b.lmc;
		b.quality |= opt == 'q';
		b.shuffle |= opt == 's';
		b.dump |= opt == 'd';
	}
	if (argc - optind < 2 || b.repeats == 0) {
		fprintf(stderr, "usage: bench_route [-t THREADS] [-r REPEATS] [-l LMC] [-qsd] "
			"FILE|RECIPE ENGINE...\n");
		return 2;
	}
	if (access(argv[optind], R_OK) == 0)
		f = help_read(argv[optind]);
	else
		f = help_generate(argv[optind], b.shuffle, 1);
	if (!f)
		return 1;
	for (int i = optind + 1; i < argc; i++) {
		const struct engine *e = engine_find(argv[i]);

		if (e)
			run(&b, f, e);
		else
			fprintf(stderr, "no engine %s\n", argv[i]);
	}
	fabric_unref(f);
	return 0;
}
