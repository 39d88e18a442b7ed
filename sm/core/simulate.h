/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_SIMULATE_H
#define CORE_SIMULATE_H

#include <stdint.h>
#include "sm/base/error.h"
#include "sm/base/loop.h"
#include "sm/port/port.h"

/*
 * `weftd --sim`: a simulated fabric in the daemon's own process, in place of the kernel's ports.
 */
struct simulate;

struct simulate_options {
	const char *fabric;	/* a file as ibnetdiscover prints it, "-", or a recipe (ft3:8) */
	const char *script;	/* timed commands (weftsim(1)), or NULL */
	uint64_t seed;		/* of all that is left to chance */
	void (*log)(void *arg, const char *line);	/* gets the lines of its event log, or
							 * NULL */
	void (*quit)(void *arg);	/* the script says that it is over */
	void *arg;		/* of both */
};

/* Make the fabric and start its script. NULL and a sentence on error. */
struct simulate *
simulate_new(struct loop *l, const struct simulate_options *o, struct error *e);
/* Its ports are closed before. NULL is allowed. */
void
simulate_free(struct simulate *s);
/*
 * Open a port of it; a subnet_open_fn, with the struct simulate as `arg`. `selector` is "auto" for
 * the first cabled port of the first host, a port GUID, or NODE:NUMBER with the name, description
 * or GUID of a node.
 */
struct port *
simulate_port(void *arg, struct loop *l, const char *selector, const struct port_events *events,
	      struct error *e);

#endif
