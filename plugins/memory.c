/* SPDX-License-Identifier: BSD-2-Clause */
#include "plugins/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/*
 * Memory shared with a process, by memfd_create(2). The size is fixed as soon as it is made: a
 * process that could make it smaller would end the daemon by SIGBUS. What is given is sealed before
 * anybody gets it, what was made as soon as the process is gone: from then on it stays as it is,
 * even if something of the process were left over.
 */
#define SEAL_TRIES 20u		/* more, 5 ms apart */

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008u
#define MFD_EXEC 0x0010u
#endif

static int
refuse(struct memory *m, const char *what, struct error *e)
{
	error_set(e, ERR_IO, "memory for a plugin's process cannot be %s: %s", what,
		  strerror(errno));
	memory_free(m);
	return ERR_IO;
}

/* Kernels before 6.3 know neither flag. */
static int
create(const char *name, bool code)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING |
			      (code ? MFD_EXEC : MFD_NOEXEC_SEAL));

	return fd < 0 && errno == EINVAL ? memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING) : fd;
}

int
memory_new(struct memory *m, const char *name, size_t size, bool code, struct error *e)
{
	void *at;

	*m = MEMORY_NONE;
	m->fd = create(name, code);
	if (m->fd < 0 || ftruncate(m->fd, (off_t)size) < 0)
		return refuse(m, "had", e);
	if (fcntl(m->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) < 0)
		return refuse(m, "sealed", e);
	at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, m->fd, 0);
	if (at == MAP_FAILED)
		return refuse(m, "mapped", e);
	m->at = at;
	m->size = size;
	return 0;
}

void
memory_leave(struct memory *m)
{
	if (m->at)
		munmap(m->at, m->size);
	m->at = NULL;
}

int
memory_seal(struct memory *m, struct error *e)
{
	const struct timespec pause = { .tv_nsec = 5000000 };
	int rc;

	memory_leave(m);
	rc = fcntl(m->fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SEAL);
	/* Who looks at a process that ends, or the kernel, may have its pages for a moment. */
	for (unsigned i = 0; rc < 0 && errno == EBUSY && i < SEAL_TRIES; i++) {
		nanosleep(&pause, NULL);
		rc = fcntl(m->fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SEAL);
	}
	if (rc == 0)
		return 0;
	return errno == EBUSY ?
		error_set(e, ERR_BUSY, "left something behind that can still write") :
		error_set(e, ERR_IO, "memory for a plugin's process cannot be sealed: %s",
			  strerror(errno));
}

int
memory_look(struct memory *m, struct error *e)
{
	void *at = mmap(NULL, m->size, PROT_READ, MAP_SHARED, m->fd, 0);

	if (at == MAP_FAILED)
		return error_set(e, ERR_IO, "memory of a plugin's process cannot be mapped: %s",
				 strerror(errno));
	m->at = at;
	return 0;
}

void
memory_read(const struct memory *m, void *to, size_t size, uint64_t offset)
{
	uint8_t *at = to;
	ssize_t n = 1;

	while (size && n > 0) {
		n = pread(m->fd, at, size, (off_t)offset);
		if (n > 0) {
			at += n;
			size -= (size_t)n;
			offset += (uint64_t)n;
		}
	}
	memset(at, 0, size);
}

void
memory_free(struct memory *m)
{
	memory_leave(m);
	if (m->fd >= 0)
		close(m->fd);
	m->fd = -1;
}
