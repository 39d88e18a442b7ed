/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The preload library as a program meets it: this test starts a fake simulator (preload_fake.h) and
 * then itself again with the library preloaded. What is expected is what Linux does
 * (drivers/infiniband/core/user_mad.c, Documentation/infiniband/user_mad.rst).
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <cmocka.h>
#include "tests/unit/preload_fake.h"

#define HEADER 64
#define CLASS_SMI 0x01
#define CLASS_SA 0x03
#define CLASS_PM 0x04
#define RMPP_ACTIVE 0x01

/* ---- ioctls, by the kernel's header ---- */

struct reg {
	uint32_t id, methods[4];
	uint8_t qpn, mgmt_class, version, oui[3], rmpp;
};

struct reg2 {
	uint32_t id, qpn;
	uint8_t mgmt_class, version;
	uint16_t reserved;
	uint32_t flags;
	uint64_t methods[2];
	uint32_t oui;
	uint8_t rmpp, reserved2[3];
};

#define REGISTER _IOWR(0x1b, 1, struct reg)
#define UNREGISTER _IOW(0x1b, 2, uint32_t)
#define ENABLE_PKEY _IO(0x1b, 3)
#define REGISTER2 _IOWR(0x1b, 4, struct reg2)

struct packet {
	uint32_t id, status, timeout, retries, length;
	uint8_t address[44];
	uint8_t mad[2000];
};

static int
open_device(enum fake_device device)
{
	char name[64];
	int fd;

	snprintf(name, sizeof(name), "/dev/infiniband/umad%d", (int)device);
	fd = open(name, O_RDWR | O_NONBLOCK);
	assert_true(fd >= 0);
	return fd;
}

static uint32_t
join(int fd, uint8_t mgmt_class, uint8_t rmpp)
{
	struct reg2 r = { .qpn = mgmt_class != CLASS_SMI, .mgmt_class = mgmt_class, .version = 1,
			  .rmpp = rmpp };

	if (mgmt_class == CLASS_PM)
		r.mgmt_class = 0;
	assert_int_equal(ioctl(fd, REGISTER2, &r), 0);
	return r.id;
}

static int
open_joined(enum fake_device device)
{
	int fd = open_device(device);

	assert_int_equal(join(fd, CLASS_PM, 0), 0);
	return fd;
}

static struct packet
request(uint32_t id, uint8_t mgmt_class, uint32_t tid)
{
	struct packet p = { .id = id, .timeout = 100 };

	p.mad[0] = 1;
	p.mad[1] = mgmt_class;
	p.mad[2] = 1;
	p.mad[3] = 1;
	tid = __builtin_bswap32(tid);
	memcpy(p.mad + 12, &tid, sizeof(tid));
	return p;
}

static void
send_request(int fd, uint32_t tid)
{
	struct packet p = request(0, CLASS_PM, tid);

	assert_int_equal(write(fd, &p, HEADER + 256), HEADER + 256);
}

static bool
readable(int fd, int timeout)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, timeout) == 1 && (p.revents & POLLIN);
}

#define assert_fails(expression, why) \
	do { \
		errno = 0; \
		assert_true((expression) == -1); \
		assert_int_equal(errno, why); \
	} while (0)

static void
assert_answer(int fd, uint32_t tid)
{
	struct packet p = { 0 };
	uint32_t got;

	assert_true(readable(fd, 5000));
	assert_int_equal(read(fd, &p, sizeof(p)), HEADER + 256);
	memcpy(&got, p.mad + 12, sizeof(got));
	assert_int_equal(__builtin_bswap32(got), tid);
	assert_int_equal(p.mad[3], 0x81);
	assert_int_equal(p.length, HEADER + 256);
}

/* ---- agents ---- */

static void
agents_old(void **state)
{
	struct reg r = { .qpn = 2, .mgmt_class = CLASS_PM, .version = 1 };
	int fd = open_device(FAKE_ECHO);
	struct packet p, got;

	(void)state;
	assert_fails(ioctl(fd, REGISTER, &r), EINVAL);
	r.qpn = 1;
	r.methods[0] = 0x2;
	r.methods[3] = 0x80000000;
	assert_int_equal(ioctl(fd, REGISTER, &r), 0);
	assert_int_equal(r.id, 0);
	r = (struct reg){ .qpn = 1, .mgmt_class = 0x30, .oui = { 0x00, 0x14, 0x05 } };
	assert_int_equal(ioctl(fd, REGISTER, &r), 0);
	assert_int_equal(r.id, 1);
	/* Without ENABLE_PKEY the header has 56 bytes, and now it is too late for it. */
	assert_fails(ioctl(fd, ENABLE_PKEY, NULL), EINVAL);
	p = request(1, 0x30, 5);
	memmove((uint8_t *)&p + 56, (uint8_t *)&p + 64, 256);
	assert_fails(write(fd, &p, 56 + 35), EINVAL);
	assert_int_equal(write(fd, &p, 56 + 256), 56 + 256);
	assert_true(readable(fd, 5000));
	assert_fails(read(fd, &got, 55), EINVAL);
	assert_fails(read(fd, &got, 56 + 255), EINVAL);
	assert_int_equal(read(fd, &got, 56 + 256), 56 + 256);
	assert_int_equal(got.length, 56 + 256);
	assert_int_equal(got.address[44 - 8 + 1], 0x30);
	assert_int_equal(got.address[44 - 8 + 3], 0x81);
	close(fd);
}

static void
agents_new(void **state)
{
	struct reg2 r = { .qpn = 1, .mgmt_class = 0x30, .oui = 0x001405, .flags = 6 };
	int fd = open_device(FAKE_ECHO);

	(void)state;
	assert_fails(ioctl(fd, REGISTER2, &r), EINVAL);
	assert_int_equal(r.flags, 1);		/* those that the kernel knows */
	assert_int_equal(ioctl(fd, REGISTER2, &r), 0);
	r.oui = 0x01001405;
	assert_fails(ioctl(fd, REGISTER2, &r), EINVAL);
	r = (struct reg2){ .qpn = 1, .mgmt_class = 0x77 };
	assert_fails(ioctl(fd, REGISTER2, &r), EINVAL);
	r = (struct reg2){ .qpn = 1, .mgmt_class = CLASS_PM, .methods = { 0x2, 1ull << 63 } };
	assert_int_equal(ioctl(fd, REGISTER2, &r), 0);
	assert_int_equal(r.id, 1);
	send_request(fd, 9);
	assert_answer(fd, 9);			/* the 64-byte header came with registration 2 */
	assert_fails(ioctl(fd, _IO(0x1b, 9), NULL), ENOTTY);
	close(fd);
}

static void
agents_many(void **state)
{
	int fd = open_device(FAKE_ECHO);
	struct reg2 r = { .qpn = 1 };
	uint32_t id = 32;

	(void)state;
	assert_int_equal(ioctl(fd, ENABLE_PKEY, NULL), 0);
	for (uint32_t i = 0; i < 32; i++)
		assert_int_equal(join(fd, CLASS_PM, 0), i);
	assert_fails(ioctl(fd, REGISTER2, &r), ENOMEM);
	assert_fails(ioctl(fd, UNREGISTER, &id), EINVAL);
	id = 5;
	assert_int_equal(ioctl(fd, UNREGISTER, &id), 0);
	assert_fails(ioctl(fd, UNREGISTER, &id), EINVAL);
	assert_int_equal(join(fd, CLASS_PM, 0), 5);
	close(fd);
}

/* ---- MADs ---- */

static void
mads_errors(void **state)
{
	int fd = open_device(FAKE_ECHO);
	struct packet p = request(0, CLASS_PM, 1);

	(void)state;
	assert_int_equal(ioctl(fd, ENABLE_PKEY, NULL), 0);
	assert_fails(write(fd, &p, HEADER + 256), EINVAL);	/* no such agent */
	assert_int_equal(join(fd, CLASS_PM, 0), 0);
	assert_fails(read(fd, &p, sizeof(p)), EAGAIN);
	assert_fails(read(fd, &p, HEADER - 1), EINVAL);
	assert_fails(write(fd, &p, HEADER + 35), EINVAL);
	assert_fails(write(fd, &p, HEADER + 257), EINVAL);
	p.id = 32;
	assert_fails(write(fd, &p, HEADER + 256), EINVAL);
	assert_false(readable(fd, 0));
	p.id = 0;
	assert_int_equal(write(fd, &p, HEADER + 36), HEADER + 36);
	assert_true(readable(fd, 5000));
	assert_fails(read(fd, &p, HEADER + 255), EINVAL);
	assert_true(readable(fd, 0));
	assert_answer(fd, 1);
	assert_false(readable(fd, 0));
	close(fd);
}

static void
mads_long(void **state)
{
	int fd = open_joined(FAKE_LONG);
	struct packet p = { 0 };

	(void)state;
	send_request(fd, 3);
	assert_true(readable(fd, 5000));
	assert_fails(read(fd, &p, HEADER + 255), EINVAL);
	for (int i = 0; i < 2; i++) {
		assert_fails(read(fd, &p, HEADER + FAKE_LONG_SIZE - 1), ENOSPC);
		assert_int_equal(p.length, HEADER + FAKE_LONG_SIZE);
		assert_int_equal(p.mad[3], 0x81);
		assert_true(readable(fd, 0));
	}
	assert_int_equal(read(fd, &p, sizeof(p)), HEADER + FAKE_LONG_SIZE);
	for (int i = 0; i < FAKE_LONG_SIZE; i++)
		assert_int_equal(p.mad[i], i & 0xff);
	assert_false(readable(fd, 0));
	close(fd);
}

static void
mads_rmpp(void **state)
{
	int fd = open_device(FAKE_ECHO);
	uint32_t with = join(fd, CLASS_SA, 1);
	uint32_t without = join(fd, CLASS_SA, 0);
	struct packet p = request(with, CLASS_SA, 1);

	(void)state;
	assert_fails(write(fd, &p, HEADER + 1000), EINVAL);	/* not marked as RMPP */
	p.mad[26] = RMPP_ACTIVE;
	assert_int_equal(write(fd, &p, HEADER + 1000), HEADER + 1000);
	p.mad[1] = CLASS_PM;
	assert_fails(write(fd, &p, HEADER + 256), EINVAL);	/* a class without RMPP */
	p = request(without, CLASS_SA, 2);
	p.mad[26] = RMPP_ACTIVE;
	assert_fails(write(fd, &p, HEADER + 1000), EINVAL);
	assert_int_equal(write(fd, &p, HEADER + 256), HEADER + 256);
	assert_answer(fd, 2);
	close(fd);
}

static void
mads_time_out(void **state)
{
	int fd = open_joined(FAKE_TIMES_OUT);
	struct packet p;

	(void)state;
	for (int i = 0; i < 3; i++) {		/* once it is back, the TID is free again */
		send_request(fd, 77);
		assert_true(readable(fd, 5000));
		assert_fails(read(fd, &p, HEADER + 23), EINVAL);
		assert_int_equal(read(fd, &p, sizeof(p)), HEADER + 24);
		assert_int_equal(p.status, ETIMEDOUT);
	}
	close(fd);
}

static void
mads_twice(void **state)
{
	int fd = open_joined(FAKE_SILENT);
	struct packet p = request(0, CLASS_PM, 1);
	uint32_t id = 0;

	(void)state;
	send_request(fd, 1);
	send_request(fd, 2);
	assert_fails(write(fd, &p, HEADER + 256), EINVAL);
	p.timeout = 0;				/* expects no answer: not outstanding */
	assert_int_equal(write(fd, &p, HEADER + 256), HEADER + 256);
	p = request(0, CLASS_SA, 1);		/* another class */
	assert_int_equal(write(fd, &p, HEADER + 256), HEADER + 256);
	assert_int_equal(ioctl(fd, UNREGISTER, &id), 0);
	assert_int_equal(join(fd, CLASS_PM, 0), 0);
	send_request(fd, 1);
	close(fd);
}

static void
mads_vectors(void **state)
{
	int fd = open_joined(FAKE_ECHO);
	struct packet p = request(0, CLASS_PM, 6), q = { 0 };
	struct iovec v[2] = { { &p, HEADER + 256 }, { &q, HEADER + 256 } };

	(void)state;
	assert_int_equal(writev(fd, v, 1), HEADER + 256);
	assert_true(readable(fd, 5000));
	assert_int_equal(readv(fd, v + 1, 1), HEADER + 256);
	assert_int_equal(q.mad[15], 6);
	close(fd);
}

static void
mads_flood(void **state)
{
	int fd = open_joined(FAKE_FLOODS);
	struct packet p;
	uint32_t number;

	(void)state;
	send_request(fd, 1);
	for (uint32_t i = 0; i < FAKE_FLOOD; i++) {
		assert_true(readable(fd, 5000));
		assert_int_equal(read(fd, &p, sizeof(p)), HEADER + 256);
		memcpy(&number, p.mad + 64, sizeof(number));
		assert_int_equal(number, i);
	}
	assert_false(readable(fd, 0));
	close(fd);
}

static void *
write_many(void *arg)
{
	int fd = *(int *)arg;
	struct packet p = request(0, CLASS_PM, 1);

	p.timeout = 0;
	for (int i = 0; i < 2500; i++)
		if (write(fd, &p, HEADER + 256) != HEADER + 256)
			return arg;
	return NULL;
}

/* Writes wait for a simulator that is slow, and are never refused. */
static void
mads_full(void **state)
{
	int fd = open_joined(FAKE_STUCK);
	struct timespec now;
	pthread_t t;
	void *failed;

	(void)state;
	assert_int_equal(pthread_create(&t, NULL, write_many, &fd), 0);
	do {
		assert_int_equal(join(fd, CLASS_PM, 0), 1);
		assert_int_equal(ioctl(fd, UNREGISTER, &(uint32_t){ 1 }), 0);
		clock_gettime(CLOCK_REALTIME, &now);
		now.tv_nsec += 1000000;
		now.tv_sec += now.tv_nsec / 1000000000;
		now.tv_nsec %= 1000000000;
	} while (pthread_timedjoin_np(t, &failed, &now) != 0);
	assert_null(failed);
	close(fd);
}

/* ---- waiting ---- */

static void
nothing(int signal)
{
	(void)signal;
}

static void
waiting_interrupted(void **state)
{
	struct itimerval t = { .it_value.tv_usec = 20000, .it_interval.tv_usec = 20000 };
	struct sigaction a = { .sa_handler = nothing };
	int fd = open_joined(FAKE_SILENT);
	struct packet p;

	(void)state;
	assert_int_equal(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK), 0);
	sigaction(SIGALRM, &a, NULL);
	setitimer(ITIMER_REAL, &t, NULL);
	assert_fails(read(fd, &p, sizeof(p)), EINTR);
	t = (struct itimerval){ 0 };
	setitimer(ITIMER_REAL, &t, NULL);
	close(fd);
}

static void *
read_one(void *arg)
{
	struct packet p;

	return read(*(int *)arg, &p, sizeof(p)) == HEADER + 256 ? NULL : arg;
}

static void
waiting_blocks(void **state)
{
	int fd = open("/dev/infiniband/umad0", O_RDWR | O_CLOEXEC);
	pthread_t t;
	void *failed;

	(void)state;
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(join(fd, CLASS_PM, 0), 0);
	assert_int_equal(pthread_create(&t, NULL, read_one, &fd), 0);
	send_request(fd, 1);
	assert_int_equal(pthread_join(t, &failed), 0);
	assert_null(failed);
	close(fd);
}

static void
waiting_epoll(void **state)
{
	struct epoll_event in = { .events = EPOLLIN }, both = { .events = EPOLLIN | EPOLLOUT }, e;
	int fd = open_joined(FAKE_ECHO), ep = epoll_create1(0);

	(void)state;
	assert_int_equal(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &both), 0);
	assert_int_equal(epoll_wait(ep, &e, 1, 0), 1);
	assert_int_equal(e.events, EPOLLOUT);
	send_request(fd, 1);
	/* Not by readable(): poll() looks into the ring, which is filled before epoll is woken. */
	assert_int_equal(epoll_ctl(ep, EPOLL_CTL_MOD, fd, &in), 0);
	assert_int_equal(epoll_wait(ep, &e, 1, 5000), 1);
	assert_int_equal(epoll_ctl(ep, EPOLL_CTL_MOD, fd, &both), 0);
	assert_int_equal(epoll_wait(ep, &e, 1, 0), 1);
	assert_int_equal(e.events, EPOLLIN | EPOLLOUT);
	assert_answer(fd, 1);
	assert_int_equal(epoll_wait(ep, &e, 1, 0), 1);
	assert_int_equal(e.events, EPOLLOUT);
	close(ep);
	close(fd);
}

/* ---- simulators in disorder ---- */

static void
assert_dead(int fd)
{
	struct packet p = request(0, CLASS_PM, 99);
	struct reg2 r = { .qpn = 1 };

	assert_fails(read(fd, &p, sizeof(p)), EIO);
	assert_fails(write(fd, &p, HEADER + 256), EINVAL);
	assert_fails(ioctl(fd, REGISTER2, &r), EPIPE);
	assert_int_equal(close(fd), 0);
}

static void
disorder_numbers(void **state)
{
	static const enum fake_device bad[] = { FAKE_COUNT, FAKE_LENGTH };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		int fd = open_joined(bad[i]);

		send_request(fd, 1);
		assert_true(readable(fd, 5000));
		assert_dead(fd);
	}
	assert_fails(open("/dev/infiniband/umad9", O_RDWR), EIO);	/* FAKE_UNSEALED */
}

static void
disorder_bytes(void **state)
{
	int fd = open_joined(FAKE_BYTES);
	struct packet p;

	(void)state;
	send_request(fd, 1);
	assert_true(readable(fd, 5000));
	assert_fails(read(fd, &p, sizeof(p)), EAGAIN);
	assert_false(readable(fd, 0));
	close(fd);
}

static void
disorder_death(void **state)
{
	struct packet m = request(0, CLASS_PM, 1);
	struct pollfd p;
	int fd = open_joined(FAKE_DIES);

	(void)state;
	(void)!write(fd, &m, HEADER + 256);	/* may be told already */
	p = (struct pollfd){ .fd = fd, .events = POLLIN };
	assert_int_equal(poll(&p, 1, 5000), 1);
	assert_true(p.revents & POLLHUP);
	assert_dead(fd);
	/* Who only writes is told too. */
	fd = open_joined(FAKE_DIES);
	(void)!write(fd, &m, HEADER + 256);	/* may be told already */
	p = (struct pollfd){ .fd = fd };
	assert_int_equal(poll(&p, 1, 5000), 1);
	for (uint32_t i = 2; i < 200; i++) {
		m = request(0, CLASS_PM, i);
		if (write(fd, &m, HEADER + 256) < 0)
			break;
		assert_true(i < 150);
	}
	assert_dead(fd);
}

/* ---- descriptors ---- */

static void
descriptors_copies(void **state)
{
	int fd = open_joined(FAKE_ECHO);
	int a = dup(fd), b = fcntl(fd, F_DUPFD_CLOEXEC, 100), c;

	(void)state;
	assert_true(b >= 100);
	close(fd);
	send_request(a, 1);
	assert_answer(b, 1);
	c = dup2(a, 200);
	assert_int_equal(c, 200);
	assert_int_equal(dup3(a, 201, O_CLOEXEC), 201);
	close(a);
	close(b);
	send_request(c, 2);
	assert_answer(201, 2);
	close(201);
	a = open("/dev/null", O_RDONLY);
	assert_int_equal(dup2(a, c), c);	/* that was the last one */
	assert_int_equal(read(c, &b, sizeof(b)), 0);
	close(c);
	close(a);
}

/* A program that closes all that it does not know does not hurt. */
static void
descriptors_hidden(void **state)
{
	int fd = open_joined(FAKE_ECHO);
	int lowest = open("/dev/null", O_RDONLY);

	(void)state;
	assert_int_equal(lowest, fd + 1);
	for (int i = fd + 1; i < 4096; i++)
		close(i);
	send_request(fd, 1);
	assert_answer(fd, 1);
	assert_int_equal(close_range((unsigned)fd + 1, ~0u, 0), 0);
	send_request(fd, 2);
	assert_answer(fd, 2);
	assert_int_equal(close_range((unsigned)fd, ~0u, 0), 0);
	assert_fails(fcntl(fd, F_GETFD), EBADF);
}

static int
wait_for(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* After fork() there is one file, not two. */
static void
descriptors_fork(void **state)
{
	int fd = open_joined(FAKE_ECHO);
	struct packet p = request(0, CLASS_PM, 5);
	pid_t pid;

	(void)state;
	send_request(fd, 4);
	pid = fork();
	if (pid == 0) {
		if (!readable(fd, 5000) || read(fd, &p, sizeof(p)) != HEADER + 256)
			_exit(1);
		p = request(0, CLASS_PM, 5);
		if (write(fd, &p, HEADER + 256) != HEADER + 256)
			_exit(2);
		_exit(0);
	}
	assert_int_equal(wait_for(pid), 0);
	assert_answer(fd, 5);
	assert_false(readable(fd, 0));
	close(fd);
}

/* A child of vfork() that closes what it has leaves its parent's files alone. */
static void
descriptors_vfork(void **state)
{
	int fd = open_joined(FAKE_ECHO);
	pid_t pid;

	(void)state;
	pid = vfork();
	if (pid == 0) {
		close(fd);
		_exit(0);
	}
	assert_int_equal(wait_for(pid), 0);
	send_request(fd, 1);
	assert_answer(fd, 1);
	close(fd);
}

static void
descriptors_issm(void **state)
{
	int fd = open("/dev/infiniband/issm0", O_RDWR | O_NONBLOCK), again;

	(void)state;
	assert_true(fd >= 0);
	assert_fails(open("/dev/infiniband/issm0", O_RDWR | O_NONBLOCK), EAGAIN);
	close(fd);
	do
		again = open64("/dev/infiniband/issm0", O_RDWR | O_NONBLOCK);
	while (again < 0 && errno == EAGAIN);
	assert_true(again >= 0);
	close(again);
}

/* ---- threads ---- */

#define THREADS 3
#define EACH 5000

struct worker {
	int fd;			/* all have the same */
	uint32_t id;		/* of the agent */
	uint32_t first;		/* TID */
	unsigned seen;		/* answers read, whoever asked */
	bool failed;		/* a call did what it must not */
};

static void
exchange(struct worker *w, uint32_t i)
{
	struct packet p = request(w->id, CLASS_PM, w->first + i);

	if (write(w->fd, &p, HEADER + 256) != HEADER + 256)
		w->failed = true;
	while (read(w->fd, &p, sizeof(p)) == HEADER + 256)
		w->seen++;
	if (errno != EAGAIN)
		w->failed = true;
}

static void *
work(void *arg)
{
	struct worker *w = arg;
	int own;

	for (uint32_t i = 0; i < EACH && !w->failed; i++) {
		exchange(w, i);
		if (i % 256 == 0) {
			own = open("/dev/infiniband/umad0", O_RDWR | O_NONBLOCK);
			close(own);
		}
	}
	return NULL;
}

static void
threads(void **state)
{
	int fd = open_device(FAKE_ECHO);
	struct worker w[THREADS];
	pthread_t t[THREADS];
	unsigned seen = 0;
	struct packet p;

	(void)state;
	for (unsigned i = 0; i < THREADS; i++) {
		w[i] = (struct worker){ .fd = fd, .id = join(fd, CLASS_PM, 0), .first = i << 20 };
		assert_int_equal(pthread_create(&t[i], NULL, work, &w[i]), 0);
	}
	for (unsigned i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(t[i], NULL), 0);
		assert_false(w[i].failed);
		seen += w[i].seen;
	}
	while (seen < THREADS * EACH && readable(fd, 5000)) {
		assert_int_equal(read(fd, &p, sizeof(p)), HEADER + 256);
		seen++;
	}
	assert_int_equal(seen, THREADS * EACH);
	assert_false(readable(fd, 0));
	close(fd);
}

/* ---- with nobody there ---- */

static void
nobody(void **state)
{
	char *before = strdup(getenv("WEFTSIM_SOCKET"));

	(void)state;
	setenv("WEFTSIM_SOCKET", "/nowhere/socket", 1);
	assert_fails(open("/dev/infiniband/umad0", O_RDWR), ENXIO);
	setenv("WEFTSIM_SOCKET", before, 1);
	free(before);
}

static int
run_all(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agents_old),
		cmocka_unit_test(agents_new),
		cmocka_unit_test(agents_many),
		cmocka_unit_test(mads_errors),
		cmocka_unit_test(mads_long),
		cmocka_unit_test(mads_rmpp),
		cmocka_unit_test(mads_time_out),
		cmocka_unit_test(mads_twice),
		cmocka_unit_test(mads_vectors),
		cmocka_unit_test(mads_flood),
		cmocka_unit_test(mads_full),
		cmocka_unit_test(waiting_interrupted),
		cmocka_unit_test(waiting_blocks),
		cmocka_unit_test(waiting_epoll),
		cmocka_unit_test(disorder_numbers),
		cmocka_unit_test(disorder_bytes),
		cmocka_unit_test(disorder_death),
		cmocka_unit_test(descriptors_copies),
		cmocka_unit_test(descriptors_hidden),
		cmocka_unit_test(descriptors_fork),
		cmocka_unit_test(descriptors_vfork),
		cmocka_unit_test(descriptors_issm),
		cmocka_unit_test(threads),
		cmocka_unit_test(nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

int
main(int argc, char **argv)
{
	(void)argv;
	return argc > 1 ? run_all() : fake_run();
}
