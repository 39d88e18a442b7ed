/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Adaptive routing of switches: who can do it, how they come to do it, and when they stop.
 *
 * Bring-up knows nothing of it: switches are programmed with plain tables, and the fabric is up.
 * Then stage ADAPTIVE, which runs between others, asks switches of vendors that have such ones what
 * they can (once, and when they come up anew), and the plan is made again with groups. A switch is
 * set up while it forwards by its plain table still: parameters, groups, the adaptive LFT with the
 * same static ports; then it is turned on. From then on a push writes its adaptive tables
 * (push_adaptive.c).
 *
 * A switch that refuses or loses any of this stays, or becomes again, one with a plain table, the
 * others go on; it is tried again after longer and longer. Whether a switch that is on is on still
 * is asked after each sweep: one that was reset has forgotten all.
 */
#include "sm/core/adaptive.h"

#include <stdio.h>
#include <string.h>
#include "sm/base/mem.h"
#include "sm/core/push_adaptive.h"
#include "sm/core/subnet_i.h"

#define AGAIN_FIRST SEC(10)
#define AGAIN_MAX SEC(640)
#define STATUS_UNSUPPORTED 0x000c	/* method and attribute do not go together */

/* ---- One switch ---- */

bool
adaptive_is_on(const struct device *d)
{
	return d->ar && d->ar->state == ADAPTIVE_ON;
}

struct live_adaptive *
adaptive_live(const struct subnet *s, struct device *d)
{
	if (!d->ar)
		d->ar = mem_zalloc(sizeof(*d->ar));
	adaptive_layout(s->conf, d->info.vendor_id, d->info.device_id, &d->ar->layout);
	return d->ar;
}

bool
adaptive_may_be(const struct subnet *s, const struct device *d)
{
	struct ar_layout l;

	return adaptive_layout(s->conf, d->info.vendor_id, d->info.device_id, &l);
}

struct plan_ar_switch *
adaptive_section(const struct plan *p, const struct device *d)
{
	uint32_t sw;

	if (!p || !p->adaptive || d->info.node_type != NODE_SWITCH ||
	    d->fabric_node == FABRIC_NONE || d->fabric_node >= p->fabric->nnodes ||
	    p->fabric->nodes[d->fabric_node].guid != d->guid)
		return NULL;
	sw = p->fabric->nodes[d->fabric_node].sw;
	return sw == FABRIC_NONE ? NULL : p->adaptive->sw[sw];
}

static void
drop_held(struct live_adaptive *ar)
{
	plan_ar_switch_unref(ar->held);
	plan_ar_switch_unref(ar->goal);
	plan_lids_unref(ar->lids);
	fabric_unref(ar->of);
	plan_row_unref(ar->row);
	mem_free(ar->ports);
	mem_free(ar->known);
	adaptive_read_unref(ar->read);
	ar->read = NULL;
	ar->held = ar->goal = NULL;
	ar->lids = NULL;
	ar->of = NULL;
	ar->row = NULL;
	ar->ports = NULL;
	ar->known = NULL;
	ar->top = 0;
	ar->hash_set = false;
	ar->step = ADAPTIVE_NOTHING;
}

struct adaptive_read *
adaptive_read_ref(struct adaptive_read *r)
{
	if (r)
		__atomic_add_fetch(&r->refs, 1, __ATOMIC_RELAXED);
	return r;
}

void
adaptive_read_unref(struct adaptive_read *r)
{
	if (r && !__atomic_sub_fetch(&r->refs, 1, __ATOMIC_ACQ_REL))
		mem_free(r);
}

void
adaptive_was_read(struct device *d)
{
	d->ar->state = ADAPTIVE_ON;
	d->ar->leave = false;
	d->ar->read->done = true;
}

void
adaptive_forget(struct device *d)
{
	struct live_adaptive *ar = d->ar;

	if (!ar)
		return;
	ar->leave |= ar->state == ADAPTIVE_ON;
	ar->state = ADAPTIVE_UNASKED;
	drop_held(ar);
}

void
adaptive_free(struct device *d)
{
	if (!d->ar)
		return;
	drop_held(d->ar);
	mem_free(d->ar);
	d->ar = NULL;
}

monotime
adaptive_later(const struct subnet *s, unsigned failures)
{
	monotime after = AGAIN_FIRST;

	for (unsigned i = 0; i < failures && after < AGAIN_MAX; i++)
		after *= 2;
	return loop_now(s->env.loop) + after;
}

/* It is left alone for a while. */
static void
put_off(struct subnet *s, struct device *d)
{
	struct live_adaptive *ar = d->ar;

	ar->retry_at = adaptive_later(s, ar->failures++);
	ar->failed = true;
	ar->step = ADAPTIVE_NOTHING;
}

/* Something that is common to all may be wrong: who is not finished stays with its plain table.
 * One that is being turned on is waited for. */
static void
break_off(struct subnet *s)
{
	s->adaptive.broken_off = true;
	list_each(it, &s->topo.devices) {
		struct live_adaptive *ar = list_entry(it, struct device, all)->ar;

		if (!ar || ar->state == ADAPTIVE_ON || ar->step == ADAPTIVE_NOTHING ||
		    ar->step == ADAPTIVE_ENABLE)
			continue;
		ar->step = ADAPTIVE_NOTHING;
		ar->failed = true;
	}
}

static void
count_error(struct subnet *s)
{
	monotime now = loop_now(s->env.loop), window = s->conf->routing.adaptive_error_window;
	struct adaptives *a = &s->adaptive;

	if (now - a->errors_since > window) {
		a->errors = 0;
		a->errors_since = now;
	}
	a->errors++;
	if (!window || a->broken_off || a->errors <= s->conf->routing.adaptive_errors ||
	    s->stage != SUBNET_ADAPTIVE)
		return;
	break_off(s);
	subnet_event(s, EVENT_ADAPTIVE, LOG_L_WARNING, 0, 0, "adaptive routing is broken off: %u "
		     "failures in a row; switches that are not set up stay with their static "
		     "tables for now", a->errors);
}

void
adaptive_failed(struct subnet *s, struct device *d, const char *what)
{
	struct live_adaptive *ar = d->ar;
	char text[DEVICE_TEXT_SIZE];

	snprintf(ar->why, sizeof(ar->why), "%s", what);
	put_off(s, d);
	adaptive_forget(d);
	s->adaptive.due = true;
	count_error(s);
	if (ar->told)
		return;
	ar->told = true;
	subnet_event(s, EVENT_ADAPTIVE, LOG_L_WARNING, d->guid, 0,
		     "adaptive routing of %s: it %s; it forwards by its static table",
		     device_text(text, d, s->env.names), what);
}

/* ---- The policy ---- */

static bool
is_wanted(const struct subnet *s)
{
	return s->conf->routing.adaptive != CONFIG_ADAPTIVE_OFF;
}

static bool
may_be_able(const struct subnet *s, const struct device *d)
{
	return d->info.node_type == NODE_SWITCH && !d->silent && d->complete &&
		adaptive_may_be(s, d);
}

/* ---- What is to be done at a switch ---- */

unsigned
adaptive_room(const struct live_adaptive *ar, unsigned subs)
{
	unsigned room = ar->info.group_cap *
		ar_sub_groups(&ar->layout, ar->info.sub_grps_active) / subs;

	return room < AR_GROUPS_MAX ? room : AR_GROUPS_MAX;
}

/* Parameters as the switch is to have them; E as it is. */
static void
wanted_info(const struct live_adaptive *ar, const struct plan_ar_switch *goal, bool on,
	    struct ar_info *w)
{
	unsigned room = adaptive_room(ar, goal->subs);

	*w = ar->info;
	w->enable = on && goal->mode != AR_STATIC;
	w->fr_en = on && goal->recovery;
	w->sub_grps_active = ar_sub_grps_active(&ar->layout, goal->subs);
	w->by_sl_en = ar->info.by_sl_cap && goal->sls != UINT16_MAX;
	w->sl_mask = w->by_sl_en ? goal->sls : ar->info.sl_mask;
	w->by_sl_hbf_en = goal->mode == AR_HASH && goal->sls != UINT16_MAX;
	w->sl_mask_hbf = w->by_sl_hbf_en ? goal->sls : ar->info.sl_mask_hbf;
	w->transport_disable = ar->info.by_transp_cap ? goal->transports :
							ar->info.transport_disable;
	w->ageing_time = goal->ageing_us ? goal->ageing_us : ar->info.ageing_time;
	/* All that there can be: what entries do not name does not matter. */
	w->group_top = (uint16_t)(room ? room - 1 : 0);
}

static bool
info_is(const struct ar_info *a, const struct ar_info *b)
{
	uint8_t x[SMP_DATA_SIZE], y[SMP_DATA_SIZE];

	ar_info_encode(a, x);
	ar_info_encode(b, y);
	return !memcmp(x, y, sizeof(x));
}

/* It would spread nothing, nor replace anything. */
static bool
is_idle(const struct plan_ar_switch *goal)
{
	return goal->mode == AR_STATIC && !goal->recovery;
}

/* Where it is known how to set that for all ports of a switch. */
static bool
needs_hash(const struct live_adaptive *ar, const struct plan_ar_switch *goal)
{
	return goal->mode == AR_HASH && !ar->hash_set && ar->layout.hbf_global_bit != AR_UNKNOWN;
}

static enum adaptive_step
next_step(const struct subnet *s, struct device *d)
{
	struct live_adaptive *ar = d->ar;
	struct plan_ar_switch *goal = adaptive_section(s->plan, d);
	struct ar_info w;

	if (ar->failures && loop_now(s->env.loop) < ar->retry_at)
		return ADAPTIVE_NOTHING;
	switch (ar->state) {
	case ADAPTIVE_UNASKED:
		return ar->leave ? ADAPTIVE_NOTHING : ADAPTIVE_ASK;
	case ADAPTIVE_STATIC:
		/* Groups are proved with rows that all hold. */
		if (!s->up || !goal || is_idle(goal) || !d->lft_trusted || !d->lft ||
		    d->lft != s->plan->rows[s->plan->fabric->nodes[d->fabric_node].sw])
			break;
		return ADAPTIVE_SET_UP;
	case ADAPTIVE_ON:
		if (ar->look)
			return ADAPTIVE_READ;
		if (!s->up || !goal || goal != ar->held || ar->read)
			break;
		wanted_info(ar, goal, true, &w);
		w.group_top = ar->info.group_top;	/* not all keep it */
		if (!info_is(&w, &ar->info))
			return ADAPTIVE_ENABLE;
		return needs_hash(ar, goal) ? ADAPTIVE_HASH : ADAPTIVE_NOTHING;
	case ADAPTIVE_ABSENT:
	case ADAPTIVE_STATES:
		break;
	}
	return ADAPTIVE_NOTHING;
}

/* It may be on or not: its plain table is to be written. */
static void
lose(struct subnet *s, struct device *d)
{
	d->ar->state = ADAPTIVE_ON;
	topo_doubt_table(d);
	s->want_route = true;
}

/* What the switch is to have by the plan in force. */
static void
take_goal(struct subnet *s, struct device *d)
{
	struct live_adaptive *ar = d->ar;

	plan_ar_switch_unref(ar->goal);
	ar->goal = plan_ar_switch_ref(adaptive_section(s->plan, d));
	plan_row_unref(ar->row);
	ar->row = plan_row_ref(d->lft);
	plan_lids_unref(ar->lids);
	ar->lids = plan_lids_ref(s->plan->lids);
	fabric_unref(ar->of);
	ar->of = fabric_ref(s->plan->fabric);
}

static void
begin_device(struct subnet *s, struct device *d)
{
	struct live_adaptive *ar;

	if (!may_be_able(s, d))
		return;
	ar = adaptive_live(s, d);
	ar->failed = false;
	ar->next = 0;
	if (adaptive_is_on(d) && ar->held && is_idle(ar->held)) {
		ar->useless = s->want_route = true;
		return;
	}
	ar->step = next_step(s, d);
	if (ar->step == ADAPTIVE_NOTHING)
		return;
	if (ar->step == ADAPTIVE_SET_UP || ar->step == ADAPTIVE_ENABLE)
		take_goal(s, d);
	transact_ready(s->transact, &d->agent.target);
}

bool
adaptive_write(struct subnet *s)
{
	struct adaptives *a = &s->adaptive;

	a->none &= is_wanted(s);
	if (!a->due || !is_wanted(s) || s->role != ROLE_MASTER || s->ending || !s->plan ||
	    loop_now(s->env.loop) < a->retry_at)
		return false;
	a->due = a->broken_off = false;
	subnet_set_stage(s, SUBNET_ADAPTIVE);
	list_each(it, &s->topo.devices) {
		struct device *d = list_entry(it, struct device, all);

		if (d->info.node_type == NODE_SWITCH)
			begin_device(s, d);
		else
			order_begin(s, d);
	}
	if (transact_is_idle(s->transact))
		adaptive_idle(s);
	return true;
}

void
adaptive_all(struct subnet *s)
{
	s->adaptive.due = true;
	list_each(it, &s->topo.devices) {
		struct device *d = list_entry(it, struct device, all);

		if (adaptive_is_on(d))
			d->ar->look = true;
	}
}

/* ---- Requests ---- */

static void
ask(struct transact_request *r, uint16_t attr, uint32_t mod)
{
	r->method = MAD_GET;
	r->attr_id = attr;
	r->attr_mod = mod;
}

static void
set_info(const struct live_adaptive *ar, bool on, struct transact_request *r)
{
	struct ar_info w;

	wanted_info(ar, ar->goal, on, &w);
	r->method = MAD_SET;
	r->attr_id = AR_ATTR_INFO;
	r->attr_mod = 0;
	ar_info_encode(&w, r->data);
}

/* Each switch with a seed of its own, so that not all choose alike. The fields are those that
 * connections differ in and their packets do not. */
static struct ar_hbf
hash_of(const struct device *d)
{
	return (struct ar_hbf){
		.seed = (uint32_t)(d->guid ^ d->guid >> 32) * UINT32_C(0x9e3779b1),
		.fields = 0x40f00c0f,
	};
}

/* It is read, and set if it is another. */
static void
ask_hash(const struct device *d, struct transact_request *r)
{
	struct ar_hbf hash = hash_of(d);

	ask(r, AR_ATTR_HBF, UINT32_C(1) << d->ar->layout.hbf_global_bit);
	if (!d->ar->next)
		return;
	r->method = MAD_SET;
	ar_hbf_encode(&hash, r->data);
}

/* The next block of groups or of the table; false: that was the last. */
static bool
block_next(struct live_adaptive *ar, struct transact_request *r)
{
	if (ar->step == ADAPTIVE_GROUPS) {
		if (ar->next >= push_adaptive_group_blocks(ar->goal))
			return false;
		push_adaptive_set_group(ar->goal, ar->next, r);
	} else {
		if (ar->next > ar->lids->top / AR_LFT_BLOCK)
			return false;
		push_adaptive_set_row(ar->goal, ar->row, ar->lids, ar->next, r);
	}
	return true;
}

/* What is next at a switch, in the order of steps; false: nothing more. */
static bool
step_next(struct subnet *s, struct device *d, struct transact_request *r)
{
	struct live_adaptive *ar = d->ar;

	switch (ar->step) {
	case ADAPTIVE_NOTHING:
		return false;
	case ADAPTIVE_ASK:
		ask(r, AR_ATTR_GENERAL_INFO, AR_GENERAL_CAPS);
		return true;
	case ADAPTIVE_READ:
		ask(r, AR_ATTR_INFO, 0);
		return true;
	case ADAPTIVE_SET_UP:
		set_info(ar, false, r);
		return true;
	case ADAPTIVE_HASH:
		ask_hash(d, r);
		return true;
	case ADAPTIVE_GROUPS:
	case ADAPTIVE_TABLE:
		if (block_next(ar, r))
			return true;
		ar->next = 0;
		ar->step++;
		return step_next(s, d, r);
	case ADAPTIVE_ENABLE:
		set_info(ar, true, r);
		return true;
	case ADAPTIVE_LOOK:
		break;
	}
	return false;
}

bool
adaptive_next(struct subnet *s, struct agent *a, struct transact_request *r)
{
	struct device *d = list_entry(a, struct device, agent);

	if (a->kind != AGENT_DEVICE || d->inflight)
		return false;
	if (d->order ? !order_next(d, r) : !d->ar || !step_next(s, d, r))
		return false;
	if (!subnet_address(s, d, d->order ? d->order->port : 0, r)) {
		if (d->order)
			d->order->step = ORDER_NOTHING;
		else
			d->ar->step = ADAPTIVE_NOTHING;
		return false;
	}
	d->inflight++;
	return true;
}

/* ---- Answers ---- */

/* `was`: as it was known to be. */
static void
info_read(struct subnet *s, struct device *d, const struct ar_info *was)
{
	struct live_adaptive *ar = d->ar;
	bool on = ar->info.enable || ar->info.fr_en;

	ar->step = ADAPTIVE_NOTHING;
	ar->look = false;
	ar->next = 0;
	if (ar->state == ADAPTIVE_ON) {
		if (!ar->held)
			return;
		/* It was reset, or somebody else has seen to it. */
		if (was->enable != ar->info.enable || was->fr_en != ar->info.fr_en) {
			lose(s, d);
			return;
		}
		ar->step = next_step(s, d);
		if (ar->step == ADAPTIVE_ENABLE)
			take_goal(s, d);
	} else if (on) {
		/* By whom we do not know: begin anew. */
		lose(s, d);
	} else {
		ar->state = ADAPTIVE_STATIC;
		s->want_route = true;
	}
}

static void
turned_on(struct subnet *s, struct device *d)
{
	struct live_adaptive *ar = d->ar;
	size_t len = (ar->goal->top + 1u) * ar->goal->subs;
	char text[DEVICE_TEXT_SIZE];

	ar->step = ADAPTIVE_NOTHING;
	if (ar->state != ADAPTIVE_ON) {
		log_info("adaptive routing of %s is on: %u groups",
			 device_text(text, d, s->env.names), ar->goal->used);
		s->adaptive.came_on++;
		s->adaptive.one_on = d->guid;
	}
	ar->state = ADAPTIVE_ON;
	ar->failures = 0;
	ar->refusals = 0;
	ar->told = false;
	ar->why[0] = '\0';
	plan_ar_switch_unref(ar->held);
	ar->held = ar->goal;
	ar->goal = NULL;
	mem_free(ar->ports);
	mem_free(ar->known);
	ar->ports = mem_array(len, sizeof(*ar->ports));
	ar->known = mem_array(len, sizeof(*ar->known));
	memcpy(ar->ports, ar->held->ports, len * sizeof(*ar->ports));
	memset(ar->known, true, len * sizeof(*ar->known));
	ar->top = ar->held->top;
	ar->subs = ar->held->subs;
}

static void
refused(struct subnet *s, struct device *d, const struct transact_result *res)
{
	struct live_adaptive *ar = d->ar;
	char what[100];

	if (ar->step == ADAPTIVE_NOTHING)	/* broken off */
		return;
	/* Whether it is on still is not known: that is asked again. */
	if (res->error && ar->step == ADAPTIVE_READ && ar->state == ADAPTIVE_ON) {
		ar->step = ADAPTIVE_NOTHING;
		ar->failed = true;
		return;
	}
	if (res->mad_status && (ar->step == ADAPTIVE_ASK || ar->step == ADAPTIVE_READ)) {
		if (ar->state == ADAPTIVE_ON)
			lose(s, d);
		else
			ar->state = ADAPTIVE_ABSENT;
		ar->step = ADAPTIVE_NOTHING;
		return;
	}
	if (res->error == ERR_CLOSED) {		/* broken off */
		if (ar->step == ADAPTIVE_ENABLE)
			lose(s, d);
		ar->step = ADAPTIVE_NOTHING;
		ar->failed = true;
		return;
	}
	if (res->error)
		snprintf(what, sizeof(what), "does not answer %s(0x%04x)",
			 mad_method_name(res->method), res->attr_id);
	else
		snprintf(what, sizeof(what), "refuses %s(0x%04x), block %u: status 0x%04x",
			 mad_method_name(res->method), res->attr_id, (unsigned)res->attr_mod,
			 res->mad_status);
	if (ar->step == ADAPTIVE_ENABLE || ar->state == ADAPTIVE_ON)
		lose(s, d);
	adaptive_failed(s, d, what);
}

static void
hash_answered(struct subnet *s, struct device *d, const struct transact_result *res)
{
	struct live_adaptive *ar = d->ar;
	struct ar_hbf hash = hash_of(d);
	uint8_t wanted[SMP_DATA_SIZE];

	ar_hbf_encode(&hash, wanted);
	ar->hash_set = !memcmp(res->data, wanted, sizeof(wanted));
	if (!ar->hash_set && !ar->next) {
		ar->next = 1;
		return;
	}
	ar->next = 0;
	ar->step = ar->state == ADAPTIVE_ON ? ADAPTIVE_NOTHING : ADAPTIVE_GROUPS;
	if (ar->hash_set)
		return;
	if (ar->state == ADAPTIVE_ON)
		lose(s, d);
	adaptive_failed(s, d, "keeps another HBFConfig than was set");
}

static void
answered(struct subnet *s, struct device *d, const struct transact_result *res)
{
	struct live_adaptive *ar = d->ar;
	struct ar_general general;
	struct ar_info sent, was;

	switch (ar->step) {
	case ADAPTIVE_ASK:
		ar_general_decode(&general, res->data);
		ar->step = ADAPTIVE_READ;
		if (ar_general_has(&general, AR_CAP_LFT))
			return;
		ar->state = ADAPTIVE_ABSENT;
		ar->step = ADAPTIVE_NOTHING;
		return;
	case ADAPTIVE_READ:
		was = ar->info;
		ar->able = true;
		ar_info_decode(&ar->info, res->data);
		info_read(s, d, &was);
		return;
	case ADAPTIVE_SET_UP:
	case ADAPTIVE_ENABLE:
		ar_info_decode(&sent, res->sent);
		ar_info_decode(&ar->info, res->data);
		if (ar->info.enable != sent.enable || ar->info.fr_en != sent.fr_en ||
		    ar->info.sub_grps_active != sent.sub_grps_active) {
			if (ar->step == ADAPTIVE_ENABLE)
				lose(s, d);
			adaptive_failed(s, d, "does not keep what AdaptiveRoutingInfo sets");
		} else if (ar->step == ADAPTIVE_ENABLE) {
			turned_on(s, d);
		} else {
			ar->step = needs_hash(ar, ar->goal) ? ADAPTIVE_HASH : ADAPTIVE_GROUPS;
		}
		return;
	case ADAPTIVE_HASH:
		hash_answered(s, d, res);
		return;
	case ADAPTIVE_GROUPS:
	case ADAPTIVE_TABLE:
		if (!memcmp(res->data, res->sent, SMP_DATA_SIZE))
			ar->next++;
		else
			adaptive_failed(s, d, ar->step == ADAPTIVE_GROUPS ?
					"keeps other groups than were set" :
					"keeps another adaptive LFT than was set");
		return;
	case ADAPTIVE_NOTHING:
	case ADAPTIVE_LOOK:
		return;
	}
}

void
adaptive_done(struct subnet *s, struct agent *a, const struct transact_result *res)
{
	struct device *d = list_entry(a, struct device, agent);

	if (a->kind != AGENT_DEVICE)
		return;
	d->inflight--;
	if (d->order)
		order_done(s, d, res);
	if (!d->ar)
		return;
	if (res->error || res->mad_status)
		refused(s, d, res);
	else
		answered(s, d, res);
	if (d->ar->step != ADAPTIVE_NOTHING)
		transact_ready(s->transact, &d->agent.target);
}

/* How many switches came to do what, one record however many they are. */
static void
tell_of(struct subnet *s, uint32_t *n, uint64_t one, const char *what)
{
	const struct device *d = topo_find(&s->topo, one);
	char text[DEVICE_TEXT_SIZE];

	if (*n == 1 && d)
		subnet_event(s, EVENT_ADAPTIVE, LOG_L_INFO, one, 0, "adaptive routing of %s is %s",
			     device_text(text, d, s->env.names), what);
	else if (*n)
		subnet_event(s, EVENT_ADAPTIVE, LOG_L_INFO, 0, 0,
			     "adaptive routing of %u switches is %s", *n, what);
	*n = 0;
}

void
adaptive_tell(struct subnet *s)
{
	const struct plan_adaptive *p = s->plan ? s->plan->adaptive : NULL;
	struct adaptives *a = &s->adaptive;
	uint32_t cut = p ? p->cut : 0;

	tell_of(s, &a->went_off, a->one_off, "off, as configured");
	tell_of(s, &a->came_on, a->one_on, "on");
	if (cut && cut != a->cut)
		subnet_event(s, EVENT_ADAPTIVE, LOG_L_WARNING, 0, 0, "adaptive routing: %u groups "
			     "are cut, which would not be safe: %.180s", cut, p->cut_first);
	a->cut = cut;
}

/* It should be on, and did not take it. */
bool
adaptive_has_failed(const struct subnet *s, const struct device *d)
{
	return is_wanted(s) && d->ar && d->ar->failures && !d->ar->excepted &&
		!adaptive_is_on(d);
}

void
adaptive_idle(struct subnet *s)
{
	struct adaptives *a = &s->adaptive;

	a->failed = 0;
	a->none = true;
	memset(a->count, 0, sizeof(a->count));
	list_each(it, &s->topo.devices) {
		const struct device *d = list_entry(it, struct device, all);

		if (!d->ar)
			continue;
		a->count[d->ar->state]++;
		a->failed += adaptive_has_failed(s, d);
		a->none &= d->ar->state == ADAPTIVE_ABSENT ||
			(d->ar->state == ADAPTIVE_STATIC && d->ar->excepted);
		a->due |= d->ar->failed || d->ar->failures;
	}
	a->due |= order_end(s);
	a->retry_at = loop_now(s->env.loop) +
		(a->broken_off ? AGAIN_FIRST : a->due ? SEC(5) : 0);
	adaptive_tell(s);
	between_over(s);
}
