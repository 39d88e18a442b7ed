/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_GENERATE_IMPL_H
#define SIM_GENERATE_IMPL_H

#include <stdbool.h>
#include <stdint.h>
#include "sm/base/error.h"
#include "sm/base/mem.h"

/* What the files of the generator share: generate.c reads a recipe and turns the finished plan into
 * a fabric, generate_tree.c, generate_grid.c and generate_graph.c hold the shapes. */
#define GENERATE_ARGS 9u	/* numbers of a recipe, at most */
#define GENERATE_LEVELS 4u	/* of a tree, at most */

struct plan_node {
	char name[32];		/* "L0_1"; without the device of a host with several */
	uint32_t index;		/* in the struct ibnet to come */
	uint32_t ports;		/* the node has; more if more cables were joined */
	uint32_t used;		/* given to cables, from port 1 */
	bool host;		/* a channel adapter */
	uint8_t device;		/* number of this device in its host; 0: it has one */
};

struct plan_cable {
	uint32_t a, b;		/* nodes */
	uint32_t aport, bport;	/* their ports */
	bool missing;		/* left out in the end */
};

struct plan {
	struct region *region;		/* owns what follows */
	struct plan_node *nodes;	/* nnodes */
	struct plan_cable *cables;	/* ncables */
	size_t nnodes, nodes_size;	/* in use, allocated */
	size_t ncables, cables_size;	/* in use, allocated */
	unsigned parallel;		/* cables for each one between switches */
	struct error *e;		/* for sentences about impossible numbers */
};

/* A sentence about numbers that make no fabric; returns ERR_INVALID. */
int
plan_impossible(const struct plan *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Make room; called once, before anything is added. `cables` counts those of hosts, `trunks` those
 * between switches; all are exact or upper bounds. */
int
plan_reserve(struct plan *p, uint64_t nodes, uint64_t host_cables, uint64_t trunks);
/* A switch of so many ports, or a host of one or more. Returns its number, counted from 0. */
uint32_t
plan_add(struct plan *p, bool host, unsigned ports, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* A cable between the next free ports of two nodes; between switches `parallel` of them. */
void
plan_join(struct plan *p, uint32_t a, uint32_t b);
/* `hosts` new hosts on a switch, named "H" and the rest of the switch's name, and a number. */
void
plan_hosts(struct plan *p, uint32_t sw, unsigned hosts);

/* The shapes. `a` holds the numbers of the recipe, 0 where an optional one was not given. */
int
build_ft2(struct plan *p, const unsigned *a, unsigned n);
int
build_ft3(struct plan *p, const unsigned *a, unsigned n);
int
build_fat_tree(struct plan *p, const unsigned *a, unsigned n);
int
build_xgft(struct plan *p, const unsigned *a, unsigned n);
int
build_rails(struct plan *p, const unsigned *a, unsigned n);
int
build_torus(struct plan *p, const unsigned *a, unsigned n);
int
build_mesh(struct plan *p, const unsigned *a, unsigned n);
int
build_hypercube(struct plan *p, const unsigned *a, unsigned n);
int
build_hyperx(struct plan *p, const unsigned *a, unsigned n);
int
build_dragonfly(struct plan *p, const unsigned *a, unsigned n);
int
build_dragonfly_plus(struct plan *p, const unsigned *a, unsigned n);
int
build_slim_fly(struct plan *p, const unsigned *a, unsigned n);
int
build_random(struct plan *p, const unsigned *a, unsigned n);

#endif
