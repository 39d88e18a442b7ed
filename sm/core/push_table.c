/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The forwarding tables of switches in a push (IBA 14.2.5.9, LinearForwardingTable).
 *
 * device.lft is what a switch is known to hold: read from it when a fabric already forwards before
 * we route it, or acknowledged block by block. A cursor walks the blocks of the row that the
 * present step writes and sends those that differ; when all are answered, and the answers show what
 * was set, the row is what the switch holds. After a refused, lost or kept block, or when the
 * device stops answering in the middle, it is not trusted: it is read again before the next
 * routing.
 *
 * One that has refused a block, and is read to hold another table than it was to get, keeps that as
 * far as routing is concerned: others are routed around what it does (FABRIC_NODE_REFUSES_TABLE),
 * and its table is left alone. Each push asks it again, by the entry of LID 0, which no packet has,
 * set to another value; when it takes that it is read and routed as all others are. So it is where
 * nothing can be proved with what it does.
 *
 * At the end of a push every switch is held against the plan, so that none is forgotten.
 */
#include "sm/core/adaptive.h"
#include "sm/core/push_adaptive.h"
#include "sm/core/push_i.h"

#include <string.h>

#define TRIAL 1		/* cookie of a Set that asks whether a table is still refused */
#define UNANSWERED 3	/* pushes in a row that a switch does not answer, after which it refuses */

/* The row that this step writes to a switch; NULL: none. */
static struct plan_row *
row_goal(const struct subnet *s, const struct device *d)
{
	uint32_t sw;

	if (d->info.node_type != NODE_SWITCH || d->fabric_node == FABRIC_NONE)
		return NULL;
	sw = s->push.plan->fabric->nodes[d->fabric_node].sw;
	if (s->push.plan->fixed[sw])
		return NULL;
	if (s->push.step == PUSH_NUMBERS)
		return push_adaptive_renumbers(s, d) ? d->lft : NULL;
	/* A switch that was new holds all of its table already. */
	if (s->push.step == PUSH_DROP && s->push.stages->shifts)
		return s->push.stages->rows[0][sw];
	if (s->push.step == PUSH_STAGE || s->push.step == PUSH_DROP)
		return d->lft_trusted && d->lft == s->push.plan->rows[sw] ? NULL :
		       s->push.stages->rows[s->push.stage][sw];
	return s->push.plan->rows[sw];
}

/* Its blocks, of whichever table. */
static uint32_t
row_end(const struct device *d, const struct plan_row *row)
{
	return plan_row_blocks(row) * (adaptive_is_on(d) ? LFT_BLOCK_LEN / AR_LFT_BLOCK : 1);
}

/* The next block that the switch is not known to hold. */
static uint32_t
next_block(const struct device *d, const struct plan_row *goal)
{
	return d->lft_trusted && d->lft ? plan_row_differs(d->lft, goal, d->lft_next) : d->lft_next;
}

static void
count_entries(struct subnet *s, const struct device *d, const struct plan_row *goal, uint32_t block)
{
	s->push.blocks++;
	for (uint32_t i = block * LFT_BLOCK_LEN; i < (block + 1) * LFT_BLOCK_LEN; i++)
		s->push.entries += plan_row_port(goal, i) !=
				   (d->lft_trusted ? plan_row_port(d->lft, i) : LFT_NO_PORT);
}

bool
push_table_next(struct subnet *s, struct device *d, struct transact_request *r)
{
	struct plan_row *goal = row_goal(s, d);
	uint32_t block;

	if (!goal || !d->lft_pending || d->lft_next >= row_end(d, goal))
		return false;
	if (adaptive_is_on(d))
		return push_adaptive_row_next(s, d, goal, r);
	block = next_block(d, goal);
	d->lft_next = block + 1;
	if (block >= plan_row_blocks(goal))
		return false;
	count_entries(s, d, goal, block);
	r->method = MAD_SET;
	r->attr_id = ATTR_LINEAR_FDB;
	r->attr_mod = block;
	memcpy(r->data, plan_row_block(goal, block), LFT_BLOCK_LEN);
	d->lft_inflight++;
	return true;
}

/* It holds `lft` and nothing else. */
static void
trust(struct device *d)
{
	d->lft_trusted = true;
	plan_row_unref(d->lft_tried);
	d->lft_tried = NULL;
}

/* All blocks of the row are out and answered: the switch holds it. */
void
push_table_settled(struct subnet *s, struct device *d)
{
	struct plan_row *goal = row_goal(s, d);

	if (!goal || !d->lft_pending || d->lft_inflight || d->lft_next < row_end(d, goal))
		return;
	d->lft_pending = false;
	if (d->lft_failed) {
		topo_doubt_table(d);
		return;
	}
	if (adaptive_is_on(d))
		push_adaptive_row_held(s, d);
	plan_row_unref(d->lft);
	d->lft = plan_row_ref(goal);
	d->lft_losses = d->lft_unanswered = 0;
	d->lft_refused = d->lft_refuses = false;
	trust(d);
}

void
push_table_abandon(struct device *d)
{
	/* Blocks may be in, acknowledged or not. */
	if (d->lft_pending)
		topo_doubt_table(d);
	d->lft_pending = false;
}

void
push_tables_forgive(struct subnet *s)
{
	list_each(it, &s->topo.devices) {
		struct device *d = list_entry(it, struct device, all);

		if (!d->lft_refuses)
			continue;
		d->lft_refuses = false;
		subnet_want_device(s, d->guid);
		s->want_route = true;
	}
}

static bool
holds(const struct device *d, const struct plan_row *row)
{
	return d->lft_trusted && d->lft && (d->lft == row || plan_row_equal(d->lft, row));
}

bool
push_tables_are_in(const struct subnet *s)
{
	const struct plan *plan = s->push.plan;

	list_each(it, &s->topo.devices) {
		const struct device *d = list_entry(it, struct device, all);
		uint32_t sw;

		if (d->info.node_type != NODE_SWITCH || d->silent || d->fabric_node == FABRIC_NONE)
			continue;
		sw = plan->fabric->nodes[d->fabric_node].sw;
		if (!plan->fixed[sw] && plan->rows[sw] && !holds(d, plan->rows[sw]))
			return false;
	}
	return true;
}

void
push_verify_tables(struct subnet *s)
{
	const struct plan *plan = s->push.plan;

	list_each(it, &s->topo.devices) {
		struct device *d = list_entry(it, struct device, all);
		uint32_t sw;

		if (d->info.node_type != NODE_SWITCH || d->silent || d->fabric_node == FABRIC_NONE)
			continue;
		sw = plan->fabric->nodes[d->fabric_node].sw;
		s->push.failed_tables += d->lft_refuses;
		if (plan->fixed[sw] || !plan->rows[sw] || holds(d, plan->rows[sw]))
			continue;
		topo_doubt_table(d);
		if (d->push_failed)
			continue;
		s->push.failed_tables++;
		if (!d->lft_failed)	/* else it was told */
			push_failure(s, d, "was not given the table that was planned");
		push_look_again(s, d);
	}
}

bool
push_read_next(struct device *d, struct transact_request *r)
{
	if (push_adaptive_reads(d))
		return push_adaptive_read_next(d, r);
	if (!d->lft_read || d->lft_next >= plan_row_blocks(d->lft_read))
		return false;
	r->method = MAD_GET;
	r->attr_id = ATTR_LINEAR_FDB;
	r->attr_mod = d->lft_next++;
	d->lft_inflight++;
	return true;
}

void
push_read_settled(struct device *d)
{
	if (!d->lft_read || d->lft_inflight)
		return;
	if (d->push_failed)
		d->lft_failed = true;
	else if (push_adaptive_reads(d) ? !push_adaptive_read_settled(d) :
					  d->lft_next < plan_row_blocks(d->lft_read))
		return;
	if (!d->lft_failed) {
		plan_row_unref(d->lft);
		d->lft = d->lft_read;
		trust(d);
		d->lft_refuses = d->lft_refused && !adaptive_is_on(d);
		d->lft_refused = false;
	} else {
		plan_row_unref(d->lft_read);
		push_adaptive_read_drop(d);
	}
	d->lft_read = NULL;
}

/* The answer to a Set shows another table, where LIDs are in use. */
static bool
table_kept(const struct subnet *s, const struct device *d, const struct transact_result *res)
{
	const struct plan_row *goal = row_goal(s, d);
	uint32_t at = res->attr_mod * LFT_BLOCK_LEN, top = s->push.plan->lids->top;
	size_t len = top < at ? 0 : top - at + 1 < LFT_BLOCK_LEN ? top - at + 1 : LFT_BLOCK_LEN;

	return goal && memcmp(plan_row_block(goal, res->attr_mod), res->data, len);
}

bool
push_table_trial_next(struct device *d, struct transact_request *r)
{
	if (!d->lft_trial)
		return false;
	d->lft_trial = false;
	r->method = MAD_SET;
	r->attr_id = ATTR_LINEAR_FDB;
	memcpy(r->data, plan_row_block(d->lft, 0), LFT_BLOCK_LEN);
	r->data[0] = r->data[0] ? 0 : LFT_NO_PORT;
	r->cookie = TRIAL;
	d->lft_inflight++;
	return true;
}

static void
table_refused(struct subnet *s, struct device *d)
{
	d->lft_refused = true;
	remarks_add(&s->topo, d);
}

/* It is asked whether it still refuses; a refusal is told as all others are. */
static void
trial_answered(struct subnet *s, struct device *d, const struct transact_result *res)
{
	if (res->error || res->mad_status)
		return;
	if (memcmp(res->data, res->sent, LFT_BLOCK_LEN)) {
		push_failure(s, d, "keeps another LinearForwardingTable than was set (block 0)");
		return;
	}
	topo_doubt_table(d);
	s->want_route = true;
	push_look_again(s, d);
}

void
push_table_answer(struct subnet *s, struct device *d, const struct transact_result *res)
{
	d->lft_inflight--;
	if (res->method == MAD_SET && res->cookie == TRIAL) {
		trial_answered(s, d, res);
		return;
	}
	if (res->method == MAD_SET && res->mad_status)
		table_refused(s, d);
	/* Once in each push: perhaps the way to it was lost. */
	if (res->method == MAD_SET && res->error == ERR_TIMEOUT && !d->push_failed &&
	    ++d->lft_unanswered >= UNANSWERED)
		table_refused(s, d);
	if (res->error || res->mad_status) {
		d->lft_failed = true;
	} else if (res->method == MAD_GET) {
		if (d->lft_read)
			memcpy(plan_row_entries(d->lft_read) + res->attr_mod * LFT_BLOCK_LEN,
			       res->data, LFT_BLOCK_LEN);
	} else if (table_kept(s, d, res)) {
		d->lft_failed = true;
		table_refused(s, d);
		s->push.failed_tables++;
		push_failure(s, d, "keeps another LinearForwardingTable than was set (block %u)",
			res->attr_mod);
	}
}

void
push_table_start(struct subnet *s, struct device *d)
{
	struct plan_row *goal = row_goal(s, d);

	/* Whatever cost us the one table may have cost us the other. */
	if (goal && !d->lft_trusted)
		mft_forget(s, d);
	d->lft_next = d->lft_inflight = 0;
	d->lft_failed = false;
	d->lft_pending = goal && (adaptive_is_on(d) ? push_adaptive_row_differs(s, d, goal) :
						      goal != d->lft || !d->lft_trusted);
	if (d->lft_pending) {
		plan_row_unref(d->lft_tried);
		d->lft_tried = plan_row_ref(goal);
	}
}

/*
 * Tables of a fabric that already forwards.
 */
static bool
has_unknown_table(const struct device *d)
{
	if (d->info.node_type != NODE_SWITCH || d->silent || !d->complete || d->lft_trusted ||
	    !d->sw.linear_fdb_top)
		return false;
	for (unsigned n = 1; n <= d->info.num_ports; n++)
		if (d->ports[n].peer && d->ports[n].info.state == PORT_ACTIVE)
			return true;
	return false;
}

/* False: that was often enough, and the push goes on with what is not proved. */
static bool
lose_once_more(struct subnet *s, uint8_t *losses)
{
	if (*losses < PUSH_LOSSES) {
		++*losses;
		return true;
	}
	s->unproved = true;
	return false;
}

bool
push_table_is_lost(struct subnet *s, struct device *d)
{
	if (!has_unknown_table(d) || !(d->push_failed || push_leave_stuck(d)))
		return false;
	return lose_once_more(s, push_leave_stuck(d) ? &d->ar->refusals : &d->lft_losses);
}

bool
push_table_lacks(struct subnet *s, struct device *d)
{
	if ((!d->push_failed && d->lft_trusted) || !row_goal(s, d))
		return false;
	if (d->push_failed)
		return true;
	if (d->silent)
		return false;
	return lose_once_more(s, &d->lft_losses);
}

bool
push_needs_tables(struct subnet *s)
{
	list_each(it, &s->topo.devices)
		if (has_unknown_table(list_entry(it, struct device, all)))
			return true;
	return false;
}

bool
push_read_start(struct subnet *s, struct device *d)
{
	d->mft.live = has_unknown_table(d);
	if (!d->mft.live)
		return false;
	mft_forget(s, d);
	d->lft_next = d->lft_inflight = 0;
	d->lft_failed = false;
	plan_row_unref(d->lft_read);
	d->lft_read = plan_row_new(d->sw.linear_fdb_top);
	push_adaptive_read_start(s, d);
	return true;
}

void
push_doubt_tables(struct subnet *s)
{
	list_each(it, &s->topo.devices) {
		struct device *d = list_entry(it, struct device, all);

		if (d->info.node_type != NODE_SWITCH || d->silent)
			continue;
		topo_doubt_table(d);
		d->lanes_refused = d->lanes_plain = false;
		if (s->plan && s->plan->sls)
			tables_forget_device(&s->topo.tables, d);
	}
}

struct plan *
push_shadow_plan(struct subnet *s, const struct fabric *f)
{
	struct plan *p = plan_new(f);
	bool any = false;

	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		struct device *d = topo_find(&s->topo, fabric_switch_node(f, sw)->guid);

		/* What is not certain is written first, in PUSH_NEW. */
		if (!d || !d->lft || !(d->lft_trusted || d->silent))
			continue;
		p->rows[sw] = plan_row_ref(d->lft);
		p->fixed[sw] = d->silent || d->lft_refuses;
		any = true;
	}
	if (any)
		return p;
	plan_unref(p);
	return NULL;
}
