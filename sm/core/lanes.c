/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tables from service levels to lanes (IBA volume 1, 14.2.5.8) between what switches hold and what
 * a plan wants.
 *
 * A proof of rows that takes lanes holds where switches have the plan's maps, and nowhere else. So
 * an engine is refused, and the next of the chain tried, where a switch cannot be given them: it
 * does not answer, has none, or keeps what it had. And where packets are on their way by other
 * maps, or it is not known by which, the rows that lead to other switches are taken away before
 * maps change, unless they close no circle whatever lanes packets are on (stages.c). A lost or a
 * returned cable is nothing of the kind: its maps were written before, or carry nothing yet.
 */
#include "sm/core/lanes.h"

#include <string.h>
#include "qos/compose.h"
#include "sm/base/mem.h"
#include "sm/core/planner.h"
#include "sm/core/topo.h"

#define AT_NONE UINT16_MAX

/* ---- What is held ---- */

static struct lane_tables *
tables_new(unsigned ports)
{
	size_t n = (ports + 1u) * (ports + 1u);
	struct lane_tables *t = mem_zalloc(sizeof(*t) + n * sizeof(t->at[0]));

	t->refs = 1;
	t->ports = (uint8_t)ports;
	return t;
}

struct lane_tables *
lane_tables_ref(struct lane_tables *t)
{
	if (t)
		__atomic_add_fetch(&t->refs, 1, __ATOMIC_RELAXED);
	return t;
}

void
lane_tables_unref(struct lane_tables *t)
{
	if (!t || __atomic_sub_fetch(&t->refs, 1, __ATOMIC_ACQ_REL))
		return;
	mem_free(t->maps);
	mem_free(t);
}

/* The number of a map; the one before is nearly always the same. */
static uint16_t
intern(struct lane_tables *t, const struct sls_map *m, uint16_t before)
{
	uint32_t i = before;

	if (i >= t->nmaps || memcmp(&t->maps[i], m, sizeof(*m)))
		for (i = 0; i < t->nmaps && memcmp(&t->maps[i], m, sizeof(*m)); i++)
			;
	if (i < t->nmaps)
		return (uint16_t)i;
	if (t->nmaps == t->size) {
		t->size = t->size ? 2 * t->size : 8;
		t->maps = mem_realloc(t->maps, t->size, sizeof(*t->maps));
	}
	t->maps[t->nmaps++] = *m;
	return (uint16_t)i;
}

static struct lane_tables *
make(const struct tables *tables, const struct device *d)
{
	struct lane_tables *t = tables_new(d->info.num_ports);
	unsigned n = t->ports + 1u;
	uint16_t before = AT_NONE;

	for (unsigned out = 0; out < n; out++)
		for (unsigned in = 0; in < n; in++) {
			uint16_t *at = &t->at[in * n + out];
			struct sls_map m;

			*at = AT_NONE;
			if (tables_sl2vl(tables, &d->ports[out], in, m.vl) == TABLES_HELD)
				before = *at = intern(t, &m, before);
		}
	return t;
}

struct lane_tables *
lanes_of_device(const struct tables *t, struct device *d)
{
	if (d->lanes && !d->lanes_changed)
		return d->lanes;
	lane_tables_unref(d->lanes);
	d->lanes = make(t, d);
	plan_sls_unref(d->lanes_plan);
	d->lanes_plan = NULL;
	d->lanes_changed = false;
	return d->lanes;
}

const struct sls_map *
lane_tables_map(const struct lane_tables *t, unsigned in, unsigned out)
{
	uint16_t at = t && in <= t->ports && out <= t->ports ? t->at[in * (t->ports + 1u) + out] :
							       AT_NONE;

	return at == AT_NONE ? NULL : &t->maps[at];
}

/* ---- Against a plan ---- */

bool
lanes_agree(const struct plan_sls *s, const struct sls_map *a, const struct sls_map *b)
{
	for (unsigned sl = 0; sl < SLS_LEN; sl++) {
		bool used = s->slot[sl] != SLS_FREE || s->classes == 1 ||
			    (s->stale_proved && s->stale >> sl & 1);

		if (used && a->vl[sl] != b->vl[sl])
			return false;
	}
	return true;
}

bool
lanes_are_held(const struct plan_sls *s, uint32_t sw, const struct lane_tables *held, unsigned in,
	       unsigned out)
{
	const struct sls_map *m = lane_tables_map(held, in, out);

	return m && lanes_agree(s, m, plan_sls_map(s, sw, in, out));
}

bool
lanes_too_few(const struct plan_sls *s, unsigned op_vls)
{
	return vls_of_code(op_vls) < s->vls;
}

/* ---- On the worker ---- */

/* Packets may come in by this port, 0 included. */
static bool
comes_in(const struct fabric *f, uint32_t sw, unsigned in)
{
	return !in || fabric_port_at(f, f->switches[sw], in)->peer != FABRIC_NONE;
}

static int
holds_others(const struct fabric *f, uint32_t sw, const char *engine, bool silent, unsigned in,
	     unsigned out, struct error *e)
{
	char text[FABRIC_NAME_SIZE];

	return error_set(e, ERR_REFUSED, "engine %s needs a table from service levels to lanes at "
			 "%s, from port %u to port %u, which %s", engine,
			 fabric_node_text(text, f, f->switches[sw], FABRIC_NAME_LEN), in, out,
			 silent ? "does not answer and is not known to hold it" :
			 "does not take it");
}

/* A switch that is given nothing: is what it holds what the plan wants? */
static int
must_hold(const struct plan_job *j, const struct plan_sls *s, uint32_t sw, const char *engine,
	  struct error *e)
{
	const struct fabric *f = j->plan->fabric;
	bool silent = fabric_switch_node(f, sw)->flags & FABRIC_NODE_SILENT;

	for (uint32_t i = f->edge_first[sw]; i < f->edge_first[sw + 1]; i++)
		for (unsigned in = 0; in <= s->ports[sw]; in++) {
			unsigned out = f->edges[i].out;

			if (in != out && comes_in(f, sw, in) &&
			    !lanes_are_held(s, sw, j->held[sw], in, out))
				return holds_others(f, sw, engine, silent, in, out, e);
		}
	return 0;
}

int
lanes_compose(void *job, const struct plan *plan, const char *engine, struct plan_lanes *lanes,
	      struct plan_sls **sls, struct error *e)
{
	struct plan_job *j = job;
	const struct fabric *f = plan->fabric;
	struct compose_policy policy = {
		.max_vls = j->max_vls, .previous = j->previous, .given = &j->given,
		.held = j->shadow ? j->shadow->lids : NULL,
	};
	int rc;

	qos_levels_policy(j->conf, &j->levels, &policy);
	rc = compose_chain(&policy, plan, engine, lanes, sls, e);
	for (uint32_t sw = 0; !rc && *sls && sw < f->nswitches; sw++)
		if (fabric_switch_node(f, sw)->flags & FABRIC_NODE_SILENT || j->refuses[sw])
			rc = must_hold(j, *sls, sw, engine, e);
	if (rc) {
		plan_sls_unref(*sls);
		*sls = NULL;
	}
	return rc;
}

void
lanes_share(struct plan_job *j)
{
	struct plan *plan = j->plan;
	const struct plan *old = j->previous;

	if (!old || !old->sls || !plan->sls || !plan_sls_equal(plan->sls, old->sls))
		return;
	for (uint32_t sw = 0; sw < plan->fabric->nswitches; sw++)
		if (fabric_switch_node(plan->fabric, sw)->guid !=
		    fabric_switch_node(old->fabric, sw)->guid)
			return;
	plan_sls_unref(plan->sls);
	plan->sls = plan_sls_ref(old->sls);
}

static bool
is_active(const struct fabric *f, uint32_t sw, unsigned port)
{
	const struct fabric_port *p = fabric_port_at(f, f->switches[sw], port);

	return p->state == PORT_ACTIVE && p->peer != FABRIC_NONE &&
	       f->ports[p->peer].state == PORT_ACTIVE;
}

/* Packets that leave the switch by this port, to another switch, would change lanes. */
static bool
column_shifts(const struct plan_job *j, const struct fabric *f, uint32_t sw, unsigned out)
{
	const struct plan_sls *s = j->plan->sls;

	if (lanes_too_few(s, fabric_port_at(f, f->switches[sw], out)->op_vls))
		return true;
	for (unsigned in = 0; in <= s->ports[sw]; in++)
		if (in != out && (!in || is_active(f, sw, in)) &&
		    !lanes_are_held(s, sw, j->held[sw], in, out))
			return true;
	return false;
}

bool
lanes_shift(const struct plan_job *j)
{
	const struct fabric *f = j->whole ? j->whole : j->plan->fabric;

	for (uint32_t sw = 0; j->plan->sls && sw < f->nswitches; sw++) {
		if (!j->shadow->rows[sw])
			continue;
		for (uint32_t i = f->edge_first[sw]; i < f->edge_first[sw + 1]; i++)
			if (is_active(f, sw, f->edges[i].out) &&
			    column_shifts(j, f, sw, f->edges[i].out))
				return true;
	}
	return false;
}

bool
lanes_run(const struct plan_job *j)
{
	const struct fabric *f = j->whole ? j->whole : j->plan->fabric;

	for (uint32_t sw = 0; sw < f->nswitches; sw++)
		for (uint32_t i = f->edge_first[sw]; i < f->edge_first[sw + 1]; i++) {
			unsigned out = f->edges[i].out;

			if (is_active(f, sw, out) && lanes_too_few(j->plan->sls,
			    fabric_port_at(f, f->switches[sw], out)->op_vls))
				return false;
		}
	return true;
}
