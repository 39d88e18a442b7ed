/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef STORE_ETCD_I_H
#define STORE_ETCD_I_H

#include <pthread.h>
#include "sm/base/clock.h"
#include "sm/store/etcd_client.h"
#include "sm/store/etcd_diff.h"
#include "sm/store/etcd_unsent.h"

/* The inside of the store that managers share: commits are store_etcd.c's, what is said to etcd and
 * what follows is etcd_sync.c's. */
#define SUBNETS 64

/* What is under way. */
enum step {
	STEP_REST,
	STEP_POLL,		/* the writer is read */
	STEP_FOLLOW,		/* a watch brings what has changed */
	STEP_READ,		/* everything is read, page by page */
	STEP_COMPARE,		/* and compared, by a worker */
	STEP_JUDGE,		/* and what differs is decided on, in slices */
	STEP_SEND,		/* a transaction */
};

/* What is known of etcd; in the file, too. */
struct known {
	uint64_t cluster;	/* its id; 0: it was never seen */
	uint64_t epoch;		/* of its content */
	uint64_t revision;	/* of the writer's last change that we have; 0: none */
};

/* A commit that was not called back yet. */
struct waiting {
	struct list link;	/* in `commits` */
	struct etcd_store *e;
	store_done_fn fn;	/* may be NULL */
	void *arg;		/* for fn */
	uint64_t no;		/* of its shared rows; 0: it has none */
	monotime until;		/* it does not wait for etcd any longer */
	bool local;		/* the file has it, or failed */
	int error;		/* that did */
	char why[300];		/* of that */
};

/* The worker's part of a comparison. */
struct compare_job {
	struct etcd_store *e;	/* NULL: the store is closed */
	pthread_mutex_t lock;	/* of `file` */
	struct store *file;	/* NULL: likewise */
	struct etcd_diff diff;	/* the outcome */
	int error;		/* the file cannot be read */
};

struct etcd_store {
	struct store store;	/* common part; first */
	struct store *file;	/* this host's */
	struct etcd_client *client;
	struct store_follower follower;
	char *prefix;		/* "/weft/SITE/" */
	char *writer;		/* key of who wrote last */
	char state_key[300];	/* of what is known, in the file */
	monotime patience;	/* of a commit */
	uint64_t manager;	/* who we are: a random number */
	uint64_t txns;		/* tried so far */
	uint64_t commits_no;	/* so far */
	struct list commits;	/* struct waiting, oldest first */
	struct loop_timer *release;	/* the first one's patience ends */
	struct loop_timer *timer;	/* the next poll, or slice */
	struct etcd_unsent unsent;
	struct known known;
	enum step step;
	struct {
		uint64_t no;	/* of the transaction under way */
		uint64_t epoch;	/* that it writes */
	} sent;
	struct {
		enum etcd_meeting meeting;
		uint64_t revision;	/* everything is read as of this one */
		struct known found;	/* and this is known then */
		struct etcd_diff diff;
		struct compare_job *job;	/* at the worker; NULL */
		unsigned at;		/* so many were decided on */
	} look;
	uint64_t filling;	/* the epoch that etcd is to get when it is filled; 0: it is not */
	bool warned;		/* of another etcd */
	bool waits;		/* for the leader to fill it */
	char led[SUBNETS][32];	/* subnets that we lead */
	unsigned nled;
	bool touch;		/* etcd answers, we know all it has, and it has had all of ours */
	bool behind;		/* something was called back that it has not */
	bool away;		/* it does not answer */
	bool reached;		/* it has answered in this run */
	bool hurry;		/* poll at once */
	int64_t since;		/* wall: `away` */
	char why[300];		/* not safe */
};

/* store_etcd.c */
/* Call back what need not wait any longer. */
void
etcd_release(void *etcd_store);

/* etcd_sync.c */
/* The timer: the next thing that is to be done. */
void
etcd_go_on(void *etcd_store);
/* What the file knows of etcd: a row of STORE_META. */
void
etcd_load_known(void *etcd_store, const char *key, const char *value);

#endif
