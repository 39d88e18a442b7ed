/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_DRAIN_H
#define CORE_DRAIN_H

#include <stdbool.h>
#include <stdint.h>
#include "sm/base/clock.h"
#include "sm/base/error.h"
#include "sm/fabric/change.h"
#include "sm/fabric/fabric.h"
#include "sm/fabric/status.h"
#include "sm/store/store.h"

/* What traffic is kept off; see drain.c. */
enum drain_act {
	DRAIN_UNTIL_WELL,	/* health.c ends it */
	DRAIN_HELD,		/* an administrator does */
	DRAIN_DISABLED,		/* the port of a switch is to be disabled: disable.c */
	DRAIN_ENABLING,		/* and is to be enabled again; then the entry goes */
};

struct drain {
	uint64_t guid;		/* node GUID */
	int port;		/* a cable there; CHANGE_ALL_PORTS: the switch, not disabled */
	enum drain_act act;
	enum health_condition why;	/* HEALTH_ASKED: by an administrator */
	int64_t since;		/* wall microseconds; 0: not known */
	monotime heard;		/* DRAIN_UNTIL_WELL: when it was seen to be unwell last */
	bool refused;		/* the port does not take it: that was told */
};

struct drains {
	struct drain *list;	/* in the order in which they were asked for */
	uint32_t len;		/* how many */
};

struct subnet;

void
drains_add(struct drains *d, const struct drain *new);
void
drains_load(struct subnet *s);
/* A row that another manager changed (value NULL: deleted), if it is that of drained places. */
void
drains_take(struct subnet *s, const char *key, const char *value);
void
drains_save(struct subnet *s, store_done_fn fn, void *arg);
void
drains_copy(struct drains *to, const struct drains *from);
void
drains_free(struct drains *d);
const char *
drain_act_name(enum drain_act act);
/* Take CHANGE_DRAIN or CHANGE_UNDRAIN on; the node is one of `f`, `now` in wall microseconds.
 * ERR_REFUSED, ERR_EXISTS, ERR_NOT_FOUND with a sentence, and nothing is changed. */
int
drains_change(struct drains *d, const struct fabric *f, const struct change *c, int64_t now,
	      struct error *e);
/* The snapshot as routing is to see it (a reference); report->cables and ->kept are filled. */
const struct fabric *
drains_cut(const struct drains *d, const struct fabric *f, uint64_t generation,
	   struct change_report *report);
/* How many drained cables stay in use, with `more` beside them (NULL: none). Makes no snapshot. */
uint32_t
drains_kept(const struct drains *d, const struct drain *more, const struct fabric *f);
/* The snapshot without the node or cable of CHANGE_FAIL (a reference); report->cables is filled. */
const struct fabric *
drains_without(const struct fabric *f, const struct change *c, struct change_report *report);

#endif
