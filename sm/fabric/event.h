/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_EVENT_H
#define FABRIC_EVENT_H

#include <stdbool.h>
#include <stdint.h>
#include "sm/base/json.h"
#include "sm/base/log.h"

/*
 * Things that happened, one typed record each: kept in a ring for `weft show events`, written to
 * the log, and handed to sinks (the store, plugins). A type keeps its meaning and its name,
 * and so does a figure: programs go by them, not by the text.
 */
enum event_type {
	EVENT_START,		/* the daemon started */
	EVENT_PORT,		/* our own port came or went */
	EVENT_ROLE,		/* master, standby ... */
	EVENT_SWEEP,		/* a sweep ended */
	EVENT_NODE_UP,		/* a node appeared */
	EVENT_NODE_DOWN,	/* a node is gone */
	EVENT_LINK_UP,
	EVENT_LINK_DOWN,
	EVENT_SILENT,		/* a device stopped (or began) answering */
	EVENT_DUPLICATE,	/* two places claim one GUID or LID */
	EVENT_REFUSED,		/* a device refused a Set, or keeps another value */
	EVENT_ROUTED,		/* new tables were proved and programmed */
	EVENT_REPAIRED,		/* the same, after cables or devices were lost */
	EVENT_FALLBACK,		/* the running engine is not the requested one */
	EVENT_UNROUTED,		/* nothing could be proved: the old tables stay */
	EVENT_TRAP,		/* a notice arrived */
	EVENT_CONFIG,		/* the configuration was (not) reloaded */
	EVENT_HEALTH,		/* something is wrong with a port or device, or is well again */
	EVENT_QUARANTINED,	/* and traffic is kept off it, or the port is disabled */
	EVENT_RELEASED,		/* it is used again */
	EVENT_OVERDUE,		/* a stage takes much longer than it should, or has ended at last */
	EVENT_STATE,		/* etcd is away, back, or not the one that it was */
	EVENT_ADAPTIVE,		/* switches began or ceased to route adaptively, or will not */
	EVENT_PLUGIN,		/* a plugin failed, was refused, or works again */
	EVENT_TYPES,		/* number of types */
};

/* Figures that an event may have. */
enum event_figure {
	EVENT_TOOK_US,		/* microseconds from what was noticed first to the last answer */
	EVENT_ENTRIES,		/* forwarding entries that changed */
	EVENT_BLOCKS,		/* blocks of 64 of them that were written */
	EVENT_LINKS_LOST,	/* cables */
	EVENT_LINKS_BACK,
	EVENT_NODES_LOST,
	EVENT_NODES_BACK,
	EVENT_CUT_OFF,		/* pairs of hosts that no tables can connect any more */
	EVENT_FIGURES,		/* number of them */
};

struct event {
	uint64_t sequence;	/* 1, 2, 3 ... over the life of the state file */
	int64_t wall;		/* microseconds since 1970 */
	enum event_type type;
	enum log_level level;
	uint64_t guid;		/* the node or port it is about; 0 */
	uint16_t lid;		/* 0 if none */
	uint8_t port;		/* port number; 0 if none */
	uint8_t peer_port;	/* of a cable: the port at its other end; 0 */
	uint64_t peer_guid;	/* and the node there; 0 */
	uint32_t has;		/* which figures, by bit */
	uint64_t figure[EVENT_FIGURES];
	char subnet[32];	/* name, "" for the daemon itself */
	char text[320];		/* one sentence for people */
};

static inline void
event_set(struct event *ev, enum event_figure f, uint64_t value)
{
	ev->has |= UINT32_C(1) << f;
	ev->figure[f] = value;
}

struct event_ring;

struct event_ring *
event_ring_new(unsigned len, uint64_t first_sequence);
void
event_ring_free(struct event_ring *r);
unsigned
event_ring_len(const struct event_ring *r);	/* events that it holds at most */
/* Called with each new event, before event_ring_add() returns; sinks in the order in which they
 * came. Freed with the ring, or before by event_sink_free(), which allows NULL. */
struct event_sink *
event_ring_sink(struct event_ring *r, void (*fn)(void *arg, const struct event *ev), void *arg);
void
event_sink_free(struct event_sink *s);
/* Takes a copy, gives it its sequence number, logs it (rate-limited by type). */
void
event_ring_add(struct event_ring *r, const struct event *ev);
/* One that an earlier run had, before any other is added; in the order of their sequence numbers,
 * which may leave some out. The log and the sink are not told. */
void
event_ring_restore(struct event_ring *r, const struct event *ev);
/* The next event has at least this sequence number. */
void
event_ring_skip(struct event_ring *r, uint64_t sequence);
/* Event number `sequence`, or NULL if it is not (or no longer) held. */
const struct event *
event_get(const struct event_ring *r, uint64_t sequence);
uint64_t
event_last(const struct event_ring *r);		/* highest sequence, 0 if none */
uint64_t
event_oldest(const struct event_ring *r);	/* lowest one held; event_last() + 1 if none */
const char *
event_type_name(enum event_type t);		/* "link-down" */
/* The event as a JSON object: what `weft show events` and the state file hold. */
void
event_write(struct json *j, const char *key, const struct event *ev);
const char *
event_figure_name(enum event_figure f);		/* "took_us" */
/* What event_write() wrote, read back: false if it is none, or of a type that is not known here.
 * (event_read.c) */
bool
event_read(const char *text, struct event *ev);

#endif
