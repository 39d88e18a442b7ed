/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_COMMAND_H
#define SIM_COMMAND_H

#include "sim/control/sim.h"

/*
 * The commands of a simulation, each a row of a table. Private to sim.
 *
 * A function reads all of its arguments first, and says what is wrong with them. With `check` it
 * then returns: so whole scripts are looked at before any of it runs. What depends on the fabric's
 * state of the moment (is there a cable?) it asks behind that.
 */
struct call {
	struct sim *s;			/* the simulation */
	const struct command *command;	/* the row */
	char *const *args;		/* nargs words behind the command's name, then NULL */
	unsigned nargs;			/* within the row's bounds */
	bool check;			/* only look at the arguments */
	struct buf *out;		/* the answer */
	struct error *e;		/* or what is wrong */
};

struct command {
	const char *name;	/* as typed */
	const char *args;	/* as help shows them */
	const char *help;	/* what it does, in a line */
	uint8_t min, max;	/* number of arguments */
	int (*run)(const struct call *c);	/* 0 or ERR_* with a sentence */
};

/* Tables, each ended by a row without a name. */
extern const struct command command_faults[];	/* command_fault.c */
extern const struct command command_shows[];	/* command_show.c */
extern const struct command command_loads[];	/* command_load.c */
extern const struct command command_others[];	/* command_other.c */
extern const struct command command_ar[];	/* command_ar.c */

/* Look at a line without running it; an empty one is fine. */
int
command_check(struct sim *s, const char *line, struct error *e);

/* Arguments: 0, or ERR_* with a sentence. */
int
arg_node(const struct call *c, unsigned i, uint32_t *node);
int
arg_port(const struct call *c, unsigned i, uint32_t *node, unsigned *port);
int
arg_time(const struct call *c, unsigned i, monotime *t);
int
arg_number(const struct call *c, unsigned i, const char *what, uint64_t min, uint64_t max,
	   uint64_t *value);
int
arg_guid(const struct call *c, unsigned i, uint64_t *guid);
/* An attribute by name (PortInfo, port-info) or number (0x15). */
int
arg_attr(const struct call *c, unsigned i, uint16_t *attr);
/* One of the words of a list that NULL ends; returns its place in *which. */
int
arg_word(const struct call *c, unsigned i, const char *const *words, unsigned *which);

/* Text of an attribute: its name, or its number; returns buf or a constant. */
const char *
attr_text(char buf[8], uint16_t attr);

/* sim.c: a line of the event log, with the time. */
void
sim_note(struct sim *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
monotime
sim_time(const struct sim *s);	/* since the start */

/* fault.c: one line for each fault that is in effect; how many there are. `out` may be NULL. */
unsigned
faults_list(const struct sim *s, struct buf *out, unsigned most);
/* Undo them all; how many there were. */
unsigned
faults_heal(struct sim *s);

/* wrong.c: what is wrong with the fabric, at most `most` lines of a kind. */
void
wrong_list(const struct sim *s, struct buf *out, unsigned most);

#endif
