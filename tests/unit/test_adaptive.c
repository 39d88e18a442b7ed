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

static struct plan_adaptive *
make_longer(const struct plan *p)
{
	struct adaptive_ability *able = all_able(p->fabric, 2048);
	struct adaptive_input in = {
		.plan = p, .ability = able, .mode = AR_FREE, .longer = true, .sls = 0xffff,
		.threads = 2,
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
judge_share(const char *text, const char *engine, unsigned parallel, unsigned losses,
	    unsigned seeds, unsigned percent)
{
	struct fabric *f = recipe(text, parallel);
	struct plan *whole = route(f, engine, NULL);

	for (uint64_t seed = 0; seed < seeds; seed++) {
		struct fabric *less = losses ? help_cut_links(f, losses, seed) : fabric_ref(f);
		struct plan *p = route(less, engine, seed % 2 ? whole : NULL);
		struct ways_judged r = ways_judge(p);

		if (r.lost || r.circle || r.spread * 100 <= r.pairs * percent)
			print_error("%s %s seed %u: %u of %u lost, %u spread, circle %d\n", text,
				    engine, (unsigned)seed, (unsigned)r.lost, (unsigned)r.pairs,
				    (unsigned)r.spread, r.circle);
		assert_true(r.pairs > 0);
		if (p->check.cut_off == 0)
			assert_int_equal(r.lost, 0);
		assert_false(r.circle);
		assert_true(r.spread * 100 > r.pairs * percent);
		plan_unref(p);
		fabric_unref(less);
	}
	plan_unref(whole);
	fabric_unref(f);
}

static void
judge(const char *text, const char *engine, unsigned parallel, unsigned losses, unsigned seeds)
{
	judge_share(text, engine, parallel, losses, seeds, 50);
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

/* dragonfly 4 1 1 3: of the 4 switches of a group 2 have a link to each other group. From the 2
 * others to those 2 of the 4 homes there that no link leads to, both are as near: 2 of the 11 homes
 * of a packet at a mean, 18 %. With more groups than links between two there is one way. */
static void
dragonflies_arrive(void **state)
{
	(void)state;
	judge_share("dragonfly 4 1 1 3", "dragonfly", 0, 0, 1, 17);
	judge_share("dragonfly 4 1 1 3", "dragonfly", 0, 1, 6, 10);
	judge_share("dragonfly+ 3 3 3 1", "dragonfly", 0, 0, 1, 17);
	judge_share("dragonfly+ 3 3 3 1", "dragonfly", 0, 1, 6, 10);
}

/* The group in a generated name, "S3_1" or such: the first number. */
static unsigned
group_in(const struct fabric *f, uint32_t sw)
{
	const char *name = fabric_switch_node(f, sw)->name;

	return (unsigned)atoi(name + strcspn(name, "0123456789"));
}

/* From a group to one of a lower number, but the lowest, some switch has its own links to one still
 * lower; nobody else has. Each group has one link to each other. */
static void
longer_ways(void **state)
{
	struct fabric *f = recipe("dragonfly 4 2 2 9", 0);
	struct plan *p = route(f, "dragonfly", NULL);
	unsigned pairs[9][9] = { { 0 } };
	struct ways_judged r;

	(void)state;
	plan_adaptive_unref(p->adaptive);
	p->adaptive = make_longer(p);
	assert_int_equal(p->adaptive->cut, 0);
	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		const struct plan_ar_switch *s = p->adaptive->sw[sw];

		assert_int_equal(s->subs, 2);
		for (uint32_t home = 0; home < f->nswitches; home++) {
			unsigned group = s->table[0].group[home];

			if (group)
				pairs[group_in(f, sw)][group_in(f, home)] +=
					ar_ports_count(plan_ar_ports(s, group, 1));
		}
	}
	/* Links to each of the groups below, for each of 4 homes. */
	for (unsigned from = 0; from < 9; from++)
		for (unsigned to = 0; to < 9; to++)
			assert_int_equal(pairs[from][to], from > to ? 4 * to : 0);
	r = ways_judge(p);
	assert_int_equal(r.lost, 0);
	assert_false(r.circle);
	plan_unref(p);
	fabric_unref(f);
}

/* Whatever is lost, and in a dragonfly+ too, what is left is proved. */
static void
longer_ways_arrive(void **state)
{
	static const char *const all[] = { "dragonfly 4 2 2 9", "dragonfly+ 5 4 4 2" };

	(void)state;
	for (unsigned k = 0; k < 2; k++)
		for (uint64_t seed = 0; seed < 3; seed++) {
			struct fabric *f = recipe(all[k], 0), *less = help_cut_links(f, 2, seed);
			struct plan *p = route(seed ? less : f, "dragonfly", NULL);
			struct ways_judged r;
			unsigned second = 0;

			plan_adaptive_unref(p->adaptive);
			p->adaptive = make_longer(p);
			r = ways_judge(p);
			assert_int_equal(r.lost, 0);
			assert_false(r.circle);
			for (uint32_t sw = 0; sw < f->nswitches; sw++)
				for (unsigned g = 1; g <= p->adaptive->sw[sw]->top; g++)
					second += p->adaptive->sw[sw]->subs > 1 && ar_ports_count(
						plan_ar_ports(p->adaptive->sw[sw], g, 1)) > 0;
			if (!second)
				print_error("%s seed %u: %u cut, %s\n", all[k], (unsigned)seed,
					    p->adaptive->cut, p->adaptive->cut_first);
			assert_true(second > 0);
			plan_unref(p);
			fabric_unref(less);
			fabric_unref(f);
		}
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

/* ---- Groups by home that nobody chose well ---- */

static uint64_t spoil_seed;
static unsigned spoil_share;	/* one in so many entries is spoilt */

/* Links that the row of a LID of this home takes; 255: it does not arrive. */
static unsigned
far_off(const struct plan *p, uint32_t sw, uint16_t lid)
{
	const struct fabric *f = p->fabric;

	for (unsigned n = 0; n < 255; n++) {
		uint8_t port = plan_row_port(p->rows[sw], lid);
		uint32_t e = f->edge_first[sw], end = f->edge_first[sw + 1];

		if (sw == p->lids->dest[lid].sw)
			return n;
		while (e < end && f->edges[e].out != port)
			e++;
		if (e == end)
			break;
		sw = f->edges[e].to;
	}
	return 255;
}

/* The ports of a home's rows, and another: any, or, for odd seeds, one that leads nearer. */
static void
spoil_home(const struct plan *p, uint32_t sw, uint32_t home, bool nearer, struct plan_ar_switch *s,
	   unsigned t)
{
	const struct fabric *f = p->fabric;
	uint32_t len = f->edge_first[sw + 1] - f->edge_first[sw];
	const struct fabric_edge *e;
	struct ar_ports ports = { { 0 } };
	uint16_t some = 0;

	if (home == sw || !len || help_mix(&spoil_seed) % spoil_share)
		return;
	e = &f->edges[f->edge_first[sw] + help_mix(&spoil_seed) % len];
	for (uint16_t lid = 1; lid <= p->lids->top; lid++)
		if (p->lids->dest[lid].sw == home &&
		    plan_row_port(p->rows[sw], lid) != LFT_NO_PORT)
			ar_ports_add(&ports, plan_row_port(p->rows[sw], some = lid));
	if (!some || (nearer && far_off(p, e->to, some) >= far_off(p, sw, some)))
		return;
	ar_ports_add(&ports, e->out);
	if (ar_ports_count(&ports) > 1)
		s->table[t].group[home] = alternatives_set(s, &ports);
}

/* Of one table, or of two that go by the port by which packets come in. */
static void
spoil(const struct plan *p, const bool *wanted, unsigned threads, struct plan_ar_switch **out)
{
	const struct fabric *f = p->fabric;
	uint64_t kind = spoil_seed;

	(void)threads;
	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		if (!wanted[sw])
			continue;
		out[sw] = plan_ar_switch_new(f->nswitches, 0, 1, 1 + kind / 2 % 2);
		for (unsigned in = 0; in < 256; in++)
			out[sw]->table_of[in] = (uint8_t)(help_mix(&spoil_seed) %
							  out[sw]->ntables);
		for (unsigned t = 0; t < out[sw]->ntables; t++)
			for (uint32_t home = 0; home < f->nswitches; home++)
				spoil_home(p, sw, home, kind % 2, out[sw], t);
	}
}

/* What came of plans with spoilt groups. */
struct spoilt {
	unsigned good, lost, circles;	/* as the judge has it, before anything is cut */
	unsigned cut, left;		/* groups */
};

static void
spoil_one(struct plan *p, struct spoilt *sum)
{
	struct adaptive_ability *able = all_able(p->fabric, 2048);
	struct adaptive_input in = {
		.plan = p, .ability = able, .alternatives = spoil, .mode = AR_FREE, .threads = 2,
	};
	struct plan_adaptive *made, *raw = plan_adaptive_new(p->fabric->nswitches);
	bool *wanted = mem_array(p->fabric->nswitches, sizeof(*wanted));
	uint64_t seed = spoil_seed;
	struct ways_judged r;
	struct error e = { 0 };
	int rc;

	for (uint32_t sw = 0; sw < p->fabric->nswitches; sw++)
		wanted[sw] = true;
	spoil(p, wanted, 1, raw->sw);
	p->adaptive = raw;
	r = ways_judge_some(p, true);
	rc = check_adaptive(p, raw, 2, NULL, &e);
	if ((rc == 0) != (!r.lost && !r.circle))
		print_error("%s: %u lost, circle %d, but %d %s\n", p->engine_running,
			    (unsigned)r.lost, r.circle, rc, e.text);
	assert_int_equal(rc, r.lost || r.circle ? ERR_REFUSED : 0);
	sum->good += rc == 0;
	sum->lost += r.lost != 0;
	sum->circles += !r.lost && r.circle;
	spoil_seed = seed;
	made = adaptive_make(&in);
	assert_true((made->cut != 0) == (rc != 0));
	assert_true((made->cut_first[0] != 0) == (rc != 0));
	sum->cut += made->cut;
	sum->left += adaptive_sum(made).groups;
	p->adaptive = made;
	r = ways_judge_some(p, true);
	assert_int_equal(r.lost, 0);
	assert_false(r.circle);
	plan_adaptive_unref(raw);
	mem_free(wanted);
	mem_free(able);
}

static struct spoilt
spoil_many(const char *text, const char *engine, unsigned parallel, unsigned losses, unsigned share,
	   unsigned seeds)
{
	struct fabric *f = recipe(text, parallel);
	struct spoilt sum = { 0 };

	for (uint64_t seed = 0; seed < seeds; seed++) {
		struct fabric *less = help_cut_links(f, losses, seed);
		struct error e = { 0 };
		struct plan *p = help_route(less, engine, NULL, 4, &e);

		if (p && !p->check.cut_off) {
			mem_free(p->ranks);
			p->ranks = NULL;
			spoil_share = share;
			spoil_seed = seed;
			spoil_one(p, &sum);
		}
		plan_unref(p);
		fabric_unref(less);
	}
	fabric_unref(f);
	return sum;
}

/* The proof and the judge say the same of them, and of what is left when the worst is cut. */
static void
spoilt_groups(void **state)
{
	static const char *const engines_of[] = { "torus", "nue", "dfsssp", "updn" };
	struct spoilt all = { 0 };

	(void)state;
	for (unsigned i = 0; i < 4; i++)
		for (unsigned share = 48; share > 2; share /= 4) {
			struct spoilt s = spoil_many("torus 4 3 1 1", engines_of[i], 0, i % 3,
						     share, 24);

			all.good += s.good;
			all.lost += s.lost;
			all.circles += s.circles;
			all.left += s.left;
		}
	spoil_many("dragonfly 3 1 1 4", "dragonfly", 0, 1, 20, 20);
	spoil_many("dragonfly 3 1 1 4", "dragonfly", 2, 1, 5, 20);
	spoil_many("dragonfly 3 1 1 4", "nue", 0, 1, 20, 20);
	spoil_many("ft2 4 2 1", "updn", 2, 1, 10, 20);
	assert_true(all.good > 20);
	assert_true(all.lost > 20);
	assert_true(all.circles > 5);
	assert_true(all.left > 20);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tree_sets),
		cmocka_unit_test(trees_arrive),
		cmocka_unit_test(rings_arrive),
		cmocka_unit_test(dragonflies_arrive),
		cmocka_unit_test(longer_ways), cmocka_unit_test(longer_ways_arrive),
		cmocka_unit_test(numbers_stay),
		cmocka_unit_test(numbers_run_out),
		cmocka_unit_test(wrong_groups),
		cmocka_unit_test(spoilt_groups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
