/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WIRE_SA_RECORD_H
#define WIRE_SA_RECORD_H

#include "sm/wire/attr.h"
#include "sm/wire/sa.h"

/*
 * The records of subnet administration (IBA volume 1, 15.2.5): for each a struct, its type, and the
 * numbers of its components in the component mask, as in SA_BIT(SA_PATH_DGID). Where chapter 14
 * has an attribute of that name, the record holds its struct.
 *
 * Numbers of components: one each in the order of the wire, reserved ones included; so it is
 * written down for most records (OpenSM's ib_types.h has the same), and taken to hold for the
 * contents of SwitchInfoRecord too. What the tables of ports hold (LFT, MFT, P_Keys, SL to VL, VL
 * arbitration), TraceRecord and the attributes that are no records have none.
 */

/* sa_NAME_type, sa_NAME_decode(struct sa_NAME *, bytes, size) and sa_NAME_encode(): see sa_decode()
 * and sa_encode(). */
#define SA_RECORD(name_) \
	extern const struct sa_type sa_##name_##_type; \
	static inline int \
	sa_##name_##_decode(struct sa_##name_ *r, const uint8_t *data, size_t size) \
	{ \
		return sa_decode(&sa_##name_##_type, r, data, size); \
	} \
	static inline void \
	sa_##name_##_encode(const struct sa_##name_ *r, uint8_t *data) \
	{ \
		sa_encode(&sa_##name_##_type, r, data); \
	}

/* ---- Devices and what they hold ---- */

enum sa_node_bit {
	SA_NODE_LID = 0,
	SA_NODE_BASE_VERSION = 2,
	SA_NODE_CLASS_VERSION,
	SA_NODE_TYPE,
	SA_NODE_NUM_PORTS,
	SA_NODE_SYSTEM_GUID,
	SA_NODE_GUID,
	SA_NODE_PORT_GUID,
	SA_NODE_PARTITION_CAP,
	SA_NODE_DEVICE_ID,
	SA_NODE_REVISION,
	SA_NODE_LOCAL_PORT,
	SA_NODE_VENDOR_ID,
	SA_NODE_DESCRIPTION,
};

struct sa_node {
	uint16_t lid;			/* of the port; of a switch that of port 0 */
	struct nodeinfo info;
	char description[NODEDESC_SIZE];	/* 64 bytes as they are, and a NUL */
};
SA_RECORD(node)

enum sa_port_bit {
	SA_PORT_LID = 0,
	SA_PORT_NUMBER,
	SA_PORT_OPTIONS,
	SA_PORT_M_KEY,
	SA_PORT_GID_PREFIX,
	SA_PORT_BASE_LID,
	SA_PORT_SM_LID,
	SA_PORT_CAP_MASK,
	SA_PORT_DIAG_CODE,
	SA_PORT_M_KEY_LEASE,
	SA_PORT_LOCAL_PORT,
	SA_PORT_WIDTH_ENABLED,
	SA_PORT_WIDTH_SUPPORTED,
	SA_PORT_WIDTH_ACTIVE,
	SA_PORT_SPEED_SUPPORTED,
	SA_PORT_STATE,
	SA_PORT_PHYS_STATE,
	SA_PORT_DOWN_DEFAULT,
	SA_PORT_M_KEY_PROTECT,
	SA_PORT_LMC = 20,
	SA_PORT_SPEED_ACTIVE,
	SA_PORT_SPEED_ENABLED,
	SA_PORT_NEIGHBOR_MTU,
	SA_PORT_SM_SL,
	SA_PORT_VL_CAP,
	SA_PORT_INIT_TYPE,
	SA_PORT_VL_HIGH_LIMIT,
	SA_PORT_VL_ARB_HIGH_CAP,
	SA_PORT_VL_ARB_LOW_CAP,
	SA_PORT_INIT_TYPE_REPLY,
	SA_PORT_MTU_CAP,
	SA_PORT_VL_STALL_COUNT,
	SA_PORT_HOQ_LIFE,
	SA_PORT_OP_VLS,
	SA_PORT_ENFORCE_IN,
	SA_PORT_ENFORCE_OUT,
	SA_PORT_FILTER_RAW_IN,
	SA_PORT_FILTER_RAW_OUT,
	SA_PORT_M_KEY_VIOLATIONS,
	SA_PORT_P_KEY_VIOLATIONS,
	SA_PORT_Q_KEY_VIOLATIONS,
	SA_PORT_GUID_CAP,
	SA_PORT_CLIENT_REREGISTER,
	SA_PORT_MCAST_PKEY_TRAP,	/* reserved once */
	SA_PORT_SUBNET_TIMEOUT,
	SA_PORT_RESP_TIME = 47,
	SA_PORT_LOCAL_PHY_ERRORS,
	SA_PORT_OVERRUN_ERRORS,
	SA_PORT_MAX_CREDIT_HINT,
	SA_PORT_ROUND_TRIP_LATENCY = 52,
	SA_PORT_CAP_MASK2,
	SA_PORT_SPEED_EXT_ACTIVE,
	SA_PORT_SPEED_EXT_SUPPORTED,
	SA_PORT_SPEED_EXT_ENABLED = 57,
};

struct sa_port {
	uint16_t lid;			/* EndportLID */
	uint8_t number;			/* of a switch; of others 0 or their local port */
	uint8_t options;		/* of the PortInfo that was asked for */
	struct portinfo info;
};
SA_RECORD(port)

enum sa_sl2vl_bit {
	SA_SL2VL_LID = 0,
	SA_SL2VL_IN_PORT,
	SA_SL2VL_OUT_PORT,
};

struct sa_sl2vl {
	uint16_t lid;
	uint8_t in_port, out_port;	/* of a switch */
	uint8_t vl[16];			/* of each SL, 4 bits */
};
SA_RECORD(sl2vl)

enum sa_switch_bit {
	SA_SWITCH_LID = 0,
	SA_SWITCH_LINEAR_FDB_CAP = 2,
	SA_SWITCH_RANDOM_FDB_CAP,
	SA_SWITCH_MULTICAST_FDB_CAP,
	SA_SWITCH_LINEAR_FDB_TOP,
	SA_SWITCH_DEFAULT_PORT,
	SA_SWITCH_DEFAULT_MCAST_PRIMARY,
	SA_SWITCH_DEFAULT_MCAST_NOT_PRIMARY,
	SA_SWITCH_LIFE_TIME,
	SA_SWITCH_PORT_STATE_CHANGE,
	SA_SWITCH_OPTIMIZED_SLVL,
	SA_SWITCH_LIDS_PER_PORT,
	SA_SWITCH_PARTITION_ENFORCEMENT_CAP,
	SA_SWITCH_ENFORCE_IN_CAP,
	SA_SWITCH_ENFORCE_OUT_CAP,
	SA_SWITCH_FILTER_RAW_IN_CAP,
	SA_SWITCH_FILTER_RAW_OUT_CAP,
	SA_SWITCH_ENHANCED_PORT0,
	SA_SWITCH_MULTICAST_FDB_TOP = 20,
};

struct sa_switch {
	uint16_t lid;
	struct switchinfo info;
};
SA_RECORD(switch)

enum sa_lft_bit {
	SA_LFT_LID = 0,
	SA_LFT_BLOCK,
};

struct sa_lft {
	uint16_t lid;			/* of the switch */
	uint16_t block;			/* of LFT_BLOCK_LEN LIDs */
	uint8_t ports[LFT_BLOCK_LEN];	/* of each of its LIDs */
};
SA_RECORD(lft)

enum sa_mft_bit {
	SA_MFT_LID = 0,
	SA_MFT_POSITION,
	SA_MFT_BLOCK = 3,
};

struct sa_mft {
	uint16_t lid;			/* of the switch */
	uint8_t position;		/* of 16 ports; 4 bits */
	uint16_t block;			/* of 32 MLIDs; 9 bits */
	uint16_t masks[32];		/* ports of each of its MLIDs */
};
SA_RECORD(mft)

enum sa_sm_bit {
	SA_SM_LID = 0,
	SA_SM_GUID = 2,
	SA_SM_KEY,
	SA_SM_ACTIVITY,
	SA_SM_PRIORITY,
	SA_SM_STATE,
};

struct sa_sm {
	uint16_t lid;
	struct sminfo info;
};
SA_RECORD(sm)

enum sa_link_bit {
	SA_LINK_FROM_LID = 0,
	SA_LINK_FROM_PORT,
	SA_LINK_TO_PORT,
	SA_LINK_TO_LID,
};

struct sa_link {
	uint16_t from_lid, to_lid;
	uint8_t from_port, to_port;
};
SA_RECORD(link)

enum sa_guids_bit {
	SA_GUIDS_LID = 0,
	SA_GUIDS_BLOCK,
	SA_GUIDS_FIRST = 4,		/* GID0; up to GID7 = 11 */
};

struct sa_guids {
	uint16_t lid;
	uint8_t block;			/* of eight GUIDs */
	uint64_t guids[8];
};
SA_RECORD(guids)

enum sa_pkeys_bit {
	SA_PKEYS_LID = 0,
	SA_PKEYS_BLOCK,
	SA_PKEYS_PORT,
};

struct sa_pkeys {
	uint16_t lid;
	uint16_t block;			/* of 32 keys */
	uint8_t port;			/* of a switch */
	uint16_t keys[32];
};
SA_RECORD(pkeys)

enum sa_vlarb_bit {
	SA_VLARB_LID = 0,
	SA_VLARB_PORT,
	SA_VLARB_BLOCK,
};

struct sa_vlarb {
	uint16_t lid;
	uint8_t port;			/* of a switch */
	uint8_t block;			/* 1 and 2 low, 3 and 4 high priority */
	struct vlarb_entry entries[32];
};
SA_RECORD(vlarb)

/* One node on the way of a packet: the answer of GetTraceTable, whose request is a PathRecord. */
struct sa_trace {
	uint64_t gid_prefix;
	uint16_t id_generation;		/* ids below are equal within one */
	uint8_t node_type;
	uint64_t node_id;
	uint64_t chassis_id;
	uint64_t entry_port_id;		/* not of switches; at the source that of the way out */
	uint64_t exit_port_id;		/* of routers only */
	uint8_t entry_port, exit_port;	/* numbers, of switches only; 0: begins or ends here */
};
SA_RECORD(trace)

/* ---- What clients ask for and leave ---- */

/* Bits of sa_class_port_info.cap_mask and .cap_mask2. */
enum sa_cap {
	SA_CAP_TRAPS = 1u << 0,
	SA_CAP_NOTICE = 1u << 1,
	SA_CAP_OPTIONAL_RECORDS = 1u << 8,
	SA_CAP_MULTICAST = 1u << 9,	/* UD multicast */
	SA_CAP_MULTIPATH = 1u << 10,
	SA_CAP_REINIT = 1u << 11,
	SA_CAP_CAP_MASK_MATCH = 1u << 13,	/* PortInfoRecord by bits of CapabilityMask */
};

enum sa_cap2 {
	SA_CAP2_QOS = 1u << 1,
	SA_CAP2_REVERSE_PKEY = 1u << 2,	/* membership bit of the P_Key in reversible paths */
	SA_CAP2_MFT_TOP = 1u << 3,
	SA_CAP2_ALIAS_GUIDS = 1u << 5,	/* GUIDInfoRecord Set and Delete */
	SA_CAP2_FULL_PORTINFO = 1u << 6,
	SA_CAP2_EXTENDED_SPEEDS = 1u << 7,
	SA_CAP2_MULTICAST_SERVICE = 1u << 8,
	SA_CAP2_CAP_MASK2_MATCH = 1u << 10,
	SA_CAP2_SEND_ONLY_FULL = 1u << 12,	/* joins as send-only full member */
	SA_CAP2_WIDTH_2X = 1u << 13,
	SA_CAP2_HDR = 1u << 15,
};

struct sa_class_port_info {
	uint8_t base_version, class_version;
	uint16_t cap_mask;		/* enum sa_cap */
	uint32_t cap_mask2;		/* enum sa_cap2, 27 bits */
	uint8_t resp_time;		/* RespTimeValue, 5 bits */
	struct sa_gid redirect_gid;	/* where to ask instead; all 0 = here */
	uint8_t redirect_tclass, redirect_sl;
	uint32_t redirect_flow_label;
	uint16_t redirect_lid, redirect_pkey;
	uint32_t redirect_qp, redirect_qkey;
	struct sa_gid trap_gid;		/* where traps go */
	uint8_t trap_tclass, trap_sl;
	uint32_t trap_flow_label;
	uint16_t trap_lid, trap_pkey;
	uint8_t trap_hop_limit;
	uint32_t trap_qp, trap_qkey;
};
SA_RECORD(class_port_info)

/* A notice as Reports carry it: 16 bytes longer than in an SMP. */
struct sa_notice {
	struct notice n;
	struct sa_gid issuer_gid;
};
SA_RECORD(notice)

/* Traps 64 to 67 are about a GID, in bytes 6 to 21 of the details. */
struct sa_gid
sa_notice_gid(const struct notice *n);
void
sa_notice_set_gid(struct notice *n, const struct sa_gid *gid);

#define SA_INFORM_ALL_LIDS 0xffff	/* lid_first: all sources */
#define SA_INFORM_ALL_TYPES 0xffff
#define SA_INFORM_ALL_TRAPS 0xffff
#define SA_INFORM_ALL_PRODUCERS 0xffffff

/* What a subscriber wants to be told. */
struct sa_inform_info {
	struct sa_gid gid;		/* of the source; all 0: the LIDs count */
	uint16_t lid_first, lid_last;	/* of the sources */
	uint8_t generic;		/* IsGeneric: 1; 0 for a vendor's notices */
	uint8_t subscribe;		/* 1 subscribe, 0 unsubscribe */
	uint16_t type;			/* of notices */
	uint16_t trap;			/* generic: trap number; else device id */
	uint32_t qpn;			/* Reports go there */
	uint8_t resp_time;		/* of the subscriber, 5 bits */
	uint32_t producer;		/* generic: node type; else vendor id */
};
SA_RECORD(inform_info)

enum sa_inform_bit {
	SA_INFORM_SUBSCRIBER_GID = 0,
	SA_INFORM_ENUM,
	SA_INFORM_GID = 3,
	SA_INFORM_LID_FIRST,
	SA_INFORM_LID_LAST,
	SA_INFORM_GENERIC = 7,
	SA_INFORM_SUBSCRIBE,
	SA_INFORM_TYPE,
	SA_INFORM_TRAP,
	SA_INFORM_QPN,
	SA_INFORM_RESP_TIME = 13,
	SA_INFORM_PRODUCER = 15,
};

struct sa_inform {
	struct sa_gid subscriber;
	uint16_t number;		/* InformInfoEnum: of the subscriber's subscriptions */
	struct sa_inform_info info;
};
SA_RECORD(inform)

enum sa_service_bit {
	SA_SERVICE_ID = 0,
	SA_SERVICE_GID,
	SA_SERVICE_PKEY,
	SA_SERVICE_LEASE = 4,
	SA_SERVICE_KEY,
	SA_SERVICE_NAME,
	SA_SERVICE_DATA8,		/* and 15 more: 7..22 */
	SA_SERVICE_DATA16 = 23,		/* 23..30 */
	SA_SERVICE_DATA32 = 31,		/* 31..34 */
	SA_SERVICE_DATA64 = 35,		/* 35, 36 */
};

#define SA_LEASE_INFINITE 0xffffffffu

struct sa_service {
	uint64_t id;
	struct sa_gid gid;		/* of the port that offers it */
	uint16_t pkey;
	uint32_t lease;			/* seconds */
	uint8_t key[16];
	char name[64];			/* bytes as they are: no NUL if it has 64 */
	uint8_t data8[16];
	uint16_t data16[8];
	uint32_t data32[4];
	uint64_t data64[2];
};
SA_RECORD(service)

enum sa_path_bit {
	SA_PATH_SERVICE_ID_MSB = 0,	/* upper 8 bits of service_id */
	SA_PATH_SERVICE_ID_LSB,		/* the others */
	SA_PATH_DGID,
	SA_PATH_SGID,
	SA_PATH_DLID,
	SA_PATH_SLID,
	SA_PATH_RAW,
	SA_PATH_FLOW_LABEL = 8,
	SA_PATH_HOP_LIMIT,
	SA_PATH_TCLASS,
	SA_PATH_REVERSIBLE,
	SA_PATH_NUMB_PATH,
	SA_PATH_PKEY,
	SA_PATH_QOS_CLASS,
	SA_PATH_SL,
	SA_PATH_MTU_SELECTOR,
	SA_PATH_MTU,
	SA_PATH_RATE_SELECTOR,
	SA_PATH_RATE,
	SA_PATH_LIFE_SELECTOR,
	SA_PATH_LIFE,
	SA_PATH_PREFERENCE,
};

struct sa_path {
	uint64_t service_id;
	struct sa_gid dgid, sgid;
	uint16_t dlid, slid;
	bool raw;			/* RawTraffic */
	uint32_t flow_label;		/* 20 bits */
	uint8_t hop_limit;
	uint8_t tclass;
	bool reversible;
	uint8_t numb_path;		/* 7 bits: answers wanted at most */
	uint16_t pkey;
	uint16_t qos_class;		/* 12 bits */
	uint8_t sl;			/* 4 bits */
	uint8_t mtu_selector, mtu;	/* enum sa_selector; MTU code, 6 bits */
	uint8_t rate_selector, rate;	/* rate code, 6 bits */
	uint8_t life_selector, life;	/* PacketLifeTime: 4.096 us * 2^life, 6 bits */
	uint8_t preference;
};
SA_RECORD(path)

enum sa_multipath_bit {
	SA_MULTIPATH_RAW = 0,
	SA_MULTIPATH_FLOW_LABEL = 2,
	SA_MULTIPATH_HOP_LIMIT,
	SA_MULTIPATH_TCLASS,
	SA_MULTIPATH_REVERSIBLE,
	SA_MULTIPATH_NUMB_PATH,
	SA_MULTIPATH_PKEY,
	SA_MULTIPATH_QOS_CLASS,
	SA_MULTIPATH_SL,
	SA_MULTIPATH_MTU_SELECTOR,
	SA_MULTIPATH_MTU,
	SA_MULTIPATH_RATE_SELECTOR,
	SA_MULTIPATH_RATE,
	SA_MULTIPATH_LIFE_SELECTOR,
	SA_MULTIPATH_LIFE,
	SA_MULTIPATH_SERVICE_ID_MSB,
	SA_MULTIPATH_INDEPENDENCE,
	SA_MULTIPATH_SGID_COUNT = 19,
	SA_MULTIPATH_DGID_COUNT,
	SA_MULTIPATH_SERVICE_ID_LSB,
};

/* The fixed part; the GIDs follow it. */
struct sa_multipath {
	bool raw;			/* these as in struct sa_path */
	uint32_t flow_label;
	uint8_t hop_limit;
	uint8_t tclass;
	bool reversible;
	uint8_t numb_path;		/* of paths in all */
	uint16_t pkey;
	uint16_t qos_class;
	uint8_t sl;
	uint8_t mtu_selector, mtu;
	uint8_t rate_selector, rate;
	uint8_t life_selector, life;
	uint64_t service_id;
	uint8_t independence;		/* IndependenceSelector, 2 bits */
	uint8_t sgid_count, dgid_count;	/* of GIDs that follow */
};
SA_RECORD(multipath)

/* GID i of sgid_count + dgid_count, sources first, from the bytes of the whole request. False past
 * the counts that `m` gives or past the end of the bytes. */
bool
sa_multipath_gid(const struct sa_multipath *m, const uint8_t *data, size_t size, unsigned i,
		 struct sa_gid *gid);

enum sa_member_bit {
	SA_MEMBER_MGID = 0,
	SA_MEMBER_PORT_GID,
	SA_MEMBER_QKEY,
	SA_MEMBER_MLID,
	SA_MEMBER_MTU_SELECTOR,
	SA_MEMBER_MTU,
	SA_MEMBER_TCLASS,
	SA_MEMBER_PKEY,
	SA_MEMBER_RATE_SELECTOR,
	SA_MEMBER_RATE,
	SA_MEMBER_LIFE_SELECTOR,
	SA_MEMBER_LIFE,
	SA_MEMBER_SL,
	SA_MEMBER_FLOW_LABEL,
	SA_MEMBER_HOP_LIMIT,
	SA_MEMBER_SCOPE,
	SA_MEMBER_JOIN_STATE,
	SA_MEMBER_PROXY_JOIN,
};

enum sa_join_state {
	SA_JOIN_FULL = 1,
	SA_JOIN_NON = 2,
	SA_JOIN_SEND_ONLY_NON = 4,
	SA_JOIN_SEND_ONLY_FULL = 8,
};

struct sa_member {
	struct sa_gid mgid;
	struct sa_gid port_gid;
	uint32_t qkey;
	uint16_t mlid;
	uint8_t mtu_selector, mtu;	/* as in struct sa_path */
	uint8_t tclass;
	uint16_t pkey;
	uint8_t rate_selector, rate;
	uint8_t life_selector, life;
	uint8_t sl;			/* 4 bits */
	uint32_t flow_label;		/* 20 bits */
	uint8_t hop_limit;
	uint8_t scope;			/* 4 bits */
	uint8_t join_state;		/* enum sa_join_state, 4 bits */
	bool proxy_join;
};
SA_RECORD(member)

#endif
