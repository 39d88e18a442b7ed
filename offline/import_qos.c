/* SPDX-License-Identifier: BSD-2-Clause */
#include "offline/import_policy.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/*
 * Quality of service of OpenSM as `qos` of a configuration.
 *
 * Levels of Weft have a service level of their own each, levels of OpenSM may share one, and rules
 * of protocols name the number alone: so there is one level for each service level that something
 * names, with the limits that were said of it first. OpenSM has a lane for every service level,
 * named or not, since programs may use any: those on another lane than the default one are levels,
 * too. Where an engine takes lanes for itself the tables of OpenSM are its own as well, and only
 * what is named becomes levels, without lanes.
 *
 * With a policy OpenSM tells the service level of its rules or of its DEFAULT level, and never that
 * of the partition; this is the partition's groups' then, unless a rule names the P_Key, which
 * changes it.
 */
#define SLS 16u
#define DROP 15u
#define RULES_MAX 10000u
#define NAME_LEN 31u		/* of a level */

/* A level of the configuration, by its service level. */
struct grown {
	bool used;			/* there is one */
	const char *name;		/* NULL: "slN" */
	const struct import_level *limits;	/* NULL: none */
};

struct writer {
	const struct import_policy *p;	/* NULL: there is none */
	const char *file;		/* that of the policy, for notes */
	const struct import_said *said;	/* of opensm.conf */
	struct config *c;		/* gets all */
	struct import_notes *n;		/* what cannot be said */
	struct import_picker pick;	/* finds ports for rules */
	unsigned usual;			/* service level of what no rule matches */
	struct grown sl[SLS];		/* by service level */
	bool own_lanes;			/* some engine takes lanes for itself */
	struct import_tables tables[IMPORT_PORTS];	/* as OpenSM writes them */
};

#define NOTE(w, line, ...) import_note((w)->n, (w)->file, line, __VA_ARGS__)

/* ---- Service levels ---- */

static bool
same_limits(const struct import_level *a, const struct import_level *b)
{
	static const struct import_level none;

	a = a ? a : &none;
	b = b ? b : &none;
	return a->mtu == b->mtu && a->rate == b->rate && a->life == b->life;
}

/* Something is of this service level, with these limits (NULL: none). `line` 0: nothing is said if
 * it has others already. */
static void
use_sl(struct writer *w, unsigned sl, const char *name, const struct import_level *limits,
       unsigned line)
{
	struct grown *g = &w->sl[sl];

	if (g->used && line && !same_limits(g->limits, limits))
		NOTE(w, line, "service level %u has the limits of MTU, rate and lifetime that are "
		     "said of it first, or none: in Weft it is one level", sl);
	if (!g->used)
		g->limits = limits;
	g->used = true;
	if (!g->name)
		g->name = name;
}

static const struct import_level *
level_by_name(const struct writer *w, const char *name)
{
	for (const struct import_level *l = w->p->levels; l; l = l->next)
		if (strcasecmp(l->name, name) == 0)
			return l;
	return NULL;
}

/* That of paths that no rule matches. */
static void
find_usual(struct writer *w)
{
	const struct import_level *l = w->p ? level_by_name(w, "DEFAULT") : NULL;

	w->usual = l ? l->sl : w->p && w->p->usual != IMPORT_NO_SL ? w->p->usual : 0;
	if (w->p && !l && w->p->usual == IMPORT_NO_SL)
		NOTE(w, 0, "there is no level DEFAULT, and OpenSM takes nothing of a file without "
		     "one; here it is service level 0");
	use_sl(w, w->usual, "default", l, 0);
}

static void
use_levels(struct writer *w)
{
	for (const struct import_level *l = w->p->levels; l; l = l->next) {
		use_sl(w, l->sl, l->name, l, l->line);
		if (l->pkeys.len)
			NOTE(w, l->line, "pkey of level %s is left out: in Weft a level does not "
			     "choose the partition of a path, who asks does", l->name);
		if (l->path_bits.len)
			NOTE(w, l->line, "path-bits of level %s is left out: OpenSM does nothing "
			     "with it, either", l->name);
	}
}

static void
use_partitions(struct writer *w)
{
	const struct config_partitions *all = &w->c->partitions;

	for (unsigned i = 0; i < all->len; i++) {
		const struct config_partition *p = &all->list[i];

		if (p->sl < SLS)
			use_sl(w, p->sl, NULL, NULL, 0);
		for (unsigned k = 0; k < p->nipoib; k++)
			if (p->ipoib[k].sl < SLS)
				use_sl(w, p->ipoib[k].sl, NULL, NULL, 0);
		for (unsigned k = 0; k < p->ngroups; k++)
			if (p->groups[k].sl < SLS)
				use_sl(w, p->groups[k].sl, NULL, NULL, 0);
	}
}

/* ---- Lanes ---- */

/* Engines with lanes of their own, and the one that may come to one of them. */
static bool
takes_lanes(const char *engine)
{
	static const char *const names[] = { "torus", "nue", "dfsssp", "auto" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(engine, names[i]) == 0)
			return true;
	return false;
}

/* Links of most devices run 8, and what is more few files mean. */
static unsigned
lanes_of(const struct writer *w)
{
	unsigned most = w->c->subnets->max_op_vls;

	return most && most < 8 ? most : 8;
}

static void
find_tables(struct writer *w)
{
	const struct import_option *at = import_option_of(w->said->options, "routing_engine");
	const char *const *engines = w->c->subnets->routing.engines;

	for (unsigned i = 0; at && engines[i]; i++)
		w->own_lanes |= takes_lanes(engines[i]);
	import_tables(w->said->options, "opensm.conf", lanes_of(w), w->tables, w->n);
	for (unsigned k = 0; k < IMPORT_PORTS; k++)
		if (memcmp(w->tables[k].vl, w->tables[IMPORT_EXTERNAL].vl, SLS) != 0) {
			import_note(w->n, "opensm.conf", 0, "sl2vl of hosts, routers or port 0 is "
				    "not that of the ports of switches, which is taken for all: in "
				    "Weft a level has one lane wherever it passes");
			break;
		}
}

/* Service levels with a lane of their own are for programs that choose one. */
static void
use_lanes(struct writer *w)
{
	const uint8_t *vl = w->tables[IMPORT_EXTERNAL].vl;
	char dropped[64] = "";
	size_t len = 0;

	for (unsigned sl = 0; sl < SLS; sl++) {
		if (vl[sl] == DROP)
			len += (size_t)snprintf(dropped + len, sizeof(dropped) - len, "%s%u",
						len ? ", " : "", sl);
		else if (vl[sl] != vl[w->usual])
			use_sl(w, sl, NULL, NULL, 0);
	}
	if (len)
		import_note(w->n, "opensm.conf", 0, "packets of service level %s are dropped by "
			    "OpenSM's sl2vl; in Weft they go with those of the default level",
			    dropped);
}

/* An engine with classes of paths needs a level for what is sent unasked. */
static void
note_own_lanes(struct writer *w)
{
	if (!w->sl[0].used)
		use_sl(w, 0, NULL, NULL, 0);
	import_note(w->n, "opensm.conf", import_option_of(w->said->options, "routing_engine")->line,
		    "the engine takes lanes for itself: those of qos_sl2vl and tables of VL "
		    "arbitration are left out, and Weft gives each level what it needs");
}

/* ---- Levels ---- */

static bool
is_taken(const struct config_qos *q, const char *name)
{
	for (unsigned i = 0; i < q->nlevels; i++)
		if (strcmp(q->levels[i].name, name) == 0)
			return true;
	return false;
}

/* As Weft allows them, and none twice. */
static const char *
name_of(struct writer *w, unsigned sl)
{
	const char *from = w->sl[sl].name ? w->sl[sl].name : "";
	char *name = region_alloc(w->c->region, NAME_LEN + 1);
	size_t len = 0;

	for (; *from && len < NAME_LEN; from++)
		if (isalnum((unsigned char)*from) || *from == '_' || (*from == '-' && len))
			name[len++] = (char)tolower((unsigned char)*from);
		else if (len)
			name[len++] = '-';
	if (!len || is_taken(&w->c->qos, name))
		name = region_printf(w->c->region, "sl%u", sl);
	for (unsigned i = 2; is_taken(&w->c->qos, name); i++)
		name = region_printf(w->c->region, "sl%u-%u", sl, i);
	return name;
}

static void
put_level(struct writer *w, unsigned sl)
{
	const struct import_level *limits = w->sl[sl].limits;
	uint8_t vl = w->tables[IMPORT_EXTERNAL].vl[sl];
	struct config_level l = {
		.name = name_of(w, sl), .weight = 32, .priority = PRIORITY_LOW, .sl = sl,
		.vl = w->own_lanes ? CONFIG_VL_FREE : vl == DROP ?
			w->tables[IMPORT_EXTERNAL].vl[w->usual] % DROP : vl,
		.rate = limits ? limits->rate : 0, .mtu = limits ? limits->mtu : 0,
		.packet_life = limits ? limits->life : 0,
	};

	w->c->qos.levels[w->c->qos.nlevels++] = l;
}

/* The first is that of what no rule matches. */
static void
put_levels(struct writer *w)
{
	w->c->qos.levels = region_array(w->c->region, SLS, sizeof(*w->c->qos.levels));
	w->c->qos.nlevels = 0;
	put_level(w, w->usual);
	for (unsigned sl = 0; sl < SLS; sl++)
		if (sl != w->usual && w->sl[sl].used)
			put_level(w, sl);
	w->c->qos.merge = true;
}

static const char *
level_with(const struct writer *w, unsigned sl)
{
	const struct config_qos *q = &w->c->qos;

	for (unsigned i = 0; i < q->nlevels; i++)
		if (q->levels[i].sl == sl)
			return q->levels[i].name;
	return q->levels->name;
}

/* ---- Rules ---- */

static struct config_range *
copy_ranges(const struct writer *w, const struct import_ranges *r, unsigned *len)
{
	struct config_range *list = region_array(w->c->region, r->len + 1u, sizeof(*list));

	if (r->len)
		memcpy(list, r->list, r->len * sizeof(*list));
	*len = r->len;
	return list;
}

/* A rule with a P_Key changes the service level of the partition, whatever else it says, and of its
 * broadcast groups. */
static void
change_partitions(const struct writer *w, const struct import_rule *r, unsigned sl)
{
	const struct config_partitions *all = &w->c->partitions;

	for (unsigned i = 0; i < r->pkeys.len; i++)
		for (unsigned k = 0; k < all->len; k++) {
			struct config_partition *p = &all->list[k];

			if (p->pkey < r->pkeys.list[i].from || p->pkey > r->pkeys.list[i].to)
				continue;
			for (unsigned j = 0; j < p->nipoib; j++)
				p->ipoib[j].sl = sl;
		}
}

/* Its service level, or IMPORT_NO_SL: there is no such level, which is said. */
static unsigned
sl_of(struct writer *w, const struct import_rule *r)
{
	const struct import_level *l = r->level ? level_by_name(w, r->level) : NULL;

	if (!r->level)
		return r->sl;
	if (!l)
		NOTE(w, r->line, "the rule is left out: there is no level %.60s; OpenSM takes "
		     "nothing of a file with that", r->level);
	return l ? l->sl : IMPORT_NO_SL;
}

static void
put_rule(struct writer *w, const struct import_rule *r, unsigned sl)
{
	struct config_rule *to = &w->c->qos.rules[w->c->qos.nrules];

	*to = (struct config_rule){ .level = level_with(w, sl), .application = r->application };
	if (!import_ports(&w->pick, r, &r->source, &r->from, &to->source) ||
	    !import_ports(&w->pick, r, &r->destination, &r->to, &to->destination))
		return;
	to->service_ids = copy_ranges(w, &r->services, &to->nservice_ids);
	to->classes = copy_ranges(w, &r->classes, &to->nclasses);
	to->pkeys = copy_ranges(w, &r->pkeys, &to->npkeys);
	w->c->qos.nrules++;
}

static void
use_rules(struct writer *w)
{
	for (const struct import_rule *r = w->p->rules; r; r = r->next) {
		unsigned sl = sl_of(w, r);

		if (sl == IMPORT_NO_SL)
			continue;
		if (!r->level)
			use_sl(w, sl, NULL, NULL, r->line);
		change_partitions(w, r, sl);
	}
}

static void
put_rules(struct writer *w)
{
	unsigned len = 0;

	for (const struct import_rule *r = w->p->rules; r; r = r->next)
		if (len++ == RULES_MAX)
			NOTE(w, r->line, "rules from here on are left out: Weft takes %u",
			     RULES_MAX);
	w->c->qos.rules = region_array(w->c->region, len + 1u, sizeof(*w->c->qos.rules));
	for (const struct import_rule *r = w->p->rules; r && w->c->qos.nrules < RULES_MAX;
	     r = r->next) {
		unsigned sl = r->level ? IMPORT_NO_SL : r->sl;
		const struct import_level *l = r->level ? level_by_name(w, r->level) : NULL;

		if (l)
			sl = l->sl;
		if (sl != IMPORT_NO_SL)
			put_rule(w, r, sl);
	}
}

/* Where there is a policy partitions say nothing of paths. */
static void
forget_partitions(struct writer *w)
{
	const struct config_partitions *all = &w->c->partitions;

	for (unsigned i = 0; i < all->len; i++) {
		struct config_partition *p = &all->list[i];

		if (p->sl < SLS && p->sl != w->usual)
			NOTE(w, 0, "paths of partition %s have the service level that rules say, "
			     "or else %u: to OpenSM the one of the partition counts only where "
			     "there is no policy", p->name, w->usual);
		p->sl = CONFIG_SL_FREE;
	}
}

void
import_qos(const struct import_policy *policy, const char *file, const struct import_said *said,
	   struct config *c, struct import_notes *n)
{
	struct writer w = {
		.p = policy, .file = file, .said = said, .c = c, .n = n,
		.pick = { policy, file, c, n, 0 },
	};

	find_tables(&w);
	find_usual(&w);
	if (policy) {
		forget_partitions(&w);
		use_levels(&w);
		use_rules(&w);
	}
	use_partitions(&w);
	if (w.own_lanes)
		note_own_lanes(&w);
	else
		use_lanes(&w);
	put_levels(&w);
	if (policy)
		put_rules(&w);
	if (!w.own_lanes)
		import_arbitration(w.tables, c);
}
