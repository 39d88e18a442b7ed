/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_ROUTE_HELP_H
#define TESTS_ROUTE_HELP_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "sim/generate/generate.h"
#include "sm/base/mem.h"
#include "sm/fabric/plan.h"
#include "sm/text/ibnet.h"

/* Fabrics and LIDs for the tests and the benchmark of routing. */

/* A snapshot of a recipe, "ft3 8" say; NULL with the reason on stderr. */
static inline struct fabric *
help_generate(const char *recipe, bool shuffle, uint64_t seed)
{
	char *copy = mem_strdup(recipe), *args[16], *save = NULL;
	struct generate_options o = { .shuffle_guids = shuffle, .seed = seed };
	struct ibnet *net = NULL;
	struct fabric *f = NULL;
	struct error e = { 0 };
	unsigned n = 0;

	for (char *w = strtok_r(copy, " ", &save); w && n < 16; w = strtok_r(NULL, " ", &save))
		args[n++] = w;
	if (generate(&net, args[0], n - 1, args + 1, &o, &e))
		fprintf(stderr, "%s: %s\n", recipe, e.text);
	else
		f = fabric_from_ibnet(net);
	ibnet_free(net);
	mem_free(copy);
	return f;
}

static inline struct fabric *
help_read(const char *path)
{
	struct ibnet *net = NULL;
	struct fabric *f = NULL;
	struct error e = { 0 };

	if (ibnet_read(&net, path, &e))
		fprintf(stderr, "%s\n", e.text);
	else
		f = fabric_from_ibnet(net);
	ibnet_free(net);
	return f;
}

/* Fabrics by hand. All ports are ACTIVE; a cable has a rate. */
static inline uint32_t
help_node(struct fabric_builder *b, uint8_t type, uint64_t guid, uint8_t nports, const char *name)
{
	uint32_t n = fabric_add_node(b, &(struct fabric_node){
		.guid = guid, .type = type, .nports = nports, .name = name, .desc = name,
	});

	for (unsigned i = 0; i <= nports; i++)
		fabric_add_port(b, n, i, &(struct fabric_port){
			.guid = (type == NODE_SWITCH) == (i == 0) ? guid + i : 0,
			.state = PORT_ACTIVE, .rate_mbps = 100000,
		});
	return n;
}

static inline uint32_t
help_switch(struct fabric_builder *b, uint64_t guid, uint8_t nports, const char *name)
{
	return help_node(b, NODE_SWITCH, guid, nports, name);
}

/* A channel adapter of one port on port `port` of switch `sw`. */
static inline uint32_t
help_host(struct fabric_builder *b, uint64_t guid, const char *name, uint32_t sw, unsigned port)
{
	uint32_t n = help_node(b, NODE_CA, guid, 1, name);

	fabric_add_link(b, n, 1, sw, port);
	return n;
}

static inline void
help_cable(struct fabric_builder *b, uint32_t x, unsigned xport, uint32_t y, unsigned yport,
	   uint32_t rate)
{
	struct fabric_port p = { .state = PORT_ACTIVE, .rate_mbps = rate };

	fabric_add_port(b, x, xport, &p);
	fabric_add_port(b, y, yport, &p);
	fabric_add_link(b, x, xport, y, yport);
}

/* The same fabric without one node (FABRIC_NONE: all stay) and without the cable of one port. */
static inline struct fabric *
help_without(const struct fabric *f, uint32_t node, uint32_t port)
{
	struct fabric_builder *b = fabric_builder_new();
	uint32_t *handle = mem_array(f->nnodes, sizeof(*handle));

	for (uint32_t n = 0; n < f->nnodes; n++) {
		handle[n] = FABRIC_NONE;
		if (n == node)
			continue;
		handle[n] = fabric_add_node(b, &f->nodes[n]);
		for (unsigned i = 0; i <= f->nodes[n].nports; i++)
			fabric_add_port(b, handle[n], i, fabric_port_at(f, n, i));
	}
	for (uint32_t i = 0; i < f->nports; i++) {
		const struct fabric_port *p = &f->ports[i];

		if (p->peer == FABRIC_NONE || p->peer < i || i == port || p->peer == port)
			continue;
		fabric_add_link(b, handle[p->node], p->number, handle[f->ports[p->peer].node],
				f->ports[p->peer].number);
	}
	mem_free(handle);
	return fabric_build(b, f->generation + 1);
}

/* Path of a file of real fabrics, NULL (with a notice) if they are not at hand. */
static inline const char *
help_shared(char *buf, size_t size, const char *file)
{
	const char *dir = getenv("WEFT_SHARED");

	snprintf(buf, size, "%s/fabrics/%s", dir ? dir : "../shared", file);
	if (access(buf, R_OK) == 0)
		return buf;
	fprintf(stderr, "skipped: %s is not at hand\n", buf);
	return NULL;
}

/* The LIDs of the snapshot or, if it has none, new ones: hosts in order of (switch, port), each
 * with 2^lmc LIDs, then switches. */
static inline struct plan_lids *
help_lids(const struct fabric *f, uint8_t lmc)
{
	struct plan_lids *l = plan_lids_from_fabric(f);
	uint32_t lid = 1u << lmc;

	if (l->top)
		return l;
	for (uint32_t sw = 0; sw < f->nswitches; sw++)
		for (unsigned i = 1; i <= fabric_switch_node(f, sw)->nports; i++) {
			uint32_t peer = fabric_port_at(f, f->switches[sw], i)->peer;

			if (peer == FABRIC_NONE || f->nodes[f->ports[peer].node].sw != FABRIC_NONE)
				continue;
			l->base[peer] = (uint16_t)lid;
			l->lmc[peer] = lmc;
			lid += 1u << lmc;
		}
	for (uint32_t sw = 0; sw < f->nswitches; sw++)
		l->base[fabric_switch_node(f, sw)->first_port] = (uint16_t)lid++;
	plan_lids_index(l, f);
	return l;
}

#endif
