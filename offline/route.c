/* SPDX-License-Identifier: BSD-2-Clause */
#include "offline/offline.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include "qos/compose.h"
#include "routing/classes.h"
#include "routing/engine.h"
#include "routing/report.h"
#include "sm/base/clock.h"
#include "sm/base/mem.h"
#include "sm/text/ibnet.h"
#include "sm/text/lfts.h"

/*
 * route FILE: a fabric from a file, LIDs, the chain of engines and the proof as in the daemon, then
 * the quality; the answer tells all of it, and the tables may be written to a file.
 */
struct route {
	const struct offline *o;
	struct config *conf;	/* defaults: the engines that a daemon would take */
	struct fabric *fabric;	/* of the file */
	struct name_map *names;	/* that the administrator chose; NULL */
	struct plan *plan;	/* with LIDs; with tables if `verdict` is 0 */
	struct lfts *tables;	/* that engine `file` takes; NULL */
	int verdict;		/* of the chain */
	struct error why;	/* it was refused */
	struct quality_report q;	/* of the tables */
	double quality_ms;	/* time that measuring took */
};

/* A recipe such as ft3:4 is no file, but there is a way. */
static int
read_topology(struct ibnet **net, const char *path, struct error *e)
{
	const char *colon = strchr(path, ':');

	if (colon && isdigit((unsigned char)colon[1]) && access(path, F_OK) && errno == ENOENT)
		return error_set(e, ERR_NOT_FOUND, "there is no file %.100s; for a fabric by "
				 "recipe: weftsim generate %.100s | weft route -", path, path);
	return ibnet_read(net, path, e);
}

static int
load(struct route *r, struct error *e)
{
	struct ibnet *net;
	int rc = read_topology(&net, r->o->path, e);

	if (rc)
		return rc;
	r->fabric = fabric_from_ibnet(net);
	ibnet_free(net);
	rc = offline_names(r->o, r->fabric, &r->names, e);
	if (rc)
		return rc;
	r->plan = plan_new(r->fabric);
	r->plan->lids = offline_lids(r->fabric, r->o->lmc, e);
	if (!r->plan->lids)
		return e->code;
	return r->o->tables ? lfts_read(&r->tables, r->o->tables, e) : 0;
}

static void
route(struct route *r)
{
	const struct offline *o = r->o;
	const struct classes classes = { .storage = o->storage, .other = o->other };
	uint8_t *node_class = classes_of(&classes, r->fabric);
	struct compose_policy sls = {
		.levels = 1, .max_vls = r->conf->subnets[0].max_op_vls,
	};
	struct chain_options options = {
		.engines = o->nengines ? (const char *const *)o->engines :
			   (const char *const *)r->conf->subnets[0].routing.engines,
		.fallback = true, .compose = compose_chain, .compose_arg = &sls,
		.engine = { .roots = o->roots, .nroots = o->nroots, .threads = o->threads,
			    .max_vls = sls.max_vls, .lanes = r->conf->subnets[0].routing.lanes,
			    .tables = r->tables, .node_class = node_class },
	};
	monotime start;

	r->verdict = engine_chain(r->plan, NULL, NULL, &options, &r->why);
	mem_free(node_class);
	if (r->verdict || !o->quality)
		return;
	start = clock_monotonic();
	offline_measure(o, &(struct check_input){
		.fabric = r->fabric, .lids = r->plan->lids, .rows = r->plan->rows,
		.lanes = r->plan->lanes, .ranks = r->plan->ranks, .threads = o->threads,
	}, &r->q);
	r->quality_ms = (double)(clock_monotonic() - start) / 1e6;
}

static int
save(const struct route *r, struct error *e)
{
	const struct offline *o = r->o;
	int rc = 0;

	if (o->lfts && !strcmp(o->lfts, "-"))
		return error_set(e, ERR_INVALID, "--lfts takes a file, standard output has the "
				 "report");
	if (o->lfts)
		rc = offline_save_tables(r->plan, o->lfts, e);
	if (!rc && o->dump)
		rc = offline_save_all(r->plan, o->dump, e);
	return rc;
}

static uint32_t
count_lids(const struct plan_lids *l)
{
	uint32_t n = 0;

	for (uint32_t lid = 1; lid <= l->top; lid++)
		n += l->dest[lid].port != FABRIC_NONE;
	return n;
}

static void
put_fabric(struct json *j, const struct route *r)
{
	jw_str(j, "file", r->o->path);
	jw_uint(j, "switches", r->fabric->nswitches);
	jw_uint(j, "hosts", r->fabric->ncas);
	jw_uint(j, "links", r->fabric->nlinks);
	jw_uint(j, "lids", count_lids(r->plan->lids));
}

/* What the engine says; and that a file of forwarding tables alone is not what was proved. */
static void
put_note(struct json *j, const struct route *r)
{
	const struct plan *p = r->plan;
	struct buf b = { 0 };

	buf_str(&b, p->note);
	if (!r->verdict && r->o->lfts && p->lanes && p->lanes->lanes > 1)
		buf_printf(&b, "%sproved with service levels and %u lanes, which %s does not hold; "
			   "--dump saves them",
			   b.len ? "; " : "", p->lanes->lanes, r->o->lfts);
	jw_str(j, "note", b.len ? b.data : "");
	buf_free(&b);
}

static void
put_routing(struct json *j, const struct route *r)
{
	const struct plan *p = r->plan;

	jw_str(j, "engine_requested", r->o->nengines ? r->o->engines[0] :
	       r->conf->subnets[0].routing.engines[0]);
	jw_str(j, "engine", p->engine_running);
	jw_str(j, "reason", r->verdict ? r->why.text : p->reason);
	put_note(j, r);
	jw_real(j, "route_ms", (double)p->route_us / 1000);
	jw_real(j, "check_ms", (double)p->check_us / 1000);
	jw_real(j, "took_ms", (double)p->check_us / 1000);
	jw_real(j, "quality_ms", r->quality_ms);
}

static int
answer(const struct route *r)
{
	struct buf b = { 0 };
	struct json j;
	struct rusage usage;
	int status;

	getrusage(RUSAGE_SELF, &usage);
	jw_init(&j, &b);
	jw_object(&j, NULL);
	put_fabric(&j, r);
	put_routing(&j, r);
	report_put_counts(&j, r->verdict, &r->plan->check);
	report_put_quality(&j, r->o->quality && !r->verdict ? &r->q : NULL);
	report_put_faults(&j, &r->plan->check);
	jw_uint(&j, "seed", r->o->seed);
	jw_uint(&j, "peak_rss_kb", (uint64_t)usage.ru_maxrss);
	jw_end(&j);
	status = offline_answer(&b, r->verdict ? OFFLINE_REFUSED : OFFLINE_DONE);
	buf_free(&b);
	return status;
}

int
offline_route(const struct offline *o)
{
	struct route r = { .o = o };
	struct error e = { 0 };
	int rc, status;

	r.conf = config_load(NULL, &e);
	rc = load(&r, &e);
	if (!rc)
		route(&r);
	if (!rc && !r.verdict)
		rc = save(&r, &e);
	status = rc ? offline_refuse(&e) : answer(&r);
	plan_unref(r.plan);
	fabric_unref(r.fabric);
	name_map_free(r.names);
	lfts_free(r.tables);
	config_free(r.conf);
	return status;
}
