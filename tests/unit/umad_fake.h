/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_UMAD_FAKE_H
#define TESTS_UNIT_UMAD_FAKE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <infiniband/umad.h>
#include "sm/base/mem.h"
#include "sm/wire/mad.h"

/*
 * The functions of libibumad in place of the library's. They keep one device whose queue the tests
 * fill. The transport empties it: its loop, where fake.real is an eventfd, which can be read while
 * the queue has something; else its thread, for FD is no descriptor.
 */
#define FD 77
#define QUEUE_LEN 8192

struct entry {
	struct ib_user_mad head;	/* header, as the kernel writes it */
	uint8_t mad[MAD_SIZE];		/* first bytes of the message */
	const uint8_t *whole;		/* all of it, if it is longer than that; borrowed */
	int size;			/* of the message */
};

static struct {
	pthread_mutex_t lock;		/* of all below */
	pthread_cond_t more;		/* the queue has grown, or `broken` was set */
	int looks;			/* calls of umad_get_cas_names() */
	int appears_at;			/* the device is there from this look on */
	int refusals;			/* registrations of class 0x81 still to refuse */
	int opens, closes;		/* of the device */
	int registered[256];		/* class -> agent id */
	uint8_t rmpp[256];		/* class -> RMPP version asked for */
	long methods[256][2];		/* class -> mask */
	struct entry *queue;		/* QUEUE_LEN entries */
	unsigned head, tail;		/* filled, taken */
	int broken;			/* umad_recv() fails with this errno */
	int send_errno;			/* umad_send() fails with this errno */
	struct entry sent;		/* last message sent; the first MAD of it */
	uint8_t *sent_whole;		/* copy of it, if it was longer; freed by the test */
	int sent_agent, sent_retries;	/* with what */
	unsigned longs;			/* long messages that were sent, by a thread */
	pthread_cond_t sent_more;	/* longs has risen */
	bool all_read;			/* the queue was found empty since it was filled */
	pthread_cond_t came_back;	/* it was now */
	char issm[64];			/* file that stands for the issm device */
	int real;			/* eventfd that is the device, or -1 */
} fake = {
	.lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER,
	.sent_more = PTHREAD_COND_INITIALIZER,
	.came_back = PTHREAD_COND_INITIALIZER, .real = -1,
};

static int
fake_fd(void)
{
	return fake.real < 0 ? FD : fake.real;
}

/* With the lock held: something is there to be read, or no longer. */
static void
fake_ready(bool yes)
{
	uint64_t n = 1;
	ssize_t rc;

	if (fake.real < 0)
		return;
	rc = yes ? write(fake.real, &n, sizeof(n)) : read(fake.real, &n, sizeof(n));
	assert_true(rc == sizeof(n) || (!yes && errno == EAGAIN));
}

static umad_port_t fake_port = {
	.ca_name = "mlx5_0", .portnum = 1, .state = 4, .phys_state = 5, .link_layer = "InfiniBand",
};

/* ---- libibumad ---- */

int
umad_init(void)
{
	return 0;
}

int
umad_get_cas_names(char cas[][UMAD_CA_NAME_LEN], int max)
{
	assert_true(max >= 1);
	snprintf(cas[0], UMAD_CA_NAME_LEN, "mlx5_0");
	return ++fake.looks >= fake.appears_at;
}

int
umad_get_ca(const char *name, umad_ca_t *ca)
{
	assert_string_equal(name, "mlx5_0");
	memset(ca, 0, sizeof(*ca));
	fake_port.port_guid = htobe64(UINT64_C(0x506b4b0300a1b2c3));
	ca->numports = 1;
	ca->ports[1] = &fake_port;
	return 0;
}

int
umad_release_ca(umad_ca_t *ca)
{
	(void)ca;
	return 0;
}

int
umad_get_issm_path(const char *name, int number, char path[], int max)
{
	assert_string_equal(name, "mlx5_0");
	assert_int_equal(number, 1);
	snprintf(path, (size_t)max, "%s", fake.issm);
	return 0;
}

int
umad_open_port(const char *name, int number)
{
	assert_string_equal(name, "mlx5_0");
	assert_int_equal(number, 1);
	fake.opens++;
	return fake_fd();
}

int
umad_close_port(int fd)
{
	assert_int_equal(fd, fake_fd());
	fake.closes++;
	return 0;
}

int
umad_register(int fd, int mgmt_class, int version, uint8_t rmpp,
	      long mask[16 / sizeof(long)])
{
	assert_int_equal(fd, fake_fd());
	assert_int_equal(version, mgmt_class == 0x03 || mgmt_class == 0x21 ? 2 : 1);
	if (mgmt_class == 0x81 && fake.refusals > 0) {
		fake.refusals--;
		errno = EBUSY;
		return -EPERM;
	}
	fake.registered[mgmt_class] = 5 + mgmt_class % 31;
	fake.rmpp[mgmt_class] = rmpp;
	memcpy(fake.methods[mgmt_class], mask, sizeof(fake.methods[0]));
	return fake.registered[mgmt_class];
}

void *
umad_get_mad(void *umad)
{
	return ((struct ib_user_mad *)umad)->data;
}

size_t
umad_size(void)
{
	return sizeof(struct ib_user_mad);
}

int
umad_status(void *umad)
{
	return (int)((struct ib_user_mad *)umad)->status;
}

ib_mad_addr_t *
umad_get_mad_addr(void *umad)
{
	return &((struct ib_user_mad *)umad)->addr;
}

int
umad_set_addr(void *umad, int dlid, int dqp, int sl, int qkey)
{
	ib_mad_addr_t *a = umad_get_mad_addr(umad);

	a->lid = htons((uint16_t)dlid);
	a->qpn = htonl((uint32_t)dqp);
	a->sl = (uint8_t)sl;
	a->qkey = htonl((uint32_t)qkey);
	return 0;
}

int
umad_set_pkey(void *umad, int index)
{
	umad_get_mad_addr(umad)->pkey_index = (uint16_t)index;
	return 0;
}

int
umad_get_pkey(void *umad)
{
	return umad_get_mad_addr(umad)->pkey_index;
}

static void
note_sent(int agent, void *umad, int length, int timeout_ms, int retries)
{
	memcpy(&fake.sent.head, umad, sizeof(fake.sent.head));
	memcpy(fake.sent.mad, umad_get_mad(umad),
	       (size_t)(length < MAD_SIZE ? length : MAD_SIZE));
	fake.sent.size = length;
	if (length > MAD_SIZE) {
		mem_free(fake.sent_whole);
		fake.sent_whole = mem_alloc((size_t)length);
		memcpy(fake.sent_whole, umad_get_mad(umad), (size_t)length);
		fake.longs++;
		pthread_cond_broadcast(&fake.sent_more);
	}
	fake.sent.head.timeout_ms = (uint32_t)timeout_ms;
	fake.sent_agent = agent;
	fake.sent_retries = retries;
}

int
umad_send(int fd, int agent, void *umad, int length, int timeout_ms, int retries)
{
	int err;

	assert_int_equal(fd, fake_fd());
	pthread_mutex_lock(&fake.lock);
	err = fake.send_errno;
	if (!err)
		note_sent(agent, umad, length, timeout_ms, retries);
	pthread_mutex_unlock(&fake.lock);
	errno = err;
	return err ? -EIO : 0;
}

int
umad_poll(int fd, int timeout_ms)
{
	struct timespec until;
	int rc = 0;

	assert_int_equal(fd, fake_fd());
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += timeout_ms * 1000000L;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&fake.lock);
	while (fake.head == fake.tail && !fake.broken && rc == 0)
		rc = pthread_cond_timedwait(&fake.more, &fake.lock, &until);
	pthread_mutex_unlock(&fake.lock);
	return rc ? -ETIMEDOUT : 0;
}

int
umad_recv(int fd, void *umad, int *length, int timeout_ms)
{
	struct entry *e;
	int rc = -EAGAIN;

	assert_int_equal(fd, fake_fd());
	assert_int_equal(timeout_ms, 0);
	pthread_mutex_lock(&fake.lock);
	e = &fake.queue[fake.tail % QUEUE_LEN];
	if (fake.head != fake.tail) {
		int size = e->size < MAD_SIZE ? e->size : MAD_SIZE;

		memcpy(umad, &e->head, sizeof(e->head));
		memcpy(umad_get_mad(umad), e->mad, (size_t)size);
		/* What does not fit stays first in the queue. */
		rc = e->size > *length ? -ENOSPC : (int)e->head.agent_id;
		if (rc >= 0 && e->size > MAD_SIZE && e->whole)
			memcpy(umad_get_mad(umad), e->whole, (size_t)e->size);
		fake.tail += rc >= 0;
		*length = e->size;
	} else if (fake.broken) {
		rc = -fake.broken;
	} else {
		fake_ready(false);
		fake.all_read = true;
		pthread_cond_signal(&fake.came_back);
	}
	errno = rc < 0 ? -rc : 0;
	pthread_mutex_unlock(&fake.lock);
	return rc;
}

static void
enqueue(const struct entry *e)
{
	pthread_mutex_lock(&fake.lock);
	assert_true(fake.head - fake.tail < QUEUE_LEN);
	fake.queue[fake.head++ % QUEUE_LEN] = *e;
	fake.all_read = false;
	fake_ready(true);
	pthread_cond_signal(&fake.more);
	pthread_mutex_unlock(&fake.lock);
}

static void
set_broken(int err)
{
	pthread_mutex_lock(&fake.lock);
	fake.broken = err;
	fake_ready(true);
	pthread_cond_signal(&fake.more);
	pthread_mutex_unlock(&fake.lock);
}

#endif
