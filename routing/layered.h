/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROUTING_LAYERED_H
#define ROUTING_LAYERED_H

#include "routing/ways.h"

/*
 * What engines for any fabric share, whose packets stay on one lane, that of the class of their two
 * switches, or are on lanes by turn: ways
 * are made for the whole fabric, with what is lost put back, and kept; on the fabric as it is, what
 * is left of them goes on. So a loss moves nothing that did not cross it, what comes back finds its
 * old ways, and a cold start gives the same as a long life.
 */
struct layered {
	const struct engine_input *in;	/* what is routed */
	const struct engine *engine;	/* for whom */
	const struct fabric *whole;	/* reference held */
	struct links links;		/* of the whole */
	struct ways_kept *kept;		/* for the whole; reference held */
	struct ways w;			/* for the fabric as it is */
	uint32_t *there;		/* by switch: the same in the whole */
	uint8_t *rank;			/* by port of a switch of the whole: of its hosts */
	unsigned layers;		/* by which the LIDs of a port differ; 0: as hosts do */
	unsigned lanes;			/* of each link, that may be used */
	/* Make ways: (w, kept or NULL). */
	int (*find)(struct ways *w, const struct ways_kept *kept, struct error *e);
};

/* Lanes that links run, `most` at most, as options have it. */
unsigned
layered_lanes(const struct engine_input *in, unsigned most);
/* Ways and classes into `out`. Of `y` in, engine, lanes, layers and find are given. */
int
layered_route(struct layered *y, struct engine_output *out, struct error *e);
void
layered_free(struct layered *y);

#endif
