/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

/* An intrusive circular doubly linked list. A node that is in no list points at itself. */
struct list {
	struct list *next;	/* first, or the list itself */
	struct list *prev;	/* last, or the list itself */
};

#define list_entry(node, type, member) ((type *)(void *)((char *)(node) - offsetof(type, member)))
#define list_each(it, head) \
	for (struct list *it = (head)->next, *it##_next = it->next; it != (head); \
	     it = it##_next, it##_next = it->next)

static inline void
list_init(struct list *l)
{
	l->next = l->prev = l;
}

static inline bool
list_empty(const struct list *l)
{
	return l->next == l;
}

static inline void
list_append(struct list *head, struct list *node)
{
	node->prev = head->prev;
	node->next = head;
	head->prev->next = node;
	head->prev = node;
}

static inline void
list_prepend(struct list *head, struct list *node)
{
	list_append(head->next, node);
}

/* Unlink; harmless on a node that is in no list. */
static inline void
list_remove(struct list *node)
{
	node->prev->next = node->next;
	node->next->prev = node->prev;
	list_init(node);
}

static inline struct list *
list_pop(struct list *head)
{
	struct list *first = head->next;

	if (first == head)
		return NULL;
	list_remove(first);
	return first;
}

#endif
