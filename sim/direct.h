/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_DIRECT_H
#define SIM_DIRECT_H

#include <stdint.h>
#include "sim/model/model.h"
#include "sm/port/port.h"

/*
 * The transport of port.h over a simulated fabric in this process, by agents of a simulated kernel
 * (kernel/kernel.h) that are the same as the umad transport's: the two classes of SMPs, and subnet
 * administration with RMPP. The port belongs to the caller, who closes it before the model is
 * freed; `ev` is copied. The state is told from the loop, at first and whenever the port's cable
 * comes or goes. As the kernel does it, the upper half of a request's TID is not the sender's, a
 * response without a timed request that waits for it is dropped, and of a request whose time is up
 * the first 24 bytes come back, with ERR_TIMEOUT.
 */
int
direct_open(struct port **p, struct model *m, uint32_t node, unsigned port,
	    const struct port_events *ev, struct error *e);
/* Responses that no request waited for, and requests of classes or methods that no transport
 * takes. */
uint64_t
direct_unsolicited(const struct port *p);
/* Messages of more than PORT_LEN_MAX bytes, which were dropped. */
uint64_t
direct_too_long(const struct port *p);

#endif
