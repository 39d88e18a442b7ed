/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A ring between two threads without a lock: `head` is moved by the one that puts, `tail` by the
 * one that takes, and an entry belongs to the one side or the other by where these stand.
 *
 * A long message is kept in the memory that it was read into; of these no more than BACKLOG_MAX
 * bytes wait, beside one message, so that a flood of them stays in the kernel's queue.
 */
#include "sm/port/umad_ring.h"

#include <stdatomic.h>
#include "sm/base/mem.h"

#define BACKLOG_MAX (64u << 20)	/* bytes of long messages that wait, beside one */

struct entry {
	struct port_mad m;	/* as the owner of the port gets it */
	void *held;		/* what holds a long message; NULL: none, or it was taken */
};

struct umad_ring {
	atomic_uint head;	/* next entry to fill: of the side that puts */
	atomic_uint tail;	/* next entry to take: of the side that takes */
	atomic_uint backlog;	/* bytes of long messages that wait */
	unsigned len;		/* entries, a power of two */
	struct entry entries[];	/* number i at i % len */
};

struct umad_ring *
umad_ring_new(unsigned len)
{
	struct umad_ring *r = mem_zalloc(sizeof(*r) + len * sizeof(r->entries[0]));

	r->len = len;
	return r;
}

void
umad_ring_free(struct umad_ring *r)
{
	if (!r)
		return;
	umad_ring_clear(r);
	mem_free(r);
}

bool
umad_ring_empty(const struct umad_ring *r)
{
	return atomic_load(&r->head) == atomic_load(&r->tail);
}

struct port_mad *
umad_ring_room(struct umad_ring *r, size_t size)
{
	unsigned head = atomic_load_explicit(&r->head, memory_order_relaxed);
	size_t backlog = atomic_load(&r->backlog);

	if (head - atomic_load_explicit(&r->tail, memory_order_acquire) >= r->len)
		return NULL;
	if (size > MAD_SIZE && backlog && backlog + size > BACKLOG_MAX)
		return NULL;
	return &r->entries[head % r->len].m;
}

void
umad_ring_put(struct umad_ring *r, void *held)
{
	unsigned head = atomic_load_explicit(&r->head, memory_order_relaxed);
	struct entry *e = &r->entries[head % r->len];

	e->held = held;
	if (held)
		atomic_fetch_add(&r->backlog, e->m.len);
	atomic_store_explicit(&r->head, head + 1, memory_order_release);
}

const struct port_mad *
umad_ring_first(struct umad_ring *r, void **held)
{
	unsigned tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
	struct entry *e = &r->entries[tail % r->len];

	if (tail == atomic_load_explicit(&r->head, memory_order_acquire))
		return NULL;
	*held = e->held;
	e->held = NULL;
	if (*held)
		atomic_fetch_sub(&r->backlog, e->m.len);
	return &e->m;
}

void
umad_ring_drop(struct umad_ring *r)
{
	unsigned tail = atomic_load_explicit(&r->tail, memory_order_relaxed);

	atomic_store_explicit(&r->tail, tail + 1, memory_order_release);
}

void
umad_ring_clear(struct umad_ring *r)
{
	void *held;

	while (umad_ring_first(r, &held)) {
		mem_free(held);
		umad_ring_drop(r);
	}
}
