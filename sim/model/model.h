/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_MODEL_H
#define SIM_MODEL_H

#include <stdbool.h>
#include <stdint.h>
#include "sm/base/error.h"
#include "sm/base/loop.h"
#include "sm/text/ibnet.h"
#include "sm/wire/attr.h"
#include "sm/wire/congestion.h"
#include "sm/wire/mad.h"

/*
 * A fabric of simulated devices in this process.
 *
 * Each node of a struct ibnet has a subnet management agent (SMA) that answers SMPs; MADs travel
 * hop by hop, by directed route through the ports they name, by LID through the forwarding tables
 * that were written. Clients (subnet managers, tests) attach to a node's port, send MADs and get
 * what arrives there. All of it runs on one loop; with a virtual loop it is the same on each run.
 * Nodes are named by their index in the struct ibnet, which must outlive the model.
 */
struct model;
struct model_client;
struct ar_options;

/* What a device can do; a field that is 0 has the value named behind it. */
#define MODEL_NO_CAP 0xffff	/* as a number of entries: none at all */
struct model_caps {
	uint16_t linear_fdb;	/* LIDs of a switch's LFT; 49152 */
	uint16_t multicast_fdb;	/* MLIDs of its MFT; 1024 */
	uint16_t ca_pkeys;	/* P_Keys of a CA's or router's port; 64 */
	uint16_t port0_pkeys;	/* of a switch's port 0; 32 */
	uint16_t switch_pkeys;	/* of its external ports (PartitionEnforcementCap); 64 */
	uint16_t guids;		/* GUIDs of a CA port, at most 255; 8 */
	uint16_t port0_guids;	/* of a switch's port 0; 8 */
	uint16_t vlarb;		/* entries of each VL arbitration table, at most 64; 8 */
	uint16_t cc_table;	/* blocks of 64 entries of a CA port's congestion control table, at
				 * most 255; none: a device, switches too, that does not know
				 * class 0x21; 2 */
	uint8_t mtu;		/* MTU code of external ports; model_options.mtu_cap */
	uint8_t port0_mtu;	/* of a switch's port 0; that of the others */
	uint8_t vls;		/* VL code of external ports; model_options.vl_cap */
	uint8_t port0_vls;	/* of a switch's port 0; 1: VL 0 */
	bool no_enforcement;	/* a switch keeps P_Keys but does not enforce partitions */
	bool optimized_sl2vl;	/* SLtoVL tables of many ports can be set at once */
	bool mft_top;		/* MulticastFDBTop counts */
	bool no_starvation;	/* a switch does not mark for want of credits */
};

struct model_options {
	uint64_t seed;		/* of lost MADs */
	bool instant;		/* MADs take no time: they land in order at the loop's next turn;
				 * the two times below do not count, model_delay() does */
	monotime hop_time;	/* of one MAD over one cable; 0: 500 ns */
	monotime sma_time;	/* of one MAD in an SMA, which does one at a time; 0: 5 us. 16,384
				 * may wait, more are lost */
	monotime train_time;	/* until a link that went down is up again; 0: 1 ms */
	uint8_t mtu_cap;	/* MTU code of all ports; 0: 4096 bytes */
	uint8_t vl_cap;		/* VL code of all external ports; 0: VL 0-7 */
	const struct ar_options *ar;	/* of switches of the vendor (sim/model/ar.h), copied; NULL:
					 * none routes adaptively */
	struct model_caps caps;	/* of all devices but those that model_set_caps() names */
	/* Capabilities and speeds as packaged ibsim shows them; `caps` does not count. The text
	 * has gone through model_ibsim_text(). */
	bool like_ibsim;
};

/* Change a text into what ibsim makes of it: port GUIDs follow from the nodes', and cables
 * faster than HDR are SDR ones. For model_options.like_ibsim. */
void
model_ibsim_text(struct ibnet *net);
/* Trains the links that are cabled (before this returns, without traps) and hands each end port
 * the LID that the file gives it. `options` may be NULL. */
struct model *
model_new(struct loop *l, const struct ibnet *net, const struct model_options *options);
void
model_free(struct model *m);	/* clients are freed with it */
const struct ibnet *
model_ibnet(const struct model *m);
struct loop *
model_loop(const struct model *m);

/* The global route header that a GMP may have; the fabric is one subnet, it only carries it. */
struct model_grh {
	uint8_t sgid[16], dgid[16];	/* of the sender and of the receiver */
	uint32_t flow_label;	/* 20 bits */
	uint8_t traffic_class, hop_limit;
};

/* A MAD as a client sends or gets it. */
struct model_mad {
	uint8_t mad[MAD_SIZE];	/* wire bytes */
	uint16_t lid;		/* out: destination, LID_PERMISSIVE for directed ones but where
				 * they begin with a part by LID; in: source, likewise */
	uint8_t qp;		/* 0 SMP, 1 GMP */
	uint8_t sl;		/* service level of a GMP */
	uint16_t pkey_index;	/* of a GMP: in the sender's table; in: in the receiver's */
	uint8_t path_bits;	/* added to the port's LID: out, the source; in, the destination */
	bool has_grh;		/* of a GMP: `grh` counts */
	struct model_grh grh;
};

struct model_client_events {
	void (*receive)(void *arg, const struct model_mad *mad);	/* valid during the call */
	/* A Set changed the port's PortInfo, P_Keys or GUIDs, or its link came or went; called
	 * before the answer travels; may be NULL. */
	void (*changed)(void *arg);
	void *arg;				/* handed to all */
};

/* One MAD on its way, for whoever watches: told once, when it sets out. One to a multicast LID ends
 * at the first of those whom it reaches. */
struct model_passage {
	const uint8_t *mad;	/* MAD_SIZE wire bytes, as they set out */
	uint32_t from, to;	/* nodes; `to` is where it ends, or gets lost */
	uint8_t from_port, to_port;	/* end port that it leaves; port at which it ends */
	uint16_t slid, dlid;	/* LID_PERMISSIVE for directed routes */
	uint8_t qp, sl;		/* 0 SMP, 1 GMP; service level */
	bool lost;		/* it does not arrive */
};
typedef void (*model_tap_fn)(void *arg, const struct model_passage *p);
/* Watch all MADs; NULL ends it. One watcher at a time. */
void
model_tap(struct model *m, model_tap_fn fn, void *arg);

/* Things that happen to the fabric itself: links, devices, faults; for event logs. One line of
 * text each, without an end of line. One watcher at a time. */
typedef void (*model_log_fn)(void *arg, const char *text);
void
model_log(struct model *m, model_log_fn fn, void *arg);

/* Attach to a port of a CA, or to port 0 of a switch. NULL if there is no such port or somebody is
 * attached to it. Callbacks come from the loop, never inside a call. */
struct model_client *
model_attach(struct model *m, uint32_t node, unsigned port, const struct model_client_events *ev);
void
model_detach(struct model_client *c);	/* no callback follows; IsSM is withdrawn */
void
model_send(struct model_client *c, const struct model_mad *mad);	/* takes a copy */
void
model_set_issm(struct model_client *c, bool on);

/* Looking into the devices. Pointers are valid until the model changes. */
const struct portinfo *
model_portinfo(const struct model *m, uint32_t node, unsigned port);
uint64_t
model_port_guid(const struct model *m, uint32_t node, unsigned port);
const struct switchinfo *
model_switchinfo(const struct model *m, uint32_t node);
uint8_t
model_lft(const struct model *m, uint32_t node, uint16_t lid);	/* LFT_NO_PORT if unset */
/* Bit n for port 16 * position + n that a multicast LID goes out by, if it counts. */
uint16_t
model_mft(const struct model *m, uint32_t node, uint16_t mlid, unsigned position);
uint64_t	/* of an end port's GUID table; 0: no such entry, or none is set */
model_guid(const struct model *m, uint32_t node, unsigned port, unsigned index);
unsigned	/* entries of a port's P_Key table */
model_pkeys(const struct model *m, uint32_t node, unsigned port);
uint16_t
model_pkey(const struct model *m, uint32_t node, unsigned port, unsigned index);
uint8_t
model_sl2vl(const struct model *m, uint32_t node, unsigned in, unsigned out, unsigned sl);
/* A block (1..4) of VL arbitration that was read or written once, else zeros. */
void
model_vlarb(const struct model *m, uint32_t node, unsigned port, unsigned block,
	    struct vlarb_entry e[32]);
/* Congestion control that an end port holds; all 0 before it was asked. */
struct model_congestion {
	struct cc_key_info key;
	struct cc_switch_setting sw;	/* of a switch, */
	const struct cc_port_setting *ports;	/* and of its ports, by number */
	struct cc_ca_setting ca;	/* of a host's port */
	const struct cc_delay *table;	/* likewise, and the last index in it */
	uint16_t limit;
};
void
model_congestion(const struct model *m, uint32_t node, unsigned port, struct model_congestion *c);
bool
model_link_is_up(const struct model *m, uint32_t node, unsigned port);
/* Follow a data packet from an end port to a LID over ACTIVE links. Returns the number of switches
 * on the way (and the end node), ERR_NOT_FOUND where a table has no port, ERR_CLOSED at a link that
 * is not ACTIVE, ERR_FULL after 64 hops. */
int
model_trace(const struct model *m, uint32_t node, unsigned port, uint16_t dlid, uint32_t *end);

/* An attribute of the congestion control class, where one of an SMA's is asked for: below, and for
 * faults. */
#define MODEL_CC(attr_id) (0x2100u | (attr_id))
/* Requests that reached an SMA (and were then answered or not), by method and attribute. */
#define MODEL_ALL UINT32_MAX
uint64_t
model_count(const struct model *m, uint32_t node, uint8_t method, uint16_t attr_id);
void
model_count_reset(struct model *m);
/* Sets of PortInfo with ClientReregister that the port took. */
unsigned
model_reregisters(const struct model *m, uint32_t node, unsigned port);
/* All MADs that clients sent, and those that did not arrive. */
uint64_t
model_sent(const struct model *m);
uint64_t
model_lost(const struct model *m);

/* Faults and changes. Switches at the ends note a change of link state and send trap 128. All but
 * capabilities, what a subnet manager can set as well (LIDs, what is enabled) and what a reboot
 * loses ends by model_heal(). */
void
model_link_set(struct model *m, uint32_t node, unsigned port, bool up);
/* Down now, and up again after this time unless model_link_set() comes between. */
void
model_link_flap(struct model *m, uint32_t node, unsigned port, monotime down);
/* Pull the cables of both ports, if any, and join the two by a new one of the first's rate. */
void
model_recable(struct model *m, uint32_t a, unsigned aport, uint32_t b, unsigned bport);
/* The link trains again, at most to this width and speed; 0: as the cable can. */
void
model_link_limit(struct model *m, uint32_t node, unsigned port, enum link_width width,
		 enum link_speed speed);
/* MADs over a cable get lost (in 1/1,000,000) or come later; 0 ends it. */
enum model_way {
	MODEL_OUT = 1,		/* those that leave by the port */
	MODEL_IN = 2,		/* those that come in by it */
	MODEL_BOTH = 3,
};
void
model_link_drop(struct model *m, uint32_t node, unsigned port, enum model_way way, uint32_t ppm);
void
model_link_delay(struct model *m, uint32_t node, unsigned port, enum model_way way,
		 monotime delay);
/* A device without power: no links, no answers, and all that was written is lost. */
void
model_power(struct model *m, uint32_t node, bool on);
bool
model_is_on(const struct model *m, uint32_t node);
/* All that was written is lost, and all links go down and up again. */
void
model_reboot(struct model *m, uint32_t node);
/* Undo every fault of a node and its links, also where cables lead; MODEL_ALL: of each node. */
void
model_heal(struct model *m, uint32_t node);

enum model_silence {
	MODEL_ANSWERS,		/* as it should */
	MODEL_SILENT,		/* the SMA answers nothing; all kinds of MADs pass through */
	MODEL_HUNG,		/* nor do directed routes pass through; tables still forward */
};
void
model_silence(struct model *m, uint32_t node, enum model_silence how);
/* No answer to one attribute (on), or as before. At most 8 attributes a node are remembered. */
void
model_mute(struct model *m, uint32_t node, uint16_t attr_id, bool on);
/* Lose this share of all MADs that a node sends or gets, in 1/1,000,000; MODEL_ALL: each node. */
void
model_drop(struct model *m, uint32_t node, uint32_t ppm);
/* Each answer of a node comes so much later. */
void
model_delay(struct model *m, uint32_t node, monotime delay);
/* The SMA does no more than so many MADs a second; up to `queue` (0: 32) wait, more are lost.
 * A rate of 0 ends it. */
void
model_slow(struct model *m, uint32_t node, uint32_t mads_per_second, uint32_t queue);
/* Sets of the attribute are answered with this MAD status and do nothing; 0 ends it. */
void
model_refuse(struct model *m, uint32_t node, uint16_t attr_id, uint16_t status);
/* Gets of the attribute are answered with this MAD status; 0 ends it. */
void
model_fail_get(struct model *m, uint32_t node, uint16_t attr_id, uint16_t status);

/* Fields that keep their value when they are set, while the answer's status is 0. */
enum model_keep {
	MODEL_KEEP_SUBNET_TIMEOUT = 1,
	MODEL_KEEP_SM_SL = 2,
	MODEL_KEEP_MTU = 4,
	MODEL_KEEP_OP_VLS = 8,
	MODEL_KEEP_LID = 16,
	MODEL_KEEP_LFT = 32,
	MODEL_KEEP_PKEYS = 64,
	MODEL_KEEP_FDB_TOP = 128,
	MODEL_KEEP_STATE = 256,
	MODEL_KEEP_AR_INFO = 512,
	MODEL_KEEP_AR_GROUPS = 1024,
	MODEL_KEEP_AR_LFT = 2048,
};
void
model_keep(struct model *m, uint32_t node, unsigned fields);
/* NodeInfo and PortInfo tell this LocalPortNum; 0 ends it. */
void
model_lie_local_port(struct model *m, uint32_t node, uint8_t port);
/* Another node GUID, or port GUID of an end port; both may double another's. */
void
model_set_node_guid(struct model *m, uint32_t node, uint64_t guid);
void
model_set_port_guid(struct model *m, uint32_t node, unsigned port, uint64_t guid);
/* An end port holds another LID, which may double another's, as if a subnet manager had set it. */
void
model_set_lid(struct model *m, uint32_t node, unsigned port, uint16_t lid);
/* An end port holds this key of congestion control, as if somebody had set it. */
void
model_set_congestion_key(struct model *m, uint32_t node, unsigned port,
			 const struct cc_key_info *key);
/* Another SystemImageGUID, with trap 145. */
void
model_set_system_guid(struct model *m, uint32_t node, uint64_t guid);
/* A new NodeDescription, with trap 144. */
void
model_set_description(struct model *m, uint32_t node, const char *text);
/* What somebody at the device allows its link now (0: as before), with trap 144; it counts when
 * the link trains the next time. False if the port does not support it. */
bool
model_set_enabled(struct model *m, uint32_t node, unsigned port, uint8_t widths, uint8_t speeds);
/* Other local changes: trap 144 of an end port with these change flags (NOTICE_144_...). */
void
model_local_change(struct model *m, uint32_t node, unsigned port, uint16_t flags);
/* Errors of a link reach their limit: trap 129 to 131, sent by the end port that belongs to it. */
void
model_port_errors(struct model *m, uint32_t node, unsigned port, enum trap_number which);
/* As if a packet with this bad key had come to an end port (trap 257: P_Key, 258: Q_Key), or to a
 * switch's external port (259): counted, and the trap sent. */
void
model_bad_key(struct model *m, uint32_t node, unsigned port, enum trap_number which, uint32_t key,
	      uint16_t slid);
/* Another device in its place, which can do this; it comes up as after a reboot. */
void
model_set_caps(struct model *m, uint32_t node, const struct model_caps *caps);

/* Port counters, by names such as "symbol_errors" or "xmit_data" (words of 4 bytes); port 0 is a
 * switch's own. A set or a count shows in all attributes that hold the counter; a rate lets it grow
 * evenly from now on, and 0 ends that. ERR_NOT_FOUND, with a sentence, if there is no such port or
 * counter. */
#define MODEL_COUNTER_RATE_MAX 1e12
int
model_counter_get(struct model *m, uint32_t node, unsigned port, const char *name, uint64_t *value,
		  struct error *e);
int
model_counter_set(struct model *m, uint32_t node, unsigned port, const char *name, uint64_t value,
		  struct error *e);
int
model_counter_add(struct model *m, uint32_t node, unsigned port, const char *name, uint64_t n,
		  struct error *e);
int
model_counter_rate(struct model *m, uint32_t node, unsigned port, const char *name,
		   double per_second, struct error *e);
/* Does it have a rate? False for what there is not. */
bool
model_counter_grows(struct model *m, uint32_t node, unsigned port, const char *name);
/* The names, from 0 on; NULL behind the last. */
const char *
model_counter_name(unsigned i);
/* 0 if a counter has this name, else ERR_NOT_FOUND with a sentence. */
int
model_counter_known(const char *name, struct error *e);

#endif
