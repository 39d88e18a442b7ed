/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/unit/sa_bed.h"
#include "sm/wire/sa_rate.h"

/*
 * MultiPathRecord and TraceRecord of a subnet that is up: "ft3 4", 16 hosts and 20 switches in
 * three levels. Statuses are those that packaged OpenSM gives, but where a count is larger than the
 * message: that it reads on as zeros and calls an invalid GID.
 */
#define PREFIX 0xfe80000000000000u
#define COUNTS (SA_BIT(SA_MULTIPATH_SGID_COUNT) | SA_BIT(SA_MULTIPATH_DGID_COUNT))
#define NUMB_PATH SA_BIT(SA_MULTIPATH_NUMB_PATH)
#define INDEPENDENT SA_BIT(SA_MULTIPATH_INDEPENDENCE)
#define BOTH_ENDS (SA_BIT(SA_PATH_SGID) | SA_BIT(SA_PATH_DGID))
#define GIDS 32

/* A request, and its answer or none within a second. */
static void
ask(struct sa_bed *b, struct sa_header *h, const uint8_t *data, size_t size)
{
	static uint32_t tid = 1000;
	uint8_t bytes[SA_HEADER_SIZE + 24 + 16 * GIDS] = { 0 };
	struct port_mad m = { .qp = 1, .timeout_ms = 1000, .data = bytes };

	h->h.tid = ++tid;
	h->h.base_version = 1;
	h->h.mgmt_class = MAD_CLASS_SUBN_ADM;
	h->h.class_version = SA_CLASS_VERSION;
	assert_true(size <= sizeof(bytes) - SA_HEADER_SIZE);
	sa_header_encode(h, bytes);
	memcpy(bytes + SA_HEADER_SIZE, data, size);
	m.lid = model_portinfo(b->sm->bed->m, b->node, 1)->sm_lid;
	m.len = (uint32_t)(SA_HEADER_SIZE + size);
	b->answered = false;
	assert_int_equal(port_send(b->port, &m), 0);
	for (unsigned i = 0; i < 1500 && !b->answered; i++)
		bed_wait(b->sm->bed, MSEC(1));
	assert_true(b->answered);
}

/* The status of a GetMulti, and the number of its records to b->n. */
static uint16_t
multi(struct sa_bed *b, const struct sa_multipath *want, uint64_t mask, const struct sa_gid *gids,
      unsigned n)
{
	struct sa_header h = {
		.h = { .attr_id = SA_MULTI_PATH, .method = MAD_GET_MULTI },
		.rmpp_version = SA_RMPP_VERSION, .rmpp_type = SA_RMPP_DATA,
		.rmpp_flags = SA_RMPP_ACTIVE, .mask = mask,
	};
	uint8_t data[24 + 16 * GIDS];

	assert_true(n <= GIDS);
	sa_multipath_encode(want, data);
	for (unsigned i = 0; i < n; i++)
		sa_gid_put(&gids[i], data + 24 + 16 * i);
	ask(b, &h, data, 24 + 16 * n);
	assert_int_equal(b->h.h.method, MAD_GET_MULTI_RESP);
	assert_int_equal(b->h.h.attr_id, SA_PATH);
	b->n = 0;
	if (!b->h.h.status) {
		assert_int_equal(b->h.attr_offset, 8);
		assert_int_equal(b->size % 64, 0);
		b->n = (unsigned)(b->size / 64);
	}
	return b->h.h.status;
}

static struct sa_path
path(const struct sa_bed *b, unsigned i)
{
	struct sa_path p;

	sa_bed_record(b, &sa_path_type, i, &p);
	return p;
}

/* Each of the sources to each of the destinations, and each path as a PathRecord has it. */
static void
test_all(void **state)
{
	static const char *const names[] = { "H1_0_0", "H0_0_1", "H3_1_1", "H2_0_0", "L0_0" };
	struct sa_bed *b = *state;
	struct sa_multipath want = { .sgid_count = 2, .dgid_count = 3 };
	struct sa_gid gids[5];
	struct sa_path p[6], q;

	for (unsigned i = 0; i < 5; i++)
		gids[i] = sa_bed_gid(b, names[i]);
	assert_int_equal(multi(b, &want, COUNTS, gids, 5), 0);
	assert_int_equal(b->n, 6);
	for (unsigned i = 0; i < 6; i++) {
		p[i] = path(b, i);
		assert_true(sa_gid_equal(&p[i].sgid, &gids[i / 3]));
		assert_true(sa_gid_equal(&p[i].dgid, &gids[2 + i % 3]));
	}
	for (unsigned i = 0; i < 6; i++) {
		assert_int_equal(sa_bed_get(b, &sa_path_type, &p[i], BOTH_ENDS, &q), 0);
		sa_bed_same(&sa_path_type, &p[i], &q);
	}
	for (unsigned n = 0; n < 8; n++) {
		want.numb_path = (uint8_t)n;
		assert_int_equal(multi(b, &want, COUNTS | NUMB_PATH, gids, 5), 0);
		assert_int_equal(b->n, n < 6 ? n : 6);
	}
}

/* More GIDs than one MAD holds: the request is of several, too. */
static void
test_long(void **state)
{
	struct sa_bed *b = *state;
	struct sa_multipath want = { .sgid_count = 16, .dgid_count = 16, .numb_path = 127 };
	struct sa_gid gids[32];
	unsigned n = 0;

	for (unsigned i = 0; i < 16; i++) {
		char name[16];

		snprintf(name, sizeof(name), "H%u_%u_%u", i / 4, i / 2 % 2, i % 2);
		gids[n] = gids[n + 16] = sa_bed_gid(b, name);
		n++;
	}
	assert_int_equal(multi(b, &want, COUNTS, gids, 32), 0);
	assert_int_equal(b->n, 127);
	assert_true(sa_gid_equal(&(struct sa_gid){ PREFIX, path(b, 126).dgid.guid }, &gids[14]));
	want.sgid_count = 1;
	assert_int_equal(multi(b, &want, COUNTS, gids, 17), 0);
	assert_int_equal(b->n, 16);
}

static void
test_refused(void **state)
{
	static const struct {
		unsigned sources, destinations, gids;	/* as counted, and as sent */
		uint64_t mask;
		uint16_t status;
	} cases[] = {
		{ 1, 1, 2, COUNTS, 0 },
		{ 1, 1, 2, SA_BIT(SA_MULTIPATH_SGID_COUNT), SA_STATUS_INSUFFICIENT },
		{ 1, 1, 2, SA_BIT(SA_MULTIPATH_DGID_COUNT), SA_STATUS_INSUFFICIENT },
		{ 1, 1, 2, 0, SA_STATUS_INSUFFICIENT },
		{ 0, 1, 2, COUNTS, SA_STATUS_INVALID }, { 1, 0, 2, COUNTS, SA_STATUS_INVALID },
		{ 2, 1, 2, COUNTS, SA_STATUS_INVALID }, { 1, 2, 2, COUNTS, SA_STATUS_INVALID },
		{ 255, 255, 2, COUNTS, SA_STATUS_INVALID }, { 1, 1, 0, COUNTS, SA_STATUS_INVALID },
		{ 1, 1, 3, COUNTS, 0 },	/* what follows is nobody's */
		{ 1, 2, 3, COUNTS, SA_STATUS_INVALID_GID },
		{ 1, 1, 2, COUNTS | SA_BIT(SA_MULTIPATH_SERVICE_ID_LSB), SA_STATUS_INSUFFICIENT },
		{ 1, 1, 2, COUNTS | SA_BIT(SA_MULTIPATH_RATE) | SA_BIT(SA_MULTIPATH_RATE_SELECTOR),
		  SA_STATUS_INVALID },
	};
	struct sa_bed *b = *state;
	struct sa_gid gids[3] = { sa_bed_gid(b, "H1_0_0"), sa_bed_gid(b, "H3_0_0") };

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sa_multipath want = {
			.sgid_count = (uint8_t)cases[i].sources,
			.dgid_count = (uint8_t)cases[i].destinations,
			.rate_selector = SA_EXACTLY, .rate = 1,
		};

		assert_int_equal(multi(b, &want, cases[i].mask, gids, cases[i].gids),
				 cases[i].status);
	}
}

static void
test_gids(void **state)
{
	struct sa_bed *b = *state;
	const struct sa_gid good = sa_bed_gid(b, "H1_0_0"), bad[] = {
		{ PREFIX, 0x1234 }, { PREFIX, 0 }, { 0xff12401bffff0000, 0xffffffff },
		{ 0x20010db800000000, good.guid },
	};
	const struct sa_multipath want = { .sgid_count = 1, .dgid_count = 1 };
	struct sa_header h = { .h = { .attr_id = SA_MULTI_PATH, .method = MAD_GET_MULTI },
			       .mask = COUNTS };
	uint8_t data[200] = { 0 };

	for (unsigned i = 0; i < 4; i++) {
		const struct sa_gid first[] = { bad[i], good }, second[] = { good, bad[i] };

		assert_int_equal(multi(b, &want, COUNTS, first, 2), SA_STATUS_INVALID_GID);
		assert_int_equal(multi(b, &want, COUNTS, second, 2), SA_STATUS_INVALID_GID);
	}
	/* It is a message of several MADs, or nothing; and there is no other method. */
	sa_multipath_encode(&want, data);
	sa_gid_put(&good, data + 24);
	sa_gid_put(&good, data + 40);
	ask(b, &h, data, sizeof(data));
	assert_int_equal(b->h.h.status, SA_STATUS_INVALID);
	h.h.method = MAD_GET;
	ask(b, &h, data, sizeof(data));
	assert_int_equal(b->h.h.status, MAD_STATUS_BAD_ATTR);
	h.h.method = MAD_GET_TABLE;
	ask(b, &h, data, sizeof(data));
	assert_int_equal(b->h.h.status, MAD_STATUS_BAD_ATTR);
}

static void
test_components(void **state)
{
	struct sa_bed *b = *state;
	const struct sa_gid gids[] = { sa_bed_gid(b, "H1_0_0"), sa_bed_gid(b, "H3_0_0") };
	struct sa_multipath want = {
		.sgid_count = 1, .dgid_count = 1, .pkey = 0x8001, .sl = 1, .rate = 3, .mtu = 2,
		.rate_selector = SA_EXACTLY, .mtu_selector = SA_LESS, .hop_limit = 3,
		.flow_label = 5, .tclass = 6, .qos_class = 7, .service_id = 0x0102030405060708,
		.life = 18, .life_selector = SA_GREATER, .raw = true,
	};
	const uint64_t values = SA_BIT(SA_MULTIPATH_RATE) | SA_BIT(SA_MULTIPATH_RATE_SELECTOR) |
		SA_BIT(SA_MULTIPATH_MTU) | SA_BIT(SA_MULTIPATH_MTU_SELECTOR) |
		SA_BIT(SA_MULTIPATH_LIFE) | SA_BIT(SA_MULTIPATH_LIFE_SELECTOR);
	struct sa_path p;

	assert_int_equal(multi(b, &want, COUNTS | SA_BIT(SA_MULTIPATH_PKEY), gids, 2), 0);
	assert_int_equal(b->n, 0);
	assert_int_equal(multi(b, &want, COUNTS | SA_BIT(SA_MULTIPATH_SL), gids, 2), 0);
	assert_int_equal(b->n, 0);
	assert_int_equal(multi(b, &want, COUNTS | values | SA_BIT(SA_MULTIPATH_HOP_LIMIT) |
			       SA_BIT(SA_MULTIPATH_FLOW_LABEL) | SA_BIT(SA_MULTIPATH_TCLASS) |
			       SA_BIT(SA_MULTIPATH_QOS_CLASS) | SA_BIT(SA_MULTIPATH_REVERSIBLE) |
			       SA_BIT(SA_MULTIPATH_SERVICE_ID_MSB) |
			       SA_BIT(SA_MULTIPATH_SERVICE_ID_LSB), gids, 2), 0);
	assert_int_equal(b->n, 1);
	p = path(b, 0);
	assert_int_equal(p.rate, 3);
	assert_int_equal(p.mtu, 1);
	assert_int_equal(p.life, 19);
	assert_int_equal(p.hop_limit, 3);
	assert_int_equal(p.flow_label, 5);
	assert_int_equal(p.tclass, 6);
	assert_int_equal(p.qos_class, 7);
	assert_true(p.service_id == want.service_id);
	assert_int_equal(p.pkey, 0xffff);
	assert_int_equal(multi(b, &want, COUNTS | SA_BIT(SA_MULTIPATH_RAW), gids, 2), 0);
	p = path(b, 0);
	assert_true(p.raw);
	assert_int_equal(p.pkey, 0);
}

/* Two from two to two, as for Automatic Path Migration: neither port twice. */
static void
test_independent(void **state)
{
	struct sa_bed *b = *state;
	const struct sa_gid gids[] = { sa_bed_gid(b, "H1_0_0"), sa_bed_gid(b, "H2_0_0"),
				       sa_bed_gid(b, "H3_0_0"), sa_bed_gid(b, "H0_0_1") };
	struct sa_multipath want = { .sgid_count = 2, .dgid_count = 2, .numb_path = 2,
				     .independence = 1 };

	assert_int_equal(multi(b, &want, COUNTS | NUMB_PATH, gids, 4), 0);
	assert_int_equal(b->n, 2);
	assert_true(path(b, 0).sgid.guid != path(b, 1).sgid.guid);
	assert_true(path(b, 0).dgid.guid != path(b, 1).dgid.guid);
	/* All there are, the pair first. */
	want.numb_path = 9;
	assert_int_equal(multi(b, &want, COUNTS | NUMB_PATH | INDEPENDENT, gids, 4), 0);
	assert_int_equal(b->n, 4);
	assert_true(path(b, 0).sgid.guid != path(b, 1).sgid.guid);
	assert_true(path(b, 0).dgid.guid != path(b, 1).dgid.guid);
	/* Not asked for: in order. */
	want.numb_path = 3;
	assert_int_equal(multi(b, &want, COUNTS | NUMB_PATH, gids, 4), 0);
	assert_int_equal(b->n, 3);
	assert_true(path(b, 0).sgid.guid == path(b, 1).sgid.guid);
}

/* ---- TraceRecord ---- */

static unsigned
trace(struct sa_bed *b, const char *from, const char *to, uint64_t mask, uint16_t *status)
{
	struct sa_path want = { .sgid = sa_bed_gid(b, from), .dgid = sa_bed_gid(b, to), .sl = 1 };
	struct sa_header h = { .h = { .attr_id = SA_TRACE, .method = MAD_GET_TRACE },
			       .mask = mask };
	uint8_t data[200] = { 0 };

	sa_path_encode(&want, data);
	ask(b, &h, data, sizeof(data));
	assert_int_equal(b->h.h.method, MAD_GET_TABLE_RESP);
	assert_int_equal(b->h.h.attr_id, SA_TRACE);
	*status = b->h.h.status;
	b->n = 0;
	if (!*status) {
		assert_int_equal(b->h.attr_offset, 6);
		b->n = (unsigned)(b->size / 48);
	}
	return b->n;
}

/* Node by node along cables, from one host to the other. */
static void
test_trace(void **state)
{
	struct sa_bed *b = *state;
	const struct ibnet *net = b->sm->bed->net;
	const char *from = "H1_0_0", *to = "H3_1_1";
	uint32_t node = bed_node(b->sm->bed, from);
	unsigned out = 1;
	struct sa_trace t;
	uint16_t status;

	assert_int_equal(trace(b, from, to, BOTH_ENDS, &status), 7);
	for (unsigned i = 0; i < 7; i++) {
		sa_bed_record(b, &sa_trace_type, i, &t);
		assert_true(t.gid_prefix == PREFIX);
		assert_int_equal(t.id_generation, 1);
		assert_true(t.node_id == net->nodes[node].guid);
		assert_true(t.exit_port_id == 0);
		if (i == 0 || i == 6) {
			assert_int_equal(t.node_type, NODE_CA);
			assert_true(t.entry_port_id == sa_bed_guid(b, i ? to : from));
			assert_int_equal(t.entry_port | t.exit_port, 0);
		} else {
			assert_int_equal(t.node_type, NODE_SWITCH);
			assert_true(t.entry_port_id == 0);
			assert_int_equal(t.entry_port, out);
			out = t.exit_port;
		}
		if (i < 6) {
			const struct ibnet_port *p = &net->nodes[node].ports[out];

			node = p->peer;
			out = p->peer_port;
		}
	}
	/* To a switch, and from a port to itself. */
	assert_int_equal(trace(b, "L0_0", "H0_0_0", BOTH_ENDS, &status), 2);
	sa_bed_record(b, &sa_trace_type, 0, &t);
	assert_int_equal(t.entry_port, 0);
	assert_int_equal(t.exit_port, 1);
	assert_int_equal(trace(b, from, from, BOTH_ENDS, &status), 1);
}

static void
test_trace_refused(void **state)
{
	struct sa_bed *b = *state;
	uint16_t status;

	trace(b, "H1_0_0", "H3_1_1", SA_BIT(SA_PATH_SGID), &status);
	assert_int_equal(status, SA_STATUS_INSUFFICIENT);
	trace(b, "H1_0_0", "H3_1_1", SA_BIT(SA_PATH_DGID), &status);
	assert_int_equal(status, SA_STATUS_INSUFFICIENT);
	trace(b, "H1_0_0", "H3_1_1", BOTH_ENDS | SA_BIT(SA_PATH_DLID), &status);
	assert_int_equal(status, 0);
	assert_int_equal(b->n, 0);
	assert_int_equal(trace(b, "H1_0_0", "H3_1_1", BOTH_ENDS | SA_BIT(SA_PATH_SL), &status), 0);
	assert_int_equal(status, 0);
}

/* Does the way from one host to the other go through that port of the switch? */
static bool
goes_by(struct sa_bed *b, const char *from, const char *to, const char *sw, unsigned port)
{
	uint64_t guid = sa_bed_guid(b, sw);
	uint16_t status;
	bool found = false;

	trace(b, from, to, BOTH_ENDS, &status);
	for (unsigned i = 0; i < b->n; i++) {
		struct sa_trace t;

		sa_bed_record(b, &sa_trace_type, i, &t);
		found |= t.node_id == guid && (t.entry_port == port || t.exit_port == port);
	}
	return found;
}

/* Paths of all pairs of hosts: 100 Gb/s (16), but those over a cable that runs at 25 (15). */
static void
compare_rates(struct sa_bed *b, unsigned slow)
{
	unsigned found = 0;

	for (unsigned i = 0; i < 16 * 16; i++) {
		char from[16], to[16];
		struct sa_path p;
		bool by;

		snprintf(from, sizeof(from), "H%u_%u_%u", i / 64, i / 32 % 2, i / 16 % 2);
		snprintf(to, sizeof(to), "H%u_%u_%u", i / 4 % 4, i / 2 % 2, i % 2);
		p = (struct sa_path){ .sgid = sa_bed_gid(b, from), .dgid = sa_bed_gid(b, to) };
		by = slow && goes_by(b, from, to, "L0_0", slow);
		assert_int_equal(sa_bed_get(b, &sa_path_type, &p, BOTH_ENDS, &p), 0);
		assert_int_equal(p.rate, by ? 15 : 16);
		assert_true(p.reversible);
		found += by;
	}
	assert_int_equal(found != 0, slow != 0);
}

/* While all links between switches are alike ways are not walked; then one is not. */
static void
test_slow_link(void **state)
{
	struct sa_bed *b = *state;

	compare_rates(b, 0);
	model_link_limit(b->sm->bed->m, bed_node(b->sm->bed, "L0_0"), 3, LINK_1X, SPEED_EDR);
	bed_wait(b->sm->bed, SEC(5));
	assert_true(bed_quiet(b->sm, SEC(10)));
	compare_rates(b, 3);
}

/* With an LMC of 3 these are 5,184 ways, more than are looked at in one slice; only those from the
 * last port to itself, the last 64, take no time. */
static void
test_slices(void **state)
{
	struct sa_bed *b = *state;
	struct sa_multipath want = { .sgid_count = 9, .dgid_count = 9,
				     .life_selector = SA_EXACTLY };
	const uint64_t mask = COUNTS | SA_BIT(SA_MULTIPATH_LIFE) |
		SA_BIT(SA_MULTIPATH_LIFE_SELECTOR);
	struct sa_gid gids[18];
	struct sa_path p;

	for (unsigned i = 0; i < 9; i++) {
		char name[16];

		snprintf(name, sizeof(name), "H%u_%u_%u", i / 4, i / 2 % 2, i % 2);
		gids[i] = sa_bed_gid(b, name);
		gids[9 + i] = sa_bed_gid(b, "H3_1_1");
	}
	gids[17] = gids[8];
	b->sm->conf.lmc = 3;
	bed_sweep(b->sm, SEC(10));
	assert_true(bed_quiet(b->sm, SEC(10)));
	assert_int_equal(multi(b, &want, mask, gids, 18), 0);
	assert_int_equal(b->n, 64);
	for (unsigned i = 0; i < 64; i++) {
		p = path(b, i);
		assert_true(p.sgid.guid == gids[8].guid && p.dgid.guid == gids[8].guid);
		assert_int_equal(p.preference, i < 8 ? 0 : 2);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all), cmocka_unit_test(test_long),
		cmocka_unit_test(test_refused), cmocka_unit_test(test_gids),
		cmocka_unit_test(test_components), cmocka_unit_test(test_independent),
		cmocka_unit_test(test_trace), cmocka_unit_test(test_trace_refused),
		cmocka_unit_test(test_slow_link), cmocka_unit_test(test_slices),
	};

	return cmocka_run_group_tests(tests, sa_bed_setup, sa_bed_teardown);
}
