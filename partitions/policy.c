/* SPDX-License-Identifier: BSD-2-Clause */
#include "partitions/policy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sm/base/map.h"
#include "sm/base/mem.h"

/*
 * Partitions of the file first, then those of commands, each put together by itself; then P_Keys
 * for those that have none; then in order of P_Keys.
 *
 * Members of one partition are collected in the order in which they were said, each with its place,
 * sorted by GUID, and of one GUID the last entry of the file counts, or else that of the command.
 */

/* ---- References ---- */

static void
partition_unref(struct partition *p)
{
	if (!p || __atomic_sub_fetch(&p->refs, 1, __ATOMIC_ACQ_REL))
		return;
	selected_free(&p->except);
	mem_free(p->members);
	mem_free(p);
}

struct policy *
policy_ref(struct policy *p)
{
	if (p)
		__atomic_add_fetch(&p->refs, 1, __ATOMIC_RELAXED);
	return p;
}

void
policy_unref(struct policy *p)
{
	if (!p || __atomic_sub_fetch(&p->refs, 1, __ATOMIC_ACQ_REL))
		return;
	for (uint32_t i = 0; i < p->len; i++)
		partition_unref(p->list[i]);
	mem_free(p->list);
	mem_free(p->named);
	config_free(p->conf);
	mem_free(p);
}

/* ---- Members ---- */

struct entry {
	struct part_member m;
	uint32_t place;		/* the later one counts */
};

struct entries {
	struct entry *list;	/* owned */
	uint32_t len;
	uint32_t size;		/* that there is room for */
};

static void
entries_add(struct entries *e, const struct part_member *m)
{
	if (e->len == e->size) {
		e->size = e->size ? 2 * e->size : 16;
		e->list = mem_realloc(e->list, e->size, sizeof(*e->list));
	}
	e->list[e->len] = (struct entry){ .m = *m, .place = e->len };
	e->len++;
}

/* By GUID; what the file says behind what a command does, and later things behind earlier ones. */
static int
compare_entries(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->m.guid != y->m.guid)
		return x->m.guid > y->m.guid ? 1 : -1;
	if (x->m.origin != y->m.origin)
		return x->m.origin < y->m.origin ? 1 : -1;
	return (x->place > y->place) - (x->place < y->place);
}

static void
entries_settle(struct entries *e, struct partition *p)
{
	if (e->len)
		qsort(e->list, e->len, sizeof(*e->list), compare_entries);
	p->members = mem_array(e->len + 1u, sizeof(*p->members));
	for (uint32_t i = 0; i < e->len; i++)
		if (i + 1 == e->len || e->list[i].m.guid != e->list[i + 1].m.guid)
			p->members[p->nmembers++] = e->list[i].m;
	mem_free(e->list);
}

static void
take_kinds(struct partition *p, unsigned kinds, const struct config_members *m)
{
	static const unsigned bits[PART_KINDS] = {
		[PART_HOSTS] = SELECTED_HOSTS, [PART_SWITCHES] = SELECTED_SWITCHES,
		[PART_ROUTERS] = SELECTED_ROUTERS, [PART_SELF] = SELECTED_SELF,
	};

	for (unsigned k = 0; k < PART_KINDS; k++)
		if (kinds & bits[k])
			p->kind[k] = (struct part_kind){
				.on = true, .membership = (uint8_t)m->membership,
				.index0 = m->index0,
			};
}

/* "all" says less than the name of a kind, wherever it stands. */
static int
take_members(struct partition *p, struct selecting *s, struct entries *entries, bool all,
	     struct error *e)
{
	for (unsigned i = 0; i < p->conf->nmembers; i++) {
		const struct config_members *m = &p->conf->members[i];
		struct selected some;
		int rc = selected_of(s, m->nodes, &some, e);

		if (rc)
			return rc;
		if (all == ((some.kinds & SELECTED_ALL) == SELECTED_ALL))
			take_kinds(p, some.kinds, m);
		for (uint32_t g = 0; !all && g < some.len; g++)
			entries_add(entries, &(struct part_member){
				.guid = some.guids[g], .membership = (uint8_t)m->membership,
				.origin = PART_FILE, .index0 = m->index0 });
		selected_free(&some);
	}
	return 0;
}

static bool
is_applied(const struct policy_input *in, const char *name)
{
	return in->apply && (!*in->apply || !strcmp(in->apply, name));
}

static int
from_file(struct policy *policy, struct partition *p, const struct policy_input *in,
	  struct entries *entries, struct error *e)
{
	struct selecting s = {
		.fabric = in->fabric, .groups = &in->conf->partitions, .owner = p->name,
		.pins = in->pins,
		.names = p->conf->trust_names ? NAMES_TRUSTED :
			is_applied(in, p->name) ? NAMES_APPLIED : NAMES_PINNED,
	};
	struct selecting again, excepting = s;
	int rc;

	excepting.exceptions = true;
	p->origin = PART_FILE;
	p->pkey = (uint16_t)p->conf->pkey;
	p->enforce = (uint8_t)p->conf->enforce;
	again = s;
	again.names = s.names == NAMES_TRUSTED ? NAMES_TRUSTED : NAMES_PINNED;
	rc = take_members(p, &s, entries, true, e);
	if (!rc)
		rc = take_members(p, &again, entries, false, e);
	if (!rc)
		rc = selected_of(&excepting, p->conf->except, &p->except, e);
	policy->names |= again.named || excepting.named;
	p->others = again.others;
	snprintf(p->first_other, sizeof(p->first_other), "%s", again.first);
	return rc;
}

/* ---- The list ---- */

/* Room for all that there may be is made at first. */
static void
append(struct policy *policy, struct partition *p)
{
	policy->list[policy->len++] = p;
}

static struct partition *
add(struct policy *policy, const char *name)
{
	struct partition *p = mem_zalloc(sizeof(*p));

	p->refs = 1;
	snprintf(p->name, sizeof(p->name), "%s", name);
	append(policy, p);
	return p;
}

bool
partition_is_for(const struct config_partition *c, const char *subnet)
{
	for (unsigned i = 0; c->subnets && c->subnets[i]; i++)
		if (!strcmp(c->subnets[i], subnet))
			return true;
	return !c->subnets;
}

static int
take_row(struct partition *p, const struct part_row *r, struct entries *entries, struct error *e)
{
	if (!r)
		return 0;
	p->origin |= PART_COMMAND;
	p->ipoib = r->ipoib && !p->conf;
	for (uint32_t i = 0; i < r->nmembers; i++)
		entries_add(entries, &r->members[i]);
	if (r->pkey && p->pkey && r->pkey != p->pkey)
		return error_set(e, ERR_EXISTS, "partition %s has the P_Key 0x%04x by the "
				 "configuration, and 0x%04x by a command: give one of them another "
				 "name", p->name, p->pkey, r->pkey);
	if (r->pkey)
		p->pkey = r->pkey;
	return 0;
}

/* It is as it was: the base's. The default one that nobody names is made by add_default(). */
static bool
take_from_base(struct policy *policy, const struct policy_input *in, const char *name)
{
	const struct partition *p = in->base && strcmp(name, in->changed) ?
		policy_by_name(in->base, name) : NULL;

	if (!p)
		return false;
	__atomic_add_fetch(&((struct partition *)(uintptr_t)p)->refs, 1, __ATOMIC_RELAXED);
	append(policy, (struct partition *)(uintptr_t)p);
	return true;
}

static int
make(struct policy *policy, const struct policy_input *in, const char *name,
     const struct config_partition *conf, const struct part_row *row, struct error *e)
{
	struct entries entries = { 0 };
	struct partition *p;
	int rc = 0;

	if (take_from_base(policy, in, name))
		return 0;
	p = add(policy, name);
	p->conf = conf;
	if (conf)
		rc = from_file(policy, p, in, &entries, e);
	if (!rc)
		rc = take_row(p, row, &entries, e);
	entries_settle(&entries, p);
	if (!rc && !conf && !p->pkey)
		rc = error_set(e, ERR_NOT_FOUND, "partition %s was given members by a command and "
			       "is not in the configuration any more: put it back, or remove it by "
			       "weft partition remove", name);
	return rc;
}

/* What commands left, by name, and whether the file has the partition. */
struct row_index {
	struct named_row {
		const struct part_row *row;
		bool taken;		/* the file has a partition of its name */
	} *list;			/* owned */
	uint32_t len;
};

static int
compare_rows(const void *a, const void *b)
{
	return strcmp(((const struct named_row *)a)->row->name,
		      ((const struct named_row *)b)->row->name);
}

static int
compare_row_name(const void *name, const void *row)
{
	return strcmp(name, ((const struct named_row *)row)->row->name);
}

static struct row_index
index_rows(const struct policy_input *in)
{
	struct row_index x = { .len = in->nrows };

	x.list = mem_array(in->nrows + 1u, sizeof(*x.list));
	for (uint32_t i = 0; i < in->nrows; i++)
		x.list[i].row = &in->rows[i];
	if (x.len)
		qsort(x.list, x.len, sizeof(*x.list), compare_rows);
	return x;
}

static const struct part_row *
take_named_row(struct row_index *x, const char *name)
{
	struct named_row *found = x->len ?
		bsearch(name, x->list, x->len, sizeof(*x->list), compare_row_name) : NULL;

	if (!found)
		return NULL;
	found->taken = true;
	return found->row;
}

/* Those of the file in its order, then what commands have beside them. */
static int
make_all(struct policy *policy, const struct policy_input *in, struct error *e)
{
	const struct config_partitions *conf = &in->conf->partitions;
	struct row_index rows = index_rows(in);
	int rc = 0;

	policy->list = mem_array(conf->len + in->nrows + 1u, sizeof(struct partition *));
	for (unsigned i = 0; i < conf->len && !rc; i++)
		if (partition_is_for(&conf->list[i], in->subnet))
			rc = make(policy, in, conf->list[i].name, &conf->list[i],
				  take_named_row(&rows, conf->list[i].name), e);
	for (uint32_t i = 0; i < rows.len && !rc; i++)
		if (!rows.list[i].taken)
			rc = make(policy, in, rows.list[i].row->name, NULL, rows.list[i].row, e);
	mem_free(rows.list);
	return rc;
}

/* ---- P_Keys ---- */

static int
clash(const struct partition *a, const struct partition *b, struct error *e)
{
	return error_set(e, ERR_EXISTS, "partitions %s and %s have one P_Key, 0x%04x", b->name,
			 a->name, a->pkey);
}

/* Those without one get the least that is free. */
static int
number(struct policy *policy, struct error *e)
{
	struct partition **by = mem_array(PART_MAX + 1u, sizeof(*by));
	uint32_t next = 1;
	int rc = 0;

	for (uint32_t i = 0; i < policy->len && !rc; i++) {
		struct partition *p = policy->list[i];

		if (p->pkey && by[p->pkey])
			rc = clash(p, by[p->pkey], e);
		else if (p->pkey)
			by[p->pkey] = p;
	}
	for (uint32_t i = 0; i < policy->len && !rc; i++) {
		if (policy->list[i]->pkey)
			continue;
		while (next < PKEY_DEFAULT && by[next])
			next++;
		if (next == PKEY_DEFAULT)
			rc = error_set(e, ERR_FULL, "no P_Key is left for partition %s",
				       policy->list[i]->name);
		policy->list[i]->pkey = (uint16_t)next;
		by[next] = policy->list[i];
	}
	mem_free(by);
	return rc;
}

static int
compare(const void *a, const void *b)
{
	const struct partition *x = *(const struct partition *const *)a;
	const struct partition *y = *(const struct partition *const *)b;

	return (int)x->pkey - (int)y->pkey;
}

/* ---- The default partition, and an order by names ---- */

/* Nobody says anything of the default partition, or commands alone, of some ports: all others are
 * limited members, or full ones where the file says nothing of any partition. */
static void
add_default(struct policy *policy)
{
	struct partition *p = (struct partition *)(uintptr_t)policy_by_pkey(policy, PKEY_DEFAULT);
	bool silent = true;

	for (uint32_t i = 0; i < policy->len; i++)
		silent &= !policy->list[i]->conf;
	if (!p) {
		p = add(policy, "default");
		p->pkey = PKEY_DEFAULT;
		p->members = mem_array(1, sizeof(*p->members));
	}
	if (!silent || p->kind[PART_HOSTS].on)
		return;		/* the latter may be another policy's too */
	for (unsigned k = 0; k < PART_SELF; k++)
		p->kind[k] = (struct part_kind){ .on = true, .membership = MEMBERSHIP_FULL };
}

struct by_name {
	const char *name;
	uint32_t at;		/* place in the list */
};

static int
compare_names(const void *a, const void *b)
{
	const struct by_name *x = a, *y = b;
	int c = strcmp(x->name, y->name);

	return c ? c : (x->at > y->at) - (x->at < y->at);
}

static void
index_names(struct policy *policy)
{
	struct by_name *by = mem_array(policy->len + 1u, sizeof(*by));

	for (uint32_t i = 0; i < policy->len; i++)
		by[i] = (struct by_name){ policy->list[i]->name, i };
	qsort(by, policy->len, sizeof(*by), compare_names);
	policy->named = mem_array(policy->len + 1u, sizeof(*policy->named));
	for (uint32_t i = 0; i < policy->len; i++)
		policy->named[i] = by[i].at;
	mem_free(by);
}

bool
policy_wanted(const struct policy_input *in)
{
	bool wanted = in->nrows > 0;

	for (unsigned i = 0; i < in->conf->partitions.len; i++)
		wanted |= partition_is_for(&in->conf->partitions.list[i], in->subnet);
	return wanted;
}

int
policy_new(const struct policy_input *in, struct policy **out, struct error *e)
{
	struct policy *policy = mem_zalloc(sizeof(*policy));
	int rc;

	policy->refs = 1;
	policy->conf = config_ref(in->conf);
	policy->names = in->base && in->base->names;
	rc = make_all(policy, in, e);
	if (!rc)
		rc = number(policy, e);
	if (rc) {
		policy_unref(policy);
		return rc;
	}
	if (policy->len)
		qsort(policy->list, policy->len, sizeof(struct partition *), compare);
	add_default(policy);	/* which sorts last */
	index_names(policy);
	*out = policy;
	return 0;
}

/* ---- Finding ---- */

const struct partition *
policy_by_name(const struct policy *p, const char *name)
{
	uint32_t low = 0, high = p->len;

	while (low < high) {
		uint32_t mid = (low + high) / 2;

		if (strcmp(p->list[p->named[mid]]->name, name) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low < p->len && !strcmp(p->list[p->named[low]]->name, name) ?
	       p->list[p->named[low]] : NULL;
}

const struct partition *
policy_by_pkey(const struct policy *p, uint16_t pkey)
{
	struct partition key = { .pkey = pkey & PKEY_DEFAULT }, *k = &key;
	struct partition *const *found = p->len ?
		bsearch(&k, p->list, p->len, sizeof(struct partition *), compare) : NULL;

	return found ? *found : NULL;
}

static int
compare_member(const void *key, const void *member)
{
	uint64_t a = *(const uint64_t *)key, b = ((const struct part_member *)member)->guid;

	return (a > b) - (a < b);
}

const struct part_member *
partition_member(const struct partition *p, uint64_t guid)
{
	return p->nmembers ? bsearch(&guid, p->members, p->nmembers, sizeof(*p->members),
				     compare_member) : NULL;
}
