/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WIRE_MAD_H
#define WIRE_MAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Management datagrams: IBA volume 1, chapters 13 (MAD format) and 14 (SMPs). */
#define MAD_SIZE 256
#define MAD_HEADER_SIZE 24
#define SMP_DATA_SIZE 64
#define SMP_MAX_HOPS 63
#define LID_PERMISSIVE 0xffff
#define LID_UNICAST_MAX 0xbfff
#define LID_TABLE_LEN 49152	/* unicast LIDs 0..0xbfff */
#define LFT_BLOCK_LEN 64	/* LIDs in one LinearForwardingTable attribute */
#define LFT_NO_PORT 255		/* "drop" in an LFT */

enum mad_class {
	MAD_CLASS_SUBN_LID = 0x01,	/* LID-routed SMP */
	MAD_CLASS_SUBN_ADM = 0x03,	/* subnet administration */
	MAD_CLASS_PERF = 0x04,
	MAD_CLASS_CONGESTION = 0x21,	/* annex A10 */
	MAD_CLASS_SUBN_DIRECT = 0x81,	/* directed-route SMP */
};

enum mad_method {
	MAD_GET = 0x01,
	MAD_SET = 0x02,
	MAD_SEND = 0x03,
	MAD_TRAP = 0x05,
	MAD_REPORT = 0x06,
	MAD_TRAP_REPRESS = 0x07,
	MAD_GET_TABLE = 0x12,		/* this and the next three: subnet administration */
	MAD_GET_TRACE = 0x13,		/* SubnAdmGetTraceTable */
	MAD_GET_MULTI = 0x14,
	MAD_DELETE = 0x15,
	MAD_RESPONSE = 0x80,		/* bit: response to the method in the lower bits */
	MAD_GET_RESP = 0x81,
	MAD_REPORT_RESP = 0x86,
	MAD_GET_TABLE_RESP = 0x92,	/* of the three that ask for many records */
	MAD_GET_MULTI_RESP = 0x94,
	MAD_DELETE_RESP = 0x95,
};

enum mad_attr {
	ATTR_CLASS_PORT_INFO = 0x0001,
	ATTR_NOTICE = 0x0002,
	ATTR_NODE_DESCRIPTION = 0x0010,
	ATTR_NODE_INFO = 0x0011,
	ATTR_SWITCH_INFO = 0x0012,
	ATTR_GUID_INFO = 0x0014,
	ATTR_PORT_INFO = 0x0015,
	ATTR_P_KEY_TABLE = 0x0016,
	ATTR_SL_TO_VL = 0x0017,
	ATTR_VL_ARBITRATION = 0x0018,
	ATTR_LINEAR_FDB = 0x0019,
	ATTR_RANDOM_FDB = 0x001a,
	ATTR_MULTICAST_FDB = 0x001b,
	ATTR_SM_INFO = 0x0020,
};

/* MAD status, lower 15 bits (IBA 13.4.7); the D bit of directed-route responses is kept apart. */
enum mad_status {
	MAD_STATUS_BUSY = 0x0001,
	MAD_STATUS_REDIRECT = 0x0002,
	MAD_STATUS_BAD_VERSION = 0x0004,
	MAD_STATUS_BAD_METHOD = 0x0008,
	MAD_STATUS_BAD_ATTR = 0x000c,	/* method/attribute combination not supported */
	MAD_STATUS_BAD_FIELD = 0x001c,	/* a field of the attribute or modifier is invalid */
};

/* The 24 bytes that every MAD starts with. */
struct mad_header {
	uint64_t tid;		/* transaction id, as on the wire */
	uint32_t attr_mod;	/* attribute modifier */
	uint16_t attr_id;	/* enum mad_attr */
	uint16_t status;	/* of directed routes without the D bit */
	uint8_t base_version;	/* 1 */
	uint8_t mgmt_class;	/* enum mad_class */
	uint8_t class_version;	/* 1 for SMPs, 2 for SA */
	uint8_t method;		/* enum mad_method */
};

/* A subnet management packet of either class. */
struct smp {
	struct mad_header h;	/* common header */
	uint64_t m_key;		/* management key of the target */
	bool direction;		/* D bit: a directed-route response on its way back */
	uint8_t hop_pointer;	/* directed route only */
	uint8_t hop_count;	/* directed route only, 0..63 */
	uint16_t dr_slid;	/* directed route only; LID_PERMISSIVE = all the way by ports */
	uint16_t dr_dlid;	/* directed route only */
	uint8_t path[64];	/* initial path, out ports path[1..hop_count] */
	uint8_t return_path[64];	/* return path, filled by the switches on the way */
	uint8_t data[SMP_DATA_SIZE];	/* the attribute */
};

/* Wire bytes <-> struct. Decoding needs MAD_SIZE bytes (ERR_TRUNCATED else), base version 1 and an
 * SMP class with hop_count and hop_pointer in range (ERR_FORMAT else); bytes past MAD_SIZE are
 * ignored. The header alone is content with its own 24 bytes, all that a timed-out request comes
 * back with, and takes any class. After an error the struct holds what was read so far. */
int
mad_header_decode(struct mad_header *h, const uint8_t *mad, size_t size);
void
mad_header_encode(const struct mad_header *h, uint8_t mad[24]);
int
smp_decode(struct smp *s, const uint8_t *mad, size_t size);
void
smp_encode(const struct smp *s, uint8_t mad[MAD_SIZE]);

/* Names for logs, "PortInfo"; "0x00ff" style for unknown ones is the caller's business: NULL. */
const char *
mad_attr_name(uint16_t attr_id);
const char *
mad_method_name(uint8_t method);
/* "busy", "unsupported method or attribute", "invalid field" ...; never NULL. */
const char *
mad_status_text(uint16_t status);

#endif
