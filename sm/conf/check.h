/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONF_CHECK_H
#define CONF_CHECK_H

#include <stdbool.h>
#include <stdint.h>
#include "sm/base/map.h"
#include "sm/conf/config.h"
#include "sm/conf/doc.h"

/* What options say about each other. 0, or a code with d->error filled at the place of the later
 * one. What follows from other options is filled in: the P_Key of the partition `default`, and
 * limits of arbitrations. */
int
check_config(struct config *c, const struct doc *d);

/*
 * For the files check*.c.
 */
/* Names of entries, found in no time. Zero-initialise; check_known_free() frees; texts are
 * borrowed. */
struct check_known {
	struct map map;		/* text as a key to index */
	const char **texts;	/* in order, NULL behind the last */
	uint32_t len;		/* how many */
	uint32_t size;		/* room, the NULL included */
};

/* False: it is there already. */
bool
check_known_add(struct check_known *n, const char *text);
bool
check_known_has(const struct check_known *n, const char *text);
void
check_known_free(struct check_known *n);

/* One check of a whole configuration. */
struct check {
	struct config *c;		/* what is filled in is written */
	const struct doc *d;		/* what it was made from */
	struct check_known subnets;		/* each once */
	struct check_known groups;		/* those checked so far */
	struct check_known partitions;	/* each once */
	struct check_known levels;		/* each once */
};

/* The value of a key, or the map itself. */
const struct doc_node *
check_place(const struct doc_node *map, const char *key);
/* "OPTION: there is no WHAT NAME; did you mean ...?" */
int
check_unknown(const struct check *k, const struct doc_node *at, const char *option,
	      const char *what, const char *name, const struct check_known *known);
/* Groups and partitions that a list of selections (NULL: none) names; `n` is the node of it. */
int
check_selections(const struct check *k, const char *option, const char *const *texts,
		 const struct doc_node *n);
/* Different names that must be known. */
int
check_names(const struct check *k, const char *option, const char *what, const char *const *texts,
	    const struct check_known *known, const struct doc_node *n);

/* Plugins, and chains of engines, which may name them. (plugins.c) */
int
check_plugins(struct check *k);
/* Subnets that they name. */
int
check_plugin_subnets(struct check *k);
int
check_levels(struct check *k);
int
check_partitions(struct check *k);
int
check_rules(struct check *k);

#endif
