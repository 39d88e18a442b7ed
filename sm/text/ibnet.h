/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TEXT_IBNET_H
#define TEXT_IBNET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "sm/base/buf.h"
#include "sm/base/error.h"
#include "sm/base/mem.h"
#include "sm/base/text.h"

/*
 * A fabric as ibnetdiscover prints it, and ibsim reads it: nodes, their ports, and the cables.
 *
 * A struct ibnet owns a region in which every node, port and string lives; ibnet_free() frees all
 * of it at once. Nodes are numbered from 0 in the order of the file. The two ends of a cable
 * always name each other: ports[p].peer == n2 and peer_port == p2 if and only if n2's ports[p2]
 * names n and p.
 */
#define IBNET_NONE UINT32_MAX
#define IBNET_MAX_NODES 200000u		/* nodes of one file */
#define IBNET_MAX_PORTS 8000000u	/* ports of all nodes together */
#define IBNET_MAX_NODE_PORTS 254u	/* external ports of one node */
#define IBNET_MAX_LINE 1024u		/* bytes of one line */
#define IBNET_MAX_NAME 64u		/* bytes of a name or description */

enum ibnet_type {		/* as NodeInfo.NodeType */
	IBNET_CA = 1,
	IBNET_SWITCH = 2,
	IBNET_ROUTER = 3,
};

struct ibnet_port {
	uint64_t guid;		/* port GUID; 0 on the external ports of a switch */
	uint32_t peer;		/* node at the other end, IBNET_NONE if not cabled */
	uint32_t line;		/* line of the file that states the cable, 0 if none does */
	uint16_t lid;		/* base LID, 0 if none; switches: port 0 only */
	uint8_t lmc;		/* LMC of that LID */
	uint8_t peer_port;	/* port at the other end */
	uint8_t width;		/* enum link_width; 4x if the file does not say; 0 if not cabled */
	uint8_t speed;		/* enum link_speed; SDR if the file does not say; 0 if not cabled */
};

struct ibnet_node {
	uint64_t guid;		/* node GUID */
	uint64_t system_guid;	/* system image GUID */
	const char *name;	/* the file's identifier, "S-000b8cffff002347", "Switch1"; unique */
	const char *desc;	/* NodeDescription; the name where the file gives none */
	struct ibnet_port *ports;	/* nports + 1; [0] is a switch's port 0, else unused */
	uint32_t vendor_id;	/* 24 bits */
	uint32_t line;		/* line of the file with the node's header, 0 if none */
	uint16_t device_id;	/* DeviceID */
	uint8_t type;		/* enum ibnet_type */
	uint8_t nports;		/* external ports, 1..254 */
	bool enhanced_port0;	/* switches: port 0 is an enhanced one */
};

struct ibnet {
	struct region *region;		/* owns everything below */
	struct ibnet_node *nodes;	/* nnodes */
	uint32_t nnodes;		/* nodes in use */
	uint32_t size;			/* nodes allocated */
	uint32_t nlinks;		/* cables */
	uint32_t nports;		/* external ports and port 0s of all nodes */
};

struct ibnet *
ibnet_new(void);
void
ibnet_free(struct ibnet *net);	/* NULL is allowed */

/*
 * Add a node without cables; returns its index, or IBNET_NONE when a limit of the header is
 * reached. `name` and `desc` are copied; a NULL name becomes "S-", "H-" or "R-" and the GUID, a
 * NULL desc the name. The caller sees to it that names and GUIDs are unique. Port GUIDs are
 * set as ibsim does: a switch's port 0 has the node's, port n of a CA node GUID + n.
 */
uint32_t
ibnet_add(struct ibnet *net, enum ibnet_type type, unsigned nports, uint64_t guid, const char *name,
	  const char *desc);
/* Join two free ports by a cable. ERR_EXISTS if one is in use, ERR_INVALID if there is none. */
int
ibnet_link(struct ibnet *net, uint32_t a, unsigned aport, uint32_t b, unsigned bport,
	   enum link_width width, enum link_speed speed);

/* Parse `size` bytes of text; `file` names them in errors ("file:line: what is wrong"). On error
 * *net is NULL. Text without any node is an error. */
int
ibnet_parse(struct ibnet **net, const char *text, size_t size, const char *file, struct error *e);
/* Read and parse a file; "-" is standard input. */
int
ibnet_read(struct ibnet **net, const char *path, struct error *e);
/* Append the text. What was parsed comes out with the same nodes, names and cables. */
void
ibnet_write(struct buf *b, const struct ibnet *net);
/* The node with this name, or this description if only one has it, or this GUID; or IBNET_NONE. */
uint32_t
ibnet_find(const struct ibnet *net, const char *word);

#endif
