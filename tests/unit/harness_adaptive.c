/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Switches that route adaptively, in schedules: who can, what goes wrong in each step of setting
 * one up and of a push to it, and what they hold at rest. A step is known by the MAD that a manager
 * sends, and what goes wrong befalls the switch that this MAD goes to.
 */
#include "tests/unit/harness.h"

#include <stdio.h>
#include <string.h>
#include "sim/model/ar.h"
#include "sim/model/ar_impl.h"
#include "sim/model/model_impl.h"
#include "sm/core/adaptive.h"
#include "sm/fabric/plan.h"
#include "sm/wire/ar.h"

#define VENDOR 0x2c9u
#define FEW_GROUPS 3u
#define BOUND SEC(1600)		/* who failed is tried again after 640 s at the latest */

static const uint16_t attrs[] = {
	AR_ATTR_GENERAL_INFO, AR_ATTR_INFO, AR_ATTR_GROUPS, AR_ATTR_LFT,
};
#define ATTRIBUTES (sizeof(attrs) / sizeof(attrs[0]))

/* ---- Who can ---- */

void
harness_adaptive_begin(struct harness_run *r)
{
	unsigned how = r->sched->adaptive;
	struct ar_support s = ar_options_default.support;

	if (how & HARNESS_AR_FEW)
		s.group_cap = FEW_GROUPS;
	if (how & HARNESS_AR_STAYS)
		s.lft_leaves = false;
	for (uint32_t n = 0; n < r->b->net->nnodes; n++) {
		uint64_t draw = harness_mix(r->sched->seed, 1000 + n);
		bool can = how && !(how & HARNESS_AR_SOME && draw & 1);

		if (!harness_is_switch(r, n))
			continue;
		model_ar_support(r->b->m, n, can ? &s : NULL, NULL);
		/* Of those that cannot, some are of the vendor and say so. */
		if (how && (can || draw & 2))
			r->b->net->nodes[n].vendor_id = VENDOR;
	}
}

static bool
is_able(const struct harness_run *r, uint32_t node)
{
	return r->b->m->nodes[node].ar && !r->b->m->nodes[node].off;
}

/* ---- What managers do ---- */

static int
step_of(const struct subnet *s, const struct smp *m)
{
	bool set = m->h.method == MAD_SET, push = s->stage == SUBNET_PUSH;
	struct ar_info info;

	if (push && !set)
		return HARNESS_AR_READ_BACK;
	switch (m->h.attr_id) {
	case AR_ATTR_GENERAL_INFO:
		return HARNESS_AR_ASK;
	case AR_ATTR_INFO:
		ar_info_decode(&info, m->data);
		if (push)
			return HARNESS_AR_LEAVE;
		if (!set)
			return HARNESS_AR_READ;
		return info.enable || info.fr_en ? HARNESS_AR_ENABLE : HARNESS_AR_SET_UP;
	case AR_ATTR_GROUPS:
		if (!push)
			return HARNESS_AR_GROUPS;
		return s->push.step == PUSH_GROUPS ? HARNESS_AR_MORE : HARNESS_AR_LESS;
	default:
		return push ? HARNESS_AR_ROWS : HARNESS_AR_TABLE;
	}
}

/* The node that a MAD of a manager is for. */
static uint32_t
node_for(const struct harness_run *r, const struct harness_sm *h, const struct smp *m, uint16_t lid)
{
	uint32_t at = h->sm->node;

	if (m->h.mgmt_class != MAD_CLASS_SUBN_DIRECT) {
		for (uint32_t n = 0; n < r->b->net->nnodes; n++)
			if (harness_is_switch(r, n) && r->b->m->nodes[n].ports[0].info.lid == lid)
				return n;
		return IBNET_NONE;
	}
	for (unsigned i = 1; i <= m->hop_count && at != IBNET_NONE; i++)
		at = m->path[i] <= r->b->m->nodes[at].nports ?
			r->b->m->nodes[at].ports[m->path[i]].peer : IBNET_NONE;
	return at;
}

void
harness_adaptive_out(struct harness_run *r, struct harness_sm *h, const struct port_mad *m)
{
	struct smp s;

	if (!r->sched->adaptive || !h->sm->s || m->qp || smp_decode(&s, m->mad, MAD_SIZE) ||
	    (s.h.method != MAD_GET && s.h.method != MAD_SET) ||
	    (s.h.attr_id != AR_ATTR_GENERAL_INFO &&
	     (s.h.attr_id < AR_ATTR_INFO || s.h.attr_id > AR_ATTR_LFT)))
		return;
	r->ar_sets += s.h.method == MAD_SET;
	if (r->there || r->place != HARNESS_AR((unsigned)step_of(h->sm->s, &s)))
		return;
	if (r->mads) {
		r->mads--;
		return;
	}
	r->target = node_for(r, h, &s, m->lid);
	r->target_attr = s.h.attr_id;
	r->there = true;
}

/* ---- What goes wrong ---- */

static uint32_t
choose(struct harness_run *r, uint32_t a)
{
	uint32_t len = 0;

	for (uint32_t n = 0; n < r->b->net->nnodes; n++)
		if (is_able(r, n))
			r->list[len++] = n;
	return len ? r->list[a % len] : IBNET_NONE;
}

static void
keep(struct harness_run *r, uint32_t node, uint16_t attr)
{
	unsigned fields = attr == AR_ATTR_GROUPS ? MODEL_KEEP_AR_GROUPS :
			  attr == AR_ATTR_LFT ? MODEL_KEEP_AR_LFT : MODEL_KEEP_AR_INFO;

	model_keep(r->b->m, node, r->b->m->nodes[node].keep | fields);
}

static void
befall(struct harness_run *r, const struct harness_fault *f, uint32_t node, uint16_t attr)
{
	static const uint16_t statuses[] = { 0x1c, 0x0c, 1 };
	uint16_t status = statuses[f->b % 3];
	struct model *m = r->b->m;

	switch (f->kind) {
	case HARNESS_AR_REFUSED:
		model_refuse(m, node, attr, status);
		return;
	case HARNESS_AR_WITHHELD:
		model_fail_get(m, node, attr, status);
		return;
	case HARNESS_AR_MUTE:
		model_mute(m, node, attr, true);
		return;
	case HARNESS_AR_LOST:
		model_drop(m, node, 1000 * (f->b % 1000));
		return;
	case HARNESS_AR_LATE:
		model_delay(m, node, f->b & 1 ? MSEC(f->b % 1000) : USEC(f->b % 3000));
		return;
	case HARNESS_AR_KEPT:
		keep(r, node, attr);
		return;
	case HARNESS_AR_REBOOT:
		r->ports[node].restless = true;
		model_reboot(m, node);
		return;
	default:
		/* What its plain table was when it was turned on is in no proof. */
		harness_judge_suspend(r);
		m->nodes[node].ar->info.enable = m->nodes[node].ar->info.fr_en = false;
	}
}

bool
harness_adaptive_fault(struct harness_run *r, const struct harness_fault *f)
{
	bool there = r->target != IBNET_NONE && is_able(r, r->target);
	uint32_t node = there ? r->target : choose(r, f->a);
	uint16_t attr = there ? r->target_attr : attrs[f->b / 8 % ATTRIBUTES];

	if (node == IBNET_NONE)
		return false;
	harness_say(r, "  %s, attribute 0x%04x", r->b->net->nodes[node].name, attr);
	befall(r, f, node, attr);
	return true;
}

bool
harness_adaptive_calm(struct harness_run *r, uint32_t node)
{
	bool withheld = false;

	for (size_t i = 0; i < ATTRIBUTES; i++) {
		model_mute(r->b->m, node, attrs[i], false);
		model_refuse(r->b->m, node, attrs[i], 0);
		withheld |= fault_status(&r->b->m->nodes[node], false, attrs[i]) != 0;
		model_fail_get(r->b->m, node, attrs[i], 0);
	}
	return withheld;
}

/* ---- At rest ---- */

static bool
holds_groups(const struct model *m, uint32_t node, const struct plan_ar_switch *s)
{
	const struct ar_mod table = { 0 };

	for (unsigned g = 1; g <= s->top; g++)
		for (unsigned sub = 0; sub < s->subs; sub++) {
			struct ar_ports ports = model_ar_group(m, node, &table, g, sub);

			if (memcmp(&ports, plan_ar_ports(s, g, sub), sizeof(ports)))
				return false;
		}
	return true;
}

/* The first LID that differs; 0: none. */
static unsigned
differs(const struct model *m, uint32_t node, const struct plan *p, uint32_t sw)
{
	for (uint16_t lid = 1; lid <= p->lids->top; lid++) {
		struct ar_lft_entry got = model_ar_lft(m, node, 0, lid), want;

		want = plan_ar_entry(p->adaptive->sw[sw], 0, &p->lids->dest[lid],
				     plan_row_port(p->rows[sw], lid));
		if (got.state != want.state || got.port != want.port || got.group != want.group)
			return lid;
	}
	return 0;
}

static void
check_switch(struct harness_run *r, const struct subnet *s, uint32_t n, char *why, size_t size)
{
	static const char *const states[] = { "unasked", "absent", "static", "on" };
	const char *name = r->b->net->nodes[n].name;
	const struct device *d = topo_find(&s->topo, r->b->net->nodes[n].guid);
	bool on = model_ar_is_on(r->b->m, n);
	const struct plan *p = s->plan;
	uint32_t node, sw;

	if (!d)
		return;
	if (on != adaptive_is_on(d)) {
		snprintf(why, size, "%s is %s, the manager takes it for %s", name,
			 on ? "on" : "off", states[d->ar ? d->ar->state : ADAPTIVE_UNASKED]);
		return;
	}
	node = p ? fabric_node_by_guid(p->fabric, d->guid) : FABRIC_NONE;
	if (!on || node == FABRIC_NONE)
		return;
	sw = p->fabric->nodes[node].sw;
	if (sw == FABRIC_NONE || !p->adaptive || !p->adaptive->sw[sw])
		snprintf(why, size, "%s is on, and in no plan", name);
	else if (!holds_groups(r->b->m, n, p->adaptive->sw[sw]))
		snprintf(why, size, "%s holds other groups than the plan has", name);
	else if (differs(r->b->m, n, p, sw))
		snprintf(why, size, "%s has another entry for LID %u than the plan", name,
			 differs(r->b->m, n, p, sw));
}

void
harness_adaptive_check(struct harness_run *r, const struct harness_sm *h, char *why, size_t size)
{
	for (uint32_t n = 0; r->sched->adaptive && n < r->b->net->nnodes && !why[0]; n++)
		if (harness_is_switch(r, n) && bed_healthy(h->sm, n))
			check_switch(r, h->sm->s, n, why, size);
}

/* One that can and is not on, whom somebody leads; IBNET_NONE: none. */
static uint32_t
idle_one(struct harness_run *r)
{
	const struct harness_sm *h = harness_master(r);

	for (uint32_t n = 0; h && n < r->b->net->nnodes; n++)
		if (is_able(r, n) && bed_healthy(h->sm, n) && !model_ar_is_on(r->b->m, n))
			return n;
	return IBNET_NONE;
}

void
harness_adaptive_rest(struct harness_run *r)
{
	monotime end = loop_now(r->b->loop) + BOUND;
	uint32_t n;

	if (!r->sched->adaptive || r->why[0])
		return;
	while (idle_one(r) != IBNET_NONE && loop_now(r->b->loop) < end && !r->why[0])
		harness_wait(r, SEC(20), NULL);
	n = idle_one(r);
	if (n != IBNET_NONE)
		harness_wrong(r, "adaptive: %s is not on", r->b->net->nodes[n].name);
	for (n = 0; n < r->b->net->nnodes; n++)
		if (is_able(r, n)) {
			r->counts->able++;
			r->counts->on += model_ar_is_on(r->b->m, n);
		}
}
