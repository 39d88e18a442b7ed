/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_ADAPTIVE_H
#define CORE_ADAPTIVE_H

#include <stdbool.h>
#include <stdint.h>
#include "sm/base/clock.h"
#include "sm/fabric/plan.h"
#include "sm/wire/ar.h"

/*
 * Adaptive routing of switches (sm/wire/ar.h): who can, what each is known to hold, and stage
 * ADAPTIVE, which asks, sets up and turns on. A switch that is on forwards by its adaptive LFT, and
 * device.lft is what that holds as static ports: a push writes it and the groups
 * (push_adaptive.c).
 */
struct adaptive_chosen;
struct agent;
struct config_qos;
struct config_subnet;
struct device;
struct fabric_node;
struct plan_job;
struct plan_sls;
struct subnet;
struct transact_request;
struct transact_result;

enum adaptive_state {
	ADAPTIVE_UNASKED,	/* nobody knows what it can, or what it does */
	ADAPTIVE_ABSENT,	/* it cannot; not asked again till it comes up anew */
	ADAPTIVE_STATIC,	/* it could; its plain LFT counts */
	ADAPTIVE_ON,		/* its adaptive LFT counts */
	ADAPTIVE_STATES,
};

/* What stage ADAPTIVE does next at a switch. */
enum adaptive_step {
	ADAPTIVE_NOTHING,
	ADAPTIVE_ASK,		/* GeneralInfo */
	ADAPTIVE_READ,		/* AdaptiveRoutingInfo */
	ADAPTIVE_SET_UP,	/* the same, all but E */
	ADAPTIVE_HASH,		/* HBFConfig, if it is another */
	ADAPTIVE_GROUPS,	/* AdaptiveRoutingGroupTable, */
	ADAPTIVE_TABLE,		/* AdaptiveRoutingLFT, block by block */
	ADAPTIVE_ENABLE,	/* AdaptiveRoutingInfo, E */
	ADAPTIVE_LOOK,		/* in a push: the first block of AdaptiveRoutingLFT, which tells
				 * whether it is one that could */
};

/* How a push turns a switch off: push_leave.c. */
enum leave_step {
	LEAVE_NOT,
	LEAVE_ASK,		/* whether it is on */
	LEAVE_SHUT,		/* LinearFDBTop is to be 0, */
	LEAVE_CLEAR,		/* E cleared, */
	LEAVE_WRITE,		/* and the plain table written */
	LEAVE_STUCK,		/* it did not take it, in this push */
};

/* What the entries of an adaptive LFT were read to say besides their static ports. */
struct adaptive_read {
	uint32_t refs;			/* atomic */
	uint32_t len;			/* entries */
	bool done;			/* all of it was read, and what their groups hold */
	struct {
		uint8_t state;		/* enum ar_lid_state */
		uint16_t group;		/* its number */
	} lid[];			/* by LID */
};

/* Of a switch of a vendor whose switches may route adaptively. */
struct live_adaptive {
	enum adaptive_state state;
	enum adaptive_step step;
	struct ar_layout layout;	/* what is known of its attributes */
	struct ar_info info;		/* as it told last */
	bool leave;			/* it may be on, and what it holds is not known: that is
					 * read, or E cleared before its plain LFT is written */
	struct adaptive_read *read;	/* on: what its entries were read to be, instead of `held`;
					 * reference, NULL */
	bool hash_set;			/* its HBFConfig is what it should be */
	enum leave_step leaving;	/* in a push */
	bool waits;			/* likewise: for an answer, */
	bool tried;			/* it was to be shut */
	uint8_t refusals;		/* pushes in a row that were cut, for it is stuck */
	bool able;			/* it has answered to one of the attributes */
	bool look;			/* whether E is still there is to be asked */
	bool told;			/* that it does not do what it should */
	bool failed;			/* in this round */
	unsigned failures;		/* in a row */
	monotime retry_at;		/* after failures: not before */
	bool excepted;			/* the configuration does not select it */
	bool useless;			/* it is on, and has nothing to do */
	char why[100];			/* it is not on: what it refused; "" */
	struct plan_ar_switch *held;	/* on: numbers that its entries have; NULL */
	const struct fabric *of;	/* by whose switches held->group[] is; reference */
	struct plan_lids *lids;		/* and by whose LIDs; reference */
	struct ar_ports *ports;		/* what its groups hold, [group * subs + sub], */
	bool *known;			/* where this is so; of others nobody knows */
	uint16_t top;			/* highest group in there */
	uint8_t subs;			/* sub-groups of a group */
	/* While it is set up, or pushed to. */
	struct plan_ar_switch *goal;	/* that it is set up with; reference, NULL */
	struct plan_row *row;		/* likewise */
	uint32_t next;			/* next block */
};

/* Of a host. */
enum order_state {
	ORDER_UNASKED,
	ORDER_ABSENT,		/* it does not say */
	ORDER_KNOWN,
};

enum order_step {
	ORDER_NOTHING,
	ORDER_ASK,		/* GeneralInfo */
	ORDER_READ,		/* ExtendedPortInfo of a port, */
	ORDER_WRITE,		/* the same with another mask */
};

struct live_order {
	enum order_state state;
	enum order_step step;
	uint16_t sls;		/* bit n: all of its ports take SL n in any order */
	uint16_t told;		/* that they were told to take so, if told_any */
	bool told_any;
	uint16_t so_far;	/* in this round: of the ports that have answered */
	uint16_t goal;		/* likewise: to be told */
	bool writes;		/* likewise: they are told */
	uint8_t port;		/* likewise: the one that is asked */
	uint8_t data[SMP_DATA_SIZE];	/* likewise: as it was read */
	bool failed;		/* in this round */
	unsigned failures;	/* in a row */
	monotime retry_at;	/* after failures: not before */
};

struct adaptives {
	bool due;			/* something may be to be done */
	monotime retry_at;		/* not before: it was broken off, or has failed */
	uint32_t count[ADAPTIVE_STATES];	/* switches, when the stage ran last */
	unsigned errors;		/* in a row, */
	monotime errors_since;		/* from then on */
	bool broken_off;		/* this round: there were too many */
	uint32_t came_on;		/* switches, in this round, */
	uint64_t one_on;		/* one of them */
	uint32_t went_off;		/* since the last event on it, because that is wanted, */
	uint64_t one_off;		/* one of them */
	uint32_t cut;			/* groups, in the plan that was told of */
	uint32_t failed;		/* switches that should be on and did not take it, when the
					 * stage ran last */
	uint16_t any_order;		/* SLs that all hosts take in any order, then */
	uint32_t hosts, hosts_known;	/* how many there are, and how many say it, then */
	bool none;			/* then: none is, and none can come to be, on */
};

/* ---- Stage ADAPTIVE: adaptive.c; as mft_write() and what belongs to it ---- */
bool
adaptive_write(struct subnet *s);
bool
adaptive_next(struct subnet *s, struct agent *a, struct transact_request *r);
void
adaptive_done(struct subnet *s, struct agent *a, const struct transact_result *res);
void
adaptive_idle(struct subnet *s);

/* Its part for hosts: adaptive_hosts.c. Something is to be done; a request; its answer; all ended:
 * true: something failed. */
void
order_begin(struct subnet *s, struct device *d);
bool
order_next(struct device *d, struct transact_request *r);
void
order_done(struct subnet *s, struct device *d, const struct transact_result *res);
bool
order_end(struct subnet *s);
/* The host may have been reset. */
void
order_forget(struct device *d);

/* Next time after so many failures in a row. */
monotime
adaptive_later(const struct subnet *s, unsigned failures);

/* A plan was published, or a sweep has ended. */
void
adaptive_all(struct subnet *s);
/* Nobody knows any more what the switch holds, or whether it is on. */
void
adaptive_forget(struct device *d);
/* It did not take, or keep, what a push wrote. */
struct adaptive_read *
adaptive_read_ref(struct adaptive_read *r);
void
adaptive_read_unref(struct adaptive_read *r);	/* NULL is allowed */
/* It is known to be on, with these groups and entries: `ar` has all that was read. */
void
adaptive_was_read(struct device *d);
void
adaptive_failed(struct subnet *s, struct device *d, const char *what);
void
adaptive_free(struct device *d);
/* Events of what changed since they were told last. */
void
adaptive_tell(struct subnet *s);
/* It should be on by the configuration, and did not take it. */
bool
adaptive_has_failed(const struct subnet *s, const struct device *d);
/* It is of a kind whose switches may route adaptively; then what is kept of it. */
bool
adaptive_may_be(const struct subnet *s, const struct device *d);
struct live_adaptive *
adaptive_live(const struct subnet *s, struct device *d);
/* It forwards by its adaptive LFT, as far as is known. */
bool
adaptive_is_on(const struct device *d);
/* What a plan has for it; NULL: nothing. */
struct plan_ar_switch *
adaptive_section(const struct plan *p, const struct device *d);

/* ---- The policy: adaptive_policy.c ---- */

struct adaptive_policy {
	uint16_t sls;			/* bit n: packets of SL n may be spread */
	uint8_t transports;		/* enum ar_transport that may not */
	uint8_t mode;			/* enum ar_lid_state of LIDs that have a group */
	bool recovery;			/* dead static ports are replaced, where that is known */
	bool longer;			/* groups have longer ways in a second sub-group */
	uint32_t ageing_us;		/* of bounded LIDs */
};

/* Of the configuration, with the SLs that all hosts take in any order; and what its levels of
 * service add, by the SLs that they have. */
void
adaptive_policy(const struct config_subnet *c, uint16_t any_order, struct adaptive_policy *p);
void
adaptive_policy_levels(struct adaptive_policy *p, const struct config_qos *q,
		       const struct plan_sls *s);	/* NULL: there are none */

/* What is known of the attributes of a kind of switch; false: none are known to know them. */
bool
adaptive_layout(const struct config_subnet *c, uint32_t vendor_id, uint16_t device_id,
		struct ar_layout *l);

/* The switches that it is for. */
struct adaptive_chosen *
adaptive_chosen_new(const struct config_subnet *c);
bool
adaptive_chosen(const struct adaptive_chosen *k, const struct fabric_node *n);
void
adaptive_chosen_free(struct adaptive_chosen *k);

/* Group numbers below which there are with so many sub-groups each: what a switch has of them now,
 * with the sub-groups that it has now, is shared out. */
unsigned
adaptive_room(const struct live_adaptive *ar, unsigned subs);

/* ---- On the worker ---- */

/* Before a routing: who can, and what is held; `j` gets both. */
void
adaptive_begin(struct subnet *s, struct plan_job *j);
/* Groups for the plan that was made. */
void
adaptive_run(struct plan_job *j);
/* How to come to them, when it is known how rows change. */
void
adaptive_mix(struct plan_job *j);
/* Adds what a switch that is on, and stays so, will be written to j->writes (blocks of its adaptive
 * LFT) and j->group_writes; false: it is none, and nothing is added. */
bool
adaptive_count_writes(struct plan_job *j, uint32_t sw);
void
adaptive_end(struct plan_job *j);

#endif
