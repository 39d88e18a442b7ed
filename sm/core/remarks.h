/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_REMARKS_H
#define CORE_REMARKS_H

#include "sm/core/topo.h"

/* To be called when a device, or a port of it, comes to be something that status warns of (silent,
 * or LIVE_PORT_UNANSWERED, _DUPLICATE, _TOO_FAR or _FEW_ENTRIES, or a multicast table
 * that it does not take). That it is so no more need not be told. */
void
remarks_add(struct topo *t, struct device *d);
/* A port keeps another value of these fields (bits of enum push_field) than was set: the only way
 * to change live_port.stubborn. */
void
remarks_stubborn(struct topo *t, struct live_port *p, uint32_t fields);
/* Ports that keep another value of field number `bit`; and a device that has such a port, if there
 * are any. */
uint32_t
remarks_stubborn_ports(const struct topo *t, unsigned bit);
const struct device *
remarks_stubborn_device(struct topo *t, unsigned bit);
/* Leave those out of topo.remarked that are nothing any more that status warns of. */
void
remarks_settle(struct topo *t);
/* The device is about to be freed. */
void
remarks_forget(struct topo *t, struct device *d);

#endif
