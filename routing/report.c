/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/report.h"

/*
 * Proof and quality as JSON. Whoever proves tables, the daemon or the offline program, writes these
 * fields by these functions, so that a reader need not know which of them answered.
 */
#define SHIFTS_ALL 1024u	/* host ports up to which all shifts are counted */
#define SHIFTS_SAMPLED 256u
#define SAMPLES 100u		/* random permutations */
/* The same above REPORT_MANY host ports, where each takes long and all are alike. */
#define SHIFTS_FEW 48u
#define SAMPLES_FEW 16u

uint32_t
report_host_ports(const struct check_input *in)
{
	const struct fabric *f = in->fabric;
	uint32_t len = 0;

	for (uint32_t i = 0; i < in->lids->nports; i++)
		len += in->lids->base[i] && f->nodes[f->ports[i].node].type != NODE_SWITCH;
	return len;
}

void
report_measure(const struct check_input *in, uint64_t seed, uint32_t samples,
	       struct quality_report *q)
{
	uint32_t ports = report_host_ports(in), shifts = 0;

	if (samples)
		shifts = samples;
	else if (ports > SHIFTS_ALL)
		shifts = ports > REPORT_MANY ? SHIFTS_FEW : SHIFTS_SAMPLED;
	if (!samples)
		samples = ports > REPORT_MANY ? SAMPLES_FEW : SAMPLES;
	quality_measure(in, seed, shifts, samples, q);
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
	static const char *const keys[] = {
		"shift_max", "shift_mean", "shifts", "a2a", "rp_median", "ebb", "samples",
		"shift_rated", "by_design", "by_faults", "by_drains", "by_routing", "all_links",
		"levels", "histogram",
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		jw_null(j, keys[i]);
}

/* 0 stands for one that there is not. */
static void
put_ratio(struct json *j, const char *key, double ratio)
{
	if (ratio > 0)
		jw_real(j, key, ratio);
	else
		jw_null(j, key);
}

static void
put_links(struct json *j, const char *key, const struct quality_links *k)
{
	jw_object(j, key);
	jw_uint(j, "links", k->links);
	jw_uint(j, "unused", k->unused);
	jw_uint(j, "shift_max", k->shift_max);
	jw_real(j, "load_max", k->load_max);
	jw_real(j, "load_mean", k->load_mean);
	jw_uint(j, "entries_max", k->entries_max);
	jw_real(j, "entries_mean", k->entries_mean);
	jw_end(j);
}

static void
put_levels(struct json *j, const struct quality_report *q)
{
	jw_array(j, "levels");
	for (uint32_t i = 0; i < q->nlevels; i++) {
		const struct quality_level *l = &q->level[i];

		jw_object(j, NULL);
		jw_uint(j, "level", i);
		jw_uint(j, "switches", l->switches);
		put_ratio(j, "design", l->design);
		put_ratio(j, "now", l->now);
		put_links(j, "up", &l->up);
		put_links(j, "down", &l->down);
		put_links(j, "flat", &l->flat);
		jw_end(j);
	}
	jw_end(j);
}

/* Bins that links are in; the last one has no end. */
static void
put_histogram(struct json *j, const struct quality_report *q)
{
	jw_array(j, "histogram");
	for (unsigned i = 0; i < QUALITY_BINS; i++) {
		if (!q->histogram[i])
			continue;
		jw_object(j, NULL);
		jw_real(j, "from", i * QUALITY_BIN);
		if (i + 1 < QUALITY_BINS)
			jw_real(j, "to", (i + 1) * QUALITY_BIN);
		else
			jw_null(j, "to");
		jw_uint(j, "links", q->histogram[i]);
		jw_end(j);
	}
	jw_end(j);
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
	jw_real(j, "shift_rated", q->shift_rated);
	put_ratio(j, "by_design", q->by_design);
	put_ratio(j, "by_faults", q->by_faults);
	put_ratio(j, "by_drains", q->by_drains);
	put_ratio(j, "by_routing", q->by_routing);
	put_links(j, "all_links", &q->links);
	put_levels(j, q);
	put_histogram(j, q);
}

void
report_put_faults(struct json *j, const struct plan_check *check)
{
	jw_str(j, "first", check->first);
	jw_str(j, "cycle", check->cycle);
}
