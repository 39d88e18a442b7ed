/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_SNAPSHOT_H
#define CORE_SNAPSHOT_H

#include "sm/core/topo.h"

/* What a slice of a walk over the model looks at, about, where a device costs as much as some
 * ports: a millisecond's work or two, where nothing is in the processor's cache. */
#define SNAPSHOT_SLICE 2048u
#define SNAPSHOT_DEVICE 4u

/* The model as a snapshot: complete devices, links both of whose ends are up. */
const struct fabric *
snapshot_take(struct topo *t, const struct name_map *names, uint64_t generation);

/*
 * The same bit by bit. The model must outlive it, and may change in between. A fabric is built from
 * the builder (fabric_build(), on any thread), and then known to the model by snapshot_index().
 */
struct snapshot;
struct snapshot *
snapshot_new(struct topo *t);
/* The next slice; true: that was the last. */
bool
snapshot_slice(struct snapshot *sn, const struct name_map *names);
/* After the last: the caller's builder; frees the rest. */
struct fabric_builder *
snapshot_end(struct snapshot *sn);
void
snapshot_free(struct snapshot *sn);	/* NULL is allowed */
/* Tell devices which nodes of the snapshot they are, bit by bit from *at (0 at first) on; true: all
 * know. */
bool
snapshot_index(struct topo *t, const struct fabric *f, uint32_t *at);

/* The snapshot `f` with the states that its ports have now, bit by bit; cables are as they were. */
struct snapshot_states;
struct snapshot_states *
snapshot_states_new(const struct fabric *f);
bool
snapshot_states_slice(struct snapshot_states *st, const struct topo *t);
/* After the last slice: a reference of the caller's; frees the rest. */
const struct fabric *
snapshot_states_end(struct snapshot_states *st, uint64_t generation);
void
snapshot_states_free(struct snapshot_states *st);	/* NULL is allowed */

#endif
