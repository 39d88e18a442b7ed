/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TEXT_LFTS_H
#define TEXT_LFTS_H

#include <stddef.h>
#include <stdint.h>
#include "sm/base/buf.h"
#include "sm/base/error.h"
#include "sm/base/mem.h"
#include "sm/text/ibnet.h"

/*
 * The linear forwarding tables of a fabric as dump_lfts (of infiniband-diags) prints them, or
 * OpenSM in its opensm-lfts.dump and opensm.fdbs: one block a switch, one line a LID. A struct lfts
 * owns a region in which all of it lives.
 */
#define LFTS_MAX_SWITCHES 60000u		/* blocks of one file */
#define LFTS_MAX_BYTES ((size_t)1 << 30)	/* table bytes of one file */
#define LFTS_LID_MAX 0xbfffu			/* highest unicast LID */
#define LFTS_NO_PORT 255			/* the LID is not forwarded */

struct lfts_switch {
	uint64_t guid;		/* node GUID */
	const char *desc;	/* NodeDescription, may be empty */
	uint8_t *ports;		/* by LID, len entries, LFTS_NO_PORT where there is none */
	uint32_t len;		/* entries: highest LID of the block + 1, at least 1 */
	uint32_t line;		/* line of the block's header, 0 if it was not read from a file */
	uint16_t lid;		/* LID of the switch, 0 where the header names a directed route */
};

enum lfts_form {
	LFTS_FORM_DUMP,			/* dump_lfts, ibroute: what the device said */
	LFTS_FORM_OPENSM,		/* opensm-lfts.dump: what OpenSM wrote to it */
	LFTS_FORM_FDBS,			/* opensm.fdbs: the same, without owners of LIDs */
};

struct lfts {
	struct region *region;		/* owns everything below */
	uint32_t refs;			/* atomic */
	const char *file;		/* where it was read from, "" if it was not */
	uint64_t *owners;		/* by LID, 0..LFTS_LID_MAX: GUID of the port that the text
					 * says has it, 0 where it does not say; NULL if nowhere */
	enum lfts_form form;		/* of the first block */
	struct lfts_switch *switches;	/* nswitches, in the order of the file */
	uint32_t nswitches;		/* in use */
	uint32_t size;			/* allocated */
	size_t bytes;			/* table bytes held */
};

struct lfts *
lfts_new(void);
/* One more lfts_free() is needed then. Any thread. */
struct lfts *
lfts_ref(struct lfts *l);	/* NULL is allowed */
void
lfts_free(struct lfts *l);	/* NULL is allowed */
/* Do both hold the same tables of the same switches and LIDs, in one order? NULL is allowed. */
bool
lfts_equal(const struct lfts *a, const struct lfts *b);
/* Add a switch, copying `ports` (by LID, len entries, cut at 0xbfff) and `desc`. NULL when a limit
 * is reached. */
struct lfts_switch *
lfts_add(struct lfts *l, uint64_t guid, uint16_t lid, const char *desc, const uint8_t *ports,
	 uint32_t len);

/* As the calls of ibnet.h. Text without any block is an error; so is a GUID with two blocks, a LID
 * with two lines, a LID past the block's range, a port over 254 other than 255, and a LID that
 * belongs to one port in one line and to another elsewhere. */
int
lfts_parse(struct lfts **l, const char *text, size_t size, const char *file, struct error *e);
int
lfts_read(struct lfts **l, const char *path, struct error *e);
/* Append the text, in dump_lfts' form. `net` (may be NULL) tells whose LID each one is. */
void
lfts_write(struct buf *b, const struct lfts *l, const struct ibnet *net);

/* Whose LID each one is, as `net` (NULL: nobody knows) has it; borrows from it. */
struct lfts_owners;

struct lfts_owners *
lfts_owners_new(const struct ibnet *net);
void
lfts_owners_free(struct lfts_owners *o);
/* Append one block of the text; for tables that are too large to be held as text at once. */
void
lfts_write_switch(struct buf *b, const struct lfts_switch *s, const struct lfts_owners *o);

#endif
