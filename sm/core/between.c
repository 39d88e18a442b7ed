/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is written between other stages, when nothing else is to be done: ports to be disabled,
 * multicast tables, alias GUIDs, congestion control, each a stage of its own. None of them is worth
 * a fault's waiting: when something is to be looked at and such a stage does not end at once, for a
 * device that does not answer, it is broken off, and what it has not done is left for a later one.
 * Multicast tables that are taken away before a push are not among these: the push waits for them.
 */
#include "sm/core/subnet_i.h"

#define PATIENCE MSEC(20)

static bool
is_between(const struct subnet *s)
{
	return s->stage == SUBNET_PORTS || s->stage == SUBNET_GUIDS ||
	       s->stage == SUBNET_CONGESTION || s->stage == SUBNET_ADAPTIVE ||
	       (s->stage == SUBNET_MULTICAST && s->multicast.step != MULTICAST_WITHDRAW);
}

bool
between_start(struct subnet *s)
{
	return disable_write(s) || mft_write(s) || guids_write(s) ||
	       adaptive_write(s) || congestion_write(s);
}

void
between_over(struct subnet *s)
{
	loop_timer_cancel(s->impatience);
	subnet_set_stage(s, SUBNET_IDLE);
	if (!loop_timer_pending(s->timer) || s->wanted != SWEEP_NONE || s->want_route ||
	    s->push_incomplete || s->reroute.waiting || s->want_refresh || s->parts.due ||
	    s->parts.command.done)
		subnet_go_on(s);
	else
		between_start(s);
}

void
between_hurry(struct subnet *s)
{
	if (is_between(s) && !loop_timer_pending(s->impatience))
		loop_timer_set(s->impatience, PATIENCE);
}

void
between_break_off(void *subnet)
{
	struct subnet *s = subnet;
	enum subnet_stage stage = s->stage;

	list_each(it, &s->topo.devices) {
		if (!is_between(s) || s->stage != stage)
			return;
		transact_cancel(s->transact, &list_entry(it, struct device, all)->agent.target);
	}
}
