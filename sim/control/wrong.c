/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/control/wrong.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include "sim/control/command.h"
#include "sim/control/names.h"
#include "sim/model/model_impl.h"
#include "sm/base/map.h"

/*
 * What is wrong with the fabric right now: one line each, kind after kind, the causes before what
 * follows from them. Of each kind the first few are told and the others counted. What the
 * forwarding tables lead to has a file of its own, wrong_routes.c.
 */
void
wrong_begin(struct wrong *w)
{
	w->kind = 0;
}

void
wrong_add(struct wrong *w, const char *fmt, ...)
{
	char text[400];
	va_list ap;

	w->n++;
	if (++w->kind > w->most)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	buf_printf(w->out, "%s\n", text);
}

void
wrong_end(struct wrong *w, const char *what)
{
	if (w->kind > w->most)
		buf_printf(w->out, "... and %u more %s\n", w->kind - w->most, what);
}

static const char *
name(const struct wrong *w, uint32_t node)
{
	return names_text(w->s->names, node);
}

/* ---- Subnet manager ---- */

static bool
is_sm(const struct sim_node *n, unsigned port)
{
	return is_end_port(n, port) && n->ports[port].info.cap_mask & CAP_IS_SM;
}

/* The first port with IsSM that is its own master; if there is none, the first with IsSM. */
static void
find_sm(struct wrong *w)
{
	const struct model *m = w->m;

	for (uint32_t i = 0; i < m->net->nnodes; i++) {
		for (unsigned k = 0; k <= m->nodes[i].nports; k++) {
			const struct sim_port *p = &m->nodes[i].ports[k];

			if (!is_sm(&m->nodes[i], k))
				continue;
			if (w->sm && (!p->info.lid || p->info.sm_lid != p->info.lid ||
				      w->sm->info.sm_lid == w->sm->info.lid))
				continue;
			w->sm = p;
			w->sm_node = i;
			w->sm_port = k;
		}
	}
}

static void
managers(struct wrong *w)
{
	find_sm(w);
	if (!w->sm)
		wrong_add(w, "no subnet manager: no port has IsSM");
	else if (!w->sm->info.lid || w->sm->info.sm_lid != w->sm->info.lid)
		wrong_add(w, "no master: no port with IsSM has its own LID as SMLid");
}

/* End ports that are up and take another for the master. */
static void
sm_lids(struct wrong *w)
{
	if (!w->sm || !w->sm->info.lid || w->sm->info.sm_lid != w->sm->info.lid)
		return;
	for (uint32_t i = 0; i < w->m->net->nnodes; i++) {
		const struct sim_node *n = &w->m->nodes[i];

		for (unsigned k = 0; k <= n->nports; k++) {
			const struct portinfo *info = &n->ports[k].info;

			if (is_end_port(n, k) && info->lid && info->sm_lid != w->sm->info.lid &&
			    (!k || info->state == PORT_ACTIVE))
				wrong_add(w, "%s/%u has SMLid %u, and the master has LID %u",
					  name(w, i), k, info->sm_lid, w->sm->info.lid);
		}
	}
}

/* ---- LIDs and GUIDs ---- */

static void
guid_twice(struct wrong *w, struct map *seen, uint64_t guid, uint32_t i, const char *of)
{
	uint32_t other = map_get(seen, guid);
	char text[GUID_TEXT_SIZE];

	if (other == MAP_NONE)
		map_set(seen, guid, i);
	else if (other != i)
		wrong_add(w, "%s and %s have the same %s GUID %s", name(w, other), name(w, i), of,
			  guid_text(text, guid));
}

static void
guids(struct wrong *w)
{
	struct map nodes = { 0 }, ports = { 0 };

	for (uint32_t i = 0; i < w->m->net->nnodes; i++) {
		const struct sim_node *n = &w->m->nodes[i];

		guid_twice(w, &nodes, n->guid, i, "node");
		for (unsigned k = 0; k <= n->nports; k++)
			if (is_end_port(n, k))
				guid_twice(w, &ports, n->ports[k].guid, i, "port");
	}
	map_free(&nodes);
	map_free(&ports);
}

static void
lids_of(struct wrong *w, struct map *seen, uint32_t i, unsigned k)
{
	const struct portinfo *info = &w->m->nodes[i].ports[k].info;

	for (unsigned l = info->lid; l < info->lid + (1u << info->lmc); l++) {
		uint32_t other = map_get(seen, l);

		if (other == MAP_NONE)
			map_set(seen, l, i);
		else
			wrong_add(w, "%s and %s/%u have the same LID %u", name(w, other),
				  name(w, i), k, l);
	}
}

static void
lids(struct wrong *w)
{
	struct map seen = { 0 };

	for (uint32_t i = 0; i < w->m->net->nnodes; i++) {
		const struct sim_node *n = &w->m->nodes[i];

		for (unsigned k = 0; k <= n->nports; k++)
			if (is_end_port(n, k) && n->ports[k].info.lid)
				lids_of(w, &seen, i, k);
	}
	map_free(&seen);
}

static void
no_lids(struct wrong *w)
{
	for (uint32_t i = 0; i < w->m->net->nnodes; i++) {
		const struct sim_node *n = &w->m->nodes[i];

		for (unsigned k = 0; k <= n->nports; k++)
			if (!n->off && is_end_port(n, k) && !n->ports[k].info.lid &&
			    n->ports[k].info.state > PORT_DOWN)
				wrong_add(w, "%s/%u has no LID", name(w, i), k);
	}
}

/* ---- Links ---- */

typedef void (*link_fn)(struct wrong *w, const struct sim_port *p, const struct sim_port *q,
			const char *what);

/* Each cable once, `what` being its two ends in words. */
static void
each_link(struct wrong *w, link_fn fn)
{
	char what[300];

	for (uint32_t i = 0; i < w->m->net->nnodes; i++) {
		for (unsigned k = 1; k <= w->m->nodes[i].nports; k++) {
			const struct sim_port *p = &w->m->nodes[i].ports[k];

			if (!is_first_end(p, i, k))
				continue;
			snprintf(what, sizeof(what), "%s/%u - %s/%u", name(w, i), k,
				 name(w, p->peer), p->peer_port);
			fn(w, p, &w->m->nodes[p->peer].ports[p->peer_port], what);
		}
	}
}

static bool
is_off(const struct wrong *w, const struct sim_port *p, const struct sim_port *q)
{
	return w->m->nodes[p->peer].off || w->m->nodes[q->peer].off;
}

static void
down(struct wrong *w, const struct sim_port *p, const struct sim_port *q, const char *what)
{
	if (port_is_up(p))
		return;
	wrong_add(w, "%s: down%s", what, p->cut ? ", the cable is cut" :
		  is_off(w, p, q) ? ", an end has no power" :
		  p->info.phys_state == PHYS_DISABLED || q->info.phys_state == PHYS_DISABLED ?
		  ", a port is disabled" : "");
}

static void
not_active(struct wrong *w, const struct sim_port *p, const struct sim_port *q, const char *what)
{
	if (port_is_up(p) && (p->info.state != PORT_ACTIVE || q->info.state != PORT_ACTIVE))
		wrong_add(w, "%s: %s at one end, %s at the other", what,
			  port_state_name(p->info.state), port_state_name(q->info.state));
}

/* The fastest of the bits that both ends support. */
static unsigned
best_speed(const struct portinfo *a, const struct portinfo *b)
{
	unsigned ext = a->speed_ext_supported & b->speed_ext_supported;
	unsigned base = a->speed_supported & b->speed_supported;

	if (a->speed_ext2_supported & b->speed_ext2_supported)
		return SPEED_XDR;
	if (ext)
		return ext & 8 ? SPEED_NDR : ext & 4 ? SPEED_HDR : ext & 2 ? SPEED_EDR : SPEED_FDR;
	return base & 4 ? SPEED_QDR : base & 2 ? SPEED_DDR : SPEED_SDR;
}

static unsigned
best_width(const struct portinfo *a, const struct portinfo *b)
{
	static const uint8_t order[] = { LINK_12X, LINK_8X, LINK_4X, LINK_2X, LINK_1X };

	for (size_t i = 0; i < sizeof(order); i++)
		if (a->width_supported & b->width_supported & order[i])
			return order[i];
	return 0;
}

static void
slow(struct wrong *w, const struct sim_port *p, const struct sim_port *q, const char *what)
{
	unsigned speed = portinfo_speed(&p->info), fast = best_speed(&p->info, &q->info);
	unsigned width = p->info.width_active, wide = best_width(&p->info, &q->info);
	char now[LINK_TEXT_SIZE], could[LINK_TEXT_SIZE];

	if (port_is_up(p) && wide && (speed < fast || link_lanes(width) < link_lanes(wide)))
		wrong_add(w, "%s: runs at %s, both ends could %s", what,
			  link_text(now, width, speed), link_text(could, wide, fast));
}

static void
differ(struct wrong *w, const struct sim_port *p, const struct sim_port *q, const char *what)
{
	if (p->info.state != PORT_ACTIVE || q->info.state != PORT_ACTIVE)
		return;
	if (p->info.neighbor_mtu != q->info.neighbor_mtu)
		wrong_add(w, "%s: MTU %u at one end, %u at the other", what,
			  mtu_bytes(p->info.neighbor_mtu), mtu_bytes(q->info.neighbor_mtu));
	if (p->info.op_vls != q->info.op_vls)
		wrong_add(w, "%s: operational VLs (code) %u at one end, %u at the other", what,
			  p->info.op_vls, q->info.op_vls);
}

static void
links(struct wrong *w)
{
	static const struct {
		link_fn fn;		/* looks at one link */
		const char *what;	/* that it finds */
	} kinds[] = {
		{ down, "links that are down" },
		{ not_active, "links that are not active" },
		{ slow, "links that are slow" },
		{ differ, "links whose ends differ" },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		wrong_begin(w);
		each_link(w, kinds[i].fn);
		wrong_end(w, kinds[i].what);
	}
}

/* ---- P_Keys ---- */

static bool
shares_key(const struct wrong *w, const struct sim_node *n, unsigned port)
{
	unsigned len = model_pkeys(w->m, w->sm_node, w->sm_port);

	for (unsigned i = 0; i < len; i++)
		if (sma_pkey_index(n, port, port_pkey(w->sm, i)) >= 0)
			return true;
	return false;
}

static void
pkeys(struct wrong *w)
{
	if (!w->sm)
		return;
	for (uint32_t i = 0; i < w->m->net->nnodes; i++) {
		const struct sim_node *n = &w->m->nodes[i];

		for (unsigned k = 0; k <= n->nports; k++)
			if (is_end_port(n, k) && n->ports[k].info.lid && !shares_key(w, n, k))
				wrong_add(w, "%s/%u shares no P_Key with the subnet manager",
					  name(w, i), k);
	}
}

/* ---- Notices ---- */

static void
traps(struct wrong *w)
{
	for (uint32_t i = 0; i < w->m->net->nnodes; i++)
		for (const struct sim_trap *t = w->m->nodes[i].traps; t; t = t->next)
			if (t->tid && t->sent > 1)
				wrong_add(w, "%s: trap %u was sent %u times, nobody represses it",
					  name(w, i), t->number, t->sent);
}

/* ---- Counters: those that grow are wrong now, what others have counted is of the past ---- */

static const char *const errors[] = {
	"symbol_errors", "link_recoveries", "link_downed", "rcv_errors",
	"rcv_remote_physical_errors", "rcv_switch_relay_errors", "xmit_discards",
	"xmit_constraint_errors", "rcv_constraint_errors", "local_link_integrity_errors",
	"buffer_overrun_errors", "vl15_dropped", "qp1_dropped", NULL,
};

static bool
value_of(const struct wrong *w, uint32_t node, unsigned port, const char *counter, uint64_t *value)
{
	return model_counter_get(w->m, node, port, counter, value, NULL) == 0 && *value;
}

static void
counters_of(struct wrong *w, bool growing)
{
	for (uint32_t i = 0; i < w->m->net->nnodes; i++) {
		const struct sim_node *n = &w->m->nodes[i];

		for (unsigned k = n->type != NODE_SWITCH; n->counters && k <= n->nports; k++) {
			uint64_t value;

			for (const char *const *c = errors; *c; c++)
				if (model_counter_grows(w->m, i, k, *c) == growing &&
				    value_of(w, i, k, *c, &value))
					wrong_add(w, "%s/%u: %s is %" PRIu64 "%s", name(w, i), k,
						  *c, value, growing ? " and grows" : "");
		}
	}
}

static void
growing(struct wrong *w)
{
	counters_of(w, true);
}

static void
counted(struct wrong *w)
{
	counters_of(w, false);
}

/* ---- All ---- */

static void
run_kind(struct wrong *w, void (*fn)(struct wrong *w), const char *what)
{
	wrong_begin(w);
	fn(w);
	wrong_end(w, what);
}

/* Under a heading of their own, if there are any. */
static void
wrong_past(struct wrong *w)
{
	struct buf past = { 0 }, *out = w->out;

	w->out = &past;
	run_kind(w, counted, "counters");
	w->out = out;
	if (past.len)
		buf_printf(out, "errors that were counted (errors PORT NAME 0 clears one):\n%s",
			   past.data);
	buf_free(&past);
}

void
wrong_list(const struct sim *s, struct buf *out, unsigned most)
{
	struct wrong w = { .s = s, .m = s->model, .out = out, .most = most };

	w.n = faults_list(s, out, most);
	run_kind(&w, managers, "managers");
	run_kind(&w, sm_lids, "ports with another SMLid");
	run_kind(&w, guids, "doubled GUIDs");
	run_kind(&w, lids, "doubled LIDs");
	links(&w);
	run_kind(&w, no_lids, "ports without LID");
	run_kind(&w, pkeys, "ports that are cut off by P_Keys");
	wrong_routes(&w);
	run_kind(&w, traps, "traps that wait");
	run_kind(&w, growing, "counters of errors");
	if (w.n)
		buf_printf(out, "%u thing%s wrong\n", w.n, w.n == 1 ? " is" : "s are");
	else
		buf_str(out, "nothing is wrong\n");
	wrong_past(&w);
}
