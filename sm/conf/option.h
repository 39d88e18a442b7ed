/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONF_OPTION_H
#define CONF_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "sm/base/buf.h"
#include "sm/base/mem.h"
#include "sm/conf/config.h"
#include "sm/conf/doc.h"

/* One row an option. Options that belong together share a prefix: "log.level". */
enum option_type {
	OPTION_NUMBER,		/* unsigned */
	OPTION_NUMBER64,	/* uint64_t */
	OPTION_DURATION,	/* monotime */
	OPTION_BOOL,		/* bool */
	OPTION_WORD,		/* an enum whose values index `words` */
	OPTION_TEXT,		/* const char *, checked by `check`, or one of `words` */
	OPTION_PKEY,		/* unsigned, without the membership bit */
	OPTION_MTU,		/* unsigned, the code; written in bytes */
	OPTION_RATE,		/* unsigned, the code; written as one of `words` */
	OPTION_WORDS,		/* const char **: a list of different `words`, at least one */
	OPTION_GUIDS,		/* uint64_t *, and the count at `count` */
	OPTION_NUMBERS,		/* unsigned *, and the count; one alone is a list, too */
	OPTION_RANGES,		/* struct config_range *, and the count; likewise */
	OPTION_PKEY_RANGES,	/* the same, of P_Keys */
	OPTION_NAMES,		/* const char **: different texts, checked by `check`; likewise */
	OPTION_SELECTIONS,	/* const char **: a list of different node selections */
	OPTION_PORTS,		/* const char **: different selections of ports as policy.h
				 * has them; likewise */
	OPTION_PAIRS,		/* struct config_pair *, and the count: a map of any names to
				 * texts, numbers, true and false */
	OPTION_LIST,		/* a list of maps, and the count: structs of `size` bytes */
	OPTION_MAP,		/* one map or none, stored as a list; true is one that says
				 * nothing */
};

struct option {
	const char *name;		/* with its prefix, dots between */
	enum option_type type;		/* how to read, print and store it */
	uint64_t min;			/* least number, or nanoseconds, or entries of a list */
	uint64_t max;			/* greatest */
	bool zero;			/* 0 is allowed below `min` */
	bool hex;			/* numbers are printed as hex */
	bool secret;			/* the value is never shown in messages */
	bool required;			/* of an entry: there is no initial value */
	bool filled;			/* lists: of one element at least */
	bool rules;			/* OPTION_PORTS: `partition:NAME` may be used */
	bool late;			/* OPTION_WORDS: names of plugins are words, too; it is
					 * read when these are known, by check_config() */
	bool routes;			/* of plugins, and in their entries: nothing is to run
					 * again for one that no subnet routes by */
	bool placed;			/* OPTION_LIST: an entry is known by its place */
	const char *initial;		/* value if not set, as YAML; "null": may be null */
	const char *word;		/* numbers: a word for one value, "auto"; or NULL */
	unsigned word_value;		/* which */
	const char *const *words;	/* the possible ones, NULL-terminated; or NULL */
	const char *const *later;	/* words of versions to come */
	const char *form;		/* texts: what is expected, as a phrase */
	/* Texts: the text in the form that is kept, in `r` or `s` itself; NULL: refused. */
	const char *(*check)(struct region *r, const char *s);
	const struct option *fields;	/* OPTION_LIST, OPTION_MAP: the rows of an entry */
	size_t size;			/* likewise: bytes of an entry */
	const char *entry;		/* likewise: what it is: "a partition" */
	const char *key;		/* OPTION_LIST: the row that tells entries apart; NULL:
					 * all of them do */
	const char *shorthand;		/* OPTION_LIST: what is no list of maps is one entry with
					 * this row set to it; or NULL */
	enum config_stage stage;	/* what a change invalidates */
	size_t offset;			/* in the struct that the table describes */
	size_t count;			/* where the count is */
	const char *help;		/* full sentences for the manual */
};

/* Rows that hold maps, whose entries have rows of their own. */
bool
option_is_nested(const struct option *o);
/* Read a value into `base`; not for nested rows. 0, or a code with d->error filled. */
int
option_set(const struct option *o, void *base, const struct doc *d, const struct doc_node *value);
/* Give every option of a table its initial value; nested ones, and what is required, are left
 * empty. Of `d` region and keep are used. */
void
option_set_initial(const struct option *table, void *base, const struct doc *d);
/* What may be set, as a phrase: "a whole number from 0 to 7". */
void
option_expected(const struct option *o, struct buf *out);
/* The name that the manual and messages use for a stage. */
const char *
option_stage(enum config_stage stage);

/* Lists and maps, wherever they are stored: entries, and how many. */
void *
option_entries(const struct option *o, const void *base, unsigned *len);
void
option_set_entries(const struct option *o, void *base, void *entries, unsigned len);

/*
 * For option.c and option_list.c.
 */
/* "expected ..., found ...; did you mean ...?" for a value or for one element of a list. */
int
option_unexpected(const struct option *o, const struct doc *d, const struct doc_node *n);
/* A number in its range, or false. */
bool
option_read_number(const struct option *o, const char *s, uint64_t *v);
/* true or false, or another word of YAML 1.1 for them, since people use these whatever version a
 * reader follows. */
bool
option_read_bool(const char *s, bool *v);
/* A P_Key without its membership bit, or false. */
bool
option_read_pkey(const char *s, uint64_t *v);
/* Lists of scalars, and maps to them. */
int
option_set_list(const struct option *o, void *base, const struct doc *d,
		const struct doc_node *list);

/*
 * Values back (option_text.c).
 */
/* The value in `base`, as YAML in one line; of nested rows all entries. */
void
option_text(const struct option *o, const void *base, struct buf *out);
/* An entry as a map in one line, without the rows that have their initial value. */
void
option_entry_text(const struct option *o, const void *entry, struct buf *out);
/* The value is what it is if nothing is said; never of rows that must be set. */
bool
option_is_initial(const struct option *o, const void *base);
/* A number as its row wants to see it. */
void
option_number_text(const struct option *o, uint64_t v, struct buf *out);
/* Is the value the same? */
bool
option_equal(const struct option *o, const void *a, const void *b);

#endif
