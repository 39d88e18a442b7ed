/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_PRELOAD_UMAD_IMPL_H
#define SIM_PRELOAD_UMAD_IMPL_H

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include "sim/attach.h"
#include "sim/preload/umad.h"

/*
 * The inside of an open umad file, for umad.c (life), umad_mad.c (reading, writing) and
 * umad_agent.c (ioctl).
 */
#define HASH_SIZE 16384		/* counters of outstanding requests, a power of 2 */

#define AGENT_THERE 1		/* bits of umad_own's agents */
#define AGENT_RMPP 2		/* rmpp_version is not 0 */
#define AGENT_USER_RMPP 4	/* but the program does it */

struct umad_own {
	pthread_mutex_t read_lock;	/* of rx: reading its slots */
	pthread_mutex_t write_lock;	/* of tx: filling its slots */
	pthread_mutex_t ask_lock;	/* of the connection, agents and `used` */
	uint32_t head;			/* of tx: slots filled so far */
	uint32_t tail;			/* of rx: slots read so far */
	_Atomic(bool) dead;		/* the simulator is gone, or talks nonsense */
	_Atomic(bool) pkey;		/* headers have pkey_index */
	bool used;			/* an agent has been registered */
	_Atomic(uint8_t) agents[ATTACH_AGENTS];	/* AGENT_... */
	_Atomic(uint16_t) sent[HASH_SIZE];	/* requests not answered yet, by hash */
};

struct umad {
	_Atomic(unsigned) references;	/* 0: unused */
	struct attach_shared *rings;	/* shared with the simulator */
	struct umad_own *own;		/* shared with relatives of this process */
	int conn;			/* for questions */
	int wake;			/* eventfd that wakes the simulator */
	int fd;				/* a copy of the descriptor that the program sees */
	bool reads, writes;		/* what it was opened for */
	bool looks;			/* there are processors enough to look for MADs */
	_Atomic(bool) fresh;		/* one was read since it was looked for in vain */
	_Atomic(unsigned) misses;	/* how often in a row that was in vain */
	_Atomic(unsigned) skips;	/* so often none is looked for */
};

static inline int
fail(int why)
{
	errno = why;
	return -1;
}

static inline void
unlock(pthread_mutex_t *m)
{
	pthread_mutex_unlock(m);
}

/* One of own's locks. A relative that was killed with it held may have left a ring half way: the
 * file is dead. */
void
umad_lock(struct umad *u, pthread_mutex_t *m);
/* The file is dead; gives -1 and errno. */
int
umad_die(struct umad *u, int why);
/* The simulator has hung up. */
bool
umad_gone(struct umad *u);
/* Wake the simulator unless that has been done. True: it was not busy. */
bool
umad_ring_bell(struct umad *u);
/* A question over the file's connection, with own's ask_lock held. A descriptor comes with the
 * answer if `got` is not NULL. */
int
umad_ask(struct umad *u, const struct attach_request *q, int fd, struct attach_reply *r, int *got);

#endif
