/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/hops.h"
#include "sm/base/mem.h"

/*
 * What engines that route by a rule and by kinds of links leave in a plan: lanes by the ports that
 * packets come in and go out by.
 */
struct port_lanes {
	unsigned lanes;			/* there are */
	unsigned (*lane)(unsigned lanes, unsigned in, unsigned out);	/* the engine's */
	uint32_t *hub;			/* by switch: place of its port 0 in the next two */
	uint8_t *came;			/* by port: kind of its link from the far end, HOPS_START */
	uint8_t *goes;			/* by port: kind of its link from this end */
};

static uint8_t
lane(const struct plan_lanes *l, uint32_t sw, uint8_t in, uint8_t out, uint8_t class)
{
	const struct port_lanes *p = l->state;
	uint32_t hub = p->hub[sw];

	(void)class;
	return p->goes[hub + out] == HOPS_START ? 0 :
	       (uint8_t)p->lane(p->lanes, p->came[hub + in], p->goes[hub + out]);
}

static void
lanes_free(struct plan_lanes *l)
{
	struct port_lanes *p = l->state;

	mem_free(p->hub);
	mem_free(p->came);
	mem_free(p->goes);
	mem_free(p);
	mem_free(l);
}

struct plan_lanes *
hops_lanes(const struct hops *h)
{
	const struct links *links = h->links;
	struct port_lanes *p;
	struct plan_lanes *l;
	uint32_t ports = 0;

	if (h->rule.lanes == 1)
		return NULL;
	p = mem_zalloc(sizeof(*p));
	l = mem_zalloc(sizeof(*l));
	for (uint32_t sw = 0; sw < links->n; sw++)
		ports += fabric_switch_node(links->f, sw)->nports + 1u;
	*p = (struct port_lanes){
		.lanes = h->rule.lanes, .lane = h->rule.kind_lane,
		.hub = mem_array(links->n + 1, sizeof(*p->hub)),
		.came = mem_array(ports + 1, 1), .goes = mem_array(ports + 1, 1),
	};
	for (uint32_t sw = 0; sw < links->n; sw++)
		p->hub[sw] = links->hub[sw];
	for (uint32_t i = 0; i < ports; i++) {
		uint32_t link = links->of[i];

		p->goes[i] = link == LINKS_NONE ? HOPS_START : h->rule.kind[link];
		p->came[i] = link == LINKS_NONE ? HOPS_START : h->rule.kind[links->back[link]];
	}
	*l = (struct plan_lanes){
		.refs = 1, .classes = 1, .lanes = (uint8_t)p->lanes, .lane = lane,
		.free = lanes_free, .state = p,
	};
	return l;
}
