/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONF_DOC_H
#define CONF_DOC_H

#include <stdbool.h>
#include <stddef.h>
#include "sm/base/error.h"
#include "sm/base/mem.h"

/*
 * One YAML document as a tree whose every node knows where it stands in the file. Nodes live in
 * the caller's region and never change once built; an alias is the node that it names.
 */
/* A thousand partitions of two thousand GUIDs fit in. */
#define DOC_TEXT_MAX (64u * 1024u * 1024u)

enum doc_kind {
	DOC_SCALAR,
	DOC_LIST,
	DOC_MAP,
};

struct doc_item {
	const struct doc_node *key;	/* maps: a scalar; lists: NULL */
	const struct doc_node *value;	/* what it is set to */
	struct doc_item *next;		/* in order of the file */
};

struct doc_node {
	enum doc_kind kind;		/* which of the fields below count */
	bool quoted;			/* scalars: was in quotes, or a block */
	unsigned line;			/* from 1 */
	unsigned column;		/* from 1, in characters */
	unsigned weight;		/* nodes in this subtree, aliases written out */
	unsigned len;			/* items of a list or map */
	const char *text;		/* scalars: NUL-terminated UTF-8, no control characters */
	struct doc_item *items;		/* lists and maps: the first */
};

/* What every reader of a document carries along, so that any node can be complained about. */
struct doc {
	struct region *region;		/* owns the nodes, and texts of messages; borrowed */
	struct region *keep;		/* owns the values that are read from them; borrowed */
	const char *name;		/* of the file, for messages */
	struct error *error;		/* filled by doc_error(); may be NULL */
	const struct doc_node *root;	/* NULL if the document is empty */
};

/* Fills d->root; the caller has set the other fields. 0, or a code with d->error filled. */
int
doc_parse(struct doc *d, const char *text, size_t len);

/* Fill d->error with "FILE:LINE:COLUMN: ..." and return `code`; `at` NULL: the file's start. */
int
doc_error(const struct doc *d, const struct doc_node *at, int code, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* The value of `key` in a map, or NULL. */
const struct doc_node *
doc_get(const struct doc_node *map, const char *key);
/* YAML's null: nothing at all, ~ or null, unquoted. */
bool
doc_is_null(const struct doc_node *n);
/* What a node is, as a phrase for a message: `"abc"`, "a list", "nothing". Lives in d's region. */
const char *
doc_describe(const struct doc *d, const struct doc_node *n);
/* Text that a configuration may hold: UTF-8 without controls and without YAML's line breaks. */
bool
doc_text_ok(const char *text, size_t len);

/* The whole file at `path`, NUL-terminated behind *len; mem_free() it. NULL: `e` says why. */
char *
doc_read_file(const char *path, size_t max, size_t *len, struct error *e);

#endif
