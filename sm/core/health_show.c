/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is wrong with ports and devices as it is shown, and what traffic is kept off.
 */
#include "sm/core/health_i.h"

#include <stdio.h>
#include "sm/core/counting_i.h"

static const char *
action_text(const struct ailment *a)
{
	static const char *const texts[] = {
		[ACTION_IGNORE] = "none", [ACTION_REPORT] = "none", [ACTION_DRAIN] = "drain",
		[ACTION_ISOLATE] = "isolate", [ACTION_DISABLE] = "disable",
	};

	return texts[a->done];
}

static void
put_node(const struct subnet *s, uint64_t guid, struct health_row *row)
{
	const struct device *d = topo_find(&s->topo, guid);
	const char *mapped = name_map_get(s->env.names, guid);

	snprintf(row->node, sizeof(row->node), "%.64s", mapped ? mapped : d ? d->desc : "");
}

static void
put_errors(const struct subnet *s, const struct ailment *a, struct health_row *row)
{
	const struct device *d = topo_find(&s->topo, a->guid);
	const struct live_port *p = d && a->port <= d->info.num_ports ? &d->ports[a->port] : NULL;
	char text[COUNTING_TEXT_SIZE];

	row->errors = (struct health_errors){
		.counter = perf_error_name(a->errors.kind), .count = a->errors.count,
		.value = a->errors.value, .seconds = (double)a->errors.time / 1e9,
		.full = a->errors.full, .cable = counting_of_cable(a->errors.kind),
		.peer_guid = p && p->peer ? p->peer->guid : 0,
		.peer_port = p && p->peer ? p->peer_number : 0,
	};
	snprintf(row->errors.text, sizeof(row->errors.text), "%s", counting_text(&a->errors, text));
}

/* Is it told with what it was done for? A port may be disabled at the other end of its cable. */
static bool
is_told(const struct subnet *s, const struct drain *d)
{
	unsigned port = d->port == CHANGE_ALL_PORTS ? 0 : (unsigned)d->port;
	const struct ailment *a = health_find(&s->health, d->guid, port, d->why);
	const struct device *at = topo_find(&s->topo, d->guid);
	const struct live_port *p;

	if ((a && a->told) || !port || !at || port > at->info.num_ports)
		return a && a->told;
	p = &at->ports[port];
	a = health_find(&s->health, p->peer ? p->peer->guid : p->lost_peer,
			p->peer ? p->peer_number : p->lost_number, d->why);
	return a && a->told;
}

/* Drains of an administrator, and those of which nothing is known any more but that they are. */
static bool
drain_row(const struct subnet *s, uint32_t from, struct health_row *row)
{
	for (uint32_t i = from; i < s->drains.len; i++) {
		const struct drain *d = &s->drains.list[i];
		unsigned port = d->port == CHANGE_ALL_PORTS ? 0 : (unsigned)d->port;

		if (d->act == DRAIN_ENABLING || is_told(s, d))
			continue;
		*row = (struct health_row){
			.next = s->health.len + i + 1, .guid = d->guid, .port = (uint8_t)port,
			.condition = health_name(d->why), .since = d->since,
			.action = drain_act_name(d->act),
		};
		put_node(s, d->guid, row);
		return true;
	}
	return false;
}

bool
subnet_health(const struct subnet *s, uint32_t from, struct health_row *row)
{
	const struct health *h = &s->health;

	for (uint32_t i = from; i < h->len; i++) {
		const struct ailment *a = &h->list[i];

		if (!a->guid || !a->told)
			continue;
		*row = (struct health_row){
			.next = i + 1, .guid = a->guid, .port = a->port,
			.condition = health_name(a->why), .action = action_text(a),
			.since = a->since, .count = a->count,
		};
		snprintf(row->left, sizeof(row->left), "%s", a->left);
		if (a->why == HEALTH_ERRORS)
			put_errors(s, a, row);
		put_node(s, a->guid, row);
		return true;
	}
	return drain_row(s, from > h->len ? from - h->len : 0, row);
}
