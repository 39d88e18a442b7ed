/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef QOS_CONFIGURED_H
#define QOS_CONFIGURED_H

#include "qos/compose.h"
#include "sm/conf/config.h"

/* The levels of service that a configuration asks for, as compose.h wants them. */
struct qos_levels {
	unsigned len;			/* 1..16 */
	bool configured;		/* else nothing is said of them: one level, whatever it
					 * has, and nothing is written */
	struct compose_level level[SLS_LEN];
};

/* Names are borrowed from the configuration; NULL: nothing is configured. One that has arbitration
 * without levels asks for one level. */
void
qos_levels_of(const struct config *conf, struct qos_levels *levels);
/* For a chain of engines; the rest of *p is left as it is. Borrows `levels`. */
void
qos_levels_policy(const struct config *conf, const struct qos_levels *levels,
		  struct compose_policy *p);

#endif
