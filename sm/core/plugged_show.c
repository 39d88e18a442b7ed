/* SPDX-License-Identifier: BSD-2-Clause */
/* Plugins for people: what the set, the figures of each and its process say. */
#include "sm/core/plugged_show.h"

#include <stdio.h>
#include "plugins/plugin.h"
#include "routing/engine.h"

static void
put_figures(const struct plugin *p, struct plugin_row *row)
{
	struct plugin_figures f;

	plugin_figures(p, &f);
	row->runs = f.runs;
	row->failures = f.failures;
	row->last_ms = (double)f.last_us / 1000;
	row->most_ms = (double)f.most_us / 1000;
	row->loaded = f.loaded;
	row->failed = f.failed;
	snprintf(row->failure, sizeof(row->failure), "%s", f.failure);
}

static void
put_consumer(const struct consumers *consumers, struct plugin_row *row)
{
	struct consumer_state s;

	if (!consumers || !consumers_state(consumers, row->name, &s))
		return;
	row->state = s.state;
	row->sent = s.sent;
	row->lost = s.lost;
	row->waiting = s.waiting;
	row->since = s.since;
}

bool
plugged_row(const struct plugin_set *set, const struct consumers *consumers, unsigned i,
	    struct plugin_row *row)
{
	const struct plugin_entry *x = set && i < set->len ? &set->entries[i] : NULL;
	const struct plugin_about *about;

	if (!x)
		return false;
	*row = (struct plugin_row){
		.name = x->conf->name, .file = x->path, .state = x->plugin ? "loaded" : "refused",
		.refused = x->why.code ? x->why.text : NULL,
	};
	if (!x->plugin)
		return true;
	about = plugin_about(x->plugin);
	row->kind = about->is_engine ? "engine" : "consumer";
	row->version = about->version;
	row->help = about->help;
	row->topologies = about->topologies;
	row->deadlock_free = x->engine && x->engine->deadlock_free;
	row->abi = about->abi;
	put_figures(x->plugin, row);
	put_consumer(consumers, row);
	return true;
}

bool
plugged_option(const struct plugin_set *set, unsigned i, unsigned n, struct plugin_option_row *row)
{
	static const char *const types[] = {
		[WEFT_OPTION_NUMBER] = "number", [WEFT_OPTION_FLAG] = "flag",
		[WEFT_OPTION_TEXT] = "text", [WEFT_OPTION_WORD] = "word",
	};
	const struct plugin_entry *x = set && i < set->len ? &set->entries[i] : NULL;
	const struct plugin_option *o;

	if (!x || !x->plugin || n >= plugin_about(x->plugin)->noptions)
		return false;
	o = &plugin_about(x->plugin)->options[n];
	*row = (struct plugin_option_row){
		.name = o->name, .value = x->values[n] ? x->values[n] : o->initial,
		.initial = o->initial, .help = o->help, .type = types[o->type], .min = o->min,
		.max = o->max, .words = o->words,
	};
	return true;
}
