/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/wire/sa_record.h"
#include "sm/wire/sa_i.h"

/*
 * The records about devices and what they hold (IBA volume 1, 15.2.5), a table of components each:
 * see sa_i.h for what a line says. The positions within PortInfo and the other attributes of
 * chapter 14 are those that attr.c and portinfo.c have too.
 */

#define T sa_node
static const struct sa_component node_components[] = {
	NUMBER(lid, 0, 16, SA_NODE_LID),
	NUMBER(info.base_version, 32, 8, SA_NODE_BASE_VERSION),
	NUMBER(info.class_version, 40, 8, SA_NODE_CLASS_VERSION),
	NUMBER(info.node_type, 48, 8, SA_NODE_TYPE),
	NUMBER(info.num_ports, 56, 8, SA_NODE_NUM_PORTS),
	NUMBER(info.system_guid, 64, 64, SA_NODE_SYSTEM_GUID),
	NUMBER(info.node_guid, 128, 64, SA_NODE_GUID),
	NUMBER(info.port_guid, 192, 64, SA_NODE_PORT_GUID),
	NUMBER(info.partition_cap, 256, 16, SA_NODE_PARTITION_CAP),
	NUMBER(info.device_id, 272, 16, SA_NODE_DEVICE_ID),
	NUMBER(info.revision, 288, 32, SA_NODE_REVISION),
	NUMBER(info.local_port, 320, 8, SA_NODE_LOCAL_PORT),
	NUMBER(info.vendor_id, 328, 24, SA_NODE_VENDOR_ID),
	TEXT(description, 352, 512, SA_NODE_DESCRIPTION),
};
SA_TYPE(node, "NodeRecord", SA_NODE, 108);
#undef T

#define T sa_port
static const struct sa_component port_components[] = {
	NUMBER(lid, 0, 16, SA_PORT_LID),
	NUMBER(number, 16, 8, SA_PORT_NUMBER),
	NUMBER(options, 24, 8, SA_PORT_OPTIONS),
	NUMBER(info.m_key, 32, 64, SA_PORT_M_KEY),
	NUMBER(info.gid_prefix, 96, 64, SA_PORT_GID_PREFIX),
	NUMBER(info.lid, 160, 16, SA_PORT_BASE_LID),
	NUMBER(info.sm_lid, 176, 16, SA_PORT_SM_LID),
	NUMBER(info.cap_mask, 192, 32, SA_PORT_CAP_MASK),
	NUMBER(info.diag_code, 224, 16, SA_PORT_DIAG_CODE),
	NUMBER(info.m_key_lease, 240, 16, SA_PORT_M_KEY_LEASE),
	NUMBER(info.local_port, 256, 8, SA_PORT_LOCAL_PORT),
	NUMBER(info.width_enabled, 264, 8, SA_PORT_WIDTH_ENABLED),
	NUMBER(info.width_supported, 272, 8, SA_PORT_WIDTH_SUPPORTED),
	NUMBER(info.width_active, 280, 8, SA_PORT_WIDTH_ACTIVE),
	NUMBER(info.speed_supported, 288, 4, SA_PORT_SPEED_SUPPORTED),
	NUMBER(info.state, 292, 4, SA_PORT_STATE),
	NUMBER(info.phys_state, 296, 4, SA_PORT_PHYS_STATE),
	NUMBER(info.down_default, 300, 4, SA_PORT_DOWN_DEFAULT),
	NUMBER(info.m_key_protect, 304, 2, SA_PORT_M_KEY_PROTECT),
	NUMBER(info.lmc, 309, 3, SA_PORT_LMC),
	NUMBER(info.speed_active, 312, 4, SA_PORT_SPEED_ACTIVE),
	NUMBER(info.speed_enabled, 316, 4, SA_PORT_SPEED_ENABLED),
	NUMBER(info.neighbor_mtu, 320, 4, SA_PORT_NEIGHBOR_MTU),
	NUMBER(info.sm_sl, 324, 4, SA_PORT_SM_SL),
	NUMBER(info.vl_cap, 328, 4, SA_PORT_VL_CAP),
	NUMBER(info.init_type, 332, 4, SA_PORT_INIT_TYPE),
	NUMBER(info.vl_high_limit, 336, 8, SA_PORT_VL_HIGH_LIMIT),
	NUMBER(info.vl_arb_high_cap, 344, 8, SA_PORT_VL_ARB_HIGH_CAP),
	NUMBER(info.vl_arb_low_cap, 352, 8, SA_PORT_VL_ARB_LOW_CAP),
	NUMBER(info.init_type_reply, 360, 4, SA_PORT_INIT_TYPE_REPLY),
	NUMBER(info.mtu_cap, 364, 4, SA_PORT_MTU_CAP),
	NUMBER(info.vl_stall_count, 368, 3, SA_PORT_VL_STALL_COUNT),
	NUMBER(info.hoq_life, 371, 5, SA_PORT_HOQ_LIFE),
	NUMBER(info.op_vls, 376, 4, SA_PORT_OP_VLS),
	NUMBER(info.enforce_in, 380, 1, SA_PORT_ENFORCE_IN),
	NUMBER(info.enforce_out, 381, 1, SA_PORT_ENFORCE_OUT),
	NUMBER(info.filter_raw_in, 382, 1, SA_PORT_FILTER_RAW_IN),
	NUMBER(info.filter_raw_out, 383, 1, SA_PORT_FILTER_RAW_OUT),
	NUMBER(info.m_key_violations, 384, 16, SA_PORT_M_KEY_VIOLATIONS),
	NUMBER(info.p_key_violations, 400, 16, SA_PORT_P_KEY_VIOLATIONS),
	NUMBER(info.q_key_violations, 416, 16, SA_PORT_Q_KEY_VIOLATIONS),
	NUMBER(info.guid_cap, 432, 8, SA_PORT_GUID_CAP),
	NUMBER(info.client_reregister, 440, 1, SA_PORT_CLIENT_REREGISTER),
	NUMBER(info.mcast_pkey_trap, 441, 2, SA_PORT_MCAST_PKEY_TRAP),
	NUMBER(info.subnet_timeout, 443, 5, SA_PORT_SUBNET_TIMEOUT),
	NUMBER(info.resp_time, 451, 5, SA_PORT_RESP_TIME),
	NUMBER(info.local_phy_errors, 456, 4, SA_PORT_LOCAL_PHY_ERRORS),
	NUMBER(info.overrun_errors, 460, 4, SA_PORT_OVERRUN_ERRORS),
	NUMBER(info.max_credit_hint, 464, 16, SA_PORT_MAX_CREDIT_HINT),
	NUMBER(info.speed_ext2_active, 481, 2, SA_NO_BIT),
	NUMBER(info.speed_ext2_supported, 483, 2, SA_NO_BIT),
	NUMBER(info.speed_ext2_enabled, 485, 3, SA_NO_BIT),
	NUMBER(info.round_trip_latency, 488, 24, SA_PORT_ROUND_TRIP_LATENCY),
	NUMBER(info.cap_mask2, 512, 16, SA_PORT_CAP_MASK2),
	NUMBER(info.speed_ext_active, 528, 4, SA_PORT_SPEED_EXT_ACTIVE),
	NUMBER(info.speed_ext_supported, 532, 4, SA_PORT_SPEED_EXT_SUPPORTED),
	NUMBER(info.speed_ext_enabled, 539, 5, SA_PORT_SPEED_EXT_ENABLED),
};
SA_TYPE(port, "PortInfoRecord", SA_PORT_INFO, 68);
#undef T

#define T sa_sl2vl
static const struct sa_component sl2vl_components[] = {
	NUMBER(lid, 0, 16, SA_SL2VL_LID),
	NUMBER(in_port, 16, 8, SA_SL2VL_IN_PORT),
	NUMBER(out_port, 24, 8, SA_SL2VL_OUT_PORT),
	NUMBERS(vl[0], 64, 4, 16, 4, 1),
};
SA_TYPE(sl2vl, "SLtoVLMappingTableRecord", SA_SL_TO_VL, 16);
#undef T

#define T sa_switch
static const struct sa_component switch_components[] = {
	NUMBER(lid, 0, 16, SA_SWITCH_LID),
	NUMBER(info.linear_fdb_cap, 32, 16, SA_SWITCH_LINEAR_FDB_CAP),
	NUMBER(info.random_fdb_cap, 48, 16, SA_SWITCH_RANDOM_FDB_CAP),
	NUMBER(info.multicast_fdb_cap, 64, 16, SA_SWITCH_MULTICAST_FDB_CAP),
	NUMBER(info.linear_fdb_top, 80, 16, SA_SWITCH_LINEAR_FDB_TOP),
	NUMBER(info.default_port, 96, 8, SA_SWITCH_DEFAULT_PORT),
	NUMBER(info.default_mcast_primary, 104, 8, SA_SWITCH_DEFAULT_MCAST_PRIMARY),
	NUMBER(info.default_mcast_not_primary, 112, 8, SA_SWITCH_DEFAULT_MCAST_NOT_PRIMARY),
	NUMBER(info.life_time, 120, 5, SA_SWITCH_LIFE_TIME),
	NUMBER(info.port_state_change, 125, 1, SA_SWITCH_PORT_STATE_CHANGE),
	NUMBER(info.optimized_slvl, 126, 2, SA_SWITCH_OPTIMIZED_SLVL),
	NUMBER(info.lids_per_port, 128, 16, SA_SWITCH_LIDS_PER_PORT),
	NUMBER(info.partition_enforcement_cap, 144, 16, SA_SWITCH_PARTITION_ENFORCEMENT_CAP),
	NUMBER(info.enforce_in_cap, 160, 1, SA_SWITCH_ENFORCE_IN_CAP),
	NUMBER(info.enforce_out_cap, 161, 1, SA_SWITCH_ENFORCE_OUT_CAP),
	NUMBER(info.filter_raw_in_cap, 162, 1, SA_SWITCH_FILTER_RAW_IN_CAP),
	NUMBER(info.filter_raw_out_cap, 163, 1, SA_SWITCH_FILTER_RAW_OUT_CAP),
	NUMBER(info.enhanced_port0, 164, 1, SA_SWITCH_ENHANCED_PORT0),
	NUMBER(info.multicast_fdb_top, 176, 16, SA_SWITCH_MULTICAST_FDB_TOP),
};
SA_TYPE(switch, "SwitchInfoRecord", SA_SWITCH_INFO, 24);
#undef T

#define T sa_lft
static const struct sa_component lft_components[] = {
	NUMBER(lid, 0, 16, SA_LFT_LID),
	NUMBER(block, 16, 16, SA_LFT_BLOCK),
	BYTES(ports, 64, 512, SA_NO_BIT),
};
SA_TYPE(lft, "LinearForwardingTableRecord", SA_LINEAR_FDB, 72);
#undef T

#define T sa_mft
static const struct sa_component mft_components[] = {
	NUMBER(lid, 0, 16, SA_MFT_LID),
	NUMBER(position, 16, 4, SA_MFT_POSITION),
	NUMBER(block, 23, 9, SA_MFT_BLOCK),
	NUMBERS(masks[0], 64, 16, 32, 16, 2),
};
SA_TYPE(mft, "MulticastForwardingTableRecord", SA_MULTICAST_FDB, 72);
#undef T

#define T sa_sm
static const struct sa_component sm_components[] = {
	NUMBER(lid, 0, 16, SA_SM_LID),
	NUMBER(info.guid, 32, 64, SA_SM_GUID),
	NUMBER(info.sm_key, 96, 64, SA_SM_KEY),
	NUMBER(info.activity, 160, 32, SA_SM_ACTIVITY),
	NUMBER(info.priority, 192, 4, SA_SM_PRIORITY),
	NUMBER(info.state, 196, 4, SA_SM_STATE),
};
SA_TYPE(sm, "SMInfoRecord", SA_SM_INFO, 25);
#undef T

#define T sa_link
static const struct sa_component link_components[] = {
	NUMBER(from_lid, 0, 16, SA_LINK_FROM_LID),
	NUMBER(from_port, 16, 8, SA_LINK_FROM_PORT),
	NUMBER(to_port, 24, 8, SA_LINK_TO_PORT),
	NUMBER(to_lid, 32, 16, SA_LINK_TO_LID),
};
SA_TYPE(link, "LinkRecord", SA_LINK, 6);
#undef T

#define T sa_guids
static const struct sa_component guids_components[] = {
	NUMBER(lid, 0, 16, SA_GUIDS_LID),
	NUMBER(block, 16, 8, SA_GUIDS_BLOCK),
	NUMBER(guids[0], 64, 64, SA_GUIDS_FIRST),
	NUMBER(guids[1], 128, 64, SA_GUIDS_FIRST + 1),
	NUMBER(guids[2], 192, 64, SA_GUIDS_FIRST + 2),
	NUMBER(guids[3], 256, 64, SA_GUIDS_FIRST + 3),
	NUMBER(guids[4], 320, 64, SA_GUIDS_FIRST + 4),
	NUMBER(guids[5], 384, 64, SA_GUIDS_FIRST + 5),
	NUMBER(guids[6], 448, 64, SA_GUIDS_FIRST + 6),
	NUMBER(guids[7], 512, 64, SA_GUIDS_FIRST + 7),
};
SA_TYPE(guids, "GUIDInfoRecord", SA_GUID_INFO, 72);
#undef T

#define T sa_pkeys
static const struct sa_component pkeys_components[] = {
	NUMBER(lid, 0, 16, SA_PKEYS_LID),
	NUMBER(block, 16, 16, SA_PKEYS_BLOCK),
	NUMBER(port, 32, 8, SA_PKEYS_PORT),
	NUMBERS(keys[0], 64, 16, 32, 16, 2),
};
SA_TYPE(pkeys, "P_KeyTableRecord", SA_P_KEY_TABLE, 72);
#undef T

#define T sa_vlarb
static const struct sa_component vlarb_components[] = {
	NUMBER(lid, 0, 16, SA_VLARB_LID),
	NUMBER(port, 16, 8, SA_VLARB_PORT),
	NUMBER(block, 24, 8, SA_VLARB_BLOCK),
	NUMBERS(entries[0].vl, 68, 4, 32, 16, 2),
	NUMBERS(entries[0].weight, 72, 8, 32, 16, 2),
};
SA_TYPE(vlarb, "VLArbitrationTableRecord", SA_VL_ARBITRATION, 72);
#undef T

#define T sa_trace
static const struct sa_component trace_components[] = {
	NUMBER(gid_prefix, 0, 64, SA_NO_BIT),
	NUMBER(id_generation, 64, 16, SA_NO_BIT),
	NUMBER(node_type, 88, 8, SA_NO_BIT),
	NUMBER(node_id, 96, 64, SA_NO_BIT),
	NUMBER(chassis_id, 160, 64, SA_NO_BIT),
	NUMBER(entry_port_id, 224, 64, SA_NO_BIT),
	NUMBER(exit_port_id, 288, 64, SA_NO_BIT),
	NUMBER(entry_port, 352, 8, SA_NO_BIT),
	NUMBER(exit_port, 360, 8, SA_NO_BIT),
};
SA_TYPE(trace, "TraceRecord", SA_TRACE, 46);
#undef T
