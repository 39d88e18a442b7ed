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
				printf("0x%04x %03u : (x)\n", lid, plan_row_port(rows[sw], lid));
	}
}

struct result {
	struct plan_check check;	/* of the last repeat */
	double route_ms;		/* least of all repeats */
	double route_cpu;
	double check_ms;
	double check_cpu;
};

static void
keep_least(double *least, double value)
{
	if (*least == 0 || value < *least)
		*least = value;
}

static void
print_result(const struct engine *engine, const struct check_input *in, const char *note,
	     const struct result *r)
{
	const struct plan_check *c = &r->check;

	printf("%s: %u switches, top LID %u, route %.1f ms (cpu %.0f), check %.1f ms (cpu %.0f), "
	       "peak %ld kB, %s\n", engine->name, in->fabric->nswitches, in->lids->top, r->route_ms,
	       r->route_cpu, r->check_ms, r->check_cpu, peak_rss_kb(), note);
	printf("%s: pairs %llu, unreachable %llu, cut off %llu, loops %llu, holes %llu, "
	       "misdelivered %llu, credit loop %u, hops %u/%.3f %s\n", engine->name,
	       (unsigned long long)c->pairs, (unsigned long long)c->unreachable,
	       (unsigned long long)c->cut_off, (unsigned long long)c->loops,
	       (unsigned long long)c->holes, (unsigned long long)c->misdelivered,
	       c->credit_loops, c->max_hops, c->mean_hops, c->first);
}

static void
print_level(uint32_t i, const struct quality_level *l)
{
	printf("  level %u: %u switches, cut %.3f of %.3f, up %u: load %.2f/%.2f, shift %u, "
	       "entries %u/%.0f, down %u: load %.2f/%.2f, shift %u, entries %u/%.0f, flat %u\n", i,
	       l->switches, l->now, l->design, l->up.links, l->up.load_max, l->up.load_mean,
	       l->up.shift_max, l->up.entries_max, l->up.entries_mean, l->down.links,
	       l->down.load_max, l->down.load_mean, l->down.shift_max, l->down.entries_max,
	       l->down.entries_mean, l->flat.links);
}

static void
print_quality(const struct engine *engine, const struct check_input *in)
{
	monotime start = clock_monotonic();
	struct quality_report q;

	quality_measure(in, 1, in->fabric->ncas > 2000 ? 200 : 0, 101, &q);
	printf("%s: shift %u/%.3f (%u), a2a %u, rp %u, ebb %.3f, %.0f ms\n", engine->name,
	       q.shift_max, q.shift_mean, q.shifts, q.a2a, q.rp_median, q.ebb,
	       (double)(clock_monotonic() - start) / 1e6);
	printf("%s: worst load by design %.2f, by faults %.2f, by routing %.2f; %u of %u links "
	       "unused\n", engine->name, q.by_design, q.by_faults, q.by_routing, q.links.unused,
	       q.links.links);
	for (uint32_t i = 0; i < q.nlevels; i++)
		print_level(i, &q.level[i]);
}

/* Route and prove once; false if the engine refuses. */
static bool
run_once(const struct engine *engine, const struct engine_input *in, struct engine_output *out,
	 const struct check_input *check, struct result *r)
{
	monotime start = clock_monotonic(), routed;
	double cpu = cpu_ms(), routed_cpu;
	struct check_input proved = *check;
	struct error e = { 0 };

	if (engine->route(in, out, &e)) {
		printf("%s: %s\n", engine->name, e.text);
		return false;
	}
	routed = clock_monotonic();
	routed_cpu = cpu_ms();
	proved.ranks = out->ranks;
	proved.lanes = out->lanes;
	check_routing(&proved, &r->check);
	keep_least(&r->route_ms, (double)(routed - start) / 1e6);
	keep_least(&r->route_cpu, routed_cpu - cpu);
	keep_least(&r->check_ms, (double)(clock_monotonic() - routed) / 1e6);
	keep_least(&r->check_cpu, cpu_ms() - routed_cpu);
	return true;
}

static void
run(const struct bench *b, const struct fabric *f, const struct engine *engine)
{
	struct plan_row **rows = mem_array(f->nswitches, sizeof(*rows));
	struct plan_lids *lids = help_lids(f, b->lmc);
	struct engine_options o = { .threads = b->threads };
	struct engine_input in = { .fabric = f, .lids = lids, .options = &o };
	struct check_input check = { .fabric = f, .lids = lids, .rows = rows,
				     .threads = b->threads };
	struct result r = { 0 };

	for (unsigned left = b->repeats; left > 0; left--) {
		struct engine_output out = { .rows = rows };
		bool done = run_once(engine, &in, &out, &check, &r);

		if (done && left == 1) {
			print_result(engine, &check, out.note, &r);
			if (b->quality)
				print_quality(engine, &check);
			if (b->dump)
				dump(f, lids, rows);
		}
		for (uint32_t sw = 0; sw < f->nswitches; sw++) {
			plan_row_unref(rows[sw]);
			rows[sw] = NULL;
		}
		mem_free(out.ranks);
		plan_memo_unref(out.memo);
		plan_roots_unref(out.roots);
		plan_lanes_unref(out.lanes);
	}
	mem_free(rows);
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

		if (e && e->route)
			run(&b, f, e);
		else
			fprintf(stderr, "no engine %s that routes\n", argv[i]);
	}
	fabric_unref(f);
	return 0;
}
