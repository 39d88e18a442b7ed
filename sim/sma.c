/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include "sim/model.h"
#include "sim/ar_impl.h"

/*
 * The subnet management agent of a simulated device: one function an attribute, found by a table.
 *
 * A request changes the node at once, and its data become the answer's, read back from the node.
 * Who may ask is decided before, by the M_Key and its protection bits (IBA volume 1, 14.2.4);
 * what may be asked and set is 14.2.5. PortInfo has a file of its own, sma_port.c.
 */
static uint16_t
do_node_info(const struct sma_request *r)
{
	const struct sim_node *n = r->n;
	struct nodeinfo a = {
		.base_version = 1, .class_version = 1, .node_type = n->type,
		.num_ports = n->nports, .node_guid = n->guid, .system_guid = n->ib->system_guid,
		.port_guid = end_port(r->n, r->in)->guid, .vendor_id = n->ib->vendor_id,
		.device_id = n->ib->device_id,
		.local_port = n->lie_port ? n->lie_port : (uint8_t)r->in,
		.partition_cap = n->type == NODE_SWITCH ? PORT0_PKEYS : CA_PKEYS,
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

static void
set_switch_info(struct sim_node *n, const struct switchinfo *a)
{
	struct switchinfo *sw = &n->sw;

	if (!(n->keep & MODEL_KEEP_FDB_TOP))
		sw->linear_fdb_top = a->linear_fdb_top;
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
		if (a.linear_fdb_top >= r->n->sw.linear_fdb_cap)
			status = MAD_STATUS_BAD_FIELD;
		else
			set_switch_info(r->n, &a);
	}
	switchinfo_encode(&r->n->sw, r->data);
	return status;
}

static uint16_t
do_linear_fdb(const struct sma_request *r)
{
	struct sim_node *n = r->n;

	if (n->type != NODE_SWITCH)
		return MAD_STATUS_BAD_ATTR;
	if (r->mod >= LID_TABLE_LEN / LFT_BLOCK_LEN)
		return MAD_STATUS_BAD_FIELD;
	if (r->set && !(n->keep & MODEL_KEEP_LFT))
		model_lft_set(n, r->mod, r->data);
	if (r->set)
		ar_lft_written(n);
	if ((r->mod + 1) * LFT_BLOCK_LEN <= n->lft_len)
		memcpy(r->data, n->lft + r->mod * LFT_BLOCK_LEN, LFT_BLOCK_LEN);
	else
		memset(r->data, LFT_NO_PORT, LFT_BLOCK_LEN);
	return 0;
}

static uint16_t
do_guid_info(const struct sma_request *r)
{
	struct sim_port *p = end_port(r->n, r->in);
	uint64_t guids[GUIDS] = { 0 };

	if (r->mod >= GUIDS / 8)
		return MAD_STATUS_BAD_FIELD;
	if (r->set) {
		if (!p->guids)
			p->guids = region_array(r->m->region, GUIDS, sizeof(*p->guids));
		guidinfo_decode(guids, r->data);
		memcpy(p->guids, guids, sizeof(guids));
		flight_changed(r->m, r->node, r->n->type == NODE_SWITCH ? 0 : r->in);
	}
	if (p->guids)
		memcpy(guids, p->guids, sizeof(guids));
	guids[0] = p->guid;	/* cannot be written */
	guidinfo_encode(guids, r->data);
	return 0;
}

static uint16_t
do_p_keys(const struct sma_request *r)
{
	struct sim_node *n = r->n;
	bool sw = n->type == NODE_SWITCH;
	unsigned port = sw ? r->mod >> 16 : r->in, block = r->mod & 0xffff;
	unsigned len = !sw ? CA_PKEYS : port ? SWITCH_PKEYS : PORT0_PKEYS;
	uint16_t keys[32] = { 0 };
	struct sim_port *p;

	if (port > n->nports || (!sw && r->mod > 0xffff) || block >= len / 32)
		return MAD_STATUS_BAD_FIELD;
	p = &n->ports[port];
	if (r->set && !(n->keep & MODEL_KEEP_PKEYS)) {
		if (!p->pkeys) {
			p->pkeys = region_array(r->m->region, len, sizeof(*p->pkeys));
			p->pkeys[0] = 0xffff;
		}
		pkeys_decode(p->pkeys + block * 32, r->data);
		flight_changed(r->m, r->node, port);
	}
	if (p->pkeys)
		memcpy(keys, p->pkeys + block * 32, sizeof(keys));
	else if (!block)
		keys[0] = 0xffff;
	pkeys_encode(keys, r->data);
	return 0;
}

static void
new_sl2vl(const struct sma_request *r)
{
	size_t n = (r->n->nports + 1u) * (r->n->nports + 1u);

	r->n->sl2vl = region_alloc(r->m->region, n * 8);
	for (size_t i = 0; i < n; i++)
		memcpy(r->n->sl2vl + i * 8, "\x01\x23\x45\x67\x01\x23\x45\x67", 8);
}

/* Switches have a table for each (input port, output port), others one a port. */
static uint16_t
do_sl_to_vl(const struct sma_request *r)
{
	struct sim_node *n = r->n;
	unsigned in = r->mod >> 8 & 0xff, out = r->mod & 0xff;
	uint8_t *table;

	if (n->type != NODE_SWITCH)
		in = out = r->in;
	else if (in > n->nports || out > n->nports)
		return MAD_STATUS_BAD_FIELD;
	if (r->mod > (n->type == NODE_SWITCH ? 0xffffu : 0u))
		return MAD_STATUS_BAD_FIELD;
	if (!n->sl2vl)
		new_sl2vl(r);
	table = n->sl2vl + ((size_t)in * (n->nports + 1u) + out) * 8;
	if (r->set)
		memcpy(table, r->data, 8);
	memset(r->data, 0, SMP_DATA_SIZE);
	memcpy(r->data, table, 8);
	return 0;
}

/* Blocks 1 and 2 are the low-priority table, 3 and 4 the high-priority one. */
static uint16_t
do_vl_arbitration(const struct sma_request *r)
{
	struct sim_node *n = r->n;
	unsigned block = r->mod >> 16, port = r->mod & 0xffff;
	struct sim_port *p;

	if (n->type != NODE_SWITCH)
		port = r->in;
	if (!block || block > 4 || port > n->nports)
		return MAD_STATUS_BAD_FIELD;
	p = &n->ports[port];
	if (!p->vlarb) {
		struct vlarb_entry low[32] = { { 0 } };

		for (unsigned i = 0; i < 8; i++)
			low[i] = (struct vlarb_entry){ .vl = (uint8_t)i, .weight = 4 };
		p->vlarb = region_alloc(r->m->region, 4 * SMP_DATA_SIZE);
		vlarb_encode(low, p->vlarb);
	}
	if (r->set)
		memcpy(p->vlarb + (block - 1) * SMP_DATA_SIZE, r->data, SMP_DATA_SIZE);
	memcpy(r->data, p->vlarb + (block - 1) * SMP_DATA_SIZE, SMP_DATA_SIZE);
	return 0;
}

/* A block is 32 MLIDs of 16 ports; the modifier's upper 4 bits say which 16. */
static uint16_t
do_multicast_fdb(const struct sma_request *r)
{
	struct sim_node *n = r->n;
	unsigned position = r->mod >> 28, block = r->mod & 0x0fffffff;
	uint16_t masks[32] = { 0 };
	uint16_t *at;

	if (n->type != NODE_SWITCH)
		return MAD_STATUS_BAD_ATTR;
	if (position > n->nports / 16u || block >= MCAST_LIDS / 32)
		return MAD_STATUS_BAD_FIELD;
	if (r->set && !n->mft)
		n->mft = region_array(r->m->region, 16 * MCAST_LIDS, sizeof(*n->mft));
	if (n->mft) {
		at = n->mft + position * MCAST_LIDS + block * 32;
		if (r->set)
			mft_decode(at, r->data);
		memcpy(masks, at, sizeof(masks));
	}
	mft_encode(masks, r->data);
	return 0;
}

static const struct sma_attribute *
find_attribute(const struct sim_node *n, uint16_t id)
{
	static const struct sma_attribute attributes[] = {
		{ ATTR_LINEAR_FDB, true, do_linear_fdb },
		{ ATTR_PORT_INFO, true, do_port_info },
		{ ATTR_NODE_INFO, false, do_node_info },
		{ ATTR_NODE_DESCRIPTION, false, do_node_description },
		{ ATTR_SWITCH_INFO, true, do_switch_info },
		{ ATTR_GUID_INFO, true, do_guid_info },
		{ ATTR_P_KEY_TABLE, true, do_p_keys },
		{ ATTR_SL_TO_VL, true, do_sl_to_vl },
		{ ATTR_VL_ARBITRATION, true, do_vl_arbitration },
		{ ATTR_MULTICAST_FDB, true, do_multicast_fdb },
	};

	for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++)
		if (attributes[i].id == id)
			return &attributes[i];
	return sma_ar_find(n, id);
}

/* May this request be answered? A wrong key is counted, and the lease of protection begins. */
static bool
key_allows(struct model *m, struct sim_port *p, const struct smp *s)
{
	monotime now = loop_now(m->loop);

	if (p->info.m_key == s->m_key || !p->info.m_key) {
		p->lease_end = MONOTIME_NEVER;
		return true;
	}
	if (now >= p->lease_end) {
		p->info.m_key_protect = 0;
		p->lease_end = MONOTIME_NEVER;
	}
	if (s->h.method == MAD_GET && p->info.m_key_protect < 2)
		return true;
	if (p->info.m_key_violations < 0xffff)
		p->info.m_key_violations++;
	if (p->info.m_key_lease && p->lease_end == MONOTIME_NEVER)
		p->lease_end = now + SEC(p->info.m_key_lease);
	return false;
}

static uint16_t
refused(const struct sim_node *n, const struct smp *s)
{
	for (unsigned i = 0; s->h.method == MAD_SET && i < MUTES; i++)
		if (n->refuse[i] && n->refuse[i] == s->h.attr_id)
			return n->refuse_status[i];
	return 0;
}

bool
sma_answer(struct model *m, uint32_t node, unsigned in, struct smp *s)
{
	struct sim_node *n = &m->nodes[node];
	struct sim_port *p = end_port(n, in);
	const struct sma_attribute *a = find_attribute(n, s->h.attr_id);
	struct sma_request r = {
		.m = m, .n = n, .node = node, .in = in, .mod = s->h.attr_mod, .data = s->data,
		.set = s->h.method == MAD_SET,
	};

	if (!key_allows(m, p, s))
		return false;
	r.show_key = p->info.m_key == s->m_key || !p->info.m_key_protect;
	s->h.status = refused(n, s);
	if (s->h.class_version != 1)
		s->h.status = MAD_STATUS_BAD_VERSION;
	else if (!a || (r.set && !a->set))
		s->h.status = MAD_STATUS_BAD_ATTR;
	else if (!s->h.status)
		s->h.status = a->run(&r);
	s->h.method = MAD_GET_RESP;
	return true;
}
