/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_PARTITION_BED_H
#define TESTS_PARTITION_BED_H

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "tests/unit/core_bed.h"
#include "tests/unit/core_tap.h"
#include "tests/unit/conf_help.h"

/* What tests of partitions in a live subnet share: one with what a file says, commands and their
 * answers, and what hosts hold. */
#define BOUND SEC(20)
#define NOBODY UINT64_C(0x00abcdef00000001)

struct outcome {
	bool done;			/* the answer came */
	int error;			/* its code */
	char text[1700];		/* its sentence */
	struct partition_report report;	/* if there was no error; without its list */
	struct partition_access first;	/* of the list */
};

static inline struct bed_sm *
live_options(const char *fabric, const struct model_options *o)
{
	struct bed *b = bed_new_options(fabric, 1, o);
	struct bed_sm *sm = bed_sm(b, bed_next(b, IBNET_CA, 0), 1);

	sm->conf.sweep_interval = 0;
	return sm;
}

/* With what a file says; "" for nothing. */
static inline void
start(struct bed_sm *sm, const char *file)
{
	struct config *conf = parse_ok(file);

	bed_start(sm);
	subnet_set_policy(sm->s, conf);
	config_free(conf);
	assert_int_equal(bed_run(sm, BOUND), 1);
	assert_true(bed_quiet(sm, BOUND));
}

static inline struct bed_sm *
live(const char *fabric, const char *file)
{
	struct bed_sm *sm = live_options(fabric, &(struct model_options){ 0 });

	start(sm, file);
	model_count_reset(sm->bed->m);
	return sm;
}

static inline void
on_answer(void *arg, int error, const char *text, const struct partition_report *report)
{
	struct outcome *o = arg;

	assert_false(o->done);
	o->done = true;
	o->error = error;
	snprintf(o->text, sizeof(o->text), "%s", text);
	if (!report)
		return;
	o->report = *report;
	o->report.list = NULL;
	if (report->len)
		o->first = report->list[0];
}

static inline void
ask(struct bed_sm *sm, const struct partition_change *c, struct outcome *o)
{
	struct error e = { 0 };
	int rc;

	memset(o, 0, sizeof(*o));
	rc = subnet_partition(sm->s, c, on_answer, o, &e);
	if (rc)
		on_answer(o, rc, e.text, NULL);
}

static inline void
await(struct bed_sm *sm, struct outcome *o)
{
	loop_run_until(sm->bed->loop, loop_now(sm->bed->loop) + BOUND, &o->done);
	assert_true(o->done);
}

static inline void
change(struct bed_sm *sm, const struct partition_change *c, int error, struct outcome *o)
{
	ask(sm, c, o);
	await(sm, o);
	if (o->error != error)
		fail_msg("%s: %s", error_name(o->error), o->text);
}

static inline uint64_t
port_guid(const struct bed *b, const char *host)
{
	return b->net->nodes[bed_node(b, host)].ports[1].guid;
}

static inline struct part_member
member(const struct bed *b, const char *host, unsigned membership)
{
	return (struct part_member){ .guid = port_guid(b, host),
				     .membership = (uint8_t)membership };
}

static inline unsigned
key_at(const struct bed *b, const char *host, unsigned index)
{
	return model_pkey(b->m, bed_node(b, host), 1, index);
}

static inline bool
has_key(const struct bed *b, const char *host, unsigned key)
{
	for (unsigned i = 0; i < 32; i++)
		if (key_at(b, host, i) == key)
			return true;
	return false;
}

static inline uint64_t
written(const struct bed *b)
{
	return bed_count(b, MAD_SET, ATTR_P_KEY_TABLE);
}

#define CHANGE(k, n, ...) \
	(&(struct partition_change){ .kind = PARTITION_##k, .name = (n), __VA_ARGS__ })

#endif
