/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * LID assignment (IBA 14.4, C14-62 and following: base LIDs aligned to 2^LMC, unicast range).
 *
 * Every end port (CA port, switch port 0) that the snapshot has keeps, in this order: the LID that
 * it holds, if that is legal and no other port has a better claim (live traffic, then its record);
 * the LID that its GUID had before (the record, kept in the store); else the next free one, hosts
 * of one leaf next to each other and switches behind the hosts. A record of an absent GUID keeps
 * its LID out of use until nothing else is left, then the one absent longest is given away.
 *
 * In a large fabric it takes its time to look up all records, and to write them, so an assignment
 * goes step by step, of which the long ones stop after a slice. Records change from settle() on;
 * what has come so far is not left half done (lids_drop).
 */
#include "sm/core/lids.h"
#include "sm/core/subnet_i.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sm/base/mem.h"

#define PORTS_SLICE 8192u	/* ports that are looked at in one go */
#define RECORDS_SLICE 2048u	/* records that are written */

/* Who uses each unicast LID in this assignment. */
enum lid_use {
	LID_FREE,
	LID_RESERVED,		/* recorded for an absent GUID */
	LID_TAKEN,
};

/* An end port. */
struct lid_end {
	uint32_t port;		/* its index */
	uint32_t record;	/* its record's index; MAP_NONE: it has none */
};

struct assignment {
	struct subnet *s;
	const struct fabric *f;	/* reference held */
	struct plan_lids *lids;	/* what comes of it; owned */
	struct lid_end *ends;	/* by port index */
	uint32_t nends;		/* of these */
	bool *before;		/* by record: it was present */
	uint32_t nbefore;	/* of these */
	uint8_t *use;		/* enum lid_use by LID */
	uint16_t max;		/* highest LID that every switch can forward */
	unsigned needed;	/* LIDs that the end ports take in all */
	uint16_t hint;		/* free LIDs are looked for from here */
	unsigned step;		/* index into steps[] */
	uint32_t at;		/* where this goes on */
};

static struct lid_record *
record_find(const struct lid_store *l, uint64_t guid)
{
	uint32_t i = map_get(&l->by_guid, guid);

	return i == MAP_NONE ? NULL : &l->records[i];
}

bool
lids_known(const struct subnet *s, uint64_t guid)
{
	return record_find(&s->lids, guid) != NULL;
}

static struct lid_record *
record_add(struct lid_store *l, uint64_t guid)
{
	struct lid_record *r = record_find(l, guid);

	if (r)
		return r;
	if (l->len == l->size) {
		l->size = l->size ? l->size * 2 : 256;
		l->records = mem_realloc(l->records, l->size, sizeof(*l->records));
	}
	r = &l->records[l->len];
	*r = (struct lid_record){.guid = guid};
	map_set(&l->by_guid, guid, l->len++);
	return r;
}

static void
record_key(const struct subnet *s, uint64_t guid, char key[64])
{
	char text[GUID_TEXT_SIZE];

	snprintf(key, 64, "%s %s", s->conf->name, guid_text(text, guid));
}

static void
record_put(struct subnet *s, const struct lid_record *r)
{
	char key[64], value[64];

	record_key(s, r->guid, key);
	snprintf(value, sizeof(value), "%u %u %lld", r->lid, r->lmc, (long long)r->last_seen);
	store_put(s->env.store, STORE_LIDS, key, value);
}

/* A row of the store; what is malformed or out of range is taken out of it. */
static void
load_row(void *arg, const char *key, const char *value)
{
	struct subnet *s = arg;
	size_t name = strlen(s->conf->name);
	unsigned lid, lmc;
	long long seen;
	uint64_t guid;
	struct lid_record *r;

	if (strncmp(key, s->conf->name, name) || key[name] != ' ')
		return;
	if (!guid_parse(key + name + 1, &guid) ||
	    sscanf(value, "%u %u %lld", &lid, &lmc, &seen) != 3 || !lid || lid > LID_UNICAST_MAX ||
	    lmc > 7 || seen < 0) {
		log_warning("a record of a LID cannot be read and is dropped: \"%s\", \"%s\"", key,
			    value);
		store_delete(s->env.store, STORE_LIDS, key);
		return;
	}
	r = record_add(&s->lids, guid);
	r->lid = (uint16_t)lid;
	r->lmc = (uint8_t)lmc;
	r->last_seen = seen;
}

/* What a port holds that we lead is the truth, and the row a hint for others. */
void
lids_take(struct subnet *s, const char *key, const char *value)
{
	size_t name = strlen(s->conf->name);
	struct lid_record *r;
	uint64_t guid;

	if (strncmp(key, s->conf->name, name) || key[name] != ' ' ||
	    !guid_parse(key + name + 1, &guid))
		return;
	r = record_find(&s->lids, guid);
	if (r && r->present && s->role == ROLE_MASTER)
		return;
	if (value)
		load_row(s, key, value);
	else if (r)
		r->lid = 0;
}

void
lids_load(struct subnet *s)
{
	struct error e;

	if (store_scan(s->env.store, STORE_LIDS, load_row, s, &e))
		log_warning("the LIDs of earlier runs cannot be read: %s", e.text);
}

static unsigned
port_lmc(const struct assignment *a, const struct fabric_port *p)
{
	return a->f->nodes[p->node].type == NODE_SWITCH ? 0 : a->s->conf->lmc;
}

/* A port that gets a LID: switch port 0, or a port of a CA or router that is cabled. */
static bool
is_end_port(const struct fabric *f, const struct fabric_port *p)
{
	const struct fabric_node *n = &f->nodes[p->node];

	if (n->type == NODE_SWITCH)
		return p->number == 0;
	return p->number > 0 && p->guid && (p->peer != FABRIC_NONE || f->sm_port == p - f->ports);
}

static bool
range_is(const struct assignment *a, unsigned lid, unsigned lmc, enum lid_use worst)
{
	unsigned len = 1u << lmc;

	if (!lid || lid % len || lid + len - 1 > a->max)
		return false;
	for (unsigned i = 0; i < len; i++)
		if (a->use[lid + i] > worst)
			return false;
	return true;
}

static void
take(struct assignment *a, uint32_t port, unsigned lid, unsigned lmc)
{
	memset(a->use + lid, LID_TAKEN, 1u << lmc);
	a->lids->base[port] = (uint16_t)lid;
	a->lids->lmc[port] = (uint8_t)lmc;
}

/* The end's record, or NULL. */
static struct lid_record *
record_of(const struct assignment *a, const struct lid_end *e)
{
	return e->record == MAP_NONE ? NULL : &a->s->lids.records[e->record];
}

/* Packets may be on their way to its LID. Port 0 of a switch is always active: its links tell. */
static bool
is_live(const struct fabric *f, const struct fabric_port *p)
{
	const struct fabric_node *n = &f->nodes[p->node];

	if (n->type != NODE_SWITCH)
		return p->state >= PORT_ARMED;
	for (unsigned i = 1; i <= n->nports; i++)
		if (f->ports[n->first_port + i].state >= PORT_ARMED)
			return true;
	return false;
}

/* Ports that hold the very LID that is recorded for them. */
static void
keep_recorded(struct assignment *a, const struct lid_end *e)
{
	const struct fabric_port *p = &a->f->ports[e->port];
	const struct lid_record *r = record_of(a, e);
	unsigned lmc = port_lmc(a, p);

	if (!a->lids->base[e->port] && r && r->lid == p->lid && range_is(a, p->lid, lmc, LID_FREE))
		take(a, e->port, p->lid, lmc);
}

/* First claims: those of them that are live. */
static void
keep_live_recorded(struct assignment *a, const struct lid_end *e)
{
	if (is_live(a->f, &a->f->ports[e->port]))
		keep_recorded(a, e);
}

/* Second: live ports that hold a legal LID which nobody has claimed: traffic uses it. Of several
 * the lowest index (GUID order of nodes) keeps it. Whose record says the same, but who only comes
 * up with it, is third: another manager may have led since that was written, and given the LID
 * away because it knew of nobody who had it. */
static void
keep_live(struct assignment *a, const struct lid_end *e)
{
	const struct fabric_port *p = &a->f->ports[e->port];
	unsigned lmc = port_lmc(a, p);

	if (!a->lids->base[e->port] && range_is(a, p->lid, lmc, LID_FREE) && is_live(a->f, p))
		take(a, e->port, p->lid, lmc);
}

/* Fourth: ports that come up with a legal LID, perhaps from elsewhere. */
static void
keep_held(struct assignment *a, const struct lid_end *e)
{
	const struct fabric_port *p = &a->f->ports[e->port];
	unsigned lmc = port_lmc(a, p);

	if (!a->lids->base[e->port] && range_is(a, p->lid, lmc, LID_FREE))
		take(a, e->port, p->lid, lmc);
}

/* Fifth: what the record says. */
static void
use_record(struct assignment *a, const struct lid_end *e)
{
	const struct lid_record *r = record_of(a, e);
	unsigned lmc = port_lmc(a, &a->f->ports[e->port]);

	if (!a->lids->base[e->port] && r && range_is(a, r->lid, lmc, LID_FREE))
		take(a, e->port, r->lid, lmc);
}

static void
forget(struct assignment *a, struct lid_record *r)
{
	char key[64];

	record_key(a->s, r->guid, key);
	store_delete(a->s->env.store, STORE_LIDS, key);
	r->lid = 0;
}

/* Absent GUIDs keep their LIDs, as many as they would get now; a record of what somebody else has
 * by now is worth nothing. First those that this daemon has seen in use itself, before ports that
 * bring a LID from elsewhere may keep it; then what is only written down. */
static void
reserve_absent(struct assignment *a, bool seen)
{
	struct lid_store *l = &a->s->lids;

	for (uint32_t i = 0; i < l->len; i++) {
		struct lid_record *r = &l->records[i];

		if (r->present || !r->lid || r->seen != seen)
			continue;
		if (r->lmc > a->s->conf->lmc)
			r->lmc = (uint8_t)a->s->conf->lmc;
		if (range_is(a, r->lid, r->lmc, LID_FREE))
			memset(a->use + r->lid, LID_RESERVED, 1u << r->lmc);
		else if (a->use[r->lid] == LID_TAKEN)
			forget(a, r);
	}
}

static unsigned
find_free(struct assignment *a, unsigned lmc)
{
	unsigned step = 1u << lmc;

	for (unsigned lid = (a->hint + step - 1) / step * step; lid <= a->max; lid += step)
		if (range_is(a, lid, lmc, LID_FREE))
			return lid;
	for (unsigned lid = step; lid < a->hint; lid += step)
		if (range_is(a, lid, lmc, LID_FREE))
			return lid;
	return 0;
}

/* Nothing is free: the record that has been absent longest gives its LID away. */
static bool
give_away(struct assignment *a)
{
	struct lid_store *l = &a->s->lids;
	struct lid_record *oldest = NULL;

	for (uint32_t i = 0; i < l->len; i++) {
		struct lid_record *r = &l->records[i];

		if (r->present || !r->lid || a->use[r->lid] != LID_RESERVED)
			continue;
		if (!oldest || r->last_seen < oldest->last_seen ||
		    (r->last_seen == oldest->last_seen && r->guid < oldest->guid))
			oldest = r;
	}
	if (!oldest)
		return false;
	memset(a->use + oldest->lid, LID_FREE, 1u << oldest->lmc);
	forget(a, oldest);
	return true;
}

static void
allocate(struct assignment *a, uint32_t port)
{
	const struct fabric_port *p = &a->f->ports[port];
	const struct fabric_node *n = &a->f->nodes[p->node];
	unsigned lmc = port_lmc(a, p), lid;

	if (a->lids->base[port])
		return;
	do
		lid = find_free(a, lmc);
	while (!lid && give_away(a));
	if (!lid) {
		subnet_event(a->s, EVENT_REFUSED, LOG_L_ERROR, p->guid, p->number,
			     "no LID is left for \"%s\": %u are the most that every switch can "
			     "forward; lower lmc or remove devices", n->name, a->max);
		return;
	}
	take(a, port, lid, lmc);
	a->hint = (uint16_t)(lid + (1u << lmc));
}

/* Ports without a LID, in an order that makes neighbours: the hosts of each switch by port number,
 * then hosts on no switch, then the switches. */
static void
allocate_all(struct assignment *a)
{
	const struct fabric *f = a->f;

	a->hint = 1;
	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		const struct fabric_node *n = fabric_switch_node(f, sw);

		for (unsigned i = 1; i <= n->nports; i++) {
			uint32_t peer = f->ports[n->first_port + i].peer;

			if (peer != FABRIC_NONE && is_end_port(f, &f->ports[peer]))
				allocate(a, peer);
		}
	}
	for (int switches = 0; switches <= 1; switches++)
		for (uint32_t i = 0; i < a->nends; i++)
			if ((f->nodes[f->ports[a->ends[i].port].node].type == NODE_SWITCH) ==
			    switches)
				allocate(a, a->ends[i].port);
}

static void
each_end(struct assignment *a, void (*fn)(struct assignment *, const struct lid_end *))
{
	for (uint32_t i = 0; i < a->nends; i++)
		fn(a, &a->ends[i]);
}

static void
mark_present(struct assignment *a, const struct lid_end *e)
{
	struct lid_record *r = record_of(a, e);

	if (r)
		r->present = true;
}

static void
remember(struct assignment *a, uint32_t port)
{
	const struct fabric_port *p = &a->f->ports[port];
	int64_t now = loop_wall(a->s->env.loop) / 1000000;
	struct lid_record *r;

	if (!a->lids->base[port])
		return;
	r = record_add(&a->s->lids, p->guid);
	r->present = r->seen = true;
	if (r->lid == a->lids->base[port] && r->lmc == a->lids->lmc[port] &&
	    now - r->last_seen < 86400)
		return;
	r->lid = a->lids->base[port];
	r->lmc = a->lids->lmc[port];
	r->last_seen = now;
	record_put(a->s, r);
}

/* A commit may outlive its subnet: both hold this. */
struct lid_commit {
	struct subnet *s;	/* NULL: the subnet is gone */
	unsigned refs;		/* the subnet, and commits under way */
};

static void
commit_unref(struct lid_commit *c)
{
	if (!--c->refs)
		mem_free(c);
}

static void
commit_done(void *arg, int err, const char *why)
{
	struct lid_commit *c = arg;

	if (err)
		log_error("the LIDs could not be saved and will be tried again: %s",
			  why ? why : error_name(err));
	if (c->s)
		c->s->lids.unsaved |= err != 0;
	commit_unref(c);
}

static void
commit(struct subnet *s)
{
	if (!s->lids.commit) {
		s->lids.commit = mem_zalloc(sizeof(*s->lids.commit));
		s->lids.commit->s = s;
		s->lids.commit->refs = 1;
	}
	s->lids.commit->refs++;
	store_commit(s->env.store, commit_done, s->lids.commit);
}

void
lids_save_again(struct subnet *s)
{
	if (!s->lids.unsaved)
		return;
	s->lids.unsaved = false;
	for (uint32_t i = 0; i < s->lids.len; i++)
		if (s->lids.records[i].lid)
			record_put(s, &s->lids.records[i]);
	commit(s);
}

static unsigned
least_cap(const struct fabric *f, unsigned more_than)
{
	unsigned least = LID_UNICAST_MAX + 1u;

	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		unsigned cap = fabric_switch_node(f, sw)->lft_cap;

		if (cap > more_than && cap < least)
			least = cap;
	}
	return least;
}

/*
 * The highest LID that the switches can forward. A few that hold fewer LIDs than the subnet needs
 * must not take the LIDs of all others: they are told, and cannot take their tables. Where most are
 * so small, theirs is the limit.
 */
static uint16_t
highest_lid(struct subnet *s, const struct fabric *f, unsigned needed)
{
	const struct fabric_node *first = NULL;
	uint32_t small = 0;

	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		const struct fabric_node *n = fabric_switch_node(f, sw);

		if (n->lft_cap > needed)
			continue;
		small++;
		first = first ? first : n;
	}
	if (small > f->nswitches / 2) {
		s->lids.small_switches = 0;
		return (uint16_t)(least_cap(f, 0) - 1);
	}
	if (small > s->lids.small_switches)
		subnet_event(s, EVENT_REFUSED, LOG_L_ERROR, first->guid, 0,
			     "%u switches forward fewer LIDs than the %u that the subnet needs and "
			     "cannot take their tables: \"%s\" (%u) is the first", small, needed,
			     first->name, first->lft_cap);
	s->lids.small_switches = small;
	return (uint16_t)(least_cap(f, needed) - 1);
}

/* ---- Steps ---- */

/* True: that was the last of `len`. */
static bool
slice_end(const struct assignment *a, uint32_t len, uint32_t slice, uint32_t *end)
{
	*end = len - a->at > slice ? a->at + slice : len;
	return *end == len;
}

/* The end ports, and their records. */
static bool
find_ends(struct assignment *a)
{
	const struct fabric *f = a->f;
	uint32_t end;
	bool last = slice_end(a, f->nports, PORTS_SLICE, &end);

	for (; a->at < end; a->at++) {
		const struct fabric_port *p = &f->ports[a->at];

		if (!is_end_port(f, p))
			continue;
		a->ends[a->nends++] = (struct lid_end){
			a->at, map_get(&a->s->lids.by_guid, p->guid),
		};
		a->needed += 1u << port_lmc(a, p);
	}
	return last;
}

/* Who has which LID. */
static bool
settle(struct assignment *a)
{
	struct lid_store *l = &a->s->lids;

	a->nbefore = l->len;
	a->before = mem_array(l->len + 1u, sizeof(bool));
	for (uint32_t i = 0; i < l->len; i++) {
		a->before[i] = l->records[i].present;
		l->records[i].present = false;
	}
	a->max = highest_lid(a->s, a->f, a->needed);
	each_end(a, mark_present);
	each_end(a, keep_live_recorded);
	each_end(a, keep_live);
	each_end(a, keep_recorded);
	reserve_absent(a, true);
	each_end(a, keep_held);
	each_end(a, use_record);
	reserve_absent(a, false);
	allocate_all(a);
	return true;
}

static bool
remember_all(struct assignment *a)
{
	uint32_t end;
	bool last = slice_end(a, a->nends, RECORDS_SLICE, &end);

	for (; a->at < end; a->at++)
		remember(a, a->ends[a->at].port);
	return last;
}

/* Whose record went absent with this snapshot keeps the time it was last seen. */
static bool
note_absent(struct assignment *a)
{
	int64_t now = loop_wall(a->s->env.loop) / 1000000;
	uint32_t end;
	bool last = slice_end(a, a->nbefore, RECORDS_SLICE, &end);

	for (; a->at < end; a->at++) {
		struct lid_record *r = &a->s->lids.records[a->at];

		if (!a->before[a->at] || r->present || !r->lid)
			continue;
		r->last_seen = now;
		record_put(a->s, r);
	}
	return last;
}

static bool
index_all(struct assignment *a)
{
	commit(a->s);
	plan_lids_index(a->lids, a->f);
	return true;
}

static bool (*const steps[])(struct assignment *a) = {
	find_ends, settle, remember_all, note_absent, index_all,
};
#define STEPS (sizeof(steps) / sizeof(steps[0]))

struct assignment *
lids_begin(struct subnet *s, const struct fabric *f)
{
	struct assignment *a = mem_zalloc(sizeof(*a));

	a->s = s;
	a->f = fabric_ref(f);
	a->lids = plan_lids_new(f);
	a->use = mem_zalloc(LID_TABLE_LEN + 128);
	a->ends = mem_array(f->nports + 1u, sizeof(*a->ends));
	return a;
}

bool
lids_slice(struct assignment *a)
{
	if (a->step < STEPS && steps[a->step](a)) {
		a->step++;
		a->at = 0;
	}
	return a->step == STEPS;
}

struct plan_lids *
lids_end(struct assignment *a)
{
	struct plan_lids *lids = a->lids;

	fabric_unref(a->f);
	mem_free(a->ends);
	mem_free(a->before);
	mem_free(a->use);
	mem_free(a);
	return lids;
}

/* Records that have begun to change must say the same to the end. */
void
lids_drop(struct assignment *a)
{
	if (!a)
		return;
	while (a->before && !lids_slice(a))
		;
	plan_lids_unref(lids_end(a));
}

void
lids_free(struct lid_store *l)
{
	if (l->commit) {
		l->commit->s = NULL;
		commit_unref(l->commit);
	}
	map_free(&l->by_guid);
	mem_free(l->records);
	memset(l, 0, sizeof(*l));
}
