/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/wire/attr.h"

#include <string.h>

#include "sm/wire/cursor.h"

/*
 * Codecs of the smaller subnet management attributes: NodeInfo, NodeDescription, SwitchInfo,
 * SMInfo and the tables (IBA volume 1, 14.2.5.2 to 14.2.5.13). PortInfo and Notice have files of
 * their own. Each reads like the specification's table: one line a field, in wire order. Nothing
 * is owned or kept, nothing can fail: the buffer always has the 64 bytes of an SMP's data, so no
 * codec asks cursor_ok(). A value too large for its field loses its upper bits; reserved bits are
 * skipped, and written as 0.
 */

void
nodeinfo_decode(struct nodeinfo *a, const uint8_t data[SMP_DATA_SIZE])
{
	struct cursor c;

	cursor_read(&c, data, SMP_DATA_SIZE);
	a->base_version = cursor_u8(&c);
	a->class_version = cursor_u8(&c);
	a->node_type = cursor_u8(&c);
	a->num_ports = cursor_u8(&c);
	a->system_guid = cursor_u64(&c);
	a->node_guid = cursor_u64(&c);
	a->port_guid = cursor_u64(&c);
	a->partition_cap = cursor_u16(&c);
	a->device_id = cursor_u16(&c);
	a->revision = cursor_u32(&c);
	a->local_port = cursor_u8(&c);
	a->vendor_id = cursor_u24(&c);
}

void
nodeinfo_encode(const struct nodeinfo *a, uint8_t data[SMP_DATA_SIZE])
{
	struct cursor c;

	cursor_write(&c, data, SMP_DATA_SIZE);
	cursor_put_u8(&c, a->base_version);
	cursor_put_u8(&c, a->class_version);
	cursor_put_u8(&c, a->node_type);
	cursor_put_u8(&c, a->num_ports);
	cursor_put_u64(&c, a->system_guid);
	cursor_put_u64(&c, a->node_guid);
	cursor_put_u64(&c, a->port_guid);
	cursor_put_u16(&c, a->partition_cap);
	cursor_put_u16(&c, a->device_id);
	cursor_put_u32(&c, a->revision);
	cursor_put_u8(&c, a->local_port);
	cursor_put_u24(&c, a->vendor_id);
	cursor_put_zero(&c, 24);
}

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

void
nodedesc_decode(char text[NODEDESC_SIZE], const uint8_t data[SMP_DATA_SIZE])
{
	size_t len = strnlen((const char *)data, SMP_DATA_SIZE);

	while (len && is_blank((char)data[len - 1]))
		len--;
	memcpy(text, data, len);
	memset(text + len, 0, NODEDESC_SIZE - len);
}

void
nodedesc_encode(const char *text, uint8_t data[SMP_DATA_SIZE])
{
	size_t len = strnlen(text, SMP_DATA_SIZE);

	memcpy(data, text, len);
	memset(data + len, 0, SMP_DATA_SIZE - len);
}

void
switchinfo_decode(struct switchinfo *a, const uint8_t data[SMP_DATA_SIZE])
{
	struct cursor c;

	cursor_read(&c, data, SMP_DATA_SIZE);
	a->linear_fdb_cap = cursor_u16(&c);
	a->random_fdb_cap = cursor_u16(&c);
	a->multicast_fdb_cap = cursor_u16(&c);
	a->linear_fdb_top = cursor_u16(&c);
	a->default_port = cursor_u8(&c);
	a->default_mcast_primary = cursor_u8(&c);
	a->default_mcast_not_primary = cursor_u8(&c);
	a->life_time = cursor_bits8(&c, 5);
	a->port_state_change = cursor_flag(&c);
	a->optimized_slvl = cursor_bits8(&c, 2);
	a->lids_per_port = cursor_u16(&c);
	a->partition_enforcement_cap = cursor_u16(&c);
	a->enforce_in_cap = cursor_flag(&c);
	a->enforce_out_cap = cursor_flag(&c);
	a->filter_raw_in_cap = cursor_flag(&c);
	a->filter_raw_out_cap = cursor_flag(&c);
	a->enhanced_port0 = cursor_flag(&c);
	cursor_bits(&c, 3);
	cursor_skip(&c, 1);
	a->multicast_fdb_top = cursor_u16(&c);
}

void
switchinfo_encode(const struct switchinfo *a, uint8_t data[SMP_DATA_SIZE])
{
	struct cursor c;

	cursor_write(&c, data, SMP_DATA_SIZE);
	cursor_put_u16(&c, a->linear_fdb_cap);
	cursor_put_u16(&c, a->random_fdb_cap);
	cursor_put_u16(&c, a->multicast_fdb_cap);
	cursor_put_u16(&c, a->linear_fdb_top);
	cursor_put_u8(&c, a->default_port);
	cursor_put_u8(&c, a->default_mcast_primary);
	cursor_put_u8(&c, a->default_mcast_not_primary);
	cursor_put_bits(&c, 5, a->life_time);
	cursor_put_bits(&c, 1, a->port_state_change);
	cursor_put_bits(&c, 2, a->optimized_slvl);
	cursor_put_u16(&c, a->lids_per_port);
	cursor_put_u16(&c, a->partition_enforcement_cap);
	cursor_put_bits(&c, 1, a->enforce_in_cap);
	cursor_put_bits(&c, 1, a->enforce_out_cap);
	cursor_put_bits(&c, 1, a->filter_raw_in_cap);
	cursor_put_bits(&c, 1, a->filter_raw_out_cap);
	cursor_put_bits(&c, 1, a->enhanced_port0);
	cursor_put_bits(&c, 3, 0);
	cursor_put_zero(&c, 1);
	cursor_put_u16(&c, a->multicast_fdb_top);
	cursor_put_zero(&c, 44);
}

void
sminfo_decode(struct sminfo *a, const uint8_t data[SMP_DATA_SIZE])
{
	struct cursor c;

	cursor_read(&c, data, SMP_DATA_SIZE);
	a->guid = cursor_u64(&c);
	a->sm_key = cursor_u64(&c);
	a->activity = cursor_u32(&c);
	a->priority = cursor_bits8(&c, 4);
	a->state = cursor_bits8(&c, 4);
}

void
sminfo_encode(const struct sminfo *a, uint8_t data[SMP_DATA_SIZE])
{
	struct cursor c;

	cursor_write(&c, data, SMP_DATA_SIZE);
	cursor_put_u64(&c, a->guid);
	cursor_put_u64(&c, a->sm_key);
	cursor_put_u32(&c, a->activity);
	cursor_put_bits(&c, 4, a->priority);
	cursor_put_bits(&c, 4, a->state);
	cursor_put_zero(&c, 43);
}

void
guidinfo_decode(uint64_t guids[8], const uint8_t data[SMP_DATA_SIZE])
{
	struct cursor c;

	cursor_read(&c, data, SMP_DATA_SIZE);
	for (unsigned i = 0; i < 8; i++)
		guids[i] = cursor_u64(&c);
}

void
guidinfo_encode(const uint64_t guids[8], uint8_t data[SMP_DATA_SIZE])
{
	struct cursor c;

	cursor_write(&c, data, SMP_DATA_SIZE);
	for (unsigned i = 0; i < 8; i++)
		cursor_put_u64(&c, guids[i]);
}

void
pkeys_decode(uint16_t keys[32], const uint8_t data[SMP_DATA_SIZE])
{
	struct cursor c;

	cursor_read(&c, data, SMP_DATA_SIZE);
	for (unsigned i = 0; i < 32; i++)
		keys[i] = cursor_u16(&c);
}

void
pkeys_encode(const uint16_t keys[32], uint8_t data[SMP_DATA_SIZE])
{
	struct cursor c;

	cursor_write(&c, data, SMP_DATA_SIZE);
	for (unsigned i = 0; i < 32; i++)
		cursor_put_u16(&c, keys[i]);
}

void
sl2vl_decode(uint8_t vl[16], const uint8_t data[SMP_DATA_SIZE])
{
	struct cursor c;

	cursor_read(&c, data, SMP_DATA_SIZE);
	for (unsigned sl = 0; sl < 16; sl++)
		vl[sl] = cursor_bits8(&c, 4);
}

void
sl2vl_encode(const uint8_t vl[16], uint8_t data[SMP_DATA_SIZE])
{
	struct cursor c;

	cursor_write(&c, data, SMP_DATA_SIZE);
	for (unsigned sl = 0; sl < 16; sl++)
		cursor_put_bits(&c, 4, vl[sl]);
	cursor_put_zero(&c, 56);
}

void
vlarb_decode(struct vlarb_entry e[32], const uint8_t data[SMP_DATA_SIZE])
{
	struct cursor c;

	cursor_read(&c, data, SMP_DATA_SIZE);
	for (unsigned i = 0; i < 32; i++) {
		cursor_bits(&c, 4);
		e[i].vl = cursor_bits8(&c, 4);
		e[i].weight = cursor_u8(&c);
	}
}

void
vlarb_encode(const struct vlarb_entry e[32], uint8_t data[SMP_DATA_SIZE])
{
	struct cursor c;

	cursor_write(&c, data, SMP_DATA_SIZE);
	for (unsigned i = 0; i < 32; i++) {
		cursor_put_bits(&c, 4, 0);
		cursor_put_bits(&c, 4, e[i].vl);
		cursor_put_u8(&c, e[i].weight);
	}
}

/* A block is 32 port masks of 16 ports each, laid out as a block of P_Keys is. */
void
mft_decode(uint16_t masks[32], const uint8_t data[SMP_DATA_SIZE])
{
	pkeys_decode(masks, data);
}

void
mft_encode(const uint16_t masks[32], uint8_t data[SMP_DATA_SIZE])
{
	pkeys_encode(masks, data);
}
