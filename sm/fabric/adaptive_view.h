/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_ADAPTIVE_VIEW_H
#define FABRIC_ADAPTIVE_VIEW_H

#include <stdbool.h>
#include <stdint.h>

/* Adaptive routing of a subnet, for `weft show adaptive`. */
struct adaptive_view {
	const char *wanted;	/* "off", "on", "auto": by the configuration */
	const char *mode;	/* "free", "bounded", "hash" */
	bool recovery;		/* dead ports are to be replaced */
	const char *hosts_wanted;	/* "ignore", "read", "write": by the configuration */
	uint32_t hosts;		/* all that there are; */
	uint32_t hosts_known;	/* that say what they take in any order */
	uint16_t any_order;	/* bit n: all hosts take SL n so */
	uint32_t switches;	/* all that there are, */
	uint32_t on;		/* of them: that spread packets, */
	uint32_t recovering;	/* that only replace dead ports, */
	uint32_t plain;		/* that could, and go by their tables alone, */
	uint32_t absent;	/* that cannot, */
	uint32_t unasked;	/* of which nobody knows yet */
	uint32_t failed;	/* that should, and did not take it */
};

/* Of one switch. */
struct adaptive_row {
	uint64_t next;		/* where to go on */
	uint64_t guid;
	const char *kind;	/* of device: "Quantum-2" ..., "other"; NULL: none is known */
	const char *state;	/* "on", "recovery", "static", "absent", "unasked" */
	char why[120];		/* it is not on, in words; "" */
	bool notable;		/* it is not what the configuration wants */
	bool recovery;		/* it replaces dead ports */
	uint16_t used;		/* groups */
	uint16_t room;		/* numbers that there are for them */
	uint16_t left_out;	/* sets of ports that found no number */
	uint16_t sls;		/* bit n: packets of SL n are spread */
	uint8_t transports;	/* enum ar_transport that are */
};

#endif
