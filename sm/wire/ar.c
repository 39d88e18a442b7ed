/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/wire/ar.h"

#include <string.h>
#include "sm/wire/cursor.h"

/*
 * Codecs of the vendor's adaptive-routing attributes. As in attr.c each reads like a table, one
 * line a field in wire order; nothing is owned or kept, and nothing can fail. What no public source
 * establishes is taken from a struct ar_layout (ar_layout.c).
 */

void
ar_general_decode(struct ar_general *a, const uint8_t data[SMP_DATA_SIZE])
{
	struct cursor c;

	cursor_read(&c, data, SMP_DATA_SIZE);
	for (unsigned i = 0; i < 16; i++)
		a->caps[i] = cursor_u32(&c);
}

void
ar_general_encode(const struct ar_general *a, uint8_t data[SMP_DATA_SIZE])
{
	struct cursor c;

	cursor_write(&c, data, SMP_DATA_SIZE);
	for (unsigned i = 0; i < 16; i++)
		cursor_put_u32(&c, a->caps[i]);
}

/* ---- AdaptiveRoutingInfo ---- */

static void
decode_flags(struct ar_info *a, struct cursor *c)
{
	cursor_bits(c, 1);
	a->dyn_cap_calc_sup = cursor_flag(c);
	a->by_transp_cap = cursor_flag(c);
	a->by_sl_en = cursor_flag(c);
	a->by_sl_cap = cursor_flag(c);
	a->glb_groups = cursor_flag(c);
	a->is4_mode = cursor_flag(c);
	a->no_fallback = cursor_flag(c);
	a->direction_num = cursor_u8(c);
	a->group_table_copy = cursor_bits8(c, 4);
	a->sub_grps_active = cursor_bits8(c, 4);
	cursor_bits(c, 2);
	a->rn_xmit_en = cursor_flag(c);
	a->fr_en = cursor_flag(c);
	a->fr_sup = cursor_flag(c);
	a->frn_sup = cursor_flag(c);
	a->arn_sup = cursor_flag(c);
	a->enable = cursor_flag(c);
}

static void
encode_flags(const struct ar_info *a, struct cursor *c)
{
	cursor_put_bits(c, 1, 0);
	cursor_put_bits(c, 1, a->dyn_cap_calc_sup);
	cursor_put_bits(c, 1, a->by_transp_cap);
	cursor_put_bits(c, 1, a->by_sl_en);
	cursor_put_bits(c, 1, a->by_sl_cap);
	cursor_put_bits(c, 1, a->glb_groups);
	cursor_put_bits(c, 1, a->is4_mode);
	cursor_put_bits(c, 1, a->no_fallback);
	cursor_put_u8(c, a->direction_num);
	cursor_put_bits(c, 4, a->group_table_copy);
	cursor_put_bits(c, 4, a->sub_grps_active);
	cursor_put_bits(c, 2, 0);
	cursor_put_bits(c, 1, a->rn_xmit_en);
	cursor_put_bits(c, 1, a->fr_en);
	cursor_put_bits(c, 1, a->fr_sup);
	cursor_put_bits(c, 1, a->frn_sup);
	cursor_put_bits(c, 1, a->arn_sup);
	cursor_put_bits(c, 1, a->enable);
}

static void
decode_hash(struct ar_info *a, struct cursor *c)
{
	a->hbf_sup = cursor_flag(c);
	a->whbf_sup = cursor_flag(c);
	a->hash_symmetric = cursor_flag(c);
	a->hash_dceth = cursor_flag(c);
	a->hash_bth_dqp = cursor_flag(c);
	a->nvlink_hbf_sup = cursor_flag(c);
	a->pfrn_sup = cursor_flag(c);
	cursor_bits(c, 1);
	cursor_skip(c, 1);
	a->by_sl_hbf_en = cursor_flag(c);
	a->whbf_en = cursor_flag(c);
	a->by_vl_en = cursor_flag(c);
	a->pfrn_en = cursor_flag(c);
	cursor_bits(c, 4);
	cursor_skip(c, 1);
	a->whbf_granularity = cursor_bits8(c, 3);
	cursor_bits(c, 5);
	cursor_skip(c, 1);
	a->sl_mask_hbf = cursor_u16(c);
}

static void
encode_hash(const struct ar_info *a, struct cursor *c)
{
	cursor_put_bits(c, 1, a->hbf_sup);
	cursor_put_bits(c, 1, a->whbf_sup);
	cursor_put_bits(c, 1, a->hash_symmetric);
	cursor_put_bits(c, 1, a->hash_dceth);
	cursor_put_bits(c, 1, a->hash_bth_dqp);
	cursor_put_bits(c, 1, a->nvlink_hbf_sup);
	cursor_put_bits(c, 1, a->pfrn_sup);
	cursor_put_bits(c, 1, 0);
	cursor_put_zero(c, 1);
	cursor_put_bits(c, 1, a->by_sl_hbf_en);
	cursor_put_bits(c, 1, a->whbf_en);
	cursor_put_bits(c, 1, a->by_vl_en);
	cursor_put_bits(c, 1, a->pfrn_en);
	cursor_put_bits(c, 4, 0);
	cursor_put_zero(c, 1);
	cursor_put_bits(c, 3, a->whbf_granularity);
	cursor_put_bits(c, 5, 0);
	cursor_put_zero(c, 1);
	cursor_put_u16(c, a->sl_mask_hbf);
}

void
ar_info_decode(struct ar_info *a, const uint8_t data[SMP_DATA_SIZE])
{
	struct cursor c;

	cursor_read(&c, data, SMP_DATA_SIZE);
	decode_flags(a, &c);
	a->string_width = cursor_bits8(&c, 4);
	a->group_table_cap = cursor_bits8(&c, 4);
	a->group_top = (uint16_t)cursor_bits(&c, 12);
	a->group_cap = (uint16_t)cursor_bits(&c, 12);
	a->sl_mask = cursor_u16(&c);
	a->sub_grps_sup = cursor_u8(&c);
	a->rn_version = cursor_bits8(&c, 4);
	a->ar_version = cursor_bits8(&c, 4);
	cursor_skip(&c, 3);
	cursor_bits(&c, 4);
	a->transport_disable = cursor_bits8(&c, 4);
	a->ageing_time = cursor_u32(&c);
	decode_hash(a, &c);
}

void
ar_info_encode(const struct ar_info *a, uint8_t data[SMP_DATA_SIZE])
{
	struct cursor c;

	cursor_write(&c, data, SMP_DATA_SIZE);
	encode_flags(a, &c);
	cursor_put_bits(&c, 4, a->string_width);
	cursor_put_bits(&c, 4, a->group_table_cap);
	cursor_put_bits(&c, 12, a->group_top);
	cursor_put_bits(&c, 12, a->group_cap);
	cursor_put_u16(&c, a->sl_mask);
	cursor_put_u8(&c, a->sub_grps_sup);
	cursor_put_bits(&c, 4, a->rn_version);
	cursor_put_bits(&c, 4, a->ar_version);
	cursor_put_zero(&c, 3);
	cursor_put_bits(&c, 4, 0);
	cursor_put_bits(&c, 4, a->transport_disable);
	cursor_put_u32(&c, a->ageing_time);
	encode_hash(a, &c);
	cursor_put_zero(&c, 36);
}

/* ---- Groups and forwarding ---- */

/* The mask's last bit is port 0. */
static void
get_ports(struct ar_ports *a, struct cursor *c)
{
	for (unsigned i = 4; i--; )
		a->word[i] = cursor_u64(c);
}

static void
put_ports(const struct ar_ports *a, struct cursor *c)
{
	for (unsigned i = 4; i--; )
		cursor_put_u64(c, a->word[i]);
}

void
ar_groups_decode(struct ar_ports a[AR_GROUP_BLOCK], const uint8_t data[SMP_DATA_SIZE])
{
	struct cursor c;

	cursor_read(&c, data, SMP_DATA_SIZE);
	for (unsigned i = 0; i < AR_GROUP_BLOCK; i++)
		get_ports(&a[i], &c);
}

void
ar_groups_encode(const struct ar_ports a[AR_GROUP_BLOCK], uint8_t data[SMP_DATA_SIZE])
{
	struct cursor c;

	cursor_write(&c, data, SMP_DATA_SIZE);
	for (unsigned i = 0; i < AR_GROUP_BLOCK; i++)
		put_ports(&a[i], &c);
}

void
ar_copy_decode(struct ar_copy a[AR_COPIES], const struct ar_layout *l,
	       const uint8_t data[SMP_DATA_SIZE])
{
	struct cursor c;

	cursor_read(&c, data, SMP_DATA_SIZE);
	for (unsigned i = 0; i < AR_COPIES; i++) {
		uint16_t x = cursor_u16(&c) & 0xfff, y = cursor_u16(&c) & 0xfff;

		a[i].first = l->copy_first_first ? x : y;
		a[i].last = l->copy_first_first ? y : x;
		if (!x && !y && l->copy_zero_unused)
			a[i].first = 1;
	}
}

void
ar_copy_encode(const struct ar_copy a[AR_COPIES], const struct ar_layout *l,
	       uint8_t data[SMP_DATA_SIZE])
{
	struct cursor c;

	cursor_write(&c, data, SMP_DATA_SIZE);
	for (unsigned i = 0; i < AR_COPIES; i++) {
		bool unused = a[i].first == 1 && !a[i].last && l->copy_zero_unused;
		uint16_t first = unused ? 0 : a[i].first & 0xfff, last = a[i].last & 0xfff;

		cursor_put_u16(&c, l->copy_first_first ? first : last);
		cursor_put_u16(&c, l->copy_first_first ? last : first);
	}
}

static void
get_entry(struct ar_lft_entry *a, struct cursor *c)
{
	a->state = cursor_bits8(c, 2);
	cursor_bits(c, 2);
	a->table = cursor_bits8(c, 4);
	a->port = cursor_u8(c);
	a->group = cursor_u16(c);
}

void
ar_entry_decode(struct ar_lft_entry *a, const uint8_t data[4])
{
	struct cursor c;

	cursor_read(&c, data, 4);
	get_entry(a, &c);
}

void
ar_lft_decode(struct ar_lft_entry a[AR_LFT_BLOCK], const uint8_t data[SMP_DATA_SIZE])
{
	struct cursor c;

	cursor_read(&c, data, SMP_DATA_SIZE);
	for (unsigned i = 0; i < AR_LFT_BLOCK; i++)
		get_entry(&a[i], &c);
}

void
ar_lft_encode(const struct ar_lft_entry a[AR_LFT_BLOCK], uint8_t data[SMP_DATA_SIZE])
{
	struct cursor c;

	cursor_write(&c, data, SMP_DATA_SIZE);
	for (unsigned i = 0; i < AR_LFT_BLOCK; i++) {
		cursor_put_bits(&c, 2, a[i].state);
		cursor_put_bits(&c, 2, 0);
		cursor_put_bits(&c, 4, a[i].table);
		cursor_put_u8(&c, a[i].port);
		cursor_put_u16(&c, a[i].group);
	}
}

/* ---- Private LFTs ---- */

void
ar_plft_info_decode(struct ar_plft_info *a, const uint8_t data[SMP_DATA_SIZE])
{
	struct cursor c;

	cursor_read(&c, data, SMP_DATA_SIZE);
	cursor_skip(&c, 1);
	a->plfts = cursor_u8(&c);
	a->mode_cap = cursor_u8(&c);
	a->active_mode = cursor_u8(&c);
	for (unsigned i = 0; i < AR_BANK_MODES; i++) {
		a->mode[i].size = cursor_u8(&c);
		a->mode[i].banks = cursor_u8(&c);
	}
}

void
ar_plft_info_encode(const struct ar_plft_info *a, uint8_t data[SMP_DATA_SIZE])
{
	struct cursor c;

	cursor_write(&c, data, SMP_DATA_SIZE);
	cursor_put_zero(&c, 1);
	cursor_put_u8(&c, a->plfts);
	cursor_put_u8(&c, a->mode_cap);
	cursor_put_u8(&c, a->active_mode);
	for (unsigned i = 0; i < AR_BANK_MODES; i++) {
		cursor_put_u8(&c, a->mode[i].size);
		cursor_put_u8(&c, a->mode[i].banks);
	}
	cursor_put_zero(&c, 46);
}

void
ar_plft_def_decode(struct ar_plft_def a[AR_PLFT_BLOCK], const struct ar_layout *l,
		   const uint8_t data[SMP_DATA_SIZE])
{
	struct cursor c;

	cursor_read(&c, data, SMP_DATA_SIZE);
	for (unsigned i = 0; i < AR_PLFT_BLOCK; i++) {
		uint8_t v = cursor_u8(&c);

		a[i].force = v >> l->force_bit & 1;
		a[i].bank = v & (uint8_t)((1u << l->force_bit) - 1);
		a[i].space = cursor_u8(&c);
		cursor_skip(&c, 1);
		a[i].offset = cursor_u8(&c);
	}
}

void
ar_plft_def_encode(const struct ar_plft_def a[AR_PLFT_BLOCK], const struct ar_layout *l,
		   uint8_t data[SMP_DATA_SIZE])
{
	struct cursor c;

	cursor_write(&c, data, SMP_DATA_SIZE);
	for (unsigned i = 0; i < AR_PLFT_BLOCK; i++) {
		unsigned bank = a[i].bank & ((1u << l->force_bit) - 1);

		cursor_put_u8(&c, (uint8_t)(bank | (unsigned)a[i].force << l->force_bit));
		cursor_put_u8(&c, a[i].space);
		cursor_put_zero(&c, 1);
		cursor_put_u8(&c, a[i].offset);
	}
}

void
ar_plft_map_decode(struct ar_plft_map *a, const uint8_t data[SMP_DATA_SIZE])
{
	struct cursor c;

	cursor_read(&c, data, SMP_DATA_SIZE);
	cursor_skip(&c, 3);
	cursor_bits(&c, 6);
	a->top_en = cursor_flag(&c);
	a->ports_en = cursor_flag(&c);
	get_ports(&a->ports, &c);
	cursor_skip(&c, 2);
	a->top = cursor_u16(&c);
}

void
ar_plft_map_encode(const struct ar_plft_map *a, uint8_t data[SMP_DATA_SIZE])
{
	struct cursor c;

	cursor_write(&c, data, SMP_DATA_SIZE);
	cursor_put_zero(&c, 3);
	cursor_put_bits(&c, 6, 0);
	cursor_put_bits(&c, 1, a->top_en);
	cursor_put_bits(&c, 1, a->ports_en);
	put_ports(&a->ports, &c);
	cursor_put_zero(&c, 2);
	cursor_put_u16(&c, a->top);
	cursor_put_zero(&c, 24);
}

/* ---- Hash-based forwarding ---- */

void
ar_hbf_decode(struct ar_hbf *a, const uint8_t data[SMP_DATA_SIZE])
{
	struct cursor c;

	cursor_read(&c, data, SMP_DATA_SIZE);
	a->hash_type = cursor_bits8(&c, 4);
	cursor_bits(&c, 2);
	a->seed_type = cursor_bits8(&c, 2);
	cursor_skip(&c, 7);
	a->seed = cursor_u32(&c);
	a->fields = cursor_u64(&c);
}

void
ar_hbf_encode(const struct ar_hbf *a, uint8_t data[SMP_DATA_SIZE])
{
	struct cursor c;

	cursor_write(&c, data, SMP_DATA_SIZE);
	cursor_put_bits(&c, 4, a->hash_type);
	cursor_put_bits(&c, 2, 0);
	cursor_put_bits(&c, 2, a->seed_type);
	cursor_put_zero(&c, 7);
	cursor_put_u32(&c, a->seed);
	cursor_put_u64(&c, a->fields);
	cursor_put_zero(&c, 44);
}

void
ar_whbf_decode(struct ar_whbf a[AR_WHBF_BLOCK], const uint8_t data[SMP_DATA_SIZE])
{
	struct cursor c;

	cursor_read(&c, data, SMP_DATA_SIZE);
	for (unsigned i = 0; i < AR_WHBF_BLOCK; i++) {
		cursor_skip(&c, 1);
		cursor_bytes(&c, a[i].weight, sizeof(a[i].weight));
	}
}

void
ar_whbf_encode(const struct ar_whbf a[AR_WHBF_BLOCK], uint8_t data[SMP_DATA_SIZE])
{
	struct cursor c;

	cursor_write(&c, data, SMP_DATA_SIZE);
	for (unsigned i = 0; i < AR_WHBF_BLOCK; i++) {
		cursor_put_zero(&c, 1);
		cursor_put_bytes(&c, a[i].weight, sizeof(a[i].weight));
	}
}

/* ---- Routing notifications ---- */

void
ar_gen_decode(uint16_t strings[AR_GEN_BLOCK], const uint8_t data[SMP_DATA_SIZE])
{
	struct cursor c;

	cursor_read(&c, data, SMP_DATA_SIZE);
	for (unsigned i = 0; i < AR_GEN_BLOCK; i++)
		strings[i] = cursor_u16(&c);
}

void
ar_gen_encode(const uint16_t strings[AR_GEN_BLOCK], uint8_t data[SMP_DATA_SIZE])
{
	struct cursor c;

	cursor_write(&c, data, SMP_DATA_SIZE);
	for (unsigned i = 0; i < AR_GEN_BLOCK; i++)
		cursor_put_u16(&c, strings[i]);
}

void
ar_rcv_decode(struct ar_rcv a[AR_RCV_BLOCK], const uint8_t data[SMP_DATA_SIZE])
{
	struct cursor c;

	cursor_read(&c, data, SMP_DATA_SIZE);
	for (unsigned i = 0; i < AR_RCV_BLOCK; i++) {
		a[i].string = cursor_u16(&c);
		a[i].plft = cursor_u8(&c);
		a[i].decision = cursor_u8(&c);
	}
}

void
ar_rcv_encode(const struct ar_rcv a[AR_RCV_BLOCK], uint8_t data[SMP_DATA_SIZE])
{
	struct cursor c;

	cursor_write(&c, data, SMP_DATA_SIZE);
	for (unsigned i = 0; i < AR_RCV_BLOCK; i++) {
		cursor_put_u16(&c, a[i].string);
		cursor_put_u8(&c, a[i].plft);
		cursor_put_u8(&c, a[i].decision);
	}
}

void
ar_priority_decode(struct ar_priority a[16], const uint8_t data[SMP_DATA_SIZE])
{
	struct cursor c;

	cursor_read(&c, data, SMP_DATA_SIZE);
	for (unsigned i = 0; i < 16; i++) {
		cursor_skip(&c, 3);
		cursor_bits(&c, 6);
		a[i].frn = cursor_flag(&c);
		a[i].arn = cursor_flag(&c);
	}
}

void
ar_priority_encode(const struct ar_priority a[16], uint8_t data[SMP_DATA_SIZE])
{
	struct cursor c;

	cursor_write(&c, data, SMP_DATA_SIZE);
	for (unsigned i = 0; i < 16; i++) {
		cursor_put_zero(&c, 3);
		cursor_put_bits(&c, 6, 0);
		cursor_put_bits(&c, 1, a[i].frn);
		cursor_put_bits(&c, 1, a[i].arn);
	}
}

void
ar_xmit_decode(uint8_t ports[AR_XMIT_BLOCK], const uint8_t data[SMP_DATA_SIZE])
{
	struct cursor c;

	cursor_read(&c, data, SMP_DATA_SIZE);
	for (unsigned i = 0; i < AR_XMIT_BLOCK; i++)
		ports[i] = cursor_bits8(&c, 4);
}

void
ar_xmit_encode(const uint8_t ports[AR_XMIT_BLOCK], uint8_t data[SMP_DATA_SIZE])
{
	struct cursor c;

	cursor_write(&c, data, SMP_DATA_SIZE);
	for (unsigned i = 0; i < AR_XMIT_BLOCK; i++)
		cursor_put_bits(&c, 4, ports[i]);
}

void
ar_pfrn_decode(struct ar_pfrn *a, const uint8_t data[SMP_DATA_SIZE])
{
	struct cursor c;

	cursor_read(&c, data, SMP_DATA_SIZE);
	cursor_skip(&c, 3);
	cursor_bits(&c, 7);
	a->policy_sup = cursor_flag(&c);
	cursor_skip(&c, 4);
	a->sl = cursor_bits8(&c, 4);
	cursor_bits(&c, 4);
	cursor_skip(&c, 2);
	cursor_bits(&c, 4);
	a->policy = cursor_bits8(&c, 4);
	a->force_clear = cursor_u16(&c);
	a->clear = cursor_u16(&c);
}

void
ar_pfrn_encode(const struct ar_pfrn *a, uint8_t data[SMP_DATA_SIZE])
{
	struct cursor c;

	cursor_write(&c, data, SMP_DATA_SIZE);
	cursor_put_zero(&c, 3);
	cursor_put_bits(&c, 7, 0);
	cursor_put_bits(&c, 1, a->policy_sup);
	cursor_put_zero(&c, 4);
	cursor_put_bits(&c, 4, a->sl);
	cursor_put_bits(&c, 4, 0);
	cursor_put_zero(&c, 2);
	cursor_put_bits(&c, 4, 0);
	cursor_put_bits(&c, 4, a->policy);
	cursor_put_u16(&c, a->force_clear);
	cursor_put_u16(&c, a->clear);
	cursor_put_zero(&c, 48);
}

/* ---- ExtendedNodeInfo ---- */

void
ar_node_info_decode(struct ar_node_info *a, const uint8_t data[SMP_DATA_SIZE])
{
	struct cursor c;

	cursor_read(&c, data, SMP_DATA_SIZE);
	a->oob = cursor_u8(&c);
	a->pcie = cursor_u8(&c);
	a->sl2vl_act = cursor_u8(&c);
	a->sl2vl_cap = cursor_u8(&c);
	cursor_skip(&c, 9);
	a->anycast_top = cursor_u8(&c);
	a->anycast_cap = cursor_u8(&c);
	a->node_type = cursor_u8(&c);
	cursor_skip(&c, 3);
	a->planes = cursor_u8(&c);
}

void
ar_node_info_encode(const struct ar_node_info *a, uint8_t data[SMP_DATA_SIZE])
{
	struct cursor c;

	cursor_write(&c, data, SMP_DATA_SIZE);
	cursor_put_u8(&c, a->oob);
	cursor_put_u8(&c, a->pcie);
	cursor_put_u8(&c, a->sl2vl_act);
	cursor_put_u8(&c, a->sl2vl_cap);
	cursor_put_zero(&c, 9);
	cursor_put_u8(&c, a->anycast_top);
	cursor_put_u8(&c, a->anycast_cap);
	cursor_put_u8(&c, a->node_type);
	cursor_put_zero(&c, 3);
	cursor_put_u8(&c, a->planes);
	cursor_put_zero(&c, 44);
}

/* ---- ExtendedPortInfo ---- */

#define OOO_SL_MASK 54u		/* where it is */

uint16_t
ar_port_any_order(const uint8_t data[SMP_DATA_SIZE])
{
	struct cursor c;

	cursor_read(&c, data, SMP_DATA_SIZE);
	cursor_skip(&c, OOO_SL_MASK);
	return cursor_u16(&c);
}

void
ar_port_set_any_order(uint8_t data[SMP_DATA_SIZE], uint16_t sls)
{
	struct cursor c;

	cursor_write(&c, data + OOO_SL_MASK, sizeof(sls));
	cursor_put_u16(&c, sls);
}
