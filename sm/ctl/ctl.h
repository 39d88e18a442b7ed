/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CTL_CTL_H
#define CTL_CTL_H

#include <stdbool.h>
#include "partitions/change.h"
#include "sm/base/buf.h"
#include "sm/base/error.h"
#include "sm/base/loop.h"
#include "sm/fabric/adaptive_view.h"
#include "sm/fabric/change.h"
#include "sm/fabric/event.h"
#include "sm/fabric/plan.h"
#include "sm/fabric/plugin_view.h"
#include "sm/fabric/status.h"

/*
 * The control socket: framing of sm/base/frame.h, one command table, permission by file mode and
 * peer credentials. It reads published plans (holding a reference while an answer is written) and
 * acts only through the functions that main.c lends it: it includes nothing of sm/core.
 */

/* One subnet as the commands see it; main.c fills one for each struct subnet. */
struct ctl_subnet {
	const char *name;
	void *subnet;			/* handed to the functions below */
	void (*status)(void *subnet, struct subnet_status *st);
	/* This subnet manager and the others. */
	void (*ha)(void *subnet, struct ha_status *h);
	/* Its `up` at little cost: for the rest each device is looked at. */
	bool (*up)(void *subnet);
	/* The published plan, or NULL before the first one; the caller gets a reference. */
	const struct plan *(*plan)(void *subnet);
	/*
	 * Route (and program, unless it is a dry run) now, with what the change asks for; *c is
	 * copied. done() comes once. Returns 0, or an error with a sentence at once (done is not
	 * called then): ERR_BUSY, ERR_REFUSED, ERR_NOT_FOUND.
	 */
	int (*change)(void *subnet, const struct change *c, change_done_fn done, void *arg,
		      struct error *e);
	/*
	 * Change partitions; *c is copied. done() comes once, when devices and the state file have
	 * it, unless an error is returned: ERR_BUSY, ERR_REFUSED, ERR_NOT_FOUND, ERR_EXISTS,
	 * ERR_FULL, ERR_INVALID.
	 */
	int (*partition)(void *subnet, const struct partition_change *c, partition_done_fn done,
			 void *arg, struct error *e);
	/* What is in force of them; the caller frees the view. */
	void (*partitions)(void *subnet, struct partition_view *v);
	/* The first multicast group in slot `from` or a later one; false: there is none. */
	bool (*multicast)(void *subnet, unsigned from, struct multicast_row *row);
	/* The first thing that is wrong, from a row's `next` or 0 on; false: there is none. */
	bool (*health)(void *subnet, uint32_t from, struct health_row *row);
	/* The next that a client left, from a row's `next` or 0 on; false: there is none. */
	bool (*service)(void *subnet, uint64_t from, struct service_row *row);
	bool (*subscription)(void *subnet, uint64_t from, struct subscription_row *row);
	/* Congestion control, and the next end port that was asked of it, likewise. */
	void (*congestion)(void *subnet, struct congestion_view *v);
	bool (*congestion_row)(void *subnet, uint64_t from, struct congestion_row *row);
	/* Adaptive routing, and the next switch, likewise. */
	void (*adaptive)(void *subnet, struct adaptive_view *v);
	bool (*adaptive_row)(void *subnet, uint64_t from, struct adaptive_row *row);
	/* Reading of error counters, and the next port to tell of, likewise. */
	void (*counters)(void *subnet, struct counters_view *v);
	bool (*counters_row)(void *subnet, uint64_t from, struct counters_row *row);
};

/* The outcome of a reload: 0 and a line for each change (NULL: none); or an error, a sentence. */
typedef void (*ctl_reload_fn)(void *arg, int error, const char *text, const char *report);

struct ctl_reload {
	bool dry_run;			/* only say what differs */
	bool plugins;			/* only their files, by the configuration in force: */
	const char *plugin;		/* that of one; NULL: all */
};

struct ctl_host {
	struct ctl_subnet *subnets;
	unsigned nsubnets;
	struct event_ring *events;
	/*
	 * Re-read the configuration as a transaction. done() comes once, when it is in force,
	 * unless an error is returned: ERR_BUSY, ERR_REFUSED.
	 */
	int (*reload)(void *arg, const struct ctl_reload *what, ctl_reload_fn done,
		      void *done_arg, struct error *e);
	/* Plugin number `i`, and option `n` of it; false: there are fewer. NULL, both: none. */
	bool (*plugin)(void *arg, unsigned i, struct plugin_row *row);
	bool (*plugin_option)(void *arg, unsigned i, unsigned n, struct plugin_option_row *row);
	void *arg;
};

struct ctl;

/*
 * Listen on `path` (mode 0660 and group `group` if given, else 0600; the directory is made if its
 * parent exists). A dead socket file is replaced, a live one is ERR_EXISTS. `host` is borrowed.
 * `path` NULL: no socket, for ctl_feed() on a virtual loop.
 */
struct ctl *
ctl_new(struct loop *l, const char *path, const char *group, const struct ctl_host *host,
	struct error *e);
void
ctl_free(struct ctl *c);	/* closes connections, removes the socket file; NULL is allowed */

/* For fuzzing: feed one request line as if a client with full rights had sent it; the answer, if it
 * comes at once, goes to `out`. */
void
ctl_feed(struct ctl *c, const char *line, size_t len, struct buf *out);

#endif
