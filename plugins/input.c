/* SPDX-License-Identifier: BSD-2-Clause */
#include "plugins/impl.h"

#include <string.h>
#include <unistd.h>
#include "routing/classes.h"
#include "routing/links.h"
#include "routing/ranks.h"
#include "sm/base/parallel.h"
#include "sm/base/version.h"

/*
 * What a process gets: settings, values of options, and for engines the fabric as flat arrays, as
 * plugin.h has them. First all is given a place, then it is filled.
 */
#define ALIGN 64u

struct input {
	const struct plugin *p;
	const struct engine_input *in;	/* NULL: no fabric */
	struct layout_input head;
	uint8_t *rank;			/* by switch; NULL: nothing is known */
	uint32_t *was;			/* by switch: the same in the previous plan; FABRIC_NONE */
	uint8_t *at;			/* where it all goes */
};

static uint64_t
place(struct input *i, uint64_t size)
{
	uint64_t at = i->head.size;

	i->head.size += (size + ALIGN - 1) / ALIGN * ALIGN;
	return at;
}

static void *
at(const struct input *i, uint64_t offset)
{
	return i->at + offset;
}

static const char *
option_value(const struct plugin *p, unsigned n)
{
	return p->values && p->values[n] ? p->values[n] : p->core->about.options[n].initial;
}

uint32_t
input_ports(const struct fabric *f)
{
	uint32_t ports = 1;

	for (uint32_t sw = 0; sw < f->nswitches; sw++)
		if (ports <= fabric_switch_node(f, sw)->nports)
			ports = fabric_switch_node(f, sw)->nports + 1u;
	return ports;
}

unsigned
input_lanes(const struct engine_input *in)
{
	unsigned most = in->options->max_vls ? in->options->max_vls : SLS_VLS;
	unsigned lanes;

	if (in->options->lanes && in->options->lanes < most)
		most = in->options->lanes;
	lanes = links_vls(in->fabric, most);
	return lanes ? lanes : 1;
}

/* ---- What is known of ranks, and of before ---- */

static void
find_former(struct input *i)
{
	const struct fabric *f = i->in->fabric;
	const struct plan *before = i->in->previous;

	i->was = mem_array(f->nswitches, sizeof(*i->was));
	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		uint32_t node = before ? fabric_node_by_guid(before->fabric,
							     fabric_switch_node(f, sw)->guid) :
				FABRIC_NONE;

		i->was[sw] = node == FABRIC_NONE ? node : before->fabric->nodes[node].sw;
	}
}

/* As the engines that rank have them: by roots that are configured or found, near to before. */
static void
find_ranks(struct input *i)
{
	uint32_t n = i->in->fabric->nswitches;
	struct error why = { 0 };
	struct ranks r;
	char note[200];

	if (!ranks_choose(i->in, &r, note, sizeof(note), &why)) {
		i->rank = mem_alloc(n + 1);
		for (uint32_t sw = 0; sw < n; sw++)
			i->rank[sw] = (uint8_t)r.rank[sw];
	}
	ranks_free(&r);
}

/* ---- Places ---- */

static void
place_options(struct input *i)
{
	const struct plugin_about *a = &i->p->core->about;
	uint64_t size = 0;

	for (unsigned n = 0; n < a->noptions; n++)
		size += strlen(a->options[n].name) + strlen(option_value(i->p, n)) + 2;
	i->head.noptions = a->noptions;
	i->head.options = place(i, size);
}

static bool
wants_previous(const struct input *i)
{
	return (i->p->core->about.flags & WEFT_ENGINE_PREVIOUS) && i->in->previous;
}

static void
place_switches(struct input *i)
{
	const struct fabric *f = i->in->fabric;
	struct layout_input *h = &i->head;
	uint64_t n = f->nswitches, names = 0, fixed = 0;

	for (uint32_t sw = 0; sw < n; sw++) {
		names += strlen(fabric_switch_node(f, sw)->name) + 1;
		fixed += engine_is_fixed(i->in, sw);
	}
	h->nswitches = f->nswitches;
	h->ports = input_ports(f);
	h->max_lanes = input_lanes(i->in);
	h->row_len = plan_row_len(i->in->lids->top);
	h->switch_guid = place(i, n * sizeof(uint64_t));
	h->switch_name = place(i, n * sizeof(uint64_t) + names);
	h->switch_nports = place(i, n);
	h->switch_rank = i->rank ? place(i, n) : 0;
	h->switch_fixed = place(i, n * sizeof(uint64_t) + fixed * h->row_len);
	h->previous = wants_previous(i) ? place(i, n * h->row_len) : 0;
}

static void
place_rest(struct input *i)
{
	struct layout_input *h = &i->head;
	uint64_t links = i->in->fabric->nedges, lids = i->in->lids->top + 1u;

	h->nlinks = i->in->fabric->nedges;
	h->nhosts = i->in->fabric->ncas;
	h->top_lid = i->in->lids->top;
	h->nroots = i->in->options->nroots;
	h->link_first = place(i, (h->nswitches + 1u) * sizeof(uint32_t));
	h->link_to = place(i, links * sizeof(uint32_t));
	h->link_out = place(i, links);
	h->link_in = place(i, links);
	h->link_back = place(i, links * sizeof(uint32_t));
	h->link_mbps = place(i, links * sizeof(uint32_t));
	h->lid_switch = place(i, lids * sizeof(uint32_t));
	h->lid_port = place(i, lids);
	h->lid_offset = place(i, lids);
	h->lid_class = place(i, lids);
	h->lid_guid = place(i, lids * sizeof(uint64_t));
	h->root_guid = place(i, h->nroots * sizeof(uint64_t));
}

/* ---- Filling ---- */

static void
fill_options(const struct input *i)
{
	const struct plugin_about *a = &i->p->core->about;
	char *to = at(i, i->head.options);

	for (unsigned n = 0; n < a->noptions; n++) {
		to = stpcpy(to, a->options[n].name) + 1;
		to = stpcpy(to, option_value(i->p, n)) + 1;
	}
}

static void
fill_switches(const struct input *i)
{
	const struct fabric *f = i->in->fabric;
	const struct layout_input *h = &i->head;
	uint64_t *guid = at(i, h->switch_guid), *name = at(i, h->switch_name);
	uint64_t *fixed = at(i, h->switch_fixed);
	uint64_t text = h->switch_name + f->nswitches * sizeof(*name);
	uint64_t row = h->switch_fixed + f->nswitches * sizeof(*fixed);
	uint8_t *nports = at(i, h->switch_nports);

	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		const struct fabric_node *node = fabric_switch_node(f, sw);

		guid[sw] = node->guid;
		nports[sw] = node->nports;
		name[sw] = text;
		text += (uint64_t)(stpcpy(at(i, text), node->name) + 1 - (char *)at(i, text));
		if (!engine_is_fixed(i->in, sw))
			continue;
		fixed[sw] = row;
		for (uint32_t lid = 0; lid < h->row_len; lid++)
			i->at[row + lid] = plan_row_port(i->in->fixed ? i->in->fixed[sw] : NULL,
							 lid);
		row += h->row_len;
	}
	if (i->rank)
		memcpy(at(i, h->switch_rank), i->rank, f->nswitches);
}

static void
fill_previous(void *arg, unsigned thread, size_t first, size_t end)
{
	const struct input *i = arg;
	uint32_t len = i->head.row_len;

	(void)thread;
	for (size_t sw = first; sw < end; sw++) {
		const struct plan_row *row = i->was[sw] == FABRIC_NONE ? NULL :
					     i->in->previous->rows[i->was[sw]];
		uint8_t *to = at(i, i->head.previous + sw * len);
		uint32_t known = !row ? 0 : row->len < len ? row->len : len;

		if (known)
			plan_row_read(row, to, known);
		memset(to + known, LFT_NO_PORT, len - known);
	}
}

static void
fill_links(const struct input *i)
{
	const struct fabric *f = i->in->fabric;
	const struct layout_input *h = &i->head;
	uint32_t *to = at(i, h->link_to), *back = at(i, h->link_back), *mbps = at(i, h->link_mbps);
	uint8_t *out = at(i, h->link_out), *in = at(i, h->link_in);
	uint32_t *by_port = mem_array((size_t)f->nswitches * h->ports, sizeof(*by_port));

	memcpy(at(i, h->link_first), f->edge_first, (f->nswitches + 1u) * sizeof(uint32_t));
	for (uint32_t sw = 0; sw < f->nswitches; sw++)
		for (uint32_t l = f->edge_first[sw]; l < f->edge_first[sw + 1]; l++)
			by_port[(size_t)sw * h->ports + f->edges[l].out] = l;
	for (uint32_t l = 0; l < f->nedges; l++) {
		const struct fabric_edge *edge = &f->edges[l];

		to[l] = edge->to;
		out[l] = edge->out;
		in[l] = edge->in;
		mbps[l] = edge->rate_mbps;
		back[l] = by_port[(size_t)edge->to * h->ports + edge->in];
	}
	mem_free(by_port);
}

static void
fill_lids(const struct input *i)
{
	const struct fabric *f = i->in->fabric;
	const struct layout_input *h = &i->head;
	const uint8_t *node_class = i->in->options->node_class;
	uint32_t *home = at(i, h->lid_switch);
	uint64_t *guid = at(i, h->lid_guid);
	uint8_t *port = at(i, h->lid_port), *offset = at(i, h->lid_offset);
	uint8_t *class = at(i, h->lid_class);

	for (uint32_t lid = 0; lid <= h->top_lid; lid++) {
		const struct plan_dest *dest = &i->in->lids->dest[lid];

		home[lid] = WEFT_NONE;
		if (dest->port == FABRIC_NONE)
			continue;
		home[lid] = dest->sw;
		port[lid] = dest->out;
		offset[lid] = dest->offset;
		guid[lid] = f->ports[dest->port].guid;
		class[lid] = node_class ? node_class[f->ports[dest->port].node] : CLASS_COMPUTE;
	}
}

static void
fill(struct input *i)
{
	memcpy(i->at, &i->head, sizeof(i->head));
	fill_options(i);
	if (!i->in)
		return;
	fill_switches(i);
	fill_links(i);
	fill_lids(i);
	if (i->head.previous)
		parallel_run(i->in->options->threads, i->head.nswitches, 64, fill_previous, i);
	if (i->head.nroots)
		memcpy(at(i, i->head.root_guid), i->in->options->roots,
		       i->head.nroots * sizeof(uint64_t));
}

int
input_make(struct memory *m, const struct plugin *p, enum layout_mode mode,
	   const struct engine_input *in, struct error *e)
{
	struct input i = { .p = p, .in = in, .head = {
		.version = WEFT_VERSION, .memory = p->limits.memory, .mode = mode,
		.parent = (uint32_t)getpid(), .uid = p->uid, .gid = p->gid,
		.time_ms = p->limits.time_ms,
		.threads = parallel_threads(in ? in->options->threads : 1),
	} };
	int rc;

	place(&i, sizeof(i.head));
	place_options(&i);
	if (in) {
		find_former(&i);
		find_ranks(&i);
		place_switches(&i);
		place_rest(&i);
	}
	rc = memory_new(m, "weft-input", i.head.size, false, e);
	if (!rc) {
		i.at = m->at;
		fill(&i);
		rc = memory_seal(m, e);
	}
	mem_free(i.rank);
	mem_free(i.was);
	return rc;
}
