/* SPDX-License-Identifier: BSD-2-Clause */
/* The lock file, sd_notify(3), and the journal. */
#include "sm/core/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-journal.h>
#include <unistd.h>
#include "sm/base/log.h"

int
daemon_lock(const char *path, const char *option, struct error *e)
{
	char file[PATH_MAX], pid[24] = "";
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
		len = read(fd, pid, sizeof(pid) - 1);
		pid[len > 0 ? len : 0] = '\0';
		pid[strcspn(pid, "\n")] = '\0';
		close(fd);
		return error_set(e, ERR_EXISTS, "another weftd (pid %s) uses %s: stop it, or "
				 "give this one another `%s`", pid[0] ? pid : "unknown", path,
				 option);
	}
	len = snprintf(pid, sizeof(pid), "%ld\n", (long)getpid());
	if (ftruncate(fd, 0) || write(fd, pid, (size_t)len) != len) {
		close(fd);
		return error_set(e, ERR_IO, "%s cannot be written: %s", file, strerror(errno));
	}
	return fd;
}

void
daemon_notify(const char *fmt, ...)
{
	char text[600];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	sd_notify(0, text);
}

monotime
daemon_watchdog(void)
{
	uint64_t us;

	return sd_watchdog_enabled(0, &us) > 0 && us ? USEC(us / 2) : 0;
}

void
daemon_journal(void)
{
	log_set_journal(sd_journal_sendv);
}
