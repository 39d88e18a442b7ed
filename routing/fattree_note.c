/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/fattree_impl.h"
#include <stdio.h>
#include <string.h>
#include "routing/levels.h"
#include "routing/roots.h"
#include "sm/base/buf.h"
#include "sm/base/mem.h"

/*
 * What the engine says: the tree that it found, what of it is lost and how it dealt with that, the
 * pairs that no way up and then down joins, and where the order of switches begins.
 */
#define LISTED 2u		/* pairs that are named */
#define NAME_MAX_SHOWN 30	/* of each name */

static void
describe_lost(struct buf *b, const struct fattree *ft)
{
	uint32_t drained;

	if (!ft->s.nlost || ft->no_tree)
		return;
	drained = fabric_drained_links(ft->in->fabric);
	buf_printf(b, "; %u of %u cables between switches %s %s: ", ft->s.nlost,
		   ft->t->nlinks / 2, ft->s.nlost == 1 ? "is" : "are", !drained ? "lost" :
		   drained < ft->s.nlost ? "lost or drained" : "drained");
	buf_str(b, ft->full ? "routed for what is left" : "only what used them is moved");
}

/* Pairs of hosts' switches without a way. */
static void
describe_apart(struct buf *b, struct fattree *ft)
{
	const struct fabric *f = ft->in->fabric;
	uint32_t *part, *hosts, listed = 0;
	char one[FABRIC_NAME_SIZE], other[FABRIC_NAME_SIZE];
	uint64_t pairs = 0;

	/* A repair keeps an order in which all that were joined are. */
	if (ft->repaired && !ft->apart)
		return;
	for (uint32_t v = 0; v < ft->t->n; v++)
		ft->apart |= memchr(ft->live->row[v]->any, TREE_FAR, ft->t->n) != NULL;
	if (!ft->apart)
		return;
	part = mem_array(f->nswitches, sizeof(*part));
	hosts = levels_hosts(f);
	levels_components(f, part);
	for (uint32_t from = 0; from < f->nswitches; from++) {
		const uint8_t *any = ft->live->row[ft->s.vertex[from]]->any;

		if (!hosts[from] || !memchr(any, TREE_FAR, ft->t->n))
			continue;
		for (uint32_t to = 0; to < f->nswitches; to++) {
			if (!hosts[to] || part[from] != part[to] ||
			    any[ft->s.vertex[to]] != TREE_FAR)
				continue;
			pairs += (uint64_t)hosts[from] * hosts[to];
			if (listed++ < LISTED)
				buf_printf(b, "%s%s to %s", listed == 1 ? "; no way from " : ", ",
					   fabric_node_text(one, f, f->switches[from],
							    NAME_MAX_SHOWN),
					   fabric_node_text(other, f, f->switches[to],
							    NAME_MAX_SHOWN));
		}
	}
	if (pairs)
		buf_printf(b, " (%llu pairs of hosts in all)", (unsigned long long)pairs);
	mem_free(part);
	mem_free(hosts);
}

static void
describe_roots(struct fattree *ft, const struct ranks *r)
{
	const struct engine_options *o = ft->in->options;
	struct roots roots = { .mark = mem_array(r->f->nswitches, 1),
			       .configured = o && o->nroots };

	for (uint32_t sw = 0; sw < r->f->nswitches; sw++) {
		roots.mark[sw] = ft->t->level[ft->s.vertex[sw]] == 0;
		roots.len += roots.mark[sw];
	}
	roots_describe(ft->in, &roots, r, ft->roots, sizeof(ft->roots));
	roots_free(&roots);
}

void
fattree_describe(struct fattree *ft, const struct ranks *r, char *note, size_t size)
{
	struct buf b = { 0 };

	buf_printf(&b, "%u levels, %u leaves, %u ports of hosts", ft->t->levels,
		   ft->numbers->nleaves, ft->numbers->nhosts);
	if (ft->no_tree)
		buf_str(&b, "; no tree, as most of them hang above others: balanced by load, and "
			"entries stay as they were where they can; an engine for the shape, as "
			"auto finds it, may load links less");
	describe_lost(&b, ft);
	describe_apart(&b, ft);
	if (!ft->roots[0])
		describe_roots(ft, r);
	if (ft->roots[0])
		buf_printf(&b, "; %s", ft->roots);
	snprintf(note, size, "%s", b.data);
	buf_free(&b);
}
