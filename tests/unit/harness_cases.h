/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_HARNESS_CASES_H
#define TESTS_HARNESS_CASES_H

/*
 * What the harness has found, as it was left of a schedule when it was made as small as it still
 * failed; each is run first, and by its name alone with `test_harness --case NAME`.
 */
static const struct {
	const char *name;	/* what was wrong */
	const char *text;	/* the schedule */
} harness_cases[] = {
	{ "nothing", "ft2 3 2 2; seed=1 sms=1 lmc=0 engine=3 levels=0 tenants=0 sweep=10" },
};
#define HARNESS_CASES (sizeof(harness_cases) / sizeof(harness_cases[0]))

#endif
