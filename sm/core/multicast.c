/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Multicast trees: what of the groups becomes tables.
 *
 * Groups and members are the subnet administrator's (sm/sa/group.h). When they have changed, or a
 * plan was published, a worker makes the trees of all multicast LIDs by the ranks of the plan
 * (routing/mtree.h) and proves that they and the unicast tables together have no credit loop;
 * trees that have one are not written, and told. It also finds out whether packets may meet these
 * trees and those that switches hold at once. What joins while the worker runs is for the next
 * round: a storm of joins is a few rounds. mft.c writes what differs.
 *
 * Trees of groups whose members are as they were are those of the round before; others follow what
 * was there (mtree_follow()). Without that, a group that grows would have another root each time,
 * and where old and new do not go together, packets under way are waited for in between: a second.
 */
#include "sm/core/multicast_i.h"

#include <stdio.h>
#include <string.h>
#include "sm/base/mem.h"
#include "sm/sa/group.h"
#include "sm/sa/sa.h"
#include "sm/wire/sa_rate.h"

#define QUIET MSEC(10)		/* joins that follow each other faster are one change, */
#define COLLECT MSEC(100)	/* of so long at most */

static void
job_free(struct multicast_job *j)
{
	if (!j || --j->refs)
		return;
	job_free(j->before);
	plan_unref(j->plan);
	mem_free(j->groups);
	mem_free(j->members);
	mtree_set_free(&j->set);
	mtree_set_free(&j->held);
	span_free(j->span);
	mem_free(j->first);
	mem_free(j->by_switch);
	mem_free(j);
}

/* ---- Trees, on the worker ---- */

/* The entries of each switch together, in the order of MLIDs as they were made. */
static void
sort_entries(struct multicast_job *j)
{
	uint32_t n = j->plan->fabric->nswitches, *at;

	j->first = mem_array(n + 2, sizeof(*j->first));
	j->by_switch = mem_array(j->set.len + 1, sizeof(*j->by_switch));
	for (uint32_t i = 0; i < j->set.len; i++)
		j->first[j->set.trees[i].sw + 1]++;
	for (uint32_t sw = 0; sw < n; sw++)
		j->first[sw + 1] += j->first[sw];
	at = mem_array(n + 1, sizeof(*at));
	memcpy(at, j->first, n * sizeof(*at));
	for (uint32_t i = 0; i < j->set.len; i++)
		j->by_switch[at[j->set.trees[i].sw]++] = i;
	mem_free(at);
}

/* Trees together with the unicast tables. */
static int
prove(const struct multicast_job *j, const struct mtree_set *set, struct plan_check *report)
{
	const struct plan *p = j->plan;
	struct check_input in = {
		.fabric = p->fabric, .lids = p->lids, .rows = p->rows, .also = p->rows,
		.proved = p->rows, .lanes = p->lanes, .ranks = p->ranks, .trees = set->trees,
		.ntrees = set->len, .threads = j->threads,
	};

	return set->len ? check_union(&in, report) : 0;
}

/* The new trees, and whether those that are held go with them: then one proof does for both. Where
 * what is held, and what was being written, are parts of the new tree, so is any mixture. */
static void
prove_all(struct multicast_job *j)
{
	struct mtree_set both = { 0 }, held = { 0 };
	bool *odd = mem_array(MTREE_MLIDS, sizeof(*odd));
	struct plan_check report;

	j->verdict = 0;
	mtree_set_odd(&j->held, &j->set, odd);
	if (j->pending)
		mtree_set_odd(&j->before->set, &j->set, odd);
	mtree_set_pick(&held, &j->held, odd);
	mtree_close(j->plan->fabric, &held);
	mtree_set_join(&both, &j->set);
	mtree_set_join(&both, &held);
	if (j->pending)
		mtree_set_pick(&both, &j->before->set, odd);
	mtree_set_free(&held);
	mem_free(odd);
	j->mixes = !prove(j, &both, &report);
	mtree_set_free(&both);
	if (!j->mixes)
		j->verdict = prove(j, &j->set, &j->report);
	if (j->verdict)
		mtree_set_free(&j->set);
}

/* One member that is left out, so that it can be named. */
static void
note_left_out(struct multicast_job *j, const struct job_group *g, uint32_t from)
{
	const struct fabric *f = j->plan->fabric;

	for (uint32_t i = 0; i < g->len; i++) {
		const struct mtree_member *m = &j->members[g->first + i];
		uint32_t at = from;

		while (at < j->set.len && j->set.trees[at].sw != m->sw)
			at++;
		if (at < j->set.len)
			continue;
		j->left_port = fabric_switch_node(f, m->sw)->first_port + m->port;
		return;
	}
}

/* The group of the round before that has this MLID or one above. */
static uint32_t
group_from(const struct multicast_job *j, uint32_t at, uint16_t mlid)
{
	while (at < j->ngroups && j->groups[at].mlid < mlid)
		at++;
	return at;
}

static bool
has_members_of(const struct multicast_job *j, const struct job_group *g,
	       const struct multicast_job *b, const struct job_group *was)
{
	if (was->mlid != g->mlid || was->len != g->len)
		return false;
	for (uint32_t i = 0; i < g->len; i++) {
		const struct mtree_member *x = &j->members[g->first + i];
		const struct mtree_member *y = &b->members[was->first + i];

		if (x->sw != y->sw || x->port != y->port || x->receives != y->receives)
			return false;
	}
	return true;
}

/* The tree of the round before, if it has the same members and none was left out then. */
static bool
take_over(struct multicast_job *j, const struct job_group *g, uint32_t *at)
{
	const struct multicast_job *b = j->before;

	if (!b || b->left_out || b->verdict || b->inside != j->inside ||
	    (j->inside && b->sls != j->sls))
		return false;
	*at = group_from(b, *at, g->mlid);
	if (*at == b->ngroups || !has_members_of(j, g, b, &b->groups[*at]))
		return false;
	for (uint32_t i = b->groups[*at].from; i < b->set.len && b->set.mlids[i] == g->mlid; i++)
		mtree_set_add(&j->set, g->mlid, &b->set.trees[i]);
	return true;
}

static void
make_tree(struct multicast_job *j, struct mtree *t, const struct job_group *g)
{
	uint32_t left = mtree_add(t, g->mlid, j->members + g->first, g->len, &j->set);

	if (left && j->left_port == FABRIC_NONE)
		note_left_out(j, g, g->from);
	j->left_out += left;
}

/* `t` is freed. */
static void
make_trees(struct multicast_job *j, struct mtree *t)
{
	uint32_t at = 0;

	mtree_set_free(&j->set);
	j->left_out = 0;
	j->left_port = FABRIC_NONE;
	mtree_follow(t, j->pending ? &j->before->set : &j->held);
	for (uint32_t i = 0; i < j->ngroups; i++) {
		struct job_group *g = &j->groups[i];

		g->from = j->set.len;
		if (!take_over(j, g, &at))
			make_tree(j, t, g);
		for (uint32_t k = g->from; k < j->set.len; k++)
			j->set.trees[k].sls = g->sls;
	}
	mtree_free(t);
	prove_all(j);
}

/* The tree that all others are parts of: that of the round before, if the routing is the same. */
static void
find_span(struct multicast_job *j)
{
	const struct plan *p = j->plan;
	const struct multicast_job *b = j->before;
	struct check_input in = {
		.fabric = p->fabric, .lids = p->lids, .rows = p->rows, .lanes = p->lanes,
		.ranks = p->ranks, .threads = j->threads,
	};
	uint32_t near = j->root ? fabric_node_by_guid(p->fabric, j->root) : FABRIC_NONE;

	for (uint32_t i = 0; i < j->ngroups; i++)
		j->sls |= j->groups[i].sls;
	if (b && b->span && b->sls == j->sls) {
		j->span = span_ref(b->span);
		return;
	}
	j->span = span_make(&in, j->sls, near == FABRIC_NONE ? FABRIC_NONE :
						 p->fabric->nodes[near].sw);
	j->root = 0;
	for (uint32_t sw = 0; sw < j->span->nswitches && !j->root; sw++)
		if (j->span->root[sw] == sw)
			j->root = fabric_switch_node(p->fabric, sw)->guid;
}

/* Where lanes are taken, trees by an order of switches may close loops with the unicast tables.
 * What went inside once stays there as long as lanes are taken. */
static void
run(void *arg)
{
	struct multicast_job *j = arg;
	const struct plan *p = j->plan;
	bool lanes = p->sls != NULL;

	j->inside &= lanes;
	if (!j->inside) {
		make_trees(j, mtree_new(p->fabric, p->ranks));
		j->inside = lanes && j->verdict;
	}
	if (j->inside) {
		find_span(j);
		make_trees(j, mtree_new_on(p->fabric, j->span));
	}
	sort_entries(j);
}

/* ---- Jobs ---- */

/* Members of ports that are not there, or on no switch, are in no tree. */
static void
add_members(struct multicast_job *j, const struct sa_group *group)
{
	const struct plan_lids *l = j->plan->lids;

	for (uint32_t i = 0; i < group->len; i++) {
		const struct sa_join *join = &group->joins[i];
		uint32_t port = fabric_port_by_guid(j->plan->fabric,
						    sa_base_guid(j->s->sa, join->gid.guid));
		const struct plan_dest *to;

		if (port == FABRIC_NONE || !l->base[port])
			continue;
		to = &l->dest[l->base[port]];
		if (to->sw == FABRIC_NONE)
			continue;
		j->members[j->nmembers++] = (struct mtree_member){
			.sw = to->sw, .port = to->out,
			.receives = (join->state & (SA_JOIN_FULL | SA_JOIN_NON)) != 0,
		};
	}
}

/* Service levels of the groups that have a multicast LID; 0: there is none. */
static uint16_t
levels_of(const struct sa_groups *groups, unsigned mlid)
{
	uint16_t sls = 0;

	for (const struct sa_group *at = sa_groups_at(groups, mlid); at; at = at->shares)
		sls |= (uint16_t)(1u << (at->r.sl & 15));
	return sls;
}

void
multicast_levels(const struct subnet *s, struct mtree_set *set)
{
	const struct sa_groups *groups = s->sa ? sa_groups(s->sa) : NULL;

	for (uint32_t i = 0; groups && i < set->len; i++)
		set->trees[i].sls = levels_of(groups, set->mlids[i]);
}

/* The members of all groups that have the multicast LID. */
static void
add_groups(struct multicast_job *j, const struct sa_groups *groups, unsigned mlid)
{
	struct job_group *g = &j->groups[j->ngroups];

	*g = (struct job_group){ .mlid = (uint16_t)mlid, .first = j->nmembers };
	for (const struct sa_group *at = sa_groups_at(groups, mlid); at; at = at->shares)
		add_members(j, at);
	g->sls = levels_of(groups, mlid);
	g->len = j->nmembers - g->first;
	j->ngroups += g->len > 0;
}

static struct multicast_job *
job_new(struct subnet *s)
{
	const struct sa_groups *groups = sa_groups(s->sa);
	struct multicast_job *j = mem_zalloc(sizeof(*j));
	uint32_t members = 0;

	j->refs = 1;
	j->s = s;
	j->plan = plan_ref(s->plan);
	j->threads = s->env.threads;
	j->end = sa_groups_end(groups);
	for (uint32_t i = 0; i < sa_groups_slots(groups); i++)
		members += sa_groups_slot(groups, i) ? sa_groups_slot(groups, i)->len : 0;
	j->groups = mem_array(sa_groups_len(groups) + 1, sizeof(*j->groups));
	j->members = mem_array(members + 1, sizeof(*j->members));
	for (unsigned i = SA_MLID_FIRST; i < j->end; i++)
		add_groups(j, groups, i);
	mft_held(s, j->plan->fabric, &j->held);
	multicast_levels(s, &j->held);
	if (s->multicast.trees) {
		j->inside = s->multicast.trees->inside;
		j->root = s->multicast.trees->root;
	}
	if (mft_fits(s)) {
		j->before = s->multicast.trees;
		j->before->refs++;
		j->pending = s->multicast.unwritten;
	}
	return j;
}

static void
name_left_out(struct subnet *s, const struct multicast_job *j)
{
	const struct fabric *f = j->plan->fabric;
	uint32_t port = j->left_port;

	if (port == FABRIC_NONE)
		return;
	/* The switch itself, or who is behind its port. */
	if (f->ports[port].number && f->ports[port].peer != FABRIC_NONE)
		port = f->ports[port].peer;
	snprintf(s->multicast.left_name, sizeof(s->multicast.left_name), "port %u of %.64s",
		 f->ports[port].number, f->nodes[f->ports[port].node].name);
}

static void
tell_outcome(struct subnet *s, const struct multicast_job *j)
{
	if (j->verdict) {
		if (strcmp(s->multicast.refused, j->report.first))
			subnet_event(s, EVENT_UNROUTED, LOG_L_ERROR, 0, 0,
				     "multicast is not forwarded, for with its trees the routing "
				     "would have a %s", j->report.first);
		memcpy(s->multicast.refused, j->report.first, sizeof(s->multicast.refused));
		return;
	}
	s->multicast.refused[0] = '\0';
	name_left_out(s, j);
	if (j->left_out && s->multicast.left_out != j->left_out)
		subnet_event(s, EVENT_UNROUTED, LOG_L_WARNING, 0, 0,
			     "%u members of multicast groups are in no tree, as is %s: no switch "
			     "leads down to all members of their group", j->left_out,
			     s->multicast.left_name);
	s->multicast.left_out = j->left_out;
}

/* Once, when it begins. */
static void
tell_crowd(struct subnet *s)
{
	uint32_t crowded = sa_groups_crowded(sa_groups(s->sa));

	if (crowded && !s->multicast.crowded)
		subnet_event(s, EVENT_UNROUTED, LOG_L_WARNING, 0, 0,
			     "there are no more multicast LIDs: %u multicast groups share that of "
			     "another one", crowded);
	s->multicast.crowded = crowded;
}

static void
done(void *arg)
{
	struct multicast_job *j = arg;
	struct subnet *s = j->s;

	if (!s) {
		job_free(j);
		return;
	}
	s->multicast.job = NULL;
	job_free(j->before);
	j->before = NULL;
	tell_outcome(s, j);
	tell_crowd(s);
	job_free(s->multicast.trees);
	s->multicast.trees = j;
	if (s->multicast.due)
		loop_timer_set(s->multicast.timer, QUIET);
	mft_wanted(s);
}

/* Nobody has ever had a tree, nor has one now. */
static bool
nothing_to_do(const struct subnet *s)
{
	const struct sa_groups *groups = sa_groups(s->sa);

	for (uint32_t i = 0; i < sa_groups_slots(groups); i++) {
		const struct sa_group *g = sa_groups_slot(groups, i);

		if (g && (g->len > 1 || (g->len && sa_groups_on(groups, g->r.mlid) > 1)))
			return false;
	}
	return !s->multicast.trees && !s->multicast.found;
}

static void
on_timer(void *subnet)
{
	struct subnet *s = subnet;

	if (s->role != ROLE_MASTER || !s->plan || s->multicast.job)
		return;
	/* First what switches hold: multicast_changed() follows. */
	if (s->multicast.unread) {
		if (s->stage == SUBNET_IDLE)
			mft_write(s);
		return;
	}
	if (s->multicast.due && !nothing_to_do(s)) {
		s->multicast.job = job_new(s);
		loop_work(s->env.loop, run, done, s->multicast.job, MSEC(1));
	}
	s->multicast.due = false;
}

void
multicast_changed(struct subnet *s)
{
	monotime now = loop_now(s->env.loop);

	if (!s->multicast.due)
		s->multicast.due_since = now;
	s->multicast.due = true;
	if (!s->multicast.job && (!loop_timer_pending(s->multicast.timer) ||
				  now - s->multicast.due_since < COLLECT - QUIET))
		loop_timer_set(s->multicast.timer, QUIET);
}

/* ---- What is told ---- */

static uint32_t
tree_size(const struct multicast_job *j, uint16_t mlid)
{
	uint32_t low = 0, high = j ? j->set.len : 0, n = 0;

	while (low < high) {
		uint32_t mid = (low + high) / 2;

		if (j->set.mlids[mid] < mlid)
			low = mid + 1;
		else
			high = mid;
	}
	while (j && low + n < j->set.len && j->set.mlids[low + n] == mlid)
		n++;
	return n;
}

bool
subnet_multicast(const struct subnet *s, unsigned from, struct multicast_row *row)
{
	const struct sa_groups *groups = sa_groups(s->sa);
	const struct sa_group *g = NULL;

	for (uint32_t i = from; !g && i < sa_groups_slots(groups); i++)
		g = sa_groups_slot(groups, i);
	if (!g)
		return false;
	*row = (struct multicast_row){
		.mgid = { g->r.mgid.prefix, g->r.mgid.guid }, .qkey = g->r.qkey,
		.members = g->len, .full = g->full, .mlid = g->r.mlid, .pkey = g->r.pkey,
		.switches = tree_size(s->multicast.trees, g->r.mlid),
		.rate_mbps = sa_rate_mbps(g->r.rate), .mtu = (uint16_t)mtu_bytes(g->r.mtu),
		.sl = g->r.sl, .slot = g->slot,
		.sharing = sa_groups_on(groups, g->r.mlid) - 1,
	};
	return true;
}

/* ---- Life ---- */

void
multicast_init(struct subnet *s)
{
	s->multicast.timer = loop_timer_new(s->env.loop, on_timer, s);
	mft_init(s);
}

void
multicast_drop(struct subnet *s)
{
	if (s->multicast.job)
		s->multicast.job->s = NULL;
	s->multicast.job = NULL;
	job_free(s->multicast.trees);
	s->multicast.trees = NULL;
	loop_timer_cancel(s->multicast.timer);
	mft_drop(s);
}

void
multicast_free(struct subnet *s)
{
	if (!s->multicast.timer)
		return;
	multicast_drop(s);
	loop_timer_free(s->multicast.timer);
	mft_end(s);
}
