/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cli.h"

#include "sm/base/clock.h"
#include "sm/base/table.h"

/*
 * Subnet managers of each subnet, and whether the office may pass.
 */
#define N(o, key) ((unsigned long long)field_uint(o, key))

static const char *
ms(char text[DURATION_TEXT_SIZE], const json_t *o, const char *key)
{
	return duration_text(text, (monotime)(field_real(o, key) * 1e6));
}

static void
print_takeover(const json_t *s)
{
	const json_t *t = json_object_get(s, "last_takeover");
	bool done = json_is_number(json_object_get(t, "programmed_ms"));
	const char *from = field_str(t, "from_guid");
	char lead[DURATION_TEXT_SIZE], up[DURATION_TEXT_SIZE];

	if (!json_is_object(t))
		return;
	emit(stdout, "  took over   %s: %s%s%s%s; master after %s, %s%s\n", field_str(t, "at"),
	     field_str(t, "why"), from[0] ? " (" : "", from, from[0] ? ")" : "",
	     ms(lead, t, "lead_ms"), done ? "all programmed after " : "not yet programmed",
	     done ? ms(up, t, "programmed_ms") : "");
}

/* The state that managers share. */
static void
print_etcd(const json_t *s)
{
	const json_t *etcd = json_object_get(s, "etcd"), *list = json_object_get(etcd, "endpoints");
	json_t *ep;
	size_t i;

	if (!json_is_object(etcd))
		return;
	emit(stdout, "  etcd        %s%s%s, %llu changes unsent, revision %llu\n",
	     field_str(etcd, "state"), field_str(etcd, "away_since")[0] ? " since " : "",
	     field_str(etcd, "away_since"), N(etcd, "unsent"), N(etcd, "revision"));
	json_array_foreach(list, i, ep)
		emit(stdout, "    %s  %s%s%s\n", field_str(ep, "url"), field_str(ep, "state"),
		     field_str(ep, "why")[0] ? ": " : "", field_str(ep, "why"));
}

/* What a standby has of what clients left with the master: this one, or others if this leads. */
static void
print_copies(const json_t *s)
{
	json_t *m;
	size_t i;

	json_array_foreach(json_object_get(s, "managers"), i, m) {
		const json_t *c = json_object_get(m, "copied");
		const char *node = field_str(m, "node");

		if (!json_is_object(c))
			continue;
		emit(stdout, "  copied      %s %s/%llu at %s: %llu multicast members, %llu "
		     "services, %llu subscriptions\n", field_bool(m, "leads") ? "from" : "by",
		     node[0] ? node : field_str(m, "node_guid"), N(m, "port"), field_str(c, "at"),
		     N(c, "members"), N(c, "services"), N(c, "subscriptions"));
	}
}

static void
print_safe(const json_t *s)
{
	const json_t *reasons = json_object_get(s, "reasons");
	json_t *reason;
	size_t i;

	emit(stdout, "  safe to fail over: %s", field_bool(s, "safe") ? "yes\n" : "no, because\n");
	json_array_foreach(reasons, i, reason)
		emit(stdout, "    %s\n", json_string_value(reason));
}

/* What sets a manager apart from one that would do as a standby. */
static const char *
remark(const json_t *m)
{
	if (field_bool(m, "lost"))
		return "does not answer";
	if (!field_bool(m, "allowed"))
		return "not allowed, ignored";
	if (field_str(m, "sm_key")[0] == 'w')
		return "wrong SM_Key, ignored";
	return field_bool(m, "leads") ? "leads" : "";
}

static void
print_managers(const json_t *list)
{
	static const struct table_column columns[] = {
		{ "MANAGER", false }, { "GUID", false }, { "LID", true }, { "PRIORITY", true },
		{ "STATE", false }, { "SM_KEY", false }, { "ACTIVITY", true },
		{ "LAST HEARD", false }, { "REMARK", false },
	};
	struct table *t = table_new(columns, 9);
	json_t *m;
	size_t i;

	json_array_foreach(list, i, m) {
		const char *node = field_str(m, "node");

		table_cell(t, "%s/%llu", node[0] ? node : field_str(m, "node_guid"),
			   N(m, "port"));
		table_cell(t, "%s", field_str(m, "guid"));
		table_cell(t, "%llu", N(m, "lid"));
		table_cell(t, "%llu", N(m, "priority"));
		table_cell(t, "%s", field_str(m, "state"));
		table_cell(t, "%s", field_str(m, "sm_key"));
		table_cell(t, "%llu", N(m, "activity"));
		table_cell(t, "%s", field_str(m, "last_heard"));
		table_cell(t, "%s", remark(m));
	}
	if (table_rows(t))
		putchar('\n');
	table_print(t, stdout);
	table_free(t);
}

void
print_ha(const struct cli *c, const json_t *data)
{
	const json_t *subnets = json_object_get(data, "subnets");
	json_t *s;
	size_t i;

	(void)c;
	json_array_foreach(subnets, i, s) {
		const char *master = field_str(s, "master");

		emit(stdout, "%ssubnet %s: %s since %s\n", i ? "\n" : "", field_str(s, "name"),
		     field_str(s, "role"), field_str(s, "role_since"));
		emit(stdout, "  this one    GUID %s, LID %llu, priority %llu\n",
		     field_str(s, "guid"), N(s, "lid"), N(s, "priority"));
		if (master[0])
			emit(stdout, "  in charge   %s\n", master);
		print_takeover(s);
		print_etcd(s);
		print_copies(s);
		print_safe(s);
		print_managers(json_object_get(s, "managers"));
	}
}
