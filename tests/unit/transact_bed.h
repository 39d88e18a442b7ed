/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_TRANSACT_BED_H
#define TESTS_TRANSACT_BED_H

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

/*
 * A bed for tests of transactions: a virtual loop, a port, and devices behind it.
 *
 * The port knows devices by LID; each answers after its own delay, or loses, doubles, damages or
 * withholds answers. It checks what the kernel would: a time-out on each request, no TID twice; and
 * puts an agent number into the high half of the TID. Each test drives a bed: devices, a target
 * for each, and a number of requests to ask, each of which must be done exactly once.
 */

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
	bool reports;			/* reports time-outs, as the kernel does */
	unsigned refuse;		/* so many sends get ERR_BUSY */
	int send_error;			/* or all get this */
	monotime service;		/* each answer passes one queue for so long */
	monotime served;		/* until when it is occupied */
	struct list flights;		/* answers on their way */
	struct map tids;		/* TIDs that were used */
	uint64_t sends;			/* accepted by the port */
	unsigned in_flight;		/* next() without done() */
	unsigned in_flight_max;		/* highest seen */
	unsigned window_min;		/* lowest transact_window() seen */
	unsigned air;			/* MADs in flights */
	unsigned air_max;		/* highest seen */
	unsigned idles;			/* idle() calls */
	unsigned others;		/* request() calls */
	const uint8_t *other_data;	/* of the last of these */
	uint32_t other_len;		/* of the last of these */
	bool idle;			/* idle() came */
	unsigned tries_max;		/* highest seen in a result */
	monotime healthy_at;		/* last answer that was no error */
	bool fair;			/* check strict turns */
	uint8_t gmp;			/* ask GMPs of this class, */
	bool uncertain;			/* whose loss says nothing */
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

static inline void
free_flight(struct flight *f)
{
	f->bed->air--;
	list_remove(&f->link);
	loop_timer_free(f->timer);
	mem_free(f);
}

static inline void
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

static inline void
fly(struct bed *b, const struct port_mad *m, monotime delay)
{
	struct flight *f = mem_zalloc(sizeof(*f));

	f->bed = b;
	f->m = *m;
	f->timer = loop_timer_new(b->loop, arrive, f);
	loop_timer_set(f->timer, delay);
	list_append(&b->flights, &f->link);
	if (++b->air > b->air_max)
		b->air_max = b->air;
}

static inline uint64_t
get_be(const uint8_t *p, unsigned n)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < n; i++)
		v = v << 8 | p[i];
	return v;
}

static inline void
put_be(uint8_t *p, unsigned n, uint64_t v)
{
	for (unsigned i = 0; i < n; i++)
		p[i] = (uint8_t)(v >> 8 * (n - 1 - i));
}

/* The answer to `m`: GetResp, same TID, attribute and modifier; data tell device and modifier. */
static inline struct port_mad
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

static inline void
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

static inline void
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

static inline bool
answers(struct bed *b, struct device *d)
{
	if (d->heard++ >= d->silent_after)
		return false;
	return loop_random(b->loop) % 100 >= d->loss;
}

static inline void
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

static inline int
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

static inline int
bed_issm(struct port *p, bool on, struct error *e)
{
	(void)p;
	(void)on;
	(void)e;
	return 0;
}

static inline void
bed_port_close(struct port *p)
{
	(void)p;
}

/* ---- the owner ---- */

static inline struct device *
device_of(struct transact_target *t)
{
	return (struct device *)(void *)((char *)t - offsetof(struct device, target));
}

static inline void
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

static inline bool
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
	r->gmp = b->gmp;
	r->uncertain = b->uncertain;
	r->sl = 3;
	r->pkey_index = 2;
	r->remote_qp = 7;
	r->m_key = 0x1234;
	d->asked++;
	if (++b->in_flight > b->in_flight_max)
		b->in_flight_max = b->in_flight;
	assert_true(b->in_flight <= b->o.window_max);
	check_turns(b);
	return true;
}

static inline void
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

static inline void
idle(void *arg)
{
	struct bed *b = arg;

	assert_int_equal(b->in_flight, 0);
	assert_true(transact_is_idle(b->transact));
	b->idles++;
	b->idle = true;
}

static inline void
other(void *arg, const struct port_mad *m)
{
	struct bed *b = arg;

	b->others++;
	b->other_data = m->data;
	b->other_len = m->len;
}

/* ---- the bed ---- */

static inline struct bed *
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
static inline void
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
static inline monotime
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

static inline void
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

#endif
