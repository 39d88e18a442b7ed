/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_NAMES_H
#define SIM_NAMES_H

#include <stdbool.h>
#include "sim/model/model.h"
#include "sm/base/error.h"

/*
 * How people name nodes and ports of a fabric. Private to sim.
 *
 * A node is named by its description if no other has the same, by the file's name for it, by the
 * GUID of itself or of an end port, or by a LID; a port by NODE/NUMBER. Descriptions and GUIDs are
 * those of the file; LIDs are those of the moment.
 */
struct names;

struct names *
names_new(struct model *m);
void
names_free(struct names *n);	/* NULL is allowed */

int
names_node(const struct names *n, const char *word, uint32_t *node, struct error *e);
/* 1..number of ports; `zero`: also port 0 of a switch. */
int
names_port(const struct names *n, const char *word, bool zero, uint32_t *node, unsigned *port,
	   struct error *e);
/* NODE/NUMBER or NODE alone, which leaves *port at 0. */
int
names_either(const struct names *n, const char *word, uint32_t *node, unsigned *port,
	     struct error *e);
/* The best name for people: the description if it is the only one of its kind, else the file's. */
const char *
names_text(const struct names *n, uint32_t node);

#endif
