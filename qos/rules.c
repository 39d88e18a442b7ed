/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rules of quality of service, made ready to be asked: names become numbers, selections become bits
 * by port. All of it lies in one region, which goes with the last reference.
 */
#include "qos/rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "partitions/selected.h"
#include "sm/base/mem.h"

#define TCP(port) { 0x01060000u + (port), 0x01060000u + (port) }
#define MEMBERS "partition:"

struct maker {
	const struct rules_input *in;
	struct plan_levels *l;		/* being made */
	struct region *r;		/* its */
};

/* ---- Names ---- */

static unsigned
level_by_name(const struct config_qos *q, const char *name)
{
	for (unsigned i = 0; i < q->nlevels; i++)
		if (!strcmp(q->levels[i].name, name))
			return i;
	return 0;
}

/* 0: there is no such partition in this subnet. */
static uint16_t
pkey_of(const struct rules_input *in, const char *name)
{
	const struct config_partitions *all = &in->conf->partitions;
	const struct partition *p = in->policy ? policy_by_name(in->policy, name) : NULL;

	if (p)
		return p->pkey;
	for (unsigned i = 0; i < all->len; i++)
		if (!strcmp(all->list[i].name, name))
			return partition_is_for(&all->list[i], in->subnet) ?
				(uint16_t)all->list[i].pkey : 0;
	return strcmp(name, "default") ? 0 : PKEY_DEFAULT;
}

/* ---- Parts of a rule ---- */

static struct level_ranges
ranges(struct maker *m, const struct config_range *list, unsigned len)
{
	struct level_ranges r = { .len = len };

	r.list = region_array(m->r, len + 1u, sizeof(*r.list));
	for (unsigned i = 0; i < len; i++)
		r.list[i] = (struct level_range){ list[i].from, list[i].to };
	return r;
}

static unsigned
count(const char *const *texts)
{
	unsigned n = 0;

	while (texts && texts[n])
		n++;
	return n;
}

static void
add_key(const struct maker *m, struct level_keys *k, const char *name)
{
	uint16_t pkey = pkey_of(m->in, name);

	if (pkey)
		k->list[k->len++] = pkey;
}

static struct level_keys
keys(struct maker *m, const char *const *names)
{
	struct level_keys k = { .said = names != NULL };

	k.list = region_array(m->r, count(names) + 1u, sizeof(*k.list));
	for (; names && *names; names++)
		add_key(m, &k, *names);
	return k;
}

static enum selected_names
names_of(const struct rules_input *in)
{
	if (!in->pins || in->conf->qos.trust_names)
		return NAMES_TRUSTED;
	return in->apply ? NAMES_APPLIED : NAMES_PINNED;
}

static void
note_names(struct plan_levels *l, const struct selecting *how)
{
	l->named |= how->named;
	if (how->others && !l->others)
		snprintf(l->first_other, sizeof(l->first_other), "%s", how->first);
	l->others += how->others;
}

/* Members of partitions are told apart from the rest, which means ports of the snapshot. */
static int
ports(struct maker *m, const char *const *texts, struct level_ports *p, struct error *e)
{
	const struct fabric *f = m->in->fabric;
	struct selecting how = { .fabric = f, .groups = &m->in->conf->partitions,
				 .owner = "qos", .names = names_of(m->in), .pins = m->in->pins };
	unsigned n = count(texts), others = 0;
	const char **rest;
	struct selected s;
	int rc;

	p->said = texts != NULL;
	if (!texts)
		return 0;
	rest = mem_array(n + 1u, sizeof(*rest));
	p->members.list = region_array(m->r, n + 1u, sizeof(*p->members.list));
	for (unsigned i = 0; i < n; i++)
		if (strncmp(texts[i], MEMBERS, strlen(MEMBERS)))
			rest[others++] = texts[i];
		else
			add_key(m, &p->members, texts[i] + strlen(MEMBERS));
	p->bits = region_array(m->r, f->nports / 64 + 1u, sizeof(*p->bits));
	rc = selected_of(&how, rest, &s, e);
	mem_free(rest);
	if (rc)
		return rc;
	note_names(m->l, &how);
	for (uint32_t i = 0; i < f->nports; i++)
		if (selected_port(&s, f, i))
			p->bits[i / 64] |= UINT64_C(1) << i % 64;
	selected_free(&s);
	return 0;
}

static const struct application {
	const char *word;		/* of the configuration */
	uint8_t kind;			/* enum level_application */
	unsigned len;			/* ranges */
	struct level_range ids[2];	/* service IDs */
} applications[] = {
	{ "ipoib", LEVEL_IPOIB, 0, { { 0 } } },
	{ "srp", LEVEL_SRP, 0, { { 0 } } },
	{ "sdp", LEVEL_SERVICE, 1, { { 0x10000, 0x1ffff } } },
	{ "rds", LEVEL_SERVICE, 1, { TCP(18634) } },
	{ "iser", LEVEL_SERVICE, 2, { TCP(860), TCP(3260) } },
	{ "lustre", LEVEL_SERVICE, 1, { TCP(987) } },
	{ "nvmeof", LEVEL_SERVICE, 2, { TCP(4420), TCP(8009) } },
};

static void
application(struct maker *m, const char *word, struct level_rule *r)
{
	for (size_t i = 0; word && i < sizeof(applications) / sizeof(applications[0]); i++) {
		const struct application *a = &applications[i];

		if (strcmp(a->word, word))
			continue;
		r->application = a->kind;
		r->applied.len = a->len;
		r->applied.list = region_array(m->r, 2, sizeof(*r->applied.list));
		memcpy(r->applied.list, a->ids, sizeof(a->ids));
	}
}

static int
make_rule(struct maker *m, const struct config_rule *c, struct level_rule *r, struct error *e)
{
	int rc;

	r->level = (uint8_t)level_by_name(&m->in->conf->qos, c->level);
	application(m, c->application, r);
	r->partitions = keys(m, c->partitions);
	r->pkeys = ranges(m, c->pkeys, c->npkeys);
	r->services = ranges(m, c->service_ids, c->nservice_ids);
	r->classes = ranges(m, c->classes, c->nclasses);
	rc = ports(m, c->source, &r->source, e);
	if (!rc)
		rc = ports(m, c->destination, &r->destination, e);
	return rc ? rc : ports(m, c->either, &r->either, e);
}

static int
make_rules(struct maker *m, struct error *e)
{
	const struct config_qos *q = &m->in->conf->qos;
	struct error why = { 0 };

	m->l->rules = region_array(m->r, q->nrules + 1u, sizeof(*m->l->rules));
	for (unsigned i = 0; i < q->nrules; i++) {
		int rc = make_rule(m, &q->rules[i], &m->l->rules[i], &why);

		if (rc)
			return error_set(e, rc, "qos.rules[%u]: %s", i, why.text);
		m->l->nrules++;
	}
	return 0;
}

/* ---- Partitions ---- */

static int
by_pkey(const void *a, const void *b)
{
	const struct level_partition *x = a, *y = b;

	return (x->pkey > y->pkey) - (x->pkey < y->pkey);
}

/* The level that is said, or the one that is given the service level. */
static uint8_t
own_level(const struct config_qos *q, const struct config_partition *p)
{
	if (p->level)
		return (uint8_t)level_by_name(q, p->level);
	for (unsigned i = 0; p->sl != CONFIG_SL_FREE && i < q->nlevels; i++)
		if (q->levels[i].sl == p->sl)
			return (uint8_t)i;
	return SLS_FREE;
}

/* Those that commands made are of no level of their own. */
static void
add_commanded(struct plan_levels *l, const struct policy *p)
{
	for (uint32_t i = 0; p && i < p->len; i++)
		if (!p->list[i]->conf && p->list[i]->pkey != PKEY_DEFAULT)
			l->partitions[l->npartitions++] = (struct level_partition){
				p->list[i]->pkey, p->list[i]->ipoib, SLS_FREE };
}

static void
make_partitions(struct maker *m)
{
	const struct config_partitions *all = &m->in->conf->partitions;
	const struct policy *policy = m->in->policy;
	struct plan_levels *l = m->l;
	bool has_default = false;

	l->partitions = region_array(m->r, all->len + 1u + (policy ? policy->len : 0),
				     sizeof(*l->partitions));
	for (unsigned i = 0; i < all->len; i++) {
		const struct config_partition *p = &all->list[i];
		uint16_t pkey = partition_is_for(p, m->in->subnet) ?
			pkey_of(m->in, p->name) : 0;

		if (!pkey)
			continue;
		has_default |= pkey == PKEY_DEFAULT;
		l->partitions[l->npartitions++] = (struct level_partition){
			.pkey = pkey, .ipoib = p->nipoib > 0 || pkey == PKEY_DEFAULT,
			.level = own_level(&m->in->conf->qos, p),
		};
	}
	/* It is there, with the group of all, whatever is said. */
	if (!has_default)
		l->partitions[l->npartitions++] =
			(struct level_partition){ PKEY_DEFAULT, true, SLS_FREE };
	add_commanded(l, policy);
	qsort(l->partitions, l->npartitions, sizeof(*l->partitions), by_pkey);
}

int
rules_compile(const struct rules_input *in, struct plan_levels **out, struct error *e)
{
	const struct config_qos *q = &in->conf->qos;
	struct maker m = { .in = in };
	int rc;

	*out = NULL;
	if (in->pins)
		pins_note(in->pins);
	if (!q->nlevels && !q->narbitration) {
		if (in->pins)
			pins_forget_others(in->pins);
		return 0;
	}
	m.r = region_new();
	m.l = region_alloc(m.r, sizeof(*m.l));
	m.l->refs = 1;
	m.l->region = m.r;
	m.l->conf = config_ref(in->conf);
	m.l->drop = config_free;
	m.l->nports = in->fabric->nports;
	for (unsigned i = 0; i < q->nlevels && i < SLS_LEN; i++, m.l->len++)
		m.l->level[i] = (struct level_limits){
			region_strdup(m.r, q->levels[i].name), (uint8_t)q->levels[i].rate,
			(uint8_t)q->levels[i].mtu, (uint8_t)q->levels[i].packet_life,
		};
	if (!m.l->len)
		m.l->level[m.l->len++] = (struct level_limits){ .name = "default" };
	make_partitions(&m);
	rc = make_rules(&m, e);
	if (rc) {
		plan_levels_unref(m.l);
		return rc;
	}
	if (in->pins)
		pins_forget_others(in->pins);
	*out = m.l;
	return 0;
}
