/* SPDX-License-Identifier: BSD-2-Clause */
/* Long messages: what travels, byte by byte, and what happens when some of it does not. */
#include "tests/unit/kernel_bed.h"
#include "sim/kernel/kernel_impl.h"

#define SA 3
#define GET_TABLE 0x12
#define GET_TABLE_RESP 0x92
#define GET_MULTI 0x14
#define GET_MULTI_RESP 0x94
#define BIG (22u << 20)

static const struct kernel_registration server_reg = {
	.qp = 1, .mgmt_class = SA, .class_version = 2, .rmpp_version = 1,
	.methods = { 1u << MAD_GET | 1u << GET_TABLE | 1u << GET_MULTI },
};
static const struct kernel_registration client_reg = { .qp = 1, .rmpp_version = 1 };

/* ---- A peer on h2 without a kernel: what it gets, and what it sends by hand ---- */

struct peer {
	struct kbed *b;
	struct model_client *c;
	uint8_t mad[512][MAD_SIZE];
	monotime at[512];
	unsigned n;
};

static void
on_peer(void *arg, const struct model_mad *m)
{
	struct peer *p = arg;

	assert_true(p->n < 512);
	p->at[p->n] = loop_now(p->b->r->loop) - p->b->start;
	memcpy(p->mad[p->n++], m->mad, MAD_SIZE);
}

static struct peer *
peer_new(struct kbed *b)
{
	struct peer *p = calloc(1, sizeof(*p));
	struct model_client_events ev = { .receive = on_peer, .arg = p };

	assert_non_null(p);
	p->b = b;
	p->c = model_attach(b->r->m, H2, 1, &ev);
	assert_non_null(p->c);
	return p;
}

/* An RMPP header by hand: IBA volume 1, 13.6.2. */
static void
rmpp(uint8_t *mad, uint8_t type, uint8_t flags, uint8_t status, uint32_t segment, uint32_t value)
{
	mad[24] = 1;
	mad[25] = type;
	mad[26] = flags;
	mad[27] = status;
	put32(mad + 28, segment);
	put32(mad + 32, value);
}

static void
peer_send(struct peer *p, const uint8_t *mad)
{
	struct model_mad m = { .lid = LID1, .qp = 1 };

	memcpy(m.mad, mad, MAD_SIZE);
	model_send(p->c, &m);
	run(p->b->r, USEC(100));
}

/* The peer answers the last that came: this type and these numbers. */
static void
peer_reply(struct peer *p, uint8_t type, uint8_t status, uint32_t segment, uint32_t value)
{
	uint8_t mad[MAD_SIZE] = { 0 };

	memcpy(mad, p->mad[p->n - 1], 56);
	mad[3] ^= 0x80;
	rmpp(mad, type, 1, status, segment, value);
	peer_send(p, mad);
}

static void
assert_rmpp(const uint8_t *mad, uint8_t method, uint8_t type, uint8_t flags, uint8_t status,
	    uint32_t segment, uint32_t value)
{
	assert_int_equal(mad[3], method);
	assert_int_equal(mad[24], 1);
	assert_int_equal(mad[25], type);
	assert_int_equal(mad[26], flags);
	assert_int_equal(mad[27], status);
	assert_int_equal(get32(mad + 28), segment);
	assert_int_equal(get32(mad + 32), value);
}

/* ---- Messages ---- */

static size_t
offset_of(uint8_t mgmt_class)
{
	return mgmt_class == SA ? 56 : mgmt_class == 6 ? 64 : 40;
}

/* Headers and `len` bytes of data, each unlike its neighbours. */
static uint8_t *
message(uint8_t mgmt_class, uint8_t method, uint32_t tid, size_t len)
{
	size_t offset = offset_of(mgmt_class);
	uint8_t *m = calloc(1, offset + len + MAD_SIZE);

	assert_non_null(m);
	header(m, mgmt_class, mgmt_class == SA ? 2 : 1, method, tid);
	rmpp(m, 1, 1, 0, 0, 0);
	for (size_t i = 36; i < offset; i++)
		m[i] = (uint8_t)i;
	for (size_t i = 0; i < len; i++)
		m[offset + i] = (uint8_t)(i * 7 + i / 251);
	return m;
}

static int
post(struct kernel_agent *a, const uint8_t *m, size_t len, uint32_t timeout_ms, uint32_t retries)
{
	return kernel_send(a, &(struct kernel_mad){
		.data = m, .len = len, .lid = LID2, .qpn = 1, .timeout_ms = timeout_ms,
		.retries = retries,
	});
}

/* Send 56 + len bytes to LID 2. */
static int
post_sa(struct kernel_agent *a, uint8_t method, uint32_t tid, size_t len, uint32_t timeout_ms,
	uint32_t retries)
{
	uint8_t *m = message(SA, method, tid, len);
	int rc = post(a, m, 56 + len, timeout_ms, retries);

	free(m);
	return rc;
}

/* The headers but for RMPP's, and the data, are those of message(). */
static void
assert_message(const struct mail *mail, uint8_t mgmt_class, uint8_t method, size_t len)
{
	size_t offset = offset_of(mgmt_class);
	uint8_t *want = message(mgmt_class, method, 0, len);

	assert_int_equal(mail->m.status, 0);
	assert_int_equal(mail->m.len, offset + len);
	assert_memory_equal(mail->data, want, 4);
	assert_memory_equal(mail->data + 36, want + 36, offset - 36 + len);
	free(want);
}

/* ---- What travels ---- */

/* 410 bytes of data in an SA message: 200 + 200 + 10; payloads count 20 more each. */
static void
test_segments(void **state)
{
	struct kbed *b = *state;
	struct peer *p = peer_new(b);
	struct kernel_agent *a;
	uint8_t *m = message(SA, GET_TABLE_RESP, 0x11223344, 410);
	static const uint8_t zero[190];

	assert_int_equal(enroll(b, &a, H1, 0, server_reg), 0);
	put32(m + 8, 0x99);			/* a response's TID is the requester's */
	assert_int_equal(post(a, m, 466, 0, 0), 0);
	run(b->r, MSEC(1));
	assert_int_equal(p->n, 1);
	assert_rmpp(p->mad[0], GET_TABLE_RESP, 1, 3, 0, 1, 470);
	assert_memory_equal(p->mad[0], m, 24);
	assert_memory_equal(p->mad[0] + 36, m + 36, 220);
	peer_reply(p, RMPP_ACK, 0, 1, 65);
	assert_int_equal(p->n, 3);
	assert_rmpp(p->mad[1], GET_TABLE_RESP, 1, 1, 0, 2, 0);
	assert_memory_equal(p->mad[1] + 36, m + 36, 20);
	assert_memory_equal(p->mad[1] + 56, m + 256, 200);
	assert_rmpp(p->mad[2], GET_TABLE_RESP, 1, 5, 0, 3, 30);
	assert_memory_equal(p->mad[2] + 36, m + 36, 20);
	assert_memory_equal(p->mad[2] + 56, m + 456, 10);
	assert_memory_equal(p->mad[2] + 66, zero, 190);
	peer_reply(p, RMPP_ACK, 0, 3, 65);
	run(b->r, SEC(60));
	assert_int_equal(p->n, 3);
	assert_int_equal(b->in[0].n, 0);
	/* One segment is first and last; a full one has no padding. */
	assert_int_equal(post_sa(a, GET_TABLE_RESP, 2, 200, 0, 0), 0);
	run(b->r, MSEC(1));
	assert_int_equal(p->n, 4);
	assert_rmpp(p->mad[3], GET_TABLE_RESP, 1, 7, 0, 1, 220);
	peer_reply(p, RMPP_ACK, 0, 1, 1);
	assert_int_equal(post_sa(a, GET_TABLE_RESP, 3, 0, 0, 0), 0);
	run(b->r, MSEC(1));
	assert_rmpp(p->mad[4], GET_TABLE_RESP, 1, 7, 0, 1, 20);
	free(m);
	free(p);
}

/* Class headers end where the class says: device management at 64, vendors at 40. */
static void
test_offsets(void **state)
{
	struct kbed *b = *state;
	struct peer *p = peer_new(b);
	struct kernel_agent *a;
	uint8_t *m = message(6, MAD_GET_RESP, 1, 200);
	static const uint8_t zero[12];

	assert_int_equal(enroll(b, &a, H1, 0, client_reg), 0);
	assert_int_equal(post(a, m, 264, 0, 0), 0);
	run(b->r, MSEC(1));
	assert_rmpp(p->mad[0], MAD_GET_RESP, 1, 3, 0, 1, 2 * 220 - 184);
	free(m);
	m = message(0x32, MAD_GET_RESP, 2, 217);
	assert_int_equal(post(a, m, 257, 0, 0), 0);
	run(b->r, MSEC(1));
	assert_rmpp(p->mad[1], MAD_GET_RESP, 1, 3, 0, 1, 2 * 220 - 215);
	/* Shorter than the class header. */
	assert_int_equal(post(a, m, 39, 0, 0), EINVAL);
	/* Without the flag a message has one MAD, and the RMPP header in it is wiped. */
	m[26] = 0;
	assert_int_equal(post(a, m, 257, 0, 0), EINVAL);
	put32(m + 12, 3);
	put32(m + 28, 5);
	assert_int_equal(post(a, m, 256, 0, 0), 0);
	run(b->r, MSEC(1));
	assert_memory_equal(p->mad[2], m, 24);
	assert_memory_equal(p->mad[2] + 24, zero, 12);
	assert_memory_equal(p->mad[2] + 36, m + 36, 220);
	free(m);
	free(p);
}

static void
segment(uint8_t *mad, uint8_t flags, uint32_t number, uint32_t payload)
{
	header(mad, SA, 2, GET_TABLE, 5);
	rmpp(mad, RMPP_DATA, flags, 0, number, payload);
	memset(mad + 56, (int)number, 200);
}

/* The receiver: ACKs of the first, at the end of each window and of the last. */
static void
test_receiver(void **state)
{
	struct kbed *b = *state;
	struct peer *p = peer_new(b);
	struct kernel_agent *a;
	uint8_t mad[MAD_SIZE];

	assert_int_equal(enroll(b, &a, H1, 0, server_reg), 0);
	segment(mad, 3, 1, 0);
	mad[26] |= 0x98;			/* RRespTime stays */
	mad[40] = 0x77;				/* the class header as well */
	peer_send(p, mad);
	assert_int_equal(p->n, 1);
	assert_rmpp(p->mad[0], GET_TABLE_RESP, RMPP_ACK, 0x99, 0, 1, 65);
	assert_memory_equal(p->mad[0] + 8, mad + 8, 8);
	assert_int_equal(p->mad[0][40], 0x77);
	assert_int_equal(p->mad[0][56], 0);
	peer_send(p, mad);			/* again: acknowledged again */
	assert_int_equal(p->n, 2);
	assert_rmpp(p->mad[1], GET_TABLE_RESP, RMPP_ACK, 0x99, 0, 1, 65);
	segment(mad, 1, 66, 0);			/* beyond the window */
	peer_send(p, mad);
	for (uint32_t n = 64; n > 2; n--) {	/* all before their time */
		segment(mad, 1, n, 0);
		peer_send(p, mad);
		peer_send(p, mad);
	}
	assert_int_equal(p->n, 2);
	segment(mad, 1, 2, 0);			/* closes the gap */
	peer_send(p, mad);
	assert_int_equal(p->n, 2);
	segment(mad, 1, 65, 0);
	peer_send(p, mad);
	assert_int_equal(p->n, 3);
	assert_rmpp(p->mad[2], GET_TABLE_RESP, RMPP_ACK, 1, 0, 65, 129);
	segment(mad, 5, 67, 30);
	peer_send(p, mad);
	assert_int_equal(b->in[0].n, 0);
	segment(mad, 1, 66, 0);
	peer_send(p, mad);
	assert_int_equal(p->n, 4);
	assert_rmpp(p->mad[3], GET_TABLE_RESP, RMPP_ACK, 1, 0, 67, 129);
	assert_int_equal(b->in[0].n, 1);
	assert_int_equal(b->in[0].mail[0].m.len, 56 + 66 * 200 + 10);
	for (unsigned i = 0; i < 67 * 200 - 190; i++)
		assert_int_equal(b->in[0].mail[0].data[56 + i], i / 200 + 1);
	/* What is sent again is acknowledged for ten seconds, and then begins anew. */
	run(b->r, SEC(9));
	peer_send(p, mad);
	assert_int_equal(p->n, 5);
	assert_rmpp(p->mad[4], GET_TABLE_RESP, RMPP_ACK, 1, 0, 67, 129);
	segment(mad, 3, 1, 0);
	peer_send(p, mad);
	assert_rmpp(p->mad[5], GET_TABLE_RESP, RMPP_ACK, 1, 0, 67, 129);
	run(b->r, SEC(2));
	segment(mad, 1, 66, 0);
	peer_send(p, mad);
	assert_int_equal(p->n, 6);
	segment(mad, 7, 1, 25);
	peer_send(p, mad);
	assert_rmpp(p->mad[6], GET_TABLE_RESP, RMPP_ACK, 1, 0, 1, 1);
	assert_int_equal(b->in[0].n, 2);
	assert_int_equal(b->in[0].mail[1].m.len, 61);
	free(p);
}

/* 40 seconds after its first segment an incomplete message is given up. */
static void
test_too_long(void **state)
{
	struct kbed *b = *state;
	struct peer *p = peer_new(b);
	struct kernel_agent *a;
	uint8_t mad[MAD_SIZE];
	monotime first;

	assert_int_equal(enroll(b, &a, H1, 0, server_reg), 0);
	segment(mad, 3, 1, 0);
	peer_send(p, mad);
	first = p->at[0];
	segment(mad, 1, 2, 0);
	run(b->r, SEC(39));
	peer_send(p, mad);
	assert_int_equal(p->n, 1);
	run(b->r, SEC(2));
	assert_int_equal(p->n, 2);
	assert_rmpp(p->mad[1], GET_TABLE_RESP, RMPP_ABORT, 1, 118, 0, 0);
	assert_int_equal(p->at[1] - first, SEC(40));
	segment(mad, 5, 3, 20);
	peer_send(p, mad);
	assert_int_equal(p->n, 2);
	assert_int_equal(b->in[0].n, 0);
	free(p);
}

/* Segments that cannot be are answered with ABORT and the reason. */
static void
test_refusals(void **state)
{
	struct kbed *b = *state;
	struct peer *p = peer_new(b);
	struct kernel_agent *a;
	uint8_t mad[MAD_SIZE];
	static const struct {
		uint8_t version, type, flags, status;
		uint32_t segment, value;
		uint8_t abort;		/* status of the answer, 0 = none */
	} cases[] = {
		{ 2, RMPP_DATA, 3, 0, 1, 0, 125 },
		{ 1, 0, 1, 0, 1, 0, 121 },
		{ 1, 5, 1, 0, 1, 0, 121 },
		{ 1, RMPP_DATA, 3, 1, 1, 0, 124 },
		{ 1, RMPP_DATA, 1, 0, 1, 0, 120 },
		{ 1, RMPP_DATA, 3, 0, 2, 0, 120 },
		{ 1, RMPP_ACK, 1, 9, 1, 5, 124 },
		{ 1, RMPP_ACK, 1, 0, 6, 5, 122 },
		{ 1, RMPP_STOP, 1, 0, 0, 0, 124 },
		{ 1, RMPP_STOP, 1, 1, 0, 0, 0 },
		{ 1, RMPP_ABORT, 1, 117, 0, 0, 124 },
		{ 1, RMPP_ABORT, 1, 118, 0, 0, 0 },
		{ 1, RMPP_ABORT, 1, 127, 0, 0, 0 },
		{ 1, RMPP_ABORT, 1, 128, 0, 0, 124 },
		{ 1, RMPP_DATA, 1, 0, 2, 0, 0 },	/* of a message that did not begin */
		{ 1, RMPP_ACK, 1, 0, 1, 5, 0 },		/* of nothing that was sent */
		{ 1, RMPP_ACK, 1, 0, 0, 0xffffffff, 0 },
	};

	assert_int_equal(enroll(b, &a, H1, 0, server_reg), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		p->n = 0;
		header(mad, SA, 2, GET_TABLE, 5);
		rmpp(mad, cases[i].type, cases[i].flags, cases[i].status, cases[i].segment,
		     cases[i].value);
		mad[24] = cases[i].version;
		peer_send(p, mad);
		assert_int_equal(p->n, cases[i].abort ? 1 : 0);
		if (p->n)
			assert_rmpp(p->mad[0], GET_TABLE_RESP, RMPP_ABORT, 1, cases[i].abort, 0, 0);
	}
	assert_int_equal(b->in[0].n, 0);
	free(p);
}

/* ---- The sender ---- */

/* No ACK within two seconds: again, from the first that is not acknowledged. */
static void
test_resend(void **state)
{
	struct kbed *b = *state;
	struct peer *p = peer_new(b);
	struct kernel_agent *a;

	assert_int_equal(enroll(b, &a, H1, 0, server_reg), 0);
	b->start = loop_now(b->r->loop);
	assert_int_equal(post_sa(a, GET_TABLE_RESP, 1, 2000, 0, 2), 0);	/* ten segments */
	run(b->r, MSEC(1));
	peer_reply(p, RMPP_ACK, 0, 1, 5);
	assert_int_equal(p->n, 5);
	peer_reply(p, RMPP_ACK, 0, 3, 5);	/* nothing more may be sent */
	peer_reply(p, RMPP_ACK, 0, 2, 5);	/* overtaken by the one before */
	assert_int_equal(p->n, 5);
	run(b->r, SEC(2));
	assert_int_equal(p->n, 7);		/* 4 and 5 again */
	assert_rmpp(p->mad[5], GET_TABLE_RESP, 1, 1, 0, 4, 0);
	assert_rmpp(p->mad[6], GET_TABLE_RESP, 1, 1, 0, 5, 0);
	assert_int_equal(p->at[5] - p->at[4], SEC(2));
	/* Progress gives the retries back: two more, and then it is over. */
	peer_reply(p, RMPP_ACK, 0, 4, 5);
	run(b->r, SEC(20));
	assert_int_equal(p->n, 9);
	assert_rmpp(p->mad[8], GET_TABLE_RESP, 1, 1, 0, 5, 0);
	assert_int_equal(p->at[8] - p->at[5], SEC(4));
	assert_int_equal(b->in[0].n, 1);
	assert_int_equal(b->in[0].mail[0].m.status, ETIMEDOUT);
	assert_int_equal(b->in[0].mail[0].m.len, 24);
	assert_int_equal(b->in[0].mail[0].at - p->at[8], SEC(2) - p->at[0]);
	/* A shorter time of the agent's own counts. */
	b->start = loop_now(b->r->loop);
	assert_int_equal(post_sa(a, GET_TABLE, 2, 2000, 300, 1), 0);
	run(b->r, SEC(1));
	assert_int_equal(p->n, 11);
	assert_int_equal(p->at[10] - p->at[9], MSEC(300));
	assert_int_equal(b->in[0].n, 2);
	assert_int_equal(b->in[0].mail[1].at, MSEC(600));
	free(p);
}

/* The other side ends it, or says what cannot be. */
static void
test_stopped(void **state)
{
	struct kbed *b = *state;
	struct peer *p = peer_new(b);
	struct kernel_agent *a;
	static const struct {
		uint8_t type, status;
		uint32_t segment, value;
		uint8_t abort;		/* status of the answer, 0 = none */
	} cases[] = {
		{ RMPP_STOP, 1, 0, 0, 0 },
		{ RMPP_STOP, 2, 0, 0, 124 },
		{ RMPP_ABORT, 118, 0, 0, 0 },
		{ RMPP_ABORT, 1, 0, 0, 124 },
		{ RMPP_ACK, 0, 2, 1, 122 },
		{ RMPP_ACK, 0, 2, 9, 123 },	/* only the first was sent */
		{ RMPP_ACK, 0, 11, 20, 123 },
		{ RMPP_ACK, 3, 1, 9, 124 },
		{ 9, 0, 1, 9, 121 },
	};

	assert_int_equal(enroll(b, &a, H1, 0, server_reg), 0);
	for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		p->n = 0;
		assert_int_equal(post_sa(a, GET_TABLE_RESP, i, 2000, 0, 5), 0);
		run(b->r, MSEC(1));
		peer_reply(p, cases[i].type, cases[i].status, cases[i].segment, cases[i].value);
		run(b->r, SEC(20));
		assert_int_equal(p->n, cases[i].abort ? 2 : 1);
		if (p->n == 2)
			assert_rmpp(p->mad[1], GET_TABLE_RESP, RMPP_ABORT, 1, cases[i].abort, 0,
				    0);
	}
	assert_int_equal(b->in[0].n, 0);
	/* While it is being sent, there is no second one of its TID to that place. */
	assert_int_equal(post_sa(a, GET_TABLE_RESP, 99, 2000, 0, 5), 0);
	assert_int_equal(post_sa(a, GET_TABLE_RESP, 99, 2000, 0, 5), EINVAL);
	free(p);
}

/* A request in segments: then the direction changes, and the answer is waited for. */
static void
test_double_sided(void **state)
{
	struct kbed *b = *state;
	struct peer *p = peer_new(b);
	struct kernel_agent *a;
	uint8_t mad[MAD_SIZE];

	assert_int_equal(enroll(b, &a, H1, 0, client_reg), 0);
	b->start = loop_now(b->r->loop);
	assert_int_equal(post_sa(a, GET_MULTI, 1, 300, 500, 3), 0);
	run(b->r, MSEC(1));
	assert_rmpp(p->mad[0], GET_MULTI, 1, 3, 0, 1, 2 * 220 - 100);
	peer_reply(p, RMPP_ACK, 0, 1, 10);
	assert_rmpp(p->mad[1], GET_MULTI, 1, 5, 0, 2, 120);
	peer_reply(p, RMPP_ACK, 0, 2, 10);
	assert_int_equal(p->n, 3);
	assert_rmpp(p->mad[2], GET_MULTI, RMPP_ACK, 1, 0, 0, 1);
	peer_reply(p, RMPP_ACK, 0, 2, 10);	/* it did not hear that */
	assert_int_equal(p->n, 4);
	assert_rmpp(p->mad[3], GET_MULTI, RMPP_ACK, 1, 0, 0, 1);
	/* The answer, in two segments. */
	memcpy(mad, p->mad[0], MAD_SIZE);
	mad[3] = GET_MULTI_RESP;
	rmpp(mad, RMPP_DATA, 3, 0, 1, 240);
	peer_send(p, mad);
	assert_rmpp(p->mad[4], GET_MULTI, RMPP_ACK, 1, 0, 1, 65);
	rmpp(mad, RMPP_DATA, 5, 0, 2, 20);
	peer_send(p, mad);
	assert_rmpp(p->mad[5], GET_MULTI, RMPP_ACK, 1, 0, 2, 65);
	assert_int_equal(b->in[0].n, 1);
	assert_int_equal(b->in[0].mail[0].m.len, 256);
	run(b->r, SEC(20));
	assert_int_equal(b->in[0].n, 1);
	/* No answer: it times out after the last ACK, whatever the retries. */
	p->n = 0;
	assert_int_equal(post_sa(a, GET_MULTI, 2, 100, 500, 3), 0);
	run(b->r, MSEC(100));
	peer_reply(p, RMPP_ACK, 0, 1, 10);
	b->start = loop_now(b->r->loop);
	assert_int_equal(p->n, 2);
	run(b->r, MSEC(499));
	assert_int_equal(b->in[0].n, 1);
	run(b->r, MSEC(2));
	assert_int_equal(b->in[0].n, 2);
	assert_int_equal(b->in[0].mail[1].m.status, ETIMEDOUT);
	assert_int_equal(p->n, 2);
	free(p);
}

/* The other end of that: the answer's first window is what the requester granted. */
static void
test_granted(void **state)
{
	struct kbed *b = *state;
	struct peer *p = peer_new(b);
	struct kernel_agent *a;
	uint8_t mad[MAD_SIZE], *m;

	assert_int_equal(enroll(b, &a, H1, 0, server_reg), 0);
	header(mad, SA, 2, GET_MULTI, 5);
	rmpp(mad, RMPP_DATA, 7, 0, 1, 100);
	peer_send(p, mad);
	assert_int_equal(b->in[0].n, 1);
	rmpp(mad, RMPP_ACK, 1, 0, 0, 4);
	peer_send(p, mad);
	assert_int_equal(p->n, 1);
	m = message(SA, GET_MULTI_RESP, 5, 2000);
	assert_int_equal(post(a, m, 2056, 0, 0), 0);
	run(b->r, MSEC(1));
	assert_int_equal(p->n, 5);
	assert_rmpp(p->mad[4], GET_MULTI_RESP, 1, 1, 0, 4, 0);
	free(m);
	free(p);
}

/* An agent that does RMPP itself gets and sends segments as they are. */
static void
test_user(void **state)
{
	struct kbed *b = *state;
	struct peer *p = peer_new(b);
	struct kernel_agent *a;
	struct kernel_registration r = server_reg;
	uint8_t mad[MAD_SIZE];

	r.user_rmpp = true;
	assert_int_equal(enroll(b, &a, H1, 0, r), 0);
	segment(mad, 3, 1, 0);
	peer_send(p, mad);
	assert_int_equal(p->n, 0);
	assert_int_equal(b->in[0].n, 1);
	assert_memory_equal(b->in[0].mail[0].data, mad, MAD_SIZE);
	/* Segments of an answer, of which only the first ends the request's wait. */
	header(mad, SA, 2, GET_TABLE, 9);
	assert_int_equal(mail_to(a, mad, LID2, 100, 0), 0);
	run(b->r, MSEC(1));
	memcpy(mad, p->mad[0], MAD_SIZE);
	mad[3] = GET_TABLE_RESP;
	for (uint32_t i = 1; i < 4; i++) {
		rmpp(mad, RMPP_DATA, i == 1 ? 3 : 1, 0, i, 0);
		peer_send(p, mad);
	}
	assert_int_equal(p->n, 1);
	assert_int_equal(b->in[0].n, 4);
	/* Its own segments have all the same TID, and that is allowed. */
	segment(mad, 3, 1, 0);
	assert_int_equal(mail_to(a, mad, LID2, 100, 0), 0);
	segment(mad, 1, 2, 0);
	assert_int_equal(mail_to(a, mad, LID2, 100, 0), 0);
	run(b->r, SEC(1));
	assert_int_equal(p->n, 3);
	assert_rmpp(p->mad[2], GET_TABLE, 1, 1, 0, 2, 0);
	free(p);
}

/* ---- Two kernels ---- */

static void
exchange(struct kbed *b, struct kernel_agent *client, struct kernel_agent *server, size_t len,
	 uint32_t tid)
{
	uint8_t *m = message(SA, GET_TABLE_RESP, tid, len);
	uint8_t mad[MAD_SIZE];

	header(mad, SA, 2, GET_TABLE, tid);
	empty(&b->in[0]);
	empty(&b->in[1]);
	assert_int_equal(mail_to(client, mad, LID2, 60000, 0), 0);
	run(b->r, MSEC(1));
	assert_int_equal(b->in[1].n, 1);
	memcpy(m + 8, b->in[1].mail[0].data + 8, 8);
	assert_int_equal(kernel_send(server, &(struct kernel_mad){
		.data = m, .len = 56 + len, .lid = b->in[1].mail[0].m.lid, .qpn = 1,
		.retries = 20 }), 0);
	free(m);
	run(b->r, SEC(39));
	assert_int_equal(b->in[0].n, 1);
	assert_message(&b->in[0].mail[0], SA, GET_TABLE_RESP, len);
	assert_int_equal(b->in[1].n, 1);
}

static void
test_exchange(void **state)
{
	struct kbed *b = *state;
	struct kernel_agent *client, *server;
	static const size_t lens[] = {
		0, 1, 199, 200, 201, 400, 12800, 12801, 13000, 13001, 77777,
	};
	uint32_t tid = 1;

	assert_int_equal(enroll(b, &client, H1, 0, client_reg), 0);
	assert_int_equal(enroll(b, &server, H2, 1, server_reg), 0);
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++)
		exchange(b, client, server, lens[i], tid++);
	assert_int_equal(kernel_dropped(b->k), 0);
	/* By now also what was remembered is forgotten. */
	assert_int_equal(client->in_bytes, 0);
	assert_int_equal(server->out_bytes, 0);
}

/* The answer is whole however many of its segments and ACKs get lost. */
static void
test_lossy(void **state)
{
	struct kbed *b = *state;
	struct kernel_agent *client, *server;
	struct kernel_registration r = server_reg;
	uint8_t *m = message(SA, GET_TABLE, 0, 60000);

	r.mgmt_class = SA;
	assert_int_equal(enroll(b, &client, H1, 0, client_reg), 0);
	assert_int_equal(enroll(b, &server, H2, 1, r), 0);
	model_drop(b->r->m, H2, 20000);
	for (uint32_t tid = 1; tid <= 10; tid++) {
		empty(&b->in[1]);
		put32(m + 12, tid);
		assert_int_equal(post(client, m, 60056, 0, 20), 0);
		run(b->r, SEC(39));
		assert_int_equal(b->in[1].n, 1);
		assert_message(&b->in[1].mail[0], SA, GET_TABLE, 60000);
	}
	assert_true(model_lost(b->r->m) > 20);
	assert_int_equal(b->in[0].n, 0);
	free(m);
}

/* Nobody waits any more when the last segment comes: then it was all for nothing. */
static void
test_too_late(void **state)
{
	struct kbed *b = *state;
	struct peer *p = peer_new(b);
	struct kernel_agent *a;
	uint8_t mad[MAD_SIZE];

	assert_int_equal(enroll(b, &a, H1, 0, client_reg), 0);
	header(mad, SA, 2, GET_TABLE, 5);
	assert_int_equal(mail_to(a, mad, LID2, 100, 0), 0);
	run(b->r, MSEC(1));
	memcpy(mad, p->mad[0], MAD_SIZE);
	mad[3] = GET_TABLE_RESP;
	rmpp(mad, RMPP_DATA, 3, 0, 1, 240);
	peer_send(p, mad);
	run(b->r, MSEC(100));
	assert_int_equal(b->in[0].n, 1);
	assert_int_equal(b->in[0].mail[0].m.status, ETIMEDOUT);
	rmpp(mad, RMPP_DATA, 5, 0, 2, 20);
	peer_send(p, mad);
	assert_int_equal(p->n, 3);
	assert_rmpp(p->mad[2], GET_TABLE, RMPP_ACK, 1, 0, 2, 65);
	assert_int_equal(b->in[0].n, 1);
	assert_int_equal(kernel_dropped(b->k), 1);
	free(p);
}

/* Agents go in the middle of messages, both ways, and in the callback of one. */
static void
test_dying(void **state)
{
	struct kbed *b = *state;
	struct kernel_agent *client, *server;

	assert_int_equal(enroll(b, &client, H1, 0, client_reg), 0);
	assert_int_equal(enroll(b, &server, H2, 1, server_reg), 0);
	assert_int_equal(post_sa(client, GET_TABLE, 1, 100000, 0, 2), 0);
	run(b->r, USEC(20));
	kernel_unregister(client);
	run(b->r, SEC(1));
	assert_int_equal(enroll(b, &client, H1, 0, client_reg), 0);
	assert_int_equal(post_sa(client, GET_TABLE, 1, 100000, 100, 2), 0);
	run(b->r, USEC(20));
	kernel_unregister(server);
	run(b->r, SEC(1));
	assert_int_equal(b->in[1].n, 0);
	assert_int_equal(b->in[0].n, 1);
	assert_int_equal(b->in[0].mail[0].m.status, ETIMEDOUT);
	assert_int_equal(enroll(b, &server, H2, 1, server_reg), 0);
	assert_int_equal(post_sa(client, GET_TABLE, 1, 10000, 100, 2), 0);
	b->in[1].victim = server;
	run(b->r, SEC(60));
	assert_int_equal(b->in[1].n, 1);
	assert_message(&b->in[1].mail[0], SA, GET_TABLE, 10000);
}

/* 22 MB, as a large fabric's path records are. */
static void
test_big(void **state)
{
	struct kbed *b = *state;
	struct kernel_agent *client, *server;

	assert_int_equal(enroll(b, &client, H1, 0, client_reg), 0);
	assert_int_equal(enroll(b, &server, H2, 1, server_reg), 0);
	exchange(b, client, server, BIG, 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		KTEST(test_segments), KTEST(test_offsets), KTEST(test_receiver),
		KTEST(test_too_long), KTEST(test_refusals), KTEST(test_resend),
		KTEST(test_stopped), KTEST(test_double_sided), KTEST(test_granted),
		KTEST(test_user), KTEST(test_exchange), KTEST(test_lossy), KTEST(test_too_late),
		KTEST(test_dying), KTEST(test_big),
	};

	alarm(100);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
