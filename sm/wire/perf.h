/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WIRE_PERF_H
#define WIRE_PERF_H

#include <stdbool.h>
#include <stdint.h>
#include "sm/wire/mad.h"

/*
 * MADs of the performance management class, 0x04, and those of its attributes by which errors of
 * ports are read and cleared (IBA volume 1, 16.1). A MAD of the class has its 192 bytes of an
 * attribute behind 40 that are reserved. Decoders and encoders are as those of attr.h: they cannot
 * fail, and any bytes decode to something.
 */
#define PERF_CLASS_VERSION 1
#define PERF_DATA_AT 64
#define PERF_DATA_SIZE (MAD_SIZE - PERF_DATA_AT)

enum perf_attr {
	PERF_CLASS_PORT_INFO = 0x0001,
	PERF_COUNTERS = 0x0012,		/* PortCounters */
	PERF_COUNTERS_EXTENDED = 0x001d,	/* PortCountersExtended */
};

/* Errors, in the order of the bits of CounterSelect. */
enum perf_error {
	PERF_SYMBOL,
	PERF_RECOVERY,			/* LinkErrorRecoveryCounter */
	PERF_DOWNED,
	PERF_RCV,
	PERF_REMOTE_PHYSICAL,
	PERF_SWITCH_RELAY,
	PERF_DISCARDS,
	PERF_XMIT_CONSTRAINT,
	PERF_RCV_CONSTRAINT,
	PERF_LOCAL_INTEGRITY,
	PERF_OVERRUN,			/* ExcessiveBufferOverrunErrors */
	PERF_VL15_DROPPED,
	PERF_ERRORS,			/* number of them */
};

#define PERF_EXTENDED_ERRORS 2u		/* cap_mask2: PortCountersExtended has these too */

struct perf_class_info {
	uint8_t base_version;
	uint8_t class_version;
	uint16_t cap_mask;		/* CapabilityMask */
	uint32_t cap_mask2;		/* 27 bits */
	uint8_t resp_time;		/* RespTimeValue, 5 bits */
	uint8_t sl;			/* from here on where requests are redirected to, 4 bits */
	uint16_t lid;			/* 0: to a GID, or nowhere */
	uint16_t pkey;
	uint32_t qp;			/* 24 bits */
	uint32_t q_key;
};

struct perf_counters {
	uint8_t port;			/* PortSelect */
	uint64_t errors[PERF_ERRORS];	/* PortCounters stop at perf_error_max() */
};

void
perf_class_info_decode(struct perf_class_info *a, const uint8_t data[PERF_DATA_SIZE]);
void
perf_class_info_encode(const struct perf_class_info *a, uint8_t data[PERF_DATA_SIZE]);
void
perf_counters_decode(struct perf_counters *a, const uint8_t data[PERF_DATA_SIZE]);
void
perf_counters_encode(const struct perf_counters *a, uint8_t data[PERF_DATA_SIZE]);
void
perf_extended_decode(struct perf_counters *a, const uint8_t data[PERF_DATA_SIZE]);
void
perf_extended_encode(const struct perf_counters *a, uint8_t data[PERF_DATA_SIZE]);
/* A request, of PortCounters or PortCountersExtended, to read a port. */
void
perf_read_encode(uint8_t port, uint8_t data[PERF_DATA_SIZE]);
/* PortCounters that set those of `select`, bit i: enum perf_error i, to 0 and leave the others. */
void
perf_clear_encode(uint8_t port, uint16_t select, uint8_t data[PERF_DATA_SIZE]);
/* What the counter in PortCounters stops at: 15, 255 or 65535. */
uint32_t
perf_error_max(enum perf_error e);
/* "symbol_errors". */
const char *
perf_error_name(enum perf_error e);

#endif
