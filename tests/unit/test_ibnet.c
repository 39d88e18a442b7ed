/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "sm/text/ibnet.h"
#include "sm/text/lfts.h"
#include "sm/text/mfts.h"
#include "sm/text/paths.h"
#include "sm/text/sl2vl.h"

/*
 * The readers and writers of topology and table text. Texts are hand-written in the three
 * dialects; ibsim's own examples are read where the package is installed, and saved fabrics
 * from the folder that WEFT_FABRICS names; the counts of both come from grep.
 */
static struct ibnet *
parse(const char *text)
{
	struct ibnet *net;
	struct error e = { 0 };

	if (ibnet_parse(&net, text, strlen(text), "net", &e) < 0)
		fail_msg("%s", e.text);
	return net;
}

static void
refuse(const char *text, const char *message)
{
	struct ibnet *net;
	struct error e = { 0 };

	assert_true(ibnet_parse(&net, text, strlen(text), "net", &e) < 0);
	assert_null(net);
	assert_string_equal(e.text, message);
}

static const char full[] =
	"#\n# Topology file: generated on some day\n#\n"
	"# Initiated from node 0000000000000020 port 0000000000000021\n\n"
	"vendid=0x2c9\ndevid=0xcb20\nsysimgguid=0x18\nswitchguid=0x10(11)\n"
	"Switch\t36 \"S-0000000000000010\"\t\t# \"leaf \"A\"\" enhanced port 0 lid 48 lmc 1\n"
	"[1]\t\"H-0000000000000020\"[2](2f) \t\t# \"node01 HCA-1\" lid 66 4xNDR\n"
	"[13][ext 2]\t\"S-0000000000000030\"[19][ext 9]\t\t# \"spine\" lid 21 2xHDR s=4 w=2 v=5\n"
	"\n"
	"vendid=0x8f1\ndevid=0x5a06\nswitchguid=0x30(30)\n"
	"Switch\t24 \"S-0000000000000030\"\t\t# \"spine\" base port 0 lid 21 lmc 0\n"
	"[19]\t\"S-0000000000000010\"[13]\t\t# \"leaf \"A\"\" lid 48 2xHDR\n"
	"\n"
	"vendid=0x2c9\ndevid=0x1021\nsysimgguid=0x20\ncaguid=0x20\n"
	"Ca\t2 \"H-0000000000000020\"\t\t# \"node01 HCA-1\"\n"
	"[2](2f) \t\"S-0000000000000010\"[1]\t\t# lid 66 lmc 2 \"leaf \"A\"\" lid 48 4xNDR\n";

static void
check_full(const struct ibnet *net)
{
	const struct ibnet_node *leaf = &net->nodes[0], *spine = &net->nodes[1];
	const struct ibnet_node *ca = &net->nodes[2];

	assert_int_equal(net->nnodes, 3);
	assert_int_equal(net->nlinks, 2);
	assert_int_equal(leaf->type, IBNET_SWITCH);
	assert_int_equal(leaf->nports, 36);
	assert_int_equal(leaf->guid, 0x10);
	assert_int_equal(leaf->system_guid, 0x18);
	assert_int_equal(leaf->ports[0].guid, 0x11);
	assert_int_equal(leaf->ports[0].lid, 48);
	assert_int_equal(leaf->ports[0].lmc, 1);
	assert_int_equal(leaf->vendor_id, 0x2c9);
	assert_int_equal(leaf->device_id, 0xcb20);
	assert_true(leaf->enhanced_port0);
	assert_string_equal(leaf->desc, "leaf \"A\"");
	assert_string_equal(leaf->name, "S-0000000000000010");
	assert_int_equal(leaf->ports[13].peer, 1);
	assert_int_equal(leaf->ports[13].peer_port, 19);
	assert_int_equal(leaf->ports[13].width, LINK_2X);
	assert_int_equal(leaf->ports[13].speed, SPEED_HDR);
	assert_int_equal(leaf->ports[2].peer, IBNET_NONE);
	assert_false(spine->enhanced_port0);
	assert_int_equal(spine->system_guid, 0x30);
	assert_int_equal(spine->ports[0].lid, 21);
	assert_int_equal(ca->type, IBNET_CA);
	assert_int_equal(ca->ports[2].guid, 0x2f);
	assert_int_equal(ca->ports[1].guid, 0x21);
	assert_int_equal(ca->ports[2].lid, 66);
	assert_int_equal(ca->ports[2].lmc, 2);
	assert_int_equal(ca->ports[2].speed, SPEED_NDR);
	assert_int_equal(ca->ports[2].peer, 0);
}

static void
test_full(void **state)
{
	struct ibnet *net = parse(full);

	(void)state;
	check_full(net);
	assert_int_equal(ibnet_find(net, "spine"), 1);
	assert_int_equal(ibnet_find(net, "0x20"), 2);
	assert_int_equal(ibnet_find(net, "S-0000000000000010"), 0);
	assert_int_equal(ibnet_find(net, "nobody"), IBNET_NONE);
	ibnet_free(net);
}

static void
test_write(void **state)
{
	struct buf b = { 0 };
	struct ibnet *net = parse(full);

	(void)state;
	ibnet_write(&b, net);
	ibnet_free(net);
	net = parse(b.data);
	check_full(net);
	ibnet_free(net);
	assert_non_null(strstr(b.data, "[1]\t\"H-0000000000000020\"[2](2f) \t\t"
			       "# \"node01 HCA-1\" lid 66 4xNDR\n"));
	buf_free(&b);
}

/* ibsim's short form: names, missing far ends, a far port that is not said, bit masks. */
static void
test_short(void **state)
{
	struct ibnet *net = parse("Switch\t8 \"Switch1\"\n[1]\t\"Hca1\" [2]\n[4] \"Switch2\"\n\n"
				  "Hca 2 \"Hca1\"\n\n"
				  "Switch 8 \"Switch2\"\n[5] \"Switch1\"[8]\tw=8 s=2\n");
	const struct ibnet_node *n = net->nodes;

	(void)state;
	assert_int_equal(net->nlinks, 3);
	assert_int_equal(n[0].guid, 0x200000);
	assert_int_equal(n[1].guid, 0x100000);
	assert_int_equal(n[1].ports[2].guid, 0x100002);
	assert_int_equal(n[2].guid, 0x200001);
	assert_string_equal(n[1].desc, "Hca1");
	assert_int_equal(n[1].ports[2].peer, 0);
	assert_int_equal(n[1].ports[2].peer_port, 1);
	assert_int_equal(n[0].ports[4].peer_port, 1);
	assert_int_equal(n[0].ports[8].peer, 2);
	assert_int_equal(n[0].ports[8].peer_port, 5);
	assert_int_equal(n[0].ports[8].width, LINK_12X);
	assert_int_equal(n[0].ports[8].speed, SPEED_DDR);
	assert_int_equal(n[0].ports[1].width, LINK_4X);
	assert_int_equal(n[0].ports[1].speed, SPEED_SDR);
	ibnet_free(net);
}

/* No rates, no GUIDs of ports; descriptions without quotes; LIDs told by the far end alone. */
static void
test_old(void **state)
{
	struct ibnet *net = parse("switchguid=0x50\n"
				  "Switch 24 \"S-50\"  # MT47396 by V port 0 lid 9\n"
				  "[3] \"H-60\"[1]   # \"h01 HCA-1\" lid 18\n\ncaguid=0x60\n"
				  "Ca 1 \"H-60\"  # \"h01 HCA-1\"\n");

	(void)state;
	assert_string_equal(net->nodes[0].desc, "MT47396 by V");
	assert_int_equal(net->nodes[0].ports[0].lid, 9);
	assert_int_equal(net->nodes[1].ports[1].lid, 18);
	assert_int_equal(net->nodes[1].ports[1].guid, 0x61);
	assert_int_equal(net->nodes[1].ports[1].speed, SPEED_SDR);
	ibnet_free(net);
}

static void
test_refused(void **state)
{
	(void)state;
	refuse("", "net holds no node; is it the output of ibnetdiscover?");
	refuse("hello world\n", "net:1: this is no line of ibnetdiscover's text: \"hello world\"");
	refuse("[1] \"A\"[1]\n", "net:1: a port comes before the header of its node");
	refuse("Switch 255 \"A\"\n", "net:1: expected a number of ports of 1 to 254");
	refuse("Switch 8 A\n", "net:1: expected a node's identifier in double quotes");
	refuse("Switch 8 \"A\"\n[9] \"A\"[1]\n", "net:2: port 9 is not one of 1 to 8");
	refuse("Switch 8 \"A\"\nSwitch 8 \"A\"\n",
	       "net:2: node \"A\" has a header in line 1 already");
	refuse("Switch 8 \"A\"\n[1] \"B\"[1]\n",
	       "net:2: port 1 of \"A\" goes to \"B\", of which the file has no header");
	refuse("Switch 8 \"A\"\n[1] \"B\"[9]\nSwitch 8 \"B\"\n",
	       "net:2: port 1 of \"A\" goes to port 9 of \"B\", which has 8 ports");
	refuse("Switch 8 \"A\"\n[1] \"A\"[2]\n[1] \"A\"[3]\n",
	       "net:3: port 1 of \"A\" is given in line 2 already");
	refuse("Switch 8 \"A\"\n[1] \"B\"[1]\nSwitch 8 \"B\"\n[1] \"A\"[2]\n",
	       "net:2: port 1 of \"A\" goes to port 1 of \"B\" here, but line 4 joins that one to "
	       "port 2 of \"A\"");
	refuse("Switch 8 \"A\"\n[1] \"B\"[1]\n[2] \"B\"[1]\nSwitch 8 \"B\"\n",
	       "net:3: port 2 of \"A\" goes to port 1 of \"B\" here, but line 2 joins that one to "
	       "port 1 of \"A\"");
	refuse("caguid=5\nCa 1 \"A\"\ncaguid=0x5\nCa 1 \"B\"\n",
	       "net:4: node \"B\" has the GUID 0x0000000000000005 of node \"A\" in line 2");
	refuse("Switch 8 \"A\" # \"A\" base port 0 lid 70000\n",
	       "net:1: \"lid \" is followed by no number of 0 to 65535");
	refuse("vendid=0x1000000\n", "net:1: expected a number of 0 to 0xffffff behind '='");
}

static void
test_bounds(void **state)
{
	struct ibnet *net;
	struct error e = { 0 };
	char line[1100];

	(void)state;
	memset(line, ' ', sizeof(line));
	line[0] = '#';
	line[1090] = 'x';
	line[1099] = 0;
	refuse(line, "net:1: the line is longer than 1024 bytes");
	assert_int_equal(ibnet_parse(&net, "Switch 1 \"A\"\n\0\n", 15, "net", &e), ERR_FORMAT);
	assert_non_null(strstr(e.text, "net:2: the line holds a zero byte"));
	assert_int_equal(ibnet_read(&net, "/nonexistent", &e), ERR_IO);
	net = ibnet_new();
	assert_int_equal(ibnet_add(net, IBNET_CA, 255, 1, NULL, NULL), IBNET_NONE);
	assert_int_equal(ibnet_add(net, IBNET_CA, 0, 1, NULL, NULL), IBNET_NONE);
	assert_int_equal(ibnet_add(net, IBNET_CA, 2, 0xab, NULL, NULL), 0);
	assert_string_equal(net->nodes[0].name, "H-00000000000000ab");
	assert_int_equal(ibnet_link(net, 0, 1, 1, 1, LINK_4X, SPEED_NDR), ERR_INVALID);
	assert_int_equal(ibnet_link(net, 0, 1, 0, 2, LINK_4X, SPEED_NDR), 0);
	assert_int_equal(ibnet_link(net, 0, 2, 0, 1, LINK_4X, SPEED_NDR), ERR_EXISTS);
	ibnet_free(net);
}

/* Counts of nodes and cables, and whether writing and reading gives the same text again. */
static void
check_file(const char *folder, const char *name, uint32_t nodes, uint32_t links)
{
	struct buf first = { 0 }, second = { 0 };
	char path[512];
	struct ibnet *net;
	struct error e = { 0 };

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	if (access(path, R_OK) != 0) {
		print_message("[  NOTICE  ] %s is not at hand\n", path);
		return;
	}
	if (ibnet_read(&net, path, &e) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(net->nnodes, nodes);
	assert_int_equal(net->nlinks, links);
	ibnet_write(&first, net);
	ibnet_free(net);
	if (ibnet_parse(&net, first.data, first.len, "written", &e) < 0)
		fail_msg("%s", e.text);
	ibnet_write(&second, net);
	assert_string_equal(first.data, second.data);
	ibnet_free(net);
	buf_free(&first);
	buf_free(&second);
}

static void
test_files(void **state)
{
	const char *ibsim = "/usr/share/doc/ibsim-utils/net-examples";
	const char *saved = getenv("WEFT_FABRICS");

	(void)state;
	check_file(ibsim, "net", 4, 4);
	check_file(ibsim, "net.1", 3, 2);
	check_file(ibsim, "net.2sw2path", 4, 4);
	check_file(ibsim, "net.2sw2path4hca", 6, 6);
	check_file(ibsim, "net.2sw2path4hca2port", 4, 6);
	if (!saved)
		saved = "../shared/fabrics";
	check_file(saved, "isolated_ca.ibnd", 1, 0);
	check_file(saved, "ddr_single_24port_oldformat.ibnd", 25, 24);
	check_file(saved, "sdr_2sw_par2_lmc1_2007.ibnd", 6, 7);
	check_file(saved, "edr_2tier_4leaf_2spine_par6.ibnd", 102, 144);
	check_file(saved, "ndr_rail_40sw_582ca.ibnd", 622, 1114);
}

static const char tables[] =
	"Unicast lids [0x0-0x8] of switch Lid 6 guid 0x0000000000000010 (leaf (1)):\n"
	"  Lid  Out   Destination\n       Port     Info \n"
	"0x0000 255 : (path #0 - illegal port)\n"
	"0x0001 002 : (Channel Adapter portguid 0x0000000000100001: 'H0_0_0_0')\n"
	"0x0006 000 : (Switch portguid 0x0000000000000010: 'leaf')\n"
	"2 valid lids dumped \n"
	"Unicast lids [0x0-0xbfff] of switch DR path slid 0; dlid 0; 0,1,2 guid 0x11 ('spine'):\n"
	"0xbfff 254 # node\n";

static void
check_tables(const struct lfts *l)
{
	assert_int_equal(l->nswitches, 2);
	assert_int_equal(l->switches[0].guid, 0x10);
	assert_int_equal(l->switches[0].lid, 6);
	assert_string_equal(l->switches[0].desc, "leaf (1)");
	assert_int_equal(l->switches[0].len, 7);
	assert_memory_equal(l->switches[0].ports, "\xff\x02\xff\xff\xff\xff\x00", 7);
	assert_int_equal(l->switches[1].guid, 0x11);
	assert_int_equal(l->switches[1].lid, 0);
	assert_string_equal(l->switches[1].desc, "spine");
	assert_int_equal(l->switches[1].len, 0xc000);
	assert_int_equal(l->switches[1].ports[0xbfff], 254);
	assert_int_equal(l->switches[1].ports[0xbffe], 255);
}

static void
test_lfts(void **state)
{
	struct ibnet *net = parse(full);
	struct buf b = { 0 };
	struct lfts *l;
	struct error e = { 0 };

	(void)state;
	if (lfts_parse(&l, tables, strlen(tables), "dump", &e) < 0)
		fail_msg("%s", e.text);
	check_tables(l);
	lfts_write(&b, l, NULL);
	lfts_free(l);
	assert_int_equal(lfts_parse(&l, b.data, b.len, "dump", &e), 0);
	check_tables(l);
	lfts_free(l);
	buf_clear(&b);
	l = lfts_new();
	assert_non_null(lfts_add(l, 0x10, 48, "leaf", (const uint8_t *)"\xff\xff\x03", 3));
	l->switches[0].ports[2] = 1;
	net->nodes[2].ports[2].lid = 2;
	lfts_write(&b, l, net);
	assert_string_equal(b.data, "Unicast lids [0x0-0x2] of switch Lid 48 guid "
			    "0x0000000000000010 (leaf):\n  Lid  Out   Destination\n"
			    "       Port     Info \n0x0002 001 : (Channel Adapter portguid "
			    "0x000000000000002f: 'node01 HCA-1')\n1 valid lids dumped \n");
	lfts_free(l);
	ibnet_free(net);
	buf_free(&b);
}

/* What OpenSM writes: without owners in the one form, with them in the other. */
static void
test_lfts_opensm(void **state)
{
	static const char fdbs[] =
		"dump_ucast_routes: Switch 0x0000000000200000\n"
		"LID    : Port : Hops : Optimal\n"
		"0x0001 : 001  : 01   : yes\n"
		"0x0002 : 000  : 00   : yes\n"
		"0x0003 : UNREACHABLE\n"
		"0x000A : 004  : 03   : No 2 hop path possible via port 3!\n"
		"dump_ucast_routes: Switch 0x0000000000200001\n"
		"0x0001 : 036  : HOPS UNKNOWN\n";
	static const char dump[] =
		"Unicast lids [0-36] of switch Lid 2 guid 0x0000000000200000 ('L0_0'):\n"
		"0x0001 001 # Channel Adapter portguid 0x0000000000100001: 'a portguid 0x7'\n"
		"0x0005 002 # unknown node and type\n"
		"36 lids dumped\n";
	struct lfts *l;
	struct error e = { 0 };

	(void)state;
	assert_int_equal(lfts_parse(&l, fdbs, strlen(fdbs), "opensm.fdbs", &e), 0);
	assert_int_equal(l->form, LFTS_FORM_FDBS);
	assert_string_equal(l->file, "opensm.fdbs");
	assert_null(l->owners);
	assert_int_equal(l->nswitches, 2);
	assert_int_equal(l->switches[0].len, 11);
	assert_memory_equal(l->switches[0].ports,
			    "\xff\x01\x00\xff\xff\xff\xff\xff\xff\xff\x04", 11);
	assert_int_equal(l->switches[1].ports[1], 36);
	lfts_free(l);
	assert_int_equal(lfts_parse(&l, dump, strlen(dump), "opensm-lfts.dump", &e), 0);
	assert_int_equal(l->form, LFTS_FORM_OPENSM);
	assert_int_equal(l->owners[1], 0x100001);
	assert_int_equal(l->owners[5], 0);
	lfts_free(l);
}

static void
refuse_lfts(const char *text, const char *message)
{
	struct lfts *l;
	struct error e = { 0 };

	assert_true(lfts_parse(&l, text, strlen(text), "dump", &e) < 0);
	assert_null(l);
	assert_string_equal(e.text, message);
}

static void
test_lfts_refused(void **state)
{
#define HEAD "Unicast lids [0x0-0x8] of switch Lid 6 guid 0x10 (a):\n"
	(void)state;
	refuse_lfts("", "dump holds no forwarding table; is it the output of dump_lfts?");
	refuse_lfts("0x0001 002 :\n", "dump:1: an entry comes before the header of its switch");
	refuse_lfts(HEAD "0x0009 1 :\n",
		    "dump:2: LID 0x9 lies past the end of the block, 0x8");
	refuse_lfts(HEAD "0x0001 300 :\n",
		    "dump:2: expected a port of 0 to 254, or 255, behind the LID");
	refuse_lfts(HEAD "0x0001 3 :\n0x0001 4 :\n",
		    "dump:3: LID 0x1 has an entry in line 2 already");
	refuse_lfts(HEAD HEAD, "dump:2: switch 0x0000000000000010 has a block in line 1 already");
	refuse_lfts("Unicast lids [0x0-0xc000] of switch Lid 6 guid 0x10 (a):\n",
		    "dump:1: the LIDs of a block lie between 0 and 0xbfff");
	refuse_lfts("dump_ucast_routes: Switch x\n",
		    "dump:1: expected \"Switch\" and the GUID of the switch");
	refuse_lfts("dump_ucast_routes: Switch 0x10\n0x0001 : 1\n0x0001 : UNREACHABLE\n",
		    "dump:3: LID 0x1 has an entry in line 2 already");
	refuse_lfts(HEAD "0x0001 1 : (Switch portguid 0x5: 'a')\n"
		    "Unicast lids [0x0-0x8] of switch Lid 7 guid 0x11 (b):\n"
		    "0x0001 1 : (Switch portguid 0x6: 'a')\n",
		    "dump:4: LID 0x1 belongs to port 0x0000000000000006 here, and to port "
		    "0x0000000000000005 in an earlier block: the tables are of different times");
	refuse_lfts(HEAD "0x0001 1 : (Switch portguid zero: 'a')\n",
		    "dump:2: expected the GUID of a port behind \"portguid\"");
}

static void
check_mfts(const char *text)
{
	struct mfts *m;
	struct error e = { 0 };

	if (mfts_parse(&m, text, strlen(text), "dump", &e) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(m->len, 2);
	assert_int_equal(m->entries[0].guid, 0x200002);
	assert_int_equal(m->entries[0].mlid, 0xc000);
	assert_int_equal(m->entries[0].ports[0], 1u << 8 | 1u << 13);
	assert_int_equal(m->entries[1].guid, 0x200003);
	assert_int_equal(m->entries[1].ports[0], 1u << 1 | 1u << 4 | 1u << 7);
	assert_int_equal(m->entries[1].ports[1], 0);
	mfts_free(m);
}

/* As dump_mfts and OpenSM print one group of three hosts. */
static void
test_mfts(void **state)
{
	(void)state;
	check_mfts("Multicast mlids [0xc000-0xc3ff] of switch DR path slid 0; dlid 0; 0,1,13,7 "
		   "guid 0x0000000000200002 (L2):\n"
		   "            0                   1                 \n"
		   "     Ports: 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 \n"
		   " MLid\n"
		   "0xc000                      x         x           \n"
		   "1 valid mlids dumped \n"
		   "Multicast mlids [0xc000-0xc3ff] of switch Lid 3 guid 0x200004 (S1):\n"
		   "     Ports: 0 1 2 3 4 5 6 7 8 9 \n MLid\n0 valid mlids dumped \n"
		   "Multicast mlids [0xc000-0xc3ff] of switch Lid 9 guid 0x200003 (S0):\n"
		   "     Ports: 0 1 2 3 4 5 6 7 8 9 \n MLid\n"
		   "0xc000        x     x     x     \n");
	check_mfts("\nSwitch 0x0000000000200002\nLID    : Out Port(s)\n0xC000 : 0x008  0x00D \n"
		   "\nSwitch 0x0000000000200003\nLID    : Out Port(s)\n"
		   "0xC000 : 0x001  0x004  0x007 \n");
}

static void
refuse_mfts(const char *text, const char *message)
{
	struct mfts *m;
	struct error e = { 0 };

	assert_true(mfts_parse(&m, text, strlen(text), "dump", &e) < 0);
	assert_null(m);
	assert_string_equal(e.text, message);
}

static void
test_mfts_refused(void **state)
{
#define MHEAD "Multicast mlids [0xc000-0xc3ff] of switch Lid 3 guid 0x10 (S):\n" \
	"     Ports: 0 1 2 3 \n"
	(void)state;
	refuse_mfts("", "dump holds no multicast table; is it the output of dump_mfts?");
	refuse_mfts("0xc000 x\n", "dump:1: an entry comes before the header of its switch");
	refuse_mfts(MHEAD "0xc000       x\n",
		    "dump:3: expected an x below the number of each port that takes part");
	refuse_mfts(MHEAD "0xc000 x\n",
		    "dump:3: expected an x below the number of each port that takes part");
	refuse_mfts(MHEAD "0xc000      y\n",
		    "dump:3: expected an x below the number of each port that takes part");
	refuse_mfts(MHEAD "0xbfff      x\n",
		    "dump:3: expected a multicast LID, 0xc000 to 0xfffe");
	refuse_mfts(MHEAD "0xc000      x\n0xc000      x\n",
		    "dump:4: multicast LID 0xc000 has an entry in line 3 already");
	refuse_mfts(MHEAD MHEAD,
		    "dump:3: switch 0x0000000000000010 has a block in line 1 already");
	refuse_mfts("Switch 0x10\n0xC000 : 0x0FF\n", "dump:2: expected a port of 0 to 254");
	refuse_mfts("Switch 0x10\n0xC000 0x001\n",
		    "dump:2: expected \":\" and ports behind the multicast LID");
}

static void
test_sl2vl(void **state)
{
	static const char text[] =
		"# SL2VL table: Lid 3\n"
		"#                 SL: | 0| 1| 2| 3| 4| 5| 6| 7| 8| 9|10|11|12|13|14|15|\n"
		"ports: in  0, out  2: | 0| 1| 2| 3| 4| 5| 6| 7| 0| 1| 2| 3| 4| 5| 6|15|\n"
		"Switch 0x0000000000200000, base LID 2, \"L0_0\"\n"
		"#in out : 0  1  2  3  4  5  6  7  8  9  10 11 12 13 14 15\n"
		"#--------------------------------------------------------\n"
		"4   36  : 7  6  5  4  3  2  1  0  0  0  0  0  0  0  0  14 \n";
	struct sl2vl *s;
	struct error e = { 0 };

	(void)state;
	if (sl2vl_parse(&s, text, strlen(text), "dump", &e) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(s->len, 2);
	assert_int_equal(s->rows[0].lid, 3);
	assert_int_equal(s->rows[0].guid, 0);
	assert_int_equal(s->rows[0].in, 0);
	assert_int_equal(s->rows[0].out, 2);
	assert_int_equal(s->rows[0].vl[7], 7);
	assert_int_equal(s->rows[0].vl[15], 15);
	assert_int_equal(s->rows[1].lid, 0);
	assert_int_equal(s->rows[1].guid, 0x200000);
	assert_int_equal(s->rows[1].in, 4);
	assert_int_equal(s->rows[1].out, 36);
	assert_int_equal(s->rows[1].vl[0], 7);
	assert_int_equal(s->rows[1].vl[15], 14);
	assert_int_equal(s->rows[1].line, 7);
	sl2vl_free(s);
}

static void
refuse_sl2vl(const char *text, const char *message)
{
	struct sl2vl *s;
	struct error e = { 0 };

	assert_true(sl2vl_parse(&s, text, strlen(text), "dump", &e) < 0);
	assert_null(s);
	assert_string_equal(e.text, message);
}

static void
test_sl2vl_refused(void **state)
{
#define LANES "expected two ports, \":\" and the lanes of 16 service levels"
	(void)state;
	refuse_sl2vl("", "dump holds no SL to VL table; is it the output of smpquery sl2vl?");
	refuse_sl2vl("# SL2VL table: DR path slid 0; dlid 0; 0,1\nports: in  0, out  0: | 0|\n",
		     "dump:2: a table comes before the line that names its node by LID or GUID");
	refuse_sl2vl("# SL2VL table: Lid 3\nports: in  0, out  0: | 0| 1|\n", "dump:2: " LANES);
	refuse_sl2vl("# SL2VL table: Lid 3\nports: in  0, out  0: |16|\n", "dump:2: " LANES);
	refuse_sl2vl("# SL2VL table: Lid 49152\n",
		     "dump:1: expected the LID of the node, 1 to 0xbfff");
	refuse_sl2vl("Switch x\n", "dump:1: expected the GUID of the node");
}

static void
test_paths(void **state)
{
	static const char text[] =
		"PathRecord dump:\n"
		"\t\tservice_id..............0x0000000000000000\n"
		"\t\tdlid....................2\n\t\tslid....................49151\n"
		"\t\tqos_class...............0x0\n\t\tsl......................0xf\n"
		"PathRecord dump:\n\t\tslid....................1\n"
		"\t\tdlid....................3\n\t\tsl......................0x0\n";
	struct paths *p;
	struct error e = { 0 };

	(void)state;
	if (paths_parse(&p, text, strlen(text), "dump", &e) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(p->len, 2);
	assert_int_equal(p->entries[0].src, 0xbfff);
	assert_int_equal(p->entries[0].dst, 2);
	assert_int_equal(p->entries[0].sl, 15);
	assert_int_equal(p->entries[1].src, 1);
	assert_int_equal(p->entries[1].dst, 3);
	assert_int_equal(p->entries[1].sl, 0);
	paths_free(p);
}

static void
refuse_paths(const char *text, const char *message)
{
	struct paths *p;
	struct error e = { 0 };

	assert_true(paths_parse(&p, text, strlen(text), "dump", &e) < 0);
	assert_null(p);
	assert_string_equal(e.text, message);
}

static void
test_paths_refused(void **state)
{
#define REC "PathRecord dump:\n"
	(void)state;
	refuse_paths("", "dump holds no path record; is it the output of saquery PR?");
	refuse_paths("\t\tslid....1\n", "dump:1: a field comes before the beginning of its record");
	refuse_paths(REC "slid....1\ndlid....2\n" REC,
		     "dump:4: the record that begins in line 1 has no sl");
	refuse_paths(REC "slid....1\nslid....2\n", "dump:3: the record has this field twice");
	refuse_paths(REC "slid....0\n", "dump:2: expected a unicast LID");
	refuse_paths(REC "dlid....49152\n", "dump:2: expected a unicast LID");
	refuse_paths(REC "sl....16\n", "dump:2: expected a service level, 0 to 15");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_write),
		cmocka_unit_test(test_short),
		cmocka_unit_test(test_old),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_lfts),
		cmocka_unit_test(test_lfts_opensm),
		cmocka_unit_test(test_lfts_refused),
		cmocka_unit_test(test_mfts),
		cmocka_unit_test(test_mfts_refused),
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_paths_refused),
		cmocka_unit_test(test_sl2vl),
		cmocka_unit_test(test_sl2vl_refused),
	};

	alarm(60);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
