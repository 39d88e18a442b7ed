/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_RMPP_H
#define SIM_RMPP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "sm/wire/mad.h"

/*
 * The reliable multi-packet protocol as two state machines: one message that goes out, one that
 * comes in. They know wire bytes and numbers of segments; who sends, and when, is the caller's
 * business. IBA volume 1, 13.6: header 13.6.2, sender 13.6.6.1, receiver 13.6.6.2; the window and
 * the values that the specification leaves open are Linux's.
 */
#define RMPP_VERSION 1
#define RMPP_HEADER_SIZE 12u	/* bytes, behind the MAD header */
#define RMPP_WINDOW 64u		/* segments that a receiver takes beyond the last it acknowledged */
#define RMPP_SEGMENTS_MAX (1u << 22)	/* of one message: 800 MB */

enum rmpp_type {
	RMPP_DATA = 1,
	RMPP_ACK = 2,
	RMPP_STOP = 3,
	RMPP_ABORT = 4,
};

enum rmpp_flags {
	RMPP_ACTIVE = 1,
	RMPP_FIRST = 2,
	RMPP_LAST = 4,
};

enum rmpp_status {
	RMPP_NORMAL = 0,
	RMPP_NO_RESOURCES = 1,		/* STOP */
	RMPP_TOO_LONG = 118,		/* ABORT, from here on: total time too long */
	RMPP_BAD_SEGMENT = 120,		/* first flag and segment number do not agree */
	RMPP_BAD_TYPE = 121,
	RMPP_WINDOW_SMALL = 122,	/* the window ends before the segment acknowledged */
	RMPP_SEGMENT_BIG = 123,		/* acknowledged was what had not been sent */
	RMPP_BAD_STATUS = 124,
	RMPP_BAD_VERSION = 125,
	RMPP_ABORT_LAST = 127,
};

struct rmpp_header {
	uint8_t version;	/* RMPP_VERSION */
	uint8_t type;		/* enum rmpp_type */
	uint8_t flags;		/* enum rmpp_flags */
	uint8_t resp_time;	/* 5 bits */
	uint8_t status;		/* enum rmpp_status */
	uint32_t segment;	/* number of a segment, from 1 */
	uint32_t value;		/* DATA: PayloadLength; ACK: NewWindowLast */
};

void
rmpp_header_decode(struct rmpp_header *h, const uint8_t mad[MAD_SIZE]);
void
rmpp_header_encode(const struct rmpp_header *h, uint8_t mad[MAD_SIZE]);
/* Where the data of a class begins, behind its headers: 24 to 64. */
size_t
rmpp_data_offset(uint8_t mgmt_class);

/* A message that goes out. */
struct rmpp_out {
	uint8_t *data;		/* headers, then all data; owned */
	size_t len;		/* bytes of it */
	uint32_t offset;	/* bytes of the headers that each segment has */
	uint32_t segments;	/* in all, at least 1 */
	uint32_t sent;		/* last one sent */
	uint32_t acked;		/* last one acknowledged */
	uint32_t window;	/* last one that may be sent */
};

enum rmpp_heard {
	RMPP_HEARD_OLD,		/* nothing new */
	RMPP_HEARD_MORE,	/* something new, or room for more */
	RMPP_HEARD_ALL,		/* the whole message has arrived */
	RMPP_HEARD_BAD,		/* that was never sent: abort with RMPP_SEGMENT_BIG */
};

/* Takes `data` over, which is from mem_alloc() and at least rmpp_data_offset() long. */
void
rmpp_out_start(struct rmpp_out *o, uint8_t *data, size_t len, uint32_t window);
/* The next segment as a whole MAD; false if none may be sent now. */
bool
rmpp_out_next(struct rmpp_out *o, uint8_t mad[MAD_SIZE]);
enum rmpp_heard
rmpp_out_ack(struct rmpp_out *o, uint32_t segment, uint32_t window);
bool
rmpp_out_done(const struct rmpp_out *o);
/* Begin again behind the last segment that was acknowledged. */
void
rmpp_out_rewind(struct rmpp_out *o);
void
rmpp_out_free(struct rmpp_out *o);

/* A message that comes in. */
struct rmpp_in {
	uint8_t *data;		/* headers of the first segment, then the data; owned */
	size_t size;		/* bytes allocated */
	size_t len;		/* bytes of the whole message, when it is there */
	uint64_t early;		/* bit i: segment `segment` + 2 + i is there already */
	uint32_t offset;	/* bytes of the headers */
	uint32_t segment;	/* the last of those that are there without a gap */
	uint32_t acked;		/* last one acknowledged */
	uint32_t window;	/* last one that is taken */
	uint32_t reply_window;	/* of the answer, if that is sent by RMPP as well */
	uint32_t last;		/* the one with the last flag, 0 = not seen */
	uint32_t last_len;	/* its PayloadLength */
	bool complete;		/* the message was there; `data` may be gone */
};

enum rmpp_took {
	RMPP_TOOK_NOTHING,	/* say nothing */
	RMPP_TOOK_ACK,		/* acknowledge */
	RMPP_TOOK_ALL,		/* acknowledge: the message is whole */
	RMPP_TOOK_TOO_MUCH,	/* end it with STOP and RMPP_NO_RESOURCES */
};

/* From its first segment on (h->segment is 1). */
enum rmpp_took
rmpp_in_start(struct rmpp_in *in, const struct rmpp_header *h, const uint8_t mad[MAD_SIZE]);
enum rmpp_took
rmpp_in_take(struct rmpp_in *in, const struct rmpp_header *h, const uint8_t mad[MAD_SIZE]);
/* What an acknowledgement has to say now; it counts as sent. */
void
rmpp_in_ack(struct rmpp_in *in, struct rmpp_header *h);
void
rmpp_in_free(struct rmpp_in *in);

#endif
