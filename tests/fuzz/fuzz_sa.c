/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sm/wire/sa_rate.h"
#include "sm/wire/sa_record.h"

/*
 * Any bytes as a message to subnet administration: its header, then what follows it as every kind
 * of record. What decodes is encoded and decoded again: both structs must be the same, and every
 * bit that was encoded must have been in the input. A record fits a question for itself, under any
 * mask; what has become different in one bit does not fit the full question where a component that
 * a mask can name has it. GIDs of a MultiPathRecord lie within the bytes. Selectors and values go
 * through the choice among rates, MTUs and lifetimes.
 */
#define ROOM 192

union any_record {
	struct sa_class_port_info class_port_info;
	struct sa_service service;
	struct sa_port port;
	uint64_t align[64];
};

static void
must(bool holds)
{
	if (!holds)
		abort();
}

static void
try_header(const uint8_t *mad, size_t size)
{
	uint8_t once[SA_HEADER_SIZE], twice[SA_HEADER_SIZE];
	struct sa_header h;

	if (sa_header_decode(&h, mad, size))
		return;
	must(size >= SA_HEADER_SIZE && h.rmpp_flags < 8 && h.rmpp_resp_time < 32);
	sa_header_encode(&h, once);
	must(!sa_header_decode(&h, once, sizeof(once)));
	sa_header_encode(&h, twice);
	must(!memcmp(once, twice, sizeof(once)));
	for (size_t i = 0; i < sizeof(once); i++)
		must(!(once[i] & ~mad[i]));
	must(sa_status_text(h.h.status) != NULL);
	must(!sa_response(h.h.method) || sa_response(h.h.method) & MAD_RESPONSE);
}

/* The component that has this bit of the wire, NULL if it is reserved. */
static const struct sa_component *
owner(const struct sa_type *t, unsigned bit)
{
	for (unsigned i = 0; i < t->len; i++) {
		const struct sa_component *c = &t->components[i];

		if (c->count == 1 && bit >= c->at && bit < c->at + (unsigned)c->bits)
			return c;
	}
	return NULL;
}

static void
try_match(const struct sa_type *t, const union any_record *r, const uint8_t *data, uint64_t mask)
{
	const struct sa_component *c;
	union any_record other;
	uint8_t changed[ROOM];
	unsigned bit = (unsigned)(mask % (t->size * 8u));

	must(sa_match(t, r, r, mask));
	memcpy(changed, data, t->size);
	changed[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
	must(!sa_decode(t, &other, changed, t->size));
	must(sa_match(t, r, &other, 0));
	c = owner(t, bit);
	if (!c || c->bit == SA_NO_BIT)
		must(sa_match(t, r, &other, UINT64_MAX));
	else if (c->kind != SA_TEXT)
		must(!sa_match(t, r, &other, SA_BIT(c->bit)) &&
		     sa_match(t, r, &other, ~SA_BIT(c->bit)));
	else
		sa_match(t, r, &other, UINT64_MAX);
}

static void
try_record(const struct sa_type *t, const uint8_t *data, size_t size, uint64_t mask)
{
	union any_record r, again;
	uint8_t wire[ROOM];

	must(t->struct_size <= sizeof(r) && sa_stride(t) <= ROOM);
	if (sa_decode(t, &r, data, size)) {
		must(size < t->size);
		return;
	}
	sa_encode(t, &r, wire);
	for (unsigned i = 0; i < sa_stride(t); i++)
		must(!(wire[i] & ~(i < t->size ? data[i] : 0)));
	must(!sa_decode(t, &again, wire, sa_stride(t)));
	must(!memcmp(&r, &again, t->struct_size));
	try_match(t, &r, data, mask);
}

static void
try_multipath(const uint8_t *data, size_t size)
{
	struct sa_multipath m;
	struct sa_gid gid;
	unsigned i = 0;

	if (sa_multipath_decode(&m, data, size))
		return;
	while (sa_multipath_gid(&m, data, size, i, &gid))
		must(24u + 16u * ++i <= size);
	must(i <= (unsigned)m.sgid_count + m.dgid_count);
}

static void
try_choice(const uint8_t *data)
{
	enum sa_quantity q = (enum sa_quantity)(data[0] % 3);
	unsigned selector = data[0] >> 6, wanted = data[1], have = data[2] & 63;
	bool found;
	uint8_t v;

	v = sa_choose(q, selector, wanted, have, &found);
	must(found || v == 0);
	if (found && sa_is_value(q, have))
		must(sa_is_value(q, v) && sa_fits(q, selector, wanted, v));
	must(sa_rate_mbps(sa_rate_cap(wanted, have)) <= sa_rate_mbps(wanted));
	must(sa_life_ns(wanted) >= 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t mask = 0;

	try_header(data, size);
	if (size < SA_HEADER_SIZE)
		return 0;
	for (unsigned i = 0; i < 8; i++)
		mask = mask << 8 | data[SA_HEADER_SIZE - 8 + i];
	data += SA_HEADER_SIZE;
	size -= SA_HEADER_SIZE;
	for (unsigned id = 0; id < 256; id++)
		if (sa_type_find((uint16_t)id))
			try_record(sa_type_find((uint16_t)id), data, size, mask);
	try_multipath(data, size);
	if (size >= 3)
		try_choice(data);
	return 0;
}
