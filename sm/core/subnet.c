/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The stages of one subnet, and who may act when.
 *
 *   WAITING --port up--> SWEEP --master--> (PUSH: read tables) --> ROUTE --> PUSH --> IDLE
 *      ^                   |  \--another is master--> POLL <--timer--.         |
 *      +----port lost------+                           \______________/        |
 *                          ^----- timer, trap, SIGHUP, reroute, loss ----------+
 *
 * A stage ends when nothing is under way any more (dispatch.c). Events that arrive meanwhile are
 * collected in `wanted` and `dirty` and start the next sweep. No Set leaves before discovery has
 * ended and mastership is decided, no table before the proof, no ACTIVE before the tables.
 */
#include "sm/core/subnet.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "sm/base/mem.h"
#include "sm/core/planner.h"
#include "sm/core/snapshot.h"
#include "sm/core/push_i.h"
#include "sm/core/subnet_i.h"
#include "sm/sa/sa.h"
#include "sm/text/lfts.h"

#define SETTLE MSEC(2)			/* events of one instant become one sweep */
#define PORT_DOWN_POLL SEC(1)
#define POLL_MIN MSEC(1)
#define POLL_SOON MSEC(10)	/* a master that has offered its office in vain */
#define RETRY_FIRST MSEC(500)
#define RETRY_MAX SEC(60)
#define LOOKS_PUT_OFF 3		/* partial sweeps before a light one that is due */

static void
begin(void *subnet);

static void
add_event(struct subnet *s, struct event *ev, const char *fmt, va_list ap)
{
	ev->wall = loop_wall(s->env.loop);
	snprintf(ev->subnet, sizeof(ev->subnet), "%s", s->conf->name);
	vsnprintf(ev->text, sizeof(ev->text), fmt, ap);
	event_ring_add(s->env.events, ev);
}

void
subnet_tell(struct subnet *s, struct event *ev, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add_event(s, ev, fmt, ap);
	va_end(ap);
}

void
subnet_event(struct subnet *s, enum event_type type, enum log_level level, uint64_t guid,
	     unsigned port, const char *fmt, ...)
{
	struct event ev = { .type = type, .level = level, .guid = guid, .port = (uint8_t)port };
	va_list ap;

	va_start(ap, fmt);
	add_event(s, &ev, fmt, ap);
	va_end(ap);
}

void
subnet_changed(struct subnet *s)
{
	if (s->env.changed)
		s->env.changed(s->env.arg, s);
}

void
subnet_set_stage(struct subnet *s, enum subnet_stage stage)
{
	s->stage = stage;
	watchdog_stage(s);
	reader_stage(s);
	subnet_changed(s);
}

const char *
subnet_role_name(const struct subnet *s)
{
	static const char *const names[] = {
		[ROLE_WAITING] = "waiting", [ROLE_DISCOVERING] = "discovering",
		[ROLE_STANDBY] = "standby", [ROLE_NOT_ACTIVE] = "not active",
		[ROLE_MASTER] = "master",
	};

	return names[s->role];
}

static void
set_role(struct subnet *s, enum subnet_role role, const char *why)
{
	struct error e;
	bool announce = role != ROLE_WAITING;

	s->handover.from = s->handover.to = 0;
	if (s->role == role)
		return;
	if (role == ROLE_MASTER)
		takeover_leads(s);
	/* Whoever led meanwhile has written what we knew. */
	s->want_tables |= s->role == ROLE_STANDBY;
	s->role = role;
	s->role_since = loop_wall(s->env.loop);
	beyond_role(s);
	if (role == ROLE_MASTER) {
		s->first_master_sweep = true;
		s->outdated = s->plan != NULL;
		guids_doubt(s);
		congestion_doubt(s);
	} else {
		admin_resigned(s);
		counting_stop(s);
	}
	if (role != ROLE_STANDBY)
		copies_stop(s);
	subnet_event(s, EVENT_ROLE, role == ROLE_DISCOVERING ? LOG_L_INFO : LOG_L_NOTICE,
		     s->port ? s->port->id.guid : 0, 0, "this subnet manager is %s%s%s",
		     subnet_role_name(s), why[0] ? ": " : "", why);
	if (announce != s->issm && s->port && s->port->up) {
		if (port_set_issm(s->port, announce, &e))
			subnet_event(s, EVENT_PORT, LOG_L_WARNING, s->port->id.guid, 0,
				     "the port cannot announce a subnet manager: %s", e.text);
		else
			s->issm = announce;
	}
	subnet_changed(s);
}

void
subnet_not_up(struct subnet *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(s->why_not, sizeof(s->why_not), fmt, ap);
	va_end(ap);
	s->up = false;
}

/*
 * Wanting sweeps.
 */
/* Events of one instant are collected, and however many come, sweeping takes half of the time at
 * most: a port that flaps must not keep everybody else waiting. */
static monotime
settle_delay(const struct subnet *s)
{
	monotime now = loop_now(s->env.loop);
	monotime quiet = s->rested + (s->rested - s->change_started) - now;

	return quiet > SETTLE ? quiet : SETTLE;
}

static void
arm(struct subnet *s)
{
	if (s->stage == SUBNET_IDLE && !loop_timer_pending(s->soon))
		loop_timer_set(s->soon, settle_delay(s));
	else
		between_hurry(s);
}

void
subnet_want_sweep(struct subnet *s, enum sweep_kind kind)
{
	if (kind > s->wanted)
		s->wanted = kind;
	arm(s);
}

void
subnet_want_device(struct subnet *s, uint64_t node_guid)
{
	struct device *d;

	if (s->role != ROLE_MASTER)
		return;
	d = topo_find(&s->topo, node_guid);
	if (s->stage == SUBNET_SWEEP && d && sweep_include(s, d))
		return;
	/* Who says something lives: the next look is not put off, how long ever it was silent. */
	if (d && d->silent)
		d->retry_after = 0;
	map_set(&s->dirty, node_guid, 0);
	if (s->stage == SUBNET_SWEEP && sweep_curtail(s))
		subnet_want_sweep(s, SWEEP_LIGHT);
	subnet_want_sweep(s, SWEEP_PARTIAL);
}

void
subnet_poll_soon(struct subnet *s, unsigned times)
{
	s->polls_soon = times;
	if (s->stage == SUBNET_IDLE && s->role == ROLE_STANDBY)
		loop_timer_set(s->timer, POLL_SOON);
}

monotime
subnet_retry_delay(const struct subnet *s)
{
	return backoff_delay(RETRY_FIRST, RETRY_MAX, s->failures);
}

static bool
retry_due(const struct subnet *s)
{
	return s->push_incomplete && loop_now(s->env.loop) >= s->retry_at;
}

/* From one question to the master to the next, however long its answer took. */
static monotime
poll_delay(const struct subnet *s)
{
	monotime left = s->polled + s->conf->standby_poll - loop_now(s->env.loop);

	if (s->polls_soon && left > POLL_SOON)
		return POLL_SOON;
	return left < POLL_MIN ? POLL_MIN : left;
}

/* Nothing runs: wait for the next timer, or go on at once with what was asked for meanwhile. */
void
subnet_go_on(struct subnet *s)
{
	bool timed = loop_timer_pending(s->timer);

	lids_save_again(s);
	if (s->wanted == SWEEP_NONE && !s->want_route)
		s->forced = false;
	subnet_set_stage(s, SUBNET_IDLE);
	if (s->want_refresh && s->plan)
		refresh_all(s);
	if (s->role == ROLE_STANDBY)
		loop_timer_set(s->timer, poll_delay(s));
	else if (s->role == ROLE_NOT_ACTIVE)
		loop_timer_cancel(s->timer);
	else if (s->conf->sweep_interval > 0 && !timed)
		loop_timer_set(s->timer, s->conf->sweep_interval);
	if (s->wanted != SWEEP_NONE || s->want_route)
		loop_timer_set(s->soon, settle_delay(s));
	if (s->push_incomplete && s->role == ROLE_MASTER)
		loop_timer_set(s->retry, s->retry_at - loop_now(s->env.loop));
	if (s->reroute.waiting)
		reroute_begin(s);
	if (s->stage == SUBNET_IDLE && !partitions_start(s))
		between_start(s);
}

void
subnet_rest(struct subnet *s)
{
	s->rested = loop_now(s->env.loop);
	loop_timer_cancel(s->timer);
	subnet_go_on(s);
}

static void
begin(void *subnet)
{
	struct subnet *s = subnet;
	enum sweep_kind kind = s->wanted;

	if (s->stage != SUBNET_IDLE || !s->port || !s->port->up || s->role == ROLE_NOT_ACTIVE)
		return;
	loop_timer_cancel(s->soon);
	loop_timer_cancel(s->retry);
	loop_timer_cancel(s->timer);
	if (kind == SWEEP_NONE)
		kind = SWEEP_PARTIAL;
	if (s->role != ROLE_MASTER || !s->plan)
		kind = SWEEP_HEAVY;
	if (s->role == ROLE_WAITING && !s->own_port_down)
		set_role(s, ROLE_DISCOVERING, "");
	if (kind == SWEEP_PARTIAL && s->conf->sweep_interval > 0 &&
	    loop_now(s->env.loop) - s->looked >= s->conf->sweep_interval)
		kind = SWEEP_LIGHT;
	s->wanted = SWEEP_NONE;
	/* What is known to have changed is read first, lest everybody is asked over a cable that is
	 * gone; the look at everybody follows. But events must not keep it from coming for ever. */
	if (kind == SWEEP_LIGHT && s->dirty.len && s->looks_put_off < LOOKS_PUT_OFF) {
		kind = SWEEP_PARTIAL;
		s->wanted = SWEEP_LIGHT;
		s->looks_put_off++;
	}
	if (kind > SWEEP_PARTIAL) {
		s->looked = loop_now(s->env.loop);
		s->looks_put_off = 0;
	}
	s->change_started = loop_now(s->env.loop);
	partitions_passed(s);
	subnet_set_stage(s, SUBNET_SWEEP);
	sweep_start(s, kind);
}

static void
on_timer(void *subnet)
{
	struct subnet *s = subnet;

	if (s->stage != SUBNET_IDLE || s->role == ROLE_NOT_ACTIVE)
		return;
	if (s->role == ROLE_STANDBY) {
		subnet_set_stage(s, SUBNET_POLL);
		peers_poll(s);
		if (transact_is_idle(s->transact))
			subnet_poll_done(s);
		return;
	}
	if (s->wanted < SWEEP_LIGHT)
		s->wanted = SWEEP_LIGHT;
	begin(s);
}

/*
 * Ends of stages.
 */
static void
stand_by(struct subnet *s);
static void
lead(struct subnet *s);

/* Our office was offered to another. */
static void
offer_done(struct subnet *s)
{
	for (unsigned i = 0; i < s->npeers; i++)
		if (s->handover.given && s->peers[i].guid == s->handover.to) {
			s->master = s->peers[i];
			stand_by(s);
			return;
		}
	s->handover.to = 0;
	lead(s);
}

void
subnet_poll_done(struct subnet *s)
{
	if (s->role == ROLE_MASTER) {
		offer_done(s);
		return;
	}
	subnet_set_stage(s, SUBNET_IDLE);
	if (s->role == ROLE_NOT_ACTIVE)
		return;
	if (s->wanted != SWEEP_NONE)
		loop_timer_set(s->soon, SETTLE);
	else
		loop_timer_set(s->timer, poll_delay(s));
}

static void
forget_devices(struct subnet *s)
{
	topo_cancel(&s->topo, s->transact);
	topo_reset(&s->topo);
	map_clear(&s->dirty);
	for (unsigned i = 0; i < SWEEP_LEVELS; i++)
		list_init(&s->sweep.level[i].probes);
}

/* What a command asked for cannot be had: the engine before it is tried first again. */
void
subnet_command_failed(struct subnet *s, int err, const char *why)
{
	reroute_undo(s);
	reroute_answer(s, err, "%s", why);
}

static void
own_port_down(struct subnet *s, const char *why)
{
	bool told = s->own_port_down && !strcmp(s->why_not, why);

	s->own_port_down = true;
	forget_devices(s);
	subnet_command_failed(s, ERR_CLOSED, why);
	if (!told) {
		subnet_not_up(s, "%s", why);
		subnet_event(s, EVENT_PORT, LOG_L_WARNING, s->port->id.guid, s->port->id.number,
			     "%s", why);
		set_role(s, ROLE_WAITING, "");
	}
	s->wanted = SWEEP_HEAVY;
	subnet_set_stage(s, SUBNET_IDLE);
	loop_timer_set(s->soon, PORT_DOWN_POLL);
}

/* Whether something keeps our own port from being used, and what. */
static bool
own_port_problem(struct subnet *s, char *why, size_t size)
{
	const struct device *own = s->topo.own;
	const struct live_port *p = own ? &own->ports[s->topo.own_port] : NULL;

	if (!own) {
		snprintf(why, size, "port %s does not answer its own subnet management agent",
			 s->port->id.name);
		return true;
	}
	if (own->info.node_type == NODE_SWITCH || live_port_up(p))
		return false;
	snprintf(why, size, "port %s is down: connect its cable, or name another port in "
		 "`subnets[].port`", s->port->id.name);
	return true;
}

static void
stand_by(struct subnet *s)
{
	char text[200];
	bool news = s->role != ROLE_STANDBY;

	peers_text(s, &s->master, text, sizeof(text));
	snprintf(s->st.master, sizeof(s->st.master), "%s", text);
	subnet_not_up(s, "another subnet manager is in charge: %s", text);
	s->handover.from = s->handover.to = 0;
	s->poll_failures = s->polls_soon = 0;
	s->polled = loop_now(s->env.loop);
	if (news)
		s->handover.announce_at = s->handover.announced = 0;
	s->want_route = false;		/* whoever leads does it, and so shall we when we do */
	office_leave(s);
	if (s->role == ROLE_MASTER)
		peers_hand_over(s);
	partitions_cancel(s);
	part_change_answer(s, ERR_REFUSED, "%s", s->why_not);
	if (news)
		set_role(s, ROLE_STANDBY, s->why_not);
	subnet_command_failed(s, ERR_REFUSED, s->why_not);
	handover_announce(s);
	copies_stand_by(s);
	subnet_rest(s);
}

void
subnet_retire(struct subnet *s, const char *by)
{
	subnet_not_up(s, "this subnet manager was disabled by the master with GUID %s: a restart "
		      "ends that", by);
	set_role(s, ROLE_NOT_ACTIVE, s->why_not);
}

void
subnet_reconsider(struct subnet *s, enum subnet_role role, const char *why)
{
	set_role(s, role, why);
	subnet_want_sweep(s, SWEEP_HEAVY);
}

void
subnet_finish_sweep(struct subnet *s, bool programmed)
{
	struct subnet_status *st = &s->st;

	st->sweeps++;
	st->last_sweep_wall = loop_wall(s->env.loop);
	adaptive_all(s);
	st->last_sweep_ms = (double)(loop_now(s->env.loop) - s->change_started) / 1e6;
	if (!programmed)
		st->route_ms = st->check_ms = st->program_ms = 0;
}

/* What a stage does by and by, lest it keeps others waiting. */
static void
on_turn(void *subnet)
{
	struct subnet *s = subnet;

	if (s->ending)
		return;
	if (s->stage == SUBNET_ROUTE) {
		loop_doing(s->env.loop, "before routing");
		route_turn(s);
	} else if (s->stage == SUBNET_PUSH) {
		loop_doing(s->env.loop, "programming");
		push_turn(s);
	}
}

void
subnet_route(struct subnet *s)
{
	s->want_route = false;
	route_start(s, false);
}

void
subnet_sweep_done(struct subnet *s)
{
	char why[256];

	s->st.discover_ms = (double)(loop_now(s->env.loop) - s->sweep.started) / 1e6;
	if (own_port_problem(s, why, sizeof(why))) {
		own_port_down(s, why);
		return;
	}
	s->own_port_down = false;
	peers_swept(s);
	if (s->role == ROLE_WAITING)
		set_role(s, ROLE_DISCOVERING, "");
	if (s->role == ROLE_DISCOVERING && s->sweep.doubtful) {
		/* What is known of cables may lead all requests astray. */
		forget_devices(s);
		subnet_rest(s);
		return;
	}
	if (s->role == ROLE_DISCOVERING && peers_overlooked(s)) {
		s->wanted = SWEEP_HEAVY;
		subnet_rest(s);
		return;
	}
	if (s->role == ROLE_NOT_ACTIVE) {
		subnet_rest(s);
		return;
	}
	if (!peers_elect(s)) {
		stand_by(s);
		return;
	}
	set_role(s, ROLE_MASTER, "");
	if (!peers_offer(s))
		lead(s);
}

/* We are master, and know what there is. */
static void
lead(struct subnet *s)
{
	peers_settled(s);
	if (s->want_tables && s->sweep.kind == SWEEP_HEAVY) {
		push_doubt_tables(s);
		s->want_tables = false;
		s->want_route = true;
	}
	if (s->plan && !s->sweep.changed && !s->want_route && !retry_due(s) &&
	    !s->first_master_sweep) {
		subnet_finish_sweep(s, false);
		reroute_answer(s, 0, "nothing has changed");
		subnet_rest(s);
		return;
	}
	if (push_needs_tables(s)) {
		subnet_set_stage(s, SUBNET_PUSH);
		push_start_reading(s);
		return;
	}
	subnet_route(s);
}

/*
 * Our own port.
 */
static void
lose_everything(struct subnet *s)
{
	loop_timer_cancel(s->timer);
	loop_timer_cancel(s->soon);
	loop_timer_cancel(s->retry);
	loop_timer_cancel(s->level_timer);
	loop_timer_cancel(s->drain_timer);
	loop_timer_cancel(s->turn);
	loop_timer_cancel(s->impatience);
	route_drop(s);
	refresh_drop(s);
	s->stage = SUBNET_WAITING;
	watchdog_stage(s);
	reader_stage(s);
	planner_drop(s);
	partitions_cancel(s);
	multicast_drop(s);
	plan_stages_free(s->push.stages);
	s->push.stages = NULL;
	transact_cancel(s->transact, &s->own.target);
	counting_stop(s);
	forget_devices(s);
}

static void
on_receive(void *arg, const struct port_mad *m)
{
	struct subnet *s = arg;

	if (s->counting.transact && port_mad_bytes(m)[1] == MAD_CLASS_PERF)
		transact_receive(s->counting.transact, m);
	else if (s->transact)
		transact_receive(s->transact, m);
}

/* Coming and going is news once the whole is known. */
static bool
news(const struct subnet *s)
{
	return s->plan && s->role == ROLE_MASTER && !s->first_master_sweep;
}

/* A host that comes while we lead may have been there all the time, its port up, and have
 * registered with somebody else, or with us before all of that was lost (IBA 14.4.11). */
static void
ask_to_register(struct subnet *s, const struct device *d)
{
	for (unsigned n = 1; d->info.node_type != NODE_SWITCH && n <= d->info.num_ports; n++)
		if (d->ports[n].guid)
			map_set(&s->forgotten, d->ports[n].guid, 0);
}

static void
watch_node(void *arg, const struct device *d, bool up)
{
	struct subnet *s = arg;
	char text[DEVICE_TEXT_SIZE];

	if (!news(s))
		return;
	if (up) {
		s->met.nodes_back++;
		ask_to_register(s, d);
	} else {
		s->met.nodes_lost++;
	}
	subnet_event(s, up ? EVENT_NODE_UP : EVENT_NODE_DOWN, up ? LOG_L_NOTICE : LOG_L_WARNING,
		     d->guid, 0, "%s %s", device_text(text, d, s->env.names),
		     up ? "appeared" : "is gone");
}

static void
watch_link(void *arg, const struct live_port *a, const struct live_port *b, bool up)
{
	struct subnet *s = arg;
	char one[DEVICE_TEXT_SIZE], two[DEVICE_TEXT_SIZE];
	struct event ev = {
		.type = up ? EVENT_LINK_UP : EVENT_LINK_DOWN,
		.level = up ? LOG_L_NOTICE : LOG_L_WARNING,
		.guid = a->device->guid, .port = a->number,
		.peer_guid = b->device->guid, .peer_port = b->number,
	};

	if (!news(s))
		return;
	if (up) {
		s->met.links_back++;
	} else {
		s->met.links_lost++;
		health_flapped(s, a->device->guid < b->device->guid ?
			       &a->device->ports[a->number] : &b->device->ports[b->number]);
	}
	subnet_tell(s, &ev, "link %s port %u to %s port %u is %s",
		    device_text(one, a->device, s->env.names), a->number,
		    device_text(two, b->device, s->env.names), b->number, up ? "up" : "down");
}

static void
on_port(void *arg, bool up, const char *why)
{
	struct subnet *s = arg;

	s->port_tried = true;
	if (up) {
		subnet_event(s, EVENT_PORT, LOG_L_NOTICE, s->port->id.guid, s->port->id.number,
			     "port %s is in use: %s", s->port->id.name, why);
		if (!s->transact) {
			dispatch_start(s);
			topo_init(&s->topo);
			s->topo.watch = (struct topo_watch){
				.node = watch_node, .link = watch_link, .arg = s,
			};
		}
		s->issm = false;
		s->wanted = SWEEP_HEAVY;
		subnet_not_up(s, "discovering");
		subnet_set_stage(s, SUBNET_IDLE);
		begin(s);
		return;
	}
	subnet_not_up(s, "%s", why);
	subnet_event(s, EVENT_PORT, LOG_L_WARNING, 0, 0, "no port to work with: %s", why);
	if (s->transact)
		lose_everything(s);
	s->issm = s->own_port_down = false;
	subnet_command_failed(s, ERR_CLOSED, why);
	part_change_answer(s, ERR_CLOSED, "%s", why);
	set_role(s, ROLE_WAITING, "");
	subnet_set_stage(s, SUBNET_WAITING);
}

/*
 * Life.
 */
struct subnet *
subnet_new(const struct subnet_env *env, const struct config_subnet *conf, subnet_open_fn open,
	   void *open_arg, struct error *e)
{
	struct subnet *s = mem_zalloc(sizeof(*s));
	struct port_events events = {.receive = on_receive, .state = on_port, .arg = s};

	s->env = *env;
	s->conf = conf;
	s->born = loop_now(env->loop);
	s->stage = SUBNET_WAITING;
	topo_init(&s->topo);
	watchdog_init(s);
	sweep_init(s);
	reader_init(s);
	lids_load(s);
	office_load(s);
	s->sa = admin_new(s);
	multicast_init(s);
	guids_init(s);
	congestion_init(s);
	partitions_init(s);
	trap_init(s);
	peers_init(s);
	copies_init(s);
	disable_init(s);
	counting_init(s);
	health_init(s);
	drains_load(s);
	subnet_not_up(s, "starting");
	s->timer = loop_timer_new(env->loop, on_timer, s);
	s->soon = loop_timer_new(env->loop, begin, s);
	s->retry = loop_timer_new(env->loop, begin, s);
	s->level_timer = loop_timer_new(env->loop, sweep_tick, s);
	s->drain_timer = loop_timer_new(env->loop, push_drain_waited, s);
	s->turn = loop_timer_new(env->loop, on_turn, s);
	s->impatience = loop_timer_new(env->loop, between_break_off, s);
	refresh_init(s);
	s->proof.timer = loop_timer_new(env->loop, proof_begin, s);
	s->port = open(open_arg, env->loop, conf->port, &events, e);
	if (!s->port) {
		subnet_free(s);
		return NULL;
	}
	return s;
}

void
subnet_free(struct subnet *s)
{
	struct error e;

	if (!s)
		return;
	reroute_answer(s, ERR_CLOSED, "the daemon ends");
	part_change_answer(s, ERR_CLOSED, "the daemon ends");
	planner_drop(s);
	if (s->proof.timer)
		proof_drop(s);
	if (s->transact) {
		lose_everything(s);
		transact_free(s->transact);
	}
	if (s->port && s->issm)
		port_set_issm(s->port, false, &e);
	port_close(s->port);
	loop_timer_free(s->timer);
	loop_timer_free(s->soon);
	loop_timer_free(s->retry);
	loop_timer_free(s->level_timer);
	loop_timer_free(s->drain_timer);
	loop_timer_free(s->turn);
	loop_timer_free(s->impatience);
	loop_timer_free(s->proof.timer);
	watchdog_free(s);
	reader_free(s);
	refresh_free(s);
	topo_free(&s->topo);
	push_forget(s);
	plan_unref(s->plan);
	multicast_free(s);
	guids_free(s);
	congestion_end(s);
	partitions_free(s);
	push_arbitration_forget(s);
	trap_free(s);
	peers_free(s);
	copies_free(s);
	disable_free(s);
	health_free(s);
	counting_free(s);
	sa_free(s->sa);
	lids_free(&s->lids);
	drains_free(&s->drains);
	lfts_free(s->tables);
	plugged_free(s);
	map_free(&s->dirty);
	map_free(&s->forgotten);
	mem_free(s);
}

static bool
same_engines(const struct config_subnet *a, const struct config_subnet *b)
{
	size_t i = 0;

	while (a->routing.engines[i] && b->routing.engines[i] &&
	       !strcmp(a->routing.engines[i], b->routing.engines[i]))
		i++;
	return !a->routing.engines[i] && !b->routing.engines[i];
}

/* What decides who leads. */
static bool
same_ranks(const struct config_subnet *a, const struct config_subnet *b)
{
	if (a->priority != b->priority || a->sm_key != b->sm_key ||
	    a->accept_handover != b->accept_handover ||
	    a->nallowed_sm_guids != b->nallowed_sm_guids)
		return false;
	for (unsigned i = 0; i < a->nallowed_sm_guids; i++)
		if (a->allowed_sm_guids[i] != b->allowed_sm_guids[i])
			return false;
	return true;
}

void
subnet_set_tables(struct subnet *s, struct lfts *tables)
{
	lfts_free(s->tables);
	s->tables = lfts_ref(tables);
}

void
subnet_configure(struct subnet *s, const struct config_subnet *conf, const struct name_map *names,
		 enum config_stage stage)
{
	const struct config_subnet *before = s->conf;

	if (!same_engines(before, conf))
		s->engine_override[0] = '\0';
	s->conf = conf;
	if (!same_ranks(before, conf))
		peers_configured(s);
	copies_configured(s);
	s->env.names = names;
	if (s->plan)
		counting_begin(s);
	if (stage <= STAGE_ROUTING)
		s->keeps = false;
	if (stage <= STAGE_PUSH)
		push_forget_stubborn(s);
	if (stage <= STAGE_PARTITIONS)
		s->parts.rebuild = true;
	if (stage <= STAGE_DISCOVER) {
		subnet_want_sweep(s, SWEEP_HEAVY);
	} else if (stage == STAGE_PARTITIONS && !(s->parts.conf && s->parts.conf->qos.nlevels)) {
		partitions_changed(s);
	} else if (stage <= STAGE_PUSH) {
		/* Rules of quality of service, which know partitions by number, go with it. */
		s->want_route = true;
		arm(s);
	} else if (s->plan) {
		refresh_all(s);			/* names may have changed */
	}
}

void
subnet_sweep(struct subnet *s)
{
	s->failures = 0;
	s->retry_at = 0;
	s->want_tables = s->want_route = s->forced = true;
	subnet_want_sweep(s, SWEEP_HEAVY);
}

bool
subnet_end(struct subnet *s)
{
	s->ending = true;
	return !s->transact || transact_is_idle(s->transact);
}

const struct plan *
subnet_plan(struct subnet *s)
{
	return s->plan ? plan_ref(s->plan) : NULL;
}
