/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/hops.h"
#include <stdio.h>
#include "sm/base/mem.h"
#include "sm/base/parallel.h"

/*
 * The tables of engines that route by a rule, and by detours where it finds nothing. All packets to
 * the destinations of one switch take the same links; they are spread over the cables of each.
 */
struct filler {
	const struct hops *h;		/* whose tables */
	struct engine_output *out;	/* rows */
	uint32_t *first;		/* by home switch: its LIDs in lid[] */
	uint16_t *lid;			/* in ascending order */
};

void
hops_init(struct hops *h, const struct engine_input *in, const struct links *links,
	  const struct hops_rule *rule)
{
	*h = (struct hops){
		.in = in, .links = links, .rule = *rule,
		.apart = mem_array(links->n + 1, sizeof(bool)),
	};
	for (uint32_t sw = 0; sw < links->n; sw++)
		h->apart[sw] = engine_is_fixed(in, sw);
}

void
hops_free(struct hops *h)
{
	mem_free(h->apart);
	mem_free(h->detours);
}

unsigned
hops_vls(const struct engine_input *in, unsigned most)
{
	unsigned allowed = in->options ? in->options->max_vls : 0;

	return links_vls(in->fabric, allowed && allowed < most ? allowed : most);
}

/* LIDs by home switch. */
static void
sort_lids(struct filler *f)
{
	const struct plan_lids *l = f->h->in->lids;
	uint32_t n = f->h->links->n, *fill = mem_array(n + 1, sizeof(*fill));

	f->first = mem_array(n + 2, sizeof(*f->first));
	f->lid = mem_array(l->top + 1u, sizeof(*f->lid));
	for (uint32_t lid = 1; lid <= l->top; lid++)
		if (l->dest[lid].sw != FABRIC_NONE)
			f->first[l->dest[lid].sw + 1]++;
	for (uint32_t sw = 0; sw < n; sw++) {
		f->first[sw + 1] += f->first[sw];
		fill[sw] = f->first[sw];
	}
	for (uint32_t lid = 1; lid <= l->top; lid++)
		if (l->dest[lid].sw != FABRIC_NONE)
			f->lid[fill[l->dest[lid].sw]++] = (uint16_t)lid;
	mem_free(fill);
}

/* Packets to the LIDs of one switch, by one variant: this link, spread over its cables. */
static void
fill_way(const struct filler *f, uint8_t *row, uint32_t way, uint32_t link)
{
	const struct links *l = f->h->links;
	uint32_t variants = f->h->rule.variants, home = way / variants, nports;
	const uint8_t *ports;

	if (link == LINKS_NONE)
		return;
	ports = &l->port[l->port_first[link]];
	nports = l->port_first[link + 1] - l->port_first[link];
	for (uint32_t i = way % variants; f->first[home] + i < f->first[home + 1]; i += variants)
		row[f->lid[f->first[home] + i]] =
			ports[nports > 1 ? (home + i / variants) % nports : 0];
}

/* The first detour from a switch, or from one behind it. */
static uint32_t
first_detour(const struct hops *h, uint32_t sw)
{
	uint32_t low = 0, high = h->ndetours;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (h->detours[mid].sw < sw)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static void
fill_row(const struct filler *f, uint32_t sw, uint8_t *row)
{
	const struct hops *h = f->h;
	unsigned variants = h->rule.variants;

	for (uint32_t home = 0; home < h->links->n; home++)
		for (unsigned v = 0; v < variants && home != sw; v++)
			fill_way(f, row, home * variants + v,
				 h->rule.link(h->rule.arg, sw, home, v));
	for (uint32_t i = f->first[sw]; i < f->first[sw + 1]; i++)
		row[f->lid[i]] = h->in->lids->dest[f->lid[i]].out;
	for (uint32_t d = first_detour(h, sw); d < h->ndetours && h->detours[d].sw == sw; d++)
		fill_way(f, row, h->detours[d].way, h->detours[d].link);
}

static void
fill_rows(void *arg, unsigned thread, size_t first, size_t end)
{
	const struct filler *f = arg;

	(void)thread;
	for (size_t sw = first; sw < end; sw++) {
		if (engine_is_fixed(f->h->in, (uint32_t)sw))
			continue;
		f->out->rows[sw] = plan_row_new(f->h->in->lids->top);
		fill_row(f, (uint32_t)sw, plan_row_entries(f->out->rows[sw]));
	}
}

void
hops_fill(const struct hops *h, struct engine_output *out)
{
	struct filler f = { .h = h, .out = out };

	sort_lids(&f);
	parallel_run(h->in->options ? h->in->options->threads : 0, h->links->n, 8, fill_rows, &f);
	mem_free(f.first);
	mem_free(f.lid);
}

void
hops_say(const struct hops *h, const char *name, const char *lost, struct engine_output *out)
{
	int len = snprintf(out->note, sizeof(out->note), "%s%s", name, lost);

	if (h->ndetours)
		snprintf(out->note + len, sizeof(out->note) - (size_t)len,
			 "; pairs that take detours: %u", h->ndetours);
}
