/* SPDX-License-Identifier: BSD-2-Clause */
/* Max-min fair shares: small cases solved by hand, and many random ones against plain filling in
 * small steps of the definition. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "sim/traffic/share.h"

#define LINKS 12u
#define WAYS 10u
#define FLOWS 24u
#define MANY 1e18

static void
near(double a, double b)
{
	if (fabs(a - b) > 1e-6 * (1 + fabs(b)))
		fail_msg("%.9g, not %.9g", a, b);
}

/* Links of 1 and 2: a flow over both, one over each. The first link gives 1/2 to each of its two
 * flows, and the second link's rest goes to the third. */
static void
test_two_links(void **state)
{
	const double capacity[] = { 1, 2 };
	const struct share_step steps[] = { { 0, 1 }, { 1, 1 }, { 0, 1 }, { 1, 1 } };
	const struct share_way ways[] = { { 0, 2 }, { 2, 1 }, { 3, 1 } };
	struct share_flow flows[] = {
		{ .demand = MANY, .way = 0, .link = SHARE_NONE },
		{ .demand = MANY, .way = 1, .link = SHARE_NONE },
		{ .demand = MANY, .way = 2, .link = SHARE_NONE },
	};
	struct share s = { capacity, steps, ways, flows, 2, 3, 3 };

	(void)state;
	share_solve(&s);
	near(flows[0].rate, 0.5);
	near(flows[1].rate, 0.5);
	near(flows[2].rate, 1.5);
}

/* Who wants less than its share leaves the rest to others: 10 among demands of 2, 2.6, 4, 5 gives
 * 2, 2.6, 2.7, 2.7. */
static void
test_demands(void **state)
{
	const double capacity[] = { 10 };
	const struct share_step steps[] = { { 0, 1 } };
	const struct share_way ways[] = { { 0, 1 } };
	struct share_flow flows[] = {
		{ .demand = 5, .link = SHARE_NONE }, { .demand = 2, .link = SHARE_NONE },
		{ .demand = 4, .link = SHARE_NONE }, { .demand = 2.6, .link = SHARE_NONE },
	};
	struct share s = { capacity, steps, ways, flows, 1, 1, 4 };

	(void)state;
	share_solve(&s);
	near(flows[0].rate, 2.7);
	near(flows[1].rate, 2);
	near(flows[2].rate, 2.7);
	near(flows[3].rate, 2.6);
}

/* Two flows share a way that is split over links of 1 and 3; a third flow has the wide one. The
 * narrow link is full when each of the two has 1; the third gets what they leave of the other. */
static void
test_parts(void **state)
{
	const double capacity[] = { 1, 3, 100, 0.25 };
	const struct share_step steps[] = { { 0, 0.5 }, { 1, 0.5 }, { 1, 1 } };
	const struct share_way ways[] = { { 0, 2 }, { 2, 1 }, { 0, 0 } };
	struct share_flow flows[] = {
		{ .demand = MANY, .way = 0, .link = 2 }, { .demand = MANY, .way = 0, .link = 2 },
		{ .demand = MANY, .way = 1, .link = SHARE_NONE },
		{ .demand = 7, .way = 2, .link = 3 },
		{ .demand = 7, .way = 2, .link = SHARE_NONE },
	};
	struct share s = { capacity, steps, ways, flows, 4, 3, 5 };

	(void)state;
	share_solve(&s);
	near(flows[0].rate, 1);
	near(flows[1].rate, 1);
	near(flows[2].rate, 2);
	near(flows[3].rate, 0.25);
	near(flows[4].rate, 7);
}

static void
test_nothing(void **state)
{
	struct share s = { 0 };

	(void)state;
	share_solve(&s);
	assert_int_equal(s.nflows, 0);
}

/* ---- Against the definition ---- */

struct random_case {
	double capacity[LINKS];			/* of each link */
	struct share_step steps[WAYS * LINKS];	/* of all ways */
	struct share_way ways[WAYS];		/* over some links each */
	struct share_flow flows[FLOWS];		/* on some of the ways */
	struct share s;				/* all of it */
};

static unsigned
below(uint64_t *seed, unsigned n)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(*seed >> 33) % n;
}

static void
make(struct random_case *c, uint64_t *seed)
{
	uint32_t n = 0;

	for (unsigned l = 0; l < LINKS; l++)
		c->capacity[l] = 1 + below(seed, 5);
	for (unsigned w = 0; w < WAYS; w++) {
		c->ways[w].first = n;
		for (uint32_t l = 0; l < LINKS; l++)
			if (!below(seed, 4))
				c->steps[n++] = (struct share_step){
					l, 1.0f / (float)(1u + below(seed, 4)) };
		c->ways[w].len = (uint32_t)(n - c->ways[w].first);
	}
	for (unsigned f = 0; f < FLOWS; f++)
		c->flows[f] = (struct share_flow){
			.demand = below(seed, 3) ? 3 : 0.125 * (1 + below(seed, 8)),
			.way = below(seed, WAYS),
			.link = below(seed, 2) ? SHARE_NONE : below(seed, LINKS) };
	c->s = (struct share){ c->capacity, c->steps, c->ways, c->flows, LINKS, WAYS, FLOWS };
}

static double
part_of(const struct random_case *c, unsigned f, unsigned l)
{
	const struct share_way *w = &c->ways[c->flows[f].way];
	double part = c->flows[f].link == l;

	for (uint32_t i = 0; i < w->len; i++)
		if (c->steps[w->first + i].link == l)
			part += (double)c->steps[w->first + i].part;
	return part;
}

/* All grow by the most that demands and links allow; those that cannot, stay. */
static void
fill_plainly(const struct random_case *c, double rates[FLOWS])
{
	bool grows[FLOWS];
	unsigned left = FLOWS;

	memset(rates, 0, FLOWS * sizeof(*rates));
	memset(grows, 1, sizeof(grows));
	while (left) {
		double step = MANY, used[LINKS] = { 0 }, weight[LINKS] = { 0 };

		for (unsigned l = 0; l < LINKS; l++) {
			for (unsigned f = 0; f < FLOWS; f++) {
				used[l] += rates[f] * part_of(c, f, l);
				weight[l] += grows[f] ? part_of(c, f, l) : 0;
			}
			if (weight[l] > 1e-9)
				step = fmin(step, (c->capacity[l] - used[l]) / weight[l]);
		}
		for (unsigned f = 0; f < FLOWS; f++)
			if (grows[f])
				step = fmin(step, c->flows[f].demand - rates[f]);
		for (unsigned f = 0; f < FLOWS; f++)
			rates[f] += grows[f] ? step : 0;
		for (unsigned f = 0; f < FLOWS; f++) {
			bool stop = rates[f] >= c->flows[f].demand - 1e-9;

			for (unsigned l = 0; l < LINKS; l++)
				stop |= part_of(c, f, l) > 0 &&
					used[l] + step * weight[l] >= c->capacity[l] - 1e-9;
			left -= grows[f] && stop;
			grows[f] &= !stop;
		}
	}
}

static void
test_random(void **state)
{
	double rates[FLOWS];
	uint64_t seed = 1;

	(void)state;
	for (int i = 0; i < 2000; i++) {
		struct random_case c = { 0 };

		make(&c, &seed);
		share_solve(&c.s);
		fill_plainly(&c, rates);
		for (unsigned f = 0; f < FLOWS; f++)
			near(c.flows[f].rate, rates[f]);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_links),
		cmocka_unit_test(test_demands),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
