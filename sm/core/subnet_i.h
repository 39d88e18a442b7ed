/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_SUBNET_I_H
#define CORE_SUBNET_I_H

#include "qos/compose.h"
#include "sm/base/map.h"
#include "sm/core/congestion.h"
#include "sm/core/drain.h"
#include "sm/core/health.h"
#include "sm/core/multicast.h"
#include "sm/core/partition_i.h"
#include "sm/core/peers_i.h"
#include "sm/core/subnet.h"
#include "sm/core/remarks.h"
#include "sm/core/topo.h"
#include "sm/core/watchdog.h"
#include "sm/fabric/change.h"
#include "sm/port/transact.h"

/*
 * The inside of struct subnet, shared by the files of this folder: subnet.c (stages), dispatch.c
 * (whose answer it is), sweep.c (discovery), lids.c (addresses), planner.c (routing on a worker),
 * push.c (programming), reader.c (tables in the background), peers.c (other subnet managers),
 * guids.c (alias GUIDs), notice.c (what comes unasked).
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

enum sweep_kind {
	SWEEP_NONE,
	SWEEP_PARTIAL,		/* only the devices named in subnet.dirty */
	SWEEP_LIGHT,		/* SwitchInfo of every switch; follow what changed */
	SWEEP_HEAVY,		/* everything from the start */
};

/* Soft barrier of heavy sweeps: see sweep.c. */
#define SWEEP_LEVELS (SMP_MAX_HOPS + 1)
struct sweep_level {
	struct list probes;	/* live_port.wait: probes that may not start yet */
	uint32_t work;		/* devices being read and probes under way at this distance */
};

struct sweep {
	enum sweep_kind kind;
	uint32_t id;			/* number of this sweep, from 1 */
	monotime started;
	unsigned open_level;		/* probes from this distance and nearer may start */
	unsigned last_level;		/* farthest level in use */
	uint64_t answers;		/* answers seen in this sweep */
	uint64_t tick_answers;		/* the same at the last tick of the level timer */
	unsigned rounds;		/* suspects are being asked over other paths: how often */
	uint64_t round_answers;		/* answers seen when the last round began */
	bool changed;			/* the model differs from the snapshot */
	bool told;			/* it looks at what was told of unasked */
	bool curtailed;			/* a light sweep asks nobody any more who is not known to
					 * have changed */
	struct sweep_level level[SWEEP_LEVELS];
};

/* A persistent LID, key: port GUID. */
struct lid_record {
	uint64_t guid;
	int64_t last_seen;	/* Unix seconds */
	uint16_t lid;
	uint8_t lmc;
	bool present;		/* held by a port of the newest snapshot */
	bool seen;		/* held by a port of a snapshot of this run */
};

struct lid_commit;

struct lid_store {
	struct lid_commit *commit;	/* for commits under way; see lids.c */
	bool unsaved;			/* the store failed: everything is to be written again */
	uint32_t small_switches;	/* that hold fewer LIDs than the subnet needs */
	struct map by_guid;		/* port GUID -> index */
	struct lid_record *records;
	uint32_t len;
	uint32_t size;
};

/* Fields of PortInfo that the subnet manager sets; bits of live_port.stubborn. */
enum push_field {
	FIELD_M_KEY = 1 << 0,
	FIELD_M_KEY_LEASE = 1 << 1,
	FIELD_M_KEY_PROTECT = 1 << 2,
	FIELD_PREFIX = 1 << 3,
	FIELD_LID = 1 << 4,
	FIELD_SM_LID = 1 << 5,
	FIELD_SM_SL = 1 << 6,
	FIELD_LMC = 1 << 7,
	FIELD_SUBNET_TIMEOUT = 1 << 8,
	FIELD_MTU = 1 << 9,
	FIELD_OP_VLS = 1 << 10,
	FIELD_HOQ_LIFE = 1 << 11,
	FIELD_VL_STALL = 1 << 12,
	FIELD_PHY_ERRORS = 1 << 13,
	FIELD_OVERRUN_ERRORS = 1 << 14,
	FIELD_STATE = 1 << 15,
	FIELD_LIFE_TIME = 1 << 16,	/* SwitchInfo, kept at port 0 */
	FIELD_FDB_TOP = 1 << 17,	/* SwitchInfo, kept at port 0 */
	FIELD_ENFORCE = 1 << 18,	/* of partitions, both ways */
	FIELD_HIGH_LIMIT = 1 << 19,
};
#define FIELD_COUNT 20
/* Without these a port does not forward as planned. */
#define FIELDS_FORWARDING \
	(FIELD_LID | FIELD_LMC | FIELD_MTU | FIELD_OP_VLS | FIELD_STATE | FIELD_FDB_TOP)

enum push_step {
	PUSH_READ_TABLES,	/* learn what switches of a live fabric hold, before routing */
	PUSH_READ_LANES,	/* the same of SL to VL maps, where a plan has some */
	PUSH_OWN_PORT,		/* our own LID first */
	PUSH_PKEYS_SWITCHES,	/* P_Keys: ports of switches that lead to hosts, */
	PUSH_PKEYS_HOSTS,	/* and end ports */
	PUSH_DROP,		/* live fabric: a set of rows that only drop, before links come */
	PUSH_LANES,		/* SL to VL maps, before anything that is proved with them */
	PUSH_ARBITRATION,	/* VL arbitration tables, where QoS is configured */
	PUSH_NEW,		/* live fabric: tables of switches that forward nothing yet */
	PUSH_LINKS,		/* and links between switches that have tables: fields, ARMED */
	PUSH_LINKS_UP,		/* and ACTIVE, before any table leads packets there */
	PUSH_STAGE,		/* old and new do not mix: entries that change, set by set */
	PUSH_DRAIN_WAIT,	/* packets of the old tables leave the fabric */
	PUSH_CONFIG,		/* tables, port fields, ARMED */
	PUSH_ACTIVATE,		/* ARMED to ACTIVE */
	PUSH_DONE,
};

/* What is left to do at all ports when the last answer is in, in this order. */
enum push_end {
	PUSH_END_CABLES,	/* note what the Sets passed */
	PUSH_END_TABLES,	/* see who does not hold its table, */
	PUSH_END_PORTS,		/* and which ports do not forward */
	PUSH_END_STATES,	/* publish their states */
	PUSH_ENDED,
};

/* Sets of rows that are written one after the other before those of the plan, where packets must
 * not meet any mixture of old and new. */
#define STAGES_MAX 16
struct plan_stages {
	unsigned len;			/* sets */
	bool drops;			/* the first set only drops: it needs nothing but its
					 * switches, and is for links too that are yet to come up */
	bool drain;			/* it drops what changes, and is the only one */
	bool shifts;			/* so that SL to VL maps can change: it drops all that
					 * leads to other switches, and is waited for at once */
	uint32_t nswitches;		/* length of each set */
	struct plan_row **rows[STAGES_MAX + 1];	/* by switch; NULL: it stays as it is */
};

struct push {
	enum push_step step;
	struct plan *plan;		/* being programmed; reference held */
	struct plan_stages *stages;	/* owned; NULL: none is needed */
	unsigned stage;			/* the set that is being written */
	bool live;			/* some switch forwarded already when the push began */
	bool cut;			/* a set did not get through: the rest is left for later */
	bool starting;			/* the step has not begun at all devices yet */
	enum push_end end;		/* in PUSH_DONE: what is being done */
	struct push_few *few;		/* the only devices that are looked at, owned; NULL: all */
	uint32_t at;			/* place in topo.table, or there, where the walk goes on */
	monotime started;
	uint32_t blocks;		/* LFT blocks written */
	uint32_t entries;		/* LFT entries that changed, against what was known */
	uint32_t pkey_blocks;		/* P_Key blocks written */
	uint32_t sets;			/* Sets sent */
	uint32_t failed_tables;		/* LFT or LinearFDBTop Sets refused or lost */
	uint32_t failed_ports;		/* ports that do not forward as planned */
	uint32_t refused;		/* Sets answered with an error status */
	uint32_t lost;			/* requests that were never answered */
	char first_failure[300];	/* one sentence */
};

/* A job for the worker; see planner.c. */
struct plan_job;

/* What routing is to be shown, while it is made; see route.c. */
struct snapshot;
struct route_job;
struct route {
	struct snapshot *collecting;	/* the model, in slices; NULL */
	struct route_job *job;		/* at the worker, or back from it; NULL */
	bool command;			/* for a command: what is known is routed */
};

/* The published plan on a newer snapshot, while that is made; see refresh.c. */
struct snapshot_states;
struct refresh_job;
struct refresh {
	struct loop_timer *timer;	/* the next slice of `collecting` */
	struct snapshot *collecting;	/* everything, in slices; NULL */
	struct refresh_job *job;	/* at the worker; NULL */
	struct snapshot_states *states;	/* of ports, in slices; NULL */
};

/* The proof from nothing that follows that of a repair; see proof.c. */
struct proof_job;
struct proof {
	struct loop_timer *timer;	/* until it begins */
	struct proof_job *job;		/* at the worker; NULL */
	bool due;			/* it is still to come */
	bool whole;			/* the published plan has one */
	bool distrust;			/* it disagreed: the next routing starts from nothing */
};

/* `weft reroute`, `fail`, `drain`, `undrain`: one at a time. */
struct reroute {
	change_done_fn done;	/* NULL: no command */
	void *arg;		/* for it */
	struct change c;	/* what is asked; its engine is the next */
	char engine[32];	/* asked for, "" = the configured chain */
	char before[32];	/* engine_override to go back to when it is refused */
	struct drains drains;	/* what was drained before, to go back to */
	struct change_report report;	/* the outcome */
	char text[1600];	/* the answer, while the store writes */
	bool waiting;		/* for the present stage to end */
};

/* Alias GUIDs; see guids.c. */
struct guids {
	struct loop_timer *timer;	/* collects changes; repeats what did not get through */
	struct loop_timer *again;	/* repeats what was refused */
	unsigned refusals;		/* so often in a row */
	bool refused;			/* something was in this round */
	struct map changed;		/* GUIDs of ports whose aliases are to be compared */
	bool all;			/* those of every port, but not before then: */
	monotime not_before;
	bool failed;			/* some device did not answer in this round */
};

/* Where traps come from; see trap.c. */
struct trap_source;
struct traps {
	struct trap_source *sources;	/* a ring; NULL: none came yet */
	struct map by_key;		/* sender, trap and port -> index in it */
	uint32_t next;			/* slot of the next new one */
	struct map later;		/* node GUIDs to look at when the timer fires */
	bool look;			/* and a light sweep is wanted then */
	struct loop_timer *timer;	/* for these */
};

/* Value in subnet.dirty: of the device nothing but its description has changed. */
#define DIRTY_DESCRIPTION 1

/* Tables that are read in the background; see reader.c. */
struct reader {
	struct loop_timer *timer;	/* gives new credit; begins after a while */
	uint64_t seen;			/* requests of clients up to the last tick */
	struct list devices;		/* device_tables.active: that are being read */
	uint32_t at;			/* place in topo.table where the next is looked for */
	uint32_t credit;		/* requests that may be sent until the next tick */
	bool asked;			/* somebody has asked for what is not known */
	bool again;			/* some did not answer */
};

struct sa;

struct subnet {
	struct subnet_env env;
	const struct config_subnet *conf;
	struct lfts *tables;		/* saved ones, for engine `file`; NULL */
	struct port *port;
	struct transact *transact;
	struct sa *sa;			/* subnet administrator: answers while we are master */
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
	struct compose_given given;	/* SLs that hosts were told of; in the store */
	struct arbitrated arbitrated;	/* of VL arbitration */
	bool lanes_looked;		/* SL to VL maps were read back for the routing to come */
	bool keeps;			/* the plan is what was found: see keep_tables() */
	bool first_master_sweep;	/* nothing was programmed by us since we became master */

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
	struct partitions parts;	/* P_Keys of ports */
	struct traps traps;		/* who sends them */
	struct health health;		/* what is wrong with ports and devices */
	struct loop_timer *disable_retry;	/* a port could not be set: not before this */
	struct reader reader;		/* tables read in the background */
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
	bool unrouted;			/* the newest routing was refused */
	char why_not[400];		/* last reason for not being up */
	struct log_limit limit_trap;
	struct log_limit limit_device;
};

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

/* reroute.c */
/* The stage that the command waited for has ended. */
void
reroute_begin(struct subnet *s);
/* It asked for a rehearsal, which is what runs now. */
bool
reroute_is_dry(const struct subnet *s);
/* The tables are in: the answer goes out when what it changed is in the store. */
void
reroute_done(struct subnet *s);
/* The command gets its answer, if there is one. */
void
reroute_answer(struct subnet *s, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* What it asked for was refused: the engine before it is tried first again. */
void
reroute_undo(struct subnet *s);
/* What routing is shown of a snapshot if the change is made, or rehearsed, while `drains` (which it
 * may change) are kept off: a reference. report->cables and ->kept are filled. Any thread. */
const struct fabric *
reroute_shown(const struct change *c, struct drains *drains, const struct fabric *whole,
	      struct change_report *report);

/* sweep.c */
void
sweep_init(struct subnet *s);
void
sweep_start(struct subnet *s, enum sweep_kind kind);
bool
sweep_next(struct subnet *s, struct agent *a, struct transact_request *r);
void
sweep_done(struct subnet *s, struct agent *a, const struct transact_result *res);
/* Nothing is under way any more: second round, or the end. */
void
sweep_idle(struct subnet *s);
/* Something has changed at a device: the present sweep reads it. False if it must be the next. */
bool
sweep_include(struct subnet *s, struct device *d);
/* A light sweep under way asks nobody any more who is not known to have changed, so that it ends
 * soon and a partial one can follow. False if the present sweep is none. */
bool
sweep_curtail(struct subnet *s);
/* A request to it is not answered as fast as others are. */
void
sweep_late(struct subnet *s, struct agent *a);
void
sweep_tick(void *subnet);

/* lids.c */
void
lids_load(struct subnet *s);
bool
lids_known(const struct subnet *s, uint64_t guid);	/* a port has it, or had it */
void
lids_free(struct lid_store *l);
void
lids_save_again(struct subnet *s);	/* all records, if the store failed to take some */
/*
 * Assign LIDs to every end port of the snapshot; updates the records and puts them to the store.
 * Bit by bit: lids_slice() is called again until it returns true, then lids_end() gives what came
 * of it (the caller's) and frees the rest. lids_drop() instead of it lets go at any time.
 */
struct assignment *
lids_begin(struct subnet *s, const struct fabric *f);
bool
lids_slice(struct assignment *a);
struct plan_lids *
lids_end(struct assignment *a);
void
lids_drop(struct assignment *a);	/* NULL is allowed */

/* office.c: who led last. */
void
office_load(struct subnet *s);
/* We did, by this very port and LID. */
bool
office_is_ours(const struct subnet *s);
void
office_remember(struct subnet *s);
/* A plan was published, made with what hosts had been told of service levels before: what they are
 * told from now on is remembered. */
void
push_arbitration_forget(struct subnet *s);	/* push_vlarb.c */
void
office_gave(struct subnet *s, const struct compose_given *before);
/* Somebody else leads. */
void
office_leave(struct subnet *s);

/* trap.c */
void
trap_init(struct subnet *s);
void
trap_free(struct subnet *s);
/* A trap of LID `from` with this transaction; it was repressed. */
void
trap_came(struct subnet *s, uint16_t from, uint64_t tid, const struct notice *n);

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

/* proof.c */
/* Timer: prove the published plan from nothing. */
void
proof_begin(void *subnet);
/* A plan was published; `repaired`: its proof went on from that of the plan before. */
void
proof_published(struct subnet *s, bool repaired);
/* Let go of what is under way. */
void
proof_drop(struct subnet *s);

/* route.c */
/* Begin stage ROUTE; for a command, or after a sweep. It ends in planner_start(), or in
 * subnet_rest() if what the command asks for is refused. */
void
route_start(struct subnet *s, bool command);
void
route_turn(struct subnet *s);
/* Let go of what is under way. */
void
route_drop(struct subnet *s);

/* refresh.c */
void
refresh_init(struct subnet *s);
/* Publish what programming made of the ports, bit by bit: readers see ACTIVE, not what discovery
 * found. True: that is done; false: to be called again. */
bool
subnet_refresh(struct subnet *s);
/* Publish what is known now, names and all, by and by: begun now, or when the stage has ended. */
void
refresh_all(struct subnet *s);
/* Let go of what is under way. */
void
refresh_drop(struct subnet *s);
void
refresh_free(struct subnet *s);

/* planner.c */
/* Route `f`. `whole` is the same with all cables that are up. `lids` becomes the plan's; NULL for a
 * rehearsal, which has those of the published plan and ends in subnet_route_done() like others. */
void
planner_start(struct subnet *s, const struct fabric *f, const struct fabric *whole,
	      struct plan_lids *lids);
void
planner_free_job(struct plan_job *job);
/* Let go of the job at the worker, if there is one: its result will be thrown away. */
void
planner_drop(struct subnet *s);
void
plan_stages_free(struct plan_stages *st);	/* NULL is allowed */

/* push.c */
/* True if switches hold tables that nobody here knows: read them before routing. */
bool
push_needs_tables(struct subnet *s);
/* Trust no table: those of switches that forward are read back before the next routing. */
void
push_doubt_tables(struct subnet *s);
void
push_start_reading(struct subnet *s);
/* The same of SL to VL maps that packets pass by, for a plan that has some. */
bool
push_needs_lanes(struct subnet *s);
void
push_start_reading_lanes(struct subnet *s);
/* `reregister`: every host that can is asked to register again. */
void
push_start(struct subnet *s, struct plan *plan, struct plan_stages *stages, bool reregister);
bool
push_next(struct subnet *s, struct agent *a, struct transact_request *r);
void
push_done(struct subnet *s, struct agent *a, const struct transact_result *res);
void
push_idle(struct subnet *s);
/* The next bit of what a step does at all devices. */
void
push_turn(struct subnet *s);
/* A trap told of a link of this switch: cables that went carry no more requests. */
void
push_link_changed(struct subnet *s, struct device *d);
/* Timer: the packets of the old tables have left the fabric. */
void
push_drain_waited(void *subnet);
/* The rows that switches are known to hold, as a plan on this snapshot; NULL if none is known. */
struct plan *
push_shadow_plan(struct subnet *s, const struct fabric *f);
/* How long a packet may live in the fabric: 4.096 us x 2^LifeTimeValue a switch (IBA 18.2.5.4),
 * bounded to what an administrator would wait for. */
monotime
push_packet_lifetime(const struct subnet *s);
/* push_port.c: what a port should hold, and how that differs from what it holds. */
uint32_t
push_port_want(const struct subnet *s, const struct live_port *p, struct portinfo *want);
/* Whether anything that the subnet manager sets is different. */
bool
push_ports_differ(const struct portinfo *a, const struct portinfo *b);
/* An end port was read to hold another address than the published plan gives it. */
bool
push_end_port_off(const struct subnet *s, const struct live_port *p);
/* The fields in which a Set differs from what the port is known to hold. */
uint32_t
push_port_diff(const struct live_port *p, const struct portinfo *set);
/* Compare an answer with what was set: fields that kept another value. */
uint32_t
push_port_kept(const struct portinfo *got, const struct portinfo *want, uint32_t set);
bool
push_port_wants_reregister(const struct subnet *s, const struct live_port *p);
/* Whether the port takes part: it is up and its far end can be programmed too. */
bool
push_port_counts(const struct live_port *p);
/* Forget refusals: after a change of configuration. */
void
push_forget_stubborn(struct subnet *s);
const char *
push_field_name(unsigned bit);

/* notice.c */
void
notice_request(void *subnet, const struct port_mad *m);
/* What we tell other subnet managers of ourselves. */
void
notice_own_sminfo(const struct subnet *s, struct sminfo *i);

/* multicast.c */
void
multicast_init(struct subnet *s);
void
multicast_free(struct subnet *s);
/* The members of groups that have the multicast LID have changed. */
void
multicast_changed(struct subnet *s, uint16_t mlid);
/* So have the paths of the fabric, or what switches hold. */
void
multicast_changed_all(struct subnet *s);
/* Let go of what is under way. */
void
multicast_drop(struct subnet *s);

/* mft.c */
void
mft_init(struct subnet *s);
void
mft_end(struct subnet *s);
/* The switch was reset, or somebody else may have written to it. */
void
mft_forget(struct subnet *s, struct device *d);
/* Take the trees away before the plan is pushed, which follows. False: there are none; then nothing
 * is taken over. */
bool
mft_withdraw(struct subnet *s, struct plan *plan, struct plan_stages *stages, bool reregister);
/* Nothing else is to be done: write tables if some differ. True: that is under way, and ends in
 * between_over(). */
bool
mft_write(struct subnet *s);
bool
mft_next(struct subnet *s, struct agent *a, struct transact_request *r);
void
mft_done(struct subnet *s, struct agent *a, const struct transact_result *res);
void
mft_idle(struct subnet *s);
/* Blocks of a switch's table up to the last that has, or may have, an entry. */
unsigned
mft_blocks(const struct device *d);
/* Whether there is such a block, at this position, among what was ever looked at. */
bool
mft_has(const struct device *d, unsigned block, unsigned position);
/* What the switch holds there; false: that is not known. */
bool
mft_block(const struct device *d, unsigned block, unsigned position, uint16_t masks[32]);

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

/* guids.c */
void
guids_init(struct subnet *s);
void
guids_free(struct subnet *s);
/* Aliases of this port have changed. */
void
guids_changed(struct subnet *s, uint64_t port_guid);
/* Compare every port before long. */
void
guids_all(struct subnet *s);
/* The port came up, or its device was away: what it held may be gone. */
void
guids_forget(struct subnet *s, struct live_port *p);
/* Somebody else may have written them. */
void
guids_doubt(struct subnet *s);
/* As mft_write() and what belongs to it. */
bool
guids_write(struct subnet *s);
bool
guids_next(struct subnet *s, struct agent *a, struct transact_request *r);
void
guids_done(struct subnet *s, struct agent *a, const struct transact_result *res);
void
guids_idle(struct subnet *s);

/* reader.c */
void
reader_init(struct subnet *s);
void
reader_free(struct subnet *s);
/* Another stage has begun: it gives way, or goes on. */
void
reader_stage(struct subnet *s);
/* What this device holds is asked for, and not known. */
void
reader_want(struct subnet *s, struct device *d);
bool
reader_next(struct subnet *s, struct agent *a, struct transact_request *r);
void
reader_done(struct subnet *s, struct agent *a, const struct transact_result *res);

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
