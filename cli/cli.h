/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include "sm/base/buf.h"
#include "sm/base/clock.h"
#include "sm/base/error.h"

/*
 * The `weft` program: words of a command line become one request (or a few) on the control
 * socket, answers become tables or JSON. It knows the protocol (sm/base/frame.h) and the fields
 * of the answers, and no structure of the daemon.
 */
enum cli_exit {
	CLI_DONE = 0,
	CLI_REFUSED = 1,	/* refused, or not found */
	CLI_USAGE = 2,
	CLI_NO_DAEMON = 3,
	CLI_TIMEOUT = 4,
};

enum cli_kind {
	CLI_FLAG,		/* true if given */
	CLI_STRING,
	CLI_LIST,		/* a string each time it is given */
	CLI_NUMBER,
	CLI_SECONDS,		/* "30" or a duration with a unit; sent in milliseconds */
};

struct cli_option {
	const char *name;	/* without the dashes; NULL ends the list */
	const char *value;	/* what stands for its value in the help; NULL: a flag */
	const char *key;	/* in the request's "args"; NULL: for the client only */
	enum cli_kind kind;	/* how its value is read */
	const char *help;	/* one line */
	const char *const *words;	/* the values that there are; NULL: any */
};

struct cli;

struct cli_command {
	const char *name;	/* "show nodes" */
	const char *synopsis;	/* what follows the name; "" */
	const char *help;	/* one line */
	const char *more;	/* further lines; NULL */
	const struct cli_option *options;	/* NULL: none */
	const char *words[3];	/* keys of what stands after the name */
	const char *rest;	/* key of the list of what else stands there; NULL */
	unsigned need;		/* how many of them must be there */
	const char *doing;	/* said while it takes long */
	void (*print)(const struct cli *c, const json_t *data);
	int (*run)(struct cli *c);	/* NULL: one request, one answer */
	int (*verdict)(const json_t *data);	/* exit status by the answer; NULL: 0 */
};

struct cli {
	const struct cli_command *command;	/* NULL: none was named */
	const char *group;	/* "show", "partition member": no command of it was named; NULL */
	const char *socket;	/* path */
	const char *subnet;	/* --subnet; NULL */
	const char *output;	/* -o; NULL */
	bool json;		/* -o json */
	bool help;		/* --help */
	bool version;		/* --version */
	bool follow;		/* show events --follow */
	int64_t timeout_ms;	/* wait --timeout; -1 */
	json_t *args;		/* of the request */
	int fd;			/* the connection; -1 */
	struct buf in;		/* bytes received and not taken yet */
};

extern const struct cli_command cli_commands[];		/* commands.c; ends with a NULL name */

/* options.c: fill `c` from the command line. 0 or CLI_USAGE, the reason said. */
int
options_parse(struct cli *c, int argc, char **argv);
void
options_help(const struct cli *c, FILE *out);	/* of its command, its group, or the program */

/* connection.c. All return 0 or an exit status, the reason in `e`. */
int
connection_open(struct cli *c, struct error *e);
void
connection_close(struct cli *c);
/* Send the command with c->args, wait for the answer. A refusal is its code and sentence. */
int
connection_request(struct cli *c, json_t **data, struct error *e);

/* run.c */
int
cli_run(struct cli *c);
int
run_wait(struct cli *c);
int
run_events(struct cli *c);
int
check_verdict(const json_t *data);
int
route_verdict(const json_t *data);
int
run_routes(struct cli *c);
/* An answer, as its command prints it or as JSON. */
void
cli_show(const struct cli *c, const json_t *data);

/* offline.c: what weft-offline does. */
int
run_route(struct cli *c);
int
run_check(struct cli *c);
int
run_import(struct cli *c);

/* print.c: one line, whatever would upset a terminal replaced. */
void
emit(FILE *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Fields of an answer; "" and 0 for what is absent. */
const char *
field_str(const json_t *o, const char *key);
uint64_t
field_uint(const json_t *o, const char *key);
double
field_real(const json_t *o, const char *key);
bool
field_bool(const json_t *o, const char *key);
/* Milliseconds of a field as a duration. */
const char *
ms_text(char text[DURATION_TEXT_SIZE], const json_t *o, const char *key);
const char *
plural(uint64_t n);	/* "s", or "" for one */
const char *
plural_es(uint64_t n);	/* "es", or "" for one */

/* A list of numbers with ranges, "0-3 7"; "-" of none. (rows.c) */
#define RANGES_SIZE 120u
const char *
ranges_text(const json_t *list, char text[RANGES_SIZE]);

/*
 * rows.c. A row, or a member of it, may be an end: an object with "node" (or "name"), "guid" and
 * perhaps "port".
 */
#define ROW_ITSELF ""
/* By name as people read it (h2 before h10), GUID and port of an end. */
void
rows_sort(const json_t *rows, const char *end);

/* The names that several nodes of one table have: there the GUID is said too. */
struct names;

/* Of the ends `one` and `other` (NULL: only one) of each row; borrows them. */
struct names *
names_new(const json_t *rows, const char *one, const char *other);
bool
names_shared(const struct names *n, const char *name);
void
names_free(struct names *n);

void
print_status(const struct cli *c, const json_t *data);
void
print_wait(const struct cli *c, const json_t *data);
void
print_path(const struct cli *c, const json_t *data);
void
print_check(const struct cli *c, const json_t *data);
void
print_route(const struct cli *c, const json_t *data);
void
print_reroute(const struct cli *c, const json_t *data);
void
print_change(const struct cli *c, const json_t *data);
void
print_reload(const struct cli *c, const json_t *data);
void
print_engines(const struct cli *c, const json_t *data);
void
print_topology(const struct cli *c, const json_t *data);

/* print_lists.c */
void
print_nodes(const struct cli *c, const json_t *data);
void
print_switches(const struct cli *c, const json_t *data);
void
print_ports(const struct cli *c, const json_t *data);
void
print_multicast(const struct cli *c, const json_t *data);
void
print_qos(const struct cli *c, const json_t *data);
void
print_explain(const struct cli *c, const json_t *data);
void
print_adaptive(const struct cli *c, const json_t *data);
void
print_congestion(const struct cli *c, const json_t *data);
void
print_counters(const struct cli *c, const json_t *data);
void
print_plugin_test(const struct cli *c, const json_t *data);
void
print_rails(const struct cli *c, const json_t *data);
void
print_untold(const json_t *data);	/* that partitions keep the ends of a path apart */
void
print_services(const struct cli *c, const json_t *data);
void
print_plugins(const struct cli *c, const json_t *data);
void
print_plugin_reload(const struct cli *c, const json_t *data);
/* A line for each option of a plugin. */
void
print_plugin_options(const json_t *plugin);
void
print_health(const struct cli *c, const json_t *data);
void
print_subscriptions(const struct cli *c, const json_t *data);
void
print_links(const struct cli *c, const json_t *data);
void
print_routes(const struct cli *c, const json_t *data);
void
print_events(const struct cli *c, const json_t *data);

/* print_ha.c */
void
print_ha(const struct cli *c, const json_t *data);

/* print_partitions.c */
void
print_partitions(const struct cli *c, const json_t *data);
void
print_partition_change(const struct cli *c, const json_t *data);
void
print_partition_check(const struct cli *c, const json_t *data);
int
partition_verdict(const json_t *data);

/* print_tables.c */
void
print_tables(const json_t *data);

#endif
