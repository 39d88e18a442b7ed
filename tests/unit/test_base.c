/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "sm/base/buf.h"
#include "sm/base/clock.h"
#include "sm/base/error.h"
#include "sm/base/intern.h"
#include "sm/base/list.h"
#include "sm/base/map.h"
#include "sm/base/mem.h"
#include "sm/base/parallel.h"
#include "sm/base/table.h"

/*
 * Errors, memory, buffers, lists, maps, clocks, tables and parallel loops. Containers are compared
 * with a model so simple that it cannot be wrong: an array that is searched, bytes that count up.
 */

/* A generator of the test's own, so that failures repeat. */
static uint64_t
next_random(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return *state >> 33;
}

static void
test_error(void **state)
{
	struct error e = { 0 };

	(void)state;
	assert_int_equal(error_set(&e, ERR_FORMAT, "line %d", 7), ERR_FORMAT);
	assert_int_equal(e.code, ERR_FORMAT);
	assert_string_equal(e.text, "line 7");
	error_set(&e, ERR_INVALID, "weft.yaml: %s", e.text);
	assert_string_equal(e.text, "weft.yaml: line 7");
	error_set(&e, ERR_IO, "\033[2J\a%s", "\177");
	assert_string_equal(e.text, "?[2J??");
	error_set(&e, ERR_IO, "two\nlines");
	assert_string_equal(e.text, "two lines");
	error_set(&e, ERR_IO, "%0600d", 1);
	assert_int_equal(strlen(e.text), sizeof(e.text) - 1);
	assert_int_equal(error_set(NULL, ERR_FULL, "nobody reads this"), ERR_FULL);
}

static void
test_error_names(void **state)
{
	(void)state;
	assert_string_equal(error_name(ERR_TIMEOUT), "timeout");
	assert_string_equal(error_name(ERR_FULL), "full");
	for (int i = ERR_FULL; i <= ERR_NOMEM; i++) {
		assert_string_not_equal(error_name(i), "unknown error");
		for (int k = ERR_FULL; k < i; k++)
			assert_string_not_equal(error_name(i), error_name(k));
	}
	assert_string_equal(error_name(ERR_FULL - 1), "unknown error");
	assert_string_equal(error_name(INT32_MIN), "unknown error");
	assert_string_equal(error_name(1), "unknown error");
}

static void
test_mem(void **state)
{
	unsigned char *p = mem_array(100, 3);
	char *s;

	(void)state;
	for (size_t i = 0; i < 300; i++)
		assert_int_equal(p[i], 0);
	memset(p, 7, 300);
	p = mem_realloc(p, 1000, 3);
	for (size_t i = 0; i < 300; i++)
		assert_int_equal(p[i], 7);
	mem_free(p);
	s = mem_strdup("weft");
	assert_string_equal(s, "weft");
	mem_free(s);
	p = mem_alloc(0);
	assert_non_null(p);
	mem_free(p);
	mem_free(NULL);
}

/* Run fn in a child process; its exit status, and what it said on stderr. */
static int
in_child(void (*fn)(void), char *said, size_t size)
{
	int fds[2], status;
	size_t len = 0;
	ssize_t n;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		dup2(fds[1], STDERR_FILENO);
		fn();
		_exit(99);
	}
	close(fds[1]);
	while ((n = read(fds[0], said + len, size - 1 - len)) > 0)
		len += (size_t)n;
	said[len] = '\0';
	close(fds[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void
overflow_array(void)
{
	mem_array(SIZE_MAX / 2, 3);
}

static void
overflow_region(void)
{
	region_array(region_new(), SIZE_MAX / 2, 3);
}

static void
overflow_region_header(void)
{
	region_alloc(region_new(), SIZE_MAX - 20);
}

static void
test_mem_overflow(void **state)
{
	void (*const cases[])(void) = { overflow_array, overflow_region, overflow_region_header };
	char said[500];

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(in_child(cases[i], said, sizeof(said)), 1);
		assert_non_null(strstr(said, "out of memory"));
		assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1);
	}
}

/* Pieces of all sizes: zeroed, aligned, none overlaps another, and little is wasted. */
static void
test_region(void **state)
{
	enum { PIECES = 2000 };
	static unsigned char *pieces[PIECES];
	static size_t sizes[PIECES];
	struct region *r = region_new();
	uint64_t seed = 1;
	size_t total = 0;

	(void)state;
	for (size_t i = 0; i < PIECES; i++) {
		sizes[i] = next_random(&seed) % (i % 100 ? 300 : 100000);
		pieces[i] = region_alloc(r, sizes[i]);
		assert_int_equal((uintptr_t)pieces[i] % 16, 0);
		for (size_t k = 0; k < sizes[i]; k++)
			assert_int_equal(pieces[i][k], 0);
		memset(pieces[i], (int)(i % 251) + 1, sizes[i]);
		total += sizes[i];
	}
	for (size_t i = 0; i < PIECES; i++) {
		for (size_t k = 0; k < sizes[i]; k++)
			assert_int_equal(pieces[i][k], i % 251 + 1);
	}
	assert_true(region_size(r) >= total);
	assert_true(region_size(r) < total * 3);
	region_free(r);
	region_free(NULL);
}

static void
test_region_text(void **state)
{
	struct region *r = region_new();
	char *s = region_strdup(r, "spine-1");
	char *t = region_printf(r, "%s port %u", s, 36u);
	uint64_t *a = region_array(r, 1000000, 8);

	(void)state;
	assert_string_equal(s, "spine-1");
	assert_string_equal(t, "spine-1 port 36");
	assert_int_equal(a[999999], 0);
	a[0] = a[999999] = 1;
	assert_string_equal(t, "spine-1 port 36");
	region_free(r);
}

static void
test_buf(void **state)
{
	struct buf b = { 0 };

	(void)state;
	buf_consume(&b, 0);
	buf_clear(&b);
	assert_null(b.data);
	buf_str(&b, "lid ");
	buf_printf(&b, "%d", 49151);
	buf_char(&b, '.');
	assert_string_equal(b.data, "lid 49151.");
	assert_int_equal(b.len, 10);
	buf_consume(&b, 4);
	assert_string_equal(b.data, "49151.");
	buf_add(&b, "\0x", 2);
	assert_memory_equal(b.data, "49151.\0x", 9);
	assert_int_equal(b.len, 8);
	buf_printf(&b, "%0500d|", 5);
	assert_int_equal(b.len, 509);
	assert_int_equal(b.data[507], '5');
	assert_int_equal(b.data[509], '\0');
	buf_consume(&b, 10000);
	assert_int_equal(b.len, 0);
	assert_string_equal(b.data, "");
	buf_free(&b);
	assert_null(b.data);
}

/* A stream through the buffer comes out as it went in, and memory stays near what is held. */
static void
test_buf_stream(void **state)
{
	struct buf b = { 0 };
	uint64_t seed = 3;
	unsigned in = 0, out = 0;
	size_t most = 0;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		for (size_t n = next_random(&seed) % 100; n; n--)
			buf_char(&b, (char)(in++ % 251));
		most = b.len > most ? b.len : most;
		if (b.len > 2000 || i % 1000 == 999) {
			size_t n = b.len - next_random(&seed) % (b.len / 2 + 1);

			for (size_t k = 0; k < n; k++)
				assert_int_equal((unsigned char)b.data[k], out++ % 251);
			buf_consume(&b, n);
		}
		assert_int_equal(b.data[b.len], '\0');
	}
	assert_int_equal(in - out, b.len);
	assert_true(b.size + b.head <= 4 * most);
	buf_free(&b);
}

struct item {
	int number;		/* to tell them apart */
	struct list list;	/* under test */
};

static void
test_list(void **state)
{
	struct item items[4] = { { 0, { 0 } }, { 1, { 0 } }, { 2, { 0 } }, { 3, { 0 } } };
	int order[4], n = 0;
	struct list head;

	(void)state;
	list_init(&head);
	assert_null(list_pop(&head));
	for (int i = 1; i < 4; i++)
		list_append(&head, &items[i].list);
	list_prepend(&head, &items[0].list);
	list_each(it, &head) {
		struct item *item = list_entry(it, struct item, list);

		order[n++] = item->number;
		if (item->number == 1)
			list_remove(it);
	}
	assert_int_equal(n, 4);
	for (int i = 0; i < 4; i++)
		assert_int_equal(order[i], i);
	list_remove(&items[1].list);
	assert_ptr_equal(list_pop(&head), &items[0].list);
	assert_ptr_equal(list_pop(&head), &items[2].list);
	assert_ptr_equal(list_pop(&head), &items[3].list);
	assert_true(list_empty(&head));
}

/* Few keys and many removals, so that runs of slots grow, wrap round the end and break up. */
static void
test_map_model(void **state)
{
	enum { KEYS = 90 };
	uint64_t keys[KEYS], seed = 5;
	uint32_t model[KEYS];
	struct map m = { 0 };
	size_t held = 0;

	(void)state;
	for (size_t i = 0; i < KEYS; i++) {
		keys[i] = UINT64_C(0x506b4b0300000000) + (i << (i % 3 * 16));
		model[i] = MAP_NONE;
	}
	keys[0] = 0;
	keys[1] = UINT64_MAX;
	for (int round = 0; round < 100000; round++) {
		size_t i = next_random(&seed) % KEYS;

		if (next_random(&seed) % 2) {
			held += model[i] == MAP_NONE;
			model[i] = (uint32_t)round;
			map_set(&m, keys[i], model[i]);
		} else {
			held -= model[i] != MAP_NONE;
			model[i] = MAP_NONE;
			map_remove(&m, keys[i]);
		}
		assert_int_equal(m.len, held);
		for (size_t k = round % 64 ? i : 0; k < (round % 64 ? i + 1 : KEYS); k++)
			assert_int_equal(map_get(&m, keys[k]), model[k]);
	}
	assert_int_equal(m.size, 128);
	map_clear(&m);
	for (size_t i = 0; i < KEYS; i++)
		assert_int_equal(map_get(&m, keys[i]), MAP_NONE);
	map_free(&m);
	assert_int_equal(map_get(&m, keys[0]), MAP_NONE);
	map_remove(&m, keys[0]);
}

/* Against a model: who holds what. A value keeps its number while anybody holds it, and places of
 * what went are used again. */
static void
test_intern(void **state)
{
	enum { HOLDERS = 60, VALUES = 40 };
	uint32_t held[HOLDERS] = { 0 }, count[VALUES] = { 0 };
	uint16_t what[HOLDERS] = { 0 };
	uint64_t seed = 7;
	struct intern t;

	(void)state;
	intern_init(&t, sizeof(*what));
	for (int round = 0; round < 20000; round++) {
		size_t i = next_random(&seed) % HOLDERS, k = next_random(&seed) % HOLDERS;

		if (held[i] != INTERN_NONE) {
			count[what[i]]--;
			intern_drop(&t, held[i]);
		}
		what[i] = (uint16_t)(next_random(&seed) % VALUES);
		if (held[k] != INTERN_NONE && k != i && round % 3 == 0) {
			what[i] = what[k];
			held[i] = intern_share(&t, held[k]);
		} else if (round % 7) {
			held[i] = intern_take(&t, &what[i]);
		} else {
			held[i] = INTERN_NONE;
			continue;
		}
		count[what[i]]++;
		for (size_t h = 0; h < HOLDERS; h++) {
			if (held[h] == INTERN_NONE)
				continue;
			assert_memory_equal(intern_at(&t, held[h]), &what[h], sizeof(*what));
			assert_int_equal(t.refs[held[h]], count[what[h]]);
			assert_true((held[h] == held[i]) == (what[h] == what[i]));
		}
	}
	assert_true(t.len <= VALUES + 1);
	intern_drop(&t, INTERN_NONE);
	assert_int_equal(intern_share(&t, INTERN_NONE), INTERN_NONE);
	for (size_t h = 0; h < HOLDERS; h++)
		intern_drop(&t, held[h]);
	assert_int_equal(t.by_hash.len, 0);
	intern_free(&t);
}

/* Values from the authors' list of test vectors. */
static void
test_map_text(void **state)
{
	(void)state;
	assert_true(map_text("", 0) == 0xcbf29ce484222325u);
	assert_true(map_text("a", 1) == 0xaf63dc4c8601ec8cu);
	assert_true(map_text("foobar!", 6) == 0x85944171f73967e8u);
}

/* GUIDs as one vendor hands them out, in steps of 2 to the n, must not pile up in few slots. */
static void
test_map_spread(void **state)
{
	enum { LEN = 20000 };
	const uint64_t first = UINT64_C(0x0002c90300000000);

	(void)state;
	for (unsigned shift = 0; shift < 48; shift += 4) {
		struct map m = { 0 };
		size_t longest = 0, run = 0;

		for (uint64_t i = 0; i < LEN; i++)
			map_set(&m, first + (i << shift), (uint32_t)i);
		for (uint64_t i = 0; i < LEN; i++)
			assert_int_equal(map_get(&m, first + (i << shift)), i);
		for (size_t i = 0; i < m.size; i++) {
			run = m.values[i] == MAP_NONE ? 0 : run + 1;
			longest = run > longest ? run : longest;
		}
		/* at load 0.61 runs of random keys stay well under 16 ln(size) */
		assert_in_range(longest, 1, 160);
		map_free(&m);
	}
}

static void
test_clock_text(void **state)
{
	char text[CLOCK_TEXT_SIZE];

	(void)state;
	assert_string_equal(clock_text(text, INT64_C(1795986791123999)),
			    "2026-11-29T21:13:11.123Z");
	assert_string_equal(clock_text(text, INT64_C(1709164800000000)),
			    "2024-02-29T00:00:00.000Z");
	assert_string_equal(clock_text(text, 0), "1970-01-01T00:00:00.000Z");
	assert_string_equal(clock_text(text, -1), "1969-12-31T23:59:59.999Z");
	assert_true(strlen(clock_text(text, INT64_MAX)) < CLOCK_TEXT_SIZE);
	assert_true(strlen(clock_text(text, INT64_MIN)) < CLOCK_TEXT_SIZE);
	assert_true(clock_wall() > INT64_C(1700000000000000));
	assert_true(clock_monotonic() <= clock_monotonic());
}

static void
test_backoff(void **state)
{
	static const int waits[] = { 5, 5, 10, 20, 40, 60, 60 };

	(void)state;
	for (unsigned i = 0; i < sizeof(waits) / sizeof(waits[0]); i++)
		assert_int_equal(backoff_delay(SEC(5), SEC(60), i), SEC(waits[i]));
	assert_int_equal(backoff_delay(SEC(5), SEC(60), UINT32_MAX), SEC(60));
	assert_int_equal(backoff_delay(SEC(5), SEC(3), 1), SEC(3));
}

static void
test_duration_text(void **state)
{
	static const struct {
		monotime d;		/* duration */
		const char *text;	/* as people read it */
	} cases[] = {
		{ 0, "0 ns" },
		{ 999, "999 ns" },
		{ 1000, "1.00 us" },
		{ USEC(850), "850 us" },
		{ 999499, "999 us" },
		{ 999500, "1.00 ms" },
		{ 12345678, "12.3 ms" },
		{ MSEC(4210), "4.21 s" },
		{ MSEC(9995), "10.0 s" },
		{ MSEC(59940), "59.9 s" },
		{ MSEC(59960), "1 min" },
		{ SEC(200), "3 min 20 s" },
		{ MSEC(3599600), "1 h" },
		{ SEC(7500), "2 h 5 min" },
		{ SEC(86400) - 1, "1 d" },
		{ SEC(86400 * 3 + 7200), "3 d 2 h" },
		{ -MSEC(5), "-5.00 ms" },
		{ INT64_MAX - 1, "106752 d" },	/* 2^63 ns are 106751 d 23.79 h */
		{ INT64_MIN, "-106752 d" },
		{ MONOTIME_NEVER, "never" },
	};
	char text[DURATION_TEXT_SIZE];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(duration_text(text, cases[i].d), cases[i].text);
}

static void
print_to(struct table *t, char *out, size_t size)
{
	FILE *f = fmemopen(out, size, "w");

	assert_non_null(f);
	table_print(t, f);
	fclose(f);
}

static void
test_table(void **state)
{
	static const struct table_column columns[] = {
		{ "Node", false }, { "LID", true }, { "Link", false },
	};
	struct table *t = table_new(columns, 3);
	char out[500] = "";

	(void)state;
	print_to(t, out, sizeof(out));
	assert_string_equal(out, "");
	table_cell(t, "leaf-%d", 1);
	table_cell(t, "%d", 7);
	table_cell(t, "4xNDR");
	table_cell(t, "Z\xc3\xbcrich");
	table_cell(t, "%d", 12345);
	table_cell(t, "%s", "");
	table_cell(t, "\xe7\xb6\xb2");
	assert_int_equal(table_rows(t), 3);
	print_to(t, out, sizeof(out));
	assert_string_equal(out,
			    "Node      LID  Link\n"
			    "leaf-1      7  4xNDR\n"
			    "Z\xc3\xbcrich  12345  -\n"
			    "\xe7\xb6\xb2          -  -\n");
	table_free(t);
	table_free(NULL);
}

/* A NodeDescription may try to speak to the terminal. */
static void
test_table_hostile(void **state)
{
	static const struct table_column columns[] = { { "A", false }, { "B", true } };
	struct table *t = table_new(columns, 2);
	char out[3000] = "", want[3000];
	char longest[701];

	(void)state;
	memset(longest, 'x', 700);
	longest[700] = '\0';
	table_cell(t, "a\x1b[2J\n");
	table_cell(t, "%s", longest);
	table_cell(t, "\xff\xc2\x9b" "e\xcc\x81");
	table_cell(t, "1");
	print_to(t, out, sizeof(out));
	/* column A is 6 wide, the accent is not counted; "B" and "1" end with the longest */
	snprintf(want, sizeof(want), "%-8s%700s\n%s  %s\n%s%5s%700s\n", "A", "B",
		 "a\xef\xbf\xbd[2J\xef\xbf\xbd", longest,
		 "\xef\xbf\xbd\xef\xbf\xbd" "e\xcc\x81", "", "1");
	assert_string_equal(out, want);
	table_free(t);
}

struct tally {
	atomic_uint seen[10007];	/* calls that covered each item */
	atomic_uint threads[64];	/* calls by each thread number */
	size_t grain;			/* the most that a slice may hold */
};

static void
count_slice(void *arg, unsigned thread, size_t first, size_t end)
{
	struct tally *t = arg;

	if (end - first > t->grain || end <= first)
		abort();
	t->threads[thread]++;
	for (size_t i = first; i < end; i++)
		t->seen[i]++;
}

static void
test_parallel(void **state)
{
	static const struct {
		unsigned threads;	/* asked for */
		size_t len;		/* items */
		size_t grain;		/* of a slice */
		unsigned slices;	/* ceil(len / grain) */
	} cases[] = {
		{ 4, 10007, 10, 1001 }, { 1, 10007, 100, 101 }, { 0, 1000, 1, 1000 },
		{ 64, 3, 1, 3 }, { 3, 10, 100, 1 }, { 2, 0, 1, 0 }, { 2, 5, 0, 5 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct tally *t = mem_zalloc(sizeof(*t));
		unsigned calls = 0;

		t->grain = cases[i].grain ? cases[i].grain : 1;
		parallel_run(cases[i].threads, cases[i].len, cases[i].grain, count_slice, t);
		for (size_t k = 0; k < 10007; k++)
			assert_int_equal(t->seen[k], k < cases[i].len);
		for (unsigned k = 0; k < 64; k++) {
			calls += t->threads[k];
			if (k >= parallel_threads(cases[i].threads))
				assert_int_equal(t->threads[k], 0);
		}
		assert_int_equal(calls, cases[i].slices);
		mem_free(t);
	}
	assert_int_equal(parallel_threads(1), 1);
	assert_int_equal(parallel_threads(1000), 64);
	assert_in_range(parallel_threads(0), 1, 64);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_error),
		cmocka_unit_test(test_error_names),
		cmocka_unit_test(test_mem),
		cmocka_unit_test(test_mem_overflow),
		cmocka_unit_test(test_region),
		cmocka_unit_test(test_region_text),
		cmocka_unit_test(test_buf),
		cmocka_unit_test(test_buf_stream),
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_map_model),
		cmocka_unit_test(test_intern),
		cmocka_unit_test(test_map_spread),
		cmocka_unit_test(test_map_text),
		cmocka_unit_test(test_clock_text),
		cmocka_unit_test(test_backoff),
		cmocka_unit_test(test_duration_text),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_table_hostile),
		cmocka_unit_test(test_parallel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
