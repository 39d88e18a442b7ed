/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_GENERATE_H
#define SIM_GENERATE_H

#include <stdbool.h>
#include <stdint.h>
#include "sm/base/error.h"
#include "sm/text/ibnet.h"

/*
 * Fabrics by recipe. Hosts come first, each with one port, then switches; a port is given out in
 * order of the cables, so that one recipe always gives one fabric. Types and their numbers:
 *
 *   ft3 K                                full three-level fat tree of K-port switches, K even
 *   ft2 LEAVES SPINES HOSTS [PARALLEL]   two levels, HOSTS a leaf, PARALLEL cables to each spine
 *   torus X Y Z HOSTS                    HOSTS a switch; a side of 2 is a double cable
 *   mesh X Y Z HOSTS                     the same without the cables that close the rings
 *   dragonfly A H P G                    G groups of A switches, P hosts, H global cables each
 *   random SWITCHES DEGREE HOSTS SEED    a connected random graph, up to DEGREE cables a switch
 */
struct generate_options {
	enum link_width width;	/* of every cable; 0: 4x */
	enum link_speed speed;	/* of every cable; 0: EDR */
	bool shuffle_guids;	/* GUIDs in random order instead of the nodes' order */
	uint64_t seed;		/* of that order */
};

/* `args` are the numbers behind the type as text. On success *net belongs to the caller. */
int
generate(struct ibnet **net, const char *type, unsigned nargs, char *const *args,
	 const struct generate_options *options, struct error *e);
/* One line a type, for help texts. */
extern const char generate_help[];

#endif
