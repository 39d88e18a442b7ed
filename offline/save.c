/* SPDX-License-Identifier: BSD-2-Clause */
#include "offline/offline.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "sm/base/mem.h"
#include "sm/fabric/plan_text.h"
#include "sm/text/ibnet.h"

/*
 * A routing as files: forwarding tables alone, or a folder of all that `weft check --dump` reads,
 * in the forms in which other programs print it: the topology with LIDs, forwarding tables, and
 * where lanes matter SL to VL tables, and service levels as path records. Written piece by piece:
 * all text together may be larger than the memory.
 */
#define PIECE (1u << 20)	/* bytes that are gathered before they are written */

struct output {
	const char *path;	/* for sentences */
	FILE *file;		/* that it goes to */
	struct buf b;		/* not written yet */
	int rc;			/* of what was written */
	struct error *e;	/* why */
};

static void
failed(struct output *o)
{
	if (!o->rc)
		o->rc = error_set(o->e, ERR_IO, "cannot write %s: %s", o->path, strerror(errno));
}

static void
open_output(struct output *o, const char *path, struct error *e)
{
	*o = (struct output){ .path = path, .file = fopen(path, "we"), .e = e };
	if (!o->file)
		failed(o);
}

/* What was gathered is written if it is a piece. */
static void
flush(struct output *o, size_t piece)
{
	if (o->b.len < piece)
		return;
	if (!o->rc && fwrite(o->b.data, 1, o->b.len, o->file) != o->b.len)
		failed(o);
	buf_clear(&o->b);
}

static int
close_output(struct output *o)
{
	flush(o, 1);
	if (o->file && fclose(o->file))
		failed(o);
	buf_free(&o->b);
	return o->rc;
}

/* ---- The files ---- */

static void
put_topology(struct output *o, const struct plan *p)
{
	struct ibnet *net = plan_to_ibnet(p);

	ibnet_write(&o->b, net);
	ibnet_free(net);
}

static void
put_tables(struct output *o, const struct plan *p)
{
	struct ibnet *net = plan_to_ibnet(p);
	struct lfts_owners *owners = lfts_owners_new(net);
	uint8_t *room = mem_alloc(p->lids->top + 1u);

	for (uint32_t sw = 0; sw < p->fabric->nswitches && !o->rc; sw++) {
		struct lfts_switch s = plan_to_lfts(p, sw, room);

		lfts_write_switch(&o->b, &s, owners);
		flush(o, PIECE);
	}
	mem_free(room);
	lfts_owners_free(owners);
	ibnet_free(net);
}

static bool
is_cabled(const struct fabric *f, const struct fabric_node *n, unsigned port)
{
	return f->ports[n->first_port + port].peer != FABRIC_NONE;
}

static void
put_switch_lanes(struct output *o, const struct plan *p, uint32_t sw)
{
	const struct fabric_node *n = fabric_switch_node(p->fabric, sw);

	buf_printf(&o->b, "Switch 0x%016" PRIx64 ", \"%s\"\n#in out : lanes of service levels 0 "
		   "to 15\n", n->guid, n->name);
	for (unsigned in = 0; in <= n->nports; in++)
		for (unsigned out = 1; out <= n->nports; out++) {
			const struct sls_map *m = plan_sls_map(p->sls, sw, in, out);

			if (in == out || !is_cabled(p->fabric, n, out) ||
			    (in && !is_cabled(p->fabric, n, in)))
				continue;
			buf_printf(&o->b, "%u %u :", in, out);
			for (unsigned sl = 0; sl < SLS_LEN; sl++)
				buf_printf(&o->b, " %u", m->vl[sl]);
			buf_str(&o->b, "\n");
		}
}

static void
put_lanes(struct output *o, const struct plan *p)
{
	for (uint32_t sw = 0; sw < p->fabric->nswitches && !o->rc; sw++) {
		put_switch_lanes(o, p, sw);
		flush(o, PIECE);
	}
}

/* Of all pairs of LIDs: one that has no record may have any service level. */
static void
put_paths(struct output *o, const struct plan *p)
{
	const struct plan_lids *l = p->lids;

	for (uint32_t a = 1; a <= l->top; a++)
		for (uint32_t b = 1; b <= l->top && !o->rc; b++) {
			if (l->dest[a].port == FABRIC_NONE || l->dest[b].port == FABRIC_NONE ||
			    l->dest[a].port == l->dest[b].port)
				continue;
			buf_printf(&o->b, "PathRecord dump:\n\tslid.%u\n\tdlid.%u\n\tsl.%u\n", a, b,
				   plan_path_sl(p, &l->dest[a], &l->dest[b]));
			flush(o, PIECE);
		}
}

/* ---- All ---- */

int
offline_save_tables(const struct plan *p, const char *path, struct error *e)
{
	struct output o;

	open_output(&o, path, e);
	if (!o.rc)
		put_tables(&o, p);
	return close_output(&o);
}

/* One file of a folder, or none: what another routing left there goes. */
static int
save(const struct plan *p, const char *folder, const char *name, bool wanted,
     void (*put)(struct output *o, const struct plan *p), struct error *e)
{
	struct buf path = { 0 };
	struct output o;
	int rc = 0;

	buf_printf(&path, "%s/%s", folder, name);
	if (wanted) {
		open_output(&o, path.data, e);
		if (!o.rc)
			put(&o, p);
		rc = close_output(&o);
	} else if (unlink(path.data) && errno != ENOENT) {
		rc = error_set(e, ERR_IO, "cannot remove %s: %s", path.data, strerror(errno));
	}
	buf_free(&path);
	return rc;
}

int
offline_save_all(const struct plan *p, const char *folder, struct error *e)
{
	int rc = 0;

	if (mkdir(folder, 0777) && errno != EEXIST)
		return error_set(e, ERR_IO, "cannot make %s: %s", folder, strerror(errno));
	rc = save(p, folder, "topology", true, put_topology, e);
	if (!rc)
		rc = save(p, folder, "lfts", true, put_tables, e);
	if (!rc)
		rc = save(p, folder, "sl2vl", p->sls, put_lanes, e);
	if (!rc)
		rc = save(p, folder, "paths", p->sls && p->sls->classes > 1, put_paths, e);
	return rc;
}
