/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A point on, or a distance along, a monotonic clock, in nanoseconds. */
typedef int64_t monotime;

#define USEC(n) ((monotime)(n) * 1000)
#define MSEC(n) ((monotime)(n) * 1000000)
#define SEC(n) ((monotime)(n) * 1000000000)
#define MONOTIME_NEVER INT64_MAX

/* How long to leave alone what has failed so often in a row: `first` after the first failure (and
 * without any), twice as long after each further one, `max` at most. */
monotime
backoff_delay(monotime first, monotime max, unsigned failures);

/* The machine's clocks. Code below main() asks its loop (loop_now, loop_wall) instead. */
monotime
clock_monotonic(void);
int64_t
clock_wall(void);		/* microseconds since 1970-01-01 UTC */

monotime
clock_processor(void);		/* that this thread has had */

#define CLOCK_TEXT_SIZE 32
/* Wall microseconds as 2026-11-29T21:13:11.123Z; returns buf. */
const char *
clock_text(char buf[CLOCK_TEXT_SIZE], int64_t wall);

/* Such a text back; false if it is none. */
bool
clock_parse(const char *text, int64_t *wall);

#define DURATION_TEXT_SIZE 24
/* A duration for people: "850 us", "12.3 ms", "4.21 s", "3 min 20 s", "2 h 5 min"; returns buf. */
const char *
duration_text(char buf[DURATION_TEXT_SIZE], monotime d);

#endif
