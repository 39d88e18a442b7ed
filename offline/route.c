/* SPDX-License-Identifier: BSD-2-Clause */
#include "offline/offline.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include "plugins/plugins.h"
#include "qos/configured.h"
#include "qos/rules.h"
#include "routing/adaptive.h"
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
 *
 * A configuration says what a daemon would do with this fabric: engines and what they are given,
 * lanes that links may run, levels of service and rules. What is said in options besides counts
 * before it. Of several subnets it is the first.
 */
struct route {
	const struct offline *o;
	struct config *conf;	/* as given, else the defaults: what a daemon would take */
	const struct config_subnet *subnet;	/* its first */
	struct fabric *fabric;	/* of the file */
	struct name_map *names;	/* that the administrator chose; NULL */
	struct plan *plan;	/* with LIDs; with tables if `verdict` is 0 */
	struct plugin *plugin;	/* that is to route; NULL */
	struct lfts *tables;	/* that engine `file` takes; NULL */
	int verdict;		/* of the chain */
	struct error why;	/* it was refused */
	struct quality_report q;	/* of the tables */
	double quality_ms;	/* time that measuring took, */
	double adaptive_ms;	/* and groups and their proof */
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
	const char *tables = r->o->tables ? r->o->tables : r->subnet->routing.file;
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
	r->plan->lids = offline_lids(r->fabric, r->o->lmc == OFFLINE_LMC_FREE ? r->subnet->lmc :
				     r->o->lmc, e);
	if (!r->plan->lids)
		return e->code;
	if (r->o->plugin && (rc = offline_plugin(r->o, &r->plugin, e)))
		return rc;
	return tables ? lfts_read(&r->tables, tables, e) : 0;
}

/* Of which level paths would be: only whether that can be told. */
static int
compile_rules(struct route *r)
{
	struct rules_input in = {
		.conf = r->conf, .subnet = r->subnet->name, .fabric = r->fabric,
	};

	return rules_compile(&in, &r->plan->levels, &r->why);
}

/* Groups as all switches would have them, if all could. */
static void
spread(struct route *r)
{
	uint32_t n = r->fabric->nswitches;
	struct adaptive_ability *ability = mem_array(n, sizeof(*ability));
	struct adaptive_input in = {
		.plan = r->plan, .ability = ability, .mode = AR_FREE, .sls = UINT16_MAX,
		.longer = r->subnet->routing.adaptive_nonminimal,
		.threads = r->o->threads,
	};
	monotime start = clock_monotonic();

	for (uint32_t sw = 0; sw < n; sw++)
		ability[sw] = (struct adaptive_ability){
			.able = true, .groups = (uint16_t)(r->o->adaptive + 1), .subs = 2,
			.tables = 1,
		};
	r->plan->adaptive = adaptive_make(&in);
	r->adaptive_ms = (double)(clock_monotonic() - start) / 1e6;
	mem_free(ability);
}

static void
route(struct route *r)
{
	const struct offline *o = r->o;
	const struct config_subnet *c = r->subnet;
	const struct classes classes = {
		.storage = o->nstorage ? o->storage :
			   (const char *const *)c->routing.classes.storage,
		.other = o->nother ? o->other : (const char *const *)c->routing.classes.other,
	};
	uint8_t *node_class = classes_of(&classes, r->fabric);
	struct compose_policy sls = { .max_vls = c->max_op_vls };
	const struct engine *more[] = { r->plugin ? plugin_engine(r->plugin) : NULL, NULL };
	const char *const own[] = { more[0] ? more[0]->name : NULL, NULL };
	struct qos_levels levels;
	struct chain_options options = {
		.engines = o->nengines ? (const char *const *)o->engines : more[0] ? own :
			   (const char *const *)c->routing.engines,
		.more = more,
		.fallback = c->routing.fallback == FALLBACK_WARN,
		.compose = compose_chain, .compose_arg = &sls,
		.engine = { .roots = o->nroots ? o->roots : c->routing.roots,
			    .nroots = o->nroots ? o->nroots : c->routing.nroots,
			    .threads = o->threads, .lanes = c->routing.lanes,
			    .tables = r->tables, .node_class = node_class },
	};
	monotime start;

	qos_levels_of(r->conf, &levels);
	qos_levels_policy(r->conf, &levels, &sls);
	options.engine.max_vls = compose_engine_vls(&sls, r->fabric);
	options.shared_vls = sls.merge ? sls.max_vls : 0;
	r->verdict = engine_chain(r->plan, NULL, NULL, &options, &r->why);
	mem_free(node_class);
	if (!r->verdict)
		r->verdict = compile_rules(r);
	if (!r->verdict && o->adaptive)
		spread(r);
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

	jw_str(j, "engine_requested", r->o->nengines ? r->o->engines[0] : r->plugin ?
	       plugin_about(r->plugin)->name : r->subnet->routing.engines[0]);
	jw_str(j, "engine", p->engine_running);
	jw_str(j, "reason", r->verdict ? r->why.text : p->reason);
	put_note(j, r);
	jw_real(j, "route_ms", (double)p->route_us / 1000);
	jw_real(j, "check_ms", (double)p->check_us / 1000);
	jw_real(j, "took_ms", (double)p->check_us / 1000);
	jw_real(j, "quality_ms", r->quality_ms);
}

/* What each configured level of service got: its service level, those of the engine's further path
 * classes, and its lanes. */
static void
put_level(struct json *j, const struct plan_sls *s, const char *name, unsigned level)
{
	unsigned place = s->place[level];

	jw_object(j, NULL);
	jw_str(j, "name", name);
	jw_array(j, "sls");
	for (unsigned i = 0; i < s->classes; i++)
		jw_uint(j, NULL, s->sl[place * s->classes + i]);
	jw_end(j);
	jw_array(j, "vls");
	for (unsigned i = 0; i < s->lanes; i++)
		jw_uint(j, NULL, s->vl[place] + i);
	jw_end(j);
	jw_end(j);
}

static void
put_levels(struct json *j, const struct route *r)
{
	const struct plan_sls *s = r->verdict ? NULL : r->plan->sls;
	const struct plan_levels *l = r->plan->levels;

	jw_uint(j, "path_classes", s ? s->classes : 1);
	jw_uint(j, "lanes", s ? s->vls : 1);
	jw_str(j, "shared", s && s->merged[0] ? s->merged : NULL);
	jw_array(j, "qos_levels");
	for (unsigned i = 0; s && l && i < l->len; i++)
		put_level(j, s, l->level[i].name, i);
	jw_end(j);
}

static void
put_adaptive(struct json *j, const struct route *r)
{
	struct adaptive_summary sum;

	if (!r->plan->adaptive)
		return;
	sum = adaptive_sum(r->plan->adaptive);
	jw_object(j, "adaptive");
	jw_uint(j, "switches", sum.switches);
	jw_uint(j, "groups", sum.groups);
	jw_uint(j, "groups_max", sum.most);
	jw_uint(j, "left_out", sum.left_out);
	jw_uint(j, "cut", sum.cut);
	jw_str(j, "cut_first", r->plan->adaptive->cut_first);
	jw_real(j, "took_ms", r->adaptive_ms);
	jw_end(j);
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
	put_levels(&j, r);
	put_adaptive(&j, r);
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

	r.conf = config_load(o->config, &e);
	if (!r.conf)
		return offline_refuse(&e);
	r.subnet = &r.conf->subnets[0];
	rc = load(&r, &e);
	if (!rc)
		route(&r);
	if (!rc && !r.verdict)
		rc = save(&r, &e);
	status = rc ? offline_refuse(&e) : answer(&r);
	plan_unref(r.plan);
	plugin_unref(r.plugin);
	fabric_unref(r.fabric);
	name_map_free(r.names);
	lfts_free(r.tables);
	config_free(r.conf);
	return status;
}
