/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/wire/perf.h"

#include "sm/wire/cursor.h"

/*
 * Codecs of the performance management class (IBA volume 1, 13.4.8.1, 16.1.3.5 and 16.1.4.11), as
 * those of attr.c: one line a field, in wire order, over a buffer that always has the bytes. Of
 * both attributes with counters only the errors are taken; what was sent and received is skipped.
 */
static const struct {
	const char *name;
	uint32_t max;		/* in PortCounters */
} errors[PERF_ERRORS] = {
	[PERF_SYMBOL] = { "symbol_errors", 0xffff },
	[PERF_RECOVERY] = { "link_recoveries", 0xff },
	[PERF_DOWNED] = { "link_downed", 0xff },
	[PERF_RCV] = { "rcv_errors", 0xffff },
	[PERF_REMOTE_PHYSICAL] = { "rcv_remote_physical_errors", 0xffff },
	[PERF_SWITCH_RELAY] = { "rcv_switch_relay_errors", 0xffff },
	[PERF_DISCARDS] = { "xmit_discards", 0xffff },
	[PERF_XMIT_CONSTRAINT] = { "xmit_constraint_errors", 0xff },
	[PERF_RCV_CONSTRAINT] = { "rcv_constraint_errors", 0xff },
	[PERF_LOCAL_INTEGRITY] = { "local_link_integrity_errors", 0xf },
	[PERF_OVERRUN] = { "buffer_overrun_errors", 0xf },
	[PERF_VL15_DROPPED] = { "vl15_dropped", 0xffff },
};

uint32_t
perf_error_max(enum perf_error e)
{
	return errors[e].max;
}

const char *
perf_error_name(enum perf_error e)
{
	return errors[e].name;
}

void
perf_class_info_decode(struct perf_class_info *a, const uint8_t data[PERF_DATA_SIZE])
{
	struct cursor c;

	cursor_read(&c, data, PERF_DATA_SIZE);
	a->base_version = cursor_u8(&c);
	a->class_version = cursor_u8(&c);
	a->cap_mask = cursor_u16(&c);
	a->cap_mask2 = cursor_bits(&c, 27);
	a->resp_time = cursor_bits8(&c, 5);
	cursor_skip(&c, 17);			/* RedirectGID, RedirectTC */
	a->sl = cursor_bits8(&c, 4);
	cursor_bits(&c, 20);			/* RedirectFL */
	a->lid = cursor_u16(&c);
	a->pkey = cursor_u16(&c);
	cursor_skip(&c, 1);
	a->qp = cursor_u24(&c);
	a->q_key = cursor_u32(&c);
}

void
perf_class_info_encode(const struct perf_class_info *a, uint8_t data[PERF_DATA_SIZE])
{
	struct cursor c;

	cursor_write(&c, data, PERF_DATA_SIZE);
	cursor_put_u8(&c, a->base_version);
	cursor_put_u8(&c, a->class_version);
	cursor_put_u16(&c, a->cap_mask);
	cursor_put_bits(&c, 27, a->cap_mask2);
	cursor_put_bits(&c, 5, a->resp_time);
	cursor_put_zero(&c, 17);
	cursor_put_bits(&c, 4, a->sl);
	cursor_put_bits(&c, 20, 0);
	cursor_put_u16(&c, a->lid);
	cursor_put_u16(&c, a->pkey);
	cursor_put_zero(&c, 1);
	cursor_put_u24(&c, a->qp);
	cursor_put_u32(&c, a->q_key);
	cursor_put_zero(&c, PERF_DATA_SIZE - 40);
}

void
perf_counters_decode(struct perf_counters *a, const uint8_t data[PERF_DATA_SIZE])
{
	struct cursor c;

	cursor_read(&c, data, PERF_DATA_SIZE);
	cursor_skip(&c, 1);
	a->port = cursor_u8(&c);
	cursor_skip(&c, 2);			/* CounterSelect */
	a->errors[PERF_SYMBOL] = cursor_u16(&c);
	a->errors[PERF_RECOVERY] = cursor_u8(&c);
	a->errors[PERF_DOWNED] = cursor_u8(&c);
	a->errors[PERF_RCV] = cursor_u16(&c);
	a->errors[PERF_REMOTE_PHYSICAL] = cursor_u16(&c);
	a->errors[PERF_SWITCH_RELAY] = cursor_u16(&c);
	a->errors[PERF_DISCARDS] = cursor_u16(&c);
	a->errors[PERF_XMIT_CONSTRAINT] = cursor_u8(&c);
	a->errors[PERF_RCV_CONSTRAINT] = cursor_u8(&c);
	cursor_skip(&c, 1);			/* CounterSelect2 */
	a->errors[PERF_LOCAL_INTEGRITY] = cursor_bits(&c, 4);
	a->errors[PERF_OVERRUN] = cursor_bits(&c, 4);
	cursor_skip(&c, 2);			/* QP1Dropped */
	a->errors[PERF_VL15_DROPPED] = cursor_u16(&c);
}

static void
put_counters(const uint64_t v[PERF_ERRORS], uint8_t port, uint16_t select,
	     uint8_t data[PERF_DATA_SIZE])
{
	struct cursor c;

	cursor_write(&c, data, PERF_DATA_SIZE);
	cursor_put_u16(&c, port);		/* behind a reserved byte */
	cursor_put_u16(&c, select);
	cursor_put_u16(&c, (uint16_t)v[PERF_SYMBOL]);
	cursor_put_u8(&c, (uint8_t)v[PERF_RECOVERY]);
	cursor_put_u8(&c, (uint8_t)v[PERF_DOWNED]);
	cursor_put_u16(&c, (uint16_t)v[PERF_RCV]);
	cursor_put_u16(&c, (uint16_t)v[PERF_REMOTE_PHYSICAL]);
	cursor_put_u16(&c, (uint16_t)v[PERF_SWITCH_RELAY]);
	cursor_put_u16(&c, (uint16_t)v[PERF_DISCARDS]);
	cursor_put_u8(&c, (uint8_t)v[PERF_XMIT_CONSTRAINT]);
	cursor_put_u8(&c, (uint8_t)v[PERF_RCV_CONSTRAINT]);
	cursor_put_zero(&c, 1);
	cursor_put_u8(&c, (uint8_t)(v[PERF_LOCAL_INTEGRITY] << 4 | (v[PERF_OVERRUN] & 0xf)));
	cursor_put_zero(&c, 2);
	cursor_put_u16(&c, (uint16_t)v[PERF_VL15_DROPPED]);
	cursor_put_zero(&c, PERF_DATA_SIZE - 24);
}

void
perf_counters_encode(const struct perf_counters *a, uint8_t data[PERF_DATA_SIZE])
{
	put_counters(a->errors, a->port, 0, data);
}

void
perf_extended_decode(struct perf_counters *a, const uint8_t data[PERF_DATA_SIZE])
{
	struct cursor c;

	cursor_read(&c, data, PERF_DATA_SIZE);
	cursor_skip(&c, 1);
	a->port = cursor_u8(&c);
	cursor_skip(&c, 70);			/* selects, what was sent and received */
	for (unsigned i = 0; i < PERF_ERRORS; i++)
		a->errors[i] = cursor_u64(&c);
}

void
perf_extended_encode(const struct perf_counters *a, uint8_t data[PERF_DATA_SIZE])
{
	struct cursor c;

	cursor_write(&c, data, PERF_DATA_SIZE);
	cursor_put_u16(&c, a->port);
	cursor_put_zero(&c, 70);
	for (unsigned i = 0; i < PERF_ERRORS; i++)
		cursor_put_u64(&c, a->errors[i]);
	cursor_put_zero(&c, PERF_DATA_SIZE - 72 - 8 * PERF_ERRORS);
}

void
perf_read_encode(uint8_t port, uint8_t data[PERF_DATA_SIZE])
{
	perf_clear_encode(port, 0, data);
}

void
perf_clear_encode(uint8_t port, uint16_t select, uint8_t data[PERF_DATA_SIZE])
{
	static const uint64_t none[PERF_ERRORS];

	put_counters(none, port, select, data);
}
