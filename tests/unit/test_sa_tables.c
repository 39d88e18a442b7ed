/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/model/model_impl.h"
#include "tests/unit/sa_bed.h"

/*
 * Tables of devices, asked of the subnet administrator and held against the simulated devices. In
 * "ft3 4" 16 hosts have 2 blocks of P_Keys each, 20 switches of 4 ports 1 for port 0 and 2 for each
 * other: 16 * 2 + 20 * 9 = 212; VL arbitration tables are 4 a port, 4 * 116 = 464; maps from SL to
 * VL one a host and 5 * 5 a switch, 16 + 20 * 25 = 516. OpenSM's answers are in cases_sa.py.
 */
#define PKEYS (16 * 2 + 20 * 9)
#define VLARBS (4 * 116)
#define MAPS (16 + 20 * 25)

static void
setup(struct sa_bed *b, bool read_ahead)
{
	struct port_events ev = { .receive = sa_bed_receive, .state = sa_bed_state, .arg = b };
	struct bed *bed = bed_new("ft3 4", 1);
	struct error e;

	*b = (struct sa_bed){ .version = SA_CLASS_VERSION, .key = 1 };
	b->sm = bed_sm(bed, bed_next(bed, IBNET_CA, 0), 1);
	b->sm->conf.read_tables = read_ahead;
	b->node = bed_node(bed, "H1_0_0");
	assert_int_equal(direct_open(&b->port, bed->m, b->node, 1, &ev, &e), 0);
	bed_start(b->sm);
	assert_int_equal(bed_run(b->sm, SEC(10)), 1);
	assert_true(bed_quiet(b->sm, SEC(10)));
}

/* The status of a GetTable. */
static uint16_t
ask(struct sa_bed *b, const struct sa_type *t, const void *want, uint64_t mask)
{
	assert_true(sa_bed_ask(b, MAD_GET_TABLE, t, want, mask));
	return b->h.h.status;
}

/* All maps are known, and of each device those that it holds. */
static void
check_maps(struct sa_bed *b)
{
	struct sa_sl2vl r = { 0 };

	for (unsigned i = 0; ask(b, &sa_sl2vl_type, &r, 0) == MAD_STATUS_BUSY; i++) {
		assert_true(i < 1000);
		bed_wait(b->sm->bed, MSEC(100));
	}
	assert_int_equal(b->h.h.status, 0);
	assert_int_equal(b->n, MAPS);
	for (unsigned i = 0; i < MAPS; i++) {
		uint32_t n;

		sa_bed_record(b, &sa_sl2vl_type, i, &r);
		n = sa_bed_node_of(b, r.lid);
		for (unsigned sl = 0; sl < 16; sl++) {
			bool sw = b->sm->bed->net->nodes[n].type == IBNET_SWITCH;

			assert_int_equal(r.vl[sl], model_sl2vl(b->sm->bed->m, n, sw ? r.in_port : 1,
							       sw ? r.out_port : 1, sl));
		}
	}
}

static void
check_vlarb(struct sa_bed *b)
{
	struct sa_vlarb r = { 0 };

	assert_int_equal(sa_bed_table(b, &sa_vlarb_type, &r, 0), VLARBS);
	for (unsigned i = 0; i < VLARBS; i++) {
		static const uint8_t none[SMP_DATA_SIZE];
		struct vlarb_entry e[32];
		const struct sim_port *p;
		uint32_t n;

		sa_bed_record(b, &sa_vlarb_type, i, &r);
		n = sa_bed_node_of(b, r.lid);
		p = &b->sm->bed->m->nodes[n].ports[r.port];
		/* Tables of 8 entries have no second block; a single data lane has none at all. */
		if (r.block % 2 && p->info.vl_cap > 1) {
			assert_non_null(p->vlarb);
			vlarb_decode(e, p->vlarb + (r.block - 1) * (size_t)SMP_DATA_SIZE);
		} else {
			vlarb_decode(e, none);
		}
		assert_memory_equal(r.entries, e, sizeof(e));
	}
}

static void
check_pkeys(struct sa_bed *b)
{
	struct sa_pkeys r = { 0 };

	assert_int_equal(sa_bed_table(b, &sa_pkeys_type, &r, 0), PKEYS);
	for (unsigned i = 0; i < PKEYS; i++) {
		uint32_t n;

		sa_bed_record(b, &sa_pkeys_type, i, &r);
		n = sa_bed_node_of(b, r.lid);
		for (unsigned k = 0; k < 32; k++)
			assert_int_equal(r.keys[k], model_pkey(b->sm->bed->m, n, r.port,
							       r.block * 32u + k));
	}
}

/* Another map for each pair of ports, in part. */
static void
scramble(struct sa_bed *b, const char *name, unsigned from)
{
	struct sim_node *n = &b->sm->bed->m->nodes[bed_node(b->sm->bed, name)];
	size_t pairs = (n->nports + 1u) * (n->nports + 1u);

	if (!n->sl2vl)
		n->sl2vl = calloc(pairs, 8);
	for (size_t i = from; i < pairs; i++)
		memset(n->sl2vl + i * 8, (int)(i * 7 % 16), 8);
}

/*
 * Everything is told as it is held; and again after what was told is not true any more: a switch
 * that lost it all, a cable that was down.
 */
static void
test_all(void **state)
{
	struct sa_bed b;
	struct bed *bed;
	uint64_t maps;

	(void)state;
	setup(&b, true);
	bed = b.sm->bed;
	check_maps(&b);
	check_vlarb(&b);
	check_pkeys(&b);
	maps = bed_count(bed, MAD_GET, ATTR_SL_TO_VL);
	assert_int_equal(maps, MAPS);
	/* Two blocks, of low and high priority, of each port with several lanes: not of port 0. */
	assert_int_equal(bed_count(bed, MAD_GET, ATTR_VL_ARBITRATION), 2 * (16 + 80));
	assert_int_equal(bed_count(bed, MAD_GET, ATTR_P_KEY_TABLE), PKEYS);
	/* What is known is not asked for again, but for an administrator who wants it all anew. */
	subnet_want_sweep(b.sm->s, SWEEP_HEAVY);
	bed_wait(bed, SEC(30));
	assert_int_equal(bed_count(bed, MAD_GET, ATTR_SL_TO_VL), maps);
	scramble(&b, "A0_1", 0);
	bed_sweep(b.sm, SEC(10));
	check_maps(&b);
	check_pkeys(&b);
	assert_int_equal(bed_count(bed, MAD_GET, ATTR_SL_TO_VL), 2 * maps);

	model_reboot(bed->m, bed_node(bed, "A1_0"));
	scramble(&b, "A1_0", 0);
	bed_wait(bed, SEC(15));
	check_maps(&b);
	check_pkeys(&b);

	/* The link of one port: its row and its column, 9 of 25 maps, are read anew. */
	maps = bed_count(bed, MAD_GET, ATTR_SL_TO_VL);
	model_link_set(bed->m, bed_node(bed, "L2_1"), 3, false);
	bed_wait(bed, SEC(12));
	model_link_set(bed->m, bed_node(bed, "L2_1"), 3, true);
	bed_wait(bed, SEC(12));
	check_maps(&b);
	assert_int_equal(bed_count(bed, MAD_GET, ATTR_SL_TO_VL), maps + 2 * 9);
	sa_bed_free(&b);
}

/* Pairs that differ within a row and between rows, read by a subnet manager that finds them so. */
static void
test_uneven(void **state)
{
	struct sa_bed b;

	(void)state;
	setup(&b, false);
	scramble(&b, "L0_0", 0);
	scramble(&b, "L0_1", 7);	/* a row that is one, one in part, and others */
	check_maps(&b);
	sa_bed_free(&b);
}

/* Nothing is read before somebody asks; then all is, and whoever asks too soon is told so. */
static void
test_asked(void **state)
{
	struct sa_bed b;
	struct sa_sl2vl m = { 0 };
	struct sa_pkeys k = { 0 };

	(void)state;
	setup(&b, false);
	bed_wait(b.sm->bed, SEC(30));
	assert_int_equal(bed_count(b.sm->bed, MAD_GET, ATTR_SL_TO_VL), 0);
	assert_int_equal(bed_count(b.sm->bed, MAD_GET, ATTR_VL_ARBITRATION), 0);
	assert_int_equal(bed_count(b.sm->bed, MAD_GET, ATTR_P_KEY_TABLE), 32);
	/* Hosts' P_Keys are known from bring-up. */
	k.lid = sa_bed_lid(&b, "H3_1_1", 1);
	assert_int_equal(ask(&b, &sa_pkeys_type, &k, SA_BIT(SA_PKEYS_LID)), 0);
	assert_int_equal(b.n, 2);
	assert_int_equal(ask(&b, &sa_sl2vl_type, &m, 0), MAD_STATUS_BUSY);
	assert_true(sa_bed_ask(&b, MAD_GET, &sa_sl2vl_type, &m, 0));
	assert_int_equal(b.h.h.status, MAD_STATUS_BUSY);
	check_maps(&b);
	check_pkeys(&b);
	sa_bed_free(&b);
}

/* A sweep goes first, however often: reading goes on where it was. */
static void
test_interrupted(void **state)
{
	struct sa_bed b;

	(void)state;
	setup(&b, false);
	b.sm->conf.read_tables = true;
	for (unsigned i = 0; i < 20; i++) {
		subnet_want_sweep(b.sm->s, SWEEP_HEAVY);
		bed_wait(b.sm->bed, MSEC(5));
		assert_true(bed_quiet(b.sm, SEC(10)));
		bed_wait(b.sm->bed, MSEC(21) + USEC(300));
	}
	check_maps(&b);
	check_vlarb(&b);
	/* No more than what was under way each time was asked for twice. */
	assert_true(bed_count(b.sm->bed, MAD_GET, ATTR_SL_TO_VL) <= MAPS + 20 * 32);
	sa_bed_free(&b);
}

/* A host that answers nothing: the others are told of, and of it that it is not known, but for the
 * two blocks that it cannot have. */
static void
test_silent(void **state)
{
	struct sa_bed b;
	struct sa_vlarb r = { 0 };
	uint32_t host;

	(void)state;
	setup(&b, false);
	host = bed_node(b.sm->bed, "H2_0_1");
	r.lid = sa_bed_lid(&b, "H2_0_1", 1);
	model_silence(b.sm->bed->m, host, MODEL_SILENT);
	assert_int_equal(ask(&b, &sa_vlarb_type, &r, 0), MAD_STATUS_BUSY);
	bed_wait(b.sm->bed, SEC(20));
	assert_int_equal(sa_bed_table(&b, &sa_vlarb_type, &r, 0), VLARBS - 2);
	assert_int_equal(ask(&b, &sa_vlarb_type, &r, SA_BIT(SA_VLARB_LID)), MAD_STATUS_BUSY);
	model_silence(b.sm->bed->m, host, MODEL_ANSWERS);
	bed_wait(b.sm->bed, SEC(120));
	assert_int_equal(sa_bed_table(&b, &sa_vlarb_type, &r, SA_BIT(SA_VLARB_LID)), 4);
	check_vlarb(&b);
	sa_bed_free(&b);
}

/* The maps of one pair are refused: they are told as 0, and not asked for again. */
static bool
refuse(struct bed_sm *sm, struct port_mad *m)
{
	unsigned *refused = sm->arg;
	struct smp smp;

	if (smp_decode(&smp, m->mad, sizeof(m->mad)) || smp.h.attr_id != ATTR_SL_TO_VL ||
	    smp.h.attr_mod != (2 << 8 | 3))
		return true;
	++*refused;
	smp.h.status |= 0x1c;
	smp_encode(&smp, m->mad);
	return true;
}

static void
test_refused(void **state)
{
	static const uint8_t none[16];
	unsigned refused = 0;
	struct sa_bed b;
	struct sa_sl2vl r = { .in_port = 2, .out_port = 3 };

	(void)state;
	setup(&b, false);
	b.sm->in = refuse;
	b.sm->arg = &refused;
	assert_int_equal(ask(&b, &sa_sl2vl_type, &r, 0), MAD_STATUS_BUSY);
	bed_wait(b.sm->bed, SEC(30));
	assert_int_equal(sa_bed_table(&b, &sa_sl2vl_type, &r,
				      SA_BIT(SA_SL2VL_IN_PORT) | SA_BIT(SA_SL2VL_OUT_PORT)),
			 20 + 16);
	assert_int_equal(refused, 20);
	for (unsigned i = 0; i < 36; i++) {
		sa_bed_record(&b, &sa_sl2vl_type, i, &r);
		if (r.out_port)
			assert_memory_equal(r.vl, none, 16);
	}
	sa_bed_free(&b);
}

/* Components: all of them, alone and together, and one past each bound. */
static void
test_components(void **state)
{
	struct sa_bed b;
	uint16_t sw, host;

	(void)state;
	setup(&b, true);
	check_maps(&b);
	sw = sa_bed_lid(&b, "L1_1", 0);
	host = sa_bed_lid(&b, "H2_1_0", 1);
#define COUNT(type, mask, ...) \
	sa_bed_table(&b, &sa_##type##_type, &(struct sa_##type){ __VA_ARGS__ }, mask)
	assert_int_equal(COUNT(sl2vl, 1, .lid = sw), 25);
	assert_int_equal(COUNT(sl2vl, 1, .lid = host), 1);
	assert_int_equal(COUNT(sl2vl, 3, .lid = sw, .in_port = 4), 5);
	assert_int_equal(COUNT(sl2vl, 3, .lid = sw, .in_port = 5), 0);
	assert_int_equal(COUNT(sl2vl, 5, .lid = sw, .out_port = 0), 5);
	assert_int_equal(COUNT(sl2vl, 7, .lid = sw, .in_port = 4, .out_port = 4), 1);
	assert_int_equal(COUNT(sl2vl, 7, .lid = sw, .in_port = 4, .out_port = 255), 0);
	assert_int_equal(COUNT(sl2vl, 7, .lid = host, .in_port = 9, .out_port = 9), 1);
	assert_int_equal(COUNT(sl2vl, 6, .in_port = 4, .out_port = 4), 20 + 16);
	assert_int_equal(COUNT(sl2vl, 1, .lid = 0), 0);
	assert_int_equal(COUNT(sl2vl, 1, .lid = 0xbfff), 0);

	assert_int_equal(COUNT(vlarb, 1, .lid = sw), 20);
	assert_int_equal(COUNT(vlarb, 1, .lid = host), 4);
	assert_int_equal(COUNT(vlarb, 2, .port = 4), 20 * 4 + 16 * 4);
	assert_int_equal(COUNT(vlarb, 3, .lid = sw, .port = 5), 0);
	assert_int_equal(COUNT(vlarb, 4, .block = 0), 0);
	assert_int_equal(COUNT(vlarb, 4, .block = 1), 116);
	assert_int_equal(COUNT(vlarb, 4, .block = 4), 116);
	assert_int_equal(COUNT(vlarb, 4, .block = 5), 0);
	assert_int_equal(COUNT(vlarb, 7, .lid = sw, .port = 4, .block = 4), 1);
	assert_int_equal(COUNT(vlarb, 7, .lid = sw, .port = 4, .block = 255), 0);

	assert_int_equal(COUNT(pkeys, 1, .lid = sw), 9);
	assert_int_equal(COUNT(pkeys, 1, .lid = host), 2);
	assert_int_equal(COUNT(pkeys, 2, .block = 1), 16 + 80);
	assert_int_equal(COUNT(pkeys, 2, .block = 2), 0);
	assert_int_equal(COUNT(pkeys, 2, .block = 65535), 0);
	assert_int_equal(COUNT(pkeys, 5, .lid = sw, .port = 0), 1);
	assert_int_equal(COUNT(pkeys, 5, .lid = sw, .port = 4), 2);
	assert_int_equal(COUNT(pkeys, 5, .lid = sw, .port = 5), 0);
	assert_int_equal(COUNT(pkeys, 7, .lid = sw, .port = 4, .block = 1), 1);
	assert_int_equal(COUNT(pkeys, 7, .lid = host, .port = 1, .block = 2), 0);
	/* Without the key nobody is told, of its own port neither. */
	b.key = 0;
	assert_int_equal(ask(&b, &sa_pkeys_type, &(struct sa_pkeys){ 0 }, 0), SA_STATUS_INVALID);
	assert_int_equal(ask(&b, &sa_pkeys_type,
			     &(struct sa_pkeys){ .lid = sa_bed_lid(&b, "H1_0_0", 1) }, 1),
			 SA_STATUS_INVALID);
	assert_int_equal(COUNT(vlarb, 1, .lid = sw), 20);
	/* Nobody has joined anything: no multicast table has an entry. */
	assert_int_equal(COUNT(mft, 0, .lid = 0), 0);
	sa_bed_free(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all), cmocka_unit_test(test_uneven),
		cmocka_unit_test(test_asked), cmocka_unit_test(test_interrupted),
		cmocka_unit_test(test_silent), cmocka_unit_test(test_refused),
		cmocka_unit_test(test_components),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
