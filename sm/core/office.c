/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who led this subnet last. When we have programmed it, the store is told our port's GUID and LID.
 * After a restart that finds itself there, hosts need not register again: what they were told, they
 * were told by us (IBA 14.4.11). When a peer was seen to lead since, the note is taken back. How
 * long hosts have time to register again after a takeover is in the store, too.
 */
#include "sm/core/subnet_i.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void
office_key(const struct subnet *s, char key[64])
{
	snprintf(key, 64, "master %s", s->conf->name);
}

static uint16_t
our_lid(const struct subnet *s)
{
	uint32_t port = s->plan->fabric->sm_port;

	return port == FABRIC_NONE ? 0 : s->plan->lids->base[port];
}

static void
office_value(const struct subnet *s, char value[64])
{
	char guid[GUID_TEXT_SIZE];

	snprintf(value, 64, "%s %u", guid_text(guid, s->port->id.guid), our_lid(s));
}

/*
 * What hosts were told of service levels. They keep them for as long as their connections last,
 * whoever manages the subnet meanwhile.
 */
static void
given_key(const struct subnet *s, char key[64])
{
	snprintf(key, 64, "sls %s", s->conf->name);
}

static void
given_save(struct subnet *s, const struct compose_given *g)
{
	char key[64], value[128];

	if (!memcmp(g, &s->given, sizeof(*g)))
		return;
	s->given = *g;
	given_key(s, key);
	snprintf(value, sizeof(value), "%s %u 0x%04x 0x%04x 0x%016" PRIx64 " 0x%016" PRIx64,
		 g->engine, g->classes, g->sls, g->stale, g->class_of, g->pairs);
	store_put(s->env.store, STORE_META, key, value);
	store_commit(s->env.store, NULL, NULL);
}

static void
given_load(struct subnet *s, const char *value)
{
	struct compose_given g = { 0 };
	unsigned classes, sls, stale;
	int n = sscanf(value, "%31s %u %x %x %" SCNx64 " %" SCNx64, g.engine, &classes, &sls,
		       &stale, &g.class_of, &g.pairs);

	if (n < 4 || classes > SLS_LEN || sls > UINT16_MAX || stale > UINT16_MAX)
		return;
	g.classes = (uint16_t)classes;
	g.sls = (uint16_t)sls;
	g.stale = (uint16_t)stale;
	/* Before there were levels: one, whose class 0 had SL 0, class 1 SL 15, and so on. */
	for (unsigned class = 1; n < 5 && class < classes; class++)
		g.class_of |= (uint64_t)class << 4 * (SLS_LEN - class);
	s->given = g;
}

void
office_gave(struct subnet *s, const struct compose_given *before)
{
	struct compose_given g = compose_give(before, s->plan);

	given_save(s, &g);
}

static void
doubt_key(const struct subnet *s, char key[64])
{
	snprintf(key, 64, "registering %s", s->conf->name);
}

void
office_doubt(struct subnet *s, int64_t wall)
{
	char key[64], value[32];

	s->doubt_wall = wall;
	doubt_key(s, key);
	snprintf(value, sizeof(value), "%" PRId64, wall);
	store_put(s->env.store, STORE_META, key, value);
	store_commit(s->env.store, NULL, NULL);
}

static void
load_row(void *arg, const char *key, const char *value)
{
	struct subnet *s = arg;
	char ours[64];

	office_key(s, ours);
	if (!strcmp(key, ours))
		snprintf(s->office, sizeof(s->office), "%s", value);
	given_key(s, ours);
	if (!strcmp(key, ours))
		given_load(s, value);
	doubt_key(s, ours);
	if (!strcmp(key, ours))
		s->doubt_wall = strtoll(value, NULL, 10);
}

void
office_take(struct subnet *s, const char *key, const char *value)
{
	char ours[64];

	given_key(s, ours);
	if (value && !strcmp(key, ours))
		given_load(s, value);
}

void
office_load(struct subnet *s)
{
	struct error e;

	if (store_scan(s->env.store, STORE_META, load_row, s, &e))
		log_warning("who led the subnet last cannot be read: %s", e.text);
}

/* Another port holds our LID: who led where we were not may have had it, and been taken for us. */
static bool
lid_is_claimed(const struct subnet *s)
{
	const struct live_port *own = &s->topo.own->ports[s->topo.own_port];

	list_each(it, &s->topo.devices) {
		const struct device *d = list_entry(it, struct device, all);
		unsigned last = d->info.node_type == NODE_SWITCH ? 0 : d->info.num_ports;

		for (unsigned n = 0; n <= last; n++) {
			const struct live_port *p = &d->ports[n];
			unsigned len = 1u << p->info.lmc, lid = our_lid(s);

			if (p != own && p->flags & LIVE_PORT_READ && p->info.lid &&
			    lid >= p->info.lid && lid < p->info.lid + len)
				return true;
		}
	}
	return false;
}

void
office_look(struct subnet *s)
{
	if (lid_is_claimed(s))
		s->office[0] = '\0';
}

bool
office_is_ours(const struct subnet *s)
{
	char value[64];

	office_value(s, value);
	return !strcmp(value, s->office);
}

void
office_remember(struct subnet *s)
{
	char key[64], value[64];

	office_value(s, value);
	if (!strcmp(value, s->office))
		return;
	snprintf(s->office, sizeof(s->office), "%s", value);
	office_key(s, key);
	store_put(s->env.store, STORE_META, key, value);
	store_commit(s->env.store, NULL, NULL);
}

void
office_leave(struct subnet *s)
{
	struct compose_given g = s->given;
	char key[64];

	/* Whoever it is, hosts are told of SL 0 at least. */
	g.stale |= 1;
	if (g.engine[0])
		given_save(s, &g);
	if (!s->office[0])
		return;
	s->office[0] = '\0';
	office_key(s, key);
	store_delete(s->env.store, STORE_META, key);
	store_commit(s->env.store, NULL, NULL);
}
