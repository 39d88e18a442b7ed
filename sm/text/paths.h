/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TEXT_PATHS_H
#define TEXT_PATHS_H

#include <stdint.h>
#include "sm/base/error.h"
#include "sm/base/mem.h"

/*
 * Path records as `saquery PR` prints them: which service level the packets of each pair have. A
 * struct paths owns a region in which all of it lives.
 */
#define PATHS_MAX 100000000u	/* records of one file */

struct paths_entry {
	uint16_t src;		/* LID, 1..0xbfff */
	uint16_t dst;		/* likewise */
	uint8_t sl;		/* 0..15 */
};

struct paths {
	struct region *region;		/* owns everything below */
	const char *file;		/* where it was read from */
	struct paths_entry *entries;	/* in the order of the file */
	uint32_t len;			/* in use */
	uint32_t size;			/* allocated */
};

/* As lfts_parse() and lfts_read() (lfts.h). Text without any record is an error; so is a record
 * without one of the three fields. */
int
paths_parse(struct paths **p, const char *text, size_t size, const char *file, struct error *e);
int
paths_read(struct paths **p, const char *path, struct error *e);
void
paths_free(struct paths *p);	/* NULL is allowed */

#endif
