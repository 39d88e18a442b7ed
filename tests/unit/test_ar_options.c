/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sim/model/ar.h"
#include "sim/control/sim.h"

/* What adaptive switches can, as text, and the commands that look at them. */
static const char fabric[] =
	"switchguid=0xa0\nSwitch 4 \"A\"\n[1] \"h1\"[1]\n\ncaguid=0x10\nCa 1 \"h1\"\n";

static void
refused(const char *text, const char *want)
{
	struct ar_options o = ar_options_default;
	struct error e = { 0 };

	assert_int_equal(ar_options_parse(&o, text, &e), ERR_INVALID);
	assert_string_equal(e.text, want);
	assert_memory_equal(&o, &ar_options_default, sizeof(o));
}

static void
test_options(void **state)
{
	struct ar_options o = ar_options_default;

	(void)state;
	assert_memory_equal(&o.layout, &ar_layout_default, sizeof(o.layout));
	assert_int_equal(ar_options_parse(&o, "features=fr+plft,group_cap=4095,sub_groups_cap=1,"
					  "glb_groups=no,plft_shift=24,group_table_shift=16,"
					  "group_tables=3,plfts=36,group_top=no", NULL), 0);
	assert_int_equal(o.support.features, AR_GENERAL | AR_ADAPTIVE | AR_RECOVERY | AR_PLFT);
	assert_int_equal(o.support.group_cap, 4095);
	assert_int_equal(o.support.group_tables, 3);
	assert_int_equal(o.support.sub_groups_cap, 1);
	assert_int_equal(o.support.plfts, 36);
	assert_false(o.support.glb_groups || o.support.group_top);
	assert_true(o.support.lft_leaves);
	assert_int_equal(o.layout.gen_plft_shift, 24);
	assert_int_equal(ar_options_parse(&o, "features=none", NULL), 0);
	assert_int_equal(o.support.features, 0);
	refused("features=ar+all+rain",
		"features=rain: expected general, ar, fr, copy, calc, plft, rn, hbf, pfrn, all "
		"or none");
	assert_int_equal(ar_options_parse(&o, "switches=all", NULL), 0);
	assert_true(o.all_switches);
	refused("switches=some", "switches=some: expected all or vendor");
	refused("plfts=37", "plfts=37: expected a number from 1 to 36");
	refused("glb_groups=1", "glb_groups=1: expected yes or no");
	refused("plfts=2,plft_shift=3", "lft_plft_shift=3: expected a number from 12 to 24");
}

/* What is printed reads back as the same. */
static void
test_print(void **state)
{
	struct ar_options o = ar_options_default, again;
	struct buf b = { 0 };

	(void)state;
	assert_int_equal(ar_options_parse(&o, "features=fr+pfrn,group_cap=7,plfts=3,group_tables=9,"
					  "sub_groups_cap=11,lft_leaves=no", NULL), 0);
	ar_support_print(&b, &o.support);
	again = ar_options_default;
	assert_int_equal(ar_options_parse(&again, b.data, NULL), 0);
	assert_memory_equal(&o, &again, sizeof(o));
	buf_clear(&b);
	o.support.features = 0;
	ar_support_print(&b, &o.support);
	assert_int_equal(ar_options_parse(&again, b.data, NULL), 0);
	assert_int_equal(again.support.features, 0);
	buf_free(&b);
}

/* ---- Commands ---- */

static void
says(struct sim *s, const char *line, const char *want)
{
	struct buf b = { 0 };
	struct error e = { 0 };
	int rc = sim_command(s, line, &b, &e);

	assert_string_equal(rc < 0 ? e.text : b.data ? b.data : "", want);
	buf_free(&b);
}

static void
test_commands(void **state)
{
	struct loop *l = loop_new_virtual(1);
	struct ibnet *net;
	struct sim *s;

	(void)state;
	assert_int_equal(ibnet_parse(&net, fabric, strlen(fabric), "net", NULL), 0);
	assert_int_equal(sim_new(&s, l, net, NULL, NULL), 0);
	says(s, "ar A", "A does not route adaptively; \"ar-support\" makes it do so");
	says(s, "ar-support h1 on", "h1 is no switch");
	says(s, "ar-support A on,plfts=2", "\"on\": no such choice of the adaptive-routing layout");
	says(s, "ar-support A calc_bit=30",
	     "the layout of attributes is one for the whole fabric, chosen when it starts");
	says(s, "ar-support A features=fr,plfts=2", "");
	says(s, "ar A",
	     "adaptive   off, fast recovery off, notifications off\n"
	     "groups     up to 0 of 2048, SubGrpsActive 0\n"
	     "transports UD RC UC DC\n"
	     "memory     0 bytes of tables\n"
	     "support    features=general+ar+fr,group_cap=2048,group_tables=1,sub_groups_cap=2,"
	     "plfts=2,glb_groups=yes,group_top=yes,lft_leaves=yes\n");
	says(s, "ar A lid 7", "LID 7: static, static port none, group 0\ngroup 0.0: none\n");
	says(s, "ar A group 5", "group 5.0: none\n");
	says(s, "ar A group", "ar NODE group needs a number");
	says(s, "ar A group 4096", "a group is a number from 0 to 4095, not \"4096\"");
	says(s, "ar-support A off", "");
	says(s, "ar A", "A does not route adaptively; \"ar-support\" makes it do so");
	sim_free(s);
	loop_free(l);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_print),
		cmocka_unit_test(test_commands),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
