/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Discovery by directed routes (IBA 14.2.2, 14.4), many devices at a time.
 *
 * A heavy sweep starts at our own node. Each device that answers is asked for what it is
 * (sweep_next asks, pulled by the transaction engine); each port that is up and whose far end is
 * not known in this sweep is probed: NodeInfo one hop further. To probe each cable from one end,
 * probes wait for those nearer to us (struct sweep_level): when the devices at distance d have been
 * read and probed, all cables between d and d + 1 are known. A slow device holds that back for one
 * tick only.
 *
 * A light sweep asks every switch for SwitchInfo; where PortStateChange is set (or the device is
 * dirty) its ports are read, and what changed is followed by probes. As master the change bit is
 * cleared before the ports are read: the other order loses a change.
 *
 * A device that lets a request time out is asked again over another path when all else is done, and
 * again while that makes others answer, then it is silent: it stays in the model with its last
 * known tables while its cables are up. What the answers mean is in discover.c.
 */
#include "sm/core/sweep.h"
#include "sm/core/sweep_i.h"

#include <string.h>
#include "sm/base/mem.h"

#define LEVEL_TICK MSEC(10)
#define ROUNDS 16			/* of asking suspects again, while some of them answer */
#define BACKOFF_FIRST SEC(10)
#define BACKOFF_MAX SEC(60)
#define PROBES_MAX 8			/* of one port in one sweep */

static void
level_open(struct subnet *s);

monotime
sweep_backoff(unsigned failures)
{
	return backoff_delay(BACKOFF_FIRST, BACKOFF_MAX, failures);
}

/*
 * Levels.
 */
static void
level_add(struct subnet *s, unsigned level)
{
	s->sweep.level[level].work++;
	if (level > s->sweep.last_level)
		s->sweep.last_level = level;
}

void
sweep_level_done(struct subnet *s, unsigned level)
{
	s->sweep.level[level].work--;
	if (level == s->sweep.open_level)
		level_open(s);
}

static void
level_launch(struct subnet *s, unsigned level)
{
	struct list *l;

	while ((l = list_pop(&s->sweep.level[level].probes)))
		transact_ready(s->transact, &list_entry(l, struct live_port, wait)->probe.target);
}

/* Open the levels behind which nothing is left to do. */
static void
level_open(struct subnet *s)
{
	struct sweep *w = &s->sweep;

	while (w->open_level < w->last_level && !w->level[w->open_level].work)
		level_launch(s, ++w->open_level);
}

/* No progress since the last tick: whoever is slow here must not hold the rest. */
void
sweep_tick(void *subnet)
{
	struct subnet *s = subnet;
	struct sweep *w = &s->sweep;

	if (s->stage != SUBNET_SWEEP)
		return;
	if (w->answers == w->tick_answers && w->open_level < w->last_level)
		level_launch(s, ++w->open_level);
	w->tick_answers = w->answers;
	loop_timer_set(s->level_timer, LEVEL_TICK);
}

/*
 * Wanting things of a device.
 */
bool
sweep_device_wants(const struct device *d)
{
	return d->want_switch_info || d->want_clear || d->want_desc || d->want_owner ||
	       d->want_lanes ||
	       !bits_empty(&d->read) || !bits_empty(&d->pkeys) || !bits_empty(&d->sminfo);
}

void
sweep_device_ready(struct subnet *s, struct device *d)
{
	if (!d->busy) {
		d->busy = true;
		d->level = d->hops;
		level_add(s, d->level);
	}
	transact_ready(s->transact, &d->agent.target);
}

static void
device_forget_wants(struct device *d)
{
	d->want_switch_info = d->want_clear = d->want_desc = d->want_owner = false;
	d->want_lanes = false;
	d->wait_switch_info = d->wait_port0 = false;
	memset(&d->read, 0, sizeof(d->read));
	memset(&d->pkeys, 0, sizeof(d->pkeys));
	memset(&d->sminfo, 0, sizeof(d->sminfo));
}

/* All that was wanted of the device came, or will not come. */
void
sweep_device_settled(struct subnet *s, struct device *d)
{
	if (!d->busy || d->inflight || (sweep_device_wants(d) && !d->suspect))
		return;
	if (!d->suspect && !d->complete) {
		bool is_switch = d->info.node_type == NODE_SWITCH;

		for (unsigned n = is_switch ? 0 : 1; n <= d->info.num_ports && !d->complete; n++) {
			d->complete = d->ports[n].flags & LIVE_PORT_READ;
			if (is_switch)
				break;
		}
		if (d->complete && s->topo.watch.node)
			s->topo.watch.node(s->topo.watch.arg, d, true);
		s->sweep.changed = true;
	}
	d->busy = false;
	sweep_level_done(s, d->level);
}

uint64_t
sweep_model_key(const struct device *d)
{
	return (uint64_t)d->info.vendor_id << 48 ^ (uint64_t)d->info.device_id << 32 ^
	       d->info.revision;
}

void
sweep_want_all(struct subnet *s, struct device *d, unsigned number)
{
	d->want_desc = true;
	/* What others of its model offer it is asked for at once. */
	if (!d->complete && map_get(&s->topo.extended, sweep_model_key(d)) != MAP_NONE)
		d->extended = true;
	if (d->info.node_type == NODE_SWITCH) {
		d->want_switch_info = d->wait_switch_info = true;
		d->wait_port0 = true;
		d->dirty = true;	/* ports follow the SwitchInfo */
		bits_set(&d->read, 0);
	} else {
		bits_set(&d->read, number);
	}
	sweep_device_ready(s, d);
}

void
sweep_want_switch(struct subnet *s, struct device *d)
{
	if (d->info_sweep == s->sweep.id || d->silent || d->info.node_type != NODE_SWITCH)
		return;
	d->want_switch_info = d->wait_switch_info = true;
	sweep_device_ready(s, d);
}

void
sweep_want_port(struct subnet *s, struct live_port *p)
{
	if (p->asked_sweep == s->sweep.id || p->device->silent)
		return;
	bits_set(&p->device->read, p->number);
	sweep_device_ready(s, p->device);
}

void
sweep_probe(struct subnet *s, struct live_port *p)
{
	if (p->flags & LIVE_PORT_PROBING)
		return;
	if (p->probe_sweep != s->sweep.id)
		p->probes = 0;
	p->probe_sweep = s->sweep.id;
	if (p->probes == PROBES_MAX) {
		/* Somebody else answers each time. */
		p->flags &= (uint16_t)~LIVE_PORT_VERIFYING;
		claims_undecided(s, p);
		sweep_probe_failed(s, p);
		return;
	}
	p->probes++;
	p->flags |= LIVE_PORT_PROBING;
	p->level = p->device->hops;
	level_add(s, p->level);
	if (p->level <= s->sweep.open_level || s->sweep.kind != SWEEP_HEAVY)
		transact_ready(s->transact, &p->probe.target);
	else
		list_append(&s->sweep.level[p->level].probes, &p->wait);
}

static void
probe_finish(struct subnet *s, struct live_port *p)
{
	list_remove(&p->wait);
	p->flags &= (uint16_t)~(LIVE_PORT_PROBING | LIVE_PORT_VERIFYING);
	claims_undecided(s, p);
	sweep_level_done(s, p->level);
}

/* The port is up, but no directed route is long enough (IBA 14.2.2). */
static void
too_far(struct subnet *s, struct live_port *p)
{
	char text[DEVICE_TEXT_SIZE];
	bool told = p->flags & LIVE_PORT_TOO_FAR;

	p->flags |= LIVE_PORT_TOO_FAR;
	remarks_add(&s->topo, p->device);
	if (told || p->peer)
		return;
	subnet_event(s, EVENT_SILENT, LOG_L_WARNING, p->device->guid, p->number,
		     "what is behind port %u of %s is more than %u hops away from this subnet "
		     "manager and cannot be configured: move the subnet manager towards the middle",
		     p->number, device_text(text, p->device, s->env.names), SMP_MAX_HOPS);
}

void
sweep_drop_device(struct subnet *s, struct device *d)
{
	device_forget_wants(d);
	d->suspect = true;
	for (unsigned n = 1; n <= d->info.num_ports; n++) {
		struct live_port *p = &d->ports[n];

		if (p->flags & LIVE_PORT_PROBING && !(p->flags & LIVE_PORT_PROBED))
			probe_finish(s, p);
	}
	sweep_device_settled(s, d);
}

bool
sweep_may_probe(const struct subnet *s, const struct live_port *p)
{
	if (p->device->info.node_type == NODE_SWITCH)
		return p->number > 0;
	return p->device == s->topo.own && p->number == s->topo.own_port;
}

/*
 * Asking.
 */
static bool
ask(struct subnet *s, struct device *d, unsigned port, struct transact_request *r, uint8_t method,
    uint16_t attr, uint32_t mod)
{
	r->method = method;
	r->attr_id = attr;
	r->attr_mod = mod;
	if (!subnet_address(s, d, port, r)) {
		d->suspect = true;
		return false;
	}
	if (d->silent)
		r->retries_less = 15;
	d->tried_path = topo_path_hash(d);
	d->inflight++;
	return true;
}

/* The next block of a host's P_Keys; its answer leads to the one after it. */
static bool
ask_pkeys(struct subnet *s, struct device *d, unsigned port, struct transact_request *r)
{
	int block = tables_pkeys_missing(&d->ports[port], UINT16_MAX);

	r->cookie = port | (uint64_t)(block < 0 ? 0 : block) << 8;
	return ask(s, d, port, r, MAD_GET, ATTR_P_KEY_TABLE, (uint32_t)(r->cookie >> 8));
}

/* A switch that is asked whether anything has changed, and nothing else. */
static bool
is_just_looked_at(const struct device *d)
{
	return d->want_switch_info && !d->dirty && !d->want_clear && !d->want_desc &&
	       !d->wait_port0 && !d->want_lanes && bits_empty(&d->read) &&
	       bits_empty(&d->sminfo);
}

/* A CA is asked through the port that the question is about, a switch anyhow. */
static bool
device_next(struct subnet *s, struct device *d, struct transact_request *r)
{
	bool is_switch = d->info.node_type == NODE_SWITCH;
	int n;

	if (d->suspect)
		return false;
	if (s->sweep.curtailed && is_just_looked_at(d)) {
		d->want_switch_info = d->wait_switch_info = d->want_owner = false;
		return false;
	}
	/* No way leads there now: what is wanted stays wanted, till the rest has been asked. */
	if (is_switch && sweep_device_wants(d) && !topo_mend_path(&s->topo, d, 0)) {
		d->suspect = true;
		return false;
	}
	if (d->want_switch_info) {
		d->want_switch_info = false;
		d->info_sweep = s->sweep.id;
		return ask(s, d, 0, r, MAD_GET, ATTR_SWITCH_INFO, 0);
	}
	if (d->want_clear) {
		struct switchinfo sw = d->sw;

		d->want_clear = false;
		sw.port_state_change = true;
		switchinfo_encode(&sw, r->data);
		return ask(s, d, 0, r, MAD_SET, ATTR_SWITCH_INFO, 0);
	}
	if (is_switch && (bits_has(&d->read, 0) || d->want_owner)) {
		bits_clear(&d->read, 0);
		d->want_owner = false;
		d->ports[0].asked_sweep = s->sweep.id;
		return ask(s, d, 0, r, MAD_GET, ATTR_PORT_INFO, 0);
	}
	if (d->want_desc) {
		int through = bits_first(&d->read);

		for (unsigned i = 1; !is_switch && through < 0 && i <= d->info.num_ports; i++)
			if (d->ports[i].peer || d == s->topo.own)
				through = d == s->topo.own ? s->topo.own_port : (int)i;
		d->want_desc = false;
		return ask(s, d, through < 0 ? 0 : (unsigned)through, r, MAD_GET,
			   ATTR_NODE_DESCRIPTION, 0);
	}
	if (is_switch && (d->wait_switch_info || d->wait_port0))
		return false;
	if (d->want_lanes) {
		d->want_lanes = false;
		push_lanes_try(d, r);
		return ask(s, d, 0, r, MAD_SET, ATTR_SL_TO_VL, r->attr_mod);
	}
	if ((n = bits_pop(&d->read)) >= 0) {
		d->ports[n].asked_sweep = s->sweep.id;
		return ask(s, d, (unsigned)n, r, MAD_GET, ATTR_PORT_INFO,
			   live_port_modifier(d, (unsigned)n));
	}
	if ((n = bits_pop(&d->sminfo)) >= 0) {
		r->cookie = (uint64_t)n;
		peers_question(s, r->data);
		return ask(s, d, (unsigned)n, r, MAD_GET, ATTR_SM_INFO, 0);
	}
	if ((n = bits_pop(&d->pkeys)) >= 0) {
		return ask_pkeys(s, d, (unsigned)n, r);
	}
	return false;
}

static bool
probe_next(struct subnet *s, struct live_port *p, struct transact_request *r)
{
	bool confirmed = p->peer && p->link_sweep == s->sweep.id;
	bool wanted = !confirmed && live_port_up(p);

	if (!(p->flags & LIVE_PORT_PROBING) || p->flags & LIVE_PORT_PROBED)
		return false;
	if (p->flags & LIVE_PORT_VERIFYING)
		wanted = p->read_sweep != s->sweep.id || live_port_up(p);
	if (!wanted || !subnet_address(s, p->device, p->number, r)) {
		probe_finish(s, p);
		return false;
	}
	if (!subnet_address_behind(r, p->number)) {
		too_far(s, p);
		probe_finish(s, p);
		return false;
	}
	r->method = MAD_GET;
	r->attr_id = ATTR_NODE_INFO;
	r->retries_less = p->flags & LIVE_PORT_UNANSWERED ? 15 : 0;
	p->flags |= LIVE_PORT_PROBED;
	p->flags &= (uint16_t)~LIVE_PORT_TOO_FAR;
	return true;
}

bool
sweep_next(struct subnet *s, struct agent *a, struct transact_request *r)
{
	if (a->kind == AGENT_PROBE)
		return probe_next(s, list_entry(a, struct live_port, probe), r);
	if (a->kind == AGENT_DEVICE) {
		struct device *d = list_entry(a, struct device, agent);
		bool more = device_next(s, d, r);

		if (!more)
			sweep_device_settled(s, d);
		return more;
	}
	if (!s->own_wanted)
		return false;
	s->own_wanted = false;
	r->method = MAD_GET;
	r->attr_id = ATTR_NODE_INFO;
	return subnet_address(s, NULL, 0, r);
}

/*
 * Start and end.
 */
void
sweep_init(struct subnet *s)
{
	for (unsigned i = 0; i < SWEEP_LEVELS; i++)
		list_init(&s->sweep.level[i].probes);
	s->own.kind = AGENT_OWN;
	transact_target_init(&s->own.target);
}

bool
sweep_retry_due(const struct subnet *s, const struct live_port *p)
{
	monotime now = loop_now(s->env.loop);

	if (p->flags & (LIVE_PORT_UNANSWERED | LIVE_PORT_DUPLICATE))
		return now >= p->probe_after;
	if (p->flags & LIVE_PORT_TOO_FAR)
		return p->device->hops < SMP_MAX_HOPS;
	return p->peer && p->peer->silent && p->peer->info.node_type != NODE_SWITCH &&
	       now >= p->peer->retry_after;
}

/* Ports that are up with nobody known behind them, and silent devices whose time has come. */
static void
start_retries(struct subnet *s, struct device *d)
{
	if (d->silent || d->info.node_type != NODE_SWITCH)
		return;
	for (unsigned n = 1; n <= d->info.num_ports; n++)
		if (sweep_retry_due(s, &d->ports[n]))
			sweep_probe(s, &d->ports[n]);
}

/* Somebody says that something has changed there: read it all. */
static void
want_changed(struct subnet *s, struct device *d)
{
	d->want_desc = true;
	if (d->info.node_type == NODE_SWITCH) {
		d->want_switch_info = d->wait_switch_info = true;
		d->dirty = true;
		/* Perhaps it is the very cable over which it is about to be asked. */
		sweep_ask_along(s, d, 1);
	} else {
		for (unsigned n = 1; n <= d->info.num_ports; n++)
			if (d->ports[n].peer)
				bits_set(&d->read, n);
	}
	sweep_device_ready(s, d);
}

bool
sweep_curtail(struct subnet *s)
{
	if (s->sweep.kind != SWEEP_LIGHT)
		return false;
	s->sweep.curtailed = true;
	return true;
}

bool
sweep_include(struct subnet *s, struct device *d)
{
	/* What was asked before the change does not tell of it. */
	if (s->sweep.kind != SWEEP_PARTIAL || d->silent || d->busy || !d->complete ||
	    d->info.node_type != NODE_SWITCH || d->info_sweep == s->sweep.id)
		return false;
	for (unsigned n = 1; n <= d->info.num_ports; n++)
		if (d->ports[n].asked_sweep == s->sweep.id)
			return false;
	want_changed(s, d);
	return true;
}

static void
start_device(struct subnet *s, struct device *d)
{
	bool is_switch = d->info.node_type == NODE_SWITCH;
	uint32_t told = map_get(&s->dirty, d->guid);
	bool dirty = told != MAP_NONE && told != DIRTY_DESCRIPTION;
	bool withholds = d->withholds && s->sweep.kind == SWEEP_LIGHT &&
		loop_now(s->env.loop) >= d->retry_after;

	d->suspect = d->answered = d->busy = d->relinked = false;
	device_forget_wants(d);
	if (withholds)
		d->withholds = false;
	if (s->sweep.kind == SWEEP_HEAVY) {
		d->withholds = false;
		/* Somebody else may have written them since they were read. */
		if (s->want_tables || s->role != ROLE_MASTER)
			tables_forget_device(&s->topo.tables, d);
		return;
	}
	if (d->complete && !d->silent)
		d->seen_sweep = s->sweep.id;
	if (told == DIRTY_DESCRIPTION && !d->silent) {
		d->want_desc = true;
		sweep_device_ready(s, d);
	}
	if (d == s->topo.own && !is_switch) {
		bits_set(&d->read, s->topo.own_port);
		sweep_device_ready(s, d);
		return;
	}
	if (push_lanes_due(s, d)) {
		d->want_lanes = true;
		sweep_device_ready(s, d);
	}
	/* Who sends a trap lives. */
	if (d->silent && told == MAP_NONE && loop_now(s->env.loop) < d->retry_after)
		return;
	if ((dirty || withholds) && (is_switch || !d->silent)) {
		want_changed(s, d);
	} else if (is_switch && s->sweep.kind == SWEEP_LIGHT) {
		d->want_switch_info = d->wait_switch_info = true;
		/* Another manager may have cleared the mark of what it changed. */
		d->want_owner = s->npeers > 0;
		sweep_device_ready(s, d);
	}
	if (s->sweep.kind == SWEEP_LIGHT)
		start_retries(s, d);
}

void
sweep_start(struct subnet *s, enum sweep_kind kind)
{
	struct sweep *w = &s->sweep;

	w->kind = s->topo.own ? kind : SWEEP_HEAVY;
	w->id++;
	w->started = loop_now(s->env.loop);
	w->open_level = w->last_level = 0;
	w->answers = w->tick_answers = 0;
	w->again = w->kind == SWEEP_HEAVY && w->doubtful;
	w->changed = w->curtailed = w->doubtful = false;
	w->told = s->told || s->dirty.len;
	s->told = false;
	w->rounds = 0;
	for (unsigned i = 0; i < SWEEP_LEVELS; i++)
		w->level[i].work = 0;
	list_each(it, &s->topo.devices)
		start_device(s, list_entry(it, struct device, all));
	map_clear(&s->dirty);
	if (w->kind >= SWEEP_LIGHT)
		peers_start(s, w->kind == SWEEP_HEAVY);
	loop_timer_set(s->level_timer, LEVEL_TICK);
	if (w->kind == SWEEP_HEAVY || transact_is_idle(s->transact)) {
		s->own_wanted = true;
		transact_ready(s->transact, &s->own.target);
	}
}

static void
ask_again(struct subnet *s, struct device *d)
{
	d->suspect = false;
	if (d->info.node_type == NODE_SWITCH)
		d->wait_switch_info = d->want_switch_info || d->want_clear;
	sweep_device_ready(s, d);
}

/*
 * Ask the suspects once more that devices in order lead to, over another cable where there is one.
 * Those that answer lead to others: a cut in mid-sweep is walked round from its edge. True if
 * anything is asked.
 */
static bool
next_round(struct subnet *s)
{
	struct topo *t = &s->topo;
	uint32_t mark = ++t->marks;
	bool any = false;

	topo_make_paths(t, mark);
	/* All paths are chosen before the first suspect is taken for a device in order. */
	list_each(it, &t->devices) {
		struct device *d = list_entry(it, struct device, all);
		bool again = d->suspect && !d->silent && d->mark == mark &&
			     (topo_path_hash(d) != d->tried_path || topo_other_path(t, d) ||
			      d->answered);

		d->mark = again ? mark : mark - 1;
		any |= again;
	}
	list_each(it, &t->devices) {
		struct device *d = list_entry(it, struct device, all);

		if (d->mark == mark)
			ask_again(s, d);
	}
	return any;
}

static void
make_silent(struct subnet *s, struct device *d)
{
	char text[DEVICE_TEXT_SIZE];

	device_forget_wants(d);
	if (d->failures < 255)
		d->failures++;
	d->retry_after = loop_now(s->env.loop) + sweep_backoff(d->failures);
	if (d->silent)
		return;
	d->silent = true;
	remarks_add(&s->topo, d);
	s->sweep.changed = true;
	health_silent(s, d);
	subnet_event(s, EVENT_SILENT, LOG_L_WARNING, d->guid, 0,
		     "%s does not answer though its cable is up; its tables are taken to be as "
		     "they were", device_text(text, d, s->env.names));
}

/* A heavy sweep ends: cables that a live switch did not confirm are gone. */
static void
drop_stale_links(struct subnet *s, struct device *d)
{
	if (d->seen_sweep != s->sweep.id || d->info.node_type != NODE_SWITCH)
		return;
	for (unsigned n = 1; n <= d->info.num_ports; n++) {
		struct live_port *p = &d->ports[n];

		if (p->peer && p->read_sweep == s->sweep.id && p->link_sweep != s->sweep.id) {
			topo_unlink(&s->topo, p);
			s->sweep.changed = true;
		}
	}
}

/* Links came up and none carries traffic: it was reset. */
static bool
lft_forgotten(const struct device *d)
{
	for (unsigned n = 1; n <= d->info.num_ports; n++)
		if (d->ports[n].peer && d->ports[n].info.state >= PORT_ARMED)
			return false;
	return true;
}

static void
forget_tables(struct subnet *s, struct device *d)
{
	if (d->info.node_type != NODE_SWITCH || d->silent || !d->lft)
		return;
	if (d->lft_trusted && d->relinked && lft_forgotten(d)) {
		topo_doubt_table(d);
		s->sweep.changed = true;
		guids_forget(s, &d->ports[0]);
		congestion_forget(s, &d->ports[0]);
	}
}

/* Somebody else is, or has answered, behind a port than was known to be there. */
static bool
leads_elsewhere(const struct subnet *s, const struct live_port *p)
{
	if (!p->seen_guid)
		return false;
	if (p->peer)
		return p->peer->guid != p->seen_guid || p->peer_number != p->seen_port;
	return p->far_sweep == s->sweep.id &&
	       (p->far_guid != p->seen_guid || p->far_port != p->seen_port);
}

/*
 * A cable that was moved under a sweep or a push led requests to another device than they were made
 * for, and a response does not say whose it is. True if a port leads elsewhere now than when its
 * device was looked at last; `passed` is set if Sets of a push may have gone that way since.
 */
static bool
cable_moved(const struct subnet *s, struct device *d, bool *passed)
{
	bool looked = d == s->topo.own || d->info_sweep == s->sweep.id, moved = false;

	for (unsigned n = 1; n <= d->info.num_ports; n++) {
		struct live_port *p = &d->ports[n];
		bool other = leads_elsewhere(s, p);

		moved |= other;
		*passed |= other && p->flags & LIVE_PORT_PASSED;
		/* Up and nobody known behind it: who it is may come out later. */
		if (!other && (!looked || d->suspect || (!p->peer && live_port_up(p))))
			continue;
		p->seen_guid = p->peer ? p->peer->guid : 0;
		p->seen_port = p->peer_number;
		p->flags &= (uint16_t)~LIVE_PORT_PASSED;
	}
	return moved;
}

/* Whatever was answered since is in doubt, at the right device and at the wrong one. */
static void
look_for_moves(struct subnet *s)
{
	bool moved = false, passed = false;

	list_each(it, &s->topo.devices)
		moved |= cable_moved(s, list_entry(it, struct device, all), &passed);
	s->want_tables |= passed;
	if (moved)
		subnet_want_sweep(s, SWEEP_HEAVY);
}

static void
sweep_end(struct subnet *s)
{
	struct topo *t = &s->topo;
	bool heavy = s->sweep.kind == SWEEP_HEAVY;
	uint32_t mark;

	loop_timer_cancel(s->level_timer);
	list_each(it, &t->devices)
		if (heavy)
			drop_stale_links(s, list_entry(it, struct device, all));
	look_for_moves(s);
	mark = ++t->marks;
	topo_mark_connected(t, mark);
	list_each(it, &t->devices) {
		struct device *d = list_entry(it, struct device, all);

		if (d->mark != mark) {
			s->sweep.changed = true;
			topo_remove(t, s->transact, d);
			continue;
		}
		if (d->suspect || (heavy && d->seen_sweep != s->sweep.id))
			make_silent(s, d);
		else if (!d->silent && !d->withholds)
			d->failures = 0;
		forget_tables(s, d);
	}
	topo_make_paths(t, ++t->marks);
	claims_sweep_ended(s);
	if (s->sweep.doubtful)
		subnet_want_sweep(s, SWEEP_HEAVY);
	subnet_sweep_done(s);
}

void
sweep_idle(struct subnet *s)
{
	struct sweep *w = &s->sweep;

	claims_probe_due(s);
	if (!transact_is_idle(s->transact))
		return;
	for (unsigned l = w->open_level; l < w->last_level; l++) {
		w->open_level = l + 1;
		level_launch(s, l + 1);
		if (!transact_is_idle(s->transact))
			return;
	}
	if (!w->rounds || (w->rounds < ROUNDS && w->answers > w->round_answers)) {
		w->rounds++;
		w->round_answers = w->answers;
		if (next_round(s))
			return;
	}
	sweep_end(s);
}
