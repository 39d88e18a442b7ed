/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_CORE_BED_H
#define TESTS_CORE_BED_H

#include <stdbool.h>
#include <stdint.h>
#include "sim/model/model.h"
#include "sm/core/subnet.h"
#include "sm/core/subnet_i.h"

/*
 * A test bed for the live subnet manager: a simulated fabric, a virtual loop, and subnet managers
 * on its ports. Everything is made from one seed, so each run is the same.
 *
 *	struct bed *b = bed_new("ft3 4", 1);
 *	struct bed_sm *sm = bed_sm(b, bed_node(b, "h1"), 1);
 *
 *	sm->conf.lmc = 1;			(the configuration may be changed before the start)
 *	bed_start(sm);
 *	assert_int_equal(bed_run(sm, SEC(10)), 1);
 *	bed_check(sm);
 *	bed_free(b);
 *
 * A test is linked with it by test_x_libs := $(core_bed_libs), which core.mk defines. The log goes
 * nowhere; with CORE_BED_LOG=debug in the environment (or another level) to stderr.
 */
#define BED_SMS 4

struct bed;

/* One subnet manager. Its store and events outlive the subnet: bed_stop() and bed_start() are a
 * restart of the daemon. */
struct bed_sm {
	struct bed *bed;		/* where it runs */
	struct subnet *s;		/* NULL while stopped */
	struct store *store;		/* in memory */
	struct event_ring *events;	/* the newest 4,096 */
	unsigned nevents[EVENT_TYPES];	/* since the last bed_forget() */
	struct config_subnet conf;	/* defaults, to be changed by the test */
	struct port *inner;		/* the port behind the bed's own */
	uint32_t node;			/* where it is attached */
	unsigned port;			/* where it is attached */
	char why[500];		/* of the last outcome, or what bed_good() saw */
	/* Each MAD that leaves; it may be changed; false: it is lost. NULL: none looks. */
	bool (*out)(struct bed_sm *sm, struct port_mad *m);
	/* Each MAD that arrives; it may be changed; false: it is lost. NULL: none looks. */
	bool (*in)(struct bed_sm *sm, struct port_mad *m);
	void *arg;			/* the test's own */
};

struct bed {
	struct ibnet *net;		/* the text of the fabric */
	struct loop *loop;		/* virtual */
	struct model *m;		/* the fabric */
	struct config *defaults;	/* built-in configuration */
	struct bed_sm sms[BED_SMS];	/* in order of bed_sm() */
	unsigned nsms;			/* of them in use */
	bool *bad;			/* by node: a patient, left out by bed_check() */
};

/* `fabric` is a recipe of sim/generate/generate.h ("ft3 8"), or text as ibnetdiscover prints it. */
struct bed *
bed_new(const char *fabric, uint64_t seed);
struct bed *
bed_new_options(const char *fabric, uint64_t seed, const struct model_options *o);
void
bed_free(struct bed *b);
/* Node index by name; fails the test if there is none. */
uint32_t
bed_node(const struct bed *b, const char *name);
/* The port of a node that has a cable to another; fails the test if there is none. */
unsigned
bed_port_to(const struct bed *b, uint32_t node, uint32_t peer);
/* First node of a type, from `from` on; IBNET_NONE behind the last. */
uint32_t
bed_next(const struct bed *b, enum ibnet_type type, uint32_t from);

struct bed_sm *
bed_sm(struct bed *b, uint32_t node, unsigned port);
void
bed_start(struct bed_sm *sm);
void
bed_stop(struct bed_sm *sm);
/* Bed and subnet manager on the first host, started. */
struct bed_sm *
bed_up(const char *fabric, uint64_t seed);

/* Let virtual time pass. */
void
bed_wait(struct bed *b, monotime time);
/* Until subnet_outcome() is not 0, at most so long: the outcome, 0 if the time was up. */
int
bed_run(struct bed_sm *sm, monotime bound);
/* Until nothing is under way or asked for (but the timers of light sweeps and polls); false if the
 * time was up. */
bool
bed_quiet(struct bed_sm *sm, monotime bound);
/* A heavy sweep from start to end; fails the test after `bound`. */
void
bed_sweep(struct bed_sm *sm, monotime bound);

/* Requests that reached any SMA since the last model_count_reset(). */
uint64_t
bed_count(const struct bed *b, uint8_t method, uint16_t attr_id);
/* An event of this type whose text has `word` in it, or NULL; the newest. */
const struct event *
bed_event(const struct bed_sm *sm, enum event_type type, const char *word);
/* Forget the events so far. */
void
bed_forget(struct bed_sm *sm);

/*
 * Holds the devices against the plan, seen from the cables as they are and not from what the
 * subnet manager thinks: of all nodes that cables between good nodes join to the subnet manager's,
 * each end port has a LID of its own and knows the subnet manager's, each cable is ACTIVE, each
 * switch holds the plan's table, and data packets get from host to host (of more than 64 hosts a
 * sample). bed_good() leaves a sentence in `why`, bed_check() fails the test with it.
 */
bool
bed_good(struct bed_sm *sm);
void
bed_check(struct bed_sm *sm);
/* The same looked at every 100 ms until it holds, at most so long. */
bool
bed_becomes_good(struct bed_sm *sm, monotime bound);
/* A client sends the subnet manager a trap; what it gets back, counted as an unsigned in `arg` if
 * it is a TrapRepress. */
void
bed_notice(struct bed_sm *sm, struct model_client *c, uint64_t tid, const struct notice *n);
void
bed_count_repress(void *arg, const struct model_mad *mad);
/* Whether good cables join a node to the subnet manager's now. */
bool
bed_healthy(const struct bed_sm *sm, uint32_t node);

#endif
