/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PARTITIONS_SELECTED_H
#define PARTITIONS_SELECTED_H

#include <stdbool.h>
#include <stdint.h>
#include "sm/base/error.h"
#include "sm/conf/config.h"
#include "sm/fabric/fabric.h"

/*
 * What selections (sm/conf/policy.h) mean: words for kinds of ports, and GUIDs. A GUID is that of a
 * port, of a node (all of its ports), or an alias GUID; nobody need have it yet.
 *
 * A name selects GUIDs at the moment when an administrator applies it, and these are kept (pins):
 * a NodeDescription is set by whoever is root on a host, who must not rename himself into a
 * partition. A name from the name map is the administrator's own and counts at any time.
 *
 * Exceptions are taken the other way round: whoever has the name at any time is excepted, and stays
 * so under another name until an administrator applies it.
 */
enum selected_kind {
	SELECTED_HOSTS = 1,
	SELECTED_SWITCHES = 2,
	SELECTED_ROUTERS = 4,
	SELECTED_SELF = 8,	/* the port of the subnet manager */
	SELECTED_ALL = 7,
};

struct selected {
	unsigned kinds;		/* enum selected_kind, together */
	uint32_t len;		/* GUIDs */
	uint64_t *guids;	/* in ascending order, none twice; owned, mem_free() */
};

/* GUIDs that names were found to mean, each by "OWNER/SELECTION"; those of exceptions by
 * "OWNER:SELECTION". No owner has one of these characters in its name. */
struct pins;

struct pins *
pins_new(void);
void
pins_free(struct pins *p);		/* NULL is allowed */
struct pins *
pins_copy(const struct pins *p);
/* GUIDs of a key, borrowed until the next change; NULL with *len 0: it is not pinned (an empty one
 * is pinned to nothing and not NULL). */
const uint64_t *
pins_get(const struct pins *p, const char *key, uint32_t *len);
/* The GUIDs are copied. */
void
pins_set(struct pins *p, const char *key, const uint64_t *guids, uint32_t len);
/* All of them, in no order. */
typedef void (*pins_fn)(void *arg, const char *key, const uint64_t *guids, uint32_t len);
void
pins_each(const struct pins *p, pins_fn fn, void *arg);
/* Begin to note which are asked for or set; forget those that were not since. */
void
pins_note(struct pins *p);
void
pins_forget_others(struct pins *p);

/* How names are taken. */
enum selected_names {
	NAMES_PINNED,		/* as pinned; pinned now where they never were */
	NAMES_APPLIED,		/* pinned anew to what has them now */
	NAMES_TRUSTED,		/* what has them now, and nothing is pinned */
};

struct selecting {
	const struct fabric *fabric;		/* whose names; NULL: none are known yet, and
						 * nothing is pinned */
	const struct config_partitions *groups;	/* of `group:NAME` */
	const char *owner;			/* first word of keys of pins: "tenant-a" */
	enum selected_names names;
	bool exceptions;			/* a list of those who are excepted */
	struct pins *pins;			/* NULL only with NAMES_TRUSTED */
	bool named;				/* out: they are others with other nodes or names */
	uint32_t others;			/* out: ports that have a name and are not pinned */
	char first[120];			/* out: one of them, for people; "" */
};

/*
 * *out gets what the list (NULL: nothing) means. 0; ERR_NOT_FOUND for a group that there is not;
 * ERR_FORMAT, ERR_INVALID for what is no selection, with a sentence. Time goes with nodes x
 * selections by name.
 */
int
selected_of(struct selecting *s, const char *const *texts, struct selected *out, struct error *e);
void
selected_free(struct selected *s);
bool
selected_has(const struct selected *s, uint64_t guid);
/* The port is meant: by its GUID, its node's, or its kind. */
bool
selected_port(const struct selected *s, const struct fabric *f, uint32_t port);

/* The kind of an end port, enum selected_kind; 0: it is no end port (an outer port of a switch). */
unsigned
selected_kind_of(const struct fabric *f, uint32_t port);

#endif
