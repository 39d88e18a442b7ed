/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include <stdbool.h>
#include <stdint.h>
#include "sim/model/model.h"
#include "sm/base/buf.h"
#include "sm/base/error.h"
#include "sm/base/loop.h"

/*
 * A simulation: a fabric and all that belongs to it, and the commands that look into it and change
 * it. The same commands come from `weftsim ctl`, the console, scripts and `weftd --sim-script`.
 */
struct names;
struct script;

/* What belongs to whoever runs the simulation; each may be NULL. */
struct sim_host {
	void (*programs)(void *arg, struct buf *out);	/* one line an attached program */
	unsigned (*attached)(void *arg);		/* how many there are */
	void *programs_arg;				/* handed to the two */
	void (*quit)(void *arg);	/* the command "quit": end the simulation, soon */
	void *quit_arg;			/* handed to it */
};

struct sim {
	struct loop *loop;		/* borrowed */
	struct ibnet *net;		/* the text it was made from, owned */
	struct model *model;
	struct kernel *kernel;
	struct traffic *traffic;
	struct capture *capture;	/* NULL: no MADs are recorded */
	struct script *script;		/* lines of scripts that are due one day */
	struct names *names;		/* of the nodes */
	monotime started;		/* on the loop's clock */
	uint64_t seed;			/* of what scripts draw, unless they say */
	struct sim_host host;		/* filled in by whoever runs it, server_new() for one */
	void (*log)(void *arg, const char *line);	/* event log, "TIME text"; or NULL */
	void *log_arg;			/* handed to it */
};

/* `net` belongs to the simulation from the call on, also when it fails. `options` may be NULL. */
int
sim_new(struct sim **s, struct loop *l, struct ibnet *net, const struct model_options *options,
	struct error *e);
void
sim_free(struct sim *s);	/* NULL is allowed */
/* Pass lines of the event log to fn: seconds since the start, with six digits, then what happened;
 * NULL ends it. */
void
sim_log(struct sim *s, void (*fn)(void *arg, const char *line), void *arg);

/* Record every MAD from now on, as text or as pcap (capture.h), in place of what was recorded
 * before; and end that, which sim_free() does too. */
int
sim_capture(struct sim *s, const char *path, bool text, struct error *e);
int
sim_capture_end(struct sim *s, struct error *e);

/* Run one command line; its answer is appended to `out`. What it cannot do it says in a sentence,
 * and has then changed nothing. */
int
sim_command(struct sim *s, const char *line, struct buf *out, struct error *e);
/* One line a command, for help texts. */
void
sim_help(struct buf *out);
/* Append a word as command lines need it: in quotes where it has blanks or quotes. */
void
sim_quote(struct buf *line, const char *word);
/* Start a script of timed commands; `file` names it in errors (file:line: ...). All is checked
 * before any of it runs. */
int
sim_script(struct sim *s, const char *text, size_t size, const char *file, struct error *e);

#endif
