/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROUTING_SHAPE_IMPL_H
#define ROUTING_SHAPE_IMPL_H

#include "routing/grid.h"
#include "routing/groups.h"
#include "routing/rows.h"
#include "routing/shape.h"
#include "routing/slim.h"

/* Between shape.c, which finds out what a fabric is, and shape_lost.c, which says what of it is not
 * there. */

struct shape_tree {
	const struct fabric *f;		/* as it should be; borrowed */
	const struct fabric *live;	/* as it is; borrowed */
	uint16_t *level;		/* by switch of f: from the roots down */
	unsigned levels;		/* how many there are */
	uint32_t nroots;		/* switches of level 0 */
};

/* Each fills s->lost. `live` are the links of what is there. */
void
shape_lost_tree(const struct shape_tree *t, struct shape *s);
void
shape_lost_grid(const struct grid *g, struct shape *s);
/* at[]: of rows_fit(). */
void
shape_lost_rows(const struct rows *r, const uint32_t *at, const struct links *live,
		struct shape *s);
void
shape_lost_slim(const struct slim *f, const struct links *live, struct shape *s);
/* place[]: of groups_fit(). False: many pairs of groups are not joined: it is no dragonfly. */
bool
shape_lost_groups(const struct groups *g, const uint32_t *place, const struct links *live,
		  struct shape *s);

#endif
