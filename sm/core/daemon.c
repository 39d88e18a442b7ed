/* SPDX-License-Identifier: BSD-2-Clause */
/* What a held lock means, sd_notify(3), and the journal. */
#include "sm/core/daemon.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-journal.h>
#include <unistd.h>
#include "sm/base/lockfile.h"
#include "sm/base/log.h"

int
daemon_lock(const char *path, const char *option, struct error *e)
{
	char holder[LOCKFILE_PID_SIZE];
	int fd = lockfile_take(path, holder, e);

	if (fd == ERR_EXISTS)
		return error_set(e, ERR_EXISTS, "another weftd (pid %s) uses %s: stop it, or "
				 "give this one another `%s`", holder, path, option);
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
