/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/sa/kept.h"

#include <stdio.h>
#include <string.h>
#include "sm/base/log.h"
#include "sm/base/mem.h"
#include "sm/sa/alias.h"
#include "sm/store/store.h"

/*
 * The rows of what clients left (kept.h), and the answers that confirm it: they leave when the
 * store has it, so that nothing that was confirmed is forgotten. What one turn of the loop brings
 * is committed together. The store outlives the administrator: answers whose administrator is gone
 * are dropped when their turn comes.
 */
#define KEY_SIZE 160

struct sa_answers {
	struct list link;	/* in answers of `k` */
	struct sa_kept *k;	/* NULL: gone */
	struct port_mad *m;	/* in the order of the requests */
	unsigned len;		/* how many */
	unsigned size;		/* allocated */
};

static void
free_answers(struct sa_answers *a)
{
	list_remove(&a->link);
	mem_free(a->m);
	mem_free(a);
}

static void
on_durable(void *arg, int error, const char *why)
{
	struct sa_answers *a = arg;

	(void)error;		/* the store has said so; in memory it is kept */
	(void)why;
	for (unsigned i = 0; a->k && i < a->len; i++)
		a->k->env.send(a->k->env.arg, &a->m[i]);
	free_answers(a);
}

static void
commit(void *kept)
{
	struct sa_kept *k = kept;
	struct sa_answers *a = k->open;

	k->open = NULL;
	store_commit(k->env.store, on_durable, a);
}

static struct sa_answers *
open_answers(struct sa_kept *k)
{
	struct sa_answers *a = mem_zalloc(sizeof(*a));

	a->k = k;
	list_append(&k->answers, &a->link);
	loop_timer_set(k->commit, 0);
	return a;
}

void
sa_kept_answer(struct sa_kept *k, const struct port_mad *m)
{
	struct port_mad *to;
	struct sa_answers *a;

	if (!k->open)
		k->open = open_answers(k);
	a = k->open;
	if (a->len == a->size) {
		a->size = a->size ? a->size * 2 : 4;
		a->m = mem_realloc(a->m, a->size, sizeof(*a->m));
	}
	to = &a->m[a->len++];
	*to = *m;
	to->len = port_mad_len(m) < MAD_SIZE ? port_mad_len(m) : MAD_SIZE;
	memcpy(to->mad, port_mad_bytes(m), to->len);
	to->data = NULL;
}

/* ---- Rows ---- */

static void
put_hex(char *to, const uint8_t *bytes, size_t size)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < size; i++) {
		*to++ = digits[bytes[i] >> 4];
		*to++ = digits[bytes[i] & 15];
	}
	*to = '\0';
}

static int
digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

void
sa_keep(const struct sa_env *env, const char *kind, const struct sa_type *t, const void *record,
	size_t id_size, const char *rest)
{
	char key[KEY_SIZE], hex[SA_HEX_SIZE], value[SA_HEX_SIZE + 80];
	uint8_t bytes[SA_DATA_SIZE];

	sa_encode(t, record, bytes);
	put_hex(hex, bytes, id_size);
	snprintf(key, sizeof(key), "%s %s %.100s", env->conf(env->arg)->name, kind, hex);
	if (!rest) {
		store_delete(env->store, STORE_CLIENTS, key);
		return;
	}
	put_hex(hex, bytes, t->size);
	snprintf(value, sizeof(value), "%s %s", hex, rest);
	store_put(env->store, STORE_CLIENTS, key, value);
}

bool
sa_kept_record(const struct sa_type *t, void *record, const char *value, const char **rest)
{
	uint8_t bytes[SA_DATA_SIZE];

	for (unsigned i = 0; i < t->size; i++) {
		int high = digit(value[0]), low = high < 0 ? -1 : digit(value[1]);

		if (low < 0)
			return false;
		bytes[i] = (uint8_t)(high << 4 | low);
		value += 2;
	}
	*rest = value;
	return *value == ' ' && !sa_decode(t, record, bytes, t->size);
}

static bool
load_record(struct sa_kept *k, const char *kind, const char *value)
{
	if (!strncmp(kind, "service ", 8))
		return sa_services_load(k->services, value);
	if (!strncmp(kind, "inform ", 7))
		return sa_informs_load(k->informs, value);
	if (!strncmp(kind, "guid ", 5))
		return sa_aliases_load(k->aliases, kind + 5, value);
	return false;
}

static void
load_row(void *arg, const char *key, const char *value)
{
	struct sa_kept *k = arg;
	const char *name = k->env.conf(k->env.arg)->name;
	size_t len = strlen(name);

	if (strncmp(key, name, len) || key[len] != ' ' || load_record(k, key + len + 1, value))
		return;
	log_warning("a row of what clients left cannot be read and is dropped: \"%s\"", key);
	store_delete(k->env.store, STORE_CLIENTS, key);
}

/* ---- Rows that another administrator changes ---- */

/* What names a record is the beginning of it: "HEX" of a key, as the record that it begins. */
static bool
named(const struct sa_type *t, void *record, const char *hex)
{
	char value[SA_HEX_SIZE + 1];
	size_t len = strlen(hex);
	const char *rest;

	if (len > 2 * t->size)
		return false;
	memset(value, '0', 2 * t->size);
	memcpy(value, hex, len);
	memcpy(value + 2 * t->size, " ", 2);
	return sa_kept_record(t, record, value, &rest);
}

static void
forget_record(struct sa_kept *k, const char *kind)
{
	union {
		struct sa_service service;
		struct sa_inform inform;
	} r;

	if (!strncmp(kind, "service ", 8) && named(&sa_service_type, &r, kind + 8))
		sa_services_forget(k->services, &r.service);
	else if (!strncmp(kind, "inform ", 7) && named(&sa_inform_type, &r, kind + 7))
		sa_informs_forget(k->informs, &r.inform);
	else if (!strncmp(kind, "guid ", 5))
		sa_aliases_forget(k->aliases, kind + 5);
}

void
sa_kept_take(struct sa_kept *k, const char *key, const char *value)
{
	const char *name = k->env.conf(k->env.arg)->name;
	size_t len = strlen(name);

	if (strncmp(key, name, len) || key[len] != ' ')
		return;
	forget_record(k, key + len + 1);
	if (value)
		load_row(k, key, value);
}

/* ---- Life ---- */

void
sa_kept_init(struct sa_kept *k, const struct sa_env *env)
{
	struct error e;

	k->env = *env;
	list_init(&k->answers);
	k->open = NULL;
	k->commit = loop_timer_new(env->loop, commit, k);
	k->services = sa_services_new(env);
	k->informs = sa_informs_new(env);
	k->aliases = sa_aliases_new(env);
	if (store_scan(env->store, STORE_CLIENTS, load_row, k, &e))
		log_warning("what clients left cannot be read: %s", e.text);
}

void
sa_kept_free(struct sa_kept *k)
{
	if (k->open)
		commit(k);
	loop_timer_free(k->commit);
	list_each(it, &k->answers) {
		list_entry(it, struct sa_answers, link)->k = NULL;
		list_remove(it);
	}
	sa_services_free(k->services);
	sa_informs_free(k->informs);
	sa_aliases_free(k->aliases);
}
