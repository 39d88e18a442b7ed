/* SPDX-License-Identifier: BSD-2-Clause */
#include "offline/trial.h"

#include <stdio.h>
#include "sm/base/mem.h"
#include "sm/text/ibnet.h"

/*
 * Fabrics for trials are built as texts are that a file held, so that LIDs, rates and lanes come
 * from where they do for saved fabrics.
 */
#define SWITCH_GUID UINT64_C(0x1000)
#define HOST_GUID UINT64_C(0x100000)
#define MANY 254u			/* ports of a switch at most */
#define RATE LINK_4X, SPEED_NDR

static struct fabric *
finish(struct ibnet *net)
{
	struct fabric *f = fabric_from_ibnet(net);

	ibnet_free(net);
	return f;
}

/* Switches 0 .. n - 1 of a net that has nothing else yet. */
static struct ibnet *
with_switches(uint32_t n, unsigned nports)
{
	struct ibnet *net = ibnet_new();

	for (uint32_t i = 0; i < n; i++)
		ibnet_add(net, IBNET_SWITCH, nports, SWITCH_GUID + i, NULL, NULL);
	return net;
}

static void
cable(struct ibnet *net, uint32_t a, unsigned port_a, uint32_t b, unsigned port_b)
{
	ibnet_link(net, a, port_a, b, port_b, RATE);
}

/* So many hosts at a switch, from port `port` on. */
static void
with_hosts(struct ibnet *net, uint32_t sw, unsigned port, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		uint32_t host = ibnet_add(net, IBNET_CA, 1, HOST_GUID + 16u * net->nnodes, NULL,
					  NULL);

		cable(net, sw, port + i, host, 1);
	}
}

static struct fabric *
make_empty(unsigned variant)
{
	(void)variant;
	return finish(ibnet_new());
}

/* Without hosts, with one, with as many as it has ports. */
static struct fabric *
make_one_switch(unsigned variant)
{
	struct ibnet *net = with_switches(1, MANY);

	with_hosts(net, 0, 1, variant == 0 ? 0 : variant == 1 ? 1 : MANY);
	return finish(net);
}

static struct fabric *
make_back_to_back(unsigned variant)
{
	struct ibnet *net = ibnet_new();
	uint32_t a = ibnet_add(net, IBNET_CA, 1, HOST_GUID, NULL, NULL);
	uint32_t b = ibnet_add(net, IBNET_CA, 1, HOST_GUID + 16, NULL, NULL);

	(void)variant;
	cable(net, a, 1, b, 1);
	return finish(net);
}

/* Two parts that no cable joins, and a switch alone. */
static struct fabric *
make_parts(unsigned variant)
{
	struct ibnet *net = with_switches(5, 8);

	(void)variant;
	cable(net, 0, 8, 1, 8);
	cable(net, 3, 8, 4, 8);
	for (uint32_t sw = 0; sw < 5; sw++)
		with_hosts(net, sw, 1, sw == 2 ? 0 : 2);
	return finish(net);
}

static struct fabric *
make_parallel(unsigned variant)
{
	struct ibnet *net = with_switches(2, 20);

	(void)variant;
	for (unsigned i = 1; i <= 10; i++)
		cable(net, 0, i, 1, i);
	with_hosts(net, 0, 11, 10);
	with_hosts(net, 1, 11, 10);
	return finish(net);
}

static struct fabric *
make_looped(unsigned variant)
{
	struct ibnet *net = with_switches(2, 8);

	(void)variant;
	cable(net, 0, 1, 0, 2);
	cable(net, 0, 3, 1, 3);
	with_hosts(net, 0, 4, 2);
	with_hosts(net, 1, 4, 2);
	return finish(net);
}

/* Rings of three to eight switches: from five on shortest ways close a credit loop. */
static struct fabric *
make_ring(unsigned variant)
{
	uint32_t n = variant + 3;
	struct ibnet *net = with_switches(n, 4);

	for (uint32_t i = 0; i < n; i++) {
		cable(net, i, 1, (i + 1) % n, 2);
		with_hosts(net, i, 3, 2);
	}
	return finish(net);
}

/* 4 x 5, rings in both directions. */
static struct fabric *
make_torus(unsigned variant)
{
	struct ibnet *net = with_switches(20, 6);

	(void)variant;
	for (uint32_t y = 0; y < 5; y++)
		for (uint32_t x = 0; x < 4; x++) {
			cable(net, y * 4 + x, 1, y * 4 + (x + 1) % 4, 2);
			cable(net, y * 4 + x, 3, (y + 1) % 5 * 4 + x, 4);
		}
	for (uint32_t i = 0; i < 20; i++)
		with_hosts(net, i, 5, 2);
	return finish(net);
}

#define LEAVES 8u
#define SPINES 4u
/* Leaves 0 .. 7, spines 8 .. 11, two cables between each two. */
static struct fabric *
make_tree(unsigned variant)
{
	struct ibnet *net = with_switches(LEAVES + SPINES, 16);

	(void)variant;
	for (uint32_t l = 0; l < LEAVES; l++) {
		for (uint32_t s = 0; s < 2 * SPINES; s++)
			cable(net, l, 1 + s, LEAVES + s / 2, 1 + 2 * l + s % 2);
		with_hosts(net, l, 9, 8);
	}
	return finish(net);
}

/* All legal LIDs: 127 switches, and 383 hosts of 128 LIDs each. */
static struct fabric *
make_all_lids(unsigned variant)
{
	uint32_t n = 127;
	struct ibnet *net = with_switches(n, 40);

	(void)variant;
	for (uint32_t i = 1; i < n; i++)
		cable(net, i, 1, (i - 1) / 8, 2 + (i - 1) % 8);
	for (uint32_t i = 0, left = 383; left; i++) {
		unsigned some = left < 4 ? left : 4;

		with_hosts(net, i, 20, some);
		left -= some;
	}
	return finish(net);
}

/* Two spines and three leaves, without those of the six cables that are not in a Gray code: from
 * one variant to the next one cable is lost or comes back, and all mixtures are there. */
static struct fabric *
make_faults(unsigned variant)
{
	struct ibnet *net = with_switches(5, 6);
	unsigned there = ~(variant ^ variant >> 1);

	for (unsigned i = 0; i < 6; i++)
		if (there & 1u << i)
			cable(net, i / 2, 1 + i % 2, 3 + i % 2, 1 + i / 2);
	for (uint32_t sw = 0; sw < 3; sw++)
		with_hosts(net, sw, 3, 2);
	return finish(net);
}

/* Any graph: some are not in one piece, some have cables in parallel. */
static struct fabric *
make_random(unsigned variant)
{
	uint32_t n = 2 + variant % 15, state = variant * 2654435761u + 1;
	struct ibnet *net = with_switches(n, 40);
	unsigned *used = mem_array(n, sizeof(*used));

	for (uint32_t i = 0; i < n + variant % 17; i++) {
		uint32_t a, b;

		state = state * 1664525u + 1013904223u;
		a = (state >> 8) % n;
		state = state * 1664525u + 1013904223u;
		b = (state >> 8) % n;
		if (a != b && used[a] < 20 && used[b] < 20)
			cable(net, a, ++used[a], b, ++used[b]);
	}
	for (uint32_t i = 0; i < n; i++)
		with_hosts(net, i, 21, i % 4);
	mem_free(used);
	return finish(net);
}

const struct trial trials[] = {
	{ .name = "empty", .what = "nothing at all", .make = make_empty, .variants = 1 },
	{ .name = "one-switch", .what = "one switch of 254 ports: no host, one, 254",
	  .make = make_one_switch, .variants = 3 },
	{ .name = "back-to-back", .what = "two hosts and no switch", .make = make_back_to_back,
	  .variants = 1 },
	{ .name = "disconnected", .what = "two parts, and a switch alone", .make = make_parts,
	  .variants = 1 },
	{ .name = "parallel", .what = "ten cables between two switches", .make = make_parallel,
	  .variants = 1 },
	{ .name = "own-loop", .what = "a cable from a switch to itself", .make = make_looped,
	  .variants = 1 },
	{ .name = "ring", .what = "rings of 3 to 8 switches", .make = make_ring, .variants = 6 },
	{ .name = "torus", .what = "a torus of 4 x 5", .make = make_torus, .variants = 1 },
	{ .name = "tree", .what = "a fat tree of 8 leaves and 4 spines", .make = make_tree,
	  .variants = 1 },
	{ .name = "lmc", .what = "the same with 128 LIDs a host", .make = make_tree, .variants = 1,
	  .lmc = 7 },
	{ .name = "silent-switch", .what = "the same, a leaf does not answer", .make = make_tree,
	  .variants = 1, .silent = true },
	{ .name = "49151-lids", .what = "all LIDs that there are, on 127 switches",
	  .make = make_all_lids, .variants = 1, .lmc = 7 },
	{ .name = "faults", .what = "6 cables of a small tree, lost and back in every mixture",
	  .make = make_faults, .variants = 64, .follow = true },
	{ .name = "random", .what = "graphs of 2 to 16 switches", .make = make_random,
	  .variants = 40 },
	{ 0 },
};
