/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONF_SCHEMA_H
#define CONF_SCHEMA_H

#include <stdbool.h>
#include "sm/base/mem.h"
#include "sm/conf/option.h"

/* The schema: the rows of all options. */
extern const struct option schema_root[];	/* of struct config; ends with name NULL */
extern const struct option schema_subnet[];	/* of struct config_subnet; likewise */
extern const struct option schema_group[];	/* of struct config_node_group */
extern const struct option schema_partition[];	/* of struct config_partition */
extern const struct option schema_level[];	/* of struct config_level */
extern const struct option schema_rule[];	/* of struct config_rule */
extern const struct option schema_arbitration[];	/* of struct config_arbitration */
extern const struct option schema_plugin[];	/* of struct config_plugin */

/* Engines that are built in, and those of versions to come. */
extern const char *const schema_engines[];
extern const char *const schema_later_engines[];
/* Names of enum log_level. */
extern const char *const schema_levels[];

extern const struct option schema_ar_device[];	/* of struct config_ar_device */

/* "any", and rates in the order of their codes, from 2 on. */
extern const char *const schema_rates[];
/* Checks of texts: names of subnets, groups and levels; names of partitions. */
#define SCHEMA_NAME_FORM "1 to 31 of a-z, 0-9, _ and -, not starting with -"
const char *
schema_check_name(struct region *r, const char *s);
#define SCHEMA_PARTITION_FORM "1 to 63 bytes without \"/\" and \":\""
const char *
schema_check_partition(struct region *r, const char *s);
/* URLs of etcd; what its keys begin with: "/", the table and the key of a row follow. */
const char *
schema_check_endpoint(struct region *r, const char *s);
const char *
schema_check_prefix(struct region *r, const char *s);
/* "A:B, ..." with A up to `first`, B up to `second`, and at most so many; NULL: it is not that. */
const char *
schema_pairs(struct region *r, const char *s, unsigned first, unsigned second, unsigned most);

/* A limit of an arbitration until that of `qos` is known (check_config()). */
#define SCHEMA_LIMIT_FREE 256u

const struct option *
schema_find(const struct option *table, const char *name);
/* Do options start with `name` and a dot? */
bool
schema_is_group(const struct option *table, const char *name);
/* The words that may stand behind `prefix` ("" or "log."), each once, NULL-terminated, in `r`. */
const char **
schema_words(struct region *r, const struct option *table, const char *prefix);

#endif
