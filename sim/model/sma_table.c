/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/model/model.h"

#include <string.h>
#include "sim/model/ar_impl.h"
#include "sim/model/model_impl.h"

/*
 * The tables of a simulated device, read and written in blocks (IBA volume 1, 14.2.5.5 and
 * 14.2.5.7 to 14.2.5.12): forwarding, GUIDs, P_Keys, SL to VL, VL arbitration.
 *
 * A table is there from its first Set on and is gone when the device comes up again; before, it
 * reads as it would after power-up. What lies beyond its capacity reads 0 and is not written.
 */
#define PKEY_BLOCK 32u
#define GUID_BLOCK 8u
#define VLARB_BLOCK 32u
#define MFT_BLOCK 32u

/* SLtoVLMappingTable of a switch: the Set is for all input ports, all output ports. */
#define SL2VL_ALL_IN 0x20000u
#define SL2VL_ALL_OUT 0x10000u

uint16_t
sma_linear_fdb(const struct sma_request *r)
{
	struct sim_node *n = r->n;

	if (n->type != NODE_SWITCH)
		return MAD_STATUS_BAD_ATTR;
	if (r->mod >= (n->sw.linear_fdb_cap + LFT_BLOCK_LEN - 1u) / LFT_BLOCK_LEN)
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

/* A block is 32 MLIDs of 16 ports; the modifier's upper 4 bits say which 16. */
uint16_t
sma_multicast_fdb(const struct sma_request *r)
{
	struct sim_node *n = r->n;
	unsigned position = r->mod >> 28, block = r->mod & 0x0fffffff;
	unsigned cap = n->sw.multicast_fdb_cap;
	uint16_t masks[MFT_BLOCK] = { 0 };
	size_t len;

	if (n->type != NODE_SWITCH)
		return MAD_STATUS_BAD_ATTR;
	if (position > n->nports / 16u || block >= (cap + MFT_BLOCK - 1) / MFT_BLOCK)
		return MAD_STATUS_BAD_FIELD;
	len = cap - block * MFT_BLOCK < MFT_BLOCK ? cap - block * MFT_BLOCK : MFT_BLOCK;
	if (r->set && !n->mft)
		n->mft = mem_array(16u * cap, sizeof(*n->mft));
	if (n->mft) {
		uint16_t *at = n->mft + (size_t)position * cap + block * MFT_BLOCK;

		if (r->set) {
			mft_decode(masks, r->data);
			memcpy(at, masks, len * sizeof(*at));
			memset(masks, 0, sizeof(masks));
		}
		memcpy(masks, at, len * sizeof(*at));
	}
	mft_encode(masks, r->data);
	return 0;
}

uint16_t
sma_guid_info(const struct sma_request *r)
{
	struct sim_port *p = end_port(r->n, r->in);
	unsigned cap = p->info.guid_cap;
	uint64_t guids[GUID_BLOCK] = { 0 };
	size_t first, len;

	if (r->mod >= (cap + GUID_BLOCK - 1) / GUID_BLOCK)
		return MAD_STATUS_BAD_FIELD;
	first = r->mod * GUID_BLOCK;
	len = cap - first < GUID_BLOCK ? cap - first : GUID_BLOCK;
	if (r->set) {
		if (!p->guids)
			p->guids = mem_array(cap, sizeof(*p->guids));
		guidinfo_decode(guids, r->data);
		memcpy(p->guids + first, guids, len * sizeof(*guids));
		memset(guids, 0, sizeof(guids));
		flight_changed(r->m, r->node, end_number(r->n, r->in));
	}
	if (p->guids)
		memcpy(guids, p->guids + first, len * sizeof(*guids));
	if (!first)
		guids[0] = p->guid;	/* cannot be written */
	guidinfo_encode(guids, r->data);
	return 0;
}

uint16_t
sma_p_keys(const struct sma_request *r)
{
	struct sim_node *n = r->n;
	/* The upper half names the port of a switch, and nothing elsewhere. */
	unsigned port = n->type == NODE_SWITCH ? r->mod >> 16 : r->in;
	unsigned block = r->mod & 0xffff, len;
	uint16_t keys[PKEY_BLOCK] = { 0 };
	struct sim_port *p;

	if (port > n->nports)
		return MAD_STATUS_BAD_FIELD;
	len = device_pkeys(n, port);
	if (block >= (len + PKEY_BLOCK - 1) / PKEY_BLOCK)
		return MAD_STATUS_BAD_FIELD;
	p = &n->ports[port];
	len = len - block * PKEY_BLOCK < PKEY_BLOCK ? len - block * PKEY_BLOCK : PKEY_BLOCK;
	if (r->set && !(n->keep & MODEL_KEEP_PKEYS)) {
		if (!p->pkeys) {
			p->pkeys = mem_array(device_pkeys(n, port), sizeof(*p->pkeys));
			p->pkeys[0] = 0xffff;
		}
		pkeys_decode(keys, r->data);
		memcpy(p->pkeys + block * PKEY_BLOCK, keys, len * sizeof(*keys));
		memset(keys, 0, sizeof(keys));
		flight_changed(r->m, r->node, port);
	}
	for (unsigned i = 0; i < len; i++)
		keys[i] = port_pkey(p, block * PKEY_BLOCK + i);
	pkeys_encode(keys, r->data);
	return 0;
}

int
sma_pkey_index(const struct sim_node *n, unsigned port, uint16_t pkey)
{
	const struct sim_port *p = &n->ports[port];
	unsigned len = p->pkeys ? device_pkeys(n, port) : 1;

	for (unsigned i = 0; i < len; i++)
		if (pkeys_match(port_pkey(p, i), pkey))
			return (int)i;
	return -1;
}

/* ---- SL to VL ---- */

static void
new_sl2vl(const struct sma_request *r)
{
	size_t n = (r->n->nports + 1u) * (r->n->nports + 1u);
	const char *first = r->m->o.like_ibsim ? "\x01\x23\x45\x67\x89\xab\xcd\xe7" :
		"\x01\x23\x45\x67\x01\x23\x45\x67";

	r->n->sl2vl = mem_array(n, 8);
	for (size_t i = 0; i < n; i++)
		memcpy(r->n->sl2vl + i * 8, first, 8);
}

static void
set_sl2vl(const struct sma_request *r, unsigned in, unsigned out)
{
	unsigned ports = r->n->nports + 1u;
	unsigned in_end = r->mod & SL2VL_ALL_IN ? ports : in + 1;
	unsigned out_end = r->mod & SL2VL_ALL_OUT ? ports : out + 1;

	for (unsigned i = r->mod & SL2VL_ALL_IN ? 0 : in; i < in_end; i++)
		for (unsigned o = r->mod & SL2VL_ALL_OUT ? 0 : out; o < out_end; o++)
			memcpy(r->n->sl2vl + ((size_t)i * ports + o) * 8, r->data, 8);
}

/* Switches have a table for each (input port, output port), others one a port. */
uint16_t
sma_sl_to_vl(const struct sma_request *r)
{
	struct sim_node *n = r->n;
	unsigned in = r->mod >> 8 & 0xff, out = r->mod & 0xff;
	uint32_t limit = n->type != NODE_SWITCH ? 0 : n->caps->optimized_sl2vl ?
		SL2VL_ALL_IN | SL2VL_ALL_OUT | 0xffff : 0xffff;
	const uint8_t *table;

	if (r->mod > limit)
		return MAD_STATUS_BAD_FIELD;
	if (n->type != NODE_SWITCH)
		in = out = r->in;
	else if (in > n->nports || out > n->nports)
		return MAD_STATUS_BAD_FIELD;
	if (!n->sl2vl)
		new_sl2vl(r);
	table = n->sl2vl + ((size_t)in * (n->nports + 1u) + out) * 8;
	if (r->set)
		set_sl2vl(r, in, out);
	memset(r->data, 0, SMP_DATA_SIZE);
	memcpy(r->data, table, 8);
	return 0;
}

/* ---- VL arbitration ---- */

static void
new_vlarb(const struct sma_request *r, struct sim_port *p)
{
	struct vlarb_entry e[VLARB_BLOCK] = { { 0 } };
	bool ibsim = r->m->o.like_ibsim;

	for (unsigned i = 0; i < 8 && i < p->info.vl_arb_low_cap; i++)
		e[i] = (struct vlarb_entry){ .vl = (uint8_t)i, .weight = ibsim && !i ? 0 : 4 };
	p->vlarb = mem_array(4, SMP_DATA_SIZE);
	vlarb_encode(e, p->vlarb);
	if (!ibsim)
		return;
	for (unsigned i = 0; i < 8; i++)
		e[i].weight = i ? 0 : 4;
	vlarb_encode(e, p->vlarb + 2 * (size_t)SMP_DATA_SIZE);
}

/* Blocks 1 and 2 are the low-priority table, 3 and 4 the high-priority one. */
uint16_t
sma_vl_arbitration(const struct sma_request *r)
{
	struct sim_node *n = r->n;
	unsigned block = r->mod >> 16, port = r->mod & 0xffff, cap, first;
	struct sim_port *p;
	uint8_t *at;

	if (n->type != NODE_SWITCH)
		port = r->in;
	if (!block || block > 4 || port > n->nports)
		return MAD_STATUS_BAD_FIELD;
	p = &n->ports[port];
	cap = block > 2 ? p->info.vl_arb_high_cap : p->info.vl_arb_low_cap;
	first = block % 2 ? 0 : VLARB_BLOCK;
	if (cap <= first)
		return MAD_STATUS_BAD_FIELD;
	cap = cap - first < VLARB_BLOCK ? cap - first : VLARB_BLOCK;
	if (!p->vlarb)
		new_vlarb(r, p);
	at = p->vlarb + (size_t)(block - 1) * SMP_DATA_SIZE;
	if (r->set)
		memcpy(at, r->data, 2u * cap);	/* 2 bytes an entry */
	memcpy(r->data, at, SMP_DATA_SIZE);
	return 0;
}
