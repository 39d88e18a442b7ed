/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROUTING_LINKS_H
#define ROUTING_LINKS_H

#include "sm/fabric/fabric.h"

/*
 * Links between switches, parallel cables taken as one: for engines to which the next switch is
 * what matters. A link is numbered from each of its ends: that of switch `a` to its neighbour to[i]
 * is i, first[a] <= i < first[a + 1], and the same the other way round is back[i].
 */
struct links {
	const struct fabric *f;		/* whose; borrowed */
	uint32_t n;			/* switches */
	uint32_t len;			/* links, each from both ends */
	uint32_t *first;		/* by switch, n + 1 */
	uint32_t *to;			/* by link: switch there; ascending for each switch */
	uint32_t *from;			/* by link: switch here */
	uint32_t *back;			/* by link: the same from there */
	uint32_t *port_first;		/* by link, len + 1: its ports here */
	uint8_t *port;			/* of the fastest of its cables, ascending */
	uint32_t *hub;			/* by switch: place of its port 0 in of[] */
	uint32_t *of;			/* by port: its link; LINKS_NONE: to a host, or nothing */
};

#define LINKS_NONE UINT32_MAX

void
links_init(struct links *l, const struct fabric *f);
void
links_free(struct links *l);
/* The link from one switch to another; LINKS_NONE. */
uint32_t
links_between(const struct links *l, uint32_t a, uint32_t b);
/* Lanes for data that every cable between switches may run, `most` at most. */
unsigned
links_vls(const struct fabric *f, unsigned most);

/* The link that a port of a switch belongs to. */
static inline uint32_t
links_of_port(const struct links *l, uint32_t sw, unsigned port)
{
	return l->of[l->hub[sw] + port];
}

#endif
