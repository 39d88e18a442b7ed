/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/sa/sa.h"
#include "tests/unit/sa_bed.h"

/*
 * ServiceRecords: registered, told, changed, run out and deleted by hosts of a subnet that is up,
 * and still there when the subnet manager was started again.
 */
#define RID (SA_BIT(SA_SERVICE_ID) | SA_BIT(SA_SERVICE_GID))
#define ALL (RID | SA_BIT(SA_SERVICE_PKEY) | SA_BIT(SA_SERVICE_LEASE) | SA_BIT(SA_SERVICE_KEY) | \
	     SA_BIT(SA_SERVICE_NAME))

static uint64_t
port_guid(const struct sa_bed *b, const char *host)
{
	const struct fabric *f = b->sm->s->plan->fabric;
	uint16_t lid = sa_bed_lid(b, host, 1);

	return f->ports[b->sm->s->plan->lids->dest[lid].port].guid;
}

static struct sa_service
service(const struct sa_bed *b, uint64_t id, uint32_t lease, const char *name)
{
	struct sa_service r = {
		.id = id, .gid = { 0xfe80000000000000, port_guid(b, "H1_0_0") }, .pkey = 0xffff,
		.lease = lease, .key = { 11 }, .data8 = { 1, 2, 3 }, .data16 = { [7] = 4 },
		.data32 = { [3] = 5 }, .data64 = { 6, 7 },
	};

	snprintf(r.name, sizeof(r.name), "%s", name);
	return r;
}

/* The status of a Set or Delete; the record goes to `r`. */
static uint16_t
change(struct sa_bed *b, uint8_t method, struct sa_service *r, uint64_t mask)
{
	assert_true(sa_bed_ask(b, method, &sa_service_type, r, mask));
	assert_int_equal(b->h.h.method, method == MAD_SET ? MAD_GET_RESP : MAD_DELETE_RESP);
	assert_int_equal(sa_service_decode(r, b->data, b->size), 0);
	return b->h.h.status;
}

static unsigned
number(struct sa_bed *b, const struct sa_service *r, uint64_t mask)
{
	return sa_bed_table(b, &sa_service_type, r, mask);
}

static void
test_life(void **state)
{
	static const uint8_t none[16];
	struct sa_bed *b = *state;
	struct sa_service r = service(b, 5, SA_LEASE_INFINITE, "one"), got = r;

	assert_int_equal(number(b, &r, 0), 0);
	assert_int_equal(sa_bed_get(b, &sa_service_type, &r, RID, &got), SA_STATUS_NO_RECORDS);
	got = r;
	assert_int_equal(change(b, MAD_SET, &got, ALL), 0);
	assert_memory_equal(got.key, none, 16);		/* told to nobody who is not trusted */
	memcpy(got.key, r.key, 16);
	sa_bed_same(&sa_service_type, &got, &r);	/* all else comes back */
	assert_int_equal(sa_bed_get(b, &sa_service_type, &r, SA_BIT(SA_SERVICE_NAME), &got), 0);
	assert_memory_equal(got.key, none, 16);
	assert_int_equal(got.data64[1], 7);
	/* The key can be asked for by who knows it. */
	assert_int_equal(number(b, &r, SA_BIT(SA_SERVICE_KEY)), 1);
	r.key[0] = 12;
	assert_int_equal(number(b, &r, SA_BIT(SA_SERVICE_KEY)), 0);
	b->key = 1;
	assert_int_equal(sa_bed_get(b, &sa_service_type, &r, RID, &got), 0);
	assert_int_equal(got.key[0], 11);
	b->key = 0;
	/* Another name: the same record. */
	r = service(b, 5, SA_LEASE_INFINITE, "two");
	assert_int_equal(change(b, MAD_SET, &r, ALL), 0);
	assert_int_equal(number(b, &r, 0), 1);
	r = service(b, 5, 0, "two");
	assert_int_equal(number(b, &r, SA_BIT(SA_SERVICE_NAME)), 1);
	/* Deleted by what names it, whatever the mask says. */
	assert_int_equal(change(b, MAD_DELETE, &r, SA_BIT(SA_SERVICE_NAME)), 0);
	assert_int_equal(r.lease, SA_LEASE_INFINITE);
	assert_int_equal(change(b, MAD_DELETE, &r, RID), SA_STATUS_NO_RECORDS);
	assert_int_equal(number(b, &r, 0), 0);
}

/* A name of 64 bytes has no end of its own: nothing behind it is read, as AddressSanitizer sees. */
static void
test_long_name(void **state)
{
	struct sa_bed *b = *state;
	struct sa_service r = service(b, 7, SA_LEASE_INFINITE, "");
	struct service_row row;
	char want[65] = "";

	memset(want, 'n', 64);
	memset(r.name, 'n', sizeof(r.name));
	memset(r.data8, 'd', sizeof(r.data8));
	assert_int_equal(change(b, MAD_SET, &r, ALL), 0);
	assert_true(sa_service_row(b->sm->s->sa, 0, &row));
	assert_string_equal(row.name, want);
}

static void
test_lease(void **state)
{
	struct sa_bed *b = *state;
	struct sa_service r = service(b, 1, 4, "short"), got;

	assert_int_equal(change(b, MAD_SET, &r, ALL), 0);
	r = service(b, 2, 10, "longer");
	assert_int_equal(change(b, MAD_SET, &r, ALL), 0);
	r = service(b, 3, 1, "no lease given");
	assert_int_equal(change(b, MAD_SET, &r, ALL & ~SA_BIT(SA_SERVICE_LEASE)), 0);
	assert_int_equal(r.lease, SA_LEASE_INFINITE);
	bed_wait(b->sm->bed, MSEC(2500));
	r = service(b, 1, 0, "");
	assert_int_equal(sa_bed_get(b, &sa_service_type, &r, RID, &got), 0);
	assert_int_equal(got.lease, 2);
	bed_wait(b->sm->bed, SEC(2));
	assert_int_equal(number(b, &r, 0), 2);
	/* A new registration is a new lease. */
	r = service(b, 2, 20, "longer");
	assert_int_equal(change(b, MAD_SET, &r, ALL), 0);
	bed_wait(b->sm->bed, SEC(10));
	assert_int_equal(number(b, &r, 0), 2);
	bed_wait(b->sm->bed, SEC(10));
	assert_int_equal(number(b, &r, 0), 1);
	sa_bed_record(b, &sa_service_type, 0, &got);
	assert_int_equal(got.id, 3);
}

static void
test_refused(void **state)
{
	struct sa_bed *b = *state;
	struct sa_service r = service(b, 1, 4, "x");

	assert_int_equal(change(b, MAD_SET, &r, ALL & ~SA_BIT(SA_SERVICE_ID)), SA_STATUS_INVALID);
	assert_int_equal(change(b, MAD_SET, &r, SA_BIT(SA_SERVICE_ID)), SA_STATUS_INVALID);
	r = service(b, 1, 4, "x");
	r.pkey = 0x8001;				/* no such partition */
	assert_int_equal(change(b, MAD_SET, &r, ALL), SA_STATUS_INVALID);
	r = service(b, 1, 4, "x");
	r.gid.guid = 0xdead;				/* no such port */
	assert_int_equal(change(b, MAD_SET, &r, ALL), SA_STATUS_INVALID);
	assert_int_equal(number(b, &r, 0), 0);
	/* A P_Key that is not given is the default one. */
	r = service(b, 1, 4, "x");
	r.pkey = 0;
	assert_int_equal(change(b, MAD_SET, &r, RID), 0);
	assert_int_equal(r.pkey, 0xffff);
	r.pkey = 0;
	assert_int_equal(change(b, MAD_DELETE, &r, RID), 0);
}

/* Others can do nothing to a record but with its key. */
static void
test_others(void **state)
{
	struct sa_bed *b = *state;
	uint32_t other = bed_node(b->sm->bed, "H2_0_0"), mine = b->node;
	struct port_events ev = { .receive = sa_bed_receive, .state = sa_bed_state, .arg = b };
	struct port *ours = b->port, *theirs;
	struct sa_service r = service(b, 1, 100, "mine");
	struct error e;

	assert_int_equal(change(b, MAD_SET, &r, ALL), 0);
	assert_int_equal(direct_open(&theirs, b->sm->bed->m, other, 1, &ev, &e), 0);
	bed_wait(b->sm->bed, MSEC(10));
	b->port = theirs;
	b->node = other;
	r = service(b, 1, 100, "stolen");
	r.key[0] = 12;
	assert_int_equal(change(b, MAD_SET, &r, ALL), SA_STATUS_DENIED);
	r = service(b, 1, 100, "");
	r.key[0] = 0;
	assert_int_equal(change(b, MAD_DELETE, &r, RID), SA_STATUS_DENIED);
	r = service(b, 1, 100, "mine");
	assert_int_equal(number(b, &r, SA_BIT(SA_SERVICE_NAME)), 1);
	assert_int_equal(change(b, MAD_DELETE, &r, ALL), 0);
	b->port = ours;
	b->node = mine;
	port_close(theirs);
}

static void
test_limit(void **state)
{
	struct sa_bed *b = *state;
	struct sa_service r;

	for (unsigned i = 0; i < SA_SERVICES_PER_PORT; i++) {
		r = service(b, i, SA_LEASE_INFINITE, "many");
		assert_int_equal(change(b, MAD_SET, &r, ALL), 0);
	}
	r = service(b, SA_SERVICES_PER_PORT, 1, "one more");
	assert_int_equal(change(b, MAD_SET, &r, ALL), SA_STATUS_NO_RESOURCES);
	r = service(b, 7, 1, "changed");		/* is no more than there were */
	assert_int_equal(change(b, MAD_SET, &r, ALL), 0);
	r = service(b, 8, 1, "");
	assert_int_equal(change(b, MAD_DELETE, &r, ALL), 0);
	r = service(b, SA_SERVICES_PER_PORT, 1, "one more");
	assert_int_equal(change(b, MAD_SET, &r, ALL), 0);
	assert_int_equal(number(b, &r, 0), SA_SERVICES_PER_PORT);
}

static void
test_restart(void **state)
{
	struct sa_bed *b = *state;
	struct sa_service r = service(b, 1, SA_LEASE_INFINITE, "stays"), got;

	assert_int_equal(change(b, MAD_SET, &r, ALL), 0);
	r = service(b, 2, 60, "runs on");
	assert_int_equal(change(b, MAD_SET, &r, ALL), 0);
	r = service(b, 3, 60, "goes");
	assert_int_equal(change(b, MAD_SET, &r, ALL), 0);
	assert_int_equal(change(b, MAD_DELETE, &r, ALL), 0);
	r = service(b, 4, 5, "runs out meanwhile");
	assert_int_equal(change(b, MAD_SET, &r, ALL), 0);
	bed_stop(b->sm);
	store_put(b->sm->store, STORE_CLIENTS, "default service 00", "rubbish");
	store_put(b->sm->store, STORE_CLIENTS, "default nothing 00", "");
	store_put(b->sm->store, STORE_CLIENTS, "other service 00", "not ours");
	store_commit(b->sm->store, NULL, NULL);
	bed_wait(b->sm->bed, SEC(10));
	bed_start(b->sm);
	assert_int_equal(bed_run(b->sm, SEC(10)), 1);
	assert_true(bed_quiet(b->sm, SEC(10)));
	assert_int_equal(number(b, &r, 0), 2);
	r = service(b, 2, 0, "");
	assert_int_equal(sa_bed_get(b, &sa_service_type, &r, RID, &got), 0);
	assert_true(got.lease >= 40 && got.lease <= 51);
	assert_string_equal(got.name, "runs on");
	assert_int_equal(got.data32[3], 5);
	r = service(b, 1, 0, "");
	assert_int_equal(number(b, &r, SA_BIT(SA_SERVICE_ID) | SA_BIT(SA_SERVICE_KEY)), 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_life, sa_bed_setup, sa_bed_teardown),
		cmocka_unit_test_setup_teardown(test_long_name, sa_bed_setup, sa_bed_teardown),
		cmocka_unit_test_setup_teardown(test_lease, sa_bed_setup, sa_bed_teardown),
		cmocka_unit_test_setup_teardown(test_refused, sa_bed_setup, sa_bed_teardown),
		cmocka_unit_test_setup_teardown(test_others, sa_bed_setup, sa_bed_teardown),
		cmocka_unit_test_setup_teardown(test_limit, sa_bed_setup, sa_bed_teardown),
		cmocka_unit_test_setup_teardown(test_restart, sa_bed_setup, sa_bed_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
