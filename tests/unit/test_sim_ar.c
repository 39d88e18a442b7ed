/* SPDX-License-Identifier: BSD-2-Clause */
/* Adaptive switches: what they answer, what they keep, and where they send packets. */
#include "tests/unit/sim_bed.h"
#include <stdio.h>
#include "sim/model/ar.h"
#include "sim/traffic/traffic.h"

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
}

/* Switch A routes adaptively, as the options' text says. */
static void
equip(struct rig *r, const char *text)
{
	struct ar_options o = ar_options_default;
	struct error e = { 0 };

	if (ar_options_parse(&o, text, &e) || model_ar_support(r->m, A, &o.support, &e))
		fail_msg("%s", e.text);
}

/* The status of a Get or Set at A; what comes back is in `back`. */
static uint8_t back[SMP_DATA_SIZE];

static unsigned
get(struct rig *r, uint16_t attr, uint32_t mod)
{
	const struct smp *s = ask(r, (struct ask){ .path = "1", .attr = attr, .mod = mod });

	assert_non_null(s);
	memcpy(back, s->data, sizeof(back));
	return s->h.status;
}

static unsigned
set(struct rig *r, uint16_t attr, uint32_t mod, const uint8_t data[SMP_DATA_SIZE])
{
	const struct smp *s = ask(r, (struct ask){ .path = "1", .method = MAD_SET, .attr = attr,
						   .mod = mod, .data = data });

	assert_non_null(s);
	memcpy(back, s->data, sizeof(back));
	return s->h.status;
}

static unsigned
set_hex(struct rig *r, uint16_t attr, uint32_t mod, const char *text)
{
	uint8_t data[SMP_DATA_SIZE];

	hex(data, text);
	return set(r, attr, mod, data);
}

static void
told(const char *text)
{
	uint8_t data[SMP_DATA_SIZE];

	hex(data, text);
	assert_memory_equal(back, data, sizeof(data));
}

/* What was set is what is read. */
static void
kept(struct rig *r, uint16_t attr, uint32_t mod, const char *text)
{
	assert_int_equal(set_hex(r, attr, mod, text), 0);
	told(text);
	memset(back, 0xa5, sizeof(back));
	assert_int_equal(get(r, attr, mod), 0);
	told(text);
}

static void
set_info(struct rig *r, const struct ar_info *i, unsigned status)
{
	uint8_t data[SMP_DATA_SIZE];

	ar_info_encode(i, data);
	assert_int_equal(set(r, AR_ATTR_INFO, 0, data), status);
}

/* Sub-group entries 2 * block and the next. */
static void
set_groups(struct rig *r, uint32_t mod, uint64_t first, uint64_t second)
{
	struct ar_ports ports[AR_GROUP_BLOCK] = { { { first } }, { { second } } };
	uint8_t data[SMP_DATA_SIZE];

	ar_groups_encode(ports, data);
	assert_int_equal(set(r, AR_ATTR_GROUPS, mod, data), 0);
}

/* LIDs 0..4: unrouted, 1 static to port 1, 2 as given, 3 (A itself), 4 static to port 3. */
static void
set_lids(struct rig *r, uint32_t mod, unsigned state, unsigned port, unsigned group)
{
	struct ar_lft_entry e[AR_LFT_BLOCK];
	uint8_t data[SMP_DATA_SIZE];

	for (unsigned i = 0; i < AR_LFT_BLOCK; i++)
		e[i] = (struct ar_lft_entry){ .state = AR_STATIC, .port = LFT_NO_PORT };
	e[1].port = 1;
	e[2] = (struct ar_lft_entry){ .state = (uint8_t)state, .port = (uint8_t)port,
				      .group = (uint16_t)group };
	e[3].port = 0;
	e[4].port = 3;
	ar_lft_encode(e, data);
	assert_int_equal(set(r, AR_ATTR_LFT, mod, data), 0);
}

/* All links ACTIVE, plain tables written. */
static void
light_up(struct rig *r)
{
	static const char *const ends[][2] = {
		{ "", "\0" }, { "1", "\1" }, { "1", "\2" }, { "1", "\3" }, { "12", "\1" },
		{ "12", "\2" }, { "12", "\4" }, { "124", "\0" },
	};

	bring_up(r);
	for (unsigned s = PORT_ARMED; s <= PORT_ACTIVE; s++)
		for (unsigned i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
			assert_int_equal(set_state(r, ends[i][0], (uint8_t)ends[i][1][0], s), 0);
}

/* light_up(), and LID 2 free over ports 2 and 3 (group 5). */
static struct ar_info
go_adaptive(struct rig *r)
{
	struct ar_info i;

	light_up(r);
	assert_true(model_ar_info(r->m, A, &i));
	i.enable = true;
	i.group_top = 5;
	set_groups(r, 2, 0, 1 << 2 | 1 << 3);
	set_lids(r, 0, AR_FREE, 2, 5);
	set_info(r, &i, 0);
	return i;
}

/* The ports that A spreads data to LID 2 over, as a bit mask. */
static unsigned
spread(struct rig *r, unsigned in, unsigned sl)
{
	uint8_t ports[254];
	unsigned n = ar_ports(r->m, A, in, 2, sl, ports), mask = 0;

	for (unsigned i = 0; i < n; i++)
		mask |= 1u << ports[i];
	return mask;
}

static unsigned
datagram(struct rig *r, uint16_t slid, unsigned transport)
{
	const struct ar_packet p = { slid, 2, 0, (uint8_t)transport };

	return ar_forward(r->m, A, 1, &p);
}

#define BOTH (1u << 2 | 1u << 3)

/* ---- Attributes ---- */

static void
test_who(void **state)
{
	struct rig *r = *state;
	struct error e;
	struct ar_info i;

	assert_int_equal(get(r, AR_ATTR_GENERAL_INFO, 4), MAD_STATUS_BAD_ATTR);
	assert_int_equal(get(r, AR_ATTR_INFO, 0), MAD_STATUS_BAD_ATTR);
	assert_false(model_ar_info(r->m, A, &i));
	assert_int_equal(model_ar_support(r->m, H1, &ar_options_default.support, &e), ERR_INVALID);
	assert_string_equal(e.text, "only a switch can route adaptively");
	equip(r, "features=general");
	assert_int_equal(get(r, AR_ATTR_GENERAL_INFO, 4), 0);
	told("00000000");
	assert_int_equal(get(r, AR_ATTR_INFO, 0), MAD_STATUS_BAD_ATTR);
	assert_false(model_ar_info(r->m, A, &i));
	equip(r, "features=ar");
	assert_int_equal(get(r, AR_ATTR_GENERAL_INFO, 4), 0);
	told("00000004");
	assert_int_equal(get(r, AR_ATTR_INFO, 0), 0);
	assert_int_equal(get(r, AR_ATTR_PLFT_INFO, 0), MAD_STATUS_BAD_ATTR);
	equip(r, "");
	assert_int_equal(get(r, AR_ATTR_GENERAL_INFO, 4), 0);
	told("00803005");
	for (unsigned mod = 0; mod < 3; mod++)
		assert_int_equal(get(r, AR_ATTR_GENERAL_INFO, mod), 0);
	assert_int_equal(get(r, AR_ATTR_GENERAL_INFO, 3), MAD_STATUS_BAD_FIELD);
	assert_int_equal(set_hex(r, AR_ATTR_GENERAL_INFO, 4, ""), MAD_STATUS_BAD_ATTR);
	assert_int_equal(get(r, AR_ATTR_LFT_FIRST, 0), MAD_STATUS_BAD_ATTR);
	assert_int_equal(model_ar_support(r->m, A, NULL, &e), 0);
	assert_int_equal(get(r, AR_ATTR_GENERAL_INFO, 4), MAD_STATUS_BAD_ATTR);
}

/* Switches of the vendor, when the options say so; they have ExtendedPortInfo, too. */
static void
test_vendor(void **state)
{
	struct rig r = { .tid = 0 };
	const struct model_client_events ev = { .receive = on_receive, .arg = &r.in1 };
	static const char text[] = "vendid=0x2c9\nswitchguid=0xa0\nSwitch 4 \"A\"\n[1] \"B\"[1]\n\n"
		"vendid=0x66a\nswitchguid=0xb0\nSwitch 4 \"B\"\n\n";
	struct ar_options o = ar_options_default;
	struct model_options mo = { .ar = &o };
	struct ar_info i;
	const struct smp *s;

	(void)state;
	r.loop = loop_new_virtual(1);
	assert_int_equal(ibnet_parse(&r.net, text, strlen(text), "net", NULL), 0);
	r.m = model_new(r.loop, r.net, NULL);
	assert_false(model_ar_info(r.m, 0, &i));
	model_free(r.m);
	o.support.group_cap = 77;
	r.m = model_new(r.loop, r.net, &mo);
	o.support.group_cap = 5;	/* it has a copy */
	model_reboot(r.m, 0);
	assert_true(model_ar_info(r.m, 0, &i));
	assert_int_equal(i.group_cap, 77);
	assert_false(model_ar_info(r.m, 1, &i));
	r.c1 = model_attach(r.m, 0, 0, &ev);
	s = must(ask(&r, (struct ask){ .path = "", .attr = AR_ATTR_GENERAL_INFO, .mod = 4 }));
	memcpy(back, s->data, sizeof(back));
	told("00803205");
	model_free(r.m);
	ibnet_free(r.net);
	loop_free(r.loop);
}

/* The reference's two examples of AdaptiveRoutingInfo: capabilities, and a Set that echoes them. */
static void
test_info(void **state)
{
	struct rig *r = *state;

	equip(r, "");
	assert_int_equal(get(r, AR_ATTR_INFO, 0), 0);
	told("6c40100e a1000800 00000312 00000000 00000000 c2000000");
	assert_int_equal(set_hex(r, AR_ATTR_INFO, 0,
				 "10000011 00023000 00030000 00000001 0000001e"), 0);
	told("7c40101f a1023800 00030312 00000001 0000001e c2000000");
	assert_int_equal(get(r, AR_ATTR_INFO, 0), 0);
	told("7c40101f a1023800 00030312 00000001 0000001e c2000000");
	assert_true(model_ar_is_on(r->m, A));
	/* Two sub-groups: half the groups; three are one too many; a top above the groups. */
	assert_int_equal(set_hex(r, AR_ATTR_INFO, 0, "00000100 00023000"), 0);
	told("6c40110e a1023400 00000312 00000000 00000000 c2000000");
	assert_int_equal(set_hex(r, AR_ATTR_INFO, 0, "00000200"), MAD_STATUS_BAD_FIELD);
	assert_int_equal(set_hex(r, AR_ATTR_INFO, 0, "00000100 00400000"), MAD_STATUS_BAD_FIELD);
	assert_int_equal(set_hex(r, AR_ATTR_INFO, 0, "00000000 00400000"), 0);
	assert_int_equal(set_hex(r, AR_ATTR_INFO, 1, ""), MAD_STATUS_BAD_FIELD);
}

/* What another configuration would leave, without going there. */
static void
test_calc(void **state)
{
	struct rig *r = *state;
	uint8_t data[SMP_DATA_SIZE];
	struct ask a = { .path = "1", .attr = AR_ATTR_INFO, .mod = 0x80000000u, .data = data };
	const struct smp *s;

	equip(r, "");
	hex(data, "00000100");
	s = must(ask(r, a));
	hex(data, "6c40110e a1000400 00000312 00000000 00000000 c2000000");
	assert_memory_equal(s->data, data, sizeof(data));
	assert_int_equal(get(r, AR_ATTR_INFO, 0), 0);
	told("6c40100e a1000800 00000312 00000000 00000000 c2000000");
	hex(data, "00000200");
	assert_int_equal(ask(r, a)->h.status, MAD_STATUS_BAD_FIELD);
	assert_int_equal(set_hex(r, AR_ATTR_INFO, 0x80000000u, ""), MAD_STATUS_BAD_FIELD);
	equip(r, "features=ar");
	assert_int_equal(get(r, AR_ATTR_INFO, 0x80000000u), MAD_STATUS_BAD_FIELD);
	assert_int_equal(get(r, AR_ATTR_INFO, 0), 0);
	told("2c000000 01000800 00000302");
}

static void
test_groups(void **state)
{
	struct rig *r = *state;
	struct ar_ports p;
	const struct ar_mod table = { .table = 0 };

	equip(r, "group_cap=101");
	assert_int_equal(model_ar_memory(r->m, A), 0);
	assert_int_equal(get(r, AR_ATTR_GROUPS, 49), 0);
	told("");
	assert_int_equal(model_ar_memory(r->m, A), 0);
	set_groups(r, 49, 0x1e, 6);
	p = model_ar_group(r->m, A, &table, 99, 0);
	assert_int_equal(p.word[0], 6);
	assert_int_equal(p.word[1] | p.word[2] | p.word[3], 0);
	/* Of 4 ports and port 0; the last block has one group. */
	set_groups(r, 50, 0xffff, 0xff);
	assert_int_equal(model_ar_group(r->m, A, &table, 100, 0).word[0], 0x1f);
	assert_int_equal(get(r, AR_ATTR_GROUPS, 50), 0);
	assert_int_equal(back[31], 0x1f);
	assert_int_equal(back[63], 0);
	assert_int_equal(get(r, AR_ATTR_GROUPS, 51), MAD_STATUS_BAD_FIELD);
	assert_int_equal(get(r, AR_ATTR_GROUPS, 0x01000000), MAD_STATUS_BAD_FIELD);
	assert_int_equal(get(r, AR_ATTR_GROUPS, 0x00010000), MAD_STATUS_BAD_FIELD);
	assert_int_equal(get(r, AR_ATTR_GROUPS, 0x00001000), MAD_STATUS_BAD_FIELD);
	assert_int_equal(model_ar_memory(r->m, A), 4 * 16 + 128 * 8);
}

static void
test_sub_groups(void **state)
{
	struct rig *r = *state;
	const struct ar_mod table = { .table = 0 };

	equip(r, "group_cap=10");
	assert_int_equal(set_hex(r, AR_ATTR_INFO, 0, "00000100"), 0);
	set_groups(r, 4, 2, 4);		/* a block is a group now */
	assert_int_equal(model_ar_group(r->m, A, &table, 4, 0).word[0], 2);
	assert_int_equal(model_ar_group(r->m, A, &table, 4, 1).word[0], 4);
	assert_int_equal(model_ar_group(r->m, A, &table, 4, 2).word[0], 0);
	assert_int_equal(set_hex(r, AR_ATTR_GROUPS, 5, ""), MAD_STATUS_BAD_FIELD);
	/* Group 4 with its directions to groups 0 and 2..3. */
	assert_int_equal(set_hex(r, AR_ATTR_RN_DIRECTION, 0, "00000000 00000000 1122"), 0);
	assert_int_equal(set_hex(r, AR_ATTR_GROUP_COPY, 4 | 0x80000000u, "00020003"), 0);
	assert_int_equal(set_hex(r, AR_ATTR_GROUP_COPY, 4, "00000000 00010001"), 0);
	for (unsigned g = 0; g < 5; g++)
		assert_int_equal(model_ar_group(r->m, A, &table, g, 1).word[0], g ? 4 : 0);
	assert_int_equal(get(r, AR_ATTR_RN_DIRECTION, 0), 0);
	told("00000000 11221122 1122");
	assert_int_equal(set_hex(r, AR_ATTR_GROUP_COPY, 5, "00020002"), MAD_STATUS_BAD_FIELD);
	assert_int_equal(set_hex(r, AR_ATTR_GROUP_COPY, 4, "00000000 00010005"),
			 MAD_STATUS_BAD_FIELD);
	assert_int_equal(set_hex(r, AR_ATTR_GROUP_COPY, 0x1000, "00010001"), MAD_STATUS_BAD_FIELD);
	assert_int_equal(get(r, AR_ATTR_GROUP_COPY, 4), MAD_STATUS_BAD_ATTR);
}

static void
test_lft(void **state)
{
	struct rig *r = *state;
	static const char unset[] =
		"80ff0000 80ff0000 80ff0000 80ff0000 80ff0000 80ff0000 80ff0000 80ff0000"
		"80ff0000 80ff0000 80ff0000 80ff0000 80ff0000 80ff0000 80ff0000 80ff0000";

	equip(r, "");
	assert_int_equal(get(r, AR_ATTR_LFT, 3071), 0);
	told(unset);
	assert_int_equal(model_ar_memory(r->m, A), 0);
	kept(r, AR_ATTR_LFT, 1,
	     "40010005 00020005 80110000 c0030006 80ff0000 80ff0000 80ff0000 80ff0000"
	     "80ff0000 80ff0000 80ff0000 80ff0000 80ff0000 80ff0000 80ff0000 80ff0000");
	assert_int_equal(model_ar_lft(r->m, A, 0, 17).group, 5);
	assert_int_equal(model_ar_lft(r->m, A, 0, 17).state, AR_BOUNDED);
	assert_int_equal(model_ar_lft(r->m, A, 0, 17).port, 2);
	assert_int_equal(model_ar_lft(r->m, A, 0, 15).port, LFT_NO_PORT);
	assert_int_equal(model_ar_memory(r->m, A), 4096);
	assert_int_equal(get(r, AR_ATTR_LFT, 2), 0);
	told(unset);
	assert_int_equal(get(r, AR_ATTR_LFT, 3072), MAD_STATUS_BAD_FIELD);
	assert_int_equal(get(r, AR_ATTR_LFT, 1 << 16), MAD_STATUS_BAD_FIELD);	/* pLFT 1 */
	assert_int_equal(set_hex(r, AR_ATTR_LFT, 0, "400107ff"), 0);
	assert_int_equal(set_hex(r, AR_ATTR_LFT, 0, "40010800"), MAD_STATUS_BAD_FIELD);
	assert_int_equal(set_hex(r, AR_ATTR_LFT, 0, "41010000"), MAD_STATUS_BAD_FIELD);
	assert_int_equal(model_ar_lft(r->m, A, 0, 0).group, 0x7ff);
}

/* Positions that are not established follow the layout. */
static void
test_layout(void **state)
{
	struct rig *r = *state;
	struct ar_options o = ar_options_default;
	struct model_options mo = { .seed = 1, .ar = &o };
	struct model_client_events ev = { .receive = on_receive, .arg = &r->in1 };

	assert_int_equal(ar_options_parse(&o, "lft_plft_shift=24,group_table_shift=12,"
					  "group_plft_shift=20,plfts=2,group_tables=2,"
					  "sub_groups=count,calc_bit=30,tables=last", NULL), 0);
	model_free(r->m);
	r->m = model_new(r->loop, r->net, &mo);
	r->c1 = model_attach(r->m, H1, 1, &ev);
	assert_int_equal(model_ar_support(r->m, A, &o.support, NULL), 0);
	assert_int_equal(get(r, AR_ATTR_INFO, 1u << 31), MAD_STATUS_BAD_FIELD);
	assert_int_equal(get(r, AR_ATTR_INFO, 1u << 30), 0);
	assert_int_equal(get(r, AR_ATTR_INFO, 0), 0);
	assert_int_equal(back[2], 0x11);	/* one sub-group active */
	assert_int_equal(back[4], 0xa1);	/* table 1 is the last */
	assert_int_equal(set_hex(r, AR_ATTR_PLFT_INFO, 0, "00000001"), 0);
	assert_int_equal(get(r, AR_ATTR_LFT, 1 << 24), 0);
	assert_int_equal(get(r, AR_ATTR_LFT, 2 << 24), MAD_STATUS_BAD_FIELD);
	assert_int_equal(get(r, AR_ATTR_GROUPS, 1 << 20 | 1 << 12), 0);
	assert_int_equal(get(r, AR_ATTR_GROUPS, 2 << 12), MAD_STATUS_BAD_FIELD);
	assert_int_equal(get(r, AR_ATTR_GROUPS, 2 << 20), MAD_STATUS_BAD_FIELD);
}

static void
test_kept(void **state)
{
	struct rig *r = *state;

	equip(r, "");
	kept(r, AR_ATTR_RN_GEN, 1, "00000010 00110000");
	kept(r, AR_ATTR_RN_RCV, 63, "00000000 00000002 00010003 00000001");
	kept(r, AR_ATTR_RN_DIRECTION, 31, "00000000 00010203 04000000");
	kept(r, AR_ATTR_RN_PRIORITY, 0, "00000003 00000002");
	kept(r, AR_ATTR_RN_XMIT, 0, "07770000");
	kept(r, AR_ATTR_PFRN, 0, "00000000 00000000 10000000 02d000b4");
	kept(r, AR_ATTR_HBF, 4, "00000000 00000000 12345678 00000000 40f00c0f");
	kept(r, AR_ATTR_WHBF, 127, "00643200 00643200");
	kept(r, AR_ATTR_HBF, 0x80000000u, "10000000 00000000 00000001");
	assert_int_equal(get(r, AR_ATTR_HBF, 4), 0);
	told("10000000 00000000 00000001");
	assert_int_equal(set_hex(r, AR_ATTR_HBF, 4, "ffffffff"), 0);
	told("f3000000");
	assert_int_equal(set_hex(r, AR_ATTR_PFRN, 0, "ffffffff ffffffff ffffffff 00010002"), 0);
	told("00000000 00000000 f0000000 00010002");
	model_reboot(r->m, A);
	run(r, MSEC(2));
	assert_int_equal(get(r, AR_ATTR_PFRN, 0), 0);
	told("00000000 00000000 00000000 02d000b4");
	assert_int_equal(get(r, AR_ATTR_RN_GEN, 1), 0);
	told("");
}

static void
test_refused(void **state)
{
	struct rig *r = *state;
	static const struct { uint16_t attr; uint32_t mod; const char *data; } bad[] = {
		{ AR_ATTR_RN_GEN, 2, "" }, { AR_ATTR_RN_GEN, 1 << 16, "" },
		{ AR_ATTR_RN_GEN, 0, "0400" }, { AR_ATTR_RN_RCV, 64, "" },
		{ AR_ATTR_RN_RCV, 0, "04000000" }, { AR_ATTR_RN_RCV, 0, "00000100" },
		{ AR_ATTR_RN_RCV, 0, "00000004" }, { AR_ATTR_RN_DIRECTION, 32, "" },
		{ AR_ATTR_RN_DIRECTION, 0, "40" }, { AR_ATTR_RN_PRIORITY, 1, "" },
		{ AR_ATTR_RN_XMIT, 1, "" }, { AR_ATTR_HBF, 5, "" },
		{ AR_ATTR_HBF, 0x80000001u, "" }, { AR_ATTR_WHBF, 128, "" },
		{ AR_ATTR_PFRN, 1, "" }, { AR_ATTR_PFRN, 0, "00000000 00000000 00000000 0800" },
		{ AR_ATTR_PLFT_INFO, 0, "00000003" }, { AR_ATTR_PLFT_INFO, 1, "" },
		{ AR_ATTR_PLFT_DEF, 0, "00600000" }, { AR_ATTR_PLFT_DEF, 1, "" },
		{ AR_ATTR_PLFT_MAP, 1, "" }, { AR_ATTR_PORT_PLFT, 2, "" },
		{ AR_ATTR_PORT_PLFT, 0, "01" }, { AR_ATTR_NODE_INFO, 1, "" },
		{ AR_ATTR_NODE_INFO, 0, "00000100" },
	};

	equip(r, "");
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (set_hex(r, bad[i].attr, bad[i].mod, bad[i].data) != MAD_STATUS_BAD_FIELD)
			fail_msg("attribute 0x%x, modifier 0x%x, \"%s\"", bad[i].attr, bad[i].mod,
				 bad[i].data);
	assert_int_equal(model_ar_memory(r->m, A), 0);
	equip(r, "features=ar");
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(get(r, bad[i].attr, 0), MAD_STATUS_BAD_ATTR);
}

/* ---- Private LFTs ---- */

static void
test_plfts(void **state)
{
	struct rig *r = *state;

	equip(r, "");
	light_up(r);
	set_lids(r, 0, AR_STATIC, 2, 0);
	assert_int_equal(set_hex(r, AR_ATTR_PLFT_INFO, 0, "00000001"), 0);
	told("00040201 30021804");
	kept(r, AR_ATTR_PLFT_DEF, 0, "00600000 01600000 00000000 01300030");
	set_lids(r, 1 << 16, AR_STATIC, 3, 0);
	assert_int_equal(model_ar_lft(r->m, A, 0, 2).port, 2);
	assert_int_equal(model_ar_lft(r->m, A, 1, 2).port, 3);
	/* pLFT 2 is nowhere; pLFT 3 is the second half of bank 1. */
	assert_int_equal(get(r, AR_ATTR_LFT, 2 << 16), MAD_STATUS_BAD_FIELD);
	assert_int_equal(get(r, AR_ATTR_LFT, 3 << 16 | 1536), MAD_STATUS_BAD_FIELD);
	set_lids(r, 3 << 16, AR_STATIC, 4, 0);
	assert_int_equal(model_ar_lft(r->m, A, 1, 24576 + 2).port, 4);
	/* Bank 2 of 2; past the bank's end; a pLFT that does not exist is nothing. */
	assert_int_equal(set_hex(r, AR_ATTR_PLFT_DEF, 0, "02100000"), MAD_STATUS_BAD_FIELD);
	assert_int_equal(set_hex(r, AR_ATTR_PLFT_DEF, 0, "00600001"), MAD_STATUS_BAD_FIELD);
	/* Port 1 on pLFT 1 with SL 3 only. */
	kept(r, AR_ATTR_PORT_PLFT, 0, "00000000 00000000 00000000 00000000 00000001");
	assert_int_equal(model_ar_plft(r->m, A, 1, 3), 1);
	assert_int_equal(model_ar_plft(r->m, A, 1, 2), 0);
	kept(r, AR_ATTR_PLFT_MAP, 1, "00000003 00000000 00000000 00000000 00000000 00000000"
	     "00000000 00000000 00000002 00000004");
	assert_int_equal(model_ar_plft(r->m, A, 1, 2), 1);
	assert_int_equal(get(r, AR_ATTR_PLFT_MAP, 0), 0);
	told("00000003 00000000 00000000 00000000 00000000 00000000 00000000 00000000 0000001d "
	     "00000004");
	assert_int_equal(set_hex(r, AR_ATTR_INFO, 0, "00000001"), 0);
	assert_int_equal(spread(r, 1, 0), 1 << 3);
	assert_int_equal(spread(r, 2, 0), 1 << 2);
	/* LIDs above the pLFT's top go nowhere. */
	assert_int_equal(set_hex(r, AR_ATTR_PLFT_MAP, 1, "00000002 00000000 00000000 00000000"
				 "00000000 00000000 00000000 00000000 00000000 00000001"), 0);
	assert_int_equal(spread(r, 1, 0), 0);
	assert_int_equal(spread(r, 2, 0), 1 << 2);
	/* Four banks: the first half of what was there. */
	assert_int_equal(set_hex(r, AR_ATTR_PLFT_INFO, 0, "00000002"), 0);
	assert_int_equal(model_ar_lft(r->m, A, 0, 2).port, 2);
	assert_int_equal(model_ar_lft(r->m, A, 2, 2).port, 3);
	assert_int_equal(model_ar_lft(r->m, A, 3, 2).port, 4);
	assert_int_equal(spread(r, 1, 0), 1 << 2);
}

/* Tables of groups for each pLFT, and the flag that hides sub-group 1. */
static void
test_plft_groups(void **state)
{
	struct rig *r = *state;

	equip(r, "glb_groups=no");
	light_up(r);
	assert_int_equal(set_hex(r, AR_ATTR_PLFT_INFO, 0, "00000001"), 0);
	set_groups(r, 0, 1 << 2, 0);
	set_groups(r, 1 << 16, 1 << 3, 0);
	set_lids(r, 0, AR_FREE, 4, 0);
	set_lids(r, 1 << 16, AR_FREE, 2, 0);
	kept(r, AR_ATTR_PLFT_MAP, 1, "00000003 00000000 00000000 00000000 00000000 00000000"
	     "00000000 00000000 00000002 00000004");
	assert_int_equal(set_hex(r, AR_ATTR_INFO, 0, "00000001"), 0);
	assert_int_equal(spread(r, 2, 0), 1 << 2);
	assert_int_equal(spread(r, 1, 0), 1 << 3);
	assert_int_equal(set_hex(r, AR_ATTR_INFO, 0, "00000101"), 0);
	set_groups(r, 1 << 16, 0, 1 << 3);
	assert_int_equal(spread(r, 1, 0), 1 << 3);
	assert_int_equal(set_hex(r, AR_ATTR_PLFT_DEF, 0, "00600000 81600000"), 0);
	assert_int_equal(spread(r, 1, 0), 1 << 2);
}

/* ---- Forwarding ---- */

static void
test_forward(void **state)
{
	struct rig *r = *state;
	struct ar_info i;
	unsigned seen = 0;
	uint32_t end;

	equip(r, "");
	i = go_adaptive(r);
	assert_int_equal(spread(r, 1, 0), BOTH);
	for (uint16_t slid = 1; slid < 32; slid++) {
		seen |= 1u << datagram(r, slid, AR_UD);
		assert_int_equal(datagram(r, slid, AR_UD), datagram(r, slid, AR_UD));
		assert_int_equal(datagram(r, slid, 0), 2);	/* SMPs keep to the static port */
	}
	assert_int_equal(seen, BOTH);
	assert_int_equal(model_trace(r->m, H1, 1, 2, &end), 2);
	/* What may not adapt takes the static port. */
	i.transport_disable = AR_RC;
	set_info(r, &i, 0);
	assert_int_equal(spread(r, 1, 0), 1 << 2);
	i.transport_disable = AR_UD;
	set_info(r, &i, 0);
	assert_int_equal(spread(r, 1, 0), BOTH);
	assert_int_equal(datagram(r, 9, AR_UD), 2);
	i.sl_mask = 1 << 3;
	set_info(r, &i, 0);
	assert_int_equal(spread(r, 1, 0), BOTH);	/* the mask does not count yet */
	i.by_sl_en = true;
	set_info(r, &i, 0);
	assert_int_equal(spread(r, 1, 0), 1 << 2);
	assert_int_equal(spread(r, 1, 3), BOTH);
	i.group_top = 4;
	set_info(r, &i, 0);
	assert_int_equal(spread(r, 1, 3), 1 << 2);
	i.group_top = 5;
	i.enable = false;
	set_info(r, &i, 0);
	assert_false(model_ar_is_on(r->m, A));
	assert_int_equal(spread(r, 1, 3), 1 << 2);
	i.enable = true;		/* the tables are still there */
	set_info(r, &i, 0);
	assert_int_equal(spread(r, 1, 3), BOTH);
}

static void
test_states(void **state)
{
	struct rig *r = *state;
	struct ar_info i;

	equip(r, "");
	i = go_adaptive(r);
	set_lids(r, 0, AR_STATIC, 3, 5);
	assert_int_equal(spread(r, 1, 0), 1 << 3);
	set_lids(r, 0, AR_BOUNDED, 3, 5);
	assert_int_equal(spread(r, 1, 0), BOTH);
	set_lids(r, 0, AR_HASH, 3, 5);
	assert_int_equal(spread(r, 1, 0), BOTH);
	i.by_sl_hbf_en = true;
	i.sl_mask_hbf = 2;
	set_info(r, &i, 0);
	assert_int_equal(spread(r, 1, 0), 1 << 3);
	assert_int_equal(spread(r, 1, 1), BOTH);
	set_lids(r, 0, AR_FREE, LFT_NO_PORT, 0);	/* an empty group, and no static port */
	assert_int_equal(spread(r, 1, 0), 0);
	set_lids(r, 0, AR_FREE, 9, 0);			/* no such port */
	assert_int_equal(spread(r, 1, 0), 0);
	set_groups(r, 0, 1, 0);				/* port 0 leads nowhere */
	assert_int_equal(spread(r, 1, 0), 0);
	assert_int_equal(datagram(r, 1, AR_UD), 0);
}

static void
test_dead_links(void **state)
{
	struct rig *r = *state;
	struct ar_info i;
	uint32_t end;

	equip(r, "");
	i = go_adaptive(r);
	model_link_set(r->m, A, 2, false);
	assert_int_equal(spread(r, 1, 0), 1 << 3);	/* of the group, what is up */
	set_lids(r, 0, AR_STATIC, 2, 5);
	assert_int_equal(spread(r, 1, 0), 1 << 2);
	assert_int_equal(model_trace(r->m, H1, 1, 2, &end), ERR_CLOSED);
	i.fr_en = true;
	i.enable = false;			/* recovery works alone */
	set_info(r, &i, 0);
	assert_true(model_ar_is_on(r->m, A));
	assert_int_equal(spread(r, 1, 0), 1 << 3);
	assert_int_equal(model_trace(r->m, H1, 1, 2, &end), 2);
	assert_int_equal(datagram(r, 1, 0), 2);		/* not for SMPs */
	model_link_set(r->m, A, 3, false);
	assert_int_equal(spread(r, 1, 0), 1 << 2);	/* nothing left: the static port */
	i.enable = i.no_fallback = true;
	set_info(r, &i, 0);
	set_lids(r, 0, AR_FREE, 2, 5);
	assert_int_equal(spread(r, 1, 0), 0);
}

static void
test_secondary(void **state)
{
	struct rig *r = *state;
	struct ar_info i;

	equip(r, "");
	i = go_adaptive(r);
	i.sub_grps_active = 1;
	set_info(r, &i, 0);
	set_groups(r, 5, 1 << 2, 1 << 3);
	assert_int_equal(spread(r, 1, 0), 1 << 2);
	model_link_set(r->m, A, 2, false);
	assert_int_equal(spread(r, 1, 0), 1 << 3);
}

/* A plain LFT written ends adaptive routing; a reboot ends all. */
static void
test_leaving(void **state)
{
	struct rig *r = *state;
	struct ar_info i;

	equip(r, "");
	i = go_adaptive(r);
	assert_int_equal(set_lft(r, "1", 4, "\xff\x01\x03\x00\x02"), 0);
	assert_false(model_ar_is_on(r->m, A));
	assert_int_equal(spread(r, 1, 0), 1 << 3);
	assert_int_equal(get(r, AR_ATTR_INFO, 0), 0);
	assert_int_equal(back[3] & 1, 0);
	set_info(r, &i, 0);
	assert_int_equal(spread(r, 1, 0), BOTH);
	model_reboot(r->m, A);
	run(r, MSEC(2));
	assert_false(model_ar_is_on(r->m, A));
	assert_int_equal(model_ar_memory(r->m, A), 0);
	assert_int_equal(get(r, AR_ATTR_INFO, 0), 0);
	told("6c40100e a1000800 00000312 00000000 00000000 c2000000");
}

static void
test_staying(void **state)
{
	struct rig *r = *state;

	equip(r, "lft_leaves=no");
	go_adaptive(r);
	assert_int_equal(set_lft(r, "1", 4, "\xff\x01\x03\x00\x02"), 0);
	assert_true(model_ar_is_on(r->m, A));
	assert_int_equal(spread(r, 1, 0), BOTH);
}

/* A GMP goes through the group: with port 2 cut it arrives by port 3. */
static void
test_gmp(void **state)
{
	struct rig *r = *state;
	struct model_mad mad = { .lid = 2, .qp = 1 };

	equip(r, "");
	go_adaptive(r);
	model_link_set(r->m, A, 2, false);
	mad.mad[0] = mad.mad[2] = 1;
	mad.mad[1] = MAD_CLASS_SUBN_LID;	/* what the bed can decode on QP 0 as well */
	mad.mad[3] = MAD_GET;
	model_send(r->c1, &mad);
	run(r, MSEC(1));
	assert_int_equal(r->in2.gmps, 1);
	mad.qp = 0;
	r->in2.n = 0;
	mad.mad[3] = MAD_TRAP;
	model_send(r->c1, &mad);
	run(r, MSEC(1));
	assert_int_equal(r->in2.n, 0);
}

static uint64_t
sent(struct rig *r, unsigned port)
{
	uint64_t v = 0;

	assert_int_equal(model_counter_get(r->m, A, port, "xmit_data", &v, NULL), 0);
	return v;
}

/* A flow is carried in equal parts by the group's ports, and by one when the switch leaves. */
static void
test_traffic(void **state)
{
	struct rig *r = *state;
	const struct traffic_spec flow = { .pattern = TRAFFIC_FLOW, .src = H1, .dst = H2,
					   .rate = 8e6 };
	struct traffic *t;
	uint64_t two, three;

	equip(r, "");
	go_adaptive(r);
	t = traffic_new(r->m);
	two = sent(r, 2);
	three = sent(r, 3);
	assert_true(traffic_start(t, &flow, NULL) > 0);
	run(r, SEC(1));
	assert_in_range(sent(r, 2) - two, 999000, 1001000);	/* words of 4 bytes */
	assert_in_range(sent(r, 3) - three, 999000, 1001000);
	assert_int_equal(set_lft(r, "1", 4, "\xff\x01\x03\x00\x02"), 0);
	two = sent(r, 2);
	three = sent(r, 3);
	run(r, SEC(1));
	assert_int_equal(sent(r, 2), two);
	assert_in_range(sent(r, 3) - three, 1999000, 2001000);
	traffic_free(t);
}

/* Marsaglia's xorshift64. */
static uint64_t
draw(uint64_t below)
{
	static uint64_t x = 0x2545f4914f6cdd1d;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return (x >> 11) % below;
}

/* Any bytes, with modifiers that are right now and then: an answer each time, and no harm. */
static void
test_any_bytes(void **state)
{
	static const uint16_t attrs[] = {
		0xff10, 0xff11, 0xff12, 0xff14, 0xff17, 0xff20, 0xff21, 0xff22, 0xff23, 0xff24,
		0xff25, 0xff61, 0xff91, 0xffb8, 0xffb9, 0xffba, 0xffbc, 0xffbd, 0xffbe,
	};
	struct rig *r = *state;
	uint8_t data[SMP_DATA_SIZE];
	unsigned done = 0;

	equip(r, "group_cap=97,group_tables=2,sub_groups_cap=5,glb_groups=no,plfts=7");
	light_up(r);
	for (unsigned i = 0; i < 20000; i++) {
		uint16_t attr = attrs[draw(sizeof(attrs) / sizeof(attrs[0]))];
		uint32_t mod = draw(2) ? (uint32_t)draw(5) : (uint32_t)draw(UINT32_MAX);

		mod |= draw(4) ? 0 : 1u << (draw(2) ? 16 : 24 + draw(8));
		for (unsigned k = 0; k < sizeof(data); k++)
			data[k] = (uint8_t)(draw(9) ? 0 : draw(2) ? draw(4) : draw(256));
		done += draw(4) ? !set(r, attr, mod, data) : !get(r, attr, mod);
		if (i % 16 == 0)
			spread(r, 1, (unsigned)draw(16));
	}
	assert_in_range(done, 1000, 16000);
	assert_in_range(model_ar_memory(r->m, A), 1000, 1000000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_who), TEST(test_vendor), TEST(test_info), TEST(test_calc),
		TEST(test_groups), TEST(test_sub_groups), TEST(test_lft), TEST(test_layout),
		TEST(test_kept), TEST(test_refused), TEST(test_plfts), TEST(test_plft_groups),
		TEST(test_forward), TEST(test_states), TEST(test_dead_links),
		TEST(test_secondary), TEST(test_leaving), TEST(test_staying), TEST(test_gmp),
		TEST(test_traffic), TEST(test_any_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
