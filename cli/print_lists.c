/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cli.h"

#include <string.h>
#include "sm/base/table.h"

/* The long lists for people: a summary first, then the rows that the daemon chose to send. */
#define N(o, key) ((unsigned long long)field_uint(o, key))

/* Why there are fewer rows than things, or none. */
static void
tell_cut(const json_t *d, const char *things)
{
	uint64_t matched = field_uint(d, "matched"), notable = field_uint(d, "notable");
	uint64_t shown = field_uint(d, "shown");

	if (shown == matched)
		return;
	if (!notable)
		emit(stdout, "nothing noteworthy; --all or a filter shows the %llu %s\n",
		     (unsigned long long)matched, things);
	else
		emit(stdout, "%llu of %llu noteworthy; --all or a filter shows all %llu %s\n",
		     (unsigned long long)shown, (unsigned long long)notable,
		     (unsigned long long)matched, things);
}

/* "12 active, 3 down": the non-zero members of an object. */
static void
add_counts(struct buf *b, const json_t *counts)
{
	const char *key;
	json_t *value;
	bool first = true;

	/* Iteration does not change the object, but Jansson's iterators want it writable. */
	json_object_foreach((json_t *)(uintptr_t)counts, key, value) {
		if (!json_integer_value(value))
			continue;
		buf_printf(b, "%s%lld %s", first ? "" : ", ", (long long)json_integer_value(value),
			   key);
		first = false;
	}
	if (first)
		buf_str(b, "none");
}

static void
finish(struct table *t, const json_t *data, const char *things)
{
	if (table_rows(t))
		putchar('\n');
	table_print(t, stdout);
	table_free(t);
	tell_cut(data, things);
}

static void
node_summary(const json_t *data)
{
	const json_t *s = json_object_get(data, "summary");

	emit(stdout, "%llu node%s: %llu host%s, %llu switch%s, %llu router%s; %llu silent\n",
	     N(s, "nodes"), plural(field_uint(s, "nodes")), N(s, "hosts"),
	     plural(field_uint(s, "hosts")), N(s, "switches"),
	     plural_es(field_uint(s, "switches")), N(s, "routers"),
	     plural(field_uint(s, "routers")), N(s, "silent"));
}

static void
cell_lid(struct table *t, uint64_t lid)
{
	table_cell(t, lid ? "%llu" : "-", (unsigned long long)lid);
}

void
print_nodes(const struct cli *c, const json_t *data)
{
	static const struct table_column columns[] = {
		{ "NAME", false }, { "GUID", false }, { "TYPE", false }, { "LID", true },
		{ "PORTS", true }, { "ACTIVE", true }, { "ANSWERS", false },
	};
	struct table *t = table_new(columns, 7);
	json_t *n;
	size_t i;

	(void)c;
	node_summary(data);
	rows_sort(json_object_get(data, "nodes"), ROW_ITSELF);
	json_array_foreach(json_object_get(data, "nodes"), i, n) {
		const char *type = field_str(n, "type");

		table_cell(t, "%s", field_str(n, "name"));
		table_cell(t, "%s", field_str(n, "guid"));
		table_cell(t, "%s", strcmp(type, "ca") == 0 ? "host" : type);
		cell_lid(t, field_uint(n, "lid"));
		table_cell(t, "%llu", N(n, "ports"));
		table_cell(t, "%llu", N(n, "active"));
		table_cell(t, "%s", field_bool(n, "silent") ? "NO" : "yes");
	}
	finish(t, data, "nodes");
}

void
print_switches(const struct cli *c, const json_t *data)
{
	static const struct table_column columns[] = {
		{ "NAME", false }, { "GUID", false }, { "LID", true }, { "RANK", true },
		{ "PORTS", true }, { "CABLED", true }, { "ACTIVE", true }, { "DRAINED", true },
		{ "HOSTS", true }, { "ANSWERS", false },
	};
	struct table *t = table_new(columns, 10);
	json_t *n;
	size_t i;

	const json_t *s = json_object_get(data, "summary");

	(void)c;
	emit(stdout, "%llu switch%s; %llu silent\n", N(s, "switches"),
	     plural_es(field_uint(s, "switches")), N(s, "silent"));
	rows_sort(json_object_get(data, "switches"), ROW_ITSELF);
	json_array_foreach(json_object_get(data, "switches"), i, n) {
		table_cell(t, "%s", field_str(n, "name"));
		table_cell(t, "%s", field_str(n, "guid"));
		cell_lid(t, field_uint(n, "lid"));
		table_cell(t, json_object_get(n, "rank") ? "%llu" : "-", N(n, "rank"));
		table_cell(t, "%llu", N(n, "ports"));
		table_cell(t, "%llu", N(n, "cabled"));
		table_cell(t, "%llu", N(n, "active"));
		table_cell(t, field_uint(n, "drained") ? "%llu" : "-", N(n, "drained"));
		table_cell(t, "%llu", N(n, "hosts"));
		table_cell(t, "%s", field_bool(n, "silent") ? "NO" : "yes");
	}
	finish(t, data, "switches");
}

static void
link_summary(const json_t *data, const char *things)
{
	const json_t *s = json_object_get(data, "summary");
	struct buf b = { 0 };
	int len = (int)strlen(things) - (field_uint(s, things) == 1);

	buf_printf(&b, "%llu %.*s", N(s, things), len, things);
	if (field_uint(s, things)) {
		buf_str(&b, ": ");
		add_counts(&b, json_object_get(s, "by_state"));
	}
	if (field_uint(s, "drained"))
		buf_printf(&b, "; %llu of them drained", N(s, "drained"));
	if (field_uint(s, "lost"))
		buf_printf(&b, "; %llu lost", N(s, "lost"));
	emit(stdout, "%s\n", b.data);
	buf_clear(&b);
	if (!field_uint(s, things)) {
		buf_free(&b);
		return;
	}
	buf_str(&b, "speeds: ");
	add_counts(&b, json_object_get(s, "by_speed"));
	buf_printf(&b, "; %llu slower than most, %llu refusing what is set", N(s, "slow"),
		   N(s, "refusing"));
	emit(stdout, "%s\n", b.data);
	buf_free(&b);
}

static void
cell_end(struct table *t, const struct names *names, const json_t *end)
{
	const char *name = field_str(end, "node"), *guid = field_str(end, "guid");
	bool shared = names_shared(names, name);

	if (json_is_object(end))
		table_cell(t, "%s/%llu%s%s%s", name, N(end, "port"), shared ? " (" : "",
			   shared ? guid : "", shared ? ")" : "");
	else
		table_cell(t, "-");
}

/* State, link, MTU, VLs, and what is wrong. */
static void
cells_link(struct table *t, const json_t *o)
{
	bool slow = field_bool(o, "slow"), refusing = field_bool(o, "refusing");
	bool lost = field_bool(o, "lost"), drained = field_bool(o, "drained");

	table_cell(t, "%s%s", field_str(o, "state"), drained ? ", drained" : "");
	table_cell(t, "%s", field_str(o, "link")[0] ? field_str(o, "link") : "-");
	table_cell(t, field_uint(o, "mtu") ? "%llu" : "-", N(o, "mtu"));
	table_cell(t, field_uint(o, "vls") ? "%llu" : "-", N(o, "vls"));
	table_cell(t, "%s%s%s", slow ? "slow" : "", slow && refusing ? ", " : "",
		   lost ? "lost" : refusing ? "refuses" : slow ? "" : "-");
}

void
print_ports(const struct cli *c, const json_t *data)
{
	static const struct table_column columns[] = {
		{ "PORT", false }, { "LID", true }, { "STATE", false }, { "LINK", false },
		{ "MTU", true }, { "VLS", true }, { "REMARK", false }, { "PEER", false },
	};
	struct table *t = table_new(columns, 8);
	const json_t *rows = json_object_get(data, "ports");
	struct names *names = names_new(rows, ROW_ITSELF, "peer");
	json_t *p;
	size_t i;

	(void)c;
	link_summary(data, "ports");
	rows_sort(rows, ROW_ITSELF);
	json_array_foreach(rows, i, p) {
		cell_end(t, names, p);
		cell_lid(t, field_uint(p, "lid"));
		cells_link(t, p);
		cell_end(t, names, json_object_get(p, "peer"));
	}
	names_free(names);
	finish(t, data, "ports");
}

void
print_links(const struct cli *c, const json_t *data)
{
	static const struct table_column columns[] = {
		{ "ONE END", false }, { "OTHER END", false }, { "STATE", false }, { "LINK", false },
		{ "MTU", true }, { "VLS", true }, { "REMARK", false },
	};
	struct table *t = table_new(columns, 7);
	const json_t *rows = json_object_get(data, "links");
	struct names *names = names_new(rows, "a", "b");
	json_t *l;
	size_t i;

	(void)c;
	link_summary(data, "links");
	rows_sort(rows, "a");
	json_array_foreach(rows, i, l) {
		cell_end(t, names, json_object_get(l, "a"));
		cell_end(t, names, json_object_get(l, "b"));
		cells_link(t, l);
	}
	names_free(names);
	finish(t, data, "links");
}

void
print_multicast(const struct cli *c, const json_t *data)
{
	static const struct table_column columns[] = {
		{ "MLID", true }, { "MGID", false }, { "MEMBERS", true }, { "SWITCHES", true },
		{ "SHARED", true }, { "P_KEY", true }, { "Q_KEY", true }, { "MTU", true },
		{ "GB/S", true }, { "SL", true }, { "LEVEL", false },
	};
	struct table *t = table_new(columns, 11);
	const json_t *rows = json_object_get(data, "groups");
	json_t *g;
	size_t i;

	(void)c;
	emit(stdout, "%zu group%s\n", json_array_size(rows), plural(json_array_size(rows)));
	json_array_foreach(rows, i, g) {
		table_cell(t, "0x%04llx", N(g, "mlid"));
		table_cell(t, "%s", field_str(g, "mgid"));
		table_cell(t, "%llu", N(g, "members"));
		table_cell(t, "%llu", N(g, "switches"));
		if (field_uint(g, "sharing"))
			table_cell(t, "%llu", N(g, "sharing") + 1);
		else
			table_cell(t, "no");
		table_cell(t, "0x%04llx", N(g, "pkey"));
		table_cell(t, "0x%08llx", N(g, "qkey"));
		table_cell(t, "%llu", N(g, "mtu"));
		table_cell(t, "%.1f", (double)field_uint(g, "rate_mbps") / 1000);
		table_cell(t, "%llu", N(g, "sl"));
		table_cell(t, "%s", json_is_string(json_object_get(g, "level")) ?
			   field_str(g, "level") : "-");
	}
	finish(t, data, "groups");
}

static void
print_loads(const json_t *ports)
{
	static const struct table_column columns[] = {
		{ "PORT", true }, { "LIDS", true }, { "PEER", false },
	};
	struct table *t = table_new(columns, 3);
	struct names *names = names_new(ports, "peer", NULL);
	json_t *p;
	size_t i;

	json_array_foreach(ports, i, p) {
		table_cell(t, "%llu", N(p, "port"));
		table_cell(t, "%llu", N(p, "lids"));
		if (field_uint(p, "port"))
			cell_end(t, names, json_object_get(p, "peer"));
		else
			table_cell(t, "(itself)");
	}
	names_free(names);
	putchar('\n');
	table_print(t, stdout);
	table_free(t);
}

static void
cell_out(struct table *t, const json_t *e)
{
	table_cell(t, json_is_integer(json_object_get(e, "out")) ? "%llu" : "-", N(e, "out"));
}

static void
print_table_rows(const json_t *entries)
{
	static const struct table_column columns[] = {
		{ "LID", true }, { "OUT", true }, { "NEXT", false }, { "TO", false },
	};
	struct table *t = table_new(columns, 4);
	struct names *names = names_new(entries, "peer", "to");
	json_t *e;
	size_t i;

	json_array_foreach(entries, i, e) {
		table_cell(t, "%llu", N(e, "lid"));
		cell_out(t, e);
		cell_end(t, names, json_object_get(e, "peer"));
		cell_end(t, names, json_object_get(e, "to"));
	}
	names_free(names);
	putchar('\n');
	table_print(t, stdout);
	table_free(t);
}

static void
print_towards(const json_t *data)
{
	static const struct table_column columns[] = {
		{ "SWITCH", false }, { "GUID", false }, { "OUT", true }, { "NEXT", false },
	};
	struct table *t = table_new(columns, 4);
	const json_t *entries = json_object_get(data, "entries");
	struct names *names = names_new(entries, "peer", NULL);
	json_t *e;
	size_t i;

	emit(stdout, "to %s/%llu, LID %llu: %llu switch%s, %llu of them without a way\n",
	     field_str(data, "node"), N(json_object_get(data, "port"), "port"), N(data, "lid"),
	     N(data, "switches"), plural_es(field_uint(data, "switches")), N(data, "dropped"));
	putchar('\n');
	json_array_foreach(entries, i, e) {
		table_cell(t, "%s", field_str(e, "switch"));
		table_cell(t, "%s", field_str(e, "guid"));
		cell_out(t, e);
		cell_end(t, names, json_object_get(e, "peer"));
	}
	names_free(names);
	table_print(t, stdout);
	table_free(t);
}

void
print_routes(const struct cli *c, const json_t *data)
{
	(void)c;
	if (json_object_get(data, "tables")) {
		print_tables(data);
		return;
	}
	if (strcmp(field_str(data, "type"), "switch") != 0) {
		print_towards(data);
		return;
	}
	emit(stdout, "%s (%s), LID %llu: %llu LID%s, %llu of them dropped%s\n",
	     field_str(data, "node"), field_str(data, "guid"), N(data, "lid"), N(data, "lids"),
	     plural(field_uint(data, "lids")), N(data, "dropped"),
	     field_bool(data, "fixed") ? "; it is silent: the tables it was last known to hold"
				       : "");
	print_loads(json_object_get(data, "ports"));
	if (json_object_get(data, "entries"))
		print_table_rows(json_object_get(data, "entries"));
}

/* Plain lines, not a table: those that follow have no common width. */
void
print_events(const struct cli *c, const json_t *data)
{
	json_t *e;
	size_t i;

	if (field_uint(data, "lost"))
		emit(stdout, "(%llu earlier event%s not held any more)\n", N(data, "lost"),
		     field_uint(data, "lost") == 1 ? " is" : "s are");
	json_array_foreach(json_object_get(data, "events"), i, e) {
		emit(stdout, "%llu %s %-7s %-10s %s%s%s\n", N(e, "sequence"), field_str(e, "time"),
		     field_str(e, "level"), field_str(e, "type"), field_str(e, "subnet"),
		     field_str(e, "subnet")[0] ? ": " : "", field_str(e, "text"));
	}
	if (!json_array_size(json_object_get(data, "events")) && !c->follow)
		emit(stdout, "no events\n");
}
