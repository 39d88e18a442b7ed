/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SA_SA_H
#define SA_SA_H

#include <stdint.h>
#include "sm/conf/config.h"
#include "sm/fabric/plan.h"
#include "sm/fabric/status.h"
#include "sm/port/port.h"
#include "sm/sa/group.h"
#include "sm/store/store.h"
#include "sm/wire/sa_record.h"

/*
 * The subnet administrator (IBA volume 1, chapter 15) of one subnet: takes requests of class
 * SubnAdm and answers them from the published plan, and from what devices hold. So far it tells
 * what is (ClassPortInfo by Get; NodeRecord, PortInfoRecord, SwitchInfoRecord, SMInfoRecord,
 * LinkRecord, PathRecord, LinearForwardingTableRecord, MulticastForwardingTableRecord,
 * P_KeyTableRecord, SLtoVLMappingTableRecord and VLArbitrationTableRecord by Get and GetTable;
 * MultiPathRecord by GetMulti; TraceRecord by GetTraceTable) and keeps what clients leave:
 * ServiceRecord, MCMemberRecord and GUIDInfoRecord by Get, GetTable, Set and Delete; InformInfo by
 * Set and InformInfoRecord by Get and GetTable, with Reports of events to those who subscribed. All
 * else that can be asked, RandomForwardingTableRecord among it, is answered with
 * MAD_STATUS_BAD_ATTR (0x000c).
 *
 * - No published plan yet: MAD_STATUS_BUSY. What is published stays what is answered from while a
 *   sweep or a routing runs. The same status where a table of a device is not read yet; devices
 *   that do not answer are left out of a table that is not asked for by their LID.
 * - An SM_Key that is neither 0 nor ours: no answer. With ours the request is trusted: it is told
 *   the M_Keys of ports, the ServiceKeys, all members of groups and the services of all partitions,
 *   and may change what others left. P_KeyTableRecords are for trusted requests only:
 *   SA_STATUS_INVALID.
 * - What clients leave is in the store before that is confirmed, and is read back by sa_new(). How
 *   much a port may leave is bounded (SA_STATUS_NO_RESOURCES).
 * - A component mask compares as sa_query_fits() does. A LID finds its port by any of the LIDs that
 *   its LMC gives it; the record tells the base LID. AttributeModifier 0x80000000 compares the
 *   capability masks of a PortInfoRecord by the bits that are set.
 * - Work is bounded: an answer of more than SA_TABLE_MAX bytes is SA_STATUS_NO_RESOURCES instead,
 *   and so are the paths of more than SA_PATHS_MAX pairs of ports, and what would make all answers
 *   that are being made hold more than SA_OPEN_SIZE_MAX bytes.
 * - What takes longer than about a millisecond is answered in slices, from the plan that was
 *   published when it was asked for. A source has at most SA_OPEN_PER_SOURCE such questions open,
 *   all together SA_OPEN_MAX; beyond that MAD_STATUS_BUSY. The same where the transport has too
 *   many long answers to send already.
 * - Sources are served in turn, so that one that floods keeps itself waiting and nobody else. More
 *   than `sa_rate` requests of one source a second (after the first second's worth), or more of
 *   them waiting than queue.h allows, are MAD_STATUS_BUSY; past a thousand such answers a second
 *   the source is told nothing.
 */
#define SA_TABLE_MAX PORT_LEN_MAX
#define SA_PATHS_MAX (1u << 22)
#define SA_OPEN_SIZE_MAX (512u << 20)
#define SA_OPEN_PER_SOURCE 4
#define SA_OPEN_MAX 256
#define SA_SMS_MAX 33
#define SA_SERVICES_MAX 65536	/* in all, */
#define SA_SERVICES_PER_PORT 1024	/* and registered by one port */
#define SA_INFORMS_MAX 65536	/* subscriptions in all, */
#define SA_INFORMS_PER_PORT 64	/* and of one port */
#define SA_GROUPS_MAX 262144	/* multicast groups in all, */
#define SA_GROUPS_PER_PORT 4096	/* and made by one port */
#define SA_JOINS_PER_PORT 4096	/* members that one port joined, itself or others */

struct sa;
struct sa_groups;

/* What is known of a table of a device. */
enum sa_held {
	SA_HELD,		/* as last read or acknowledged */
	SA_HELD_NOT,		/* the device, port, or block is not there */
	SA_UNREAD,		/* not read yet; it will be */
	SA_SILENT,		/* not read, for the device does not answer */
};
#define SA_PKEY_BLOCKS 2048u	/* of a P_Key table at most, by its capability's 16 bits */

/* What the owner lends. What the functions return is borrowed until the end of the request. */
struct sa_env {
	const struct plan *(*plan)(void *arg);	/* published; NULL: none yet */
	const struct config_subnet *(*conf)(void *arg);	/* in force */
	/* As last read or acknowledged, by node GUID; NULL: not known. */
	const struct nodeinfo *(*node_info)(void *arg, uint64_t guid);
	const struct switchinfo *(*switch_info)(void *arg, uint64_t guid);
	const struct portinfo *(*port_info)(void *arg, uint64_t guid, unsigned port);
	/* Tables, by node GUID. A block of a port's P_Keys; one of its VL arbitration (1 to 4), 0
	 * where the port has none; a map from SL to VL, of others than switches from port 0, and 0
	 * where there is none; a block and position of a multicast table, which ends with the last
	 * block that has an entry. */
	enum sa_held (*pkey_block)(void *arg, uint64_t guid, unsigned port, unsigned block,
				   uint16_t keys[32]);
	/* Another number whenever P_Keys that were SA_HELD may not be so any more; NULL: they are
	 * asked for each time. */
	uint64_t (*pkeys_changed)(void *arg);
	enum sa_held (*vlarb)(void *arg, uint64_t guid, unsigned port, unsigned block,
			      struct vlarb_entry entries[32]);
	enum sa_held (*sl2vl)(void *arg, uint64_t guid, unsigned in, unsigned out, uint8_t vl[16]);
	unsigned (*mft_blocks)(void *arg, uint64_t guid);
	enum sa_held (*mft)(void *arg, uint64_t guid, unsigned block, unsigned position,
			    uint16_t masks[32]);
	/* Subnet managers that are known, ourselves first; at most SA_SMS_MAX. Their SM_Key is not
	 * told to anybody. */
	unsigned (*sms)(void *arg, struct sa_sm list[SA_SMS_MAX]);
	struct loop *loop;
	struct store *store;
	int (*send)(void *arg, const struct port_mad *m);	/* as port_send() */
	/* The members of a multicast group have changed. */
	void (*groups_changed)(void *arg, uint16_t mlid);
	/* So have the alias GUIDs of the port with this GUID: see sa_guids(). */
	void (*guids_changed)(void *arg, uint64_t port_guid);
	/* What this port left is forgotten: when it is back it must be asked to register again. */
	void (*port_forgotten)(void *arg, uint64_t port_guid);
	/* Whom we trust is told all records of a kind: another manager may copy them. NULL: nobody
	 * has to know. */
	void (*told_all)(void *arg, const struct port_mad *in, uint16_t attr_id, uint32_t len);
	/* A port has this GUID, or had it when it was seen last; NULL: what is there counts. */
	bool (*port_known)(void *arg, uint64_t guid);
	void *arg;			/* handed to all */
};

enum sa_drop {
	SA_DROP_MALFORMED,	/* no header, or shorter than its record */
	SA_DROP_METHOD,		/* asks nothing: a response, a method that is none */
	SA_DROP_KEY,		/* wrong SM_Key */
	SA_DROP_FLOOD,		/* from a source that was told BUSY too often lately */
	SA_DROP_RESIGNED,	/* still waiting when we were no master any more */
	SA_DROP_UNSENT,		/* the transport did not take the answer, or gave it back */
	SA_DROPS,
};

/* Too much to do, by what there was too much of. */
enum sa_busy {
	SA_BUSY_RATE,		/* requests of the source a second */
	SA_BUSY_QUEUE,		/* of its requests waiting */
	SA_BUSY_OPEN,		/* long questions, of the source or in all */
	SA_BUSIES,
};

struct sa_report_counters {
	uint64_t sent;		/* Reports, each once */
	uint64_t answered;	/* of these */
	uint64_t lost;		/* never answered, or there was no room to keep them */
	uint64_t forgotten;	/* subscribers that did not answer */
};

struct sa_counters {
	uint64_t requests;	/* that came */
	uint64_t answered;	/* with status 0 */
	uint64_t refused;	/* with another status */
	uint64_t busy[SA_BUSIES];	/* refused with BUSY, or dropped as a flood, by reason */
	uint64_t dropped[SA_DROPS];	/* not answered, by reason */
};

/* `env` is copied. Multicast groups are read from the store. */
struct sa *
sa_new(const struct sa_env *env);
void
sa_free(struct sa *sa);			/* NULL is allowed */
/* A message of class SubnAdm that came unasked, or came back. Most are answered by send() before
 * this returns, long questions and what changes something later. */
void
sa_request(struct sa *sa, const struct port_mad *m);
/* Groups that the configuration says are there, whoever is in them (the broadcast group of the
 * default partition always is, and keeps what it is if it is not among them): MGID, P_Key and what
 * members share. */
#define SA_SCOPE_LINK_LOCAL 2u
struct sa_stood
sa_set_groups(struct sa *sa, const struct sa_member *list, uint32_t len);
/* The broadcast group of IPoIB in the default partition, as it is where nothing is said of it. */
struct sa_member
sa_broadcast(const struct config_subnet *conf);
/* Requests that are not answered yet. */
unsigned
sa_pending(const struct sa *sa);
/* We are no master any more: what is not answered or told yet will not be. */
void
sa_resigned(struct sa *sa);
/* An event that a device told of: whoever subscribed to it is sent a Report. */
void
sa_tell(struct sa *sa, const struct notice *n);
/* The published plan is programmed: what came into service or went out of it since the last time
 * (traps 64 and 65) is told; nothing the first time. Members of multicast groups whose ports are
 * not in it are forgotten after multicast.forget_after. */
void
sa_settled(struct sa *sa);
/* How many there are; and the first from a row's `next` (or 0) on, false: there is none. */
uint32_t
sa_services(const struct sa *sa);
uint32_t
sa_subscriptions(const struct sa *sa);
bool
sa_service_row(const struct sa *sa, uint64_t from, struct service_row *row);
bool
sa_subscription_row(const struct sa *sa, uint64_t from, struct subscription_row *row);
/* The GUID of the port that this is an alias of, or else the GUID itself. */
uint64_t
sa_base_guid(const struct sa *sa, uint64_t guid);
/* Each alias GUID and the GUID of its port, in no order. */
void
sa_each_alias(const struct sa *sa, void (*fn)(void *arg, uint64_t alias, uint64_t port), void *arg);
/* The alias GUIDs that the port is to hold in this block of its GUIDInfo; the first GUID of the
 * first block is 0. False: none were ever set there, or the device is known to have let go of them
 * all. */
bool
sa_guids(const struct sa *sa, uint64_t port_guid, unsigned block, uint64_t guids[8]);
/* The device holds what sa_guids() tells. */
void
sa_guids_written(struct sa *sa, uint64_t port_guid, unsigned block);
/* The multicast groups; they live as long as `sa`. */
const struct sa_groups *
sa_groups(const struct sa *sa);
const struct sa_counters *
sa_counters(const struct sa *sa);
const struct sa_report_counters *
sa_report_counters(const struct sa *sa);

/* A row of STORE_CLIENTS or STORE_GROUPS that another manager changed (value NULL: deleted), which
 * the store has: from then on it is as if it had been there at the start. The multicast LID whose
 * members are others by that; 0: none. */
enum store_table;
uint16_t
sa_take_row(struct sa *sa, enum store_table table, const char *key, const char *value);

#endif
