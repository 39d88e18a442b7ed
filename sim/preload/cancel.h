/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_PRELOAD_CANCEL_H
#define SIM_PRELOAD_CANCEL_H

#include <pthread.h>

/*
 * A thread may be cancelled wherever it calls the C library, also in the middle of our calls. With
 * a lock held that would be the end of the program. So our calls shut it out, and let it in where
 * they wait, with a handler that gives back what the call holds.
 */
static inline int
cancel_off(void)
{
	int before;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	return before;
}

static inline void
cancel_back(int before)
{
	pthread_setcancelstate(before, NULL);
}

#endif
