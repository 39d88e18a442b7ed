/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rails: fabrics with known mistakes, whose list was made while they were cabled, and the real one
 * of shared/fabrics. Nothing may be missed, and nothing invented.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "sm/base/mem.h"
#include "sm/fabric/rails.h"
#include "sm/text/ibnet.h"
#include "tests/unit/route_help.h"

#define PLANES 4u
#define SEEDS 50u
#define SPARE 8u			/* ports of a leaf that no host should be on */

static uint32_t state;

static uint32_t
any(uint32_t n)
{
	state = state * 1664525u + 1013904223u;
	return (state >> 8) % n;
}

/* What a cable does: where a device should be and where it is. */
struct wire {
	uint32_t leaf;		/* unit * rails + rail */
	unsigned port;
	bool gone;
};

struct site {
	uint32_t planes, units, servers, rails;
	struct wire *wires;	/* by unit, server, rail */
	char (*expected)[80];	/* "mistake host device" */
	uint32_t nexpected;
};

static struct wire *
wire(struct site *s, uint32_t host, uint32_t rail)
{
	return &s->wires[host * s->rails + rail];
}

static void
expect(struct site *s, enum rails_mistake m, uint32_t host, uint32_t rail)
{
	snprintf(s->expected[s->nexpected++], sizeof(*s->expected), "%s node%u mlx5_%u",
		 rails_mistake_name(m), host, rail);
}

static void
swap(struct site *s, uint32_t host, uint32_t rail)
{
	uint32_t with = (rail + 1 + any(s->rails - 1)) % s->rails;
	struct wire w = *wire(s, host, rail);

	*wire(s, host, rail) = *wire(s, host, with);
	*wire(s, host, with) = w;
	expect(s, RAILS_SWAPPED, host, rail < with ? rail : with);
}

/* Onto a port that is free, of the leaf of another rail. */
static void
misplace(struct site *s, uint32_t host, uint32_t rail, uint32_t unit, unsigned spare)
{
	struct wire *w = wire(s, host, rail);
	uint32_t to = unit * s->rails + (rail + 1 + any(s->rails - 1)) % s->rails;
	bool other_plane = to % s->rails % s->planes != rail % s->planes;

	w->leaf = to;
	w->port = s->servers + 1 + spare;
	expect(s, other_plane ? RAILS_WRONG_PLANE : unit != host / s->servers ? RAILS_WRONG_UNIT :
	       RAILS_WRONG_RAIL, host, rail);
}

static void
make_mistake(struct site *s, uint32_t host, unsigned spare)
{
	uint32_t rail = any(s->rails);

	switch (any(5)) {
	case 0:
		swap(s, host, rail);
		break;
	case 1:
		misplace(s, host, rail, host / s->servers, spare);
		break;
	case 2:
		misplace(s, host, rail, (host / s->servers + 1) % s->units, spare);
		break;
	case 3:
		wire(s, host, rail)->port = s->servers + 1 + spare;
		expect(s, RAILS_WRONG_PORT, host, rail);
		break;
	default:
		wire(s, host, rail)->gone = true;
		expect(s, RAILS_MISSING, host, rail);
	}
}

/* At most one host in six of a unit has a mistake: more would not be mistakes. */
static void
plan_site(struct site *s)
{
	uint32_t hosts;

	s->planes = 1 + any(PLANES);
	s->units = 2 + any(3);
	s->servers = 6 + any(10);
	s->rails = 4 + any(5);
	hosts = s->units * s->servers;
	s->wires = mem_array(hosts * s->rails, sizeof(*s->wires));
	s->expected = mem_array(hosts, sizeof(*s->expected));
	for (uint32_t h = 0; h < hosts; h++)
		for (uint32_t r = 0; r < s->rails; r++)
			*wire(s, h, r) = (struct wire){ .leaf = h / s->servers * s->rails + r,
							.port = h % s->servers + 1 };
	for (uint32_t u = 0; u < s->units; u++)
		for (uint32_t i = 0, n = any(s->servers / 6 + 1); i < n; i++)
			make_mistake(s, u * s->servers + i * 6 + any(6), 2 * u + i);
}

static uint32_t
plane_of(const struct site *s, uint32_t leaf)
{
	return leaf % s->rails % s->planes;
}

static struct fabric *
make_plane(const struct site *s, uint32_t plane)
{
	struct ibnet *net = ibnet_new();
	uint32_t *leaf = mem_array(s->units * s->rails, sizeof(*leaf));
	struct fabric *f;
	char name[64];

	for (uint32_t l = 0; l < s->units * s->rails; l++)
		if (plane_of(s, l) == plane)
			leaf[l] = ibnet_add(net, IBNET_SWITCH, s->servers + SPARE, 0x1000 + l, NULL,
					    NULL);
	for (uint32_t h = 0; h < s->units * s->servers; h++)
		for (uint32_t r = 0; r < s->rails; r++) {
			const struct wire *w = &s->wires[h * s->rails + r];
			uint32_t ca;

			if (w->gone || plane_of(s, w->leaf) != plane)
				continue;
			snprintf(name, sizeof(name), "node%u mlx5_%u", h, r);
			ca = ibnet_add(net, IBNET_CA, 1, 0x100000 + h * 64 + r * 4, NULL, name);
			assert_int_equal(ibnet_link(net, ca, 1, leaf[w->leaf], w->port, LINK_4X,
						    SPEED_NDR), 0);
		}
	mem_free(leaf);
	f = fabric_from_ibnet(net);
	ibnet_free(net);
	return f;
}

static void
compare(const struct site *s, const struct rails *r, unsigned seed)
{
	bool *met = mem_array(s->nexpected + 1, sizeof(*met));

	for (uint32_t i = 0; i < r->nfindings; i++) {
		const struct rails_finding *f = &r->findings[i];
		char text[80];
		uint32_t k = 0;

		snprintf(text, sizeof(text), "%s %s %s", rails_mistake_name(f->what),
			 r->hosts[f->host].name, r->devices[f->device]);
		while (k < s->nexpected && strcmp(s->expected[k], text))
			k++;
		if (k == s->nexpected || met[k])
			fail_msg("seed %u: invented: %s", seed, text);
		met[k] = true;
	}
	for (uint32_t k = 0; k < s->nexpected; k++)
		if (!met[k])
			fail_msg("seed %u: missed: %s", seed, s->expected[k]);
	mem_free(met);
}

static void
known_mistakes(void **arg)
{
	unsigned kinds = 0;

	(void)arg;
	for (unsigned seed = 1; seed <= SEEDS; seed++) {
		struct fabric *f[PLANES] = { NULL };
		struct site s = { 0 };
		struct rails *r;

		state = seed;
		plan_site(&s);
		for (uint32_t p = 0; p < s.planes; p++)
			f[p] = make_plane(&s, p);
		r = rails_find((const struct fabric *const *)f, s.planes);
		assert_int_equal(r->nunits, s.units);
		assert_int_equal(r->nhosts, s.units * s.servers);
		compare(&s, r, seed);
		for (uint32_t i = 0; i < r->nfindings; i++)
			kinds |= 1u << r->findings[i].what;
		rails_free(r);
		for (uint32_t p = 0; p < s.planes; p++)
			fabric_unref(f[p]);
		mem_free(s.wires);
		mem_free(s.expected);
	}
	assert_int_equal(kinds, (1u << RAILS_MISTAKES) - 1);
}

/* Where a mistaken cable should be is said with leaf and port. */
static void
places_are_named(void **arg)
{
	struct site s = { .planes = 1, .units = 2, .servers = 6, .rails = 4 };
	const struct fabric *f;
	struct rails *r;

	(void)arg;
	s.wires = mem_array(48, sizeof(*s.wires));
	s.expected = mem_array(12, sizeof(*s.expected));
	for (uint32_t h = 0; h < 12; h++)
		for (uint32_t rail = 0; rail < 4; rail++)
			*wire(&s, h, rail) = (struct wire){ .leaf = h / 6 * 4 + rail,
							    .port = h % 6 + 1 };
	*wire(&s, 7, 2) = (struct wire){ .leaf = 4 + 3, .port = 9 };
	f = make_plane(&s, 0);
	r = rails_find(&f, 1);
	assert_int_equal(r->nfindings, 1);
	assert_int_equal(r->findings[0].what, RAILS_WRONG_RAIL);
	assert_string_equal(r->hosts[r->findings[0].host].name, "node7");
	assert_int_equal(fabric_switch_node(f, r->leaves[r->findings[0].leaf].sw)->guid,
			 0x1000 + 4 + 2);
	assert_int_equal(r->findings[0].port, 2);
	assert_int_equal(r->nics[r->findings[0].nic].leaf_port, 9);
	rails_free(r);
	fabric_unref(f);
	mem_free(s.wires);
	mem_free(s.expected);
}

/* What a look at the file shows: two devices of one host on each other's leaves, and five on
 * another port than their host has on its other leaves. */
static void
real_fabric(void **arg)
{
	static const char *const expected[] = {
		"wrong-port a05-p1-dgx-01-c12 HCA-2", "wrong-port a05-p1-dgx-01-c14 HCA-6",
		"wrong-port b06-p1-dgx-06-c02 HCA-1", "wrong-port b06-p1-dgx-06-c07 HCA-2",
		"wrong-port b06-p1-dgx-06-c08 HCA-2", "swapped b08-p1-dgx-08-c01 HCA-5",
	};
	char path[300], text[120];
	const char *file = help_shared(path, sizeof(path), "ndr_rail_40sw_582ca.ibnd");
	struct error e = { 0 };
	const struct fabric *f;
	struct ibnet *net;
	struct rails *r;

	(void)arg;
	if (!file)
		skip();
	assert_int_equal(ibnet_read(&net, file, &e), 0);
	f = fabric_from_ibnet(net);
	r = rails_find(&f, 1);
	assert_int_equal(r->nunits, 8);
	assert_int_equal(r->nfindings, 6);
	for (uint32_t i = 0; i < r->nfindings; i++) {
		snprintf(text, sizeof(text), "%s %s %s", rails_mistake_name(r->findings[i].what),
			 r->hosts[r->findings[i].host].name, r->devices[r->findings[i].device]);
		assert_string_equal(text, expected[i]);
	}
	rails_free(r);
	fabric_unref(f);
	ibnet_free(net);
}

static void
nothing(void **arg)
{
	struct ibnet *net = ibnet_new();
	const struct fabric *f = fabric_from_ibnet(net);
	struct rails *r = rails_find(&f, 1);

	(void)arg;
	assert_int_equal(r->nnics, 0);
	assert_int_equal(r->nfindings, 0);
	rails_free(r);
	r = rails_find(NULL, 0);
	assert_int_equal(r->nunits, 0);
	rails_free(r);
	fabric_unref(f);
	ibnet_free(net);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_mistakes),
		cmocka_unit_test(places_are_named),
		cmocka_unit_test(real_fabric),
		cmocka_unit_test(nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
