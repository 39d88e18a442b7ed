/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PLUGINS_PLUGINS_H
#define PLUGINS_PLUGINS_H

#include <stdbool.h>
#include <stdint.h>
#include "sm/base/error.h"

/*
 * Plugins (plugin.h): shared objects of others, which run in processes of their own. A loaded one
 * is immutable but for its figures, and reference-counted: jobs under way hold on to one that has
 * been replaced. Its code is kept as it was when it was loaded, in memory that nobody can write
 * any more; what happens to the file later counts when it is loaded the next time.
 */
struct engine;
struct plugin;

struct plugin_limits {
	uint64_t memory;	/* bytes that its process may have, beside what it is given */
	unsigned time_ms;	/* for a run of an engine, or an event */
	const char *user;	/* its process is this one's, if the daemon may choose: "nobody" */
};

struct plugin_source {
	const char *name;	/* that it must have */
	const char *path;	/* of the shared object */
	bool trusted;		/* file and folder must be writable by root alone */
	struct plugin_limits limits;
};

/* An option that it declares, enum weft_option_type and so on as in plugin.h. */
struct plugin_option {
	const char *name;
	const char *initial;
	const char *help;
	const char *const *words;	/* NULL-terminated; NULL */
	uint64_t min, max;
	unsigned type;
};

/* What a plugin says of itself, checked. */
struct plugin_about {
	const char *name;
	const char *version;
	const char *help;
	const char *topologies;			/* engines; NULL for consumers */
	const char *const *types;		/* consumers: events wanted; NULL: all */
	unsigned level;				/* consumers: the least grave, enum log_level */
	uint32_t abi;				/* that it was built for */
	uint32_t flags;				/* engines: WEFT_ENGINE_* */
	bool is_engine;
	const struct plugin_option *options;	/* noptions */
	unsigned noptions;
};

struct plugin_figures {
	uint64_t runs;			/* routes, or starts of a consumer */
	uint64_t failures;
	uint64_t last_us, most_us;	/* time of a run */
	int64_t loaded, failed;		/* microseconds since 1970; 0 never */
	char failure[320];		/* the last one: one sentence; "" */
};

/*
 * Load one: reads the file, and has a process tell what it is. Blocks for as long as that takes, at
 * most 5 s, so never on a loop. ERR_REFUSED or another code and one sentence that names the plugin
 * and says why: not there, not readable, writable by others, no ELF object, symbol missing, another
 * ABI, short struct, another name, bad option, ended by a signal.
 */
int
plugin_load(const struct plugin_source *s, struct plugin **p, struct error *e);
/* The same with values for its options (about->noptions texts as in the configuration; NULL
 * entries: the initial one), which are checked already. Figures are shared. NULL and a sentence:
 * its process cannot be one of the user that `limits` names. */
struct plugin *
plugin_with(const struct plugin *p, const char *const *values, const struct plugin_limits *limits,
	    struct error *e);
struct plugin *
plugin_ref(const struct plugin *p);
void
plugin_unref(const struct plugin *p);		/* NULL is allowed */

const struct plugin_about *
plugin_about(const struct plugin *p);
/* The engine that it is, for engine chains; lives as long as `p`. NULL: it is a consumer. */
const struct engine *
plugin_engine(const struct plugin *p);
/* What became of it up to now; from any thread. */
void
plugin_figures(const struct plugin *p, struct plugin_figures *f);
/* Code and description are those of `q`. */
bool
plugin_same(const struct plugin *p, const struct plugin *q);

#endif
