/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_TREE_FAULT_H
#define TESTS_TREE_FAULT_H

#include "routing/engine.h"
#include "tests/unit/route_help.h"

/*
 * Faults as a snapshot shows them: a cable that is out leaves its ends remembering each other, a
 * node that is off leaves its neighbours remembering it. State of a whole fabric: by port index,
 * whether its cable is out, and by node index whether it is off.
 */
struct tree_fault {
	const struct fabric *whole;	/* borrowed */
	bool *out;			/* by port index: of either end */
	bool *off;			/* by node index */
	uint64_t generation;		/* of the last snapshot */
};

static inline void
fault_init(struct tree_fault *t, const struct fabric *whole)
{
	*t = (struct tree_fault){
		.whole = whole, .out = mem_array(whole->nports, sizeof(bool)),
		.off = mem_array(whole->nnodes, sizeof(bool)),
		.generation = whole->generation,
	};
}

static inline void
fault_free(struct tree_fault *t)
{
	mem_free(t->out);
	mem_free(t->off);
}

static inline void
fault_cable(struct tree_fault *t, uint32_t port, bool out)
{
	t->out[port] = t->out[t->whole->ports[port].peer] = out;
}

static inline bool
fault_is_lost(const struct tree_fault *t, uint32_t port)
{
	const struct fabric_port *p = &t->whole->ports[port];

	return p->peer != FABRIC_NONE && (t->out[port] || t->off[p->node] ||
					  t->off[t->whole->ports[p->peer].node]);
}

static inline void
fault_add_port(const struct tree_fault *t, struct fabric_builder *b, uint32_t handle, uint32_t port)
{
	const struct fabric *f = t->whole;
	struct fabric_port p = f->ports[port];

	if (fault_is_lost(t, port)) {
		const struct fabric_port *far = &f->ports[p.peer];

		p.state = PORT_DOWN;
		p.lost_peer = f->nodes[far->node].guid;
		p.lost_number = far->number;
		p.lost_type = f->nodes[far->node].type;
	}
	fabric_add_port(b, handle, p.number, &p);
}

/* The snapshot of today. */
static inline struct fabric *
fault_fabric(struct tree_fault *t)
{
	struct fabric_builder *b = fabric_builder_new();
	const struct fabric *f = t->whole;
	uint32_t *handle = mem_array(f->nnodes, sizeof(*handle));

	for (uint32_t n = 0; n < f->nnodes; n++) {
		if (t->off[n])
			continue;
		handle[n] = fabric_add_node(b, &f->nodes[n]);
		for (unsigned i = 0; i <= f->nodes[n].nports; i++)
			fault_add_port(t, b, handle[n], f->nodes[n].first_port + i);
	}
	for (uint32_t i = 0; i < f->nports; i++) {
		const struct fabric_port *p = &f->ports[i];

		if (p->peer == FABRIC_NONE || p->peer < i || fault_is_lost(t, i))
			continue;
		fabric_add_link(b, handle[p->node], p->number, handle[f->ports[p->peer].node],
				f->ports[p->peer].number);
	}
	mem_free(handle);
	return fabric_build(b, ++t->generation);
}

/* LIDs that each port has in the whole fabric, on a snapshot of today. */
static inline struct plan_lids *
fault_lids(const struct tree_fault *t, const struct plan_lids *whole, const struct fabric *f)
{
	struct plan_lids *l = plan_lids_new(f);

	for (uint32_t n = 0; n < f->nnodes; n++) {
		uint32_t was = fabric_node_by_guid(t->whole, f->nodes[n].guid);

		for (unsigned i = 0; i <= f->nodes[n].nports; i++) {
			uint32_t now = f->nodes[n].first_port + i;

			l->base[now] = whole->base[t->whole->nodes[was].first_port + i];
			l->lmc[now] = whole->lmc[t->whole->nodes[was].first_port + i];
		}
	}
	plan_lids_index(l, f);
	return l;
}

/* What engine fattree makes of the tree as it is, proved. */
static inline struct plan *
fault_route(struct tree_fault *t, const struct plan_lids *lids, const struct plan *previous,
	    unsigned threads, bool full)
{
	static const char *const names[] = { "fattree", NULL };
	struct chain_options o = {
		.engines = names, .engine = { .threads = threads, .full = full },
	};
	struct fabric *f = fault_fabric(t);
	struct plan *p = plan_new(f);
	struct error e = { 0 };

	p->lids = fault_lids(t, lids, f);
	if (engine_chain(p, NULL, previous, &o, &e)) {
		fprintf(stderr, "%s\n", e.text);
		abort();
	}
	fabric_unref(f);
	return p;
}

#endif
