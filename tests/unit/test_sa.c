/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Subnet administration: its header, the tables of all records against what they must hold to, the
 * codec against a slow reading of the same tables, records byte by byte as the specification has
 * them, and the comparison of records under a component mask.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "tests/unit/sa_help.h"

#define ROUNDS 2000

static const struct sa_type *types[SA_TYPES];

#define each_type(t) \
	for (const struct sa_type **t##_ = types, *t = *t##_; t##_ < types + SA_TYPES; \
	     t = ++t##_ < types + SA_TYPES ? *t##_ : NULL)
#define each_component(c, t) \
	for (const struct sa_component *c = (t)->components; c < (t)->components + (t)->len; c++)

/* ---- Tables ---- */

static unsigned
last_bit(const struct sa_component *c)
{
	return c->at + (c->count - 1u) * c->step + c->bits;
}

static void
well_formed(const struct sa_type *t, const struct sa_component *c)
{
	assert_true(c->bits > 0 && c->count > 0);
	assert_true(last_bit(c) <= t->size * 8u);
	assert_true(c->offset + (c->count - 1u) * c->stride + c->size <= t->struct_size);
	assert_true(c->bit <= SA_NO_BIT);
	if (c->kind != SA_NUMBER) {
		assert_int_equal(c->count, 1);
		assert_int_equal(c->at % 8, 0);
		assert_true(c->size * 8u >= c->bits);
		return;
	}
	assert_true(c->size == 1 || c->size == 2 || c->size == 4 || c->size == 8);
	assert_true(c->bits + c->shift <= c->size * 8u);
	for (unsigned i = 0; i < c->count; i++) {
		unsigned at = c->at + i * c->step;

		assert_true((at + c->bits - 1) / 8 - at / 8 <= 7);
	}
}

/* Nothing past the end, no bit twice on the wire, in a struct or in the mask. */
static void
test_tables(void **state)
{
	(void)state;
	each_type(t) {
		uint8_t wire[RECORD_ROOM * 8] = { 0 };
		uint64_t mask = 0;

		assert_true(sa_stride(t) <= RECORD_ROOM && t->size <= SA_RECORD_MAX);
		assert_true(t->struct_size <= sizeof(union any_record));
		each_component(c, t) {
			well_formed(t, c);
			for (unsigned i = 0; i < c->count; i++)
				for (unsigned k = 0; k < c->bits; k++)
					assert_int_equal(wire[c->at + i * c->step + k]++, 0);
			if (c->bit == SA_NO_BIT)
				continue;
			assert_false(mask >> c->bit & 1);
			mask |= SA_BIT(c->bit);
		}
	}
	assert_null(sa_type_find(SA_RANDOM_FDB));
	assert_null(sa_type_find(0));
	assert_string_equal(sa_type_find(0x35)->name, "PathRecord");
	assert_string_equal(sa_type_find(0xf3)->name, "InformInfoRecord");
}

/* What the specification says of sizes; AttributeOffset is an eighth of the stride. */
static void
test_sizes(void **state)
{
	static const struct {
		uint16_t id, size, offset;
	} known[SA_TYPES] = {
		{ SA_CLASS_PORT_INFO, 72, 9 }, { SA_NOTICE, 80, 10 }, { SA_INFORM_INFO, 36, 5 },
		{ SA_NODE, 108, 14 }, { SA_PORT_INFO, 68, 9 }, { SA_SL_TO_VL, 16, 2 },
		{ SA_SWITCH_INFO, 24, 3 }, { SA_LINEAR_FDB, 72, 9 }, { SA_MULTICAST_FDB, 72, 9 },
		{ SA_SM_INFO, 25, 4 }, { SA_LINK, 6, 1 }, { SA_GUID_INFO, 72, 9 },
		{ SA_SERVICE, 176, 22 }, { SA_P_KEY_TABLE, 72, 9 }, { SA_PATH, 64, 8 },
		{ SA_VL_ARBITRATION, 72, 9 }, { SA_MC_MEMBER, 52, 7 }, { SA_TRACE, 46, 6 },
		{ SA_MULTI_PATH, 24, 3 }, { SA_INFORM_INFO_RECORD, 60, 8 },
	};

	(void)state;
	for (unsigned i = 0; i < SA_TYPES; i++) {
		assert_int_equal(sa_type_find(known[i].id)->size, known[i].size);
		assert_int_equal(sa_stride(sa_type_find(known[i].id)) / 8, known[i].offset);
	}
}

/* ---- The codec ---- */

/* What the tables say of these bytes and this struct, read bit by bit. */
static void
agree(const struct sa_type *t, const void *record, const uint8_t *data)
{
	each_component(c, t) {
		const uint8_t *member = (const uint8_t *)record + c->offset;
		const struct sa_gid *gid = (const void *)member;

		if (c->kind == SA_GID) {
			assert_true(gid->prefix == bits_at(data, c->at, 64));
			assert_true(gid->guid == bits_at(data, c->at + 64u, 64));
		}
		for (unsigned i = 0; c->kind == SA_NUMBER && i < c->count; i++) {
			uint64_t v = number_at(record, c->offset + i * c->stride, c->size);
			uint64_t all = c->bits == 64 ? UINT64_MAX : (UINT64_C(1) << c->bits) - 1;

			assert_true((v >> c->shift & all) ==
				    bits_at(data, c->at + i * c->step, c->bits));
		}
		if (c->kind == SA_BYTES || c->kind == SA_TEXT)
			assert_memory_equal(member, data + c->at / 8, c->bits / 8u);
	}
}

/* The bits that no component has are 0, padding included. */
static void
rest_is_zero(const struct sa_type *t, const uint8_t *data)
{
	uint8_t rest[RECORD_ROOM];

	memcpy(rest, data, sa_stride(t));
	each_component(c, t)
		for (unsigned i = 0; i < c->count; i++)
			for (unsigned k = 0; k < c->bits; k++) {
				unsigned at = c->at + i * c->step + k;

				rest[at / 8] &= (uint8_t)~(0x80u >> at % 8);
			}
	for (unsigned i = 0; i < sa_stride(t); i++)
		assert_int_equal(rest[i], 0);
}

static void
test_codec(void **state)
{
	uint8_t data[RECORD_ROOM], again[RECORD_ROOM];
	union any_record record, back;

	(void)state;
	each_type(t) {
		for (int i = 0; i < ROUNDS; i++) {
			sa_random_bytes(data, sizeof(data));
			memset(&record, 0xa5, sizeof(record));
			assert_int_equal(sa_decode(t, &record, data, t->size), 0);
			agree(t, &record, data);
			sa_random_bytes(again, sizeof(again));
			sa_encode(t, &record, again);
			agree(t, &record, again);
			rest_is_zero(t, again);
			memset(&back, 0x5a, sizeof(back));
			assert_int_equal(sa_decode(t, &back, again, sa_stride(t)), 0);
			assert_memory_equal(&back, &record, t->struct_size);
		}
		assert_int_equal(sa_decode(t, &record, data, t->size - 1u), ERR_TRUNCATED);
		assert_int_equal(sa_decode(t, &record, data, 0), ERR_TRUNCATED);
	}
}

/* Values with bits above their field do not spill into what is next to them. */
static void
test_too_large(void **state)
{
	struct sa_path p, back;
	uint8_t data[64];

	(void)state;
	memset(&p, 0, sizeof(p));
	p.flow_label = 0xfff00000;
	p.numb_path = 0x80;
	p.sl = 0x30;
	p.mtu = 0xc0;
	sa_path_encode(&p, data);
	for (unsigned i = 0; i < sizeof(data); i++)
		assert_int_equal(data[i], 0);
	p.qos_class = 0xffff;
	sa_path_encode(&p, data);
	assert_int_equal(sa_path_decode(&back, data, sizeof(data)), 0);
	assert_int_equal(back.qos_class, 0xfff);
	assert_int_equal(back.sl, 0);
	assert_int_equal(back.pkey, 0);
}

/* The records that hold an attribute of chapter 14 have its bytes. */
static void
test_attributes_within(void **state)
{
	uint8_t data[RECORD_ROOM], attr[SMP_DATA_SIZE], text[SMP_DATA_SIZE];

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		struct sa_node node;
		struct sa_port port;
		struct sa_switch sw;
		struct sa_sm sm;
		struct sa_sl2vl sl2vl;
		struct sa_vlarb vlarb;
		struct sa_notice notice;

		sa_random_bytes(data, sizeof(data));
		assert_int_equal(sa_node_decode(&node, data, sizeof(data)), 0);
		nodeinfo_encode(&node.info, attr);
		assert_memory_equal(attr, data + 4, 40);
		memcpy(text, node.description, sizeof(text));
		assert_memory_equal(text, data + 44, sizeof(text));
		assert_int_equal(node.description[64], 0);
		assert_int_equal(sa_port_decode(&port, data, sizeof(data)), 0);
		portinfo_encode(&port.info, attr);
		sa_port_encode(&port, data);
		assert_memory_equal(attr, data + 4, 64);
		assert_int_equal(sa_switch_decode(&sw, data, sizeof(data)), 0);
		switchinfo_encode(&sw.info, attr);
		sa_switch_encode(&sw, data);
		assert_memory_equal(attr, data + 4, 20);
		assert_int_equal(sa_sm_decode(&sm, data, sizeof(data)), 0);
		sminfo_encode(&sm.info, attr);
		assert_memory_equal(attr, data + 4, 21);
		sa_random_bytes(data, sizeof(data));
		assert_int_equal(sa_sl2vl_decode(&sl2vl, data, sizeof(data)), 0);
		sl2vl_encode(sl2vl.vl, attr);
		assert_memory_equal(attr, data + 8, 8);
		assert_int_equal(sa_vlarb_decode(&vlarb, data, sizeof(data)), 0);
		vlarb_encode(vlarb.entries, attr);
		sa_vlarb_encode(&vlarb, data);
		assert_memory_equal(attr, data + 8, 64);
		assert_int_equal(sa_notice_decode(&notice, data, sizeof(data)), 0);
		notice_encode(&notice.n, attr);
		assert_memory_equal(attr, data, 64);
	}
}

/* ---- Byte by byte ---- */

/* A broadcast group of IPoIB, as 15.2.5.17 has it. */
static void
test_member_bytes(void **state)
{
	static const uint8_t bytes[56] = {
		0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff,
		0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0x02, 0xc9, 0x03, 0, 0, 0, 0x11,
		0, 0, 0x0b, 0x1b,		/* Q_Key */
		0xc0, 0x01,			/* MLID */
		0x84, 0x17,			/* MTU exactly 2048, TClass */
		0xff, 0xff,			/* P_Key */
		0x83, 0x52,			/* rate exactly 10, life less than 18 */
		0x50, 0xab, 0xcd, 0x40,		/* SL 5, flow label 0x0abcd, hop limit 64 */
		0x21,				/* link-local, full member */
		0x80,				/* proxy */
	};
	const struct sa_member m = {
		.mgid = { 0xff12401bffff0000, 0x00000000ffffffff },
		.port_gid = { 0xfe80000000000000, 0x0002c90300000011 },
		.qkey = 0xb1b, .mlid = 0xc001, .mtu_selector = 2, .mtu = 4, .tclass = 0x17,
		.pkey = 0xffff, .rate_selector = 2, .rate = 3, .life_selector = 1, .life = 18,
		.sl = 5, .flow_label = 0xabcd, .hop_limit = 64, .scope = 2,
		.join_state = SA_JOIN_FULL, .proxy_join = true,
	};
	uint8_t data[56];

	(void)state;
	sa_member_encode(&m, data);
	assert_memory_equal(data, bytes, sizeof(data));
}

static void
test_path_bytes(void **state)
{
	static const uint8_t bytes[64] = {
		0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08,
		0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x22,
		0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x11,
		0x00, 0x32, 0x00, 0x01,		/* DLID, SLID */
		0x81, 0x23, 0x45, 0xff,		/* raw, flow label 0x12345, hop limit */
		0x09, 0xff,			/* TClass; reversible, 127 paths */
		0x80, 0x01, 0x12, 0x37,		/* P_Key, QoS class 0x123, SL 7 */
		0x45, 0x17, 0x92, 0x03,		/* MTU less than 4096, rate greater than code 23,
						 * life exactly 18; preference */
	};
	const struct sa_path p = {
		.service_id = 0x0102030405060708, .dgid = { 0xfe80000000000000, 0x22 },
		.sgid = { 0xfe80000000000000, 0x11 }, .dlid = 50, .slid = 1, .raw = true,
		.flow_label = 0x12345, .hop_limit = 255, .tclass = 9, .reversible = true,
		.numb_path = 127, .pkey = 0x8001, .qos_class = 0x123, .sl = 7, .mtu_selector = 1,
		.mtu = 5, .rate_selector = 0, .rate = 23, .life_selector = 2, .life = 18,
		.preference = 3,
	};
	uint8_t data[64];

	(void)state;
	sa_path_encode(&p, data);
	assert_memory_equal(data, bytes, sizeof(data));
}

/* TraceRecord, which neither libibmad nor ib_types.h has. */
static void
test_trace_bytes(void **state)
{
	static const uint8_t bytes[48] = {
		0xfe, 0x80, 0, 0, 0, 0, 0, 1, 0x12, 0x34, 0, 2,
		1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 14, 15, 16, 17, 18,
		21, 22, 23, 24, 25, 26, 27, 28, 31, 32, 33, 34, 35, 36, 37, 38, 3, 4,
	};
	const struct sa_trace t = {
		.gid_prefix = 0xfe80000000000001, .id_generation = 0x1234, .node_type = 2,
		.node_id = 0x0102030405060708, .chassis_id = 0x0b0c0d0e0f101112,
		.entry_port_id = 0x15161718191a1b1c, .exit_port_id = 0x1f20212223242526,
		.entry_port = 3, .exit_port = 4,
	};
	uint8_t data[48];

	(void)state;
	sa_trace_encode(&t, data);
	assert_memory_equal(data, bytes, sizeof(data));
}

static void
test_multipath(void **state)
{
	struct sa_multipath m = { .sgid_count = 2, .dgid_count = 1, .independence = 2,
				  .service_id = 0x1122334455667788 };
	uint8_t data[24 + 3 * 16] = { 0 };
	struct sa_gid g;

	(void)state;
	sa_multipath_encode(&m, data);
	assert_int_equal(data[13], 0x11);		/* the two parts of the service id */
	assert_int_equal(data[14], 0x80);
	assert_memory_equal(data + 15, "\2\1\x22\x33\x44\x55\x66\x77\x88", 9);
	for (unsigned i = 0; i < 3; i++)
		data[24 + 16 * i + 15] = (uint8_t)(7 + i);
	memset(&m, 0, sizeof(m));
	assert_int_equal(sa_multipath_decode(&m, data, sizeof(data)), 0);
	assert_true(m.service_id == 0x1122334455667788);
	for (unsigned i = 0; i < 3; i++) {
		assert_true(sa_multipath_gid(&m, data, sizeof(data), i, &g));
		assert_int_equal(g.guid, 7 + i);
	}
	assert_false(sa_multipath_gid(&m, data, sizeof(data), 3, &g));
	assert_false(sa_multipath_gid(&m, data, sizeof(data) - 1, 2, &g));
	assert_true(sa_multipath_gid(&m, data, sizeof(data) - 1, 1, &g));
	m.dgid_count = m.sgid_count = 255;
	assert_false(sa_multipath_gid(&m, data, sizeof(data), 3, &g));
	assert_false(sa_multipath_gid(&m, data, sizeof(data), UINT32_MAX, &g));
}

static void
test_notice_gid(void **state)
{
	struct sa_notice n = { .n = { .generic = true, .trap = TRAP_GID_IN_SERVICE } }, back;
	const struct sa_gid gid = { 0xfe80000000000000, 0x1234 };
	struct sa_gid told;
	uint8_t data[80];

	(void)state;
	sa_notice_set_gid(&n.n, &gid);
	n.issuer_gid = (struct sa_gid){ 1, 2 };
	sa_notice_encode(&n, data);
	assert_int_equal(data[16], 0xfe);		/* 10 bytes of notice, 6 reserved */
	assert_int_equal(data[31], 0x34);
	assert_int_equal(data[79], 2);
	assert_int_equal(sa_notice_decode(&back, data, sizeof(data)), 0);
	told = sa_notice_gid(&back.n);
	assert_true(sa_gid_equal(&told, &gid));
	assert_false(sa_gid_equal(&told, &back.issuer_gid));
}

/* ---- The frame ---- */

static void
test_header(void **state)
{
	uint8_t mad[MAD_SIZE], again[SA_HEADER_SIZE];
	struct sa_header h;

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		sa_random_bytes(mad, sizeof(mad));
		mad[0] = 1;
		mad[1] = MAD_CLASS_SUBN_ADM;
		assert_int_equal(sa_header_decode(&h, mad, SA_HEADER_SIZE), 0);
		assert_int_equal(h.rmpp_flags | h.rmpp_resp_time << 3, mad[26]);
		assert_true(h.sm_key == bits_at(mad, 36 * 8, 64));
		assert_int_equal(h.attr_offset, bits_at(mad, 44 * 8, 16));
		assert_true(h.mask == bits_at(mad, 48 * 8, 64));
		sa_header_encode(&h, again);
		mad[6] = mad[7] = mad[18] = mad[19] = mad[46] = mad[47] = 0;	/* reserved */
		assert_memory_equal(again, mad, sizeof(again));
	}
	assert_int_equal(sa_header_decode(&h, mad, SA_HEADER_SIZE - 1), ERR_TRUNCATED);
	mad[0] = 2;
	assert_int_equal(sa_header_decode(&h, mad, SA_HEADER_SIZE), ERR_FORMAT);
}

static void
test_methods(void **state)
{
	static const uint8_t answers[256] = {
		[0x01] = 0x81, [0x02] = 0x81, [0x06] = 0x86, [0x12] = 0x92, [0x13] = 0x92,
		[0x14] = 0x94, [0x15] = 0x95,
	};

	(void)state;
	for (unsigned m = 0; m < 256; m++)
		assert_int_equal(sa_response((uint8_t)m), answers[m]);
	assert_string_equal(sa_status_text(0x0300), "no records");
	assert_string_equal(sa_status_text(0x0200), "request invalid");
	assert_string_equal(sa_status_text(0x0001), "busy");
	assert_string_equal(sa_status_text(0x000c), "unsupported method or attribute");
	for (unsigned s = 0; s <= UINT16_MAX; s++)
		assert_non_null(sa_status_text((uint16_t)s));
}

/* ---- Questions ---- */

/* For each component: a record that differs there alone fits when the mask leaves it out, does not
 * when the mask has it. */
static void
test_each_component(void **state)
{
	uint8_t data[RECORD_ROOM], other[RECORD_ROOM];
	union any_record a, b;

	(void)state;
	each_type(t) {
		each_component(c, t) {
			unsigned last = c->at + c->bits - 1u;

			sa_random_bytes(data, sizeof(data));
			for (unsigned i = 0; c->kind == SA_TEXT && i < c->bits / 8u; i++)
				data[c->at / 8 + i] |= 1;
			memcpy(other, data, sizeof(data));
			other[last / 8] ^= (uint8_t)(0x80u >> last % 8);
			sa_decode(t, &a, data, sizeof(data));
			sa_decode(t, &b, other, sizeof(other));
			assert_true(sa_match(t, &a, &b, 0));
			assert_true(sa_match(t, &a, &a, UINT64_MAX));
			if (c->bit == SA_NO_BIT) {
				assert_true(sa_match(t, &a, &b, UINT64_MAX));
				continue;
			}
			assert_false(sa_match(t, &a, &b, UINT64_MAX));
			assert_false(sa_match(t, &a, &b, SA_BIT(c->bit)));
			assert_true(sa_match(t, &a, &b, ~SA_BIT(c->bit)));
		}
	}
}

static void
test_all_bits(void **state)
{
	struct sa_port want = { .number = 3, .info.cap_mask = 0x12 };
	struct sa_port have = { .number = 3, .info.cap_mask = 0x92 };
	const uint64_t mask = SA_BIT(SA_PORT_NUMBER) | SA_BIT(SA_PORT_CAP_MASK);
	struct sa_query q;

	(void)state;
	sa_query_init(&q, &sa_port_type, &want, mask, 0);
	assert_int_equal(q.len, 2);
	assert_false(sa_query_fits(&q, &have));
	sa_query_init(&q, &sa_port_type, &want, mask, SA_BIT(SA_PORT_CAP_MASK));
	assert_true(sa_query_fits(&q, &have));
	have.info.cap_mask = 0x90;
	assert_false(sa_query_fits(&q, &have));
	have.info.cap_mask = 0x12;
	have.number = 7;				/* has all bits of 3, but is not 3 */
	assert_false(sa_query_fits(&q, &have));
	/* Components that do not exist are not looked at. */
	sa_query_init(&q, &sa_port_type, &want, SA_BIT(63) | SA_BIT(19), 0);
	assert_int_equal(q.len, 0);
	assert_true(sa_query_fits(&q, &have));
}

static void
test_text(void **state)
{
	struct sa_node a = { .description = "spine 1" }, b = { .description = "spine 1\0old" };

	(void)state;
	assert_true(sa_match(&sa_node_type, &a, &b, SA_BIT(SA_NODE_DESCRIPTION)));
	b.description[7] = '2';
	assert_false(sa_match(&sa_node_type, &a, &b, SA_BIT(SA_NODE_DESCRIPTION)));
	memset(a.description, 'x', 64);
	memset(b.description, 'x', 64);
	assert_true(sa_match(&sa_node_type, &a, &b, SA_BIT(SA_NODE_DESCRIPTION)));
}

static int
find_types(void **state)
{
	(void)state;
	return all_types(types) == SA_TYPES ? 0 : -1;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tables),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_codec),
		cmocka_unit_test(test_too_large),
		cmocka_unit_test(test_attributes_within),
		cmocka_unit_test(test_member_bytes),
		cmocka_unit_test(test_path_bytes),
		cmocka_unit_test(test_trace_bytes),
		cmocka_unit_test(test_multipath),
		cmocka_unit_test(test_notice_gid),
		cmocka_unit_test(test_header),
		cmocka_unit_test(test_methods),
		cmocka_unit_test(test_each_component),
		cmocka_unit_test(test_all_bits),
		cmocka_unit_test(test_text),
	};

	return cmocka_run_group_tests(tests, find_types, NULL);
}
