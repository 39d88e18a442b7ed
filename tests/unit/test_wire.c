/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/unit/wire_fields.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "sm/base/error.h"
#include "sm/wire/mad.h"

/*
 * The codecs: attributes and SMPs whose bytes were written down by hand from the specification's
 * tables, decode(encode(x)) == x for random x, and input that is too short, too long or out of
 * range.
 */
#define ROUNDS 5000

/* "01 23 ..." to bytes; the rest of `data` becomes 0. Returns the number given. */
static size_t
hex(uint8_t *data, size_t size, const char *text)
{
	size_t len = 0;
	unsigned v;
	int used;

	memset(data, 0, size);
	while (sscanf(text, "%2x%n", &v, &used) == 1) {
		assert_true(len < size);
		data[len++] = (uint8_t)v;
		text += used;
	}
	return len;
}

static void
test_nodeinfo_bytes(void **state)
{
	uint8_t data[SMP_DATA_SIZE], back[SMP_DATA_SIZE];
	struct nodeinfo n;

	(void)state;
	hex(data, sizeof(data), "01 01 02 24  00 11 22 33 44 55 66 77  00 11 22 33 44 55 66 78"
	    "88 99 aa bb cc dd ee ff  00 08 d2 f0  00 00 00 a0  05 00 02 c9");
	nodeinfo_decode(&n, data);
	assert_int_equal(n.base_version, 1);
	assert_int_equal(n.class_version, 1);
	assert_int_equal(n.node_type, NODE_SWITCH);
	assert_int_equal(n.num_ports, 36);
	assert_true(n.system_guid == 0x0011223344556677);
	assert_true(n.node_guid == 0x0011223344556678);
	assert_true(n.port_guid == 0x8899aabbccddeeff);
	assert_int_equal(n.partition_cap, 8);
	assert_int_equal(n.device_id, 0xd2f0);
	assert_int_equal(n.revision, 0xa0);
	assert_int_equal(n.local_port, 5);
	assert_int_equal(n.vendor_id, 0x2c9);
	nodeinfo_encode(&n, back);
	assert_memory_equal(back, data, sizeof(data));
}

/* A port on which every field differs from its neighbours; `data` gets its bytes. */
static void
sample_port(uint8_t data[SMP_DATA_SIZE], struct portinfo *p)
{
	uint8_t back[SMP_DATA_SIZE];

	assert_int_equal(hex(data, SMP_DATA_SIZE,
	    "11 22 33 44 55 66 77 88  fe 80 00 00 00 00 00 00  01 02 00 03  02 50 c8 4a"
	    "0a 0b 00 0f  25 1f 0f 02  74 52 85 47  53 41 0a 08  09 65 f2 3a"
	    "00 01 00 02  00 03 20 d2  10 89 01 02  3d 0a 0b 0c  0f f0 8f 16"), 64);
	portinfo_decode(p, data);
	portinfo_encode(p, back);
	assert_memory_equal(back, data, SMP_DATA_SIZE);
}

static void
test_portinfo_bytes_of_the_link(void **state)
{
	uint8_t data[SMP_DATA_SIZE];
	struct portinfo p;

	(void)state;
	sample_port(data, &p);
	assert_true(p.m_key == 0x1122334455667788);
	assert_true(p.gid_prefix == 0xfe80000000000000);
	assert_int_equal(p.lid, 0x102);
	assert_int_equal(p.sm_lid, 3);
	assert_int_equal(p.cap_mask, 0x0250c84a);
	assert_true(p.cap_mask & CAP_IS_SM);
	assert_true(p.cap_mask & CAP_EXTENDED_SPEEDS);
	assert_true(p.cap_mask & CAP_MASK2);
	assert_true(p.cap_mask & CAP_CLIENT_REREGISTER);
	assert_false(p.cap_mask & CAP_NOTICE);
	assert_int_equal(p.diag_code, 0x0a0b);
	assert_int_equal(p.m_key_lease, 15);
	assert_int_equal(p.local_port, 37);
	assert_int_equal(p.width_enabled, 0x1f);
	assert_int_equal(p.width_supported, 0x0f);
	assert_int_equal(p.width_active, LINK_4X);
	assert_int_equal(p.speed_supported, 7);
	assert_int_equal(p.state, PORT_ACTIVE);
	assert_int_equal(p.phys_state, PHYS_LINK_UP);
	assert_int_equal(p.down_default, PHYS_POLLING);
	assert_int_equal(p.m_key_protect, 2);
	assert_int_equal(p.lmc, 5);
	assert_int_equal(p.speed_active, 4);
	assert_int_equal(p.speed_enabled, 7);
	assert_int_equal(p.neighbor_mtu, 5);
	assert_int_equal(p.sm_sl, 3);
}

static void
test_portinfo_bytes_of_the_rest(void **state)
{
	uint8_t data[SMP_DATA_SIZE];
	struct portinfo p;

	(void)state;
	sample_port(data, &p);
	assert_int_equal(p.vl_cap, 4);
	assert_int_equal(p.init_type, 1);
	assert_int_equal(p.vl_high_limit, 10);
	assert_int_equal(p.vl_arb_high_cap, 8);
	assert_int_equal(p.vl_arb_low_cap, 9);
	assert_int_equal(p.init_type_reply, 6);
	assert_int_equal(p.mtu_cap, 5);
	assert_int_equal(p.vl_stall_count, 7);
	assert_int_equal(p.hoq_life, 18);
	assert_int_equal(p.op_vls, 3);
	assert_true(p.enforce_in);
	assert_false(p.enforce_out);
	assert_true(p.filter_raw_in);
	assert_false(p.filter_raw_out);
	assert_int_equal(p.m_key_violations, 1);
	assert_int_equal(p.p_key_violations, 2);
	assert_int_equal(p.q_key_violations, 3);
	assert_int_equal(p.guid_cap, 32);
	assert_true(p.client_reregister);
	assert_int_equal(p.mcast_pkey_trap, 2);
	assert_int_equal(p.subnet_timeout, 18);
	assert_int_equal(p.resp_time, 16);
	assert_int_equal(p.local_phy_errors, 8);
	assert_int_equal(p.overrun_errors, 9);
	assert_int_equal(p.max_credit_hint, 0x102);
	assert_int_equal(p.speed_ext2_active, 1);	/* 0 01 11 101 */
	assert_int_equal(p.speed_ext2_supported, 3);
	assert_int_equal(p.speed_ext2_enabled, 5);
	assert_int_equal(p.round_trip_latency, 0x0a0b0c);
	assert_int_equal(p.cap_mask2, 0x0ff0);
	assert_int_equal(p.speed_ext_active, 8);
	assert_int_equal(p.speed_ext_supported, 15);
	assert_int_equal(p.speed_ext_enabled, 0x16);
}

static void
test_portinfo_speed(void **state)
{
	static const struct {
		uint8_t base, ext, ext2;
		enum link_speed speed;
	} cases[] = {
		{ 0, 0, 0, SPEED_NONE }, { 1, 0, 0, SPEED_SDR }, { 2, 0, 0, SPEED_DDR },
		{ 4, 0, 0, SPEED_QDR }, { 4, 1, 0, SPEED_FDR }, { 4, 2, 0, SPEED_EDR },
		{ 4, 4, 0, SPEED_HDR }, { 4, 8, 0, SPEED_NDR }, { 0, 8, 0, SPEED_NDR },
		{ 4, 8, 1, SPEED_XDR }, { 0, 0, 1, SPEED_XDR },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct portinfo p = {
			.speed_active = cases[i].base,
			.speed_ext_active = cases[i].ext,
			.speed_ext2_active = cases[i].ext2,
		};

		assert_int_equal(portinfo_speed(&p), cases[i].speed);
	}
}

static void
test_switchinfo_bytes(void **state)
{
	uint8_t data[SMP_DATA_SIZE], back[SMP_DATA_SIZE];
	struct switchinfo s;

	(void)state;
	hex(data, sizeof(data), "c0 00 00 01  40 00 01 23  01 02 03 96  00 04 00 20  98 00 c0 10");
	switchinfo_decode(&s, data);
	assert_int_equal(s.linear_fdb_cap, 49152);
	assert_int_equal(s.random_fdb_cap, 1);
	assert_int_equal(s.multicast_fdb_cap, 0x4000);
	assert_int_equal(s.linear_fdb_top, 0x123);
	assert_int_equal(s.default_port, 1);
	assert_int_equal(s.default_mcast_primary, 2);
	assert_int_equal(s.default_mcast_not_primary, 3);
	assert_int_equal(s.life_time, 18);		/* 10010 1 10 */
	assert_true(s.port_state_change);
	assert_int_equal(s.optimized_slvl, 2);
	assert_int_equal(s.lids_per_port, 4);
	assert_int_equal(s.partition_enforcement_cap, 32);
	assert_true(s.enforce_in_cap);			/* 1 0 0 1 1 000 */
	assert_false(s.enforce_out_cap);
	assert_false(s.filter_raw_in_cap);
	assert_true(s.filter_raw_out_cap);
	assert_true(s.enhanced_port0);
	assert_int_equal(s.multicast_fdb_top, 0xc010);
	switchinfo_encode(&s, back);
	assert_memory_equal(back, data, sizeof(data));
}

static void
test_sminfo_bytes(void **state)
{
	uint8_t data[SMP_DATA_SIZE], back[SMP_DATA_SIZE];
	struct sminfo s;

	(void)state;
	hex(data, sizeof(data), "00 02 c9 03 00 00 00 01  01 02 03 04 05 06 07 08  00 00 01 01 e3");
	sminfo_decode(&s, data);
	assert_true(s.guid == 0x0002c90300000001);
	assert_true(s.sm_key == 0x0102030405060708);
	assert_int_equal(s.activity, 257);
	assert_int_equal(s.priority, 14);
	assert_int_equal(s.state, SM_MASTER);
	sminfo_encode(&s, back);
	assert_memory_equal(back, data, sizeof(data));
}

static void
test_notice_bytes(void **state)
{
	uint8_t data[SMP_DATA_SIZE], back[SMP_DATA_SIZE];
	struct notice n;

	(void)state;
	hex(data, sizeof(data), "81 00 00 02  00 80 00 07  80 03 00 09");
	notice_decode(&n, data);
	assert_true(n.generic);
	assert_int_equal(n.type, 1);
	assert_int_equal(n.producer, NODE_SWITCH);
	assert_int_equal(n.trap, TRAP_LINK_STATE);
	assert_int_equal(n.issuer_lid, 7);
	assert_true(n.toggle);
	assert_int_equal(n.count, 3);
	assert_int_equal(notice_subject_lid(&n), 9);
	assert_int_equal(notice_subject_port(&n), 0);
	assert_int_equal(notice_144_flags(&n), 0);
	notice_encode(&n, back);
	assert_memory_equal(back, data, sizeof(data));

	n.generic = false;		/* a vendor's notice: 128 is its device then */
	assert_int_equal(notice_subject_lid(&n), 0);
}

/* What is where: tables of 14.2.5.1. */
static void
test_notice_keys(void **state)
{
	struct notice n = { .generic = true, .trap = TRAP_BAD_M_KEY };
	struct notice_key k;

	(void)state;
	for (unsigned i = 0; i < sizeof(n.details); i++)
		n.details[i] = (uint8_t)i;
	assert_true(notice_bad_key(&n, &k));
	assert_int_equal(k.source, 0x0203);
	assert_int_equal(k.method, 6);
	assert_int_equal(k.attr_id, 0x0809);
	assert_true(k.key == 0x0e0f101112131415);
	assert_int_equal(k.dest, 0);
	n.trap = TRAP_BAD_Q_KEY;
	assert_true(notice_bad_key(&n, &k));
	assert_int_equal(k.source, 0x0203);
	assert_int_equal(k.dest, 0x0405);
	assert_true(k.key == 0x06070809);
	n.trap = TRAP_SWITCH_BAD_P_KEY;
	assert_true(notice_bad_key(&n, &k));
	assert_int_equal(k.dest, 0x0405);
	assert_true(k.key == 0x0607);
	assert_int_equal(k.port, 50);
	n.trap = TRAP_SYSTEM_IMAGE_GUID;
	assert_false(notice_bad_key(&n, &k));
	assert_true(notice_145_guid(&n) == 0x060708090a0b0c0d);
	n.generic = false;
	n.trap = TRAP_BAD_P_KEY;
	assert_false(notice_bad_key(&n, &k));
	assert_true(notice_145_guid(&n) == 0);
}

static void
test_notice_subjects(void **state)
{
	uint8_t data[SMP_DATA_SIZE], made[SMP_DATA_SIZE];
	struct notice n;

	(void)state;
	hex(data, sizeof(data), "81 00 00 01  00 81 00 0a  00 00  00 00 01 0a 05");
	for (uint16_t trap = TRAP_LOCAL_INTEGRITY; trap <= TRAP_FLOW_CONTROL; trap++) {
		notice_decode(&n, data);
		n.trap = trap;
		assert_int_equal(notice_subject_lid(&n), 0x10a);
		assert_int_equal(notice_subject_port(&n), 5);
	}
	hex(data, sizeof(data),
	    "84 00 00 01  00 90 00 0b  00 00  00 00 00 0b 00 01  02 51 48 68  00 01");
	notice_decode(&n, data);
	assert_int_equal(n.type, 4);
	assert_int_equal(n.trap, TRAP_CAPABILITY);
	assert_int_equal(notice_subject_lid(&n), 11);
	assert_int_equal(notice_subject_port(&n), 0);
	assert_int_equal(notice_144_flags(&n), NOTICE_144_NODE_DESCRIPTION);
	n.details[5] = 0;		/* no other local changes: the flags are reserved */
	assert_int_equal(notice_144_flags(&n), 0);
	n.trap = TRAP_SYSTEM_IMAGE_GUID;
	assert_int_equal(notice_subject_lid(&n), 11);
	n.trap = TRAP_GID_IN_SERVICE;
	assert_int_equal(notice_subject_lid(&n), 0);
	/* The same of our own making. */
	notice_make_144(&n, NODE_CA, 11, 0x02514868, NOTICE_144_NODE_DESCRIPTION);
	notice_encode(&n, made);
	assert_memory_equal(made, data, sizeof(made));
	notice_make_144(&n, NODE_CA, 11, 0x02514868, 0);
	assert_int_equal(notice_144_flags(&n), 0);
}

static void
test_table_bytes(void **state)
{
	uint8_t data[SMP_DATA_SIZE], back[SMP_DATA_SIZE], vl[16];
	struct vlarb_entry e[32];
	uint16_t keys[32];
	uint64_t guids[8];

	(void)state;
	for (unsigned i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)i;
	pkeys_decode(keys, data);
	assert_int_equal(keys[0], 0x0001);
	assert_int_equal(keys[31], 0x3e3f);
	pkeys_encode(keys, back);
	assert_memory_equal(back, data, sizeof(data));
	mft_decode(keys, data);
	assert_int_equal(keys[1], 0x0203);
	mft_encode(keys, back);
	assert_memory_equal(back, data, sizeof(data));
	guidinfo_decode(guids, data);
	assert_true(guids[7] == 0x38393a3b3c3d3e3f);
	guidinfo_encode(guids, back);
	assert_memory_equal(back, data, sizeof(data));

	hex(data, sizeof(data), "01 23 45 67 89 ab cd ef");
	sl2vl_decode(vl, data);
	for (unsigned sl = 0; sl < 16; sl++)
		assert_int_equal(vl[sl], sl);
	sl2vl_encode(vl, back);
	assert_memory_equal(back, data, sizeof(data));

	hex(data, sizeof(data), "f3 40 0e ff");	/* the upper half of a VL's byte is reserved */
	vlarb_decode(e, data);
	assert_int_equal(e[0].vl, 3);
	assert_int_equal(e[0].weight, 64);
	assert_int_equal(e[1].vl, 14);
	assert_int_equal(e[1].weight, 255);
	vlarb_encode(e, back);
	data[0] = 0x03;
	assert_memory_equal(back, data, sizeof(data));
}

static void
test_nodedesc(void **state)
{
	uint8_t data[SMP_DATA_SIZE], back[SMP_DATA_SIZE];
	char text[NODEDESC_SIZE];
	char full[NODEDESC_SIZE];

	(void)state;
	memset(data, 'x', sizeof(data));
	memcpy(data, "gpu-01 mlx5_0 \t \0tail", 21);
	nodedesc_decode(text, data);
	assert_string_equal(text, "gpu-01 mlx5_0");
	nodedesc_encode(text, back);
	nodedesc_decode(full, back);
	assert_string_equal(full, text);
	assert_int_equal(back[63], 0);

	memset(data, 'y', sizeof(data));	/* all 64 bytes used, no NUL */
	nodedesc_decode(text, data);
	assert_int_equal(strlen(text), 64);
	nodedesc_encode(text, back);
	assert_memory_equal(back, data, sizeof(data));

	memset(data, ' ', sizeof(data));
	nodedesc_decode(text, data);
	assert_string_equal(text, "");
}

static void
test_attributes_come_back(void **state)
{
	union any_attr value, back;
	uint8_t data[SMP_DATA_SIZE];

	(void)state;
	each_attr(a) {
		for (int i = 0; i < ROUNDS; i++) {
			random_attr(a, &value);
			random_bytes(data, sizeof(data));
			a->encode(&value, data);
			a->decode(&back, data);
			each_field(f, a)
				assert_memory_equal((uint8_t *)&back + f->offset,
				    (uint8_t *)&value + f->offset, f->size);
		}
	}
}

/* With all fields at their greatest, as many bits are set as the fields have: none overlap. */
static void
test_no_bit_is_shared(void **state)
{
	uint8_t ones[SMP_DATA_SIZE], data[SMP_DATA_SIZE], mask[SMP_DATA_SIZE];
	union any_attr value;

	(void)state;
	memset(ones, 0xff, sizeof(ones));
	each_attr(a) {
		unsigned fields = 0, set = 0;

		a->decode(&value, ones);
		a->encode(&value, mask);
		each_field(f, a)
			fields += f->bits;
		for (size_t i = 0; i < 8 * sizeof(mask); i++)
			set += bit_at(mask, i);
		assert_int_equal(set, fields);
		for (int round = 0; round < ROUNDS; round++) {
			random_bytes(data, sizeof(data));
			a->decode(&value, data);
			a->encode(&value, ones);
			for (size_t i = 0; i < sizeof(data); i++)
				assert_int_equal(ones[i], data[i] & mask[i]);
		}
		memset(ones, 0xff, sizeof(ones));
	}
}

/* Values wider than their fields must not reach the neighbours. */
static void
test_too_wide_values_are_cut(void **state)
{
	uint8_t data[SMP_DATA_SIZE] = { 0 };
	struct portinfo p = { .lmc = 0xff, .state = 0xff, .round_trip_latency = UINT32_MAX };

	(void)state;
	portinfo_encode(&p, data);
	assert_int_equal(data[32], 0x0f);
	assert_int_equal(data[33], 0);
	assert_int_equal(data[34], 0x07);
	assert_memory_equal(data + 56, "\0\xff\xff\xff\0", 5);
}

static void
test_directed_smp_bytes(void **state)
{
	uint8_t mad[MAD_SIZE], back[MAD_SIZE];
	struct smp s;

	(void)state;
	hex(mad, sizeof(mad), "01 81 01 81  80 1c 01 02  00 00 00 07 12 34 56 78  00 15 00 00"
	    "80 00 00 05  00 00 00 00 00 00 00 99  ff ff 00 11");
	mad[64] = 0xaa;
	mad[127] = 0xbb;
	memcpy(mad + 128, "\x00\x01\x03", 3);
	memcpy(mad + 192, "\x00\x07\x09", 3);
	assert_int_equal(smp_decode(&s, mad, sizeof(mad)), 0);
	assert_int_equal(s.h.base_version, 1);
	assert_int_equal(s.h.mgmt_class, MAD_CLASS_SUBN_DIRECT);
	assert_int_equal(s.h.class_version, 1);
	assert_int_equal(s.h.method, MAD_GET_RESP);
	assert_true(s.direction);
	assert_int_equal(s.h.status, MAD_STATUS_BAD_FIELD);
	assert_int_equal(s.hop_pointer, 1);
	assert_int_equal(s.hop_count, 2);
	assert_true(s.h.tid == 0x0000000712345678);
	assert_int_equal(s.h.attr_id, ATTR_PORT_INFO);
	assert_int_equal(s.h.attr_mod, PORTINFO_MOD_EXTENDED | 5);
	assert_true(s.m_key == 0x99);
	assert_int_equal(s.dr_slid, LID_PERMISSIVE);
	assert_int_equal(s.dr_dlid, 17);
	assert_int_equal(s.data[0], 0xaa);
	assert_int_equal(s.data[63], 0xbb);
	assert_memory_equal(s.path, "\x00\x01\x03\x00", 4);
	assert_memory_equal(s.return_path, "\x00\x07\x09\x00", 4);
	memset(back, 0xee, sizeof(back));
	smp_encode(&s, back);
	assert_memory_equal(back, mad, sizeof(mad));
}

static void
test_lid_smp_bytes(void **state)
{
	uint8_t mad[MAD_SIZE], back[MAD_SIZE];
	struct smp s;

	(void)state;
	hex(mad, sizeof(mad), "01 01 01 05  80 04 00 00  00 00 00 00 00 00 00 2a  00 02 00 00"
	    "00 00 00 00  01 00 00 00 00 00 00 00");
	mad[64] = 0x81;
	assert_int_equal(smp_decode(&s, mad, sizeof(mad)), 0);
	assert_int_equal(s.h.mgmt_class, MAD_CLASS_SUBN_LID);
	assert_int_equal(s.h.method, MAD_TRAP);
	assert_int_equal(s.h.attr_id, ATTR_NOTICE);
	assert_int_equal(s.h.status, 0x8004);	/* no D bit in this class */
	assert_false(s.direction);
	assert_true(s.h.tid == 42);
	assert_true(s.m_key == 0x0100000000000000);
	memset(back, 0xee, sizeof(back));
	smp_encode(&s, back);
	assert_memory_equal(back, mad, sizeof(mad));

	/* What a directed route would use is reserved here: no reason to refuse, and ignored. */
	mad[6] = mad[7] = 0xff;
	memset(mad + 32, 0xff, 32);
	memset(mad + 128, 0xff, 128);
	assert_int_equal(smp_decode(&s, mad, sizeof(mad)), 0);
	assert_int_equal(s.hop_count, 0);
	assert_int_equal(s.dr_slid, 0);
	assert_int_equal(s.path[1], 0);
	smp_encode(&s, mad);
	assert_memory_equal(back, mad, sizeof(mad));
}

static void
test_mad_sizes(void **state)
{
	struct mad_header h;
	struct smp s;

	(void)state;
	for (size_t size = 0; size <= 2 * MAD_SIZE; size++) {
		uint8_t *mad = calloc(1, size + 1);	/* the byte behind must not be read */

		assert_non_null(mad);
		mad = realloc(mad, size ? size : 1);
		assert_non_null(mad);
		if (size >= 2) {
			mad[0] = 1;
			mad[1] = MAD_CLASS_SUBN_DIRECT;
		}
		assert_int_equal(smp_decode(&s, mad, size), size < 256 ? ERR_TRUNCATED : 0);
		assert_int_equal(mad_header_decode(&h, mad, size), size < 24 ? ERR_TRUNCATED : 0);
		free(mad);
	}
}

static void
test_smp_refuses(void **state)
{
	uint8_t mad[MAD_SIZE];
	struct mad_header h;
	struct smp s;

	(void)state;
	hex(mad, sizeof(mad), "01 81 01 01  00 00 40 3f");	/* pointer 64, count 63 */
	assert_int_equal(smp_decode(&s, mad, sizeof(mad)), 0);
	mad[6] = 65;
	assert_int_equal(smp_decode(&s, mad, sizeof(mad)), ERR_FORMAT);
	mad[6] = 0;
	mad[7] = 64;
	assert_int_equal(smp_decode(&s, mad, sizeof(mad)), ERR_FORMAT);
	mad[7] = 2;
	mad[6] = 3;
	assert_int_equal(smp_decode(&s, mad, sizeof(mad)), 0);
	mad[6] = 4;
	assert_int_equal(smp_decode(&s, mad, sizeof(mad)), ERR_FORMAT);
	mad[6] = 0;
	mad[0] = 2;
	assert_int_equal(smp_decode(&s, mad, sizeof(mad)), ERR_FORMAT);
	assert_int_equal(mad_header_decode(&h, mad, sizeof(mad)), ERR_FORMAT);
	mad[0] = 1;
	mad[1] = MAD_CLASS_SUBN_ADM;
	assert_int_equal(smp_decode(&s, mad, sizeof(mad)), ERR_FORMAT);
	assert_int_equal(mad_header_decode(&h, mad, sizeof(mad)), 0);
	assert_int_equal(h.mgmt_class, MAD_CLASS_SUBN_ADM);
}

static void
test_names(void **state)
{
	(void)state;
	assert_string_equal(mad_attr_name(ATTR_PORT_INFO), "PortInfo");
	assert_string_equal(mad_attr_name(0x20), "SMInfo");
	assert_null(mad_attr_name(0xff90));
	assert_string_equal(mad_method_name(MAD_GET_RESP), "GetResp");
	assert_string_equal(mad_method_name(7), "TrapRepress");
	assert_null(mad_method_name(0x80));
	assert_string_equal(mad_status_text(0), "ok");
	assert_string_equal(mad_status_text(0x8000), "ok");
	assert_string_equal(mad_status_text(1), "busy");
	assert_string_equal(mad_status_text(0x0c), "unsupported method or attribute");
	assert_string_equal(mad_status_text(0x1c), "invalid field");
	for (unsigned status = 0; status <= UINT16_MAX; status++)
		assert_non_null(mad_status_text((uint16_t)status));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nodeinfo_bytes),
		cmocka_unit_test(test_portinfo_bytes_of_the_link),
		cmocka_unit_test(test_portinfo_bytes_of_the_rest),
		cmocka_unit_test(test_portinfo_speed),
		cmocka_unit_test(test_switchinfo_bytes),
		cmocka_unit_test(test_sminfo_bytes),
		cmocka_unit_test(test_notice_bytes),
		cmocka_unit_test(test_notice_subjects),
		cmocka_unit_test(test_notice_keys),
		cmocka_unit_test(test_table_bytes),
		cmocka_unit_test(test_nodedesc),
		cmocka_unit_test(test_attributes_come_back),
		cmocka_unit_test(test_no_bit_is_shared),
		cmocka_unit_test(test_too_wide_values_are_cut),
		cmocka_unit_test(test_directed_smp_bytes),
		cmocka_unit_test(test_lid_smp_bytes),
		cmocka_unit_test(test_mad_sizes),
		cmocka_unit_test(test_smp_refuses),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
