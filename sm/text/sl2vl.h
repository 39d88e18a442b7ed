/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TEXT_SL2VL_H
#define TEXT_SL2VL_H

#include <stdint.h>
#include "sm/base/error.h"
#include "sm/base/mem.h"

/*
 * SL to VL mapping tables as `smpquery sl2vl` prints them (one node a call; outputs may follow one
 * another in a file), or OpenSM in its opensm-sl2vl.dump. A struct sl2vl owns a region in which all
 * of it lives.
 */
#define SL2VL_MAX_ROWS 20000000u	/* of one file */
#define SL2VL_SLS 16

/* Packets that come in by one port and leave by another: the VL of each SL. */
struct sl2vl_row {
	uint64_t guid;		/* of the node's port, as OpenSM has it; 0 where `lid` counts */
	uint32_t line;		/* of the file */
	uint16_t lid;		/* LID of the node, as smpquery has it; 0 where `guid` counts */
	uint8_t in;		/* port, 0: the switch itself */
	uint8_t out;		/* port */
	uint8_t vl[SL2VL_SLS];	/* 0..15; 15: dropped */
};

struct sl2vl {
	struct region *region;	/* owns everything below */
	const char *file;	/* where it was read from */
	struct sl2vl_row *rows;	/* in the order of the file */
	uint32_t len;		/* in use */
	uint32_t size;		/* allocated */
};

/* As lfts_parse() and lfts_read() (lfts.h). Text without any table is an error. */
int
sl2vl_parse(struct sl2vl **s, const char *text, size_t size, const char *file, struct error *e);
int
sl2vl_read(struct sl2vl **s, const char *path, struct error *e);
void
sl2vl_free(struct sl2vl *s);	/* NULL is allowed */

#endif
