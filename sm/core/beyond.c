/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * State beyond this host. What managers of a fabric share is in etcd as well (store_etcd.c): a
 * manager that stands by takes what the one that leads changes, row by row, into what it has in
 * memory, so that it has nothing to read when it takes over.
 *
 * A row means the same as at the start of the daemon, and is read by the same functions: LIDs by
 * lids.c, service levels that were handed out by office.c, drained places by drain.c, partitions by
 * part_store.c, what clients left by the subnet administrator. Who leads takes what others changed
 * as well: one that led before may have something left to tell.
 */
#include "sm/core/beyond.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "sm/base/mem.h"
#include "sm/core/subnet_i.h"
#include "sm/sa/sa.h"

struct beyond {
	struct store *store;	/* borrowed */
	struct loop *loop;	/* borrowed */
	struct event_ring *events;	/* borrowed */
	struct subnet **subnets;	/* borrowed, and each of them */
	unsigned len;
};

/* ---- The store ---- */

/* The first line of the file. */
static int
read_password(const char *path, char *to, size_t size, struct error *e)
{
	FILE *f = fopen(path, "re");

	if (!f)
		return error_set(e, ERR_IO, "etcd.password_file: %s cannot be read: %s", path,
				 strerror(errno));
	if (!fgets(to, (int)size, f))
		*to = '\0';
	fclose(f);
	to[strcspn(to, "\r\n")] = '\0';
	return *to ? 0 : error_set(e, ERR_INVALID, "etcd.password_file: there is no password in %s",
				   path);
}

struct store *
beyond_store(struct loop *l, const struct config *c, struct error *e)
{
	char password[512] = "";
	struct store *store = NULL;
	struct store_etcd o = {
		.endpoints = c->etcd.endpoints, .prefix = c->etcd.prefix,
		.ca = c->etcd.ca, .cert = c->etcd.cert, .key = c->etcd.key,
		.user = c->etcd.user, .password = password,
		.timeout_ms = (unsigned)(c->etcd.timeout / MSEC(1)),
	};

	for (const char **ep = c->etcd.endpoints; ep && *ep; ep++)
		o.nendpoints++;
	if (!o.nendpoints)
		return store_open_sqlite(l, c->state, e);
	if (!o.user || !read_password(c->etcd.password_file, password, sizeof(password), e))
		store = store_open_etcd(l, c->state, &o, e);
	explicit_bzero(password, sizeof(password));
	return store;
}

/* ---- Rows ---- */

void
beyond_take(struct subnet *s, enum store_table table, const char *key, const char *value)
{
	uint16_t mlid;

	switch (table) {
	case STORE_LIDS:
		lids_take(s, key, value);
		break;
	case STORE_META:
		office_take(s, key, value);
		drains_take(s, key, value);
		break;
	case STORE_PARTITIONS:
		part_store_take(s, key, value);
		break;
	case STORE_CLIENTS:
	case STORE_GROUPS:
		mlid = sa_take_row(s->sa, table, key, value);
		if (mlid && s->role == ROLE_MASTER)
			multicast_changed(s, mlid);
		break;
	default:
		break;
	}
}

static void
on_changed(void *arg, enum store_table table, const char *key, const char *value)
{
	struct beyond *b = arg;

	for (unsigned i = 0; i < b->len; i++)
		if (store_is_of(table, key, b->subnets[i]->conf->name))
			beyond_take(b->subnets[i], table, key, value);
}

static void
on_tell(void *arg, bool warning, const char *text)
{
	struct beyond *b = arg;
	struct event ev = {
		.type = EVENT_STATE, .level = warning ? LOG_L_WARNING : LOG_L_NOTICE,
		.wall = loop_wall(b->loop),
	};

	snprintf(ev.text, sizeof(ev.text), "%s", text);
	event_ring_add(b->events, &ev);
}

struct beyond *
beyond_new(struct store *store, struct loop *l, struct event_ring *events, struct subnet **subnets,
	   unsigned len)
{
	struct store_follower f = { .changed = on_changed, .tell = on_tell };
	struct store_beyond st;
	struct beyond *b;

	if (!store_beyond(store, &st))
		return NULL;
	b = mem_zalloc(sizeof(*b));
	b->store = store;
	b->loop = l;
	b->events = events;
	b->subnets = subnets;
	b->len = len;
	f.arg = b;
	store_follow(store, &f);
	return b;
}

void
beyond_free(struct beyond *b)
{
	struct store_follower none = { 0 };

	if (!b)
		return;
	store_follow(b->store, &none);
	mem_free(b);
}

/* ---- Subnets ---- */

void
beyond_role(struct subnet *s)
{
	store_lead(s->env.store, s->conf->name, s->role == ROLE_MASTER);
}

/* What nobody can copy from the fabric, nor from the subnet administrator. */
static void
reason_alone(const struct subnet *s, struct ha_status *h)
{
	uint32_t asked = 0;

	for (uint32_t i = 0; i < s->drains.len; i++)
		asked += s->drains.list[i].why == HEALTH_ASKED;
	if (s->role != ROLE_MASTER || !(s->parts.rows.len || asked))
		return;
	ha_reason(h, "no other manager knows of %u partition%s changed by command and %u place%s "
		  "drained by command: name partitions in all configurations, or configure etcd",
		  s->parts.rows.len, s->parts.rows.len == 1 ? "" : "s", asked,
		  asked == 1 ? "" : "s");
}

void
beyond_reasons(struct subnet *s, struct ha_status *h)
{
	char since[CLOCK_TEXT_SIZE];
	const struct store_beyond *st = &h->beyond;

	h->shared = store_beyond(s->env.store, &h->beyond);
	if (!h->shared)
		reason_alone(s, h);
	if (!h->shared || st->safe)
		return;
	if (st->away)
		ha_reason(h, "etcd is away since %s, %u change%s unsent: %.120s",
			  clock_text(since, st->since), st->unsent, st->unsent == 1 ? "" : "s",
			  st->why);
	else
		ha_reason(h, "etcd has not all that is registered, %u change%s unsent: %.150s",
			  st->unsent, st->unsent == 1 ? "" : "s", st->why);
}
