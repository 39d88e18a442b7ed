/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_MODEL_IMPL_H
#define SIM_MODEL_IMPL_H

#include "sim/model.h"
#include "sim/rng.h"
#include "sm/base/mem.h"

/* What the files of the model share: model.c owns the objects and their faults, flight.c carries
 * MADs on the ways that way.c finds, sma*.c and pma.c answer them, trap.c sends notices. */
#define SL_NONE 0xffu		/* in place of a service level: any lane will do */
#define MLID_MIN 0xc000u	/* the first multicast LID */
#define CA_PKEYS 64u		/* P_Key table of a CA port */
#define PORT0_PKEYS 32u		/* of a switch's port 0 */
#define SWITCH_PKEYS 64u	/* of a switch's external port (PartitionEnforcementCap) */
#define MCAST_LIDS 1024u	/* MulticastFDBCap */
#define GUIDS 8u		/* GUIDCap */
#define ATTRS 0x21u		/* attribute ids that are counted */
#define MUTES 8u		/* attributes that a node can be silent about, or refuse */

enum { COUNT_GET, COUNT_SET, COUNT_OTHER, COUNTS };

struct sim_port {
	struct portinfo info;	/* as it would be read, but for what depends on the request */
	uint64_t guid;		/* of an end port */
	monotime lease_end;	/* when protection by M_Key ends, MONOTIME_NEVER = not running */
	struct model_client *client;	/* attached to it, or NULL */
	uint16_t *pkeys;	/* NULL until it is written */
	uint64_t *guids;	/* GUIDS alias GUIDs, NULL until they are written */
	uint8_t *vlarb;		/* four blocks of SMP_DATA_SIZE, NULL until one is written */
	uint32_t peer;		/* node at the other end of the cable, IBNET_NONE = no cable */
	uint32_t reregisters;	/* ClientReregister bits taken */
	uint8_t peer_port;	/* port there */
	uint8_t cable_width;	/* enum link_width that the cable carries */
	uint8_t cable_speed;	/* enum link_speed that it carries */
	bool cut;		/* the cable is out of order */
	bool disabled;		/* physical state was set to Disabled or Sleep */
	bool training;		/* a flight that ends it is under way */
};

struct sim_trap {
	uint32_t tid;		/* of the trap that waits for its repress; 0 = none */
	uint8_t port;		/* end port that sends it */
	uint8_t data[SMP_DATA_SIZE];	/* the notice */
};

enum { TRAP_SLOT_128, TRAP_SLOT_144, TRAP_SLOTS };

struct sim_node {
	const struct ibnet_node *ib;	/* its text */
	struct sim_port *ports;		/* nports + 1, [0] of switches alone */
	struct switchinfo sw;		/* of a switch */
	uint64_t guid;			/* node GUID, which may be changed */
	uint8_t *lft;			/* lft_len entries, from malloc */
	uint16_t *mft;			/* 16 positions of MCAST_LIDS masks, NULL until written */
	uint8_t *sl2vl;			/* (nports + 1)^2 tables of 8 bytes, NULL until written */
	monotime busy_until;		/* the SMA works on what came before */
	monotime delay;			/* of each answer */
	struct sim_trap traps[TRAP_SLOTS];	/* that wait for a repress */
	uint32_t counts[ATTRS][COUNTS];	/* requests that came */
	uint32_t lft_len;		/* entries; the rest is LFT_NO_PORT */
	uint32_t drop_ppm;		/* share of MADs that get lost */
	unsigned keep;			/* enum model_keep */
	uint16_t mute[MUTES];		/* attributes without answer, 0 = free slot */
	uint16_t refuse[MUTES];		/* attributes that may not be set, 0 = free slot */
	uint16_t refuse_status[MUTES];	/* with this status */
	uint16_t notices;		/* traps made */
	uint8_t type;			/* enum node_type */
	uint8_t nports;			/* external ports */
	uint8_t silence;		/* enum model_silence */
	uint8_t lie_port;		/* LocalPortNum to tell, 0 = the right one */
	char desc[NODEDESC_SIZE];	/* NodeDescription */
	struct ar_switch *ar;	/* NULL: it does not route adaptively; ar.c */
	struct counters *counters;	/* NULL until something counts, from malloc; counters.c */
};

enum flight_kind {
	FLIGHT_ARRIVE,		/* a MAD reaches a node */
	FLIGHT_DELIVER,		/* a MAD reaches a client */
	FLIGHT_TRAP,		/* a trap is due again */
	FLIGHT_TRAIN,		/* a link has trained */
	FLIGHT_LINK,		/* a client is told of its link */
	FLIGHT_CHANGED,		/* a client is told of a change of its port */
};

struct flight {
	struct flight *next;	/* in the list of spare ones, or in the queue */
	uint64_t turn;		/* in the queue: the turn in which it lands */
	uint32_t node;		/* where */
	uint32_t tid;		/* FLIGHT_TRAP: of the trap */
	uint16_t slid, dlid;	/* of a MAD; LID_PERMISSIVE where it travels by directed route */
	uint16_t pkey;		/* of a GMP */
	uint8_t kind;		/* enum flight_kind */
	uint8_t port;		/* where: port of arrival; FLIGHT_TRAP: slot */
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
	uint32_t tid;			/* of traps */
	model_tap_fn tap;		/* told of each MAD, or NULL */
	void *tap_arg;			/* handed to it */
	model_log_fn log;		/* told what happens to the fabric, or NULL */
	void *log_arg;			/* handed to it */
	bool quiet;			/* no traps while the fabric is being set up */
	bool in_timer;			/* the timer is set when its callback ends */
	bool in_turn;			/* what starts now lands in this turn, not in the next */
	/* A command counted at a port (enum sim_counter); for traps by thresholds. May be NULL. */
	void (*counted)(struct model *m, uint32_t node, unsigned port, unsigned counter,
			uint64_t n);
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

/* The end port that belongs to a port: it holds the LID, the M_Key and the SM's address. */
static inline struct sim_port *
end_port(struct sim_node *n, unsigned port)
{
	return &n->ports[n->type == NODE_SWITCH ? 0 : port];
}

/* The port towards a LID by the plain LFT, 0 if there is none. */
static inline unsigned
plain_port(const struct sim_node *n, uint16_t lid)
{
	if (lid > n->sw.linear_fdb_top || lid >= n->lft_len || n->lft[lid] > n->nports)
		return 0;
	return n->lft[lid];
}

/* model.c */
void
model_link_down(struct model *m, uint32_t node, unsigned port);	/* and let it train again */
void
model_link_trained(struct model *m, uint32_t node, unsigned port);
void
model_lft_set(struct sim_node *n, unsigned block, const uint8_t *data);

/* way.c. A way begins at a place without hops and, unless it fails, moves it to where it ends. */
struct place {
	uint32_t node;		/* where a packet is */
	unsigned port;		/* through which port it came; 0 = inside a switch */
	unsigned hops;		/* cables that it crossed */
};

struct packet {
	uint16_t slid, dlid;	/* from and to */
	uint8_t sl;		/* service level of data, or SL_NONE */
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
flight_lose(struct model *m, struct flight *f);	/* and count it */
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
void
trap_due(struct model *m, struct flight *f);
bool
trap_repressed(struct sim_node *n, const struct smp *s);	/* it was for a trap of the node */
void
trap_128(struct model *m, uint32_t node);
void
trap_144(struct model *m, uint32_t node, unsigned port, uint16_t flags);

/* sma.c: the answer to a request replaces its status and data; false = no answer. */
bool
sma_answer(struct model *m, uint32_t node, unsigned in, struct smp *s);
/* sma_ar.c: the vendor's attribute with this id, NULL if the node has none. */
const struct sma_attribute *
sma_ar_find(const struct sim_node *n, uint16_t id);
/* pma.c: the answer to a request of the performance management class replaces it; false = none. */
bool
pma_answer(struct model *m, uint32_t node, unsigned in, uint8_t mad[MAD_SIZE]);
/* sma_port.c: these return a MAD status. */
uint16_t
sma_get_portinfo(struct sim_node *n, unsigned in, uint32_t mod, bool show_key,
		 uint8_t data[SMP_DATA_SIZE]);
uint16_t
sma_set_portinfo(struct model *m, uint32_t node, unsigned in, uint32_t mod,
		 uint8_t data[SMP_DATA_SIZE]);

#endif
