/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From readings of a port's error counters to what is too much (IBA volume 1, 16.1.3.5).
 *
 * Errors are counted from reading to reading, in windows of a minute or, where readings are further
 * apart, of one reading: as many may come in each minute as are allowed, and in the first minute of
 * a window no fewer, so that readings that are close to each other make no high rate of one error.
 * A counter that reads less than before was cleared, or its device restarted: what it shows then is
 * what came since. Counters of PortCounters stop when they are full, in 4, 8 or 16 bits: one that
 * was below before tells of a rise, and one that was full already of nothing but that, at each
 * reading. What is past such a mark when it is read first is told as if it was full.
 */
#include "sm/core/counting_i.h"

#include <stdio.h>
#include <string.h>

#define MINUTE SEC(60)
#define SCALE 16u		/* of a score */

static uint32_t
add_up(uint32_t a, uint64_t b)
{
	return b > UINT32_MAX - a ? UINT32_MAX : a + (uint32_t)b;
}

/* A kind with a higher score, or the first one at all, takes the finding. */
static bool
take(struct error_finding *f, bool any, enum perf_error kind, uint32_t score)
{
	if (any && score <= f->score)
		return false;
	f->kind = kind;
	f->score = score;
	f->full = !score;
	return true;
}

static uint32_t
score_of(uint64_t count, uint64_t allowed)
{
	uint64_t score = count * SCALE / allowed;

	return score > UINT32_MAX ? UINT32_MAX : (uint32_t)score;
}

bool
counting_judge(struct port_errors *e, const struct perf_counters *read, bool extended,
	     const unsigned allowed[PERF_ERRORS], monotime now, struct error_finding *f)
{
	monotime time = e->since ? now - e->since : 0;
	bool first = !e->since, any = false;

	for (unsigned i = 0; i < PERF_ERRORS; i++) {
		uint64_t v = read->errors[i], max = perf_error_max(i), before = e->last[i];
		uint64_t most = allowed[i];

		if (!first)
			e->count[i] = add_up(e->count[i], v < before ? v : v - before);
		e->last[i] = v;
		if (time > MINUTE)
			most = (uint64_t)((double)most * (double)time / (double)MINUTE);
		if (allowed[i] && e->count[i] > most)
			any |= take(f, any, i, score_of(e->count[i], most));
		else if (allowed[i] && (first ? v >= max : !extended && v == max && before == max))
			any |= take(f, any, i, 0);
	}
	if (any) {
		f->count = e->count[f->kind];
		f->value = e->last[f->kind];
		f->time = time;
	}
	if (first || time >= MINUTE || (any && !f->full)) {
		memset(e->count, 0, sizeof(e->count));
		e->since = now;
	}
	return any;
}

uint16_t
counting_near_full(const struct perf_counters *read)
{
	uint16_t near = 0;

	for (unsigned i = 0; i < PERF_ERRORS; i++)
		if (read->errors[i] > perf_error_max(i) - perf_error_max(i) / 4)
			near |= (uint16_t)(1u << i);
	return near;
}

const char *
counting_text(const struct error_finding *f, char to[COUNTING_TEXT_SIZE])
{
	char time[DURATION_TEXT_SIZE];

	if (f->full)
		snprintf(to, COUNTING_TEXT_SIZE, "%s %s at %llu, nobody knows since when",
			 perf_error_name(f->kind), f->value == perf_error_max(f->kind) ?
			 "stopped" : "were", (unsigned long long)f->value);
	else
		snprintf(to, COUNTING_TEXT_SIZE, "%llu %s in %s, to %llu",
			 (unsigned long long)f->count, perf_error_name(f->kind),
			 duration_text(time, f->time), (unsigned long long)f->value);
	return to;
}

bool
counting_of_cable(enum perf_error kind)
{
	switch (kind) {
	case PERF_SYMBOL:
	case PERF_RECOVERY:
	case PERF_DOWNED:
	case PERF_RCV:
	case PERF_LOCAL_INTEGRITY:
	case PERF_OVERRUN:
		return true;
	default:
		return false;
	}
}
