/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How many MAD round trips a second the simulated fabric carries by itself: one client on the first
 * host keeps WINDOW requests under way, to devices that lie HOPS cables away by directed route.
 *
 * Usage: bench_sim [K [WINDOW [MILLIONS]]] on the full fat tree of three levels of K-port switches.
 * Prints one line for each of: NodeInfo asked, an LFT block set, instant and with latencies.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "sim/generate/generate.h"
#include "sim/model/model.h"
#include "sm/base/loop.h"
#include "sm/base/mem.h"

#define PATHS 4096

struct way {
	uint8_t hops;		/* cables */
	uint8_t ports[8];	/* [1..hops]: out ports */
};

struct bench {
	struct ibnet *net;		/* the fabric's text */
	struct model *m;		/* the fabric under test */
	struct loop *loop;		/* it runs on this */
	struct model_client *client;	/* on the first host */
	struct way *ways;		/* PATHS directed routes, used in turn */
	struct model_mad request;	/* what is sent, but for TID, block and path */
	uint64_t total, sent, left;	/* requests to send, sent; answers to come */
	bool set;			/* LFT blocks are set, else NodeInfo is asked */
	bool done;			/* all answers came */
};

static double
seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void
send_next(struct bench *b)
{
	const struct way *w = &b->ways[b->sent++ % PATHS];
	struct model_mad *mad = &b->request;

	mad->mad[7] = w->hops;
	memcpy(&mad->mad[8], &b->sent, sizeof(b->sent));	/* the TID, in any order of bytes */
	if (b->set)
		mad->mad[23] = b->sent / PATHS % 16;		/* the block */
	memcpy(&mad->mad[128], w->ports, sizeof(w->ports));
	model_send(b->client, mad);
}

static void
on_receive(void *arg, const struct model_mad *mad)
{
	struct bench *b = arg;

	if (mad->mad[4] & 0x7f || mad->mad[5]) {
		fprintf(stderr, "bench_sim: an answer has status %u, expected 0\n", mad->mad[5]);
		exit(1);
	}
	b->done = !--b->left;
	if (b->sent < b->total)
		send_next(b);
}

static void
make_request(struct bench *b)
{
	struct smp s = {
		.h = { .base_version = 1, .class_version = 1,
		       .mgmt_class = MAD_CLASS_SUBN_DIRECT,
		       .method = b->set ? MAD_SET : MAD_GET,
		       .attr_id = b->set ? ATTR_LINEAR_FDB : ATTR_NODE_INFO },
		.dr_slid = LID_PERMISSIVE, .dr_dlid = LID_PERMISSIVE,
	};

	memset(s.data, 1, sizeof(s.data));
	b->request = (struct model_mad){ .lid = LID_PERMISSIVE };
	smp_encode(&s, b->request.mad);
}

/* A way of at most `hops` cables that never turns back; it ends at a switch if that is asked. */
static bool
find_way(const struct ibnet *net, struct way *w, unsigned hops, bool to_switch, uint64_t *random)
{
	uint32_t node = 0;
	unsigned in = 0;

	while (net->nodes[node].type != IBNET_CA)
		node++;
	for (w->hops = 0; w->hops < hops;) {
		const struct ibnet_node *n = &net->nodes[node];
		unsigned out;

		*random = *random * 6364136223846793005u + 1442695040888963407u;
		out = w->hops ? (unsigned)(*random >> 33) % n->nports + 1 : 1;
		if (out == in || n->ports[out].peer == IBNET_NONE)
			continue;
		if (w->hops + 1u < hops && net->nodes[n->ports[out].peer].type == IBNET_CA)
			continue;
		w->ports[++w->hops] = (uint8_t)out;
		in = n->ports[out].peer_port;
		node = n->ports[out].peer;
	}
	return !to_switch || net->nodes[node].type == IBNET_SWITCH;
}

static void
measure(struct bench *b, bool instant, bool set, unsigned window, uint64_t total)
{
	struct model_options o = { .seed = 1, .instant = instant };
	struct model_client_events ev = { .receive = on_receive, .arg = b };
	uint64_t random = 7;
	uint32_t node = 0;
	double t;

	b->loop = loop_new_virtual(1);
	b->m = model_new(b->loop, b->net, &o);
	while (b->net->nodes[node].type != IBNET_CA)
		node++;
	b->client = model_attach(b->m, node, 1, &ev);
	for (unsigned i = 0; i < PATHS; i++)
		while (!find_way(b->net, &b->ways[i], 5, set, &random))
			;
	b->set = set;
	make_request(b);
	b->sent = 0;
	b->left = b->total = total;
	b->done = false;
	t = seconds();
	for (unsigned i = 0; i < window; i++)
		send_next(b);
	loop_run_until(b->loop, MONOTIME_NEVER, &b->done);
	t = seconds() - t;
	printf("%-9s %-9s %" PRIu64 " round trips, %.0f a second, %" PRIu64 " lost\n",
	       set ? "SetLFT" : "NodeInfo", instant ? "instant" : "latencies", total,
	       (double)total / t, model_lost(b->m));
	model_free(b->m);
	loop_free(b->loop);
}

int
main(int argc, char **argv)
{
	struct generate_options go = { 0 };
	struct bench b = { .net = NULL };
	char sixteen[] = "16", *k = argc > 1 ? argv[1] : sixteen;
	unsigned window = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 64;
	uint64_t total = (argc > 3 ? strtoull(argv[3], NULL, 10) : 2) * 1000000;
	struct error e;

	if (!window || !total || generate(&b.net, "ft3", 1, &k, &go, &e) < 0) {
		fprintf(stderr, "usage: bench_sim [K [WINDOW [MILLIONS]]]\n");
		return 1;
	}
	b.ways = mem_array(PATHS, sizeof(*b.ways));
	for (unsigned i = 0; i < 4; i++)
		measure(&b, i < 2, i & 1, window, total);
	mem_free(b.ways);
	ibnet_free(b.net);
	return 0;
}
