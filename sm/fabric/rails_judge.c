/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/fabric/rails_impl.h"
#include <string.h>
#include "sm/base/map.h"

/*
 * What most say, and who differs.
 *
 * Two leaves are of one unit if at least half of the hosts on each have devices on the other too; a
 * few cables in wrong places do not change that. A host is of the unit that more than half of its
 * devices sit in. In a unit two thirds of the devices of one name, and at least three, say where
 * that name belongs. Devices without names are expected nowhere.
 */

struct judge {
	struct rails *r;
	uint32_t *up;		/* by leaf: forest of units while they are found */
	uint32_t *hosts;	/* by leaf: how many hosts are on it */
	uint32_t *rail;		/* by unit * ndevices + device: index into rails[]; RAILS_NONE */
	uint32_t size;		/* findings that there is room for */
};

static uint32_t
root_of(struct judge *j, uint32_t leaf)
{
	while (j->up[leaf] != leaf)
		leaf = j->up[leaf] = j->up[j->up[leaf]];
	return leaf;
}

/* Leaves of a host, and pairs of them, counted. */
static void
pairs_of(struct judge *j, const struct rails_host *h, struct map *together)
{
	uint32_t leaves[64], n = 0;

	for (uint32_t i = h->first_nic; i < h->first_nic + h->nnics; i++) {
		uint32_t leaf = j->r->nics[i].leaf, k = 0;

		while (k < n && leaves[k] != leaf)
			k++;
		if (leaf != RAILS_NONE && k == n && n < 64)
			leaves[n++] = leaf;
	}
	for (uint32_t a = 0; a < n; a++)
		j->hosts[leaves[a]]++;
	for (uint32_t a = 0; a < n; a++)
		for (uint32_t b = 0; b < n; b++)
			if (leaves[a] < leaves[b]) {
				uint64_t key = (uint64_t)leaves[a] << 32 | leaves[b];
				uint32_t have = map_get(together, key);

				map_set(together, key, have == MAP_NONE ? 1 : have + 1);
			}
}

static void
unite(struct judge *j, const struct map *together)
{
	for (size_t i = 0; i < together->size; i++) {
		uint32_t a = (uint32_t)(together->keys[i] >> 32), b = (uint32_t)together->keys[i];
		uint32_t n = together->values[i];

		if (n == MAP_NONE || 2 * n < j->hosts[a] || 2 * n < j->hosts[b] ||
		    (n < 2 && j->hosts[a] > 1))
			continue;
		a = root_of(j, a);
		b = root_of(j, b);
		j->up[a > b ? a : b] = a < b ? a : b;
	}
}

static void
find_units(struct judge *j)
{
	struct rails *r = j->r;
	struct map together = { 0 };

	for (uint32_t l = 0; l < r->nleaves; l++)
		j->up[l] = l;
	for (uint32_t h = 0; h < r->nhosts; h++)
		pairs_of(j, &r->hosts[h], &together);
	unite(j, &together);
	map_free(&together);
	for (uint32_t l = 0; l < r->nleaves; l++)
		r->leaves[l].unit = root_of(j, l) == l ? r->nunits++ :
				    r->leaves[root_of(j, l)].unit;
}

static uint32_t
unit_of(const struct rails *r, const struct rails_host *h)
{
	uint32_t best = RAILS_NONE, most = 0;

	for (uint32_t i = h->first_nic; i < h->first_nic + h->nnics; i++) {
		uint32_t unit, n = 0;

		if (r->nics[i].leaf == RAILS_NONE)
			continue;
		unit = r->leaves[r->nics[i].leaf].unit;
		for (uint32_t k = h->first_nic; k < h->first_nic + h->nnics; k++)
			n += r->nics[k].leaf != RAILS_NONE &&
			     r->leaves[r->nics[k].leaf].unit == unit;
		if (n > most) {
			most = n;
			best = unit;
		}
	}
	return 2 * most > h->nnics ? best : RAILS_NONE;
}

static struct rails_rail *
rail_of(const struct judge *j, uint32_t unit, uint32_t device)
{
	uint32_t i = unit == RAILS_NONE || !j->r->devices[device][0] ? RAILS_NONE :
		     j->rail[(size_t)unit * j->r->ndevices + device];

	return i == RAILS_NONE ? NULL : &j->r->rails[i];
}

static void
make_rails(struct judge *j)
{
	struct rails *r = j->r;
	size_t len = (size_t)r->nunits * r->ndevices;

	memset(j->rail, 0xff, len * sizeof(*j->rail));
	for (uint32_t i = 0; i < r->nnics; i++) {
		uint32_t unit = r->hosts[r->nics[i].host].unit;

		if (unit != RAILS_NONE)
			j->rail[(size_t)unit * r->ndevices + r->nics[i].device] = 0;
	}
	r->rails = region_array(r->region, len + 1, sizeof(*r->rails));
	for (size_t i = 0; i < len; i++)
		if (j->rail[i] == 0 && r->devices[i % r->ndevices][0]) {
			j->rail[i] = r->nrails;
			r->rails[r->nrails++] = (struct rails_rail){
				.unit = (uint32_t)(i / r->ndevices),
				.device = (uint32_t)(i % r->ndevices), .leaf = RAILS_NONE,
			};
		}
}

/* The leaf that more than half are on, if there is one (Boyer and Moore 1981); then it is counted
 * whether they are. */
static void
elect(struct judge *j)
{
	const struct rails *r = j->r;

	for (uint32_t i = 0; i < r->nnics; i++) {
		const struct rails_nic *n = &r->nics[i];
		struct rails_rail *rail = rail_of(j, r->hosts[n->host].unit, n->device);

		if (!rail)
			continue;
		if (!rail->here)
			rail->leaf = n->leaf;
		if (n->leaf == rail->leaf)
			rail->here++;
		else
			rail->here--;
	}
}

static void
count(struct judge *j)
{
	const struct rails *r = j->r;

	for (uint32_t i = 0; i < r->nrails; i++)
		r->rails[i].here = 0;
	for (uint32_t i = 0; i < r->nnics; i++) {
		const struct rails_nic *n = &r->nics[i];
		struct rails_rail *rail = rail_of(j, r->hosts[n->host].unit, n->device);

		if (!rail)
			continue;
		rail->here += n->leaf == rail->leaf;
		rail->all++;
	}
	for (uint32_t i = 0; i < r->nrails; i++) {
		struct rails_rail *rail = &r->rails[i];

		if (rail->here < RAILS_FEW || 3 * rail->here < 2 * rail->all)
			rail->leaf = RAILS_NONE;
	}
}

/* Where the others say that it should be; RAILS_NONE: they say nothing. */
static uint32_t
place_of(const struct judge *j, const struct rails_nic *n)
{
	const struct rails_rail *rail = rail_of(j, j->r->hosts[n->host].unit, n->device);

	return rail ? rail->leaf : RAILS_NONE;
}

/* Is it a host as most of its unit are, with half of their devices at least? Of others, storage
 * say, nobody knows where they should be. */
static bool
is_usual(const struct judge *j, const struct rails_host *h)
{
	const struct rails *r = j->r;
	uint32_t rails = 0, has = 0;

	for (uint32_t d = 0; h->unit != RAILS_NONE && d < r->ndevices; d++) {
		const struct rails_rail *rail = rail_of(j, h->unit, d);

		rails += rail && rail->leaf != RAILS_NONE;
	}
	for (uint32_t i = h->first_nic; i < h->first_nic + h->nnics; i++)
		has += place_of(j, &r->nics[i]) != RAILS_NONE;
	return has && 2 * has >= rails;
}

/* The port that most of the host's devices have on their leaves; 0: there is none. */
static uint8_t
port_of(const struct judge *j, const struct rails_host *h)
{
	const struct rails *r = j->r;
	uint32_t times[256] = { 0 }, n = 0, best = 0;

	for (uint32_t i = h->first_nic; i < h->first_nic + h->nnics; i++) {
		const struct rails_nic *nic = &r->nics[i];

		if (nic->leaf == RAILS_NONE || place_of(j, nic) == RAILS_NONE)
			continue;
		n++;
		if (++times[nic->leaf_port] > times[best])
			best = nic->leaf_port;
	}
	return n >= RAILS_FEW && 3 * times[best] >= 2 * n ? (uint8_t)best : 0;
}

/* Do nine in ten keep to the port of their host? */
static bool
has_regular_ports(const struct judge *j)
{
	const struct rails *r = j->r;
	uint32_t all = 0, good = 0;

	for (uint32_t h = 0; h < r->nhosts; h++) {
		uint8_t port = is_usual(j, &r->hosts[h]) ? port_of(j, &r->hosts[h]) : 0;
		uint32_t i = r->hosts[h].first_nic;

		for (; i < r->hosts[h].first_nic + r->hosts[h].nnics; i++) {
			if (place_of(j, &r->nics[i]) != r->nics[i].leaf)
				continue;
			all++;
			good += port && r->nics[i].leaf_port == port;
		}
	}
	return all && 10 * good >= 9 * all;
}

static void
find(struct judge *j, const struct rails_finding *f)
{
	struct rails *r = j->r;

	if (r->nfindings == j->size) {
		j->size = j->size ? 2 * j->size : 64;
		r->findings = mem_realloc(r->findings, j->size, sizeof(*r->findings));
	}
	r->findings[r->nfindings++] = *f;
}

/* The device of the same host with which it has changed places; RAILS_NONE. */
static uint32_t
swapped_with(const struct judge *j, const struct rails_host *h, uint32_t nic, uint32_t place)
{
	const struct rails *r = j->r;

	for (uint32_t i = h->first_nic; i < h->first_nic + h->nnics; i++)
		if (i != nic && r->nics[i].leaf == place &&
		    place_of(j, &r->nics[i]) == r->nics[nic].leaf)
			return i;
	return RAILS_NONE;
}

static void
judge_nic(struct judge *j, const struct rails_host *h, uint32_t i, uint8_t port)
{
	const struct rails *r = j->r;
	const struct rails_nic *n = &r->nics[i];
	uint32_t place = place_of(j, n);
	struct rails_finding f = {
		.host = n->host, .device = n->device, .nic = i, .other = RAILS_NONE, .leaf = place,
		.port = r->regular_ports ? port : 0,
	};

	if (place == RAILS_NONE || n->leaf == RAILS_NONE)
		return;
	if (n->leaf == place) {
		f.what = RAILS_WRONG_PORT;
		if (f.port && n->leaf_port != f.port)
			find(j, &f);
		return;
	}
	f.other = swapped_with(j, h, i, place);
	if (f.other != RAILS_NONE) {
		f.what = RAILS_SWAPPED;
		if (f.other > i)
			find(j, &f);
		return;
	}
	f.what = r->leaves[place].plane != n->plane ? RAILS_WRONG_PLANE :
		 r->leaves[n->leaf].unit == h->unit ? RAILS_WRONG_RAIL : RAILS_WRONG_UNIT;
	find(j, &f);
}

static bool
has_device(const struct rails *r, const struct rails_host *h, uint32_t device)
{
	for (uint32_t i = h->first_nic; i < h->first_nic + h->nnics; i++)
		if (r->nics[i].device == device)
			return true;
	return false;
}

static void
judge_missing(struct judge *j, const struct rails_host *h, uint32_t usual, uint8_t port)
{
	const struct rails *r = j->r;

	for (uint32_t d = 0; d < r->ndevices; d++) {
		const struct rails_rail *rail = rail_of(j, h->unit, d);

		if (!rail || rail->leaf == RAILS_NONE || 3 * rail->all < 2 * usual ||
		    has_device(r, h, d))
			continue;
		find(j, &(struct rails_finding){
			.what = RAILS_MISSING, .host = (uint32_t)(h - r->hosts), .device = d,
			.nic = RAILS_NONE, .other = RAILS_NONE, .leaf = rail->leaf,
			.port = r->regular_ports ? port : 0,
		});
	}
}

static void
judge_hosts(struct judge *j)
{
	struct rails *r = j->r;
	bool *usual = mem_array(r->nhosts + 1, sizeof(*usual));
	uint32_t *in_unit = mem_array(r->nunits + 1, sizeof(*in_unit));

	for (uint32_t h = 0; h < r->nhosts; h++)
		usual[h] = is_usual(j, &r->hosts[h]);
	for (uint32_t h = 0; h < r->nhosts; h++)
		if (usual[h])
			in_unit[r->hosts[h].unit]++;
	for (uint32_t h = 0; h < r->nhosts; h++) {
		const struct rails_host *host = &r->hosts[h];
		uint8_t port = usual[h] ? port_of(j, host) : 0;

		if (!usual[h])
			continue;
		for (uint32_t i = host->first_nic; i < host->first_nic + host->nnics; i++)
			judge_nic(j, host, i, port);
		judge_missing(j, host, in_unit[host->unit], port);
	}
	mem_free(in_unit);
	mem_free(usual);
}

void
rails_judge(struct rails *r)
{
	struct judge j = {
		.r = r, .up = mem_array(r->nleaves + 1, sizeof(*j.up)),
		.hosts = mem_array(r->nleaves + 1, sizeof(*j.hosts)),
	};

	find_units(&j);
	for (uint32_t h = 0; h < r->nhosts; h++)
		r->hosts[h].unit = unit_of(r, &r->hosts[h]);
	j.rail = mem_array((size_t)r->nunits * r->ndevices + 1, sizeof(*j.rail));
	make_rails(&j);
	elect(&j);
	count(&j);
	r->regular_ports = has_regular_ports(&j);
	judge_hosts(&j);
	mem_free(j.rail);
	mem_free(j.hosts);
	mem_free(j.up);
}
