/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/model/ar.h"

#include <string.h>
#include "sim/model/ar_impl.h"

/*
 * Adaptive switches: their life, and how they forward.
 *
 * A struct ar_switch hangs on each switch that knows the attributes and goes with its model. Its
 * tables are allocated where they are written and dropped when the switch comes up anew. LFT memory
 * is one array of pages, in which private LFTs are windows (PrivateLFTDef): two that overlap share
 * entries, as banks of a device do. Without private LFTs there is one window at its start, and
 * SwitchInfo.LinearFDBTop is its end.
 */

/* ---- Life ---- */

static bool
has(const struct ar_switch *a, unsigned feature)
{
	return (a->support.features & feature) == feature;
}

static void
drop_tables(struct ar_switch *a)
{
	unsigned tables = a->support.plfts * a->support.group_tables;

	for (unsigned i = 0; i < AR_PAGES; i++)
		mem_free(a->page[i]);
	for (unsigned i = 0; a->tables && i < tables; i++)
		mem_free(a->tables[i].masks);
	for (unsigned i = 0; i < AR_KEPTS; i++)
		mem_free(a->kept[i].data);
	mem_free(a->tables);
	mem_free(a->port_plft);
}

static void
init_info(const struct ar_switch *a, struct ar_info *i)
{
	i->dyn_cap_calc_sup = has(a, AR_CALC);
	i->by_transp_cap = true;
	i->by_sl_cap = true;
	i->glb_groups = a->support.glb_groups;
	i->group_table_copy = has(a, AR_COPYING);
	i->fr_sup = has(a, AR_RECOVERY);
	i->group_table_cap = (uint8_t)(a->support.group_tables - a->layout->tables_last);
	i->sub_grps_sup = (uint8_t)((1u << a->support.sub_groups_cap) - 1);
	i->ar_version = 2;
	i->hbf_sup = i->whbf_sup = has(a, AR_HASHING);
	i->pfrn_sup = has(a, AR_PFRN);
	i->sub_grps_active = ar_sub_grps_active(a->layout, 1);
	if (!has(a, AR_NOTIFY))
		return;
	i->direction_num = AR_DIRECTIONS;
	i->frn_sup = i->arn_sup = true;
	i->string_width = AR_STRING_WIDTH;
	i->rn_version = 1;
}

static void
init_plfts(struct ar_switch *a)
{
	a->plft_info.plfts = a->support.plfts == AR_PLFTS_MAX ? 0 : a->support.plfts;
	a->plft_info.mode_cap = 2;
	a->plft_info.mode[0].size = AR_PAGES / 2;
	a->plft_info.mode[0].banks = 2;
	a->plft_info.mode[1].size = AR_PAGES / 4;
	a->plft_info.mode[1].banks = 4;
}

void
ar_reset(struct sim_node *n)
{
	struct ar_switch *a = n->ar, fresh = { .layout = NULL };

	for (unsigned p = 0; n->any_order && p <= n->nports; p++)
		n->ports[p].in_order = 0;
	if (!a)
		return;
	drop_tables(a);
	fresh.support = a->support;
	fresh.layout = a->layout;
	*a = fresh;
	init_info(a, &a->info);
	init_plfts(a);
	a->pfrn.force_clear = 720;
	a->pfrn.clear = 180;
}

void
ar_free(struct sim_node *n)
{
	if (!n->ar)
		return;
	drop_tables(n->ar);
	mem_free(n->ar);
	n->ar = NULL;
}

void
ar_lft_written(struct sim_node *n)
{
	if (n->ar && n->ar->support.lft_leaves)
		n->ar->info.enable = n->ar->info.fr_en = false;
}

static void
equip(struct model *m, struct sim_node *n, const struct ar_support *s)
{
	ar_free(n);
	if (!s || !s->features)
		return;
	n->ar = mem_zalloc(sizeof(*n->ar));
	n->ar->support = *s;
	n->ar->support.features |= AR_GENERAL;
	n->ar->layout = m->o.ar ? &m->o.ar->layout : &ar_layout_default;
	ar_reset(n);
}

void
ar_init(struct model *m)
{
	struct ar_options *o;

	if (!m->o.ar)
		return;
	o = region_alloc(m->region, sizeof(*o));
	*o = *m->o.ar;
	m->o.ar = o;
	for (uint32_t i = 0; i < m->net->nnodes; i++) {
		if (m->nodes[i].type == NODE_CA)
			m->nodes[i].any_order = o->any_order;
		if (m->nodes[i].type == NODE_SWITCH &&
		    (o->all_switches || m->nodes[i].ib->vendor_id == VENDOR_MELLANOX))
			equip(m, &m->nodes[i], &o->support);
	}
}

int
model_ar_support(struct model *m, uint32_t node, const struct ar_support *s, struct error *e)
{
	if (node >= m->net->nnodes || m->nodes[node].type != NODE_SWITCH)
		return error_set(e, ERR_INVALID, "only a switch can route adaptively");
	if (s && s->features &&
	    (!s->group_cap || s->group_cap >= AR_GROUPS_MAX || !s->group_tables ||
	     s->group_tables > 14 || !s->sub_groups_cap || s->sub_groups_cap > 15 || !s->plfts ||
	     s->plfts > AR_PLFTS_MAX))
		return error_set(e, ERR_INVALID, "an adaptive switch has 1 to 4095 groups, 1 to 14 "
				 "group tables, 1 to 15 sub-groups and 1 to 36 private LFTs");
	equip(m, &m->nodes[node], s);
	model_touched(m);
	return 0;
}

/* ---- Tables ---- */

unsigned
ar_group_cap(const struct ar_switch *a, uint8_t sub_grps_active)
{
	return a->support.group_cap / ar_sub_groups(a->layout, sub_grps_active);
}

unsigned
ar_plfts(const struct ar_switch *a)
{
	return a->plft_info.active_mode ? a->support.plfts : 1;
}

struct ar_table *
ar_table_of(struct ar_switch *a, const struct ar_mod *at, bool make)
{
	unsigned plft = a->support.glb_groups ? 0 : at->plft;

	if (at->table >= a->support.group_tables || at->plft >= ar_plfts(a))
		return NULL;
	if (!a->tables && make)
		a->tables = mem_array((size_t)a->support.plfts * a->support.group_tables,
				      sizeof(*a->tables));
	return a->tables ? &a->tables[plft * a->support.group_tables + at->table] : NULL;
}

long
ar_lft_at(const struct ar_switch *a, unsigned plft, unsigned lid)
{
	unsigned mode = a->plft_info.active_mode;
	const struct ar_plft_def *d = &a->def[plft];

	if (!mode)
		return lid < LID_TABLE_LEN && !plft ? (long)lid : -1;
	if (lid >= d->space * AR_PLFT_SPACE)
		return -1;
	return (long)(d->bank * a->plft_info.mode[mode - 1].size * AR_BANK_UNIT +
		      d->offset * AR_PLFT_SPACE + lid);
}

static struct ar_lft_entry
entry_of(const struct ar_switch *a, unsigned plft, unsigned lid)
{
	struct ar_lft_entry e = { .state = AR_STATIC, .port = LFT_NO_PORT };
	long at = ar_lft_at(a, plft, lid);

	if (at >= 0 && a->page[at / AR_PAGE_LEN])
		ar_entry_decode(&e, a->page[at / AR_PAGE_LEN] + at % AR_PAGE_LEN * AR_ENTRY_SIZE);
	return e;
}

/* ---- Forwarding ---- */

static bool
is_on(const struct sim_node *n)
{
	return n->ar && (n->ar->info.enable || n->ar->info.fr_en);
}

static unsigned
plft_of(const struct ar_switch *a, unsigned in, unsigned sl)
{
	if (!a->plft_info.active_mode || !a->port_plft)
		return 0;
	return a->port_plft[in * 16 + (sl > 15 ? 0 : sl)];
}

static unsigned
top_of(const struct sim_node *n, unsigned plft)
{
	return n->ar->plft_info.active_mode ? n->ar->top[plft] : n->sw.linear_fdb_top;
}

/* Ports of a sub-group whose links are active, in order; port 0 leads nowhere. */
static unsigned
usable_ports(const struct sim_node *n, const uint64_t *mask, uint8_t ports[])
{
	unsigned count = 0;

	for (unsigned w = 0; w < ar_words(n); w++)
		for (uint64_t left = w ? mask[w] : mask[w] & ~UINT64_C(1); left; left &= left - 1) {
			unsigned port = w * 64 + (unsigned)__builtin_ctzll(left);

			if (n->ports[port].info.state == PORT_ACTIVE)
				ports[count++] = (uint8_t)port;
		}
	return count;
}

/* Of the first sub-group that has any. */
static unsigned
group_ports(const struct sim_node *n, unsigned plft, const struct ar_lft_entry *e, uint8_t ports[])
{
	struct ar_switch *a = n->ar;
	unsigned subs = ar_sub_groups(a->layout, a->info.sub_grps_active), count = 0;
	unsigned use = a->plft_info.active_mode && a->def[plft].force ? 1 : subs;
	const struct ar_mod at = { .table = e->table, .plft = (uint8_t)plft };
	const struct ar_table *t = ar_table_of(a, &at, false);

	if (!t || (a->support.group_top && e->group > a->info.group_top))
		return 0;
	for (unsigned i = 0; i < use && !count && e->group * subs + i < t->len; i++)
		count = usable_ports(n, t->masks + (e->group * subs + i) * ar_words(n), ports);
	return count;
}

/* May this packet leave its static port's way? */
static bool
may_adapt(const struct ar_info *i, const struct ar_lft_entry *e, const struct ar_packet *p)
{
	unsigned sl = p->sl > 15 ? 0 : p->sl;

	if (!i->enable || i->transport_disable & p->transport || e->state == AR_STATIC)
		return false;
	if (e->state == AR_HASH)
		return i->hbf_sup && (!i->by_sl_hbf_en || i->sl_mask_hbf >> sl & 1);
	return !i->by_sl_en || i->sl_mask >> sl & 1;
}

static bool
is_alive(const struct sim_node *n, unsigned port)
{
	return port <= n->nports && (!port || n->ports[port].info.state >= PORT_ARMED);
}

/* All ports by the adaptive LFT. */
static unsigned
adaptive_ports(const struct sim_node *n, unsigned in, const struct ar_packet *p, uint8_t ports[])
{
	const struct ar_info *i = &n->ar->info;
	unsigned plft = plft_of(n->ar, in, p->sl), count = 0;
	struct ar_lft_entry e = entry_of(n->ar, plft, p->dlid);
	bool adapt = p->transport && may_adapt(i, &e, p);

	if (p->dlid > top_of(n, plft))
		return 0;
	if (adapt || (p->transport && i->fr_en && !is_alive(n, e.port)))
		count = group_ports(n, plft, &e, ports);
	if (count || (adapt && i->no_fallback))
		return count;
	ports[0] = e.port;
	return e.port <= n->nports && e.port;
}

unsigned
ar_forward(const struct model *m, uint32_t node, unsigned in, const struct ar_packet *p)
{
	const struct sim_node *n = &m->nodes[node];
	uint32_t mix = ((uint32_t)p->slid << 16 | p->dlid) * 0x9e3779b1u;
	uint8_t ports[256];
	unsigned count;

	if (!is_on(n))
		return plain_port(n, p->dlid);
	count = adaptive_ports(n, in, p, ports);
	return count ? ports[(mix >> 16) % count] : 0;
}

unsigned
ar_ports(const struct model *m, uint32_t node, unsigned in, uint16_t lid, unsigned sl,
	 uint8_t ports[])
{
	const struct sim_node *n = &m->nodes[node];
	const struct ar_packet p = { .dlid = lid, .sl = (uint8_t)sl, .transport = AR_RC };

	if (is_on(n))
		return adaptive_ports(n, in, &p, ports);
	ports[0] = (uint8_t)plain_port(n, lid);
	return ports[0] != 0;
}

bool
ar_is_hashed(const struct model *m, uint32_t node, unsigned in, uint16_t lid, unsigned sl)
{
	const struct sim_node *n = &m->nodes[node];

	return is_on(n) && entry_of(n->ar, plft_of(n->ar, in, sl), lid).state == AR_HASH;
}

/* ---- Looking in ---- */

static struct ar_switch *
switch_of(const struct model *m, uint32_t node)
{
	return node < m->net->nnodes ? m->nodes[node].ar : NULL;
}

bool
model_ar_info(const struct model *m, uint32_t node, struct ar_info *i)
{
	const struct ar_switch *a = switch_of(m, node);

	if (!a || !has(a, AR_ADAPTIVE))
		return false;
	*i = a->info;
	i->group_cap = (uint16_t)ar_group_cap(a, i->sub_grps_active);
	return true;
}

unsigned
model_ar_sub_groups(const struct model *m, uint32_t node)
{
	const struct ar_switch *a = switch_of(m, node);

	return a ? ar_sub_groups(a->layout, a->info.sub_grps_active) : 0;
}

bool
model_ar_plft_info(const struct model *m, uint32_t node, struct ar_plft_info *i)
{
	const struct ar_switch *a = switch_of(m, node);

	if (!a || !has(a, AR_PLFT))
		return false;
	*i = a->plft_info;
	return true;
}

const struct ar_support *
model_ar_supported(const struct model *m, uint32_t node)
{
	const struct ar_switch *a = switch_of(m, node);

	return a ? &a->support : NULL;
}

bool
model_ar_is_on(const struct model *m, uint32_t node)
{
	return node < m->net->nnodes && is_on(&m->nodes[node]);
}

struct ar_ports
model_ar_group(const struct model *m, uint32_t node, const struct ar_mod *table, unsigned group,
	       unsigned sub_group)
{
	struct ar_switch *a = switch_of(m, node);
	const struct ar_table *t = a ? ar_table_of(a, table, false) : NULL;
	struct ar_ports ports = { { 0 } };
	unsigned at, words;

	if (!t || sub_group >= ar_sub_groups(a->layout, a->info.sub_grps_active))
		return ports;
	at = group * ar_sub_groups(a->layout, a->info.sub_grps_active) + sub_group;
	words = ar_words(&m->nodes[node]);
	if (at < t->len)
		memcpy(ports.word, t->masks + (size_t)at * words, words * sizeof(uint64_t));
	return ports;
}

struct ar_lft_entry
model_ar_lft(const struct model *m, uint32_t node, unsigned plft, uint16_t lid)
{
	const struct ar_switch *a = switch_of(m, node);

	if (!a || plft >= ar_plfts(a))
		return (struct ar_lft_entry){ .state = AR_STATIC, .port = LFT_NO_PORT };
	return entry_of(a, plft, lid);
}

unsigned
model_ar_plft(const struct model *m, uint32_t node, unsigned in, unsigned sl)
{
	const struct ar_switch *a = switch_of(m, node);

	return a && in <= m->nodes[node].nports ? plft_of(a, in, sl) : 0;
}

size_t
model_ar_memory(const struct model *m, uint32_t node)
{
	const struct ar_switch *a = switch_of(m, node);
	unsigned tables = a ? a->support.plfts * a->support.group_tables : 0;
	size_t size = 0;

	if (!a)
		return 0;
	for (unsigned i = 0; i < AR_PAGES; i++)
		size += a->page[i] ? AR_PAGE_LEN * AR_ENTRY_SIZE : 0;
	for (unsigned i = 0; a->tables && i < tables; i++)
		size += sizeof(a->tables[i]) + (size_t)a->tables[i].len *
			ar_words(&m->nodes[node]) * sizeof(uint64_t);
	for (unsigned i = 0; i < AR_KEPTS; i++)
		size += (size_t)a->kept[i].len * SMP_DATA_SIZE;
	return size + (a->port_plft ? (m->nodes[node].nports + 1u) * 16 : 0);
}
