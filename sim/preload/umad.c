/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Open umad files: what Linux's user_mad.c does, on rings shared with the simulator.
 *
 * Objects. A struct umad is one open file in this process, from a pool whose memory is never given
 * back (fds.c says why). Processes that came from one by fork() share the file: what they must agree
 * on (positions in the rings, which agents there are) is a struct umad_own in memory that fork()
 * shares and that the simulator has not. Its locks are robust: a process that is killed in a
 * call takes the file with it, but nobody waits for it. An open file does not live through exec(): its rings are gone with the memory, and the
 * connection, which is close-on-exec, closes it.
 *
 * Errors. They are the kernel's. Once the simulator is gone, or has shown a number that cannot be,
 * the file is dead: read() gives EIO, write() EINVAL, registering EPIPE.
 *
 * Waiting. The program's descriptor is the end of a socket pair that holds a byte while a MAD waits.
 * To wait for a MAD is to look at the first byte (MSG_PEEK), which also honours O_NONBLOCK and
 * SA_RESTART and notices a simulator that has gone.
 */
#include "sim/preload/umad.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include "sim/preload/fds.h"
#include "sim/preload/link.h"
#include "sim/preload/real.h"

#define HEADER_OLD 56		/* struct ib_user_mad_hdr_old: no pkey_index */
#define MAD_LEAST 36		/* bytes of a MAD that write() takes at least */
#define MAD_LEAST_READ 24	/* of a MAD that comes back after its time-out */
#define LONG_MAX_SIZE (256u << 20)	/* no message is longer */
#define HASH_SIZE 16384		/* counters of outstanding requests, a power of 2 */
#define TOKEN_WAIT 10000	/* ms; a simulator that owes a byte for longer is given up */
#define FULL_WAIT 1		/* ms between looks at a full ring */
#define LOOK_EVERY 64		/* writes to a busy simulator between looks whether it lives */

/* struct ib_user_mad_hdr */
#define AT_ID 0
#define AT_STATUS 4
#define AT_TIMEOUT 8
#define AT_LENGTH 16
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

#define AGENT_THERE 1		/* bits of umad_own's agents */
#define AGENT_RMPP 2		/* rmpp_version is not 0 */
#define AGENT_USER_RMPP 4	/* but the program does it */

struct registration {		/* struct ib_user_mad_reg_req */
	uint32_t id;
	uint32_t methods[4];
	uint8_t qpn;
	uint8_t mgmt_class;
	uint8_t class_version;
	uint8_t oui[3];
	uint8_t rmpp_version;
};

struct registration2 {		/* struct ib_user_mad_reg_req2 */
	uint32_t id;
	uint32_t qpn;
	uint8_t mgmt_class;
	uint8_t class_version;
	uint16_t reserved;
	uint32_t flags;
	uint32_t methods[4];
	uint32_t oui;
	uint8_t rmpp_version;
	uint8_t reserved2[3];
};

#define IOCTL_REGISTER _IOWR(0x1b, 1, struct registration)
#define IOCTL_UNREGISTER _IOW(0x1b, 2, uint32_t)
#define IOCTL_ENABLE_PKEY _IO(0x1b, 3)
#define IOCTL_REGISTER2 _IOWR(0x1b, 4, struct registration2)
#define REGISTER2_FLAGS 1u	/* that the kernel knows: RMPP by the program */

struct umad_own {
	pthread_mutex_t read_lock;	/* of rx: reading its slots */
	pthread_mutex_t write_lock;	/* of tx: filling its slots */
	pthread_mutex_t ask_lock;	/* of the connection, agents and `used` */
	uint32_t head;			/* of tx: slots filled so far */
	uint32_t tail;			/* of rx: slots read so far */
	_Atomic(bool) dead;		/* the simulator is gone, or talks nonsense */
	_Atomic(bool) pkey;		/* headers have pkey_index */
	bool used;			/* an agent has been registered */
	_Atomic(uint8_t) agents[ATTACH_AGENTS];	/* AGENT_... */
	_Atomic(uint16_t) sent[HASH_SIZE];	/* requests not answered yet, by hash */
};

struct umad {
	_Atomic(unsigned) references;	/* 0: unused */
	struct attach_shared *rings;	/* shared with the simulator */
	struct umad_own *own;		/* shared with relatives of this process */
	int conn;			/* for questions */
	int wake;			/* eventfd that wakes the simulator */
	bool reads, writes;		/* what it was opened for */
};

static struct {
	pthread_mutex_t lock;		/* of taking one that is unused */
	struct umad files[UMAD_FILES];
} pool = { .lock = PTHREAD_MUTEX_INITIALIZER };

static int
fail(int why)
{
	errno = why;
	return -1;
}

static uint32_t
get_u32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* ---- locks ---- */

/* A relative that was killed with the lock held may have left a ring half way: the file is dead. */
static void
lock(struct umad *u, pthread_mutex_t *m)
{
	if (pthread_mutex_lock(m) != EOWNERDEAD)
		return;
	pthread_mutex_consistent(m);
	atomic_store(&u->own->dead, true);
}

static void
unlock(pthread_mutex_t *m)
{
	pthread_mutex_unlock(m);
}

static bool
make_locks(struct umad_own *own)
{
	pthread_mutexattr_t a;
	bool ok;

	if (pthread_mutexattr_init(&a) != 0)
		return false;
	ok = pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED) == 0 &&
	     pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST) == 0 &&
	     pthread_mutex_init(&own->read_lock, &a) == 0 &&
	     pthread_mutex_init(&own->write_lock, &a) == 0 &&
	     pthread_mutex_init(&own->ask_lock, &a) == 0;
	pthread_mutexattr_destroy(&a);
	return ok;
}

/* ---- life ---- */

bool
umad_hold(struct umad *u)
{
	unsigned n = atomic_load_explicit(&u->references, memory_order_relaxed);

	while (n)
		if (atomic_compare_exchange_weak(&u->references, &n, n + 1))
			return true;
	return false;
}

static void
release(struct umad *u)
{
	if (u->rings)
		munmap(u->rings, sizeof(*u->rings));
	if (u->own)
		munmap(u->own, sizeof(*u->own));
	fds_close_hidden(u->conn);
	fds_close_hidden(u->wake);
	u->rings = NULL;
	u->own = NULL;
	u->conn = u->wake = -1;
}

/* The last one out releases the file before others may take its place in the pool. */
void
umad_drop(struct umad *u)
{
	unsigned n = atomic_load(&u->references);
	int keep = errno;

	for (;;) {
		if (n == 1)
			break;
		if (atomic_compare_exchange_weak(&u->references, &n, n - 1))
			return;
	}
	pthread_mutex_lock(&pool.lock);
	if (atomic_fetch_sub(&u->references, 1) == 1)
		release(u);
	pthread_mutex_unlock(&pool.lock);
	errno = keep;
}

void
umad_set_references(struct umad *u, unsigned n)
{
	atomic_store(&u->references, n);
	if (n == 0)
		release(u);
}

struct umad *
umad_file(unsigned i)
{
	return atomic_load(&pool.files[i].references) ? &pool.files[i] : NULL;
}

void
umad_after_fork(void)
{
	pthread_mutex_init(&pool.lock, NULL);
}

/* ---- opening ---- */

static bool
map(struct umad *u, int memfd)
{
	int seals = REAL(fcntl)(memfd, F_GET_SEALS);
	struct stat st;
	void *p;

	if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstat(memfd, &st) < 0 ||
	    st.st_size < (off_t)sizeof(*u->rings)) {
		errno = EIO;
		return false;
	}
	p = mmap(NULL, sizeof(*u->rings), PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
	if (p == MAP_FAILED)
		return false;
	u->rings = p;
	p = mmap(NULL, sizeof(*u->own), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return false;
	u->own = p;
	return make_locks(u->own);
}

/* Give the descriptor the lowest free number and the flags that the program asked for. */
static int
place(int fd, int flags)
{
	int to = REAL(fcntl)(fd, flags & O_CLOEXEC ? F_DUPFD_CLOEXEC : F_DUPFD, 0);
	int status;

	REAL(close)(fd);
	if (to < 0)
		return -1;
	status = REAL(fcntl)(to, F_GETFL);
	if (flags & O_NONBLOCK)
		status |= O_NONBLOCK;
	else
		status &= ~O_NONBLOCK;
	REAL(fcntl)(to, F_SETFL, status);
	return to;
}

static struct umad *
unused(void)
{
	struct umad *u = NULL;

	pthread_mutex_lock(&pool.lock);
	for (unsigned i = 0; i < UMAD_FILES && !u; i++)
		if (atomic_load(&pool.files[i].references) == 0)
			u = &pool.files[i];
	if (u) {
		u->conn = u->wake = -1;
		atomic_store(&u->references, 1);
	}
	pthread_mutex_unlock(&pool.lock);
	if (!u)
		errno = EMFILE;
	return u;
}

/* The connection and what came with its first answer become the file. */
static int
build(struct umad *u, int conn, int got[LINK_FDS], unsigned n, int flags)
{
	bool ok;

	u->reads = (flags & O_ACCMODE) != O_WRONLY;
	u->writes = (flags & O_ACCMODE) != O_RDONLY;
	u->conn = fds_hide(conn);
	if (n != LINK_FDS) {
		for (unsigned i = 0; i < n; i++)
			REAL(close)(got[i]);
		return fail(EIO);
	}
	u->wake = fds_hide(got[2]);
	ok = u->conn >= 0 && u->wake >= 0 && map(u, got[1]);
	REAL(close)(got[1]);
	if (ok)
		return place(got[0], flags);
	REAL(close)(got[0]);
	return -1;
}

int
umad_open(struct umad **file, unsigned index, int flags)
{
	struct attach_request q;
	struct attach_reply r;
	int got[LINK_FDS];
	unsigned n = 0;
	struct umad *u;
	int conn, fd;

	conn = link_connect();
	if (conn < 0)
		return -1;
	link_request(&q, ATTACH_OPEN_UMAD, index);
	if (link_ask(conn, &q, -1, false, &r, got, &n) < 0) {
		fd = errno == EIO ? ENXIO : errno;
		REAL(close)(conn);
		return fail(fd);
	}
	u = unused();
	if (!u) {
		for (unsigned i = 0; i < n; i++)
			REAL(close)(got[i]);
		REAL(close)(conn);
		return fail(EMFILE);
	}
	fd = build(u, conn, got, n, flags);
	if (fd < 0) {
		umad_drop(u);
		return -1;
	}
	*file = u;
	return fd;
}

int
umad_open_issm(unsigned index, int flags)
{
	struct attach_request q;
	struct attach_reply r;
	int conn = link_connect();
	int why;

	if (conn < 0)
		return -1;
	link_request(&q, ATTACH_OPEN_ISSM, index);
	q.nonblock = (flags & O_NONBLOCK) != 0;
	if (link_ask(conn, &q, -1, true, &r, NULL, NULL) == 0)
		return place(conn, flags);
	why = errno == EIO ? ENXIO : errno;
	REAL(close)(conn);
	return fail(why);
}

/* ---- the other side ---- */

static bool
gone(int fd)
{
	struct pollfd p = { .fd = fd };
	int keep = errno;
	bool yes = poll(&p, 1, 0) > 0 && (p.revents & (POLLHUP | POLLERR | POLLNVAL));

	errno = keep;
	return yes;
}

/* Wake the simulator unless that has been done. True: it was not busy. */
static bool
ring_bell(struct umad *u)
{
	static const uint64_t one = 1;

	if (__atomic_exchange_n(&u->rings->tx.bell, 1, __ATOMIC_SEQ_CST) != 0)
		return false;
	while (REAL(write)(u->wake, &one, sizeof(one)) < 0 && errno == EINTR)
		;
	return true;
}

static int
die(struct umad *u, int why)
{
	atomic_store(&u->own->dead, true);
	return fail(why);
}

static int
ask(struct umad *u, const struct attach_request *q, int fd, struct attach_reply *r, int *got)
{
	int fds[LINK_FDS];
	unsigned n = 0;

	if (link_ask(u->conn, q, fd, false, r, fds, &n) < 0)
		return -1;
	for (unsigned i = 0; i < n; i++) {
		if (got && i == 0)
			*got = fds[0];
		else
			REAL(close)(fds[i]);
	}
	return got && n == 0 ? fail(EIO) : 0;
}

/* ---- which requests are outstanding ---- */

/* Programs count their TIDs up, so the low bits alone keep those that are under way apart. */
static _Atomic(uint16_t) *
counter(struct umad *u, uint32_t id, const uint8_t *mad)
{
	const uint8_t *tid = mad + AT_TID_LOW;
	uint32_t h = (uint32_t)tid[0] << 24 | (uint32_t)tid[1] << 16 | (uint32_t)tid[2] << 8 | tid[3];

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
take_token(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char byte;
	ssize_t n;

	for (;;) {
		n = recv(fd, &byte, 1, MSG_DONTWAIT);
		if (n >= 0)
			return n == 1;
		if (errno != EAGAIN && errno != EINTR)
			return false;
		if (errno == EAGAIN && poll(&p, 1, TOKEN_WAIT) == 0)
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
	lock(u, &u->own->ask_lock);
	rc = ask(u, &q, -1, &r, &memfd);
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
finish_slot(struct umad *u, int fd)
{
	struct attach_rx *rx = &u->rings->rx;
	uint32_t before;

	u->own->tail++;
	before = __atomic_fetch_sub(&rx->count, 1, __ATOMIC_SEQ_CST);
	if (before == 0 || before > ATTACH_SLOTS || (before == 1 && !take_token(fd)))
		atomic_store(&u->own->dead, true);
	if (__atomic_load_n(&rx->waits, __ATOMIC_SEQ_CST) && before - 1 <= ATTACH_SLOTS / 2)
		ring_bell(u);
}

/* Copy the first slot; it stays unless all goes well. */
static ssize_t
read_slot(struct umad *u, int fd, uint8_t *buf, size_t size, size_t header)
{
	const struct attach_slot *s = &u->rings->rx.slots[u->own->tail % ATTACH_SLOTS];
	uint32_t length = __atomic_load_n(&s->length, __ATOMIC_RELAXED);
	uint32_t long_id = __atomic_load_n(&s->long_id, __ATOMIC_RELAXED);
	size_t mad, first;
	uint32_t whole;

	if (length < ATTACH_HEADER + MAD_LEAST_READ || length > LONG_MAX_SIZE ||
	    (length > sizeof(s->data)) != (long_id != 0))
		return die(u, EIO);
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
		return die(u, EIO);
	if (is_response(buf + header) || get_u32(buf + AT_STATUS) == ETIMEDOUT)
		heard_of(u, get_u32(buf + AT_ID), buf + header);
	finish_slot(u, fd);
	return (ssize_t)whole;
}

/* With the lock held. 0: nothing is there. */
static ssize_t
try_read(struct umad *u, int fd, uint8_t *buf, size_t size, size_t header)
{
	uint32_t count;

	if (atomic_load(&u->own->dead))
		return fail(EIO);
	count = __atomic_load_n(&u->rings->rx.count, __ATOMIC_ACQUIRE);
	if (count > ATTACH_SLOTS)
		return die(u, EIO);
	return count ? read_slot(u, fd, buf, size, header) : 0;
}

/* Take a byte that stands for no MAD; only a simulator in disorder sends such. The MAD is there
 * before its byte, so the byte must be looked for first. */
static void
drop_stray(struct umad *u, int fd)
{
	char byte;

	lock(u, &u->own->read_lock);
	if (recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1 &&
	    __atomic_load_n(&u->rings->rx.count, __ATOMIC_SEQ_CST) == 0)
		recv(fd, &byte, 1, MSG_DONTWAIT);
	unlock(&u->own->read_lock);
}

ssize_t
umad_read(struct umad *u, int fd, void *buf, size_t size)
{
	size_t header = atomic_load(&u->own->pkey) ? ATTACH_HEADER : HEADER_OLD;
	bool stray = false;
	char byte;
	ssize_t n;

	if (!u->reads)
		return fail(EBADF);
	if (size < header)
		return fail(EINVAL);
	for (;;) {
		lock(u, &u->own->read_lock);
		n = try_read(u, fd, buf, size, header);
		unlock(&u->own->read_lock);
		if (n)
			return n;
		if (stray)
			drop_stray(u, fd);
		n = recv(fd, &byte, 1, MSG_PEEK);
		if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
			return die(u, EIO);
		if (n < 0)
			return -1;
		stray = true;
	}
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
		lock(u, &u->own->ask_lock);
		rc = ask(u, &q, fd, &r, NULL);
		unlock(&u->own->ask_lock);
		if (rc < 0 && errno == EIO)
			rc = die(u, EINVAL);
	}
	REAL(close)(fd);
	return rc;
}

/* With the lock held. Slots taken never outnumber slots filled, or the other side is mad. */
static bool
wait_for_room(struct umad *u, int fd)
{
	struct attach_tx *tx = &u->rings->tx;
	struct pollfd p = { .fd = fd };
	uint32_t used;

	for (;;) {
		used = u->own->head - __atomic_load_n(&tx->tail, __ATOMIC_ACQUIRE);
		if (used > ATTACH_SLOTS)
			return false;
		if (used < ATTACH_SLOTS)
			return true;
		ring_bell(u);
		if (poll(&p, 1, FULL_WAIT) > 0)
			return false;
	}
}

static int
write_slot(struct umad *u, int fd, const uint8_t *buf, size_t header, size_t mad)
{
	struct attach_tx *tx = &u->rings->tx;
	struct attach_slot *s;
	uint32_t head;

	lock(u, &u->own->write_lock);
	if (!wait_for_room(u, fd)) {
		unlock(&u->own->write_lock);
		return die(u, EINVAL);
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
	if ((ring_bell(u) || head % LOOK_EVERY == 0) && gone(fd))
		return die(u, EINVAL);
	return 0;
}

/* A request that expects an answer is counted; only if one like it may be outstanding is the
 * simulator asked. */
static int
write_mad(struct umad *u, int fd, const uint8_t *buf, size_t header, size_t size)
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
		return write_slot(u, fd, buf, header, size);
	copy_header(head, buf, header);
	rc = write_asking(u, head, mad, size);
	if (rc < 0 && c)
		heard_of(u, get_u32(buf + AT_ID), mad);
	return rc;
}

ssize_t
umad_write(struct umad *u, int fd, const void *data, size_t size)
{
	size_t header = atomic_load(&u->own->pkey) ? ATTACH_HEADER : HEADER_OLD;
	const uint8_t *buf = data;
	uint32_t id;
	uint8_t agent;

	if (!u->writes)
		return fail(EBADF);
	if (size < header + MAD_LEAST || size > LONG_MAX_SIZE)
		return fail(EINVAL);
	id = get_u32(buf + AT_ID);
	if (id >= ATTACH_AGENTS || atomic_load(&u->own->dead))
		return fail(EINVAL);
	agent = atomic_load(&u->own->agents[id]);
	if (!agent || !rmpp_allowed(agent, buf + header, size - header))
		return fail(EINVAL);
	return write_mad(u, fd, buf, header, size - header) < 0 ? -1 : (ssize_t)size;
}

/* ---- agents ---- */

/* With the connection's lock held. */
static int
register_agent(struct umad *u, const struct attach_registration *r, uint32_t *id)
{
	struct attach_request q;
	struct attach_reply reply;
	unsigned n = 0;

	if (atomic_load(&u->own->dead))
		return fail(EPIPE);
	for (unsigned i = 0; i < ATTACH_AGENTS; i++)
		n += atomic_load(&u->own->agents[i]) != 0;
	if (n == ATTACH_AGENTS)
		return fail(ENOMEM);
	link_request(&q, ATTACH_REGISTER, 0);
	q.reg = *r;
	if (ask(u, &q, -1, &reply, NULL) < 0)
		return errno == EIO ? die(u, EPIPE) : -1;
	if (reply.id >= ATTACH_AGENTS)
		return die(u, EPIPE);
	*id = reply.id;
	atomic_store(&u->own->agents[*id], (uint8_t)(AGENT_THERE |
		     (r->rmpp_version ? AGENT_RMPP : 0) | (r->user_rmpp ? AGENT_USER_RMPP : 0)));
	return 0;
}

static int
enroll(struct umad *u, const struct attach_registration *r, bool with_pkey, uint32_t *id)
{
	int rc;

	lock(u, &u->own->ask_lock);
	rc = register_agent(u, r, id);
	if (rc == 0 && !u->own->used) {
		u->own->used = true;
		if (with_pkey)
			atomic_store(&u->own->pkey, true);
	}
	unlock(&u->own->ask_lock);
	return rc;
}

static int
ioctl_register(struct umad *u, struct registration *a)
{
	struct attach_registration r = {
		.qpn = a->qpn, .mgmt_class = a->mgmt_class, .class_version = a->class_version,
		.rmpp_version = a->rmpp_version,
		.oui = (uint32_t)a->oui[0] << 16 | (uint32_t)a->oui[1] << 8 | a->oui[2],
	};

	if (a->qpn > 1)
		return fail(EINVAL);
	memcpy(r.methods, a->methods, sizeof(r.methods));
	return enroll(u, &r, false, &a->id);
}

static int
ioctl_register2(struct umad *u, struct registration2 *a)
{
	struct attach_registration r = {
		.qpn = a->qpn, .mgmt_class = a->mgmt_class, .class_version = a->class_version,
		.rmpp_version = a->rmpp_version, .oui = a->oui, .user_rmpp = a->flags & 1,
	};

	if (a->qpn > 1)
		return fail(EINVAL);
	if (a->flags & ~REGISTER2_FLAGS) {
		a->flags = REGISTER2_FLAGS;
		return fail(EINVAL);
	}
	if (a->mgmt_class && (a->oui & 0xff000000))
		return fail(EINVAL);
	memcpy(r.methods, a->methods, sizeof(r.methods));
	return enroll(u, &r, true, &a->id);
}

/* Requests of an agent that is gone are never heard of again; with the last one they are forgotten. */
static void
forget_agent(struct umad *u, uint32_t id)
{
	atomic_store(&u->own->agents[id], 0);
	for (unsigned i = 0; i < ATTACH_AGENTS; i++)
		if (atomic_load(&u->own->agents[i]))
			return;
	for (unsigned i = 0; i < HASH_SIZE; i++)
		atomic_store_explicit(&u->own->sent[i], 0, memory_order_relaxed);
}

static int
ioctl_unregister(struct umad *u, uint32_t id)
{
	struct attach_request q;
	struct attach_reply r;
	int rc = -1;

	if (id >= ATTACH_AGENTS)
		return fail(EINVAL);
	link_request(&q, ATTACH_UNREGISTER, id);
	lock(u, &u->own->ask_lock);
	if (atomic_load(&u->own->dead) || !atomic_load(&u->own->agents[id])) {
		errno = EINVAL;
	} else {
		rc = ask(u, &q, -1, &r, NULL);
		forget_agent(u, id);
		if (rc < 0)
			die(u, EINVAL);
	}
	unlock(&u->own->ask_lock);
	return rc;
}

static int
ioctl_enable_pkey(struct umad *u)
{
	int rc = 0;

	lock(u, &u->own->ask_lock);
	if (u->own->used)
		rc = fail(EINVAL);
	else
		atomic_store(&u->own->pkey, true);
	unlock(&u->own->ask_lock);
	return rc;
}

int
umad_ioctl(struct umad *u, unsigned long request, void *arg)
{
	switch (request) {
	case IOCTL_REGISTER:
		return arg ? ioctl_register(u, arg) : fail(EFAULT);
	case IOCTL_REGISTER2:
		return arg ? ioctl_register2(u, arg) : fail(EFAULT);
	case IOCTL_UNREGISTER:
		return arg ? ioctl_unregister(u, *(uint32_t *)arg) : fail(EFAULT);
	case IOCTL_ENABLE_PKEY:
		return ioctl_enable_pkey(u);
	default:
		return fail(ENOTTY);
	}
}
