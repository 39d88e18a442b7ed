/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Multicast trees: what of the groups becomes tables, and when.
 *
 * Groups and members are the subnet administrator's (sm/sa/group.h). What changes as one is a block
 * of multicast LIDs, for so switches are told of them. A block that has changed waits until nothing
 * more joins, or for so long that its members cannot wait: as long again each time, within bounds,
 * while a storm of joins goes on. So a table is written once for a burst, and a few times in a long
 * storm. Then a worker makes the trees of its groups (forest.c), and mft.c writes what differs.
 *
 * Who takes over knows some of the groups, or none, until hosts have registered again; what
 * switches were found to hold stands for the others (found.c).
 *
 * Where trees have to be proved together all blocks are due when one is; and so they are when a
 * plan was published. What the worker has made is taken over when no round of writing is under way.
 */
#include "sm/core/multicast.h"

#include <stdio.h>
#include <string.h>
#include "sm/base/mem.h"
#include "sm/core/multicast_i.h"
#include "sm/sa/group.h"
#include "sm/sa/sa.h"
#include "sm/wire/sa_rate.h"

#define QUIET MSEC(10)		/* joins that follow each other faster are one change, */
#define COLLECT MSEC(100)	/* of so long at most, */
#define COLLECT_MAX SEC(1)	/* or of so long in a storm that does not end */
#define REGISTERED SEC(120)	/* after a takeover hosts have registered again */

/* ---- What is due ---- */

/* From the change on that a block waits for. */
static monotime
ripe_at(const struct multicast_block *b)
{
	monotime quiet = b->last + QUIET;
	monotime end = b->since + (b->patience ? b->patience : COLLECT);

	return quiet < end ? quiet : end;
}

static void
block_changed(struct multicast_block *b, monotime now)
{
	if (!b->due)
		b->since = now;
	b->due = true;
	b->last = now;
}

/* The first of those that are due; MONOTIME_NEVER: none is. */
static monotime
first_ripe(const struct subnet *s)
{
	monotime first = MONOTIME_NEVER;

	for (unsigned i = 0; i < MULTICAST_BLOCKS; i++) {
		const struct multicast_block *b = &s->multicast.blocks[i];

		if (b->due && ripe_at(b) < first)
			first = ripe_at(b);
	}
	return first;
}

/* While the worker is busy, multicast_take() sees to it. */
static void
set_timer(struct subnet *s, monotime at)
{
	monotime now = loop_now(s->env.loop);

	if (!s->multicast.job && at != MONOTIME_NEVER)
		loop_timer_set(s->multicast.timer, at > now ? at - now : 0);
}

void
multicast_changed(struct subnet *s, uint16_t mlid)
{
	struct multicast_block *b;

	if (mlid < SA_MLID_FIRST || mlid > SA_MLID_LAST)
		return;
	b = &s->multicast.blocks[(mlid - SA_MLID_FIRST) / MULTICAST_BLOCK];
	block_changed(b, loop_now(s->env.loop));
	if (!loop_timer_pending(s->multicast.timer))
		set_timer(s, ripe_at(b));
}

void
multicast_changed_all(struct subnet *s)
{
	monotime now = loop_now(s->env.loop);

	for (unsigned i = 0; i < MULTICAST_BLOCKS; i++)
		block_changed(&s->multicast.blocks[i], now);
	set_timer(s, now + QUIET);
}

/* ---- Jobs ---- */

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
add_group(const struct subnet *s, struct forest *f, unsigned mlid, uint32_t *len)
{
	const struct sa_groups *groups = sa_groups(s->sa);
	struct forest_group *g = &f->groups[f->ngroups];

	*g = (struct forest_group){
		.mlid = (uint16_t)mlid, .first = *len, .sls = levels_of(groups, mlid),
	};
	for (const struct sa_group *at = sa_groups_at(groups, mlid); at; at = at->shares)
		for (uint32_t i = 0; i < at->len; i++)
			f->ports[(*len)++] = (struct forest_port){
				.guid = sa_base_guid(s->sa, at->joins[i].gid.guid),
				.receives = at->joins[i].state & (SA_JOIN_FULL | SA_JOIN_NON),
			};
	g->len = *len - g->first;
	f->ngroups += g->len > 0;
}

static struct forest *
new_forest(const struct subnet *s, unsigned block)
{
	const struct sa_groups *groups = sa_groups(s->sa);
	unsigned first = SA_MLID_FIRST + block * MULTICAST_BLOCK;
	struct forest *f = mem_zalloc(sizeof(*f));
	uint32_t len = 0;

	f->refs = 1;
	for (unsigned i = first; i < first + MULTICAST_BLOCK; i++)
		for (const struct sa_group *g = sa_groups_at(groups, i); g; g = g->shares)
			len += g->len;
	f->ports = mem_array(len + 1, sizeof(*f->ports));
	len = 0;
	for (unsigned i = first; i < first + MULTICAST_BLOCK; i++)
		add_group(s, f, i, &len);
	return f;
}

/* One that had to wait for the end of its patience has more of it the next time. */
static void
block_taken(struct multicast_block *b, monotime now)
{
	monotime patience = b->patience ? b->patience : COLLECT;

	if (now - b->last >= QUIET)
		b->patience = 0;
	else if (now - b->since >= patience)
		b->patience = 2 * patience < COLLECT_MAX ? 2 * patience : COLLECT_MAX;
	b->due = false;
}

static void
add_block(struct subnet *s, struct forest_job *j, unsigned number, bool fits)
{
	struct multicast_block *b = &s->multicast.blocks[number];
	struct forest_job_block *to = &j->blocks[j->nblocks++];

	*to = (struct forest_job_block){ .number = number, .forest = new_forest(s, number) };
	if (fits && b->forest) {
		to->before = b->forest;
		to->before->refs++;
		to->pending = b->unwritten || b->writing;
	}
	block_taken(b, loop_now(s->env.loop));
}

static void
drop_block(struct subnet *s, struct multicast_block *b)
{
	s->multicast.entries -= b->forest ? b->forest->set.len : 0;
	forest_free(b->forest);
	*b = (struct multicast_block){ 0 };
}

/* No group is in those behind, and no switch has them. */
static unsigned
end_of_blocks(const struct subnet *s)
{
	unsigned end = sa_groups_end(sa_groups(s->sa)) - SA_MLID_FIRST;
	unsigned blocks = (end + MULTICAST_BLOCK - 1) / MULTICAST_BLOCK;

	return blocks > s->multicast.nblocks ? blocks : s->multicast.nblocks;
}

static void
add_blocks(struct subnet *s, struct forest_job *j, bool fits)
{
	monotime now = loop_now(s->env.loop);
	bool *wanted = mem_array(MULTICAST_BLOCKS, sizeof(*wanted));
	unsigned end = end_of_blocks(s);

	j->blocks = mem_array(end + 1, sizeof(*j->blocks));
	for (unsigned i = 0; i < MULTICAST_BLOCKS; i++) {
		struct multicast_block *b = &s->multicast.blocks[i];

		wanted[i] = i < end && (j->whole || (b->due && ripe_at(b) <= now));
		if (wanted[i])
			add_block(s, j, i, fits);
		else if (i >= end)
			drop_block(s, b);
	}
	mft_held(s, j->plan->fabric, wanted, &j->held);
	multicast_levels(s, &j->held);
	if (multicast_in_doubt(s))
		mft_found(s, j->plan->fabric, wanted, &j->found);
	mem_free(wanted);
}

static struct forest_job *
job_new(struct subnet *s)
{
	struct forest_job *j = mem_zalloc(sizeof(*j));
	bool fits = mft_fits(s);

	j->s = s;
	j->plan = plan_ref(s->plan);
	j->threads = s->env.threads;
	j->end = sa_groups_end(sa_groups(s->sa));
	if (s->multicast.found_end > j->end)
		j->end = s->multicast.found_end;
	j->keep = s->conf->takeover == TAKEOVER_KEEP &&
		(!s->multicast.plan || multicast_in_doubt(s));
	j->whole = !fits || s->multicast.together;
	j->inside = j->was_inside = s->multicast.inside;
	j->root = s->multicast.root;
	if (fits && s->multicast.span) {
		j->span = span_ref(s->multicast.span);
		j->span_sls = s->multicast.span_sls;
	}
	add_blocks(s, j, fits);
	return j;
}

/* ---- What comes of them ---- */

static void
name_left_out(struct subnet *s, const struct forest_job *j)
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
tell_left_out(struct subnet *s, const struct forest_job *j)
{
	uint32_t left_out = 0;

	for (unsigned i = 0; i < MULTICAST_BLOCKS; i++)
		if (s->multicast.blocks[i].forest)
			left_out += s->multicast.blocks[i].forest->left_out;
	name_left_out(s, j);
	if (left_out && s->multicast.left_out != left_out)
		subnet_event(s, EVENT_UNROUTED, LOG_L_WARNING, 0, 0,
			     "%u members of multicast groups are in no tree, as is %s: no switch "
			     "leads down to all members of their group", left_out,
			     s->multicast.left_name);
	s->multicast.left_out = left_out;
}

static void
tell_outcome(struct subnet *s, const struct forest_job *j)
{
	if (!j->verdict) {
		s->multicast.refused[0] = '\0';
		tell_left_out(s, j);
		return;
	}
	if (strcmp(s->multicast.refused, j->report.first))
		subnet_event(s, EVENT_UNROUTED, LOG_L_ERROR, 0, 0,
			     "multicast is not forwarded, for with its trees the routing "
			     "would have a %s", j->report.first);
	memcpy(s->multicast.refused, j->report.first, sizeof(s->multicast.refused));
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

/* Where the order of switches proves the unicast tables, it proves trees as well; unless these were
 * found not to keep to it. */
static bool
together(const struct forest_job *j)
{
	return !j->plan->proof || j->inside || j->verdict;
}

static void
take_blocks(struct subnet *s, struct forest_job *j)
{
	for (uint32_t i = 0; i < j->nblocks; i++) {
		struct multicast_block *b = &s->multicast.blocks[j->blocks[i].number];

		s->multicast.entries -= b->forest ? b->forest->set.len : 0;
		forest_free(b->forest);
		b->forest = j->blocks[i].forest;
		j->blocks[i].forest = NULL;
		s->multicast.entries += b->forest->set.len;
		b->unwritten = true;
	}
}

/* What other blocks that are not written yet lack, these lack too: they are written together. */
static void
take_order(struct subnet *s, const struct forest_job *j)
{
	bool alone = j->whole || !mft_unwritten(s);

	s->multicast.mixes = j->mixes && (alone || s->multicast.mixes);
	s->multicast.grows = j->grows && (alone || s->multicast.grows);
}

static void
take_outcome(struct subnet *s, struct forest_job *j)
{
	plan_unref(s->multicast.plan);
	s->multicast.plan = plan_ref(j->plan);
	span_free(s->multicast.span);
	s->multicast.span = j->span;
	j->span = NULL;
	s->multicast.span_sls = j->sls;
	s->multicast.inside = j->inside;
	s->multicast.root = j->root;
	s->multicast.together = together(j);
	s->multicast.end = j->end;
}

/* All anew, and all together. */
static void
prove_together(struct subnet *s)
{
	s->multicast.together = true;
	multicast_changed_all(s);
}

void
multicast_take(struct subnet *s)
{
	struct forest_job *j = s->multicast.job;

	if (!j || !j->finished)
		return;
	s->multicast.job = NULL;
	if (j->verdict && !j->whole) {
		prove_together(s);
	} else {
		take_order(s, j);
		take_blocks(s, j);
		take_outcome(s, j);
		tell_outcome(s, j);
		tell_crowd(s);
	}
	forest_job_free(j);
	set_timer(s, first_ripe(s));
	mft_wanted(s);
}

static void
done(void *arg)
{
	struct forest_job *j = arg;

	if (!j->s) {
		forest_job_free(j);
		return;
	}
	j->finished = true;
	if (j->s->stage != SUBNET_MULTICAST)
		multicast_take(j->s);
}

/* ---- When ---- */

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
	return !s->multicast.plan && !s->multicast.found;
}

static void
forget_due(struct subnet *s)
{
	for (unsigned i = 0; i < MULTICAST_BLOCKS; i++)
		s->multicast.blocks[i].due = false;
}

static void
start_job(struct subnet *s)
{
	struct forest_job *j = job_new(s);

	if (!j->nblocks && !j->whole) {
		forest_job_free(j);
		return;
	}
	s->multicast.job = j;
	loop_work(s->env.loop, forest_run, done, j, MSEC(1));
}

static void
on_timer(void *subnet)
{
	struct subnet *s = subnet;

	if (s->role != ROLE_MASTER || !s->plan || s->multicast.job)
		return;
	/* First what switches hold: multicast_changed_all() follows. */
	if (s->multicast.unread) {
		if (s->stage == SUBNET_IDLE)
			mft_write(s);
		return;
	}
	if (nothing_to_do(s))
		forget_due(s);
	else if (first_ripe(s) <= loop_now(s->env.loop))
		start_job(s);
	set_timer(s, first_ripe(s));
}

/* ---- Takeovers ---- */

bool
multicast_in_doubt(const struct subnet *s)
{
	return loop_timer_pending(s->multicast.doubt);
}

/* Whoever was restarted goes on with the time that hosts had left. */
void
multicast_leads(struct subnet *s, bool after_another)
{
	int64_t now = loop_wall(s->env.loop), whole = REGISTERED / USEC(1), left;

	if (after_another)
		office_doubt(s, now + whole);
	left = s->doubt_wall - now;
	if (left > 0)
		loop_timer_set(s->multicast.doubt, (left < whole ? left : whole) * USEC(1));
	else
		loop_timer_cancel(s->multicast.doubt);
}

/* Timer: who has not registered again is no member. */
static void
on_registered(void *subnet)
{
	struct subnet *s = subnet;

	if (!s->multicast.found_end)
		return;
	mft_found_over(s);
	multicast_changed_all(s);
}

/* ---- What is told ---- */

static uint32_t
tree_size(const struct subnet *s, uint16_t mlid)
{
	unsigned at = (mlid - SA_MLID_FIRST) / MULTICAST_BLOCK;

	return at < MULTICAST_BLOCKS ? forest_tree_size(s->multicast.blocks[at].forest, mlid) : 0;
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
		.switches = tree_size(s, g->r.mlid),
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
	s->multicast.doubt = loop_timer_new(s->env.loop, on_registered, s);
	s->multicast.blocks = mem_array(MULTICAST_BLOCKS, sizeof(*s->multicast.blocks));
	mft_init(s);
}

/* What the worker has in hand it gives back to nobody. */
static void
drop_job(struct subnet *s)
{
	struct forest_job *j = s->multicast.job;

	s->multicast.job = NULL;
	if (!j)
		return;
	if (j->finished)
		forest_job_free(j);
	else
		j->s = NULL;
}

void
multicast_drop(struct subnet *s)
{
	drop_job(s);
	for (unsigned i = 0; i < MULTICAST_BLOCKS; i++)
		drop_block(s, &s->multicast.blocks[i]);
	plan_unref(s->multicast.plan);
	s->multicast.plan = NULL;
	span_free(s->multicast.span);
	s->multicast.span = NULL;
	s->multicast.together = s->multicast.inside = false;
	s->multicast.root = 0;
	loop_timer_cancel(s->multicast.timer);
	loop_timer_cancel(s->multicast.doubt);
	mft_found_over(s);
	mft_drop(s);
}

void
multicast_free(struct subnet *s)
{
	if (!s->multicast.timer)
		return;
	multicast_drop(s);
	mem_free(s->multicast.blocks);
	loop_timer_free(s->multicast.timer);
	loop_timer_free(s->multicast.doubt);
	mft_end(s);
}
