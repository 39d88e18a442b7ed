/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_DIRECT_H
#define SIM_DIRECT_H

#include <stdint.h>
#include "sim/model.h"
#include "sm/port/port.h"

/*
 * The transport of port.h over a simulated fabric in this process. The port belongs to the caller,
 * who closes it before the model is freed; `ev` is copied. The state is told from the loop, at
 * first and whenever the port's cable comes or goes. As the kernel does it, a response without a
 * timed request that waits for it is dropped, and a request whose time is up comes back with
 * ERR_TIMEOUT.
 */
int
direct_open(struct port **p, struct model *m, uint32_t node, unsigned port,
	    const struct port_events *ev, struct error *e);
/* Responses that no request waited for. */
uint64_t
direct_unsolicited(const struct port *p);

#endif
