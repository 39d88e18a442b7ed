/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Partitions (IBA volume 1, 10.9): from the configuration and from commands to the P_Keys of the
 * published plan.
 *
 * The policy in force and what names mean are kept here. A job compiles P_Keys on the worker: as
 * part of each routing, for ports come and go with it, or by itself (stage PARTITIONS), when only
 * the policy has changed; then the published plan gets other P_Keys and is pushed. What a job is
 * made of is copied, and what it finds is taken on when its plan is published. The policy itself is
 * made anew only when it was configured, a command changed it, or nodes have other names than when
 * it was made and it selects by names.
 *
 * Where nobody says anything of partitions no P_Keys are planned, and devices keep what they have;
 * but once we wrote some, silence means that all are full members of the default partition.
 */
#include "sm/core/push_i.h"

#include <stdio.h>
#include <string.h>
#include "sm/base/mem.h"
#include "sm/sa/sa.h"

/* ---- What a job is made of ---- */

/* What is known that end ports hold, so that keys stay where they are. */
static void
collect_held(struct partition_job *j, const struct subnet *s)
{
	const struct fabric *f = j->fabric;
	uint32_t room = 0, at = 0;

	j->held = mem_array(f->nports + 1u, sizeof(*j->held));
	list_each(it, &s->topo.devices) {
		const struct device *d = list_entry(it, struct device, all);

		for (unsigned n = 0; n <= d->info.num_ports; n++)
			room += d->ports[n].tables.pkey_blocks * TABLES_KEYS;
	}
	j->held_keys = mem_array(room + 1u, sizeof(*j->held_keys));
	for (uint32_t node = 0; node < f->nnodes; node++) {
		const struct device *d = topo_find(&s->topo, f->nodes[node].guid);
		bool is_switch = f->nodes[node].type == NODE_SWITCH;

		for (unsigned n = 0; d && n <= d->info.num_ports && n <= f->nodes[node].nports &&
		     !(is_switch && n); n++) {
			const struct live_port *p = &d->ports[n];

			if (!p->tables.pkey_blocks)
				continue;
			j->held[f->nodes[node].first_port + n] = (struct pkeys_held){
				j->held_keys + at, p->tables.pkey_blocks * TABLES_KEYS };
			for (unsigned b = 0; b < p->tables.pkey_blocks; b++, at += TABLES_KEYS)
				tables_pkeys(&s->topo.tables, p, b, j->held_keys + at);
		}
	}
}

static void
collect_alias(void *arg, uint64_t alias, uint64_t port)
{
	struct partition_job *j = arg;

	/* Room doubles: hosts with virtual functions have a dozen each. */
	if (!(j->naliases & (j->naliases - 1)))
		j->aliases = mem_realloc(j->aliases, 2u * j->naliases + 1u, sizeof(*j->aliases));
	j->aliases[j->naliases++] = (struct pkeys_alias){ alias, port };
}

/* A command is no reason for a routing to plan P_Keys: it may be a rehearsal. */
static bool
is_wanted(const struct subnet *s, bool change)
{
	const struct partitions *p = &s->parts;
	struct policy_input in = { .conf = p->conf, .subnet = s->conf->name,
				   .nrows = p->rows.len };

	return p->conf && (p->ours || change || policy_wanted(&in));
}

/* All ports hold what was compiled for them: what changes now is held against that. */
static bool
take_base(struct partition_job *j, const struct subnet *s)
{
	const struct partitions *p = &s->parts;

	if (!j->before || j->before != p->compiled.pkeys || j->before != p->written ||
	    p->written_changed != s->topo.tables.pkeys_changed || !p->policy ||
	    !fabric_is_same(j->fabric, p->compiled.fabric))
		return false;
	j->base_report = p->report;
	j->base = (struct pkeys_base){
		.policy = policy_ref(p->policy), .fabric = fabric_ref(p->compiled.fabric),
		.pkeys = j->before, .report = &j->base_report,
		.naliases = p->compiled.naliases,
	};
	if (p->compiled.naliases)
		j->base.aliases = memcpy(mem_array(p->compiled.naliases,
						   sizeof(*j->base.aliases)),
					 p->compiled.aliases,
					 p->compiled.naliases * sizeof(*j->base.aliases));
	return true;
}

struct partition_job *
partition_job_new(struct subnet *s, const struct fabric *f, bool change)
{
	struct partitions *p = &s->parts;
	struct partition_job *j;

	if (!is_wanted(s, change))
		return NULL;
	j = mem_zalloc(sizeof(*j));
	j->conf = config_ref(p->conf);
	snprintf(j->subnet, sizeof(j->subnet), "%s", s->conf->name);
	part_rows_copy(&j->rows, &p->rows);
	j->pins = pins_copy(p->pins);
	j->fabric = fabric_ref(f);
	j->policy = policy_ref(p->policy);
	j->rebuild = p->rebuild || !p->policy;
	j->names = p->names;
	j->before = s->plan ? plan_pkeys_ref(s->plan->pkeys) : NULL;
	if (!take_base(j, s))
		collect_held(j, s);
	sa_each_alias(s->sa, collect_alias, j);
	p->due = p->rebuild = false;
	if (change)
		part_change_begin(s, j);
	return j;
}

static void
job_free(struct partition_job *j)
{
	if (!j)
		return;
	config_free(j->conf);
	part_rows_free(&j->rows);
	pins_free(j->pins);
	mem_free((char *)(uintptr_t)j->apply);
	mem_free((char *)(uintptr_t)j->changed);
	fabric_unref(j->fabric);
	policy_unref(j->policy);
	mem_free(j->held);
	mem_free(j->held_keys);
	mem_free(j->aliases);
	policy_unref((struct policy *)(uintptr_t)j->base.policy);
	fabric_unref(j->base.fabric);
	mem_free((struct pkeys_alias *)(uintptr_t)j->base.aliases);
	plan_pkeys_unref(j->before);
	plan_pkeys_unref(j->pkeys);
	mem_free(j->differ);
	mem_free(j->outcome.list);
	mem_free(j);
}

/* ---- On the worker ---- */

static uint64_t
hash_names(const struct fabric *f)
{
	uint64_t hash = f->nnodes;

	for (uint32_t n = 0; n < f->nnodes; n++)
		hash = (hash ^ f->nodes[n].guid ^
			map_text(f->nodes[n].name, strlen(f->nodes[n].name))) *
		       UINT64_C(0x9e3779b97f4a7c15);
	return hash;
}

/* A P_Key that is chosen goes with all other partitions. */
static bool
all_numbered(const struct config *conf)
{
	for (unsigned i = 0; i < conf->partitions.len; i++)
		if (!conf->partitions.list[i].pkey)
			return false;
	return true;
}

/* 0, or the policy in force stays what it was. */
static int
make_policy(struct partition_job *j, uint64_t names)
{
	struct policy_input in = {
		.conf = j->conf, .subnet = j->subnet, .rows = j->rows.list, .nrows = j->rows.len,
		.fabric = j->fabric, .pins = j->pins, .apply = j->apply,
	};
	struct policy *policy;
	bool one = j->changed && j->policy && j->policy->conf == j->conf && names == j->names &&
		   all_numbered(j->conf);

	if (one) {
		in.base = j->policy;
		in.changed = j->changed;
	}
	pins_note(j->pins);
	j->error = policy_new(&in, &policy, &j->why);
	if (j->error)
		return j->error;
	if (!one)
		pins_forget_others(j->pins);
	policy_unref(j->policy);
	j->policy = policy;
	j->rebuilt = true;
	return 0;
}

/* What has not changed is known by its address. */
static void
hold_against_before(struct partition_job *j)
{
	if (!j->before || j->before->nports != j->pkeys->nports)
		return;
	j->differ = plan_pkeys_differ(j->before, j->pkeys, &j->ndiffer);
	if (j->ndiffer)
		return;
	plan_pkeys_unref(j->pkeys);
	j->pkeys = plan_pkeys_ref(j->before);
}

void
partition_job_run(struct partition_job *j)
{
	uint64_t names = j->base.policy ? j->names : hash_names(j->fabric);
	struct pkeys_input in = {
		.fabric = j->fabric, .held = j->held, .aliases = j->aliases,
		.naliases = j->naliases, .base = j->base.policy ? &j->base : NULL,
	};

	if (j->rebuild || (j->policy->names && names != j->names)) {
		if (make_policy(j, names) && !j->policy)
			return;
		j->names = names;
	}
	in.policy = j->policy;
	j->pkeys = pkeys_compile(&in, &j->report);
	hold_against_before(j);
	if (j->compare && !j->error)
		part_change_compare(j);
}

/* ---- Back ---- */

static void
tell_refused(struct subnet *s, const struct partition_job *j)
{
	struct partitions *p = &s->parts;

	if (!j->error) {
		p->refused[0] = '\0';
		return;
	}
	if (strcmp(p->refused, j->why.text))
		subnet_event(s, EVENT_CONFIG, LOG_L_ERROR, 0, 0, "partitions stay as they were: %s",
			     j->why.text);
	snprintf(p->refused, sizeof(p->refused), "%s", j->why.text);
}

static void
tell_overflow(struct subnet *s, const struct partition_job *j)
{
	const struct pkeys_report *r = &j->report;
	char text[300];

	if (!r->overflows || (s->parts.report.overflows == r->overflows && !j->rebuilt))
		return;
	subnet_event(s, EVENT_CONFIG, LOG_L_ERROR, 0, 0, "%s%s: it gets its default P_Key alone",
		     pkeys_overflow_text(&r->overflow[0], j->fabric, text, sizeof(text)),
		     r->overflows > 1 ? ", and there are more such ports" : "");
}

/* A name is somebody's who is no member by it. */
static void
tell_others(struct subnet *s, const struct policy *old, const struct policy *new)
{
	for (uint32_t i = 0; i < new->len; i++) {
		const struct partition *p = new->list[i];
		const struct partition *was = old ? policy_by_name(old, p->name) : NULL;

		if (p->others && (!was || was->others != p->others))
			subnet_event(s, EVENT_CONFIG, LOG_L_NOTICE, 0, 0, "partition %s selects by "
				     "name %u port%s not among its members, as is %s: weft "
				     "partition apply makes members of them", p->name, p->others,
				     p->others == 1 ? "" : "s", p->first_other);
	}
}

static bool
same_partitions(const struct policy *a, const struct policy *b)
{
	if (!a || a->len != b->len)
		return !a && !b->len;
	for (uint32_t i = 0; i < a->len; i++)
		if (a->list[i]->pkey != b->list[i]->pkey ||
		    a->list[i]->ipoib != b->list[i]->ipoib ||
		    strcmp(a->list[i]->name, b->list[i]->name))
			return false;
	return true;
}

/* Rules of quality of service know partitions by number, and are made with a routing. */
static void
renew_rules(struct subnet *s, const struct partition_job *j)
{
	if (j->s && s->plan && s->plan->levels && !same_partitions(s->parts.policy, j->policy))
		s->want_route = true;
}

/* ---- In force ---- */

static void
let_go_of_compiled(struct partitions *p)
{
	plan_pkeys_unref(p->compiled.pkeys);
	fabric_unref(p->compiled.fabric);
	mem_free(p->compiled.aliases);
	memset(&p->compiled, 0, sizeof(p->compiled));
}

static void
take_compiled(struct partitions *p, struct partition_job *j)
{
	let_go_of_compiled(p);
	if (!j->pkeys)
		return;
	p->compiled.pkeys = plan_pkeys_ref(j->pkeys);
	p->compiled.fabric = fabric_ref(j->fabric);
	p->compiled.aliases = j->aliases;
	p->compiled.naliases = j->naliases;
	j->aliases = NULL;
}

void
partition_job_adopt(struct subnet *s, struct partition_job *j)
{
	struct partitions *p = &s->parts;

	if (!j)
		return;
	tell_refused(s, j);
	if (j->pkeys)
		tell_overflow(s, j);
	if (j->rebuilt) {
		renew_rules(s, j);
		tell_others(s, p->policy, j->policy);
		part_store_pins(s, "names", p->pins, j->pins);
		store_commit(s->env.store, NULL, NULL);
		pins_free(p->pins);
		p->pins = j->pins;
		j->pins = NULL;
		policy_unref(p->policy);
		p->policy = policy_ref(j->policy);
	}
	p->names = j->names;
	p->report = j->report;
	take_compiled(p, j);
	job_free(j);
}

void
partition_job_drop(struct subnet *s, struct partition_job *j, bool again)
{
	if (j && again) {
		s->parts.due = true;
		s->parts.rebuild |= j->rebuild;
	}
	job_free(j);
}

/* ---- By itself ---- */

static void
run(void *arg)
{
	partition_job_run(arg);
}

/* The nodes of ports that differ, where devices are known to hold all else; NULL. */
static uint64_t *
few_of(const struct subnet *s, const struct partition_job *j, uint32_t *len)
{
	uint64_t *few;

	*len = 0;
	if (!j->base.policy || s->push_incomplete || !s->up)
		return NULL;
	few = mem_array(j->ndiffer + 1u, sizeof(*few));
	for (uint32_t i = 0; i < j->ndiffer; i++) {
		const struct fabric_port *p = &j->fabric->ports[j->differ[i]];
		uint64_t guid = j->fabric->nodes[p->node].guid;

		if (!*len || few[*len - 1] != guid)
			few[(*len)++] = guid;
	}
	return few;
}

static void
note_told(struct subnet *s, const struct partition_job *j)
{
	struct partitions *p = &s->parts;

	p->told.on = j->before != NULL;
	p->told.outcome = j->outcome;
	p->told.outcome.list = NULL;
	snprintf(p->told.name, sizeof(p->told.name), "%s", j->changed ? j->changed : "");
}

static void
push(struct subnet *s, struct partition_job *j)
{
	struct plan *plan = plan_with_pkeys(s->plan, j->pkeys);
	bool reregister;
	uint32_t len;
	uint64_t *few = few_of(s, j, &len);

	note_told(s, j);
	plan_unref(s->plan);
	s->plan = plan;
	s->published_wall = loop_wall(s->env.loop);
	partition_job_adopt(s, j);
	reregister = part_groups_set(s);
	subnet_set_stage(s, SUBNET_PUSH);
	if (few && !reregister) {
		push_start_few(s, plan_ref(plan), few, len);
		return;
	}
	mem_free(few);
	push_start(s, plan_ref(plan), NULL, reregister);
}

/* Names that were read meanwhile made another plan: the keys are compiled again for that, and a
 * command is answered when those are written. */
static void
done(void *arg)
{
	struct partition_job *j = arg;
	struct subnet *s = j->s;
	bool overtaken;

	if (!s) {
		job_free(j);
		return;
	}
	s->parts.job = NULL;
	if (j->change && !(s->parts.command.running && part_change_made(s, j))) {
		job_free(j);
		subnet_go_on(s);
		return;
	}
	overtaken = s->plan && j->fabric != s->plan->fabric;
	if (j->error || !s->plan || overtaken || s->plan->pkeys == j->pkeys) {
		s->parts.due |= overtaken;
		partition_job_adopt(s, j);
		part_groups_set(s);
		if (!overtaken)
			part_change_pushed(s);
		subnet_go_on(s);
		return;
	}
	push(s, j);
}

bool
partitions_start(struct subnet *s)
{
	struct partitions *p = &s->parts;
	/* What is due comes first, so that a command that is refused takes nothing with it. */
	bool change = p->command.done && !p->command.running && !p->due;
	struct partition_job *j;

	if (!(p->due || change) || s->role != ROLE_MASTER || !s->plan ||
	    ((s->wanted != SWEEP_NONE || s->want_route) && !p->passed))
		return false;
	j = partition_job_new(s, s->plan->fabric, change);
	if (!j) {
		p->due = false;
		return p->command.done && partitions_start(s);
	}
	j->s = s;
	j->compare = true;
	p->job = j;
	p->passed = 0;
	s->change_started = loop_now(s->env.loop);
	subnet_set_stage(s, SUBNET_PARTITIONS);
	loop_work(s->env.loop, run, done, j, MSEC(1));
	return true;
}

void
partitions_passed(struct subnet *s)
{
	struct partitions *p = &s->parts;

	if (p->due || (p->command.done && !p->command.running))
		p->passed++;
}

bool
partitions_tell(struct subnet *s)
{
	struct partitions *p = &s->parts;
	const struct partition_report *r = &p->told.outcome;
	char took[DURATION_TEXT_SIZE];

	if (!p->told.on)
		return false;
	p->told.on = false;
	duration_text(took, loop_now(s->env.loop) - s->change_started);
	subnet_event(s, EVENT_CONFIG, LOG_L_NOTICE, 0, 0, "partition%s%s: %u port%s gained access, "
		     "%u lost it, %u changed membership, %u P_Key block%s written in %s",
		     *p->told.name ? " " : "s", p->told.name, r->gain, r->gain == 1 ? "" : "s",
		     r->lose, r->other, s->push.pkey_blocks, s->push.pkey_blocks == 1 ? "" : "s",
		     took);
	return true;
}

static void
are_due(struct subnet *s)
{
	s->parts.due = true;
	if (s->stage == SUBNET_IDLE)
		partitions_start(s);
	else
		between_hurry(s);
}

void
partitions_changed(struct subnet *s)
{
	s->parts.rebuild = true;
	are_due(s);
}

/* The job sees whether it is about these names. */
void
partitions_renamed(struct subnet *s)
{
	if (s->parts.policy && s->parts.policy->names)
		are_due(s);
}

void
partitions_aliased(struct subnet *s)
{
	s->parts.due |= s->parts.report.foreign != 0;
}

void
subnet_partitions(struct subnet *s, struct partition_view *v)
{
	const struct partitions *p = &s->parts;
	struct partition_job aliases = { 0 };

	sa_each_alias(s->sa, collect_alias, &aliases);
	*v = (struct partition_view){
		.policy = s->plan && s->plan->pkeys ? policy_ref(p->policy) : NULL,
		.report = p->report, .aliases = aliases.aliases, .naliases = aliases.naliases,
	};
	snprintf(v->refused, sizeof(v->refused), "%s", p->refused);
}

void
subnet_set_policy(struct subnet *s, const struct config *conf)
{
	config_free(s->parts.conf);
	s->parts.conf = config_ref(conf);
}

void
partitions_pushed(struct subnet *s)
{
	struct partitions *p = &s->parts;

	if (s->plan && s->plan->pkeys && !p->ours) {
		char key[64];

		p->ours = true;
		snprintf(key, sizeof(key), "%s/ours", s->conf->name);
		store_put(s->env.store, STORE_PARTITIONS, key, "1");
		store_commit(s->env.store, NULL, NULL);
	}
	part_change_pushed(s);
}

void
partitions_cancel(struct subnet *s)
{
	if (s->parts.job) {
		s->parts.job->s = NULL;
		s->parts.due = true;
		s->parts.rebuild = true;
	}
	s->parts.job = NULL;
}

void
partitions_init(struct subnet *s)
{
	s->parts.pins = pins_new();
	s->parts.rule_pins = pins_new();
	s->parts.rebuild = true;
	part_store_load(s);
}

void
partitions_free(struct subnet *s)
{
	struct partitions *p = &s->parts;

	partitions_cancel(s);
	config_free(p->conf);
	policy_unref(p->policy);
	pins_free(p->pins);
	pins_free(p->rule_pins);
	part_rows_free(&p->rows);
	plan_pkeys_unref(p->written);
	let_go_of_compiled(p);
}
