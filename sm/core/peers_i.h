/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_PEERS_I_H
#define CORE_PEERS_I_H

#include "sm/base/clock.h"
#include "sm/core/copies.h"
#include "sm/fabric/status.h"
#include "sm/port/transact.h"
#include "sm/wire/attr.h"

/* Subnet managers among themselves: peers.c (who is there, and who leads), handover.c (what they
 * ask of each other), ha.c (what is said of that). */
struct agent;
struct device;
struct subnet;

/* Another subnet manager. */
#define PEERS_MAX 32
enum peer_presence {
	PEER_HERE,		/* it answered when it was asked last */
	PEER_AWAITED,		/* the present sweep has not come to it yet */
	PEER_LOST,		/* it did not answer: it counts for nothing, but what it does is
				 * not known, and when it is back it may have led meanwhile */
};

struct peer_sm {
	uint64_t guid;		/* its port GUID */
	uint64_t node_guid;	/* of the device it sits on */
	uint8_t port;		/* port number there */
	uint16_t lid;		/* LID of that port */
	uint8_t priority;
	uint8_t state;		/* enum sm_state */
	uint32_t activity;
	bool told_key;		/* it showed an SM_Key */
	bool wrong_key;		/* which is not ours: ignored, and shown */
	bool unwanted;		/* it is not among allowed_sm_guids: likewise */
	monotime heard;		/* when it answered last; 0: never */
	unsigned offers;	/* of our office that it did not take, in a row */
	monotime offer_at;	/* it is offered to it again */
	uint32_t sweep;		/* sweep that found it */
	struct copies_told told;	/* what it copied of us, as a standby */
	enum peer_presence presence;
	unsigned failures;	/* PEER_LOST: how often it did not answer since */
	monotime ask_at;	/* PEER_LOST: light sweeps do not ask it before */
};

/* Office that passes from one manager to another; see handover.c. */
struct handover {
	uint64_t from;		/* GUID of who handed us the office that we are taking; 0: nobody */
	uint64_t to;		/* GUID of who is offered ours; 0: nobody */
	bool given;		/* it has taken it */
	uint64_t tid;		/* of what is sent without waiting for an answer */
	monotime announce_at;	/* standby of higher priority: the master is told again */
	unsigned announced;	/* so often it was, since we stand by */
	uint64_t told_of;	/* GUID of the last manager that an event told of, */
	monotime told_at;	/* and when */
};

/* How this manager came to lead; see ha.c. */
struct takeover {
	enum takeover_why why;	/* of the last one */
	uint64_t guid;		/* of who led before; 0: nobody known */
	int64_t wall;		/* when we became master, wall microseconds; 0: never */
	monotime since;		/* when the one before was heard last, or handed over */
	monotime led;		/* when we became master */
	monotime up;		/* when all was programmed; 0: not yet */
};

/* peers.c */
void
peers_saw(struct subnet *s, const struct device *d, unsigned port, const struct sminfo *i);
void
peers_init(struct subnet *s);
void
peers_free(struct subnet *s);
/* A sweep begins that asks those found on its way (`all`), or (light) those that are known. */
void
peers_start(struct subnet *s, bool all);
/* A port that was known to take LID `before` for the subnet manager's takes `now` for it. */
void
peers_owner(struct subnet *s, uint16_t before, uint16_t now);
/* It has ended: who was not found is lost. */
void
peers_swept(struct subnet *s);
/* It says IsSM, but no subnet manager answers there. */
void
peers_lost(struct subnet *s, const struct device *d, unsigned port);
/* Somebody asks us for SMInfo: perhaps a subnet manager that we do not know. */
void
peers_asked(struct subnet *s, const struct smp *smp);
/* Whether a manager with this port GUID may lead. */
bool
peers_allowed(const struct subnet *s, uint64_t guid);
/* The data of a Get(SMInfo): OpenSM shows its key to a master alone. */
void
peers_question(const struct subnet *s, uint8_t data[SMP_DATA_SIZE]);
/* Priority, key or allowed managers have changed. */
void
peers_configured(struct subnet *s);
/* We led, and stand back for `master`: it is to be told. */
void
peers_hand_over(struct subnet *s);
/* After discovery, before the decision: one that asked was not seen. True only once in a row. */
bool
peers_overlooked(struct subnet *s);
/* After discovery: decide who is master. True: we are. */
bool
peers_elect(struct subnet *s);
/* We lead, and a sweep has ended. Where another master was and is no more, or may have been while
 * nobody heard of it, all that it may have written is to be read back. */
void
peers_settled(struct subnet *s);
void
peers_poll(struct subnet *s);
bool
peers_next(struct subnet *s, struct agent *a, struct transact_request *r);
void
peers_done(struct subnet *s, struct agent *a, const struct transact_result *res);
const char *
peers_text(struct subnet *s, const struct peer_sm *p, char *buf, size_t size);

/* As master: offer our office to the standby that it belongs to. False: there is none. Else it ends
 * in subnet_poll_done(). */
bool
peers_offer(struct subnet *s);

/* handover.c */
/* A Set(SMInfo) came. False: it is not legal now (status 7). */
bool
handover_asked(struct subnet *s, const struct port_mad *m, const struct smp *smp);
/* Who should be offered our office now, or NULL. */
struct peer_sm *
handover_heir(struct subnet *s);
/* What became of the offer to it. */
void
handover_answered(struct subnet *s, struct peer_sm *p, const struct transact_result *res);
/* As standby: tell the master, now and then, that our priority is higher. */
void
handover_announce(struct subnet *s);

/* ha.c */
/* The master is lost, or hands over: what follows is measured from now on, or from when the master
 * was heard last. */
void
takeover_begins(struct subnet *s, enum takeover_why why, uint64_t guid);
/* We lead now. */
void
takeover_leads(struct subnet *s);
/* And all is programmed. */
void
takeover_up(struct subnet *s);
/* One more reason why it is not safe to fail over, a sentence; of more than there is room for, the
 * first count. */
void
ha_reason(struct ha_status *h, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A state of SMInfo in words. */
const char *
sm_state_text(unsigned state);

#endif
