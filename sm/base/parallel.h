/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_PARALLEL_H
#define BASE_PARALLEL_H

#include <stddef.h>

/*
 * Run fn(arg, thread, first, end) over [0, len) in slices of at most `grain`, on up to `threads`
 * threads (0 = one per core, 1 = inline). `thread` is 0..threads-1, for per-thread scratch.
 * Returns when all is done. The partition must not influence results: engines are deterministic.
 */
typedef void (*parallel_fn)(void *arg, unsigned thread, size_t first, size_t end);

unsigned
parallel_threads(unsigned threads);	/* what `threads` resolves to, 1..64 */
void
parallel_run(unsigned threads, size_t len, size_t grain, parallel_fn fn, void *arg);

#endif
