/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/core/simulate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sim/direct.h"
#include "sim/generate/generate.h"
#include "sim/control/sim.h"
#include "sm/base/mem.h"
#include "sm/base/text.h"
#include "sm/text/lines.h"

/*
 * The daemon's side of a simulated fabric: one struct sim on the daemon's loop, whose end ports
 * take the place of the kernel's. Together with main.c the only file of sm/core that knows sim/.
 */
struct simulate {
	struct sim *sim;	/* the fabric, owned */
};

static int
read_script(struct sim *sim, const char *path, struct error *e)
{
	struct buf b = { 0 };
	int rc = text_load(&b, path, e);

	if (rc == 0)
		rc = sim_script(sim, b.data, b.len, path, e);
	buf_free(&b);
	return rc;
}

struct simulate *
simulate_new(struct loop *l, const struct simulate_options *o, struct error *e)
{
	struct model_options mo = { .seed = o->seed, .instant = !loop_is_virtual(l) };
	struct generate_options recipe = { .seed = o->seed };
	struct ibnet *net;
	struct simulate *s;
	struct sim *sim;

	if (generate_or_read(&net, o->fabric, &recipe, e) < 0 || sim_new(&sim, l, net, &mo, e) < 0)
		return NULL;
	sim_log(sim, o->log, o->arg);
	sim->host.quit = o->quit;
	sim->host.quit_arg = o->arg;
	if (o->script && read_script(sim, o->script, e) < 0) {
		sim_free(sim);
		return NULL;
	}
	s = mem_zalloc(sizeof(*s));
	s->sim = sim;
	return s;
}

void
simulate_free(struct simulate *s)
{
	if (!s)
		return;
	sim_free(s->sim);
	mem_free(s);
}

static bool
is_end(const struct ibnet_node *n, unsigned port)
{
	return n->type == IBNET_SWITCH ? port == 0 : port > 0 && port <= n->nports;
}

static bool
find_first(const struct ibnet *net, uint32_t *node, unsigned *port)
{
	for (uint32_t i = 0; i < net->nnodes; i++) {
		for (unsigned p = 1; p <= net->nodes[i].nports; p++) {
			if (net->nodes[i].type == IBNET_SWITCH ||
			    net->nodes[i].ports[p].peer == IBNET_NONE)
				continue;
			*node = i;
			*port = p;
			return true;
		}
	}
	return false;
}

static bool
find_guid(const struct model *m, uint64_t guid, uint32_t *node, unsigned *port)
{
	const struct ibnet *net = model_ibnet(m);

	for (uint32_t i = 0; i < net->nnodes; i++) {
		for (unsigned p = 0; p <= net->nodes[i].nports; p++) {
			if (!is_end(&net->nodes[i], p) || model_port_guid(m, i, p) != guid)
				continue;
			*node = i;
			*port = p;
			return true;
		}
	}
	return false;
}

/* NODE:NUMBER. */
static bool
find_named(const struct ibnet *net, const char *selector, uint32_t *node, unsigned *port)
{
	const char *colon = strrchr(selector, ':');
	uint64_t number;
	char *name;

	if (!colon || !number_parse(colon + 1, 0, IBNET_MAX_NODE_PORTS, &number))
		return false;
	name = mem_strdup(selector);
	name[colon - selector] = '\0';
	*node = ibnet_find(net, name);
	*port = (unsigned)number;
	mem_free(name);
	return *node != IBNET_NONE && is_end(&net->nodes[*node], *port);
}

struct port *
simulate_port(void *arg, struct loop *l, const char *selector, const struct port_events *events,
	      struct error *e)
{
	struct simulate *s = arg;
	const struct ibnet *net = model_ibnet(s->sim->model);
	struct port *p = NULL;
	unsigned number = 0;
	uint32_t node = 0;
	uint64_t guid;
	bool found;

	(void)l;
	if (!strcmp(selector, "auto"))
		found = find_first(net, &node, &number);
	else if (guid_parse(selector, &guid))
		found = find_guid(s->sim->model, guid, &node, &number);
	else
		found = find_named(net, selector, &node, &number);
	if (!found) {
		error_set(e, ERR_NOT_FOUND, "the simulated fabric has no end port \"%s\": `port` "
			  "takes auto, a port GUID, or NODE:NUMBER there", selector);
		return NULL;
	}
	direct_open(&p, s->sim->model, node, number, events, e);
	return p;
}
