/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <rdma/ib_user_mad.h>
#include <sys/stat.h>
#include "sm/base/log.h"
#include "tests/unit/attach_bed.h"

/*
 * Programs on the server: what they ask, what they send and get, and what becomes of those that do
 * not keep to the rules. Layouts are those of <rdma/ib_user_mad.h> and IBA 13.4 and 14.2.
 */

/* A Get of an attribute by directed route of no hops, or (hop) out of port 1. */
static void
get_smp(uint8_t data[320], uint32_t id, uint32_t tid, uint16_t attr, bool hop)
{
	struct ib_user_mad_hdr h = {
		.id = id, .timeout_ms = 100, .lid = 0xffff, .pkey_index = 0,
	};
	uint8_t *mad = data + 64;

	memset(data, 0, 320);
	memcpy(data, &h, sizeof(h));
	mad[0] = 1;
	mad[1] = 0x81;
	mad[2] = 1;
	mad[3] = 1;
	mad[7] = hop;
	for (unsigned i = 0; i < 4; i++)
		mad[12 + i] = (uint8_t)(tid >> (24 - 8 * i));
	mad[16] = (uint8_t)(attr >> 8);
	mad[17] = (uint8_t)attr;
	memset(mad + 32, 0xff, 4);
	mad[129] = 1;
}

static uint32_t
tid_of(const struct attach_slot *s)
{
	const uint8_t *mad = s->data + 64;

	return (uint32_t)mad[12] << 24 | (uint32_t)mad[13] << 16 | (uint32_t)mad[14] << 8 | mad[15];
}

static void
round_trip(struct program *p, uint32_t id, uint32_t tid)
{
	struct ib_user_mad_hdr h;
	struct attach_slot s;
	uint8_t data[320];

	get_smp(data, id, tid, 0x0011, false);
	assert_true(tx_put(p, data, sizeof(data)));
	assert_true(rx_wait(p, &s));
	memcpy(&h, s.data, sizeof(h));
	assert_int_equal(s.length, 320);
	assert_int_equal(s.long_id, 0);
	assert_int_equal(h.id, id);
	assert_int_equal(h.status, 0);
	assert_int_equal(h.length, 320);
	assert_int_equal(h.lid, 0xffff);
	assert_int_equal(tid_of(&s), tid);
	assert_int_equal(s.data[64 + 3], 0x81);
}

/* ---- What works ---- */

static void
test_round_trips(void **state)
{
	struct bed *b = *state;
	struct program p = open_umad(b, "gpu-01", 0);
	struct attach_slot s;
	char byte;

	for (uint32_t i = 0; i < ATTACH_AGENTS; i++) {
		struct attach_reply r = ask(&p, smp_agent(0));

		assert_int_equal(r.status, 0);
		assert_int_equal(r.id, i);
	}
	assert_int_equal(ask(&p, smp_agent(0)).status, ENOMEM);
	for (uint32_t i = 0; i < ATTACH_AGENTS; i++)
		round_trip(&p, i, 1000 + i);
	assert_false(rx_take(&p, &s));
	assert_int_equal(recv(p.fds[0], &byte, 1, MSG_DONTWAIT), -1);
	assert_int_equal(ask(&p, request(ATTACH_UNREGISTER, 5, "")).status, 0);
	assert_int_equal(ask(&p, request(ATTACH_UNREGISTER, 5, "")).status, EINVAL);
	assert_int_equal(ask(&p, request(ATTACH_UNREGISTER, 32, "")).status, EINVAL);
	assert_int_equal(ask(&p, smp_agent(0)).id, 5);
	hang_up(&p);
}

/* Nobody is behind the port of the switch: 24 bytes come back, with the request's header. */
static void
test_timeout(void **state)
{
	struct bed *b = *state;
	struct program p = open_umad(b, "gpu-01", 0);
	struct ib_user_mad_hdr h;
	struct attach_slot s;
	uint8_t data[320];

	assert_int_equal(ask(&p, smp_agent(0)).status, 0);
	get_smp(data, 0, 7, 0x0011, true);
	data[8] = 1;		/* timeout_ms */
	data[64 + 129] = 9;	/* there is no port 9 */
	assert_true(tx_put(&p, data, sizeof(data)));
	assert_true(rx_wait(&p, &s));
	memcpy(&h, s.data, sizeof(h));
	assert_int_equal(h.status, ETIMEDOUT);
	assert_int_equal(h.timeout_ms, 1);
	assert_int_equal(s.length, 64 + 24);
	assert_int_equal(tid_of(&s), 7);
	hang_up(&p);
}

/* All agents' requests come to the one that registered for them: both directions of one class. */
static void
test_requests(void **state)
{
	struct bed *b = *state;
	struct program p = open_umad(b, "gpu-01", 0);
	struct program q = open_umad(b, "two", 0);
	struct attach_request vendor = request(ATTACH_REGISTER, 0, "");
	uint8_t data[320] = { 0 };
	struct ib_user_mad_hdr h = { .qpn = htonl(1), .qkey = htonl(0x80010000), .lid = htons(2) };
	struct attach_slot s;

	vendor.reg = (struct attach_registration){
		.methods = { 1u << 3 }, .qpn = 1, .mgmt_class = 0x32, .class_version = 1,
		.oui = 0x001405,
	};
	assert_int_equal(ask(&p, vendor).status, 0);
	assert_int_equal(ask(&p, vendor).status, EINVAL);
	assert_int_equal(ask(&q, vendor).status, 0);
	memcpy(data, &h, sizeof(h));
	memcpy(data + 64, "\x01\x32\x01\x03", 4);
	memcpy(data + 64 + 37, "\x00\x14\x05", 3);
	data[64 + 255] = 0x5a;
	assert_true(tx_put(&p, data, sizeof(data)));	/* to its own port */
	assert_true(rx_wait(&p, &s));
	memcpy(&h, s.data, sizeof(h));
	assert_int_equal(ntohl(h.qpn), 1);
	assert_int_equal(ntohs(h.lid), 2);
	assert_int_equal(s.length, 320);
	assert_int_equal(s.data[64 + 255], 0x5a);
	hang_up(&p);
	hang_up(&q);
}

/* ---- Many MADs ---- */

static unsigned
take_all(struct program *p, uint32_t *next)
{
	struct attach_slot s;
	unsigned n = 0;

	for (; rx_take(p, &s); n++)
		assert_int_equal(tid_of(&s), (*next)++);
	return n;
}

/* Far more answers than slots: they wait, and come in order. */
static void
test_backlog(void **state)
{
	struct bed *b = *state;
	struct program p = open_umad(b, "gpu-01", 0);
	uint32_t sent = 0, got = 0;
	uint8_t data[320];

	assert_int_equal(ask(&p, smp_agent(0)).status, 0);
	while (sent < 5000) {
		get_smp(data, 0, sent, 0x0011, false);
		if (tx_put(&p, data, sizeof(data)))
			sent++;
		else
			run(b);
	}
	while (b->sim->model && model_sent(b->sim->model) < 5000)
		run(b);
	run(b);
	assert_int_equal(p.m->rx.count, ATTACH_SLOTS);
	assert_int_equal(p.m->rx.waits, 1);
	while (got < 5000) {
		if (!take_all(&p, &got))
			run(b);
	}
	assert_int_equal(got, 5000);
	run(b);
	assert_int_equal(p.m->rx.waits, 0);
	hang_up(&p);
}

/* The kernel keeps 200,000 MADs a file, and so do we. */
static void
test_never_reads(void **state)
{
	struct bed *b = *state;
	struct program p = open_umad(b, "gpu-01", 0), q = open_umad(b, "gpu-01", 0);
	uint32_t sent = 0, got = 0;
	uint8_t data[320];

	assert_int_equal(ask(&p, smp_agent(0)).status, 0);
	assert_int_equal(ask(&q, smp_agent(0)).status, 0);
	while (sent < 201000) {
		get_smp(data, 0, sent, 0x0011, false);
		if (tx_put(&p, data, sizeof(data)))
			sent++;
		else if (sent % 16384)
			run(b);
		else
			round_trip(&q, 0, sent);
	}
	while (model_sent(b->sim->model) < sent)
		run(b);
	run(b);
	while (got < 200000) {
		if (!take_all(&p, &got))
			run(b);
	}
	run(b);
	assert_int_equal(p.m->rx.count, 0);
	round_trip(&p, 0, 200001);
	hang_up(&p);
	hang_up(&q);
}

/* ---- Bad programs ---- */

static void
assert_closed(struct program *p)
{
	struct attach_reply r;
	char byte;

	for (unsigned i = 0; i < 100; i++)
		run(p->bed);
	while (hear(p, &r))
		assert_int_not_equal(r.status, 0);
	if (p->nfds)
		assert_int_equal(read(p->fds[0], &byte, 1), 0);
	hang_up(p);
}

static void
test_nonsense_rings(void **state)
{
	struct bed *b = *state;
	struct program good = open_umad(b, "gpu-01", 0);
	uint8_t data[320];

	assert_int_equal(ask(&good, smp_agent(0)).status, 0);
	for (unsigned i = 0; i < 4; i++) {
		struct program p = open_umad(b, "gpu-01", i % 2);

		assert_int_equal(ask(&p, smp_agent(0)).status, 0);
		get_smp(data, 0, i, 0x0011, false);
		if (i < 2)
			p.m->rx.count = i ? UINT32_MAX : ATTACH_SLOTS + 1;
		else
			p.m->tx.head = i == 2 ? ATTACH_SLOTS + 7 : 1u << 31;
		p.head = p.m->tx.head;
		tx_put(&p, data, sizeof(data));
		p.m->tx.head = i < 2 ? 1 : p.m->tx.head;
		eventfd_write(p.fds[2], 1);
		assert_closed(&p);
		round_trip(&good, 0, 50 + i);
	}
	hang_up(&good);
}

/* Slots and numbers that mean nothing are refused one by one; the file lives on. */
static void
test_nonsense_slots(void **state)
{
	static const uint32_t lengths[] = { 0, 63, 64, 99, 321, 1u << 31, UINT32_MAX };
	struct bed *b = *state;
	struct program p = open_umad(b, "gpu-01", 0);
	uint8_t data[320];

	assert_int_equal(ask(&p, smp_agent(0)).status, 0);
	get_smp(data, 0, 1, 0x0011, false);
	for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
		assert_true(tx_put(&p, data, lengths[i]));
	get_smp(data, 1, 2, 0x0011, false);
	assert_true(tx_put(&p, data, 320));
	get_smp(data, UINT32_MAX, 3, 0x0011, false);
	assert_true(tx_put(&p, data, 320));
	round_trip(&p, 0, 4);
	assert_int_equal(eventfd_write(p.fds[2], UINT64_MAX - 1), 0);
	run(b);
	round_trip(&p, 0, 5);
	hang_up(&p);
}

static void
test_memory_stays(void **state)
{
	struct bed *b = *state;
	struct program p = open_umad(b, "gpu-01", 0);

	assert_int_equal(ftruncate(p.fds[1], 0), -1);
	assert_int_equal(errno, EPERM);
	assert_int_equal(ask(&p, smp_agent(0)).status, 0);
	round_trip(&p, 0, 1);
	hang_up(&p);
}

static void
test_bad_requests(void **state)
{
	struct bed *b = *state;
	struct attach_request q = request(ATTACH_HOST, 0, "");
	uint8_t big[8192] = { 0 };
	struct program p;

	for (unsigned i = 0; i < 8; i++) {
		size_t size = i == 0 ? sizeof(q) - 1 : i == 1 ? 1 : sizeof(q);

		q = request(i == 7 ? ATTACH_OPEN_UMAD : ATTACH_HOST, 0, "");
		if (i == 2)
			q.magic++;
		if (i == 3)
			q.version = 9;
		if (i == 4)
			memset(q.node, 'x', sizeof(q.node));
		p = dial(b);
		if (i == 5)
			say(&p, big, sizeof(big), -1);
		else if (i == 6)
			say(&p, big, 3, STDIN_FILENO);
		else if (i < 5)
			say(&p, &q, size, -1);
		else
			shutdown(p.conn, SHUT_WR);
		assert_closed(&p);
	}
	p = dial(b);
	assert_int_equal(ask(&p, request(99, 0, "")).status, EINVAL);
	assert_int_equal(ask(&p, request(ATTACH_REGISTER, 0, "")).status, EINVAL);
	assert_int_equal(ask(&p, request(ATTACH_OPEN_UMAD, 2, "gpu-01")).status, ENXIO);
	assert_int_equal(ask(&p, request(ATTACH_OPEN_UMAD, 0, "gpu-77")).status, ENOENT);
	assert_int_equal(ask(&p, request(ATTACH_HOST, 0, "localhost")).status, EINVAL);
	assert_int_equal(ask(&p, request(ATTACH_HOST, 0, "0x50")).status, 0);
	hang_up(&p);
}

/* Programs that die at any point leave nothing behind, and disturb nobody. */
static void
test_dying(void **state)
{
	struct bed *b = *state;
	struct program good = open_umad(b, "gpu-01", 0);
	uint8_t data[320];

	assert_int_equal(ask(&good, smp_agent(0)).status, 0);
	for (unsigned i = 0; i < 200; i++) {
		struct program p = dial(b);
		struct attach_request q = request(ATTACH_OPEN_UMAD, i % 2, "gpu-01");

		if (i % 4 == 0)
			say(&p, &q, sizeof(q), -1);
		if (i % 4 > 1) {
			hang_up(&p);
			p = open_umad(b, "gpu-01", i % 2);
			assert_int_equal(ask(&p, smp_agent(0)).status, 0);
			get_smp(data, 0, i, 0x0011, i % 4 == 3);
			for (unsigned j = 0; j < 500; j++)
				tx_put(&p, data, sizeof(data));
		}
		hang_up(&p);
		round_trip(&good, 0, 50 + i);
	}
	assert_int_equal(b->sim->host.attached(b->sim->host.programs_arg), 1);
	hang_up(&good);
}

/* What a program wrote before it ended is sent. */
static void
test_last_words(void **state)
{
	struct bed *b = *state;
	struct program p = open_umad(b, "gpu-01", 0);
	uint8_t data[320];

	assert_int_equal(ask(&p, smp_agent(0)).status, 0);
	get_smp(data, 0, 1, 0x0011, false);
	for (unsigned i = 0; i < 1000; i++) {
		get_smp(data, 0, i, 0x0011, false);
		assert_true(tx_put(&p, data, sizeof(data)));
	}
	hang_up(&p);
	while (b->sim->host.attached(b->sim->host.programs_arg))
		run(b);
	assert_int_equal(model_sent(b->sim->model), 1000);
}

/* A program that floods requests and reads no answer stops being read. */
static void
test_deaf(void **state)
{
	struct bed *b = *state;
	struct program p = open_umad(b, "gpu-01", 0), good = open_umad(b, "gpu-01", 0);
	struct attach_request q = request(ATTACH_UNREGISTER, 3, "");
	unsigned n = 0, replies = 0;
	struct attach_reply r;

	assert_int_equal(ask(&good, smp_agent(0)).status, 0);
	for (unsigned idle = 0; idle < 20; idle++) {
		for (; send(p.conn, &q, sizeof(q), MSG_NOSIGNAL) > 0; n++)
			idle = 0;
		run(b);
		round_trip(&good, 0, n);
	}
	while (replies < n && hear(&p, &r))
		replies++;
	assert_int_equal(replies, n);
	hang_up(&p);
	hang_up(&good);
}

/* ---- Long messages ---- */

static int
memfd_of(const uint8_t *data, size_t size)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, size), size);
	return fd;
}

static int
send_long(struct program *p, int fd, uint64_t length)
{
	struct attach_request q = request(ATTACH_SEND_LONG, 0, "");

	q.length = length;
	return ask_fd(p, q, fd).status;
}

static void
test_send_long(void **state)
{
	struct bed *b = *state;
	struct program p = open_umad(b, "gpu-01", 0);
	uint8_t data[320];
	int fd, pipes[2];
	struct attach_slot s;

	assert_int_equal(ask(&p, smp_agent(0)).status, 0);
	get_smp(data, 0, 1, 0x0011, true);
	data[64 + 129] = 9;	/* there is no port 9 */
	fd = memfd_of(data, sizeof(data));
	assert_int_equal(send_long(&p, fd, 320), 0);
	assert_int_equal(send_long(&p, fd, 320), EINVAL);	/* the TID is outstanding */
	assert_true(rx_wait(&p, &s));
	assert_int_equal(send_long(&p, fd, 320), 0);		/* and now it is not */
	assert_int_equal(send_long(&p, fd, 99), EINVAL);
	assert_int_equal(send_long(&p, fd, 321), EINVAL);
	assert_int_equal(send_long(&p, fd, UINT64_MAX), EINVAL);
	assert_int_equal(send_long(&p, -1, 320), EINVAL);
	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	assert_int_equal(send_long(&p, pipes[0], 320), EINVAL);
	assert_int_equal(ask(&p, request(ATTACH_FETCH_LONG, 1, "")).status, ENOENT);
	close(pipes[0]);
	close(pipes[1]);
	close(fd);
	hang_up(&p);
}

static struct attach_request
sa_agent(uint32_t methods)
{
	struct attach_request q = request(ATTACH_REGISTER, 0, "");

	q.reg = (struct attach_registration){
		.methods = { methods }, .qpn = 1, .mgmt_class = methods ? 3 : 0,
		.class_version = 2, .rmpp_version = 1,
	};
	return q;
}

/* An RMPP message of 64 + size bytes to its own port: an SA GetMulti (13.6.2). */
static void
send_multi(struct program *p, uint8_t tid, size_t size)
{
	struct ib_user_mad_hdr h = {
		.id = 1, .timeout_ms = 100, .qpn = htonl(1), .qkey = htonl(0x80010000),
		.lid = htons(2),
	};
	uint8_t *data = calloc(1, 64 + size);
	int fd;

	assert_non_null(data);
	memcpy(data, &h, sizeof(h));
	memcpy(data + 64, "\x01\x03\x02\x14", 4);
	data[64 + 15] = tid;
	memcpy(data + 64 + 24, "\x01\x01\x01", 3);
	for (size_t i = 64 + 56; i < 64 + size; i++)
		data[i] = (uint8_t)(i * 7 + i / 251);
	fd = memfd_of(data, 64 + size);
	assert_int_equal(send_long(p, fd, 64 + size), 0);
	close(fd);
	free(data);
}

/* A message that has no room in a slot: its beginning is there, the whole is fetched once. The one
 * that is not fetched goes with the file. */
static void
test_long_messages(void **state)
{
	struct bed *b = *state;
	struct program p = open_umad(b, "gpu-01", 0);
	size_t size = 56 + 200 * 50;
	struct attach_slot s;
	struct attach_reply r;
	struct ib_user_mad_hdr h;
	uint8_t *got = malloc(64 + size);

	assert_int_equal(ask(&p, sa_agent(1u << 0x14)).id, 0);
	assert_int_equal(ask(&p, sa_agent(0)).id, 1);
	send_multi(&p, 1, size);
	send_multi(&p, 2, size);
	for (unsigned i = 0; i < 2; i++) {
		assert_true(rx_wait(&p, &s));
		assert_int_equal(s.length, 64 + size);
		assert_int_not_equal(s.long_id, 0);
		memcpy(&h, s.data, sizeof(h));
		assert_int_equal(h.id, 0);
		assert_int_equal(h.length, 64 + size);
		assert_int_equal(tid_of(&s), i + 1);
		assert_int_equal(s.data[300], (uint8_t)(300 * 7 + 300 / 251));
	}
	r = ask(&p, request(ATTACH_FETCH_LONG, s.long_id, ""));
	assert_int_equal(r.status, 0);
	assert_int_equal(r.length, 64 + size);
	assert_int_equal(pread(p.fetched, got, 64 + size, 0), 64 + size);
	close(p.fetched);
	for (size_t i = 64 + 56; i < 64 + size; i++)
		assert_int_equal(got[i], (uint8_t)(i * 7 + i / 251));
	r = ask(&p, request(ATTACH_FETCH_LONG, s.long_id, ""));
	assert_int_equal(r.status, ENOENT);
	free(got);
	hang_up(&p);
}

/* ---- issm files ---- */

static struct program
want_issm(struct bed *b, bool nonblock)
{
	struct program p = dial(b);
	struct attach_request q = request(ATTACH_OPEN_ISSM, 0, "gpu-01");

	q.nonblock = nonblock;
	say(&p, &q, sizeof(q), -1);
	return p;
}

static bool
issm_bit(struct bed *b)
{
	return model_portinfo(b->sim->model, 1, 1)->cap_mask & CAP_IS_SM;
}

static void
test_issm(void **state)
{
	struct bed *b = *state;
	struct program p[5];
	struct attach_reply r;

	for (unsigned i = 0; i < 5; i++) {
		p[i] = want_issm(b, i == 4);
		run(b);
	}
	assert_true(hear(&p[0], &r));
	assert_int_equal(r.status, 0);
	assert_true(hear(&p[4], &r));
	assert_int_equal(r.status, EAGAIN);
	assert_true(issm_bit(b));
	hang_up(&p[2]);			/* gives up waiting */
	hang_up(&p[0]);
	assert_true(hear(&p[1], &r));
	assert_int_equal(r.status, 0);
	assert_true(issm_bit(b));
	assert_int_equal(recv(p[3].conn, &r, sizeof(r), MSG_DONTWAIT), -1);
	hang_up(&p[1]);
	assert_true(hear(&p[3], &r));
	assert_int_equal(r.status, 0);
	hang_up(&p[3]);
	hang_up(&p[4]);
	while (b->sim->host.attached(b->sim->host.programs_arg))
		run(b);
	assert_false(issm_bit(b));
}

/* ---- Control ---- */

static int
command(struct program *p, const char *line, struct buf *out)
{
	struct attach_reply r = { .more = 1 };

	buf_clear(out);
	say(p, line, strlen(line), -1);
	while (r.more && hear(p, &r))
		buf_add(out, r.text, r.length_text);
	return r.status;
}

static void
test_control(void **state)
{
	struct bed *b = *state;
	struct program p = dial(b), q = dial(b), umad = open_umad(b, "gpu-01", 1);
	char long_line[ATTACH_TEXT + 100];
	struct buf out = { 0 };
	struct attach_reply r;

	assert_int_equal(ask(&p, request(ATTACH_CONTROL, 0, "")).status, 0);
	assert_int_equal(ask(&q, request(ATTACH_CONTROL, 0, "")).status, 0);
	assert_int_equal(command(&p, "help", &out), 0);
	assert_true(out.len > 100);
	assert_int_equal(command(&q, "link-down S1/77", &out), ENOENT);
	assert_non_null(strstr(out.data, "77"));
	memset(long_line, 'x', sizeof(long_line));
	say(&p, long_line, sizeof(long_line), -1);
	assert_true(hear(&p, &r));
	assert_int_equal(r.status, E2BIG);
	say(&p, "a\0b", 3, -1);
	assert_true(hear(&p, &r));
	assert_int_equal(r.status, EINVAL);
	/* the log has a line each, and terminals show it */
	assert_int_equal(command(&p, "description S1 \"a\nb\"", &out), EINVAL);
	assert_int_equal(command(&p, "description S1 \"\033[2J\"", &out), EINVAL);
	assert_int_equal(command(&p, "description S1 \"a\tb\"", &out), 0);
	b->sim->host.programs(b->sim->host.programs_arg, &out);
	assert_non_null(strstr(out.data, "test?[77] umad1 of \"gpu-01 mlx5_1\" port 1\n"));
	/* several commands at once, with the answers read late: each comes whole */
	for (unsigned i = 0; i < 50; i++)
		say(&q, "help", 4, -1);
	for (unsigned i = 0; i < 50; run(b), i++)
		;
	for (unsigned i = 0; i < 50; i++)
		do
			assert_true(hear(&q, &r));
		while (r.more);
	buf_free(&out);
	hang_up(&p);
	hang_up(&q);
	hang_up(&umad);
}

/* ---- The socket ---- */

static void
test_socket(void **state)
{
	struct bed *b = *state;
	struct error e = { 0 };
	struct server *s;
	struct stat st;
	char path[200];
	int fd;

	assert_int_equal(lstat(b->path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(server_new(&s, b->sim, b->path, &e), ERR_EXISTS);
	assert_null(s);
	assert_int_equal(lstat(b->path, &st), 0);
	snprintf(path, sizeof(path), "%s.file", b->path);
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	assert_int_equal(server_new(&s, b->sim, path, &e), ERR_EXISTS);
	close(fd);
	unlink(path);
	memset(path, 'x', 150);
	path[150] = 0;
	assert_int_equal(server_new(&s, b->sim, path, &e), ERR_INVALID);
	assert_int_equal(server_new(&s, b->sim, "", &e), ERR_INVALID);
	assert_int_equal(b->sim->host.attached(b->sim->host.programs_arg), 0);
}

/* A server that was killed leaves its socket file; the next one takes its place. */
static void
test_stale_socket(void **state)
{
	struct bed *b = *state;
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	struct error e = { 0 };
	struct server *s;
	struct stat st;
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	snprintf(sa.sun_path, sizeof(sa.sun_path), "%s.stale", b->path);
	assert_int_equal(bind(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	close(fd);
	assert_int_equal(server_new(&s, b->sim, sa.sun_path, &e), 0);
	server_free(s);
	assert_int_equal(lstat(sa.sun_path, &st), -1);
	server_free(NULL);
}

/* Programs that outlive the server find their descriptors hung up. */
static void
test_server_ends(void **state)
{
	struct bed *b = *state;
	struct program p = open_umad(b, "gpu-01", 0), i = want_issm(b, false);
	uint8_t data[320];
	char byte;

	assert_int_equal(ask(&p, smp_agent(0)).status, 0);
	get_smp(data, 0, 1, 0x0011, false);
	tx_put(&p, data, sizeof(data));
	server_free(b->server);
	b->server = NULL;
	assert_int_equal(read(p.fds[0], &byte, 1), 0);
	assert_int_equal(recv(p.conn, &byte, 1, 0), 0);
	hang_up(&p);
	hang_up(&i);
	run(b);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, bed_setup, bed_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_round_trips), TEST(test_timeout), TEST(test_requests),
		TEST(test_backlog), TEST(test_never_reads), TEST(test_nonsense_rings),
		TEST(test_nonsense_slots), TEST(test_memory_stays), TEST(test_bad_requests),
		TEST(test_dying), TEST(test_last_words), TEST(test_deaf), TEST(test_send_long),
		TEST(test_long_messages), TEST(test_issm), TEST(test_control), TEST(test_socket),
		TEST(test_stale_socket), TEST(test_server_ends),
	};

	log_open("stderr", LOG_L_ERROR, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
