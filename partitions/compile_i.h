/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PARTITIONS_COMPILE_I_H
#define PARTITIONS_COMPILE_I_H

#include "partitions/compile.h"
#include "sm/base/map.h"

/* Between compile.c (all ports), recompile.c (those that a change touches) and layout.c (a port's
 * keys, put in their places). */

#define KEYS 0x10000u		/* P_Keys with their membership bit */

/* A key that a port is to have. */
struct grant {
	uint32_t port;		/* fabric port index */
	uint16_t key;		/* with the membership bit */
	bool index0;		/* it belongs there */
};

/* All that a port is to have. */
struct port_grants {
	const struct grant *list;	/* by number; limited before full */
	uint32_t len;
	uint8_t enforce;		/* enum pkeys_enforce: what its partitions but the default
					 * one want, */
	uint8_t default_enforce;	/* and what that wants */
};

/* A section that is being made. */
struct layout {
	const struct fabric *f;		/* its snapshot */
	struct plan_pkeys *out;		/* what there is of it */
	struct pkeys_report *report;	/* likewise */
	uint32_t at[KEYS];		/* by key: place + 1 in the table that is being made */
	uint32_t stamp[KEYS];		/* by key: for which port at[] is true */
	uint16_t keys[KEYS];		/* the table that is being made */
	struct map tables;		/* hash -> newest table of it */
	uint32_t *next;			/* by table: another of the same hash; MAP_NONE */
	uint32_t tables_size;		/* tables that there is room for */
	uint32_t keys_size;		/* keys likewise */
};

/* The section is the caller's: its own reference. It begins with no table for any port, or as a
 * copy of `base`, which has as many ports. `report` is emptied. */
struct layout *
layout_new(const struct fabric *f, const struct plan_pkeys *base, struct pkeys_report *report);
/* Leaves the section. */
void
layout_free(struct layout *l);
/* The table of an end port that holds this now. */
void
layout_port(struct layout *l, uint32_t port, const struct port_grants *g, struct pkeys_held held);
/* The port of a switch leads to a port of another kind, whose keys these are; layout_port() comes
 * before. */
void
layout_enforced(struct layout *l, uint32_t port, const struct port_grants *g);
bool
layout_is_enforced(const struct fabric *f, uint32_t port);
/* What is enforced for a port with these, if the switch can. */
uint8_t
layout_wanted(const struct port_grants *g);
/* What a port has by a section that it holds. */
struct pkeys_held
layout_held(const struct plan_pkeys *p, uint32_t port);
/* Tables that no port has any more go. */
void
layout_compact(struct layout *l);

/* compile.c */
/* What a membership (enum config_membership, -1: none) comes to: how many grants, two at most. Of
 * the default partition nobody is without one. */
unsigned
grants_of(const struct fabric *f, const struct partition *p, uint32_t port, int membership,
	  bool index0, struct grant out[2]);
uint8_t
grants_enforce(const struct partition *p);
/* The place of a kind (one bit of enum selected_kind) in partition.kind[]; -1. */
int
kind_index(unsigned kind);

/* recompile.c */
/* NULL: the change is too large, or not known. */
struct plan_pkeys *
pkeys_recompile(const struct pkeys_input *in, struct pkeys_report *report);

#endif
