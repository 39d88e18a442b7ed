/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_STAGE_H
#define SIM_STAGE_H

#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include "sim/control/sim.h"
#include "sim/generate/generate.h"
#include "sim/model/ar.h"
#include "sim/serve/server.h"

/* A simulation that programs attach to, with its options: what `weftsim serve` and `weftsim run`
 * have in common. Private to the program. */
struct stage_options {
	const char *script;		/* file of timed commands, or NULL */
	const char *log;		/* file for the event log, "-": standard output; or NULL */
	const char *capture;		/* file for all MADs, or NULL */
	bool latency;			/* MADs take time */
	bool virtual_time;		/* as fast as it can, and nobody attaches */
	bool adaptive;			/* there are adaptive switches */
	struct ar_options ar;		/* which, if so */
	struct model_options model;	/* of the fabric, but for latency and adaptive switches */
	struct generate_options recipe;	/* of a fabric that is no file */
};

struct stage {
	struct loop *loop;		/* event loop */
	struct sim *sim;		/* on it */
	struct server *server;		/* programs attach to it */
	FILE *log;			/* event log, or NULL */
};

/* Rows for getopt_long(), and what to do with their values. */
#define STAGE_OPTIONS \
	{ "adaptive", required_argument, NULL, 'A' }, \
	{ "capture", required_argument, NULL, 'C' }, \
	{ "latency", no_argument, NULL, 'L' }, \
	{ "like-ibsim", no_argument, NULL, 'I' }, \
	{ "log", required_argument, NULL, 'l' }, \
	{ "script", required_argument, NULL, 'f' }, \
	{ "seed", required_argument, NULL, 'S' }, \
	{ "speed", required_argument, NULL, 'r' }
extern const char stage_help[];
/* False: `c` is none of these. *rc is 0, or CMD_USAGE when it has said what is wrong. */
bool
stage_option(struct stage_options *o, int c, const char *value, int *rc);

/* Nothing is left open after an error. */
int
stage_open(struct stage *g, const struct stage_options *o, const char *fabric, const char *socket,
	   struct error *e);
/* Be told of a signal, unless whoever started us has it ignored, as nohup does. */
void
stage_signal(struct stage *g, int signo, void (*fn)(void *arg), void *arg);
/* Writing where nobody reads any more, or past a limit of size, is an error of that file and not
 * the end of the simulation. False: as it is for other programs. */
void
stage_shield(bool on);
/* ERR_IO if the log or the capture could not be written. */
int
stage_close(struct stage *g, struct error *e);

#endif
