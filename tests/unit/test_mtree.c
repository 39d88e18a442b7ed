/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Multicast trees: by hand on a small fabric, and what must hold of each on larger ones, found by
 * carrying a packet from each member through the entries: every receiver once, nobody else, no
 * cable twice, and no switch with two ways up.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "routing/mtree.h"
#include "tests/unit/route_help.h"

#define MLID 0xc000
#define MEMBERS 24

static uint64_t seed = 1;

static uint32_t
draw(uint32_t n)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(seed >> 33) % n;
}

static struct mtree_member
member_of(const struct fabric *f, uint32_t node)
{
	const struct fabric_port *p = fabric_port_at(f, node, 1);
	const struct fabric_port *to = &f->ports[p->peer];

	return (struct mtree_member){ .sw = f->nodes[to->node].sw, .port = to->number,
				      .receives = true };
}

static uint32_t
draw_host(const struct fabric *f)
{
	uint32_t node;

	do
		node = draw(f->nnodes);
	while (f->nodes[node].type != NODE_CA || fabric_port_at(f, node, 1)->peer == FABRIC_NONE);
	return node;
}

static bool
has(const uint64_t ports[4], unsigned port)
{
	return ports[port / 64] >> port % 64 & 1;
}

static const struct check_tree *
entry(const struct mtree_set *set, uint32_t sw)
{
	for (uint32_t i = 0; i < set->len; i++)
		if (set->trees[i].sw == sw)
			return &set->trees[i];
	return NULL;
}

/* How often the packet reaches each port of a host, by port index at its switch. */
static void
carry(const struct fabric *f, const struct mtree_set *set, uint32_t sw, unsigned in,
      unsigned *got, unsigned depth)
{
	const struct check_tree *t = entry(set, sw);

	assert_true(depth < 16);
	assert_non_null(t);
	assert_true(has(t->in, in));
	for (unsigned out = 1; out <= fabric_switch_node(f, sw)->nports; out++) {
		uint32_t at = fabric_switch_node(f, sw)->first_port + out;
		uint32_t peer = f->ports[at].peer;

		if (out == in || !has(t->out, out))
			continue;
		assert_true(peer != FABRIC_NONE);
		if (f->nodes[f->ports[peer].node].type == NODE_SWITCH)
			carry(f, set, f->nodes[f->ports[peer].node].sw, f->ports[peer].number, got,
			      depth + 1);
		else
			got[at]++;
	}
}

static void
hold(const struct fabric *f, const uint8_t *ranks, const struct mtree_member *m, uint32_t len,
     const struct mtree_set *set)
{
	unsigned *got = calloc(f->nports, sizeof(*got));

	for (uint32_t i = 0; i < len; i++) {
		memset(got, 0, f->nports * sizeof(*got));
		carry(f, set, m[i].sw, m[i].port, got, 0);
		for (uint32_t k = 0; k < len; k++) {
			uint32_t at = fabric_switch_node(f, m[k].sw)->first_port + m[k].port;

			assert_int_equal(got[at], i != k && m[k].receives);
			got[at] = 0;
		}
		for (uint32_t p = 0; p < f->nports; p++)
			assert_int_equal(got[p], 0);
	}
	for (uint32_t i = 0; i < set->len && ranks; i++) {
		const struct fabric_node *n = fabric_switch_node(f, set->trees[i].sw);
		unsigned up = 0;

		for (unsigned p = 1; p <= n->nports; p++) {
			uint32_t peer = f->ports[n->first_port + p].peer, to;

			if (!has(set->trees[i].out, p) || peer == FABRIC_NONE)
				continue;
			to = f->nodes[f->ports[peer].node].sw;
			up += to != FABRIC_NONE && (ranks[to] < ranks[n->sw] ||
				(ranks[to] == ranks[n->sw] && to < n->sw));
		}
		assert_true(up <= 1);
	}
	free(got);
}

/* Distinct members, some of which only send. */
static uint32_t
draw_members(const struct fabric *f, struct mtree_member m[MEMBERS], uint32_t len)
{
	bool *taken = calloc(f->nnodes, sizeof(*taken));
	uint32_t n = 0;

	for (uint32_t i = 0; i < len; i++) {
		uint32_t node = draw_host(f);

		if (taken[node])
			continue;
		taken[node] = true;
		m[n] = member_of(f, node);
		m[n++].receives = draw(4) > 0;
	}
	free(taken);
	return n;
}

static void
test_random(void **state)
{
	static const char *const recipes[] = { "ft3 4", "ft3 8", "torus 4 4 4 2", "torus 6 5 4 1" };

	(void)state;
	for (unsigned i = 0; i < sizeof(recipes) / sizeof(recipes[0]); i++) {
		struct fabric *f = help_generate(recipes[i], false, 0);
		struct mtree *t = mtree_new(f, NULL);

		for (unsigned round = 0; round < 60; round++) {
			struct mtree_set set = { 0 }, again = { 0 };
			struct mtree_member m[MEMBERS];
			uint32_t len = draw_members(f, m, 2 + draw(MEMBERS - 2));
			uint16_t mlid = (uint16_t)(MLID + round);

			if (len < 2)
				continue;
			assert_int_equal(mtree_add(t, mlid, m, len, &set), 0);
			hold(f, NULL, m, len, &set);
			assert_int_equal(mtree_add(t, mlid, m, len, &again), 0);
			assert_int_equal(set.len, again.len);
			assert_memory_equal(set.trees, again.trees, set.len * sizeof(*set.trees));
			mtree_set_free(&set);
			mtree_set_free(&again);
		}
		mtree_free(t);
		fabric_unref(f);
	}
}

static uint8_t *
ranks_by_name(const struct fabric *f)
{
	uint8_t *ranks = calloc(f->nswitches, 1);

	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		char first = fabric_switch_node(f, sw)->name[0];

		ranks[sw] = first == 'C' ? 0 : first == 'A' ? 1 : 2;
	}
	return ranks;
}

/* In a fat tree with ranks: two members of one leaf need that leaf only, two of one pod go no
 * higher than its middle, and all trees climb by one port at most. */
static void
test_fat_tree(void **state)
{
	struct fabric *f = help_generate("ft3 8", false, 0);
	uint8_t *ranks = ranks_by_name(f);
	struct mtree *t = mtree_new(f, ranks);

	(void)state;
	for (unsigned round = 0; round < 200; round++) {
		struct mtree_set set = { 0 };
		struct mtree_member m[MEMBERS];
		uint32_t len = draw_members(f, m, 2 + draw(3));
		bool one_leaf = true;

		if (len < 2)
			continue;
		for (uint32_t i = 1; i < len; i++)
			one_leaf &= m[i].sw == m[0].sw;
		assert_int_equal(mtree_add(t, MLID, m, len, &set), 0);
		hold(f, ranks, m, len, &set);
		assert_true(set.len <= 2 * len + 1);
		if (one_leaf)
			assert_int_equal(set.len, 1);
		mtree_set_free(&set);
	}
	mtree_free(t);
	free(ranks);
	fabric_unref(f);
}

/* All ports of the one tree are in the other. */
static void
is_part(const struct mtree_set *part, const struct mtree_set *whole)
{
	for (uint32_t i = 0; i < part->len; i++) {
		const struct check_tree *t = entry(whole, part->trees[i].sw);

		assert_non_null(t);
		for (unsigned k = 0; k < 4; k++)
			assert_int_equal(part->trees[i].out[k] & ~t->out[k], 0);
	}
}

static bool
is_odd(const struct mtree_set *set, const struct mtree_set *whole)
{
	bool *odd = calloc(MTREE_MLIDS, sizeof(*odd)), is;
	struct mtree_set picked = { 0 };

	mtree_set_odd(set, whole, odd);
	is = odd[MLID % MTREE_MLIDS];
	mtree_set_pick(&picked, set, odd);
	assert_int_equal(picked.len, is ? set->len : 0);
	mtree_set_free(&picked);
	free(odd);
	return is;
}

/* A group that grows member by member, and shrinks again, has trees of which one is always a part
 * of the next, so that packets may meet both; and that are as good as others. */
static void
test_follow(void **state)
{
	static const char *const recipes[] = { "ft3 8", "ft3 6", "ft3 10" };

	(void)state;
	for (unsigned round = 0; round < 60; round++) {
		struct fabric *f = help_generate(recipes[round % 3], false, 0);
		uint8_t *ranks = ranks_by_name(f);
		struct mtree *t = mtree_new(f, ranks), *fresh = mtree_new(f, ranks);
		struct mtree_set was = { 0 };
		struct mtree_member m[MEMBERS];
		uint32_t len = draw_members(f, m, MEMBERS);

		for (uint32_t step = 2; step < 2 * len - 1; step++) {
			uint32_t n = step <= len ? step : 2 * len - step;
			struct mtree_set now = { 0 }, alone = { 0 };

			mtree_follow(t, &was);
			assert_int_equal(mtree_add(t, MLID, m, n, &now), 0);
			assert_int_equal(mtree_add(fresh, MLID, m, n, &alone), 0);
			hold(f, ranks, m, n, &now);
			assert_int_equal(now.len, alone.len);
			is_part(step <= len ? &was : &now, step <= len ? &now : &was);
			/* What has grown is more than what it was, with a port of the member. */
			assert_false(is_odd(step <= len ? &was : &now, step <= len ? &now : &was));
			if (was.len && m[n - (step <= len)].receives)
				assert_true(is_odd(step <= len ? &now : &was,
						   step <= len ? &was : &now));
			mtree_set_free(&was);
			mtree_set_free(&alone);
			was = now;
		}
		mtree_set_free(&was);
		mtree_free(t);
		mtree_free(fresh);
		free(ranks);
		fabric_unref(f);
	}
}

/* Trees of others, or half of one's own, are followed to where they are of use and no further. */
static void
test_follow_odd(void **state)
{
	static const char *const recipes[] = { "ft3 4", "torus 4 4 4 2" };

	(void)state;
	for (unsigned round = 0; round < 100; round++) {
		struct fabric *f = help_generate(recipes[round % 2], false, 0);
		struct mtree *t = mtree_new(f, NULL);
		struct mtree_set odd = { 0 }, set = { 0 };
		struct mtree_member m[MEMBERS];
		uint32_t len = draw_members(f, m, MEMBERS);

		for (uint32_t sw = 0; sw < f->nswitches; sw += 1 + draw(2)) {
			struct check_tree any = { .sw = sw };

			any.out[0] = (uint64_t)draw(256) << 1;
			mtree_set_add(&odd, MLID, &any);
		}
		mtree_follow(t, &odd);
		assert_int_equal(mtree_add(t, MLID, m, len, &set), 0);
		hold(f, NULL, m, len, &set);
		mtree_set_free(&odd);
		mtree_set_free(&set);
		mtree_free(t);
		fabric_unref(f);
	}
}

static bool
serves(const struct fabric *f, const struct mtree_set *set, const struct mtree_member *m,
       uint32_t len)
{
	return mtree_serves(f, set->trees, set->len, m, len);
}

/* One bit of a tree is another: what it leads to then is not what it led to. */
static void
spoil(const struct fabric *f, const struct mtree_set *set, const struct mtree_member *m,
      uint32_t len)
{
	for (unsigned i = 0; i < 20; i++) {
		struct check_tree *t = &set->trees[draw(set->len)];
		uint64_t bit = UINT64_C(1) << draw(fabric_switch_node(f, t->sw)->nports + 1u);

		t->out[0] ^= bit;
		assert_false(serves(f, set, m, len));
		t->out[0] ^= bit;
	}
}

/* A tree that somebody made by another order of switches is kept as it is for those members whose
 * it is, and for no others: not one more, not one less, and no receiver where there was none. */
static void
test_keep(void **state)
{
	static const char *const recipes[] = { "ft3 4", "ft3 8", "torus 4 4 4 2" };

	(void)state;
	for (unsigned round = 0; round < 150; round++) {
		struct fabric *f = help_generate(recipes[round % 3], false, 0);
		struct mtree *theirs = mtree_new(f, NULL), *ours;
		uint8_t *ranks = calloc(f->nswitches, 1);
		struct mtree_set was = { 0 }, now = { 0 };
		struct mtree_member m[MEMBERS + 1];
		uint32_t len = draw_members(f, m, 3 + draw(MEMBERS - 3));

		for (uint32_t sw = 0; sw < f->nswitches; sw++)
			ranks[sw] = (uint8_t)draw(8);
		ours = mtree_new(f, ranks);
		if (len > 2)
			m[len - 1].receives = m[0].receives = true;
		if (len > 2 && !mtree_add(theirs, MLID, m, len, &was)) {
			mtree_follow(ours, &was);
			assert_true(mtree_keep(ours, MLID, m, len, &now));
			assert_int_equal(now.len, was.len);
			assert_memory_equal(now.trees, was.trees, was.len * sizeof(*was.trees));
			assert_false(mtree_keep(ours, MLID + 1, m, len, &now));
			assert_false(mtree_keep(ours, MLID, m, len - 1, &now));
			m[0].receives = false;
			assert_false(mtree_keep(ours, MLID, m, len, &now));
			m[0].receives = true;
			assert_int_equal(now.len, was.len);
			spoil(f, &was, m, len);
			assert_true(serves(f, &was, m, len));
		}
		mtree_set_free(&was);
		mtree_set_free(&now);
		mtree_free(theirs);
		mtree_free(ours);
		free(ranks);
		fabric_unref(f);
	}
}

/* A ring of switches leads to all members, and is no tree; two trees are none either. */
static void
test_keep_no_tree(void **state)
{
	struct fabric *f = help_generate("ft3 4", false, 0);
	struct mtree_set ring = { 0 };
	struct mtree_member m[MEMBERS];
	uint32_t n = 0;

	(void)state;
	/* All ports of all switches. */
	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		const struct fabric_node *s = fabric_switch_node(f, sw);
		struct check_tree t = { .sw = sw };

		t.out[0] = ((UINT64_C(1) << s->nports) - 1) << 1;
		mtree_set_add(&ring, MLID, &t);
	}
	for (uint32_t node = 0; node < f->nnodes && n < MEMBERS; node++)
		if (f->nodes[node].type == NODE_CA)
			m[n++] = member_of(f, node);
	assert_int_equal(n, 16);
	assert_false(serves(f, &ring, m, n));
	/* Leaves without their ways up: each leads to its own members. */
	ring.len = 0;
	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		struct check_tree t = { .sw = sw };

		for (uint32_t i = 0; i < n; i++)
			if (m[i].sw == sw)
				t.out[0] |= UINT64_C(1) << m[i].port;
		if (t.out[0])
			mtree_set_add(&ring, MLID, &t);
	}
	assert_int_equal(ring.len, 8);
	assert_false(serves(f, &ring, m, n));
	ring.len = 1;
	assert_false(serves(f, &ring, m, n));
	assert_true(serves(f, &ring, m, 2));
	mtree_set_free(&ring);
	fabric_unref(f);
}

static void
test_alone(void **state)
{
	struct fabric *f = help_generate("ft3 4", false, 0);
	struct mtree *t = mtree_new(f, NULL);
	struct mtree_set set = { 0 };
	struct mtree_member m = member_of(f, draw_host(f));

	(void)state;
	assert_int_equal(mtree_add(t, MLID, &m, 1, &set), 0);
	assert_int_equal(mtree_add(t, MLID, &m, 0, &set), 0);
	assert_int_equal(set.len, 0);
	mtree_free(t);
	fabric_unref(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_fat_tree),
		cmocka_unit_test(test_follow),
		cmocka_unit_test(test_follow_odd),
		cmocka_unit_test(test_keep),
		cmocka_unit_test(test_keep_no_tree),
		cmocka_unit_test(test_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
