/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What switches hold of their multicast tables (IBA 14.2.5.12, MulticastForwardingTable; 14.2.5.4,
 * MulticastFDBTop), and how that becomes what multicast.c wants. All of it is done in the stage
 * MULTICAST, between others, in rounds that give way to whatever else there is to do:
 *
 *	READ      tables of switches that forwarded before we knew them: what another manager, or we
 *	          before a restart, left there is not written again if it is right, and taken away
 *	          if it is not (after a takeover that is known later: see found.c)
 *	REMOVE    ports that lead where no tree leads any more
 *	ADD       all else, and MulticastFDBTop
 *	WITHDRAW  everything, before a routing that does not go with the trees
 *
 * While ports are removed, what switches hold is part of the old trees; while they are added, of
 * the new ones. A part of a tree is a tree: no packet meets a loop, and what it waits for is in the
 * proof of old and new together. Where the two do not go together packets under way are waited for
 * in between. Equal tables are not written: a storm of joins is a Set for each block that differs.
 * A round is about the blocks that were unwritten when it began; trees that are made while it lasts
 * are taken over when it ends.
 *
 * A switch that was reset is empty, and its MulticastFDBTop is 0, which means that all of the table
 * counts. Where MulticastFDBTop is there, blocks above it need not be known. A switch that refuses
 * is told in the status, and tried again after longer and longer.
 */
#include "sm/core/multicast_i.h"

#include <stdio.h>
#include <string.h>
#include "sm/base/mem.h"
#include "sm/sa/group.h"
#include "sm/sa/sa.h"

#define RETRY_FIRST SEC(5)
#define RETRY_MAX SEC(320)
#define BLOCK MULTICAST_BLOCK
#define NO_MLID 0xbfffu		/* MulticastFDBTop of a table without entries */
#define NO_PORT 255u		/* of DefaultMulticastPrimaryPort: such packets are dropped */

static const uint16_t empty[BLOCK];

/* ---- The shadow ---- */

static unsigned
positions(const struct device *d)
{
	return d->info.num_ports / 16u + 1;
}

static bool
has_top(const struct device *d)
{
	return d->ports[0].info.cap_mask & CAP_MCAST_FDB_TOP;
}

static const uint16_t *
held(const struct device *d, uint32_t at)
{
	return d->mft.blocks[at] ? d->mft.blocks[at] : empty;
}

static void
hold(struct device *d, uint32_t at, const uint16_t masks[BLOCK])
{
	size_t size = BLOCK * sizeof(*masks);

	d->mft.known[at] = true;
	if (!memcmp(masks, empty, size)) {
		mem_free(d->mft.blocks[at]);
		d->mft.blocks[at] = NULL;
		return;
	}
	if (!d->mft.blocks[at])
		d->mft.blocks[at] = mem_array(BLOCK, sizeof(*masks));
	memcpy(d->mft.blocks[at], masks, size);
}

static void
free_blocks(uint16_t **blocks, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		mem_free(blocks[i]);
	mem_free(blocks);
}

static void
free_found(struct mft_shadow *m)
{
	free_blocks(m->found, m->nfound);
	m->found = NULL;
	m->nfound = 0;
}

void
mft_free(struct mft_shadow *m)
{
	free_blocks(m->blocks, m->len);
	mem_free(m->known);
	free_found(m);
	*m = (struct mft_shadow){ 0 };
}

/* Who was a member at a switch is one still, though it may have been reset. */
void
mft_forget(struct subnet *s, struct device *d)
{
	struct mft_shadow found = {
		.found = d->mft.found, .nfound = d->mft.nfound, .live = d->mft.live,
	};

	d->mft.found = NULL;
	d->mft.nfound = 0;
	mft_free(&d->mft);
	d->mft = found;
	d->mft.reset = d->sw.linear_fdb_top == 0 && d->sw_read;
	s->multicast.unread |= !d->mft.reset;
}

/* Does the switch forward by this block, as far as is known? */
static bool
in_force(const struct device *d, uint32_t at)
{
	return !has_top(d) || !d->sw.multicast_fdb_top ||
		SA_MLID_FIRST + at / positions(d) * BLOCK <= d->sw.multicast_fdb_top;
}

/* Room for every block that matters: those in use, and where others would count too, all; no more
 * than there are multicast LIDs for, whatever the switch says. */
static void
make_room(struct subnet *s, struct device *d, unsigned end)
{
	uint32_t need = (end - SA_MLID_FIRST + BLOCK - 1) / BLOCK;
	uint32_t all = (d->sw.multicast_fdb_cap + BLOCK - 1) / BLOCK, len;

	if (all > MULTICAST_BLOCKS)
		all = MULTICAST_BLOCKS;
	if ((!has_top(d) && !d->mft.reset) || need > all)
		need = all;
	len = need * positions(d);
	if (need > s->multicast.nblocks)
		s->multicast.nblocks = need;
	if (len <= d->mft.len)
		return;
	d->mft.blocks = mem_realloc(d->mft.blocks, len, sizeof(*d->mft.blocks));
	d->mft.known = mem_realloc(d->mft.known, len, sizeof(*d->mft.known));
	for (uint32_t i = d->mft.len; i < len; i++) {
		d->mft.blocks[i] = NULL;
		d->mft.known[i] = d->mft.reset;
	}
	d->mft.len = len;
}

static uint32_t
switch_of(const struct fabric *f, const struct device *d)
{
	uint32_t node = d->info.node_type == NODE_SWITCH ? fabric_node_by_guid(f, d->guid) :
							    FABRIC_NONE;

	return node == FABRIC_NONE ? FABRIC_NONE : f->nodes[node].sw;
}

static struct device *
device_of(const struct subnet *s, const struct fabric *f, uint32_t sw)
{
	return topo_find(&s->topo, fabric_switch_node(f, sw)->guid);
}

unsigned
mft_blocks(const struct device *d)
{
	for (uint32_t at = d->mft.len; at-- > 0;)
		if (d->mft.blocks[at] || (!d->mft.known[at] && in_force(d, at)))
			return at / positions(d) + 1;
	return 0;
}

bool
mft_has(const struct device *d, unsigned block, unsigned position)
{
	return d->info.node_type == NODE_SWITCH && position < positions(d) &&
	       block < d->mft.len / positions(d);
}

bool
mft_block(const struct device *d, unsigned block, unsigned position, uint16_t masks[BLOCK])
{
	uint32_t at = block * positions(d) + position;

	memcpy(masks, held(d, at), BLOCK * sizeof(*masks));
	return d->mft.known[at];
}

/* The ports of one multicast LID at one switch. */
static void
gather(uint16_t *const *blocks, unsigned npositions, unsigned i, struct check_tree *t)
{
	for (unsigned p = 0; p < npositions && p < 16; p++) {
		uint64_t mask = blocks[p] ? blocks[p][i] : 0;

		t->out[p / 4] |= mask << p % 4 * 16;
	}
	memcpy(t->in, t->out, sizeof(t->in));
}

/* Of `len` blocks, a row of positions for each. */
static void
add_held(const struct device *d, uint16_t *const *blocks, uint32_t len, uint32_t sw,
	 const bool *wanted, struct mtree_set *set)
{
	for (uint32_t block = 0; block * positions(d) < len; block++) {
		uint16_t *const *row = blocks + block * positions(d);
		bool any = false, want = !wanted || wanted[block];

		for (unsigned p = 0; want && p < positions(d); p++)
			any |= row[p] != NULL;
		for (unsigned i = 0; any && i < BLOCK; i++) {
			struct check_tree t = { .sw = sw };

			gather(row, positions(d), i, &t);
			if (t.out[0] | t.out[1] | t.out[2] | t.out[3])
				mtree_set_add(set, (uint16_t)(SA_MLID_FIRST + block * BLOCK + i),
					      &t);
		}
	}
}

void
mft_held(const struct subnet *s, const struct fabric *f, const bool *wanted,
	 struct mtree_set *set)
{
	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		const struct device *d = device_of(s, f, sw);

		if (d)
			add_held(d, d->mft.blocks, d->mft.len, sw, wanted, set);
	}
}

/* ---- What was found at a takeover ---- */

static void
note_found(struct subnet *s, struct device *d, uint32_t at)
{
	const uint16_t *masks = d->mft.blocks[at];
	unsigned first = SA_MLID_FIRST + at / positions(d) * BLOCK;

	if (d->mft.nfound < d->mft.len) {
		d->mft.found = mem_realloc(d->mft.found, d->mft.len, sizeof(*d->mft.found));
		for (uint32_t i = d->mft.nfound; i < d->mft.len; i++)
			d->mft.found[i] = NULL;
		d->mft.nfound = d->mft.len;
	}
	if (!d->mft.found[at])
		d->mft.found[at] = mem_array(BLOCK, sizeof(*masks));
	memcpy(d->mft.found[at], masks, BLOCK * sizeof(*masks));
	for (unsigned i = 0; i < BLOCK; i++)
		if (masks[i] && first + i >= s->multicast.found_end)
			s->multicast.found_end = first + i + 1;
}

void
mft_found(const struct subnet *s, const struct fabric *f, const bool *wanted,
	  struct mtree_set *set)
{
	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		const struct device *d = device_of(s, f, sw);

		if (d)
			add_held(d, d->mft.found, d->mft.nfound, sw, wanted, set);
	}
}

void
mft_found_over(struct subnet *s)
{
	list_each(it, &s->topo.devices)
		free_found(&list_entry(it, struct device, all)->mft);
	s->multicast.found_end = 0;
}

/* ---- What is wanted ---- */

static void
block_want(const struct forest *f, uint32_t sw, unsigned block, unsigned position,
	   uint16_t masks[BLOCK])
{
	unsigned first = SA_MLID_FIRST + block * BLOCK;

	memset(masks, 0, BLOCK * sizeof(*masks));
	for (uint32_t i = f ? f->first[sw] : 0; f && i < f->first[sw + 1]; i++) {
		uint32_t at = f->by_switch[i];

		masks[f->set.mlids[at] - first] =
			(uint16_t)(f->set.trees[at].out[position / 4] >> position % 4 * 16);
	}
}

/* In the present step; false: nothing is to be written. */
static bool
block_goal(const struct subnet *s, const struct device *d, uint32_t sw, uint32_t at,
	   uint16_t masks[BLOCK])
{
	const struct multicast_block *b = &s->multicast.blocks[at / positions(d)];
	const uint16_t *now = held(d, at);

	if (s->multicast.step == MULTICAST_WITHDRAW)
		memset(masks, 0, BLOCK * sizeof(*masks));
	else if (b->writing || !d->mft.known[at])
		block_want(b->forest, sw, at / positions(d), at % positions(d), masks);
	else
		return false;
	if (s->multicast.step == MULTICAST_REMOVE)
		for (unsigned i = 0; i < BLOCK; i++)
			masks[i] &= now[i];
	if (!d->mft.known[at])
		return s->multicast.step == MULTICAST_ADD;
	return memcmp(now, masks, BLOCK * sizeof(*masks)) != 0;
}

/* ---- Rounds ---- */

bool
mft_unwritten(const struct subnet *s)
{
	for (unsigned i = 0; i < MULTICAST_BLOCKS; i++)
		if (s->multicast.blocks[i].unwritten)
			return true;
	return false;
}

static void
all_unwritten(struct subnet *s)
{
	for (unsigned i = 0; i < MULTICAST_BLOCKS; i++)
		s->multicast.blocks[i].unwritten = true;
	s->multicast.grows = false;
}

static void
take_unwritten(struct subnet *s)
{
	for (unsigned i = 0; i < MULTICAST_BLOCKS; i++) {
		struct multicast_block *b = &s->multicast.blocks[i];

		b->writing = b->unwritten;
		b->unwritten = false;
	}
}

/* No block is of a round any more; `again`: they are of the next. */
static void
put_back(struct subnet *s, bool again)
{
	for (unsigned i = 0; i < MULTICAST_BLOCKS; i++) {
		struct multicast_block *b = &s->multicast.blocks[i];

		b->unwritten |= again && b->writing;
		b->writing = false;
	}
}

static bool
is_patient(const struct subnet *s, const struct device *d)
{
	return d->mft.failures && loop_now(s->env.loop) < d->mft.retry_at;
}

static bool
takes_part(const struct subnet *s, const struct device *d)
{
	return !d->silent && d->complete && switch_of(s->plan->fabric, d) != FABRIC_NONE;
}

static void
begin(struct subnet *s, enum multicast_step step)
{
	unsigned end = sa_groups_end(sa_groups(s->sa));

	if (s->multicast.end > end)
		end = s->multicast.end;
	s->multicast.step = step;
	s->multicast.interrupted = false;
	subnet_set_stage(s, SUBNET_MULTICAST);
	for (uint32_t sw = 0; sw < s->plan->fabric->nswitches; sw++) {
		struct device *d = device_of(s, s->plan->fabric, sw);

		if (!d || !takes_part(s, d))
			continue;
		make_room(s, d, end);
		d->mft.next = 0;
		d->mft.top_next = step == MULTICAST_ADD;
		if (!d->mft.failed && !is_patient(s, d))
			transact_ready(s->transact, &d->agent.target);
	}
	if (transact_is_idle(s->transact))
		mft_idle(s);
}

static void
begin_round(struct subnet *s, enum multicast_step step)
{
	s->multicast.failed = s->multicast.removed = 0;
	if (s->multicast.troubled)
		list_each(it, &s->topo.devices)
			list_entry(it, struct device, all)->mft.failed = false;
	if (step == MULTICAST_REMOVE || step == MULTICAST_ADD)
		take_unwritten(s);
	begin(s, step);
}

static bool
others_wait(const struct subnet *s)
{
	return s->wanted != SWEEP_NONE || s->want_route || s->reroute.waiting;
}

bool
mft_fits(const struct subnet *s)
{
	return s->multicast.plan && s->multicast.plan->lids == s->plan->lids;
}

bool
mft_write(struct subnet *s)
{
	if (s->role != ROLE_MASTER || s->ending || !s->plan || others_wait(s))
		return false;
	if (s->multicast.unread)
		begin_round(s, MULTICAST_READ);
	else if (mft_fits(s) && loop_now(s->env.loop) >= s->multicast.not_before &&
		 mft_unwritten(s))
		begin_round(s, s->multicast.grows ? MULTICAST_ADD : MULTICAST_REMOVE);
	else
		return false;
	return true;
}

void
mft_wanted(struct subnet *s)
{
	if (s->stage == SUBNET_IDLE)
		mft_write(s);
}

bool
mft_withdraw(struct subnet *s, struct plan *plan, struct plan_stages *stages, bool reregister)
{
	bool any = false;

	list_each(it, &s->topo.devices) {
		const struct device *d = list_entry(it, struct device, all);

		for (uint32_t i = 0; i < d->mft.len && !any; i++)
			any = d->mft.blocks[i] != NULL;
	}
	if (!any)
		return false;
	s->multicast.then_plan = plan;
	s->multicast.then_stages = stages;
	s->multicast.then_reregister = reregister;
	subnet_event(s, EVENT_ROUTED, LOG_L_NOTICE, 0, 0, "multicast trees and the new tables "
		     "together could deadlock: the trees are taken away until these are in");
	begin_round(s, MULTICAST_WITHDRAW);
	return true;
}

/* Timer: packets of what was removed have left the fabric. */
static void
on_waited(void *subnet)
{
	struct subnet *s = subnet;
	struct plan *plan = s->multicast.then_plan;
	struct plan_stages *stages = s->multicast.then_stages;

	if (!plan) {
		if (s->stage == SUBNET_IDLE)
			mft_write(s);
		return;
	}
	s->multicast.then_plan = NULL;
	s->multicast.then_stages = NULL;
	all_unwritten(s);
	multicast_take(s);
	subnet_set_stage(s, SUBNET_PUSH);
	push_start(s, plan, stages, s->multicast.then_reregister);
}

/* Timer: what did not get through is tried again. */
static void
on_retry(void *subnet)
{
	struct subnet *s = subnet;

	s->multicast.unread = true;
	all_unwritten(s);
	if (s->stage == SUBNET_IDLE)
		mft_write(s);
}

/* ---- Requests ---- */

static bool
read_next(struct device *d, struct transact_request *r)
{
	while (d->mft.next < d->mft.len) {
		uint32_t at = d->mft.next++;

		if (d->mft.known[at] || d->mft.unreadable || !in_force(d, at))
			continue;
		r->method = MAD_GET;
		r->attr_id = ATTR_MULTICAST_FDB;
		r->attr_mod = at % positions(d) << 28 | at / positions(d);
		return true;
	}
	return false;
}

static bool
block_next(struct subnet *s, struct device *d, uint32_t sw, struct transact_request *r)
{
	uint16_t masks[BLOCK];

	while (d->mft.next < d->mft.len) {
		uint32_t at = d->mft.next++;

		if (!block_goal(s, d, sw, at, masks))
			continue;
		r->method = MAD_SET;
		r->attr_id = ATTR_MULTICAST_FDB;
		r->attr_mod = at % positions(d) << 28 | at / positions(d);
		mft_encode(masks, r->data);
		s->multicast.removed += s->multicast.step == MULTICAST_REMOVE;
		return true;
	}
	return false;
}

/* A port that another manager chose for packets to groups without an entry would spread them. */
static uint8_t
no_default(uint8_t port)
{
	return port ? NO_PORT : 0;
}

static bool
top_want(const struct subnet *s, const struct device *d, struct switchinfo *w)
{
	unsigned last = s->multicast.end - 1, cap = SA_MLID_FIRST + d->sw.multicast_fdb_cap;

	*w = d->sw;
	w->port_state_change = false;
	if (has_top(d))
		w->multicast_fdb_top = (uint16_t)(!s->multicast.entries ? NO_MLID :
						  last < cap ? last : cap - 1);
	/* Groups that are not known yet may have had higher ones. */
	if (s->multicast.found_end && w->multicast_fdb_top < d->sw.multicast_fdb_top)
		w->multicast_fdb_top = d->sw.multicast_fdb_top;
	if (!d->mft.defaults_tried) {
		w->default_mcast_primary = no_default(d->sw.default_mcast_primary);
		w->default_mcast_not_primary = no_default(d->sw.default_mcast_not_primary);
	}
	return w->multicast_fdb_top != d->sw.multicast_fdb_top ||
		w->default_mcast_primary != d->sw.default_mcast_primary ||
		w->default_mcast_not_primary != d->sw.default_mcast_not_primary;
}

/* Behind all blocks: from then on they count. */
static bool
top_next(struct subnet *s, struct device *d, struct transact_request *r)
{
	struct switchinfo w;

	if (!d->mft.top_next || d->inflight || !top_want(s, d, &w))
		return false;
	d->mft.top_next = false;
	d->mft.defaults_tried = true;
	r->method = MAD_SET;
	r->attr_id = ATTR_SWITCH_INFO;
	switchinfo_encode(&w, r->data);
	return true;
}

/* Something else comes first: the round after it goes on from here. */
static bool
gives_way(struct subnet *s)
{
	if (s->multicast.step == MULTICAST_WITHDRAW || !others_wait(s))
		return false;
	s->multicast.interrupted = true;
	return true;
}

static void
fail(struct subnet *s, struct device *d, const char *why)
{
	char text[DEVICE_TEXT_SIZE];
	monotime wait;

	if (d->mft.failed)
		return;
	if (!d->mft.failures)
		subnet_event(s, EVENT_REFUSED, LOG_L_WARNING, d->guid, 0,
			     "%s does not take its multicast table: %s",
			     device_text(text, d, s->env.names), why);
	d->mft.failed = s->multicast.troubled = true;
	remarks_add(&s->topo, d);
	wait = backoff_delay(RETRY_FIRST, RETRY_MAX, ++d->mft.failures);
	d->mft.retry_at = loop_now(s->env.loop) + wait;
	s->multicast.failed++;
	if (!loop_timer_pending(s->multicast.retry))
		loop_timer_set(s->multicast.retry, wait);
}

bool
mft_next(struct subnet *s, struct agent *a, struct transact_request *r)
{
	struct device *d = list_entry(a, struct device, agent);
	uint32_t sw;

	if (a->kind != AGENT_DEVICE || d->mft.failed || gives_way(s) || !takes_part(s, d))
		return false;
	if (s->multicast.step == MULTICAST_READ) {
		if (!read_next(d, r))
			return false;
	} else {
		const struct plan *p = s->multicast.plan;

		sw = p ? switch_of(p->fabric, d) : FABRIC_NONE;
		if (sw == FABRIC_NONE && s->multicast.step != MULTICAST_WITHDRAW)
			return false;
		if (!block_next(s, d, sw, r) && !top_next(s, d, r))
			return false;
	}
	if (!subnet_address(s, d, 0, r)) {
		fail(s, d, "no way leads there");
		return false;
	}
	d->inflight++;
	return true;
}

static void
block_done(struct subnet *s, struct device *d, const struct transact_result *res)
{
	uint32_t at = (res->attr_mod & 0x1ff) * positions(d) + (res->attr_mod >> 28);
	uint16_t masks[BLOCK];

	if (at >= d->mft.len)
		return;
	mft_decode(masks, res->data);
	hold(d, at, masks);
	if (res->method == MAD_GET && d->mft.blocks[at]) {
		s->multicast.found = true;
		if (multicast_in_doubt(s) && d->mft.live)
			note_found(s, d, at);
	}
	if (res->method == MAD_SET && memcmp(res->data, res->sent, SMP_DATA_SIZE))
		fail(s, d, "it keeps other values");
}

static void
request_failed(struct subnet *s, struct device *d, const struct transact_result *res)
{
	uint32_t at = (res->attr_mod & 0x1ff) * positions(d) + (res->attr_mod >> 28);
	char why[64];

	if (res->method == MAD_GET && !res->error) {
		d->mft.unreadable = true;	/* it is written without being known */
		return;
	}
	if (res->attr_id == ATTR_MULTICAST_FDB && at < d->mft.len)
		d->mft.known[at] = false;
	if (res->error == ERR_CLOSED) {
		s->multicast.interrupted = true;
		return;
	}
	if (res->error)
		snprintf(why, sizeof(why), "it does not answer");
	else
		snprintf(why, sizeof(why), "it answers with status 0x%04x", res->mad_status);
	fail(s, d, why);
}

void
mft_done(struct subnet *s, struct agent *a, const struct transact_result *res)
{
	struct device *d = list_entry(a, struct device, agent);
	struct switchinfo got;

	if (a->kind != AGENT_DEVICE)
		return;
	d->inflight--;
	if (res->error || res->mad_status) {
		request_failed(s, d, res);
	} else if (res->attr_id == ATTR_MULTICAST_FDB) {
		block_done(s, d, res);
	} else if (res->attr_id == ATTR_SWITCH_INFO) {
		switchinfo_decode(&got, res->data);
		d->sw.multicast_fdb_top = got.multicast_fdb_top;
		d->sw.default_mcast_primary = got.default_mcast_primary;
		d->sw.default_mcast_not_primary = got.default_mcast_not_primary;
	}
	if (!d->inflight && d->mft.top_next && d->mft.next >= d->mft.len)
		transact_ready(s->transact, &d->agent.target);
}

/* ---- Ends of steps ---- */

/* Those that did all of a round are well again. */
static void
settle_failures(struct subnet *s)
{
	if (!s->multicast.troubled)
		return;
	list_each(it, &s->topo.devices) {
		struct device *d = list_entry(it, struct device, all);

		if (!d->mft.failed && !is_patient(s, d))
			d->mft.failures = 0;
	}
}

/* Somebody has to be tried again. */
static void
set_retry(struct subnet *s)
{
	monotime now = loop_now(s->env.loop), first = 0;

	if (!s->multicast.troubled)
		return;
	s->multicast.troubled = false;
	list_each(it, &s->topo.devices) {
		const struct device *d = list_entry(it, struct device, all);

		s->multicast.troubled |= d->mft.failures != 0;
		if (d->mft.failures && takes_part(s, d) &&
		    (!first || d->mft.retry_at < first))
			first = d->mft.retry_at;
	}
	if (first)
		loop_timer_set(s->multicast.retry, first > now ? first - now : RETRY_FIRST);
	else
		loop_timer_cancel(s->multicast.retry);
}

/* `again`: what was of the round is of the next. */
static void
over(struct subnet *s, bool again)
{
	put_back(s, again);
	multicast_take(s);
	between_over(s);
}

static void
read_over(struct subnet *s)
{
	s->multicast.unread = s->multicast.interrupted;
	set_retry(s);
	over(s, false);
	if (!s->multicast.unread)
		multicast_changed_all(s);
}

static void
removed(struct subnet *s)
{
	if (s->multicast.mixes || !s->multicast.removed) {
		begin(s, MULTICAST_ADD);
		return;
	}
	s->multicast.not_before = loop_now(s->env.loop) + push_packet_lifetime(s);
	loop_timer_set(s->multicast.waited, push_packet_lifetime(s));
	over(s, true);
}

static void
added(struct subnet *s)
{
	if (!s->multicast.interrupted)
		settle_failures(s);
	set_retry(s);
	over(s, s->multicast.interrupted);
}

void
mft_idle(struct subnet *s)
{
	switch (s->multicast.step) {
	case MULTICAST_READ:
		read_over(s);
		break;
	case MULTICAST_REMOVE:
		if (s->multicast.interrupted)
			over(s, true);
		else
			removed(s);
		break;
	case MULTICAST_ADD:
		added(s);
		break;
	case MULTICAST_WITHDRAW:
		s->multicast.step = MULTICAST_WAIT;
		loop_timer_set(s->multicast.waited, push_packet_lifetime(s));
		break;
	case MULTICAST_WAIT:
		break;
	}
}

/* ---- Life ---- */

void
mft_init(struct subnet *s)
{
	s->multicast.waited = loop_timer_new(s->env.loop, on_waited, s);
	s->multicast.retry = loop_timer_new(s->env.loop, on_retry, s);
}

void
mft_drop(struct subnet *s)
{
	plan_unref(s->multicast.then_plan);
	plan_stages_free(s->multicast.then_stages);
	s->multicast.then_plan = NULL;
	s->multicast.then_stages = NULL;
	s->multicast.unread = s->multicast.found = false;
	s->multicast.not_before = 0;
	loop_timer_cancel(s->multicast.waited);
	loop_timer_cancel(s->multicast.retry);
}

void
mft_end(struct subnet *s)
{
	loop_timer_free(s->multicast.waited);
	loop_timer_free(s->multicast.retry);
}
