/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TEST_WIRE_FIELDS_H
#define TEST_WIRE_FIELDS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <infiniband/mad.h>

#include "sm/wire/attr.h"

/*
 * The fields of each attribute that is more than an array: member, width in bits as the
 * specification gives it, and libibmad's name for it (IB_NO_FIELD where its packaged version has
 * none). The order is of no importance. Members of more than 8 bytes are plain bytes.
 */
struct field {
	const char *name;		/* the member's */
	size_t offset;			/* in the struct */
	size_t size;			/* of the member, bytes */
	unsigned bits;			/* width on the wire */
	enum MAD_FIELDS oracle;		/* libibmad's name for it */
};

struct attr {
	const char *name;				/* the attribute's */
	const struct field *fields;			/* all of them */
	size_t len;					/* how many */
	size_t size;					/* of the struct */
	void (*decode)(void *a, const uint8_t *data);	/* its codec */
	void (*encode)(const void *a, uint8_t *data);
};

#define FIELD(type, member, bits, oracle) \
	{ #member, offsetof(struct type, member), sizeof(((struct type *)0)->member), bits, oracle }

static const struct field nodeinfo_fields[] = {
#define F(member, bits, oracle) FIELD(nodeinfo, member, bits, oracle)
	F(base_version, 8, IB_NODE_BASE_VERS_F),
	F(class_version, 8, IB_NODE_CLASS_VERS_F),
	F(node_type, 8, IB_NODE_TYPE_F),
	F(num_ports, 8, IB_NODE_NPORTS_F),
	F(system_guid, 64, IB_NODE_SYSTEM_GUID_F),
	F(node_guid, 64, IB_NODE_GUID_F),
	F(port_guid, 64, IB_NODE_PORT_GUID_F),
	F(partition_cap, 16, IB_NODE_PARTITION_CAP_F),
	F(device_id, 16, IB_NODE_DEVID_F),
	F(revision, 32, IB_NODE_REVISION_F),
	F(local_port, 8, IB_NODE_LOCAL_PORT_F),
	F(vendor_id, 24, IB_NODE_VENDORID_F),
#undef F
};

static const struct field portinfo_fields[] = {
#define F(member, bits, oracle) FIELD(portinfo, member, bits, oracle)
	F(m_key, 64, IB_PORT_MKEY_F),
	F(gid_prefix, 64, IB_PORT_GID_PREFIX_F),
	F(lid, 16, IB_PORT_LID_F),
	F(sm_lid, 16, IB_PORT_SMLID_F),
	F(cap_mask, 32, IB_PORT_CAPMASK_F),
	F(diag_code, 16, IB_PORT_DIAG_F),
	F(m_key_lease, 16, IB_PORT_MKEY_LEASE_F),
	F(local_port, 8, IB_PORT_LOCAL_PORT_F),
	F(width_enabled, 8, IB_PORT_LINK_WIDTH_ENABLED_F),
	F(width_supported, 8, IB_PORT_LINK_WIDTH_SUPPORTED_F),
	F(width_active, 8, IB_PORT_LINK_WIDTH_ACTIVE_F),
	F(speed_supported, 4, IB_PORT_LINK_SPEED_SUPPORTED_F),
	F(state, 4, IB_PORT_STATE_F),
	F(phys_state, 4, IB_PORT_PHYS_STATE_F),
	F(down_default, 4, IB_PORT_LINK_DOWN_DEF_F),
	F(m_key_protect, 2, IB_PORT_MKEY_PROT_BITS_F),
	F(lmc, 3, IB_PORT_LMC_F),
	F(speed_active, 4, IB_PORT_LINK_SPEED_ACTIVE_F),
	F(speed_enabled, 4, IB_PORT_LINK_SPEED_ENABLED_F),
	F(neighbor_mtu, 4, IB_PORT_NEIGHBOR_MTU_F),
	F(sm_sl, 4, IB_PORT_SMSL_F),
	F(vl_cap, 4, IB_PORT_VL_CAP_F),
	F(init_type, 4, IB_PORT_INIT_TYPE_F),
	F(vl_high_limit, 8, IB_PORT_VL_HIGH_LIMIT_F),
	F(vl_arb_high_cap, 8, IB_PORT_VL_ARBITRATION_HIGH_CAP_F),
	F(vl_arb_low_cap, 8, IB_PORT_VL_ARBITRATION_LOW_CAP_F),
	F(init_type_reply, 4, IB_PORT_INIT_TYPE_REPLY_F),
	F(mtu_cap, 4, IB_PORT_MTU_CAP_F),
	F(vl_stall_count, 3, IB_PORT_VL_STALL_COUNT_F),
	F(hoq_life, 5, IB_PORT_HOQ_LIFE_F),
	F(op_vls, 4, IB_PORT_OPER_VLS_F),
	F(enforce_in, 1, IB_PORT_PART_EN_INB_F),
	F(enforce_out, 1, IB_PORT_PART_EN_OUTB_F),
	F(filter_raw_in, 1, IB_PORT_FILTER_RAW_INB_F),
	F(filter_raw_out, 1, IB_PORT_FILTER_RAW_OUTB_F),
	F(m_key_violations, 16, IB_PORT_MKEY_VIOL_F),
	F(p_key_violations, 16, IB_PORT_PKEY_VIOL_F),
	F(q_key_violations, 16, IB_PORT_QKEY_VIOL_F),
	F(guid_cap, 8, IB_PORT_GUID_CAP_F),
	F(client_reregister, 1, IB_PORT_CLIENT_REREG_F),
	F(mcast_pkey_trap, 2, IB_PORT_MCAST_PKEY_SUPR_ENAB_F),
	F(subnet_timeout, 5, IB_PORT_SUBN_TIMEOUT_F),
	F(resp_time, 5, IB_PORT_RESP_TIME_VAL_F),
	F(local_phy_errors, 4, IB_PORT_LOCAL_PHYS_ERR_F),
	F(overrun_errors, 4, IB_PORT_OVERRUN_ERR_F),
	F(max_credit_hint, 16, IB_PORT_MAX_CREDIT_HINT_F),
	F(round_trip_latency, 24, IB_PORT_LINK_ROUND_TRIP_F),
	F(cap_mask2, 16, IB_PORT_CAPMASK2_F),
	F(speed_ext_active, 4, IB_PORT_LINK_SPEED_EXT_ACTIVE_F),
	F(speed_ext_supported, 4, IB_PORT_LINK_SPEED_EXT_SUPPORTED_F),
	F(speed_ext_enabled, 5, IB_PORT_LINK_SPEED_EXT_ENABLED_F),
	F(speed_ext2_active, 2, IB_NO_FIELD),
	F(speed_ext2_supported, 2, IB_NO_FIELD),
	F(speed_ext2_enabled, 3, IB_NO_FIELD),
#undef F
};

static const struct field switchinfo_fields[] = {
#define F(member, bits, oracle) FIELD(switchinfo, member, bits, oracle)
	F(linear_fdb_cap, 16, IB_SW_LINEAR_FDB_CAP_F),
	F(random_fdb_cap, 16, IB_SW_RANDOM_FDB_CAP_F),
	F(multicast_fdb_cap, 16, IB_SW_MCAST_FDB_CAP_F),
	F(linear_fdb_top, 16, IB_SW_LINEAR_FDB_TOP_F),
	F(default_port, 8, IB_SW_DEF_PORT_F),
	F(default_mcast_primary, 8, IB_SW_DEF_MCAST_PRIM_F),
	F(default_mcast_not_primary, 8, IB_SW_DEF_MCAST_NOT_PRIM_F),
	F(life_time, 5, IB_SW_LIFE_TIME_F),
	F(port_state_change, 1, IB_SW_STATE_CHANGE_F),
	F(optimized_slvl, 2, IB_SW_OPT_SLTOVL_MAPPING_F),
	F(lids_per_port, 16, IB_SW_LIDS_PER_PORT_F),
	F(partition_enforcement_cap, 16, IB_SW_PARTITION_ENFORCE_CAP_F),
	F(enforce_in_cap, 1, IB_SW_PARTITION_ENF_INB_F),
	F(enforce_out_cap, 1, IB_SW_PARTITION_ENF_OUTB_F),
	F(filter_raw_in_cap, 1, IB_SW_FILTER_RAW_INB_F),
	F(filter_raw_out_cap, 1, IB_SW_FILTER_RAW_OUTB_F),
	F(enhanced_port0, 1, IB_SW_ENHANCED_PORT0_F),
	F(multicast_fdb_top, 16, IB_SW_MCAST_FDB_TOP_F),
#undef F
};

static const struct field sminfo_fields[] = {
#define F(member, bits, oracle) FIELD(sminfo, member, bits, oracle)
	F(guid, 64, IB_SMINFO_GUID_F),
	F(sm_key, 64, IB_SMINFO_KEY_F),
	F(activity, 32, IB_SMINFO_ACT_F),
	F(priority, 4, IB_SMINFO_PRIO_F),
	F(state, 4, IB_SMINFO_STATE_F),
#undef F
};

static const struct field notice_fields[] = {
#define F(member, bits, oracle) FIELD(notice, member, bits, oracle)
	F(generic, 1, IB_NOTICE_IS_GENERIC_F),
	F(type, 7, IB_NOTICE_TYPE_F),
	F(producer, 24, IB_NOTICE_PRODUCER_F),
	F(trap, 16, IB_NOTICE_TRAP_NUMBER_F),
	F(issuer_lid, 16, IB_NOTICE_ISSUER_LID_F),
	F(toggle, 1, IB_NOTICE_TOGGLE_F),
	F(count, 15, IB_NOTICE_COUNT_F),
	F(details, 432, IB_NOTICE_DATA_DETAILS_F),
#undef F
};

#define CODEC(type) \
	static void \
	type##_from(void *a, const uint8_t *data) \
	{ \
		type##_decode(a, data); \
	} \
	static void \
	type##_to(const void *a, uint8_t *data) \
	{ \
		type##_encode(a, data); \
	}
CODEC(nodeinfo)
CODEC(portinfo)
CODEC(switchinfo)
CODEC(sminfo)
CODEC(notice)

#define ATTR(type) \
	{ #type, type##_fields, sizeof(type##_fields) / sizeof(type##_fields[0]), \
	  sizeof(struct type), type##_from, type##_to }

static const struct attr attrs[] = {
	ATTR(nodeinfo), ATTR(portinfo), ATTR(switchinfo), ATTR(sminfo), ATTR(notice),
};

#define each_attr(a) \
	for (const struct attr *a = attrs; a < attrs + sizeof(attrs) / sizeof(attrs[0]); a++)
#define each_field(f, a) \
	for (const struct field *f = (a)->fields; f < (a)->fields + (a)->len; f++)

/* Room for any of the structs above. */
union any_attr {
	struct nodeinfo nodeinfo;
	struct portinfo portinfo;
	struct switchinfo switchinfo;
	struct sminfo sminfo;
	struct notice notice;
};

static inline uint64_t
field_get(const struct field *f, const void *a)
{
	const uint8_t *at = (const uint8_t *)a + f->offset;
	uint16_t v16;
	uint32_t v32;
	uint64_t v64;

	switch (f->size) {
	case 1:
		return *at;
	case 2:
		memcpy(&v16, at, sizeof(v16));
		return v16;
	case 4:
		memcpy(&v32, at, sizeof(v32));
		return v32;
	}
	memcpy(&v64, at, sizeof(v64));
	return v64;
}

static inline void
field_set(const struct field *f, void *a, uint64_t v)
{
	uint8_t *at = (uint8_t *)a + f->offset;
	uint16_t v16 = (uint16_t)v;
	uint32_t v32 = (uint32_t)v;

	switch (f->size) {
	case 1:
		*at = (uint8_t)v;
		return;
	case 2:
		memcpy(at, &v16, sizeof(v16));
		return;
	case 4:
		memcpy(at, &v32, sizeof(v32));
		return;
	}
	memcpy(at, &v, sizeof(v));
}

/* Marsaglia's xorshift64: the same numbers in each run. */
static inline uint64_t
test_random(void)
{
	static uint64_t x = 0x2545f4914f6cdd1d;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x;
}

static inline void
random_bytes(uint8_t *to, size_t size)
{
	for (size_t i = 0; i < size; i++)
		to[i] = (uint8_t)(test_random() >> 24);
}

/* One bit of a big-endian bit string; the slow and obvious way. */
static inline unsigned
bit_at(const uint8_t *data, size_t at)
{
	return data[at / 8] >> (7 - at % 8) & 1u;
}

/* A value of the field's width; now and then with all its bits set or none. */
static inline uint64_t
random_value(const struct field *f)
{
	uint64_t mask = f->bits >= 64 ? UINT64_MAX : (UINT64_C(1) << f->bits) - 1;

	switch (test_random() >> 60) {
	case 0:
		return 0;
	case 1:
		return mask;
	}
	return test_random() & mask;
}

static inline void
random_attr(const struct attr *a, void *value)
{
	memset(value, 0, a->size);
	each_field(f, a) {
		if (f->size > 8)
			random_bytes((uint8_t *)value + f->offset, f->size);
		else
			field_set(f, value, random_value(f));
	}
}

#endif
