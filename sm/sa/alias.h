/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SA_ALIAS_H
#define SA_ALIAS_H

#include "sm/sa/kept.h"

/*
 * Alias GUIDs: further GUIDs of an end port, by its own GUID and an index of 1 or more below its
 * GUIDCap (IBA 14.2.5.5 GUIDInfo). Each names one port of the subnet. What is set or freed is put
 * to the store, to be committed by the caller.
 */
#define SA_GUID_BLOCK 8		/* GUIDs of a GUIDInfo */
#define SA_GUIDS_MAX 256	/* of a port */

struct sa_aliases;

struct sa_aliases *
sa_aliases_new(const struct sa_env *env);
void
sa_aliases_free(struct sa_aliases *a);
/* A row of the store, "GUID INDEX" and "ALIAS" in hexadecimal; false: it cannot be read. */
bool
sa_aliases_load(struct sa_aliases *a, const char *name, const char *value);
/* The entry of a row that is gone, or comes anew. */
void
sa_aliases_forget(struct sa_aliases *a, const char *name);

/* The GUID of the port that this is an alias of; 0: it is none. */
uint64_t
sa_aliases_port(const struct sa_aliases *a, uint64_t alias);
/* Each alias and the GUID of its port, in no order. */
void
sa_aliases_each(const struct sa_aliases *a, void (*fn)(void *arg, uint64_t alias, uint64_t port),
		void *arg);
/* 0: none there. */
uint64_t
sa_aliases_at(const struct sa_aliases *a, uint64_t port, unsigned index);
/* Another one, or 0 for none. What is set must not be an alias of anybody. */
void
sa_aliases_put(struct sa_aliases *a, uint64_t port, unsigned index, uint64_t alias);
/* As sa_groups_copy() and sa_groups_copied(): what another administrator has there. An alias that
 * somebody else had is taken from him, and is in service. */
bool
sa_aliases_copy(struct sa_aliases *a, uint64_t port, unsigned index, uint64_t alias, uint32_t copy);
bool
sa_aliases_copied(struct sa_aliases *a, uint32_t copy, uint64_t *at, uint32_t work);
/* The GUID that is chosen where the asker chooses none: locally administered, the same again for
 * this port and index unless somebody else has it by then. */
uint64_t
sa_aliases_invent(const struct sa_aliases *a, const struct fabric *f, uint64_t port,
		  unsigned index);

/* The GID of an alias comes into service, or goes out of it. True: it was not so before, and is to
 * be told of (traps 64, 65). What was read from the store is in service: it was told of before. */
bool
sa_aliases_serve(struct sa_aliases *a, uint64_t port, unsigned index, bool in);

/* What the device is to hold there. False: no alias was ever in this block, or the device has let
 * go of all of them. */
bool
sa_aliases_block(const struct sa_aliases *a, uint64_t port, unsigned block,
		 uint64_t guids[SA_GUID_BLOCK]);
/* The device holds it: what was freed there need not be remembered any more. */
void
sa_aliases_written(struct sa_aliases *a, uint64_t port, unsigned block);

#endif
