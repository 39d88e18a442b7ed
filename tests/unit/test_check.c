/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include "routing/check.h"
#include "tests/unit/engine_help.h"

/*
 * The proof against tables made by hand, whose faults are known, and against a second, naive
 * implementation of it on small random fabrics with random tables.
 */

/* A ring of n switches A, B, C ...: port 1 leads on, port 2 back, a host on port 3. Hosts have LIDs
 * 1..n, the switches' own are n+1..2n. */
static struct fabric *
ring(uint32_t n)
{
	static const char *const names[] = { "A", "B", "C", "D", "E", "F" };
	struct fabric_builder *b = fabric_builder_new();

	for (uint32_t i = 0; i < n; i++)
		help_switch(b, i + 1, 3, names[i]);
	for (uint32_t i = 0; i < n; i++) {
		help_cable(b, i, 1, (i + 1) % n, 2, 100000);
		help_host(b, 0x100 * (i + 1), "host", i, 3);
	}
	return fabric_build(b, 1);
}

struct tables {
	struct fabric *f;		/* held */
	struct plan_lids *lids;		/* held */
	struct plan_row *rows[8];	/* by switch */
	struct check_input in;		/* ready for the checker */
};

/* Tables for the ring as if the cable from switch `cut` on were not there; n: all go onwards. */
static void
ring_tables(struct tables *t, uint32_t n, uint32_t cut)
{
	t->f = ring(n);
	t->lids = help_lids(t->f, 0);
	for (uint32_t sw = 0; sw < n; sw++) {
		t->rows[sw] = plan_row_new(t->lids->top);
		for (uint32_t lid = 1; lid <= 2 * n; lid++) {
			uint32_t to = (lid - 1) % n, ahead = (to + n - sw) % n;
			bool on = cut == n || (cut + n - sw) % n >= ahead;

			if (to == sw)
				plan_row_set(&t->rows[sw], lid, lid <= n ? 3 : 0);
			else
				plan_row_set(&t->rows[sw], lid, on ? 1 : 2);
		}
	}
	t->in = (struct check_input){
		.fabric = t->f, .lids = t->lids, .rows = t->rows, .threads = 1,
	};
}

static void
tables_free(struct tables *t)
{
	for (uint32_t sw = 0; sw < t->f->nswitches; sw++)
		plan_row_unref(t->rows[sw]);
	plan_lids_unref(t->lids);
	fabric_unref(t->f);
}

static void
test_good(void **state)
{
	struct plan_check r;
	struct tables t;

	(void)state;
	ring_tables(&t, 4, 3);
	assert_int_equal(check_routing(&t.in, &r), 0);
	assert_int_equal(r.pairs, 12);
	assert_int_equal(r.unreachable + r.cut_off + r.loops + r.holes + r.misdelivered, 0);
	assert_int_equal(r.credit_loops, 0);
	assert_int_equal(r.max_hops, 4);
	/* A line of four: 6 ordered pairs at 2 switches, 4 at 3, 2 at 4. */
	assert_true(r.mean_hops > 32.0 / 12 - 1e-9 && r.mean_hops < 32.0 / 12 + 1e-9);
	assert_string_equal(r.first, "");
	assert_string_equal(r.cycle, "");
	tables_free(&t);
}

static void
test_credit_loop(void **state)
{
	struct plan_check r;
	struct tables t;

	(void)state;
	ring_tables(&t, 3, 3);
	assert_int_equal(check_routing(&t.in, &r), ERR_REFUSED);
	assert_int_equal(r.unreachable, 0);
	assert_int_equal(r.credit_loops, 1);
	assert_string_equal(r.cycle, "A/1 > B/1 > C/1 > A/1");
	assert_non_null(strstr(r.first, "credit loop"));
	tables_free(&t);
}

static void
test_faults(void **state)
{
	struct plan_check r;
	struct tables t;

	(void)state;
	ring_tables(&t, 4, 3);
	/* C does not know D's host: A, B, C are cut off. */
	plan_row_set(&t.rows[2], 4, LFT_NO_PORT);
	assert_int_equal(check_routing(&t.in, &r), ERR_REFUSED);
	assert_int_equal(r.holes, 1);
	assert_int_equal(r.unreachable, 3);
	assert_int_equal(r.loops, 0);
	assert_non_null(strstr(r.first, "LID 4"));
	assert_non_null(strstr(r.first, "C"));
	plan_row_set(&t.rows[2], 4, 2);			/* C sends it back to B, B to C, A to B */
	assert_int_equal(check_routing(&t.in, &r), ERR_REFUSED);
	assert_int_equal(r.holes, 0);
	assert_int_equal(r.loops, 3);
	assert_int_equal(r.unreachable, 3);
	plan_row_set(&t.rows[2], 4, 3);			/* C gives it to its own host */
	assert_int_equal(check_routing(&t.in, &r), ERR_REFUSED);
	assert_int_equal(r.misdelivered, 1);
	assert_int_equal(r.unreachable, 3);
	plan_row_set(&t.rows[2], 4, 0);			/* C keeps it */
	assert_int_equal(check_routing(&t.in, &r), ERR_REFUSED);
	assert_int_equal(r.misdelivered, 1);
	plan_row_set(&t.rows[2], 4, 200);		/* there is no such port */
	assert_int_equal(check_routing(&t.in, &r), ERR_REFUSED);
	assert_int_equal(r.misdelivered, 1);
	plan_row_set(&t.rows[2], 4, 1);
	plan_row_set(&t.rows[3], 7, 1);	/* C's own LID: D sends it on to A, A to B, B to C */
	assert_int_equal(check_routing(&t.in, &r), 0);
	plan_row_set(&t.rows[2], 5, 1);	/* A's own LID: C sends it on to D, D to A */
	plan_row_set(&t.rows[3], 5, 1);
	assert_int_equal(check_routing(&t.in, &r), ERR_REFUSED);
	assert_int_equal(r.unreachable + r.holes + r.loops + r.misdelivered, 0);
	assert_int_equal(r.credit_loops, 1);
	tables_free(&t);
}

static void
test_union(void **state)
{
	struct plan_check r;
	struct tables x, y;

	(void)state;
	ring_tables(&x, 4, 3);
	ring_tables(&y, 4, 1);
	assert_int_equal(check_routing(&x.in, &r), 0);
	assert_int_equal(check_routing(&y.in, &r), 0);
	x.in.also = x.rows;
	assert_int_equal(check_union(&x.in, &r), 0);
	/* LIDs at C: by x, A sends them to B; by y, B sends them to A. */
	x.in.also = y.rows;
	assert_int_equal(check_union(&x.in, &r), ERR_REFUSED);
	assert_string_equal(r.cycle, "A/1 > B/2 > A/1");
	assert_int_equal(check_routing(&x.in, &r), ERR_REFUSED);
	assert_int_equal(r.unreachable, 0);
	tables_free(&x);
	tables_free(&y);
}

/* Packets change to lane 1 where they have crossed from D to A: the classical cure of a ring. A
 * switch knows it by the class, which is where they go. */
static uint8_t
dateline(const struct plan_lanes *l, uint32_t sw, uint8_t in, uint8_t out, uint8_t class)
{
	(void)l;
	(void)in;
	(void)out;
	return sw < class;
}

static uint8_t
destination(const struct plan_lanes *l, uint32_t src_sw, uint32_t dst_sw)
{
	(void)l;
	(void)src_sw;
	return (uint8_t)dst_sw;
}

/* A lane that does not depend on the way cures nothing. */
static uint8_t
lane_zero(const struct plan_lanes *l, uint32_t sw, uint8_t in, uint8_t out, uint8_t class)
{
	(void)l;
	(void)sw;
	(void)in;
	(void)out;
	(void)class;
	return 0;
}

static void
test_lanes(void **state)
{
	struct plan_lanes lanes = { .refs = 1, .classes = 4, .lanes = 2,
				    .path_class = destination, .lane = dateline };
	struct plan_check r;
	struct tables t;

	(void)state;
	ring_tables(&t, 4, 4);
	assert_int_equal(check_routing(&t.in, &r), ERR_REFUSED);
	t.in.lanes = &lanes;
	assert_int_equal(check_routing(&t.in, &r), 0);
	lanes.lane = lane_zero;
	assert_int_equal(check_routing(&t.in, &r), ERR_REFUSED);
	assert_string_equal(r.cycle, "A/1 VL 0 > B/1 VL 0 > C/1 VL 0 > D/1 VL 0 > A/1 VL 0");
	tables_free(&t);
}

/* Hosts back to back, alone, and in another part: no fault of the tables. */
static void
test_cut_off(void **state)
{
	struct fabric_builder *b = fabric_builder_new();
	uint32_t s = help_switch(b, 1, 3, "s"), t = help_switch(b, 2, 3, "t"), x, y;
	struct plan_row *rows[2];
	struct plan_lids *l;
	struct plan_check r;
	struct fabric *f;

	(void)state;
	help_host(b, 0x10, "h1", s, 1);
	help_host(b, 0x20, "h2", s, 2);
	help_host(b, 0x30, "h3", t, 1);
	x = help_node(b, NODE_CA, 0x40, 1, "x");
	y = help_node(b, NODE_CA, 0x50, 1, "y");
	fabric_add_link(b, x, 1, y, 1);
	help_node(b, NODE_CA, 0x60, 1, "alone");
	f = fabric_build(b, 1);
	l = plan_lids_new(f);
	for (uint16_t i = 1; i <= 6; i++)
		l->base[fabric_port_by_guid(f, 0x10u * i + 1)] = i;
	plan_lids_index(l, f);
	rows[0] = plan_row_new(6);
	rows[1] = plan_row_new(6);
	plan_row_set(&rows[0], 1, 1);
	plan_row_set(&rows[0], 2, 2);
	plan_row_set(&rows[1], 3, 1);
	assert_int_equal(check_routing(&(struct check_input){
		.fabric = f, .lids = l, .rows = rows,
	}, &r), 0);
	assert_int_equal(r.pairs, 30);
	assert_int_equal(r.cut_off, 30 - 2 - 2);
	assert_int_equal(r.unreachable, 0);
	assert_int_equal(r.max_hops, 1);
	plan_row_unref(rows[0]);
	plan_row_unref(rows[1]);
	plan_lids_unref(l);
	fabric_unref(f);
}

/* 200 switches in a line: longer ways than a ladder counts are walked. */
static void
test_line(void **state)
{
	enum { N = 200 };
	struct fabric_builder *b = fabric_builder_new();
	struct plan_row *rows[N];
	struct plan_lids *l;
	struct plan_check r;
	struct fabric *f;

	(void)state;
	for (uint32_t i = 0; i < N; i++)
		help_switch(b, i + 1, 3, "s");
	for (uint32_t i = 0; i + 1 < N; i++)
		help_cable(b, i, 1, i + 1, 2, 100000);
	help_host(b, 0x1000, "first", 0, 3);
	help_host(b, 0x2000, "last", N - 1, 3);
	f = fabric_build(b, 1);
	l = help_lids(f, 0);
	for (uint32_t sw = 0; sw < N; sw++) {
		rows[sw] = plan_row_new(l->top);
		for (uint32_t lid = 1; lid <= l->top; lid++) {
			uint32_t to = l->dest[lid].sw;

			plan_row_set(&rows[sw], lid, to == sw ? l->dest[lid].out : to > sw ? 1 : 2);
		}
	}
	assert_int_equal(check_routing(&(struct check_input){
		.fabric = f, .lids = l, .rows = rows, .threads = 2,
	}, &r), 0);
	assert_int_equal(r.max_hops, N);
	assert_true(r.mean_hops > N - 1e-9 && r.mean_hops < N + 1e-9);
	plan_row_set(&rows[N / 2], 1, 1);
	assert_int_equal(check_routing(&(struct check_input){
		.fabric = f, .lids = l, .rows = rows, .threads = 2,
	}, &r), ERR_REFUSED);
	assert_int_equal(r.unreachable, 1);
	assert_int_equal(r.loops, N / 2);	/* it, the next one, and all behind that */
	for (uint32_t sw = 0; sw < N; sw++)
		plan_row_unref(rows[sw]);
	plan_lids_unref(l);
	fabric_unref(f);
}

static uint64_t seed;

static uint32_t
any(uint32_t below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(seed >> 33) % below;
}

/* 2..6 switches of 6 ports with random cables and hosts, in one or more parts. */
static struct fabric *
random_fabric(void)
{
	struct fabric_builder *b = fabric_builder_new();
	uint32_t n = 2 + any(5);
	bool used[6][7] = { { false } };

	for (uint32_t i = 0; i < n; i++)
		help_switch(b, i + 1, 6, "s");
	for (uint32_t i = 0; i < n * 3; i++) {
		uint32_t x = any(n), y = any(n), p = 1 + any(6), q = 1 + any(6);

		if (used[x][p] || used[y][q] || (x == y && p == q))
			continue;
		used[x][p] = used[y][q] = true;
		help_cable(b, x, p, y, q, 100000);
	}
	for (uint32_t i = 0; i < n * 2; i++) {
		uint32_t x = any(n), p = 1 + any(6);

		if (!used[x][p])
			help_host(b, 0x100 * (i + 1), "h", x, p);
		used[x][p] = true;
	}
	return fabric_build(b, 1);
}

enum { MAX_PORTS = 128 };

/* The naive proof: channels are port indices, every walk starts afresh. */
struct naive {
	struct plan_check r;			/* counts */
	bool wait[MAX_PORTS][MAX_PORTS];	/* closure of the dependencies */
};

/* One walk; returns the switches passed, or a negative fate: -1 loop, -2 hole, -3 wrong exit. */
static int
naive_walk(struct naive *n, const struct fabric *f, const struct plan_lids *l,
	   struct plan_row **rows, uint32_t sw, uint32_t lid)
{
	uint32_t before = FABRIC_NONE;

	for (int hops = 1; hops < 20; hops++) {
		uint8_t out = plan_row_port(rows[sw], lid);
		uint32_t port = f->nodes[f->switches[sw]].first_port + out;

		if (out == LFT_NO_PORT)
			return -2;
		if (out == 0)
			return l->dest[lid].port == port ? hops : -3;
		if (out > 6 || f->ports[port].peer == FABRIC_NONE)
			return -3;
		if (f->ports[port].peer == l->dest[lid].port)
			return hops;
		if (f->nodes[f->ports[f->ports[port].peer].node].type != NODE_SWITCH)
			return -3;
		if (before != FABRIC_NONE)
			n->wait[before][port] = true;
		before = port;
		sw = f->nodes[f->ports[f->ports[port].peer].node].sw;
	}
	return -1;
}

static void
naive_closure(struct naive *n, uint32_t nports)
{
	for (uint32_t k = 0; k < nports; k++)
		for (uint32_t i = 0; i < nports; i++)
			for (uint32_t j = 0; n->wait[i][k] && j < nports; j++)
				n->wait[i][j] |= n->wait[k][j];
	for (uint32_t i = 0; i < nports; i++)
		n->r.credit_loops |= n->wait[i][i];
}

static void
naive_parts(const struct fabric *f, uint32_t *part)
{
	for (uint32_t i = 0; i < f->nswitches; i++)
		part[i] = i;
	for (uint32_t round = 0; round < f->nswitches; round++)
		for (uint32_t i = 0; i < f->nports; i++) {
			uint32_t x = f->nodes[f->ports[i].node].sw, y;

			if (x == FABRIC_NONE || f->ports[i].peer == FABRIC_NONE)
				continue;
			y = f->nodes[f->ports[f->ports[i].peer].node].sw;
			if (y != FABRIC_NONE && part[y] < part[x])
				part[x] = part[y];
		}
}

static bool
leads_to_switch(const struct fabric *f, uint32_t sw, uint8_t out)
{
	uint32_t peer = fabric_port_at(f, f->switches[sw], out)->peer;

	return peer != FABRIC_NONE && f->nodes[f->ports[peer].node].type == NODE_SWITCH;
}

/* What a host port's LIDs together mean for the pairs that end there: all must arrive, and the last
 * one's ways count. */
struct naive_port {
	int hops[8];		/* by switch: of the last LID */
	bool lost[8];		/* by switch: some LID does not arrive */
};

static void
naive_lid(struct naive *n, const struct fabric *f, const struct plan_lids *l,
	  struct plan_row **rows, const uint32_t *part, uint32_t lid, struct naive_port *port)
{
	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		int hops = naive_walk(n, f, l, rows, sw, lid);
		uint8_t out = plan_row_port(rows[sw], lid);

		port->hops[sw] = hops;
		port->lost[sw] |= hops < 0;
		n->r.loops += hops == -1;	/* also where no way could be */
		if (part[sw] != part[l->dest[lid].sw])
			continue;
		n->r.holes += out == LFT_NO_PORT;
		/* A wrong exit right here: a walk of this switch alone would end. */
		n->r.misdelivered += hops == -3 &&
			(out == 0 || out > 6 || !leads_to_switch(f, sw, out));
	}
}

/* Returns the sum of hops of the pairs that are reached; *reached: how many. */
static uint64_t
naive_port_pairs(struct naive *n, const struct fabric *f, const struct naive_port *port,
		 const uint32_t *part, const uint32_t *hosts, uint32_t home, uint64_t *reached)
{
	uint64_t sum = 0;

	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		uint64_t pairs = hosts[sw] - (sw == home);

		if (part[sw] != part[home]) {
			n->r.cut_off += pairs;
			continue;
		}
		if (port->lost[sw]) {
			n->r.unreachable += pairs;
			continue;
		}
		*reached += pairs;
		sum += pairs * (uint64_t)port->hops[sw];
		if (pairs && (uint32_t)port->hops[sw] > n->r.max_hops)
			n->r.max_hops = (uint32_t)port->hops[sw];
	}
	return sum;
}

static bool
is_host(const struct fabric *f, uint32_t port)
{
	return f->nodes[f->ports[port].node].type == NODE_CA;
}

static void
naive_check(struct naive *n, const struct fabric *f, const struct plan_lids *l,
	    struct plan_row **rows)
{
	uint32_t part[8], hosts[8] = { 0 };
	uint64_t total = 0, sum = 0, reached = 0;

	memset(n, 0, sizeof(*n));
	naive_parts(f, part);
	for (uint32_t i = 0; i < f->nports; i++)
		if (l->base[i] && is_host(f, i)) {
			hosts[l->dest[l->base[i]].sw]++;
			total++;
		}
	n->r.pairs = total * (total - !!total);
	for (uint32_t i = 0; i < f->nports; i++) {
		struct naive_port port = { .hops = { 0 } };

		if (!l->base[i])
			continue;
		for (uint32_t lid = l->base[i]; lid < l->base[i] + (1u << l->lmc[i]); lid++)
			naive_lid(n, f, l, rows, part, lid, &port);
		if (is_host(f, i))
			sum += naive_port_pairs(n, f, &port, part, hosts, l->dest[l->base[i]].sw,
						&reached);
	}
	n->r.mean_hops = reached ? (double)sum / (double)reached : 0;
	naive_closure(n, f->nports);
}

/* LIDs with gaps, in more than one block, some ports with several; not always aligned, which is
 * not legal but must not matter. */
static struct plan_lids *
random_lids(const struct fabric *f)
{
	struct plan_lids *l = plan_lids_new(f);
	uint32_t lid = 1 + any(3), gaps = any(3) * 40 + 1;

	for (uint32_t i = 0; i < f->nports; i++) {
		bool own = (f->nodes[f->ports[i].node].type == NODE_SWITCH) ==
			(f->ports[i].number == 0);

		if (!own || (f->ports[i].number && f->ports[i].peer == FABRIC_NONE))
			continue;
		l->lmc[i] = (uint8_t)(any(4) ? 0 : any(3));
		l->base[i] = (uint16_t)lid;
		lid += (1u << l->lmc[i]) + any(gaps);
	}
	plan_lids_index(l, f);
	return l;
}

/* An order of switches that may help, or not: minhop's, any, or all the same. */
static void
random_ranks(const struct fabric *f, const uint8_t *made, uint8_t *ranks)
{
	uint32_t kind = any(4), most = 1 + any(8);

	for (uint32_t sw = 0; sw < f->nswitches; sw++)
		ranks[sw] = kind < 2 ? made[sw] : (uint8_t)any(most);
}

/* Random tables, or those of minhop or updn, unproved, with a few entries spoilt. */
static void
random_rows(const struct fabric *f, const struct plan_lids *l, struct plan_row **rows,
	    uint8_t *ranks)
{
	struct engine_options o = { .threads = 1 };
	struct engine_input in = { .fabric = f, .lids = l, .options = &o };
	struct engine_output out = { .rows = rows };
	struct error e = { 0 };
	uint32_t spoil = any(4);

	memset(rows, 0, 8 * sizeof(*rows));
	assert_int_equal(engine_find(any(2) ? "minhop" : "updn")->route(&in, &out, &e), 0);
	random_ranks(f, out.ranks, ranks);
	mem_free(out.ranks);
	plan_roots_unref(out.roots);
	if (spoil == 3)
		spoil = 1000;
	for (uint32_t i = 0; i < spoil; i++) {
		uint8_t port = (uint8_t)any(9);

		plan_row_set(&rows[any(f->nswitches)], 1 + any(l->top),
			     port == 8 ? LFT_NO_PORT : port);
	}
}

/* What the naive proof finds, the proof finds. */
static void
assert_same(const struct plan_check *r, const struct plan_check *n, int rc)
{
	assert_int_equal(r->pairs, n->pairs);
	assert_int_equal(r->cut_off, n->cut_off);
	assert_int_equal(r->unreachable, n->unreachable);
	assert_int_equal(r->holes, n->holes);
	assert_int_equal(r->loops, n->loops);
	assert_int_equal(r->misdelivered, n->misdelivered);
	assert_int_equal(r->max_hops, n->max_hops);
	assert_true(r->mean_hops - n->mean_hops < 1e-9);
	assert_true(n->mean_hops - r->mean_hops < 1e-9);
	assert_int_equal(r->credit_loops, n->credit_loops);
	assert_int_equal(rc == 0, !(n->holes || n->loops || n->misdelivered || n->unreachable ||
				    n->credit_loops));
}

enum { MAX_TREES = 6 };

/* Multicast tables that need not make sense, often none. */
static uint32_t
random_trees(const struct fabric *f, struct check_tree *trees)
{
	uint32_t n = any(3) ? 0 : any(MAX_TREES + 1), most = 1 + any(3);

	for (uint32_t i = 0; i < n; i++) {
		trees[i] = (struct check_tree){ .sw = any(f->nswitches) };
		for (uint32_t k = 0; k < most; k++) {
			trees[i].in[0] |= (uint64_t)1 << any(7);
			trees[i].out[0] |= (uint64_t)1 << any(7);
		}
	}
	return n;
}

/* What came in by one port waits for all others. */
static void
naive_tree(struct naive *n, const struct fabric *f, const struct check_tree *t)
{
	uint32_t first = fabric_switch_node(f, t->sw)->first_port;

	for (uint32_t i = 1; i < 7; i++)
		for (uint32_t k = 1; k < 7; k++)
			if (i != k && (t->in[0] >> i & 1) && (t->out[0] >> k & 1) &&
			    leads_to_switch(f, t->sw, (uint8_t)i) &&
			    leads_to_switch(f, t->sw, (uint8_t)k))
				n->wait[f->ports[first + i].peer][first + k] = true;
}

static void
naive_trees(struct naive *n, const struct fabric *f, const struct check_input *in)
{
	for (uint32_t i = 0; i < in->ntrees; i++)
		naive_tree(n, f, &in->trees[i]);
	naive_closure(n, f->nports);
}

/* Lanes that do not differ change nothing but the way in which the graph is made. */
static int
no_lanes(struct check_input *in, struct plan_check *r)
{
	struct plan_lanes lanes = { .refs = 1, .classes = 1, .lanes = 2, .lane = lane_zero };

	in->lanes = any(2) ? &lanes : NULL;
	return check_routing(in, r);
}

static void
rows_free(const struct fabric *f, struct plan_row **rows)
{
	for (uint32_t sw = 0; sw < f->nswitches; sw++)
		plan_row_unref(rows[sw]);
}

static void
test_random(void **state)
{
	static struct naive n;
	unsigned faulty = 0, sound = 0;

	(void)state;
	for (seed = 1; seed != 0 && faulty + sound < 10000;) {
		struct fabric *f = random_fabric();
		struct plan_lids *l = any(2) ? random_lids(f) : help_lids(f, 0);
		struct plan_row *rows[8];
		struct plan_check r;
		struct check_tree trees[MAX_TREES];
		uint8_t ranks[8];
		struct check_input in = { .fabric = f, .lids = l, .rows = rows,
					  .threads = 1 + any(2), .trees = trees };
		int rc;

		random_rows(f, l, rows, ranks);
		in.ntrees = random_trees(f, trees);
		naive_check(&n, f, l, rows);
		naive_trees(&n, f, &in);
		in.ranks = any(3) ? ranks : NULL;
		rc = any(2) ? check_routing(&in, &r) : no_lanes(&in, &r);
		assert_same(&r, &n.r, rc);
		faulty += rc != 0;
		sound += rc == 0;
		rows_free(f, rows);
		plan_lids_unref(l);
		fabric_unref(f);
	}
	assert_true(faulty > 1000 && sound > 1000);
}

/* The port to which a switch sends a LID, FABRIC_NONE where none leads on. */
static uint32_t
naive_next(const struct fabric *f, const struct plan_lids *l, const struct plan_row *row,
	   uint32_t sw, uint32_t lid)
{
	uint8_t out = plan_row_port(row, lid);

	if (out == 0 || out > 6 || !leads_to_switch(f, sw, out) ||
	    (l->dest[lid].sw == sw && l->dest[lid].out == out))
		return FABRIC_NONE;
	return f->nodes[f->switches[sw]].first_port + out;
}

/* Any mixture of two sets of tables. */
static void
naive_union(struct naive *n, const struct fabric *f, const struct plan_lids *l,
	    struct plan_row **one, struct plan_row **other)
{
	struct plan_row **sets[2] = { one, other };

	memset(n, 0, sizeof(*n));
	for (uint32_t lid = 1; lid <= l->top; lid++)
		for (uint32_t i = 0; i < 4 * f->nswitches; i++) {
			uint32_t sw = i / 4, to, then, next;

			if (l->dest[lid].port == FABRIC_NONE)
				break;
			next = naive_next(f, l, sets[i & 1][sw], sw, lid);
			if (next == FABRIC_NONE)
				continue;
			to = f->nodes[f->ports[f->ports[next].peer].node].sw;
			then = naive_next(f, l, sets[i >> 1 & 1][to], to, lid);
			if (then != FABRIC_NONE)
				n->wait[next][then] = true;
		}
	naive_closure(n, f->nports);
}

static void
test_random_union(void **state)
{
	static struct naive n;
	unsigned bad = 0, good = 0;

	(void)state;
	for (seed = 77; bad + good < 6000;) {
		struct fabric *f = random_fabric();
		struct plan_lids *l = any(2) ? random_lids(f) : help_lids(f, 0);
		struct plan_row *rows[8], *also[8];
		struct plan_check r;
		uint8_t ranks[8];
		struct check_tree trees[MAX_TREES];
		struct check_input in = { .fabric = f, .lids = l, .rows = rows, .also = also,
					  .threads = 1 + any(2), .trees = trees };
		int rc;

		random_rows(f, l, also, ranks);
		random_rows(f, l, rows, ranks);
		for (uint32_t sw = 0; sw < f->nswitches; sw++)
			if (any(2)) {
				plan_row_unref(also[sw]);
				also[sw] = plan_row_ref(rows[sw]);
			}
		in.ntrees = random_trees(f, trees);
		naive_union(&n, f, l, rows, also);
		naive_trees(&n, f, &in);
		in.ranks = any(3) ? ranks : NULL;
		rc = check_union(&in, &r);
		assert_int_equal(r.credit_loops, n.r.credit_loops);
		assert_int_equal(rc, n.r.credit_loops ? ERR_REFUSED : 0);
		check_routing(&in, &r);
		assert_int_equal(r.credit_loops, n.r.credit_loops);
		bad += rc != 0;
		good += rc == 0;
		rows_free(f, rows);
		rows_free(f, also);
		plan_lids_unref(l);
		fabric_unref(f);
	}
	assert_true(bad > 500 && good > 500);
}

/* Two switches with two cables, two hosts each. */
static void
test_quality(void **state)
{
	struct plan_row *rows[2] = { plan_row_new(4), plan_row_new(4) };
	struct check_input in = { .rows = rows, .threads = 1 };
	struct quality_report q;
	struct plan_lids *l;
	struct fabric *f;

	(void)state;
	in.fabric = f = help_two(100000, &l);
	in.lids = l;
	memcpy(plan_row_entries(rows[0]), (uint8_t[]){ 255, 1, 2, 3, 4 }, 5);
	memcpy(plan_row_entries(rows[1]), (uint8_t[]){ 255, 3, 4, 1, 2 }, 5);
	quality_measure(&in, 1, 0, 50, &q);
	/* Each cable carries one destination each way: no pattern puts two flows on it. */
	assert_int_equal(q.shifts, 3);
	assert_int_equal(q.shift_max, 1);
	assert_true(q.shift_mean > 0.999 && q.shift_mean < 1.001);
	assert_int_equal(q.a2a, 1);
	assert_int_equal(q.rp_median, 1);
	assert_true(q.ebb > 0.999 && q.ebb < 1.001);
	memcpy(plan_row_entries(rows[0]), (uint8_t[]){ 255, 1, 2, 3, 3 }, 5);
	quality_measure(&in, 1, 0, 50, &q);
	/* Both far hosts over one cable: shift by 2 puts two flows on it, shifts by 1 and 3 one. */
	assert_int_equal(q.shift_max, 2);
	assert_true(q.shift_mean > 1.333 && q.shift_mean < 1.334);
	assert_int_equal(q.a2a, 2);
	assert_true(q.ebb < 0.999 && q.ebb > 0.5);
	plan_row_unref(rows[0]);
	plan_row_unref(rows[1]);
	plan_lids_unref(l);
	fabric_unref(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good), cmocka_unit_test(test_credit_loop),
		cmocka_unit_test(test_faults), cmocka_unit_test(test_union),
		cmocka_unit_test(test_lanes), cmocka_unit_test(test_line),
		cmocka_unit_test(test_cut_off), cmocka_unit_test(test_random),
		cmocka_unit_test(test_random_union), cmocka_unit_test(test_quality),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
