/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/wire/attr.h"

#include "sm/wire/cursor.h"

/*
 * Notice (IBA volume 1, 13.4.8.2): what a trap carries. The codec leaves the 54 bytes of
 * DataDetails alone; the small readers below find the fields that matter to a subnet manager in
 * them, by the trap's number (14.2.5.1):
 *
 *   128       0 LID of the switch whose link changed
 *   129-131   2 LID, 4 port number
 *   144       2 LID, 5 OtherLocalChanges (lowest bit), 6 CapabilityMask, 10 change flags
 *   145       2 LID, 6 SystemImageGUID
 *   256       2 LID, 6 method, 8 attribute, 14 M_Key
 *   257-258   2 LID, 4 LID, 6 key (32 bits)
 *   259       2 LID, 4 LID, 6 P_Key, 50 port number
 *
 * They answer 0 for all other traps and for the vendor's own notices, whose numbers mean nothing.
 */

#define INFORMATIONAL 4		/* a notice's type */

void
notice_decode(struct notice *a, const uint8_t data[SMP_DATA_SIZE])
{
	struct cursor c;

	cursor_read(&c, data, SMP_DATA_SIZE);
	a->generic = cursor_flag(&c);
	a->type = cursor_bits8(&c, 7);
	a->producer = cursor_u24(&c);
	a->trap = cursor_u16(&c);
	a->issuer_lid = cursor_u16(&c);
	a->count = cursor_u16(&c);
	a->toggle = a->count >> 15;
	a->count &= 0x7fff;
	cursor_bytes(&c, a->details, sizeof(a->details));
}

void
notice_encode(const struct notice *a, uint8_t data[SMP_DATA_SIZE])
{
	struct cursor c;

	cursor_write(&c, data, SMP_DATA_SIZE);
	cursor_put_bits(&c, 1, a->generic);
	cursor_put_bits(&c, 7, a->type);
	cursor_put_u24(&c, a->producer);
	cursor_put_u16(&c, a->trap);
	cursor_put_u16(&c, a->issuer_lid);
	cursor_put_u16(&c, (uint16_t)((a->count & 0x7fff) | (a->toggle ? 0x8000 : 0)));
	cursor_put_bytes(&c, a->details, sizeof(a->details));
}

/* The 16 bits at byte `at` of the details. */
static uint16_t
detail(const struct notice *n, size_t at)
{
	return (uint16_t)(n->details[at] << 8 | n->details[at + 1]);
}

uint16_t
notice_subject_lid(const struct notice *n)
{
	if (!n->generic)
		return 0;
	switch (n->trap) {
	case TRAP_LINK_STATE:
		return detail(n, 0);
	case TRAP_LOCAL_INTEGRITY:
	case TRAP_BUFFER_OVERRUN:
	case TRAP_FLOW_CONTROL:
	case TRAP_CAPABILITY:
	case TRAP_SYSTEM_IMAGE_GUID:
		return detail(n, 2);
	}
	return 0;
}

uint8_t
notice_subject_port(const struct notice *n)
{
	if (!n->generic || n->trap < TRAP_LOCAL_INTEGRITY || n->trap > TRAP_FLOW_CONTROL)
		return 0;
	return n->details[4];
}

uint16_t
notice_144_flags(const struct notice *n)
{
	if (!n->generic || n->trap != TRAP_CAPABILITY || !(n->details[5] & 1))
		return 0;
	return detail(n, 10);
}

void
notice_make_144(struct notice *n, uint8_t node_type, uint16_t lid, uint32_t cap_mask,
		uint16_t flags)
{
	*n = (struct notice){
		.generic = true, .type = INFORMATIONAL, .producer = node_type,
		.trap = TRAP_CAPABILITY, .issuer_lid = lid,
	};
	n->details[2] = (uint8_t)(lid >> 8);
	n->details[3] = (uint8_t)lid;
	n->details[5] = flags != 0;
	for (unsigned i = 0; i < 4; i++)
		n->details[6 + i] = (uint8_t)(cap_mask >> (24 - 8 * i));
	n->details[10] = (uint8_t)(flags >> 8);
	n->details[11] = (uint8_t)flags;
}

/* `size` bytes at byte `at`, the first the highest. */
static uint64_t
number(const struct notice *n, size_t at, size_t size)
{
	uint64_t v = 0;

	for (size_t i = 0; i < size; i++)
		v = v << 8 | n->details[at + i];
	return v;
}

uint64_t
notice_145_guid(const struct notice *n)
{
	return n->generic && n->trap == TRAP_SYSTEM_IMAGE_GUID ? number(n, 6, 8) : 0;
}

bool
notice_bad_key(const struct notice *n, struct notice_key *k)
{
	if (!n->generic || n->trap < TRAP_BAD_M_KEY || n->trap > TRAP_SWITCH_BAD_P_KEY)
		return false;
	*k = (struct notice_key){ .source = detail(n, 2) };
	switch (n->trap) {
	case TRAP_BAD_M_KEY:
		k->method = n->details[6];
		k->attr_id = detail(n, 8);
		k->key = number(n, 14, 8);
		break;
	case TRAP_SWITCH_BAD_P_KEY:
		k->dest = detail(n, 4);
		k->key = detail(n, 6);
		k->port = n->details[50];
		break;
	default:
		k->dest = detail(n, 4);
		k->key = number(n, 6, 4);
	}
	return true;
}
