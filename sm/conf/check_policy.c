/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/conf/check.h"

#include <string.h>
#include "sm/conf/schema.h"

/*
 * What partitions and quality of service say about each other: each name, P_Key, multicast group
 * and service level once; each name that is used is there. Anything else is an error of the whole
 * file, since whatever an entry might have meant instead could let somebody in.
 */
#define PKEY_DEFAULT 0x7fffu

static const struct doc_node *
place_of_qos(const struct check *k, const char *key)
{
	return check_place(check_place(k->d->root, "qos"), key);
}

/* The first entry of a list that may not be in the document. */
static const struct doc_item *
entries(const struct doc_node *n)
{
	return n->kind == DOC_LIST ? n->items : NULL;
}

static unsigned
lanes_max(const struct config *c)
{
	unsigned most = 0;

	for (unsigned i = 0; i < c->nsubnets; i++)
		if (c->subnets[i].max_op_vls > most)
			most = c->subnets[i].max_op_vls;
	return most;
}

static int
check_level(struct check *k, const struct config_level *l, const struct doc_node *map)
{
	const struct config_level *other = k->c->qos.levels;
	unsigned lanes = lanes_max(k->c);

	if (!check_known_add(&k->levels, l->name))
		return doc_error(k->d, check_place(map, "name"), ERR_EXISTS,
				 "name: two levels are called %s", l->name);
	for (; l->sl != CONFIG_SL_FREE && other < l; other++)
		if (other->sl == l->sl)
			return doc_error(k->d, check_place(map, "sl"), ERR_EXISTS,
					 "sl: %u is the service level of %s already", l->sl,
					 other->name);
	if (l->vl != CONFIG_VL_FREE && l->vl >= lanes)
		return doc_error(k->d, check_place(map, "vl"), ERR_INVALID, "vl: no subnet "
				 "operates lane %u: max_op_vls is %u", l->vl, lanes);
	return 0;
}

static int
check_arbitration(struct check *k)
{
	const struct doc_item *item = entries(place_of_qos(k, "arbitration"));
	struct check_known seen = { 0 };
	int rc = 0;

	for (unsigned i = 0; i < k->c->qos.narbitration && !rc; i++, item = item->next) {
		struct config_arbitration *a = &k->c->qos.arbitration[i];

		if (a->high_limit == SCHEMA_LIMIT_FREE)
			a->high_limit = k->c->qos.high_limit;
		if (!check_known_add(&seen, a->ports))
			rc = doc_error(k->d, check_place(item->value, "ports"), ERR_EXISTS,
				       "ports: %s have an arbitration already", a->ports);
	}
	check_known_free(&seen);
	return rc;
}

int
check_levels(struct check *k)
{
	const struct doc_item *item = entries(place_of_qos(k, "levels"));
	int rc = 0;

	for (unsigned i = 0; i < k->c->qos.nlevels && !rc; i++, item = item->next)
		rc = check_level(k, &k->c->qos.levels[i], item->value);
	return rc ? rc : check_arbitration(k);
}

static int
check_groups(struct check *k)
{
	const struct doc_item *item = entries(check_place(k->d->root, "groups"));
	int rc = 0;

	for (unsigned i = 0; i < k->c->partitions.ngroups && !rc; i++, item = item->next) {
		const struct config_node_group *g = &k->c->partitions.groups[i];

		rc = check_selections(k, "nodes", g->nodes, check_place(item->value, "nodes"));
		if (!rc)
			rc = check_selections(k, "except", g->except,
					      check_place(item->value, "except"));
		if (!rc && !check_known_add(&k->groups, g->name))
			rc = doc_error(k->d, check_place(item->value, "name"), ERR_EXISTS,
				       "name: two groups are called %s", g->name);
	}
	return rc;
}

/* P_Keys and multicast groups, of each subnet, to the partition that has them. */
struct claims {
	struct map pkeys;	/* P_Key and subnet */
	struct map mgids;	/* address, as a key, and subnet */
};

static bool
is_in(const struct config_partition *p, const char *subnet)
{
	for (unsigned i = 0; p->subnets && p->subnets[i]; i++)
		if (strcmp(p->subnets[i], subnet) == 0)
			return true;
	return !p->subnets;
}

/* The partition that has the same in one of the subnets of this one, or MAP_NONE. */
static uint32_t
claim(const struct check *k, struct map *claimed, uint64_t key, uint32_t partition)
{
	const struct config_partition *p = &k->c->partitions.list[partition];
	uint32_t other;

	for (uint64_t i = 0; i < k->c->nsubnets; i++) {
		uint64_t here = key + (i << 48);

		if (!is_in(p, k->c->subnets[i].name))
			continue;
		other = map_get(claimed, here);
		if (other != MAP_NONE)
			return other;
		map_set(claimed, here, partition);
	}
	return MAP_NONE;
}

static int
check_pkey(struct check *k, struct claims *claims, uint32_t index, const struct doc_node *map)
{
	struct config_partition *p = &k->c->partitions.list[index];
	uint32_t other;

	if (strcmp(p->name, "default") == 0 && !p->pkey)
		p->pkey = PKEY_DEFAULT;
	if (strcmp(p->name, "default") == 0 && p->pkey != PKEY_DEFAULT)
		return doc_error(k->d, check_place(map, "pkey"), ERR_INVALID, "pkey: the partition "
				 "default has 0x%04x; give the one with 0x%04x another name",
				 PKEY_DEFAULT, p->pkey);
	if (!p->pkey)
		return 0;
	other = claim(k, &claims->pkeys, p->pkey, index);
	if (other == MAP_NONE)
		return 0;
	return doc_error(k->d, check_place(map, "pkey"), ERR_EXISTS,
			 "pkey: 0x%04x is the P_Key of partition %s already", p->pkey,
			 k->c->partitions.list[other].name);
}

static int
check_multicast(struct check *k, struct claims *claims, uint32_t index, const struct doc_node *map)
{
	const struct config_partition *p = &k->c->partitions.list[index];
	const struct doc_item *item = entries(check_place(map, "multicast"));

	for (unsigned i = 0; i < p->ngroups; i++, item = item->next) {
		const char *mgid = p->groups[i].mgid;
		uint64_t key = map_text(mgid, strlen(mgid));
		uint32_t other = claim(k, &claims->mgids, key, index);

		if (other != MAP_NONE)
			return doc_error(k->d, check_place(item->value, "mgid"), ERR_EXISTS,
					 "mgid: %s is a group of partition %s already", mgid,
					 k->c->partitions.list[other].name);
	}
	return 0;
}

static int
check_members(struct check *k, const struct config_partition *p, const struct doc_node *map)
{
	const struct doc_node *list = check_place(map, "members");
	const struct doc_item *item = entries(list);
	int rc = 0;

	if (!p->nmembers)
		return 0;
	if (!item || item->value->kind == DOC_SCALAR)	/* in short */
		return check_selections(k, "members", p->members->nodes, list);
	for (unsigned i = 0; i < p->nmembers && !rc; i++, item = item->next)
		rc = check_selections(k, "nodes", p->members[i].nodes,
				      check_place(item->value, "nodes"));
	return rc;
}

static int
check_service(const struct check *k, const struct config_partition *p, const struct doc_node *map)
{
	if (p->level && !check_known_has(&k->levels, p->level))
		return check_unknown(k, check_place(map, "level"), "level", "level", p->level,
				     &k->levels);
	if (p->level && p->sl != CONFIG_SL_FREE)
		return doc_error(k->d, check_place(map, "sl"), ERR_INVALID,
				 "sl: level %s says the service level; say one of the two",
				 p->level);
	return 0;
}

static int
check_partition(struct check *k, struct claims *claims, uint32_t index, const struct doc_node *map)
{
	const struct config_partition *p = &k->c->partitions.list[index];
	int rc;

	if (!check_known_add(&k->partitions, p->name))
		return doc_error(k->d, check_place(map, "name"), ERR_EXISTS,
				 "name: two partitions are called %s", p->name);
	rc = check_names(k, "subnets", "subnet", p->subnets, &k->subnets,
			 check_place(map, "subnets"));
	if (!rc)
		rc = check_pkey(k, claims, index, map);
	if (!rc)
		rc = check_members(k, p, map);
	if (!rc)
		rc = check_selections(k, "except", p->except, check_place(map, "except"));
	if (!rc)
		rc = check_multicast(k, claims, index, map);
	return rc ? rc : check_service(k, p, map);
}

int
check_partitions(struct check *k)
{
	const struct doc_item *item = entries(check_place(k->d->root, "partitions"));
	struct claims claims = { 0 };
	int rc = check_groups(k);

	for (uint32_t i = 0; i < k->c->partitions.len && !rc; i++, item = item->next)
		rc = check_partition(k, &claims, i, item->value);
	map_free(&claims.pkeys);
	map_free(&claims.mgids);
	return rc;
}

static int
check_rule(struct check *k, const struct config_rule *r, const struct doc_node *map)
{
	const struct {
		const char *option;		/* its row */
		const char *const *texts;	/* its value */
	} lists[] = {
		{ "source", r->source }, { "destination", r->destination }, { "either", r->either },
	};
	int rc = 0;

	if (!check_known_has(&k->levels, r->level))
		return check_unknown(k, check_place(map, "level"), "level", "level", r->level,
				     &k->levels);
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]) && !rc; i++)
		rc = check_selections(k, lists[i].option, lists[i].texts,
				      check_place(map, lists[i].option));
	return rc ? rc : check_names(k, "partition", "partition", r->partitions, &k->partitions,
				     check_place(map, "partition"));
}

/* The default partition is there, whether the file says anything of it or not. */
int
check_rules(struct check *k)
{
	const struct doc_item *item = entries(place_of_qos(k, "rules"));
	bool has_default = false;
	int rc = 0;

	for (uint32_t i = 0; i < k->c->partitions.len; i++)
		has_default |= k->c->partitions.list[i].pkey == PKEY_DEFAULT;
	if (!has_default)
		check_known_add(&k->partitions, "default");
	for (unsigned i = 0; i < k->c->qos.nrules && !rc; i++, item = item->next)
		rc = check_rule(k, &k->c->qos.rules[i], item->value);
	return rc;
}
