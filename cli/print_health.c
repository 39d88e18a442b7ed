/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cli.h"

#include <string.h>
#include "sm/base/table.h"

/* What is wrong with ports and devices, and what is done about it. */
#define N(o, key) ((unsigned long long)field_uint(o, key))

static void
cell_done(struct table *t, const json_t *v)
{
	const char *action = field_str(v, "action"), *left = field_str(v, "left");

	if (!strcmp(action, "drain"))
		table_cell(t, "traffic is kept off until it is well");
	else if (!strcmp(action, "isolate"))
		table_cell(t, "traffic is kept off until weft undrain");
	else if (!strcmp(action, "disable"))
		table_cell(t, "disabled until weft undrain");
	else
		table_cell(t, left[0] ? "nothing: %s" : "nothing", left);
}

static void
cell_what(struct table *t, const json_t *v)
{
	const json_t *errors = json_object_get(v, "errors");

	if (json_is_object(errors))
		table_cell(t, "errors: %s", field_str(errors, "text"));
	else
		table_cell(t, "%s", field_str(v, "condition"));
}

void
print_health(const struct cli *c, const json_t *data)
{
	static const struct table_column columns[] = {
		{ "NODE", false }, { "GUID", false },
		{ "PORT", true }, { "WHAT", false }, { "SEEN", true },
		{ "SINCE", false }, { "DONE", false },
	};
	const json_t *rows = json_object_get(data, "health");
	struct table *t;
	json_t *v;
	size_t i;

	(void)c;
	if (!json_array_size(rows)) {
		emit(stdout, "all ports and devices are well\n");
		return;
	}
	t = table_new(columns, 7);
	json_array_foreach(rows, i, v) {
		bool port = json_is_integer(json_object_get(v, "port"));

		table_cell(t, "%s", field_str(v, "node")[0] ? field_str(v, "node") : "-");
		table_cell(t, "%s", field_str(v, "guid"));
		table_cell(t, port ? "%llu" : "all", N(v, "port"));
		cell_what(t, v);
		table_cell(t, N(v, "count") ? "%llu" : "-", N(v, "count"));
		table_cell(t, "%s", field_str(v, "since"));
		cell_done(t, v);
	}
	table_print(t, stdout);
	table_free(t);
}
