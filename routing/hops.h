/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROUTING_HOPS_H
#define ROUTING_HOPS_H

#include "routing/engine.h"
#include "routing/links.h"

/*
 * For engines that know, for each switch and each home (the switch of a destination), which link
 * packets take by rule, and the lanes of links by rule: ways where the rule finds none because
 * something is missing, the tables, and the shape of the fabric that the rule goes by.
 */
struct hops_rule {
	/* The link out of `sw` towards `home`, another switch, by the given one of the variants
	 * over which its destinations are spread; LINKS_NONE: none that is there. Links by rule
	 * must not lead in a circle. Any thread. */
	uint32_t (*link)(const void *arg, uint32_t sw, uint32_t home, unsigned variant);
	/* Path class of packets between two switches, the same both ways; NULL: one class. */
	unsigned (*class)(const void *arg, uint32_t a, uint32_t b);
	/* Lane on link `out`, of packets that came by link `in` (as numbered from where they were
	 * before; LINKS_NONE: they start here). */
	unsigned (*lane)(const void *arg, uint32_t in, uint32_t out, unsigned class);
	/* Instead, the lane by the kinds of these links (HOPS_START: there is none). */
	unsigned (*kind_lane)(unsigned lanes, unsigned in, unsigned out);
	const uint8_t *kind;		/* by link: its kind from this end, to the engine's taste */
	/* May a packet by rule, in any fabric of this shape, hold the one and wait for the other?
	 * Asked in large fabrics, where ways by rule are not followed one by one; NULL: follow. */
	bool (*waits)(const void *arg, uint32_t in, unsigned in_lane, uint32_t out,
		      unsigned out_lane);
	const void *arg;		/* handed to all */
	unsigned variants;		/* ways to each home, >= 1 */
	unsigned lanes;			/* that lane() tells of: all are below */
	bool broken;			/* link() may find nothing */
};

#define HOPS_START 255u

struct hops {
	const struct engine_input *in;	/* what is routed */
	const struct links *links;	/* of its snapshot */
	struct hops_rule rule;		/* of the engine */
	bool *apart;			/* by switch: it does not answer, nothing passes through */
	struct hops_detour *detours;	/* by switch, then home and variant */
	uint32_t ndetours;		/* how many */
};

struct hops_detour {
	uint32_t sw;			/* here */
	uint32_t way;			/* packets to home x variants + variant */
	uint32_t link;			/* take this link */
};

void
hops_init(struct hops *h, const struct engine_input *in, const struct links *links,
	  const struct hops_rule *rule);
void
hops_free(struct hops *h);
/* Lanes for data that every link between switches may run, `most` at most. */
unsigned
hops_vls(const struct engine_input *in, unsigned most);
/* Ways for all that are stuck; ERR_REFUSED and the two switches that no way joins but one that may
 * end in a credit loop. Without `rule.broken` there is nothing to do. */
int
hops_find_detours(struct hops *h, struct error *e);
/* Classes and lanes for a plan, by rule.kind_lane(); NULL: one lane. */
struct plan_lanes *
hops_lanes(const struct hops *h);
/* The shape of a fabric, to an engine's taste: found once, and remembered from plan to plan. */
struct hops_shape {
	const struct engine *owner;	/* whose */
	/* From the cabling alone (a reference), or ERR_REFUSED and what fits none. */
	int (*find)(const struct links *l, void **shape, struct error *e);
	/* Put what is routed into it, with a reference of one's own: ERR_REFUSED, and what of it
	 * does not fit. */
	int (*take)(void *arg, void *shape, struct error *e);
	void (*unref)(void *shape);	/* gives a reference back; NULL is allowed */
	void *arg;			/* for take() */
};
/* Take the shape of the last plan if the fabric still fits it; else one that is found anew, with
 * what is known to be lost put back; else one of what is left. ERR_REFUSED if that has none. */
int
hops_take_shape(const struct hops_shape *s, const struct engine_input *in,
		const struct links *links, struct error *e);
/* The shape by which a plan was routed whose memo this is, if that was by this engine (borrowed);
 * NULL. The memo may be NULL. */
void *
hops_shape_of(const struct plan_memo *m, const struct engine *owner);
/* That of the last plan. */
void *
hops_last_shape(const struct engine_input *in, const struct engine *owner);
/* The shape for the next run; takes a reference over. */
struct plan_memo *
hops_memo(const struct engine *owner, void *shape, void (*unref)(void *shape));
/* The tables: destinations of one switch are spread over the variants, and then over the cables of
 * a link. */
void
hops_fill(const struct hops *h, struct engine_output *out);
/* The engine's remark: the name of the shape, what it lacks, and how many pairs take detours. */
void
hops_say(const struct hops *h, const char *name, const char *lost, struct engine_output *out);

#endif
