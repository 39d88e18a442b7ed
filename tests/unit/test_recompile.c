/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * P_Key tables of the few ports that a change touches, judged by those of all ports compiled anew,
 * in tens of thousands of changes at random of members, exceptions, kinds, enforcement, partitions,
 * aliases, and of the hosts that there are. Some hosts have two ports, or a GUID that another has
 * as well; one switch enforces, with little room, the other one cannot.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "partitions/compile_i.h"
#include "sm/base/mem.h"

#define STEPS 25000u
#define HOSTS 9u
#define NODE(i) (0x1000u + 0x10u * (i))
#define ALIASES 4u
#define ALIAS(i) (0x9000u + (i))
#define PKEYS 12u		/* numbers of partitions, and the default one */

struct bed {
	struct fabric *f;		/* the snapshot */
	unsigned absent;		/* hosts, as bits */
	struct policy *policy;		/* in force */
	struct plan_pkeys *out;		/* of that; NULL: another snapshot's */
	struct pkeys_report report;
	struct pkeys_alias aliases[ALIASES];
	uint32_t naliases;
	struct pkeys_alias before[ALIASES];	/* aliases of `out` */
	uint32_t nbefore;
	unsigned few;			/* changes that were not compiled whole */
};

static unsigned
any(unsigned n)
{
	return (unsigned)rand() % n;
}

/* Host 5 and its first port have one GUID, the second port of 6 that of host 7, and the first of 8
 * that of the first of 4. */
static uint64_t
port_guid(unsigned host, unsigned number)
{
	return host == 5 && number == 1 ? NODE(5) : host == 6 && number == 2 ? NODE(7) :
	       host == 8 && number == 1 ? NODE(4) + 1 : NODE(host) + number;
}

static struct fabric *
make_fabric(unsigned absent)
{
	struct fabric_builder *b = fabric_builder_new();
	uint32_t sw[2];

	for (unsigned i = 0; i < 2; i++) {
		sw[i] = fabric_add_node(b, &(struct fabric_node){
			.guid = 0x2000 + i, .type = NODE_SWITCH, .nports = 12, .name = "switch",
			.desc = "switch", .pkey_cap = 10, .enforce_cap = i ? 0 : 11 });
		fabric_add_port(b, sw[i], 0, &(struct fabric_port){ .guid = 0x2000 + i,
								    .state = PORT_ACTIVE });
		fabric_add_port(b, sw[i], 12, &(struct fabric_port){ .state = PORT_ACTIVE });
	}
	fabric_add_link(b, sw[0], 12, sw[1], 12);
	for (unsigned i = 0; i < HOSTS; i++) {
		uint32_t n;

		if (absent & 1u << i)
			continue;
		n = fabric_add_node(b, &(struct fabric_node){
			.guid = NODE(i), .type = NODE_CA, .nports = 2, .name = "host",
			.desc = "host", .pkey_cap = 16 });
		for (unsigned p = 1; p <= 2; p++) {
			fabric_add_port(b, n, p, &(struct fabric_port){ .guid = port_guid(i, p),
									.state = PORT_ACTIVE });
			fabric_add_port(b, sw[p - 1], i + 1,
					&(struct fabric_port){ .state = PORT_ACTIVE });
			fabric_add_link(b, n, p, sw[p - 1], i + 1);
		}
		if (!i)
			fabric_set_sm(b, n, 1);
	}
	return fabric_build(b, 1);
}

/* Of a port, a node, a switch, an alias, or nobody's. */
static uint64_t
any_guid(void)
{
	switch (any(8)) {
	case 0:
		return NODE(any(HOSTS));
	case 1:
		return any(2) ? 0x2000 + any(2) : 0x7000 + any(3);
	case 2:
		return ALIAS(any(ALIASES));
	default:
		return port_guid(any(HOSTS), 1 + any(2));
	}
}

/* ---- Policies ---- */

static struct partition *
part_new(uint16_t pkey)
{
	struct partition *p = mem_zalloc(sizeof(*p));

	p->refs = 1;
	p->pkey = pkey;
	p->enforce = ENFORCE_BOTH;
	snprintf(p->name, sizeof(p->name), "p%u", pkey);
	p->members = mem_array(1, sizeof(*p->members));
	return p;
}

static struct partition *
part_copy(const struct partition *from)
{
	struct partition *p = part_new(from->pkey);
	struct part_member *members = p->members;

	*p = *from;
	p->refs = 1;
	p->members = mem_realloc(members, p->nmembers + 2u, sizeof(*p->members));
	memcpy(p->members, from->members, p->nmembers * sizeof(*p->members));
	p->except.guids = mem_array(p->except.len + 2u, sizeof(uint64_t));
	if (p->except.len)
		memcpy(p->except.guids, from->except.guids, p->except.len * sizeof(uint64_t));
	return p;
}

/* The entry of a GUID goes if it is there, and comes otherwise. */
static void
toggle_member(struct partition *p, uint64_t guid, const struct part_member *m)
{
	uint32_t at = 0;

	while (at < p->nmembers && p->members[at].guid < guid)
		at++;
	if (at < p->nmembers && p->members[at].guid == guid && !any(3)) {
		p->members[at] = *m;
	} else if (at < p->nmembers && p->members[at].guid == guid) {
		memmove(p->members + at, p->members + at + 1,
			(p->nmembers - at - 1) * sizeof(*m));
		p->nmembers--;
	} else {
		memmove(p->members + at + 1, p->members + at, (p->nmembers - at) * sizeof(*m));
		p->members[at] = *m;
		p->nmembers++;
	}
}

static void
toggle_except(struct partition *p, uint64_t guid)
{
	struct selected *e = &p->except;
	uint32_t at = 0;

	while (at < e->len && e->guids[at] < guid)
		at++;
	if (at < e->len && e->guids[at] == guid) {
		memmove(e->guids + at, e->guids + at + 1, (e->len - at - 1) * sizeof(guid));
		e->len--;
	} else {
		memmove(e->guids + at + 1, e->guids + at, (e->len - at) * sizeof(guid));
		e->guids[at] = guid;
		e->len++;
	}
}

static void
change_part(struct partition *p)
{
	struct part_member m = { .guid = any_guid(), .membership = (uint8_t)any(3),
				 .index0 = !any(6) };
	unsigned kind = any(PART_KINDS);

	switch (any(30)) {
	case 0:
		p->enforce = (uint8_t)any(4);
		break;
	case 1:
		p->kind[kind] = (struct part_kind){ .on = !any(3), .membership = (uint8_t)any(3),
						    .index0 = !any(4) };
		break;
	case 2:
		p->except.kinds = any(4) ? 0 : 1u << any(4);
		break;
	case 3:
	case 4:
		toggle_except(p, any_guid());
		break;
	default:
		toggle_member(p, m.guid, &m);
	}
}

/* All partitions are as they were, but the one of this number, which comes, goes or changes. */
static struct policy *
changed_policy(const struct policy *old, uint16_t pkey)
{
	struct policy *new = mem_zalloc(sizeof(*new));
	bool there = false, goes = pkey != PKEY_DEFAULT && !any(40);

	new->refs = 1;
	new->list = mem_array(old->len + 1u, sizeof(struct partition *));
	for (uint32_t i = 0; i < old->len; i++) {
		struct partition *p = old->list[i];

		if (!there && p->pkey > pkey) {
			new->list[new->len++] = part_new(pkey);
			there = true;
		}
		there |= p->pkey == pkey;
		if (p->pkey != pkey) {
			p->refs++;
			new->list[new->len++] = p;
		} else if (!goes) {
			change_part(new->list[new->len++] = part_copy(p));
		}
	}
	return new;
}

/* ---- The judge ---- */

static void
hold(const struct bed *b, struct pkeys_held *held)
{
	for (uint32_t port = 0; b->out && port < b->f->nports; port++) {
		uint32_t t = b->out->table[port];

		if (t != PKEYS_NONE)
			held[port] = (struct pkeys_held){ b->out->keys + b->out->tables[t].first,
							  b->out->tables[t].len };
	}
}

static void
expect_same(const struct plan_pkeys *few, const struct pkeys_report *report,
	    const struct plan_pkeys *all, const struct pkeys_report *judge)
{
	uint32_t len;

	mem_free(plan_pkeys_differ(few, all, &len));
	assert_int_equal(len, 0);
	assert_int_equal(few->ntables, all->ntables);
	assert_int_equal(few->nkeys, all->nkeys);
	assert_int_equal(report->pending, judge->pending);
	assert_int_equal(report->foreign, judge->foreign);
	assert_int_equal(report->unenforced, judge->unenforced);
	assert_int_equal(report->overflows, judge->overflows);
	assert_memory_equal(report->overflow, judge->overflow, sizeof(judge->overflow));
}

/* Both ways; one of the results is what ports hold then. */
static void
compile(struct bed *b, struct policy *policy, const struct fabric *before)
{
	struct pkeys_held held[128] = { 0 };
	struct pkeys_base base = { .policy = b->policy, .fabric = before, .pkeys = b->out,
				   .report = &b->report, .aliases = b->before,
				   .naliases = b->nbefore };
	struct pkeys_input in = { .policy = policy, .fabric = b->f, .held = held,
				  .aliases = b->aliases, .naliases = b->naliases };
	struct pkeys_report judge, report;
	struct plan_pkeys *all, *few = NULL;

	hold(b, held);
	all = pkeys_compile(&in, &judge);
	in.base = &base;
	in.held = NULL;
	if (b->out)
		few = pkeys_recompile(&in, &report);
	if (few) {
		b->few++;
		expect_same(few, &report, all, &judge);
	}
	plan_pkeys_unref(b->out);
	b->out = few && any(2) ? plan_pkeys_ref(few) : plan_pkeys_ref(all);
	b->report = judge;
	memcpy(b->before, b->aliases, sizeof(b->aliases));
	b->nbefore = b->naliases;
	plan_pkeys_unref(few);
	plan_pkeys_unref(all);
	policy_unref(b->policy);
	b->policy = policy;
}

/* A host comes or goes, or ports have other values: what was compiled for them is good still. */
static void
change_fabric(struct bed *b)
{
	struct fabric *old = b->f;
	struct fabric_port *ports;

	if (any(4)) {
		ports = mem_array(old->nports, sizeof(*ports));
		memcpy(ports, old->ports, old->nports * sizeof(*ports));
		b->f = fabric_with_ports(old, ports, 2);
	} else {
		b->absent ^= 1u << (1 + any(HOSTS - 1));
		b->f = make_fabric(b->absent);
		plan_pkeys_unref(b->out);
		b->out = NULL;
	}
	fabric_unref(old);
}

static void
change_alias(struct bed *b)
{
	unsigned n = any(ALIASES);

	if (b->naliases && !any(2))
		b->naliases--;
	else if (b->naliases < ALIASES)
		b->naliases++;
	for (uint32_t i = 0; i < b->naliases; i++)
		if (i == n || !b->aliases[i].alias)
			b->aliases[i] = (struct pkeys_alias){ ALIAS(i), port_guid(any(HOSTS), 1) };
}

static void
test_few_as_all(void **state)
{
	struct bed b = { .f = make_fabric(0) };
	struct policy *first = mem_zalloc(sizeof(*first));

	(void)state;
	srand(11);
	first->refs = first->len = 1;
	first->list = mem_array(1, sizeof(struct partition *));
	first->list[0] = part_new(PKEY_DEFAULT);
	compile(&b, first, NULL);
	for (unsigned i = 0; i < STEPS; i++) {
		uint16_t pkey = any(10) ? (uint16_t)(1 + any(PKEYS)) : PKEY_DEFAULT;
		const struct fabric *before = fabric_ref(b.f);

		if (!any(20))
			change_fabric(&b);
		if (!any(40))
			change_alias(&b);
		compile(&b, changed_policy(b.policy, pkey), before);
		fabric_unref(before);
	}
	assert_true(b.few > 10000);
	policy_unref(b.policy);
	plan_pkeys_unref(b.out);
	fabric_unref(b.f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_few_as_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
