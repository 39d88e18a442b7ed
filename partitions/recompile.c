/* SPDX-License-Identifier: BSD-2-Clause */
#include "partitions/compile_i.h"

#include <stdlib.h>
#include <string.h>
#include "sm/base/mem.h"

/*
 * Few ports at once: one member more among thousands of hosts. The policy is held against that of
 * an earlier compile, partition by partition, member by member; the ports of GUIDs that differ are
 * asked for anew, each of every partition, and their keys, with those of the ports of switches that
 * lead to them, are laid out in a copy of the earlier section. What a kind of ports is, is not
 * looked into: where such a thing has changed, or more ports than TOUCHED_MAX, all are compiled.
 *
 * Both ways come to the same tables for all ports, which a test holds.
 */
#define TOUCHED_MAX 256u	/* ports; each asks every partition */
#define OWN_MAX 32u		/* GUIDs that one port goes by */

struct recompiler {
	const struct pkeys_input *in;		/* what is compiled */
	const struct fabric *f;			/* its snapshot */
	struct layout *l;			/* the section being made */
	uint32_t ports[TOUCHED_MAX];		/* end ports that are touched, at last in order */
	uint32_t len;
	bool whole;				/* they are too many, or not known */
	uint32_t pending;			/* as in the report: how many more than before, */
	uint32_t foreign;			/* likewise; modulo 2^32 */
	struct grant *grants;			/* of one port; room for two of each partition */
};

/* ---- Who is touched ---- */

/* No port and no node has it. */
static bool
is_foreign(const struct recompiler *r, uint64_t guid)
{
	return fabric_port_by_guid(r->f, guid) == FABRIC_NONE &&
	       fabric_node_by_guid(r->f, guid) == FABRIC_NONE;
}

static uint32_t
port_of(const struct recompiler *r, uint64_t guid)
{
	bool foreign = is_foreign(r, guid);

	for (uint32_t i = 0; foreign && i < r->in->naliases; i++)
		if (r->in->aliases[i].alias == guid)
			return fabric_port_by_guid(r->f, r->in->aliases[i].port);
	return fabric_port_by_guid(r->f, guid);
}

static void
touch(struct recompiler *r, uint32_t port)
{
	if (!selected_kind_of(r->f, port))
		return;
	if (r->len == TOUCHED_MAX)
		r->whole = true;
	else
		r->ports[r->len++] = port;
}

/* All ports that the GUID may mean. */
static void
touch_guid(struct recompiler *r, uint64_t guid)
{
	uint32_t port = port_of(r, guid), node = fabric_node_by_guid(r->f, guid);

	if (port != FABRIC_NONE)
		touch(r, port);
	for (unsigned n = 0; node != FABRIC_NONE && n <= r->f->nodes[node].nports; n++)
		touch(r, r->f->nodes[node].first_port + n);
}

/* Nobody has it. */
static bool
is_pending(const struct recompiler *r, uint64_t guid)
{
	uint32_t port = port_of(r, guid);

	return (port == FABRIC_NONE || !selected_kind_of(r->f, port)) &&
	       fabric_node_by_guid(r->f, guid) == FABRIC_NONE;
}

static void
touch_member(struct recompiler *r, const struct part_member *m, bool is_new)
{
	uint32_t more = is_new ? 1u : UINT32_MAX;

	r->pending += is_pending(r, m->guid) ? more : 0;
	r->foreign += is_foreign(r, m->guid) ? more : 0;
	touch_guid(r, m->guid);
}

/* Members that only one has, or that are other ones; of both if `all`. */
static void
touch_members(struct recompiler *r, const struct partition *old, const struct partition *new,
	      bool all)
{
	uint32_t a = 0, b = 0;

	while (!r->whole && (a < old->nmembers || b < new->nmembers)) {
		const struct part_member *x = a < old->nmembers ? &old->members[a] : NULL;
		const struct part_member *y = b < new->nmembers ? &new->members[b] : NULL;
		bool first = x && (!y || x->guid <= y->guid);
		bool second = y && (!x || y->guid <= x->guid);
		bool same = first && second && !all && x->membership == y->membership &&
			    x->index0 == y->index0;

		if (first && !same)
			touch_member(r, x, false);
		if (second && !same)
			touch_member(r, y, true);
		a += first;
		b += second;
	}
}

static void
touch_except(struct recompiler *r, const struct selected *old, const struct selected *new)
{
	uint32_t a = 0, b = 0;

	while (!r->whole && (a < old->len || b < new->len)) {
		bool first = a < old->len && (b == new->len || old->guids[a] <= new->guids[b]);
		bool second = b < new->len && (a == old->len || new->guids[b] <= old->guids[a]);
		uint64_t guid = first ? old->guids[a] : new->guids[b];

		if (first != second) {
			r->foreign += !is_foreign(r, guid) ? 0 : second ? 1u : UINT32_MAX;
			touch_guid(r, guid);
		}
		a += first;
		b += second;
	}
}

static bool
has_kinds(const struct partition *p)
{
	bool any = p->pkey == PKEY_DEFAULT || p->except.kinds;

	for (unsigned k = 0; k < PART_KINDS; k++)
		any |= p->kind[k].on;
	return any;
}

static bool
same_kinds(const struct partition *a, const struct partition *b)
{
	bool same = a->except.kinds == b->except.kinds;

	for (unsigned k = 0; k < PART_KINDS; k++)
		same &= a->kind[k].on == b->kind[k].on &&
			(!a->kind[k].on || (a->kind[k].membership == b->kind[k].membership &&
					    a->kind[k].index0 == b->kind[k].index0));
	return same;
}

/* Of one P_Key; NULL: there is none. */
static void
touch_partition(struct recompiler *r, const struct partition *old, const struct partition *new)
{
	static const struct partition none;
	bool all = !old || !new || old->enforce != new->enforce;

	old = old ? old : &none;
	new = new ? new : &none;
	if (all ? has_kinds(old) || has_kinds(new) : !same_kinds(old, new)) {
		r->whole = true;
		return;
	}
	touch_members(r, old, new, all);
	touch_except(r, &old->except, &new->except);
}

static int
compare_ports(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void
order_ports(uint32_t *ports, uint32_t *len)
{
	uint32_t n = 0;

	if (*len > 1)
		qsort(ports, *len, sizeof(*ports), compare_ports);
	for (uint32_t i = 0; i < *len; i++)
		if (!n || ports[i] != ports[n - 1])
			ports[n++] = ports[i];
	*len = n;
}

static void
find_touched(struct recompiler *r)
{
	const struct policy *old = r->in->base->policy, *new = r->in->policy;
	uint32_t a = 0, b = 0;

	while (!r->whole && (a < old->len || b < new->len)) {
		const struct partition *x = a < old->len ? old->list[a] : NULL;
		const struct partition *y = b < new->len ? new->list[b] : NULL;
		bool first = x && (!y || x->pkey <= y->pkey);
		bool second = y && (!x || y->pkey <= x->pkey);

		if (x != y)
			touch_partition(r, first ? x : NULL, second ? y : NULL);
		a += first;
		b += second;
	}
	order_ports(r->ports, &r->len);
}

/* ---- What a port is to have ---- */

/* The GUIDs that mean one port. */
struct own {
	uint32_t port;			/* fabric port index */
	uint64_t guids[OWN_MAX];	/* its own, unless another has it too, and aliases; in
					 * ascending order */
	uint32_t len;
	uint64_t node;			/* that of all ports of its node; 0: it means another */
	uint64_t any_node;		/* likewise, where a port of that GUID is no hindrance */
};

static int
compare_guids(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* False: it has too many. */
static bool
own_of(const struct recompiler *r, uint32_t port, struct own *o)
{
	const struct fabric_port *p = &r->f->ports[port];
	uint64_t node = r->f->nodes[p->node].guid;
	uint32_t twin = fabric_port_by_guid(r->f, node);

	*o = (struct own){ .port = port, .any_node = node };
	if (twin == FABRIC_NONE || r->f->ports[twin].node == p->node)
		o->node = node;
	/* Of two ports with one GUID it means the first, of which aliases are as well. */
	if (fabric_port_by_guid(r->f, p->guid) != port)
		return true;
	o->guids[o->len++] = p->guid;
	for (uint32_t i = 0; i < r->in->naliases; i++) {
		uint64_t alias = r->in->aliases[i].alias;

		if (r->in->aliases[i].port != p->guid || !is_foreign(r, alias))
			continue;
		if (o->len == OWN_MAX)
			return false;
		o->guids[o->len++] = alias;
	}
	qsort(o->guids, o->len, sizeof(o->guids[0]), compare_guids);
	return true;
}

static bool
is_barred(const struct recompiler *r, const struct selected *except, const struct own *o)
{
	bool barred = selected_has(except, o->any_node) ||
		      selected_kind_of(r->f, o->port) & except->kinds ||
		      (except->kinds & SELECTED_SELF && o->port == r->f->sm_port);

	for (uint32_t i = 0; i < o->len && !barred; i++)
		barred = selected_has(except, o->guids[i]);
	return barred;
}

/* The entry of a member that counts; NULL: none. */
static const struct part_member *
member_of(const struct partition *p, const struct own *o)
{
	const struct part_member *m = NULL;

	for (uint32_t i = 0; i < o->len && !m; i++)
		m = partition_member(p, o->guids[i]);
	return m || !o->node ? m : partition_member(p, o->node);
}

static unsigned
ask(const struct recompiler *r, const struct partition *p, const struct own *o,
    struct grant out[2])
{
	const struct part_member *m = member_of(p, o);
	int k = kind_index(selected_kind_of(r->f, o->port));
	const struct part_kind *kind = k < 0 ? NULL : &p->kind[k];
	int membership = -1;
	bool index0 = false;

	if (!m && p->kind[PART_SELF].on && o->port == r->f->sm_port)
		kind = &p->kind[PART_SELF];
	if (m || (kind && kind->on)) {
		membership = m ? m->membership : kind->membership;
		index0 = m ? m->index0 : kind->index0;
	}
	if (membership >= 0 && is_barred(r, &p->except, o))
		membership = -1;
	return grants_of(r->f, p, o->port, membership, index0, out);
}

/* What every partition says of the port; good until the next call. */
static bool
ask_all(const struct recompiler *r, const struct policy *policy, uint32_t port,
	struct port_grants *g)
{
	struct own own;

	*g = (struct port_grants){ .list = r->grants };
	if (!own_of(r, port, &own))
		return false;
	for (uint32_t i = 0; i < policy->len; i++) {
		const struct partition *p = policy->list[i];
		unsigned n = ask(r, p, &own, r->grants + g->len);

		g->len += n;
		if (n)
			*(p->pkey == PKEY_DEFAULT ? &g->default_enforce : &g->enforce) |=
				grants_enforce(p);
	}
	return true;
}

/* ---- Tables ---- */

static bool
make_ends(struct recompiler *r)
{
	struct port_grants g;

	for (uint32_t i = 0; i < r->len; i++) {
		if (!ask_all(r, r->in->policy, r->ports[i], &g))
			return false;
		layout_port(r->l, r->ports[i], &g, layout_held(r->in->base->pkeys, r->ports[i]));
	}
	return true;
}

/* What the switch cannot enforce was counted before. */
static void
forget_unenforced(struct recompiler *r, uint32_t port)
{
	const struct fabric_port *p = &r->f->ports[port];
	struct port_grants g;

	if (!r->f->nodes[p->node].enforce_cap && ask_all(r, r->in->base->policy, p->peer, &g))
		r->l->report->unenforced -= layout_wanted(&g) != 0;
}

static bool
make_outer(struct recompiler *r)
{
	uint32_t outer[TOUCHED_MAX], len = 0;
	struct port_grants g;

	for (uint32_t i = 0; i < r->len; i++) {
		uint32_t peer = r->f->ports[r->ports[i]].peer;

		if (peer != FABRIC_NONE && layout_is_enforced(r->f, peer))
			outer[len++] = peer;
	}
	order_ports(outer, &len);
	for (uint32_t i = 0; i < len; i++) {
		forget_unenforced(r, outer[i]);
		if (!ask_all(r, r->in->policy, r->f->ports[outer[i]].peer, &g))
			return false;
		layout_enforced(r->l, outer[i], &g);
	}
	return true;
}

/* ---- The whole ---- */

static bool
can_begin(const struct pkeys_input *in)
{
	const struct pkeys_base *base = in->base;

	return !base->report->overflows &&
	       in->naliases == base->naliases &&
	       (!in->naliases || !memcmp(in->aliases, base->aliases,
					 in->naliases * sizeof(*in->aliases)));
}

static struct plan_pkeys *
make(struct recompiler *r, struct pkeys_report *report)
{
	const struct pkeys_report *before = r->in->base->report;
	uint32_t most = r->in->policy->len > r->in->base->policy->len ? r->in->policy->len :
			r->in->base->policy->len;
	struct plan_pkeys *out;

	r->l = layout_new(r->f, r->in->base->pkeys, report);
	r->grants = mem_array(2u * most + 1u, sizeof(*r->grants));
	out = r->l->out;
	report->unenforced = before->unenforced;
	report->pending = before->pending + r->pending;
	report->foreign = before->foreign + r->foreign;
	if (make_ends(r) && make_outer(r)) {
		layout_compact(r->l);
	} else {
		plan_pkeys_unref(out);
		out = NULL;
	}
	mem_free(r->grants);
	layout_free(r->l);
	return out;
}

struct plan_pkeys *
pkeys_recompile(const struct pkeys_input *in, struct pkeys_report *report)
{
	struct recompiler *r;
	struct plan_pkeys *out = NULL;

	if (!can_begin(in))
		return NULL;
	r = mem_zalloc(sizeof(*r));
	r->in = in;
	r->f = in->fabric;
	find_touched(r);
	if (!r->whole)
		out = make(r, report);
	mem_free(r);
	return out;
}
