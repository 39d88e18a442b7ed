/* SPDX-License-Identifier: BSD-2-Clause */
/* What a simulated host's kernel does with agents, requests, responses and time-outs. */
#include "sm/base/log.h"
#include "tests/unit/kernel_bed.h"

#define VENDOR 0x32
#define COMMUNICATION 0x07

static const struct kernel_registration sa = {
	.qp = 1, .mgmt_class = 3, .class_version = 2, .methods = GETS,
};
static const struct kernel_registration sends_only = { .qp = 1 };

/* Who may register for what. */
static void
test_register(void **state)
{
	struct kbed *b = *state;
	struct kernel_agent *a;
	static const struct {
		struct kernel_registration r;
		int rc;
	} cases[] = {
		{ { .qp = 2 }, EINVAL },
		{ { .qp = 1, .rmpp_version = 2 }, EINVAL },
		{ { .qp = 1, .user_rmpp = true }, EINVAL },
		{ { .qp = 1 }, 0 },
		{ { .qp = 0 }, 0 },
		{ { .qp = 1, .rmpp_version = 1 }, 0 },
		/* Classes and the queue pairs that they belong to. */
		{ { .qp = 0, .mgmt_class = 0x01, .class_version = 1, .methods = GETS }, 0 },
		{ { .qp = 0, .mgmt_class = 0x81, .class_version = 1, .methods = GETS }, 0 },
		{ { .qp = 1, .mgmt_class = 0x81, .class_version = 1, .methods = GETS }, EINVAL },
		{ { .qp = 1, .mgmt_class = 0x01, .class_version = 1, .methods = GETS }, EINVAL },
		{ { .qp = 0, .mgmt_class = 0x03, .class_version = 2, .methods = GETS }, EINVAL },
		{ { .qp = 1, .mgmt_class = 0x4f, .class_version = 1, .oui = 1, .methods = GETS },
		  0 },
		{ { .qp = 1, .mgmt_class = 0x50, .class_version = 1, .methods = GETS }, EINVAL },
		{ { .qp = 1, .mgmt_class = 0x82, .class_version = 1, .methods = GETS }, EINVAL },
		{ { .qp = 1, .mgmt_class = 0x03, .class_version = 7, .methods = GETS }, 0 },
		{ { .qp = 1, .mgmt_class = 0x03, .class_version = 8, .methods = GETS }, EINVAL },
		/* Vendors' classes: with an OUI from 0x30, without one below. */
		{ { .qp = 1, .mgmt_class = 0x30, .class_version = 1, .methods = GETS }, EINVAL },
		{ { .qp = 1, .mgmt_class = 0x30, .class_version = 1, .oui = 0x1000000,
		    .methods = GETS }, EINVAL },
		{ { .qp = 1, .mgmt_class = 0x09, .class_version = 1, .methods = GETS }, 0 },
		/* Classes that have RMPP. */
		{ { .qp = 1, .mgmt_class = 0x04, .class_version = 1, .rmpp_version = 1,
		    .methods = GETS }, EINVAL },
		{ { .qp = 1, .mgmt_class = 0x06, .class_version = 1, .rmpp_version = 1,
		    .methods = GETS }, 0 },
		{ { .qp = 1, .mgmt_class = 0x10, .class_version = 1, .rmpp_version = 1,
		    .methods = GETS }, 0 },
		{ { .qp = 1, .mgmt_class = 0x12, .class_version = 1, .rmpp_version = 1,
		    .methods = GETS }, 0 },
		{ { .qp = 1, .mgmt_class = 0x32, .class_version = 1, .rmpp_version = 1, .oui = 1,
		    .methods = GETS }, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(enroll(b, &a, H1, 0, cases[i].r), cases[i].rc);
		assert_true(!a == !!cases[i].rc);
	}
	/* No such node; not an end port. */
	assert_int_equal(enroll(b, &a, 99, 0, sa), ENODEV);
	assert_int_equal(enroll(b, &a, A, 0, sa), ENODEV);
	assert_int_equal(kernel_register(&a, b->k, H1, 257, &sa, &(struct kernel_events){ 0 }),
			 ENODEV);
}

/* One agent for each method of a class, version and vendor on a port. */
static void
test_taken(void **state)
{
	struct kbed *b = *state;
	struct kernel_agent *a, *c, *v[8];
	struct kernel_registration r = sa;

	assert_int_equal(enroll(b, &a, H1, 0, r), 0);
	assert_int_equal(enroll(b, &c, H1, 0, r), EINVAL);
	r.methods[0] = 1u << MAD_REPORT | 1u << MAD_SET;
	assert_int_equal(enroll(b, &c, H1, 0, r), EINVAL);
	r.methods[0] = 1u << MAD_REPORT;
	assert_int_equal(enroll(b, &c, H1, 0, r), 0);		/* another method */
	r.methods[0] = 0;
	r.methods[3] = 1u << 31;				/* method 127 */
	assert_int_equal(enroll(b, &c, H1, 0, r), 0);
	assert_int_equal(enroll(b, &c, H1, 0, r), EINVAL);
	r = sa;
	r.class_version = 1;
	assert_int_equal(enroll(b, &c, H1, 0, r), 0);		/* another version */
	assert_int_equal(enroll(b, &c, H2, 0, sa), 0);		/* another port */
	kernel_unregister(a);
	assert_int_equal(enroll(b, &a, H1, 0, sa), 0);		/* it is free again */
	/* Eight vendors for a class, no more. */
	r = (struct kernel_registration){ .qp = 1, .mgmt_class = VENDOR, .class_version = 1,
					  .oui = 0x1405, .methods = GETS };
	for (unsigned i = 0; i < 8; i++, r.oui++)
		assert_int_equal(enroll(b, &v[i], H1, 0, r), 0);
	assert_int_equal(enroll(b, &c, H1, 0, r), EINVAL);
	kernel_unregister(v[3]);
	assert_int_equal(enroll(b, &c, H1, 0, r), 0);
}

/* A request, its TID as it travels, and its answer. */
static void
test_request(void **state)
{
	struct kbed *b = *state;
	struct kernel_agent *other, *client, *server;
	uint8_t mad[MAD_SIZE];

	assert_int_equal(enroll(b, &other, H1, 2, sends_only), 0);
	assert_int_equal(enroll(b, &client, H1, 0, sends_only), 0);
	assert_int_equal(enroll(b, &server, H2, 1, sa), 0);
	header(mad, 3, 2, MAD_GET, 77);
	put32(mad + 8, 0xffffffff);		/* not the client's to choose */
	assert_int_equal(mail_to(client, mad, LID2, 100, 0), 0);
	run(b->r, MSEC(1));
	assert_int_equal(b->in[1].n, 1);
	assert_int_equal(get32(b->in[1].mail[0].data + 8), 2);	/* the second agent */
	assert_int_equal(get32(b->in[1].mail[0].data + 12), 77);
	assert_int_equal(b->in[1].mail[0].m.lid, LID1);
	assert_int_equal(b->in[1].mail[0].m.qpn, 1);
	assert_int_equal(b->in[1].mail[0].m.len, MAD_SIZE);
	assert_int_equal(answer(server, &b->in[1]), 0);
	run(b->r, SEC(1));
	assert_int_equal(b->in[0].n, 1);
	assert_int_equal(b->in[0].mail[0].m.status, 0);
	assert_int_equal(b->in[0].mail[0].data[3], MAD_GET_RESP);
	assert_int_equal(get32(b->in[0].mail[0].data + 8), 2);
	assert_int_equal(b->in[2].n, 0);
	/* A second answer has nobody who waits for it. */
	assert_int_equal(kernel_dropped(b->k), 0);
	assert_int_equal(answer(server, &b->in[1]), 0);
	run(b->r, SEC(1));
	assert_int_equal(b->in[0].n, 1);
	assert_int_equal(kernel_dropped(b->k), 1);
	/* Nor has the answer to a request without a time-out. */
	assert_int_equal(mail_to(client, mad, LID2, 0, 0), 0);
	run(b->r, MSEC(1));
	assert_int_equal(answer(server, &b->in[1]), 0);
	run(b->r, SEC(1));
	assert_int_equal(b->in[0].n, 1);
	assert_int_equal(kernel_dropped(b->k), 2);
}

/* Requests go by class, version and method; what nobody wants is dropped. */
static void
test_methods(void **state)
{
	struct kbed *b = *state;
	struct kernel_agent *client, *gets, *reports, *old;
	struct kernel_registration r = sa;
	uint8_t mad[MAD_SIZE];

	assert_int_equal(enroll(b, &client, H1, 0, sends_only), 0);
	assert_int_equal(enroll(b, &gets, H2, 1, sa), 0);
	r.methods[0] = 1u << MAD_REPORT;
	assert_int_equal(enroll(b, &reports, H2, 2, r), 0);
	r = sa;
	r.class_version = 1;
	assert_int_equal(enroll(b, &old, H2, 3, r), 0);
	header(mad, 3, 2, MAD_SET, 1);
	assert_int_equal(mail_to(client, mad, LID2, 0, 0), 0);
	header(mad, 3, 2, MAD_REPORT, 2);
	assert_int_equal(mail_to(client, mad, LID2, 0, 0), 0);
	header(mad, 3, 1, MAD_GET, 3);
	assert_int_equal(mail_to(client, mad, LID2, 0, 0), 0);
	header(mad, 3, 3, MAD_GET, 4);		/* no such version */
	assert_int_equal(mail_to(client, mad, LID2, 0, 0), 0);
	header(mad, 3, 2, 0x12, 5);		/* no such method */
	assert_int_equal(mail_to(client, mad, LID2, 0, 0), 0);
	header(mad, 9, 1, MAD_GET, 6);		/* no such class */
	assert_int_equal(mail_to(client, mad, LID2, 0, 0), 0);
	header(mad, 3, 2, MAD_GET, 7);
	mad[0] = 2;				/* no such version of MADs */
	assert_int_equal(mail_to(client, mad, LID2, 0, 0), 0);
	run(b->r, MSEC(1));
	for (unsigned i = 1; i < 4; i++) {
		assert_int_equal(b->in[i].n, 1);
		assert_int_equal(get32(b->in[i].mail[0].data + 12), i);
	}
	assert_int_equal(kernel_dropped(b->k), 4);
}

/* Vendors' classes are told apart by the OUI in bytes 37 to 39. */
static void
test_vendors(void **state)
{
	struct kbed *b = *state;
	struct kernel_agent *client, *a, *c;
	struct kernel_registration r = { .qp = 1, .mgmt_class = VENDOR, .class_version = 1,
					 .oui = 0x001405, .methods = GETS };
	uint8_t mad[MAD_SIZE];

	assert_int_equal(enroll(b, &client, H1, 0, sends_only), 0);
	assert_int_equal(enroll(b, &a, H2, 1, r), 0);
	r.oui = 0x0002c9;
	assert_int_equal(enroll(b, &c, H2, 2, r), 0);
	header(mad, VENDOR, 1, MAD_GET, 1);
	mad[38] = 0x14;
	mad[39] = 0x05;
	assert_int_equal(mail_to(client, mad, LID2, 0, 0), 0);
	header(mad, VENDOR, 1, MAD_GET, 2);
	mad[38] = 0x02;
	mad[39] = 0xc9;
	assert_int_equal(mail_to(client, mad, LID2, 0, 0), 0);
	header(mad, VENDOR, 1, MAD_GET, 3);
	mad[37] = 1;
	assert_int_equal(mail_to(client, mad, LID2, 0, 0), 0);
	run(b->r, MSEC(1));
	assert_int_equal(b->in[1].n, 1);
	assert_int_equal(get32(b->in[1].mail[0].data + 12), 1);
	assert_int_equal(b->in[2].n, 1);
	assert_int_equal(get32(b->in[2].mail[0].data + 12), 2);
	assert_int_equal(kernel_dropped(b->k), 1);
}

/* Three sends 20 ms apart, and back it comes 20 ms after the last, 24 bytes long. */
static void
test_timeout(void **state)
{
	struct kbed *b = *state;
	struct kernel_agent *client, *server;
	uint8_t mad[MAD_SIZE];

	assert_int_equal(enroll(b, &client, H1, 0, sends_only), 0);
	assert_int_equal(enroll(b, &server, H2, 1, sa), 0);
	header(mad, 3, 2, MAD_GET, 5);
	assert_int_equal(mail_to(client, mad, LID2, 20, 2), 0);
	run(b->r, MSEC(60) - 1);
	assert_int_equal(b->in[1].n, 3);
	assert_int_equal(b->in[1].mail[1].at - b->in[1].mail[0].at, MSEC(20));
	assert_int_equal(b->in[1].mail[2].at - b->in[1].mail[1].at, MSEC(20));
	assert_memory_equal(b->in[1].mail[0].data, b->in[1].mail[2].data, MAD_SIZE);
	assert_int_equal(b->in[0].n, 0);
	run(b->r, 1);
	assert_int_equal(b->in[0].n, 1);
	assert_int_equal(b->in[0].mail[0].at, MSEC(60));
	assert_int_equal(b->in[0].mail[0].m.status, ETIMEDOUT);
	assert_int_equal(b->in[0].mail[0].m.len, 24);
	assert_int_equal(b->in[0].mail[0].m.lid, LID2);
	assert_int_equal(get32(b->in[0].mail[0].data + 8), 1);
	assert_int_equal(get32(b->in[0].mail[0].data + 12), 5);
	run(b->r, SEC(10));
	assert_int_equal(b->in[1].n, 3);
	assert_int_equal(b->in[0].n, 1);
	/* Without retries it is the same 24 bytes. */
	header(mad, 3, 2, MAD_GET, 6);
	b->start = loop_now(b->r->loop);
	assert_int_equal(mail_to(client, mad, LID2, 7, 0), 0);
	run(b->r, SEC(1));
	assert_int_equal(b->in[0].n, 2);
	assert_int_equal(b->in[0].mail[1].at, MSEC(7));
	assert_int_equal(get32(b->in[0].mail[1].data + 12), 6);
}

/* An answer to an earlier try counts as long as the request waits, and not after that. */
static void
test_late(void **state)
{
	struct kbed *b = *state;
	struct kernel_agent *client, *server;
	uint8_t mad[MAD_SIZE];

	assert_int_equal(enroll(b, &client, H1, 0, sends_only), 0);
	assert_int_equal(enroll(b, &server, H2, 1, sa), 0);
	header(mad, 3, 2, MAD_GET, 1);
	assert_int_equal(mail_to(client, mad, LID2, 20, 1), 0);
	run(b->r, MSEC(30));
	assert_int_equal(b->in[1].n, 2);
	assert_int_equal(answer(server, &b->in[1]), 0);
	assert_int_equal(answer(server, &b->in[1]), 0);
	run(b->r, SEC(1));
	assert_int_equal(b->in[0].n, 1);
	assert_int_equal(b->in[0].mail[0].m.status, 0);
	assert_int_equal(kernel_dropped(b->k), 1);
	header(mad, 3, 2, MAD_GET, 2);
	assert_int_equal(mail_to(client, mad, LID2, 20, 0), 0);
	run(b->r, MSEC(20));
	assert_int_equal(b->in[0].n, 2);
	assert_int_equal(b->in[0].mail[1].m.status, ETIMEDOUT);
	assert_int_equal(answer(server, &b->in[1]), 0);
	run(b->r, SEC(1));
	assert_int_equal(b->in[0].n, 2);
	assert_int_equal(kernel_dropped(b->k), 2);
}

static void
test_duplicates(void **state)
{
	struct kbed *b = *state;
	struct kernel_agent *client, *other;
	uint8_t mad[MAD_SIZE];

	assert_int_equal(enroll(b, &client, H1, 0, sends_only), 0);
	assert_int_equal(enroll(b, &other, H1, 1, sends_only), 0);
	header(mad, 3, 2, MAD_GET, 1);
	assert_int_equal(mail_to(client, mad, LID2, 20, 0), 0);
	assert_int_equal(mail_to(client, mad, LID2, 20, 0), EINVAL);
	assert_int_equal(mail_to(client, mad, LID1, 0, 0), EINVAL);
	put32(mad + 8, 9);			/* the upper half does not count */
	assert_int_equal(mail_to(client, mad, LID2, 20, 0), EINVAL);
	assert_int_equal(mail_to(other, mad, LID2, 20, 0), 0);
	header(mad, 9, 1, MAD_GET, 1);		/* another class */
	assert_int_equal(mail_to(client, mad, LID2, 20, 0), 0);
	header(mad, 3, 2, MAD_GET, 2);		/* another TID */
	assert_int_equal(mail_to(client, mad, LID2, 20, 0), 0);
	/* Responses: one for each destination. */
	header(mad, 3, 2, MAD_GET_RESP, 1);
	put32(mad + 8, 1);
	assert_int_equal(mail_to(client, mad, LID1, 20, 0), 0);
	assert_int_equal(mail_to(client, mad, LID1, 20, 0), EINVAL);
	assert_int_equal(mail_to(client, mad, LID2, 20, 0), 0);
	run(b->r, SEC(1));
	assert_int_equal(b->in[0].n, 5);	/* all timed out */
	header(mad, 3, 2, MAD_GET, 1);
	assert_int_equal(mail_to(client, mad, LID2, 20, 0), 0);
}

/* What write() refuses. */
static void
test_refused(void **state)
{
	struct kbed *b = *state;
	struct kernel_agent *client, *rmpp;
	struct kernel_registration r = { .qp = 1, .rmpp_version = 1 };
	uint8_t mad[2 * MAD_SIZE] = { 0 };
	struct kernel_mad m = { .data = mad, .len = 35, .lid = LID2 };

	assert_int_equal(enroll(b, &client, H1, 0, sends_only), 0);
	assert_int_equal(enroll(b, &rmpp, H1, 1, r), 0);
	header(mad, 4, 1, MAD_GET, 1);
	assert_int_equal(kernel_send(client, &m), EINVAL);
	m.len = 36;
	assert_int_equal(kernel_send(client, &m), 0);
	m.len = MAD_SIZE + 1;
	assert_int_equal(kernel_send(client, &m), EINVAL);
	m.len = MAD_SIZE;
	assert_int_equal(kernel_send(rmpp, &m), EINVAL);	/* its class has no RMPP */
}

/* A flood of requests that nobody answers ends at as many as Linux keeps MADs that nobody reads. */
static void
test_flood(void **state)
{
	struct kbed *b = *state;
	struct kernel_agent *a;
	uint8_t mad[MAD_SIZE];

	assert_int_equal(enroll(b, &a, H1, 0, (struct kernel_registration){ .qp = 1 }), 0);
	for (uint32_t i = 0; i < 200000; i++) {
		header(mad, 4, 1, MAD_GET, i);
		assert_int_equal(mail_to(a, mad, 999, 10000, 0), 0);
	}
	assert_int_equal(mail_to(a, mad, 999, 10000, 0), ENOMEM);
}

/* Agents go while messages of theirs are on their way, or in their own callback. */
static void
test_dying(void **state)
{
	struct kbed *b = *state;
	struct kernel_agent *client, *server, *other;
	uint8_t mad[MAD_SIZE];

	assert_int_equal(enroll(b, &client, H1, 0, sends_only), 0);
	assert_int_equal(enroll(b, &other, H1, 2, sends_only), 0);
	assert_int_equal(enroll(b, &server, H2, 1, sa), 0);
	header(mad, 3, 2, MAD_GET, 1);
	assert_int_equal(mail_to(client, mad, LID2, 20, 3), 0);
	header(mad, 9, 1, MAD_GET, 2);
	assert_int_equal(mail_to(client, mad, LID2, 10, 0), 0);
	run(b->r, MSEC(1));
	assert_int_equal(answer(server, &b->in[1]), 0);
	kernel_unregister(client);
	run(b->r, SEC(1));
	assert_int_equal(b->in[0].n, 0);
	assert_int_equal(kernel_dropped(b->k), 2);
	/* In the callback of an answer, of a time-out, of a request. */
	header(mad, 3, 2, MAD_GET, 3);
	assert_int_equal(mail_to(other, mad, LID2, 20, 0), 0);
	header(mad, 3, 2, MAD_GET, 4);
	assert_int_equal(mail_to(other, mad, LID2, 20, 0), 0);
	b->in[2].victim = other;
	run(b->r, SEC(1));
	assert_int_equal(b->in[2].n, 1);
	assert_int_equal(b->in[2].mail[0].m.status, ETIMEDOUT);
	assert_int_equal(enroll(b, &client, H1, 0, sends_only), 0);
	assert_int_equal(mail_to(client, mad, LID2, 20, 0), 0);
	b->in[1].victim = server;
	run(b->r, MSEC(1));
	assert_int_equal(b->in[1].n, 4);
	assert_int_equal(enroll(b, &server, H2, 1, sa), 0);
	b->in[0].victim = client;
	assert_int_equal(answer(server, &b->in[1]), 0);
	run(b->r, SEC(1));
	assert_int_equal(b->in[0].n, 1);
	assert_int_equal(b->in[0].mail[0].m.status, 0);
	kernel_unregister(NULL);
}

/* The port's GID of its first GUID: h1's port is 0x11, h2's 0x21. */
static void
gid(uint8_t *to, uint8_t guid)
{
	memset(to, 0, 16);
	to[0] = 0xfe;
	to[1] = 0x80;
	to[15] = guid;
}

/* With a GRH the ends are GIDs, and an answer without one is none. */
static void
test_grh(void **state)
{
	struct kbed *b = *state;
	struct kernel_agent *client, *server;
	uint8_t mad[MAD_SIZE], h1[16], h2[16];
	struct kernel_mad m = {
		.data = mad, .len = MAD_SIZE, .lid = LID2, .qpn = 1, .timeout_ms = 100,
		.grh = true, .hop_limit = 3, .traffic_class = 4, .flow_label = 0x12345,
	};
	const struct mail *got = &b->in[1].mail[0];

	gid(h1, 0x11);
	gid(h2, 0x21);
	memcpy(m.gid, h2, 16);
	assert_int_equal(enroll(b, &client, H1, 0, sends_only), 0);
	assert_int_equal(enroll(b, &server, H2, 1, sa), 0);
	header(mad, 3, 2, MAD_GET, 1);
	m.gid_index = 1;			/* no such GID */
	assert_int_equal(kernel_send(client, &m), EINVAL);
	m.gid_index = 0;
	assert_int_equal(kernel_send(client, &m), 0);
	run(b->r, MSEC(1));
	assert_int_equal(b->in[1].n, 1);
	assert_true(got->m.grh);
	assert_memory_equal(got->m.gid, h1, 16);
	assert_int_equal(got->m.gid_index, 0);
	assert_int_equal(got->m.hop_limit, 255);
	assert_int_equal(got->m.traffic_class, 4);
	assert_int_equal(got->m.flow_label, 0x12345);
	assert_int_equal(answer(server, &b->in[1]), 0);		/* without a GRH */
	run(b->r, MSEC(1));
	assert_int_equal(b->in[0].n, 0);
	memcpy(mad, got->data, MAD_SIZE);
	mad[3] = MAD_GET_RESP;
	m = got->m;
	m.data = mad;
	gid(m.gid, 0x99);			/* to another GID */
	assert_int_equal(kernel_send(server, &m), 0);
	run(b->r, MSEC(1));
	assert_int_equal(b->in[0].n, 0);
	memcpy(m.gid, h1, 16);
	assert_int_equal(kernel_send(server, &m), 0);
	run(b->r, MSEC(1));
	assert_int_equal(b->in[0].n, 1);
	assert_true(b->in[0].mail[0].m.grh);
	assert_memory_equal(b->in[0].mail[0].m.gid, h2, 16);
	assert_int_equal(kernel_dropped(b->k), 2);
}

/* h1 has LIDs 8 to 11: what it is sent at, and from, is told by the lowest bits. */
static void
test_path_bits(void **state)
{
	struct kbed *b = *state;
	struct model_client_events ev = { .receive = on_receive, .arg = &b->r->in1 };
	struct kernel_agent *client, *server;
	uint8_t mad[MAD_SIZE];
	struct portinfo info;
	struct kernel_mad m = { .data = mad, .len = MAD_SIZE, .lid = 10, .qpn = 1,
				.path_bits = 7, .timeout_ms = 100 };

	b->r->c1 = model_attach(b->r->m, H1, 1, &ev);
	info = get_port(b->r, "", 0);
	info.lid = 8;
	info.lmc = 2;
	info.state = info.phys_state = 0;
	assert_int_equal(set_port(b->r, "", 0, &info), 0);
	model_detach(b->r->c1);
	assert_int_equal(enroll(b, &client, H1, 0, sends_only), 0);
	assert_int_equal(enroll(b, &server, H1, 1, sa), 0);
	header(mad, 3, 2, MAD_GET, 1);
	assert_int_equal(kernel_send(client, &m), 0);
	run(b->r, MSEC(1));
	assert_int_equal(b->in[1].n, 1);
	assert_int_equal(b->in[1].mail[0].m.lid, 11);
	assert_int_equal(b->in[1].mail[0].m.path_bits, 2);
	memcpy(mad, b->in[1].mail[0].data, MAD_SIZE);
	mad[3] = MAD_GET_RESP;
	assert_int_equal(mail_to(server, mad, 10, 0, 0), 0);	/* to where it did not come from */
	run(b->r, MSEC(1));
	assert_int_equal(b->in[0].n, 0);
	assert_int_equal(mail_to(server, mad, 11, 0, 0), 0);
	run(b->r, MSEC(1));
	assert_int_equal(b->in[0].n, 1);
	assert_int_equal(b->in[0].mail[0].m.path_bits, 3);
	assert_int_equal(b->in[0].mail[0].m.lid, 8);
}

static void
dr_header(uint8_t *mad, uint8_t method, uint16_t attr, uint32_t tid, const char *path)
{
	struct smp s = {
		.h = { .base_version = 1, .mgmt_class = MAD_CLASS_SUBN_DIRECT, .class_version = 1,
		       .method = method, .attr_id = attr, .tid = tid },
		.dr_slid = LID_PERMISSIVE, .dr_dlid = LID_PERMISSIVE,
	};

	for (; path[s.hop_count]; s.hop_count++)
		s.path[s.hop_count + 1] = (uint8_t)(path[s.hop_count] - '0');
	smp_encode(&s, mad);
}

/* SMPs: the devices answer most; SMInfo comes to programs, by the class that it was sent in. */
static void
test_smps(void **state)
{
	struct kbed *b = *state;
	struct kernel_agent *client, *direct, *routed;
	struct kernel_registration r = { .class_version = 1, .methods = GETS };
	uint8_t mad[MAD_SIZE];

	assert_int_equal(enroll(b, &client, H1, 0, (struct kernel_registration){ .qp = 0 }), 0);
	r.mgmt_class = MAD_CLASS_SUBN_LID;
	assert_int_equal(enroll(b, &routed, H2, 1, r), 0);
	r.mgmt_class = MAD_CLASS_SUBN_DIRECT;
	assert_int_equal(enroll(b, &direct, H2, 2, r), 0);
	dr_header(mad, MAD_GET, ATTR_NODE_INFO, 1, "124");
	assert_int_equal(mail_to(client, mad, LID_PERMISSIVE, 20, 0), 0);
	dr_header(mad, MAD_GET, ATTR_NODE_INFO, 2, "");	/* the own node */
	assert_int_equal(mail_to(client, mad, LID_PERMISSIVE, 20, 0), 0);
	run(b->r, MSEC(1));
	assert_int_equal(b->in[0].n, 2);
	assert_int_equal(b->in[0].mail[0].data[3], MAD_GET_RESP);
	assert_int_equal(b->in[0].mail[1].data[3], MAD_GET_RESP);
	assert_int_equal(b->in[0].mail[0].m.qpn, 0);
	assert_int_equal(b->in[0].mail[0].m.lid, LID_PERMISSIVE);
	dr_header(mad, MAD_GET, ATTR_SM_INFO, 3, "124");
	assert_int_equal(mail_to(client, mad, LID_PERMISSIVE, 20, 0), 0);
	header(mad, MAD_CLASS_SUBN_LID, 1, MAD_GET, 4);
	mad[17] = ATTR_SM_INFO;
	assert_int_equal(mail_to(client, mad, LID2, 20, 0), 0);
	run(b->r, MSEC(1));
	assert_int_equal(b->in[1].n, 1);
	assert_int_equal(get32(b->in[1].mail[0].data + 12), 4);
	assert_int_equal(b->in[2].n, 1);
	assert_int_equal(get32(b->in[2].mail[0].data + 12), 3);
}

/* A trap goes to whoever registered for traps; its repress counts as a response. */
static void
test_repress(void **state)
{
	struct kbed *b = *state;
	struct kernel_agent *sender, *sm;
	struct kernel_registration r = { .mgmt_class = MAD_CLASS_SUBN_LID, .class_version = 1,
					 .methods = { 1u << MAD_TRAP } };
	uint8_t mad[MAD_SIZE];

	assert_int_equal(enroll(b, &sender, H1, 0, (struct kernel_registration){ .qp = 0 }), 0);
	assert_int_equal(enroll(b, &sm, H2, 1, r), 0);
	header(mad, MAD_CLASS_SUBN_LID, 1, MAD_TRAP, 1);
	mad[17] = ATTR_NOTICE;
	assert_int_equal(mail_to(sender, mad, LID2, 100, 0), 0);
	run(b->r, MSEC(1));
	assert_int_equal(b->in[1].n, 1);
	memcpy(mad, b->in[1].mail[0].data, MAD_SIZE);
	mad[3] = MAD_TRAP_REPRESS;
	assert_int_equal(mail_to(sm, mad, LID1, 0, 0), 0);
	run(b->r, SEC(1));
	assert_int_equal(b->in[0].n, 1);
	assert_int_equal(b->in[0].mail[0].data[3], MAD_TRAP_REPRESS);
	assert_int_equal(b->in[0].mail[0].m.status, 0);
}

static void
test_issm(void **state)
{
	struct kbed *b = *state;

	assert_int_equal(kernel_issm(b->k, A, 1, true), ENODEV);
	assert_int_equal(kernel_issm(b->k, H1, 1, true), 0);
	assert_true(model_portinfo(b->r->m, H1, 1)->cap_mask & CAP_IS_SM);
	assert_int_equal(kernel_issm(b->k, H1, 1, true), EBUSY);
	assert_int_equal(kernel_issm(b->k, H2, 1, true), 0);
	assert_int_equal(kernel_issm(b->k, H1, 1, false), 0);
	assert_false(model_portinfo(b->r->m, H1, 1)->cap_mask & CAP_IS_SM);
	assert_int_equal(kernel_issm(b->k, H1, 1, false), 0);
	assert_int_equal(kernel_issm(b->k, H1, 1, true), 0);
}

struct watcher {
	struct kernel_watch *w;
	struct watcher *kills;		/* unwatched by this one's call */
	unsigned told;
};

static void
on_watch(void *arg)
{
	struct watcher *w = arg;

	w->told++;
	if (!w->kills)
		return;
	kernel_unwatch(w->kills->w);
	w->kills->w = NULL;
	w->kills = NULL;
}

static void
test_watch(void **state)
{
	struct kbed *b = *state;
	struct watcher w[3] = { { 0 } };

	for (unsigned i = 0; i < 3; i++)
		w[i].w = kernel_watch(b->k, H1, 1, on_watch, &w[i]);
	assert_null(kernel_watch(b->k, A, 1, on_watch, &w[0]));
	w[0].kills = &w[1];
	model_link_set(b->r->m, A, 1, false);
	run(b->r, MSEC(1));
	assert_true(w[0].told > 0);
	assert_int_equal(w[1].told, 0);
	assert_true(w[2].told > 0);
	w[2].kills = &w[2];
	w[2].told = 0;
	model_link_set(b->r->m, A, 1, true);
	run(b->r, MSEC(5));
	assert_int_equal(w[2].told, 1);
	kernel_unwatch(w[0].w);
	kernel_unwatch(NULL);
}

/* ---- The transport over a kernel ---- */

struct user {
	struct port *port;
	struct port_mad last;	/* what came last; its data is `whole` */
	uint8_t *whole;		/* copy of the last message that was long */
	const uint8_t *answer;	/* what to answer with, NULL = do not */
	size_t answer_len;	/* bytes of it */
	unsigned n;		/* how many came */
	int state;		/* +1 up, -1 down, by the last report */
};

/* As a subnet administrator does: the way the request came, its TID, the flags of RMPP. */
static void
user_answer(struct user *u, const struct port_mad *m)
{
	struct port_mad out = { .len = (uint32_t)u->answer_len };
	uint8_t *data = malloc(u->answer_len);

	memcpy(data, u->answer, u->answer_len);
	memcpy(data, m->mad, MAD_HEADER_SIZE);
	data[3] |= MAD_RESPONSE;
	data[24] = data[26] = 1;
	out.data = data;
	port_answer_to(&out, m);
	assert_int_equal(port_send(u->port, &out), 0);
	free(data);
}

static void
user_receive(void *arg, const struct port_mad *m)
{
	struct user *u = arg;

	u->last = *m;
	u->n++;
	if (m->data) {
		free(u->whole);
		u->last.data = u->whole = malloc(m->len);
		memcpy(u->whole, m->data, m->len);
	}
	if (u->answer && !m->status)
		user_answer(u, m);
}

static void
user_state(void *arg, bool up, const char *why)
{
	assert_true(strlen(why) > 0);
	((struct user *)arg)->state = up ? 1 : -1;
}

static int
ask_sa(struct user *u, uint32_t tid)
{
	struct port_mad m = { .lid = LID2, .qp = 1, .timeout_ms = 50 };

	header(m.mad, 3, 2, 0x12, tid);
	memset(m.mad + 100, 0x55, 10);
	return port_send(u->port, &m);
}

/* Answer the last question by RMPP with so many bytes of data. */
static void
tell_table(struct kbed *b, struct kernel_agent *server, size_t len)
{
	uint8_t m[1000] = { 0 };

	memcpy(m, b->in[1].mail[b->in[1].n - 1].data, MAD_SIZE);
	m[3] |= MAD_RESPONSE;
	m[26] = 1;
	assert_int_equal(kernel_send(server, &(struct kernel_mad){
		.data = m, .len = 56 + len, .lid = LID1, .qpn = 1 }), 0);
	run(b->r, MSEC(1));
}

static void
test_transport(void **state)
{
	struct kbed *b = *state;
	struct user u = { 0 };
	struct port_events ev = { user_receive, user_state, &u };
	struct kernel_agent *server;
	struct kernel_registration r = { .qp = 1, .mgmt_class = 3, .class_version = 2,
					 .rmpp_version = 1, .methods = { 1u << 0x12 } };
	struct error e;
	static const uint8_t zero[MAD_SIZE];

	assert_int_equal(enroll(b, &server, H2, 1, r), 0);
	assert_int_equal(direct_open(&u.port, b->r->m, H2, 1, &ev, &e), ERR_NOT_FOUND);
	assert_int_equal(direct_open(&u.port, b->r->m, H1, 257, &ev, &e), ERR_NOT_FOUND);
	assert_int_equal(direct_open(&u.port, b->r->m, H1, 1, &ev, &e), 0);
	run(b->r, USEC(1));
	assert_int_equal(u.state, 1);
	/* The third of its agents asks; the answer, one segment of 54 bytes, comes as one MAD. */
	assert_int_equal(ask_sa(&u, 7), 0);
	run(b->r, MSEC(1));
	assert_int_equal(get32(b->in[1].mail[0].data + 8), 3);
	tell_table(b, server, 54);
	assert_int_equal(u.n, 1);
	assert_int_equal(u.last.status, 0);
	assert_int_equal(u.last.qp, 1);
	assert_int_equal(u.last.remote_qp, 1);
	assert_int_equal(u.last.lid, LID2);
	assert_int_equal(u.last.mad[109], 0x55);
	assert_memory_equal(u.last.mad + 110, zero, MAD_SIZE - 110);
	assert_int_equal(u.last.len, 110);
	assert_null(u.last.data);
	/* One of two segments comes whole. */
	assert_int_equal(ask_sa(&u, 8), 0);
	run(b->r, MSEC(1));
	tell_table(b, server, 201);
	assert_int_equal(u.n, 2);
	assert_int_equal(u.last.len, 257);
	assert_memory_equal(u.last.mad, u.last.data, MAD_SIZE);
	/* Of what is not answered the header comes back. */
	assert_int_equal(ask_sa(&u, 9), 0);
	run(b->r, MSEC(51));
	assert_int_equal(u.n, 3);
	assert_int_equal(u.last.status, ERR_TIMEOUT);
	assert_int_equal(u.last.mad[3], 0x12);
	assert_int_equal(get32(u.last.mad + 12), 9);
	assert_memory_equal(u.last.mad + 24, zero, MAD_SIZE - 24);
	u.last.mad[1] = 9;
	assert_int_equal(port_send(u.port, &u.last), ERR_UNSUPPORTED);
	assert_int_equal(port_set_issm(u.port, true, &e), 0);
	assert_int_equal(port_set_issm(u.port, true, &e), 0);
	assert_true(model_portinfo(b->r->m, H1, 1)->cap_mask & CAP_IS_SM);
	assert_int_equal(direct_too_long(u.port), 0);
	port_close(u.port);
	free(u.whole);
}

/* Two transports, and what one asks and the other answers. */
#define ASKED 3056
#define ANSWERED 22000000

struct pair {
	struct user u[2];	/* who asks, who answers */
	uint8_t *question;	/* ASKED bytes */
	uint8_t *table;		/* ANSWERED bytes */
	struct port_mad m;	/* the question on its way */
};

static void
pair_open(struct pair *p, struct kbed *b)
{
	struct port_events ev[2] = { { user_receive, user_state, &p->u[0] },
				     { user_receive, user_state, &p->u[1] } };
	struct error e;

	memset(p, 0, sizeof(*p));
	p->question = calloc(1, ASKED);
	p->table = calloc(1, ANSWERED);
	p->m = (struct port_mad){ .data = p->question, .len = ASKED, .lid = LID2, .qp = 1,
				  .sl = 3, .timeout_ms = 60000 };
	for (unsigned i = 56; i < ASKED; i++)
		p->question[i] = (uint8_t)(i * 31 >> 3);
	for (unsigned i = 56; i < ANSWERED; i++)
		p->table[i] = (uint8_t)(i * 2654435761u >> 24);
	p->u[1].answer = p->table;
	p->u[1].answer_len = ANSWERED;
	assert_int_equal(direct_open(&p->u[0].port, b->r->m, H1, 1, &ev[0], &e), 0);
	assert_int_equal(direct_open(&p->u[1].port, b->r->m, H2, 1, &ev[1], &e), 0);
	run(b->r, USEC(1));
}

static void
pair_close(struct pair *p)
{
	port_close(p->u[0].port);
	port_close(p->u[1].port);
	free(p->u[0].whole);
	free(p->u[1].whole);
	free(p->question);
	free(p->table);
}

static void
pair_ask(struct pair *p, uint32_t tid)
{
	header(p->question, 3, 2, MAD_GET_MULTI, tid);
	p->question[24] = p->question[26] = 1;
	assert_int_equal(port_send(p->u[0].port, &p->m), 0);
}

/* A question of 3,000 bytes and an answer of 22 MB: by LID, then by a global route. */
static void
test_long_both_ways(void **state)
{
	struct kbed *b = *state;
	struct pair p;

	pair_open(&p, b);
	p.m.grh = (struct port_grh){ .hop_limit = 1, .flow_label = 0x12345, .traffic_class = 7 };
	gid(p.m.grh.gid, 0x21);
	for (unsigned i = 0; i < 2; i++) {
		p.m.has_grh = i;
		pair_ask(&p, 70 + i);
		run(b->r, SEC(30));
		for (unsigned k = 0; k < 2; k++) {
			assert_int_equal(p.u[k].n, i + 1);
			assert_int_equal(p.u[k].last.status, 0);
			assert_int_equal(p.u[k].last.sl, 3);
			assert_int_equal(p.u[k].last.has_grh, i);
		}
		assert_int_equal(p.u[1].last.len, ASKED);
		assert_memory_equal(p.u[1].whole + 56, p.question + 56, ASKED - 56);
		assert_int_equal(p.u[0].last.len, ANSWERED);
		assert_memory_equal(p.u[0].whole + 56, p.table + 56, ANSWERED - 56);
	}
	assert_int_equal(p.u[1].last.grh.flow_label, 0x12345);
	assert_int_equal(p.u[1].last.grh.traffic_class, 7);
	pair_close(&p);
}

/* A long answer that nobody takes comes back, its header only. */
static void
test_long_undelivered(void **state)
{
	struct kbed *b = *state;
	struct pair p;
	struct user *server = &p.u[1];

	pair_open(&p, b);
	server->answer = NULL;
	pair_ask(&p, 77);
	run(b->r, MSEC(5));
	assert_int_equal(server->n, 1);
	port_close(p.u[0].port);
	p.u[0].port = NULL;
	server->answer = p.table;
	user_answer(server, &server->last);
	run(b->r, SEC(7));
	assert_int_equal(server->n, 1);
	run(b->r, SEC(2));
	assert_int_equal(server->n, 2);
	assert_int_equal(server->last.status, ERR_TIMEOUT);
	assert_int_equal(server->last.mad[3], MAD_GET_MULTI_RESP);
	assert_int_equal(get32(server->last.mad + 12), 77);
	assert_int_equal(port_mad_len(&server->last), MAD_SIZE);
	pair_close(&p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		KTEST(test_register), KTEST(test_taken), KTEST(test_request),
		KTEST(test_methods), KTEST(test_vendors), KTEST(test_timeout), KTEST(test_late),
		KTEST(test_duplicates), KTEST(test_refused), KTEST(test_dying), KTEST(test_smps),
		KTEST(test_repress), KTEST(test_issm), KTEST(test_watch), KTEST(test_grh),
		KTEST(test_path_bits), KTEST(test_flood),
		KTEST(test_transport), KTEST(test_long_both_ways),
		KTEST(test_long_undelivered),
	};
	struct error e;

	alarm(60);
	log_open("/dev/null", LOG_L_ERROR, &e);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
