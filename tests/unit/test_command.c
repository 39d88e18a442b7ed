/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/control/command.h"

#include <stdio.h>
#include <sys/stat.h>
#include "tests/unit/sim_bed.h"
#include "sim/model/model_impl.h"
#include "sim/control/sim.h"
#include "sim/control/words.h"

/*
 * Commands of a simulation on the fabric of sim_bed.h: what they change in the model, what they
 * say, and what they refuse. `wrong` is held against faults that are planted one by one.
 */
struct desk {
	struct loop *loop;	/* virtual */
	struct sim *s;		/* on it */
	struct buf out;		/* of the last command */
	struct buf log;		/* event log */
	struct error e;		/* of the last command */
	bool quit;		/* the command was given */
};

static void
on_log(void *arg, const char *line)
{
	struct desk *d = arg;

	buf_printf(&d->log, "%s\n", line);
}

static void
on_quit(void *arg)
{
	*(bool *)arg = true;
}

static int
open_desk(void **state)
{
	struct desk *d = calloc(1, sizeof(*d));
	struct model_options o = { .seed = 1, .instant = true };
	struct ibnet *net;

	assert_non_null(d);
	assert_int_equal(ibnet_parse(&net, fabric, strlen(fabric), "net", NULL), 0);
	d->loop = loop_new_virtual(1);
	assert_int_equal(sim_new(&d->s, d->loop, net, &o, &d->e), 0);
	d->s->host.quit = on_quit;
	d->s->host.quit_arg = &d->quit;
	*state = d;
	return 0;
}

static int
close_desk(void **state)
{
	struct desk *d = *state;

	sim_free(d->s);
	loop_free(d->loop);
	buf_free(&d->out);
	buf_free(&d->log);
	free(d);
	return 0;
}

static const char *
say(struct desk *d, const char *line)
{
	buf_clear(&d->out);
	if (sim_command(d->s, line, &d->out, &d->e) < 0)
		fail_msg("%s: %s", line, d->e.text);
	return d->out.data ? d->out.data : "";
}

static void
refused(struct desk *d, const char *line, const char *why)
{
	unsigned faults = faults_list(d->s, NULL, 0);

	buf_clear(&d->out);
	if (sim_command(d->s, line, &d->out, &d->e) >= 0)
		fail_msg("%s was not refused", line);
	if (!strstr(d->e.text, why))
		fail_msg("%s: \"%s\" has no \"%s\"", line, d->e.text, why);
	assert_int_equal(d->out.len, 0);
	assert_int_equal(faults_list(d->s, NULL, 0), faults);
}

static void
has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("\"%s\" is not in:\n%s", part, text);
}

static void
wait_for(struct desk *d, monotime t)
{
	loop_run_until(d->loop, loop_now(d->loop) + t, NULL);
}

static void
test_words(void **state)
{
	struct words w;
	struct error e;

	(void)state;
	assert_int_equal(words_split(&w, " a  \"b c\"/3 'd\"e' \\#f \"\" # rest", &e), 0);
	assert_int_equal(w.len, 5);
	assert_string_equal(w.word[0], "a");
	assert_string_equal(w.word[1], "b c/3");
	assert_string_equal(w.word[2], "d\"e");
	assert_string_equal(w.word[3], "#f");
	assert_string_equal(w.word[4], "");
	assert_int_equal(w.at[1], 4);
	assert_int_equal(words_split(&w, "a \"b", &e), ERR_FORMAT);
	has(e.text, "does not end");
	assert_int_equal(words_split(&w, "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 "
				     "23 24 25 26 27 28 29 30 31 32 33", &e), ERR_FULL);
}

static void
test_quote(void **state)
{
	static const char *const words[] = { "plain", "a b", "", "q\"\\x", "it's", "#1" };
	struct words w;
	struct error e;

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		struct buf b = { 0 };

		sim_quote(&b, words[i]);
		assert_int_equal(words_split(&w, b.data, &e), 0);
		assert_int_equal(w.len, 1);
		assert_string_equal(w.word[0], words[i]);
		buf_free(&b);
	}
}

static void
test_times(void **state)
{
	static const char *const bad[] = {
		"", "1", "s", "-1s", "1..5s", ".5s", "1.s", "1.5", "1.5x", "10001d", "1e3s", "1 s",
		"99999999999999999999s",
	};
	monotime t;

	(void)state;
	assert_true(time_parse("10s", &t) && t == SEC(10));
	assert_true(time_parse("1.5ms", &t) && t == USEC(1500));
	assert_true(time_parse("0", &t) && t == 0);
	assert_true(time_parse("2h", &t) && t == SEC(7200));
	assert_true(time_parse("1d", &t) && t == SEC(86400));
	assert_true(time_parse("0.25min", &t) && t == SEC(15));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (time_parse(bad[i], &t))
			fail_msg("\"%s\" was read as a time", bad[i]);
}

static void
test_links(void **state)
{
	struct desk *d = *state;

	say(d, "link-down A/2");
	assert_false(model_link_is_up(d->s->model, A, 2));
	assert_false(model_link_is_up(d->s->model, B, 1));
	has(say(d, "show links down"), "A/2  B/1  cut  -");
	has(say(d, "show faults"), "A/2: the cable to B/1 is cut");
	say(d, "link-up \"B\"/1");
	wait_for(d, MSEC(5));
	assert_true(model_link_is_up(d->s->model, A, 2));
	say(d, "flap 0xa0/3 200ms");
	wait_for(d, MSEC(199));
	assert_false(model_link_is_up(d->s->model, A, 3));
	wait_for(d, MSEC(10));
	assert_true(model_link_is_up(d->s->model, A, 3));
	has(say(d, "show links"), "A/3  B/2  init  4xNDR");
}

static void
test_recable(void **state)
{
	struct desk *d = *state;

	say(d, "recable h1/1 B/3");
	wait_for(d, MSEC(5));
	assert_int_equal(d->s->model->nodes[H1].ports[1].peer, B);
	has(say(d, "show faults"),
	    "A/1: the cable to h1/1 was pulled\nB/3: a cable to h1/1 was added\n");
	has(say(d, "heal"), "undone");
	wait_for(d, MSEC(5));
	assert_int_equal(d->s->model->nodes[H1].ports[1].peer, A);
	assert_int_equal(d->s->model->nodes[B].ports[3].peer, IBNET_NONE);
	has(say(d, "show faults"), "no faults are in effect");
}

/* Each fault is told, and healed. */
static void
test_faults(void **state)
{
	static const struct {
		const char *line;	/* the command */
		const char *told;	/* by show faults */
	} faults[] = {
		{ "silence A", "A: is silent" },
		{ "hang A", "A: hangs" },
		{ "node-down A", "A: has no power" },
		{ "fail A NodeInfo", "A: answers Get(NodeInfo) with status 0x001c" },
		{ "slow A 1000", "A: its agent takes 1.00 ms for a MAD" },
		{ "system-guid A 0xa1", "A: has system image GUID 0x00000000000000a1" },
		{ "link-rate A/2 4xHDR", "A/2: the link trains at most at 4xHDR" },
		{ "drop A/2 5 out", "A/2: 5 % of the MADs that leave by it are lost" },
		{ "delay A/2 7us in", "B/1: MADs that leave by it come 7.00 us late" },
		{ "mute h1 PortInfo", "h1: does not answer PortInfo" },
		{ "mute h1 0x15", "h1: does not answer PortInfo" },
		{ "refuse B linear-forwarding-table", "B: refuses Set(LinearForwardingTable) with "
		  "status 0x001c" },
		{ "refuse B 0xff17 0xc", "B: refuses Set(0xff17) with status 0x000c" },
		{ "drop h2 12.5", "h2: 12.5 % of its MADs are lost" },
		{ "delay h2 3ms", "h2: each answer comes 3.00 ms late" },
		{ "lie A 7", "A: says LocalPortNum 7" },
		{ "guid B 0xa0",
		  "B: has node GUID 0x00000000000000a0 instead of 0x00000000000000b0" },
		{ "port-guid h2/1 0x11", "h2/1: has port GUID 0x0000000000000011" },
		{ "description A \"the first one\"", "A: describes itself as \"the first one\"" },
	};
	struct desk *d = *state;

	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		say(d, faults[i].line);
		has(say(d, "show faults"), faults[i].told);
		has(say(d, "wrong"), faults[i].told);
		assert_string_equal(say(d, "heal"), "1 fault undone\n");
		assert_string_equal(say(d, "show faults"), "no faults are in effect\n");
	}
	assert_string_equal(say(d, "plane-down /^[AB]$/"), "2 nodes\n");
	has(say(d, "wrong"), "A/1 - h1/1: down, an end has no power");
	say(d, "plane-up \"[AB]\"");
	assert_string_equal(say(d, "show faults"), "no faults are in effect\n");
	assert_string_equal(say(d, "silence h*"), "2 nodes\n");
	say(d, "answer all");
	say(d, "drop all 1%");
	has(say(d, "status"), "faults    4 in effect");
	assert_string_equal(say(d, "heal"), "4 faults undone\n");
}

static void
test_refusals(void **state)
{
	struct desk *d = *state;

	refused(d, "link-donw A/1", "did you mean \"link-down\"");
	refused(d, "nonsense", "\"help\" lists them");
	refused(d, "link-down", "usage: link-down NODE/PORT");
	refused(d, "link-down A", "\"A\" is no port: a port is NODE/NUMBER");
	refused(d, "link-down C/1", "there is no node \"C\"");
	refused(d, "link-down h3/1", "did you mean \"h1\"");
	refused(d, "link-down A/0", "A has no port 0: its ports are 1 to 4");
	refused(d, "link-down A/5", "A has no port 5");
	refused(d, "link-down A/4", "no cable is in A/4");
	refused(d, "link-down 77/1", "no node has LID 77");
	refused(d, "flap A/1 10", "\"10\" is no time");
	refused(d, "drop A 101", "in percent");
	refused(d, "mute A PortInf", "did you mean \"PortInfo\"");
	refused(d, "mute A PortInfo on", "it takes off");
	refused(d, "refuse A PortInfo 0x8000", "a MAD status is a number from 1 to 32767");
	refused(d, "link-rate A/2 4xFAST", "is no rate");
	refused(d, "drop A 5 in", "goes with a port alone");
	refused(d, "delay all 1s", "name one");
	refused(d, "plane-down h1", "h1 is no switch");
	refused(d, "plane-down h*", "no switch matches h*");
	refused(d, "reboot /h[/", "is no regular expression");
	refused(d, "trap A/0 129", "A/0 has no link that could have errors");
	refused(d, "trap A/1 128", "A/1 does not send trap 128: port 0 of a switch does");
	refused(d, "trap h1/1 128", "port 0 of a switch does");
	refused(d, "mute A LFT", "it takes a number, or one of ");
	refused(d, "trap A/1 144", "A/1 does not send trap 144: of a switch port 0 does");
	refused(d, "errors A/2 symbol_error 5", "did you mean \"symbol_errors\"");
	refused(d, "errors A/2 symbol_errors many", "is neither a number");
	refused(d, "traffic start", "usage: traffic start flow");
	refused(d, "traffic start flow h1", "usage: traffic start flow SRC DST");
	refused(d, "traffic start ring fast", "\"fast\" is no rate");
	refused(d, "traffic start ring 1GB 4", "nothing but: sl NUMBER");
	refused(d, "traffic start shift x", "a shift is a number");
	refused(d, "traffic stop 4", "4");
	refused(d, "lie A 256", "a port is a number from 0 to 255");
	refused(d, "guid A 0", "is no GUID");
	refused(d, "port-guid A/1 0x5", "A/1 has no GUID: of a switch only port 0 has one");
	refused(d,
		"description A 0123456789012345678901234567890123456789012345678901234567890123456",
		"at most 64 bytes");
	refused(d, "show nodes", "did you mean \"node\"");
	refused(d, "show links up", "usage: show links [down]");
	refused(d, "programs", "inside of one");
	refused(d, "link-down \"A", "does not end");
	refused(d, "at 1s at 2s heal", "cannot be timed itself");
	refused(d, "at 1s link-down A/9", "A has no port 9");
}

static void
test_many_mutes(void **state)
{
	struct desk *d = *state;
	char line[40];

	for (unsigned i = 1; i <= MUTES; i++) {
		snprintf(line, sizeof(line), "mute A 0x%x", i);
		say(d, line);
	}
	refused(d, "mute A 0x20", "8 attributes of that node");
	say(d, "mute A 0x3 off");
	say(d, "mute A 0x20");
}

static void
test_wrong(void **state)
{
	struct desk *d = *state;
	struct model *m = d->s->model;
	const char *text = say(d, "wrong");

	has(text, "no subnet manager: no port has IsSM");
	has(text, "A/1 - h1/1: init at one end, init at the other");
	has(text, "h1/1 has no LID");
	has(text, " things are wrong");
	for (unsigned i = 0; i < 4; i++)
		for (unsigned p = 0; p <= m->nodes[i].nports; p++)
			if (m->nodes[i].ports[p].info.state == PORT_INIT)
				m->nodes[i].ports[p].info.state = PORT_ACTIVE;
	m->nodes[H1].ports[1].info.lid = 1;
	m->nodes[H2].ports[1].info.lid = 2;
	m->nodes[A].ports[0].info.lid = 3;
	m->nodes[B].ports[0].info.lid = 4;
	m->nodes[H1].ports[1].info.cap_mask |= CAP_IS_SM;
	m->nodes[H1].ports[1].info.sm_lid = m->nodes[H2].ports[1].info.sm_lid = 1;
	m->nodes[A].ports[0].info.sm_lid = m->nodes[B].ports[0].info.sm_lid = 1;
	m->nodes[A].sw.linear_fdb_top = m->nodes[B].sw.linear_fdb_top = 4;
	model_lft_set(&m->nodes[A], 0, (const uint8_t[64]){ 255, 1, 2, 0, 3 });
	model_lft_set(&m->nodes[B], 0, (const uint8_t[64]){ 255, 1, 4, 2, 0 });
	assert_string_equal(say(d, "wrong"), "nothing is wrong\n");
}

static void
set_up(struct desk *d)
{
	test_wrong((void **)&d);
}

/* What follows from a cut cable, from a loop and from a strayed entry. */
static void
test_wrong_routes(void **state)
{
	struct desk *d = *state;
	struct model *m = d->s->model;
	const char *text;

	set_up(d);
	say(d, "link-down A/2");
	text = say(d, "wrong");
	has(text, "A/2 - B/1: down, the cable is cut");
	has(text, "A: its table leads 1 LID nowhere; LID 2 goes to a port without a link (2)");
	has(text, "B: its table leads 1 LID nowhere; LID 1 goes to a port without a link (1)");
	has(text, "h1/1 cannot reach h2/1: LID 2\n");
	has(text, "2 of 2 pairs of hosts' ports cannot reach each other");
	model_lft_set(&m->nodes[A], 0, (const uint8_t[64]){ 255, 1, 3, 0, 3 });
	model_lft_set(&m->nodes[B], 0, (const uint8_t[64]){ 255, 2, 2, 2, 0 });
	text = say(d, "wrong");
	has(text, "LID 2 goes round in a loop");
	has(text, "1 of 2 pairs of hosts' ports cannot reach each other");
	model_lft_set(&m->nodes[A], 0, (const uint8_t[64]){ 255, 1, 1, 0, 9 });
	text = say(d, "wrong");
	has(text,
	    "A: its table leads 2 LIDs nowhere; LID 2 goes to a host that has another LID (1)");
}

static void
test_wrong_rest(void **state)
{
	struct desk *d = *state;
	struct model *m = d->s->model;
	const char *text;

	set_up(d);
	m->nodes[A].ports[2].info.neighbor_mtu = 5;
	m->nodes[B].ports[1].info.neighbor_mtu = 4;
	has(say(d, "wrong"), "A/2 - B/1: MTU 4096 at one end, 2048 at the other");
	m->nodes[A].ports[2].info.neighbor_mtu = 4;
	m->nodes[A].ports[2].info.speed_ext_active = 4;
	has(say(d, "wrong"), "A/2 - B/1: runs at 4xHDR, both ends could 4xNDR");
	m->nodes[A].ports[2].info.speed_ext_active = 8;
	m->nodes[H2].ports[1].pkeys = (uint16_t[64]){ 0x7fff, 0x8001 };
	assert_string_equal(say(d, "wrong"), "nothing is wrong\n");
	m->nodes[H1].ports[1].pkeys = (uint16_t[64]){ 0x7fff, 0x0002 };
	text = say(d, "wrong");
	has(text, "h2/1 shares no P_Key with the subnet manager");
	m->nodes[H1].ports[1].pkeys = NULL;
	m->nodes[H2].ports[1].info.lid = 1;
	text = say(d, "wrong");
	has(text, "h1 and h2/1 have the same LID 1");
	m->nodes[H2].ports[1].info.lid = 2;
	m->nodes[H2].ports[1].info.sm_lid = 7;
	has(say(d, "wrong"), "h2/1 has SMLid 7, and the master has LID 1\n1 thing is");
	m->nodes[H2].ports[1].info.sm_lid = 1;
	/* One a second by its SubnetTimeOut; the first two go at once and after that time. */
	say(d, "trap h2/1 144");
	wait_for(d, MSEC(100));
	assert_string_equal(say(d, "wrong"), "nothing is wrong\n");
	wait_for(d, MSEC(1100));
	has(say(d, "wrong"), "h2: trap 144 was sent 2 times, nobody represses it\n1 thing is");
	m->nodes[H1].ports[1].info.sm_lid = 9;
	has(say(d, "wrong"), "no master");
	m->nodes[H2].ports[1].pkeys = NULL;
}

/* Two hosts on SDR links of 1 GB/s send to each other by cables that carry more. */
static void
test_traffic(void **state)
{
	struct desk *d = *state;
	const char *text;

	set_up(d);
	assert_string_equal(say(d, "traffic start ring max"), "traffic 1\n");
	assert_string_equal(say(d, "traffic start flow h1 h2 250MB/s sl 3"), "traffic 2\n");
	text = say(d, "traffic show");
	has(text, "3 flows, 0 of them without a path");
	has(text, "offered 2.25 GB/s, delivered 2 GB/s");
	has(text, "h1/1: 1.250 of what it can carry is offered, 1.000 carried");
	wait_for(d, SEC(10));
	has(say(d, "counters h2/1"), "xmit_data                    2500000000\n");
	say(d, "traffic stop 1");
	has(say(d, "traffic show"), "offered 0.25 GB/s, delivered 0.25 GB/s");
	say(d, "traffic stop");
	has(say(d, "traffic show"), "0 flows");
}

static void
test_counters(void **state)
{
	struct desk *d = *state;

	set_up(d);
	assert_string_equal(say(d, "counters A/2"), "all counters are 0\n");
	say(d, "errors A/2 symbol_errors 5");
	say(d, "errors A/2 SymbolErrorCounter +3");
	say(d, "errors A/2 rcv_errors 2.5/s");
	wait_for(d, SEC(4));
	assert_string_equal(say(d, "counters A/2"), "symbol_errors                8\n"
			    "rcv_errors                   10\n");
	has(say(d, "counters A/2 all"), "xmit_wait                    0\n");
	/* What grows is wrong; what grew is past. */
	assert_string_equal(say(d, "wrong"), "A/2: rcv_errors is 10 and grows\n"
			    "1 thing is wrong\n"
			    "errors that were counted (errors PORT NAME 0 clears one):\n"
			    "A/2: symbol_errors is 8\n");
	say(d, "errors A/2 rcv_errors 0/s");
	assert_string_equal(say(d, "wrong"), "nothing is wrong\n"
			    "errors that were counted (errors PORT NAME 0 clears one):\n"
			    "A/2: symbol_errors is 8\nA/2: rcv_errors is 10\n");
}

static void
test_capture(void **state)
{
	struct desk *d = *state;
	char path[] = "/tmp/weftsim-test-XXXXXX", line[80];
	struct stat st;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	refused(d, "capture stop", "no MADs are recorded");
	refused(d, "capture /nonexistent/file", "/nonexistent/file");
	refused(d, "capture x xml", "it takes pcap or text");
	snprintf(line, sizeof(line), "capture %s", path);
	say(d, line);
	assert_string_equal(say(d, "capture stop"), "0 MADs recorded\n");
	assert_int_equal(lseek(fd, 0, SEEK_END), 24);	/* the header of pcap */
	snprintf(line, sizeof(line), "capture %s text", path);
	say(d, line);
	close(fd);
	unlink(path);
	snprintf(line, sizeof(line), "capture %s.txt", path);
	say(d, line);
	say(d, "capture stop");
	snprintf(line, sizeof(line), "%s.txt", path);
	assert_int_equal(stat(line, &st), 0);
	assert_int_equal(st.st_size, 0);	/* the text has no header */
	unlink(line);
}

static void
test_show(void **state)
{
	struct desk *d = *state;
	const char *text = say(d, "status");

	has(text, "fabric    2 hosts, 2 switches");
	has(text, "links     4: 0 active, 0 down, 4 on the way up");
	has(text, "managers  0 ports with IsSM");
	has(say(d, "help"), "link-down NODE/PORT");
	text = say(d, "show node h1");
	has(text, "host \"h1\", described as \"h1\"");
	has(text, "h1/2  no cable");
	has(say(d, "show ports A"), "A/2  init  4xNDR");
	wait_for(d, MSEC(1500));
	assert_string_equal(say(d, "time"), "1.500000\n");
	assert_string_equal(say(d, "   # nothing"), "");
	assert_false(d->quit);
	say(d, "quit");
	assert_true(d->quit);
}

static void
test_timed(void **state)
{
	struct desk *d = *state;

	sim_log(d->s, on_log, d);
	say(d, "at 2s description A \"x y\"");
	say(d, "every 1s times 3 time");
	has(say(d, "status"), "script    2 events to come");
	wait_for(d, SEC(10));
	has(say(d, "show faults"), "A: describes itself as \"x y\"");
	has(d->log.data, "2.000000 command: description A \"x y\"\n");
	has(d->log.data, "3.000000 command: time\n3.000000   3.000000\n");
	assert_null(strstr(d->log.data, "4.000000"));
	sim_log(d->s, NULL, NULL);
}

#define DESK(name) cmocka_unit_test_setup_teardown(name, open_desk, close_desk)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_quote),
		cmocka_unit_test(test_times),
		DESK(test_links),
		DESK(test_recable),
		DESK(test_faults),
		DESK(test_refusals),
		DESK(test_many_mutes),
		DESK(test_wrong),
		DESK(test_wrong_routes),
		DESK(test_wrong_rest),
		DESK(test_traffic),
		DESK(test_counters),
		DESK(test_capture),
		DESK(test_show),
		DESK(test_timed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
