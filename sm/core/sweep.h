/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_SWEEP_H
#define CORE_SWEEP_H

#include <stdbool.h>
#include <stdint.h>
#include "sm/base/clock.h"
#include "sm/base/list.h"
#include "sm/wire/mad.h"

/* Discovery, as the other stages see it: sweep.c. What its own files share is in sweep_i.h. */
struct agent;
struct device;
struct subnet;
struct transact_request;
struct transact_result;

enum sweep_kind {
	SWEEP_NONE,
	SWEEP_PARTIAL,		/* only the devices named in subnet.dirty */
	SWEEP_LIGHT,		/* SwitchInfo of every switch; follow what changed */
	SWEEP_HEAVY,		/* everything from the start */
};

/* Soft barrier of heavy sweeps: see sweep.c. */
#define SWEEP_LEVELS (SMP_MAX_HOPS + 1)
struct sweep_level {
	struct list probes;	/* live_port.wait: probes that may not start yet */
	uint32_t work;		/* devices being read and probes under way at this distance */
};

struct sweep {
	enum sweep_kind kind;
	uint32_t id;			/* number of this sweep, from 1 */
	monotime started;
	unsigned open_level;		/* probes from this distance and nearer may start */
	unsigned last_level;		/* farthest level in use */
	uint64_t answers;		/* answers seen in this sweep */
	uint64_t tick_answers;		/* the same at the last tick of the level timer */
	unsigned rounds;		/* suspects are being asked over other paths: how often */
	uint64_t round_answers;		/* answers seen when the last round began */
	bool changed;			/* the model differs from the snapshot */
	bool doubtful;			/* two devices seem to claim a GUID */
	bool again;			/* the one before was doubtful */
	bool told;			/* it looks at what was told of unasked */
	bool curtailed;			/* a light sweep asks nobody any more who is not known to
					 * have changed */
	struct sweep_level level[SWEEP_LEVELS];
};

/* Value in subnet.dirty: of the device nothing but its description has changed. */
#define DIRTY_DESCRIPTION 1

/* sweep.c */
void
sweep_init(struct subnet *s);
void
sweep_start(struct subnet *s, enum sweep_kind kind);
bool
sweep_next(struct subnet *s, struct agent *a, struct transact_request *r);
void
sweep_done(struct subnet *s, struct agent *a, const struct transact_result *res);
/* Nothing is under way any more: second round, or the end. */
void
sweep_idle(struct subnet *s);
/* Something has changed at a device: the present sweep reads it. False if it must be the next. */
bool
sweep_include(struct subnet *s, struct device *d);
/* A light sweep under way asks nobody any more who is not known to have changed, so that it ends
 * soon and a partial one can follow. False if the present sweep is none. */
bool
sweep_curtail(struct subnet *s);
/* A request to it is not answered as fast as others are. */
void
sweep_late(struct subnet *s, struct agent *a);
void
sweep_tick(void *subnet);

#endif
