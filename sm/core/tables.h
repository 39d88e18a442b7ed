/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_TABLES_H
#define CORE_TABLES_H

#include <stdbool.h>
#include <stdint.h>
#include "sm/base/intern.h"
#include "sm/wire/attr.h"

/*
 * What ports are known to hold besides PortInfo (IBA volume 1, 14.2.5.7 to 14.2.5.9): P_Key tables,
 * VL arbitration tables, and SL to VL maps, of which a switch has one for each pair of ports. It is
 * what was read or acknowledged last, and what is to be programmed is compared with it. Thousands
 * of ports hold the same, so that contents are kept once (sm/base/intern.h), and of the maps of an
 * output port a single number where all input ports have the same.
 */
#define TABLES_KEYS 32u		/* P_Keys of a block */
#define TABLES_PKEY_BLOCKS 64u	/* more of a port are not looked at, whatever it claims */
#define TABLES_VLARB_BLOCKS 4u	/* 1 and 2 low priority, 3 and 4 high, of 32 entries */
#define TABLES_SLS 16u

struct config;
struct plan_sls;
struct topo;
struct device;
struct live_port;

/* Contents that any port of the subnet holds. */
struct tables {
	struct intern blocks;	/* 64 bytes: P_Keys, VL arbitration */
	struct intern maps;	/* 8 bytes: SL to VL */
	uint64_t vlarb_changed;	/* raised when other VL arbitration is known, or none any more */
	uint64_t pkeys_changed;	/* raised when P_Keys that were known are not so any more */
};

/* What is known of one port. Numbers are of struct tables, INTERN_NONE where nothing is known. */
struct port_tables {
	uint32_t *pkeys;	/* by block; those behind are not known */
	uint16_t pkey_blocks;	/* blocks in pkeys */
	uint32_t vlarb[TABLES_VLARB_BLOCKS];	/* block 1 first */
	uint32_t sl2vl;		/* out of this port, from any; sl2vl_in goes before it */
	uint32_t *sl2vl_in;	/* by input port, where they differ or some are not known */
};

/* By what all devices hold the VL arbitration tables that they should; see push_vlarb.c. */
struct arbitrated {
	struct plan_sls *sls;		/* reference held; NULL: they may not */
	const struct config *conf;	/* reference held */
	uint64_t changed;		/* tables.vlarb_changed then */
};

enum tables_state {
	TABLES_UNKNOWN,		/* neither read nor acknowledged since the port came up */
	TABLES_HELD,
	TABLES_ABSENT,		/* the port has no such table, or refuses to tell: reads 0, P_Keys
				 * of an end port as at power-up */
};

void
tables_init(struct tables *t);
void
tables_free(struct tables *t);
/* Nothing is known of it any more; `due` of its device is set. */
void
tables_forget_port(struct tables *t, struct live_port *p);
/* The same, and of pairs with it as input: it came up, or was reset. */
void
tables_forget(struct tables *t, struct live_port *p);
/* Of all ports. */
void
tables_forget_device(struct tables *t, struct device *d);

/* Blocks of a port's P_Key table, by NodeInfo or SwitchInfo. */
unsigned
tables_pkey_blocks(const struct live_port *p);
/* The first of the first `most` blocks that is not known; -1. */
int
tables_pkeys_missing(const struct live_port *p, unsigned most);

/* Zeros are filled in unless it is held; NULL: nothing is. A block or port that there cannot be is
 * absent. */
enum tables_state
tables_pkeys(const struct tables *t, const struct live_port *p, unsigned block,
	     uint16_t keys[TABLES_KEYS]);
enum tables_state
tables_vlarb(const struct tables *t, const struct live_port *p, unsigned block,
	     struct vlarb_entry e[32]);
enum tables_state
tables_sl2vl(const struct tables *t, const struct live_port *out, unsigned in,
	     uint8_t vl[TABLES_SLS]);

/* What an answer told; data NULL: the device refuses to tell. What there cannot be is ignored. */
void
tables_saw_pkeys(struct tables *t, struct live_port *p, unsigned block,
		 const uint8_t data[SMP_DATA_SIZE]);
void
tables_saw_vlarb(struct tables *t, struct live_port *p, unsigned block,
		 const uint8_t data[SMP_DATA_SIZE]);
void
tables_saw_sl2vl(struct tables *t, struct live_port *out, unsigned in,
		 const uint8_t data[SMP_DATA_SIZE]);
/* A Set of it was not answered. */
void
tables_doubt_sl2vl(struct tables *t, struct live_port *out, unsigned in);

#endif
