/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include "sim/model/ar_impl.h"

/*
 * The adaptive-routing attributes of a simulated switch: one function an attribute, as in sma.c.
 *
 * A Set changes what may be set and nothing else; what does not exist (a group above GroupCap, a
 * LID block above the unicast LIDs, an unknown private LFT) is refused with "invalid field" and
 * changes nothing. What the switch does not support it does not know: "unsupported attribute".
 * Tables outlive E and end with a reboot. Routing notifications are kept, but not sent.
 */
#define PFRN_TIMEOUT_MAX 0x7ffu

static bool
layout_flag(uint32_t *mod, unsigned bit)
{
	bool set = *mod >> bit & 1;

	*mod &= ~(UINT32_C(1) << bit);
	return set;
}

/* ---- What it is ---- */

/* What it tells of hardware, firmware and software is nothing. */
static uint16_t
do_general_info(const struct sma_request *r)
{
	unsigned features = r->n->ar ? r->n->ar->support.features : 0;
	struct ar_general a = { { 0 } };

	if (r->mod > AR_GENERAL_CAPS || r->mod == 3)
		return MAD_STATUS_BAD_FIELD;
	memset(r->data, 0, SMP_DATA_SIZE);
	if (r->mod != AR_GENERAL_CAPS)
		return 0;
	if (device_has_fdr10(r->n) || r->n->any_order)
		ar_general_add(&a, AR_CAP_EXT_PORT_INFO);
	if (features & AR_ADAPTIVE)
		ar_general_add(&a, AR_CAP_LFT);
	if (features & AR_PLFT) {
		ar_general_add(&a, AR_CAP_PLFT);
		ar_general_add(&a, AR_CAP_PORT_PLFT);
		ar_general_add(&a, AR_CAP_EXT_NODE_INFO);
		ar_general_add(&a, AR_CAP_FORCE_SUB_GROUP);
	}
	ar_general_encode(&a, r->data);
	return 0;
}

static uint16_t
do_node_info(const struct sma_request *r)
{
	struct ar_node_info a;

	if (r->mod)
		return MAD_STATUS_BAD_FIELD;
	ar_node_info_decode(&a, r->data);
	if (r->set && a.sl2vl_act > r->n->ar->node_info.sl2vl_cap)
		return MAD_STATUS_BAD_FIELD;
	if (r->set)
		r->n->ar->node_info.sl2vl_act = a.sl2vl_act;
	ar_node_info_encode(&r->n->ar->node_info, r->data);
	return 0;
}

/* ---- AdaptiveRoutingInfo ---- */

static bool
may_set(const struct ar_switch *a, const struct ar_info *to)
{
	unsigned cap = ar_group_cap(a, to->sub_grps_active);

	return ar_sub_groups(a->layout, to->sub_grps_active) <= a->support.sub_groups_cap && cap &&
		(!a->support.group_top || to->group_top < cap);
}

/* Only what may be set, and only what there is. */
static void
set_info(struct ar_switch *a, const struct ar_info *to)
{
	struct ar_info *i = &a->info;

	i->by_sl_en = to->by_sl_en;
	i->no_fallback = to->no_fallback;
	i->sub_grps_active = to->sub_grps_active;
	i->rn_xmit_en = to->rn_xmit_en && i->arn_sup;
	i->fr_en = to->fr_en && i->fr_sup;
	i->enable = to->enable;
	i->group_top = a->support.group_top ? to->group_top : 0;
	i->sl_mask = to->sl_mask;
	i->transport_disable = to->transport_disable;
	i->ageing_time = to->ageing_time;
	i->by_sl_hbf_en = to->by_sl_hbf_en && i->hbf_sup;
	i->whbf_en = to->whbf_en && i->whbf_sup;
	i->pfrn_en = to->pfrn_en && i->pfrn_sup;
	i->sl_mask_hbf = i->hbf_sup ? to->sl_mask_hbf : 0;
}

static uint16_t
do_info(const struct sma_request *r)
{
	struct ar_switch *a = r->n->ar;
	uint32_t mod = r->mod;
	bool calc = a->info.dyn_cap_calc_sup && layout_flag(&mod, a->layout->calc_bit);
	struct ar_info asked, answer;

	ar_info_decode(&asked, r->data);
	if (calc)
		asked.group_top = 0;
	if (mod || (calc && r->set) || ((calc || r->set) && !may_set(a, &asked)))
		return MAD_STATUS_BAD_FIELD;
	if (r->set && !(r->n->keep & MODEL_KEEP_AR_INFO))
		set_info(a, &asked);
	answer = a->info;
	if (calc)
		answer.sub_grps_active = asked.sub_grps_active;
	answer.group_cap = (uint16_t)ar_group_cap(a, answer.sub_grps_active);
	ar_info_encode(&answer, r->data);
	return 0;
}

/* ---- Groups ---- */

static unsigned
sub_groups(const struct ar_switch *a)
{
	return ar_sub_groups(a->layout, a->info.sub_grps_active);
}

static unsigned
entries(const struct ar_switch *a)
{
	return ar_group_cap(a, a->info.sub_grps_active) * sub_groups(a);
}

/* Room for a sub-group entry. */
static void
table_reserve(const struct sim_node *n, struct ar_table *t, unsigned entry)
{
	unsigned words = ar_words(n), len = t->len ? t->len : 32;

	if (entry < t->len)
		return;
	while (len <= entry)
		len *= 2;
	t->masks = mem_realloc(t->masks, (size_t)len * words, sizeof(*t->masks));
	memset(t->masks + (size_t)t->len * words, 0,
	       (size_t)(len - t->len) * words * sizeof(*t->masks));
	t->len = len;
}

/* Bits of ports that it lacks are dropped. */
static void
write_entry(const struct sim_node *n, struct ar_table *t, unsigned entry,
	    const struct ar_ports *ports)
{
	unsigned words = ar_words(n), spare = 63 - n->nports % 64;
	uint64_t *mask;

	table_reserve(n, t, entry);
	mask = t->masks + (size_t)entry * words;
	memcpy(mask, ports->word, words * sizeof(*mask));
	mask[words - 1] &= UINT64_MAX >> spare;
}

static uint16_t
do_groups(const struct sma_request *r)
{
	struct ar_switch *a = r->n->ar;
	struct ar_ports ports[AR_GROUP_BLOCK];
	unsigned words = ar_words(r->n), first;
	bool writes = r->set && !(r->n->keep & MODEL_KEEP_AR_GROUPS);
	struct ar_table *t;
	struct ar_mod at;

	if (!ar_mod_decode(&at, AR_ATTR_GROUPS, a->layout, r->mod))
		return MAD_STATUS_BAD_FIELD;
	first = at.block * AR_GROUP_BLOCK;
	if (at.table >= a->support.group_tables || at.plft >= ar_plfts(a) || first >= entries(a))
		return MAD_STATUS_BAD_FIELD;
	t = ar_table_of(a, &at, writes);
	ar_groups_decode(ports, r->data);
	for (unsigned i = 0; writes && i < AR_GROUP_BLOCK && first + i < entries(a); i++)
		write_entry(r->n, t, first + i, &ports[i]);
	memset(ports, 0, sizeof(ports));
	for (unsigned i = 0; t && i < AR_GROUP_BLOCK && first + i < t->len; i++)
		memcpy(ports[i].word, t->masks + (size_t)(first + i) * words,
		       words * sizeof(uint64_t));
	ar_groups_encode(ports, r->data);
	return 0;
}

/* As another group, in each table; sub-groups that the source lacks become empty. */
static void
copy_group(const struct sim_node *n, struct ar_table *t, unsigned from, unsigned to)
{
	unsigned subs = sub_groups(n->ar), words = ar_words(n);

	for (unsigned i = 0; i < subs; i++) {
		struct ar_ports ports = { { 0 } };

		if (from * subs + i < t->len)
			memcpy(ports.word, t->masks + (size_t)(from * subs + i) * words,
			       words * sizeof(uint64_t));
		write_entry(n, t, to * subs + i, &ports);
	}
}

static void
blocks_reserve(struct ar_blocks *b, unsigned len)
{
	if (len <= b->len)
		return;
	b->data = mem_realloc(b->data, len, SMP_DATA_SIZE);
	memset(b->data + (size_t)b->len * SMP_DATA_SIZE, 0,
	       (size_t)(len - b->len) * SMP_DATA_SIZE);
	b->len = len;
}

static void
copy_directions(struct ar_switch *a, unsigned from, unsigned to)
{
	struct ar_blocks *b = &a->kept[AR_KEPT_DIRECTION];
	unsigned subs = sub_groups(a);

	blocks_reserve(b, entries(a) / AR_DIRECTION_BLOCK + 1);
	memcpy(b->data + to * subs, b->data + from * subs, from == to ? 0 : subs);
}

static void
copy_to(const struct sim_node *n, unsigned from, unsigned to, bool directions)
{
	struct ar_switch *a = n->ar;
	unsigned tables = a->support.plfts * a->support.group_tables;

	for (unsigned i = 0; a->tables && i < tables; i++)
		if (a->tables[i].len)
			copy_group(n, &a->tables[i], from, to);
	if (directions)
		copy_directions(a, from, to);
}

static uint16_t
do_group_copy(const struct sma_request *r)
{
	struct ar_switch *a = r->n->ar;
	uint32_t from = r->mod;
	bool directions = layout_flag(&from, a->layout->copy_direction_bit);
	unsigned cap = ar_group_cap(a, a->info.sub_grps_active);
	struct ar_copy copies[AR_COPIES];

	if (!r->set)
		return MAD_STATUS_BAD_ATTR;
	ar_copy_decode(copies, a->layout, r->data);
	if (from >= cap)
		return MAD_STATUS_BAD_FIELD;
	for (unsigned i = 0; i < AR_COPIES; i++)
		if (copies[i].first <= copies[i].last && copies[i].last >= cap)
			return MAD_STATUS_BAD_FIELD;
	for (unsigned i = 0; i < AR_COPIES; i++)
		for (unsigned g = copies[i].first; g <= copies[i].last; g++)
			copy_to(r->n, from, g, directions);
	ar_copy_encode(copies, a->layout, r->data);
	return 0;
}

/* ---- The adaptive LFT ---- */

static uint8_t *
page_of(struct ar_switch *a, long at)
{
	static const uint8_t unset[AR_ENTRY_SIZE] = { AR_STATIC << 6, LFT_NO_PORT, 0, 0 };
	uint8_t **page = &a->page[at / AR_PAGE_LEN];

	if (!*page) {
		*page = mem_alloc(AR_PAGE_LEN * AR_ENTRY_SIZE);
		for (unsigned i = 0; i < AR_PAGE_LEN; i++)
			memcpy(*page + i * AR_ENTRY_SIZE, unset, AR_ENTRY_SIZE);
	}
	return *page + at % AR_PAGE_LEN * AR_ENTRY_SIZE;
}

static bool
groups_exist(const struct ar_switch *a, const struct ar_lft_entry e[AR_LFT_BLOCK])
{
	unsigned cap = ar_group_cap(a, a->info.sub_grps_active);

	for (unsigned i = 0; i < AR_LFT_BLOCK; i++)
		if (e[i].group >= cap || e[i].table >= a->support.group_tables)
			return false;
	return true;
}

static uint16_t
do_lft(const struct sma_request *r)
{
	struct ar_switch *a = r->n->ar;
	struct ar_lft_entry e[AR_LFT_BLOCK];
	struct ar_mod m;
	long at;

	if (!ar_mod_decode(&m, AR_ATTR_LFT, a->layout, r->mod) || m.block >= AR_LFT_BLOCKS ||
	    m.plft >= ar_plfts(a) || (at = ar_lft_at(a, m.plft, m.block * AR_LFT_BLOCK)) < 0)
		return MAD_STATUS_BAD_FIELD;
	ar_lft_decode(e, r->data);
	if (r->set && !groups_exist(a, e))
		return MAD_STATUS_BAD_FIELD;
	if (r->set && !(r->n->keep & (MODEL_KEEP_LFT | MODEL_KEEP_AR_LFT)))
		ar_lft_encode(e, page_of(a, at));
	if (a->page[at / AR_PAGE_LEN]) {
		memcpy(r->data, page_of(a, at), SMP_DATA_SIZE);
		return 0;
	}
	for (unsigned i = 0; i < AR_LFT_BLOCK; i++)
		e[i] = (struct ar_lft_entry){ .state = AR_STATIC, .port = LFT_NO_PORT };
	ar_lft_encode(e, r->data);
	return 0;
}

/* ---- Private LFTs ---- */

/* Each bank becomes a pLFT; LFT memory stays, and with it the first one's entries. */
static void
set_mode(struct sim_node *n, uint8_t mode)
{
	struct ar_switch *a = n->ar;
	unsigned banks = mode ? a->plft_info.mode[mode - 1].banks : 0;

	a->plft_info.active_mode = mode;
	memset(a->def, 0, sizeof(a->def));
	memset(a->top, 0, sizeof(a->top));
	for (unsigned i = 0; i < banks && i < a->support.plfts; i++) {
		a->def[i].bank = (uint8_t)i;
		a->def[i].space = (uint8_t)(a->plft_info.mode[mode - 1].size *
					    (AR_BANK_UNIT / AR_PLFT_SPACE));
	}
	a->top[0] = n->sw.linear_fdb_top;
	mem_free(a->port_plft);
	a->port_plft = NULL;
}

static uint16_t
do_plft_info(const struct sma_request *r)
{
	struct ar_switch *a = r->n->ar;
	struct ar_plft_info asked;

	ar_plft_info_decode(&asked, r->data);
	if (r->mod || (r->set && asked.active_mode > a->plft_info.mode_cap))
		return MAD_STATUS_BAD_FIELD;
	if (r->set && asked.active_mode != a->plft_info.active_mode)
		set_mode(r->n, asked.active_mode);
	ar_plft_info_encode(&a->plft_info, r->data);
	return 0;
}

static bool
def_fits(const struct ar_switch *a, const struct ar_plft_def *d)
{
	unsigned mode = a->plft_info.active_mode;
	unsigned size = a->plft_info.mode[mode - 1].size * (AR_BANK_UNIT / AR_PLFT_SPACE);

	return !d->space || (d->bank < a->plft_info.mode[mode - 1].banks &&
			     d->space * AR_PLFT_SPACE <= LID_TABLE_LEN &&
			     d->offset + d->space <= size);
}

static uint16_t
do_plft_def(const struct sma_request *r)
{
	struct ar_switch *a = r->n->ar;
	struct ar_plft_def d[AR_PLFT_BLOCK];
	unsigned first, len;

	if (r->mod > (a->support.plfts - 1u) / AR_PLFT_BLOCK ||
	    (r->set && !a->plft_info.active_mode))
		return MAD_STATUS_BAD_FIELD;
	first = r->mod * AR_PLFT_BLOCK;
	len = a->support.plfts - first < AR_PLFT_BLOCK ? a->support.plfts - first : AR_PLFT_BLOCK;
	ar_plft_def_decode(d, a->layout, r->data);
	for (unsigned i = 0; r->set && i < len; i++)
		if (!def_fits(a, &d[i]))
			return MAD_STATUS_BAD_FIELD;
	if (r->set)
		memcpy(a->def + first, d, len * sizeof(*d));
	memset(d, 0, sizeof(d));
	memcpy(d, a->def + first, len * sizeof(*d));
	ar_plft_def_encode(d, a->layout, r->data);
	return 0;
}

static void
port_plft_reserve(const struct sma_request *r)
{
	if (!r->n->ar->port_plft)
		r->n->ar->port_plft = mem_array(r->n->nports + 1u, 16);
}

/* The mask's ports use the pLFT for all SLs; those that did and are not in it go to pLFT 0. */
static void
set_map_ports(const struct sma_request *r, const struct ar_ports *ports)
{
	uint8_t plft = (uint8_t)r->mod;

	port_plft_reserve(r);
	for (unsigned p = 0; p <= r->n->nports; p++)
		for (unsigned sl = 0; sl < 16; sl++) {
			uint8_t *at = &r->n->ar->port_plft[p * 16 + sl];

			if (ar_ports_has(ports, p))
				*at = plft;
			else if (*at == plft)
				*at = 0;
		}
}

/* A port is in the mask if any of its SLs uses the pLFT. */
static uint16_t
do_plft_map(const struct sma_request *r)
{
	struct ar_switch *a = r->n->ar;
	struct ar_plft_map map, answer = { .ports_en = true, .top_en = true };

	ar_plft_map_decode(&map, r->data);
	if (r->mod >= ar_plfts(a) || (r->set && map.top_en && map.top > LID_UNICAST_MAX))
		return MAD_STATUS_BAD_FIELD;
	if (r->set && map.ports_en)
		set_map_ports(r, &map.ports);
	if (r->set && map.top_en)
		a->top[r->mod] = map.top;
	answer.top = a->top[r->mod];
	for (unsigned p = 0; p <= r->n->nports; p++)
		for (unsigned sl = 0; sl < 16; sl++)
			if ((a->port_plft ? a->port_plft[p * 16 + sl] : 0) == r->mod)
				ar_ports_add(&answer.ports, p);
	ar_plft_map_encode(&answer, r->data);
	return 0;
}

static uint16_t
do_port_plft(const struct sma_request *r)
{
	struct ar_switch *a = r->n->ar;
	unsigned nports = r->n->nports + 1u, first, len;

	if (r->mod > (nports - 1) / AR_PORT_PLFT_BLOCK)
		return MAD_STATUS_BAD_FIELD;
	first = r->mod * AR_PORT_PLFT_BLOCK;
	len = nports - first < AR_PORT_PLFT_BLOCK ? nports - first : AR_PORT_PLFT_BLOCK;
	for (unsigned i = 0; r->set && i < len * 16; i++)
		if (r->data[i] >= ar_plfts(a))
			return MAD_STATUS_BAD_FIELD;
	if (r->set) {
		port_plft_reserve(r);
		memcpy(a->port_plft + first * 16, r->data, len * 16);
	}
	memset(r->data, 0, SMP_DATA_SIZE);
	if (a->port_plft)
		memcpy(r->data, a->port_plft + first * 16, len * 16);
	return 0;
}

/* ---- What is only kept ---- */

static uint16_t
keep_block(const struct sma_request *r, enum ar_kept kind, unsigned index)
{
	struct ar_blocks *b = &r->n->ar->kept[kind];

	if (r->set) {
		blocks_reserve(b, index + 1);
		memcpy(b->data + (size_t)index * SMP_DATA_SIZE, r->data, SMP_DATA_SIZE);
	}
	if (index < b->len)
		memcpy(r->data, b->data + (size_t)index * SMP_DATA_SIZE, SMP_DATA_SIZE);
	else
		memset(r->data, 0, SMP_DATA_SIZE);
	return 0;
}

/* Block 0 is that of all ports, block p + 1 port p's own. */
static uint16_t
do_hbf(const struct sma_request *r)
{
	uint32_t port = r->mod;
	bool global = layout_flag(&port, r->n->ar->layout->hbf_global_bit);
	struct ar_hbf a;

	if (port > (global ? 0u : r->n->nports))
		return MAD_STATUS_BAD_FIELD;
	ar_hbf_decode(&a, r->data);
	ar_hbf_encode(&a, r->data);
	for (unsigned p = 0; global && r->set && p <= r->n->nports; p++)
		keep_block(r, AR_KEPT_HBF, p + 1);
	return keep_block(r, AR_KEPT_HBF, global ? 0 : port + 1);
}

static uint16_t
do_whbf(const struct sma_request *r)
{
	const struct ar_switch *s = r->n->ar;
	uint32_t block = r->mod;
	struct ar_whbf a[AR_WHBF_BLOCK];

	layout_flag(&block, s->layout->hbf_global_bit);
	if (block > (ar_group_cap(s, s->info.sub_grps_active) - 1) / AR_WHBF_BLOCK)
		return MAD_STATUS_BAD_FIELD;
	ar_whbf_decode(a, r->data);
	ar_whbf_encode(a, r->data);
	return keep_block(r, AR_KEPT_WHBF, block);
}

static uint16_t
do_gen_strings(const struct sma_request *r)
{
	const struct ar_switch *a = r->n->ar;
	unsigned blocks = AR_DIRECTIONS / AR_GEN_BLOCK;
	uint16_t strings[AR_GEN_BLOCK];
	struct ar_mod at;

	if (!ar_mod_decode(&at, AR_ATTR_RN_GEN, a->layout, r->mod) || at.block >= blocks ||
	    at.plft >= ar_plfts(a))
		return MAD_STATUS_BAD_FIELD;
	ar_gen_decode(strings, r->data);
	for (unsigned i = 0; r->set && i < AR_GEN_BLOCK; i++)
		if (strings[i] >> AR_STRING_WIDTH)
			return MAD_STATUS_BAD_FIELD;
	return keep_block(r, AR_KEPT_GEN, at.plft * blocks + at.block);
}

static uint16_t
do_receive_strings(const struct sma_request *r)
{
	struct ar_rcv a[AR_RCV_BLOCK];

	if (r->mod >= (1u << AR_STRING_WIDTH) / AR_RCV_BLOCK)
		return MAD_STATUS_BAD_FIELD;
	ar_rcv_decode(a, r->data);
	for (unsigned i = 0; r->set && i < AR_RCV_BLOCK; i++)
		if (a[i].string >> AR_STRING_WIDTH || a[i].plft >= ar_plfts(r->n->ar) ||
		    a[i].decision > AR_RCV_PASS)
			return MAD_STATUS_BAD_FIELD;
	return keep_block(r, AR_KEPT_RCV, r->mod);
}

static uint16_t
do_directions(const struct sma_request *r)
{
	if (r->mod > (entries(r->n->ar) - 1) / AR_DIRECTION_BLOCK)
		return MAD_STATUS_BAD_FIELD;
	for (unsigned i = 0; r->set && i < AR_DIRECTION_BLOCK; i++)
		if (r->data[i] >= AR_DIRECTIONS)
			return MAD_STATUS_BAD_FIELD;
	return keep_block(r, AR_KEPT_DIRECTION, r->mod);
}

static uint16_t
do_xmit_ports(const struct sma_request *r)
{
	if (r->mod > r->n->nports / AR_XMIT_BLOCK)
		return MAD_STATUS_BAD_FIELD;
	return keep_block(r, AR_KEPT_XMIT, r->mod);
}

static uint16_t
do_priorities(const struct sma_request *r)
{
	struct ar_priority a[16];

	if (r->mod)
		return MAD_STATUS_BAD_FIELD;
	ar_priority_decode(a, r->data);
	ar_priority_encode(a, r->data);
	return keep_block(r, AR_KEPT_PRIORITY, 0);
}

static uint16_t
do_pfrn(const struct sma_request *r)
{
	struct ar_pfrn a, *to = &r->n->ar->pfrn;

	ar_pfrn_decode(&a, r->data);
	if (r->mod || (r->set && (a.force_clear > PFRN_TIMEOUT_MAX || a.clear > PFRN_TIMEOUT_MAX)))
		return MAD_STATUS_BAD_FIELD;
	if (r->set) {
		to->sl = a.sl;
		to->policy = to->policy_sup ? a.policy : 0;
		to->force_clear = a.force_clear;
		to->clear = a.clear;
	}
	ar_pfrn_encode(to, r->data);
	return 0;
}

const struct sma_attribute *
sma_ar_find(const struct sim_node *n, uint16_t id)
{
	static const struct sma_attribute general = {
		AR_ATTR_GENERAL_INFO, false, do_general_info,
	};
	static const struct {
		struct sma_attribute a;	/* what it does */
		unsigned feature;	/* enum ar_feature that it comes with */
	} table[] = {
		{ { AR_ATTR_LFT, true, do_lft }, AR_ADAPTIVE },
		{ { AR_ATTR_GROUPS, true, do_groups }, AR_ADAPTIVE },
		{ { AR_ATTR_GROUP_COPY, true, do_group_copy }, AR_COPYING },
		{ { AR_ATTR_INFO, true, do_info }, AR_ADAPTIVE },
		{ { AR_ATTR_GENERAL_INFO, false, do_general_info }, AR_GENERAL },
		{ { AR_ATTR_PLFT_INFO, true, do_plft_info }, AR_PLFT },
		{ { AR_ATTR_PLFT_DEF, true, do_plft_def }, AR_PLFT },
		{ { AR_ATTR_PLFT_MAP, true, do_plft_map }, AR_PLFT },
		{ { AR_ATTR_PORT_PLFT, true, do_port_plft }, AR_PLFT },
		{ { AR_ATTR_NODE_INFO, true, do_node_info }, AR_PLFT },
		{ { AR_ATTR_HBF, true, do_hbf }, AR_HASHING },
		{ { AR_ATTR_WHBF, true, do_whbf }, AR_HASHING },
		{ { AR_ATTR_RN_GEN, true, do_gen_strings }, AR_NOTIFY },
		{ { AR_ATTR_RN_RCV, true, do_receive_strings }, AR_NOTIFY },
		{ { AR_ATTR_RN_DIRECTION, true, do_directions }, AR_NOTIFY },
		{ { AR_ATTR_RN_XMIT, true, do_xmit_ports }, AR_NOTIFY },
		{ { AR_ATTR_RN_PRIORITY, true, do_priorities }, AR_NOTIFY },
		{ { AR_ATTR_PFRN, true, do_pfrn }, AR_PFRN },
	};

	if (n->any_order)
		return id == AR_ATTR_GENERAL_INFO ? &general : NULL;
	for (size_t i = 0; n->ar && i < sizeof(table) / sizeof(table[0]); i++)
		if (table[i].a.id == id)
			return n->ar->support.features & table[i].feature ? &table[i].a : NULL;
	return NULL;
}
