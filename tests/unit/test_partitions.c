/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Partitions of a file and of commands to P_Key tables: who is a member, where keys stand, what
 * does not fit. Expected tables are worked out by hand, or by a slow judge that asks for each port
 * and each partition by itself.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "partitions/compile.h"
#include "tests/unit/route_help.h"

#define HOSTS 6u	/* on one switch, ports 1..6 */
#define HOST_GUID(i) (0x1000u + 0x10u * (i))	/* node; its port is one more */
#define PORT_GUID(i) (HOST_GUID(i) + 1u)

struct bed {
	struct fabric *f;			/* the snapshot */
	struct config_partition parts[8];	/* the file */
	struct config_members members[8][4];
	struct config conf;
	struct pins *pins;
	struct policy *policy;			/* of the last build() */
	struct part_row rows[4];		/* of commands */
	uint32_t nrows;
	struct pkeys_held held[64];		/* by port index */
	uint16_t held_keys[64][32];
	struct pkeys_alias aliases[4];
	uint32_t naliases;
	struct plan_pkeys *out;			/* of the last compile() */
	struct pkeys_report report;
	struct error e;
};

static const char *names[HOSTS] = { "gpu-1", "gpu-2", "gpu-3", "store-1", "store-2", "login" };

static struct fabric *
make_fabric(const char *const host[HOSTS], uint16_t cap, uint16_t enforce_cap)
{
	struct fabric_builder *b = fabric_builder_new();
	uint32_t sw = fabric_add_node(b, &(struct fabric_node){
		.guid = 0x2000, .type = NODE_SWITCH, .nports = 8, .name = "leaf", .desc = "leaf",
		.pkey_cap = cap, .enforce_cap = enforce_cap });
	uint32_t other = fabric_add_node(b, &(struct fabric_node){
		.guid = 0x2001, .type = NODE_SWITCH, .nports = 8, .name = "spine", .desc = "spine",
		.pkey_cap = cap, .enforce_cap = enforce_cap });

	fabric_add_port(b, sw, 0, &(struct fabric_port){ .guid = 0x2000, .state = PORT_ACTIVE });
	fabric_add_port(b, other, 0, &(struct fabric_port){ .guid = 0x2001,
							     .state = PORT_ACTIVE });
	for (unsigned i = 0; i < HOSTS; i++) {
		uint32_t n = fabric_add_node(b, &(struct fabric_node){
			.guid = HOST_GUID(i), .type = NODE_CA, .nports = 1, .name = host[i],
			.desc = host[i], .pkey_cap = cap });

		fabric_add_port(b, n, 1, &(struct fabric_port){ .guid = PORT_GUID(i),
								.state = PORT_ACTIVE });
		fabric_add_port(b, sw, i + 1, &(struct fabric_port){ .state = PORT_ACTIVE });
		fabric_add_link(b, n, 1, sw, i + 1);
		if (!i)
			fabric_set_sm(b, n, 1);
	}
	fabric_add_link(b, sw, 7, other, 7);
	return fabric_build(b, 1);
}

static void
bed_new(struct bed *b)
{
	memset(b, 0, sizeof(*b));
	b->f = make_fabric(names, 32, 32);
	b->pins = pins_new();
	b->conf.refs = 1;
	b->conf.partitions.list = b->parts;
}

static void
bed_free(struct bed *b)
{
	policy_unref(b->policy);
	plan_pkeys_unref(b->out);
	pins_free(b->pins);
	fabric_unref(b->f);
}

/* A partition of the file with up to four lists of members. */
static struct config_partition *
part(struct bed *b, const char *name, unsigned pkey)
{
	struct config_partition *p = &b->parts[b->conf.partitions.len];

	*p = (struct config_partition){ .name = name, .pkey = pkey, .sl = CONFIG_SL_FREE,
					.members = b->members[b->conf.partitions.len++] };
	return p;
}

static void
member(struct config_partition *p, const char **nodes, enum config_membership m, bool index0)
{
	p->members[p->nmembers++] = (struct config_members){ nodes, m, index0 };
}

static int
build(struct bed *b, const char *apply)
{
	struct policy_input in = {
		.conf = &b->conf, .subnet = "default", .rows = b->rows, .nrows = b->nrows,
		.fabric = b->f, .pins = b->pins, .apply = apply,
	};

	policy_unref(b->policy);
	b->policy = NULL;
	return policy_new(&in, &b->policy, &b->e);
}

static void
compile(struct bed *b)
{
	struct pkeys_input in = { .policy = b->policy, .fabric = b->f, .held = b->held,
				  .aliases = b->aliases, .naliases = b->naliases };

	plan_pkeys_unref(b->out);
	b->out = pkeys_compile(&in, &b->report);
}

static uint32_t
host_port(const struct bed *b, unsigned i)
{
	return fabric_port_by_guid(b->f, PORT_GUID(i));
}

static uint32_t
switch_port(const struct bed *b, unsigned n)
{
	return b->f->nodes[fabric_node_by_guid(b->f, 0x2000)].first_port + n;
}

/* The port's table is this text: "ffff 8001 -" with - for a hole. */
static void
expect_table(const struct bed *b, uint32_t port, const char *want)
{
	uint32_t t = b->out->table[port];
	char got[400] = "";
	size_t at = 0;

	for (uint32_t i = 0; t != PKEYS_NONE && i < b->out->tables[t].len; i++) {
		uint16_t key = plan_pkeys_at(b->out, port, i);

		at += (size_t)snprintf(got + at, sizeof(got) - at, key ? "%s%04x" : "%s-",
				       i ? " " : "", key);
	}
	assert_string_equal(got, want);
}

/* What was compiled is now what ports hold. */
static void
hold(struct bed *b)
{
	for (uint32_t port = 0; port < b->f->nports; port++) {
		uint32_t t = b->out->table[port];

		if (t == PKEYS_NONE)
			continue;
		for (uint32_t i = 0; i < 32; i++)
			b->held_keys[port][i] = plan_pkeys_at(b->out, port, i);
		b->held[port] = (struct pkeys_held){ b->held_keys[port], 32 };
	}
}

/* The example of OpenSM's documentation as it was run there: tables of these ports. */
static void
test_tables(void **state)
{
	const char *all[] = { "all", NULL }, *switches[] = { "all-switches", NULL };
	const char *one[] = { "0x1011", NULL }, *self[] = { "self", NULL };
	const char *two[] = { "0x1021", NULL };
	struct config_partition *p;
	struct bed b;

	(void)state;
	bed_new(&b);
	p = part(&b, "default", 0x7fff);
	member(p, all, MEMBERSHIP_FULL, false);
	p = part(&b, "blue", 1);
	member(p, one, MEMBERSHIP_FULL, false);
	member(p, self, MEMBERSHIP_FULL, false);
	p = part(&b, "red", 2);
	member(p, one, MEMBERSHIP_LIMITED, false);
	member(p, two, MEMBERSHIP_FULL, false);
	member(p, switches, MEMBERSHIP_LIMITED, false);
	p = part(&b, "grp", 3);
	member(p, all, MEMBERSHIP_FULL, false);
	assert_int_equal(build(&b, NULL), 0);
	compile(&b);
	expect_table(&b, host_port(&b, 0), "ffff 8001 8003");
	expect_table(&b, host_port(&b, 1), "ffff 8001 0002 8003");
	expect_table(&b, host_port(&b, 2), "ffff 8002 8003");
	expect_table(&b, host_port(&b, 3), "ffff 8003");
	expect_table(&b, switch_port(&b, 0), "ffff 0002 8003");
	/* Ports to hosts enforce their hosts' tables, a port to a switch nothing. */
	expect_table(&b, switch_port(&b, 2), "ffff 8001 0002 8003");
	assert_int_equal(b.out->enforce[switch_port(&b, 2)],
			 PKEYS_ENFORCE_IN | PKEYS_ENFORCE_OUT);
	assert_int_equal(b.out->table[switch_port(&b, 7)], PKEYS_NONE);
	assert_int_equal(b.out->enforce[switch_port(&b, 7)], 0);
	assert_int_equal(b.report.overflows, 0);
	bed_free(&b);
}

/* Who is said by name of his own goes before the kind, whatever stands first (case P1). */
static void
test_nearest_counts(void **state)
{
	const char *all[] = { "all", NULL }, *one[] = { "0x1011", NULL };
	struct config_partition *p;
	struct bed b;

	(void)state;
	bed_new(&b);
	p = part(&b, "default", 0x7fff);
	member(p, all, MEMBERSHIP_FULL, false);
	p = part(&b, "p", 1);
	member(p, one, MEMBERSHIP_FULL, false);
	member(p, all, MEMBERSHIP_BOTH, false);
	assert_int_equal(build(&b, NULL), 0);
	compile(&b);
	expect_table(&b, host_port(&b, 1), "ffff 8001");
	expect_table(&b, host_port(&b, 2), "ffff 0001 8001");
	bed_free(&b);
}

/* Nobody loses the default partition, and the subnet manager stays a full member. */
static void
test_default_is_kept(void **state)
{
	const char *one[] = { "0x1011", NULL }, *self[] = { "self", NULL };
	const char *all[] = { "all", NULL };
	struct config_partition *p;
	struct bed b;

	(void)state;
	bed_new(&b);
	p = part(&b, "tenant", 1);
	member(p, one, MEMBERSHIP_FULL, false);
	assert_int_equal(build(&b, NULL), 0);
	compile(&b);
	expect_table(&b, host_port(&b, 0), "ffff");
	expect_table(&b, host_port(&b, 1), "7fff 8001");
	expect_table(&b, host_port(&b, 2), "7fff");
	p = part(&b, "default", 0x7fff);
	member(p, self, MEMBERSHIP_LIMITED, false);
	p->except = all;
	assert_int_equal(build(&b, NULL), 0);
	compile(&b);
	expect_table(&b, host_port(&b, 0), "ffff");
	expect_table(&b, host_port(&b, 2), "7fff");
	bed_free(&b);
}

/* Keys stay where they are; holes are filled from the lowest on. */
static void
test_index_is_kept(void **state)
{
	const char *one[] = { "0x1011", NULL }, *none[] = { NULL };
	const char *two[] = { "0x1001", "0x1011", NULL };
	struct config_partition *p[4];
	struct bed b;

	(void)state;
	bed_new(&b);
	for (unsigned i = 0; i < 4; i++) {
		p[i] = part(&b, i == 0 ? "a" : i == 1 ? "b" : i == 2 ? "c" : "d", i + 1);
		member(p[i], one, MEMBERSHIP_FULL, false);
	}
	p[3]->members[0].nodes = none;
	assert_int_equal(build(&b, NULL), 0);
	compile(&b);
	expect_table(&b, host_port(&b, 1), "7fff 8001 8002 8003");
	hold(&b);
	p[1]->members[0].nodes = none;
	p[2]->members[0].membership = MEMBERSHIP_LIMITED;
	assert_int_equal(build(&b, NULL), 0);
	compile(&b);
	expect_table(&b, host_port(&b, 1), "7fff 8001 - 0003");
	hold(&b);
	p[3]->members[0].nodes = one;
	assert_int_equal(build(&b, NULL), 0);
	compile(&b);
	expect_table(&b, host_port(&b, 1), "7fff 8001 8004 0003");
	/* A tenant's key at index 0 (case P3), and the default key goes elsewhere; but not at the
	 * subnet manager's port, which sends by index 0. */
	hold(&b);
	p[0]->members[0].index0 = true;
	p[0]->members[0].nodes = two;
	assert_int_equal(build(&b, NULL), 0);
	compile(&b);
	expect_table(&b, host_port(&b, 1), "8001 7fff 8004 0003");
	expect_table(&b, host_port(&b, 0), "ffff 8001");
	hold(&b);
	assert_int_equal(build(&b, NULL), 0);
	compile(&b);
	expect_table(&b, host_port(&b, 1), "8001 7fff 8004 0003");
	bed_free(&b);
}

/* A host that is called otherwise does not become a member by it; nor does one that is new. */
static void
test_names_are_pinned(void **state)
{
	const char *gpus[] = { "/^gpu-/", NULL };
	const char *renamed[HOSTS] = { "gpu-1", "gpu-2", "out", "gpu-9", "store-2", "login" };
	struct config_partition *p;
	struct bed b;

	(void)state;
	bed_new(&b);
	p = part(&b, "tenant", 1);
	member(p, gpus, MEMBERSHIP_FULL, false);
	assert_int_equal(build(&b, NULL), 0);
	compile(&b);
	expect_table(&b, host_port(&b, 2), "7fff 8001");
	expect_table(&b, host_port(&b, 3), "7fff");
	fabric_unref(b.f);
	b.f = make_fabric(renamed, 32, 32);
	assert_int_equal(build(&b, NULL), 0);
	compile(&b);
	expect_table(&b, host_port(&b, 2), "7fff 8001");
	expect_table(&b, host_port(&b, 3), "7fff");
	assert_int_equal(policy_by_name(b.policy, "tenant")->others, 1);
	assert_string_equal(policy_by_name(b.policy, "tenant")->first_other, "gpu-9");
	/* An administrator says so. */
	assert_int_equal(build(&b, "tenant"), 0);
	compile(&b);
	expect_table(&b, host_port(&b, 2), "7fff");
	expect_table(&b, host_port(&b, 3), "7fff 8001");
	assert_int_equal(policy_by_name(b.policy, "tenant")->others, 0);
	p->trust_names = true;
	fabric_unref(b.f);
	b.f = make_fabric(names, 32, 32);
	assert_int_equal(build(&b, NULL), 0);
	compile(&b);
	expect_table(&b, host_port(&b, 2), "7fff 8001");
	expect_table(&b, host_port(&b, 3), "7fff");
	bed_free(&b);
}

static void
test_groups_and_exceptions(void **state)
{
	const char *stores[] = { "/^store-/", NULL }, *but[] = { "store-2", NULL };
	const char *grouped[] = { "group:storage", NULL }, *hosts[] = { "all-hosts", NULL };
	const char *no[] = { "no such/7/", "group:nothing", NULL };
	struct config_node_group g = { .name = "storage", .nodes = stores, .except = but };
	struct config_partition *p, *q;
	struct bed b;

	(void)state;
	bed_new(&b);
	b.conf.partitions.groups = &g;
	b.conf.partitions.ngroups = 1;
	p = part(&b, "a", 1);
	member(p, grouped, MEMBERSHIP_FULL, false);
	q = part(&b, "b", 2);
	member(q, hosts, MEMBERSHIP_FULL, false);
	q->except = grouped;
	q->enforce = ENFORCE_IN;
	assert_int_equal(build(&b, NULL), 0);
	compile(&b);
	expect_table(&b, host_port(&b, 3), "7fff 8001");
	expect_table(&b, host_port(&b, 4), "7fff 8002");
	assert_int_equal(b.out->enforce[switch_port(&b, 5)], PKEYS_ENFORCE_IN);
	member(p, no, MEMBERSHIP_FULL, false);
	assert_int_equal(build(&b, NULL), ERR_NOT_FOUND);
	assert_non_null(strstr(b.e.text, "nothing"));
	bed_free(&b);
}

/* One P_Key may be another partition's in another subnet. */
static void
test_subnets(void **state)
{
	const char *one[] = { "0x1011", NULL }, *two[] = { "0x1021", NULL };
	const char *here[] = { "default", NULL }, *there[] = { "storage", NULL };
	struct bed b;

	(void)state;
	bed_new(&b);
	member(part(&b, "a", 1), one, MEMBERSHIP_FULL, false);
	b.parts[0].subnets = here;
	member(part(&b, "b", 1), two, MEMBERSHIP_FULL, false);
	b.parts[1].subnets = there;
	assert_int_equal(build(&b, NULL), 0);
	compile(&b);
	expect_table(&b, host_port(&b, 1), "7fff 8001");
	expect_table(&b, host_port(&b, 2), "7fff");
	b.parts[0].subnets = there;
	b.parts[1].subnets = here;
	assert_int_equal(build(&b, NULL), 0);
	compile(&b);
	expect_table(&b, host_port(&b, 1), "7fff");
	expect_table(&b, host_port(&b, 2), "7fff 8001");
	bed_free(&b);
}

/* Whoever has an excepted name is no member, also if he comes later, and does not become one by
 * another name; an administrator may say otherwise. */
static void
test_excepted_names(void **state)
{
	const char *hosts[] = { "all-hosts", NULL }, *stores[] = { "/^store-/", NULL };
	const char *grouped[] = { "group:free", NULL };
	const char *later[HOSTS] = { "gpu-1", "gpu-2", "store-9", "gpu-9", "store-2", "login" };
	const char *again[HOSTS] = { "gpu-1", "gpu-2", "gpu-3", "gpu-9", "store-2", "login" };
	struct config_node_group g = { .name = "free", .nodes = hosts, .except = stores };
	struct config_partition *p;
	struct bed b;

	(void)state;
	bed_new(&b);
	b.conf.partitions.groups = &g;
	b.conf.partitions.ngroups = 1;
	p = part(&b, "a", 1);
	member(p, hosts, MEMBERSHIP_FULL, false);
	p->except = stores;
	p = part(&b, "b", 2);
	member(p, grouped, MEMBERSHIP_FULL, false);
	for (unsigned i = 0; i < 3; i++) {
		fabric_unref(b.f);
		b.f = make_fabric(i == 0 ? names : i == 1 ? later : again, 32, 32);
		assert_int_equal(build(&b, NULL), 0);
		assert_true(b.policy->names);
		compile(&b);
		expect_table(&b, host_port(&b, 2), i ? "7fff" : "7fff 8001 8002");
		expect_table(&b, host_port(&b, 3), "7fff");
		expect_table(&b, host_port(&b, 4), "7fff");
		expect_table(&b, host_port(&b, 5), "7fff 8001 8002");
		assert_int_equal(policy_by_name(b.policy, "a")->others, 0);
	}
	assert_int_equal(build(&b, "a"), 0);
	compile(&b);
	expect_table(&b, host_port(&b, 3), "7fff 8001");
	assert_int_equal(build(&b, ""), 0);
	compile(&b);
	expect_table(&b, host_port(&b, 2), "7fff 8001 8002");
	expect_table(&b, host_port(&b, 3), "7fff 8001 8002");
	expect_table(&b, host_port(&b, 4), "7fff");
	bed_free(&b);
}

/* What names mean to one partition is not what they mean to another, whatever both are called; nor
 * to its exceptions. */
static void
test_pins_are_apart(void **state)
{
	const char *first[] = { "b /^gpu-/", "/^gpu-/", NULL }, *second[] = { "/^gpu-/", NULL };
	const char *renamed[HOSTS] = { "gpu-1", "x", "y", "gpu-9", "store-2", "login" };
	struct config_partition *p;
	struct bed b;

	(void)state;
	bed_new(&b);
	member(part(&b, "a", 1), first, MEMBERSHIP_FULL, false);
	member(part(&b, "a b", 2), second, MEMBERSHIP_FULL, false);
	assert_int_equal(build(&b, NULL), 0);
	compile(&b);
	expect_table(&b, host_port(&b, 1), "7fff 8001 8002");
	p = part(&b, "c", 3);
	member(p, (const char *[]){ "all-hosts", NULL }, MEMBERSHIP_FULL, false);
	p->except = second;
	assert_int_equal(build(&b, NULL), 0);
	p = part(&b, "d", 4);
	member(p, second, MEMBERSHIP_FULL, false);
	p->except = second;
	assert_int_equal(build(&b, NULL), 0);
	p->except = NULL;
	fabric_unref(b.f);
	b.f = make_fabric(renamed, 32, 32);
	assert_int_equal(build(&b, NULL), 0);
	compile(&b);
	expect_table(&b, host_port(&b, 1), "7fff 8001 8002 8004");
	expect_table(&b, host_port(&b, 3), "7fff");
	expect_table(&b, host_port(&b, 4), "7fff 8003");
	bed_free(&b);
}

/* A GUID that nobody has yet waits; an alias is its port. */
static void
test_pending_and_aliases(void **state)
{
	const char *spare[] = { "0x9999", "0xa11a5", NULL }, *alias[] = { "0xa11a5", NULL };
	const char *hosts[] = { "0x1010", "0x1031", NULL };
	struct config_partition *p;
	struct bed b;

	(void)state;
	bed_new(&b);
	p = part(&b, "a", 1);
	member(p, spare, MEMBERSHIP_FULL, false);
	assert_int_equal(build(&b, NULL), 0);
	compile(&b);
	assert_int_equal(b.report.pending, 2);
	b.aliases[b.naliases++] = (struct pkeys_alias){ 0xa11a5, PORT_GUID(5) };
	compile(&b);
	assert_int_equal(b.report.pending, 1);
	assert_int_equal(b.report.foreign, 2);
	expect_table(&b, host_port(&b, 5), "7fff 8001");
	/* An exception is an alias's port, too; and no alias is a node or another's port. */
	p->except = alias;
	member(p, hosts, MEMBERSHIP_FULL, false);
	b.aliases[b.naliases++] = (struct pkeys_alias){ HOST_GUID(1), PORT_GUID(2) };
	b.aliases[b.naliases++] = (struct pkeys_alias){ PORT_GUID(3), PORT_GUID(4) };
	assert_int_equal(build(&b, NULL), 0);
	compile(&b);
	assert_int_equal(b.report.foreign, 3);
	expect_table(&b, host_port(&b, 1), "7fff 8001");
	expect_table(&b, host_port(&b, 2), "7fff");
	expect_table(&b, host_port(&b, 3), "7fff 8001");
	expect_table(&b, host_port(&b, 4), "7fff");
	expect_table(&b, host_port(&b, 5), "7fff");
	bed_free(&b);
}

/* What does not fit is named, and the port gets nothing but its default key. */
static void
test_overflow(void **state)
{
	const char *hosts[] = { "all-hosts", NULL };
	static const char *const part_names[] = { "a", "b", "c", "d" };
	char text[300];
	struct bed b;

	(void)state;
	bed_new(&b);
	for (unsigned i = 0; i < 4; i++)
		member(part(&b, part_names[i], i + 1), hosts, MEMBERSHIP_FULL, false);
	fabric_unref(b.f);
	b.f = make_fabric(names, 4, 32);
	assert_int_equal(build(&b, NULL), 0);
	compile(&b);
	assert_int_equal(b.report.overflows, HOSTS);
	expect_table(&b, host_port(&b, 1), "7fff");
	pkeys_overflow_text(&b.report.overflow[0], b.f, text, sizeof(text));
	assert_string_equal(text, "port 1 of gpu-1 is to have 5 P_Keys and has room for 4 "
			    "(PartitionCap)");
	fabric_unref(b.f);
	b.f = make_fabric(names, 32, 4);
	compile(&b);
	assert_int_equal(b.report.overflows, HOSTS);
	expect_table(&b, host_port(&b, 1), "7fff 8001 8002 8003 8004");
	expect_table(&b, switch_port(&b, 2), "7fff");
	assert_true(b.report.overflow[0].enforced);
	fabric_unref(b.f);
	b.f = make_fabric(names, 32, 0);
	compile(&b);
	assert_int_equal(b.report.overflows, 0);
	assert_int_equal(b.report.unenforced, HOSTS);
	bed_free(&b);
}

/* What a command adds to the file's partitions, and where the two disagree. */
static void
test_commands(void **state)
{
	const char *one[] = { "0x1011", NULL };
	struct part_member more[] = {
		{ .guid = PORT_GUID(1), .membership = MEMBERSHIP_LIMITED, .origin = PART_COMMAND },
		{ .guid = PORT_GUID(2), .membership = MEMBERSHIP_LIMITED, .origin = PART_COMMAND },
	};
	struct bed b;

	(void)state;
	bed_new(&b);
	member(part(&b, "file", 1), one, MEMBERSHIP_FULL, false);
	b.rows[b.nrows++] = (struct part_row){ "file", 0, false, more, 2 };
	b.rows[b.nrows++] = (struct part_row){ "new", 9, false, more, 1 };
	assert_int_equal(build(&b, NULL), 0);
	compile(&b);
	expect_table(&b, host_port(&b, 1), "7fff 8001 0009");
	expect_table(&b, host_port(&b, 2), "7fff 0001");
	assert_int_equal(policy_by_name(b.policy, "file")->origin, PART_FILE | PART_COMMAND);
	b.rows[1].pkey = 1;
	assert_int_equal(build(&b, NULL), ERR_EXISTS);
	b.rows[1] = (struct part_row){ "gone", 0, false, more, 1 };
	assert_int_equal(build(&b, NULL), ERR_NOT_FOUND);
	bed_free(&b);
}

/* ---- Many changes ---- */

#define PARTS 12u
struct model {
	int membership[PARTS][HOSTS];	/* enum config_membership, -1 */
	struct part_member list[PARTS][HOSTS];
};

static void
rows_of(struct bed *b, struct model *m, struct part_row rows[PARTS])
{
	static const char *const part_names[PARTS] = {
		"p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9", "p10", "p11",
	};

	for (unsigned p = 0; p < PARTS; p++) {
		rows[p] = (struct part_row){ .name = part_names[p], .pkey = (uint16_t)(p + 1),
					     .members = m->list[p] };
		for (unsigned h = 0; h < HOSTS; h++)
			if (m->membership[p][h] >= 0)
				m->list[p][rows[p].nmembers++] = (struct part_member){
					.guid = PORT_GUID(h), .origin = PART_COMMAND,
					.membership = (uint8_t)m->membership[p][h] };
	}
	(void)b;
}

/* Exactly what the model says, each key once, and those that were there where they were. */
static void
judge(const struct bed *b, const struct model *m, unsigned h)
{
	uint32_t port = host_port(b, h), found = 0, wanted = 0;
	uint16_t keys[32];

	for (unsigned i = 0; i < 32; i++)
		keys[i] = plan_pkeys_at(b->out, port, i);
	assert_int_equal(keys[0], 0xffff);	/* the file says nothing */
	for (unsigned i = 1; i < 32; i++) {
		unsigned p = (keys[i] & 0x7fffu) - 1;
		int is;

		if (!keys[i])
			continue;
		found++;
		assert_true(p < PARTS);
		is = m->membership[p][h];
		assert_true(is == MEMBERSHIP_BOTH ||
			    is == (keys[i] & 0x8000 ? MEMBERSHIP_FULL : MEMBERSHIP_LIMITED));
		for (unsigned j = 1; j < i; j++)
			assert_int_not_equal(keys[i], keys[j]);
	}
	for (unsigned p = 0; p < PARTS; p++)
		wanted += m->membership[p][h] < 0 ? 0 : m->membership[p][h] == MEMBERSHIP_BOTH ?
			  2 : 1;
	assert_int_equal(found, wanted);
	for (unsigned i = 1; i < 32 && b->held[port].keys; i++) {
		uint16_t was = b->held[port].keys[i];
		bool still = false;

		for (unsigned j = 0; j < 32; j++)
			still |= was && keys[j] == was;
		if (still)
			assert_int_equal(keys[i], was);
	}
}

static void
test_many_changes(void **state)
{
	struct part_row rows[PARTS];
	struct model m;
	struct bed b;

	(void)state;
	bed_new(&b);
	memset(m.membership, -1, sizeof(m.membership));
	srand(7);
	for (unsigned i = 0; i < 10000; i++) {
		unsigned p = (unsigned)rand() % PARTS, h = (unsigned)rand() % HOSTS;
		struct policy_input in = { .conf = &b.conf, .subnet = "default", .rows = rows,
					   .nrows = PARTS, .fabric = b.f, .pins = b.pins };

		m.membership[p][h] = rand() % 4 - 1;
		rows_of(&b, &m, rows);
		policy_unref(b.policy);
		assert_int_equal(policy_new(&in, &b.policy, &b.e), 0);
		compile(&b);
		for (unsigned one = 0; one < HOSTS; one++)
			judge(&b, &m, one);
		hold(&b);
	}
	bed_free(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tables),
		cmocka_unit_test(test_nearest_counts),
		cmocka_unit_test(test_default_is_kept),
		cmocka_unit_test(test_index_is_kept),
		cmocka_unit_test(test_names_are_pinned),
		cmocka_unit_test(test_groups_and_exceptions),
		cmocka_unit_test(test_subnets),
		cmocka_unit_test(test_excepted_names),
		cmocka_unit_test(test_pins_are_apart),
		cmocka_unit_test(test_pending_and_aliases),
		cmocka_unit_test(test_overflow),
		cmocka_unit_test(test_commands),
		cmocka_unit_test(test_many_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
