/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/core/subnet_i.h"
#include "sm/sa/sa.h"
#include "tests/unit/member_bed.h"
#include "tests/unit/ha_help.h"

/*
 * What clients left with the master, copied by a standby: A leads on the first host of "ft3 4", B
 * stands by on another, and hosts leave things with whoever leads. They never do so again, whatever
 * they are asked for: what is told after a takeover is what was copied.
 */
#define BOUND SEC(20)
#define ROUND SEC(4)		/* a copy is begun each 3 s, with the next question to the master */
#define BOTH (SA_BIT(SA_GUIDS_LID) | SA_BIT(SA_GUIDS_BLOCK))
#define RID (SA_BIT(SA_SERVICE_ID) | SA_BIT(SA_SERVICE_GID))

struct pair {
	struct sa_bed first;	/* with A, asked from H1_0_0 */
	struct sa_bed more;	/* asked from H2_0_0 */
	struct bed_sm *b;	/* the other manager */
	unsigned reports;	/* that H1_0_0 was sent, */
	uint16_t trap;		/* the last one's trap */
	bool (*spoil)(struct pair *p, struct port_mad *m);	/* B's answers; false: lost */
	uint64_t seed;		/* for what it does by chance */
};

static void
receive(void *arg, const struct port_mad *m)
{
	struct pair *p = arg;
	struct port_mad out = { 0 };
	struct sa_notice n;
	struct sa_header h;

	if (m->status || sa_header_decode(&h, port_mad_bytes(m), port_mad_len(m)))
		return;
	if (h.h.method != MAD_REPORT) {
		sa_bed_receive(&p->first, m);
		return;
	}
	assert_int_equal(sa_notice_decode(&n, m->mad + SA_HEADER_SIZE, 80), 0);
	p->reports++;
	p->trap = n.n.trap;
	port_answer_to(&out, m);
	memcpy(out.mad, m->mad, MAD_SIZE);
	h.h.method = MAD_REPORT_RESP;
	sa_header_encode(&h, out.mad);
	port_send(p->first.port, &out);
}

static bool
on_in(struct bed_sm *sm, struct port_mad *m)
{
	struct pair *p = sm->arg;

	if (m->qp && m->mad[1] == MAD_CLASS_SUBN_ADM && m->mad[3] == MAD_GET_TABLE_RESP && p->spoil)
		return p->spoil(p, m);
	return true;
}

static struct bed *
bed_of(const struct pair *p)
{
	return p->first.sm->bed;
}

static void
stands_by(struct bed_sm *sm)
{
	bed_start(sm);
	assert_int_equal(bed_run(sm, BOUND), -1);
	assert_true(ha_is(sm, "standby"));
}

static int
setup(void **state)
{
	struct pair *p = calloc(1, sizeof(*p));
	struct port_events ev = { .receive = receive, .state = sa_bed_state, .arg = p };
	struct error e;

	assert_non_null(p);
	sa_bed_up(&p->first, "ft3 4", "H1_0_0");
	port_close(p->first.port);
	assert_int_equal(direct_open(&p->first.port, bed_of(p)->m, p->first.node, 1, &ev, &e), 0);
	client(&p->more, &p->first, "H2_0_0");
	p->b = bed_sm(bed_of(p), bed_node(bed_of(p), "H3_1_1"), 1);
	p->b->in = on_in;
	p->b->arg = p;
	*state = p;
	return 0;
}

static int
teardown(void **state)
{
	struct pair *p = *state;

	client_free(&p->more);
	sa_bed_free(&p->first);
	free(p);
	return 0;
}

static bool
safe(struct bed_sm *sm, struct ha_status *h)
{
	subnet_ha(sm->s, h);
	return !h->nreasons;
}

/* At once, or within the time of a light sweep, in which a master sees who else is there. */
static void
must_say(struct bed_sm *sm, const char *words)
{
	struct ha_status h = { 0 };

	for (unsigned n = 0; n < 11000; n += 10) {
		subnet_ha(sm->s, &h);
		for (unsigned i = 0; i < h.nreasons; i++)
			if (strstr(h.reasons[i], words))
				return;
		bed_wait(sm->bed, MSEC(10));
	}
	fail_msg("no \"%s\" but: %s", words, h.nreasons ? h.reasons[0] : "it is safe");
}

/* ---- What is left, and told ---- */

static struct sa_service
service(struct pair *p, uint64_t id, uint32_t lease)
{
	struct sa_service r = {
		.id = id, .gid = gid_of(&p->first), .pkey = 0xffff, .lease = lease,
		.key = { 11 }, .name = "store", .data8 = { 1 }, .data64 = { 0, 7 },
	};

	return r;
}

static void
leave_service(struct pair *p, uint64_t id, uint32_t lease)
{
	struct sa_service r = service(p, id, lease);
	uint64_t mask = RID | SA_BIT(SA_SERVICE_LEASE) | SA_BIT(SA_SERVICE_KEY) |
		SA_BIT(SA_SERVICE_NAME) | SA_BIT(SA_SERVICE_DATA8) | SA_BIT(SA_SERVICE_DATA64);

	assert_true(sa_bed_ask(&p->first, MAD_SET, &sa_service_type, &r, mask));
	assert_int_equal(p->first.h.h.status, 0);
}

static void
subscribe(struct pair *p, uint16_t trap, uint8_t on)
{
	struct sa_inform_info i = {
		.lid_first = SA_INFORM_ALL_LIDS, .generic = 1, .subscribe = on, .qpn = 1,
		.type = SA_INFORM_ALL_TYPES, .trap = trap, .producer = SA_INFORM_ALL_PRODUCERS,
		.resp_time = 18,
	};

	assert_true(sa_bed_ask(&p->first, MAD_SET, &sa_inform_info_type, &i, 0));
	assert_int_equal(p->first.h.h.status, 0);
}

static void
set_alias(struct pair *p, uint8_t method, unsigned i, uint64_t guid)
{
	struct sa_guids r = { .lid = sa_bed_lid(&p->first, "H1_0_0", 1) };

	r.guids[i] = guid;
	assert_true(sa_bed_ask(&p->first, method, &sa_guids_type, &r,
			       BOTH | SA_BIT(SA_GUIDS_FIRST + i)));
	assert_int_equal(p->first.h.h.status, 0);
}

static struct sa_gid
nth(unsigned n)
{
	return (struct sa_gid){ mine.prefix, n };
}

static uint16_t
join_nth(struct sa_bed *c, unsigned n, uint8_t state)
{
	struct sa_gid mgid = nth(n);
	struct sa_member r;

	assert_int_equal(join(c, &mgid, state, &r), 0);
	return r.mlid;
}

/* Records of a kind, as whom it trusts is told them by whoever leads. */
static unsigned
told(struct pair *p, const struct sa_type *t)
{
	static const uint64_t none[64];
	unsigned n;

	p->more.key = p->first.sm->conf.sm_key;
	n = sa_bed_table(&p->more, t, none, 0);
	p->more.key = 0;
	return n;
}

static const struct sa_type *const types[] = {
	&sa_member_type, &sa_service_type, &sa_inform_type, &sa_guids_type,
};
#define TYPES (sizeof(types) / sizeof(types[0]))

/* All of it as bytes, but leases, which run. Records have no order. */
struct all {
	uint8_t *bytes[TYPES];
	unsigned n[TYPES];
};

static size_t stride;

static int
by_bytes(const void *a, const void *b)
{
	return memcmp(a, b, stride);
}

static struct all
all_told(struct pair *p)
{
	struct all a = { 0 };

	for (unsigned i = 0; i < TYPES; i++) {
		stride = sa_stride(types[i]);
		a.n[i] = told(p, types[i]);
		a.bytes[i] = calloc(a.n[i] + 1, stride);
		memcpy(a.bytes[i], p->more.data, a.n[i] * stride);
		for (unsigned n = 0; types[i] == &sa_service_type && n < a.n[i]; n++)
			memset(a.bytes[i] + n * stride + 28, 0, 4);
		qsort(a.bytes[i], a.n[i], stride, by_bytes);
	}
	return a;
}

static void
same_and_free(struct all *a, struct all *b)
{
	for (unsigned i = 0; i < TYPES; i++) {
		if (a->n[i] != b->n[i] ||
		    memcmp(a->bytes[i], b->bytes[i], a->n[i] * sa_stride(types[i])))
			fail_msg("%s: %u and %u records, or others", types[i]->name, a->n[i],
				 b->n[i]);
		free(a->bytes[i]);
		free(b->bytes[i]);
	}
}

static void
leave_things(struct pair *p)
{
	struct sa_gid shared = nth(3);
	struct sa_member r = request(&p->first, &shared, SA_JOIN_FULL);

	assert_int_equal(join_nth(&p->first, 1, SA_JOIN_FULL), 0xc001);
	assert_int_equal(join_nth(&p->first, 2, SA_JOIN_FULL), 0xc002);
	assert_int_equal(join_nth(&p->more, 1, SA_JOIN_NON), 0xc001);
	assert_int_equal(join_nth(&p->more, 3, SA_JOIN_FULL), 0xc003);
	/* One that joins another, and the broadcast group. */
	r.port_gid = sa_bed_gid(&p->first, "H3_0_0");
	r.proxy_join = true;
	assert_int_equal(change(&p->more, MAD_SET, &r, JOIN | SA_BIT(SA_MEMBER_PROXY_JOIN)), 0);
	assert_int_equal(join(&p->more, &broadcast, SA_JOIN_FULL, &r), 0);
	leave_service(p, 5, SA_LEASE_INFINITE);
	leave_service(p, 6, 3600);
	subscribe(p, 66, 1);
	subscribe(p, 67, 1);
	set_alias(p, MAD_SET, 3, 0x0200000000000077);
}

static void
fails_over(struct bed_sm *from, struct bed_sm *to)
{
	bed_stop(from);
	ha_becomes(to, "master", SEC(10));
	assert_int_equal(bed_run(to, BOUND), 1);
	assert_true(bed_quiet(to, BOUND));
	bed_wait(to->bed, MSEC(100));
}

/* ---- Cases ---- */

/* All is told as before by who takes over, MLIDs too; groups have their trees; who subscribed is
 * sent Reports (M14); what is changed then is. */
static void
test_takeover(void **state)
{
	struct pair *p = *state;
	struct all before, after;
	struct ha_status h;
	unsigned asked = model_reregisters(bed_of(p)->m, p->first.node, 1);
	struct sa_gid mgid = nth(9);
	struct sa_member r;

	leave_things(p);
	before = all_told(p);
	assert_int_equal(before.n[0], 6);
	assert_int_equal(before.n[1], 2);
	assert_int_equal(before.n[2], 2);
	stands_by(p->b);
	must_say(p->b, "not copied yet");
	must_say(p->first.sm, "has not copied groups, services and subscriptions");
	bed_wait(bed_of(p), ROUND);
	if (!safe(p->b, &h) || !safe(p->first.sm, &h))
		fail_msg("not safe: %s", h.reasons[0]);
	/* What was drained by command is in no copy. */
	drains_add(&p->first.sm->s->drains, &(struct drain){ .guid = 1, .why = HEALTH_ASKED });
	assert_false(safe(p->first.sm, &h));
	assert_non_null(strstr(h.reasons[0], "1 place drained by command"));
	p->first.sm->s->drains.len--;
	assert_int_equal(h.managers[0].copy.members, 6);
	assert_int_equal(h.managers[0].copy.services, 2);
	assert_int_equal(h.managers[0].copy.subscriptions, 2);
	subnet_ha(p->b->s, &h);
	assert_int_equal(h.managers[0].copy.members, 6);
	fails_over(p->first.sm, p->b);
	after = all_told(p);
	same_and_free(&before, &after);
	/* Once, for the manager has another LID. */
	assert_int_equal(model_reregisters(bed_of(p)->m, p->first.node, 1), asked + 1);
	p->reports = 0;
	assert_int_equal(join(&p->more, &mgid, SA_JOIN_FULL, &r), 0);
	assert_int_equal(r.mlid, 0xc004);
	bed_wait(bed_of(p), MSEC(100));
	assert_int_equal(p->reports, 1);
	assert_int_equal(p->trap, TRAP_GROUP_CREATED);
	mgid = nth(2);
	assert_int_equal(leave(&p->first, &mgid, SA_JOIN_FULL), 0);
	bed_wait(bed_of(p), MSEC(100));
	assert_int_equal(p->trap, TRAP_GROUP_DELETED);
	assert_int_equal(model_guid(bed_of(p)->m, p->first.node, 1, 3), 0x0200000000000077);
}

/* What the master has no longer goes from the copy, and what it has otherwise changes, a multicast
 * LID too; it is all in the store. */
static void
test_changes(void **state)
{
	struct pair *p = *state;
	struct all before, after;
	struct sa_gid mgid;
	struct sa_member r;

	leave_things(p);
	stands_by(p->b);
	bed_wait(bed_of(p), ROUND);
	for (unsigned n = 1; n <= 2; n++) {
		mgid = nth(n);
		assert_int_equal(leave(&p->first, &mgid, SA_JOIN_FULL), 0);
	}
	assert_int_equal(join_nth(&p->first, 2, SA_JOIN_FULL), 0xc001);
	assert_int_equal(join_nth(&p->more, 2, SA_JOIN_FULL), 0xc001);
	assert_int_equal(join_nth(&p->first, 1, SA_JOIN_FULL), 0xc002);
	assert_int_equal(leave(&p->more, &broadcast, SA_JOIN_FULL), 0);
	leave_service(p, 5, 100);
	leave_service(p, 7, 200);
	subscribe(p, 66, 0);
	subscribe(p, 65, 1);
	set_alias(p, MAD_SET, 4, 0x0200000000000078);
	set_alias(p, MAD_DELETE, 3, 0);
	mgid = nth(3);
	r = request(&p->more, &mgid, SA_JOIN_FULL);
	assert_int_equal(change(&p->more, MAD_DELETE, &r, JOIN), 0);
	before = all_told(p);
	/* Alias GUIDs are copied each tenth time. */
	bed_wait(bed_of(p), 11 * ROUND);
	/* B starts again, and finds it in its store. */
	bed_stop(p->b);
	bed_stop(p->first.sm);
	bed_start(p->b);
	assert_int_equal(bed_run(p->b, BOUND), 1);
	assert_true(bed_quiet(p->b, BOUND));
	bed_wait(bed_of(p), MSEC(100));
	after = all_told(p);
	same_and_free(&before, &after);
}

/* H10: A dies, B leads, A returns, and B dies before A has copied anything, or after. What show ha
 * said is how it turns out. */
static void
test_twice(void **state)
{
	struct pair *p = *state;
	struct bed_sm *a = p->first.sm;
	struct ha_status h;

	for (unsigned again = 0; again < 2; again++) {
		bool knows = again;
		unsigned had;

		leave_service(p, 100 + again, SA_LEASE_INFINITE);
		stands_by(p->b);
		bed_wait(bed_of(p), ROUND);
		assert_true(safe(a, &h) && safe(p->b, &h));
		fails_over(a, p->b);
		must_say(p->b, "no standby");
		had = told(p, &sa_service_type);
		leave_service(p, 200 + again, SA_LEASE_INFINITE);
		p->b->in = NULL;
		stands_by(a);
		must_say(a, "not copied yet");
		must_say(p->b, "has not copied");
		if (knows) {
			bed_wait(bed_of(p), ROUND);
			assert_true(safe(a, &h) && safe(p->b, &h));
		}
		fails_over(p->b, a);
		assert_int_equal(told(p, &sa_service_type), had + knows);
		p->b->in = on_in;
	}
}

/* ---- What goes wrong ---- */

static bool
lose(struct pair *p, struct port_mad *m)
{
	(void)p;
	(void)m;
	return false;
}

static bool
refuse(struct pair *p, struct port_mad *m)
{
	(void)p;
	m->mad[4] = SA_STATUS_DENIED >> 8;
	m->mad[5] = 0;
	m->data = NULL;
	return true;
}

/* As packaged ibsim does: the first MAD of all, as it was sent. */
static bool
cut(struct pair *p, struct port_mad *m)
{
	struct sa_header h;

	(void)p;
	assert_int_equal(sa_header_decode(&h, m->mad, MAD_SIZE), 0);
	h.rmpp_flags = SA_RMPP_ACTIVE;
	sa_header_encode(&h, m->mad);
	m->data = NULL;
	m->len = 0;
	return true;
}

/* A record less, and half of one. */
static bool
halve(struct pair *p, struct port_mad *m)
{
	(void)p;
	if (m->len > SA_HEADER_SIZE)
		m->len -= 12;
	return true;
}

/* A copy that cannot be had is told of with its reason, and leaves what there is. */
static void
test_refused(void **state)
{
	static const struct {
		bool (*spoil)(struct pair *p, struct port_mad *m);
		const char *why;
	} rows[] = {
		{ lose, "it does not answer" }, { refuse, "it refuses to tell its multicast" },
		{ cut, "was cut on its way" }, { halve, "is damaged" },
	};
	struct pair *p = *state;
	struct ha_status h;

	leave_things(p);
	stands_by(p->b);
	bed_wait(bed_of(p), ROUND);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		p->spoil = rows[i].spoil;
		bed_wait(bed_of(p), SEC(30));
		must_say(p->b, rows[i].why);
		must_say(p->b, "were copied last");
		p->spoil = NULL;
		bed_wait(bed_of(p), SEC(120));
		if (!safe(p->b, &h))
			fail_msg("%s: %s", rows[i].why, h.reasons[0]);
	}
	p->spoil = halve;
	fails_over(p->first.sm, p->b);
	assert_int_equal(told(p, &sa_member_type), 6);
	assert_int_equal(told(p, &sa_service_type), 2);
}

/* Any bytes but those by which it is known as an answer. */
static bool
scramble(struct pair *p, struct port_mad *m)
{
	static uint8_t bytes[1u << 16];
	uint32_t len = port_mad_len(m) < sizeof(bytes) ? port_mad_len(m) : sizeof(bytes);

	memcpy(bytes, port_mad_bytes(m), len);
	for (unsigned n = 0; n < 8; n++) {
		uint32_t at;

		p->seed = p->seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
		at = (uint32_t)(p->seed >> 33) % len;
		if (at > SA_HEADER_SIZE || at == 45)
			bytes[at] = (uint8_t)(p->seed >> 20);
	}
	if (p->seed >> 60 == 1)
		len = (uint32_t)(p->seed >> 33) % len;
	memcpy(m->mad, bytes, MAD_SIZE);
	m->data = len > MAD_SIZE ? bytes : NULL;
	m->len = len > MAD_HEADER_SIZE ? len : MAD_HEADER_SIZE;
	return true;
}

static void
test_scrambled(void **state)
{
	struct pair *p = *state;
	struct all before, after;

	p->b->conf.standby_copy = MSEC(100);
	leave_things(p);
	before = all_told(p);
	stands_by(p->b);
	p->spoil = scramble;
	bed_wait(bed_of(p), SEC(600));
	p->spoil = NULL;
	bed_wait(bed_of(p), SEC(120));
	fails_over(p->first.sm, p->b);
	after = all_told(p);
	same_and_free(&before, &after);
}

/* Not at all, where it is not wanted. */
static void
test_off(void **state)
{
	struct pair *p = *state;

	leave_things(p);
	p->b->conf.standby_copy = 0;
	stands_by(p->b);
	bed_wait(bed_of(p), ROUND);
	must_say(p->b, "standby_copy is 0");
	must_say(p->first.sm, "has not copied");
	fails_over(p->first.sm, p->b);
	assert_int_equal(told(p, &sa_service_type), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_takeover, setup, teardown),
		cmocka_unit_test_setup_teardown(test_changes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_twice, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_scrambled, setup, teardown),
		cmocka_unit_test_setup_teardown(test_off, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
