/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_PARTITION_I_H
#define CORE_PARTITION_I_H

#include "partitions/change.h"
#include "partitions/compile.h"
#include "sm/core/subnet.h"

/*
 * Partitions of a subnet, between partition.c (the policy in force, and its way into plans),
 * part_store.c (what commands left), part_change.c (commands) and push_pkeys.c (what devices are
 * given).
 */

/* What commands said: partitions, each with its members. */
struct part_rows {
	struct part_row *list;	/* names and members are owned */
	uint32_t len;
};

/* A policy being made and compiled; the worker's between partition_job_new() and its callback. */
struct partition_job {
	struct subnet *s;		/* a job by itself: NULL: the subnet is gone */
	const struct config *conf;	/* reference held */
	char subnet[32];		/* its name */
	struct part_rows rows;		/* a copy, with the change that is asked for */
	struct pins *pins;		/* likewise */
	const char *changed;	/* the only partition that the command touches, owned; NULL: more */
	const char *apply;		/* see policy_input; the command's, owned; NULL */
	const struct fabric *fabric;	/* reference held */
	struct policy *policy;		/* in force; the new one if it is made anew; reference
					 * held */
	bool rebuild;			/* it is to be made anew */
	bool rebuilt;			/* it was */
	uint64_t names;			/* hash of the nodes' names that it was made with */
	struct pkeys_held *held;	/* by port of the fabric */
	uint16_t *held_keys;		/* what these point into */
	struct pkeys_alias *aliases;	/* and their number */
	uint32_t naliases;
	struct plan_pkeys *before;	/* of the published plan; reference held, NULL */
	struct pkeys_base base;		/* .pkeys is `before`, references held; NULL: all ports
					 * are compiled, and `held` tells what they hold */
	struct pkeys_report base_report;	/* of it */
	uint32_t *differ;		/* ports whose table or enforcement is not that of `before`
					 * any more, in ascending order; NULL: there was none */
	uint32_t ndiffer;
	bool compare;			/* `outcome` is asked for */
	struct partition_report outcome;	/* what it does or would do; list is owned */
	struct plan_pkeys *pkeys;	/* the result; NULL: none, see `why` */
	struct pkeys_report report;	/* of it */
	int error;			/* of the policy */
	struct error why;
	bool change;			/* for the command that waits */
};

struct partitions {
	const struct config *conf;	/* reference held; NULL: none was set */
	struct policy *policy;		/* in force; NULL: nobody says anything of partitions */
	struct pins *pins;		/* what names were found to mean */
	struct pins *rule_pins;		/* the same of rules of quality of service */
	uint64_t names;			/* hash of the names of nodes that it was made with */
	struct part_rows rows;		/* what commands said */
	bool due;			/* P_Keys are to be compiled, without routing */
	bool rebuild;			/* and the policy is to be made anew before */
	bool ours;			/* we wrote P_Keys once: silence means the default alone */
	struct partition_job *job;	/* by itself, at the worker; NULL */
	struct pkeys_report report;	/* of the P_Keys in force */
	uint32_t no_mlid;		/* multicast groups that there is no LID for */
	uint32_t astray;		/* whose packets are dropped, by their service level */
	char astray_name[64];		/* one of them */
	struct {			/* and what they were compiled of */
		struct plan_pkeys *pkeys;	/* reference held; NULL: nothing was */
		const struct fabric *fabric;	/* reference held */
		struct pkeys_alias *aliases;	/* owned */
		uint32_t naliases;
	} compiled;
	struct {			/* what is being pushed, to be told when it is in */
		bool on;
		char name[PART_NAME_MAX + 1];	/* of the partition; "": several, perhaps */
		struct partition_report outcome;	/* without its list */
	} told;
	unsigned passed;		/* sweeps that went before what is due or asked for */
	char refused[500];		/* why what is said is not in force; "" */
	struct plan_pkeys *written;	/* devices hold all of this; reference held, NULL */
	uint64_t written_changed;	/* tables.pkeys_changed then */
	struct {
		partition_done_fn done;	/* NULL: no command */
		void *arg;
		struct partition_change *c;	/* owned copy */
		struct partition_report report;	/* the outcome */
		struct part_rows rows;	/* what commands will have said */
		struct part_commit *commit;	/* the store is at it; NULL: not, or it has ended */
		bool running;		/* it is in the job, or in the push */
		bool pushed;		/* devices have it */
		int error;		/* of the store */
	} command;
};

struct subnet;

/* partition.c */
void
partitions_init(struct subnet *s);
void
partitions_free(struct subnet *s);
/* What was configured, left by commands, or the names that it is about have changed. */
void
partitions_changed(struct subnet *s);
/* Nodes have other names in the published snapshot. */
void
partitions_renamed(struct subnet *s);
/* Ports have other alias GUIDs; partitions_start() follows. */
void
partitions_aliased(struct subnet *s);
/* P_Keys for this snapshot, to be compiled by a worker, with what the command asks for if it is a
 * `change`; else NULL where nobody says anything. It takes over what is due. */
struct partition_job *
partition_job_new(struct subnet *s, const struct fabric *f, bool change);
/* Any thread. */
void
partition_job_run(struct partition_job *j);
/* It is in force: its plan is published. Frees the job; NULL is allowed. */
void
partition_job_adopt(struct subnet *s, struct partition_job *j);
/* It is not, and what was due is due again (unless it is a rehearsal's). */
void
partition_job_drop(struct subnet *s, struct partition_job *j, bool again);
/* Nothing is under way: compile what is due, or what a command asks for. A sweep that is wanted
 * comes first, but only once. True: that is under way, and ends in a push. */
bool
partitions_start(struct subnet *s);
/* A sweep begins: whatever waits for its turn has been passed by once more. */
void
partitions_passed(struct subnet *s);
/* A push has ended. */
void
partitions_pushed(struct subnet *s);
/* What the push that has ended was for, as an event; false: it was not for partitions alone. */
bool
partitions_tell(struct subnet *s);
/* Let go of what is under way. */
void
partitions_cancel(struct subnet *s);

/* part_groups.c: a plan was published, or other partitions are in force. True: members of groups
 * know them otherwise than they are now. */
bool
part_groups_set(struct subnet *s);

/* part_store.c */
void
part_rows_copy(struct part_rows *to, const struct part_rows *from);
void
part_rows_free(struct part_rows *r);
struct part_row *
part_rows_find(const struct part_rows *r, const char *name);
struct part_row *
part_rows_add(struct part_rows *r, const char *name, uint16_t pkey);
void
part_rows_remove(struct part_rows *r, const char *name);
void
part_row_set(struct part_row *r, const struct part_member *m);
/* False: there is no such member. */
bool
part_row_unset(struct part_row *r, uint64_t guid);
void
part_store_load(struct subnet *s);
/* A row that another manager changed (value NULL: deleted). */
void
part_store_take(struct subnet *s, const char *key, const char *value);
/* Put the difference of one partition's rows to the store; to be committed. NULL: there is none. */
void
part_store_row(struct subnet *s, const struct part_row *from, const struct part_row *to);
void
part_store_pins(struct subnet *s, const char *kind, const struct pins *from,
		const struct pins *to);

/* part_change.c */
/* What the job's P_Keys do to ports, if that is asked for. Any thread. */
void
part_change_compare(struct partition_job *j);
/* The job that the command asked for is back. True: it goes on, and its P_Keys are to be pushed. */
bool
part_change_made(struct subnet *s, struct partition_job *j);
void
part_change_answer(struct subnet *s, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* What commands will have said, if the one that waits may begin: into the job. */
void
part_change_begin(struct subnet *s, struct partition_job *j);
/* Its P_Keys were pushed. */
void
part_change_pushed(struct subnet *s);

#endif
