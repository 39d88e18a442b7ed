/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_NAMED_H
#define CORE_NAMED_H

#include "sm/conf/config.h"
#include "sm/text/lfts.h"

/*
 * The files that a configuration names, read: the node-name map, and the saved tables of each
 * subnet. Immutable.
 */
struct named {
	struct name_map *names;		/* NULL none */
	struct lfts **tables;		/* by subnet, NULL none */
	unsigned nsubnets;		/* length of tables[] */
};

/* NULL and one sentence if a file cannot be read. */
struct named *
named_load(const struct config *c, struct error *e);
void
named_free(struct named *n);	/* NULL is allowed */
/* The stage that must run again because of what the files hold, whatever their names are. For each
 * difference `fn` (may be NULL) is called as by config_diff(). */
enum config_stage
named_diff(const struct named *old, const struct named *fresh, config_diff_fn fn, void *arg);

#endif
