/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PLUGINS_SET_H
#define PLUGINS_SET_H

#include "plugins/plugins.h"
#include "sm/conf/config.h"

/*
 * The plugins of a configuration, loaded. Immutable and reference-counted: jobs under way hold on
 * to one that has been replaced.
 */
struct engine;

struct plugin_entry {
	const struct config_plugin *conf;	/* in the set's configuration */
	const char *path;			/* of its file */
	const struct plugin *plugin;		/* NULL: it was refused */
	const char **values;			/* of its options; NULL entries: the initial one */
	/* For chains; that of a refused one refuses, with the reason. NULL: it is a consumer. */
	const struct engine *engine;
	/* Why its file was refused; .code 0: it was not. With a plugin: that is the one
	 * of before, which stays. */
	struct error why;
	/* What the configuration says wrongly of it: "FILE:LINE:COLUMN: ..."; .code 0: nothing. */
	struct error wrong;
};

struct plugin_set {
	uint32_t refs;				/* atomic */
	struct region *region;			/* of all of it */
	const struct config *conf;		/* a reference */
	struct plugin_entry *entries;		/* in the order of the configuration */
	unsigned len;				/* how many */
	const struct engine **engines;		/* of them, NULL-terminated: see engine_chain() */
};

/*
 * Load what `conf` names; blocks as plugin_load() does, so never on a loop. What is as it was in
 * `old` (NULL: nothing was before) goes on, with its figures. A file that is refused leaves the
 * plugin of before in its place, if it was of the same path. `only` (NULL: all): the others are
 * those of `old`, which is of the same configuration.
 */
struct plugin_set *
plugin_set_load(const struct config *conf, const struct plugin_set *old, const char *only);
const struct plugin_set *
plugin_set_ref(const struct plugin_set *s);	/* NULL is allowed */
void
plugin_set_unref(const struct plugin_set *s);	/* NULL is allowed */

/* The first thing that the configuration says wrongly: ERR_INVALID and the sentence; 0: nothing. */
int
plugin_set_wrong(const struct plugin_set *s, struct error *e);
/* NULL: it has none of that name; so of a NULL set. */
const struct plugin_entry *
plugin_set_find(const struct plugin_set *s, const char *name);
/* An engine of the set, refused ones too, or NULL. */
const struct engine *
plugin_set_engine(const struct plugin_set *s, const char *name);
/* What came of the files of plugins that both have, and of the others that were refused: for each
 * difference `fn` (may be NULL) is called as by config_diff(). */
enum config_stage
plugin_set_diff(const struct plugin_set *old, const struct plugin_set *fresh, config_diff_fn fn,
		void *arg);
/* Code, values of options and limits are the same. */
bool
plugin_entry_same(const struct plugin_entry *a, const struct plugin_entry *b);

#endif
