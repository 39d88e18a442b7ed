/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_SWEEP_I_H
#define CORE_SWEEP_I_H

#include "sm/core/subnet_i.h"

/* Between sweep.c (what is asked, and when), discover.c (what the answers mean) and claims.c (who
 * has the right to a GUID). */

/* sweep.c */
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
/* Whether it is time to see who is behind a port that is up: nobody that is known, or a host that
 * does not answer. */
bool
sweep_retry_due(const struct subnet *s, const struct live_port *p);
/* Ask who is behind a port, when its distance's turn has come; a few times in one sweep at most. */
void
sweep_probe(struct subnet *s, struct live_port *p);
/* Nothing more is asked of the device, which is about to be removed. */
void
sweep_drop_device(struct subnet *s, struct device *d);
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

static inline bool
sweep_same_device(const struct device *d, const struct nodeinfo *ni)
{
	return d->info.node_type == ni->node_type && d->info.num_ports == ni->num_ports &&
	       d->info.system_guid == ni->system_guid;
}

/* discover.c */
/* Do the last so many cables on the way to a switch still see each other? */
void
sweep_ask_along(struct subnet *s, const struct device *d, unsigned cables);
/* This is behind port p. */
void
sweep_found(struct subnet *s, struct live_port *p, const struct nodeinfo *ni);
/* It is port q, and nobody else claims to be that. */
void
sweep_join(struct subnet *s, struct live_port *p, struct live_port *q, const struct nodeinfo *ni);
/* Nobody is known behind the port though its cable is up: it is asked again after a while. */
void
sweep_probe_failed(struct subnet *s, struct live_port *p);

/* claims.c */
/*
 * The port that holds what the device behind p says to be: with a cable elsewhere, or our own, or p
 * itself where that cannot be. NULL: nobody does. `guid` is set to what is claimed.
 */
struct live_port *
claims_holder(struct subnet *s, struct live_port *p, const struct nodeinfo *ni, uint64_t *guid);
/* The device behind p claims `guid` of port q: let a probe decide, or refuse it. */
void
claims_challenge(struct subnet *s, struct live_port *p, struct live_port *q, uint64_t guid);
/* What is behind p has the GUID of the device that `first` belongs to or leads to: left out. */
void
claims_refuse(struct subnet *s, struct live_port *p, const struct live_port *first, uint64_t guid);
/* The port is joined, down, or silent: its far end claims nothing. */
void
claims_close(struct live_port *p);
/*
 * Port p itself finds q behind it, but in this sweep another port has said that its far end is p:
 * the cable moved, or two devices have the GUID of p's. Ask that other port again.
 */
void
claims_doubt(struct subnet *s, struct live_port *p, const struct live_port *q);
/*
 * Port p says that q is at its far end, and q is no other's. True if that is to be believed: q has
 * not found another behind itself in this sweep, and need not be asked.
 */
bool
claims_believable(struct subnet *s, struct live_port *p, struct live_port *q);
/* The probe of a judge was answered (`ni`), or not (NULL). */
void
claims_judged(struct subnet *s, struct live_port *v, const struct nodeinfo *ni);
/* It could not be sent, or its answer is not awaited any more. */
void
claims_undecided(struct subnet *s, struct live_port *v);
/* Probe where a holder has changed: in a sweep, and by another one when it has ended. */
void
claims_probe_due(struct subnet *s);
void
claims_sweep_ended(struct subnet *s);

#endif
