/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include "routing/check.h"
#include "routing/engine.h"
#include "sm/base/clock.h"
#include "tests/unit/tree_fault.h"

/*
 * Routes a fabric, loses cables between switches, routes again from there, and says what that took,
 * what it moved, and how good the tables are then; then all cables come back.
 *
 * usage: bench_fault [OPTIONS] RECIPE ENGINE
 *   -c so many cables, or -x so many of a million; -k only those of leaves;
 *   -n as often, with seeds 1, 2 ...; -r route the whole fabric as often;
 *   -q quality too, over -l shifts; -f engine_options.full; -a without the previous plan;
 *   -s GUIDs shuffled; -t threads
 *
 * trees.py and faults.py read what it prints.
 */
struct bench {
	const char *engine;	/* its name */
	unsigned threads;	/* 0: one per core */
	unsigned cables;	/* to lose; 0: by ppm */
	unsigned ppm;		/* share of them to lose */
	unsigned seeds;		/* how often */
	unsigned repeats;	/* of routing the whole fabric */
	unsigned shifts;	/* that quality is measured over */
	bool quality;		/* measure it */
	bool full;		/* route in full */
	bool anew;		/* without the previous plan */
	bool shuffle;		/* GUIDs */
	bool leaves;		/* lose only cables of leaves */
};

static double
cpu_ms(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e3 +
		(double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e3;
}

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

static bool
has_host(const struct fabric *f, uint32_t node)
{
	for (unsigned i = 1; i <= f->nodes[node].nports; i++) {
		uint32_t peer = fabric_port_at(f, node, i)->peer;

		if (peer != FABRIC_NONE && f->nodes[f->ports[peer].node].sw == FABRIC_NONE)
			return true;
	}
	return false;
}

static bool
may_lose(const struct bench *b, const struct fabric *f, uint32_t port)
{
	return is_trunk(f, port) && (!b->leaves || has_host(f, f->ports[port].node));
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

		if (t->out[port] || !may_lose(b, f, port))
			continue;
		fault_cable(t, port, true);
		lost++;
	}
	return lost;
}

/* What took the processors *cpu milliseconds. */
static struct plan *
route(const struct bench *b, struct tree_fault *t, const struct plan_lids *lids,
      const struct plan *previous, double *cpu)
{
	const char *const names[] = { b->engine, NULL };
	struct chain_options o = {
		.engines = names, .engine = { .threads = b->threads, .full = previous && b->full },
	};
	struct fabric *f = fault_fabric(t);
	struct plan *p = plan_new(f);
	struct error e = { 0 };

	p->lids = fault_lids(t, lids, f);
	*cpu = cpu_ms();
	if (engine_chain(p, NULL, b->anew ? NULL : previous, &o, &e)) {
		fprintf(stderr, "%s\n", e.text);
		exit(1);
	}
	*cpu = cpu_ms() - *cpu;
	fabric_unref(f);
	return p;
}

/* What differs between two plans; hosts' LIDs apart, for the published figures have only these. */
struct moved {
	uint64_t entries;	/* table entries */
	uint64_t hosts;		/* of which are of hosts */
	uint64_t blocks;	/* that some of them are in */
	uint64_t host_blocks;	/* that one of a host is in */
	uint32_t switches;	/* that have any */
};

static void
count_block(const struct plan *a, const struct plan *b, uint32_t sw, uint32_t lid, struct moved *m)
{
	uint32_t end = lid + LFT_BLOCK_LEN, entries = 0, hosts = 0;

	for (; lid < end && lid <= b->lids->top; lid++) {
		bool moved = plan_row_port(a->rows[sw], lid) != plan_row_port(b->rows[sw], lid);

		entries += moved;
		hosts += moved && b->lids->dest[lid].out;
	}
	m->entries += entries;
	m->hosts += hosts;
	m->blocks += entries > 0;
	m->host_blocks += hosts > 0;
}

static void
print_moved(const struct plan *a, const struct plan *b)
{
	struct moved m = { 0 };

	for (uint32_t sw = 0; sw < b->fabric->nswitches; sw++) {
		uint64_t before = m.entries;

		for (uint32_t at = plan_row_differs(a->rows[sw], b->rows[sw], 0);
		     at < plan_row_blocks(b->rows[sw]);
		     at = plan_row_differs(a->rows[sw], b->rows[sw], at + 1))
			count_block(a, b, sw, at * LFT_BLOCK_LEN, &m);
		m.switches += m.entries != before;
	}
	printf("  moved: %llu entries (%llu of hosts) in %llu blocks (%llu of hosts) of %u "
	       "switches\n", (unsigned long long)m.entries, (unsigned long long)m.hosts,
	       (unsigned long long)m.blocks, (unsigned long long)m.host_blocks, m.switches);
}

static void
print_plan(const struct bench *b, const char *when, const struct plan *p, double cpu)
{
	const struct plan_check *c = &p->check;
	struct check_input in = {
		.fabric = p->fabric, .lids = p->lids, .rows = p->rows, .threads = b->threads,
	};
	struct quality_report q;

	printf("%s: route %.2f ms, check %.2f ms, cpu %.2f ms, hops %u, %s\n", when,
	       (double)p->route_us / 1e3, (double)p->check_us / 1e3, cpu, c->max_hops, p->note);
	printf("  pairs %llu, unreachable %llu, cut off %llu, credit loops %u\n",
	       (unsigned long long)c->pairs, (unsigned long long)c->unreachable,
	       (unsigned long long)c->cut_off, c->credit_loops);
	if (!b->quality)
		return;
	in.ranks = p->ranks;
	quality_measure(&in, 1, b->shifts, 51, &q);
	printf("  a2a %u, shift %u/%.2f, rp %u, ebb %.3f\n", q.a2a, q.shift_max, q.shift_mean,
	       q.rp_median, q.ebb);
}

static int
compare_times(const void *a, const void *b)
{
	const monotime *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* What it takes to write so many tables, to compare with: the median of some. */
static void
print_memset(const struct plan *p)
{
	uint32_t n = p->fabric->nswitches;
	struct plan_row **rows = mem_array(n, sizeof(*rows));
	monotime took[5];

	for (uint32_t sw = 0; sw < n; sw++)
		rows[sw] = plan_row_new(p->lids->top);
	for (int i = 0; i < 5; i++) {
		monotime start = clock_monotonic();

		for (uint32_t sw = 0; sw < n; sw++)
			memset(plan_row_entries(rows[sw]), i, rows[sw]->len);
		took[i] = clock_monotonic() - start;
	}
	qsort(took, 5, sizeof(*took), compare_times);
	printf("memset over the tables: %.3f ms\n", (double)took[2] / 1e6);
	for (uint32_t sw = 0; sw < n; sw++)
		plan_row_unref(rows[sw]);
	mem_free(rows);
}

static struct plan *
run_whole(const struct bench *b, struct tree_fault *t, const struct plan_lids *lids)
{
	struct plan *p = NULL;

	for (unsigned i = 0; i < b->repeats; i++) {
		double cpu;

		plan_unref(p);
		p = route(b, t, lids, NULL, &cpu);
		print_plan(b, "whole", p, cpu);
	}
	return p;
}

/* Lose cables after `first`, and have them back. */
static void
run_fault(const struct bench *b, struct tree_fault *t, const struct plan_lids *lids,
	  const struct plan *first, unsigned seed)
{
	struct plan *p, *back;
	unsigned lost = lose(b, t, seed);
	double cpu;

	p = route(b, t, lids, first, &cpu);
	printf("%u lost, seed %u\n", lost, seed);
	print_plan(b, "lost", p, cpu);
	print_moved(first, p);
	memset(t->out, 0, t->whole->nports * sizeof(*t->out));
	back = route(b, t, lids, p, &cpu);
	print_plan(b, "back", back, cpu);
	print_moved(first, back);
	plan_unref(p);
	plan_unref(back);
}

static void
run(const struct bench *b, const struct fabric *whole)
{
	struct plan_lids *lids = help_lids(whole, 0);
	struct tree_fault t;
	struct plan *first;

	fault_init(&t, whole);
	first = run_whole(b, &t, lids);
	print_memset(first);
	for (unsigned seed = 1; seed <= b->seeds; seed++)
		run_fault(b, &t, lids, first, seed);
	plan_unref(first);
	fault_free(&t);
	plan_lids_unref(lids);
}

int
main(int argc, char **argv)
{
	struct bench b = { .seeds = 1, .repeats = 1, .cables = 1, .shifts = 121 };
	struct fabric *f;
	int opt;

	while ((opt = getopt(argc, argv, "t:c:x:n:r:l:qfask")) != -1) {
		b.threads = opt == 't' ? (unsigned)atoi(optarg) : b.threads;
		b.cables = opt == 'c' ? (unsigned)atoi(optarg) : opt == 'x' ? 0 : b.cables;
		b.ppm = opt == 'x' ? (unsigned)atoi(optarg) : b.ppm;
		b.seeds = opt == 'n' ? (unsigned)atoi(optarg) : b.seeds;
		b.repeats = opt == 'r' ? (unsigned)atoi(optarg) : b.repeats;
		b.shifts = opt == 'l' ? (unsigned)atoi(optarg) : b.shifts;
		b.quality |= opt == 'q';
		b.full |= opt == 'f';
		b.anew |= opt == 'a';
		b.shuffle |= opt == 's';
		b.leaves |= opt == 'k';
	}
	if (argc - optind != 2 || b.repeats == 0) {
		fprintf(stderr, "usage: bench_fault [-t THREADS] [-c CABLES] [-x PPM] [-n SEEDS] "
			"[-r REPEATS] [-l SHIFTS] [-qfask] RECIPE ENGINE\n");
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
