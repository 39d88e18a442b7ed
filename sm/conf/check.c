/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/conf/check.h"

#include <string.h>
#include "sm/base/text.h"

/*
 * What options say about each other, once each of them has its value: engines and their files, keys
 * and leases, names that must be distinct, names that must exist.
 *
 * Values and the document are walked side by side, since values do not know where they stood. A
 * file may have ten thousands of entries: names are looked up in maps.
 */
bool
check_known_add(struct check_known *n, const char *text)
{
	uint64_t key = map_text(text, strlen(text));

	if (map_get(&n->map, key) != MAP_NONE)
		return false;
	map_set(&n->map, key, n->len);
	if (n->len + 1 >= n->size) {
		n->size = n->size ? 2 * n->size : 16;
		n->texts = mem_realloc(n->texts, n->size, sizeof(*n->texts));
	}
	n->texts[n->len++] = text;
	n->texts[n->len] = NULL;
	return true;
}

bool
check_known_has(const struct check_known *n, const char *text)
{
	uint32_t at = map_get(&n->map, map_text(text, strlen(text)));

	return at != MAP_NONE && strcmp(n->texts[at], text) == 0;
}

void
check_known_free(struct check_known *n)
{
	map_free(&n->map);
	mem_free(n->texts);
}

const struct doc_node *
check_place(const struct doc_node *map, const char *key)
{
	const struct doc_node *n = doc_get(map, key);

	return n ? n : map;
}

int
check_unknown(const struct check *k, const struct doc_node *at, const char *option,
	      const char *what, const char *name, const struct check_known *known)
{
	const char *near = known->len ? nearest_word(name, known->texts) : NULL;

	if (near)
		return doc_error(k->d, at, ERR_NOT_FOUND,
				 "%s: there is no %s %s; did you mean \"%s\"?", option, what, name,
				 near);
	return doc_error(k->d, at, ERR_NOT_FOUND, "%s: there is no %s %s", option, what, name);
}

/* The element of a list that may be one value alone, and the next item in *item. */
static const struct doc_node *
element(const struct doc_node *n, const struct doc_item **item)
{
	if (n->kind != DOC_LIST)
		return n;
	*item = *item ? (*item)->next : n->items;
	return (*item)->value;
}

int
check_selections(const struct check *k, const char *option, const char *const *texts,
		 const struct doc_node *n)
{
	const bool all = k->groups.len == k->c->partitions.ngroups;
	const struct doc_item *item = NULL;

	for (; texts && *texts; texts++) {
		const struct doc_node *at = element(n, &item);

		if (strncmp(*texts, "group:", 6) == 0 && !check_known_has(&k->groups, *texts + 6))
			return check_unknown(k, at, option, all ? "group" : "group above that is "
					     "called", *texts + 6, &k->groups);
		if (strncmp(*texts, "partition:", 10) == 0 &&
		    !check_known_has(&k->partitions, *texts + 10))
			return check_unknown(k, at, option, "partition", *texts + 10,
					     &k->partitions);
	}
	return 0;
}

int
check_names(const struct check *k, const char *option, const char *what, const char *const *texts,
	    const struct check_known *known, const struct doc_node *n)
{
	const struct doc_item *item = NULL;

	for (; texts && *texts; texts++) {
		const struct doc_node *at = element(n, &item);

		if (!check_known_has(known, *texts))
			return check_unknown(k, at, option, what, *texts, known);
	}
	return 0;
}

/* Within a subnet. */
static int
check_subnet(const struct config_subnet *s, const struct doc *d, const struct doc_node *map)
{
	const struct doc_node *routing = check_place(map, "routing");

	for (unsigned i = 0; s->routing.engines[i]; i++)
		if (strcmp(s->routing.engines[i], "file") == 0 && !s->routing.file)
			return doc_error(d, check_place(routing, "engines"), ERR_INVALID,
					 "routing.engines: file needs routing.file, the tables");
	if (s->m_key_protect && !s->m_key)
		return doc_error(d, check_place(map, "m_key_protect"), ERR_INVALID,
				 "m_key_protect: protects nothing without an m_key");
	if (s->m_key_lease && SEC(s->m_key_lease) <= s->sweep_interval)
		return doc_error(d, check_place(map, "m_key_lease"), ERR_INVALID,
				 "m_key_lease: expected 0, or more than sweep_interval");
	return 0;
}

/* Each subnet needs a name and a port of its own. */
static int
check_distinct(const struct config *c, unsigned n, const struct doc *d, const struct doc_node *map)
{
	const struct config_subnet *s = &c->subnets[n], *other = c->subnets;

	for (; other < s; other++) {
		if (strcmp(other->name, s->name) == 0)
			return doc_error(d, check_place(map, "name"), ERR_EXISTS,
					 "name: two subnets are called %s", s->name);
		if (strcmp(other->port, "auto") == 0 || strcmp(s->port, "auto") == 0)
			return doc_error(d, check_place(map, "port"), ERR_INVALID,
					 "port: auto is for a single subnet; each of several needs "
					 "a port of its own");
		if (strcmp(other->port, s->port) == 0)
			return doc_error(d, check_place(map, "port"), ERR_EXISTS,
					 "port: %s is the port of subnet %s already", s->port,
					 other->name);
	}
	return 0;
}

static int
check_subnets(struct check *k)
{
	const struct doc_node *list = doc_get(k->d->root, "subnets");
	const struct doc_item *item = list ? list->items : NULL;
	int rc = 0;

	for (unsigned i = 0; item && !rc; i++, item = item->next) {
		rc = check_subnet(&k->c->subnets[i], k->d, item->value);
		if (!rc)
			rc = check_distinct(k->c, i, k->d, item->value);
	}
	for (unsigned i = 0; i < k->c->nsubnets; i++)
		check_known_add(&k->subnets, k->c->subnets[i].name);
	return rc;
}

static int
need(const struct check *k, const struct doc_node *etcd, const char *one, const char *other)
{
	return doc_error(k->d, check_place(etcd, one), ERR_INVALID, "etcd.%s: expected etcd.%s "
			 "beside it", one, other);
}

/* The state that managers share. */
static int
check_etcd(const struct check *k)
{
	const struct config *c = k->c;
	const struct doc_node *etcd = check_place(k->d->root, "etcd");
	unsigned len = 0;

	for (const char **ep = c->etcd.endpoints; ep && *ep; ep++)
		len++;
	if (len > 16)
		return doc_error(k->d, check_place(etcd, "endpoints"), ERR_FULL,
				 "etcd.endpoints: expected at most 16");
	if (len && !strcmp(c->state, ":memory:"))
		return doc_error(k->d, check_place(etcd, "endpoints"), ERR_INVALID,
				 "etcd.endpoints: etcd needs a state file, not :memory:");
	if (!c->etcd.cert != !c->etcd.key)
		return need(k, etcd, c->etcd.cert ? "cert" : "key", c->etcd.cert ? "key" : "cert");
	if (!c->etcd.user != !c->etcd.password_file)
		return need(k, etcd, c->etcd.user ? "user" : "password_file",
			    c->etcd.user ? "password_file" : "user");
	return 0;
}

int
check_config(struct config *c, const struct doc *d)
{
	struct check k = { .c = c, .d = d };
	int rc;

	if (!d->root || d->root->kind != DOC_MAP)	/* it is empty */
		return 0;
	rc = check_etcd(&k);
	if (!rc)
		rc = check_plugins(&k);
	if (!rc)
		rc = check_subnets(&k);
	if (!rc)
		rc = check_plugin_subnets(&k);
	if (!rc)
		rc = check_levels(&k);
	if (!rc)
		rc = check_partitions(&k);
	if (!rc)
		rc = check_rules(&k);
	check_known_free(&k.subnets);
	check_known_free(&k.groups);
	check_known_free(&k.partitions);
	check_known_free(&k.levels);
	return rc;
}
