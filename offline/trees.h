/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OFFLINE_TREES_H
#define OFFLINE_TREES_H

#include "offline/dump.h"
#include "routing/check.h"

/* Multicast trees of a dump, and what was found of them. */
struct trees {
	struct check_tree *list;	/* one for each (MLID, switch), by MLID; owned */
	uint32_t len;			/* how many */
	uint32_t mlids;			/* multicast LIDs in use */
	uint64_t loops;			/* (MLID, sending switch) whose packets arrive twice */
	uint64_t unreached;		/* (MLID, sending switch, switch) cut off, or the end */
	char first[400];		/* the first fault in one sentence, "" if none */
};

/* Follow each tree from every switch with a member. */
void
trees_check(struct trees *t, const struct dump *d);
void
trees_free(struct trees *t);

#endif
