/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of descriptors. Reading it takes no lock: a umad file's memory is never given back, so
 * a stale pointer can still be asked to be held, and what was held is looked up once more. A child
 * of fork() has the table and shares the files; references that calls of other threads held are
 * not its, so it counts anew.
 */
#include "sim/preload/fds.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include "sim/preload/link.h"
#include "sim/preload/real.h"
#include "sim/preload/umad.h"

#define HIDE_BELOW 4096	/* a larger number would cost each process a larger table */

static _Atomic(struct umad *) files[FDS_MAX];
static _Atomic(unsigned char) hidden[FDS_MAX];
static _Atomic(pid_t) owner;	/* the process that has the table; 0: nothing is in it yet */

struct umad *
fds_hold(int fd)
{
	struct umad *u;

	if (fd < 0 || fd >= FDS_MAX)
		return NULL;
	for (;;) {
		u = atomic_load_explicit(&files[fd], memory_order_acquire);
		if (!u)
			return NULL;
		if (!umad_hold(u))
			continue;
		if (atomic_load_explicit(&files[fd], memory_order_acquire) == u)
			return u;
		umad_drop(u);
	}
}

bool
fds_any(int fd)
{
	return fd >= 0 && fd < FDS_MAX && atomic_load_explicit(&files[fd], memory_order_acquire);
}

int
fds_set(int fd, struct umad *u)
{
	struct umad *before;

	if (fd < 0 || fd >= FDS_MAX) {
		errno = EMFILE;
		return u ? -1 : 0;
	}
	if (u && !umad_hold(u))
		return -1;
	before = atomic_exchange(&files[fd], u);
	if (before)
		umad_drop(before);
	return 0;
}

/* Near the end of what may usually be open: there programs seldom are. */
static int
hiding_place(void)
{
	struct rlimit l;
	rlim_t n;

	if (getrlimit(RLIMIT_NOFILE, &l) < 0)
		return 3;
	n = l.rlim_cur > HIDE_BELOW ? HIDE_BELOW : l.rlim_cur;
	return (int)(n / 4 * 3);
}

int
fds_hide(int fd)
{
	int to = REAL(fcntl)(fd, F_DUPFD_CLOEXEC, hiding_place());

	if (to < 0)
		to = REAL(fcntl)(fd, F_DUPFD_CLOEXEC, 3);
	REAL(close)(fd);
	if (to >= FDS_MAX) {
		REAL(close)(to);
		errno = EMFILE;
		return -1;
	}
	if (to >= 0 && atomic_exchange(&hidden[to], 1))
		umad_lost(to);
	return to;
}

bool
fds_hidden(int fd)
{
	return fd >= 0 && fd < FDS_MAX && atomic_load_explicit(&hidden[fd], memory_order_relaxed);
}

void
fds_close_hidden(int fd)
{
	if (fd < 0)
		return;
	atomic_store(&hidden[fd], 0);
	REAL(close)(fd);
}

bool
fds_ours(void)
{
	return atomic_load_explicit(&owner, memory_order_relaxed) == getpid();
}

static void
after_fork(void)
{
	struct umad *u;

	atomic_store(&owner, getpid());
	link_after_fork();
	umad_after_fork();
	for (unsigned i = 0; i < UMAD_FILES; i++) {
		unsigned n = 0;

		u = umad_file(i);
		for (int fd = 0; u && fd < FDS_MAX; fd++)
			n += atomic_load_explicit(&files[fd], memory_order_relaxed) == u;
		if (u)
			umad_set_references(u, n);
	}
}

__attribute__((constructor)) static void
begin(void)
{
	atomic_store(&owner, getpid());
	pthread_atfork(NULL, NULL, after_fork);
}
