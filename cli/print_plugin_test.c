/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cli.h"

#include "sm/base/table.h"

/* What became of a plugin on each kind of fabric, and below it what it said or did wrong. */
#define N(o, key) ((unsigned long long)field_uint(o, key))

static void
cell_count(struct table *t, const json_t *row, const char *key)
{
	table_cell(t, N(row, key) ? "%llu" : "-", N(row, key));
}

void
print_plugin_test(const struct cli *c, const json_t *data)
{
	static const struct table_column columns[] = {
		{ "TRIAL", false }, { "FABRICS", true }, { "ROUTED", true }, { "REFUSED", true },
		{ "CREDIT LOOPS", true }, { "FAULTS", true }, { "LONGEST", true }, { "", false },
	};
	static const char *const counts[] = {
		"fabrics", "routed", "refused", "credit_loops", "faults",
	};
	const json_t *trials = json_object_get(data, "trials");
	struct table *t = table_new(columns, 8);
	char took[DURATION_TEXT_SIZE];
	json_t *row;
	size_t i;

	(void)c;
	emit(stdout, "plugin %s %s\n", field_str(data, "plugin"), field_str(data, "version"));
	json_array_foreach(trials, i, row) {
		table_cell(t, "%s", field_str(row, "name"));
		for (size_t k = 0; k < sizeof(counts) / sizeof(counts[0]); k++)
			cell_count(t, row, counts[k]);
		table_cell(t, "%s", ms_text(took, row, "longest_ms"));
		table_cell(t, "%s", field_str(row, "what"));
	}
	table_print(t, stdout);
	table_free(t);
	json_array_foreach(trials, i, row)
		if (field_str(row, "said")[0])
			emit(stdout, "%s: %s\n", N(row, "faults") ? "fault" : "note",
			     field_str(row, "said"));
}
