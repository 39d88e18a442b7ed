/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OFFLINE_OFFLINE_H
#define OFFLINE_OFFLINE_H

#include <stdbool.h>
#include "sm/base/error.h"
#include "sm/base/json.h"
#include "sm/conf/config.h"
#include "sm/fabric/plan.h"

/*
 * weft-offline: what `weft` does without a daemon. `weft` executes it and shows its answer: one
 * JSON object on standard output. A refusal is one sentence on standard error.
 */
enum offline_exit {
	OFFLINE_DONE = 0,
	OFFLINE_REFUSED = 1,	/* the answer, or a sentence, says why */
	OFFLINE_USAGE = 2,
};

#define OFFLINE_ENGINES 16	/* of one chain */
#define OFFLINE_SETTINGS 64	/* of a plugin */
#define OFFLINE_SELECTIONS 64	/* of one class */
#define OFFLINE_TIME_MS 30000u	/* as `plugins` of the configuration has it */
#define OFFLINE_MEMORY 1024u
#define OFFLINE_LMC_FREE 255u

struct offline {
	const char *path;	/* file or folder; "-": standard input */
	const char *engines[OFFLINE_ENGINES + 1];	/* NULL-terminated */
	unsigned nengines;	/* how many */
	uint64_t *roots;	/* GUIDs, owned */
	unsigned nroots;	/* how many */
	/* Selections of hosts, NULL-terminated; see routing/classes.h. */
	const char *storage[OFFLINE_SELECTIONS + 1];
	unsigned nstorage;	/* how many */
	const char *other[OFFLINE_SELECTIONS + 1];
	unsigned nother;	/* how many */
	const char *config;	/* file whose first subnet's routing and qos count; NULL */
	unsigned lmc;		/* of host ports, 0..7; OFFLINE_LMC_FREE: the configuration's */
	const char *lfts;	/* where tables go; NULL: nowhere */
	const char *dump;	/* folder where all of the routing goes; NULL: nowhere */
	const char *names;	/* file of node names; NULL */
	const char *state;	/* state file that gets LIDs; NULL */
	const char *tables;	/* that engine `file` takes; NULL */
	const char *plugin;	/* shared object of an engine; NULL */
	const char *settings[OFFLINE_SETTINGS];	/* NAME=VALUE of its options */
	unsigned nsettings;	/* how many */
	unsigned time_ms;	/* that a run of it may take */
	unsigned memory;	/* MiB that it may have */
	unsigned threads;	/* 0: one per core */
	uint64_t seed;		/* of what is sampled */
	unsigned samples;	/* how many, 0: as reports have them */
	unsigned adaptive;	/* all switches route adaptively, with so many groups; 0: none */
	bool quality;		/* measure it */
};

/* The commands: exit status. */
int
offline_route(const struct offline *o);
int
offline_check(const struct offline *o);
int
offline_plugin_test(const struct offline *o);
/* The folder of an OpenSM as a configuration, on standard output. */
int
offline_import(const struct offline *o);

/* The engine of o->plugin with its options; ERR_INVALID or another code and a sentence. */
struct plugin;
int
offline_plugin(const struct offline *o, struct plugin **p, struct error *e);

/* Nodes get the names that the file o->names has for them; *names, which they borrow from, is NULL
 * without such a file. */
int
offline_names(const struct offline *o, struct fabric *f, struct name_map **names, struct error *e);

/* Measure the load, and at a terminal say so first where it takes a while. */
struct check_input;
struct quality_report;
void
offline_measure(const struct offline *o, const struct check_input *in, struct quality_report *q);

/* Forwarding tables to a file; or all that `check` reads to a folder, which is made if it is not
 * there, and where files of the same names are replaced. 0, or ERR_IO and why. */
int
offline_save_tables(const struct plan *p, const char *path, struct error *e);
int
offline_save_all(const struct plan *p, const char *folder, struct error *e);

/* Say the sentence; returns OFFLINE_REFUSED. */
int
offline_refuse(const struct error *e);
/* Write the answer that `b` holds to standard output; `status` goes through unless that fails. */
int
offline_answer(const struct buf *b, int status);

/*
 * LIDs as the daemon gives them to a fabric that it sees for the first time: a legal LID that a
 * port holds is kept (of two claims the first port's), then hosts by switch and port, then
 * switches. NULL and a sentence if there are not enough.
 */
struct plan_lids *
offline_lids(const struct fabric *f, unsigned lmc, struct error *e);

/*
 * LIDs that the topology states, and of ports for which it states none those that the tables name
 * them as the owners of (*taken: how many ports): a topology may be older than the tables, or made
 * by `weftsim generate`.
 */
struct lfts;
struct plan_lids *
offline_lids_known(const struct fabric *f, const struct lfts *tables, uint32_t *taken);
/* How many cabled end ports have no LID. Where the topology states one that cannot be the port's,
 * for another claims it or it is none, `clash` (of `size` bytes) gets a sentence; else "". */
uint32_t
offline_lids_left_out(const struct fabric *f, const struct plan_lids *l, char *clash, size_t size);

#endif
