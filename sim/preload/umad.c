/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The life of open umad files, and their connection to the simulator.
 *
 * Objects. A struct umad is one open file in this process, from a pool whose memory is never given
 * back (fds.c says why). Processes that came from one by fork() share the file: what they must
 * agree on (positions in the rings, which agents there are) is a struct umad_own in memory that
 * fork() shares and that the simulator has not. Its locks are robust: a process that is killed in
 * a call takes the file with it, but nobody waits for it. An open file does not live through
 * exec(): its rings are gone with the memory, and the connection, which is close-on-exec, closes
 * it. An issm file does: it is nothing but a connection.
 *
 * Descriptors. The program's is for polling; our calls use a copy of their own (u->fd), for the
 * program may close its one, and its number become another file's, while a thread waits in read().
 *
 * Errors. They are the kernel's. Once the simulator is gone, or has shown a number that cannot be,
 * the file is dead: read() gives EIO, write() EINVAL, registering EPIPE.
 */
#include "sim/preload/umad.h"

#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include "sim/preload/cancel.h"
#include "sim/preload/fds.h"
#include "sim/preload/link.h"
#include "sim/preload/real.h"
#include "sim/preload/umad_impl.h"

static struct {
	pthread_mutex_t lock;		/* of taking one that is unused */
	struct umad files[UMAD_FILES];
} pool = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- locks ---- */

void
umad_lock(struct umad *u, pthread_mutex_t *m)
{
	if (pthread_mutex_lock(m) != EOWNERDEAD)
		return;
	pthread_mutex_consistent(m);
	atomic_store(&u->own->dead, true);
}

static bool
make_locks(struct umad_own *own)
{
	pthread_mutexattr_t a;
	bool ok;

	if (pthread_mutexattr_init(&a) != 0)
		return false;
	ok = pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED) == 0 &&
	     pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST) == 0 &&
	     pthread_mutex_init(&own->read_lock, &a) == 0 &&
	     pthread_mutex_init(&own->write_lock, &a) == 0 &&
	     pthread_mutex_init(&own->ask_lock, &a) == 0;
	pthread_mutexattr_destroy(&a);
	return ok;
}

/* ---- life ---- */

bool
umad_hold(struct umad *u)
{
	unsigned n = atomic_load_explicit(&u->references, memory_order_relaxed);

	while (n)
		if (atomic_compare_exchange_weak(&u->references, &n, n + 1))
			return true;
	return false;
}

static void
release(struct umad *u)
{
	if (u->rings)
		munmap(u->rings, sizeof(*u->rings));
	if (u->own)
		munmap(u->own, sizeof(*u->own));
	fds_close_hidden(u->conn);
	fds_close_hidden(u->wake);
	fds_close_hidden(u->fd);
	u->rings = NULL;
	u->own = NULL;
	u->conn = u->wake = u->fd = -1;
}

/* The last one out releases the file before others may take its place in the pool. */
void
umad_drop(struct umad *u)
{
	unsigned n = atomic_load(&u->references);
	int keep = errno, cancel;

	for (;;) {
		if (n == 1)
			break;
		if (atomic_compare_exchange_weak(&u->references, &n, n - 1))
			return;
	}
	cancel = cancel_off();
	pthread_mutex_lock(&pool.lock);
	if (atomic_fetch_sub(&u->references, 1) == 1)
		release(u);
	pthread_mutex_unlock(&pool.lock);
	cancel_back(cancel);
	errno = keep;
}

void
umad_set_references(struct umad *u, unsigned n)
{
	atomic_store(&u->references, n);
	if (n == 0)
		release(u);
}

struct umad *
umad_file(unsigned i)
{
	return atomic_load(&pool.files[i].references) ? &pool.files[i] : NULL;
}

/* Its file must not close what now has the number. */
void
umad_lost(int fd)
{
	for (unsigned i = 0; i < UMAD_FILES; i++) {
		struct umad *u = &pool.files[i];

		if (u->conn == fd && atomic_load(&u->references))
			u->conn = -1;
		if (u->wake == fd && atomic_load(&u->references))
			u->wake = -1;
		if (u->fd == fd && atomic_load(&u->references))
			u->fd = -1;
	}
}

void
umad_after_fork(void)
{
	pthread_mutex_init(&pool.lock, NULL);
}

/* ---- opening ---- */

static bool
map(struct umad *u, int memfd)
{
	int seals = REAL(fcntl)(memfd, F_GET_SEALS);
	struct stat st;
	void *p;

	if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstat(memfd, &st) < 0 ||
	    st.st_size < (off_t)sizeof(*u->rings)) {
		errno = EIO;
		return false;
	}
	p = mmap(NULL, sizeof(*u->rings), PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
	if (p == MAP_FAILED)
		return false;
	u->rings = p;
	p = mmap(NULL, sizeof(*u->own), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return false;
	u->own = p;
	return make_locks(u->own);
}

/* Give the descriptor the lowest free number and the flags that the program asked for. */
static int
place(int fd, int flags)
{
	int to = REAL(fcntl)(fd, flags & O_CLOEXEC ? F_DUPFD_CLOEXEC : F_DUPFD, 0);
	int status;

	REAL(close)(fd);
	if (to < 0)
		return -1;
	status = REAL(fcntl)(to, F_GETFL);
	if (flags & O_NONBLOCK)
		status |= O_NONBLOCK;
	else
		status &= ~O_NONBLOCK;
	REAL(fcntl)(to, F_SETFL, status);
	return to;
}

static struct umad *
unused(void)
{
	struct umad *u = NULL;

	pthread_mutex_lock(&pool.lock);
	for (unsigned i = 0; i < UMAD_FILES && !u; i++)
		if (atomic_load(&pool.files[i].references) == 0)
			u = &pool.files[i];
	if (u) {
		u->conn = u->wake = u->fd = -1;
		atomic_store(&u->references, 1);
	}
	pthread_mutex_unlock(&pool.lock);
	if (!u)
		errno = EMFILE;
	return u;
}

/* The connection and what came with its first answer become the file. */
static int
build(struct umad *u, int conn, int got[LINK_FDS], unsigned n, int flags)
{
	bool ok;

	u->reads = (flags & O_ACCMODE) != O_WRONLY;
	u->writes = (flags & O_ACCMODE) != O_RDONLY;
	u->looks = sysconf(_SC_NPROCESSORS_ONLN) > 1;
	u->fresh = false;
	u->misses = u->skips = 0;
	u->conn = fds_hide(conn);
	if (n != LINK_FDS) {
		for (unsigned i = 0; i < n; i++)
			REAL(close)(got[i]);
		return fail(EIO);
	}
	u->wake = fds_hide(got[2]);
	u->fd = fds_hide(REAL(fcntl)(got[0], F_DUPFD_CLOEXEC, 0));
	ok = u->conn >= 0 && u->wake >= 0 && u->fd >= 0 && map(u, got[1]);
	REAL(close)(got[1]);
	if (ok)
		return place(got[0], flags);
	REAL(close)(got[0]);
	return -1;
}

static int
open_file(struct umad **file, unsigned index, int flags)
{
	struct attach_request q;
	struct attach_reply r;
	int got[LINK_FDS];
	unsigned n = 0;
	struct umad *u;
	int conn, fd;

	conn = link_connect();
	if (conn < 0)
		return -1;
	link_request(&q, ATTACH_OPEN_UMAD, index);
	if (link_ask(conn, &q, -1, false, &r, got, &n) < 0) {
		fd = errno == EIO ? ENXIO : errno;
		REAL(close)(conn);
		return fail(fd);
	}
	u = unused();
	if (!u) {
		for (unsigned i = 0; i < n; i++)
			REAL(close)(got[i]);
		REAL(close)(conn);
		return fail(EMFILE);
	}
	fd = build(u, conn, got, n, flags);
	if (fd < 0) {
		umad_drop(u);
		return -1;
	}
	*file = u;
	return fd;
}

int
umad_open(struct umad **file, unsigned index, int flags)
{
	int cancel = cancel_off();
	int fd = open_file(file, index, flags);

	cancel_back(cancel);
	return fd;
}

static void
hang_up(void *conn)
{
	REAL(close)(*(int *)conn);
}

/* Until its holder is gone; the thread may be cancelled meanwhile. */
static int
wait_for_issm(int conn, const struct attach_request *q, int cancel)
{
	struct attach_reply r;
	int rc;

	pthread_cleanup_push(hang_up, &conn);
	cancel_back(cancel);
	rc = link_ask(conn, q, -1, true, &r, NULL, NULL);
	cancel_off();
	pthread_cleanup_pop(0);
	return rc;
}

static int
open_issm(unsigned index, int flags, int cancel)
{
	struct attach_request q;
	int conn = link_connect();
	int why;

	if (conn < 0)
		return -1;
	link_request(&q, ATTACH_OPEN_ISSM, index);
	q.nonblock = (flags & O_NONBLOCK) != 0;
	if (wait_for_issm(conn, &q, cancel) == 0)
		return place(conn, flags);
	why = errno == EIO ? ENXIO : errno;
	REAL(close)(conn);
	return fail(why);
}

int
umad_open_issm(unsigned index, int flags)
{
	int cancel = cancel_off();
	int fd = open_issm(index, flags, cancel);

	cancel_back(cancel);
	return fd;
}

/* ---- the other side ---- */

bool
umad_gone(struct umad *u)
{
	struct pollfd p = { .fd = u->fd };
	int keep = errno;
	bool yes = REAL(poll)(&p, 1, 0) > 0 && (p.revents & (POLLHUP | POLLERR | POLLNVAL));

	errno = keep;
	return yes;
}

bool
umad_ring_bell(struct umad *u)
{
	static const uint64_t one = 1;

	if (__atomic_exchange_n(&u->rings->tx.bell, 1, __ATOMIC_SEQ_CST) != 0)
		return false;
	while (REAL(write)(u->wake, &one, sizeof(one)) < 0 && errno == EINTR)
		;
	return true;
}

int
umad_die(struct umad *u, int why)
{
	atomic_store(&u->own->dead, true);
	return fail(why);
}

int
umad_ask(struct umad *u, const struct attach_request *q, int fd, struct attach_reply *r, int *got)
{
	int fds[LINK_FDS];
	unsigned n = 0;

	if (link_ask(u->conn, q, fd, false, r, fds, &n) < 0)
		return -1;
	for (unsigned i = 0; i < n; i++) {
		if (got && i == 0)
			*got = fds[0];
		else
			REAL(close)(fds[i]);
	}
	return got && n == 0 ? fail(EIO) : 0;
}
