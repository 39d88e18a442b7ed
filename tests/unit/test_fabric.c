/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include "sm/fabric/event.h"
#include "tests/unit/route_help.h"

/* The snapshot builder, the way between snapshots and ibnetdiscover text, the ring of events. */

static void
test_order(void **state)
{
	struct fabric_builder *b = fabric_builder_new();
	uint32_t s2 = help_switch(b, 0x20, 4, "s2");
	uint32_t ca = help_node(b, NODE_CA, 0x15, 2, "ca");
	uint32_t s1 = help_switch(b, 0x10, 4, "s1");
	uint32_t again = help_switch(b, 0x20, 8, "impostor");
	struct fabric *f;

	(void)state;
	help_cable(b, s2, 3, s1, 1, 50000);
	help_cable(b, s2, 4, s1, 2, 25000);
	fabric_add_link(b, ca, 1, s1, 4);
	fabric_add_link(b, ca, 2, s2, 1);
	fabric_add_link(b, ca, 2, s2, 2);	/* port 2 is taken: the first cable stays */
	fabric_add_link(b, again, 5, s2, 2);	/* the impostor is left out, and its cable */
	fabric_set_sm(b, ca, 2);
	f = fabric_build(b, 7);
	assert_int_equal(f->nnodes, 3);
	assert_int_equal(f->nswitches, 2);
	assert_int_equal(f->ncas, 1);
	assert_int_equal(f->nlinks, 4);
	assert_int_equal(f->nedges, 4);
	assert_int_equal(f->nports, 5 + 3 + 5);
	assert_int_equal(f->generation, 7);
	assert_string_equal(f->nodes[0].name, "s1");
	assert_string_equal(f->nodes[1].name, "ca");
	assert_string_equal(f->nodes[2].name, "s2");
	assert_int_equal(f->nodes[2].nports, 4);
	assert_int_equal(f->nodes[1].sw, FABRIC_NONE);
	assert_int_equal(f->nodes[2].sw, 1);
	assert_int_equal(f->nodes[2].first_port, 8);
	assert_int_equal(f->ports[8 + 1].peer, 5 + 2);
	assert_int_equal(f->ports[8 + 2].peer, FABRIC_NONE);
	assert_int_equal(f->ports[5].guid, 0);
	assert_int_equal(f->sm_port, 5 + 2);
	assert_int_equal(f->edge_first[1], 2);
	assert_int_equal(f->edges[2].to, 0);
	assert_int_equal(f->edges[2].out, 3);
	assert_int_equal(f->edges[2].in, 1);
	assert_int_equal(f->edges[2].rate_mbps, 50000);
	assert_int_equal(f->edges[1].rate_mbps, 25000);
	assert_int_equal(fabric_node_by_guid(f, 0x15), 1);
	assert_int_equal(fabric_node_by_guid(f, 0x16), FABRIC_NONE);
	assert_int_equal(fabric_port_by_guid(f, 0x17), 5 + 2);
	assert_int_equal(fabric_port_by_guid(f, 0x20), 8);
	assert_int_equal(fabric_port_by_guid(f, 0), FABRIC_NONE);
	fabric_unref(fabric_ref(f));
	fabric_unref(f);
}

static void
test_odd_links(void **state)
{
	struct fabric_builder *b = fabric_builder_new();
	uint32_t s = help_switch(b, 1, 6, "s"), t = help_switch(b, 2, 6, "t");
	struct fabric *f;

	(void)state;
	fabric_add_link(b, s, 1, s, 2);		/* a loop cable */
	fabric_add_link(b, s, 3, s, 3);		/* a loopback plug */
	fabric_add_port(b, t, 4, &(struct fabric_port){ .state = PORT_DOWN, .rate_mbps = 9 });
	fabric_add_link(b, s, 4, t, 4);		/* one end is down */
	fabric_add_link(b, s, 7, t, 1);		/* no such port */
	fabric_add_link(b, s, 0, t, 1);		/* not a physical port */
	fabric_add_link(b, s, 5, 77, 1);	/* no such node */
	f = fabric_build(b, 1);
	assert_int_equal(f->nlinks, 2);
	assert_int_equal(f->nedges, 3);
	assert_int_equal(f->ports[1].peer, 2);
	assert_int_equal(f->ports[3].peer, 3);
	assert_int_equal(f->ports[4].peer, FABRIC_NONE);
	assert_int_equal(f->ports[7 + 4].rate_mbps, 0);
	fabric_unref(f);
}

static void
test_empty(void **state)
{
	struct fabric *f = fabric_build(fabric_builder_new(), 1);

	(void)state;
	assert_int_equal(f->nnodes, 0);
	assert_int_equal(f->edge_first[0], 0);
	assert_int_equal(f->sm_port, FABRIC_NONE);
	assert_int_equal(fabric_node_by_guid(f, 1), FABRIC_NONE);
	fabric_unref(f);
	fabric_unref(NULL);
}

static void
test_text(void **state)
{
	struct fabric *f = help_generate("ft2 3 2 4 2", true, 5), *g;
	struct ibnet *net;

	(void)state;
	assert_non_null(f);
	assert_int_equal(f->nswitches, 5);
	assert_int_equal(f->ncas, 12);
	assert_int_equal(f->nlinks, 12 + 3 * 2 * 2);
	assert_int_equal(f->nedges, 2 * 12);
	assert_int_equal(f->edges[0].rate_mbps, 100000);
	net = fabric_to_ibnet(f);
	g = fabric_from_ibnet(net);
	assert_int_equal(g->nports, f->nports);
	for (uint32_t i = 0; i < f->nnodes; i++) {
		assert_int_equal(g->nodes[i].guid, f->nodes[i].guid);
		assert_string_equal(g->nodes[i].desc, f->nodes[i].desc);
	}
	for (uint32_t i = 0; i < f->nports; i++) {
		assert_int_equal(g->ports[i].peer, f->ports[i].peer);
		assert_int_equal(g->ports[i].rate_mbps, f->ports[i].rate_mbps);
		assert_int_equal(g->ports[i].guid, f->ports[i].guid);
	}
	ibnet_free(net);
	fabric_unref(f);
	fabric_unref(g);
}

/* A real fabric of 2007: two switches, two parallel cables of which one end reports 1x, LMC 1. */
static void
test_real(void **state)
{
	char path[300];
	const char *file = help_shared(path, sizeof(path), "sdr_2sw_par2_lmc1_2007.ibnd");
	struct fabric *f;
	uint32_t sw;

	(void)state;
	if (!file)
		skip();
	f = help_read(file);
	assert_non_null(f);
	assert_int_equal(f->nswitches, 2);
	assert_int_equal(f->ncas, 4);
	assert_int_equal(f->nedges, 4);
	sw = fabric_node_by_guid(f, 0x5442ba00003080);
	assert_int_not_equal(sw, FABRIC_NONE);
	assert_int_equal(fabric_port_at(f, sw, 0)->lid, 6);
	assert_int_equal(fabric_port_at(f, sw, 6)->rate_mbps, 8000);
	assert_int_equal(fabric_port_at(f, sw, 10)->rate_mbps, 2000);
	sw = fabric_port_by_guid(f, 0x8f1040396055a);
	assert_int_not_equal(sw, FABRIC_NONE);
	assert_int_equal(f->ports[sw].lid, 14);
	assert_int_equal(f->ports[sw].lmc, 1);
	fabric_unref(f);
}

static void
count_event(void *arg, const struct event *ev)
{
	uint64_t *last = arg;

	assert_int_equal(ev->sequence, *last + 1);
	*last = ev->sequence;
}

static void
test_events(void **state)
{
	struct event_ring *r = event_ring_new(4, 1);
	struct event ev = { .type = EVENT_LINK_DOWN, .level = LOG_L_DEBUG, .text = "gone" };
	uint64_t last = 0, other = 0;

	(void)state;
	event_ring_sink(r, count_event, &last);
	event_sink_free(event_ring_sink(r, count_event, NULL));
	event_ring_sink(r, count_event, &other);
	assert_int_equal(event_last(r), 0);
	assert_int_equal(event_oldest(r), 1);
	assert_null(event_get(r, 1));
	for (unsigned i = 0; i < 6; i++) {
		ev.lid = (uint16_t)(i + 1);
		event_ring_add(r, &ev);
	}
	assert_int_equal(last, 6);
	assert_int_equal(other, 6);
	assert_int_equal(event_last(r), 6);
	assert_int_equal(event_oldest(r), 3);
	assert_null(event_get(r, 2));
	assert_null(event_get(r, 7));
	assert_int_equal(event_get(r, 3)->lid, 3);
	assert_int_equal(event_get(r, 6)->lid, 6);
	assert_string_equal(event_get(r, 6)->text, "gone");
	assert_string_equal(event_type_name(EVENT_LINK_DOWN), "link-down");
	event_ring_free(r);
	r = event_ring_new(4, 100);
	event_ring_add(r, &ev);
	assert_int_equal(event_last(r), 100);
	assert_int_equal(event_oldest(r), 100);
	event_ring_free(r);
}

/* Without a cable: its ends remember each other, all indices stay, all else is as it was. */
static void
test_cut(void **state)
{
	struct ibnet *net = NULL;
	struct fabric *f, *g;
	bool *cut;
	uint32_t port = 0;
	struct error e = { 0 };

	(void)state;
	assert_int_equal(generate_words(&net, "ft2 2 2 2", &(struct generate_options){ 0 }, &e), 0);
	f = fabric_from_ibnet(net);
	while (f->ports[port].peer == FABRIC_NONE ||
	       f->nodes[f->ports[port].node].sw == FABRIC_NONE ||
	       f->nodes[f->ports[f->ports[port].peer].node].sw == FABRIC_NONE)
		port++;
	cut = mem_array(f->nports, sizeof(*cut));
	cut[f->ports[port].peer] = true;
	g = fabric_cut(f, cut, FABRIC_PORT_DRAINED, 9);
	assert_int_equal(g->nnodes, f->nnodes);
	assert_int_equal(g->nports, f->nports);
	assert_int_equal(g->nlinks, f->nlinks - 1);
	assert_int_equal(g->nedges, f->nedges - 2);
	assert_int_equal(g->generation, 9);
	assert_int_equal(g->ports[port].peer, FABRIC_NONE);
	assert_int_equal(g->ports[port].flags, FABRIC_PORT_DRAINED);
	assert_int_equal(g->ports[port].state, f->ports[port].state);
	assert_int_equal(g->ports[port].lost_peer,
			 f->nodes[f->ports[f->ports[port].peer].node].guid);
	assert_int_equal(g->ports[port].lost_number, f->ports[f->ports[port].peer].number);
	assert_int_equal(g->ports[f->ports[port].peer].lost_number, f->ports[port].number);
	/* The cable is up, and a cable to whoever asks for that. */
	assert_int_equal(fabric_cable_end(g, port), f->ports[port].peer);
	assert_int_equal(fabric_cable_end(g, f->ports[port].peer), port);
	assert_int_equal(fabric_drained_links(g), 1);
	for (uint32_t i = 0; i < f->nports; i++) {
		assert_int_equal(g->ports[i].guid, f->ports[i].guid);
		assert_int_equal(fabric_cable_end(g, i), f->ports[i].peer);
		if (i != port && i != f->ports[port].peer)
			assert_int_equal(g->ports[i].peer, f->ports[i].peer);
	}
	mem_free(cut);
	fabric_unref(g);
	fabric_unref(f);
	ibnet_free(net);
}

/* A GUID follows where a name alone does not tell. */
static void
test_node_text(void **state)
{
	struct fabric_builder *b = fabric_builder_new();
	char text[FABRIC_NAME_SIZE], name[100];
	struct fabric *f;

	(void)state;
	memset(name, 'x', sizeof(name));
	name[99] = '\0';
	help_switch(b, 1, 4, "spine");
	help_switch(b, 2, 4, "leaf");
	help_switch(b, 3, 4, "spine");
	help_switch(b, 4, 4, name);
	f = fabric_build(b, 1);
	assert_string_equal(fabric_node_text(text, f, 0, 80), "spine (0x0000000000000001)");
	assert_string_equal(fabric_node_text(text, f, 1, 80), "leaf");
	assert_string_equal(fabric_node_text(text, f, 2, 3), "spi (0x0000000000000003)");
	assert_int_equal(strlen(fabric_node_text(text, f, 3, FABRIC_NAME_LEN)), 80);
	fabric_unref(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order), cmocka_unit_test(test_odd_links),
		cmocka_unit_test(test_empty), cmocka_unit_test(test_text),
		cmocka_unit_test(test_real), cmocka_unit_test(test_events),
		cmocka_unit_test(test_cut), cmocka_unit_test(test_node_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
