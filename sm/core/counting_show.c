/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Error counters as they are shown: what was read of each port last. Nothing is asked for it.
 */
#include "sm/core/counting_i.h"

#include <string.h>

#define SCAN 64u		/* devices looked at for one row */

void
subnet_counters(const struct subnet *s, struct counters_view *v)
{
	const struct counting *c = &s->counting;

	*v = (struct counters_view){
		.interval_s = (double)s->conf->health.counters_interval / 1e9,
		.sweeps = c->sweep, .took_s = (double)c->took / 1e9, .ports = c->last.ports,
		.unread = c->last.unread, .mads = c->last.mads,
	};
}

static bool
any_errors(const struct port_errors *e)
{
	for (unsigned i = 0; i < PERF_ERRORS; i++)
		if (e->last[i])
			return true;
	return false;
}

/* Port 0 stands for the device. */
static bool
fill(const struct device *d, const struct counted *c, unsigned n, struct counters_row *row)
{
	const struct counted_port *q = &c->ports[n];
	const struct live_port *p = &d->ports[n];

	if (n ? !q->refusals && !any_errors(&q->errors) : !c->misses)
		return false;
	*row = (struct counters_row){
		.guid = d->guid, .port = (uint8_t)n, .peer_guid = p->peer ? p->peer->guid : 0,
		.peer_port = p->peer ? p->peer_number : 0,
		.state = !n ? "silent" : q->refusals ? "refused" : "read",
		.extended = c->ports[d->info.node_type == NODE_SWITCH ? 0 : n].agent.extended,
	};
	memcpy(row->errors, q->errors.last, sizeof(row->errors));
	return true;
}

/* Rows are numbered by place in the table, and port. One without a state says only where to go on:
 * all devices at once would take too long. */
bool
subnet_counters_row(const struct subnet *s, uint64_t from, struct counters_row *row)
{
	uint64_t first = from >> 8;
	unsigned n = from & 0xff;

	for (uint64_t at = first; at < s->counting.size; at++, n = 0) {
		const struct counted *c = s->counting.table[at];
		const struct device *d = c ? counted_device(s, c) : NULL;

		if (at - first == SCAN) {
			*row = (struct counters_row){ .next = at << 8 };
			return true;
		}
		for (; d && n <= c->nports; n++) {
			if (!fill(d, c, n, row))
				continue;
			row->next = (at << 8) + n + 1;
			return true;
		}
	}
	return false;
}
