/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/slim.h"
#include "sm/base/mem.h"

/*
 * With so many switches of so few neighbours, hardly any other graph has so many pairs within two
 * links of each other: at random it is two thirds of them.
 */
#define MISSING_ONE_IN 20u	/* switches, and links between the others, at most */
#define NEAR_PERCENT 85u	/* of all pairs */

static bool
is_prime_power(unsigned q)
{
	unsigned p = 2;

	while (p < q && q % p)
		p++;
	while (q > 1 && q % p == 0)
		q /= p;
	return q == 1;
}

/* The numbers that go with this many switches. */
static bool
find_numbers(uint32_t n, struct slim *s)
{
	unsigned q = 3;

	while (2 * q * q < n || !is_prime_power(q))
		q++;
	*s = (struct slim){
		.q = q, .n = 2 * q * q,
		.degree = q % 4 == 1 ? (3 * q - 1) / 2 : q % 4 == 3 ? (3 * q + 1) / 2 : 3 * q / 2,
	};
	return s->n - n <= s->n / MISSING_ONE_IN;
}

static bool
has_degrees(const struct links *l, const struct slim *s)
{
	uint32_t gone = s->n - l->n, want = (s->n - 2 * gone) * s->degree;

	for (uint32_t sw = 0; sw < l->n; sw++)
		if (l->first[sw + 1] - l->first[sw] > s->degree)
			return false;
	/* Two that are gone may have been neighbours: then there is more than that. */
	return want <= l->len + want / MISSING_ONE_IN;
}

/* Ordered pairs of switches that are one or two links apart. */
static uint64_t
count_near(const struct links *l)
{
	uint32_t *seen = mem_array(l->n + 1u, sizeof(*seen));
	uint64_t near = 0;

	for (uint32_t sw = 0; sw < l->n; sw++) {
		seen[sw] = sw + 1;
		for (uint32_t i = l->first[sw]; i < l->first[sw + 1]; i++) {
			uint32_t v = l->to[i];

			near += seen[v] != sw + 1;
			seen[v] = sw + 1;
			for (uint32_t k = l->first[v]; k < l->first[v + 1]; k++) {
				near += seen[l->to[k]] != sw + 1;
				seen[l->to[k]] = sw + 1;
			}
		}
	}
	mem_free(seen);
	return near;
}

bool
slim_find(const struct links *l, struct slim *s)
{
	return find_numbers(l->n, s) && has_degrees(l, s) &&
	       count_near(l) * 100 >= (uint64_t)l->n * (l->n - 1) * NEAR_PERCENT;
}
