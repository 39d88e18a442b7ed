/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/unit/ctl_fake.h"

#include "qos/configured.h"
#include "qos/rules.h"

/* What each command of the control socket answers; the numbers are counted by hand. */

static void
test_status(void **state)
{
	json_t *json;

	(void)state;
	json = ask("{\"command\":\"status\",\"subnet\":null,\"args\":{}}");
	has_str(json, "data.subnets.0.name", "one");
	has_str(json, "data.subnets.0.role", "master");
	has_str(json, "data.subnets.0.role_since", "2025-11-29T21:13:11.123Z");
	has_str(json, "data.subnets.0.state", "up");
	has_str(json, "data.subnets.0.engine_requested", "fattree");
	has_str(json, "data.subnets.0.engine_running", "updn");
	has_str(json, "data.subnets.0.reason", "fattree: no levels");
	has_int(json, "data.subnets.0.nodes", 8);
	has_int(json, "data.subnets.0.switches", 4);
	has_int(json, "data.subnets.0.hosts", 4);
	has_int(json, "data.subnets.0.links", 8);
	assert_true(json_number_value(at(json, "data.subnets.0.last_sweep_ms")) == 12.5);
	has_str(json, "data.subnets.0.warnings.0", "gpu-4/1 keeps \x1b[31mSubnetTimeOut 0");
	has_int(json, "data.subnets.0.more_warnings", 2);
	has_int(json, "data.subnets.0.mads.sent", 321);
	/* Who is in charge is news only while it is another. */
	assert_true(json_is_null(at(json, "data.subnets.0.master")));
	assert_true(json_is_true(at(json, "data.subnets.0.current")));
	assert_true(json_is_false(at(json, "data.subnets.0.engine_override")));
	has_str(json, "data.subnets.0.engines_configured.1", "updn");
	has_int(json, "data.subnets.0.lost_links", 0);
	json_decref(json);
	h.host.nsubnets = 2;
	json = ask("{\"command\":\"status\"}");
	assert_int_equal(json_array_size(at(json, "data.subnets")), 2);
	json_decref(json);
	json = ask("{\"command\":\"status\",\"subnet\":\"two\"}");
	assert_int_equal(json_array_size(at(json, "data.subnets")), 1);
	has_str(json, "data.subnets.0.name", "two");
	json_decref(json);
	refused("{\"command\":\"show nodes\"}", 2, "one, two");
}

/* What is not there now: the age of the plan, who leads, lost cables. */
static void
test_stale(void **state)
{
	json_t *json;

	(void)state;
	h.stale = h.standby = true;
	plan_unref(h.plan);
	h.plan = small_plan_with(true);
	json = ask("{\"command\":\"status\"}");
	has_str(json, "data.subnets.0.master", "gpu-9 (0x9009)");
	assert_true(json_is_false(at(json, "data.subnets.0.current")));
	has_str(json, "data.subnets.0.as_of", "2025-11-29T21:13:12.456Z");
	/* Two ends that miss each other are one cable. */
	has_int(json, "data.subnets.0.lost_links", 2);
	json_decref(json);
	json = ask("{\"command\":\"check\"}");
	assert_true(json_is_false(at(json, "data.current")));
	has_str(json, "data.as_of", "2025-11-29T21:13:12.456Z");
	has_str(json, "data.why", "this subnet manager is standby, in charge is gpu-9 (0x9009)");
	json_decref(json);
	json = ask("{\"command\":\"show links\",\"args\":{\"down\":true}}");
	has_int(json, "data.summary.lost", 2);
	/* The link of gpu-4 is in INIT. */
	has_int(json, "data.summary.links", 1);
	assert_int_equal(json_array_size(at(json, "data.links")), 3);
	has_str(json, "data.links.0.a.node", "rack1/leaf1");
	has_int(json, "data.links.0.a.port", 8);
	has_str(json, "data.links.0.b.node", "rack1/leaf2");
	has_int(json, "data.links.0.b.port", 8);
	has_str(json, "data.links.0.state", "down");
	assert_true(json_is_true(at(json, "data.links.0.lost")));
	has_str(json, "data.links.2.b.node", "0x0000000000001005");
	has_int(json, "data.links.2.b.port", 1);
	json_decref(json);
	json = ask("{\"command\":\"show links\",\"args\":{\"slow\":true}}");
	has_int(json, "data.summary.lost", 0);
	json_decref(json);
}

/* Traffic is kept off the cable of rack1/leaf1/5 to spine/1: it is a cable nevertheless. */
static void
test_drained(void **state)
{
	const struct plan *before = h.plan;
	struct fabric *f = small_fabric(false), *shown;
	bool *cut = mem_array(f->nports, sizeof(*cut));
	struct plan *p;
	json_t *json;

	(void)state;
	cut[f->nodes[fabric_node_by_guid(f, 0xb0)].first_port + 5] = true;
	shown = fabric_cut(f, cut, FABRIC_PORT_DRAINED, 2);
	p = plan_new(shown);
	p->lids = plan_lids_from_fabric(shown);
	h.plan = p;
	json = ask("{\"command\":\"show links\"}");
	has_int(json, "data.summary.links", 8);
	has_int(json, "data.summary.drained", 1);
	has_int(json, "data.summary.lost", 0);
	has_int(json, "data.summary.by_state.active", 7);
	has_int(json, "data.summary.by_speed.4xNDR", 7);
	has_str(json, "data.links.0.a.node", "spine");
	has_str(json, "data.links.0.b.node", "rack1/leaf1");
	has_int(json, "data.links.0.b.port", 5);
	has_str(json, "data.links.0.state", "active");
	assert_true(json_is_true(at(json, "data.links.0.drained")));
	assert_true(json_is_false(at(json, "data.links.0.lost")));
	assert_true(json_is_false(at(json, "data.links.1.drained")));
	json_decref(json);
	json = ask("{\"command\":\"show switches\",\"args\":{\"filter\":\"rack1/leaf1\"}}");
	has_int(json, "data.switches.0.cabled", 4);
	has_int(json, "data.switches.0.active", 4);
	has_int(json, "data.switches.0.drained", 1);
	json_decref(json);
	json = ask("{\"command\":\"show ports\",\"args\":{\"filter\":\"rack1/leaf1/5\"}}");
	has_int(json, "data.summary.cabled", 1);
	has_str(json, "data.ports.0.peer.node", "spine");
	assert_true(json_is_true(at(json, "data.ports.0.drained")));
	json_decref(json);
	json = ask("{\"command\":\"show topology\",\"args\":{\"format\":\"json\"}}");
	assert_int_equal(json_array_size(at(json, "data.links")), 8);
	assert_true(json_is_true(at(json, "data.links.0.drained")));
	json_decref(json);
	json = ask("{\"command\":\"status\"}");
	has_int(json, "data.subnets.0.lost_links", 0);
	json_decref(json);
	plan_unref(h.plan);
	h.plan = before;
	mem_free(cut);
	fabric_unref(shown);
	fabric_unref(f);
}

static void
comes_up(void *arg)
{
	(void)arg;
	h.up = true;
}

static void
test_wait(void **state)
{
	json_t *json = ask("{\"command\":\"wait\"}");

	(void)state;
	assert_true(json_is_true(at(json, "data.up")));
	/* It stays so for a moment, unless there is no time. */
	assert_true(json_number_value(at(json, "data.waited_ms")) >= 100);
	json_decref(json);
	json = ask("{\"command\":\"wait\",\"args\":{\"timeout_ms\":0}}");
	assert_true(json_is_true(at(json, "data.up")));
	json_decref(json);
	h.up = false;
	h.statuses = 0;
	refused("{\"command\":\"wait\",\"args\":{\"timeout_ms\":80}}", 4,
		"subnet one is not up: programming: gpu-4/1 keeps");
	/* The whole status is much work in a large fabric: for the sentence alone. */
	assert_int_equal(h.statuses, 1);
	h.standby = true;
	refused("{\"command\":\"wait\",\"args\":{\"timeout_ms\":80}}", 4,
		"subnet one is not up: this subnet manager is standby, in charge is gpu-9 "
		"(0x9009)");
	h.standby = false;
	h.timer = loop_timer_new(h.loop, comes_up, NULL);
	loop_timer_set(h.timer, MSEC(120));
	json = ask("{\"command\":\"wait\",\"args\":{\"timeout_ms\":15000}}");
	assert_true(json_is_true(at(json, "data.up")));
	assert_true(json_number_value(at(json, "data.waited_ms")) >= 100);
	json_decref(json);
}

static void
test_nodes(void **state)
{
	json_t *json = ask("{\"command\":\"show nodes\"}");

	(void)state;
	has_int(json, "data.summary.nodes", 8);
	has_int(json, "data.summary.switches", 4);
	has_int(json, "data.summary.hosts", 4);
	has_int(json, "data.summary.silent", 0);
	has_int(json, "data.shown", 8);
	has_str(json, "data.nodes.0.name", "spine");
	has_str(json, "data.nodes.0.guid", "0x00000000000000a0");
	has_int(json, "data.nodes.0.lid", 1);
	has_str(json, "data.nodes.7.type", "ca");
	has_int(json, "data.nodes.7.lid", 14);
	has_int(json, "data.nodes.7.active", 0);
	json_decref(json);
	json = ask("{\"command\":\"show nodes\",\"args\":{\"filter\":\"/^gpu-[12]$/\"}}");
	assert_int_equal(json_array_size(at(json, "data.nodes")), 2);
	has_str(json, "data.nodes.1.name", "gpu-2");
	json_decref(json);
	json = ask("{\"command\":\"show nodes\",\"args\":{\"filter\":\"13\"}}");
	assert_int_equal(json_array_size(at(json, "data.nodes")), 1);
	has_str(json, "data.nodes.0.name", "gpu-3");
	json_decref(json);
	json = ask("{\"command\":\"show nodes\",\"args\":{\"filter\":\"0x2002\"}}");
	has_str(json, "data.nodes.0.name", "gpu-2");
	json_decref(json);
	/* Words are understood as in path, and of names all that match are taken. */
	json = ask("{\"command\":\"show nodes\",\"args\":{\"filter\":\"GPU-3\"}}");
	has_int(json, "data.matched", 1);
	json_decref(json);
	json = ask("{\"command\":\"show nodes\",\"args\":{\"filter\":\"gpu\"}}");
	has_int(json, "data.matched", 4);
	json_decref(json);
	json = ask("{\"command\":\"show nodes\",\"args\":{\"filter\":\"spine\"}}");
	has_int(json, "data.matched", 2);
	json_decref(json);
	json = ask("{\"command\":\"show nodes\",\"args\":{\"filter\":\"/nothing/\"}}");
	has_int(json, "data.matched", 0);
	json_decref(json);
	refused("{\"command\":\"show nodes\",\"args\":{\"filter\":\"gpu-9\"}}", 1,
		"no node matches \"gpu-9\"");
	refused("{\"command\":\"show nodes\",\"args\":{\"filter\":\"gpu-1/1\"}}", 1,
		"no node matches \"gpu-1/1\"");
	json = ask("{\"command\":\"show switches\",\"args\":{\"filter\":\"rack1/leaf1\"}}");
	has_int(json, "data.matched", 1);
	has_int(json, "data.switches.0.cabled", 4);
	has_int(json, "data.switches.0.hosts", 2);
	json_decref(json);
}

static void
test_ports(void **state)
{
	json_t *json = ask("{\"command\":\"show ports\",\"args\":{\"type\":\"ca\"}}");

	(void)state;
	has_int(json, "data.summary.ports", 4);
	has_int(json, "data.summary.by_state.active", 3);
	has_int(json, "data.summary.by_state.init", 1);
	has_int(json, "data.summary.by_speed.4xNDR", 3);
	has_int(json, "data.summary.by_speed.4xHDR", 1);
	has_int(json, "data.summary.slow", 1);
	has_str(json, "data.ports.3.node", "gpu-4");
	has_int(json, "data.ports.3.port", 1);
	has_int(json, "data.ports.3.lid", 14);
	has_int(json, "data.ports.3.rate_mbps", 200000);
	has_int(json, "data.ports.3.mtu", 4096);
	has_int(json, "data.ports.3.vls", 8);
	has_str(json, "data.ports.3.peer.node", "rack1/leaf2");
	has_int(json, "data.ports.3.peer.port", 2);
	json_decref(json);
	json = ask("{\"command\":\"show ports\",\"args\":{\"all\":true}}");
	has_int(json, "data.shown", 4 + 4 * 8);
	has_int(json, "data.summary.cabled", 16);
	json_decref(json);
	json = ask("{\"command\":\"show ports\",\"args\":{\"filter\":\"rack1/leaf1/5\"}}");
	has_int(json, "data.shown", 1);
	has_int(json, "data.ports.0.port", 5);
	json_decref(json);
	refused("{\"command\":\"show ports\",\"args\":{\"filter\":\"gpu-1/2\"}}", 1, "no port 2");
	json = ask("{\"command\":\"show ports\",\"args\":{\"slow\":true}}");
	has_int(json, "data.shown", 2);
	json_decref(json);
}

static void
test_links(void **state)
{
	json_t *json = ask("{\"command\":\"show links\"}");

	(void)state;
	has_int(json, "data.summary.links", 8);
	has_int(json, "data.summary.by_state.active", 7);
	has_int(json, "data.summary.by_speed.4xNDR", 7);
	has_int(json, "data.notable", 1);
	has_int(json, "data.shown", 8);
	has_str(json, "data.links.0.a.node", "spine");
	json_decref(json);
	json = ask("{\"command\":\"show links\",\"args\":{\"filter\":\"gpu-1\"}}");
	has_int(json, "data.shown", 1);
	has_str(json, "data.links.0.link", "4xNDR");
	json_decref(json);
	json = ask("{\"command\":\"show links\",\"args\":{\"down\":true}}");
	has_int(json, "data.shown", 1);
	has_str(json, "data.links.0.state", "init");
	json_decref(json);
	json = ask("{\"command\":\"show links\",\"args\":{\"filter\":\"rack1/leaf1/1\"}}");
	has_int(json, "data.shown", 1);
	has_int(json, "data.links.0.a.port", 1);
	json_decref(json);
}

/* Long lists are cut to what is noteworthy, unless asked for. */
static void
test_cut(void **state)
{
	json_t *json;

	(void)state;
	plan_unref(h.plan);
	h.plan = big_plan(200);
	json = ask("{\"command\":\"show nodes\"}");
	has_int(json, "data.matched", 201);
	has_int(json, "data.notable", 0);
	has_int(json, "data.shown", 0);
	json_decref(json);
	json = ask("{\"command\":\"show nodes\",\"args\":{\"filter\":\"/^node-0001/\"}}");
	has_int(json, "data.shown", 10);
	json_decref(json);
}

static void
test_routes(void **state)
{
	json_t *json = ask("{\"command\":\"show "
			   "routes\",\"args\":{\"node\":\"rack1/leaf1\",\"all\":true}}");

	(void)state;
	has_int(json, "data.lids", 8);
	has_int(json, "data.dropped", 0);
	/* Ports 0, 1, 2, 5, 6 carry LIDs 3; 11; 12; 1 4 13; 2 14. */
	has_int(json, "data.ports.0.lids", 1);
	has_int(json, "data.ports.3.port", 5);
	has_int(json, "data.ports.3.lids", 3);
	has_int(json, "data.ports.4.lids", 2);
	has_str(json, "data.ports.4.peer.guid", "0x00000000000000a1");
	has_int(json, "data.entries.7.lid", 14);
	has_int(json, "data.entries.7.out", 6);
	has_str(json, "data.entries.7.to.node", "gpu-4");
	json_decref(json);
	json = ask("{\"command\":\"show routes\",\"args\":{\"node\":\"gpu-3\"}}");
	has_int(json, "data.lid", 13);
	has_int(json, "data.switches", 4);
	has_int(json, "data.entries.2.out", 5);
	has_str(json, "data.entries.2.switch", "rack1/leaf1");
	has_int(json, "data.entries.3.out", 1);
	has_str(json, "data.entries.3.peer.node", "gpu-3");
	json_decref(json);
}

/* Every way to name the two ends; the hops are those of small_rows[]. */
static void
test_path(void **state)
{
	static const char *const sources[] = {
		"gpu-1", "GPU-1", "0x1001", "0x2001", "11", "gpu-1/1"
	};
	static const int hops[5][2] = { { 0, 1 }, { 1, 6 }, { 1, 2 }, { 6, 2 }, { 1, 0 } };
	char line[200], field[40];
	json_t *json;

	(void)state;
	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
		snprintf(line, sizeof(line), "{\"command\":\"path\",\"args\":{\"source\":\"%s\","
			 "\"destination\":\"gpu-4\"}}", sources[i]);
		json = ask(line);
		has_int(json, "data.src_lid", 11);
		has_int(json, "data.dst_lid", 14);
		has_int(json, "data.sl", 0);
		assert_int_equal(json_array_size(at(json, "data.hops")), 5);
		for (int k = 0; k < 5; k++) {
			snprintf(field, sizeof(field), "data.hops.%d.in", k);
			has_int(json, field, hops[k][0]);
			snprintf(field, sizeof(field), "data.hops.%d.out", k);
			has_int(json, field, hops[k][1]);
		}
		has_str(json, "data.hops.2.guid", "0x00000000000000a1");
		assert_int_equal(json_array_size(at(json, "data.hops.1.alternatives")), 0);
		json_decref(json);
	}
	json = ask("{\"command\":\"path\",\"args\":{\"source\":\"rack1/"
		   "leaf2\",\"destination\":\"3\"}}");
	has_int(json, "data.src_lid", 4);
	has_int(json, "data.dst_lid", 3);
	json_decref(json);
}

static void
test_path_refused(void **state)
{
	struct plan *p = (struct plan *)(uintptr_t)h.plan;

	(void)state;
	refused("{\"command\":\"path\",\"args\":{\"source\":\"spine\",\"destination\":\"3\"}}", 1,
		"0x00000000000000a1");
	refused("{\"command\":\"path\",\"args\":{\"source\":\"gpu\",\"destination\":\"3\"}}", 1,
		"4 nodes match");
	refused("{\"command\":\"path\",\"args\":{\"source\":\"gpu-9\",\"destination\":\"3\"}}", 1,
		"gpu-9");
	refused("{\"command\":\"path\",\"args\":{\"source\":\"gpu-1/2\",\"destination\":\"3\"}}", 1,
		"no port 2");
	refused("{\"command\":\"path\",\"args\":{\"source\":\"10\",\"destination\":\"3\"}}", 1,
		"10");
	refused("{\"command\":\"path\",\"args\":{\"source\":\"rack1/leaf1/3\","
		"\"destination\":\"3\"}}", 2, "rack1/leaf1 is a switch");
	refused("{\"command\":\"show routes\",\"args\":{\"node\":\"rack1/leaf1/3\"}}", 2,
		"rack1/leaf1 is a switch");
	/* A hole on the way. */
	plan_row_set(&p->rows[1], 14, LFT_NO_PORT);
	refused("{\"command\":\"path\",\"args\":{\"source\":\"11\",\"destination\":\"14\"}}", 1,
		"spine");
	plan_unref(h.plan);
	h.plan = NULL;
	refused("{\"command\":\"path\",\"args\":{\"source\":\"11\",\"destination\":\"14\"}}", 1,
		"subnet one has no proved routing: up: gpu-4/1 keeps");
}

static void
test_check(void **state)
{
	struct plan *p = (struct plan *)(uintptr_t)h.plan;
	json_t *json = ask("{\"command\":\"check\"}");

	(void)state;
	assert_true(json_is_true(at(json, "data.ok")));
	has_int(json, "data.pairs", 12);
	has_int(json, "data.unreachable", 0);
	has_int(json, "data.loops", 0);
	has_int(json, "data.credit_loops", 0);
	has_int(json, "data.cut_off", 0);
	has_int(json, "data.max_hops", 3);
	/* Four pairs on one leaf cross 1 switch, eight cross 3. */
	assert_true(json_number_value(at(json, "data.mean_hops")) > 2.333);
	assert_true(json_number_value(at(json, "data.mean_hops")) < 2.334);
	/* Each host has a link of its own up from the other leaf. */
	has_int(json, "data.shift_max", 1);
	has_int(json, "data.a2a", 1);
	has_int(json, "data.rp_median", 1);
	assert_true(json_number_value(at(json, "data.ebb")) == 1.0);
	assert_true(json_number_value(at(json, "data.by_routing")) == 1.0);
	assert_int_equal(json_array_size(at(json, "data.levels")), 2);
	has_int(json, "data.levels.0.up.links", 4);
	has_int(json, "data.all_links.unused", 0);
	assert_int_equal(json_array_size(at(json, "data.histogram")), 1);
	json_decref(json);
	/* Leaf 1 and the second spine send LID 14 to each other. */
	plan_row_set(&p->rows[1], 14, 1);
	json = ask("{\"command\":\"check\"}");
	assert_true(json_is_true(at(json, "ok")));
	assert_true(json_is_false(at(json, "data.ok")));
	assert_true(json_integer_value(at(json, "data.loops")) >= 2);
	assert_true(json_integer_value(at(json, "data.unreachable")) >= 2);
	assert_true(json_is_null(at(json, "data.shift_max")));
	assert_true(json_string_length(at(json, "data.first")) > 0);
	json_decref(json);
}

/* Three clients want the worker at once: each gets its answer, one after the other. */
static void
test_check_in_turn(void **state)
{
	struct peer *p[3];

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		p[i] = peer_new();
		json_decref(peer_take(p[i]));
		peer_send(p[i], "{\"command\":\"check\"}\n");
	}
	for (size_t i = 0; i < 3; i++) {
		json_t *json = peer_take(p[i]);

		assert_true(json_is_true(at(json, "data.ok")));
		json_decref(json);
		peer_free(p[i]);
	}
}

static void
test_events(void **state)
{
	struct peer *p = peer_new();
	json_t *json;

	(void)state;
	for (int i = 0; i < 70; i++)
		add_event(EVENT_SWEEP, LOG_L_INFO, "a sweep");
	add_event(EVENT_LINK_DOWN, LOG_L_WARNING, "a link");
	json = ask("{\"command\":\"show events\",\"args\":{\"last\":2}}");
	assert_int_equal(json_array_size(at(json, "data.events")), 2);
	has_int(json, "data.events.1.sequence", 71);
	has_str(json, "data.events.1.type", "link-down");
	has_str(json, "data.events.1.level", "warning");
	has_int(json, "data.last", 71);
	json_decref(json);
	json = ask("{\"command\":\"show events\",\"args\":{\"level\":\"warning\"}}");
	assert_int_equal(json_array_size(at(json, "data.events")), 1);
	json_decref(json);
	/* The ring holds 64: of events 1 to 71 the first 7 are lost. */
	json = ask("{\"command\":\"show events\",\"args\":{\"after\":0}}");
	assert_int_equal(json_array_size(at(json, "data.events")), 64);
	has_int(json, "data.lost", 7);
	json_decref(json);
	refused("{\"command\":\"show events\",\"args\":{\"type\":\"link-don\"}}", 2, "link-down");
	/* A follower gets what comes while it waits. */
	json_decref(peer_take(p));
	peer_send(p, "{\"command\":\"show events\",\"args\":{\"after\":71,\"wait_ms\":20000}}\n");
	json_decref(ask("{\"command\":\"status\"}"));
	assert_int_equal(p->in.len, 0);
	add_event(EVENT_LINK_UP, LOG_L_NOTICE, "the link again");
	json = peer_take(p);
	has_int(json, "data.events.0.sequence", 72);
	json_decref(json);
	peer_free(p);
}

static void
test_topology(void **state)
{
	json_t *json = ask("{\"command\":\"show topology\",\"args\":{\"format\":\"json\"}}");
	const json_t *lines;
	size_t edges = 0, switches = 0;

	(void)state;
	assert_int_equal(json_array_size(at(json, "data.nodes")), 8);
	assert_int_equal(json_array_size(at(json, "data.links")), 8);
	has_int(json, "data.nodes.4.lids.0.lid", 11);
	json_decref(json);
	json = ask("{\"command\":\"show topology\",\"args\":{\"format\":\"dot\"}}");
	lines = at(json, "data.lines");
	assert_int_equal(json_array_size(lines), 8 + 8 + 2);
	for (size_t i = 0; i < json_array_size(lines); i++)
		edges += strstr(json_string_value(json_array_get(lines, i)), " -- ") != NULL;
	assert_int_equal(edges, 8);
	json_decref(json);
	json = ask("{\"command\":\"show topology\"}");
	lines = at(json, "data.lines");
	for (size_t i = 0; i < json_array_size(lines); i++)
		switches += strncmp(json_string_value(json_array_get(lines, i)), "Switch\t", 7) ==
			    0;
	assert_int_equal(switches, 4);
	json_decref(json);
}

#define ASK(command, args) ask("{\"command\":\"" command "\",\"args\":{" args "}}")
#define FROM_TO "\"source\":\"gpu-1\",\"destination\":\"gpu-3\""

/* The plan has what this configuration says of levels, for an engine with one path class. */
static void
give_levels(const char *text)
{
	struct plan *p = (struct plan *)(uintptr_t)h.plan;
	struct compose_input in = { .fabric = p->fabric, .lids = p->lids, .engine = "updn",
				    .max_vls = 8 };
	struct rules_input rules = { .subnet = "one", .fabric = p->fabric };
	struct qos_levels levels;
	struct error e = { 0 };
	struct config *conf = config_parse(text, strlen(text), NULL, &e);

	if (!conf)
		fail_msg("%s", e.text);
	qos_levels_of(conf, &levels);
	in.levels = levels.len;
	in.level = levels.level;
	assert_int_equal(compose(&in, &p->sls, &e), 0);
	rules.conf = conf;
	assert_int_equal(rules_compile(&rules, &p->levels, &e), 0);
	config_free(conf);
}

static void
test_qos(void **state)
{
	json_t *json;

	(void)state;
	json = ASK("show qos", "");
	assert_true(json_is_false(at(json, "data.configured")));
	assert_int_equal(json_array_size(at(json, "data.service_levels")), 0);
	json_decref(json);
	json = ASK("qos explain", FROM_TO);
	assert_true(json_is_null(at(json, "data.level")));
	has_int(json, "data.sl", 0);
	assert_true(json_is_true(at(json, "data.talk")));
	json_decref(json);
	/* Nobody says anything of partitions, so there is the default one alone. */
	json = ASK("qos explain", FROM_TO ",\"pkey\":32773");
	has_int(json, "data.pkey", 5);
	assert_true(json_is_false(at(json, "data.talk")));
	json_decref(json);
	refused("{\"command\":\"partition add\",\"args\":{\"name\":\"red\",\"pkey\":0}}", 2,
		"0x0001 to 0x7fff");
	give_levels("qos: {high_limit: 9, levels: [{name: bulk}, {name: fast, sl: 6, priority: "
		    "high, weight: 64}], rules: [{class: 3, source: gpu-1, level: fast}]}\n");
	json = ASK("show qos", "");
	assert_int_equal(json_array_size(at(json, "data.service_levels")), 16);
	has_str(json, "data.levels.1.name", "fast");
	has_int(json, "data.levels.1.sl", 6);
	has_int(json, "data.levels.1.vl", 1);
	has_str(json, "data.service_levels.0.levels.0", "bulk");
	has_int(json, "data.service_levels.0.path_class", 0);
	has_str(json, "data.service_levels.5.use", "as SL 0");
	has_str(json, "data.service_levels.6.levels.0", "fast");
	has_str(json, "data.service_levels.6.use", "level");
	has_int(json, "data.service_levels.6.vls_switches.0", 1);
	has_int(json, "data.service_levels.6.vls_hosts.0", 1);
	assert_true(json_is_false(at(json, "data.service_levels.6.adaptive")));
	has_int(json, "data.arbitration.0.high.0.vl", 1);
	has_int(json, "data.arbitration.0.high.0.weight", 64);
	has_int(json, "data.arbitration.0.low.0.vl", 0);
	has_int(json, "data.arbitration.0.high_limit", 9);
	has_int(json, "data.few_entries_ports", 0);
	json_decref(json);
	json = ASK("qos explain", FROM_TO ",\"class\":3");
	has_str(json, "data.level", "fast");
	has_str(json, "data.because", "rule");
	has_int(json, "data.rule", 0);
	has_int(json, "data.sl", 6);
	json_decref(json);
	json = ASK("qos explain", FROM_TO ",\"class\":4");
	has_str(json, "data.level", "bulk");
	has_str(json, "data.because", "first level");
	assert_true(json_is_null(at(json, "data.rule")));
	has_int(json, "data.sl", 0);
	json_decref(json);
	refused("{\"command\":\"qos explain\",\"args\":{\"source\":\"gpu-1\","
		"\"destination\":\"gpu-77\"}}", 1, "gpu-77");
	refused("{\"command\":\"qos explain\",\"args\":{" FROM_TO ",\"class\":4096}}", 2,
		"class");
	json = ASK("show multicast", "");
	has_str(json, "data.groups.0.level", "bulk");
	json_decref(json);
	json = ASK("qos apply", "");
	assert_true(h.change.apply_names);
	assert_int_equal(h.change.kind, CHANGE_ROUTE);
	json_decref(json);
}

static void
test_reroute(void **state)
{
	struct peer *p = peer_new();
	json_t *json = ask("{\"command\":\"reroute\",\"args\":{\"engine\":\"minhop\",\"full\":true}"
			   "}");

	(void)state;
	has_str(json, "data.text", "updn: 4 switches, nothing differs");
	assert_string_equal(h.engine, "minhop");
	assert_true(h.full && !h.dry_run);
	json_decref(json);
	refused("{\"command\":\"reroute\",\"args\":{\"engine\":\"minhip\"}}", 2, "\"minhop\"");
	/* The second of two at a time is refused. */
	peer_send(p, "{\"command\":\"reroute\",\"args\":{\"dry_run\":true}}\n");
	refused("{\"command\":\"reroute\"}", 1, "under way");
	peer_wait(p, 2);
	assert_string_equal(h.engine, "(configured)");
	assert_true(h.dry_run);
	assert_int_equal(h.reroutes, 2);
	peer_free(p);
}

/* fail, drain, undrain: what is meant goes to the core, what it says comes back. */
static void
test_places(void **state)
{
	json_t *json = ask("{\"command\":\"drain\",\"args\":{\"place\":\"rack1/leaf1/5\"}}");

	(void)state;
	assert_int_equal(h.change.kind, CHANGE_DRAIN);
	assert_int_equal(h.change.port, 5);
	assert_false(h.change.dry_run);
	has_str(json, "data.place", "rack1/leaf1/5");
	assert_int_equal(json_integer_value(at(json, "data.entries")), 12);
	assert_int_equal(json_integer_value(at(json, "data.writes")), 5);
	assert_int_equal(json_integer_value(at(json, "data.load_after")), 2);
	assert_int_equal(json_integer_value(at(json, "data.cut_off")), 6);
	json_decref(json);
	json = ask("{\"command\":\"undrain\",\"args\":{\"place\":\"gpu-1\",\"dry_run\":true}}");
	assert_int_equal(h.change.kind, CHANGE_UNDRAIN);
	assert_int_equal(h.change.port, CHANGE_ALL_PORTS);
	assert_true(h.change.dry_run);
	has_str(json, "data.place", "gpu-1");
	json_decref(json);
	json = ask("{\"command\":\"fail\",\"args\":{\"place\":\"gpu-1\",\"dry_run\":true}}");
	assert_int_equal(h.change.kind, CHANGE_FAIL);
	json_decref(json);
	refused("{\"command\":\"fail\",\"args\":{\"place\":\"gpu-1\"}}", 2, "--dry-run");
	refused("{\"command\":\"drain\",\"args\":{\"place\":\"nobody\"}}", 1, "nobody");
	refused("{\"command\":\"drain\"}", 2, "place");
	refused("{\"command\":\"drain\",\"args\":{\"place\":\"rack1/leaf1/0\"}}", 2, "itself");
}

static void
test_reload(void **state)
{
	json_t *json = ask("{\"command\":\"reload\",\"args\":{\"dry_run\":true}}");

	(void)state;
	assert_int_equal(json_array_size(at(json, "data.changes")), 2);
	has_str(json, "data.changes.0", "subnets[0].lmc: 0 -> 1 (dry)");
	json_decref(json);
	h.reload_code = ERR_FORMAT;
	refused("{\"command\":\"reload\"}", 1, "weft.yaml:3:1");
}

static void
test_plugins(void **state)
{
	json_t *json = ask("{\"command\":\"show plugins\"}");

	(void)state;
	assert_int_equal(json_array_size(at(json, "data.plugins")), 3);
	has_str(json, "data.plugins.0.kind", "engine");
	has_str(json, "data.plugins.0.options.0.max", "18446744073709551615");
	has_str(json, "data.plugins.0.options.1.words.1", "wide");
	has_str(json, "data.plugins.1.state", "refused");
	assert_true(json_is_null(at(json, "data.plugins.1.kind")));
	has_str(json, "data.plugins.2.state", "running");
	assert_int_equal(json_integer_value(at(json, "data.plugins.2.lost")), 2);
	json_decref(json);
	json = ask("{\"command\":\"plugin reload\",\"args\":{\"plugin\":\"rsp\"}}");
	has_str(json, "data.changes.0", "rsp");
	json_decref(json);
	json = ask("{\"command\":\"reroute\",\"args\":{\"engine\":\"rsp\"}}");
	json_decref(json);
	refused("{\"command\":\"reroute\",\"args\":{\"engine\":\"broken\"}}", 1,
		"plugin broken: /p/broken.so is no shared object");
	refused("{\"command\":\"reroute\",\"args\":{\"engine\":\"trail\"}}", 2,
		"plugin trail is a consumer of events");
	refused("{\"command\":\"reroute\",\"args\":{\"engine\":\"nope\"}}", 2,
		"weft show plugins");
	h.reload_code = ERR_NOT_FOUND;
	refused("{\"command\":\"plugin reload\"}", 1, "unknown key");
}

static void
by_pkey(const char *line, enum partition_change_kind kind, const char *name, unsigned members)
{
	json_t *json = ask(line);

	assert_true(json_is_true(at(json, "ok")));
	json_decref(json);
	assert_int_equal(fake_asked.kind, kind);
	assert_string_equal(fake_asked_name, name);
	assert_true(fake_asked.idempotent);
	assert_int_equal(fake_asked.nmembers, members);
}

/* For programs that know P_Keys: a partition that has it, or a new one; nothing of it is an error
 * that is so already. */
static void
test_by_pkey(void **state)
{
	json_t *json;

	(void)state;
	by_pkey("{\"command\":\"partition pkey add\",\"args\":{\"pkey\":32775,\"members\":"
		"[\"0x12\",\"0x13\"],\"ipoib\":true}}", PARTITION_ADD, "blue", 2);
	assert_true(fake_asked.ipoib);
	by_pkey("{\"command\":\"partition pkey add\",\"args\":{\"pkey\":66,\"members\":"
		"[\"0x12\"],\"membership\":\"limited\"}}", PARTITION_ADD, "pkey-0x0042", 1);
	assert_int_equal(fake_asked.pkey, 0x42);
	by_pkey("{\"command\":\"partition pkey remove\",\"args\":{\"pkey\":7,\"members\":"
		"[\"0x12\"]}}", PARTITION_MEMBER_REMOVE, "blue", 1);
	/* Of what is not there nobody is asked. */
	memset(&fake_asked, 0, sizeof(fake_asked));
	json = ask("{\"command\":\"partition pkey remove\",\"args\":{\"pkey\":8,\"members\":"
		   "[\"0x12\"]}}");
	assert_true(json_is_true(at(json, "ok")));
	assert_int_equal(fake_asked.nmembers, 0);
	json_decref(json);
	refused("{\"command\":\"partition pkey add\",\"args\":{\"pkey\":32767,\"members\":"
		"[\"0x1\"]}}", 2, "0x7ffe");
	refused("{\"command\":\"partition pkey add\",\"args\":{\"members\":[\"0x1\"]}}", 2, "pkey");
	json = ask("{\"command\":\"partition member add\",\"args\":{\"name\":\"full\",\"members\":"
		   "[\"0x1\"]}}");
	has_str(json, "reason", "full");
	json_decref(json);
	json = ask("{\"command\":\"show partitions\",\"args\":{\"name\":\"0x9\"}}");
	has_str(json, "reason", "not found");
	json_decref(json);
	json = ask("{\"command\":\"show partitions\",\"args\":{\"guids\":true,\"name\":\"blue\"}}");
	assert_int_equal(json_array_size(at(json, "data.partitions.0.guids")), 3);
	json_decref(json);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		T(test_status), T(test_stale), T(test_drained), T(test_wait), T(test_nodes),
		T(test_ports), T(test_links), T(test_cut), T(test_routes), T(test_path),
		T(test_path_refused), T(test_check), T(test_check_in_turn), T(test_events),
		T(test_topology),
		T(test_qos), T(test_reroute), T(test_places), T(test_reload), T(test_plugins),
		T(test_by_pkey),
	};

	alarm(120);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
