/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <malloc.h>
#include <string.h>
#include "sm/fabric/plan_row.h"

/*
 * Rows of tables that share blocks. Many rows made from each other, by all that makes rows, are
 * held against plain arrays; which of them share what is told by addresses.
 */
#define TOP 1300u	/* 21 blocks: five may be a row's own */
#define LEN 1344u
#define POOL 12u

static uint64_t seed = 42;

static uint32_t
any(uint32_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 11) % below;
}

struct twin {
	struct plan_row *row;	/* what is tested */
	uint32_t len;		/* entries that it should have */
	uint8_t port[4 * LEN];	/* and these are they */
};

static void
assert_twin(const struct twin *t)
{
	uint8_t room[4 * LEN];

	assert_int_equal(t->row->len, t->len);
	for (uint32_t lid = 0; lid < t->len; lid++)
		if (plan_row_port(t->row, lid) != t->port[lid])
			fail_msg("LID %u: %u, not %u", lid, plan_row_port(t->row, lid),
				 t->port[lid]);
	for (unsigned i = 0; i < 8; i++) {
		uint16_t lids[3] = { (uint16_t)any(t->len), (uint16_t)any(t->len),
				     (uint16_t)any(t->len + 64) };
		uint8_t third = lids[2] < t->len ? t->port[lids[2]] : LFT_NO_PORT;
		bool ports[256] = { [0] = i & 1, [1] = i & 2, [LFT_NO_PORT] = i & 4 };

		assert_int_equal(plan_row_uses(t->row, ports, lids, 3), ports[t->port[lids[0]]] ||
				 ports[t->port[lids[1]]] || ports[third]);
	}
	plan_row_read(t->row, room, t->len);
	assert_memory_equal(room, t->port, t->len);
	assert_int_equal(plan_row_port(t->row, t->len), LFT_NO_PORT);
}

static void
twin_new(struct twin *t)
{
	t->row = plan_row_blank(TOP);
	t->len = LEN;
	for (uint32_t lid = 0; lid < LEN; lid++)
		t->port[lid] = plan_row_entries(t->row)[lid] = (uint8_t)any(4);
}

static void
twin_resize(struct twin *t, const struct twin *from, uint16_t top)
{
	*t = *from;
	t->row = plan_row_resized(from->row, top);
	t->len = plan_row_len(top);
	if (t->len > from->len)
		memset(t->port + from->len, LFT_NO_PORT, t->len - from->len);
}

static void
twin_set(struct twin *t)
{
	uint32_t block = any(t->len / LFT_BLOCK_LEN);

	for (unsigned i = any(4); i > 0; i--) {
		uint32_t lid = any(3) ? block * LFT_BLOCK_LEN + any(LFT_BLOCK_LEN) : any(t->len);

		t->port[lid] = (uint8_t)any(4);
		plan_row_set(&t->row, lid, t->port[lid]);
	}
}

static uint32_t
naive_differs(const struct twin *a, const struct twin *b, uint32_t block)
{
	uint32_t most = (a->len > b->len ? a->len : b->len) / LFT_BLOCK_LEN;

	for (; block < most; block++) {
		uint32_t at = block * LFT_BLOCK_LEN;

		if (at >= a->len || at >= b->len ||
		    memcmp(a->port + at, b->port + at, LFT_BLOCK_LEN) != 0)
			return block;
	}
	return most;
}

static void
assert_pair(const struct twin *a, const struct twin *b)
{
	uint32_t block = any(a->len / LFT_BLOCK_LEN), first = naive_differs(a, b, 0);

	assert_int_equal(plan_row_differs(a->row, b->row, 0), first);
	assert_int_equal(plan_row_differs(a->row, b->row, block), naive_differs(a, b, block));
	assert_int_equal(plan_row_equal(a->row, b->row),
			 a->len == b->len && first == a->len / LFT_BLOCK_LEN);
}

static void
step(struct twin *pool)
{
	struct twin *a = &pool[any(POOL)], *b = &pool[any(POOL)];
	uint32_t what = any(20);

	if (what < 12) {
		twin_set(a);
	} else if (what < 14) {
		a->row = plan_row_settle(a->row, b->row);
	} else if (a != b) {
		plan_row_unref(a->row);
		if (what == 14)
			twin_new(a);
		else if (what == 15)
			twin_resize(a, b, (uint16_t)any(2 * TOP));
		else if (what < 18)
			*a = *b, a->row = plan_row_ref(b->row);
		else
			*a = *b, a->row = plan_row_copy(b->row);
	}
	assert_twin(a);
	assert_twin(b);
	assert_pair(a, b);
}

/* Whatever is made of what, in whatever order they go. */
static void
test_random(void **state)
{
	static struct twin pool[POOL];

	(void)state;
	for (unsigned i = 0; i < POOL; i++)
		twin_new(&pool[i]);
	for (unsigned i = 0; i < 30000; i++)
		step(pool);
	for (unsigned i = 0; i < POOL; i++)
		assert_twin(&pool[i]);
	for (unsigned i = 0; i < POOL; i++)
		plan_row_unref(pool[i].row);
}

/* The row stays as it was, and all blocks but the one that changes are the very same. */
static void
test_sharing(void **state)
{
	struct plan_row *first = plan_row_new(TOP), *next = plan_row_ref(first), *last;

	(void)state;
	plan_row_set(&next, 700, 3);
	assert_true(next != first);
	for (uint32_t block = 0; block < 21; block++)
		assert_int_equal(plan_row_block(next, block) == plan_row_block(first, block),
				 block != 10);
	last = plan_row_copy(next);
	plan_row_set(&last, 64, 9);
	for (uint32_t block = 0; block < 21; block++)
		assert_int_equal(plan_row_block(last, block) == plan_row_block(first, block),
				 block != 10 && block != 1);
	/* The one in the middle may go, and so may the first. */
	plan_row_unref(next);
	plan_row_unref(first);
	assert_int_equal(plan_row_port(last, 700), 3);
	assert_int_equal(plan_row_port(last, 64), 9);
	assert_int_equal(plan_row_port(last, 65), LFT_NO_PORT);
	plan_row_unref(last);
}

/* What is made anew and found to be the same is the old row, or its blocks. */
static void
test_settle(void **state)
{
	struct plan_row *first = plan_row_new(TOP), *next = plan_row_copy(first), *made;

	(void)state;
	plan_row_set(&next, 5, 1);
	made = plan_row_settle(plan_row_new(TOP), next);
	assert_true(made == first);
	plan_row_unref(made);
	made = plan_row_new(TOP);
	plan_row_set(&made, 5, 1);
	made = plan_row_settle(made, next);
	assert_true(made == next);
	plan_row_unref(made);
	made = plan_row_new(TOP);
	plan_row_set(&made, 5, 2);
	made = plan_row_settle(made, next);
	assert_true(plan_row_block(made, 1) == plan_row_block(first, 1));
	assert_int_equal(plan_row_port(made, 5), 2);
	/* A change that is taken back. */
	plan_row_set(&made, 5, LFT_NO_PORT);
	made = plan_row_settle(made, next);
	assert_true(made == first);
	plan_row_unref(made);
	plan_row_unref(next);
	plan_row_unref(first);
}

static void
repair_often(struct plan_row **row, unsigned times)
{
	while (times-- > 0) {
		struct plan_row *next = plan_row_ref(*row);

		for (unsigned i = any(4); i > 0; i--)
			plan_row_set(&next, any(LEN), (uint8_t)any(4));
		next = plan_row_settle(next, *row);
		plan_row_unref(*row);
		*row = next;
	}
}

/* A thousand repairs hold no more memory than ten: a whole row, and a quarter of it and an index
 * at most. */
static void
test_series(void **state)
{
	struct plan_row *row = plan_row_new(TOP);
	size_t before = mallinfo2().uordblks, most = 0;

	(void)state;
	for (unsigned i = 0; i < 100; i++) {
		size_t now;

		repair_often(&row, 10);
		now = mallinfo2().uordblks;
		most = now > before && now - before > most ? now - before : most;
	}
	assert_true(most < LEN);
	plan_row_unref(row);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random), cmocka_unit_test(test_sharing),
		cmocka_unit_test(test_settle), cmocka_unit_test(test_series),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
