/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Transactions: one request and its answer, many at a time (IBA volume 1, 13.4.6.4 and 14.2).
 * GMPs of congestion control (annex A10.4) have their key and data where SMPs have theirs; those of
 * performance management (16.1) have no key.
 *
 * Objects. The engine owns `window_max` slots, made once; a slot holds the encoded MAD of one
 * outstanding request, so that a retry costs eight bytes of encoding and nothing allocates later.
 * Targets belong to the callers; the engine only links them into its ready list and counts.
 *
 * TIDs. Slot number, and above it a generation that each try raises. They live in the low 32 bits,
 * since the kernel keeps its agent number in the high ones. The slot remembers the generation of
 * its first try: an answer to any try of the request that is still outstanding is as good as one
 * to the last, so late answers are accepted; everything else is unsolicited.
 *
 * Events. Answers come through transact_receive(), which refills the windows before it returns
 * (an answer clocks out the next request). A timer runs at the earliest deadline; slots stand in
 * the order of their deadlines. If it runs late, this process stood still and the answers may lie
 * unread: it lets them come first. The turn timer pumps when targets become ready from outside,
 * goes on after PUMP_LIMIT sends so that the loop sees other work between, and reports idleness.
 *
 * A target is in the ready list, or `parked` (it wants to ask, but its window is full: the answer
 * that makes room puts it back), or has nothing to ask.
 *
 * Time-outs and windows are window.c's. A first try waits for the adapted time-out, later ones for
 * `timeout` in full, and the last for what the first one saved too, so a slow device is not given
 * up for the speed of the others. The transport is given that time and normally reports; our own
 * deadline is a little later. A retry to a device that is not known to live, and any second retry,
 * does not count against the total window: dead devices hold slots, but hold up nobody else.
 *
 * Strays. A try that timed out here while the transport said nothing may still lie in a queue, and
 * packaged ibsim locks up for good when its queues are full. So such tries to devices that live
 * are counted until an answer to one comes in; with them no more than SLOT_MAX MADs are ever on
 * their way, and what would exceed that waits as if the port were busy.
 */
#include "sm/port/transact.h"

#include <assert.h>
#include <string.h>
#include "sm/base/mem.h"
#include "sm/port/window.h"
#include "sm/wire/congestion.h"
#include "sm/wire/cursor.h"
#include "sm/wire/mad.h"
#include "sm/wire/perf.h"

#define SLOT_MAX 256		/* packaged ibsim deadlocks a little above */
#define TARGET_WINDOW 4		/* of a new target */
#define PUMP_LIMIT 64		/* sends in one turn of the loop */
#define STALL MSEC(5)		/* a deadline seen this late: we stood still, not the fabric */
#define STRAY_LIFE SEC(5)	/* as long may an answer to a try that we gave up still come */
#define BUSY_DELAY MSEC(1)	/* before a refused send is tried again */
#define MAD_TID 8		/* offsets in a MAD */
#define SMP_DATA 64

struct slot {
	struct list link;		/* in free_slots or by_deadline */
	struct transact_target *target;	/* who asked; NULL while free */
	struct port_mad out;		/* the request as sent */
	uint64_t cookie;		/* of the request */
	monotime started;		/* first try */
	monotime sent;			/* last try */
	monotime deadline;		/* of the last try */
	uint32_t attr_mod;		/* of the request */
	uint16_t attr_id;		/* of the request */
	uint16_t first;			/* generation of the first try */
	uint16_t generation;		/* generation of the last try */
	uint8_t method;			/* of the request */
	uint8_t mgmt_class;		/* of the request */
	uint8_t port;			/* of the request */
	uint8_t tries;			/* sent so far */
	uint8_t tries_max;		/* sends allowed */
	bool unsent;			/* the port was busy: the try is still to be sent */
	bool busy;			/* the device asked for another try later */
	bool exempt;			/* left out of the total window */
	bool uncertain;			/* its loss says nothing */
};

struct transact {
	struct loop *loop;		/* borrowed */
	struct port *port;		/* borrowed */
	struct transact_options o;	/* checked */
	struct transact_ops ops;	/* the owner's callbacks */
	struct loop_timer *deadline;	/* runs at timer_at */
	struct loop_timer *turn;	/* runs the pump and idle() */
	monotime timer_at;		/* MONOTIME_NEVER: not set */
	struct list ready;		/* targets that may ask, in turn */
	struct list by_deadline;	/* slots in use */
	struct list free_slots;		/* oldest use first */
	unsigned outstanding;		/* slots in use */
	unsigned strays;		/* tries given up that may still be in a queue */
	monotime strays_until;		/* then they are forgotten */
	unsigned exempt;		/* of these, not counted against the window */
	struct window window;		/* limit of outstanding - exempt, and time-outs */
	bool inside;			/* a handler runs and will pump */
	bool grace;			/* deadlines wait for answers that a stall kept */
	bool active;			/* idle() is still to be called */
	bool refused;			/* the port was busy; wait for the deadline timer */
	struct transact_counters count;	/* for status */
	struct slot slots[SLOT_MAX];	/* o.window_max of them are used */
};

/* ---- slots ---- */

/* Slots stand by deadline. Most tries wait equally long, so the walk from the end is short. */
static void
queue_slot(struct transact *t, struct slot *s, monotime deadline)
{
	struct list *at = t->by_deadline.prev;

	s->deadline = deadline;
	while (at != &t->by_deadline && list_entry(at, struct slot, link)->deadline > deadline)
		at = at->prev;
	list_prepend(at, &s->link);
}

static void
watch_deadlines(struct transact *t)
{
	monotime first, now;

	if (t->grace || list_empty(&t->by_deadline))
		return;
	first = list_entry(t->by_deadline.next, struct slot, link)->deadline;
	if (first >= t->timer_at)
		return;
	now = loop_now(t->loop);
	t->timer_at = first > now ? first : now;
	loop_timer_set(t->deadline, t->timer_at - now);
}

static void
set_exempt(struct transact *t, struct slot *s, bool exempt)
{
	t->exempt += (unsigned)exempt - (unsigned)s->exempt;
	s->exempt = exempt;
}

static void
fill_result(const struct slot *s, struct transact_result *r, int error)
{
	r->error = error;
	r->mad_status = 0;
	r->method = s->method;
	r->attr_id = s->attr_id;
	r->attr_mod = s->attr_mod;
	r->cookie = s->cookie;
	r->tries = s->tries;
	r->data = r->sent = s->out.mad + SMP_DATA;
}

/* Take the slot from its target. Its bytes stay until the pump takes it again. */
static void
release_slot(struct transact *t, struct slot *s)
{
	struct transact_target *target = s->target;

	set_exempt(t, s, false);
	if (s->unsent)
		t->refused = s->unsent = false;
	list_remove(&s->link);
	list_append(&t->free_slots, &s->link);
	s->target = NULL;
	t->outstanding--;
	target->outstanding--;
	if (target->parked && target->outstanding < window_target_limit(&t->window, target)) {
		target->parked = false;
		list_append(&t->ready, &target->link);
	}
}

static void
finish(struct transact *t, struct slot *s, int error, monotime now)
{
	struct transact_target *target = s->target;
	struct transact_result r;

	fill_result(s, &r, error);
	r.elapsed = now - s->started;
	release_slot(t, s);
	t->ops.done(t->ops.arg, target, &r);
}

/* ---- sending ---- */

static void
put_tid(uint8_t *mad, uint32_t tid)
{
	struct cursor c;

	cursor_write(&c, mad + MAD_TID, 8);
	cursor_put_u64(&c, tid);
}

static bool
queues_full(struct transact *t, monotime now)
{
	if (now >= t->strays_until)
		t->strays = 0;
	return t->outstanding + t->strays > SLOT_MAX;
}

static monotime
try_wait(const struct transact *t, const struct slot *s, monotime now)
{
	monotime wait = window_timeout(&t->window, s->target);
	monotime left = s->started + s->tries_max * t->o.timeout - now;

	if (s->tries && wait < t->o.timeout)
		wait = t->o.timeout;
	if (s->tries + 1 == s->tries_max && wait < left)
		wait = left;
	return wait;
}

/* A try is due: send it, or come back when the port is less busy. A closed port loses it. */
static void
send_try(struct transact *t, struct slot *s, monotime now)
{
	monotime wait = try_wait(t, s, now);
	int rc;

	s->out.timeout_ms = (uint32_t)((wait + MSEC(1) - 1) / MSEC(1));
	rc = queues_full(t, now) ? ERR_BUSY : port_send(t->port, &s->out);
	s->unsent = rc == ERR_BUSY;
	if (s->unsent) {
		t->refused = true;
		queue_slot(t, s, now + BUSY_DELAY);
		return;
	}
	if (rc == 0) {
		if (!s->out.qp)
			t->count.sent[s->attr_id & 0xff]++;
		t->count.sent_total++;
		t->count.retried += s->tries > 0;
	}
	s->tries++;
	s->sent = now;
	queue_slot(t, s, now + MSEC(s->out.timeout_ms) + wait / 8 + MSEC(2));
}

static void
new_try(struct transact *t, struct slot *s, monotime now)
{
	s->generation++;
	put_tid(s->out.mad, (uint32_t)(s - t->slots) | (uint32_t)s->generation << 16);
	s->busy = false;
	send_try(t, s, now);
}

static void
encode_route(struct smp *smp, const uint8_t *path, uint8_t hops)
{
	assert(hops <= SMP_MAX_HOPS);
	smp->hop_count = hops;
	smp->dr_slid = smp->dr_dlid = LID_PERMISSIVE;
	memcpy(smp->path + 1, path + 1, hops);
}

static void
encode_gmp(struct slot *s, const struct transact_request *r)
{
	const struct mad_header h = {
		.base_version = 1, .method = r->method, .mgmt_class = r->gmp,
		.class_version = r->gmp == MAD_CLASS_PERF ? PERF_CLASS_VERSION : CC_CLASS_VERSION,
		.attr_id = r->attr_id, .attr_mod = r->attr_mod,
	};

	cc_mad_encode(&h, r->m_key, r->data, s->out.mad);
	s->out.lid = r->lid;
	s->out.sl = r->sl;
	s->out.pkey_index = r->pkey_index;
	s->out.remote_qp = r->remote_qp;
}

static uint8_t
class_of(const struct transact_request *r)
{
	return r->gmp ? r->gmp : r->path ? MAD_CLASS_SUBN_DIRECT : MAD_CLASS_SUBN_LID;
}

static void
encode_request(struct slot *s, const struct transact_request *r)
{
	struct smp smp = {
		.h = {
			.base_version = 1, .class_version = 1, .method = r->method,
			.mgmt_class = s->mgmt_class,
			.attr_id = r->attr_id, .attr_mod = r->attr_mod,
		},
		.m_key = r->m_key,
	};

	if (r->path)
		encode_route(&smp, r->path, r->hops);
	memcpy(smp.data, r->data, SMP_DATA_SIZE);
	smp_encode(&smp, s->out.mad);
	s->out.sl = 0;
	s->out.pkey_index = 0;
	s->out.remote_qp = 0;
	s->out.lid = r->path ? LID_PERMISSIVE : r->lid;
}

static void
start_request(struct transact *t, struct transact_target *target, const struct transact_request *r)
{
	struct slot *s = list_entry(list_pop(&t->free_slots), struct slot, link);
	unsigned less = r->retries_less < t->o.retries ? r->retries_less : t->o.retries;

	s->mgmt_class = class_of(r);
	s->out.qp = r->gmp != 0;
	if (r->gmp)
		encode_gmp(s, r);
	else
		encode_request(s, r);
	s->target = target;
	s->cookie = r->cookie;
	s->method = r->method;
	s->attr_id = r->attr_id;
	s->attr_mod = r->attr_mod;
	s->uncertain = r->uncertain;
	s->port = r->port;
	s->tries = 0;
	s->tries_max = (uint8_t)(1 + t->o.retries - less);
	s->first = (uint16_t)(s->generation + 1);
	s->started = loop_now(t->loop);
	t->outstanding++;
	target->outstanding++;
	new_try(t, s, s->started);
}

/* A few strays take their places among the slots, so that nothing is sent only to be refused. */
static bool
has_room(const struct transact *t)
{
	unsigned strays = t->strays < SLOT_MAX / 2 ? t->strays : 0;

	return !t->refused && t->outstanding < t->o.window_max &&
	       t->outstanding + strays < SLOT_MAX &&
	       t->outstanding - t->exempt < t->window.limit;
}

/* Let ready targets ask in turn while the windows have room; false if the limit ended it. */
static bool
pump_some(struct transact *t)
{
	struct transact_request r;

	for (unsigned n = 0; has_room(t); n++) {
		struct list *first = t->ready.next;
		struct transact_target *target = list_entry(first, struct transact_target, link);

		if (first == &t->ready)
			return true;
		if (n >= PUMP_LIMIT)
			return false;
		list_remove(first);
		target->parked = target->outstanding >= window_target_limit(&t->window, target);
		if (target->parked)
			continue;
		memset(&r, 0, sizeof(r));
		if (!t->ops.next(t->ops.arg, target, &r))
			continue;
		if (list_empty(&target->link))
			list_append(&t->ready, &target->link);
		start_request(t, target, &r);
	}
	return true;
}

static void
pump(struct transact *t)
{
	bool all = pump_some(t);

	t->inside = false;
	watch_deadlines(t);
	if (!all || (t->active && transact_is_idle(t)))
		loop_timer_set(t->turn, 0);
}

static void
on_turn(void *arg)
{
	struct transact *t = arg;

	t->inside = true;
	pump(t);
	if (!t->active || !transact_is_idle(t))
		return;
	loop_timer_cancel(t->turn);
	loop_timer_cancel(t->deadline);
	t->timer_at = MONOTIME_NEVER;
	t->grace = false;
	t->active = false;
	t->ops.idle(t->ops.arg);
}

/* ---- time-outs ---- */

/* A try is over: its time passed here or in the transport, or the device asked for a later one. */
static void
expire_try(struct transact *t, struct slot *s, monotime now)
{
	struct transact_target *target = s->target;

	if (s->unsent) {
		list_remove(&s->link);
		send_try(t, s, now);
		return;
	}
	if (!s->busy && !s->uncertain)
		window_lost(&t->window, target, now);
	if (s->tries < s->tries_max) {
		bool late = s->tries == 1 && !s->busy;

		list_remove(&s->link);
		set_exempt(t, s, s->tries > 1 || s->uncertain || !window_target_lives(target));
		new_try(t, s, now);
		if (late && t->ops.late)
			t->ops.late(t->ops.arg, target);
		return;
	}
	t->count.timed_out++;
	if (target->silent < UINT16_MAX && !s->uncertain)
		target->silent++;
	finish(t, s, ERR_TIMEOUT, now);
}

/* Our own deadline came before any word of the transport. */
static void
note_stray(struct transact *t, const struct slot *s, monotime now)
{
	if (s->unsent || s->busy || s->uncertain || !window_target_lives(s->target) ||
	    t->strays >= SLOT_MAX)
		return;
	t->strays++;
	t->strays_until = now + STRAY_LIFE;
}

static void
on_deadline(void *arg)
{
	struct transact *t = arg;
	monotime now = loop_now(t->loop), late = now - t->timer_at;

	t->timer_at = MONOTIME_NEVER;
	t->grace = late > STALL && !t->grace;
	if (t->grace) {
		t->timer_at = now + STALL;
		loop_timer_set(t->deadline, STALL);
		return;
	}
	t->inside = true;
	t->refused = false;
	while (!list_empty(&t->by_deadline)) {
		struct slot *s = list_entry(t->by_deadline.next, struct slot, link);

		if (s->deadline > now)
			break;
		note_stray(t, s, now);
		expire_try(t, s, now);
	}
	pump(t);
}

/* ---- receiving ---- */

/* The outstanding request that the TID belongs to, by any of its tries; NULL if none. */
static struct slot *
find_slot(struct transact *t, uint64_t tid)
{
	uint16_t number = (uint16_t)tid, generation = (uint16_t)(tid >> 16);
	struct slot *s;

	if (number >= t->o.window_max)
		return NULL;
	s = &t->slots[number];
	if (!s->target || (uint16_t)(generation - s->first) > (uint16_t)(s->generation - s->first))
		return NULL;
	return s;
}

static bool
answer_fits(const struct slot *s, const struct mad_header *h)
{
	return h->method == MAD_GET_RESP && h->attr_id == s->attr_id &&
	       h->attr_mod == s->attr_mod && h->mgmt_class == s->mgmt_class;
}

static void
deliver(struct transact *t, struct slot *s, const struct mad_header *h, const uint8_t *mad,
	monotime now)
{
	struct transact_target *target = s->target;
	struct transact_result r;

	fill_result(s, &r, 0);
	r.mad_status = h->status;
	r.elapsed = now - s->started;
	r.data = mad + SMP_DATA;
	t->count.answered++;
	t->count.refused += h->status != 0;
	release_slot(t, s);
	t->ops.done(t->ops.arg, target, &r);
}

static void
take_answer(struct transact *t, const struct mad_header *h, const struct port_mad *m)
{
	struct slot *s = find_slot(t, h->tid);
	uint16_t generation = (uint16_t)(h->tid >> 16);
	monotime now;
	bool full;

	if ((!s || s->unsent) && t->strays)
		t->strays--;
	if (!s) {
		t->count.unsolicited++;
		return;
	}
	if (!answer_fits(s, h)) {
		t->count.malformed++;
		return;
	}
	now = loop_now(t->loop);
	t->grace = false;
	if (generation == s->generation)
		window_rtt(&t->window, s->target, now - s->sent);
	else if (generation == s->first)
		window_rtt(&t->window, s->target, now - s->started);
	full = t->outstanding - t->exempt >= t->window.limit;
	window_answer(&t->window, s->target, full, now);
	if (h->status & MAD_STATUS_BUSY && s->tries < s->tries_max && !s->unsent) {
		s->busy = true;
		list_remove(&s->link);
		queue_slot(t, s, now + t->o.timeout_min);
		return;
	}
	deliver(t, s, h, m->mad, now);
}

/* The transport gives a request back. Only the present try counts: earlier ones are over. */
static void
take_timeout(struct transact *t, const struct mad_header *h)
{
	struct slot *s = find_slot(t, h->tid);

	if (s && !s->unsent && !s->busy && (uint16_t)(h->tid >> 16) == s->generation)
		expire_try(t, s, loop_now(t->loop));
}

/* Of a class whose answers are to requests of the engine. */
static bool
is_ours(const struct mad_header *h)
{
	return h->mgmt_class == MAD_CLASS_SUBN_LID || h->mgmt_class == MAD_CLASS_SUBN_DIRECT ||
	       h->mgmt_class == MAD_CLASS_CONGESTION || h->mgmt_class == MAD_CLASS_PERF;
}

void
transact_receive(void *arg, const struct port_mad *m)
{
	struct transact *t = arg;
	struct mad_header h;

	if (mad_header_decode(&h, m->mad, sizeof(m->mad)) || h.base_version != 1) {
		t->count.malformed++;
		return;
	}
	t->inside = true;
	if (is_ours(&h) && m->status)
		take_timeout(t, &h);
	else if (is_ours(&h) && h.method & MAD_RESPONSE)
		take_answer(t, &h, m);
	else
		t->ops.request(t->ops.arg, m);
	pump(t);
}

/* ---- the interface ---- */

static unsigned
bounded(unsigned v, unsigned min, unsigned max)
{
	return v < min ? min : v > max ? max : v;
}

struct transact *
transact_new(struct loop *l, struct port *p, const struct transact_options *o,
	     const struct transact_ops *ops)
{
	struct transact *t = mem_zalloc(sizeof(*t));

	t->loop = l;
	t->port = p;
	t->o = *o;
	t->ops = *ops;
	t->o.window_max = bounded(o->window_max, 1, SLOT_MAX);
	t->o.target_max = bounded(o->target_max, 1, 64);
	t->o.retries = bounded(o->retries, 0, 15);
	t->o.window_start = bounded(o->window_start, 1, t->o.window_max);
	window_init(&t->window, &t->o);
	t->timer_at = MONOTIME_NEVER;
	t->deadline = loop_timer_new(l, on_deadline, t);
	t->turn = loop_timer_new(l, on_turn, t);
	list_init(&t->ready);
	list_init(&t->by_deadline);
	list_init(&t->free_slots);
	for (unsigned i = 0; i < t->o.window_max; i++) {
		t->slots[i].generation = (uint16_t)loop_random(l);
		list_append(&t->free_slots, &t->slots[i].link);
	}
	return t;
}

void
transact_free(struct transact *t)
{
	if (!t)
		return;
	list_each(it, &t->ready)
		list_remove(it);
	loop_timer_free(t->deadline);
	loop_timer_free(t->turn);
	mem_free(t);
}

void
transact_target_init(struct transact_target *target)
{
	memset(target, 0, sizeof(*target));
	list_init(&target->link);
	target->window = TARGET_WINDOW;
}

static void
take_turn(struct transact *t)
{
	t->active = true;
	if (!t->inside && !loop_timer_pending(t->turn))
		loop_timer_set(t->turn, 0);
}

void
transact_ready(struct transact *t, struct transact_target *target)
{
	if (target->parked || !list_empty(&target->link))
		return;
	list_append(&t->ready, &target->link);
	take_turn(t);
}

void
transact_cancel(struct transact *t, struct transact_target *target)
{
	monotime now = loop_now(t->loop);

	for (unsigned i = 0; target->outstanding && i < t->o.window_max; i++)
		if (t->slots[i].target == target)
			finish(t, &t->slots[i], ERR_CLOSED, now);
	target->parked = false;
	list_remove(&target->link);
	if (t->active)
		take_turn(t);
}

/* The same request, by another route, as if it had not been sent before. */
static void
send_again(struct transact *t, struct slot *s, const uint8_t *path, uint8_t hops, monotime now)
{
	struct smp smp;

	note_stray(t, s, now);
	if (s->unsent)
		t->refused = s->unsent = false;
	list_remove(&s->link);
	set_exempt(t, s, false);
	smp_decode(&smp, s->out.mad, sizeof(s->out.mad));
	memset(smp.path, 0, sizeof(smp.path));
	encode_route(&smp, path, hops);
	smp_encode(&smp, s->out.mad);
	s->tries = 0;
	s->first = (uint16_t)(s->generation + 1);
	s->started = now;
	t->count.rerouted++;
	new_try(t, s, now);
}

static void
reroute_slot(struct transact *t, struct slot *s, monotime now)
{
	uint8_t path[SMP_MAX_HOPS + 1], hops;
	struct smp smp;

	if (!s->target || s->mgmt_class != MAD_CLASS_SUBN_DIRECT)
		return;
	smp_decode(&smp, s->out.mad, sizeof(s->out.mad));
	hops = smp.hop_count;
	memcpy(path, smp.path, sizeof(path));
	switch (t->ops.route(t->ops.arg, s->target, s->port, path, &hops)) {
	case TRANSACT_KEEP:
		break;
	case TRANSACT_AGAIN:
		send_again(t, s, path, hops, now);
		break;
	case TRANSACT_LOST:
		note_stray(t, s, now);
		finish(t, s, ERR_CLOSED, now);
		break;
	}
}

void
transact_reroute(struct transact *t)
{
	monotime now = loop_now(t->loop);
	bool inside = t->inside;

	/* The windows are refilled when all of them have been seen. */
	t->inside = true;
	for (unsigned i = 0; t->ops.route && i < t->o.window_max; i++)
		reroute_slot(t, &t->slots[i], now);
	t->inside = inside;
	watch_deadlines(t);
	if (t->active)
		take_turn(t);
}

bool
transact_is_idle(const struct transact *t)
{
	return !t->outstanding && list_empty(&t->ready);
}

int
transact_send(struct transact *t, const struct port_mad *m)
{
	return port_send(t->port, m);
}

const struct transact_counters *
transact_counters(const struct transact *t)
{
	return &t->count;
}

monotime
transact_rtt(const struct transact *t)
{
	return t->window.rtt;
}

unsigned
transact_window(const struct transact *t)
{
	return t->window.limit;
}
