/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include "tests/plugins/plugin_1_0.h"

/*
 * A plugin as it was built for the first version of the ABI, whose header is kept beside it: it has
 * to load and to route for as long as the major version stays.
 */
static int
frozen_route(const struct weft_host *host, const struct weft_fabric *f, struct weft_result *r)
{
	uint32_t *queue = malloc((f->nswitches + 1u) * sizeof(*queue));

	if (host->size < sizeof(*host) || f->size < sizeof(*f) || r->size < sizeof(*r) ||
	    host->abi < WEFT_PLUGIN_ABI || host->number(host, "seed") != 7) {
		host->refuse(host, "the host has less than there was");
		return WEFT_REFUSED;
	}
	for (uint32_t lid = 1; lid <= f->top_lid; lid++) {
		uint32_t home = f->lid_switch[lid], len = 0;

		if (home == WEFT_NONE)
			continue;
		r->lft[(size_t)home * f->row_len + lid] = f->lid_port[lid];
		queue[len++] = home;
		for (uint32_t i = 0; i < len; i++)
			for (uint32_t l = f->link_first[queue[i]];
			     l < f->link_first[queue[i] + 1]; l++) {
				uint8_t *entry = r->lft + (size_t)f->link_to[l] * f->row_len + lid;

				if (*entry != WEFT_DROP || f->link_to[l] == home)
					continue;
				*entry = f->link_in[l];
				queue[len++] = f->link_to[l];
			}
	}
	free(queue);
	host->note(host, f->previous ? "again" : "first");
	return WEFT_OK;
}

static const struct weft_option options[] = {
	{ sizeof(struct weft_option), WEFT_OPTION_FLAG, "flag", "true", 0, 0, NULL, "A flag." },
	{ sizeof(struct weft_option), WEFT_OPTION_NUMBER, "seed", "7", 0, 9, NULL, "A number." },
};

static const struct weft_engine engine = {
	.size = sizeof(engine), .flags = WEFT_ENGINE_PREVIOUS, .topologies = "any",
	.route = frozen_route,
};

WEFT_PLUGIN_EXPORT const struct weft_plugin weft_plugin = {
	.abi = WEFT_PLUGIN_ABI, .size = sizeof(weft_plugin), .name = "frozen", .version = "1.0",
	.help = "of the first version", .options = options, .noptions = 2, .engine = &engine,
};
