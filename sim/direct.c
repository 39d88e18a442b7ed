/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/direct.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "sm/base/list.h"
#include "sm/base/map.h"
#include "sm/base/mem.h"

/*
 * A port of a simulated device as a transport.
 *
 * A struct direct is a client of the model. Requests that expect an answer wait in a list, the
 * first to time out in front, and are found by their transaction id; one timer watches the front.
 * A callback may close the port: whoever calls one looks at `gone` before touching the port again.
 */
struct waiting {
	struct list link;	/* in direct.waiting, by deadline, or direct.spare */
	monotime deadline;	/* when the request comes back */
	uint64_t tid;		/* as on the wire */
	struct port_mad mad;	/* what comes back */
	uint32_t slot;		/* its index in direct.slots */
};

struct direct {
	struct port port;		/* first: this is a struct port */
	struct loop *loop;		/* the model's */
	struct model *m;		/* the fabric */
	struct model_client *client;	/* the attachment */
	struct port_events ev;		/* whom to tell */
	struct loop_timer *timer;	/* for the first deadline */
	struct loop_timer *first_state;	/* tells the state at first */
	struct list waiting;		/* requests without answer */
	struct list spare;		/* slots to be used again */
	struct waiting **slots;		/* nslots, by index */
	uint32_t nslots;		/* allocated */
	struct map by_tid;		/* TID to slot */
	uint64_t unsolicited;		/* responses dropped */
	uint32_t node;			/* where it is attached */
	bool *gone;			/* set on close, while a callback runs */
};

static struct direct *
direct_of(struct port *p)
{
	return (struct direct *)(void *)p;
}

static uint64_t
tid_of(const uint8_t *mad)
{
	uint64_t tid = 0;

	for (unsigned i = 8; i < 16; i++)
		tid = tid << 8 | mad[i];
	return tid;
}

static struct waiting *
waiting_new(struct direct *d)
{
	struct waiting *w;

	if (!list_empty(&d->spare))
		return list_entry(list_pop(&d->spare), struct waiting, link);
	w = mem_zalloc(sizeof(*w));
	list_init(&w->link);
	d->slots = mem_realloc(d->slots, d->nslots + 1u, sizeof(struct waiting *));
	w->slot = d->nslots;
	d->slots[d->nslots++] = w;
	return w;
}

static void
waiting_end(struct direct *d, struct waiting *w)
{
	map_remove(&d->by_tid, w->tid);
	list_remove(&w->link);
	list_append(&d->spare, &w->link);
}

/* Deadlines mostly come in order, so the place is near the end. */
static void
wait_for_answer(struct direct *d, const struct port_mad *mad, uint64_t tid)
{
	struct waiting *w = waiting_new(d);
	struct list *after = d->waiting.prev;

	w->tid = tid;
	w->mad = *mad;
	w->deadline = loop_now(d->loop) + MSEC(mad->timeout_ms);
	while (after != &d->waiting &&
	       list_entry(after, struct waiting, link)->deadline > w->deadline)
		after = after->prev;
	list_append(after->next, &w->link);
	map_set(&d->by_tid, tid, w->slot);
	if (d->waiting.next == &w->link)
		loop_timer_set(d->timer, MSEC(mad->timeout_ms));
}

static int
direct_send(struct port *p, const struct port_mad *mad)
{
	struct direct *d = direct_of(p);
	uint64_t tid = tid_of(mad->mad);
	struct model_mad out;

	if (!p->up)
		return ERR_CLOSED;
	if (mad->timeout_ms) {
		if (map_get(&d->by_tid, tid) != MAP_NONE)
			return ERR_BUSY;
		wait_for_answer(d, mad, tid);
	}
	memcpy(out.mad, mad->mad, MAD_SIZE);
	out.lid = mad->lid;
	out.qp = mad->qp;
	out.sl = mad->sl;
	out.pkey_index = mad->pkey_index;
	model_send(d->client, &out);
	return 0;
}

static void
on_receive(void *arg, const struct model_mad *mad)
{
	struct direct *d = arg;
	struct port_mad in = {
		.lid = mad->lid, .qp = mad->qp, .sl = mad->sl, .remote_qp = mad->qp,
		.pkey_index = mad->pkey_index,
	};

	if (mad->mad[3] & MAD_RESPONSE) {
		uint32_t slot = map_get(&d->by_tid, tid_of(mad->mad));

		if (slot == MAP_NONE) {
			d->unsolicited++;
			return;
		}
		waiting_end(d, d->slots[slot]);
	}
	memcpy(in.mad, mad->mad, MAD_SIZE);
	d->ev.receive(d->ev.arg, &in);
}

static void
on_timer(void *arg)
{
	struct direct *d = arg;
	bool gone = false;

	d->gone = &gone;
	while (!list_empty(&d->waiting)) {
		struct waiting *w = list_entry(d->waiting.next, struct waiting, link);
		monotime left = w->deadline - loop_now(d->loop);
		struct port_mad mad;

		if (left > 0) {
			loop_timer_set(d->timer, left);
			break;
		}
		mad = w->mad;
		mad.status = ERR_TIMEOUT;
		waiting_end(d, w);
		d->ev.receive(d->ev.arg, &mad);
		if (gone)
			return;
	}
	d->gone = NULL;
}

static void
tell_state(struct direct *d, bool up)
{
	char why[160];

	d->port.up = up;
	snprintf(why, sizeof(why), "the cable of port %u of %.64s %s", d->port.id.number,
		 model_ibnet(d->m)->nodes[d->node].name, up ? "is in order" : "carries no signal");
	d->ev.state(d->ev.arg, up, why);
}

static void
on_link(void *arg, bool up)
{
	struct direct *d = arg;

	if (up != d->port.up)
		tell_state(d, up);
}

/* A port that is down from the start is told too. */
static void
on_first_state(void *arg)
{
	struct direct *d = arg;

	if (!d->port.up)
		tell_state(d, model_link_is_up(d->m, d->node, d->port.id.number));
}

static int
direct_set_issm(struct port *p, bool on, struct error *e)
{
	(void)e;
	model_set_issm(direct_of(p)->client, on);
	return 0;
}

static void
direct_close(struct port *p)
{
	struct direct *d = direct_of(p);

	if (d->gone)
		*d->gone = true;
	model_detach(d->client);
	loop_timer_free(d->timer);
	loop_timer_free(d->first_state);
	for (uint32_t i = 0; i < d->nslots; i++)
		mem_free(d->slots[i]);
	mem_free(d->slots);
	map_free(&d->by_tid);
	mem_free(d);
}

static const struct port_ops direct_ops = {
	.send = direct_send,
	.set_issm = direct_set_issm,
	.close = direct_close,
};

int
direct_open(struct port **p, struct model *m, uint32_t node, unsigned port,
	    const struct port_events *ev, struct error *e)
{
	struct direct *d = mem_zalloc(sizeof(*d));
	struct model_client_events events = { .receive = on_receive, .link = on_link, .arg = d };

	*p = NULL;
	d->client = model_attach(m, node, port, &events);
	if (!d->client) {
		mem_free(d);
		return error_set(e, ERR_NOT_FOUND, "the simulated fabric has no free end port %u "
				 "on node %" PRIu32, port, node);
	}
	d->port.ops = &direct_ops;
	d->m = m;
	d->node = node;
	d->ev = *ev;
	d->loop = model_loop(m);
	list_init(&d->waiting);
	list_init(&d->spare);
	snprintf(d->port.id.name, sizeof(d->port.id.name), "%.54s:%u",
		 model_ibnet(m)->nodes[node].name, port);
	d->port.id.guid = model_port_guid(m, node, port);
	d->port.id.number = (uint8_t)port;
	d->timer = loop_timer_new(d->loop, on_timer, d);
	d->first_state = loop_timer_new(d->loop, on_first_state, d);
	loop_timer_set(d->first_state, 0);
	*p = &d->port;
	return 0;
}

uint64_t
direct_unsolicited(const struct port *p)
{
	return ((const struct direct *)(const void *)p)->unsolicited;
}
