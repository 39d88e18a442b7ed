/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "sm/base/mem.h"
#include "tests/unit/core_bed.h"

/* Discovery and bring-up of whole fabrics, in order and with every kind of fault. */

static void
up(const char *fabric, uint64_t seed)
{
	struct bed_sm *sm = bed_up(fabric, seed);

	if (bed_run(sm, SEC(30)) != 1)
		fail_msg("%s: %s", fabric, sm->why);
	bed_check(sm);
	bed_free(sm->bed);
}

static void
test_bring_up(void **state)
{
	(void)state;
	up("ft3 4", 1);
	up("ft3 8", 2);
	up("ft2 4 2 4 2", 3);
	up("torus 4 4 4 2", 4);
	up("mesh 3 3 1 2", 5);
	up("dragonfly 4 2 2 9", 6);
	up("random 20 4 3 7", 7);
	up("random 40 3 2 8", 8);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bring_up),
	};

	return cmocka_run_group_tests_name("core_discovery", tests, NULL, NULL);
}
