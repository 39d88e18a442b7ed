/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/fabric/fabric.h"
#include "sm/text/ibnet.h"

/*
 * Between a parsed ibnetdiscover text and a snapshot, both ways. The text says nothing of MTU,
 * lanes or table sizes, so a snapshot made from it gets what present hardware has. Where the two
 * ends of a cable state different rates, the lesser one is taken: that is how the link can run.
 */
#define TEXT_MTU 5		/* code: 4096 bytes */
#define TEXT_VLS 4		/* code: VL 0-7 */
#define TEXT_LFT_CAP 49152	/* all unicast LIDs */
#define TEXT_PKEYS 128		/* what adapters and switches commonly have room for */
#define TEXT_MFT_CAP 16384

static uint32_t
text_rate(const struct ibnet_port *p)
{
	uint32_t rate = link_rate_mbps(p->width, p->speed);

	return rate ? rate : link_rate_mbps(LINK_4X, SPEED_SDR);
}

static struct fabric_port
text_port(const struct ibnet *net, const struct ibnet_node *n, unsigned number)
{
	const struct ibnet_port *p = &n->ports[number];
	struct fabric_port port = {
		.guid = p->guid, .lid = p->lid, .lmc = p->lmc, .state = PORT_DOWN,
		.mtu_cap = TEXT_MTU, .neighbor_mtu = TEXT_MTU,
		.vl_cap = TEXT_VLS, .op_vls = TEXT_VLS,
		.width = p->width, .speed = p->speed,
	};

	if (n->type == IBNET_SWITCH && number == 0)
		port.state = PORT_ACTIVE;
	if (number == 0 || p->peer == IBNET_NONE)
		return port;
	port.state = PORT_ACTIVE;
	port.rate_mbps = text_rate(p);
	p = &net->nodes[p->peer].ports[p->peer_port];
	if (text_rate(p) < port.rate_mbps)
		port.rate_mbps = text_rate(p);
	return port;
}

static void
text_node(struct fabric_builder *b, const struct ibnet *net, uint32_t index)
{
	const struct ibnet_node *n = &net->nodes[index];
	uint32_t handle = fabric_add_node(b, &(struct fabric_node){
		.guid = n->guid, .system_guid = n->system_guid, .name = n->desc, .desc = n->desc,
		.vendor_id = n->vendor_id, .device_id = n->device_id, .type = n->type,
		.nports = n->nports,
		.lft_cap = n->type == IBNET_SWITCH ? TEXT_LFT_CAP : 0,
		.pkey_cap = TEXT_PKEYS,
		.enforce_cap = n->type == IBNET_SWITCH ? TEXT_PKEYS : 0,
		.mft_cap = n->type == IBNET_SWITCH ? TEXT_MFT_CAP : 0,
		.flags = n->enhanced_port0 ? FABRIC_NODE_ENHANCED_PORT0 : 0,
	});

	for (unsigned i = 0; i <= n->nports; i++) {
		struct fabric_port p = text_port(net, n, i);

		fabric_add_port(b, handle, i, &p);
	}
}

struct fabric *
fabric_from_ibnet(const struct ibnet *net)
{
	struct fabric_builder *b = fabric_builder_new();

	for (uint32_t i = 0; i < net->nnodes; i++)
		text_node(b, net, i);
	for (uint32_t i = 0; i < net->nnodes; i++) {
		const struct ibnet_node *n = &net->nodes[i];

		for (unsigned k = 1; k <= n->nports; k++) {
			const struct ibnet_port *p = &n->ports[k];

			if (p->peer == IBNET_NONE || p->peer < i ||
			    (p->peer == i && p->peer_port < k))
				continue;
			fabric_add_link(b, i, k, p->peer, p->peer_port);
		}
	}
	return fabric_build(b, 1);
}

static void
text_links(struct ibnet *net, const struct fabric *f)
{
	for (uint32_t i = 0; i < f->nports; i++) {
		const struct fabric_port *p = &f->ports[i], *q;
		uint32_t end = fabric_cable_end(f, i);

		if (end == FABRIC_NONE || end < i)
			continue;
		q = &f->ports[end];
		ibnet_link(net, p->node, p->number, q->node, q->number, p->width, p->speed);
	}
}

struct ibnet *
fabric_to_ibnet(const struct fabric *f)
{
	struct ibnet *net = ibnet_new();

	for (uint32_t i = 0; i < f->nnodes; i++) {
		const struct fabric_node *n = &f->nodes[i];
		enum ibnet_type type = n->type == NODE_SWITCH ? IBNET_SWITCH :
			n->type == NODE_ROUTER ? IBNET_ROUTER : IBNET_CA;
		struct ibnet_node *to;

		if (ibnet_add(net, type, n->nports ? n->nports : 1, n->guid, NULL, n->desc) ==
		    IBNET_NONE)
			break;
		to = &net->nodes[i];
		to->system_guid = n->system_guid;
		to->vendor_id = n->vendor_id;
		to->device_id = n->device_id;
		to->enhanced_port0 = n->flags & FABRIC_NODE_ENHANCED_PORT0;
		for (unsigned k = 0; k <= n->nports; k++) {
			to->ports[k].guid = fabric_port_at(f, i, k)->guid;
			to->ports[k].lid = fabric_port_at(f, i, k)->lid;
			to->ports[k].lmc = fabric_port_at(f, i, k)->lmc;
		}
	}
	if (net->nnodes == f->nnodes)
		text_links(net, f);
	return net;
}
