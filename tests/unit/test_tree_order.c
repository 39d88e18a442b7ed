/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "routing/engine.h"
#include "routing/tree_order.h"
#include "tests/unit/tree_fault.h"

/* The order of switches after losses, held against a search over all ways. */
static uint32_t
draw(uint64_t *seed, uint32_t below)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*seed >> 33) % below;
}

static bool
leads_up(const uint16_t *rank, uint32_t from, uint32_t to)
{
	return rank[to] != rank[from] ? rank[to] < rank[from] : to < from;
}

static uint32_t
count_tops(const struct fabric *f, const uint16_t *rank)
{
	uint32_t n = 0;

	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		bool top = true;

		for (uint32_t k = f->edge_first[sw]; k < f->edge_first[sw + 1]; k++)
			top &= !leads_up(rank, sw, f->edges[k].to);
		n += top;
	}
	return n;
}

/* dist[]: of the shortest ways from a switch that climb and then descend; UINT16_MAX: none. */
static void
search(const struct fabric *f, const uint16_t *rank, uint32_t from, uint16_t *dist)
{
	uint32_t n = f->nswitches, len = 0;
	uint16_t *state = mem_array(2 * (size_t)n, sizeof(*state));
	uint32_t *queue = mem_array(2 * (size_t)n, sizeof(*queue));

	memset(state, 0xff, 2 * (size_t)n * sizeof(*state));
	memset(dist, 0xff, n * sizeof(*dist));
	state[from] = 0;
	queue[len++] = from;
	for (uint32_t i = 0; i < len; i++) {
		uint32_t sw = queue[i] % n;
		bool descends = queue[i] >= n;

		if (state[queue[i]] < dist[sw])
			dist[sw] = state[queue[i]];
		for (uint32_t k = f->edge_first[sw]; k < f->edge_first[sw + 1]; k++) {
			bool up = leads_up(rank, sw, f->edges[k].to);
			uint32_t next = f->edges[k].to + (up ? 0 : n);

			if ((up && descends) || state[next] != UINT16_MAX)
				continue;
			state[next] = (uint16_t)(state[queue[i]] + 1);
			queue[len++] = next;
		}
	}
	mem_free(state);
	mem_free(queue);
}

static void
assert_no_way_lost(const struct fabric *f, const uint16_t *before, const uint16_t *after)
{
	uint16_t *was = mem_array(f->nswitches, sizeof(*was));
	uint16_t *is = mem_array(f->nswitches, sizeof(*is));

	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		search(f, before, sw, was);
		search(f, after, sw, is);
		for (uint32_t to = 0; to < f->nswitches; to++)
			assert_true(is[to] <= was[to]);
	}
	mem_free(was);
	mem_free(is);
}

/* Ranks of the whole fabric's plan, for the switches that are left. */
static void
inherit(const struct plan *whole, const struct fabric *f, uint16_t *rank)
{
	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		uint32_t node = fabric_node_by_guid(whole->fabric,
						    fabric_switch_node(f, sw)->guid);

		rank[sw] = whole->ranks[whole->fabric->nodes[node].sw];
	}
}

static void
hurt(struct tree_fault *t, uint64_t *seed)
{
	const struct fabric *f = t->whole;
	unsigned len = 1 + draw(seed, 8);

	memset(t->out, 0, f->nports * sizeof(*t->out));
	memset(t->off, 0, f->nnodes * sizeof(*t->off));
	for (unsigned i = 0; i < len; i++) {
		uint32_t port = draw(seed, f->nports), sw = draw(seed, f->nswitches);

		if (f->ports[port].peer != FABRIC_NONE)
			fault_cable(t, port, true);
		t->off[f->switches[sw]] |= i % 3 == 0 && draw(seed, 3) == 0;
	}
}

/* Whatever is lost, no pair of switches is farther apart, and there are no more tops. */
static void
test_random(void **state)
{
	static const char *const recipes[] = {
		"ft2 6 4 1", "ft3 4", "ft3 6", "xgft 3 3 3 4 1 3 2", "xgft 4 2 2 3 2 1 2 2 2",
		"random 14 5 1 7", "torus 4 3 2 1",
	};
	uint64_t seed = 99;
	unsigned settled = 0;

	(void)state;
	for (size_t i = 0; i < 40 * sizeof(recipes) / sizeof(recipes[0]); i++) {
		static const char *const names[] = { "fattree", NULL };
		struct chain_options o = { .engines = names, .engine = { .threads = 1 } };
		struct fabric *f = help_generate(recipes[i % (sizeof(recipes) /
					sizeof(recipes[0]))], true, i + 1), *hurt_one;
		struct plan *whole = plan_new(f);
		uint16_t *before = mem_array(f->nswitches, sizeof(*before));
		uint16_t *after = mem_array(f->nswitches, sizeof(*after));
		struct tree_fault t;
		struct error e = { 0 };

		whole->lids = help_lids(f, 0);
		if (engine_chain(whole, NULL, NULL, &o, &e))
			fail_msg("%s", e.text);
		fault_init(&t, f);
		hurt(&t, &seed);
		hurt_one = fault_fabric(&t);
		inherit(whole, hurt_one, before);
		memcpy(after, before, f->nswitches * sizeof(*after));
		if (tree_order_settle(hurt_one, after))
			settled += count_tops(hurt_one, after) < count_tops(hurt_one, before);
		else
			assert_memory_equal(after, before, hurt_one->nswitches * sizeof(*after));
		assert_true(count_tops(hurt_one, after) <= count_tops(hurt_one, before));
		assert_no_way_lost(hurt_one, before, after);
		mem_free(before);
		mem_free(after);
		fault_free(&t);
		fabric_unref(hurt_one);
		plan_unref(whole);
		fabric_unref(f);
	}
	assert_true(settled > 60);
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_random) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
