/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sm/wire/congestion.h"

/*
 * Any bytes as attributes of congestion control. What decodes is encoded, decoded and encoded once
 * more: both encodings must be the same, and every bit set in them must have been set in the input.
 */

static void
must(bool holds)
{
	if (!holds)
		abort();
}

static void
settled(const uint8_t *data, const uint8_t *once, const uint8_t *twice, size_t size)
{
	must(!memcmp(once, twice, size));
	for (size_t i = 0; i < size; i++)
		must(!(once[i] & ~data[i]));
}

#define TRY(name, size, declaration, value) \
	static void \
	try_##name(const uint8_t data[size]) \
	{ \
		uint8_t once[size], twice[size]; \
		declaration; \
\
		cc_##name##_decode(value, data); \
		cc_##name##_encode(value, once); \
		cc_##name##_decode(value, once); \
		cc_##name##_encode(value, twice); \
		settled(data, once, twice, size); \
	}
TRY(class_info, CC_DATA_SIZE, struct cc_class_info v, &v)
TRY(info, CC_DATA_SIZE, struct cc_info v, &v)
TRY(key_info, CC_DATA_SIZE, struct cc_key_info v, &v)
TRY(switch_setting, CC_DATA_SIZE, struct cc_switch_setting v, &v)
TRY(port_settings, CC_DATA_SIZE, struct cc_port_setting v[CC_PORTS_BLOCK], v)
TRY(ca_setting, CC_DATA_SIZE, struct cc_ca_setting v, &v)
TRY(table, CC_DATA_SIZE, struct cc_table v, &v)
TRY(log, CC_LOG_SIZE, struct cc_log v, &v)

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < CC_LOG_SIZE)
		return 0;
	try_class_info(data);
	try_info(data);
	try_key_info(data);
	try_switch_setting(data);
	try_port_settings(data);
	try_ca_setting(data);
	try_table(data);
	try_log(data);
	return 0;
}
