/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/core/subnet_i.h"
#include "sm/sa/group.h"
#include "sm/sa/sa.h"
#include "tests/unit/sa_bed.h"

/*
 * Alias GUIDs over the simulated fabric: what is refused and with what status, what the devices
 * hold in the end, also those that refuse it, are silent or lose it, what an alias stands for in
 * other records, and what of it all lasts over a restart. What OpenSM answers is in cases_guids.py.
 */
#define BOTH (SA_BIT(SA_GUIDS_LID) | SA_BIT(SA_GUIDS_BLOCK))
#define AT(i) SA_BIT(SA_GUIDS_FIRST + (i))
#define PREFIX UINT64_C(0xfe80000000000000)

/* Set or free one GUID of the client's own port; the status. */
static uint16_t
change(struct sa_bed *b, uint8_t method, unsigned block, unsigned i, uint64_t guid)
{
	struct sa_guids r = { .lid = sa_bed_lid(b, "H1_0_0", 1), .block = (uint8_t)block };

	r.guids[i] = guid;
	assert_true(sa_bed_ask(b, method, &sa_guids_type, &r, BOTH | AT(i)));
	assert_int_equal(b->h.h.method, method == MAD_SET ? MAD_GET_RESP : MAD_DELETE_RESP);
	return b->h.h.status;
}

static uint64_t
held(const struct sa_bed *b, unsigned i)
{
	return model_guid(b->sm->bed->m, b->node, 1, i);
}

static void
settle(struct sa_bed *b)
{
	bed_wait(b->sm->bed, MSEC(50));
	assert_true(bed_quiet(b->sm, SEC(10)));
}

static void
restart(struct sa_bed *b)
{
	bed_start(b->sm);
	assert_int_equal(bed_run(b->sm, SEC(10)), 1);
	settle(b);
}

/* Bounds of LID, block and index; who may ask. */
static void
test_refused(void **state)
{
	struct sa_bed *b = *state;
	uint16_t lid = sa_bed_lid(b, "H1_0_0", 1), other = sa_bed_lid(b, "H2_0_0", 1);
	const struct {
		struct sa_guids r;	/* asked for */
		uint64_t mask;		/* its components */
		uint16_t status;	/* wanted */
	} rows[] = {
		{ { .lid = lid }, AT(1) | SA_BIT(SA_GUIDS_LID), SA_STATUS_INSUFFICIENT },
		{ { .lid = lid }, AT(1) | SA_BIT(SA_GUIDS_BLOCK), SA_STATUS_INSUFFICIENT },
		{ { .lid = 0 }, BOTH | AT(1), SA_STATUS_NO_RECORDS },
		{ { .lid = 0xbfff }, BOTH | AT(1), SA_STATUS_NO_RECORDS },
		{ { .lid = 0xffff }, BOTH | AT(1), SA_STATUS_NO_RECORDS },
		{ { .lid = lid, .block = 1 }, BOTH | AT(1), SA_STATUS_NO_RECORDS },
		{ { .lid = lid, .block = 255 }, BOTH | AT(7), SA_STATUS_NO_RECORDS },
		{ { .lid = lid }, BOTH | AT(0), SA_STATUS_INVALID },
		{ { .lid = other }, BOTH | AT(1), SA_STATUS_DENIED },
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (int set = 0; set < 2; set++) {
			assert_true(sa_bed_ask(b, set ? MAD_SET : MAD_DELETE, &sa_guids_type,
					       &rows[i].r, rows[i].mask));
			assert_int_equal(b->h.h.status, rows[i].status);
		}
	b->key = b->sm->conf.sm_key;
	assert_true(sa_bed_ask(b, MAD_SET, &sa_guids_type, &rows[8].r, rows[8].mask));
	assert_int_equal(b->h.h.status, 0);
}

/* A GUIDCap that ends inside a block: no entry behind it. */
static void
test_last_block(void **state)
{
	struct model_options o = { .seed = 1, .caps = { .guids = 20 } };
	struct port_events ev = { .receive = sa_bed_receive, .state = sa_bed_state };
	struct sa_bed *b = calloc(1, sizeof(*b));
	struct bed *bed = bed_new_options("ft3 4", 1, &o);
	struct sa_guids r = { 0 };
	struct error e;

	(void)state;
	*b = (struct sa_bed){ .version = SA_CLASS_VERSION, .sm = bed_sm(bed, 0, 1) };
	ev.arg = b;
	b->node = bed_node(bed, "H1_0_0");
	assert_int_equal(direct_open(&b->port, bed->m, b->node, 1, &ev, &e), 0);
	restart(b);
	r.lid = sa_bed_lid(b, "H1_0_0", 1);
	assert_int_equal(sa_bed_table(b, &sa_guids_type, &r, SA_BIT(SA_GUIDS_LID)), 3);
	assert_int_equal(change(b, MAD_SET, 2, 3, 0x1111), 0);
	assert_int_equal(change(b, MAD_SET, 2, 4, 0x2222), 0);
	assert_int_equal(sa_decode(&sa_guids_type, &r, b->data, b->size), 0);
	assert_int_equal(r.guids[3], 0x1111);
	assert_int_equal(r.guids[4], 0);
	assert_int_equal(change(b, MAD_SET, 3, 0, 0x3333), SA_STATUS_NO_RECORDS);
	assert_int_equal(change(b, MAD_SET, 1, 0, 0x4444), 0);
	settle(b);
	assert_int_equal(held(b, 8), 0x4444);
	assert_int_equal(held(b, 19), 0x1111);
	sa_bed_free(b);
	free(b);
}

/* The port of an alias, in questions and in groups. */
static void
test_stands_for(void **state)
{
	struct sa_bed *b = *state;
	uint64_t own = model_port_guid(b->sm->bed->m, b->node, 1);
	const struct sa_gid mgid = { UINT64_C(0xff15401bffff0000), 5 };
	struct sa_node n = { .info = { .port_guid = 0xabcd } };
	struct sa_member g = { .mgid = mgid, .port_gid = { PREFIX, 0xabcd }, .qkey = 1,
			       .pkey = 0xffff, .join_state = SA_JOIN_FULL };
	uint64_t mask = SA_BIT(SA_MEMBER_MGID) | SA_BIT(SA_MEMBER_PORT_GID) |
		SA_BIT(SA_MEMBER_JOIN_STATE) | SA_BIT(SA_MEMBER_QKEY) | SA_BIT(SA_MEMBER_TCLASS) |
		SA_BIT(SA_MEMBER_PKEY) | SA_BIT(SA_MEMBER_FLOW_LABEL) | SA_BIT(SA_MEMBER_SL);

	assert_int_equal(sa_bed_get(b, &sa_node_type, &n, SA_BIT(SA_NODE_PORT_GUID), &n),
			 SA_STATUS_NO_RECORDS);
	assert_int_equal(change(b, MAD_SET, 0, 1, 0xabcd), 0);
	n.info.port_guid = 0xabcd;
	assert_int_equal(sa_bed_get(b, &sa_node_type, &n, SA_BIT(SA_NODE_PORT_GUID), &n), 0);
	assert_int_equal(n.info.port_guid, own);
	assert_true(sa_bed_ask(b, MAD_SET, &sa_member_type, &g, mask));
	assert_int_equal(b->h.h.status, 0);
	assert_int_equal(sa_groups_find(sa_groups(b->sm->s->sa), &mgid)->len, 1);
	/* What names nobody is no member: the group had no other. */
	assert_int_equal(change(b, MAD_DELETE, 0, 1, 0), 0);
	assert_null(sa_groups_find(sa_groups(b->sm->s->sa), &mgid));
}

/* A device that refuses, or keeps, is told once, and asked again after a change or a reboot. */
static void
test_device_refuses(void **state)
{
	struct sa_bed *b = *state;

	model_refuse(b->sm->bed->m, b->node, ATTR_GUID_INFO, 0x1c);
	assert_int_equal(change(b, MAD_SET, 0, 1, 0x5555), 0);
	settle(b);
	assert_non_null(bed_event(b->sm, EVENT_REFUSED, "alias"));
	bed_forget(b->sm);
	bed_sweep(b->sm, SEC(10));
	bed_wait(b->sm->bed, SEC(60));
	assert_int_equal(b->sm->nevents[EVENT_REFUSED], 0);
	assert_int_equal(held(b, 1), 0);
	model_refuse(b->sm->bed->m, b->node, ATTR_GUID_INFO, 0);
	assert_int_equal(change(b, MAD_SET, 0, 2, 0x6666), 0);
	settle(b);
	assert_int_equal(held(b, 1), 0x5555);
	assert_int_equal(held(b, 2), 0x6666);
}

static unsigned lose;	/* so many Sets of GUIDInfo */

static bool
lose_guids(struct bed_sm *sm, struct port_mad *m)
{
	struct mad_header h;

	(void)sm;
	return mad_header_decode(&h, m->mad, sizeof(m->mad)) || h.attr_id != ATTR_GUID_INFO ||
		h.method != MAD_SET || !lose || !lose--;
}

/* What does not get through is sent again in a while. */
static void
test_device_silent(void **state)
{
	struct sa_bed *b = *state;

	b->sm->out = lose_guids;
	lose = 6;
	assert_int_equal(change(b, MAD_SET, 0, 1, 0x5555), 0);
	for (unsigned i = 0; i < 100 && held(b, 1) != 0x5555; i++)
		bed_wait(b->sm->bed, MSEC(500));
	assert_int_equal(held(b, 1), 0x5555);
	assert_int_equal(lose, 0);
}

/* After a restart each alias is written once; what was freed and not yet written is freed then. */
static void
test_restart(void **state)
{
	struct sa_bed *b = *state;

	assert_int_equal(change(b, MAD_SET, 0, 1, 0x1111), 0);
	assert_int_equal(change(b, MAD_SET, 0, 2, 0x2222), 0);
	assert_int_equal(change(b, MAD_SET, 0, 3, 0), 0);
	settle(b);
	assert_true(held(b, 3) >> 56 == 2);
	b->sm->out = lose_guids;
	lose = UINT32_MAX;
	assert_int_equal(change(b, MAD_DELETE, 0, 1, 0), 0);
	bed_stop(b->sm);
	b->sm->out = NULL;
	assert_int_equal(held(b, 1), 0x1111);
	store_put(b->sm->store, STORE_CLIENTS, "default guid 1 2", "2222"); /* another's */
	store_put(b->sm->store, STORE_CLIENTS, "default guid 100009 0", "3333");
	store_put(b->sm->store, STORE_CLIENTS, "default guid 100009 100", "3333");
	store_put(b->sm->store, STORE_CLIENTS, "default guid 100009 4", "rubbish");
	store_commit(b->sm->store, NULL, NULL);
	model_count_reset(b->sm->bed->m);
	restart(b);
	assert_int_equal(held(b, 1), 0);
	assert_int_equal(held(b, 4), 0);
	assert_int_equal(bed_count(b->sm->bed, MAD_SET, ATTR_GUID_INFO), 1);
	assert_int_equal(change(b, MAD_SET, 0, 5, 0x1111), 0);
	settle(b);
	assert_int_equal(held(b, 5), 0x1111);
	model_count_reset(b->sm->bed->m);
	bed_sweep(b->sm, SEC(10));
	settle(b);
	assert_int_equal(bed_count(b->sm->bed, MAD_SET, ATTR_GUID_INFO), 0);
}

/* A fault waits for no alias GUID: not long after they were written while nothing else happened,
 * nor when the device does not answer. */
static void
test_faults_first(void **state)
{
	struct sa_bed *b = *state;
	struct model *m = b->sm->bed->m;
	uint32_t leaf = bed_node(b->sm->bed, "L2_0");
	uint16_t lid = sa_bed_lid(b, "H3_0_0", 1);

	b->sm->conf.sweep_interval = 0;
	bed_sweep(b->sm, SEC(10));
	for (int silent = 0; silent < 2; silent++) {
		uint8_t out;

		bed_wait(b->sm->bed, SEC(3000));
		assert_int_equal(change(b, MAD_SET, 0, 1, 0x5555 + (unsigned)silent), 0);
		bed_wait(b->sm->bed, MSEC(2));
		if (silent)
			model_silence(m, b->node, MODEL_SILENT);
		else
			settle(b);
		bed_wait(b->sm->bed, MSEC(10));
		out = model_lft(m, leaf, lid);
		model_link_set(m, leaf, out, false);
		bed_wait(b->sm->bed, MSEC(100));
		assert_int_not_equal(model_lft(m, leaf, lid), out);
		model_link_set(m, leaf, out, true);
		bed_wait(b->sm->bed, SEC(3));
	}
	model_silence(m, b->node, MODEL_ANSWERS);
	bed_wait(b->sm->bed, SEC(30));
	bed_sweep(b->sm, SEC(10));
	settle(b);
	assert_int_equal(held(b, 1), 0x5556);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_refused, sa_bed_setup, sa_bed_teardown),
		cmocka_unit_test(test_last_block),
		cmocka_unit_test_setup_teardown(test_stands_for, sa_bed_setup, sa_bed_teardown),
		cmocka_unit_test_setup_teardown(test_device_refuses, sa_bed_setup, sa_bed_teardown),
		cmocka_unit_test_setup_teardown(test_device_silent, sa_bed_setup, sa_bed_teardown),
		cmocka_unit_test_setup_teardown(test_restart, sa_bed_setup, sa_bed_teardown),
		cmocka_unit_test_setup_teardown(test_faults_first, sa_bed_setup, sa_bed_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
