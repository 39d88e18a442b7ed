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
	OPTION_NUMBER64,	/* uint64_t, printed as hex */
	OPTION_DURATION,	/* monotime */
	OPTION_BOOL,		/* bool */
	OPTION_WORD,		/* an enum whose values index `words` */
	OPTION_TEXT,		/* const char *, checked by `check` */
	OPTION_WORDS,		/* const char **: a list of different `words`, at least one */
	OPTION_GUIDS,		/* uint64_t *, and the count at `count` */
	OPTION_SELECTIONS,	/* const char **: a list of different node selections */
	OPTION_SUBNETS,		/* the list of maps that schema_subnet describes */
};

struct option {
	const char *name;		/* with its prefix, dots between */
	enum option_type type;		/* how to read, print and store it */
	uint64_t min;			/* least number, or nanoseconds */
	uint64_t max;			/* greatest */
	bool zero;			/* 0 is allowed below `min` */
	bool secret;			/* the value is never shown in messages */
	const char *initial;		/* value if not set, as YAML; "null": may be null */
	const char *const *words;	/* the possible ones, NULL-terminated; or NULL */
	const char *const *later;	/* words of versions to come */
	const char *form;		/* texts: what is expected, as a phrase */
	/* Texts: the text in the form that is kept, in `r` or `s` itself; NULL: refused. */
	const char *(*check)(struct region *r, const char *s);
	enum config_stage stage;	/* what a change invalidates */
	size_t offset;			/* in struct config or struct config_subnet */
	size_t count;			/* OPTION_GUIDS: where the count is */
	const char *help;		/* full sentences for the manual */
};

/* Read a value into `base`; not for OPTION_SUBNETS. 0, or a code with d->error filled. */
int
option_set(const struct option *o, void *base, const struct doc *d, const struct doc_node *value);
/* Give every option of a table but OPTION_SUBNETS its initial value. */
void
option_set_initial(const struct option *table, void *base, struct region *r);
/* The value in `base`, as YAML in one line. */
void
option_text(const struct option *o, const void *base, struct buf *out);
/* What may be set, as a phrase: "a whole number from 0 to 7". */
void
option_expected(const struct option *o, struct buf *out);
/* The name that the manual and messages use for a stage. */
const char *
option_stage(enum config_stage stage);

#endif
