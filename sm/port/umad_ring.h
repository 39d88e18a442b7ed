/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PORT_UMAD_RING_H
#define PORT_UMAD_RING_H

#include "sm/port/port.h"

/*
 * Received messages on their way from one thread, which puts, to another, which takes. Each
 * function belongs to one side; umad_ring_empty() to both.
 */
struct umad_ring;

/* For `len` messages, a power of two. */
struct umad_ring *
umad_ring_new(unsigned len);
/* With what waits in it; neither side uses it any more. NULL is allowed. */
void
umad_ring_free(struct umad_ring *r);
bool
umad_ring_empty(const struct umad_ring *r);

/* ---- the side that puts ---- */

/* Room for one more, of `size` bytes in all; NULL: the ring is full, or too many bytes of long
 * messages wait in it. What the room holds is from before. */
struct port_mad *
umad_ring_room(struct umad_ring *r, size_t size);
/* The room is filled. A message longer than a MAD is in `held`, from mem_alloc(), which is the
 * ring's from here on; else NULL. */
void
umad_ring_put(struct umad_ring *r, void *held);

/* ---- the side that takes ---- */

/* The first message, which stays where it is until umad_ring_drop(); NULL: there is none. What
 * holds a long one is the caller's to free with mem_free(), through `held`; else NULL. */
const struct port_mad *
umad_ring_first(struct umad_ring *r, void **held);
void
umad_ring_drop(struct umad_ring *r);
/* Forget all that waits, while nobody puts. */
void
umad_ring_clear(struct umad_ring *r);

#endif
