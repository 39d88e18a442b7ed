/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SA_KEPT_H
#define SA_KEPT_H

#include "sm/base/list.h"
#include "sm/sa/sa.h"

/*
 * What clients leave with the subnet administrator, and what of it is in the store: a row a record
 * in STORE_CLIENTS, key "SUBNET KIND HEX" with the bytes of the record that make it what it is,
 * value "HEX ..." with the whole record as on the wire and what else there is to know. The rows of
 * alias GUIDs are told in alias.c.
 */
#define SA_HEX_SIZE (2 * SA_RECORD_MAX + 1)

struct sa_answers;
struct sa_services;
struct sa_informs;
struct sa_aliases;

struct sa_kept {
	struct sa_env env;		/* the owner's */
	struct list answers;		/* struct sa_answers: that wait until what they confirm is
					 * in the store */
	struct sa_answers *open;	/* of them those that are not committed yet; NULL */
	struct loop_timer *commit;	/* commits them, at the end of the turn of the loop */
	struct sa_services *services;	/* service.c */
	struct sa_informs *informs;	/* inform.c, report.c */
	struct sa_aliases *aliases;	/* alias.c */
};

void
sa_kept_init(struct sa_kept *k, const struct sa_env *env);
/* Frees what it holds; answers that still wait are not sent. */
void
sa_kept_free(struct sa_kept *k);
/* Send the message, which is no longer than a MAD, when what was put to the store before is in
 * it. */
void
sa_kept_answer(struct sa_kept *k, const struct port_mad *m);

/* Puts or takes away (`rest` NULL) the row of a record; its first `id_size` bytes name it. */
void
sa_keep(const struct sa_env *env, const char *kind, const struct sa_type *t, const void *record,
	size_t id_size, const char *rest);
/* The record of a row's value; *rest is what follows it. False: it is none. */
bool
sa_kept_record(const struct sa_type *t, void *record, const char *value, const char **rest);

/* A row of STORE_CLIENTS that another administrator changed (value NULL: deleted); see
 * sa_take_row(). */
void
sa_kept_take(struct sa_kept *k, const char *key, const char *value);

/* ---- service.c: ServiceRecords ---- */

struct sa_services *
sa_services_new(const struct sa_env *env);
void
sa_services_free(struct sa_services *s);
/* A row of the store; false: it cannot be read. */
bool
sa_services_load(struct sa_services *s, const char *value);
/* The one that is named as this is, if there is one. */
void
sa_services_forget(struct sa_services *s, const struct sa_service *r);

/* As sa_groups_copy() and sa_groups_copied(). */
bool
sa_services_copy(struct sa_services *s, const struct sa_service *r, uint32_t copy);
bool
sa_services_copied(struct sa_services *s, uint32_t copy, uint64_t *at, uint32_t work);
uint32_t
sa_services_len(const struct sa_services *s);
/* The first in place `from` or a later one; false: there is none. */
bool
sa_services_row(const struct sa_services *s, uint64_t from, struct service_row *row);

/* ---- inform.c, report.c: subscriptions and Reports ---- */

struct sa_informs *
sa_informs_new(const struct sa_env *env);
void
sa_informs_free(struct sa_informs *s);
/* As sa_services_load(). */
bool
sa_informs_load(struct sa_informs *s, const char *value);
/* As sa_services_forget(). */
void
sa_informs_forget(struct sa_informs *s, const struct sa_inform *r);
/* As sa_groups_copy() and sa_groups_copied(). */
bool
sa_informs_copy(struct sa_informs *s, const struct sa_inform *r, uint32_t copy);
bool
sa_informs_copied(struct sa_informs *s, uint32_t copy, uint64_t *at, uint32_t work);
/* Tell whoever subscribed to it. */
void
sa_informs_tell(struct sa_informs *s, const struct sa_notice *n);
/* Traps 64 to 67, of which we are the issuer. */
void
sa_informs_tell_gid(struct sa_informs *s, uint16_t trap, const struct sa_gid *gid);
/* Traps 64 and 65 of the GID of an alias, unless it was in service, or out of it, before. */
void
sa_informs_tell_alias(struct sa_informs *s, struct sa_aliases *aliases, uint64_t port,
		      unsigned index, bool in);
/* A Report was answered, or came back; false: none of ours is under way with this TID. */
bool
sa_informs_answered(struct sa_informs *s, uint64_t tid, bool answered);
/* The published plan is in force: traps 64 and 65 of what has changed. */
void
sa_informs_settled(struct sa_informs *s, struct sa_aliases *aliases);
/* Another administrator tells of events from now on: Reports that wait or are under way are lost,
 * and no subscriber is blamed. */
void
sa_informs_resigned(struct sa_informs *s);
uint32_t
sa_informs_len(const struct sa_informs *s);
/* As sa_services_row(). */
bool
sa_informs_row(const struct sa_informs *s, uint64_t from, struct subscription_row *row);
const struct sa_report_counters *
sa_informs_counters(const struct sa_informs *s);

#endif
