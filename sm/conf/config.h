/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONF_CONFIG_H
#define CONF_CONFIG_H

#include <stdbool.h>
#include <stdio.h>
#include <stdint.h>
#include "sm/base/buf.h"
#include "sm/base/clock.h"
#include "sm/base/error.h"
#include "sm/base/log.h"
#include "sm/conf/policy.h"

/*
 * The typed configuration. One region owns all of it; immutable once loaded. Every option is one
 * row of the schema (conf/schema*.c): name, type, range, default, help, and the stage that a change
 * invalidates; parser, printer, manual and reload read that row.
 */

/* The first stage that must run again when an option changes; the larger, the less work. */
enum config_stage {
	STAGE_RESTART,		/* only a restart of the daemon takes it on */
	STAGE_DISCOVER,
	STAGE_LIDS,
	STAGE_ROUTING,
	STAGE_PARTITIONS,	/* P_Keys of ports, and what follows from them */
	STAGE_PUSH,
	STAGE_LIVE,		/* read where it is used: nothing to run again */
	STAGE_NONE,		/* nothing changed */
};

enum config_fallback {
	FALLBACK_WARN,		/* try the next engine, say so */
	FALLBACK_REFUSE,	/* keep the old tables */
};

/* What is done about a port or device with which something is wrong. */
enum config_action {
	ACTION_IGNORE,
	ACTION_REPORT,		/* an event and a warning */
	ACTION_DRAIN,		/* and traffic is kept off until it is well */
	ACTION_ISOLATE,		/* until an administrator says so */
	ACTION_DISABLE,		/* and the port is switched off, until then */
};

/* Whether switches spread packets over several ports. */
enum config_adaptive {
	CONFIG_ADAPTIVE_OFF,
	CONFIG_ADAPTIVE_ON,	/* where they can */
	CONFIG_ADAPTIVE_AUTO,	/* levels of service that say so; else they only replace ports
				 * that are dead */
};

/* What of hosts is asked: which service levels they take in any order. */
enum config_adaptive_hosts {
	CONFIG_HOSTS_IGNORE,
	CONFIG_HOSTS_READ,
	CONFIG_HOSTS_WRITE,	/* and set */
};

enum config_spread {
	CONFIG_SPREAD_FREE,	/* packet by packet */
	CONFIG_SPREAD_BOUNDED,	/* the port is kept for a burst */
	CONFIG_SPREAD_HASH,	/* it follows from the packet's header */
};

/* `routing.adaptive_devices`: of kinds of switches. */
enum config_ar_sub_groups {
	CONFIG_AR_ZERO_BASED,
	CONFIG_AR_COUNT,
};
#define CONFIG_AR_UNKNOWN 255u		/* in place of a position */
struct config_ar_device {
	unsigned vendor;		/* NodeInfo.VendorID */
	struct config_range *devices;	/* NodeInfo.DeviceID */
	unsigned ndevices;		/* 0: all */
	enum config_ar_sub_groups sub_groups;
	unsigned hbf_global_bit;
};

/* What a manager does with the tables that it finds when it becomes master. */
enum config_takeover {
	TAKEOVER_KEEP,		/* they stay, if they can be proved */
	TAKEOVER_CONVERGE,	/* they become those of its engines */
};

/* Where something stands in the file; line 0: nowhere. */
struct config_place {
	unsigned line;
	unsigned column;
};

/* A value that only a plugin knows what to do with. */
struct config_pair {
	const char *name;
	const char *text;		/* as it stands there, without quotes */
	struct config_place name_at, text_at;
};

/* `plugins`: shared objects of others. */
struct config_plugin {
	const char *name;		/* its own; as a subnet's, and of no engine built in */
	const char *file;		/* in plugin_folder; NULL: NAME.so */
	monotime time;			/* of a run, or an event */
	unsigned memory;		/* MiB */
	const char *user;		/* whom its processes are */
	struct config_pair *options;	/* its own */
	unsigned noptions;
	/* What a consumer is told of, of what it wants. */
	const char **events;		/* types, NULL-terminated; NULL: all */
	enum log_level level;		/* the least grave */
	const char **subnets;		/* names, likewise; NULL: all */
	struct config_place at;		/* of its name */
	struct config_place routes;	/* where a subnet's engines name it first */
};

struct config_subnet {
	const char *name;		/* "default"; [a-z0-9_-]{1,31} */
	const char *port;		/* "auto", "mlx5_0:1", GUID */
	uint64_t prefix;		/* GID prefix */
	unsigned priority;		/* 0..15 */
	bool accept_handover;		/* standby: also of a master of no lower priority */
	const uint64_t *allowed_sm_guids;	/* managers that may lead; none: all */
	unsigned nallowed_sm_guids;
	uint64_t m_key;			/* 0 none */
	uint64_t sm_key;		/* SMInfo key; 1 as OpenSM's default */
	unsigned m_key_lease;		/* seconds, 0 = never expires */
	unsigned m_key_protect;		/* 0..3 */
	unsigned lmc;			/* 0..7 */
	monotime sweep_interval;	/* 0 = no light sweeps */
	monotime standby_poll;		/* standby: interval of Get(SMInfo) */
	unsigned standby_retries;	/* failed polls before taking over */
	monotime standby_copy;		/* standby: from one copy of what clients left with the
					 * master to the next; 0 = none */
	struct {
		const char **engines;	/* NULL-terminated */
		enum config_fallback fallback;
		enum config_adaptive adaptive;
		/* Node selections, NULL-terminated: switches that are, unless the second
		 * has them, too; no first ones: all. */
		const char **adaptive_switches;
		const char **adaptive_except;
		unsigned *adaptive_sls;		/* service levels that may be spread */
		unsigned nadaptive_sls;		/* 0: all */
		const char **adaptive_transports;	/* "rc" ... */
		enum config_spread adaptive_mode;
		monotime adaptive_ageing;	/* idle gap that ends a burst */
		bool adaptive_recovery;		/* dead ports are replaced by the switch */
		enum config_adaptive_hosts adaptive_hosts;
		bool adaptive_nonminimal;	/* groups have longer ways in a second part */
		struct config_ar_device *ar_devices;	/* the first that fits counts */
		unsigned nar_devices;
		unsigned adaptive_errors;	/* so many are forgiven */
		monotime adaptive_error_window;	/* in this time; 0: any */
		uint64_t *roots;	/* GUIDs */
		unsigned nroots;
		struct {
			/* Node selections, NULL-terminated; see selection_new(). */
			const char **storage;
			const char **other;
		} classes;
		unsigned lanes;		/* of engines for any fabric, 1..15 */
		const char *file;	/* saved tables for engine `file`; NULL none */
	} routing;
	unsigned max_op_vls;		/* lanes: 1, 2, 4, 8, 15; default 8 */
	unsigned max_smps;		/* total window, 1..256 */
	unsigned max_smps_per_device;	/* 1..64 */
	monotime timeout;		/* of one try */
	unsigned retries;		/* further tries */
	bool read_tables;		/* in the background, or only when somebody asks */
	unsigned packet_life_time;	/* SwitchInfo.LifeTimeValue, 0..31; default 18 */
	unsigned subnet_timeout;	/* 0..31; 18 */
	unsigned max_rate;		/* 0: any; else the highest rate code told, less 1 */
	unsigned sa_rate;		/* requests of one port a second; 0: any; 20000 */
	unsigned hoq_life;		/* PortInfo.HOQLife between switches, 0..31; 18 */
	unsigned leaf_hoq_life;		/* towards CAs; 16 */
	unsigned vl_stall_count;	/* 0..7; 7 */
	unsigned leaf_vl_stall_count;
	unsigned local_phy_errors;	/* threshold 0..15; 8 */
	unsigned overrun_errors;	/* threshold 0..15; 8 */
	unsigned sm_sl;			/* 0..15; MasterSMSL */
	struct {
		bool share_mlids;	/* when there are no more */
		bool share_solicited;	/* IPv6: solicited nodes always; default false */
		monotime forget_after;	/* members whose ports are gone; 0: at once */
	} multicast;
	bool client_reregister;		/* ask clients to register again when it is needed */
	struct {
		enum config_action flapping;
		unsigned flaps;			/* so many times, 2..16, */
		monotime flap_window;		/* in this time */
		enum config_action unresponsive;
		monotime unresponsive_after;	/* for so long */
		enum config_action babbling;
		enum config_action refusing;
		enum config_action slow;
		enum config_action errors;
		monotime counters_interval;	/* of reading error counters; 0: never */
		bool clear_counters;		/* those that are about to stop */
		unsigned per_minute[12];	/* errors allowed, by enum perf_error; 0: any */
		monotime release_after;		/* well for so long */
	} health;
	enum config_takeover takeover;
	bool refuse_if_master;		/* exit when another master is in charge; default false */
};

struct config {
	struct region *region;		/* owns everything below */
	uint32_t refs;			/* atomic */
	const char *file;		/* path it came from, NULL for built-in defaults */
	const char *state;		/* path of the state file, ":memory:" for none */
	struct {
		const char **endpoints;	/* URLs, ends with NULL; NULL: there is none */
		const char *prefix;	/* of keys */
		const char *ca;		/* file; NULL: those of the system */
		const char *cert;	/* file of our own certificate, NULL none, */
		const char *key;	/* and of its key */
		const char *user;	/* NULL: nobody */
		const char *password_file;	/* of the user */
		monotime timeout;	/* of a request */
	} etcd;
	struct {
		const char *socket;	/* path */
		const char *group;	/* may connect; NULL: only root and the daemon's user */
	} control;
	struct {
		enum log_level level;
		const char *to;		/* "journal", "stderr", a path */
	} log;
	struct {
		unsigned keep;		/* at most, in memory and in the state file */
		unsigned days;		/* in the state file no longer; 0: any time */
	} events;
	const char *names;		/* node-name map, NULL none */
	const char *plugin_folder;	/* path */
	struct config_plugin *plugins;
	unsigned nplugins;
	unsigned threads;		/* for routing and proof; 0: one per core */
	struct config_subnet *subnets;
	unsigned nsubnets;		/* >= 1 */
	struct config_partitions partitions;	/* of all subnets; none: as `len` 0 */
	struct config_qos qos;		/* likewise */
};

/*
 * Load a file. On error returns NULL and `e` holds "FILE:LINE:COLUMN: what was expected; did you
 * mean X?". `config_load(NULL)` gives the defaults: one subnet on the first InfiniBand port.
 */
struct config *
config_load(const char *path, struct error *e);
/* The same from memory (`name` stands for the file in messages); for tests and fuzzing. */
struct config *
config_parse(const char *text, size_t len, const char *name, struct error *e);
/* Workers hold on to one that a reload has replaced. */
const struct config *
config_ref(const struct config *c);	/* NULL is allowed */
/* The end of one reference. */
void
config_free(const struct config *c);	/* NULL is allowed */

/* The smallest (earliest) stage among the options that differ; for each difference fn (may be
 * NULL) gets "subnets[0].lmc" and old and new value as text. Keys are shown as "(hidden)". Entries
 * of other lists are one difference each, "partitions[tenant-a]", with what differs in them, cut
 * where it is long; "absent" is the other side of one that came or went. */
typedef void (*config_diff_fn)(void *arg, const char *option, const char *old_value,
			       const char *new_value, enum config_stage stage);
enum config_stage
config_diff(const struct config *old, const struct config *new, config_diff_fn fn, void *arg);

/* Put back into `fresh` (not yet in use) the values of `old` that only a restart takes on, so that
 * the rest can be taken on now. Both have the same subnets by name and order. */
void
config_keep(struct config *fresh, const struct config *old);

/* All options as YAML that reads back to the same configuration; m_key, sm_key and the key of
 * congestion control are written as they are: mind who sees it. */
void
config_print(const struct config *c, struct buf *out);
/* The same without what has its initial value, for people: long lists have several lines. */
void
config_print_changed(const struct config *c, struct buf *out);
/* The reference: every option with type, range, default, help, stage, as mdoc list items. */
void
config_manual(FILE *out);

/*
 * The own options of a plugin, as it declares them. What the configuration says of them is checked
 * by the rules of its language. (plugins.c)
 */
enum config_kind {
	CONFIG_KIND_NUMBER,		/* from min to max */
	CONFIG_KIND_FLAG,		/* true or false */
	CONFIG_KIND_TEXT,		/* at most `max` bytes */
	CONFIG_KIND_WORD,		/* one of `words` */
};

struct config_declared {
	const char *name;
	enum config_kind kind;
	uint64_t min, max;
	const char *const *words;	/* NULL-terminated */
};

/*
 * values[i] becomes the value of declared[i]: a decimal number, true or false, the text or word;
 * NULL if none is set. 0, or a code and "FILE:LINE:COLUMN: ...", and values[] is undefined. They
 * live in `r`.
 */
int
config_plugin_values(const struct config *c, const struct config_plugin *p,
		     const struct config_declared *declared, unsigned len, struct region *r,
		     const char **values, struct error *e);
/* An error that stands at a place of the file: "FILE:LINE:COLUMN: ...". */
int
config_wrong(const struct config *c, struct config_place at, struct error *e, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Node-name map: lines `0xGUID "name"`, '#' comments (OpenSM's node-name-map form). */
struct name_map;

struct name_map *
name_map_load(const char *path, struct error *e);
/* The same from memory; for tests and fuzzing. */
struct name_map *
name_map_parse(const char *text, size_t len, const char *name, struct error *e);
const char *
name_map_get(const struct name_map *m, uint64_t guid);	/* NULL if absent, or m is NULL */
void
name_map_free(struct name_map *m);

/* Node selection: a name, a GUID, or /regular expression/ (PCRE2 with match limits). */
struct selection;

struct selection *
selection_new(const char *text, struct error *e);
bool
selection_match(const struct selection *s, const char *name, uint64_t guid);
void
selection_free(struct selection *s);

#endif
