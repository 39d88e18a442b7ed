/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cli.h"

#include <stdio.h>
#include "sm/base/table.h"

/*
 * Congestion control for people: what is wanted, how many ports hold it, and what each told.
 */
#define N(o, key) ((unsigned long long)field_uint(o, key))

static void
print_wanted(const json_t *data)
{
	const json_t *w = json_object_get(data, "wanted"), *ports = json_object_get(data, "ports");
	const json_t *off = json_object_get(w, "levels_off");
	char text[RANGES_SIZE];

	if (!field_bool(data, "enabled")) {
		emit(stdout, "congestion control is off%s\n", field_bool(data, "undoing") ?
		     ", but not undone everywhere yet" : "");
		return;
	}
	emit(stdout, "switches  threshold %llu, packets from %llu bytes, marking rate %llu%s\n",
	     N(w, "threshold"), N(w, "packet_size") * 64, N(w, "marking_rate"),
	     field_bool(w, "credit_starvation") ? ", for want of credits too" : "");
	emit(stdout, "hosts     timer %llu, increase %llu, trigger %llu, least %llu, %llu steps",
	     N(w, "timer"), N(w, "increase"), N(w, "trigger"), N(w, "least"), N(w, "steps"));
	if (json_array_size(off))
		emit(stdout, ", not SL %s", ranges_text(off, text));
	emit(stdout, "\nkey       %s\nports     %llu held, %llu unread, %llu refused, %llu locked, "
	     "%llu absent\n", field_bool(w, "key") ? "configured" : "none", N(ports, "held"),
	     N(ports, "unread"), N(ports, "refused"), N(ports, "locked"), N(ports, "absent"));
}

static void
cell_settings(struct table *t, const json_t *row)
{
	const json_t *sw = json_object_get(row, "switch"), *host = json_object_get(row, "host");
	const json_t *levels = json_object_get(host, "levels");
	const json_t *first = json_array_get(levels, 0);
	char text[RANGES_SIZE];

	if (json_is_object(sw))
		table_cell(t, "threshold %llu, size %llu, rate %llu, victims %s",
			   N(sw, "threshold"), N(sw, "packet_size"), N(sw, "marking_rate"),
			   ranges_text(json_object_get(sw, "victim_ports"), text));
	else if (json_array_size(levels) == 1)
		table_cell(t, "timer %llu, increase %llu, trigger %llu, least %llu, %llu steps",
			   N(first, "timer"), N(first, "increase"), N(first, "trigger"),
			   N(first, "least"), N(host, "steps"));
	else if (json_is_object(host))
		table_cell(t, "%zu kinds of levels, SL %s: timer %llu, increase %llu; %llu steps",
			   json_array_size(levels),
			   ranges_text(json_object_get(first, "sls"), text), N(first, "timer"),
			   N(first, "increase"), N(host, "steps"));
	else
		table_cell(t, "-");
}

static const char *
or_dash(const json_t *o, const char *key)
{
	const char *s = field_str(o, key);

	return s[0] ? s : "-";
}

void
print_congestion(const struct cli *c, const json_t *data)
{
	static const struct table_column columns[] = {
		{ "DEVICE", false }, { "PORT", true }, { "STATE", false }, { "KEY", false },
		{ "HOLDS", false }, { "WHY", false },
	};
	struct table *t = table_new(columns, 6);
	const json_t *rows = json_object_get(data, "devices");
	json_t *row;
	size_t i;

	(void)c;
	print_wanted(data);
	json_array_foreach(rows, i, row) {
		const char *node = field_str(row, "node");

		table_cell(t, "%s", node[0] ? node : field_str(row, "guid"));
		table_cell(t, "%llu", N(row, "port"));
		table_cell(t, "%s", field_str(row, "state"));
		table_cell(t, "%s", or_dash(row, "key"));
		cell_settings(t, row);
		table_cell(t, "%s", or_dash(row, "why"));
	}
	if (table_rows(t))
		putchar('\n');
	table_print(t, stdout);
	table_free(t);
}
