/* SPDX-License-Identifier: BSD-2-Clause */
#include "plugins/plugin.h"

/*
 * An engine that does next to nothing: it fills each table from end to end. What its process costs
 * beside it is what isolation costs (tests/bench/bench_plugin.c).
 */
static int
fill_route(const struct weft_host *host, const struct weft_fabric *f, struct weft_result *r)
{
	(void)host;
	for (uint32_t s = 0; s < f->nswitches; s++) {
		uint32_t first = f->link_first[s], len = f->link_first[s + 1] - first;
		uint8_t *row = r->lft + (size_t)s * f->row_len;

		for (uint32_t lid = 1, i = 0; lid <= f->top_lid; lid++) {
			if (f->lid_switch[lid] == s)
				row[lid] = f->lid_port[lid];
			else if (len)
				row[lid] = f->link_out[first + i];
			i = i + 1 < len ? i + 1 : 0;
		}
	}
	return WEFT_OK;
}

static const struct weft_engine fill = {
	.size = sizeof(fill), .topologies = "none", .route = fill_route,
};

WEFT_PLUGIN_EXPORT const struct weft_plugin weft_plugin = {
	.abi = WEFT_PLUGIN_ABI, .size = sizeof(weft_plugin), .name = "fill", .version = "1",
	.help = "fills tables", .engine = &fill,
};
