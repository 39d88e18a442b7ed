/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_AR_IMPL_H
#define SIM_AR_IMPL_H

#include "sim/model/ar.h"
#include "sim/model/model_impl.h"

/* What an adaptive switch holds. ar.c owns it and forwards by it, sma_ar.c reads and writes it. */
#define AR_ENTRY_SIZE 4u	/* of the adaptive LFT, as on the wire */
#define AR_PAGE_LEN AR_BANK_UNIT	/* LIDs in a page of LFT memory */
#define AR_PAGES 96u		/* LFT memory: 2 banks of 48K LIDs or 4 of 24K */
#define AR_DIRECTIONS 64u
#define AR_STRING_WIDTH 10u

/* One group table. */
struct ar_table {
	uint64_t *masks;	/* `words` of ports for each sub-group entry; from malloc */
	uint32_t len;		/* sub-group entries */
};

/* Blocks of an attribute that is only kept. */
struct ar_blocks {
	uint8_t *data;		/* len blocks of SMP_DATA_SIZE, from malloc */
	uint32_t len;
};

enum ar_kept {
	AR_KEPT_HBF, AR_KEPT_WHBF, AR_KEPT_GEN, AR_KEPT_RCV, AR_KEPT_DIRECTION,
	AR_KEPT_XMIT, AR_KEPT_PRIORITY, AR_KEPTS
};

struct ar_switch {
	struct ar_support support;	/* what it can */
	const struct ar_layout *layout;	/* the model's */
	struct ar_info info;		/* with all capabilities but GroupCap, which depends */
	struct ar_plft_info plft_info;
	struct ar_plft_def def[AR_PLFTS_MAX];	/* where in LFT memory each pLFT is */
	uint16_t top[AR_PLFTS_MAX];	/* LFTTop */
	struct ar_node_info node_info;
	struct ar_pfrn pfrn;
	uint8_t *page[AR_PAGES];	/* LFT memory, AR_PAGE_LEN entries each, NULL until used */
	struct ar_table *tables;	/* ar_table_of(), NULL until one is written */
	uint8_t *port_plft;		/* 16 a port, by SL; NULL: all 0 */
	struct ar_blocks kept[AR_KEPTS];
};

static inline unsigned
ar_words(const struct sim_node *n)
{
	return n->nports / 64u + 1;
}

/* ar.c */
void
ar_init(struct model *m);		/* when all nodes are there */
void
ar_reset(struct sim_node *n);		/* it comes up: nothing is set */
void
ar_free(struct sim_node *n);
void
ar_lft_written(struct sim_node *n);	/* by a Set of LinearForwardingTable */

unsigned
ar_group_cap(const struct ar_switch *a, uint8_t sub_grps_active);
unsigned
ar_plfts(const struct ar_switch *a);	/* that exist in the present mode */
/* The table that an address names; NULL if there is none, or without `make` none was written. */
struct ar_table *
ar_table_of(struct ar_switch *a, const struct ar_mod *at, bool make);
/* Where a pLFT's entry for a LID is in LFT memory, or -1. */
long
ar_lft_at(const struct ar_switch *a, unsigned plft, unsigned lid);

#endif
