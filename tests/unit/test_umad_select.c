/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The choice among several ports of a machine, and the words that name one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "sm/port/umad.h"
#include "sm/port/umad_select.h"

static const struct umad_candidate ports[] = {
	{ "bnxt_re0", 1, 0x1, 4, 5, true },
	{ "bnxt_re1", 1, 0x2, 4, 5, true },
	{ "mlx5_0", 1, 0x3, 1, 3, false },
	{ "mlx5_1", 1, 0x4, 2, 5, false },
	{ "mlx5_1", 2, 0x5, 4, 5, false },
};

static int
choose(const char *selector, unsigned first, unsigned len, const char *word)
{
	struct umad_selector s;
	char why[500] = "";
	int i;

	assert_int_equal(umad_selector_parse(&s, selector, NULL), 0);
	i = umad_select(&s, ports + first, len, why, sizeof(why));
	if (!strstr(why, word))
		fail_msg("\"%s\" lacks \"%s\"", why, word);
	return i < 0 ? i : i + (int)first;
}

static void
test_selection(void **state)
{
	(void)state;
	/* Ethernet first in the alphabet, then a port that is down. */
	assert_int_equal(choose("auto", 0, 5, "GUID 0x0000000000000004, the first"), 3);
	assert_int_equal(choose("auto", 0, 5, "first InfiniBand port"), 3);
	assert_int_equal(choose("auto", 0, 5, "bnxt_re0:1 (Ethernet)"), 3);
	assert_int_equal(choose("auto", 0, 5, "mlx5_1:2 (up)"), 3);
	assert_int_equal(choose("auto", 0, 5, "mlx5_0:1 (down, disabled)"), 3);
	assert_int_equal(choose("mlx5_1:2", 0, 5, "as configured"), 4);
	assert_int_equal(choose("mlx5_1", 0, 5, "as configured"), 3);
	assert_int_equal(choose("0x0000000000000005", 0, 5, "as configured"), 4);
	assert_int_equal(choose("0x5", 0, 5, "GUID 0x0000000000000005"), 4);

	assert_int_equal(choose("auto", 0, 0, "no InfiniBand device"), UMAD_ABSENT);
	assert_int_equal(choose("auto", 0, 2, "bnxt_re1:1 (Ethernet)"), UMAD_ABSENT);
	assert_int_equal(choose("bnxt_re0:1", 0, 5, "Ethernet"), UMAD_ABSENT);
	assert_int_equal(choose("auto", 0, 3, "no InfiniBand port is up"), UMAD_DOWN);
	assert_int_equal(choose("mlx5_0", 0, 5, "mlx5_0:1 is down"), UMAD_DOWN);
	assert_int_equal(choose("mlx5_9", 0, 5, "\"mlx5_9\" does not exist"), UMAD_ABSENT);
	assert_int_equal(choose("mlx5_0:2", 0, 5, "does not exist"), UMAD_ABSENT);
	assert_int_equal(choose("0x77", 0, 5, "does not exist"), UMAD_ABSENT);
}

static void
test_selectors(void **state)
{
	static const char *const wrong[] = {
		"", ":", ":1", "mlx5_0:", "mlx5_0:0", "mlx5_0:255", "mlx5_0:1x", "mlx5_0:1:2",
		"../etc", "mlx5 0", "a_name_longer_than_any_device_has", "mlx5_0:-1",
	};
	struct umad_selector s;
	struct error e;

	(void)state;
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(umad_selector_parse(&s, wrong[i], &e), ERR_INVALID);
		assert_non_null(strstr(e.text, "expected \"auto\""));
	}
	assert_null(umad_port_new(NULL, "mlx5_0:0", NULL, &e));
	assert_int_equal(e.code, ERR_INVALID);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_selection),
		cmocka_unit_test(test_selectors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
