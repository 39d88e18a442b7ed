/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_HARNESS_H
#define TESTS_HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "sm/core/subnet.h"
#include "sm/core/subnet_i.h"
#include "sm/wire/sa.h"
#include "tests/unit/core_bed.h"

/*
 * Proof by simulation. A seed makes a schedule: a fabric, managers, clients, and what goes wrong
 * when. A schedule is run in virtual time against the real core on a simulated fabric, so that it
 * is the same each time, and is judged by what the devices hold: while it runs (harness_judge.c)
 * and whenever it has come to rest (harness_rest.c).
 *
 * A schedule is also one line of text. What fails is told as such a line, with the faults left out
 * that it fails without, and becomes a test of its own (harness_cases.h).
 */

/* ---- Schedules: harness_schedule.c ---- */

/* What happens. The numbers a and b of a fault choose where and how, among what there is then. */
enum harness_kind {
	HARNESS_LINK_DOWN,		/* a cable between switches */
	HARNESS_LINK_UP,
	HARNESS_LINK_FLAP,
	HARNESS_LINK_SLOW,		/* trains narrower */
	HARNESS_HOST_DOWN,		/* a host's cable */
	HARNESS_HOST_UP,
	HARNESS_HOST_FLAP,
	HARNESS_HOST_REBOOT,
	HARNESS_SWITCH_OFF,
	HARNESS_SWITCH_ON,
	HARNESS_SWITCH_REBOOT,		/* its tables are gone, faster than any sweep */
	HARNESS_CABLE_MOVED,		/* two cables between switches change ends */
	HARNESS_HOST_MOVED,		/* two hosts change places */
	HARNESS_CUT,			/* the fabric falls in two parts */
	HARNESS_REJOIN,
	HARNESS_LOSS,			/* a device loses MADs */
	HARNESS_LINK_LOSS,		/* a cable does, one way or both */
	HARNESS_DELAY,			/* answers of a device come late */
	HARNESS_REORDER,		/* MADs over a cable are overtaken by those of others */
	HARNESS_SLOW,			/* an SMA does few MADs a second */
	HARNESS_SILENT,			/* an SMA answers nothing */
	HARNESS_HUNG,			/* nor do directed routes pass through */
	HARNESS_MUTE,			/* no answer to one attribute */
	HARNESS_REFUSED,		/* Sets of one attribute are refused */
	HARNESS_WITHHELD,		/* Gets are */
	HARNESS_KEPT,			/* a field keeps its value, while the answer says 0 */
	HARNESS_DAMAGED,		/* answers that a manager gets have wrong bits */
	HARNESS_NODE_GUID_TWICE,
	HARNESS_PORT_GUID_TWICE,
	HARNESS_LID_TWICE,
	HARNESS_TRAP_STORM,
	HARNESS_BABBLE,			/* a port tells of errors again and again */
	HARNESS_TRAPS_LOST,		/* on their way to all managers */
	HARNESS_DESCRIPTION,		/* of a node changes */
	HARNESS_SM_RESTART,		/* with its state */
	HARNESS_SM_AMNESIA,		/* without it */
	HARNESS_SM_KILLED,
	HARNESS_SM_STARTED,
	HARNESS_SM_PORT_LOST,
	HARNESS_SM_DEAF,		/* it hears no SMInfo */
	HARNESS_JOIN,
	HARNESS_LEAVE,
	HARNESS_SERVICE,
	HARNESS_SERVICE_ENDS,
	HARNESS_SUBSCRIBE,
	HARNESS_UNSUBSCRIBE,
	HARNESS_ALIAS,
	HARNESS_ALIAS_ENDS,
	HARNESS_RELOAD,			/* options that need a push, or nothing */
	HARNESS_RELOAD_LMC,
	HARNESS_RELOAD_ENGINE,
	HARNESS_RELOAD_QOS,
	HARNESS_PARTITION,		/* the file has other members */
	HARNESS_PARTITION_COMMAND,	/* a command names one more, or one less */
	HARNESS_DRAIN,
	HARNESS_UNDRAIN,
	HARNESS_REROUTE,
	HARNESS_SWEEP,			/* SIGHUP */
	HARNESS_AR_REFUSED,		/* an adaptive switch refuses Sets of what is at hand, */
	HARNESS_AR_WITHHELD,		/* or Gets, */
	HARNESS_AR_MUTE,		/* does not answer it, */
	HARNESS_AR_LOST,		/* loses MADs, */
	HARNESS_AR_LATE,		/* answers late, */
	HARNESS_AR_KEPT,		/* keeps what it held, and answers with status 0, */
	HARNESS_AR_REBOOT,		/* is reset, */
	HARNESS_AR_CLEARED,		/* or is turned off by somebody else */
	HARNESS_SETTLE,			/* no fault: all that misbehaves stops, and is judged */
	HARNESS_KINDS,
};

/* Where managers are: stages, and in place of SUBNET_PUSH its steps. */
#define HARNESS_STEP(step) (SUBNET_PARTITIONS + 1 + (step))
#define HARNESS_PLACES HARNESS_STEP(PUSH_DONE)
#define HARNESS_ANYWHERE 255u

/* What a manager does at a switch that routes adaptively, by the MAD that it sends: places, too. */
enum harness_ar_step {
	HARNESS_AR_ASK,			/* stage ADAPTIVE: GeneralInfo, */
	HARNESS_AR_READ,		/* AdaptiveRoutingInfo, */
	HARNESS_AR_SET_UP,		/* the same is set, without E, */
	HARNESS_AR_GROUPS,		/* groups, */
	HARNESS_AR_TABLE,		/* the adaptive LFT, */
	HARNESS_AR_ENABLE,		/* and E */
	HARNESS_AR_LESS,		/* a push: groups before rows, */
	HARNESS_AR_ROWS,		/* rows, */
	HARNESS_AR_MORE,		/* groups after rows, */
	HARNESS_AR_READ_BACK,		/* what switches hold is read, */
	HARNESS_AR_LEAVE,		/* E is cleared */
	HARNESS_AR_STEPS,
};
/* Of enum model_keep. */
#define HARNESS_AR_KEEPS (MODEL_KEEP_AR_INFO | MODEL_KEEP_AR_GROUPS | MODEL_KEEP_AR_LFT)
#define HARNESS_AR(step) (HARNESS_PLACES + (step))
#define HARNESS_ALL_PLACES HARNESS_AR(HARNESS_AR_STEPS)

struct harness_fault {
	uint32_t gap;		/* microseconds after the one before */
	uint32_t a, b;		/* choose where and how */
	uint8_t kind;		/* enum harness_kind */
	uint8_t place;		/* then some manager is awaited here; HARNESS_ANYWHERE: not */
	uint8_t mads;		/* and sends so many MADs more */
};

#define HARNESS_FAULTS 64
struct harness_schedule {
	char recipe[40];	/* of sim/generate */
	uint32_t seed;		/* of what is lost, and of where managers and clients are */
	uint8_t sms;		/* managers, 1..3 */
	uint8_t lmc;		/* 0..2 */
	uint8_t engine;		/* index: harness_engine() */
	uint8_t levels;		/* of service, 0: nothing is said */
	uint8_t tenants;	/* a partition is there */
	uint8_t sweep;		/* seconds between light sweeps */
	uint8_t adaptive;	/* 0: no switch routes adaptively; else bits: */
#define HARNESS_AR_SOME 2u	/* not all do, */
#define HARNESS_AR_FEW 4u	/* they have room for few groups, */
#define HARNESS_AR_STAYS 8u	/* a plain table that is written does not turn it off */
	uint8_t nfaults;
	struct harness_fault faults[HARNESS_FAULTS];
};

/* The schedule of a seed. */
void
harness_draw(struct harness_schedule *s, uint64_t seed);
/* As a line of text, and back; false: it is none. */
void
harness_print(const struct harness_schedule *s, char *text, size_t size);
bool
harness_parse(struct harness_schedule *s, const char *text);
#define HARNESS_TEXT 8192

const char *
harness_kind_name(unsigned kind);
const char *
harness_place_name(unsigned place);
const char *
harness_engine(unsigned i);	/* by number, modulo how many there are */
/* A good mixture of two numbers. */
uint64_t
harness_mix(uint64_t a, uint64_t b);

/* ---- Runs: harness_run.c ---- */

/* What runs have come to, in all processes together. */
struct harness_counts {
	uint64_t kinds[HARNESS_KINDS];		/* faults that happened */
	uint64_t places[HARNESS_PLACES];	/* and where managers were then */
	uint64_t steps[HARNESS_AR_STEPS];	/* likewise, of adaptive routing */
	uint64_t schedules;
	uint64_t adaptive;			/* of them with switches that route adaptively */
	uint64_t able;				/* such switches, at rest, */
	uint64_t on;				/* and how many of them did */
	uint64_t spread;			/* ways walked at rest over all ports of groups */
	uint64_t large;				/* of them on 20 switches or more */
	uint64_t faults;
	uint64_t rests;				/* judged */
	uint64_t judged;			/* states of tables between */
	uint64_t pairs;				/* ways of packets walked at rest */
	uint64_t registrations;			/* of clients looked for at rest */
	uint64_t questions;			/* for paths, while things failed, */
	uint64_t answers;			/* and how many of them were answered and judged */
	uint64_t sets;				/* SMPs that write */
	uint64_t restarts;			/* at rest, for which nothing is written */
	uint64_t frugal;			/* single faults at rest, with those, */
	uint64_t frugal_needs;			/* what devices held otherwise before, */
	uint64_t frugal_sets;			/* and SMPs that were written for it */
};

struct harness_judge;
struct harness_client;
struct harness_query;
#define HARNESS_SMS 3
#define HARNESS_CLIENTS 3

struct harness_sm {
	struct harness_run *run;	/* of which it is a part */
	struct bed_sm *sm;		/* the manager; its `s` is NULL while it is dead */
	const struct plan *seen;	/* plan that was published last; reference held, lest
					 * another comes to be in its place; NULL */
	bool deaf;			/* hears no SMInfo */
};

/* A state of a port that was good, for the next rest. */
struct harness_port {
	uint16_t lid;			/* 0: none is known */
	unsigned reign;			/* under whom */
	bool restless;			/* it lost what it held since, or was not there when a
					 * reign began, or was one of two that came up with its
					 * LID */
};

struct harness_run {
	const struct harness_schedule *sched;
	struct harness_counts *counts;
	struct bed *b;			/* the fabric */
	struct harness_sm sms[HARNESS_SMS];
	unsigned nsms;			/* in use */
	struct harness_judge *judge;
	struct harness_client *clients;	/* HARNESS_CLIENTS */
	struct harness_query *queries;	/* of each of them, one at a time */
	uint32_t questions;		/* MADs that ask for paths, so far */
	unsigned pushed;		/* answers to what was written, so far */
	struct region *region;		/* holds what managers borrow: configurations, names */
	struct config *policy;		/* partitions and levels as they are now */
	uint64_t members;		/* of the tenant by file: bits, by host */
	uint64_t commanded;		/* by command */
	uint8_t levels;			/* of service */
	struct harness_port *ports;	/* by node */
	unsigned leader;		/* manager that led last */
	unsigned reigns;		/* how often that changed, or forgot all */
	int commanding;			/* host that a command is about, -1: none is under way */
	bool lids_may_move;		/* somebody had a reason since the last rest, */
	bool lmc_changed;		/* or has one for those too that come back */
	bool trace;			/* tell what happens */
	bool traps_lost;		/* none arrives */
	unsigned damage;		/* of 1,000 answers */
	uint64_t rng;			/* of these */
	uint32_t hosts[HARNESS_SMS + HARNESS_CLIENTS];	/* nodes of managers, then of clients */
	uint64_t ar_sets;		/* SMPs that write what adaptive switches hold */
	uint64_t ar_answers;		/* and answers of such attributes */
	uint32_t target;		/* adaptive switch that the MAD awaited went to, */
	uint16_t target_attr;		/* and its attribute */
	uint8_t place;			/* awaited; HARNESS_ANYWHERE: none */
	uint8_t mads;			/* then to be sent */
	bool there;			/* it was reached */
	uint32_t *list;			/* scratch: candidates */
	char why[700];			/* what is wrong: "TAG: sentence"; "" */
};

/* True: all was well. Else `why` has a sentence. */
bool
harness_run(const struct harness_schedule *s, struct harness_counts *c, bool trace, char *why,
	    size_t size);
/* The first thing that is wrong. */
void
harness_wrong(struct harness_run *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void
harness_say(const struct harness_run *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void
harness_start(struct harness_run *r, struct harness_sm *h);
void
harness_stop(struct harness_run *r, struct harness_sm *h);
unsigned
harness_place(const struct subnet *s);
/* Partitions and levels as the run has them now: made anew, and all managers take them on. */
void
harness_policy(struct harness_run *r);
/* All managers take on a configuration that was changed by `change`. */
void
harness_reload(struct harness_run *r, void (*change)(struct harness_run *r,
						     struct config_subnet *c, uint32_t a),
	       uint32_t a, enum config_stage stage);
bool
harness_is_switch(const struct harness_run *r, uint32_t node);
uint16_t
harness_lid(const struct harness_run *r, uint32_t node);
/* A manager that leads, or NULL. */
struct harness_sm *
harness_master(struct harness_run *r);
/* A reign begins, or forgets: whoever is not there is not known. */
void
harness_reign(struct harness_run *r, unsigned leader);
/* Let time pass, or until `flag` (may be NULL) is set. */
bool
harness_wait(struct harness_run *r, monotime time, const bool *flag);

/* ---- Faults: harness_fault.c ---- */

/* Let it happen. False: there is nothing that it could happen to. */
bool
harness_inject(struct harness_run *r, const struct harness_fault *f);
/* All that misbehaves stops; what is broken stays broken, unless `all`. */
void
harness_calm(struct harness_run *r, bool all);

/* ---- While tables change: harness_judge.c ---- */

void
harness_judge_new(struct harness_run *r);
void
harness_judge_free(struct harness_run *r);
/* A plan was published: hosts are told its service levels. */
void
harness_judge_plan(struct harness_run *r, const struct plan *p, unsigned sm);
/* Tables or links may have changed: is there any circle? `rest`: they are as they will be. */
void
harness_judge_look(struct harness_run *r, bool rest);
/* The manager does not know any more what it told: not until it tells something. */
void
harness_judge_forget(struct harness_run *r);
/* A host is elsewhere: no connection of before is left to it. */
void
harness_judge_moved(struct harness_run *r, uint32_t node);
/* Managers were led by wrong answers, or two led: not until the next rest. */
void
harness_judge_suspend(struct harness_run *r);
void
harness_judge_resume(struct harness_run *r);
/* What packets of every pair of hosts meet on each level that the plan tells; a sentence, or "". */
void
harness_judge_pairs(struct harness_run *r, const struct subnet *s, char *why, size_t size);
/* A packet gets from a host to another on this service level now. */
bool
harness_judge_arrives(const struct harness_run *r, uint32_t from, uint32_t to, uint16_t lid,
		      unsigned sl);

/* ---- Adaptive routing: harness_adaptive.c ---- */

/* Which switches can do it, before a manager starts. */
void
harness_adaptive_begin(struct harness_run *r);
/* A manager sends a MAD: is it the one awaited? */
void
harness_adaptive_out(struct harness_run *r, struct harness_sm *h, const struct port_mad *m);
/* Faults of HARNESS_AR_*, at the switch that the last such MAD went to, or at any. */
bool
harness_adaptive_fault(struct harness_run *r, const struct harness_fault *f);
/* True: it has said that it knows nothing of it. */
bool
harness_adaptive_calm(struct harness_run *r, uint32_t node);
/* At rest: managers know who is on, and those switches hold the plan's groups and entries. */
void
harness_adaptive_check(struct harness_run *r, const struct harness_sm *h, char *why, size_t size);
/* At the end: all that can are on. */
void
harness_adaptive_rest(struct harness_run *r);

/* ---- Clients: harness_client.c ---- */

void
harness_clients_new(struct harness_run *r);
void
harness_clients_free(struct harness_run *r);
bool
harness_client_ask(struct harness_run *r, unsigned client, enum harness_kind kind, uint32_t what);
/* One MAD from its port. */
void
harness_client_send(struct harness_run *r, unsigned client, const struct port_mad *m);
/* Those who were asked to, or whose port came up again, register again; all is to be acknowledged,
 * and to be there. */
void
harness_clients_rest(struct harness_run *r);

/* ---- Their questions while things fail: harness_query.c ---- */

void
harness_queries_new(struct harness_run *r);
void
harness_queries_free(struct harness_run *r);
/* All that wait for no answer ask for a path, if they can be heard. */
void
harness_query_ask(struct harness_run *r);
/* False: this is no answer to a question. */
bool
harness_query_answered(struct harness_run *r, unsigned client, const struct sa_header *h,
		       const uint8_t *mad);
bool
harness_query_is_answer(const struct port_mad *m);

/* ---- At rest: harness_rest.c ---- */

/* Wait until all is well, and see that it stays so; `last`: nothing is broken, and for long. */
void
harness_rest(struct harness_run *r, bool last);

/* Until all is well, and until nothing more is written; or that is wrong. */
void
harness_settle(struct harness_run *r);
void
harness_silence(struct harness_run *r);

/* ---- What is written: harness_frugal.c ---- */

/* When all is mended: single faults, and how much is written for each. */
void
harness_frugal(struct harness_run *r);

#endif
