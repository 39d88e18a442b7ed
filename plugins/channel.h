/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PLUGINS_CHANNEL_H
#define PLUGINS_CHANNEL_H

#include "plugins/layout.h"

/*
 * What the daemon and the process of a consumer say to each other, over a socket that keeps
 * messages apart. The daemon sends one struct channel_message for each event, and shuts the socket
 * down when there will be no more; the process sends a byte when it is open, and whenever it has
 * handled what had come. How much that was is in memory that both share, and in which the daemon
 * believes nothing.
 */
#define CHANNEL_WINDOW 32u		/* messages that are not handled yet, at most */
#define CHANNEL_FIGURES 32u
#define CHANNEL_MAX 8192u		/* bytes of a message at most */

/* The output of a consumer's process. */
struct channel_output {
	struct layout_output head;	/* stage, and why it refused */
	uint64_t handled;		/* messages; atomic */
};

enum channel_kind {
	CHANNEL_EVENT,
	CHANNEL_LOST,			/* `count` events were left out */
};

/* Texts stand behind it, at offsets from its begin. */
struct channel_message {
	uint32_t kind;			/* enum channel_kind */
	uint32_t level;
	uint64_t count;
	uint64_t sequence;
	int64_t time_us;
	uint64_t guid, peer_guid;
	uint16_t lid;
	uint8_t port, peer_port;
	uint32_t type, subnet, text, json;
	uint32_t nfigures;
	uint32_t figure_name[CHANNEL_FIGURES];
	uint64_t figure[CHANNEL_FIGURES];
};

#endif
