/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Devices that are gone. A switch is often not the only thing that goes: the hosts behind it do
 * too, and a power supply takes a whole rack along. What they were cabled to among themselves none
 * that is left remembers. So each device leaves that behind when it goes, and takes it back when it
 * returns, for its neighbours may still be away then.
 *
 * A cable is forgotten when the port at its other end has got another one: that was no fault, but a
 * change. Else it is remembered until an administrator has what is lost forgotten.
 */
#include "sm/core/ghosts.h"

#include "sm/base/mem.h"
#include "sm/core/topo.h"

struct ghost_port {
	uint64_t peer;		/* node GUID at the other end; 0: none */
	uint8_t number;		/* port number there */
	uint8_t type;		/* enum node_type of it */
};

struct ghost {
	uint64_t guid;			/* node GUID */
	uint8_t type;			/* enum node_type */
	uint8_t nports;			/* length of port[] - 1 */
	struct ghost_port port[];	/* by number, [0] is not in use */
};

static void
drop(struct ghosts *g, uint32_t at)
{
	map_remove(&g->by_guid, g->list[at]->guid);
	mem_free(g->list[at]);
	g->list[at] = g->list[--g->len];
	if (at < g->len)
		map_set(&g->by_guid, g->list[at]->guid, at);
}

void
ghosts_free(struct ghosts *g)
{
	while (g->len)
		drop(g, g->len - 1);
	mem_free(g->list);
	map_free(&g->by_guid);
	*g = (struct ghosts){ 0 };
}

static struct ghost *
ghost_of(const struct device *d)
{
	unsigned nports = d->info.num_ports, cables = 0;
	struct ghost *gh = mem_zalloc(sizeof(*gh) + (nports + 1) * sizeof(gh->port[0]));

	gh->guid = d->guid;
	gh->type = d->info.node_type;
	gh->nports = (uint8_t)nports;
	for (unsigned n = 1; n <= nports; n++) {
		const struct live_port *p = &d->ports[n];

		gh->port[n] = (struct ghost_port){ p->lost_peer, p->lost_number, p->lost_type };
		cables += p->lost_peer != 0;
	}
	if (cables)
		return gh;
	mem_free(gh);
	return NULL;
}

void
ghosts_add(struct ghosts *g, const struct device *d)
{
	struct ghost *gh = ghost_of(d);
	uint32_t at = map_get(&g->by_guid, d->guid);

	if (!gh)
		return;
	if (at != MAP_NONE)
		drop(g, at);
	if (g->len == g->size) {
		g->size = g->size ? g->size * 2 : 16;
		g->list = mem_realloc(g->list, g->size, sizeof(struct ghost *));
	}
	map_set(&g->by_guid, gh->guid, g->len);
	g->list[g->len++] = gh;
}

void
ghosts_recall(struct ghosts *g, struct device *d)
{
	uint32_t at = map_get(&g->by_guid, d->guid);
	const struct ghost *gh = at == MAP_NONE ? NULL : g->list[at];

	for (unsigned n = 1; gh && n <= gh->nports && n <= d->info.num_ports; n++) {
		d->ports[n].lost_peer = gh->port[n].peer;
		d->ports[n].lost_number = gh->port[n].number;
		d->ports[n].lost_type = gh->port[n].type;
	}
}

/* The port at the other end has, or had later, another cable. */
static bool
is_outdated(const struct topo *t, const struct ghost *gh, unsigned n)
{
	const struct device *far = topo_find(t, gh->port[n].peer);
	const struct live_port *p;

	if (!far)
		return false;
	if (gh->port[n].number > far->info.num_ports)
		return true;
	p = &far->ports[gh->port[n].number];
	return p->peer || (p->lost_peer && (p->lost_peer != gh->guid || p->lost_number != n));
}

void
ghosts_tell(const struct topo *t, struct ghosts *g, struct fabric_builder *b)
{
	for (uint32_t at = g->len; at-- > 0;) {
		struct ghost *gh = g->list[at];
		const struct device *back = topo_find(t, gh->guid);
		unsigned cables = 0;

		for (unsigned n = 1; n <= gh->nports && !(back && back->complete); n++) {
			if (gh->port[n].peer && is_outdated(t, gh, n))
				gh->port[n].peer = 0;
			if (!gh->port[n].peer)
				continue;
			cables++;
			fabric_add_lost(b, &(struct fabric_lost){
				.guid = { gh->guid, gh->port[n].peer },
				.number = { (uint8_t)n, gh->port[n].number },
				.type = { gh->type, gh->port[n].type },
			});
		}
		if (!cables)
			drop(g, at);
	}
}
