/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/wire/congestion.h"

#include <string.h>

#include "sm/wire/cursor.h"

/*
 * Codecs of the congestion control class (IBA volume 1, annex A10.4.3), as those of attr.c: one
 * line a field, in wire order, over a buffer that always has the bytes. Where the annex leaves room
 * for two readings (the place of the key's protect bit, the bits of CongestionInfo), these are
 * libibmad's, which ibccquery and ibccconfig speak.
 */

void
cc_class_info_decode(struct cc_class_info *a, const uint8_t data[CC_DATA_SIZE])
{
	struct cursor c;

	cursor_read(&c, data, CC_DATA_SIZE);
	a->base_version = cursor_u8(&c);
	a->class_version = cursor_u8(&c);
	a->cap_mask = cursor_u16(&c);
	a->cap_mask2 = cursor_bits(&c, 27);
	a->resp_time = cursor_bits8(&c, 5);
}

/* Redirection and traps are nobody's. */
void
cc_class_info_encode(const struct cc_class_info *a, uint8_t data[CC_DATA_SIZE])
{
	struct cursor c;

	cursor_write(&c, data, CC_DATA_SIZE);
	cursor_put_u8(&c, a->base_version);
	cursor_put_u8(&c, a->class_version);
	cursor_put_u16(&c, a->cap_mask);
	cursor_put_bits(&c, 27, a->cap_mask2);
	cursor_put_bits(&c, 5, a->resp_time);
	cursor_put_zero(&c, CC_DATA_SIZE - 8);
}

void
cc_info_decode(struct cc_info *a, const uint8_t data[CC_DATA_SIZE])
{
	struct cursor c;

	cursor_read(&c, data, CC_DATA_SIZE);
	a->info = cursor_u16(&c);
	a->table_cap = cursor_u8(&c);
}

void
cc_info_encode(const struct cc_info *a, uint8_t data[CC_DATA_SIZE])
{
	struct cursor c;

	cursor_write(&c, data, CC_DATA_SIZE);
	cursor_put_u16(&c, a->info);
	cursor_put_u8(&c, a->table_cap);
	cursor_put_zero(&c, CC_DATA_SIZE - 3);
}

void
cc_key_info_decode(struct cc_key_info *a, const uint8_t data[CC_DATA_SIZE])
{
	struct cursor c;

	cursor_read(&c, data, CC_DATA_SIZE);
	a->key = cursor_u64(&c);
	a->protect = cursor_flag(&c);
	cursor_bits(&c, 15);
	a->lease = cursor_u16(&c);
	a->violations = cursor_u16(&c);
}

void
cc_key_info_encode(const struct cc_key_info *a, uint8_t data[CC_DATA_SIZE])
{
	struct cursor c;

	cursor_write(&c, data, CC_DATA_SIZE);
	cursor_put_u64(&c, a->key);
	cursor_put_bits(&c, 1, a->protect);
	cursor_put_bits(&c, 15, 0);
	cursor_put_u16(&c, a->lease);
	cursor_put_u16(&c, a->violations);
	cursor_put_zero(&c, CC_DATA_SIZE - 14);
}

static struct cc_delay
read_delay(struct cursor *c)
{
	struct cc_delay d;

	d.shift = cursor_bits8(c, 2);
	d.multiplier = (uint16_t)cursor_bits(c, 14);
	return d;
}

static void
put_delay(struct cursor *c, const struct cc_delay *d)
{
	cursor_put_bits(c, 2, d->shift);
	cursor_put_bits(c, 14, d->multiplier);
}

static void
put_ports(struct cursor *c, const struct cc_ports *p)
{
	for (size_t i = 0; i < sizeof(p->bytes); i++)
		cursor_put_u8(c, p->bytes[i]);
}

void
cc_switch_setting_decode(struct cc_switch_setting *a, const uint8_t data[CC_DATA_SIZE])
{
	struct cursor c;

	cursor_read(&c, data, CC_DATA_SIZE);
	a->map = cursor_u32(&c);
	cursor_bytes(&c, a->victim.bytes, sizeof(a->victim.bytes));
	cursor_bytes(&c, a->credit.bytes, sizeof(a->credit.bytes));
	a->threshold = cursor_bits8(&c, 4);
	cursor_bits(&c, 4);
	a->packet_size = cursor_u8(&c);
	a->starvation = cursor_bits8(&c, 4);
	cursor_bits(&c, 12);
	a->return_delay = read_delay(&c);
	a->marking_rate = cursor_u16(&c);
}

void
cc_switch_setting_encode(const struct cc_switch_setting *a, uint8_t data[CC_DATA_SIZE])
{
	struct cursor c;

	cursor_write(&c, data, CC_DATA_SIZE);
	cursor_put_u32(&c, a->map);
	put_ports(&c, &a->victim);
	put_ports(&c, &a->credit);
	cursor_put_bits(&c, 4, a->threshold);
	cursor_put_bits(&c, 4, 0);
	cursor_put_u8(&c, a->packet_size);
	cursor_put_bits(&c, 4, a->starvation);
	cursor_put_bits(&c, 12, 0);
	put_delay(&c, &a->return_delay);
	cursor_put_u16(&c, a->marking_rate);
	cursor_put_zero(&c, CC_DATA_SIZE - 76);
}

void
cc_port_settings_decode(struct cc_port_setting a[CC_PORTS_BLOCK],
			const uint8_t data[CC_DATA_SIZE])
{
	struct cursor c;

	cursor_read(&c, data, CC_DATA_SIZE);
	for (unsigned i = 0; i < CC_PORTS_BLOCK; i++) {
		a[i].valid = cursor_flag(&c);
		a[i].starvation = cursor_flag(&c);
		cursor_bits(&c, 2);
		a[i].threshold = cursor_bits8(&c, 4);
		a[i].packet_size = cursor_u8(&c);
		a[i].marking_rate = cursor_u16(&c);
	}
}

void
cc_port_settings_encode(const struct cc_port_setting a[CC_PORTS_BLOCK],
			uint8_t data[CC_DATA_SIZE])
{
	struct cursor c;

	cursor_write(&c, data, CC_DATA_SIZE);
	for (unsigned i = 0; i < CC_PORTS_BLOCK; i++) {
		cursor_put_bits(&c, 1, a[i].valid);
		cursor_put_bits(&c, 1, a[i].starvation);
		cursor_put_bits(&c, 2, 0);
		cursor_put_bits(&c, 4, a[i].threshold);
		cursor_put_u8(&c, a[i].packet_size);
		cursor_put_u16(&c, a[i].marking_rate);
	}
	cursor_put_zero(&c, CC_DATA_SIZE - 4 * CC_PORTS_BLOCK);
}

void
cc_ca_setting_decode(struct cc_ca_setting *a, const uint8_t data[CC_DATA_SIZE])
{
	struct cursor c;

	cursor_read(&c, data, CC_DATA_SIZE);
	a->port_control = cursor_u16(&c);
	a->map = cursor_u16(&c);
	for (unsigned i = 0; i < CC_LEVELS; i++) {
		a->entries[i].timer = cursor_u16(&c);
		a->entries[i].increase = cursor_u8(&c);
		a->entries[i].trigger = cursor_u8(&c);
		a->entries[i].least = cursor_u8(&c);
		cursor_skip(&c, 3);
	}
}

void
cc_ca_setting_encode(const struct cc_ca_setting *a, uint8_t data[CC_DATA_SIZE])
{
	struct cursor c;

	cursor_write(&c, data, CC_DATA_SIZE);
	cursor_put_u16(&c, a->port_control);
	cursor_put_u16(&c, a->map);
	for (unsigned i = 0; i < CC_LEVELS; i++) {
		cursor_put_u16(&c, a->entries[i].timer);
		cursor_put_u8(&c, a->entries[i].increase);
		cursor_put_u8(&c, a->entries[i].trigger);
		cursor_put_u8(&c, a->entries[i].least);
		cursor_put_zero(&c, 3);
	}
	cursor_put_zero(&c, CC_DATA_SIZE - 4 - 8 * CC_LEVELS);
}

void
cc_table_decode(struct cc_table *a, const uint8_t data[CC_DATA_SIZE])
{
	struct cursor c;

	cursor_read(&c, data, CC_DATA_SIZE);
	a->limit = cursor_u16(&c);
	cursor_skip(&c, 2);
	for (unsigned i = 0; i < CC_TABLE_BLOCK; i++)
		a->entries[i] = read_delay(&c);
}

void
cc_table_encode(const struct cc_table *a, uint8_t data[CC_DATA_SIZE])
{
	struct cursor c;

	cursor_write(&c, data, CC_DATA_SIZE);
	cursor_put_u16(&c, a->limit);
	cursor_put_zero(&c, 2);
	for (unsigned i = 0; i < CC_TABLE_BLOCK; i++)
		put_delay(&c, &a->entries[i]);
	cursor_put_zero(&c, CC_DATA_SIZE - 4 - 2 * CC_TABLE_BLOCK);
}

uint32_t
cc_timestamp_decode(const uint8_t data[CC_DATA_SIZE])
{
	struct cursor c;

	cursor_read(&c, data, CC_DATA_SIZE);
	return cursor_u32(&c);
}

void
cc_timestamp_encode(uint32_t time, uint8_t data[CC_DATA_SIZE])
{
	struct cursor c;

	cursor_write(&c, data, CC_DATA_SIZE);
	cursor_put_u32(&c, time);
	cursor_put_zero(&c, CC_DATA_SIZE - 4);
}

/* ---- CongestionLog ---- */

static void
read_switch_log(struct cc_log *a, struct cursor *c)
{
	a->time = cursor_u32(c);
	cursor_bytes(c, a->ports.bytes, sizeof(a->ports.bytes));
	for (unsigned i = 0; i < CC_LOG_SWITCH_EVENTS; i++) {
		struct cc_log_switch_event *e = &a->switches[i];

		e->slid = cursor_u16(c);
		e->dlid = cursor_u16(c);
		e->sl = cursor_bits8(c, 4);
		cursor_bits(c, 28);
		e->time = cursor_u32(c);
	}
}

static void
read_ca_log(struct cc_log *a, struct cursor *c)
{
	a->levels = cursor_u16(c);
	cursor_skip(c, 2);
	a->time = cursor_u32(c);
	for (unsigned i = 0; i < CC_LOG_CA_EVENTS; i++) {
		struct cc_log_ca_event *e = &a->cas[i];

		e->local_qp = cursor_u24(c);
		e->sl = cursor_bits8(c, 4);
		e->service = cursor_bits8(c, 4);
		e->remote_qp = cursor_u24(c);
		cursor_skip(c, 1);
		e->local_lid = cursor_u16(c);
		e->remote_lid = cursor_u16(c);
		e->time = cursor_u32(c);
	}
}

void
cc_log_decode(struct cc_log *a, const uint8_t data[CC_LOG_SIZE])
{
	struct cursor c;

	memset(a, 0, sizeof(*a));
	cursor_read(&c, data, CC_LOG_SIZE);
	a->type = cursor_u8(&c);
	a->flags = cursor_u8(&c);
	a->count = cursor_u16(&c);
	if (a->type == CC_LOG_SWITCH)
		read_switch_log(a, &c);
	else if (a->type == CC_LOG_CA)
		read_ca_log(a, &c);
}

static void
put_switch_log(const struct cc_log *a, struct cursor *c)
{
	cursor_put_u32(c, a->time);
	put_ports(c, &a->ports);
	for (unsigned i = 0; i < CC_LOG_SWITCH_EVENTS; i++) {
		const struct cc_log_switch_event *e = &a->switches[i];

		cursor_put_u16(c, e->slid);
		cursor_put_u16(c, e->dlid);
		cursor_put_bits(c, 4, e->sl);
		cursor_put_bits(c, 28, 0);
		cursor_put_u32(c, e->time);
	}
}

static void
put_ca_log(const struct cc_log *a, struct cursor *c)
{
	cursor_put_u16(c, a->levels);
	cursor_put_zero(c, 2);
	cursor_put_u32(c, a->time);
	for (unsigned i = 0; i < CC_LOG_CA_EVENTS; i++) {
		const struct cc_log_ca_event *e = &a->cas[i];

		cursor_put_u24(c, e->local_qp);
		cursor_put_bits(c, 4, e->sl);
		cursor_put_bits(c, 4, e->service);
		cursor_put_u24(c, e->remote_qp);
		cursor_put_zero(c, 1);
		cursor_put_u16(c, e->local_lid);
		cursor_put_u16(c, e->remote_lid);
		cursor_put_u32(c, e->time);
	}
}

void
cc_log_encode(const struct cc_log *a, uint8_t data[CC_LOG_SIZE])
{
	struct cursor c;

	memset(data, 0, CC_LOG_SIZE);
	cursor_write(&c, data, CC_LOG_SIZE);
	cursor_put_u8(&c, a->type);
	cursor_put_u8(&c, a->flags);
	cursor_put_u16(&c, a->count);
	if (a->type == CC_LOG_SWITCH)
		put_switch_log(a, &c);
	else if (a->type == CC_LOG_CA)
		put_ca_log(a, &c);
}

/* ---- The MAD ---- */

void
cc_mad_encode(const struct mad_header *h, uint64_t key, const uint8_t data[CC_DATA_SIZE],
	      uint8_t mad[MAD_SIZE])
{
	struct cursor c;

	mad_header_encode(h, mad);
	cursor_write(&c, mad, MAD_SIZE);
	cursor_skip(&c, CC_KEY_AT);
	cursor_put_u64(&c, key);
	cursor_put_zero(&c, CC_DATA_AT - CC_LOG_AT);
	cursor_put_bytes(&c, data, CC_DATA_SIZE);
}

uint64_t
cc_mad_key(const uint8_t mad[MAD_SIZE])
{
	struct cursor c;

	cursor_read(&c, mad, MAD_SIZE);
	cursor_skip(&c, CC_KEY_AT);
	return cursor_u64(&c);
}

const char *
cc_attr_name(uint16_t attr_id)
{
	switch ((enum cc_attr)attr_id) {
	case CC_CLASS_PORT_INFO:
		return "ClassPortInfo";
	case CC_NOTICE:
		return "Notice";
	case CC_INFO:
		return "CongestionInfo";
	case CC_KEY_INFO:
		return "CongestionKeyInfo";
	case CC_LOG:
		return "CongestionLog";
	case CC_SWITCH_SETTING:
		return "SwitchCongestionSetting";
	case CC_SWITCH_PORT_SETTING:
		return "SwitchPortCongestionSetting";
	case CC_CA_SETTING:
		return "CACongestionSetting";
	case CC_TABLE:
		return "CongestionControlTable";
	case CC_TIMESTAMP:
		return "TimeStamp";
	}
	return NULL;
}
