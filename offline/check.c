/* SPDX-License-Identifier: BSD-2-Clause */
#include "offline/offline.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "offline/dump.h"
#include "offline/trees.h"
#include "routing/report.h"
#include "sm/base/clock.h"
#include "sm/base/mem.h"

/*
 * check DIR: tables that somebody else made, proved as Weft's own are. LIDs are those of the
 * topology, or where it has none, of the tables. What a dump is known to lack by no fault of the
 * tables is left out of the proof, and said; what it lacks else is a fault.
 */
struct check {
	const struct offline *o;
	struct dump dump;
	struct name_map *names;		/* that the administrator chose; NULL */
	struct plan_lids *lids;
	struct plan_row **rows;		/* by switch, none NULL */
	struct plan_lanes *lanes;	/* by SL to VL tables; NULL */
	struct plan_lanes *host_lanes;	/* likewise, without what switches send; NULL */
	uint64_t guessed;		/* (switch, LID) whose SLs the dump does not say */
	struct trees trees;		/* multicast */
	struct plan_check report;
	struct quality_report q;
	bool measured;			/* q is filled */
	struct plan_lids *host_lids;	/* hosts' only, where all together are not proved */
	struct plan_check host_report;	/* of these */
	int host_verdict;		/* of these; 0 if all together are proved */
	int verdict;			/* of unicast and credit loops */
	double proof_ms;		/* time that the proof took */
	char clash[300];		/* LIDs that cannot be so; "" */
	struct buf note;		/* remarks */
};

/* dump_lfts prints the LIDs below LinearFDBTop where that is a multiple of 64, and all up to it
 * elsewhere: a LID that no table has is no hole then. */
static void
leave_out_top(struct check *c)
{
	struct plan_lids *l = c->lids;
	uint32_t top = l->top, port = l->dest[top].port;

	if (!top || top % LFT_BLOCK_LEN || c->dump.lfts->form != LFTS_FORM_DUMP)
		return;
	for (uint32_t i = 0; i < c->dump.lfts->nswitches; i++)
		if (c->dump.lfts->switches[i].len > top)
			return;
	buf_printf(&c->note, "%sLID %u (%s) is left out: dump_lfts does not print the highest LID "
		   "where it is a multiple of 64", c->note.len ? "; " : "", top,
		   c->dump.fabric->nodes[c->dump.fabric->ports[port].node].name);
	l->base[port] = 0;
	plan_lids_index(l, c->dump.fabric);
}

static int
take_lids(struct check *c, struct error *e)
{
	uint32_t taken, without;

	c->lids = offline_lids_known(c->dump.fabric, c->dump.lfts, &taken);
	if (!c->lids->top)
		return error_set(e, ERR_REFUSED, "%s has no LIDs, and %s does not say whose they "
				 "are: run ibnetdiscover again, now that there is a subnet manager",
				 c->dump.topology, c->dump.lfts->file);
	if (taken)
		buf_printf(&c->note, "LIDs of %u ports are those of the tables, for the topology "
			   "has none", taken);
	without = offline_lids_left_out(c->dump.fabric, c->lids, c->clash, sizeof(c->clash));
	if (without)
		buf_printf(&c->note, "%s%u ports have no LID and are left out",
			   c->note.len ? "; " : "", without);
	leave_out_top(c);
	return 0;
}

static void
take_row(struct check *c, const struct lfts_switch *s, uint32_t sw)
{
	struct plan_row *row = plan_row_new(c->lids->top);

	plan_row_unref(c->rows[sw]);
	c->rows[sw] = row;
	memcpy(plan_row_entries(row), s->ports, s->len < row->len ? s->len : row->len);
}

static void
take_rows(struct check *c)
{
	const struct fabric *f = c->dump.fabric;
	uint32_t missing = 0, first = 0, strange = 0;
	char name[FABRIC_NAME_SIZE];

	c->rows = mem_array(f->nswitches, sizeof(struct plan_row *));
	for (uint32_t i = 0; i < c->dump.lfts->nswitches; i++) {
		const struct lfts_switch *s = &c->dump.lfts->switches[i];
		uint32_t node = fabric_node_by_guid(f, s->guid);

		if (node == FABRIC_NONE || f->nodes[node].sw == FABRIC_NONE)
			strange++;
		else
			take_row(c, s, f->nodes[node].sw);
	}
	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		if (c->rows[sw])
			continue;
		c->rows[sw] = plan_row_new(c->lids->top);
		first = missing++ ? first : sw;
	}
	if (missing)
		buf_printf(&c->note, "%s%u of %u switches have no table in the dump, the first is "
			   "%s", c->note.len ? "; " : "", missing, f->nswitches,
			   fabric_node_text(name, f, f->switches[first], FABRIC_NAME_LEN));
	if (strange)
		buf_printf(&c->note, "%s%u tables are of switches that the topology does not have",
			   c->note.len ? "; " : "", strange);
}

/* Without SL to VL tables a loop may be one that lanes open, and with them one that no pair's SL
 * closes: that is said. */
static void
note_lanes(struct check *c)
{
	if ((c->lanes && !c->guessed) || !c->report.credit_loops)
		return;
	if (c->note.len)
		buf_str(&c->note, "; ");
	if (!c->lanes)
		buf_str(&c->note, "all packets are taken to share one lane, for there are no SL to "
			"VL tables (smpquery sl2vl)");
	else if (c->dump.paths)
		buf_printf(&c->note, "%" PRIu64 " pairs of a switch and a LID are taken to use "
			   "every service level, for path records of them are missing", c->guessed);
	else
		buf_str(&c->note, "every pair is taken to use every service level, for there are "
			"no path records (saquery PR)");
}

/* The LIDs of hosts alone. */
static struct plan_lids *
host_lids(const struct check *c)
{
	const struct fabric *f = c->dump.fabric;
	struct plan_lids *l = plan_lids_new(f);

	memcpy(l->base, c->lids->base, f->nports * sizeof(*l->base));
	memcpy(l->lmc, c->lids->lmc, f->nports * sizeof(*l->lmc));
	for (uint32_t sw = 0; sw < f->nswitches; sw++)
		l->base[fabric_switch_node(f, sw)->first_port] = 0;
	plan_lids_index(l, f);
	return l;
}

static bool
delivers(const struct plan_check *r)
{
	return !r->unreachable && !r->loops && !r->holes && !r->misdelivered;
}

/* Packets to and from LIDs of switches (performance queries) are few; many managers leave them to
 * chance. They fail the proof, but whether hosts' packets do is another question. */
static void
prove_hosts(struct check *c, struct check_input *in)
{
	struct plan_check *r = &c->host_report;

	c->host_lids = host_lids(c);
	in->lids = c->host_lids;
	in->lanes = c->host_lanes;
	c->host_verdict = check_routing(in, r);
	if (!c->host_verdict)
		buf_printf(&c->note, "%sonly packets to or from LIDs of switches are at fault; "
			   "those between hosts all arrive and close no credit loop",
			   c->note.len ? "; " : "");
	else if (delivers(r))
		buf_printf(&c->note, "%spackets between hosts all arrive, and close a credit loop",
			   c->note.len ? "; " : "");
}

static void
prove(struct check *c)
{
	struct check_input in = {
		.fabric = c->dump.fabric, .lids = c->lids, .rows = c->rows, .lanes = c->lanes,
		.trees = c->trees.list, .ntrees = c->trees.len, .threads = c->o->threads,
	};
	monotime start = clock_monotonic();

	c->verdict = check_routing(&in, &c->report);
	c->proof_ms = (double)(clock_monotonic() - start) / 1e6;
	note_lanes(c);
	c->host_report = c->report;
	if (c->verdict)
		prove_hosts(c, &in);
	/* A credit loop alone is no reason to measure nothing: the tables do deliver. */
	c->measured = c->o->quality && delivers(&c->host_report);
	if (c->measured)
		offline_measure(c->o, &in, &c->q);
}

static void
put_dump(struct json *j, const struct check *c)
{
	const struct fabric *f = c->dump.fabric;

	jw_str(j, "topology", c->dump.topology);
	jw_str(j, "tables", c->dump.lfts->file);
	jw_str(j, "multicast_tables", c->dump.mfts ? c->dump.mfts->file : NULL);
	jw_str(j, "path_records", c->dump.paths ? c->dump.paths->file : NULL);
	jw_uint(j, "switches", f->nswitches);
	jw_uint(j, "hosts", f->ncas);
	jw_uint(j, "links", f->nlinks);
	jw_uint(j, "lanes", c->lanes ? c->lanes->lanes : 1);
	jw_bool(j, "host_ok", !c->host_verdict);
	jw_uint(j, "host_credit_loops", c->host_report.credit_loops);
	jw_uint(j, "multicast_lids", c->trees.mlids);
	jw_uint(j, "multicast_loops", c->trees.loops);
	jw_uint(j, "multicast_unreached", c->trees.unreached);
}

static int
answer(struct check *c)
{
	int verdict = c->verdict || c->clash[0] || c->trees.first[0] ? ERR_REFUSED : 0, status;
	struct buf b = { 0 };
	struct json j;

	if (!c->report.first[0])
		snprintf(c->report.first, sizeof(c->report.first), "%s",
			 c->clash[0] ? c->clash : c->trees.first);
	jw_init(&j, &b);
	jw_object(&j, NULL);
	put_dump(&j, c);
	report_put_counts(&j, verdict, &c->report);
	report_put_quality(&j, c->measured ? &c->q : NULL);
	report_put_faults(&j, &c->report);
	jw_str(&j, "note", c->note.len ? c->note.data : "");
	jw_uint(&j, "seed", c->o->seed);
	jw_real(&j, "took_ms", c->proof_ms);
	jw_end(&j);
	status = offline_answer(&b, verdict ? OFFLINE_REFUSED : OFFLINE_DONE);
	buf_free(&b);
	return status;
}

static void
check_free(struct check *c)
{
	for (uint32_t sw = 0; c->rows && sw < c->dump.fabric->nswitches; sw++)
		plan_row_unref(c->rows[sw]);
	mem_free(c->rows);
	plan_lanes_unref(c->lanes);
	plan_lanes_unref(c->host_lanes);
	plan_lids_unref(c->lids);
	plan_lids_unref(c->host_lids);
	trees_free(&c->trees);
	buf_free(&c->note);
	dump_free(&c->dump);
	name_map_free(c->names);
}

static int
take_lanes(struct check *c, struct error *e)
{
	uint64_t guessed;

	if (!c->dump.nsl2vl)
		return 0;
	c->lanes = dump_lanes(&c->dump, c->lids, false, &c->guessed, e);
	if (c->lanes)
		c->host_lanes = dump_lanes(&c->dump, c->lids, true, &guessed, e);
	return c->host_lanes ? 0 : e->code;
}

int
offline_check(const struct offline *o)
{
	struct check c = { .o = o };
	struct error e = { 0 };
	int rc = dump_load(&c.dump, o->path, &e), status;

	if (!rc)
		rc = offline_names(o, c.dump.fabric, &c.names, &e);
	if (!rc)
		rc = take_lids(&c, &e);
	if (!rc)
		rc = take_lanes(&c, &e);
	if (!rc) {
		take_rows(&c);
		trees_check(&c.trees, &c.dump);
		prove(&c);
	}
	status = rc ? offline_refuse(&e) : answer(&c);
	check_free(&c);
	return status;
}
