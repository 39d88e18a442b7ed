/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The end of a push, when the last answer is in: what the Sets passed is noted, whoever does not
 * hold its table, or has a port that does not forward or lacks P_Keys, is found and told, and the
 * states of all ports are published. Each is a walk over all ports, part of it in a turn of the
 * loop's.
 */
#include "sm/core/push_i.h"

/* A port that takes part does not forward as planned. */
static bool
port_fails(const struct subnet *s, const struct live_port *p)
{
	uint32_t kept = p->stubborn & FIELDS_FORWARDING & ~(uint32_t)FIELD_FDB_TOP;
	struct portinfo want;

	/* What was kept once may be what is wanted now. */
	if (kept)
		kept &= push_port_want(s, p, &want);
	if (!p->number)
		return kept;
	return push_port_counts(p) && (p->info.state != PORT_ACTIVE || kept);
}

/* The keys that were said to be written are compared with what the port holds. */
static bool
lacks_keys(struct subnet *s, const struct live_port *p)
{
	if (!push_pkeys_lack(s, p))
		return false;
	if (!p->device->push_failed && !s->push.first_failure[0])
		push_failure(s, p->device, "port %u does not hold the P_Keys that are planned",
			     p->number);
	return true;
}

/* After the last step: ports that should be ACTIVE by now, and hold their P_Keys. */
static void
verify_ports(struct subnet *s, struct device *d)
{
	for (unsigned n = 0; n <= d->info.num_ports && !d->silent; n++) {
		struct live_port *p = &d->ports[n];
		bool lacks = lacks_keys(s, p);

		if (!port_fails(s, p)) {
			s->push.failed_ports += lacks;
			/* A link that was routed round is there now. */
			if (p->flags & LIVE_PORT_STUCK && p->info.state == PORT_ACTIVE) {
				p->flags &= (uint16_t)~LIVE_PORT_STUCK;
				s->want_route = true;
			}
			continue;
		}
		p->flags |= LIVE_PORT_STUCK;
		s->push.failed_ports++;
		if (d->push_failed)
			continue;	/* it was told, and will be looked at */
		/* The end that is behind holds the other one back. */
		if (!s->push.first_failure[0] &&
		    (!p->peer || p->info.state <= live_peer(p)->info.state))
			push_failure(s, d, "port %u stays %s", n, port_state_name(p->info.state));
		push_look_again(s, d);
	}
}

/* What the Sets of this push passed, as far as is known: see look_for_moves() in sweep.c. */
static void
note_cables(struct subnet *s, struct device *d)
{
	for (unsigned n = 1; n <= d->info.num_ports; n++) {
		struct live_port *p = &d->ports[n];

		if (!p->peer || (d->info.node_type != NODE_SWITCH && d != s->topo.own))
			continue;
		p->flags |= LIVE_PORT_PASSED;
		p->seen_guid = p->peer->guid;
		p->seen_port = p->peer_number;
	}
}

/* What is left to do when all is answered; true: this is done. */
static bool
end_part(struct subnet *s)
{
	switch (s->push.end) {
	case PUSH_END_CABLES:
		return !s->push.sets || push_walk(s, note_cables);
	case PUSH_END_TABLES:
		if (!s->push.cut && !s->push.few)
			push_verify_tables(s);
		return true;
	case PUSH_END_PORTS:
		return s->push.cut || push_walk(s, verify_ports);
	case PUSH_END_STATES:
		return !s->push.sets || subnet_refresh(s);
	case PUSH_ENDED:
		break;
	}
	return true;
}

void
push_end_turn(struct subnet *s)
{
	if (end_part(s)) {
		s->push.end++;
		s->push.at = 0;
	}
	if (s->push.end < PUSH_ENDED) {
		loop_timer_set(s->turn, 0);
		return;
	}
	plan_stages_free(s->push.stages);
	s->push.stages = NULL;
	subnet_push_done(s);
}

void
push_end(struct subnet *s)
{
	s->push.step = PUSH_DONE;
	s->push.end = PUSH_END_CABLES;
	s->push.at = 0;
	push_end_turn(s);
}
