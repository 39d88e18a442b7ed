/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_STATUS_H
#define FABRIC_STATUS_H

#include <stdbool.h>
#include <stdint.h>
#include "sm/base/clock.h"
#include "sm/store/store.h"
#include "sm/wire/congestion.h"
#include "sm/wire/perf.h"

/* What a subnet says of itself, for `weft status` and `weft wait`. */
#define STATUS_MAX_WARNINGS 32
#define STATUS_MAX_DRAINED 64

/* Requests to the subnet administrator that were not answered, by reason. */
struct sa_drops {
	uint64_t malformed;	/* no header, or shorter than their record */
	uint64_t method;	/* they ask nothing: a response, a method that is none */
	uint64_t key;		/* with a wrong SM_Key */
	uint64_t flood;		/* of ports that were told BUSY too often */
	uint64_t resigned;	/* another manager took over while they waited */
	uint64_t unsent;	/* the answer was not taken: by the port, or by who asked */
};

/* What may be wrong with a port or a device; what is done about it is the configuration's. */
enum health_condition {
	HEALTH_ASKED,		/* nothing: an administrator wants traffic kept off */
	HEALTH_FLAPPING,	/* the cable goes down again and again */
	HEALTH_UNRESPONSIVE,	/* the device does not answer though its cable is up */
	HEALTH_BABBLING,	/* traps of link errors without end */
	HEALTH_REFUSING,	/* the device refuses what it is set to */
	HEALTH_SLOW,		/* less than both ends of the cable support */
	HEALTH_ERRORS,		/* its ends count too many errors */
	HEALTH_CONDITIONS,	/* number of them */
};

/* Errors of a port, and where its cable leads to. */
struct health_errors {
	const char *counter;	/* "symbol_errors"; NULL: none */
	uint64_t count;		/* errors, */
	double seconds;		/* in this time */
	uint64_t value;		/* what the counter stands at */
	bool full;		/* where it stops, or what it was found at first */
	bool cable;		/* for these its cable is at fault, or a device at its ends */
	uint64_t peer_guid;	/* node GUID; 0 */
	uint8_t peer_port;
	char text[120];		/* counts for people */
};

/* Something that is wrong, for `weft show health`. */
struct health_row {
	uint32_t next;		/* where to go on */
	uint64_t guid;		/* node GUID */
	uint8_t port;		/* 0: the whole device */
	const char *condition;	/* "flapping" ... */
	const char *action;	/* what is done: "none", "drain", "isolate", "disable" */
	int64_t since;		/* wall microseconds; 0: not known */
	uint32_t count;		/* how often it was seen */
	char left[100];		/* why nothing is done though it was to be; "" */
	char node[80];		/* for people: name and GUID */
	struct health_errors errors;	/* of "errors" */
};

/* Reading of error counters, for `weft show counters`. */
struct counters_view {
	double interval_s;	/* of the configuration; 0: off */
	uint32_t sweeps;	/* begun since this manager leads */
	double took_s;		/* the last one that has ended, */
	uint32_t ports;		/* ports that it read, */
	uint32_t unread;	/* that did not answer, refused, or were left alone for that */
	uint64_t mads;		/* requests that it sent */
};

/* One port whose counters are not all 0, or a device that does not tell. */
struct counters_row {
	uint64_t next;		/* where to go on */
	uint64_t guid;		/* node GUID */
	uint64_t peer_guid;	/* of the other end of its cable; 0 */
	uint64_t errors[PERF_ERRORS];	/* as last read */
	const char *state;	/* "read", "silent", "refused"; NULL: it is no row, look on */
	uint8_t port;		/* 0: the device */
	uint8_t peer_port;
	bool extended;		/* by counters of 64 bits */
};

struct subnet_status {
	char name[32];
	char port[64];			/* "mlx5_0:1", "" while none */
	uint64_t port_guid;
	uint16_t sm_lid;
	uint8_t priority;
	int64_t role_since;		/* wall microseconds when the present role began */
	int64_t state_wall;		/* when nodes .. links below were found; 0 never */
	bool current;			/* they are what is there now, as far as is known */
	bool override;			/* engine_requested comes from `weft reroute --engine` */
	char configured[100];		/* engines of the configuration: "updn, minhop" */
	const char *role;		/* "waiting", "discovering", "standby",
					 * "not active", "master" */
	const char *state;		/* "waiting for port", "discovering", "routing",
					 * "programming", "up", "standby", "degraded" */
	bool up;			/* answering devices are programmed, links ACTIVE */
	char engine_requested[32];
	char engine_running[32];
	char reason[400];		/* why they differ, "" */
	uint32_t nodes;
	uint32_t switches;
	uint32_t hosts;
	uint32_t links;			/* cables that are up, drained ones too */
	uint32_t drained_links;		/* of them */
	bool proof_whole;		/* the proof of the published plan was made from nothing;
					 * else it goes on from the one before */
	uint32_t silent;		/* devices that do not answer */
	uint32_t ndrained;		/* switches and cables that traffic is kept off */
	struct {
		uint64_t guid;		/* node GUID */
		int port;		/* a cable there; CHANGE_ALL_PORTS: the switch */
		const char *why;	/* "asked", "flapping" ..., "disabled" */
	} drained[STATUS_MAX_DRAINED];	/* the first of them */
	uint16_t top_lid;
	uint64_t sweeps;		/* heavy and partial ones finished */
	int64_t last_sweep_wall;	/* microseconds since 1970; 0 never */
	double last_sweep_ms;		/* start to all programmed */
	double discover_ms;		/* stages of the last sweep */
	double route_ms;
	double check_ms;
	double program_ms;
	double up_ms;			/* daemon start to first "up"; 0 not yet */
	uint64_t mads_sent;
	uint64_t mads_timed_out;
	uint64_t mads_malformed;
	uint64_t mads_unsolicited;
	uint64_t mads_refused;
	uint64_t traps;			/* notices of devices that came */
	uint64_t traps_repeated;	/* of them heard before: not told, not acted on */
	uint64_t traps_suppressed;	/* not told, for their source sends too many */
	uint64_t traps_unknown;		/* of LIDs and ports that are nobody's */
	uint64_t sa_requests;		/* to the subnet administrator */
	uint64_t sa_answered;		/* of them with what was asked for */
	uint64_t sa_refused;		/* answered with an error status */
	uint64_t sa_busy_rate;		/* told BUSY, or nothing, since one port asks too often, */
	uint64_t sa_busy_queue;		/* has too many requests waiting, */
	uint64_t sa_busy_open;		/* or there are too many long questions */
	struct sa_drops sa_dropped;	/* not answered */
	unsigned sa_pending;		/* not answered yet */
	uint32_t sa_services;		/* registered now */
	uint32_t sa_subscriptions;	/* there are now */
	uint64_t reports_sent;		/* of events, to subscribers */
	uint64_t reports_answered;	/* of them */
	uint64_t reports_lost;		/* never answered, or there was no room for them */
	uint64_t reports_forgotten;	/* subscribers that answered none and were forgotten */
	uint32_t few_entries;		/* ports whose VL arbitration leaves out a lane */
	char few_entries_at[160];	/* one of them, for people; "" */
	char master[200];		/* standby: who is in charge, for people */
	unsigned nwarnings;
	unsigned more_warnings;		/* that did not fit */
	char warnings[STATUS_MAX_WARNINGS][320];
};

/* How a manager came to lead. */
enum takeover_why {
	TAKEOVER_NONE,		/* it never did */
	TAKEOVER_FIRST,		/* nobody led when it came */
	TAKEOVER_LOST,		/* the master did not answer any more */
	TAKEOVER_RESIGNED,	/* it answered that it does not lead */
	TAKEOVER_HANDED,	/* it handed over */
};

/* Subnet managers of a subnet, for `weft show ha`. */
#define HA_MAX_MANAGERS 32
#define HA_MAX_REASONS 8

/* Another subnet manager. */
/* What a standby has copied of what clients left with the master. */
struct ha_copy {
	int64_t wall;		/* when that was begun last, wall microseconds; 0: never */
	uint32_t members;	/* of multicast groups */
	uint32_t services;
	uint32_t subscriptions;
	uint32_t guids;		/* blocks of GUIDs, which may hold aliases */
};

struct ha_manager {
	uint64_t guid;		/* its port GUID */
	uint64_t node_guid;	/* of the device it sits on */
	char node[100];		/* the device's name */
	uint8_t port;		/* port number there */
	uint16_t lid;
	uint8_t priority;
	const char *state;	/* "not active", "discovering", "standby", "master",
				 * "unknown": it has never answered */
	const char *key;	/* its SM_Key: "right", "wrong", "not shown" */
	bool allowed;		/* by allowed_sm_guids */
	bool leads;		/* it is the master that this one stands by for */
	bool lost;		/* it did not answer when it was asked last */
	uint32_t activity;	/* ActCount */
	int64_t heard;		/* wall microseconds of its last answer; 0: there was none */
	struct ha_copy copy;	/* of it, if it leads; else by it, if this one leads */
};

struct ha_status {
	char name[32];		/* of the subnet */
	const char *role;	/* as in struct subnet_status */
	int64_t role_since;	/* wall microseconds */
	uint8_t priority;	/* this manager's */
	uint64_t guid;		/* its port GUID */
	uint16_t lid;
	char master[200];	/* standby: who leads, for people; "" */
	struct {
		enum takeover_why why;	/* TAKEOVER_NONE: it never led */
		uint64_t guid;		/* of who led before, 0: nobody known */
		int64_t wall;		/* when it became master */
		double lead_ms;		/* from when the one before was heard last, or handed over,
					 * until this one led */
		double up_ms;		/* until all was programmed; 0: not yet */
	} takeover;			/* the last one */
	unsigned nmanagers;
	struct ha_manager managers[HA_MAX_MANAGERS];	/* that were seen in this run */
	bool shared;		/* managers share the store, */
	struct store_beyond beyond;	/* which is so */
	/* Why the office cannot pass to another without loss, each a sentence. Each part of the
	 * daemon that knows of one adds it: ha_reason(). None: it is safe to fail over. */
	unsigned nreasons;
	char reasons[HA_MAX_REASONS][240];
};

/* A multicast group, for `weft show multicast`. */
struct multicast_row {
	uint64_t mgid[2];	/* upper and lower half */
	uint32_t qkey;
	uint32_t members;	/* ports in it */
	uint32_t full;		/* of them full members */
	uint32_t switches;	/* in its tree; 0: it has none */
	uint32_t rate_mbps;
	uint32_t slot;		/* its place among the groups; the next one's is above */
	uint32_t sharing;	/* other groups that have the multicast LID too */
	uint16_t mlid;
	uint16_t pkey;
	uint16_t mtu;		/* bytes */
	uint8_t sl;
};

/* Congestion control of a subnet, for `weft show congestion`. */
struct congestion_view {
	bool enabled;		/* by the configuration */
	bool undoing;		/* it is not, but some port still holds what was written */
	bool keyed;		/* a key is configured */
	uint8_t threshold;	/* what is wanted of switches, */
	uint8_t packet_size;
	uint16_t marking_rate;
	bool starvation;	/* that they mark for want of credits, */
	struct cc_ca_entry host;	/* and of hosts, but at levels that are off */
	uint16_t levels_off;	/* bit n: SL n is not controlled */
	uint16_t steps;		/* of the table of delays */
	uint32_t unread;	/* end ports of which not all is known yet, */
	uint32_t absent;	/* that do not know the class, or do not answer, */
	uint32_t locked;	/* that have another key, */
	uint32_t refused;	/* that do not take something, */
	uint32_t held;		/* that were read back as they should be */
};

/* Of one end port that was asked. */
struct congestion_row {
	uint64_t next;		/* where to go on */
	uint64_t guid;		/* node GUID */
	const char *state;	/* "unread", "absent", "locked", "refused", "held" */
	const char *why;	/* in words; NULL */
	const char *key;	/* "none", "ours", "other"; NULL: not known */
	uint16_t violations;	/* of the key, as told */
	uint8_t port;		/* 0: a switch */
	bool is_switch;		/* sw, or ca */
	bool known;		/* and that was read */
	struct cc_switch_setting sw;
	uint16_t overridden;	/* ports of it that have a setting of their own */
	struct cc_ca_setting ca;
	uint16_t steps;		/* of a host's table of delays, as told; 0: none, or not known */
	uint16_t room;		/* for so many */
};

/* A service that was registered, for `weft show services`. */
struct service_row {
	uint64_t next;		/* where to go on */
	uint64_t id;		/* ServiceID */
	uint64_t gid[2];	/* ServiceGID: upper and lower half */
	uint64_t port_guid;	/* of who registered it */
	uint32_t lease;		/* seconds that are left; UINT32_MAX: no end */
	uint16_t pkey;
	char name[65];		/* ServiceName */
};

/* Who is told of which events, for `weft show subscriptions`. */
struct subscription_row {
	uint64_t next;		/* where to go on */
	uint64_t guid;		/* of the port */
	uint64_t gid[2];	/* events of this GID alone; 0 any */
	uint64_t sent;		/* Reports to this port, for all of its subscriptions, */
	uint64_t answered;	/* of these */
	uint64_t lost;		/* never answered, or not sent for want of room */
	uint32_t waiting;	/* to be sent */
	uint32_t qp;		/* where they go */
	uint32_t producer;	/* generic: producer type, 0xffffff any; else vendor */
	uint16_t type;		/* 0xffff any */
	uint16_t trap;		/* generic: trap number, 0xffff any; else device */
	uint16_t lid_first;	/* events of these LIDs; 0xffff any */
	uint16_t lid_last;	/* 0: the same */
	bool generic;		/* traps of the specification; else a vendor's own */
	bool trusted;		/* security traps too */
};

#endif
