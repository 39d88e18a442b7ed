/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rows that another manager changes, as a store that managers share tells of them: what they are
 * about is changed in memory as it would be after a restart, and a row that is told of twice, or is
 * no row, changes nothing.
 */
#include "tests/unit/member_bed.h"
#include "sm/core/subnet_i.h"
#include "sm/sa/sa.h"

#define ROWS 64

struct row {
	enum store_table table;
	char key[160];
	char value[600];
};

struct rows {
	struct row list[ROWS];
	unsigned len;
	enum store_table table;		/* that is read */
};

static void
add_row(void *arg, const char *key, const char *value)
{
	struct rows *r = arg;
	struct row *to = &r->list[r->len++];

	assert_true(r->len <= ROWS);
	to->table = r->table;
	snprintf(to->key, sizeof(to->key), "%s", key);
	snprintf(to->value, sizeof(to->value), "%s", value);
}

/* What the store has of clients and groups. */
static void
read_rows(struct sa_bed *b, struct rows *r)
{
	static const enum store_table tables[] = { STORE_CLIENTS, STORE_GROUPS };

	r->len = 0;
	for (unsigned i = 0; i < 2; i++) {
		r->table = tables[i];
		assert_int_equal(store_scan(b->sm->store, tables[i], add_row, r, NULL), 0);
	}
}

static void
take(struct sa_bed *b, const struct row *r, bool gone)
{
	beyond_take(b->sm->s, r->table, r->key, gone ? NULL : r->value);
}

static unsigned
services(struct sa_bed *b)
{
	struct sa_service want = { 0 };

	return sa_bed_table(b, &sa_service_type, &want, 0);
}

static unsigned
members(struct sa_bed *b)
{
	struct sa_member want = { 0 };
	unsigned n;

	b->key = 1;
	n = sa_bed_table(b, &sa_member_type, &want, 0);
	b->key = 0;
	return n;
}

static void
leave_all(struct sa_bed *b)
{
	static const struct sa_gid mgid = { UINT64_C(0xff12401bffff0000), 7 };
	struct sa_service v = {
		.id = 5, .gid = gid_of(b), .pkey = 0xffff, .lease = 1000,
		.name = "one",
	};
	struct sa_inform_info i = {
		.lid_first = 0xffff, .generic = 1, .subscribe = 1, .type = 0xffff, .trap = 0xffff,
		.producer = 0xffffff,
	};
	struct sa_member m;

	assert_true(sa_bed_ask(b, MAD_SET, &sa_service_type, &v,
			       SA_BIT(SA_SERVICE_ID) | SA_BIT(SA_SERVICE_GID) |
			       SA_BIT(SA_SERVICE_LEASE) | SA_BIT(SA_SERVICE_NAME)));
	assert_int_equal(b->h.h.status, 0);
	assert_true(sa_bed_ask(b, MAD_SET, &sa_inform_info_type, &i, 0));
	assert_int_equal(b->h.h.status, 0);
	assert_int_equal(join(b, &mgid, SA_JOIN_FULL, &m), 0);
}

static void
test_clients(void **state)
{
	struct sa_bed b;
	struct rows r, again;

	(void)state;
	sa_bed_up(&b, "ft3 4", "H1_0_0");
	leave_all(&b);
	read_rows(&b, &r);
	assert_int_equal(r.len, 4);	/* a service, a subscription, a group, a member */
	for (unsigned i = r.len; i-- > 0;)
		take(&b, &r.list[i], true);
	assert_int_equal(services(&b), 0);
	assert_int_equal(sa_subscriptions(b.sm->s->sa), 0);
	assert_int_equal(members(&b), 0);
	for (unsigned twice = 0; twice < 2; twice++) {
		for (unsigned i = 0; i < r.len; i++)
			take(&b, &r.list[i], false);
		assert_int_equal(services(&b), 1);
		assert_int_equal(sa_subscriptions(b.sm->s->sa), 1);
		assert_int_equal(members(&b), 1);
	}
	for (unsigned i = 0; i < r.len; i++)
		store_put(b.sm->store, r.list[i].table, r.list[i].key, r.list[i].value);
	store_commit(b.sm->store, NULL, NULL);
	/* What was taken is what a restart reads. */
	bed_stop(b.sm);
	bed_start(b.sm);
	assert_int_equal(bed_run(b.sm, SEC(10)), 1);
	assert_true(bed_quiet(b.sm, SEC(10)));
	assert_int_equal(services(&b), 1);
	read_rows(&b, &again);
	assert_int_equal(again.len, r.len);
	sa_bed_free(&b);
}

static void
test_rubbish(void **state)
{
	static const char *const keys[] = {
		"default service 00", "default service", "default inform zz", "default guid 1",
		"default guid 100009 4", "default nothing", "default ", "other service 00",
		"default ff12401bffff00000000000000000007", "default ff12 1", "default/member/a",
		"default/partition/", "default/names/a/b", "default 0x1", "drained default",
		"sls default", "drained other",
	};
	static const char *const values[] = { NULL, "", "rubbish", "0 0 0", "0x=1 2", "ffffffff" };
	struct sa_bed b;
	struct rows r;

	(void)state;
	sa_bed_up(&b, "ft3 4", "H1_0_0");
	leave_all(&b);
	read_rows(&b, &r);
	for (enum store_table t = 0; t < STORE_TABLES; t++)
		for (unsigned k = 0; k < sizeof(keys) / sizeof(keys[0]); k++)
			for (unsigned v = 0; v < sizeof(values) / sizeof(values[0]); v++)
				if (t != STORE_GROUPS || k != 8)
					beyond_take(b.sm->s, t, keys[k], values[v]);
	assert_int_equal(services(&b), 1);
	assert_int_equal(sa_subscriptions(b.sm->s->sa), 1);
	assert_int_equal(members(&b), 1);
	sa_bed_free(&b);
}

static void
test_others(void **state)
{
	struct sa_bed b;
	struct subnet *s;
	struct part_row *p;

	(void)state;
	sa_bed_up(&b, "ft3 4", "H1_0_0");
	s = b.sm->s;
	beyond_take(s, STORE_LIDS, "default 0x00000000000abcde", "77 0 1700000000");
	assert_true(lids_known(s, 0xabcde));
	beyond_take(s, STORE_META, "drained default", "0x0000000000000001=asked,isolate,1");
	assert_int_equal(s->drains.len, 1);
	beyond_take(s, STORE_META, "drained default", NULL);
	assert_int_equal(s->drains.len, 0);
	beyond_take(s, STORE_META, "sls default", "minhop 1 0x0001 0x0000");
	assert_string_equal(s->given.engine, "minhop");
	beyond_take(s, STORE_PARTITIONS, "default/partition/a", "0x0042");
	beyond_take(s, STORE_PARTITIONS, "default/member/a/0x0000000000000007", "full");
	p = part_rows_find(&s->parts.rows, "a");
	assert_non_null(p);
	assert_int_equal(p->pkey, 0x42);
	assert_int_equal(p->nmembers, 1);
	beyond_take(s, STORE_PARTITIONS, "default/member/a/0x0000000000000007", NULL);
	assert_int_equal(part_rows_find(&s->parts.rows, "a")->nmembers, 0);
	beyond_take(s, STORE_PARTITIONS, "default/partition/a", NULL);
	assert_null(part_rows_find(&s->parts.rows, "a"));
	assert_true(bed_quiet(b.sm, SEC(10)));
	sa_bed_free(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clients),
		cmocka_unit_test(test_rubbish),
		cmocka_unit_test(test_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
