/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/dragonfly.h"
#include "routing/groups.h"
#include "routing/hops.h"
#include "sm/base/mem.h"

/*
 * Second sub-groups in a dragonfly or dragonfly+: a switch's own global links to a third group,
 * from where packets go on by the rows (Valiant's way, over one group).
 *
 * Groups are numbered. Packets to a group may leave those of higher numbers so, and only to groups
 * of lower ones. Whoever is in a group of a lower number than where it goes has no such choice, so
 * that it was sent astray once at most, and never comes back.
 *
 * Lanes are told by the ports that a packet comes in and goes out by, and need be no more: on its
 * way over a third group it takes the lane there that it would take if it ended there, and then
 * waits, for the first lane again, for the link to a group of a higher number. On that lane, or
 * after it, others wait in the same order; whoever starts holds nothing that one of these waits
 * for. So it is for the ways by the rule; where something is lost the proof has the say.
 */
struct longer {
	const struct plan *plan;
	const struct fabric *f;
	struct groups *groups;
	uint32_t *place;	/* by switch: place in groups */
	uint16_t *lid;		/* by switch: the first LID of its hosts; 0: it has none */
};

static uint32_t
group_of(const struct longer *l, uint32_t sw)
{
	return l->groups->group[l->place[sw]];
}

static void
note_homes(struct longer *l)
{
	const struct plan_lids *lids = l->plan->lids;

	l->lid = mem_array(l->f->nswitches + 1u, sizeof(*l->lid));
	for (uint32_t lid = lids->top; lid; lid--)
		if (lids->dest[lid].sw != FABRIC_NONE && lids->dest[lid].out)
			l->lid[lids->dest[lid].sw] = (uint16_t)lid;
}

static uint32_t
rate_of(const struct longer *l, uint32_t sw, unsigned port)
{
	for (uint32_t e = l->f->edge_first[sw]; e < l->f->edge_first[sw + 1]; e++)
		if (l->f->edges[e].out == port)
			return l->f->edges[e].rate_mbps;
	return 0;
}

/* Global links to groups below `home`'s. */
static struct ar_ports
ports_below(const struct longer *l, uint32_t sw, uint32_t home, uint32_t rate)
{
	uint32_t here = group_of(l, sw), there = group_of(l, home);
	struct ar_ports ports = { { 0 } };

	for (uint32_t e = l->f->edge_first[sw]; here > there && e < l->f->edge_first[sw + 1]; e++) {
		const struct fabric_edge *edge = &l->f->edges[e];

		if (edge->to != sw && alternatives_open(l->plan, edge) && edge->rate_mbps == rate &&
		    group_of(l, edge->to) < there)
			ar_ports_add(&ports, edge->out);
	}
	return ports;
}

/* Ways of a set that are over a third group, though no longer than others, are for the second part
 * if they are for any. */
static struct ar_ports
without_third(const struct longer *l, uint32_t sw, uint32_t home, uint8_t row,
	      const struct ar_ports *set)
{
	uint32_t here = group_of(l, sw), there = group_of(l, home);
	struct ar_ports ports = { { 0 } };

	for (uint32_t e = l->f->edge_first[sw]; e < l->f->edge_first[sw + 1]; e++) {
		const struct fabric_edge *edge = &l->f->edges[e];
		uint32_t to = group_of(l, edge->to);

		if (ar_ports_has(set, edge->out) &&
		    (edge->out == row || to == here || to == there))
			ar_ports_add(&ports, edge->out);
	}
	return ports;
}

/* All LIDs of the home by one port: a set of its own, if that is to have a second part. */
static bool
one_port(const struct longer *l, uint32_t sw, uint32_t home, uint8_t *port)
{
	const struct plan_lids *lids = l->plan->lids;
	const struct plan_row *row = l->plan->rows[sw];

	*port = plan_row_port(row, l->lid[home]);
	for (uint32_t lid = l->lid[home]; lid <= lids->top; lid++)
		if (lids->dest[lid].sw == home && lids->dest[lid].out &&
		    plan_row_port(row, lid) != *port)
			return false;
	return *port != LFT_NO_PORT;
}

static void
add_second(const struct longer *l, uint32_t sw, const struct plan_ar_switch *from,
	   struct plan_ar_switch *to)
{
	for (uint32_t home = 0; home < l->f->nswitches; home++) {
		unsigned set = from->table[0].group[home];
		struct ar_ports ports[2] = { { { 0 } } };
		uint8_t port = plan_row_port(l->plan->rows[sw], l->lid[home]);

		if (!l->lid[home] || home == sw)
			continue;
		if (set)
			ports[0] = without_third(l, sw, home, port, plan_ar_ports(from, set, 0));
		ports[1] = ports_below(l, sw, home, rate_of(l, sw, port));
		for (unsigned w = 0; w < 4; w++)
			ports[1].word[w] &= ~ports[0].word[w];
		if (!set && one_port(l, sw, home, &port))
			ar_ports_add(&ports[0], port);
		if (ar_ports_count(&ports[0]) > 1 ||
		    (ar_ports_count(&ports[0]) && ar_ports_count(&ports[1])))
			to->table[0].group[home] = alternatives_set(to, ports);
	}
}

void
dragonfly_longer(const struct plan *plan, const bool *wanted, struct plan_ar_switch **out)
{
	struct longer l = { .plan = plan, .f = plan->fabric,
			    .groups = hops_shape_of(plan->memo, &engine_dragonfly) };
	struct links links;

	links_init(&links, plan->fabric);
	if (l.groups && groups_fit(l.groups, &links, &l.place)) {
		note_homes(&l);
		for (uint32_t sw = 0; sw < l.f->nswitches; sw++) {
			struct plan_ar_switch *s;

			if (!wanted[sw] || !out[sw])
				continue;
			s = plan_ar_switch_new(l.f->nswitches, 0, 2, 1);
			add_second(&l, sw, out[sw], s);
			plan_ar_switch_unref(out[sw]);
			out[sw] = s;
		}
		mem_free(l.lid);
		mem_free(l.place);
	}
	links_free(&links);
}
