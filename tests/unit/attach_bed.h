/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ATTACH_BED_H
#define ATTACH_BED_H

#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <cmocka.h>
#include "sim/attach.h"
#include "sim/kernel/kernel.h"
#include "sim/serve/server.h"
#include "sm/base/mem.h"

/*
 * A served simulation, and a client that speaks sim/attach.h in the same thread: while it waits,
 * the loop runs.
 *
 *   "gpu-01 mlx5_0"[1] - 1 S1 4 - "gpu-01 mlx5_1"[1]     gpu-01's ports: LIDs 2 and 5
 *   "two HCA-1"[1],[2] - 2,3                             LIDs 3 and 4
 *   two nodes "localhost HCA-1", not cabled
 */
static const char fabric_text[] =
	"switchguid=0xa0(a0)\nSwitch 6 \"S-A0\"  # \"S1\" base port 0 lid 1 lmc 0\n"
	"[1] \"H-10\"[1](11)  # \"gpu-01 mlx5_0\" lid 2 4xNDR\n"
	"[2] \"H-20\"[1](21)  # \"two HCA-1\" lid 3 4xFDR\n"
	"[3] \"H-20\"[2](22)  # \"two HCA-1\" lid 4 1xSDR\n"
	"[4] \"H-30\"[1](31)  # \"gpu-01 mlx5_1\" lid 5 4xNDR\n\n"
	"vendid=0x2c9\ndevid=0x1021\nsysimgguid=0x13\ncaguid=0x10\n"
	"Ca 1 \"H-10\"  # \"gpu-01 mlx5_0\"\n"
	"[1](11) \"S-A0\"[1]  # lid 2 lmc 0 \"S1\" lid 1 4xNDR\n\n"
	"caguid=0x20\nCa 2 \"H-20\"  # \"two HCA-1\"\n"
	"[1](21) \"S-A0\"[2]  # lid 3 lmc 0 \"S1\" lid 1 4xFDR\n"
	"[2](22) \"S-A0\"[3]  # lid 4 lmc 0 \"S1\" lid 1 1xSDR\n\n"
	"caguid=0x30\nCa 1 \"H-30\"  # \"gpu-01 mlx5_1\"\n"
	"[1](31) \"S-A0\"[4]  # lid 5 lmc 0 \"S1\" lid 1 4xNDR\n\n"
	"caguid=0x40\nCa 1 \"H-40\"  # \"localhost HCA-1\"\n\n"
	"caguid=0x50\nCa 1 \"H-50\"  # \"localhost HCA-1\"\n";

struct bed {
	struct loop *loop;	/* an event loop */
	struct sim *sim;	/* of fabric_text, instant */
	struct server *server;	/* under test */
	char path[64];		/* of its socket */
};

/* A file that a program has open. */
struct program {
	struct bed *bed;		/* where */
	int conn;			/* the connection, -1: closed */
	int fds[3];			/* as handed over */
	unsigned nfds;			/* of those */
	int fetched;			/* that came with the last reply to an open file */
	struct attach_shared *m;	/* umad: the rings */
	uint32_t head, tail;		/* our numbers */
};

static inline int
bed_setup(void **state)
{
	struct bed *b = calloc(1, sizeof(*b));
	struct model_options o = { .seed = 1, .instant = true };
	struct ibnet *net;
	struct error e = { 0 };

	assert_non_null(b);
	if (ibnet_parse(&net, fabric_text, strlen(fabric_text), "fabric", &e))
		fail_msg("%s", e.text);
	b->loop = loop_new_event();
	if (sim_new(&b->sim, b->loop, net, &o, &e))
		fail_msg("%s", e.text);
	snprintf(b->path, sizeof(b->path), "/tmp/weft-test-%d.sock", (int)getpid());
	if (server_new(&b->server, b->sim, b->path, &e))
		fail_msg("%s", e.text);
	*state = b;
	return 0;
}

static inline int
bed_teardown(void **state)
{
	struct bed *b = *state;

	server_free(b->server);
	sim_free(b->sim);
	loop_free(b->loop);
	free(b);
	return 0;
}

static inline void
run(struct bed *b)
{
	loop_run_until(b->loop, loop_now(b->loop) + USEC(200), NULL);
}

static inline struct program
dial(struct bed *b)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	struct program p = { .bed = b, .fds = { -1, -1, -1 } };

	strcpy(sa.sun_path, b->path);
	p.conn = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	assert_true(p.conn >= 0);
	assert_int_equal(connect(p.conn, (struct sockaddr *)&sa, sizeof(sa)), 0);
	return p;
}

static inline void
hang_up(struct program *p)
{
	for (unsigned i = 0; i < p->nfds; i++)
		close(p->fds[i]);
	if (p->m)
		munmap(p->m, sizeof(*p->m));
	if (p->conn >= 0)
		close(p->conn);
	p->conn = -1;
	p->m = NULL;
	p->nfds = 0;
}

/* A packet, with a descriptor if fd >= 0. */
static inline void
say(struct program *p, const void *data, size_t size, int fd)
{
	union {
		struct cmsghdr h;
		char space[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct iovec iov = { (void *)(uintptr_t)data, size };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (fd >= 0) {
		control.h.cmsg_level = SOL_SOCKET;
		control.h.cmsg_type = SCM_RIGHTS;
		control.h.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.h), &fd, sizeof(fd));
		msg.msg_control = &control;
		msg.msg_controllen = sizeof(control.space);
	}
	assert_int_equal(sendmsg(p->conn, &msg, MSG_NOSIGNAL), size);
}

/* The next reply, if it comes within a second; descriptors that come along are kept.
 * False: the server hung up, or (errno EAGAIN) nothing comes. */
static inline bool
hear(struct program *p, struct attach_reply *r)
{
	union {
		struct cmsghdr h;
		char space[CMSG_SPACE(3 * sizeof(int))];
	} control;
	struct iovec iov = { r, sizeof(*r) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
			      .msg_controllen = sizeof(control) };
	monotime end = loop_now(p->bed->loop) + SEC(1);
	struct cmsghdr *h;
	ssize_t n;

	while ((n = recvmsg(p->conn, &msg, MSG_CMSG_CLOEXEC)) < 0 && errno == EAGAIN &&
	       loop_now(p->bed->loop) < end)
		run(p->bed);
	if (n <= 0)
		return false;
	assert_int_equal(n, sizeof(*r));
	assert_int_equal(r->magic, ATTACH_MAGIC);
	assert_int_equal(r->version, ATTACH_VERSION);
	h = CMSG_FIRSTHDR(&msg);
	if (h && p->nfds) {
		assert_int_equal(h->cmsg_len, CMSG_LEN(sizeof(int)));
		memcpy(&p->fetched, CMSG_DATA(h), sizeof(int));
	} else if (h) {
		p->nfds = (unsigned)((h->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(p->fds, CMSG_DATA(h), p->nfds * sizeof(int));
	}
	return true;
}

static inline struct attach_request
request(uint32_t kind, uint32_t index, const char *node)
{
	struct attach_request q = {
		.magic = ATTACH_MAGIC, .version = ATTACH_VERSION, .kind = kind, .index = index,
		.pid = 77, .program = "test\n",
	};

	snprintf(q.node, sizeof(q.node), "%s", node);
	return q;
}

static inline struct attach_reply
ask_fd(struct program *p, struct attach_request q, int fd)
{
	struct attach_reply r;

	say(p, &q, sizeof(q), fd);
	if (!hear(p, &r))
		fail_msg("no reply");
	return r;
}

static inline struct attach_reply
ask(struct program *p, struct attach_request q)
{
	return ask_fd(p, q, -1);
}

/* Open umadN of a host. */
static inline struct program
open_umad(struct bed *b, const char *node, uint32_t index)
{
	struct program p = dial(b);
	struct attach_reply r = ask(&p, request(ATTACH_OPEN_UMAD, index, node));

	assert_int_equal(r.status, 0);
	assert_int_equal(p.nfds, 3);
	p.m = mmap(NULL, sizeof(*p.m), PROT_READ | PROT_WRITE, MAP_SHARED, p.fds[1], 0);
	assert_true(p.m != MAP_FAILED);
	return p;
}

/* An agent that sends SMPs, and gets requests of class 0x81 if `methods`. */
static inline struct attach_request
smp_agent(uint32_t methods)
{
	struct attach_request q = request(ATTACH_REGISTER, 0, "");

	q.reg = (struct attach_registration){
		.methods = { methods }, .mgmt_class = methods ? 0x81 : 0, .class_version = 1,
	};
	return q;
}

/* The program's part of the rings, as attach.h has it. */
static inline void
ring_bell(struct program *p)
{
	if (!__atomic_exchange_n(&p->m->tx.bell, 1, __ATOMIC_SEQ_CST))
		assert_int_equal(eventfd_write(p->fds[2], 1), 0);
}

static inline bool
tx_put(struct program *p, const uint8_t *data, uint32_t length)
{
	struct attach_slot *slot = &p->m->tx.slots[p->head % ATTACH_SLOTS];

	if (p->head - __atomic_load_n(&p->m->tx.tail, __ATOMIC_ACQUIRE) == ATTACH_SLOTS)
		return false;
	memcpy(slot->data, data, length < sizeof(slot->data) ? length : sizeof(slot->data));
	slot->length = length;
	__atomic_store_n(&p->m->tx.head, ++p->head, __ATOMIC_RELEASE);
	ring_bell(p);
	return true;
}

static inline bool
rx_take(struct program *p, struct attach_slot *out)
{
	char byte;
	uint32_t left;

	if (!__atomic_load_n(&p->m->rx.count, __ATOMIC_ACQUIRE))
		return false;
	*out = p->m->rx.slots[p->tail++ % ATTACH_SLOTS];
	left = __atomic_sub_fetch(&p->m->rx.count, 1, __ATOMIC_SEQ_CST);
	if (!left)
		assert_int_equal(read(p->fds[0], &byte, 1), 1);
	if (__atomic_load_n(&p->m->rx.waits, __ATOMIC_SEQ_CST) && left <= ATTACH_SLOTS / 2)
		ring_bell(p);
	return true;
}

/* The next MAD, if one comes within a second. */
static inline bool
rx_wait(struct program *p, struct attach_slot *out)
{
	monotime end = loop_now(p->bed->loop) + SEC(1);

	while (!rx_take(p, out)) {
		if (loop_now(p->bed->loop) >= end)
			return false;
		run(p->bed);
	}
	return true;
}

#endif
