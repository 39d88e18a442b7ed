/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cli.h"

#include "sm/base/table.h"

/*
 * Rails for people: what is wrong first, then, where it is asked for or short, which device of
 * which unit belongs on which leaf.
 */
#define N(o, key) ((unsigned long long)field_uint(o, key))
#define SHORT 50u

static void
print_mistakes(const json_t *rows)
{
	json_t *row;
	size_t i;

	if (!json_array_size(rows))
		emit(stdout, "no device is where it should not be, and none is missing\n");
	json_array_foreach(rows, i, row)
		emit(stdout, "%s: %s\n", field_str(row, "mistake"), field_str(row, "text"));
}

static void
print_places(const json_t *rows, bool subnets)
{
	static const struct table_column columns[] = {
		{ "SUBNET", false }, { "UNIT", true }, { "DEVICE", false }, { "LEAF", false },
		{ "THERE", true }, { "OF", true },
	};
	struct table *t = subnets ? table_new(columns, 6) : table_new(columns + 1, 5);
	json_t *row;
	size_t i;

	json_array_foreach(rows, i, row) {
		const json_t *place = json_object_get(row, "place");

		if (subnets)
			table_cell(t, "%s", field_str(place, "subnet"));
		table_cell(t, "%llu", N(row, "unit"));
		table_cell(t, "%s", field_str(row, "device"));
		table_cell(t, "%s", json_is_object(place) ? field_str(place, "leaf") :
			   "here and there");
		table_cell(t, "%llu", N(row, "there"));
		table_cell(t, "%llu", N(row, "devices"));
	}
	table_print(t, stdout);
	table_free(t);
}

void
print_rails(const struct cli *c, const json_t *data)
{
	const json_t *rails = json_object_get(data, "rails");
	size_t len = json_array_size(rails);

	emit(stdout, "%llu device%s of %llu host%s on %llu lea%s, %llu unit%s; "
	     "%llu device%s without a name of host and device\n",
	     N(data, "devices"), plural(N(data, "devices")), N(data, "hosts"),
	     plural(N(data, "hosts")), N(data, "leaves"), N(data, "leaves") == 1 ? "f" : "ves",
	     N(data, "units"), plural(N(data, "units")), N(data, "unnamed"),
	     plural(N(data, "unnamed")));
	print_mistakes(json_object_get(data, "mistakes"));
	if (!len)
		emit(stdout, "no rails: no unit has three hosts whose devices have names\n");
	else if (len > SHORT && !json_is_true(json_object_get(c->args, "all")))
		emit(stdout, "%zu rails; --all lists them\n", len);
	else
		print_places(rails, json_array_size(json_object_get(data, "subnets")) > 1);
}
