/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/store/etcd_unsent.h"

#include <search.h>
#include <string.h>
#include "sm/base/mem.h"

static int
compare(const void *a, const void *b)
{
	return strcmp(((const struct etcd_change *)a)->key, ((const struct etcd_change *)b)->key);
}

void
unsent_init(struct etcd_unsent *u)
{
	u->tree = NULL;
	u->len = 0;
	list_init(&u->waiting);
	list_init(&u->flying);
}

static void
change_free(struct etcd_change *c)
{
	list_remove(&c->link);
	mem_free(c->key);
	mem_free(c->value);
	mem_free(c);
}

static void
remove_change(struct etcd_unsent *u, struct etcd_change *c)
{
	tdelete(c, &u->tree, compare);
	change_free(c);
	u->len--;
}

void
unsent_clear(struct etcd_unsent *u)
{
	unsent_lost(u);
	list_each(it, &u->waiting)
		remove_change(u, list_entry(it, struct etcd_change, link));
}

struct etcd_change *
unsent_find(const struct etcd_unsent *u, const char *key)
{
	struct etcd_change probe = { .key = (char *)(uintptr_t)key };
	void *node = tfind(&probe, &u->tree, compare);

	return node ? *(struct etcd_change **)node : NULL;
}

/* Before all that were changed first later. */
static void
insert(struct etcd_unsent *u, struct etcd_change *c)
{
	struct list *at = u->waiting.prev;

	while (at != &u->waiting && list_entry(at, struct etcd_change, link)->no > c->no)
		at = at->prev;
	list_prepend(at, &c->link);
}

void
unsent_set(struct etcd_unsent *u, const char *key, const char *value, uint64_t no)
{
	struct etcd_change *c = unsent_find(u, key);
	char *copy = value ? mem_strdup(value) : NULL;	/* it may be the one that goes */

	if (!c) {
		c = mem_zalloc(sizeof(*c));
		list_init(&c->link);
		c->key = mem_strdup(key);
		c->no = no;
		tsearch(c, &u->tree, compare);
		insert(u, c);
		u->len++;
	}
	mem_free(c->value);
	c->value = copy;
	if (c->flies && !c->again)
		c->again = no;
}

void
unsent_drop(struct etcd_unsent *u, struct etcd_change *c)
{
	remove_change(u, c);
}

void
unsent_fly(struct etcd_unsent *u, struct etcd_change *c)
{
	list_remove(&c->link);
	list_append(&u->flying, &c->link);
	c->flies = true;
}

void
unsent_lost(struct etcd_unsent *u)
{
	while (!list_empty(&u->flying)) {
		struct etcd_change *c = list_entry(u->flying.prev, struct etcd_change, link);

		list_remove(&c->link);
		list_prepend(&u->waiting, &c->link);
		c->flies = false;
		c->again = 0;
	}
}

bool
unsent_arrived(struct etcd_unsent *u, struct etcd_change *c)
{
	if (!c->again) {
		remove_change(u, c);
		return true;
	}
	list_remove(&c->link);
	c->no = c->again;
	c->again = 0;
	c->flies = false;
	insert(u, c);
	return false;
}

bool
unsent_has_all(const struct etcd_unsent *u, uint64_t no)
{
	const struct list *first = list_empty(&u->flying) ? u->waiting.next : u->flying.next;

	return first == &u->waiting || list_entry(first, struct etcd_change, link)->no > no;
}
