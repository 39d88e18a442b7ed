/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/kernel/rmpp.h"

#include <string.h>
#include "sm/base/mem.h"
#include "sm/wire/cursor.h"

/*
 * Cutting messages into segments and putting them together again.
 *
 * A message is kept as one piece of memory: the headers that all segments share, then the data of
 * all. A segment's place in it follows from its number, so segments that come early are put where
 * they belong at once and only remembered by a bit; the window of 64 is as long as that memory.
 * PayloadLength counts what follows the RMPP header, the class header of each segment included: in
 * the first segment for all of them, in the last one for itself, in others it is 0 (13.6.2.1).
 */
#define RMPP_OFFSET 24u			/* of the header in a MAD */
#define PAYLOAD_MAX (MAD_SIZE - RMPP_OFFSET - RMPP_HEADER_SIZE)	/* bytes behind it */
#define SIZE_MIN 4096u

#define CLASS_DEVICE_MANAGEMENT 0x06
#define CLASS_DEVICE_ADMINISTRATION 0x10
#define CLASS_BIS 0x12

void
rmpp_header_decode(struct rmpp_header *h, const uint8_t mad[MAD_SIZE])
{
	struct cursor c;

	cursor_read(&c, mad + RMPP_OFFSET, RMPP_HEADER_SIZE);
	h->version = cursor_u8(&c);
	h->type = cursor_u8(&c);
	h->resp_time = cursor_bits8(&c, 5);
	h->flags = cursor_bits8(&c, 3);
	h->status = cursor_u8(&c);
	h->segment = cursor_u32(&c);
	h->value = cursor_u32(&c);
}

void
rmpp_header_encode(const struct rmpp_header *h, uint8_t mad[MAD_SIZE])
{
	struct cursor c;

	cursor_write(&c, mad + RMPP_OFFSET, RMPP_HEADER_SIZE);
	cursor_put_u8(&c, h->version);
	cursor_put_u8(&c, h->type);
	cursor_put_bits(&c, 5, h->resp_time);
	cursor_put_bits(&c, 3, h->flags);
	cursor_put_u8(&c, h->status);
	cursor_put_u32(&c, h->segment);
	cursor_put_u32(&c, h->value);
}

size_t
rmpp_data_offset(uint8_t mgmt_class)
{
	if (mgmt_class == MAD_CLASS_SUBN_ADM)
		return 56;
	if (mgmt_class == CLASS_DEVICE_MANAGEMENT || mgmt_class == CLASS_DEVICE_ADMINISTRATION ||
	    mgmt_class == CLASS_BIS)
		return 64;
	return mgmt_class >= 0x30 && mgmt_class <= 0x4f ? 40 : MAD_HEADER_SIZE;
}

/* ---- Out ---- */

void
rmpp_out_start(struct rmpp_out *o, uint8_t *data, size_t len, uint32_t window)
{
	size_t room;

	memset(o, 0, sizeof(*o));
	o->data = data;
	o->len = len;
	o->offset = (uint32_t)rmpp_data_offset(data[1]);
	room = MAD_SIZE - o->offset;
	o->segments = (uint32_t)((len - o->offset + room - 1) / room);
	if (!o->segments)
		o->segments = 1;
	o->window = window;
}

/* Bytes of the last segment that hold no data. */
static uint32_t
padding(const struct rmpp_out *o)
{
	size_t room = MAD_SIZE - o->offset;

	return (uint32_t)(o->segments * room - (o->len - o->offset));
}

bool
rmpp_out_next(struct rmpp_out *o, uint8_t mad[MAD_SIZE])
{
	struct rmpp_header h = { .version = RMPP_VERSION, .type = RMPP_DATA, .flags = RMPP_ACTIVE };
	size_t room = MAD_SIZE - o->offset, at = o->offset + o->sent * room, len = o->len - at;

	if (o->sent >= o->segments || o->sent >= o->window)
		return false;
	h.segment = ++o->sent;
	if (h.segment == 1) {
		h.flags |= RMPP_FIRST;
		h.value = o->segments * PAYLOAD_MAX - padding(o);
	}
	if (h.segment == o->segments) {
		h.flags |= RMPP_LAST;
		h.value = PAYLOAD_MAX - padding(o);
	}
	memcpy(mad, o->data, o->offset);
	rmpp_header_encode(&h, mad);
	if (len > room)
		len = room;
	memcpy(mad + o->offset, o->data + at, len);
	memset(mad + o->offset + len, 0, room - len);
	return true;
}

enum rmpp_heard
rmpp_out_ack(struct rmpp_out *o, uint32_t segment, uint32_t window)
{
	if (segment > o->segments || segment > o->window)
		return RMPP_HEARD_BAD;
	if (window < o->window || segment < o->acked)
		return RMPP_HEARD_OLD;
	o->window = window;
	o->acked = segment;
	if (o->sent < segment)
		o->sent = segment;
	return rmpp_out_done(o) ? RMPP_HEARD_ALL : RMPP_HEARD_MORE;
}

bool
rmpp_out_done(const struct rmpp_out *o)
{
	return o->acked == o->segments;
}

void
rmpp_out_rewind(struct rmpp_out *o)
{
	o->sent = o->acked;
}

void
rmpp_out_free(struct rmpp_out *o)
{
	mem_free(o->data);
	o->data = NULL;
}

/* ---- In ---- */

static void
store(struct rmpp_in *in, uint32_t segment, const uint8_t mad[MAD_SIZE])
{
	size_t room = MAD_SIZE - in->offset, at = in->offset + (segment - 1) * room;

	if (at + room > in->size) {
		while (at + room > in->size)
			in->size = in->size ? in->size * 2 : SIZE_MIN;
		in->data = mem_realloc(in->data, in->size, 1);
	}
	memcpy(in->data + at, mad + in->offset, room);
}

static void
note_last(struct rmpp_in *in, const struct rmpp_header *h)
{
	if (!(h->flags & RMPP_LAST) || (in->last && in->last < h->segment))
		return;
	in->last = h->segment;
	in->last_len = h->value;
}

/* A PayloadLength that cannot be counts as a full segment. */
static enum rmpp_took
finish(struct rmpp_in *in)
{
	size_t pad = in->last_len > PAYLOAD_MAX ? 0 : PAYLOAD_MAX - in->last_len;

	in->len = in->offset + (size_t)in->last * (MAD_SIZE - in->offset) - pad;
	in->segment = in->last;
	in->complete = true;
	return RMPP_TOOK_ALL;
}

enum rmpp_took
rmpp_in_start(struct rmpp_in *in, const struct rmpp_header *h, const uint8_t mad[MAD_SIZE])
{
	memset(in, 0, sizeof(*in));
	in->offset = (uint32_t)rmpp_data_offset(mad[1]);
	in->segment = in->window = in->reply_window = 1;
	store(in, 1, mad);
	memcpy(in->data, mad, in->offset);
	note_last(in, h);
	if (in->last)
		return finish(in);
	in->window += RMPP_WINDOW;
	return RMPP_TOOK_ACK;
}

/* The next segment is there, and with it those that came early. */
static void
advance(struct rmpp_in *in)
{
	bool next;

	in->segment++;
	do {
		next = in->early & 1;
		in->early >>= 1;
		in->segment += next;
	} while (next);
}

static enum rmpp_took
take_next(struct rmpp_in *in)
{
	advance(in);
	if (in->last && in->segment >= in->last)
		return finish(in);
	if (in->segment < in->window)
		return RMPP_TOOK_NOTHING;
	if (in->window >= RMPP_SEGMENTS_MAX)
		return RMPP_TOOK_TOO_MUCH;
	in->window += RMPP_WINDOW;
	return RMPP_TOOK_ACK;
}

enum rmpp_took
rmpp_in_take(struct rmpp_in *in, const struct rmpp_header *h, const uint8_t mad[MAD_SIZE])
{
	uint32_t n = h->segment;

	if (n > in->window)
		return RMPP_TOOK_NOTHING;
	if (n <= in->acked || in->complete)
		return RMPP_TOOK_ACK;
	if (n <= in->segment || (n > in->segment + 1 && in->early >> (n - in->segment - 2) & 1))
		return RMPP_TOOK_NOTHING;
	store(in, n, mad);
	note_last(in, h);
	if (n == in->segment + 1)
		return take_next(in);
	in->early |= UINT64_C(1) << (n - in->segment - 2);
	return RMPP_TOOK_NOTHING;
}

void
rmpp_in_ack(struct rmpp_in *in, struct rmpp_header *h)
{
	in->acked = in->segment;
	h->segment = in->segment;
	h->value = in->window;
}

void
rmpp_in_free(struct rmpp_in *in)
{
	mem_free(in->data);
	in->data = NULL;
}
