/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_SUBNET_I_H
#define CORE_SUBNET_I_H

#include "qos/compose.h"
#include "sm/base/map.h"
#include "sm/core/adaptive.h"
#include "sm/core/congestion.h"
#include "sm/core/copies.h"
#include "sm/core/counting.h"
#include "sm/core/drain.h"
#include "sm/core/guids.h"
#include "sm/core/health.h"
#include "sm/core/lids.h"
#include "sm/core/multicast.h"
#include "sm/core/partition_i.h"
#include "sm/core/peers_i.h"
#include "sm/core/plugged.h"
#include "sm/core/push.h"
#include "sm/core/reader.h"
#include "sm/core/remarks.h"
#include "sm/core/reroute.h"
#include "sm/core/route.h"
#include "sm/core/subnet.h"
#include "sm/core/sweep.h"
#include "sm/core/topo.h"
#include "sm/core/trap.h"
#include "sm/core/watchdog.h"
#include "sm/fabric/change.h"
#include "sm/port/transact.h"

/*
 * The inside of struct subnet, shared by the files of this folder. What a stage keeps there and
 * offers to the others is in the header of its name (sweep.h, lids.h, route.h, push.h ...); here
 * are the subnet itself, its stages, and those parts that offer but a few functions.
 */

/* Stage of the subnet; transitions are in subnet.c. */
enum subnet_stage {
	SUBNET_WAITING,		/* no usable port */
	SUBNET_IDLE,		/* nothing to do till the next timer or event */
	SUBNET_SWEEP,		/* discovering: sweep.c asks */
	SUBNET_ROUTE,		/* a worker computes */
	SUBNET_PUSH,		/* push.c programs */
	SUBNET_POLL,		/* standby: asking the master whether it lives; master: offering
				 * our office */
	SUBNET_MULTICAST,	/* multicast.c writes multicast tables */
	SUBNET_GUIDS,		/* guids.c writes alias GUIDs */
	SUBNET_CONGESTION,	/* congestion.c reads and writes congestion control */
	SUBNET_ADAPTIVE,	/* adaptive.c sets adaptive routing up */
	SUBNET_PORTS,		/* disable.c disables or enables ports */
	SUBNET_PARTITIONS,	/* a worker compiles P_Keys */
};

enum subnet_role {
	ROLE_WAITING,
	ROLE_DISCOVERING,
	ROLE_STANDBY,
	ROLE_NOT_ACTIVE,	/* the master has asked for that: handover.c */
	ROLE_MASTER,
};

struct sa;

struct subnet {
	struct subnet_env env;
	const struct config_subnet *conf;
	struct lfts *tables;		/* saved ones, for engine `file`; NULL */
	struct port *port;
	struct transact *transact;
	struct sa *sa;			/* subnet administrator: answers while we are master */
	struct copies copies;		/* of the master's, while we are not */
	struct map forgotten;		/* port GUIDs: to register again when they are back */
	struct topo topo;
	uint32_t routes_version;	/* topo.path_version that requests under way keep to */
	struct agent own;		/* asks our own node who it is */
	bool own_wanted;		/* and has to */
	uint8_t scratch_path[SMP_MAX_HOPS + 1];	/* route of the request being made */
	struct sweep sweep;
	struct push push;
	struct lid_store lids;
	enum subnet_stage stage;
	enum subnet_role role;
	int64_t role_since;		/* wall microseconds */
	int64_t published_wall;		/* when the plan was published or refreshed last */
	char engine_override[32];	/* tried before the configured chain, "" = none */

	struct plan *plan;		/* published; NULL before the first */
	struct plan_job *job;		/* at the worker; NULL */
	uint64_t generation;		/* of the newest snapshot */
	bool issm;			/* the port announces a subnet manager */
	char office[64];		/* "GUID LID" of our port when we led last, "" */
	int64_t doubt_wall;		/* until then hosts have time to register again with us,
					 * as the store has it; 0 */
	struct compose_given given;	/* SLs that hosts were told of; in the store */
	struct arbitrated arbitrated;	/* of VL arbitration */
	bool lanes_looked;		/* SL to VL maps were read back for the routing to come */
	bool keeps;			/* the plan is what was found: see keep_tables() */
	bool first_master_sweep;	/* nothing was programmed by us since we became master */
	bool outdated;			/* `plan` is from before that, and others may have
					 * programmed since; or its push was cut: what switches
					 * hold is something else, and nobody is told of it */

	enum sweep_kind wanted;		/* next sweep to run, SWEEP_NONE if none */
	struct map dirty;		/* node GUIDs to read again in the next sweep */
	unsigned looks_put_off;		/* times in a row that a look at everybody gave way */
	bool told;			/* of a change somewhere: a sweep has to look for it */
	bool forced;			/* an administrator asked for the present look round */
	bool want_tables;		/* the next heavy sweep reads all tables back */
	bool want_route;		/* routing must run even if nothing has changed */
	bool push_incomplete;		/* something must be pushed again */
	unsigned failures;		/* pushes in a row that ended incomplete */
	monotime retry_at;		/* an incomplete push is not repeated before */
	struct loop_timer *timer;	/* light sweeps, standby polls */
	struct loop_timer *soon;	/* collects events into one sweep; back-off */
	struct loop_timer *retry;	/* repeats an incomplete push */
	struct loop_timer *level_timer;	/* opens levels that make no progress */
	struct loop_timer *drain_timer;	/* packet lifetime */
	struct loop_timer *turn;	/* the next bit of what a stage does by and by */
	struct loop_timer *impatience;	/* then a stage between others is broken off */
	struct route route;		/* what is being made for the planner */
	struct refresh refresh;		/* what is published on a newer snapshot */

	struct peer_sm peers[PEERS_MAX];
	unsigned npeers;
	bool rivals;			/* another master was, or may have been, there while we
					 * led: what it wrote is to be read back, */
	unsigned rivalries;		/* which was done so often */
	monotime settle_at;		/* and is not done again before */
	struct loop_timer *settle_timer;	/* until then */
	struct peer_sm master;		/* standby: who is in charge */
	unsigned handovers;		/* and is to be told, at most so many times more, that we
					 * led beside it */
	bool handover_put_off;		/* but first is asked whether it lives */
	unsigned poll_failures;	/* in a row */
	unsigned polls_soon;	/* so many more without a pause: its office was refused */
	bool ask_port;		/* does the master's port announce a manager at all? */
	monotime polled;	/* when the last question to the master went out */
	struct handover handover;
	struct takeover takeover;
	uint8_t stranger[SMP_MAX_HOPS + 1];	/* return path of a question while discovering */
	uint8_t stranger_hops;		/* its length, 0: nobody asked */
	monotime look_behind_at;	/* a port that questions come through is not looked at
					 * before */
	bool looked_again;		/* discovery was repeated for a stranger's sake */

	struct watchdog watchdog;	/* of the stage that runs */
	struct proof proof;		/* of the published plan */
	struct multicast multicast;	/* trees of multicast groups */
	struct guids guids;		/* alias GUIDs of ports */
	struct congestion congestion;	/* congestion control of devices */
	struct adaptives adaptive;	/* adaptive routing of switches */
	struct partitions parts;	/* P_Keys of ports */
	struct traps traps;		/* who sends them */
	struct counting counting;	/* readings of ports' error counters */
	struct health health;		/* what is wrong with ports and devices */
	struct loop_timer *disable_retry;	/* a port could not be set: not before this */
	struct reader reader;		/* tables read in the background */
	struct plugged plugged;		/* engines that others made */
	struct reroute reroute;		/* a command that waits for its outcome */
	struct drains drains;		/* what traffic is kept off */
	struct {
		uint32_t links_lost, links_back;
		uint32_t nodes_lost, nodes_back;
	} met;				/* since tables were programmed last */
	monotime change_started;	/* the sweep or command that led to the present push */
	monotime rested;		/* when the last one ended */

	struct subnet_status st;	/* counters and timings kept up to date */
	monotime born;			/* subnet_new() */
	bool own_port_down;		/* our port answers, but its link is down */
	monotime looked;		/* last light or heavy sweep */
	bool want_refresh;		/* port states or names are to be published */
	bool ending;			/* nothing more is asked */
	bool port_tried;		/* the transport has said something of the port */
	bool up;			/* programmed and verified */
	bool unproved;			/* a push went on, though some switch did not take its
					 * table often enough */
	bool unrouted;			/* the newest routing was refused */
	char why_not[400];		/* last reason for not being up */
	struct log_limit limit_trap;
	struct log_limit limit_device;
};

/* beyond.c: another manager changed a row of this subnet (value NULL: deleted); the role has
 * changed; what `show ha` says of a store that managers share. */
void
beyond_take(struct subnet *s, enum store_table table, const char *key, const char *value);
void
beyond_role(struct subnet *s);
void
beyond_reasons(struct subnet *s, struct ha_status *h);

/* subnet.c */
void
subnet_event(struct subnet *s, enum event_type type, enum log_level level, uint64_t guid,
	     unsigned port, const char *fmt, ...) __attribute__((format(printf, 6, 7)));
/* The same for one that has more to it: `ev` gets time, subnet and text. */
void
subnet_tell(struct subnet *s, struct event *ev, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Ask for a sweep of at least this kind, soon: events of one instant are collected. */
void
subnet_want_sweep(struct subnet *s, enum sweep_kind kind);
/* The same for one device. */
void
subnet_want_device(struct subnet *s, uint64_t node_guid);
void
subnet_changed(struct subnet *s);
void
subnet_set_stage(struct subnet *s, enum subnet_stage stage);
/* The subnet is not up, and why. */
void
subnet_not_up(struct subnet *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Nothing runs: wait for the next timer, or go on with what was asked for meanwhile. */
void
subnet_rest(struct subnet *s);
/* The same when it was no sweep that ended. */
void
subnet_go_on(struct subnet *s);
/* What a command asked for cannot be had. */
void
subnet_command_failed(struct subnet *s, int err, const char *why);
/* A sweep, and what followed, has ended. */
void
subnet_finish_sweep(struct subnet *s, bool programmed);
/* Route what is known. */
void
subnet_route(struct subnet *s);
/* How long an incomplete push is left alone before the next. */
/* Standby: so many questions to the master follow each other without a pause. */
void
subnet_poll_soon(struct subnet *s, unsigned times);
monotime
subnet_retry_delay(const struct subnet *s);
/* Stage ends, called by the stage's file. */
void
subnet_sweep_done(struct subnet *s);
void
subnet_route_done(struct subnet *s, struct plan_job *job);
void
subnet_push_done(struct subnet *s);
void
subnet_poll_done(struct subnet *s);
/* "waiting", "discovering", "standby", "not active", "master". */
const char *
subnet_role_name(const struct subnet *s);
/* The master, `by`, wants us to be not active. */
void
subnet_retire(struct subnet *s, const char *by);
/* Be that, ROLE_DISCOVERING or ROLE_STANDBY, and look who is there and decide anew. */
void
subnet_reconsider(struct subnet *s, enum subnet_role role, const char *why);

/* dispatch.c */
/* Our port is there for the first time: make the transaction engine. */
void
dispatch_start(struct subnet *s);
/* Fill the addressing of a request to a device through its port; false if no route is known. */
bool
subnet_address(struct subnet *s, struct device *d, unsigned port, struct transact_request *r);
/* What is addressed to a device goes to who is behind this port of it; false: that is too far. */
bool
subnet_address_behind(struct transact_request *r, unsigned port);

/* office.c: who led last. */
void
office_load(struct subnet *s);
/* A row that another manager changed (value NULL: deleted), if it is one of ours. */
void
office_take(struct subnet *s, const char *key, const char *value);
/* We begin to lead, by the published plan: perhaps somebody else did with our LID meanwhile. */
void
office_look(struct subnet *s);
/* We did, by this very port and LID. */
bool
office_is_ours(const struct subnet *s);
void
office_remember(struct subnet *s);
/* Until then not all hosts may have registered again; a restart does not change that. */
void
office_doubt(struct subnet *s, int64_t wall);
/* A plan was published, made with what hosts had been told of service levels before: what they are
 * told from now on is remembered. */
void
office_gave(struct subnet *s, const struct compose_given *before);
/* Somebody else leads. */
void
office_leave(struct subnet *s);

/* disable.c */
void
disable_init(struct subnet *s);
void
disable_free(struct subnet *s);
/* As mft_write() and what belongs to it. */
bool
disable_write(struct subnet *s);
bool
disable_next(struct subnet *s, struct agent *a, struct transact_request *r);
void
disable_done(struct subnet *s, struct agent *a, const struct transact_result *res);
void
disable_idle(struct subnet *s);

/* notice.c */
void
notice_request(void *subnet, const struct port_mad *m);
/* What we tell other subnet managers of ourselves. */
void
notice_own_sminfo(const struct subnet *s, struct sminfo *i);

/* between.c */
/* Nothing else is to be done: write what is to be written between others. True: that is under way,
 * and ends in between_over(). */
bool
between_start(struct subnet *s);
void
between_over(struct subnet *s);
/* Something is to be looked at. */
void
between_hurry(struct subnet *s);
/* Timer: it has to wait for too long. */
void
between_break_off(void *subnet);

/* admin.c */
/* The subnet administrator of a subnet; sa_free() ends it. */
struct sa *
admin_new(struct subnet *s);
/* What it has done, for the status. */
void
admin_status(const struct subnet *s, struct subnet_status *st);
/* A message for it. */
void
admin_request(struct subnet *s, const struct port_mad *m);
/* A trap came: whoever subscribed to it is told. */
void
admin_trap(struct subnet *s, const struct notice *n);
/* The published plan is programmed. */
void
admin_settled(struct subnet *s);
void
admin_resigned(struct subnet *s);	/* no master any more */

#endif
