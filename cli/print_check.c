/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cli.h"

#include <string.h>
#include "sm/base/table.h"

/* The answers to `check` and `route` for people: the proof, the quality, and where the load is. */
#define N(o, key) ((unsigned long long)field_uint(o, key))

/* Links of one direction at one level, if there are any. */
static void
check_links(struct table *t, const json_t *level, const char *direction, const char *key)
{
	const json_t *k = json_object_get(level, key);

	if (!field_uint(k, "links"))
		return;
	table_cell(t, "%llu", N(level, "level"));
	table_cell(t, "%llu", N(level, "switches"));
	table_cell(t, "%s", direction);
	table_cell(t, "%llu", N(k, "links"));
	table_cell(t, "%llu", N(k, "unused"));
	table_cell(t, "%llu", N(k, "shift_max"));
	table_cell(t, "%.2f", field_real(k, "load_mean"));
	table_cell(t, "%.2f", field_real(k, "load_max"));
	table_cell(t, "%.0f", field_real(k, "entries_mean"));
	table_cell(t, "%llu", N(k, "entries_max"));
	if (json_is_number(json_object_get(level, "now")))
		table_cell(t, "%.2f", field_real(level, "now"));
	else
		table_cell(t, "-");
}

static void
check_levels(const json_t *levels)
{
	static const struct table_column columns[] = {
		{ "LEVEL", true }, { "SWITCHES", true }, { "WAY", false }, { "LINKS", true },
		{ "UNUSED", true }, { "SHIFT", true }, { "LOAD", true }, { "WORST", true },
		{ "ENTRIES", true }, { "MOST", true }, { "OVER", true },
	};
	struct table *t = table_new(columns, 11);
	size_t i;
	json_t *level;

	json_array_foreach(levels, i, level) {
		check_links(t, level, "up", "up");
		check_links(t, level, "down", "down");
		check_links(t, level, "across", "flat");
	}
	table_print(t, stdout);
	table_free(t);
}

/* A bar for each range of loads, the longest BAR characters long. */
static void
check_histogram(const json_t *d)
{
	enum { BAR = 50 };
	const json_t *bins = json_object_get(d, "histogram"), *bin;
	char bar[BAR + 1];
	uint64_t most = 1;
	size_t i;

	memset(bar, '#', BAR);
	bar[BAR] = '\0';
	json_array_foreach(bins, i, bin)
		most = field_uint(bin, "links") > most ? field_uint(bin, "links") : most;
	if (i)
		emit(stdout, "links by load when all hosts send to all alike\n");
	json_array_foreach(bins, i, bin) {
		uint64_t links = field_uint(bin, "links");
		int len = (int)((links * BAR + most - 1) / most);

		if (json_is_number(json_object_get(bin, "to")))
			emit(stdout, "%5.2f to %5.2f %8llu %.*s\n", field_real(bin, "from"),
			     field_real(bin, "to"), (unsigned long long)links, len, bar);
		else
			emit(stdout, "%5.2f or more %8llu %.*s\n", field_real(bin, "from"),
			     (unsigned long long)links, len, bar);
	}
}

/* Above this a ratio is told of. */
#define WORSE 1.005

/* Why the worst link is as loaded as it is, a line each: the number, and what it asks for. */
static void
check_causes(const json_t *d)
{
	double design = field_real(d, "by_design"), routing = field_real(d, "by_routing");

	if (design > WORSE)
		emit(stdout, "cabling  %.2f to 1: hosts can send %.2f times what the cables above "
		     "them carry, as it was built\n", design, design);
	else
		emit(stdout, "cabling  1 to 1: full bandwidth, as it was built\n");
	if (field_real(d, "by_faults") > WORSE)
		emit(stdout, "faults   %.2f times worse where most cables are lost: mend them "
		     "(weft show links --down)\n", field_real(d, "by_faults"));
	if (field_real(d, "by_drains") > WORSE)
		emit(stdout, "drains   %.2f times worse where most cables are drained: "
		     "weft undrain when they are seen to\n", field_real(d, "by_drains"));
	if (routing > WORSE)
		emit(stdout, "routing  the worst link of a shift is loaded %.2f times the least "
		     "that is possible; 1 is best\n", routing);
	else
		emit(stdout, "routing  no routing could load the worst link of a shift less\n");
}

static void
check_quality(const json_t *d)
{
	if (!json_is_number(json_object_get(d, "shift_max")))
		return;
	emit(stdout,
	     "quality  of %llu shift permutations the worst link load is %llu, %.2f on average\n",
	     N(d, "shifts"), N(d, "shift_max"), field_real(d, "shift_mean"));
	emit(stdout, "         of %llu random permutations it is %llu in the median\n",
	     N(d, "samples"), N(d, "rp_median"));
	emit(stdout,
	     "         all-to-all load of the worst link %llu; "
	     "effective bisection bandwidth %.1f %%\n",
	     N(d, "a2a"), field_real(d, "ebb") * 100);
	if (json_is_number(json_object_get(d, "by_design")))
		check_causes(d);
	check_levels(json_object_get(d, "levels"));
	check_histogram(d);
}

/* What only dumps have: lanes by tables, multicast. */
static void
check_dump(const json_t *d)
{
	if (field_uint(d, "lanes") > 1)
		emit(stdout, "lanes    %llu, by the SL to VL tables\n", N(d, "lanes"));
	if (field_uint(d, "multicast_lids"))
		emit(stdout,
		     "groups   %llu multicast LID%s, %llu senders on loops, %llu unreached\n",
		     N(d, "multicast_lids"), plural(field_uint(d, "multicast_lids")),
		     N(d, "multicast_loops"), N(d, "multicast_unreached"));
}

/* Groups of adaptive routing; NULL: there are none. */
static void
print_spread(const json_t *a)
{
	char took[DURATION_TEXT_SIZE];

	if (!a)
		return;
	emit(stdout, "adaptive %llu switch%s, %llu group%s, %llu at most of one",
	     N(a, "switches"), plural_es(field_uint(a, "switches")), N(a, "groups"),
	     plural(field_uint(a, "groups")), N(a, "groups_max"));
	if (json_object_get(a, "took_ms"))
		emit(stdout, ", in %s\n", ms_text(took, a, "took_ms"));
	else
		emit(stdout, ", proved with the tables\n");
	if (field_uint(a, "left_out"))
		emit(stdout, "         %llu set%s of ports found no group: their LIDs are static\n",
		     N(a, "left_out"), plural(field_uint(a, "left_out")));
	if (field_uint(a, "cut"))
		emit(stdout, "         %llu group%s cut to be safe: %s\n", N(a, "cut"),
		     plural(field_uint(a, "cut")), field_str(a, "cut_first"));
}

void
print_check(const struct cli *c, const json_t *d)
{
	char took[DURATION_TEXT_SIZE];

	emit(stdout, "proof    %s, of the tables of %s in %s\n",
	     field_bool(d, "ok") ? "passed" : "FAILED",
	     field_str(d, "engine")[0] ? field_str(d, "engine") :
	     field_str(d, "tables")[0] ? field_str(d, "tables") : "no engine",
	     ms_text(took, d, "took_ms"));
	emit(stdout, "pairs    %llu, of which %llu unreachable and %llu joined by no cables\n",
	     N(d, "pairs"), N(d, "unreachable"), N(d, "cut_off"));
	emit(stdout, "entries  %llu on loops, %llu missing, %llu wrong\n", N(d, "loops"),
	     N(d, "holes"), N(d, "misdelivered"));
	emit(stdout, "hops     %.2f on average, %llu at most\n", field_real(d, "mean_hops"),
	     N(d, "max_hops"));
	emit(stdout, "credit   %s\n",
	     field_uint(d, "credit_loops") ? "a LOOP in the dependencies of links"
					   : "no loop in the dependencies of links");
	if (field_str(d, "cycle")[0])
		emit(stdout, "         %s\n", field_str(d, "cycle"));
	check_dump(d);
	if (c->command->print == print_check)	/* offline it is said beside the routing */
		print_spread(json_object_get(d, "adaptive"));
	check_quality(d);
	/* Not of a running routing: there the note is the engine's, and weft status has it. */
	if (c->command->print == print_check && field_str(d, "note")[0])
		emit(stdout, "note     %s\n", field_str(d, "note"));
}

static void
print_numbers(const json_t *list)
{
	json_t *v;
	size_t i;

	json_array_foreach(list, i, v)
		emit(stdout, " %lld", (long long)json_integer_value(v));
}

/* Levels of service that a configuration asked for. */
static void
print_levels(const json_t *d)
{
	json_t *l;
	size_t i;

	json_array_foreach(json_object_get(d, "qos_levels"), i, l) {
		emit(stdout, "%s  %s: SL", i ? "       " : "qos    ", field_str(l, "name"));
		print_numbers(json_object_get(l, "sls"));
		emit(stdout, ", VL");
		print_numbers(json_object_get(l, "vls"));
		emit(stdout, "\n");
	}
	if (json_is_string(json_object_get(d, "shared")))
		emit(stdout, "         %s\n", field_str(d, "shared"));
}

/* What a routing offline has besides the proof. */
void
print_route(const struct cli *c, const json_t *d)
{
	char took[DURATION_TEXT_SIZE];

	emit(stdout, "fabric   %llu switch%s, %llu host%s, %llu link%s, %llu LID%s\n",
	     N(d, "switches"), plural_es(field_uint(d, "switches")), N(d, "hosts"),
	     plural(field_uint(d, "hosts")), N(d, "links"), plural(field_uint(d, "links")),
	     N(d, "lids"), plural(field_uint(d, "lids")));
	if (!field_bool(d, "ok")) {
		emit(stdout, "routing  none\n");
		return;
	}
	emit(stdout, "routing  by %s in %s\n", field_str(d, "engine"),
	     ms_text(took, d, "route_ms"));
	if (field_str(d, "reason")[0])
		emit(stdout, "         not %s: %s\n", field_str(d, "engine_requested"),
		     field_str(d, "reason"));
	if (field_str(d, "note")[0])
		emit(stdout, "         %s\n", field_str(d, "note"));
	print_levels(d);
	print_spread(json_object_get(d, "adaptive"));
	print_check(c, d);
	emit(stdout, "memory   %.1f MB at most\n", (double)field_uint(d, "peak_rss_kb") / 1024);
}
