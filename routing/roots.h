/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROUTING_ROOTS_H
#define ROUTING_ROOTS_H

#include "routing/engine.h"

struct ranks;

/* The switches that the order of ranks.c starts from: as configured, or else found. */
struct roots {
	uint8_t *mark;		/* by switch: 1 for a root */
	uint32_t len;		/* how many */
	bool configured;	/* not found by ourselves */
};

/* ERR_NOT_FOUND if roots are configured and none of them is there. The caller calls roots_free(),
 * also after an error. */
int
roots_find(const struct engine_input *in, struct roots *roots, struct error *e);
void
roots_free(struct roots *roots);
/* Were the ranks of the previous plan made from other roots than those configured now? */
bool
roots_changed(const struct engine_input *in);
/* For engine_output.roots: what roots_changed() has to know next time; NULL: nothing. */
struct plan_roots *
roots_record(const struct engine_input *in);
/* For people: which the roots are, what stands above them, and what was made of the configuration.
 * It follows from the roots and the ranks alone, so that equal runs say the same. */
void
roots_describe(const struct engine_input *in, const struct roots *roots, const struct ranks *r,
	       char *note, size_t size);

#endif
