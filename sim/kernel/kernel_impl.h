/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_KERNEL_IMPL_H
#define SIM_KERNEL_IMPL_H

#include "sim/kernel/kernel.h"
#include "sim/kernel/rmpp.h"
#include "sm/base/list.h"
#include "sm/base/map.h"
#include "sm/wire/cursor.h"

/* What the files of the kernel share: kernel.c has the objects and what comes in, kernel_reg.c who
 * gets which request, kernel_sent.c what was sent and waits, kernel_rmpp.c long messages,
 * kernel_grh.c addresses. */
#define METHODS 128u
#define TID_OFFSET 8u		/* of a MAD's transaction id */
#define SENT_MAX 200000u	/* messages of an agent that wait, as many as it may leave unread */
#define LONG_BYTES_MAX ((size_t)1 << 30)	/* of an agent's long messages, each way */

/* A hash table from transaction ids to whatever begins with a struct tid_node. One id may be in it
 * several times. Zero-initialise; tids_free() frees the table, not what is in it. */
struct tid_node {
	struct tid_node *next;	/* in its bucket */
	uint64_t tid;		/* as on the wire */
};

struct tid_table {
	struct tid_node **buckets;	/* size of them */
	uint32_t size;		/* 0 or a power of 2 */
	uint32_t len;		/* nodes in it */
};

struct kernel_class {		/* of one port: class, version and, for some, vendor */
	struct list link;	/* in kernel_port.classes */
	uint32_t oui;		/* of classes 0x30..0x4f, else 0 */
	uint8_t mgmt_class;	/* as registered; directed and LID-routed SMPs are two */
	uint8_t version;	/* class version */
	struct kernel_agent *methods[METHODS];	/* who gets requests, or NULL */
};

struct kernel_port {
	struct kernel *k;	/* whose it is */
	struct model_client *client;	/* its attachment to the model */
	struct list classes;	/* struct kernel_class */
	struct list watches;	/* struct kernel_watch */
	struct list *walk;	/* the watch to be told next, while they are being told */
	uint32_t node;		/* where it is */
	uint8_t port;		/* where it is */
	bool issm;		/* somebody holds its IsSM */
};

struct kernel_agent {
	struct kernel_port *p;	/* where it is */
	struct kernel_events ev;	/* whom it tells */
	struct kernel_registration reg;	/* what it asked for */
	struct tid_table sent;	/* struct kernel_sent */
	struct tid_table gathers;	/* struct gather, messages that come in by RMPP */
	size_t out_bytes;	/* of long messages that go out */
	size_t in_bytes;	/* of those that come in, and what is remembered of them */
	uint32_t number;	/* upper half of its TIDs */
	uint32_t slot;		/* its index in kernel.agents */
	bool rmpp;		/* RMPP is done for it */
};

/* A message that was sent and waits for something. */
struct kernel_sent {
	struct tid_node node;	/* in kernel_agent.sent; first */
	struct kernel_agent *a;	/* who sent it */
	struct loop_timer *timer;	/* for its time-out */
	struct kernel_mad to;	/* addresses and times; `data` is not used */
	struct rmpp_out *out;	/* the message, if it goes by RMPP; else NULL */
	uint32_t tries;		/* that are left */
	uint8_t mad[MAD_SIZE];	/* the MAD, or its first 24 bytes if it is sent only once */
};

struct kernel {
	struct model *m;	/* the fabric */
	struct loop *loop;	/* the model's */
	struct kernel_port **ports;	/* nports, in order of first use */
	struct kernel_agent **agents;	/* nagents, in no order */
	struct kernel_sent *spare;	/* to be used again, chained by node.next */
	struct map by_place;	/* node and port to an index into ports */
	struct map by_number;	/* agent's number to an index into agents */
	uint32_t nports, nagents;	/* in use */
	uint32_t number;	/* of the youngest agent */
	uint64_t dropped;	/* MADs that were for nobody */
};

static inline uint64_t
tid_of(const uint8_t *mad)
{
	struct cursor c;

	cursor_read(&c, mad + TID_OFFSET, 8);
	return cursor_u64(&c);
}

static inline bool
rmpp_is_active(const uint8_t *mad)
{
	return mad[26] & RMPP_ACTIVE;
}

/* kernel.c */
/* A message goes out once, from whatever port the agent is on. */
void
kernel_emit(struct kernel_agent *a, const struct kernel_mad *to, const uint8_t mad[MAD_SIZE]);
/* Responses by their method, TrapRepress, and those that baseboard management marks so. */
bool
kernel_is_response(const uint8_t *mad);

/* kernel_grh.c */
/* Who sent `m`, so that an answer would go to where this says; no data. */
void
kernel_sender(struct kernel_mad *from, const struct kernel_port *p, const struct model_mad *m);
void
kernel_grh_fill(struct model_grh *g, const struct kernel_port *p, const struct kernel_mad *to);
bool
kernel_has_gid(const struct kernel_port *p, unsigned index);
/* `m`, which is a response to what was sent or (not `response`) the other way round, has the
 * addresses of that. */
bool
kernel_same_ends(const struct kernel_port *p, const struct kernel_mad *sent,
		 const struct model_mad *m, bool response);

/* kernel_rmpp.c */
/* `mad` has the message's first bytes as they are to travel. */
void
kernel_rmpp_send(struct kernel_agent *a, const struct kernel_mad *m, const uint8_t mad[MAD_SIZE]);
/* Its time is up: segments are sent again, or (false) it is over. */
bool
kernel_rmpp_again(struct kernel_sent *s);
void
kernel_rmpp_end(struct kernel_sent *s);
void
kernel_rmpp_end_all(struct kernel_agent *a);	/* that come in */
/* A MAD with the RMPP flag. If it completes a message, that is put into `in` and its memory, which
 * is the caller's to free, is returned; else NULL. */
uint8_t *
kernel_rmpp_receive(struct kernel_agent *a, const struct model_mad *m, struct kernel_mad *in);

/* kernel_reg.c */
bool
kernel_is_smp(uint8_t mgmt_class);	/* of queue pair 0 */
bool
kernel_is_rmpp(uint8_t mgmt_class);	/* may use RMPP */
/* 0 or EINVAL. */
int
kernel_reg_check(const struct kernel_registration *r);
/* 0, or EINVAL if somebody else has one of the methods. */
int
kernel_reg_add(struct kernel_agent *a);
void
kernel_reg_remove(struct kernel_agent *a);
/* Who gets a request; NULL if nobody does. */
struct kernel_agent *
kernel_reg_find(const struct kernel_port *p, const uint8_t mad[MAD_SIZE]);

/* kernel_sent.c */
/* The message would be one too many with its TID. */
bool
kernel_sent_twice(const struct kernel_agent *a, const struct kernel_mad *m, const uint8_t *mad);
struct kernel_sent *
kernel_sent_add(struct kernel_agent *a, const struct kernel_mad *m, const uint8_t mad[MAD_SIZE]);
/* The message that `mad` answers; NULL if none waits. */
struct kernel_sent *
kernel_sent_find(const struct kernel_agent *a, const struct model_mad *mad);
void
kernel_sent_end(struct kernel_sent *s);
void
kernel_sent_end_all(struct kernel_agent *a);
void
kernel_sent_free(struct kernel *k);

void
tids_add(struct tid_table *t, struct tid_node *n);
void
tids_remove(struct tid_table *t, struct tid_node *n);
/* The first of this TID, and the next one; NULL at the end. */
struct tid_node *
tids_first(const struct tid_table *t, uint64_t tid);
struct tid_node *
tids_next(const struct tid_node *n);
/* Any, or NULL when it is empty; *from is 0 at first, and then kept while all are taken out. */
struct tid_node *
tids_any(const struct tid_table *t, uint32_t *from);
void
tids_free(struct tid_table *t);

#endif
