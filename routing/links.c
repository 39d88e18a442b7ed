/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/links.h"
#include <stdlib.h>
#include <string.h>
#include "sm/base/mem.h"
#include "sm/fabric/sls.h"

/* A cable that is slower than one beside it carries nothing: its ports are not among the link's. */
struct cable {
	uint32_t to;		/* switch there */
	uint32_t rate;		/* as in fabric_edge */
	uint8_t out;		/* port here */
};

static int
by_far_end(const void *a, const void *b)
{
	const struct cable *x = a, *y = b;

	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	if (x->rate != y->rate)
		return x->rate > y->rate ? -1 : 1;
	return x->out < y->out ? -1 : x->out > y->out;
}

/* The cables of one switch, sorted; returns how many. A cable from it to itself is none. */
static uint32_t
list_cables(const struct fabric *f, uint32_t sw, struct cable *c)
{
	uint32_t len = 0;

	for (uint32_t i = f->edge_first[sw]; i < f->edge_first[sw + 1]; i++)
		if (f->edges[i].to != sw)
			c[len++] = (struct cable){
				f->edges[i].to, f->edges[i].rate_mbps, f->edges[i].out,
			};
	qsort(c, len, sizeof(*c), by_far_end);
	return len;
}

static void
add_cables(struct links *l, uint32_t sw, const struct cable *c, uint32_t len, uint32_t *ports)
{
	uint32_t rate = 0;

	for (uint32_t i = 0; i < len; i++) {
		if (i == 0 || c[i].to != c[i - 1].to) {
			rate = c[i].rate;
			l->port_first[l->len] = *ports;
			l->from[l->len] = sw;
			l->to[l->len++] = c[i].to;
		}
		l->of[l->hub[sw] + c[i].out] = l->len - 1;
		if (c[i].rate == rate)
			l->port[(*ports)++] = c[i].out;
	}
}

void
links_init(struct links *l, const struct fabric *f)
{
	uint32_t edges = f->nedges + 1, hub = 0, ports = 0;
	struct cable *cables = mem_array(edges, sizeof(*cables));

	*l = (struct links){
		.f = f, .n = f->nswitches,
		.first = mem_array(f->nswitches + 1, sizeof(uint32_t)),
		.to = mem_array(edges, sizeof(uint32_t)),
		.from = mem_array(edges, sizeof(uint32_t)),
		.back = mem_array(edges, sizeof(uint32_t)),
		.port_first = mem_array(edges + 1, sizeof(uint32_t)),
		.port = mem_array(edges, 1),
		.hub = mem_array(f->nswitches + 1, sizeof(uint32_t)),
	};
	for (uint32_t sw = 0; sw < l->n; sw++) {
		l->hub[sw] = hub;
		hub += fabric_switch_node(f, sw)->nports + 1u;
	}
	l->of = mem_alloc((hub + 1) * sizeof(*l->of));
	memset(l->of, 0xff, (hub + 1) * sizeof(*l->of));
	for (uint32_t sw = 0; sw < l->n; sw++) {
		l->first[sw] = l->len;
		add_cables(l, sw, cables, list_cables(f, sw, cables), &ports);
	}
	l->first[l->n] = l->len;
	l->port_first[l->len] = ports;
	for (uint32_t i = 0; i < l->len; i++)
		l->back[i] = links_between(l, l->to[i], l->from[i]);
	mem_free(cables);
}

void
links_free(struct links *l)
{
	mem_free(l->first);
	mem_free(l->to);
	mem_free(l->from);
	mem_free(l->back);
	mem_free(l->port_first);
	mem_free(l->port);
	mem_free(l->hub);
	mem_free(l->of);
}

uint32_t
links_between(const struct links *l, uint32_t a, uint32_t b)
{
	uint32_t low = l->first[a], high = l->first[a + 1];

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (l->to[mid] < b)
			low = mid + 1;
		else
			high = mid;
	}
	return low < l->first[a + 1] && l->to[low] == b ? low : LINKS_NONE;
}

unsigned
links_vls(const struct fabric *f, unsigned most)
{
	for (uint32_t sw = 0; sw < f->nswitches; sw++)
		for (uint32_t i = f->edge_first[sw]; i < f->edge_first[sw + 1]; i++) {
			uint8_t out = f->edges[i].out;
			unsigned vls = vls_of_code(fabric_port_at(f, f->switches[sw], out)->vl_cap);

			if (vls && vls < most)
				most = vls;
		}
	return most;
}
