/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/sa/sa.h"
#include "tests/unit/sa_bed.h"
#include "tests/unit/core_tap.h"

/*
 * Subscriptions to events and the Reports that come of them: a host of a subnet that is up
 * subscribes, events happen, and what it is sent is counted by trap, repeats of one Report too.
 */
#define TRAPS 512
#define GROUP (SA_BIT(SA_MEMBER_MGID) | SA_BIT(SA_MEMBER_PORT_GID) | \
	       SA_BIT(SA_MEMBER_JOIN_STATE) | \
	       SA_BIT(SA_MEMBER_QKEY) | SA_BIT(SA_MEMBER_TCLASS) | SA_BIT(SA_MEMBER_PKEY) | \
	       SA_BIT(SA_MEMBER_FLOW_LABEL) | SA_BIT(SA_MEMBER_SL) | SA_BIT(SA_MEMBER_PROXY_JOIN))

struct desk {
	struct sa_bed sa;		/* asks as usual */
	unsigned reports[TRAPS];	/* by trap: Reports, */
	unsigned repeats;		/* and those that came before */
	uint64_t tids[4096];		/* of the Reports so far */
	unsigned ntids;			/* how many */
	struct sa_notice last;		/* of the newest */
	bool deaf;			/* answers no Report */
};

static bool
is_repeat(struct desk *d, uint64_t tid)
{
	for (unsigned i = 0; i < d->ntids; i++)
		if (d->tids[i] == tid)
			return true;
	assert_true(d->ntids < 4096);
	d->tids[d->ntids++] = tid;
	return false;
}

static void
take_report(struct desk *d, const struct port_mad *in, struct sa_header *h)
{
	struct port_mad out = { 0 };

	assert_int_equal(h->h.attr_id, SA_NOTICE);
	assert_int_equal(sa_notice_decode(&d->last, in->mad + SA_HEADER_SIZE, 80), 0);
	if (is_repeat(d, h->h.tid))
		d->repeats++;
	else
		d->reports[d->last.n.trap % TRAPS]++;
	if (d->deaf)
		return;
	port_answer_to(&out, in);
	memcpy(out.mad, in->mad, MAD_SIZE);
	h->h.method = MAD_REPORT_RESP;
	sa_header_encode(h, out.mad);
	assert_int_equal(port_send(d->sa.port, &out), 0);
}

static void
receive(void *arg, const struct port_mad *m)
{
	struct desk *d = arg;
	struct sa_header h;

	if (m->status)
		return;
	assert_int_equal(sa_header_decode(&h, port_mad_bytes(m), port_mad_len(m)), 0);
	if (h.h.method == MAD_REPORT)
		take_report(d, m, &h);
	else
		sa_bed_receive(&d->sa, m);
}

static int
setup(void **state)
{
	struct desk *d = calloc(1, sizeof(*d));
	struct port_events ev = { .receive = receive, .state = sa_bed_state, .arg = d };
	struct error e;

	assert_non_null(d);
	sa_bed_up(&d->sa, "ft3 4", "H1_0_0");
	port_close(d->sa.port);
	assert_int_equal(direct_open(&d->sa.port, d->sa.sm->bed->m, d->sa.node, 1, &ev, &e), 0);
	bed_wait(d->sa.sm->bed, MSEC(10));
	*state = d;
	return 0;
}

static int
teardown(void **state)
{
	struct desk *d = *state;

	sa_bed_free(&d->sa);
	free(d);
	return 0;
}

static struct sa_inform_info
info(uint16_t trap)
{
	return (struct sa_inform_info){
		.lid_first = SA_INFORM_ALL_LIDS, .generic = 1, .subscribe = 1,
		.type = SA_INFORM_ALL_TYPES, .trap = trap, .producer = SA_INFORM_ALL_PRODUCERS,
	};
}

static uint16_t
set(struct desk *d, const struct sa_inform_info *i)
{
	struct sa_inform_info back;

	assert_true(sa_bed_ask(&d->sa, MAD_SET, &sa_inform_info_type, i, 0));
	assert_int_equal(d->sa.h.h.method, MAD_GET_RESP);
	assert_int_equal(sa_inform_info_decode(&back, d->sa.data, d->sa.size), 0);
	if (d->sa.h.h.status)
		assert_int_equal(back.subscribe, 0);
	else
		sa_bed_same(&sa_inform_info_type, &back, i);
	return d->sa.h.h.status;
}

static unsigned
number(struct desk *d)
{
	struct sa_inform r = { 0 };

	return sa_bed_table(&d->sa, &sa_inform_type, &r, 0);
}

static uint16_t
unsubscribe(struct desk *d, struct sa_inform_info i)
{
	i.subscribe = 0;
	i.qpn = 1;
	return set(d, &i);
}

static const struct sa_report_counters *
counters(const struct desk *d)
{
	return sa_report_counters(d->sa.sm->s->sa);
}

static void
test_records(void **state)
{
	struct desk *d = *state;
	struct sa_inform_info one = info(64), two = info(SA_INFORM_ALL_TRAPS);
	struct sa_inform r = { 0 };
	const struct sa_type *t = &sa_inform_type;

	assert_int_equal(number(d), 0);
	assert_int_equal(set(d, &one), 0);
	assert_int_equal(number(d), 1);
	one.resp_time = 7;
	assert_int_equal(set(d, &one), 0);		/* the same again */
	assert_int_equal(number(d), 1);
	assert_int_equal(set(d, &two), 0);
	assert_int_equal(number(d), 2);
	sa_bed_record(&d->sa, t, 0, &r);
	assert_int_equal(r.number, 0);
	assert_int_equal(r.info.resp_time, 7);
	assert_int_equal(r.info.qpn, 0);		/* for those whom we trust */
	sa_bed_record(&d->sa, t, 1, &r);
	assert_int_equal(r.number, 1);
	assert_int_equal(r.info.trap, SA_INFORM_ALL_TRAPS);
	d->sa.key = 1;
	assert_int_equal(sa_bed_get(&d->sa, t, &r, SA_BIT(SA_INFORM_SUBSCRIBER_GID) |
				    SA_BIT(SA_INFORM_ENUM), &r), 0);
	assert_int_equal(r.info.qpn, 1);
	d->sa.key = 0;
	r.subscriber.guid++;
	assert_int_equal(sa_bed_table(&d->sa, t, &r, SA_BIT(SA_INFORM_SUBSCRIBER_GID)), 0);
	/* The number of one that is gone is given again. */
	assert_int_equal(unsubscribe(d, one), 0);
	one = info(65);
	assert_int_equal(set(d, &one), 0);
	assert_int_equal(number(d), 2);
	sa_bed_record(&d->sa, t, 0, &r);
	assert_int_equal(r.number, 0);
	assert_int_equal(r.info.trap, 65);
	assert_int_equal(unsubscribe(d, one), 0);
	assert_int_equal(unsubscribe(d, two), 0);
	assert_int_equal(number(d), 0);
}

static void
test_refused(void **state)
{
	struct desk *d = *state;
	struct sa_inform_info i = info(64);

	assert_int_equal(unsubscribe(d, i), SA_STATUS_INVALID);
	assert_int_equal(set(d, &i), 0);
	i.subscribe = 0;
	assert_int_equal(set(d, &i), SA_STATUS_INVALID);	/* needs its QP */
	i.subscribe = 2;
	assert_int_equal(set(d, &i), SA_STATUS_INVALID);
	i = info(64);
	i.lid_first = 40;
	i.lid_last = 36;
	assert_int_equal(set(d, &i), SA_STATUS_INVALID);
	i.lid_first = 36;				/* the highest LID there is */
	i.lid_last = 37;
	assert_int_equal(set(d, &i), SA_STATUS_INVALID);
	i.lid_last = 36;
	assert_int_equal(set(d, &i), 0);
	i = info(64);
	i.gid.guid = 0xdead;
	assert_int_equal(set(d, &i), SA_STATUS_INVALID);
	for (uint16_t trap = 256; trap <= 259; trap++) {
		i = info(trap);
		assert_int_equal(set(d, &i), SA_STATUS_INVALID);
	}
	assert_int_equal(number(d), 2);
	assert_true(sa_bed_ask(&d->sa, MAD_GET, &sa_inform_info_type, &i, 0));
	assert_int_equal(d->sa.h.h.status, MAD_STATUS_BAD_ATTR);
	for (uint16_t n = 0; n < SA_INFORMS_PER_PORT - 2; n++) {
		i = info((uint16_t)(1000 + n));
		assert_int_equal(set(d, &i), 0);
	}
	i = info(999);
	assert_int_equal(set(d, &i), SA_STATUS_NO_RESOURCES);
}

static void
cable(struct desk *d, const char *host, bool up)
{
	model_link_set(d->sa.sm->bed->m, bed_node(d->sa.sm->bed, host), 1, up);
	bed_wait(d->sa.sm->bed, SEC(3));
	assert_true(bed_quiet(d->sa.sm, SEC(10)));
}

/* A host goes and comes: told once each, and who unsubscribed is told nothing. */
static void
test_service(void **state)
{
	struct desk *d = *state;
	struct sa_inform_info in = info(64), out = info(65);
	const struct fabric *f = d->sa.sm->s->plan->fabric;
	uint16_t lid = sa_bed_lid(&d->sa, "H2_0_0", 1);
	uint64_t guid = f->ports[d->sa.sm->s->plan->lids->dest[lid].port].guid;

	assert_int_equal(set(d, &in), 0);
	assert_int_equal(set(d, &out), 0);
	cable(d, "H2_0_0", false);
	assert_int_equal(d->reports[65], 1);
	assert_int_equal(d->reports[64], 0);
	assert_int_equal(sa_notice_gid(&d->last.n).guid, guid);
	assert_int_equal(d->last.n.type, 3);
	assert_int_equal(d->last.n.producer, 4);
	assert_int_equal(d->last.n.issuer_lid,
			 model_portinfo(d->sa.sm->bed->m, d->sa.node, 1)->sm_lid);
	cable(d, "H2_0_0", true);
	assert_int_equal(d->reports[64], 1);
	assert_int_equal(sa_notice_gid(&d->last.n).guid, guid);
	assert_int_equal(unsubscribe(d, in), 0);
	cable(d, "H2_0_0", false);
	cable(d, "H2_0_0", true);
	assert_int_equal(d->reports[65], 2);
	assert_int_equal(d->reports[64], 1);
	assert_int_equal(d->repeats, 0);
	assert_int_equal(counters(d)->sent, 3);
	assert_int_equal(counters(d)->answered, 3);
}

/* Set or free an alias GUID of the client's own port. */
static void
change_alias(struct desk *d, uint8_t method, uint64_t guid)
{
	struct sa_guids r = { .lid = sa_bed_lid(&d->sa, "H1_0_0", 1), .guids = { [1] = guid } };

	assert_true(sa_bed_ask(&d->sa, method, &sa_guids_type, &r, SA_BIT(SA_GUIDS_LID) |
			       SA_BIT(SA_GUIDS_BLOCK) | SA_BIT(SA_GUIDS_FIRST + 1)));
	assert_int_equal(d->sa.h.h.status, 0);
	bed_wait(d->sa.sm->bed, SEC(1));
	assert_true(bed_quiet(d->sa.sm, SEC(10)));
}

/* The GID of an alias comes into service when the port holds it, and goes when it is freed, or with
 * the port; a restart, after which all are written again, is no news. */
static void
test_alias(void **state)
{
	struct desk *d = *state;
	struct sa_inform_info in = info(64), out = info(65);
	struct bed *b = d->sa.sm->bed;

	assert_int_equal(set(d, &in), 0);
	assert_int_equal(set(d, &out), 0);
	model_refuse(b->m, d->sa.node, ATTR_GUID_INFO, 0x1c);
	change_alias(d, MAD_SET, 0xabcd);
	assert_int_equal(d->reports[64], 0);
	model_refuse(b->m, d->sa.node, ATTR_GUID_INFO, 0);
	bed_wait(b, SEC(30));
	assert_int_equal(d->reports[64], 1);
	assert_true(sa_notice_gid(&d->last.n).guid == 0xabcd);
	assert_true(sa_notice_gid(&d->last.n).prefix == d->sa.sm->conf.prefix);
	change_alias(d, MAD_SET, 0xbcde);
	assert_int_equal(d->reports[65], 1);
	assert_int_equal(d->reports[64], 2);
	assert_true(sa_notice_gid(&d->last.n).guid == 0xbcde);
	bed_stop(d->sa.sm);
	bed_start(d->sa.sm);
	assert_int_equal(bed_run(d->sa.sm, SEC(10)), 1);
	bed_wait(b, SEC(10));
	assert_int_equal(d->reports[64], 2);
	change_alias(d, MAD_DELETE, 0);
	assert_int_equal(d->reports[65], 2);
	assert_true(sa_notice_gid(&d->last.n).guid == 0xbcde);
	assert_int_equal(d->repeats, 0);
}

/* Another port's aliases, whose cable is pulled and comes again. */
static void
test_alias_of_another(void **state)
{
	struct desk *d = *state;
	struct sa_inform_info in = info(64), out = info(65);
	struct sa_guids r = { .lid = sa_bed_lid(&d->sa, "H2_0_0", 1),
			      .guids = { [1] = 1, [5] = 2 } };

	d->sa.key = d->sa.sm->conf.sm_key;
	assert_true(sa_bed_ask(&d->sa, MAD_SET, &sa_guids_type, &r, SA_BIT(SA_GUIDS_LID) |
			       SA_BIT(SA_GUIDS_BLOCK) | SA_BIT(SA_GUIDS_FIRST + 1) |
			       SA_BIT(SA_GUIDS_FIRST + 5)));
	assert_int_equal(d->sa.h.h.status, 0);
	bed_wait(d->sa.sm->bed, SEC(1));
	assert_int_equal(set(d, &in), 0);
	assert_int_equal(set(d, &out), 0);
	cable(d, "H2_0_0", false);
	assert_int_equal(d->reports[65], 3);
	assert_int_equal(d->reports[64], 0);
	cable(d, "H2_0_0", true);
	assert_int_equal(d->reports[64], 3);
	assert_int_equal(d->reports[65], 3);
}

/* What devices send is handed on; where a source is named, of that alone. */
static void
test_traps(void **state)
{
	struct desk *d = *state;
	struct model *m = d->sa.sm->bed->m;
	uint32_t host = bed_node(d->sa.sm->bed, "H2_0_0");
	struct sa_inform_info all = info(SA_INFORM_ALL_TRAPS), one = info(129), key = info(257);

	assert_int_equal(set(d, &all), 0);
	model_port_errors(m, host, 1, TRAP_LOCAL_INTEGRITY);
	bed_wait(d->sa.sm->bed, SEC(1));
	assert_int_equal(d->reports[129], 1);
	assert_int_equal(d->last.n.issuer_lid, sa_bed_lid(&d->sa, "H2_0_0", 1));
	assert_int_equal(notice_subject_port(&d->last.n), 1);
	assert_true(d->last.issuer_gid.guid != 0);
	/* Security traps are for those whom we trust. */
	model_bad_key(m, host, 1, TRAP_BAD_P_KEY, 0x8001, 1);
	bed_wait(d->sa.sm->bed, SEC(1));
	assert_int_equal(d->reports[257], 0);
	d->sa.key = 1;
	assert_int_equal(set(d, &key), 0);
	d->sa.key = 0;
	model_bad_key(m, host, 1, TRAP_BAD_P_KEY, 0x8001, 1);
	bed_wait(d->sa.sm->bed, SEC(1));
	assert_int_equal(d->reports[257], 1);
	assert_int_equal(unsubscribe(d, all), 0);
	/* By LID, then by GID. */
	one.lid_first = sa_bed_lid(&d->sa, "H2_0_0", 1);
	assert_int_equal(set(d, &one), 0);
	model_port_errors(m, host, 1, TRAP_LOCAL_INTEGRITY);
	model_port_errors(m, bed_node(d->sa.sm->bed, "H3_0_0"), 1, TRAP_LOCAL_INTEGRITY);
	bed_wait(d->sa.sm->bed, SEC(1));
	assert_int_equal(d->reports[129], 2);
	assert_int_equal(unsubscribe(d, one), 0);
	one = info(129);
	one.gid = d->last.issuer_gid;
	assert_int_equal(set(d, &one), 0);
	model_port_errors(m, host, 1, TRAP_LOCAL_INTEGRITY);
	model_port_errors(m, bed_node(d->sa.sm->bed, "H3_0_0"), 1, TRAP_LOCAL_INTEGRITY);
	bed_wait(d->sa.sm->bed, SEC(1));
	assert_int_equal(d->reports[129], 3);
}

/* A Report that is not answered is sent four times; after three in a row it is enough. */
static void
test_silent(void **state)
{
	struct desk *d = *state;
	struct sa_inform_info one = info(129);
	uint32_t host = bed_node(d->sa.sm->bed, "H2_0_0");

	assert_int_equal(set(d, &one), 0);
	d->deaf = true;
	for (unsigned i = 0; i < 2; i++) {
		model_port_errors(d->sa.sm->bed->m, host, 1, TRAP_LOCAL_INTEGRITY);
		bed_wait(d->sa.sm->bed, SEC(10));
		assert_int_equal(number(d), 1);
	}
	assert_int_equal(d->reports[129], 2);
	assert_int_equal(d->repeats, 6);
	d->deaf = false;			/* an answer makes up for it */
	model_port_errors(d->sa.sm->bed->m, host, 1, TRAP_LOCAL_INTEGRITY);
	bed_wait(d->sa.sm->bed, SEC(10));
	d->deaf = true;
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(number(d), 1);
		model_port_errors(d->sa.sm->bed->m, host, 1, TRAP_LOCAL_INTEGRITY);
		bed_wait(d->sa.sm->bed, SEC(10));
	}
	assert_int_equal(number(d), 0);
	assert_int_equal(counters(d)->forgotten, 1);
	assert_int_equal(counters(d)->lost, 5);
	assert_int_equal(counters(d)->answered, 1);
}

/* Who does not lead any more tells nobody, of what waited or of what would have been, and blames no
 * subscriber; back in charge it goes on. */
static void
test_standby(void **state)
{
	struct desk *d = *state;
	struct bed *b = d->sa.sm->bed;
	struct sa_inform_info all = info(SA_INFORM_ALL_TRAPS);
	struct sa_gid mgid = { 0xff15401bffff0000, 0x0a000001 };
	struct sa_member r = {
		.mgid = mgid, .port_gid = sa_bed_gid(&d->sa, "H2_0_0"), .join_state = 1,
		.proxy_join = true, .pkey = 0xffff, .qkey = 0x0b1b,
	};
	struct script_sm other = { 0 };
	struct subnet_status st;

	d->sa.sm->conf.multicast.forget_after = SEC(15);
	d->sa.sm->conf.standby_poll = SEC(1);
	assert_int_equal(set(d, &all), 0);
	assert_true(sa_bed_ask(&d->sa, MAD_SET, &sa_member_type, &r, GROUP));
	assert_int_equal(d->sa.h.h.status, 0);
	cable(d, "H2_0_0", false);
	script_attach(&other, b->m, bed_node(b, "H3_1_1"), 1, 15, SM_MASTER);
	d->deaf = true;
	for (unsigned i = 0; i < 20; i++) {
		model_port_errors(b->m, bed_node(b, "H3_0_0"), 1, TRAP_LOCAL_INTEGRITY);
		bed_wait(b, MSEC(20));
	}
	subnet_sweep(d->sa.sm->s);
	bed_wait(b, SEC(3));
	subnet_status(d->sa.sm->s, &st);
	assert_string_equal(st.role, "standby");
	bed_wait(b, SEC(10));			/* what was sent before is sent again till here */
	memset(d->reports, 0, sizeof(d->reports));
	d->repeats = 0;
	d->deaf = false;
	bed_wait(b, SEC(30));
	for (unsigned trap = 0; trap < TRAPS; trap++)
		assert_int_equal(d->reports[trap], 0);
	assert_int_equal(counters(d)->forgotten, 0);
	other.info.state = SM_NOT_ACTIVE;
	bed_wait(b, SEC(15));
	assert_true(bed_quiet(d->sa.sm, SEC(10)));
	assert_int_equal(number(d), 1);
	assert_int_equal(d->reports[67], 1);	/* the member is gone for longer than allowed */
}

static void
test_restart(void **state)
{
	struct desk *d = *state;
	struct sa_inform_info out = info(65), gone = info(64);
	struct sa_inform r = { 0 };

	assert_int_equal(set(d, &gone), 0);
	assert_int_equal(set(d, &out), 0);
	assert_int_equal(unsubscribe(d, gone), 0);
	bed_stop(d->sa.sm);
	bed_wait(d->sa.sm->bed, SEC(1));
	bed_start(d->sa.sm);
	assert_int_equal(bed_run(d->sa.sm, SEC(10)), 1);
	assert_true(bed_quiet(d->sa.sm, SEC(10)));
	assert_int_equal(number(d), 1);
	sa_bed_record(&d->sa, &sa_inform_type, 0, &r);
	assert_int_equal(r.number, 1);
	cable(d, "H2_0_0", false);
	assert_int_equal(d->reports[65], 1);
	/* Who is out of service is forgotten. */
	cable(d, "H1_0_0", false);
	cable(d, "H1_0_0", true);
	assert_int_equal(number(d), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_records, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_service, setup, teardown),
		cmocka_unit_test_setup_teardown(test_alias, setup, teardown),
		cmocka_unit_test_setup_teardown(test_alias_of_another, setup, teardown),
		cmocka_unit_test_setup_teardown(test_traps, setup, teardown),
		cmocka_unit_test_setup_teardown(test_silent, setup, teardown),
		cmocka_unit_test_setup_teardown(test_standby, setup, teardown),
		cmocka_unit_test_setup_teardown(test_restart, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
