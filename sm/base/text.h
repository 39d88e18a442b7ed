/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Text of the field's numbers, and back. Each *_text() writes into buf and returns it. */

/* One character of UTF-8 from `s`, of which `len` bytes are there: its bytes (1..4) and *cp, or 0
 * if no valid character starts there (RFC 3629: no overlong forms, no surrogates). */
unsigned
utf8_decode(const char *s, size_t len, uint32_t *cp);

#define GUID_TEXT_SIZE 19
const char *
guid_text(char buf[GUID_TEXT_SIZE], uint64_t guid);	/* 0x + 16 hex digits */

/* A 64-bit GUID: "0x" and 1..16 hex digits, or exactly 16 hex digits without it. */
bool
guid_parse(const char *s, uint64_t *guid);

/* Whole string as a number, decimal or 0x hex, within [min, max]; no sign, no blanks. */
bool
number_parse(const char *s, uint64_t min, uint64_t max, uint64_t *value);

/* A duration with a unit: 10s, 200ms, 5min, 1h, 30us; result in nanoseconds. No unit: refused. */
bool
duration_parse(const char *s, int64_t *ns);

/* Link width codes as in PortInfo.LinkWidthActive (IBA 14.2.5.6). */
enum link_width {
	LINK_1X = 1,
	LINK_4X = 2,
	LINK_8X = 4,
	LINK_12X = 8,
	LINK_2X = 16,
};

/* Link speeds in order of lane rate; the wire spreads them over several fields. */
enum link_speed {
	SPEED_NONE,
	SPEED_SDR,		/* 2.5 Gb/s a lane */
	SPEED_DDR,		/* 5 */
	SPEED_QDR,		/* 10 */
	SPEED_FDR10,		/* 10.3125, vendor speed */
	SPEED_FDR,		/* 14.0625 */
	SPEED_EDR,		/* 25.78125 */
	SPEED_HDR,		/* 53.125 */
	SPEED_NDR,		/* 106.25 */
	SPEED_XDR,		/* 200 data */
};

unsigned
link_lanes(enum link_width width);	/* 1, 2, 4, 8, 12; 0 for an unknown code */
/* Data rate in Mb/s after encoding overhead: 4xSDR 8000, 4xQDR 32000, 4xFDR 54545, 4xEDR 100000,
 * 4xNDR 400000, 4xXDR 800000; 0 if width or speed is unknown. */
uint32_t
link_rate_mbps(enum link_width width, enum link_speed speed);
const char *
link_speed_name(enum link_speed speed);	/* "NDR", or "?" */
#define LINK_TEXT_SIZE 12
const char *
link_text(char buf[LINK_TEXT_SIZE], enum link_width width, enum link_speed speed); /* "4xNDR" */
/* What it takes, for messages. */
#define LINK_WORDS "a width (1x, 2x, 4x, 8x, 12x) and a speed (SDR, DDR, QDR, FDR10, FDR, " \
		   "EDR, HDR, NDR, XDR) in one word, such as 4xNDR"
bool
link_parse(const char *s, enum link_width *width, enum link_speed *speed);	/* "4xNDR" */

/* MTU codes 1..5 <-> bytes 256..4096; 0 for what is neither. */
unsigned
mtu_bytes(unsigned code);
unsigned
mtu_code(unsigned bytes);

/* "down", "init", "armed", "active" for PortInfo.PortState 1..4, "?" else. */
const char *
port_state_name(unsigned state);

/* The word of `words` (NULL-terminated) nearest to `s` by edit distance, or NULL if none is near
 * enough to be meant (distance > 1 + length/3). */
const char *
nearest_word(const char *s, const char *const *words);

#endif
