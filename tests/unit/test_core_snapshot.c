/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/core/snapshot.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>
#include "tests/unit/core_bed.h"

/*
 * Snapshots that are made bit by bit are those that are made at once, whatever happens in between,
 * and nobody waits for longer than a slice.
 */
#define BOUND SEC(60)
#define WIDE "ft3 16"	/* more ports than a slice looks at */

static struct bed_sm *
up(const char *recipe)
{
	struct bed_sm *sm = bed_up(recipe, 1);

	assert_int_equal(bed_run(sm, BOUND), 1);
	assert_true(bed_quiet(sm, BOUND));
	return sm;
}

/* All that a snapshot says of its nodes, cables and ports. */
static void
same(const struct fabric *a, const struct fabric *b)
{
	assert_int_equal(a->nnodes, b->nnodes);
	assert_int_equal(a->nports, b->nports);
	assert_int_equal(a->nlinks, b->nlinks);
	assert_int_equal(a->nlost, b->nlost);
	assert_int_equal(a->sm_port, b->sm_port);
	for (uint32_t i = 0; i < a->nnodes; i++) {
		assert_true(a->nodes[i].guid == b->nodes[i].guid);
		assert_string_equal(a->nodes[i].name, b->nodes[i].name);
	}
	for (uint32_t i = 0; i < a->nports; i++)
		assert_memory_equal(&a->ports[i], &b->ports[i], sizeof(*a->ports));
}

static unsigned
slices(struct snapshot *sn)
{
	unsigned n = 1;

	while (!snapshot_slice(sn, NULL))
		n++;
	return n;
}

static const struct fabric *
finish(struct snapshot *sn)
{
	return fabric_build(snapshot_end(sn), 7);
}

static void
in_slices(void **state)
{
	struct bed_sm *sm = up(WIDE);
	struct topo *t = &sm->s->topo;
	struct snapshot *sn = snapshot_new(t);
	const struct fabric *whole = snapshot_take(t, NULL, 7), *f;
	unsigned n = slices(sn);

	(void)state;
	f = finish(sn);
	same(f, whole);
	/* For devices and for cables; a slice is a switch too long at most. */
	assert_in_range(n, 2 * whole->nports / (SNAPSHOT_SLICE + 17), 20);
	assert_true(n > 2);
	fabric_unref(f);
	fabric_unref(whole);
	bed_free(sm->bed);
}

/* A cable and a device go after devices were collected. */
static void
changed_between(void **state)
{
	struct bed_sm *sm = up("ft3 4");
	struct topo *t = &sm->s->topo;
	struct snapshot *sn = snapshot_new(t);
	uint64_t guid = sm->bed->net->nodes[bed_next(sm->bed, IBNET_SWITCH, 0)].guid;
	struct device *d = topo_find(t, guid);
	const struct fabric *whole, *f;
	uint32_t before;

	(void)state;
	assert_non_null(d);
	before = sm->s->plan->fabric->nlinks;
	assert_false(snapshot_slice(sn, NULL));
	for (unsigned n = 1; n <= d->info.num_ports; n++)
		topo_unlink(t, &d->ports[n]);
	whole = snapshot_take(t, NULL, 7);
	assert_in_range(whole->nlinks, before - 4, before - 1);
	slices(sn);
	f = finish(sn);
	same(f, whole);
	fabric_unref(f);

	sn = snapshot_new(t);
	assert_false(snapshot_slice(sn, NULL));
	topo_remove(t, sm->s->transact, d);
	fabric_unref(whole);
	whole = snapshot_take(t, NULL, 7);
	slices(sn);
	f = finish(sn);
	same(f, whole);
	assert_int_equal(f->nnodes, sm->s->plan->fabric->nnodes - 1);
	fabric_unref(f);
	fabric_unref(whole);
	bed_free(sm->bed);
}

/* One that nobody waits for any more. */
static void
let_go(void **state)
{
	struct bed_sm *sm = up("ft3 4");
	struct snapshot *sn = snapshot_new(&sm->s->topo);

	(void)state;
	assert_false(snapshot_slice(sn, NULL));
	snapshot_free(sn);
	snapshot_free(NULL);
	bed_free(sm->bed);
}

/* After programming the ports' states are those of the devices. */
static void
states(void **state)
{
	struct bed_sm *sm = up(WIDE);
	struct topo *t = &sm->s->topo;
	const struct fabric *whole = snapshot_take(t, NULL, 7), *f;
	struct snapshot_states *st = snapshot_states_new(whole);
	struct device *own = t->own;
	uint32_t port;
	unsigned n = 1;

	(void)state;
	/* What up() has left published is what ports say: all cables carry traffic. */
	for (uint32_t i = 0; i < sm->s->plan->fabric->nports; i++)
		if (sm->s->plan->fabric->ports[i].peer != FABRIC_NONE)
			assert_int_equal(sm->s->plan->fabric->ports[i].state, PORT_ACTIVE);
	own->ports[t->own_port].info.state = PORT_ARMED;
	while (!snapshot_states_slice(st, t))
		n++;
	assert_true(n > 1);
	f = snapshot_states_end(st, 8);
	port = f->nodes[fabric_node_by_guid(f, own->guid)].first_port + t->own_port;
	assert_int_equal(f->ports[port].state, PORT_ARMED);
	assert_int_equal(whole->ports[port].state, PORT_ACTIVE);
	assert_int_equal(f->ports[port].peer, whole->ports[port].peer);
	assert_int_equal(f->nlinks, whole->nlinks);
	fabric_unref(f);
	fabric_unref(whole);
	snapshot_states_free(snapshot_states_new(sm->s->plan->fabric));
	bed_free(sm->bed);
}

/* ---- The stages that are made of them ---- */

struct watcher {
	struct bed_sm *sm;		/* what is watched */
	struct loop_timer *timer;	/* fires between turns of the loop */
	unsigned turns[SUBNET_PORTS + 1];	/* seen in each stage */
	unsigned left;			/* turns until the loop stops; 0: it does not */
	bool done;			/* the command is answered */
};

static void
look(void *arg)
{
	struct watcher *w = arg;
	/* At every turn until the planner runs: from then on time must pass. */
	bool all = w->sm->s->stage == SUBNET_ROUTE && !w->sm->s->job;

	w->turns[w->sm->s->stage]++;
	if (w->left && !--w->left)
		loop_stop(w->sm->bed->loop);
	if (!w->done)
		loop_timer_set(w->timer, all ? 0 : USEC(100));
}

static void
answered(void *arg, int err, const char *text, const struct change_report *report)
{
	struct watcher *w = arg;

	(void)text;
	(void)report;
	assert_int_equal(err, 0);
	w->done = true;
}

/* While a command routes what is known others have turns, more than one for each step. */
static void
turns_between(void **state)
{
	struct bed_sm *sm = up(WIDE);
	struct watcher w = { .sm = sm };
	struct change c = { .kind = CHANGE_ROUTE, .dry_run = true };
	struct error e;

	(void)state;
	w.timer = loop_timer_new(sm->bed->loop, look, &w);
	loop_timer_set(w.timer, 0);
	assert_int_equal(subnet_change(sm->s, &c, answered, &w, &e), 0);
	assert_false(w.done);
	loop_run_until(sm->bed->loop, loop_now(sm->bed->loop) + BOUND, &w.done);
	assert_true(w.done);
	/* Slices of the snapshot, its building, the planner's start. */
	assert_true(w.turns[SUBNET_ROUTE] >= 6);
	loop_timer_free(w.timer);
	bed_free(sm->bed);
}

/* The daemon ends in the middle: after so many turns of the loop. */
static void
ends_between(void **state)
{
	(void)state;
	for (unsigned turns = 1; turns < 12; turns++) {
		struct bed_sm *sm = up("ft3 4");
		struct watcher w = { .sm = sm, .left = turns };
		struct change c = { .kind = CHANGE_ROUTE };
		struct error e;

		assert_int_equal(subnet_change(sm->s, &c, answered, &w, &e), 0);
		w.timer = loop_timer_new(sm->bed->loop, look, &w);
		loop_timer_set(w.timer, 0);
		loop_run_until(sm->bed->loop, loop_now(sm->bed->loop) + BOUND, &w.done);
		loop_timer_cancel(w.timer);
		if (!w.done)
			sm->s->reroute.done = NULL;	/* nobody listens any more */
		bed_stop(sm);
		bed_wait(sm->bed, SEC(1));
		loop_timer_free(w.timer);
		bed_free(sm->bed);
	}
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_slices),
		cmocka_unit_test(changed_between),
		cmocka_unit_test(let_go),
		cmocka_unit_test(states),
		cmocka_unit_test(turns_between),
		cmocka_unit_test(ends_between),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
