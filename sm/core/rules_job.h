/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_RULES_JOB_H
#define CORE_RULES_JOB_H

#include <stdbool.h>
#include "partitions/policy.h"
#include "sm/base/error.h"
#include "sm/conf/config.h"
#include "sm/fabric/plan.h"

struct subnet;

/* Rules being compiled; the worker's from rules_job_begin() on. All 0: none are. */
struct rules_job {
	const struct config *conf;	/* reference held; NULL: nothing is configured */
	struct pins *pins;		/* what names in rules were found to mean; owned */
	bool apply;			/* they are applied anew */
	char subnet[32];		/* its name */
};

void
rules_job_begin(struct rules_job *j, const struct subnet *s, bool apply);
/* Any thread: to plan->levels, in the place of what is there. `policy` may be NULL. An error as of
 * rules_compile(): the plan is left as it is. */
int
rules_job_run(struct rules_job *j, const struct policy *policy, struct plan *plan,
	      struct error *e);
/* The plan is published; `before` are the levels of the one before it, NULL: it had none. */
void
rules_job_adopt(struct subnet *s, struct rules_job *j, const struct plan_levels *before,
		const struct plan_levels *now);
void
rules_job_end(struct rules_job *j);

#endif
