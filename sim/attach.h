/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_ATTACH_H
#define SIM_ATTACH_H

#include <stdint.h>

/*
 * What sim/serve/server.c and the preload library (sim/preload) say to each other. Freestanding:
 * both sides include it, and it includes nothing but <stdint.h>.
 *
 * The server listens on a SOCK_SEQPACKET socket. One connection is one thing: a question, an open
 * umad file, a held issm file, or a control session. It begins with a struct attach_request; each
 * request gets one struct attach_reply, in order. Closing the connection closes the file; as
 * descriptors are inherited, that is when the last process that had it is gone, as with a device.
 *
 * An open umad file has, handed over with the reply (SCM_RIGHTS, in this order): the descriptor
 * that the program sees (one end of a SOCK_STREAM pair: readable while a MAD waits, always
 * writable, hung up when the server is gone), a memfd with struct attach_shared (sealed with
 * F_SEAL_SHRINK, so that looking at it cannot kill the program), and an eventfd that wakes the
 * server. The program gives the connection and the eventfd numbers out of the way. Neither side
 * trusts the other's numbers: each keeps its own positions and closes the file for a count above
 * ATTACH_SLOTS.
 *
 * tx, program to server. The program fills slots[head % ATTACH_SLOTS], stores head + 1 (release),
 * then sets `bell` to 1 (exchange); if it was 0, it writes the eventfd. The server takes slots
 * until tail == head, sets `bell` to 0 (exchange) and looks once more. A full ring: the program
 * waits.
 *
 * rx, server to program. `count` is a semaphore: the number of MADs that wait. The server fills
 * the slots that follow the last it filled, then adds their number to `count` (fetch_add, once for
 * all that one turn of its loop has brought: that saves system calls); if it was 0, it sends one
 * byte on its end of the pair. The program copies slots[tail % ATTACH_SLOTS] only while `count` is
 * not 0, then subtracts 1 (fetch_sub); if that made it 0, it takes one byte from its end, waiting
 * for it: it is on its way. So the descriptor is readable exactly while `count` is not 0, whoever
 * is faster, and a stream of MADs costs no system call. What a read refuses (EINVAL, ENOSPC) stays
 * in its slot. A full ring: the server keeps what comes after, sets `waits`, looks at `count` once
 * more, and goes on when it is woken and finds at most half of the ring in use; the program,
 * having taken a slot and seen `waits` and at most half in use, rings tx.bell.
 *
 * Slots always have the 64-byte header, also when the program uses the one of 56 bytes (without
 * pkey_index). To the server `length` may be short of a whole MAD: what is missing is zero. To the
 * program it is header + 256, or header + 24 for a time-out (its header then is the request's, with
 * status 110), or the whole length of a long message.
 *
 * A message over ATTACH_MAD bytes travels as a memfd: to the server by ATTACH_SEND_LONG, from it
 * as a slot with `long_id`, fetched (and then forgotten by the server) by ATTACH_FETCH_LONG.
 * Before any request on a umad file's connection is answered, the tx slots before it are taken.
 *
 * What is left to the server of write()'s answers: a request with a TID and class that are already
 * outstanding. The program counts what it has sent and not heard of in a small hash; only when that
 * says "perhaps" does it use ATTACH_SEND_LONG, whose `status` is the kernel's answer.
 *
 * How rdma-core 56 and newer read sysfs (libibumad's umad_get_smi_gsi_pairs, which every tool of
 * infiniband-diags now opens its port through; umad_open_smi_port), for whoever lays out the tree:
 *  - devices are the names in /sys/class/infiniband with node_type 1..3; of each, ports/0..9 with
 *    the files that libibumad 44 reads too, in particular gids/0 (the last 8 bytes are the port's
 *    GUID), cap_mask, state, link_layer (InfiniBand) and pkeys/;
 *  - ports of all devices are put together by port GUID, those with GUID 0 left out. If one port
 *    has the GUID, it is the GSI port, and also the SMI port unless its cap_mask has 0x400
 *    (IsSMDisabled). If several have it (a "planarized" HCA), those with 0x400 are GSI ports and
 *    the others SMI ports: a pair has the first of each, and is usable only with both;
 *  - the preferred port of each is the first whose state is above 1 (not down);
 *  - umad_open_smi_port passes over ports whose cap_mask has 0x400;
 *  - on real XDR hosts the GSI device is mlx5_0 with one port, the SMI device is smi1 with a port a
 *    plane, and only the ports of the SMI device have an issmN (umad and issm numbers agree).
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

struct attach_tx {
	_Alignas(64) uint32_t head;	/* the program's */
	_Alignas(64) uint32_t tail;	/* the server's */
	_Alignas(64) uint32_t bell;	/* the server has been told */
	_Alignas(64) struct attach_slot slots[ATTACH_SLOTS];
};

struct attach_rx {
	_Alignas(64) uint32_t count;	/* of MADs that wait */
	_Alignas(64) uint32_t waits;	/* the server holds more back */
	_Alignas(64) struct attach_slot slots[ATTACH_SLOTS];
};

struct attach_shared {
	struct attach_tx tx;
	struct attach_rx rx;
};

#endif
