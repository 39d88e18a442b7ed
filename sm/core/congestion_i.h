/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_CONGESTION_I_H
#define CORE_CONGESTION_I_H

#include "qos/congestion.h"
#include "sm/core/subnet_i.h"

/*
 * What one end port is known to hold of congestion control: by items, each of which is asked for
 * and then, where it is not what is wanted, set. Shared by congestion.c, the stage, and
 * congestion_port.c, the port.
 */
enum congestion_item {
	ITEM_CLASS,		/* ClassPortInfo: does it know the class? */
	ITEM_INFO,		/* CongestionInfo */
	ITEM_KEY,		/* CongestionKeyInfo */
	ITEM_SETTING,		/* SwitchCongestionSetting, or CACongestionSetting */
	ITEM_BLOCK,		/* and up: SwitchPortCongestionSetting, CongestionControlTable */
};
#define PORT_BLOCKS 8u		/* of a switch with 254 ports */
#define ITEM_NONE (ITEM_BLOCK + PORT_BLOCKS)
#define MISSES_MAX 3u		/* rounds without an answer: it is left alone */

struct live_congestion {
	enum congestion_state state;
	const char *why;		/* REFUSED, ABSENT: a constant text; NULL */
	struct cc_key_info key;		/* as read or acknowledged */
	uint64_t our_key;		/* has_key: what it took of us last */
	struct cc_info info;		/* CongestionInfo */
	struct cc_port_setting *ports;	/* switches: PORT_BLOCKS * CC_PORTS_BLOCK; NULL */
	union {
		struct cc_switch_setting sw;	/* as read or acknowledged */
		struct cc_ca_setting ca;	/* likewise */
	};
	uint64_t hash[CONGESTION_BLOCKS];	/* hosts: of blocks of the table */
	uint32_t known;			/* bit i: item i is as the device has told */
	uint32_t refused;		/* bit i: it is not taken, and not tried just now */
	uint32_t version;		/* of the policy that it was found to hold */
	uint16_t steps;			/* hosts: CCTI_Limit + 1, as told */
	uint8_t misses;			/* rounds in a row without an answer */
	bool has_key;			/* our_key counts */
	bool waits;			/* nothing is asked of it in this round any more */
	bool lacks;			/* it says that it does not know the class */
	bool touched;			/* something of it is of our making */
	bool told;			/* what is wrong with it was told */
};

/* What is wanted, of the subnet. */
struct congestion_policy {
	struct config_congestion c;	/* its pointers are the configuration's */
	struct congestion_table table;	/* of hosts */
	uint64_t hash[CONGESTION_BLOCKS + 1][CONGESTION_BLOCKS];	/* by blocks of the host and
									 * block */
};

void
congestion_policy_make(struct congestion_policy *p, const struct config_congestion *c);
/* The port's own, made if it is not there yet. */
struct live_congestion *
congestion_of(struct live_port *p);
/* The next item to ask for or to set; ITEM_NONE: there is none. */
unsigned
congestion_next_item(const struct subnet *s, const struct live_port *p);
/* The request for it, but for the address. */
void
congestion_ask(const struct subnet *s, const struct live_port *p, unsigned item,
	       struct transact_request *r);
/* What an answer without an error says of an item. */
void
congestion_take(const struct subnet *s, struct live_port *p, unsigned item,
		const struct transact_result *r);
/* It holds what is wanted of the item, which is known. */
bool
congestion_item_held(const struct subnet *s, const struct live_port *p, unsigned item);
/* It has a key that we do not know. */
bool
congestion_locked(const struct subnet *s, const struct live_congestion *h);
/* Counted by state. */
void
congestion_set_state(struct topo *t, struct live_port *p, enum congestion_state state);

#endif
