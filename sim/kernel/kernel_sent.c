/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <string.h>
#include "sim/kernel/kernel_impl.h"
#include "sm/base/mem.h"

/*
 * Messages that were sent and wait: for a response, or for their time-out.
 *
 * Each has a timer of its own; a timer that is set again costs next to nothing, so they stay with
 * the objects, which are used over and over. When a timer has fired `tries` times more than it
 * should, the message's first 24 bytes go back to the agent with ETIMEDOUT.
 */
#define CLASS_BM 0x05		/* baseboard management */
#define BM_RESPONSE 0x01	/* bit of its attribute modifier's last byte */

bool
kernel_is_response(const uint8_t *mad)
{
	return mad[3] & MAD_RESPONSE || mad[3] == MAD_TRAP_REPRESS ||
		(mad[1] == CLASS_BM && mad[23] & BM_RESPONSE);
}

static bool
same_destination(const struct kernel_mad *a, const struct kernel_mad *b)
{
	if (a->grh != b->grh)
		return false;
	return a->grh ? !memcmp(a->gid, b->gid, sizeof(a->gid)) : a->lid == b->lid;
}

bool
kernel_sent_twice(const struct kernel_agent *a, const struct kernel_mad *m, const uint8_t *mad)
{
	bool response = kernel_is_response(mad);

	for (struct tid_node *n = tids_first(&a->sent, tid_of(mad)); n; n = tids_next(n)) {
		const struct kernel_sent *s = (const struct kernel_sent *)n;

		if (s->mad[1] != mad[1] || kernel_is_response(s->mad) != response)
			continue;
		if (!response || same_destination(&s->to, m))
			return true;
	}
	return false;
}

/* ---- Life ---- */

static void
give_up(struct kernel_sent *s)
{
	struct kernel_agent *a = s->a;
	struct kernel_mad back = s->to;
	uint8_t header[MAD_HEADER_SIZE];

	memcpy(header, s->mad, sizeof(header));
	back.data = header;
	back.len = sizeof(header);
	back.status = ETIMEDOUT;
	kernel_sent_end(s);
	a->ev.receive(a->ev.arg, &back);
}

static void
on_timer(void *arg)
{
	struct kernel_sent *s = arg;

	if (!s->tries) {
		give_up(s);
		return;
	}
	s->tries--;
	if (s->out) {
		if (!kernel_rmpp_again(s))
			give_up(s);
		return;
	}
	loop_timer_set(s->timer, MSEC(s->to.timeout_ms));
	kernel_emit(s->a, &s->to, s->mad);
}

static struct kernel_sent *
take_spare(struct kernel *k)
{
	struct kernel_sent *s = k->spare;

	if (s) {
		k->spare = (struct kernel_sent *)s->node.next;
		return s;
	}
	s = mem_zalloc(sizeof(*s));
	s->timer = loop_timer_new(k->loop, on_timer, s);
	return s;
}

struct kernel_sent *
kernel_sent_add(struct kernel_agent *a, const struct kernel_mad *m, const uint8_t mad[MAD_SIZE])
{
	struct kernel_sent *s = take_spare(a->p->k);

	s->a = a;
	s->to = *m;
	s->to.data = NULL;
	s->tries = m->retries;
	memcpy(s->mad, mad, m->retries ? MAD_SIZE : MAD_HEADER_SIZE);
	s->node.tid = tid_of(mad);
	tids_add(&a->sent, &s->node);
	loop_timer_set(s->timer, MSEC(m->timeout_ms));
	return s;
}

void
kernel_sent_end(struct kernel_sent *s)
{
	struct kernel *k = s->a->p->k;

	if (s->out)
		kernel_rmpp_end(s);
	loop_timer_cancel(s->timer);
	tids_remove(&s->a->sent, &s->node);
	s->node.next = (struct tid_node *)k->spare;
	k->spare = s;
}

void
kernel_sent_end_all(struct kernel_agent *a)
{
	struct tid_node *n;
	uint32_t from = 0;

	while ((n = tids_any(&a->sent, &from)))
		kernel_sent_end((struct kernel_sent *)n);
	tids_free(&a->sent);
}

void
kernel_sent_free(struct kernel *k)
{
	struct kernel_sent *s;

	while ((s = k->spare)) {
		k->spare = (struct kernel_sent *)s->node.next;
		loop_timer_free(s->timer);
		mem_free(s);
	}
}

/* ---- Responses ---- */

static bool
same_ends(const struct kernel_sent *s, const struct model_mad *mad)
{
	bool sent = kernel_is_response(s->mad), came = kernel_is_response(mad->mad);

	if (mad->mad[1] == MAD_CLASS_SUBN_DIRECT)
		return true;
	return sent != came && kernel_same_ends(s->a->p, &s->to, mad, came);
}

struct kernel_sent *
kernel_sent_find(const struct kernel_agent *a, const struct model_mad *mad)
{
	for (struct tid_node *n = tids_first(&a->sent, tid_of(mad->mad)); n; n = tids_next(n)) {
		struct kernel_sent *s = (struct kernel_sent *)n;

		if (s->mad[1] == mad->mad[1] && same_ends(s, mad))
			return s;
	}
	return NULL;
}
