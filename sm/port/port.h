/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PORT_PORT_H
#define PORT_PORT_H

#include <stdbool.h>
#include <stdint.h>
#include "sm/base/error.h"
#include "sm/base/loop.h"
#include "sm/wire/mad.h"

/*
 * The transport: one local InfiniBand port that MADs are sent and received through.
 *
 * Implementations: port/umad.c (the kernel's umad devices through libibumad), sim/direct.c (a
 * simulated fabric in this process). All callbacks run on the loop's thread, never inside a call.
 * Timed requests: a transport hands back either the response (status 0) or the request itself with
 * status ERR_TIMEOUT; some (packaged ibsim) never hand anything back, so users keep a deadline of
 * their own (transact.c does).
 */

/*
 * Long messages. A message of several MADs (RMPP, IBA volume 1, 13.6) is sent and received whole:
 * the headers of its first MAD (56 bytes, for subnet administration) and then all of the payload.
 * The kernel cuts it and puts it together, acknowledges, and sends again. What is sent has
 * RMPPVersion 1 and the Active flag in its header, a short table too, for its length counts; the
 * other fields of the RMPP header are the kernel's. Of packaged ibsim 256 bytes come through.
 */
#define PORT_LEN_MAX (256u << 20)	/* bytes of a message; longer ones are refused or dropped */
#define PORT_ANSWER_RETRIES 3	/* of a long answer; each after 2 s */
#define PORT_Q_KEY 0x80010000u	/* of all GMPs, both ways */

/* A global route, to or from another end of the same or another subnet. */
struct port_grh {
	uint8_t gid[16];	/* the other end's */
	uint32_t flow_label;	/* 20 bits */
	uint8_t gid_index;	/* own GID, by its index in the port's table */
	uint8_t hop_limit;
	uint8_t traffic_class;
};

/* A MAD, or a message of several, on its way out or in. */
struct port_mad {
	uint8_t mad[MAD_SIZE];	/* wire bytes; in: of a longer message the first ones */
	const uint8_t *data;	/* the whole message, borrowed during the call; NULL: it is in
				 * `mad` */
	uint8_t **holder;	/* out: what `data` is in, from mem_alloc(); a transport that needs
				 * a long message for longer may take it from there, and leaves
				 * NULL. NULL: it makes a copy */
	uint32_t len;		/* bytes of the message, 0 = MAD_SIZE; see port_mad_len() */
	uint32_t timeout_ms;	/* out: > 0 expects a response; 0: none (responses, repress) */
	uint16_t lid;		/* out: destination LID, LID_PERMISSIVE for directed routes;
				 * in: source LID */
	uint8_t qp;		/* 0 for SMPs, 1 for GMPs */
	uint8_t sl;		/* service level of a GMP */
	uint32_t remote_qp;	/* of a GMP; out: 0 = QP 1 */
	uint16_t pkey_index;	/* GMPs */
	uint8_t path_bits;	/* low bits of the own LID, with an LMC */
	uint8_t retries;	/* out: how often the transport sends again by itself: requests
				 * after timeout_ms, segments of a long message after 2 s */
	bool has_grh;		/* GMPs: there is a global route */
	struct port_grh grh;	/* this one */
	int status;		/* in: 0, or ERR_TIMEOUT: the first 24 bytes of `mad` are those of
				 * what could not be delivered, a long answer perhaps */
};

/* What is known of the local port. */
struct port_identity {
	char name[64];		/* "mlx5_0:1" */
	uint64_t guid;		/* port GUID */
	uint8_t number;		/* port number on its node */
};

struct port;

struct port_events {
	/* One message arrived. `m`, with its data, is valid during the call. */
	void (*receive)(void *arg, const struct port_mad *m);
	/* The port became usable (up = true) or was lost; `why` is one sentence for people. */
	void (*state)(void *arg, bool up, const char *why);
	void *arg;		/* handed to both */
};

struct port_ops {
	/* Queue one message for sending; takes a copy. 0, or ERR_CLOSED while the port is not up,
	 * ERR_BUSY when the device refuses for now, or too much waits to be sent, another code when
	 * it never will: ERR_INVALID where port_mad_ok() says no. Long messages may be sent later
	 * than short ones that follow them; one that then fails comes back as if it had timed
	 * out. */
	int (*send)(struct port *p, const struct port_mad *m);
	/* Announce (or stop announcing) a subnet manager on this port: IsSM in its
	 * PortInfo.CapabilityMask. */
	int (*set_issm)(struct port *p, bool on, struct error *e);
	/* Stop receiving and free; no callback follows. */
	void (*close)(struct port *p);
};

/* Every implementation's struct starts with this. */
struct port {
	const struct port_ops *ops;
	struct port_identity id;	/* filled before state(up = true) */
	bool up;			/* may send */
	bool absent;			/* not up, for there is no such InfiniBand port */
};

static inline const uint8_t *
port_mad_bytes(const struct port_mad *m)
{
	return m->data ? m->data : m->mad;
}

/* In: 256, but the true length of what came by RMPP, and of any that was longer. */
static inline uint32_t
port_mad_len(const struct port_mad *m)
{
	return m->len ? m->len : MAD_SIZE;
}

/* Can it be sent? Up to MAD_SIZE the bytes may be in `mad`; a longer message needs `data`. */
static inline bool
port_mad_ok(const struct port_mad *m)
{
	return port_mad_len(m) >= MAD_HEADER_SIZE && port_mad_len(m) <= PORT_LEN_MAX &&
	       (m->data || port_mad_len(m) <= MAD_SIZE);
}

/* The way back of an answer to `in`: all but its bytes and their number. */
static inline void
port_answer_to(struct port_mad *out, const struct port_mad *in)
{
	out->timeout_ms = 0;
	out->lid = in->lid;
	out->qp = in->qp;
	out->sl = in->sl;
	out->remote_qp = in->remote_qp;
	out->pkey_index = in->pkey_index;
	out->path_bits = in->path_bits;
	out->retries = in->qp ? PORT_ANSWER_RETRIES : 0;
	out->has_grh = in->has_grh;
	out->grh = in->grh;
	out->status = 0;
}

static inline int
port_send(struct port *p, const struct port_mad *m)
{
	return p->ops->send(p, m);
}

static inline int
port_set_issm(struct port *p, bool on, struct error *e)
{
	return p->ops->set_issm(p, on, e);
}

static inline void
port_close(struct port *p)
{
	if (p)
		p->ops->close(p);
}

#endif
