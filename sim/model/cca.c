/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include "sim/model/model_impl.h"

/*
 * The congestion control agent of a simulated device (IBA volume 1, annex A10.4): one for each end
 * port, so a switch has one for all of its ports and a channel adapter one for each.
 *
 * What is set is kept and shown; nothing is marked and nobody slows down, so the log stays empty.
 * A Set changes what its Control_Map names, and in SwitchPortCongestionSetting the valid elements;
 * an answer names all that there is. With a key, Sets that do not know it are counted and dropped,
 * Gets are answered; while the key is protected they hide it. The lease of the protection runs
 * from the first wrong key to the next right one, as that of the M_Key (sma.c). Routers have none.
 */
#define RESPONSE_TIME 18u

struct cca {
	struct cc_key_info key;			/* as it is set */
	monotime lease_end;			/* MONOTIME_NEVER: not running */
	union {
		struct {
			struct cc_switch_setting setting;	/* of all ports */
			struct cc_port_setting *ports;	/* nports + 1, from malloc */
		} sw;
		struct {
			struct cc_ca_setting setting;	/* for all SLs */
			struct cc_delay *table;	/* of `cc_table` blocks, from malloc */
			uint16_t limit;		/* CCTI_Limit */
		} ca;
	};
};

struct cca_request {
	struct model *m;	/* the fabric */
	struct sim_node *n;	/* who is asked */
	struct cca *a;		/* its agent */
	uint32_t mod;		/* attribute modifier */
	uint64_t key;		/* that came with the request */
	bool set;		/* Set, not Get */
	uint8_t *data;		/* CC_DATA_SIZE bytes, in and out */
};

/* ---- The agent ---- */

static struct cca *
agent(struct sim_node *n, struct sim_port *p)
{
	if (p->cca)
		return p->cca;
	p->cca = mem_zalloc(sizeof(*p->cca));
	p->cca->lease_end = MONOTIME_NEVER;
	if (n->type == NODE_SWITCH)
		p->cca->sw.ports = mem_array((n->nports / CC_PORTS_BLOCK + 1u) * CC_PORTS_BLOCK,
					     sizeof(*p->cca->sw.ports));
	else
		p->cca->ca.table = mem_array(n->caps->cc_table * (size_t)CC_TABLE_BLOCK,
					     sizeof(*p->cca->ca.table));
	return p->cca;
}

void
cca_free(const struct sim_node *n, struct sim_port *p)
{
	if (!p->cca)
		return;
	if (n->type == NODE_SWITCH)
		mem_free(p->cca->sw.ports);
	else
		mem_free(p->cca->ca.table);
	mem_free(p->cca);
	p->cca = NULL;
}

static bool
key_allows(struct cca_request *r)
{
	struct cca *a = r->a;
	monotime now = loop_now(r->m->loop);

	if (a->lease_end != MONOTIME_NEVER && now >= a->lease_end) {
		a->key.protect = false;
		a->lease_end = MONOTIME_NEVER;
	}
	if (!a->key.key || a->key.key == r->key) {
		a->lease_end = MONOTIME_NEVER;
		return true;
	}
	if (!r->set)
		return true;
	if (a->key.violations < UINT16_MAX)
		a->key.violations++;
	if (a->key.lease && a->lease_end == MONOTIME_NEVER)
		a->lease_end = now + SEC(a->key.lease);
	return false;
}

/* ---- Attributes ---- */

static uint16_t
do_class_info(const struct cca_request *r)
{
	const struct cc_class_info a = {
		.base_version = 1, .class_version = CC_CLASS_VERSION, .resp_time = RESPONSE_TIME,
	};

	cc_class_info_encode(&a, r->data);
	return 0;
}

static uint16_t
do_info(const struct cca_request *r)
{
	bool is_switch = r->n->type == NODE_SWITCH;
	const struct cc_info a = {
		.info = is_switch && !r->n->caps->no_starvation ? CC_INFO_STARVATION : 0,
		.table_cap = (uint8_t)(is_switch ? 0 : r->n->caps->cc_table),
	};

	cc_info_encode(&a, r->data);
	return 0;
}

static uint16_t
do_key(const struct cca_request *r)
{
	struct cc_key_info shown;

	if (r->set)
		cc_key_info_decode(&r->a->key, r->data);
	shown = r->a->key;
	if (shown.protect && !r->set && r->key != shown.key)
		shown.key = 0;
	cc_key_info_encode(&shown, r->data);
	return 0;
}

static uint16_t
do_log(const struct cca_request *r)
{
	struct cc_log a = {
		.type = r->n->type == NODE_SWITCH ? CC_LOG_SWITCH : CC_LOG_CA,
		.time = (uint32_t)(loop_now(r->m->loop) / 1024),
	};

	cc_log_encode(&a, r->data - (CC_DATA_AT - CC_LOG_AT));
	return 0;
}

static uint16_t
do_timestamp(const struct cca_request *r)
{
	cc_timestamp_encode((uint32_t)(loop_now(r->m->loop) / 1024), r->data);
	return 0;
}

static uint32_t
switch_map(const struct sim_node *n)
{
	return n->caps->no_starvation ? CC_MAP_ALL & ~(CC_MAP_CREDIT | CC_MAP_STARVATION) :
		CC_MAP_ALL;
}

static void
set_switch(const struct sim_node *n, struct cc_switch_setting *to,
	   const struct cc_switch_setting *from)
{
	uint32_t map = from->map & switch_map(n);

	if (map & CC_MAP_VICTIM)
		to->victim = from->victim;
	if (map & CC_MAP_CREDIT)
		to->credit = from->credit;
	if (map & CC_MAP_THRESHOLD) {
		to->threshold = from->threshold;
		to->packet_size = from->packet_size;
	}
	if (map & CC_MAP_STARVATION) {
		to->starvation = from->starvation;
		to->return_delay = from->return_delay;
	}
	if (map & CC_MAP_MARKING)
		to->marking_rate = from->marking_rate;
}

static uint16_t
do_switch(const struct cca_request *r)
{
	struct cc_switch_setting a;

	if (r->n->type != NODE_SWITCH)
		return MAD_STATUS_BAD_ATTR;
	cc_switch_setting_decode(&a, r->data);
	if (r->set)
		set_switch(r->n, &r->a->sw.setting, &a);
	a = r->a->sw.setting;
	a.map = switch_map(r->n);
	cc_switch_setting_encode(&a, r->data);
	return 0;
}

static uint16_t
do_switch_ports(const struct cca_request *r)
{
	struct cc_port_setting a[CC_PORTS_BLOCK], *ports;

	if (r->n->type != NODE_SWITCH)
		return MAD_STATUS_BAD_ATTR;
	if (r->mod > r->n->nports / CC_PORTS_BLOCK)
		return MAD_STATUS_BAD_FIELD;
	ports = r->a->sw.ports + r->mod * CC_PORTS_BLOCK;
	cc_port_settings_decode(a, r->data);
	for (unsigned i = 0; r->set && i < CC_PORTS_BLOCK; i++)
		if (a[i].valid && r->mod * CC_PORTS_BLOCK + i <= r->n->nports)
			ports[i] = a[i];
	cc_port_settings_encode(ports, r->data);
	return 0;
}

static uint16_t
do_ca(const struct cca_request *r)
{
	struct cc_ca_setting *to = &r->a->ca.setting, a;

	if (r->n->type == NODE_SWITCH)
		return MAD_STATUS_BAD_ATTR;
	cc_ca_setting_decode(&a, r->data);
	if (r->set)
		to->port_control = a.port_control;
	for (unsigned sl = 0; r->set && sl < CC_LEVELS; sl++)
		if (a.map >> sl & 1)
			to->entries[sl] = a.entries[sl];
	a = *to;
	a.map = UINT16_MAX;
	cc_ca_setting_encode(&a, r->data);
	return 0;
}

static uint16_t
do_table(const struct cca_request *r)
{
	uint32_t len = r->n->caps->cc_table * (uint32_t)CC_TABLE_BLOCK;
	struct cc_table a;
	struct cc_delay *at;

	if (r->n->type == NODE_SWITCH)
		return MAD_STATUS_BAD_ATTR;
	cc_table_decode(&a, r->data);
	if (r->mod >= r->n->caps->cc_table || (r->set && a.limit >= len))
		return MAD_STATUS_BAD_FIELD;
	at = r->a->ca.table + r->mod * CC_TABLE_BLOCK;
	if (r->set) {
		r->a->ca.limit = a.limit;
		memcpy(at, a.entries, sizeof(a.entries));
	}
	a.limit = r->a->ca.limit;
	memcpy(a.entries, at, sizeof(a.entries));
	cc_table_encode(&a, r->data);
	return 0;
}

static const struct cca_attribute {
	uint16_t id;		/* enum cc_attr */
	bool set;		/* may be set */
	uint16_t (*run)(const struct cca_request *r);	/* returns a MAD status */
} attributes[] = {
	{ CC_CLASS_PORT_INFO, false, do_class_info },
	{ CC_INFO, false, do_info },
	{ CC_KEY_INFO, true, do_key },
	{ CC_LOG, false, do_log },
	{ CC_SWITCH_SETTING, true, do_switch },
	{ CC_SWITCH_PORT_SETTING, true, do_switch_ports },
	{ CC_CA_SETTING, true, do_ca },
	{ CC_TABLE, true, do_table },
	{ CC_TIMESTAMP, false, do_timestamp },
};

static uint16_t
answer(const struct cca_request *r, uint16_t id)
{
	uint16_t status = fault_status(r->n, r->set, MODEL_CC(id));

	for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++)
		if (attributes[i].id == id && (attributes[i].set || !r->set))
			return status ? status : attributes[i].run(r);
	return MAD_STATUS_BAD_ATTR;
}

/* ---- Requests ---- */

bool
cca_is_there(const struct sim_node *n)
{
	return n->type != NODE_ROUTER && n->caps->cc_table != 0;
}

bool
cca_answer(struct model *m, uint32_t node, unsigned in, uint8_t mad[MAD_SIZE])
{
	struct sim_node *n = &m->nodes[node];
	struct mad_header h;
	struct cca_request r = {
		.m = m, .n = n, .a = agent(n, end_port(n, in)), .key = cc_mad_key(mad),
		.data = mad + CC_DATA_AT,
	};

	if (mad_header_decode(&h, mad, MAD_SIZE) < 0 ||
	    (h.method != MAD_GET && h.method != MAD_SET))
		return false;
	r.set = h.method == MAD_SET;
	r.mod = h.attr_mod;
	if (h.class_version == CC_CLASS_VERSION && !key_allows(&r))
		return false;
	h.status = h.class_version == CC_CLASS_VERSION ? answer(&r, h.attr_id) :
		MAD_STATUS_BAD_VERSION;
	h.method = MAD_GET_RESP;
	mad_header_encode(&h, mad);
	return true;
}

/* ---- Looking into it ---- */

void
model_congestion(const struct model *m, uint32_t node, unsigned port, struct model_congestion *c)
{
	const struct sim_node *n = &m->nodes[node];
	const struct cca *a = model_has_port(m, node, port) ? n->ports[port].cca : NULL;

	memset(c, 0, sizeof(*c));
	if (!a)
		return;
	c->key = a->key;
	if (n->type == NODE_SWITCH) {
		c->sw = a->sw.setting;
		c->ports = a->sw.ports;
		return;
	}
	c->ca = a->ca.setting;
	c->table = a->ca.table;
	c->limit = a->ca.limit;
}

void
model_set_congestion_key(struct model *m, uint32_t node, unsigned port,
			 const struct cc_key_info *key)
{
	if (model_has_port(m, node, port))
		agent(&m->nodes[node], &m->nodes[node].ports[port])->key = *key;
}
