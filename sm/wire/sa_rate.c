/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/wire/sa_rate.h"

/*
 * Rate codes were given out as generations of links came, so one table says their speed, and every
 * order follows from that. Speeds are those that the specification names, of all lanes together:
 * the signalling rate up to FDR (2.5, 5, 10, 14.0625 Gb/s a lane), the data rate from EDR on (25,
 * 50, 100, 200), so that two lanes of EDR and one of HDR are the same 50 Gb/s. Searches walk the 23
 * codes; none is in a hot loop.
 *
 * A lifetime is better when it is less, so "the best that the request allows" looks upwards there
 * and downwards for MTUs and rates.
 */
#define MTU_MAX 5

static const uint32_t mbps[SA_RATE_MAX + 1] = {
	[2] = 2500, [3] = 10000, [4] = 30000, [5] = 5000, [6] = 20000, [7] = 40000,
	[8] = 60000, [9] = 80000, [10] = 120000, [11] = 14062, [12] = 56250, [13] = 112500,
	[14] = 168750, [15] = 25000, [16] = 100000, [17] = 200000, [18] = 300000, [19] = 28125,
	[20] = 50000, [21] = 400000, [22] = 600000, [23] = 800000, [24] = 1200000,
};

uint32_t
sa_rate_mbps(unsigned code)
{
	return code <= SA_RATE_MAX ? mbps[code] : 0;
}

/* The fastest of the codes up to `code_max` with no more than so many Mb/s. */
static uint8_t
fastest(uint32_t limit, unsigned code_max)
{
	unsigned best = 0;

	for (unsigned i = SA_RATE_MIN; i <= code_max && i <= SA_RATE_MAX; i++)
		if (mbps[i] <= limit && mbps[i] > mbps[best])
			best = i;
	return (uint8_t)best;
}

/* This one is in the way of every path: a table, which follows from the two others (test_sa_rate.c
 * reckons it again). */
uint8_t
sa_rate_of(enum link_width width, enum link_speed speed)
{
	enum { W1X, W2X, W4X, W8X, W12X, WIDTHS };
	static const uint8_t column[] = {
		[LINK_1X] = W1X + 1, [LINK_2X] = W2X + 1, [LINK_4X] = W4X + 1,
		[LINK_8X] = W8X + 1, [LINK_12X] = W12X + 1,
	};
	static const uint8_t codes[][WIDTHS] = {
		[SPEED_SDR] = { 2, 5, 3, 6, 4 }, [SPEED_DDR] = { 5, 3, 6, 7, 8 },
		[SPEED_QDR] = { 3, 6, 7, 9, 10 }, [SPEED_FDR10] = { 3, 6, 7, 9, 10 },
		[SPEED_FDR] = { 11, 19, 12, 13, 14 }, [SPEED_EDR] = { 15, 20, 16, 17, 18 },
		[SPEED_HDR] = { 20, 16, 17, 21, 22 }, [SPEED_NDR] = { 16, 17, 21, 23, 24 },
		[SPEED_XDR] = { 17, 21, 23, 24, 24 },
	};

	if ((unsigned)width >= sizeof(column) || !column[width] ||
	    (unsigned)speed >= sizeof(codes) / sizeof(codes[0]))
		return 0;
	return codes[speed][column[width] - 1];
}

uint8_t
sa_rate_cap(unsigned code, unsigned code_max)
{
	return fastest(sa_rate_mbps(code), code_max);
}

uint8_t
sa_rate_told(unsigned code, unsigned max)
{
	return code <= max && sa_rate_mbps(code) <= sa_rate_mbps(max) ? (uint8_t)code :
		sa_rate_cap(sa_rate_mbps(code) > sa_rate_mbps(max) ? max : code, max);
}

int64_t
sa_life_ns(unsigned code)
{
	if (code > SA_LIFE_MAX)
		return 0;
	return code > 50 ? INT64_MAX : INT64_C(4096) << code;
}

bool
sa_is_value(enum sa_quantity q, unsigned code)
{
	switch (q) {
	case SA_OF_MTU:
		return code >= 1 && code <= MTU_MAX;
	case SA_OF_RATE:
		return sa_rate_mbps(code) != 0;
	case SA_OF_LIFE:
		return code <= SA_LIFE_MAX;
	}
	return false;
}

int
sa_compare(enum sa_quantity q, unsigned a, unsigned b)
{
	if (q == SA_OF_RATE && sa_rate_mbps(a) && sa_rate_mbps(b)) {
		a = sa_rate_mbps(a);
		b = sa_rate_mbps(b);
	}
	return (a > b) - (a < b);
}

static uint8_t
rate_next(unsigned code, int direction)
{
	unsigned best = 0;

	for (unsigned i = SA_RATE_MIN; i <= SA_RATE_MAX; i++)
		if (sa_compare(SA_OF_RATE, i, code) == direction &&
		    (!best || sa_compare(SA_OF_RATE, i, best) == -direction))
			best = i;
	return (uint8_t)best;
}

uint8_t
sa_lower(enum sa_quantity q, unsigned code)
{
	if (!sa_is_value(q, code))
		return 0;
	if (q == SA_OF_RATE)
		return rate_next(code, -1);
	return code ? (uint8_t)(code - 1) : 0;
}

uint8_t
sa_higher(enum sa_quantity q, unsigned code)
{
	if (!sa_is_value(q, code) || !sa_is_value(q, code + 1 - (q == SA_OF_RATE)))
		return 0;
	return q == SA_OF_RATE ? rate_next(code, 1) : (uint8_t)(code + 1);
}

bool
sa_fits(enum sa_quantity q, unsigned selector, unsigned wanted, unsigned have)
{
	int order = sa_compare(q, have, wanted);

	switch (selector) {
	case SA_GREATER:
		return order > 0;
	case SA_LESS:
		return order < 0;
	case SA_EXACTLY:
		return order == 0;
	}
	return true;
}

/* The value next to `wanted` on the side that `have` can be worsened to, or `have`. */
static unsigned
worsened(enum sa_quantity q, unsigned selector, unsigned wanted, unsigned have)
{
	bool up = q == SA_OF_LIFE;
	unsigned next;

	if (selector == SA_EXACTLY)
		return wanted;
	next = up ? sa_higher(q, wanted) : sa_lower(q, wanted);
	return sa_is_value(q, next) && sa_fits(q, selector, wanted, next) ? next : have;
}

uint8_t
sa_choose(enum sa_quantity q, unsigned selector, unsigned wanted, unsigned have, bool *found)
{
	unsigned v = have;
	int order;

	*found = selector >= SA_BEST || sa_is_value(q, wanted);
	if (!*found)
		return 0;
	if (!sa_fits(q, selector, wanted, have))
		v = worsened(q, selector, wanted, have);
	order = sa_compare(q, v, have);
	*found = sa_fits(q, selector, wanted, v) && (q == SA_OF_LIFE ? order >= 0 : order <= 0);
	return *found ? (uint8_t)v : 0;
}
