/* SPDX-License-Identifier: BSD-2-Clause */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
#include "plugins/plugin.h"

/*
 * Plugins that cannot be loaded, each wrong in one way: ODD tells which. Without it nothing is
 * wrong.
 */
#ifndef ODD
#define ODD none
#endif
enum { none, major, minor, brief, both, neither, noroute, name, option, twice, initial, crash,
       leave, nameless, manyoptions, wildtext, shortoption, level, missing, nosymbol };

void missing_function(void);

static int
route(const struct weft_host *host, const struct weft_fabric *f, struct weft_result *r)
{
	(void)f, (void)r;
	host->refuse(host, "never");
	return WEFT_REFUSED;
}

static int
event(const struct weft_host *host, void *state, const struct weft_event *e)
{
	(void)host, (void)state, (void)e;
	return WEFT_OK;
}

static const struct weft_engine engine = {
	.size = sizeof(engine), .topologies = "any", .route = ODD == noroute ? NULL : route,
};
static const struct weft_consumer consumer = {
	.size = sizeof(consumer), .level = ODD == level ? 99 : WEFT_LOG_INFO, .event = event,
};
static const struct weft_option options[] = {
	{ ODD == shortoption ? 8 : sizeof(struct weft_option), WEFT_OPTION_NUMBER,
	  ODD == option ? "No Name" : "one", ODD == initial ? "11" : "1", 0, 10, NULL, "Help." },
	{ sizeof(struct weft_option), WEFT_OPTION_FLAG, ODD == twice ? "one" : "two", "true", 0, 0,
	  NULL, "Help." },
};

__attribute__((constructor)) static void
begin(void)
{
	volatile int *volatile nowhere = (volatile int *)(uintptr_t)16;

	if (ODD == crash)
		*nowhere = 1;
	if (ODD == leave)
		_exit(0);
#ifdef MISSING
	missing_function();
#endif
}

#ifdef NOSYMBOL
#define SYMBOL some_plugin
#else
#define SYMBOL weft_plugin
#endif
WEFT_PLUGIN_EXPORT const struct weft_plugin SYMBOL = {
	.abi = ODD == major ? 2u << 16 : ODD == minor ? WEFT_PLUGIN_ABI + 1 : WEFT_PLUGIN_ABI,
	.size = ODD == brief ? 16 : sizeof(struct weft_plugin),
	.name = ODD == name ? "Odd" : ODD == nameless ? NULL : "odd", .version = "1",
	.help = ODD == wildtext ? (const char *)(uintptr_t)24 : "odd", .options = options,
	.noptions = ODD == manyoptions ? 1000 : 2,
	.engine = ODD == neither || ODD == level ? NULL : &engine,
	.consumer = ODD == both || ODD == level ? &consumer : NULL,
};
