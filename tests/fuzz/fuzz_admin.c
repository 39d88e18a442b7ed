/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sm/base/loop.h"
#include "sm/sa/sa.h"
#include "sm/store/store.h"

/*
 * Any bytes as a request to the subnet administrator of a small subnet: two hosts, of LIDs 2 and 3
 * (LMC 1) and 4, on a switch of LID 6 whose table has no entry for itself. The first byte says
 * whether there is a plan, whether the class version is put right, whether the message is as long
 * as the input, whether it comes from the first host or from nobody, whether there is a proof that
 * all hosts reach each other, and whether P_Key tables are known; the rest is the message.
 * Each request is answered once or dropped once; what is answered has the request's TID, no key,
 * and whole records.
 */
struct fuzz {
	struct plan *plan;		/* published */
	struct config_subnet conf;	/* its keys and prefix */
	struct nodeinfo node;		/* of all nodes */
	struct switchinfo sw;		/* likewise */
	struct portinfo port;		/* of all ports */
	const uint8_t *asked;		/* the request */
	unsigned answers;		/* to it */
	uint16_t lid;			/* whose it is */
	bool published;			/* there is a plan */
	bool keyed;			/* both hosts hold P_Keys */
};

static void
must(bool holds)
{
	if (!holds)
		abort();
}

static const struct plan *
lend_plan(void *arg)
{
	const struct fuzz *f = arg;

	return f->published ? f->plan : NULL;
}

static const struct config_subnet *
lend_conf(void *arg)
{
	return &((const struct fuzz *)arg)->conf;
}

static const struct nodeinfo *
lend_node(void *arg, uint64_t guid)
{
	return guid == 2 ? NULL : &((const struct fuzz *)arg)->node;
}

static const struct switchinfo *
lend_switch(void *arg, uint64_t guid)
{
	(void)guid;
	return &((const struct fuzz *)arg)->sw;
}

static const struct portinfo *
lend_port(void *arg, uint64_t guid, unsigned port)
{
	(void)guid;
	return port == 2 ? NULL : &((const struct fuzz *)arg)->port;
}

/* Every state of a table, by what is asked for; or hosts that do not have all in common. */
static enum sa_held
lend_pkey_block(void *arg, uint64_t guid, unsigned port, unsigned block, uint16_t keys[32])
{
	static const uint16_t own[][3] = { { 0xffff, 0, 0x8001 }, { 0x7fff, 0x0001, 0x8002 } };

	if (((const struct fuzz *)arg)->keyed && guid < 3 && !block) {
		memset(keys, 0, 32 * sizeof(*keys));
		memcpy(keys, own[guid - 1], sizeof(own[0]));
		return SA_HELD;
	}
	memset(keys, 0xff, 32 * sizeof(*keys));
	return block > 2 ? SA_HELD_NOT : (enum sa_held)((port + block) % 4);
}

static enum sa_held
lend_vlarb(void *arg, uint64_t guid, unsigned port, unsigned block, struct vlarb_entry entries[32])
{
	(void)arg;
	(void)port;
	must(block >= 1 && block <= 4);
	memset(entries, 0, 32 * sizeof(*entries));
	return guid == 3 && block == 4 ? SA_SILENT : SA_HELD;
}

static enum sa_held
lend_sl2vl(void *arg, uint64_t guid, unsigned in, unsigned out, uint8_t vl[16])
{
	(void)arg;
	must(guid != 3 || (in < 3 && out < 3));
	memset(vl, 15, 16);
	return guid == 3 && in == 2 && out == 2 ? SA_UNREAD : SA_HELD;
}

static unsigned
lend_mft_blocks(void *arg, uint64_t guid)
{
	(void)arg;
	return guid == 3 ? 3 : 0;
}

static enum sa_held
lend_mft(void *arg, uint64_t guid, unsigned block, unsigned position, uint16_t masks[32])
{
	(void)arg;
	must(guid == 3 && block < 3 && position == 0);
	memset(masks, 0, 32 * sizeof(*masks));
	return block == 2 ? SA_SILENT : SA_HELD;
}

static unsigned
lend_sms(void *arg, struct sa_sm list[SA_SMS_MAX])
{
	(void)arg;
	list[0].lid = 2;
	list[0].info.sm_key = 77;
	return 1;
}

static int
lend_send(void *arg, const struct port_mad *m)
{
	struct fuzz *f = arg;
	const struct sa_type *t;
	struct sa_header h;

	f->answers++;
	must(port_mad_ok(m));
	must(!sa_header_decode(&h, port_mad_bytes(m), port_mad_len(m)));
	must(!memcmp(port_mad_bytes(m) + 8, f->asked + 8, 8));
	must(h.h.method & MAD_RESPONSE && h.sm_key == 0 && m->lid == f->lid);
	t = sa_type_find(h.h.attr_id);
	if (h.rmpp_flags) {
		must(t && !h.h.status);
		must((port_mad_len(m) - SA_HEADER_SIZE) % sa_stride(t) == 0);
	} else {
		must(port_mad_len(m) == MAD_SIZE);
	}
	return 0;
}

static void
make_subnet(struct fuzz *f)
{
	struct fabric_builder *b = fabric_builder_new();
	struct fabric_node host = { .guid = 1, .type = NODE_CA, .nports = 1, .name = "a",
				    .desc = "a" };
	struct fabric_node sw = { .guid = 3, .type = NODE_SWITCH, .nports = 2, .name = "s",
				  .desc = "s" };
	struct fabric_port p = { .state = PORT_ACTIVE, .width = LINK_4X, .speed = SPEED_EDR,
				 .neighbor_mtu = 4, .mtu_cap = 5, .rate_mbps = 100000 };
	struct fabric *fabric;

	for (uint64_t guid = 1; guid < 4; guid++) {
		host.guid = guid;
		fabric_add_node(b, guid == 3 ? &sw : &host);
		p.guid = guid;
		fabric_add_port(b, (uint32_t)guid - 1, guid != 3, &p);
	}
	p.guid = 0;
	fabric_add_port(b, 2, 1, &p);
	fabric_add_port(b, 2, 2, &p);
	fabric_add_link(b, 0, 1, 2, 1);
	fabric_add_link(b, 1, 1, 2, 2);
	fabric = fabric_build(b, 1);
	f->plan = plan_new(fabric);
	f->plan->lids = plan_lids_new(fabric);
	for (uint64_t guid = 1; guid < 4; guid++)
		f->plan->lids->base[fabric_port_by_guid(fabric, guid)] = (uint16_t)(2 * guid);
	f->plan->lids->lmc[fabric_port_by_guid(fabric, 1)] = 1;
	plan_lids_index(f->plan->lids, fabric);
	f->plan->rows[0] = plan_row_new(f->plan->lids->top);
	plan_row_set(&f->plan->rows[0], 2, 1);
	plan_row_set(&f->plan->rows[0], 3, 1);
	plan_row_set(&f->plan->rows[0], 4, 2);
	fabric_unref(fabric);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
try_request(const uint8_t *data, size_t size)
{
	struct loop *loop = loop_new_virtual(1);
	struct store *store = store_open_memory(loop);
	struct fuzz f = { .conf = { .name = "f", .sm_key = 1, .prefix = 0xfe80000000000000u,
				    .subnet_timeout = 18 } };
	struct sa_env env = {
		.plan = lend_plan, .conf = lend_conf, .node_info = lend_node,
		.switch_info = lend_switch, .port_info = lend_port, .pkey_block = lend_pkey_block,
		.vlarb = lend_vlarb, .sl2vl = lend_sl2vl, .mft_blocks = lend_mft_blocks,
		.mft = lend_mft, .sms = lend_sms,
		.send = lend_send, .loop = loop, .store = store, .arg = &f,
	};
	struct port_mad m = { .qp = 1 };
	const struct sa_counters *c;
	uint64_t dropped = 0;
	struct sa *sa;

	make_subnet(&f);
	f.plan->check.pairs = data[0] & 32 ? 2 : 0;
	f.keyed = data[0] & 64;
	f.published = data[0] & 3;
	f.lid = m.lid = data[0] & 16 ? 2 : 9;
	memcpy(m.mad, data + 1, size - 1 < MAD_SIZE ? size - 1 : MAD_SIZE);
	if (data[0] & 4)
		m.mad[2] = SA_CLASS_VERSION;
	if (data[0] & 8) {
		m.data = data + 1;
		m.len = (uint32_t)size - 1;
	}
	f.asked = port_mad_bytes(&m);
	sa = sa_new(&env);
	if (!m.data || m.len)
		sa_request(sa, &m);
	/* What a change is confirmed with leaves when the store has it. */
	loop_run_until(loop, loop_now(loop) + SEC(1), NULL);
	c = sa_counters(sa);
	for (unsigned i = 0; i < SA_DROPS; i++)
		dropped += c->dropped[i];
	must(f.answers == c->answered + c->refused);
	must(f.answers + dropped == c->requests);
	sa_free(sa);
	plan_unref(f.plan);
	store_close(store);
	loop_free(loop);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size)
		try_request(data, size);
	return 0;
}
