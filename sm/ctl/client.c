/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/ctl/client.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "sm/base/frame.h"
#include "sm/base/mem.h"
#include "sm/base/version.h"

/*
 * One connection to the control socket. It owns its descriptor, its buffers and the one request
 * at work; events are: the socket can be read or written, the request has something to say, the
 * server's tick. Every one of them ends in client_turn(), which does a bounded piece of work and
 * asks for another turn if more is left: no client can hold up the loop. Output stops being
 * produced while CLIENT_OUT_LIMIT bytes wait for the reader, input stops being read while a
 * whole request line waits for the one before it.
 */
#define READ_SIZE 16384u
#define STEPS 8u			/* of a stream, or requests, in one turn */
#define TURN_TIME MSEC(3)		/* after which there is no further step in a turn */
#define IDLE_LIMIT SEC(300)		/* between requests */
#define STUCK_LIMIT SEC(60)		/* half a line, or a reader that takes nothing */

void
client_hello(struct buf *out)
{
	struct json j;

	jw_init(&j, out);
	jw_object(&j, NULL);
	jw_uint(&j, "weft", FRAME_PROTOCOL);
	jw_str(&j, "version", WEFT_VERSION);
	jw_end(&j);
	buf_char(out, '\n');
}

void
client_free(struct ctl_client *c)
{
	if (c->req)
		req_drop(c->req);
	loop_fd_free(c->watch);
	loop_timer_free(c->turn);
	if (c->fd >= 0)
		close(c->fd);
	buf_free(&c->in);
	buf_free(&c->out);
	list_remove(&c->list);
	if (c->count)
		--*c->count;
	mem_free(c);
}

/* Refuse what cannot be parsed any more, and go. */
static void
client_refuse(struct ctl_client *c, const char *why)
{
	struct json j;

	jw_init(&j, &c->out);
	jw_object(&j, NULL);
	jw_bool(&j, "ok", false);
	jw_str(&j, "error", why);
	jw_uint(&j, "code", EXIT_USAGE);
	jw_end(&j);
	buf_char(&c->out, '\n');
	c->closing = true;
}

/* Take up the next line; false if there is no whole one. */
static bool
client_next(struct ctl_client *c)
{
	char *end;
	size_t len;

	if (c->closing || c->in.len == c->scanned)
		return false;
	end = memchr(c->in.data + c->scanned, '\n', c->in.len - c->scanned);
	len = end ? (size_t)(end - c->in.data) : c->in.len;
	if (len >= FRAME_MAX_REQUEST) {
		client_refuse(c, "a request line is longer than 65536 bytes");
		return false;
	}
	if (!end) {
		c->scanned = c->in.len;
		return false;
	}
	c->req = req_start(c, c->in.data, len);
	c->active = loop_now(c->loop);
	buf_consume(&c->in, len + 1);
	c->scanned = 0;
	return true;
}

/* A bounded piece of work. True if there is more that does not wait for anybody. */
static bool
client_work(struct ctl_client *c)
{
	monotime start = loop_now(c->loop);

	for (unsigned i = 0; i < STEPS && loop_now(c->loop) - start < TURN_TIME; i++) {
		if (c->out.len >= CLIENT_OUT_LIMIT && c->fd >= 0)
			return false;
		if (!c->req && !client_next(c))
			return false;
		if (c->req->command)
			loop_doing(c->loop, c->req->command->name);
		if (c->req->step && c->req->step(c->req) == STEP_DONE)
			req_end(c->req);
		if (c->req->answered) {
			req_drop(c->req);
			c->req = NULL;
			c->active = loop_now(c->loop);
		} else if (!c->req->step) {
			return false;
		}
	}
	return true;
}

static void
client_write(struct ctl_client *c)
{
	ssize_t len;

	while (c->out.len && !c->dead) {
		len = send(c->fd, c->out.data, c->out.len, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (len < 0 && errno == EINTR)
			continue;
		if (len < 0) {
			c->dead = errno != EAGAIN && errno != EWOULDBLOCK;
			return;
		}
		buf_consume(&c->out, (size_t)len);
		c->active = loop_now(c->loop);
	}
}

static void
client_read(struct ctl_client *c)
{
	char bytes[READ_SIZE];
	ssize_t len;

	while (!c->eof && !c->dead && c->in.len <= FRAME_MAX_REQUEST) {
		len = recv(c->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
		if (len > 0) {
			/* A line counts from its first byte: one without end is no sign of life. */
			if (!c->in.len && !c->closing)
				c->active = loop_now(c->loop);
			if (!c->closing)
				buf_add(&c->in, bytes, (size_t)len);
			if ((size_t)len < sizeof(bytes))
				return;
		} else if (len == 0) {
			c->eof = true;
		} else if (errno != EINTR) {
			c->dead = errno != EAGAIN && errno != EWOULDBLOCK;
			return;
		}
	}
}

/* Drop a client that is done with; else watch what it waits for. */
static void
client_settle(struct ctl_client *c, bool more)
{
	unsigned events = 0;

	if (!c->out.len && !c->req && !more && (c->closing || c->eof))
		c->dead = true;
	if (c->dead) {
		client_free(c);
		return;
	}
	if (!c->eof && c->in.len <= FRAME_MAX_REQUEST)
		events |= LOOP_READ;
	if (c->out.len)
		events |= LOOP_WRITE;
	loop_fd_set(c->watch, events);
	if (more)
		loop_timer_set(c->turn, 0);
}

static void
client_turn(struct ctl_client *c)
{
	bool more = false;

	if (!c->dead)
		more = client_work(c);
	if (!c->dead)
		client_write(c);
	/* What was written made room for more of the same answer. */
	if (!more && c->out.len < CLIENT_OUT_LIMIT && c->req && c->req->step)
		more = true;
	client_settle(c, more);
}

static void
on_fd(void *arg, int fd, unsigned events)
{
	struct ctl_client *c = arg;

	(void)fd;
	if (events & LOOP_READ)
		client_read(c);
	client_turn(c);
}

static void
on_turn(void *arg)
{
	client_turn(arg);
}

void
client_kick(struct ctl_client *c)
{
	if (c->turn)
		loop_timer_set(c->turn, 0);
}

static bool
hung_up(const struct ctl_client *c)
{
	struct pollfd p = { .fd = c->fd };

	return poll(&p, 1, 0) > 0 && (p.revents & (POLLHUP | POLLERR)) != 0;
}

void
client_tick(struct ctl_client *c)
{
	monotime quiet = loop_now(c->loop) - c->active;
	monotime limit = c->out.len || (c->in.len && !c->req) ? STUCK_LIMIT : IDLE_LIMIT;
	bool waits = c->req && !c->out.len;	/* for us, as long as it takes */

	if ((!waits && quiet > limit) || (c->eof && hung_up(c)))
		client_free(c);
}

struct ctl_client *
client_new(struct list *clients, unsigned *count, struct loop *l, int fd,
	   const struct ctl_host *host, struct ctl_gate *gate, bool changes)
{
	struct ctl_client *c = mem_zalloc(sizeof(*c));

	list_append(clients, &c->list);
	c->count = count;
	++*count;
	c->host = host;
	c->gate = gate;
	c->loop = l;
	c->fd = fd;
	c->changes = changes;
	c->active = loop_now(l);
	c->turn = loop_timer_new(l, on_turn, c);
	c->watch = loop_fd_new(l, fd, on_fd, c);
	if (!c->watch) {
		client_free(c);
		return NULL;
	}
	client_hello(&c->out);
	loop_timer_set(c->turn, 0);
	return c;
}
