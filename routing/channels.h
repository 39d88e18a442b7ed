/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROUTING_CHANNELS_H
#define ROUTING_CHANNELS_H

#include "routing/check.h"

/*
 * The channel dependency graph. A channel is one direction of a link between switches on one lane:
 * number = edge x lanes + lane. Links to and from channel adapters are left out: nothing waits
 * behind the one, nothing leads into the other, so no cycle holds them.
 */
struct channels {
	const struct fabric *f;		/* whose links */
	uint32_t *edge_at;		/* by port index: edge that leaves there, FABRIC_NONE */
	uint64_t *bits;			/* by channel, lane there: bitmap of out ports; NULL at
					 * first */
	uint32_t *to;			/* by edge: switch it leads to */
	uint8_t *out;			/* by edge: its out port */
	unsigned words;			/* of one bitmap: as few as the largest switch needs */
	unsigned lanes;			/* lanes of each link */
};

/* The index of edges only. */
void
channels_init(struct channels *c, const struct fabric *f, unsigned lanes);
/* Room for dependencies; none are there yet. */
void
channels_open(struct channels *c);
void
channels_free(struct channels *c);
/* Look for a cycle: false if there is none, else a short one is described in text. */
bool
channels_cycle(const struct channels *c, char *text, size_t size);
/* The same as a list of channels, each waiting for the next, and the last for the first; NULL:
 * there is none. The caller frees it. */
uint32_t *
channels_find(const struct channels *c, size_t *len);
/* Is there one that can be reached from a lane of these edges? For many questions of one graph. */
struct channels_search;
struct channels_search *
channels_search_new(const struct channels *c);
void
channels_search_free(struct channels_search *s);
bool
channels_search_from(struct channels_search *s, const uint32_t *edges, unsigned len);

static inline uint32_t
channels_edge(const struct channels *c, uint32_t sw, uint8_t out)
{
	const struct fabric_node *n = fabric_switch_node(c->f, sw);

	return out <= n->nports ? c->edge_at[n->first_port + out] : FABRIC_NONE;
}

/* A packet that came over `edge` on lane `from` may wait for `out` on lane `to`. Any thread. */
static inline void
channels_add(const struct channels *c, uint32_t edge, unsigned from, uint8_t out, unsigned to)
{
	size_t map = ((size_t)edge * c->lanes + from) * c->lanes + to;
	uint64_t *word = &c->bits[map * c->words + out / 64];
	uint64_t bit = (uint64_t)1 << out % 64;

	/* Nearly always it is there already: looking first spares the bus. */
	if (!(__atomic_load_n(word, __ATOMIC_RELAXED) & bit))
		__atomic_fetch_or(word, bit, __ATOMIC_RELAXED);
}

/* May what is held on channel `from` wait for channel `to`, on a link that follows? The word that
 * says so, and its bit. */
static inline uint64_t *
channels_word(const struct channels *c, uint32_t from, uint32_t to, uint64_t *bit)
{
	uint8_t out = c->out[to / c->lanes];
	size_t map = (size_t)from * c->lanes + to % c->lanes;

	*bit = (uint64_t)1 << out % 64;
	return &c->bits[map * c->words + out / 64];
}

#endif
