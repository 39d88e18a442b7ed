/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/fabric/rails.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sm/base/map.h"
#include "sm/fabric/rails_impl.h"

/*
 * Devices and hosts of several snapshots. A name of two words is that of a host and of its device;
 * what is called otherwise, or as another device is, goes by its system image GUID. A CA that has
 * the system image of the switch that it hangs on is a part of that switch and no host's.
 */
#define DEVICES_MAX 1024u		/* names of devices that are told apart */

struct device {
	const char *host;	/* in the region */
	const char *name;	/* of the device */
	uint32_t plane;
	uint32_t port;		/* fabric port index */
	bool named;
};

struct collection {
	const struct fabric *const *planes;
	uint32_t nplanes;
	struct region *region;
	struct device *list;	/* one for each port */
	uint32_t len, size;
};

/* "node2" before "node10": digits by value. */
static int
natural(const char *a, const char *b)
{
	while (*a && *b) {
		if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
			size_t la, lb;
			int c;

			a += strspn(a, "0");
			b += strspn(b, "0");
			la = strspn(a, "0123456789");
			lb = strspn(b, "0123456789");
			c = la != lb ? (la < lb ? -1 : 1) : strncmp(a, b, la);
			if (c)
				return c;
			a += la;
			b += lb;
		} else if (*a != *b) {
			return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
		} else {
			a++;
			b++;
		}
	}
	return *a ? 1 : *b ? -1 : 0;
}

/* And a name with zeros in front is another one. */
static int
order(const char *a, const char *b)
{
	int c = a == b ? 0 : natural(a, b);

	return c || a == b ? c : strcmp(a, b);
}

static int
device_cmp(const void *x, const void *y)
{
	const struct device *a = x, *b = y;
	int c = order(a->host, b->host);

	if (!c)
		c = order(a->name, b->name);
	if (!c && a->plane != b->plane)
		c = a->plane < b->plane ? -1 : 1;
	return c ? c : (a->port > b->port) - (a->port < b->port);
}

static bool
is_part_of_switch(const struct fabric *f, const struct fabric_port *p)
{
	const struct fabric_node *n = &f->nodes[p->node], *peer;

	if (p->peer == FABRIC_NONE || !n->system_guid)
		return false;
	peer = &f->nodes[f->ports[p->peer].node];
	return peer->type == NODE_SWITCH && peer->system_guid == n->system_guid;
}

/* Two words: the host, and its device. */
static bool
split(struct region *r, const char *name, struct device *d)
{
	size_t host = strcspn(name, " \t"), gap = strspn(name + host, " \t");
	const char *device = name + host + gap;
	char *text;

	if (!host || !gap || !*device || device[strcspn(device, " \t")])
		return false;
	text = region_strdup(r, name);
	text[host] = '\0';
	d->host = text;
	d->name = text + host + gap;
	return true;
}

static uint32_t
ports_in_use(const struct fabric *f, const struct fabric_node *n)
{
	uint32_t used = 0;

	for (unsigned i = 1; i <= n->nports; i++)
		used += f->ports[n->first_port + i].peer != FABRIC_NONE;
	return used;
}

static void
add_port(struct collection *c, uint32_t plane, uint32_t port)
{
	const struct fabric *f = c->planes[plane];
	const struct fabric_port *p = &f->ports[port];
	const struct fabric_node *n = &f->nodes[p->node];
	struct device d = { .plane = plane, .port = port };

	if (p->peer == FABRIC_NONE || is_part_of_switch(f, p))
		return;
	d.named = split(c->region, n->name, &d);
	if (!d.named) {
		uint64_t guid = n->system_guid ? n->system_guid : n->guid;

		d.host = region_printf(c->region, "0x%016llx", (unsigned long long)guid);
		d.name = region_printf(c->region, "0x%016llx", (unsigned long long)n->guid);
	}
	if (ports_in_use(f, n) > 1)
		d.name = region_printf(c->region, "%s/%u", d.name, p->number);
	if (c->len == c->size) {
		c->size = c->size ? 2 * c->size : 256;
		c->list = mem_realloc(c->list, c->size, sizeof(*c->list));
	}
	c->list[c->len++] = d;
}

static void
collect(struct collection *c)
{
	for (uint32_t plane = 0; plane < c->nplanes; plane++) {
		const struct fabric *f = c->planes[plane];

		for (uint32_t i = 0; i < f->nports; i++)
			if (f->nodes[f->ports[i].node].type == NODE_CA && f->ports[i].number)
				add_port(c, plane, i);
	}
	if (c->len)
		qsort(c->list, c->len, sizeof(*c->list), device_cmp);
}

/* Devices of one name in one plane at one host are not that host's: the name says nothing. */
static bool
clash(const struct device *a, const struct device *b)
{
	return a->named && a->plane == b->plane && !strcmp(a->host, b->host) &&
	       !strcmp(a->name, b->name);
}

static void
unname_clashes(struct collection *c)
{
	bool *bad = mem_array(c->len + 1, sizeof(*bad)), any = false;

	for (uint32_t i = 1; i < c->len; i++)
		if (clash(&c->list[i - 1], &c->list[i]))
			any = bad[i - 1] = bad[i] = true;
	for (uint32_t i = 0; i < c->len; i++) {
		struct device *d = &c->list[i];
		const struct fabric *f = c->planes[d->plane];
		const struct fabric_node *n = &f->nodes[f->ports[d->port].node];

		if (!bad[i])
			continue;
		d->named = false;
		d->host = region_printf(c->region, "0x%016llx", (unsigned long long)
					(n->system_guid ? n->system_guid : n->guid));
		d->name = region_printf(c->region, "0x%016llx/%u", (unsigned long long)n->guid,
					f->ports[d->port].number);
	}
	if (any)
		qsort(c->list, c->len, sizeof(*c->list), device_cmp);
	mem_free(bad);
}

static int
text_cmp(const void *a, const void *b)
{
	return order(*(const char *const *)a, *(const char *const *)b);
}

/* The different names of devices that enough have to make a rule, in their order; "" stands for all
 * others. */
static void
list_devices(struct rails *r, const struct collection *c)
{
	const char **all = mem_array(c->len + 1, sizeof(*all));
	uint32_t n = 0;

	for (uint32_t i = 0; i < c->len; i++)
		if (c->list[i].named)
			all[n++] = c->list[i].name;
	if (n)
		qsort(all, n, sizeof(*all), text_cmp);
	r->devices = region_array(r->region, DEVICES_MAX, sizeof(*r->devices));
	r->devices[r->ndevices++] = "";
	for (uint32_t i = 0, same; i < n && r->ndevices < DEVICES_MAX; i += same) {
		for (same = 1; i + same < n && !strcmp(all[i], all[i + same]);)
			same++;
		if (same >= RAILS_FEW)
			r->devices[r->ndevices++] = all[i];
	}
	mem_free(all);
}

static uint32_t
device_index(const struct rails *r, const char *name)
{
	const char *const *found = bsearch(&name, r->devices, r->ndevices, sizeof(*r->devices),
					   text_cmp);

	return found ? (uint32_t)(found - (const char *const *)r->devices) : 0;
}

/* Switches that devices sit on, by plane and index; *index: RAILS_NONE, or which one. */
static void
list_leaves(struct rails *r, const struct collection *c)
{
	uint32_t total = 0, *index;

	for (uint32_t p = 0; p < c->nplanes; p++)
		total += c->planes[p]->nswitches;
	r->leaves = region_array(r->region, total + 1, sizeof(*r->leaves));
	index = mem_array(total + 1, sizeof(*index));
	for (uint32_t i = 0; i < r->nnics; i++) {
		const struct fabric *f = c->planes[r->nics[i].plane];
		const struct fabric_port *peer = &f->ports[f->ports[r->nics[i].port].peer];
		uint32_t at = f->nodes[peer->node].sw, before = 0;

		for (uint32_t p = 0; p < r->nics[i].plane; p++)
			before += c->planes[p]->nswitches;
		r->nics[i].leaf = at == FABRIC_NONE ? RAILS_NONE : before + at;
		r->nics[i].leaf_port = peer->number;
		if (at != FABRIC_NONE)
			index[before + at]++;
	}
	for (uint32_t p = 0, i = 0; p < c->nplanes; p++)
		for (uint32_t sw = 0; sw < c->planes[p]->nswitches; sw++, i++) {
			uint32_t nics = index[i];

			index[i] = r->nleaves;
			if (nics)
				r->leaves[r->nleaves++] = (struct rails_leaf){
					.plane = p, .sw = sw, .unit = RAILS_NONE, .nics = nics,
				};
		}
	for (uint32_t i = 0; i < r->nnics; i++)
		if (r->nics[i].leaf != RAILS_NONE)
			r->nics[i].leaf = index[r->nics[i].leaf];
	mem_free(index);
}

static void
list_nics(struct rails *r, const struct collection *c)
{
	r->nics = region_array(r->region, c->len + 1, sizeof(*r->nics));
	r->hosts = region_array(r->region, c->len + 1, sizeof(*r->hosts));
	for (uint32_t i = 0; i < c->len; i++) {
		const struct device *d = &c->list[i];
		struct rails_host *h = r->nhosts ? &r->hosts[r->nhosts - 1] : NULL;

		if (!h || strcmp(h->name, d->host)) {
			h = &r->hosts[r->nhosts++];
			*h = (struct rails_host){ .name = d->host, .first_nic = i };
		}
		h->nnics++;
		r->unnamed += !d->named;
		r->nics[r->nnics++] = (struct rails_nic){
			.host = r->nhosts - 1, .plane = d->plane, .port = d->port,
			.device = device_index(r, d->named ? d->name : ""),
		};
	}
}

struct rails *
rails_find(const struct fabric *const *planes, uint32_t nplanes)
{
	struct region *region = region_new();
	struct rails *r = region_alloc(region, sizeof(*r));
	struct collection c = { .planes = planes, .nplanes = nplanes, .region = region };

	r->region = region;
	collect(&c);
	unname_clashes(&c);
	list_devices(r, &c);
	list_nics(r, &c);
	list_leaves(r, &c);
	mem_free(c.list);
	rails_judge(r);
	return r;
}

void
rails_free(struct rails *r)
{
	if (!r)
		return;
	mem_free(r->findings);
	region_free(r->region);
}

const char *
rails_mistake_name(enum rails_mistake m)
{
	static const char *const names[RAILS_MISTAKES] = {
		[RAILS_WRONG_RAIL] = "wrong-rail", [RAILS_SWAPPED] = "swapped",
		[RAILS_WRONG_UNIT] = "wrong-unit", [RAILS_WRONG_PLANE] = "wrong-plane",
		[RAILS_WRONG_PORT] = "wrong-port", [RAILS_MISSING] = "missing",
	};

	return (unsigned)m < RAILS_MISTAKES ? names[m] : "?";
}
