/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WIRE_AR_H
#define WIRE_AR_H

#include <stdbool.h>
#include <stdint.h>
#include "sm/base/error.h"
#include "sm/wire/mad.h"

/*
 * Adaptive-routing attributes of NVIDIA/Mellanox switches: vendor attributes in ordinary SMPs, as
 * published in the vendor's open headers and manuals. As in attr.h each has a plain struct and a
 * decoder and encoder between it and the 64 data bytes; neither can fail.
 *
 * Some positions are in no public source, most of them in attribute modifiers. A struct ar_layout
 * holds a choice for each, so that it can follow what real devices are seen to do.
 */
enum ar_attr {
	AR_ATTR_PLFT_INFO = 0xff10,	/* PrivateLFTInfo */
	AR_ATTR_PLFT_DEF = 0xff11,	/* PrivateLFTDef */
	AR_ATTR_PLFT_MAP = 0xff12,	/* PrivateLFTMap */
	AR_ATTR_PORT_PLFT = 0xff14,	/* PortSLToPrivateLFTMap */
	AR_ATTR_GENERAL_INFO = 0xff17,	/* GeneralInfo */
	AR_ATTR_INFO = 0xff20,		/* AdaptiveRoutingInfo */
	AR_ATTR_GROUPS = 0xff21,	/* AdaptiveRoutingGroupTable */
	AR_ATTR_LFT_FIRST = 0xff22,	/* AdaptiveRoutingLFT, first form: layout unknown */
	AR_ATTR_LFT = 0xff23,		/* AdaptiveRoutingLFT, revision 1 */
	AR_ATTR_HBF = 0xff24,		/* HBFConfig */
	AR_ATTR_WHBF = 0xff25,		/* WeightedHBFConfig */
	AR_ATTR_PFRN = 0xff61,		/* pFRNConfig */
	AR_ATTR_PORT_INFO = 0xff90,	/* ExtendedPortInfo; its modifier is the port */
	AR_ATTR_NODE_INFO = 0xff91,	/* ExtendedNodeInfo */
	AR_ATTR_RN_GEN = 0xffb8,	/* RNGenStringTable */
	AR_ATTR_RN_RCV = 0xffb9,	/* RNRcvString */
	AR_ATTR_RN_DIRECTION = 0xffba,	/* RNSubGroupDirectionTable */
	AR_ATTR_RN_XMIT = 0xffbc,	/* RNXmitPortMask */
	AR_ATTR_GROUP_COPY = 0xffbd,	/* AdaptiveRoutingGroupTableCopy */
	AR_ATTR_RN_PRIORITY = 0xffbe,	/* RNGenBySubGroupPriority */
};

/* NodeInfo.VendorID of the maker whose switches may know them. */
#define AR_VENDOR 0x0002c9u


#define AR_LFT_BLOCK 16u	/* LIDs in one AdaptiveRoutingLFT attribute */
#define AR_LFT_BLOCKS (LID_TABLE_LEN / AR_LFT_BLOCK)
#define AR_GROUP_BLOCK 2u	/* sub-groups' port masks in one AdaptiveRoutingGroupTable */
#define AR_GROUPS_MAX 4096u	/* group numbers have 12 bits */
#define AR_PLFT_BLOCK 16u	/* of PrivateLFTDef */
#define AR_PORT_PLFT_BLOCK 4u	/* ports in one PortSLToPrivateLFTMap */
#define AR_PLFTS_MAX 36u
#define AR_PLFT_SPACE 512u	/* LIDs in the unit of LIDSpace and LIDOffset */
#define AR_BANK_UNIT 1024u	/* LIDs in the unit of BankSize */
#define AR_BANK_MODES 7u
#define AR_COPIES 16u		/* elements of AdaptiveRoutingGroupTableCopy */
#define AR_GEN_BLOCK 32u	/* strings in one RNGenStringTable */
#define AR_RCV_BLOCK 16u	/* elements of RNRcvString */
#define AR_DIRECTION_BLOCK 64u	/* sub-group entries in one RNSubGroupDirectionTable */
#define AR_XMIT_BLOCK 128u	/* ports in one RNXmitPortMask */
#define AR_WHBF_BLOCK 16u	/* groups in one WeightedHBFConfig */

/* ---- What is not established ---- */

#define AR_UNKNOWN 0xffu	/* in place of a position: it is not used */

/* Positions are counted from the least significant bit of the attribute modifier. */
struct ar_layout {
	uint8_t lft_plft_shift;		/* 0xFF23: pLFT ID, 8 bits */
	uint8_t group_plft_shift;	/* 0xFF21: pLFT ID, 8 bits */
	uint8_t group_table_shift;	/* 0xFF21: group table number, 8 bits */
	uint8_t gen_plft_shift;		/* 0xFFB8: pLFT ID, 8 bits */
	uint8_t calc_bit;		/* 0xFF20: a Get asks what SubGrpsActive would leave */
	uint8_t copy_direction_bit;	/* 0xFFBD: copy the groups' directions too */
	uint8_t hbf_global_bit;		/* 0xFF24, 0xFF25: all ports at once */
	uint8_t force_bit;		/* PrivateLFTDef byte 0: force sub-group 0; the other bits,
					 * below it, are the bank */
	bool sub_groups_count;		/* SubGrpsActive counts; else it is zero-based */
	bool tables_last;		/* GroupTableCap is the last index; else it counts */
	bool copy_first_first;		/* a copy's first group is at +0, its last at +2; else the
					 * reverse */
	bool copy_zero_unused;		/* a copy element of zeros is none; else it names group 0 */
};

/* What reads most naturally: SubGrpsActive is zero-based, GroupTableCap counts. */
#define AR_LAYOUT_DEFAULT { \
	.lft_plft_shift = 16, .group_plft_shift = 16, .group_table_shift = 24, \
	.gen_plft_shift = 16, .calc_bit = 31, .copy_direction_bit = 31, .hbf_global_bit = 31, \
	.force_bit = 7, .copy_first_first = true, .copy_zero_unused = true, \
}
extern const struct ar_layout ar_layout_default;
/* Change what "lft_plft_shift=16,sub_groups=count,..." names; a shift is 12..24, a flag's bit
 * 12..31. `plft_shift` names the three at once. On error *l is as it was. */
int
ar_layout_parse(struct ar_layout *l, const char *text, struct error *e);

/* Nobody knows where anything is; with one sub-group SubGrpsActive is 0, which a device that counts
 * takes as one, too. */
#define AR_LAYOUT_UNKNOWN { \
	.lft_plft_shift = AR_UNKNOWN, .group_plft_shift = AR_UNKNOWN, \
	.group_table_shift = AR_UNKNOWN, .gen_plft_shift = AR_UNKNOWN, .calc_bit = AR_UNKNOWN, \
	.copy_direction_bit = AR_UNKNOWN, .hbf_global_bit = AR_UNKNOWN, .force_bit = 7, \
	.copy_first_first = true, .copy_zero_unused = true, \
}

/* Kinds of switches that are known to know the attributes, and what is known of each. */
struct ar_family {
	const char *name;
	uint32_t vendor;		/* NodeInfo.VendorID */
	uint16_t first, last;		/* NodeInfo.DeviceID */
	struct ar_layout layout;
};

/* The first that fits; NULL: none does. */
const struct ar_family *
ar_family_of(uint32_t vendor_id, uint16_t device_id);

/* Attribute modifiers of several parts. A part whose position is not known must be 0. */
struct ar_mod {
	uint16_t block;		/* LID block, group block, direction block; 12 bits */
	uint8_t table;		/* group table number; 0 where there is none */
	uint8_t plft;		/* pLFT ID */
};

/* 0xFF21, 0xFF23 and 0xFFB8 have parts; decoding says false if a bit of none of them is set, or if
 * `attr_id` is another. */
uint32_t
ar_mod_encode(const struct ar_mod *a, uint16_t attr_id, const struct ar_layout *l);
bool
ar_mod_decode(struct ar_mod *a, uint16_t attr_id, const struct ar_layout *l, uint32_t mod);
/* SubGrpsActive <-> number of sub-groups (1..16), GroupTableCap -> number of tables. */
unsigned
ar_sub_groups(const struct ar_layout *l, uint8_t sub_grps_active);
uint8_t
ar_sub_grps_active(const struct ar_layout *l, unsigned sub_groups);
unsigned
ar_tables(const struct ar_layout *l, uint8_t group_table_cap);

/* ---- Attributes ---- */

/* GeneralInfo with modifier AR_GENERAL_CAPS: the capability mask. */
#define AR_GENERAL_CAPS 4u

enum ar_general_cap {
	AR_CAP_PLFT = 0,		/* 0xFF10-12 */
	AR_CAP_LFT_FIRST = 1,		/* 0xFF22 */
	AR_CAP_LFT = 2,			/* 0xFF20, 0xFF21, 0xFF23 */
	AR_CAP_EXT_PORT_INFO = 9,
	AR_CAP_PORT_PLFT = 12,		/* 0xFF14 */
	AR_CAP_EXT_NODE_INFO = 13,
	AR_CAP_FORCE_SUB_GROUP = 23,	/* PrivateLFTDef's force flag */
};

struct ar_general {
	uint32_t caps[16];	/* capability n is bit n % 32 of word n / 32 */
};

static inline bool
ar_general_has(const struct ar_general *a, unsigned cap)
{
	return a->caps[cap / 32] >> cap % 32 & 1;
}

static inline void
ar_general_add(struct ar_general *a, unsigned cap)
{
	a->caps[cap / 32] |= UINT32_C(1) << cap % 32;
}

/* ByTransportDisable bits. */
enum ar_transport {
	AR_UD = 1,
	AR_RC = 2,
	AR_UC = 4,
	AR_DC = 8,
};

struct ar_info {
	bool dyn_cap_calc_sup;		/* a Get can ask for GroupCap of another configuration */
	bool by_transp_cap;		/* ByTransportDisable is honoured */
	bool by_sl_en;			/* set: EnableBySLMask counts */
	bool by_sl_cap;
	bool glb_groups;		/* one group table for all pLFTs */
	bool is4_mode;
	bool no_fallback;		/* set: no return to the static port */
	uint8_t direction_num;		/* RN directions */
	uint8_t group_table_copy;	/* 4 bits, not 0: 0xFFBD works */
	uint8_t sub_grps_active;	/* set; 4 bits, see ar_sub_groups() */
	bool rn_xmit_en;		/* set: routing notifications may be sent */
	bool fr_en;			/* set: a dead static port is replaced from the group */
	bool fr_sup;
	bool frn_sup;			/* fault notifications */
	bool arn_sup;			/* congestion notifications */
	bool enable;			/* set: E */
	uint8_t string_width;		/* 4 bits: of an RN string */
	uint8_t group_table_cap;	/* 4 bits, see ar_tables() */
	uint16_t group_top;		/* set; 12 bits: highest group in use */
	uint16_t group_cap;		/* 12 bits: groups with this configuration */
	uint16_t sl_mask;		/* set: EnableBySLMask, bit n = SL n */
	uint8_t sub_grps_sup;		/* encoding unknown */
	uint8_t rn_version;		/* 4 bits */
	uint8_t ar_version;		/* 4 bits */
	uint8_t transport_disable;	/* set: enum ar_transport */
	uint32_t ageing_time;		/* set: microseconds */
	bool hbf_sup, whbf_sup;		/* forwarding by hash; weighted */
	bool hash_symmetric, hash_dceth, hash_bth_dqp;	/* inputs of the hash */
	bool nvlink_hbf_sup;		/* or "by VL": sources disagree */
	bool pfrn_sup;
	bool by_sl_hbf_en;		/* set: EnableBySLMaskHBF counts */
	bool whbf_en;			/* set */
	bool by_vl_en;			/* set */
	bool pfrn_en;			/* set */
	uint8_t whbf_granularity;	/* 3 bits */
	uint16_t sl_mask_hbf;		/* set: EnableBySLMaskHBF */
};

/* Ports, port p being bit p % 64 of word p / 64. */
struct ar_ports {
	uint64_t word[4];
};

static inline bool
ar_ports_has(const struct ar_ports *a, unsigned port)
{
	return a->word[port / 64 & 3] >> port % 64 & 1;
}

static inline void
ar_ports_add(struct ar_ports *a, unsigned port)
{
	a->word[port / 64 & 3] |= UINT64_C(1) << port % 64;
}

static inline unsigned
ar_ports_count(const struct ar_ports *a)
{
	unsigned n = 0;

	for (unsigned w = 0; w < 4; w++)
		n += (unsigned)__builtin_popcountll(a->word[w]);
	return n;
}

/* Groups first..last become as the one of the modifier. first > last in an element not used. */
struct ar_copy {
	uint16_t first, last;	/* 12 bits */
};

enum ar_lid_state {
	AR_BOUNDED = 0,		/* the port is kept for a burst */
	AR_FREE = 1,		/* any port of the group */
	AR_STATIC = 2,		/* StaticPort */
	AR_HASH = 3,		/* port by header hash */
};

struct ar_lft_entry {
	uint8_t state;		/* enum ar_lid_state */
	uint8_t table;		/* 4 bits: group table number */
	uint8_t port;		/* StaticPort, LFT_NO_PORT = none */
	uint16_t group;
};

struct ar_plft_info {
	uint8_t plfts;		/* NumOfPLFTs; 0 means 36 */
	uint8_t mode_cap;	/* bank modes */
	uint8_t active_mode;	/* set; 0 = no pLFTs */
	struct {
		uint8_t size;	/* BankSize, units of AR_BANK_UNIT LIDs */
		uint8_t banks;	/* NumBanks */
	} mode[AR_BANK_MODES];	/* entry m is of mode m + 1 */
};

struct ar_plft_def {
	uint8_t bank;
	bool force;		/* traffic of this pLFT sees sub-group 0 only */
	uint8_t space;		/* LIDSpace, units of AR_PLFT_SPACE */
	uint8_t offset;		/* LIDOffset, the same */
};

struct ar_plft_map {
	bool ports_en;		/* PortMask is meaningful */
	bool top_en;		/* LFTTop is meaningful */
	struct ar_ports ports;	/* that share the pLFT */
	uint16_t top;		/* its last valid LID */
};

struct ar_hbf {
	uint8_t hash_type;	/* 4 bits: 0 CRC, 1 XOR */
	uint8_t seed_type;	/* 2 bits: 0 given, 1 random */
	uint32_t seed;
	uint64_t fields;	/* that the hash is made of */
};

struct ar_whbf {
	uint8_t weight[3];	/* of a sub-group */
};

struct ar_pfrn {
	bool policy_sup;
	uint8_t sl;		/* 4 bits: of pFRN packets */
	uint8_t policy;		/* 4 bits: 0 sub-group 0 only, 1 also 1 */
	uint16_t force_clear;	/* MaskForceClearTimeout, seconds */
	uint16_t clear;		/* MaskClearTimeout, seconds */
};

enum ar_rcv_decision {
	AR_RCV_DISCARD = 0,
	AR_RCV_ARN = 1,		/* consume ARN */
	AR_RCV_ALL = 2,		/* consume ARN and FRN */
	AR_RCV_PASS = 3,	/* pass on with the new string */
};

struct ar_rcv {
	uint16_t string;	/* replacement */
	uint8_t plft;		/* to act on */
	uint8_t decision;	/* enum ar_rcv_decision, unchecked */
};

struct ar_priority {
	bool arn, frn;		/* generate them for this sub-group priority */
};

/* RNXmitPortMask bits of a port. */
enum ar_xmit {
	AR_XMIT_ARN = 1,
	AR_XMIT_FRN = 2,
	AR_XMIT_PASS = 4,
};

struct ar_node_info {
	uint8_t oob;		/* NumOOB */
	uint8_t pcie;		/* NumPCIe */
	uint8_t sl2vl_act;	/* set: what selects the SL-to-VL row */
	uint8_t sl2vl_cap;
	uint8_t anycast_top;	/* set */
	uint8_t anycast_cap;
	uint8_t node_type;
	uint8_t planes;
};

/* ExtendedPortInfo.OOOSLMask: bit n: the host takes packets of SL n in any order. The rest of the
 * attribute is for others to decode; what is set is what was read, but for this. */
uint16_t
ar_port_any_order(const uint8_t data[SMP_DATA_SIZE]);
void
ar_port_set_any_order(uint8_t data[SMP_DATA_SIZE], uint16_t sls);
void
ar_general_decode(struct ar_general *a, const uint8_t data[SMP_DATA_SIZE]);
void
ar_general_encode(const struct ar_general *a, uint8_t data[SMP_DATA_SIZE]);
void
ar_info_decode(struct ar_info *a, const uint8_t data[SMP_DATA_SIZE]);
void
ar_info_encode(const struct ar_info *a, uint8_t data[SMP_DATA_SIZE]);
void
ar_groups_decode(struct ar_ports a[AR_GROUP_BLOCK], const uint8_t data[SMP_DATA_SIZE]);
void
ar_groups_encode(const struct ar_ports a[AR_GROUP_BLOCK], uint8_t data[SMP_DATA_SIZE]);
void
ar_copy_decode(struct ar_copy a[AR_COPIES], const struct ar_layout *l,
	       const uint8_t data[SMP_DATA_SIZE]);
void
ar_copy_encode(const struct ar_copy a[AR_COPIES], const struct ar_layout *l,
	       uint8_t data[SMP_DATA_SIZE]);
/* One entry of the adaptive LFT: 4 bytes. */
void
ar_entry_decode(struct ar_lft_entry *a, const uint8_t data[4]);
void
ar_lft_decode(struct ar_lft_entry a[AR_LFT_BLOCK], const uint8_t data[SMP_DATA_SIZE]);
void
ar_lft_encode(const struct ar_lft_entry a[AR_LFT_BLOCK], uint8_t data[SMP_DATA_SIZE]);
void
ar_plft_info_decode(struct ar_plft_info *a, const uint8_t data[SMP_DATA_SIZE]);
void
ar_plft_info_encode(const struct ar_plft_info *a, uint8_t data[SMP_DATA_SIZE]);
void
ar_plft_def_decode(struct ar_plft_def a[AR_PLFT_BLOCK], const struct ar_layout *l,
		   const uint8_t data[SMP_DATA_SIZE]);
void
ar_plft_def_encode(const struct ar_plft_def a[AR_PLFT_BLOCK], const struct ar_layout *l,
		   uint8_t data[SMP_DATA_SIZE]);
void
ar_plft_map_decode(struct ar_plft_map *a, const uint8_t data[SMP_DATA_SIZE]);
void
ar_plft_map_encode(const struct ar_plft_map *a, uint8_t data[SMP_DATA_SIZE]);
/* PortSLToPrivateLFTMap and RNSubGroupDirectionTable need no codec: data[16p + s] is the pLFT of
 * the block's port p and SL s; data[i] is the direction of the block's sub-group entry i. */
void
ar_gen_decode(uint16_t strings[AR_GEN_BLOCK], const uint8_t data[SMP_DATA_SIZE]);
void
ar_gen_encode(const uint16_t strings[AR_GEN_BLOCK], uint8_t data[SMP_DATA_SIZE]);
void
ar_rcv_decode(struct ar_rcv a[AR_RCV_BLOCK], const uint8_t data[SMP_DATA_SIZE]);
void
ar_rcv_encode(const struct ar_rcv a[AR_RCV_BLOCK], uint8_t data[SMP_DATA_SIZE]);
void
ar_priority_decode(struct ar_priority a[16], const uint8_t data[SMP_DATA_SIZE]);
void
ar_priority_encode(const struct ar_priority a[16], uint8_t data[SMP_DATA_SIZE]);
/* Each port's enum ar_xmit, 4 bits. */
void
ar_xmit_decode(uint8_t ports[AR_XMIT_BLOCK], const uint8_t data[SMP_DATA_SIZE]);
void
ar_xmit_encode(const uint8_t ports[AR_XMIT_BLOCK], uint8_t data[SMP_DATA_SIZE]);
void
ar_hbf_decode(struct ar_hbf *a, const uint8_t data[SMP_DATA_SIZE]);
void
ar_hbf_encode(const struct ar_hbf *a, uint8_t data[SMP_DATA_SIZE]);
void
ar_whbf_decode(struct ar_whbf a[AR_WHBF_BLOCK], const uint8_t data[SMP_DATA_SIZE]);
void
ar_whbf_encode(const struct ar_whbf a[AR_WHBF_BLOCK], uint8_t data[SMP_DATA_SIZE]);
void
ar_pfrn_decode(struct ar_pfrn *a, const uint8_t data[SMP_DATA_SIZE]);
void
ar_pfrn_encode(const struct ar_pfrn *a, uint8_t data[SMP_DATA_SIZE]);
void
ar_node_info_decode(struct ar_node_info *a, const uint8_t data[SMP_DATA_SIZE]);
void
ar_node_info_encode(const struct ar_node_info *a, uint8_t data[SMP_DATA_SIZE]);

#endif
