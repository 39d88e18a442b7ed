/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Members of multicast groups that nobody but the tables tells of. Who takes over from another
 * manager knows what was copied of its groups, or nothing; hosts are asked to register again, and
 * until they have had time to, a port that a switch was found to lead to counts as a member of
 * whatever group has the multicast LID, known or not. So no live group is cut off, tables that are
 * good are not written, and a cable that fails meanwhile is repaired for all.
 *
 * What is left of them then are members that did not come back: multicast.c makes the trees anew,
 * without them. A port that leaves meanwhile stays in the tree until then.
 */
#include "sm/core/multicast_i.h"

#include <stdlib.h>
#include <string.h>
#include "sm/base/mem.h"
#include "sm/sa/group.h"

struct found_member {
	uint16_t mlid;			/* of the group */
	struct mtree_member m;		/* where it is */
};

struct found {
	struct found_member *members;	/* by MLID */
	uint32_t len;			/* how many */
};

static int
by_mlid(const void *a, const void *b)
{
	const struct found_member *x = a, *y = b;

	if (x->mlid != y->mlid)
		return x->mlid < y->mlid ? -1 : 1;
	if (x->m.sw != y->m.sw)
		return x->m.sw < y->m.sw ? -1 : 1;
	return (x->m.port > y->m.port) - (x->m.port < y->m.port);
}

static void
add(struct found *to, uint16_t mlid, uint32_t sw, unsigned port, bool receives)
{
	to->members[to->len++] = (struct found_member){
		.mlid = mlid, .m = { .sw = sw, .port = (uint8_t)port, .receives = receives },
	};
}

/* Ports of an entry that lead to hosts. A switch at an end of the tree that leads to none has
 * somebody who only sends. */
static void
add_entry(const struct fabric *f, uint16_t mlid, const struct check_tree *t, struct found *to)
{
	const struct fabric_node *n = fabric_switch_node(f, t->sw);
	unsigned links = 0, hosts = 0;

	for (unsigned port = 0; port <= n->nports; port++) {
		uint32_t peer = f->ports[n->first_port + port].peer;

		if (!(t->out[port / 64] >> port % 64 & 1) || (port && peer == FABRIC_NONE))
			continue;
		if (port && f->nodes[f->ports[peer].node].type == NODE_SWITCH) {
			links++;
			continue;
		}
		add(to, mlid, t->sw, port, true);
		hosts++;
	}
	if (links == 1 && !hosts)
		add(to, mlid, t->sw, 0, false);
}

static void
find(const struct fabric *f, const struct mtree_set *set, struct found *to)
{
	size_t size = 1;

	for (uint32_t i = 0; i < set->len; i++)
		for (unsigned k = 0; k < 4; k++)
			size += (size_t)__builtin_popcountll(set->trees[i].out[k]);
	to->members = mem_array(size, sizeof(*to->members));
	for (uint32_t i = 0; i < set->len; i++)
		add_entry(f, set->mlids[i], &set->trees[i], to);
	qsort(to->members, to->len, sizeof(*to->members), by_mlid);
}

static int
by_place(const void *a, const void *b)
{
	const struct mtree_member *x = a, *y = b;

	if (x->sw != y->sw)
		return x->sw < y->sw ? -1 : 1;
	return (x->port > y->port) - (x->port < y->port);
}

static int
by_switch(const void *a, const void *b)
{
	const struct mtree_member *x = a, *y = b;

	return (x->sw > y->sw) - (x->sw < y->sw);
}

/* Those of a multicast LID, behind the known ones of its group. Who only sends is somebody that is
 * known, if there is one at the switch. */
static void
join(struct forest_group *g, struct mtree_member *members, const struct found_member *from,
     uint32_t len)
{
	uint32_t known = g->len;
	struct mtree_member *sorted = mem_array(known + 1, sizeof(*sorted));

	memcpy(sorted, members, known * sizeof(*sorted));
	qsort(sorted, known, sizeof(*sorted), by_place);
	for (uint32_t i = 0; i < len; i++)
		if (!bsearch(&from[i].m, sorted, known, sizeof(*sorted),
			     from[i].m.receives ? by_place : by_switch))
			members[g->len++] = from[i].m;
	mem_free(sorted);
}

/* The groups of a block anew, each with its members, known ones first. */
static void
join_block(struct forest *f, unsigned number, const struct found *found)
{
	const struct forest_group *last = f->ngroups ? &f->groups[f->ngroups - 1] : NULL;
	struct mtree_member *members = mem_array((last ? last->first + last->len : 0) +
						 found->len + 1, sizeof(*members));
	struct forest_group groups[MULTICAST_BLOCK];
	uint32_t n = 0, was = 0, at = 0, len = 0;

	for (unsigned i = 0; i < MULTICAST_BLOCK; i++) {
		uint16_t mlid = (uint16_t)(SA_MLID_FIRST + number * MULTICAST_BLOCK + i);
		struct forest_group *g = &groups[n];
		uint32_t first;

		*g = (struct forest_group){ .mlid = mlid };
		if (was < f->ngroups && f->groups[was].mlid == mlid) {
			*g = f->groups[was++];
			memcpy(members + len, f->members + g->first, g->len * sizeof(*members));
		}
		g->first = len;
		while (at < found->len && found->members[at].mlid < mlid)
			at++;
		for (first = at; at < found->len && found->members[at].mlid == mlid;)
			at++;
		join(g, members + len, found->members + first, at - first);
		len += g->len;
		n += g->len > 0;
	}
	memcpy(f->groups, groups, n * sizeof(*groups));
	f->ngroups = n;
	mem_free(f->members);
	f->members = members;
}

void
found_add(struct forest_job *j)
{
	struct found found = { 0 };

	if (!j->found.len)
		return;
	find(j->plan->fabric, &j->found, &found);
	for (uint32_t i = 0; i < j->nblocks; i++)
		join_block(j->blocks[i].forest, j->blocks[i].number, &found);
	mem_free(found.members);
}
