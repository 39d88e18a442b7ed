/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Multicast tables (IBA 14.2.5.10, MulticastForwardingTable; 14.2.5.4, MulticastFDBTop).
 *
 * Groups and members are the subnet administrator's (sm/sa/group.h). When they have changed, or a
 * plan was published, a worker makes the trees of all groups by the ranks of the plan
 * (routing/mtree.h) and proves that they and the unicast tables together have no credit loop;
 * trees that have one are not written, and told. What joins while the worker runs is for the next
 * round: a storm of joins is a few rounds.
 *
 * When nothing else is under way (stage MULTICAST, between others), the blocks in which switches
 * differ from that are written, those of all switches in turn, and MulticastFDBTop where it counts.
 * device.mft is what a switch has acknowledged. What it held before we came is not known: each
 * block that any group needs is written once, blocks behind are not.
 */
#include "sm/core/subnet_i.h"

#include <string.h>
#include "routing/mtree.h"
#include "sm/base/mem.h"
#include "sm/sa/group.h"
#include "sm/sa/sa.h"
#include "sm/wire/sa_rate.h"

#define COLLECT MSEC(10)	/* joins of so long are one change */
#define RETRY SEC(5)
#define BLOCK 32u		/* MLIDs of a block */
#define NO_MLID 0xbfffu		/* MulticastFDBTop of a table without entries */

/* A group as the worker needs it. */
struct job_group {
	uint16_t mlid;			/* its multicast LID */
	uint32_t first;			/* of its members */
	uint32_t len;			/* how many */
};

struct multicast_job {
	struct subnet *s;		/* NULL: the subnet is gone, throw the result away */
	const struct plan *plan;	/* reference held */
	struct job_group *groups;	/* by MLID */
	uint32_t ngroups;		/* how many */
	struct mtree_member *members;	/* of all groups */
	uint32_t nmembers;		/* how many */
	unsigned threads;		/* for the proof */
	unsigned end;			/* above the highest MLID in use */
	struct mtree_set set;		/* the trees */
	uint32_t *first;		/* by switch: its entries in by_switch[] */
	uint32_t *by_switch;		/* indices into the set, by switch, then MLID */
	uint32_t left_out;		/* members that no tree reaches */
	int verdict;			/* of the proof */
	struct plan_check report;	/* and what it found */
};

static void
job_free(struct multicast_job *j)
{
	if (!j)
		return;
	plan_unref(j->plan);
	mem_free(j->groups);
	mem_free(j->members);
	mtree_set_free(&j->set);
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

static void
prove(struct multicast_job *j)
{
	const struct plan *p = j->plan;
	struct check_input in = {
		.fabric = p->fabric, .lids = p->lids, .rows = p->rows, .also = p->rows,
		.proved = p->rows, .lanes = p->lanes, .ranks = p->ranks, .trees = j->set.trees,
		.ntrees = j->set.len, .threads = j->threads,
	};

	if (j->set.len)
		j->verdict = check_union(&in, &j->report);
}

static void
run(void *arg)
{
	struct multicast_job *j = arg;
	struct mtree *t = mtree_new(j->plan->fabric, j->plan->ranks);

	for (uint32_t i = 0; i < j->ngroups; i++)
		j->left_out += mtree_add(t, j->groups[i].mlid, j->members + j->groups[i].first,
					 j->groups[i].len, &j->set);
	mtree_free(t);
	prove(j);
	if (j->verdict)
		mtree_set_free(&j->set);
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

/* The members of all groups that have the multicast LID. */
static void
add_groups(struct multicast_job *j, const struct sa_groups *groups, unsigned mlid)
{
	struct job_group *g = &j->groups[j->ngroups];

	*g = (struct job_group){ .mlid = (uint16_t)mlid, .first = j->nmembers };
	for (const struct sa_group *at = sa_groups_at(groups, mlid); at; at = at->shares)
		add_members(j, at);
	g->len = j->nmembers - g->first;
	j->ngroups += g->len > 0;
}

static struct multicast_job *
job_new(struct subnet *s)
{
	const struct sa_groups *groups = sa_groups(s->sa);
	struct multicast_job *j = mem_zalloc(sizeof(*j));
	uint32_t members = 0;

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
	return j;
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
	if (j->left_out && s->multicast.left_out != j->left_out)
		subnet_event(s, EVENT_UNROUTED, LOG_L_WARNING, 0, 0,
			     "%u members of multicast groups are in no tree: no switch leads down "
			     "to all members of their group", j->left_out);
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
	tell_outcome(s, j);
	tell_crowd(s);
	job_free(s->multicast.trees);
	s->multicast.trees = j;
	s->multicast.unwritten = true;
	if (s->multicast.due)
		loop_timer_set(s->multicast.timer, COLLECT);
	if (s->stage == SUBNET_IDLE)
		multicast_write(s);
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
	return !s->multicast.trees;
}

static void
on_timer(void *subnet)
{
	struct subnet *s = subnet;

	if (s->role != ROLE_MASTER || !s->plan || s->multicast.job)
		return;
	if (s->multicast.due && !nothing_to_do(s)) {
		s->multicast.job = job_new(s);
		loop_work(s->env.loop, run, done, s->multicast.job, MSEC(1));
	} else if (s->stage == SUBNET_IDLE) {
		multicast_write(s);
	}
	s->multicast.due = false;
}

void
multicast_changed(struct subnet *s)
{
	s->multicast.due = true;
	if (!s->multicast.job && !loop_timer_pending(s->multicast.timer))
		loop_timer_set(s->multicast.timer, COLLECT);
}

/* ---- Writing ---- */

static unsigned
positions(const struct device *d)
{
	return d->info.num_ports / 16u + 1;
}

/* Index into by_switch[] of the first entry of the switch for this MLID or one above. */
static uint32_t
entry_from(const struct multicast_job *j, uint32_t sw, unsigned mlid)
{
	uint32_t low = j->first[sw], high = j->first[sw + 1];

	while (low < high) {
		uint32_t mid = (low + high) / 2;

		if (j->set.mlids[j->by_switch[mid]] < mlid)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static void
block_want(const struct multicast_job *j, uint32_t sw, unsigned block, unsigned position,
	   uint16_t masks[BLOCK])
{
	unsigned mlid = SA_MLID_FIRST + block * BLOCK;

	memset(masks, 0, BLOCK * sizeof(*masks));
	for (uint32_t i = entry_from(j, sw, mlid); i < j->first[sw + 1]; i++) {
		uint32_t at = j->by_switch[i];

		if (j->set.mlids[at] >= mlid + BLOCK)
			return;
		masks[j->set.mlids[at] - mlid] =
			(uint16_t)(j->set.trees[at].out[position / 4] >> position % 4 * 16);
	}
}

static uint32_t
switch_of(const struct subnet *s, const struct device *d)
{
	const struct fabric *f = s->multicast.trees->plan->fabric;
	uint32_t node = d->info.node_type == NODE_SWITCH ? fabric_node_by_guid(f, d->guid) :
							    FABRIC_NONE;

	return node == FABRIC_NONE ? FABRIC_NONE : f->nodes[node].sw;
}

/* The shadow has room for every block that is wanted and that the switch has. */
static void
make_room(const struct multicast_job *j, struct device *d)
{
	uint32_t blocks = (j->end - SA_MLID_FIRST + BLOCK - 1) / BLOCK;
	uint32_t most = (d->sw.multicast_fdb_cap + BLOCK - 1) / BLOCK, len;

	len = (blocks < most ? blocks : most) * positions(d);
	if (len <= d->mft.len)
		return;
	d->mft.masks = mem_realloc(d->mft.masks, (size_t)len * BLOCK, sizeof(*d->mft.masks));
	d->mft.known = mem_realloc(d->mft.known, len, sizeof(*d->mft.known));
	memset(d->mft.known + d->mft.len, 0, (len - d->mft.len) * sizeof(*d->mft.known));
	d->mft.len = len;
}

static bool
block_differs(const struct device *d, uint32_t at, const uint16_t masks[BLOCK])
{
	return !d->mft.known[at] ||
		memcmp(d->mft.masks + (size_t)at * BLOCK, masks, BLOCK * sizeof(*masks));
}

static uint16_t
top_want(const struct multicast_job *j)
{
	return (uint16_t)(j->set.len ? j->end - 1 : NO_MLID);
}

static bool
top_differs(const struct multicast_job *j, const struct device *d)
{
	return d->ports[0].info.cap_mask & CAP_MCAST_FDB_TOP &&
		d->sw.multicast_fdb_top != top_want(j);
}

bool
multicast_write(struct subnet *s)
{
	if (!s->multicast.unwritten || !s->multicast.trees || s->role != ROLE_MASTER ||
	    s->ending)
		return false;
	s->multicast.unwritten = false;
	s->multicast.failed = 0;
	subnet_set_stage(s, SUBNET_MULTICAST);
	list_each(it, &s->topo.devices) {
		struct device *d = list_entry(it, struct device, all);

		d->mft.next = 0;
		d->mft.top_next = true;
		d->mft.failed = false;
		if (d->silent || !d->complete || switch_of(s, d) == FABRIC_NONE)
			continue;
		make_room(s->multicast.trees, d);
		transact_ready(s->transact, &d->agent.target);
	}
	if (transact_is_idle(s->transact))
		multicast_idle(s);
	return true;
}

static bool
block_next(struct subnet *s, struct device *d, uint32_t sw, struct transact_request *r)
{
	uint16_t masks[BLOCK];

	while (d->mft.next < d->mft.len) {
		uint32_t at = d->mft.next++;

		block_want(s->multicast.trees, sw, at / positions(d), at % positions(d), masks);
		if (!block_differs(d, at, masks))
			continue;
		r->attr_id = ATTR_MULTICAST_FDB;
		r->attr_mod = at % positions(d) << 28 | at / positions(d);
		mft_encode(masks, r->data);
		return true;
	}
	return false;
}

static bool
top_next(struct subnet *s, struct device *d, struct transact_request *r)
{
	struct switchinfo w = d->sw;

	if (!d->mft.top_next || !top_differs(s->multicast.trees, d))
		return false;
	d->mft.top_next = false;
	w.multicast_fdb_top = top_want(s->multicast.trees);
	w.port_state_change = false;
	r->attr_id = ATTR_SWITCH_INFO;
	switchinfo_encode(&w, r->data);
	return true;
}

bool
multicast_next(struct subnet *s, struct agent *a, struct transact_request *r)
{
	struct device *d = list_entry(a, struct device, agent);
	uint32_t sw;

	if (a->kind != AGENT_DEVICE || d->mft.failed || !s->multicast.trees)
		return false;
	sw = switch_of(s, d);
	if (sw == FABRIC_NONE || (!block_next(s, d, sw, r) && !top_next(s, d, r)))
		return false;
	r->method = MAD_SET;
	if (!subnet_address(s, d, 0, r)) {
		d->mft.failed = true;
		s->multicast.failed++;
		return false;
	}
	s->multicast.sets++;
	d->inflight++;
	return true;
}

static void
block_set(struct subnet *s, struct device *d, const struct transact_result *res)
{
	uint32_t at = (res->attr_mod & 0x1ff) * positions(d) + (res->attr_mod >> 28);

	if (at >= d->mft.len)
		return;
	mft_decode(d->mft.masks + (size_t)at * BLOCK, res->data);
	d->mft.known[at] = true;
	s->multicast.failed += memcmp(res->data, res->sent, SMP_DATA_SIZE) != 0;
}

void
multicast_done(struct subnet *s, struct agent *a, const struct transact_result *res)
{
	struct device *d = list_entry(a, struct device, agent);
	char text[DEVICE_TEXT_SIZE];
	struct switchinfo got;

	if (a->kind != AGENT_DEVICE)
		return;
	d->inflight--;
	if (res->error || res->mad_status) {
		uint32_t at = (res->attr_mod & 0x1ff) * positions(d) + (res->attr_mod >> 28);

		if (res->attr_id == ATTR_MULTICAST_FDB && at < d->mft.len)
			d->mft.known[at] = false;
		if (!d->mft.failed)
			subnet_event(s, EVENT_REFUSED, LOG_L_WARNING, d->guid, 0,
				     "%s does not take its multicast table",
				     device_text(text, d, s->env.names));
		d->mft.failed = true;
		s->multicast.failed++;
	} else if (res->attr_id == ATTR_MULTICAST_FDB) {
		block_set(s, d, res);
	} else if (res->attr_id == ATTR_SWITCH_INFO) {
		switchinfo_decode(&got, res->data);
		d->sw.multicast_fdb_top = got.multicast_fdb_top;
	}
}

void
multicast_idle(struct subnet *s)
{
	bool again = s->multicast.failed > 0;

	subnet_stage_over(s);
	/* Not at once: what did not get through needs its time. */
	if (again) {
		s->multicast.unwritten = true;
		loop_timer_set(s->multicast.timer, RETRY);
	}
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
}

void
multicast_drop(struct subnet *s)
{
	if (s->multicast.job)
		s->multicast.job->s = NULL;
	s->multicast.job = NULL;
	job_free(s->multicast.trees);
	s->multicast.trees = NULL;
	s->multicast.unwritten = false;
	loop_timer_cancel(s->multicast.timer);
}

void
multicast_free(struct subnet *s)
{
	if (s->multicast.timer)
		multicast_drop(s);
	loop_timer_free(s->multicast.timer);
}
