/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_COUNTERS_H
#define SIM_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>
#include "sim/model/model.h"
#include "sm/base/clock.h"

/* Port counters of simulated devices: what has been counted, and where each attribute that shows a
 * count was when it was last written. See counters.c. */
enum sim_counter {
	/* What PortCounters and PortCountersExtended both show. */
	CTR_SYMBOL, CTR_RECOVERY, CTR_DOWNED, CTR_RCV_ERRORS, CTR_REMOTE_PHYSICAL,
	CTR_SWITCH_RELAY, CTR_XMIT_DISCARDS, CTR_XMIT_CONSTRAINT, CTR_RCV_CONSTRAINT,
	CTR_LOCAL_INTEGRITY, CTR_OVERRUN, CTR_VL15_DROPPED, CTR_XMIT_DATA, CTR_RCV_DATA,
	CTR_XMIT_PKTS, CTR_RCV_PKTS, CTR_XMIT_WAIT, CTR_QP1_DROPPED,
	CTR_UNI_XMIT, CTR_UNI_RCV, CTR_MULTI_XMIT, CTR_MULTI_RCV,	/* the latter alone */
	CTR_SHARED,
	/* What one attribute of its own shows. */
	CTR_RCV_PHYSICAL = CTR_SHARED, CTR_RCV_MALFORMED, CTR_RCV_OVERRUN, CTR_RCV_DLID,
	CTR_RCV_VL, CTR_RCV_LOOPING,
	CTR_DISCARD_INACTIVE, CTR_DISCARD_MTU, CTR_DISCARD_LIFETIME, CTR_DISCARD_HOQ,
	CTR_OP_PKTS, CTR_OP_DATA, CTR_FLOW_XMIT, CTR_FLOW_RCV,
	CTR_KEPT,		/* those below exist in traffic alone */
	CTR_XMIT_SL = CTR_KEPT,	/* 16: words sent, by service level */
	CTR_RCV_SL = CTR_XMIT_SL + 16,
	CTR_WAIT_VL = CTR_RCV_SL + 16,	/* 16: waiting, by virtual lane */
	CTR_ALL = CTR_WAIT_VL + 16,
};

/* Who shows a counter; each is written on its own. */
enum counter_view { VIEW_PLAIN, VIEW_EXTENDED, VIEW_DETAIL, VIEWS };

/* What data traffic adds to the counters; the model knows no more of it. */
struct counter_source {
	void (*look)(void *arg);	/* read() is to tell of this moment from now on */
	uint64_t (*read)(void *arg, uint32_t node, unsigned port, unsigned counter);
	void (*touched)(void *arg);	/* links or tables have changed */
	void *arg;			/* handed to all */
};

/* Whoever reads counters looks first, and then sees all of them as they are at that moment. */
void
counters_look(struct model *m);
/* What a view shows: all that was counted since it was written, up to when somebody looked. */
uint64_t
counter_read(struct model *m, uint32_t node, unsigned port, enum counter_view v, unsigned counter);
void
counter_write(struct model *m, uint32_t node, unsigned port, enum counter_view v, unsigned counter,
	      uint64_t value);
void
counter_add(struct model *m, uint32_t node, unsigned port, unsigned counter, uint64_t n);
/* All views of a node read 0, and what was to grow on its own has stopped. */
void
counters_reset(struct model *m, uint32_t node);
void
counters_free(struct model *m, uint32_t node);

/* What grows evenly: a rate in units of 2^-20 a second, a sum in those times nanoseconds. Sums are
 * exact, so that reading often and reading once give the same. */
#define METER_SHIFT 20
typedef unsigned __int128 meter_sum;

static inline uint64_t
meter_rate(double per_second)
{
	return (uint64_t)(per_second * (1 << METER_SHIFT) + 0.5);
}

static inline meter_sum
meter_grown(uint64_t rate, monotime time)
{
	return time > 0 ? (meter_sum)rate * (uint64_t)time : 0;
}

static inline uint64_t
meter_value(meter_sum sum)
{
	return (uint64_t)((sum >> METER_SHIFT) / 1000000000u);
}

#endif
