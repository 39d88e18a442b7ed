/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SA_ASK_H
#define SA_ASK_H

#include "sm/base/buf.h"
#include "sm/sa/group.h"
#include "sm/sa/kept.h"
#include "sm/sa/sa.h"

struct sa_absent;

/* What all links between switches have in common, in one plan; see way.c. */
struct sa_links {
	const struct plan *plan;	/* of which this holds, reference held; NULL: none yet */
	bool even;			/* they are all alike, and no lane depends on the way */
	uint32_t port;			/* one of them; FABRIC_NONE if there are none */
};

/* The first P_Keys of ports, as far as they were looked at; see ask.c. */
struct sa_first_pkeys {
	const struct plan *plan;	/* whose ports they are; reference held; NULL: none yet */
	uint64_t changed;		/* sa_env.pkeys_changed() when they were read */
	uint16_t *of;			/* by port index; 0: not looked at; owned */
};

/*
 * One question about records while it is answered: what is asked for, and the answer as it grows.
 * Each kind of record offers those that may fit (sa_offer()), which are compared and taken here.
 */
struct sa_ask {
	const struct sa_env *env;	/* what the owner lends */
	const struct plan *plan;	/* published */
	const struct fabric *f;		/* its snapshot */
	const struct sa_type *type;	/* of the records that are told */
	const void *want;		/* what is asked for, as sa_kind_ops.asked */
	const struct port_mad *in;	/* the request */
	struct sa_header h;		/* its header */
	struct sa_kept *kept;		/* what clients left */
	struct sa_groups *groups;	/* multicast groups */
	struct sa_links *links;		/* of the plan that was asked last */
	struct sa_first_pkeys *first_pkeys;	/* of the published plan */
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
	const struct sa_type *type;	/* what is asked for */
	const struct sa_type *asked;	/* type of the request, if it is another */
	const struct sa_type *told;	/* and of the records of the answer */
	uint64_t own;		/* components that tell() looks at, not sa_offer() */
	uint64_t by_bits;	/* compared by set bits where AttributeModifier says so */
	bool table;		/* GetTable, besides Get */
	uint8_t method;		/* the one that tell() is for, if it is neither of these */
	void (*tell)(struct sa_ask *a);	/* NULL: nothing is told */
	/* Set and Delete, which end with sa_reply() or a status; NULL: not there. */
	void (*set)(struct sa_ask *a);
	void (*drop)(struct sa_ask *a);
};

extern const struct sa_kind_ops sa_class_ops, sa_node_ops, sa_port_ops, sa_switch_ops, sa_lft_ops,
	sa_sm_ops, sa_link_ops, sa_path_ops, sa_multipath_ops, sa_trace_ops,
	sa_service_ops, sa_inform_info_ops, sa_inform_ops, sa_member_ops,
	sa_guids_ops, sa_pkeys_ops, sa_sl2vl_ops, sa_vlarb_ops, sa_mft_ops;

#define SA_PKEY_DEFAULT 0x7fff	/* without the membership bit */
#define SA_PKEY_NUMBER 0x7fff	/* what two P_Keys must have in common */
#define SA_PKEY_FULL 0x8000	/* membership bit */
#define SA_LINK_LOCAL 0xfe80000000000000u	/* prefix of every subnet, whatever else it has */

/* Which multicast LID a new group may get; `f` NULL: no switch is known. */
struct sa_mlid_rules
sa_member_rules(const struct config_subnet *conf, const struct fabric *f);

/* absent.c: members whose ports are gone. Both are borrowed. */
struct sa_absent *
sa_absent_new(struct sa_kept *kept, struct sa_groups *groups);
void
sa_absent_free(struct sa_absent *a);
/* The published plan is in force: who is in it, who is not. */
void
sa_absent_settled(struct sa_absent *a);
/* Another administrator has the groups: nobody is forgotten until the next plan is in force. */
void
sa_absent_resigned(struct sa_absent *a);

static inline bool
sa_asks(const struct sa_ask *a, unsigned bit)
{
	return a->h.mask >> bit & 1;
}

/* Does the answer hold any number of records? */
static inline bool
sa_is_table(const struct sa_ask *a)
{
	return a->h.h.method == MAD_GET_TABLE || a->h.h.method == MAD_GET_MULTI ||
		a->h.h.method == MAD_GET_TRACE;
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
/* Is the end port in the partition, full member or limited? By the table that it holds; a port
 * whose table is not known, or has no place, is a full member of the default one and in no
 * other. */
bool
sa_has_pkey(const struct sa_ask *a, uint32_t port, uint16_t pkey);
/* A P_Key by which two end ports may talk, as `from` holds it: both have it and not both as limited
 * members. With `wanted` (not 0) that partition alone counts, and its P_Key comes back as it was
 * wanted. 0: there is none. */
uint16_t
sa_common_pkey(const struct sa_ask *a, uint32_t from, uint32_t to, uint16_t wanted);
/* Nothing of it is kept. */
void
sa_first_pkeys_forget(struct sa_first_pkeys *c);
/* May whoever asks be told of that port, and of paths of it? It must share a partition with it
 * (C15-0.1.21), unless it showed our SM_Key. */
bool
sa_may_know(const struct sa_ask *a, uint32_t port);
/* The rate code of a port's link as it runs, 0 if there is none. */
uint8_t
sa_port_rate(const struct fabric_port *p);
/* The highest rate code that whoever asks may be told: what the configuration allows, and no newer
 * code than its port shows to know. */
uint8_t
sa_rate_max(const struct sa_ask *a);
/* Call fn() for each end port that has a LID and that whoever asks may know, by port index, as long
 * as it returns true; with component `bit` in the mask only for the one that `lid` belongs to.
 * Pauses between ports. */
void
sa_each_port(struct sa_ask *a, unsigned bit, uint16_t lid,
	     bool (*fn)(struct sa_ask *a, uint32_t port));

/* Where to go on in what fn() above tells of this port: where it was paused, else 0. */
static inline uint32_t
sa_from(const struct sa_ask *a, uint32_t port)
{
	return (uint32_t)a->at == port ? (uint32_t)(a->at >> 32) : 0;
}

/* As sa_pause(), within fn(): true, and fn() returns false, to be called again. */
static inline bool
sa_pause_at(struct sa_ask *a, uint32_t port, uint32_t next)
{
	if (!sa_pause(a))
		return false;
	a->at = (uint64_t)next << 32 | port;
	return true;
}

/* Offer what a device holds, if it is known. If not, there is no answer now but BUSY; of a device
 * that does not answer only where it is asked for by component `lid_bit`, for else nobody would
 * ever be told of the others. */
bool
sa_offer_held(struct sa_ask *a, enum sa_held held, unsigned lid_bit, const void *record);

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
