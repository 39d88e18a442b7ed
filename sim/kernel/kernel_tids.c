/* SPDX-License-Identifier: BSD-2-Clause */
#include <stddef.h>
#include "sim/kernel/kernel_impl.h"
#include "sm/base/mem.h"

/*
 * The hash table of transaction ids: chains through the nodes themselves, so that a MAD costs no
 * memory. It doubles when it is full and never shrinks.
 */
#define SIZE_MIN 64u

static uint32_t
bucket_of(const struct tid_table *t, uint64_t tid)
{
	return (uint32_t)(tid * 0x9e3779b97f4a7c15u >> 32) & (t->size - 1);
}

static void
grow(struct tid_table *t)
{
	struct tid_table old = *t;

	t->size = old.size ? old.size * 2 : SIZE_MIN;
	t->buckets = mem_array(t->size, sizeof(*t->buckets));
	t->len = 0;
	for (uint32_t i = 0; i < old.size; i++) {
		struct tid_node *n;

		while ((n = old.buckets[i])) {
			old.buckets[i] = n->next;
			tids_add(t, n);
		}
	}
	mem_free(old.buckets);
}

void
tids_add(struct tid_table *t, struct tid_node *n)
{
	struct tid_node **at;

	if (t->len == t->size)
		grow(t);
	at = &t->buckets[bucket_of(t, n->tid)];
	n->next = *at;
	*at = n;
	t->len++;
}

void
tids_remove(struct tid_table *t, struct tid_node *n)
{
	struct tid_node **at = &t->buckets[bucket_of(t, n->tid)];

	while (*at != n)
		at = &(*at)->next;
	*at = n->next;
	t->len--;
}

static struct tid_node *
same(struct tid_node *n, uint64_t tid)
{
	while (n && n->tid != tid)
		n = n->next;
	return n;
}

struct tid_node *
tids_first(const struct tid_table *t, uint64_t tid)
{
	return t->len ? same(t->buckets[bucket_of(t, tid)], tid) : NULL;
}

struct tid_node *
tids_next(const struct tid_node *n)
{
	return same(n->next, n->tid);
}

struct tid_node *
tids_any(const struct tid_table *t, uint32_t *from)
{
	for (; *from < t->size; ++*from)
		if (t->buckets[*from])
			return t->buckets[*from];
	return NULL;
}

void
tids_free(struct tid_table *t)
{
	mem_free(t->buckets);
	*t = (struct tid_table){ 0 };
}
