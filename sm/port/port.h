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

/* A MAD on its way out or in. */
struct port_mad {
	uint8_t mad[MAD_SIZE];	/* wire bytes */
	uint32_t timeout_ms;	/* out: > 0 expects a response; 0: none (responses, repress) */
	uint16_t lid;		/* out: destination LID, LID_PERMISSIVE for directed routes;
				 * in: source LID */
	uint8_t qp;		/* 0 for SMPs, 1 for GMPs */
	uint8_t sl;		/* service level of a GMP */
	uint32_t remote_qp;	/* in: source QP of a GMP */
	uint16_t pkey_index;	/* GMPs */
	int status;		/* in: 0, or ERR_TIMEOUT: `mad` holds what could not be delivered */
};

/* What is known of the local port. */
struct port_identity {
	char name[64];		/* "mlx5_0:1" */
	uint64_t guid;		/* port GUID */
	uint8_t number;		/* port number on its node */
};

struct port;

struct port_events {
	/* One MAD arrived. `m` is valid during the call. */
	void (*receive)(void *arg, const struct port_mad *m);
	/* The port became usable (up = true) or was lost; `why` is one sentence for people. */
	void (*state)(void *arg, bool up, const char *why);
	void *arg;		/* handed to both */
};

struct port_ops {
	/* Queue one MAD for sending; takes a copy. 0, or ERR_CLOSED while the port is not up,
	 * ERR_BUSY when the device refuses for now, another code when it never will. */
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
};

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
