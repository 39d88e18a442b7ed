/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sm/wire/ar.h"

/*
 * The adaptive-routing codecs against the reference's examples, written there in hex: each decodes
 * to what its text says and encodes back to the same bytes. The rest of the 64 bytes is zero.
 */

static void
hex(uint8_t data[SMP_DATA_SIZE], const char *text)
{
	unsigned v, len = 0;
	int used;

	memset(data, 0, SMP_DATA_SIZE);
	while (sscanf(text, " %2x%n", &v, &used) == 1) {
		assert_true(len < SMP_DATA_SIZE);
		data[len++] = (uint8_t)v;
		text += used;
	}
	assert_int_equal(*text, 0);
}

/* Decode `text` into the lvalue, encode it, and get the same bytes; further arguments follow it. */
#define VECTOR(name, text, ...) do { \
	uint8_t in_[SMP_DATA_SIZE], out_[SMP_DATA_SIZE]; \
	hex(in_, text); \
	memset(out_, 0xa5, sizeof(out_)); \
	ar_##name##_decode(__VA_ARGS__, in_); \
	ar_##name##_encode(__VA_ARGS__, out_); \
	assert_memory_equal(in_, out_, SMP_DATA_SIZE); \
} while (0)

static void
test_general(void **state)
{
	static const unsigned caps[] = { 0, 2, 9, 12, 13, 23, 52, 67 };
	struct ar_general a;
	uint8_t data[SMP_DATA_SIZE], want[SMP_DATA_SIZE];
	unsigned n = 0;

	(void)state;
	VECTOR(general, "00803205 00100000 00000008", &a);
	for (unsigned i = 0; i < sizeof(caps) / sizeof(caps[0]); i++)
		assert_true(ar_general_has(&a, caps[i]));
	for (unsigned i = 0; i < 512; i++)
		n += ar_general_has(&a, i);
	assert_int_equal(n, 8);
	memset(&a, 0, sizeof(a));
	ar_general_add(&a, 49);		/* 5.6 */
	ar_general_add(&a, 71);		/* 11.0 */
	ar_general_encode(&a, data);
	hex(want, "00000000 00020000 00000080");
	assert_memory_equal(data, want, sizeof(want));
}

static void
test_info(void **state)
{
	struct ar_info a;

	(void)state;
	VECTOR(info, "6c40100e a1000800 00000312 00000000 00000000 c2000000", &a);
	assert_true(a.dyn_cap_calc_sup && a.by_transp_cap && a.by_sl_cap && a.glb_groups);
	assert_false(a.by_sl_en || a.is4_mode || a.no_fallback || a.enable || a.fr_en);
	assert_int_equal(a.direction_num, 64);
	assert_int_equal(a.group_table_copy, 1);
	assert_int_equal(a.sub_grps_active, 0);
	assert_true(a.fr_sup && a.frn_sup && a.arn_sup);
	assert_int_equal(a.string_width, 10);
	assert_int_equal(a.group_table_cap, 1);
	assert_int_equal(a.group_cap, 2048);
	assert_int_equal(a.group_top, 0);
	assert_int_equal(a.sub_grps_sup, 3);
	assert_int_equal(a.rn_version, 1);
	assert_int_equal(a.ar_version, 2);
	assert_true(a.hbf_sup && a.whbf_sup && a.pfrn_sup);
	assert_false(a.hash_symmetric || a.hash_dceth || a.hash_bth_dqp || a.nvlink_hbf_sup);
}

static void
test_info_set(void **state)
{
	struct ar_info a;

	(void)state;
	VECTOR(info, "7c40101f a1023800 00030312 00000001 0000001e c2000000", &a);
	assert_true(a.enable && a.fr_en && a.by_sl_en);
	assert_false(a.rn_xmit_en);
	assert_int_equal(a.sl_mask, 3);
	assert_int_equal(a.transport_disable, AR_UD);
	assert_int_equal(a.ageing_time, 30);
	assert_int_equal(a.group_top, 35);
	assert_int_equal(a.group_cap, 2048);
}

/* Fields that the examples leave 0, by the table of positions. */
static void
test_info_rest(void **state)
{
	struct ar_info a;

	(void)state;
	VECTOR(info, "03000220 00000000 80000000 0000000e 00000000 3c00f000 a0008001", &a);
	assert_true(a.is4_mode && a.no_fallback && a.rn_xmit_en);
	assert_int_equal(a.sub_grps_active, 2);
	assert_int_equal(a.sl_mask, 0x8000);
	assert_int_equal(a.transport_disable, AR_RC | AR_UC | AR_DC);
	assert_true(a.hash_symmetric && a.hash_dceth && a.hash_bth_dqp && a.nvlink_hbf_sup);
	assert_false(a.hbf_sup || a.whbf_sup || a.pfrn_sup);
	assert_true(a.by_sl_hbf_en && a.whbf_en && a.by_vl_en && a.pfrn_en);
	assert_int_equal(a.whbf_granularity, 5);
	assert_int_equal(a.sl_mask_hbf, 0x8001);
}

static void
test_groups(void **state)
{
	struct ar_ports a[AR_GROUP_BLOCK], want[AR_GROUP_BLOCK] = { { { 0 } } };

	(void)state;
	VECTOR(groups, "00000000 00000000 00000000 00000000 00000000 00000000 00000000 0000001e"
	       "00000000 00000000 00000000 00000000 00000000 00000000 00000106 00000000", a);
	for (unsigned p = 1; p <= 4; p++)
		ar_ports_add(&want[0], p);
	ar_ports_add(&want[1], 33);
	ar_ports_add(&want[1], 34);
	ar_ports_add(&want[1], 40);
	assert_memory_equal(a, want, sizeof(want));
	VECTOR(groups, "80", a);
	assert_true(ar_ports_has(&a[0], 255));
}

static void
test_copy(void **state)
{
	struct ar_layout l = ar_layout_default;
	struct ar_copy a[AR_COPIES];
	static const uint16_t to[] = { 7, 9, 12 };

	(void)state;
	VECTOR(copy, "00070007 00090009 000c000c", a, &l);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(a[i].first, to[i]);
		assert_int_equal(a[i].last, a[i].first);
	}
	for (unsigned i = 3; i < AR_COPIES; i++)
		assert_true(a[i].first > a[i].last);
	VECTOR(copy, "00070009", a, &l);
	assert_int_equal(a[0].first, 7);
	assert_int_equal(a[0].last, 9);
	l.copy_first_first = l.copy_zero_unused = false;
	VECTOR(copy, "00090007", a, &l);
	assert_int_equal(a[0].first, 7);
	assert_int_equal(a[0].last, 9);
	assert_int_equal(a[1].first, 0);
	assert_int_equal(a[1].last, 0);
}

static void
test_lft(void **state)
{
	static const struct ar_lft_entry want[] = {
		{ AR_FREE, 0, 1, 5 }, { AR_BOUNDED, 0, 2, 5 }, { AR_STATIC, 0, 17, 0 },
		{ AR_HASH, 0, 3, 6 },
	};
	struct ar_lft_entry a[AR_LFT_BLOCK], one;

	(void)state;
	VECTOR(lft, "40010005 00020005 80110000 c0030006 80ff0000 80ff0000 80ff0000 80ff0000"
	       "80ff0000 80ff0000 80ff0000 80ff0000 80ff0000 80ff0000 80ff0000 80ff0000", a);
	for (unsigned i = 0; i < AR_LFT_BLOCK; i++) {
		assert_int_equal(a[i].state, i < 4 ? want[i].state : AR_STATIC);
		assert_int_equal(a[i].port, i < 4 ? want[i].port : LFT_NO_PORT);
		assert_int_equal(a[i].group, i < 4 ? want[i].group : 0);
		assert_int_equal(a[i].table, 0);
	}
	ar_entry_decode(&one, (const uint8_t[]){ 0xc7, 9, 0x12, 0x34 });
	assert_int_equal(one.state, AR_HASH);
	assert_int_equal(one.table, 7);
	assert_int_equal(one.port, 9);
	assert_int_equal(one.group, 0x1234);
}

static void
test_plft(void **state)
{
	struct ar_layout l = ar_layout_default;
	struct ar_plft_info a;
	struct ar_plft_def d[AR_PLFT_BLOCK];
	struct ar_plft_map map;

	(void)state;
	VECTOR(plft_info, "00040201 30021804", &a);
	assert_int_equal(a.plfts, 4);
	assert_int_equal(a.mode_cap, 2);
	assert_int_equal(a.active_mode, 1);
	assert_int_equal(a.mode[0].size, 48);
	assert_int_equal(a.mode[0].banks, 2);
	assert_int_equal(a.mode[1].size, 24);
	assert_int_equal(a.mode[1].banks, 4);
	assert_int_equal(a.mode[2].size, 0);
	VECTOR(plft_def, "00600000 01600000", d, &l);
	for (unsigned i = 0; i < AR_PLFT_BLOCK; i++) {
		assert_int_equal(d[i].bank, i == 1);
		assert_int_equal(d[i].space, i < 2 ? 96 : 0);
		assert_int_equal(d[i].offset, 0);
		assert_false(d[i].force);
	}
	VECTOR(plft_def, "83300060", d, &l);
	assert_true(d[0].force);
	assert_int_equal(d[0].bank, 3);
	assert_int_equal(d[0].offset, 96);
	VECTOR(plft_map, "00000003 00000000 00000000 00000000 00000000 00000000 00000000 00000000"
	       "0000001e 00000123", &map);
	assert_true(map.ports_en && map.top_en);
	assert_int_equal(map.top, 0x123);
	assert_int_equal(map.ports.word[0], 0x1e);
	assert_int_equal(map.ports.word[1] | map.ports.word[2] | map.ports.word[3], 0);
	VECTOR(plft_map, "00000001", &map);
	assert_true(map.ports_en && !map.top_en);
}

static void
test_notifications(void **state)
{
	uint16_t strings[AR_GEN_BLOCK];
	struct ar_rcv rcv[AR_RCV_BLOCK];
	struct ar_priority pri[16];
	uint8_t xmit[AR_XMIT_BLOCK];

	(void)state;
	VECTOR(gen, "00000010 00110000", strings);
	for (unsigned i = 0; i < AR_GEN_BLOCK; i++)
		assert_int_equal(strings[i], i == 1 ? 0x10 : i == 2 ? 0x11 : 0);
	VECTOR(priority, "00000003 00000002", pri);
	assert_true(pri[0].arn && pri[0].frn && !pri[1].arn && pri[1].frn);
	assert_false(pri[2].arn || pri[2].frn);
	VECTOR(rcv, "00000000 00000002 00010003 00000101", rcv);
	assert_int_equal(rcv[0].decision, AR_RCV_DISCARD);
	assert_int_equal(rcv[1].decision, AR_RCV_ALL);
	assert_int_equal(rcv[2].decision, AR_RCV_PASS);
	assert_int_equal(rcv[2].string, 1);
	assert_int_equal(rcv[3].decision, AR_RCV_ARN);
	assert_int_equal(rcv[3].plft, 1);
	VECTOR(xmit, "07770000", xmit);
	for (unsigned i = 0; i < AR_XMIT_BLOCK; i++)
		assert_int_equal(xmit[i], i >= 1 && i <= 3 ?
				 AR_XMIT_ARN | AR_XMIT_FRN | AR_XMIT_PASS : 0);
}

static void
test_hash_and_pfrn(void **state)
{
	struct ar_hbf hbf;
	struct ar_whbf w[AR_WHBF_BLOCK];
	struct ar_pfrn p;

	(void)state;
	VECTOR(hbf, "00000000 00000000 12345678 00000000 40f00c0f", &hbf);
	assert_int_equal(hbf.hash_type, 0);
	assert_int_equal(hbf.seed_type, 0);
	assert_int_equal(hbf.seed, 0x12345678);
	assert_true(hbf.fields == 0x40f00c0f);
	VECTOR(hbf, "12", &hbf);
	assert_int_equal(hbf.hash_type, 1);
	assert_int_equal(hbf.seed_type, 2);
	VECTOR(whbf, "00643200 00643200", w);
	for (unsigned i = 0; i < AR_WHBF_BLOCK; i++) {
		assert_int_equal(w[i].weight[0], i < 2 ? 100 : 0);
		assert_int_equal(w[i].weight[1], i < 2 ? 50 : 0);
		assert_int_equal(w[i].weight[2], 0);
	}
	VECTOR(pfrn, "00000000 00000000 10000000 02d000b4", &p);
	assert_false(p.policy_sup);
	assert_int_equal(p.sl, 1);
	assert_int_equal(p.policy, 0);
	assert_int_equal(p.force_clear, 720);
	assert_int_equal(p.clear, 180);
	VECTOR(pfrn, "00000001 00000000 f000000f", &p);
	assert_true(p.policy_sup);
	assert_int_equal(p.policy, 15);
}

static void
test_node_info(void **state)
{
	struct ar_node_info a;

	(void)state;
	VECTOR(node_info, "01020304 00000000 00000000 000d0e0f 00000013", &a);
	assert_int_equal(a.oob, 1);
	assert_int_equal(a.pcie, 2);
	assert_int_equal(a.sl2vl_act, 3);
	assert_int_equal(a.sl2vl_cap, 4);
	assert_int_equal(a.anycast_top, 0x0d);
	assert_int_equal(a.anycast_cap, 0x0e);
	assert_int_equal(a.node_type, 0x0f);
	assert_int_equal(a.planes, 0x13);
}

/* A value too large for its field loses its upper bits and disturbs no neighbour. */
static void
test_too_large(void **state)
{
	struct ar_layout l = ar_layout_default;
	struct ar_lft_entry e[AR_LFT_BLOCK] = { { .state = 7, .table = 0x30 } };
	struct ar_copy c[AR_COPIES] = { { 0xf123, 0xf456 } };
	struct ar_plft_def d[AR_PLFT_BLOCK] = { { .bank = 0xff } };
	uint8_t data[SMP_DATA_SIZE];

	(void)state;
	ar_lft_encode(e, data);
	assert_int_equal(data[0], 0xc0);
	ar_copy_encode(c, &l, data);
	assert_memory_equal(data, ((const uint8_t[]){ 1, 0x23, 4, 0x56 }), 4);
	ar_plft_def_encode(d, &l, data);
	assert_int_equal(data[0], 0x7f);
}

static void
test_modifiers(void **state)
{
	struct ar_layout l = ar_layout_default;
	struct ar_mod a = { .block = 3071, .table = 2, .plft = 3 }, b;
	struct error e;

	(void)state;
	assert_int_equal(ar_mod_encode(&a, AR_ATTR_LFT, &l), 3071 | 3 << 16);
	assert_int_equal(ar_mod_encode(&a, AR_ATTR_GROUPS, &l), 3071 | 3 << 16 | 2 << 24);
	assert_int_equal(ar_layout_parse(&l, "plft_shift=24,group_table_shift=12", &e), 0);
	assert_int_equal(ar_mod_encode(&a, AR_ATTR_LFT, &l), 3071 | 3 << 24);
	assert_int_equal(ar_mod_encode(&a, AR_ATTR_GROUPS, &l), 3071 | 2 << 12 | 3 << 24);
	assert_true(ar_mod_decode(&b, AR_ATTR_GROUPS, &l, 5 | 1 << 12 | 7 << 24));
	assert_int_equal(b.block, 5);
	assert_int_equal(b.table, 1);
	assert_int_equal(b.plft, 7);
	assert_false(ar_mod_decode(&b, AR_ATTR_LFT, &l, 5 | 1 << 12));
	assert_false(ar_mod_decode(&b, AR_ATTR_INFO, &l, 0));
}

static void
test_layout(void **state)
{
	struct ar_layout l = ar_layout_default;
	struct error e;

	(void)state;
	assert_int_equal(ar_sub_groups(&l, 0), 1);
	assert_int_equal(ar_sub_grps_active(&l, 2), 1);
	assert_int_equal(ar_tables(&l, 1), 1);
	assert_int_equal(ar_layout_parse(&l, "", &e), 0);
	assert_int_equal(ar_layout_parse(&l, "sub_groups=count,tables=last,copy_order=last-first,"
					 "copy_zero=group-0,calc_bit=0,force_bit=6", &e), 0);
	assert_int_equal(ar_sub_groups(&l, 0), 1);
	assert_int_equal(ar_sub_groups(&l, 2), 2);
	assert_int_equal(ar_sub_grps_active(&l, 2), 2);
	assert_int_equal(ar_tables(&l, 1), 2);
	assert_int_equal(l.calc_bit, 0);
	assert_int_equal(l.force_bit, 6);
	assert_false(l.copy_first_first || l.copy_zero_unused);
}

static void
refused(const char *text, const char *want)
{
	struct ar_layout l = ar_layout_default;
	struct error e;

	assert_int_equal(ar_layout_parse(&l, text, &e), ERR_INVALID);
	assert_string_equal(e.text, want);
	assert_memory_equal(&l, &ar_layout_default, sizeof(l));
}

static void
test_layout_refused(void **state)
{
	(void)state;
	refused("calc_bit=3,plft_shift=25",
		"lft_plft_shift=25: expected a number from 12 to 24");
	refused("calc_bit", "calc_bit=: expected a number from 0 to 31");
	refused("calc_bits=1",
		"\"calc_bits\": no such choice of the adaptive-routing layout; "
		"did you mean calc_bit?");
	refused("sub_groups=two", "sub_groups=two: expected zero-based or count");
	refused(",", "\"\": no such choice of the adaptive-routing layout");
	refused("group_table_shift=20",
		"group_table_shift=20 and group_plft_shift=16 overlap: "
		"they must be 8 or more apart");
}

/* Bytes 54 and 55 alone. */
static void
test_any_order(void **state)
{
	uint8_t data[SMP_DATA_SIZE], want[SMP_DATA_SIZE];

	(void)state;
	for (unsigned i = 0; i < SMP_DATA_SIZE; i++)
		data[i] = want[i] = (uint8_t)(i + 1);
	assert_int_equal(ar_port_any_order(data), 0x3738);
	want[54] = 0x80;
	want[55] = 0x01;
	ar_port_set_any_order(data, 0x8001);
	assert_memory_equal(data, want, sizeof(want));
	assert_int_equal(ar_port_any_order(data), 0x8001);
}

/* Whose switches are asked, and that nothing is assumed of them. */
static void
test_families(void **state)
{
	struct ar_mod mod = { .block = 0x123 };
	const struct ar_family *f;

	(void)state;
	assert_null(ar_family_of(0, 0xd2f0));
	assert_null(ar_family_of(0x8f1, 0xd2f0));
	f = ar_family_of(0x2c9, 0xd2f2);
	assert_string_equal(f->name, "Quantum-2");
	assert_string_equal(ar_family_of(0x2c9, 1)->name, "other");
	assert_int_equal(f->layout.hbf_global_bit, AR_UNKNOWN);
	/* Of a modifier only the block is known; whatever else is set is not understood. */
	assert_int_equal(ar_mod_encode(&mod, AR_ATTR_LFT, &f->layout), 0x123);
	assert_int_equal(ar_mod_encode(&mod, AR_ATTR_GROUPS, &f->layout), 0x123);
	assert_true(ar_mod_decode(&mod, AR_ATTR_GROUPS, &f->layout, 0xfff));
	assert_int_equal(mod.block, 0xfff);
	assert_false(ar_mod_decode(&mod, AR_ATTR_GROUPS, &f->layout, 0x10fff));
	assert_int_equal(mod.table + mod.plft, 0);
	assert_int_equal(ar_sub_grps_active(&f->layout, 1), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_general),
		cmocka_unit_test(test_info),
		cmocka_unit_test(test_info_set),
		cmocka_unit_test(test_info_rest),
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_copy),
		cmocka_unit_test(test_lft),
		cmocka_unit_test(test_plft),
		cmocka_unit_test(test_notifications),
		cmocka_unit_test(test_hash_and_pfrn),
		cmocka_unit_test(test_node_info),
		cmocka_unit_test(test_too_large),
		cmocka_unit_test(test_modifiers),
		cmocka_unit_test(test_layout),
		cmocka_unit_test(test_layout_refused),
		cmocka_unit_test(test_any_order),
		cmocka_unit_test(test_families),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
