/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROUTING_GROUPS_H
#define ROUTING_GROUPS_H

#include "routing/links.h"
#include "sm/base/error.h"

/*
 * Groups of switches, as a dragonfly has them: links within a group are local, those between groups
 * global. In a dragonfly (Kim, Dally, Scott, Abts 2008) nearly all switches of a group are
 * neighbours of each other, and all have hosts. In a dragonfly+ (Shpiner et al. 2017) a group is a
 * tree of two levels: leaves, with hosts, and spines, which have none and hold the global links.
 *
 * They are found by the cabling alone, once; afterwards they are known by the GUIDs of the
 * switches.
 */
struct groups {
	uint32_t refs;		/* atomic */
	bool plus;		/* dragonfly+ */
	uint32_t n;		/* switches */
	uint32_t ngroups;	/* groups, numbered by their least GUID */
	uint64_t *guid;		/* switches, ascending */
	uint32_t *group;	/* by the same: its group */
	uint32_t *rank;		/* by the same: its place among those of its group, spines apart */
	bool *spine;		/* by the same */
};

/* The groups of a fabric (a reference), or ERR_REFUSED and what fits no dragonfly. */
int
groups_find(const struct links *l, struct groups **groups, struct error *e);
struct groups *
groups_ref(struct groups *g);
void
groups_unref(void *groups);	/* a struct groups; NULL is allowed */
/* By switch of a snapshot: place in guid[]; false: some switch or link does not fit. The caller
 * frees *place. */
bool
groups_fit(const struct groups *g, const struct links *l, uint32_t **place);
/* "dragonfly of 9 groups, 36 switches". */
#define GROUPS_TEXT_SIZE 80
const char *
groups_text(char text[GROUPS_TEXT_SIZE], const struct groups *g);

#endif
