/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The live model: devices and cables.
 *
 * Devices are owned here and live from the first NodeInfo that named them until a sweep finds that
 * no cable leads to them any more. Links are kept at both ends. Directed routes (IBA 14.2.2) are
 * derived from the links: a switch and our own node carry one, a CA port is reached through the
 * switch port that it hangs on.
 */
#include "sm/core/topo.h"

#include <stdio.h>
#include <string.h>
#include "sm/base/mem.h"
#include "sm/core/lanes.h"
#include "sm/core/remarks.h"

#define FETCH_AHEAD 8u	/* nodes */

void
topo_init(struct topo *t)
{
	memset(t, 0, sizeof(*t));
	list_init(&t->devices);
	list_init(&t->claims);
	list_init(&t->remarked);
	tables_init(&t->tables);
}

static void
device_free(struct topo *t, struct device *d)
{
	plan_row_unref(d->lft);
	plan_row_unref(d->lft_read);
	plan_row_unref(d->lft_tried);
	adaptive_free(d);
	mem_free(d->order);
	mft_free(&d->mft);
	lane_tables_unref(d->lanes);
	plan_sls_unref(d->lanes_plan);
	for (unsigned n = 0; n <= d->info.num_ports; n++) {
		mem_free(d->ports[n].guids);
		congestion_free(t, &d->ports[n]);
	}
	tables_forget_device(&t->tables, d);
	remarks_forget(t, d);
	mem_free(d->ports);
	mem_free(d);
}

void
topo_free(struct topo *t)
{
	struct topo_watch watch;

	list_each(it, &t->devices)
		device_free(t, list_entry(it, struct device, all));
	map_free(&t->by_guid);
	map_free(&t->by_port_guid);
	map_free(&t->extended);
	mem_free(t->table);
	mem_free(t->by_node);
	tables_free(&t->tables);
	ghosts_free(&t->ghosts);
	watch = t->watch;
	topo_init(t);
	t->watch = watch;
}

void
topo_reset(struct topo *t)
{
	struct topo_watch watch = t->watch;
	struct ghosts ghosts;

	t->watch = (struct topo_watch){ 0 };
	list_each(it, &t->devices) {
		struct device *d = list_entry(it, struct device, all);

		for (unsigned n = 1; n <= d->info.num_ports; n++)
			topo_unlink(t, &d->ports[n]);
		ghosts_add(&t->ghosts, d);
	}
	ghosts = t->ghosts;
	t->ghosts = (struct ghosts){ 0 };
	topo_free(t);
	t->ghosts = ghosts;
	t->watch = watch;
}

static void
device_cancel(struct device *d, struct transact *x)
{
	transact_cancel(x, &d->agent.target);
	transact_cancel(x, &d->tables.agent.target);
	list_remove(&d->tables.active);
	for (unsigned n = 0; n <= d->info.num_ports; n++) {
		transact_cancel(x, &d->ports[n].probe.target);
		list_remove(&d->ports[n].wait);
		list_remove(&d->ports[n].claim);
	}
}

void
topo_cancel(struct topo *t, struct transact *x)
{
	list_each(it, &t->devices)
		device_cancel(list_entry(it, struct device, all), x);
}

/* A free place of the table: a hole that a departed device left, or a new one at the end. */
static uint32_t
table_place(struct topo *t)
{
	for (uint32_t i = 0; t->holes && i < t->len; i++) {
		if (t->table[i])
			continue;
		t->holes--;
		return i;
	}
	if (t->len == t->size) {
		t->size = t->size ? t->size * 2 : 64;
		t->table = mem_realloc(t->table, t->size, sizeof(*t->table));
	}
	return t->len++;
}

static void
table_add(struct topo *t, struct device *d)
{
	d->index = table_place(t);
	t->table[d->index] = d;
	map_set(&t->by_guid, d->guid, d->index);
}

struct device *
topo_add(struct topo *t, const struct nodeinfo *info)
{
	struct device *d = mem_zalloc(sizeof(*d));

	d->guid = info->node_guid;
	d->info = *info;
	d->fabric_node = FABRIC_NONE;
	d->agent.kind = AGENT_DEVICE;
	transact_target_init(&d->agent.target);
	d->tables.agent.kind = AGENT_READER;
	transact_target_init(&d->tables.agent.target);
	list_init(&d->tables.active);
	list_init(&d->remarked);
	d->tables.due = true;
	d->ports = mem_array(info->num_ports + 1u, sizeof(*d->ports));
	for (unsigned n = 0; n <= info->num_ports; n++) {
		struct live_port *p = &d->ports[n];

		p->device = d;
		p->number = (uint8_t)n;
		p->probe.kind = AGENT_PROBE;
		transact_target_init(&p->probe.target);
		list_init(&p->wait);
		list_init(&p->claim);
	}
	if (info->node_type == NODE_SWITCH)
		d->ports[0].guid = info->port_guid;
	ghosts_recall(&t->ghosts, d);
	list_append(&t->devices, &d->all);
	table_add(t, d);
	t->version++;
	return d;
}

struct device *
topo_find(const struct topo *t, uint64_t guid)
{
	uint32_t i = map_get(&t->by_guid, guid);

	return i < t->len && t->table[i] && t->table[i]->guid == guid ? t->table[i] : NULL;
}

static struct device *
device_at(const struct topo *t, uint32_t node, uint64_t guid)
{
	uint32_t i = node < t->nby_node ? t->by_node[node] : MAP_NONE;

	return i < t->len && t->table[i] && t->table[i]->guid == guid ? t->table[i] : NULL;
}

/* The device that is some nodes further on; NULL: there is none. */
static const struct device *
ahead(const struct topo *t, uint32_t node)
{
	uint32_t at = node + FETCH_AHEAD;
	uint32_t i = at < t->nby_node ? t->by_node[at] : MAP_NONE;

	return i < t->len ? t->table[i] : NULL;
}

/* Whoever goes through all nodes finds the next in the processor's cache: to wait for memory took
 * longer than all else. */
struct device *
topo_find_near(struct topo *t, uint64_t guid)
{
	struct device *d = device_at(t, t->near, guid);
	const struct device *next;

	if (d)
		return d;
	d = device_at(t, t->near + 1, guid);
	if (d) {
		t->near++;
		next = ahead(t, t->near);
		if (next) {
			__builtin_prefetch(&next->guid);
			__builtin_prefetch(&next->info);
			__builtin_prefetch(&next->ports);
		}
		return d;
	}
	d = topo_find(t, guid);
	if (d)
		t->near = d->fabric_node;
	return d;
}

/* The holder of this GUID is not what or where it was: claims to it are to be looked at again. */
static void
wake_claims(struct topo *t, uint64_t guid)
{
	list_each(it, &t->claims) {
		struct live_port *p = list_entry(it, struct live_port, claim);

		if (!guid || p->claim_guid != guid)
			continue;
		p->flags |= LIVE_PORT_CLAIM_DUE;
		t->claims_due = true;
	}
}

struct live_port *
topo_find_port(const struct topo *t, uint64_t guid)
{
	uint32_t i = guid ? map_get(&t->by_port_guid, guid) : MAP_NONE;
	struct device *d = i < t->len ? t->table[i] : NULL;

	for (unsigned n = 1; d && n <= d->info.num_ports; n++)
		if (d->ports[n].guid == guid)
			return &d->ports[n];
	return NULL;
}

void
topo_set_port_guid(struct topo *t, struct live_port *p, uint64_t guid)
{
	struct live_port *holder = topo_find_port(t, guid);

	if (p->guid == guid)
		return;
	if (holder)
		holder->guid = 0;
	if (p->guid) {
		map_remove(&t->by_port_guid, p->guid);
		wake_claims(t, p->guid);
	}
	p->guid = guid;
	if (guid)
		map_set(&t->by_port_guid, guid, p->device->index);
}

void
topo_remove(struct topo *t, struct transact *x, struct device *d)
{
	device_cancel(d, x);
	for (unsigned n = 0; n <= d->info.num_ports; n++) {
		topo_unlink(t, &d->ports[n]);
		if (d->info.node_type != NODE_SWITCH)
			topo_set_port_guid(t, &d->ports[n], 0);
	}
	ghosts_add(&t->ghosts, d);
	wake_claims(t, d->guid);
	if (t->watch.node && d->complete)
		t->watch.node(t->watch.arg, d, false);
	t->version++;
	list_remove(&d->all);
	map_remove(&t->by_guid, d->guid);
	t->table[d->index] = NULL;
	t->holes++;
	if (t->own == d)
		t->own = NULL;
	device_free(t, d);
}

void
topo_unlink(struct topo *t, struct live_port *p)
{
	struct live_port *peer = live_peer(p);

	if (!peer)
		return;
	if (t->watch.link)
		t->watch.link(t->watch.arg, p, peer, false);
	p->lost_peer = peer->device->guid;
	p->lost_number = peer->number;
	p->lost_type = peer->device->info.node_type;
	peer->lost_peer = p->device->guid;
	peer->lost_number = p->number;
	peer->lost_type = p->device->info.node_type;
	peer->peer = NULL;
	p->peer = NULL;
	t->version++;
	t->path_version++;
	wake_claims(t, p->device->guid);
	wake_claims(t, peer->device->guid);
	wake_claims(t, p->guid);
	wake_claims(t, peer->guid);
}

void
topo_link(struct topo *t, struct live_port *a, struct live_port *b)
{
	if (live_peer(a) == b)
		return;
	topo_unlink(t, a);
	topo_unlink(t, b);
	a->lost_peer = b->lost_peer = 0;
	a->peer = b->device;
	a->peer_number = b->number;
	b->peer = a->device;
	b->peer_number = a->number;
	/* Packets will pass by maps that were not looked at while none did. */
	a->device->lanes_changed = b->device->lanes_changed = true;
	t->version++;
	t->walk_version = t->path_version - 1;	/* there may be ways where there were none */
	if (t->watch.link)
		t->watch.link(t->watch.arg, a, b, true);
}

void
topo_doubt_link(struct live_port *p)
{
	p->fell = true;
	if (p->peer)
		live_peer(p)->fell = true;
}

void
topo_forget_lost(struct topo *t)
{
	list_each(it, &t->devices) {
		struct device *d = list_entry(it, struct device, all);

		for (unsigned n = 1; n <= d->info.num_ports; n++)
			d->ports[n].lost_peer = 0;
	}
	ghosts_free(&t->ghosts);
}

/* Whose path leads to a port: a CA does not forward, so each of its ports is reached through its
 * own cable. NULL: nobody's. */
static struct device *
path_owner(const struct topo *t, struct device *d, unsigned number)
{
	struct device *via = d;

	if (d->info.node_type != NODE_SWITCH && !(d == t->own && number == t->own_port)) {
		via = number > d->info.num_ports ? NULL : d->ports[number].peer;
		if (via && via->info.node_type != NODE_SWITCH && via != t->own)
			return NULL;
	}
	return via;
}

int
topo_path(const struct topo *t, const struct device *d, unsigned number,
	  uint8_t path[SMP_MAX_HOPS + 1])
{
	const struct device *via = path_owner(t, (struct device *)(uintptr_t)d, number);
	int hops;

	if (!via)
		return -1;
	hops = via->hops;
	memcpy(path, via->path, (size_t)hops + 1);
	if (via == d)
		return hops;
	if (hops == SMP_MAX_HOPS)
		return -1;
	path[hops + 1] = d->ports[number].peer_number;
	return hops + 1;
}

/* Extend the path of `from` by its port `out` to `to`. */
static bool
path_extend(struct topo *t, const struct device *from, unsigned out, struct device *to)
{
	if (from->hops >= SMP_MAX_HOPS)
		return false;
	memcpy(to->path, from->path, from->hops + 1u);
	to->hops = (uint8_t)(from->hops + 1);
	to->path[to->hops] = (uint8_t)out;
	to->path_version = t->path_version;
	return true;
}

static bool
may_forward(const struct topo *t, const struct device *d, bool through_silent)
{
	if (d != t->own && d->info.node_type != NODE_SWITCH)
		return false;
	return through_silent || (!d->silent && !d->suspect);
}

/* Breadth-first over the links; with `paths` each device gets its route on first arrival. */
static void
topo_walk(struct topo *t, uint32_t mark, bool paths)
{
	struct device **queue = mem_array(t->len ? t->len : 1, sizeof(struct device *));
	uint32_t head = 0, tail = 0;

	if (t->own) {
		t->own->hops = 0;
		t->own->mark = mark;
		t->own->path_version = t->path_version;
		queue[tail++] = t->own;
	}
	while (head < tail) {
		struct device *d = queue[head++];
		bool is_switch = d->info.node_type == NODE_SWITCH;

		if (!may_forward(t, d, !paths))
			continue;
		for (unsigned n = 1; n <= d->info.num_ports; n++) {
			struct device *peer = d->ports[n].peer;

			if (!peer || peer->mark == mark || (!is_switch && n != t->own_port))
				continue;
			if (paths && !path_extend(t, d, n, peer))
				continue;
			peer->mark = mark;
			queue[tail++] = peer;
		}
	}
	mem_free(queue);
}

void
topo_make_paths(struct topo *t, uint32_t mark)
{
	topo_walk(t, mark, true);
	t->walk_version = t->path_version;
}

void
topo_mark_connected(struct topo *t, uint32_t mark)
{
	topo_walk(t, mark, false);
}

uint64_t
topo_path_hash(const struct device *d)
{
	uint64_t h = 0xcbf29ce484222325u ^ d->hops;	/* FNV-1a */

	for (unsigned i = 1; i <= d->hops; i++)
		h = (h ^ d->path[i]) * 0x100000001b3u;
	return h;
}

bool
topo_other_path(struct topo *t, struct device *d)
{
	for (unsigned n = 1; n <= d->info.num_ports; n++) {
		const struct live_port *p = &d->ports[n];
		const struct device *via = p->peer;

		if (!via || via->silent || via->suspect || via == d)
			continue;
		if (via->info.node_type != NODE_SWITCH && via != t->own)
			continue;
		if (via->hops + 1 == d->hops && d->path[d->hops] == p->peer_number &&
		    !memcmp(via->path, d->path, via->hops + 1u))
			continue;
		/* A path through the device itself leads nowhere. */
		if (via->hops > d->hops && !memcmp(via->path, d->path, d->hops + 1u))
			continue;
		return path_extend(t, via, p->peer_number, d);
	}
	return false;
}

bool
topo_path_leads(const struct topo *t, const struct device *d, const uint8_t *path, unsigned hops)
{
	const struct device *at = t->own;

	for (unsigned i = 1; at && i <= hops; i++)
		at = path[i] <= at->info.num_ports ? at->ports[path[i]].peer : NULL;
	return at == d;
}

/* Over the nearest neighbour whose own path is in order and does not lead through the device. */
static bool
path_over_neighbour(struct topo *t, struct device *d)
{
	const struct live_port *best = NULL;

	for (unsigned n = 1; n <= d->info.num_ports; n++) {
		const struct live_port *p = &d->ports[n];
		const struct device *via = p->peer;

		if (!via || via == d || !may_forward(t, via, false) ||
		    (best && best->peer->hops <= via->hops) ||
		    !topo_path_leads(t, via, via->path, via->hops) ||
		    (via->hops > d->hops && !memcmp(via->path + 1, d->path + 1, d->hops)))
			continue;
		best = p;
	}
	return best && path_extend(t, best->peer, best->peer_number, d);
}

bool
topo_mend_path(struct topo *t, struct device *d, unsigned number)
{
	struct device *via = path_owner(t, d, number);

	if (!via || via->path_version == t->path_version)
		return via != NULL;
	if (topo_path_leads(t, via, via->path, via->hops))
		via->path_version = t->path_version;
	else if (!path_over_neighbour(t, via) && t->walk_version != t->path_version)
		topo_make_paths(t, ++t->marks);
	return via->path_version == t->path_version;
}

const char *
device_text(char buf[DEVICE_TEXT_SIZE], const struct device *d, const struct name_map *names)
{
	const char *mapped = name_map_get(names, d->guid);
	char guid[GUID_TEXT_SIZE];

	guid_text(guid, d->guid);
	if (mapped || d->desc[0])
		snprintf(buf, DEVICE_TEXT_SIZE, "\"%.64s\" (%s)", mapped ? mapped : d->desc, guid);
	else
		snprintf(buf, DEVICE_TEXT_SIZE, "%s", guid);	/* its name is not yet known */
	return buf;
}

const char *
path_text(char buf[PATH_TEXT_SIZE], const uint8_t *path, unsigned hops)
{
	int len = snprintf(buf, PATH_TEXT_SIZE, "0");

	for (unsigned i = 1; i <= hops; i++)
		len += snprintf(buf + len, (size_t)(PATH_TEXT_SIZE - len), ",%u", path[i]);
	return buf;
}
