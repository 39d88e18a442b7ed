/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Transactions: requests, their answers and what else comes, on a virtual loop (transact_bed.h).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "tests/unit/transact_bed.h"

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

/* GMPs are paired with their answers as SMPs are. Hosts that answer SMPs and know nothing of the
 * class shrink the window, unless it was said that they may be silent. */
static void
check_silent_class(uint8_t gmp, bool uncertain)
{
	struct bed *b = bed_new(100, 60);
	unsigned window;

	for (unsigned i = 0; i < b->len; i++) {
		b->devices[i].left = 20;
		b->devices[i].delay = USEC(50);
	}
	bed_start(b);
	bed_run(b);
	window = b->window_min = transact_window(b->transact);
	b->gmp = gmp;
	b->uncertain = uncertain;
	b->idles = 0;
	b->idle = false;
	for (unsigned i = 0; i < b->len; i++) {
		b->devices[i].left = 1;
		if (i % 2)
			b->devices[i].silent_after = 0;
		transact_ready(b->transact, &b->devices[i].target);
	}
	bed_run(b);
	assert_int_equal(b->last.qp, 1);
	assert_int_equal(b->last.sl, 3);
	assert_int_equal(b->last.pkey_index, 2);
	assert_int_equal(b->last.remote_qp, 7);
	assert_int_equal(b->last.mad[1], gmp);
	assert_int_equal(b->last.mad[2], gmp == 0x21 ? 2 : 1);
	assert_int_equal(get_be(b->last.mad + 24, 8), 0x1234);
	assert_int_equal(b->done_total, 2100);
	assert_int_equal(transact_counters(b->transact)->timed_out, 50);
	assert_int_equal(transact_counters(b->transact)->sent[ATTR_NODE_INFO], 2000);
	if (uncertain)
		assert_int_equal(transact_window(b->transact), window);
	else
		assert_true(transact_window(b->transact) < window);
	bed_free(b);
}

static void
test_silent_class(void **state)
{
	(void)state;
	check_silent_class(MAD_CLASS_CONGESTION, false);
	check_silent_class(MAD_CLASS_CONGESTION, true);
	check_silent_class(MAD_CLASS_PERF, true);
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
	static const uint8_t whole[1000] = { 1, MAD_CLASS_SUBN_ADM, 2, MAD_GET_MULTI };
	struct port_mad gmp = { .mad = { 1, MAD_CLASS_SUBN_ADM, 2, MAD_GET_MULTI },
				.len = sizeof(whole), .qp = 1 };

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
	/* A long message is passed on with its data. */
	gmp.data = whole;
	transact_receive(b->transact, &gmp);
	assert_int_equal(b->others, 8);
	assert_ptr_equal(b->other_data, whole);
	assert_int_equal(b->other_len, sizeof(whole));
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

/* What route() says, and the first hop of the route it gives. */
struct turn_off {
	enum transact_way way;		/* the answer */
	uint8_t first;			/* out port */
	unsigned asked;			/* how often it was called */
	unsigned closed;		/* done() with ERR_CLOSED */
	unsigned answered;		/* done() with an answer */
	unsigned tries;			/* told with it */
	bool idle;			/* idle() came */
	unsigned left;			/* requests still to ask */
};

static bool
next_turn(void *arg, struct transact_target *t, struct transact_request *r)
{
	static const uint8_t path[] = { 0, 3, 17, 254 };
	struct turn_off *o = arg;

	(void)t;
	if (!o->left)
		return false;
	o->left--;
	r->method = MAD_GET;
	r->path = path;
	r->hops = 3;
	r->port = 7;
	r->attr_id = ATTR_PORT_INFO;
	return true;
}

static void
done_turn(void *arg, struct transact_target *t, const struct transact_result *r)
{
	struct turn_off *o = arg;

	(void)t;
	o->closed += r->error == ERR_CLOSED;
	o->answered += r->error == 0;
	o->tries = r->tries;
}

static enum transact_way
route_turn(void *arg, struct transact_target *t, uint8_t port, uint8_t path[SMP_MAX_HOPS + 1],
	   uint8_t *hops)
{
	struct turn_off *o = arg;

	(void)t;
	assert_int_equal(port, 7);
	if (!o->asked++) {
		assert_int_equal(*hops, 3);
		assert_memory_equal(path + 1, "\3\21\376", 3);
	}
	path[1] = o->first;
	*hops = 2;
	return o->way;
}

static void
idle_turn(void *arg)
{
	((struct turn_off *)arg)->idle = true;
}

/* The answer of the device to the MAD that was sent last. */
static void
answer_last(struct bed *b, const struct port_mad *m)
{
	struct port_mad r = answer_to(&b->devices[0], m);

	r.mad[3] = MAD_GET_RESP;
	transact_receive(b->transact, &r);
}

/* A cable went: the request goes another way at once, and only the answer to that counts. */
static void
test_reroute(void **state)
{
	static const struct port_ops port_ops = {
		.send = send_direct, .set_issm = bed_issm, .close = bed_port_close,
	};
	struct bed *b = bed_new(1, 1);
	struct turn_off o = { .left = 1 };
	const struct transact_ops ops = {
		.next = next_turn, .done = done_turn, .idle = idle_turn, .route = route_turn,
		.request = other, .arg = &o,
	};
	struct port_mad first;

	(void)state;
	b->port.ops = &port_ops;
	b->transact = transact_new(b->loop, &b->port, &b->o, &ops);
	transact_ready(b->transact, &b->devices[0].target);
	loop_run_until(b->loop, MSEC(1), NULL);
	first = b->last;
	o.way = TRANSACT_KEEP;
	transact_reroute(b->transact);
	assert_memory_equal(&first, &b->last, sizeof(first));
	o.way = TRANSACT_AGAIN;
	o.first = 9;
	transact_reroute(b->transact);
	assert_int_equal(o.asked, 2);
	assert_int_equal(b->last.mad[7], 2);
	assert_memory_equal(b->last.mad + 128, "\0\11\21\0", 4);
	assert_int_equal(transact_counters(b->transact)->rerouted, 1);
	answer_last(b, &first);
	assert_int_equal(o.answered, 0);
	answer_last(b, &b->last);
	assert_int_equal(o.answered, 1);
	assert_int_equal(o.tries, 1);
	loop_run_until(b->loop, MSEC(2), NULL);
	assert_true(o.idle);
	o.left = 1;
	o.way = TRANSACT_LOST;
	transact_ready(b->transact, &b->devices[0].target);
	loop_run_until(b->loop, MSEC(3), NULL);
	transact_reroute(b->transact);
	assert_int_equal(o.closed, 1);
	assert_true(transact_is_idle(b->transact));
	bed_free(b);
}

/* One answer that is in this process, but behind other work, when its deadline has passed. */
struct stall {
	struct bed *bed;		/* whose engine */
	struct port_mad request;	/* to be answered */
};

static struct stall stall;

static void
post_answer(void *arg)
{
	struct stall *s = arg;
	struct port_mad m = answer_to(&s->bed->devices[0], &s->request);

	transact_receive(s->bed->transact, &m);
}

/* Keep the loop's thread until long after the deadline, then let the answer queue up. */
static void
stand_still(void *arg)
{
	struct stall *s = arg;
	monotime until = loop_now(s->bed->loop) + MSEC(s->request.timeout_ms) + MSEC(100);

	while (loop_now(s->bed->loop) < until)
		continue;
	loop_post(s->bed->loop, post_answer, s);
}

static int
send_and_stall(struct port *p, const struct port_mad *m)
{
	stall.bed = (struct bed *)p;
	stall.request = *m;
	stall.bed->sends++;
	loop_post(stall.bed->loop, stand_still, &stall);
	return 0;
}

static void
test_stalled_loop(void **state)
{
	static const struct port_ops port_ops = {
		.send = send_and_stall, .set_issm = bed_issm, .close = bed_port_close,
	};
	struct bed *b = bed_new(1, 2);

	(void)state;
	loop_free(b->loop);
	b->loop = loop_new_event();
	b->port.ops = &port_ops;
	b->o.timeout = b->o.timeout_min = MSEC(10);
	b->o.window_start = 1;
	bed_start(b);
	bed_run(b);
	assert_int_equal(b->sends, 2);
	assert_int_equal(b->done_total, 2);
	assert_int_equal(transact_counters(b->transact)->retried, 0);
	bed_free(b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_idle),
		cmocka_unit_test(test_loss),
		cmocka_unit_test(test_silent_class),
		cmocka_unit_test(test_strange_answers),
		cmocka_unit_test(test_wrong_tids),
		cmocka_unit_test(test_busy_device),
		cmocka_unit_test(test_always_busy),
		cmocka_unit_test(test_busy_port),
		cmocka_unit_test(test_closed_port),
		cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_cancel_all),
		cmocka_unit_test(test_other_mads),
		cmocka_unit_test(test_directed_route),
		cmocka_unit_test(test_reroute),
		cmocka_unit_test(test_stalled_loop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
