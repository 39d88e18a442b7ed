/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WIRE_SA_H
#define WIRE_SA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "sm/base/error.h"
#include "sm/wire/mad.h"

/*
 * Subnet administration (IBA volume 1, chapter 15): the headers of its MADs, and what is common to
 * all of its records. The records themselves are in sa_record.h, rates and times in sa_rate.h.
 *
 * A message is the 56 bytes of struct sa_header and then one record (Get, Set, Delete, a request
 * of any kind) or any number of them (the answers of GetTable and GetMulti), sa_stride() bytes
 * apart, of which AttributeOffset tells an eighth.
 */
#define SA_HEADER_SIZE 56u
#define SA_DATA_SIZE 200u	/* of one MAD */
#define SA_RECORD_MAX 176u	/* the largest record that one MAD holds: ServiceRecord */
#define SA_CLASS_VERSION 2

enum sa_attr {
	SA_CLASS_PORT_INFO = 0x0001,
	SA_NOTICE = 0x0002,
	SA_INFORM_INFO = 0x0003,
	SA_NODE = 0x0011,		/* from here on: ...Record */
	SA_PORT_INFO = 0x0012,
	SA_SL_TO_VL = 0x0013,
	SA_SWITCH_INFO = 0x0014,
	SA_LINEAR_FDB = 0x0015,
	SA_RANDOM_FDB = 0x0016,
	SA_MULTICAST_FDB = 0x0017,
	SA_SM_INFO = 0x0018,
	SA_LINK = 0x0020,
	SA_GUID_INFO = 0x0030,
	SA_SERVICE = 0x0031,
	SA_P_KEY_TABLE = 0x0033,
	SA_PATH = 0x0035,
	SA_VL_ARBITRATION = 0x0036,
	SA_MC_MEMBER = 0x0038,
	SA_TRACE = 0x0039,
	SA_MULTI_PATH = 0x003a,
	SA_SERVICE_ASSOCIATION = 0x003b,
	SA_INFORM_INFO_RECORD = 0x00f3,
};

/* The class's own part of the MAD status (15.2.3); the rest are enum mad_status. */
enum sa_status {
	SA_STATUS_NO_RESOURCES = 0x0100,
	SA_STATUS_INVALID = 0x0200,	/* ERR_REQ_INVALID */
	SA_STATUS_NO_RECORDS = 0x0300,
	SA_STATUS_TOO_MANY = 0x0400,	/* ERR_TOO_MANY_RECORDS: a Get that fits several */
	SA_STATUS_INVALID_GID = 0x0500,
	SA_STATUS_INSUFFICIENT = 0x0600,	/* ERR_INSUFFICIENT_COMPONENTS */
	SA_STATUS_DENIED = 0x0700,
	SA_STATUS_PRIORITY = 0x0800,	/* PRI_SUGGESTED */
};

#define SA_RMPP_VERSION 1
#define SA_RMPP_DATA 1		/* type */

enum sa_rmpp_flag {
	SA_RMPP_ACTIVE = 1,	/* the message may have several MADs, and its length counts */
	SA_RMPP_FIRST = 2,
	SA_RMPP_LAST = 4,
};

/* Of the RMPP header (13.6.2) the transport fills in all but version, type and the Active flag. */
struct sa_header {
	struct mad_header h;		/* common header */
	uint8_t rmpp_version;		/* SA_RMPP_VERSION, or 0 */
	uint8_t rmpp_type;		/* SA_RMPP_DATA */
	uint8_t rmpp_resp_time;		/* 5 bits */
	uint8_t rmpp_flags;		/* enum sa_rmpp_flag, 3 bits */
	uint8_t rmpp_status;
	uint32_t rmpp_segment;		/* number */
	uint32_t rmpp_value;		/* payload length or new window */
	uint64_t sm_key;
	uint16_t attr_offset;		/* units of 8 bytes */
	uint64_t mask;			/* ComponentMask: SA_BIT() of the components that count */
};

/* Bytes <-> struct. ERR_TRUNCATED for less than SA_HEADER_SIZE bytes, ERR_FORMAT for a base version
 * that is not 1; class and class version are the caller's to judge. */
int
sa_header_decode(struct sa_header *s, const uint8_t *mad, size_t size);
void
sa_header_encode(const struct sa_header *s, uint8_t mad[SA_HEADER_SIZE]);
/* The method of the answer (table 187): 0 for what asks nothing, or is none. */
uint8_t
sa_response(uint8_t method);
/* "no records", "request invalid", ... and what mad_status_text() knows; never NULL. */
const char *
sa_status_text(uint16_t status);

/* ---- Records ---- */

/* Component n of a record, in its component mask. */
#define SA_BIT(n) (UINT64_C(1) << (n))

struct sa_gid {
	uint64_t prefix;	/* upper half */
	uint64_t guid;		/* lower half; of a multicast GID the rest of the group id */
};

/* A GID and its 16 bytes. */
struct sa_gid
sa_gid_get(const uint8_t bytes[16]);
void
sa_gid_put(const struct sa_gid *g, uint8_t bytes[16]);

static inline bool
sa_gid_equal(const struct sa_gid *a, const struct sa_gid *b)
{
	return a->prefix == b->prefix && a->guid == b->guid;
}

enum sa_kind {
	SA_NUMBER,	/* up to 64 bits in a member of 1, 2, 4 or 8 bytes */
	SA_GID,		/* struct sa_gid */
	SA_BYTES,	/* as they are */
	SA_TEXT,	/* bytes too, but compared up to the first NUL */
};

#define SA_NO_BIT 64	/* a component that no mask can name */

/* One component of a record: where it is on the wire, where in its struct, and its bit. */
struct sa_component {
	const char *name;	/* of the member */
	uint8_t bit;		/* of the component mask, or SA_NO_BIT */
	uint8_t kind;		/* enum sa_kind */
	uint16_t at;		/* first bit in the record, most significant one of byte 0 is 0 */
	uint16_t bits;		/* width */
	uint16_t offset;	/* of the member */
	uint16_t size;		/* of the member, or of one element */
	uint8_t shift;		/* bits of the member below this part of it */
	uint8_t count;		/* elements of an array, else 1 */
	uint8_t step;		/* wire bits from one element to the next */
	uint8_t stride;		/* bytes from one element to the next in the struct */
};

/* One kind of record. Reserved components are left out: nothing is compared with them. */
struct sa_type {
	const char *name;	/* "PathRecord" */
	uint16_t id;		/* enum sa_attr */
	uint16_t size;		/* bytes on the wire, without padding */
	uint16_t struct_size;	/* of its struct */
	uint16_t len;		/* of `components` */
	const struct sa_component *components;	/* in the order of the wire */
};

/* By attribute id; NULL if there is none with a struct. */
const struct sa_type *
sa_type_find(uint16_t id);

/* Bytes from one record to the next in a table. */
static inline unsigned
sa_stride(const struct sa_type *t)
{
	return (t->size + 7u) & ~7u;
}

/* Any bytes decode to something; ERR_TRUNCATED if there are fewer than the type has. Bytes of the
 * struct that no component fills become 0. sa_header.mask does not matter here. */
int
sa_decode(const struct sa_type *t, void *record, const uint8_t *data, size_t size);
/* Writes sa_stride(t) bytes; reserved bits and padding are 0. A value too large for its field loses
 * its upper bits. */
void
sa_encode(const struct sa_type *t, const void *record, uint8_t *data);

/*
 * A question about records: those that equal `want` in each component that the mask names. Bits
 * without a component are ignored, as OpenSM does it. Of the components in `all_bits` (of a
 * PortInfoRecord CapabilityMask and CapabilityMask2) the record must have all bits that `want` has.
 * Selectors are no business of this: the caller takes MTU, rate and lifetime out of the mask.
 */
struct sa_query {
	const void *want;			/* borrowed, struct of the type */
	uint64_t all_bits;			/* components compared by their bits */
	unsigned len;				/* of `components` */
	const struct sa_component *components[SA_NO_BIT];	/* to compare */
};

void
sa_query_init(struct sa_query *q, const struct sa_type *t, const void *want, uint64_t mask,
	      uint64_t all_bits);
bool
sa_query_fits(const struct sa_query *q, const void *record);
/* The same for one record. */
bool
sa_match(const struct sa_type *t, const void *want, const void *record, uint64_t mask);

#endif
