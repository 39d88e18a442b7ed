/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_PLUGIN_VIEW_H
#define FABRIC_PLUGIN_VIEW_H

#include <stdbool.h>
#include <stdint.h>

/* Plugins, for `weft show plugins` and `weft show engines`. Texts are borrowed until the next turn
 * of the loop. */
struct plugin_row {
	const char *name;
	const char *kind;		/* "engine", "consumer"; NULL: not known */
	const char *state;		/* "loaded", "refused"; of consumers "opening", "running",
					 * "waiting", "closing" */
	const char *file;		/* path */
	const char *refused;		/* why its file was, last; NULL: it was not */
	const char *version;		/* of it; NULL: not known, as all further ones */
	const char *help;
	const char *topologies;		/* engines */
	bool deadlock_free;		/* engines: they claim it */
	uint32_t abi;			/* that it was built for */
	uint64_t runs;			/* routings, or starts of a consumer */
	uint64_t failures;
	double last_ms;			/* time of a run */
	double most_ms;
	int64_t loaded;			/* microseconds since 1970; 0: never, as the others */
	int64_t failed;			/* when it failed last */
	char failure[320];		/* and how */
	uint64_t sent;			/* consumers: events */
	uint64_t lost;
	unsigned waiting;		/* to be sent, at most */
	int64_t since;			/* consumers: of `state` */
};

struct plugin_option_row {
	const char *name;
	const char *value;		/* now */
	const char *initial;
	const char *help;
	const char *type;		/* "number", "flag", "text", "word" */
	uint64_t min, max;		/* numbers, and bytes of texts */
	const char *const *words;	/* NULL-terminated; NULL */
};

#endif
