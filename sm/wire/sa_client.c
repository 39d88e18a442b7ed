/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/wire/sa_record.h"
#include "sm/wire/sa_i.h"

/*
 * The records that clients ask for and leave with subnet administration (IBA volume 1, 15.2.5):
 * paths, multicast members, services, subscriptions; the notices that they are sent; and the list
 * of all types. A table of components each, see sa_i.h for what a line says.
 *
 * Traps 64 to 67 tell of a GID in their details (table 120: ports and multicast groups that come
 * and go).
 */
#define NOTICE_GID 6		/* byte of the details */
#define GIDS_AT 24u		/* of a MultiPathRecord */

#define T sa_class_port_info
static const struct sa_component class_port_info_components[] = {
	NUMBER(base_version, 0, 8, SA_NO_BIT),
	NUMBER(class_version, 8, 8, SA_NO_BIT),
	NUMBER(cap_mask, 16, 16, SA_NO_BIT),
	NUMBER(cap_mask2, 32, 27, SA_NO_BIT),
	NUMBER(resp_time, 59, 5, SA_NO_BIT),
	GID(redirect_gid, 64, SA_NO_BIT),
	NUMBER(redirect_tclass, 192, 8, SA_NO_BIT),
	NUMBER(redirect_sl, 200, 4, SA_NO_BIT),
	NUMBER(redirect_flow_label, 204, 20, SA_NO_BIT),
	NUMBER(redirect_lid, 224, 16, SA_NO_BIT),
	NUMBER(redirect_pkey, 240, 16, SA_NO_BIT),
	NUMBER(redirect_qp, 264, 24, SA_NO_BIT),
	NUMBER(redirect_qkey, 288, 32, SA_NO_BIT),
	GID(trap_gid, 320, SA_NO_BIT),
	NUMBER(trap_tclass, 448, 8, SA_NO_BIT),
	NUMBER(trap_sl, 456, 4, SA_NO_BIT),
	NUMBER(trap_flow_label, 460, 20, SA_NO_BIT),
	NUMBER(trap_lid, 480, 16, SA_NO_BIT),
	NUMBER(trap_pkey, 496, 16, SA_NO_BIT),
	NUMBER(trap_hop_limit, 512, 8, SA_NO_BIT),
	NUMBER(trap_qp, 520, 24, SA_NO_BIT),
	NUMBER(trap_qkey, 544, 32, SA_NO_BIT),
};
SA_TYPE(class_port_info, "ClassPortInfo", SA_CLASS_PORT_INFO, 72);
#undef T

#define T sa_notice
static const struct sa_component notice_components[] = {
	NUMBER(n.generic, 0, 1, SA_NO_BIT),
	NUMBER(n.type, 1, 7, SA_NO_BIT),
	NUMBER(n.producer, 8, 24, SA_NO_BIT),
	NUMBER(n.trap, 32, 16, SA_NO_BIT),
	NUMBER(n.issuer_lid, 48, 16, SA_NO_BIT),
	NUMBER(n.toggle, 64, 1, SA_NO_BIT),
	NUMBER(n.count, 65, 15, SA_NO_BIT),
	BYTES(n.details, 80, 432, SA_NO_BIT),
	GID(issuer_gid, 512, SA_NO_BIT),
};
SA_TYPE(notice, "Notice", SA_NOTICE, 80);
#undef T

#define T sa_inform_info
static const struct sa_component inform_info_components[] = {
	GID(gid, 0, SA_NO_BIT),
	NUMBER(lid_first, 128, 16, SA_NO_BIT),
	NUMBER(lid_last, 144, 16, SA_NO_BIT),
	NUMBER(generic, 176, 8, SA_NO_BIT),
	NUMBER(subscribe, 184, 8, SA_NO_BIT),
	NUMBER(type, 192, 16, SA_NO_BIT),
	NUMBER(trap, 208, 16, SA_NO_BIT),
	NUMBER(qpn, 224, 24, SA_NO_BIT),
	NUMBER(resp_time, 251, 5, SA_NO_BIT),
	NUMBER(producer, 264, 24, SA_NO_BIT),
};
SA_TYPE(inform_info, "InformInfo", SA_INFORM_INFO, 36);
#undef T

#define T sa_inform
static const struct sa_component inform_components[] = {
	GID(subscriber, 0, SA_INFORM_SUBSCRIBER_GID),
	NUMBER(number, 128, 16, SA_INFORM_ENUM),
	GID(info.gid, 192, SA_INFORM_GID),
	NUMBER(info.lid_first, 320, 16, SA_INFORM_LID_FIRST),
	NUMBER(info.lid_last, 336, 16, SA_INFORM_LID_LAST),
	NUMBER(info.generic, 368, 8, SA_INFORM_GENERIC),
	NUMBER(info.subscribe, 376, 8, SA_INFORM_SUBSCRIBE),
	NUMBER(info.type, 384, 16, SA_INFORM_TYPE),
	NUMBER(info.trap, 400, 16, SA_INFORM_TRAP),
	NUMBER(info.qpn, 416, 24, SA_INFORM_QPN),
	NUMBER(info.resp_time, 443, 5, SA_INFORM_RESP_TIME),
	NUMBER(info.producer, 456, 24, SA_INFORM_PRODUCER),
};
SA_TYPE(inform, "InformInfoRecord", SA_INFORM_INFO_RECORD, 60);
#undef T

#define T sa_service
static const struct sa_component service_components[] = {
	NUMBER(id, 0, 64, SA_SERVICE_ID),
	GID(gid, 64, SA_SERVICE_GID),
	NUMBER(pkey, 192, 16, SA_SERVICE_PKEY),
	NUMBER(lease, 224, 32, SA_SERVICE_LEASE),
	BYTES(key, 256, 128, SA_SERVICE_KEY),
	TEXT(name, 384, 512, SA_SERVICE_NAME),
	NUMBER(data8[0], 896, 8, SA_SERVICE_DATA8),
	NUMBER(data8[1], 904, 8, SA_SERVICE_DATA8 + 1),
	NUMBER(data8[2], 912, 8, SA_SERVICE_DATA8 + 2),
	NUMBER(data8[3], 920, 8, SA_SERVICE_DATA8 + 3),
	NUMBER(data8[4], 928, 8, SA_SERVICE_DATA8 + 4),
	NUMBER(data8[5], 936, 8, SA_SERVICE_DATA8 + 5),
	NUMBER(data8[6], 944, 8, SA_SERVICE_DATA8 + 6),
	NUMBER(data8[7], 952, 8, SA_SERVICE_DATA8 + 7),
	NUMBER(data8[8], 960, 8, SA_SERVICE_DATA8 + 8),
	NUMBER(data8[9], 968, 8, SA_SERVICE_DATA8 + 9),
	NUMBER(data8[10], 976, 8, SA_SERVICE_DATA8 + 10),
	NUMBER(data8[11], 984, 8, SA_SERVICE_DATA8 + 11),
	NUMBER(data8[12], 992, 8, SA_SERVICE_DATA8 + 12),
	NUMBER(data8[13], 1000, 8, SA_SERVICE_DATA8 + 13),
	NUMBER(data8[14], 1008, 8, SA_SERVICE_DATA8 + 14),
	NUMBER(data8[15], 1016, 8, SA_SERVICE_DATA8 + 15),
	NUMBER(data16[0], 1024, 16, SA_SERVICE_DATA16),
	NUMBER(data16[1], 1040, 16, SA_SERVICE_DATA16 + 1),
	NUMBER(data16[2], 1056, 16, SA_SERVICE_DATA16 + 2),
	NUMBER(data16[3], 1072, 16, SA_SERVICE_DATA16 + 3),
	NUMBER(data16[4], 1088, 16, SA_SERVICE_DATA16 + 4),
	NUMBER(data16[5], 1104, 16, SA_SERVICE_DATA16 + 5),
	NUMBER(data16[6], 1120, 16, SA_SERVICE_DATA16 + 6),
	NUMBER(data16[7], 1136, 16, SA_SERVICE_DATA16 + 7),
	NUMBER(data32[0], 1152, 32, SA_SERVICE_DATA32),
	NUMBER(data32[1], 1184, 32, SA_SERVICE_DATA32 + 1),
	NUMBER(data32[2], 1216, 32, SA_SERVICE_DATA32 + 2),
	NUMBER(data32[3], 1248, 32, SA_SERVICE_DATA32 + 3),
	NUMBER(data64[0], 1280, 64, SA_SERVICE_DATA64),
	NUMBER(data64[1], 1344, 64, SA_SERVICE_DATA64 + 1),
};
SA_TYPE(service, "ServiceRecord", SA_SERVICE, 176);
#undef T

#define T sa_path
static const struct sa_component path_components[] = {
	PART(service_id, 0, 8, SA_PATH_SERVICE_ID_MSB, 56),
	PART(service_id, 8, 56, SA_PATH_SERVICE_ID_LSB, 0),
	GID(dgid, 64, SA_PATH_DGID),
	GID(sgid, 192, SA_PATH_SGID),
	NUMBER(dlid, 320, 16, SA_PATH_DLID),
	NUMBER(slid, 336, 16, SA_PATH_SLID),
	NUMBER(raw, 352, 1, SA_PATH_RAW),
	NUMBER(flow_label, 356, 20, SA_PATH_FLOW_LABEL),
	NUMBER(hop_limit, 376, 8, SA_PATH_HOP_LIMIT),
	NUMBER(tclass, 384, 8, SA_PATH_TCLASS),
	NUMBER(reversible, 392, 1, SA_PATH_REVERSIBLE),
	NUMBER(numb_path, 393, 7, SA_PATH_NUMB_PATH),
	NUMBER(pkey, 400, 16, SA_PATH_PKEY),
	NUMBER(qos_class, 416, 12, SA_PATH_QOS_CLASS),
	NUMBER(sl, 428, 4, SA_PATH_SL),
	NUMBER(mtu_selector, 432, 2, SA_PATH_MTU_SELECTOR),
	NUMBER(mtu, 434, 6, SA_PATH_MTU),
	NUMBER(rate_selector, 440, 2, SA_PATH_RATE_SELECTOR),
	NUMBER(rate, 442, 6, SA_PATH_RATE),
	NUMBER(life_selector, 448, 2, SA_PATH_LIFE_SELECTOR),
	NUMBER(life, 450, 6, SA_PATH_LIFE),
	NUMBER(preference, 456, 8, SA_PATH_PREFERENCE),
};
SA_TYPE(path, "PathRecord", SA_PATH, 64);
#undef T

#define T sa_multipath
static const struct sa_component multipath_components[] = {
	NUMBER(raw, 0, 1, SA_MULTIPATH_RAW),
	NUMBER(flow_label, 4, 20, SA_MULTIPATH_FLOW_LABEL),
	NUMBER(hop_limit, 24, 8, SA_MULTIPATH_HOP_LIMIT),
	NUMBER(tclass, 32, 8, SA_MULTIPATH_TCLASS),
	NUMBER(reversible, 40, 1, SA_MULTIPATH_REVERSIBLE),
	NUMBER(numb_path, 41, 7, SA_MULTIPATH_NUMB_PATH),
	NUMBER(pkey, 48, 16, SA_MULTIPATH_PKEY),
	NUMBER(qos_class, 64, 12, SA_MULTIPATH_QOS_CLASS),
	NUMBER(sl, 76, 4, SA_MULTIPATH_SL),
	NUMBER(mtu_selector, 80, 2, SA_MULTIPATH_MTU_SELECTOR),
	NUMBER(mtu, 82, 6, SA_MULTIPATH_MTU),
	NUMBER(rate_selector, 88, 2, SA_MULTIPATH_RATE_SELECTOR),
	NUMBER(rate, 90, 6, SA_MULTIPATH_RATE),
	NUMBER(life_selector, 96, 2, SA_MULTIPATH_LIFE_SELECTOR),
	NUMBER(life, 98, 6, SA_MULTIPATH_LIFE),
	PART(service_id, 104, 8, SA_MULTIPATH_SERVICE_ID_MSB, 56),
	NUMBER(independence, 112, 2, SA_MULTIPATH_INDEPENDENCE),
	NUMBER(sgid_count, 120, 8, SA_MULTIPATH_SGID_COUNT),
	NUMBER(dgid_count, 128, 8, SA_MULTIPATH_DGID_COUNT),
	PART(service_id, 136, 56, SA_MULTIPATH_SERVICE_ID_LSB, 0),
};
SA_TYPE(multipath, "MultiPathRecord", SA_MULTI_PATH, 24);
#undef T

#define T sa_member
static const struct sa_component member_components[] = {
	GID(mgid, 0, SA_MEMBER_MGID),
	GID(port_gid, 128, SA_MEMBER_PORT_GID),
	NUMBER(qkey, 256, 32, SA_MEMBER_QKEY),
	NUMBER(mlid, 288, 16, SA_MEMBER_MLID),
	NUMBER(mtu_selector, 304, 2, SA_MEMBER_MTU_SELECTOR),
	NUMBER(mtu, 306, 6, SA_MEMBER_MTU),
	NUMBER(tclass, 312, 8, SA_MEMBER_TCLASS),
	NUMBER(pkey, 320, 16, SA_MEMBER_PKEY),
	NUMBER(rate_selector, 336, 2, SA_MEMBER_RATE_SELECTOR),
	NUMBER(rate, 338, 6, SA_MEMBER_RATE),
	NUMBER(life_selector, 344, 2, SA_MEMBER_LIFE_SELECTOR),
	NUMBER(life, 346, 6, SA_MEMBER_LIFE),
	NUMBER(sl, 352, 4, SA_MEMBER_SL),
	NUMBER(flow_label, 356, 20, SA_MEMBER_FLOW_LABEL),
	NUMBER(hop_limit, 376, 8, SA_MEMBER_HOP_LIMIT),
	NUMBER(scope, 384, 4, SA_MEMBER_SCOPE),
	NUMBER(join_state, 388, 4, SA_MEMBER_JOIN_STATE),
	NUMBER(proxy_join, 392, 1, SA_MEMBER_PROXY_JOIN),
};
SA_TYPE(member, "MCMemberRecord", SA_MC_MEMBER, 52);
#undef T

static const struct sa_type *const types[] = {
	&sa_class_port_info_type, &sa_notice_type, &sa_inform_info_type, &sa_node_type,
	&sa_port_type, &sa_sl2vl_type, &sa_switch_type, &sa_lft_type, &sa_mft_type, &sa_sm_type,
	&sa_link_type, &sa_guids_type, &sa_service_type, &sa_pkeys_type, &sa_path_type,
	&sa_vlarb_type, &sa_member_type, &sa_trace_type, &sa_multipath_type, &sa_inform_type,
};

const struct sa_type *
sa_type_find(uint16_t id)
{
	for (unsigned i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (types[i]->id == id)
			return types[i];
	return NULL;
}

struct sa_gid
sa_notice_gid(const struct notice *n)
{
	return sa_gid_get(n->details + NOTICE_GID);
}

void
sa_notice_set_gid(struct notice *n, const struct sa_gid *gid)
{
	sa_gid_put(gid, n->details + NOTICE_GID);
}

bool
sa_multipath_gid(const struct sa_multipath *m, const uint8_t *data, size_t size, unsigned i,
		 struct sa_gid *gid)
{
	if (i >= (unsigned)m->sgid_count + m->dgid_count || size < GIDS_AT + 16u * (i + 1))
		return false;
	*gid = sa_gid_get(data + GIDS_AT + 16u * i);
	return true;
}
