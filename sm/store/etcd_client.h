/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef STORE_ETCD_CLIENT_H
#define STORE_ETCD_CLIENT_H

#include "sm/base/error.h"
#include "sm/base/loop.h"
#include "sm/store/etcd_text.h"
#include "sm/store/store.h"

/*
 * Requests to etcd from the loop, answered on the loop; all network I/O is on a thread of the
 * client's own. One request is under way at a time. It goes to the endpoint that answered last;
 * each part of the time-out that passes without an answer, and each error, asks one more beside
 * it, and the first good answer counts. So a request may be carried out twice and late: whoever
 * makes one that changes something has to allow for that (store_etcd.c).
 */
struct etcd_client;

enum etcd_call {
	ETCD_RANGE,
	ETCD_TXN,
	ETCD_WATCH,	/* answered when a change at or behind `until` has come, or the watch is
			 * canceled */
};

struct etcd_reply {
	struct etcd_answer *answers;	/* one, or the messages of a watch in order */
	unsigned len;			/* 0: failed */
	int error;			/* 0 or a code */
	char why[300];			/* of an error: a sentence about the last endpoint */
};

/* The reply and all in it are gone when this returns. */
typedef void (*etcd_reply_fn)(void *arg, const struct etcd_reply *r);

/* Starts the thread; the options are copied. */
struct etcd_client *
etcd_client_new(struct loop *l, const struct store_etcd *o, struct error *e);
/* What is under way is dropped without an answer. NULL is allowed. */
void
etcd_client_free(struct etcd_client *c);
/* Takes over `body`. None may be under way. */
void
etcd_ask(struct etcd_client *c, enum etcd_call call, struct buf *body, uint64_t until,
	 etcd_reply_fn fn, void *arg);
/* How an endpoint did when it was asked last; false: there are no more. */
bool
etcd_client_endpoint(struct etcd_client *c, unsigned i, struct store_endpoint *ep);

#endif
