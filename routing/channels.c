/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/channels.h"
#include <string.h>
#include "sm/base/buf.h"
#include "sm/base/mem.h"

/*
 * Cycle search in the channel dependency graph (Dally & Seitz 1987). Depth first with an explicit
 * stack; when an edge closes a cycle, the shortest cycle through its channel is looked for breadth
 * first, because a person has to read it.
 */
enum colour {
	WHITE,		/* not seen */
	GREY,		/* on the stack */
	BLACK,		/* done: leads into no cycle */
};

/* Place in the list of a channel's successors. */
struct cursor {
	uint32_t channel;	/* whose successors */
	uint32_t next;		/* lane x bits of a map + out port to look at next */
};

void
channels_init(struct channels *c, const struct fabric *f, unsigned lanes)
{
	c->f = f;
	c->lanes = lanes;
	c->words = 1;
	c->edge_at = mem_array(f->nports, sizeof(*c->edge_at));
	c->to = mem_array(f->nedges, sizeof(*c->to));
	c->out = mem_array(f->nedges, sizeof(*c->out));
	memset(c->edge_at, 0xff, f->nports * sizeof(*c->edge_at));
	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		const struct fabric_node *n = fabric_switch_node(f, sw);

		for (uint32_t e = f->edge_first[sw]; e < f->edge_first[sw + 1]; e++) {
			c->to[e] = f->edges[e].to;
			c->out[e] = f->edges[e].out;
			c->edge_at[n->first_port + c->out[e]] = e;
		}
		if (n->nports / 64u + 1 > c->words)
			c->words = n->nports / 64u + 1;
	}
	c->bits = NULL;
}

void
channels_open(struct channels *c)
{
	c->bits = mem_array((size_t)c->f->nedges * c->lanes * c->lanes * c->words,
			    sizeof(*c->bits));
}

void
channels_free(struct channels *c)
{
	mem_free(c->edge_at);
	mem_free(c->to);
	mem_free(c->out);
	mem_free(c->bits);
}

/* The next successor; FABRIC_NONE when there is none left. */
static uint32_t
successor(const struct channels *c, struct cursor *at)
{
	uint32_t sw = c->to[at->channel / c->lanes], width = c->words * 64;
	const uint64_t *bits = &c->bits[(size_t)at->channel * c->lanes * c->words];

	while (at->next < c->lanes * width) {
		uint64_t word = bits[at->next / 64] >> at->next % 64;
		uint32_t edge;

		if (!word) {
			at->next = (at->next / 64 + 1) * 64;
			continue;
		}
		at->next += (uint32_t)__builtin_ctzll(word);
		edge = channels_edge(c, sw, (uint8_t)(at->next % width));
		at->next++;
		if (edge != FABRIC_NONE)
			return edge * c->lanes + (at->next - 1) / width;
	}
	return FABRIC_NONE;
}

/* A channel on a cycle that can be reached from `start`; FABRIC_NONE. */
static uint32_t
search_from(const struct channels *c, uint32_t start, uint8_t *colour, struct cursor *stack)
{
	size_t len = 1;

	stack[0] = (struct cursor){ start, 0 };
	colour[start] = GREY;
	while (len) {
		uint32_t next = successor(c, &stack[len - 1]);

		if (next == FABRIC_NONE) {
			colour[stack[--len].channel] = BLACK;
		} else if (colour[next] == GREY) {
			return next;
		} else if (colour[next] == WHITE) {
			colour[next] = GREY;
			stack[len++] = (struct cursor){ next, 0 };
		}
	}
	return FABRIC_NONE;
}

static void
print_channel(const struct channels *c, struct buf *b, uint32_t channel)
{
	uint32_t edge = channel / c->lanes, lo = 0, hi = c->f->nswitches;
	char name[FABRIC_NAME_SIZE];

	while (hi - lo > 1) {		/* the switch in whose rows the edge lies */
		uint32_t mid = lo + (hi - lo) / 2;

		if (c->f->edge_first[mid] <= edge)
			lo = mid;
		else
			hi = mid;
	}
	buf_printf(b, "%s/%u", fabric_node_text(name, c->f, c->f->switches[lo], FABRIC_NAME_LEN),
		   c->f->edges[edge].out);
	if (c->lanes > 1)
		buf_printf(b, " VL %u", channel % c->lanes);
}

static void
print_cycle(const struct channels *c, const uint32_t *cycle, size_t len, char *text, size_t size)
{
	struct buf b = { 0 };
	size_t shown = 0;

	for (; shown < len && b.len + 100 < size; shown++) {
		print_channel(c, &b, cycle[shown]);
		buf_str(&b, " > ");
	}
	if (shown == len)
		print_channel(c, &b, cycle[0]);
	else
		buf_printf(&b, "... (%zu links)", len);
	if (b.len >= size)
		b.len = size - 1;
	memcpy(text, b.data, b.len);
	text[b.len] = '\0';
	buf_free(&b);
}

/* The shortest cycle through a channel that lies on one: in order, the caller's. */
static uint32_t *
shortest(const struct channels *c, uint32_t start, size_t *count)
{
	size_t n = (size_t)c->f->nedges * c->lanes, head = 0, len = 1, links = 1;
	uint32_t *from = mem_array(n, sizeof(*from));
	uint32_t *queue = mem_array(n, sizeof(*queue));
	bool closed = false;

	memset(from, 0xff, n * sizeof(*from));
	queue[0] = start;
	while (head < len && !closed) {
		struct cursor at = { queue[head++], 0 };
		uint32_t next;

		while (!closed && (next = successor(c, &at)) != FABRIC_NONE) {
			if (from[next] != FABRIC_NONE)
				continue;
			from[next] = at.channel;
			closed = next == start;
			if (!closed)
				queue[len++] = next;
		}
	}
	for (uint32_t at = from[start]; at != start; at = from[at])
		links++;
	for (uint32_t i = (uint32_t)links, at = start; i-- > 0;)
		queue[i] = at = from[at];
	mem_free(from);
	*count = links;
	return queue;
}

uint32_t *
channels_find(const struct channels *c, size_t *len)
{
	size_t n = (size_t)c->f->nedges * c->lanes;
	uint8_t *colour = mem_array(n, 1);
	struct cursor *stack = mem_array(n, sizeof(*stack));
	uint32_t found = FABRIC_NONE;

	for (uint32_t i = 0; i < n && found == FABRIC_NONE; i++)
		if (colour[i] == WHITE)
			found = search_from(c, i, colour, stack);
	mem_free(colour);
	mem_free(stack);
	return found != FABRIC_NONE ? shortest(c, found, len) : NULL;
}

bool
channels_cycle(const struct channels *c, char *text, size_t size)
{
	size_t len;
	uint32_t *cycle = channels_find(c, &len);

	text[0] = '\0';
	if (!cycle)
		return false;
	print_cycle(c, cycle, len, text, size);
	mem_free(cycle);
	return true;
}

/* ---- Many questions ---- */

struct channels_search {
	const struct channels *c;	/* borrowed */
	uint8_t *colour;		/* by channel */
	struct cursor *stack;		/* of the search */
};

struct channels_search *
channels_search_new(const struct channels *c)
{
	size_t n = (size_t)c->f->nedges * c->lanes;
	struct channels_search *s = mem_alloc(sizeof(*s));

	*s = (struct channels_search){
		.c = c, .colour = mem_array(n + 1, 1), .stack = mem_array(n + 1, sizeof(*s->stack)),
	};
	return s;
}

void
channels_search_free(struct channels_search *s)
{
	mem_free(s->colour);
	mem_free(s->stack);
	mem_free(s);
}

bool
channels_search_from(struct channels_search *s, const uint32_t *edges, unsigned len)
{
	const struct channels *c = s->c;
	uint32_t found = FABRIC_NONE;

	memset(s->colour, WHITE, (size_t)c->f->nedges * c->lanes);
	for (unsigned i = 0; i < len * c->lanes && found == FABRIC_NONE; i++) {
		uint32_t channel = edges[i / c->lanes] * c->lanes + i % c->lanes;

		if (s->colour[channel] == WHITE)
			found = search_from(c, channel, s->colour, s->stack);
	}
	return found != FABRIC_NONE;
}
