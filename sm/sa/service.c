/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/sa/kept.h"

#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sm/base/map.h"
#include "sm/base/mem.h"
#include "sm/sa/ask.h"
#include "sm/sa/slots.h"

/*
 * ServiceRecord (IBA 15.2.5.14): what services register, one record for each (ServiceID,
 * ServiceGID, ServiceP_Key). A record is taken away by Delete, or when its lease has run out,
 * which one timer watches over: it is set for the lease that ends first.
 *
 * Who may change or delete a record: its port, the port that registered it, who knows its key, and
 * whoever is trusted. Keys are told to nobody who is not. An untrusted Set need not come from the
 * port of the service: agents register for others.
 */
#define ID_SIZE 26		/* id, GID and P_Key: the beginning of the record */
#define NEVER INT64_MAX		/* end of an infinite lease */
#define SECOND 1000000		/* of the wall clock */
#define DEFAULT_PKEY 0xffff
#define COPY_ERROR (2 * SECOND)	/* leases are told in whole seconds, and the way takes time */
#define LOOK (INT64_C(86400) * SECOND)	/* a timer is not set for longer */
#define RID (SA_BIT(SA_SERVICE_ID) | SA_BIT(SA_SERVICE_GID))

struct service {
	uint32_t number;	/* in sa_services.all */
	struct sa_service r;	/* the record; its lease is as it was given */
	int64_t ends;		/* of the lease, on the wall clock; NEVER */
	uint64_t owner;		/* GUID of the port that registered it */
	uint32_t copy;		/* the last copy that it was in; see copy.h */
};

struct sa_services {
	struct sa_env env;	/* the owner's */
	struct sa_slots all;	/* of struct service */
	void *tree;		/* tsearch() of struct service by what names them */
	struct map per_port;	/* GUID of the owner -> number of records */
	uint32_t len;		/* of them all */
	struct loop_timer *timer;	/* for the lease that ends first */
	int64_t first;		/* when it does, or before; NEVER */
};

static int
order(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int
compare(const void *x, const void *y)
{
	const struct sa_service *a = &((const struct service *)x)->r;
	const struct sa_service *b = &((const struct service *)y)->r;
	int by = order(a->id, b->id);

	by = by ? by : order(a->gid.guid, b->gid.guid);
	by = by ? by : order(a->gid.prefix, b->gid.prefix);
	return by ? by : order(a->pkey, b->pkey);
}

static void
count(struct sa_services *s, uint64_t owner, int by)
{
	uint32_t n = map_get(&s->per_port, owner);

	n = (n == MAP_NONE ? 0 : n) + (uint32_t)by;
	s->len += (uint32_t)by;
	if (n)
		map_set(&s->per_port, owner, n);
	else
		map_remove(&s->per_port, owner);
}

static struct service *
find(struct sa_services *s, const struct sa_service *r)
{
	struct service probe = { .r = *r };
	void *node = tfind(&probe, &s->tree, compare);

	return node ? *(struct service **)node : NULL;
}

static struct service *
add(struct sa_services *s, const struct sa_service *r, uint64_t owner)
{
	struct service *new = mem_zalloc(sizeof(*new));

	new->r = *r;
	new->owner = owner;
	tsearch(new, &s->tree, compare);
	new->number = sa_slots_take(&s->all, new);
	count(s, owner, 1);
	return new;
}

static void
discard(struct sa_services *s, struct service *v)
{
	sa_keep(&s->env, "service", &sa_service_type, &v->r, ID_SIZE, NULL);
	tdelete(v, &s->tree, compare);
	sa_slots_give(&s->all, v->number);
	count(s, v->owner, -1);
	mem_free(v);
}

/* ---- Leases ---- */

/* A lease that ends then has to be seen. What ends later than the timer is found when it fires. */
static void
watch(struct sa_services *s, int64_t ends)
{
	int64_t left = ends - loop_wall(s->env.loop);

	if (ends >= s->first)
		return;
	s->first = ends;
	left = left < LOOK ? left : LOOK;
	loop_timer_set(s->timer, left > 0 ? left * 1000 : 0);
}

static void
on_timer(void *arg)
{
	struct sa_services *s = arg;
	int64_t now = loop_wall(s->env.loop);
	int64_t next = NEVER;

	for (uint32_t i = 0; i < s->all.room; i++) {
		struct service *v = s->all.at[i];

		if (v && v->ends <= now)
			discard(s, v);
		else if (v && v->ends < next)
			next = v->ends;
	}
	store_commit(s->env.store, NULL, NULL);
	s->first = NEVER;
	watch(s, next);
}

static uint32_t
lease_left(const struct sa_services *s, const struct service *v)
{
	int64_t left = v->ends - loop_wall(s->env.loop);

	if (v->ends == NEVER)
		return SA_LEASE_INFINITE;
	return left <= 0 ? 0 : (uint32_t)((left + SECOND - 1) / SECOND);
}

/* ---- Set and Delete ---- */

/* The P_Key of the record, made the default one where none is given. Both ends must be in the
 * partition. */
static bool
take_pkey(const struct sa_ask *a, struct sa_service *r)
{
	uint32_t port;

	if (!sa_asks(a, SA_SERVICE_PKEY) && (a->h.h.method == MAD_SET || !r->pkey))
		r->pkey = DEFAULT_PKEY;
	port = sa_port_by_guid(a, r->gid.guid);
	return sa_has_pkey(a, sa_asker(a), r->pkey) &&
	       (port == FABRIC_NONE ? !sa_asks(a, SA_SERVICE_PKEY) : sa_has_pkey(a, port, r->pkey));
}

static bool
may_change(const struct sa_ask *a, const struct service *v, const struct sa_service *want)
{
	static const uint8_t none[sizeof(want->key)];
	uint64_t asker = a->f->ports[sa_asker(a)].guid;

	return a->trusted || asker == v->owner || asker == v->r.gid.guid ||
	       (memcmp(v->r.key, none, sizeof(none)) &&
		!memcmp(v->r.key, want->key, sizeof(none)));
}

/* False: the answer is a status. */
static bool
may(struct sa_ask *a, struct sa_service *r, const struct service **v)
{
	*v = NULL;
	if (sa_asker(a) == FABRIC_NONE || !take_pkey(a, r)) {
		a->status = SA_STATUS_INVALID;
		return false;
	}
	*v = find(a->kept->services, r);
	if (*v && !may_change(a, *v, r))
		a->status = SA_STATUS_DENIED;
	return !a->status;
}

static void
save(struct sa_services *s, const struct service *v)
{
	char rest[80];

	snprintf(rest, sizeof(rest), "%lld 0x%016llx", (long long)v->ends,
		 (unsigned long long)v->owner);
	sa_keep(&s->env, "service", &sa_service_type, &v->r, ID_SIZE, rest);
}

static void
reply(struct sa_ask *a, struct sa_service *r)
{
	if (!a->trusted)
		memset(r->key, 0, sizeof(r->key));
	sa_reply(a, r);
}

static void
set_service(struct sa_ask *a)
{
	struct sa_services *s = a->kept->services;
	struct sa_service r = *(const struct sa_service *)a->want;
	const struct service *known;
	struct service *v;
	uint64_t owner;
	uint32_t held;

	if ((a->h.mask & RID) != RID) {
		a->status = SA_STATUS_INVALID;
		return;
	}
	if (!may(a, &r, &known))
		return;
	if (!sa_asks(a, SA_SERVICE_LEASE))
		r.lease = SA_LEASE_INFINITE;
	owner = a->f->ports[sa_asker(a)].guid;
	held = map_get(&s->per_port, owner);
	if (!known && (s->len >= SA_SERVICES_MAX ||
		       (held != MAP_NONE && held >= SA_SERVICES_PER_PORT))) {
		a->status = SA_STATUS_NO_RESOURCES;
		return;
	}
	v = known ? find(s, &r) : add(s, &r, owner);
	v->r = r;
	v->ends = r.lease == SA_LEASE_INFINITE ? NEVER :
		loop_wall(s->env.loop) + (int64_t)r.lease * SECOND;
	save(s, v);
	watch(s, v->ends);
	reply(a, &r);
}

static void
delete_service(struct sa_ask *a)
{
	struct sa_services *s = a->kept->services;
	struct sa_service r = *(const struct sa_service *)a->want;
	const struct service *known;
	struct service *v;

	if (!may(a, &r, &known))
		return;
	v = find(s, &r);
	if (!v) {
		a->status = SA_STATUS_NO_RECORDS;
		return;
	}
	r = v->r;
	r.lease = lease_left(s, v);
	discard(s, v);
	reply(a, &r);
}

/* ---- Get ---- */

static bool
tell_service(struct sa_ask *a, const struct service *v)
{
	const struct sa_service *want = a->want;
	struct sa_service r = v->r;

	if (sa_asks(a, SA_SERVICE_KEY) && memcmp(want->key, r.key, sizeof(r.key)))
		return true;
	/* Another manager copies them all. */
	if (!a->trusted && !sa_has_pkey(a, sa_asker(a), r.pkey))
		return true;
	if (!a->trusted)
		memset(r.key, 0, sizeof(r.key));
	r.lease = lease_left(a->kept->services, v);
	return !r.lease || sa_offer(a, &r);
}

static void
tell_services(struct sa_ask *a)
{
	const struct sa_slots *all = &a->kept->services->all;

	if (sa_asker(a) == FABRIC_NONE) {
		a->status = SA_STATUS_INVALID;
		return;
	}
	for (uint32_t i = (uint32_t)a->at; i < all->room; i++) {
		if (sa_pause(a)) {
			a->at = i;
			return;
		}
		if (all->at[i] && !tell_service(a, all->at[i]))
			return;
	}
}

const struct sa_kind_ops sa_service_ops = {
	.type = &sa_service_type, .own = SA_BIT(SA_SERVICE_KEY) | SA_BIT(SA_SERVICE_LEASE),
	.table = true, .tell = tell_services, .set = set_service, .drop = delete_service,
};

/* ---- Copies; see copy.h ---- */

/* `ends` is when the lease in `r`, which is what was left of it, is over. */
static bool
is_as_told(const struct service *v, const struct sa_service *r, int64_t ends)
{
	struct sa_service known = v->r;

	known.lease = r->lease;
	if (memcmp(&known, r, sizeof(known)) || (v->ends == NEVER) != (ends == NEVER))
		return false;
	return v->ends == ends || llabs(v->ends - ends) <= COPY_ERROR;
}

bool
sa_services_copy(struct sa_services *s, const struct sa_service *r, uint32_t copy)
{
	struct service *v = find(s, r);
	int64_t ends = r->lease == SA_LEASE_INFINITE ? NEVER :
		loop_wall(s->env.loop) + (int64_t)r->lease * SECOND;

	if (!r->gid.guid || (!v && s->len >= SA_SERVICES_MAX))
		return false;
	if (!v)
		v = add(s, r, r->gid.guid);	/* who registered it is not told */
	v->copy = copy;
	if (v->ends && is_as_told(v, r, ends))
		return true;
	v->r = *r;
	v->ends = ends;
	save(s, v);
	watch(s, ends);
	return true;
}

bool
sa_services_copied(struct sa_services *s, uint32_t copy, uint64_t *at, uint32_t work)
{
	for (; *at < s->all.room && work; (*at)++, work--) {
		struct service *v = s->all.at[*at];

		if (v && v->copy != copy)
			discard(s, v);
	}
	return *at < s->all.room;
}

/* ---- What there is ---- */

uint32_t
sa_services_len(const struct sa_services *s)
{
	return s->len;
}

bool
sa_services_row(const struct sa_services *s, uint64_t from, struct service_row *row)
{
	const struct service *v = NULL;

	while (from < s->all.room && !v)
		v = s->all.at[from++];
	if (!v)
		return false;
	*row = (struct service_row){
		.next = from, .id = v->r.id, .gid = { v->r.gid.prefix, v->r.gid.guid },
		.port_guid = v->owner, .pkey = v->r.pkey,
		.lease = v->ends == NEVER ? UINT32_MAX : lease_left(s, v),
	};
	snprintf(row->name, sizeof(row->name), "%.*s", (int)sizeof(v->r.name), v->r.name);
	return true;
}

/* ---- Life ---- */

struct sa_services *
sa_services_new(const struct sa_env *env)
{
	struct sa_services *s = mem_zalloc(sizeof(*s));

	s->env = *env;
	s->first = NEVER;
	s->timer = loop_timer_new(env->loop, on_timer, s);
	return s;
}

void
sa_services_forget(struct sa_services *s, const struct sa_service *r)
{
	struct service *v = find(s, r);

	if (v)
		discard(s, v);
}

bool
sa_services_load(struct sa_services *s, const char *value)
{
	unsigned long long owner;
	struct sa_service r;
	struct service *v;
	const char *rest;
	long long ends;

	if (!sa_kept_record(&sa_service_type, &r, value, &rest) ||
	    sscanf(rest, " %lld 0x%llx", &ends, &owner) != 2 || ends < 0 || find(s, &r))
		return false;
	v = add(s, &r, owner);
	v->ends = ends;
	watch(s, ends);
	return true;
}

static void
keep_nothing(void *node)
{
	(void)node;
}

void
sa_services_free(struct sa_services *s)
{
	tdestroy(s->tree, keep_nothing);
	for (uint32_t i = 0; i < s->all.room; i++)
		mem_free(s->all.at[i]);
	sa_slots_end(&s->all);
	map_free(&s->per_port);
	loop_timer_free(s->timer);
	mem_free(s);
}
