/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SA_ASK_H
#define SA_ASK_H

#include "sm/base/buf.h"
#include "sm/sa/group.h"
#include "sm/sa/kept.h"
#include "sm/sa/sa.h"

struct sa_absent;

/*
 * One question about records while it is answered: what is asked for, and the answer as it grows.
 * Each kind of record offers those that may fit (sa_offer()), which are compared and taken here.
 */
struct sa_ask {
	const struct sa_env *env;	/* what the owner lends */
	const struct plan *plan;	/* published */
	const struct fabric *f;		/* its snapshot */
	const struct sa_type *type;	/* of the record */
	const void *want;		/* the record asked for, struct of the type */
	const struct port_mad *in;	/* the request */
	struct sa_header h;		/* its header */
	struct sa_kept *kept;		/* what clients left */
	struct sa_groups *groups;	/* multicast groups */
	struct sa_query query;		/* `want` under the mask, without the kind's own */
	struct buf out;			/* header and records of the answer */
	uint32_t hits;			/* records in it */
	uint64_t at;			/* where tell() goes on, in its own count; 0 at first */
	const size_t *held;		/* bytes of the other answers that are being made */
	uint64_t work;			/* units of work so far */
	uint64_t look;			/* at so many it is seen whether the slice is over */
	uint64_t slice_end;		/* at so many it is */
	monotime slice_until;		/* and then, on the loop's clock */
	bool paused;			/* the slice is over, the question is not */
	uint16_t status;		/* 0, or why there is no answer */
	bool changes;			/* a Set or Delete */
	bool trusted;			/* came with our SM_Key */
};

/* A kind of record: what tells of it. */
struct sa_kind_ops {
	const struct sa_type *type;
	uint64_t own;		/* components that tell() looks at, not sa_offer() */
	uint64_t by_bits;	/* compared by set bits where AttributeModifier says so */
	bool table;		/* GetTable, besides Get */
	void (*tell)(struct sa_ask *a);	/* Get and GetTable; NULL: neither is there */
	/* Set and Delete, which end with sa_reply() or a status; NULL: not there. */
	void (*set)(struct sa_ask *a);
	void (*drop)(struct sa_ask *a);
};

extern const struct sa_kind_ops sa_class_ops, sa_node_ops, sa_port_ops, sa_switch_ops, sa_lft_ops,
	sa_sm_ops, sa_link_ops, sa_path_ops,
	sa_service_ops, sa_inform_info_ops, sa_inform_ops, sa_member_ops,
	sa_guids_ops;

#define SA_PKEY_DEFAULT 0x7fff	/* without the membership bit */

/* Make the broadcast group of IPoIB in the default partition. */
void
sa_member_broadcast(struct sa_groups *g, const struct config_subnet *conf);

/* absent.c: members whose ports are gone. Both are borrowed. */
struct sa_absent *
sa_absent_new(struct sa_kept *kept, struct sa_groups *groups);
void
sa_absent_free(struct sa_absent *a);
/* The published plan is in force: who is in it, who is not. */
void
sa_absent_settled(struct sa_absent *a);

static inline bool
sa_asks(const struct sa_ask *a, unsigned bit)
{
	return a->h.mask >> bit & 1;
}

/* A new slice begins: so many units of work, or SA_SLICE_TIME. */
void
sa_slice(struct sa_ask *a, unsigned units);
bool
sa_slice_over(struct sa_ask *a);	/* sa_pause()'s own */
/* Take the record into the answer if it fits the question. False: it is enough, no more records
 * are wanted. */
bool
sa_offer(struct sa_ask *a, const void *record);
/*
 * To be called before each unit of work in tell(): a record looked at, a way walked. True: this has
 * taken long enough for now; tell() puts into a->at where to go on, returns, and is called again
 * with the same question and the same plan. What clients left may have changed between.
 */
static inline bool
sa_pause(struct sa_ask *a)
{
	return a->work++ >= a->look && sa_slice_over(a);
}

/* Units of work that cannot be interrupted, a few hundred at most. */
static inline void
sa_worked(struct sa_ask *a, unsigned units)
{
	a->work += units;
}

/* The answer to a Set or Delete. It leaves when what was put to the store is in it. */
void
sa_reply(struct sa_ask *a, const void *record);
/* The end port that asks, by its LID; FABRIC_NONE: none of the plan. */
uint32_t
sa_asker(const struct sa_ask *a);
/* The end port that has this GUID, as its own or as an alias; FABRIC_NONE: none. */
uint32_t
sa_port_by_guid(const struct sa_ask *a, uint64_t guid);
/* Is the end port in the partition? There is only the default one so far, where all are full
 * members. */
bool
sa_has_pkey(const struct sa_ask *a, uint32_t port, uint16_t pkey);
/* Call fn() for each end port that has a LID, by port index, as long as it returns true; with
 * component `bit` in the mask only for the one that `lid` belongs to. Pauses between ports. */
void
sa_each_port(struct sa_ask *a, unsigned bit, uint16_t lid,
	     bool (*fn)(struct sa_ask *a, uint32_t port));

static inline const struct fabric_node *
sa_node_of(const struct sa_ask *a, uint32_t port)
{
	return &a->f->nodes[a->f->ports[port].node];
}

static inline uint16_t
sa_base_lid(const struct sa_ask *a, uint32_t port)
{
	return a->plan->lids->base[port];
}

#endif
