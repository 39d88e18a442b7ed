/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROUTING_CLASSES_H
#define ROUTING_CLASSES_H

#include <stdint.h>

struct fabric;

/* Values of engine_options.node_class. */
enum node_class {
	CLASS_COMPUTE,		/* all that nothing selects */
	CLASS_STORAGE,
	CLASS_OTHER,
};

/* Selections of hosts (selection_new() takes each), NULL-terminated; NULL: none. */
struct classes {
	const char *const *storage;	/* these */
	const char *const *other;	/* and of what is left, these */
};

/*
 * The class of each node, for engine_options.node_class: mem_array by node index, the caller's to
 * free. NULL if there are no selections. What matches nothing, or is no selection, selects nothing.
 */
uint8_t *
classes_of(const struct classes *c, const struct fabric *f);

#endif
