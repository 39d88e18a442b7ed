/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_WRONG_H
#define SIM_WRONG_H

#include "sim/control/sim.h"
#include "sim/model/model_impl.h"

/* What wrong.c and wrong_routes.c share. */
struct wrong {
	const struct sim *s;		/* the simulation */
	struct model *m;		/* its model */
	struct buf *out;		/* the lines */
	unsigned most;			/* lines of a kind */
	unsigned n, kind;		/* things found, and of this kind */
	const struct sim_port *sm;	/* the port of the subnet manager, or NULL */
	uint32_t sm_node;		/* whose it is */
	unsigned sm_port;		/* its number */
};

void
wrong_begin(struct wrong *w);	/* a kind */
/* One thing that is wrong. */
void
wrong_add(struct wrong *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The kind's end: `what` names those that were not told. */
void
wrong_end(struct wrong *w, const char *what);

/* wrong_routes.c: table entries that lead nowhere, and pairs of end ports that are cut off. */
void
wrong_routes(struct wrong *w);

#endif
