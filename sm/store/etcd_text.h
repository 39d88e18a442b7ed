/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef STORE_ETCD_TEXT_H
#define STORE_ETCD_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include "sm/base/buf.h"
#include "sm/base/mem.h"

/*
 * What is said to etcd and what it answers, by the JSON gateway of its v3 API: requests as text,
 * and any answer as one plain struct. Keys and values are base64 there, 64-bit numbers are strings,
 * and what is zero is left out.
 */

/* An answer is refused from this size on. */
#define ETCD_ANSWER_MAX (16u << 20)

/* Codes of errors that mean something to us (those of gRPC). */
enum etcd_code {
	ETCD_OUT_OF_RANGE = 11,		/* the revision was compacted */
	ETCD_UNAUTHENTICATED = 16,	/* the token is not valid any more */
};

/* A row, or the change of one. */
struct etcd_row {
	const char *key;	/* text without NUL; in the answer's region */
	const char *value;	/* NULL: it was deleted */
	uint64_t revision;	/* of its last change */
};

struct etcd_answer {
	struct region *region;	/* owns the texts */
	uint64_t cluster;	/* cluster_id; 0: the answer has no header */
	uint64_t revision;	/* of the whole of etcd */
	bool succeeded;		/* of a txn: its comparisons held */
	bool more;		/* of a range: there are more rows */
	bool canceled;		/* of a watch: it has ended */
	uint64_t compacted;	/* and begins before this revision; 0 */
	const char *token;	/* of an authentication; NULL */
	struct etcd_row *rows;	/* of ranges, or what a watch tells, in order */
	unsigned len;		/* how many */
	unsigned skipped;	/* rows whose key or value is no text, or that lack one */
	unsigned code;		/* of an error, an enum etcd_code or another; 0: none */
	const char *error;	/* what it says; NULL */
};

/* False: it is no answer of etcd; a->error says why. In both cases region_free(a->region). */
bool
etcd_read(struct etcd_answer *a, const char *text, size_t size);

/* Requests. A range or watch goes over all keys that begin with `prefix`. */
void
etcd_write_get(struct buf *out, const char *key);
/* Rows from `from` on, which begins with the prefix, as of a revision (0: now). */
void
etcd_write_range(struct buf *out, const char *prefix, const char *from, unsigned limit,
		 uint64_t revision);
void
etcd_write_watch(struct buf *out, const char *prefix, uint64_t from_revision);
void
etcd_write_login(struct buf *out, const char *user, const char *password);
/*
 * A transaction that holds only if the last change of `key` was at `revision` (0: there is no such
 * key), and that otherwise reads that key: begin, put and delete in turn, end.
 */
void
etcd_write_txn_begin(struct buf *out, const char *key, uint64_t revision);
void
etcd_write_txn_put(struct buf *out, const char *key, const char *value);
void
etcd_write_txn_delete(struct buf *out, const char *key);
void
etcd_write_txn_end(struct buf *out, const char *key);

#endif
