/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_GENERATE_H
#define SIM_GENERATE_H

#include <stdbool.h>
#include <stdint.h>
#include "sm/base/error.h"
#include "sm/text/ibnet.h"

/*
 * Fabrics by recipe. Hosts come first, then switches; a port is given out in order of the cables,
 * so that one recipe always gives one fabric. generate_help lists the types and their numbers.
 *
 * Nodes are named by their place in the shape (L0_1, H0_1_3), or as a site names them: hosts
 * "node-00001 mlx5_0", switches "MF0;leaf-001:MQM9700/U1" by their distance from hosts, with the
 * vendor id of such devices. The devices of a host with several (rails, planes) share its name and
 * system image GUID, and follow each other.
 */
struct generate_options {
	enum link_width width;	/* of every cable; 0: 4x */
	enum link_speed speed;	/* of every cable; 0: EDR */
	bool shuffle_guids;	/* GUIDs in random order instead of the nodes' order */
	bool site_names;	/* as a site names its nodes */
	unsigned parallel;	/* cables for each one between switches; 0: 1 */
	unsigned missing;	/* so many cables between switches are left out, by seed; the
				 * fabric stays in one piece; 0: see the next */
	unsigned missing_ppm;	/* or this share of them, in 1/1,000,000 */
	uint64_t seed;		/* of missing cables and of the order of GUIDs */
};

/* `args` are the numbers behind the type as text. On success *net belongs to the caller. */
int
generate(struct ibnet **net, const char *type, unsigned nargs, char *const *args,
	 const struct generate_options *options, struct error *e);
/* The same from one text: "fat-tree 8", words parted by blanks, colons or commas. */
int
generate_words(struct ibnet **net, const char *recipe, const struct generate_options *options,
	       struct error *e);
/* A fabric as people name it: a recipe in one word, or else a file as ibnetdiscover prints it, "-"
 * being standard input. */
int
generate_or_read(struct ibnet **net, const char *word, const struct generate_options *options,
		 struct error *e);
/* One line a type, for help texts. */
extern const char generate_help[];

#endif
