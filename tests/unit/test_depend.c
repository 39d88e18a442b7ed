/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include "qos/compose.h"
#include "routing/checker.h"
#include "tests/unit/engine_help.h"

/*
 * What waits for what where there are lanes: the checker's graph, bit by bit, against one made by
 * following each packet by itself, from each port where it can come in, of each class, to each LID.
 * Tables, classes and lanes are at random; or those of an engine, with some entries spoilt.
 */
struct naive {
	const struct check_input *in;	/* what is followed */
	unsigned lanes;			/* of each link */
	size_t n;			/* channels: port index x lanes + lane */
	uint8_t *wait;			/* by channel and channel */
	uint8_t *seen;			/* by channel: the present packet was there */
};

static uint64_t seed;

static uint32_t
any(uint32_t below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(seed >> 33) % below;
}

static uint32_t
mix(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t x = (a * 0x9e3779b97f4a7c15u) ^ (b * 0xc2b2ae3d27d4eb4fu);

	x = (x ^ x >> 29 ^ c) * 0xbf58476d1ce4e5b9u;
	return (uint32_t)(x >> 32);
}

/* ---- One packet after the other ---- */

/* The switch behind a port; FABRIC_NONE if there is none. */
static uint32_t
behind(const struct fabric *f, uint32_t port)
{
	uint32_t peer = f->ports[port].peer;

	return peer == FABRIC_NONE ? FABRIC_NONE : f->nodes[f->ports[peer].node].sw;
}

/* From a switch, to which the packet came by `in`, over channel `before` (n: it starts here). */
static void
go(struct naive *n, uint32_t sw, uint8_t in, uint32_t lid, uint8_t class, size_t before)
{
	struct plan_row *const *tables[2] = { n->in->rows, n->in->also };
	const struct fabric *f = n->in->fabric;

	for (unsigned k = 0; k < 2 && tables[k]; k++) {
		uint8_t out = plan_row_port(tables[k][sw], lid), lane;
		uint32_t port = f->nodes[f->switches[sw]].first_port + out;
		size_t channel;

		if (out > f->nodes[f->switches[sw]].nports || behind(f, port) == FABRIC_NONE)
			continue;
		lane = n->in->lanes->lane(n->in->lanes, sw, in, out, class);
		if (lane == PLAN_LANE_DROP)
			continue;
		channel = (size_t)port * n->lanes + lane;
		if (before != n->n)
			n->wait[before * n->n + channel] = 1;
		if (n->seen[channel])
			continue;
		n->seen[channel] = 1;
		go(n, behind(f, port), f->ports[f->ports[port].peer].number, lid, class, channel);
	}
}

static uint32_t
classes_of(const struct plan_lanes *l, uint32_t sw, uint32_t lid, uint32_t home)
{
	return l->path_classes ? l->path_classes(l, sw, (uint16_t)lid) :
		1u << (l->path_class ? l->path_class(l, sw, home) : 0);
}

/* All packets that come into a fabric at a switch for a LID. */
static void
naive_from(struct naive *n, uint32_t sw, uint32_t lid)
{
	const struct fabric *f = n->in->fabric;
	const struct fabric_node *node = &f->nodes[f->switches[sw]];
	uint32_t classes = classes_of(n->in->lanes, sw, lid, n->in->lids->dest[lid].sw);

	for (unsigned in = 0; in <= node->nports; in++) {
		uint32_t port = node->first_port + in;

		if (in && (f->ports[port].peer == FABRIC_NONE || behind(f, port) != FABRIC_NONE))
			continue;
		for (uint8_t class = 0; class < n->in->lanes->classes; class++) {
			if (!(classes >> class & 1))
				continue;
			memset(n->seen, 0, n->n);
			go(n, sw, (uint8_t)in, lid, class, n->n);
		}
	}
}

static struct naive
naive_new(const struct check_input *in)
{
	struct naive n = { .in = in, .lanes = in->lanes->lanes };
	const struct plan_lids *l = in->lids;

	n.n = (size_t)in->fabric->nports * n.lanes;
	n.wait = mem_array(n.n, n.n);
	n.seen = mem_array(n.n, 1);
	for (uint32_t lid = 1; lid <= l->top; lid++)
		for (uint32_t sw = 0; l->dest[lid].sw != FABRIC_NONE &&
		     sw < in->fabric->nswitches; sw++)
			naive_from(&n, sw, lid);
	return n;
}

static void
naive_free(struct naive *n)
{
	mem_free(n->wait);
	mem_free(n->seen);
}

/* What waits for nothing that is left is taken away; if something is left, it is a cycle. */
static bool
naive_cycle(const struct naive *n)
{
	uint32_t *waits = mem_array(n->n, sizeof(*waits)), len = 0, left = 0;
	uint32_t *done = mem_array(n->n, sizeof(*done));

	for (size_t a = 0; a < n->n; a++) {
		for (size_t b = 0; b < n->n; b++)
			waits[a] += n->wait[a * n->n + b];
		left += waits[a] != 0;
		if (!waits[a])
			done[len++] = (uint32_t)a;
	}
	for (uint32_t i = 0; i < len; i++)
		for (size_t a = 0; a < n->n; a++)
			if (n->wait[a * n->n + done[i]] && --waits[a] == 0) {
				done[len++] = (uint32_t)a;
				left--;
			}
	mem_free(waits);
	mem_free(done);
	return left;
}

/* ---- Both beside each other ---- */

static bool
has_bit(const struct channels *c, uint32_t e, unsigned from, uint8_t out, unsigned to)
{
	size_t map = ((size_t)e * c->lanes + from) * c->lanes + to;

	return c->bits[map * c->words + out / 64] >> out % 64 & 1;
}

static void
compare_edge(const struct naive *n, const struct channels *c, uint32_t port)
{
	const struct fabric *f = n->in->fabric;
	uint32_t next = f->switches[behind(f, port)], e = c->edge_at[port];
	uint32_t first = f->nodes[next].first_port;

	for (unsigned out = 0; out <= f->nodes[next].nports; out++)
		for (unsigned from = 0; from < n->lanes; from++)
			for (unsigned to = 0; to < n->lanes; to++) {
				size_t a = (size_t)port * n->lanes + from;
				size_t b = (size_t)(first + out) * n->lanes + to;
				bool has = has_bit(c, e, from, (uint8_t)out, to);

				if (has != n->wait[a * n->n + b])
					fail_msg("seed %llu: port %u lane %u, out %u lane %u: %d",
						 (unsigned long long)seed, port, from, out,
						 to, has);
			}
}

/* Returns whether there is a credit loop. */
static bool
compare(const struct check_input *in)
{
	struct naive n = naive_new(in);
	bool cycle = naive_cycle(&n);
	struct plan_check r;
	struct checker c;

	checker_init(&c, in);
	checker_graph(&c);
	for (uint32_t port = 0; port < in->fabric->nports; port++)
		if (in->fabric->nodes[in->fabric->ports[port].node].sw != FABRIC_NONE &&
		    behind(in->fabric, port) != FABRIC_NONE)
			compare_edge(&n, &c.channels, port);
	checker_free(&c);
	if (in->also)
		check_union(in, &r);
	else
		check_routing(in, &r);
	assert_int_equal(r.credit_loops, cycle);
	naive_free(&n);
	return cycle;
}

/* ---- At random ---- */

static uint8_t
random_lane(const struct plan_lanes *l, uint32_t sw, uint8_t in, uint8_t out, uint8_t class)
{
	uint32_t x = mix((uintptr_t)l->state, sw << 16 | in << 8 | out, class);

	return (uint8_t)(x % 16 == 0 ? PLAN_LANE_DROP : x / 16 % l->lanes);
}

static uint8_t
random_class(const struct plan_lanes *l, uint32_t src, uint32_t dst)
{
	return (uint8_t)(mix((uintptr_t)l->state, src, dst) % l->classes);
}

static uint32_t
random_classes(const struct plan_lanes *l, uint32_t src, uint16_t lid)
{
	return mix((uintptr_t)l->state, src, lid) & ((1u << l->classes) - 1);
}

/* Of LIDs 4n .. 4n + 3 alike, which are those of one port here. */
static uint32_t
random_port_classes(const struct plan_lanes *l, uint32_t src, uint16_t lid)
{
	return random_classes(l, src, lid / 4);
}

static struct plan_lanes
random_lanes(bool ports_of_four)
{
	struct plan_lanes l = {
		.refs = 1, .classes = (uint8_t)(1 + any(16)), .lanes = (uint8_t)(2 + any(14)),
		.lane = random_lane, .state = (void *)(uintptr_t)(1 + any(1u << 30)),
	};

	if (any(2))
		l.path_class = random_class;
	else
		l.path_classes = random_classes;
	if (l.path_classes && ports_of_four && any(2)) {
		l.path_classes = random_port_classes;
		l.by_switch = true;
	}
	return l;
}

/* 2..6 switches of 6 ports; `spread`: one port with a LID on each. */
static struct fabric *
random_fabric(bool spread)
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
	for (uint32_t i = 0; !spread && i < n * 2; i++) {
		uint32_t x = any(n), p = 1 + any(6);

		if (!used[x][p])
			help_host(b, 0x100 * (i + 1), "h", x, p);
		used[x][p] = true;
	}
	return fabric_build(b, 1);
}

/* LIDs in any order, with gaps; `spread`: four for each switch, from a multiple of four on. */
static struct plan_lids *
random_lids(const struct fabric *f, bool spread)
{
	struct plan_lids *l = plan_lids_new(f);
	uint32_t lid = spread ? 4 : 1, from = any(f->nports);

	for (uint32_t k = 0; k < f->nports; k++) {
		uint32_t i = (from + k * 1009) % f->nports;	/* a prime above it */
		bool own = (f->nodes[f->ports[i].node].type == NODE_SWITCH) ==
			(f->ports[i].number == 0);

		if (!own || (f->ports[i].number && f->ports[i].peer == FABRIC_NONE))
			continue;
		l->lmc[i] = spread ? 2 : (uint8_t)(any(4) ? 0 : any(4));
		l->base[i] = (uint16_t)lid;
		lid += (1u << l->lmc[i]) + (spread ? 0 : any(60));
	}
	plan_lids_index(l, f);
	return l;
}

/* Any entries, or those of an engine for any fabric, some spoilt. */
static void
random_rows(const struct fabric *f, const struct plan_lids *l, struct plan_row **rows)
{
	static const char *const names[] = { "minhop", "updn" };
	struct engine_options o = { .threads = 1 };
	struct engine_input in = { .fabric = f, .lids = l, .options = &o };
	struct engine_output out = { .rows = rows };
	struct error e = { 0 };
	uint32_t spoil = any(4) * any(4);

	if (engine_find(names[any(2)])->route(&in, &out, &e))
		fail_msg("%s", e.text);
	mem_free(out.ranks);
	plan_roots_unref(out.roots);
	if (spoil == 9)
		spoil = 1000;
	for (uint32_t i = 0; i < spoil; i++)
		plan_row_set(&rows[any(f->nswitches)], 1 + any(l->top), (uint8_t)any(8));
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
	unsigned cycles = 0, none = 0, unions = 0;

	(void)state;
	for (seed = 1; cycles + none < 600;) {
		bool spread = any(3) == 0;
		struct fabric *f = random_fabric(spread);
		struct plan_lids *l = random_lids(f, spread);
		struct plan_row *one[8] = { NULL }, *other[8] = { NULL };
		struct plan_lanes lanes = random_lanes(spread);
		struct check_input in = {
			.fabric = f, .lids = l, .rows = one, .lanes = &lanes,
			.threads = 1 + any(2), .also = any(3) ? NULL : other,
		};
		bool cycle;

		random_rows(f, l, one);
		if (in.also)
			random_rows(f, l, other);
		cycle = compare(&in);
		cycles += cycle;
		none += !cycle;
		unions += in.also != NULL;
		rows_free(f, one);
		rows_free(f, other);
		plan_lids_unref(l);
		fabric_unref(f);
	}
	assert_true(cycles > 100 && none > 100 && unions > 100);
}

/* ---- What an engine made, spoilt ---- */

/* Tables from service levels to lanes: one pair of ports by another's, or an entry of one. */
static void
spoil_sls(struct plan_sls *s, uint32_t nports)
{
	uint32_t sw = any(s->nswitches), one = any(nports + 1) * (nports + 1) + any(nports + 1);

	if (any(2))
		s->at[s->first[sw] + one] = (uint16_t)any(s->nmaps);
	else
		s->maps[any(s->nmaps)].vl[any(SLS_LEN)] =
			(uint8_t)(any(4) ? any((uint32_t)s->levels * s->lanes) : SLS_DROP);
}

static struct plan *
engine_plan(const struct fabric *f, const char *engine, unsigned levels)
{
	struct compose_policy sls = { .levels = levels, .max_vls = 8 };
	const char *const names[] = { engine, NULL };
	struct chain_options o = {
		.engines = names, .engine = { .threads = 2, .max_vls = 8 / levels },
		.compose = compose_chain, .compose_arg = &sls,
	};
	struct plan *p = plan_new(f);
	struct error e = { 0 };

	p->lids = help_lids(f, (uint8_t)any(2));
	if (engine_chain(p, NULL, NULL, &o, &e))
		fail_msg("%s: %s", engine, e.text);
	return p;
}

/* A plan that is proved; then spoilt, now more, now less. Returns how many have a credit loop. */
static unsigned
spoil_plan(struct plan *p, unsigned rounds)
{
	const struct fabric *f = p->fabric;
	uint32_t nports = fabric_switch_node(f, 0)->nports;
	struct check_input in = { .fabric = f, .lids = p->lids, .lanes = p->lanes, .threads = 2 };
	struct plan_row *rows[32];
	unsigned cycles;

	in.rows = p->rows;
	cycles = compare(&in);
	assert_int_equal(cycles, 0);
	in.rows = rows;
	for (unsigned round = 0; round < rounds; round++) {
		for (uint32_t sw = 0; sw < f->nswitches; sw++)
			rows[sw] = plan_row_copy(p->rows[sw]);
		for (uint32_t i = any(4); i > 0; i--)
			plan_row_set(&rows[any(f->nswitches)], 1 + any(p->lids->top),
				     (uint8_t)any(nports + 1));
		if (any(2))
			spoil_sls(p->sls, nports);
		in.also = any(3) ? NULL : p->rows;
		cycles += compare(&in);
		rows_free(f, rows);
	}
	return cycles;
}

static void
test_engines(void **state)
{
	static const char *const cases[][2] = {
		{ "torus 5 3 2", "torus" }, { "torus 4 4 1", "torus" }, { "torus 6 1", "torus" },
		{ "dragonfly 3 1 1 4", "dragonfly" }, { "dragonfly 4 2 2 5", "dragonfly" },
		{ "torus 5 3 1", "nue" }, { "dragonfly 3 1 1 4", "dfsssp" },
	};
	unsigned cycles = 0, plans = 0;

	(void)state;
	seed = 7;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (unsigned levels = 1; levels <= 2; levels++) {
			struct fabric *f = help_generate(cases[i][0], true, i + 1);
			struct plan *p = engine_plan(f, cases[i][1], levels);

			if (p->sls) {
				cycles += spoil_plan(p, 12);
				plans += 12;
			}
			plan_unref(p);
			fabric_unref(f);
		}
	assert_true(cycles > 20 && plans - cycles > 20);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_engines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
