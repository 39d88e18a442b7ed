/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_SWEEP_I_H
#define CORE_SWEEP_I_H

#include "sm/core/subnet_i.h"

/* Between sweep.c (what is asked, and when) and discover.c (what the answers mean). */

/* The device has something to ask: count it at its distance and hand it to the engine. */
void
sweep_device_ready(struct subnet *s, struct device *d);
bool
sweep_device_wants(const struct device *d);
/* All that was wanted of the device came, or will not come. */
void
sweep_device_settled(struct subnet *s, struct device *d);
/* Read everything of a device that was reached through its port `number`. */
void
sweep_want_all(struct subnet *s, struct device *d, unsigned number);
/* Ask a switch whether anything has changed there, once a sweep; what has is read. */
void
sweep_want_switch(struct subnet *s, struct device *d);
/* Read one port, once a sweep. */
void
sweep_want_port(struct subnet *s, struct live_port *p);
/* Ask who is behind a port, when its distance's turn has come. */
void
sweep_probe(struct subnet *s, struct live_port *p);
/* Whether requests can leave through this port: switches forward, and our own port. */
bool
sweep_may_probe(const struct subnet *s, const struct live_port *p);
/* Something that was counted at this distance has ended. */
void
sweep_level_done(struct subnet *s, unsigned level);
/* How long a device that stayed silent `failures` times in a row is left alone. */
monotime
sweep_backoff(unsigned failures);
/* Key of topo.extended: vendor, device, revision. */
uint64_t
sweep_model_key(const struct device *d);

#endif
