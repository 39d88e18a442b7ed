/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_FABRIC_H
#define FABRIC_FABRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "sm/base/error.h"
#include "sm/base/text.h"
#include "sm/wire/attr.h"

/*
 * A snapshot: what a sweep found. Immutable once built, reference-counted (atomically: workers
 * hold references too), one region. Everything is a flat array.
 *
 * Nodes are sorted by GUID, so that equal fabrics give equal indices however they were swept.
 * Ports of node n are ports[n.first_port + number], number 0..n.nports (port 0 of a CA is a
 * placeholder with guid 0). Switches have an index of their own, 0..nswitches-1, also in GUID
 * order; the links between switches form a graph in compressed sparse rows (edge_first, edges).
 */
#define FABRIC_NONE UINT32_MAX

enum fabric_node_flags {
	FABRIC_NODE_SILENT = 1,		/* does not answer; its last known tables still forward */
	FABRIC_NODE_ENHANCED_PORT0 = 2,
	FABRIC_NODE_EXTENDED_SPEEDS = 4,	/* offers CAP_EXTENDED_SPEEDS */
	FABRIC_NODE_REFUSES_TABLE = 8,	/* answers, and takes no other forwarding table */
};
/* Its forwarding table stays as it is, whatever is planned. */
#define FABRIC_NODE_FIXED (FABRIC_NODE_SILENT | FABRIC_NODE_REFUSES_TABLE)

enum fabric_port_flags {
	FABRIC_PORT_REFUSED = 1,	/* refuses what the subnet manager sets */
	FABRIC_PORT_DRAINED = 2,	/* its link is up, but traffic is kept off it */
};

struct fabric_node {
	uint64_t guid;
	uint64_t system_guid;
	const char *name;	/* from the name map, else the NodeDescription; never NULL */
	const char *desc;	/* NodeDescription, never NULL */
	uint32_t first_port;	/* index of port 0 */
	uint32_t sw;		/* switch index, FABRIC_NONE for others */
	uint32_t vendor_id;
	uint32_t revision;
	uint16_t device_id;
	uint16_t lft_cap;	/* switch: LinearFDBCap, LIDs */
	uint16_t mft_cap;	/* switch: MulticastFDBCap */
	uint16_t pkey_cap;	/* NodeInfo.PartitionCap: P_Keys of an end port */
	uint16_t enforce_cap;	/* switch: PartitionEnforcementCap, P_Keys of an outer port */
	uint8_t type;		/* enum node_type */
	uint8_t nports;		/* physical ports, without port 0 */
	uint8_t hops;		/* directed-route distance from the subnet manager's node */
	uint8_t flags;		/* enum fabric_node_flags */
};

struct fabric_port {
	uint64_t guid;		/* CA port or switch port 0; 0 for a switch's external ports */
	uint64_t lost_peer;	/* no peer now: node GUID that was cabled here before; 0 none */
	uint32_t node;		/* node index */
	uint32_t peer;		/* port index of the other end; FABRIC_NONE */
	uint32_t rate_mbps;	/* data rate of the link as it runs; 0 if it is down */
	uint32_t cap_mask;	/* PortInfo.CapabilityMask (switch external ports: 0) */
	uint16_t lid;		/* LID held when it was read; 0 */
	uint8_t number;		/* port number on its node */
	uint8_t lmc;		/* LMC held when it was read */
	uint8_t state;		/* enum port_state */
	uint8_t mtu_cap;	/* MTU code */
	uint8_t neighbor_mtu;	/* MTU code in use */
	uint8_t vl_cap;		/* VL code */
	uint8_t op_vls;		/* VL code in use */
	uint8_t width;		/* enum link_width in use */
	uint8_t speed;		/* enum link_speed in use */
	uint8_t flags;		/* enum fabric_port_flags */
	uint8_t lost_number;	/* port number at lost_peer */
	uint8_t lost_type;	/* enum node_type of lost_peer; 0 unknown */
};

/* One direction of a link between two switches. Parallel links are separate edges. */
struct fabric_edge {
	uint32_t to;		/* switch index */
	uint32_t rate_mbps;
	uint8_t out;		/* port number here */
	uint8_t in;		/* port number there */
};

/* A cable that was there, of which the node of one end, or of both, is not in the snapshot. What
 * ports of nodes that are remember (fabric_port.lost_peer) need not be among them. */
struct fabric_lost {
	uint64_t guid[2];	/* nodes, the lower one first */
	uint8_t number[2];	/* port numbers there */
	uint8_t type[2];	/* enum node_type, 0 unknown */
};

struct fabric {
	struct fabric_node *nodes;	/* nnodes, by GUID */
	struct fabric_port *ports;	/* nports */
	uint32_t *switches;		/* nswitches node indices */
	uint32_t *edge_first;		/* nswitches + 1 */
	struct fabric_edge *edges;	/* by switch, then out port */
	struct fabric_lost *lost;	/* nlost, by first end, then second; none twice */
	uint32_t nlost;
	uint32_t nnodes;
	uint32_t nports;		/* entries of ports[], placeholders included */
	uint32_t nswitches;
	uint32_t ncas;			/* channel adapters: "hosts" in messages */
	uint32_t nlinks;		/* cables whose two ends are known */
	uint32_t nedges;		/* 2 x links between switches (a loop cable counts 2) */
	uint32_t sm_port;		/* port index of the subnet manager's port; FABRIC_NONE */
	uint64_t generation;		/* rises with every snapshot of a subnet */
};

struct fabric *
fabric_ref(const struct fabric *f);
void
fabric_unref(const struct fabric *f);	/* NULL is allowed */

uint32_t
fabric_node_by_guid(const struct fabric *f, uint64_t guid);	/* node GUID; FABRIC_NONE */
uint32_t
fabric_port_by_guid(const struct fabric *f, uint64_t guid);	/* port GUID; FABRIC_NONE */

static inline const struct fabric_port *
fabric_port_at(const struct fabric *f, uint32_t node, unsigned number)
{
	return &f->ports[f->nodes[node].first_port + number];
}

/* Node for people: the beginning of its name, at most `len` bytes of it, and " (0xguid)" where
 * another node has the same name. Returns text. */
#define FABRIC_NAME_SIZE 160
#define FABRIC_NAME_LEN 80	/* for `len`, where there is room */
const char *
fabric_node_text(char text[FABRIC_NAME_SIZE], const struct fabric *f, uint32_t node, int len);

/* Port at the other end of the cable, drained ones included; FABRIC_NONE: no cable that is up. */
uint32_t
fabric_cable_end(const struct fabric *f, uint32_t port);
/* Cables that are up but drained; f->nlinks does not count them. */
uint32_t
fabric_drained_links(const struct fabric *f);

static inline const struct fabric_node *
fabric_switch_node(const struct fabric *f, uint32_t sw)
{
	return &f->nodes[f->switches[sw]];
}

/*
 * Building. Add nodes (returned handles count from 0 in order of adding), describe their ports,
 * join them by links, then build. Node and port structs are copied, strings too; the fields
 * first_port, sw, node, peer are filled by the builder. A port that is never described is Down.
 * A link both of whose ends are not below PORT_INIT is kept with its rate as given in port a.
 */
struct fabric_builder;

struct fabric_builder *
fabric_builder_new(void);
uint32_t
fabric_add_node(struct fabric_builder *b, const struct fabric_node *node);
void
fabric_add_port(struct fabric_builder *b, uint32_t node, unsigned number,
		const struct fabric_port *port);
void
fabric_add_link(struct fabric_builder *b, uint32_t node_a, unsigned port_a, uint32_t node_b,
		unsigned port_b);
/* A cable of nodes that are not there; either end may come first. */
void
fabric_add_lost(struct fabric_builder *b, const struct fabric_lost *lost);
/* The port that the subnet manager sits on. */
void
fabric_set_sm(struct fabric_builder *b, uint32_t node, unsigned number);
/* Frees the builder. Two nodes of one GUID are a caller's mistake: the later one is left out. */
struct fabric *
fabric_build(struct fabric_builder *b, uint64_t generation);

/* The snapshot with other values of its ports: `ports` (f->nports, from mem_array) is taken over,
 * all else is shared with `f`. Ends of cables, node, number and guid must be as they were. */
struct fabric *
fabric_with_ports(const struct fabric *f, struct fabric_port *ports, uint64_t generation);

/* One is the other, or both are a third, with other values of its ports. */
bool
fabric_is_same(const struct fabric *a, const struct fabric *b);

/* The snapshot without the cables one of whose ends is marked in cut[] (by port index): they count
 * as lost, and their ends get `flags` (enum fabric_port_flags) too. All indices stay. */
struct fabric *
fabric_cut(const struct fabric *f, const bool *cut, uint8_t flags, uint64_t generation);

/* A snapshot of a parsed ibnetdiscover text (all links up and ACTIVE, rate as stated there, else
 * 4xSDR; LIDs as stated). For tests, benchmarks and offline routing. */
struct ibnet;
struct fabric *
fabric_from_ibnet(const struct ibnet *net);
/* And back, for `weft show topology -o ibnetdiscover`. Caller frees with ibnet_free(). */
struct ibnet *
fabric_to_ibnet(const struct fabric *f);

#endif
