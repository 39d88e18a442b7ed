/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Groups of adaptive routing on their way into a plan. The loop notes who can and what is held; the
 * worker makes and proves groups for the tables that were made, and finds whether old and new go
 * together while a push changes one into the other. Before any row changes entries get the numbers
 * of the new plan, and groups hold of what they will have only that which all of their destinations
 * had before: a part of the old plan. Then rows are old or new, switch by switch, beside that; then
 * groups get the rest. If that is not proved groups are emptied first (push_adaptive.c).
 */
#include "routing/adaptive.h"

#include <string.h>
#include "routing/check.h"
#include "sm/base/mem.h"
#include "sm/core/planner.h"
#include "sm/core/push_adaptive.h"

#define PATIENCE 2u	/* times that a switch may fail in a row, and is read and written again */

/* ---- On the loop ---- */

/* A push that broke off leaves groups with less than their numbers stand for. */
static struct plan_ar_switch *
as_it_is(const struct live_adaptive *ar)
{
	size_t size = (ar->held->top + 1u) * ar->held->subs * sizeof(*ar->ports);
	struct plan_ar_switch *s;

	if (!ar->ports || ar->top < ar->held->top || ar->subs != ar->held->subs ||
	    !memcmp(ar->ports, ar->held->ports, size))
		return plan_ar_switch_ref(ar->held);
	s = plan_ar_switch_copy(ar->held, ar->held->nhomes);
	memcpy(s->ports, ar->ports, size);
	s->told = mem_alloc(size);
	memcpy(s->told, ar->held->ports, size);
	return s;
}

/* Sub-groups that groups can have, and numbers. What a switch says that it has of the former is a
 * count or a mask, that is not known: it is 2 or more in both if it has two. */
static void
note_room(const struct live_adaptive *ar, bool longer, struct adaptive_ability *can)
{
	can->subs = longer && ar->info.sub_grps_sup >= 2 ? 2 : 1;
	can->groups = (uint16_t)adaptive_room(ar, can->subs);
}

static void
note_switch(struct subnet *s, struct plan_job *j, uint32_t sw, const struct device *d)
{
	const struct live_adaptive *ar = d->ar;
	bool waits = ar->failures && loop_now(s->env.loop) < ar->retry_at;

	j->ability[sw] = (struct adaptive_ability){
		.able = (ar->state == ADAPTIVE_ON || (ar->state == ADAPTIVE_STATIC && !waits)) &&
			!ar->excepted && s->conf->routing.adaptive != CONFIG_ADAPTIVE_OFF,
		.tables = 1,
		.recovery = ar->info.fr_sup, .by_sl = ar->info.by_sl_cap,
		.by_transport = ar->info.by_transp_cap, .hash = ar->info.hbf_sup,
	};
	note_room(ar, j->spread_policy.longer, &j->ability[sw]);
	if (ar->state != ADAPTIVE_ON)
		return;
	if (ar->read) {
		size_t len = (ar->top + 1u) * ar->subs;

		j->spread_read[sw] = adaptive_read_ref(ar->read);
		j->spread[sw] = plan_ar_switch_new(j->plan->fabric->nswitches, ar->top, ar->subs,
						   1);
		j->spread[sw]->recovery = ar->info.fr_en;
		j->spread[sw]->sls = ar->info.by_sl_en ? ar->info.sl_mask : UINT16_MAX;
		j->spread[sw]->transports = ar->info.transport_disable;
		if (ar->ports)
			memcpy(j->spread[sw]->ports, ar->ports, len * sizeof(*ar->ports));
		j->spread_of[sw] = fabric_ref(j->plan->fabric);
	} else if (ar->held) {
		j->spread[sw] = as_it_is(ar);
		j->spread_of[sw] = fabric_ref(ar->of);
		j->spread_lids[sw] = plan_lids_ref(ar->lids);
	}
}

void
adaptive_begin(struct subnet *s, struct plan_job *j)
{
	const struct fabric *f = j->plan->fabric;
	bool off = s->conf->routing.adaptive == CONFIG_ADAPTIVE_OFF;
	struct adaptive_chosen *chosen = adaptive_chosen_new(s->conf);

	adaptive_policy(s->conf, s->adaptive.any_order, &j->spread_policy);
	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		struct device *d = topo_find(&s->topo, fabric_switch_node(f, sw)->guid);

		if (!d || !d->ar)
			continue;
		d->ar->excepted = !adaptive_may_be(s, d) ||
			!adaptive_chosen(chosen, fabric_switch_node(f, sw));
		/* It is no longer wanted, or does not take what it is given: the push that follows
		 * turns it off. */
		if ((off || d->ar->excepted || d->ar->useless || d->ar->failures >= PATIENCE) &&
		    adaptive_is_on(d) &&
		    !d->silent && !j->dry_run) {
			topo_doubt_table(d);
			d->ar->useless = false;
			s->adaptive.went_off += d->ar->failures < PATIENCE;
			s->adaptive.one_off = d->guid;
		}
		if (!j->ability) {
			j->ability = mem_array(f->nswitches, sizeof(*j->ability));
			j->spread = mem_array(f->nswitches, sizeof(struct plan_ar_switch *));
			j->spread_read = mem_array(f->nswitches, sizeof(struct adaptive_read *));
			j->spread_of = mem_array(f->nswitches, sizeof(struct fabric *));
			j->spread_lids = mem_array(f->nswitches, sizeof(struct plan_lids *));
		}
		note_switch(s, j, sw, d);
	}
	adaptive_chosen_free(chosen);
	if (!j->dry_run)
		adaptive_tell(s);
}

void
adaptive_end(struct plan_job *j)
{
	for (uint32_t sw = 0; j->ability && sw < j->plan->fabric->nswitches; sw++) {
		plan_ar_switch_unref(j->spread[sw]);
		adaptive_read_unref(j->spread_read[sw]);
		fabric_unref(j->spread_of[sw]);
		plan_lids_unref(j->spread_lids[sw]);
	}
	plan_adaptive_unref(j->spread_before);
	mem_free(j->ability);
	mem_free(j->spread);
	mem_free(j->spread_read);
	mem_free(j->spread_of);
	mem_free(j->spread_lids);
}

/* ---- On the worker ---- */

/* Indices of the switches of `f` in an older snapshot; NULL: they are the same. */
static uint32_t *
older_switches(const struct fabric *f, const struct fabric *old)
{
	uint32_t *at = mem_array(f->nswitches, sizeof(*at));
	bool same = f->nswitches == old->nswitches;

	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		uint32_t node = fabric_node_by_guid(old, fabric_switch_node(f, sw)->guid);

		at[sw] = node == FABRIC_NONE ? FABRIC_NONE : old->nodes[node].sw;
		same &= at[sw] == sw;
	}
	if (!same)
		return at;
	mem_free(at);
	return NULL;
}

/* The same groups, told by the switches of the present snapshot. */
static struct plan_ar_switch *
renumbered(const struct plan_ar_switch *old, const uint32_t *at, uint32_t n)
{
	struct plan_ar_switch *s = plan_ar_switch_copy(old, n);
	size_t size = (old->top + 1u) * old->subs * sizeof(*old->told);

	if (old->told) {
		s->told = mem_alloc(size);
		memcpy(s->told, old->told, size);
	}

	for (unsigned t = 0; t < old->ntables; t++)
		for (uint32_t sw = 0; sw < n && !old->table[t].by_port; sw++)
			s->table[t].group[sw] = at[sw] < old->nhomes ?
				old->table[t].group[at[sw]] : 0;
	return s;
}

/* An entry was read to go by a group. The port of its row may be another than the group has. */
static bool
take_number(struct plan_ar_switch *s, uint16_t *number, uint16_t group, uint8_t port)
{
	if (group > s->top || (*number && *number != group) || !port || port == LFT_NO_PORT)
		return false;
	*number = group;
	ar_ports_add(&s->told[group * s->subs], port);
	return true;
}

/* Numbers as entries were read to have them: by home, if they are told by that. */
static bool
numbers_by_home(const struct plan_job *j, uint32_t sw)
{
	const struct plan_row *row = j->shadow ? j->shadow->rows[sw] : NULL;
	const struct adaptive_read *read = j->spread_read[sw];
	const struct plan_lids *l = j->plan->lids;
	struct plan_ar_switch *s = j->spread[sw];

	for (uint32_t lid = 1; lid <= l->top && lid < read->len; lid++) {
		uint32_t home = l->dest[lid].sw;

		if (home == FABRIC_NONE || !read->lid[lid].group)
			continue;
		if (!take_number(s, &s->table[0].group[home], read->lid[lid].group,
				 plan_row_port(row, lid)))
			return false;
		if (read->lid[lid].state != AR_STATIC)
			s->mode = read->lid[lid].state;
	}
	return true;
}

/* Or by the port of the row. */
static bool
numbers_by_port(const struct plan_job *j, uint32_t sw)
{
	const struct adaptive_read *read = j->spread_read[sw];
	const struct plan_row *row = j->shadow ? j->shadow->rows[sw] : NULL;
	struct plan_ar_switch *s = j->spread[sw];

	memset(s->table[0].group, 0, s->nhomes * sizeof(uint16_t));
	s->table[0].by_port = true;
	for (uint32_t lid = 1; lid < read->len; lid++) {
		uint8_t port = plan_row_port(row, lid);

		if (!read->lid[lid].group)
			continue;
		if (!take_number(s, &s->table[0].group[port], read->lid[lid].group, port))
			return false;
	}
	return true;
}

/* False: what some switch holds cannot be told as groups of a plan are. */
static bool
take_read(struct plan_job *j)
{
	bool all = true;

	for (uint32_t sw = 0; sw < j->plan->fabric->nswitches; sw++) {
		struct plan_ar_switch *s = j->spread[sw];

		if (!j->spread_read[sw])
			continue;
		s->told = mem_array((s->top + 1u) * s->subs, sizeof(*s->told));
		for (unsigned g = 1; g <= s->top; g++)
			if (ar_ports_count(plan_ar_ports(s, g, 0)))
				s->used++;
		if (numbers_by_home(j, sw) || numbers_by_port(j, sw))
			continue;
		plan_ar_switch_unref(s);
		j->spread[sw] = NULL;
		all = false;
	}
	return all;
}

/* What switches hold, by the present snapshot. */
static struct plan_adaptive *
held(const struct plan_job *j)
{
	const struct fabric *f = j->plan->fabric, *last = NULL;
	struct plan_adaptive *a = plan_adaptive_new(f->nswitches);
	uint32_t *at = NULL;

	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		if (!j->spread[sw])
			continue;
		if (j->spread_of[sw] != last) {
			mem_free(at);
			at = older_switches(f, last = j->spread_of[sw]);
		}
		a->sw[sw] = at ? renumbered(j->spread[sw], at, f->nswitches) :
				 plan_ar_switch_ref(j->spread[sw]);
		a->adaptive++;
	}
	mem_free(at);
	return a;
}

/* Some LID is at home elsewhere than when entries got their numbers. */
static bool
has_moved(const struct plan_job *j, const struct plan_lids *was, const struct fabric *of)
{
	const struct plan_lids *is = j->plan->lids;
	uint32_t *at = older_switches(j->plan->fabric, of);
	bool moved = false;

	for (uint32_t lid = 1; lid <= is->top && lid <= was->top && !moved; lid++) {
		uint32_t home = is->dest[lid].sw, then = was->dest[lid].sw;

		moved = home != FABRIC_NONE && then != FABRIC_NONE &&
			(at ? at[home] : home) != then;
	}
	mem_free(at);
	return moved;
}

/* The same of all switches. */
static bool
homes_stay(const struct plan_job *j)
{
	const struct plan_lids *last = NULL;

	for (uint32_t sw = 0; sw < j->plan->fabric->nswitches; sw++) {
		if (!j->spread_lids[sw] || j->spread_lids[sw] == last)
			continue;
		last = j->spread_lids[sw];
		if (has_moved(j, last, j->spread_of[sw]))
			return false;
	}
	return true;
}

static void
keep_only(struct ar_ports *ports, const struct plan_ar_switch *old, unsigned at)
{
	for (unsigned w = 0; w < 4; w++)
		ports->word[w] &= old && at < (old->top + 1u) * old->subs ?
			old->ports[at].word[w] : 0;
}

/* Some entry may have the number. */
static bool
has_entries(const struct plan_ar_switch *s, unsigned group)
{
	const struct ar_ports *ports = s->told ? s->told : s->ports;

	return group <= s->top && ar_ports_count(&ports[group * s->subs]);
}

/* Of a group only what each of its destinations had before by the row that there is, for entries
 * get its number before rows change. Where a destination was static the group is empty meanwhile.
 */
static void
keep_old(const struct plan_job *j, uint32_t sw, const struct plan_ar_switch *old,
	 const struct plan_ar_switch *new, struct plan_ar_switch *b)
{
	const struct plan_row *row = j->shadow && j->shadow->rows[sw] ? j->shadow->rows[sw] :
									 j->plan->rows[sw];
	bool same = b->subs == old->subs;

	for (uint32_t lid = 1; lid <= j->plan->lids->top; lid++) {
		const struct plan_dest *dest = &j->plan->lids->dest[lid];
		uint8_t port = plan_row_port(row, lid);
		unsigned number = plan_ar_entry(new, 0, dest, port).group;
		unsigned had = same && number ? plan_ar_entry(old, 0, dest, port).group : 0;

		for (unsigned sub = 0; number && sub < b->subs; sub++)
			keep_only(&b->ports[number * b->subs + sub], had ? old : NULL,
				  had * b->subs + sub);
	}
	/* And what entries that have the number as yet had by it. */
	for (unsigned at = b->subs; at < (b->top + 1u) * b->subs; at++)
		if (same && has_entries(old, at / b->subs))
			keep_only(&b->ports[at], old, at);
}

/* What groups hold from before the first row changes until the last one has. */
static void
make_less(const struct plan_job *j, const struct plan_adaptive *old)
{
	struct plan_adaptive *a = j->plan->adaptive;

	a->less = mem_array(a->nswitches, sizeof(struct plan_ar_switch *));
	for (uint32_t sw = 0; sw < a->nswitches; sw++) {
		const struct plan_ar_switch *new = a->sw[sw];
		size_t len;

		if (!new || !old->sw[sw] || new == old->sw[sw])
			continue;
		len = (new->top + 1u) * new->subs * sizeof(*new->ports);
		a->less[sw] = plan_ar_switch_copy(new, new->nhomes);
		keep_old(j, sw, old->sw[sw], new, a->less[sw]);
		a->less[sw]->told = mem_alloc(len);
		memcpy(a->less[sw]->told, new->ports, len);
	}
}

/* What is on while rows change. */
static struct plan_adaptive *
meanwhile(const struct plan_adaptive *new, const struct plan_adaptive *old)
{
	struct plan_adaptive *a = plan_adaptive_new(new->nswitches);

	for (uint32_t sw = 0; sw < new->nswitches; sw++)
		a->sw[sw] = plan_ar_switch_ref(!old->sw[sw] || !new->sw[sw] ? old->sw[sw] :
					       new->less[sw] ? new->less[sw] : new->sw[sw]);
	return a;
}

/* What a switch forwards by until its row of the plan is in. Where entries are dropped first all
 * that follows waits for that, and before it nothing is new. */
static struct plan_row *
row_before(const struct plan_job *j, uint32_t sw)
{
	const struct plan_stages *st = j->stages;

	if (j->plan->fixed[sw] || !j->shadow || !j->shadow->rows[sw])
		return j->plan->rows[sw];
	if (st && (st->drops || st->drain || st->shifts) && st->rows[0][sw])
		return st->rows[0][sw];
	return j->shadow->rows[sw];
}

/* Rows of before and of the plan, mixed as a push mixes them, and groups as they are meanwhile. */
static bool
go_together(const struct plan_job *j, const struct plan_adaptive *old)
{
	const struct plan *p = j->plan;
	struct plan_adaptive *a = meanwhile(p->adaptive, old);
	struct plan_row **rows = mem_array(p->fabric->nswitches, sizeof(struct plan_row *));
	struct check_input in = {
		.fabric = j->whole ? j->whole : p->fabric, .lids = p->lids, .lanes = p->lanes,
		.threads = j->threads, .rows = p->rows, .also = rows, .ranks = p->ranks,
		.adaptive = a, .adaptive_also = a, .trees = j->trees.trees, .ntrees = j->trees.len,
		.proved = p->proof && !j->whole ? p->rows : NULL,
	};
	struct plan_check report;
	int rc;

	for (uint32_t sw = 0; sw < p->fabric->nswitches; sw++)
		rows[sw] = row_before(j, sw);
	rc = check_union(&in, &report);
	mem_free(rows);
	plan_adaptive_unref(a);
	return rc == 0;
}

static bool
any_changes(const struct plan_job *j, const struct plan_adaptive *old)
{
	for (uint32_t sw = 0; sw < old->nswitches; sw++)
		if (old->sw[sw] && (old->sw[sw] != j->plan->adaptive->sw[sw] || !j->shadow ||
				    j->shadow->rows[sw] != j->plan->rows[sw]))
			return true;
	return false;
}

/* Who would neither spread packets nor replace dead ports has no use for groups. Who is on keeps
 * them till it is turned off (adaptive.c). */
static void
only_useful(struct plan_job *j, const struct adaptive_input *in)
{
	for (uint32_t sw = 0; sw < j->plan->fabric->nswitches; sw++)
		if (!j->spread[sw] && adaptive_mode(in, &j->ability[sw]) == AR_STATIC &&
		    !(in->recovery && j->ability[sw].recovery))
			j->ability[sw].able = false;
}

void
adaptive_run(struct plan_job *j)
{
	struct adaptive_policy *p = &j->spread_policy;
	struct adaptive_input in = {
		.plan = j->plan, .ability = j->ability, .recovery = p->recovery,
		.transports = p->transports, .ageing_us = p->ageing_us, .mode = p->mode,
		.longer = p->longer,
		.threads = j->threads,
	};

	if (!j->ability)
		return;
	if (j->conf)
		adaptive_policy_levels(p, &j->conf->qos, j->plan->sls);
	in.sls = p->sls;
	only_useful(j, &in);
	j->spread_known = take_read(j);
	j->spread_before = held(j);
	in.held = j->spread_before;
	plan_adaptive_unref(j->plan->adaptive);
	j->plan->adaptive = adaptive_make(&in);
}

void
adaptive_mix(struct plan_job *j)
{
	const struct plan_adaptive *old = j->spread_before;

	if (!old || !old->adaptive || !any_changes(j, old))
		return;
	make_less(j, old);
	j->plan->adaptive->apart = !j->spread_known || !homes_stay(j) || !go_together(j, old);
}

/* ---- What it takes ---- */

/* Entry `at` of the groups of a section. */
static const struct ar_ports *
group_entry(const struct plan_ar_switch *s, unsigned at)
{
	static const struct ar_ports none;

	return at < (s->top + 1u) * s->subs ? &s->ports[at] : &none;
}

/* Blocks of groups that are written to come from one section to the other, in the two steps around
 * the rows. */
static uint32_t
count_groups(const struct plan_adaptive *a, const struct plan_ar_switch *old,
	     const struct plan_ar_switch *new, const struct plan_ar_switch *less)
{
	static const struct ar_ports none;
	unsigned len = (old->top > new->top ? old->top : new->top) + 1u;
	unsigned end = (len * new->subs + AR_GROUP_BLOCK - 1) / AR_GROUP_BLOCK;
	uint32_t writes = 0;

	for (unsigned block = 0; block < end; block++) {
		bool before = false, after = false;

		for (unsigned i = 0; i < AR_GROUP_BLOCK; i++) {
			unsigned at = block * AR_GROUP_BLOCK + i;
			const struct ar_ports *first = group_entry(old, at), *last =
				group_entry(new, at), *between = a->apart ? &none :
				at >= (new->top + 1u) * new->subs ? first :
				group_entry(less ? less : new, at);

			/* What numbers hold that were not in use is not known. */
			before |= at >= (old->top + 1u) * old->subs ?
				at < (new->top + 1u) * new->subs :
				memcmp(first, between, sizeof(*first)) != 0;
			after |= memcmp(between, last, sizeof(*last)) != 0;
		}
		writes += before + after;
	}
	return writes;
}

/* Blocks of the adaptive LFT that differ. */
static uint32_t
count_row(const struct plan_lids *lids, const struct plan_ar_switch *s, const struct plan_row *row,
	  const struct plan_ar_switch *to, const struct plan_row *goal)
{
	uint32_t end = plan_row_blocks(goal) * LFT_BLOCK_LEN / AR_LFT_BLOCK, n = 0;
	uint8_t now[SMP_DATA_SIZE], then[SMP_DATA_SIZE];

	for (uint32_t block = 0; block < end && (s != to || row != goal); block++) {
		push_adaptive_encode_row(s, row, lids, block, now);
		push_adaptive_encode_row(to, goal, lids, block, then);
		n += memcmp(now, then, sizeof(now)) != 0;
	}
	return n;
}

bool
adaptive_count_writes(struct plan_job *j, uint32_t sw)
{
	const struct plan_adaptive *a = j->plan->adaptive;
	const struct plan_ar_switch *new = a ? a->sw[sw] : NULL, *old =
		j->spread_before ? j->spread_before->sw[sw] : NULL;
	const struct plan_row *row = j->shadow ? j->shadow->rows[sw] : NULL;

	if (!old || !new || !row || old->subs != new->subs)
		return false;
	j->group_writes += count_groups(a, old, new, a->less ? a->less[sw] : NULL);
	if (!a->apart) {
		j->writes += count_row(j->plan->lids, old, row, new, row);
		old = new;
	}
	for (unsigned i = 0; i <= (j->stages ? j->stages->len : 0); i++) {
		const struct plan_row *to = planner_stage_row(j, i, sw);

		if (!to)
			continue;
		j->writes += count_row(j->plan->lids, old, row, new, to);
		old = new;
		row = to;
	}
	return true;
}
