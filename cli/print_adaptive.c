/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cli.h"

#include <string.h>
#include "sm/base/table.h"

/*
 * Adaptive routing for people: what is wanted, how far switches are, and what each does.
 */
#define N(o, key) ((unsigned long long)field_uint(o, key))

/* If they are asked. */
static void
print_hosts(const json_t *hosts)
{
	char text[RANGES_SIZE];

	if (strcmp(field_str(hosts, "wanted"), "ignore"))
		emit(stdout, "hosts     %llu: %llu say what they take in any order; all take SL "
		     "%s\n", N(hosts, "hosts"), N(hosts, "known"),
		     ranges_text(json_object_get(hosts, "any_order"), text));
}

static void
print_wanted(const json_t *data)
{
	const char *wanted = field_str(data, "wanted");
	const json_t *n = json_object_get(data, "count");

	emit(stdout, "adaptive  %s", wanted);
	if (strcmp(wanted, "off"))
		emit(stdout, ", %s, dead ports %s", field_str(data, "mode"),
		     field_bool(data, "recovery") ? "replaced" : "not replaced");
	emit(stdout, "\n");
	emit(stdout, "switches  %llu: %llu on, %llu for recovery alone, %llu static, "
	     "%llu absent, %llu unasked\n", N(n, "switches"), N(n, "on"), N(n, "recovery"),
	     N(n, "static"), N(n, "absent"), N(n, "unasked"));
	print_hosts(json_object_get(data, "hosts"));
	if (N(n, "on") + N(n, "recovery"))
		emit(stdout, "groups    %llu, %llu at most of one switch\n", N(data, "groups"),
		     N(data, "groups_max"));
	if (N(data, "left_out"))
		emit(stdout, "          %llu set%s of ports found no group: their LIDs are "
		     "static\n", N(data, "left_out"), plural(field_uint(data, "left_out")));
	if (N(data, "cut"))
		emit(stdout, "          %llu group%s cut to be safe: %s\n", N(data, "cut"),
		     plural(field_uint(data, "cut")), field_str(data, "cut_first"));
}

static void
cell_transports(struct table *t, const json_t *row)
{
	const json_t *list = json_object_get(row, "transports");
	char text[RANGES_SIZE] = "";
	json_t *v;
	size_t i;

	json_array_foreach(list, i, v) {
		size_t at = strlen(text);

		snprintf(text + at, sizeof(text) - at, "%s%s", i ? " " : "",
			 json_string_value(v));
	}
	table_cell(t, "%s", text[0] ? text : "-");
}

static void
print_row(struct table *t, const json_t *row, const struct names *names)
{
	const char *node = field_str(row, "node"), *why = field_str(row, "why");
	bool on = !strcmp(field_str(row, "state"), "on") ||
		!strcmp(field_str(row, "state"), "recovery");
	char text[RANGES_SIZE];

	if (node[0] && !names_shared(names, node))
		table_cell(t, "%s", node);
	else
		table_cell(t, "%s%s%s", node, node[0] ? " " : "", field_str(row, "guid"));
	table_cell(t, "%s", field_str(row, "state"));
	table_cell(t, on ? "%llu" : "-", N(row, "groups"));
	table_cell(t, on ? "%llu" : "-", N(row, "groups_free"));
	table_cell(t, on ? "%llu" : "-", N(row, "left_out"));
	table_cell(t, "%s", ranges_text(json_object_get(row, "sls"), text));
	cell_transports(t, row);
	table_cell(t, "%s", !on ? "-" : field_bool(row, "recovery") ? "yes" : "no");
	table_cell(t, "%s", why[0] ? why : "-");
}

void
print_adaptive(const struct cli *c, const json_t *data)
{
	static const struct table_column columns[] = {
		{ "SWITCH", false }, { "STATE", false }, { "GROUPS", true }, { "FREE", true },
		{ "LEFT OUT", true }, { "SL", false }, { "TRANSPORTS", false },
		{ "RECOVERY", false }, { "WHY", false },
	};
	struct table *t = table_new(columns, 9);
	const json_t *rows = json_object_get(data, "switches");
	struct names *names;
	json_t *row;
	size_t i;

	(void)c;
	print_wanted(data);
	rows_sort(rows, ROW_ITSELF);
	names = names_new(rows, ROW_ITSELF, NULL);
	json_array_foreach(rows, i, row)
		print_row(t, row, names);
	names_free(names);
	if (!field_bool(data, "all"))
		emit(stdout, table_rows(t) ? "noteworthy are %zu; --all shows all\n" :
		     "nothing noteworthy; --all shows all switches\n", table_rows(t));
	if (table_rows(t))
		emit(stdout, "\n");
	table_print(t, stdout);
	table_free(t);
}
