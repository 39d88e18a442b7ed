/* SPDX-License-Identifier: BSD-2-Clause */
#include "gateway/control.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "sm/base/buf.h"
#include "sm/base/frame.h"
#include "sm/base/list.h"
#include "sm/base/log.h"
#include "sm/base/mem.h"

/*
 * Links to the daemon. A link has one question under way, as the protocol wants it; questions wait
 * in one queue, in their order, but that no change overtakes or accompanies another. Links are made
 * when a question finds none idle and kept; nothing is tried again by itself while the daemon is
 * away: each question that comes tries, and is told at once.
 *
 * The daemon closes links that are idle for minutes, and all when it ends. A question that was sent
 * on an old link just then is asked once more on a new one: all that is asked here may be asked
 * twice, for whatever is so already is no error.
 *
 * Everything that ends a question goes through question_end(), which is called from the loop only
 * and never inside control_ask().
 */
#define LINKS 4u
#define READ_SIZE 65536u

struct link;

struct question {
	struct list list;		/* in the queue, or in none */
	struct control *control;
	char *line;			/* owned, with its end */
	size_t len;			/* with its end */
	bool change;
	bool again;			/* it was sent once, and lost with its link */
	struct loop_timer *timer;	/* patience */
	struct link *link;		/* that it is under way on; NULL */
	control_done done;
	void *arg;
};

struct link {
	struct control *control;
	int fd;				/* -1: there is none */
	struct loop_fd *watch;
	bool greeted;			/* the daemon has said hello */
	struct question *q;		/* under way; NULL: idle */
	size_t sent;			/* bytes of it */
	struct buf in;			/* received */
	size_t scanned;			/* bytes of it without an end of line */
};

struct control {
	struct loop *loop;		/* borrowed */
	char *path;			/* owned */
	char version[32];		/* of the daemon */
	struct link links[LINKS];
	struct list queue;		/* of struct question */
	struct loop_timer *turn;	/* hands questions to links */
	bool changing;			/* a change is under way */
};

/* ---- Questions ---- */

static void
question_free(struct question *q)
{
	list_remove(&q->list);
	loop_timer_free(q->timer);
	mem_free(q->line);
	mem_free(q);
}

static void
question_end(struct question *q, enum control_outcome outcome, struct buf *text)
{
	struct control *c = q->control;
	control_done done = q->done;
	void *arg = q->arg;

	if (q->link) {
		q->link->q = NULL;
		c->changing = c->changing && !q->change;
	}
	question_free(q);
	loop_timer_set(c->turn, 0);
	done(arg, outcome, text);
	buf_free(text);
}

static void
question_fail(struct question *q, enum control_outcome outcome, const char *sentence)
{
	struct buf text = { 0 };

	buf_str(&text, sentence);
	question_end(q, outcome, &text);
}

/* ---- Links ---- */

static void
link_close(struct link *l)
{
	loop_fd_free(l->watch);
	if (l->fd >= 0)
		close(l->fd);
	buf_free(&l->in);
	*l = (struct link){ .control = l->control, .fd = -1, .q = l->q };
}

/* What was under way is asked once more, first of all. */
static void
link_lost(struct link *l, const char *sentence)
{
	struct question *q = l->q;
	bool old = l->greeted;

	link_close(l);
	if (!q)
		return;
	if (q->again || !old) {
		question_fail(q, CONTROL_AWAY, sentence);
		return;
	}
	q->again = true;
	q->link = NULL;
	l->q = NULL;
	l->control->changing = l->control->changing && !q->change;
	list_prepend(&l->control->queue, &q->list);
	loop_timer_set(l->control->turn, 0);
}

static void
link_wrong(struct link *l, const char *sentence)
{
	struct question *q = l->q;

	log_warning("control socket %s: %s", l->control->path, sentence);
	link_close(l);
	if (q)
		question_fail(q, CONTROL_WRONG, sentence);
}

static void
link_write(struct link *l)
{
	while (l->greeted && l->q && l->sent < l->q->len) {
		ssize_t n = send(l->fd, l->q->line + l->sent, l->q->len - l->sent,
				 MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			break;	/* that it is closed is found out by reading */
		l->sent += (size_t)n;
	}
	loop_fd_set(l->watch, l->greeted && l->q && l->sent < l->q->len ?
		    LOOP_READ | LOOP_WRITE : LOOP_READ);
}

/* The first line: {"weft":1,"version":"0.1.0"}. */
static void
take_hello(struct link *l, const char *line, size_t len)
{
	json_t *hello = json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL);
	const char *version = json_string_value(json_object_get(hello, "version"));
	bool good = json_integer_value(json_object_get(hello, "weft")) == FRAME_PROTOCOL;

	if (good && version)
		snprintf(l->control->version, sizeof(l->control->version), "%s", version);
	json_decref(hello);
	l->greeted = good;
	if (!good)
		link_wrong(l, "what listens there does not speak this version of the control "
			   "protocol");
}

/* A line is there. It is the caller of done() who looks into an answer. */
static void
take_line(struct link *l, size_t len)
{
	struct buf line = l->in;

	if (!l->greeted) {
		take_hello(l, l->in.data, len);
		if (l->fd >= 0) {
			buf_consume(&l->in, len + 1);
			l->scanned = 0;
		}
		return;
	}
	if (!l->q || l->sent < l->q->len || line.len != len + 1) {
		/* Too many clients: the daemon says so and goes. */
		link_lost(l, "the daemon closed the connection");
		return;
	}
	l->in = (struct buf){ 0 };
	l->scanned = 0;
	question_end(l->q, CONTROL_ANSWERED, &line);
}

static void
link_take(struct link *l)
{
	const char *end = l->in.len > l->scanned ?
		memchr(l->in.data + l->scanned, '\n', l->in.len - l->scanned) : NULL;

	l->scanned = l->in.len;
	if (end)
		take_line(l, (size_t)(end - l->in.data));
	else if (l->in.len > CONTROL_ANSWER_MAX)
		link_wrong(l, "the daemon's answer is longer than 64 MB");
}

static void
on_link(void *arg, int fd, unsigned events)
{
	struct link *l = arg;
	char bytes[READ_SIZE];
	ssize_t n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	(void)events;
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) {
		link_lost(l, "the daemon closed the connection");
		return;
	}
	if (n > 0) {
		buf_add(&l->in, bytes, (size_t)n);
		link_take(l);
	}
	if (l->fd >= 0)
		link_write(l);
}

/* 0, or the errno of why not. Of a local socket it is known at once. */
static int
link_open(struct link *l)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int error;

	snprintf(sa.sun_path, sizeof(sa.sun_path), "%s", l->control->path);
	l->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (l->fd < 0)
		return errno;
	if (connect(l->fd, (const struct sockaddr *)&sa, sizeof(sa)) ||
	    !(l->watch = loop_fd_new(l->control->loop, l->fd, on_link, l))) {
		error = errno ? errno : ENOMEM;
		link_close(l);
		return error;
	}
	loop_fd_set(l->watch, LOOP_READ);
	return 0;
}

/* ---- The queue ---- */

/* An idle link, open ones first; NULL: all are at work. */
static struct link *
free_link(struct control *c)
{
	struct link *found = NULL;

	for (unsigned i = 0; i < LINKS; i++) {
		struct link *l = &c->links[i];

		if (!l->q && (!found || (l->fd >= 0 && found->fd < 0)))
			found = l;
	}
	return found;
}

static void
start(struct link *l, struct question *q)
{
	struct control *c = l->control;
	char text[200];
	int error = 0;

	list_remove(&q->list);
	l->q = q;
	q->link = l;
	l->sent = 0;
	c->changing = c->changing || q->change;
	if (l->fd < 0)
		error = link_open(l);
	if (!error) {
		link_write(l);
		return;
	}
	snprintf(text, sizeof(text), error == EACCES || error == EPERM ?
		 "the gateway's user may not use the daemon's socket %.100s: %s" :
		 "no daemon on %.100s: %s", c->path, strerror(error));
	question_fail(q, CONTROL_AWAY, text);
}

/* Callbacks of what fails may ask again, so the queue is looked at from its start after each. */
static bool
start_one(struct control *c)
{
	struct link *l = free_link(c);

	list_each(it, &c->queue) {
		struct question *q = list_entry(it, struct question, list);

		if (l && !(q->change && c->changing)) {
			start(l, q);
			return true;
		}
	}
	return false;
}

static void
on_turn(void *arg)
{
	while (start_one(arg))
		;
}

/* The link that it is under way on cannot be used for another: its answer is still to come. */
static void
on_patience(void *arg)
{
	struct question *q = arg;

	if (q->link)
		link_close(q->link);
	question_fail(q, CONTROL_LATE, "the daemon did not answer in time");
}

void
control_ask(struct control *c, const char *line, bool change, monotime patience, control_done done,
	    void *arg)
{
	struct question *q = mem_zalloc(sizeof(*q));

	q->control = c;
	q->len = strlen(line) + 1;
	q->line = mem_alloc(q->len);
	memcpy(q->line, line, q->len - 1);
	q->line[q->len - 1] = '\n';
	q->change = change;
	q->done = done;
	q->arg = arg;
	q->timer = loop_timer_new(c->loop, on_patience, q);
	loop_timer_set(q->timer, patience);
	list_append(&c->queue, &q->list);
	loop_timer_set(c->turn, 0);
}

const char *
control_version(const struct control *c)
{
	return c->version;
}

struct control *
control_new(struct loop *l, const char *path)
{
	struct control *c = mem_zalloc(sizeof(*c));

	c->loop = l;
	c->path = mem_strdup(path);
	list_init(&c->queue);
	for (unsigned i = 0; i < LINKS; i++)
		c->links[i] = (struct link){ .control = c, .fd = -1 };
	c->turn = loop_timer_new(l, on_turn, c);
	return c;
}

void
control_free(struct control *c)
{
	struct list *it;

	if (!c)
		return;
	for (unsigned i = 0; i < LINKS; i++) {
		if (c->links[i].q)
			question_free(c->links[i].q);
		link_close(&c->links[i]);
	}
	while ((it = list_pop(&c->queue)))
		question_free(list_entry(it, struct question, list));
	loop_timer_free(c->turn);
	mem_free(c->path);
	mem_free(c);
}
