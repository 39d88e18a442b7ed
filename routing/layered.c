/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/layered.h"
#include <string.h>
#include "routing/nominal.h"
#include "sm/base/mem.h"
#include "sm/base/parallel.h"

/*
 * From ways to tables. The hosts of a switch are spread over its variants by their rank among its
 * ports, and over the cables of a link likewise; both count those of the whole fabric, so that a
 * loss moves nobody else.
 */
#define WORK_MAX 300000000u	/* switches x links x variants: time goes with it */

struct class_table {
	uint32_t n;			/* switches */
	uint8_t class[];		/* by switch, then switch */
};

/* ---- Classes ---- */

static uint8_t
path_class(const struct plan_lanes *l, uint32_t a, uint32_t b)
{
	const struct class_table *t = l->state;

	return t->class[(size_t)a * t->n + b];
}

/* The lane of a class is of the same number, on all links. */
static uint8_t
lane(const struct plan_lanes *l, uint32_t sw, uint8_t in, uint8_t out, uint8_t class)
{
	(void)l;
	(void)sw;
	(void)in;
	(void)out;
	return class;
}

static void
lanes_free(struct plan_lanes *l)
{
	mem_free(l->state);
	mem_free(l);
}

/* As many classes as the whole fabric needs; NULL: one. */
static struct plan_lanes *
make_lanes(const struct ways *w, const struct ways_kept *kept)
{
	size_t len = (size_t)w->n * w->n;
	struct class_table *t = mem_zalloc(sizeof(*t) + len + 1);
	struct plan_lanes *l = mem_zalloc(sizeof(*l));
	unsigned most = 0;

	for (size_t i = 0; i < (size_t)kept->n * kept->n; i++)
		if (kept->class[i] != WAYS_NONE && kept->class[i] > most)
			most = kept->class[i];
	t->n = w->n;
	for (size_t i = 0; i < len; i++) {
		t->class[i] = w->class[i] == WAYS_NONE ? 0 : w->class[i];
		most = t->class[i] > most ? t->class[i] : most;
	}
	*l = (struct plan_lanes){
		.refs = 1, .classes = (uint8_t)(most + 1), .lanes = (uint8_t)(most + 1),
		.path_class = path_class, .lane = lane, .free = lanes_free, .state = t,
	};
	if (most)
		return l;
	lanes_free(l);
	return NULL;
}

/* ---- From run to run ---- */

static unsigned
nlayers(const struct layered *y)
{
	return y->layers ? y->layers : 1;
}

static void
memo_free(struct plan_memo *m)
{
	ways_kept_unref(m->state);
	mem_free(m);
}

static struct plan_memo *
make_memo(const struct layered *y)
{
	struct plan_memo *m = mem_zalloc(sizeof(*m));

	*m = (struct plan_memo){
		.refs = 1, .owner = y->engine, .free = memo_free, .state = ways_kept_ref(y->kept),
	};
	return m;
}

/* What the last run left, if it can be of use. */
static struct ways_kept *
last_kept(const struct layered *y)
{
	const struct plan_memo *m = y->in->previous ? y->in->previous->memo : NULL;
	struct ways_kept *k = m && m->owner == y->engine ? m->state : NULL;

	if (!k || k->lanes != y->lanes || k->layers != nlayers(y) ||
	    (y->in->options && y->in->options->full))
		return NULL;
	return k;
}

/* ---- The whole ---- */

static bool
is_host(const struct fabric *f, const struct fabric_node *sw, unsigned port)
{
	uint32_t peer = f->ports[sw->first_port + port].peer;

	return peer != FABRIC_NONE && f->nodes[f->ports[peer].node].sw == FABRIC_NONE;
}

/* Ranks of hosts; returns the most on one switch. */
static unsigned
rank_hosts(struct layered *y)
{
	const struct fabric *f = y->whole;
	uint32_t ports = 0;
	unsigned most = 1;

	for (uint32_t sw = 0; sw < f->nswitches; sw++)
		ports += fabric_switch_node(f, sw)->nports + 1u;
	y->rank = mem_array(ports + 1, sizeof(*y->rank));
	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		const struct fabric_node *node = fabric_switch_node(f, sw);
		uint8_t rank = 0;

		for (unsigned p = 1; p <= node->nports; p++)
			if (is_host(f, node, p))
				y->rank[y->links.hub[sw] + p] = rank++;
		most = rank > most ? rank : most;
	}
	return most;
}

static void
find_there(struct layered *y)
{
	const struct fabric *f = y->in->fabric;
	uint32_t x = 0;

	y->there = mem_array(f->nswitches + 1, sizeof(*y->there));
	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		while (fabric_switch_node(y->whole, x)->guid < fabric_switch_node(f, sw)->guid)
			x++;
		y->there[sw] = x;
	}
}

static int
find_whole(struct layered *y, struct error *e)
{
	struct ways_kept *last = last_kept(y);
	unsigned variants = rank_hosts(y);
	uint64_t work = (uint64_t)y->links.n * y->links.len * nlayers(y) + 1;
	struct ways w;
	int rc = 0;

	if (variants > WORK_MAX / work)
		variants = work < WORK_MAX ? (unsigned)(WORK_MAX / work) : 1;
	variants *= nlayers(y);
	ways_init(&w, y->whole, last ? last->variants : variants, nlayers(y), y->lanes);
	if (last && ways_kept_fits(last, &w)) {
		y->kept = ways_kept_ref(last);
	} else {
		rc = y->find(&w, last, e);
		if (!rc)
			y->kept = ways_keep(&w);
	}
	ways_free(&w);
	return rc;
}

static bool
nobody_apart(const struct ways *w)
{
	for (uint32_t sw = 0; sw < w->n; sw++)
		if (w->apart[sw])
			return false;
	return true;
}

static int
find_present(struct layered *y, struct error *e)
{
	const struct engine_options *o = y->in->options;

	ways_init(&y->w, y->in->fabric, y->kept->variants, nlayers(y), y->lanes);
	for (uint32_t sw = 0; sw < y->w.n; sw++)
		y->w.apart[sw] = engine_is_fixed(y->in, sw);
	if (ways_kept_fits(y->kept, &y->w) && nobody_apart(&y->w)) {
		ways_take(&y->w, y->kept);
		return 0;
	}
	return y->find(&y->w, o && o->full ? NULL : y->kept, e);
}

/* ---- Tables ---- */

/* The port for a packet that is spread by `n`, on a link that is number `there` in the whole. */
static uint8_t
pick_cable(const struct layered *y, uint32_t link, uint32_t there, uint32_t n)
{
	const struct links *now = &y->w.l, *all = &y->links;
	const uint8_t *ports = &now->port[now->port_first[link]];
	uint32_t len = now->port_first[link + 1] - now->port_first[link];
	uint32_t whole = all->port_first[there + 1] - all->port_first[there];
	uint8_t port = all->port[all->port_first[there] + n % whole];

	for (uint32_t i = 0; i < len; i++)
		if (ports[i] == port)
			return port;
	return ports[n / whole % len];
}

/* Which way of its home a destination takes, of those that were made. */
static uint32_t
way_to(const struct layered *y, const struct plan_dest *d, uint32_t n)
{
	const struct ways *w = &y->w;
	uint32_t way = d->sw * w->variants, ranks = w->variants / w->layers, made = 1;

	if (!d->out)
		return way;
	while (made < ranks && w->heads[way + made])
		made++;
	return y->layers ? way + d->offset % y->layers * ranks + (n - d->offset) % made :
		way + n % made;
}

static void
fill_row(const struct layered *y, uint32_t sw, uint8_t *row)
{
	const struct plan_lids *lids = y->in->lids;
	const struct ways *w = &y->w;

	for (uint32_t lid = 1; lid <= lids->top; lid++) {
		const struct plan_dest *d = &lids->dest[lid];
		uint32_t n, link, there;

		if (d->sw == FABRIC_NONE)
			continue;
		if (d->sw == sw) {
			row[lid] = d->out;
			continue;
		}
		there = y->there[d->sw];
		n = d->offset + (d->out ? y->rank[y->links.hub[there] + d->out] : 0u);
		link = ways_link(w, way_to(y, d, n), sw);
		if (link == LINKS_NONE)
			continue;
		row[lid] = pick_cable(y, link, links_between(&y->links, y->there[sw],
							     y->there[w->l.to[link]]), there + n);
	}
}

struct filler {
	const struct layered *y;	/* whose tables */
	struct engine_output *out;	/* rows */
};

static void
fill_rows(void *arg, unsigned thread, size_t first, size_t end)
{
	const struct filler *f = arg;

	(void)thread;
	for (size_t sw = first; sw < end; sw++) {
		if (engine_is_fixed(f->y->in, (uint32_t)sw))
			continue;
		f->out->rows[sw] = plan_row_new(f->y->in->lids->top);
		fill_row(f->y, (uint32_t)sw, plan_row_entries(f->out->rows[sw]));
	}
}

/* ---- All ---- */

unsigned
layered_lanes(const struct engine_input *in, unsigned most)
{
	unsigned allowed = in->options ? in->options->max_vls : 0;

	return links_vls(in->fabric, allowed && allowed < most ? allowed : most);
}

int
layered_route(struct layered *y, struct engine_output *out, struct error *e)
{
	struct filler f = { y, out };
	int rc;

	y->whole = nominal_fabric(y->in->fabric);
	links_init(&y->links, y->whole);
	find_there(y);
	rc = find_whole(y, e);
	if (!rc)
		rc = find_present(y, e);
	if (rc)
		return rc;
	parallel_run(y->in->options ? y->in->options->threads : 0, y->w.n, 8, fill_rows, &f);
	out->lanes = make_lanes(&y->w, y->kept);
	out->memo = make_memo(y);
	return 0;
}

void
layered_free(struct layered *y)
{
	fabric_unref(y->whole);
	links_free(&y->links);
	ways_kept_unref(y->kept);
	ways_free(&y->w);
	mem_free(y->there);
	mem_free(y->rank);
}
