/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PORT_UMAD_SELECT_H
#define PORT_UMAD_SELECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "sm/base/error.h"

/* Which local port to use: what the administrator asked for, against what sysfs shows. */

#define UMAD_NAME_SIZE 20		/* device name with its NUL, as in libibumad */
#define UMAD_CANDIDATES_MAX 128

struct umad_selector {
	char text[64];			/* as written */
	char name[UMAD_NAME_SIZE];	/* device; "" = any */
	unsigned number;		/* port number; 0 = any */
	uint64_t guid;			/* port GUID; 0 = any */
};

struct umad_candidate {
	char name[UMAD_NAME_SIZE];	/* device */
	unsigned number;		/* port number */
	uint64_t guid;			/* port GUID, host order */
	unsigned state;			/* logical state, 1 = down */
	unsigned phys_state;		/* physical state */
	bool ethernet;			/* link layer is Ethernet: not for us */
};

/* "auto", "mlx5_0:1", "mlx5_0" or a port GUID; ERR_INVALID names what was expected. */
int
umad_selector_parse(struct umad_selector *s, const char *text, struct error *e);
/* All ports of all devices, in the order of their names; how many. */
unsigned
umad_candidates(struct umad_candidate *c, unsigned max);
/* The index of the port to use, or whether all that are meant are down or none is there; `why` gets
 * one sentence for people either way. */
enum {
	UMAD_DOWN = -1,
	UMAD_ABSENT = -2,
};
int
umad_select(const struct umad_selector *s, const struct umad_candidate *c, unsigned len,
	    char *why, size_t size);

#endif
