/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "plugins/impl.h"
#include "tests/unit/route_help.h"

/*
 * What a process of a plugin leaves behind, which may be anything: a description, or with an even
 * first byte a result, whose beginning is the input and whose arrays each begin with the rest.
 */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
describe(const uint8_t *data, size_t size)
{
	struct plugin_core core = { .region = region_new() };
	struct error e = { 0 };

	if (!about_read(&core, data, size, &e) && !core.about.name[0])
		abort();
	region_free(core.region);
}

static void
put(const struct memory *m, const uint8_t *data, size_t size, uint64_t at, uint64_t end)
{
	if (size > end - at)
		size = end - at;
	if (pwrite(m->fd, data, size, (off_t)at) < 0)
		abort();
}

static void
fill(const struct memory *m, const uint8_t *data, size_t size, const struct layout_result *r)
{
	const uint64_t at[] = { r->lft, r->rank, r->path_class, r->lane, r->nsets, r->set,
				r->set_of, r->tree, r->size };
	size_t head = size < sizeof(struct layout_output) ? size : sizeof(struct layout_output);

	put(m, data, head, 0, r->lft);
	for (unsigned i = 0; i + 1 < sizeof(at) / sizeof(at[0]); i++)
		put(m, data + head, size - head, at[i], at[i + 1]);
}

static void
route(const struct fabric *f, struct plan_lids *lids, const uint8_t *data, size_t size)
{
	const struct engine_options options = { .threads = 1 };
	const struct engine_input in = { .fabric = f, .lids = lids, .options = &options };
	struct engine_output out = { .rows = mem_array(f->nswitches, sizeof(struct plan_row *)) };
	struct memory m = MEMORY_NONE;
	struct layout_result r;
	struct error e = { 0 };

	layout_result(&r, f->nswitches, f->nedges, plan_row_len(lids->top), input_ports(f));
	if (memory_new(&m, "fuzz", r.size, false, &e))
		abort();
	fill(&m, data, size, &r);
	if (!result_take(&in, &m, &out, &e) && !out.rows[0])
		abort();
	for (uint32_t sw = 0; sw < f->nswitches; sw++)
		plan_row_unref(out.rows[sw]);
	mem_free(out.rows);
	mem_free(out.ranks);
	plan_lanes_unref(out.lanes);
	plan_adaptive_unref(out.offered);
	plan_trees_unref(out.trees);
	memory_free(&m);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct fabric *f;
	static struct plan_lids *lids;

	if (!f) {
		f = help_generate("ft2 2 2 2", false, 1);
		lids = help_lids(f, 0);
	}
	if (!size)
		return 0;
	if (data[0] % 2)
		describe(data + 1, size - 1);
	else
		route(f, lids, data + 1, size - 1);
	return 0;
}
