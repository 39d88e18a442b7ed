/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/rows.h"
#include <stdio.h>
#include <string.h>
#include "routing/sets.h"
#include "sm/base/mem.h"

/*
 * The links of a triangle are of one dimension, and so are those that face each other in a square
 * whose corners have no other way around. Without the links of a dimension the fabric falls into
 * as many parts as that has places.
 */
#define NONE UINT32_MAX

struct finder {
	const struct links *l;		/* whose shape */
	uint32_t *set;			/* by link: union-find; then its dimension */
	unsigned dims;			/* found */
	uint32_t side[ROWS_DIMS];	/* parts without each of them */
	uint32_t *part;			/* by dimension, then switch: which part */
	uint32_t *queue;		/* scratch: switches */
};

static int
no_rows(const struct finder *f, uint32_t sw, const char *why, struct error *e)
{
	char text[FABRIC_NAME_SIZE];

	fabric_node_text(text, f->l->f, f->l->f->switches[sw], FABRIC_NAME_LEN);
	return error_set(e, ERR_REFUSED, "the switches form no HyperX: %s %s", text, why);
}

/* A link by the lower of its two numbers. */
static uint32_t
named(const struct links *l, uint32_t link)
{
	return link < l->back[link] ? link : l->back[link];
}

static uint32_t
between(const struct links *l, uint32_t a, uint32_t b)
{
	uint32_t link = links_between(l, a, b);

	return link == LINKS_NONE ? NONE : named(l, link);
}

/* The one switch but `sw` that is a neighbour of both; NONE: none, or several. */
static uint32_t
other_corner(const struct links *l, uint32_t sw, uint32_t a, uint32_t b)
{
	uint32_t found = NONE, i = l->first[a], k = l->first[b];

	while (i < l->first[a + 1] && k < l->first[b + 1]) {
		if (l->to[i] == l->to[k] && l->to[i] != sw) {
			if (found != NONE)
				return NONE;
			found = l->to[i];
		}
		if (l->to[i] < l->to[k])
			i++;
		else
			k++;
	}
	return found;
}

/* Two links at a switch: they are of one dimension, or each is of that of the link it faces. */
static void
join_corner(struct finder *f, uint32_t sw, uint32_t i, uint32_t k)
{
	const struct links *l = f->l;
	uint32_t a = l->to[i], b = l->to[k], third = between(l, a, b), corner;

	if (third != NONE) {
		sets_join(f->set, named(l, i), third);
		sets_join(f->set, named(l, k), third);
		return;
	}
	corner = other_corner(l, sw, a, b);
	if (corner == NONE)
		return;
	sets_join(f->set, named(l, i), between(l, b, corner));
	sets_join(f->set, named(l, k), between(l, a, corner));
}

static int
find_dims(struct finder *f, struct error *e)
{
	const struct links *l = f->l;
	uint32_t *number = mem_array(l->len + 1, sizeof(*number));

	for (uint32_t i = 0; i < l->len; i++)
		f->set[i] = i;
	for (uint32_t sw = 0; sw < l->n; sw++)
		for (uint32_t i = l->first[sw]; i < l->first[sw + 1]; i++)
			for (uint32_t k = i + 1; k < l->first[sw + 1]; k++)
				join_corner(f, sw, i, k);
	for (uint32_t i = 0; i < l->len; i++)
		if (named(l, i) == i)
			number[i] = sets_root(f->set, i) == i ? f->dims++ :
								number[sets_root(f->set, i)];
	for (uint32_t i = 0; i < l->len; i++)
		f->set[i] = number[named(l, i)];
	mem_free(number);
	if (f->dims && f->dims <= ROWS_DIMS)
		return 0;
	return no_rows(f, 0, "and others have links in no direction, or in more than eight", e);
}

/* The parts without the links of a dimension, numbered by their least switch. */
static void
find_parts(struct finder *f, unsigned dim)
{
	const struct links *l = f->l;
	uint32_t *part = &f->part[(size_t)dim * l->n];

	memset(part, 0xff, l->n * sizeof(*part));
	for (uint32_t sw = 0; sw < l->n; sw++) {
		uint32_t len = 0;

		if (part[sw] != NONE)
			continue;
		f->queue[len++] = sw;
		part[sw] = f->side[dim];
		for (uint32_t i = 0; i < len; i++)
			for (uint32_t k = l->first[f->queue[i]]; k < l->first[f->queue[i] + 1]; k++)
				if (f->set[k] != dim && part[l->to[k]] == NONE) {
					part[l->to[k]] = f->side[dim];
					f->queue[len++] = l->to[k];
				}
		f->side[dim]++;
	}
}

/* The longest first, else as found. */
static void
order_dims(const struct finder *f, unsigned *order)
{
	for (unsigned d = 0; d < f->dims; d++) {
		unsigned i = d;

		for (; i > 0 && f->side[d] > f->side[order[i - 1]]; i--)
			order[i] = order[i - 1];
		order[i] = d;
	}
}

static int
fill(const struct finder *f, struct rows *r, struct error *e)
{
	unsigned order[ROWS_DIMS];
	uint64_t places = 1;
	uint32_t n = f->l->n;
	bool *taken;
	int rc = 0;

	order_dims(f, order);
	r->dims = f->dims;
	r->at = mem_array((size_t)n * r->dims + 1, sizeof(*r->at));
	for (unsigned d = 0; d < r->dims; d++) {
		r->side[d] = f->side[order[d]];
		places *= r->side[d];
		if (places > 4u * n + 16)
			return no_rows(f, 0, "and others fill less than a quarter of one", e);
	}
	taken = mem_array(places, sizeof(*taken));
	for (uint32_t sw = 0; sw < n && !rc; sw++) {
		size_t place = 0;

		r->guid[sw] = fabric_switch_node(f->l->f, sw)->guid;
		for (unsigned d = 0; d < r->dims; d++) {
			uint32_t at = f->part[(size_t)order[d] * n + sw];

			r->at[(size_t)sw * r->dims + d] = at;
			place = place * r->side[d] + at;
		}
		if (taken[place])
			rc = no_rows(f, sw, "would be in the place of another", e);
		taken[place] = true;
	}
	mem_free(taken);
	return rc;
}

/* Links join what differs in one coordinate, and most of those are there. */
static int
check(const struct finder *f, const struct rows *r, struct error *e)
{
	uint32_t *fits = rows_fit(r, f->l), want = 0;
	char text[ROWS_TEXT_SIZE];

	mem_free(fits);
	if (!fits)
		return no_rows(f, 0, "and others have links that join no row", e);
	for (unsigned d = 0; d < r->dims; d++)
		want += r->side[d] - 1;
	if (2 * (uint64_t)f->l->len < (uint64_t)want * r->n)
		return error_set(e, ERR_REFUSED, "the switches form no HyperX: half of the links "
				 "of a %s are missing", rows_text(text, r));
	return 0;
}

int
rows_find(const struct links *l, struct rows **rows, struct error *e)
{
	struct finder f = {
		.l = l, .set = mem_array(l->len + 1, sizeof(uint32_t)),
		.queue = mem_array(l->n + 1, sizeof(uint32_t)),
	};
	struct rows *r = mem_zalloc(sizeof(*r));
	int rc = l->n ? find_dims(&f, e) : error_set(e, ERR_REFUSED, "there is no switch");

	r->refs = 1;
	r->n = l->n;
	r->guid = mem_array(l->n + 1, sizeof(*r->guid));
	f.part = mem_array((size_t)f.dims * l->n + 1, sizeof(*f.part));
	for (unsigned d = 0; d < f.dims && !rc; d++)
		find_parts(&f, d);
	if (!rc)
		rc = fill(&f, r, e);
	if (!rc)
		rc = check(&f, r, e);
	mem_free(f.set);
	mem_free(f.part);
	mem_free(f.queue);
	if (rc)
		rows_unref(r);
	else
		*rows = r;
	return rc;
}

struct rows *
rows_ref(struct rows *r)
{
	__atomic_add_fetch(&r->refs, 1, __ATOMIC_RELAXED);
	return r;
}

void
rows_unref(void *rows)
{
	struct rows *r = rows;

	if (!r || __atomic_sub_fetch(&r->refs, 1, __ATOMIC_ACQ_REL))
		return;
	mem_free(r->guid);
	mem_free(r->at);
	mem_free(r);
}

static unsigned
differ(const uint32_t *a, const uint32_t *b, unsigned dims)
{
	unsigned n = 0;

	for (unsigned d = 0; d < dims; d++)
		n += a[d] != b[d];
	return n;
}

uint32_t *
rows_fit(const struct rows *r, const struct links *l)
{
	uint32_t *at = mem_array((size_t)l->n * r->dims + 1, sizeof(*at));
	bool fits = true;

	for (uint32_t sw = 0, i = 0; sw < l->n && fits; sw++) {
		uint64_t guid = fabric_switch_node(l->f, sw)->guid;

		while (i < r->n && r->guid[i] < guid)
			i++;
		fits = i < r->n && r->guid[i] == guid;
		if (fits)
			memcpy(&at[(size_t)sw * r->dims], &r->at[(size_t)i * r->dims],
			       r->dims * sizeof(*at));
	}
	for (uint32_t i = 0; i < l->len && fits; i++)
		fits = differ(&at[(size_t)l->from[i] * r->dims], &at[(size_t)l->to[i] * r->dims],
			      r->dims) == 1;
	if (fits)
		return at;
	mem_free(at);
	return NULL;
}

const char *
rows_text(char text[ROWS_TEXT_SIZE], const struct rows *r)
{
	size_t len;

	if (r->dims == 1) {
		snprintf(text, ROWS_TEXT_SIZE, "full mesh of %u switches", r->side[0]);
		return text;
	}
	len = (size_t)snprintf(text, ROWS_TEXT_SIZE, "HyperX of ");
	for (unsigned d = 0; d < r->dims; d++)
		len += (size_t)snprintf(text + len, ROWS_TEXT_SIZE - len, "%s%u", d ? "x" : "",
					r->side[d]);
	snprintf(text + len, ROWS_TEXT_SIZE - len, " switches");
	return text;
}
