/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cli.h"

#include "sm/base/buf.h"
#include "sm/base/table.h"

/*
 * Error counters for people: how they are read, and what each port has counted.
 */
#define N(o, key) ((unsigned long long)field_uint(o, key))

static void
print_reading(const json_t *data)
{
	const json_t *last = json_object_get(data, "last_sweep");

	if (field_real(data, "interval_s") <= 0) {
		emit(stdout, "error counters are not read\n");
		return;
	}
	emit(stdout, "read every %g s; sweep %llu", field_real(data, "interval_s"),
	     N(last, "number"));
	if (field_real(last, "took_s") > 0)
		emit(stdout, "; the last to end took %.1f s: %llu ports, %llu requests, "
		     "%llu times no reading", field_real(last, "took_s"), N(last, "ports"),
		     N(last, "mads"), N(last, "unread"));
	emit(stdout, "\n");
}

static void
cell_end(struct table *t, const json_t *row, const char *name, const char *guid, const char *port)
{
	const char *text = field_str(row, name)[0] ? field_str(row, name) : field_str(row, guid);
	bool is_port = json_is_integer(json_object_get(row, port));

	table_cell(t, "%s", text[0] ? text : "-");
	table_cell(t, is_port ? "%llu" : "-", N(row, port));
}

static void
cell_errors(struct table *t, const json_t *row)
{
	json_t *errors = json_object_get(row, "errors"), *v;
	struct buf b = { 0 };
	const char *name;

	json_object_foreach(errors, name, v)
		if (json_integer_value(v))
			buf_printf(&b, "%s%s %llu", b.len ? ", " : "", name,
				   (unsigned long long)json_integer_value(v));
	table_cell(t, "%s", b.len ? b.data : "-");
	buf_free(&b);
}

void
print_counters(const struct cli *c, const json_t *data)
{
	static const struct table_column columns[] = {
		{ "NODE", false }, { "PORT", true }, { "CABLE TO", false }, { "PORT", true },
		{ "STATE", false }, { "ERRORS", false },
	};
	struct table *t = table_new(columns, 6);
	const json_t *rows = json_object_get(data, "ports");
	json_t *row;
	size_t i;

	(void)c;
	print_reading(data);
	json_array_foreach(rows, i, row) {
		cell_end(t, row, "node", "guid", "port");
		cell_end(t, row, "peer", "peer_guid", "peer_port");
		table_cell(t, "%s", field_str(row, "state"));
		cell_errors(t, row);
	}
	if (table_rows(t))
		emit(stdout, "\n");
	table_print(t, stdout);
	table_free(t);
}
