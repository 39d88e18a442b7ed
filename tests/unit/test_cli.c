/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/unit/ctl_fake.h"

#include <spawn.h>
#include <sys/mman.h>

/*
 * The real `weft`, which lies beside this program, against the fake host: what it prints for
 * people, that its JSON is JSON, its exit statuses, and that an error is one line.
 */

extern char **environ;

/* The real client. */
struct result {
	int status;		/* its exit status */
	char out[65536];	/* standard output, cut */
	char err[4096];		/* standard error */
};

static void
slurp(int fd, char *text, size_t size)
{
	ssize_t len = pread(fd, text, size - 1, 0);

	text[len > 0 ? len : 0] = '\0';
	close(fd);
}

static void
weft(struct result *r, const char *line)
{
	char exe[300], copy[400], *argv[24] = { exe, (char *)(uintptr_t) "-s", h.path }, *save,
				  *word;
	int out = memfd_create("out", MFD_CLOEXEC), err = memfd_create("err", MFD_CLOEXEC), n = 3;
	ssize_t len = readlink("/proc/self/exe", exe, sizeof(exe) - 10);
	posix_spawn_file_actions_t fa;
	pid_t pid;

	assert_true(len > 0);
	exe[len] = '\0';
	strcpy(strrchr(exe, '/') + 1, "weft");
	snprintf(copy, sizeof(copy), "%s", line);
	for (word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save))
		argv[n++] = word;
	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_adddup2(&fa, out, 1);
	posix_spawn_file_actions_adddup2(&fa, err, 2);
	assert_int_equal(posix_spawn(&pid, exe, &fa, NULL, argv, environ), 0);
	posix_spawn_file_actions_destroy(&fa);
	r->status = serve(pid);
	slurp(out, r->out, sizeof(r->out));
	slurp(err, r->err, sizeof(r->err));
}

static void
weft_says(const char *line, int status, const char *out, const char *err)
{
	static struct result r;
	char *newline;

	weft(&r, line);
	if (r.status != status || !strstr(r.out, out) || !strstr(r.err, err))
		fail_msg("weft %s: status %d\n%s\n%s", line, r.status, r.out, r.err);
	newline = strchr(r.err, '\n');
	if (status && status != 2 && (!newline || newline[1]))
		fail_msg("weft %s: not one line: %s", line, r.err);
	assert_null(strchr(r.out, '\x1b'));
}

static void
test_cli(void **state)
{
	(void)state;
	add_event(EVENT_ROLE, LOG_L_NOTICE, "now master");
	weft_says("status", 0, "fattree was requested: fattree: no levels", "");
	weft_says("status", 0, "?[31mSubnetTimeOut", "");
	weft_says("status", 0, "8 nodes: 4 hosts and 4 switches, 8 links", "");
	weft_says("wait --timeout 5", 0, "", "");
	weft_says("status", 0, "subnet one: up, master since 2025-11-29T21:13:11.123Z", "");
	weft_says("status", 0, "discover 2.50 ms, route not run, check not run", "");
	weft_says("show nodes", 0, "gpu-3        0x0000000000001003  host     13", "");
	weft_says("show switches", 0, "rack1/leaf2", "");
	weft_says("show ports --slow", 0, "gpu-4/1", "");
	weft_says("show links", 0, "8 links: 7 active, 1 init", "");
	weft_says("show links", 0, "speeds: 7 4xNDR, 1 4xHDR; 1 slower than most", "");
	weft_says("show links gpu-1", 0, "1 link: 1 active\n", "");
	weft_says("show links gpu-1 --slow", 0, "0 links\n", "");
	/* Two switches share the name: there the GUID tells them apart, and only there. */
	weft_says("show links", 0, "spine/1 (0x00000000000000a0)  rack1/leaf1/5 ", "");
	weft_says("show routes rack1/leaf1", 0, "8 LIDs, 0 of them dropped", "");
	weft_says("show routes gpu-3", 0, "to gpu-3/1, LID 13: 4 switches", "");
	weft_says("show routes --dump", 0, "of switch Lid ", "");
	weft_says("show routes --dump", 0, ": 'gpu-3')\n", "");
	weft_says("show routes --dump", 0, " valid lids dumped \n", "");
	weft_says("help route", 0, "usage: weft route FILE", "");
	weft_says("show multicast", 0, "0xc000  ff12401bffff000000000000ffffffff        3 "
		  "        5      no  0xffff  0x00000b1b  2048  10.0", "");
	weft_says("show ha", 0, "subnet one: standby since 2025-11-29T21:13:11.123Z\n"
		  "  this one    GUID 0x0000000000009009, LID 4, priority 3\n"
		  "  in charge   gpu-9 ?[31m\n"
		  "  took over   2025-11-29T21:13:11.123Z: the master was lost "
		  "(0x0000000000009010); master after 2.70 s, all programmed after 2.75 s\n"
		  "  copied      from gpu-9/1 at 2025-11-29T21:13:11.123Z: 6 multicast members, "
		  "2 services, 3 subscriptions\n"
		  "  safe to fail over: no, because\n    there is no standby\n\n", "");
	weft_says("show ha", 0, "gpu-9/1               0x0000000000009010    9         5  master   "
		  "right         77  2025-11-29T21:13:11.123Z  leads\n", "");
	weft_says("show ha", 0, "wrong SM_Key, ignored\n", "");
	weft_says("show partitions", 0, "blue       0x0007  command   -      both            2  "
		  "      1            0", "");
	weft_says("show partitions", 0, "blue: nobody has 0x0000000000abcdef", "");
	weft_says("show partitions 0x8007 --members", 0,
		  "gpu-3/1  0x0000000000002003  limited     command", "");
	weft_says("show partitions green", 1, "", "no partition \"green\"");
	weft_says("partition add red gpu-1 --dry-run", 0, "dry run: nothing was changed", "");
	weft_says("partition member add blue gpu-2", 0,
		  "gpu-2/1  0x0000000000002002  0x0007  none    full", "");
	weft_says("partition member add blue", 2, "", "name one member at least");
	weft_says("partition add full 0x12", 1, "", "has no room");
	weft_says("partition member add blue nobody", 1, "", "no node matches \"nobody\"");
	weft_says("partition member add blue rack1/leaf1/5", 1, "", "outer port of a switch");
	weft_says("partition set blue gpu-1 --membership most", 2, "", "full, limited or both");
	weft_says("partition check gpu-1 gpu-3 --pkey 7", 0, "blue       0x0007  full   limited "
		  " yes", "");
	weft_says("partition check gpu-1 gpu-2 --pkey 7", 1, "", "gpu-2 is no member of blue");
	weft_says("partition check gpu-1 gpu-2 --pkey 8", 1, "", "no partition has the P_Key");
	weft_says("partition check gpu-3 gpu-3 --pkey 7", 1, "", "both are limited members of");
	weft_says("partition check gpu-1 0xabcdef", 1, "", "0xabcdef is not in the fabric");
	weft_says("partition check gpu-1 gpu-2", 0, "gpu-1/1 and gpu-2/1 may talk", "");
	weft_says("partition", 2, "", "partition what? add, remove, set, member, apply or check");
	weft_says("partition member", 2, "", "partition member what? add or remove");
	weft_says("partition membr", 2, "", "did you mean \"member\"?");
	weft_says("partition member --help", 0, "weft partition member remove NAME", "");
	weft_says("show adaptive", 0, "adaptive  on, free, dead ports replaced", "");
	weft_says("show adaptive", 0, "3: 1 on, 0 for recovery alone, 1 static, 1 absent", "");
	weft_says("show adaptive", 0, "0 3", "");
	weft_says("show adaptive", 0, "rc uc", "");
	weft_says("show adaptive --all", 0, "0x000000000000999b", "");
	weft_says("show congestion", 0, "ports     2 held, 0 unread, 0 refused, 1 locked, 0 absent",
		  "");
	weft_says("show congestion", 0, "threshold 8, size 0, rate 0, victims 1-3", "");
	weft_says("show congestion", 0, "2 kinds of levels, SL 0-2 4-15: timer 0", "");
	weft_says("show congestion", 0, "0x0000000000009999", "");
	weft_says("show services", 0, "2 services", "");
	weft_says("show services", 0, "0xffff    60 s", "");
	weft_says("show services", 0, "0x0000000000009999 (gone)  0xffff  no end", "");
	weft_says("show subscriptions", 0, "3 subscriptions", "");
	weft_says("show subscriptions", 0, "   1  all traps     all", "");
	weft_says("show subscriptions", 0, "  77  trap 129      LIDs 3-5", "");
	weft_says("show subscriptions", 0, "   1  vendor 0x2c9  GID fe80000000000000", "");
	weft_says("show health", 0, "     3  flapping               7  1970-01-01T00:00:01.000Z  "
		  "traffic is kept off until it is well", "");
	weft_says("show health", 0, "   all  unresponsive           1 ", "");
	weft_says("show health", 0, "nothing: it is left in use, for reasons", "");
	weft_says("show health", 0, "     9  errors: 40 of them     2  1970", "");
	weft_says("show counters", 0, "read every 60 s; sweep 3; the last to end took 60.0 s: 52 "
		  "ports, 57 requests, 1 times no reading", "");
	weft_says("show counters", 0, "symbol_errors 5000000000\n", "");
	weft_says("show counters", 0, "link_downed 15, buffer_overrun_errors 15\n", "");
	weft_says("show counters", 0, "-  silent  -", "");
	weft_says("show counters -o json", 0, "\"bits\": 64", "");
	weft_says("show engines", 0, "minhop", "");
	weft_says("show events", 0, "now master", "");
	weft_says("show topology -o dot", 0, "graph fabric {", "");
	weft_says("show topology", 0, "Switch\t8 ", "");
	weft_says("path gpu-1 gpu-4", 0, "LID 11 to LID 14, SL 0", "");
	weft_says("path gpu-1 gpu-4", 0, "OUT  VL\n", "");
	weft_says("check", 0, "12, of which 0 unreachable", "");
	weft_says("reroute --engine updn --dry-run", 0, "dry run, nothing is changed: updn", "");
	assert_true(h.dry_run);
	weft_says("fail gpu-1 --dry-run", 0, "loss of gpu-1: 1 cable is lost", "");
	weft_says("drain rack1/leaf1/5", 0, "CUT OFF  6 pairs", "");
	weft_says("undrain rack1/leaf1/5", 0, "load     2 at worst, now 1", "");
	weft_says("drain", 2, "", "");
	weft_says("reload", 0, "the new configuration is in use", "");
	weft_says("--version", 0, "weft 0.", "");
	weft_says("check --help", 0, "usage: weft check", "");
	weft_says("show --help", 0, "weft show topology [-o ibnetdiscover|dot|json]", "");
}

/* h2 stands before h10, whatever their GUIDs; JSON is in order of GUIDs. */
static void
test_cli_order(void **state)
{
	static const char *const names[] = { "h10", "h2", "h02", "H3", "h1a" };
	static struct result r;
	struct fabric_builder *b = fabric_builder_new();
	struct fabric *f;
	struct plan *p;
	char *at[5];

	(void)state;
	for (unsigned i = 0; i < 5; i++)
		add_host(b, 0x100 + i, names[i]);
	f = fabric_build(b, 3);
	p = plan_new(f);
	p->lids = plan_lids_from_fabric(f);
	fabric_unref(f);
	plan_unref(h.plan);
	h.plan = p;
	weft(&r, "show nodes");
	at[0] = strstr(r.out, "H3 ");
	at[1] = strstr(r.out, "h1a ");
	at[2] = strstr(r.out, "h02 ");
	at[3] = strstr(r.out, "h2 ");
	at[4] = strstr(r.out, "h10 ");
	for (unsigned i = 0; i < 5; i++)
		assert_true(at[i] && (!i || at[i] > at[i - 1]));
	weft(&r, "show nodes -o json");
	assert_true(strstr(r.out, "\"h10\"") < strstr(r.out, "\"h2\""));
}

static void
test_cli_stale(void **state)
{
	(void)state;
	plan_unref(h.plan);
	h.plan = small_plan_with(true);
	weft_says("status", 0, "  lost cables 2", "");
	weft_says("show links --down", 0, "1 link: 1 init; 2 lost\n", "");
	weft_says("show links --down", 0, "rack1/leaf2/3  0x0000000000001005/1  down", "");
	h.override = true;
	weft_says("status", 0, "updn runs, fattree was requested, by weft reroute; configured: "
		  "fattree, updn: fattree: no levels\n", "");
	weft_says("check", 0, "passed", "");
	h.stale = h.standby = true;
	weft_says("status", 0, "subnet one: standby since 2025", "");
	weft_says("status", 0, "in charge   gpu-9 (0x9009)", "");
	weft_says("status", 0, "top LID 14, as of 2025-11-29T21:13:12.456Z, not current\n", "");
	weft_says("check", 0, "passed", "weft: what follows is as of 2025-11-29T21:13:12.456Z: "
		  "this subnet manager is standby");
	weft_says("-o json show nodes", 0, "\"current\": false", "what follows is as of");
}

static void
test_cli_plugins(void **state)
{
	static const char row[] = "rsp     engine    loaded   1.2      1.2     7         1  "
		"1.5 ms   9.0 ms     -     -  /p/rsp.so\n";

	(void)state;
	weft_says("show engines", 0, "rsp.seed = 7  (0 to 18446744073709551615, initially 0)  "
		  "Seed.", "");
	weft_says("show plugins", 0, row, "");
	weft_says("show plugins", 0, "broken  -         refused  ", "");
	weft_says("show plugins", 0, "plugin broken: /p/broken.so is no shared object\n", "");
	weft_says("show plugins", 0, "plugin rsp was ended by SIGSEGV, at 1970-01-01T00:00:02", "");
	weft_says("show plugins", 0, "rsp.mode = wide  (narrow, wide, initially wide)  How.", "");
	weft_says("plugin reload", 0, "all\n", "");
	weft_says("plugin reload rsp", 0, "rsp", "");
}

static void
test_cli_json(void **state)
{
	static const char *const lines[] = {
		"status",	"wait",	       "show nodes",	      "show switches",
		"show ports",	"show links",  "show routes spine/0", "show routes 13",
		"show engines", "show plugins", "show events", "show topology",	      "path 11 14",
		"check",	"reroute",     "reload --dry-run",    "drain gpu-1",
		"undrain 11",	"fail 11 --dry-run", "show routes --dump",
	};
	static struct result r;
	char line[80];

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		json_t *json;

		snprintf(line, sizeof(line), "%s%s",
			 strcmp(lines[i], "show routes spine/0") ? "-o json " : "", lines[i]);
		weft(&r, line);
		if (strstr(lines[i], "spine")) {
			assert_int_equal(r.status, 1);
			continue;
		}
		json = json_loads(r.out, JSON_REJECT_DUPLICATES, NULL);
		if (r.status || !json_is_object(json))
			fail_msg("%s: status %d: %s", line, r.status, r.out);
		json_decref(json);
	}
}

static char *
read_text(const char *path)
{
	char *text = calloc(1, 65536);
	FILE *f = fopen(path, "r");

	if (!text || !f)
		fail_msg("%s: cannot be read", path);
	assert_true(fread(text, 1, 65535, f) > 0);
	fclose(f);
	return text;
}

/* What can be shown is said by the client, offered by the completion, and in the manual. */
static void
test_what_is_shown(void **state)
{
	char *bash = read_text("etc/completions/weft.bash"), *man = read_text("docs/weft.1");
	char *offered = strstr(bash, "\twords=\"nodes "), *end = offered ? strchr(offered, '\n') :
		NULL, *save, copy[4096];
	unsigned len = 0;
	struct result r;

	(void)state;
	weft(&r, "show");
	assert_int_equal(r.status, 2);
	assert_non_null(end);
	*end = '\0';
	snprintf(copy, sizeof(copy), "%s", strchr(r.err, '?') + 1);
	for (char *w = strtok_r(copy, " ,\n", &save); w; w = strtok_r(NULL, " ,\n", &save)) {
		char item[80];

		if (!strcmp(w, "or"))
			continue;
		snprintf(item, sizeof(item), ".It Cm show %s", w);
		if (!strstr(offered, w) || !strstr(man, item))
			fail_msg("show %s is not in the completion, or not in weft(1)", w);
		len++;
	}
	assert_true(len >= 11);
	assert_non_null(strstr(r.err, "subscriptions"));
	free(bash);
	free(man);
}

static void
test_cli_fails(void **state)
{
	struct plan *p = (struct plan *)(uintptr_t)h.plan;

	(void)state;
	weft_says("frobnicate", 2, "", "unknown command");
	weft_says("show nods", 2, "", "\"nodes\"");
	weft_says("show fabrication", 2, "", "\"fabrication\"; see weft show --help");
	/* A short word is no other short word. */
	weft_says("who", 2, "", "\"who\"; see weft --help");
	weft_says("sho nodes", 2, "", "did you mean \"show\"?");
	weft_says("show ports --dwon", 2, "", "\"--dwon\"; did you mean \"--down\"?");
	weft_says("show ports --nonsense", 2, "", "\"--nonsense\"; see weft show ports --help");
	weft_says("status --down", 2, "", "no option --down, weft show ports has; see weft status");
	weft_says("status -x", 2, "", "\"-x\"");
	weft_says("path gpu-1", 2, "", "usage: weft path SRC DST");
	weft_says("show routes", 2, "", "usage: weft show routes NODE [--all] | --dump");
	weft_says("show routes gpu-3 --dump", 2, "", "name no node");
	weft_says("check --seed 3", 2, "", "--seed goes with --dump only");
	weft_says("route", 2, "", "usage: weft route FILE");
	weft_says("route FILE --lmc x", 2, "", "--lmc N: \"x\" is no number");
	weft_says("path gpu-1 gpu-2 gpu-3", 2, "", "too many words");
	weft_says("status -o yaml", 2, "", "--output cannot be \"yaml\": it is table or json");
	weft_says("wait --timeout soon", 2, "", "--timeout SECONDS: \"soon\" is no time");
	weft_says("show nodes --type swich", 2, "",
		  "--type cannot be \"swich\": it is ca, switch or router");
	weft_says("show events --level loud", 2, "", "error, warning, notice, info or debug");
	weft_says("show events --type loud", 2, "", "adaptive or plugin");
	weft_says("show events --last 1 --after 2", 2, "", "--last and --after");
	weft_says("show nodes nowhere", 1, "", "no node matches \"nowhere\"");
	weft_says("reroute --engine updm", 2, "", "\"updn\"");
	weft_says("path gpu-1 nowhere", 1, "", "nowhere");
	weft_says("--subnet zwei status", 1, "", "zwei");
	h.reload_code = ERR_FORMAT;
	weft_says("reload", 1, "", "weft.yaml:3:1");
	h.up = false;
	weft_says("wait --timeout 200ms", 4, "", "subnet one is not up: programming");
	plan_row_set(&p->rows[1], 14, LFT_NO_PORT);
	weft_says("check", 1, "FAILED", "not proved");
	weft_says("-s /nonexistent/weft.sock status", 3, "", "no daemon");
	weft_says("-s /nonexistent/weft.sock wait --timeout 300ms", 3, "", "no daemon");
}

/* The client's lists of words are those of the daemon. */
static void
test_cli_words(void **state)
{
	char line[80];

	(void)state;
	for (unsigned i = 0; i < EVENT_TYPES; i++) {
		snprintf(line, sizeof(line), "show events --type %s",
			 event_type_name((enum event_type)i));
		weft_says(line, 0, "", "");
		weft_says("show events --help", 0, event_type_name((enum event_type)i), "");
	}
	for (int level = LOG_L_ERROR; level <= LOG_L_DEBUG; level++) {
		snprintf(line, sizeof(line), "show events --level %s",
			 log_level_name((enum log_level)level));
		weft_says(line, 0, "", "");
	}
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		T(test_cli), T(test_cli_plugins), T(test_cli_order), T(test_cli_stale),
		T(test_cli_json),
		T(test_cli_fails), T(test_cli_words), T(test_what_is_shown),
	};

	alarm(120);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
