/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/text/ibnet.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/*
 * The fabric of an ibnetdiscover file, built node by node and cable by cable.
 *
 * One region holds all of it, so that a file of any size is freed in one call; the array of nodes
 * grows by doubling inside the region. The parser (ibnet_parse.c), the generator of the simulator
 * and whoever prints a live fabric build through ibnet_add() and ibnet_link(), which keep the
 * promise of the header: cables have two ends that agree.
 */
struct ibnet *
ibnet_new(void)
{
	struct region *r = region_new();
	struct ibnet *net = region_alloc(r, sizeof(*net));

	net->region = r;
	return net;
}

void
ibnet_free(struct ibnet *net)
{
	if (net)
		region_free(net->region);
}

static void
grow(struct ibnet *net)
{
	struct ibnet_node *nodes;

	net->size = net->size ? net->size * 2 : 16;
	nodes = region_array(net->region, net->size, sizeof(*nodes));
	if (net->nnodes)
		memcpy(nodes, net->nodes, net->nnodes * sizeof(*nodes));
	net->nodes = nodes;
}

static char
type_letter(enum ibnet_type type)
{
	return type == IBNET_SWITCH ? 'S' : type == IBNET_CA ? 'H' : 'R';
}

static void
set_port_guids(struct ibnet_node *n)
{
	if (n->type == IBNET_SWITCH) {
		n->ports[0].guid = n->guid;
		return;
	}
	for (unsigned p = 1; p <= n->nports; p++)
		n->ports[p].guid = n->guid + p;
}

uint32_t
ibnet_add(struct ibnet *net, enum ibnet_type type, unsigned nports, uint64_t guid, const char *name,
	  const char *desc)
{
	struct ibnet_node *n;

	if (!nports || nports > IBNET_MAX_NODE_PORTS || net->nnodes >= IBNET_MAX_NODES ||
	    net->nports + nports + 1 > IBNET_MAX_PORTS)
		return IBNET_NONE;
	if (net->nnodes == net->size)
		grow(net);
	n = &net->nodes[net->nnodes];
	n->type = (uint8_t)type;
	n->nports = (uint8_t)nports;
	n->guid = n->system_guid = guid;
	n->name = name ? region_strdup(net->region, name) :
		region_printf(net->region, "%c-%016" PRIx64, type_letter(type), guid);
	n->desc = desc ? region_strdup(net->region, desc) : n->name;
	n->ports = region_array(net->region, nports + 1, sizeof(*n->ports));
	for (unsigned p = 0; p <= nports; p++)
		n->ports[p].peer = IBNET_NONE;
	set_port_guids(n);
	net->nports += nports + 1;
	return net->nnodes++;
}

static struct ibnet_port *
port_of(const struct ibnet *net, uint32_t node, unsigned port)
{
	if (node >= net->nnodes || !port || port > net->nodes[node].nports)
		return NULL;
	return &net->nodes[node].ports[port];
}

int
ibnet_link(struct ibnet *net, uint32_t a, unsigned aport, uint32_t b, unsigned bport,
	   enum link_width width, enum link_speed speed)
{
	struct ibnet_port *pa = port_of(net, a, aport), *pb = port_of(net, b, bport);

	if (!pa || !pb)
		return ERR_INVALID;
	if (pa->peer != IBNET_NONE || pb->peer != IBNET_NONE)
		return ERR_EXISTS;
	pa->peer = b;
	pa->peer_port = (uint8_t)bport;
	pb->peer = a;
	pb->peer_port = (uint8_t)aport;
	pa->width = pb->width = (uint8_t)width;
	pa->speed = pb->speed = (uint8_t)speed;
	net->nlinks++;
	return 0;
}

uint32_t
ibnet_find(const struct ibnet *net, const char *word)
{
	uint32_t found = IBNET_NONE;
	unsigned times = 0;
	uint64_t guid;

	for (uint32_t i = 0; i < net->nnodes; i++) {
		if (!strcmp(net->nodes[i].name, word))
			return i;
		if (!strcmp(net->nodes[i].desc, word)) {
			found = i;
			times++;
		}
	}
	if (times == 1)
		return found;
	if (!guid_parse(word, &guid))
		return IBNET_NONE;
	for (uint32_t i = 0; i < net->nnodes; i++)
		if (net->nodes[i].guid == guid)
			return i;
	return IBNET_NONE;
}
