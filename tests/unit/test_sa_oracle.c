/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The records of subnet administration against implementations that share nothing with ours:
 * libibmad's tables of fields; OpenSM's ib_types.h (package libopensm-dev), which has every record
 * but TraceRecord, and the component masks; and libopensm's order of rates. What is not installed
 * is not asked.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <dlfcn.h>
#include <infiniband/mad.h>
#include "sm/wire/sa_rate.h"
#include "tests/unit/sa_help.h"

#if __has_include(<infiniband/iba/ib_types.h>)
#define HAVE_IB_TYPES 1
#include <infiniband/iba/ib_types.h>
#undef IN
#undef OUT
#else
#define HAVE_IB_TYPES 0
#endif

#define ROUNDS 5000

/* ---- libibmad ---- */

struct known {
	const struct sa_type *t;	/* record */
	const char *name;		/* of the component */
	enum MAD_FIELDS field;		/* libibmad's name for it */
};

static const struct known fields[] = {
	{ &sa_path_type, "dgid", IB_SA_PR_DGID_F }, { &sa_path_type, "sgid", IB_SA_PR_SGID_F },
	{ &sa_path_type, "dlid", IB_SA_PR_DLID_F }, { &sa_path_type, "slid", IB_SA_PR_SLID_F },
	{ &sa_path_type, "numb_path", IB_SA_PR_NPATH_F }, { &sa_path_type, "sl", IB_SA_PR_SL_F },
	{ &sa_member_type, "mgid", IB_SA_MCM_MGID_F },
	{ &sa_member_type, "port_gid", IB_SA_MCM_PORTGID_F },
	{ &sa_member_type, "qkey", IB_SA_MCM_QKEY_F },
	{ &sa_member_type, "mlid", IB_SA_MCM_MLID_F },
	{ &sa_member_type, "sl", IB_SA_MCM_SL_F }, { &sa_member_type, "mtu", IB_SA_MCM_MTU_F },
	{ &sa_member_type, "rate", IB_SA_MCM_RATE_F },
	{ &sa_member_type, "tclass", IB_SA_MCM_TCLASS_F },
	{ &sa_member_type, "pkey", IB_SA_MCM_PKEY_F },
	{ &sa_member_type, "flow_label", IB_SA_MCM_FLOW_LABEL_F },
	{ &sa_member_type, "join_state", IB_SA_MCM_JOIN_STATE_F },
	{ &sa_member_type, "proxy_join", IB_SA_MCM_PROXY_JOIN_F },
	{ &sa_service_type, "id", IB_SA_SR_ID_F }, { &sa_service_type, "gid", IB_SA_SR_GID_F },
	{ &sa_service_type, "pkey", IB_SA_SR_PKEY_F },
	{ &sa_service_type, "lease", IB_SA_SR_LEASE_F },
	{ &sa_service_type, "key", IB_SA_SR_KEY_F },
	{ &sa_service_type, "name", IB_SA_SR_NAME_F },
	{ &sa_guids_type, "lid", IB_SA_GIR_LID_F },
	{ &sa_guids_type, "block", IB_SA_GIR_BLOCKNUM_F },
	{ &sa_guids_type, "guids[0]", IB_SA_GIR_GUID0_F },
	{ &sa_guids_type, "guids[7]", IB_SA_GIR_GUID7_F },
	{ &sa_node_type, "lid", IB_SA_NR_LID_F },
	{ &sa_node_type, "info.base_version", IB_SA_NR_BASEVER_F },
	{ &sa_node_type, "info.class_version", IB_SA_NR_CLASSVER_F },
	{ &sa_node_type, "info.node_type", IB_SA_NR_TYPE_F },
	{ &sa_node_type, "info.num_ports", IB_SA_NR_NPORTS_F },
	{ &sa_node_type, "info.system_guid", IB_SA_NR_SYSTEM_GUID_F },
	{ &sa_node_type, "info.node_guid", IB_SA_NR_GUID_F },
	{ &sa_node_type, "info.port_guid", IB_SA_NR_PORT_GUID_F },
	{ &sa_node_type, "info.partition_cap", IB_SA_NR_PARTITION_CAP_F },
	{ &sa_node_type, "info.device_id", IB_SA_NR_DEVID_F },
	{ &sa_node_type, "info.revision", IB_SA_NR_REVISION_F },
	{ &sa_node_type, "info.local_port", IB_SA_NR_LOCAL_PORT_F },
	{ &sa_node_type, "info.vendor_id", IB_SA_NR_VENDORID_F },
	{ &sa_node_type, "description", IB_SA_NR_NODEDESC_F },
	{ &sa_multipath_type, "numb_path", IB_SA_MP_NPATH_F },
	{ &sa_multipath_type, "sgid_count", IB_SA_MP_NSRC_F },
	{ &sa_multipath_type, "dgid_count", IB_SA_MP_NDEST_F },
};

/* The bytes of a component as libibmad copies them. */
static void
agree_bytes(const struct sa_component *c, const void *record, uint8_t *data, enum MAD_FIELDS f)
{
	uint8_t theirs[64] = { 0 }, ours[64] = { 0 };
	const void *member = (const uint8_t *)record + c->offset;

	mad_get_array(data, 0, f, theirs);
	if (c->kind == SA_GID)
		sa_gid_put(member, ours);
	else
		memcpy(ours, member, c->bits / 8u);
	assert_memory_equal(ours, theirs, c->bits / 8u);
}

static void
test_libibmad(void **state)
{
	uint8_t data[256];
	union any_record record;

	(void)state;
	for (unsigned i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		const struct known *k = &fields[i];
		const struct sa_component *c = component(k->t, k->name);

		if (!c)
			fail_msg("%s has no %s", k->t->name, k->name);
		for (int n = 0; n < ROUNDS / 10; n++) {
			uint64_t theirs;

			sa_random_bytes(data, sizeof(data));
			sa_decode(k->t, &record, data, sizeof(data));
			if (c->kind != SA_NUMBER) {
				agree_bytes(c, &record, data, k->field);
				continue;
			}
			theirs = c->bits == 64 ? mad_get_field64(data, 0, k->field) :
				 mad_get_field(data, 0, k->field);
			if (number_at(&record, c->offset, c->size) != theirs)
				fail_msg("%s.%s is another by libibmad", k->t->name, k->name);
		}
	}
}

static void
test_header(void **state)
{
	uint8_t mad[MAD_SIZE];
	struct sa_header h;

	(void)state;
	for (int n = 0; n < ROUNDS; n++) {
		sa_random_bytes(mad, sizeof(mad));
		mad[0] = 1;
		mad[1] = MAD_CLASS_SUBN_ADM;
		assert_int_equal(sa_header_decode(&h, mad, sizeof(mad)), 0);
		assert_int_equal(h.rmpp_version, mad_get_field(mad, 0, IB_SA_RMPP_VERS_F));
		assert_int_equal(h.rmpp_type, mad_get_field(mad, 0, IB_SA_RMPP_TYPE_F));
		assert_int_equal(h.rmpp_resp_time, mad_get_field(mad, 0, IB_SA_RMPP_RESP_F));
		assert_int_equal(h.rmpp_flags, mad_get_field(mad, 0, IB_SA_RMPP_FLAGS_F));
		assert_int_equal(h.rmpp_status, mad_get_field(mad, 0, IB_SA_RMPP_STATUS_F));
		assert_int_equal(h.rmpp_segment, mad_get_field(mad, 0, IB_SA_RMPP_SEGNUM_F));
		assert_int_equal(h.rmpp_value, mad_get_field(mad, 0, IB_SA_RMPP_LEN_F));
		assert_true(h.sm_key == mad_get_field64(mad, 0, IB_SA_MKEY_F));
		assert_int_equal(h.attr_offset, mad_get_field(mad, 0, IB_SA_ATTROFFS_F));
		assert_true(h.mask == mad_get_field64(mad, 0, IB_SA_COMPMASK_F));
	}
}

/* ---- The order of rates ---- */

/* OpenSM 3.3.23 puts 30 Gb/s (code 4) before 25 and 28, 60 (8) before 50 and 56, and 120 (10)
 * before 100 and 112. By speed it is the other way round. */
static bool
misplaced(int a, int b)
{
	return (a == 4 && (b == 15 || b == 19)) || (a == 8 && (b == 20 || b == 12)) ||
	       (a == 10 && (b == 16 || b == 13));
}

static void
test_rates(void **state)
{
	void *lib = dlopen("libopensm.so.9", RTLD_LAZY);
	int (*compare)(int, int);

	(void)state;
	if (!lib)
		skip();
	*(void **)&compare = dlsym(lib, "ib_path_compare_rates");
	assert_non_null(compare);
	/* Debian's knows the codes up to 22. */
	for (int a = SA_RATE_MIN; a <= 22; a++)
		for (int b = SA_RATE_MIN; b <= 22; b++) {
			int theirs = misplaced(a, b) || misplaced(b, a) ? compare(b, a) :
				     compare(a, b);

			assert_int_equal(sa_compare(SA_OF_RATE, (unsigned)a, (unsigned)b), theirs);
		}
	dlclose(lib);
}

/* ---- ib_types.h ---- */

#if HAVE_IB_TYPES

/* Where a component is, and its bit. Width 0: its bits are looked at elsewhere. */
struct place {
	const struct sa_type *t;	/* record */
	const char *name;		/* of the component */
	size_t offset, size;		/* bytes; of an array those of all elements */
	uint64_t mask;			/* big-endian; 0 = none */
};

#define AT(type, name, ib, member, mask) \
	{ &sa_##type##_type, name, offsetof(ib, member), sizeof(((ib *)0)->member), mask }
#define BIT(type, name, mask) { &sa_##type##_type, name, 0, 0, mask }

static const struct place places[] = {
#define R ib_path_rec_t
	AT(path, "dgid", R, dgid, IB_PR_COMPMASK_DGID),
	AT(path, "sgid", R, sgid, IB_PR_COMPMASK_SGID),
	AT(path, "dlid", R, dlid, IB_PR_COMPMASK_DLID),
	AT(path, "slid", R, slid, IB_PR_COMPMASK_SLID),
	AT(path, "tclass", R, tclass, IB_PR_COMPMASK_TCLASS),
	AT(path, "pkey", R, pkey, IB_PR_COMPMASK_PKEY),
	AT(path, "preference", R, preference, 0),
	BIT(path, "raw", IB_PR_COMPMASK_RAWTRAFFIC),
	BIT(path, "flow_label", IB_PR_COMPMASK_FLOWLABEL),
	BIT(path, "hop_limit", IB_PR_COMPMASK_HOPLIMIT),
	BIT(path, "reversible", IB_PR_COMPMASK_REVERSIBLE),
	BIT(path, "numb_path", IB_PR_COMPMASK_NUMBPATH),
	BIT(path, "qos_class", IB_PR_COMPMASK_QOS_CLASS),
	BIT(path, "sl", IB_PR_COMPMASK_SL),
	BIT(path, "mtu_selector", IB_PR_COMPMASK_MTUSELEC),
	BIT(path, "mtu", IB_PR_COMPMASK_MTU),
	BIT(path, "rate_selector", IB_PR_COMPMASK_RATESELEC),
	BIT(path, "rate", IB_PR_COMPMASK_RATE),
	BIT(path, "life_selector", IB_PR_COMPMASK_PKTLIFETIMESELEC),
	BIT(path, "life", IB_PR_COMPMASK_PKTLIFETIME),
#undef R
#define R ib_multipath_rec_t
	AT(multipath, "tclass", R, tclass, IB_MPR_COMPMASK_TCLASS),
	AT(multipath, "pkey", R, pkey, IB_MPR_COMPMASK_PKEY),
	AT(multipath, "sgid_count", R, sgid_count, IB_MPR_COMPMASK_SGIDCOUNT),
	AT(multipath, "dgid_count", R, dgid_count, IB_MPR_COMPMASK_DGIDCOUNT),
	BIT(multipath, "independence", IB_MPR_COMPMASK_INDEPSELEC),
	BIT(multipath, "raw", IB_MPR_COMPMASK_RAWTRAFFIC),
	BIT(multipath, "flow_label", IB_MPR_COMPMASK_FLOWLABEL),
	BIT(multipath, "hop_limit", IB_MPR_COMPMASK_HOPLIMIT),
	BIT(multipath, "reversible", IB_MPR_COMPMASK_REVERSIBLE),
	BIT(multipath, "numb_path", IB_MPR_COMPMASK_NUMBPATH),
	BIT(multipath, "qos_class", IB_MPR_COMPMASK_QOS_CLASS),
	BIT(multipath, "sl", IB_MPR_COMPMASK_SL),
	BIT(multipath, "mtu_selector", IB_MPR_COMPMASK_MTUSELEC),
	BIT(multipath, "mtu", IB_MPR_COMPMASK_MTU),
	BIT(multipath, "rate_selector", IB_MPR_COMPMASK_RATESELEC),
	BIT(multipath, "rate", IB_MPR_COMPMASK_RATE),
	BIT(multipath, "life_selector", IB_MPR_COMPMASK_PKTLIFETIMESELEC),
	BIT(multipath, "life", IB_MPR_COMPMASK_PKTLIFETIME),
#undef R
#define R ib_member_rec_t
	AT(member, "mgid", R, mgid, IB_MCR_COMPMASK_MGID),
	AT(member, "port_gid", R, port_gid, IB_MCR_COMPMASK_PORT_GID),
	AT(member, "qkey", R, qkey, IB_MCR_COMPMASK_QKEY),
	AT(member, "mlid", R, mlid, IB_MCR_COMPMASK_MLID),
	AT(member, "tclass", R, tclass, IB_MCR_COMPMASK_TCLASS),
	AT(member, "pkey", R, pkey, IB_MCR_COMPMASK_PKEY),
	BIT(member, "mtu_selector", IB_MCR_COMPMASK_MTU_SEL),
	BIT(member, "mtu", IB_MCR_COMPMASK_MTU),
	BIT(member, "rate_selector", IB_MCR_COMPMASK_RATE_SEL),
	BIT(member, "rate", IB_MCR_COMPMASK_RATE),
	BIT(member, "life_selector", IB_MCR_COMPMASK_LIFE_SEL),
	BIT(member, "life", IB_MCR_COMPMASK_LIFE),
	BIT(member, "sl", IB_MCR_COMPMASK_SL),
	BIT(member, "flow_label", IB_MCR_COMPMASK_FLOW),
	BIT(member, "hop_limit", IB_MCR_COMPMASK_HOP),
	BIT(member, "scope", IB_MCR_COMPMASK_SCOPE),
	BIT(member, "join_state", IB_MCR_COMPMASK_JOIN_STATE),
	BIT(member, "proxy_join", IB_MCR_COMPMASK_PROXY),
#undef R
#define R ib_service_record_t
	AT(service, "id", R, service_id, IB_SR_COMPMASK_SID),
	AT(service, "gid", R, service_gid, IB_SR_COMPMASK_SGID),
	AT(service, "pkey", R, service_pkey, IB_SR_COMPMASK_SPKEY),
	AT(service, "lease", R, service_lease, IB_SR_COMPMASK_SLEASE),
	AT(service, "key", R, service_key, IB_SR_COMPMASK_SKEY),
	AT(service, "name", R, service_name, IB_SR_COMPMASK_SNAME),
	AT(service, "data8[0]", R, service_data8[0], IB_SR_COMPMASK_SDATA8_0),
	AT(service, "data8[15]", R, service_data8[15], IB_SR_COMPMASK_SDATA8_15),
	AT(service, "data16[0]", R, service_data16[0], IB_SR_COMPMASK_SDATA16_0),
	AT(service, "data16[7]", R, service_data16[7], IB_SR_COMPMASK_SDATA16_7),
	AT(service, "data32[0]", R, service_data32[0], IB_SR_COMPMASK_SDATA32_0),
	AT(service, "data32[3]", R, service_data32[3], IB_SR_COMPMASK_SDATA32_3),
	AT(service, "data64[0]", R, service_data64[0], IB_SR_COMPMASK_SDATA64_0),
	AT(service, "data64[1]", R, service_data64[1], IB_SR_COMPMASK_SDATA64_1),
#undef R
#define R ib_inform_info_record_t
	AT(inform, "subscriber", R, subscriber_gid, IB_IIR_COMPMASK_SUBSCRIBERGID),
	AT(inform, "number", R, subscriber_enum, IB_IIR_COMPMASK_ENUM),
	AT(inform, "info.gid", R, inform_info.gid, IB_IIR_COMPMASK_GID),
	AT(inform, "info.lid_first", R, inform_info.lid_range_begin,
	   IB_IIR_COMPMASK_LIDRANGEBEGIN),
	AT(inform, "info.lid_last", R, inform_info.lid_range_end, IB_IIR_COMPMASK_LIDRANGEEND),
	AT(inform, "info.generic", R, inform_info.is_generic, IB_IIR_COMPMASK_ISGENERIC),
	AT(inform, "info.subscribe", R, inform_info.subscribe, IB_IIR_COMPMASK_SUBSCRIBE),
	AT(inform, "info.type", R, inform_info.trap_type, IB_IIR_COMPMASK_TYPE),
	AT(inform, "info.trap", R, inform_info.g_or_v.generic.trap_num,
	   IB_IIR_COMPMASK_TRAPNUMB),
	BIT(inform, "info.qpn", IB_IIR_COMPMASK_QPN),
	BIT(inform, "info.resp_time", IB_IIR_COMPMASK_RESPTIME),
	BIT(inform, "info.producer", IB_IIR_COMPMASK_PRODTYPE),
#undef R
#define R ib_node_record_t
	AT(node, "lid", R, lid, IB_NR_COMPMASK_LID),
	AT(node, "info.base_version", R, node_info.base_version, IB_NR_COMPMASK_BASEVERSION),
	AT(node, "info.class_version", R, node_info.class_version, IB_NR_COMPMASK_CLASSVERSION),
	AT(node, "info.node_type", R, node_info.node_type, IB_NR_COMPMASK_NODETYPE),
	AT(node, "info.num_ports", R, node_info.num_ports, IB_NR_COMPMASK_NUMPORTS),
	AT(node, "info.system_guid", R, node_info.sys_guid, IB_NR_COMPMASK_SYSIMAGEGUID),
	AT(node, "info.node_guid", R, node_info.node_guid, IB_NR_COMPMASK_NODEGUID),
	AT(node, "info.port_guid", R, node_info.port_guid, IB_NR_COMPMASK_PORTGUID),
	AT(node, "info.partition_cap", R, node_info.partition_cap, IB_NR_COMPMASK_PARTCAP),
	AT(node, "info.device_id", R, node_info.device_id, IB_NR_COMPMASK_DEVID),
	AT(node, "info.revision", R, node_info.revision, IB_NR_COMPMASK_REV),
	BIT(node, "info.local_port", IB_NR_COMPMASK_PORTNUM),
	BIT(node, "info.vendor_id", IB_NR_COMPMASK_VENDID),
	AT(node, "description", R, node_desc, IB_NR_COMPMASK_NODEDESC),
#undef R
#define R ib_portinfo_record_t
	AT(port, "lid", R, lid, IB_PIR_COMPMASK_LID),
	AT(port, "number", R, port_num, IB_PIR_COMPMASK_PORTNUM),
	AT(port, "options", R, options, IB_PIR_COMPMASK_OPTIONS),
	AT(port, "info.m_key", R, port_info.m_key, IB_PIR_COMPMASK_MKEY),
	AT(port, "info.gid_prefix", R, port_info.subnet_prefix, IB_PIR_COMPMASK_GIDPRE),
	AT(port, "info.lid", R, port_info.base_lid, IB_PIR_COMPMASK_BASELID),
	AT(port, "info.sm_lid", R, port_info.master_sm_base_lid, IB_PIR_COMPMASK_SMLID),
	AT(port, "info.cap_mask", R, port_info.capability_mask, IB_PIR_COMPMASK_CAPMASK),
	AT(port, "info.diag_code", R, port_info.diag_code, IB_PIR_COMPMASK_DIAGCODE),
	AT(port, "info.m_key_lease", R, port_info.m_key_lease_period,
	   IB_PIR_COMPMASK_MKEYLEASEPRD),
	AT(port, "info.local_port", R, port_info.local_port_num, IB_PIR_COMPMASK_LOCALPORTNUM),
	BIT(port, "info.width_enabled", IB_PIR_COMPMASK_LINKWIDTHENABLED),
	BIT(port, "info.width_supported", IB_PIR_COMPMASK_LNKWIDTHSUPPORT),
	BIT(port, "info.width_active", IB_PIR_COMPMASK_LNKWIDTHACTIVE),
	BIT(port, "info.speed_supported", IB_PIR_COMPMASK_LNKSPEEDSUPPORT),
	BIT(port, "info.state", IB_PIR_COMPMASK_PORTSTATE),
	BIT(port, "info.phys_state", IB_PIR_COMPMASK_PORTPHYSTATE),
	BIT(port, "info.down_default", IB_PIR_COMPMASK_LINKDWNDFLTSTATE),
	BIT(port, "info.m_key_protect", IB_PIR_COMPMASK_MKEYPROTBITS),
	BIT(port, "info.lmc", IB_PIR_COMPMASK_LMC),
	BIT(port, "info.speed_active", IB_PIR_COMPMASK_LINKSPEEDACTIVE),
	BIT(port, "info.speed_enabled", IB_PIR_COMPMASK_LINKSPEEDENABLE),
	BIT(port, "info.neighbor_mtu", IB_PIR_COMPMASK_NEIGHBORMTU),
	BIT(port, "info.sm_sl", IB_PIR_COMPMASK_MASTERSMSL),
	BIT(port, "info.vl_cap", IB_PIR_COMPMASK_VLCAP),
	BIT(port, "info.init_type", IB_PIR_COMPMASK_INITTYPE),
	AT(port, "info.vl_high_limit", R, port_info.vl_high_limit, IB_PIR_COMPMASK_VLHIGHLIMIT),
	BIT(port, "info.vl_arb_high_cap", IB_PIR_COMPMASK_VLARBHIGHCAP),
	BIT(port, "info.vl_arb_low_cap", IB_PIR_COMPMASK_VLARBLOWCAP),
	BIT(port, "info.init_type_reply", IB_PIR_COMPMASK_INITTYPEREPLY),
	BIT(port, "info.mtu_cap", IB_PIR_COMPMASK_MTUCAP),
	BIT(port, "info.vl_stall_count", IB_PIR_COMPMASK_VLSTALLCNT),
	BIT(port, "info.hoq_life", IB_PIR_COMPMASK_HOQLIFE),
	BIT(port, "info.op_vls", IB_PIR_COMPMASK_OPVLS),
	BIT(port, "info.enforce_in", IB_PIR_COMPMASK_PARENFIN),
	BIT(port, "info.enforce_out", IB_PIR_COMPMASK_PARENFOUT),
	BIT(port, "info.filter_raw_in", IB_PIR_COMPMASK_FILTERRAWIN),
	BIT(port, "info.filter_raw_out", IB_PIR_COMPMASK_FILTERRAWOUT),
	BIT(port, "info.m_key_violations", IB_PIR_COMPMASK_MKEYVIO),
	BIT(port, "info.p_key_violations", IB_PIR_COMPMASK_PKEYVIO),
	BIT(port, "info.q_key_violations", IB_PIR_COMPMASK_QKEYVIO),
	BIT(port, "info.guid_cap", IB_PIR_COMPMASK_GUIDCAP),
	BIT(port, "info.client_reregister", IB_PIR_COMPMASK_CLIENTREREG),
	BIT(port, "info.mcast_pkey_trap", IB_PIR_COMPMASK_RESV3),
	BIT(port, "info.subnet_timeout", IB_PIR_COMPMASK_SUBNTO),
	BIT(port, "info.resp_time", IB_PIR_COMPMASK_RESPTIME),
	BIT(port, "info.local_phy_errors", IB_PIR_COMPMASK_LOCALPHYERR),
	BIT(port, "info.overrun_errors", IB_PIR_COMPMASK_OVERRUNERR),
	BIT(port, "info.max_credit_hint", IB_PIR_COMPMASK_MAXCREDHINT),
	BIT(port, "info.round_trip_latency", IB_PIR_COMPMASK_LINKRTLAT),
	BIT(port, "info.cap_mask2", IB_PIR_COMPMASK_CAPMASK2),
	BIT(port, "info.speed_ext_active", IB_PIR_COMPMASK_LINKSPDEXTACT),
	BIT(port, "info.speed_ext_supported", IB_PIR_COMPMASK_LINKSPDEXTSUPP),
	BIT(port, "info.speed_ext_enabled", IB_PIR_COMPMASK_LINKSPDEXTENAB),
#undef R
	AT(link, "from_lid", ib_link_record_t, from_lid, IB_LR_COMPMASK_FROM_LID),
	AT(link, "from_port", ib_link_record_t, from_port_num, IB_LR_COMPMASK_FROM_PORT),
	AT(link, "to_port", ib_link_record_t, to_port_num, IB_LR_COMPMASK_TO_PORT),
	AT(link, "to_lid", ib_link_record_t, to_lid, IB_LR_COMPMASK_TO_LID),
	AT(switch, "lid", ib_switch_info_record_t, lid, IB_SWIR_COMPMASK_LID),
	AT(switch, "info.linear_fdb_cap", ib_switch_info_record_t, switch_info.lin_cap, 0),
	AT(switch, "info.multicast_fdb_top", ib_switch_info_record_t, switch_info.mcast_top, 0),
	AT(lft, "lid", ib_lft_record_t, lid, IB_LFTR_COMPMASK_LID),
	AT(lft, "block", ib_lft_record_t, block_num, IB_LFTR_COMPMASK_BLOCK),
	AT(lft, "ports", ib_lft_record_t, lft, 0),
	AT(mft, "lid", ib_mft_record_t, lid, IB_MFTR_COMPMASK_LID),
	AT(mft, "masks[0]", ib_mft_record_t, mft, 0),
	BIT(mft, "position", IB_MFTR_COMPMASK_POSITION),
	BIT(mft, "block", IB_MFTR_COMPMASK_BLOCK),
	AT(sl2vl, "lid", ib_slvl_table_record_t, lid, IB_SLVL_COMPMASK_LID),
	AT(sl2vl, "in_port", ib_slvl_table_record_t, in_port_num, IB_SLVL_COMPMASK_IN_PORT),
	AT(sl2vl, "out_port", ib_slvl_table_record_t, out_port_num, IB_SLVL_COMPMASK_OUT_PORT),
	AT(sl2vl, "vl[0]", ib_slvl_table_record_t, slvl_tbl, 0),
	AT(vlarb, "lid", ib_vl_arb_table_record_t, lid, IB_VLA_COMPMASK_LID),
	AT(vlarb, "port", ib_vl_arb_table_record_t, port_num, IB_VLA_COMPMASK_OUT_PORT),
	AT(vlarb, "block", ib_vl_arb_table_record_t, block_num, IB_VLA_COMPMASK_BLOCK),
	AT(pkeys, "lid", ib_pkey_table_record_t, lid, IB_PKEY_COMPMASK_LID),
	AT(pkeys, "block", ib_pkey_table_record_t, block_num, IB_PKEY_COMPMASK_BLOCK),
	AT(pkeys, "port", ib_pkey_table_record_t, port_num, IB_PKEY_COMPMASK_PORT),
	AT(pkeys, "keys[0]", ib_pkey_table_record_t, pkey_tbl, 0),
	AT(guids, "lid", ib_guidinfo_record_t, lid, IB_GIR_COMPMASK_LID),
	AT(guids, "block", ib_guidinfo_record_t, block_num, IB_GIR_COMPMASK_BLOCKNUM),
	BIT(guids, "guids[0]", IB_GIR_COMPMASK_GID0),
	BIT(guids, "guids[7]", IB_GIR_COMPMASK_GID7),
	AT(sm, "lid", ib_sminfo_record_t, lid, IB_SMIR_COMPMASK_LID),
	AT(sm, "info.guid", ib_sminfo_record_t, sm_info.guid, IB_SMIR_COMPMASK_GUID),
	AT(sm, "info.sm_key", ib_sminfo_record_t, sm_info.sm_key, IB_SMIR_COMPMASK_SMKEY),
	AT(sm, "info.activity", ib_sminfo_record_t, sm_info.act_count, IB_SMIR_COMPMASK_ACTCOUNT),
	BIT(sm, "info.priority", IB_SMIR_COMPMASK_PRIORITY),
	BIT(sm, "info.state", IB_SMIR_COMPMASK_SMSTATE),
#define R ib_class_port_info_t
	AT(class_port_info, "cap_mask", R, cap_mask, 0),
	AT(class_port_info, "redirect_gid", R, redir_gid, 0),
	AT(class_port_info, "redirect_lid", R, redir_lid, 0),
	AT(class_port_info, "redirect_pkey", R, redir_pkey, 0),
	AT(class_port_info, "redirect_qkey", R, redir_qkey, 0),
	AT(class_port_info, "trap_gid", R, trap_gid, 0),
	AT(class_port_info, "trap_lid", R, trap_lid, 0),
	AT(class_port_info, "trap_pkey", R, trap_pkey, 0),
	AT(class_port_info, "trap_qkey", R, trap_qkey, 0),
#undef R
	AT(notice, "issuer_gid", ib_mad_notice_attr_t, issuer_gid, 0),
	AT(notice, "n.issuer_lid", ib_mad_notice_attr_t, issuer_lid, 0),
	AT(notice, "n.details", ib_mad_notice_attr_t, data_details, 0),
};

static void
test_places(void **state)
{
	(void)state;
	for (unsigned i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		const struct place *p = &places[i];
		const struct sa_component *c = component(p->t, p->name);

		if (!c)
			fail_msg("%s has no %s", p->t->name, p->name);
		if (p->size && (c->at != p->offset * 8 || c->bits +
				(c->count - 1u) * c->step != p->size * 8))
			fail_msg("%s.%s is not at byte %zu", p->t->name, p->name, p->offset);
		if (p->mask && (c->bit == SA_NO_BIT || cl_ntoh64(p->mask) != SA_BIT(c->bit)))
			fail_msg("%s.%s has another bit", p->t->name, p->name);
	}
}

static void
test_strides(void **state)
{
	static const struct {
		const struct sa_type *t;
		size_t size;
	} sizes[] = {
		{ &sa_path_type, sizeof(ib_path_rec_t) },
		{ &sa_member_type, sizeof(ib_member_rec_t) },
		{ &sa_service_type, sizeof(ib_service_record_t) },
		{ &sa_inform_type, sizeof(ib_inform_info_record_t) },
		{ &sa_node_type, sizeof(ib_node_record_t) },
		{ &sa_port_type, sizeof(ib_portinfo_record_t) },
		{ &sa_link_type, sizeof(ib_link_record_t) },
		{ &sa_switch_type, sizeof(ib_switch_info_record_t) },
		{ &sa_lft_type, sizeof(ib_lft_record_t) },
		{ &sa_mft_type, sizeof(ib_mft_record_t) },
		{ &sa_sl2vl_type, sizeof(ib_slvl_table_record_t) },
		{ &sa_vlarb_type, sizeof(ib_vl_arb_table_record_t) },
		{ &sa_pkeys_type, sizeof(ib_pkey_table_record_t) },
		{ &sa_guids_type, sizeof(ib_guidinfo_record_t) },
		{ &sa_sm_type, sizeof(ib_sminfo_record_t) },
		{ &sa_class_port_info_type, sizeof(ib_class_port_info_t) },
		{ &sa_notice_type, sizeof(ib_mad_notice_attr_t) },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		if (sa_stride(sizes[i].t) != sizes[i].size)
			fail_msg("%s", sizes[i].t->name);
	assert_int_equal(sizeof(ib_inform_info_t), sa_inform_info_type.size);
	assert_int_equal(offsetof(ib_multipath_rec_t, gids), sa_multipath_type.size);
	assert_int_equal(offsetof(ib_sa_mad_t, data), SA_HEADER_SIZE);
	assert_int_equal(cl_ntoh64(IB_PR_COMPMASK_SERVICEID),
			 SA_BIT(SA_PATH_SERVICE_ID_MSB) | SA_BIT(SA_PATH_SERVICE_ID_LSB));
	assert_int_equal(cl_ntoh64(IB_MPR_COMPMASK_SERVICEID),
			 SA_BIT(SA_MULTIPATH_SERVICE_ID_MSB) | SA_BIT(SA_MULTIPATH_SERVICE_ID_LSB));
}

/* Fields of less than a byte, by OpenSM's functions. */
static void
test_path_fields(void **state)
{
	_Alignas(8) uint8_t data[RECORD_ROOM * 2];
	const ib_path_rec_t *theirs = (const void *)data;
	const ib_multipath_rec_t *multi = (const void *)data;
	struct sa_multipath m;
	struct sa_path p;

	(void)state;
	for (int n = 0; n < ROUNDS; n++) {
		sa_random_bytes(data, sizeof(data));
		sa_path_decode(&p, data, sizeof(data));
		assert_true(p.service_id == cl_ntoh64(theirs->service_id));
		assert_int_equal(p.numb_path, ib_path_rec_num_path(theirs));
		assert_int_equal(p.reversible, theirs->num_path >> 7);
		assert_int_equal(p.sl, ib_path_rec_sl(theirs));
		assert_int_equal(p.qos_class, ib_path_rec_qos_class(theirs));
		assert_int_equal(p.mtu, ib_path_rec_mtu(theirs));
		assert_int_equal(p.mtu_selector, ib_path_rec_mtu_sel(theirs));
		assert_int_equal(p.rate, ib_path_rec_rate(theirs));
		assert_int_equal(p.rate_selector, ib_path_rec_rate_sel(theirs));
		assert_int_equal(p.life, ib_path_rec_pkt_life(theirs));
		assert_int_equal(p.life_selector, ib_path_rec_pkt_life_sel(theirs));
		assert_int_equal(p.flow_label, ib_path_rec_flow_lbl(theirs));
		assert_int_equal(p.hop_limit, ib_path_rec_hop_limit(theirs));
		sa_multipath_decode(&m, data, sizeof(data));
		assert_true(m.service_id == cl_ntoh64(ib_multipath_rec_service_id(multi)));
		assert_int_equal(m.numb_path, ib_multipath_rec_num_path(multi));
		assert_int_equal(m.sl, ib_multipath_rec_sl(multi));
		assert_int_equal(m.qos_class, ib_multipath_rec_qos_class(multi));
		assert_int_equal(m.mtu, ib_multipath_rec_mtu(multi));
		assert_int_equal(m.mtu_selector, ib_multipath_rec_mtu_sel(multi));
		assert_int_equal(m.rate, ib_multipath_rec_rate(multi));
		assert_int_equal(m.rate_selector, ib_multipath_rec_rate_sel(multi));
		assert_int_equal(m.life, ib_multipath_rec_pkt_life(multi));
		assert_int_equal(m.life_selector, ib_multipath_rec_pkt_life_sel(multi));
	}
}

static void
test_other_fields(void **state)
{
	_Alignas(8) uint8_t data[RECORD_ROOM];
	const ib_member_rec_t *theirs = (const void *)data;
	const ib_class_port_info_t *cpi = (const void *)data;
	const ib_inform_info_t *info = (const void *)data;
	const ib_mft_record_t *mft = (const void *)data;
	const ib_sminfo_record_t *sm = (const void *)data;

	(void)state;
	for (int n = 0; n < ROUNDS; n++) {
		struct sa_class_port_info c;
		struct sa_inform_info i;
		struct sa_member m;
		struct sa_mft t;
		struct sa_sm s;
		uint8_t sl, hop, scope, join, time;
		uint32_t flow;
		ib_net32_t qpn;

		sa_random_bytes(data, sizeof(data));
		sa_member_decode(&m, data, sizeof(data));
		ib_member_get_sl_flow_hop(theirs->sl_flow_hop, &sl, &flow, &hop);
		ib_member_get_scope_state(theirs->scope_state, &scope, &join);
		assert_int_equal(m.sl, sl);
		assert_int_equal(m.flow_label, flow);
		assert_int_equal(m.hop_limit, hop);
		assert_int_equal(m.scope, scope);
		assert_int_equal(m.join_state, join);
		assert_int_equal(m.mtu_selector << 6 | m.mtu, theirs->mtu);
		assert_int_equal(m.rate_selector << 6 | m.rate, theirs->rate);
		assert_int_equal(m.life_selector << 6 | m.life, theirs->pkt_life);
		sa_class_port_info_decode(&c, data, sizeof(data));
		assert_int_equal(c.resp_time,
				 ib_class_resp_time_val((ib_class_port_info_t *)(void *)data));
		assert_int_equal(c.cap_mask2, ib_class_cap_mask2(cpi));
		assert_int_equal((uint32_t)c.trap_hop_limit << 24 | c.trap_qp,
				 cl_ntoh32(cpi->trap_hop_qp));
		assert_int_equal((uint32_t)c.trap_tclass << 24 | (uint32_t)c.trap_sl << 20 |
				 c.trap_flow_label, cl_ntoh32(cpi->trap_tc_sl_fl));
		assert_int_equal((uint32_t)c.redirect_tclass << 24 |
				 (uint32_t)c.redirect_sl << 20 | c.redirect_flow_label,
				 cl_ntoh32(cpi->redir_tc_sl_fl));
		assert_int_equal(c.redirect_qp, cl_ntoh32(cpi->redir_qp) & 0xffffff);
		sa_inform_info_decode(&i, data, sizeof(data));
		ib_inform_info_get_qpn_resp_time(info->g_or_v.generic.qpn_resp_time_val, &qpn,
						 &time);
		assert_int_equal(i.qpn, cl_ntoh32(qpn));
		assert_int_equal(i.resp_time, time);
		assert_int_equal(i.producer, cl_ntoh32(ib_inform_info_get_prod_type(info)));
		sa_mft_decode(&t, data, sizeof(data));
		assert_int_equal(t.position, cl_ntoh16(mft->position_block_num) >> 12);
		assert_int_equal(t.block, cl_ntoh16(mft->position_block_num) &
				 IB_MCAST_BLOCK_ID_MASK_HO);
		sa_sm_decode(&s, data, sizeof(data));
		assert_int_equal(s.info.priority << 4 | s.info.state, sm->sm_info.pri_state);
	}
}

/* The rate of a link, for what ib_types.h knows: up to HDR. */
static void
test_link_rates(void **state)
{
	static const struct {
		enum link_speed speed;
		uint8_t base, ext;	/* fields of PortInfo */
	} speeds[] = {
		{ SPEED_SDR, 1, 0 }, { SPEED_DDR, 2, 0 }, { SPEED_QDR, 4, 0 },
		{ SPEED_FDR, 0, 1 }, { SPEED_EDR, 0, 2 }, { SPEED_HDR, 0, 4 },
	};
	static const enum link_width widths[] = { LINK_1X, LINK_2X, LINK_4X, LINK_8X, LINK_12X };

	(void)state;
	for (unsigned s = 0; s < sizeof(speeds) / sizeof(speeds[0]); s++)
		for (unsigned w = 0; w < 5; w++) {
			ib_port_info_t p = {
				.link_width_active = (uint8_t)widths[w],
				.link_speed = (uint8_t)(speeds[s].base << 4),
				.link_speed_ext = (uint8_t)(speeds[s].ext << 4),
			};

			assert_int_equal(sa_rate_of(widths[w], speeds[s].speed),
					 ib_port_info_compute_rate(&p, speeds[s].ext != 0));
		}
}

#endif

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_libibmad),
		cmocka_unit_test(test_header),
		cmocka_unit_test(test_rates),
#if HAVE_IB_TYPES
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_strides),
		cmocka_unit_test(test_path_fields),
		cmocka_unit_test(test_other_fields),
		cmocka_unit_test(test_link_rates),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
