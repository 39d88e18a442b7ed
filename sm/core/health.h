/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_HEALTH_H
#define CORE_HEALTH_H

#include <stdbool.h>
#include <stdint.h>
#include "sm/base/loop.h"
#include "sm/base/map.h"
#include "sm/conf/config.h"
#include "sm/core/counting.h"
#include "sm/fabric/status.h"

/*
 * What is wrong with ports and devices, how often it was seen, and what is done about it: see
 * health.c. Whoever notices something says so; when it is told, and what follows, is decided here.
 */
#define HEALTH_TIMES 16		/* of the last occasions */

struct ailment {
	uint64_t guid;			/* node GUID; 0: the slot is free */
	int64_t since;			/* wall microseconds of when it was told */
	monotime times[HEALTH_TIMES];	/* of the last occasions, a ring */
	monotime began;			/* unresponsive: it stopped to answer */
	monotime relapsed;		/* when it was told last; 0: never */
	uint64_t tried;			/* snapshot with which nothing could be done */
	uint32_t count;			/* occasions; that of the next is its slot in `times` */
	uint32_t next;			/* of the same device, or of free slots; MAP_NONE */
	enum health_condition why;
	enum config_action done;	/* ACTION_REPORT: nothing but told */
	uint8_t port;			/* 0: the whole device */
	uint8_t relapses;		/* in the last hour */
	bool due;			/* seen often enough: to be told */
	bool told;			/* it is so; else it was, or may be before long */
	struct error_finding errors;	/* HEALTH_ERRORS: what was found last */
	char left[100];			/* why nothing is done though it was to be; "" */
};

struct health {
	struct loop_timer *timer;	/* while there is anything to look after */
	struct map by_guid;		/* node GUID -> first slot */
	struct ailment *list;		/* slots */
	uint32_t len;			/* slots ever used */
	uint32_t size;			/* slots allocated */
	uint32_t free;			/* first free slot below len; MAP_NONE */
	uint32_t told;			/* of them, those that are so */
	uint32_t looked;		/* slot from which on they are looked after next */
	uint32_t acts;			/* what was done, or tried, in this turn */
	uint32_t at;			/* place in topo.table where the walk goes on, */
	bool walking;			/* which looks at what was there before we led */
	bool full;			/* more is wrong than there are slots */
};

struct subnet;
struct device;
struct live_port;
struct drain;

const char *
health_name(enum health_condition c);	/* "flapping" */
bool
health_parse(const char *name, enum health_condition *c);
void
health_init(struct subnet *s);
void
health_free(struct subnet *s);

/* The cable of this port went down, or was down between two looks. */
void
health_flapped(struct subnet *s, struct live_port *p);
/* The port sent a trap 129 to 131. */
void
health_trapped(struct subnet *s, struct live_port *p);
/* What is kept off has changed by a command: what is said of it is true at once. */
void
health_follow_drains(struct subnet *s);
/* We lead since a moment: what was there before is looked at, by and by. */
void
health_begin(struct subnet *s);
/* The device does not answer. */
void
health_silent(struct subnet *s, struct device *d);
/* The device refused what it was set to. */
void
health_refused(struct subnet *s, const struct device *d);
/* The port was read, or its cable was found: is it as fast as it could be? */
void
health_look(struct subnet *s, const struct live_port *p);
/* Its counters were read, and errors found. True: that is told already, of this or the other end of
 * its cable, or is not to be. */
bool
health_errors(struct subnet *s, const struct error_finding *f);
/* Tell of it, and do what is to be done; false: of no more cables is told. */
bool
health_errors_tell(struct subnet *s, const struct error_finding *f);

#endif
