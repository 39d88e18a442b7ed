/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How many NodeInfo round trips a second the umad transport and the transactions carry.
 *
 * Usage: bench_umad HOPS WINDOW[/MAX] [SECONDS [TARGETS]], attached to a simulated or real fabric.
 * HOPS is 0 (the own node) or 1 (its neighbour through the port in use). Prints one line.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include "sm/base/log.h"
#include "sm/base/loop.h"
#include "sm/base/mem.h"
#include "sm/port/port.h"
#include "sm/port/transact.h"
#include "sm/port/umad.h"

#define TARGETS_MAX 256

struct bench {
	struct loop *loop;			/* event loop */
	struct port *port;			/* the transport */
	struct transact *transact;		/* the engine under test */
	struct transact_target *targets;	/* all of them the same device */
	unsigned ntargets;			/* how many */
	uint8_t path[2];			/* directed route of one hop */
	uint8_t hops;				/* 0 or 1 */
	monotime began;				/* when the port came up */
	monotime end;				/* when to stop asking */
	monotime took;				/* until idle */
	bool done;				/* all answers are in */
	uint64_t failed;			/* requests without an answer */
};

static bool
next(void *arg, struct transact_target *t, struct transact_request *r)
{
	struct bench *b = arg;

	(void)t;
	if (loop_now(b->loop) >= b->end)
		return false;
	r->method = MAD_GET;
	r->attr_id = ATTR_NODE_INFO;
	r->hops = b->hops;
	r->path = b->path;
	return true;
}

static void
done(void *arg, struct transact_target *t, const struct transact_result *r)
{
	struct bench *b = arg;

	(void)t;
	b->failed += r->error != 0;
}

static void
idle(void *arg)
{
	struct bench *b = arg;

	b->took = loop_now(b->loop) - b->began;
	b->done = true;
}

static void
request(void *arg, const struct port_mad *m)
{
	(void)arg;
	(void)m;
}

static void
state(void *arg, bool up, const char *why)
{
	struct bench *b = arg;

	if (!up) {
		fprintf(stderr, "%s\n", why);
		return;
	}
	b->path[1] = b->port->id.number;
	b->end += loop_now(b->loop);
	b->began = loop_now(b->loop);
	for (unsigned i = 0; i < b->ntargets; i++)
		transact_ready(b->transact, &b->targets[i]);
}

static void
receive(void *arg, const struct port_mad *m)
{
	struct bench *b = arg;

	transact_receive(b->transact, m);
}

static int
run(struct bench *b, unsigned window, unsigned max)
{
	const struct transact_options o = {
		.window_start = window, .window_max = max, .target_max = 64, .retries = 3,
		.timeout = MSEC(200), .timeout_min = MSEC(50),
	};
	const struct transact_ops ops = {
		.next = next, .done = done, .idle = idle, .request = request, .arg = b,
	};
	const struct port_events events = { .receive = receive, .state = state, .arg = b };
	const struct transact_counters *c;
	struct error e = { 0 };
	struct rusage use;
	double s;

	b->port = umad_port_new(b->loop, "auto", &events, &e);
	b->transact = transact_new(b->loop, b->port, &o, &ops);
	for (unsigned i = 0; i < b->ntargets; i++)
		transact_target_init(&b->targets[i]);
	loop_run_until(b->loop, loop_now(b->loop) + SEC(60), &b->done);
	c = transact_counters(b->transact);
	s = (double)b->took / 1e9;
	getrusage(RUSAGE_SELF, &use);
	printf("hops %u, window %3u to %3u: %7.0f a second; rtt %.0f us, retried %lu, failed %lu,"
	       " user %.2f us and system %.2f us a MAD\n", b->hops, window,
	       transact_window(b->transact),
	       (double)c->answered / s, (double)transact_rtt(b->transact) / 1e3, c->retried,
	       b->failed,
	       ((double)use.ru_utime.tv_sec * 1e6 + (double)use.ru_utime.tv_usec) /
	       (double)c->answered,
	       ((double)use.ru_stime.tv_sec * 1e6 + (double)use.ru_stime.tv_usec) /
	       (double)c->answered);
	transact_free(b->transact);
	port_close(b->port);
	return b->done && !b->failed ? 0 : 1;
}

int
main(int argc, char **argv)
{
	struct bench b = { 0 };
	const char *slash;
	int rc;

	if (argc < 3) {
		fprintf(stderr, "usage: bench_umad HOPS WINDOW[/MAX] [SECONDS [TARGETS]]\n");
		return 2;
	}
	b.hops = atoi(argv[1]) ? 1 : 0;
	b.end = SEC(argc > 3 ? atoi(argv[3]) : 3);
	b.ntargets = argc > 4 ? (unsigned)atoi(argv[4]) : TARGETS_MAX;
	b.targets = mem_array(b.ntargets, sizeof(*b.targets));
	b.loop = loop_new_event();
	slash = strchr(argv[2], '/');
	rc = run(&b, (unsigned)atoi(argv[2]), (unsigned)atoi(slash ? slash + 1 : argv[2]));
	mem_free(b.targets);
	loop_free(b.loop);
	return rc;
}
