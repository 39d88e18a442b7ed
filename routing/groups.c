/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/groups.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "routing/levels.h"
#include "sm/base/mem.h"

/*
 * In a dragonfly the two ends of a local link have nearly all of their group for neighbours, those
 * of a global link hardly anybody: links whose ends share at least half as many neighbours as the
 * best of either end are local. Groups are what local links join. They must be near-cliques, or
 * else this is none.
 *
 * In a dragonfly+ links between two spines are global, all others local.
 */
struct finder {
	const struct links *l;		/* whose groups */
	uint32_t *shared;		/* by link: neighbours that both ends have */
	uint32_t *most;			/* by switch: the most of its links */
	uint32_t *hosts;		/* by switch */
	uint32_t *queue;		/* scratch: switches */
	struct groups *g;		/* being made */
};

#define UNGROUPED UINT32_MAX
#define DENSE 2u		/* at least one in so many pairs of a group are neighbours */

static int
no_dragonfly(const struct finder *f, uint32_t sw, const char *why, struct error *e)
{
	char text[FABRIC_NAME_SIZE];

	fabric_node_text(text, f->l->f, f->l->f->switches[sw], FABRIC_NAME_LEN);
	return error_set(e, ERR_REFUSED, "the switches form no dragonfly: %s %s", text, why);
}

static uint32_t
count_shared(const struct links *l, uint32_t a, uint32_t b)
{
	uint32_t n = 0, i = l->first[a], k = l->first[b];

	while (i < l->first[a + 1] && k < l->first[b + 1]) {
		n += l->to[i] == l->to[k];
		if (l->to[i] < l->to[k])
			i++;
		else
			k++;
	}
	return n;
}

static void
find_shared(struct finder *f)
{
	const struct links *l = f->l;

	for (uint32_t i = 0; i < l->len; i++) {
		f->shared[i] = count_shared(l, l->from[i], l->to[i]);
		if (f->shared[i] > f->most[l->from[i]])
			f->most[l->from[i]] = f->shared[i];
	}
}

static bool
is_local(const struct finder *f, uint32_t link)
{
	uint32_t a = f->l->from[link], b = f->l->to[link], most = f->most[a];

	if (f->g->plus)
		return f->hosts[a] || f->hosts[b];
	most = f->most[b] < most ? f->most[b] : most;
	return f->shared[link] && 2 * f->shared[link] >= most;
}

/* The group of a switch that is in none yet, and all that local links join to it. */
static uint32_t
grow_group(struct finder *f, uint32_t sw)
{
	const struct links *l = f->l;
	struct groups *g = f->g;
	uint32_t len = 0;

	f->queue[len++] = sw;
	g->group[sw] = g->ngroups;
	for (uint32_t i = 0; i < len; i++)
		for (uint32_t k = l->first[f->queue[i]]; k < l->first[f->queue[i] + 1]; k++)
			if (g->group[l->to[k]] == UNGROUPED && is_local(f, k)) {
				g->group[l->to[k]] = g->ngroups;
				f->queue[len++] = l->to[k];
			}
	g->ngroups++;
	return len;
}

/* Is a group, whose `len` switches are in the queue, what it should be? */
static int
check_group(const struct finder *f, uint32_t len, struct error *e)
{
	const struct links *l = f->l;
	const struct groups *g = f->g;

	for (uint32_t i = 0; i < len; i++) {
		uint32_t sw = f->queue[i], near = 0, leaves = 0;

		for (uint32_t k = l->first[sw]; k < l->first[sw + 1]; k++) {
			bool inside = g->group[l->to[k]] == g->group[sw];

			near += inside;
			leaves += inside && !g->spine[l->to[k]];
			if (g->plus && !g->spine[sw] && leaves)
				return no_dragonfly(f, sw, "has hosts, and a link to another that "
						    "has some", e);
		}
		if (!g->plus && DENSE * near < len - 1)
			return no_dragonfly(f, sw, "has links to less than half of its group", e);
		if (g->plus && g->spine[sw] && !leaves)
			return no_dragonfly(f, sw, "has no hosts and no link to a switch with some",
					    e);
	}
	return 0;
}

static void
rank_switches(struct groups *g)
{
	uint32_t (*count)[2] = mem_array(g->ngroups + 1, sizeof(*count));

	for (uint32_t sw = 0; sw < g->n; sw++)
		g->rank[sw] = count[g->group[sw]][g->spine[sw]]++;
	mem_free(count);
}

/* Some have hosts and some have none: a dragonfly+, or none. */
static int
find_kind(struct finder *f, struct error *e)
{
	uint32_t with = 0;

	for (uint32_t sw = 0; sw < f->l->n; sw++) {
		f->g->spine[sw] = !f->hosts[sw];
		with += f->hosts[sw] != 0;
	}
	f->g->plus = with > 0 && with < f->l->n;
	for (uint32_t sw = 0; sw < f->l->n && !f->g->plus; sw++)
		f->g->spine[sw] = false;
	return f->l->n ? 0 : error_set(e, ERR_REFUSED, "there is no switch");
}

static int
size_cmp(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Groups are joined, and most have the same size: what else falls into groups is none. */
static int
check_whole(const struct finder *f, struct error *e)
{
	const struct groups *g = f->g;
	uint32_t *size = mem_array(g->ngroups + 1, sizeof(*size)), other = 0, global = 0, usual;

	for (uint32_t sw = 0; sw < g->n; sw++)
		size[g->group[sw]]++;
	qsort(size, g->ngroups, sizeof(*size), size_cmp);
	usual = size[g->ngroups / 2];
	for (uint32_t i = 0; i < g->ngroups; i++)
		other += size[i] != usual;
	mem_free(size);
	for (uint32_t i = 0; i < f->l->len; i++)
		global += g->group[f->l->from[i]] != g->group[f->l->to[i]];
	if (global / 2 + 1 < g->ngroups)
		return error_set(e, ERR_REFUSED, "the switches form no dragonfly: no link joins "
				 "some of their %u groups", g->ngroups);
	if (other > 1 && 4 * other > g->ngroups)
		return error_set(e, ERR_REFUSED, "the switches form no dragonfly: %u of their %u "
				 "groups do not have %u switches, as others do", other, g->ngroups,
				 usual);
	return 0;
}

static int
find(struct finder *f, struct error *e)
{
	struct groups *g = f->g;
	int rc = find_kind(f, e);

	if (!g->plus)
		find_shared(f);
	memset(g->group, 0xff, g->n * sizeof(*g->group));
	for (uint32_t sw = 0; sw < g->n && !rc; sw++) {
		g->guid[sw] = fabric_switch_node(f->l->f, sw)->guid;
		if (g->group[sw] == UNGROUPED)
			rc = check_group(f, grow_group(f, sw), e);
	}
	if (!rc && (g->ngroups < 2 || 2 * g->ngroups > g->n))
		rc = error_set(e, ERR_REFUSED, "the switches form no dragonfly: %u switches fall "
			       "into %u groups", g->n, g->ngroups);
	if (!rc)
		rc = check_whole(f, e);
	if (!rc)
		rank_switches(g);
	return rc;
}

int
groups_find(const struct links *l, struct groups **groups, struct error *e)
{
	struct groups *g = mem_zalloc(sizeof(*g));
	struct finder f = {
		.l = l, .g = g, .hosts = levels_hosts(l->f),
		.shared = mem_array(l->len + 1, sizeof(uint32_t)),
		.most = mem_array(l->n + 1, sizeof(uint32_t)),
		.queue = mem_array(l->n + 1, sizeof(uint32_t)),
	};
	int rc;

	*g = (struct groups){
		.refs = 1, .n = l->n,
		.guid = mem_array(l->n + 1, sizeof(*g->guid)),
		.group = mem_array(l->n + 1, sizeof(*g->group)),
		.rank = mem_array(l->n + 1, sizeof(*g->rank)),
		.spine = mem_array(l->n + 1, sizeof(*g->spine)),
	};
	rc = find(&f, e);
	mem_free(f.hosts);
	mem_free(f.shared);
	mem_free(f.most);
	mem_free(f.queue);
	if (rc)
		groups_unref(g);
	else
		*groups = g;
	return rc;
}

struct groups *
groups_ref(struct groups *g)
{
	__atomic_add_fetch(&g->refs, 1, __ATOMIC_RELAXED);
	return g;
}

void
groups_unref(void *groups)
{
	struct groups *g = groups;

	if (!g || __atomic_sub_fetch(&g->refs, 1, __ATOMIC_ACQ_REL))
		return;
	mem_free(g->guid);
	mem_free(g->group);
	mem_free(g->rank);
	mem_free(g->spine);
	mem_free(g);
}

bool
groups_fit(const struct groups *g, const struct links *l, uint32_t **place)
{
	uint32_t *at = mem_array(l->n + 1, sizeof(*at));
	bool fits = true;

	for (uint32_t sw = 0, i = 0; sw < l->n && fits; sw++) {
		uint64_t guid = fabric_switch_node(l->f, sw)->guid;

		while (i < g->n && g->guid[i] < guid)
			i++;
		at[sw] = i;
		fits = i < g->n && g->guid[i] == guid;
	}
	for (uint32_t i = 0; i < l->len && fits && g->plus; i++) {
		uint32_t a = at[l->from[i]], b = at[l->to[i]];

		fits = g->group[a] == g->group[b] ? g->spine[a] != g->spine[b] :
						    g->spine[a] && g->spine[b];
	}
	if (fits)
		*place = at;
	else
		mem_free(at);
	return fits;
}

const char *
groups_text(char text[GROUPS_TEXT_SIZE], const struct groups *g)
{
	snprintf(text, GROUPS_TEXT_SIZE, "dragonfly%s of %u groups, %u switches",
		 g->plus ? "+" : "", g->ngroups, g->n);
	return text;
}
