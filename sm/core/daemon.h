/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_DAEMON_H
#define CORE_DAEMON_H

#include <stdbool.h>
#include "sm/base/clock.h"
#include "sm/base/error.h"

/*
 * What weftd asks of the operating system around its loop: one instance a socket, and word to the
 * service manager.
 */

/* Take the lock file PATH.lock (it holds our pid) until the process ends. ERR_EXISTS with the pid
 * of the holder and the `option` that names another path. Returns the descriptor, or a negative
 * code. */
int
daemon_lock(const char *path, const char *option, struct error *e);
/* Tell the service manager (sd_notify): "READY=1", "STATUS=...". Nothing happens without one. */
void
daemon_notify(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* How often the service manager is to hear "WATCHDOG=1" (WatchdogSec of systemd.service(5)), with
 * half of the time to spare; 0: never. */
monotime
daemon_watchdog(void);
/* Lines of the log that have fields go to the journal with them from now on. */
void
daemon_journal(void);

#endif
