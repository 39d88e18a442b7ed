/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/base/lockfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * A lock that the kernel gives up when its holder ends, however that comes. The file stays, for
 * whoever took it away could take it from under the next holder.
 */
static void
read_holder(int fd, char holder[LOCKFILE_PID_SIZE])
{
	ssize_t len = read(fd, holder, LOCKFILE_PID_SIZE - 1);

	holder[len > 0 ? len : 0] = '\0';
	holder[strcspn(holder, "\n")] = '\0';
	if (!*holder)
		snprintf(holder, LOCKFILE_PID_SIZE, "unknown");
}

int
lockfile_take(const char *path, char holder[LOCKFILE_PID_SIZE], struct error *e)
{
	char file[PATH_MAX], pid[LOCKFILE_PID_SIZE];
	struct stat st;
	ssize_t len;
	int fd;

	if (snprintf(file, sizeof(file), "%s.lock", path) >= (int)sizeof(file))
		return error_set(e, ERR_INVALID, "%.200s...: the path is too long", path);
	fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
	if (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode))) {
		close(fd);
		return error_set(e, ERR_INVALID, "%s is no regular file: remove it", file);
	}
	if (fd < 0)
		return error_set(e, ERR_IO, "%s cannot be opened: %s", file, strerror(errno));
	if (flock(fd, LOCK_EX | LOCK_NB)) {
		read_holder(fd, holder);
		close(fd);
		return error_set(e, ERR_EXISTS, "process %s uses %s", holder, path);
	}
	len = snprintf(pid, sizeof(pid), "%ld\n", (long)getpid());
	if (ftruncate(fd, 0) || write(fd, pid, (size_t)len) != len) {
		close(fd);
		return error_set(e, ERR_IO, "%s cannot be written: %s", file, strerror(errno));
	}
	return fd;
}
