/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include "sim/model/model.h"
#include "sim/model/model_impl.h"

/*
 * The subnet management agent of a simulated device: one function an attribute, found by a table.
 *
 * A request changes the node at once, and its data become the answer's, read back from the node.
 * Who may ask is decided before, by the M_Key and its protection bits (IBA volume 1, 14.2.4);
 * what may be asked and set is 14.2.5. PortInfo, its two extensions and tables have files of their
 * own: sma_port.c, sma_extended.c, sma_table.c.
 */
#define ATTR_PORT_INFO_EXTENDED 0x0033u
#define ATTR_EXTENDED_PORT_INFO 0xff90u	/* the vendor's */

static uint16_t
do_node_info(const struct sma_request *r)
{
	const struct sim_node *n = r->n;
	struct nodeinfo a = {
		.base_version = 1, .class_version = 1, .node_type = n->type,
		.num_ports = n->nports, .node_guid = n->guid, .system_guid = n->system_guid,
		.port_guid = end_port(r->n, r->in)->guid, .vendor_id = n->ib->vendor_id,
		.device_id = n->ib->device_id,
		.local_port = n->lie_port ? n->lie_port : (uint8_t)r->in,
		.partition_cap = device_pkeys(n, 0),
	};

	nodeinfo_encode(&a, r->data);
	return 0;
}

static uint16_t
do_node_description(const struct sma_request *r)
{
	nodedesc_encode(r->n->desc, r->data);
	return 0;
}

static uint16_t
do_port_info(const struct sma_request *r)
{
	return r->set ? sma_set_portinfo(r->m, r->node, r->in, r->mod, r->data) :
		sma_get_portinfo(r->n, r->in, r->mod, r->show_key, r->data);
}

/* MulticastFDBTop: 0 for "all of the table", 0xbfff for "none of it", or a MLID that is in it. */
static bool
good_switch_info(const struct sim_node *n, const struct switchinfo *a)
{
	if (a->linear_fdb_top >= n->sw.linear_fdb_cap)
		return false;
	return !n->caps->mft_top || !a->multicast_fdb_top ||
		(a->multicast_fdb_top >= LID_UNICAST_MAX &&
		 a->multicast_fdb_top - LID_UNICAST_MAX <= n->sw.multicast_fdb_cap);
}

static void
set_switch_info(struct sim_node *n, const struct switchinfo *a)
{
	struct switchinfo *sw = &n->sw;

	if (!(n->keep & MODEL_KEEP_FDB_TOP))
		sw->linear_fdb_top = a->linear_fdb_top;
	if (n->caps->mft_top)
		sw->multicast_fdb_top = a->multicast_fdb_top;
	sw->default_port = a->default_port;
	sw->default_mcast_primary = a->default_mcast_primary;
	sw->default_mcast_not_primary = a->default_mcast_not_primary;
	sw->life_time = a->life_time;
	if (a->port_state_change)
		sw->port_state_change = false;
}

static uint16_t
do_switch_info(const struct sma_request *r)
{
	struct switchinfo a;
	uint16_t status = 0;

	if (r->n->type != NODE_SWITCH)
		return MAD_STATUS_BAD_ATTR;
	if (r->set) {
		switchinfo_decode(&a, r->data);
		if (!good_switch_info(r->n, &a))
			status = MAD_STATUS_BAD_FIELD;
		else
			set_switch_info(r->n, &a);
	}
	switchinfo_encode(&r->n->sw, r->data);
	return status;
}

static const struct sma_attribute *
find_attribute(const struct sim_node *n, uint16_t id)
{
	static const struct sma_attribute attributes[] = {
		{ ATTR_LINEAR_FDB, true, sma_linear_fdb },
		{ ATTR_PORT_INFO, true, do_port_info },
		{ ATTR_NODE_INFO, false, do_node_info },
		{ ATTR_NODE_DESCRIPTION, false, do_node_description },
		{ ATTR_SWITCH_INFO, true, do_switch_info },
		{ ATTR_GUID_INFO, true, sma_guid_info },
		{ ATTR_P_KEY_TABLE, true, sma_p_keys },
		{ ATTR_SL_TO_VL, true, sma_sl_to_vl },
		{ ATTR_VL_ARBITRATION, true, sma_vl_arbitration },
		{ ATTR_MULTICAST_FDB, true, sma_multicast_fdb },
		{ ATTR_PORT_INFO_EXTENDED, true, sma_port_info_extended },
		{ ATTR_EXTENDED_PORT_INFO, true, sma_vendor_port_info },
	};

	for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++)
		if (attributes[i].id == id)
			return &attributes[i];
	return sma_ar_find(n, id);
}

/*
 * Levels of protection (14.2.4.1): without a key all is allowed; with one, a Get that does not know
 * it is answered below level 2, all else is not. The lease of the protection runs from the first
 * wrong key to the next right one; when it has run out, the level is 0, and whoever reads the key
 * may write.
 */
bool
sma_key_allows(struct model *m, uint32_t node, unsigned in, uint16_t slid, const struct smp *s)
{
	struct sim_port *p = end_port(&m->nodes[node], in);

	if (!p->info.m_key)
		return true;
	if (p->lease_end != MONOTIME_NEVER && loop_now(m->loop) >= p->lease_end) {
		p->info.m_key_protect = 0;
		p->lease_end = MONOTIME_NEVER;
	}
	if (p->info.m_key == s->m_key) {
		p->lease_end = MONOTIME_NEVER;
		return true;
	}
	if (s->h.method == MAD_GET && p->info.m_key_protect < 2)
		return true;
	if (p->info.m_key_violations < 0xffff)
		p->info.m_key_violations++;
	if (p->info.m_key_lease && p->lease_end == MONOTIME_NEVER)
		p->lease_end = loop_now(m->loop) + SEC(p->info.m_key_lease);
	trap_bad_mkey(m, node, in, slid, s);
	return false;
}

bool
sma_answer(struct model *m, uint32_t node, unsigned in, uint16_t slid, struct smp *s)
{
	struct sim_node *n = &m->nodes[node];
	struct sim_port *p = end_port(n, in);
	const struct sma_attribute *a;
	struct sma_request r = {
		.m = m, .n = n, .node = node, .in = in, .mod = s->h.attr_mod, .data = s->data,
		.set = s->h.method == MAD_SET,
	};

	if (!sma_key_allows(m, node, in, slid, s))
		return false;
	a = find_attribute(n, s->h.attr_id);
	r.show_key = p->info.m_key == s->m_key || !p->info.m_key_protect;
	s->h.status = fault_status(n, r.set, s->h.attr_id);
	if (s->h.class_version != 1)
		s->h.status = MAD_STATUS_BAD_VERSION;
	else if (!a || (r.set && !a->set))
		s->h.status = MAD_STATUS_BAD_ATTR;
	else if (!s->h.status)
		s->h.status = a->run(&r);
	if (r.set)
		model_touched(m);
	s->h.method = MAD_GET_RESP;
	return true;
}
