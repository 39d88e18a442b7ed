/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Transactions on a virtual loop, over a port made here.
 *
 * The port knows devices by LID; each answers after its own delay, or loses, doubles, damages or
 * withholds answers. It checks what the kernel would: a time-out on each request, no TID twice; and
 * puts an agent number into the high half of the TID. Each test drives a bed: devices, a target
 * for each, and a number of requests to ask, each of which must be done exactly once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "sm/base/list.h"
#include "sm/base/loop.h"
#include "sm/base/map.h"
#include "sm/base/mem.h"
#include "sm/port/transact.h"
#include "sm/wire/mad.h"

#define DEVICES_MAX 512
#define AGENT UINT64_C(0x1200000000)

struct device {
	monotime delay;			/* until the answer */
	unsigned loss;			/* percent of requests that vanish */
	unsigned silent_after;		/* requests that it still answers, then never */
	unsigned busy;			/* so many times it says BUSY first */
	uint16_t status;		/* MAD status of its answers */
	bool doubles;			/* answers twice */
	unsigned lies;			/* so many answers first are about something else */
	unsigned heard;			/* requests that arrived */
	struct transact_target target;	/* who asks it */
	unsigned left;			/* requests still to ask */
	unsigned asked;			/* given by next() */
	unsigned done;			/* done() calls */
	unsigned timed_out;		/* of these */
	unsigned closed;		/* of these */
	uint8_t *seen;			/* per request: done() came */
};

struct bed {
	struct port port;		/* what the engine sends through; first */
	struct loop *loop;		/* virtual */
	struct transact *transact;	/* under test */
	struct transact_options o;	/* its options */
	struct device *devices;		/* by LID - 1 */
	unsigned len;			/* of devices */
	unsigned requests;		/* at most, for each device */
	bool reports;			/* the transport reports time-outs, as the kernel does */
	unsigned refuse;		/* so many sends get ERR_BUSY */
	int send_error;			/* or all get this */
	monotime service;		/* all answers pass one queue that takes this long for each */
	monotime served;		/* until when it is occupied */
	struct list flights;		/* answers on their way */
	struct map tids;		/* TIDs that were used */
	uint64_t sends;			/* accepted by the port */
	unsigned in_flight;		/* next() without done() */
	unsigned in_flight_max;		/* highest seen */
	unsigned window_min;		/* lowest transact_window() seen */
	unsigned idles;			/* idle() calls */
	unsigned others;		/* request() calls */
	bool idle;			/* idle() came */
	unsigned tries_max;		/* highest seen in a result */
	monotime healthy_at;		/* last answer that was no error */
	bool fair;			/* check strict turns */
	uint64_t done_total;		/* done() calls */
	struct port_mad last;		/* sent last */
};

struct flight {
	struct list link;		/* in flights */
	struct bed *bed;		/* whose */
	struct loop_timer *timer;	/* arrival */
	struct port_mad m;		/* the MAD */
};

/* ---- the port ---- */

static void
free_flight(struct flight *f)
{
	list_remove(&f->link);
	loop_timer_free(f->timer);
	mem_free(f);
}

static void
arrive(void *arg)
{
	struct flight *f = arg;
	struct bed *b = f->bed;
	struct port_mad m = f->m;

	free_flight(f);
	transact_receive(b->transact, &m);
	if (transact_window(b->transact) < b->window_min)
		b->window_min = transact_window(b->transact);
}

static void
fly(struct bed *b, const struct port_mad *m, monotime delay)
{
	struct flight *f = mem_zalloc(sizeof(*f));

	f->bed = b;
	f->m = *m;
	f->timer = loop_timer_new(b->loop, arrive, f);
	loop_timer_set(f->timer, delay);
	list_append(&b->flights, &f->link);
}

static uint64_t
get_be(const uint8_t *p, unsigned n)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < n; i++)
		v = v << 8 | p[i];
	return v;
}

static void
put_be(uint8_t *p, unsigned n, uint64_t v)
{
	for (unsigned i = 0; i < n; i++)
		p[i] = (uint8_t)(v >> 8 * (n - 1 - i));
}

/* The answer to `m`: GetResp, same TID, attribute and modifier; data tell device and modifier. */
static struct port_mad
answer_to(const struct device *d, const struct port_mad *m)
{
	struct port_mad r = *m;

	r.timeout_ms = 0;
	r.mad[3] = 0x81;
	put_be(r.mad + 4, 2, d->status | (m->mad[1] == 0x81 ? 0x8000 : 0));
	put_be(r.mad + 8, 8, get_be(m->mad + 8, 8) | AGENT);
	put_be(r.mad + 64, 4, m->lid);
	put_be(r.mad + 68, 4, get_be(m->mad + 20, 4));
	return r;
}

static void
lie(struct bed *b, struct device *d, struct port_mad r, monotime delay)
{
	switch (d->heard % 5) {
	case 0:	/* another attribute */
		put_be(r.mad + 16, 2, ATTR_PORT_INFO);
		break;
	case 1:	/* another modifier */
		put_be(r.mad + 20, 4, get_be(r.mad + 20, 4) + 1);
		break;
	case 2:	/* another class */
		r.mad[1] ^= 0x80;
		break;
	case 3:	/* not a GetResp */
		r.mad[3] = 0x86;
		break;
	default: /* base version of the future */
		r.mad[0] = 9;
		break;
	}
	fly(b, &r, delay);
}

static void
give_back(struct bed *b, const struct port_mad *m)
{
	struct port_mad r = *m;

	if (!b->reports)
		return;
	put_be(r.mad + 8, 8, get_be(m->mad + 8, 8) | AGENT);
	memset(r.mad + 24, 0, sizeof(r.mad) - 24);
	r.status = ERR_TIMEOUT;
	fly(b, &r, MSEC(m->timeout_ms));
}

static bool
answers(struct bed *b, struct device *d)
{
	if (d->heard++ >= d->silent_after)
		return false;
	return loop_random(b->loop) % 100 >= d->loss;
}

static void
serve(struct bed *b, struct device *d, const struct port_mad *m)
{
	struct port_mad r = answer_to(d, m);
	monotime now = loop_now(b->loop), delay = d->delay;

	if (b->service) {
		b->served = (b->served > now ? b->served : now) + b->service;
		delay += b->served - now;
	}
	if (d->busy) {
		d->busy--;
		put_be(r.mad + 4, 2, MAD_STATUS_BUSY);
	}
	if (d->lies) {
		d->lies--;
		lie(b, d, r, delay);
		give_back(b, m);
		return;
	}
	fly(b, &r, delay);
	if (d->doubles)
		fly(b, &r, delay + USEC(50));
	/* The kernel has given up a request whose answer is late. */
	if (delay > MSEC(m->timeout_ms))
		give_back(b, m);
}

static int
bed_send(struct port *p, const struct port_mad *m)
{
	struct bed *b = (struct bed *)p;
	uint64_t tid = get_be(m->mad + 8, 8);
	struct device *d;

	if (b->send_error)
		return b->send_error;
	if (b->refuse) {
		b->refuse--;
		return ERR_BUSY;
	}
	b->last = *m;
	if (m->timeout_ms == 0)
		return 0;
	assert_true(tid <= UINT32_MAX);
	assert_int_equal(map_get(&b->tids, tid), MAP_NONE);
	map_set(&b->tids, tid, 1);
	b->sends++;
	assert_in_range(m->lid, 1, b->len);
	d = &b->devices[m->lid - 1];
	if (answers(b, d))
		serve(b, d, m);
	else
		give_back(b, m);
	return 0;
}

static int
bed_issm(struct port *p, bool on, struct error *e)
{
	(void)p;
	(void)on;
	(void)e;
	return 0;
}

static void
bed_port_close(struct port *p)
{
	(void)p;
}

/* ---- the owner ---- */

static struct device *
device_of(struct transact_target *t)
{
	return (struct device *)(void *)((char *)t - offsetof(struct device, target));
}

static void
check_turns(const struct bed *b)
{
	unsigned least = UINT32_MAX, most = 0;

	for (unsigned i = 0; i < b->len && b->fair; i++) {
		if (b->devices[i].asked < least)
			least = b->devices[i].asked;
		if (b->devices[i].asked > most)
			most = b->devices[i].asked;
	}
	if (b->fair)
		assert_true(most - least <= 1);
}

static bool
next(void *arg, struct transact_target *t, struct transact_request *r)
{
	struct bed *b = arg;
	struct device *d = device_of(t);

	assert_true(t->outstanding < b->o.target_max);
	if (!d->left)
		return false;
	d->left--;
	r->method = MAD_GET;
	r->lid = (uint16_t)(d - b->devices + 1);
	r->attr_id = ATTR_NODE_INFO;
	r->attr_mod = d->asked;
	r->cookie = (uint64_t)r->lid << 32 | d->asked;
	d->asked++;
	if (++b->in_flight > b->in_flight_max)
		b->in_flight_max = b->in_flight;
	assert_true(b->in_flight <= b->o.window_max);
	check_turns(b);
	return true;
}

static void
done(void *arg, struct transact_target *t, const struct transact_result *r)
{
	struct bed *b = arg;
	struct device *d = device_of(t);
	uint32_t number = (uint32_t)r->cookie;

	assert_int_equal(r->cookie >> 32, d - b->devices + 1);
	assert_true(number < d->asked);
	assert_int_equal(d->seen[number]++, 0);
	assert_int_equal(r->method, MAD_GET);
	assert_int_equal(r->attr_id, ATTR_NODE_INFO);
	assert_int_equal(r->attr_mod, number);
	if (!r->error) {
		assert_int_equal(get_be(r->data, 4), d - b->devices + 1);
		assert_int_equal(get_be(r->data + 4, 4), number);
		assert_int_equal(r->mad_status, d->status);
		b->healthy_at = loop_now(b->loop);
	}
	if (r->tries > b->tries_max)
		b->tries_max = r->tries;
	assert_true(r->tries <= 1 + b->o.retries);
	d->timed_out += r->error == ERR_TIMEOUT;
	d->closed += r->error == ERR_CLOSED;
	d->done++;
	b->done_total++;
	b->in_flight--;
}

static void
idle(void *arg)
{
	struct bed *b = arg;

	assert_int_equal(b->in_flight, 0);
	assert_true(transact_is_idle(b->transact));
	b->idles++;
	b->idle = true;
}

static void
other(void *arg, const struct port_mad *m)
{
	struct bed *b = arg;

	(void)m;
	b->others++;
}

/* ---- the bed ---- */

static struct bed *
bed_new(unsigned devices, unsigned requests)
{
	static const struct port_ops ops = {
		.send = bed_send, .set_issm = bed_issm, .close = bed_port_close,
	};
	struct bed *b = mem_zalloc(sizeof(*b));

	b->port.ops = &ops;
	b->port.up = true;
	b->loop = loop_new_virtual(7);
	b->len = devices;
	b->requests = requests;
	b->devices = mem_array(devices, sizeof(*b->devices));
	b->o = (struct transact_options){
		.window_start = 64, .window_max = 256, .target_max = 16, .retries = 3,
		.timeout = MSEC(200), .timeout_min = MSEC(50),
	};
	list_init(&b->flights);
	for (unsigned i = 0; i < devices; i++) {
		struct device *d = &b->devices[i];

		d->delay = USEC(100);
		d->silent_after = UINT32_MAX;
		d->left = requests;
		d->seen = mem_zalloc(requests);
		transact_target_init(&d->target);
	}
	return b;
}

/* Make the engine and let all devices that have requests be asked. */
static void
bed_start(struct bed *b)
{
	const struct transact_ops ops = {
		.next = next, .done = done, .idle = idle, .request = other, .arg = b,
	};

	b->transact = transact_new(b->loop, &b->port, &b->o, &ops);
	b->window_min = transact_window(b->transact);
	for (unsigned i = 0; i < b->len; i++)
		if (b->devices[i].left)
			transact_ready(b->transact, &b->devices[i].target);
}

/* How long until nothing is left to happen; all requests must be done once. */
static monotime
bed_run(struct bed *b)
{
	monotime began = loop_now(b->loop);

	loop_run_until(b->loop, began + SEC(600), &b->idle);
	assert_true(b->idle);
	assert_int_equal(b->idles, 1);
	for (unsigned i = 0; i < b->len; i++) {
		assert_int_equal(b->devices[i].done, b->devices[i].asked);
		assert_int_equal(b->devices[i].target.outstanding, 0);
	}
	return loop_now(b->loop) - began;
}

static void
bed_free(struct bed *b)
{
	while (!list_empty(&b->flights))
		free_flight(list_entry(b->flights.next, struct flight, link));
	transact_free(b->transact);
	loop_free(b->loop);
	for (unsigned i = 0; i < b->len; i++)
		mem_free(b->devices[i].seen);
	map_free(&b->tids);
	mem_free(b->devices);
	mem_free(b);
}

/* ---- tests ---- */

static void
test_answers(void **state)
{
	struct bed *b = bed_new(100, 50);
	const struct transact_counters *c;

	(void)state;
	for (unsigned i = 0; i < b->len; i++)
		b->devices[i].delay = USEC(20 + 7 * i);
	bed_start(b);
	bed_run(b);
	c = transact_counters(b->transact);
	assert_int_equal(b->done_total, 5000);
	assert_int_equal(c->answered, 5000);
	assert_int_equal(c->sent_total, 5000);
	assert_int_equal(c->sent[ATTR_NODE_INFO], 5000);
	assert_int_equal(b->sends, 5000);
	assert_int_equal(c->retried + c->timed_out + c->malformed + c->unsolicited + c->refused, 0);
	assert_in_range(transact_rtt(b->transact), USEC(20), USEC(713));
	/* Nothing lingers: no timer, no post. */
	loop_run(b->loop);
	assert_int_equal(b->idles, 1);
	bed_free(b);
}

/* Idle again after each round, and only then. */
static void
test_idle(void **state)
{
	struct bed *b = bed_new(3, 20);

	(void)state;
	for (unsigned i = 0; i < b->len; i++)
		b->devices[i].left = 5;
	bed_start(b);
	for (unsigned round = 1; round <= 4; round++) {
		b->idle = false;
		b->idles = 0;
		bed_run(b);
		for (unsigned i = 0; i < b->len; i++) {
			assert_int_equal(b->devices[i].done, 5 * round);
			b->devices[i].left = 5;
			transact_ready(b->transact, &b->devices[i].target);
			transact_ready(b->transact, &b->devices[i].target);
		}
	}
	/* A target that has nothing to ask after all. */
	b->devices[0].left = b->devices[1].left = b->devices[2].left = 0;
	b->idle = false;
	b->idles = 0;
	bed_run(b);
	assert_int_equal(b->done_total, 60);
	bed_free(b);
}

static void
check_loss(bool reports)
{
	struct bed *b = bed_new(200, 100);
	unsigned timed_out = 0;

	b->reports = reports;
	for (unsigned i = 0; i < b->len; i++)
		b->devices[i].loss = 5;
	bed_start(b);
	bed_run(b);
	for (unsigned i = 0; i < b->len; i++)
		timed_out += b->devices[i].timed_out;
	assert_int_equal(b->done_total, 20000);
	/* 0.05^4 of 20,000 is an eighth. */
	assert_in_range(timed_out, 0, 3);
	assert_int_equal(transact_counters(b->transact)->timed_out, timed_out);
	/* 5.26 % of 20,000 are 1,053, give or take four deviations. */
	assert_in_range(transact_counters(b->transact)->retried, 920, 1190);
	assert_int_equal(transact_counters(b->transact)->unsolicited, 0);
	bed_free(b);
}

static void
test_loss(void **state)
{
	(void)state;
	check_loss(false);
	check_loss(true);
}

static void
check_silent(bool reports)
{
	struct bed *b = bed_new(210, 20);
	monotime took;

	b->reports = reports;
	for (unsigned i = 0; i < 10; i++)
		b->devices[21 * i].silent_after = 0;
	bed_start(b);
	took = bed_run(b);
	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(b->devices[21 * i].timed_out, 20);
	/* 4,000 requests in windows of 64 every 100 us take 6.3 ms; the dead hold nobody up for
	 * longer than their first time-out. */
	assert_true(b->healthy_at < MSEC(60));
	/* A silent device is asked one request at a time once it has lost one: but its first four
	 * go out at once, so 17 rounds of four tries, each of an eighth above 200 ms. */
	assert_true(took < 17 * 4 * MSEC(228));
	assert_int_equal(b->tries_max, 4);
	assert_int_equal(b->window_min, 64);
	bed_free(b);
}

/* Silent devices: healthy ones do not notice. */
static void
test_silent(void **state)
{
	(void)state;
	check_silent(false);
	check_silent(true);
}

/* One request to each of many silent devices costs one device's time-outs. */
static void
test_silent_in_parallel(void **state)
{
	struct bed *b = bed_new(300, 1);
	monotime took;

	(void)state;
	for (unsigned i = 0; i < b->len; i++)
		b->devices[i].silent_after = i % 2 ? UINT32_MAX : 0;
	bed_start(b);
	took = bed_run(b);
	/* All first tries fit into two windows; those that wait do so for one first time-out. */
	assert_true(took < 6 * MSEC(228));
	for (unsigned i = 0; i < b->len; i++)
		assert_int_equal(b->devices[i].timed_out, 1 - i % 2);
	bed_free(b);
}

/* A device that answered and then falls silent does not shrink the total window; nor do two. */
static void
test_one_device_lost(void **state)
{
	struct bed *b = bed_new(100, 200);

	(void)state;
	b->devices[10].silent_after = 50;
	b->devices[20].silent_after = 60;
	bed_start(b);
	loop_run_until(b->loop, SEC(10), NULL);
	assert_int_equal(b->window_min, 64);
	assert_int_equal(b->devices[11].done, 200);
	assert_true(b->devices[10].timed_out > 0);
	assert_true(b->devices[10].target.silent > 0);
	assert_int_equal(b->devices[10].target.window, 1);
	bed_free(b);
}

/* Loss all over the fabric does, down to the lower bound at worst; and it comes back. */
static void
test_overload(void **state)
{
	struct bed *b = bed_new(200, 400);
	unsigned low;

	(void)state;
	for (unsigned i = 0; i < b->len; i++)
		b->devices[i].loss = 20;
	bed_start(b);
	loop_run_until(b->loop, MSEC(800), NULL);
	low = transact_window(b->transact);
	assert_in_range(b->window_min, 4, 32);
	for (unsigned i = 0; i < b->len; i++)
		b->devices[i].loss = 0;
	bed_run(b);
	assert_true(transact_window(b->transact) > low);
	bed_free(b);
}

/* The window halves at most once in a time-out, however many requests are lost in it. */
static void
test_halves_once(void **state)
{
	struct bed *b = bed_new(100, 2000);

	(void)state;
	bed_start(b);
	loop_run_until(b->loop, MSEC(10), NULL);
	for (unsigned i = 0; i < b->len; i++)
		b->devices[i].loss = 100;
	loop_run_until(b->loop, MSEC(12), NULL);
	for (unsigned i = 0; i < b->len; i++)
		b->devices[i].loss = 0;
	assert_true(transact_window(b->transact) >= 64);
	b->window_min = 256;
	loop_run_until(b->loop, MSEC(100), NULL);
	assert_in_range(b->window_min, 32, 129);
	bed_free(b);
}

static void
test_fair(void **state)
{
	struct bed *b = bed_new(40, 100);

	(void)state;
	b->fair = true;
	b->o.window_start = b->o.window_max = 60;
	bed_start(b);
	bed_run(b);
	assert_int_equal(b->in_flight_max, 60);
	bed_free(b);
}

/* A device at the limit of its window is left out until it answers; others go on. */
static void
test_target_window(void **state)
{
	struct bed *b = bed_new(10, 300);

	(void)state;
	b->devices[0].delay = MSEC(20);
	bed_start(b);
	loop_run_until(b->loop, MSEC(19), NULL);
	assert_int_equal(b->devices[0].target.outstanding, 4);
	assert_int_equal(b->devices[0].asked, 4);
	assert_int_equal(b->devices[1].done, 300);
	assert_int_equal(b->devices[1].target.window, 16);
	bed_run(b);
	assert_int_equal(b->done_total, 3000);
	bed_free(b);
}

static void
test_strange_answers(void **state)
{
	struct bed *b = bed_new(50, 20);
	const struct transact_counters *c;

	(void)state;
	for (unsigned i = 0; i < b->len; i++) {
		b->devices[i].doubles = i % 2;
		b->devices[i].lies = i % 2 ? 0 : 1;
	}
	bed_start(b);
	bed_run(b);
	loop_run_until(b->loop, loop_now(b->loop) + SEC(1), NULL);
	c = transact_counters(b->transact);
	assert_int_equal(b->done_total, 1000);
	assert_int_equal(c->answered, 1000);
	assert_int_equal(c->unsolicited, 25 * 20);
	assert_int_equal(c->malformed, 25);
	assert_int_equal(c->retried, 25);
	assert_int_equal(c->timed_out, 0);
	bed_free(b);
}

static void
receive_with_tid(struct bed *b, uint64_t tid)
{
	struct port_mad m = answer_to(&b->devices[0], &b->last);

	put_be(m.mad + 8, 8, tid);
	transact_receive(b->transact, &m);
}

/* Answers under any TID but the right one are nobody's. */
static void
test_wrong_tids(void **state)
{
	struct bed *b = bed_new(1, 1);
	uint64_t tid;

	(void)state;
	b->devices[0].delay = MSEC(10);
	bed_start(b);
	loop_run_until(b->loop, MSEC(1), NULL);
	tid = get_be(b->last.mad + 8, 8);
	receive_with_tid(b, tid + 1);
	receive_with_tid(b, tid + 0x100);
	receive_with_tid(b, tid + 0x10000);
	receive_with_tid(b, tid - 0x10000);
	receive_with_tid(b, tid ^ 0x80000000);
	receive_with_tid(b, 0xffffffffffff);
	assert_int_equal(transact_counters(b->transact)->unsolicited, 6);
	assert_int_equal(b->done_total, 0);
	receive_with_tid(b, tid | UINT64_C(0xabcdef0100000000));
	assert_int_equal(b->done_total, 1);
	receive_with_tid(b, tid);
	assert_int_equal(transact_counters(b->transact)->unsolicited, 7);
	bed_run(b);
	bed_free(b);
}

/* A device slower than the time-out is heard all the same, and next time given the time. */
static void
test_slow_device(void **state)
{
	struct bed *b = bed_new(50, 40);
	struct device *slow = &b->devices[0];

	(void)state;
	slow->delay = MSEC(300);
	bed_start(b);
	bed_run(b);
	assert_int_equal(slow->timed_out, 0);
	assert_int_equal(slow->done, 40);
	/* Its first four requests are repeated, the others not. */
	assert_in_range(slow->heard, 44, 52);
	bed_free(b);
}

static void
test_busy_device(void **state)
{
	struct bed *b = bed_new(2, 5);

	(void)state;
	b->devices[0].busy = 2;
	b->devices[1].status = MAD_STATUS_BAD_ATTR;
	bed_start(b);
	bed_run(b);
	assert_int_equal(b->devices[0].heard, 7);
	assert_int_equal(b->devices[0].timed_out, 0);
	assert_int_equal(b->devices[1].heard, 5);
	assert_int_equal(transact_counters(b->transact)->refused, 5);
	bed_free(b);
}

/* Device says BUSY for good: the last try's answer is delivered as it is. */
static void
busy_done(void *arg, struct transact_target *t, const struct transact_result *r)
{
	struct bed *b = arg;

	(void)t;
	assert_int_equal(r->error, 0);
	assert_int_equal(r->mad_status, MAD_STATUS_BUSY);
	assert_int_equal(r->tries, 4);
	b->in_flight--;
	b->done_total++;
}

static void
test_always_busy(void **state)
{
	struct bed *b = bed_new(1, 1);
	const struct transact_ops ops = {
		.next = next, .done = busy_done, .idle = idle, .request = other, .arg = b,
	};

	(void)state;
	b->devices[0].busy = 100;
	b->transact = transact_new(b->loop, &b->port, &b->o, &ops);
	transact_ready(b->transact, &b->devices[0].target);
	loop_run_until(b->loop, SEC(5), &b->idle);
	assert_int_equal(b->done_total, 1);
	bed_free(b);
}

static void
test_busy_port(void **state)
{
	struct bed *b = bed_new(20, 50);

	(void)state;
	b->refuse = 30;
	bed_start(b);
	loop_run_until(b->loop, MSEC(40), NULL);
	b->refuse = 10;
	bed_run(b);
	assert_int_equal(b->done_total, 1000);
	assert_int_equal(transact_counters(b->transact)->answered, 1000);
	assert_int_equal(transact_counters(b->transact)->sent_total, 1000);
	assert_int_equal(transact_counters(b->transact)->retried, 0);
	bed_free(b);
}

static void
test_closed_port(void **state)
{
	struct bed *b = bed_new(20, 1);

	(void)state;
	b->send_error = ERR_CLOSED;
	bed_start(b);
	assert_true(bed_run(b) < 4 * MSEC(228));
	for (unsigned i = 0; i < b->len; i++)
		assert_int_equal(b->devices[i].timed_out, 1);
	assert_int_equal(transact_counters(b->transact)->sent_total, 0);
	bed_free(b);
}

static void
test_cancel(void **state)
{
	struct bed *b = bed_new(20, 100);
	unsigned pending;

	(void)state;
	for (unsigned i = 0; i < b->len; i++)
		b->devices[i].delay = MSEC(1);
	bed_start(b);
	loop_run_until(b->loop, USEC(10500), NULL);
	for (unsigned i = 0; i < 10; i++) {
		struct device *d = &b->devices[i];

		pending = d->target.outstanding;
		assert_true(pending > 0);
		transact_cancel(b->transact, &d->target);
		assert_int_equal(d->closed, pending);
		assert_int_equal(d->target.outstanding, 0);
		assert_true(list_empty(&d->target.link));
		transact_cancel(b->transact, &d->target);
		assert_int_equal(d->closed, pending);
		/* As an owner would who frees it. */
		memset(&d->target, 0xa5, sizeof(d->target));
	}
	loop_run_until(b->loop, SEC(1), &b->idle);
	assert_true(b->idle);
	for (unsigned i = 0; i < 10; i++) {
		assert_true(b->devices[i].asked < 100);
		assert_int_equal(b->devices[i].done, b->devices[i].asked);
	}
	for (unsigned i = 10; i < 20; i++)
		assert_int_equal(b->devices[i].done, 100);
	assert_true(transact_counters(b->transact)->unsolicited > 0);
	bed_free(b);
}

/* Cancelling all that there is leads to idle(), too. */
static void
test_cancel_all(void **state)
{
	struct bed *b = bed_new(5, 10);

	(void)state;
	for (unsigned i = 0; i < b->len; i++)
		b->devices[i].silent_after = 0;
	bed_start(b);
	loop_run_until(b->loop, MSEC(1), NULL);
	for (unsigned i = 0; i < b->len; i++)
		transact_cancel(b->transact, &b->devices[i].target);
	assert_int_equal(b->idles, 0);
	assert_true(bed_run(b) < MSEC(1));
	bed_free(b);
}

static void
send_other(struct bed *b, uint8_t mgmt_class, uint8_t method, int status)
{
	struct port_mad m = { .mad = { 1, mgmt_class, 1, method }, .status = status };

	transact_receive(b->transact, &m);
}

static void
test_other_mads(void **state)
{
	struct bed *b = bed_new(1, 1);
	struct port_mad m = { .mad = { 1, MAD_CLASS_SUBN_LID, 1, MAD_GET_RESP } };

	(void)state;
	bed_start(b);
	send_other(b, MAD_CLASS_SUBN_LID, MAD_GET, 0);
	send_other(b, MAD_CLASS_SUBN_DIRECT, MAD_SET, 0);
	send_other(b, MAD_CLASS_SUBN_LID, MAD_TRAP, 0);
	send_other(b, MAD_CLASS_SUBN_LID, MAD_TRAP_REPRESS, 0);
	send_other(b, MAD_CLASS_SUBN_ADM, 0x12, 0);
	send_other(b, MAD_CLASS_SUBN_ADM, MAD_REPORT_RESP, 0);
	send_other(b, MAD_CLASS_SUBN_ADM, MAD_REPORT, ERR_TIMEOUT);
	assert_int_equal(b->others, 7);
	/* Time-outs of SMPs that nobody waits for are no news. */
	send_other(b, MAD_CLASS_SUBN_LID, MAD_GET, ERR_TIMEOUT);
	assert_int_equal(b->others, 7);
	assert_int_equal(transact_send(b->transact, &m), 0);
	assert_memory_equal(b->last.mad, m.mad, MAD_SIZE);
	b->send_error = ERR_CLOSED;
	assert_int_equal(transact_send(b->transact, &m), ERR_CLOSED);
	b->send_error = 0;
	bed_run(b);
	bed_free(b);
}

/* The SMP on the wire, field by field (IBA volume 1, 14.2.1.1 and 14.2.1.2). */
static bool
next_direct(void *arg, struct transact_target *t, struct transact_request *r)
{
	static const uint8_t path[] = { 0, 3, 17, 254 };
	struct bed *b = arg;

	(void)t;
	if (!b->devices[0].left--)
		return false;
	r->method = MAD_SET;
	r->path = path;
	r->hops = 3;
	r->attr_id = ATTR_PORT_INFO;
	r->attr_mod = 0x80000011;
	r->m_key = UINT64_C(0x0123456789abcdef);
	r->retries_less = 9;
	for (unsigned i = 0; i < SMP_DATA_SIZE; i++)
		r->data[i] = (uint8_t)(i + 1);
	b->in_flight++;
	return true;
}

static void
done_direct(void *arg, struct transact_target *t, const struct transact_result *r)
{
	struct bed *b = arg;

	(void)t;
	assert_int_equal(r->error, ERR_TIMEOUT);
	assert_int_equal(r->tries, 1);
	assert_int_equal(r->data[63], 64);
	b->in_flight--;
}

static int
send_direct(struct port *p, const struct port_mad *m)
{
	((struct bed *)p)->last = *m;
	return 0;
}

static void
test_directed_route(void **state)
{
	static const struct port_ops port_ops = {
		.send = send_direct, .set_issm = bed_issm, .close = bed_port_close,
	};
	static const uint8_t head[8] = { 1, 0x81, 1, 2, 0, 0, 0, 3 };
	static const uint8_t tail[] = {
		0x00, 0x15, 0, 0, 0x80, 0, 0, 0x11,
		0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0xff, 0xff, 0xff, 0xff,
	};
	struct bed *b = bed_new(1, 1);
	const struct transact_ops ops = {
		.next = next_direct, .done = done_direct, .idle = idle, .request = other, .arg = b,
	};
	uint8_t path[64] = { 0, 3, 17, 254 }, zero[64] = { 0 };

	(void)state;
	b->port.ops = &port_ops;
	b->transact = transact_new(b->loop, &b->port, &b->o, &ops);
	transact_ready(b->transact, &b->devices[0].target);
	loop_run_until(b->loop, SEC(5), &b->idle);
	assert_true(b->idle);
	assert_int_equal(b->last.lid, 0xffff);
	assert_int_equal(b->last.qp, 0);
	assert_true(b->last.timeout_ms >= 200);
	assert_memory_equal(b->last.mad, head, sizeof(head));
	assert_memory_equal(b->last.mad + 16, tail, sizeof(tail));
	assert_int_equal(b->last.mad[64], 1);
	assert_int_equal(b->last.mad[127], 64);
	assert_memory_equal(b->last.mad + 128, path, 64);
	assert_memory_equal(b->last.mad + 192, zero, 64);
	bed_free(b);
}

struct ticker {
	struct bed *bed;	/* watched */
	unsigned turns;		/* of the loop */
	unsigned most;		/* sends in one turn */
	uint64_t sends;		/* at the last turn */
};

static void
tick(void *arg)
{
	struct ticker *k = arg;
	unsigned now = (unsigned)(k->bed->sends - k->sends);

	k->most = now > k->most ? now : k->most;
	k->sends = k->bed->sends;
	if (k->turns++ < 100)
		loop_post(k->bed->loop, tick, k);
}

/* Filling a large window does not keep the loop from other work. */
static void
test_pump_yields(void **state)
{
	struct bed *b = bed_new(300, 1);
	struct ticker k = { .bed = b };

	(void)state;
	b->o.window_start = 256;
	bed_start(b);
	loop_post(b->loop, tick, &k);
	bed_run(b);
	assert_true(k.sends + k.most >= 256);
	assert_in_range(k.most, 1, 64);
	bed_free(b);
}

/* More outstanding requests pay where the fabric is parallel, and only there. */
static void
test_growth(void **state)
{
	struct bed *b = bed_new(400, 500);

	(void)state;
	for (unsigned i = 0; i < b->len; i++)
		b->devices[i].delay = USEC(500);
	bed_start(b);
	bed_run(b);
	assert_int_equal(transact_window(b->transact), 256);
	bed_free(b);

	b = bed_new(400, 500);
	b->service = USEC(5);
	bed_start(b);
	bed_run(b);
	assert_in_range(transact_window(b->transact), 64, 80);
	assert_true(b->in_flight_max <= 80);
	bed_free(b);
}

/* 256 at most, whatever is asked for; and at least one. */
static void
test_bounds(void **state)
{
	struct bed *b = bed_new(400, 50);

	(void)state;
	b->o.window_start = b->o.window_max = 100000;
	b->o.target_max = 500;
	bed_start(b);
	b->o.window_max = 256;
	b->o.target_max = 64;
	bed_run(b);
	assert_int_equal(b->in_flight_max, 256);
	bed_free(b);

	b = bed_new(4, 5);
	b->o.window_start = b->o.window_max = b->o.target_max = 0;
	bed_start(b);
	b->o.window_max = b->o.target_max = 1;
	bed_run(b);
	assert_int_equal(b->in_flight_max, 1);
	bed_free(b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_idle),
		cmocka_unit_test(test_loss),
		cmocka_unit_test(test_silent),
		cmocka_unit_test(test_silent_in_parallel),
		cmocka_unit_test(test_one_device_lost),
		cmocka_unit_test(test_overload),
		cmocka_unit_test(test_halves_once),
		cmocka_unit_test(test_fair),
		cmocka_unit_test(test_target_window),
		cmocka_unit_test(test_strange_answers),
		cmocka_unit_test(test_wrong_tids),
		cmocka_unit_test(test_slow_device),
		cmocka_unit_test(test_busy_device),
		cmocka_unit_test(test_always_busy),
		cmocka_unit_test(test_busy_port),
		cmocka_unit_test(test_closed_port),
		cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_cancel_all),
		cmocka_unit_test(test_other_mads),
		cmocka_unit_test(test_directed_route),
		cmocka_unit_test(test_pump_yields),
		cmocka_unit_test(test_growth),
		cmocka_unit_test(test_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
