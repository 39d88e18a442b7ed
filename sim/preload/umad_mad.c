/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reading and writing of umad files: what Linux's user_mad.c does, on the rings of sim/attach.h.
 *
 * Waiting. The program's descriptor is the end of a socket pair that holds a byte while a MAD
 * waits. To wait for a MAD is to look at the first byte (MSG_PEEK), which also honours O_NONBLOCK
 * and SA_RESTART and notices a simulator that has gone.
 *
 * Dead files. Some programs go on reading or polling whatever they are told, and log it each time
 * (OpenSM): they would fill the disk, and a thread of theirs could be cancelled only in the middle
 * of its logging, with the log's lock held. So calls that may wait do so for a moment from the
 * second time on.
 *
 * Outstanding requests. The kernel refuses a second request of one TID and class. Requests that
 * expect an answer are counted by a hash, down when the program reads the answer; while a counter
 * is 0 there is none like it. Else the simulator is asked, which knows.
 */
#include "sim/preload/umad_impl.h"

#include <arpa/inet.h>
#include <poll.h>
#include <rdma/ib_user_mad.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include "sim/preload/cancel.h"
#include "sim/preload/link.h"
#include "sim/preload/real.h"

#define HEADER_OLD sizeof(struct ib_user_mad_hdr_old)	/* without pkey_index */
#define MAD_LEAST 36		/* bytes of a MAD that write() takes at least */
#define MAD_LEAST_READ 24	/* of a MAD that comes back after its time-out */
#define LONG_MAX_SIZE (512u << 20)	/* no message is longer */
#define TOKEN_TRIES 32		/* to take the byte before sleeping for it */
#define TOKEN_WAIT 10000	/* ms; a simulator that owes a byte for longer is given up */
#define DEAD_REST 100		/* ms that each further read() of a dead file takes */
#define FULL_WAIT 1		/* ms between looks at a full ring */
#define LOOK_FOR 20000		/* ns spent looking for a MAD before the program sleeps */
#define LOOKS 32		/* between two looks at the clock */
#define MISSES_MAX 4		/* after so many in vain, 2^4 - 1 times none is looked for */
#define LOOK_EVERY 64		/* writes to a busy simulator between looks whether it lives */

#define AT_ID offsetof(struct ib_user_mad_hdr, id)
#define AT_STATUS offsetof(struct ib_user_mad_hdr, status)
#define AT_TIMEOUT offsetof(struct ib_user_mad_hdr, timeout_ms)
#define AT_LENGTH offsetof(struct ib_user_mad_hdr, length)
/* struct ib_mad_hdr, and the RMPP header behind it */
#define AT_CLASS 1
#define AT_METHOD 3
#define AT_TID_LOW 12
#define AT_MODIFIER 20
#define AT_RMPP_FLAGS 26
#define METHOD_RESPONSE 0x80
#define METHOD_TRAP_REPRESS 0x07
#define CLASS_SA 0x03
#define CLASS_BM 0x05
#define CLASS_DEVICE_MGMT 0x06
#define CLASS_DEVICE_ADM 0x10
#define CLASS_BIS 0x12
#define RMPP_ACTIVE 0x01

static uint32_t
get_u32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* ---- which requests are outstanding ---- */

/* Programs count their TIDs up, so the low bits alone keep those that are under way apart. */
static _Atomic(uint16_t) *
counter(struct umad *u, uint32_t id, const uint8_t *mad)
{
	uint32_t h = ntohl(get_u32(mad + AT_TID_LOW));

	h += mad[AT_CLASS] * 2657u + id * 5471u;
	return &u->own->sent[h & (HASH_SIZE - 1)];
}

static bool
is_response(const uint8_t *mad)
{
	return (mad[AT_METHOD] & METHOD_RESPONSE) || mad[AT_METHOD] == METHOD_TRAP_REPRESS ||
	       (mad[AT_CLASS] == CLASS_BM && (mad[AT_MODIFIER + 3] & 1));
}

static void
heard_of(struct umad *u, uint32_t id, const uint8_t *mad)
{
	_Atomic(uint16_t) *c = counter(u, id, mad);
	uint16_t n = atomic_load_explicit(c, memory_order_relaxed);

	while (n && !atomic_compare_exchange_weak(c, &n, (uint16_t)(n - 1)))
		;
}

/* ---- reading ---- */

/* Take the byte that tells of a MAD: it is there or on its way. */
static bool
take_token(struct umad *u)
{
	struct pollfd p = { .fd = u->fd, .events = POLLIN };
	char byte;
	ssize_t n;

	for (unsigned tries = 0;; tries++) {
		n = recv(u->fd, &byte, 1, MSG_DONTWAIT);
		if (n >= 0)
			return n == 1;
		if (errno != EAGAIN && errno != EINTR)
			return false;
		/* Mostly the simulator is just sending it: sleeping would take longer. */
		if (errno == EAGAIN && tries >= TOKEN_TRIES && REAL(poll)(&p, 1, TOKEN_WAIT) == 0)
			return false;
	}
}

static ssize_t
fetch_long(struct umad *u, uint32_t id, uint8_t *to, size_t size)
{
	struct attach_request q;
	struct attach_reply r;
	int memfd = -1, rc;
	size_t have = 0;
	ssize_t n = 1;

	link_request(&q, ATTACH_FETCH_LONG, id);
	umad_lock(u, &u->own->ask_lock);
	rc = umad_ask(u, &q, -1, &r, &memfd);
	unlock(&u->own->ask_lock);
	if (rc < 0)
		return -1;
	while (have < size && (n > 0 || (n < 0 && errno == EINTR))) {
		n = pread(memfd, to + have, size - have, (off_t)(ATTACH_HEADER + have));
		if (n > 0)
			have += (size_t)n;
	}
	REAL(close)(memfd);
	return have == size ? 0 : -1;
}

/* The slot has been read. */
static void
finish_slot(struct umad *u)
{
	struct attach_rx *rx = &u->rings->rx;
	uint32_t before;

	atomic_store_explicit(&u->fresh, true, memory_order_relaxed);
	u->own->tail++;
	before = __atomic_fetch_sub(&rx->count, 1, __ATOMIC_SEQ_CST);
	if (before == 0 || before > ATTACH_SLOTS || (before == 1 && !take_token(u)))
		atomic_store(&u->own->dead, true);
	if (__atomic_load_n(&rx->waits, __ATOMIC_SEQ_CST) && before - 1 <= ATTACH_SLOTS / 2)
		umad_ring_bell(u);
}

/* Copy the first slot; it stays unless all goes well. */
static ssize_t
read_slot(struct umad *u, uint8_t *buf, size_t size, size_t header)
{
	const struct attach_slot *s = &u->rings->rx.slots[u->own->tail % ATTACH_SLOTS];
	uint32_t length = __atomic_load_n(&s->length, __ATOMIC_RELAXED);
	uint32_t long_id = __atomic_load_n(&s->long_id, __ATOMIC_RELAXED);
	size_t mad, first;
	uint32_t whole;

	if (length < ATTACH_HEADER + MAD_LEAST_READ || length > LONG_MAX_SIZE ||
	    (length > sizeof(s->data)) != (long_id != 0))
		return umad_die(u, EIO);
	mad = length - ATTACH_HEADER;
	first = mad < ATTACH_MAD ? mad : ATTACH_MAD;
	if (size < header + first)
		return fail(EINVAL);
	memcpy(buf, s->data, header);
	memcpy(buf + header, s->data + ATTACH_HEADER, first);
	whole = (uint32_t)(header + mad);
	if (get_u32(buf + AT_STATUS) != ETIMEDOUT)
		memcpy(buf + AT_LENGTH, &whole, sizeof(whole));
	if (size < whole)
		return fail(ENOSPC);
	if (mad > first && fetch_long(u, long_id, buf + header, mad) < 0)
		return umad_die(u, EIO);
	if (is_response(buf + header) || get_u32(buf + AT_STATUS) == ETIMEDOUT)
		heard_of(u, get_u32(buf + AT_ID), buf + header);
	finish_slot(u);
	return (ssize_t)whole;
}

/* With the lock held. 0: nothing is there. */
static ssize_t
try_read(struct umad *u, uint8_t *buf, size_t size, size_t header)
{
	uint32_t count;

	if (atomic_load(&u->own->dead))
		return fail(EIO);
	count = __atomic_load_n(&u->rings->rx.count, __ATOMIC_ACQUIRE);
	if (count > ATTACH_SLOTS)
		return umad_die(u, EIO);
	return count ? read_slot(u, buf, size, header) : 0;
}

static int64_t
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static bool
comes_soon(const uint32_t *count)
{
	int64_t end = now() + LOOK_FOR;

	do {
		for (unsigned i = 0; i < LOOKS; i++)
			if (__atomic_load_n(count, __ATOMIC_ACQUIRE))
				return true;
		sched_yield();
	} while (now() < end);
	return false;
}

/* An answer often comes sooner than a sleep would end. On one processor it cannot; and where many
 * programs share a few it seldom does: the oftener it was looked for in vain, the rarer it is. */
static bool
look_for_mad(struct umad *u)
{
	unsigned skips = atomic_load_explicit(&u->skips, memory_order_relaxed), misses;

	if (!u->looks)
		return false;
	if (skips) {
		atomic_store_explicit(&u->skips, skips - 1, memory_order_relaxed);
		return false;
	}
	if (comes_soon(&u->rings->rx.count)) {
		atomic_store_explicit(&u->misses, 0, memory_order_relaxed);
		return true;
	}
	atomic_store_explicit(&u->fresh, false, memory_order_relaxed);
	misses = atomic_load_explicit(&u->misses, memory_order_relaxed);
	if (misses < MISSES_MAX)
		misses++;
	atomic_store_explicit(&u->misses, misses, memory_order_relaxed);
	atomic_store_explicit(&u->skips, (1u << misses) - 1, memory_order_relaxed);
	return false;
}

bool
umad_ready(struct umad *u, bool look)
{
	if (!u->reads || atomic_load(&u->own->dead))
		return false;
	if (__atomic_load_n(&u->rings->rx.count, __ATOMIC_ACQUIRE))
		return true;
	return look && look_for_mad(u);
}

void
umad_look(void)
{
	for (unsigned i = 0; i < UMAD_FILES; i++) {
		struct umad *u = umad_file(i);
		bool found;

		if (!u)
			return;
		if (!atomic_load_explicit(&u->fresh, memory_order_relaxed) || !umad_hold(u))
			continue;
		found = umad_ready(u, true);
		umad_drop(u);
		if (found)
			return;
	}
}

/* Take a byte that stands for no MAD; only a simulator in disorder sends such. The MAD is there
 * before its byte, so the byte must be looked for first. */
static void
drop_stray(struct umad *u)
{
	char byte;

	umad_lock(u, &u->own->read_lock);
	if (recv(u->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1 &&
	    __atomic_load_n(&u->rings->rx.count, __ATOMIC_SEQ_CST) == 0)
		recv(u->fd, &byte, 1, MSG_DONTWAIT);
	unlock(&u->own->read_lock);
}

/* The call's reference goes with a thread that is cancelled. */
static void
give_up(void *u)
{
	umad_drop(u);
}

/* Until there is a byte: what recv() says of it. */
static ssize_t
wait_for_byte(struct umad *u, int cancel)
{
	char byte;
	ssize_t n;

	pthread_cleanup_push(give_up, u);
	cancel_back(cancel);
	n = recv(u->fd, &byte, 1, MSG_PEEK);
	cancel_off();
	pthread_cleanup_pop(0);
	return n;
}

/* A further look at a dead file. */
static void
rest(struct umad *u, int cancel, int ms)
{
	int keep = errno;

	pthread_cleanup_push(give_up, u);
	cancel_back(cancel);
	REAL(poll)(NULL, 0, ms >= 0 && ms < DEAD_REST ? ms : DEAD_REST);
	cancel_off();
	pthread_cleanup_pop(0);
	errno = keep;
}

void
umad_hung_up(struct umad *u, int timeout)
{
	int cancel = cancel_off();

	if (atomic_exchange(&u->own->dead, true))
		rest(u, cancel, timeout);
	cancel_back(cancel);
}

static bool
waits(struct umad *u)
{
	int flags = REAL(fcntl)(u->fd, F_GETFL);

	return flags >= 0 && !(flags & O_NONBLOCK);
}

static ssize_t
read_mad(struct umad *u, void *buf, size_t size, int cancel)
{
	size_t header = atomic_load(&u->own->pkey) ? ATTACH_HEADER : HEADER_OLD;
	bool stray = false;
	ssize_t n;

	if (!u->reads)
		return fail(EBADF);
	if (!buf)
		return fail(EFAULT);
	if (size < header)
		return fail(EINVAL);
	if (atomic_load(&u->own->dead) && waits(u))
		rest(u, cancel, DEAD_REST);
	for (;;) {
		umad_lock(u, &u->own->read_lock);
		n = try_read(u, buf, size, header);
		unlock(&u->own->read_lock);
		if (n)
			return n;
		if (stray)
			drop_stray(u);
		n = wait_for_byte(u, cancel);
		if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
			return umad_die(u, EIO);
		if (n < 0)
			return -1;
		stray = true;
	}
}

ssize_t
umad_read(struct umad *u, void *buf, size_t size)
{
	int cancel = cancel_off();
	ssize_t n = read_mad(u, buf, size, cancel);

	cancel_back(cancel);
	return n;
}

/* ---- writing ---- */

static bool
has_rmpp(uint8_t mgmt_class)
{
	return mgmt_class == CLASS_SA || mgmt_class == CLASS_DEVICE_MGMT ||
	       mgmt_class == CLASS_DEVICE_ADM || mgmt_class == CLASS_BIS ||
	       (mgmt_class >= 0x30 && mgmt_class <= 0x4f);
}

/* What the kernel says of an agent's use of RMPP. */
static bool
rmpp_allowed(uint8_t agent, const uint8_t *mad, size_t size)
{
	bool active = mad[AT_RMPP_FLAGS] & RMPP_ACTIVE;

	if (!has_rmpp(mad[AT_CLASS]))
		return size <= ATTACH_MAD && !(agent & AGENT_RMPP);
	if ((agent & AGENT_RMPP) && !(agent & AGENT_USER_RMPP))
		return active || size <= ATTACH_MAD;
	return size <= ATTACH_MAD;
}

static void
copy_header(uint8_t to[ATTACH_HEADER], const uint8_t *from, size_t header)
{
	memcpy(to, from, header);
	memset(to + header, 0, ATTACH_HEADER - header);
}

static bool
fill_memfd(int fd, const uint8_t *header, const uint8_t *mad, size_t size)
{
	size_t done = 0;
	ssize_t n;

	if (REAL(write)(fd, header, ATTACH_HEADER) != (ssize_t)ATTACH_HEADER)
		return false;
	while (done < size) {
		n = REAL(write)(fd, mad + done, size - done);
		if (n < 0 && errno != EINTR)
			return false;
		done += n > 0 ? (size_t)n : 0;
	}
	return true;
}

/* Send through the connection and hear what the kernel says. */
static int
write_asking(struct umad *u, const uint8_t *header, const uint8_t *mad, size_t size)
{
	int fd = memfd_create("umad", MFD_CLOEXEC);
	struct attach_request q;
	struct attach_reply r;
	int rc = -1;

	if (fd < 0)
		return -1;
	link_request(&q, ATTACH_SEND_LONG, 0);
	q.length = ATTACH_HEADER + size;
	if (fill_memfd(fd, header, mad, size)) {
		umad_lock(u, &u->own->ask_lock);
		rc = umad_ask(u, &q, fd, &r, NULL);
		unlock(&u->own->ask_lock);
		if (rc < 0 && errno == EIO)
			rc = umad_die(u, EINVAL);
	}
	REAL(close)(fd);
	return rc;
}

/* With the lock held. Slots taken never outnumber slots filled, or the other side is mad. */
static bool
wait_for_room(struct umad *u)
{
	struct attach_tx *tx = &u->rings->tx;
	struct pollfd p = { .fd = u->fd };
	uint32_t used;

	for (;;) {
		used = u->own->head - __atomic_load_n(&tx->tail, __ATOMIC_ACQUIRE);
		if (used > ATTACH_SLOTS)
			return false;
		if (used < ATTACH_SLOTS)
			return true;
		umad_ring_bell(u);
		if (REAL(poll)(&p, 1, FULL_WAIT) > 0)
			return false;
	}
}

static int
write_slot(struct umad *u, const uint8_t *buf, size_t header, size_t mad)
{
	struct attach_tx *tx = &u->rings->tx;
	struct attach_slot *s;
	uint32_t head;

	umad_lock(u, &u->own->write_lock);
	if (!wait_for_room(u)) {
		unlock(&u->own->write_lock);
		return umad_die(u, EINVAL);
	}
	head = u->own->head;
	s = &tx->slots[head % ATTACH_SLOTS];
	s->length = (uint32_t)(ATTACH_HEADER + mad);
	s->long_id = 0;
	copy_header(s->data, buf, header);
	memcpy(s->data + ATTACH_HEADER, buf + header, mad);
	u->own->head = ++head;
	__atomic_store_n(&tx->head, head, __ATOMIC_RELEASE);
	unlock(&u->own->write_lock);
	if ((umad_ring_bell(u) || head % LOOK_EVERY == 0) && umad_gone(u))
		return umad_die(u, EINVAL);
	return 0;
}

/* A request that expects an answer is counted; only if one like it may be outstanding is the
 * simulator asked. */
static int
write_mad(struct umad *u, const uint8_t *buf, size_t header, size_t size)
{
	const uint8_t *mad = buf + header;
	uint8_t head[ATTACH_HEADER];
	_Atomic(uint16_t) *c = NULL;
	bool ask_for = size > ATTACH_MAD;
	int rc;

	if (get_u32(buf + AT_TIMEOUT) && !is_response(mad)) {
		c = counter(u, get_u32(buf + AT_ID), mad);
		ask_for |= atomic_fetch_add(c, 1) != 0;
	}
	if (!ask_for)
		return write_slot(u, buf, header, size);
	copy_header(head, buf, header);
	rc = write_asking(u, head, mad, size);
	if (rc < 0 && c)
		heard_of(u, get_u32(buf + AT_ID), mad);
	return rc;
}

static ssize_t
check_and_write(struct umad *u, const void *data, size_t size)
{
	size_t header = atomic_load(&u->own->pkey) ? ATTACH_HEADER : HEADER_OLD;
	const uint8_t *buf = data;
	uint32_t id;
	uint8_t agent;

	if (!u->writes)
		return fail(EBADF);
	if (!buf)
		return fail(EFAULT);
	if (size < header + MAD_LEAST || size > LONG_MAX_SIZE)
		return fail(EINVAL);
	id = get_u32(buf + AT_ID);
	if (id >= ATTACH_AGENTS || atomic_load(&u->own->dead))
		return fail(EINVAL);
	agent = atomic_load(&u->own->agents[id]);
	if (!agent || !rmpp_allowed(agent, buf + header, size - header))
		return fail(EINVAL);
	return write_mad(u, buf, header, size - header) < 0 ? -1 : (ssize_t)size;
}

ssize_t
umad_write(struct umad *u, const void *data, size_t size)
{
	int cancel = cancel_off();
	ssize_t n = check_and_write(u, data, size);

	cancel_back(cancel);
	return n;
}
