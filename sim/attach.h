/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_ATTACH_H
#define SIM_ATTACH_H

#include <stdint.h>

/*
 * What sim/server.c and the preload library (sim/preload) say to each other. Freestanding: both
 * sides include it, and it includes nothing but <stdint.h>.
 *
 * The server listens on a SOCK_SEQPACKET socket. One connection is one thing: a question, an open
 * umad file, a held issm file, or a control session. It begins with a struct attach_request; each
 * request gets one struct attach_reply, in order. Closing the connection closes the file; as
 * descriptors are inherited, that is when the last process that had it is gone, as with a device.
 *
 * An open umad file has, handed over with the reply (SCM_RIGHTS, in this order): the descriptor
 * that the program sees (a socket: readable while a MAD waits, always writable, hung up when the
 * server is gone), a memfd with struct attach_shared, and an eventfd that wakes the server.
 *
 * Rings. The producer fills slots[head % ATTACH_SLOTS] and then publishes head + 1 (release); the
 * consumer takes slots[tail % ATTACH_SLOTS] and publishes tail + 1. head - tail is the number of
 * slots in use. Neither side trusts the other's numbers.
 *  - tx, program to server: after publishing, the program sets `bell` to 1; if it was 0, it writes
 *    the eventfd. The server, when it has found the ring empty, clears `bell` and looks once more.
 *  - rx, server to program: after publishing, the server sets `bell` to 1; if it was 0, it sends a
 *    byte on the program's descriptor. The program, when it took the last slot, takes that byte
 *    (waiting for it: it is on its way), clears `bell` and looks once more; what is there then, it
 *    announces to itself through the same exchange (ATTACH_ANNOUNCE over the connection, or a byte
 *    sent back by its own end, as preload.c explains).
 *  - a full rx ring: the server keeps what comes after, sets rx.waits, and goes on when the client,
 *    having taken a slot, seen rx.waits and found at most half of the ring in use, rings tx.bell.
 *    A full tx ring: the program waits.
 * A message over ATTACH_MAD bytes travels as a memfd: to the server by ATTACH_SEND_LONG (the slots
 * before it are taken first), from it as a slot with `long_id`, fetched by ATTACH_FETCH_LONG.
 */
#define ATTACH_MAGIC 0x57465431u	/* "WFT1" */
#define ATTACH_VERSION 1u
#define ATTACH_SLOTS 1024u		/* of a ring, a power of 2 */
#define ATTACH_HEADER 64u		/* struct ib_user_mad_hdr with pkey_index */
#define ATTACH_MAD 256u			/* bytes of a MAD in a slot */
#define ATTACH_AGENTS 32u		/* of a file */
#define ATTACH_TEXT 4096u		/* of a control line, or of one piece of its answer */

enum attach_kind {
	ATTACH_HOST = 1,	/* which host am I on? the reply's `text` is the root of its tree:
				 * TEXT/sys/class/infiniband, TEXT/sys/class/infiniband_mad,
				 * TEXT/dev/infiniband/umadN; never longer than 255 bytes */
	ATTACH_OPEN_UMAD,	/* `index`: N of umadN */
	ATTACH_OPEN_ISSM,	/* `index`: N of issmN; waits for a holder unless `nonblock`; no
				 * descriptors come: the connection itself is the file */
	ATTACH_CONTROL,		/* then each packet is a command line; each is answered by replies,
				 * of which all but the last have `more` */
	ATTACH_REGISTER,	/* umad: `reg`; the reply's `id` is the agent's */
	ATTACH_UNREGISTER,	/* umad: `index` is the agent's id */
	ATTACH_SEND_LONG,	/* umad: a memfd of `length` bytes, header and message of any
				 * length; `status` is what write() gives, so that also a short
				 * MAD may be sent so, when its fate must be known */
	ATTACH_FETCH_LONG,	/* umad: `index` is long_id; the reply has a memfd of `length` */
	ATTACH_ANNOUNCE,	/* umad: send a byte on the program's descriptor */
};

enum attach_layout {		/* of a host's devices in sysfs */
	ATTACH_PLAIN,		/* a device has both of its ports' queue pairs, 0 and 1 */
	ATTACH_PAIRS,		/* WEFTSIM_LAYOUT=pairs: SMI devices for QP 0, GSI for QP 1 */
};

struct attach_registration {	/* struct ib_user_mad_reg_req2 or its elder */
	uint32_t methods[4];	/* bit m of word m / 32 */
	uint32_t qpn;		/* 0 or 1 */
	uint32_t oui;
	uint8_t mgmt_class;
	uint8_t class_version;
	uint8_t rmpp_version;
	uint8_t user_rmpp;	/* IB_USER_MAD_USER_RMPP */
};

struct attach_request {
	uint32_t magic, version;
	uint32_t kind;		/* enum attach_kind */
	uint32_t index;
	uint32_t pid;		/* of the program, for people */
	uint32_t nonblock;	/* ATTACH_OPEN_ISSM */
	uint64_t length;	/* ATTACH_SEND_LONG */
	struct attach_registration reg;
	uint32_t layout;	/* enum attach_layout, in all requests that name a node */
	char node[256];		/* WEFTSIM_NODE: a host's name, a node's description, name or GUID;
				 * empty: the first host */
	char program[64];	/* for people */
};

struct attach_reply {
	uint32_t magic, version;
	int32_t status;		/* 0 or an errno value; `text` is then one sentence */
	uint32_t id;
	uint32_t more;		/* ATTACH_CONTROL: another piece follows */
	uint32_t length_text;	/* bytes of text */
	uint64_t length;	/* ATTACH_FETCH_LONG */
	char text[ATTACH_TEXT];	/* NUL-terminated but for ATTACH_CONTROL's pieces */
};

struct attach_slot {
	uint32_t length;	/* of data, or of the long message: header and MAD */
	uint32_t long_id;	/* not 0: fetch it; `data` has its header and first 256 bytes */
	uint8_t data[ATTACH_HEADER + ATTACH_MAD];
};

struct attach_ring {
	_Alignas(64) uint32_t head;	/* the producer's */
	_Alignas(64) uint32_t tail;	/* the consumer's */
	_Alignas(64) uint32_t bell;	/* the consumer has been told */
	uint32_t waits;			/* rx: the server holds more back */
	_Alignas(64) struct attach_slot slots[ATTACH_SLOTS];
};

struct attach_shared {
	struct attach_ring tx, rx;
};

#endif
