/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROUTING_DEPEND_GROUPS_H
#define ROUTING_DEPEND_GROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct checker;

/* What waits for what where groups of adaptive routing give packets more than one port. */

/* Entries of groups that must not be. */
struct depend_fault {
	uint32_t sw;		/* whose */
	uint32_t home;		/* for LIDs of this switch; FABRIC_NONE: that the row sends to */
	uint8_t port;		/* this port */
};

struct depend_faults {
	struct depend_fault *all;	/* by switch, home, port; each once */
	size_t len, size;		/* how many there are, and is room for */
	uint32_t lid;			/* the least LID with packets that do not arrive; 0 */
};

void
depend_faults_free(struct depend_faults *f);

/* What is held on channel `from` waits for channel `to` (channels.h). */
struct depend_wait {
	uint32_t from, to;
};

/*
 * Enter what packets to all LIDs wait for, by the rows and groups of c->in, in every mixture. With
 * `faults` it is also looked for ways that go round, or end, by a group: whose entries these are.
 */
void
depend_with_groups(struct checker *c, struct depend_faults *faults);
/* Which entries of groups make packets hold and wait so? */
void
depend_blame(struct checker *c, const struct depend_wait *waits, size_t len,
	     struct depend_faults *faults);

#endif
