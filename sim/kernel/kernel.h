/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_KERNEL_H
#define SIM_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "sim/model/model.h"

/*
 * The MAD layer that a host's kernel puts between a port and the programs on the host, as Linux has
 * it: agents, transaction ids, time-outs and retries, RMPP, and who gets which request.
 *
 * One struct kernel serves all ports of a model; a port is attached to the model when it is first
 * used. An agent belongs to one port. What the rules are (drivers/infiniband/core, mad.c,
 * mad_rmpp.c, user_mad.c):
 *  - a request that an agent sends gets the agent's number in the upper half of its TID; the
 *    response goes to that agent alone, with that TID, if a timed request waits for it; any other
 *    response is dropped. A second outstanding request of one TID and class is refused (EINVAL);
 *  - a request of timeout_ms > 0 is sent again after that time, `retries` times, then comes back
 *    with status ETIMEDOUT and its first 24 bytes;
 *  - a request from the fabric goes to the agent that registered its class, version and method (and
 *    OUI for vendor classes 0x30..0x4f); with none it is dropped. A second agent for the same is
 *    refused (EINVAL). Directed and LID-routed SMPs are two classes;
 *  - RMPP messages of an agent with rmpp_version 1 are cut into segments and put together again,
 *    with acknowledgements, resends and aborts as IBA volume 1, 13.6 has them; others pass raw.
 *    A message that the other side stops or aborts is over without a word to the agent; of what
 *    comes in, more than 1 GiB at a time of an agent is stopped;
 *  - a response comes to the GID, or the path bits, that the request was sent from.
 * The kernel is freed before its model.
 * Callbacks come from the loop, never inside a call; whatever a callback does to agents is allowed.
 */
struct kernel;
struct kernel_agent;

struct kernel_registration {
	uint8_t qp;		/* 0 or 1 */
	uint8_t mgmt_class;	/* 0: sends only; then nothing below but rmpp_version counts */
	uint8_t class_version;
	uint8_t rmpp_version;	/* 0 or 1 */
	bool user_rmpp;		/* the agent does RMPP itself (registration 2's flag) */
	uint32_t oui;		/* of vendor classes 0x30..0x4f */
	uint32_t methods[4];	/* bit m of word m / 32: requests of method m come here */
};

/* One message, as struct ib_user_mad has it. */
struct kernel_mad {
	const uint8_t *data;	/* MAD_SIZE bytes, or more: an RMPP message is its first segment's
				 * headers (36 bytes, SA 56) and then all of the payload */
	size_t len;		/* bytes of data; a shorter one is filled up with zeros */
	uint32_t status;	/* in: 0 or ETIMEDOUT */
	uint32_t timeout_ms;	/* out: > 0 expects a response */
	uint32_t retries;	/* out */
	uint32_t qpn, qkey;	/* remote QP; out: its Q_Key */
	uint32_t flow_label;	/* with a GRH */
	uint16_t lid;		/* remote; LID_PERMISSIVE for directed routes */
	uint16_t pkey_index;
	uint8_t sl, path_bits;
	uint8_t gid_index, hop_limit, traffic_class;	/* with a GRH */
	uint8_t gid[16];	/* out: remote GID; in: the sender's, with a GRH */
	bool grh;		/* there is a GRH */
};

struct kernel_events {
	/* Valid during the call. */
	void (*receive)(void *arg, const struct kernel_mad *mad);
	void *arg;
};

struct kernel *
kernel_new(struct model *m);
void
kernel_free(struct kernel *k);	/* agents and watches are freed with it */

/* 0, or the errno value that the ioctl would give (EINVAL, ENODEV). */
int
kernel_register(struct kernel_agent **a, struct kernel *k, uint32_t node, unsigned port,
		const struct kernel_registration *r, const struct kernel_events *ev);
/* Requests that wait are forgotten; no callback follows. NULL is allowed. */
void
kernel_unregister(struct kernel_agent *a);
/* Takes a copy. 0, or the errno value that write() would give: EINVAL; ENOMEM for one of very many
 * that wait. */
int
kernel_send(struct kernel_agent *a, const struct kernel_mad *mad);
/* IsSM of the port, counted: it stands while somebody holds it. 0, EBUSY if somebody else has it,
 * ENODEV. */
int
kernel_issm(struct kernel *k, uint32_t node, unsigned port, bool on);

/* Be told whenever the port's PortInfo, P_Keys, GUIDs or link have changed. */
struct kernel_watch;
struct kernel_watch *
kernel_watch(struct kernel *k, uint32_t node, unsigned port, void (*fn)(void *arg), void *arg);
void
kernel_unwatch(struct kernel_watch *w);	/* NULL is allowed */

/* Responses dropped because nobody waited for them, and requests nobody had registered for. */
uint64_t
kernel_dropped(const struct kernel *k);

#endif
