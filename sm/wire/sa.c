/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/wire/sa.h"

#include <string.h>

#include "sm/wire/cursor.h"

/*
 * The frame of subnet administration (IBA volume 1, 15.2.1) and the one codec of all its records.
 *
 * A record's table of components (sa_device.c, sa_client.c) says for each where its bits are, in
 * which member they belong and which bit of the component mask names it. Decoding, encoding and the
 * comparison of records all walk that table, so that the three cannot disagree, and a record is
 * told once. Pure functions; nothing is owned, kept or refused. The tables are trusted to stay
 * within record and struct: test_sa.c holds each of them to it.
 */

/* ---- The frame ---- */

int
sa_header_decode(struct sa_header *s, const uint8_t *mad, size_t size)
{
	struct cursor c;
	int rc;

	if (size < SA_HEADER_SIZE)
		return ERR_TRUNCATED;
	rc = mad_header_decode(&s->h, mad, size);
	if (rc)
		return rc;
	cursor_read(&c, mad, SA_HEADER_SIZE);
	cursor_skip(&c, MAD_HEADER_SIZE);
	s->rmpp_version = cursor_u8(&c);
	s->rmpp_type = cursor_u8(&c);
	s->rmpp_resp_time = cursor_bits8(&c, 5);
	s->rmpp_flags = cursor_bits8(&c, 3);
	s->rmpp_status = cursor_u8(&c);
	s->rmpp_segment = cursor_u32(&c);
	s->rmpp_value = cursor_u32(&c);
	s->sm_key = cursor_u64(&c);
	s->attr_offset = cursor_u16(&c);
	cursor_skip(&c, 2);
	s->mask = cursor_u64(&c);
	return 0;
}

void
sa_header_encode(const struct sa_header *s, uint8_t mad[SA_HEADER_SIZE])
{
	struct cursor c;

	mad_header_encode(&s->h, mad);
	cursor_write(&c, mad, SA_HEADER_SIZE);
	cursor_skip(&c, MAD_HEADER_SIZE);
	cursor_put_u8(&c, s->rmpp_version);
	cursor_put_u8(&c, s->rmpp_type);
	cursor_put_bits(&c, 5, s->rmpp_resp_time);
	cursor_put_bits(&c, 3, s->rmpp_flags);
	cursor_put_u8(&c, s->rmpp_status);
	cursor_put_u32(&c, s->rmpp_segment);
	cursor_put_u32(&c, s->rmpp_value);
	cursor_put_u64(&c, s->sm_key);
	cursor_put_u16(&c, s->attr_offset);
	cursor_put_zero(&c, 2);
	cursor_put_u64(&c, s->mask);
}

uint8_t
sa_response(uint8_t method)
{
	switch (method) {
	case MAD_GET:
	case MAD_SET:
		return MAD_GET_RESP;
	case MAD_REPORT:
		return MAD_REPORT_RESP;
	case MAD_GET_TABLE:
	case MAD_GET_TRACE:
		return MAD_GET_TABLE_RESP;
	case MAD_GET_MULTI:
		return MAD_GET_MULTI_RESP;
	case MAD_DELETE:
		return MAD_DELETE_RESP;
	}
	return 0;
}

const char *
sa_status_text(uint16_t status)
{
	switch (status & 0xff00) {
	case SA_STATUS_NO_RESOURCES:
		return "no resources";
	case SA_STATUS_INVALID:
		return "request invalid";
	case SA_STATUS_NO_RECORDS:
		return "no records";
	case SA_STATUS_TOO_MANY:
		return "too many records";
	case SA_STATUS_INVALID_GID:
		return "invalid GID";
	case SA_STATUS_INSUFFICIENT:
		return "insufficient components";
	case SA_STATUS_DENIED:
		return "request denied";
	case SA_STATUS_PRIORITY:
		return "priority suggested";
	}
	return mad_status_text(status);
}

/* ---- Numbers of any width at any bit ---- */

struct sa_gid
sa_gid_get(const uint8_t bytes[16])
{
	struct sa_gid g;
	struct cursor c;

	cursor_read(&c, bytes, 16);
	g.prefix = cursor_u64(&c);
	g.guid = cursor_u64(&c);
	return g;
}

void
sa_gid_put(const struct sa_gid *g, uint8_t bytes[16])
{
	struct cursor c;

	cursor_write(&c, bytes, 16);
	cursor_put_u64(&c, g->prefix);
	cursor_put_u64(&c, g->guid);
}

static uint64_t
low_bits(unsigned n)
{
	return n >= 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1;
}

/* n is 1..64, and the field crosses at most seven byte borders. */
static uint64_t
get_bits(const uint8_t *data, unsigned at, unsigned n)
{
	unsigned last = (at + n - 1) / 8;
	uint64_t v = 0;

	for (unsigned i = at / 8; i <= last; i++)
		v = v << 8 | data[i];
	return v >> (7 - (at + n - 1) % 8) & low_bits(n);
}

/* Into bytes that are 0 there. */
static void
put_bits(uint8_t *data, unsigned at, unsigned n, uint64_t v)
{
	unsigned first = at / 8;

	v = (v & low_bits(n)) << (7 - (at + n - 1) % 8);
	for (unsigned i = (at + n - 1) / 8 + 1; i-- > first; v >>= 8)
		data[i] |= (uint8_t)v;
}

static uint64_t
member_get(const uint8_t *p, unsigned size)
{
	uint16_t v16;
	uint32_t v32;
	uint64_t v64;

	switch (size) {
	case 1:
		return *p;
	case 2:
		memcpy(&v16, p, sizeof(v16));
		return v16;
	case 4:
		memcpy(&v32, p, sizeof(v32));
		return v32;
	}
	memcpy(&v64, p, sizeof(v64));
	return v64;
}

static void
member_put(uint8_t *p, unsigned size, uint64_t v)
{
	uint16_t v16 = (uint16_t)v;
	uint32_t v32 = (uint32_t)v;

	switch (size) {
	case 1:
		*p = (uint8_t)v;
		return;
	case 2:
		memcpy(p, &v16, sizeof(v16));
		return;
	case 4:
		memcpy(p, &v32, sizeof(v32));
		return;
	}
	memcpy(p, &v, sizeof(v));
}

/* ---- Records ---- */

static void
decode_numbers(const struct sa_component *c, uint8_t *member, const uint8_t *data)
{
	unsigned at = c->at;

	for (unsigned i = 0; i < c->count; i++, at += c->step, member += c->stride) {
		uint64_t v = get_bits(data, at, c->bits) << c->shift;

		member_put(member, c->size, member_get(member, c->size) | v);
	}
}

static void
encode_numbers(const struct sa_component *c, const uint8_t *member, uint8_t *data)
{
	unsigned at = c->at;

	for (unsigned i = 0; i < c->count; i++, at += c->step, member += c->stride)
		put_bits(data, at, c->bits, member_get(member, c->size) >> c->shift);
}

int
sa_decode(const struct sa_type *t, void *record, const uint8_t *data, size_t size)
{
	const struct sa_component *c = t->components, *end = c + t->len;
	struct sa_gid gid;

	if (size < t->size)
		return ERR_TRUNCATED;
	memset(record, 0, t->struct_size);
	for (; c < end; c++) {
		uint8_t *member = (uint8_t *)record + c->offset;

		if (c->kind == SA_NUMBER) {
			decode_numbers(c, member, data);
		} else if (c->kind == SA_GID) {
			gid = sa_gid_get(data + c->at / 8);
			memcpy(member, &gid, sizeof(gid));
		} else {
			memcpy(member, data + c->at / 8, c->bits / 8u);
		}
	}
	return 0;
}

void
sa_encode(const struct sa_type *t, const void *record, uint8_t *data)
{
	const struct sa_component *c = t->components, *end = c + t->len;
	struct sa_gid gid;

	memset(data, 0, sa_stride(t));
	for (; c < end; c++) {
		const uint8_t *member = (const uint8_t *)record + c->offset;

		if (c->kind == SA_NUMBER) {
			encode_numbers(c, member, data);
		} else if (c->kind == SA_GID) {
			memcpy(&gid, member, sizeof(gid));
			sa_gid_put(&gid, data + c->at / 8);
		} else {
			memcpy(data + c->at / 8, member, c->bits / 8u);
		}
	}
}

/* ---- Questions ---- */

void
sa_query_init(struct sa_query *q, const struct sa_type *t, const void *want, uint64_t mask,
	      uint64_t all_bits)
{
	q->want = want;
	q->all_bits = all_bits;
	q->len = 0;
	for (unsigned i = 0; i < t->len; i++)
		if (t->components[i].bit < SA_NO_BIT && mask >> t->components[i].bit & 1)
			q->components[q->len++] = &t->components[i];
}

/* Of a number that is in more than its own bits of a member, those count; see `shift`. */
static bool
same_number(const struct sa_component *c, const uint8_t *want, const uint8_t *have, bool all_bits)
{
	uint64_t w = member_get(want, c->size) >> c->shift & low_bits(c->bits);
	uint64_t h = member_get(have, c->size) >> c->shift & low_bits(c->bits);

	return all_bits ? (w & h) == w : w == h;
}

static bool
same(const struct sa_component *c, const uint8_t *want, const uint8_t *have, bool all_bits)
{
	switch (c->kind) {
	case SA_NUMBER:
		return same_number(c, want, have, all_bits);
	case SA_TEXT:
		return !strncmp((const char *)want, (const char *)have, c->bits / 8u);
	}
	return !memcmp(want, have, c->bits / 8u);
}

bool
sa_query_fits(const struct sa_query *q, const void *record)
{
	for (unsigned i = 0; i < q->len; i++) {
		const struct sa_component *c = q->components[i];

		if (!same(c, (const uint8_t *)q->want + c->offset,
			  (const uint8_t *)record + c->offset, q->all_bits >> c->bit & 1))
			return false;
	}
	return true;
}

bool
sa_match(const struct sa_type *t, const void *want, const void *record, uint64_t mask)
{
	struct sa_query q;

	sa_query_init(&q, t, want, mask, 0);
	return sa_query_fits(&q, record);
}
