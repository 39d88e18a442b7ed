/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TEXT_MFTS_H
#define TEXT_MFTS_H

#include <stdint.h>
#include "sm/base/error.h"
#include "sm/base/mem.h"

/*
 * The multicast forwarding tables of a fabric as dump_mfts (of infiniband-diags) prints them, or
 * OpenSM in its opensm.mcfdbs. A struct mfts owns a region in which all of it lives.
 */
#define MFTS_MAX_ENTRIES 20000000u	/* of one file */
#define MFTS_MLID_MIN 0xc000u
#define MFTS_MLID_MAX 0xfffeu
#define MFTS_PORT_MAX 254u

/* One multicast LID at one switch. */
struct mfts_entry {
	uint64_t guid;		/* node GUID of the switch */
	uint64_t ports[4];	/* bit n of the 256: packets leave by port n */
	uint32_t line;		/* of the file */
	uint16_t mlid;		/* MFTS_MLID_MIN..MFTS_MLID_MAX */
};

struct mfts {
	struct region *region;		/* owns everything below */
	const char *file;		/* where it was read from */
	struct mfts_entry *entries;	/* in the order of the file; no (switch, MLID) twice */
	uint32_t len;			/* in use */
	uint32_t size;			/* allocated */
	uint32_t nswitches;		/* blocks, those without an entry included */
};

/* As lfts_parse() and lfts_read() (lfts.h). Text without any block is an error; so is a GUID with
 * two blocks, an MLID with two lines in one, and a port that there cannot be. */
int
mfts_parse(struct mfts **m, const char *text, size_t size, const char *file, struct error *e);
int
mfts_read(struct mfts **m, const char *path, struct error *e);
void
mfts_free(struct mfts *m);	/* NULL is allowed */

#endif
