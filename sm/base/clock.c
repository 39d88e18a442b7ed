/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/base/clock.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/*
 * The machine's clocks, and time as people read it. Only loops, logs and programs' main functions
 * read the clocks; everything else is handed the time by its loop, so that tests can bend it.
 */

monotime
backoff_delay(monotime first, monotime max, unsigned failures)
{
	monotime d = first;

	while (failures-- > 1 && d < max)
		d *= 2;
	return d < max ? d : max;
}

monotime
clock_monotonic(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return SEC(ts.tv_sec) + ts.tv_nsec;
}

monotime
clock_processor(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return SEC(ts.tv_sec) + ts.tv_nsec;
}

int64_t
clock_wall(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

const char *
clock_text(char buf[CLOCK_TEXT_SIZE], int64_t wall)
{
	int64_t part = wall % 1000000;
	time_t seconds = (time_t)(wall / 1000000);
	size_t len;
	struct tm tm;

	if (part < 0) {
		part += 1000000;
		seconds--;
	}
	gmtime_r(&seconds, &tm);
	len = strftime(buf, CLOCK_TEXT_SIZE - sizeof(".123Z"), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(buf + len, CLOCK_TEXT_SIZE - len, ".%03uZ", (unsigned)(part / 1000));
	return buf;
}

bool
clock_parse(const char *text, int64_t *wall)
{
	struct tm tm = { 0 };
	unsigned part;
	const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	int used = 0;

	if (!end || sscanf(end, ".%3uZ%n", &part, &used) != 1 || used != 5 || end[used])
		return false;
	*wall = (int64_t)timegm(&tm) * 1000000 + (int64_t)part * 1000;
	return true;
}

/* Three significant digits, in the smallest unit that holds them; false from a minute on. */
static bool
short_duration(char *buf, const char *sign, uint64_t d)
{
	static const struct {
		uint64_t step;		/* nanoseconds of the last digit */
		unsigned decimals;	/* digits after the point */
		const char *unit;	/* its name */
	} forms[] = {
		{ 1, 0, "ns" },
		{ 10, 2, "us" }, { 100, 1, "us" }, { 1000, 0, "us" },
		{ 10000, 2, "ms" }, { 100000, 1, "ms" }, { 1000000, 0, "ms" },
		{ 10000000, 2, "s" }, { 100000000, 1, "s" },
	};
	static const unsigned scale[] = { 1, 10, 100 };

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		uint64_t n = (d + forms[i].step / 2) / forms[i].step;
		unsigned s = scale[forms[i].decimals];

		if (n >= 1000 || n * forms[i].step >= (uint64_t)SEC(60))
			continue;
		if (s == 1)
			snprintf(buf, DURATION_TEXT_SIZE, "%s%" PRIu64 " %s", sign, n,
				 forms[i].unit);
		else
			snprintf(buf, DURATION_TEXT_SIZE, "%s%" PRIu64 ".%0*" PRIu64 " %s", sign,
				 n / s, (int)forms[i].decimals, n % s, forms[i].unit);
		return true;
	}
	return false;
}

const char *
duration_text(char buf[DURATION_TEXT_SIZE], monotime d)
{
	static const struct {
		uint64_t small;		/* nanoseconds of the small unit */
		uint64_t ratio;		/* small units in a large one */
		uint64_t limit;		/* large units that make the next form */
		const char *large_name;	/* of the large unit */
		const char *small_name;	/* of the small unit */
	} forms[] = {
		{ SEC(1), 60, 60, "min", "s" },
		{ SEC(60), 60, 24, "h", "min" },
		{ SEC(3600), 24, UINT64_MAX, "d", "h" },
	};
	const char *sign = d < 0 ? "-" : "";
	uint64_t size = d < 0 ? 0 - (uint64_t)d : (uint64_t)d, n;
	char text[64] = "";	/* what the compiler thinks possible; days have 6 digits */
	size_t i = 0;

	if (d == MONOTIME_NEVER) {
		memcpy(buf, "never", sizeof("never"));
		return buf;
	}
	if (short_duration(buf, sign, size))
		return buf;
	while ((n = (size + forms[i].small / 2) / forms[i].small) / forms[i].ratio >=
	       forms[i].limit)
		i++;
	if (n % forms[i].ratio)
		snprintf(text, sizeof(text), "%s%" PRIu64 " %s %" PRIu64 " %s", sign,
			 n / forms[i].ratio, forms[i].large_name, n % forms[i].ratio,
			 forms[i].small_name);
	else
		snprintf(text, sizeof(text), "%s%" PRIu64 " %s", sign, n / forms[i].ratio,
			 forms[i].large_name);
	text[DURATION_TEXT_SIZE - 1] = '\0';
	memcpy(buf, text, DURATION_TEXT_SIZE);
	return buf;
}
