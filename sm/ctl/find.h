/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CTL_FIND_H
#define CTL_FIND_H

#include "sm/base/json.h"
#include "sm/fabric/plan.h"

/* From the words of an administrator to nodes and ports: NODE, NODE/NUMBER, and filters. */
struct found {
	uint32_t node;		/* node index */
	int number;		/* port number, -1 if none was named */
	uint16_t lid;		/* the LID, if the node was named by one; else 0 */
};

/*
 * Names win over GUIDs, GUIDs over LIDs. A name matches as a whole, else without regard to case,
 * else as a beginning that only one node has. GUIDs are of nodes or ports, LIDs any of a port's.
 * `port`: "NODE/NUMBER" is understood too. ERR_NOT_FOUND, or ERR_INVALID with the candidates.
 */
int
find_node(const struct plan *p, const char *text, bool port, struct found *found, struct error *e);
/* The LID that traffic to (or from) what was found uses. ERR_NOT_FOUND if it has none. */
int
find_lid(const struct plan *p, const struct found *found, uint16_t *lid, struct error *e);

/* A filter of lists: name, GUID, /regex/, or LID. */
struct filter;

struct filter *
filter_new(const char *text, struct error *e);	/* NULL text: a filter that takes everything */
bool
filter_match(const struct filter *f, const struct plan *p, uint32_t node);
void
filter_free(struct filter *f);			/* NULL is allowed */

/* Base LID by the plan of a port, 0 if none; of a node: port 0, or the first port that has one. */
uint16_t
port_lid(const struct plan *p, uint32_t port);
uint16_t
node_lid(const struct plan *p, uint32_t node);
const char *
node_type_name(unsigned type);			/* "ca", "switch", "router" */
/* {node, guid, port} of a port under `key`; null for FABRIC_NONE. */
void
put_port(struct json *j, const char *key, const struct fabric *f, uint32_t port);

#endif
