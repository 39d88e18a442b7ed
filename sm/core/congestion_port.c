/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Congestion control of one end port (IBA volume 1, annex A10): what it has told, what of that is
 * not as it should be (qos/congestion.h), and the request that comes next.
 *
 * One thing is asked after the other: whether the device knows the class, what it can, its key, its
 * setting, then tables. What differs is set at once, before the next is asked, the key first: from
 * then on nobody else changes the rest. A table of a host is kept as a hash of each block, for what
 * is in it matters to nobody here but as a whole. Elements of SwitchPortCongestionSetting that
 * somebody else made valid say the same as the switch's own from then on; others stay invalid.
 */
#include "sm/core/congestion_i.h"

#include <string.h>
#include "sm/base/mem.h"

static uint64_t
hash_of(const uint8_t *data, size_t size)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < size; i++)
		h = (h ^ data[i]) * UINT64_C(0x100000001b3);
	return h;
}

static uint64_t
block_hash(const struct cc_table *t)
{
	uint8_t data[CC_DATA_SIZE];

	cc_table_encode(t, data);
	return hash_of(data, sizeof(data));
}

void
congestion_policy_make(struct congestion_policy *p, const struct config_congestion *c)
{
	struct cc_table t;

	p->c = *c;
	congestion_table(c->table, &p->table);
	for (unsigned blocks = 1; blocks <= CONGESTION_BLOCKS; blocks++)
		for (unsigned i = 0; i < blocks; i++) {
			congestion_block(&p->table, blocks, i, &t);
			p->hash[blocks][i] = block_hash(&t);
		}
}

struct live_congestion *
congestion_of(struct live_port *p)
{
	if (!p->congestion)
		p->congestion = mem_zalloc(sizeof(*p->congestion));
	return p->congestion;
}

void
congestion_set_state(struct topo *t, struct live_port *p, enum congestion_state state)
{
	t->congestion[p->congestion->state]--;
	p->congestion->state = state;
	t->congestion[state]++;
}

void
congestion_free(struct topo *t, struct live_port *p)
{
	if (!p->congestion)
		return;
	t->congestion[p->congestion->state]--;
	mem_free(p->congestion->ports);
	mem_free(p->congestion);
	p->congestion = NULL;
}

static bool
is_switch(const struct live_port *p)
{
	return p->device->info.node_type == NODE_SWITCH;
}

/* ---- What is wanted ---- */

static unsigned
host_blocks(const struct live_congestion *h)
{
	return h->info.table_cap < CONGESTION_BLOCKS ? h->info.table_cap : CONGESTION_BLOCKS;
}

static unsigned
host_steps(const struct subnet *s, const struct live_congestion *h)
{
	return congestion_steps(&s->congestion.policy->table, host_blocks(h));
}

/* Items that count. A table that nobody uses is left as it is. */
static unsigned
items(const struct subnet *s, const struct live_port *p)
{
	const struct live_congestion *h = p->congestion;

	if (is_switch(p))
		return ITEM_BLOCK + p->device->info.num_ports / CC_PORTS_BLOCK + 1u;
	if (!s->congestion.policy->c.enabled || !(h->known >> ITEM_INFO & 1))
		return ITEM_BLOCK;
	return ITEM_BLOCK + (host_steps(s, h) + CC_TABLE_BLOCK - 1) / CC_TABLE_BLOCK;
}

static bool
can_starve(const struct live_congestion *h)
{
	return h->info.info & CC_INFO_STARVATION;
}

static void
want_key(const struct subnet *s, struct cc_key_info *w)
{
	const struct config_congestion *c = &s->congestion.policy->c;

	*w = (struct cc_key_info){ .key = c->enabled ? c->key : 0 };
	w->protect = w->key != 0;
}

static void
want_switch(const struct subnet *s, const struct live_port *p, struct cc_switch_setting *w)
{
	const struct fabric *f = s->plan->fabric;
	uint32_t node = fabric_node_by_guid(f, p->device->guid);

	if (node != FABRIC_NONE)
		congestion_switch(&s->congestion.policy->c, f, node, can_starve(p->congestion), w);
	else
		*w = p->congestion->sw;
}

static bool
port_differs(const struct subnet *s, const struct cc_port_setting *held,
	     struct cc_port_setting *w)
{
	congestion_port(&s->congestion.policy->c, held->starvation, w);
	return held->valid && (held->threshold != w->threshold ||
			       held->packet_size != w->packet_size ||
			       held->marking_rate != w->marking_rate);
}

static bool
ports_held(const struct subnet *s, const struct cc_port_setting *held)
{
	struct cc_port_setting w;

	for (unsigned i = 0; i < CC_PORTS_BLOCK; i++)
		if (port_differs(s, &held[i], &w))
			return false;
	return true;
}

static bool
key_held(const struct subnet *s, const struct cc_key_info *held)
{
	struct cc_key_info w;

	want_key(s, &w);
	return held->key == w.key && (!w.key || (held->protect && !held->lease));
}

bool
congestion_item_held(const struct subnet *s, const struct live_port *p, unsigned item)
{
	const struct live_congestion *h = p->congestion;
	struct cc_switch_setting sw;
	struct cc_ca_setting ca;

	if (item < ITEM_KEY)
		return true;
	if (item == ITEM_KEY)
		return key_held(s, &h->key);
	if (item > ITEM_SETTING)
		return is_switch(p) ?
			ports_held(s, h->ports + (item - ITEM_BLOCK) * CC_PORTS_BLOCK) :
			h->hash[item - ITEM_BLOCK] ==
			s->congestion.policy->hash[host_blocks(h)][item - ITEM_BLOCK];
	if (is_switch(p)) {
		want_switch(s, p, &sw);
		return congestion_same_switch(&h->sw, &sw);
	}
	congestion_ca(&s->congestion.policy->c, host_steps(s, h), &ca);
	return congestion_same_ca(&h->ca, &ca);
}

/* The key that requests carry: what it took last, else the configured one. */
static uint64_t
key_for(const struct subnet *s, const struct live_congestion *h)
{
	return h->has_key ? h->our_key : s->congestion.policy->c.key;
}

bool
congestion_locked(const struct subnet *s, const struct live_congestion *h)
{
	if (!(h->known >> ITEM_KEY & 1))
		return false;
	return h->key.key ? h->key.key != key_for(s, h) : h->key.protect;
}

/* ---- Requests ---- */

unsigned
congestion_next_item(const struct subnet *s, const struct live_port *p)
{
	const struct live_congestion *h = p->congestion;
	unsigned n = items(s, p);

	if (h->waits || h->lacks || h->misses >= MISSES_MAX)
		return ITEM_NONE;
	for (unsigned i = 0; i < n; i++)
		if (!(h->refused >> i & 1) &&
		    (!(h->known >> i & 1) ||
		     (!congestion_locked(s, h) && !congestion_item_held(s, p, i))))
			return i;
	return ITEM_NONE;
}

static uint16_t
attribute(const struct live_port *p, unsigned item)
{
	switch (item) {
	case ITEM_CLASS:
		return CC_CLASS_PORT_INFO;
	case ITEM_INFO:
		return CC_INFO;
	case ITEM_KEY:
		return CC_KEY_INFO;
	case ITEM_SETTING:
		return is_switch(p) ? CC_SWITCH_SETTING : CC_CA_SETTING;
	default:
		return is_switch(p) ? CC_SWITCH_PORT_SETTING : CC_TABLE;
	}
}

/* Only the elements that differ are valid: others are not touched. */
static void
put_ports(const struct subnet *s, const struct cc_port_setting *held, uint8_t *data)
{
	struct cc_port_setting w[CC_PORTS_BLOCK];

	for (unsigned i = 0; i < CC_PORTS_BLOCK; i++)
		if (!port_differs(s, &held[i], &w[i]))
			memset(&w[i], 0, sizeof(w[i]));
	cc_port_settings_encode(w, data);
}

static void
put_block(const struct subnet *s, const struct live_port *p, unsigned block, uint8_t *data)
{
	const struct live_congestion *h = p->congestion;
	struct cc_table t;

	if (is_switch(p)) {
		put_ports(s, h->ports + block * CC_PORTS_BLOCK, data);
		return;
	}
	congestion_block(&s->congestion.policy->table, host_blocks(h), block, &t);
	cc_table_encode(&t, data);
}

static void
put_item(const struct subnet *s, const struct live_port *p, unsigned item, uint8_t *data)
{
	struct cc_switch_setting sw;
	struct cc_key_info key;
	struct cc_ca_setting ca;

	if (item == ITEM_KEY) {
		want_key(s, &key);
		cc_key_info_encode(&key, data);
	} else if (item > ITEM_SETTING) {
		put_block(s, p, item - ITEM_BLOCK, data);
	} else if (is_switch(p)) {
		want_switch(s, p, &sw);
		cc_switch_setting_encode(&sw, data);
	} else {
		congestion_ca(&s->congestion.policy->c, host_steps(s, p->congestion), &ca);
		cc_ca_setting_encode(&ca, data);
	}
}

void
congestion_ask(const struct subnet *s, const struct live_port *p, unsigned item,
	       struct transact_request *r)
{
	const struct live_congestion *h = p->congestion;
	bool set = h->known >> item & 1;

	r->gmp = MAD_CLASS_CONGESTION;
	r->uncertain = item == ITEM_CLASS;
	r->method = set ? MAD_SET : MAD_GET;
	r->attr_id = attribute(p, item);
	r->attr_mod = item > ITEM_SETTING ? item - ITEM_BLOCK : 0;
	r->m_key = key_for(s, h);
	r->cookie = p->number | (uint64_t)item << 8;
	r->retries_less = h->misses ? UINT8_MAX : 0;
	if (set)
		put_item(s, p, item, r->data);
}

/* ---- Answers ---- */

/* The answer to a Set may hide the new key from who came with the old one. */
static void
take_key(const struct subnet *s, struct live_congestion *h, const struct transact_result *r)
{
	struct cc_key_info sent;
	uint64_t asked = key_for(s, h);

	cc_key_info_decode(&h->key, r->data);
	if (r->method == MAD_SET) {
		cc_key_info_decode(&sent, r->sent);
		if (!h->key.key && h->key.protect)
			h->key.key = sent.key;
		asked = sent.key;
	}
	if (h->key.key != asked)
		return;
	h->has_key = true;
	h->our_key = asked;
}

static void
take_block(struct live_port *p, unsigned block, const struct transact_result *r)
{
	struct live_congestion *h = p->congestion;
	struct cc_table t;

	if (!is_switch(p)) {
		cc_table_decode(&t, r->data);
		h->steps = (uint16_t)(t.limit + 1u);
		h->hash[block] = block_hash(&t);
		return;
	}
	if (!h->ports)
		h->ports = mem_array(PORT_BLOCKS * CC_PORTS_BLOCK, sizeof(*h->ports));
	cc_port_settings_decode(h->ports + block * CC_PORTS_BLOCK, r->data);
}

void
congestion_take(const struct subnet *s, struct live_port *p, unsigned item,
		const struct transact_result *r)
{
	struct live_congestion *h = p->congestion;

	if (item == ITEM_INFO)
		cc_info_decode(&h->info, r->data);
	else if (item == ITEM_KEY)
		take_key(s, h, r);
	else if (item > ITEM_SETTING)
		take_block(p, item - ITEM_BLOCK, r);
	else if (item == ITEM_SETTING && is_switch(p))
		cc_switch_setting_decode(&h->sw, r->data);
	else if (item == ITEM_SETTING)
		cc_ca_setting_decode(&h->ca, r->data);
	if (item == ITEM_SETTING && is_switch(p))
		h->sw.map = can_starve(h) ? CC_MAP_ALL : 0;
	h->known |= 1u << item;
}
