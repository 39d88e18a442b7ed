/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/roots.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "routing/levels.h"
#include "routing/ranks.h"
#include "sm/base/buf.h"
#include "sm/base/mem.h"

/*
 * Roots: where the order of switches starts. An administrator may name them by GUID, switches or
 * adapters that hang on them; otherwise the cabling tells (levels.c).
 *
 * Ranks are inherited from plan to plan, which must end when other roots are configured. So the
 * plan remembers which were (plan.roots). A plan without was ranked from roots that were found.
 */
#define LISTED 4u	/* roots named in the note */
#define LISTED_SHARED 2u	/* with their GUIDs, if one has the name of another */
#define NAME_MAX_SHOWN 40	/* of each; the note has little room */

/* Switch that a configured root GUID means: itself, or the one that the adapter hangs on. */
static uint32_t
root_switch(const struct fabric *f, uint64_t guid)
{
	uint32_t n = fabric_node_by_guid(f, guid);
	uint32_t port = fabric_port_by_guid(f, guid);

	if (n == FABRIC_NONE && port != FABRIC_NONE)
		n = f->ports[port].node;
	if (n == FABRIC_NONE)
		return FABRIC_NONE;
	for (unsigned i = 0; i <= f->nodes[n].nports && f->nodes[n].sw == FABRIC_NONE; i++) {
		const struct fabric_port *p = fabric_port_at(f, n, i);

		if (p->peer != FABRIC_NONE && f->nodes[f->ports[p->peer].node].sw != FABRIC_NONE)
			return f->nodes[f->ports[p->peer].node].sw;
	}
	return f->nodes[n].sw;
}

int
roots_find(const struct engine_input *in, struct roots *roots, struct error *e)
{
	const struct engine_options *o = in->options;
	char guid[GUID_TEXT_SIZE];

	*roots = (struct roots){ .mark = mem_array(in->fabric->nswitches, 1) };
	roots->configured = o && o->nroots;
	if (!roots->configured) {
		roots->len = levels_roots(in->fabric, roots->mark);
		return 0;
	}
	for (unsigned i = 0; i < o->nroots; i++) {
		uint32_t sw = root_switch(in->fabric, o->roots[i]);

		if (sw == FABRIC_NONE || roots->mark[sw])
			continue;
		roots->mark[sw] = 1;
		roots->len++;
	}
	if (roots->len)
		return 0;
	return error_set(e, ERR_NOT_FOUND, "none of the %u configured roots is in the fabric, "
			 "the first is %s", o->nroots, guid_text(guid, o->roots[0]));
}

void
roots_free(struct roots *roots)
{
	mem_free(roots->mark);
}

static int
guid_cmp(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* NULL if none is configured. */
static struct plan_roots *
record_new(const struct engine_input *in)
{
	const struct engine_options *o = in->options;
	struct plan_roots *r;

	if (!o || !o->nroots)
		return NULL;
	r = mem_alloc(sizeof(*r) + o->nroots * sizeof(r->guid[0]));
	r->refs = 1;
	r->len = o->nroots;
	memcpy(r->guid, o->roots, o->nroots * sizeof(r->guid[0]));
	qsort(r->guid, r->len, sizeof(r->guid[0]), guid_cmp);
	return r;
}

static bool
record_equal(const struct plan_roots *a, const struct plan_roots *b)
{
	if (!a || !b)
		return a == b;
	return a->len == b->len && memcmp(a->guid, b->guid, a->len * sizeof(a->guid[0])) == 0;
}

static struct plan_roots *
previous_record(const struct engine_input *in)
{
	return in->previous ? in->previous->roots : NULL;
}

/* An adapter may have moved: does a GUID mean a switch that was there, but that it did not mean? */
static bool
means_another(const struct engine_input *in, uint64_t guid)
{
	const struct fabric *then = in->previous->fabric;
	uint32_t sw = root_switch(in->fabric, guid), old = root_switch(then, guid);
	uint64_t now;

	if (sw == FABRIC_NONE)
		return false;
	now = fabric_switch_node(in->fabric, sw)->guid;
	return fabric_node_by_guid(then, now) != FABRIC_NONE &&
		(old == FABRIC_NONE || fabric_switch_node(then, old)->guid != now);
}

bool
roots_changed(const struct engine_input *in)
{
	struct plan_roots *now = record_new(in);
	bool changed = in->previous && !record_equal(now, previous_record(in));

	for (unsigned i = 0; now && in->previous && i < now->len; i++)
		changed |= means_another(in, now->guid[i]);
	plan_roots_unref(now);
	return changed;
}

struct plan_roots *
roots_record(const struct engine_input *in)
{
	struct plan_roots *now = record_new(in), *then = previous_record(in);

	if (!now || !record_equal(now, then))
		return now;
	plan_roots_unref(now);
	return plan_roots_ref(then);
}

static void
add_name(struct buf *b, const struct fabric *f, uint32_t node)
{
	char text[FABRIC_NAME_SIZE];

	buf_str(b, fabric_node_text(text, f, node, NAME_MAX_SHOWN));
}

/* How many names there is room for: fewer where a GUID follows one. */
static uint32_t
list_size(const struct fabric *f, const uint8_t *mark)
{
	char text[FABRIC_NAME_SIZE];
	uint32_t n = 0;

	for (uint32_t sw = 0; sw < f->nswitches && n < LISTED; sw++) {
		if (!mark[sw])
			continue;
		n++;
		if (fabric_node_text(text, f, f->switches[sw], 0)[0])
			return LISTED_SHARED;
	}
	return LISTED;
}

static void
describe_list(struct buf *b, const struct fabric *f, const uint8_t *mark, bool configured)
{
	uint32_t size = list_size(f, mark), n = 0;

	buf_str(b, "roots: ");
	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		if (!mark[sw] || n++ >= size)
			continue;
		if (n > 1)
			buf_str(b, ", ");
		add_name(b, f, f->switches[sw]);
	}
	if (n > size)
		buf_printf(b, " and %u more", n - size);
	buf_str(b, configured ? " (as configured)" : " (found)");
}

/* A connected part of the fabric. */
struct part {
	uint32_t top;		/* its first switch in the order */
	uint32_t nroots;	/* roots in it */
	uint32_t root;		/* one of them */
};

/* By the least switch of each part, as levels_components() numbers them. */
static struct part *
list_parts(const struct ranks *r, const uint8_t *mark)
{
	struct part *parts = mem_array(r->f->nswitches, sizeof(*parts));
	uint32_t *component = mem_array(r->f->nswitches, sizeof(*component));

	levels_components(r->f, component);
	for (uint32_t sw = 0; sw < r->f->nswitches; sw++) {
		struct part *p = &parts[component[sw]];

		if (component[sw] == sw)
			*p = (struct part){ .top = sw };
		else if (ranks_up(r, p->top, sw))
			p->top = sw;
		p->nroots += mark[sw];
		if (mark[sw])
			p->root = sw;
	}
	mem_free(component);
	return parts;
}

/* A root that was found for inherited ranks is not the one that they begin with, if by now another
 * one would be chosen, or if that one had to give way. */
static void
put_right(const struct fabric *f, const struct part *parts, uint8_t *mark)
{
	for (uint32_t i = 0; i < f->nswitches; i++)
		if (parts[i].nroots == 1 && !mark[parts[i].top]) {
			mark[parts[i].root] = 0;
			mark[parts[i].top] = 1;
		}
}

/* Where several roots have nothing above them, something that hangs below them was put there. */
static void
describe_lifted(struct buf *b, const struct fabric *f, const struct part *parts,
		const uint8_t *mark)
{
	uint32_t first = FABRIC_NONE, n = 0, *hosts;

	for (uint32_t i = 0; i < f->nswitches; i++)
		if (parts[i].nroots && !mark[parts[i].top] && n++ == 0)
			first = parts[i].top;
	if (!n)
		return;
	hosts = levels_hosts(f);
	buf_str(b, hosts[first] ? "; leaf " : "; switch ");
	add_name(b, f, f->switches[first]);
	if (n > 1)
		buf_printf(b, " (and %u in other parts of the fabric)", n - 1);
	buf_str(b, " is ranked above them so that paths between roots exist");
	mem_free(hosts);
}

/* A configured root that is an adapter. */
static void
describe_host(struct buf *b, const struct fabric *f, uint64_t guid, uint32_t sw)
{
	uint32_t n = fabric_node_by_guid(f, guid);
	char text[GUID_TEXT_SIZE];

	if (n == FABRIC_NONE)
		n = f->ports[fabric_port_by_guid(f, guid)].node;
	buf_printf(b, "; root %s is host ", guid_text(text, guid));
	add_name(b, f, n);
	if (sw == FABRIC_NONE) {
		buf_str(b, ", which hangs on no switch");
		return;
	}
	buf_str(b, ": its switch ");
	add_name(b, f, f->switches[sw]);
	buf_str(b, " is taken");
}

/* The configured GUIDs that do not mean just what they say: the first of either kind. */
static void
describe_odd(struct buf *b, const struct engine_input *in)
{
	const struct engine_options *o = in->options;
	unsigned hosts = 0, missing = 0, first = 0;
	char text[GUID_TEXT_SIZE];

	for (unsigned i = 0; i < o->nroots; i++) {
		uint32_t n = fabric_node_by_guid(in->fabric, o->roots[i]);
		uint32_t port = fabric_port_by_guid(in->fabric, o->roots[i]);

		if (n == FABRIC_NONE && port == FABRIC_NONE) {
			first = missing++ ? first : i;
			continue;
		}
		n = n == FABRIC_NONE ? in->fabric->ports[port].node : n;
		if (in->fabric->nodes[n].sw == FABRIC_NONE && hosts++ == 0)
			describe_host(b, in->fabric, o->roots[i],
				      root_switch(in->fabric, o->roots[i]));
	}
	if (hosts > 1)
		buf_printf(b, ", likewise %u more", hosts - 1);
	if (missing)
		buf_printf(b, "; root %s is not in the fabric", guid_text(text, o->roots[first]));
	if (missing > 1)
		buf_printf(b, ", nor are %u more", missing - 1);
}

void
roots_describe(const struct engine_input *in, const struct roots *roots, const struct ranks *r,
	       char *note, size_t size)
{
	uint8_t *mark = mem_array(r->f->nswitches, 1);
	struct part *parts = list_parts(r, roots->mark);
	struct buf b = { 0 };

	memcpy(mark, roots->mark, r->f->nswitches);
	if (!roots->configured)
		put_right(r->f, parts, mark);
	if (r->f->nswitches)
		describe_list(&b, r->f, mark, roots->configured);
	describe_lifted(&b, r->f, parts, mark);
	if (roots->configured)
		describe_odd(&b, in);
	snprintf(note, size, "%s", b.len ? b.data : "");
	buf_free(&b);
	mem_free(parts);
	mem_free(mark);
}
