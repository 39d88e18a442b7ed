/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "sim/generate/generate.h"
#include "sm/base/map.h"

/*
 * Generated fabrics against counts and cables worked out by hand. make() takes the recipe as one
 * string.
 */
static struct ibnet *
try(const char *recipe, const struct generate_options *o, struct error *e)
{
	char text[128], *words[8], *save = NULL;
	unsigned n = 0;
	struct ibnet *net;

	snprintf(text, sizeof(text), "%s", recipe);
	for (char *w = strtok_r(text, " ", &save); w && n < 8; w = strtok_r(NULL, " ", &save))
		words[n++] = w;
	generate(&net, words[0], n - 1, words + 1, o, e);
	return net;
}

static struct ibnet *
make(const char *recipe)
{
	struct generate_options o = { 0 };
	struct error e = { 0 };
	struct ibnet *net = try(recipe, &o, &e);

	if (!net)
		fail_msg("%s: %s", recipe, e.text);
	return net;
}

static unsigned
hosts_of(const struct ibnet *net)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < net->nnodes; i++)
		n += net->nodes[i].type == IBNET_CA;
	return n;
}

static bool
connected(const struct ibnet *net)
{
	uint32_t *queue = calloc(net->nnodes, sizeof(*queue)), head = 0, tail = 1;
	bool *seen = calloc(net->nnodes, sizeof(*seen));

	assert_non_null(queue);
	assert_non_null(seen);
	seen[0] = true;
	while (head < tail) {
		const struct ibnet_node *n = &net->nodes[queue[head++]];

		for (unsigned p = 1; p <= n->nports; p++) {
			uint32_t peer = n->ports[p].peer;

			if (peer != IBNET_NONE && !seen[peer]) {
				seen[peer] = true;
				queue[tail++] = peer;
			}
		}
	}
	free(queue);
	free(seen);
	return tail == net->nnodes;
}

static int
by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* A file of nodes that share a name cannot be read back. */
static void
check_names(const struct ibnet *net)
{
	const char **names = calloc(net->nnodes, sizeof(*names));

	assert_non_null(names);
	for (uint32_t i = 0; i < net->nnodes; i++)
		names[i] = net->nodes[i].name;
	qsort(names, net->nnodes, sizeof(*names), by_text);
	for (uint32_t i = 1; i < net->nnodes; i++)
		assert_string_not_equal(names[i - 1], names[i]);
	free(names);
}

static void
check_counts(const char *recipe, unsigned hosts, unsigned switches, unsigned links)
{
	struct ibnet *net = make(recipe);

	assert_int_equal(hosts_of(net), hosts);
	assert_int_equal(net->nnodes, hosts + switches);
	assert_int_equal(net->nlinks, links);
	assert_true(connected(net));
	check_names(net);
	assert_int_equal(net->nodes[0].type, hosts ? IBNET_CA : IBNET_SWITCH);
	ibnet_free(net);
}

static void
test_counts(void **state)
{
	(void)state;
	/* K^3/4 hosts, 5K^2/4 switches, 3K^3/4 cables. */
	check_counts("ft3 2", 2, 5, 6);
	check_counts("ft3 8", 128, 80, 384);
	check_counts("ft3 16", 1024, 320, 3072);
	check_counts("ft3 32", 8192, 1280, 24576);
	check_counts("ft2 4 2 5 3", 20, 6, 20 + 4 * 2 * 3);
	check_counts("ft2 4 2 5", 20, 6, 20 + 4 * 2);
	check_counts("torus 4 4 4 2", 128, 64, 128 + 3 * 64);
	check_counts("torus 2 3 1 1", 6, 6, 6 + 6 + 6);
	check_counts("mesh 2 3 1 1", 6, 6, 6 + 3 + 4);
	check_counts("mesh 3 3 3 0", 0, 27, 3 * 2 * 9);
	/* A group: A(A-1)/2 cables; among groups: G*A*H/2 when all are used. */
	check_counts("dragonfly 4 2 2 9", 72, 36, 72 + 9 * 6 + 36);
	check_counts("random 1 0 2 1", 2, 1, 2);
}

static uint32_t
node(const struct ibnet *net, const char *name)
{
	uint32_t i = ibnet_find(net, name);

	if (i == IBNET_NONE)
		fail_msg("no node %s", name);
	return i;
}

static void
check_cable(const struct ibnet *net, const char *a, unsigned aport, const char *b, unsigned bport)
{
	const struct ibnet_port *p = &net->nodes[node(net, a)].ports[aport];

	assert_int_equal(p->peer, node(net, b));
	assert_int_equal(p->peer_port, bport);
	assert_int_equal(net->nodes[p->peer].ports[bport].peer, node(net, a));
}

static void
test_ft3(void **state)
{
	struct ibnet *net = make("ft3 4");

	(void)state;
	check_cable(net, "L1_0", 1, "H1_0_0", 1);
	check_cable(net, "L1_0", 2, "H1_0_1", 1);
	check_cable(net, "L1_0", 3, "A1_0", 1);
	check_cable(net, "L1_1", 4, "A1_1", 2);
	check_cable(net, "C1", 2, "A1_0", 4);
	check_cable(net, "C2", 4, "A3_1", 3);
	assert_int_equal(net->nodes[node(net, "H0_0_1")].guid, 0x100002);
	assert_int_equal(net->nodes[node(net, "H0_0_1")].ports[1].guid, 0x100003);
	assert_int_equal(net->nodes[0].ports[1].speed, SPEED_EDR);
	assert_int_equal(net->nodes[0].ports[1].width, LINK_4X);
	ibnet_free(net);
}

static void
test_grid(void **state)
{
	struct ibnet *net = make("torus 3 3 1 1");

	(void)state;
	check_cable(net, "T0_0_0", 1, "H0_0_0_0", 1);
	check_cable(net, "T0_0_0", 2, "T1_0_0", 2);
	check_cable(net, "T2_1_0", 4, "T0_1_0", 5);
	ibnet_free(net);
	net = make("mesh 3 1 1 1");
	check_cable(net, "T0_0_0", 2, "T1_0_0", 2);
	check_cable(net, "T1_0_0", 3, "T2_0_0", 2);
	assert_int_equal(net->nodes[node(net, "T2_0_0")].ports[3].peer, IBNET_NONE);
	ibnet_free(net);
}

/* In a full dragonfly every pair of groups has exactly one cable. */
static void
test_dragonfly(void **state)
{
	struct ibnet *net = make("dragonfly 4 2 2 9");
	unsigned cables[9][9] = { { 0 } };

	(void)state;
	for (uint32_t i = 0; i < net->nnodes; i++) {
		const struct ibnet_node *n = &net->nodes[i];
		unsigned from, to;

		if (sscanf(n->name, "D%u", &from) != 1)
			continue;
		assert_int_equal(n->nports, 2 + 3 + 2);
		for (unsigned p = 1; p <= n->nports; p++)
			if (sscanf(net->nodes[n->ports[p].peer].name, "D%u", &to) == 1)
				cables[from][to]++;
	}
	for (unsigned a = 0; a < 9; a++)
		for (unsigned b = 0; b < 9; b++)
			assert_int_equal(cables[a][b], a == b ? 4 * 3 : 1);
	ibnet_free(net);
}

static void
test_random(void **state)
{
	struct ibnet *a, *b, *c;
	struct buf ta = { 0 }, tb = { 0 }, tc = { 0 };

	(void)state;
	a = make("random 60 4 1 7");
	b = make("random 60 4 1 7");
	c = make("random 60 4 1 8");
	assert_true(connected(a));
	assert_true(connected(c));
	assert_int_equal(hosts_of(a), 60);
	/* At most two switches of a simple graph can be left with a free port pair. */
	assert_in_range(a->nlinks, 60 + 60 * 4 / 2 - 4, 60 + 60 * 4 / 2);
	ibnet_write(&ta, a);
	ibnet_write(&tb, b);
	ibnet_write(&tc, c);
	assert_string_equal(ta.data, tb.data);
	assert_true(strcmp(ta.data, tc.data) != 0);
	ibnet_free(a);
	ibnet_free(b);
	ibnet_free(c);
	buf_free(&ta);
	buf_free(&tb);
	buf_free(&tc);
	for (unsigned seed = 0; seed < 50; seed++) {
		char recipe[32];

		snprintf(recipe, sizeof(recipe), "random 9 2 1 %u", seed);
		a = make(recipe);
		assert_true(connected(a));
		ibnet_free(a);
	}
}

static void
test_shuffle(void **state)
{
	struct generate_options o = { .shuffle_guids = true, .seed = 5, .speed = SPEED_NDR };
	struct error e = { 0 };
	struct ibnet *net = try("ft3 4", &o, &e), *plain = make("ft3 4");
	unsigned moved = 0;
	struct map guids = { 0 };

	(void)state;
	assert_non_null(net);
	assert_int_equal(net->nodes[0].ports[1].speed, SPEED_NDR);
	for (uint32_t i = 0; i < net->nnodes; i++) {
		const struct ibnet_node *n = &net->nodes[i];

		moved += n->guid != plain->nodes[i].guid;
		assert_string_equal(n->name, plain->nodes[i].name);
		assert_int_equal(map_get(&guids, n->guid), MAP_NONE);
		map_set(&guids, n->guid, i);
		if (n->type == IBNET_CA)
			assert_int_equal(n->ports[1].guid, n->guid + 1);
	}
	for (uint32_t i = 0; i < plain->nnodes; i++)
		assert_int_not_equal(map_get(&guids, plain->nodes[i].guid), MAP_NONE);
	assert_in_range(moved, 25, 36);
	map_free(&guids);
	ibnet_free(net);
	ibnet_free(plain);
}

static void
refuse(const char *recipe, const char *message)
{
	struct generate_options o = { 0 };
	struct error e = { 0 };

	assert_null(try(recipe, &o, &e));
	assert_string_equal(e.text, message);
}

static void
test_refused(void **state)
{
	(void)state;
	refuse("ft3 5",
	       "a fat tree takes switches with an even number of ports of at least 2, not 5");
	refuse("ft3", "ft3 takes the numbers K");
	refuse("ft3 58", "that makes 52983 nodes, but a subnet has LIDs for 49151");
	refuse("torus 65535 65535 65535 65535",
	       "that makes 18445899661664256000 nodes, but a subnet has LIDs for 49151");
	refuse("ft2 255 1 1", "that takes switches of 255 ports, but 254 is the most");
	refuse("ft2 1 1 x",
	       "ft2 takes the numbers LEAVES SPINES HOSTS [PARALLEL] of 0 to 65535 each, "
	       "not \"x\"");
	refuse("tours 1 1 1 1", "there is no fabric of type \"tours\"; did you mean torus?");
	refuse("dragonfly 2 1 1 9",
	       "a group has 2 global cables, too few to reach 8 other groups");
	refuse("torus 65535 65535 65535 65535 65535",
	       "that makes more nodes than can be counted");
	refuse("ft2 1 1 0 65535", "that takes switches of 65535 ports, but 254 is the most");
	refuse("slim-fly 9 1", "slim-fly takes a prime number of 3 to 113, not 9");
	refuse("xgft 2 4 4 1", "xgft of 2 levels takes 2 numbers of children and as many of "
	       "parents behind the first");
	refuse("multi-plane 2", "multi-plane takes a number of planes of 1 to 16, and the type and "
	       "numbers of the fabric that each is");
	refuse("multi-plane 2 multi-plane 2 ft3 4", "the planes of multi-plane have none in turn");
	refuse("multi-plane 2 torsu 2 1",
	       "there is no fabric of type \"torsu\"; did you mean torus?");
	refuse("random 5 5 1 1", "5 switches have at most 4 neighbours each, not 5");
}

/* Counts of the shapes' own formulas. */
static void
test_more_shapes(void **state)
{
	(void)state;
	check_counts("fat-tree 8", 128, 80, 384);
	/* K^2/2 hosts, K leaves, K/2 spines. */
	check_counts("fat-tree 8 2", 32, 12, 32 + 8 * 4);
	/* 2 (K/2)^L hosts, (2L - 1) (K/2)^(L-1) switches. */
	check_counts("fat-tree 4 4", 32, 56, 32 * 4);
	check_counts("xgft 2 3 4 1 2", 12, 4 + 2, 12 + 4 * 2);
	/* Hosts with two ports in two leaves. */
	check_counts("xgft 1 5 2", 5, 2, 10);
	check_counts("rails 2 4 8 3", 2 * 4 * 8, 2 * 8 + 3, 64 + 16 * 3);
	check_counts("torus 5 1", 5, 5, 10);
	check_counts("torus 3 3 3 3 1", 81, 81, 81 + 4 * 81);
	check_counts("hypercube 4 1", 16, 16, 16 + 16 * 4 / 2);
	check_counts("hyperx 4 3 2", 24, 12, 24 + 3 * 6 + 4 * 3);
	check_counts("dragonfly+ 5 2 2 3", 30, 20, 30 + 5 * 4 + 5 * 4 / 2);
	check_counts("slim-fly 5 2", 100, 50, 100 + 50 * 7 / 2);
	check_counts("slim-fly 7 0", 0, 98, 98 * 11 / 2);
}

static bool
near(const struct ibnet *net, uint32_t a, uint32_t b)
{
	const struct ibnet_node *n = &net->nodes[a];

	for (unsigned p = 1; p <= n->nports; p++)
		if (n->ports[p].peer == b)
			return true;
	return false;
}

static bool
near_by_one(const struct ibnet *net, uint32_t a, uint32_t b)
{
	const struct ibnet_node *n = &net->nodes[a];

	if (a == b || near(net, a, b))
		return true;
	for (unsigned p = 1; p <= n->nports; p++)
		if (n->ports[p].peer != IBNET_NONE && near(net, n->ports[p].peer, b))
			return true;
	return false;
}

/* A Slim Fly is known by its degree and its diameter of 2. */
static void
test_slim_fly(void **state)
{
	static const char *const recipes[] = { "slim-fly 3 0", "slim-fly 5 0", "slim-fly 7 0",
					       "slim-fly 11 0", "slim-fly 13 0" };
	static const unsigned degree[] = { 5, 7, 11, 17, 19 };

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		struct ibnet *net = make(recipes[i]);

		for (uint32_t a = 0; a < net->nnodes; a++) {
			assert_int_equal(net->nodes[a].nports, degree[i]);
			for (unsigned p = 1; p <= degree[i]; p++)
				assert_int_not_equal(net->nodes[a].ports[p].peer, IBNET_NONE);
			for (uint32_t b = 0; b < net->nnodes; b++)
				assert_true(near_by_one(net, a, b));
		}
		ibnet_free(net);
	}
}

/* Each pair of groups is joined by the same number of cables, spine to spine. */
static void
test_dragonfly_plus(void **state)
{
	struct ibnet *net = make("dragonfly+ 5 2 4 1 2");
	unsigned cables[5][5] = { { 0 } };

	(void)state;
	for (uint32_t i = 0; i < net->nnodes; i++) {
		const struct ibnet_node *n = &net->nodes[i];

		for (unsigned p = 1; *n->name == 'S' && p <= n->nports; p++) {
			const struct ibnet_node *to = &net->nodes[n->ports[p].peer];

			if (*to->name == 'S')
				cables[n->name[1] - '0'][to->name[1] - '0']++;
		}
	}
	for (unsigned a = 0; a < 5; a++)
		for (unsigned b = 0; b < 5; b++)
			assert_int_equal(cables[a][b], a == b ? 0 : 4 * 2 / 4);
	ibnet_free(net);
}

static void
test_planes(void **state)
{
	struct ibnet *net = make("multi-plane 4 ft2 2 1 3");
	const struct ibnet_node *n = net->nodes;

	(void)state;
	assert_int_equal(net->nnodes, 4 * 6 + 4 * 3);
	assert_int_equal(hosts_of(net), 24);
	assert_string_equal(n[0].desc, "H0_0 mlx5_0");
	assert_string_equal(n[3].desc, "H0_0 mlx5_3");
	assert_string_equal(n[4].desc, "H0_1 mlx5_0");
	assert_int_equal(n[3].system_guid, n[0].system_guid);
	assert_int_not_equal(n[4].system_guid, n[0].system_guid);
	/* Each device has its plane's leaf, and no cable leaves a plane. */
	for (unsigned p = 0; p < 4; p++) {
		char leaf[] = "P0_L0";

		leaf[1] = (char)('0' + p);
		assert_string_equal(n[n[p].ports[1].peer].name, leaf);
	}
	for (uint32_t i = 24; i < net->nnodes; i++)
		for (unsigned p = 1; p <= n[i].nports; p++)
			if (n[n[i].ports[p].peer].type == IBNET_SWITCH)
				assert_int_equal(n[n[i].ports[p].peer].name[1], n[i].name[1]);
	ibnet_free(net);
}

static void
test_rails(void **state)
{
	struct ibnet *net = make("rails 2 3 4 1");
	const struct ibnet_node *n = net->nodes;

	(void)state;
	assert_string_equal(n[5].desc, "H0_1 mlx5_1");
	assert_string_equal(n[n[5].ports[1].peer].name, "L0_1");
	assert_int_equal(n[5].system_guid, n[4].system_guid);
	ibnet_free(net);
}

/* Cables between switches are missing, as many as asked for, and the fabric holds together. */
static void
test_missing(void **state)
{
	struct generate_options o = { .missing = 40, .seed = 3 };
	struct error e = { 0 };
	struct ibnet *net = try("ft3 8", &o, &e), *other;

	(void)state;
	assert_non_null(net);
	assert_int_equal(net->nlinks, 384 - 40);
	assert_int_equal(hosts_of(net), 128);
	assert_true(connected(net));
	o.seed = 4;
	other = try("ft3 8", &o, &e);
	assert_int_equal(other->nlinks, 384 - 40);
	ibnet_free(other);
	ibnet_free(net);
	o = (struct generate_options){ .missing_ppm = 10000 };
	net = try("ft3 8", &o, &e);
	assert_int_equal(net->nlinks, 384 - 3);		/* 1 % of 256, to the nearest */
	ibnet_free(net);
	/* 80 switches are held together by no fewer than 79 cables. */
	o = (struct generate_options){ .missing = 178 };
	assert_null(try("ft3 8", &o, &e));
	assert_string_equal(e.text, "178 of 256 cables between switches cannot be missing: after "
			    "177 the next would cut the fabric in two");
}

static void
test_parallel_and_names(void **state)
{
	struct generate_options o = { .parallel = 2, .site_names = true };
	struct error e = { 0 };
	struct ibnet *net = try("ft2 2 2 2", &o, &e);

	(void)state;
	assert_non_null(net);
	assert_int_equal(net->nlinks, 4 + 2 * 2 * 2);
	assert_string_equal(net->nodes[0].desc, "node-00001 mlx5_0");
	assert_string_equal(net->nodes[4].desc, "MF0;leaf-001:MQM9700/U1");
	assert_string_equal(net->nodes[7].desc, "MF0;spine-002:MQM9700/U1");
	assert_string_equal(net->nodes[7].name, "S-0000000000200003");
	assert_int_equal(net->nodes[4].nports, 6);
	ibnet_free(net);
}

static void
test_words(void **state)
{
	struct generate_options o = { 0 };
	struct error e = { 0 };
	struct ibnet *net = NULL;

	(void)state;
	assert_int_equal(generate_words(&net, "fat-tree:4,2", &o, &e), 0);
	assert_int_equal(hosts_of(net), 8);
	ibnet_free(net);
	assert_int_equal(generate_or_read(&net, "multi-plane:2,ft3,4", &o, &e), 0);
	assert_int_equal(hosts_of(net), 2 * 16);
	ibnet_free(net);
	assert_int_equal(generate_or_read(&net, "ft3.net", &o, &e), ERR_IO);
	assert_int_equal(generate_or_read(&net, "/nowhere/ft3 4", &o, &e), ERR_IO);
	assert_int_equal(generate_words(&net, "", &o, &e), ERR_INVALID);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_ft3),
		cmocka_unit_test(test_grid),
		cmocka_unit_test(test_dragonfly),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_shuffle),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_more_shapes),
		cmocka_unit_test(test_slim_fly),
		cmocka_unit_test(test_dragonfly_plus),
		cmocka_unit_test(test_planes),
		cmocka_unit_test(test_rails),
		cmocka_unit_test(test_missing),
		cmocka_unit_test(test_parallel_and_names),
		cmocka_unit_test(test_words),
	};

	alarm(60);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
