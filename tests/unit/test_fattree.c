/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include "routing/check.h"
#include "tests/unit/engine_help.h"

/*
 * Engine fattree on fabrics without faults: what the theory of such trees says, and the figures of
 * real ones where they are at hand. For faults see test_fattree_fault.c.
 */

static struct plan *
must_route(const struct fabric *f, uint8_t lmc)
{
	struct error e = { 0 };
	struct plan *p = help_plan(f, "fattree", NULL, lmc, 1, &e);

	if (!p)
		fail_msg("%s", e.text);
	return p;
}

static void
measure(const struct plan *p, struct quality_report *q)
{
	struct check_input in = {
		.fabric = p->fabric, .lids = p->lids, .rows = p->rows, .threads = 2,
	};

	quality_measure(&in, 1, 0, 5, q);
}

/* D-mod-K carries every shift of a tree of full bisection without two flows on a link (Zahavi,
 * JPDC 2012), here with any GUIDs: trees of 2, 3 and 4 levels, parallel cables, and trees that are
 * not full: fewer hosts on a leaf, fewer leaves in a pod. */
static void
test_shifts(void **state)
{
	static const char *const recipes[] = {
		"fat-tree 8 2", "ft2 6 4 4", "ft2 8 4 8 2", "ft2 5 3 12 4", "ft2 6 8 5",
		"ft3 6", "ft3 8", "xgft 3 4 4 8 1 4 4", "xgft 3 3 4 5 1 4 4", "xgft 3 4 2 6 1 4 4",
		"xgft 3 2 4 4 1 4 4", "fat-tree 4 4", "fat-tree 6 4", "xgft 4 3 3 3 2 1 3 3 3",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(recipes) / sizeof(recipes[0]); i++)
		for (uint64_t seed = 0; seed < 4; seed++) {
			struct fabric *f = help_generate(recipes[i], seed != 0, seed);
			struct plan *p = must_route(f, 0);
			struct quality_report q;

			measure(p, &q);
			if (q.shift_max != 1)
				fail_msg("%s, seed %u: shift %u, mean %.3f", recipes[i],
					 (unsigned)seed, q.shift_max, q.shift_mean);
			plan_unref(p);
			fabric_unref(f);
		}
}

/* Half as many ways up as hosts: two flows on a link, and no more. */
static void
test_slim(void **state)
{
	static const char *const recipes[] = { "ft2 6 4 8", "xgft 3 4 4 4 1 2 4" };

	(void)state;
	for (size_t i = 0; i < sizeof(recipes) / sizeof(recipes[0]); i++) {
		struct fabric *f = help_generate(recipes[i], true, 1);
		struct plan *p = must_route(f, 0);
		struct quality_report q;

		measure(p, &q);
		assert_int_equal(q.shift_max, 2);
		plan_unref(p);
		fabric_unref(f);
	}
}

/* Equal tables whatever the number of threads, and on a second run behind the first, which then
 * has the very rows. */
static void
test_repeat(void **state)
{
	struct fabric *f = help_generate("xgft 3 4 4 8 1 4 4", true, 3);
	struct error e = { 0 };
	struct plan *one = help_plan(f, "fattree", NULL, 1, 1, &e);
	struct plan *many = help_plan(f, "fattree", NULL, 1, 7, &e);
	struct plan *again = help_plan(f, "fattree", one, 1, 2, &e);

	(void)state;
	assert_true(one && many && again);
	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		assert_true(plan_row_equal(one->rows[sw], many->rows[sw]));
		assert_ptr_equal(one->rows[sw], again->rows[sw]);
	}
	plan_unref(one);
	plan_unref(many);
	plan_unref(again);
	fabric_unref(f);
}

/* Switches between the ends of a way, by the tables. */
static unsigned
list_way(const struct plan *p, uint32_t from, uint16_t lid, uint32_t *way)
{
	const struct fabric *f = p->fabric;
	const struct plan_dest *d = &p->lids->dest[lid];
	unsigned len = 0;

	for (uint32_t sw = from; sw != d->sw && len < 16;) {
		uint8_t out = plan_row_port(p->rows[sw], lid);

		sw = f->nodes[f->ports[fabric_port_at(f, f->switches[sw], out)->peer].node].sw;
		way[len++] = sw;
	}
	return len ? len - 1 : 0;	/* without the home switch */
}

static bool
is_leaf(const struct fabric *f, uint32_t sw)
{
	for (unsigned i = 1; i <= fabric_switch_node(f, sw)->nports; i++) {
		uint32_t peer = fabric_port_at(f, f->switches[sw], i)->peer;

		if (peer != FABRIC_NONE && f->nodes[f->ports[peer].node].sw == FABRIC_NONE)
			return true;
	}
	return false;
}

/* The LIDs of one port lead across different switches all the way. */
static void
test_lmc(void **state)
{
	struct fabric *f = help_generate("ft3 8", true, 2);

	(void)state;
	for (uint8_t lmc = 1; lmc <= 2; lmc++) {
		struct plan *p = must_route(f, lmc);

		for (uint32_t lid = 1; lid <= p->lids->top; lid++) {
			const struct plan_dest *d = &p->lids->dest[lid];

			if (d->port == FABRIC_NONE || !d->out || !d->offset)
				continue;
			for (uint32_t other = lid - d->offset; other < lid; other++)
				for (uint32_t sw = 0; sw < f->nswitches; sw++) {
					uint32_t a[16], b[16];
					unsigned n = list_way(p, sw, (uint16_t)lid, a);
					unsigned m = list_way(p, sw, (uint16_t)other, b);

					/* Only a leaf has a choice all the way. */
					if (!is_leaf(f, sw) || n != m)
						continue;
					for (unsigned i = 0; i < n; i++)
						assert_int_not_equal(a[i], b[i]);
				}
		}
		plan_unref(p);
	}
	fabric_unref(f);
}

/* Hosts with a port on each of two leaves: no leaf sends to both across one spine. */
static void
test_two_ports(void **state)
{
	enum { SPINES = 4, LEAVES = 4, HOSTS = 4 };
	struct fabric_builder *b = fabric_builder_new();
	uint32_t leaf[LEAVES], spine[SPINES];
	struct fabric *f;
	struct plan *p;

	(void)state;
	for (unsigned i = 0; i < LEAVES; i++)
		leaf[i] = help_switch(b, 0x100 + i, HOSTS + SPINES, "leaf");
	for (unsigned i = 0; i < SPINES; i++)
		spine[i] = help_switch(b, 0x200 + i, LEAVES, "spine");
	for (unsigned i = 0; i < LEAVES; i++)
		for (unsigned k = 0; k < SPINES; k++)
			help_cable(b, leaf[i], HOSTS + 1 + k, spine[k], i + 1, 100000);
	for (unsigned pair = 0; pair < LEAVES / 2; pair++)
		for (unsigned i = 0; i < HOSTS; i++) {
			uint32_t h = help_node(b, NODE_CA, 0x1000 + 16 * (pair * HOSTS + i), 2,
					       "host");

			for (unsigned k = 0; k < 2; k++)
				fabric_add_port(b, h, k + 1, &(struct fabric_port){
					.guid = 0x1001 + 16 * (pair * HOSTS + i) + k,
					.state = PORT_ACTIVE, .rate_mbps = 100000 });
			help_cable(b, h, 1, leaf[2 * pair], i + 1, 100000);
			help_cable(b, h, 2, leaf[2 * pair + 1], i + 1, 100000);
		}
	f = fabric_build(b, 1);
	p = must_route(f, 0);
	for (uint32_t n = 0; n < f->nnodes; n++) {
		if (f->nodes[n].sw != FABRIC_NONE)
			continue;
		for (uint32_t sw = 0; sw < LEAVES; sw++) {
			uint32_t a[16], c[16];
			unsigned na = list_way(p, sw, p->lids->base[f->nodes[n].first_port + 1], a);
			unsigned nc = list_way(p, sw, p->lids->base[f->nodes[n].first_port + 2], c);

			if (na && nc)
				assert_int_not_equal(a[0], c[0]);
		}
	}
	plan_unref(p);
	fabric_unref(f);
}

/* Destinations of hosts of one class by link out of a switch: least and most. */
static void
count_class(const struct plan *p, const uint8_t *class, unsigned which, uint32_t sw,
	    uint32_t *least, uint32_t *most)
{
	const struct fabric *f = p->fabric;
	uint32_t count[256] = { 0 };

	*least = UINT32_MAX;
	*most = 0;
	for (uint32_t lid = 1; lid <= p->lids->top; lid++) {
		const struct plan_dest *d = &p->lids->dest[lid];

		if (d->port != FABRIC_NONE && d->out && d->sw != sw &&
		    class[f->ports[d->port].node] == which)
			count[plan_row_port(p->rows[sw], lid)]++;
	}
	for (uint32_t e = f->edge_first[sw]; e < f->edge_first[sw + 1]; e++) {
		uint32_t n = count[f->edges[e].out];

		*least = n < *least ? n : *least;
		*most = n > *most ? n : *most;
	}
}

/* The first host of each leaf is storage. Numbered with the others all would have one lowest digit
 * and be reached across one spine. */
static void
test_classes(void **state)
{
	struct fabric *f = help_generate("ft2 8 4 4", true, 5);
	uint8_t *class = mem_array(f->nnodes, 1);
	struct engine_options o = { .threads = 1, .node_class = class };
	struct plan *p = plan_new(f);
	struct engine_input in = { .fabric = f, .options = &o };
	struct engine_output out = { .rows = p->rows };
	struct error e = { 0 };

	(void)state;
	for (uint32_t sw = 0; sw < f->nswitches; sw++)
		if (is_leaf(f, sw))
			class[f->ports[fabric_port_at(f, f->switches[sw], 1)->peer].node] = 1;
	in.lids = p->lids = help_lids(f, 0);
	assert_int_equal(engine_find("fattree")->route(&in, &out, &e), 0);
	for (uint32_t sw = 0; sw < f->nswitches; sw++)
		for (unsigned k = 0; k < 2 && is_leaf(f, sw); k++) {
			uint32_t least, most;

			count_class(p, class, k, sw, &least, &most);
			assert_true(most - least <= 1);
		}
	mem_free(out.ranks);
	plan_memo_unref(out.memo);
	plan_roots_unref(out.roots);
	plan_unref(p);
	mem_free(class);
	fabric_unref(f);
}

/* A torus is balanced, and the note says on what that depends. */
static void
test_no_tree(void **state)
{
	struct fabric *f = help_generate("torus 3 3 2", true, 1);
	struct plan *p = must_route(f, 0);

	(void)state;
	assert_non_null(strstr(p->note, "no tree, as most of them hang above others: balanced by "
			       "load, and entries stay as they were where they can; an "
			       "engine for the shape, as auto finds it, may load"));
	plan_unref(p);
	fabric_unref(f);
}

/* A trunk of a sixth of the others' rate carries its share of destinations or none, and the good
 * ones are within one of each other: counted by hand for each of the two switches at its ends. */
static void
test_edr(void **state)
{
	char path[512];
	struct fabric *f;
	struct plan *p;
	uint32_t seen = 0;

	if (!help_shared(path, sizeof(path), "edr_2tier_4leaf_2spine_par6.ibnd"))
		skip();
	(void)state;
	f = help_read(path);
	p = must_route(f, 0);
	for (uint32_t e = 0; e < f->nedges; e++) {
		uint32_t count[256] = { 0 }, least = UINT32_MAX, most = 0, sw = 0, good = 0;

		if (f->edges[e].rate_mbps > 50000)
			continue;
		while (f->edge_first[sw + 1] <= e)
			sw++;
		for (uint32_t lid = 1; lid <= p->lids->top; lid++)
			if (p->lids->dest[lid].port != FABRIC_NONE && p->lids->dest[lid].out)
				count[plan_row_port(p->rows[sw], lid)]++;
		for (uint32_t k = f->edge_first[sw]; k < f->edge_first[sw + 1]; k++) {
			uint32_t n = count[f->edges[k].out];

			/* At a spine only the trunks to that leaf are like it. */
			if (k == e || (!is_leaf(f, sw) && f->edges[k].to != f->edges[e].to))
				continue;
			least = n < least ? n : least;
			most = n > most ? n : most;
			good++;
		}
		assert_true(good == 11 || good == 5);
		assert_true(most - least <= 1);
		/* 16 of 100 Gbit/s. */
		assert_true(count[f->edges[e].out] <= most * 16 / 100 + 1);
		seen++;
	}
	assert_int_equal(seen, 2);
	plan_unref(p);
	fabric_unref(f);
}

/* Pairs of hosts by the number of switches between them. */
static void
count_pairs(const struct plan *p, uint64_t *pairs)
{
	for (uint32_t lid = 1; lid <= p->lids->top; lid++) {
		const struct plan_dest *d = &p->lids->dest[lid];

		if (d->port == FABRIC_NONE || !d->out)
			continue;
		for (uint32_t from = 1; from <= p->lids->top; from++) {
			const struct plan_dest *s = &p->lids->dest[from];
			uint32_t way[16];

			if (from == lid || s->port == FABRIC_NONE || !s->out)
				continue;
			pairs[(s->sw == d->sw ? 1 :
			       2 + list_way(p, s->sw, (uint16_t)lid, way))]++;
		}
	}
}

/* Pairs of aggregation nodes: each spine has one. */
static uint64_t
count_between_spines(const struct plan *p)
{
	const struct fabric *f = p->fabric;
	uint64_t pairs = 0;

	for (uint32_t a = 0; a < f->nswitches; a++)
		for (uint32_t b = 0; b < f->nswitches; b++)
			pairs += a != b && strstr(fabric_switch_node(f, a)->name, "SPINE") &&
				strstr(fabric_switch_node(f, b)->name, "SPINE") &&
				is_leaf(f, a) && is_leaf(f, b);
	return pairs;
}

/* The real fabric of 40 switches: opensm.md, section 6. */
static void
test_ndr(void **state)
{
	uint64_t pairs[20] = { 0 }, all = 0;
	struct quality_report q;
	char path[512];
	struct fabric *f;
	struct plan *p;

	if (!help_shared(path, sizeof(path), "ndr_rail_40sw_582ca.ibnd"))
		skip();
	(void)state;
	f = help_read(path);
	p = must_route(f, 0);
	assert_int_equal(p->check.pairs, 338142);
	assert_int_equal(p->check.unreachable, 0);
	assert_int_equal(p->check.credit_loops, 0);
	count_pairs(p, pairs);
	for (unsigned i = 4; i < 20; i++)
		all += pairs[i];
	assert_int_equal(all, 432 - 72);	/* between spines a leaf is the third switch */
	assert_int_equal(count_between_spines(p), 72);
	measure(p, &q);
	assert_true(q.shift_max < 5);
	assert_true(q.shift_mean < 3.24);
	plan_unref(p);
	fabric_unref(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shifts),
		cmocka_unit_test(test_slim),
		cmocka_unit_test(test_repeat),
		cmocka_unit_test(test_lmc),
		cmocka_unit_test(test_two_ports),
		cmocka_unit_test(test_no_tree), cmocka_unit_test(test_classes),
		cmocka_unit_test(test_edr),
		cmocka_unit_test(test_ndr),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
