/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GATEWAY_CONTROL_H
#define GATEWAY_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include "sm/base/buf.h"
#include "sm/base/clock.h"
#include "sm/base/loop.h"

/*
 * A client of the daemon's control socket (sm/base/frame.h) that waits for nothing: requests are
 * queued, several connections take them, and the answer, a line of JSON, comes by a callback.
 */
struct control;

enum control_outcome {
	CONTROL_ANSWERED,
	CONTROL_AWAY,		/* there is no daemon, or it went before it answered */
	CONTROL_LATE,		/* no answer in time; a change may be done nevertheless */
	CONTROL_WRONG,		/* what listens there speaks no such protocol, or too much */
};

/* `text` holds the line of an answer, with its end, or a sentence. It may be taken away, for it may
 * be long; what is left of it is freed after the call. */
typedef void (*control_done)(void *arg, enum control_outcome outcome, struct buf *text);

#define CONTROL_ANSWER_MAX (64u << 20)	/* bytes of an answer */

struct control *
control_new(struct loop *l, const char *path);
/* Requests that wait are dropped without a callback. */
void
control_free(struct control *c);	/* NULL is allowed */

/*
 * Ask: `line` is a request without its end, shorter than FRAME_MAX_REQUEST. Changes are asked for
 * one at a time, for the daemon does one at a time. done() comes once, never within the call.
 */
void
control_ask(struct control *c, const char *line, bool change, monotime patience, control_done done,
	    void *arg);
/* The daemon's version, as it said last; "" before it did. */
const char *
control_version(const struct control *c);

#endif
