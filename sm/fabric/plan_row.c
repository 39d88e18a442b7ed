/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/fabric/plan_row.h"
#include <string.h>
#include "sm/base/mem.h"

/*
 * Forwarding tables as plans share them (IBA 14.2.5.10, LinearForwardingTable: blocks of 64). An
 * engine writes a whole row. A repair makes rows from those: the same but for a few blocks. What it
 * repairs may be such a row itself, so these blocks are copied; but the whole row beneath is the
 * same for all, however many repairs follow each other. When more than a quarter of the blocks are
 * a row's own it becomes whole. So there are never chains of rows, and a series of repairs holds no
 * more than what the plans that are alive differ by.
 */
#define WORD 8u		/* bytes of data[] that are looked at together */

static bool
is_shared(const struct plan_row *r)
{
	return __atomic_load_n(&r->refs, __ATOMIC_ACQUIRE) > 1;
}

/* Blocks that a row may have of its own. */
static uint32_t
most_own(uint32_t len)
{
	uint32_t most = len / LFT_BLOCK_LEN / 4;

	return most < PLAN_ROW_OWN ? most : PLAN_ROW_OWN;
}

/* The first block of its own, from `block` on; plan_row_blocks() if there is none. */
static uint32_t
next_own(const struct plan_row *r, uint32_t block)
{
	uint32_t n = plan_row_blocks(r);
	uint64_t word;

	if (!r->nown)
		return n;
	for (; block < n; block++) {
		if (block % WORD == 0) {
			memcpy(&word, &r->data[block], WORD);
			if (!word) {
				block += WORD - 1;
				continue;
			}
		}
		if (r->data[block])
			return block;
	}
	return n;
}

static uint32_t
least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static struct plan_row *
whole_row(uint32_t len)
{
	struct plan_row *r = mem_alloc(sizeof(*r) + len);

	*r = (struct plan_row){ .refs = 1, .len = len };
	return r;
}

struct plan_row *
plan_row_blank(uint16_t top)
{
	return whole_row(plan_row_len(top));
}

struct plan_row *
plan_row_new(uint16_t top)
{
	struct plan_row *r = plan_row_blank(top);

	memset(r->data, LFT_NO_PORT, r->len);
	return r;
}

/* Another row on the same base, or on `r` if that is whole, with room for `room` blocks. */
static struct plan_row *
row_on(const struct plan_row *r, uint32_t room)
{
	size_t words = (plan_row_blocks(r) + WORD - 1) / WORD;
	struct plan_row *row = mem_zalloc(sizeof(*row) + words * WORD);

	row->refs = 1;
	row->len = r->len;
	row->base = plan_row_ref(r->base ? r->base : (struct plan_row *)(uintptr_t)r);
	row->room = (uint16_t)room;
	row->own = mem_alloc(room * LFT_BLOCK_LEN);
	return row;
}

bool
plan_row_uses(const struct plan_row *r, const bool ports[256], const uint16_t *lids, uint32_t len)
{
	bool any = false;

	if (!plan_row_is_whole(r)) {
		for (uint32_t i = 0; i < len; i++)
			any |= ports[plan_row_port(r, lids[i])];
		return any;
	}
	for (uint32_t i = 0; i < len; i++)
		any |= ports[lids[i] < r->len ? r->data[lids[i]] : LFT_NO_PORT];
	return any;
}

void
plan_row_read(const struct plan_row *r, uint8_t *entries, uint32_t len)
{
	memcpy(entries, plan_row_whole(r), len);
	for (uint32_t b = next_own(r, 0); b * LFT_BLOCK_LEN < len; b = next_own(r, b + 1))
		memcpy(entries + b * LFT_BLOCK_LEN, plan_row_block(r, b),
		       least(len - b * LFT_BLOCK_LEN, LFT_BLOCK_LEN));
}

static struct plan_row *
copy_whole(const struct plan_row *r)
{
	struct plan_row *row = whole_row(r->len);

	plan_row_read(r, row->data, r->len);
	return row;
}

struct plan_row *
plan_row_copy(const struct plan_row *r)
{
	struct plan_row *row;

	if (!most_own(r->len))
		return copy_whole(r);
	row = row_on(r, r->nown + 2u);
	if (!r->nown)
		return row;
	row->nown = r->nown;
	memcpy(row->own, r->own, r->nown * (size_t)LFT_BLOCK_LEN);
	memcpy(row->data, r->data, plan_row_blocks(r));
	return row;
}

struct plan_row *
plan_row_resized(const struct plan_row *r, uint16_t top)
{
	struct plan_row *row;

	if (r->len == plan_row_len(top))
		return plan_row_copy(r);
	row = plan_row_new(top);
	plan_row_read(r, row->data, least(r->len, row->len));
	return row;
}

/* One more block of its own, which is still to be filled; there must be less than most_own(). */
static uint8_t *
add_block(struct plan_row *r, uint32_t block)
{
	if (r->nown == r->room) {
		r->room = (uint16_t)(2 * r->room);
		r->own = mem_realloc(r->own, r->room, LFT_BLOCK_LEN);
	}
	r->data[block] = (uint8_t)++r->nown;
	return r->own + (r->nown - 1u) * LFT_BLOCK_LEN;
}

void
plan_row_set(struct plan_row **r, uint32_t lid, uint8_t port)
{
	uint32_t block = lid / LFT_BLOCK_LEN;
	struct plan_row *row = *r, *next = NULL;
	uint8_t *entries;

	if (is_shared(row))
		next = plan_row_copy(row);
	else if (row->base && !row->data[block] && row->nown == most_own(row->len))
		next = copy_whole(row);
	if (next) {
		plan_row_unref(row);
		*r = next;
		plan_row_set(r, lid, port);
		return;
	}
	if (!row->base) {
		row->data[lid] = port;
		return;
	}
	if (row->data[block]) {
		entries = row->own + (row->data[block] - 1u) * LFT_BLOCK_LEN;
	} else {
		entries = add_block(row, block);
		memcpy(entries, row->base->data + block * LFT_BLOCK_LEN, LFT_BLOCK_LEN);
	}
	entries[lid % LFT_BLOCK_LEN] = port;
}

/* The same entries on another base; NULL if too many blocks differ. */
static struct plan_row *
rebase(const struct plan_row *r, const struct plan_row *base)
{
	uint32_t n = plan_row_blocks(base), most = most_own(r->len), b;
	struct plan_row *row = most ? row_on(base, 2) : NULL;

	for (b = plan_row_differs(r, base, 0); row && b < n; b = plan_row_differs(r, base, b + 1)) {
		if (row->nown == most) {
			plan_row_unref(row);
			return NULL;
		}
		memcpy(add_block(row, b), plan_row_block(r, b), LFT_BLOCK_LEN);
	}
	return row;
}

/* Does it have own blocks that are as in its base? */
static bool
is_idle(const struct plan_row *r)
{
	uint32_t n = plan_row_blocks(r), differ = 0;

	for (uint32_t b = plan_row_differs(r, r->base, 0); b < n;
	     b = plan_row_differs(r, r->base, b + 1))
		differ++;
	return differ < r->nown;
}

struct plan_row *
plan_row_settle(struct plan_row *made, struct plan_row *old)
{
	struct plan_row *base = old && old->base ? old->base : old, *row;

	if (!old || made == old || made->len != old->len)
		return made;
	row = made == base || (made->base == base && !is_idle(made)) ? made : rebase(made, base);
	if (!row)
		row = made;
	else if (row != made)
		plan_row_unref(made);
	if (plan_row_equal(row, old))
		made = plan_row_ref(old);
	else if (row->base == base && !row->nown)
		made = plan_row_ref(base);
	else
		return row;
	plan_row_unref(row);
	return made;
}

struct plan_row *
plan_row_ref(struct plan_row *r)
{
	if (r)
		__atomic_add_fetch(&r->refs, 1, __ATOMIC_RELAXED);
	return r;
}

void
plan_row_unref(struct plan_row *r)
{
	while (r && __atomic_sub_fetch(&r->refs, 1, __ATOMIC_ACQ_REL) == 0) {
		struct plan_row *base = r->base;

		mem_free(r->own);
		mem_free(r);
		r = base;
	}
}

uint32_t
plan_row_differs(const struct plan_row *a, const struct plan_row *b, uint32_t block)
{
	uint32_t x = plan_row_blocks(a), y = plan_row_blocks(b), n = least(x, y);
	uint32_t from = block, most = x + y - n;
	bool shares = plan_row_whole(a) == plan_row_whole(b);

	if (a == b)
		return from < n ? n : from;
	for (; block < n; block++) {
		if (shares)
			block = least(next_own(a, block), next_own(b, block));
		if (block < n && memcmp(plan_row_block(a, block), plan_row_block(b, block),
					LFT_BLOCK_LEN) != 0)
			return block;
	}
	/* Both have no more blocks from here on. Never less than it was asked from: whoever goes on
	 * from there is to come to an end. */
	block = from < n ? n : from;
	return block < most ? block : from < most ? most : from;
}

bool
plan_row_equal(const struct plan_row *a, const struct plan_row *b)
{
	if (a == b)
		return true;
	if (!a || !b || a->len != b->len)
		return false;
	if (!a->nown && !b->nown)
		return memcmp(plan_row_whole(a), plan_row_whole(b), a->len) == 0;
	return plan_row_differs(a, b, 0) == plan_row_blocks(a);
}
