/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/columns.h"
#include <endian.h>
#include <string.h>
#include "sm/base/mem.h"

/*
 * Blocks are cut between homes where they can be, so that LIDs of one home meet in one block.
 * Eight rows are read at a time, and eight entries of each turned into columns by exchanging
 * quarters, as a matrix is transposed by halves.
 */
#define TILE 8u		/* rows, and entries of each */
#define LINE 64u	/* bytes: columns begin on lines of the cache of their own */

/* ---- The order ---- */

static bool
is_wanted(const struct plan_lids *l, const uint8_t *ports, uint32_t lid)
{
	const struct plan_dest *d = &l->dest[lid];

	return d->port != FABRIC_NONE && d->sw != FABRIC_NONE &&
		(!ports || ports[l->base[d->port]]);
}

/* Fills o->lid[]; returns where each home's begin (mem_array). */
static uint32_t *
sort_by_home(struct columns_order *o, const struct plan_lids *l, uint32_t nswitches,
	     const uint8_t *ports)
{
	uint32_t *first = mem_array(nswitches + 2u, sizeof(*first));

	/* Two places up, to be one place up when all are put in. */
	for (uint32_t lid = 1; lid <= l->top; lid++)
		if (is_wanted(l, ports, lid))
			first[l->dest[lid].sw + 2]++;
	for (uint32_t sw = 2; sw <= nswitches; sw++)
		first[sw] += first[sw - 1];
	for (uint32_t lid = 1; lid <= l->top; lid++)
		if (is_wanted(l, ports, lid))
			o->lid[first[l->dest[lid].sw + 1]++] = (uint16_t)lid;
	return first;
}

/* Behind the LIDs of the port of the one at `at`, and of those that lie between them. */
static uint32_t
end_of_port(const struct columns_order *o, const struct plan_lids *l, uint32_t at, uint32_t end)
{
	uint32_t first = at, last = o->lid[at] + 1u;

	for (; at < end && o->lid[at] < last && at - first < COLUMNS_LEN; at++) {
		uint32_t port = l->dest[o->lid[at]].port;
		uint32_t behind = l->base[port] + (1u << (l->lmc[port] & 7));

		last = behind > last ? behind : last;
	}
	return at;
}

/* The blocks of one home. */
static void
cut(struct columns_order *o, const struct plan_lids *l, uint32_t first, uint32_t end)
{
	uint32_t *begun = &o->first[o->nblocks];

	if (first > *begun && end - *begun > COLUMNS_LEN)
		*++begun = first;
	for (uint32_t at = first, next; at < end; at = next) {
		next = end_of_port(o, l, at, end);
		if (next - *begun > COLUMNS_LEN)
			*++begun = at;
	}
	o->nblocks = (uint32_t)(begun - o->first);
}

void
columns_order_init(struct columns_order *o, const struct plan_lids *l, uint32_t nswitches,
		   const uint8_t *ports)
{
	uint32_t *home;

	*o = (struct columns_order){
		.lid = mem_array(l->top + 1u, sizeof(*o->lid)),
		.first = mem_array(l->top + 2u, sizeof(*o->first)),
	};
	home = sort_by_home(o, l, nswitches, ports);
	for (uint32_t sw = 0; sw < nswitches; sw++)
		cut(o, l, home[sw], home[sw + 1]);
	if (home[nswitches])
		o->first[++o->nblocks] = home[nswitches];
	mem_free(home);
}

void
columns_order_free(struct columns_order *o)
{
	mem_free(o->lid);
	mem_free(o->first);
}

/* ---- Blocks ---- */

void
columns_init(struct columns *b, uint32_t nswitches, unsigned tables)
{
	*b = (struct columns){ .stride = ((nswitches + TILE) / LINE + 1) * LINE };
	/* Not a multiple of what a way of the cache holds. */
	if (b->stride / LINE % 2 == 0)
		b->stride += LINE;
	for (unsigned k = 0; k < tables; k++)
		b->out[k] = mem_array(b->stride, COLUMNS_LEN);
}

void
columns_free(struct columns *b)
{
	mem_free(b->out[0]);
	mem_free(b->out[1]);
}

/* Rows are read in the order of LIDs, for many follow each other. By insertion: they are few. */
static void
sort_slots(struct columns *b)
{
	uint8_t at[COLUMNS_LEN];

	for (uint32_t i = 0; i < b->len; i++) {
		uint32_t k = i;

		for (; k > 0 && b->sorted[k - 1] > b->lid[i]; k--) {
			b->sorted[k] = b->sorted[k - 1];
			at[k] = at[k - 1];
		}
		b->sorted[k] = b->lid[i];
		at[k] = (uint8_t)i;
	}
	for (uint32_t k = 0; k < b->len; k++)
		b->slot[at[k]] = (uint8_t)k;
	for (uint32_t k = b->len; k-- > 0;)
		b->run[k] = k + 1 < b->len && b->sorted[k + 1] == b->sorted[k] + 1 ?
			(uint8_t)(b->run[k + 1] + 1) : 1;
}

static void
read_row(const struct columns *b, const struct plan_row *row, uint8_t *entry)
{
	bool whole = row && plan_row_is_whole(row) && b->sorted[b->len - 1] < row->len;

	for (uint32_t k = 0; k < b->len; k += whole ? b->run[k] : 1u)
		if (whole)
			memcpy(entry + k, plan_row_whole(row) + b->sorted[k], b->run[k]);
		else
			entry[k] = plan_row_port(row, b->sorted[k]);
}

/* Exchange, between two words, what the one has above and the other below. */
static inline void
exchange(uint64_t *a, uint64_t *b, unsigned bits, uint64_t mask)
{
	uint64_t t = ((*a >> bits) ^ *b) & mask;

	*a ^= t << bits;
	*b ^= t;
}

/* The n-th bytes of eight words become the n-th word. The first byte is the lowest. */
static inline void
transpose(uint64_t w[TILE])
{
	for (unsigned i = 0; i < 4; i++)
		exchange(&w[i], &w[i + 4], 32, UINT64_C(0x00000000ffffffff));
	for (unsigned i = 0; i < 4; i++)
		exchange(&w[i / 2 * 4 + i % 2], &w[i / 2 * 4 + i % 2 + 2], 16,
			 UINT64_C(0x0000ffff0000ffff));
	for (unsigned i = 0; i < 8; i += 2)
		exchange(&w[i], &w[i + 1], 8, UINT64_C(0x00ff00ff00ff00ff));
}

static uint64_t
get_word(const uint8_t *bytes)
{
	uint64_t w;

	memcpy(&w, bytes, sizeof(w));
	return le64toh(w);
}

static void
turn_tile(const uint8_t *entry, uint8_t *out, size_t stride)
{
	uint64_t w[TILE];

	for (unsigned k = 0; k < TILE; k++)
		w[k] = get_word(entry + k * COLUMNS_LEN);
	transpose(w);
	for (unsigned k = 0; k < TILE; k++) {
		w[k] = htole64(w[k]);
		memcpy(out + k * stride, &w[k], sizeof(w[k]));
	}
}

static void
read_table(const struct columns *b, uint32_t nswitches, struct plan_row *const *rows, uint8_t *out)
{
	uint8_t entry[TILE * COLUMNS_LEN] = { 0 };

	for (uint32_t sw = 0; sw < nswitches; sw += TILE) {
		for (uint32_t k = 0; k < TILE && sw + k < nswitches; k++)
			read_row(b, rows[sw + k], entry + k * COLUMNS_LEN);
		for (uint32_t i = 0; i < b->len; i += TILE)
			turn_tile(entry + i, out + i * b->stride + sw, b->stride);
	}
}

/* At home entries differ from LID to LID: where all are right they become the same. */
static void
deliver(struct columns *b, uint32_t i, const struct plan_dest *d, unsigned tables)
{
	b->delivered[i] = true;
	for (unsigned k = 0; k < tables; k++)
		b->delivered[i] &= columns_of(b, k, i)[d->sw] == d->out;
	for (unsigned k = 0; k < tables && b->delivered[i]; k++)
		b->out[k][b->slot[i] * b->stride + d->sw] = 0;
}

static bool
is_like(const struct columns *b, uint32_t i, uint32_t j, uint32_t nswitches, unsigned tables)
{
	bool same = b->delivered[i] == b->delivered[j];

	for (unsigned k = 0; k < tables && same; k++)
		same = !memcmp(columns_of(b, k, i), columns_of(b, k, j), nswitches);
	return same;
}

void
columns_read(struct columns *b, const struct columns_order *o, uint32_t block,
	     const struct plan_lids *l, uint32_t nswitches, struct plan_row *const *rows,
	     struct plan_row *const *also)
{
	unsigned tables = also ? 2 : 1;
	uint32_t home = 0;

	b->lid = o->lid + o->first[block];
	b->len = o->first[block + 1] - o->first[block];
	sort_slots(b);
	read_table(b, nswitches, rows, b->out[0]);
	if (also)
		read_table(b, nswitches, also, b->out[1]);
	for (uint32_t i = 0; i < b->len; i++) {
		uint32_t j;

		deliver(b, i, &l->dest[b->lid[i]], tables);
		if (l->dest[b->lid[home]].sw != l->dest[b->lid[i]].sw)
			home = i;
		for (j = home; j < i; j++)
			if (b->like[j] == j && is_like(b, i, j, nswitches, tables))
				break;
		b->like[i] = (uint8_t)j;
	}
}
