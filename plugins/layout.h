/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PLUGINS_LAYOUT_H
#define PLUGINS_LAYOUT_H

#include <stdint.h>

/*
 * What the daemon and weft-plugin-host share: memory with what a plugin is given (written by the
 * daemon, sealed) and with what it makes (written by the process, never trusted). Both begin with
 * one of the structs below, the rest is found by offsets from the beginning; 0: not there. Both
 * programs are of one version of Weft: this is no ABI.
 */
enum layout_fd {			/* descriptors of the process, besides 0, 1 and 2 */
	LAYOUT_CODE = 3,		/* the shared object */
	LAYOUT_INPUT,
	LAYOUT_OUTPUT,
	LAYOUT_CHANNEL,			/* a socket to the daemon, for consumers */
	LAYOUT_FDS			/* no others are open */
};

enum layout_mode {
	LAYOUT_DESCRIBE,
	LAYOUT_ROUTE,
	LAYOUT_EVENTS,
};

/* What the process is at, so that the daemon can say so if it ends there. */
enum layout_stage {
	LAYOUT_STARTS,
	LAYOUT_LOADS,
	LAYOUT_DESCRIBES,
	LAYOUT_ROUTES,
	LAYOUT_OPENS,
	LAYOUT_HANDLES,
	LAYOUT_CLOSES,
	LAYOUT_DONE,			/* the output is complete */
	LAYOUT_STAGES
};

#define LAYOUT_NOBODY UINT32_MAX	/* layout_input.uid: no other user */

struct layout_input {
	char version[32];		/* of Weft */
	uint64_t size;			/* of all of it */
	uint64_t memory;		/* bytes that the process may have beside these two */
	uint32_t mode;			/* enum layout_mode */
	uint32_t parent;		/* process id of the daemon */
	uint32_t uid, gid;		/* to become; LAYOUT_NOBODY: stay who it is */
	uint32_t time_ms;		/* for the call; 0: no limit */
	uint32_t threads;		/* that can run at once */
	uint32_t noptions;
	/* Texts of option names and values, one behind the other, name before value. */
	uint64_t options;
	/* Engines: numbers as in struct weft_fabric, arrays at offsets. */
	uint32_t nswitches, nlinks, nhosts, top_lid, row_len, ports, max_lanes, nroots;
	uint64_t switch_guid, switch_name, switch_nports, switch_rank, switch_fixed;
	uint64_t link_first, link_to, link_out, link_in, link_back, link_mbps;
	uint64_t lid_switch, lid_port, lid_offset, lid_class, lid_guid;
	uint64_t previous, root_guid;
};
/* switch_name is [nswitches] offsets of texts, switch_fixed [nswitches] offsets of rows. */

#define LAYOUT_TEXT 304			/* room of texts: 300 bytes, NUL */

struct layout_output {
	uint32_t stage;			/* enum layout_stage */
	uint32_t refused;		/* 1: the plugin refused, or was refused; `why` says why */
	char why[LAYOUT_TEXT];
	char note[LAYOUT_TEXT];
	uint64_t size;			/* of all of it; what the process writes here counts not */
	/* Descriptions. */
	struct layout_about {
		uint32_t abi, is_engine, flags, level, noptions, ntypes;
		uint64_t name, version, help, topologies;	/* offsets of texts */
		uint64_t types;		/* [ntypes] offsets of texts; 0: all */
		uint64_t options;	/* [noptions] struct layout_option */
	} about;
	/* Engines: scalars of struct weft_result; its arrays are at offsets of layout_result. */
	uint32_t has_rank, classes, lanes, has_sets, ntrees;
};

struct layout_option {
	uint32_t type, nwords;
	uint64_t min, max;
	uint64_t name, initial, help;	/* offsets of texts */
	uint64_t words;			/* [nwords] offsets of texts */
};

#define LAYOUT_DESCRIPTION (1u << 18)	/* bytes of output for a description */
#define LAYOUT_SETS 512u		/* sets of alternatives of a switch at most */
#define LAYOUT_TREES 64u		/* multicast trees at most */

/* Where the arrays of struct weft_result are, which follows from the fabric. */
struct layout_result {
	uint64_t lft, rank, path_class, lane, nsets, set, set_of, tree;	/* offsets */
	uint64_t size;			/* of the output */
};

void
layout_result(struct layout_result *r, uint32_t nswitches, uint32_t nlinks, uint32_t row_len,
	      uint32_t ports);

#endif
