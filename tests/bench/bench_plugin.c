/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include "plugins/plugin.h"
#include "plugins/plugins.h"
#include "routing/engine.h"
#include "sm/base/clock.h"
#include "sm/base/parallel.h"
#include "tests/unit/route_help.h"

/*
 * What it costs that an engine of others runs in a process of its own: the same one
 * (tests/plugins/fill.c) called as a function, writing rows as an engine that is built in does, and
 * as a plugin.
 *
 * usage: bench_plugin [-t THREADS] [-r REPEATS] [-p SHARED-OBJECT] FILE|RECIPE
 */
struct bench {
	unsigned threads;
	unsigned repeats;
	const char *path;
	struct fabric *f;
	struct plan_lids *lids;
	struct engine_options options;
	struct engine_input in;
};

struct cost {
	double wall, cpu;		/* the least of all repeats, ms */
};

static double
cpu_ms(void)
{
	double ms = 0;

	for (int i = 0; i < 2; i++) {
		struct rusage u;

		getrusage(i ? RUSAGE_CHILDREN : RUSAGE_SELF, &u);
		ms += (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e3 +
			(double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e3;
	}
	return ms;
}

/* The fabric as the ABI has it: of what fill.c looks at. */
static void
flat(const struct bench *b, struct weft_fabric *f)
{
	uint32_t *home = mem_array(b->lids->top + 1u, sizeof(*home));
	uint8_t *port = mem_array(b->lids->top + 1u, 1), *out = mem_array(b->f->nedges, 1);

	for (uint32_t lid = 0; lid <= b->lids->top; lid++) {
		home[lid] = b->lids->dest[lid].sw;
		port[lid] = b->lids->dest[lid].out;
	}
	for (uint32_t l = 0; l < b->f->nedges; l++)
		out[l] = b->f->edges[l].out;
	*f = (struct weft_fabric){
		.size = sizeof(*f), .nswitches = b->f->nswitches, .nlinks = b->f->nedges,
		.top_lid = b->lids->top, .row_len = LFT_BLOCK_LEN, .link_first = b->f->edge_first,
		.link_out = out, .lid_switch = home, .lid_port = port,
	};
}

struct direct {
	const struct weft_fabric *f;
	struct plan_row **rows;
};

/* The engine of one switch at a time, so that it can write a row. */
static void
fill_rows(void *arg, unsigned thread, size_t first, size_t end)
{
	const struct direct *d = arg;

	(void)thread;
	for (size_t s = first; s < end; s++) {
		struct plan_row *row = plan_row_new((uint16_t)d->f->top_lid);
		uint32_t from = d->f->link_first[s], len = d->f->link_first[s + 1] - from;
		uint8_t *to = plan_row_entries(row);

		for (uint32_t lid = 1, i = 0; lid <= d->f->top_lid; lid++) {
			if (d->f->lid_switch[lid] == s)
				to[lid] = d->f->lid_port[lid];
			else if (len)
				to[lid] = d->f->link_out[from + i];
			i = i + 1 < len ? i + 1 : 0;
		}
		d->rows[s] = row;
	}
}

static void
run(const struct bench *b, const struct plugin *p, const struct weft_fabric *f, struct cost *c,
    struct plan_row **rows)
{
	struct engine_output out = { .rows = rows };
	struct direct d = { .f = f, .rows = rows };
	double wall = (double)clock_monotonic() / 1e6, cpu = cpu_ms();
	struct error e = { 0 };

	if (!p)
		parallel_run(1, f->nswitches, f->nswitches, fill_rows, &d);
	else if (plugin_engine(p)->route(&b->in, &out, &e)) {
		fprintf(stderr, "%s\n", e.text);
		exit(1);
	}
	wall = (double)clock_monotonic() / 1e6 - wall;
	cpu = cpu_ms() - cpu;
	if (c->wall <= 0 || wall < c->wall)
		c->wall = wall;
	if (c->cpu <= 0 || cpu < c->cpu)
		c->cpu = cpu;
}

static void
drop(struct plan_row **rows, uint32_t n)
{
	for (uint32_t s = 0; s < n; s++) {
		plan_row_unref(rows[s]);
		rows[s] = NULL;
	}
}

static void
compare(const struct bench *b, const struct plugin *p)
{
	uint32_t n = b->f->nswitches;
	struct plan_row **rows = mem_array(n, sizeof(*rows)), **own = mem_array(n, sizeof(*own));
	struct cost direct = { 0 }, isolated = { 0 };
	struct weft_fabric f;

	flat(b, &f);
	for (unsigned i = 0; i < b->repeats; i++) {
		drop(own, n);
		drop(rows, n);
		run(b, NULL, &f, &direct, own);
		run(b, p, &f, &isolated, rows);
	}
	for (uint32_t s = 0; s < n; s++)
		if (!plan_row_equal(rows[s], own[s])) {
			fprintf(stderr, "tables of switch %u differ\n", s);
			exit(1);
		}
	drop(own, n);
	drop(rows, n);
	printf("%u hosts, %u switches, top LID %u, %.0f MB of tables\n", b->f->ncas, n,
	       b->lids->top, (double)n * plan_row_len(b->lids->top) / 1e6);
	printf("called as a function  %7.1f ms, %7.1f ms of processor\n", direct.wall, direct.cpu);
	printf("in its own process    %7.1f ms, %7.1f ms of processor\n", isolated.wall,
	       isolated.cpu);
	printf("isolation             %7.1f ms, %7.1f ms of processor\n",
	       isolated.wall - direct.wall, isolated.cpu - direct.cpu);
	mem_free(rows);
	mem_free(own);
}

int
main(int argc, char **argv)
{
	struct bench b = { .repeats = 5, .path = "build/plugins/fill.so" };
	struct plugin_source source = { .limits = { .memory = 1u << 30, .time_ms = 60000 } };
	struct plugin *p;
	struct error e = { 0 };
	int c;

	while ((c = getopt(argc, argv, "t:r:p:")) != -1) {
		if (c == 't')
			b.threads = (unsigned)atoi(optarg);
		else if (c == 'r')
			b.repeats = (unsigned)atoi(optarg);
		else if (c == 'p')
			b.path = optarg;
		else
			return 2;
	}
	if (optind + 1 != argc)
		return 2;
	b.f = access(argv[optind], R_OK) ? help_generate(argv[optind], false, 1) :
	      help_read(argv[optind]);
	source.path = b.path;
	if (!b.f || plugin_load(&source, &p, &e)) {
		fprintf(stderr, "%s\n", e.text);
		return 1;
	}
	b.lids = help_lids(b.f, 0);
	b.options.threads = b.threads;
	b.in = (struct engine_input){ .fabric = b.f, .lids = b.lids, .options = &b.options,
				      .engine = plugin_engine(p) };
	compare(&b, p);
	plugin_unref(p);
	plan_lids_unref(b.lids);
	fabric_unref(b.f);
	return 0;
}
