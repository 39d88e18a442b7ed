/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sm/wire/perf.h"

/*
 * Any bytes as attributes of performance management. What decodes is encoded, decoded and encoded
 * once more: both encodings must be the same, and what they show no more than the input.
 */
static void
must(bool holds)
{
	if (!holds)
		abort();
}

static void
settled(const uint8_t *data, const uint8_t *once, const uint8_t *twice)
{
	must(!memcmp(once, twice, PERF_DATA_SIZE));
	for (size_t i = 0; i < PERF_DATA_SIZE; i++)
		must(!(once[i] & ~data[i]));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t once[PERF_DATA_SIZE], twice[PERF_DATA_SIZE];
	struct perf_class_info info;
	struct perf_counters c;

	if (size < PERF_DATA_SIZE)
		return 0;
	perf_class_info_decode(&info, data);
	perf_class_info_encode(&info, once);
	perf_class_info_decode(&info, once);
	perf_class_info_encode(&info, twice);
	settled(data, once, twice);
	perf_counters_decode(&c, data);
	for (unsigned e = 0; e < PERF_ERRORS; e++)
		must(c.errors[e] <= perf_error_max(e));
	perf_counters_encode(&c, once);
	perf_counters_decode(&c, once);
	perf_counters_encode(&c, twice);
	settled(data, once, twice);
	perf_extended_decode(&c, data);
	perf_extended_encode(&c, once);
	perf_extended_decode(&c, once);
	perf_extended_encode(&c, twice);
	settled(data, once, twice);
	return 0;
}
