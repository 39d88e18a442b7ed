/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_CONF_HELP_H
#define TESTS_CONF_HELP_H

#include <string.h>

#include <cmocka.h>

#include "sm/base/buf.h"
#include "sm/conf/config.h"
#include "sm/conf/option.h"

/* For tests of the configuration: texts that must be taken, or refused with a sentence; what
 * differs between two. Include it behind what cmocka.h needs. */
static inline struct config *
parse(const char *text, struct error *e)
{
	e->text[0] = '\0';
	return config_parse(text, strlen(text), "t.yaml", e);
}

static inline struct config *
parse_ok(const char *text)
{
	struct error e;
	struct config *c = parse(text, &e);

	if (!c)
		fail_msg("%s\n%s", e.text, text);
	return c;
}

static inline void
expect_error(const char *text, const char *message)
{
	struct error e;
	struct config *c = parse(text, &e);

	config_free(c);
	if (c)
		fail_msg("accepted: %s", text);
	assert_string_equal(e.text, message);
}

/* A config_diff_fn: a line for each difference, into a struct buf. */
static inline void
collect(void *arg, const char *option, const char *old_value, const char *new_value,
	enum config_stage stage)
{
	buf_printf(arg, "%s %s -> %s (%s)\n", option, old_value, new_value, option_stage(stage));
}

static inline void
expect_diff(const char *old, const char *new, enum config_stage stage, const char *report)
{
	struct config *a = parse_ok(old), *b = parse_ok(new);
	struct buf got = { 0 };

	assert_int_equal(config_diff(a, b, collect, &got), stage);
	assert_int_equal(config_diff(a, b, NULL, NULL), stage);
	assert_string_equal(got.data ? got.data : "", report);
	buf_free(&got);
	config_free(a);
	config_free(b);
}

#endif
