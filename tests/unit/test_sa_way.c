/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Paths by partitions and by what the client can understand, on a subnet made by hand: hosts with
 * LIDs 1 to 4 on one switch with LID 5, asked in its own process. Host 1 runs at 4xNDR (400 Gb/s,
 * code 21), host 2 at 12xEDR (300 Gb/s, code 18), host 3 at 4xQDR (40 Gb/s, code 7), host 4 at
 * 8xFDR (112 Gb/s, code 13).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "sm/base/loop.h"
#include "sm/sa/sa.h"
#include "sm/store/store.h"
#include "sm/wire/sa_rate.h"

#define PREFIX 0xfe80000000000000u
#define HOSTS 4
#define KEYS 3
#define SLID SA_BIT(SA_PATH_SLID)
#define DLID SA_BIT(SA_PATH_DLID)
#define PKEY SA_BIT(SA_PATH_PKEY)

struct bed {
	struct loop *loop;		/* virtual */
	struct store *store;		/* in memory */
	struct plan *plan;		/* published */
	struct config_subnet conf;	/* in force */
	struct portinfo info[HOSTS + 1];	/* by GUID */
	uint16_t keys[HOSTS + 2][KEYS];	/* P_Key tables by GUID */
	bool keyless;			/* no table is known */
	bool front;			/* the first key begins the table */
	uint64_t changed;		/* of pkeys_changed() */
	struct sa *sa;			/* under test */
	struct sa_header h;		/* of the last answer */
	struct sa_path path;		/* its first record, */
	struct sa_member member;	/* or this */
};

static const struct plan *
lend_plan(void *arg)
{
	return ((const struct bed *)arg)->plan;
}

static const struct config_subnet *
lend_conf(void *arg)
{
	return &((const struct bed *)arg)->conf;
}

static const struct portinfo *
lend_port(void *arg, uint64_t guid, unsigned port)
{
	const struct bed *b = arg;

	return port == 1 && guid <= HOSTS ? &b->info[guid] : NULL;
}

/* Tables of two blocks: the first key at the end of one, or its beginning, the others in the
 * next. */
static enum sa_held
lend_pkeys(void *arg, uint64_t guid, unsigned port, unsigned block, uint16_t keys[32])
{
	const struct bed *b = arg;

	assert_int_equal(port, guid <= HOSTS);
	if (b->keyless)
		return SA_UNREAD;
	if (block >= (guid <= HOSTS ? 2 : 1))
		return SA_HELD_NOT;
	memset(keys, 0, 32 * sizeof(keys[0]));
	if (block == 0)
		memcpy(keys + (b->front ? 0 : 31), b->keys[guid], sizeof(keys[0]));
	else
		memcpy(keys, b->keys[guid] + 1, (KEYS - 1) * sizeof(keys[0]));
	return SA_HELD;
}

static uint64_t
lend_pkeys_changed(void *arg)
{
	return ((const struct bed *)arg)->changed;
}

static int
lend_send(void *arg, const struct port_mad *m)
{
	struct bed *b = arg;

	assert_int_equal(sa_header_decode(&b->h, port_mad_bytes(m), port_mad_len(m)), 0);
	assert_int_equal(sa_path_decode(&b->path, port_mad_bytes(m) + SA_HEADER_SIZE,
					port_mad_len(m) - SA_HEADER_SIZE), 0);
	assert_int_equal(sa_member_decode(&b->member, port_mad_bytes(m) + SA_HEADER_SIZE,
					  port_mad_len(m) - SA_HEADER_SIZE), 0);
	return 0;
}

static void
on_groups(void *arg, uint16_t mlid)
{
	(void)arg;
	(void)mlid;
}

static struct plan *
make_plan(void)
{
	static const uint8_t links[HOSTS][2] = {
		{ LINK_4X, SPEED_NDR }, { LINK_12X, SPEED_EDR }, { LINK_4X, SPEED_QDR },
		{ LINK_8X, SPEED_FDR },
	};
	struct fabric_builder *fb = fabric_builder_new();
	struct fabric_node n = { .guid = HOSTS + 1, .type = NODE_SWITCH, .nports = HOSTS,
				 .name = "s", .desc = "s" };
	struct fabric_port p = { .guid = HOSTS + 1, .state = PORT_ACTIVE, .mtu_cap = 5,
				 .neighbor_mtu = 5 };
	uint32_t sw = fabric_add_node(fb, &n);
	struct fabric *f;
	struct plan *plan;

	fabric_add_port(fb, sw, 0, &p);
	n = (struct fabric_node){ .type = NODE_CA, .nports = 1, .name = "h", .desc = "h" };
	for (unsigned i = 0; i < HOSTS; i++) {
		uint32_t host;

		n.guid = i + 1;
		host = fabric_add_node(fb, &n);
		p.width = links[i][0];
		p.speed = links[i][1];
		p.guid = i + 1;
		fabric_add_port(fb, host, 1, &p);
		p.guid = 0;
		fabric_add_port(fb, sw, i + 1, &p);
		fabric_add_link(fb, host, 1, sw, i + 1);
	}
	f = fabric_build(fb, 1);
	plan = plan_new(f);
	plan->lids = plan_lids_new(f);
	for (uint64_t guid = 1; guid <= HOSTS + 1; guid++)
		plan->lids->base[fabric_port_by_guid(f, guid)] = (uint16_t)guid;
	plan_lids_index(plan->lids, f);
	plan->rows[0] = plan_row_new(plan->lids->top);
	for (unsigned i = 1; i <= HOSTS; i++)
		plan_row_set(&plan->rows[0], (uint16_t)i, (uint8_t)i);
	plan_row_set(&plan->rows[0], HOSTS + 1, 0);
	fabric_unref(f);
	return plan;
}

static int
setup(void **state)
{
	struct bed *b = calloc(1, sizeof(*b));
	struct sa_env env = {
		.plan = lend_plan, .conf = lend_conf, .port_info = lend_port,
		.pkey_block = lend_pkeys, .pkeys_changed = lend_pkeys_changed,
		.send = lend_send, .groups_changed = on_groups, .arg = b,
	};

	assert_non_null(b);
	b->conf = (struct config_subnet){ .name = "t", .sm_key = 1, .prefix = PREFIX,
					  .subnet_timeout = 18 };
	b->plan = make_plan();
	env.loop = b->loop = loop_new_virtual(1);
	env.store = b->store = store_open_memory(b->loop);
	b->sa = sa_new(&env);
	b->keyless = true;
	b->changed++;
	*state = b;
	return 0;
}

static int
setup_front(void **state)
{
	setup(state);
	((struct bed *)*state)->front = true;
	return 0;
}

static int
teardown(void **state)
{
	struct bed *b = *state;

	sa_free(b->sa);
	plan_unref(b->plan);
	store_close(b->store);
	loop_free(b->loop);
	free(b);
	return 0;
}

/* The status of a question; with our SM_Key if it is trusted. */
static uint16_t
ask(struct bed *b, uint16_t asker, uint8_t method, const struct sa_type *t, const void *want,
    uint64_t mask, bool trusted)
{
	struct port_mad m = { .qp = 1, .lid = asker };
	struct sa_header h = {
		.h = { .base_version = 1, .mgmt_class = MAD_CLASS_SUBN_ADM, .method = method,
		       .class_version = SA_CLASS_VERSION, .attr_id = t->id, .tid = 1 },
		.mask = mask, .sm_key = trusted,
	};

	sa_header_encode(&h, m.mad);
	sa_encode(t, want, m.mad + SA_HEADER_SIZE);
	memset(&b->h, 0xff, sizeof(b->h));
	sa_request(b->sa, &m);
	for (unsigned i = 0; b->h.h.method != MAD_GET_RESP && i < 1000; i++)
		loop_run_until(b->loop, loop_now(b->loop) + MSEC(1), NULL);
	assert_int_equal(b->h.h.method, MAD_GET_RESP);
	return b->h.h.status;
}

/* The status of a Get by `asker` for a path from LID to LID. */
static uint16_t
get(struct bed *b, uint16_t asker, uint16_t from, uint16_t to, struct sa_path want, uint64_t mask,
    bool trusted)
{
	want.slid = from;
	want.dlid = to;
	return ask(b, asker, MAD_GET, &sa_path_type, &want, mask | SLID | DLID, trusted);
}

/* ---- Rates ---- */

static unsigned
rate(struct bed *b, uint16_t asker, uint16_t from, uint16_t to)
{
	assert_int_equal(get(b, asker, from, to, (struct sa_path){ 0 }, 0, false), 0);
	return b->path.rate;
}

/* A client is told no code that its port does not show to know, but what its own link runs at. */
static void
test_client(void **state)
{
	struct bed *b = *state;

	b->info[1].cap_mask = CAP_EXTENDED_SPEEDS | CAP_MASK2;
	b->info[1].cap_mask2 = CAP2_NDR;
	b->info[2].cap_mask = CAP_EXTENDED_SPEEDS;
	assert_int_equal(rate(b, 1, 1, 1), 21);
	assert_int_equal(rate(b, 2, 1, 1), 18);
	assert_int_equal(rate(b, 3, 1, 1), 10);
	assert_int_equal(rate(b, 4, 1, 1), 13);	/* not extended, and yet it is: 112 Gb/s */
	assert_int_equal(rate(b, 3, 4, 2), 9);	/* 112 Gb/s, of which 80 have a code it knows */
	assert_int_equal(rate(b, 1, 4, 2), 13);
	assert_int_equal(rate(b, 1, 1, 3), 7);
	assert_int_equal(rate(b, 3, 3, 1), 7);
}

/* As "max_rate" of the configuration says: number of the word, which is the code less 1. */
static void
test_max_rate(void **state)
{
	struct bed *b = *state;
	struct sa_path want = { .rate_selector = SA_GREATER, .rate = 18 };
	const uint64_t mask = SA_BIT(SA_PATH_RATE) | SA_BIT(SA_PATH_RATE_SELECTOR);

	b->info[1].cap_mask = CAP_EXTENDED_SPEEDS | CAP_MASK2;
	b->info[1].cap_mask2 = CAP2_NDR;
	b->conf.max_rate = 18 - 1;
	assert_int_equal(rate(b, 1, 1, 1), 18);
	assert_int_equal(get(b, 1, 1, 1, want, mask, false), SA_STATUS_NO_RECORDS);
	/* 100 Gb/s is code 16: 112 Gb/s is slower by its code, but faster. */
	b->conf.max_rate = 16 - 1;
	assert_int_equal(rate(b, 1, 1, 1), 16);
	assert_int_equal(rate(b, 1, 4, 4), 16);
	/* Less than 60 Gb/s (8) is 56 (12), which was given out after 120 Gb/s (10). */
	b->conf.max_rate = 10 - 1;
	want = (struct sa_path){ .rate_selector = SA_LESS, .rate = 8 };
	assert_int_equal(get(b, 1, 1, 1, want, mask, false), 0);
	assert_int_equal(b->path.rate, 7);
	b->conf.max_rate = 0;
	assert_int_equal(rate(b, 1, 1, 1), 21);
	assert_int_equal(get(b, 1, 1, 1, want, mask, false), 0);
	assert_int_equal(b->path.rate, 12);
}

/* A group of the fastest host, 400 Gb/s, as each client is told of it. */
static void
test_group(void **state)
{
	static const uint8_t told[HOSTS] = { 21, 18, 10, 13 };
	struct bed *b = *state;
	struct sa_member m = { .mgid = { 0xff15000000000000, 1 }, .port_gid = { PREFIX, 1 },
			       .join_state = SA_JOIN_FULL, .pkey = 0xffff };
	struct sa_path p = { .dgid = m.mgid };

	b->info[1].cap_mask = CAP_EXTENDED_SPEEDS | CAP_MASK2;
	b->info[1].cap_mask2 = CAP2_NDR;
	b->info[2].cap_mask = CAP_EXTENDED_SPEEDS;
	assert_int_equal(ask(b, 1, MAD_SET, &sa_member_type, &m, UINT64_MAX &
			     ~(SA_BIT(SA_MEMBER_MTU_SELECTOR) | SA_BIT(SA_MEMBER_RATE_SELECTOR) |
			       SA_BIT(SA_MEMBER_LIFE_SELECTOR)), false), 0);
	assert_int_equal(b->member.rate, 21);
	for (uint16_t i = 0; i < HOSTS; i++) {
		assert_int_equal(ask(b, (uint16_t)(i + 1), MAD_GET, &sa_member_type, &m,
				     SA_BIT(SA_MEMBER_MGID), false), 0);
		assert_int_equal(b->member.rate, told[i]);
		assert_int_equal(ask(b, (uint16_t)(i + 1), MAD_GET, &sa_path_type, &p,
				     SA_BIT(SA_PATH_DGID), false), 0);
		assert_int_equal(b->path.rate, told[i]);
		/* Not of the scope of a link, and no limit was set. */
		assert_int_equal(b->path.hop_limit, 255);
	}
	b->conf.max_rate = 10 - 1;
	assert_int_equal(ask(b, 1, MAD_GET, &sa_member_type, &m, SA_BIT(SA_MEMBER_MGID), false),
			 0);
	assert_int_equal(b->member.rate, 10);
	m.mgid.guid = 2;
	assert_int_equal(ask(b, 1, MAD_SET, &sa_member_type, &m, UINT64_MAX &
			     ~SA_BIT(SA_MEMBER_RATE_SELECTOR) & ~SA_BIT(SA_MEMBER_MTU_SELECTOR) &
			     ~SA_BIT(SA_MEMBER_LIFE_SELECTOR), false), 0);
	b->conf.max_rate = 0;
	assert_int_equal(ask(b, 1, MAD_GET, &sa_member_type, &m, SA_BIT(SA_MEMBER_MGID), false),
			 0);
	assert_int_equal(b->member.rate, 10);
}

/* ---- Partitions ---- */

static void
hold(struct bed *b, unsigned host, uint16_t first, uint16_t second, uint16_t third)
{
	b->changed++;
	b->keys[host][0] = first;
	b->keys[host][1] = second;
	b->keys[host][2] = third;
}

static void
test_partitions(void **state)
{
	struct bed *b = *state;
	struct sa_path want = { .pkey = 0x8002 };

	b->keyless = false;
	b->changed++;
	hold(b, 1, 0xffff, 0x8002, 0);
	hold(b, 2, 0, 0x7fff, 0x8002);
	hold(b, 3, 0x7fff, 0x0002, 0x8003);
	hold(b, 4, 0x8003, 0x8004, 0x0004);
	/* As the source has it, full or limited. */
	assert_int_equal(get(b, 1, 1, 2, want, 0, false), 0);
	assert_int_equal(b->path.pkey, 0xffff);
	assert_int_equal(get(b, 1, 2, 1, want, 0, false), 0);
	assert_int_equal(b->path.pkey, 0x7fff);
	/* Both are limited members of the default partition, one is full in the other. */
	assert_int_equal(get(b, 1, 2, 3, want, 0, false), 0);
	assert_int_equal(b->path.pkey, 0x8002);
	assert_int_equal(get(b, 1, 3, 2, want, 0, false), 0);
	assert_int_equal(b->path.pkey, 0x0002);
	/* That one and no other. */
	assert_int_equal(get(b, 1, 1, 3, want, PKEY, false), 0);
	assert_int_equal(b->path.pkey, 0x8002);
	want.pkey = 0x7fff;
	assert_int_equal(get(b, 1, 2, 3, want, PKEY, false), SA_STATUS_NO_RECORDS);
	want.pkey = 0x8003;
	assert_int_equal(get(b, 3, 1, 3, want, PKEY, false), SA_STATUS_NO_RECORDS);
	assert_int_equal(get(b, 3, 3, 4, want, PKEY, false), 0);
	want.pkey = 0;
	assert_int_equal(get(b, 3, 3, 4, want, PKEY, false), SA_STATUS_NO_RECORDS);
	want.pkey = 0x8000;
	assert_int_equal(get(b, 3, 3, 4, want, PKEY, false), SA_STATUS_NO_RECORDS);
	/* Nothing in common. */
	assert_int_equal(get(b, 1, 1, 4, want, 0, true), SA_STATUS_NO_RECORDS);
	/* The switch's port 0 has an empty table. */
	assert_int_equal(get(b, 1, 1, 5, want, 0, true), SA_STATUS_NO_RECORDS);
}

/* Whoever asks must share a partition with both ends, or show the SM_Key. */
static void
test_asker(void **state)
{
	struct bed *b = *state;
	const struct sa_path want = { 0 };

	b->keyless = false;
	b->changed++;
	hold(b, 1, 0xffff, 0, 0);
	hold(b, 2, 0xffff, 0, 0);
	hold(b, 3, 0x7fff, 0x8003, 0);
	hold(b, 4, 0x8003, 0, 0);
	assert_int_equal(get(b, 3, 1, 2, want, 0, false), 0);
	assert_int_equal(get(b, 4, 1, 2, want, 0, false), SA_STATUS_NO_RECORDS);
	assert_int_equal(get(b, 4, 1, 2, want, 0, true), 0);
	assert_int_equal(get(b, 9, 1, 2, want, 0, false), SA_STATUS_NO_RECORDS);
	assert_int_equal(get(b, 4, 4, 3, want, 0, false), 0);
	/* A limited member may not know of another one. */
	hold(b, 2, 0x7fff, 0, 0);
	assert_int_equal(get(b, 3, 1, 2, want, 0, false), SA_STATUS_NO_RECORDS);
	/* Tables that are not known. */
	b->keyless = true;
	b->changed++;
	assert_int_equal(get(b, 4, 1, 2, want, 0, false), 0);
	assert_int_equal(b->path.pkey, 0xffff);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_client, setup, teardown),
		cmocka_unit_test_setup_teardown(test_max_rate, setup, teardown),
		cmocka_unit_test_setup_teardown(test_group, setup, teardown),
		cmocka_unit_test_setup_teardown(test_partitions, setup, teardown),
		cmocka_unit_test_setup_teardown(test_partitions, setup_front, teardown),
		cmocka_unit_test_setup_teardown(test_asker, setup, teardown),
		cmocka_unit_test_setup_teardown(test_asker, setup_front, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
