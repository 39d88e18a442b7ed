/* SPDX-License-Identifier: BSD-2-Clause */
#include "offline/offline.h"

#include <stdio.h>
#include <string.h>
#include "sm/base/mem.h"
#include "sm/text/lfts.h"

/*
 * LIDs for a fabric from a file. The daemon (sm/core/lids.c) knows besides what it remembers of
 * earlier runs; what is left without that memory is done here in its order, so that a file routed
 * offline gets the LIDs that a daemon without a past would give. Where tables are proved, LIDs are
 * those that are known.
 */
#define LID_LAST 0xbfffu

struct assignment {
	const struct fabric *f;
	struct plan_lids *lids;	/* what is being made */
	uint8_t *taken;		/* by LID */
	unsigned max;		/* highest LID that every switch can forward */
	unsigned hint;		/* free ones are looked for from here */
	unsigned lmc;		/* of host ports */
};

static unsigned
port_lmc(const struct assignment *a, uint32_t port)
{
	return a->f->nodes[a->f->ports[port].node].type == NODE_SWITCH ? 0 : a->lmc;
}

/* A port that gets a LID: switch port 0, or a port of a CA or router that is cabled. */
static bool
is_end_port(const struct fabric *f, uint32_t port)
{
	const struct fabric_port *p = &f->ports[port];

	if (f->nodes[p->node].type == NODE_SWITCH)
		return p->number == 0;
	return p->number > 0 && p->guid && (p->peer != FABRIC_NONE || f->sm_port == port);
}

static bool
is_free(const struct assignment *a, unsigned lid, unsigned lmc)
{
	unsigned len = 1u << lmc;

	if (!lid || lid % len || lid + len - 1 > a->max)
		return false;
	return !memchr(a->taken + lid, 1, len);
}

static void
take(struct assignment *a, uint32_t port, unsigned lid)
{
	memset(a->taken + lid, 1, 1u << port_lmc(a, port));
	a->lids->base[port] = (uint16_t)lid;
	a->lids->lmc[port] = (uint8_t)port_lmc(a, port);
}

static unsigned
find_free(const struct assignment *a, unsigned lmc)
{
	unsigned step = 1u << lmc;

	for (unsigned lid = (a->hint + step - 1) / step * step; lid <= a->max; lid += step)
		if (is_free(a, lid, lmc))
			return lid;
	for (unsigned lid = step; lid < a->hint; lid += step)
		if (is_free(a, lid, lmc))
			return lid;
	return 0;
}

static int
allocate(struct assignment *a, uint32_t port, struct error *e)
{
	unsigned lmc = port_lmc(a, port), lid;

	if (!is_end_port(a->f, port) || a->lids->base[port])
		return 0;
	lid = find_free(a, lmc);
	if (!lid)
		return error_set(e, ERR_REFUSED, "no LID is left for \"%s\": %u are the most that "
				 "every switch can forward%s",
				 a->f->nodes[a->f->ports[port].node].name, a->max,
				 a->lmc ? "; lower --lmc" : "");
	take(a, port, lid);
	a->hint = lid + (1u << lmc);
	return 0;
}

static int
allocate_hosts_of(struct assignment *a, uint32_t sw, struct error *e)
{
	const struct fabric_node *n = fabric_switch_node(a->f, sw);
	int rc = 0;

	for (unsigned i = 1; i <= n->nports && !rc; i++) {
		uint32_t peer = a->f->ports[n->first_port + i].peer;

		if (peer != FABRIC_NONE)
			rc = allocate(a, peer, e);
	}
	return rc;
}

static int
allocate_all(struct assignment *a, struct error *e)
{
	const struct fabric *f = a->f;
	int rc = 0;

	a->hint = 1;
	for (uint32_t sw = 0; sw < f->nswitches && !rc; sw++)
		rc = allocate_hosts_of(a, sw, e);
	for (int switches = 0; switches <= 1; switches++)
		for (uint32_t i = 0; i < f->nports && !rc; i++)
			if ((f->nodes[f->ports[i].node].type == NODE_SWITCH) == switches)
				rc = allocate(a, i, e);
	return rc;
}

static unsigned
least_cap(const struct fabric *f)
{
	unsigned least = LID_LAST + 1;

	for (uint32_t sw = 0; sw < f->nswitches; sw++)
		if (fabric_switch_node(f, sw)->lft_cap < least)
			least = fabric_switch_node(f, sw)->lft_cap;
	return least;
}

struct plan_lids *
offline_lids(const struct fabric *f, unsigned lmc, struct error *e)
{
	struct assignment a = {
		.f = f, .lids = plan_lids_new(f), .taken = mem_array(LID_LAST + 1u, 1),
		.max = least_cap(f) - 1, .lmc = lmc,
	};
	int rc;

	for (uint32_t i = 0; i < f->nports; i++)
		if (is_end_port(f, i) && is_free(&a, f->ports[i].lid, port_lmc(&a, i)))
			take(&a, i, f->ports[i].lid);
	rc = allocate_all(&a, e);
	mem_free(a.taken);
	if (rc) {
		plan_lids_unref(a.lids);
		return NULL;
	}
	plan_lids_index(a.lids, f);
	return a.lids;
}

/* The range of LIDs from `lid` on that the owner has, as an LMC. */
static uint8_t
owned_lmc(const uint64_t *owners, uint32_t lid)
{
	uint8_t lmc = 0;
	uint32_t len = 1;

	while (lid + len <= LFTS_LID_MAX && owners[lid + len] == owners[lid])
		len++;
	while (lmc < 7 && 2u << lmc <= len && lid % (2u << lmc) == 0)
		lmc++;
	return lmc;
}

/* No other port may have it. */
static bool
is_unclaimed(const struct plan_lids *l, uint32_t lid)
{
	return lid > l->top || l->dest[lid].port == FABRIC_NONE;
}

struct plan_lids *
offline_lids_known(const struct fabric *f, const struct lfts *tables, uint32_t *taken)
{
	struct plan_lids *l = plan_lids_from_fabric(f);

	*taken = 0;
	for (uint32_t lid = 1; tables->owners && lid <= LFTS_LID_MAX; lid++) {
		uint32_t port = tables->owners[lid] ? fabric_port_by_guid(f, tables->owners[lid]) :
				FABRIC_NONE;

		if (port == FABRIC_NONE || f->ports[port].lid || l->base[port] ||
		    !is_unclaimed(l, lid))
			continue;
		l->base[port] = (uint16_t)lid;
		l->lmc[port] = owned_lmc(tables->owners, lid);
		++*taken;
	}
	if (*taken)
		plan_lids_index(l, f);
	return l;
}

static bool
overlap(const struct fabric_port *a, const struct fabric_port *b)
{
	return b->lid && a->lid < b->lid + (1u << (b->lmc & 7)) &&
	       b->lid < a->lid + (1u << (a->lmc & 7));
}

uint32_t
offline_lids_left_out(const struct fabric *f, const struct plan_lids *l, char *clash, size_t size)
{
	char name[2][FABRIC_NAME_SIZE];
	uint32_t without = 0, other;

	clash[0] = '\0';
	for (uint32_t i = 0; i < f->nports; i++) {
		const struct fabric_port *p = &f->ports[i];

		if (!is_end_port(f, i) || l->base[i])
			continue;
		without += !p->lid;
		if (!p->lid || clash[0])
			continue;
		for (other = 0; other < f->nports; other++)
			if (other != i && is_end_port(f, other) && overlap(p, &f->ports[other]))
				break;
		fabric_node_text(name[0], f, p->node, FABRIC_NAME_LEN);
		if (other < f->nports)
			snprintf(clash, size, "LID %u is claimed by %s and by %s", p->lid, name[0],
				 fabric_node_text(name[1], f, f->ports[other].node,
						  FABRIC_NAME_LEN));
		else
			snprintf(clash, size, "%s cannot have LID %u, LMC %u", name[0], p->lid,
				 p->lmc);
	}
	return without;
}
