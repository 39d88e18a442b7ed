/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Switches and cables that traffic is kept off, so that they can be seen to: the routing is shown a
 * snapshot in which their cables are lost, while they stay up, in discovery and programmed.
 *
 * Nothing is cut off by that: of the drained cables as many stay in use as it takes to hold the
 * fabric together (a spanning forest, Kruskal 1956, of all other cables first). A drained switch
 * thus keeps one cable, over which nothing but its own traffic goes.
 *
 * The set is one row of the store, written when the tables are in and before the command is
 * answered. It names GUIDs and ports, whether they are there or not. What is not well may be in it
 * too (health.c).
 */
#include "sm/core/drain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sm/base/buf.h"
#include "sm/base/mem.h"
#include "sm/base/text.h"
#include "sm/core/subnet_i.h"

static void
drain_key(const struct subnet *s, char key[64])
{
	snprintf(key, 64, "drained %s", s->conf->name);
}

void
drains_add(struct drains *d, const struct drain *new)
{
	struct drain copy = *new;	/* it may be in the list that moves */

	d->list = mem_realloc(d->list, d->len + 1u, sizeof(*d->list));
	d->list[d->len++] = copy;
}

void
drains_copy(struct drains *to, const struct drains *from)
{
	*to = (struct drains){0};
	for (uint32_t i = 0; i < from->len; i++)
		drains_add(to, &from->list[i]);
}

void
drains_free(struct drains *d)
{
	mem_free(d->list);
	*d = (struct drains){0};
}

static const char *const act_names[] = {
	[DRAIN_UNTIL_WELL] = "drain", [DRAIN_HELD] = "isolate", [DRAIN_DISABLED] = "disable",
	[DRAIN_ENABLING] = "enable",
};
#define ACTS (sizeof(act_names) / sizeof(act_names[0]))

const char *
drain_act_name(enum drain_act act)
{
	return act_names[act];
}

/* As earlier versions wrote them, when ports came to that by babbling alone. */
static bool
parse_old(const char *why, struct drain *d)
{
	d->why = HEALTH_BABBLING;
	d->act = !strcmp(why, "babbles") ? DRAIN_UNTIL_WELL : !strcmp(why, "disabled") ?
		DRAIN_DISABLED : DRAIN_ENABLING;
	return d->act != DRAIN_ENABLING || !strcmp(why, "enabling");
}

/* "CONDITION,ACT,SINCE" */
static bool
parse_why(char *why, struct drain *d)
{
	char *act = strchr(why, ','), *since = act ? strchr(act + 1, ',') : NULL;
	uint64_t seconds;
	unsigned i = 0;

	if (!since)
		return parse_old(why, d);
	*act++ = *since++ = '\0';
	if (!health_parse(why, &d->why) || !number_parse(since, 0, UINT32_MAX, &seconds))
		return false;
	while (i < ACTS && strcmp(act, act_names[i]))
		i++;
	d->act = (enum drain_act)i;
	d->since = (int64_t)seconds * 1000000;
	return i < ACTS;
}

/* "0xGUID" of a switch, "0xGUID/PORT", and perhaps "=WHY". */
static bool
parse_one(char *word, struct drain *d)
{
	char *why = strchr(word, '='), *slash;
	uint64_t port;

	if (why)
		*why++ = '\0';
	slash = strchr(word, '/');
	if (slash)
		*slash++ = '\0';
	if (!guid_parse(word, &d->guid) || (slash && !number_parse(slash, 1, 254, &port)))
		return false;
	d->port = slash ? (int)port : CHANGE_ALL_PORTS;
	d->act = DRAIN_HELD;
	return !why || (parse_why(why, d) && (slash || d->act < DRAIN_DISABLED));
}

static void
parse(struct subnet *s, const char *value)
{
	char *copy = mem_strdup(value), *save = NULL;

	for (char *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		struct drain d = { .heard = loop_now(s->env.loop) };

		if (parse_one(word, &d))
			drains_add(&s->drains, &d);
		else
			log_warning("the drained place \"%.80s\" cannot be read and is forgotten",
				    word);
	}
	mem_free(copy);
}

static void
load_row(void *arg, const char *key, const char *value)
{
	struct subnet *s = arg;
	char ours[64];

	drain_key(s, ours);
	if (!strcmp(key, ours))
		parse(s, value);
}

void
drains_load(struct subnet *s)
{
	struct error e;

	if (store_scan(s->env.store, STORE_META, load_row, s, &e))
		log_warning("what is drained cannot be read: %s", e.text);
}

void
drains_take(struct subnet *s, const char *key, const char *value)
{
	char ours[64];

	drain_key(s, ours);
	if (strcmp(key, ours))
		return;
	drains_free(&s->drains);
	if (value)
		parse(s, value);
	if (s->role != ROLE_MASTER)
		return;
	s->want_route = true;
	subnet_want_sweep(s, SWEEP_LIGHT);
}

void
drains_save(struct subnet *s, store_done_fn fn, void *arg)
{
	struct buf value = {0};
	char key[64], guid[GUID_TEXT_SIZE];

	drain_key(s, key);
	for (uint32_t i = 0; i < s->drains.len; i++) {
		const struct drain *d = &s->drains.list[i];

		buf_printf(&value, "%s%s", i ? " " : "", guid_text(guid, d->guid));
		if (d->port != CHANGE_ALL_PORTS)
			buf_printf(&value, "/%d", d->port);
		buf_printf(&value, "=%s,%s,%llu", health_name(d->why), act_names[d->act],
			   (unsigned long long)(d->since / 1000000));
	}
	if (value.len)
		store_put(s->env.store, STORE_META, key, value.data);
	else
		store_delete(s->env.store, STORE_META, key);
	buf_free(&value);
	store_commit(s->env.store, fn, arg);
}

/* The other end of a cable, or of a lost one, by the published snapshot. */
static struct drain
far_end(const struct fabric *f, uint64_t guid, int port)
{
	uint32_t node = fabric_node_by_guid(f, guid);
	struct drain far = {0};
	const struct fabric_port *p;

	if (node == FABRIC_NONE || port < 1 || port > f->nodes[node].nports)
		return far;
	p = fabric_port_at(f, node, (unsigned)port);
	if (p->peer != FABRIC_NONE)
		return (struct drain){ .guid = f->nodes[f->ports[p->peer].node].guid,
				       .port = f->ports[p->peer].number };
	return (struct drain){ .guid = p->lost_peer, .port = p->lost_number };
}

/* A cable may be named by either end; a switch is lifted together with its cables. */
static bool
is_meant(const struct fabric *f, const struct drain *d, const struct change *c)
{
	struct drain far = {0};

	if (d->port != CHANGE_ALL_PORTS)
		far = far_end(f, d->guid, d->port);
	if (c->port == CHANGE_ALL_PORTS)
		return c->kind == CHANGE_UNDRAIN ? d->guid == c->guid || far.guid == c->guid :
		       d->guid == c->guid && d->port == CHANGE_ALL_PORTS;
	return (d->guid == c->guid && d->port == c->port) ||
	       (far.guid == c->guid && far.port == c->port);
}

static int
may_drain(const struct fabric *f, const struct change *c, struct error *e)
{
	uint32_t node = fabric_node_by_guid(f, c->guid), far;
	const char *name = f->nodes[node].name;
	struct drain other;

	if (f->nodes[node].type != NODE_SWITCH)
		return error_set(e, ERR_REFUSED, "%s is no switch: what it sends and receives has "
				 "no other way", name);
	if (c->port == CHANGE_ALL_PORTS)
		return 0;
	other = far_end(f, c->guid, c->port);
	if (!other.guid)
		return error_set(e, ERR_REFUSED, "no cable is known at port %d of %s", c->port,
				 name);
	far = fabric_node_by_guid(f, other.guid);
	if (far != FABRIC_NONE && f->nodes[far].type != NODE_SWITCH)
		return error_set(e, ERR_REFUSED, "port %d of %s leads to %s, whose traffic has no "
				 "other way", c->port, name, f->nodes[far].name);
	return 0;
}

int
drains_change(struct drains *d, const struct fabric *f, const struct change *c, int64_t now,
	      struct error *e)
{
	bool drain = c->kind == CHANGE_DRAIN;
	const char *name = f->nodes[fabric_node_by_guid(f, c->guid)].name;
	uint32_t left = 0, lifted = 0;
	char at[16] = "";

	if (c->port != CHANGE_ALL_PORTS)
		snprintf(at, sizeof(at), "/%d", c->port);
	if (drain && may_drain(f, c, e))
		return e->code;
	for (uint32_t i = 0; i < d->len; i++) {
		struct drain *old = &d->list[i];
		bool meant = old->act != DRAIN_ENABLING && is_meant(f, old, c);

		lifted += meant;
		/* A port that is disabled has to be enabled first: disable.c. */
		if (meant && old->act == DRAIN_DISABLED && !drain) {
			old->act = DRAIN_ENABLING;
			old->refused = false;
		} else if (meant) {
			continue;
		}
		d->list[left++] = *old;
	}
	if (drain == (lifted > 0))
		return error_set(e, drain ? ERR_EXISTS : ERR_NOT_FOUND, "%s%s is %s", name, at,
				 drain ? "drained already" : "not drained");
	d->len = left;
	if (drain)
		drains_add(d, &(struct drain){ .guid = c->guid, .port = c->port,
					       .act = DRAIN_HELD, .since = now });
	return 0;
}

/*
 * What routing is shown.
 */
static uint32_t
root_of(uint32_t *parent, uint32_t sw)
{
	while (parent[sw] != sw)
		sw = parent[sw] = parent[parent[sw]];
	return sw;
}

/* True if the two were apart. */
static bool
join(uint32_t *parent, uint32_t a, uint32_t b)
{
	uint32_t x = root_of(parent, a), y = root_of(parent, b);

	parent[x > y ? x : y] = x < y ? x : y;
	return x != y;
}

/* The switches at both ends of a cable between two of them; true at its lower end only. */
static bool
between_switches(const struct fabric *f, uint32_t port, uint32_t *a, uint32_t *b)
{
	const struct fabric_port *p = &f->ports[port];

	if (p->peer == FABRIC_NONE || p->peer < port)
		return false;
	*a = f->nodes[p->node].sw;
	*b = f->nodes[f->ports[p->peer].node].sw;
	return *a != FABRIC_NONE && *b != FABRIC_NONE;
}

static bool
is_cut(const struct fabric *f, const bool *cut, uint32_t port)
{
	return cut[port] || cut[f->ports[port].peer];
}

/* Drained cables without which the fabric would fall apart stay: the number of them. */
static uint32_t
keep_together(const struct fabric *f, bool *cut)
{
	uint32_t *parent = mem_array(f->nswitches, sizeof(*parent)), kept = 0, a, b;

	for (uint32_t sw = 0; sw < f->nswitches; sw++)
		parent[sw] = sw;
	for (uint32_t i = 0; i < f->nports; i++)
		if (between_switches(f, i, &a, &b) && !is_cut(f, cut, i))
			join(parent, a, b);
	for (uint32_t i = 0; i < f->nports; i++) {
		if (!between_switches(f, i, &a, &b) || !is_cut(f, cut, i) || !join(parent, a, b))
			continue;
		cut[i] = cut[f->ports[i].peer] = false;
		kept++;
	}
	mem_free(parent);
	return kept;
}

static void
mark(const struct fabric *f, const struct drain *d, bool *cut)
{
	uint32_t node = fabric_node_by_guid(f, d->guid);
	unsigned first = d->port == CHANGE_ALL_PORTS ? 1 : (unsigned)d->port, last;

	if (node == FABRIC_NONE || f->nodes[node].type != NODE_SWITCH)
		return;
	last = d->port == CHANGE_ALL_PORTS ? f->nodes[node].nports : (unsigned)d->port;
	for (unsigned n = first; n <= last && n <= f->nodes[node].nports; n++) {
		uint32_t peer = fabric_port_at(f, node, n)->peer;

		if (peer != FABRIC_NONE &&
		    f->nodes[f->ports[peer].node].sw != FABRIC_NONE)
			cut[f->nodes[node].first_port + n] = cut[peer] = true;
	}
}

/* Which cables are shown as lost, by port: the caller's. `kept`: drained ones that stay. */
static bool *
cut_by(const struct drains *d, const struct drain *more, const struct fabric *f, uint32_t *kept)
{
	bool *cut = mem_array(f->nports, sizeof(*cut));

	for (uint32_t i = 0; i < d->len; i++)
		if (d->list[i].act != DRAIN_ENABLING)
			mark(f, &d->list[i], cut);
	if (more)
		mark(f, more, cut);
	*kept = d->len || more ? keep_together(f, cut) : 0;
	return cut;
}

uint32_t
drains_kept(const struct drains *d, const struct drain *more, const struct fabric *f)
{
	uint32_t kept;

	mem_free(cut_by(d, more, f, &kept));
	return kept;
}

const struct fabric *
drains_cut(const struct drains *d, const struct fabric *f, uint64_t generation,
	   struct change_report *report)
{
	bool *cut = cut_by(d, NULL, f, &report->kept);
	const struct fabric *shown;

	report->cables = 0;
	for (uint32_t i = 0; i < f->nports; i++)
		report->cables += cut[i] && f->ports[i].peer > i;
	shown = report->cables ? fabric_cut(f, cut, FABRIC_PORT_DRAINED, generation) :
				 fabric_ref(f);
	mem_free(cut);
	return shown;
}

const struct fabric *
drains_without(const struct fabric *f, const struct change *c, struct change_report *report)
{
	uint32_t node = fabric_node_by_guid(f, c->guid);
	bool *cut = mem_array(f->nports, sizeof(*cut));
	const struct fabric *shown;

	for (unsigned n = 1; node != FABRIC_NONE && n <= f->nodes[node].nports; n++) {
		uint32_t port = f->nodes[node].first_port + n;

		if (f->ports[port].peer == FABRIC_NONE ||
		    (c->port != CHANGE_ALL_PORTS && (unsigned)c->port != n))
			continue;
		report->cables += !cut[port];
		cut[port] = cut[f->ports[port].peer] = true;
	}
	shown = fabric_cut(f, cut, 0, f->generation);
	mem_free(cut);
	return shown;
}
