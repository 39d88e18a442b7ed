/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/core/subnet.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>
#include "sm/base/mem.h"
#include "tests/unit/core_bed.h"
#include "tests/unit/core_tap.h"

/*
 * New tables for a live fabric: other engines, other configurations, nothing that can be proved;
 * and what packets meet while tables change.
 */
#define BOUND SEC(20)

static const char *minhop[] = { "minhop", NULL };
static const char *updn[] = { "updn", NULL };
static const char *both[] = { "minhop", "updn", NULL };

static struct bed_sm *
make(const char *fabric, const char **engines, struct tap **tap)
{
	struct bed *b = bed_new(fabric, 1);
	struct bed_sm *sm = bed_sm(b, bed_next(b, IBNET_CA, 0), 1);

	*tap = tap_new(sm);
	sm->conf.sweep_interval = 0;
	sm->conf.routing.engines = engines;
	bed_start(sm);
	return sm;
}

static struct bed_sm *
live(const char *fabric, const char **engines, struct tap **tap)
{
	struct bed_sm *sm = make(fabric, engines, tap);

	assert_int_equal(bed_run(sm, BOUND), 1);
	assert_true(bed_quiet(sm, BOUND));
	bed_check(sm);
	model_count_reset(sm->bed->m);
	bed_forget(sm);
	tap_clear(*tap);
	return sm;
}

/* A command and its answer. */
struct outcome {
	bool done;		/* the answer came */
	int error;		/* code */
	char text[1600];	/* for people */
};

static void
on_answer(void *arg, int error, const char *text, const struct change_report *report)
{
	struct outcome *o = arg;

	assert_false(o->done);
	assert_true((report == NULL) == (error != 0));
	o->done = true;
	o->error = error;
	snprintf(o->text, sizeof(o->text), "%s", text);
}

static void
reroute(struct bed_sm *sm, const char *engine, bool full, bool dry_run, struct outcome *o)
{
	const struct change c = { .engine = engine, .full = full, .dry_run = dry_run };
	struct error e = { 0 };

	memset(o, 0, sizeof(*o));
	assert_int_equal(subnet_change(sm->s, &c, on_answer, o, &e), 0);
	loop_run_until(sm->bed->loop, loop_now(sm->bed->loop) + BOUND, &o->done);
	assert_true(o->done);
}

/* All tables of the model, switch by switch. */
static uint8_t *
tables(const struct bed *b, uint16_t top)
{
	uint8_t *t = mem_array((size_t)b->net->nnodes * (top + 1u), 1);

	for (uint32_t n = 0; n < b->net->nnodes; n++)
		for (uint16_t lid = 0; lid <= top; lid++)
			if (b->net->nodes[n].type == IBNET_SWITCH)
				t[(size_t)n * (top + 1u) + lid] = model_lft(b->m, n, lid);
	return t;
}

static bool
tables_are(const struct bed *b, uint16_t top, uint8_t *before)
{
	uint8_t *now = tables(b, top);
	bool same = !memcmp(before, now, (size_t)b->net->nnodes * (top + 1u));

	mem_free(now);
	mem_free(before);
	return same;
}

/* An engine that cannot be proved is refused, by name with its credit loop; nothing is touched. */
static void
refused_engine(void **state)
{
	struct tap *t;
	struct bed_sm *sm = live("torus 5 1 1 2", updn, &t);
	uint16_t top = sm->s->plan->lids->top;
	uint8_t *before = tables(sm->bed, top);
	struct outcome o;

	(void)state;
	reroute(sm, "minhop", false, false, &o);
	assert_int_equal(o.error, ERR_REFUSED);
	assert_non_null(strstr(o.text, "credit loop"));
	assert_int_equal(tap_sets(t), 0);
	assert_true(tables_are(sm->bed, top, before));
	assert_string_equal(sm->s->plan->engine_running, "updn");
	assert_int_equal(bed_run(sm, BOUND), 1);
	/* The refused name does not linger: a plain reroute runs the configured engine. */
	reroute(sm, NULL, true, false, &o);
	assert_int_equal(o.error, 0);
	assert_string_equal(sm->s->plan->engine_running, "updn");
	bed_check(sm);
	end(sm, t);
}

/* On a tree either engine can follow the other. */
static void
engines_follow_each_other(void **state)
{
	struct tap *t;
	struct bed_sm *sm = live("ft3 4", minhop, &t);
	const char *names[] = { "updn", "minhop", "updn" };
	struct outcome o;

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		reroute(sm, names[i], false, false, &o);
		assert_int_equal(o.error, 0);
		assert_string_equal(sm->s->plan->engine_running, names[i]);
		assert_true(bed_quiet(sm, BOUND));
		bed_check(sm);
	}
	assert_int_equal(tap_count(t, MAD_SET, ATTR_PORT_INFO), 0);
	assert_int_equal(tap_count(t, MAD_GET, ATTR_NODE_INFO), 0);
	end(sm, t);
}

static void
dry_run_changes_nothing(void **state)
{
	struct tap *t;
	struct bed_sm *sm = live("torus 5 1 1 2", updn, &t);
	uint16_t top = sm->s->plan->lids->top;
	uint8_t *before = tables(sm->bed, top);
	struct outcome o;

	(void)state;
	reroute(sm, "updn", false, true, &o);
	assert_int_equal(o.error, 0);
	assert_non_null(strstr(o.text, "would change 0 entries in 0 blocks"));
	reroute(sm, "minhop", false, true, &o);
	assert_int_equal(o.error, ERR_REFUSED);
	assert_int_equal(t->len, 0);
	assert_true(tables_are(sm->bed, top, before));
	assert_string_equal(sm->s->plan->engine_running, "updn");
	end(sm, t);
}

/* Nothing can be proved: no table is written, and the status says why. */
static void
nothing_provable(void **state)
{
	struct tap *t;
	struct bed_sm *sm = make("torus 5 1 1 2", minhop, &t);
	struct config_subnet other;

	(void)state;
	assert_int_equal(bed_run(sm, BOUND), -1);
	assert_non_null(strstr(sm->why, "credit loop"));
	bed_wait(sm->bed, SEC(60));
	assert_int_equal(all_sets(sm->bed), 0);
	other = sm->conf;
	other.routing.engines = updn;
	subnet_configure(sm->s, &other, NULL, STAGE_ROUTING);
	bed_wait(sm->bed, SEC(1));
	assert_int_equal(bed_run(sm, BOUND), 1);
	bed_check(sm);
	/* And back: what runs stays. */
	model_count_reset(sm->bed->m);
	other.routing.engines = minhop;
	subnet_configure(sm->s, &other, NULL, STAGE_ROUTING);
	bed_wait(sm->bed, SEC(1));
	assert_int_equal(bed_run(sm, BOUND), -1);
	assert_non_null(strstr(sm->why, "old tables stay"));
	assert_int_equal(all_sets(sm->bed), 0);
	end(sm, t);
}

/*
 * Where old and new tables do not mix: the entries that change drop first, everywhere, then the
 * packet lifetime passes, then the new ones come.
 */
static void
two_steps(void **state)
{
	struct tap *t;
	struct bed_sm *sm;
	uint64_t roots[2];
	struct config_subnet other;
	size_t last_drop = 0, first_new = 0;
	struct plan *old;

	(void)state;
	sm = make("torus 6 1 1 2", updn, &t);
	roots[0] = sm->bed->net->nodes[bed_node(sm->bed, "T0_0_0")].guid;
	roots[1] = sm->bed->net->nodes[bed_node(sm->bed, "T1_0_0")].guid;
	sm->conf.routing.roots = roots;
	sm->conf.routing.nroots = 1;
	assert_int_equal(bed_run(sm, BOUND), 1);
	assert_true(bed_quiet(sm, BOUND));
	bed_check(sm);
	tap_clear(t);
	old = plan_ref(sm->s->plan);
	other = sm->conf;
	other.routing.roots = roots + 1;
	other.packet_life_time = sm->conf.packet_life_time;
	subnet_configure(sm->s, &other, NULL, STAGE_ROUTING);
	bed_wait(sm->bed, SEC(5));
	assert_int_equal(bed_run(sm, BOUND), 1);
	bed_check(sm);
	for (size_t i = 0; i < t->len; i++) {
		const struct smp *smp = &t->log[i].smp;
		bool drops = false;

		if (t->log[i].in || smp->h.method != MAD_SET || smp->h.attr_id != ATTR_LINEAR_FDB)
			continue;
		for (unsigned k = 1; k <= sm->s->plan->lids->top; k++)
			drops |= smp->data[k] == LFT_NO_PORT;
		if (drops)
			last_drop = i;
		else if (!first_new)
			first_new = i;
	}
	assert_true(last_drop && first_new > last_drop);
	/* 4.096 us x 2^18. */
	assert_true(t->log[first_new].at - t->log[last_drop].at >= USEC(1073741));
	assert_non_null(bed_event(sm, EVENT_ROUTED, "together could deadlock"));
	plan_unref(old);
	end(sm, t);
}

/*
 * What a change of configuration costs is what it touches.
 */
static void
push_stage_alone(void **state)
{
	struct tap *t;
	struct bed_sm *sm = live("ft2 3 2 3", minhop, &t);
	struct config_subnet other = sm->conf;

	(void)state;
	other.hoq_life = 17;
	subnet_configure(sm->s, &other, NULL, STAGE_PUSH);
	bed_wait(sm->bed, MSEC(200));
	assert_true(bed_quiet(sm, BOUND));
	/* Six cables between switches; our own port is read. */
	assert_int_equal(tap_sets(t), 12);
	assert_int_equal(tap_requests(t), 13);
	assert_int_equal(model_portinfo(sm->bed->m, bed_node(sm->bed, "S0"), 1)->hoq_life, 17);
	bed_check(sm);
	end(sm, t);
}

static void
live_stage_alone(void **state)
{
	struct tap *t;
	struct bed_sm *sm = live("ft2 3 2 3", minhop, &t);
	struct config_subnet other = sm->conf;

	(void)state;
	other.standby_poll = SEC(3);
	subnet_configure(sm->s, &other, NULL, STAGE_LIVE);
	subnet_configure(sm->s, &other, NULL, STAGE_NONE);
	bed_wait(sm->bed, SEC(5));
	assert_int_equal(t->len, 0);
	end(sm, t);
}

/* A new LMC: LIDs move where they must, all hosts still reach each other. */
static void
lids_stage(void **state)
{
	struct tap *t;
	struct bed_sm *sm = live("ft2 3 2 3", minhop, &t);
	struct config_subnet other = sm->conf;

	(void)state;
	other.lmc = 1;
	subnet_configure(sm->s, &other, NULL, STAGE_LIDS);
	sm->conf.lmc = 1;
	bed_wait(sm->bed, SEC(5));
	assert_int_equal(bed_run(sm, BOUND), 1);
	bed_check(sm);
	assert_int_equal(model_portinfo(sm->bed->m, bed_node(sm->bed, "H2_2"), 1)->lmc, 1);
	assert_int_equal(tap_count(t, MAD_GET, ATTR_NODE_INFO), 0);
	end(sm, t);
}

static void
discover_stage(void **state)
{
	struct tap *t;
	struct bed_sm *sm = live("ft2 3 2 3", minhop, &t);
	struct config_subnet other = sm->conf;

	(void)state;
	subnet_configure(sm->s, &other, NULL, STAGE_DISCOVER);
	bed_wait(sm->bed, SEC(1));
	assert_true(tap_count(t, MAD_GET, ATTR_NODE_INFO) > 10);
	assert_int_equal(tap_sets(t), 0);
	end(sm, t);
}

/*
 * Packets while tables change. `good` holds the pairs that must get through at every moment.
 */
struct watch {
	struct bed *b;		/* the fabric */
	uint32_t *hosts;	/* n of them */
	unsigned n;
	bool *good;		/* n x n */
	unsigned looks;		/* how often it looked */
	unsigned lost;		/* pairs that did not get through, over all looks */
};

static bool
gets_through(const struct watch *w, unsigned i, unsigned k)
{
	uint32_t at;
	uint16_t lid = model_portinfo(w->b->m, w->hosts[k], 1)->lid;
	int hops = model_trace(w->b->m, w->hosts[i], 1, lid, &at);

	return hops >= 0 && at == w->hosts[k];
}

static void
watch_init(struct watch *w, struct bed *b)
{
	memset(w, 0, sizeof(*w));
	w->b = b;
	w->hosts = mem_array(b->net->nnodes, sizeof(*w->hosts));
	for (uint32_t n = bed_next(b, IBNET_CA, 0); n != IBNET_NONE;
	     n = bed_next(b, IBNET_CA, n + 1))
		w->hosts[w->n++] = n;
	w->good = mem_array((size_t)w->n * w->n, sizeof(*w->good));
	for (unsigned i = 0; i < w->n; i++)
		for (unsigned k = 0; k < w->n; k++)
			w->good[i * w->n + k] = i != k && gets_through(w, i, k);
}

static void
watch_look(struct watch *w)
{
	w->looks++;
	for (unsigned i = 0; i < w->n; i++)
		for (unsigned k = 0; k < w->n; k++)
			if (w->good[i * w->n + k] && !gets_through(w, i, k))
				w->lost++;
}

static void
watch_free(struct watch *w)
{
	mem_free(w->hosts);
	mem_free(w->good);
}

/* Run on until the subnet rests, looking after each table block that a switch took. */
static void
watch_repair(struct watch *w, struct bed_sm *sm, struct tap *t)
{
	uint64_t blocks = 0, now;
	monotime end_at = loop_now(w->b->loop) + SEC(10);

	(void)t;
	while (loop_now(w->b->loop) < end_at) {
		bool busy = sm->s->stage == SUBNET_PUSH && sm->s->push.step != PUSH_DRAIN_WAIT;

		bed_wait(w->b, busy ? 200 : MSEC(1));
		now = bed_count(w->b, MAD_SET, ATTR_LINEAR_FDB);
		if (now == blocks)
			continue;
		blocks = now;
		watch_look(w);
	}
	assert_true(bed_quiet(sm, BOUND));
}

static void
no_packet_is_lost(const char *fabric, const char *one, const char *other)
{
	struct tap *t;
	struct bed_sm *sm = live(fabric, both, &t);
	struct bed *b = sm->bed;
	uint32_t a = bed_node(b, one), z = bed_node(b, other);
	unsigned port = 1, looks = 0;
	struct watch w;

	while (b->net->nodes[a].ports[port].peer != z)
		port++;
	for (int up = 0; up <= 1; up++) {
		model_link_set(b->m, a, port, up);
		watch_init(&w, b);
		watch_repair(&w, sm, t);
		if (w.lost)
			fail_msg("%s: %s to %s %s: %u pairs lost in %u looks", fabric, one, other,
				 up ? "up" : "down", w.lost, w.looks);
		looks += w.looks;
		watch_free(&w);
		bed_check(sm);
	}
	assert_true(looks > 1);
	end(sm, t);
}

static void
packets_get_through(void **state)
{
	(void)state;
	no_packet_is_lost("ft3 4", "A1_0", "C1");
	no_packet_is_lost("ft3 4", "L2_1", "A2_0");
	no_packet_is_lost("ft2 4 3 3", "L1", "S2");
	no_packet_is_lost("ft2 2 2 4 2", "L1", "S1");
	no_packet_is_lost("mesh 3 3 1 1", "T1_1_0", "T1_2_0");
}

/* A spine goes and returns with all its cables, rebooted or not. */
static void
packets_and_a_spine(const char *fabric, const char *name, bool reboot)
{
	struct tap *t;
	struct bed_sm *sm = live(fabric, both, &t);
	struct bed *b = sm->bed;
	uint32_t sw = bed_node(b, name);
	struct watch w;

	for (int up = 0; up <= 1; up++) {
		for (unsigned p = 1; p <= b->net->nodes[sw].nports; p++)
			model_link_set(b->m, sw, p, up);
		if (reboot && !up)
			model_reboot(b->m, sw);
		watch_init(&w, b);
		watch_repair(&w, sm, t);
		if (w.lost)
			fail_msg("%s: %s %s: %u pairs lost in %u looks", fabric, name,
				 up ? "up" : "down", w.lost, w.looks);
		watch_free(&w);
		bed_check(sm);
	}
	end(sm, t);
}

static void
packets_get_through_while_switches_return(void **state)
{
	(void)state;
	packets_and_a_spine("ft2 3 3 3", "S1", false);
	packets_and_a_spine("ft2 3 3 3", "S1", true);
	packets_and_a_spine("ft3 4", "C2", false);
	packets_and_a_spine("ft3 4", "A2_1", true);
}

/* R1: cables of a random fabric come and go. Losses are allowed where they are announced. */
static void
random_flaps(void **state)
{
	unsigned drains = 0, looks = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 6; seed++) {
		struct tap *t;
		struct bed_sm *sm = live(seed % 2 ? "random 13 4 2 5" : "ft3 4", both, &t);
		struct bed *b = sm->bed;

		for (int i = 0; i < 40; i++) {
			uint32_t sw = bed_next(b, IBNET_SWITCH, 0);
			unsigned port;
			struct watch w;

			for (uint64_t n = loop_random(b->loop) % 13; n; n--)
				sw = bed_next(b, IBNET_SWITCH, sw + 1);
			port = 1 + (unsigned)(loop_random(b->loop) % b->net->nodes[sw].nports);
			if (b->net->nodes[sw].ports[port].peer == sm->node)
				continue;
			bed_forget(sm);
			model_link_set(b->m, sw, port, !model_link_is_up(b->m, sw, port));
			watch_init(&w, b);
			watch_repair(&w, sm, t);
			if (bed_event(sm, EVENT_ROUTED, "together could deadlock"))
				drains++;
			else if (w.lost)
				fail_msg("seed %u, change %d: %u pairs lost in %u looks",
					 (unsigned)seed, i, w.lost, w.looks);
			looks += w.looks;
			watch_free(&w);
			bed_check(sm);
		}
		end(sm, t);
	}
	assert_true(looks > 200);
	assert_true(drains < 60);
}

static bool
is_full(const struct bed_sm *sm)
{
	return strstr(sm->s->plan->note, "routed for what is left") != NULL;
}

/* A cable of a leaf goes or comes back. */
static void
set_cable(struct bed_sm *sm, const char *leaf, unsigned port, bool up)
{
	model_link_set(sm->bed->m, bed_node(sm->bed, leaf), port, up);
	bed_wait(sm->bed, SEC(3));
	assert_true(bed_quiet(sm, BOUND));
	bed_check(sm);
}

/* What reroute --full does lasts until nothing is lost; then the tables are as at first. */
static void
full_until_nothing_is_lost(void **state)
{
	static const char *fattree[] = { "fattree", NULL };
	struct tap *t;
	struct bed_sm *sm = live("ft2 4 4 4", fattree, &t);
	uint16_t top = sm->s->plan->lids->top;
	uint8_t *before = tables(sm->bed, top);
	struct outcome o;

	(void)state;
	reroute(sm, NULL, true, false, &o);
	assert_false(is_full(sm));
	set_cable(sm, "L0", 5, false);
	assert_false(is_full(sm));
	reroute(sm, NULL, true, true, &o);
	assert_int_equal(o.error, 0);
	assert_false(is_full(sm));
	reroute(sm, NULL, true, false, &o);
	assert_int_equal(o.error, 0);
	assert_true(is_full(sm));
	set_cable(sm, "L1", 6, false);
	assert_true(is_full(sm));
	set_cable(sm, "L0", 5, true);
	assert_true(is_full(sm));
	set_cable(sm, "L1", 6, true);
	assert_false(is_full(sm));
	assert_true(tables_are(sm->bed, top, before));
	set_cable(sm, "L1", 6, false);
	assert_false(is_full(sm));
	end(sm, t);
}

/* Ports by which L0 sends to the first hosts of other leaves. */
static unsigned
ways_to_first(const struct bed_sm *sm)
{
	const struct plan *p = sm->s->plan;
	const struct fabric *f = p->fabric;
	uint32_t l0 = fabric_node_by_guid(f, sm->bed->net->nodes[bed_node(sm->bed, "L0")].guid);
	bool used[256] = { false };
	unsigned ways = 0;

	for (uint32_t lid = 1; lid <= p->lids->top; lid++) {
		const struct plan_dest *d = &p->lids->dest[lid];
		uint8_t out = plan_row_port(p->rows[f->nodes[l0].sw], lid);

		if (d->port == FABRIC_NONE || !d->out || d->sw == f->nodes[l0].sw ||
		    !strstr(f->nodes[f->ports[d->port].node].name, "_0"))
			continue;
		ways += !used[out];
		used[out] = true;
	}
	return ways;
}

/* A reload that makes the first host of each leaf storage spreads these over the spines. */
static void
classes_reload(void **state)
{
	static const char *fattree[] = { "fattree", NULL };
	const char *storage[] = { "/_0$/", NULL };
	struct tap *t;
	struct bed_sm *sm = live("ft2 5 4 4", fattree, &t);
	struct config_subnet other = sm->conf;

	(void)state;
	assert_int_equal(ways_to_first(sm), 1);
	other.routing.classes.storage = storage;
	subnet_configure(sm->s, &other, NULL, STAGE_ROUTING);
	bed_wait(sm->bed, SEC(5));
	assert_int_equal(bed_run(sm, BOUND), 1);
	bed_check(sm);
	assert_int_equal(ways_to_first(sm), 4);
	end(sm, t);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refused_engine),
		cmocka_unit_test(engines_follow_each_other),
		cmocka_unit_test(dry_run_changes_nothing),
		cmocka_unit_test(nothing_provable),
		cmocka_unit_test(two_steps),
		cmocka_unit_test(push_stage_alone),
		cmocka_unit_test(live_stage_alone),
		cmocka_unit_test(lids_stage),
		cmocka_unit_test(discover_stage),
		cmocka_unit_test(packets_get_through),
		cmocka_unit_test(packets_get_through_while_switches_return),
		cmocka_unit_test(random_flaps),
		cmocka_unit_test(full_until_nothing_is_lost),
		cmocka_unit_test(classes_reload),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
