/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/core/watchdog.h"

#include <stdio.h>
#include "sm/core/subnet_i.h"

/*
 * Stages that take too long, told by name while they last. Every request ends by answer or
 * time-out, so that no stage can last for ever by what devices do; but an engine may, and an
 * administrator wants to know what the subnet waits for before it is over. A stage is told of after
 * PATIENCE, and again each time that twice as long has passed; and when it has ended at last.
 */

#define PATIENCE SEC(30)

/* What the stage does, or NULL where it may last. */
static const char *
stage_doing(const struct subnet *s)
{
	switch (s->stage) {
	case SUBNET_SWEEP:
		return "discovery";
	case SUBNET_ROUTE:
		return "routing";
	case SUBNET_PUSH:
		return "programming";
	case SUBNET_MULTICAST:
		return "programming of multicast tables";
	case SUBNET_GUIDS:
		return "programming of alias GUIDs";
	case SUBNET_PORTS:
		return "setting of ports";
	case SUBNET_PARTITIONS:
		return "compiling of partitions";
	case SUBNET_WAITING:
	case SUBNET_IDLE:
	case SUBNET_POLL:
	case SUBNET_ADAPTIVE:
	case SUBNET_CONGESTION:		/* devices that do not know it are silent */
		break;
	}
	return NULL;
}

/* What came of it so far. */
static const char *
progress_text(const struct subnet *s, char to[120])
{
	const struct transact_counters *c = s->transact ? transact_counters(s->transact) : NULL;

	if (s->stage == SUBNET_ROUTE || s->stage == SUBNET_PARTITIONS || !c)
		snprintf(to, 120, "the worker is not done");
	else
		snprintf(to, 120, "%llu answers came, and %llu requests were never answered",
			 (unsigned long long)(c->answered - s->watchdog.answered),
			 (unsigned long long)(c->timed_out - s->watchdog.timed_out));
	return to;
}

const char *
watchdog_text(const struct subnet *s, char *to, size_t size)
{
	const char *doing = s->watchdog.doing;
	monotime lasted = loop_now(s->env.loop) - s->watchdog.since;
	char took[DURATION_TEXT_SIZE], progress[120];

	if (!doing || lasted < PATIENCE)
		return NULL;
	snprintf(to, size, "%s has taken %s: %s", doing, duration_text(took, lasted),
		 progress_text(s, progress));
	return to;
}

static void
look(void *subnet)
{
	struct subnet *s = subnet;
	struct watchdog *w = &s->watchdog;
	monotime left = w->since + w->patience - loop_now(s->env.loop);
	char text[200];

	if (!w->doing)
		return;
	if (left <= 0) {
		subnet_event(s, EVENT_OVERDUE, LOG_L_WARNING, 0, 0, "%s",
			     watchdog_text(s, text, sizeof(text)));
		w->told = true;
		w->patience *= 2;
		left = w->since + w->patience - loop_now(s->env.loop);
	}
	loop_timer_set(w->timer, left);
}

/* The timer is not set with each stage, of which there may be thousands a second: when it fires it
 * finds out how long the present one has lasted. */
void
watchdog_stage(struct subnet *s)
{
	const struct transact_counters *c = s->transact ? transact_counters(s->transact) : NULL;
	struct watchdog *w = &s->watchdog;
	char took[DURATION_TEXT_SIZE];

	if (w->told)
		subnet_event(s, EVENT_OVERDUE, LOG_L_NOTICE, 0, 0, "%s has ended after %s",
			     w->doing, duration_text(took, loop_now(s->env.loop) - w->since));
	w->doing = stage_doing(s);
	w->told = false;
	w->since = loop_now(s->env.loop);
	w->patience = PATIENCE;
	w->answered = c ? c->answered : 0;
	w->timed_out = c ? c->timed_out : 0;
	if (w->doing && !loop_timer_pending(w->timer))
		loop_timer_set(w->timer, PATIENCE);
}

void
watchdog_init(struct subnet *s)
{
	s->watchdog.timer = loop_timer_new(s->env.loop, look, s);
}

void
watchdog_free(struct subnet *s)
{
	loop_timer_free(s->watchdog.timer);
}
