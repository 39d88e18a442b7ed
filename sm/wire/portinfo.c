/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/wire/attr.h"

#include "sm/wire/cursor.h"

/*
 * PortInfo (IBA volume 1, 14.2.5.6): the largest attribute and the one sent most often, so its two
 * codecs are straight lines of inlined cursor calls, one a field in wire order, each cut in two
 * halves where the fields about the link end. Nothing is owned, kept or refused.
 *
 * Speed is spread over three generations of fields: the four bits of SDR to QDR, the extended
 * ones of FDR to NDR at the very end, and those of XDR, which took a byte that was reserved.
 * The extended fields mean something only in an answer to a request with PORTINFO_MOD_EXTENDED.
 */

CURSOR_INLINE void
decode_link(struct portinfo *a, struct cursor *c)
{
	a->m_key = cursor_u64(c);
	a->gid_prefix = cursor_u64(c);
	a->lid = cursor_u16(c);
	a->sm_lid = cursor_u16(c);
	a->cap_mask = cursor_u32(c);
	a->diag_code = cursor_u16(c);
	a->m_key_lease = cursor_u16(c);
	a->local_port = cursor_u8(c);
	a->width_enabled = cursor_u8(c);
	a->width_supported = cursor_u8(c);
	a->width_active = cursor_u8(c);
	a->speed_supported = cursor_bits8(c, 4);
	a->state = cursor_bits8(c, 4);
	a->phys_state = cursor_bits8(c, 4);
	a->down_default = cursor_bits8(c, 4);
	a->m_key_protect = cursor_bits8(c, 2);
	cursor_bits(c, 3);
	a->lmc = cursor_bits8(c, 3);
	a->speed_active = cursor_bits8(c, 4);
	a->speed_enabled = cursor_bits8(c, 4);
	a->neighbor_mtu = cursor_bits8(c, 4);
	a->sm_sl = cursor_bits8(c, 4);
}

CURSOR_INLINE void
decode_rest(struct portinfo *a, struct cursor *c)
{
	a->vl_cap = cursor_bits8(c, 4);
	a->init_type = cursor_bits8(c, 4);
	a->vl_high_limit = cursor_u8(c);
	a->vl_arb_high_cap = cursor_u8(c);
	a->vl_arb_low_cap = cursor_u8(c);
	a->init_type_reply = cursor_bits8(c, 4);
	a->mtu_cap = cursor_bits8(c, 4);
	a->vl_stall_count = cursor_bits8(c, 3);
	a->hoq_life = cursor_bits8(c, 5);
	a->op_vls = cursor_bits8(c, 4);
	a->enforce_in = cursor_flag(c);
	a->enforce_out = cursor_flag(c);
	a->filter_raw_in = cursor_flag(c);
	a->filter_raw_out = cursor_flag(c);
	a->m_key_violations = cursor_u16(c);
	a->p_key_violations = cursor_u16(c);
	a->q_key_violations = cursor_u16(c);
	a->guid_cap = cursor_u8(c);
	a->client_reregister = cursor_flag(c);
	a->mcast_pkey_trap = cursor_bits8(c, 2);
	a->subnet_timeout = cursor_bits8(c, 5);
	cursor_bits(c, 3);
	a->resp_time = cursor_bits8(c, 5);
	a->local_phy_errors = cursor_bits8(c, 4);
	a->overrun_errors = cursor_bits8(c, 4);
	a->max_credit_hint = cursor_u16(c);
	cursor_bits(c, 1);
	a->speed_ext2_active = cursor_bits8(c, 2);
	a->speed_ext2_supported = cursor_bits8(c, 2);
	a->speed_ext2_enabled = cursor_bits8(c, 3);
	a->round_trip_latency = cursor_u24(c);
	a->cap_mask2 = cursor_u16(c);
	a->speed_ext_active = cursor_bits8(c, 4);
	a->speed_ext_supported = cursor_bits8(c, 4);
	cursor_bits(c, 3);
	a->speed_ext_enabled = cursor_bits8(c, 5);
}

void
portinfo_decode(struct portinfo *a, const uint8_t data[SMP_DATA_SIZE])
{
	struct cursor c;

	cursor_read(&c, data, SMP_DATA_SIZE);
	decode_link(a, &c);
	decode_rest(a, &c);
}

CURSOR_INLINE void
encode_link(const struct portinfo *a, struct cursor *c)
{
	cursor_put_u64(c, a->m_key);
	cursor_put_u64(c, a->gid_prefix);
	cursor_put_u16(c, a->lid);
	cursor_put_u16(c, a->sm_lid);
	cursor_put_u32(c, a->cap_mask);
	cursor_put_u16(c, a->diag_code);
	cursor_put_u16(c, a->m_key_lease);
	cursor_put_u8(c, a->local_port);
	cursor_put_u8(c, a->width_enabled);
	cursor_put_u8(c, a->width_supported);
	cursor_put_u8(c, a->width_active);
	cursor_put_bits(c, 4, a->speed_supported);
	cursor_put_bits(c, 4, a->state);
	cursor_put_bits(c, 4, a->phys_state);
	cursor_put_bits(c, 4, a->down_default);
	cursor_put_bits(c, 2, a->m_key_protect);
	cursor_put_bits(c, 3, 0);
	cursor_put_bits(c, 3, a->lmc);
	cursor_put_bits(c, 4, a->speed_active);
	cursor_put_bits(c, 4, a->speed_enabled);
	cursor_put_bits(c, 4, a->neighbor_mtu);
	cursor_put_bits(c, 4, a->sm_sl);
}

CURSOR_INLINE void
encode_rest(const struct portinfo *a, struct cursor *c)
{
	cursor_put_bits(c, 4, a->vl_cap);
	cursor_put_bits(c, 4, a->init_type);
	cursor_put_u8(c, a->vl_high_limit);
	cursor_put_u8(c, a->vl_arb_high_cap);
	cursor_put_u8(c, a->vl_arb_low_cap);
	cursor_put_bits(c, 4, a->init_type_reply);
	cursor_put_bits(c, 4, a->mtu_cap);
	cursor_put_bits(c, 3, a->vl_stall_count);
	cursor_put_bits(c, 5, a->hoq_life);
	cursor_put_bits(c, 4, a->op_vls);
	cursor_put_bits(c, 1, a->enforce_in);
	cursor_put_bits(c, 1, a->enforce_out);
	cursor_put_bits(c, 1, a->filter_raw_in);
	cursor_put_bits(c, 1, a->filter_raw_out);
	cursor_put_u16(c, a->m_key_violations);
	cursor_put_u16(c, a->p_key_violations);
	cursor_put_u16(c, a->q_key_violations);
	cursor_put_u8(c, a->guid_cap);
	cursor_put_bits(c, 1, a->client_reregister);
	cursor_put_bits(c, 2, a->mcast_pkey_trap);
	cursor_put_bits(c, 5, a->subnet_timeout);
	cursor_put_bits(c, 3, 0);
	cursor_put_bits(c, 5, a->resp_time);
	cursor_put_bits(c, 4, a->local_phy_errors);
	cursor_put_bits(c, 4, a->overrun_errors);
	cursor_put_u16(c, a->max_credit_hint);
	cursor_put_bits(c, 1, 0);
	cursor_put_bits(c, 2, a->speed_ext2_active);
	cursor_put_bits(c, 2, a->speed_ext2_supported);
	cursor_put_bits(c, 3, a->speed_ext2_enabled);
	cursor_put_u24(c, a->round_trip_latency);
	cursor_put_u16(c, a->cap_mask2);
	cursor_put_bits(c, 4, a->speed_ext_active);
	cursor_put_bits(c, 4, a->speed_ext_supported);
	cursor_put_bits(c, 3, 0);
	cursor_put_bits(c, 5, a->speed_ext_enabled);
}

void
portinfo_encode(const struct portinfo *a, uint8_t data[SMP_DATA_SIZE])
{
	struct cursor c;

	cursor_write(&c, data, SMP_DATA_SIZE);
	encode_link(a, &c);
	encode_rest(a, &c);
}

/*
 * A port shows one bit in the newest of the fields that knows its speed; the older ones may still
 * show the best that they can say. Of reserved values the highest bit counts: a speed that is too
 * low by a generation serves a link better than none.
 */
enum link_speed
portinfo_speed(const struct portinfo *p)
{
	if (p->speed_ext2_active & 3)
		return SPEED_XDR;
	if (p->speed_ext_active & 8)
		return SPEED_NDR;
	if (p->speed_ext_active & 4)
		return SPEED_HDR;
	if (p->speed_ext_active & 2)
		return SPEED_EDR;
	if (p->speed_ext_active & 1)
		return SPEED_FDR;
	if (p->speed_active & 12)
		return SPEED_QDR;
	if (p->speed_active & 2)
		return SPEED_DDR;
	return p->speed_active & 1 ? SPEED_SDR : SPEED_NONE;
}

static enum link_speed
best_speed(const struct portinfo *a, const struct portinfo *b)
{
	static const enum link_speed plain[] = { SPEED_SDR, SPEED_DDR, SPEED_QDR };
	static const enum link_speed extended[] = { SPEED_FDR, SPEED_EDR, SPEED_HDR, SPEED_NDR };
	enum link_speed best = SPEED_NONE;

	for (unsigned i = 0; i < 3; i++)
		if (a->speed_supported & b->speed_supported & 1u << i)
			best = plain[i];
	for (unsigned i = 0; i < 4; i++)
		if (a->speed_ext_supported & b->speed_ext_supported & 1u << i)
			best = extended[i];
	return a->speed_ext2_supported & b->speed_ext2_supported & 1 ? SPEED_XDR : best;
}

uint32_t
portinfo_best_mbps(const struct portinfo *a, const struct portinfo *b)
{
	enum link_speed speed = best_speed(a, b);
	uint32_t best = 0;

	for (unsigned bit = LINK_1X; bit <= LINK_2X; bit <<= 1) {
		uint32_t rate = link_rate_mbps((enum link_width)bit, speed);

		if (a->width_supported & b->width_supported & bit && rate > best)
			best = rate;
	}
	return best;
}
