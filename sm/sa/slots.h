/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SA_SLOTS_H
#define SA_SLOTS_H

#include <stdint.h>

/*
 * Numbered places for things that come and go: the lowest free number is given out, and whoever
 * walks over all of them by number may stop and go on later, whatever has come or gone meanwhile.
 * Zero-initialise.
 */
struct sa_slots {
	void **at;		/* by number; NULL: free */
	uint32_t room;		/* numbers there are */
	uint32_t low;		/* below this none is free */
};

/* The number that `what`, borrowed and not NULL, has got. */
uint32_t
sa_slots_take(struct sa_slots *s, void *what);
void
sa_slots_give(struct sa_slots *s, uint32_t number);	/* it is free again */
void
sa_slots_end(struct sa_slots *s);

#endif
