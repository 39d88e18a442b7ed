/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/serve/server.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "sim/attach.h"
#include "sim/serve/holders.h"
#include "sim/serve/host.h"
#include "sim/serve/sysfs.h"
#include "sim/serve/umad_file.h"
#include "sm/base/folder.h"
#include "sm/base/list.h"
#include "sm/base/log.h"
#include "sm/base/mem.h"

/*
 * The socket and its connections. A connection is nothing until its first request says what it is;
 * then it has an open umad file, holds or waits for an issm file, or is a control session. It ends
 * when the other side is gone or breaks the rules of attach.h, and takes what it had along.
 *
 * Requests are answered at once, at most BURST of a connection in a turn. While an answer does not
 * fit into the socket no further request of that connection is read, so each costs bounded memory.
 */
#define BACKLOG 512
#define BURST 16
#define MAX_CONNECTIONS 65536u

struct conn {
	struct list list;		/* of the server's connections */
	struct list issm;		/* of the server's issm files, in order of asking */
	struct server *server;		/* whose it is */
	struct loop_fd *watch;		/* of fd */
	int fd;				/* the socket */
	uint64_t since;			/* holders_now() when it was accepted */
	uint32_t kind;			/* enum attach_kind of its first request; 0: none yet */
	struct umad_file *file;		/* ATTACH_OPEN_UMAD */
	uint32_t node;			/* of an open file: whose */
	unsigned port;			/* of an open file: of that node */
	uint32_t index;			/* of an open file: N of umadN or issmN */
	uint32_t pid;			/* that the program says it has */
	char program[64];		/* that it says it is, printable */
	bool holds;			/* ATTACH_OPEN_ISSM: it has it, and does not wait */
	struct attach_reply *unsent;	/* an answer that did not fit, or NULL */
	int unsent_fd;			/* that goes with it, or -1 */
	struct buf answer;		/* ATTACH_CONTROL: what is to be sent */
	int32_t answer_status;		/* of the answer's last piece */
	bool answering;			/* `answer` is under way */
};

struct server {
	struct sim *sim;		/* borrowed */
	struct hosts *hosts;		/* of its fabric */
	struct sysfs *sysfs;		/* what programs see of them */
	struct umad_pump *pump;		/* open files */
	char *path;			/* of the socket file, once it is ours */
	dev_t dev;			/* which file it is, so as not to remove a successor's */
	ino_t ino;
	int fd;				/* listening */
	struct loop_fd *watch;		/* of fd */
	struct loop_timer *again;	/* accept again, when descriptors had run out */
	struct list conns;		/* of struct conn */
	unsigned nconns;		/* of them */
	struct list issms;		/* of struct conn: holders and those who wait */
	struct log_limit limit;		/* of messages that programs can cause */
};

/* ---- Ends ---- */

static void
issm_next(struct server *s, uint32_t node, unsigned port);

static void
conn_free(struct conn *c)
{
	struct server *s = c->server;

	list_remove(&c->list);
	list_remove(&c->issm);
	s->nconns--;
	umad_file_free(c->file);
	if (c->holds) {
		kernel_issm(s->sim->kernel, c->node, c->port, false);
		issm_next(s, c->node, c->port);
	}
	loop_fd_free(c->watch);
	close(c->fd);
	if (c->unsent_fd >= 0)
		close(c->unsent_fd);
	mem_free(c->unsent);
	buf_free(&c->answer);
	mem_free(c);
}

/* ---- Answers ---- */

/* Send one reply with descriptors: 1 sent, 0 no room, -1 the connection is of no use. */
static int
transmit(struct conn *c, const struct attach_reply *r, const int *fds, unsigned nfds)
{
	union {
		struct cmsghdr h;
		char space[CMSG_SPACE(sizeof(int) * UMAD_FDS)];
	} control = { 0 };
	struct iovec iov = { (void *)(uintptr_t)r, sizeof(*r) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (nfds) {
		control.h.cmsg_level = SOL_SOCKET;
		control.h.cmsg_type = SCM_RIGHTS;
		control.h.cmsg_len = CMSG_LEN(sizeof(int) * nfds);
		memcpy(CMSG_DATA(&control.h), fds, sizeof(int) * nfds);
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * nfds);
	}
	if (sendmsg(c->fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
		return 1;
	return errno == EAGAIN || errno == EINTR || errno == ENOBUFS ? 0 : -1;
}

/* The reply to a request; without room it is kept. False: end the connection. */
static bool
reply(struct conn *c, struct attach_reply *r, const int *fds, unsigned nfds)
{
	int sent;

	r->magic = ATTACH_MAGIC;
	r->version = ATTACH_VERSION;
	r->length_text = (uint32_t)strlen(r->text);
	sent = transmit(c, r, fds, nfds);
	if (sent || nfds > 1)
		return sent > 0;
	c->unsent = mem_alloc(sizeof(*r));
	*c->unsent = *r;
	c->unsent_fd = nfds ? fcntl(fds[0], F_DUPFD_CLOEXEC, 0) : -1;
	loop_fd_set(c->watch, LOOP_WRITE);
	return true;
}

static bool
reply_status(struct conn *c, int error)
{
	struct attach_reply r = { .status = error };

	if (error)
		snprintf(r.text, sizeof(r.text), "%s", strerror(error));
	return reply(c, &r, NULL, 0);
}

static bool
reply_text(struct conn *c, int error, const char *text)
{
	struct attach_reply r = { .status = error };

	snprintf(r.text, sizeof(r.text), "%s", text);
	return reply(c, &r, NULL, 0);
}

/* Pieces of a control answer, as far as they fit. False: end the connection. */
static bool
send_pieces(struct conn *c)
{
	while (c->answering) {
		struct attach_reply r = { .magic = ATTACH_MAGIC, .version = ATTACH_VERSION };
		size_t len = c->answer.len < ATTACH_TEXT ? c->answer.len : ATTACH_TEXT;
		int sent;

		if (len)
			memcpy(r.text, c->answer.data, len);
		r.length_text = (uint32_t)len;
		r.more = c->answer.len > len;
		r.status = r.more ? 0 : c->answer_status;
		sent = transmit(c, &r, NULL, 0);
		if (sent <= 0) {
			loop_fd_set(c->watch, LOOP_WRITE);
			return sent == 0;
		}
		buf_consume(&c->answer, len);
		c->answering = r.more;
	}
	buf_free(&c->answer);
	loop_fd_set(c->watch, LOOP_READ);
	return true;
}

static bool
send_unsent(struct conn *c)
{
	int sent = transmit(c, c->unsent, &c->unsent_fd, c->unsent_fd >= 0);

	if (sent <= 0)
		return sent == 0;
	if (c->unsent_fd >= 0)
		close(c->unsent_fd);
	c->unsent_fd = -1;
	mem_free(c->unsent);
	c->unsent = NULL;
	loop_fd_set(c->watch, LOOP_READ);
	return true;
}

/* ---- Hosts and their files ---- */

static int
errno_of(int code)
{
	switch (code) {
	case ERR_NOT_FOUND:
		return ENOENT;
	case ERR_EXISTS:
		return EEXIST;
	case ERR_IO:
		return EIO;
	case ERR_BUSY:
		return EBUSY;
	case ERR_REFUSED:
		return EPERM;
	case ERR_UNSUPPORTED:
		return ENOTSUP;
	default:
		return EINVAL;
	}
}

static bool
answer_host(struct conn *c, const struct attach_request *q)
{
	const struct host *h;
	struct error e = { 0 };
	const char *root;

	if (hosts_find(&h, c->server->hosts, q->node, q->layout, &e))
		return reply_text(c, errno_of(e.code), e.text);
	root = sysfs_root(c->server->sysfs, h, &e);
	return root ? reply_text(c, 0, root) : reply_text(c, errno_of(e.code), e.text);
}

/* Note the port that a file's number stands for. 0 or an errno value with a sentence. */
static int
find_port(struct conn *c, const struct attach_request *q, const struct host_device **d,
	  struct error *e)
{
	const struct host *h;

	if (hosts_find(&h, c->server->hosts, q->node, q->layout, e))
		return errno_of(e->code);
	if (q->index >= h->nports) {
		error_set(e, ERR_NOT_FOUND, "the host has %u ports, and no file of number %u",
			  h->nports, q->index);
		return ENXIO;
	}
	*d = &h->devices[h->ports[q->index].device];
	c->node = (*d)->node;
	c->port = h->ports[q->index].port;
	c->index = q->index;
	if (q->kind != ATTACH_OPEN_ISSM || sysfs_has_issm(h, q->index))
		return 0;
	error_set(e, ERR_NOT_FOUND, "port %u has no queue pair 0, so there is no issm%u", c->port,
		  q->index);
	return ENXIO;
}

static void
on_broken(void *arg, const char *why)
{
	struct conn *c = arg;

	log_limited(&c->server->limit, LOG_L_WARNING, "attach: an open file is closed: its program "
		    "broke the rules: %s", why);
	conn_free(c);
}

static bool
open_umad(struct conn *c, const struct attach_request *q)
{
	struct umad_file_options o = { .broken = on_broken, .arg = c };
	struct attach_reply r = { 0 };
	const struct host_device *d;
	struct error e = { 0 };
	int fds[UMAD_FDS];
	int error = find_port(c, q, &d, &e);
	bool sent;

	if (error)
		return reply_text(c, error, e.text);
	o.node = c->node;
	o.port = (uint8_t)c->port;
	o.qps = d->qps;
	error = umad_file_new(&c->file, c->server->pump, &o, fds);
	if (error)
		return reply_status(c, error);
	c->kind = ATTACH_OPEN_UMAD;
	sent = reply(c, &r, fds, UMAD_FDS);
	for (unsigned i = 0; i < UMAD_FDS; i++)
		close(fds[i]);
	return sent;
}

/* The holder, or the one who waits longest. */
static struct conn *
issm_first(struct server *s, uint32_t node, unsigned port)
{
	list_each(it, &s->issms) {
		struct conn *c = list_entry(it, struct conn, issm);

		if (c->node == node && c->port == port)
			return c;
	}
	return NULL;
}

static bool
issm_take(struct conn *c)
{
	int error = kernel_issm(c->server->sim->kernel, c->node, c->port, true);

	c->holds = !error;
	if (error)
		list_remove(&c->issm);
	return reply_status(c, error);
}

/* A holder is gone. A connection that turns out to be of no use is closed when it is read. */
static void
issm_next(struct server *s, uint32_t node, unsigned port)
{
	struct conn *c;

	while ((c = issm_first(s, node, port)) && !c->holds) {
		if (!issm_take(c))
			shutdown(c->fd, SHUT_RDWR);
	}
}

static bool
open_issm(struct conn *c, const struct attach_request *q)
{
	const struct host_device *d;
	struct error e = { 0 };
	int error = find_port(c, q, &d, &e);

	if (error)
		return reply_text(c, error, e.text);
	if (q->nonblock && issm_first(c->server, c->node, c->port))
		return reply_status(c, EAGAIN);
	c->kind = ATTACH_OPEN_ISSM;
	list_append(&c->server->issms, &c->issm);
	return issm_first(c->server, c->node, c->port) == c ? issm_take(c) : true;
}

/* ---- Requests ---- */

static bool
fetch_long(struct conn *c, uint32_t id)
{
	struct attach_reply r = { 0 };
	int memfd = -1;
	bool sent;

	r.status = umad_file_fetch_long(c->file, id, &memfd, &r.length);
	sent = reply(c, &r, &memfd, memfd >= 0);
	if (memfd >= 0)
		close(memfd);
	return sent;
}

static bool
on_file_request(struct conn *c, const struct attach_request *q, int memfd)
{
	struct attach_reply r = { 0 };

	switch (q->kind) {
	case ATTACH_REGISTER:
		r.status = umad_file_register(c->file, &q->reg, &r.id);
		return reply(c, &r, NULL, 0);
	case ATTACH_UNREGISTER:
		return reply_status(c, umad_file_unregister(c->file, q->index));
	case ATTACH_SEND_LONG:
		return reply_status(c, umad_file_send_long(c->file, memfd, q->length));
	case ATTACH_FETCH_LONG:
		return fetch_long(c, q->index);
	default:
		return reply_text(c, EINVAL, "an open umad file knows no such request");
	}
}

/* Who it is, for people. */
static void
introduce(struct conn *c, const struct attach_request *q)
{
	c->pid = q->pid;
	for (size_t i = 0; i < sizeof(c->program) - 1 && q->program[i]; i++)
		c->program[i] = isgraph((unsigned char)q->program[i]) ? q->program[i] : '?';
}

static bool
on_first_request(struct conn *c, const struct attach_request *q)
{
	introduce(c, q);
	switch (q->kind) {
	case ATTACH_HOST:
		return answer_host(c, q);
	case ATTACH_OPEN_UMAD:
		return open_umad(c, q);
	case ATTACH_OPEN_ISSM:
		return open_issm(c, q);
	case ATTACH_CONTROL:
		c->kind = ATTACH_CONTROL;
		return reply_status(c, 0);
	default:
		return reply_text(c, EINVAL, "a connection does not begin with such a request");
	}
}

/* Somebody else's program, or a library of another version: told once. */
static bool
is_request(struct conn *c, struct attach_request *q, size_t size)
{
	struct error e = { 0 };

	if (size < 8 || q->magic != ATTACH_MAGIC)
		error_set(&e, ERR_FORMAT, "this is no request to weftsim");
	else if (q->version != ATTACH_VERSION)
		error_set(&e, ERR_FORMAT, "the request has version %u, weftsim speaks %u: use the "
			  "library that came with it", q->version, ATTACH_VERSION);
	else if (size != sizeof(*q))
		error_set(&e, ERR_FORMAT, "the request has %zu bytes, not %zu: use the library "
			  "that came with this weftsim", size, sizeof(*q));
	else if (!memchr(q->node, 0, sizeof(q->node)))
		error_set(&e, ERR_FORMAT, "the name of the node has no end");
	if (!e.code)
		return true;
	log_limited(&c->server->limit, LOG_L_WARNING, "attach: %s", e.text);
	reply_text(c, EPROTO, e.text);
	return false;
}

static bool
is_text(const char *data, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (((unsigned char)data[i] < ' ' && data[i] != '\t') || data[i] == 0x7f)
			return false;
	return true;
}

/* A command and its answer. */
static bool
on_line(struct conn *c, const char *data, size_t size)
{
	char line[ATTACH_TEXT + 1];
	struct error e = { 0 };
	int ret;

	memcpy(line, data, size);
	line[size] = 0;
	if (!is_text(data, size))
		return reply_text(c, EINVAL, "a command is one line of text, without control "
				  "characters");
	ret = sim_command(c->server->sim, line, &c->answer, &e);
	c->answer_status = ret ? errno_of(ret) : 0;
	if (ret)
		buf_str(&c->answer, e.text);
	c->answering = true;
	return send_pieces(c);
}

static bool
on_packet(struct conn *c, void *data, size_t size, bool whole, int memfd)
{
	struct attach_request *q = data;

	if (c->kind == ATTACH_CONTROL) {
		if (!whole || size > ATTACH_TEXT)
			return reply_text(c, E2BIG, "the command is too long");
		return on_line(c, data, size);
	}
	if (!is_request(c, q, whole ? size : SIZE_MAX))
		return false;
	if (c->kind == ATTACH_OPEN_UMAD)
		return on_file_request(c, q, memfd);
	if (c->kind == ATTACH_OPEN_ISSM)
		return false;
	return on_first_request(c, q);
}

/* ---- Connections ---- */

/* The descriptor that came with a packet, or -1. The kernel keeps no others: there is no room. */
static int
take_fd(struct msghdr *msg)
{
	struct cmsghdr *h = CMSG_FIRSTHDR(msg);
	int fd = -1;

	if (h && h->cmsg_level == SOL_SOCKET && h->cmsg_type == SCM_RIGHTS &&
	    h->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(&fd, CMSG_DATA(h), sizeof(fd));
	return fd;
}

/* One packet. 1 taken, 0 none there, -1 end the connection. */
static int
receive(struct conn *c)
{
	union {
		struct attach_request request;
		char line[ATTACH_TEXT + 1];
	} in;
	union {
		struct cmsghdr h;
		char space[CMSG_LEN(sizeof(int))];
	} control;
	struct iovec iov = { &in, sizeof(in) };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
		.msg_controllen = sizeof(control.space),
	};
	ssize_t n = recvmsg(c->fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	bool going;
	int fd;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0)
		return -1;
	fd = take_fd(&msg);
	going = on_packet(c, &in, (size_t)n, !(msg.msg_flags & MSG_TRUNC), fd);
	if (fd >= 0)
		close(fd);
	return going ? 1 : -1;
}

static void
on_ready(void *arg, int fd, unsigned events)
{
	struct conn *c = arg;
	int got = 1;

	(void)fd;
	if (c->unsent || c->answering) {
		bool going = !(events & LOOP_WRITE) ? true :
			c->unsent ? send_unsent(c) : send_pieces(c);

		if (!going)
			conn_free(c);
		return;
	}
	for (unsigned i = 0; i < BURST && got > 0 && !c->unsent && !c->answering; i++)
		got = receive(c);
	if (got < 0)
		conn_free(c);
}

static void
conn_new(struct server *s, int fd)
{
	struct conn *c = mem_zalloc(sizeof(*c));

	c->server = s;
	c->fd = fd;
	c->since = holders_now();
	c->unsent_fd = -1;
	list_init(&c->list);
	list_init(&c->issm);
	s->nconns++;
	c->watch = loop_fd_new(s->sim->loop, fd, on_ready, c);
	if (!c->watch) {
		conn_free(c);
		return;
	}
	list_append(&s->conns, &c->list);
	loop_fd_set(c->watch, LOOP_READ);
}

static void
on_again(void *arg)
{
	struct server *s = arg;

	loop_fd_set(s->watch, LOOP_READ);
}

static void
on_connection(void *arg, int listening, unsigned events)
{
	struct server *s = arg;

	(void)events;
	for (unsigned i = 0; i < BURST; i++) {
		int fd = accept4(listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0 && (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED))
			return;
		if (fd < 0) {
			log_limited(&s->limit, LOG_L_ERROR, "attach: accepting a program: %s",
				    strerror(errno));
			loop_fd_set(s->watch, 0);
			loop_timer_set(s->again, MSEC(100));
			return;
		}
		if (s->nconns >= MAX_CONNECTIONS)
			close(fd);
		else
			conn_new(s, fd);
	}
}

/* ---- For people ---- */

static bool
is_open_file(const struct conn *c)
{
	return c->kind == ATTACH_OPEN_UMAD || c->kind == ATTACH_OPEN_ISSM;
}

static unsigned
count_attached(void *arg)
{
	struct server *s = arg;
	unsigned n = 0;

	list_each(it, &s->conns)
		n += is_open_file(list_entry(it, struct conn, list));
	return n;
}

/* What a program says of itself would do for people, not to send a signal by. */
void
server_end_programs(struct server *s)
{
	struct holder *list = mem_array(s->nconns, sizeof(*list));
	unsigned len = 0;

	list_each(it, &s->conns) {
		const struct conn *c = list_entry(it, struct conn, list);

		if (is_open_file(c))
			list[len++] = (struct holder){ .fd = c->fd, .since = c->since };
	}
	holders_end(list, len);
	mem_free(list);
}

static void
list_programs(void *arg, struct buf *out)
{
	struct server *s = arg;

	list_each(it, &s->conns) {
		struct conn *c = list_entry(it, struct conn, list);

		if (!is_open_file(c))
			continue;
		buf_printf(out, "%s[%u] %s%u of \"%s\" port %u%s\n", c->program, c->pid,
			   c->file ? "umad" : "issm", c->index,
			   model_ibnet(s->sim->model)->nodes[c->node].desc, c->port,
			   c->file || c->holds ? "" : ", waiting");
	}
}

/* ---- The socket ---- */

/* A file that nobody listens on is what a killed server left: remove it. */
static int
clear_path(const struct sockaddr_un *sa, struct error *e)
{
	struct stat st;
	int fd, ret, why;

	if (lstat(sa->sun_path, &st))
		return 0;
	if (!S_ISSOCK(st.st_mode))
		return error_set(e, ERR_EXISTS, "%s exists and is no socket: remove it, or name "
				 "another socket", sa->sun_path);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return error_set(e, ERR_IO, "no socket can be had: %s", strerror(errno));
	ret = connect(fd, (const struct sockaddr *)sa, sizeof(*sa));
	why = errno;
	close(fd);
	if (ret == 0 || why != ECONNREFUSED)
		return error_set(e, ERR_EXISTS, "the socket %s is in use: end the program that "
				 "serves it, or name another socket", sa->sun_path);
	if (unlink(sa->sun_path) && errno != ENOENT)
		return error_set(e, ERR_IO, "the old socket %s cannot be removed: %s", sa->sun_path,
				 strerror(errno));
	return 0;
}

static int
bind_private(int fd, const struct sockaddr_un *sa)
{
	mode_t before = umask(0177);
	int ret = bind(fd, (const struct sockaddr *)sa, sizeof(*sa));

	umask(before);
	return ret;
}

static int
open_socket(struct server *s, const char *path, struct error *e)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	struct stat st;
	int ret;

	if (!path[0] || strlen(path) >= sizeof(sa.sun_path))
		return error_set(e, ERR_INVALID, "the path of the socket must have 1 to %zu bytes: "
				 "\"%s\"", sizeof(sa.sun_path) - 1, path);
	memcpy(sa.sun_path, path, strlen(path) + 1);
	if ((ret = folder_make(path, e)) || (ret = clear_path(&sa, e)))
		return ret;
	s->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->fd < 0 || bind_private(s->fd, &sa))
		return error_set(e, ERR_IO, "the socket %s cannot be made: %s", path,
				 strerror(errno));
	s->path = mem_strdup(path);
	if (lstat(path, &st) == 0) {
		s->dev = st.st_dev;
		s->ino = st.st_ino;
	}
	if (listen(s->fd, BACKLOG))
		return error_set(e, ERR_IO, "listening on %s: %s", path, strerror(errno));
	s->watch = loop_fd_new(s->sim->loop, s->fd, on_connection, s);
	if (!s->watch)
		return error_set(e, ERR_UNSUPPORTED, "the socket %s cannot be watched: programs "
				 "attach to simulations in real time only", path);
	loop_fd_set(s->watch, LOOP_READ);
	return 0;
}

/* An open file takes four descriptors: have as many as one may. */
static void
raise_limit(void)
{
	struct rlimit r;

	if (!getrlimit(RLIMIT_NOFILE, &r) && r.rlim_cur < r.rlim_max) {
		r.rlim_cur = r.rlim_max;
		if (setrlimit(RLIMIT_NOFILE, &r))
			log_debug("attach: the limit of descriptors stays: %s", strerror(errno));
	}
}

int
server_new(struct server **out, struct sim *sim, const char *path, struct error *e)
{
	struct server *s = mem_zalloc(sizeof(*s));
	int ret;

	*out = NULL;
	s->sim = sim;
	s->fd = -1;
	list_init(&s->conns);
	list_init(&s->issms);
	s->hosts = hosts_new(model_ibnet(sim->model));
	s->pump = umad_pump_new(sim->loop, sim->kernel);
	s->again = loop_timer_new(sim->loop, on_again, s);
	raise_limit();
	ret = sysfs_new(&s->sysfs, sim->model, sim->kernel, e);
	if (!ret)
		ret = open_socket(s, path, e);
	if (ret) {
		server_free(s);
		return ret;
	}
	sim->host.programs = list_programs;
	sim->host.attached = count_attached;
	sim->host.programs_arg = s;
	*out = s;
	return 0;
}

void
server_free(struct server *s)
{
	struct stat st;

	if (!s)
		return;
	if (s->sim->host.programs_arg == s) {
		s->sim->host.programs = NULL;
		s->sim->host.attached = NULL;
		s->sim->host.programs_arg = NULL;
	}
	/* nobody waits for an issm file any more when its holder ends */
	list_each(it, &s->issms)
		list_remove(it);
	list_each(it, &s->conns)
		conn_free(list_entry(it, struct conn, list));
	umad_pump_free(s->pump);
	sysfs_free(s->sysfs);
	hosts_free(s->hosts);
	loop_fd_free(s->watch);
	loop_timer_free(s->again);
	if (s->fd >= 0)
		close(s->fd);
	if (s->path && lstat(s->path, &st) == 0 && st.st_dev == s->dev && st.st_ino == s->ino)
		unlink(s->path);
	mem_free(s->path);
	mem_free(s);
}
