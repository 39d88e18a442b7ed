/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rates by their speed, and what a selector makes of rates, MTUs and lifetimes: against lists
 * written down here and a search through all values.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "sm/wire/sa_rate.h"

/* All codes from the slowest: 2.5, 5, 10, 14, 20, 25, 28, 30, 40, 50, 56, 60, 80, 100, 112, 120,
 * 168, 200, 300, 400, 600, 800, 1200 Gb/s. */
static const uint8_t by_speed[] = {
	2, 5, 3, 11, 6, 15, 19, 4, 7, 20, 12, 8, 9, 16, 13, 10, 14, 17, 18, 21, 22, 23, 24,
};
#define RATES (sizeof(by_speed) / sizeof(by_speed[0]))

static void
test_order(void **state)
{
	(void)state;
	assert_int_equal(RATES, SA_RATE_MAX - SA_RATE_MIN + 1);
	for (unsigned i = 0; i < RATES; i++) {
		uint8_t below = i ? by_speed[i - 1] : 0;
		uint8_t above = i + 1 < RATES ? by_speed[i + 1] : 0;

		assert_int_equal(sa_lower(SA_OF_RATE, by_speed[i]), below);
		assert_int_equal(sa_higher(SA_OF_RATE, by_speed[i]), above);
		for (unsigned k = 0; k < RATES; k++)
			assert_int_equal(sa_compare(SA_OF_RATE, by_speed[i], by_speed[k]),
					 (i > k) - (i < k));
	}
	assert_int_equal(sa_rate_mbps(2), 2500);
	assert_int_equal(sa_rate_mbps(12), 56250);
	assert_int_equal(sa_rate_mbps(23), 800000);
	for (unsigned code = 0; code < 300; code++) {
		bool is = code >= SA_RATE_MIN && code <= SA_RATE_MAX;

		assert_int_equal(sa_rate_mbps(code) != 0, is);
		assert_int_equal(sa_is_value(SA_OF_RATE, code), is);
		if (!is)
			assert_int_equal(sa_lower(SA_OF_RATE, code) |
					 sa_higher(SA_OF_RATE, code), 0);
	}
}

static void
test_links(void **state)
{
	static const struct {
		enum link_speed speed;
		uint8_t code[5];		/* of 1x, 2x, 4x, 8x, 12x */
	} links[] = {
		{ SPEED_SDR, { 2, 5, 3, 6, 4 } }, { SPEED_DDR, { 5, 3, 6, 7, 8 } },
		{ SPEED_QDR, { 3, 6, 7, 9, 10 } }, { SPEED_FDR10, { 3, 6, 7, 9, 10 } },
		{ SPEED_FDR, { 11, 19, 12, 13, 14 } }, { SPEED_EDR, { 15, 20, 16, 17, 18 } },
		{ SPEED_HDR, { 20, 16, 17, 21, 22 } }, { SPEED_NDR, { 16, 17, 21, 23, 24 } },
		{ SPEED_XDR, { 17, 21, 23, 24, 24 } },	/* there is no code for 1600 and 2400 */
	};
	static const enum link_width widths[] = { LINK_1X, LINK_2X, LINK_4X, LINK_8X, LINK_12X };

	(void)state;
	for (unsigned i = 0; i < sizeof(links) / sizeof(links[0]); i++)
		for (unsigned w = 0; w < 5; w++)
			assert_int_equal(sa_rate_of(widths[w], links[i].speed), links[i].code[w]);
	assert_int_equal(sa_rate_of(0, SPEED_NDR), 0);
	assert_int_equal(sa_rate_of(LINK_4X, SPEED_NONE), 0);
	assert_int_equal(sa_rate_of(LINK_4X, (enum link_speed)99), 0);
}

static void
test_caps(void **state)
{
	(void)state;
	assert_int_equal(sa_rate_cap(23, 24), 23);
	assert_int_equal(sa_rate_cap(23, 22), 22);
	assert_int_equal(sa_rate_cap(21, 18), 18);	/* 400: 300 */
	assert_int_equal(sa_rate_cap(16, 10), 9);	/* 100: 80 */
	assert_int_equal(sa_rate_cap(12, 10), 7);	/* 56: 40 */
	assert_int_equal(sa_rate_cap(11, 10), 3);	/* 14: 10 */
	assert_int_equal(sa_rate_cap(24, 10), 10);
	assert_int_equal(sa_rate_cap(2, 10), 2);
	assert_int_equal(sa_rate_cap(0, 24), 0);
	assert_int_equal(sa_rate_cap(25, 63), 0);
	assert_int_equal(sa_life_ns(0), 4096);
	assert_int_equal(sa_life_ns(18), INT64_C(4096) * 262144);
	assert_true(sa_life_ns(50) > 0 && sa_life_ns(63) == INT64_MAX);
	assert_int_equal(sa_life_ns(64), 0);
}

/* Place in the order from small to large; -1 for what is no value. */
static int
rank(enum sa_quantity q, unsigned v)
{
	if (q == SA_OF_MTU)
		return v >= 1 && v <= 5 ? (int)v : -1;
	if (q == SA_OF_LIFE)
		return v < 64 ? (int)v : -1;
	for (unsigned i = 0; i < RATES; i++)
		if (by_speed[i] == v)
			return (int)i;
	return -1;
}

static bool
satisfies(enum sa_quantity q, unsigned selector, unsigned wanted, unsigned v)
{
	int a = rank(q, v), b = rank(q, wanted);

	return selector == 0 ? a > b : selector == 1 ? a < b : selector == 2 ? a == b : true;
}

/* The best value that is no better than `have`, by looking at all of them; -1 = none. */
static int
search(enum sa_quantity q, unsigned selector, unsigned wanted, unsigned have)
{
	int best = -1;

	if (selector < 3 && rank(q, wanted) < 0)
		return -1;
	for (unsigned v = 0; v < 64; v++) {
		int sign = q == SA_OF_LIFE ? -1 : 1;

		if (rank(q, v) < 0 || sign * rank(q, v) > sign * rank(q, have) ||
		    !satisfies(q, selector, wanted, v))
			continue;
		if (best < 0 || sign * rank(q, v) > sign * rank(q, (unsigned)best))
			best = (int)v;
	}
	return best;
}

static void
test_selectors(void **state)
{
	bool found;

	(void)state;
	for (enum sa_quantity q = SA_OF_MTU; q <= SA_OF_LIFE; q++)
		for (unsigned have = 0; have < 64; have++)
			for (unsigned wanted = 0; rank(q, have) >= 0 && wanted < 64; wanted++)
				for (unsigned s = 0; s < 4; s++) {
					int best = search(q, s, wanted, have);
					uint8_t v = sa_choose(q, s, wanted, have, &found);

					assert_int_equal(found, best >= 0);
					assert_int_equal(v, best >= 0 ? best : 0);
					if (rank(q, wanted) >= 0)
						assert_int_equal(sa_fits(q, s, wanted, have),
								 satisfies(q, s, wanted, have));
				}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_links),
		cmocka_unit_test(test_caps),
		cmocka_unit_test(test_selectors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
