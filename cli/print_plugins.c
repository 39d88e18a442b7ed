/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cli.h"

#include <string.h>
#include "sm/base/table.h"

/*
 * Plugins for people: a line for each, then what is wrong with them, then their options.
 */
#define N(o, key) ((unsigned long long)field_uint(o, key))

static bool
is(const json_t *o, const char *key, const char *word)
{
	return strcmp(field_str(o, key), word) == 0;
}

static void
cell_time(struct table *t, const json_t *o, const char *key)
{
	if (N(o, "runs"))
		table_cell(t, "%.1f ms", json_number_value(json_object_get(o, key)));
	else
		table_cell(t, "-");
}

static void
put_row(struct table *t, const json_t *o)
{
	bool known = field_str(o, "kind")[0], consumer = is(o, "kind", "consumer");

	table_cell(t, "%s", field_str(o, "name"));
	table_cell(t, "%s", known ? field_str(o, "kind") : "-");
	table_cell(t, "%s", field_str(o, "state"));
	table_cell(t, "%s", known ? field_str(o, "version") : "-");
	table_cell(t, known ? "%llu.%llu" : "-", N(o, "abi_major"), N(o, "abi_minor"));
	table_cell(t, known ? "%llu" : "-", N(o, "runs"));
	table_cell(t, known ? "%llu" : "-", N(o, "failures"));
	cell_time(t, o, "last_ms");
	cell_time(t, o, "most_ms");
	table_cell(t, consumer ? "%llu" : "-", N(o, "sent"));
	table_cell(t, consumer ? "%llu" : "-", N(o, "lost"));
	table_cell(t, "%s", field_str(o, "file"));
}

static void
put_troubles(const json_t *o)
{
	bool known = field_str(o, "kind")[0];

	if (field_str(o, "refused")[0])
		emit(stdout, "%s%s\n", field_str(o, "refused"),
		     known ? "; the one of before stays" : "");
	if (field_str(o, "failure")[0])
		emit(stdout, "plugin %s %s, at %s\n", field_str(o, "name"),
		     field_str(o, "failure"), field_str(o, "failed"));
}

static void
put_range(const json_t *o)
{
	json_t *word;
	size_t i;

	if (is(o, "type", "number"))
		emit(stdout, "%s to %s, ", field_str(o, "min"), field_str(o, "max"));
	json_array_foreach(json_object_get(o, "words"), i, word)
		emit(stdout, "%s, ", json_string_value(word));
	if (is(o, "type", "flag"))
		emit(stdout, "true or false, ");
}

void
print_plugin_options(const json_t *plugin)
{
	json_t *o;
	size_t i;

	json_array_foreach(json_object_get(plugin, "options"), i, o) {
		emit(stdout, "%s.%s = %s  (", field_str(plugin, "name"), field_str(o, "name"),
		     field_str(o, "value")[0] ? field_str(o, "value") : "\"\"");
		put_range(o);
		emit(stdout, "initially %s)  %s\n",
		     field_str(o, "initial")[0] ? field_str(o, "initial") : "\"\"",
		     field_str(o, "help"));
	}
}

void
print_plugins(const struct cli *c, const json_t *data)
{
	static const struct table_column columns[] = {
		{ "PLUGIN", false }, { "KIND", false }, { "STATE", false }, { "VERSION", false },
		{ "ABI", false }, { "RUNS", true }, { "FAILURES", true }, { "LAST", true },
		{ "LONGEST", true }, { "SENT", true }, { "LOST", true }, { "FILE", false },
	};
	const json_t *plugins = json_object_get(data, "plugins");
	struct table *t = table_new(columns, sizeof(columns) / sizeof(columns[0]));
	json_t *o;
	size_t i;

	(void)c;
	json_array_foreach(plugins, i, o)
		put_row(t, o);
	if (json_array_size(plugins))
		table_print(t, stdout);
	else
		emit(stdout, "the configuration names no plugins\n");
	table_free(t);
	json_array_foreach(plugins, i, o)
		put_troubles(o);
	json_array_foreach(plugins, i, o)
		print_plugin_options(o);
}

void
print_plugin_reload(const struct cli *c, const json_t *data)
{
	const json_t *changes = json_object_get(data, "changes");
	json_t *line;
	size_t i;

	(void)c;
	json_array_foreach(changes, i, line)
		emit(stdout, "%s\n", json_string_value(line));
	if (!json_array_size(changes))
		emit(stdout, "the files have not changed\n");
	else if (field_bool(data, "dry_run"))
		emit(stdout, "dry run, nothing is changed\n");
}
