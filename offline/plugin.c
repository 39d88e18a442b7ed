/* SPDX-License-Identifier: BSD-2-Clause */
#include "offline/offline.h"

#include <stdlib.h>
#include <string.h>
#include "plugins/plugins.h"
#include "sm/base/mem.h"

/*
 * --plugin: an engine of somebody else's, of a file that need not be anybody's in particular, with
 * options as a configuration would have them. It runs as it would for a daemon.
 */
static void
declare(const struct plugin_about *a, struct config_declared *d)
{
	for (unsigned i = 0; i < a->noptions; i++) {
		const struct plugin_option *o = &a->options[i];

		d[i] = (struct config_declared){
			.name = o->name, .kind = (enum config_kind)o->type, .min = o->min,
			.max = o->max, .words = o->words,
		};
	}
}

/* NAME=VALUE of the n-th --option stands at line n. */
static int
split(const struct offline *o, struct config_pair *pairs, struct region *r, struct error *e)
{
	for (unsigned i = 0; i < o->nsettings; i++) {
		const char *text = o->settings[i], *is = strchr(text, '=');

		if (!is)
			return error_set(e, ERR_INVALID, "--option %.100s: expected NAME=VALUE",
					 text);
		pairs[i] = (struct config_pair){
			.name = region_printf(r, "%.*s", (int)(is - text), text), .text = is + 1,
			.name_at = { i + 1, 1 }, .text_at = { i + 1, (unsigned)(is - text) + 2 },
		};
	}
	return 0;
}

/* "--option:2:6: why" becomes "--option seed=x: why". */
static int
blame(const struct offline *o, const struct error *why, struct error *e)
{
	const char *line = strchr(why->text, ':');
	unsigned n = line ? (unsigned)strtoul(line + 1, NULL, 10) : 0;
	const char *text = n ? strstr(line, ": ") : NULL;

	return n && n <= o->nsettings && text ?
		error_set(e, why->code, "--option %.100s%s", o->settings[n - 1], text) :
		error_set(e, why->code, "%s", why->text);
}

static int
read_options(const struct offline *o, const struct plugin *p, struct region *r,
	     const char ***values, struct error *e)
{
	const struct plugin_about *a = plugin_about(p);
	struct config_declared *declared = region_array(r, a->noptions + 1u, sizeof(*declared));
	struct config_pair *pairs = region_array(r, o->nsettings + 1u, sizeof(*pairs));
	const struct config c = { .file = "--option" };
	const struct config_plugin entry = { .name = a->name, .options = pairs,
					     .noptions = o->nsettings };
	struct error why = { 0 };
	int rc = split(o, pairs, r, e);

	if (rc)
		return rc;
	*values = region_array(r, a->noptions + 1u, sizeof(**values));
	declare(a, declared);
	rc = config_plugin_values(&c, &entry, declared, a->noptions, r, *values, &why);
	return rc ? blame(o, &why, e) : 0;
}

int
offline_plugin(const struct offline *o, struct plugin **p, struct error *e)
{
	struct plugin_source source = { .path = o->plugin, .limits = {
		.memory = (uint64_t)o->memory << 20, .time_ms = o->time_ms } };
	struct region *r = region_new();
	struct plugin *loaded = NULL;
	const char **values;
	int rc = plugin_load(&source, &loaded, e);

	if (!rc && !plugin_engine(loaded))
		rc = error_set(e, ERR_INVALID, "plugin %s is no routing engine: it is told of "
			       "events, see plugins in weft.yaml(5)", plugin_about(loaded)->name);
	if (!rc)
		rc = read_options(o, loaded, r, &values, e);
	*p = rc ? NULL : plugin_with(loaded, values, &source.limits, e);
	if (!rc && !*p)
		rc = e->code;
	plugin_unref(loaded);
	region_free(r);
	return rc;
}
