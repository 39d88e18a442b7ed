/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_FAKE_ETCD_H
#define TESTS_UNIT_FAKE_ETCD_H

#include <stdbool.h>
#include <stdint.h>

/*
 * As much of etcd as the store asks of it: rows with revisions, transactions, a history that
 * watches read; by HTTP on a port of the loopback, on a thread of its own. And what a bad one does.
 */
enum fake_mood {
	FAKE_WELL,
	FAKE_SILENT,		/* takes requests and never answers */
	FAKE_SLOW,		/* answers after a good while */
	FAKE_DEAF,		/* carries requests out and never answers */
	FAKE_RUBBISH,		/* answers what is no JSON */
	FAKE_HUGE,		/* and does not end */
	FAKE_HEADLESS,		/* JSON, and nothing that was asked for */
	FAKE_REFUSES,		/* an error */
	FAKE_CUT,		/* half an answer */
	FAKE_MOODS
};

struct fake_etcd;

struct fake_etcd *
fake_etcd_new(void);
void
fake_etcd_free(struct fake_etcd *f);
/* "http://127.0.0.1:PORT" */
const char *
fake_etcd_url(const struct fake_etcd *f);
void
fake_etcd_mood(struct fake_etcd *f, enum fake_mood mood);
/* Ask for a user and a password, and forget the tokens that were given. */
void
fake_etcd_lock(struct fake_etcd *f);
unsigned
fake_etcd_logins(struct fake_etcd *f);
/* As another client: value NULL deletes. */
void
fake_etcd_put(struct fake_etcd *f, const char *key, const char *value);
/* A copy, to be freed by mem_free(); NULL: there is none. */
char *
fake_etcd_get(struct fake_etcd *f, const char *key);
/* Forget everything: a new and empty one. */
void
fake_etcd_wipe(struct fake_etcd *f);
/* What it holds now, and go back to that: as a backup is restored. */
void
fake_etcd_save(struct fake_etcd *f);
void
fake_etcd_restore(struct fake_etcd *f);
/* What watches could read until now is gone. */
void
fake_etcd_compact(struct fake_etcd *f);

#endif
