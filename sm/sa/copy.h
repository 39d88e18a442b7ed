/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SA_COPY_H
#define SA_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "sm/wire/sa.h"

/*
 * What the subnet administrator of the master keeps, as a standby copies it (sm/core/copies.c):
 * groups and members, services, subscriptions and alias GUIDs become those of our own, in memory
 * and, to be committed by the caller, in the store, as if clients had left them here.
 *
 *	sa_copy_begin(sa);
 *	sa_copy_add(sa, kind, record);		(each record of each kind)
 *	while (sa_copy_end(sa, kind, work))	(each kind)
 *		;
 *
 * What differs is changed and nothing else, so that a copy of what is known already costs no write.
 * What was not added goes at the end; a copy that is broken off leaves what was there, and what was
 * added of it. No request may be answered between begin and end.
 */
struct sa;

enum sa_copied {
	SA_COPIED_MEMBERS,	/* MCMemberRecord, with PortGIDs: as whom we trust is told */
	SA_COPIED_SERVICES,	/* ServiceRecord, with ServiceKeys */
	SA_COPIED_INFORMS,	/* InformInfoRecord, with QPNs */
	SA_COPIED_GUIDS,	/* GUIDInfoRecord */
	SA_COPIED_KINDS,
};

/* What records of a kind are. */
const struct sa_type *
sa_copied_type(enum sa_copied kind);
void
sa_copy_begin(struct sa *sa);
/* The sa_copied_type()->size bytes of a record, which may be wrong in any way. False: it is, or
 * there is no room for it; it is left out. */
bool
sa_copy_add(struct sa *sa, enum sa_copied kind, const uint8_t *record);
/* A bit of the end: about so many items are looked at. False: it is done with. */
bool
sa_copy_end(struct sa *sa, enum sa_copied kind, uint32_t work);

#endif
