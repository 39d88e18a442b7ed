/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/serve/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include "sm/base/mem.h"

/*
 * The folder is held by a lock on itself, which ends with the process: one that can be locked is
 * left over. It gets its final name only when it is locked, so that nobody takes a new one for an
 * old one.
 */
#define PREFIX "weftsim."
#define NEW_PREFIX "weftsim-new."
#define PATH_SIZE 200
#define BASE_MAX 70		/* bytes of the path of where it is */

struct scratch {
	char path[PATH_SIZE];	/* of the folder */
	int fd;			/* of the folder, with its lock */
};

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	remove(path);
	return 0;
}

static void
remove_all(const char *path)
{
	nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* The folder's descriptor if it could be locked, or -1. */
static int
lock(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* What killed processes of this user left. */
static void
clean(const char *base)
{
	DIR *d = opendir(base);
	struct dirent *entry;

	while (d && (entry = readdir(d))) {
		char path[PATH_SIZE];
		struct stat st;
		int fd;

		if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) ||
		    snprintf(path, sizeof(path), "%s/%s", base, entry->d_name) >= PATH_SIZE)
			continue;
		if (lstat(path, &st) || !S_ISDIR(st.st_mode) || st.st_uid != geteuid())
			continue;
		fd = lock(path);
		if (fd < 0)
			continue;
		remove_all(path);
		close(fd);
	}
	if (d)
		closedir(d);
}

static bool
make(struct scratch *s, const char *base)
{
	char new[PATH_SIZE];

	if (!base || base[0] != '/' || strlen(base) > BASE_MAX)
		return false;
	clean(base);
	snprintf(new, sizeof(new), "%s/" NEW_PREFIX "XXXXXX", base);
	if (!mkdtemp(new))
		return false;
	s->fd = lock(new);
	snprintf(s->path, sizeof(s->path), "%s/" PREFIX "%s", base, new + strlen(new) - 6);
	if (s->fd >= 0 && !rename(new, s->path))
		return true;
	if (s->fd >= 0)
		close(s->fd);
	rmdir(new);
	return false;
}

/* Trees of many small files come and go slowly on a disk. */
static bool
is_memory(const char *path)
{
	struct statfs fs;

	return !statfs(path, &fs) && fs.f_type == TMPFS_MAGIC;
}

int
scratch_new(struct scratch **out, struct error *e)
{
	struct scratch *s = mem_zalloc(sizeof(*s));

	if (make(s, getenv("XDG_RUNTIME_DIR")) || (is_memory("/run") && make(s, "/run")) ||
	    (is_memory("/dev/shm") && make(s, "/dev/shm")) || make(s, "/tmp")) {
		*out = s;
		return 0;
	}
	mem_free(s);
	return error_set(e, ERR_IO, "no folder can be made below $XDG_RUNTIME_DIR, /run, /dev/shm "
			 "or /tmp: %s", strerror(errno));
}

void
scratch_free(struct scratch *s)
{
	if (!s)
		return;
	remove_all(s->path);
	close(s->fd);
	mem_free(s);
}

const char *
scratch_path(const struct scratch *s)
{
	return s->path;
}
