/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/file.h"
#include <stdio.h>
#include "routing/levels.h"
#include "sm/base/map.h"
#include "sm/base/mem.h"
#include "sm/base/parallel.h"
#include "sm/base/text.h"
#include "sm/text/lfts.h"

/*
 * Tables that were saved: by Weft, by dump_lfts, or by OpenSM. Switches are found by GUID. The file
 * says which port had which LID when it was saved; ports are followed to the LIDs that they have
 * now. What it lacks is refused, with the exact place; whether what it holds is any good for the
 * fabric as it is now, the proof says, as for every engine.
 */
#define GRAIN 4u	/* switches that a thread takes at a time */

struct load {
	const struct engine_input *in;
	const struct lfts *tables;		/* the file */
	const struct lfts_switch **block;	/* by switch: its block; NULL: it gets no row */
	uint16_t *from;				/* by LID: the LID in the file, 0: nobody's */
	uint32_t *hole;				/* by switch: first LID that lacks a port, 0 none */
	uint32_t *part;				/* by switch: connected component */
	struct plan_row **rows;			/* the output's */
};

static const char *
port_name(const struct fabric *f, uint32_t port)
{
	return f->nodes[f->ports[port].node].name;
}

/* The port that the LID belongs to now had, in the file, the LID `base` (0: none) and followers. */
static int
follow_lid(struct load *l, uint32_t lid, uint32_t base, struct error *e)
{
	const struct plan_dest *d = &l->in->lids->dest[lid];
	uint64_t guid = l->in->fabric->ports[d->port].guid;
	char text[GUID_TEXT_SIZE];

	if (base && base + d->offset <= LFTS_LID_MAX &&
	    l->tables->owners[base + d->offset] == guid) {
		l->from[lid] = (uint16_t)(base + d->offset);
		return 0;
	}
	return error_set(e, ERR_NOT_FOUND, base ? "%s has fewer LIDs for port %s of %.80s, which "
			 "has LID %u now" : "%s has no LID of port %s of %.80s, which has LID %u "
			 "now", l->tables->file, guid_text(text, guid),
			 port_name(l->in->fabric, d->port), lid);
}

static int
follow_lids(struct load *l, struct error *e)
{
	const struct plan_lids *lids = l->in->lids;
	struct map bases = { 0 };
	int rc = 0;

	for (uint32_t lid = LFTS_LID_MAX; lid && l->tables->owners; lid--)
		if (l->tables->owners[lid])
			map_set(&bases, l->tables->owners[lid], lid);
	for (uint32_t lid = 1; lid <= lids->top && !rc; lid++) {
		uint32_t base;

		if (lids->dest[lid].port == FABRIC_NONE)
			continue;
		l->from[lid] = (uint16_t)lid;
		if (!l->tables->owners)
			continue;
		base = map_get(&bases, l->in->fabric->ports[lids->dest[lid].port].guid);
		rc = follow_lid(l, lid, base == MAP_NONE ? 0 : base, e);
	}
	map_free(&bases);
	return rc;
}

static int
find_blocks(struct load *l, struct error *e)
{
	const struct fabric *f = l->in->fabric;
	char text[GUID_TEXT_SIZE];

	for (uint32_t i = 0; i < l->tables->nswitches; i++) {
		uint32_t node = fabric_node_by_guid(f, l->tables->switches[i].guid);

		if (node != FABRIC_NONE && f->nodes[node].sw != FABRIC_NONE)
			l->block[f->nodes[node].sw] = &l->tables->switches[i];
	}
	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		if (engine_is_fixed(l->in, sw))
			l->block[sw] = NULL;
		else if (!l->block[sw])
			return error_set(e, ERR_NOT_FOUND, "%s has no table of switch %.80s, %s",
					 l->tables->file, fabric_switch_node(f, sw)->name,
					 guid_text(text, fabric_switch_node(f, sw)->guid));
	}
	return 0;
}

static void
fill_row(struct load *l, uint32_t sw)
{
	const struct plan_lids *lids = l->in->lids;
	const struct lfts_switch *block = l->block[sw];
	struct plan_row *row = plan_row_new(lids->top);
	uint8_t *port = plan_row_entries(row);

	l->rows[sw] = row;
	for (uint32_t lid = 1; lid <= lids->top; lid++) {
		uint32_t from = l->from[lid], home = lids->dest[lid].sw;

		if (!from)
			continue;
		port[lid] = from < block->len ? block->ports[from] : LFT_NO_PORT;
		if (port[lid] == LFT_NO_PORT && !l->hole[sw] && home != FABRIC_NONE &&
		    l->part[home] == l->part[sw])
			l->hole[sw] = lid;
	}
}

static void
fill_rows(void *arg, unsigned thread, size_t first, size_t end)
{
	struct load *l = arg;

	(void)thread;
	for (size_t sw = first; sw < end; sw++)
		if (l->block[sw])
			fill_row(l, (uint32_t)sw);
}

/* No table goes up to this LID, which is just the one that dump_lfts does not print. */
static bool
is_cut_off(const struct load *l, uint32_t from)
{
	for (uint32_t i = 0; i < l->tables->nswitches; i++)
		if (l->tables->switches[i].len > from)
			return false;
	return from % LFT_BLOCK_LEN == 0 && l->tables->form == LFTS_FORM_DUMP;
}

/* The least LID that some switch in its reach has no port for. */
static int
find_hole(const struct load *l, struct error *e)
{
	const struct fabric *f = l->in->fabric;
	uint32_t lid = 0, at = 0;
	char name[FABRIC_NAME_SIZE];

	for (uint32_t sw = 0; sw < f->nswitches; sw++)
		if (l->hole[sw] && (!lid || l->hole[sw] < lid)) {
			lid = l->hole[sw];
			at = sw;
		}
	if (!lid)
		return 0;
	return error_set(e, ERR_NOT_FOUND, "%s has no port for LID %u (%.80s) at switch %s%s",
			 l->tables->file, l->from[lid], port_name(f, l->in->lids->dest[lid].port),
			 fabric_node_text(name, f, f->switches[at], FABRIC_NAME_LEN),
			 is_cut_off(l, l->from[lid]) ?
			 "; dump_lfts leaves out the highest LID where it is a multiple of 64, "
			 "opensm-lfts.dump has it" : "");
}

static void
remark(const struct load *l, char *note, size_t size)
{
	uint32_t moved = 0;

	for (uint32_t lid = 1; lid <= l->in->lids->top; lid++)
		moved += l->from[lid] && l->from[lid] != lid;
	if (!l->tables->owners)
		snprintf(note, size, "%.200s does not say whose its LIDs are: they are taken as "
			 "they stand", l->tables->file);
	else if (moved)
		snprintf(note, size, "tables of %.200s; %u LIDs are others now and are followed",
			 l->tables->file, moved);
	else
		snprintf(note, size, "tables of %.200s", l->tables->file);
}

static int
load_tables(struct load *l, struct engine_output *out, struct error *e)
{
	int rc = find_blocks(l, e);

	if (!rc)
		rc = follow_lids(l, e);
	if (rc)
		return rc;
	levels_components(l->in->fabric, l->part);
	parallel_run(l->in->options->threads, l->in->fabric->nswitches, GRAIN, fill_rows, l);
	rc = find_hole(l, e);
	if (!rc)
		remark(l, out->note, sizeof(out->note));
	return rc;
}

static int
route(const struct engine_input *in, struct engine_output *out, struct error *e)
{
	struct load l = { .in = in, .rows = out->rows };
	uint32_t n = in->fabric->nswitches;
	int rc;

	if (!in->options || !in->options->tables)
		return error_set(e, ERR_INVALID, "it needs saved tables: routing.file in the "
				 "configuration, or weft route --file, names them");
	l.tables = in->options->tables;
	l.block = mem_array(n, sizeof(const struct lfts_switch *));
	l.from = mem_array(in->lids->top + 1u, sizeof(*l.from));
	l.hole = mem_array(n, sizeof(*l.hole));
	l.part = mem_array(n, sizeof(*l.part));
	rc = load_tables(&l, out, e);
	mem_free(l.block);
	mem_free(l.from);
	mem_free(l.hole);
	mem_free(l.part);
	return rc;
}

const struct engine engine_file = {
	.name = "file",
	.help = "tables saved by Weft, dump_lfts or OpenSM, following ports to new LIDs",
	.topologies = "the fabric that they were saved from",
	.deadlock_free = false,
	.route = route,
};
