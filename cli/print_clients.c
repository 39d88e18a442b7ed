/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cli.h"

#include "sm/base/table.h"

/*
 * What programs on hosts have left with the subnet administrator, as tables.
 */
#define N(o, key) ((unsigned long long)field_uint(o, key))

/* "node/1", or the GUID of a port that is not there. */
static void
cell_port(struct table *t, const json_t *port)
{
	const char *node = field_str(port, "node");

	if (node[0])
		table_cell(t, "%s/%llu", node, N(port, "port"));
	else
		table_cell(t, "%s (gone)", field_str(port, "guid"));
}

static void
finish(struct table *t)
{
	if (table_rows(t))
		putchar('\n');
	table_print(t, stdout);
	table_free(t);
}

void
print_services(const struct cli *c, const json_t *data)
{
	static const struct table_column columns[] = {
		{ "SERVICE ID", false }, { "NAME", false }, { "PORT", false }, { "P_KEY", true },
		{ "LEASE", true },
	};
	struct table *t = table_new(columns, 5);
	const json_t *rows = json_object_get(data, "services");
	json_t *v;
	size_t i;

	(void)c;
	emit(stdout, "%zu service%s\n", json_array_size(rows), plural(json_array_size(rows)));
	json_array_foreach(rows, i, v) {
		table_cell(t, "%s", field_str(v, "id"));
		table_cell(t, "%s", field_str(v, "name"));
		cell_port(t, json_object_get(v, "port"));
		table_cell(t, "0x%04llx", N(v, "pkey"));
		if (json_is_integer(json_object_get(v, "lease_s")))
			table_cell(t, "%llu s", N(v, "lease_s"));
		else
			table_cell(t, "no end");
	}
	finish(t);
}

/* "trap 128", "all traps", "vendor 0x2c9", "vendor 0x2c9 device 26428". */
static void
cell_events(struct table *t, const json_t *v)
{
	bool any = !json_is_integer(json_object_get(v, "trap"));

	if (field_bool(v, "generic")) {
		if (any)
			table_cell(t, "all traps");
		else
			table_cell(t, "trap %llu", N(v, "trap"));
	} else if (any) {
		table_cell(t, "vendor 0x%llx", N(v, "producer"));
	} else {
		table_cell(t, "vendor 0x%llx device %llu", N(v, "producer"), N(v, "trap"));
	}
}

static void
cell_sources(struct table *t, const json_t *v)
{
	const json_t *lids = json_object_get(v, "lids");
	unsigned long long first, last;

	if (field_str(v, "gid")[0]) {
		table_cell(t, "GID %s", field_str(v, "gid"));
	} else if (!json_is_array(lids)) {
		table_cell(t, "all");
	} else {
		first = (unsigned long long)json_integer_value(json_array_get(lids, 0));
		last = (unsigned long long)json_integer_value(json_array_get(lids, 1));
		if (first == last)
			table_cell(t, "LID %llu", first);
		else
			table_cell(t, "LIDs %llu-%llu", first, last);
	}
}

void
print_subscriptions(const struct cli *c, const json_t *data)
{
	static const struct table_column columns[] = {
		{ "PORT", false }, { "QP", true }, { "EVENTS", false }, { "OF", false },
		{ "TRUSTED", false }, { "SENT", true }, { "ANSWERED", true }, { "LOST", true },
		{ "WAITING", true },
	};
	struct table *t = table_new(columns, 9);
	const json_t *rows = json_object_get(data, "subscriptions");
	json_t *v;
	size_t i;

	(void)c;
	emit(stdout, "%zu subscription%s\n", json_array_size(rows),
	     plural(json_array_size(rows)));
	json_array_foreach(rows, i, v) {
		const json_t *reports = json_object_get(v, "reports");

		cell_port(t, json_object_get(v, "port"));
		table_cell(t, "%llu", N(v, "qp"));
		cell_events(t, v);
		cell_sources(t, v);
		table_cell(t, field_bool(v, "trusted") ? "yes" : "no");
		table_cell(t, "%llu", N(reports, "sent"));
		table_cell(t, "%llu", N(reports, "answered"));
		table_cell(t, "%llu", N(reports, "lost"));
		table_cell(t, "%llu", N(reports, "waiting"));
	}
	finish(t);
}
