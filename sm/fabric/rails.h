/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_RAILS_H
#define FABRIC_RAILS_H

#include <stdbool.h>
#include <stdint.h>
#include "sm/base/mem.h"
#include "sm/fabric/fabric.h"

/*
 * Rails: which device of each host sits on which leaf, by the cables of one snapshot or of several
 * (planes), and which cables are not where all others say that they should be.
 *
 * Hosts are known by names ("node17 mlx5_3": host, device), else by system image GUIDs. A unit is
 * what hosts that share leaves make up; in a unit the devices of one name are expected on one leaf,
 * that of two thirds of them at least. A fabric where nothing of the kind is regular has no rails
 * and no mistakes: what is expected is only what most of at least three say.
 */
#define RAILS_NONE UINT32_MAX

struct rails_nic {
	uint32_t host;		/* index into hosts[] */
	uint32_t device;	/* index into devices[] */
	uint32_t plane;		/* which snapshot */
	uint32_t port;		/* fabric port index there */
	uint32_t leaf;		/* index into leaves[]; RAILS_NONE: its cable leads to no switch */
	uint8_t leaf_port;	/* port number there */
};

struct rails_leaf {
	uint32_t plane;
	uint32_t sw;		/* switch index in its snapshot */
	uint32_t unit;		/* index, in order of their first leaves; RAILS_NONE: of none */
	uint32_t nics;		/* devices on it */
};

struct rails_host {
	const char *name;	/* or "0x..." of the system image */
	uint32_t first_nic;	/* its devices: nics[first_nic .. first_nic + nnics - 1] */
	uint32_t nnics;
	uint32_t unit;		/* RAILS_NONE: its devices sit here and there */
};

/* What is expected of the devices of one name in one unit. */
struct rails_rail {
	uint32_t unit;
	uint32_t device;
	uint32_t leaf;		/* index; RAILS_NONE: nothing that most agree on */
	uint32_t here;		/* devices on it */
	uint32_t all;		/* devices of this name in the unit */
};

enum rails_mistake {
	RAILS_WRONG_RAIL,	/* on the leaf of another device of its unit */
	RAILS_SWAPPED,		/* so are two of a host, each on the other's */
	RAILS_WRONG_UNIT,	/* on a leaf of another unit, or of none */
	RAILS_WRONG_PLANE,	/* on a leaf of another plane */
	RAILS_WRONG_PORT,	/* on the right leaf, on another port than its other devices */
	RAILS_MISSING,		/* the hosts of the unit have it, this one does not, or it is off */
	RAILS_MISTAKES
};

struct rails_finding {
	enum rails_mistake what;
	uint32_t host;
	uint32_t device;	/* index into devices[] */
	uint32_t nic;		/* RAILS_NONE for what is missing */
	uint32_t other;		/* RAILS_SWAPPED: the other one; else RAILS_NONE */
	uint32_t leaf;		/* where it is expected */
	uint8_t port;		/* likewise, on that leaf; 0: nobody can tell */
};

struct rails {
	struct region *region;		/* owns all but findings[] */
	struct rails_nic *nics;		/* by host, then device */
	struct rails_host *hosts;	/* in the order of names */
	struct rails_leaf *leaves;	/* by plane, then switch */
	const char **devices;		/* names, in their order, behind "" for all without */
	struct rails_rail *rails;	/* by unit, then device */
	struct rails_finding *findings;	/* by host, then device */
	uint32_t nnics, nhosts, nleaves, ndevices, nrails, nunits, nfindings;
	uint32_t unnamed;		/* devices known by GUID only */
	bool regular_ports;		/* hosts use one port number on all their leaves */
};

/* The snapshots are borrowed for this call only. Free with rails_free(). */
struct rails *
rails_find(const struct fabric *const *planes, uint32_t nplanes);
void
rails_free(struct rails *r);	/* NULL is allowed */
const char *
rails_mistake_name(enum rails_mistake m);	/* "wrong-rail" */

#endif
