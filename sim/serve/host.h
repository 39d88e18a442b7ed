/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_HOST_H
#define SIM_HOST_H

#include <stdint.h>
#include "sm/base/error.h"
#include "sm/base/list.h"
#include "sm/text/ibnet.h"

/*
 * Hosts: which devices of a fabric are in one machine, and how programs on it see them.
 *
 * Descriptions of two words, of which the second looks like a device ("gpu-01 mlx5_0", "H0_0_0
 * HCA-1"), are of the host that the first word names; channel adapters with the same first word
 * and different second ones are devices of one host. Where two such nodes have the same words
 * ("localhost HCA-1"), and for all other nodes, each node is a host of its own. A switch is one
 * too, with port 0.
 */
enum host_qps {
	HOST_QP0 = 1,
	HOST_QP1 = 2,
};

#define HOST_NAME_SIZE 32

struct host_device {
	char name[HOST_NAME_SIZE];	/* "mlx5_0" */
	uint32_t node;			/* of the fabric */
	uint8_t qps;			/* enum host_qps: that its ports have */
};

struct host_port {
	uint16_t device;		/* index of its device */
	uint8_t port;			/* of its node */
};

struct host {
	struct list list;		/* of those made */
	uint32_t first;			/* lowest of its nodes */
	uint32_t layout;		/* enum attach_layout */
	struct host_device *devices;	/* in order */
	struct host_port *ports;	/* the index is N of umadN and issmN */
	unsigned ndevices, nports;	/* of these */
};

struct hosts;

struct hosts *
hosts_new(const struct ibnet *net);	/* borrowed */
void
hosts_free(struct hosts *hs);		/* and every struct host; NULL is allowed */
/* The host that a word names: its name, or a node's description, name or GUID; empty: the first
 * channel adapter's. ERR_NOT_FOUND and ERR_INVALID (several have this name) with a sentence. */
int
hosts_find(const struct host **h, struct hosts *hs, const char *word, uint32_t layout,
	   struct error *e);

#endif
