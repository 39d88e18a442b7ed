/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/ctl/command.h"

#include "qos/arbitrate.h"
#include "sm/fabric/levels.h"

/*
 * show qos: what each service level means in the published plan, which lanes it goes by, and how
 * lanes share a link. A service level of a further path class is the engine's: programs learn it
 * from path records, and must not choose it.
 *
 * Lanes and arbitration are those of links that hold all of it; a port that
 * runs fewer lanes or has smaller tables has them folded (qos/arbitrate.h).
 */
static const char *
name_of(const struct plan *p, unsigned level)
{
	return p->levels && level < p->levels->len ? p->levels->level[level].name : NULL;
}

static void
put_lanes(struct json *j, const char *key, unsigned first, unsigned len)
{
	jw_array(j, key);
	for (unsigned i = 0; i < len; i++)
		jw_uint(j, NULL, first + i);
	jw_end(j);
}

/* Configured levels that go by this one of the plan. */
static void
put_levels_of(struct json *j, const struct plan *p, unsigned place)
{
	jw_array(j, "levels");
	for (unsigned i = 0; i < p->sls->asked; i++)
		if (p->sls->place[i] == place && name_of(p, i))
			jw_str(j, NULL, name_of(p, i));
	jw_end(j);
}

/* Service levels of which some switch spreads packets over several ports. */
static uint16_t
spread_sls(const struct plan *p)
{
	uint16_t sls = 0;

	for (uint32_t sw = 0; p->adaptive && sw < p->adaptive->nswitches; sw++) {
		const struct plan_ar_switch *s = p->adaptive->sw[sw];

		if (s && s->used && s->mode != AR_STATIC)
			sls |= s->sls;
	}
	return sls;
}

static void
put_sl(struct json *j, const struct plan *p, unsigned sl, uint16_t spread)
{
	const struct plan_sls *s = p->sls;
	unsigned slot = s->slot[sl], level = slot == SLS_FREE ? 0 : slot / s->classes;
	bool used = slot != SLS_FREE, dropped = !used && s->classes > 1;
	bool engine = used && slot % s->classes;

	jw_object(j, NULL);
	jw_uint(j, "sl", sl);
	jw_str(j, "use", engine ? "engine" : used ? "level" : dropped ? "dropped" : "as SL 0");
	if (used)
		put_levels_of(j, p, level);
	else
		put_lanes(j, "levels", 0, 0);
	if (used)
		jw_uint(j, "path_class", slot % s->classes);
	else
		jw_null(j, "path_class");
	put_lanes(j, "vls_switches", s->vl[level], dropped ? 0 : s->lanes);
	put_lanes(j, "vls_hosts", s->vl[level], dropped ? 0 : 1);
	jw_bool(j, "adaptive", !dropped && spread >> sl & 1);
	jw_bool(j, "stale", s->stale >> sl & 1);
	jw_end(j);
}

static void
put_levels(struct json *j, const struct plan *p)
{
	const struct config_qos *q = &p->levels->conf->qos;

	jw_array(j, "levels");
	for (unsigned i = 0; i < q->nlevels; i++) {
		const struct config_level *l = &q->levels[i];

		jw_object(j, NULL);
		jw_str(j, "name", l->name);
		jw_uint(j, "sl", p->sls->sl[p->sls->place[i] * p->sls->classes]);
		jw_uint(j, "vl", p->sls->vl[p->sls->place[i]]);
		jw_uint(j, "weight", l->weight);
		jw_str(j, "priority", l->priority == PRIORITY_HIGH ? "high" : "low");
		jw_end(j);
	}
	jw_end(j);
}

static void
put_table(struct json *j, const char *key, const struct vlarb_entry *e, unsigned len)
{
	jw_array(j, key);
	for (unsigned i = 0; i < len; i++) {
		jw_object(j, NULL);
		jw_uint(j, "vl", e[i].vl);
		jw_uint(j, "weight", e[i].weight);
		jw_end(j);
	}
	jw_end(j);
}

static void
put_arbitration(struct json *j, const struct plan *p)
{
	static const struct {
		const char *link;
		struct arbitrate_port port;
	} links[] = {
		{ "switch to switch", { ARBITRATE_SWITCHES, true, 15, 64, 64 } },
		{ "switch to host", { ARBITRATE_SWITCHES, false, 15, 64, 64 } },
		{ "host to switch", { ARBITRATE_HOSTS, false, 15, 64, 64 } },
		{ "router to switch", { ARBITRATE_ROUTERS, false, 15, 64, 64 } },
		{ "switch port 0", { ARBITRATE_PORT0, false, 15, 64, 64 } },
	};

	jw_array(j, "arbitration");
	for (size_t i = 0; p->levels && i < sizeof(links) / sizeof(links[0]); i++) {
		struct arbitration a;

		arbitrate(&p->levels->conf->qos, p->sls, &links[i].port, &a);
		jw_object(j, NULL);
		jw_str(j, "link", links[i].link);
		put_table(j, "high", a.high, a.nhigh);
		put_table(j, "low", a.low, a.nlow);
		jw_uint(j, "high_limit", a.high_limit);
		jw_end(j);
	}
	jw_end(j);
}

static void
put_few_entries(struct json *j, const struct ctl_req *r)
{
	struct subnet_status st;

	r->subnet->status(r->subnet->subnet, &st);
	jw_uint(j, "few_entries_ports", st.few_entries);
	jw_str(j, "few_entries_at", st.few_entries ? st.few_entries_at : NULL);
}

static void
show_qos(struct ctl_req *r)
{
	const struct plan *p = r->plan;
	uint16_t spread = spread_sls(p);
	struct json *j = req_begin(r);

	jw_str(j, "subnet", r->subnet->name);
	jw_str(j, "engine", p->engine_running);
	jw_bool(j, "configured", p->levels != NULL);
	jw_uint(j, "path_classes", p->sls ? p->sls->classes : 1);
	jw_uint(j, "lanes", p->sls ? p->sls->vls : 1);
	jw_array(j, "adaptive_sls");
	for (unsigned sl = 0; sl < SLS_LEN; sl++)
		if (spread >> sl & 1)
			jw_uint(j, NULL, sl);
	jw_end(j);
	jw_str(j, "shared", p->sls && p->sls->merged[0] ? p->sls->merged : NULL);
	if (p->levels && p->sls) {
		put_levels(j, p);
	} else {
		jw_array(j, "levels");
		jw_end(j);
	}
	jw_array(j, "service_levels");
	for (unsigned sl = 0; p->sls && sl < SLS_LEN; sl++)
		put_sl(j, p, sl, spread);
	jw_end(j);
	put_arbitration(j, p);
	put_few_entries(j, r);
	req_end(r);
}

const struct ctl_command ctl_cmd_qos[] = {
	{ .name = "show qos", .scope = SCOPE_PLAN, .run = show_qos },
	{ 0 },
};
