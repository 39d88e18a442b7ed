/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_ADAPTIVE_BED_H
#define TESTS_ADAPTIVE_BED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "sim/model/ar.h"
#include "tests/unit/core_bed.h"

/* A bed whose switches route adaptively, engine fattree, and what is written there. */
#define BOUND SEC(60)
#define VENDOR 0x2c9u

/* A fabric whose switches are all of the vendor's, and know what `features` says. */
static inline struct bed_sm *
adaptive_bed(const char *recipe, const char *features)
{
	static const char *fattree[] = { "fattree", NULL };
	struct ar_options ar = ar_options_default;
	struct error e = { 0 };
	struct bed *b;
	struct bed_sm *sm;

	assert_int_equal(ar_options_parse(&ar, features, &e), 0);
	ar.all_switches = true;
	b = bed_new_options(recipe, 11, &(struct model_options){ .ar = &ar });
	for (uint32_t i = 0; i < b->net->nnodes; i++)
		b->net->nodes[i].vendor_id = VENDOR;
	sm = bed_sm(b, bed_next(b, IBNET_CA, 0), 1);
	sm->conf.routing.engines = fattree;
	sm->conf.routing.adaptive = CONFIG_ADAPTIVE_ON;
	return sm;
}

static inline void
rest(struct bed_sm *sm)
{
	if (!bed_quiet(sm, BOUND))
		fail_msg("it does not come to rest: %s", sm->why);
}

static inline void
up(struct bed_sm *sm)
{
	bed_start(sm);
	if (bed_run(sm, BOUND) != 1)
		fail_msg("%s", sm->why);
	rest(sm);
}

/* Sets that left, by the lower byte of vendor attributes; [0]: of plain tables. */
struct sets {
	unsigned of[256];
};

static inline bool
count_sets(struct bed_sm *sm, struct port_mad *m)
{
	struct sets *n = sm->arg;
	unsigned attr = (unsigned)m->mad[16] << 8 | m->mad[17];

	if (m->mad[3] == MAD_SET && attr >= 0xff00)
		n->of[attr & 0xff]++;
	else if (m->mad[3] == MAD_SET && attr == ATTR_LINEAR_FDB)
		n->of[0]++;
	return true;
}

static inline unsigned
sets(const struct sets *n, unsigned attr)
{
	return n->of[attr == ATTR_LINEAR_FDB ? 0 : attr & 0xff];
}

#endif
