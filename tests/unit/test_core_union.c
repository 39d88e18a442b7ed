/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/core/subnet.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>
#include "sim/model/model_impl.h"
#include "sm/base/mem.h"
#include "sm/wire/mad.h"
#include "tests/unit/core_bed.h"

/*
 * What the switches hold, looked at after every single block that one of them takes, while cables,
 * hosts and switches go, come and reboot at random: packets may never run in a circle, nor wait for
 * each other in one. Nothing here asks the subnet manager what it thinks; tables, LIDs and links
 * are those of the simulated devices.
 */
struct judge {
	struct bed *b;			/* whose devices */
	uint32_t *first;		/* by node: channel of its port 0 */
	uint32_t nchannels;		/* a channel is a port that packets leave by */
	bool *waits;			/* [channel][channel] */
	uint8_t *mark;			/* by channel: 1 on the way, 2 done */
	uint32_t owner[LID_UNICAST_MAX + 129];	/* node by LID, IBNET_NONE */
	unsigned top;			/* highest LID that is held */
	unsigned writes;		/* blocks that were taken */
	uint64_t seed;			/* of the faults */
	char wrong[200];		/* the first thing that was, "" */
};

static uint32_t
draw(struct judge *j, uint32_t n)
{
	j->seed = j->seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(j->seed >> 33) % n;
}

static bool
is_switch(const struct judge *j, uint32_t n)
{
	return j->b->net->nodes[n].type == IBNET_SWITCH;
}

static void
find_owners(struct judge *j)
{
	memset(j->owner, 0xff, sizeof(j->owner));
	j->top = 0;
	for (uint32_t n = 0; n < j->b->net->nnodes; n++) {
		unsigned first = is_switch(j, n) ? 0 : 1;
		unsigned last = is_switch(j, n) ? 0 : j->b->net->nodes[n].nports;

		for (unsigned p = first; p <= last; p++) {
			const struct portinfo *i = model_portinfo(j->b->m, n, p);

			for (unsigned k = 0; i->lid && k < 1u << i->lmc; k++) {
				j->owner[i->lid + k] = n;
				j->top = i->lid + k > j->top ? i->lid + k : j->top;
			}
		}
	}
}

/* The port by which a switch forwards to a LID, if the link there carries data; 0: none. */
static unsigned
next_port(const struct judge *j, uint32_t n, unsigned lid)
{
	const struct model *m = j->b->m;
	unsigned out = j->owner[lid] == n || !is_switch(j, n) ? 0 : model_lft(m, n, (uint16_t)lid);
	const struct sim_port *p = &m->nodes[n].ports[out];

	if (!out || out > m->nodes[n].nports || !model_link_is_up(m, n, out))
		return 0;
	return p->info.state == PORT_ACTIVE &&
	       model_portinfo(m, p->peer, p->peer_port)->state == PORT_ACTIVE ? out : 0;
}

static uint32_t
behind(const struct judge *j, uint32_t n, unsigned port)
{
	return j->b->m->nodes[n].ports[port].peer;
}

static bool
runs_in_circle(const struct judge *j, uint32_t n, unsigned lid)
{
	for (unsigned hops = 0; hops < PLAN_MAX_HOPS; hops++) {
		unsigned out = next_port(j, n, lid);

		if (!out)
			return false;
		n = behind(j, n, out);
	}
	return true;
}

static void
enter_waits(struct judge *j, uint32_t n, unsigned lid)
{
	unsigned out = next_port(j, n, lid);
	uint32_t next = out ? behind(j, n, out) : n;
	unsigned then = out ? next_port(j, next, lid) : 0;

	if (then)
		j->waits[(size_t)(j->first[n] + out) * j->nchannels + j->first[next] + then] = true;
}

static bool
finds_circle(struct judge *j, uint32_t c)
{
	j->mark[c] = 1;
	for (uint32_t to = 0; to < j->nchannels; to++)
		if (j->waits[(size_t)c * j->nchannels + to] &&
		    (j->mark[to] == 1 || (!j->mark[to] && finds_circle(j, to))))
			return true;
	j->mark[c] = 2;
	return false;
}

static void
look(struct judge *j)
{
	bool circle = false;

	find_owners(j);
	memset(j->waits, 0, (size_t)j->nchannels * j->nchannels);
	memset(j->mark, 0, j->nchannels);
	for (unsigned lid = 1; lid <= j->top; lid++)
		for (uint32_t n = 0; n < j->b->net->nnodes && j->owner[lid] != IBNET_NONE; n++) {
			enter_waits(j, n, lid);
			if (!j->wrong[0] && runs_in_circle(j, n, lid))
				snprintf(j->wrong, sizeof(j->wrong), "from %s to LID %u in a "
					 "circle", j->b->net->nodes[n].name, lid);
		}
	for (uint32_t c = 0; c < j->nchannels && !circle; c++)
		circle = !j->mark[c] && finds_circle(j, c);
	if (circle && !j->wrong[0])
		snprintf(j->wrong, sizeof(j->wrong), "a credit loop");
}

/* The answer to a Set sets out when the device has taken it. */
static void
on_mad(void *arg, const struct model_passage *p)
{
	struct judge *j = arg;
	struct smp smp;

	if (p->qp || smp_decode(&smp, p->mad, MAD_SIZE) || smp.h.method != MAD_GET_RESP ||
	    smp.h.attr_id != ATTR_LINEAR_FDB)
		return;
	j->writes++;
	look(j);
}

/* A node that is not the subnet manager's. */
static uint32_t
draw_node(struct judge *j, bool sw)
{
	for (;;) {
		uint32_t n = draw(j, j->b->net->nnodes);

		if (is_switch(j, n) == sw && n != j->b->sms[0].node)
			return n;
	}
}

static void
fault(struct judge *j)
{
	struct model *m = j->b->m;
	unsigned kind = draw(j, 8), port;
	uint32_t n;

	if (kind == 4 || kind == 5) {
		n = draw_node(j, kind == 4);
		model_power(m, n, draw(j, kind == 4 ? 3 : 2) > 0);
	} else if (kind == 6) {
		model_reboot(m, draw_node(j, draw(j, 2)));
	} else {
		n = kind == 7 || draw(j, 4) ? draw_node(j, true) : draw(j, j->b->net->nnodes);
		port = 1 + draw(j, j->b->net->nodes[n].nports);
		if (j->b->net->nodes[n].ports[port].peer == IBNET_NONE)
			return;
		if (kind == 7)
			model_link_flap(m, n, port, MSEC(draw(j, 2000)));
		else
			model_link_set(m, n, port, draw(j, 2));
	}
}

/* The cables of two ports are pulled, and the two joined: a switch's with any other's that was not
 * the subnet manager's. */
static void
recable(struct judge *j)
{
	uint32_t a = draw_node(j, draw(j, 2)), b = draw_node(j, true);
	unsigned aport = 1 + draw(j, j->b->net->nodes[a].nports);
	unsigned bport = 1 + draw(j, j->b->net->nodes[b].nports);
	uint32_t own = j->b->sms[0].node;

	if ((a == b && aport == bport) || behind(j, a, aport) == own || behind(j, b, bport) == own)
		return;
	model_recable(j->b->m, a, aport, b, bport);
}

static void
heal(struct judge *j)
{
	for (uint32_t n = 0; n < j->b->net->nnodes; n++)
		if (!model_is_on(j->b->m, n))
			model_power(j->b->m, n, true);
	model_heal(j->b->m, MODEL_ALL);
}

static void
judge_init(struct judge *j, struct bed *b, uint64_t seed)
{
	*j = (struct judge){ .b = b, .seed = seed };
	j->first = mem_array(b->net->nnodes, sizeof(*j->first));
	for (uint32_t n = 0; n < b->net->nnodes; n++) {
		j->first[n] = j->nchannels;
		j->nchannels += b->net->nodes[n].nports + 1u;
	}
	j->waits = mem_array((size_t)j->nchannels * j->nchannels, sizeof(*j->waits));
	j->mark = mem_array(j->nchannels, 1);
	model_tap(b->m, on_mad, j);
}

static void
judge_end(struct judge *j)
{
	model_tap(j->b->m, NULL, NULL);
	mem_free(j->first);
	mem_free(j->waits);
	mem_free(j->mark);
	mem_free(j);
}

static void
settle(struct judge *j)
{
	bed_wait(j->b, MSEC(1300));
	/* While its own port is down the subnet manager asks again and again. */
	bed_quiet(&j->b->sms[0], SEC(5));
}

static void
random_faults(const char *recipe, uint64_t seed, unsigned rounds, bool recables)
{
	static const char *const engines[] = { "fattree", "updn", NULL };
	struct bed *b = bed_new(recipe, seed);
	struct bed_sm *sm = bed_sm(b, bed_next(b, IBNET_CA, 0), 1);
	struct judge *j = mem_zalloc(sizeof(*j));

	sm->conf.routing.engines = (const char **)(uintptr_t)engines;
	bed_start(sm);
	assert_int_equal(bed_run(sm, SEC(60)), 1);
	judge_init(j, b, seed);
	settle(j);
	for (unsigned i = 0; i < rounds && !j->wrong[0]; i++) {
		if (recables && i % 3 == 0)
			recable(j);
		for (unsigned k = recables && i % 3 == 0 ? 0 : draw(j, 3) + 1; k > 0; k--) {
			fault(j);
			bed_wait(b, USEC(draw(j, draw(j, 2) ? 300000 : 3000)));
		}
		settle(j);
		if (!recables && i % 20 == 19) {
			heal(j);
			settle(j);
			bed_wait(b, SEC(15));
			settle(j);
			bed_check(sm);
		}
	}
	if (j->wrong[0])
		fail_msg("%s, seed %u, after %u blocks: %s", recipe, (unsigned)seed, j->writes,
			 j->wrong);
	assert_true(j->writes > rounds);
	judge_end(j);
	bed_free(b);
}

static void
trees(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 6; seed++) {
		random_faults("ft2 4 3 3", seed, 60, false);
		random_faults("ft2 3 2 2 2", seed, 60, false);
		random_faults("ft3 4", seed, 60, false);
	}
}

static void
others(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 6; seed++) {
		random_faults("random 10 3 2 5", seed, 60, false);
		random_faults("torus 4 3 1 1", seed, 40, false);
		random_faults("dragonfly 3 1 1 3", seed, 60, false);
	}
}

/* Old entries lead through cables that go somewhere else now. That happens to one cable at a time
 * and is told, else Sets would go there too, to a switch that they are not for. */
static void
other_cables(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 8; seed++) {
		random_faults("ft2 4 3 3", seed, 60, true);
		random_faults("ft3 4", seed, 60, true);
	}
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trees),
		cmocka_unit_test(others),
		cmocka_unit_test(other_cables),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
