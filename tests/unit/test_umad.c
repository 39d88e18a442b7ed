/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The umad transport over a libibumad made here (umad_fake.h): devices that come late, refuse
 * agents, vanish and return; what is sent and received. All of it with a descriptor that is none,
 * from which a thread reads, and with one that the loop can watch.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>
#include <infiniband/umad.h>
#include "sm/base/loop.h"
#include "sm/base/mem.h"
#include "sm/port/umad.h"
#include "sm/wire/mad.h"
#include "tests/unit/umad_fake.h"

/* ---- a port and its owner ---- */

struct bed {
	struct loop *loop;		/* of real time, but where time is long */
	struct port *port;		/* under test */
	bool up;			/* state(true) came */
	bool down;			/* state(false) came */
	unsigned downs;			/* how often */
	char why[500];			/* last reason */
	unsigned received;		/* MADs */
	unsigned wanted;		/* `enough` from so many on */
	bool enough;			/* all that the test waits for */
	bool close_at_first;		/* close the port from within receive() */
	struct port_mad last;		/* received last */
	uint8_t *whole;			/* copy of its data, if it was long; the test frees it */
};

static void
on_state(void *arg, bool up, const char *why)
{
	struct bed *b = arg;

	snprintf(b->why, sizeof(b->why), "%s", why);
	*(up ? &b->up : &b->down) = true;
	b->downs += !up;
	assert_true(!up || (b->port->up && b->port->id.guid));
}

static void
on_receive(void *arg, const struct port_mad *m)
{
	struct bed *b = arg;

	/* Sequence numbers in the TID: nothing lost, nothing out of turn. */
	assert_int_equal(m->mad[14] << 8 | m->mad[15], b->received & 0xffff);
	b->last = *m;
	if (m->data) {
		mem_free(b->whole);
		b->whole = mem_alloc(m->len);
		memcpy(b->whole, m->data, m->len);
	}
	b->enough = ++b->received >= b->wanted;
	if (b->close_at_first)
		port_close(b->port);
}

static void
bed_open_on(struct bed *b, struct loop *loop)
{
	const struct port_events events = { on_receive, on_state, b };
	struct error e = { 0 };

	memset(b, 0, sizeof(*b));
	fake.looks = fake.opens = fake.closes = fake.broken = fake.send_errno = 0;
	fake.longs = 0;
	fake.head = fake.tail = 0;
	if (!fake.queue)
		fake.queue = mem_array(QUEUE_LEN, sizeof(*fake.queue));
	snprintf(fake.issm, sizeof(fake.issm), "/dev/null");
	b->loop = loop;
	b->port = umad_port_new(b->loop, "auto", &events, &e);
	assert_non_null(b->port);
	assert_false(b->up);
}

static void
bed_open(struct bed *b)
{
	bed_open_on(b, loop_new_event());
}

static void
await(struct bed *b, const bool *flag)
{
	assert_true(loop_run_until(b->loop, loop_now(b->loop) + SEC(30), flag));
}

static void
bed_close(struct bed *b)
{
	port_close(b->port);
	loop_run_until(b->loop, loop_now(b->loop) + MSEC(1), NULL);
	loop_free(b->loop);
	mem_free(b->whole);
	mem_free(fake.sent_whole);
	fake.sent_whole = NULL;
	assert_int_equal(fake.opens, fake.closes);
	fake.appears_at = 0;
}

/* So many long messages were sent. */
static void
await_longs(unsigned longs)
{
	pthread_mutex_lock(&fake.lock);
	while (fake.longs < longs)
		pthread_cond_wait(&fake.sent_more, &fake.lock);
	pthread_mutex_unlock(&fake.lock);
}

/* The thread, if there is one, has read all that there was, and came back for more. */
static void
await_read(void)
{
	if (fake.real >= 0)
		return;
	pthread_mutex_lock(&fake.lock);
	while (!fake.all_read)
		pthread_cond_wait(&fake.came_back, &fake.lock);
	pthread_mutex_unlock(&fake.lock);
}

static struct entry
entry_of(unsigned number)
{
	struct entry e = { .size = MAD_SIZE };

	e.head.agent_id = 5;
	e.mad[0] = 1;
	e.mad[1] = MAD_CLASS_SUBN_LID;
	e.mad[14] = (uint8_t)(number >> 8);
	e.mad[15] = (uint8_t)number;
	e.mad[255] = 0xee;
	return e;
}

/* ---- tests ---- */

static void
test_late_device(void **state)
{
	struct bed b;

	(void)state;
	fake.appears_at = 4;
	bed_open(&b);
	await(&b, &b.down);
	assert_non_null(strstr(b.why, "no InfiniBand device"));
	assert_int_equal(port_send(b.port, &b.last), ERR_CLOSED);
	await(&b, &b.up);
	assert_int_equal(fake.looks, 4);
	assert_int_equal(b.downs, 1);
	assert_string_equal(b.port->id.name, "mlx5_0:1");
	assert_true(b.port->id.guid == UINT64_C(0x506b4b0300a1b2c3));
	assert_int_equal(b.port->id.number, 1);
	bed_close(&b);
}

static void
test_agents_refused(void **state)
{
	struct bed b;

	(void)state;
	fake.refusals = 3;
	bed_open(&b);
	await(&b, &b.down);
	assert_non_null(strstr(b.why, "class 0x81"));
	assert_non_null(strstr(b.why, "another subnet manager"));
	await(&b, &b.up);
	assert_int_equal(fake.opens, 4);
	assert_int_equal(b.downs, 1);
	/* Get, Set, Trap, TrapRepress; for the SA also Report, GetTable, GetTraceTable, GetMulti,
	 * Delete. */
	assert_int_equal(fake.methods[0x01][0], 1 << 1 | 1 << 2 | 1 << 5 | 1 << 7);
	assert_int_equal(fake.methods[0x81][0], fake.methods[0x01][0]);
	assert_int_equal(fake.methods[0x03][0], 1 << 1 | 1 << 2 | 1 << 5 | 1 << 6 | 1 << 7 |
			 1 << 0x12 | 1 << 0x13 | 1 << 0x14 | 1 << 0x15);
	assert_int_equal(fake.rmpp[0x03], 1);
	assert_int_equal(fake.rmpp[0x01], 0);
	bed_close(&b);
}

/* A2: agents are refused for 20 s. It goes on trying, at first soon and then each 3 s, tells why
 * once, and takes the port when they are not refused any more: after 0.2, 0.4, 0.8 and 1.6 s and
 * six times 3 s, which is at 21 s. */
static void
test_agents_refused_long(void **state)
{
	struct bed b;

	(void)state;
	fake.refusals = 1000;
	bed_open_on(&b, loop_new_virtual(1));
	loop_run_until(b.loop, SEC(20), NULL);
	assert_int_equal(b.downs, 1);
	assert_int_equal(fake.opens, 10);
	assert_false(b.port->up);
	fake.refusals = 0;
	assert_true(loop_run_until(b.loop, SEC(30), &b.up));
	assert_int_equal(loop_now(b.loop) / MSEC(1), 21000);
	assert_int_equal(fake.opens, 11);
	bed_close(&b);
}

static void
test_port_down(void **state)
{
	struct bed b;

	(void)state;
	fake_port.state = 1;
	fake_port.phys_state = 2;
	bed_open(&b);
	await(&b, &b.down);
	assert_non_null(strstr(b.why, "mlx5_0:1 is down"));
	fake_port.state = 2;
	await(&b, &b.up);
	bed_close(&b);
	fake_port.state = 4;
	fake_port.phys_state = 5;
}

static void
test_send(void **state)
{
	struct port_mad m = { .timeout_ms = 250, .lid = 0xffff };
	struct bed b;

	(void)state;
	bed_open(&b);
	await(&b, &b.up);
	for (unsigned i = 0; i < MAD_SIZE; i++)
		m.mad[i] = (uint8_t)(i * 7);
	m.mad[1] = MAD_CLASS_SUBN_DIRECT;
	assert_int_equal(port_send(b.port, &m), 0);
	assert_memory_equal(fake.sent.mad, m.mad, MAD_SIZE);
	assert_int_equal(fake.sent_agent, fake.registered[0x81]);
	assert_int_equal(fake.sent_retries, 0);
	assert_int_equal(fake.sent.head.timeout_ms, 250);
	assert_int_equal(fake.sent.head.addr.lid, 0xffff);
	assert_int_equal(fake.sent.head.addr.qpn, 0);
	assert_int_equal(fake.sent.head.addr.qkey, 0);

	m.mad[1] = MAD_CLASS_SUBN_ADM;
	m.qp = 1;
	m.lid = 0x1234;
	m.sl = 3;
	m.pkey_index = 2;
	m.timeout_ms = 0;
	assert_int_equal(port_send(b.port, &m), 0);
	assert_int_equal(fake.sent_agent, fake.registered[0x03]);
	assert_int_equal(fake.sent.head.timeout_ms, 0);
	assert_int_equal(ntohs(fake.sent.head.addr.lid), 0x1234);
	assert_int_equal(ntohl(fake.sent.head.addr.qpn), 1);
	assert_int_equal(ntohl(fake.sent.head.addr.qkey), 0x80010000);
	assert_int_equal(fake.sent.head.addr.sl, 3);
	assert_int_equal(fake.sent.head.addr.pkey_index, 2);
	m.remote_qp = 0x123456;
	assert_int_equal(port_send(b.port, &m), 0);
	assert_int_equal(ntohl(fake.sent.head.addr.qpn), 0x123456);
	assert_int_equal(fake.sent.head.addr.grh_present, 0);
	assert_int_equal(fake.sent.size, MAD_SIZE);
	m.len = MAD_SIZE + 1;			/* of bytes that are not there */
	assert_int_equal(port_send(b.port, &m), ERR_INVALID);
	m.data = m.mad;
	m.len = PORT_LEN_MAX + 1;
	assert_int_equal(port_send(b.port, &m), ERR_INVALID);
	m.len = MAD_HEADER_SIZE - 1;
	assert_int_equal(port_send(b.port, &m), ERR_INVALID);
	m.data = NULL;
	m.len = 0;

	m.mad[1] = 0x32;
	assert_int_equal(port_send(b.port, &m), ERR_UNSUPPORTED);
	bed_close(&b);
}

static void
test_receive(void **state)
{
	struct entry e = entry_of(0);
	struct bed b;

	(void)state;
	bed_open(&b);
	await(&b, &b.up);
	e.mad[1] = MAD_CLASS_SUBN_ADM;
	e.head.addr.lid = htons(0x1234);
	e.head.addr.qpn = htonl(0x654321);
	e.head.addr.sl = 4;
	e.head.addr.pkey_index = 6;
	enqueue(&e);
	b.wanted = 1;
	await(&b, &b.enough);
	assert_int_equal(b.last.lid, 0x1234);
	assert_int_equal(b.last.qp, 1);
	assert_int_equal(b.last.remote_qp, 0x654321);
	assert_int_equal(b.last.sl, 4);
	assert_int_equal(b.last.pkey_index, 6);
	assert_int_equal(b.last.status, 0);
	assert_memory_equal(b.last.mad, e.mad, MAD_SIZE);

	/* A time-out: status 110, 24 bytes. Behind it a message beyond all limits, and one more. */
	e = entry_of(1);
	e.head.status = ETIMEDOUT;
	e.size = 24;
	enqueue(&e);
	b.enough = false;
	b.wanted = 2;
	await(&b, &b.enough);
	assert_int_equal(b.last.status, ERR_TIMEOUT);
	assert_int_equal(b.last.qp, 0);
	assert_int_equal(b.last.mad[255], 0);
	assert_int_equal(port_mad_len(&b.last), MAD_SIZE);
	e = entry_of(99);
	e.size = (int)PORT_LEN_MAX + 1;
	enqueue(&e);
	e = entry_of(2);
	enqueue(&e);
	b.enough = false;
	b.wanted = 3;
	await(&b, &b.enough);
	assert_int_equal(b.last.mad[255], 0xee);
	bed_close(&b);
}

/* A global route comes with a request and goes back with its answer. */
static void
test_route_back(void **state)
{
	struct entry e = entry_of(0);
	struct port_mad m = { .mad = { 1, MAD_CLASS_SUBN_ADM } };
	struct bed b;

	(void)state;
	bed_open(&b);
	await(&b, &b.up);
	e.mad[1] = MAD_CLASS_SUBN_ADM;
	e.head.addr = (struct ib_mad_addr){
		.lid = htons(0x1234), .qpn = htonl(0x654321), .sl = 4, .path_bits = 3,
		.pkey_index = 6, .grh_present = 1, .gid_index = 5, .hop_limit = 64,
		.traffic_class = 0x77, .flow_label = htonl(0xabcde),
		.gid = { 0xfe, 0x80, [15] = 9 },
	};
	enqueue(&e);
	b.wanted = 1;
	await(&b, &b.enough);
	assert_true(b.last.has_grh);
	assert_int_equal(b.last.grh.flow_label, 0xabcde);
	assert_int_equal(b.last.grh.gid[15], 9);
	port_answer_to(&m, &b.last);
	assert_int_equal(port_send(b.port, &m), 0);
	e.head.addr.qkey = htonl(0x80010000);
	assert_memory_equal(&fake.sent.head.addr, &e.head.addr, sizeof(e.head.addr));
	assert_int_equal(fake.sent.head.timeout_ms, 0);
	assert_int_equal(fake.sent_retries, PORT_ANSWER_RETRIES);
	bed_close(&b);
}

/* A message of `size` bytes that is number `n` in line. */
static uint8_t *
long_message(unsigned n, size_t size)
{
	uint8_t *whole = mem_zalloc(size);
	uint32_t x = n + 1;

	whole[0] = 1;
	whole[1] = MAD_CLASS_SUBN_ADM;
	whole[14] = (uint8_t)(n >> 8);
	whole[15] = (uint8_t)n;
	for (size_t i = 56; i < size; i++) {
		x = x * 1664525 + 1013904223;
		whole[i] = (uint8_t)(x >> 24);
	}
	return whole;
}

static void
enqueue_long(const uint8_t *whole, size_t size)
{
	struct entry e = { .whole = whole, .size = (int)size, .head.agent_id = 6 };

	memcpy(e.mad, whole, size < MAD_SIZE ? size : MAD_SIZE);
	enqueue(&e);
}

/* Messages around the size of a MAD and of 22 MB come whole and go whole. */
static void
test_long(void **state)
{
	static const size_t sizes[] = { 57, 120, 255, 256, 257, 456, 457, 22000000, 300 };
	unsigned longs = 0;
	struct bed b;

	(void)state;
	bed_open(&b);
	await(&b, &b.up);
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint8_t *whole = long_message(i, sizes[i]);
		struct port_mad m = { .data = whole, .len = (uint32_t)sizes[i], .qp = 1 };

		b.enough = false;
		b.wanted = i + 1;
		enqueue_long(whole, sizes[i]);
		await(&b, &b.enough);
		assert_int_equal(b.last.len, sizes[i]);
		assert_int_equal(b.last.data != NULL, sizes[i] > MAD_SIZE);
		assert_memory_equal(b.last.mad, whole, sizes[i] < 256 ? sizes[i] : 256);
		if (b.last.data)
			assert_memory_equal(b.whole, whole, sizes[i]);
		assert_int_equal(port_send(b.port, &m), 0);
		longs += sizes[i] > MAD_SIZE;
		await_longs(longs);
		assert_int_equal(fake.sent.size, sizes[i]);
		assert_memory_equal(sizes[i] > 256 ? fake.sent_whole : fake.sent.mad, whole,
				    sizes[i]);
		mem_free(whole);
	}
	bed_close(&b);
}

/* Twice as many bytes as may wait for the loop: none is lost, and none leaks where the port is
 * closed over them, from within a call too. */
static void
test_long_backlog(void **state)
{
	uint8_t *whole[12];
	const size_t size = 11000000;
	struct bed b;

	(void)state;
	for (unsigned i = 0; i < 12; i++)
		whole[i] = long_message(i, size);
	for (unsigned round = 0; round < 3; round++) {
		bed_open(&b);
		await(&b, &b.up);
		b.close_at_first = round == 1;
		b.wanted = round == 2 ? 2 : round == 1 ? 1 : 12;
		for (unsigned i = 0; i < 12; i++)
			enqueue_long(whole[i], size);
		await(&b, &b.enough);
		if (b.close_at_first)
			b.port = NULL;
		bed_close(&b);
	}
	for (unsigned i = 0; i < 12; i++)
		mem_free(whole[i]);
}

/* An answer to an SMP, read behind more questions of clients than the loop takes in one turn, is
 * handed over before these. */
static void
test_smp_first(void **state)
{
	const unsigned questions = 1000;
	struct bed b;

	(void)state;
	bed_open(&b);
	await(&b, &b.up);
	b.wanted = questions + 1;
	for (unsigned i = 0; i < b.wanted; i++) {
		struct entry e = entry_of(i < questions ? i + 1 : 0);

		e.mad[1] = i < questions ? MAD_CLASS_SUBN_ADM : MAD_CLASS_SUBN_LID;
		enqueue(&e);
	}
	await_read();
	await(&b, &b.enough);
	bed_close(&b);
}

/* More than the ring holds, while the loop does not run: all arrive, in order. */
static void
test_burst(void **state)
{
	struct bed b;

	(void)state;
	bed_open(&b);
	await(&b, &b.up);
	b.wanted = 8000;
	for (unsigned i = 0; i < b.wanted; i++) {
		struct entry e = entry_of(i);

		enqueue(&e);
	}
	await(&b, &b.enough);
	bed_close(&b);
}

static void
lose_and_return(struct bed *b, const char *word)
{
	b->up = b->down = false;
	await(b, &b->down);
	assert_false(b->port->up);
	assert_non_null(strstr(b->why, word));
	set_broken(0);
	fake.send_errno = 0;
	await(b, &b->up);
	assert_true(b->port->up);
}

static void
test_device_lost(void **state)
{
	struct port_mad m = { .mad = { 1, MAD_CLASS_SUBN_LID }, .timeout_ms = 1 };
	struct entry e = entry_of(0);
	struct bed b;

	(void)state;
	bed_open(&b);
	await(&b, &b.up);
	set_broken(EIO);
	lose_and_return(&b, "lost");
	b.wanted = 1;
	enqueue(&e);
	await(&b, &b.enough);

	fake.send_errno = ENOMEM;
	for (unsigned i = 0; i < 20; i++)
		assert_int_equal(port_send(b.port, &m), ERR_BUSY);
	/* Answers may be refused for what the asker did, and tell nothing of the device. */
	fake.send_errno = EINVAL;
	m.timeout_ms = 0;
	for (unsigned i = 0; i < 20; i++)
		assert_int_equal(port_send(b.port, &m), ERR_IO);
	m.timeout_ms = 1;
	/* One EINVAL may be one bad MAD; many in a row are a device that is gone. */
	assert_int_equal(port_send(b.port, &m), ERR_IO);
	fake.send_errno = 0;
	assert_int_equal(port_send(b.port, &m), 0);
	fake.send_errno = EINVAL;
	for (unsigned i = 0; i < 7; i++)
		assert_int_equal(port_send(b.port, &m), ERR_IO);
	b.down = false;
	assert_int_equal(port_send(b.port, &m), ERR_CLOSED);
	assert_false(b.down);
	lose_and_return(&b, "lost");
	assert_int_equal(port_send(b.port, &m), 0);
	assert_int_equal(fake.opens, 3);
	bed_close(&b);
}

static unsigned
open_count(const char *target)
{
	char path[64], to[128];
	unsigned n = 0;

	for (int fd = 3; fd < 64; fd++) {
		ssize_t len;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		len = readlink(path, to, sizeof(to) - 1);
		if (len > 0) {
			to[len] = '\0';
			n += !strcmp(to, target);
		}
	}
	return n;
}

/* IsSM lasts as long as its file is open, and is announced again after a loss. */
static void
test_issm(void **state)
{
	char path[] = "/tmp/weft-issm-XXXXXX";
	struct error e = { 0 };
	struct bed b;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	bed_open(&b);
	snprintf(fake.issm, sizeof(fake.issm), "%s", path);
	await(&b, &b.up);
	assert_int_equal(open_count(path), 0);
	assert_int_equal(port_set_issm(b.port, true, &e), 0);
	assert_int_equal(port_set_issm(b.port, true, &e), 0);
	assert_int_equal(open_count(path), 1);
	set_broken(ENODEV);
	lose_and_return(&b, "lost");
	assert_int_equal(open_count(path), 1);
	assert_int_equal(port_set_issm(b.port, false, &e), 0);
	assert_int_equal(open_count(path), 0);
	snprintf(fake.issm, sizeof(fake.issm), "/nowhere/issm0");
	assert_int_equal(port_set_issm(b.port, true, &e), ERR_IO);
	assert_non_null(strstr(e.text, "/nowhere/issm0"));
	bed_close(&b);
	unlink(path);
}

static void
test_close_inside(void **state)
{
	struct bed b;

	(void)state;
	bed_open(&b);
	await(&b, &b.up);
	b.close_at_first = true;
	b.wanted = 1;
	for (unsigned i = 0; i < 100; i++) {
		struct entry e = entry_of(i);

		enqueue(&e);
	}
	await(&b, &b.enough);
	b.port = NULL;
	bed_close(&b);
	assert_int_equal(b.received, 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_late_device),
		cmocka_unit_test(test_agents_refused),
		cmocka_unit_test(test_agents_refused_long),
		cmocka_unit_test(test_port_down),
		cmocka_unit_test(test_send),
		cmocka_unit_test(test_receive),
		cmocka_unit_test(test_route_back),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_long_backlog),
		cmocka_unit_test(test_smp_first),
		cmocka_unit_test(test_burst),
		cmocka_unit_test(test_device_lost),
		cmocka_unit_test(test_issm),
		cmocka_unit_test(test_close_inside),
	};
	int rc = cmocka_run_group_tests(tests, NULL, NULL);

	fake.real = eventfd(0, EFD_NONBLOCK);
	assert_true(fake.real >= 0);
	rc |= cmocka_run_group_tests(tests, NULL, NULL);
	mem_free(fake.queue);
	return rc;
}
