/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/sa/copy.h"

#include <string.h>
#include "sm/base/mem.h"
#include "sm/sa/alias.h"
#include "sm/sa/copy_i.h"

/*
 * From records to what is kept (copy.h). All that is in a copy bears its number; what bears an
 * older one when it ends is what the other administrator has no longer.
 */
struct sa_copy {
	struct sa_kept *kept;		/* borrowed */
	struct sa_groups *groups;	/* borrowed */
	uint32_t number;		/* of the present or last copy; 0: there was none */
	struct map ports;		/* LID -> place in `guids` */
	uint64_t *guids;		/* of ports whose first block of GUIDs was told */
	uint32_t len;			/* of `guids` */
	uint32_t size;			/* allocated */
	uint64_t at[SA_COPIED_KINDS];	/* how far the end has come */
};

const struct sa_type *
sa_copied_type(enum sa_copied kind)
{
	static const struct sa_type *const types[SA_COPIED_KINDS] = {
		[SA_COPIED_MEMBERS] = &sa_member_type, [SA_COPIED_SERVICES] = &sa_service_type,
		[SA_COPIED_INFORMS] = &sa_inform_type, [SA_COPIED_GUIDS] = &sa_guids_type,
	};

	return types[kind];
}

/* ---- Alias GUIDs ---- */

/* The first GUID of a port's first block is its own. */
static void
learn_port(struct sa_copy *c, const struct sa_guids *r)
{
	uint32_t at = map_get(&c->ports, r->lid);

	if (at == MAP_NONE) {
		if (c->len == c->size) {
			c->size = c->size ? 2 * c->size : 64;
			c->guids = mem_realloc(c->guids, c->size, sizeof(*c->guids));
		}
		at = c->len++;
		map_set(&c->ports, r->lid, at);
	}
	c->guids[at] = r->guids[0];
}

static bool
add_guids(struct sa_copy *c, const struct sa_guids *r)
{
	bool ok = true;
	uint32_t at;

	if (!r->block)
		learn_port(c, r);
	at = map_get(&c->ports, r->lid);
	for (unsigned i = 0; i < SA_GUID_BLOCK; i++) {
		unsigned index = r->block * SA_GUID_BLOCK + i;

		if (index && r->guids[i])
			ok = ok && at != MAP_NONE &&
				sa_aliases_copy(c->kept->aliases, c->guids[at], index, r->guids[i],
						c->number);
	}
	return ok;
}

/* ---- A copy ---- */

void
sa_copy_start(struct sa_copy *c)
{
	c->number++;
	map_clear(&c->ports);
	c->len = 0;
	memset(c->at, 0, sizeof(c->at));
}

bool
sa_copy_take(struct sa_copy *c, enum sa_copied kind, const uint8_t *record)
{
	union {
		struct sa_member member;
		struct sa_service service;
		struct sa_inform inform;
		struct sa_guids guids;
	} r;

	if (sa_decode(sa_copied_type(kind), &r, record, sa_copied_type(kind)->size))
		return false;
	switch (kind) {
	case SA_COPIED_MEMBERS:
		return sa_groups_copy(c->groups, &r.member, c->number);
	case SA_COPIED_SERVICES:
		return sa_services_copy(c->kept->services, &r.service, c->number);
	case SA_COPIED_INFORMS:
		return sa_informs_copy(c->kept->informs, &r.inform, c->number);
	default:
		return add_guids(c, &r.guids);
	}
}

bool
sa_copy_finish(struct sa_copy *c, enum sa_copied kind, uint32_t work)
{
	uint64_t *at = &c->at[kind];

	switch (kind) {
	case SA_COPIED_MEMBERS:
		return sa_groups_copied(c->groups, c->number, at, work);
	case SA_COPIED_SERVICES:
		return sa_services_copied(c->kept->services, c->number, at, work);
	case SA_COPIED_INFORMS:
		return sa_informs_copied(c->kept->informs, c->number, at, work);
	default:
		return sa_aliases_copied(c->kept->aliases, c->number, at, work);
	}
}

/* ---- Life ---- */

struct sa_copy *
sa_copy_new(struct sa_kept *kept, struct sa_groups *groups)
{
	struct sa_copy *c = mem_zalloc(sizeof(*c));

	c->kept = kept;
	c->groups = groups;
	return c;
}

void
sa_copy_free(struct sa_copy *c)
{
	map_free(&c->ports);
	mem_free(c->guids);
	mem_free(c);
}
