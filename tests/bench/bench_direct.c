/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How many MAD round trips a second a subnet manager in the simulator's own process gets: one port
 * by the direct transport, in instant mode, keeps WINDOW Get(NodeInfo) by directed route under way
 * to the switches and hosts around the first host.
 *
 * Usage: bench_direct [K [WINDOW [MILLIONS]]] on the full fat tree of three levels of K-port
 * switches. Prints one line.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "sim/direct.h"
#include "sim/generate/generate.h"
#include "sm/base/mem.h"

#define WAYS 4096u

struct bench {
	struct port *port;	/* under test */
	uint8_t (*ways)[8];	/* WAYS directed routes of five cables, [0] unused */
	struct port_mad request;	/* what is sent, but for TID and path */
	uint64_t total, sent, left;	/* requests to send, sent; answers to come */
	unsigned window;	/* under way at once */
	bool done;		/* all answers came */
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
	uint32_t tid = (uint32_t)++b->sent;

	memcpy(&b->request.mad[12], &tid, sizeof(tid));	/* in any order of bytes */
	memcpy(&b->request.mad[128], b->ways[tid % WAYS], 8);
	if (port_send(b->port, &b->request)) {
		fprintf(stderr, "bench_direct: a request was refused\n");
		exit(1);
	}
}

static void
on_receive(void *arg, const struct port_mad *m)
{
	struct bench *b = arg;

	if (m->status || m->mad[4] & 0x7f || m->mad[5]) {
		fprintf(stderr, "bench_direct: a request was lost or failed\n");
		exit(1);
	}
	b->done = !--b->left;
	if (b->sent < b->total)
		send_next(b);
}

static void
on_state(void *arg, bool up, const char *why)
{
	struct bench *b = arg;

	(void)why;
	for (unsigned i = 0; up && i < b->window; i++)
		send_next(b);
}

/* A way that never turns back and ends at its first host, or after five cables. */
static void
find_way(const struct ibnet *net, uint32_t node, uint8_t way[8], uint64_t *random)
{
	unsigned in = 0, hops = 0;

	while (hops < 5) {
		const struct ibnet_node *n = &net->nodes[node];
		unsigned out;

		*random = *random * 6364136223846793005u + 1442695040888963407u;
		out = hops ? (unsigned)(*random >> 33) % n->nports + 1 : 1;
		if (out == in || n->ports[out].peer == IBNET_NONE)
			continue;
		if (hops < 4 && net->nodes[n->ports[out].peer].type == IBNET_CA)
			continue;
		way[++hops] = (uint8_t)out;
		in = n->ports[out].peer_port;
		node = n->ports[out].peer;
	}
}

static void
prepare(struct bench *b, const struct ibnet *net, uint32_t node)
{
	struct smp s = {
		.h = { .base_version = 1, .class_version = 1, .method = MAD_GET,
		       .mgmt_class = MAD_CLASS_SUBN_DIRECT, .attr_id = ATTR_NODE_INFO },
		.dr_slid = LID_PERMISSIVE, .dr_dlid = LID_PERMISSIVE, .hop_count = 5,
	};
	uint64_t random = 7;

	b->request = (struct port_mad){ .lid = LID_PERMISSIVE, .timeout_ms = 200 };
	smp_encode(&s, b->request.mad);
	b->ways = mem_array(WAYS, sizeof(*b->ways));
	for (unsigned i = 0; i < WAYS; i++)
		find_way(net, node, b->ways[i], &random);
}

static void
measure(struct bench *b, const struct ibnet *net)
{
	struct model_options o = { .seed = 1, .instant = true };
	struct port_events ev = { on_receive, on_state, b };
	struct loop *l = loop_new_virtual(1);
	struct model *m = model_new(l, net, &o);
	struct error e;
	uint32_t node = 0;
	double t;

	while (net->nodes[node].type != IBNET_CA)
		node++;
	prepare(b, net, node);
	if (direct_open(&b->port, m, node, 1, &ev, &e)) {
		fprintf(stderr, "bench_direct: %s\n", e.text);
		exit(1);
	}
	t = seconds();
	loop_run_until(l, MONOTIME_NEVER, &b->done);
	t = seconds() - t;
	printf("direct    NodeInfo  %" PRIu64 " round trips with %u under way, %.0f a second\n",
	       b->total, b->window, (double)b->total / t);
	port_close(b->port);
	model_free(m);
	loop_free(l);
	mem_free(b->ways);
}

int
main(int argc, char **argv)
{
	struct generate_options go = { 0 };
	char sixteen[] = "16", *k = argc > 1 ? argv[1] : sixteen;
	struct bench b = {
		.window = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 64,
		.total = (argc > 3 ? strtoull(argv[3], NULL, 10) : 3) * 1000000,
	};
	struct ibnet *net = NULL;
	struct error e;

	b.left = b.total;
	if (!b.window || !b.total || generate(&net, "ft3", 1, &k, &go, &e) < 0) {
		fprintf(stderr, "usage: bench_direct [K [WINDOW [MILLIONS]]]\n");
		return 1;
	}
	measure(&b, net);
	ibnet_free(net);
	return 0;
}
