/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/ctl/ctl.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "sm/base/frame.h"
#include "sm/base/log.h"
#include "sm/base/folder.h"
#include "sm/base/mem.h"
#include "sm/ctl/client.h"

/*
 * The control server: a listening socket, and the clients that came through it. It owns both and
 * the socket file. Events: a connection waits, and a tick once a second while there are clients,
 * on which each one's idle limit is looked at. Who connects is decided by the mode of the
 * file; who may change things by the credentials that the kernel vouches for (unix(7)).
 */
#define MAX_CLIENTS 64u
#define RESERVED_CLIENTS 8	/* of these */
#define BACKLOG 64
#define NO_GROUP ((gid_t)-1)

struct ctl {
	struct loop *loop;		/* borrowed */
	const struct ctl_host *host;	/* borrowed */
	char *path;			/* of the socket file; NULL: none */
	dev_t dev;			/* which file it is, so as not to remove a successor's */
	ino_t ino;
	gid_t group;			/* may change things; NO_GROUP */
	int fd;				/* listening; -1 */
	struct loop_fd *watch;		/* of fd */
	struct loop_timer *tick;	/* while there are clients, or accepting is paused */
	struct ctl_gate *gate;		/* to the worker, for all clients */
	struct list clients;		/* of struct ctl_client */
	unsigned nclients;		/* in it */
	bool paused;			/* out of descriptors: accept again at the next tick */
	struct log_limit limit;		/* of messages that clients can cause */
};

/* The supplementary groups come from the kernel: no name service is asked inside a handler. */
static bool
in_group(int fd, const struct ucred *who, gid_t group)
{
	gid_t groups[256];
	socklen_t size = sizeof(groups);

	if (group == NO_GROUP)
		return false;
	if (who->gid == group)
		return true;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &size))
		return false;
	for (size_t i = 0; i < size / sizeof(groups[0]); i++) {
		if (groups[i] == group)
			return true;
	}
	return false;
}

static bool
is_owner(int fd)
{
	struct ucred who;
	socklen_t size = sizeof(who);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) &&
	       (who.uid == 0 || who.uid == geteuid());
}

static bool
may_change(const struct ctl *c, int fd)
{
	struct ucred who;
	socklen_t size = sizeof(who);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size))
		return false;
	return is_owner(fd) || in_group(fd, &who, c->group);
}

/* One line for the client that is too many; if it does not fit into the socket, so be it. */
static void
turn_away(struct ctl *c, int fd)
{
	struct buf out = { 0 };

	client_hello(&out);
	buf_printf(&out, "{\"ok\":false,\"error\":\"%u clients are connected already, which is the "
		   "limit\",\"code\":1}\n", c->nclients);
	if (send(fd, out.data, out.len, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		log_debug("control socket: %s", strerror(errno));
	buf_free(&out);
	close(fd);
	log_limited(&c->limit, LOG_L_WARNING, "control socket: more than %u clients", c->nclients);
}

static void
on_connection(void *arg, int fd, unsigned events)
{
	struct ctl *c = arg;
	int got = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	(void)events;
	if (got < 0) {
		if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED)
			return;
		log_limited(&c->limit, LOG_L_ERROR, "control socket: accepting a client: %s",
			    strerror(errno));
		c->paused = true;
		loop_fd_set(c->watch, 0);
		loop_timer_set(c->tick, SEC(1));
		return;
	}
	/* The last places are for root and ourselves: others must not be able to lock them out. */
	if (c->nclients >= MAX_CLIENTS ||
	    (c->nclients >= MAX_CLIENTS - RESERVED_CLIENTS && !is_owner(got))) {
		turn_away(c, got);
		return;
	}
	client_new(&c->clients, &c->nclients, c->loop, got, c->host, c->gate, may_change(c, got));
	if (!loop_timer_pending(c->tick))
		loop_timer_set(c->tick, SEC(1));
}

static void
on_tick(void *arg)
{
	struct ctl *c = arg;

	list_each(it, &c->clients)
		client_tick(list_entry(it, struct ctl_client, list));
	if (c->paused) {
		c->paused = false;
		loop_fd_set(c->watch, LOOP_READ);
	}
	if (c->nclients)
		loop_timer_set(c->tick, SEC(1));
}

/* A file that nobody listens on is what a killed daemon left: remove it. */
static int
clear_path(const struct sockaddr_un *sa, struct error *e)
{
	struct stat st;
	int fd, ret;

	if (lstat(sa->sun_path, &st))
		return 0;
	if (!S_ISSOCK(st.st_mode))
		return error_set(e, ERR_EXISTS,
				 "%s exists and is no socket: remove it, or name another "
				 "control socket",
				 sa->sun_path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return error_set(e, ERR_IO, "no socket can be had: %s", strerror(errno));
	ret = connect(fd, (const struct sockaddr *)sa, sizeof(*sa));
	if (ret == 0 || errno != ECONNREFUSED) {
		close(fd);
		return error_set(e, ERR_EXISTS, "the control socket %s is in use by another daemon",
				 sa->sun_path);
	}
	close(fd);
	if (unlink(sa->sun_path) && errno != ENOENT)
		return error_set(e, ERR_IO, "the old control socket %s cannot be removed: %s",
				 sa->sun_path, strerror(errno));
	return 0;
}

static int
set_rights(struct ctl *c, const char *group, struct error *e)
{
	struct group *g = group ? getgrnam(group) : NULL;

	c->group = g ? g->gr_gid : NO_GROUP;
	if (group && !g)
		return error_set(e, ERR_NOT_FOUND,
				 "there is no group \"%s\" for the control socket", group);
	if (chmod(c->path, g ? 0660 : 0600) || (g && chown(c->path, (uid_t)-1, g->gr_gid)))
		return error_set(e, ERR_IO, "the rights of the control socket %s cannot be set: %s",
				 c->path, strerror(errno));
	return 0;
}

static int
open_socket(struct ctl *c, const char *path, const char *group, struct error *e)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	struct stat st;
	int ret;

	if (strlen(path) >= sizeof(sa.sun_path))
		return error_set(e, ERR_INVALID,
				 "the path of the control socket is longer than %zu bytes: %s",
				 sizeof(sa.sun_path) - 1, path);
	memcpy(sa.sun_path, path, strlen(path) + 1);
	if ((ret = folder_make(path, e)) || (ret = clear_path(&sa, e)))
		return ret;
	c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (c->fd < 0 || bind(c->fd, (const struct sockaddr *)&sa, sizeof(sa)))
		return error_set(e, ERR_IO, "the control socket %s cannot be made: %s", path,
				 strerror(errno));
	c->path = mem_strdup(path);
	if (lstat(path, &st) == 0) {
		c->dev = st.st_dev;
		c->ino = st.st_ino;
	}
	/* Nobody can connect before listen(), so the rights are in place in time. */
	if ((ret = set_rights(c, group, e)))
		return ret;
	if (listen(c->fd, BACKLOG))
		return error_set(e, ERR_IO, "listening on %s: %s", path, strerror(errno));
	c->watch = loop_fd_new(c->loop, c->fd, on_connection, c);
	if (!c->watch)
		return error_set(e, ERR_IO, "the control socket %s cannot be watched", path);
	loop_fd_set(c->watch, LOOP_READ);
	return 0;
}

struct ctl *
ctl_new(struct loop *l, const char *path, const char *group, const struct ctl_host *host,
	struct error *e)
{
	struct ctl *c = mem_zalloc(sizeof(*c));

	c->loop = l;
	c->host = host;
	c->fd = -1;
	c->group = NO_GROUP;
	c->gate = gate_new();
	list_init(&c->clients);
	c->tick = loop_timer_new(l, on_tick, c);
	if (path && open_socket(c, path, group, e)) {
		ctl_free(c);
		return NULL;
	}
	return c;
}

void
ctl_free(struct ctl *c)
{
	struct stat st;

	if (!c)
		return;
	list_each(it, &c->clients)
		client_free(list_entry(it, struct ctl_client, list));
	loop_fd_free(c->watch);
	loop_timer_free(c->tick);
	if (c->fd >= 0)
		close(c->fd);
	if (c->path && lstat(c->path, &st) == 0 && st.st_dev == c->dev && st.st_ino == c->ino)
		unlink(c->path);
	gate_unref(c->gate);
	mem_free(c->path);
	mem_free(c);
}

void
ctl_feed(struct ctl *c, const char *line, size_t len, struct buf *out)
{
	struct ctl_client client = { .host = c->host, .loop = c->loop, .gate = c->gate, .fd = -1,
				     .changes = true };
	struct ctl_req *r;

	r = req_start(&client, line, len);
	while (!r->answered && r->step) {
		if (r->step(r) == STEP_DONE)
			req_end(r);
	}
	req_drop(r);
	buf_add(out, client.out.data, client.out.len);
	buf_free(&client.out);
}
