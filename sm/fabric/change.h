/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_CHANGE_H
#define FABRIC_CHANGE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * What an administrator asks of the routing of a subnet, and what it did or would do: between the
 * commands and the core.
 */
enum change_kind {
	CHANGE_ROUTE,		/* route anew */
	CHANGE_FAIL,		/* foretell the loss of a node or cable; a dry run in any case */
	CHANGE_DRAIN,		/* keep traffic off a switch, or a cable between switches */
	CHANGE_UNDRAIN,		/* let it back */
};

#define CHANGE_ALL_PORTS (-1)

struct change {
	enum change_kind kind;
	bool dry_run;		/* nothing is programmed */
	const char *engine;	/* CHANGE_ROUTE: NULL: the configured chain */
	bool full;		/* CHANGE_ROUTE: sweep everything first, go on from nothing, and
				 * route for what is left (engine_options.full) */
	bool forget_lost;	/* CHANGE_ROUTE: cables that are lost are no part of the fabric */
	bool forget_levels;	/* CHANGE_ROUTE: no connection has a service level of before */
	bool apply_names;	/* CHANGE_ROUTE: names in rules of quality of service mean who has
				 * them now; the engine stays what it is */
	uint64_t guid;		/* others: node GUID */
	int port;		/* others: port number there, CHANGE_ALL_PORTS: the node */
};

struct change_report {
	char engine[32];	/* that routed */
	uint64_t entries;	/* forwarding table entries that differ */
	uint32_t blocks;	/* in so many blocks */
	uint32_t writes;	/* blocks that are written: entries that drop packets before they
				 * lead another way are written twice; of switches that route
				 * adaptively these are blocks of 16 entries, others have 64 */
	uint32_t group_writes;	/* blocks of groups of adaptive routing, likewise */
	uint32_t switches;	/* of so many switches */
	bool waits;		/* changed entries drop packets for the packet lifetime */
	uint32_t cables;	/* taken from the routing, by all drains or by the loss */
	uint32_t kept;		/* drained cables that are used, for nothing else leads there */
	bool measured;		/* the next two are known */
	uint32_t load_before;	/* worst load of a link by a shift permutation */
	uint32_t load_after;	/* the same with the new tables */
	uint64_t cut_off;	/* ordered pairs of host ports that lose each other */
};

/* The outcome: 0 or an error code, one sentence, and (NULL on an error) the report. */
typedef void (*change_done_fn)(void *arg, int error, const char *text,
			       const struct change_report *report);

#endif
