/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/sa/sa.h"
#include "tests/unit/sa_bed.h"

/*
 * Work of the subnet administrator that is bounded: long questions in slices, beside which short
 * ones are answered, from one plan whatever is published meanwhile. Requests are handed over
 * without the fabric between, so that several stand at one instant; answers are seen as they leave.
 * "ft3 8" has 128 hosts and 80 switches: 208 ports with a LID, 43,264 pairs, 208 node records.
 */
#define PORTS 208u
#define ANSWERS 4096
#define ENDS (SA_BIT(SA_PATH_SLID) | SA_BIT(SA_PATH_DLID))

struct answer {
	uint64_t tid;		/* of the request */
	uint16_t status;	/* of it */
	uint32_t records;	/* bytes behind the header, by the offset of the attribute */
};

struct queue_bed {
	struct sa_bed b;		/* the subnet */
	struct answer answers[ANSWERS];	/* in the order of leaving */
	unsigned n;			/* of them */
	uint8_t *data;			/* records of the last one */
	size_t size;			/* bytes of them */
	uint64_t tid;			/* of the last request */
};

static bool
on_out(struct bed_sm *sm, struct port_mad *m)
{
	struct queue_bed *q = sm->arg;
	struct sa_header h;

	if (m->qp == 0 || sa_header_decode(&h, port_mad_bytes(m), port_mad_len(m)))
		return true;
	assert_true(q->n < ANSWERS);
	q->size = port_mad_len(m) - SA_HEADER_SIZE;
	q->data = realloc(q->data, q->size + 1);
	memcpy(q->data, port_mad_bytes(m) + SA_HEADER_SIZE, q->size);
	q->answers[q->n++] = (struct answer){
		.tid = h.h.tid, .status = h.h.status,
		.records = h.attr_offset ? (uint32_t)(q->size / (h.attr_offset * 8u)) : 0,
	};
	return false;
}

static int
setup(void **state)
{
	struct queue_bed *q = calloc(1, sizeof(*q));

	assert_non_null(q);
	sa_bed_up(&q->b, "ft3 8", "H1_0_0");
	q->b.sm->arg = q;
	q->b.sm->out = on_out;
	*state = q;
	return 0;
}

static int
teardown(void **state)
{
	struct queue_bed *q = *state;

	sa_bed_free(&q->b);
	free(q->data);
	free(q);
	return 0;
}

/* A request from a LID; the TID that it has got. */
static uint64_t
ask(struct queue_bed *q, uint16_t lid, uint8_t method, const struct sa_type *t, const void *want,
    uint64_t mask)
{
	struct port_mad m = { .qp = 1, .remote_qp = 1, .lid = lid };
	struct sa_header h = {
		.h = { .tid = ++q->tid, .attr_id = t->id, .base_version = 1, .method = method,
		       .mgmt_class = MAD_CLASS_SUBN_ADM, .class_version = SA_CLASS_VERSION },
		.mask = mask,
	};

	sa_header_encode(&h, m.mad);
	sa_encode(t, want, m.mad + SA_HEADER_SIZE);
	sa_request(q->b.sm->s->sa, &m);
	return q->tid;
}

static uint64_t
all_paths(struct queue_bed *q, uint16_t lid)
{
	struct sa_path want = { 0 };

	return ask(q, lid, MAD_GET_TABLE, &sa_path_type, &want, 0);
}

static const struct answer *
answer_to(const struct queue_bed *q, uint64_t tid)
{
	for (unsigned i = 0; i < q->n; i++)
		if (q->answers[i].tid == tid)
			return &q->answers[i];
	return NULL;
}

static void
start(struct queue_bed *q)
{
	q->n = 0;
}

static void
settle(struct queue_bed *q)
{
	bed_wait(q->b.sm->bed, MSEC(10));
	assert_int_equal(sa_pending(q->b.sm->s->sa), 0);
}

static void
test_short_beside_long(void **state)
{
	struct queue_bed *q = *state;
	uint16_t a = sa_bed_lid(&q->b, "H1_0_0", 1), b = sa_bed_lid(&q->b, "H2_0_0", 1);
	struct sa_path want = { .slid = a, .dlid = b };
	uint64_t table, get;

	start(q);
	table = all_paths(q, a);
	get = ask(q, a, MAD_GET, &sa_path_type, &want, ENDS);
	settle(q);
	assert_int_equal(q->n, 2);
	assert_int_equal(q->answers[0].tid, get);
	assert_int_equal(q->answers[0].status, 0);
	assert_int_equal(q->answers[1].tid, table);
	assert_int_equal(q->answers[1].status, 0);
	assert_int_equal(q->answers[1].records, PORTS * PORTS);
}

/* A plan without a way is published while the table is open: of the table nothing is missing. */
static void
test_one_plan(void **state)
{
	struct queue_bed *q = *state;
	struct subnet *s = q->b.sm->s;
	uint16_t a = sa_bed_lid(&q->b, "H1_0_0", 1), b = sa_bed_lid(&q->b, "H2_0_0", 1);
	struct sa_path want = { .slid = a, .dlid = b };
	struct plan *published = s->plan;
	uint64_t table, get;

	start(q);
	table = all_paths(q, a);
	s->plan = plan_new(published->fabric);
	s->plan->lids = plan_lids_ref(published->lids);
	get = ask(q, a, MAD_GET, &sa_path_type, &want, ENDS);
	settle(q);
	assert_int_equal(answer_to(q, get)->status, SA_STATUS_NO_RECORDS);
	plan_unref(s->plan);
	s->plan = published;
	assert_int_equal(answer_to(q, table)->records, PORTS * PORTS);
}

static void
test_open_questions_are_bounded(void **state)
{
	struct queue_bed *q = *state;
	uint16_t a = sa_bed_lid(&q->b, "H1_0_0", 1), b = sa_bed_lid(&q->b, "H2_0_0", 1);
	uint64_t mine[SA_OPEN_PER_SOURCE], more, other;

	start(q);
	for (unsigned i = 0; i < SA_OPEN_PER_SOURCE; i++)
		mine[i] = all_paths(q, a);
	more = all_paths(q, a);
	other = all_paths(q, b);
	settle(q);
	assert_int_equal(answer_to(q, more)->status, MAD_STATUS_BUSY);
	assert_int_equal(q->answers[0].tid, more);
	for (unsigned i = 0; i < SA_OPEN_PER_SOURCE; i++)
		assert_int_equal(answer_to(q, mine[i])->records, PORTS * PORTS);
	assert_int_equal(answer_to(q, other)->records, PORTS * PORTS);
	more = all_paths(q, a);
	settle(q);
	assert_int_equal(answer_to(q, more)->records, PORTS * PORTS);
}

/* ---- Queues and rates ---- */

static uint64_t
get_path(struct queue_bed *q, uint16_t from, uint16_t to)
{
	struct sa_path want = { .slid = from, .dlid = to };

	return ask(q, from, MAD_GET, &sa_path_type, &want, ENDS);
}

static unsigned
count(const struct queue_bed *q, uint64_t first, uint64_t last, uint16_t status)
{
	unsigned n = 0;

	for (unsigned i = 0; i < q->n; i++)
		n += q->answers[i].tid >= first && q->answers[i].tid <= last &&
			q->answers[i].status == status;
	return n;
}

/* Of 3,400 requests at one instant: some at once, 1,024 in the queue, the others come again, 1,000
 * of which are told at once and 1,024 in turns. Nothing is said of the rest, which is counted. Who
 * asks behind them is answered next, not after them. */
static void
test_flood(void **state)
{
	struct queue_bed *q = *state;
	const struct sa_counters *c = sa_counters(q->b.sm->s->sa);
	uint16_t a = sa_bed_lid(&q->b, "H1_0_0", 1), b = sa_bed_lid(&q->b, "H2_0_0", 1);
	uint64_t first = q->tid + 1, last, other, dropped = c->dropped[SA_DROP_FLOOD];
	unsigned at_once, place = 0;

	start(q);
	q->b.sm->conf.sa_rate = 0;
	for (unsigned i = 0; i < 3400; i++)
		last = get_path(q, a, b);
	at_once = count(q, first, last, 0);
	assert_in_range(at_once, 32, 256);
	assert_int_equal(count(q, first, last, MAD_STATUS_BUSY), 1000);
	assert_int_equal(c->dropped[SA_DROP_FLOOD] - dropped, 3400 - 1000 - 2 * 1024 - at_once);
	other = get_path(q, b, a);
	settle(q);
	assert_int_equal(count(q, first, last, 0), 1024 + at_once);
	assert_int_equal(count(q, first, last, MAD_STATUS_BUSY), 1000 + 1024);
	assert_int_equal(answer_to(q, other)->status, 0);
	while (q->answers[place].tid != other)
		place++;
	assert_in_range(place, at_once + 1000, at_once + 1000 + 16);
	q->b.sm->conf.sa_rate = 20000;
}

/* A hundred a second: so many at once, and then one each ten milliseconds. */
static void
test_rate(void **state)
{
	struct queue_bed *q = *state;
	uint16_t a = sa_bed_lid(&q->b, "H3_0_0", 1), b = sa_bed_lid(&q->b, "H2_0_0", 1);
	uint64_t first = q->tid + 1;

	start(q);
	q->b.sm->conf.sa_rate = 100;
	for (unsigned i = 0; i < 150; i++)
		get_path(q, a, b);
	settle(q);
	assert_int_equal(count(q, first, q->tid, 0), 100);
	assert_int_equal(count(q, first, q->tid, MAD_STATUS_BUSY), 50);
	bed_wait(q->b.sm->bed, MSEC(90));
	first = q->tid + 1;
	for (unsigned i = 0; i < 20; i++)
		get_path(q, a, b);
	settle(q);
	assert_int_equal(count(q, first, q->tid, 0), 10);
	assert_int_equal(answer_to(q, get_path(q, b, a))->status, 0);
	q->b.sm->conf.sa_rate = 20000;
}

/* Whoever is no master any more says nothing of what still waits. */
static void
test_resigned(void **state)
{
	struct queue_bed *q = *state;
	struct sa *sa = q->b.sm->s->sa;
	uint16_t a = sa_bed_lid(&q->b, "H1_0_0", 1);
	const struct sa_counters *c = sa_counters(sa);

	start(q);
	for (unsigned i = 0; i < 6; i++)
		all_paths(q, a);
	assert_int_equal(sa_pending(sa), 6);
	sa_resigned(sa);
	assert_int_equal(c->dropped[SA_DROP_RESIGNED], 6);
	settle(q);
	assert_int_equal(q->n, 0);
	all_paths(q, a);
	settle(q);
	assert_int_equal(q->answers[0].records, PORTS * PORTS);
}

#define SERVICES 6000u
#define RID (SA_BIT(SA_SERVICE_ID) | SA_BIT(SA_SERVICE_GID))

static struct sa_service
service(const struct queue_bed *q, unsigned id)
{
	const struct plan *p = q->b.sm->s->plan;
	uint16_t lid = sa_bed_lid(&q->b, "H1_0_0", 1);

	return (struct sa_service){
		.id = id, .pkey = 0xffff,
		.gid = { 0xfe80000000000000, p->fabric->ports[p->lids->dest[lid].port].guid },
	};
}

/* Each service stands in its answer once, but for those that went in between. */
static void
test_services_that_go(void **state)
{
	struct queue_bed *q = *state;
	uint16_t a = sa_bed_lid(&q->b, "H1_0_0", 1);
	uint8_t *seen = calloc(SERVICES, 1);
	struct sa_service r;
	uint64_t table;

	assert_non_null(seen);
	start(q);
	for (unsigned i = 0; i < SERVICES; i++) {
		r = service(q, i);
		ask(q, (uint16_t)(a + i % 8), MAD_SET, &sa_service_type, &r, RID);
		if (i % 500 == 499) {
			settle(q);
			assert_int_equal(q->n, 500);
			assert_int_equal(q->answers[0].status, 0);
			start(q);
		}
	}
	table = ask(q, a, MAD_GET_TABLE, &sa_service_type, &r, 0);
	assert_int_equal(q->n, 0);
	for (unsigned i = 0; i < SERVICES; i += 2) {
		r = service(q, i);
		ask(q, (uint16_t)(a + i % 8), MAD_DELETE, &sa_service_type, &r, RID);
	}
	settle(q);
	assert_int_equal(answer_to(q, table)->status, 0);
	assert_true(answer_to(q, table)->records >= SERVICES / 2);
	table = ask(q, a, MAD_GET_TABLE, &sa_service_type, &r, 0);
	settle(q);
	assert_int_equal(answer_to(q, table)->records, SERVICES / 2);
	for (unsigned i = 0; i < SERVICES / 2; i++) {
		assert_int_equal(sa_decode(&sa_service_type, &r,
					   q->data + i * sa_stride(&sa_service_type),
					   sa_stride(&sa_service_type)), 0);
		assert_true(r.id < SERVICES && r.id % 2 && !seen[r.id]);
		seen[r.id] = 1;
	}
	free(seen);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_short_beside_long), cmocka_unit_test(test_one_plan),
		cmocka_unit_test(test_open_questions_are_bounded),
		cmocka_unit_test(test_flood), cmocka_unit_test(test_rate),
		cmocka_unit_test(test_resigned), cmocka_unit_test(test_services_that_go),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
