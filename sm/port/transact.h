/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PORT_TRANSACT_H
#define PORT_TRANSACT_H

#include <stdbool.h>
#include <stdint.h>
#include "sm/base/list.h"
#include "sm/port/port.h"
#include "sm/wire/mad.h"

/*
 * Transactions: requests to many devices, paired with their answers: SMPs, and GMPs of congestion
 * control and performance management, whose answers come to us alone.
 *
 * Pull model: each device (struct transact_target, embedded by its owner) that has something to
 * ask is marked ready; whenever the windows have room the engine takes the next ready target in
 * turn and calls next() for one request. Nothing is queued, so a request is made from the newest
 * knowledge and a backlog costs no memory.
 *
 * Windows: a total one (starts at `window_start`, grows while that raises the rate of answers,
 * halves on loss, never over `window_max`) and one per target (starts at 4, grows to `target_max`,
 * shrinks to 1 on loss).
 * A request is tried 1 + `retries` times, each with a TID of its own, `timeout` apart (the first
 * wait is adapted to the answer times seen: never under `timeout_min`), then done() gets
 * ERR_TIMEOUT. A target all of whose outstanding requests time out in full delays nobody else.
 * An answer to any try counts while the request is outstanding; one with status BUSY leads to a
 * further try while there is one.
 *
 * done() is called exactly once per request that next() gave, also on transact_cancel() of its
 * target (ERR_CLOSED). Callbacks may mark targets ready, not free the engine.
 *
 * Where a cable is known to be gone nobody waits for what was sent across it: transact_reroute()
 * sends such requests again at once over the way that the owner then gives.
 */
struct transact;

#define TRANSACT_DATA_SIZE 192	/* of a GMP; an SMP has SMP_DATA_SIZE of them */

struct transact_target {
	struct list link;		/* in the ready list, or nowhere */
	uint16_t outstanding;		/* requests in flight */
	uint16_t window;		/* present limit of that */
	uint16_t silent;		/* full time-outs since the last answer */
	uint32_t answered;		/* answers since the window last changed */
	uint32_t rtt_us;		/* this device's answer time: rises at once, falls slowly */
	bool heard;			/* has answered since transact_target_init() */
	bool parked;			/* wants to ask; waits for an answer to make room */
};

struct transact_request {
	uint8_t method;			/* MAD_GET or MAD_SET */
	uint8_t hops;			/* directed route: hop count */
	const uint8_t *path;		/* directed route: out ports path[1..hops]; NULL: by LID */
	uint16_t lid;			/* LID-routed: destination */
	uint8_t gmp;			/* class of a GMP, by LID; 0: an SMP */
	bool uncertain;			/* it may well not be answered, which then says nothing of
					 * the device or the fabric: no window shrinks */
	uint8_t sl;			/* GMPs: service level, */
	uint16_t pkey_index;		/* P_Key, in the port's table, */
	uint32_t remote_qp;		/* and queue pair; 0: QP 1 */
	uint16_t attr_id;
	uint32_t attr_mod;
	uint64_t m_key;			/* for the SMP header; congestion control: CC_Key */
	uint64_t cookie;		/* handed to done() */
	uint8_t port;			/* of the target, that it is sent to: handed to route() */
	uint8_t retries_less;		/* tries to leave out, for probes of known-silent devices */
	uint8_t data[TRANSACT_DATA_SIZE];	/* Set: the attribute */
};

struct transact_result {
	int error;			/* 0 answered, ERR_TIMEOUT, ERR_CLOSED */
	uint16_t mad_status;		/* answered: MAD status without the D bit */
	uint8_t method;			/* of the request */
	uint16_t attr_id;		/* of the request */
	uint32_t attr_mod;		/* of the request */
	uint64_t cookie;		/* of the request */
	monotime elapsed;		/* since the first try */
	unsigned tries;			/* how many were sent */
	const uint8_t *data;		/* answered: bytes of the attribute, else what was sent */
	const uint8_t *sent;		/* bytes of the request */
};

/* What is to become of a request that is under way. */
enum transact_way {
	TRANSACT_KEEP,		/* its route still leads there */
	TRANSACT_AGAIN,		/* it is sent again, over another route */
	TRANSACT_LOST,		/* no route leads there: done() gets ERR_CLOSED */
};

struct transact_ops {
	/* Fill `r` with the target's next request; false: it has none now and leaves the ready
	 * list. */
	bool (*next)(void *arg, struct transact_target *t, struct transact_request *r);
	void (*done)(void *arg, struct transact_target *t, const struct transact_result *r);
	/* Nothing is outstanding and no target is ready. Called from the loop, once each time. */
	void (*idle)(void *arg);
	/* A request or trap of another node, or a GMP, which may be long: anything that is not an
	 * answer of ours. A GMP of ours that found no answer, or a long answer that was not taken,
	 * comes back here with its status set. */
	void (*request)(void *arg, const struct port_mad *m);
	/* transact_reroute(): the directed route of a request under way, path[1..*hops]; for
	 * TRANSACT_AGAIN the new one is put there. May be NULL. */
	enum transact_way (*route)(void *arg, struct transact_target *t, uint8_t port,
				   uint8_t path[SMP_MAX_HOPS + 1], uint8_t *hops);
	/* The first try of a request went unanswered; others follow. May be NULL. */
	void (*late)(void *arg, struct transact_target *t);
	void *arg;
};

struct transact_options {
	unsigned window_start;	/* 64 */
	unsigned window_max;	/* 1..256 (packaged ibsim deadlocks above 256) */
	unsigned target_max;	/* 1..64, requests in flight to one device */
	unsigned retries;	/* 0..15 */
	monotime timeout;	/* first try */
	monotime timeout_min;	/* lower bound of the adapted time-out */
};

struct transact_counters {
	uint64_t sent[256];		/* SMPs by attribute id (low byte), retries included */
	uint64_t sent_total;
	uint64_t answered;
	uint64_t retried;
	uint64_t rerouted;		/* sent again because their way was cut */
	uint64_t timed_out;		/* after all tries */
	uint64_t malformed;		/* could not be decoded */
	uint64_t unsolicited;		/* responses that match no request */
	uint64_t refused;		/* answered with a non-zero MAD status */
};

struct transact *
transact_new(struct loop *l, struct port *p, const struct transact_options *o,
	     const struct transact_ops *ops);
void
transact_free(struct transact *t);
/* The port's receive event belongs here: port_events.receive = transact_receive, arg = t. */
void
transact_receive(void *t, const struct port_mad *m);

void
transact_target_init(struct transact_target *target);
/* `target` has something to ask. Harmless if it is ready already. */
void
transact_ready(struct transact *t, struct transact_target *target);
/* Forget the target's outstanding requests (done() gets ERR_CLOSED for each, before this returns)
 * and its readiness. Call before freeing a target. */
void
transact_cancel(struct transact *t, struct transact_target *target);
/* Cables went: ask route() of every request that is under way by a directed route. Answers to what
 * was sent the old way are not taken any more. */
void
transact_reroute(struct transact *t);
/* Nothing outstanding, nothing ready. */
bool
transact_is_idle(const struct transact *t);
/* Send what is no transaction of the engine's: a response, TrapRepress, or any GMP. */
int
transact_send(struct transact *t, const struct port_mad *m);
const struct transact_counters *
transact_counters(const struct transact *t);
/* Smoothed answer time; 0 before the first answer. */
monotime
transact_rtt(const struct transact *t);
unsigned
transact_window(const struct transact *t);

#endif
