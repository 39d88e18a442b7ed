/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Traffic over a small tree with tables set by hand, its shares and counters worked out by hand:
 *
 *   h1[1] h2[2] - L1 [3] - [1] S1 [2] - [3] L2 - [1]h3 [2]h4      all links 4xSDR, 1 GB/s
 *                    [4] - [1] S2 [2] - [4]
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "sim/model/counters.h"
#include "sim/generate/generate.h"
#include "sim/model/model_impl.h"
#include "sim/traffic/traffic_impl.h"
#include "tests/unit/tree_help.h"

#define GB 1e9

enum { L1, L2, S1, S2, H1, H2, H3, H4 };

static const char fabric[] =
	"switchguid=0xa1\nSwitch 4 \"L1\"\n[1] \"h1\"[1]\n[2] \"h2\"[1]\n[3] \"S1\"[1]\n"
	"[4] \"S2\"[1]\n\n"
	"switchguid=0xa2\nSwitch 4 \"L2\"\n[1] \"h3\"[1]\n[2] \"h4\"[1]\n[3] \"S1\"[2]\n"
	"[4] \"S2\"[2]\n\n"
	"switchguid=0xa3\nSwitch 2 \"S1\"\n\nswitchguid=0xa4\nSwitch 2 \"S2\"\n\n"
	"caguid=0x10\nCa 1 \"h1\"\n\ncaguid=0x20\nCa 1 \"h2\"\n\n"
	"caguid=0x30\nCa 1 \"h3\"\n\ncaguid=0x40\nCa 1 \"h4\"\n";

struct rig {
	struct ibnet *net;	/* the text */
	struct loop *loop;	/* virtual */
	struct model *m;	/* the fabric */
	struct traffic *t;	/* what is tested */
};

/* All links ACTIVE, and every host the LID 1, 2 ... in the order of the text. */
static void
activate(struct model *m)
{
	uint16_t lid = 0;

	tree_activate(m);
	for (uint32_t i = 0; i < m->net->nnodes; i++)
		if (m->nodes[i].type == NODE_CA)
			m->nodes[i].ports[1].info.lid = ++lid;
}

/* Ports for LIDs 1 to 4. */
static void
set_table(struct rig *r, uint32_t node, const char *ports)
{
	uint8_t data[LFT_BLOCK_LEN];

	memset(data, LFT_NO_PORT, sizeof(data));
	memcpy(data + 1, ports, 4);
	model_lft_set(&r->m->nodes[node], 0, data);
}

/* As a fat-tree engine does it: odd hosts by S1, even ones by S2. */
static void
good_tables(struct rig *r)
{
	set_table(r, L1, "\1\2\3\4");
	set_table(r, L2, "\3\4\1\2");
	set_table(r, S1, "\1\1\2\2");
	set_table(r, S2, "\1\1\2\2");
}

static int
setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));
	struct error e = { 0 };

	assert_non_null(r);
	if (ibnet_parse(&r->net, fabric, strlen(fabric), "net", &e) < 0)
		fail_msg("%s", e.text);
	r->loop = loop_new_virtual(1);
	r->m = model_new(r->loop, r->net, NULL);
	activate(r->m);
	good_tables(r);
	r->t = traffic_new(r->m);
	*state = r;
	return 0;
}

static int
teardown(void **state)
{
	struct rig *r = *state;

	traffic_free(r->t);
	model_free(r->m);
	loop_free(r->loop);
	ibnet_free(r->net);
	free(r);
	return 0;
}

static void
run(struct rig *r, monotime time)
{
	loop_run_until(r->loop, loop_now(r->loop) + time, NULL);
}

static int
start(struct rig *r, struct traffic_spec s)
{
	struct error e = { 0 };
	int id = traffic_start(r->t, &s, &e);

	if (id <= 0)
		fail_msg("%s", e.text);
	return id;
}

static struct traffic_report
report(struct rig *r)
{
	struct traffic_report report;

	traffic_report(r->t, &report);
	return report;
}

static uint64_t
counter(struct rig *r, uint32_t node, unsigned port, const char *name)
{
	uint64_t v = 0;

	assert_int_equal(model_counter_get(r->m, node, port, name, &v, NULL), 0);
	return v;
}

static void
near(double a, double b)
{
	if (fabs(a - b) > 1e-6 * (1 + fabs(b)))
		fail_msg("%.9g, not %.9g", a, b);
}

/* A third of a GB/s is no whole number of the meters' units: one word may be missing. */
static void
almost(uint64_t v, uint64_t expected)
{
	assert_in_range(v, expected - 1, expected);
}

static void
test_good_tables(void **state)
{
	struct rig *r = *state;
	struct traffic_report p;

	start(r, (struct traffic_spec){ .pattern = TRAFFIC_SHIFT, .shift = 2 });
	p = report(r);
	assert_int_equal(p.flows, 4);
	assert_int_equal(p.broken, 0);
	near(p.offered, 4 * GB);
	near(p.delivered, 4 * GB);
	near(p.min_share, 1);
	near(p.max_load, 1);
	run(r, SEC(2));
	/* 2 GB are 500,000,000 words, or 485,436.9 packets of 4096 + 24 bytes. */
	assert_int_equal(counter(r, H1, 1, "xmit_data"), 500000000);
	assert_int_equal(counter(r, H1, 1, "rcv_data"), 500000000);
	assert_int_equal(counter(r, H1, 1, "xmit_packets"), 485436);
	assert_int_equal(counter(r, H1, 1, "unicast_xmit_packets"), 485436);
	assert_int_equal(counter(r, L1, 3, "xmit_data"), 500000000);
	assert_int_equal(counter(r, S1, 1, "rcv_data"), 500000000);
	assert_int_equal(counter(r, S2, 1, "rcv_packets"), 485436);
	assert_int_equal(counter(r, H1, 1, "xmit_wait"), 0);
}

/* All by S1: two flows share a link of 1 GB/s, each host waits half of its time. */
static void
test_bad_tables(void **state)
{
	struct rig *r = *state;
	struct traffic_report p;
	struct traffic_link links[3];

	set_table(r, L1, "\1\2\3\3");
	set_table(r, L2, "\3\3\1\2");
	start(r, (struct traffic_spec){ .pattern = TRAFFIC_SHIFT, .shift = 2 });
	p = report(r);
	near(p.delivered, 2 * GB);
	near(p.min_share, 0.5);
	near(p.mean_share, 0.5);
	near(p.max_load, 2);
	assert_int_equal(traffic_busiest(r->t, links, 3), 3);
	assert_int_equal(links[0].node, L1);
	assert_int_equal(links[0].port, 3);
	near(links[0].offered, 2 * GB);
	near(links[0].carried, 1 * GB);
	near(links[0].wait, 0);
	run(r, SEC(2));
	assert_int_equal(counter(r, H1, 1, "xmit_data"), 250000000);
	assert_int_equal(counter(r, H1, 1, "xmit_wait"), 250000000);
	assert_int_equal(counter(r, L1, 3, "xmit_data"), 500000000);
	assert_int_equal(counter(r, L1, 3, "xmit_wait"), 0);
	assert_int_equal(counter(r, L1, 4, "xmit_data"), 0);
}

/* Three hosts send to h4: 1/3 GB/s each, and those behind L1 share L1[4] without being held up. */
static void
test_incast(void **state)
{
	struct rig *r = *state;
	struct traffic_report p;

	start(r, (struct traffic_spec){ .pattern = TRAFFIC_INCAST, .dst = H4 });
	p = report(r);
	assert_int_equal(p.flows, 3);
	near(p.offered, 3 * GB);
	near(p.delivered, 1 * GB);
	near(p.min_share, 1. / 3);
	near(p.max_load, 3);
	run(r, SEC(3));
	almost(counter(r, H1, 1, "xmit_data"), 250000000);
	almost(counter(r, H1, 1, "xmit_wait"), 500000000);
	/* L1[4]: offered 2 GB/s of 1, carries 2/3: it waits a third of 3 s. */
	almost(counter(r, L1, 4, "xmit_wait"), 250000000);
	almost(counter(r, H4, 1, "rcv_data"), 750000000);
}

struct rates {
	double rate[8][8];	/* by source and destination */
};

static void
note_flow(void *arg, const struct traffic_flow *f)
{
	((struct rates *)arg)->rate[f->src][f->dst] += f->delivered;
}

/* h1 and h2 to h4 over L1[4], h3 to h4 at 0.2 GB/s: 0.4, 0.4, 0.2. Then h2 to h3 as well, over
 * L1[3]: h2's own link is shared, but 0.4 is less than half of it. */
static void
test_max_min(void **state)
{
	struct rig *r = *state;
	struct rates all = { 0 };

	start(r, (struct traffic_spec){ .src = H1, .dst = H4 });
	start(r, (struct traffic_spec){ .src = H2, .dst = H4 });
	start(r, (struct traffic_spec){ .src = H3, .dst = H4, .rate = 0.2 * GB });
	start(r, (struct traffic_spec){ .src = H2, .dst = H3 });
	traffic_flows(r->t, note_flow, &all);
	near(all.rate[H1][H4], 0.4 * GB);
	near(all.rate[H2][H4], 0.4 * GB);
	near(all.rate[H3][H4], 0.2 * GB);
	near(all.rate[H2][H3], 0.6 * GB);
}

static void
test_all_to_all(void **state)
{
	struct rig *r = *state;
	struct traffic_report p;

	/* Each host sends 1/3 GB/s to each other: 2 x 2/3 up from a leaf over two links. */
	start(r, (struct traffic_spec){ .pattern = TRAFFIC_ALL_TO_ALL });
	p = report(r);
	assert_int_equal(p.flows, 12);
	near(p.delivered, 4 * GB);
	near(p.min_share, 1);
	near(p.max_load, 1);
	start(r, (struct traffic_spec){ .pattern = TRAFFIC_RING, .rate = 0.25 * GB });
	p = report(r);
	assert_int_equal(p.flows, 16);
	near(p.offered, 5 * GB);
}

static void
test_broken(void **state)
{
	struct rig *r = *state;

	start(r, (struct traffic_spec){ .pattern = TRAFFIC_SHIFT, .shift = 2 });
	model_link_set(r->m, L1, 3, false);
	assert_int_equal(report(r).broken, 2);		/* h1 to h3 and back */
	near(report(r).mean_share, 0.5);
	near(report(r).min_share, 0);
	model_link_set(r->m, L1, 3, true);
	run(r, MSEC(20));
	assert_int_equal(report(r).broken, 2);		/* up, but in Initialize */
	r->m->nodes[L1].ports[3].info.state = r->m->nodes[S1].ports[1].info.state = PORT_ACTIVE;
	traffic_stop(r->t, 0, NULL);
	start(r, (struct traffic_spec){ .pattern = TRAFFIC_SHIFT, .shift = 2 });
	assert_int_equal(report(r).broken, 0);
	traffic_stop(r->t, 0, NULL);
	set_table(r, S1, "\1\1\1\2");			/* S1 sends h3's data back to L1 */
	start(r, (struct traffic_spec){ .pattern = TRAFFIC_SHIFT, .shift = 2 });
	assert_int_equal(report(r).broken, 1);
	traffic_stop(r->t, 0, NULL);
	set_table(r, S1, "\1\1\xff\2");
	set_table(r, L2, "\3\4\1\1");			/* h4's data get to h3 */
	start(r, (struct traffic_spec){ .pattern = TRAFFIC_SHIFT, .shift = 2 });
	assert_int_equal(report(r).broken, 2);
}

/* SL 5 has no lane from L1[1] to L1[3]; from L1[2] it has. */
static void
test_lanes(void **state)
{
	struct rig *r = *state;
	struct sim_node *n = &r->m->nodes[L1];

	n->sl2vl = mem_array(25, 8);
	for (unsigned i = 0; i < 25; i++)
		memcpy(n->sl2vl + i * 8, "\x22\x22\x21\x22\x22\x22\x22\x22", 8);
	n->sl2vl[(1 * 5 + 3) * 8 + 2] = 0x2f;
	start(r, (struct traffic_spec){ .src = H1, .dst = H3, .sl = 5 });
	start(r, (struct traffic_spec){ .src = H2, .dst = H3, .sl = 5 });
	start(r, (struct traffic_spec){ .src = H2, .dst = H3, .sl = 4 });
	assert_int_equal(report(r).flows, 3);
	assert_int_equal(report(r).broken, 1);
	near(report(r).delivered, 1 * GB);
	run(r, SEC(1));
	counters_look(r->m);
	assert_int_equal(counter_read(r->m, L1, 3, VIEW_DETAIL, CTR_XMIT_SL + 5), 125000000);
	assert_int_equal(counter_read(r->m, L1, 3, VIEW_DETAIL, CTR_XMIT_SL + 4), 125000000);
	assert_int_equal(counter_read(r->m, H3, 1, VIEW_DETAIL, CTR_RCV_SL + 4), 125000000);
	assert_int_equal(counter_read(r->m, H3, 1, VIEW_DETAIL, CTR_XMIT_SL + 4), 0);
	/* h3's other sender takes half of its link: L1[3] waits half its time, on SL 4's and
	 * SL 5's lanes, 2 and 1, alike. */
	start(r, (struct traffic_spec){ .src = H4, .dst = H3, .rate = 0.5 * GB });
	run(r, SEC(1));
	near(report(r).delivered, 1 * GB);
	assert_int_equal(counter(r, L1, 3, "xmit_wait"), 83333333);
	near((double)counter_read(r->m, L1, 3, VIEW_DETAIL, CTR_WAIT_VL + 1), 41666666);
	near((double)counter_read(r->m, L1, 3, VIEW_DETAIL, CTR_WAIT_VL + 2), 41666666);
}

/* Reading a thousand times, or once, gives the same; and so does stopping and starting again. */
static void
test_no_drift(void **state)
{
	struct rig *r = *state;
	uint64_t last = 0;

	start(r, (struct traffic_spec){ .pattern = TRAFFIC_INCAST, .dst = H4 });
	for (int i = 0; i < 3000; i++) {
		uint64_t v;

		run(r, MSEC(1) + 1);
		v = counter(r, H1, 1, "xmit_data");
		assert_true(v >= last);
		last = v;
		if (i % 10 == 0) {
			traffic_stop(r->t, 0, NULL);
			start(r, (struct traffic_spec){ .pattern = TRAFFIC_INCAST, .dst = H4 });
		}
	}
	/* 1/3 GB/s for 3.000003 s. */
	almost(counter(r, H1, 1, "xmit_data"), 250000250);
	traffic_stop(r->t, 0, NULL);
	run(r, SEC(5));
	almost(counter(r, H1, 1, "xmit_data"), 250000250);
}

/* Counters stop when the link fails, though nobody looks at that time. */
static void
test_change(void **state)
{
	struct rig *r = *state;

	start(r, (struct traffic_spec){ .pattern = TRAFFIC_SHIFT, .shift = 2 });
	run(r, SEC(1));
	model_link_set(r->m, L1, 3, false);
	run(r, SEC(2));
	assert_int_equal(counter(r, H1, 1, "xmit_data"), 250000000);
	assert_int_equal(counter(r, L1, 3, "xmit_data"), 250000000);
	assert_int_equal(counter(r, H2, 1, "xmit_data"), 750000000);
	assert_int_equal(counter(r, S1, 1, "rcv_data"), 250000000);
}

static void
test_mtu(void **state)
{
	struct rig *r = *state;

	r->m->nodes[L2].ports[1].info.neighbor_mtu = 4;		/* 2048 towards h3 */
	start(r, (struct traffic_spec){ .src = H1, .dst = H3, .rate = 2072000 });
	run(r, SEC(1));
	assert_int_equal(counter(r, H1, 1, "xmit_packets"), 1000);
	assert_int_equal(counter(r, H1, 1, "xmit_data"), 518000);
}

static void
test_capacity(void **state)
{
	static const struct {
		uint8_t width, speed, ext, ext2;
		double rate;
	} t[] = {
		{ LINK_4X, 1, 0, 0, 1 * GB }, { LINK_1X, 2, 0, 0, 0.5 * GB },
		{ LINK_4X, 4, 0, 0, 4 * GB }, { LINK_4X, 4, 2, 0, 12.5 * GB },
		{ LINK_4X, 4, 4, 0, 25 * GB }, { LINK_4X, 4, 8, 0, 50 * GB },
		{ LINK_2X, 4, 8, 0, 25 * GB }, { LINK_4X, 4, 0, 1, 100 * GB },
	};
	struct rig *r = *state;
	struct portinfo *i = &r->m->nodes[H1].ports[1].info;

	for (size_t k = 0; k < sizeof(t) / sizeof(t[0]); k++) {
		i->width_active = t[k].width;
		i->speed_active = t[k].speed;
		i->speed_ext_active = t[k].ext;
		i->speed_ext2_active = t[k].ext2;
		start(r, (struct traffic_spec){ .src = H1, .dst = H2 });
		near(report(r).offered, t[k].rate);
		traffic_stop(r->t, 0, NULL);
	}
}

static void
refused(struct rig *r, struct traffic_spec s, int code, const char *text)
{
	struct error e = { 0 };

	assert_int_equal(traffic_start(r->t, &s, &e), code);
	if (!strstr(e.text, text))
		fail_msg("\"%s\" lacks \"%s\"", e.text, text);
}

static void
test_refused(void **state)
{
	struct rig *r = *state;
	struct error e;

	refused(r, (struct traffic_spec){ .src = H1, .dst = L1 }, ERR_INVALID, "goes to a host");
	refused(r, (struct traffic_spec){ .src = 99, .dst = H1 }, ERR_INVALID, "from a host");
	refused(r, (struct traffic_spec){ .src = H1, .dst = H1 }, ERR_INVALID, "to itself");
	refused(r, (struct traffic_spec){ .src = H1, .dst = H2, .sl = 16 }, ERR_INVALID, "0 to 15");
	refused(r, (struct traffic_spec){ .src = H1, .dst = H2, .rate = NAN }, ERR_INVALID, "rate");
	refused(r, (struct traffic_spec){ .pattern = (enum traffic_pattern)9 }, ERR_INVALID,
		"pattern number 9");
	refused(r, (struct traffic_spec){ .pattern = TRAFFIC_SHIFT, .shift = 8 }, ERR_INVALID,
		"round");
	assert_int_equal(traffic_stop(r->t, 3, &e), ERR_NOT_FOUND);
	assert_int_equal(report(r).flows, 0);
	near(report(r).min_share, 1);
}

static void
test_list(void **state)
{
	struct rig *r = *state;
	struct buf out = { 0 };
	int id = start(r, (struct traffic_spec){ .pattern = TRAFFIC_SHIFT, .shift = 2 });

	assert_int_equal(start(r, (struct traffic_spec){ .src = H1, .dst = H2, .sl = 1 }), id + 1);
	traffic_stop(r->t, id, NULL);
	assert_int_equal(start(r, (struct traffic_spec){ .pattern = TRAFFIC_INCAST, .dst = H2 }),
			 id + 2);
	traffic_list(r->t, &out);
	assert_string_equal(out.data,
		"2 flow from \"h1\" to \"h2\" sl 1: 1 flow, 0 broken, 0.25 of 1 GB/s\n"
		"3 incast to \"h2\" sl 0: 3 flows, 0 broken, 0.75 of 3 GB/s\n");
	buf_free(&out);
}

/* The bad tables of L1 and L2, but all that goes up may go by both spines: each carries half. With
 * one spine dead its half has no way, until the switches leave it out. */
static void
test_adaptive(void **state)
{
	struct rig *r = *state;

	set_table(r, L1, "\1\2\3\3");
	set_table(r, L2, "\3\3\1\2");
	assert_true(tree_adapt_all(r->m));
	start(r, (struct traffic_spec){ .pattern = TRAFFIC_SHIFT, .shift = 2 });
	near(report(r).min_share, 1);
	near(report(r).max_load, 1);
	run(r, SEC(2));
	assert_int_equal(counter(r, H1, 1, "xmit_data"), 500000000);
	assert_int_equal(counter(r, L1, 3, "xmit_data"), 500000000);
	assert_int_equal(counter(r, L1, 4, "xmit_data"), 500000000);
	assert_int_equal(counter(r, S2, 1, "rcv_data"), 500000000);
	traffic_stop(r->t, 0, NULL);
	model_link_set(r->m, S2, 2, false);
	start(r, (struct traffic_spec){ .pattern = TRAFFIC_SHIFT, .shift = 2 });
	assert_int_equal(report(r).broken, 2);		/* S2 knows no other way to L2 */
	near(report(r).delivered, 1 * GB);		/* while L2 sends all by S1 */
	near(report(r).mean_share, 0.25);
}

/* L1 sends what goes up by a hash over group 1. */
static void
hash_leaf(struct rig *r)
{
	static const uint8_t port[] = { LFT_NO_PORT, 1, 2, 3, 3 };
	struct ar_lft_entry e[AR_LFT_BLOCK] = { { 0 } };
	uint8_t data[SMP_DATA_SIZE];

	for (unsigned i = 0; i < AR_LFT_BLOCK; i++)
		e[i].port = i < sizeof(port) ? port[i] : LFT_NO_PORT;
	for (unsigned i = 3; i < 5; i++) {
		e[i].state = AR_HASH;
		e[i].group = 1;
	}
	ar_lft_encode(e, data);
	assert_true(tree_set(r->m, L1, AR_ATTR_LFT, 0, data));
}

static void
within(double a, double b, double part)
{
	if (fabs(a - b) > part * b)
		fail_msg("%.9g, not %.9g", a, b);
}

/*
 * From S1 on to L2 there is a quarter of a GB/s, from S2 one: h1 and h2 together get 1.25 GB/s to
 * h3 and h4 if a fifth goes by S1, although L1's own links are alike. Evenly, the half that goes by
 * S1 has a quarter to go through, and takes as much as is on the other half.
 */
static void
test_adaptive_narrow(void **state)
{
	struct traffic_spec flow = { .pattern = TRAFFIC_FLOW, .src = H1, .dst = H3 };
	struct rig *r = *state;

	set_table(r, L1, "\1\2\3\3");
	set_table(r, L2, "\3\3\1\2");
	assert_true(tree_adapt_all(r->m));
	r->m->nodes[S1].ports[2].info.width_active = LINK_1X;
	start(r, flow);
	flow.src = H2;
	flow.dst = H4;
	start(r, flow);
	within(report(r).delivered, 1.25 * GB, 0.01);
	within(report(r).min_share, 0.625, 0.01);
	within(report(r).min_rate, 0.625 * GB, 0.01);
	within(report(r).max_load, 1.6, 0.02);
	traffic_split_evenly(r->t, true);
	near(report(r).delivered, 0.5 * GB);
	near(report(r).min_rate, 0.25 * GB);
	near(report(r).max_load, 4);
	traffic_split_evenly(r->t, false);
	within(report(r).delivered, 1.25 * GB, 0.01);
	hash_leaf(r);
	near(report(r).delivered, 0.5 * GB);
}

/*
 * A flow from h4 to h3 takes half of h3's link whatever L1 does, and what h1 may still send there
 * presses on no spine: h2 has all of both but for a half of a GB/s.
 */
static void
test_adaptive_ends(void **state)
{
	struct traffic_spec flow = { .pattern = TRAFFIC_FLOW, .src = H4, .dst = H3 };
	struct traffic_link busy[8];
	struct rig *r = *state;

	set_table(r, L1, "\1\2\3\3");
	set_table(r, L2, "\3\3\1\2");
	assert_true(tree_adapt_all(r->m));
	start(r, flow);
	flow.src = H1;
	start(r, flow);
	flow.src = H2;
	flow.dst = H4;
	start(r, flow);
	near(report(r).min_share, 0.5);
	near(report(r).delivered, 2 * GB);
	for (unsigned i = 0, n = traffic_busiest(r->t, busy, 8); i < n; i++)
		if (busy[i].node == L1 && busy[i].port > 2)
			within(busy[i].carried, 0.75 * GB, 0.01);
}

/* ---- A larger tree ---- */

struct tree {
	struct ibnet *net;	/* made by a recipe */
	struct loop *loop;	/* virtual */
	struct model *m;	/* the fabric */
	struct traffic *t;	/* what is tested */
};

static void
grow(struct tree *t, const char *recipe, bool spread)
{
	struct generate_options o = { 0 };
	struct error e = { 0 };

	if (generate_words(&t->net, recipe, &o, &e) < 0)
		fail_msg("%s", e.text);
	t->loop = loop_new_virtual(1);
	t->m = model_new(t->loop, t->net, NULL);
	tree_bring_up(t->m, spread);
	t->t = traffic_new(t->m);
}

static void
fell(struct tree *t)
{
	traffic_free(t->t);
	model_free(t->m);
	loop_free(t->loop);
	ibnet_free(t->net);
}

static struct traffic_report
try(struct tree *t, struct traffic_spec s)
{
	struct traffic_report r;
	struct error e = { 0 };

	if (traffic_start(t->t, &s, &e) <= 0)
		fail_msg("%s", e.text);
	traffic_report(t->t, &r);
	traffic_stop(t->t, 0, NULL);
	assert_int_equal(r.broken, 0);
	return r;
}

/* Tables that go up by the digits of the destination carry every shift at full rate, and so all
 * hosts to all; those that take the first port up do not, unless the switches adapt. */
static void
test_tree(void **state)
{
	struct traffic_spec all = { .pattern = TRAFFIC_ALL_TO_ALL };
	struct tree t;

	(void)state;
	grow(&t, "ft3 8", true);
	for (uint32_t k = 1; k < 128; k++)
		near(try(&t, (struct traffic_spec){ .pattern = TRAFFIC_SHIFT, .shift = k })
		     .min_share, 1);
	near(try(&t, all).min_share, 1);
	fell(&t);
	grow(&t, "ft3 8", false);
	/* 64 away is another pod: each pod's 16 hosts meet on one link to a spine. */
	near(try(&t, (struct traffic_spec){ .pattern = TRAFFIC_SHIFT, .shift = 64 }).min_share,
	     1. / 16);
	/* 16 sources x 112 destinations on that link, at 1/127 each. */
	near(try(&t, all).max_load, 16. * 112 / 127);
	assert_true(tree_adapt_all(t.m));
	for (uint32_t k = 1; k < 128; k++)
		near(try(&t, (struct traffic_spec){ .pattern = TRAFFIC_SHIFT, .shift = k })
		     .min_share, 1);
	near(try(&t, all).min_share, 1);
	fell(&t);
}

/* Hosts with a device in each of two planes: a ring is one in each plane. */
static void
test_planes(void **state)
{
	struct traffic_report r;
	struct tree t;

	(void)state;
	grow(&t, "multi-plane 2 ft3 4", true);
	r = try(&t, (struct traffic_spec){ .pattern = TRAFFIC_RING });
	assert_int_equal(r.flows, 32);
	r = try(&t, (struct traffic_spec){ .pattern = TRAFFIC_ALL_TO_ALL });
	assert_int_equal(r.flows, 2 * 16 * 15);
	near(r.offered, 32 * 12.5 * GB);
	r = try(&t, (struct traffic_spec){ .pattern = TRAFFIC_INCAST, .dst = 1 });
	assert_int_equal(r.flows, 15);
	r = try(&t, (struct traffic_spec){ .src = 1, .dst = 3 });
	assert_int_equal(r.flows, 1);
	fell(&t);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_good_tables),
		TEST(test_bad_tables),
		TEST(test_incast),
		TEST(test_max_min),
		TEST(test_all_to_all),
		TEST(test_broken),
		TEST(test_lanes),
		TEST(test_no_drift),
		TEST(test_change),
		TEST(test_mtu),
		TEST(test_capacity),
		TEST(test_refused),
		TEST(test_list),
		TEST(test_adaptive), TEST(test_adaptive_narrow), TEST(test_adaptive_ends),
		cmocka_unit_test(test_tree),
		cmocka_unit_test(test_planes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
