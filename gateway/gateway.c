/* SPDX-License-Identifier: BSD-2-Clause */
#include "gateway/gateway.h"

#include <stdio.h>
#include <string.h>
#include "gateway/ufm.h"
#include "sm/base/log.h"
#include "sm/base/mem.h"

/*
 * A request from the moment that it was received whole: credentials are checked before anything is
 * said of what there is, then its URL and body become a command, the daemon is asked, and its
 * answer becomes ours. Long answers are made by the worker, for they may list a hundred thousand
 * GUIDs.
 *
 * While the daemon is at another change than ours it says that it is busy, and so it does when it
 * is standby or not up yet. It is asked again for a few seconds, and then the client is told, who
 * may know of another one. A request belongs to its exchange and goes with the answer.
 */
#define AGAIN MSEC(20)
#define AGAIN_LIMIT SEC(5)

struct request {
	struct gateway *gateway;
	struct exchange *x;
	char user[64];
	struct ufm_call call;
	struct buf command;		/* for the daemon */
	struct loop_timer *timer;	/* to ask again; NULL */
	monotime until;			/* patience */
	monotime again_until;		/* with a daemon that is busy; 0: it was not */
	struct buf line;		/* the daemon's answer, of a list: the worker's */
	char version[32];		/* of the daemon */
	struct buf body;		/* of ours */
	bool busy;			/* it may be asked again */
	int status;			/* of ours */
	struct error e;			/* its sentence */
};

static void
request_free(struct request *r)
{
	loop_timer_free(r->timer);
	buf_free(&r->command);
	buf_free(&r->line);
	buf_free(&r->body);
	mem_free(r);
}

static void
request_refuse(struct request *r, int status, const char *more, const char *sentence)
{
	exchange_refuse(r->x, status, more, sentence);
	request_free(r);
}

/* Of somebody who has not shown who he is. */
static void
request_dismiss(struct request *r, int status, const char *more, const char *sentence)
{
	exchange_dismiss(r->x, status, more, sentence);
	request_free(r);
}

static void
request_answer(struct request *r)
{
	if (r->status == 200) {
		exchange_answer(r->x, r->status, &r->body, "");
		request_free(r);
		return;
	}
	request_refuse(r, r->status, r->status == 503 ? "Retry-After: 1\r\n" : "", r->e.text);
}

/* ---- The daemon ---- */

static void
on_answer(void *arg, enum control_outcome outcome, struct buf *text);

static void
ask(void *arg)
{
	struct request *r = arg;

	control_ask(r->gateway->control, r->command.data, r->call.change,
		    r->until - loop_now(r->gateway->loop), on_answer, r);
}

static void
make_answer(void *arg)
{
	struct request *r = arg;

	r->status = ufm_answer(&r->call, r->line.data, r->line.len, r->version, &r->body, &r->busy,
			       &r->e);
}

static void
answer_made(void *arg)
{
	struct request *r = arg;
	monotime now = loop_now(r->gateway->loop);

	if (!r->again_until)
		r->again_until = now + AGAIN_LIMIT < r->until ? now + AGAIN_LIMIT : r->until;
	if (!r->busy || now + AGAIN >= r->again_until) {
		request_answer(r);
		return;
	}
	buf_clear(&r->body);
	buf_free(&r->line);
	if (!r->timer)
		r->timer = loop_timer_new(r->gateway->loop, ask, r);
	loop_timer_set(r->timer, AGAIN);
}

static void
on_answer(void *arg, enum control_outcome outcome, struct buf *text)
{
	struct request *r = arg;

	if (outcome != CONTROL_ANSWERED) {
		bool away = outcome == CONTROL_AWAY;

		request_refuse(r, away ? 503 : outcome == CONTROL_LATE ? 504 : 502,
			       away ? "Retry-After: 1\r\n" : "", text->data);
		return;
	}
	r->line = *text;
	*text = (struct buf){ 0 };
	snprintf(r->version, sizeof(r->version), "%s", control_version(r->gateway->control));
	if (r->call.kind == UFM_LIST) {
		loop_work(r->gateway->loop, make_answer, answer_made, r, MSEC(1));
		return;
	}
	make_answer(r);
	answer_made(r);
}

/* ---- The client ---- */

static void
route(struct request *r, bool read_only)
{
	const struct http_head *head = &r->x->head;
	const char *allow;
	char more[64] = "";
	int rc;

	rc = ufm_route(head->method, head->path, head->query, &r->call, &allow, &r->e);
	if (rc == 405)
		snprintf(more, sizeof(more), "Allow: %s\r\n", allow);
	if (!rc && r->call.change && read_only) {
		rc = 403;
		error_set(&r->e, ERR_REFUSED, "%s may read only", r->user);
	}
	if (!rc)
		rc = ufm_command(&r->call, r->x->body.data, r->x->body.len, r->gateway->subnet,
				 &r->command, &r->e);
	if (rc) {
		request_refuse(r, rc, more, r->e.text);
		return;
	}
	r->until = loop_now(r->gateway->loop) + r->gateway->patience;
	ask(r);
}

static void
on_verdict(void *arg, const struct auth_outcome *outcome)
{
	struct request *r = arg;

	if (outcome->verdict == AUTH_GRANTED) {
		snprintf(r->user, sizeof(r->user), "%s", outcome->name ? outcome->name : "-");
		r->x->user = r->user;
		route(r, outcome->read_only);
	} else if (outcome->verdict == AUTH_BUSY) {
		request_dismiss(r, 503, "Retry-After: 1\r\n",
				"too many passwords are being checked");
	} else {
		log_limited(&r->gateway->limit, LOG_L_WARNING, "%s: %s", r->x->from,
			    r->x->head.authorization[0] ? "wrong credentials" : "no credentials");
		request_dismiss(r, 401, "WWW-Authenticate: Basic realm=\"weft\", "
				"charset=\"UTF-8\"\r\n"
				"WWW-Authenticate: Bearer realm=\"weft\"\r\n",
				"this needs the name and password, or the token, of a user");
	}
}

void
gateway_handle(void *arg, struct exchange *x)
{
	struct gateway *g = arg;
	struct request *r = mem_zalloc(sizeof(*r));

	r->gateway = g;
	r->x = x;
	auth_check(g->auth, x->head.authorization, on_verdict, r);
}
