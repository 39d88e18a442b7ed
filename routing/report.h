/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROUTING_REPORT_H
#define ROUTING_REPORT_H

#include "routing/check.h"
#include "sm/base/json.h"

/*
 * What the proof and the quality model found, as the JSON fields that the control socket and the
 * offline program share (`weft check -o json`).
 */
#define REPORT_SEED 1		/* of the sampled parts, where nobody asks for another */

#define REPORT_MANY 20000u	/* host ports above which less is sampled */
#define REPORT_SAMPLES_MAX 100000u

/* Ports of hosts that have a LID. */
uint32_t
report_host_ports(const struct check_input *in);
/* Measure with the depth that reports have: every shift up to 1024 host ports, samples above, fewer
 * of them above REPORT_MANY; or else so many shifts, permutations and matchings each. */
void
report_measure(const struct check_input *in, uint64_t seed, uint32_t samples,
	       struct quality_report *q);

/* Fields of the present object: "ok" (from `verdict`, 0 = proved), counts, hops. */
void
report_put_counts(struct json *j, int verdict, const struct plan_check *check);
/* Of the quality; NULL writes the same fields without values: what is not proved has none. */
void
report_put_quality(struct json *j, const struct quality_report *q);
/* "first" and "cycle": the faults in words. */
void
report_put_faults(struct json *j, const struct plan_check *check);

#endif
