/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cli.h"

#include <string.h>
#include "sm/base/table.h"

/*
 * Partitions as tables: what is in force, whose access a change touches, and whether two ports may
 * talk.
 */
#define N(o, key) ((unsigned long long)field_uint(o, key))

static void
finish(struct table *t)
{
	if (table_rows(t))
		putchar('\n');
	table_print(t, stdout);
	table_free(t);
}

/* "node/1", or a GUID that is not there. */
static void
cell_port(struct table *t, const json_t *port)
{
	const char *node = field_str(port, "node");

	if (node[0])
		table_cell(t, "%s/%llu", node, N(port, "port"));
	else
		table_cell(t, "%s", field_str(port, "guid"));
}

/* ---- show partitions ---- */

static void
partition_row(struct table *t, const json_t *p)
{
	const char *level = field_str(p, "level");

	table_cell(t, "%s", field_str(p, "name"));
	table_cell(t, "0x%04llx", N(p, "pkey"));
	table_cell(t, "%s", field_str(p, "origin"));
	table_cell(t, "%s", level[0] ? level : "-");
	table_cell(t, "%s", field_str(p, "enforce"));
	table_cell(t, "%llu", N(p, "members_there"));
	table_cell(t, "%llu", N(p, "pending_total"));
	table_cell(t, "%llu", N(p, "not_applied"));
}

static void
print_pending(const json_t *p)
{
	const json_t *list = json_object_get(p, "pending");
	struct buf b = { 0 };
	json_t *m;
	size_t i;

	json_array_foreach(list, i, m)
		buf_printf(&b, "%s%s", i ? ", " : "", field_str(m, "guid"));
	if (b.len || field_uint(p, "not_applied"))
		putchar('\n');
	if (b.len)
		emit(stdout, "%s: nobody has %s%s\n", field_str(p, "name"), b.data,
		     N(p, "pending_total") > json_array_size(list) ? ", ..." : "");
	buf_free(&b);
	if (field_uint(p, "not_applied"))
		emit(stdout, "%s: %llu port%s selected by a name that %s now, and no member: %s%s "
		     "(weft partition apply)\n", field_str(p, "name"), N(p, "not_applied"),
		     N(p, "not_applied") == 1 ? " is" : "s are",
		     N(p, "not_applied") == 1 ? "it has" : "they have",
		     field_str(p, "first_not_applied"), N(p, "not_applied") > 1 ? ", ..." : "");
}

static void
print_members(const json_t *p)
{
	static const struct table_column columns[] = {
		{ "PORT", false }, { "GUID", false }, { "MEMBERSHIP", false }, { "SAID BY", false },
	};
	const json_t *list = json_object_get(p, "members");
	struct table *t = table_new(columns, 4);
	json_t *m;
	size_t i;

	rows_sort(list, ROW_ITSELF);
	if (json_array_size(list)) {
		putchar('\n');
		emit(stdout, "%s, 0x%04llx:\n", field_str(p, "name"), N(p, "pkey"));
	}
	json_array_foreach(list, i, m) {
		cell_port(t, m);
		table_cell(t, "%s", field_str(m, "guid"));
		table_cell(t, "%s", field_str(m, "membership"));
		table_cell(t, "%s", field_str(m, "origin"));
	}
	finish(t);
}

static void
print_faults(const json_t *data)
{
	if (field_str(data, "refused")[0])
		emit(stdout, "what is configured is not in force: %s\n",
		     field_str(data, "refused"));
	if (field_uint(data, "overflows"))
		emit(stdout, "%llu ports have no room for their P_Keys and get the default one "
		     "alone\n", N(data, "overflows"));
	if (field_uint(data, "unenforced"))
		emit(stdout, "%llu ports of switches that lead to hosts cannot enforce "
		     "partitions\n", N(data, "unenforced"));
}

void
print_partitions(const struct cli *c, const json_t *data)
{
	static const struct table_column columns[] = {
		{ "PARTITION", false }, { "P_KEY", false }, { "SAID BY", false },
		{ "LEVEL", false }, { "ENFORCED", false }, { "MEMBERS", true },
		{ "PENDING", true }, { "NOT APPLIED", true },
	};
	const json_t *list = json_object_get(data, "partitions");
	struct table *t = table_new(columns, 8);
	json_t *p;
	size_t i;

	(void)c;
	if (field_bool(data, "configured"))
		emit(stdout, "%zu partition%s\n", json_array_size(list),
		     plural(json_array_size(list)));
	else
		emit(stdout, "nobody says anything of partitions: ports keep the P_Keys that they "
		     "have\n");
	print_faults(data);
	json_array_foreach(list, i, p)
		partition_row(t, p);
	finish(t);
	json_array_foreach(list, i, p) {
		print_pending(p);
		print_members(p);
	}
}

/* ---- partition add ... apply ---- */

static void
print_access(const json_t *data)
{
	static const struct table_column columns[] = {
		{ "PORT", false }, { "GUID", false }, { "P_KEY", false }, { "BEFORE", false },
		{ "AFTER", false },
	};
	const json_t *list = json_object_get(data, "ports");
	uint64_t all = field_uint(data, "gain") + field_uint(data, "lose") +
		       field_uint(data, "other");
	struct table *t = table_new(columns, 5);
	json_t *a;
	size_t i;

	rows_sort(list, ROW_ITSELF);
	json_array_foreach(list, i, a) {
		const char *before = field_str(a, "before"), *after = field_str(a, "after");

		cell_port(t, a);
		table_cell(t, "%s", field_str(a, "guid"));
		table_cell(t, "0x%04llx", N(a, "pkey"));
		table_cell(t, "%s", before[0] ? before : "none");
		table_cell(t, "%s", after[0] ? after : "none");
	}
	finish(t);
	if (all > json_array_size(list))
		emit(stdout, "and %llu more\n",
		     (unsigned long long)(all - json_array_size(list)));
}

void
print_partition_change(const struct cli *c, const json_t *data)
{
	const char *name = field_str(data, "name");
	bool dry = field_bool(data, "dry_run");
	char pkey[32] = "", took[DURATION_TEXT_SIZE];

	(void)c;
	if (field_uint(data, "pkey"))
		snprintf(pkey, sizeof(pkey), ", P_Key 0x%04llx", N(data, "pkey"));
	emit(stdout, "%s%s%s%s: %s (%s)\n", name[0] ? "partition " : "partitions", name, pkey,
	     dry ? ", dry run" : "", field_str(data, "text"), ms_text(took, data, "took_ms"));
	emit(stdout, "%llu membership%s %sbegin%s, %llu end%s, %llu change%s; %llu P_Key block%s "
	     "differ%s\n", N(data, "gain"), plural(N(data, "gain")), dry ? "would " : "",
	     !dry && N(data, "gain") == 1 ? "s" : "", N(data, "lose"),
	     !dry && N(data, "lose") == 1 ? "s" : "", N(data, "other"),
	     !dry && N(data, "other") == 1 ? "s" : "", N(data, "blocks"),
	     plural(N(data, "blocks")), N(data, "blocks") == 1 ? "s" : "");
	if (field_uint(data, "pending"))
		emit(stdout, "in all partitions together nobody has %llu GUID%s of members yet\n",
		     N(data, "pending"), plural(N(data, "pending")));
	print_access(data);
}

/* ---- partition check ---- */

static const char *
port_text(char text[120], const json_t *port)
{
	const char *node = field_str(port, "node");

	if (node[0])
		snprintf(text, 120, "%.80s/%llu", node, N(port, "port"));
	else
		snprintf(text, 120, "%.80s", field_str(port, "guid"));
	return text;
}

void
print_partition_check(const struct cli *c, const json_t *data)
{
	static const struct table_column columns[] = {
		{ "PARTITION", false }, { "P_KEY", false }, { "FIRST", false },
		{ "SECOND", false }, { "MAY TALK", false },
	};
	const json_t *list = json_object_get(data, "pkeys");
	struct table *t = table_new(columns, 5);
	char a[120], b[120];
	json_t *k;
	size_t i;

	(void)c;
	emit(stdout, "%s and %s may %stalk\n", port_text(a, json_object_get(data, "source")),
	     port_text(b, json_object_get(data, "destination")),
	     field_bool(data, "talk") ? "" : "not ");
	json_array_foreach(list, i, k) {
		table_cell(t, "%s", field_str(k, "partition"));
		table_cell(t, "0x%04llx", N(k, "pkey"));
		table_cell(t, "%s", field_str(k, "source"));
		table_cell(t, "%s", field_str(k, "destination"));
		table_cell(t, field_bool(k, "talk") ? "yes" : "no");
	}
	finish(t);
}

int
partition_verdict(const json_t *data)
{
	if (field_bool(data, "talk"))
		return CLI_DONE;
	emit(stderr, "weft: %s\n", field_str(data, "why"));
	return CLI_REFUSED;
}
