/* SPDX-License-Identifier: BSD-2-Clause */
#include "partitions/compile.h"

#include <stdio.h>
#include <string.h>
#include "partitions/compile_i.h"
#include "sm/base/mem.h"

/*
 * All ports at once. Partition by partition, in order of P_Keys, each of its members is found among
 * the ports; what comes of it, (port, key), is put in order by port. Then port by port the keys get
 * their places (layout.c).
 *
 * A port is a member of a partition once: the best entry is looked for first, and the port is
 * marked. So GUIDs of ports go first, then GUIDs of nodes, `self`, and kinds.
 *
 * Where little has changed since an earlier time recompile.c does it, and comes to the same.
 */
struct compiler {
	const struct pkeys_input *in;	/* what is compiled */
	const struct fabric *f;		/* its snapshot */
	struct pkeys_report *report;	/* being made */
	uint32_t *ends;			/* all end ports */
	uint32_t nends;
	uint8_t *kinds;			/* by port: enum selected_kind */
	uint32_t *found;		/* by member of the partition at hand: its port */
	uint32_t found_size;		/* that there is room for */
	struct map alias;		/* alias GUID -> place in in->aliases */
	uint32_t *done;			/* by port: the partition, from 1, that it is settled for */
	uint32_t *barred;		/* by port: likewise, that excepts it */
	uint8_t *enforce;		/* by port: what its partitions but the default one want */
	uint8_t *default_enforce;	/* and what that wants */
	struct grant *grants;		/* in order of partitions */
	size_t len, size;		/* grants, and room for them */
	uint32_t *first;		/* by port: its first in `sorted`; one more at the end */
	struct grant *sorted;		/* by port, then by P_Key */
};

/* ---- What a membership comes to ---- */

uint8_t
grants_enforce(const struct partition *p)
{
	switch (p->enforce) {
	case ENFORCE_BOTH:
		return PKEYS_ENFORCE_IN | PKEYS_ENFORCE_OUT;
	case ENFORCE_IN:
		return PKEYS_ENFORCE_IN;
	case ENFORCE_OUT:
		return PKEYS_ENFORCE_OUT;
	default:
		return 0;
	}
}

unsigned
grants_of(const struct fabric *f, const struct partition *p, uint32_t port, int membership,
	  bool index0, struct grant out[2])
{
	bool is_default = p->pkey == PKEY_DEFAULT;
	unsigned n = 0;

	/* What the subnet manager sends it sends by index 0. */
	index0 &= port != f->sm_port;
	if (is_default && port == f->sm_port && membership != MEMBERSHIP_BOTH)
		membership = MEMBERSHIP_FULL;
	if (is_default && membership < 0)
		membership = MEMBERSHIP_LIMITED;
	if (membership < 0)
		return 0;
	if (membership != MEMBERSHIP_FULL)
		out[n++] = (struct grant){ port, p->pkey,
					   index0 && membership == MEMBERSHIP_LIMITED };
	if (membership != MEMBERSHIP_LIMITED)
		out[n++] = (struct grant){ port, p->pkey | PKEY_FULL, index0 };
	return n;
}

/* ---- Who is a member ---- */

/* Most ports are outer ones of switches, so end ports are listed once. */
static void
list_ends(struct compiler *c)
{
	c->ends = mem_array(c->f->nports + 1u, sizeof(*c->ends));
	c->kinds = mem_array(c->f->nports + 1u, sizeof(*c->kinds));
	for (uint32_t port = 0; port < c->f->nports; port++) {
		c->kinds[port] = (uint8_t)selected_kind_of(c->f, port);
		if (c->kinds[port])
			c->ends[c->nends++] = port;
	}
}

static void
grant(struct compiler *c, const struct grant *g)
{
	if (c->len == c->size) {
		c->size = c->size ? 2 * c->size : 1024;
		c->grants = mem_realloc(c->grants, c->size, sizeof(*c->grants));
	}
	c->grants[c->len++] = *g;
}

/* The keys of one membership. */
static void
settle(struct compiler *c, const struct partition *p, uint32_t index, uint32_t port,
       int membership, bool index0)
{
	struct grant list[2];
	unsigned n;

	if (c->done[port] == index + 1)
		return;
	c->done[port] = index + 1;
	if (c->barred[port] == index + 1)
		membership = -1;
	n = grants_of(c->f, p, port, membership, index0, list);
	for (unsigned i = 0; i < n; i++)
		grant(c, &list[i]);
	if (n)
		*(p->pkey == PKEY_DEFAULT ? &c->default_enforce[port] : &c->enforce[port]) |=
			grants_enforce(p);
}

/* An alias is what a host asked for: it stands behind whatever devices have of their own. */
static uint32_t
port_of(struct compiler *c, uint64_t guid)
{
	uint32_t port = fabric_port_by_guid(c->f, guid);
	uint32_t alias;

	if (port != FABRIC_NONE || fabric_node_by_guid(c->f, guid) != FABRIC_NONE)
		return port;
	c->report->foreign++;
	alias = map_get(&c->alias, guid);
	return alias == MAP_NONE ? FABRIC_NONE :
	       fabric_port_by_guid(c->f, c->in->aliases[alias].port);
}

/* The node that has the GUID, which is this port's or nobody's. A port's GUID is no node's but
 * perhaps its own. */
static uint32_t
node_of(const struct compiler *c, uint64_t guid, uint32_t port)
{
	if (port == FABRIC_NONE || c->f->ports[port].guid != guid)
		return fabric_node_by_guid(c->f, guid);
	return c->f->nodes[c->f->ports[port].node].guid == guid ? c->f->ports[port].node :
	       FABRIC_NONE;
}

/* Each member is looked for among ports once. */
static void
find_members(struct compiler *c, const struct partition *p)
{
	if (p->nmembers > c->found_size) {
		c->found_size = 2 * p->nmembers;
		c->found = mem_realloc(c->found, c->found_size, sizeof(*c->found));
	}
	for (uint32_t i = 0; i < p->nmembers; i++)
		c->found[i] = port_of(c, p->members[i].guid);
}

static void
settle_members(struct compiler *c, const struct partition *p, uint32_t index)
{
	find_members(c, p);
	for (uint32_t i = 0; i < p->nmembers; i++) {
		const struct part_member *m = &p->members[i];
		uint32_t port = c->found[i];

		if (port != FABRIC_NONE && c->kinds[port])
			settle(c, p, index, port, m->membership, m->index0);
		else
			c->report->pending += fabric_node_by_guid(c->f, m->guid) == FABRIC_NONE;
	}
	for (uint32_t i = 0; i < p->nmembers; i++) {
		const struct part_member *m = &p->members[i];
		uint32_t node = node_of(c, m->guid, c->found[i]);

		for (unsigned n = 0; node != FABRIC_NONE && n <= c->f->nodes[node].nports; n++) {
			uint32_t port = c->f->nodes[node].first_port + n;

			if (c->kinds[port])
				settle(c, p, index, port, m->membership, m->index0);
		}
	}
}

/* Whoever the partition excepts. */
static void
bar(struct compiler *c, const struct selected *except, uint32_t index)
{
	for (uint32_t i = 0; i < except->len; i++) {
		uint32_t port = port_of(c, except->guids[i]);
		uint32_t node = fabric_node_by_guid(c->f, except->guids[i]);

		if (port != FABRIC_NONE)
			c->barred[port] = index + 1;
		for (unsigned n = 0; node != FABRIC_NONE && n <= c->f->nodes[node].nports; n++)
			c->barred[c->f->nodes[node].first_port + n] = index + 1;
	}
	for (uint32_t port = 0; except->kinds && port < c->f->nports; port++)
		if (c->kinds[port] & except->kinds ||
		    (except->kinds & SELECTED_SELF && port == c->f->sm_port))
			c->barred[port] = index + 1;
}

int
kind_index(unsigned kind)
{
	return kind == SELECTED_HOSTS ? PART_HOSTS : kind == SELECTED_SWITCHES ? PART_SWITCHES :
	       kind == SELECTED_ROUTERS ? PART_ROUTERS : -1;
}

static void
settle_kinds(struct compiler *c, const struct partition *p, uint32_t index)
{
	const struct part_kind *self = &p->kind[PART_SELF];
	bool any = p->pkey == PKEY_DEFAULT;

	if (self->on && c->f->sm_port != FABRIC_NONE)
		settle(c, p, index, c->f->sm_port, self->membership, self->index0);
	for (unsigned k = 0; k < PART_SELF; k++)
		any |= p->kind[k].on;
	for (uint32_t i = 0; any && i < c->nends; i++) {
		int k = kind_index(c->kinds[c->ends[i]]);

		if (k >= 0)
			settle(c, p, index, c->ends[i],
			       p->kind[k].on ? p->kind[k].membership : -1, p->kind[k].index0);
	}
}

/* Grants by port; those of a port stay in order of P_Keys. */
static void
sort_grants(struct compiler *c)
{
	uint32_t *next = mem_array(c->f->nports + 1u, sizeof(*next));

	c->first = mem_array(c->f->nports + 2u, sizeof(*c->first));
	c->sorted = mem_array(c->len + 1, sizeof(*c->sorted));
	for (size_t i = 0; i < c->len; i++)
		c->first[c->grants[i].port + 1]++;
	for (uint32_t port = 0; port < c->f->nports; port++) {
		c->first[port + 1] += c->first[port];
		next[port] = c->first[port];
	}
	for (size_t i = 0; i < c->len; i++)
		c->sorted[next[c->grants[i].port]++] = c->grants[i];
	mem_free(next);
}

/* ---- Tables ---- */

static struct port_grants
of_port(const struct compiler *c, uint32_t port)
{
	return (struct port_grants){
		.list = c->sorted + c->first[port], .len = c->first[port + 1] - c->first[port],
		.enforce = c->enforce[port], .default_enforce = c->default_enforce[port],
	};
}

static struct pkeys_held
held_by(const struct pkeys_input *in, uint32_t port)
{
	if (in->base)
		return layout_held(in->base->pkeys, port);
	return in->held ? in->held[port] : (struct pkeys_held){ 0 };
}

static void
make_tables(struct compiler *c, struct layout *l)
{
	for (uint32_t i = 0; i < c->nends; i++) {
		uint32_t port = c->ends[i];
		struct port_grants g = of_port(c, port);

		layout_port(l, port, &g, held_by(c->in, port));
	}
	for (uint32_t port = 0; port < c->f->nports; port++) {
		struct port_grants g;

		if (!layout_is_enforced(c->f, port))
			continue;
		g = of_port(c, c->f->ports[port].peer);
		layout_enforced(l, port, &g);
	}
}

static void
index_aliases(struct compiler *c)
{
	for (uint32_t i = 0; i < c->in->naliases; i++)
		map_set(&c->alias, c->in->aliases[i].alias, i);
}

static struct compiler *
compiler_new(const struct pkeys_input *in, struct pkeys_report *report)
{
	struct compiler *c = mem_zalloc(sizeof(*c));

	c->in = in;
	c->f = in->fabric;
	c->report = report;
	c->done = mem_array(c->f->nports + 1u, sizeof(*c->done));
	c->barred = mem_array(c->f->nports + 1u, sizeof(*c->barred));
	c->enforce = mem_array(c->f->nports + 1u, 1);
	c->default_enforce = mem_array(c->f->nports + 1u, 1);
	index_aliases(c);
	list_ends(c);
	return c;
}

static void
compiler_free(struct compiler *c)
{
	map_free(&c->alias);
	mem_free(c->ends);
	mem_free(c->kinds);
	mem_free(c->found);
	mem_free(c->first);
	mem_free(c->sorted);
	mem_free(c->grants);
	mem_free(c->done);
	mem_free(c->barred);
	mem_free(c->enforce);
	mem_free(c->default_enforce);
	mem_free(c);
}

static struct plan_pkeys *
compile_all(const struct pkeys_input *in, struct pkeys_report *report)
{
	struct layout *l = layout_new(in->fabric, NULL, report);
	struct compiler *c = compiler_new(in, report);
	struct plan_pkeys *out = l->out;

	for (uint32_t i = 0; i < in->policy->len; i++) {
		bar(c, &in->policy->list[i]->except, i);
		settle_members(c, in->policy->list[i], i);
		settle_kinds(c, in->policy->list[i], i);
	}
	sort_grants(c);
	make_tables(c, l);
	compiler_free(c);
	layout_free(l);
	return out;
}

struct plan_pkeys *
pkeys_compile(const struct pkeys_input *in, struct pkeys_report *report)
{
	struct pkeys_report unused;
	struct plan_pkeys *out;

	if (!report)
		report = &unused;
	out = in->base ? pkeys_recompile(in, report) : NULL;
	return out ? out : compile_all(in, report);
}

/* ---- For people ---- */

const char *
pkeys_overflow_text(const struct pkeys_overflow *o, const struct fabric *f, char *text, size_t size)
{
	const struct fabric_port *p = &f->ports[o->port];
	char name[FABRIC_NAME_SIZE];

	snprintf(text, size, "port %u of %s is to %s %u P_Keys and has room for %u (%s)", p->number,
		 fabric_node_text(name, f, p->node, FABRIC_NAME_LEN),
		 o->enforced ? "enforce" : "have", o->keys, o->room,
		 o->enforced ? "PartitionEnforcementCap" : "PartitionCap");
	return text;
}
