/* SPDX-License-Identifier: BSD-2-Clause */
#include "plugins/host/host.h"

#include <string.h>
#include <sys/mman.h>
#include "sm/base/mem.h"
#include "sm/base/parallel.h"

/*
 * One run of an engine: its arrays are those that the daemon gave and those that it will read. Only
 * what can differ from its first value is looked at there.
 */
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#define PAGE 4096u

struct drop {
	uint8_t *lft;
	uint32_t row_len;
};

/* Have the pages of so many bytes at once, and not by a fault for each. Where the kernel does not
 * know how (before 5.14) they come as they are used. */
static void
fetch(uint8_t *at, size_t size)
{
	uintptr_t from = (uintptr_t)at / PAGE * PAGE;

	if (madvise((void *)from, (uintptr_t)at + size - from, MADV_POPULATE_WRITE) < 0)
		return;
}

static void
drop_rows(void *arg, unsigned thread, size_t first, size_t end)
{
	const struct drop *d = arg;

	(void)thread;
	fetch(d->lft + first * d->row_len, (end - first) * d->row_len);
	memset(d->lft + first * d->row_len, WEFT_DROP, (end - first) * d->row_len);
}

static void
make_fabric(const struct host *h, struct weft_fabric *f)
{
	const struct layout_input *in = h->in;
	const uint64_t *names = host_at(h, in->switch_name), *fixed = host_at(h, in->switch_fixed);
	const char **name = mem_array(in->nswitches, sizeof(*name));
	const uint8_t **row = mem_array(in->nswitches, sizeof(*row));

	for (uint32_t sw = 0; sw < in->nswitches; sw++) {
		name[sw] = host_at(h, names[sw]);
		row[sw] = host_at(h, fixed[sw]);
	}
	*f = (struct weft_fabric){
		.size = sizeof(*f), .nswitches = in->nswitches, .nlinks = in->nlinks,
		.nhosts = in->nhosts, .top_lid = in->top_lid, .row_len = in->row_len,
		.ports = in->ports, .max_lanes = in->max_lanes,
		.switch_guid = host_at(h, in->switch_guid), .switch_name = name,
		.switch_nports = host_at(h, in->switch_nports),
		.switch_rank = host_at(h, in->switch_rank), .switch_fixed = row,
		.link_first = host_at(h, in->link_first), .link_to = host_at(h, in->link_to),
		.link_out = host_at(h, in->link_out), .link_in = host_at(h, in->link_in),
		.link_back = host_at(h, in->link_back), .link_mbps = host_at(h, in->link_mbps),
		.lid_switch = host_at(h, in->lid_switch), .lid_port = host_at(h, in->lid_port),
		.lid_offset = host_at(h, in->lid_offset), .lid_class = host_at(h, in->lid_class),
		.lid_guid = host_at(h, in->lid_guid), .previous = host_at(h, in->previous),
		.root_guid = host_at(h, in->root_guid), .nroots = in->nroots,
	};
}

static void
make_result(struct host *h, struct weft_result *r)
{
	const struct layout_input *in = h->in;
	struct layout_result at;
	char *out = (char *)h->out;
	struct drop drop;

	layout_result(&at, in->nswitches, in->nlinks, in->row_len, in->ports);
	*r = (struct weft_result){
		.size = sizeof(*r), .lft = (uint8_t *)out + at.lft,
		.rank = (uint8_t *)out + at.rank, .classes = 1, .lanes = 1,
		.path_class = (uint8_t *)out + at.path_class, .lane = (uint8_t *)out + at.lane,
		.sets_max = LAYOUT_SETS, .nsets = (void *)(out + at.nsets),
		.set = (void *)(out + at.set), .set_of = (void *)(out + at.set_of),
		.trees_max = LAYOUT_TREES, .tree = (void *)(out + at.tree),
	};
	drop = (struct drop){ .lft = r->lft, .row_len = in->row_len };
	parallel_run(in->threads, in->nswitches, 64, drop_rows, &drop);
	memset(r->tree, 0xff, (size_t)LAYOUT_TREES * in->nswitches * sizeof(*r->tree));
}

void
route(struct host *h)
{
	struct weft_fabric f;
	struct weft_result r;
	int rc;

	if (!h->plugin.engine)
		host_refuse(h, "is no engine");
	make_fabric(h, &f);
	make_result(h, &r);
	host_stage(h, LAYOUT_ROUTES);
	call_begin(h);
	rc = h->engine.route(&h->table, &f, &r);
	if (rc != WEFT_OK && rc != WEFT_REFUSED) {
		host_stage(h, LAYOUT_DONE);
		host_refuse(h, "returned %d from its function route, which means nothing", rc);
	}
	h->out->refused = rc == WEFT_REFUSED;
	if (h->out->refused)
		host_leave();
	h->out->has_rank = r.has_rank;
	h->out->classes = r.classes;
	h->out->lanes = r.lanes;
	h->out->has_sets = r.has_sets;
	h->out->ntrees = r.ntrees;
}
