/* SPDX-License-Identifier: BSD-2-Clause */
#include "offline/trees.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sm/base/mem.h"

/*
 * Multicast of a foreign subnet manager. A switch sends a packet of a multicast LID out by all
 * ports that its table has for it, but the one it came in by. Members hang on the ports that lead
 * to hosts (port 0: the switch itself). A packet of one must reach all others, no switch twice, and
 * no switch that does not know the MLID.
 */
struct walk {
	const struct fabric *f;
	struct trees *t;		/* what is found goes there */
	struct check_tree **at;		/* by switch: its part of the present tree; NULL */
	uint32_t *queue;		/* switches to follow */
	uint32_t *seen;			/* by switch: number of the walk that came by */
	uint8_t *in;			/* by switch: port by which it came */
	uint32_t number;		/* of the present walk */
	uint16_t mlid;			/* of the present tree */
};

static bool
has_port(const uint64_t *ports, unsigned port)
{
	return ports[port / 64] >> port % 64 & 1;
}

/* Switch behind a port, FABRIC_NONE: a host or nothing. */
static uint32_t
next_switch(const struct fabric *f, uint32_t sw, unsigned port, unsigned *in)
{
	uint32_t peer = f->ports[fabric_switch_node(f, sw)->first_port + port].peer;

	if (port == 0 || peer == FABRIC_NONE)
		return FABRIC_NONE;
	*in = f->ports[peer].number;
	return f->nodes[f->ports[peer].node].sw;
}

/* Does a member hang on the switch? */
static bool
has_member(const struct walk *w, uint32_t sw)
{
	const struct fabric_node *n = fabric_switch_node(w->f, sw);
	unsigned in;

	for (unsigned i = 0; i <= n->nports; i++)
		if (has_port(w->at[sw]->out, i) && next_switch(w->f, sw, i, &in) == FABRIC_NONE &&
		    (!i || w->f->ports[n->first_port + i].peer != FABRIC_NONE))
			return true;
	return false;
}

static void
note(struct walk *w, const char *what, uint32_t from, uint32_t sw)
{
	if (!w->t->first[0])
		snprintf(w->t->first, sizeof(w->t->first), "multicast LID 0x%x: packets from "
			 "members on %.80s %s %.80s", w->mlid,
			 fabric_switch_node(w->f, from)->name, what,
			 fabric_switch_node(w->f, sw)->name);
}

/* True if the packets come to a switch for the second time. */
static bool
step(struct walk *w, uint32_t from, uint32_t sw, uint32_t *len)
{
	const struct fabric_node *n = fabric_switch_node(w->f, sw);
	bool twice = false;
	unsigned in = 0;

	for (unsigned i = 1; i <= n->nports; i++) {
		uint32_t next;

		if (i == w->in[sw] || !has_port(w->at[sw]->out, i) ||
		    (next = next_switch(w->f, sw, i, &in)) == FABRIC_NONE)
			continue;
		if (!w->at[next]) {
			w->t->unreached++;
			note(w, "end without a table entry at", from, next);
			continue;
		}
		if (w->seen[next] == w->number) {
			twice = true;
			note(w, "come twice to", from, next);
			continue;
		}
		w->seen[next] = w->number;
		w->in[next] = (uint8_t)in;
		w->queue[(*len)++] = next;
	}
	return twice;
}

static void
walk_from(struct walk *w, uint32_t from)
{
	uint32_t len = 1;
	bool twice = false;

	w->number++;
	w->queue[0] = from;
	w->seen[from] = w->number;
	w->in[from] = 0;
	for (uint32_t i = 0; i < len; i++)
		twice |= step(w, from, w->queue[i], &len);
	w->t->loops += twice;
}

static void
check_tree(struct walk *w, struct check_tree *list, uint32_t len)
{
	uint32_t *members = mem_array(len, sizeof(*members)), n = 0;

	for (uint32_t i = 0; i < len; i++)
		if (has_member(w, list[i].sw))
			members[n++] = list[i].sw;
	for (uint32_t i = 0; i < n; i++) {
		walk_from(w, members[i]);
		for (uint32_t k = 0; k < n; k++) {
			if (w->seen[members[k]] == w->number)
				continue;
			w->t->unreached++;
			note(w, "do not reach those on", members[i], members[k]);
		}
	}
	mem_free(members);
}

/* By which ports packets come in: those by which neighbours in the tree send, and members' own. */
static void
find_inlets(const struct walk *w, struct check_tree *list, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++) {
		uint32_t sw = list[i].sw;
		unsigned in = 0;

		for (unsigned out = 1; out <= fabric_switch_node(w->f, sw)->nports; out++) {
			uint32_t next = next_switch(w->f, sw, out, &in);

			if (has_port(list[i].out, out) && next != FABRIC_NONE && w->at[next])
				w->at[next]->in[in / 64] |= (uint64_t)1 << in % 64;
		}
	}
}

static int
by_mlid(const void *a, const void *b)
{
	const struct mfts_entry *const *x = a, *const *y = b;

	if ((*x)->mlid != (*y)->mlid)
		return (*x)->mlid < (*y)->mlid ? -1 : 1;
	return (*x)->guid < (*y)->guid ? -1 : (*x)->guid > (*y)->guid;
}

/* Entries with ports at switches of the fabric, by MLID; their number. */
static uint32_t
sort_entries(const struct dump *d, const struct mfts_entry **sorted)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < d->mfts->len; i++) {
		const struct mfts_entry *m = &d->mfts->entries[i];
		uint32_t node = fabric_node_by_guid(d->fabric, m->guid);

		if (node != FABRIC_NONE && d->fabric->nodes[node].sw != FABRIC_NONE &&
		    (m->ports[0] || m->ports[1] || m->ports[2] || m->ports[3]))
			sorted[n++] = m;
	}
	if (n)
		qsort(sorted, n, sizeof(*sorted), by_mlid);
	return n;
}

static void
check_group(struct walk *w, const struct mfts_entry **entries, uint32_t len)
{
	struct check_tree *list = &w->t->list[w->t->len];

	for (uint32_t i = 0; i < len; i++) {
		uint32_t sw = w->f->nodes[fabric_node_by_guid(w->f, entries[i]->guid)].sw;

		list[i] = (struct check_tree){ .sw = sw };
		memcpy(list[i].out, entries[i]->ports, sizeof(list[i].out));
		w->at[sw] = &list[i];
	}
	w->mlid = entries[0]->mlid;
	w->t->len += len;
	w->t->mlids++;
	find_inlets(w, list, len);
	check_tree(w, list, len);
	for (uint32_t i = 0; i < len; i++)
		w->at[list[i].sw] = NULL;
}

void
trees_check(struct trees *t, const struct dump *d)
{
	const struct fabric *f = d->fabric;
	const struct mfts_entry **sorted;
	struct walk w = { .f = f, .t = t };
	uint32_t n, end;

	*t = (struct trees){ 0 };
	if (!d->mfts)
		return;
	sorted = mem_array(d->mfts->len, sizeof(const struct mfts_entry *));
	n = sort_entries(d, sorted);
	t->list = mem_array(n, sizeof(*t->list));
	w.at = mem_array(f->nswitches, sizeof(struct check_tree *));
	w.queue = mem_array(f->nswitches, sizeof(*w.queue));
	w.seen = mem_array(f->nswitches, sizeof(*w.seen));
	w.in = mem_array(f->nswitches, 1);
	for (uint32_t i = 0; i < n; i = end) {
		for (end = i; end < n && sorted[end]->mlid == sorted[i]->mlid; end++)
			;
		check_group(&w, sorted + i, end - i);
	}
	mem_free(sorted);
	mem_free(w.at);
	mem_free(w.queue);
	mem_free(w.seen);
	mem_free(w.in);
}

void
trees_free(struct trees *t)
{
	mem_free(t->list);
}
