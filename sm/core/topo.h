/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_TOPO_H
#define CORE_TOPO_H

#include <stdbool.h>
#include <stdint.h>
#include "sm/base/list.h"
#include "sm/base/map.h"
#include "sm/conf/config.h"
#include "sm/core/bits.h"
#include "sm/core/ghosts.h"
#include "sm/core/tables.h"
#include "sm/fabric/fabric.h"
#include "sm/fabric/plan.h"
#include "sm/fabric/sls.h"
#include "sm/port/transact.h"

/*
 * The live model of a subnet: every device that was seen, what each is known to hold (the
 * shadow), and which port is cabled to which. Sweeps write it, pushes write it, snapshots are
 * made from it. It lives as long as the subnet has its port.
 */

enum agent_kind {
	AGENT_DEVICE,		/* asks and programs one device */
	AGENT_PROBE,		/* asks who is at the far end of one port */
	AGENT_OWN,		/* asks our own node who it is */
	AGENT_READER,		/* reads tables of one device in the background */
};

/* What the transaction engine calls back for. */
struct agent {
	struct transact_target target;	/* first: the two are cast into each other */
	enum agent_kind kind;
};

enum port_flags {
	LIVE_PORT_READ = 1,		/* info holds something */
	LIVE_PORT_DUPLICATE = 2,	/* the far end claims a GUID that lives elsewhere */
	LIVE_PORT_VERIFYING = 4,	/* to be probed though the far end has told of the cable */
	LIVE_PORT_PROBING = 8,		/* a probe is queued or in flight */
	LIVE_PORT_REREGISTER = 16,	/* clients must be asked to register again */
	LIVE_PORT_REFUSED = 32,		/* refused a Set in the last push */
	LIVE_PORT_EXTENDED_READ = 64,	/* info was asked for with the extended-speed bit */
	LIVE_PORT_UNANSWERED = 128,	/* link is up, nobody answers behind it */
	LIVE_PORT_PROBED = 256,		/* the probe is in flight */
	LIVE_PORT_STUCK = 512,		/* could not be brought up by the last push */
	LIVE_PORT_TOO_FAR = 1024,	/* link is up, what is behind it is out of our reach */
	LIVE_PORT_JUDGE = 2048,		/* the answer to its probe decides claims */
	LIVE_PORT_CLAIM_DUE = 4096,	/* what stood against its claim has changed: probe again */
	LIVE_PORT_PASSED = 8192,	/* Sets may have passed since it was looked at */
	LIVE_PORT_FEW_ENTRIES = 16384,	/* its VL arbitration leaves out a lane: push_vlarb.c */
};

/* How an end port stands to what is wanted of congestion control. */
enum congestion_state {
	CONGESTION_UNREAD,	/* not all of it is known yet */
	CONGESTION_ABSENT,	/* it does not know the class, or does not answer */
	CONGESTION_LOCKED,	/* it has a key that we do not know */
	CONGESTION_REFUSED,	/* it does not take something, or does not tell it */
	CONGESTION_HELD,	/* it was read back as it should be */
	CONGESTION_STATES,
};

struct live_adaptive;
struct live_congestion;
struct live_port {
	struct agent probe;		/* asks the far end's NodeInfo */
	struct list wait;		/* in a level's queue of probes, or nowhere */
	struct device *device;		/* whose port this is */
	struct device *peer;		/* device at the far end; NULL */
	struct list claim;		/* in topo.claims, or nowhere */
	uint64_t claim_guid;		/* GUID, held elsewhere, that the far end says to have */
	uint64_t judge_guid;		/* node GUID of the port whose probe decides the claim */
	uint64_t lost_peer;		/* node GUID that was cabled here before; 0 */
	uint8_t lost_number;		/* and its port */
	uint8_t lost_type;		/* and its enum node_type */
	struct portinfo info;		/* as last read or acknowledged */
	uint64_t guid;			/* CA port, switch port 0 */
	monotime probe_after;		/* back-off: not before this time */
	monotime trap_told;		/* last event about traps 129-131; 0 never */
	uint32_t traps;			/* of these numbers so far */
	uint32_t link_sweep;		/* sweep that confirmed the link last */
	uint32_t verified_sweep;	/* sweep that asked it about a rival's claim */
	uint32_t refused_sweep;		/* sweep that left out what is behind it last */
	uint32_t probe_sweep;		/* sweep of `probes` */
	uint32_t read_sweep;		/* sweep that read info last */
	uint32_t asked_sweep;		/* sweep that asked for info last */
	uint64_t far_guid;		/* node GUID that its last probe was answered with */
	uint64_t seen_guid;		/* device behind it when it was looked at last; 0 none */
	uint32_t far_sweep;		/* sweep of that probe */
	uint32_t stubborn;		/* fields (enum push_field) that keep another value; set
					 * by remarks_stubborn() */
	uint64_t *guids;		/* end port: GUIDInfo as acknowledged; NULL: never was */
	uint32_t guids_known;		/* bit n: block n of it */
	uint32_t guids_untold;		/* bit n: block n is not known, and the device refuses to
					 * tell */
	uint32_t guids_refused;		/* bit n: block n is not taken, and not tried just now */
	uint32_t guids_told;		/* and that was told */
	struct live_congestion *congestion;	/* end port; NULL: never asked; see congestion.c */
	struct port_tables tables;	/* P_Keys, VL arbitration, SL to VL */
	uint8_t number;			/* port number */
	uint8_t peer_number;		/* port number at the far end */
	uint8_t far_port;		/* port number that its last probe was answered with */
	uint8_t seen_port;		/* port number there, with seen_guid */
	uint8_t judge_port;		/* and its number */
	uint8_t probes;			/* in one sweep */
	uint8_t probe_failures;		/* in a row */
	uint8_t level;			/* distance under which its probe is counted */
	bool fell;			/* its link came up anew since it was asked last who is
					 * behind it; of both ends */
	bool raised;			/* a push has brought its link to ARMED since then, and
					 * not asked once more */
	bool passed;			/* a request is under way that is to prove its cable */
	bool plainly;			/* it is asked by the usual way, for others lead astray */
	uint16_t flags;			/* enum port_flags */
};

/* What a switch is known to hold of its multicast table: blocks of 32 MLIDs, each for `positions`
 * times 16 ports; see mft.c. */
struct mft_shadow {
	uint16_t **blocks;	/* 32 masks for each (block, position); NULL: all are 0 */
	bool *known;		/* by (block, position): it was read or acknowledged */
	uint32_t len;		/* (block, position) pairs in both */
	uint16_t **found;	/* as `blocks`: what it held when we took over, while that counts */
	uint32_t nfound;	/* pairs in it */
	uint32_t next;		/* the next to compare */
	monotime retry_at;	/* after failures: not before */
	unsigned failures;	/* rounds in a row */
	bool top_next;		/* then MulticastFDBTop */
	bool failed;		/* in this round */
	bool live;		/* it forwarded when its tables were last read */
	bool reset;		/* it was reset: what is not in `blocks` yet is empty */
	bool unreadable;	/* it refuses to tell */
	bool defaults_tried;	/* default ports for multicast were set to none once */
};

/* Reading of tables that are not known yet, when nothing else is to be done; see reader.c. */
struct device_tables {
	struct agent agent;	/* asks for them */
	struct list active;	/* in reader.active, or nowhere */
	monotime after;		/* it did not answer: not asked before this time */
	uint32_t next;		/* where to look for what is not known */
	uint8_t inflight;	/* requests under way */
	uint8_t failures;	/* rounds in a row that it did not answer in */
	bool due;		/* something may be unknown */
	bool failed;		/* did not answer in this round */
};

struct device {
	struct agent agent;		/* requests to this device */
	struct list all;		/* in topo.devices */
	struct list remarked;		/* in topo.remarked, or nowhere; see remarks.c */
	uint64_t guid;			/* node GUID */
	struct nodeinfo info;		/* as read through the port that found it */
	char desc[NODEDESC_SIZE];	/* NodeDescription */
	struct switchinfo sw;		/* switches: as last read or acknowledged, */
	bool sw_read;			/* once it was; all 0 before */
	struct live_port *ports;	/* 0..info.num_ports */
	struct plan_row *lft;		/* switches: what its LFT is known to hold; NULL unknown */
	uint32_t index;			/* place in topo.table */
	uint32_t seen_sweep;		/* sweep that reached it last */
	uint32_t disputed_sweep;	/* sweep in which another device claimed its GUID last */
	uint32_t cut_sweep;		/* switch: sweep in which it lost a cable last */
	uint32_t info_sweep;		/* switch: sweep that asked for SwitchInfo last */
	uint32_t mark;			/* scratch of graph walks */
	uint32_t fabric_node;		/* node index in the newest snapshot; FABRIC_NONE */
	uint32_t path_version;		/* topo.path_version when the path was made */
	uint16_t inflight;		/* requests of this device that are under way */
	uint8_t hops;			/* directed route: hop count */
	uint8_t path[SMP_MAX_HOPS + 1];	/* directed route: out ports path[1..hops] */

	/* What the sweep still wants of it. */
	bool want_switch_info;
	bool want_clear;		/* PortStateChange must be cleared before ports are read */
	bool want_desc;
	bool want_owner;		/* who leads, as its port 0 has it */
	bool want_lanes;		/* a map that it refused is tried again */
	bool wait_switch_info;		/* ports are read only after this answer */
	bool wait_port0;		/* and this one: it tells of extended speeds */
	bool dirty;			/* read its ports even if nothing says that they changed */
	struct bits256 read;		/* ports whose PortInfo is wanted */
	struct bits256 pkeys;		/* CA ports of which P_Key blocks are wanted */
	struct bits256 sminfo;		/* ports whose SMInfo is wanted */
	bool busy;			/* counted in its level's work */
	bool answered;			/* something in this sweep */
	uint8_t level;			/* distance under which it is counted */
	uint8_t failures;		/* sweeps in a row that it was silent in, or withheld */
	monotime retry_after;		/* silent, or withholds: not asked before this time */
	bool withholds;			/* refused to tell of itself or of a port when asked last */
	bool relinked;			/* a port came to INIT in this sweep */
	bool suspect;			/* a request timed out in this sweep */
	uint64_t tried_path;		/* topo_path_hash() when it was asked last */
	bool silent;			/* does not answer; kept for what it forwards */
	bool complete;			/* everything needed was read at least once */
	bool extended;			/* offers extended link speeds */
	uint32_t plain_sweep;		/* sweep in which it refused to tell of them last */

	/* What the push still has to do; see push.c. */
	bool push_switch_info;
	bool switch_info_sent;		/* and not answered yet: its table waits, see push.c */
	bool push_failed;		/* timed out in this push */
	bool lft_trusted;		/* lft is certain: read or acknowledged since it came up */
	bool lft_failed;		/* a block of this push was refused or lost */
	bool lft_refused;		/* a block was refused since its table was read last */
	bool lft_refuses;		/* the table that was read then stays; see push_table.c */
	bool lft_trial;			/* it is to be asked whether it still does */
	bool lft_pending;		/* the row of this push is not yet acknowledged whole */
	uint8_t lft_unanswered;		/* pushes in a row in which it did not answer a block */
	uint8_t lft_losses;		/* pushes in a row that were cut for its table */
	uint32_t lft_next;		/* next block to compare, or to read */
	uint32_t lft_inflight;		/* blocks under way */
	struct live_order *order;	/* hosts: what they take in any order; NULL: never asked;
					 * see adaptive_hosts.c */
	struct lane_tables *lanes;	/* switches: SL to VL maps as `tables` of its ports have
					 * them, unless lanes_changed; NULL; see lanes.h */
	struct plan_sls *lanes_plan;	/* it was found to hold all of these, unless lanes_changed;
					 * reference held, NULL */
	uint32_t lanes_sw;		/* its switch index there */
	uint32_t lanes_next;		/* next map to compare, or to read */
	uint16_t lanes_inflight;	/* requests for maps under way */
	bool lanes_changed;		/* maps became known, or are not known any more, or a port
					 * takes part that did not */
	bool lanes_pending;		/* some of this push are not seen to yet */
	bool lanes_wait;		/* the answer is waited for before others are set */
	bool lanes_held;		/* it holds those of this push */
	bool lanes_refused;		/* it does not take what it is given, */
	bool lanes_plain;		/* nor the optimised forms */
	uint8_t lanes_port;		/* it refused for this output port, */
	struct sls_map lanes_tried;	/* this map, */
	uint8_t lanes_failures;		/* so often in a row, */
	monotime lanes_after;		/* and is not tried again before this time */
	struct live_adaptive *ar;	/* switches: adaptive routing; NULL: never asked */
	struct mft_shadow mft;		/* switches: multicast */
	struct bits256 guid_ports;	/* end ports with alias GUIDs to write; see guids.c */
	uint8_t set_port;		/* to be disabled or enabled; 0 none; see disable.c */
	uint8_t guid_port;		/* the one at which this is */
	uint8_t guid_block;		/* and the next block there */
	bool guids_failed;		/* did not answer in this round */
	struct device_tables tables;	/* reading of what its ports hold */
	struct plan_row *lft_tried;	/* not trusted: of this row there may be blocks in place of
					 * those of lft, for it was not heard of any more when it
					 * was given them; NULL */
	struct plan_row *lft_read;	/* row being read from the device; NULL */
	struct bits256 config;		/* ports to compare and configure */
	struct bits256 activate;	/* ports to bring to ACTIVE */
	struct bits256 recheck;		/* ports that were down: read again after the clear */
	struct bits256 look;		/* ports whose cable may be gone, by a trap */
	struct bits256 pkey_set;	/* ports whose P_Keys are written (push_pkeys.c), or VL
					 * arbitration (push_vlarb.c) */
	struct bits256 pkey_again;	/* once more, when what was asked is answered */
	unsigned pkey_block;		/* the next of the first of pkey_set */
};

/* mft.c */
void
mft_free(struct mft_shadow *m);

/* What happened to the model, for events. The functions may be NULL. */
struct topo_watch {
	void (*node)(void *arg, const struct device *d, bool up);
	void (*link)(void *arg, const struct live_port *a, const struct live_port *b, bool up);
	void *arg;
};

struct topo {
	struct map by_guid;		/* node GUID -> table index */
	struct map by_port_guid;	/* CA port GUID -> table index of its device; kept true by
					 * topo_set_port_guid() alone */
	struct map extended;		/* models that were seen to offer extended speeds */
	struct list devices;		/* all devices, in order of discovery */
	struct list remarked;		/* those that status may have to warn of */
	struct {
		uint32_t ports;		/* that have this bit in live_port.stubborn */
		uint64_t first;		/* node GUID of one that had the first of them */
	} stubborn[32];			/* by number of the bit; see remarks.c */
	uint32_t congestion[CONGESTION_STATES];	/* end ports by state; see congestion.c */
	struct list claims;		/* live_port.claim: ports whose far end claims a GUID that
					 * is held elsewhere; see claims.c */
	bool claims_due;		/* some have LIVE_PORT_CLAIM_DUE */
	struct device **table;		/* len slots, NULL where a device went */
	uint32_t len;			/* slots used */
	uint32_t size;			/* slots allocated */
	uint32_t holes;			/* slots among len that are NULL */
	uint32_t *by_node;		/* node index in the newest snapshot -> table index; what it
					 * leads to may be another device by now */
	uint32_t nby_node;		/* of these */
	uint32_t near;			/* node index of what topo_find_near() found last */
	uint32_t marks;			/* last mark handed out for a walk */
	uint32_t version;		/* rises when devices or links come or go */
	uint32_t path_version;		/* rises when links go */
	uint32_t walk_version;		/* path_version when all paths were made last */
	struct device *own;		/* the subnet manager's node; NULL before it answered */
	uint8_t own_port;		/* its port number there */
	struct tables tables;		/* contents of tables that ports hold */
	struct ghosts ghosts;		/* devices that are gone */
	struct topo_watch watch;	/* told of changes */
};

/* congestion_port.c */
void
congestion_free(struct topo *t, struct live_port *p);

/* adaptive.c */
void
adaptive_free(struct device *d);
void
adaptive_forget(struct device *d);

/* Nobody knows any more by which table the switch forwards. */
static inline void
topo_doubt_table(struct device *d)
{
	d->lft_trusted = d->lft_refuses = false;
	adaptive_forget(d);
}

void
topo_init(struct topo *t);
/* Frees all devices; their targets must have been cancelled (topo_cancel). */
void
topo_free(struct topo *t);
/* The same, but what they were cabled to is remembered. */
void
topo_reset(struct topo *t);
void
topo_cancel(struct topo *t, struct transact *x);

/* A new device from the NodeInfo that was read through port info->local_port. */
struct device *
topo_add(struct topo *t, const struct nodeinfo *info);
struct device *
topo_find(const struct topo *t, uint64_t guid);
/* The same at less cost for whoever asks for one device after the other, in the order of GUIDs, or
 * for the same again. */
struct device *
topo_find_near(struct topo *t, uint64_t guid);
/* The CA port that holds this port GUID, or NULL. */
struct live_port *
topo_find_port(const struct topo *t, uint64_t guid);
/* CA ports: takes it from the port that held it before, if any. 0: none. */
void
topo_set_port_guid(struct topo *t, struct live_port *p, uint64_t guid);
/* Unlinks and frees; cancels its transactions. */
void
topo_remove(struct topo *t, struct transact *x, struct device *d);
/* Join two ports (either may be joined elsewhere before: that link goes). */
void
topo_link(struct topo *t, struct live_port *a, struct live_port *b);
void
topo_unlink(struct topo *t, struct live_port *p);
/* An end of the link was seen to have come up anew: who is at the far end is to be asked. */
void
topo_doubt_link(struct live_port *p);
/* Cables that are lost are not remembered any longer. */
void
topo_forget_lost(struct topo *t);
static inline struct agent *
agent_of(struct transact_target *t)
{
	return list_entry(t, struct agent, target);
}

/* The device that an agent asks, or whose port it asks through; not for AGENT_OWN. */
static inline struct device *
agent_device(struct agent *a)
{
	switch (a->kind) {
	case AGENT_PROBE:
		return list_entry(a, struct live_port, probe)->device;
	case AGENT_READER:
		return list_entry(a, struct device, tables.agent);
	default:
		return list_entry(a, struct device, agent);
	}
}

static inline struct live_port *
live_peer(const struct live_port *p)
{
	return p->peer ? &p->peer->ports[p->peer_number] : NULL;
}

/*
 * Directed route to a device as seen through its port `number` (for a switch: any). Returns the
 * hop count and fills path[1..hops]; -1 if no route is known or it is longer than 63 hops.
 */
int
topo_path(const struct topo *t, const struct device *d, unsigned number,
	  uint8_t path[SMP_MAX_HOPS + 1]);
/* See that topo_path() to a port of the device follows cables that are there: one that crosses a
 * cable that went is made anew. False if no way is known. */
bool
topo_mend_path(struct topo *t, struct device *d, unsigned number);
/* Whether this directed route ends at the device (`hops` of 0: our own). */
bool
topo_path_leads(const struct topo *t, const struct device *d, const uint8_t *path, unsigned hops);
/* Shortest paths from our own node over the known links, for every device that can be asked: silent
 * and suspect devices are reached but not passed through. Sets d->mark to `mark` on what is
 * reached. */
void
topo_make_paths(struct topo *t, uint32_t mark);
/* The same walk through silent devices too (they still forward data), setting marks alone. */
void
topo_mark_connected(struct topo *t, uint32_t mark);
/* Tells paths of one device from each other. */
uint64_t
topo_path_hash(const struct device *d);
/* Give `d` a path over another link than its present one; false if there is none. */
bool
topo_other_path(struct topo *t, struct device *d);

/* "name (0xguid)" for logs, name from the map or the description. */
#define DEVICE_TEXT_SIZE 100
const char *
device_text(char buf[DEVICE_TEXT_SIZE], const struct device *d, const struct name_map *names);
/* "0,1,17": a directed route for people. */
#define PATH_TEXT_SIZE 260
const char *
path_text(char buf[PATH_TEXT_SIZE], const uint8_t *path, unsigned hops);

/* Attribute modifier of PortInfo for a device's port. */
static inline uint32_t
live_port_modifier(const struct device *d, unsigned n)
{
	return n | (d->extended && (n || d->info.node_type != NODE_SWITCH) ?
		    PORTINFO_MOD_EXTENDED : 0);
}

static inline bool
live_port_up(const struct live_port *p)
{
	return p->flags & LIVE_PORT_READ && p->info.state >= PORT_INIT;
}

#endif
