/* SPDX-License-Identifier: BSD-2-Clause */
/* Traps of simulated devices: the bytes of their notices (IBA volume 1, 14.2.5.1), when they are
 * sent and when not. */
#include "tests/unit/sim_bed.h"
#include "sim/model/model_impl.h"

/* All links ACTIVE, for GMPs. */
static void
activate(struct rig *r)
{
	static const struct { const char *path; uint32_t port; } ports[] = {
		{ "", 1 }, { "1", 1 }, { "1", 2 }, { "12", 1 }, { "12", 4 }, { "124", 1 },
	};

	for (unsigned s = PORT_ARMED; s <= PORT_ACTIVE; s++)
		for (size_t i = 0; i < sizeof(ports) / sizeof(ports[0]); i++)
			assert_int_equal(set_state(r, ports[i].path, ports[i].port, s), 0);
}

/* Sends the repress for each trap that is in the box. */
static void
repress_all(struct rig *r, uint64_t m_key)
{
	unsigned n = r->in1.n;

	for (unsigned i = 0; i < n; i++) {
		struct smp s = r->in1.smp[i];
		struct model_mad mad = { .lid = r->in1.lid[i] };

		if (s.h.method != MAD_TRAP)
			continue;
		s.h.method = MAD_TRAP_REPRESS;
		s.m_key = m_key;
		smp_encode(&s, mad.mad);
		model_send(r->c1, &mad);
	}
	run(r, MSEC(1));
	r->in1.n = 0;
}

/* The one trap of a number that came within 5 ms, of the notice type that belongs to it. It is
 * repressed, and then its port may send another one. */
static struct notice
one_trap(struct rig *r, unsigned trap, unsigned type)
{
	struct notice n = { 0 };
	const struct smp *s = NULL;

	run(r, MSEC(5));
	assert_int_equal(count_traps(&r->in1, trap, &n, &s), 1);
	assert_true(n.generic);
	assert_int_equal(n.type, type);
	repress_all(r, 0x77);
	run(r, MSEC(15));
	assert_int_equal(r->in1.n, 0);
	return n;
}

static void
test_link_errors(void **state)
{
	struct rig *r = *state;
	struct portinfo p;
	struct error e;
	struct notice n;

	bring_up(r);
	r->in1.n = 0;
	for (unsigned trap = TRAP_LOCAL_INTEGRITY; trap <= TRAP_FLOW_CONTROL; trap++) {
		model_port_errors(r->m, B, 2, trap);
		n = one_trap(r, trap, 1);
		assert_int_equal(n.producer, NODE_SWITCH);
		assert_int_equal(n.issuer_lid, 4);
		assert_memory_equal(n.details, "\0\0\0\x04\x02", 5);
	}
	/* Threshold 2: the third error is one too many. */
	p = get_port(r, "12", 4);
	p.local_phy_errors = 2;
	p.state = p.phys_state = 0;
	assert_int_equal(set_port(r, "12", 4, &p), 0);
	r->in1.n = 0;
	assert_int_equal(model_counter_add(r->m, B, 4, "symbol_errors", 2, &e), 0);
	run(r, MSEC(5));
	assert_int_equal(r->in1.n, 0);
	assert_int_equal(model_counter_add(r->m, B, 4, "symbol_errors", 1, &e), 0);
	n = one_trap(r, TRAP_LOCAL_INTEGRITY, 1);
	assert_int_equal(n.details[4], 4);
}

static void
test_local_changes(void **state)
{
	struct rig *r = *state;
	struct notice n;

	bring_up(r);
	r->in1.n = 0;
	assert_true(model_set_enabled(r->m, H2, 1, LINK_1X, 0));
	n = one_trap(r, TRAP_CAPABILITY, 4);
	assert_int_equal(notice_subject_lid(&n), 2);
	assert_int_equal(notice_144_flags(&n), NOTICE_144_LINK_WIDTH);
	assert_false(model_set_enabled(r->m, H2, 1, 0, 2));	/* an SDR port */
	model_local_change(r->m, H2, 1, NOTICE_144_SM_PRIORITY);
	n = one_trap(r, TRAP_CAPABILITY, 4);
	assert_int_equal(notice_144_flags(&n), NOTICE_144_SM_PRIORITY);
	model_set_issm(r->c2, true);
	n = one_trap(r, TRAP_CAPABILITY, 4);
	assert_int_equal(notice_144_flags(&n), 0);
	assert_int_equal(n.details[9] & CAP_IS_SM, CAP_IS_SM);
	model_set_system_guid(r->m, B, 0x1122334455667788);
	n = one_trap(r, TRAP_SYSTEM_IMAGE_GUID, 4);
	assert_memory_equal(n.details, "\0\0\0\x04\0\0\x11\x22\x33\x44\x55\x66\x77\x88", 14);
}

/* What anybody on the fabric can cause a thousand times waits once. */
static void
test_flood(void **state)
{
	struct rig *r = *state;
	size_t before;

	bring_up(r);
	r->in1.n = 0;
	before = r->m->nheap;
	for (unsigned i = 0; i < 1000; i++)
		model_bad_key(r->m, H2, 1, TRAP_BAD_P_KEY, 0x1234 + i, 1);
	assert_int_equal(r->m->nheap, before + 1);
	assert_int_equal(one_trap(r, TRAP_BAD_P_KEY, 2).details[9], (0x1234 + 999) & 0xff);
}

static void
test_m_key_trap(void **state)
{
	struct rig *r = *state;
	struct portinfo p;
	struct notice n;
	const struct smp *s = NULL;
	struct ask set = { .path = "12", .attr = ATTR_LINEAR_FDB, .method = MAD_SET, .mod = 5,
			   .m_key = 0x1234567 };

	bring_up(r);
	p = get_port(r, "12", 0);
	p.m_key = 0x77;
	p.state = p.phys_state = 0;
	assert_int_equal(set_port(r, "12", 0, &p), 0);
	assert_null(ask(r, set));
	n = one_trap(r, TRAP_BAD_M_KEY, 2);
	/* From where: a directed route of two hops, that came in by A[1] and B[1]. */
	assert_memory_equal(n.details, "\0\0\xff\xff\xff\xff\x02\0\0\x19\0\0\0\x05"
			    "\0\0\0\0\x01\x23\x45\x67\0\x82\x01\x01", 26);
	set.path = NULL;
	set.lid = 4;
	assert_null(ask(r, set));
	run(r, MSEC(5));
	assert_int_equal(count_traps(&r->in1, TRAP_BAD_M_KEY, &n, &s), 1);
	assert_memory_equal(n.details, "\0\0\0\x01\0\0\x02\0\0\x19\0\0\0\x05"
			    "\0\0\0\0\x01\x23\x45\x67\0\0\0\0", 26);
	/* A TrapRepress needs the key as well. */
	repress_all(r, 0);
	run(r, MSEC(50));
	assert_true(r->in1.n > 0);
	repress_all(r, 0x77);
	run(r, MSEC(50));
	assert_int_equal(r->in1.n, 0);
	assert_int_equal(model_portinfo(r->m, B, 0)->m_key_violations, 3);
}

/* A port sends a trap in 10 ms at most (SubnetTimeOut 10 is 4.2 ms), so different ones take turns;
 * of one kind only the newest is sent. */
static void
test_rate(void **state)
{
	struct rig *r = *state;
	struct notice n = { 0 };
	const struct smp *s = NULL;

	bring_up(r);
	r->in1.n = 0;
	model_port_errors(r->m, B, 1, TRAP_LOCAL_INTEGRITY);
	model_port_errors(r->m, B, 2, TRAP_LOCAL_INTEGRITY);
	model_port_errors(r->m, B, 3, TRAP_BUFFER_OVERRUN);
	run(r, MSEC(5));
	assert_int_equal(r->in1.n, 1);
	run(r, MSEC(10));
	assert_int_equal(r->in1.n, 2);
	assert_int_equal(count_traps(&r->in1, TRAP_LOCAL_INTEGRITY, &n, &s), 1);
	assert_int_equal(n.details[4], 2);
	assert_int_equal(count_traps(&r->in1, TRAP_BUFFER_OVERRUN, &n, &s), 1);
	run(r, MSEC(40));
	assert_int_equal(r->in1.n, 6);
	assert_int_equal(count_traps(&r->in1, TRAP_LOCAL_INTEGRITY, &n, &s), 3);
	repress_all(r, 0);
	run(r, MSEC(100));
	assert_int_equal(r->in1.n, 0);
}

static void
set_pkeys(struct rig *r, const char *path, uint32_t mod, uint16_t key)
{
	uint16_t keys[32] = { 0xffff, key };
	uint8_t data[SMP_DATA_SIZE];

	pkeys_encode(keys, data);
	must(ask(r, (struct ask){ .path = path, .method = MAD_SET, .attr = ATTR_P_KEY_TABLE,
				  .mod = mod, .data = data }));
}

/* A GMP of a class that nobody answers, from h1 to h2 with the P_Key at an index. */
static void
send_gmp(struct rig *r, uint16_t lid, uint16_t pkey_index)
{
	struct model_mad mad = { .lid = lid, .qp = 1, .pkey_index = pkey_index,
				 .mad = { 1, 0x32, 1, MAD_GET } };

	model_send(r->c1, &mad);
	run(r, MSEC(1));
}

static void
test_bad_p_key(void **state)
{
	struct rig *r = *state;
	struct notice n;

	bring_up(r);
	activate(r);
	set_pkeys(r, "", 0, 0x8001);
	r->in1.n = 0;
	send_gmp(r, 2, 0);
	assert_int_equal(r->in2.gmps, 1);
	send_gmp(r, 2, 1);
	assert_int_equal(r->in2.gmps, 1);
	n = one_trap(r, TRAP_BAD_P_KEY, 2);
	assert_int_equal(n.producer, NODE_CA);
	assert_memory_equal(n.details, "\0\0\0\x01\0\x02\0\0\x80\x01\0\0\0\x01\0\0\0\x01", 18);
	assert_int_equal(model_portinfo(r->m, H2, 1)->p_key_violations, 1);
	/* Limited members do not let each other in. */
	set_pkeys(r, "", 0, 0x0001);
	set_pkeys(r, "124", 0, 0x0001);
	r->in1.n = 0;
	send_gmp(r, 2, 1);
	assert_int_equal(r->in2.gmps, 1);
	n = one_trap(r, TRAP_BAD_P_KEY, 2);
	assert_memory_equal(n.details + 6, "\0\0\0\x01", 4);
	set_pkeys(r, "124", 0, 0x8001);
	send_gmp(r, 2, 1);
	assert_int_equal(r->in2.gmps, 2);
	r->in1.n = 0;
	model_bad_key(r->m, H2, 1, TRAP_BAD_Q_KEY, 0x80010000, 1);
	n = one_trap(r, TRAP_BAD_Q_KEY, 2);
	assert_memory_equal(n.details + 6, "\x80\x01\0\0", 4);
	assert_int_equal(model_portinfo(r->m, H2, 1)->q_key_violations, 1);
}

static void
enforce(struct rig *r, const char *path, unsigned port, bool in, bool out)
{
	struct portinfo p = get_port(r, path, port);

	p.state = p.phys_state = 0;
	p.enforce_in = in;
	p.enforce_out = out;
	assert_int_equal(set_port(r, path, port, &p), 0);
	p = get_port(r, path, port);
	assert_int_equal(p.enforce_in, in);
	assert_int_equal(p.enforce_out, out);
}

static void
test_enforcement(void **state)
{
	struct rig *r = *state;
	struct portinfo p;
	struct notice n;

	bring_up(r);
	activate(r);
	set_pkeys(r, "", 0, 0x8001);
	set_pkeys(r, "124", 0, 0x8001);
	send_gmp(r, 2, 1);
	assert_int_equal(r->in2.gmps, 1);
	/* B lets only the default partition out to h2; then A lets nothing else in from h1. */
	enforce(r, "12", 4, false, true);
	r->in1.n = 0;
	send_gmp(r, 2, 0);
	assert_int_equal(r->in2.gmps, 2);
	send_gmp(r, 2, 1);
	assert_int_equal(r->in2.gmps, 2);
	n = one_trap(r, TRAP_SWITCH_BAD_P_KEY, 2);
	assert_int_equal(n.issuer_lid, 4);
	assert_memory_equal(n.details + 2, "\0\x01\0\x02\x80\x01\0\0\0\x01\0\0\0\x01", 14);
	assert_memory_equal(n.details + 48, "\0\x04\x04", 3);
	assert_int_equal(model_portinfo(r->m, B, 4)->p_key_violations, 1);
	set_pkeys(r, "12", 4 << 16, 0x0001);	/* a limited entry matches a full member's key */
	send_gmp(r, 2, 1);
	assert_int_equal(r->in2.gmps, 3);
	enforce(r, "1", 1, true, false);
	send_gmp(r, 2, 1);
	assert_int_equal(r->in2.gmps, 3);
	assert_int_equal(model_portinfo(r->m, A, 1)->p_key_violations, 1);
	p = get_port(r, "1", 1);
	p.state = p.phys_state = 0;
	p.p_key_violations = 0;
	assert_int_equal(set_port(r, "1", 1, &p), 0);
	assert_int_equal(get_port(r, "1", 1).p_key_violations, 0);
	/* What a limited member sends comes in where its key is, and reaches no limited one. */
	set_pkeys(r, "", 0, 0x0001);
	set_pkeys(r, "1", 1 << 16, 0x0001);
	set_pkeys(r, "12", 4 << 16, 0x8001);
	send_gmp(r, 2, 1);
	assert_int_equal(r->in2.gmps, 4);
	set_pkeys(r, "12", 4 << 16, 0x0001);
	send_gmp(r, 2, 1);
	assert_int_equal(r->in2.gmps, 4);
}

/* No traps about P_Keys of multicast packets where that is suppressed. */
static void
test_suppression(void **state)
{
	struct rig *r = *state;
	struct portinfo p;
	uint8_t data[SMP_DATA_SIZE] = { 0 };
	uint16_t masks[32] = { 0 };

	bring_up(r);
	activate(r);
	set_pkeys(r, "", 0, 0x8001);
	masks[0] = 1 << 2;
	mft_encode(masks, data);
	must(ask(r, (struct ask){ .path = "1", .method = MAD_SET, .attr = ATTR_MULTICAST_FDB,
				  .data = data }));
	masks[0] = 1 << 4;
	mft_encode(masks, data);
	must(ask(r, (struct ask){ .path = "12", .method = MAD_SET, .attr = ATTR_MULTICAST_FDB,
				  .data = data }));
	r->in1.n = 0;
	send_gmp(r, 0xc000, 1);
	one_trap(r, TRAP_BAD_P_KEY, 2);
	p = get_port(r, "124", 0);
	p.state = p.phys_state = 0;
	p.mcast_pkey_trap = 1;
	assert_int_equal(set_port(r, "124", 0, &p), 0);
	r->in1.n = 0;
	send_gmp(r, 0xc000, 1);
	run(r, MSEC(30));
	assert_int_equal(r->in1.n, 0);
	assert_int_equal(model_portinfo(r->m, H2, 1)->p_key_violations, 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_link_errors), TEST(test_local_changes), TEST(test_flood),
		TEST(test_m_key_trap), TEST(test_rate), TEST(test_bad_p_key),
		TEST(test_enforcement), TEST(test_suppression),
	};

	alarm(60);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
