/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_ADAPTIVE_JUDGE_H
#define TESTS_ADAPTIVE_JUDGE_H

#include "sm/base/mem.h"
#include "sm/fabric/plan.h"

/*
 * Rows and groups, judged by packets: from every switch with hosts, on each path class, a packet to
 * every host may take the port of the row or any port of the group, at each switch anew. It must
 * arrive whatever it takes, and what it holds and waits for on the way must close no circle. Or
 * from every switch, to all LIDs.
 */
struct ways_judged {
	uint64_t pairs;		/* (switch with hosts, LID of a host) */
	uint64_t lost;		/* of them: some way ends, or goes round */
	uint64_t spread;	/* of them: there is more than one port at the first switch */
	bool circle;		/* some packets may wait for each other for ever */
};

struct ways_judge {
	const struct plan *p;
	const struct fabric *f;
	unsigned lanes;
	uint8_t *seen;		/* by (edge, lane): of the present packet: 1 on the way, 2 done */
	uint8_t *waits;		/* bits by (edge, lane) and (edge, lane) */
	bool bad;		/* some way does not arrive */
};

static inline uint32_t
ways_edge(const struct ways_judge *j, uint32_t sw, unsigned port)
{
	for (uint32_t e = j->f->edge_first[sw]; e < j->f->edge_first[sw + 1]; e++)
		if (j->f->edges[e].out == port)
			return e;
	return FABRIC_NONE;
}

static inline void
ways_from(struct ways_judge *j, uint32_t sw, unsigned in, uint32_t held, uint16_t lid,
	  uint8_t class)
{
	const struct plan_dest *d = &j->p->lids->dest[lid];
	const struct plan_ar_switch *s = j->p->adaptive ? j->p->adaptive->sw[sw] : NULL;
	uint8_t row = plan_row_port(j->p->rows[sw], lid);
	struct ar_ports all = { { 0 } };

	if (sw == d->sw) {
		j->bad |= row != d->out;
		return;
	}
	if (s)
		all = plan_ar_choices(s, s->table_of[in], d, row);
	ar_ports_add(&all, row);
	for (unsigned port = 0; port < 256; port++) {
		uint32_t e = ar_ports_has(&all, port) ? ways_edge(j, sw, port) : 0;
		uint32_t at;
		size_t bit;

		if (!ar_ports_has(&all, port))
			continue;
		if (e == FABRIC_NONE) {
			j->bad = true;
			return;
		}
		at = e * j->lanes;
		if (j->p->lanes && j->p->lanes->lane)
			at += j->p->lanes->lane(j->p->lanes, sw, (uint8_t)in, (uint8_t)port, class);
		bit = (size_t)(held == FABRIC_NONE ? 0 : held) * j->f->nedges * j->lanes + at;
		if (held != FABRIC_NONE)
			j->waits[bit / 8] |= (uint8_t)(1u << bit % 8);
		if (j->seen[at] == 1)
			j->bad = true;
		if (j->seen[at])
			continue;
		j->seen[at] = 1;
		ways_from(j, j->f->edges[e].to, j->f->edges[e].in, at, lid, class);
		j->seen[at] = 2;
	}
}

static inline bool
ways_circle(struct ways_judge *j)
{
	uint32_t n = j->f->nedges * j->lanes, left = n;
	uint8_t *gone = mem_array(n, 1);
	bool again = true;

	/* Take away what waits for nothing that is left, as long as there is any. */
	while (again) {
		again = false;
		for (uint32_t a = 0; a < n; a++) {
			bool waits = false;

			for (uint32_t b = 0; !gone[a] && b < n && !waits; b++) {
				size_t bit = (size_t)a * n + b;

				waits = !gone[b] && j->waits[bit / 8] >> bit % 8 & 1;
			}
			if (gone[a] || waits)
				continue;
			gone[a] = 1;
			left--;
			again = true;
		}
	}
	mem_free(gone);
	return left != 0;
}

/* One packet. */
static inline void
ways_pair(struct ways_judge *j, struct ways_judged *r, uint32_t sw, unsigned in, uint16_t lid)
{
	const struct plan *p = j->p;
	const struct plan_dest *d = &p->lids->dest[lid];
	const struct plan_ar_switch *s = p->adaptive ? p->adaptive->sw[sw] : NULL;
	struct ar_ports all = { { 0 } };
	uint8_t class = 0;

	if (p->lanes && p->lanes->path_class)
		class = p->lanes->path_class(p->lanes, sw, d->sw);
	memset(j->seen, 0, (size_t)j->f->nedges * j->lanes);
	j->bad = false;
	ways_from(j, sw, in, FABRIC_NONE, lid, class);
	r->pairs++;
	r->lost += j->bad;
	if (s)
		all = plan_ar_choices(s, s->table_of[in], d, plan_row_port(p->rows[sw], lid));
	r->spread += (all.word[0] | all.word[1] | all.word[2] | all.word[3]) != 0;
}

static inline bool
ways_begin(const struct ways_judge *j, uint32_t sw, unsigned in)
{
	uint32_t peer = in ? fabric_port_at(j->f, j->f->switches[sw], in)->peer : FABRIC_NONE;

	return peer != FABRIC_NONE && j->f->nodes[j->f->ports[peer].node].sw == FABRIC_NONE;
}

static inline struct ways_judged
ways_judge_some(const struct plan *p, bool all)
{
	struct ways_judge j = { .p = p, .f = p->fabric };
	struct ways_judged r = { 0 };
	size_t n;

	j.lanes = p->lanes && p->lanes->lanes ? p->lanes->lanes : 1;
	n = (size_t)j.f->nedges * j.lanes;
	j.seen = mem_array(n + 1, 1);
	j.waits = mem_array(n * n / 8 + 1, 1);
	for (uint32_t sw = 0; sw < j.f->nswitches; sw++)
		for (unsigned in = 0; in <= fabric_switch_node(j.f, sw)->nports; in++) {
			if (!ways_begin(&j, sw, in) && !(all && !in))
				continue;
			for (uint16_t lid = 1; lid <= p->lids->top; lid++) {
				const struct plan_dest *d = &p->lids->dest[lid];

				if (d->port != FABRIC_NONE && d->sw != FABRIC_NONE &&
				    d->sw != sw && (all || d->out))
					ways_pair(&j, &r, sw, in, lid);
			}
			if (!all)
				break;	/* one host of a switch stands for all */
		}
	r.circle = ways_circle(&j);
	mem_free(j.seen);
	mem_free(j.waits);
	return r;
}

static inline struct ways_judged
ways_judge(const struct plan *p)
{
	return ways_judge_some(p, false);
}

#endif
