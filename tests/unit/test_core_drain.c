/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/core/subnet.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "tests/unit/core_bed.h"
#include "tests/unit/core_tap.h"

/*
 * What an administrator takes from the traffic, or asks the loss of: that traffic is off it, that
 * nothing else is touched, that it is remembered, and that rehearsals write nothing.
 */
#define BOUND SEC(20)

struct outcome {
	bool done;			/* the answer came */
	int error;			/* its code */
	char text[1000];		/* its sentence */
	struct change_report report;	/* if there was no error */
};

static struct bed_sm *
live(const char *fabric, struct tap **tap)
{
	struct bed_sm *sm;
	struct bed *b = bed_new(fabric, 1);

	sm = bed_sm(b, bed_next(b, IBNET_CA, 0), 1);
	*tap = tap_new(sm);
	sm->conf.sweep_interval = 0;
	bed_start(sm);
	assert_int_equal(bed_run(sm, BOUND), 1);
	assert_true(bed_quiet(sm, BOUND));
	tap_clear(*tap);
	return sm;
}

static void
on_answer(void *arg, int error, const char *text, const struct change_report *report)
{
	struct outcome *o = arg;

	assert_false(o->done);
	o->done = true;
	o->error = error;
	snprintf(o->text, sizeof(o->text), "%s", text);
	if (report)
		o->report = *report;
}

/* "A0_0", or "A0_0/5". */
static void
change(struct bed_sm *sm, enum change_kind kind, const char *place, bool dry_run,
       struct outcome *o)
{
	struct change c = { .kind = kind, .dry_run = dry_run, .port = CHANGE_ALL_PORTS };
	struct error e = { 0 };
	char name[64];
	int rc;

	snprintf(name, sizeof(name), "%s", place);
	if (strchr(name, '/')) {
		c.port = atoi(strchr(name, '/') + 1);
		*strchr(name, '/') = '\0';
	}
	c.guid = sm->bed->net->nodes[bed_node(sm->bed, name)].guid;
	memset(o, 0, sizeof(*o));
	rc = subnet_change(sm->s, &c, on_answer, o, &e);
	if (rc) {
		on_answer(o, rc, e.text, NULL);
		return;
	}
	loop_run_until(sm->bed->loop, loop_now(sm->bed->loop) + BOUND, &o->done);
	assert_true(o->done);
}

/* Table entries of all switches that lead out of a port of the model, or to one of a switch. */
static unsigned
entries_over(const struct bed_sm *sm, uint32_t node, unsigned port)
{
	const struct bed *b = sm->bed;
	uint16_t top = sm->s->plan->lids->top;
	unsigned n = 0;

	for (unsigned p = 1; p <= b->net->nodes[node].nports; p++) {
		uint32_t peer = b->net->nodes[node].ports[p].peer;
		unsigned far = b->net->nodes[node].ports[p].peer_port;

		if ((port && p != port) || peer == IBNET_NONE)
			continue;
		for (uint16_t lid = 1; lid <= top; lid++) {
			n += model_lft(b->m, node, lid) == p;
			n += b->net->nodes[peer].type == IBNET_SWITCH &&
			     model_lft(b->m, peer, lid) == far;
		}
	}
	return n;
}

/* All cables are ACTIVE as before, and hosts reach each other. */
static void
works(struct bed_sm *sm)
{
	assert_true(bed_quiet(sm, BOUND));
	bed_check(sm);
}

static void
drain_a_cable(void **state)
{
	struct tap *t;
	struct bed_sm *sm = live("ft3 4", &t);
	struct bed *b = sm->bed;
	uint32_t leaf = bed_node(b, "L1_0"), up = bed_node(b, "A1_0");
	unsigned port = bed_port_to(b, leaf, up);
	struct outcome o;
	char near[32], far[32];

	(void)state;
	snprintf(near, sizeof(near), "L1_0/%u", port);
	snprintf(far, sizeof(far), "A1_0/%u", bed_port_to(b, up, leaf));
	assert_true(entries_over(sm, leaf, port) > 0);
	change(sm, CHANGE_DRAIN, near, true, &o);
	assert_int_equal(o.error, 0);
	assert_true(o.report.entries > 0 && o.report.measured);
	assert_int_equal(o.report.cables, 1);
	assert_int_equal(o.report.cut_off, 0);
	assert_int_equal(t->len, 0);
	change(sm, CHANGE_DRAIN, near, false, &o);
	assert_int_equal(o.error, 0);
	assert_int_equal(entries_over(sm, leaf, port), 0);
	works(sm);
	assert_non_null(bed_event(sm, EVENT_CONFIG, "by command traffic is kept off L1_0/"));
	assert_non_null(bed_event(sm, EVENT_ROUTED, " links, 1 of them drained, engine "));
	/* It is still part of the fabric: its ports are as they were, and known. */
	assert_int_equal(model_portinfo(b->m, leaf, port)->state, PORT_ACTIVE);
	assert_int_equal(tap_count(t, MAD_SET, ATTR_PORT_INFO), 0);
	/* Twice is said to be so, by either end; so is what was never drained. */
	change(sm, CHANGE_DRAIN, far, false, &o);
	assert_int_equal(o.error, ERR_EXISTS);
	change(sm, CHANGE_UNDRAIN, "L2_0", false, &o);
	assert_int_equal(o.error, ERR_NOT_FOUND);
	change(sm, CHANGE_UNDRAIN, far, false, &o);
	assert_int_equal(o.error, 0);
	assert_true(entries_over(sm, leaf, port) > 0);
	works(sm);
	end(sm, t);
}

static void
drain_a_switch(void **state)
{
	struct tap *t;
	struct bed_sm *sm = live("ft3 4", &t);
	struct bed *b = sm->bed;
	uint32_t spine = bed_node(b, "C2");
	struct subnet_status st;
	struct outcome o;
	unsigned used = 0;

	(void)state;
	change(sm, CHANGE_DRAIN, "C2", false, &o);
	assert_int_equal(o.error, 0);
	/* Of its four cables one stays, for itself. */
	assert_int_equal(o.report.cables, 3);
	assert_int_equal(o.report.kept, 1);
	for (unsigned p = 1; p <= 4; p++)
		used += entries_over(sm, spine, p) > 0;
	assert_int_equal(used, 1);
	works(sm);
	/* The daemon starts again: it is remembered, and nothing is written. */
	bed_stop(sm);
	model_count_reset(b->m);
	bed_start(sm);
	assert_int_equal(bed_run(sm, BOUND), 1);
	assert_int_equal(all_sets(b), 0);
	subnet_status(sm->s, &st);
	assert_int_equal(st.ndrained, 1);
	assert_int_equal(st.drained[0].port, CHANGE_ALL_PORTS);
	change(sm, CHANGE_UNDRAIN, "C2", false, &o);
	assert_int_equal(o.error, 0);
	works(sm);
	for (unsigned p = 1; p <= 4; p++)
		assert_true(entries_over(sm, spine, p) > 0);
	subnet_status(sm->s, &st);
	assert_int_equal(st.ndrained, 0);
	end(sm, t);
}

/* When the other way is lost, what was drained carries traffic again; and no longer when it is
 * back. */
static void
drained_and_needed(void **state)
{
	struct tap *t;
	struct bed_sm *sm = live("ft2 2 2 2", &t);
	struct bed *b = sm->bed;
	uint32_t leaf = UINT32_MAX, spine = UINT32_MAX, other = UINT32_MAX;
	struct subnet_status st;
	char place[64];
	struct outcome o;
	unsigned port;

	(void)state;
	for (uint32_t n = 0; n < b->net->nnodes; n++) {
		bool hosts = false;

		for (unsigned p = 1; p <= b->net->nodes[n].nports; p++)
			hosts |= b->net->nodes[n].ports[p].peer != IBNET_NONE &&
				 b->net->nodes[b->net->nodes[n].ports[p].peer].type == IBNET_CA;
		if (b->net->nodes[n].type != IBNET_SWITCH)
			continue;
		if (hosts)
			leaf = n;
		else if (spine == UINT32_MAX)
			spine = n;
		else
			other = n;
	}
	port = bed_port_to(b, leaf, spine);
	snprintf(place, sizeof(place), "%s/%u", b->net->nodes[leaf].name, port);
	change(sm, CHANGE_DRAIN, place, false, &o);
	assert_int_equal(o.error, 0);
	assert_int_equal(entries_over(sm, leaf, port), 0);
	subnet_status(sm->s, &st);
	assert_int_equal(st.links, 8);
	assert_int_equal(st.drained_links, 1);
	/* Which is foretold: nobody is cut off. */
	snprintf(place, sizeof(place), "%s/%u", b->net->nodes[leaf].name,
		 bed_port_to(b, leaf, other));
	change(sm, CHANGE_FAIL, place, true, &o);
	assert_int_equal(o.report.cables, 1);
	assert_int_equal(o.report.cut_off, 0);
	model_link_set(b->m, leaf, bed_port_to(b, leaf, other), false);
	bed_wait(b, SEC(3));
	works(sm);
	assert_true(entries_over(sm, leaf, port) > 0);
	model_link_set(b->m, leaf, bed_port_to(b, leaf, other), true);
	bed_wait(b, SEC(3));
	works(sm);
	assert_int_equal(entries_over(sm, leaf, port), 0);
	end(sm, t);
}

/* What has no other way is not drained. */
static void
refusals(void **state)
{
	struct tap *t;
	struct bed_sm *sm = live("ft3 4", &t);
	struct outcome o;
	char place[64];

	(void)state;
	change(sm, CHANGE_DRAIN, "H1_0_0", false, &o);
	assert_int_equal(o.error, ERR_REFUSED);
	assert_non_null(strstr(o.text, "no switch"));
	snprintf(place, sizeof(place), "L1_0/%u",
		 bed_port_to(sm->bed, bed_node(sm->bed, "L1_0"), bed_node(sm->bed, "H1_0_0")));
	change(sm, CHANGE_DRAIN, place, false, &o);
	assert_int_equal(o.error, ERR_REFUSED);
	assert_non_null(strstr(o.text, "H1_0_0"));
	change(sm, CHANGE_DRAIN, "L1_0/77", false, &o);
	assert_int_equal(o.error, ERR_NOT_FOUND);
	assert_int_equal(sm->s->drains.len, 0);
	assert_int_equal(t->len, 0);
	end(sm, t);
}

/* A loss that is foretold, and then happens: the tables are those that were foretold. */
static void
foretold(void **state)
{
	struct tap *t;
	struct bed_sm *sm = live("ft3 4", &t);
	struct bed *b = sm->bed;
	uint32_t leaf = bed_node(b, "L3_1");
	unsigned port = bed_port_to(b, leaf, bed_node(b, "A3_1"));
	struct outcome o;
	char place[64];

	(void)state;
	snprintf(place, sizeof(place), "L3_1/%u", port);
	change(sm, CHANGE_FAIL, place, false, &o);
	assert_int_equal(o.error, 0);
	assert_int_equal(o.report.cables, 1);
	assert_int_equal(o.report.cut_off, 0);
	assert_true(o.report.load_after >= o.report.load_before && o.report.load_before >= 1);
	assert_int_equal(t->len, 0);
	model_link_set(b->m, leaf, port, false);
	bed_wait(b, SEC(3));
	works(sm);
	assert_int_equal(sm->s->plan->fabric->nlinks, 47);
	/* A leaf and its two hosts: each of these loses 14 others and the other one, both ways. */
	change(sm, CHANGE_FAIL, "L1_0", true, &o);
	assert_int_equal(o.error, 0);
	assert_int_equal(o.report.cables, 4);
	assert_int_equal(o.report.cut_off, 2 * 14 * 2 + 2);
	/* A host: all 15 others, both ways. */
	change(sm, CHANGE_FAIL, "H2_0_0", true, &o);
	assert_int_equal(o.report.cut_off, 30);
	end(sm, t);
}

/* No more blocks are written than were foretold, those that are written twice among them. */
static void
foretold_blocks(void **state)
{
	static const char *const ends[][2] = {
		{ "L3_1", "A3_2" }, { "L0_1", "A0_0" }, { "A2_1", "C5" }, { "A5_3", "C14" },
		{ "L3_1", "A3_0" }, { "A3_1", "C4" },
	};
	struct tap *t;
	struct bed_sm *sm = live("ft3 8", &t);
	struct bed *b = sm->bed;
	unsigned twice = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		uint32_t node = bed_node(b, ends[i][0]);
		unsigned port = bed_port_to(b, node, bed_node(b, ends[i][1]));
		struct outcome o;
		char place[64];

		snprintf(place, sizeof(place), "%s/%u", ends[i][0], port);
		change(sm, CHANGE_FAIL, place, true, &o);
		assert_int_equal(o.error, 0);
		tap_clear(t);
		model_link_set(b->m, node, port, false);
		bed_wait(b, SEC(3));
		works(sm);
		assert_in_range(tap_count(t, MAD_SET, ATTR_LINEAR_FDB), 1, o.report.writes);
		assert_true(o.report.writes >= o.report.blocks);
		twice += o.report.writes > o.report.blocks;
	}
	assert_true(twice > 0);
	end(sm, t);
}

/* All tables, before or after. */
static uint8_t *
tables(const struct bed *b, uint16_t top)
{
	uint8_t *t = mem_array((size_t)b->net->nnodes * (top + 1u), 1);

	for (uint32_t n = 0; n < b->net->nnodes; n++)
		for (uint16_t lid = 0; lid <= top && b->net->nodes[n].type == IBNET_SWITCH; lid++)
			t[(size_t)n * (top + 1u) + lid] = model_lft(b->m, n, lid);
	return t;
}

/* What would be out of reach is not counted, for nobody could write to it; and what the subnet
 * manager itself hangs on cannot be lost so that anything would change. */
static void
out_of_reach(void **state)
{
	struct tap *t;
	/* Pods T2_0, T1_0, T1_1 and T2_1, T1_2, T1_3 below one top switch. */
	struct bed_sm *sm = live("xgft 3 2 2 2 1 1 1", &t);
	struct bed *b = sm->bed;
	uint16_t top = sm->s->plan->lids->top;
	uint8_t *before = tables(b, top), *after;
	struct outcome o;
	unsigned n = 0;

	(void)state;
	change(sm, CHANGE_FAIL, "T3_0", true, &o);
	assert_int_equal(o.error, 0);
	assert_int_equal(o.report.cut_off, 2 * 4 * 4);
	model_power(b->m, bed_node(b, "T3_0"), false);
	bed_wait(b, SEC(3));
	works(sm);
	after = tables(b, top);
	for (size_t i = 0; i < (size_t)b->net->nnodes * (top + 1u); i++)
		n += model_is_on(b->m, (uint32_t)(i / (top + 1u))) && before[i] != after[i];
	assert_true(n > 0);
	assert_int_equal(o.report.entries, n);
	change(sm, CHANGE_FAIL, "T1_0", true, &o);
	assert_int_equal(o.error, ERR_REFUSED);
	assert_non_null(strstr(o.text, "subnet manager itself would be cut off"));
	change(sm, CHANGE_FAIL, "H0/1", true, &o);
	assert_int_equal(o.error, ERR_REFUSED);
	change(sm, CHANGE_FAIL, "T1_1", true, &o);
	assert_int_equal(o.error, 0);
	mem_free(before);
	mem_free(after);
	end(sm, t);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(drain_a_cable),
		cmocka_unit_test(drain_a_switch),
		cmocka_unit_test(drained_and_needed),
		cmocka_unit_test(refusals),
		cmocka_unit_test(foretold),
		cmocka_unit_test(foretold_blocks),
		cmocka_unit_test(out_of_reach),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
