/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Service levels and lanes of engines that tell classes of paths apart: what hosts are to use, what
 * switches are given, and that the proof is of these tables.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "qos/compose.h"
#include "routing/check.h"
#include "tests/unit/route_help.h"

#define RING 5u		/* switches, port 1 clockwise, port 2 back, host on port 3 */
#define HOST_VL_CAP 2	/* two lanes */

struct ring {
	struct fabric *f;		/* the snapshot */
	struct plan_lids *lids;		/* hosts 1..RING, switches behind */
	struct plan_row *rows[RING];	/* the short way round */
	struct plan_lanes lanes;	/* of the engine */
	struct compose_input in;	/* one level on 4 lanes */
	struct error e;			/* of the last call */
};

/* Does the short way between two switches cross the date line? */
static uint8_t
crosses(const struct plan_lanes *l, uint32_t a, uint32_t b)
{
	uint32_t low = a < b ? a : b, high = a < b ? b : a;

	(void)l;
	return high - low > RING / 2;
}

/* A class keeps to its lane all the way. */
static uint8_t
by_class(const struct plan_lanes *l, uint32_t sw, uint8_t in, uint8_t out, uint8_t class)
{
	(void)l;
	(void)sw;
	(void)in;
	(void)out;
	return class;
}

static struct fabric *
ring_fabric(uint8_t vl_cap)
{
	struct fabric_builder *b = fabric_builder_new();
	struct fabric_port p = { .state = PORT_ACTIVE, .rate_mbps = 100000, .vl_cap = vl_cap };
	struct fabric_port host = { .guid = 1, .state = PORT_ACTIVE, .vl_cap = HOST_VL_CAP };
	static const char *const names[RING] = { "A", "B", "C", "D", "E" };
	uint32_t sw[RING];

	for (unsigned i = 0; i < RING; i++) {
		sw[i] = help_switch(b, 0x10 + i, 3, names[i]);
		for (unsigned n = 1; n <= 3; n++)
			fabric_add_port(b, sw[i], n, &p);
	}
	for (unsigned i = 0; i < RING; i++) {
		fabric_add_link(b, sw[i], 1, sw[(i + 1) % RING], 2);
		fabric_add_port(b, help_host(b, 0x100 + 0x10 * i, "h", sw[i], 3), 1, &host);
	}
	return fabric_build(b, 1);
}

static void
ring_open(struct ring *r, uint8_t vl_cap)
{
	*r = (struct ring){ .f = ring_fabric(vl_cap) };
	r->lids = plan_lids_new(r->f);
	for (uint32_t i = 0, host = 0; i < r->f->nnodes; i++) {
		const struct fabric_node *n = &r->f->nodes[i];

		if (n->sw == FABRIC_NONE)
			r->lids->base[n->first_port + 1] = (uint16_t)++host;
		else
			r->lids->base[n->first_port] = (uint16_t)(RING + 1 + n->sw);
	}
	plan_lids_index(r->lids, r->f);
	for (uint32_t sw = 0; sw < RING; sw++) {
		r->rows[sw] = plan_row_new(r->lids->top);
		for (uint32_t lid = 1; lid <= r->lids->top; lid++) {
			uint32_t far = (r->lids->dest[lid].sw + RING - sw) % RING;

			plan_row_set(&r->rows[sw], lid, far == 0 ? r->lids->dest[lid].out :
				     far <= RING / 2 ? 1 : 2);
		}
	}
	r->lanes = (struct plan_lanes){ .refs = 1, .classes = 2, .lanes = 2,
					.path_class = crosses, .lane = by_class };
	r->in = (struct compose_input){ .fabric = r->f, .lids = r->lids, .lanes = &r->lanes,
					.engine = "ring", .levels = 1, .max_vls = 8 };
}

static void
ring_close(struct ring *r)
{
	for (uint32_t sw = 0; sw < RING; sw++)
		plan_row_unref(r->rows[sw]);
	plan_lids_unref(r->lids);
	fabric_unref(r->f);
}

/* The proof of the rows by the tables. */
static int
prove(struct ring *r, struct plan_sls *s, struct plan_check *report)
{
	struct plan_lanes *view = s ? plan_sls_lanes(s, &r->lanes, r->lids) : NULL;
	struct check_input in = { .fabric = r->f, .lids = r->lids, .rows = r->rows,
				  .lanes = view, .threads = 1 };
	int rc = check_routing(&in, report);

	plan_lanes_unref(view);
	return rc;
}

static void
test_ring(void **state)
{
	struct plan_sls *s = NULL;
	struct plan_lanes *view;
	struct plan_check report;
	struct ring r;

	(void)state;
	ring_open(&r, 3);
	assert_int_equal(prove(&r, NULL, &report), ERR_REFUSED);
	assert_int_equal(report.credit_loops, 1);
	assert_true(compose_needed(&r.in));
	if (compose(&r.in, &s, &r.e))
		fail_msg("%s", r.e.text);
	assert_int_equal(prove(&r, s, &report), 0);
	assert_int_equal(s->sl[0], 0);
	assert_int_equal(s->sl[1], 15);
	assert_int_equal(plan_sls_map(s, 2, 2, 1)->vl[0], 0);
	assert_int_equal(plan_sls_map(s, 2, 2, 1)->vl[15], 1);
	for (unsigned sl = 1; sl < 15; sl++)
		assert_int_equal(plan_sls_map(s, 2, 2, 1)->vl[sl], SLS_DROP);
	/* To hosts the level counts, not the class. */
	assert_int_equal(plan_sls_map(s, 2, 2, 3)->vl[15], 0);
	assert_int_equal(plan_sls_host_map(s, 4).vl[15], 0);
	assert_int_equal(plan_sls_host_map(s, 4).vl[7], SLS_DROP);
	view = plan_sls_lanes(s, &r.lanes, r.lids);
	assert_int_equal(view->path_class(view, 0, 2), 0);
	assert_int_equal(view->path_class(view, 1, 4), 15);
	assert_int_equal(view->path_classes(view, 1, 5), 1u << 15);
	plan_lanes_unref(view);
	/* The proof is of the tables: one wrong map in one switch is a credit loop again. */
	s->maps[s->at[s->first[0] + 2 * 4 + 1]].vl[15] = 0;
	assert_int_equal(prove(&r, s, &report), ERR_REFUSED);
	assert_int_equal(report.credit_loops, 1);
	plan_sls_unref(s);
	ring_close(&r);
}

/* SLs that were given out under other rules are proved too, or known not to be. */
static void
test_stale(void **state)
{
	struct plan_sls *s = NULL;
	struct plan_check report;
	struct ring r;

	(void)state;
	ring_open(&r, 3);
	r.in.given = 1;				/* SL 0 for every pair */
	if (compose(&r.in, &s, &r.e))
		fail_msg("%s", r.e.text);
	s->stale_proved = true;
	assert_int_equal(prove(&r, s, &report), ERR_REFUSED);
	assert_int_equal(report.credit_loops, 1);
	s->stale_proved = false;
	assert_int_equal(prove(&r, s, &report), 0);
	plan_sls_unref(s);
	ring_close(&r);
}

static void
test_levels(void **state)
{
	struct plan_sls *s = NULL;
	struct plan_check report;
	struct ring r;

	(void)state;
	ring_open(&r, 4);			/* 8 lanes */
	r.in.levels = 3;
	if (compose(&r.in, &s, &r.e))
		fail_msg("%s", r.e.text);
	assert_int_equal(prove(&r, s, &report), 0);
	for (unsigned level = 0; level < 3; level++) {
		assert_int_equal(s->sl[level * 2], level);
		assert_int_equal(s->sl[level * 2 + 1], 15 - level);
		assert_int_equal(plan_sls_map(s, 1, 3, 1)->vl[level], 2 * level);
		assert_int_equal(plan_sls_map(s, 1, 3, 1)->vl[15 - level], 2 * level + 1);
		assert_int_equal(plan_sls_host_map(s, 4).vl[level], level == 2 ? 3 : 2 * level);
		/* The link to a host runs no more lanes than the host. */
		assert_int_equal(plan_sls_map(s, 1, 1, 3)->vl[level], level ? 1 : 0);
	}
	plan_sls_unref(s);
	ring_close(&r);
}

static void
refused(struct ring *r, const char *part)
{
	struct plan_sls *s = NULL;

	r->e.text[0] = 0;
	assert_int_equal(compose(&r->in, &s, &r->e), ERR_REFUSED);
	assert_null(s);
	if (!strstr(r->e.text, part))
		fail_msg("%s", r->e.text);
}

static void
test_refused(void **state)
{
	struct ring r;

	(void)state;
	ring_open(&r, 2);			/* 2 lanes */
	r.in.levels = 2;
	refused(&r, "together 4: the link at A, port 1, runs 2");
	r.in.levels = 9;
	refused(&r, "2 classes of paths apart on each of 9 levels of service, which are 18");
	r.in.levels = 1;
	r.in.max_vls = 1;
	refused(&r, "port 1, runs 1 (max_op_vls)");
	r.in.max_vls = 8;
	r.lanes.lanes = 1;
	refused(&r, "at A engine ring wants packets from port 0 to port 1 on lanes that are not "
		"among its 1");
	ring_close(&r);
}

/* Given service levels and lanes, and the rest around them. */
static void
test_given(void **state)
{
	static const struct compose_level level[] = {
		{ "bulk", SLS_FREE, SLS_FREE }, { "latency", 0, 4 }, { "storage", 15, SLS_FREE },
		{ "also", 3, 4 },
	};
	/* By level: SLs of class 0 and 1, first lane. */
	static const uint8_t want[][3] = {
		{ 1, 14, 0 }, { 0, 13, 4 }, { 15, 12, 2 }, { 3, 11, 4 },
	};
	struct plan_sls *s = NULL;
	struct plan_check report;
	struct ring r;

	(void)state;
	ring_open(&r, 4);			/* 8 lanes */
	r.in.level = level;
	r.in.levels = 4;
	if (compose(&r.in, &s, &r.e))
		fail_msg("%s", r.e.text);
	assert_int_equal(prove(&r, s, &report), 0);
	for (unsigned q = 0; q < 4; q++) {
		assert_int_equal(s->sl[2 * q], want[q][0]);
		assert_int_equal(s->sl[2 * q + 1], want[q][1]);
		assert_int_equal(s->vl[q], want[q][2]);
		assert_int_equal(plan_sls_map(s, 1, 3, 1)->vl[want[q][0]], want[q][2]);
		assert_int_equal(plan_sls_map(s, 1, 3, 1)->vl[want[q][1]], want[q][2] + 1);
	}
	assert_int_equal(s->vls, 6);
	assert_string_equal(s->merged, "");
	plan_sls_unref(s);
	ring_close(&r);
}

static void
test_given_wrong(void **state)
{
	static const struct compose_level overlap[] = {
		{ "a", SLS_FREE, 1 }, { "b", SLS_FREE, 2 },
	};
	static const struct compose_level none[] = { { "a", 3, SLS_FREE } };
	struct ring r;

	(void)state;
	ring_open(&r, 4);
	r.in.level = overlap;
	r.in.levels = 2;
	refused(&r, "those of level a from 1 on and those of level b from 2 on overlap");
	r.in.level = none;
	r.in.levels = 1;
	refused(&r, "no level of service has service level 0");
	ring_close(&r);
}

/* What nobody has, 0 among them, goes with the first level, between switches as to hosts. */
static void
test_given_not_0(void **state)
{
	static const struct compose_level level[] = { { "a", 3, 2 }, { "b", 4, SLS_FREE } };
	const struct sls_map *m;
	struct plan_sls *s = NULL;
	struct ring r;

	(void)state;
	ring_open(&r, 4);
	r.in.lanes = NULL;
	r.in.level = level;
	r.in.levels = 2;
	assert_int_equal(compose(&r.in, &s, &r.e), 0);
	m = plan_sls_map(s, 0, 3, 1);
	assert_int_equal(m->vl[0], 2);
	assert_int_equal(m->vl[3], 2);
	assert_int_equal(m->vl[4], 0);
	assert_int_equal(m->vl[15], 2);
	assert_int_equal(plan_sls_map(s, 0, 1, 3)->vl[0], 1);	/* the last of two */
	plan_sls_unref(s);
	ring_close(&r);
}

/* Too little for all: the last ones share, if they may. */
static void
test_merged(void **state)
{
	struct compose_level level[9];
	struct plan_sls *s = NULL;
	struct plan_check report;
	struct ring r;

	(void)state;
	for (unsigned i = 0; i < 9; i++) {
		static const char *const names[] = { "a", "b", "c", "d", "e", "f", "g", "h", "i" };

		level[i] = (struct compose_level){ names[i], SLS_FREE, SLS_FREE };
	}
	ring_open(&r, 3);			/* 4 lanes */
	r.in.level = level;
	r.in.levels = 3;
	refused(&r, "up to those of level c (qos.merge lets levels share): the link at A, port 1, "
		"runs 4");
	r.in.merge = true;
	if (compose(&r.in, &s, &r.e))
		fail_msg("%s", r.e.text);
	assert_int_equal(prove(&r, s, &report), 0);
	assert_int_equal(s->vls, 4);
	assert_int_equal(s->vl[2], 2);
	assert_int_equal(s->sl[4], 2);
	assert_string_equal(s->merged, "level c shares the lanes of b");
	plan_sls_unref(s);
	r.in.levels = 9;
	if (compose(&r.in, &s, &r.e))
		fail_msg("%s", r.e.text);
	assert_int_equal(s->levels, 8);
	assert_int_equal(s->place[8], 7);
	assert_int_equal(strncmp(s->merged, "level i has the service level of h", 34), 0);
	plan_sls_unref(s);
	ring_close(&r);
}

/* One class and one lane: any SL will do, and nothing need be written. */
static void
test_plain(void **state)
{
	struct plan_sls *s = NULL;
	struct ring r;

	(void)state;
	ring_open(&r, 3);
	r.in.lanes = NULL;
	assert_false(compose_needed(&r.in));
	r.in.levels = 2;
	assert_true(compose_needed(&r.in));
	if (compose(&r.in, &s, &r.e))
		fail_msg("%s", r.e.text);
	for (unsigned sl = 0; sl < SLS_LEN; sl++)
		assert_int_equal(plan_sls_map(s, 0, 3, 1)->vl[sl], sl == 1);
	plan_sls_unref(s);
	ring_close(&r);
}

/* The ring as a plan of its own. */
static struct plan *
ring_plan(struct ring *r, const struct plan *previous)
{
	struct compose_policy policy = { .levels = 1, .max_vls = 8, .previous = previous };
	struct plan *p = plan_new(r->f);

	p->lids = plan_lids_ref(r->lids);
	if (compose_chain(&policy, p, "ring", &r->lanes, &p->sls, &r->e))
		fail_msg("%s", r->e.text);
	p->lanes = plan_sls_lanes(p->sls, &r->lanes, p->lids);
	snprintf(p->engine_running, sizeof(p->engine_running), "ring");
	return p;
}

/* Hosts send to the LIDs that they were told, on the levels of the ways that these were for, when
 * these are others' already. */
static void
test_lids_change(void **state)
{
	struct plan *old, *new;
	struct ring r;

	(void)state;
	ring_open(&r, 3);
	old = ring_plan(&r, NULL);
	assert_int_equal(old->sls->stale, 0);
	new = ring_plan(&r, old);
	assert_int_equal(new->sls->stale, 0);
	plan_unref(new);
	/* One that nobody had is nobody's loss. */
	plan_lids_unref(r.lids);
	r.lids = plan_lids_new(r.f);
	memcpy(r.lids->base, old->lids->base, r.f->nports * sizeof(*r.lids->base));
	for (uint32_t i = 0; i < r.f->nports; i++)
		if (r.lids->base[i] == 1)
			r.lids->base[i] = 2 * RING + 1;
	plan_lids_index(r.lids, r.f);
	new = ring_plan(&r, old);
	assert_int_equal(new->sls->stale, 0);
	plan_unref(new);
	/* The hosts at A and B change LIDs: from E it is class 0 to the one, 1 to the other. */
	for (uint32_t i = 0; i < r.f->nports; i++)
		r.lids->base[i] = r.lids->base[i] == 2 * RING + 1 ? 2 :
			r.lids->base[i] == 2 ? 1 : r.lids->base[i];
	plan_lids_index(r.lids, r.f);
	new = ring_plan(&r, old);
	assert_int_equal(new->sls->stale, 1u << 0 | 1u << 15);
	plan_unref(new);
	plan_unref(old);
	ring_close(&r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ring), cmocka_unit_test(test_stale),
		cmocka_unit_test(test_levels), cmocka_unit_test(test_refused),
		cmocka_unit_test(test_given),
		cmocka_unit_test(test_given_wrong),
		cmocka_unit_test(test_given_not_0),
		cmocka_unit_test(test_merged),
		cmocka_unit_test(test_plain), cmocka_unit_test(test_lids_change),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
