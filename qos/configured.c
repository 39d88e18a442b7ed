/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From `qos` of a configuration to what is composed. Kept apart from compose.c, which knows no
 * configuration, so that tests and tools can ask for levels by themselves.
 */
#include "qos/configured.h"

void
qos_levels_of(const struct config *conf, struct qos_levels *levels)
{
	const struct config_qos *q = conf ? &conf->qos : NULL;

	*levels = (struct qos_levels){ .len = 1 };
	levels->level[0] = (struct compose_level){ "default", SLS_FREE, SLS_FREE };
	if (!q || (!q->nlevels && !q->narbitration))
		return;
	levels->configured = true;
	for (unsigned i = 0; i < q->nlevels && i < SLS_LEN; i++)
		levels->level[i] = (struct compose_level){
			.name = q->levels[i].name,
			.sl = q->levels[i].sl < SLS_LEN ? (uint8_t)q->levels[i].sl : SLS_FREE,
			.vl = q->levels[i].vl < SLS_VLS ? (uint8_t)q->levels[i].vl : SLS_FREE,
		};
	if (q->nlevels)
		levels->len = q->nlevels;
}

void
qos_levels_policy(const struct config *conf, const struct qos_levels *levels,
		  struct compose_policy *p)
{
	p->levels = levels->len;
	p->level = levels->configured ? levels->level : NULL;
	p->merge = conf && conf->qos.merge;
}
