/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_SERVER_H
#define SIM_SERVER_H

#include "sim/control/sim.h"
#include "sm/base/error.h"

/*
 * The way in for real programs: a socket on which the preload library and `weftsim ctl` talk to a
 * running simulation (sim/attach.h), and for each host in use a tree of sysfs and device files.
 *
 * The simulation must run on an event loop and outlive the server. `path` names the socket (at most
 * 107 bytes; a stale one is replaced, one in use is refused). The trees live under a folder of the
 * server's own, gone with it.
 */
struct server;

int
server_new(struct server **s, struct sim *sim, const char *path, struct error *e);
void
server_free(struct server *s);	/* programs find their devices gone; NULL is allowed */

/* Ask the programs that have a device open to end, also those that inherited it: SIGTERM, as far as
 * this process may send it (holders.h). */
void
server_end_programs(struct server *s);

#endif
