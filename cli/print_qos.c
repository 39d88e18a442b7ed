/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>
#include "sm/base/table.h"

/*
 * Levels of service for people: what each service level is for, and how lanes share links.
 */
#define N(o, key) ((unsigned long long)field_uint(o, key))
#define LIST_SIZE 200u

/* "0 1 2" of numbers, "a, b" of names; "-" of none. */
static const char *
list_text(const json_t *list, char text[LIST_SIZE])
{
	size_t i, at = 0;
	json_t *v;

	snprintf(text, LIST_SIZE, "-");
	json_array_foreach(list, i, v) {
		if (json_is_string(v))
			at += (size_t)snprintf(text + at, LIST_SIZE - at, "%s%s", i ? ", " : "",
					       json_string_value(v));
		else
			at += (size_t)snprintf(text + at, LIST_SIZE - at, "%s%lld", i ? " " : "",
					       (long long)json_integer_value(v));
		if (at >= LIST_SIZE)
			break;
	}
	return text;
}

/* "1:64 2:64": lanes and weights. */
static const char *
table_text(const json_t *entries, char text[LIST_SIZE])
{
	size_t i, at = 0;
	json_t *e;

	snprintf(text, LIST_SIZE, "-");
	json_array_foreach(entries, i, e) {
		at += (size_t)snprintf(text + at, LIST_SIZE - at, "%s%llu:%llu", i ? " " : "",
				       N(e, "vl"), N(e, "weight"));
		if (at >= LIST_SIZE)
			break;
	}
	return text;
}

static void
print_sls(const json_t *sls)
{
	static const struct table_column columns[] = {
		{ "SL", true }, { "LEVELS", false }, { "PATH CLASS", true },
		{ "VL BETWEEN SWITCHES", false }, { "VL TO HOSTS", false }, { "ADAPTIVE", false },
		{ "REMARK", false },
	};
	struct table *t = table_new(columns, 7);
	char text[LIST_SIZE];
	json_t *s;
	size_t i;

	json_array_foreach(sls, i, s) {
		const char *use = field_str(s, "use");

		table_cell(t, "%llu", N(s, "sl"));
		table_cell(t, "%s", list_text(json_object_get(s, "levels"), text));
		if (json_is_null(json_object_get(s, "path_class")))
			table_cell(t, "-");
		else
			table_cell(t, "%llu", N(s, "path_class"));
		table_cell(t, "%s", list_text(json_object_get(s, "vls_switches"), text));
		table_cell(t, "%s", list_text(json_object_get(s, "vls_hosts"), text));
		table_cell(t, "%s", json_is_true(json_object_get(s, "adaptive")) ? "yes" : "no");
		table_cell(t, "%s%s", strcmp(use, "level") == 0 ? "" :
			   strcmp(use, "engine") == 0 ? "reserved by the engine" : use,
			   json_is_true(json_object_get(s, "stale")) ? " given out before" : "");
	}
	table_print(t, stdout);
	table_free(t);
}

static void
print_arbitration(const json_t *links)
{
	static const struct table_column columns[] = {
		{ "LINK", false }, { "HIGH VL:WEIGHT", false }, { "LOW VL:WEIGHT", false },
		{ "HIGH LIMIT", true },
	};
	struct table *t = table_new(columns, 4);
	char text[LIST_SIZE];
	json_t *l;
	size_t i;

	json_array_foreach(links, i, l) {
		table_cell(t, "%s", field_str(l, "link"));
		table_cell(t, "%s", table_text(json_object_get(l, "high"), text));
		table_cell(t, "%s", table_text(json_object_get(l, "low"), text));
		table_cell(t, "%llu", N(l, "high_limit"));
	}
	table_print(t, stdout);
	table_free(t);
}

/* If there are any. */
static void
print_adaptive_sls(const json_t *data)
{
	const json_t *sls = json_object_get(data, "adaptive_sls");
	char text[RANGES_SIZE];

	if (json_array_size(sls))
		emit(stdout, "switches spread packets of SL %s over several ports\n",
		     ranges_text(sls, text));
}

void
print_qos(const struct cli *c, const json_t *data)
{
	const json_t *sls = json_object_get(data, "service_levels");
	const json_t *links = json_object_get(data, "arbitration");
	const char *shared = field_str(data, "shared");

	(void)c;
	if (!json_array_size(sls)) {
		emit(stdout, "engine %s: one level of service, whatever the service level\n",
		     field_str(data, "engine"));
		print_adaptive_sls(data);
		return;
	}
	emit(stdout, "engine %s: %llu path class%s, %llu lane%s between switches\n",
	     field_str(data, "engine"), N(data, "path_classes"),
	     plural_es(N(data, "path_classes")), N(data, "lanes"),
	     plural(N(data, "lanes")));
	if (json_is_string(json_object_get(data, "shared")))
		emit(stdout, "%s\n", shared);
	print_adaptive_sls(data);
	putchar('\n');
	print_sls(sls);
	if (!json_array_size(links))
		return;
	putchar('\n');
	print_arbitration(links);
	if (N(data, "few_entries_ports"))
		emit(stdout, "\n%llu port%s a lane out, for which %s no entry: %s\n",
		     N(data, "few_entries_ports"),
		     N(data, "few_entries_ports") == 1 ? " leaves" : "s leave",
		     N(data, "few_entries_ports") == 1 ? "it has" : "they have",
		     field_str(data, "few_entries_at"));
}

void
print_untold(const json_t *data)
{
	if (json_is_false(json_object_get(data, "talk")))
		emit(stdout, "no host is told of this path: by the P_Key 0x%04llx its ends may not "
		     "talk (weft partition check)\n", N(data, "pkey"));
}

void
print_explain(const struct cli *c, const json_t *data)
{
	(void)c;
	emit(stdout, "SL %llu", N(data, "sl"));
	if (!json_is_string(json_object_get(data, "level")))
		emit(stdout, ": no levels of service are configured\n");
	else if (json_is_integer(json_object_get(data, "rule")))
		emit(stdout, ", level %s: qos.rules[%llu]\n", field_str(data, "level"),
		     N(data, "rule"));
	else
		emit(stdout, ", level %s: %s\n", field_str(data, "level"),
		     field_str(data, "because"));
	print_untold(data);
}
