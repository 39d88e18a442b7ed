/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include "routing/check.h"
#include "tests/unit/engine_help.h"

/*
 * Quality of trees, whose figures follow from how they are built; and of any tables, against a
 * count that walks each pair of hosts by itself.
 */
static uint64_t seed;

static uint32_t
any(uint32_t below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(seed >> 33) % below;
}

static void
assert_near(double a, double b)
{
	if (a - b > 1e-9 || b - a > 1e-9)
		fail_msg("%f is not %f", a, b);
}

static void
measure(const struct plan *p, unsigned threads, struct quality_report *q)
{
	struct check_input in = {
		.fabric = p->fabric, .lids = p->lids, .rows = p->rows, .threads = threads,
	};

	quality_measure(&in, 1, 0, 20, q);
}

static void
measure_fabric(const struct fabric *f, struct quality_report *q)
{
	struct error e = { 0 };
	struct plan *p = help_plan(f, "fattree", NULL, 0, 1, &e);

	assert_non_null(p);
	measure(p, 1, q);
	plan_unref(p);
}

/* 6 leaves of 4 hosts below 4 spines: all is 1. */
static void
test_full_tree(void **state)
{
	struct fabric *f = help_generate("ft2 6 4 4", true, 5);
	struct quality_report q;
	uint32_t sum = 0;

	(void)state;
	measure_fabric(f, &q);
	assert_int_equal(q.nlevels, 2);
	assert_int_equal(q.level[0].switches, 6);
	assert_int_equal(q.level[1].switches, 4);
	assert_int_equal(q.links.links, 48);
	assert_int_equal(q.level[0].up.links, 24);
	assert_int_equal(q.level[0].down.links, 24);
	assert_int_equal(q.level[0].flat.links + q.level[1].up.links + q.level[1].down.links, 0);
	/* A leaf's 4 hosts send to 20 of 23 others, over 4 links; as much comes down. */
	assert_near(q.level[0].up.load_mean, 20.0 / 23);
	assert_near(q.level[0].up.load_max, 20.0 / 23);
	assert_near(q.level[0].down.load_mean, 20.0 / 23);
	assert_near(q.links.load_mean, 20.0 / 23);
	/* 20 hosts, 5 leaves and 4 spines are reached over 4 links. */
	assert_near(q.level[0].up.entries_mean, 29.0 / 4);
	assert_int_equal(q.links.unused, 0);
	assert_int_equal(q.level[0].up.shift_max, 1);
	assert_int_equal(q.shift_max, 1);
	assert_near(q.shift_rated, 1);
	assert_near(q.level[0].design, 1);
	assert_near(q.level[0].now, 1);
	assert_near(q.level[1].now, 0);
	assert_near(q.by_design, 1);
	assert_near(q.by_faults, 1);
	assert_near(q.by_routing, 1);
	for (unsigned i = 0; i < QUALITY_BINS; i++)
		sum += q.histogram[i];
	assert_int_equal(sum, 48);
	assert_int_equal(q.histogram[3], 48);	/* 0.75 .. 1 */
	fabric_unref(f);
}

/* 6 leaves of 4 hosts below 2 spines: as it was built, no more is to be had. */
static void
test_slim_tree(void **state)
{
	struct fabric *f = help_generate("ft2 6 2 4", true, 5);
	struct quality_report q;

	(void)state;
	measure_fabric(f, &q);
	assert_near(q.level[0].design, 2);
	assert_near(q.level[0].now, 2);
	assert_near(q.by_design, 2);
	assert_near(q.by_faults, 1);
	assert_int_equal(q.shift_max, 2);
	assert_near(q.by_routing, 1);
	assert_near(q.level[0].up.load_mean, 40.0 / 23);
	fabric_unref(f);
}

/* The first `n` cables up of the first leaf, or all of the first spine. */
static struct fabric *
lose_as(const struct fabric *f, bool leaf, unsigned n, uint8_t flags)
{
	bool *cut = mem_array(f->nports, sizeof(*cut));
	struct fabric *g;
	uint32_t sw = 0;

	while (leaf != (fabric_switch_node(f, sw)->name[0] == 'L'))
		sw++;
	for (uint32_t e = f->edge_first[sw]; e < f->edge_first[sw + 1] && n > 0; e++, n--)
		cut[fabric_switch_node(f, sw)->first_port + f->edges[e].out] = true;
	g = fabric_cut(f, cut, flags, 2);
	mem_free(cut);
	return g;
}

static struct fabric *
lose(const struct fabric *f, bool leaf, unsigned n)
{
	return lose_as(f, leaf, n, 0);
}

/* What is drained is no fault; of what is lost besides, each has its share. */
static void
test_drains(void **state)
{
	struct fabric *f = help_generate("ft2 6 4 4", true, 5), *g, *h;
	struct quality_report q;

	(void)state;
	g = lose_as(f, true, 1, FABRIC_PORT_DRAINED);
	measure_fabric(g, &q);
	assert_near(q.level[0].design, 1);
	assert_near(q.level[0].now, 4.0 / 3);
	assert_near(q.by_faults, 1);
	assert_near(q.by_drains, 4.0 / 3);
	assert_near(q.by_routing, 1);
	h = lose(g, true, 1);
	measure_fabric(h, &q);
	assert_near(q.by_design, 1);
	assert_near(q.by_faults, 4.0 / 3);
	assert_near(q.by_drains, 3.0 / 2);
	assert_near(q.level[0].now, 2);
	fabric_unref(h);
	fabric_unref(g);
	fabric_unref(f);
}

/* Lost cables and spines count against the design; leaves whose hosts remain do too. */
static void
test_faults(void **state)
{
	struct fabric *f = help_generate("ft2 6 4 4", true, 5), *g = lose(f, true, 1), *h;
	struct quality_report q;
	uint32_t spine = 0;

	(void)state;
	measure_fabric(g, &q);
	assert_near(q.level[0].design, 1);
	assert_near(q.level[0].now, 4.0 / 3);
	assert_near(q.by_design, 1);
	assert_near(q.by_faults, 4.0 / 3);
	assert_near(q.by_drains, 1);
	assert_int_equal(q.shift_max, 2);	/* 4 flows over 3 links */
	assert_near(q.by_routing, 1);
	fabric_unref(g);
	g = lose(f, false, 6);
	measure_fabric(g, &q);
	assert_near(q.level[0].now, 4.0 / 3);
	assert_near(q.by_faults, 4.0 / 3);
	/* The switch itself is gone now, and all who knew it remember. */
	while (fabric_switch_node(g, spine)->name[0] == 'L' ||
	       g->edge_first[spine] != g->edge_first[spine + 1])
		spine++;
	h = help_without(g, g->switches[spine], FABRIC_NONE);
	measure_fabric(h, &q);
	assert_int_equal(q.level[1].switches, 3);
	assert_near(q.level[0].design, 1);
	assert_near(q.level[0].now, 4.0 / 3);
	assert_near(q.by_faults, 4.0 / 3);
	fabric_unref(f);
	fabric_unref(g);
	fabric_unref(h);
}

/* Two leaves, one cable of 100 and one of 50 Gbit/s: the slow one counts twice. */
static void
test_rates(void **state)
{
	struct plan_row *rows[2] = { plan_row_new(4), plan_row_new(4) };
	struct check_input in = { .rows = rows, .threads = 1 };
	struct quality_report q;
	struct plan_lids *l;
	struct fabric *f;

	(void)state;
	in.fabric = f = help_two(50000, &l);
	in.lids = l;
	memcpy(plan_row_entries(rows[0]), (uint8_t[]){ 255, 1, 2, 3, 4 }, 5);
	memcpy(plan_row_entries(rows[1]), (uint8_t[]){ 255, 3, 3, 1, 2 }, 5);
	quality_measure(&in, 1, 0, 20, &q);
	/* From s, each cable has 2 of 3 flows; from t, the fast one has 4. */
	assert_near(q.links.load_max, 4.0 / 3);
	assert_near(q.links.load_mean, (2 + 4 + 4 + 0) / 3.0 / 4);
	assert_int_equal(q.links.unused, 1);
	assert_int_equal(q.links.entries_max, 2);
	assert_near(q.links.entries_mean, 1);
	assert_int_equal(q.shift_max, 2);
	assert_near(q.shift_rated, 2);
	assert_int_equal(q.histogram[2], 1);	/* the fast one from s, 2/3 */
	assert_int_equal(q.histogram[5], 2);	/* 4/3 */
	plan_row_unref(rows[0]);
	plan_row_unref(rows[1]);
	plan_lids_unref(l);
	fabric_unref(f);
}

/* Pairs of hosts that cross each port, one pair at a time, by plan_path(). */
static uint64_t *
naive_pairs(const struct plan *p)
{
	const struct fabric *f = p->fabric;
	uint64_t *pairs = mem_array(f->nports, sizeof(*pairs));

	for (uint32_t i = 1; i <= p->lids->top; i++)
		for (uint32_t k = 1; k <= p->lids->top; k++) {
			struct plan_path path;
			struct error e = { 0 };

			if (i == k || p->lids->dest[i].out == 0 || p->lids->dest[k].out == 0)
				continue;
			assert_int_equal(plan_path(p, (uint16_t)i, (uint16_t)k, &path, &e), 0);
			for (unsigned h = 1; h + 2 < path.len; h++)
				pairs[fabric_port_at(f, path.hops[h].node, path.hops[h].out) -
				      f->ports]++;
		}
	return pairs;
}

static void
compare_pairs(const struct plan *p, const struct quality_report *q)
{
	const struct fabric *f = p->fabric;
	uint64_t *pairs = naive_pairs(p), most = 0, sum = 0;
	uint32_t unused = 0, hosts = 0;

	for (uint32_t lid = 1; lid <= p->lids->top; lid++)
		hosts += p->lids->dest[lid].out != 0;
	for (uint32_t sw = 0; sw < f->nswitches; sw++)
		for (uint32_t e = f->edge_first[sw]; e < f->edge_first[sw + 1]; e++) {
			uint64_t n = pairs[fabric_switch_node(f, sw)->first_port + f->edges[e].out];

			most = n > most ? n : most;
			sum += n;
			unused += n == 0;
		}
	assert_int_equal(q->links.links, f->nedges);
	assert_int_equal(q->links.unused, unused);
	assert_near(q->links.load_max, (double)most / (hosts - 1));
	assert_near(q->links.load_mean, (double)sum / (hosts - 1) / f->nedges);
	mem_free(pairs);
}

static void
same_links(const struct quality_links *a, const struct quality_links *b)
{
	assert_int_equal(a->links, b->links);
	assert_int_equal(a->unused, b->unused);
	assert_int_equal(a->shift_max, b->shift_max);
	assert_int_equal(a->entries_max, b->entries_max);
	assert_near(a->entries_mean, b->entries_mean);
	assert_near(a->load_max, b->load_max);
	assert_near(a->load_mean, b->load_mean);
}

/* The number of threads changes nothing; levels add up to the whole. */
static void
compare_reports(const struct quality_report *a, const struct quality_report *b)
{
	uint32_t sum = 0;

	assert_int_equal(a->a2a, b->a2a);
	assert_int_equal(a->rp_median, b->rp_median);
	assert_true(a->ebb == b->ebb && a->shift_mean == b->shift_mean);
	assert_true(a->by_routing == b->by_routing && a->by_design == b->by_design);
	same_links(&a->links, &b->links);
	for (unsigned i = 0; i < QUALITY_LEVELS; i++) {
		same_links(&a->level[i].up, &b->level[i].up);
		same_links(&a->level[i].down, &b->level[i].down);
		same_links(&a->level[i].flat, &b->level[i].flat);
		sum += a->level[i].up.links + a->level[i].down.links + a->level[i].flat.links;
	}
	assert_int_equal(sum, a->links.links);
	assert_memory_equal(a->histogram, b->histogram, sizeof(a->histogram));
}

static void
test_random(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 200; round++) {
		struct quality_report q, again;
		struct error e = { 0 };
		struct fabric *f;
		struct plan *p;
		char recipe[64];

		seed = round + 1;
		snprintf(recipe, sizeof(recipe), "random %u %u 2 %u", 4 + any(12), 2 + any(2),
			 1 + any(1000));
		f = help_generate(round % 4 ? recipe : "ft3 4", true, round);
		p = help_plan(f, "updn", NULL, 0, 1, &e);
		measure(p, 1, &q);
		measure(p, 3, &again);
		compare_pairs(p, &q);
		compare_reports(&q, &again);
		plan_unref(p);
		fabric_unref(f);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_full_tree), cmocka_unit_test(test_slim_tree),
		cmocka_unit_test(test_faults), cmocka_unit_test(test_drains),
		cmocka_unit_test(test_rates),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
