/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/adaptive.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "routing/engine.h"
#include "sm/base/mem.h"
#include "sm/base/parallel.h"

#define ROUNDS_MAX 32u		/* of cutting entries; then all groups are cut */

/*
 * Numbers of groups. A set takes the number that most of its destinations had in the plan before,
 * so that entries stay and the group is written; sets with more destinations choose first. The
 * others take numbers that were not in use, as long as there are some, for entries that are yet to
 * be rewritten may still go by the others.
 */
struct numbering {
	const struct adaptive_input *in;
	struct plan_ar_switch **found;	/* by switch: candidate sets; owned */
	struct plan_adaptive *out;	/* being made */
	uint32_t *weight;		/* by switch: LIDs whose home it is */
};

/* A candidate set of one switch. */
struct set {
	uint32_t weight;	/* LIDs that go by it */
	uint16_t id;		/* number in the candidates */
	uint16_t number;	/* given; 0: none */
	unsigned nports;
};

/* A set and a number that some of its destinations had. */
struct vote {
	uint32_t weight;
	uint16_t id, number;
};

struct ballot {
	struct set *sets;	/* by id, used + 1 */
	struct vote *votes;
	uint32_t nvotes, size;
	bool *taken;		/* by number */
};

static void
numbering_init(struct numbering *n)
{
	const struct plan *p = n->in->plan;
	uint32_t len = p->fabric->nswitches;

	n->found = mem_array(len, sizeof(struct plan_ar_switch *));
	n->out = plan_adaptive_new(len);
	n->weight = mem_array(len, sizeof(*n->weight));
	for (uint32_t lid = 1; lid <= p->lids->top; lid++)
		if (p->lids->dest[lid].sw != FABRIC_NONE)
			n->weight[p->lids->dest[lid].sw]++;
}

static void
numbering_end(struct numbering *n)
{
	for (uint32_t sw = 0; sw < n->out->nswitches; sw++)
		plan_ar_switch_unref(n->found[sw]);
	mem_free(n->found);
	mem_free(n->weight);
}

/* What the switch had; NULL. */
static const struct plan_ar_switch *
before(const struct numbering *n, uint32_t sw)
{
	return n->in->held ? n->in->held->sw[sw] : NULL;
}

static void
cast(struct ballot *b, uint16_t id, uint16_t number, uint32_t weight)
{
	if (!number || !weight)
		return;
	if (b->nvotes == b->size) {
		b->size = b->size ? 2 * b->size : 64;
		b->votes = mem_realloc(b->votes, b->size, sizeof(*b->votes));
	}
	b->votes[b->nvotes++] = (struct vote){ weight, id, number };
}

/* Destinations of one table, each with the set that it has and the number that it had. */
static void
cast_table(const struct numbering *n, const struct plan_ar_switch *s,
	   const struct plan_ar_switch *old, unsigned t, struct ballot *b)
{
	bool same = old && t < old->ntables &&
		old->nhomes == s->nhomes && old->table[t].by_port == s->table[t].by_port;

	for (uint32_t i = 0; i < (s->table[t].by_port ? 256 : s->nhomes); i++) {
		uint32_t weight = s->table[t].by_port ? 1 : n->weight[i];
		uint16_t id = s->table[t].group[i];

		if (!id)
			continue;
		b->sets[id].weight += weight;
		if (same)
			cast(b, id, old->table[t].group[i], weight);
	}
}

static int
by_pair(const void *x, const void *y)
{
	const struct vote *a = x, *b = y;

	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

/* Most votes first, then the larger sets, then as they were found. */
static int
by_weight(const void *x, const void *y)
{
	const struct vote *a = x, *b = y;

	if (a->weight != b->weight)
		return a->weight > b->weight ? -1 : 1;
	return by_pair(x, y);
}

static int
by_size(const void *x, const void *y)
{
	const struct set *a = x, *b = y;

	if (a->weight != b->weight)
		return a->weight > b->weight ? -1 : 1;
	if (a->nports != b->nports)
		return a->nports > b->nports ? -1 : 1;
	return a->id < b->id ? -1 : a->id > b->id;
}

static void
merge_votes(struct ballot *b)
{
	uint32_t len = 0;

	if (!b->nvotes)
		return;
	qsort(b->votes, b->nvotes, sizeof(*b->votes), by_pair);
	for (uint32_t i = 1; i < b->nvotes; i++) {
		if (by_pair(&b->votes[len], &b->votes[i]))
			b->votes[++len] = b->votes[i];
		else
			b->votes[len].weight += b->votes[i].weight;
	}
	b->nvotes = len + 1;
	qsort(b->votes, b->nvotes, sizeof(*b->votes), by_weight);
}

/* The lowest number that nobody has, and nobody had unless that is all there is; 0: none. */
static uint16_t
free_number(const struct ballot *b, const bool *had, unsigned limit)
{
	uint16_t second = 0;

	for (unsigned k = 1; k < limit; k++) {
		if (b->taken[k])
			continue;
		if (!had[k])
			return (uint16_t)k;
		if (!second)
			second = (uint16_t)k;
	}
	return second;
}

static void
give_numbers(struct ballot *b, const struct plan_ar_switch *s, const struct plan_ar_switch *old,
	     unsigned limit)
{
	struct set *order = mem_array(s->used + 1u, sizeof(*order));
	bool *had = mem_array(AR_GROUPS_MAX, sizeof(*had));
	unsigned room = limit - 1;

	memcpy(order, b->sets, (s->used + 1u) * sizeof(*order));
	qsort(order + 1, s->used, sizeof(*order), by_size);
	/* Only as many as there are numbers, the most used first. */
	for (unsigned i = 1; i <= s->used; i++)
		if (i > room)
			b->sets[order[i].id].weight = 0;
	for (uint32_t i = 0; i < b->nvotes; i++) {
		struct set *set = &b->sets[b->votes[i].id];
		uint16_t number = b->votes[i].number;

		if (!set->weight || set->number || number >= limit || b->taken[number])
			continue;
		set->number = number;
		b->taken[number] = true;
	}
	for (unsigned k = 1; old && k <= old->top && k < AR_GROUPS_MAX; k++)
		had[k] = ar_ports_count(plan_ar_ports(old, k, 0)) != 0;
	for (unsigned i = 1; i <= s->used; i++) {
		struct set *set = &b->sets[order[i].id];

		if (!set->weight || set->number)
			continue;
		set->number = free_number(b, had, limit);
		b->taken[set->number] = true;
	}
	mem_free(order);
	mem_free(had);
}

static void
fill(const struct ballot *b, const struct plan_ar_switch *from, struct plan_ar_switch *to)
{
	for (unsigned id = 1; id <= from->used; id++) {
		unsigned number = b->sets[id].number;

		if (!number) {
			to->left_out++;
			continue;
		}
		to->used++;
		for (unsigned sub = 0; sub < from->subs; sub++)
			to->ports[number * to->subs + sub] = *plan_ar_ports(from, id, sub);
	}
	for (unsigned t = 0; t < from->ntables; t++) {
		to->table[t].by_port = from->table[t].by_port;
		for (uint32_t i = 0; i < (to->table[t].by_port ? 256 : to->nhomes); i++)
			to->table[t].group[i] = b->sets[from->table[t].group[i]].number;
	}
	memcpy(to->table_of, from->table_of, sizeof(to->table_of));
}

uint8_t
adaptive_mode(const struct adaptive_input *in, const struct adaptive_ability *can)
{
	if (!in->sls || (in->sls != UINT16_MAX && !can->by_sl) ||
	    (in->transports && !can->by_transport) || (in->mode == AR_HASH && !can->hash))
		return AR_STATIC;
	return in->mode;
}

static void
parameters(const struct adaptive_input *in, const struct adaptive_ability *can,
	   struct plan_ar_switch *s)
{
	s->mode = adaptive_mode(in, can);
	s->recovery = in->recovery && can->recovery;
	s->sls = can->by_sl ? in->sls : UINT16_MAX;
	s->transports = can->by_transport ? in->transports : 0;
	s->ageing_us = in->ageing_us;
}

/* The old part, if the new one is the same but for numbers that nobody uses. */
static struct plan_ar_switch *
settle(struct plan_ar_switch *s, const struct plan_ar_switch *old)
{
	if (!old || !plan_ar_switch_equal(s, old))
		return s;
	plan_ar_switch_unref(s);
	return plan_ar_switch_ref((struct plan_ar_switch *)old);
}

static void
number_switch(struct numbering *n, uint32_t sw)
{
	const struct adaptive_ability *can = &n->in->ability[sw];
	const struct plan_ar_switch *found = n->found[sw], *old = before(n, sw);
	unsigned limit = can->groups < AR_GROUPS_MAX ? can->groups : AR_GROUPS_MAX, top = 0;
	struct ballot b = { 0 };
	struct plan_ar_switch *s;

	b.sets = mem_array(found->used + 1u, sizeof(*b.sets));
	b.taken = mem_array(AR_GROUPS_MAX, sizeof(*b.taken));
	for (unsigned id = 1; id <= found->used; id++) {
		b.sets[id].id = (uint16_t)id;
		b.sets[id].nports = ar_ports_count(plan_ar_ports(found, id, 0));
	}
	for (unsigned t = 0; t < found->ntables; t++)
		cast_table(n, found, old, t, &b);
	merge_votes(&b);
	give_numbers(&b, found, old, limit ? limit : 1);
	for (unsigned id = 1; id <= found->used; id++)
		top = b.sets[id].number > top ? b.sets[id].number : top;
	s = plan_ar_switch_new(found->nhomes, (uint16_t)top, found->subs, found->ntables);
	fill(&b, found, s);
	parameters(n->in, can, s);
	n->out->sw[sw] = settle(s, old);
	mem_free(b.sets);
	mem_free(b.votes);
	mem_free(b.taken);
}

/* Sub-groups of a switch's groups: two where the engine may have longer ways. */
static uint8_t
subs_of(const struct adaptive_input *in, uint32_t sw)
{
	const struct engine *engine = in->longer ? engine_find(in->plan->engine_running) : NULL;

	return engine && engine->longer && in->ability[sw].subs > 1 ? 2 : 1;
}

static void
number_some(void *arg, unsigned thread, size_t first, size_t end)
{
	struct numbering *n = arg;

	(void)thread;
	for (size_t sw = first; sw < end; sw++)
		if (n->found[sw])
			number_switch(n, (uint32_t)sw);
}

/* Without groups, but adaptive all the same: what is on stays on. */
static struct plan_ar_switch *
bare(const struct adaptive_input *in, uint32_t sw)
{
	struct plan_ar_switch *s = plan_ar_switch_new(in->plan->fabric->nswitches, 0,
						      subs_of(in, sw), 1);

	parameters(in, &in->ability[sw], s);
	return s;
}

/* Whoever has no destination any more is free again. */
static void
drop_unused(struct plan_ar_switch *s)
{
	bool *used = mem_array(s->top + 1u, sizeof(*used));

	for (unsigned t = 0; t < s->ntables; t++)
		for (uint32_t i = 0; i < (s->table[t].by_port ? 256 : s->nhomes); i++)
			used[s->table[t].group[i]] = true;
	s->used = 0;
	for (unsigned k = 1; k <= s->top; k++) {
		if (used[k])
			s->used++;
		else
			memset(&s->ports[k * s->subs], 0, s->subs * sizeof(*s->ports));
	}
	mem_free(used);
}

/* Longer ways of a group go first, with all who have them. */
static bool
drop_second(struct plan_ar_switch *s, unsigned group)
{
	struct ar_ports *second = &s->ports[group * s->subs + 1];

	if (s->subs < 2 || !group || !ar_ports_count(second))
		return false;
	*second = (struct ar_ports){ { 0 } };
	return true;
}

/* One switch without the entries that are at fault. */
static struct plan_ar_switch *
without(const struct plan_ar_switch *old, const struct depend_fault *f, size_t len, uint32_t *cut)
{
	struct plan_ar_switch *s = plan_ar_switch_copy(old, old->nhomes);
	bool *lost = mem_array(s->top + 1u, sizeof(*lost));
	bool *shorter = mem_array(s->top + 1u, sizeof(*shorter));

	for (size_t i = 0; i < len; i++)
		for (unsigned t = 0; t < s->ntables; t++) {
			bool by_port = f[i].home == FABRIC_NONE;
			uint16_t *group = &s->table[t].group[by_port ? f[i].port : f[i].home];

			if (s->table[t].by_port != by_port)
				continue;
			*cut += *group && !lost[*group];
			/* The faults of this round may be those of its longer ways. */
			if (!lost[*group])
				shorter[*group] = drop_second(s, *group);
			lost[*group] = true;
			if (!shorter[*group])
				*group = 0;
		}
	mem_free(lost);
	mem_free(shorter);
	drop_unused(s);
	return s;
}

static bool
cut_entries(const struct adaptive_input *in, struct plan_adaptive *a,
	    const struct depend_faults *f)
{
	uint32_t before = a->cut;

	for (size_t i = 0, end; i < f->len; i = end) {
		struct plan_ar_switch *old = a->sw[f->all[i].sw];

		for (end = i + 1; end < f->len && f->all[end].sw == f->all[i].sw; end++)
			;
		if (in->plan->fixed[f->all[i].sw])
			continue;
		a->sw[f->all[i].sw] = settle(without(old, &f->all[i], end - i, &a->cut),
					     in->held ? in->held->sw[f->all[i].sw] : NULL);
		plan_ar_switch_unref(old);
	}
	return a->cut > before;
}

/* All of a switch, or of all switches; false: there was nothing. */
static bool
cut_switch(const struct adaptive_input *in, struct plan_adaptive *a, uint32_t at)
{
	bool any = false;

	for (uint32_t sw = 0; sw < a->nswitches; sw++) {
		if (!a->sw[sw] || !a->sw[sw]->used || in->plan->fixed[sw] ||
		    (at != FABRIC_NONE && at != sw))
			continue;
		any = true;
		a->cut += a->sw[sw]->used;
		plan_ar_switch_unref(a->sw[sw]);
		a->sw[sw] = bare(in, sw);
	}
	return any;
}

/* Switches that do not answer spread packets by what they hold, whatever we wish. */
static void
give_up_silent(const struct adaptive_input *in, struct plan_adaptive *a)
{
	for (uint32_t sw = 0; sw < a->nswitches; sw++) {
		if (!a->sw[sw] || !in->plan->fixed[sw])
			continue;
		a->doubtful |= a->sw[sw]->used != 0;
		a->cut += a->sw[sw]->used;
		plan_ar_switch_unref(a->sw[sw]);
		a->sw[sw] = NULL;
	}
}

/* Take what is at fault away until what is left is proved. */
static void
cut(const struct adaptive_input *in, struct plan_adaptive *a)
{
	struct depend_faults faults = { 0 };
	struct error why = { 0 };
	unsigned rounds = 0;
	uint32_t at;

	while (check_adaptive_faults(in->plan, a, in->threads, &at, &faults, &why)) {
		if (!a->cut)
			snprintf(a->cut_first, sizeof(a->cut_first), "%.199s", why.text);
		if (!(at == FABRIC_NONE && faults.len && rounds++ < ROUNDS_MAX &&
		      cut_entries(in, a, &faults)) && !cut_switch(in, a, at) &&
		    !cut_switch(in, a, FABRIC_NONE))
			give_up_silent(in, a);
		depend_faults_free(&faults);
	}
	depend_faults_free(&faults);
}

struct adaptive_summary
adaptive_sum(const struct plan_adaptive *a)
{
	struct adaptive_summary sum = { .switches = a->adaptive, .cut = a->cut };

	for (uint32_t sw = 0; sw < a->nswitches; sw++) {
		const struct plan_ar_switch *s = a->sw[sw];

		if (!s)
			continue;
		sum.groups += s->used;
		sum.most = s->used > sum.most ? s->used : sum.most;
		sum.left_out += s->left_out;
	}
	return sum;
}

static void
find_sets(struct numbering *n, const bool *wanted)
{
	const struct plan *plan = n->in->plan;
	const struct engine *engine = engine_find(plan->engine_running);
	bool *longer = mem_array(plan->fabric->nswitches, sizeof(*longer));
	alternatives_fn alternatives = n->in->alternatives;

	if (!alternatives && plan->offered)
		alternatives = alternatives_offered;
	if (!alternatives && engine)
		alternatives = engine->alternatives;
	if (!alternatives)
		alternatives = plan->ranks ? alternatives_ranked : alternatives_parallel;
	alternatives(plan, wanted, n->in->threads, n->found);
	for (uint32_t sw = 0; sw < plan->fabric->nswitches; sw++)
		longer[sw] = wanted[sw] && subs_of(n->in, sw) > 1;
	if (engine && engine->longer)
		engine->longer(plan, longer, n->found);
	mem_free(longer);
}

struct plan_adaptive *
adaptive_make(const struct adaptive_input *in)
{
	uint32_t len = in->plan->fabric->nswitches;
	struct numbering n = { .in = in };
	bool *wanted = mem_array(len, sizeof(*wanted)), any = false;

	numbering_init(&n);
	for (uint32_t sw = 0; sw < len; sw++)
		any |= wanted[sw] = in->ability[sw].able && in->plan->rows[sw] &&
			!in->plan->fixed[sw];
	if (any)
		find_sets(&n, wanted);
	parallel_run(in->threads, len, 16, number_some, &n);
	for (uint32_t sw = 0; sw < len; sw++) {
		if (wanted[sw] && !n.out->sw[sw])
			n.out->sw[sw] = bare(in, sw);
		if (in->plan->fixed[sw] && in->held && in->held->sw[sw])
			n.out->sw[sw] = plan_ar_switch_ref(in->held->sw[sw]);
		n.out->adaptive += n.out->sw[sw] != NULL;
	}
	if (n.out->adaptive)
		cut(in, n.out);
	mem_free(wanted);
	numbering_end(&n);
	return n.out;
}
