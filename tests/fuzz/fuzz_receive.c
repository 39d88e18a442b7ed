/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sm/base/loop.h"
#include "sm/port/transact.h"
#include "sm/wire/mad.h"

/*
 * Any MADs into the transactions. The input is a list of records: a control byte, and where that
 * says so up to MAD_SIZE bytes of a MAD. Control bits: 1 the transport reports a time-out, 2 the
 * record takes class, TID, attribute and modifier from an outstanding request (so that answers
 * that nearly fit are common), 4 time passes before it, 8 the next send finds the port busy,
 * 16 a target is cancelled, 32 the record has only 24 bytes.
 * Whatever comes, each request is done exactly once, and windows hold.
 */
#define TARGETS 4
#define ASKS 40
#define WINDOW 6

struct fuzz {
	struct port port;				/* fake; first */
	struct loop *loop;				/* virtual */
	struct transact *transact;			/* under test */
	struct transact_target targets[TARGETS];	/* all of the same kind */
	unsigned left;					/* requests to ask */
	unsigned asked;					/* given */
	unsigned done;					/* of these */
	uint8_t seen[ASKS];				/* per request */
	struct port_mad sent[16];			/* the last requests */
	unsigned sends;					/* how many were sent */
	bool busy;					/* refuse the next */
};

static void
must(bool holds)
{
	if (!holds)
		abort();
}

static int
fake_send(struct port *p, const struct port_mad *m)
{
	struct fuzz *f = (struct fuzz *)(void *)p;
	bool busy = f->busy;

	f->busy = false;
	if (busy)
		return ERR_BUSY;
	f->sent[f->sends++ % 16] = *m;
	return 0;
}

static int
fake_issm(struct port *p, bool on, struct error *e)
{
	(void)p;
	(void)on;
	(void)e;
	return 0;
}

static void
fake_close(struct port *p)
{
	(void)p;
}

static bool
next(void *arg, struct transact_target *t, struct transact_request *r)
{
	static const uint8_t path[] = { 0, 1, 2 };
	struct fuzz *f = arg;

	if (!f->left)
		return false;
	f->left--;
	r->method = f->asked % 3 ? MAD_GET : MAD_SET;
	r->lid = (uint16_t)(1 + (t - f->targets));
	r->path = f->asked % 2 ? path : NULL;
	r->hops = 2;
	r->attr_id = f->asked % 5 ? ATTR_NODE_INFO : ATTR_PORT_INFO;
	r->attr_mod = f->asked;
	r->cookie = f->asked++;
	must(f->asked - f->done <= WINDOW);
	return true;
}

static void
done(void *arg, struct transact_target *t, const struct transact_result *r)
{
	struct fuzz *f = arg;

	must(t >= f->targets && t < f->targets + TARGETS);
	must(r->cookie < f->asked && !f->seen[r->cookie]++);
	must(r->attr_mod == r->cookie && r->data);
	f->done++;
}

static void
idle(void *arg)
{
	struct fuzz *f = arg;

	must(f->asked == f->done);
}

static void
request(void *arg, const struct port_mad *m)
{
	(void)arg;
	must(m != NULL);
}

static void
imitate(const struct fuzz *f, struct port_mad *m, uint8_t choice)
{
	const struct port_mad *of = &f->sent[choice % 16];

	m->mad[0] = 1;
	m->mad[1] = of->mad[1];
	m->mad[3] = MAD_GET_RESP;
	memcpy(m->mad + 8, of->mad + 8, 16);
}

static void
take_record(struct fuzz *f, uint8_t control, const uint8_t *data, size_t size)
{
	struct port_mad m = { 0 };

	if (size)
		memcpy(m.mad, data, size);
	m.status = control & 1 ? ERR_TIMEOUT : 0;
	if (control & 2)
		imitate(f, &m, control >> 4 ^ (size ? data[0] : 0));
	if (control & 4)
		loop_run_until(f->loop, loop_now(f->loop) + MSEC(30), NULL);
	f->busy = control & 8;
	if (control & 16)
		transact_cancel(f->transact, &f->targets[control >> 6]);
	transact_receive(f->transact, &m);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct port_ops port_ops = { fake_send, fake_issm, fake_close };
	static const struct transact_options o = {
		.window_start = WINDOW, .window_max = WINDOW, .target_max = 3, .retries = 2,
		.timeout = MSEC(100), .timeout_min = MSEC(10),
	};
	struct fuzz f = { .port = { .ops = &port_ops, .up = true }, .left = ASKS };
	const struct transact_ops ops = { .next = next, .done = done, .idle = idle,
		.request = request, .arg = &f };

	f.loop = loop_new_virtual(1);
	f.transact = transact_new(f.loop, &f.port, &o, &ops);
	for (unsigned i = 0; i < TARGETS; i++) {
		transact_target_init(&f.targets[i]);
		transact_ready(f.transact, &f.targets[i]);
	}
	loop_run_until(f.loop, loop_now(f.loop) + MSEC(1), NULL);
	while (size) {
		uint8_t control = *data++;
		size_t len = control & 32 ? 24 : MAD_SIZE;

		size--;
		len = len < size ? len : size;
		take_record(&f, control, data, len);
		data += len;
		size -= len;
	}
	for (unsigned i = 0; i < TARGETS; i++)
		transact_ready(f.transact, &f.targets[i]);
	loop_run(f.loop);
	must(f.done == ASKS && transact_is_idle(f.transact));
	transact_free(f.transact);
	loop_free(f.loop);
	return 0;
}
