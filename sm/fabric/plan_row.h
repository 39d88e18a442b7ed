/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_PLAN_ROW_H
#define FABRIC_PLAN_ROW_H

#include <stdbool.h>
#include <stdint.h>
#include "sm/wire/mad.h"

/*
 * One switch's linear forwarding table, a section of plans. A row is reference-counted, and
 * constant once somebody else has a reference. It is whole, its entries in one piece, or it is a
 * whole row but for some blocks of LFT_BLOCK_LEN entries, which it has of its own: a change costs
 * the blocks that change, and what two rows share is known to be equal without a look. Which it is,
 * only the functions below need to know.
 */
struct plan_row {
	uint32_t refs;		/* atomic */
	uint32_t len;		/* entries, a multiple of LFT_BLOCK_LEN above the top LID */
	struct plan_row *base;	/* the whole row that it is but for some blocks (a reference); NULL:
				 * it is whole itself */
	uint8_t *own;		/* these blocks; NULL: there are none */
	uint16_t nown;		/* how many, at most PLAN_ROW_OWN */
	uint16_t room;		/* that there is room for */
	uint8_t data[];		/* whole: by LID, the out port, LFT_NO_PORT = drop. Else by block,
				 * up to whole words: 0 as in `base`, n the n-th of `own` */
};

#define PLAN_ROW_OWN 255u

/* Room in a row for LIDs 0..top: whole blocks. */
static inline uint32_t
plan_row_len(uint16_t top)
{
	return ((uint32_t)top / LFT_BLOCK_LEN + 1) * LFT_BLOCK_LEN;
}

struct plan_row *
plan_row_new(uint16_t top);		/* whole, all LFT_NO_PORT */
struct plan_row *
plan_row_blank(uint16_t top);		/* for those who write all of its entries */
/* All entries, by LID, of a row from one of the two above that nobody else has yet. */
static inline uint8_t *
plan_row_entries(struct plan_row *r)
{
	return r->data;
}

/* The same entries, to be changed by plan_row_set(); shares all blocks with `r`. */
struct plan_row *
plan_row_copy(const struct plan_row *r);
/* The same for LIDs 0..top: cut off there, or with LFT_NO_PORT behind the end. */
struct plan_row *
plan_row_resized(const struct plan_row *r, uint16_t top);
/* Change the out port of a LID below (*r)->len; *r is replaced if others have a reference. */
void
plan_row_set(struct plan_row **r, uint32_t lid, uint8_t port);
/* A row with the entries of `made`, whose reference it takes, that shares with `old` (NULL: there
 * is none) what is equal; `old` itself if all is. */
struct plan_row *
plan_row_settle(struct plan_row *made, struct plan_row *old);
struct plan_row *
plan_row_ref(struct plan_row *r);	/* NULL is allowed */
void
plan_row_unref(struct plan_row *r);	/* NULL is allowed */

bool
plan_row_equal(const struct plan_row *a, const struct plan_row *b);
/* The first block, from `block` on, that differs, or that only one of the rows has; if there is
 * none, the number of blocks of the longer one, or `block` if that is more. */
uint32_t
plan_row_differs(const struct plan_row *a, const struct plan_row *b, uint32_t block);

static inline uint32_t
plan_row_blocks(const struct plan_row *r)
{
	return r->len / LFT_BLOCK_LEN;
}

static inline bool
plan_row_is_whole(const struct plan_row *r)
{
	return !r->base;
}

/* The entries, in one piece, of the whole row that this one is or comes from. */
static inline const uint8_t *
plan_row_whole(const struct plan_row *r)
{
	return r->base ? r->base->data : r->data;
}

/* The entries of a block, which must be below plan_row_blocks(). Borrowed. */
static inline const uint8_t *
plan_row_block(const struct plan_row *r, uint32_t block)
{
	uint32_t own = r->base ? r->data[block] : 0;

	return own ? r->own + (own - 1) * LFT_BLOCK_LEN :
		plan_row_whole(r) + block * LFT_BLOCK_LEN;
}

/* Out port for a LID; LFT_NO_PORT behind the end or for a NULL row. */
static inline uint8_t
plan_row_port(const struct plan_row *r, uint32_t lid)
{
	return r && lid < r->len ? plan_row_block(r, lid / LFT_BLOCK_LEN)[lid % LFT_BLOCK_LEN] :
		LFT_NO_PORT;
}

/* Does the row send one of these LIDs out by one of these ports? LFT_NO_PORT is one of them. */
bool
plan_row_uses(const struct plan_row *r, const bool ports[256], const uint16_t *lids, uint32_t len);
/* Copy the first `len` entries, at most r->len. */
void
plan_row_read(const struct plan_row *r, uint8_t *entries, uint32_t len);

#endif
