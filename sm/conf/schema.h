/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONF_SCHEMA_H
#define CONF_SCHEMA_H

#include <stdbool.h>
#include "sm/base/mem.h"
#include "sm/conf/option.h"

/* The schema: the rows of all options. */
extern const struct option schema_root[];	/* of struct config; ends with name NULL */
extern const struct option schema_subnet[];	/* of struct config_subnet; likewise */

const struct option *
schema_find(const struct option *table, const char *name);
/* Do options start with `name` and a dot? */
bool
schema_is_group(const struct option *table, const char *name);
/* The words that may stand behind `prefix` ("" or "log."), each once, NULL-terminated, in `r`. */
const char **
schema_words(struct region *r, const struct option *table, const char *prefix);

#endif
