/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "sim/model/model_impl.h"
#include "sm/base/mem.h"
#include "tests/unit/core_bed.h"

/*
 * LIDs: kept where they can be, given in neighbourly order where they are new, remembered over
 * restarts, and right whatever the ports or the records hold at first. What a port holds is
 * planted in the simulated device, what the records hold in the store.
 */
static void
plant(struct bed *b, uint32_t node, uint16_t lid)
{
	unsigned port = b->net->nodes[node].type == IBNET_SWITCH ? 0 : 1;

	b->m->nodes[node].ports[port].info.lid = lid;
}

static uint16_t
held(const struct bed *b, uint32_t node)
{
	return model_portinfo(b->m, node, b->net->nodes[node].type == IBNET_SWITCH ? 0 : 1)->lid;
}

static uint64_t
guid_of(const struct bed *b, uint32_t node)
{
	return model_port_guid(b->m, node, b->net->nodes[node].type == IBNET_SWITCH ? 0 : 1);
}

static void
row_text(struct bed_sm *sm, const char *guid, const char *value)
{
	char key[80];

	snprintf(key, sizeof(key), "%s %s", sm->conf.name, guid);
	store_put(sm->store, STORE_LIDS, key, value);
}

static void
row(struct bed_sm *sm, uint64_t guid, unsigned lid, unsigned lmc, long long seen)
{
	char text[GUID_TEXT_SIZE], value[60];

	snprintf(value, sizeof(value), "%u %u %lld", lid, lmc, seen);
	row_text(sm, guid_text(text, guid), value);
}

static void
start(struct bed_sm *sm)
{
	store_commit(sm->store, NULL, NULL);
	bed_wait(sm->bed, MSEC(1));
	bed_start(sm);
	if (bed_run(sm, SEC(20)) != 1)
		fail_msg("%s", sm->why);
	bed_check(sm);
}

/* Rows of the store: how many, and that each says what a port holds, or is about an absent one. */
struct rows {
	const struct bed *b;	/* the fabric */
	const char *name;	/* of the subnet */
	uint64_t last;		/* GUID of the last row seen */
	uint64_t absent[16];	/* GUIDs of nobody */
	unsigned nabsent;	/* in use */
	unsigned present;	/* rows of ports */
	unsigned bad;		/* rows that cannot be read, or are wrong */
};

static void
see_row(void *arg, const char *key, const char *value)
{
	struct rows *r = arg;
	unsigned lid, lmc;
	long long seen;
	uint64_t guid;

	if (strncmp(key, r->name, strlen(r->name)) || key[strlen(r->name)] != ' ')
		return;
	if (!guid_parse(key + strlen(r->name) + 1, &guid) ||
	    sscanf(value, "%u %u %lld", &lid, &lmc, &seen) != 3 || !lid || lid > LID_UNICAST_MAX) {
		r->bad++;
		return;
	}
	for (uint32_t n = 0; n < r->b->net->nnodes; n++) {
		if (guid_of(r->b, n) != guid)
			continue;
		r->present++;
		r->bad += held(r->b, n) != lid;
		return;
	}
	if (r->nabsent < 16)
		r->absent[r->nabsent++] = guid;
}

static struct rows
rows_of(struct bed_sm *sm)
{
	struct rows r = { .b = sm->bed, .name = sm->conf.name };
	struct error e;

	bed_wait(sm->bed, MSEC(1));
	assert_int_equal(store_scan(sm->store, STORE_LIDS, see_row, &r, &e), 0);
	return r;
}

/* New hosts of one leaf are neighbours in order of its ports; switches come behind the hosts. */
static void
test_neighbours(void **state)
{
	struct bed *b = bed_new("ft2 6 3 5", 1);
	struct bed_sm *sm = bed_sm(b, 7, 1);
	uint16_t last_host = 0;

	(void)state;
	start(sm);
	for (uint32_t n = bed_next(b, IBNET_SWITCH, 0); n < b->net->nnodes; n++) {
		const struct ibnet_node *sw = &b->net->nodes[n];
		uint16_t before = 0;

		for (unsigned p = 1; p <= sw->nports; p++) {
			uint32_t peer = sw->ports[p].peer;

			if (peer == IBNET_NONE || b->net->nodes[peer].type != IBNET_CA)
				continue;
			if (before)
				assert_int_equal(held(b, peer), before + 1);
			before = held(b, peer);
			last_host = before > last_host ? before : last_host;
		}
	}
	assert_int_equal(last_host, 30);
	for (uint32_t n = bed_next(b, IBNET_SWITCH, 0); n < b->net->nnodes; n++)
		assert_in_range(held(b, n), 31, 39);
	bed_free(b);
}

/* Legal LIDs stay, whatever they are and whether there is a record or not. */
static void
test_kept(void **state)
{
	static const uint16_t lids[] = { 1, 2, 3, 63, 64, 65, 127, 128, 1000, 4095, 4096, 0x7fff,
					 0x8000, 0xa000, 0xbffe, 0xbfff };
	struct bed *b = bed_new("ft3 4", 1);
	struct bed_sm *sm = bed_sm(b, 0, 1);

	(void)state;
	for (uint32_t n = 0; n < 16; n++)
		plant(b, n, lids[n]);
	start(sm);
	for (uint32_t n = 0; n < 16; n++)
		assert_int_equal(held(b, n), lids[n]);
	assert_int_equal(rows_of(sm).bad, 0);
	assert_int_equal(rows_of(sm).present, 36);
	bed_free(b);
}

/* A restart moves nothing; not even when all devices have forgotten what they had. */
static void
test_restart(void **state)
{
	struct bed *b = bed_new("ft3 4", 1);
	struct bed_sm *sm = bed_sm(b, 0, 1);
	uint16_t before[36];

	(void)state;
	for (uint32_t n = 0; n < 16; n++)
		plant(b, n, (uint16_t)(500 - 7 * n));
	start(sm);
	for (uint32_t n = 0; n < 36; n++)
		before[n] = held(b, n);
	bed_stop(sm);
	model_count_reset(b->m);
	start(sm);
	assert_int_equal(bed_count(b, MAD_SET, ATTR_PORT_INFO), 0);
	bed_stop(sm);
	for (uint32_t n = 0; n < 36; n++)
		model_reboot(b->m, n);
	bed_wait(b, MSEC(5));
	assert_int_equal(held(b, 5), 0);
	/* And two hosts have changed places. */
	model_recable(b->m, b->net->nodes[3].ports[1].peer, b->net->nodes[3].ports[1].peer_port,
		      9, 1);
	model_recable(b->m, b->net->nodes[9].ports[1].peer, b->net->nodes[9].ports[1].peer_port,
		      3, 1);
	bed_wait(b, MSEC(5));
	start(sm);
	for (uint32_t n = 0; n < 36; n++)
		assert_int_equal(held(b, n), before[n]);
	bed_free(b);
}

/*
 * A host, or a switch, has by now what the records say is another host's that comes up with it, and
 * is in use: whoever led meanwhile did not know of that host. What carries traffic keeps its LID.
 */
static void
test_live_before_records(void **state)
{
	struct bed *b = bed_new("ft3 4", 1);
	struct bed_sm *sm = bed_sm(b, 0, 1);
	uint32_t sw = bed_next(b, IBNET_SWITCH, 0);
	uint16_t one, other;

	(void)state;
	start(sm);
	one = held(b, 5);
	other = held(b, 9);
	bed_stop(sm);
	plant(b, 12, one);
	plant(b, sw, other);
	model_link_flap(b->m, 5, 1, MSEC(1));
	model_link_flap(b->m, 9, 1, MSEC(1));
	bed_wait(b, MSEC(5));
	assert_int_equal(held(b, 5), one);
	assert_int_equal(model_portinfo(b->m, 5, 1)->state, PORT_INIT);
	assert_int_equal(model_portinfo(b->m, 9, 1)->state, PORT_INIT);
	start(sm);
	assert_int_equal(held(b, 12), one);
	assert_int_equal(held(b, sw), other);
	assert_int_equal(rows_of(sm).bad, 0);
	assert_int_equal(rows_of(sm).present, 36);
	bed_free(b);
}

/* Not so a switch that comes up itself with the LID of a host that does: its port 0 is always
 * active, which says nothing. */
static void
test_switch_comes_up(void **state)
{
	struct bed *b = bed_new("ft3 4", 1);
	struct bed_sm *sm = bed_sm(b, 0, 1);
	uint32_t sw = b->net->nnodes - 1;
	uint16_t was[36];

	(void)state;
	start(sm);
	for (uint32_t n = 0; n < 36; n++)
		was[n] = held(b, n);
	bed_stop(sm);
	plant(b, sw, was[9]);
	for (unsigned p = 1; p <= b->net->nodes[sw].nports; p++)
		model_link_flap(b->m, sw, p, MSEC(1));
	model_link_flap(b->m, 9, 1, MSEC(1));
	bed_wait(b, MSEC(5));
	start(sm);
	for (uint32_t n = 0; n < 36; n++)
		assert_int_equal(held(b, n), was[n]);
	bed_free(b);
}

/* Base LIDs are aligned, each port has 2^LMC of them and switches one, and all lead there. */
static void
test_lmc(void **state)
{
	(void)state;
	for (unsigned lmc = 1; lmc <= 3; lmc++) {
		struct bed *b = bed_new("ft3 4", lmc);
		struct bed_sm *sm = bed_sm(b, 0, 1);
		uint16_t before[16];

		sm->conf.lmc = lmc;
		start(sm);
		for (uint32_t n = 0; n < 16; n++) {
			before[n] = held(b, n);
			assert_int_equal(before[n] % (1u << lmc), 0);
		}
		for (uint32_t n = 16; n < 36; n++)
			assert_int_equal(model_portinfo(b->m, n, 0)->lmc, 0);
		/* Lower: each base LID is good as it is. Back again: still so. */
		bed_stop(sm);
		sm->conf.lmc = 0;
		start(sm);
		for (uint32_t n = 0; n < 16; n++)
			assert_int_equal(held(b, n), before[n]);
		bed_stop(sm);
		sm->conf.lmc = lmc;
		start(sm);
		for (uint32_t n = 0; n < 16; n++)
			assert_int_equal(held(b, n), before[n]);
		bed_free(b);
	}
}

/* A higher LMC moves what is not aligned for it, and that alone. */
static void
test_lmc_raised(void **state)
{
	struct bed *b = bed_new("ft3 4", 1);
	struct bed_sm *sm = bed_sm(b, 0, 1);

	(void)state;
	for (uint32_t n = 0; n < 16; n++)
		plant(b, n, (uint16_t)(100 + 2 * n));
	sm->conf.lmc = 2;
	start(sm);
	/* 100, 104, 108 ... are multiples of 4, 102, 106 ... are not. */
	for (uint32_t n = 0; n < 16; n += 2)
		assert_int_equal(held(b, n), 100 + 2 * n);
	for (uint32_t n = 1; n < 16; n += 2)
		assert_true(held(b, n) != 100 + 2 * n);
	bed_free(b);
}

/* The scar of an LMC of 3: bases 8 apart, records of 8 LIDs each. With LMC 0 all stay, at once. */
static void
test_lmc_lowered(void **state)
{
	struct bed *b = bed_new("ft3 4", 1);
	struct bed_sm *sm = bed_sm(b, 0, 1);

	(void)state;
	for (uint32_t n = 0; n < 16; n++) {
		plant(b, n, (uint16_t)(8 + 8 * n));
		b->m->nodes[n].ports[1].info.lmc = 3;
		row(sm, guid_of(b, n), 8 + 8 * n, 3, 1000);
	}
	/* An absent one's range lies between them. */
	row(sm, 0xdead, 16, 3, 1000);
	start(sm);
	for (uint32_t n = 0; n < 16; n++)
		assert_int_equal(held(b, n), 8 + 8 * n);
	assert_int_equal(rows_of(sm).bad, 0);
	assert_int_equal(sm->s->st.sweeps, 1);
	bed_free(b);
}

/*
 * Damage of every kind, to ports and records, again and again.
 */
static uint32_t
pick(uint64_t *rng, uint32_t bound)
{
	*rng = *rng * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*rng >> 33) % bound;
}

static void
damage_port(struct bed *b, uint64_t *rng, uint32_t node)
{
	static const uint16_t odd[] = { 0, 0xc000, 0xffff, 0xbfff };

	switch (pick(rng, 5)) {
	case 0:
		plant(b, node, 0);
		break;
	case 1:
		plant(b, node, odd[pick(rng, 4)]);
		break;
	case 2:	/* another's */
		plant(b, node, held(b, pick(rng, b->net->nnodes)));
		break;
	case 3:	/* perhaps unaligned, perhaps amid another's range */
		plant(b, node, (uint16_t)(1 + pick(rng, 300)));
		break;
	}
}

static void
damage_row(struct bed_sm *sm, uint64_t *rng)
{
	static const char *const bad[] = {
		"", "x", "12", "12 0", "0 0 5", "49152 0 5", "70000 0 5", "-4 0 5", "7 8 5",
		"7 0 -5", "99999999999999999999 0 5", "5 0 soon",
	};
	struct bed *b = sm->bed;
	uint32_t n = pick(rng, b->net->nnodes);
	char text[GUID_TEXT_SIZE];

	switch (pick(rng, 4)) {
	case 0:
		row_text(sm, guid_text(text, guid_of(b, n)), bad[pick(rng, 12)]);
		break;
	case 1:	/* somebody unknown, perhaps with a LID that is in use */
		row(sm, 0xdead00 + pick(rng, 10), 1 + pick(rng, 200), pick(rng, 4), 5);
		break;
	case 2:	/* another's LID */
		row(sm, guid_of(b, n), held(b, pick(rng, b->net->nnodes)) + 0u, 0, 7);
		break;
	case 3:
		row_text(sm, pick(rng, 2) ? "0xnonsense" : "", "5 0 5");
		break;
	}
}

/* Who holds a legal LID that nobody else holds keeps it, whatever the records say. Ranges by LMC
 * must not overlap either. */
static bool
must_keep(const struct bed *b, const uint16_t *was, uint32_t node, unsigned lmc)
{
	unsigned len = b->net->nodes[node].type == IBNET_SWITCH ? 1 : 1u << lmc;

	if (!was[node] || was[node] % len || was[node] + len - 1 > LID_UNICAST_MAX)
		return false;
	for (uint32_t n = 0; n < b->net->nnodes; n++) {
		unsigned other = b->net->nodes[n].type == IBNET_SWITCH ? 1 : 1u << lmc;

		if (n != node && was[n] < was[node] + len && was[node] < was[n] + other)
			return false;
	}
	return true;
}

static void
damaged(uint64_t seed, unsigned lmc)
{
	struct bed *b = bed_new("ft2 8 2 8", seed);
	struct bed_sm *sm = bed_sm(b, 0, 1);
	uint32_t nnodes = b->net->nnodes;
	uint16_t *was = mem_array(nnodes, sizeof(*was));
	uint64_t rng = seed;
	struct rows r;

	sm->conf.lmc = lmc;
	for (uint32_t n = 0; n < nnodes; n++)
		damage_port(b, &rng, n);
	for (unsigned round = 0; round < 6; round++) {
		for (unsigned i = 0; i < 20; i++)
			damage_row(sm, &rng);
		for (unsigned i = 0; i < 10; i++)
			damage_port(b, &rng, pick(&rng, nnodes));
		for (uint32_t n = 0; n < nnodes; n++)
			was[n] = held(b, n);
		start(sm);
		for (uint32_t n = 0; n < nnodes; n++)
			if (must_keep(b, was, n, lmc) && held(b, n) != was[n])
				fail_msg("seed %u, LMC %u: %s had LID %u and has %u",
					 (unsigned)seed, lmc, b->net->nodes[n].name, was[n],
					 held(b, n));
		r = rows_of(sm);
		assert_int_equal(r.bad, 0);
		assert_int_equal(r.present, nnodes);
		bed_stop(sm);
	}
	mem_free(was);
	bed_free(b);
}

static void
test_damage(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 25; seed++)
		damaged(seed, (unsigned)seed % 4);
}

/* A fabric in order, and ports that lose their LID behind the subnet manager's back, or are given
 * an illegal one or that of a port in order: each sweep puts all as it was. */
static void
test_damage_while_up(void **state)
{
	struct bed *b = bed_new("ft2 8 2 8", 1);
	struct bed_sm *sm = bed_sm(b, 0, 1);
	uint16_t before[74];
	uint64_t rng = 5;

	(void)state;
	assert_int_equal(b->net->nnodes, 74);
	start(sm);
	for (uint32_t n = 0; n < 74; n++)
		before[n] = held(b, n);
	for (unsigned i = 0; i < 20; i++) {
		for (unsigned k = 0; k < 15; k++) {
			static const uint16_t odd[] = { 0, 0xc000, 0xffff };
			unsigned kind = pick(&rng, 4);

			plant(b, pick(&rng, 37), kind < 3 ? odd[kind] :
			      before[37 + pick(&rng, 37)]);
		}
		bed_sweep(sm, SEC(20));
		bed_check(sm);
		for (uint32_t n = 0; n < 74; n++)
			if (held(b, n) != before[n])
				fail_msg("sweep %u: %s had LID %u and has %u", i,
					 b->net->nodes[n].name, before[n], held(b, n));
	}
	assert_int_equal(rows_of(sm).bad, 0);
	bed_free(b);
}

/*
 * Few LIDs: switches whose tables are short.
 */
static bool
short_tables(struct bed_sm *sm, struct port_mad *m)
{
	const uint16_t *cap = sm->arg;
	struct switchinfo si;
	struct smp smp;

	if (smp_decode(&smp, m->mad, MAD_SIZE) || smp.h.attr_id != ATTR_SWITCH_INFO ||
	    smp.h.method != MAD_GET_RESP)
		return true;
	switchinfo_decode(&si, smp.data);
	si.linear_fdb_cap = *cap;
	switchinfo_encode(&si, smp.data);
	smp_encode(&smp, m->mad);
	return true;
}

static bool
is_absent(const struct rows *r, uint64_t guid)
{
	for (unsigned i = 0; i < r->nabsent; i++)
		if (r->absent[i] == guid)
			return true;
	return false;
}

/* Six hosts and three switches, tables of 12 entries: LIDs 1 to 11, of which 4 are absent ones'.
 * Seven are free, so two of the four are given away: those that have been absent longest. */
static void
test_oldest_first(void **state)
{
	struct bed *b = bed_new("ft2 2 1 3", 1);
	struct bed_sm *sm = bed_sm(b, 0, 1);
	uint16_t cap = 12;
	struct rows r;

	(void)state;
	assert_int_equal(b->net->nnodes, 9);
	sm->arg = &cap;
	sm->in = short_tables;
	row(sm, 0xa1, 2, 0, 300);
	row(sm, 0xa2, 5, 0, 100);
	row(sm, 0xa3, 7, 0, 400);
	row(sm, 0xa4, 11, 0, 200);
	start(sm);
	r = rows_of(sm);
	assert_int_equal(r.bad, 0);
	assert_int_equal(r.present, 9);
	assert_int_equal(r.nabsent, 2);
	assert_true(is_absent(&r, 0xa1));
	assert_true(is_absent(&r, 0xa3));
	for (uint32_t n = 0; n < 9; n++) {
		assert_true(held(b, n) != 2 && held(b, n) != 7);
		assert_in_range(held(b, n), 1, 11);
	}
	bed_free(b);

	/* Enough room: nothing is given away. */
	b = bed_new("ft2 2 1 3", 1);
	sm = bed_sm(b, 0, 1);
	cap = 14;
	sm->arg = &cap;
	sm->in = short_tables;
	row(sm, 0xa1, 2, 0, 300);
	row(sm, 0xa2, 5, 0, 100);
	row(sm, 0xa3, 7, 0, 400);
	row(sm, 0xa4, 11, 0, 200);
	start(sm);
	assert_int_equal(rows_of(sm).nabsent, 4);
	bed_free(b);
}

/* A host that comes back finds its LID, unless others needed it. */
static void
test_comes_back(void **state)
{
	struct bed *b = bed_new("ft2 2 1 3", 1);
	struct bed_sm *sm = bed_sm(b, 0, 1);
	uint16_t lid;

	(void)state;
	start(sm);
	lid = held(b, 4);
	model_link_set(b->m, 4, 1, false);
	bed_wait(b, SEC(1));
	assert_int_equal(sm->s->plan->fabric->ncas, 5);
	plant(b, 4, 0);
	bed_sweep(sm, SEC(5));
	model_link_set(b->m, 4, 1, true);
	bed_wait(b, SEC(1));
	bed_check(sm);
	assert_int_equal(sm->s->plan->fabric->ncas, 6);
	assert_int_equal(held(b, 4), lid);
	bed_free(b);
}

/* Nine ports and six LIDs: six have one, three are told and left out; nobody hangs or is harmed. */
static void
test_too_few(void **state)
{
	struct bed *b = bed_new("ft2 2 1 3", 1);
	struct bed_sm *sm = bed_sm(b, 0, 1);
	uint16_t cap = 7;
	unsigned with = 0;

	(void)state;
	sm->arg = &cap;
	sm->in = short_tables;
	bed_start(sm);
	bed_run(sm, SEC(20));
	assert_true(bed_quiet(sm, SEC(100)));
	assert_non_null(bed_event(sm, EVENT_REFUSED, "no LID is left"));
	for (uint32_t n = 0; n < 9; n++) {
		with += held(b, n) != 0;
		assert_true(held(b, n) < 7);
		for (uint32_t k = 0; k < n; k++)
			assert_true(!held(b, n) || held(b, n) != held(b, k));
	}
	assert_int_equal(with, 6);
	bed_free(b);
}

/* The spine behind port 5 of our leaf says that it forwards 8 LIDs; 14 are needed. */
static bool
short_spine(struct bed_sm *sm, struct port_mad *m)
{
	struct smp smp;

	if (smp_decode(&smp, m->mad, MAD_SIZE) || smp.hop_count != 2 || smp.path[2] != 5)
		return true;
	return short_tables(sm, m);
}

/* One switch that holds too few LIDs is told; nobody loses a LID for it. */
static void
test_one_too_small(void **state)
{
	struct bed *b = bed_new("ft2 3 2 3", 1);
	struct bed_sm *sm = bed_sm(b, 0, 1);
	uint16_t cap = 8, was[14];

	(void)state;
	assert_int_equal(b->net->nnodes, 14);
	start(sm);
	for (uint32_t n = 0; n < 14; n++)
		was[n] = held(b, n);
	bed_stop(sm);
	sm->arg = &cap;
	sm->in = short_spine;
	bed_start(sm);
	bed_run(sm, SEC(20));
	assert_non_null(bed_event(sm, EVENT_REFUSED, "fewer LIDs than the 14"));
	for (uint32_t n = 0; n < 14; n++) {
		assert_int_not_equal(held(b, n), 0);
		assert_int_equal(held(b, n), was[n]);
	}
	bed_free(b);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_neighbours),
		cmocka_unit_test(test_kept),
		cmocka_unit_test(test_restart),
		cmocka_unit_test(test_live_before_records),
		cmocka_unit_test(test_switch_comes_up),
		cmocka_unit_test(test_lmc),
		cmocka_unit_test(test_lmc_raised),
		cmocka_unit_test(test_lmc_lowered),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_damage_while_up),
		cmocka_unit_test(test_oldest_first),
		cmocka_unit_test(test_comes_back),
		cmocka_unit_test(test_too_few),
		cmocka_unit_test(test_one_too_small),
	};

	/* One test by name, for those who look for a fault. */
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("core_lids", tests, NULL, NULL);
}
