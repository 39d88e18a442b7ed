/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_SUBNET_H
#define CORE_SUBNET_H

#include "partitions/change.h"
#include "sm/conf/config.h"
#include "sm/fabric/change.h"
#include "sm/fabric/event.h"
#include "sm/fabric/plan.h"
#include "sm/fabric/status.h"
#include "sm/port/port.h"
#include "sm/store/store.h"

/*
 * One subnet: its port, live model, published plan and stage. Everything live hangs here; a daemon
 * may hold several. All functions run on the loop's thread.
 */
struct consumers;
struct subnet;

/* What the owner lends; all borrowed, and outlive the subnet. */
struct subnet_env {
	struct loop *loop;
	struct store *store;
	struct event_ring *events;
	const struct consumers *consumers;	/* of events; may be NULL */
	const struct name_map *names;		/* may be NULL */
	unsigned threads;			/* for routing and proof; 0: one per core */
	/* Called whenever status changed in a way worth showing (stage, role, up). May be NULL. */
	void (*changed)(void *arg, struct subnet *s);
	void *arg;
};

/* Opens the transport; port_events are the subnet's. */
typedef struct port *(*subnet_open_fn)(void *arg, struct loop *l, const char *selector,
				       const struct port_events *events, struct error *e);

/*
 * Make a subnet and begin: open the port, discover, and so on by itself. `conf` is borrowed until
 * subnet_configure() replaces it. Persistent LIDs are read from the store here. NULL and a sentence
 * on error.
 */
struct subnet *
subnet_new(const struct subnet_env *env, const struct config_subnet *conf, subnet_open_fn open,
	   void *open_arg, struct error *e);
/* Ask nothing more. True when no answer is outstanding: the port can be closed with nothing on its
 * way. Call again until then, or until patience ends. */
bool
subnet_end(struct subnet *s);
/* Stops, closes the port (the fabric keeps forwarding) and frees. NULL is allowed. */
void
subnet_free(struct subnet *s);

/* Saved tables for engine `file` (see sm/text/lfts.h), NULL for none: for the next routing. */
struct lfts;
void
subnet_set_tables(struct subnet *s, struct lfts *tables);
/* Take on a changed configuration and name map from the stage that it touches. */
void
subnet_configure(struct subnet *s, const struct config_subnet *conf, const struct name_map *names,
		 enum config_stage stage);
/* What is said of partitions, for the next subnet_configure(), or the first sweep. */
void
subnet_set_policy(struct subnet *s, const struct config *conf);
/* Engines that others made (plugins/set.h), of the configuration that subnet_configure() hands over
 * next; a reference is taken. True: what the subnet routes by, or may, is another one now, and
 * STAGE_ROUTING is due. */
struct plugin_set;
bool
subnet_set_plugins(struct subnet *s, const struct plugin_set *set);
/* A heavy sweep now (SIGHUP). */
void
subnet_sweep(struct subnet *s);

/* See ctl.h: change of struct ctl_subnet. */
int
subnet_change(struct subnet *s, const struct change *c, change_done_fn done, void *arg,
	      struct error *e);
/* Change partitions; see ctl.h. done() comes once, unless an error is returned. */
int
subnet_partition(struct subnet *s, const struct partition_change *c, partition_done_fn done,
		 void *arg, struct error *e);
/* What the partitions of another configuration would do: lines into the report, and done() once, at
 * once perhaps. `conf` is borrowed until then, `report` till done() was called. */
void
subnet_rehearse(struct subnet *s, const struct config *conf, struct buf *report,
		void (*done)(void *arg), void *arg);
/* What is in force of partitions; the caller frees it. */
void
subnet_partitions(struct subnet *s, struct partition_view *v);
/* Takes a look at each device, for warnings: subnet_is_up() is its `up` alone. */
void
subnet_status(struct subnet *s, struct subnet_status *st);
bool
subnet_is_up(const struct subnet *s);
/* This subnet manager and the others. */
void
subnet_ha(struct subnet *s, struct ha_status *h);
/* The published plan with a reference for the caller, or NULL. */
const struct plan *
subnet_plan(struct subnet *s);

/* The first multicast group in slot `from` or a later one; false: there is none. */
bool
subnet_multicast(const struct subnet *s, unsigned from, struct multicast_row *row);

/* The first thing that is wrong with a port or device, from a row's `next` (or 0) on; false: there
 * is none. */
bool
subnet_health(const struct subnet *s, uint32_t from, struct health_row *row);

/* The first service, or subscription, from a row's `next` (or 0) on; false: there is none. */
bool
subnet_service(const struct subnet *s, uint64_t from, struct service_row *row);
bool
subnet_subscription(const struct subnet *s, uint64_t from, struct subscription_row *row);

/* Congestion control, and the first end port that was asked of it, from a row's `next` (or 0) on;
 * false: there is none. */
void
subnet_congestion(const struct subnet *s, struct congestion_view *v);
bool
subnet_congestion_row(const struct subnet *s, uint64_t from, struct congestion_row *row);

/* Reading of error counters, and the first port or device to tell of, likewise. */
void
subnet_counters(const struct subnet *s, struct counters_view *v);
bool
subnet_counters_row(const struct subnet *s, uint64_t from, struct counters_row *row);

/* Another master is in charge, and the configuration says to end then (`refuse_if_master`). */
bool
subnet_must_yield(const struct subnet *s);

/*
 * Whether bring-up has ended: 1 up and verified, 0 not yet, -1 it cannot come up as things are
 * (`why` gets one sentence: port down, another master, nothing proved, refused by devices).
 */
int
subnet_outcome(const struct subnet *s, struct error *why);

#endif
