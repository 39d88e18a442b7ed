/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "sim/model/model_impl.h"
#include "sm/base/mem.h"
#include "sm/fabric/change.h"
#include "tests/unit/adaptive_bed.h"

/*
 * A cable is lost in a tree of adaptive switches: where packets go until the manager has seen to
 * it, and what it writes to that end.
 *
 * usage: test_core_adaptive_loss [RECIPE]; SHOW=1 in the environment tells what is written
 */
static const char *recipe = "ft3 8";

/* ---- Between the loss and the repair ---- */

/* Packets of a destination, followed through the switches as they stand, over all ports that each
 * may choose. */
struct walk {
	const struct bed *b;
	uint16_t lid;		/* destination, */
	uint32_t host;		/* its node */
	unsigned *far;		/* by node: cables from there to it in the whole fabric */
	uint8_t *seen;		/* by node: its packets are counted */
	uint64_t cut;		/* switches that lose packets though another port leads nearer */
	uint64_t stuck;		/* that lose them, and no other does */
};

/* Cables from each node to one. */
static void
measure(const struct bed *b, uint32_t to, unsigned *far)
{
	uint32_t *queue = mem_array(b->net->nnodes, sizeof(*queue)), len = 0;

	for (uint32_t i = 0; i < b->net->nnodes; i++)
		far[i] = UINT32_MAX;
	far[to] = 0;
	queue[len++] = to;
	for (uint32_t i = 0; i < len; i++)
		for (unsigned p = 1; p <= b->net->nodes[queue[i]].nports; p++) {
			uint32_t peer = b->net->nodes[queue[i]].ports[p].peer;

			if (peer == IBNET_NONE || far[peer] != UINT32_MAX)
				continue;
			far[peer] = far[queue[i]] + 1;
			queue[len++] = peer;
		}
	mem_free(queue);
}

static bool
is_up(const struct bed *b, uint32_t node, unsigned port)
{
	return b->m->nodes[node].ports[port].info.state == PORT_ACTIVE;
}

/* The port that was lost is one of several that lead nearer. */
static bool
has_other(const struct walk *w, uint32_t node)
{
	const struct ibnet_node *n = &w->b->net->nodes[node];
	bool any = false;

	for (unsigned p = 1; p <= n->nports; p++)
		any |= n->ports[p].peer != IBNET_NONE && is_up(w->b, node, p) &&
			w->far[n->ports[p].peer] < w->far[node];
	return any;
}

static void
follow(struct walk *w, uint32_t node)
{
	uint8_t ports[256];
	unsigned len;

	if (w->seen[node] || node == w->host)
		return;
	w->seen[node] = 1;
	len = ar_ports(w->b->m, node, 1, w->lid, 0, ports);
	assert_true(len > 0);
	for (unsigned i = 0; i < len; i++) {
		if (!is_up(w->b, node, ports[i])) {
			*(has_other(w, node) ? &w->cut : &w->stuck) += 1;
			continue;
		}
		follow(w, w->b->net->nodes[node].ports[ports[i]].peer);
	}
}

/* From every switch that has hosts to every host. */
static void
follow_all(struct walk *w)
{
	const struct ibnet *net = w->b->net;

	for (uint32_t host = bed_next(w->b, IBNET_CA, 0); host != IBNET_NONE;
	     host = bed_next(w->b, IBNET_CA, host + 1)) {
		w->host = host;
		w->lid = w->b->m->nodes[host].ports[1].info.lid;
		measure(w->b, host, w->far);
		memset(w->seen, 0, net->nnodes);
		for (uint32_t from = bed_next(w->b, IBNET_CA, 0); from != IBNET_NONE;
		     from = bed_next(w->b, IBNET_CA, from + 1))
			if (from != host)
				follow(w, net->nodes[from].ports[1].peer);
	}
}

/* Both ends of a cable as they are when it has just been lost; no time passes. */
static void
set_cable(struct bed *b, uint32_t node, unsigned port, uint8_t state)
{
	const struct ibnet_port *p = &b->net->nodes[node].ports[port];

	b->m->nodes[node].ports[port].info.state = state;
	b->m->nodes[p->peer].ports[p->peer_port].info.state = state;
}

/* Each cable between switches lost by itself. */
static struct walk
lose_each(struct bed_sm *sm, unsigned *cables)
{
	struct bed *b = sm->bed;
	struct walk w = { .b = b };

	w.far = mem_array(b->net->nnodes, sizeof(*w.far));
	w.seen = mem_array(b->net->nnodes, 1);
	follow_all(&w);
	assert_int_equal(w.cut + w.stuck, 0);
	*cables = 0;
	for (uint32_t i = 0; i < b->net->nnodes; i++)
		for (unsigned p = 1; p <= b->net->nodes[i].nports; p++) {
			const struct ibnet_port *at = &b->net->nodes[i].ports[p];

			if (b->net->nodes[i].type != IBNET_SWITCH || at->peer == IBNET_NONE ||
			    at->peer < i || b->net->nodes[at->peer].type != IBNET_SWITCH)
				continue;
			set_cable(b, i, p, PORT_DOWN);
			follow_all(&w);
			set_cable(b, i, p, PORT_ACTIVE);
			++*cables;
		}
	mem_free(w.far);
	mem_free(w.seen);
	return w;
}

/* No switch loses a packet that has another way, whether packets are spread or go by the table; by
 * tables alone they do. In the tree of recipe ft3 8 each of 32 leaves and each of 32 switches above
 * has 4 cables up, and one way down. */
static void
between(void **state)
{
	static const enum config_adaptive wanted[] = {
		CONFIG_ADAPTIVE_ON, CONFIG_ADAPTIVE_AUTO, CONFIG_ADAPTIVE_OFF,
	};

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct bed_sm *sm = adaptive_bed("ft3 8", "");
		unsigned cables;
		struct walk w;

		sm->conf.routing.adaptive = wanted[i];
		up(sm);
		w = lose_each(sm, &cables);
		assert_int_equal(cables, 256);
		assert_true(w.stuck > 0);
		if (wanted[i] == CONFIG_ADAPTIVE_OFF)
			assert_true(w.cut > 0);
		else
			assert_int_equal(w.cut, 0);
		bed_free(sm->bed);
	}
}

/* ---- The repair ---- */

struct told {
	bool done;
	struct change_report report;
};

static void
on_told(void *arg, int error, const char *text, const struct change_report *report)
{
	struct told *t = arg;

	if (error)
		fail_msg("%s", text);
	t->done = true;
	t->report = *report;
}

static struct change_report
foretell(struct bed_sm *sm, uint32_t node, unsigned port)
{
	struct change c = {
		.kind = CHANGE_FAIL, .dry_run = true, .guid = sm->bed->net->nodes[node].guid,
		.port = (int)port,
	};
	struct told t = { 0 };
	struct error e;

	assert_int_equal(subnet_change(sm->s, &c, on_told, &t, &e), 0);
	for (unsigned i = 0; i < 100 && !t.done; i++)
		bed_wait(sm->bed, MSEC(100));
	assert_true(t.done);
	return t.report;
}

/* What is written is what was foretold, to the block. */
static void
repair(struct bed_sm *sm, const char *name, unsigned port)
{
	uint32_t node = bed_node(sm->bed, name);
	struct change_report told = foretell(sm, node, port);
	struct sets n = { { 0 } };

	sm->out = count_sets;
	sm->arg = &n;
	model_link_set(sm->bed->m, node, port, false);
	bed_wait(sm->bed, SEC(2));
	assert_true(bed_becomes_good(sm, BOUND));
	rest(sm);
	if (getenv("SHOW"))
		print_message("%s/%u: %u entries differ, %u blocks of tables and %u of groups\n",
			      name, port, (unsigned)told.entries, told.writes, told.group_writes);
	assert_int_equal(sets(&n, ATTR_LINEAR_FDB), 0);
	assert_int_equal(sets(&n, AR_ATTR_INFO), 0);
	assert_int_equal(sets(&n, AR_ATTR_LFT), told.writes);
	assert_int_equal(sets(&n, AR_ATTR_GROUPS), told.group_writes);
	sm->out = NULL;
	model_link_set(sm->bed->m, node, port, true);
	bed_wait(sm->bed, SEC(2));
	assert_true(bed_becomes_good(sm, BOUND));
	rest(sm);
}

/* The first port of a switch, from the last down, that leads to a switch. */
static unsigned
last_cable(const struct bed *b, const char *name)
{
	const struct ibnet_node *n = &b->net->nodes[bed_node(b, name)];
	unsigned port = n->nports;

	while (port && (n->ports[port].peer == IBNET_NONE ||
			b->net->nodes[n->ports[port].peer].type != IBNET_SWITCH))
		port--;
	return port;
}

static void
foretold(void **state)
{
	static const char *const at[] = { "L1_0", "A1_0", "C1" };
	struct bed_sm *sm = adaptive_bed(recipe, "");

	(void)state;
	up(sm);
	for (unsigned i = 0; i < 3; i++)
		repair(sm, at[i], last_cable(sm->bed, at[i]));
	bed_free(sm->bed);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(between),
		cmocka_unit_test(foretold),
	};

	if (argc > 1)
		recipe = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
