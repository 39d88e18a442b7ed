/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PORT_UMAD_H
#define PORT_UMAD_H

#include "sm/port/port.h"

/*
 * The libibumad transport. `selector` is "auto" (the first InfiniBand port whose link is not down,
 * Ethernet link layers skipped; says in the log which it took and why), "mlx5_0:1", "mlx5_0", or a
 * port GUID. Returns at once; opening happens behind it, with back-off for as long as there is no
 * device, no port, or agents cannot be registered, and state(up) is called when the port can be
 * used. While it waits, the reason is told once by state(false, why) and again only when it
 * changes. A device that disappears leads back to waiting. NULL only for a malformed selector.
 */
struct port *
umad_port_new(struct loop *l, const char *selector, const struct port_events *events,
	      struct error *e);

#endif
