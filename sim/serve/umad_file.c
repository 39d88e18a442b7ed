/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/serve/umad_file.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <rdma/ib_user_mad.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include "sim/serve/host.h"
#include "sm/base/list.h"
#include "sm/base/log.h"
#include "sm/base/mem.h"

/*
 * Serving open umad files.
 *
 * A file whose program rang its bell is active. In each turn of the pump every active file may send
 * up to BATCH MADs, in order of age; a file that has sent nothing for SPIN is put to rest: its bell
 * is cleared, and the next one comes by the eventfd. Until then the pump has the loop go round
 * without sleeping, and gives the processor away in turns that found nothing, so that a program
 * that answers at once needs no system call, and programs that want to run are not kept from it.
 *
 * MADs for a program go into its ring as they come, and are counted once a turn. What finds the
 * ring full waits in a list, up to the limits of the kernel's; beyond them it is dropped. Messages
 * that do not fit into a slot are kept until they are fetched.
 *
 * Numbers that a program may write are read once and checked; our own head and tail are kept here.
 * The memory is sealed: nobody can take it away under our hands.
 */
#define BATCH 256u
#define SPIN USEC(20)
#define MAX_WAITING (200000u - ATTACH_SLOTS)	/* Linux keeps 200,000 MADs a file */
#define MAX_WAITING_BYTES ((size_t)256 << 20)
#define MAX_LONG ((uint64_t)1 << 29)		/* bytes of one message */
#define MIN_LENGTH (ATTACH_HEADER + 36u)	/* of a write(): an RMPP header */
#define SLOT_BYTES (ATTACH_HEADER + ATTACH_MAD)

_Static_assert(sizeof(struct ib_user_mad_hdr) == ATTACH_HEADER, "header with pkey_index");

struct umad_agent {
	struct umad_file *file;		/* whose it is */
	struct kernel_agent *kernel;	/* NULL: this id is free */
};

/* A message that waits for room in the ring, or (over SLOT_BYTES) to be fetched. */
struct parcel {
	struct list list;	/* in `waiting` or `longs` */
	uint32_t id;		/* of one to be fetched, else 0 */
	size_t size;		/* bytes of data */
	uint8_t data[];		/* header and message */
};

struct umad_file {
	struct list active;		/* of the pump, while it has much to say */
	struct list untold;		/* of the pump, when its program has not been told yet */
	struct umad_pump *pump;		/* whose it is */
	struct umad_file_options o;	/* where it is */
	struct attach_shared *shared;	/* with the program, which writes what it likes */
	uint32_t tx_tail, rx_head;	/* our numbers of the rings */
	uint32_t untold_slots;		/* filled since the program was told */
	int fd;				/* the other end of the program's descriptor */
	int bell;			/* eventfd */
	struct loop_fd *watch;		/* of bell */
	monotime busy_at;		/* when it last sent something, or rang */
	struct umad_agent agents[ATTACH_AGENTS];	/* by id */
	struct list waiting;		/* parcels for the ring, in order */
	struct list longs;		/* parcels to be fetched */
	size_t nwaiting;		/* parcels in `waiting` */
	size_t bytes;			/* of all parcels */
	uint32_t last_long;		/* id given last */
	const char *broken;		/* why it ends in the next turn, or NULL */
};

struct umad_pump {
	struct loop *loop;		/* borrowed */
	struct kernel *kernel;		/* borrowed */
	struct list active;		/* of struct umad_file */
	struct list untold;		/* of struct umad_file */
	struct loop_timer *turn;	/* the next turn, as soon as can be */
	struct log_limit limit;		/* of messages about programs that do not read */
};

/* ---- Shared numbers ---- */

static uint32_t
number(const uint32_t *shared)
{
	return __atomic_load_n(shared, __ATOMIC_ACQUIRE);
}

static void
publish(uint32_t *shared, uint32_t value)
{
	__atomic_store_n(shared, value, __ATOMIC_RELEASE);
}

/* Before looking once more: what was stored is seen by whoever stores what we are to see. */
static void
store_and_look(uint32_t *shared, uint32_t value)
{
	__atomic_exchange_n(shared, value, __ATOMIC_SEQ_CST);
}

/* ---- Turns ---- */

static void
post(struct umad_pump *p)
{
	if (!loop_timer_pending(p->turn))
		loop_timer_set(p->turn, 0);
}

static void
activate(struct umad_file *f)
{
	f->busy_at = loop_now(f->pump->loop);
	if (list_empty(&f->active))
		list_append(&f->pump->active, &f->active);
	post(f->pump);
}

/* In the next turn, because we may be in a callback or in the middle of a list. */
static void
breaks(struct umad_file *f, const char *why)
{
	if (!f->broken)
		f->broken = why;
	activate(f);
}

/* ---- To the fabric ---- */

static void
header_read(struct kernel_mad *mad, uint32_t *id, const uint8_t data[ATTACH_HEADER])
{
	struct ib_user_mad_hdr h;

	memcpy(&h, data, sizeof(h));
	*id = h.id;
	*mad = (struct kernel_mad){
		.timeout_ms = h.timeout_ms, .retries = h.retries, .qpn = ntohl(h.qpn),
		.qkey = ntohl(h.qkey), .flow_label = ntohl(h.flow_label), .lid = ntohs(h.lid),
		.pkey_index = h.pkey_index, .sl = h.sl, .path_bits = h.path_bits,
		.gid_index = h.gid_index, .hop_limit = h.hop_limit,
		.traffic_class = h.traffic_class, .grh = h.grh_present,
	};
	memcpy(mad->gid, h.gid, sizeof(mad->gid));
}

static int
send_message(struct umad_file *f, const uint8_t *data, size_t size)
{
	struct kernel_mad mad;
	uint32_t id;

	if (size < MIN_LENGTH)
		return EINVAL;
	header_read(&mad, &id, data);
	if (id >= ATTACH_AGENTS || !f->agents[id].kernel)
		return EINVAL;
	mad.data = data + ATTACH_HEADER;
	mad.len = size - ATTACH_HEADER;
	return kernel_send(f->agents[id].kernel, &mad);
}

/* The slot is copied first: the program might still be writing. */
static void
send_slot(struct umad_file *f, const struct attach_slot *slot)
{
	uint8_t data[SLOT_BYTES];
	uint32_t length = number(&slot->length);
	int error = EINVAL;

	if (length <= sizeof(data)) {
		memcpy(data, slot->data, length);
		error = send_message(f, data, length);
	}
	if (error)
		log_debug("umad: a MAD of %u bytes is refused: %s", length, strerror(error));
}

/* Send up to `most` MADs from the ring; returns how many there were. */
static unsigned
drain(struct umad_file *f, unsigned most)
{
	struct attach_tx *r = &f->shared->tx;
	uint32_t used = number(&r->head) - f->tx_tail;
	unsigned n = 0;

	if (f->broken)
		return 0;
	if (used > ATTACH_SLOTS) {
		breaks(f, "more slots in use than there are");
		return 0;
	}
	for (; n < used && n < most; n++)
		send_slot(f, &r->slots[f->tx_tail++ % ATTACH_SLOTS]);
	if (n)
		publish(&r->tail, f->tx_tail);
	return n;
}

/* ---- To the program ---- */

static void
header_write(uint8_t data[ATTACH_HEADER], const struct kernel_mad *mad, uint32_t id)
{
	struct ib_user_mad_hdr h = {
		.id = id, .status = mad->status, .timeout_ms = mad->timeout_ms,
		.retries = mad->retries, .length = (uint32_t)(ATTACH_HEADER + mad->len),
		.qpn = htonl(mad->qpn), .qkey = htonl(mad->qkey), .lid = htons(mad->lid),
		.sl = mad->sl, .path_bits = mad->path_bits, .grh_present = mad->grh,
		.gid_index = mad->gid_index, .hop_limit = mad->hop_limit,
		.traffic_class = mad->traffic_class, .flow_label = htonl(mad->flow_label),
		.pkey_index = mad->pkey_index,
	};

	memcpy(h.gid, mad->gid, sizeof(h.gid));
	memcpy(data, &h, sizeof(h));
}

/* Slots of rx in use; a program that wrote nonsense is at its end, and has no room. */
static uint32_t
in_use(struct umad_file *f)
{
	uint32_t count = number(&f->shared->rx.count);

	if (count <= ATTACH_SLOTS - f->untold_slots)
		return count + f->untold_slots;
	breaks(f, "more MADs wait than there are slots");
	return ATTACH_SLOTS;
}

static struct attach_slot *
next_slot(struct umad_file *f)
{
	return &f->shared->rx.slots[f->rx_head % ATTACH_SLOTS];
}

static void
publish_slot(struct umad_file *f)
{
	f->rx_head++;
	f->untold_slots++;
	if (list_empty(&f->untold))
		list_append(&f->pump->untold, &f->untold);
	post(f->pump);
}

static void
parcel_free(struct umad_file *f, struct parcel *p)
{
	list_remove(&p->list);
	f->bytes -= p->size;
	mem_free(p);
}

/* The first of `waiting` goes into the ring. */
static void
put_parcel(struct umad_file *f, struct parcel *p)
{
	struct attach_slot *slot = next_slot(f);

	slot->length = (uint32_t)p->size;
	slot->long_id = p->id;
	memcpy(slot->data, p->data, p->size < SLOT_BYTES ? p->size : SLOT_BYTES);
	f->nwaiting--;
	list_remove(&p->list);
	if (p->id)
		list_append(&f->longs, &p->list);
	else
		parcel_free(f, p);
	publish_slot(f);
}

static void
put_waiting(struct umad_file *f)
{
	for (uint32_t n = ATTACH_SLOTS - in_use(f); n && !list_empty(&f->waiting); n--)
		put_parcel(f, list_entry(f->waiting.next, struct parcel, list));
}

/* After the ring was found full: the program may have taken slots while we said so. */
static void
wait_for_room(struct umad_file *f)
{
	while (!list_empty(&f->waiting) && !f->broken) {
		put_waiting(f);
		if (list_empty(&f->waiting) || f->broken)
			break;
		store_and_look(&f->shared->rx.waits, 1);
		if (in_use(f) > ATTACH_SLOTS / 2)
			return;
	}
	publish(&f->shared->rx.waits, 0);
}

static uint32_t
next_long(struct umad_file *f)
{
	return ++f->last_long ? f->last_long : ++f->last_long;
}

static void
keep(struct umad_file *f, const struct kernel_mad *mad, uint32_t id)
{
	size_t size = ATTACH_HEADER + mad->len;
	struct parcel *p;

	if (f->nwaiting >= MAX_WAITING || (f->bytes && f->bytes + size > MAX_WAITING_BYTES)) {
		log_limited(&f->pump->limit, LOG_L_WARNING, "umad: a program does not read its "
			    "MADs: %zu wait, what comes now is dropped", f->nwaiting);
		return;
	}
	p = mem_alloc(sizeof(*p) + size);
	list_init(&p->list);
	p->id = size > SLOT_BYTES ? next_long(f) : 0;
	p->size = size;
	header_write(p->data, mad, id);
	memcpy(p->data + ATTACH_HEADER, mad->data, mad->len);
	list_append(&f->waiting, &p->list);
	f->nwaiting++;
	f->bytes += size;
	wait_for_room(f);
}

static void
on_receive(void *arg, const struct kernel_mad *mad)
{
	struct umad_agent *a = arg;
	struct umad_file *f = a->file;
	uint32_t id = (uint32_t)(a - f->agents);
	struct attach_slot *slot;

	if (f->broken)
		return;
	if (mad->len > ATTACH_MAD || !list_empty(&f->waiting) || in_use(f) == ATTACH_SLOTS) {
		if (!f->broken)
			keep(f, mad, id);
		return;
	}
	slot = next_slot(f);
	slot->length = (uint32_t)(ATTACH_HEADER + mad->len);
	slot->long_id = 0;
	header_write(slot->data, mad, id);
	memcpy(slot->data + ATTACH_HEADER, mad->data, mad->len);
	publish_slot(f);
}

/* What was filled is now there; a program that had nothing gets a byte for its poll(). If there is
 * no room for that, the program has plenty. */
static void
tell(struct umad_pump *p)
{
	struct list *it;

	while ((it = list_pop(&p->untold))) {
		struct umad_file *f = list_entry(it, struct umad_file, untold);
		uint32_t n = f->untold_slots;

		f->untold_slots = 0;
		if (__atomic_fetch_add(&f->shared->rx.count, n, __ATOMIC_SEQ_CST))
			continue;
		if (send(f->fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
			log_debug("umad: a program is not told: %s", strerror(errno));
	}
}

/* ---- The pump ---- */

/* Its bell is cleared; whatever it rang for until then is seen now, or it rings again. */
static void
rest(struct umad_file *f)
{
	struct attach_tx *tx = &f->shared->tx;

	store_and_look(&tx->bell, 0);
	if (number(&tx->head) != f->tx_tail || f->broken)
		return;
	if (list_empty(&f->waiting) || in_use(f) > ATTACH_SLOTS / 2)
		list_remove(&f->active);
}

/* True if there was something to do. */
static bool
serve(struct umad_file *f, monotime now)
{
	unsigned n;

	if (f->broken) {
		f->o.broken(f->o.arg, f->broken);
		return true;
	}
	n = drain(f, BATCH);
	if (!list_empty(&f->waiting))
		wait_for_room(f);
	if (n)
		f->busy_at = now;
	else if (!f->broken && now - f->busy_at >= SPIN)
		rest(f);
	return n || f->broken;
}

static void
turn(void *arg)
{
	struct umad_pump *p = arg;
	monotime now = loop_now(p->loop);
	bool busy = !list_empty(&p->untold);

	tell(p);
	list_each(it, &p->active)
		busy |= serve(list_entry(it, struct umad_file, active), now);
	if (list_empty(&p->active))
		return;
	if (!busy)
		sched_yield();
	post(p);
}

struct umad_pump *
umad_pump_new(struct loop *l, struct kernel *k)
{
	struct umad_pump *p = mem_zalloc(sizeof(*p));

	p->loop = l;
	p->kernel = k;
	p->turn = loop_timer_new(l, turn, p);
	list_init(&p->active);
	list_init(&p->untold);
	return p;
}

void
umad_pump_free(struct umad_pump *p)
{
	if (!p)
		return;
	loop_timer_free(p->turn);
	mem_free(p);
}

/* ---- Files ---- */

/* The program rang: the next turn looks what there is. */
static void
on_bell(void *arg, int fd, unsigned events)
{
	struct umad_file *f = arg;
	uint64_t count;

	(void)events;
	if (read(fd, &count, sizeof(count)) < 0 && errno != EAGAIN && errno != EINTR)
		log_debug("umad: bell: %s", strerror(errno));
	activate(f);
}

/* Memory that nobody can make shorter. */
static int
make_memory(struct umad_file *f, int fds[UMAD_FDS])
{
	int fd = memfd_create("weftsim-umad", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	void *map;

	fds[UMAD_FD_MEMORY] = fd;
	if (fd < 0 || ftruncate(fd, sizeof(*f->shared)) ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return errno;
	map = mmap(NULL, sizeof(*f->shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return errno;
	f->shared = map;
	return 0;
}

static int
make_descriptors(struct umad_file *f, int fds[UMAD_FDS])
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair))
		return errno;
	f->fd = pair[0];
	fds[UMAD_FD_PROGRAM] = pair[1];
	f->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (f->bell < 0)
		return errno;
	fds[UMAD_FD_BELL] = fcntl(f->bell, F_DUPFD_CLOEXEC, 0);
	f->watch = loop_fd_new(f->pump->loop, f->bell, on_bell, f);
	if (fds[UMAD_FD_BELL] < 0 || !f->watch)
		return errno ? errno : ENOMEM;
	loop_fd_set(f->watch, LOOP_READ);
	return 0;
}

int
umad_file_new(struct umad_file **out, struct umad_pump *p, const struct umad_file_options *o,
	      int fds[UMAD_FDS])
{
	struct umad_file *f = mem_zalloc(sizeof(*f));
	int error;

	f->pump = p;
	f->o = *o;
	f->fd = f->bell = -1;
	list_init(&f->active);
	list_init(&f->untold);
	list_init(&f->waiting);
	list_init(&f->longs);
	for (unsigned i = 0; i < UMAD_FDS; i++)
		fds[i] = -1;
	for (unsigned i = 0; i < ATTACH_AGENTS; i++)
		f->agents[i].file = f;
	error = make_memory(f, fds);
	if (!error)
		error = make_descriptors(f, fds);
	if (!error) {
		*out = f;
		return 0;
	}
	umad_file_free(f);
	for (unsigned i = 0; i < UMAD_FDS; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	return error;
}

static void
free_parcels(struct umad_file *f, struct list *head)
{
	list_each(it, head)
		parcel_free(f, list_entry(it, struct parcel, list));
}

void
umad_file_free(struct umad_file *f)
{
	if (!f)
		return;
	if (f->shared)
		drain(f, ATTACH_SLOTS);
	for (unsigned i = 0; i < ATTACH_AGENTS; i++)
		kernel_unregister(f->agents[i].kernel);
	list_remove(&f->active);
	list_remove(&f->untold);
	free_parcels(f, &f->waiting);
	free_parcels(f, &f->longs);
	loop_fd_free(f->watch);
	if (f->bell >= 0)
		close(f->bell);
	if (f->fd >= 0)
		close(f->fd);
	if (f->shared)
		munmap(f->shared, sizeof(*f->shared));
	mem_free(f);
}

/* ---- Requests ---- */

int
umad_file_register(struct umad_file *f, const struct attach_registration *r, uint32_t *id)
{
	struct kernel_registration kr = {
		.qp = (uint8_t)r->qpn, .mgmt_class = r->mgmt_class,
		.class_version = r->class_version, .rmpp_version = r->rmpp_version,
		.user_rmpp = r->user_rmpp, .oui = r->oui,
	};
	struct kernel_events ev = { .receive = on_receive };
	uint32_t i = 0;
	int error;

	drain(f, ATTACH_SLOTS);
	if (r->qpn > 1)
		return EINVAL;
	if (!(f->o.qps & (r->qpn ? HOST_QP1 : HOST_QP0)))
		return EPROTONOSUPPORT;
	while (i < ATTACH_AGENTS && f->agents[i].kernel)
		i++;
	if (i == ATTACH_AGENTS)
		return ENOMEM;
	memcpy(kr.methods, r->methods, sizeof(kr.methods));
	ev.arg = &f->agents[i];
	error = kernel_register(&f->agents[i].kernel, f->pump->kernel, f->o.node, f->o.port, &kr,
				&ev);
	if (error)
		f->agents[i].kernel = NULL;
	*id = i;
	return error;
}

int
umad_file_unregister(struct umad_file *f, uint32_t id)
{
	drain(f, ATTACH_SLOTS);
	if (id >= ATTACH_AGENTS || !f->agents[id].kernel)
		return EINVAL;
	kernel_unregister(f->agents[id].kernel);
	f->agents[id].kernel = NULL;
	return 0;
}

/* A memfd that has so many bytes, at the moment; other descriptors might have us wait. */
static bool
is_memfd(int fd, uint64_t length)
{
	struct stat st;

	return fcntl(fd, F_GET_SEALS) >= 0 && !fstat(fd, &st) && (uint64_t)st.st_size >= length;
}

/* Read, not mapped: the program may cut the file short. */
int
umad_file_send_long(struct umad_file *f, int memfd, uint64_t length)
{
	uint8_t *data;
	size_t have = 0;
	ssize_t n = 1;
	int error;

	drain(f, ATTACH_SLOTS);
	if (length < MIN_LENGTH || length > MAX_LONG || !is_memfd(memfd, length))
		return EINVAL;
	data = mem_alloc((size_t)length);
	while (have < length && n > 0) {
		n = pread(memfd, data + have, (size_t)length - have, (off_t)have);
		have += n > 0 ? (size_t)n : 0;
	}
	error = have == length ? send_message(f, data, (size_t)length) : EFAULT;
	mem_free(data);
	return error;
}

static bool
write_all(int fd, const uint8_t *data, size_t size)
{
	ssize_t n;

	for (; size; data += n, size -= (size_t)n) {
		n = write(fd, data, size);
		if (n <= 0)
			return false;
	}
	return true;
}

int
umad_file_fetch_long(struct umad_file *f, uint32_t id, int *memfd, uint64_t *length)
{
	list_each(it, &f->longs) {
		struct parcel *p = list_entry(it, struct parcel, list);
		int fd, error;

		if (p->id != id)
			continue;
		fd = memfd_create("weftsim-mad", MFD_CLOEXEC);
		if (fd < 0 || !write_all(fd, p->data, p->size)) {
			error = errno ? errno : ENOSPC;
			if (fd >= 0)
				close(fd);
			return error;
		}
		*memfd = fd;
		*length = p->size;
		parcel_free(f, p);
		return 0;
	}
	return ENOENT;
}
