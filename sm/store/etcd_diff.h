/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef STORE_ETCD_DIFF_H
#define STORE_ETCD_DIFF_H

#include "sm/store/store_impl.h"

/*
 * All rows of etcd held against all shared ones of the file, when a look at what changed since is
 * not to be had: which differ, and which of the two is right.
 */
enum etcd_meeting {
	ETCD_MEET_FIRST,	/* this manager has never known this etcd */
	ETCD_MEET_OTHER,	/* it is not the one that it was: wiped, restored, filled anew */
	ETCD_MEET_SAME,		/* it is, but what changed since is compacted there */
};

enum etcd_verdict {
	ETCD_KEEP,		/* nothing is to be done */
	ETCD_TAKE,		/* the file gets what etcd has */
	ETCD_SEND,		/* etcd gets what the file has */
};

/* Who is right about a row: of etcd (NULL: none there), of the file (likewise). `leads`: this
 * manager leads the row's subnet. `unsent`: it changed the row and etcd has not got that. */
enum etcd_verdict
etcd_judge(enum etcd_meeting meeting, bool leads, bool unsent, const char *there,
	   const char *here);

struct etcd_diff_row {
	const char *key;	/* "TABLE/KEY" */
	const char *there;	/* value in etcd; NULL: none */
	const char *here;	/* value in the file; NULL: none */
};

struct etcd_diff {
	struct region *region;	/* owns all texts */
	struct etcd_diff_row *rows;	/* by key; at first those of etcd alone */
	unsigned len;
	unsigned size;		/* allocated */
};

/* A row of etcd; copies are made. */
void
diff_add(struct etcd_diff *d, const char *key, const char *value);
/* Add those of the file, and keep what differs. Not for the memory store in another thread. */
int
diff_make(struct etcd_diff *d, struct store *file, struct error *e);
void
diff_clear(struct etcd_diff *d);

#endif
