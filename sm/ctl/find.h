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
 * One rule for all words. These are tried in turn, and the first that anything matches decides: a
 * name as a whole; a GUID, of a node or a port; a LID, any of a port's; a name without regard to
 * case; the beginning of a name. "NODE/NUMBER" is a port of what NODE is by the same rule, if the
 * text as a whole is nothing.
 *
 * find_node() wants one node: ERR_NOT_FOUND, or ERR_INVALID with the candidates. `port`: the text
 * may name a port too.
 */
int
find_node(const struct plan *p, const char *text, bool port, struct found *found, struct error *e);
/* A port of a switch other than its own port 0 was named: packets do not begin or end there. */
bool
find_is_inner(const struct plan *p, const struct found *found);
/* The LID that traffic to (or from) what was found uses. ERR_NOT_FOUND if it has none. */
int
find_lid(const struct plan *p, const struct found *found, uint16_t *lid, struct error *e);

/* A filter of lists: a /regular expression/ on names, or words by the rule above; of names it takes
 * all that match. */
struct filter;

/* NULL text takes everything. NULL is returned for a wrong expression or an empty text
 * (ERR_FORMAT, ERR_INVALID), and where nothing matches the words (ERR_NOT_FOUND). `port`: it may
 * name a port too. */
struct filter *
filter_new(const struct plan *p, const char *text, bool port, struct error *e);
bool
filter_match(const struct filter *f, const struct plan *p, uint32_t node);
int
filter_port(const struct filter *f);		/* the only port that it takes, or -1 */
void
filter_free(struct filter *f);			/* NULL is allowed */

/* Base LID by the plan of a port, 0 if none; of a node: port 0, or the first port that has one. */
uint16_t
port_lid(const struct plan *p, uint32_t port);
uint16_t
node_lid(const struct plan *p, uint32_t node);
/* A cable is missing at this port, which is the end that stands for both. */
bool
link_lost(const struct fabric *f, uint32_t port);
/* Traffic is kept off the cable of this port. */
bool
link_drained(const struct fabric *f, uint32_t port);
const char *
node_type_name(unsigned type);			/* "ca", "switch", "router" */
/* {node, guid, port} of a port under `key`; null for FABRIC_NONE. */
void
put_port(struct json *j, const char *key, const struct fabric *f, uint32_t port);

#endif
