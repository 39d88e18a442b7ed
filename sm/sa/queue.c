/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/sa/queue.h"

#include <string.h>
#include "sm/base/mem.h"

/*
 * Sources and their queues. A source is made when somebody asks for the first time, and forgotten
 * when others come, it has nothing to do, and no rate of its remembers it any more. So there are
 * about as many as asked within the last second.
 *
 * A rate needs one number: the time at which all events so far would have been due, had they come
 * evenly. It may run ahead of the clock by a second.
 */
#define BURST SEC(1)

void
sa_queue_init(struct sa_queue *q)
{
	memset(q, 0, sizeof(*q));
	list_init(&q->ring);
	list_init(&q->idle);
}

/* ---- Sources ---- */

static void
forget(struct sa_queue *q, struct sa_source *s)
{
	map_remove(&q->by_key, s->key);
	sa_slots_give(&q->all, s->number);
	list_remove(&s->link);
	q->sources--;
	mem_free(s);
}

/* Two for each one that comes, so that they become fewer. */
static void
forget_idle(struct sa_queue *q, monotime now)
{
	for (unsigned i = 0; i < 2 && !list_empty(&q->idle); i++) {
		struct sa_source *s = list_entry(q->idle.next, struct sa_source, link);

		if (s->asked > now || s->told > now)
			return;
		forget(q, s);
	}
}

static struct sa_source *
add(struct sa_queue *q, uint64_t key)
{
	struct sa_source *s = mem_zalloc(sizeof(*s));

	s->key = key;
	list_init(&s->waiting);
	list_init(&s->refused);
	list_init(&s->open);
	s->number = sa_slots_take(&q->all, s);
	map_set(&q->by_key, key, s->number);
	list_append(&q->idle, &s->link);
	q->sources++;
	return s;
}

static bool
is_idle(const struct sa_source *s)
{
	return !s->nwaiting && !s->nrefused && !s->nopen;
}

struct sa_source *
sa_queue_source(struct sa_queue *q, uint64_t key, monotime now)
{
	uint32_t number = map_get(&q->by_key, key);
	struct sa_source *s;

	if (number == MAP_NONE) {
		forget_idle(q, now);
		return add(q, key);
	}
	s = q->all.at[number];
	if (is_idle(s)) {
		list_remove(&s->link);
		list_append(&q->idle, &s->link);
	}
	return s;
}

bool
sa_queue_within(monotime *due, monotime now, unsigned rate)
{
	if (!rate)
		return true;
	if (*due < now)
		*due = now;
	if (*due + SEC(1) / rate > now + BURST)
		return false;
	*due += SEC(1) / rate;
	return true;
}

/* ---- What waits and what is open ---- */

static void
wake(struct sa_queue *q, struct sa_source *s)
{
	if (!is_idle(s))
		return;
	list_remove(&s->link);
	list_append(&q->ring, &s->link);
}

static void
rest(struct sa_queue *q, struct sa_source *s)
{
	if (!is_idle(s))
		return;
	list_remove(&s->link);
	list_append(&q->idle, &s->link);
}

bool
sa_queue_put(struct sa_queue *q, struct sa_source *s, const struct port_mad *m)
{
	unsigned most = q->waiting < SA_WAITING_MAX ? SA_WAITING_PER_SOURCE : SA_WAITING_FEW;
	size_t size = m->data ? port_mad_len(m) : 0;
	struct sa_waiting *w;

	if (s->nwaiting >= most || size > SA_WAITING_SIZE)
		return false;
	w = mem_alloc(sizeof(*w) + size);
	w->m = *m;
	if (size)
		memcpy(w->data, m->data, size);
	w->m.data = size ? w->data : NULL;
	wake(q, s);
	list_append(&s->waiting, &w->link);
	s->nwaiting++;
	q->waiting++;
	return true;
}

/* The first of a list of the source, of which one less is in it, and of all. */
static struct sa_waiting *
take(struct sa_queue *q, struct sa_source *s, struct list *from, unsigned *its, unsigned *all)
{
	struct list *first = list_pop(from);

	if (!first)
		return NULL;
	--*its;
	--*all;
	rest(q, s);
	return list_entry(first, struct sa_waiting, link);
}

struct sa_waiting *
sa_queue_take(struct sa_queue *q, struct sa_source *s)
{
	return take(q, s, &s->waiting, &s->nwaiting, &q->waiting);
}

bool
sa_queue_refuse(struct sa_queue *q, struct sa_source *s, const struct port_mad *m)
{
	struct sa_waiting *w;

	if (s->nrefused >= SA_REFUSED_PER_SOURCE || q->refused >= SA_REFUSED_MAX)
		return false;
	w = mem_alloc(sizeof(*w));
	w->m = *m;
	w->m.data = NULL;
	memcpy(w->m.mad, port_mad_bytes(m), sizeof(w->m.mad));
	wake(q, s);
	list_append(&s->refused, &w->link);
	s->nrefused++;
	q->refused++;
	return true;
}

struct sa_waiting *
sa_queue_take_refused(struct sa_queue *q, struct sa_source *s)
{
	return take(q, s, &s->refused, &s->nrefused, &q->refused);
}

void
sa_queue_open(struct sa_queue *q, struct sa_source *s, struct list *question)
{
	wake(q, s);
	list_append(&s->open, question);
	s->nopen++;
	q->open++;
}

void
sa_queue_close(struct sa_queue *q, struct sa_source *s, struct list *question)
{
	list_remove(question);
	s->nopen--;
	q->open--;
	rest(q, s);
}

struct sa_source *
sa_queue_next(struct sa_queue *q)
{
	struct list *first = list_pop(&q->ring);

	if (!first)
		return NULL;
	list_append(&q->ring, first);
	return list_entry(first, struct sa_source, link);
}

void
sa_queue_end(struct sa_queue *q)
{
	list_each(it, &q->ring) {
		struct sa_source *s = list_entry(it, struct sa_source, link);

		while (s->nwaiting)
			mem_free(sa_queue_take(q, s));
		while (s->nrefused)
			mem_free(sa_queue_take_refused(q, s));
	}
	list_each(it, &q->idle)
		forget(q, list_entry(it, struct sa_source, link));
	map_free(&q->by_key);
	sa_slots_end(&q->all);
}
