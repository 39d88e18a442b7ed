/* SPDX-License-Identifier: BSD-2-Clause */
#include "gateway/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "gateway/stream.h"
#include "sm/base/json.h"
#include "sm/base/list.h"
#include "sm/base/log.h"
#include "sm/base/mem.h"

/*
 * Connections. A peer goes round through its states: it receives a request, the handler has it, the
 * answer is sent, and it receives the next one, or it lingers: our side is closed and what it still
 * sends is thrown away for a moment, for otherwise the kernel would reset the connection and the
 * client might never read why its request was refused.
 *
 * A peer owns its stream, buffers and the exchange in it. Events are: the socket is ready, its one
 * timer, an answer. The timer's meaning is that of the state: a whole request must be there in
 * time, whatever trickles in; an answer must make progress. When all places are taken the
 * connection that has been idle for longest goes, or else the one whose request has been coming for
 * longest, for a stranger's may never come whole; if all are answered the new one is told so.
 */
#define BACKLOG 128
#define READ_SIZE 16384u
#define READS 64u			/* of a peer in one turn */
#define ROUNDS 8u			/* requests of it, sent at once, in one turn */
#define LINGER SEC(2)
#define OUT_MORE 65536u			/* bytes handed to the stream at a time, */
#define WRITES 8u			/* so often in one turn */

enum peer_state {
	PEER_RECEIVES,
	PEER_HANDLED,
	PEER_SENDS,
	PEER_LINGERS,
};

struct peer {
	struct list list;		/* in the server's peers, those idle for longest first */
	struct server *server;
	struct stream stream;
	struct loop_fd *watch;		/* of its descriptor */
	struct loop_timer *timer;	/* see above */
	enum peer_state state;
	bool begun;			/* something of the request is there, */
	monotime begun_at;		/* since then */
	bool headed;			/* its head was read, and is in the exchange */
	bool close;			/* after the answer */
	bool fresh;			/* no byte has come from it yet */
	unsigned read_wants;		/* LOOP_READ, LOOP_WRITE: for the next read, */
	unsigned write_wants;		/* and the next write */
	struct buf in;			/* received and not taken yet */
	struct buf out;			/* to be sent: heads, */
	struct buf out_body;		/* and after these the body of the answer */
	struct exchange x;
};

struct listener {
	struct list list;		/* in the server's */
	struct server *server;
	int fd;				/* owned */
	struct loop_fd *watch;
};

struct server {
	struct loop *loop;		/* borrowed */
	struct server_limits limits;
	server_handler handler;
	void *arg;			/* of it */
	SSL_CTX *tls;			/* reference held; NULL */
	struct list listeners;
	struct list peers;
	unsigned npeers;		/* in it */
	unsigned handled;		/* of these with the handler */
	struct loop_timer *pause;	/* accepting begins again: we were out of descriptors */
	struct log_limit limit;		/* of messages that strangers can cause */
	loop_fn done;			/* it is being finished; NULL */
	void *done_arg;
};

static struct peer *
peer_of(struct exchange *x)
{
	return list_entry(x, struct peer, x);
}

/* ---- Life of a peer ---- */

static void
check_finished(struct server *s)
{
	loop_fn done = s->done;

	if (!done || s->npeers)
		return;
	s->done = NULL;
	loop_post(s->loop, done, s->done_arg);
}

static void
peer_free(struct peer *p)
{
	struct server *s = p->server;

	list_remove(&p->list);
	s->npeers--;
	s->handled -= p->state == PEER_HANDLED;
	loop_fd_free(p->watch);
	loop_timer_free(p->timer);
	stream_close(&p->stream);
	buf_free(&p->in);
	buf_free(&p->out);
	buf_free(&p->out_body);
	buf_free(&p->x.body);
	mem_free(p);
	check_finished(s);
}

/* The next request may come, or the end. */
static void
peer_await(struct peer *p)
{
	p->state = PEER_RECEIVES;
	p->begun = p->headed = false;
	p->read_wants = LOOP_READ;
	buf_clear(&p->x.body);
	list_remove(&p->list);
	list_append(&p->server->peers, &p->list);
	loop_timer_set(p->timer, p->fresh ? p->server->limits.receive : p->server->limits.idle);
}

static void
peer_linger(struct peer *p)
{
	p->state = PEER_LINGERS;
	stream_finish(&p->stream);
	p->read_wants = LOOP_READ;
	buf_clear(&p->in);
	loop_timer_set(p->timer, LINGER);
}

/* ---- Answers ---- */

/* The body is taken. */
static void
peer_answer(struct peer *p, int status, struct buf *body, const char *more)
{
	struct server *s = p->server;

	if (s->done)
		p->close = true;
	http_answer_head(&p->out, status, body->len, !p->close, more, loop_wall(s->loop));
	if (p->headed && !strcmp(p->x.head.method, "HEAD"))
		buf_free(body);
	p->out_body = *body;
	*body = (struct buf){ 0 };
	s->handled -= p->state == PEER_HANDLED;
	p->state = PEER_SENDS;
	p->write_wants = LOOP_WRITE;
	loop_timer_set(p->timer, s->limits.send);
}

static void
put_refusal(struct buf *body, int status, const char *sentence)
{
	struct json j;

	jw_init(&j, body);
	jw_object(&j, NULL);
	jw_str(&j, "error", sentence);
	jw_int(&j, "status", status);
	jw_end(&j);
	buf_char(body, '\n');
}

/* What follows cannot be made out, or is not wanted. */
static void
peer_give_up(struct peer *p, int status, const char *more, const char *sentence)
{
	struct buf body = { 0 };

	log_info("%s: refused with %d: %s", p->x.from, status, sentence);
	p->close = true;
	put_refusal(&body, status, sentence);
	peer_answer(p, status, &body, more);
}

/* The answer is sent from the socket's turn, never inside the handler's call. */
void
exchange_answer(struct exchange *x, int status, struct buf *body, const char *more)
{
	struct peer *p = peer_of(x);

	log_info("%s %s \"%s %s%s%s\" %d %zu %.1f ms", x->from, x->user ? x->user : "-",
		 x->head.method, x->head.path, x->head.query[0] ? "?" : "", x->head.query, status,
		 body->len, (double)(loop_now(p->server->loop) - x->began) / 1e6);
	x->user = NULL;
	peer_answer(p, status, body, more);
	loop_fd_set(p->watch, LOOP_WRITE);
}

void
exchange_dismiss(struct exchange *x, int status, const char *more, const char *sentence)
{
	peer_of(x)->close = true;
	exchange_refuse(x, status, more, sentence);
}

void
exchange_refuse(struct exchange *x, int status, const char *more, const char *sentence)
{
	struct buf body = { 0 };

	put_refusal(&body, status, sentence);
	exchange_answer(x, status, &body, more);
}

/* ---- Requests ---- */

static void
peer_head(struct peer *p)
{
	struct error e = { 0 };
	size_t used;
	int rc;

	rc = http_head_parse(p->in.len ? p->in.data : "", p->in.len, &p->x.head, &used, &e);
	if (rc == HTTP_PARTIAL)
		return;
	if (rc != HTTP_WHOLE) {
		peer_give_up(p, rc, "", e.text);
		return;
	}
	buf_consume(&p->in, used);
	p->headed = true;
	p->close = !p->x.head.keep_alive;
	if (p->x.head.body_size > p->server->limits.body) {
		char text[80];

		snprintf(text, sizeof(text), "the body is longer than %zu bytes",
			 p->server->limits.body);
		peer_give_up(p, 413, "", text);
	} else if (p->x.head.expect_continue && p->in.len < p->x.head.body_size) {
		buf_str(&p->out, "HTTP/1.1 100 Continue\r\n\r\n");
		p->write_wants = LOOP_WRITE;
	}
}

static void
peer_body(struct peer *p)
{
	struct server *s = p->server;
	size_t size = (size_t)p->x.head.body_size;

	if (p->in.len < size)
		return;
	if (s->handled >= s->limits.requests) {
		log_limited(&s->limit, LOG_L_WARNING, "more than %u requests at a time",
			    s->handled);
		peer_give_up(p, 503, "Retry-After: 1\r\n", "too many requests are under way");
		return;
	}
	buf_str(&p->x.body, "");
	if (size)
		buf_add(&p->x.body, p->in.data, size);
	buf_consume(&p->in, size);
	p->state = PEER_HANDLED;
	s->handled++;
	loop_timer_cancel(p->timer);
	p->x.began = loop_now(s->loop);
	s->handler(s->arg, &p->x);
}

/* What was received may be a request. */
static void
peer_take(struct peer *p)
{
	if (p->in.len && !p->begun) {
		p->begun = true;
		p->begun_at = loop_now(p->server->loop);
		loop_timer_set(p->timer, p->server->limits.receive);
	}
	if (!p->headed)
		peer_head(p);
	if (p->state == PEER_RECEIVES && p->headed)
		peer_body(p);
}

/* ---- The socket ---- */

static size_t
wanted_bytes(const struct peer *p)
{
	return p->headed ? (size_t)p->x.head.body_size : HTTP_HEAD_MAX + 8;
}

/* False: it is done with. */
static bool
peer_read(struct peer *p)
{
	char bytes[READ_SIZE];

	for (unsigned i = 0; i < READS && p->state == PEER_RECEIVES; i++) {
		int n;

		peer_take(p);
		if (p->state != PEER_RECEIVES || p->in.len >= wanted_bytes(p))
			return true;
		n = stream_read(&p->stream, bytes, sizeof(bytes));
		if (n == STREAM_ENDED)
			return false;
		if (n == STREAM_LATER) {
			p->read_wants = p->stream.wanted;
			return true;
		}
		p->fresh = false;
		buf_add(&p->in, bytes, (size_t)n);
	}
	return true;
}

static bool
peer_drain(struct peer *p)
{
	char bytes[READ_SIZE];

	for (unsigned i = 0; i < READS; i++) {
		int n = stream_read(&p->stream, bytes, sizeof(bytes));

		if (n == STREAM_ENDED)
			return false;
		if (n == STREAM_LATER) {
			p->read_wants = p->stream.wanted;
			return true;
		}
	}
	return true;
}

static bool
peer_write(struct peer *p)
{
	for (unsigned i = 0; p->out.len || p->out_body.len; i++) {
		struct buf *from = p->out.len ? &p->out : &p->out_body;
		size_t len = from->len < OUT_MORE ? from->len : OUT_MORE;
		int n;

		if (i == WRITES) {
			p->write_wants = LOOP_WRITE;
			return true;
		}
		n = stream_write(&p->stream, from->data, len);

		if (n == STREAM_ENDED)
			return false;
		if (n == STREAM_LATER) {
			p->write_wants = p->stream.wanted;
			return true;
		}
		buf_consume(from, (size_t)n);
		if (p->state == PEER_SENDS)
			loop_timer_set(p->timer, p->server->limits.send);
	}
	if (p->state != PEER_SENDS)
		return true;
	buf_free(&p->out);
	buf_free(&p->out_body);
	if (p->close)
		peer_linger(p);
	else
		peer_await(p);
	return true;
}

static void
peer_watch(struct peer *p)
{
	unsigned events = 0;

	if (p->state == PEER_RECEIVES || p->state == PEER_LINGERS)
		events |= p->read_wants;
	if (p->out.len || p->out_body.len)
		events |= p->write_wants;
	loop_fd_set(p->watch, events);
}

/* Whatever can be done now. An answer that was sent whole may uncover a request that is there. */
static void
peer_turn(struct peer *p)
{
	bool alive = true, more = true;
	unsigned round;

	for (round = 0; alive && more && round < ROUNDS; round++) {
		if (p->state == PEER_RECEIVES)
			alive = peer_read(p);
		else if (p->state == PEER_LINGERS)
			alive = peer_drain(p);
		more = p->state == PEER_SENDS;
		if (alive && (p->out.len || p->out_body.len))
			alive = peer_write(p);
		more = more && alive && p->state != PEER_SENDS;
		if (p->server->done && p->state == PEER_RECEIVES && !p->begun)
			alive = false;
	}
	if (alive)
		peer_watch(p);
	if (alive && more)
		loop_fd_set(p->watch, LOOP_READ | LOOP_WRITE);
	else if (!alive)
		peer_free(p);
}

static void
on_ready(void *arg, int fd, unsigned events)
{
	(void)fd;
	(void)events;
	peer_turn(arg);
}

static void
on_timer(void *arg)
{
	struct peer *p = arg;

	if (p->state != PEER_RECEIVES || !p->begun) {
		peer_free(p);
		return;
	}
	peer_give_up(p, 408, "", "the request did not come in time");
	peer_turn(p);
}

/* ---- New connections ---- */

static void
name_peer(struct peer *p, const struct sockaddr *address, socklen_t size)
{
	char host[48] = "?", port[8] = "?";

	getnameinfo(address, size, host, sizeof(host), port, sizeof(port),
		    NI_NUMERICHOST | NI_NUMERICSERV);
	snprintf(p->x.from, sizeof(p->x.from), strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, port);
}

/* One line for whoever is too many; with TLS there is nothing that could be said so early. */
static void
turn_away(struct server *s, int fd)
{
	static const char body[] = "{\"error\":\"too many connections\",\"status\":503}\n";
	struct buf out = { 0 };

	http_answer_head(&out, 503, sizeof(body) - 1, false, "Retry-After: 1\r\n",
			 loop_wall(s->loop));
	buf_str(&out, body);
	if (!s->tls && send(fd, out.data, out.len, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		log_debug("a client that is too many: %s", strerror(errno));
	buf_free(&out);
	close(fd);
	log_limited(&s->limit, LOG_L_WARNING, "more than %u connections", s->npeers);
}

/* Whoever has been idle for longest makes room, or else whose request is the slowest. */
static void
make_room(struct server *s)
{
	struct peer *slowest = NULL;

	list_each(it, &s->peers) {
		struct peer *p = list_entry(it, struct peer, list);

		if (p->state == PEER_LINGERS || (p->state == PEER_RECEIVES && !p->begun)) {
			peer_free(p);
			return;
		}
		if (p->state == PEER_RECEIVES && (!slowest || p->begun_at < slowest->begun_at))
			slowest = p;
	}
	if (slowest)
		peer_free(slowest);
}

static void
peer_new(struct server *s, int fd, const struct sockaddr *address, socklen_t size)
{
	const int one = 1;
	struct peer *p;

	if (s->npeers >= s->limits.connections)
		make_room(s);
	if (s->npeers >= s->limits.connections) {
		turn_away(s, fd);
		return;
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	p = mem_zalloc(sizeof(*p));
	p->server = s;
	list_append(&s->peers, &p->list);
	s->npeers++;
	name_peer(p, address, size);
	p->fresh = true;
	p->timer = loop_timer_new(s->loop, on_timer, p);
	if (!stream_open(&p->stream, fd, s->tls) ||
	    !(p->watch = loop_fd_new(s->loop, fd, on_ready, p))) {
		peer_free(p);
		return;
	}
	peer_await(p);
	peer_watch(p);
}

static void
listeners_watch(struct server *s, unsigned events)
{
	list_each(it, &s->listeners)
		loop_fd_set(list_entry(it, struct listener, list)->watch, events);
}

static void
on_pause(void *arg)
{
	listeners_watch(arg, LOOP_READ);
}

static void
on_connection(void *arg, int fd, unsigned events)
{
	struct listener *l = arg;
	struct sockaddr_storage address;
	socklen_t size = sizeof(address);
	int got = accept4(fd, (struct sockaddr *)&address, &size, SOCK_CLOEXEC | SOCK_NONBLOCK);

	(void)events;
	if (got >= 0) {
		peer_new(l->server, got, (struct sockaddr *)&address, size);
		return;
	}
	if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
		log_limited(&l->server->limit, LOG_L_ERROR, "no connection can be taken: %s",
			    strerror(errno));
		listeners_watch(l->server, 0);
		loop_timer_set(l->server->pause, SEC(1));
	}
}

static void
listener_free(struct listener *l)
{
	list_remove(&l->list);
	loop_fd_free(l->watch);
	if (l->fd >= 0)
		close(l->fd);
	mem_free(l);
}

/* ---- The server ---- */

struct server *
server_new(struct loop *l, const struct server_limits *limits, server_handler handler, void *arg)
{
	struct server *s = mem_zalloc(sizeof(*s));

	s->loop = l;
	s->limits = *limits;
	s->handler = handler;
	s->arg = arg;
	list_init(&s->listeners);
	list_init(&s->peers);
	s->pause = loop_timer_new(l, on_pause, s);
	return s;
}

void
server_free(struct server *s)
{
	if (!s)
		return;
	s->done = NULL;
	list_each(it, &s->listeners)
		listener_free(list_entry(it, struct listener, list));
	list_each(it, &s->peers)
		peer_free(list_entry(it, struct peer, list));
	loop_timer_free(s->pause);
	tls_free(s->tls);
	mem_free(s);
}

void
server_set_tls(struct server *s, SSL_CTX *tls)
{
	if (tls)
		SSL_CTX_up_ref(tls);
	tls_free(s->tls);
	s->tls = tls;
}

static void
tell_address(int fd, bool tls)
{
	struct sockaddr_storage address;
	socklen_t size = sizeof(address);
	char host[48] = "?", port[8] = "?";

	if (getsockname(fd, (struct sockaddr *)&address, &size))
		return;
	getnameinfo((struct sockaddr *)&address, size, host, sizeof(host), port, sizeof(port),
		    NI_NUMERICHOST | NI_NUMERICSERV);
	log_notice(strchr(host, ':') ? "listening on %s://[%s]:%s" : "listening on %s://%s:%s",
		   tls ? "https" : "http", host, port);
}

int
server_listen(struct server *s, const struct sockaddr *address, socklen_t size, struct error *e)
{
	const int one = 1;
	struct listener *l = mem_zalloc(sizeof(*l));

	list_append(&s->listeners, &l->list);
	l->server = s;
	l->fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (l->fd >= 0) {
		setsockopt(l->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
		if (address->sa_family == AF_INET6)
			setsockopt(l->fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
	}
	if (l->fd < 0 || bind(l->fd, address, size) || listen(l->fd, BACKLOG)) {
		error_set(e, ERR_IO, "%s", strerror(errno));
		listener_free(l);
		return ERR_IO;
	}
	l->watch = loop_fd_new(s->loop, l->fd, on_connection, l);
	if (!l->watch) {
		listener_free(l);
		return error_set(e, ERR_IO, "the socket cannot be watched");
	}
	loop_fd_set(l->watch, LOOP_READ);
	tell_address(l->fd, s->tls != NULL);
	return 0;
}

void
server_finish(struct server *s, loop_fn done, void *arg)
{
	s->done = done;
	s->done_arg = arg;
	list_each(it, &s->listeners)
		listener_free(list_entry(it, struct listener, list));
	list_each(peer, &s->peers) {
		struct peer *p = list_entry(peer, struct peer, list);

		if (p->state == PEER_LINGERS || (p->state == PEER_RECEIVES && !p->begun))
			peer_free(p);
	}
	check_finished(s);
}
