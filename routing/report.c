/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/report.h"

/*
 * Proof and quality as JSON. Whoever proves tables, the daemon or the offline program, writes these
 * fields by these functions, so that a reader need not know which of them answered.
 */
#define SHIFTS_ALL 1024u	/* host ports up to which all shifts are counted */
#define SHIFTS_SAMPLED 256u
#define SAMPLES 100u		/* random permutations */

static uint32_t
ports_with_lid(const struct check_input *in)
{
	const struct fabric *f = in->fabric;
	uint32_t len = 0;

	for (uint32_t i = 0; i < in->lids->nports; i++)
		len += in->lids->base[i] && f->nodes[f->ports[i].node].type != NODE_SWITCH;
	return len;
}

void
report_measure(const struct check_input *in, uint64_t seed, struct quality_report *q)
{
	quality_measure(in, seed, ports_with_lid(in) > SHIFTS_ALL ? SHIFTS_SAMPLED : 0, SAMPLES, q);
}

void
report_put_counts(struct json *j, int verdict, const struct plan_check *check)
{
	jw_bool(j, "ok", verdict == 0);
	jw_uint(j, "pairs", check->pairs);
	jw_uint(j, "unreachable", check->unreachable);
	jw_uint(j, "cut_off", check->cut_off);
	jw_uint(j, "loops", check->loops);
	jw_uint(j, "holes", check->holes);
	jw_uint(j, "misdelivered", check->misdelivered);
	jw_uint(j, "credit_loops", check->credit_loops);
	jw_uint(j, "max_hops", check->max_hops);
	jw_real(j, "mean_hops", check->mean_hops);
}

static void
put_no_quality(struct json *j)
{
	static const char *const keys[] = { "shift_max", "shift_mean", "shifts", "a2a", "rp_median",
					    "ebb", "samples" };

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		jw_null(j, keys[i]);
}

void
report_put_quality(struct json *j, const struct quality_report *q)
{
	if (!q) {
		put_no_quality(j);
		return;
	}
	jw_uint(j, "shift_max", q->shift_max);
	jw_real(j, "shift_mean", q->shift_mean);
	jw_uint(j, "shifts", q->shifts);
	jw_uint(j, "a2a", q->a2a);
	jw_uint(j, "rp_median", q->rp_median);
	jw_real(j, "ebb", q->ebb);
	jw_uint(j, "samples", q->samples);
}

void
report_put_faults(struct json *j, const struct plan_check *check)
{
	jw_str(j, "first", check->first);
	jw_str(j, "cycle", check->cycle);
}
