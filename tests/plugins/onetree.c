/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An engine for tests: all goes along one tree, so that nothing waits in a circle, whatever the
 * fabric. By its option `mode` it does something wrong instead, if a file is there.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "plugins/plugin.h"

#ifndef VERSION
#define VERSION "1"
#endif

/* By switch the link towards `to`, over links of the tree, or all of them without one. */
static void
search(const struct weft_fabric *f, const uint32_t *tree, uint32_t to, uint32_t *link,
       uint32_t *queue)
{
	uint32_t len = 0;

	for (uint32_t s = 0; s < f->nswitches; s++)
		link[s] = WEFT_NONE;
	queue[len++] = to;
	for (uint32_t i = 0; i < len; i++) {
		for (uint32_t l = f->link_first[queue[i]]; l < f->link_first[queue[i] + 1]; l++) {
			uint32_t s = f->link_to[l], back = f->link_back[l];

			if (s == to || link[s] != WEFT_NONE)
				continue;
			if (tree && tree[s] != back && tree[queue[i]] != l)
				continue;
			link[s] = back;
			queue[len++] = s;
		}
	}
}

static void
route_all(const struct weft_fabric *f, struct weft_result *r, uint32_t *room)
{
	uint32_t *tree = room, *link = room + f->nswitches, *queue = link + f->nswitches;

	if (f->nswitches)
		search(f, NULL, 0, tree, queue);
	for (uint32_t lid = 1; lid <= f->top_lid; lid++) {
		uint32_t to = f->lid_switch[lid];

		if (to == WEFT_NONE)
			continue;
		search(f, tree, to, link, queue);
		for (uint32_t s = 0; s < f->nswitches; s++) {
			uint8_t *port = &r->lft[(size_t)s * f->row_len + lid];

			if (s == to)
				*port = f->lid_port[lid];
			else if (link[s] != WEFT_NONE)
				*port = f->link_out[link[s]];
		}
	}
}

static int
route(const struct weft_host *host, const struct weft_fabric *f, struct weft_result *r)
{
	const char *mode = host->text(host, "mode"), *file = host->text(host, "when");
	uint32_t *room;

	if (!*file || access(file, F_OK) == 0) {
		if (strcmp(mode, "crash") == 0)
			abort();
		while (strcmp(mode, "hang") == 0)
			;
		if (strcmp(mode, "refuse") == 0) {
			host->refuse(host, "nothing suits it");
			return WEFT_REFUSED;
		}
	}
	room = malloc((3 * (size_t)f->nswitches + 1) * sizeof(*room));
	if (!room)
		return WEFT_REFUSED;
	host->note(host, "by version " VERSION);
	route_all(f, r, room);
	free(room);
	return WEFT_OK;
}

static const char *const modes[] = { "route", "crash", "hang", "refuse", NULL };

static const struct weft_option options[] = {
	{ sizeof(struct weft_option), WEFT_OPTION_WORD, "mode", "route", 0, 0, modes,
	  "What it does wrong." },
	{ sizeof(struct weft_option), WEFT_OPTION_TEXT, "when", "", 0, 255, NULL,
	  "Only when this file is there." },
	{ sizeof(struct weft_option), WEFT_OPTION_NUMBER, "seed", "7", 0, 1000, NULL,
	  "Is not used." },
};

static const struct weft_engine engine = {
	.size = sizeof(engine), .topologies = "any", .route = route,
};

WEFT_PLUGIN_EXPORT const struct weft_plugin weft_plugin = {
	.abi = WEFT_PLUGIN_ABI, .size = sizeof(weft_plugin), .name = "onetree", .version = VERSION,
	.help = "Along one tree.", .options = options,
	.noptions = sizeof(options) / sizeof(options[0]), .engine = &engine,
};
