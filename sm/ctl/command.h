/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CTL_COMMAND_H
#define CTL_COMMAND_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include "sm/base/json.h"
#include "sm/base/list.h"
#include "sm/ctl/ctl.h"

/*
 * Commands and requests. A command is one table row; a request is one run of it. Its handler
 * checks everything first and then does exactly one of these:
 *  - answers at once:	j = req_begin(r), fields of the data object, req_end(r); where the command
 *			speaks of a plan, "current" (and "as_of" and "why" where it is not) of
 *			that plan is there already;
 *  - refuses:		req_fail(r, ...);
 *  - streams:		req_stream(r, step): step() is called again and again while the client
 *			takes the answer, and emits a bounded piece each time (req_begin() was
 *			called, or the first steps only count); STEP_DONE ends the answer;
 *  - polls:		req_poll(r, fn, interval): fn() is called at each interval until it has
 *			answered or streams;
 *  - has a worker do it: req_job(r, run, done): run(r) on the worker may read and write r->state
 *			only, done(r) on the loop answers or streams. The worker is the daemon's
 *			one, which routes too: at most one job of all clients is with it at a time.
 * A client may go at any time. A request that somebody still holds (a worker, the core) outlives
 * it with client == NULL, and what it writes then goes nowhere.
 */
struct ctl_client;
struct ctl_gate;
struct ctl_req;

enum ctl_exit {			/* `code` of a refusal: the exit status of the client */
	EXIT_REFUSED = 1,
	EXIT_USAGE = 2,
	EXIT_TIMEOUT = 4,
};

enum ctl_arg_kind {
	ARG_STRING,
	ARG_FLAG,
	ARG_NUMBER,
	ARG_LIST,			/* of strings */
};

struct ctl_arg {
	const char *name;		/* key in "args"; NULL ends the list */
	enum ctl_arg_kind kind;		/* type of its value */
	bool required;			/* must be given */
	uint64_t max;			/* ARG_NUMBER: largest value */
	const char *const *words;	/* ARG_STRING: what is allowed, NULL for anything */
};

enum ctl_scope {
	SCOPE_ALL,			/* the daemon; r->subnet narrows it, NULL: all */
	SCOPE_SUBNET,			/* one subnet: r->subnet is set */
	SCOPE_PLAN,			/* one subnet with a published plan: r->plan too */
};

enum ctl_step {
	STEP_MORE,
	STEP_DONE,
};

struct ctl_command {
	const char *name;		/* "show ports"; NULL ends a table */
	const struct ctl_arg *args;	/* NULL: none */
	enum ctl_scope scope;		/* what it speaks of */
	bool change;			/* changes something (unless "dry_run" is set) */
	void (*run)(struct ctl_req *r);
};

extern const struct ctl_command ctl_cmd_admin[];	/* reroute .. reload, show engines */
extern const struct ctl_command ctl_cmd_check[];	/* check */
extern const struct ctl_command ctl_cmd_health[];	/* show health */
extern const struct ctl_command ctl_cmd_clients[];	/* show services, subscriptions */
extern const struct ctl_command ctl_cmd_adaptive[];	/* show adaptive */
extern const struct ctl_command ctl_cmd_congestion[];	/* show congestion */
extern const struct ctl_command ctl_cmd_counters[];	/* show counters */
extern const struct ctl_command ctl_cmd_events[];	/* show events */
extern const struct ctl_command ctl_cmd_ha[];		/* show ha */
extern const struct ctl_command ctl_cmd_multicast[];	/* show multicast */
extern const struct ctl_command ctl_cmd_partition[];	/* partition ... */
extern const struct ctl_command ctl_cmd_partitions[];	/* show partitions */
extern const struct ctl_command ctl_cmd_path[];		/* path, qos explain */
extern const struct ctl_command ctl_cmd_qos[];		/* show qos */
extern const struct ctl_command ctl_cmd_rails[];	/* show rails */
extern const struct ctl_command ctl_cmd_routes[];	/* show routes */
extern const struct ctl_command ctl_cmd_show[];		/* show nodes, switches, ports, links */
extern const struct ctl_command ctl_cmd_plugins[];	/* show plugins, plugin reload */
extern const struct ctl_command ctl_cmd_status[];	/* status, wait */
extern const struct ctl_command ctl_cmd_topology[];	/* show topology */

typedef enum ctl_step (*ctl_step_fn)(struct ctl_req *r);
typedef void (*ctl_req_fn)(struct ctl_req *r);

struct ctl_req {
	struct ctl_client *client;	/* who asked; NULL once gone */
	const struct ctl_host *host;	/* borrowed; valid while client is */
	struct loop *loop;		/* borrowed */
	const struct ctl_command *command;	/* NULL until it is known */
	json_t *root;			/* the request as parsed */
	json_t *args;			/* its "args", borrowed from root; NULL if absent */
	const struct ctl_subnet *subnet;	/* by scope; NULL: all */
	const struct plan *plan;	/* by scope; reference held */
	struct buf *out;		/* the client's output */
	struct json json;		/* writer onto it */
	bool begun;			/* the answer was begun */
	bool answered;			/* and ended */
	ctl_step_fn step;		/* streaming; NULL */
	ctl_req_fn poll;		/* polling; NULL */
	monotime interval;		/* of polling */
	monotime started;		/* when the request was taken up */
	struct loop_timer *timer;	/* of polling; NULL before */
	unsigned held;			/* workers and callbacks that will still come */
	struct ctl_gate *gate;		/* while a job is with the worker; reference held */
	ctl_req_fn job_run;		/* of req_job(), on the worker */
	ctl_req_fn job_done;		/* of req_job(), on the loop */
	monotime job_cost;		/* of req_job(), on a virtual loop */
	void *state;			/* the handler's own */
	void (*state_free)(void *state);	/* called when the request is freed */
	struct buf nowhere;		/* output of a request whose client has gone */
};

/* Why a subnet is not up, or has no (current) proved routing: one phrase. */
#define WHY_SIZE 420
const char *
status_why(const struct subnet_status *st, char why[WHY_SIZE]);

/* Parse and start one line of a client. */
struct ctl_req *
req_start(struct ctl_client *client, const char *line, size_t len);
/* The client is done with it, or gone: freed now, or when the last holder lets go. */
void
req_drop(struct ctl_req *r);

struct json *
req_begin(struct ctl_req *r);
void
req_end(struct ctl_req *r);
void
req_fail(struct ctl_req *r, enum ctl_exit code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* req_fail() by a library's error: its sentence, its reason, and the exit status that suits its
 * code. */
void
req_error(struct ctl_req *r, const struct error *e);
void
req_stream(struct ctl_req *r, ctl_step_fn step);
void
req_poll(struct ctl_req *r, ctl_req_fn fn, monotime interval);
void
req_job(struct ctl_req *r, ctl_req_fn run, ctl_req_fn done, monotime virtual_cost);
/* For callbacks of others: hold before handing r out, release (which may free it) at the end. */
void
req_hold(struct ctl_req *r);
void
req_release(struct ctl_req *r);

const char *
req_string(const struct ctl_req *r, const char *name);	/* NULL if absent */
bool
req_flag(const struct ctl_req *r, const char *name);
uint64_t
req_number(const struct ctl_req *r, const char *name, uint64_t absent);

/* What lets one job at a time through; it outlives the server while a job is at work. */
struct ctl_gate *
gate_new(void);
void
gate_unref(struct ctl_gate *g);

/* cmd_admin.c: ask for a reload, and answer with what has changed. */
void
reload_ask(struct ctl_req *r, const struct ctl_reload *what);
/* cmd_plugins.c: the options of plugin number `i`. */
void
plugin_put_options(struct ctl_req *r, struct json *j, unsigned i);

/* client.c: the request has something to say, or has been answered, outside a handler. */
void
client_kick(struct ctl_client *c);

#endif
