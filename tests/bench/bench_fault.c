/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "routing/check.h"
#include "routing/engine.h"
#include "sm/base/clock.h"
#include "tests/unit/tree_fault.h"

/*
 * Routes a fabric, loses cables between switches, routes again from there, and says what that took,
 * what it moved, and how good the tables are then; then all cables come back.
 *
 * usage: bench_fault [-t THREADS] [-c CABLES] [-x PPM] [-n SEEDS] [-l SHIFTS] [-qfas] RECIPE ENGINE
 *   -c so many cables, or -x so many of a million; -n as often, with seeds 1, 2 ...;
 *   -q quality too, over -l shifts; -f engine_options.full; -a without the previous plan;
 *   -s GUIDs shuffled
 */
struct bench {
	const char *engine;	/* its name */
	unsigned threads;	/* 0: one per core */
	unsigned cables;	/* to lose; 0: by ppm */
	unsigned ppm;		/* share of them to lose */
	unsigned seeds;		/* how often */
	unsigned shifts;	/* that quality is measured over */
	bool quality;		/* measure it */
	bool full;		/* route in full */
	bool anew;		/* without the previous plan */
	bool shuffle;		/* GUIDs */
};

static uint32_t
draw(uint64_t *seed, uint32_t below)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return (uint32_t)(*seed >> 11) % below;
}

static bool
is_trunk(const struct fabric *f, uint32_t port)
{
	const struct fabric_port *p = &f->ports[port];

	return p->peer != FABRIC_NONE && f->nodes[p->node].sw != FABRIC_NONE &&
		f->nodes[f->ports[p->peer].node].sw != FABRIC_NONE;
}

static unsigned
lose(const struct bench *b, struct tree_fault *t, uint64_t seed)
{
	const struct fabric *f = t->whole;
	unsigned want = b->cables ? b->cables :
		(unsigned)((uint64_t)f->nedges / 2 * b->ppm / 1000000), lost = 0;

	seed = seed * 0x9e3779b97f4a7c15u | 1;
	while (lost < want) {
		uint32_t port = draw(&seed, f->nports);

		if (!is_trunk(f, port) || t->out[port])
			continue;
		fault_cable(t, port, true);
		lost++;
	}
	return lost;
}

static struct plan *
route(const struct bench *b, struct tree_fault *t, const struct plan_lids *lids,
      const struct plan *previous)
{
	const char *const names[] = { b->engine, NULL };
	struct chain_options o = {
		.engines = names, .engine = { .threads = b->threads, .full = previous && b->full },
	};
	struct fabric *f = fault_fabric(t);
	struct plan *p = plan_new(f);
	struct error e = { 0 };

	p->lids = fault_lids(t, lids, f);
	if (engine_chain(p, NULL, b->anew ? NULL : previous, &o, &e)) {
		fprintf(stderr, "%s\n", e.text);
		exit(1);
	}
	fabric_unref(f);
	return p;
}

static void
print_moved(const struct plan *a, const struct plan *b)
{
	uint64_t entries = 0, hosts = 0, blocks = 0;
	uint32_t switches = 0;

	for (uint32_t sw = 0; sw < b->fabric->nswitches; sw++) {
		uint64_t before = entries, block_before = entries;

		for (uint32_t lid = 0; lid <= b->lids->top; lid++) {
			bool moved = a->rows[sw]->port[lid] != b->rows[sw]->port[lid];

			if (lid % LFT_BLOCK_LEN == 0)
				block_before = entries;
			blocks += moved && entries == block_before;
			entries += moved;
			hosts += moved && b->lids->dest[lid].out;
		}
		switches += entries != before;
	}
	printf("  moved: %llu entries (%llu of hosts) in %llu blocks of %u switches\n",
	       (unsigned long long)entries, (unsigned long long)hosts, (unsigned long long)blocks,
	       switches);
}

static void
print_plan(const struct bench *b, const char *when, const struct plan *p)
{
	struct check_input in = {
		.fabric = p->fabric, .lids = p->lids, .rows = p->rows, .threads = b->threads,
	};
	struct quality_report q;

	printf("%s: route %.2f ms, check %.2f ms, hops %u, %s\n", when,
	       (double)p->route_us / 1e3, (double)p->check_us / 1e3, p->check.max_hops, p->note);
	if (!b->quality)
		return;
	in.ranks = p->ranks;
	quality_measure(&in, 1, b->shifts, 51, &q);
	printf("  a2a %u, shift %u/%.2f, rp %u, ebb %.3f\n", q.a2a, q.shift_max, q.shift_mean,
	       q.rp_median, q.ebb);
}

/* What it takes to write so many tables, to compare with. */
static void
print_memset(const struct plan *p)
{
	uint32_t n = p->fabric->nswitches;
	struct plan_row **rows = mem_array(n, sizeof(*rows));
	monotime start;

	for (uint32_t sw = 0; sw < n; sw++)
		rows[sw] = plan_row_new(p->lids->top);
	start = clock_monotonic();
	for (uint32_t sw = 0; sw < n; sw++)
		memset(rows[sw]->port, (int)sw, rows[sw]->len);
	printf("memset over the tables: %.2f ms\n", (double)(clock_monotonic() - start) / 1e6);
	for (uint32_t sw = 0; sw < n; sw++)
		plan_row_unref(rows[sw]);
	mem_free(rows);
}

static void
run(const struct bench *b, const struct fabric *whole)
{
	struct plan_lids *lids = help_lids(whole, 0);
	struct tree_fault t;
	struct plan *first;

	fault_init(&t, whole);
	first = route(b, &t, lids, NULL);
	print_memset(first);
	print_plan(b, "whole", first);
	for (unsigned seed = 1; seed <= b->seeds; seed++) {
		struct plan *p, *back;
		unsigned lost = lose(b, &t, seed);

		p = route(b, &t, lids, first);
		printf("%u lost, seed %u\n", lost, seed);
		print_plan(b, "lost", p);
		print_moved(first, p);
		memset(t.out, 0, whole->nports * sizeof(*t.out));
		back = route(b, &t, lids, p);
		print_plan(b, "back", back);
		print_moved(first, back);
		plan_unref(p);
		plan_unref(back);
	}
	plan_unref(first);
	fault_free(&t);
	plan_lids_unref(lids);
}

int
main(int argc, char **argv)
{
	struct bench b = { .seeds = 1, .cables = 1, .shifts = 121 };
	struct fabric *f;
	int opt;

	while ((opt = getopt(argc, argv, "t:c:x:n:l:qfas")) != -1) {
		b.threads = opt == 't' ? (unsigned)atoi(optarg) : b.threads;
		b.cables = opt == 'c' ? (unsigned)atoi(optarg) : opt == 'x' ? 0 : b.cables;
		b.ppm = opt == 'x' ? (unsigned)atoi(optarg) : b.ppm;
		b.seeds = opt == 'n' ? (unsigned)atoi(optarg) : b.seeds;
		b.shifts = opt == 'l' ? (unsigned)atoi(optarg) : b.shifts;
		b.quality |= opt == 'q';
		b.full |= opt == 'f';
		b.anew |= opt == 'a';
		b.shuffle |= opt == 's';
	}
	if (argc - optind != 2) {
		fprintf(stderr, "usage: bench_fault [-t THREADS] [-c CABLES] [-x PPM] [-n SEEDS] "
			"[-l SHIFTS] [-qfas] RECIPE ENGINE\n");
		return 2;
	}
	b.engine = argv[optind + 1];
	f = help_generate(argv[optind], b.shuffle, 1);
	if (!f)
		return 1;
	run(&b, f);
	fabric_unref(f);
	return 0;
}
