/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From the live model to snapshots.
 *
 * In a large fabric the walk over all ports takes its time, so it is done in slices between which
 * others have their turn: first every device, then every cable. Should a device or a cable come or
 * go in between, it begins again. The builder that comes of it is nobody's but the caller's, who
 * may build the snapshot from it wherever there is time, on a worker say.
 *
 * After programming the ports' states alone are taken over, likewise in slices.
 */
#include "sm/core/snapshot.h"

#include <string.h>
#include "sm/base/mem.h"

#define INDEX_SLICE 2048u	/* devices that learn their node in one go */

struct snapshot {
	struct topo *t;			/* the model */
	struct fabric_builder *b;	/* what was collected; owned */
	uint32_t *handle;		/* the builder's, by place in topo.table; FABRIC_NONE */
	uint32_t version;		/* topo.version when it began */
	uint32_t at;			/* next place in topo.table */
	bool cables;			/* devices are in, cables follow */
};

struct snapshot_states {
	const struct fabric *f;		/* as it was; reference held */
	struct fabric_port *ports;	/* as they are; owned */
	uint32_t at;			/* next node */
};

/*
 * What is in it.
 */
/* A link between switches that cannot be brought up, for an end refuses or is silent. */
static bool
link_is_stuck(const struct live_port *p)
{
	const struct live_port *peer = live_peer(p);

	if (p->device->info.node_type != NODE_SWITCH ||
	    peer->device->info.node_type != NODE_SWITCH ||
	    (p->info.state == PORT_ACTIVE && peer->info.state == PORT_ACTIVE))
		return false;
	return p->device->silent || peer->device->silent ||
	       (p->flags | peer->flags) & LIVE_PORT_STUCK;
}

/* The cable is in the snapshot. */
static bool
link_counts(const struct live_port *p)
{
	const struct live_port *peer = live_peer(p);

	return peer && p->peer->complete && live_port_up(p) && live_port_up(peer) &&
		!link_is_stuck(p);
}

static void
describe(struct fabric_port *fp, const struct live_port *p, bool external)
{
	const struct portinfo *i = &p->info;

	*fp = (struct fabric_port){
		.guid = external ? 0 : p->guid,
		.number = p->number,
		.lost_peer = p->peer ? p->peer->guid : p->lost_peer,
		.lost_number = p->peer ? p->peer_number : p->lost_number,
		.lost_type = p->peer ? p->peer->info.node_type : p->lost_type,
		.cap_mask = external ? 0 : i->cap_mask,
		.lid = external ? 0 : i->lid,
		.lmc = external ? 0 : i->lmc,
		.state = i->state,
		.mtu_cap = i->mtu_cap,
		.neighbor_mtu = i->neighbor_mtu,
		.vl_cap = i->vl_cap,
		.op_vls = i->op_vls,
		.width = i->width_active,
		.speed = (uint8_t)portinfo_speed(i),
		.flags = p->flags & LIVE_PORT_REFUSED ? FABRIC_PORT_REFUSED : 0,
	};
	if (link_counts(p))
		fp->lost_peer = 0;
	if (live_port_up(p) && p->peer)
		fp->rate_mbps = link_rate_mbps(fp->width, fp->speed);
}

static void
add_node(struct snapshot *sn, const struct device *d, const struct name_map *names)
{
	const char *mapped = name_map_get(names, d->guid);
	bool is_switch = d->info.node_type == NODE_SWITCH;
	struct fabric_node node = {
		.guid = d->guid,
		.system_guid = d->info.system_guid,
		.name = mapped ? mapped : d->desc,
		.desc = d->desc,
		.vendor_id = d->info.vendor_id,
		.revision = d->info.revision,
		.device_id = d->info.device_id,
		.lft_cap = d->sw.linear_fdb_cap,
		.mft_cap = d->sw.multicast_fdb_cap,
		.pkey_cap = d->info.partition_cap,
		.enforce_cap = is_switch ? d->sw.partition_enforcement_cap : 0,
		.type = d->info.node_type,
		.nports = d->info.num_ports,
		.hops = d->hops,
		.flags = (uint8_t)((d->silent ? FABRIC_NODE_SILENT : 0) |
			 (d->lft_refuses && d->lft_trusted ? FABRIC_NODE_REFUSES_TABLE : 0) |
			 (d->sw.enhanced_port0 ? FABRIC_NODE_ENHANCED_PORT0 : 0) |
			 (d->extended ? FABRIC_NODE_EXTENDED_SPEEDS : 0)),
	};
	uint32_t handle = fabric_add_node(sn->b, &node);
	struct fabric_port fp;

	sn->handle[d->index] = handle;
	for (unsigned n = is_switch ? 0 : 1; n <= d->info.num_ports; n++) {
		if (!(d->ports[n].flags & LIVE_PORT_READ))
			continue;
		describe(&fp, &d->ports[n], is_switch && n);
		fabric_add_port(sn->b, handle, n, &fp);
	}
}

static void
add_links(struct snapshot *sn, const struct device *d)
{
	for (unsigned n = 1; n <= d->info.num_ports; n++) {
		const struct live_port *p = &d->ports[n], *peer = live_peer(p);

		if (!link_counts(p))
			continue;
		/* Once a cable: from the lower (device, port). */
		if (p->peer->index < d->index || (p->peer == d && peer->number < n))
			continue;
		fabric_add_link(sn->b, sn->handle[d->index], n, sn->handle[p->peer->index],
				peer->number);
	}
}

/*
 * Collecting.
 */
static void
begin(struct snapshot *sn)
{
	size_t len = sn->t->len ? sn->t->len : 1;

	sn->b = fabric_builder_new();
	sn->handle = mem_array(len, sizeof(*sn->handle));
	memset(sn->handle, 0xff, len * sizeof(*sn->handle));
	sn->version = sn->t->version;
	sn->at = 0;
	sn->cables = false;
}

static void
drop(struct snapshot *sn)
{
	if (sn->b)
		fabric_unref(fabric_build(sn->b, 0));
	mem_free(sn->handle);
}

struct snapshot *
snapshot_new(struct topo *t)
{
	struct snapshot *sn = mem_zalloc(sizeof(*sn));

	sn->t = t;
	begin(sn);
	return sn;
}

void
snapshot_free(struct snapshot *sn)
{
	if (!sn)
		return;
	drop(sn);
	mem_free(sn);
}

/* True: all devices were walked over. */
static bool
walk(struct snapshot *sn, const struct name_map *names)
{
	const struct topo *t = sn->t;
	uint32_t ports = 0;

	while (sn->at < t->len && ports < SNAPSHOT_SLICE) {
		const struct device *d = t->table[sn->at++];

		if (!d)
			continue;
		ports += d->info.num_ports + SNAPSHOT_DEVICE;
		if (sn->cables)
			add_links(sn, d);
		else if (d->complete)
			add_node(sn, d, names);
	}
	return sn->at == t->len;
}

/* What belongs to no device that is there. */
static void
add_rest(struct snapshot *sn)
{
	struct topo *t = sn->t;

	ghosts_tell(t, &t->ghosts, sn->b);
	if (t->own && t->own->complete)
		fabric_set_sm(sn->b, sn->handle[t->own->index],
			      t->own->info.node_type == NODE_SWITCH ? 0 : t->own_port);
}

bool
snapshot_slice(struct snapshot *sn, const struct name_map *names)
{
	if (sn->version != sn->t->version) {
		drop(sn);
		begin(sn);
	}
	if (!walk(sn, names))
		return false;
	if (sn->cables) {
		add_rest(sn);
		return true;
	}
	sn->cables = true;
	sn->at = 0;
	return false;
}

struct fabric_builder *
snapshot_end(struct snapshot *sn)
{
	struct fabric_builder *b = sn->b;

	sn->b = NULL;
	snapshot_free(sn);
	return b;
}

bool
snapshot_index(struct topo *t, const struct fabric *f, uint32_t *at)
{
	uint32_t end = t->len - *at > INDEX_SLICE ? *at + INDEX_SLICE : t->len;

	if (*at == 0) {
		mem_free(t->by_node);
		t->by_node = mem_array(f->nnodes + 1u, sizeof(*t->by_node));
		t->nby_node = f->nnodes;
	}
	for (; *at < end; ++*at) {
		struct device *d = t->table[*at];

		if (!d)
			continue;
		d->fabric_node = d->complete ? fabric_node_by_guid(f, d->guid) : FABRIC_NONE;
		if (d->fabric_node != FABRIC_NONE)
			t->by_node[d->fabric_node] = *at;
	}
	return *at >= t->len;
}

const struct fabric *
snapshot_take(struct topo *t, const struct name_map *names, uint64_t generation)
{
	struct snapshot *sn = snapshot_new(t);
	const struct fabric *f;
	uint32_t at = 0;

	while (!snapshot_slice(sn, names))
		;
	f = fabric_build(snapshot_end(sn), generation);
	while (!snapshot_index(t, f, &at))
		;
	return f;
}

/*
 * States of ports.
 */
struct snapshot_states *
snapshot_states_new(const struct fabric *f)
{
	struct snapshot_states *st = mem_zalloc(sizeof(*st));

	st->f = fabric_ref(f);
	st->ports = mem_array(f->nports ? f->nports : 1, sizeof(*st->ports));
	return st;
}

/* Where the port's cable leads stays as it was. */
static void
describe_anew(struct fabric_port *fp, const struct live_port *p, bool external)
{
	struct fabric_port old = *fp;

	describe(fp, p, external);
	fp->guid = old.guid;
	fp->node = old.node;
	fp->peer = old.peer;
	if (old.flags & FABRIC_PORT_DRAINED) {
		fp->lost_peer = old.lost_peer;
		fp->lost_number = old.lost_number;
		fp->flags |= FABRIC_PORT_DRAINED;
	}
}

static void
node_states(struct snapshot_states *st, const struct topo *t, const struct fabric_node *node)
{
	const struct device *d = topo_find(t, node->guid);
	struct fabric_port *fp = st->ports + node->first_port;
	bool is_switch = node->type == NODE_SWITCH;

	memcpy(fp, st->f->ports + node->first_port, (node->nports + 1u) * sizeof(*fp));
	if (!d || d->info.num_ports != node->nports)
		return;
	for (unsigned n = is_switch ? 0 : 1; n <= node->nports; n++)
		if (d->ports[n].flags & LIVE_PORT_READ)
			describe_anew(&fp[n], &d->ports[n], is_switch && n);
}

bool
snapshot_states_slice(struct snapshot_states *st, const struct topo *t)
{
	uint32_t ports = 0;

	while (st->at < st->f->nnodes && ports < SNAPSHOT_SLICE) {
		const struct fabric_node *node = &st->f->nodes[st->at++];

		node_states(st, t, node);
		ports += node->nports + SNAPSHOT_DEVICE;
	}
	return st->at == st->f->nnodes;
}

void
snapshot_states_free(struct snapshot_states *st)
{
	if (!st)
		return;
	fabric_unref(st->f);
	mem_free(st->ports);
	mem_free(st);
}

const struct fabric *
snapshot_states_end(struct snapshot_states *st, uint64_t generation)
{
	const struct fabric *f = fabric_with_ports(st->f, st->ports, generation);

	st->ports = NULL;
	snapshot_states_free(st);
	return f;
}
