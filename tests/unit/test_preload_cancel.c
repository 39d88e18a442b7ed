/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The preload library in programs that cancel their threads, close files under them, and go on
 * using a file whose simulator is gone. As in test_preload.c: a fake simulator, and this program
 * again. A call that never returns ends the test by SIGALRM.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <cmocka.h>
#include "tests/unit/preload_fake.h"

#define HEADER 64
#define PATIENCE 60		/* seconds */
/* A cancelled thread leaves its stack without AddressSanitizer being told. */
#define CANCELLED __attribute__((no_sanitize_address))

struct reg2 {			/* struct ib_user_mad_reg_req2 */
	uint32_t id, qpn;
	uint8_t mgmt_class, version;
	uint16_t reserved;
	uint32_t flags;
	uint64_t methods[2];
	uint32_t oui;
	uint8_t rmpp, reserved2[3];
};

#define REGISTER2 _IOWR(0x1b, 4, struct reg2)

CANCELLED static int
open_joined(enum fake_device device)
{
	struct reg2 r = { .qpn = 1 };
	char name[64];
	int fd;

	snprintf(name, sizeof(name), "/dev/infiniband/umad%d", (int)device);
	fd = open(name, O_RDWR);
	if (fd >= 0 && ioctl(fd, REGISTER2, &r) < 0) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* A request with this TID, by agent 0. */
CANCELLED static bool
send_request(int fd, uint32_t tid)
{
	uint8_t p[HEADER + 256] = { 0 };

	p[8] = 100;			/* timeout_ms */
	p[HEADER] = p[HEADER + 2] = p[HEADER + 3] = 1;
	p[HEADER + 1] = 4;		/* performance management */
	memcpy(p + HEADER + 12, &tid, sizeof(tid));
	return write(fd, p, sizeof(p)) == sizeof(p);
}

CANCELLED static ssize_t
read_one(int fd)
{
	uint8_t p[HEADER + 256];

	return read(fd, p, sizeof(p));
}

static double
seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void
cancel(pthread_t t)
{
	void *result;

	assert_int_equal(pthread_cancel(t), 0);
	assert_int_equal(pthread_join(t, &result), 0);
	assert_ptr_equal(result, PTHREAD_CANCELED);
}

/* ---- cancelling ---- */

CANCELLED static void *
read_for_ever(void *arg)
{
	for (;;)
		read_one(*(int *)arg);
	return NULL;
}

CANCELLED static void *
poll_for_ever(void *arg)
{
	struct pollfd p = { .fd = *(int *)arg, .events = POLLIN };

	for (;;)
		poll(&p, 1, -1);
	return NULL;
}

/* What a cancelled read() held of the file is given back: the simulator, which has no more than
 * FAKE_FILES, hears of each close(). */
static void
cancel_waiting(void **state)
{
	pthread_t t;
	int fd;

	(void)state;
	for (unsigned i = 0; i < 2 * FAKE_FILES; i++) {
		fd = open_joined(FAKE_ECHO);
		assert_true(fd >= 0);
		assert_int_equal(pthread_create(&t, NULL, i % 2 ? poll_for_ever : read_for_ever,
						&fd), 0);
		if (i % 4 < 2)
			usleep(1000);
		cancel(t);
		assert_true(send_request(fd, 1));
		assert_int_equal(read_one(fd), HEADER + 256);
		close(fd);
	}
}

/* All that a program may do, again and again. */
CANCELLED static void *
live(void *arg)
{
	struct stat st;
	int fd, copy;

	(void)arg;
	for (uint32_t i = 0;; i++) {
		stat("/sys/class/infiniband/mlx5_0/node_type", &st);
		fd = open_joined(FAKE_ECHO);
		if (fd < 0)
			continue;
		copy = dup(fd);
		for (unsigned n = 0; n < 3; n++)
			if (send_request(fd, n + 1))
				read_one(copy);
		close(copy);
		close(fd);
	}
	return NULL;
}

/* Wherever a thread is cancelled, others can go on. (Descriptors that it had open are lost, as with
 * any file.) */
static void
cancel_anywhere(void **state)
{
	int fd = open_joined(FAKE_ECHO);
	pthread_t t;

	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		assert_int_equal(pthread_create(&t, NULL, live, NULL), 0);
		usleep(i * 7 % 400);
		cancel(t);
		assert_true(send_request(fd, i + 1));
		assert_int_equal(read_one(fd), HEADER + 256);
		for (int lost = 3; lost < 64; lost++)
			if (lost != fd)
				close(lost);
	}
	close(fd);
	fd = open_joined(FAKE_ECHO);
	assert_true(fd >= 0);
	close(fd);
}

/* ---- a simulator that is gone ---- */

/* The first answer comes at once; programs that go on asking get ten a second. */
static void
dead_rest(void **state)
{
	struct pollfd p = { .events = POLLIN };
	double begin, end;
	pthread_t t;

	(void)state;
	p.fd = open_joined(FAKE_DIES);
	send_request(p.fd, 1);
	begin = seconds();
	assert_int_equal(read_one(p.fd), -1);
	assert_int_equal(errno, EIO);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(read_one(p.fd), -1);
		assert_int_equal(errno, EIO);
		assert_int_equal(poll(&p, 1, -1), 1);
		assert_true(p.revents & POLLHUP);
	}
	end = seconds();
	assert_true(end - begin > 0.39 && end - begin < 10);
	assert_int_equal(pthread_create(&t, NULL, read_for_ever, &p.fd), 0);
	usleep(1000);
	cancel(t);
	close(p.fd);
}

/* Who does not want to wait does not. */
static void
dead_at_once(void **state)
{
	struct pollfd p = { .events = POLLIN };
	double begin;

	(void)state;
	p.fd = open_joined(FAKE_DIES);
	send_request(p.fd, 1);
	assert_int_equal(read_one(p.fd), -1);
	assert_int_equal(fcntl(p.fd, F_SETFL, O_NONBLOCK), 0);
	begin = seconds();
	for (unsigned i = 0; i < 200; i++) {
		assert_int_equal(read_one(p.fd), -1);
		assert_int_equal(errno, EIO);
		assert_int_equal(poll(&p, 1, 0), 1);
	}
	assert_true(seconds() - begin < 10);
	close(p.fd);
}

/* ---- closing under a thread ---- */

static void *
read_once(void *arg)
{
	static ssize_t got;

	got = read_one(*(int *)arg);
	return &got;
}

/* Its file is closed and the number is another file's, to which nothing happens; its MAD arrives by
 * a copy. */
static void
closed_under_thread(void **state)
{
	int fd = open_joined(FAKE_ECHO), copy = dup(fd), waiting = fd, pair[2];
	ssize_t *got;
	pthread_t t;
	char bytes[8];

	(void)state;
	assert_int_equal(pthread_create(&t, NULL, read_once, &waiting), 0);
	usleep(20000);
	close(fd);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_int_equal(pair[0], fd);
	assert_int_equal(write(pair[1], "abc", 3), 3);
	assert_true(send_request(copy, 1));
	assert_int_equal(pthread_join(t, (void **)&got), 0);
	assert_int_equal(*got, HEADER + 256);
	assert_int_equal(read(pair[0], bytes, sizeof(bytes)), 3);
	close(pair[0]);
	close(pair[1]);
	close(copy);
}

/* A system call by its number is none that we see. The files are lost; new ones are as good as any,
 * also when they get the old ones' numbers. */
static void
closed_behind_us(void **state)
{
	int old[3], fd;

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		old[i] = open_joined(FAKE_ECHO);
	assert_true(old[2] > 2);
	assert_int_equal(syscall(SYS_close_range, 3, ~0u, 0), 0);
	for (uint32_t i = 1; i < 8; i++) {
		fd = open_joined(FAKE_ECHO);
		assert_true(fd > 2);
		assert_true(send_request(fd, i));
		assert_int_equal(read_one(fd), HEADER + 256);
		if (i % 2)
			close(fd);
	}
	for (fd = 3; fd < 64; fd++)
		close(fd);
}

static void
no_buffer(void **state)
{
	int fd = open_joined(FAKE_ECHO);
	void *volatile nowhere = NULL;

	(void)state;
	assert_int_equal(write(fd, nowhere, HEADER + 256), -1);
	assert_int_equal(errno, EFAULT);
	assert_true(send_request(fd, 1));
	assert_int_equal(read(fd, nowhere, HEADER + 256), -1);
	assert_int_equal(errno, EFAULT);
	assert_int_equal(read_one(fd), HEADER + 256);
	close(fd);
}

static int
run_all(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cancel_waiting),
		cmocka_unit_test(cancel_anywhere),
		cmocka_unit_test(dead_rest),
		cmocka_unit_test(dead_at_once),
		cmocka_unit_test(closed_under_thread),
		cmocka_unit_test(no_buffer),
		cmocka_unit_test(closed_behind_us),
	};

	alarm(PATIENCE);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

int
main(int argc, char **argv)
{
	(void)argv;
	return argc > 1 ? run_all() : fake_run();
}
