/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A push to switches that route adaptively: AdaptiveRoutingGroupTable and AdaptiveRoutingLFT. A
 * plain table is never written to one that is on: it would stop by that.
 *
 * Groups change in steps around the rows. Before any row groups get what they hold meanwhile
 * (PUSH_GROUPS_LESS, plan_adaptive.less) and entries their new numbers (PUSH_NUMBERS): packets find
 * at most what the old plan had for them. After the rows, in PUSH_GROUPS, each group gets what it
 * will have. The planner has proved what there is in between with old and new rows, or, where it
 * could not (plan_adaptive.apart), all groups are emptied first, which leaves the rows alone.
 *
 * live_adaptive.ports is what groups are known to hold, and device.lft with live_adaptive.held what
 * the adaptive LFT does. Whatever is refused, lost or kept otherwise, the switch is no longer
 * trusted with it: E is cleared, and its plain table is written whole.
 */
#include "sm/core/push_adaptive.h"

#include <string.h>
#include "sm/base/mem.h"
#include "sm/core/adaptive.h"
#include "sm/core/push_i.h"

static const struct ar_ports none;

/* ---- As requests ---- */

static unsigned
blocks_of(unsigned top, unsigned subs)
{
	return top ? ((top + 1) * subs + AR_GROUP_BLOCK - 1) / AR_GROUP_BLOCK : 0;
}

unsigned
push_adaptive_group_blocks(const struct plan_ar_switch *s)
{
	return blocks_of(s->top, s->subs);
}

static void
set_group(const struct ar_ports ports[AR_GROUP_BLOCK], unsigned block, struct transact_request *r)
{
	r->method = MAD_SET;
	r->attr_id = AR_ATTR_GROUPS;
	r->attr_mod = block;
	ar_groups_encode(ports, r->data);
}

/* Entry `at` of the group tables of a section: group at / subs. */
static struct ar_ports
planned(const struct plan_ar_switch *s, unsigned at)
{
	return at < (s->top + 1u) * s->subs ? s->ports[at] : none;
}

void
push_adaptive_set_group(const struct plan_ar_switch *s, unsigned block, struct transact_request *r)
{
	struct ar_ports ports[AR_GROUP_BLOCK];

	for (unsigned i = 0; i < AR_GROUP_BLOCK; i++)
		ports[i] = planned(s, block * AR_GROUP_BLOCK + i);
	set_group(ports, block, r);
}

void
push_adaptive_encode_row(const struct plan_ar_switch *s, const struct plan_row *row,
			 const struct plan_lids *lids, unsigned block,
			 uint8_t data[SMP_DATA_SIZE])
{
	struct ar_lft_entry entries[AR_LFT_BLOCK];

	for (unsigned i = 0; i < AR_LFT_BLOCK; i++) {
		uint32_t lid = block * AR_LFT_BLOCK + i;
		uint8_t port = plan_row_port(row, lid);

		if (lid <= lids->top)
			entries[i] = plan_ar_entry(s, 0, &lids->dest[lid], port);
		else
			entries[i] = (struct ar_lft_entry){ .state = AR_STATIC, .port = port };
	}
	ar_lft_encode(entries, data);
}

void
push_adaptive_set_row(const struct plan_ar_switch *s, const struct plan_row *row,
		      const struct plan_lids *lids, unsigned block, struct transact_request *r)
{
	r->method = MAD_SET;
	r->attr_id = AR_ATTR_LFT;
	r->attr_mod = block;
	push_adaptive_encode_row(s, row, lids, block, r->data);
}

/* ---- Groups ---- */

/* Is known what it holds? Numbers that no entry has are not read: who led before may have filled
 * them. */
static bool
is_known(const struct live_adaptive *ar, unsigned at)
{
	return ar->ports && at < (ar->top + 1u) * ar->subs && ar->known[at];
}

static struct ar_ports
known(const struct live_adaptive *ar, unsigned at)
{
	return is_known(ar, at) ? ar->ports[at] : none;
}

/* What entry `at` of the group tables is to be in this step. Numbers that the plan does not have
 * are emptied when no entry has them any more. */
static struct ar_ports
wanted(const struct plan *plan, const struct device *d, unsigned step, unsigned at)
{
	const struct plan_ar_switch *new = adaptive_section(plan, d), *less = NULL;
	uint32_t sw = plan->fabric->nodes[d->fabric_node].sw;

	if (step == PUSH_GROUPS)
		return planned(new, at);
	if (plan->adaptive->apart)
		return none;
	if (at >= (new->top + 1u) * new->subs)
		return known(d->ar, at);
	less = plan->adaptive->less ? plan->adaptive->less[sw] : NULL;
	return planned(less ? less : new, at);
}

static bool
group_differs(const struct plan *plan, const struct device *d, unsigned step, unsigned at)
{
	const struct plan_ar_switch *new = adaptive_section(plan, d);
	struct ar_ports want = wanted(plan, d, step, at), now = known(d->ar, at);

	if (!is_known(d->ar, at))
		return at >= new->subs && at < (new->top + 1u) * new->subs;
	return memcmp(&want, &now, sizeof(want)) != 0;
}

/* The first block, from `block` on, that is to be written; `end`: none. */
static unsigned
next_group(const struct plan *plan, const struct device *d, unsigned step, unsigned block,
	   unsigned end)
{
	for (; block < end; block++)
		for (unsigned i = 0; i < AR_GROUP_BLOCK; i++)
			if (group_differs(plan, d, step, block * AR_GROUP_BLOCK + i))
				return block;
	return end;
}

static unsigned
group_end(const struct plan *plan, const struct device *d)
{
	const struct plan_ar_switch *new = adaptive_section(plan, d);
	unsigned a = blocks_of(d->ar->top, d->ar->subs), b = push_adaptive_group_blocks(new);

	return a > b ? a : b;
}

/* It is on, and the plan has something for it. */
static bool
takes_part(const struct plan *plan, const struct device *d)
{
	const struct plan_ar_switch *new = adaptive_section(plan, d);

	return adaptive_is_on(d) && new && d->lft_trusted && new->subs == d->ar->subs;
}

static bool
groups_differ(const struct plan *plan, const struct device *d, unsigned step)
{
	unsigned end;

	if (!takes_part(plan, d))
		return false;
	end = group_end(plan, d);
	return next_group(plan, d, step, 0, end) < end;
}

bool
push_groups_due(const struct subnet *s, unsigned step)
{
	if (!s->push.plan->adaptive || s->push.few)
		return false;
	list_each(it, &s->topo.devices)
		if (groups_differ(s->push.plan, list_entry(it, struct device, all), step))
			return true;
	return false;
}

/* Room for what is known of groups. */
static void
make_room(struct live_adaptive *ar, unsigned top)
{
	unsigned have = ar->ports ? (ar->top + 1u) * ar->subs : 0, len = (top + 1u) * ar->subs;

	if (len <= have)
		return;
	ar->ports = mem_realloc(ar->ports, len, sizeof(*ar->ports));
	ar->known = mem_realloc(ar->known, len, sizeof(*ar->known));
	memset(ar->ports + have, 0, (len - have) * sizeof(*ar->ports));
	memset(ar->known + have, 0, (len - have) * sizeof(*ar->known));
	ar->top = (uint16_t)top;
}

/* A block of groups is known to hold this. */
static void
groups_are(struct device *d, uint32_t block, const uint8_t data[SMP_DATA_SIZE])
{
	struct ar_ports ports[AR_GROUP_BLOCK];

	ar_groups_decode(ports, data);
	for (unsigned i = 0; i < AR_GROUP_BLOCK; i++) {
		unsigned at = block * AR_GROUP_BLOCK + i;

		if (at >= (d->ar->top + 1u) * d->ar->subs || !d->ar->ports)
			continue;
		d->ar->ports[at] = ports[i];
		d->ar->known[at] = true;
	}
}

bool
push_groups_start(struct subnet *s, struct device *d)
{
	if (!groups_differ(s->push.plan, d, s->push.step))
		return false;
	make_room(d->ar, adaptive_section(s->push.plan, d)->top);
	d->ar->next = 0;
	return true;
}

bool
push_groups_next(struct subnet *s, struct device *d, struct transact_request *r)
{
	struct ar_ports ports[AR_GROUP_BLOCK];
	unsigned end, block;

	if (!takes_part(s->push.plan, d))
		return false;
	end = group_end(s->push.plan, d);
	block = next_group(s->push.plan, d, s->push.step, d->ar->next, end);
	d->ar->next = block + 1;
	if (block >= end)
		return false;
	for (unsigned i = 0; i < AR_GROUP_BLOCK; i++)
		ports[i] = wanted(s->push.plan, d, s->push.step, block * AR_GROUP_BLOCK + i);
	set_group(ports, block, r);
	s->push.group_blocks++;
	return true;
}

/* ---- Rows ---- */

bool
push_adaptive_row_differs(const struct subnet *s, const struct device *d,
			  const struct plan_row *goal)
{
	const struct live_adaptive *ar = d->ar;
	const struct plan_ar_switch *new = adaptive_section(s->push.plan, d);

	return goal != d->lft || !d->lft_trusted || new != ar->held || ar->read ||
	       s->push.plan->lids != ar->lids;
}

/* A block as it was read. */
static void
encode_read(const struct adaptive_read *read, const struct plan_row *row, unsigned block,
	    uint8_t data[SMP_DATA_SIZE])
{
	struct ar_lft_entry entries[AR_LFT_BLOCK];

	for (unsigned i = 0; i < AR_LFT_BLOCK; i++) {
		uint32_t lid = block * AR_LFT_BLOCK + i;

		entries[i] = (struct ar_lft_entry){ .state = AR_STATIC,
						    .port = plan_row_port(row, lid) };
		if (lid >= read->len)
			continue;
		entries[i].state = read->lid[lid].state;
		entries[i].group = read->lid[lid].group;
	}
	ar_lft_encode(entries, data);
}

static bool
block_differs(const struct subnet *s, const struct device *d, const struct plan_row *goal,
	      unsigned block)
{
	const struct live_adaptive *ar = d->ar;
	const struct plan_ar_switch *new = adaptive_section(s->push.plan, d);
	unsigned whole = block * AR_LFT_BLOCK / LFT_BLOCK_LEN;
	uint8_t now[SMP_DATA_SIZE], then[SMP_DATA_SIZE];

	if (new == ar->held && !ar->read && s->push.plan->lids == ar->lids &&
	    plan_row_differs(d->lft, goal, whole) != whole)
		return false;
	if (ar->read)
		encode_read(ar->read, d->lft, block, now);
	else if (ar->held)
		push_adaptive_encode_row(ar->held, d->lft, ar->lids, block, now);
	else
		return true;
	push_adaptive_encode_row(new, goal, s->push.plan->lids, block, then);
	return memcmp(now, then, sizeof(now)) != 0;
}

bool
push_adaptive_renumbers(const struct subnet *s, const struct device *d)
{
	const struct plan_ar_switch *new = adaptive_section(s->push.plan, d);

	return takes_part(s->push.plan, d) && (d->ar->read || new != d->ar->held) &&
	       !s->push.plan->adaptive->apart;
}

bool
push_adaptive_row_next(struct subnet *s, struct device *d, const struct plan_row *goal,
		       struct transact_request *r)
{
	struct plan_ar_switch *new = adaptive_section(s->push.plan, d);
	unsigned end = plan_row_blocks(goal) * LFT_BLOCK_LEN / AR_LFT_BLOCK;

	while (new && d->lft_next < end) {
		unsigned block = d->lft_next++;

		if (!block_differs(s, d, goal, block))
			continue;
		push_adaptive_set_row(new, goal, s->push.plan->lids, block, r);
		s->push.blocks++;
		d->lft_inflight++;
		return true;
	}
	d->lft_next = end;
	return false;
}

void
push_adaptive_row_held(struct subnet *s, struct device *d)
{
	struct live_adaptive *ar = d->ar;
	struct plan_ar_switch *new = adaptive_section(s->push.plan, d);

	if (new && new != ar->held) {
		plan_ar_switch_unref(ar->held);
		ar->held = plan_ar_switch_ref(new);
	}
	adaptive_read_unref(ar->read);
	ar->read = NULL;
	fabric_unref(ar->of);
	ar->of = fabric_ref(s->push.plan->fabric);
	plan_lids_unref(ar->lids);
	ar->lids = plan_lids_ref(s->push.plan->lids);
}

/* Some entries still have the numbers of before. */
static bool
numbers_due(const struct subnet *s)
{
	list_each(it, &s->topo.devices)
		if (push_adaptive_renumbers(s, list_entry(it, struct device, all)))
			return true;
	return false;
}

/* What follows is proved with groups as they were to be by now. */
void
push_groups_ended(struct subnet *s)
{
	bool failed = s->push.step == PUSH_GROUPS_LESS ? push_groups_due(s, PUSH_GROUPS_LESS) :
							  numbers_due(s);

	if (failed) {
		s->push.cut = true;
		s->push.failed_tables++;
		push_end(s);
		return;
	}
	push_step_start(s, s->push.step == PUSH_GROUPS_LESS ? PUSH_NUMBERS : PUSH_DROP);
}

/* ---- Reading ---- */

void
push_adaptive_read_start(struct subnet *s, struct device *d)
{
	uint32_t len = d->lft_read->len;
	bool first = !d->ar;

	if (!(first ? adaptive_may_be(s, d) : d->ar->leave))
		return;
	if (first)
		adaptive_live(s, d)->leave = true;
	d->ar->step = ADAPTIVE_READ;
	d->ar->next = 0;
	adaptive_read_unref(d->ar->read);
	d->ar->read = mem_zalloc(sizeof(*d->ar->read) + len * sizeof(d->ar->read->lid[0]));
	d->ar->read->refs = 1;
	d->ar->read->len = len;
}

bool
push_adaptive_reads(const struct device *d)
{
	return d->ar && d->ar->read && d->ar->step != ADAPTIVE_NOTHING && d->lft_read;
}

static void
get(struct transact_request *r, uint16_t attr, unsigned block)
{
	r->method = MAD_GET;
	r->attr_id = attr;
	r->attr_mod = block;
}

bool
push_adaptive_read_next(struct device *d, struct transact_request *r)
{
	struct live_adaptive *ar = d->ar;

	switch (ar->step) {
	case ADAPTIVE_READ:
	case ADAPTIVE_LOOK:
		if (ar->next++)
			return false;
		get(r, ar->step == ADAPTIVE_READ ? AR_ATTR_INFO : AR_ATTR_LFT, 0);
		return true;
	case ADAPTIVE_TABLE:
		if (ar->next * AR_LFT_BLOCK < ar->read->len) {
			get(r, AR_ATTR_LFT, ar->next++);
			d->lft_inflight++;
			return true;
		}
		if (d->lft_inflight)
			return false;
		ar->next = 0;
		ar->step = ADAPTIVE_GROUPS;
		/* Fall through. */
	case ADAPTIVE_GROUPS:
		if (ar->next >= blocks_of(ar->top, ar->subs))
			return false;
		get(r, AR_ATTR_GROUPS, ar->next++);
		d->lft_inflight++;
		return true;
	default:
		return false;
	}
}

bool
push_adaptive_read_settled(struct device *d)
{
	struct live_adaptive *ar = d->ar;

	if (d->lft_inflight || ar->step != ADAPTIVE_GROUPS ||
	    ar->next < blocks_of(ar->top, ar->subs))
		return false;
	ar->step = ADAPTIVE_NOTHING;
	if (!d->lft_failed)
		adaptive_was_read(d);
	return true;
}

void
push_adaptive_read_drop(struct device *d)
{
	if (!d->ar)
		return;
	d->ar->step = ADAPTIVE_NOTHING;
	adaptive_read_unref(d->ar->read);
	d->ar->read = NULL;
}

/* It is not on: its plain table is read. */
static void
is_off(struct device *d)
{
	d->ar->leave = false;
	push_adaptive_read_drop(d);
}

/* It may be on, and does not say: what it holds is not known. */
static void
is_mute(struct device *d)
{
	d->ar->able = true;
	push_adaptive_read_drop(d);
	d->lft_failed = true;
	d->lft_next = plan_row_blocks(d->lft_read);
}

static void
info_answer(struct device *d, const struct transact_result *res)
{
	struct live_adaptive *ar = d->ar;
	bool answers = !res->error && !res->mad_status;

	ar->next = 0;
	if (!answers && ar->able) {
		is_mute(d);
		return;
	}
	if (!answers) {
		ar->step = ADAPTIVE_LOOK;
		ar->state = res->mad_status ? ADAPTIVE_ABSENT : ADAPTIVE_UNASKED;
		return;
	}
	ar->able = true;
	ar_info_decode(&ar->info, res->data);
	if (ar->info.enable || ar->info.fr_en) {
		ar->subs = (uint8_t)ar_sub_groups(&ar->layout, ar->info.sub_grps_active);
		ar->step = ADAPTIVE_TABLE;
		return;
	}
	ar->state = ADAPTIVE_UNASKED;
	is_off(d);
}

/* Those that do not know the attributes are silent, or refuse them all. */
static void
look_answer(struct device *d, const struct transact_result *res)
{
	if (res->error || res->mad_status) {
		is_off(d);
		return;
	}
	d->ar->state = ADAPTIVE_UNASKED;
	is_mute(d);
}

static void
row_read(struct device *d, const struct transact_result *res)
{
	struct adaptive_read *read = d->ar->read;
	struct ar_lft_entry entries[AR_LFT_BLOCK];

	d->lft_inflight--;
	if (res->error || res->mad_status || !d->lft_read || !read) {
		d->lft_failed = true;
		return;
	}
	ar_lft_decode(entries, res->data);
	for (unsigned i = 0; i < AR_LFT_BLOCK; i++) {
		uint32_t lid = res->attr_mod * AR_LFT_BLOCK + i;

		if (lid >= read->len)
			break;
		plan_row_entries(d->lft_read)[lid] = entries[i].port;
		read->lid[lid].state = entries[i].state;
		read->lid[lid].group = entries[i].group;
		if (entries[i].group > d->ar->top && entries[i].group < AR_GROUPS_MAX)
			make_room(d->ar, entries[i].group);
	}
}

static void
group_read(struct device *d, const struct transact_result *res)
{
	d->lft_inflight--;
	if (res->error || res->mad_status)
		d->lft_failed = true;
	else
		groups_are(d, res->attr_mod, res->data);
}

/* ---- Answers ---- */

static void
group_answer(struct subnet *s, struct device *d, const struct transact_result *res)
{
	if (res->error || res->mad_status || memcmp(res->data, res->sent, SMP_DATA_SIZE)) {
		if (!d->push_failed && adaptive_is_on(d))
			adaptive_failed(s, d, res->error ? "does not answer Set of groups" :
					res->mad_status ? "refuses groups" :
					"keeps other groups than were set");
		topo_doubt_table(d);
		s->push.failed_tables++;
		return;
	}
	if (adaptive_is_on(d))
		groups_are(d, res->attr_mod, res->sent);
}

static void
row_answer(struct subnet *s, struct device *d, const struct transact_result *res)
{
	d->lft_inflight--;
	if (!res->error && !res->mad_status && !memcmp(res->data, res->sent, SMP_DATA_SIZE))
		return;
	d->lft_failed = true;
	s->push.failed_tables++;
	if (adaptive_is_on(d))
		adaptive_failed(s, d, res->error ? "does not answer Set of its adaptive LFT" :
				res->mad_status ? "refuses its adaptive LFT" :
				"keeps another adaptive LFT than was set");
}

bool
push_adaptive_may_fail(const struct device *d, const struct transact_result *res)
{
	return res->attr_id == AR_ATTR_INFO || (res->attr_id == AR_ATTR_LFT && d->ar &&
						d->ar->step == ADAPTIVE_LOOK);
}

bool
push_adaptive_answer(struct subnet *s, struct device *d, const struct transact_result *res)
{
	/* When the last of its tables is read its groups are next. */
	if (push_adaptive_reads(d))
		transact_ready(s->transact, &d->agent.target);
	switch (res->attr_id) {
	case AR_ATTR_GROUPS:
		if (res->method == MAD_GET)
			group_read(d, res);
		else
			group_answer(s, d, res);
		return true;
	case AR_ATTR_LFT:
		if (res->method == MAD_GET && d->ar && d->ar->step == ADAPTIVE_LOOK)
			look_answer(d, res);
		else if (res->method == MAD_GET)
			row_read(d, res);
		else
			row_answer(s, d, res);
		return true;
	case AR_ATTR_INFO:
		if (d->ar && d->lft_read)
			info_answer(d, res);
		else if (d->ar)
			push_leave_answer(s, d, res);
		transact_ready(s->transact, &d->agent.target);
		return true;
	}
	return false;
}
