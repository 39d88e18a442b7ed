/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The C library's functions that take descriptors, as the program sees them. Those of umad files go
 * to umad.c; a copy of such a descriptor is one too. Our own descriptors do not exist for the
 * program. select() needs nothing, for the descriptors are real; poll() of a umad file alone, which
 * libibumad does before each read, is answered without a system call where it can be.
 */
#include "sim/preload/real.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include "sim/preload/fds.h"
#include "sim/preload/umad.h"

#define EXPORT __attribute__((visibility("default")))

static int
bad_descriptor(void)
{
	errno = EBADF;
	return -1;
}

/* ---- copies and ends ---- */

EXPORT int
close(int fd)
{
	if ((fds_hidden(fd) || fds_any(fd)) && fds_ours()) {
		if (fds_hidden(fd))
			return bad_descriptor();
		fds_set(fd, NULL);
	}
	return REAL(close)(fd);
}

static int
close_segment(unsigned first, unsigned last, int flags)
{
	return first > last ? 0 : REAL(close_range)(first, last, flags);
}

EXPORT int
close_range(unsigned first, unsigned last, int flags)
{
	unsigned end = last < FDS_MAX ? last : FDS_MAX - 1;
	int rc = 0;

	if (!fds_ours() || flags)
		return REAL(close_range)(first, last, flags);
	if (first > last) {
		errno = EINVAL;
		return -1;
	}
	for (unsigned fd = first; fd <= end; fd++) {
		if (fds_any((int)fd))
			fds_set((int)fd, NULL);
		if (!fds_hidden((int)fd))
			continue;
		if (fd > first)
			rc |= close_segment(first, fd - 1, 0);
		first = fd + 1;
	}
	return rc | close_segment(first, last, 0);
}

EXPORT void
closefrom(int first)
{
	close_range(first < 0 ? 0 : (unsigned)first, UINT32_MAX, 0);
}

/* `to` is a new copy of `fd`, or an error. */
static int
copied(int fd, int to)
{
	struct umad *u;
	int rc;

	if (to < 0 || (!fds_any(fd) && !fds_any(to)) || !fds_ours())
		return to;
	u = fds_hold(fd);
	rc = fds_set(to, u);
	if (u)
		umad_drop(u);
	if (rc < 0) {
		REAL(close)(to);
		errno = EMFILE;
	}
	return rc < 0 ? -1 : to;
}

EXPORT int
dup(int fd)
{
	return fds_hidden(fd) ? bad_descriptor() : copied(fd, REAL(dup)(fd));
}

EXPORT int
dup2(int fd, int to)
{
	if (fds_hidden(fd))
		return bad_descriptor();
	if (fds_hidden(to) && fds_ours()) {
		errno = EBUSY;
		return -1;
	}
	return fd == to ? REAL(dup2)(fd, to) : copied(fd, REAL(dup2)(fd, to));
}

EXPORT int
dup3(int fd, int to, int flags)
{
	if (fds_hidden(fd))
		return bad_descriptor();
	if (fds_hidden(to) && fds_ours()) {
		errno = EBUSY;
		return -1;
	}
	return copied(fd, REAL(dup3)(fd, to, flags));
}

#define DEFINE_FCNTL(name) \
	EXPORT int \
	name(int fd, int command, ...) \
	{ \
		va_list list; \
		void *arg; \
		int rc; \
		va_start(list, command); \
		arg = va_arg(list, void *); \
		va_end(list); \
		if (fds_hidden(fd)) \
			return bad_descriptor(); \
		rc = REAL(name)(fd, command, arg); \
		return command == F_DUPFD || command == F_DUPFD_CLOEXEC ? copied(fd, rc) : rc; \
	}

DEFINE_FCNTL(fcntl)
DEFINE_FCNTL(fcntl64)

/* ---- MADs ---- */

/* Calls that a thread may be cancelled in, whether they wait or not. */
static struct umad *
hold_for_mads(int fd)
{
	if (fds_any(fd))
		pthread_testcancel();
	return fds_hold(fd);
}

EXPORT ssize_t
read(int fd, void *buf, size_t size)
{
	struct umad *u = hold_for_mads(fd);
	ssize_t n;

	if (!u)
		return REAL(read)(fd, buf, size);
	n = umad_read(u, buf, size);
	umad_drop(u);
	return n;
}

/* A size that does not fit is the C library's to complain of. */
EXPORT ssize_t
__read_chk(int fd, void *buf, size_t size, size_t buf_size)
{
	return size > buf_size ? REAL(__read_chk)(fd, buf, size, buf_size) : read(fd, buf, size);
}

EXPORT ssize_t
write(int fd, const void *buf, size_t size)
{
	struct umad *u = hold_for_mads(fd);
	ssize_t n;

	if (!u)
		return REAL(write)(fd, buf, size);
	n = umad_write(u, buf, size);
	umad_drop(u);
	return n;
}

#define POLL_KNOWN (POLLIN | POLLRDNORM | POLLOUT | POLLWRNORM)

EXPORT int
poll(struct pollfd *fds, nfds_t n, int timeout)
{
	struct pollfd *p = fds;
	struct umad *u;
	bool ready = false;
	int rc;

	/* The C library declares that poll() only writes here; the compiler must not believe it. */
	__asm__("" : "+r"(p));
	u = n == 1 ? hold_for_mads(p->fd) : NULL;
	if (u) {
		ready = umad_ready(u, timeout != 0 && !(p->events & (POLLOUT | POLLWRNORM)));
		umad_drop(u);
	}
	if (ready && (p->events & (POLLIN | POLLRDNORM))) {
		p->revents = (short)(p->events & POLL_KNOWN);
		return 1;
	}
	rc = REAL(poll)(fds, n, timeout);
	u = rc == 1 && n == 1 && (p->revents & POLLHUP) && timeout ? fds_hold(p->fd) : NULL;
	if (u) {
		umad_hung_up(u, timeout);
		umad_drop(u);
	}
	return rc;
}

EXPORT int
__poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t fds_size)
{
	return fds_size / sizeof(*fds) < n ? REAL(__poll_chk)(fds, n, timeout, fds_size) :
		poll(fds, n, timeout);
}

/* Only looks for a moment, if MADs were coming; what there is the kernel says. */
EXPORT int
epoll_wait(int epfd, struct epoll_event *events, int max, int timeout)
{
	if (timeout)
		umad_look();
	return REAL(epoll_wait)(epfd, events, max, timeout);
}

/* Each piece is one call, as the kernel does it for devices without an own way. */
static ssize_t
each_piece(struct umad *u, const struct iovec *v, int n, bool writing)
{
	ssize_t done = 0, now;

	for (int i = 0; i < n; i++) {
		now = writing ? umad_write(u, v[i].iov_base, v[i].iov_len) :
		      umad_read(u, v[i].iov_base, v[i].iov_len);
		if (now < 0)
			return done ? done : -1;
		done += now;
		if ((size_t)now < v[i].iov_len)
			break;
	}
	return done;
}

EXPORT ssize_t
readv(int fd, const struct iovec *v, int n)
{
	struct umad *u = hold_for_mads(fd);
	ssize_t done;

	if (!u)
		return REAL(readv)(fd, v, n);
	done = each_piece(u, v, n, false);
	umad_drop(u);
	return done;
}

EXPORT ssize_t
writev(int fd, const struct iovec *v, int n)
{
	struct umad *u = hold_for_mads(fd);
	ssize_t done;

	if (!u)
		return REAL(writev)(fd, v, n);
	done = each_piece(u, v, n, true);
	umad_drop(u);
	return done;
}

/* What is not the device's own (FIONBIO, FIOCLEX, ...) the socket does as any file. */
EXPORT int
ioctl(int fd, unsigned long request, ...)
{
	struct umad *u = fds_hold(fd);
	va_list list;
	void *arg;
	int rc;

	va_start(list, request);
	arg = va_arg(list, void *);
	va_end(list);
	if (!u)
		return REAL(ioctl)(fd, request, arg);
	if (request == FIONBIO || request == FIOCLEX || request == FIONCLEX)
		rc = REAL(ioctl)(fd, request, arg);
	else
		rc = umad_ioctl(u, request, arg);
	umad_drop(u);
	return rc;
}
