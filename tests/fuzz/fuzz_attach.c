/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "sim/attach.h"
#include "sim/serve/server.h"
#include "sim/control/sim.h"
#include "sm/base/log.h"
#include "sm/base/loop.h"
#include "sm/text/ibnet.h"

/*
 * Programs that do what they like, on a real server with a small fabric. The input is a list of
 * steps, a byte each with its operands: connect, send any bytes, send a request that is nearly
 * right, scribble into the shared memory, ring, pass descriptors, hang up. When all have hung up,
 * no program is left on the server.
 */
#define PROGRAMS 3

static const char fabric_text[] =
	"Switch 2 \"S1\"\n[1] \"H1\"[1]\n[2] \"H2\"[1]\n\n"
	"Ca 1 \"H1\"  # \"a mlx5_0\"\n\nCa 1 \"H2\"  # \"a mlx5_1\"\n";

struct program {
	int conn;			/* -1: not connected */
	int fds[3];			/* of an open umad file, or -1 */
	struct attach_shared *m;	/* its rings, or NULL */
};

struct input {
	const uint8_t *data;		/* what is left */
	size_t size;			/* bytes of it */
};

static struct loop *loop;
static struct sim *sim;
static struct server *server;
static char path[64];
static struct program programs[PROGRAMS];

static void
must(bool holds)
{
	if (!holds)
		abort();
}

static void
stop(void)
{
	server_free(server);
	sim_free(sim);
	loop_free(loop);
}

static void
start(void)
{
	struct model_options o = { .seed = 1, .instant = true };
	struct ibnet *net;
	struct error e;

	log_open("stderr", LOG_L_ERROR, NULL);
	must(!ibnet_parse(&net, fabric_text, strlen(fabric_text), "fabric", &e));
	loop = loop_new_event();
	must(!sim_new(&sim, loop, net, &o, &e));
	snprintf(path, sizeof(path), "/tmp/weft-fuzz-%d.sock", (int)getpid());
	must(!server_new(&server, sim, path, &e));
	for (unsigned i = 0; i < PROGRAMS; i++)
		programs[i] = (struct program){ .conn = -1, .fds = { -1, -1, -1 } };
	atexit(stop);
}

/* Some turns, with a look at the descriptors in between. */
static void
turns(void)
{
	loop_run_until(loop, loop_now(loop) + USEC(30), NULL);
}

static uint8_t
byte(struct input *in)
{
	if (!in->size)
		return 0;
	in->size--;
	return *in->data++;
}

static uint32_t
word(struct input *in)
{
	uint32_t w = byte(in);

	/* small numbers, those near the limits of rings, and any */
	if (w < 0x80)
		return w;
	if (w < 0xc0)
		return ATTACH_SLOTS - 0x20 + (w & 0x3f);
	return w << 24 | (uint32_t)byte(in) << 16 | (uint32_t)byte(in) << 8 | byte(in);
}

static void
hang_up(struct program *p)
{
	for (unsigned i = 0; i < 3; i++)
		if (p->fds[i] >= 0)
			close(p->fds[i]);
	if (p->m)
		munmap(p->m, sizeof(*p->m));
	if (p->conn >= 0)
		close(p->conn);
	*p = (struct program){ .conn = -1, .fds = { -1, -1, -1 } };
}

static void
dial(struct program *p)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };

	hang_up(p);
	strcpy(sa.sun_path, path);
	p->conn = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	must(p->conn >= 0 && !connect(p->conn, (struct sockaddr *)&sa, sizeof(sa)));
}

static void
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
	if (p->conn >= 0 && sendmsg(p->conn, &msg, MSG_NOSIGNAL) < 0)
		must(errno == EAGAIN || errno == EPIPE || errno == ECONNRESET);
}

/* Replies are whole; what an open file brings along is mapped. */
static void
hear(struct program *p)
{
	static struct attach_reply r;
	union {
		struct cmsghdr h;
		char space[CMSG_SPACE(3 * sizeof(int))];
	} control;
	struct iovec iov = { &r, sizeof(r) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
			      .msg_controllen = sizeof(control) };
	ssize_t n = p->conn >= 0 ? recvmsg(p->conn, &msg, MSG_CMSG_CLOEXEC) : 0;
	struct cmsghdr *h;

	if (n <= 0)
		return;
	must(n == sizeof(r) && r.magic == ATTACH_MAGIC && r.length_text <= ATTACH_TEXT);
	h = CMSG_FIRSTHDR(&msg);
	if (h && h->cmsg_len == CMSG_LEN(3 * sizeof(int)) && !p->m) {
		memcpy(p->fds, CMSG_DATA(h), 3 * sizeof(int));
		p->m = mmap(NULL, sizeof(*p->m), PROT_READ | PROT_WRITE, MAP_SHARED, p->fds[1], 0);
		must(p->m != MAP_FAILED);
	} else if (h) {
		int fd;

		memcpy(&fd, CMSG_DATA(h), sizeof(fd));
		close(fd);
	}
}

static void
raw(struct program *p, struct input *in)
{
	size_t size = byte(in) * 20u;

	size = size < in->size ? size : in->size;
	say(p, in->data, size, -1);
	in->data += size;
	in->size -= size;
}

static void
request(struct program *p, struct input *in, int fd)
{
	struct attach_request q = {
		.magic = ATTACH_MAGIC, .version = ATTACH_VERSION, .kind = byte(in) % 10,
		.index = word(in) % 40, .nonblock = byte(in) & 1, .length = word(in),
		.layout = byte(in) % 3,
	};
	uint8_t flags = byte(in);

	q.reg = (struct attach_registration){
		.methods = { word(in) }, .qpn = flags & 1, .mgmt_class = byte(in),
		.class_version = 1 + (flags >> 1 & 1), .rmpp_version = flags >> 2 & 1,
		.user_rmpp = flags >> 3 & 1,
	};
	if (flags & 0x80)
		((uint8_t *)&q)[word(in) % sizeof(q)] = byte(in);
	say(p, &q, sizeof(q), fd);
}

static void
scribble(struct program *p, struct input *in)
{
	uint8_t what = byte(in);
	uint32_t value = word(in);

	if (!p->m)
		return;
	if (what % 8 == 0)
		p->m->tx.head = value;
	else if (what % 8 == 1)
		p->m->tx.tail = value;
	else if (what % 8 == 2)
		p->m->tx.bell = value;
	else if (what % 8 == 3)
		p->m->rx.count = value;
	else if (what % 8 == 4)
		p->m->rx.waits = value;
	else
		((uint8_t *)p->m)[value * 41u % sizeof(*p->m)] = byte(in);
}

/* A MAD as it comes, or a directed-route Get with an agent's number. */
static void
put(struct program *p, struct input *in)
{
	struct attach_slot *slot;
	uint8_t how = byte(in);
	size_t size = byte(in);

	if (!p->m)
		return;
	slot = &p->m->tx.slots[p->m->tx.head % ATTACH_SLOTS];
	memset(slot->data, 0, sizeof(slot->data));
	slot->length = how & 1 ? word(in) : sizeof(slot->data);
	if (how & 2) {
		memcpy(slot->data, "\0\0\0\0\0\0\0\0\x01\0\0\0", 12);
		memset(slot->data + 28, 0xff, 2);
		memcpy(slot->data + 64, "\x01\x81\x01\x01", 4);
		slot->data[64 + 17] = 0x11;
		memset(slot->data + 64 + 32, 0xff, 4);
	}
	size = size < in->size ? size : in->size;
	if (size)
		memcpy(slot->data + (how & 2 ? 64 + 12 : how & 4 ? 64 : 0), in->data,
		       how & 2 ? size % 16 : size);
	in->data += size;
	in->size -= size;
	p->m->tx.head++;
	p->m->tx.bell = 1;
	eventfd_write(p->fds[2], 1);
}

static void
step(struct input *in)
{
	uint8_t what = byte(in);
	struct program *p = &programs[what / 16 % PROGRAMS];
	struct attach_request open = {
		.magic = ATTACH_MAGIC, .version = ATTACH_VERSION, .kind = ATTACH_OPEN_UMAD,
	};

	switch (what % 16) {
	case 0:
		dial(p);
		say(p, &open, sizeof(open), -1);
		break;
	case 1:
		dial(p);
		break;
	case 2:
		hang_up(p);
		break;
	case 3:
		raw(p, in);
		break;
	case 4:
		scribble(p, in);
		break;
	case 5:
	case 6:
		put(p, in);
		break;
	case 7:
		request(p, in, p->fds[what / 64 % 3]);
		break;
	case 8:
	case 9:
		request(p, in, -1);
		break;
	case 10:
		hear(p);
		break;
	default:
		turns();
		hear(p);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };

	if (!loop)
		start();
	for (unsigned i = 0; in.size && i < 200; i++)
		step(&in);
	turns();
	for (unsigned i = 0; i < PROGRAMS; i++)
		hang_up(&programs[i]);
	for (unsigned i = 0; sim->host.attached(sim->host.programs_arg); i++) {
		must(i < 1000);
		turns();
	}
	return 0;
}
