/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The libibumad transport (IBA volume 1, chapter 13; the kernel's user_mad interface).
 *
 * Objects. A umad_transport is owned by whoever made it. While its device is open it has a
 * descriptor, five agents (SMPs by LID, SMPs by directed route, subnet administration, congestion
 * control, performance management), and a sender of long messages (umad_send.c). What is read goes
 * into two rings (umad_ring.c), one for SMPs and one for GMPs, from which the loop takes.
 *
 * Reading. The loop watches the descriptor and reads itself: to hand each burst over from a thread
 * took more time than to answer it. But a message longer than a MAD may have hundreds of megabytes:
 * it and what is behind it is read by a thread, which ends when the queue is empty; meanwhile
 * nobody watches. With packaged ibsim the descriptor is no real one, which cannot be watched:
 * there the thread reads for as long as the device is open, and posts to the loop, unless a post
 * is on its way, after all that was there, or the first BURST of it.
 *
 * Events. The timer opens the device, with back-off for as long as that fails, and deals with its
 * loss, so that no callback is made inside a call. In one turn the loop takes at most DRAIN_LIMIT
 * SMPs, then as many GMPs: each answer to an SMP makes room for the next request, and would a
 * thousand questions of clients stand before it, a sweep would take as much longer.
 *
 * Life. A post may be on its way when the owner closes the port, or the port is closed by what the
 * loop just took from it; it then stays in `closed` until that is over. The thread looks at `stop`
 * at least each POLL_MS.
 *
 * Kernel facts. Each request needs a time-out, else the answer is dropped; the kernel owns the
 * high half of TIDs; a time-out brings the MAD back with a status and 24 bytes; a message that is
 * too long for the buffer stays first in the queue until it is read whole. So the thread reads with
 * room for one MAD, and again with as much as the kernel then says that the message has. While a
 * ring has no room, the kernel keeps the rest.
 */
#include "sm/port/umad.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <infiniband/umad.h>
#include "sm/base/list.h"
#include "sm/base/log.h"
#include "sm/base/mem.h"
#include "sm/port/umad_ring.h"
#include "sm/port/umad_select.h"
#include "sm/port/umad_send.h"
#include "sm/wire/congestion.h"

#define SMP_RING 512u		/* more than transact.c has under way */
#define GMP_RING 1024u		/* questions of clients; the kernel keeps the rest */
#define DRAIN_LIMIT 64			/* MADs of each kind handed over in one turn */
#define BURST 16u		/* MADs that the thread reads before the loop is told */
#define POLL_MS 100		/* the thread looks whether it should end */
#define RETRY_MIN MSEC(200)	/* back-off between attempts to open */
#define RETRY_MAX SEC(3)
#define FAILURES_MAX 8		/* refused sends in a row that mean the device is gone */
#define SA_CLASS_VERSION 2

enum agent {
	AGENT_SMP_LID,
	AGENT_SMP_DIRECT,
	AGENT_SA,
	AGENT_CONGESTION,	/* this and the next ask only; a device may be without them */
	AGENT_PERF,
	AGENTS,
};

/* Kinds of MADs, in the order in which they are taken. */
enum lane {
	LANE_SMP,
	LANE_GMP,
	LANES,
};

struct umad_transport {
	struct port port;		/* what users see; first */
	struct list link;		/* in `closed`, or nowhere */
	struct loop *loop;		/* borrowed */
	struct port_events events;	/* the owner's callbacks */
	struct umad_selector selector;	/* what to open */
	struct loop_timer *timer;	/* opens; deals with a loss */
	monotime retry;			/* next delay of the back-off */
	char why[500];			/* last reason told */
	int fd;				/* umad descriptor, -1 while waiting */
	int agents[AGENTS];		/* agent ids of fd */
	struct umad_sender *sender;	/* of long messages; exists while fd is open */
	int issm_fd;			/* held open while IsSM is announced, else -1 */
	bool issm_wanted;		/* announce it again after a loss */
	unsigned failures;		/* sends refused in a row */
	int lost;			/* errno that a send found the device gone by, or 0 */
	bool closed;			/* the owner let go; free when the post arrives */
	struct loop_fd *watch;		/* of fd; NULL: it cannot be watched */
	_Alignas(struct ib_user_mad)
	char room[sizeof(struct ib_user_mad) + MAD_SIZE];	/* for a MAD that the loop reads */
	pthread_t thread;		/* receives, if `runs` */
	bool runs;			/* there is a thread; the loop's */
	atomic_bool ended;		/* the thread has read all, and has come to its end */
	atomic_bool stop;		/* the thread should end */
	unsigned untold;		/* in the rings, not told to the loop; the thread's */
	atomic_bool posted;		/* a post is on its way, or the loop is draining */
	atomic_int broken;		/* errno that ended the thread, or 0 */
	struct umad_ring *rings[LANES];	/* received messages */
	struct log_limit too_long;	/* for messages that were dropped */
};

/* Closed ports that something still refers to. Loop thread only. */
static struct list closed = { &closed, &closed };

/* ---- the receiving thread ---- */

static void
drain(void *arg);

static void
wake_loop(struct umad_transport *u)
{
	if (!atomic_exchange(&u->posted, true))
		loop_post(u->loop, drain, u);
}

/* Of what was read since it was told last. */
static void
tell_loop(struct umad_transport *u)
{
	if (u->untold)
		wake_loop(u);
	u->untold = 0;
}

/* Room for one more; waits while the loop is far behind (the kernel queues meanwhile). */
static struct port_mad *
wait_for_room(struct umad_transport *u, struct umad_ring *ring, size_t size)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	struct port_mad *m;

	while (!(m = umad_ring_room(ring, size))) {
		if (atomic_load(&u->stop))
			return NULL;
		wake_loop(u);
		nanosleep(&pause, NULL);
	}
	return m;
}

static bool
is_smp_class(uint8_t mgmt_class)
{
	return mgmt_class == MAD_CLASS_SUBN_LID || mgmt_class == MAD_CLASS_SUBN_DIRECT;
}

/* Who sent it, and the way back. */
static void
take_address(struct port_mad *m, void *umad)
{
	const ib_mad_addr_t *addr = umad_get_mad_addr(umad);

	m->lid = ntohs(addr->lid);
	m->sl = addr->sl;
	m->remote_qp = ntohl(addr->qpn);
	m->pkey_index = (uint16_t)umad_get_pkey(umad);
	m->path_bits = addr->path_bits;
	m->has_grh = addr->grh_present != 0;
	m->grh = (struct port_grh){ 0 };
	if (!m->has_grh)
		return;
	memcpy(m->grh.gid, addr->gid, sizeof(m->grh.gid));
	m->grh.flow_label = ntohl(addr->flow_label) & 0xfffff;
	m->grh.gid_index = addr->gid_index;
	m->grh.hop_limit = addr->hop_limit;
	m->grh.traffic_class = addr->traffic_class;
}

/* Hand over what was read; a message longer than a MAD keeps `umad`. False: nobody wants it. */
static bool
push_mad(struct umad_transport *u, void *umad, size_t size)
{
	const uint8_t *mad = umad_get_mad(umad);
	bool smp = is_smp_class(mad[1]), is_long = size > MAD_SIZE;
	struct umad_ring *ring = u->rings[smp ? LANE_SMP : LANE_GMP];
	struct port_mad *m = wait_for_room(u, ring, size);
	size_t first = is_long ? MAD_SIZE : size;

	if (!m)
		return false;
	memcpy(m->mad, mad, first);
	memset(m->mad + first, 0, MAD_SIZE - first);
	m->data = is_long ? mad : NULL;
	m->timeout_ms = m->retries = 0;
	m->qp = smp ? 0 : 1;
	take_address(m, umad);
	m->status = umad_status(umad) ? ERR_TIMEOUT : 0;
	m->len = m->status ? 0 : (uint32_t)size;
	umad_ring_put(ring, is_long ? umad : NULL);
	return true;
}

/* Take a message that is too long out of the queue: nothing behind it would arrive. */
static int
drop_long(struct umad_transport *u, int size)
{
	size_t whole = umad_size() + (size_t)size;
	void *umad = mmap(NULL, whole, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (umad == MAP_FAILED)
		return EMSGSIZE;
	umad_recv(u->fd, umad, &size, 0);
	munmap(umad, whole);
	log_limited(&u->too_long, LOG_L_WARNING, "%s: dropped a management message of %d bytes",
		    u->port.id.name, size);
	return 0;
}

/* The first message has so many bytes. 0, or the errno that means that it blocks the way. */
static int
receive_long(struct umad_transport *u, int size)
{
	void *umad;
	int rc;

	if (size <= MAD_SIZE)
		return EPROTO;
	if (size > (int)PORT_LEN_MAX)
		return drop_long(u, size);
	umad = mem_zalloc(umad_size() + (size_t)size);
	rc = umad_recv(u->fd, umad, &size, 0);
	if (rc < 0 || !push_mad(u, umad, (size_t)size) || size <= MAD_SIZE)
		mem_free(umad);
	return rc == -ENOSPC ? EPROTO : 0;
}

/* All that is there. 0 when the queue is empty, else the errno that means the device is gone. */
static int
receive_burst(struct umad_transport *u, void *umad)
{
	while (!atomic_load_explicit(&u->stop, memory_order_relaxed)) {
		int size = MAD_SIZE;
		int rc = umad_recv(u->fd, umad, &size, 0), err = 0;

		if (rc >= 0)
			push_mad(u, umad, size < MAD_SIZE ? (size_t)size : MAD_SIZE);
		else if (rc == -EAGAIN)
			break;
		else if (rc == -ENOSPC)
			err = receive_long(u, size);
		else if (rc != -EINTR)
			err = -rc;
		if (err)
			return err;
		if (++u->untold >= BURST)
			tell_loop(u);
	}
	tell_loop(u);
	return 0;
}

static void *
receive_main(void *arg)
{
	struct umad_transport *u = arg;
	void *umad = mem_zalloc(umad_size() + MAD_SIZE);
	int broken = 0;

	do {
		/* The result says little: ibsim's preload reports spurious errors. */
		if (!u->watch)
			umad_poll(u->fd, POLL_MS);
		broken = receive_burst(u, umad);
	} while (!broken && !u->watch && !atomic_load(&u->stop));
	mem_free(umad);
	atomic_store(&u->broken, broken);
	atomic_store(&u->ended, true);
	wake_loop(u);
	return NULL;
}

/* Signals are for the loop's thread. */
static int
start_thread(struct umad_transport *u)
{
	sigset_t all, old;
	int rc;

	atomic_store(&u->ended, false);
	atomic_store(&u->stop, false);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&u->thread, NULL, receive_main, u);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!rc)
		pthread_setname_np(u->thread, "weft-umad");
	u->runs = !rc;
	return rc;
}

static void
end_thread(struct umad_transport *u)
{
	if (u->runs)
		pthread_join(u->thread, NULL);
	u->runs = false;
	atomic_store(&u->ended, false);
}

/* ---- the loop reads ---- */

/* The first message is a long one: nothing is watched until it is read, and what follows it. */
static int
leave_to_thread(struct umad_transport *u)
{
	loop_fd_set(u->watch, 0);
	return start_thread(u);
}

static bool
any_has_room(const struct umad_transport *u)
{
	return umad_ring_room(u->rings[LANE_SMP], MAD_SIZE) &&
		umad_ring_room(u->rings[LANE_GMP], MAD_SIZE);
}

/* What is there, as long as there is room for whatever comes. 0, or the errno that means that the
 * device is gone. */
static int
read_some(struct umad_transport *u)
{
	while (any_has_room(u)) {
		int size = MAD_SIZE;
		int rc = umad_recv(u->fd, u->room, &size, 0);

		if (rc >= 0)
			push_mad(u, u->room, size < MAD_SIZE ? (size_t)size : MAD_SIZE);
		else if (rc == -ENOSPC)
			return leave_to_thread(u);
		else if (rc == -EAGAIN)
			return 0;
		else if (rc != -EINTR)
			return -rc;
	}
	return 0;
}

static void
on_readable(void *arg, int fd, unsigned events)
{
	struct umad_transport *u = arg;
	int broken = u->lost ? 0 : read_some(u);

	(void)fd;
	(void)events;
	if (broken)
		atomic_store(&u->broken, broken);
	if (!atomic_exchange(&u->posted, true))
		drain(u);
}

/* A descriptor that is no real one cannot be watched. */
static bool
watch(struct umad_transport *u)
{
	struct stat st;

	if (fstat(u->fd, &st) < 0)
		return false;
	u->watch = loop_fd_new(u->loop, u->fd, on_readable, u);
	if (u->watch)
		loop_fd_set(u->watch, LOOP_READ);
	return u->watch != NULL;
}

static int
start_reading(struct umad_transport *u)
{
	atomic_store(&u->broken, 0);
	return watch(u) ? 0 : start_thread(u);
}

/* ---- opening and closing ---- */

static void
set_method(long *mask, unsigned method)
{
	const unsigned bits = 8 * sizeof(long);

	mask[method / bits] |= (long)(1ul << (method % bits));
}

static int
register_agent(struct umad_transport *u, uint8_t mgmt_class, const uint8_t *methods, unsigned len)
{
	long mask[16 / sizeof(long)] = { 0 };
	bool sa = mgmt_class == MAD_CLASS_SUBN_ADM;
	int version = sa ? SA_CLASS_VERSION :
		mgmt_class == MAD_CLASS_CONGESTION ? CC_CLASS_VERSION : 1;
	int id;

	for (unsigned i = 0; i < len; i++)
		set_method(mask, methods[i]);
	id = umad_register(u->fd, mgmt_class, version, sa, mask);
	if (id < 0 && sa)
		id = umad_register(u->fd, mgmt_class, version, 0, mask);
	return id;
}

static int
register_agents(struct umad_transport *u)
{
	static const uint8_t smp[] = { MAD_GET, MAD_SET, MAD_TRAP, MAD_TRAP_REPRESS };
	static const uint8_t sa[] = {
		MAD_GET, MAD_SET, MAD_TRAP, MAD_REPORT, MAD_TRAP_REPRESS, MAD_GET_TABLE,
		MAD_GET_TRACE, MAD_GET_MULTI, MAD_DELETE,
	};
	static const struct {
		uint8_t mgmt_class;	/* management class */
		const uint8_t *methods;	/* that arrive unasked */
		unsigned len;		/* of methods */
	} agents[AGENTS] = {
		[AGENT_SMP_LID] = { MAD_CLASS_SUBN_LID, smp, sizeof(smp) },
		[AGENT_SMP_DIRECT] = { MAD_CLASS_SUBN_DIRECT, smp, sizeof(smp) },
		[AGENT_SA] = { MAD_CLASS_SUBN_ADM, sa, sizeof(sa) },
		[AGENT_CONGESTION] = { MAD_CLASS_CONGESTION, NULL, 0 },
		[AGENT_PERF] = { MAD_CLASS_PERF, NULL, 0 },
	};

	for (unsigned i = 0; i < AGENTS; i++) {
		errno = 0;
		u->agents[i] = register_agent(u, agents[i].mgmt_class, agents[i].methods,
					      agents[i].len);
		if (u->agents[i] < 0 && i < AGENT_CONGESTION)
			return agents[i].mgmt_class;
	}
	return 0;
}

static int
issm_open(struct umad_transport *u, struct error *e)
{
	char name[UMAD_CA_NAME_LEN], path[256];

	if (u->issm_fd >= 0)
		return 0;
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(u->port.id.name, ":"), u->port.id.name);
	if (umad_get_issm_path(name, u->port.id.number, path, sizeof(path)))
		return error_set(e, ERR_NOT_FOUND, "%s: no issm device, so other subnet managers"
				 " cannot find this one", u->port.id.name);
	u->issm_fd = open(path, O_NONBLOCK);
	if (u->issm_fd >= 0)
		return 0;
	if (errno == EAGAIN || errno == EBUSY)
		return error_set(e, ERR_EXISTS, "%s: %s is held by another subnet manager on this"
				 " host", u->port.id.name, path);
	return error_set(e, ERR_IO, "%s: cannot open %s: %s", u->port.id.name, path,
			 strerror(errno));
}

static void
issm_close(struct umad_transport *u)
{
	if (u->issm_fd >= 0)
		close(u->issm_fd);
	u->issm_fd = -1;
}

/* Stop the thread and give the device back. */
static void
shut(struct umad_transport *u)
{
	if (u->fd < 0)
		return;
	atomic_store(&u->stop, true);
	end_thread(u);
	loop_fd_free(u->watch);
	u->watch = NULL;
	umad_sender_free(u->sender);
	u->sender = NULL;
	issm_close(u);
	umad_close_port(u->fd);
	u->fd = -1;
	u->port.up = false;
	for (unsigned i = 0; i < LANES; i++)
		umad_ring_clear(u->rings[i]);
}

/* On the sender's thread. */
static void
on_unsent(void *transport)
{
	wake_loop(transport);
}

static int
open_device(struct umad_transport *u, const struct umad_candidate *c, char *why, size_t size)
{
	char path[256];
	int failed;

	/* Found by the umad devices there are. umad_open_port() asks the driver itself, once for
	 * the life of the process: one that is loaded later would never be seen. */
	if (umad_get_issm_path(c->name, (int)c->number, path, sizeof(path))) {
		snprintf(why, size, "port %s:%u has no umad device: is the ib_umad driver loaded?",
			 c->name, c->number);
		return ERR_IO;
	}
	u->fd = umad_open_port(c->name, (int)c->number);
	if (u->fd < 0) {
		snprintf(why, size, "cannot open the umad device of %s:%u: %s", c->name, c->number,
			 errno == EACCES || errno == EPERM ? "permission denied, run as root" :
			 errno ? strerror(errno) : "is the ib_umad driver loaded?");
		u->fd = -1;
		return ERR_IO;
	}
	failed = register_agents(u);
	if (!failed && !start_reading(u)) {
		u->sender = umad_sender_new(u->fd, on_unsent, u);
		return 0;
	}
	if (failed)
		snprintf(why, size, "cannot register for management class 0x%02x on %s:%u: %s; is"
			 " another subnet manager running on this port?", (unsigned)failed,
			 c->name, c->number, errno ? strerror(errno) : "refused");
	else
		snprintf(why, size, "cannot start a receiving thread for %s:%u", c->name,
			 c->number);
	umad_close_port(u->fd);
	u->fd = -1;
	return ERR_REFUSED;
}

static void
set_identity(struct umad_transport *u, const struct umad_candidate *c)
{
	snprintf(u->port.id.name, sizeof(u->port.id.name), "%s:%u", c->name, c->number);
	u->port.id.guid = c->guid;
	u->port.id.number = (uint8_t)c->number;
}

/* The device can be used: tell the owner. Nothing of `u` may be touched after that. */
static void
tell_up(struct umad_transport *u, const char *why)
{
	struct error e = { 0 };

	u->port.up = true;
	u->retry = RETRY_MIN;
	u->failures = 0;
	u->why[0] = '\0';
	if (u->issm_wanted && issm_open(u, &e))
		log_warning("%s", e.text);
	u->events.state(u->events.arg, true, why);
}

/* Not now: try again later, and say why if that is news. */
static void
tell_down(struct umad_transport *u, const char *why)
{
	loop_timer_set(u->timer, u->retry);
	u->retry = 2 * u->retry < RETRY_MAX ? 2 * u->retry : RETRY_MAX;
	if (!strcmp(u->why, why))
		return;
	snprintf(u->why, sizeof(u->why), "%s", why);
	u->events.state(u->events.arg, false, u->why);
}

static void
try_open(struct umad_transport *u)
{
	struct umad_candidate *c = mem_array(UMAD_CANDIDATES_MAX, sizeof(*c));
	char why[500];
	unsigned len = umad_candidates(c, UMAD_CANDIDATES_MAX);
	int chosen = umad_select(&u->selector, c, len, why, sizeof(why));
	bool up = false;

	if (chosen >= 0) {
		set_identity(u, &c[chosen]);
		up = open_device(u, &c[chosen], why, sizeof(why)) == 0;
	}
	mem_free(c);
	u->port.absent = chosen == UMAD_ABSENT;
	if (up)
		tell_up(u, why);
	else
		tell_down(u, why);
}

static void
on_timer(void *arg)
{
	struct umad_transport *u = arg;
	char why[200];

	if (u->fd < 0) {
		try_open(u);
		return;
	}
	if (!u->lost)
		return;
	snprintf(why, sizeof(why), "device of port %s was lost: %s", u->port.id.name,
		 strerror(u->lost));
	u->lost = 0;
	shut(u);
	tell_down(u, why);
}

/* The device is gone; the timer deals with it. */
static void
note_loss(struct umad_transport *u, int err)
{
	if (u->watch)
		loop_fd_set(u->watch, 0);
	u->port.up = false;
	u->lost = err ? err : EIO;
	loop_timer_set(u->timer, 0);
}

/* ---- the loop's end ---- */

static void
free_port(struct umad_transport *u)
{
	list_remove(&u->link);
	loop_timer_free(u->timer);
	for (unsigned i = 0; i < LANES; i++)
		umad_ring_free(u->rings[i]);
	mem_free(u);
}

/* The owner may close the port meanwhile, which forgets all that waits, this message too. */
static bool
hand_over(struct umad_transport *u, struct umad_ring *ring)
{
	void *held;
	const struct port_mad *m = umad_ring_first(ring, &held);

	if (!m)
		return false;
	u->events.receive(u->events.arg, m);
	mem_free(held);
	if (!u->closed)
		umad_ring_drop(ring);
	return !u->closed;
}

/* False: nothing is left, or nobody wants it any more. */
static bool
take_some(struct umad_transport *u)
{
	bool more = false;

	for (unsigned i = 0; i < LANES && !u->closed; i++) {
		for (unsigned n = 0; n < DRAIN_LIMIT && hand_over(u, u->rings[i]); n++)
			;
		more = more || !umad_ring_empty(u->rings[i]);
	}
	return more && !u->closed;
}

static int
send_failed(struct umad_transport *u, const struct port_mad *m, int err)
{
	if (err == ENOMEM || err == EAGAIN || err == ENOBUFS || err == EINTR)
		return ERR_BUSY;
	/* Of an answer EINVAL may mean that one to the same question is under way: the asker's
	 * doing, who must not be able to make the device look lost. */
	if (err == EINVAL && !m->timeout_ms)
		return ERR_IO;
	/* The kernel says EINVAL both of a device that is gone and of one odd MAD. */
	if (++u->failures < FAILURES_MAX && err != ENODEV && err != ENXIO)
		return ERR_IO;
	note_loss(u, err == EINVAL ? ENODEV : err);
	return ERR_CLOSED;
}

/* Long messages that could not be sent come back, whoever waits for an answer to them or not. */
static void
take_failed(struct umad_transport *u)
{
	struct port_mad m;
	int err;

	while (!u->closed && u->sender && umad_sender_failed(u->sender, &m, &err)) {
		send_failed(u, &m, err);
		m.status = ERR_TIMEOUT;
		m.len = 0;
		u->events.receive(u->events.arg, &m);
	}
}

static void
drain(void *arg)
{
	struct umad_transport *u = arg;
	int broken;

	if (!u->closed && take_some(u)) {
		loop_post(u->loop, drain, u);
		return;
	}
	if (!u->closed)
		take_failed(u);
	if (!u->closed && u->watch && atomic_load(&u->ended)) {
		end_thread(u);
		loop_fd_set(u->watch, u->lost ? 0 : LOOP_READ);
	}
	if (u->closed) {
		free_port(u);
		return;
	}
	atomic_store(&u->posted, false);
	if (!umad_ring_empty(u->rings[LANE_SMP]) || !umad_ring_empty(u->rings[LANE_GMP]) ||
	    (u->watch && atomic_load(&u->ended)) ||
	    (u->sender && umad_sender_any_failed(u->sender)))
		wake_loop(u);
	broken = atomic_load(&u->broken);
	if (broken && u->fd >= 0 && !u->lost)
		note_loss(u, broken);
}

/* ---- the interface ---- */

static int
agent_of(const struct umad_transport *u, uint8_t mgmt_class)
{
	switch (mgmt_class) {
	case MAD_CLASS_SUBN_LID:
		return u->agents[AGENT_SMP_LID];
	case MAD_CLASS_SUBN_DIRECT:
		return u->agents[AGENT_SMP_DIRECT];
	case MAD_CLASS_SUBN_ADM:
		return u->agents[AGENT_SA];
	case MAD_CLASS_CONGESTION:
		return u->agents[AGENT_CONGESTION];
	case MAD_CLASS_PERF:
		return u->agents[AGENT_PERF];
	default:
		return -1;
	}
}

static int
umad_port_send(struct port *p, const struct port_mad *m)
{
	struct umad_transport *u = (struct umad_transport *)p;
	_Alignas(struct ib_user_mad) char umad[sizeof(struct ib_user_mad) + MAD_SIZE];
	int agent = agent_of(u, port_mad_bytes(m)[1]), rc;

	if (!port_mad_ok(m))
		return ERR_INVALID;
	if (!u->port.up)
		return ERR_CLOSED;
	if (agent < 0)
		return ERR_UNSUPPORTED;
	if (port_mad_len(m) > MAD_SIZE)
		return umad_sender_put(u->sender, agent, m);
	rc = umad_send_now(u->fd, agent, umad, m);
	if (rc)
		return send_failed(u, m, rc);
	u->failures = 0;
	return 0;
}

static int
umad_port_set_issm(struct port *p, bool on, struct error *e)
{
	struct umad_transport *u = (struct umad_transport *)p;

	u->issm_wanted = on;
	if (!on)
		issm_close(u);
	return on && u->fd >= 0 ? issm_open(u, e) : 0;
}

static void
umad_port_close(struct port *p)
{
	struct umad_transport *u = (struct umad_transport *)p;

	shut(u);
	loop_timer_cancel(u->timer);
	if (!atomic_load(&u->posted)) {
		free_port(u);
		return;
	}
	u->closed = true;
	list_append(&closed, &u->link);
}

struct port *
umad_port_new(struct loop *l, const char *selector, const struct port_events *events,
	      struct error *e)
{
	static const struct port_ops ops = {
		.send = umad_port_send,
		.set_issm = umad_port_set_issm,
		.close = umad_port_close,
	};
	struct umad_selector parsed;
	struct umad_transport *u;

	if (umad_selector_parse(&parsed, selector, e))
		return NULL;
	u = mem_zalloc(sizeof(*u));
	u->port.ops = &ops;
	u->loop = l;
	u->events = *events;
	u->selector = parsed;
	u->retry = RETRY_MIN;
	u->fd = u->issm_fd = -1;
	u->rings[LANE_SMP] = umad_ring_new(SMP_RING);
	u->rings[LANE_GMP] = umad_ring_new(GMP_RING);
	list_init(&u->link);
	u->timer = loop_timer_new(l, on_timer, u);
	loop_timer_set(u->timer, 0);
	umad_init();
	return &u->port;
}
