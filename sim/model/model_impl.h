/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_MODEL_IMPL_H
#define SIM_MODEL_IMPL_H

#include "sim/model/model.h"
#include "sim/model/rng.h"
#include "sm/base/mem.h"

/* What the files of the model share: model.c owns the objects and links, device.c says what a
 * device is when it comes up, model_fault.c what goes wrong with it, flight.c carries MADs on the
 * ways that way.c finds, sma*.c, pma.c and cca.c answer them, trap.c sends notices. */
#define SL_NONE 0xffu		/* in place of a service level: any lane will do */
#define MLID_MIN 0xc000u	/* the first multicast LID */
#define CAP2_PORT_INFO_EXTENDED 0x0002u	/* CapabilityMask2: forward error correction is told */
#define FEC_SPEEDS 4u		/* with FEC modes of their own: FDR, EDR, HDR, NDR */
#define ATTRS 0x21u		/* attribute ids that are counted, */
#define CC_ATTRS 0x19u		/* and of class 0x21 */
#define MUTES 8u		/* attributes that a node can be silent about, or refuse */
#define HOPS_MAX 64	/* cables that a packet crosses */
#define VENDOR_MELLANOX 0x2c9u	/* now NVIDIA */

enum { COUNT_GET, COUNT_SET, COUNT_OTHER, COUNTS };

struct sim_port {
	struct portinfo info;	/* as it would be read, but for what depends on the request */
	uint64_t guid;		/* of an end port */
	monotime lease_end;	/* when protection by M_Key ends, MONOTIME_NEVER = not running */
	struct model_client *client;	/* attached to it, or NULL */
	monotime trap_next;	/* of an end port: it sends no trap before this time */
	uint16_t *pkeys;	/* device_pkeys() entries from malloc, NULL until it is written */
	uint64_t *guids;	/* info.guid_cap GUIDs from malloc, NULL until they are written */
	struct cca *cca;	/* congestion control agent, NULL until it is asked; cca.c */
	uint8_t *vlarb;		/* four blocks of SMP_DATA_SIZE, from malloc, NULL until written */
	struct link_faults *faults;	/* of the cable and its port, NULL until there are some */
	uint32_t peer;		/* node at the other end of the cable, IBNET_NONE = no cable */
	uint32_t reregisters;	/* ClientReregister bits taken */
	uint8_t peer_port;	/* port there */
	uint8_t cable_width;	/* enum link_width that the cable carries */
	uint8_t cable_speed;	/* enum link_speed that it carries */
	uint8_t fdr10;		/* bits FDR10_*: of the vendor's ExtendedPortInfo */
	uint16_t in_order;	/* SLs of node.any_order that are not to be had so */
	uint8_t fec[FEC_SPEEDS];	/* modes that were enabled, 0 = all */
	uint8_t phy_errors;	/* link errors, towards the threshold of PortInfo */
	uint8_t overruns;	/* excessive buffer overruns, towards theirs */
	bool cut;		/* the cable is out of order */
	bool training;		/* a flight that ends it is under way */
};

enum { FDR10_SUPPORTED = 1, FDR10_ENABLED = 2, FDR10_ACTIVE = 4, FDR10_STATE_CHANGE = 8 };

struct link_faults {
	monotime delay;		/* of MADs that leave by the port */
	uint32_t loss_ppm;	/* share of them that gets lost */
	uint32_t flap;		/* calls of model_link_set(), so that a flap knows its end */
	uint8_t width;		/* enum link_width: no wider than this, 0 = no limit */
	uint8_t speed;		/* enum link_speed, as well */
};

/* A trap that an end port sends, or sent once. */
struct sim_trap {
	struct sim_trap *next;	/* of the node */
	monotime due;		/* when its flight lands, MONOTIME_NEVER = none is under way */
	uint32_t tid;		/* of the trap that waits for its repress; 0 = none */
	uint32_t sent;		/* times that it was sent */
	uint16_t number;	/* enum trap_number */
	uint8_t port;		/* end port that sends it */
	uint8_t data[SMP_DATA_SIZE];	/* the notice */
};

struct sim_node {
	const struct ibnet_node *ib;	/* its text */
	const struct model_caps *caps;	/* with defaults filled in; the model's, or its own */
	struct sim_port *ports;		/* nports + 1, [0] of switches alone */
	struct switchinfo sw;		/* of a switch */
	uint64_t guid;			/* node GUID, which may be changed */
	uint64_t system_guid;		/* SystemImageGUID, which may be changed */
	uint8_t *lft;			/* lft_len entries, from malloc */
	uint16_t any_order;		/* of a host, bit n: SL n in any order, can be had */
	struct ar_switch *ar;		/* NULL: it does not route adaptively; ar.c */
	uint16_t *mft;			/* 16 positions of sw.multicast_fdb_cap masks, from malloc,
					 * NULL until written */
	uint8_t *sl2vl;			/* (nports + 1)^2 tables of 8 bytes, from malloc, NULL until
					 * written */
	monotime busy_until;		/* the SMA works on what came before */
	monotime delay;			/* of each answer */
	monotime slow;			/* of each MAD in a slow SMA, 0 = not slow */
	struct sim_trap *traps;		/* one a kind and end port, from the region */
	uint32_t counts[ATTRS][COUNTS];	/* requests that came */
	uint32_t cc_counts[CC_ATTRS][COUNTS];	/* of class 0x21 */
	uint32_t lft_len;		/* entries; the rest is LFT_NO_PORT */
	uint32_t drop_ppm;		/* share of MADs that get lost */
	unsigned keep;			/* enum model_keep */
	uint16_t mute[MUTES];		/* attributes without answer, 0 = free slot */
	uint16_t refuse[MUTES];		/* attributes that may not be set, 0 = free slot */
	uint16_t refuse_status[MUTES];	/* with this status */
	uint16_t fail[MUTES];		/* attributes that may not be read, 0 = free slot */
	uint16_t fail_status[MUTES];	/* with this status */
	uint32_t slow_queue;		/* MADs that may wait in a slow SMA */
	uint16_t notices;		/* traps made */
	uint8_t type;			/* enum node_type */
	uint8_t nports;			/* external ports */
	uint8_t silence;		/* enum model_silence */
	uint8_t lie_port;		/* LocalPortNum to tell, 0 = the right one */
	bool off;			/* it has no power */
	char desc[NODEDESC_SIZE];	/* NodeDescription */
	struct counters *counters;	/* NULL until something counts, from malloc; counters.c */
};

enum flight_kind {
	FLIGHT_ARRIVE,		/* a MAD reaches a node */
	FLIGHT_DELIVER,		/* a MAD reaches a client */
	FLIGHT_TRAP,		/* a trap is due again */
	FLIGHT_TRAIN,		/* a link has trained */
	FLIGHT_CHANGED,		/* a client is told of a change of its port */
	FLIGHT_FLAP,		/* a link's cable comes back */
	FLIGHT_SET_DOWN,	/* a link goes down because it was told to */
};

struct flight {
	struct flight *next;	/* in the list of spare ones, or in the queue */
	uint64_t turn;		/* in the queue: the turn in which it lands */
	uint32_t node;		/* where */
	uint32_t tid;		/* FLIGHT_TRAP: number of the trap; FLIGHT_FLAP: of the flap;
				 * FLIGHT_SET_DOWN: physical state */
	uint16_t slid, dlid;	/* of a MAD; LID_PERMISSIVE where it travels by directed route */
	uint16_t pkey;		/* of a GMP */
	uint8_t kind;		/* enum flight_kind */
	uint8_t port;		/* where: port of arrival; FLIGHT_TRAP: that sends it */
	bool gmp;		/* `mad` holds a GMP, else `smp` an SMP */
	struct smp smp;		/* the MAD */
	struct model_mad mad;	/* the MAD, if it is a GMP */
};

/* One request to an SMA. */
struct sma_request {
	struct model *m;	/* the fabric */
	struct sim_node *n;	/* the device */
	uint32_t node;		/* its index */
	unsigned in;		/* port that the request came through */
	uint32_t mod;		/* attribute modifier */
	bool set;		/* Set, not Get */
	bool show_key;		/* the M_Key may be told */
	uint8_t *data;		/* SMP_DATA_SIZE bytes, in and out */
};

struct sma_attribute {
	uint16_t id;		/* enum mad_attr, or a vendor's */
	bool set;		/* may be set */
	uint16_t (*run)(const struct sma_request *r);	/* returns a MAD status */
};

struct model_client {
	struct model *m;		/* where it is attached */
	struct model_client_events ev;	/* whom it tells */
	uint32_t node;			/* where it is attached */
	uint8_t port;			/* where it is attached */
};

struct model {
	struct loop *loop;		/* all happens on it */
	struct region *region;		/* owns nodes, ports and tables but the LFTs */
	const struct ibnet *net;	/* the text, borrowed */
	struct sim_node *nodes;		/* net->nnodes */
	struct model_options o;		/* with defaults filled in */
	struct rng rng;			/* decides what is lost */
	struct loop_timer *timer;	/* for the first flight */
	struct loop_timer *turn_timer;	/* for the next turn of the queue */
	struct flight *first, **last;	/* the queue of an instant model, and where it grows */
	uint64_t turn;			/* of the queue, counted */
	struct due *heap;		/* nheap flights, the first to end on top; flight.c */
	struct flight *spare;		/* flights to be used again */
	size_t nheap, heap_size;	/* in use, allocated */
	uint64_t seq;			/* of flights */
	uint64_t sent, lost;		/* MADs of clients, and those that got lost */
	uint64_t counts[ATTRS][COUNTS];	/* requests that came to any node */
	uint64_t cc_counts[CC_ATTRS][COUNTS];	/* of class 0x21 */
	uint32_t tid;			/* of traps */
	model_tap_fn tap;		/* told of each MAD, or NULL */
	void *tap_arg;			/* handed to it */
	model_log_fn log;		/* told what happens to the fabric, or NULL */
	void *log_arg;			/* handed to it */
	bool quiet;			/* no traps while the fabric is being set up */
	bool in_timer;			/* the timer is set when its callback ends */
	bool in_turn;			/* what starts now lands in this turn, not in the next */
	const struct counter_source *source;	/* adds to the counters, or NULL; borrowed */
};

/* The link of a port passes MADs. */
static inline bool
port_is_up(const struct sim_port *p)
{
	return p->info.state >= PORT_INIT;
}

static inline bool
is_end_port(const struct sim_node *n, unsigned port)
{
	return n->type == NODE_SWITCH ? !port : port != 0;
}

/* The number of the end port that belongs to a port. */
static inline unsigned
end_number(const struct sim_node *n, unsigned port)
{
	return n->type == NODE_SWITCH ? 0 : port;
}

/* The end port that belongs to a port: it holds the LID, the M_Key and the SM's address. */
static inline struct sim_port *
end_port(struct sim_node *n, unsigned port)
{
	return &n->ports[end_number(n, port)];
}

/* Of a cable's two ends, the one that it is listed at. False without a cable. */
static inline bool
is_first_end(const struct sim_port *p, uint32_t node, unsigned port)
{
	return p->peer != IBNET_NONE &&
		(node < p->peer || (node == p->peer && port <= p->peer_port));
}

/* The port towards a LID by the plain LFT, 0 if there is none. */
static inline unsigned
plain_port(const struct sim_node *n, uint16_t lid)
{
	if (lid > n->sw.linear_fdb_top || lid >= n->lft_len || n->lft[lid] > n->nports)
		return 0;
	return n->lft[lid];
}

/* An end port has this LID, by its LMC maybe as one of several. */
static inline bool
has_lid(const struct portinfo *i, unsigned lid)
{
	return i->lid && lid >= i->lid && lid - i->lid < 1u << i->lmc;
}

/* A packet that came in by a port is at the end port that it is sent to. */
static inline bool
lid_is_here(const struct sim_node *n, unsigned port, uint16_t lid)
{
	return has_lid(&n->ports[end_number(n, port)].info, lid);
}

/* The P_Key at an index of a port's table. */
static inline uint16_t
port_pkey(const struct sim_port *p, unsigned index)
{
	return p->pkeys ? p->pkeys[index] : index ? 0 : 0xffff;
}

/* Two P_Keys let each other in: one partition, not both limited members (IBA volume 1, 10.9.3). */
static inline bool
pkeys_match(uint16_t a, uint16_t b)
{
	return !((a ^ b) & 0x7fff) && a & 0x7fff && (a | b) & 0x8000;
}

/* The ports, of the 16 from 16 * position on, that a multicast LID goes out by. */
static inline uint16_t
node_mft(const struct sim_node *n, uint16_t mlid, unsigned position)
{
	unsigned at = mlid - MLID_MIN, cap = n->sw.multicast_fdb_cap;

	if (!n->mft || at >= cap || position > 15 ||
	    (n->sw.multicast_fdb_top && mlid > n->sw.multicast_fdb_top))
		return 0;
	return n->mft[(size_t)position * cap + at];
}

/* model.c */
bool
model_has_port(const struct model *m, uint32_t node, unsigned port);	/* 0 counts as one */
unsigned
model_method(uint8_t method);	/* COUNT_... */
struct sim_port *
model_peer(struct model *m, const struct sim_port *p);	/* NULL if there is no cable */
void
model_link_retrain(struct model *m, uint32_t node, unsigned port);	/* down, then it trains */
void
model_cable_reset(struct model *m, uint32_t node, unsigned port);	/* rate as in the file */
void
model_unplug(struct model *m, uint32_t node, unsigned port);
/* A Set of PortInfo at this port takes its link down, to this physical state (0: the default). */
void
model_port_set_down(struct model *m, uint32_t node, unsigned port, unsigned phys_state);
void
model_link_trained(struct model *m, uint32_t node, unsigned port);
void
model_links_down(struct model *m, uint32_t node);	/* of a node */
void
model_links_train(struct model *m, uint32_t node);
void
model_lft_set(struct sim_node *n, unsigned block, const uint8_t *data);
void
model_touched(struct model *m);		/* links or tables have changed */

/* way.c. A way begins at a place without hops and, unless it fails, moves it to where it ends. */
struct place {
	uint32_t node;		/* where a packet is */
	unsigned port;		/* through which port it came; 0 = inside a switch */
	unsigned hops;		/* cables that it crossed */
	monotime delay;		/* by faults of these */
	double loss;		/* chance to have been lost on them */
};

struct packet {
	uint16_t slid, dlid;	/* from and to */
	uint8_t sl;		/* service level of data, or SL_NONE */
	uint16_t pkey;		/* of data; 0: no port looks at it */
	bool reliable;		/* data of a connection, not a datagram */
	bool data;		/* it needs ACTIVE links and a lane; SMPs do not */
	struct model *counts;	/* the ports that data pass count them here; NULL: they do not */
};

/* From an end port to the holder of a LID. The hops, or ERR_* with the place where it was lost. */
int
way_by_lid(const struct model *m, const struct packet *k, struct place *at);
/* From an end port to each that a multicast LID leads to. */
typedef void (*way_fn)(void *arg, const struct place *end);
void
way_by_mlid(const struct model *m, const struct packet *k, const struct place *at, way_fn fn,
	    void *arg);
/* A directed-route SMP, out or back. Where it begins by LID: to `lid`. *slid is the source LID that
 * it arrives with; before: the end port's. False: lost. */
bool
way_directed(const struct model *m, struct smp *s, uint16_t lid, struct place *at, uint16_t *slid);

/* device.c: a node as it is after power-up. */
void
device_init(struct model *m, struct sim_node *n);
void
device_tables_free(struct sim_node *n);
void
device_caps(const struct model_options *o, const struct model_caps *asked,
	    struct model_caps *caps);	/* defaults filled in */
uint16_t
device_pkeys(const struct sim_node *n, unsigned port);	/* entries of a P_Key table */
bool
device_has_fdr10(const struct sim_node *n);	/* it has the vendor's ExtendedPortInfo */

/* model_fault.c */
void
fault_flap_ends(struct model *m, const struct flight *f);
/* The status to answer a request with instead of doing it; 0 = none. */
uint16_t
fault_status(const struct sim_node *n, bool set, uint16_t attr_id);

/* flight.c */
struct flight *
flight_new(struct model *m, enum flight_kind kind, uint32_t node, unsigned port);
void
flight_start(struct model *m, struct flight *f, monotime delay);
void
flight_timer(void *m);
void
flight_turn(void *m);
/* From the loop only: tell a client that its port's PortInfo, P_Keys, GUIDs or link changed. Who
 * changes them in a call starts a FLIGHT_CHANGED instead. */
void
flight_changed(struct model *m, uint32_t node, unsigned port);
void
flight_end(struct model *m, struct flight *f);
void
flight_send_smp(struct model *m, struct flight *f, uint32_t node, unsigned port, uint16_t lid);

/* watch.c: lines of the event log, without an end of line. Nothing is done if nobody reads it. */
void
watch_say(const struct model *m, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* "A/1 - B/2 " or "A/1 ", then what is the matter with it. */
void
watch_link(const struct model *m, uint32_t node, unsigned port, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
const char *
watch_name(const struct model *m, uint32_t node);	/* MODEL_ALL: "every node" */
/* For m->tap, which must be set: the bytes before the MAD sets out, and then how it went. */
void
watch_wire(const struct flight *f, uint8_t wire[MAD_SIZE]);
void
watch_passage(const struct model *m, const struct flight *f, const uint8_t wire[MAD_SIZE],
	      const struct place *from, const struct place *to, bool lost);

/* trap.c */
struct trap_packet {		/* a packet that had a bad key */
	uint32_t key;		/* P_Key or Q_Key */
	uint32_t src_qp, dst_qp;
	uint16_t slid, dlid;
	uint8_t sl;
};

void
trap_due(struct model *m, struct flight *f);
/* A TrapRepress came through a port: it ends the trap that it names, if its M_Key is right. False:
 * it was for none of the node's, and may be for a client. */
bool
trap_repressed(struct model *m, uint32_t node, unsigned in, uint16_t slid, const struct smp *s);
void
trap_128(struct model *m, uint32_t node);
void
trap_144(struct model *m, uint32_t node, unsigned port, uint16_t flags);
void
trap_145(struct model *m, uint32_t node, unsigned port);
void
trap_bad_mkey(struct model *m, uint32_t node, unsigned in, uint16_t slid, const struct smp *s);
/* An end port got a packet with a bad P_Key (257): counts it and sends the trap. */
void
trap_bad_pkey(struct model *m, uint32_t node, unsigned port, const struct trap_packet *p);
/* A switch dropped a packet at a port for its P_Key (259): counts it and sends the trap. */
void
trap_switch_bad_pkey(struct model *m, uint32_t node, unsigned port, const struct trap_packet *p);
/* A counter (enum sim_counter) was increased by command. */
void
trap_counted(struct model *m, uint32_t node, unsigned port, unsigned counter, uint64_t n);

/* sma.c: the answer to a request replaces its status and data; false = no answer. */
bool
sma_answer(struct model *m, uint32_t node, unsigned in, uint16_t slid, struct smp *s);
/* The M_Key of a request is right, or does not matter; a wrong one is counted, and a trap sent. */
bool
sma_key_allows(struct model *m, uint32_t node, unsigned in, uint16_t slid, const struct smp *s);
/* sma_ar.c: the vendor's attribute with this id, NULL if the node has none. */
const struct sma_attribute *
sma_ar_find(const struct sim_node *n, uint16_t id);
/* pma.c: the answer to a request of the performance management class replaces it; false = none. */
bool
pma_answer(struct model *m, uint32_t node, uint8_t mad[MAD_SIZE]);
/* cca.c: the same of the congestion control class, through a port. */
bool
cca_answer(struct model *m, uint32_t node, unsigned in, uint8_t mad[MAD_SIZE]);
bool
cca_is_there(const struct sim_node *n);
void
cca_free(const struct sim_node *n, struct sim_port *p);
/* sma_port.c: these return a MAD status. */
uint16_t
sma_get_portinfo(struct sim_node *n, unsigned in, uint32_t mod, bool show_key,
		 uint8_t data[SMP_DATA_SIZE]);
uint16_t
sma_set_portinfo(struct model *m, uint32_t node, unsigned in, uint32_t mod,
		 uint8_t data[SMP_DATA_SIZE]);
/* sma_extended.c: attributes that extend PortInfo. */
uint16_t
sma_port_info_extended(const struct sma_request *r);
uint16_t
sma_vendor_port_info(const struct sma_request *r);
/* sma_table.c: tables of ports and switches. */
uint16_t
sma_linear_fdb(const struct sma_request *r);
uint16_t
sma_multicast_fdb(const struct sma_request *r);
uint16_t
sma_guid_info(const struct sma_request *r);
uint16_t
sma_p_keys(const struct sma_request *r);
/* The index of the first entry of a port's P_Key table that lets a P_Key in, or -1. */
int
sma_pkey_index(const struct sim_node *n, unsigned port, uint16_t pkey);
uint16_t
sma_sl_to_vl(const struct sma_request *r);
uint16_t
sma_vl_arbitration(const struct sma_request *r);

#endif
