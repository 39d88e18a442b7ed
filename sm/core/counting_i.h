/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_COUNTING_I_H
#define CORE_COUNTING_I_H

#include "sm/core/subnet_i.h"

/* What is known of error counters, of a port and of a device: shared by counting.c, which reads
 * them, counting_judge.c and counting_show.c. */
struct port_errors {
	monotime since;			/* this is counted since; 0: it was never read */
	uint64_t last[PERF_ERRORS];	/* as last read */
	uint32_t count[PERF_ERRORS];	/* errors since then; they stop at the highest number */
};

/* An agent for performance management: that of a switch, or of a port of a host. */
struct port_agent {
	bool known;			/* ClassPortInfo was read, */
	bool extended;			/* and PortCountersExtended has errors */
	uint8_t sl;			/* where it redirects requests to, */
	uint16_t lid;			/* 0: nowhere, */
	uint32_t qp;			/* to this queue pair there */
};

struct counted_port {
	struct port_errors errors;
	struct port_agent agent;	/* port 0 of switches, and ports of hosts */
	uint32_t over_sweep;		/* sweep in which it, or its other end, had a finding */
	uint16_t clear;			/* bit i: counter i is to be cleared now */
	uint8_t refusals;		/* in a row; */
	uint8_t skip;			/* sweeps to leave it alone for them */
};

struct counted {
	struct transact_target target;	/* of counting.transact */
	uint64_t guid;			/* node GUID */
	uint32_t place;			/* in topo.table and counting.table */
	uint16_t next;			/* port to ask next */
	uint8_t nports;			/* of the device */
	uint8_t misses;			/* sweeps in a row without an answer; */
	uint8_t skip;			/* sweeps to leave it alone for them */
	bool asking;			/* counted in under_way */
	struct counted_port ports[];	/* 0..nports */
};

/* The record of a device, if there is one; and the device of a record, if it is there. */
struct counted *
counted_of(const struct subnet *s, const struct device *d);
struct device *
counted_device(const struct subnet *s, const struct counted *c);

/*
 * counting_judge.c: a port was read. `extended`: by counters that do not stop; `allowed`: errors of
 * each kind in a minute, 0 any number. True: there were more; `f` has the worst kind, without whose
 * it is.
 */
bool
counting_judge(struct port_errors *e, const struct perf_counters *read, bool extended,
	     const unsigned allowed[PERF_ERRORS], monotime now, struct error_finding *f);
/* Counters of PortCounters that are near to where they stop: bits as those of CounterSelect. */
uint16_t
counting_near_full(const struct perf_counters *read);
/* "4000 symbol_errors in 60 s, to 4100". */
#define COUNTING_TEXT_SIZE 120
const char *
counting_text(const struct error_finding *f, char to[COUNTING_TEXT_SIZE]);
/* The cable, or a device at its ends, is at fault for errors of this kind, rather than traffic. */
bool
counting_of_cable(enum perf_error kind);

#endif
