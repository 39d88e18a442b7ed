/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "routing/adaptive.h"
#include "tests/unit/loss_help.h"
#include "tests/unit/adaptive_judge.h"

/* Groups of adaptive routing: what they are made of, their numbers, and their proof. */

static struct adaptive_ability *
all_able(const struct fabric *f, uint16_t groups)
{
	struct adaptive_ability *a = mem_array(f->nswitches, sizeof(*a));

	for (uint32_t sw = 0; sw < f->nswitches; sw++)
		a[sw] = (struct adaptive_ability){
			.able = true, .groups = groups, .subs = 2, .tables = 1, .recovery = true,
		};
	return a;
}

static struct plan_adaptive *
make(const struct plan *p, const struct plan *previous, uint16_t groups)
{
	struct adaptive_ability *able = all_able(p->fabric, groups);
	struct adaptive_input in = {
		.plan = p, .ability = able, .held = previous ? previous->adaptive : NULL,
		.mode = AR_FREE,
		.recovery = true, .sls = 0xffff, .threads = 2,
	};
	struct plan_adaptive *a = adaptive_make(&in);

	mem_free(able);
	return a;
}

static struct fabric *
recipe(const char *text, unsigned parallel)
{
	struct generate_options o = { .parallel = parallel };
	struct ibnet *net = NULL;
	struct error e = { 0 };
	struct fabric *f;

	assert_int_equal(generate_words(&net, text, &o, &e), 0);
	f = fabric_from_ibnet(net);
	ibnet_free(net);
	return f;
}

static struct plan *
route(const struct fabric *f, const char *engine, const struct plan *previous)
{
	struct error e = { 0 };
	struct plan *p = help_route(f, engine, previous, 4, &e);

	if (!p)
		print_error("%s\n", e.text);
	assert_non_null(p);
	p->adaptive = make(p, previous, 2048);
	return p;
}

/* L: leaves, A: those above, C: tops. */
static char
level(const struct fabric *f, uint32_t sw)
{
	return fabric_switch_node(f, sw)->name[0];
}

/* ft3 4: 4 pods of 2 leaves and 2 switches above, 4 tops; radix 4, 16 hosts. A leaf has one set,
 * its two ways up, for all 7 others; those above have their two ways up for 6 leaves; tops have
 * none. */
static void
tree_sets(void **state)
{
	struct fabric *f = recipe("ft3 4", 0);
	struct plan *p = route(f, "fattree", NULL);
	unsigned with = 0;

	(void)state;
	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		const struct plan_ar_switch *s = p->adaptive->sw[sw];
		unsigned n = 0;


		assert_non_null(s);
		for (uint32_t home = 0; home < f->nswitches; home++)
			n += s->table[0].group[home] != 0;
		if (level(f, sw) == 'C') {
			assert_int_equal(s->used, 0);
			continue;
		}
		assert_int_equal(s->used, 1);
		assert_int_equal(n, level(f, sw) == 'L' ? 7 : 6);
		assert_int_equal(__builtin_popcountll(plan_ar_ports(s, 1, 0)->word[0]), 2);
		with++;
	}
	assert_int_equal(with, 16);
	plan_unref(p);
	fabric_unref(f);
}

static void
judge(const char *text, const char *engine, unsigned parallel, unsigned losses, unsigned seeds)
{
	struct fabric *f = recipe(text, parallel);
	struct plan *whole = route(f, engine, NULL);

	for (uint64_t seed = 0; seed < seeds; seed++) {
		struct fabric *less = losses ? help_cut_links(f, losses, seed) : fabric_ref(f);
		struct plan *p = route(less, engine, seed % 2 ? whole : NULL);
		struct ways_judged r = ways_judge(p);

		if (r.lost || r.circle)
			print_error("%s %s seed %u: %u of %u lost, circle %d\n", text, engine,
				    (unsigned)seed, (unsigned)r.lost, (unsigned)r.pairs, r.circle);
		assert_true(r.pairs > 0);
		if (p->check.cut_off == 0)
			assert_int_equal(r.lost, 0);
		assert_false(r.circle);
		assert_true(r.spread * 2 > r.pairs);
		plan_unref(p);
		fabric_unref(less);
	}
	plan_unref(whole);
	fabric_unref(f);
}

static void
trees_arrive(void **state)
{
	(void)state;
	judge("ft3 4", "fattree", 0, 0, 1);
	judge("ft3 8", "fattree", 0, 0, 1);
	judge("ft3 6", "fattree", 0, 3, 8);
	judge("ft2 6 4 3", "fattree", 2, 3, 8);
	judge("ft3 6", "updn", 0, 3, 8);
}

static void
rings_arrive(void **state)
{
	(void)state;
	judge("torus 4 4 1 1", "torus", 2, 0, 1);
	judge("torus 4 4 1 1", "torus", 2, 2, 6);
	judge("mesh 4 3 1 1", "torus", 2, 2, 6);
	judge("dragonfly 4 2 2 9", "dragonfly", 2, 1, 2);
}

/* A leaf that loses one way up keeps its number; the others let its hosts go by one way less. */
static void
numbers_stay(void **state)
{
	struct fabric *f = recipe("ft3 8", 0);
	struct plan *whole = route(f, "fattree", NULL);
	unsigned renumbered = 0, changed = 0;

	(void)state;
	for (uint64_t seed = 0; seed < 6; seed++) {
		struct fabric *less = help_cut_links(f, 1, seed);
		struct plan *p = route(less, "fattree", whole), *back;

		for (uint32_t sw = 0; sw < f->nswitches; sw++) {
			const struct plan_ar_switch *a = whole->adaptive->sw[sw];
			const struct plan_ar_switch *b = p->adaptive->sw[sw];

			changed += a != b;
			if (a == b)
				continue;
			for (uint32_t home = 0; home < f->nswitches; home++)
				renumbered += a->table[0].group[home] &&
					b->table[0].group[home] &&
					a->table[0].group[home] != b->table[0].group[home] &&
					!memcmp(plan_ar_ports(a, a->table[0].group[home], 0),
						plan_ar_ports(b, b->table[0].group[home], 0),
						sizeof(struct ar_ports));
		}
		back = route(f, "fattree", p);
		for (uint32_t sw = 0; sw < f->nswitches; sw++)
			assert_int_equal(back->adaptive->sw[sw]->used,
					 whole->adaptive->sw[sw]->used);
		plan_unref(back);
		plan_unref(p);
		fabric_unref(less);
	}
	assert_int_equal(renumbered, 0);
	assert_true(changed > 0);
	plan_unref(whole);
	fabric_unref(f);
}

/* Fewer numbers than sets: the most used have them, the rest is static and still arrives. */
static void
numbers_run_out(void **state)
{
	struct fabric *f = recipe("ft3 8", 0), *less = help_cut_links(f, 6, 3);
	struct plan *p = route(less, "fattree", NULL);
	unsigned left = 0;

	(void)state;
	plan_adaptive_unref(p->adaptive);
	p->adaptive = make(p, NULL, 2);
	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		assert_true(p->adaptive->sw[sw]->used <= 1);
		left += p->adaptive->sw[sw]->left_out;
	}
	assert_true(left > 0);
	assert_int_equal(ways_judge(p).lost, 0);
	plan_unref(p);
	fabric_unref(less);
	fabric_unref(f);
}

/* Wrong groups are refused, each with the switch that has them. */
static void
wrong_groups(void **state)
{
	struct fabric *f = recipe("ft3 4", 0);
	struct plan *p = route(f, "fattree", NULL);

	(void)state;
	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		struct plan_ar_switch *s, *right = p->adaptive->sw[sw];
		struct error e = { 0 };
		uint32_t at;

		if (level(f, sw) != 'A')
			continue;
		s = plan_ar_switch_new(f->nswitches, 1, 1, 1);
		s->used = 1;
		/* All ports, up and down, for all leaves: packets can turn up again. */
		for (uint32_t i = f->edge_first[sw]; i < f->edge_first[sw + 1]; i++)
			ar_ports_add(&s->ports[1], f->edges[i].out);
		for (uint32_t home = 0; home < f->nswitches; home++)
			s->table[0].group[home] = level(f, home) == 'L';
		p->adaptive->sw[sw] = s;
		assert_int_equal(check_adaptive(p, p->adaptive, 1, &at, &e), ERR_REFUSED);
		assert_int_equal(at, sw);
		/* A port without a cable. */
		s->ports[1] = (struct ar_ports){ { 1u << 30 } };
		assert_int_equal(check_adaptive(p, p->adaptive, 1, &at, &e), ERR_REFUSED);
		assert_int_equal(at, sw);
		p->adaptive->sw[sw] = right;
		plan_ar_switch_unref(s);
		assert_int_equal(check_adaptive(p, p->adaptive, 1, &at, &e), 0);
	}
	plan_unref(p);
	fabric_unref(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tree_sets),
		cmocka_unit_test(trees_arrive),
		cmocka_unit_test(rings_arrive),
		cmocka_unit_test(numbers_stay),
		cmocka_unit_test(numbers_run_out),
		cmocka_unit_test(wrong_groups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
