/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cli.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "sm/base/table.h"

/*
 * Answers for people, all but the long lists. Names come from the fabric and may hold anything:
 * emit() and the table writer let no control character through to the terminal.
 */
void
emit(FILE *out, const char *fmt, ...)
{
	struct buf line = { 0 };
	char *text = NULL;
	va_list args;
	int len;

	va_start(args, fmt);
	len = vasprintf(&text, fmt, args);
	va_end(args);
	if (len < 0)
		return;
	buf_add(&line, text, (size_t)len);
	free(text);
	for (size_t i = 0; i < line.len; i++) {
		unsigned char c = (unsigned char)line.data[i];
		bool last = i + 1 == line.len;

		/* C0, DEL, and the C1 controls, which are 0xc2 and one more byte in UTF-8. */
		if ((c < ' ' && !(last && c == '\n')) || c == 0x7f ||
		    (c == 0xc2 && !last && (unsigned char)line.data[i + 1] < 0xa0))
			line.data[i] = '?';
	}
	fwrite(line.data, 1, line.len, out);
	buf_free(&line);
}

const char *
field_str(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "";
}

uint64_t
field_uint(const json_t *o, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(o, key));
}

double
field_real(const json_t *o, const char *key)
{
	return json_number_value(json_object_get(o, key));
}

bool
field_bool(const json_t *o, const char *key)
{
	return json_is_true(json_object_get(o, key));
}

#define N(o, key) ((unsigned long long)field_uint(o, key))

const char *
plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

const char *
plural_es(uint64_t n)
{
	return n == 1 ? "" : "es";
}

const char *
ms_text(char text[DURATION_TEXT_SIZE], const json_t *o, const char *key)
{
	return duration_text(text, (monotime)(field_real(o, key) * 1e6));
}

/* A stage that took no time at all was not needed. */
static const char *
stage_text(char text[DURATION_TEXT_SIZE], const json_t *o, const char *key)
{
	return field_real(o, key) > 0 ? ms_text(text, o, key) : "not run";
}

/* ", as of TIME, not current" for what may be otherwise by now; "" for what is current. */
static const char *
stale_text(char text[80], const json_t *s)
{
	const char *time = field_str(s, "as_of");

	text[0] = '\0';
	if (!field_bool(s, "current"))
		snprintf(text, 80, "%s%.40s, not current", time[0] ? ", as of " : "", time);
	return text;
}

static void
status_drained(const json_t *s)
{
	const json_t *list = json_object_get(s, "drained");
	struct buf b = { 0 };
	json_t *o;
	size_t i;

	json_array_foreach(list, i, o) {
		buf_printf(&b, "%s%s", i ? ", " : "", field_str(o, "node"));
		if (field_uint(o, "port"))
			buf_printf(&b, "/%llu", N(o, "port"));
		if (strcmp(field_str(o, "reason"), "asked") && field_str(o, "reason")[0])
			buf_printf(&b, " (%s)", field_str(o, "reason"));
	}
	if (field_uint(s, "drained_total") > json_array_size(list))
		buf_str(&b, " ...");
	if (b.len)
		emit(stdout, "  drained     %s\n", b.data);
	buf_free(&b);
}

static void
status_fabric(const json_t *s)
{
	bool standby = strcmp(field_str(s, "role"), "standby") == 0;
	char stale[80], lid[32] = "", drained[48] = "";

	if (field_uint(s, "top_lid"))
		snprintf(lid, sizeof(lid), "; top LID %llu", N(s, "top_lid"));
	if (field_uint(s, "drained_links"))
		snprintf(drained, sizeof(drained), ", %llu of them drained", N(s, "drained_links"));
	if (!field_uint(s, "nodes") && !field_bool(s, "current")) {
		emit(stdout, "  fabric      not known %s\n", standby ? "while standby" : "yet");
		return;
	}
	emit(stdout,
	     "  fabric      %llu node%s: %llu host%s and %llu switch%s, %llu link%s%s%s%s\n",
	     N(s, "nodes"), plural(field_uint(s, "nodes")), N(s, "hosts"),
	     plural(field_uint(s, "hosts")), N(s, "switches"),
	     plural_es(field_uint(s, "switches")), N(s, "links"), plural(field_uint(s, "links")),
	     drained, lid, stale_text(stale, s));
	if (field_uint(s, "lost_links"))
		emit(stdout, "  lost cables %llu, see weft show links --down\n",
		     N(s, "lost_links"));
	status_drained(s);
	if (field_uint(s, "silent"))
		emit(stdout, "  silent      %llu device%s not answer\n", N(s, "silent"),
		     field_uint(s, "silent") == 1 ? " does" : "s do");
}

static void
status_head(const json_t *s)
{
	const char *state = field_str(s, "state"), *role = field_str(s, "role");
	const char *since = field_str(s, "role_since"), *master = field_str(s, "master");
	bool told = strncmp(state, role, strlen(role)) == 0;

	emit(stdout, "subnet %s: %s%s%s%s%s\n", field_str(s, "name"), state, told ? "" : ", ",
	     told ? "" : role, since[0] ? " since " : "", since);
	if (master[0])
		emit(stdout, "  in charge   %s\n", master);
	if (field_str(s, "port")[0])
		emit(stdout, "  port        %s, GUID %s, LID %llu, priority %llu\n",
		     field_str(s, "port"), field_str(s, "port_guid"), N(s, "sm_lid"),
		     N(s, "priority"));
	status_fabric(s);
}

/* What was asked for: ", by weft reroute; configured: minhop, updn", or "". */
static void
add_override(struct buf *b, const json_t *s)
{
	const json_t *chain = json_object_get(s, "engines_configured");
	json_t *name;
	size_t i;

	if (!field_bool(s, "engine_override"))
		return;
	buf_str(b, ", by weft reroute; configured: ");
	json_array_foreach(chain, i, name)
		buf_printf(b, "%s%s", i ? ", " : "", json_string_value(name));
}

static void
status_routing(const json_t *s)
{
	const char *wanted = field_str(s, "engine_requested");
	const char *running = field_str(s, "engine_running"), *reason = field_str(s, "reason");
	struct buf b = { 0 };

	if (!running[0])
		buf_printf(&b, "%s requested, none running", wanted[0] ? wanted : "none");
	else if (strcmp(wanted, running) == 0)
		buf_printf(&b, "%s%s", running,
			   field_bool(s, "engine_override") ? "" : ", as requested");
	else if (strcmp(wanted, "auto") == 0 && !reason[0])
		buf_printf(&b, "%s, chosen by auto", running);
	else
		buf_printf(&b, "%s runs, %s was requested", running, wanted);
	add_override(&b, s);
	if (reason[0])
		buf_printf(&b, ": %s", reason);
	emit(stdout, "  routing     %s\n", b.data);
	buf_free(&b);
	if (field_str(s, "note")[0])
		emit(stdout, "              %s\n", field_str(s, "note"));
}

static void
proof_line(const json_t *s)
{
	const json_t *p = json_object_get(s, "proof");
	char stale[80];

	stale_text(stale, s);
	if (!field_bool(p, "ok")) {
		emit(stdout,
		     "  proof       FAILED: %llu pair%s unreachable, %llu loop entries, "
		     "%llu credit loop%s; %s%s\n",
		     N(p, "unreachable"), plural(field_uint(p, "unreachable")), N(p, "loops"),
		     N(p, "credit_loops"), plural(field_uint(p, "credit_loops")),
		     field_str(p, "first"), stale);
		return;
	}
	emit(stdout,
	     "  proof       passed: %llu pair%s reached, no loop, no credit loop; "
	     "%.2f hops, at most %llu%s\n",
	     N(p, "pairs") - N(p, "cut_off"), plural(field_uint(p, "pairs") -
	     field_uint(p, "cut_off")), field_real(p, "mean_hops"), N(p, "max_hops"), stale);
	if (field_uint(p, "cut_off"))
		emit(stdout, "              %llu pair%s joined by no cables\n", N(p, "cut_off"),
		     field_uint(p, "cut_off") == 1 ? " is" : "s are");
	if (field_uint(s, "path_classes") > 1)
		emit(stdout, "              with %llu service levels: for hosts that use those of "
		     "their path records\n", N(s, "path_classes"));
}

/* Why requests were not answered; reasons that did not come up are left out. */
static void
status_drops(const json_t *drops)
{
	static const char *const reasons[][2] = {
		{ "malformed", "malformed" }, { "no_question", "asked nothing" },
		{ "wrong_sm_key", "had a wrong SM_Key" },
		{ "flood", "from ports that flood" },
		{ "resigned", "waited when another manager took over" },
		{ "not_taken", "answered, but the answer was not taken" },
	};
	bool any = false;

	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		if (!field_uint(drops, reasons[i][0]))
			continue;
		emit(stdout, "%s%llu %s", any ? ", " : "              dropped: ",
		     N(drops, reasons[i][0]), reasons[i][1]);
		any = true;
	}
	if (any)
		emit(stdout, "\n");
}

static void
status_sa(const json_t *sa)
{
	const json_t *busy = json_object_get(sa, "busy");

	if (!field_uint(sa, "requests"))
		return;
	emit(stdout,
	     "  SA          %llu requests: %llu answered, %llu refused, %llu dropped, "
	     "%llu pending\n", N(sa, "requests"), N(sa, "answered"), N(sa, "refused"),
	     N(sa, "dropped"), N(sa, "pending"));
	if (N(busy, "rate") + N(busy, "waiting") + N(busy, "open"))
		emit(stdout, "              busy: %llu asked too often, %llu had too many waiting, "
		     "%llu too long ones\n", N(busy, "rate"), N(busy, "waiting"), N(busy, "open"));
	status_drops(json_object_get(sa, "drops"));
}

static void
status_sweep(const json_t *s)
{
	const json_t *stages = json_object_get(s, "stages"), *mads = json_object_get(s, "mads");
	const json_t *sa = json_object_get(s, "sa"), *traps = json_object_get(s, "traps");
	const json_t *reports = json_object_get(sa, "reports");
	char all[DURATION_TEXT_SIZE], t[4][DURATION_TEXT_SIZE];

	if (!field_uint(s, "sweeps")) {
		emit(stdout, "  last sweep  none has ended yet\n");
	} else {
		emit(stdout, "  last sweep  %s, %s: discover %s, route %s, check %s, program %s\n",
		     field_str(s, "last_sweep"), ms_text(all, s, "last_sweep_ms"),
		     stage_text(t[0], stages, "discover_ms"), stage_text(t[1], stages, "route_ms"),
		     stage_text(t[2], stages, "check_ms"), stage_text(t[3], stages, "program_ms"));
		emit(stdout, "              number %llu; first up %s after the start\n",
		     N(s, "sweeps"),
		     field_real(s, "up_ms") > 0 ? ms_text(all, s, "up_ms") : "not yet,");
	}
	emit(stdout,
	     "  MADs        %llu sent, %llu timed out, %llu refused, %llu malformed, "
	     "%llu unsolicited\n",
	     N(mads, "sent"), N(mads, "timed_out"), N(mads, "refused"), N(mads, "malformed"),
	     N(mads, "unsolicited"));
	status_sa(sa);
	if (field_uint(traps, "received"))
		emit(stdout,
		     "  traps       %llu received: %llu repeats, %llu too many of one source\n",
		     N(traps, "received"), N(traps, "repeated"), N(traps, "suppressed"));
	if (field_uint(reports, "sent") || field_uint(reports, "lost"))
		emit(stdout, "  reports     %llu sent for %llu subscription%s: %llu answered, "
		     "%llu lost\n", N(reports, "sent"), N(sa, "subscriptions"),
		     plural(field_uint(sa, "subscriptions")), N(reports, "answered"),
		     N(reports, "lost"));
}

static void
status_warnings(const json_t *s)
{
	const json_t *list = json_object_get(s, "warnings");
	json_t *w;
	size_t i;

	if (!json_array_size(list)) {
		emit(stdout, "  warnings    none\n");
		return;
	}
	emit(stdout, "  warnings    %llu\n", json_array_size(list) + N(s, "more_warnings"));
	json_array_foreach(list, i, w)
		emit(stdout, "    - %s\n", json_string_value(w));
	if (field_uint(s, "more_warnings"))
		emit(stdout, "    and %llu more: see the log\n", N(s, "more_warnings"));
}

/* Only where there is something to tell: the daemon was not there for others meanwhile. */
static void
status_loop(const json_t *loop)
{
	char longest[DURATION_TEXT_SIZE];

	if (field_uint(loop, "slow"))
		emit(stdout, "weftd kept others waiting %llu time%s, the longest %s (%s)\n",
		     N(loop, "slow"), plural(field_uint(loop, "slow")),
		     ms_text(longest, loop, "longest_ms"), field_str(loop, "longest_at"));
}

void
print_status(const struct cli *c, const json_t *data)
{
	json_t *s;
	size_t i;

	(void)c;
	json_array_foreach(json_object_get(data, "subnets"), i, s) {
		if (i)
			putchar('\n');
		status_head(s);
		status_routing(s);
		if (json_object_get(s, "proof"))
			proof_line(s);
		status_sweep(s);
		status_warnings(s);
	}
	status_loop(json_object_get(data, "loop"));
}

void
print_wait(const struct cli *c, const json_t *data)
{
	/* The exit status says it all; scripts like silence. */
	(void)c;
	(void)data;
}

static bool
has_alternatives(const json_t *hops)
{
	json_t *h;
	size_t i;

	json_array_foreach(hops, i, h) {
		if (json_array_size(json_object_get(h, "alternatives")))
			return true;
	}
	return false;
}

void
print_path(const struct cli *c, const json_t *data)
{
	static const struct table_column columns[] = {
		{ "HOP", true }, { "NODE", false }, { "GUID", false }, { "IN", true },
		{ "OUT", true }, { "VL", true }, { "ALTERNATIVES", false },
	};
	const json_t *hops = json_object_get(data, "hops");
	bool alternatives = has_alternatives(hops);
	struct table *t = table_new(columns, alternatives ? 7 : 6);
	size_t i, last = json_array_size(hops) - 1;
	char text[RANGES_SIZE];
	bool spread = false;
	json_t *h;

	(void)c;
	emit(stdout, "LID %llu to LID %llu, SL %llu\n", N(data, "src_lid"), N(data, "dst_lid"),
	     N(data, "sl"));
	print_untold(data);
	json_array_foreach(hops, i, h) {
		table_cell(t, "%zu", i);
		table_cell(t, "%s", field_str(h, "node"));
		table_cell(t, "%s", field_str(h, "guid"));
		table_cell(t, i ? "%llu" : "-", N(h, "in"));
		table_cell(t, i < last ? "%llu" : "-", N(h, "out"));
		table_cell(t, i < last ? "%llu" : "-", N(h, "vl"));
		if (alternatives)
			table_cell(t, "%s", ranges_text(json_object_get(h, "alternatives"), text));
		spread |= field_bool(h, "spread");
	}
	table_print(t, stdout);
	table_free(t);
	if (alternatives && !spread)
		emit(stdout, "such packets are not spread: alternatives replace dead ports\n");
}

void
print_reroute(const struct cli *c, const json_t *data)
{
	(void)c;
	emit(stdout, "%s%s\n", field_bool(data, "dry_run") ? "dry run, nothing is changed: " : "",
	     field_str(data, "text"));
}

/* What is lost, moved, and how much harder the links that are left have to work. */
void
print_change(const struct cli *c, const json_t *data)
{
	bool dry = field_bool(data, "dry_run"), measured =
		json_is_integer(json_object_get(data, "load_after"));
	uint64_t cables = field_uint(data, "cables"), kept = field_uint(data, "kept");
	const char *what = c->command->name;

	emit(stdout, "%s%s of %s: ", dry ? "dry run, nothing is changed: " : "",
	     strcmp(what, "fail") ? what : "loss", field_str(data, "place"));
	if (!strcmp(what, "undrain") && !cables)
		emit(stdout, "no cable is drained any more\n");
	else
		emit(stdout, "%llu cable%s %s\n", (unsigned long long)cables, plural(cables),
		     strcmp(what, "fail") ? "without traffic in all" :
		     cables == 1 ? "is lost" : "are lost");
	if (kept)
		emit(stdout, "kept     %llu drained cable%s, for nothing else leads there\n",
		     (unsigned long long)kept, plural(kept));
	emit(stdout, "tables   %llu entries in %llu blocks of %llu switches, %llu written, by "
	     "engine %s%s\n", N(data, "entries"), N(data, "blocks"), N(data, "switches"),
	     N(data, "writes"), field_str(data, "engine"),
	     field_bool(data, "waits") ? "; changed entries drop packets for the packet lifetime" :
	     "");
	if (N(data, "group_writes"))
		emit(stdout, "groups   %llu blocks written\n", N(data, "group_writes"));
	if (measured)
		emit(stdout, "load     %llu at worst, now %llu (shift permutations)\n",
		     N(data, "load_after"), N(data, "load_before"));
	if (field_uint(data, "cut_off"))
		emit(stdout, "CUT OFF  %llu pairs of host ports lose each other\n",
		     N(data, "cut_off"));
	else
		emit(stdout, "cut off  no pair of hosts\n");
}

void
print_reload(const struct cli *c, const json_t *data)
{
	const json_t *changes = json_object_get(data, "changes");
	bool dry = field_bool(data, "dry_run");
	json_t *line;
	size_t i;

	(void)c;
	json_array_foreach(changes, i, line)
		emit(stdout, "%s\n", json_string_value(line));
	if (!json_array_size(changes))
		emit(stdout, "the configuration has not changed\n");
	else
		emit(stdout,
		     dry ? "dry run, nothing is changed\n" : "the new configuration is in use\n");
}

void
print_engines(const struct cli *c, const json_t *data)
{
	static const struct table_column columns[] = {
		{ "ENGINE", false }, { "DEADLOCK-FREE", false }, { "TOPOLOGIES", false },
		{ "WHAT IT DOES", false },
	};
	struct table *t = table_new(columns, 4);
	json_t *o;
	size_t i;

	(void)c;
	json_array_foreach(json_object_get(data, "subnets"), i, o) {
		const char *reason = field_str(o, "reason");
		const char *running = field_str(o, "engine_running");

		emit(stdout, "subnet %s: requested %s%s, running %s%s%s\n", field_str(o, "name"),
		     field_str(o, "engine_requested"),
		     field_bool(o, "engine_override") ? " (by weft reroute)" : "",
		     running[0] ? running : "none", reason[0] ? ": " : "", reason);
	}
	putchar('\n');
	json_array_foreach(json_object_get(data, "engines"), i, o) {
		table_cell(t, "%s", field_str(o, "name"));
		table_cell(t, "%s", field_bool(o, "deadlock_free") ? "yes" : "no");
		table_cell(t, "%s", field_str(o, "topologies"));
		table_cell(t, "%s", field_str(o, "help"));
	}
	table_print(t, stdout);
	table_free(t);
	json_array_foreach(json_object_get(data, "engines"), i, o)
		print_plugin_options(o);
}

/* Read by programs: the daemon's text as it is. */
void
print_topology(const struct cli *c, const json_t *data)
{
	json_t *line;
	size_t i;

	(void)c;
	json_array_foreach(json_object_get(data, "lines"), i, line)
		printf("%s\n", json_string_value(line));
}
