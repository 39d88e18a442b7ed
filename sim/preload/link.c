/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Talking to the simulator. The root of the host's tree is asked for when a path first needs it and
 * kept; a tree that has gone is asked for anew, as the simulator may have been started again.
 */
#include "sim/preload/link.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include "sim/preload/cancel.h"
#include "sim/preload/real.h"

static struct {
	pthread_mutex_t lock;
	char root[256];		/* of the tree; empty: not known */
	bool complained;	/* that there is no simulator has been said */
} host = { .lock = PTHREAD_MUTEX_INITIALIZER };

bool
link_wanted(void)
{
	const char *s = getenv("WEFTSIM_SOCKET");

	return s && *s;
}

static void
copy_text(char *to, size_t size, const char *from)
{
	size_t len = from ? strnlen(from, size - 1) : 0;

	if (len)
		memcpy(to, from, len);
	to[len] = '\0';
}

void
link_request(struct attach_request *q, enum attach_kind kind, uint32_t index)
{
	const char *layout = getenv("WEFTSIM_LAYOUT");

	memset(q, 0, sizeof(*q));
	q->magic = ATTACH_MAGIC;
	q->version = ATTACH_VERSION;
	q->kind = kind;
	q->index = index;
	q->pid = (uint32_t)getpid();
	q->layout = layout && strcmp(layout, "pairs") == 0 ? ATTACH_PAIRS : ATTACH_PLAIN;
	copy_text(q->node, sizeof(q->node), getenv("WEFTSIM_NODE"));
	copy_text(q->program, sizeof(q->program), program_invocation_short_name);
}

int
link_connect(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	const char *path = getenv("WEFTSIM_SOCKET");
	int fd, rc, why;

	if (!path || strlen(path) >= sizeof(a.sun_path)) {
		errno = ENXIO;
		return -1;
	}
	copy_text(a.sun_path, sizeof(a.sun_path), path);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	do
		rc = connect(fd, (struct sockaddr *)&a, sizeof(a));
	while (rc < 0 && errno == EINTR);
	if (rc == 0)
		return fd;
	why = errno == EACCES || errno == EPERM ? EACCES : ENXIO;
	REAL(close)(fd);
	errno = why;
	return -1;
}

/* ---- one question ---- */

union control {			/* room for LINK_FDS descriptors */
	struct cmsghdr align;
	char bytes[CMSG_SPACE(LINK_FDS * sizeof(int))];
};

static int
send_request(int conn, const struct attach_request *q, int fd)
{
	struct iovec v = { .iov_base = (void *)q, .iov_len = sizeof(*q) };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };
	union control c;
	struct cmsghdr *h;
	ssize_t n;

	if (fd >= 0) {
		memset(&c, 0, sizeof(c));
		m.msg_control = c.bytes;
		m.msg_controllen = CMSG_SPACE(sizeof(int));
		h = CMSG_FIRSTHDR(&m);
		h->cmsg_level = SOL_SOCKET;
		h->cmsg_type = SCM_RIGHTS;
		h->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(h), &fd, sizeof(int));
	}
	do
		n = sendmsg(conn, &m, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof(*q) ? 0 : -1;
}

static unsigned
take_descriptors(struct msghdr *m, int fds[LINK_FDS])
{
	unsigned have = 0;
	size_t n;
	int fd;

	for (struct cmsghdr *h = CMSG_FIRSTHDR(m); h; h = CMSG_NXTHDR(m, h)) {
		if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS)
			continue;
		n = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n; i++) {
			memcpy(&fd, CMSG_DATA(h) + i * sizeof(int), sizeof(int));
			if (have < LINK_FDS)
				fds[have++] = fd;
			else
				REAL(close)(fd);
		}
	}
	return have;
}

static void
close_all(const int fds[LINK_FDS], unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		REAL(close)(fds[i]);
}

static int
receive_reply(int conn, bool interruptible, struct attach_reply *r, int fds[LINK_FDS],
	      unsigned *nfds)
{
	struct iovec v = { .iov_base = r, .iov_len = sizeof(*r) };
	union control c;
	struct msghdr m;
	ssize_t n;

	do {
		m = (struct msghdr){ .msg_iov = &v, .msg_iovlen = 1, .msg_control = c.bytes,
				     .msg_controllen = sizeof(c) };
		n = recvmsg(conn, &m, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR && !interruptible);
	if (n < 0)
		return -1;
	*nfds = take_descriptors(&m, fds);
	if (n >= (ssize_t)offsetof(struct attach_reply, text) && r->magic == ATTACH_MAGIC &&
	    r->version == ATTACH_VERSION)
		return 0;
	close_all(fds, *nfds);
	errno = EIO;
	return -1;
}

int
link_ask(int conn, const struct attach_request *q, int fd, bool interruptible,
	 struct attach_reply *r, int fds[LINK_FDS], unsigned *nfds)
{
	int got[LINK_FDS];
	unsigned n = 0;

	memset(r, 0, sizeof(*r));
	if (send_request(conn, q, fd) < 0 || receive_reply(conn, interruptible, r, got, &n) < 0) {
		if (!interruptible || errno != EINTR)
			errno = EIO;
		return -1;
	}
	r->text[sizeof(r->text) - 1] = '\0';
	if (r->status != 0 || !nfds) {
		close_all(got, n);
		n = 0;
	}
	if (nfds) {
		*nfds = n;
		memcpy(fds, got, n * sizeof(got[0]));
	}
	if (r->status == 0)
		return 0;
	errno = r->status > 0 && r->status < 4096 ? r->status : EIO;
	return -1;
}

/* ---- the tree ---- */

static void
complain(const char *why)
{
	if (host.complained)
		return;
	host.complained = true;
	fprintf(stderr, "libweftsim-umad: %s: %s; no InfiniBand devices are shown\n",
		getenv("WEFTSIM_SOCKET"), why);
}

static int
ask_root(void)
{
	struct attach_request q;
	struct attach_reply r;
	int conn = link_connect();
	int rc;

	host.root[0] = '\0';
	if (conn < 0) {
		complain("no simulator answers at this socket (WEFTSIM_SOCKET)");
		return -1;
	}
	link_request(&q, ATTACH_HOST, 0);
	rc = link_ask(conn, &q, -1, false, &r, NULL, NULL);
	REAL(close)(conn);
	if (rc < 0) {
		complain(r.text[0] ? r.text : "the simulator gives no answer");
		return -1;
	}
	if (r.text[0] != '/' || strlen(r.text) >= sizeof(host.root)) {
		complain("the simulator names no folder");
		return -1;
	}
	copy_text(host.root, sizeof(host.root), r.text);
	host.complained = false;
	return 0;
}

int
link_root(char *buf, size_t size)
{
	int keep = errno, rc = 0, cancel = cancel_off();

	pthread_mutex_lock(&host.lock);
	if (!host.root[0] || REAL(access)(host.root, F_OK) < 0)
		rc = ask_root();
	copy_text(buf, size, host.root);
	pthread_mutex_unlock(&host.lock);
	cancel_back(cancel);
	errno = rc < 0 ? ENOENT : keep;
	return rc;
}

void
link_after_fork(void)
{
	pthread_mutex_init(&host.lock, NULL);
}
