/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "routing/check.h"
#include "routing/engine.h"
#include "sm/sa/sa.h"
#include "tests/unit/route_help.h"

/*
 * What an answer of the subnet administrator costs by itself, without any transport: PathRecords
 * by Get between random hosts (by GIDs, and by LIDs), and all paths of one host by GetTable.
 *
 * usage: bench_sa [RECIPE [THOUSANDS]]      "ft3 16" and 1000 if they are not given
 * Prints nanoseconds of processor time for each answer, and for each record of the tables.
 */
#define PREFIX 0xfe80000000000000u

struct bench {
	struct plan *plan;		/* published */
	struct config_subnet conf;	/* in force */
	struct sa *sa;			/* under test */
	uint64_t answers, records, refused;	/* that came */
	uint64_t random;		/* state */
};

static const struct plan *
lend_plan(void *arg)
{
	return ((const struct bench *)arg)->plan;
}

static const struct config_subnet *
lend_conf(void *arg)
{
	return &((const struct bench *)arg)->conf;
}

static const struct portinfo *
lend_port(void *arg, uint64_t guid, unsigned port)
{
	static const struct portinfo info = { .cap_mask = CAP_EXTENDED_SPEEDS };

	(void)arg;
	(void)guid;
	(void)port;
	return &info;
}

/* Tables of 128 places, of which one is taken. */
static enum sa_held
lend_pkeys(void *arg, uint64_t guid, unsigned port, unsigned block, uint16_t keys[32])
{
	(void)arg;
	(void)guid;
	(void)port;
	memset(keys, 0, 32 * sizeof(keys[0]));
	keys[0] = block ? 0 : 0xffff;
	return block < 4 ? SA_HELD : SA_HELD_NOT;
}

static uint64_t
lend_pkeys_changed(void *arg)
{
	(void)arg;
	return 0;
}

static int
take_answer(void *arg, const struct port_mad *m)
{
	struct bench *b = arg;
	struct sa_header h;

	if (sa_header_decode(&h, port_mad_bytes(m), port_mad_len(m)) || h.h.status)
		b->refused++;
	else
		b->records += h.h.method == MAD_GET_RESP ? 1 :
			(port_mad_len(m) - SA_HEADER_SIZE) / sa_stride(&sa_path_type);
	b->answers++;
	return 0;
}

static double
cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* A host's port, at random. */
static uint32_t
some_port(struct bench *b)
{
	const struct fabric *f = b->plan->fabric;

	for (;;) {
		uint32_t port;

		b->random = b->random * 6364136223846793005u + 1442695040888963407u;
		port = (uint32_t)(b->random >> 33) % f->nports;
		if (f->nodes[f->ports[port].node].sw == FABRIC_NONE && b->plan->lids->base[port])
			return port;
	}
}

static void
ask(struct bench *b, struct loop *loop, uint8_t method, uint64_t mask)
{
	uint32_t from = some_port(b), to = some_port(b);
	const struct fabric *f = b->plan->fabric;
	struct sa_path want = {
		.sgid = { PREFIX, f->ports[from].guid }, .dgid = { PREFIX, f->ports[to].guid },
		.slid = b->plan->lids->base[from], .dlid = b->plan->lids->base[to],
	};
	struct sa_header h = {
		.h = { .base_version = 1, .mgmt_class = MAD_CLASS_SUBN_ADM, .method = method,
		       .class_version = SA_CLASS_VERSION, .attr_id = SA_PATH,
		       .tid = b->answers + 1 },
		.mask = mask,
	};
	struct port_mad m = { .qp = 1, .lid = want.slid };
	uint64_t before = b->answers;

	sa_header_encode(&h, m.mad);
	sa_path_encode(&want, m.mad + SA_HEADER_SIZE);
	sa_request(b->sa, &m);
	while (b->answers == before)
		loop_run_until(loop, loop_now(loop) + MSEC(1), NULL);
}

static void
measure(struct bench *b, struct loop *loop, const char *what, uint8_t method, uint64_t mask,
	unsigned n)
{
	double start;

	b->records = b->refused = 0;
	ask(b, loop, method, mask);
	b->records = 0;
	start = cpu_ns();
	for (unsigned i = 0; i < n; i++)
		ask(b, loop, method, mask);
	start = cpu_ns() - start;
	printf("  %s: %.0f ns an answer", what, start / n);
	if (b->records > n)
		printf(", %.0f ns a record", start / (double)b->records);
	printf("%s\n", b->refused ? ", AND SOME WERE REFUSED" : "");
}

static struct plan *
make_plan(const struct fabric *f)
{
	const struct engine *engine = engine_find("minhop");
	struct plan *p = plan_new(f);
	struct engine_options o = { 0 };
	struct engine_input in = { .fabric = f, .options = &o };
	struct engine_output out = { .rows = p->rows };
	struct check_input check = { .fabric = f, .rows = p->rows };
	struct error e;

	p->lids = help_lids(f, 0);
	in.lids = check.lids = p->lids;
	if (engine->route(&in, &out, &e)) {
		fprintf(stderr, "bench_sa: %s\n", e.text);
		exit(1);
	}
	p->lanes = out.lanes;
	check.lanes = out.lanes;
	check_routing(&check, &p->check);
	mem_free(out.ranks);
	plan_memo_unref(out.memo);
	plan_roots_unref(out.roots);
	return p;
}

int
main(int argc, char **argv)
{
	const char *recipe = argc > 1 ? argv[1] : "ft3 16";
	unsigned n = (argc > 2 ? (unsigned)atoi(argv[2]) : 1000) * 1000;
	struct bench b = { .conf = { .name = "b", .sm_key = 1, .prefix = PREFIX,
				     .subnet_timeout = 18 }, .random = 1 };
	struct loop *loop = loop_new_virtual(1);
	struct store *store = store_open_memory(loop);
	struct fabric *f = help_generate(recipe, false, 1);
	struct sa_env env = { .plan = lend_plan, .conf = lend_conf, .port_info = lend_port,
			      .pkey_block = lend_pkeys, .pkeys_changed = lend_pkeys_changed,
			      .send = take_answer, .loop = loop, .store = store, .arg = &b };

	if (!f)
		return 1;
	b.plan = make_plan(f);
	b.sa = sa_new(&env);
	printf("%s: %u hosts, %u switches\n", recipe, f->ncas, f->nswitches);
	measure(&b, loop, "PathRecord by GIDs", MAD_GET,
		SA_BIT(SA_PATH_SGID) | SA_BIT(SA_PATH_DGID) | SA_BIT(SA_PATH_NUMB_PATH), n);
	measure(&b, loop, "PathRecord by LIDs", MAD_GET,
		SA_BIT(SA_PATH_SLID) | SA_BIT(SA_PATH_DLID), n);
	measure(&b, loop, "all of one source", MAD_GET_TABLE, SA_BIT(SA_PATH_SGID), n / 2000 + 1);
	sa_free(b.sa);
	plan_unref(b.plan);
	fabric_unref(f);
	store_close(store);
	loop_free(loop);
	return 0;
}
