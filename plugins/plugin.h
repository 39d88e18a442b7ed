/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEFT_PLUGIN_H
#define WEFT_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The plugin ABI of Weft: routing engines and event consumers that other people write. This file
 * is the whole contract. docs/plugins.md has a tutorial, samples come with Weft.
 *
 * A plugin is a shared object that exports one constant, `weft_plugin`. It never runs inside the
 * daemon: each run of an engine, and each consumer for as long as the daemon lives, is a process
 * of its own with an unprivileged user, without the daemon's descriptors, with limits of time and
 * memory from the configuration (`plugins:` in weft.yaml(5)). Whatever goes wrong in it costs that
 * run: the daemon says which plugin it was, what happened and what it was doing, and goes on with
 * the next engine. Tables that a plugin makes are proved like all others before they are used.
 *
 * ABI: the major number changes when a plugin must be changed; the minor one when something is
 * added, which is always at the end of a struct or of an enum. Each struct begins with its size: a
 * host with more fields than the plugin knows leaves those as they are, and a plugin that wants
 * to use a field of a later minor version looks at the size first:
 *
 *	if (fabric->size >= offsetof(struct weft_fabric, thing) + sizeof(fabric->thing))
 *
 * A host refuses a plugin of another major version, and one of a higher minor version.
 *
 * Threads: every function of a plugin is called by one thread, the same in the whole life of its
 * process. It may start threads, at most as many as host->threads are of use; they must not call
 * the host but for log(), and are ended with the process when the plugin's function returns.
 *
 * Memory: all that the host hands over is the host's, constant unless this file says otherwise,
 * and valid until the function that got it returns. Strings are UTF-8, end with a NUL, and are
 * never NULL unless this file says so. Strings and structs of the plugin must stay as they are
 * for as long as its process lives.
 */
#define WEFT_PLUGIN_MAJOR 1u
#define WEFT_PLUGIN_MINOR 0u
#define WEFT_PLUGIN_ABI (WEFT_PLUGIN_MAJOR << 16 | WEFT_PLUGIN_MINOR)

#define WEFT_NONE UINT32_MAX	/* no switch, no link */
#define WEFT_DROP 255u		/* an entry of a forwarding table: packets are dropped */

/* What functions of a plugin return. */
#define WEFT_OK 0
#define WEFT_REFUSED 1		/* this one does not suit; host->refuse() said why */

/*
 * What the host does for a plugin. Handed over in each call; the same throughout a process.
 */
enum weft_log_level {
	WEFT_LOG_ERROR,
	WEFT_LOG_WARNING,
	WEFT_LOG_NOTICE,
	WEFT_LOG_INFO,
	WEFT_LOG_DEBUG
};

struct weft_host {
	uint32_t size;			/* of this struct, as the host knows it */
	uint32_t abi;			/* WEFT_PLUGIN_ABI of the host */
	void *handle;			/* the host's own */
	uint32_t threads;		/* that can run at once */
	/* A line in the daemon's log, with the plugin's name before it. At most 300 bytes; many
	 * lines in a short time are left out, with their count. May be called by any thread. */
	void (*log)(const struct weft_host *host, enum weft_log_level level, const char *text);
	/* One sentence for people that says why the function is about to return WEFT_REFUSED: what
	 * is wrong, and with which node or link. At most 300 bytes. */
	void (*refuse)(const struct weft_host *host, const char *why);
	/* A remark on what was done, for `weft status`: "6x6x6 torus". At most 300 bytes. */
	void (*note)(const struct weft_host *host, const char *text);
	/* Values of the plugin's own options, by name, as the configuration has them or their
	 * initial values. A name that the plugin did not declare, or of another type: 0, "". */
	uint64_t (*number)(const struct weft_host *host, const char *option);
	int (*flag)(const struct weft_host *host, const char *option);
	const char *(*text)(const struct weft_host *host, const char *option);
	/* Milliseconds that are left for this call, before the process is ended. */
	uint64_t (*time_left)(const struct weft_host *host);
};

/*
 * Options: the plugin's own, set in the configuration under `plugins: - options:`. They are read
 * by the rules of that language, and wrong ones are refused with its messages.
 */
enum weft_option_type {
	WEFT_OPTION_NUMBER,		/* whole, from min to max */
	WEFT_OPTION_FLAG,		/* true or false */
	WEFT_OPTION_TEXT,		/* at most `max` bytes */
	WEFT_OPTION_WORD		/* one of `words` */
};

struct weft_option {
	uint32_t size;			/* sizeof(struct weft_option) */
	enum weft_option_type type;
	const char *name;		/* 1 to 31 of a-z, 0-9 and _ */
	const char *initial;		/* the value if it is not set, written as there */
	uint64_t min;			/* numbers */
	uint64_t max;			/* numbers, and bytes of texts */
	const char *const *words;	/* the last one is NULL; NULL for other types */
	const char *help;		/* full sentences */
};

/*
 * Engines: one function that makes forwarding tables of a fabric. Equal input must give equal
 * tables, whatever the number of threads, and nothing may be kept from one call to the next: each
 * is in a process of its own.
 *
 * The fabric, as flat arrays. Switches have numbers 0 to nswitches - 1, in the order of their
 * GUIDs. Cables between switches are links, two for each cable, one in each direction; those of a
 * switch stand together, in the order of their out ports: link_first[s] to link_first[s + 1] - 1.
 * Parallel cables are links of their own, and a cable from a switch to itself is two links. Only
 * cables that are up count. Everything else has LIDs: `lid_switch` and `lid_port` say where packets
 * to a LID leave the fabric.
 *
 * Arrays stay where they are during a call and cannot be written.
 */
struct weft_fabric {
	uint32_t size;			/* of this struct, as the host knows it */
	uint32_t nswitches;
	uint32_t nlinks;
	uint32_t nhosts;		/* channel adapters */
	uint32_t top_lid;		/* the highest LID in use, at most 49151; 0: none is */
	uint32_t row_len;		/* entries of a row of forwarding tables: a multiple of 64
					 * above top_lid */
	uint32_t ports;			/* above the highest port number of any switch */
	uint32_t max_lanes;		/* lanes for data that all links have, 1 to 15, or that the
					 * engine is allowed to use, if these are fewer */
	/* Switches. [nswitches] */
	const uint64_t *switch_guid;
	const char *const *switch_name;
	const uint8_t *switch_nports;	/* ports, without port 0 */
	/* Ranks, 0 on top, at most 250: distances from the roots that are configured or found,
	 * such that each part of the fabric has one top if equals are ordered by their numbers,
	 * lower ones on top. NULL: there is no such order. */
	const uint8_t *switch_rank;
	/* Rows of switches that do not answer and forward by what they hold. Whatever an engine
	 * says about them does not count; it must route so that this works. NULL for all others. */
	const uint8_t *const *switch_fixed;
	/* Links: those of switch s from link_first[s] on, [nswitches + 1]. The others: [nlinks] */
	const uint32_t *link_first;
	const uint32_t *link_to;	/* switch at the other end */
	const uint8_t *link_out;	/* port here */
	const uint8_t *link_in;		/* port there */
	const uint32_t *link_back;	/* the same cable in the other direction */
	const uint32_t *link_mbps;	/* data rate in Mb/s */
	/* LIDs. [top_lid + 1] */
	const uint32_t *lid_switch;	/* where it is; WEFT_NONE: not in use, or nowhere */
	const uint8_t *lid_port;	/* out port there; 0: it is the switch itself */
	const uint8_t *lid_offset;	/* above the base LID of its port (LMC) */
	const uint8_t *lid_class;	/* 0 compute, 1 storage, 2 other, as in routing.classes */
	const uint64_t *lid_guid;	/* of the port that has it */
	/* Tables that are programmed now, [nswitches][row_len], by these switches and LIDs: 255
	 * where nothing is known. NULL if there are none, or the engine does not ask for them
	 * (WEFT_ENGINE_PREVIOUS). */
	const uint8_t *previous;
	/* GUIDs of root switches from the configuration, [nroots]. */
	const uint64_t *root_guid;
	uint32_t nroots;
};

/*
 * What an engine makes, in arrays of the host, which it fills. Only `lft` is needed.
 */
#define WEFT_CLASSES 16u	/* path classes at most */
#define WEFT_SET_WORDS 4u	/* words of a set of ports: bit p % 64 of word p / 64 for port p */

struct weft_result {
	uint32_t size;			/* of this struct, as the host knows it */
	/*
	 * Forwarding tables, [nswitches][row_len]: the port that a switch sends packets to a LID
	 * out of, 0 for LIDs of the switch itself. All are WEFT_DROP when the engine begins.
	 */
	uint8_t *lft;
	/*
	 * Ranks, [nswitches]: 0 on top. By them multicast trees and groups for adaptive routing
	 * are made, if they are not given below. Used if has_rank is set to 1.
	 */
	uint8_t *rank;
	uint32_t has_rank;
	/*
	 * Path classes and lanes, for engines that need several to be free of deadlock. Packets
	 * between hosts at switches a and b are of class path_class[a * nswitches + b], the same
	 * in both directions, below `classes`. A packet of class c that came in by port i (0: it
	 * starts here) and leaves by link l does so on lane
	 * lane[(l * classes + c) * fabric->ports + i], below `lanes`. Both counts are 1 at first
	 * and the arrays all 0; with `lanes` 1 they do not count. Set `classes` before filling
	 * `lane`.
	 */
	uint32_t classes;		/* 1 to WEFT_CLASSES */
	uint32_t lanes;			/* 1 to fabric->max_lanes */
	uint8_t *path_class;		/* [nswitches][nswitches] */
	uint8_t *lane;			/* [nlinks][classes][ports] */
	/*
	 * Alternatives for adaptive routing, where switches have that. Switch s has nsets[s] sets
	 * of ports, numbered from 1: set[(s * sets_max + n - 1) * WEFT_SET_WORDS]. Packets at
	 * switch s to LIDs at switch h may take any port of set number
	 * set_of[s * nswitches + h]; 0: only that of the table. What would close a credit loop is
	 * left out. All are 0 at first. Used if has_sets is set to 1; otherwise Weft finds
	 * alternatives by ranks, or takes parallel cables.
	 */
	uint32_t has_sets;
	uint32_t sets_max;		/* sets that a switch can have */
	uint16_t *nsets;		/* [nswitches] */
	uint64_t *set;			/* [nswitches][sets_max][WEFT_SET_WORDS] */
	uint16_t *set_of;		/* [nswitches][nswitches] */
	/*
	 * Multicast: trees whose parts all groups' trees are. For tree t, tree[t * nswitches + s]
	 * is the link by which switch s hangs on the switch above it; WEFT_NONE at a root, and for
	 * switches that are in no tree, as all are at first. Groups are spread over the trees. Set
	 * `ntrees`; 0: Weft makes trees itself.
	 */
	uint32_t ntrees;
	uint32_t trees_max;		/* trees that there can be */
	uint32_t *tree;			/* [trees_max][nswitches] */
};

#define WEFT_ENGINE_PREVIOUS 1u		/* wants weft_fabric.previous */
#define WEFT_ENGINE_DEADLOCK_FREE 2u	/* claims to be; the proof looks anyway */

struct weft_engine {
	uint32_t size;			/* sizeof(struct weft_engine) */
	uint32_t flags;			/* WEFT_ENGINE_* */
	const char *topologies;		/* what it is for: "any", "fat trees" */
	/* WEFT_OK, or WEFT_REFUSED if the fabric is not what the engine is made for. */
	int (*route)(const struct weft_host *host, const struct weft_fabric *fabric,
		     struct weft_result *result);
};

/*
 * Consumers of events: what `weft show events` shows, as it happens. The order is that of their
 * numbers. One that takes too long does not hold up anybody: what does not fit into its queue (at
 * least 100 events) is left out, and it is told how many were.
 */
struct weft_event {
	uint32_t size;			/* of this struct, as the host knows it */
	uint32_t level;			/* enum weft_log_level */
	uint64_t sequence;		/* 1, 2, 3 ... over the life of the state file */
	int64_t time_us;		/* microseconds since 1970 */
	const char *type;		/* "link-down"; weft(1) lists them */
	const char *subnet;		/* "" for the daemon itself */
	const char *text;		/* one sentence for people */
	const char *json;		/* all of it, as an object in one line */
	uint64_t guid;			/* the node or port that it is about; 0 */
	uint64_t peer_guid;		/* of a cable: the node at its other end; 0 */
	uint16_t lid;			/* 0 if none */
	uint8_t port;			/* port number; 0 if none */
	uint8_t peer_port;		/* at the other end; 0 */
	uint32_t nfigures;
	const char *const *figure_name;	/* [nfigures] "took_us", "blocks" */
	const uint64_t *figure;		/* [nfigures] */
};

struct weft_consumer {
	uint32_t size;			/* sizeof(struct weft_consumer) */
	uint32_t level;			/* the least grave that it wants, enum weft_log_level */
	const char *const *types;	/* those that it wants, the last one NULL; NULL: all */
	/* Before the first event. *state is handed to the others. WEFT_REFUSED: the process ends,
	 * and is tried again later. May be NULL. */
	int (*open)(const struct weft_host *host, void **state);
	/* What it returns other than WEFT_OK is a failure: the process ends, and is started again
	 * after a while. */
	int (*event)(const struct weft_host *host, void *state, const struct weft_event *event);
	/* So many events were left out before the next one. If it fails in that it is not told
	 * of these again. May be NULL. */
	int (*lost)(const struct weft_host *host, void *state, uint64_t count);
	/* After the last one, when the daemon ends or loads the plugin anew: it has a second.
	 * May be NULL. */
	void (*close)(const struct weft_host *host, void *state);
};

/*
 * What a plugin is: an engine, or a consumer. Its shared object exports one:
 *
 *	WEFT_PLUGIN_EXPORT const struct weft_plugin weft_plugin = { ... };
 */
struct weft_plugin {
	uint32_t abi;			/* WEFT_PLUGIN_ABI */
	uint32_t size;			/* sizeof(struct weft_plugin) */
	const char *name;		/* as in the configuration: 1 to 31 of a-z, 0-9, _ and -,
					 * not starting with - */
	const char *version;		/* for people */
	const char *help;		/* one line: what it does */
	const struct weft_option *options;	/* [noptions], NULL without */
	uint32_t noptions;		/* at most 64 */
	const struct weft_engine *engine;	/* one of the two is NULL */
	const struct weft_consumer *consumer;
};

#ifdef __cplusplus
#define WEFT_PLUGIN_EXPORT extern "C" __attribute__((visibility("default")))
#else
#define WEFT_PLUGIN_EXPORT __attribute__((visibility("default")))
#endif

extern __attribute__((visibility("default"))) const struct weft_plugin weft_plugin;

#ifdef __cplusplus
}
#endif

#endif
