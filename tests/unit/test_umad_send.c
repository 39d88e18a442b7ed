/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The thread that long messages leave by, over a umad_send() made here that takes as long as the
 * test likes, and refuses what it likes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <infiniband/umad.h>
#include "sm/base/mem.h"
#include "sm/port/umad_send.h"

#define FD 77
#define AGENT 3
#define SIZE 100000u

static struct {
	pthread_mutex_t lock;		/* of all below */
	pthread_cond_t more;		/* something has changed */
	bool hold;			/* messages are held in umad_send() */
	int err;			/* and then fail with this errno */
	unsigned begun, ended;		/* messages that came there, and left it */
	unsigned told;			/* calls of told() */
	size_t len;			/* of the last message */
	uint8_t last[SIZE];		/* its bytes */
} fake = { .lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER };

int
umad_send(int fd, int agent, void *umad, int length, int timeout_ms, int retries)
{
	int err;

	(void)timeout_ms;
	(void)retries;
	pthread_mutex_lock(&fake.lock);
	assert_int_equal(fd, FD);
	assert_int_equal(agent, AGENT);
	fake.begun++;
	pthread_cond_broadcast(&fake.more);
	while (fake.hold && length > MAD_SIZE)
		pthread_cond_wait(&fake.more, &fake.lock);
	fake.len = (size_t)length;
	memcpy(fake.last, umad_get_mad(umad), fake.len < SIZE ? fake.len : SIZE);
	err = fake.err;
	fake.ended++;
	pthread_cond_broadcast(&fake.more);
	pthread_mutex_unlock(&fake.lock);
	errno = err;
	return err ? -EIO : 0;
}

static void
told(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&fake.lock);
	fake.told++;
	pthread_cond_broadcast(&fake.more);
	pthread_mutex_unlock(&fake.lock);
}

static void
set(bool hold, int err)
{
	pthread_mutex_lock(&fake.lock);
	fake.hold = hold;
	fake.err = err;
	pthread_cond_broadcast(&fake.more);
	pthread_mutex_unlock(&fake.lock);
}

/* Until so many have begun, have ended and have been told of. */
static void
await(unsigned begun, unsigned ended, unsigned were_told)
{
	pthread_mutex_lock(&fake.lock);
	while (fake.begun < begun || fake.ended < ended || fake.told < were_told)
		pthread_cond_wait(&fake.more, &fake.lock);
	pthread_mutex_unlock(&fake.lock);
}

static int
setup(void **state)
{
	set(false, 0);
	fake.begun = fake.ended = fake.told = 0;
	*state = umad_sender_new(FD, told, NULL);
	return 0;
}

static uint8_t *
message(unsigned n, size_t size)
{
	uint8_t *bytes = mem_zalloc(size);

	for (size_t i = 0; i < size; i++)
		bytes[i] = (uint8_t)(i * 7 + n);
	return bytes;
}

/* While one is being sent nobody waits for it: short ones pass, a second long one has its turn.
 * What holds a message is taken from the caller, or it is copied. */
static void
test_passing(void **state)
{
	struct umad_sender *s = *state;
	uint8_t *first = message(1, SIZE), *second = message(2, SIZE), *same = message(2, SIZE);
	struct port_mad m = { .qp = 1, .len = SIZE, .data = first }, brief = { .qp = 1 };
	_Alignas(struct ib_user_mad) char room[sizeof(struct ib_user_mad) + MAD_SIZE];

	set(true, 0);
	assert_int_equal(umad_sender_put(s, AGENT, &m), 0);
	memset(first, 0, SIZE);
	await(1, 0, 0);
	m.data = second;
	m.holder = &second;
	assert_int_equal(umad_sender_put(s, AGENT, &m), 0);
	assert_null(second);
	assert_int_equal(umad_send_now(FD, AGENT, room, &brief), 0);
	assert_int_equal(fake.len, MAD_SIZE);
	set(false, 0);
	await(3, 3, 0);
	assert_int_equal(fake.len, SIZE);
	assert_memory_equal(fake.last, same, SIZE);
	umad_sender_free(s);
	mem_free(first);
	mem_free(same);
}

/* What the device does not take is told of, in order, without its data. */
static void
test_refused(void **state)
{
	struct umad_sender *s = *state;
	struct port_mad m = { .qp = 1, .len = SIZE, .lid = 5 }, back;
	int err;

	set(false, EINVAL);
	assert_false(umad_sender_any_failed(s));
	for (unsigned i = 0; i < 3; i++) {
		uint8_t *bytes = message(i, SIZE);

		m.data = bytes;
		assert_int_equal(umad_sender_put(s, AGENT, &m), 0);
		mem_free(bytes);
	}
	await(3, 3, 3);
	for (unsigned i = 0; i < 2; i++) {
		uint8_t *bytes = message(i, MAD_SIZE);

		assert_true(umad_sender_any_failed(s));
		assert_true(umad_sender_failed(s, &back, &err));
		assert_int_equal(err, EINVAL);
		assert_int_equal(back.lid, 5);
		assert_null(back.data);
		assert_memory_equal(back.mad, bytes, MAD_SIZE);
		mem_free(bytes);
	}
	umad_sender_free(s);		/* over the third */
}

/* More than may wait is refused and stays the caller's, but one message always may. */
static void
test_bound(void **state)
{
	struct umad_sender *s = *state;
	struct port_mad m = { .qp = 1, .len = UMAD_SENDER_MAX / 2 };
	uint8_t *bytes[4];

	set(true, ENOMEM);
	for (unsigned i = 0; i < 4; i++) {
		bytes[i] = mem_zalloc(m.len);
		m.data = bytes[i];
		m.holder = &bytes[i];
		assert_int_equal(umad_sender_put(s, AGENT, &m), i < 2 ? 0 : ERR_BUSY);
		assert_int_equal(bytes[i] == NULL, i < 2);
	}
	await(1, 0, 0);
	set(false, ENOMEM);
	await(2, 2, 2);
	m.len = SIZE;
	m.data = bytes[2];
	m.holder = NULL;
	assert_int_equal(umad_sender_put(s, AGENT, &m), 0);
	await(3, 3, 3);
	mem_free(bytes[2]);
	mem_free(bytes[3]);
	umad_sender_free(s);
}

/* The end comes over one that is being sent and one that waits, or before there were any. */
static void
test_end(void **state)
{
	struct umad_sender *s = *state;
	uint8_t *bytes = message(1, SIZE);
	struct port_mad m = { .qp = 1, .len = SIZE, .data = bytes };

	set(true, 0);
	assert_int_equal(umad_sender_put(s, AGENT, &m), 0);
	assert_int_equal(umad_sender_put(s, AGENT, &m), 0);
	await(1, 0, 0);
	set(false, 0);
	umad_sender_free(s);
	umad_sender_free(umad_sender_new(FD, told, NULL));
	umad_sender_free(NULL);
	mem_free(bytes);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_passing, setup),
		cmocka_unit_test_setup(test_refused, setup),
		cmocka_unit_test_setup(test_bound, setup),
		cmocka_unit_test_setup(test_end, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
