/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/sa/alias.h"
#include "sm/sa/ask.h"

/*
 * GUIDInfoRecord (IBA 15.2.5.18): the GUIDs of each end port, in blocks of eight, as many as its
 * GUIDCap says, empty ones too. The first of all is the port's own. The others are aliases that
 * somebody set here (alias.h): the port itself, or whom we trust. The answer leaves when they are
 * in the store; the device is written meanwhile (sm/core/guids.c), as OpenSM does it too.
 *
 * Set and Delete change the GUIDs whose component is in the mask; the answer is the block as it is
 * then. Set of 0 asks for one of our choice. A GUID that another port has, or this one in another
 * place, or a node, is not taken: its place stays as it was, which is how the asker knows. Nor is
 * that of a port that is away, unless whom we trust asks: partitions name ports by their GUIDs.
 */
#define COMPONENTS_NEEDED (SA_BIT(SA_GUIDS_LID) | SA_BIT(SA_GUIDS_BLOCK))

static unsigned
blocks_of(const struct sa_ask *a, uint32_t port)
{
	const struct portinfo *info = a->env->port_info(a->env->arg, sa_node_of(a, port)->guid,
							a->f->ports[port].number);

	return info ? (info->guid_cap + SA_GUID_BLOCK - 1u) / SA_GUID_BLOCK : 0;
}

static unsigned
guid_cap(const struct sa_ask *a, uint32_t port)
{
	return a->env->port_info(a->env->arg, sa_node_of(a, port)->guid,
				 a->f->ports[port].number)->guid_cap;
}

static struct sa_guids
record(const struct sa_ask *a, uint32_t port, unsigned block)
{
	struct sa_guids r = { .lid = sa_base_lid(a, port), .block = (uint8_t)block };
	uint64_t own = a->f->ports[port].guid;

	for (unsigned i = 0; i < SA_GUID_BLOCK; i++)
		r.guids[i] = sa_aliases_at(a->kept->aliases, own, block * SA_GUID_BLOCK + i);
	if (!block)
		r.guids[0] = own;
	return r;
}

/* ---- Get ---- */

static bool
tell_port(struct sa_ask *a, uint32_t port)
{
	unsigned blocks = blocks_of(a, port);

	sa_worked(a, blocks);
	for (unsigned i = 0; i < blocks; i++) {
		struct sa_guids r = record(a, port, i);

		if (!sa_offer(a, &r))
			return false;
	}
	return true;
}

static void
tell_guids(struct sa_ask *a)
{
	const struct sa_guids *want = a->want;

	sa_each_port(a, SA_GUIDS_LID, want->lid, tell_port);
}

/* ---- Set and Delete ---- */

/* The port whose block is to be changed; FABRIC_NONE: it may not be, a->status says why. */
static uint32_t
port_to_change(struct sa_ask *a)
{
	const struct sa_guids *want = a->want;
	const struct plan_lids *l = a->plan->lids;
	uint32_t port;

	if ((a->h.mask & COMPONENTS_NEEDED) != COMPONENTS_NEEDED) {
		a->status = SA_STATUS_INSUFFICIENT;
		return FABRIC_NONE;
	}
	port = want->lid && want->lid <= l->top ? l->dest[want->lid].port : FABRIC_NONE;
	if (port == FABRIC_NONE || want->block >= blocks_of(a, port))
		a->status = SA_STATUS_NO_RECORDS;
	else if (!a->trusted && sa_asker(a) != port)
		a->status = SA_STATUS_DENIED;
	else if (!want->block && sa_asks(a, SA_GUIDS_FIRST))
		a->status = SA_STATUS_INVALID;
	return a->status ? FABRIC_NONE : port;
}

static bool
is_taken(const struct sa_ask *a, uint64_t guid)
{
	return sa_aliases_port(a->kept->aliases, guid) ||
	       fabric_port_by_guid(a->f, guid) != FABRIC_NONE ||
	       fabric_node_by_guid(a->f, guid) != FABRIC_NONE ||
	       (!a->trusted && a->env->port_known && a->env->port_known(a->env->arg, guid));
}

static bool
is_member(const struct sa_ask *a, uint64_t guid)
{
	const struct sa_use *u = sa_groups_use(a->groups, guid);

	return u && u->member;
}

/* It names nobody any more, so it is no member either. */
static void
leave_groups(struct sa_ask *a, uint64_t guid)
{
	for (uint32_t i = 0; i < sa_groups_slots(a->groups) && is_member(a, guid); i++) {
		struct sa_group *g = sa_groups_slot(a->groups, i);
		struct sa_member shared;
		bool gone;

		if (!g || !sa_group_join_of(g, guid))
			continue;
		shared = g->r;
		sa_groups_leave(a->groups, g, guid, UINT8_MAX, &gone);
		if (gone)
			sa_informs_tell_gid(a->kept->informs, TRAP_GROUP_DELETED, &shared.mgid);
		a->env->groups_changed(a->env->arg, shared.mlid);
	}
}

static void
change(struct sa_ask *a, bool set)
{
	const struct sa_guids *want = a->want;
	struct sa_aliases *all = a->kept->aliases;
	uint32_t port = port_to_change(a);
	bool changed = false;
	struct sa_guids r;
	uint64_t own;

	if (port == FABRIC_NONE)
		return;
	own = a->f->ports[port].guid;
	for (unsigned i = 0; i < SA_GUID_BLOCK; i++) {
		unsigned index = want->block * SA_GUID_BLOCK + i;
		uint64_t before = sa_aliases_at(all, own, index), guid = set ? want->guids[i] : 0;

		if (!sa_asks(a, SA_GUIDS_FIRST + i) || index >= guid_cap(a, port))
			continue;
		if (set && !guid)
			guid = sa_aliases_invent(all, a->f, own, index);
		/* One that nobody here knows may be in the device all the same. */
		if (guid && (guid == before || is_taken(a, guid)))
			continue;
		if (before) {
			leave_groups(a, before);
			sa_informs_tell_alias(a->kept->informs, all, own, index, false);
		}
		sa_aliases_put(all, own, index, guid);
		changed = true;
	}
	if (changed)
		a->env->guids_changed(a->env->arg, own);
	r = record(a, port, want->block);
	sa_reply(a, &r);
}

static void
set_guids(struct sa_ask *a)
{
	change(a, true);
}

static void
drop_guids(struct sa_ask *a)
{
	change(a, false);
}

const struct sa_kind_ops sa_guids_ops = {
	.type = &sa_guids_type, .own = SA_BIT(SA_GUIDS_LID), .table = true, .tell = tell_guids,
	.set = set_guids, .drop = drop_guids,
};
