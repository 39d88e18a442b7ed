/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WIRE_ATTR_H
#define WIRE_ATTR_H

#include <stdbool.h>
#include <stdint.h>
#include "sm/base/text.h"
#include "sm/wire/mad.h"

/*
 * Attributes of the subnet management class (IBA volume 1, 14.2.5). Each has a plain struct and a
 * decoder and encoder between it and the 64 data bytes of an SMP; neither can fail, any bytes
 * decode to something, and encode(decode(x)) equals x but for reserved bits, which become 0.
 */

enum node_type {
	NODE_CA = 1,
	NODE_SWITCH = 2,
	NODE_ROUTER = 3,
};

struct nodeinfo {
	uint64_t system_guid;	/* SystemImageGUID */
	uint64_t node_guid;	/* NodeGUID */
	uint64_t port_guid;	/* PortGUID of the port that was asked */
	uint32_t vendor_id;	/* 24 bits */
	uint32_t revision;	/* hardware revision */
	uint16_t partition_cap;	/* P_Keys of a CA port, or of switch port 0 */
	uint16_t device_id;
	uint8_t base_version;
	uint8_t class_version;
	uint8_t node_type;	/* enum node_type, unchecked */
	uint8_t num_ports;	/* physical ports */
	uint8_t local_port;	/* port that the request arrived through */
};

#define NODEDESC_SIZE 65	/* 64 bytes and a NUL */

enum port_state {
	PORT_NO_CHANGE = 0,	/* in a Set */
	PORT_DOWN = 1,
	PORT_INIT = 2,
	PORT_ARMED = 3,
	PORT_ACTIVE = 4,
};

enum port_phys_state {
	PHYS_NO_CHANGE = 0,
	PHYS_SLEEP = 1,
	PHYS_POLLING = 2,
	PHYS_DISABLED = 3,
	PHYS_TRAINING = 4,
	PHYS_LINK_UP = 5,
	PHYS_RECOVERY = 6,
};

/* PortInfo.CapabilityMask bits. */
enum port_cap {
	CAP_IS_SM = 1u << 1,
	CAP_NOTICE = 1u << 2,
	CAP_TRAP = 1u << 3,
	CAP_SL_MAPPING = 1u << 6,
	CAP_SYSTEM_GUID = 1u << 11,	/* SystemImageGUID, with trap 145 */
	CAP_PKEY_SWITCH_TRAP = 1u << 12,	/* a switch sends trap 259 */
	CAP_EXTENDED_SPEEDS = 1u << 14,
	CAP_MASK2 = 1u << 15,		/* CapabilityMask2 is meaningful */
	CAP_VENDOR_CLASS = 1u << 20,
	CAP_DR_NOTICE = 1u << 21,	/* trap 256 tells the directed route */
	CAP_MASK_NOTICE = 1u << 22,	/* trap 144 when this mask changes */
	CAP_CLIENT_REREGISTER = 1u << 25,
	CAP_LOCAL_CHANGES = 1u << 26,	/* trap 144 for other local changes */
	CAP_MCAST_PKEY_TRAP = 1u << 29,	/* MulticastPKeyTrapSuppressionEnabled may be set */
	CAP_MCAST_FDB_TOP = 1u << 30,	/* SwitchInfo.MulticastFDBTop counts */
};

/* PortInfo.CapabilityMask2 bits that newer links come with. */
enum port_cap2 {
	CAP2_WIDTH_2X = 1u << 4,
	CAP2_HDR = 1u << 5,
	CAP2_NDR = 1u << 10,
	CAP2_EXTENDED_2 = 1u << 11,
	CAP2_XDR = 1u << 12,
};

/* Attribute modifier of PortInfo: port number, and this bit to ask for (or set) the extended link
 * speed fields of a port whose node offers CAP_EXTENDED_SPEEDS. */
#define PORTINFO_MOD_EXTENDED 0x80000000u

struct portinfo {
	uint64_t m_key;
	uint64_t gid_prefix;
	uint32_t cap_mask;		/* enum port_cap */
	uint32_t round_trip_latency;	/* 24 bits */
	uint16_t lid;
	uint16_t sm_lid;
	uint16_t diag_code;
	uint16_t m_key_lease;		/* seconds */
	uint16_t m_key_violations;
	uint16_t p_key_violations;
	uint16_t q_key_violations;
	uint16_t max_credit_hint;
	uint16_t cap_mask2;		/* enum port_cap2 */
	uint8_t local_port;
	uint8_t width_enabled;		/* bits of enum link_width, 255 = all supported */
	uint8_t width_supported;
	uint8_t width_active;		/* enum link_width */
	uint8_t speed_supported;	/* 4 bits: 1 SDR, 2 DDR, 4 QDR */
	uint8_t speed_active;
	uint8_t speed_enabled;
	uint8_t state;			/* enum port_state */
	uint8_t phys_state;		/* enum port_phys_state */
	uint8_t down_default;		/* LinkDownDefaultState */
	uint8_t m_key_protect;		/* 2 bits */
	uint8_t lmc;			/* 3 bits */
	uint8_t neighbor_mtu;		/* MTU code 1..5 */
	uint8_t sm_sl;
	uint8_t vl_cap;			/* code 1..5: VL0, 0-1, 0-3, 0-7, 0-14 */
	uint8_t init_type;
	uint8_t vl_high_limit;
	uint8_t vl_arb_high_cap;
	uint8_t vl_arb_low_cap;
	uint8_t init_type_reply;
	uint8_t mtu_cap;		/* MTU code */
	uint8_t vl_stall_count;		/* 3 bits */
	uint8_t hoq_life;		/* 5 bits */
	uint8_t op_vls;			/* as vl_cap */
	bool enforce_in;		/* PartitionEnforcementInbound */
	bool enforce_out;
	bool filter_raw_in;
	bool filter_raw_out;
	uint8_t guid_cap;
	bool client_reregister;
	uint8_t mcast_pkey_trap;	/* MulticastPKeyTrapSuppressionEnabled, 2 bits */
	uint8_t subnet_timeout;		/* 5 bits */
	uint8_t resp_time;		/* RespTimeValue, 5 bits */
	uint8_t local_phy_errors;	/* threshold, 4 bits */
	uint8_t overrun_errors;		/* threshold, 4 bits */
	uint8_t speed_ext_active;	/* 4 bits: 1 FDR, 2 EDR, 4 HDR, 8 NDR */
	uint8_t speed_ext_supported;
	uint8_t speed_ext_enabled;	/* 5 bits */
	uint8_t speed_ext2_active;	/* XDR and up (LinkSpeedExtActive2), 0 on older devices */
	uint8_t speed_ext2_supported;
	uint8_t speed_ext2_enabled;
};

/* The active speed, from all of its fields; FDR10 is only visible in a vendor attribute. */
enum link_speed
portinfo_speed(const struct portinfo *p);
/* The data rate in Mb/s that two ports could have of a cable between them, by the widths and speeds
 * that both support; 0: they have none in common. */
uint32_t
portinfo_best_mbps(const struct portinfo *a, const struct portinfo *b);

struct switchinfo {
	uint16_t linear_fdb_cap;	/* LIDs */
	uint16_t random_fdb_cap;
	uint16_t multicast_fdb_cap;	/* MLIDs */
	uint16_t linear_fdb_top;	/* highest LID in use */
	uint8_t default_port;
	uint8_t default_mcast_primary;
	uint8_t default_mcast_not_primary;
	uint8_t life_time;		/* LifeTimeValue, 5 bits */
	bool port_state_change;		/* write 1 to clear */
	uint8_t optimized_slvl;		/* 2 bits */
	uint16_t lids_per_port;
	uint16_t partition_enforcement_cap;
	bool enforce_in_cap;		/* InboundEnforcementCap */
	bool enforce_out_cap;
	bool filter_raw_in_cap;
	bool filter_raw_out_cap;
	bool enhanced_port0;
	uint16_t multicast_fdb_top;
};

enum sm_state {
	SM_NOT_ACTIVE = 0,
	SM_DISCOVERING = 1,
	SM_STANDBY = 2,
	SM_MASTER = 3,
};

/* Attribute modifiers of a Set(SMInfo): what is asked of the other manager. */
enum sm_modifier {
	SM_HANDOVER = 1,	/* lead in my place */
	SM_ACKNOWLEDGE = 2,	/* I do */
	SM_DISABLE = 3,		/* be not active */
	SM_STAND_BY = 4,	/* stand by again */
	SM_DISCOVER = 5,	/* look who is there */
};

struct sminfo {
	uint64_t guid;		/* PortGUID where the SM lives */
	uint64_t sm_key;
	uint32_t activity;	/* ActCount */
	uint8_t priority;	/* 4 bits */
	uint8_t state;		/* enum sm_state, 4 bits */
};

/* Notice (IBA 13.4.8.2). Only the generic form is taken apart; `details` is as on the wire. */
enum trap_number {
	TRAP_GID_IN_SERVICE = 64,
	TRAP_GID_OUT_OF_SERVICE = 65,
	TRAP_GROUP_CREATED = 66,
	TRAP_GROUP_DELETED = 67,
	TRAP_LINK_STATE = 128,
	TRAP_LOCAL_INTEGRITY = 129,
	TRAP_BUFFER_OVERRUN = 130,
	TRAP_FLOW_CONTROL = 131,
	TRAP_CAPABILITY = 144,
	TRAP_SYSTEM_IMAGE_GUID = 145,
	TRAP_BAD_M_KEY = 256,
	TRAP_BAD_P_KEY = 257,
	TRAP_BAD_Q_KEY = 258,
	TRAP_SWITCH_BAD_P_KEY = 259,
};

struct notice {
	bool generic;		/* IsGeneric */
	uint8_t type;		/* 7 bits: 0 fatal, 1 urgent, 2 security, 3 subnet management,
				 * 4 informational */
	uint32_t producer;	/* generic: producer type, 24 bits; else vendor id */
	uint16_t trap;		/* generic: enum trap_number; else device id */
	uint16_t issuer_lid;
	bool toggle;		/* NoticeToggle */
	uint16_t count;		/* NoticeCount, 15 bits */
	uint8_t details[54];	/* DataDetails */
};

/* The LID that a notice is about, from its details: traps 128, 129-131, 144, 145; 0 for others. */
uint16_t
notice_subject_lid(const struct notice *n);
/* Traps 129-131: the port number; 0 for others. */
uint8_t
notice_subject_port(const struct notice *n);
/* Trap 144: the change-flags word of the details, with the "NodeDescription changed" bit; 0 unless
 * the details say that there are such changes (OtherLocalChanges). */
#define NOTICE_144_NODE_DESCRIPTION 0x0001
#define NOTICE_144_LINK_WIDTH 0x0002	/* LinkWidthEnabled */
#define NOTICE_144_LINK_SPEED 0x0004	/* LinkSpeedEnabled */
#define NOTICE_144_SM_PRIORITY 0x0008
uint16_t
notice_144_flags(const struct notice *n);
/* Trap 144 of a node: what its port, with this LID, is capable of, or (`flags`, as above) something
 * else has changed. */
void
notice_make_144(struct notice *n, uint8_t node_type, uint16_t lid, uint32_t cap_mask,
		uint16_t flags);

/* Traps 256 to 259: who tried what with a wrong key. */
struct notice_key {
	uint16_t source;	/* LID of who tried; 0xffff by a directed route */
	uint16_t dest;		/* LID that it was sent to; 0 unknown */
	uint64_t key;		/* M_Key, P_Key or Q_Key that was wrong */
	uint8_t method;		/* trap 256: of the request */
	uint16_t attr_id;	/* trap 256: of the request */
	uint8_t port;		/* trap 259: port of the switch; else 0 */
};

/* False: it is another trap. */
bool
notice_bad_key(const struct notice *n, struct notice_key *k);
/* Trap 145: the new SystemImageGUID; 0 for others. */
uint64_t
notice_145_guid(const struct notice *n);

struct vlarb_entry {
	uint8_t vl;		/* 4 bits */
	uint8_t weight;		/* 64-byte units; 0 = skipped */
};

void
nodeinfo_decode(struct nodeinfo *a, const uint8_t data[SMP_DATA_SIZE]);
void
nodeinfo_encode(const struct nodeinfo *a, uint8_t data[SMP_DATA_SIZE]);
/* The description as text: cut at the first NUL, trailing blanks removed. */
void
nodedesc_decode(char text[NODEDESC_SIZE], const uint8_t data[SMP_DATA_SIZE]);
void
nodedesc_encode(const char *text, uint8_t data[SMP_DATA_SIZE]);
void
portinfo_decode(struct portinfo *a, const uint8_t data[SMP_DATA_SIZE]);
void
portinfo_encode(const struct portinfo *a, uint8_t data[SMP_DATA_SIZE]);
void
switchinfo_decode(struct switchinfo *a, const uint8_t data[SMP_DATA_SIZE]);
void
switchinfo_encode(const struct switchinfo *a, uint8_t data[SMP_DATA_SIZE]);
void
sminfo_decode(struct sminfo *a, const uint8_t data[SMP_DATA_SIZE]);
void
sminfo_encode(const struct sminfo *a, uint8_t data[SMP_DATA_SIZE]);
void
notice_decode(struct notice *a, const uint8_t data[SMP_DATA_SIZE]);
void
notice_encode(const struct notice *a, uint8_t data[SMP_DATA_SIZE]);
/* LinearForwardingTable needs no codec: data[i] is the port for LID block * 64 + i. */
void
guidinfo_decode(uint64_t guids[8], const uint8_t data[SMP_DATA_SIZE]);
void
guidinfo_encode(const uint64_t guids[8], uint8_t data[SMP_DATA_SIZE]);
void
pkeys_decode(uint16_t keys[32], const uint8_t data[SMP_DATA_SIZE]);
void
pkeys_encode(const uint16_t keys[32], uint8_t data[SMP_DATA_SIZE]);
void
sl2vl_decode(uint8_t vl[16], const uint8_t data[SMP_DATA_SIZE]);
void
sl2vl_encode(const uint8_t vl[16], uint8_t data[SMP_DATA_SIZE]);
void
vlarb_decode(struct vlarb_entry e[32], const uint8_t data[SMP_DATA_SIZE]);
void
vlarb_encode(const struct vlarb_entry e[32], uint8_t data[SMP_DATA_SIZE]);
void
mft_decode(uint16_t masks[32], const uint8_t data[SMP_DATA_SIZE]);
void
mft_encode(const uint16_t masks[32], uint8_t data[SMP_DATA_SIZE]);

#endif
