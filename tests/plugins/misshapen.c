/* SPDX-License-Identifier: BSD-2-Clause */
/* Plugins that must be refused when they are loaded; which of them, the compiler is told. */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
#include <weft/plugin.h>

#ifndef NAME
#define NAME "misshapen"
#endif
#ifndef ABI
#define ABI WEFT_PLUGIN_ABI
#endif
#ifndef SIZE
#define SIZE sizeof(struct weft_plugin)
#endif
#ifndef ENGINE_SIZE
#define ENGINE_SIZE sizeof(struct weft_engine)
#endif
#ifndef INITIAL
#define INITIAL "1"
#endif
#ifndef OPTIONS
#define OPTIONS 1
#endif
#ifndef HELP
#define HELP "must be refused"
#endif
#ifndef SYMBOL
#define SYMBOL weft_plugin
#endif

#ifdef CONSTRUCTOR
__attribute__((constructor)) static void
begin(void)
{
	CONSTRUCTOR;
}
#endif

static int
route(const struct weft_host *host, const struct weft_fabric *f, struct weft_result *r)
{
	(void)host;
	(void)f;
	(void)r;
	return WEFT_REFUSED;
}

static const struct weft_option options[] = {
	{ sizeof(struct weft_option), WEFT_OPTION_NUMBER, "n", INITIAL, 0, 9, NULL, "A number." },
	{ sizeof(struct weft_option), WEFT_OPTION_NUMBER, "n", "2", 0, 9, NULL, "The same." },
};
static const struct weft_engine engine = { ENGINE_SIZE, 0, "any", route };
static const struct weft_consumer consumer = { sizeof(consumer), 0, NULL, NULL, NULL, NULL, NULL };
WEFT_PLUGIN_EXPORT const struct weft_plugin SYMBOL;
const struct weft_plugin SYMBOL = {
	ABI, SIZE, NAME, "1", HELP, options, OPTIONS,
#ifdef NEITHER
	NULL, NULL,
#elif defined(BOTH)
	&engine, &consumer,
#elif defined(CONSUMER)
	NULL, &consumer,
#else
	&engine, NULL,
#endif
};
