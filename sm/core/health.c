/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/core/health.h"

#include <stdio.h>
#include <string.h>
#include "sm/base/mem.h"
#include "sm/core/counting_i.h"
#include "sm/core/health_i.h"

/*
 * From what is noticed to what is done. Each (device, port, condition) that was seen has a slot; it
 * is told of when it was seen often enough, or for long enough:
 *
 *   flapping      health.flaps times down within health.flap_window
 *   unresponsive  no answer for health.unresponsive_after
 *   babbling      ten traps of link errors, less than five seconds apart (as OpenSM has it)
 *   refusing      three refusals
 *   slow          at once
 *   errors        after the sweep of counting.c that found too many, if they are of the worst
 *
 * Then the action of the configuration is taken; `drain` and `isolate` put a cable between switches
 * (or a switch) on the list of drains, `disable` a port (disable.c). None is taken against what the
 * fabric would fall apart without, nor against our own way into it: that is told, and tried again
 * with each new snapshot.
 *
 * It is over when it was not seen for health.release_after, and twice as long for each relapse in
 * the last hour (an hour at most), so that what comes and goes is not let in and out for ever.
 */
#define STREAK SEC(5)		/* between two traps of one that babbles */
#define BABBLES 10
#define REFUSALS 3
#define REFUSAL_PAUSE SEC(150)	/* pushes are repeated more often than that */
#define TICK SEC(10)
#define SOON MSEC(1)
#define APART MSEC(100)		/* two ends tell of one fall of a cable */
#define MEMORY SEC(3600)	/* of relapses */
#define SLICE 128u		/* devices looked at in one turn, and slots */
#define ACTS 4u			/* in one turn, for each looks at all cables of the fabric */
#define SLOTS_MAX 8192u
#define COMMAND SEC(1)		/* a command under way is waited for */
#define ERRING_MAX 64u		/* cables that count errors, told one by one, */
#define FULL_MAX 16u		/* and no more than these for a counter that was found full */

static const char *const names[HEALTH_CONDITIONS] = {
	[HEALTH_ASKED] = "asked", [HEALTH_FLAPPING] = "flapping",
	[HEALTH_UNRESPONSIVE] = "unresponsive", [HEALTH_BABBLING] = "babbling",
	[HEALTH_REFUSING] = "refusing", [HEALTH_SLOW] = "slow",
	[HEALTH_ERRORS] = "errors",
};

const char *
health_name(enum health_condition c)
{
	return (unsigned)c < HEALTH_CONDITIONS ? names[c] : "?";
}

bool
health_parse(const char *name, enum health_condition *c)
{
	for (unsigned i = 0; i < HEALTH_CONDITIONS; i++) {
		*c = (enum health_condition)i;
		if (!strcmp(name, names[i]))
			return true;
	}
	return false;
}

static enum config_action
action_for(const struct subnet *s, enum health_condition why)
{
	const struct config_subnet *c = s->conf;
	const enum config_action actions[HEALTH_CONDITIONS] = {
		[HEALTH_FLAPPING] = c->health.flapping,
		[HEALTH_UNRESPONSIVE] = c->health.unresponsive,
		[HEALTH_BABBLING] = c->health.babbling, [HEALTH_REFUSING] = c->health.refusing,
		[HEALTH_SLOW] = c->health.slow, [HEALTH_ERRORS] = c->health.errors,
	};

	return actions[why];
}

/*
 * Slots.
 */
struct ailment *
health_find(const struct health *h, uint64_t guid, unsigned port, enum health_condition why)
{
	for (uint32_t i = map_get(&h->by_guid, guid); i != MAP_NONE; i = h->list[i].next)
		if (h->list[i].port == port && h->list[i].why == why)
			return &h->list[i];
	return NULL;
}

static uint32_t
free_slot(struct health *h)
{
	uint32_t i = h->free;

	if (i != MAP_NONE) {
		h->free = h->list[i].next;
		return i;
	}
	if (h->len == SLOTS_MAX) {
		h->full = true;
		return MAP_NONE;
	}
	if (h->len == h->size) {
		h->size = h->size ? 2 * h->size : 64;
		h->list = mem_realloc(h->list, h->size, sizeof(*h->list));
	}
	return h->len++;
}

static struct ailment *
ailment_get(struct health *h, uint64_t guid, unsigned port, enum health_condition why)
{
	struct ailment *a = health_find(h, guid, port, why);
	uint32_t i;

	if (a)
		return a;
	i = free_slot(h);
	if (i == MAP_NONE)
		return NULL;
	h->list[i] = (struct ailment){
		.guid = guid, .port = (uint8_t)port, .why = why, .done = ACTION_REPORT,
		.next = map_get(&h->by_guid, guid),
	};
	map_set(&h->by_guid, guid, i);
	return &h->list[i];
}

static void
ailment_forget(struct health *h, uint32_t i)
{
	struct ailment *a = &h->list[i];
	uint32_t before = map_get(&h->by_guid, a->guid);

	if (before != i) {
		while (h->list[before].next != i)
			before = h->list[before].next;
		h->list[before].next = a->next;
	} else if (a->next != MAP_NONE) {
		map_set(&h->by_guid, a->guid, a->next);
	} else {
		map_remove(&h->by_guid, a->guid);
	}
	*a = (struct ailment){ .next = h->free };
	h->free = i;
	h->full = false;
}

static monotime
last_seen(const struct ailment *a)
{
	return a->count ? a->times[(a->count - 1) % HEALTH_TIMES] : 0;
}

/* When the occasion was that is `back` before the last; MONOTIME_NEVER: there was none. */
static monotime
seen_before(const struct ailment *a, unsigned back)
{
	return back < a->count ? a->times[(a->count - 1 - back) % HEALTH_TIMES] : MONOTIME_NEVER;
}

/* How long it must have been well. */
static monotime
quiet_time(const struct subnet *s, const struct ailment *a)
{
	monotime t = s->conf->health.release_after, least;

	if (a->why == HEALTH_REFUSING && t < REFUSAL_PAUSE)
		t = REFUSAL_PAUSE;
	if (a->why == HEALTH_ERRORS && t < 2 * counting_pause(s) + TICK)
		t = 2 * counting_pause(s) + TICK;
	least = t;
	for (unsigned i = 1; i < a->relapses && t < MEMORY; i++)
		t *= 2;
	return t < MEMORY || t == least ? t : MEMORY;
}

/*
 * What is done.
 */
/* A cable that is down now counts by what it led to. */
static bool
between_switches(const struct live_port *p)
{
	return p->device->info.node_type == NODE_SWITCH &&
	       (p->peer ? p->peer->info.node_type : p->lost_peer ? p->lost_type : NODE_CA) ==
	       NODE_SWITCH;
}

/* Is this port at the other end of the cable, be that there or lost, as a disabled one is? */
static bool
leads_to(const struct live_port *p, uint64_t guid, int port)
{
	return p->peer ? p->peer->guid == guid && p->peer_number == port :
	       p->lost_peer == guid && p->lost_number == port;
}

/* The entry of what is kept off for this, at either end of its cable; NULL. */
static struct drain *
drain_of(struct subnet *s, const struct ailment *a, const struct live_port *p)
{
	for (uint32_t i = 0; i < s->drains.len; i++) {
		struct drain *d = &s->drains.list[i];

		if (d->guid == a->guid && (a->port ? d->port == a->port :
					   d->port == CHANGE_ALL_PORTS))
			return d;
		if (p && leads_to(p, d->guid, d->port))
			return d;
	}
	return NULL;
}

/* How many drained cables stay in use, with one more. */
static uint32_t
kept_with(const struct subnet *s, const struct drain *more)
{
	return drains_kept(&s->drains, more, s->plan->fabric);
}

/* The end of its cable at which it is disabled; NULL: there is none. */
static const struct live_port *
nearer_end(const struct live_port *p)
{
	const struct live_port *q = live_peer(p);

	if (p->device->info.node_type != NODE_SWITCH)
		return q && q->device->info.node_type == NODE_SWITCH ? q : NULL;
	return q && between_switches(p) && q->device->hops < p->device->hops ? q : p;
}

/* Why a port is left as it is; NULL: it is not. */
static const char *
port_is_needed(const struct subnet *s, const struct live_port *p, const struct drain *d)
{
	if (p->device == s->topo.own || (p->peer && p->peer == s->topo.own))
		return "it is our own way into the fabric";
	if (between_switches(p))
		return kept_with(s, d) > kept_with(s, NULL) ?
			"the fabric would fall apart without it" : NULL;
	return d->act != DRAIN_DISABLED ? "its host has no other way" : NULL;
}

/* A drained switch keeps a cable by itself, for its own traffic. */
static const char *
device_is_needed(const struct subnet *s, const struct device *d, const struct drain *new)
{
	uint32_t kept;

	if (d->info.node_type != NODE_SWITCH)
		return "a host has no other way";
	for (unsigned n = 1; n <= d->info.num_ports; n++)
		if (d->ports[n].peer && d->ports[n].peer->info.node_type != NODE_SWITCH)
			return "hosts are on it";
	kept = kept_with(s, NULL);
	return kept_with(s, new) > kept + 1 ? "the fabric would fall apart without it" : NULL;
}

/* What is to be drained, and whether it may be. */
static bool
choose(const struct subnet *s, const struct ailment *a, struct device *d, struct drain *new,
       const char **why)
{
	const struct live_port *p = a->port ? &d->ports[a->port] : NULL;
	enum config_action action = action_for(s, a->why);

	new->act = action == ACTION_DRAIN ? DRAIN_UNTIL_WELL : DRAIN_HELD;
	new->port = CHANGE_ALL_PORTS;
	if (!p) {
		*why = device_is_needed(s, d, new);
		return !*why;
	}
	if (action == ACTION_DISABLE) {
		new->act = DRAIN_DISABLED;
		p = nearer_end(p);
	}
	if (!p) {
		*why = "no switch is at either end";
		return false;
	}
	new->guid = p->device->guid;
	new->port = p->number;
	*why = port_is_needed(s, p, new);
	return !*why;
}

/* Why errors are no reason to take a cable from the traffic; NULL: they are. */
static const char *
not_the_cable(const struct error_finding *f)
{
	if (f->full)
		return "what is counted no more says nothing of now";
	return counting_of_cable(f->kind) ? NULL : "its cable is not at fault for these";
}

/* Take the action; `left` says why nothing could be done. */
static void
act(struct subnet *s, struct ailment *a, struct device *d)
{
	struct drain new = {
		.guid = a->guid, .why = a->why, .since = a->since,
		.heard = loop_now(s->env.loop),
	};
	const char *why;

	a->left[0] = '\0';
	a->done = ACTION_REPORT;
	a->tried = s->generation;
	if (action_for(s, a->why) <= ACTION_REPORT)
		return;
	if (a->why == HEALTH_ERRORS && not_the_cable(&a->errors)) {
		snprintf(a->left, sizeof(a->left), "%s", not_the_cable(&a->errors));
		return;
	}
	s->health.acts++;
	if (drain_of(s, a, a->port ? &d->ports[a->port] : NULL)) {
		snprintf(a->left, sizeof(a->left), "traffic is kept off already");
		return;
	}
	if (!choose(s, a, d, &new, &why)) {
		snprintf(a->left, sizeof(a->left), "it is left in use, for %s", why);
		return;
	}
	drains_add(&s->drains, &new);
	drains_save(s, NULL, NULL);
	a->done = action_for(s, a->why);
	s->want_route |= new.port == CHANGE_ALL_PORTS ||
		between_switches(&topo_find(&s->topo, new.guid)->ports[new.port]);
	subnet_want_sweep(s, SWEEP_PARTIAL);
}

/* A command under way would put back what it found. */
static bool
may_act(const struct subnet *s)
{
	return s->plan && s->role == ROLE_MASTER && !s->reroute.done;
}

/*
 * What is said.
 */
static const char *
place_text(struct subnet *s, const struct ailment *a, char *to, size_t size)
{
	const struct device *d = topo_find(&s->topo, a->guid);
	char name[DEVICE_TEXT_SIZE], guid[GUID_TEXT_SIZE];

	if (d)
		device_text(name, d, s->env.names);
	else
		snprintf(name, sizeof(name), "%s, which is gone,", guid_text(guid, a->guid));
	if (a->port)
		snprintf(to, size, "port %u of %s", a->port, name);
	else
		snprintf(to, size, "%s", name);
	return to;
}

#define FAULT_SIZE 250

/* The other end of its cable; NULL: there is none. */
static const struct live_port *
far_end(struct subnet *s, uint64_t guid, unsigned port)
{
	const struct device *d = topo_find(&s->topo, guid);

	return d && port && port <= d->info.num_ports ? live_peer(&d->ports[port]) : NULL;
}

static const char *
cable_errors_text(struct subnet *s, const struct ailment *a, char to[FAULT_SIZE])
{
	const struct live_port *q = far_end(s, a->guid, a->port);
	char text[COUNTING_TEXT_SIZE], name[DEVICE_TEXT_SIZE];
	int len = snprintf(to, FAULT_SIZE, "counts errors (%s)", counting_text(&a->errors, text));

	if (q)
		snprintf(to + len, FAULT_SIZE - (size_t)len, " on its cable to port %u of %s",
			 q->number, device_text(name, q->device, s->env.names));
	return to;
}

static const char *
fault_text(struct subnet *s, const struct ailment *a, char to[FAULT_SIZE])
{
	char time[DURATION_TEXT_SIZE];

	switch (a->why) {
	case HEALTH_FLAPPING:
		snprintf(to, FAULT_SIZE, "flaps (down %u times in %s)", s->conf->health.flaps,
			 duration_text(time, last_seen(a) -
				       seen_before(a, s->conf->health.flaps - 1)));
		break;
	case HEALTH_UNRESPONSIVE:
		snprintf(to, FAULT_SIZE, "has not answered for %s",
			 duration_text(time, loop_now(s->env.loop) - a->began));
		break;
	case HEALTH_BABBLING:
		snprintf(to, FAULT_SIZE, "babbles (%u traps of link errors)", a->count);
		break;
	case HEALTH_REFUSING:
		snprintf(to, FAULT_SIZE, "refuses what it is set to (%u times)", a->count);
		break;
	case HEALTH_ERRORS:
		return cable_errors_text(s, a, to);
	default:
		snprintf(to, FAULT_SIZE, "is slower than both ends of its cable support");
	}
	return to;
}

static const char *
done_text(const struct ailment *a)
{
	switch (a->done) {
	case ACTION_DRAIN:
		return ": traffic is kept off until it is well";
	case ACTION_ISOLATE:
		return ": traffic is kept off until `weft undrain`";
	case ACTION_DISABLE:
		return a->port ? ": the port is disabled until `weft undrain`" :
		       ": traffic is kept off until `weft undrain`";
	default:
		return a->left[0] ? ": " : "";
	}
}

static void
tell(struct subnet *s, const struct ailment *a)
{
	const struct live_port *q = far_end(s, a->guid, a->port);
	char place[160], fault[FAULT_SIZE];
	struct event ev = {
		.type = a->done > ACTION_REPORT ? EVENT_QUARANTINED : EVENT_HEALTH,
		.level = LOG_L_WARNING, .guid = a->guid, .port = a->port,
		.peer_guid = q ? q->device->guid : 0, .peer_port = q ? q->number : 0,
	};

	subnet_tell(s, &ev, "%s %s%s%s", place_text(s, a, place, sizeof(place)),
		    fault_text(s, a, fault), done_text(a), a->left);
}

/* It is so: say it and do what is to be done. */
static void
enter(struct subnet *s, struct ailment *a)
{
	struct device *d = topo_find(&s->topo, a->guid);
	monotime now = loop_now(s->env.loop);

	if (!d || action_for(s, a->why) == ACTION_IGNORE)
		return;
	a->relapses = a->relapsed && now - a->relapsed < MEMORY && a->relapses < 255 ?
		(uint8_t)(a->relapses + 1) : 1;
	a->relapsed = now;
	a->told = true;
	a->since = loop_wall(s->env.loop);
	s->health.told++;
	act(s, a, d);
	tell(s, a);
}

/*
 * What is noticed.
 */
static struct ailment *
notice(struct subnet *s, uint64_t guid, unsigned port, enum health_condition why)
{
	struct ailment *a;

	if (action_for(s, why) == ACTION_IGNORE || !s->plan || s->role != ROLE_MASTER)
		return NULL;
	a = ailment_get(&s->health, guid, port, why);
	if (!a)
		return NULL;
	a->times[a->count++ % HEALTH_TIMES] = loop_now(s->env.loop);
	if (!loop_timer_pending(s->health.timer))
		loop_timer_set(s->health.timer, TICK);
	return a;
}

/* Seen often enough: whoever noticed it is in the midst of something, so it is seen to later. */
static void
enough(struct subnet *s, struct ailment *a)
{
	if (a->told || a->due)
		return;
	a->due = true;
	s->health.looked = 0;
	loop_timer_set(s->health.timer, SOON);
}

/* Both ends see a cable go: it is counted at one of them. */
void
health_flapped(struct subnet *s, struct live_port *p)
{
	const struct live_port *q = live_peer(p);
	struct ailment *a;

	if (q && q->device->guid < p->device->guid)
		p = &p->peer->ports[p->peer_number];
	a = health_find(&s->health, p->device->guid, p->number, HEALTH_FLAPPING);
	if (a && a->count && loop_now(s->env.loop) - last_seen(a) < APART)
		return;
	a = notice(s, p->device->guid, p->number, HEALTH_FLAPPING);
	if (a && a->count >= s->conf->health.flaps &&
	    last_seen(a) - seen_before(a, s->conf->health.flaps - 1) <=
	    s->conf->health.flap_window)
		enough(s, a);
}

void
health_trapped(struct subnet *s, struct live_port *p)
{
	monotime now = loop_now(s->env.loop);
	struct ailment *a = health_find(&s->health, p->device->guid, p->number, HEALTH_BABBLING);
	struct drain *d;

	if (a && !a->told && now - last_seen(a) >= STREAK)
		a->count = 0;
	a = notice(s, p->device->guid, p->number, HEALTH_BABBLING);
	if (!a)
		return;
	d = drain_of(s, a, p);
	if (d)
		d->heard = now;
	if (a->count >= BABBLES)
		enough(s, a);
}

void
health_silent(struct subnet *s, struct device *d)
{
	struct ailment *a = notice(s, d->guid, 0, HEALTH_UNRESPONSIVE);

	if (a)
		a->began = loop_now(s->env.loop);
}

void
health_refused(struct subnet *s, const struct device *d)
{
	struct ailment *a = notice(s, d->guid, 0, HEALTH_REFUSING);

	if (a && a->count >= REFUSALS)
		enough(s, a);
}

static bool
is_slow(const struct live_port *p)
{
	const struct live_port *q = live_peer(p);

	return q && live_port_up(p) && q->flags & LIVE_PORT_READ &&
	       link_rate_mbps(p->info.width_active, portinfo_speed(&p->info)) <
	       portinfo_best_mbps(&p->info, &q->info);
}

void
health_look(struct subnet *s, const struct live_port *p)
{
	struct ailment *a;

	if (s->conf->health.slow == ACTION_IGNORE || !is_slow(p))
		return;
	if (p->peer->guid < p->device->guid)
		p = live_peer(p);
	a = notice(s, p->device->guid, p->number, HEALTH_SLOW);
	if (a)
		enough(s, a);
}

/* What is told of errors at either end of a cable; NULL. */
static struct ailment *
told_errors(struct subnet *s, const struct error_finding *f)
{
	const struct live_port *q = far_end(s, f->guid, f->port);
	struct ailment *a = health_find(&s->health, f->guid, f->port, HEALTH_ERRORS);

	if ((!a || !a->told) && q)
		a = health_find(&s->health, q->device->guid, q->number, HEALTH_ERRORS);
	return a && a->told ? a : NULL;
}

/* Errors that come may be a reason for what could not be done for those before. */
bool
health_errors(struct subnet *s, const struct error_finding *f)
{
	struct ailment *a = told_errors(s, f);

	if (s->conf->health.errors == ACTION_IGNORE)
		return true;
	if (!a)
		return false;
	a->times[a->count++ % HEALTH_TIMES] = loop_now(s->env.loop);
	if (a->guid != f->guid || a->port != f->port)
		return true;
	if (not_the_cable(&a->errors) && !not_the_cable(f) && a->left[0])
		a->tried = 0;
	a->errors = *f;
	return true;
}

bool
health_errors_tell(struct subnet *s, const struct error_finding *f)
{
	uint32_t told = 0;
	struct ailment *a;

	for (uint32_t i = 0; i < s->health.len; i++)
		told += s->health.list[i].told && s->health.list[i].why == HEALTH_ERRORS;
	if (told >= (f->full ? FULL_MAX : ERRING_MAX) || !may_act(s))
		return false;
	a = notice(s, f->guid, f->port, HEALTH_ERRORS);
	if (!a)
		return false;
	a->errors = *f;
	enter(s, a);
	return a->told;
}

/*
 * Time passes.
 */
static bool
still_so(struct subnet *s, const struct ailment *a)
{
	const struct device *d = topo_find(&s->topo, a->guid);

	if (a->why == HEALTH_UNRESPONSIVE)
		return d && d->silent;
	return a->why == HEALTH_SLOW && d && a->port <= d->info.num_ports &&
	       is_slow(&d->ports[a->port]);
}

static const char *
was_text(enum health_condition why, char to[40])
{
	if (why == HEALTH_ERRORS)
		return "counted errors";
	snprintf(to, 40, "was %s", health_name(why));
	return to;
}

static void
release(struct subnet *s, struct ailment *a)
{
	bool held = a->done > ACTION_REPORT;
	char place[160], was[40];

	subnet_event(s, held ? EVENT_RELEASED : EVENT_HEALTH, LOG_L_NOTICE, a->guid, a->port,
		     "%s is well again (it %s)%s", place_text(s, a, place, sizeof(place)),
		     was_text(a->why, was), held ? ": traffic goes there again" : "");
	a->told = false;
	a->count = 0;
	a->left[0] = '\0';
	a->done = ACTION_REPORT;
	s->health.told--;
}

/* What an administrator has lifted, or will: it is told, but not held any more. */
static void
follow_drain(struct subnet *s, struct ailment *a)
{
	struct device *d = topo_find(&s->topo, a->guid);
	const struct drain *e = drain_of(s, a, a->port && d && a->port <= d->info.num_ports ?
					 &d->ports[a->port] : NULL);

	if (a->done > ACTION_REPORT && (!e || e->act == DRAIN_ENABLING)) {
		a->done = ACTION_REPORT;
		snprintf(a->left, sizeof(a->left), "an administrator wants it in use");
		a->tried = UINT64_MAX;
	}
}

void
health_follow_drains(struct subnet *s)
{
	for (uint32_t i = 0; i < s->health.len; i++)
		if (s->health.list[i].guid && s->health.list[i].told)
			follow_drain(s, &s->health.list[i]);
}

/* True: the slot may go. */
static bool
look_after(struct subnet *s, struct ailment *a)
{
	monotime now = loop_now(s->env.loop);
	struct device *d = topo_find(&s->topo, a->guid);

	if (still_so(s, a))
		a->times[(a->count - 1) % HEALTH_TIMES] = now;
	if (a->told) {
		follow_drain(s, a);
		if (now - last_seen(a) >= quiet_time(s, a) && a->done < ACTION_ISOLATE)
			release(s, a);
		else if (d && a->left[0] && a->tried < s->generation)
			act(s, a, d);
		return false;
	}
	if (a->why == HEALTH_UNRESPONSIVE && a->count && d && d->silent)
		a->due = now - a->began >= s->conf->health.unresponsive_after;
	if (a->due)
		enter(s, a);
	a->due = false;
	return !a->told && now - last_seen(a) > s->conf->health.flap_window &&
	       now - a->relapsed > MEMORY;
}

/* Entries that hold until all is well go when it is, after a restart too. */
static void
lift(struct subnet *s)
{
	monotime now = loop_now(s->env.loop);
	uint32_t left = 0, len = s->drains.len;

	for (uint32_t i = 0; i < len; i++) {
		const struct drain *d = &s->drains.list[i];
		unsigned port = d->port == CHANGE_ALL_PORTS ? 0 : (unsigned)d->port;
		const struct ailment *a = health_find(&s->health, d->guid, port, d->why);
		bool held = d->act != DRAIN_UNTIL_WELL || (a && a->told) ||
			now - d->heard < s->conf->health.release_after;

		if (held)
			s->drains.list[left++] = *d;
	}
	s->drains.len = left;
	if (left == len)
		return;
	drains_save(s, NULL, NULL);
	s->want_route = true;
	subnet_want_sweep(s, SWEEP_PARTIAL);
}

/* A slice of the walk. */
static void
walk(struct subnet *s)
{
	struct health *h = &s->health;
	uint32_t end = h->at + SLICE < s->topo.len ? h->at + SLICE : s->topo.len;

	for (; h->at < end; h->at++) {
		struct device *d = s->topo.table[h->at];

		if (d && d->silent)
			health_silent(s, d);
		for (unsigned n = 1; d && n <= d->info.num_ports; n++)
			health_look(s, &d->ports[n]);
	}
	h->walking = h->at < s->topo.len;
}

void
health_begin(struct subnet *s)
{
	s->health.at = 0;
	s->health.walking = true;
	loop_timer_set(s->health.timer, SOON);
	counting_begin(s);
}

static bool
any_until_well(const struct subnet *s)
{
	for (uint32_t i = 0; i < s->drains.len; i++)
		if (s->drains.list[i].act == DRAIN_UNTIL_WELL)
			return true;
	return false;
}

/* A slice of what was noticed; true: that was the last. */
static bool
look_after_some(struct subnet *s)
{
	struct health *h = &s->health;
	uint32_t end = h->looked + SLICE < h->len ? h->looked + SLICE : h->len;

	for (h->acts = 0; h->looked < end && h->acts < ACTS; h->looked++)
		if (h->list[h->looked].guid && look_after(s, &h->list[h->looked]))
			ailment_forget(h, h->looked);
	if (h->looked < h->len)
		return false;
	h->looked = 0;
	return true;
}

static void
on_tick(void *subnet)
{
	struct subnet *s = subnet;
	struct health *h = &s->health;
	bool more = false;

	if (s->role == ROLE_MASTER && s->reroute.done) {
		loop_timer_set(h->timer, COMMAND);
		return;
	}
	if (may_act(s)) {
		if (h->walking)
			walk(s);
		more = !look_after_some(s);
		if (!more)
			lift(s);
		more |= h->walking;
	}
	if (more)
		loop_timer_set(h->timer, SOON);
	else if (h->by_guid.len || any_until_well(s))
		loop_timer_set(h->timer, TICK);
}

void
health_init(struct subnet *s)
{
	s->health.timer = loop_timer_new(s->env.loop, on_tick, s);
	s->health.free = MAP_NONE;
	loop_timer_set(s->health.timer, TICK);
}

void
health_free(struct subnet *s)
{
	loop_timer_free(s->health.timer);
	map_free(&s->health.by_guid);
	mem_free(s->health.list);
}
