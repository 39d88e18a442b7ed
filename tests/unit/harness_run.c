/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One run of a schedule: managers and clients on a simulated fabric, faults in their order, rests
 * between them. What is wrong is kept as the first sentence that was said of it, and ends the run.
 *
 * A fault comes at its time, or when a manager is in a certain stage and has sent some MADs of it:
 * each MAD that leaves and each change of stage is looked at, and the loop is stopped there.
 */
#include "tests/unit/harness.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sim/model/model_impl.h"
#include "sm/base/buf.h"
#include "sm/base/mem.h"
#include "sm/base/text.h"
#include "sm/fabric/plan.h"

#define AWAIT MSEC(500)		/* a stage, at most */
#define LOOK MSEC(2)		/* in which nothing may leave that tells of a stage */
#define AWAIT_STEP SEC(5)		/* a step of adaptive routing: there is a sweep before */
#define ASK 32u			/* answers to what is written, between questions of clients */

void
harness_wrong(struct harness_run *r, const char *fmt, ...)
{
	va_list ap;

	if (r->why[0])
		return;
	va_start(ap, fmt);
	vsnprintf(r->why, sizeof(r->why), fmt, ap);
	va_end(ap);
	harness_say(r, "WRONG %s", r->why);
	loop_stop(r->b->loop);
}

void
harness_say(const struct harness_run *r, const char *fmt, ...)
{
	va_list ap;

	if (!r->trace)
		return;
	printf("%12.6f ", (double)loop_now(r->b->loop) / 1e9);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	fflush(stdout);
}

bool
harness_is_switch(const struct harness_run *r, uint32_t node)
{
	return r->b->net->nodes[node].type == IBNET_SWITCH;
}

unsigned
harness_place(const struct subnet *s)
{
	return s->stage == SUBNET_PUSH ? HARNESS_STEP(s->push.step) : s->stage;
}

struct harness_sm *
harness_master(struct harness_run *r)
{
	for (unsigned i = 0; i < r->nsms; i++)
		if (r->sms[i].sm->s && r->sms[i].sm->s->role == ROLE_MASTER)
			return &r->sms[i];
	return NULL;
}

bool
harness_wait(struct harness_run *r, monotime time, const bool *flag)
{
	return !r->why[0] &&
		loop_run_until(r->b->loop, loop_now(r->b->loop) + time, flag);
}

/* ---- What managers do ---- */

/* It, or a cable of it, keeps managers from hearing of it, or of who is behind. */
static bool
misbehaves(const struct harness_run *r, uint32_t node)
{
	const struct sim_node *n = &r->b->m->nodes[node];
	bool any = n->silence || n->drop_ppm || n->delay || n->slow;

	for (unsigned i = 0; i < MUTES; i++)
		any |= n->mute[i] || n->fail[i];
	for (unsigned p = 1; p <= n->nports; p++)
		any |= n->ports[p].faults &&
			(n->ports[p].faults->loss_ppm || n->ports[p].faults->delay);
	return any;
}

uint16_t
harness_lid(const struct harness_run *r, uint32_t node)
{
	return model_portinfo(r->b->m, node, harness_is_switch(r, node) ? 0 : 1)->lid;
}

/*
 * It only comes up, and so does somebody else with the same LID: then nothing in the fabric tells
 * whose that was last, and records may be older than what whoever led meanwhile made of it.
 */
static bool
is_rivalled(const struct harness_run *r, uint32_t node)
{
	const struct sim_node *n = &r->b->m->nodes[node];
	uint16_t lid = harness_lid(r, node);

	for (unsigned p = 1; p <= n->nports; p++)
		if (n->ports[p].info.state >= PORT_ARMED)
			return false;
	for (uint32_t other = 0; lid && other < r->b->net->nnodes; other++)
		if (other != node && harness_lid(r, other) == lid)
			return true;
	return false;
}

void
harness_reign(struct harness_run *r, unsigned leader)
{
	bool any = false;

	r->leader = leader;
	r->reigns++;
	for (uint32_t n = 0; n < r->b->net->nnodes; n++)
		any |= misbehaves(r, n);
	for (uint32_t n = 0; n < r->b->net->nnodes; n++)
		if (any || !bed_healthy(r->sms[leader].sm, n) || is_rivalled(r, n))
			r->ports[n].restless = true;
}

static void
look_for_place(struct harness_run *r, const struct subnet *s, bool mad)
{
	if (r->there || r->place != harness_place(s))
		return;
	if (mad && r->mads) {
		r->mads--;
		return;
	}
	r->there = mad || (s->stage != SUBNET_SWEEP && s->stage != SUBNET_PUSH) ||
		s->push.step == PUSH_DRAIN_WAIT;
}

static void
look_at(struct harness_sm *h, bool mad)
{
	struct harness_run *r = h->run;
	const struct subnet *s = h->sm->s;
	unsigned masters = 0;

	if (!s)
		return;
	look_for_place(r, s, mad);
	if (mad)
		return;
	for (unsigned i = 0; i < r->nsms; i++)
		masters += r->sms[i].sm->s && r->sms[i].sm->s->role == ROLE_MASTER;
	if (masters > 1) {
		r->lids_may_move = true;
		harness_judge_suspend(r);
	}
	if (s->role == ROLE_MASTER && r->leader != (unsigned)(h - r->sms))
		harness_reign(r, (unsigned)(h - r->sms));
	/* Hosts make connections with what it tells when its tables are in. */
	if (s->plan && s->plan != h->seen && s->role == ROLE_MASTER && !s->outdated &&
	    s->stage != SUBNET_PUSH && s->stage != SUBNET_ROUTE) {
		plan_unref(h->seen);
		h->seen = plan_ref(s->plan);
		harness_judge_plan(r, s->plan, (unsigned)(h - r->sms));
	}
}

static void
on_changed(void *arg, struct subnet *s)
{
	(void)s;
	look_at(arg, false);
}

static bool
on_out(struct bed_sm *sm, struct port_mad *m)
{
	struct harness_sm *h = sm->arg;

	harness_adaptive_out(h->run, h, m);
	if (!harness_query_is_answer(m))
		look_at(sm->arg, true);
	return true;
}

/* Some of the answers have some bits wrong. */
static void
damage(struct harness_run *r, uint8_t *mad)
{
	uint64_t draw = r->rng = harness_mix(r->rng, 7);
	struct smp s;

	if (draw % 1000 >= r->damage || smp_decode(&s, mad, MAD_SIZE))
		return;
	draw = harness_mix(draw, 1);
	if (draw & 1)
		s.data[(draw >> 8) % SMP_DATA_SIZE] ^= (uint8_t)(1u << (draw >> 1 & 7));
	else
		for (unsigned i = 0; i < SMP_DATA_SIZE; i++)
			s.data[i] = (uint8_t)(harness_mix(draw, i) >> 9);
	smp_encode(&s, mad);
}

static bool
on_in(struct bed_sm *sm, struct port_mad *m)
{
	struct harness_sm *h = sm->arg;
	struct harness_run *r = h->run;
	uint8_t *mad = m->mad;
	unsigned attr = (unsigned)(mad[16] << 8 | mad[17]);

	if (m->len > MAD_SIZE || (mad[1] != MAD_CLASS_SUBN_LID && mad[1] != MAD_CLASS_SUBN_DIRECT))
		return true;
	if (mad[3] == MAD_TRAP)
		return !r->traps_lost;
	if (mad[3] != MAD_GET_RESP)
		return true;
	if (h->deaf && attr == ATTR_SM_INFO)
		return false;
	if (r->damage)
		damage(r, mad);
	r->ar_answers += attr >= AR_ATTR_INFO && attr <= AR_ATTR_LFT;
	if (sm->s && ((attr >= AR_ATTR_INFO && attr <= AR_ATTR_LFT) ||
	    (sm->s->stage == SUBNET_PUSH &&
	     (attr == ATTR_LINEAR_FDB || attr == ATTR_SL_TO_VL || attr == ATTR_PORT_INFO ||
	      attr == ATTR_SWITCH_INFO)))) {
		harness_judge_look(r, false);
		if (r->pushed++ % ASK == 0)
			harness_query_ask(r);
	}
	return !r->why[0];
}

void
harness_start(struct harness_run *r, struct harness_sm *h)
{
	if (h->sm->s)
		return;
	bed_start(h->sm);
	h->sm->s->env.changed = on_changed;
	h->sm->s->env.arg = h;
	if (r->policy)
		subnet_set_policy(h->sm->s, r->policy);
}

void
harness_stop(struct harness_run *r, struct harness_sm *h)
{
	if (!h->sm->s)
		return;
	if (r->commanding >= 0 && h->sm->s->role == ROLE_MASTER)
		r->commanding = -1;
	bed_stop(h->sm);
	plan_unref(h->seen);
	h->seen = NULL;
}

/* ---- Configuration ---- */

static void
policy_text(const struct harness_run *r, struct buf *out)
{
	static const char *const levels[] = {
		"", "{name: bulk}", "{name: bulk}, {name: latency, priority: high, weight: 64}",
	};
	const char *comma = "";
	unsigned host = 0;

	if (r->sched->tenants) {
		buf_printf(out, "partitions:\n  - {name: default, pkey: 0x7fff, members: [{nodes: "
			   "[all]}]}\n  - {name: tenant, pkey: 0x0042, members: [{nodes: [");
		for (uint32_t n = 0; n < r->b->net->nnodes; n++) {
			char guid[GUID_TEXT_SIZE];

			if (harness_is_switch(r, n))
				continue;
			if (!host || r->members >> host % 64 & 1) {
				buf_printf(out, "%s\"%s\"", comma, guid_text(guid,
					   r->b->net->nodes[n].ports[1].guid));
				comma = ", ";
			}
			host++;
		}
		buf_printf(out, "]}]}\n");
	}
	if (r->levels)
		buf_printf(out, "qos: {merge: true, levels: [%s]}\n", levels[r->levels]);
}

static void
make_policy(struct harness_run *r)
{
	struct config *old = r->policy;
	struct buf text = { 0 };
	struct error e;

	policy_text(r, &text);
	r->policy = config_parse(text.data ? text.data : "", text.len, "policy", &e);
	buf_free(&text);
	if (!r->policy)
		harness_wrong(r, "policy: %s", e.text);
	config_free(old);
}

void
harness_policy(struct harness_run *r)
{
	make_policy(r);
	for (unsigned i = 0; i < r->nsms && r->policy; i++) {
		struct subnet *s = r->sms[i].sm->s;

		if (!s)
			continue;
		subnet_set_policy(s, r->policy);
		subnet_configure(s, s->conf, NULL, STAGE_PARTITIONS);
	}
}

void
harness_reload(struct harness_run *r, void (*change)(struct harness_run *r,
						     struct config_subnet *c, uint32_t a),
	       uint32_t a, enum config_stage stage)
{
	for (unsigned i = 0; i < r->nsms; i++) {
		struct bed_sm *sm = r->sms[i].sm;
		struct config_subnet *c = region_alloc(r->region, sizeof(*c));

		change(r, &sm->conf, a);
		*c = sm->conf;
		if (sm->s)
			subnet_configure(sm->s, c, NULL, stage);
	}
}

/* ---- Beginning and end ---- */

static void
place_hosts(struct harness_run *r)
{
	uint32_t len = 0;

	for (uint32_t n = 0; n < r->b->net->nnodes; n++)
		if (!harness_is_switch(r, n))
			r->list[len++] = n;
	for (unsigned i = 0; i < HARNESS_SMS + HARNESS_CLIENTS; i++) {
		uint32_t at = (uint32_t)(harness_mix(r->sched->seed, i) % len);

		r->hosts[i] = r->list[at];
		r->list[at] = r->list[--len];
	}
}

static void
make_managers(struct harness_run *r)
{
	const struct harness_schedule *s = r->sched;
	const char **chain = region_array(r->region, 3, sizeof(*chain));

	chain[0] = harness_engine(s->engine);
	chain[1] = strcmp(chain[0], "updn") && strcmp(chain[0], "auto") ? "updn" : NULL;
	r->nsms = s->sms;
	for (unsigned i = 0; i < r->nsms; i++) {
		struct harness_sm *h = &r->sms[i];

		h->run = r;
		h->sm = bed_sm(r->b, r->hosts[i], 1);
		h->sm->arg = h;
		h->sm->in = on_in;
		h->sm->out = on_out;
		h->sm->conf.lmc = s->lmc;
		h->sm->conf.priority = harness_mix(s->seed, 100 + i) & 1;
		h->sm->conf.sweep_interval = SEC(s->sweep);
		h->sm->conf.standby_poll = MSEC(500);
		h->sm->conf.routing.engines = chain;
		if (s->adaptive)
			h->sm->conf.routing.adaptive = CONFIG_ADAPTIVE_ON;
		h->sm->conf.health.babbling = (enum config_action)(ACTION_REPORT + s->seed % 4);
		h->sm->conf.read_tables = !(s->seed & 3);
	}
}

static void
begin(struct harness_run *r)
{
	const struct harness_schedule *s = r->sched;

	r->b = bed_new(s->recipe, s->seed + 1);
	r->region = region_new();
	r->list = mem_array(2 * r->b->net->nports + 2, sizeof(*r->list));
	r->ports = mem_array(r->b->net->nnodes, sizeof(*r->ports));
	r->place = HARNESS_ANYWHERE;
	r->commanding = -1;
	r->leader = HARNESS_SMS;
	r->rng = s->seed;
	r->levels = s->levels;
	r->members = harness_mix(s->seed, 55);
	harness_adaptive_begin(r);
	place_hosts(r);
	make_policy(r);
	harness_judge_new(r);
	make_managers(r);
	harness_clients_new(r);
	harness_queries_new(r);
	for (unsigned i = 0; i < r->nsms && !r->why[0]; i++)
		harness_start(r, &r->sms[i]);
}

static void
end(struct harness_run *r)
{
	r->place = HARNESS_ANYWHERE;
	harness_queries_free(r);
	harness_clients_free(r);
	for (unsigned i = 0; i < r->nsms; i++)
		plan_unref(r->sms[i].seen);
	bed_free(r->b);
	harness_judge_free(r);
	config_free(r->policy);
	region_free(r->region);
	mem_free(r->list);
	mem_free(r->ports);
}

/* ---- What goes wrong ---- */

static void
await(struct harness_run *r, const struct harness_fault *f)
{
	monotime until;

	harness_wait(r, (monotime)f->gap * 1000, NULL);
	r->target = IBNET_NONE;
	if (f->place == HARNESS_ANYWHERE || r->why[0])
		return;
	r->place = f->place;
	r->mads = f->mads;
	r->there = false;
	until = loop_now(r->b->loop) + (f->place < HARNESS_PLACES ? AWAIT : AWAIT_STEP);
	while (!r->there && !r->why[0] && loop_now(r->b->loop) < until) {
		harness_wait(r, LOOK, &r->there);
		for (unsigned i = 0; i < r->nsms; i++)
			if (r->sms[i].sm->s)
				look_for_place(r, r->sms[i].sm->s, false);
	}
	if (r->there && f->place >= HARNESS_PLACES)
		r->counts->steps[f->place - HARNESS_PLACES]++;
	r->place = HARNESS_ANYWHERE;
}

static void
count_places(struct harness_run *r, const struct harness_fault *f)
{
	char where[80] = "";

	for (unsigned i = 0; i < r->nsms; i++) {
		const struct subnet *s = r->sms[i].sm->s;

		if (s && harness_place(s) < HARNESS_PLACES)
			r->counts->places[harness_place(s)]++;
		snprintf(where + strlen(where), sizeof(where) - strlen(where), " %s",
			 s ? harness_place_name(harness_place(s)) : "dead");
	}
	harness_say(r, "%s %u %u at%s", harness_kind_name(f->kind), f->a, f->b, where);
}

static void
strike(struct harness_run *r, const struct harness_fault *f)
{
	await(r, f);
	if (r->why[0])
		return;
	if (f->kind == HARNESS_SETTLE) {
		harness_rest(r, false);
		r->counts->kinds[f->kind]++;
		return;
	}
	count_places(r, f);
	if (harness_inject(r, f)) {
		r->counts->kinds[f->kind]++;
		r->counts->faults++;
	}
	harness_query_ask(r);
}

bool
harness_run(const struct harness_schedule *s, struct harness_counts *c, bool trace, char *why,
	    size_t size)
{
	struct harness_run r = { .sched = s, .counts = c, .trace = trace };
	unsigned switches;

	begin(&r);
	harness_wait(&r, MSEC(1), NULL);
	for (unsigned i = 0; i < s->nfaults && !r.why[0]; i++)
		strike(&r, &s->faults[i]);
	if (!r.why[0])
		harness_rest(&r, true);
	c->schedules++;
	for (uint32_t n = switches = 0; n < r.b->net->nnodes; n++)
		switches += harness_is_switch(&r, n);
	c->large += switches >= 20;
	c->adaptive += s->adaptive != 0;
	snprintf(why, size, "%s", r.why);
	end(&r);
	return !why[0];
}
