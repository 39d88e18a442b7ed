/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rules of quality of service on their way into plans. They are compiled (qos/rules.h) on the
 * worker, with each routing, and when nodes have other names than before, which routes nothing: a
 * host that changes its name again and again is no burden. What names were found to mean is taken
 * on, and kept in the store, when the plan that was made with it is published.
 */
#include "sm/core/rules_job.h"

#include <stdio.h>
#include <string.h>
#include "qos/rules.h"
#include "sm/core/subnet_i.h"
#include "sm/fabric/levels.h"

void
rules_job_begin(struct rules_job *j, const struct subnet *s, bool apply)
{
	*j = (struct rules_job){
		.conf = config_ref(s->parts.conf), .pins = pins_copy(s->parts.rule_pins),
		.apply = apply,
	};
	snprintf(j->subnet, sizeof(j->subnet), "%s", s->conf->name);
}

int
rules_job_run(struct rules_job *j, const struct policy *policy, struct plan *plan,
	      struct error *e)
{
	const struct rules_input in = {
		.conf = j->conf, .subnet = j->subnet, .fabric = plan->fabric, .policy = policy,
		.pins = j->pins, .apply = j->apply,
	};
	struct plan_levels *levels;
	int rc = j->conf ? rules_compile(&in, &levels, e) : 0;

	if (rc || !j->conf)
		return rc;
	plan_levels_unref(plan->levels);
	plan->levels = levels;
	return 0;
}

/* Ports that rules would be for by a name that they have now, when these become others. */
static void
tell_others(struct subnet *s, const struct plan_levels *before, const struct plan_levels *l)
{
	if (l && l->others && (!before || before->others != l->others ||
			       strcmp(before->first_other, l->first_other)))
		subnet_event(s, EVENT_CONFIG, LOG_L_NOTICE, 0, 0, "rules of qos select by name %u "
			     "ports that did not have it when it was applied, %s among them: if "
			     "they are meant, use weft qos apply", l->others, l->first_other);
}

void
rules_job_adopt(struct subnet *s, struct rules_job *j, const struct plan_levels *before,
		const struct plan_levels *now)
{
	struct pins *old = s->parts.rule_pins;

	part_store_pins(s, "rules", old, j->pins);
	store_commit(s->env.store, NULL, NULL);
	s->parts.rule_pins = j->pins;
	j->pins = NULL;
	pins_free(old);
	tell_others(s, before, now);
}

void
rules_job_end(struct rules_job *j)
{
	config_free(j->conf);
	pins_free(j->pins);
	*j = (struct rules_job){ 0 };
}
