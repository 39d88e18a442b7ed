/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include "sim/kernel/kernel_impl.h"
#include "sm/base/mem.h"

/*
 * RMPP for agents that ask for it: the state machines of rmpp.c, with an agent's messages, timers
 * and the fabric around them.
 *
 * A message that goes out is a struct kernel_sent with a struct rmpp_out; it is there until the
 * whole of it is acknowledged, and, if it is a request, until its answer has come. One that comes
 * in is a struct gather; when it has been handed on it stays for a while, to acknowledge segments
 * that are sent again. Requests in several segments whose answer has several too: the sender says
 * with an ACK of segment 0 that the direction changes (13.6.6.3). Times are Linux's.
 */
#define ACK_TIME_MS 2000u	/* for an acknowledgement, if the agent gave no shorter time */
#define TOTAL_TIME SEC(40)	/* for a whole message to come in */
#define LINGER_TIME SEC(10)	/* that a complete one is remembered */

struct gather {
	struct tid_node node;	/* in kernel_agent.gathers; first */
	struct kernel_agent *a;	/* whose message it is */
	struct loop_timer *timer;	/* to give up, then to forget */
	struct rmpp_in in;	/* the message */
	struct model_mad *first;	/* its first segment, until it is complete; owned */
	uint16_t lid;		/* where it comes from */
	uint8_t kind[3];	/* management class, class version, method */
};

/* ---- Answers of the protocol itself ---- */

/* From the receiver of `m` to its sender: the same headers, with these fields. */
static void
reply(struct kernel_agent *a, const struct model_mad *m, const struct rmpp_header *what)
{
	struct kernel_mad to;
	struct rmpp_header h;
	uint8_t mad[MAD_SIZE] = { 0 };

	memcpy(mad, m->mad, rmpp_data_offset(m->mad[1]));
	mad[3] ^= MAD_RESPONSE;
	rmpp_header_decode(&h, m->mad);
	h.version = RMPP_VERSION;
	h.type = what->type;
	h.flags = RMPP_ACTIVE;
	h.status = what->status;
	h.segment = what->segment;
	h.value = what->value;
	rmpp_header_encode(&h, mad);
	kernel_sender(&to, a->p, m);
	kernel_emit(a, &to, mad);
}

static void
refuse(struct kernel_agent *a, const struct model_mad *m, enum rmpp_status status)
{
	reply(a, m, &(struct rmpp_header){ .type = RMPP_ABORT, .status = (uint8_t)status });
}

static void
acknowledge(struct gather *g, const struct model_mad *m)
{
	struct rmpp_header h = { .type = RMPP_ACK };

	rmpp_in_ack(&g->in, &h);
	reply(g->a, m, &h);
}

/* ---- Out ---- */

static void
pump(struct kernel_sent *s)
{
	uint32_t ms = s->to.timeout_ms;
	uint8_t mad[MAD_SIZE];

	loop_timer_set(s->timer, MSEC(ms && ms < ACK_TIME_MS ? ms : ACK_TIME_MS));
	while (rmpp_out_next(s->out, mad))
		kernel_emit(s->a, &s->to, mad);
}

/* The window that the other side gave when the direction changed; 1 if it did not. */
static uint32_t
first_window(const struct kernel_agent *a, const struct kernel_mad *m, const uint8_t *mad)
{
	if (!(mad[3] & MAD_RESPONSE))
		return 1;
	for (struct tid_node *n = tids_first(&a->gathers, tid_of(mad)); n; n = tids_next(n)) {
		const struct gather *g = (const struct gather *)n;

		if (!memcmp(g->kind, mad + 1, 2) && !(g->kind[2] & MAD_RESPONSE) &&
		    g->lid == m->lid)
			return g->in.reply_window;
	}
	return 1;
}

void
kernel_rmpp_send(struct kernel_agent *a, const struct kernel_mad *m, const uint8_t mad[MAD_SIZE])
{
	struct kernel_sent *s = kernel_sent_add(a, m, mad);
	uint8_t *data = mem_alloc(m->len);

	memcpy(data, m->data, m->len);
	memcpy(data, mad, MAD_HEADER_SIZE);
	memset(data + MAD_HEADER_SIZE, 0, RMPP_HEADER_SIZE);
	a->out_bytes += m->len;
	s->out = mem_zalloc(sizeof(*s->out));
	rmpp_out_start(s->out, data, m->len, first_window(a, m, mad));
	pump(s);
}

bool
kernel_rmpp_again(struct kernel_sent *s)
{
	if (rmpp_out_done(s->out))
		return false;
	rmpp_out_rewind(s->out);
	pump(s);
	return true;
}

void
kernel_rmpp_end(struct kernel_sent *s)
{
	s->a->out_bytes -= s->out->len;
	rmpp_out_free(s->out);
	mem_free(s->out);
	s->out = NULL;
}

/* The other side will have no more of it. As with Linux, the agent does not hear of that. */
static void
stop_sending(struct kernel_agent *a, const struct model_mad *m)
{
	struct kernel_sent *s = kernel_sent_find(a, m);

	if (s && s->out && !rmpp_out_done(s->out))
		kernel_sent_end(s);
}

static void
stop_both(struct kernel_agent *a, const struct model_mad *m, enum rmpp_status status)
{
	stop_sending(a, m);
	refuse(a, m, status);
}

/* Now the other side may answer, with one segment at first. */
static void
turn_round(struct kernel_agent *a, const struct model_mad *m)
{
	reply(a, m, &(struct rmpp_header){ .type = RMPP_ACK, .value = 1 });
}

static void
all_arrived(struct kernel_sent *s, const struct model_mad *m)
{
	if (!s->to.timeout_ms) {
		kernel_sent_end(s);
		return;
	}
	loop_timer_set(s->timer, MSEC(s->to.timeout_ms));
	turn_round(s->a, m);
}

static struct gather *
find_gather(const struct kernel_agent *a, const struct model_mad *m)
{
	for (struct tid_node *n = tids_first(&a->gathers, tid_of(m->mad)); n; n = tids_next(n)) {
		struct gather *g = (struct gather *)n;

		if (g->lid == m->lid && !memcmp(g->kind, m->mad + 1, sizeof(g->kind)))
			return g;
	}
	return NULL;
}

/* An acknowledgement of nothing that is sent: the direction changes. */
static void
on_turn(const struct kernel_agent *a, const struct model_mad *m, const struct rmpp_header *h)
{
	struct gather *g = h->segment ? NULL : find_gather(a, m);

	if (g && g->in.complete)
		g->in.reply_window = h->value;
}

static void
on_ack(struct kernel_agent *a, const struct model_mad *m, const struct rmpp_header *h)
{
	struct kernel_sent *s = kernel_sent_find(a, m);
	uint32_t acked;

	if (h->status || h->value < h->segment) {
		stop_both(a, m, h->status ? RMPP_BAD_STATUS : RMPP_WINDOW_SMALL);
		return;
	}
	if (!s) {
		on_turn(a, m, h);
		return;
	}
	if (!s->out || rmpp_out_done(s->out)) {
		if (h->segment)
			turn_round(a, m);
		return;
	}
	acked = s->out->acked;
	switch (rmpp_out_ack(s->out, h->segment, h->value)) {
	case RMPP_HEARD_BAD:
		stop_both(a, m, RMPP_SEGMENT_BIG);
		return;
	case RMPP_HEARD_ALL:
		all_arrived(s, m);
		return;
	case RMPP_HEARD_MORE:
		if (s->out->acked > acked)
			s->tries = s->to.retries;
		if (s->out->sent < s->out->window)
			pump(s);
		return;
	case RMPP_HEARD_OLD:
		return;
	}
}

/* ---- In ---- */

static void
gather_free(struct gather *g)
{
	g->a->in_bytes -= sizeof(*g) + g->in.size;
	tids_remove(&g->a->gathers, &g->node);
	loop_timer_free(g->timer);
	rmpp_in_free(&g->in);
	mem_free(g->first);
	mem_free(g);
}

void
kernel_rmpp_end_all(struct kernel_agent *a)
{
	struct tid_node *n;
	uint32_t from = 0;

	while ((n = tids_any(&a->gathers, &from)))
		gather_free((struct gather *)n);
	tids_free(&a->gathers);
}

static void
on_timer(void *arg)
{
	struct gather *g = arg;

	if (!g->in.complete)
		refuse(g->a, g->first, RMPP_TOO_LONG);
	gather_free(g);
}

static struct gather *
gather_new(struct kernel_agent *a, const struct model_mad *m)
{
	struct gather *g = mem_zalloc(sizeof(*g));

	g->a = a;
	g->first = mem_alloc(sizeof(*g->first));
	*g->first = *m;
	g->lid = m->lid;
	memcpy(g->kind, m->mad + 1, sizeof(g->kind));
	g->node.tid = tid_of(m->mad);
	g->timer = loop_timer_new(a->p->k->loop, on_timer, g);
	loop_timer_set(g->timer, TOTAL_TIME);
	tids_add(&a->gathers, &g->node);
	a->in_bytes += sizeof(*g);
	return g;
}

static enum rmpp_took
take(struct kernel_agent *a, const struct model_mad *m, const struct rmpp_header *h,
     struct gather **gather)
{
	struct gather *g = *gather = find_gather(a, m);
	size_t before = g ? g->in.size : 0;
	enum rmpp_took took;

	if (!g && h->segment != 1)
		return RMPP_TOOK_NOTHING;
	if (g) {
		took = rmpp_in_take(&g->in, h, m->mad);
	} else {
		g = *gather = gather_new(a, m);
		took = rmpp_in_start(&g->in, h, m->mad);
	}
	a->in_bytes += g->in.size - before;
	return took != RMPP_TOOK_ALL && a->in_bytes > LONG_BYTES_MAX ? RMPP_TOOK_TOO_MUCH : took;
}

/* The message, taken out of the gather, which stays for a while. */
static uint8_t *
hand_over(struct gather *g, struct kernel_mad *in)
{
	uint8_t *data = g->in.data;

	loop_timer_set(g->timer, LINGER_TIME);
	in->data = data;
	in->len = g->in.len;
	g->a->in_bytes -= g->in.size;
	g->in.data = NULL;
	g->in.size = 0;
	mem_free(g->first);
	g->first = NULL;
	return data;
}

static uint8_t *
on_data(struct kernel_agent *a, const struct model_mad *m, const struct rmpp_header *h,
	struct kernel_mad *in)
{
	struct gather *g;

	if (h->status || (h->segment == 1) != !!(h->flags & RMPP_FIRST)) {
		refuse(a, m, h->status ? RMPP_BAD_STATUS : RMPP_BAD_SEGMENT);
		return NULL;
	}
	switch (take(a, m, h, &g)) {
	case RMPP_TOOK_NOTHING:
		break;
	case RMPP_TOOK_ACK:
		acknowledge(g, m);
		break;
	case RMPP_TOOK_ALL:
		acknowledge(g, m);
		return hand_over(g, in);
	case RMPP_TOOK_TOO_MUCH:
		reply(a, m, &(struct rmpp_header){ .type = RMPP_STOP,
						   .status = RMPP_NO_RESOURCES });
		gather_free(g);
		break;
	}
	return NULL;
}

static void
on_stop(struct kernel_agent *a, const struct model_mad *m, const struct rmpp_header *h)
{
	bool known = h->type == RMPP_STOP ? h->status == RMPP_NO_RESOURCES :
		h->status >= RMPP_TOO_LONG && h->status <= RMPP_ABORT_LAST;

	stop_sending(a, m);
	if (!known)
		refuse(a, m, RMPP_BAD_STATUS);
}

uint8_t *
kernel_rmpp_receive(struct kernel_agent *a, const struct model_mad *m, struct kernel_mad *in)
{
	struct rmpp_header h;

	rmpp_header_decode(&h, m->mad);
	if (h.version != RMPP_VERSION) {
		stop_both(a, m, RMPP_BAD_VERSION);
		return NULL;
	}
	switch (h.type) {
	case RMPP_DATA:
		return on_data(a, m, &h, in);
	case RMPP_ACK:
		on_ack(a, m, &h);
		break;
	case RMPP_STOP:
	case RMPP_ABORT:
		on_stop(a, m, &h);
		break;
	default:
		stop_both(a, m, RMPP_BAD_TYPE);
		break;
	}
	return NULL;
}
