/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_PRELOAD_FAKE_H
#define TESTS_UNIT_PRELOAD_FAKE_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include "sim/attach.h"

/*
 * A simulator for tests of the preload library: a process that follows sim/attach.h and behaves, by
 * the number of the umad device, well or badly.
 */
enum fake_device {
	FAKE_ECHO,		/* answers every MAD with itself and the response bit */
	FAKE_LONG,		/* answers with FAKE_LONG_SIZE bytes */
	FAKE_COUNT,		/* answers with an impossible count */
	FAKE_LENGTH,		/* answers with an impossible length */
	FAKE_DIES,		/* hangs up at the first MAD */
	FAKE_SILENT,		/* takes all, answers nothing, refuses long messages (EINVAL) */
	FAKE_TIMES_OUT,		/* every MAD comes back after its time-out */
	FAKE_FLOODS,		/* answers with FAKE_FLOOD MADs, numbered at byte 64 */
	FAKE_STUCK,		/* looks at nothing until somebody asks a question */
	FAKE_UNSEALED,		/* the shared memory may shrink */
	FAKE_BYTES,		/* sends bytes that stand for no MAD */
	FAKE_NONE,		/* and above: there is no such device (ENOENT) */
};
#define FAKE_LONG_SIZE 1000	/* of the MAD */
#define FAKE_FLOOD 3000
#define FAKE_FILES 32

struct fake_file {
	int conn;			/* -1: unused */
	int pair;			/* our end of the program's descriptor; -1: not a umad */
	int wake;			/* eventfd */
	struct attach_shared *rings;	/* shared */
	enum fake_device device;	/* how it behaves */
	uint32_t taken, filled;		/* slots of tx and rx so far */
	unsigned held_back;		/* MADs of a flood still to come */
	uint32_t agents;		/* bit a: agent a is there */
};

struct fake {
	int listener;			/* the socket */
	const char *root;		/* of the tree */
	struct fake_file *issm;		/* holder of issm0 */
	struct fake_file files[FAKE_FILES];
};

static void
fake_put(struct fake_file *f, const uint8_t *data, uint32_t length, uint32_t long_id)
{
	struct attach_slot *s = &f->rings->rx.slots[f->filled++ % ATTACH_SLOTS];

	s->length = length;
	s->long_id = long_id;
	memcpy(s->data, data, length < sizeof(s->data) ? length : sizeof(s->data));
}

static void
fake_publish(struct fake_file *f, uint32_t n)
{
	if (n && __atomic_fetch_add(&f->rings->rx.count, n, __ATOMIC_SEQ_CST) == 0)
		send(f->pair, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void
fake_close(struct fake *k, struct fake_file *f)
{
	if (k->issm == f)
		k->issm = NULL;
	close(f->conn);
	if (f->pair >= 0) {
		close(f->pair);
		close(f->wake);
		munmap(f->rings, sizeof(*f->rings));
	}
	*f = (struct fake_file){ .conn = -1, .pair = -1, .wake = -1 };
}

static void
fake_flood(struct fake_file *f)
{
	uint32_t room = ATTACH_SLOTS - __atomic_load_n(&f->rings->rx.count, __ATOMIC_SEQ_CST);
	uint8_t data[ATTACH_HEADER + ATTACH_MAD] = { 0 };
	uint32_t n = 0, number;

	for (; f->held_back && n < room; n++, f->held_back--) {
		number = FAKE_FLOOD - f->held_back;
		memcpy(data + ATTACH_HEADER + 64, &number, sizeof(number));
		fake_put(f, data, sizeof(data), 0);
	}
	__atomic_store_n(&f->rings->rx.waits, f->held_back != 0, __ATOMIC_SEQ_CST);
	fake_publish(f, n);
}

/* One MAD of the program's. */
static uint32_t
fake_answer(struct fake_file *f, const struct attach_slot *s)
{
	uint8_t data[ATTACH_HEADER + ATTACH_MAD] = { 0 };
	static const uint32_t timed_out = ETIMEDOUT;

	memcpy(data, s->data, s->length);
	switch (f->device) {
	case FAKE_ECHO:
		data[ATTACH_HEADER + 3] |= 0x80;
		fake_put(f, data, sizeof(data), 0);
		return 1;
	case FAKE_LONG:
		data[ATTACH_HEADER + 3] |= 0x80;
		fake_put(f, data, ATTACH_HEADER + FAKE_LONG_SIZE, 7);
		return 1;
	case FAKE_LENGTH:
		fake_put(f, data, 70000, 0);
		return 1;
	case FAKE_TIMES_OUT:
		memcpy(data + 4, &timed_out, sizeof(timed_out));
		fake_put(f, data, ATTACH_HEADER + 24, 0);
		return 1;
	case FAKE_COUNT:
		return 70000;
	case FAKE_BYTES:
		send(f->pair, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
		return 0;
	case FAKE_FLOODS:
		f->held_back = FAKE_FLOOD;
		return 0;
	default:
		return 0;
	}
}

static void
fake_take(struct fake *k, struct fake_file *f)
{
	struct attach_tx *tx = &f->rings->tx;
	uint32_t n = 0;

	do {
		while (f->taken != __atomic_load_n(&tx->head, __ATOMIC_ACQUIRE)) {
			n += fake_answer(f, &tx->slots[f->taken++ % ATTACH_SLOTS]);
			__atomic_store_n(&tx->tail, f->taken, __ATOMIC_RELEASE);
			if (f->device == FAKE_DIES) {
				fake_close(k, f);
				return;
			}
		}
		fake_publish(f, n);
		n = 0;
		__atomic_exchange_n(&tx->bell, 0, __ATOMIC_SEQ_CST);
	} while (f->taken != __atomic_load_n(&tx->head, __ATOMIC_SEQ_CST));
	if (f->held_back)
		fake_flood(f);
}

static void
fake_reply(struct fake_file *f, struct attach_reply *r, const int *fds, unsigned n)
{
	struct iovec v = { .iov_base = r, .iov_len = sizeof(*r) };
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(3 * sizeof(int))];
	} c = { .bytes = "" };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };
	struct cmsghdr *h;

	r->magic = ATTACH_MAGIC;
	r->version = ATTACH_VERSION;
	if (n) {
		m.msg_control = c.bytes;
		m.msg_controllen = CMSG_SPACE(n * sizeof(int));
		h = CMSG_FIRSTHDR(&m);
		h->cmsg_level = SOL_SOCKET;
		h->cmsg_type = SCM_RIGHTS;
		h->cmsg_len = CMSG_LEN(n * sizeof(int));
		memcpy(CMSG_DATA(h), fds, n * sizeof(int));
	}
	sendmsg(f->conn, &m, MSG_NOSIGNAL);
}

static void
fake_open(struct fake_file *f, uint32_t device, struct attach_reply *r)
{
	int fds[3], pair[2];
	void *p;

	if (device >= FAKE_NONE) {
		r->status = ENOENT;
		fake_reply(f, r, NULL, 0);
		return;
	}
	fds[1] = memfd_create("rings", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	fds[2] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0 ||
	    ftruncate(fds[1], sizeof(struct attach_shared)) < 0)
		abort();
	if (device != FAKE_UNSEALED)
		fcntl(fds[1], F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
	p = mmap(NULL, sizeof(struct attach_shared), PROT_READ | PROT_WRITE, MAP_SHARED, fds[1], 0);
	if (p == MAP_FAILED)
		abort();
	fds[0] = pair[0];
	f->pair = pair[1];
	f->wake = fds[2];
	f->rings = p;
	f->device = device;
	fake_reply(f, r, fds, 3);
	close(fds[0]);
	close(fds[1]);
}

/* What the tests know of registration: class 0x77 is refused, class 0x30 must have this OUI. */
static int
fake_register(struct fake_file *f, const struct attach_registration *r, uint32_t *id)
{
	if (r->mgmt_class == 0x77 || (r->mgmt_class == 0x30 && r->oui != 0x001405))
		return EINVAL;
	if (r->mgmt_class == 0x04 && (r->methods[0] != 0x2 || r->methods[3] != 0x80000000))
		return EINVAL;
	for (*id = 0; f->agents & (1u << *id); ++*id)
		;
	f->agents |= 1u << *id;
	return 0;
}

static void
fake_fetch(struct fake_file *f, struct attach_reply *r)
{
	uint8_t data[ATTACH_HEADER + FAKE_LONG_SIZE];
	int fd = memfd_create("long", MFD_CLOEXEC);

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i - ATTACH_HEADER);
	if (write(fd, data, sizeof(data)) != sizeof(data))
		abort();
	r->length = sizeof(data);
	fake_reply(f, r, &fd, 1);
	close(fd);
}

/* Answered too, if it is no longer than a MAD and the device answers those. */
static int
fake_send_long(struct fake_file *f, int fd, uint64_t length)
{
	struct attach_slot s = { .length = (uint32_t)length };
	struct stat st;

	if (f->device == FAKE_SILENT || fstat(fd, &st) < 0 || (uint64_t)st.st_size != length)
		return EINVAL;
	if (length > sizeof(s.data))
		return 0;
	if (pread(fd, s.data, length, 0) != (ssize_t)length)
		return EINVAL;
	fake_publish(f, fake_answer(f, &s));
	return 0;
}

static void
fake_request(struct fake *k, struct fake_file *f, const struct attach_request *q, int fd)
{
	struct attach_reply r = { 0 };

	if (f->pair >= 0)
		fake_take(k, f);
	switch (q->kind) {
	case ATTACH_HOST:
		snprintf(r.text, sizeof(r.text), "%s", k->root);
		break;
	case ATTACH_OPEN_UMAD:
		fake_open(f, q->index, &r);
		return;
	case ATTACH_OPEN_ISSM:
		if (k->issm)
			r.status = EAGAIN;
		else
			k->issm = f;
		break;
	case ATTACH_REGISTER:
		r.status = fake_register(f, &q->reg, &r.id);
		break;
	case ATTACH_UNREGISTER:
		f->agents &= ~(1u << (q->index & 31));
		break;
	case ATTACH_SEND_LONG:
		r.status = fake_send_long(f, fd, q->length);
		break;
	case ATTACH_FETCH_LONG:
		fake_fetch(f, &r);
		return;
	default:
		r.status = EPROTO;
	}
	fake_reply(f, &r, NULL, 0);
}

static void
fake_connection(struct fake *k, struct fake_file *f)
{
	struct attach_request q;
	struct iovec v = { .iov_base = &q, .iov_len = sizeof(q) };
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} c;
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = c.bytes,
			    .msg_controllen = sizeof(c) };
	struct cmsghdr *h;
	int fd = -1;

	if (recvmsg(f->conn, &m, 0) != sizeof(q) || q.magic != ATTACH_MAGIC) {
		fake_close(k, f);
		return;
	}
	h = CMSG_FIRSTHDR(&m);
	if (h)
		memcpy(&fd, CMSG_DATA(h), sizeof(fd));
	fake_request(k, f, &q, fd);
	if (fd >= 0)
		close(fd);
}

static void
fake_accept(struct fake *k)
{
	int fd = accept4(k->listener, NULL, NULL, SOCK_CLOEXEC);

	for (unsigned i = 0; i < FAKE_FILES && fd >= 0; i++) {
		if (k->files[i].conn >= 0)
			continue;
		k->files[i].conn = fd;
		return;
	}
	close(fd);
}

static void
fake_turn(struct fake *k)
{
	struct pollfd p[1 + 2 * FAKE_FILES] = { { .fd = k->listener, .events = POLLIN } };
	struct fake_file *f;
	uint64_t n;

	for (unsigned i = 0; i < FAKE_FILES; i++) {
		f = &k->files[i];
		p[1 + 2 * i] = (struct pollfd){ .fd = f->conn, .events = POLLIN };
		p[2 + 2 * i] = (struct pollfd){ .fd = f->wake, .events = POLLIN };
		if (f->device == FAKE_STUCK)
			p[2 + 2 * i].fd = -1;
	}
	if (poll(p, 1 + 2 * FAKE_FILES, -1) < 0)
		return;
	for (unsigned i = 0; i < FAKE_FILES; i++) {
		f = &k->files[i];
		if (p[2 + 2 * i].revents && read(f->wake, &n, sizeof(n)) == sizeof(n))
			fake_take(k, f);
		if (p[1 + 2 * i].revents && f->conn >= 0)
			fake_connection(k, f);
	}
	if (p[0].revents)
		fake_accept(k);
}

/* ---- the tree ---- */

static void
fake_write(const char *root, const char *name, const char *text)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s%s", root, name);
	for (char *s = strchr(path + strlen(root) + 1, '/'); s; s = strchr(s + 1, '/')) {
		*s = '\0';
		mkdir(path, 0755);
		*s = '/';
	}
	f = fopen(path, "w");
	if (!f || fputs(text, f) < 0 || fclose(f) != 0)
		abort();
}

/* What libibumad reads of a device with one port. */
static void
fake_tree(const char *root)
{
	static const char *const port[][2] = {
		{ "lid_mask_count", "0\n" }, { "sm_lid", "0x1\n" }, { "sm_sl", "0\n" },
		{ "lid", "0x7\n" }, { "state", "4: ACTIVE\n" }, { "phys_state", "5: LinkUp\n" },
		{ "rate", "100 Gb/sec (4X EDR)\n" }, { "cap_mask", "0x2651e848\n" },
		{ "link_layer", "InfiniBand\n" }, { "pkeys/0", "0xffff\n" },
		{ "gids/0", "fe80:0000:0000:0000:0002:c903:0000:0011\n" },
	};
	static const char *const ca[][2] = {
		{ "node_type", "1: CA\n" }, { "fw_ver", "1\n" }, { "hw_rev", "0\n" },
		{ "hca_type", "MT1\n" }, { "node_guid", "0002:c903:0000:0010\n" },
		{ "sys_image_guid", "0002:c903:0000:0013\n" },
	};
	char name[256];

	fake_write(root, "/sys/class/infiniband_mad/abi_version", "5\n");
	fake_write(root, "/sys/class/infiniband_mad/umad0/ibdev", "mlx5_0\n");
	fake_write(root, "/sys/class/infiniband_mad/umad0/port", "1\n");
	fake_write(root, "/dev/infiniband/umad0", "");
	fake_write(root, "/dev/infiniband/issm0", "");
	for (size_t i = 0; i < sizeof(ca) / sizeof(ca[0]); i++) {
		snprintf(name, sizeof(name), "/sys/class/infiniband/mlx5_0/%s", ca[i][0]);
		fake_write(root, name, ca[i][1]);
	}
	for (size_t i = 0; i < sizeof(port) / sizeof(port[0]); i++) {
		snprintf(name, sizeof(name), "/sys/class/infiniband/mlx5_0/ports/1/%s", port[i][0]);
		fake_write(root, name, port[i][1]);
	}
}

/* Start it below `folder`, with the socket folder/socket. It ends with its parent. */
static pid_t
fake_start(const char *folder)
{
	static char root[256];
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	static struct fake k;
	pid_t pid;

	snprintf(a.sun_path, sizeof(a.sun_path), "%s/socket", folder);
	snprintf(root, sizeof(root), "%s/tree", folder);
	mkdir(root, 0755);
	fake_tree(root);
	k.root = root;
	k.listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (bind(k.listener, (struct sockaddr *)&a, sizeof(a)) < 0 || listen(k.listener, 32) < 0)
		abort();
	pid = fork();
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (unsigned i = 0; i < FAKE_FILES; i++)
		k.files[i] = (struct fake_file){ .conn = -1, .pair = -1, .wake = -1 };
	for (;;)
		fake_turn(&k);
}

/* This program again, with the library that lies beside it. */
static void
fake_run_again(const char *folder)
{
	char self[512], library[600], socket_name[300];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	self[n > 0 ? n : 0] = '\0';
	snprintf(library, sizeof(library), "%.*s/libweftsim-umad.so",
		 (int)(strrchr(self, '/') - self), self);
	snprintf(socket_name, sizeof(socket_name), "%s/socket", folder);
	setenv("LD_PRELOAD", library, 1);
	setenv("WEFTSIM_SOCKET", socket_name, 1);
	unsetenv("WEFTSIM_NODE");
	execl(self, self, "preloaded", (char *)NULL);
	_exit(127);
}

/* The whole life of a test program: the simulator, this program again, the end. */
static int
fake_run(void)
{
	char folder[] = "/tmp/weft-preload-XXXXXX", command[64];
	pid_t simulator, pid;
	int status = -1;

	if (!mkdtemp(folder))
		return 1;
	simulator = fake_start(folder);
	pid = fork();
	if (pid == 0)
		fake_run_again(folder);
	waitpid(pid, &status, 0);
	kill(simulator, SIGKILL);
	waitpid(simulator, NULL, 0);
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command) == 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

#endif
