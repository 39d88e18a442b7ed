/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_PUSH_I_H
#define CORE_PUSH_I_H

#include "sm/core/subnet_i.h"

#define PUSH_LOSSES 3	/* pushes in a row that wait for a switch whose table is not known */

/* Between push.c (steps, ports, SwitchInfo) and push_table.c (forwarding tables). */

/* What stands in the way: an event, and the first of a push is told in the status. */
void
push_failure(struct subnet *s, const struct device *d, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Read the device before the push is repeated. */
void
push_look_again(struct subnet *s, const struct device *d);

/* Begin with the row that this step writes; device.lft_pending tells if there is one. */
void
push_table_start(struct subnet *s, struct device *d);
bool
push_table_next(struct subnet *s, struct device *d, struct transact_request *r);
/* Whether it still refuses its table, if that is to be asked. */
bool
push_table_trial_next(struct device *d, struct transact_request *r);
/* An answer to a block, read or set. */
void
push_table_answer(struct subnet *s, struct device *d, const struct transact_result *res);
/* The present set has a row for it, and it is not known to hold that. Not for ever. */
bool
push_table_lacks(struct subnet *s, struct device *d);
/* The switch forwards by a table that is not known, and was not heard of when it was to be given
 * another. Not for ever: it may answer all but this. */
bool
push_table_is_lost(struct subnet *s, struct device *d);
/* Take the row over when all of its blocks are answered. */
void
push_table_settled(struct subnet *s, struct device *d);
/* A row that was begun and is not acknowledged whole: what the switch holds is not known. */
void
push_table_abandon(struct device *d);
/* Each live switch is known to hold its row of the plan. */
bool
push_tables_are_in(const struct subnet *s);
/* At the end: a live switch whose shadow is not its row of the plan is not trusted, and told. */
void
push_verify_tables(struct subnet *s);
/* Begin to read the row, if nobody here knows what the switch forwards by; false: they do. */
bool
push_read_start(struct subnet *s, struct device *d);
/* As next and settled, for the row that is being read. */
bool
push_read_next(struct device *d, struct transact_request *r);
void
push_read_settled(struct device *d);


/* push_lanes.c: SL to VL maps. */
/* Begin with what the device lacks; false: nothing. Links that run too few lanes are marked in
 * device.config. */
bool
push_lanes_start(struct subnet *s, struct device *d);
bool
push_lanes_next(struct subnet *s, struct device *d, struct transact_request *r, unsigned *port);
/* An answer, read or set; true: it is no failure, for what was refused is tried otherwise. */
bool
push_lanes_answer(struct subnet *s, struct device *d, const struct transact_result *res);
/* All of a device's are out and answered. */
void
push_lanes_settled(struct subnet *s, struct device *d);
/* At the end of the step: a switch does not hold what the plan is proved with; it is told. */
bool
push_lanes_failed(struct subnet *s);
bool
push_read_lanes_start(const struct subnet *s, struct device *d);
void
push_read_lanes_settled(struct subnet *s, struct device *d);
bool
push_read_lanes_next(struct subnet *s, struct device *d, struct transact_request *r,
		     unsigned *port);

/* push_seen.c: answers of ports. Of the fields that were set the port keeps some as they were. */
void
push_tell_kept(struct subnet *s, struct device *d, unsigned n, uint32_t set, uint32_t kept);
/* Set(PortInfo), Get(PortInfo). */
void
push_port_set(struct subnet *s, struct device *d, const struct transact_result *res);
void
push_port_read(struct subnet *s, struct device *d, const struct transact_result *res);
/* It was reset, or is another: nothing that it holds is known, and it is looked at again. */
void
push_port_doubt(struct subnet *s, struct live_port *p, const char *why);
void
push_port_looked(struct subnet *s, struct device *d, const struct transact_result *res);
/* push_prove.c: links before they carry traffic. */
/* Port of a host, or the nearer one of a cable between switches, whose link was brought up to
 * ARMED; and it was not asked since who is there. */
bool
push_port_unproved(const struct subnet *s, const struct live_port *p);
/* Ask; in PUSH_PROVE hosts alone. */
bool
push_prove_next(struct subnet *s, struct device *d, struct transact_request *r, unsigned *port);
/* The request has the usual way to the device: make that the one that it is to go. False: it would
 * be too long. */
bool
push_prove_address(struct subnet *s, struct device *d, struct transact_request *r);
/* An answer, or none; true: that is no failure of the device. */
bool
push_prove_answer(struct subnet *s, struct device *d, const struct transact_result *res);
/* push_pkeys.c: P_Key tables. */
/* The plan of this push has some. */
bool
push_pkeys_planned(const struct subnet *s);
/* Something is to be looked at: they are not known to be in. */
bool
push_pkeys_due(const struct subnet *s);
/* Begin with the ports of a device that are of this step; false: none. */
bool
push_pkeys_start(struct subnet *s, struct device *d);
bool
push_pkeys_next(struct subnet *s, struct device *d, struct transact_request *r, unsigned *port);
/* The port whose blocks are next, from device.pkey_block on; -1: none, or none before an answer.
 * When all of pkey_set is done and answered those of pkey_again follow, from block `first` on: what
 * was read of them is compared. Of VL arbitration too. */
int
push_blocks_port(struct device *d, unsigned first);
/* An answer, read or set; true: it is no failure. */
bool
push_pkeys_answer(struct subnet *s, struct device *d, const struct transact_result *res);
/* The port is known to hold the table that is planned for it. */
bool
push_pkeys_held(const struct subnet *s, const struct live_port *p);
/* At the end: it could be given the table that this push is for, and is not known to hold it. */
bool
push_pkeys_lack(const struct subnet *s, const struct live_port *p);
/* The link of this port may come up. */
bool
push_pkeys_may_rise(const struct subnet *s, const struct live_port *p);
/* A host that is ARMED has told who it is: true if it is asked for its keys before it rises. */
bool
push_pkeys_prove(struct subnet *s, struct live_port *p);
bool
push_pkeys_proof_next(struct device *d, struct transact_request *r, unsigned *port);
/* An answer for P_Keys is one of these. */
bool
push_pkeys_activates(const struct subnet *s);
/* It; true: it is no failure. */
bool
push_pkeys_proved(struct subnet *s, struct device *d, const struct transact_result *res);
/* The push has ended. */
void
push_pkeys_written(struct subnet *s);
/* What an outer port of a switch enforces, into the PortInfo that it is to have. */
void
push_pkeys_enforce(const struct subnet *s, const struct live_port *p, struct portinfo *w);
/* Where none is planned: the first block of a host, with the default key at index 0. */
bool
push_pkeys_default_next(const struct subnet *s, struct device *d, struct transact_request *r,
			unsigned *port);
bool
push_pkeys_differ(const struct subnet *s, const struct live_port *p);
/* push_vlarb.c: VL arbitration tables. */
struct arbitration;
/* The port's, where its link runs so many lanes (a code); `sls` may be NULL. */
void
push_arbitration_of(const struct subnet *s, const struct plan_sls *sls, const struct live_port *p,
		    unsigned op_vls, struct arbitration *a);
/* Its VLHighLimit; false: nothing is said of it. */
bool
push_arbitration_limit(const struct subnet *s, const struct live_port *p, unsigned op_vls,
		       uint8_t *limit);
/* Something is to be looked at: they are not known to be in. */
bool
push_arbitration_due(const struct subnet *s);
/* Begin with the ports of a device; false: none. */
bool
push_arbitration_start(struct subnet *s, struct device *d);
bool
push_arbitration_next(struct subnet *s, struct device *d, struct transact_request *r,
		      unsigned *port);
/* An answer, read or set. */
void
push_arbitration_answer(struct subnet *s, struct device *d, const struct transact_result *res);
/* The push has ended. */
void
push_arbitration_written(struct subnet *s);
/* push_few.c: devices are known by their places in the plan's snapshot; the newest one may be that
 * of a routing which was refused since. */
void
push_place(struct subnet *s);
/* push.c: what an earlier push left goes, of all and of one device; begin a step. */
void
push_forget(struct subnet *s);
void
push_forget_device(struct device *d);
void
push_step_start(struct subnet *s, enum push_step step);
/* push_few.c: the next slice of a walk over all devices that this push looks at, from push.at on;
 * true: that was the last. */
bool
push_walk(struct subnet *s, void (*fn)(struct subnet *, struct device *));
/* All devices hold the plan but for P_Keys, and what is enforced, of these (GUIDs of nodes, from
 * mem_array(), taken over): nobody else is looked at. `plan` is taken over. */
void
push_start_few(struct subnet *s, struct plan *plan, uint64_t *guids, uint32_t len);
void
push_few_free(struct push_few *few);	/* NULL is allowed */
/* push_end.c: begin the end of the push, which comes to subnet_push_done(). */
void
push_end(struct subnet *s);
/* The next bit of it. */
void
push_end_turn(struct subnet *s);

#endif
