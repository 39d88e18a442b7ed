/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_ADMIN_BED_H
#define TESTS_ADMIN_BED_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sm/base/loop.h"
#include "sm/sa/sa.h"
#include "sm/store/store.h"

/* A small subnet whose administrator is asked at random: what it is lent, and what it says. */
struct admin_bed {
	struct plan *plan;		/* published */
	struct config_subnet conf;	/* its keys and prefix */
	struct nodeinfo node;		/* of all nodes */
	struct switchinfo sw;		/* likewise */
	struct portinfo port;		/* of all ports */
	const uint8_t *asked;		/* the request */
	unsigned answers;		/* to all requests */
	uint16_t lid;			/* whose it is */
	uint64_t told;			/* TID of the last answer, */
	uint16_t status;		/* its status, */
	uint32_t size;			/* and its length */
	bool keyed;			/* both hosts hold P_Keys */
	bool published;			/* there is a plan */
};

static inline void
must(bool holds)
{
	if (!holds)
		abort();
}

static inline const struct plan *
lend_plan(void *arg)
{
	const struct admin_bed *f = arg;

	return f->published ? f->plan : NULL;
}

static inline const struct config_subnet *
lend_conf(void *arg)
{
	return &((const struct admin_bed *)arg)->conf;
}

static inline const struct nodeinfo *
lend_node(void *arg, uint64_t guid)
{
	return guid == 2 ? NULL : &((const struct admin_bed *)arg)->node;
}

static inline const struct switchinfo *
lend_switch(void *arg, uint64_t guid)
{
	(void)guid;
	return &((const struct admin_bed *)arg)->sw;
}

static inline const struct portinfo *
lend_port(void *arg, uint64_t guid, unsigned port)
{
	(void)guid;
	return port == 2 ? NULL : &((const struct admin_bed *)arg)->port;
}

/* Every state of a table, by what is asked for; or hosts that do not have all in common. */
static inline enum sa_held
lend_pkey_block(void *arg, uint64_t guid, unsigned port, unsigned block, uint16_t keys[32])
{
	static const uint16_t own[][3] = { { 0xffff, 0, 0x8001 }, { 0x7fff, 0x0001, 0x8002 } };

	if (((const struct admin_bed *)arg)->keyed && guid < 3 && !block) {
		memset(keys, 0, 32 * sizeof(*keys));
		memcpy(keys, own[guid - 1], sizeof(own[0]));
		return SA_HELD;
	}
	memset(keys, 0xff, 32 * sizeof(*keys));
	return block > 2 ? SA_HELD_NOT : (enum sa_held)((port + block) % 4);
}

static inline enum sa_held
lend_vlarb(void *arg, uint64_t guid, unsigned port, unsigned block, struct vlarb_entry entries[32])
{
	(void)arg;
	(void)port;
	must(block >= 1 && block <= 4);
	memset(entries, 0, 32 * sizeof(*entries));
	return guid == 3 && block == 4 ? SA_SILENT : SA_HELD;
}

static inline enum sa_held
lend_sl2vl(void *arg, uint64_t guid, unsigned in, unsigned out, uint8_t vl[16])
{
	(void)arg;
	must(guid != 3 || (in < 3 && out < 3));
	memset(vl, 15, 16);
	return guid == 3 && in == 2 && out == 2 ? SA_UNREAD : SA_HELD;
}

static inline unsigned
lend_mft_blocks(void *arg, uint64_t guid)
{
	(void)arg;
	return guid == 3 ? 3 : 0;
}

static inline enum sa_held
lend_mft(void *arg, uint64_t guid, unsigned block, unsigned position, uint16_t masks[32])
{
	(void)arg;
	must(guid == 3 && block < 3 && position == 0);
	memset(masks, 0, 32 * sizeof(*masks));
	return block == 2 ? SA_SILENT : SA_HELD;
}

static inline unsigned
lend_sms(void *arg, struct sa_sm list[SA_SMS_MAX])
{
	(void)arg;
	list[0].lid = 2;
	list[0].info.sm_key = 77;
	return 1;
}

static inline void
lend_groups_changed(void *arg, uint16_t mlid)
{
	(void)arg;
	(void)mlid;
}

static inline void
lend_port_forgotten(void *arg, uint64_t guid)
{
	(void)arg;
	(void)guid;
}

static inline void
lend_guids_changed(void *arg, uint64_t guid)
{
	(void)arg;
	(void)guid;
}

/* So many hosts, of GUIDs and LIDs from 1 and 2 on, on one switch; the first has two LIDs. The
 * switch's table has no entry for the switch. */
static inline struct plan *
admin_plan(unsigned hosts)
{
	struct fabric_builder *b = fabric_builder_new();
	struct fabric_node host = { .type = NODE_CA, .nports = 1, .name = "a", .desc = "a" };
	struct fabric_node sw = { .guid = hosts + 1, .type = NODE_SWITCH,
				  .nports = (uint8_t)hosts, .name = "s", .desc = "s" };
	struct fabric_port p = { .state = PORT_ACTIVE, .width = LINK_4X, .speed = SPEED_EDR,
				 .neighbor_mtu = 4, .mtu_cap = 5, .rate_mbps = 100000 };
	struct fabric *fabric;
	struct plan *plan;

	for (uint32_t i = 0; i <= hosts; i++) {
		host.guid = p.guid = i + 1;
		fabric_add_node(b, i == hosts ? &sw : &host);
		fabric_add_port(b, i, i != hosts, &p);
	}
	p.guid = 0;
	for (uint32_t i = 0; i < hosts; i++) {
		fabric_add_port(b, hosts, i + 1, &p);
		fabric_add_link(b, i, 1, hosts, i + 1);
	}
	fabric = fabric_build(b, 1);
	plan = plan_new(fabric);
	plan->lids = plan_lids_new(fabric);
	for (uint64_t guid = 1; guid <= hosts + 1; guid++)
		plan->lids->base[fabric_port_by_guid(fabric, guid)] = (uint16_t)(2 * guid);
	plan->lids->lmc[fabric_port_by_guid(fabric, 1)] = 1;
	plan_lids_index(plan->lids, fabric);
	plan->rows[0] = plan_row_new(plan->lids->top);
	plan_row_set(&plan->rows[0], 3, 1);
	for (uint8_t i = 1; i <= hosts; i++)
		plan_row_set(&plan->rows[0], 2u * i, i);
	fabric_unref(fabric);
	return plan;
}

/* What the bed lends; `send` is the user's. */
static inline struct sa_env
admin_env(struct admin_bed *f, struct loop *loop, struct store *store)
{
	f->conf = (struct config_subnet){ .name = "f", .sm_key = 1, .subnet_timeout = 18,
					  .prefix = 0xfe80000000000000u };
	return (struct sa_env){
		.plan = lend_plan, .conf = lend_conf, .node_info = lend_node,
		.switch_info = lend_switch, .port_info = lend_port, .pkey_block = lend_pkey_block,
		.vlarb = lend_vlarb, .sl2vl = lend_sl2vl, .mft_blocks = lend_mft_blocks,
		.mft = lend_mft, .sms = lend_sms,
		.groups_changed = lend_groups_changed, .guids_changed = lend_guids_changed,
		.port_forgotten = lend_port_forgotten,
		.loop = loop, .store = store, .arg = f,
	};
}

static inline uint64_t
admin_dropped(const struct sa *sa)
{
	uint64_t dropped = 0;

	for (unsigned i = 0; i < SA_DROPS; i++)
		dropped += sa_counters(sa)->dropped[i];
	return dropped;
}

#endif
