/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <ftw.h>
#include "offline/dump.h"
#include "offline/offline.h"
#include "offline/trees.h"
#include "sm/base/buf.h"
#include "sm/fabric/event.h"
#include "sm/fabric/plan_text.h"
#include "tests/unit/engine_help.h"

/*
 * Offline work on a ring of four switches, whose channels are few enough to reason about by hand.
 * Switch i has port 1 to switch i + 1 (clockwise), port 2 to switch i - 1 and port 3 to a host.
 */
#define RING 4u
#define HOST(i) (1u + (i))		/* LIDs */
#define SWITCH(i) (1u + RING + (i))

static char folder[64];		/* of the present test's dump */

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int
new_folder(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/weft-offline-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int
end_folder(void **state)
{
	(void)state;
	return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void
put_file(const char *name, const char *text)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "we");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static struct ibnet *
ring(bool lids)
{
	struct ibnet *net = ibnet_new();
	char name[8];

	for (uint32_t i = 0; i < RING; i++) {
		snprintf(name, sizeof(name), "S%u", i);
		ibnet_add(net, IBNET_SWITCH, 3, 0x20 + i, name, name);
		net->nodes[i].ports[0].lid = lids ? (uint16_t)SWITCH(i) : 0;
	}
	for (uint32_t i = 0; i < RING; i++) {
		snprintf(name, sizeof(name), "H%u", i);
		ibnet_add(net, IBNET_CA, 1, 0x10 * (i + 1) << 8, name, name);
		net->nodes[RING + i].ports[1].lid = lids ? (uint16_t)HOST(i) : 0;
	}
	for (uint32_t i = 0; i < RING; i++) {
		ibnet_link(net, i, 1, (i + 1) % RING, 2, LINK_4X, SPEED_EDR);
		ibnet_link(net, i, 3, RING + i, 1, LINK_4X, SPEED_EDR);
	}
	return net;
}

/* The shortest way, clockwise where both are. */
static uint8_t
ring_port(uint32_t sw, uint32_t home, uint8_t out)
{
	uint32_t far = (home + RING - sw) % RING;

	return far == 0 ? out : far <= RING / 2 ? 1 : 2;
}

static void
put_net(void)
{
	struct ibnet *net = ring(true);
	struct buf b = { 0 };

	ibnet_write(&b, net);
	put_file("net", b.data);
	buf_free(&b);
	ibnet_free(net);
}

static void
put_tables(const char *name, bool quoted)
{
	struct buf b = { 0 };

	for (uint32_t sw = 0; sw < RING; sw++) {
		buf_printf(&b, quoted ? "Unicast lids [0-8] of switch Lid %u guid 0x%x ('S%u'):\n" :
			   "Unicast lids [0x0-0x8] of switch Lid %u guid 0x%x (S%u):\n", SWITCH(sw),
			   0x20 + sw, sw);
		for (uint32_t i = 0; i < RING; i++)
			buf_printf(&b, "0x%04x %03u :\n0x%04x %03u :\n", HOST(i),
				   ring_port(sw, i, 3), SWITCH(i), ring_port(sw, i, 0));
	}
	put_file(name, b.data);
	buf_free(&b);
}

/* A packet's first hop is on lane 0, the second one on lane 1, whatever its SL; but SL 5 has lane
 * `odd` on its second hop. Without the row from port 2 to port 1 of S3 if `less`. */
static void
put_lanes(unsigned odd, bool less)
{
	struct buf b = { 0 };

	for (uint32_t sw = 0; sw < RING; sw++) {
		buf_printf(&b, "# SL2VL table: Lid %u\n", SWITCH(sw));
		for (unsigned in = 0; in <= 3; in++)
			for (unsigned out = 1; out <= 3; out++) {
				if (less && sw == 3 && in == 2 && out == 1)
					continue;
				buf_printf(&b, "ports: in %2u, out %2u: |", in, out);
				for (unsigned sl = 0; sl < 16; sl++)
					buf_printf(&b, "%2u|", in == 0 || in == 3 ? 0 :
						   sl == 5 ? odd : 1);
				buf_char(&b, '\n');
			}
	}
	put_file("lanes", b.data);
	buf_free(&b);
}

static void
refuse_dump(const char *why)
{
	struct dump d;
	struct error e = { 0 };
	char text[400];

	assert_true(dump_load(&d, folder, &e) < 0);
	snprintf(text, sizeof(text), why, folder, folder);
	assert_string_equal(e.text, text);
	dump_free(&d);
}

static void
test_files(void **state)
{
	struct dump d;
	struct error e = { 0 };

	(void)state;
	refuse_dump("%s holds no topology: ibnetdiscover prints one");
	put_net();
	put_file("log", "nothing of use\n0x0001 5\n");
	put_file(".hidden", "Unicast lids [x\n");
	refuse_dump("%s holds no forwarding tables: dump_lfts prints them");
	put_file("fdbs", "dump_ucast_routes: Switch 0x20\n0x0001 : 001  : 01   : yes\n");
	assert_int_equal(dump_load(&d, folder, &e), 0);
	assert_int_equal(d.lfts->form, LFTS_FORM_FDBS);
	assert_null(d.mfts);
	assert_int_equal(d.nsl2vl, 0);
	dump_free(&d);
	put_tables("b", true);
	assert_int_equal(dump_load(&d, folder, &e), 0);
	assert_int_equal(d.lfts->form, LFTS_FORM_OPENSM);
	dump_free(&d);
	put_tables("c", false);
	put_file("groups", "\nSwitch 0x20\nLID    : Out Port(s)\n0xC000 : 0x001\n");
	put_lanes(1, false);
	assert_int_equal(dump_load(&d, folder, &e), 0);
	assert_int_equal(d.lfts->form, LFTS_FORM_DUMP);
	assert_int_equal(d.mfts->len, 1);
	assert_int_equal(d.nsl2vl, 1);
	assert_int_equal(d.fabric->nswitches, RING);
	dump_free(&d);
	put_tables("d", false);
	refuse_dump("%s/c and %s/d both hold forwarding tables: which one is meant?");
	put_file("d", "");
	put_file("c", "Unicast lids [0x0-0x8] of switch Lid 6 guid 0x20 (a):\n0x0009 1 :\n");
	refuse_dump("%s/c:2: LID 0x9 lies past the end of the block, 0x8");
	put_file("net2", "switchguid=0x20(20)\n");
	refuse_dump("%s/net and %s/net2 both hold a topology: which one is meant?");
}

static void
test_no_folder(void **state)
{
	struct dump d;
	struct error e = { 0 };

	(void)state;
	assert_true(dump_load(&d, "/nonexistent/folder", &e) < 0);
	assert_string_equal(e.text, "cannot read the folder /nonexistent/folder: No such file or "
			    "directory");
	dump_free(&d);
}

/* Tables of a loaded dump, proved; trees may be NULL. */
static int
prove(const struct dump *d, struct plan_lanes *lanes, const struct trees *t, struct plan_check *r)
{
	struct plan_lids *lids = plan_lids_from_fabric(d->fabric);
	struct plan_row *rows[RING];
	int rc;

	for (uint32_t i = 0; i < RING; i++) {
		rows[i] = plan_row_new(lids->top);
		memcpy(plan_row_entries(rows[i]), d->lfts->switches[i].ports,
		       d->lfts->switches[i].len);
	}
	rc = check_routing(&(struct check_input){
		.fabric = d->fabric, .lids = lids, .rows = rows, .lanes = lanes, .threads = 2,
		.trees = t ? t->list : NULL, .ntrees = t ? t->len : 0,
	}, r);
	for (uint32_t i = 0; i < RING; i++)
		plan_row_unref(rows[i]);
	plan_lids_unref(lids);
	return rc;
}

/* With lanes: 0 proved, 1 refused for a credit loop. */
static int
lanes_prove(unsigned odd)
{
	struct plan_check r;
	struct plan_lids *lids;
	struct plan_lanes *lanes;
	struct error e = { 0 };
	uint64_t guessed;
	struct dump d;
	int rc;

	put_lanes(odd, false);
	assert_int_equal(dump_load(&d, folder, &e), 0);
	lids = plan_lids_from_fabric(d.fabric);
	lanes = dump_lanes(&d, lids, false, &guessed, &e);
	assert_non_null(lanes);
	rc = prove(&d, lanes, NULL, &r) != 0;
	assert_int_equal(r.unreachable + r.loops + r.holes + r.misdelivered, 0);
	assert_int_equal(r.credit_loops, rc);
	plan_lanes_unref(lanes);
	plan_lids_unref(lids);
	dump_free(&d);
	return rc;
}

/*
 * Clockwise each link waits for the next, all around: a loop on one lane. Where the second hop is
 * on another lane there is none, for no way is longer. One SL that keeps its lane closes it again,
 * unless it is dropped there, or has a third lane for itself.
 */
static void
test_lanes(void **state)
{
	struct plan_check r;
	struct error e = { 0 };
	struct dump d;

	(void)state;
	put_net();
	put_tables("tables", false);
	assert_int_equal(dump_load(&d, folder, &e), 0);
	assert_true(prove(&d, NULL, NULL, &r) < 0);
	assert_int_equal(r.credit_loops, 1);
	assert_int_equal(r.unreachable + r.loops + r.holes + r.misdelivered, 0);
	dump_free(&d);
	assert_int_equal(lanes_prove(1), 0);
	assert_int_equal(lanes_prove(0), 1);
	assert_int_equal(lanes_prove(15), 0);
	assert_int_equal(lanes_prove(2), 0);
}

/* Pairs of hosts that are two links apart have SL `far`, others SL 0, as saquery PR prints it;
 * records of the switches' own packets too, of SL 0; without the former if `less`. */
static void
put_paths(unsigned far, bool less)
{
	struct buf b = { 0 };

	for (uint32_t i = 0; i < 2 * RING; i++)
		for (uint32_t k = 0; k < 2 * RING; k++) {
			bool two = i < RING && k < RING && (k + RING - i) % RING == 2;

			if (less && two)
				continue;
			buf_printf(&b, "PathRecord dump:\n\t\tdlid....................%u\n"
				   "\t\tslid....................%u\n\t\tqos_class......0x0\n"
				   "\t\tsl......................0x%x\n", HOST(k), HOST(i),
				   two ? far : 0);
		}
	put_file("paths", b.data);
	buf_free(&b);
}

/* The loop of SL 5 is none if no pair that goes two links has it, or if it has another lane; it is
 * one if they do, or if it is not known. */
static void
test_paths(void **state)
{
	(void)state;
	put_net();
	put_tables("tables", false);
	put_paths(1, false);
	assert_int_equal(lanes_prove(0), 0);
	put_paths(5, false);
	assert_int_equal(lanes_prove(0), 1);
	assert_int_equal(lanes_prove(2), 0);
	put_paths(1, true);
	assert_int_equal(lanes_prove(0), 1);
}

static void
refuse_lanes(const char *why)
{
	struct plan_lids *lids;
	struct error e = { 0 };
	uint64_t guessed;
	struct dump d;
	char text[400];

	assert_int_equal(dump_load(&d, folder, &e), 0);
	lids = plan_lids_from_fabric(d.fabric);
	assert_null(dump_lanes(&d, lids, false, &guessed, &e));
	snprintf(text, sizeof(text), why, folder);
	assert_string_equal(e.text, text);
	plan_lids_unref(lids);
	dump_free(&d);
}

static void
test_lanes_refused(void **state)
{
#define SAME " 0| 0| 0| 0| 0| 0| 0| 0| 0| 0| 0| 0| 0| 0| 0| 0|\n"
	(void)state;
	put_net();
	put_tables("tables", false);
	put_lanes(1, true);
	refuse_lanes("the dump has SL to VL tables, but none of S3 from port 2 to port 1");
	put_lanes(1, false);
	put_file("more", "# SL2VL table: Lid 5\nports: in  1, out  2: |" SAME);
	refuse_lanes("%s/more:2: S0 has another table from port 1 to port 2 elsewhere in the dump");
	put_file("more", "# SL2VL table: Lid 5\nports: in  4, out  2: |" SAME);
	refuse_lanes("%s/more:2: S0 has no more than 3 ports");
}

static void
put_trees(const char *text)
{
	put_file("trees", text);
}

static struct trees
load_trees(struct dump *d)
{
	struct trees t;
	struct error e = { 0 };

	if (dump_load(d, folder, &e))
		fail_msg("%s", e.text);
	trees_check(&t, d);
	return t;
}

static void
test_trees(void **state)
{
	struct trees t;
	struct dump d;

	(void)state;
	put_net();
	put_tables("tables", false);
	/* S0 - S1 - S2 with hosts on both ends, and the switch S1 itself. */
	put_trees("Switch 0x20\nLID    : Out Port(s)\n0xC001 : 0x001  0x003\n"
		  "Switch 0x21\nLID    : Out Port(s)\n0xC001 : 0x000  0x001  0x002\n"
		  "Switch 0x22\nLID    : Out Port(s)\n0xC001 : 0x002  0x003\n0xC002 : 0x003\n");
	t = load_trees(&d);
	assert_int_equal(t.mlids, 2);
	assert_int_equal(t.len, 4);
	assert_int_equal(t.loops, 0);
	assert_int_equal(t.unreached, 0);
	assert_string_equal(t.first, "");
	assert_int_equal(t.list[1].in[0], 1u << 1 | 1u << 2);
	trees_free(&t);
	dump_free(&d);
	/* S1 does not send on to S2, which does send: H0 and S1 do not reach H2. */
	put_trees("Switch 0x20\nLID    : Out Port(s)\n0xC001 : 0x001  0x003\n"
		  "Switch 0x21\nLID    : Out Port(s)\n0xC001 : 0x000  0x002\n"
		  "Switch 0x22\nLID    : Out Port(s)\n0xC001 : 0x002  0x003\n");
	t = load_trees(&d);
	assert_int_equal(t.loops, 0);
	assert_int_equal(t.unreached, 2);
	assert_string_equal(t.first, "multicast LID 0xc001: packets from members on S0 do not "
			    "reach those on S2");
	trees_free(&t);
	dump_free(&d);
	/* S0 sends to S3 too, which has no entry for it. */
	put_trees("Switch 0x20\nLID    : Out Port(s)\n0xC001 : 0x001  0x002  0x003\n"
		  "Switch 0x21\nLID    : Out Port(s)\n0xC001 : 0x002  0x003\n");
	t = load_trees(&d);
	assert_int_equal(t.loops, 0);
	assert_int_equal(t.unreached, 2);
	assert_string_equal(t.first, "multicast LID 0xc001: packets from members on S0 end without "
			    "a table entry at S3");
	trees_free(&t);
	dump_free(&d);
	/* All around the ring. */
	put_trees("Switch 0x20\nLID    : Out Port(s)\n0xC001 : 0x001  0x002  0x003\n"
		  "Switch 0x21\nLID    : Out Port(s)\n0xC001 : 0x001  0x002\n"
		  "Switch 0x22\nLID    : Out Port(s)\n0xC001 : 0x001  0x002  0x003\n"
		  "Switch 0x23\nLID    : Out Port(s)\n0xC001 : 0x001  0x002\n");
	t = load_trees(&d);
	assert_int_equal(t.loops, 2);
	assert_int_equal(t.unreached, 0);
	assert_string_equal(t.first, "multicast LID 0xc001: packets from members on S0 come twice "
			    "to S2");
	trees_free(&t);
	dump_free(&d);
}

/* Ways that never leave the path S0 - S1 - S2 - S3: no loop on one lane. */
static void
put_path_tables(void)
{
	struct buf b = { 0 };

	for (uint32_t sw = 0; sw < RING; sw++) {
		buf_printf(&b, "Unicast lids [0x0-0x8] of switch Lid %u guid 0x%x (S%u):\n",
			   SWITCH(sw), 0x20 + sw, sw);
		for (uint32_t i = 0; i < RING; i++)
			buf_printf(&b, "0x%04x %03u :\n0x%04x %03u :\n", HOST(i),
				   i == sw ? 3 : i > sw ? 1 : 2, SWITCH(i),
				   i == sw ? 0 : i > sw ? 1 : 2);
	}
	put_file("tables", b.data);
	buf_free(&b);
}

/* One tree of three switches for each of `n` places of the ring, the middle one at S1, S2 .. */
static int
prove_trees(unsigned n)
{
	struct plan_check r;
	struct buf b = { 0 };
	struct trees t;
	struct dump d;
	int rc;

	for (uint32_t sw = 0; sw < RING; sw++) {
		buf_printf(&b, "Switch 0x%x\nLID    : Out Port(s)\n", 0x20 + sw);
		for (unsigned i = 0; i < n; i++) {
			uint32_t place = (sw + RING - i) % RING;

			if (place < 3)
				buf_printf(&b, "0x%X : %s\n", 0xc000 + i,
					   place == 0 ? "0x001 0x003" :
					   place == 1 ? "0x001 0x002" : "0x002 0x003");
		}
	}
	put_trees(b.data);
	buf_free(&b);
	t = load_trees(&d);
	assert_int_equal(t.mlids, n);
	assert_int_equal(t.loops + t.unreached, 0);
	rc = prove(&d, NULL, &t, &r) != 0;
	assert_int_equal(r.credit_loops, rc);
	trees_free(&t);
	dump_free(&d);
	return rc;
}

/* Each tree makes one link of the ring wait for the next: it takes all of them to close it. */
static void
test_trees_wait(void **state)
{
	(void)state;
	put_net();
	put_path_tables();
	assert_int_equal(prove_trees(1), 0);
	assert_int_equal(prove_trees(2), 0);
	assert_int_equal(prove_trees(3), 0);
	assert_int_equal(prove_trees(4), 1);
}

/* Hosts by switch and port, then switches; the file's LIDs are kept where they are legal. */
static void
test_lids(void **state)
{
	struct ibnet *net = ring(false);
	struct error e = { 0 };
	struct fabric *f;
	struct plan_lids *l;

	(void)state;
	net->nodes[RING + 1].ports[1].lid = 2;		/* H1: legal */
	net->nodes[RING + 2].ports[1].lid = 2;		/* H2: H1 has it */
	net->nodes[2].ports[0].lid = 0xc000;		/* S2: no unicast LID */
	f = fabric_from_ibnet(net);
	l = offline_lids(f, 0, &e);
	assert_non_null(l);
	assert_int_equal(l->base[fabric_port_by_guid(f, 0x1001)], 1);
	assert_int_equal(l->base[fabric_port_by_guid(f, 0x2001)], 2);
	assert_int_equal(l->base[fabric_port_by_guid(f, 0x3001)], 3);
	assert_int_equal(l->base[fabric_port_by_guid(f, 0x4001)], 4);
	for (uint32_t i = 0; i < RING; i++)
		assert_int_equal(l->base[fabric_port_by_guid(f, 0x20 + i)], 5 + i);
	assert_int_equal(l->top, 8);
	plan_lids_unref(l);
	/* 8 LIDs a host, from a multiple of 8 on: 2 is none. */
	l = offline_lids(f, 3, &e);
	assert_non_null(l);
	assert_int_equal(l->base[fabric_port_by_guid(f, 0x1001)], 8);
	assert_int_equal(l->base[fabric_port_by_guid(f, 0x4001)], 32);
	assert_int_equal(l->lmc[fabric_port_by_guid(f, 0x4001)], 3);
	assert_int_equal(l->base[fabric_port_by_guid(f, 0x20)], 40);
	assert_int_equal(l->lmc[fabric_port_by_guid(f, 0x20)], 0);
	plan_lids_unref(l);
	fabric_unref(f);
	ibnet_free(net);
}

/* LIDs that two ports claim are nobody's, and that is told; so is what is no LID. */
static void
test_clash(void **state)
{
	struct ibnet *net = ring(true);
	struct plan_lids *l;
	struct fabric *f;
	char clash[300];
	uint32_t taken;

	(void)state;
	f = fabric_from_ibnet(net);
	l = offline_lids_known(f, &(struct lfts){ 0 }, &taken);
	assert_int_equal(offline_lids_left_out(f, l, clash, sizeof(clash)), 0);
	assert_string_equal(clash, "");
	plan_lids_unref(l);
	fabric_unref(f);
	net->nodes[RING].ports[1].lid = 0;			/* H0 */
	net->nodes[RING + 2].ports[1].lid = SWITCH(1);		/* H2 */
	f = fabric_from_ibnet(net);
	l = offline_lids_known(f, &(struct lfts){ 0 }, &taken);
	assert_int_equal(offline_lids_left_out(f, l, clash, sizeof(clash)), 1);
	assert_non_null(strstr(clash, "claimed by S1 and by H2"));
	plan_lids_unref(l);
	fabric_unref(f);
	net->nodes[RING + 2].ports[1].lid = 0xc001;
	f = fabric_from_ibnet(net);
	l = offline_lids_known(f, &(struct lfts){ 0 }, &taken);
	assert_int_equal(offline_lids_left_out(f, l, clash, sizeof(clash)), 1);
	assert_non_null(strstr(clash, "H2 cannot have LID 49153"));
	plan_lids_unref(l);
	fabric_unref(f);
	ibnet_free(net);
}

/* The topology knows three LIDs; the tables say whose the others are. */
static void
test_known_lids(void **state)
{
	struct ibnet *net = ring(true);
	uint64_t owners[LFTS_LID_MAX + 1u] = { 0 };
	struct lfts tables = { .owners = owners };
	struct plan_lids *l;
	struct fabric *f;
	uint32_t taken;

	(void)state;
	for (uint32_t i = 1; i < RING; i++)
		net->nodes[i].ports[0].lid = net->nodes[RING + i].ports[1].lid = 0;
	net->nodes[RING + 1].ports[1].lid = 2;
	f = fabric_from_ibnet(net);
	l = offline_lids_known(f, &(struct lfts){ 0 }, &taken);
	assert_int_equal(taken, 0);
	assert_int_equal(l->top, SWITCH(0));
	plan_lids_unref(l);
	/* Four for H2, three for H3 of which two make a range, one that is another's, one for S1,
	 * one that nobody here has; H1 keeps its own. */
	for (uint32_t lid = 8; lid < 12; lid++)
		owners[lid] = 0x3001;
	for (uint32_t lid = 12; lid < 15; lid++)
		owners[lid] = 0x4001;
	owners[HOST(0)] = 0x22;
	owners[7] = 0x21;
	owners[30] = 0x9999;
	owners[31] = 0x2001;
	l = offline_lids_known(f, &tables, &taken);
	assert_int_equal(taken, 3);
	assert_int_equal(l->base[fabric_port_by_guid(f, 0x1001)], HOST(0));
	assert_int_equal(l->base[fabric_port_by_guid(f, 0x2001)], 2);
	assert_int_equal(l->base[fabric_port_by_guid(f, 0x3001)], 8);
	assert_int_equal(l->lmc[fabric_port_by_guid(f, 0x3001)], 2);
	assert_int_equal(l->base[fabric_port_by_guid(f, 0x4001)], 12);
	assert_int_equal(l->lmc[fabric_port_by_guid(f, 0x4001)], 1);
	assert_int_equal(l->base[fabric_port_by_guid(f, 0x20)], SWITCH(0));
	assert_int_equal(l->base[fabric_port_by_guid(f, 0x21)], 7);
	assert_int_equal(l->base[fabric_port_by_guid(f, 0x22)], 0);
	assert_int_equal(l->top, 13);
	plan_lids_unref(l);
	fabric_unref(f);
	ibnet_free(net);
}

/* 400 hosts with 128 LIDs each are more than there are. */
static void
test_no_lid_left(void **state)
{
	struct fabric *f = help_generate("ft2 20 2 20", false, 1);
	struct error e = { 0 };

	(void)state;
	assert_null(offline_lids(f, 7, &e));
	assert_non_null(strstr(e.text, ": 49151 are the most that every switch can forward; lower "
			       "--lmc"));
	fabric_unref(f);
}

/* A configuration may name every engine there is: the schema of options lists them by itself. */
static void
test_configured(void **state)
{
	(void)state;
	for (const struct engine *const *i = engines; *i; i++) {
		struct error e = { 0 };
		struct config *c;
		char text[160];

		snprintf(text, sizeof(text), "subnets:\n  - {name: a, routing: {engines: [%s], "
			 "file: /tables}}\n", (*i)->name);
		c = config_parse(text, strlen(text), "t.yaml", &e);
		if (!c)
			fail_msg("%s", e.text);
		assert_string_equal(c->subnets[0].routing.engines[0], (*i)->name);
		config_free(c);
	}
}

/* The words of plugins[].events are the types that there are. */
static void
test_event_words(void **state)
{
	(void)state;
	for (unsigned i = 0; i < EVENT_TYPES; i++) {
		const char *name = event_type_name((enum event_type)i);
		struct error e = { 0 };
		struct config *c;
		char text[80];

		snprintf(text, sizeof(text), "plugins: [{name: a, events: [%s]}]\n", name);
		c = config_parse(text, strlen(text), "t.yaml", &e);
		if (!c)
			fail_msg("%s", e.text);
		assert_string_equal(c->plugins[0].events[0], name);
		config_free(c);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_files, new_folder, end_folder),
		cmocka_unit_test(test_no_folder),
		cmocka_unit_test_setup_teardown(test_lanes, new_folder, end_folder),
		cmocka_unit_test_setup_teardown(test_paths, new_folder, end_folder),
		cmocka_unit_test_setup_teardown(test_lanes_refused, new_folder, end_folder),
		cmocka_unit_test_setup_teardown(test_trees, new_folder, end_folder),
		cmocka_unit_test_setup_teardown(test_trees_wait, new_folder, end_folder),
		cmocka_unit_test(test_lids), cmocka_unit_test(test_clash),
		cmocka_unit_test(test_known_lids),
		cmocka_unit_test(test_no_lid_left), cmocka_unit_test(test_configured),
		cmocka_unit_test(test_event_words),
	};

	alarm(60);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
