/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every engine on every topology that it is for, whole and with what is lost at random: 1, 2, 5 and
 * 10 cables, or a switch. Pairs that cables still join are routed and nothing waits in a circle, or
 * the engine refuses with the cause and the next of the chain takes over; plan_judge.h judges. Each
 * loss comes twice: to a fabric that was routed before it, and to one that is found like that.
 *
 * `make soak` asks for 50 losses of each kind (WEFT_SEEDS) and has the shares printed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "tests/unit/loss_help.h"
#include "tests/unit/plan_judge.h"

#define LANES 8u
#define LARGE 60u	/* switches: such fabrics lose less often in a short test */

static const struct {
	const char *engine;
	const char *recipes[12];	/* that it is for; or files of real fabrics */
} cells[] = {
	{ "torus", { "torus 4 4 4 1", "torus 5 3 2", "mesh 4 4 2", "torus 6 5 4 1",
		     "torus 8 8 8 1", "hypercube 2 2", "hypercube 3 2", "hypercube 4 1",
		     "hypercube 5 1", "hypercube 6 1" } },
	{ "dragonfly", { "dragonfly 4 2 2 9", "dragonfly 6 3 3 19", "dragonfly 8 4 4 33",
			 "dragonfly+ 5 4 4 2", "dragonfly+ 9 4 4 2" } },
	{ "hyperx", { "hyperx 4 4 2", "hyperx 3 3 3 1", "hyperx 6 2" } },
	{ "fattree", { "ft3 8", "ft2 8 4 8", "ndr_rail_40sw_582ca.ibnd",
		       "edr_2tier_4leaf_2spine_par6.ibnd" } },
	{ "nue", { "torus 4 4 4 1", "torus 5 3 2", "mesh 4 4 2", "hypercube 4 1",
		   "dragonfly 4 2 2 9", "dragonfly+ 5 4 4 2", "random 30 4 1 1", "random 20 3 2 7",
		   "slim-fly 5 1", "ndr_rail_40sw_582ca.ibnd",
		   "edr_2tier_4leaf_2spine_par6.ibnd" } },
	{ "dfsssp", { "dragonfly 4 2 2 9", "random 30 4 1 1", "random 20 3 2 7", "ft2 8 4 8" } },
	{ "updn", { "ft3 8", "ft2 8 4 8", "random 30 4 1 1", "torus 5 3 2",
		    "edr_2tier_4leaf_2spine_par6.ibnd" } },
	{ "auto", { "torus 4 4 4 1", "torus 5 3 2", "mesh 4 4 2", "hypercube 3 2", "hypercube 5 1",
		    "dragonfly 4 2 2 9", "dragonfly+ 5 4 4 2", "hyperx 4 4 2", "random 30 4 1 1",
		    "ft3 8", "ndr_rail_40sw_582ca.ibnd" } },
};

static const struct {
	const char *what;
	unsigned links;		/* lost, */
	unsigned switches;	/* or these */
} losses[] = {
	{ "1 cable", 1, 0 }, { "2", 2, 0 }, { "5", 5, 0 }, { "10", 10, 0 }, { "1 switch", 0, 1 },
};

#define LOSSES (sizeof(losses) / sizeof(losses[0]))

static bool
is_soak(void)
{
	return getenv("WEFT_SEEDS") != NULL;
}

/* A fabric that nobody has seen before: what is lost was never there. */
static struct fabric *
forget(const struct fabric *f)
{
	struct fabric_builder *b = fabric_builder_new();

	for (uint32_t n = 0; n < f->nnodes; n++) {
		uint32_t handle = fabric_add_node(b, &f->nodes[n]);

		for (unsigned i = 0; i <= f->nodes[n].nports; i++) {
			struct fabric_port p = *fabric_port_at(f, n, i);

			p.lost_peer = 0;
			p.lost_number = p.lost_type = p.flags = 0;
			fabric_add_port(b, handle, i, &p);
		}
	}
	for (uint32_t i = 0; i < f->nports; i++)
		if (f->ports[i].peer != FABRIC_NONE && f->ports[i].peer > i)
			fabric_add_link(b, f->ports[i].node, f->ports[i].number,
					f->ports[f->ports[i].peer].node,
					f->ports[f->ports[i].peer].number);
	return fabric_build(b, f->generation + 1);
}

/* The engine of the cell, and behind it one for any fabric. */
static struct plan *
route(const struct fabric *f, const char *engine, const struct plan *previous, const char *what)
{
	const char *const names[] = { engine, "nue", "updn", NULL };
	struct compose_policy sls = { .levels = 1, .max_vls = LANES, .previous = previous };
	struct chain_options o = {
		.engines = names, .compose = compose_chain, .compose_arg = &sls,
		.fallback = true,
		.engine = { .threads = 2, .max_vls = LANES, .lanes = LANES },
	};
	struct plan *p = plan_new(f);
	struct plan_judged j;
	struct error e = { 0 };

	p->lids = help_lids(f, 0);
	if (engine_chain(p, NULL, previous, &o, &e))
		fail_msg("%s by %s: nobody routes it: %s", what, engine, e.text);
	j = plan_judge(p);
	if (j.lost || j.circle)
		fail_msg("%s by %s (%s): %u of %u pairs lost%s", what, engine, p->engine_running,
			 (unsigned)j.lost, (unsigned)j.pairs, j.circle ? ", a circle" : "");
	return p;
}

/* Was it this engine? Else there is a reason that names a cause. */
static bool
is_by(const struct plan *p, const char *engine, const char *what)
{
	if (!strcmp(p->engine_running, engine) || (!strcmp(engine, "auto") && !p->reason[0]))
		return true;
	if (!strstr(p->reason, "is refused: "))
		fail_msg("%s: %s ran instead of %s without a reason: %s", what, p->engine_running,
			 engine, p->reason);
	return false;
}

/* One loss; counts who routed. */
static void
lose(const struct plan *whole, const char *engine, const char *recipe, unsigned k, uint64_t seed,
     unsigned count[2])
{
	const struct fabric *f = whole->fabric;
	struct fabric *g = help_cut_links(f, losses[k].links, 1000 * k + seed), *h, *cold;
	uint32_t gone = f->switches[(seed * 7 + 3) % f->nswitches];
	struct plan *p;
	char what[120];

	snprintf(what, sizeof(what), "%s, %s lost, seed %u", recipe, losses[k].what,
		 (unsigned)seed);
	h = losses[k].switches ? help_without(g, gone, FABRIC_NONE) : fabric_ref(g);
	cold = forget(h);
	p = route(h, engine, whole, what);
	count[0] += is_by(p, engine, what);
	plan_unref(p);
	p = route(cold, engine, NULL, what);
	count[1] += is_by(p, engine, what);
	if (is_soak() && !is_by(p, engine, what) && getenv("WEFT_WHY"))
		print_message("%s: %s\n", what, p->reason);
	plan_unref(p);
	fabric_unref(cold);
	fabric_unref(h);
	fabric_unref(g);
}

static void
try_cell(const char *engine, const char *recipe, unsigned seeds)
{
	bool file = strstr(recipe, ".ibnd") != NULL;
	char path[512];
	const char *at = file ? help_shared(path, sizeof(path), recipe) : recipe;
	struct fabric *f;
	struct plan *whole;

	if (!at)
		return;
	f = file ? help_read(at) : help_generate(recipe, true, 1);
	if (f->nswitches > LARGE && !is_soak()) {
		fabric_unref(f);
		return;
	}
	whole = route(f, engine, NULL, recipe);
	if (!is_by(whole, engine, recipe))
		fail_msg("%s is not for %s: %s", engine, recipe, whole->reason);
	for (unsigned k = 0; k < LOSSES; k++) {
		unsigned count[2] = { 0 };

		for (uint64_t seed = 0; seed < seeds; seed++)
			lose(whole, engine, recipe, k, seed, count);
		if (is_soak())
			print_message("%-10s %-34s %-9s %3u of %u, %3u as found\n", engine, recipe,
				      losses[k].what, count[0], seeds, count[1]);
	}
	plan_unref(whole);
	fabric_unref(f);
}

static void
test_matrix(void **state)
{
	unsigned seeds = is_soak() ? (unsigned)strtoul(getenv("WEFT_SEEDS"), NULL, 10) : 2;
	const char *only = getenv("WEFT_ENGINE");

	(void)state;
	for (unsigned i = 0; i < sizeof(cells) / sizeof(cells[0]); i++)
		for (unsigned k = 0; k < 12 && cells[i].recipes[k]; k++)
			if (!only || !strcmp(only, cells[i].engine))
				try_cell(cells[i].engine, cells[i].recipes[k], seeds);
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_matrix) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
