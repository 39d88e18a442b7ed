/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Other subnet managers (IBA 14.4.1, and the SM state machine of 14.4.2 as far as one master and
 * its standbys need it).
 *
 * Discovery asks every port that says IsSM for SMInfo (peers_saw). When it ends, peers_elect()
 * decides: a master that is there stays master, whatever its priority or GUID (a new manager does
 * not capture a live fabric); among those that are not, the higher priority and then the lower GUID
 * wins, and likewise among masters whose fabrics have become one. A standby asks the master now
 * and then whether it lives, and sweeps when it does not.
 *
 * Two that start together see each other or not, as it happens. Who is asked for SMInfo by somebody
 * that it has not seen looks again before it decides (peers_asked).
 *
 * What managers ask of each other is handover.c's. Who has another SM_Key, or is not among those
 * that may lead, is shown and told of, and counts for nothing.
 *
 * A master that hears nothing of another manager does not know what that one does: it may take the
 * master for dead, lead beside it, and stand by again before a word of it gets through. So a master
 * that stands back says so to the other (Set(SMInfo), HANDOVER) until it is heard. And who does not
 * answer is kept as lost, and asked again with growing patience; when it is back, whatever it is
 * then, it may have led. What such a one has written is read back (peers_settled), at intervals
 * that grow too.
 */
#include "sm/core/subnet_i.h"
#include "sm/core/sweep_i.h"

#include <stdio.h>
#include <string.h>

#define ASK_FIRST SEC(1)		/* a lost one, */
#define ASK_MAX SEC(300)
#define SETTLE_FIRST SEC(1)		/* reading back, */
#define SETTLE_MAX SEC(300)
#define PEACE SEC(1800)			/* after which the intervals are short again */
#define LOOK_BEHIND SEC(1)		/* a port that questions come through, at most so often */
#define HANDOVERS 16			/* polls of a master that does not hear of a handover */

static struct peer_sm *
peer_find(struct subnet *s, uint64_t node_guid, unsigned port)
{
	for (unsigned n = 0; n < s->npeers; n++)
		if (s->peers[n].node_guid == node_guid && s->peers[n].port == port)
			return &s->peers[n];
	return NULL;
}

/* The one that is lost for the longest time, or NULL. */
static struct peer_sm *
peer_longest_lost(struct subnet *s)
{
	struct peer_sm *longest = NULL;

	for (unsigned n = 0; n < s->npeers; n++)
		if (s->peers[n].presence == PEER_LOST &&
		    (!longest || s->peers[n].sweep < longest->sweep))
			longest = &s->peers[n];
	return longest;
}

/* The slot of a subnet manager that is known, or a new one; NULL: there are too many. */
static struct peer_sm *
peer_slot(struct subnet *s, uint64_t node_guid, unsigned port)
{
	struct peer_sm *p = peer_find(s, node_guid, port);

	if (p)
		return p;
	p = s->npeers < PEERS_MAX ? &s->peers[s->npeers++] : peer_longest_lost(s);
	if (p)
		*p = (struct peer_sm){ 0 };
	return p;
}

/* Where it is, as seen from here. */
static const char *
where(struct subnet *s, const struct peer_sm *p, char text[PATH_TEXT_SIZE])
{
	const struct device *d = topo_find(&s->topo, p->node_guid);
	uint8_t path[SMP_MAX_HOPS + 1];
	int hops = d ? topo_path(&s->topo, d, p->port, path) : -1;

	return hops < 0 ? "unknown" : path_text(text, path, (unsigned)hops);
}

static void
tell_stranger(struct subnet *s, const struct peer_sm *p)
{
	char text[200], path[PATH_TEXT_SIZE];

	subnet_event(s, EVENT_ROLE, p->wrong_key ? LOG_L_ERROR : LOG_L_WARNING, p->guid, p->port,
		     "another subnet manager %s and is ignored: %s, at path %s from here",
		     p->wrong_key ? "has a different sm_key" : "is not among allowed_sm_guids",
		     peers_text(s, p, text, sizeof(text)), where(s, p, path));
}

static void
tell_peer(struct subnet *s, const struct peer_sm *before, const struct peer_sm *now)
{
	char text[200];

	peers_text(s, now, text, sizeof(text));
	if ((now->wrong_key && !before->wrong_key) || (now->unwanted && !before->unwanted))
		tell_stranger(s, now);
	else if (s->role == ROLE_MASTER && now->state == SM_MASTER && before->state != SM_MASTER)
		subnet_event(s, EVENT_ROLE, LOG_L_WARNING, now->guid, now->port, "another subnet "
			     "manager is master too: %s; if neither gives way, stop one", text);
	else if (!before->guid || before->presence == PEER_LOST)
		subnet_event(s, EVENT_ROLE, LOG_L_NOTICE, now->guid, now->port, "another subnet "
			     "manager is there%s: %s", before->heard ? " again" : "", text);
}

bool
peers_allowed(const struct subnet *s, uint64_t guid)
{
	const struct config_subnet *c = s->conf;

	for (unsigned n = 0; n < c->nallowed_sm_guids; n++)
		if (c->allowed_sm_guids[n] == guid)
			return true;
	return !c->nallowed_sm_guids;
}

/* What it did not take may be what it takes now. */
static bool
is_as_before(const struct peer_sm *a, const struct peer_sm *b)
{
	return a->priority == b->priority && a->state == b->state &&
	       a->presence != PEER_LOST && b->presence != PEER_LOST;
}

void
peers_saw(struct subnet *s, const struct device *d, unsigned port, const struct sminfo *i)
{
	const struct live_port *p = &d->ports[port <= d->info.num_ports ? port : 0];
	struct peer_sm *peer = peer_slot(s, d->guid, port), before;

	if (!peer)
		return;
	before = *peer;
	*peer = (struct peer_sm){
		.guid = i->guid ? i->guid : p->guid,
		.node_guid = d->guid,
		.port = (uint8_t)port,
		.lid = p->info.lid,
		.priority = i->priority,
		.state = i->state,
		.activity = i->activity,
		/* 0 says nothing: OpenSM always answers so. */
		.told_key = i->sm_key != 0,
		.wrong_key = i->sm_key && i->sm_key != s->conf->sm_key,
		.heard = loop_now(s->env.loop),
		.sweep = s->sweep.id,
	};
	if (before.guid == peer->guid)
		peer->told = before.told;
	peer->unwanted = !peers_allowed(s, peer->guid);
	if (is_as_before(&before, peer)) {
		peer->offers = before.offers;
		peer->offer_at = before.offer_at;
	}
	tell_peer(s, &before, peer);
	if (s->role == ROLE_MASTER && before.guid && before.presence == PEER_LOST)
		s->rivals = true;
}

static void
lose(struct subnet *s, struct peer_sm *p)
{
	if (p->presence != PEER_LOST)
		p->failures = 0;
	p->presence = PEER_LOST;
	p->ask_at = loop_now(s->env.loop) + backoff_delay(ASK_FIRST, ASK_MAX, p->failures++);
}

void
peers_lost(struct subnet *s, const struct device *d, unsigned port)
{
	const struct live_port *at = &d->ports[port <= d->info.num_ports ? port : 0];
	struct peer_sm *p = peer_find(s, d->guid, port);

	/* One that has never answered may lead, too. */
	if (!p && (p = peer_slot(s, d->guid, port)))
		*p = (struct peer_sm){ .guid = at->guid, .node_guid = d->guid,
				       .port = (uint8_t)port, .lid = at->info.lid };
	if (p)
		lose(s, p);
}

/* Ask a manager that is known how it is. */
static void
ask(struct subnet *s, struct peer_sm *p)
{
	struct device *d = topo_find(&s->topo, p->node_guid);

	if (!d || d->silent || p->port > d->info.num_ports) {
		if (p->presence != PEER_LOST)
			lose(s, p);
		return;
	}
	if (p->presence == PEER_LOST && loop_now(s->env.loop) < p->ask_at)
		return;
	bits_set(&d->sminfo, p->port);
	/* The first that it writes when it leads unseen is its own port. */
	bits_set(&d->read, p->port);
	sweep_device_ready(s, d);
}

void
peers_start(struct subnet *s, bool all)
{
	for (unsigned i = 0; i < s->npeers; i++)
		if (!all)
			ask(s, &s->peers[i]);
		else if (s->peers[i].presence == PEER_HERE)
			s->peers[i].presence = PEER_AWAITED;
}

void
peers_swept(struct subnet *s)
{
	for (unsigned i = 0; i < s->npeers; i++)
		if (s->peers[i].presence == PEER_AWAITED)
			lose(s, &s->peers[i]);
}

/* Somebody else leads, or led, of whom nobody has heard: what else it wrote is not known. */
void
peers_owner(struct subnet *s, uint16_t before, uint16_t now)
{
	uint16_t ours = s->topo.own ? s->topo.own->ports[s->topo.own_port].info.lid : 0;

	if (s->role != ROLE_MASTER || s->first_master_sweep || !now || now == ours ||
	    before != ours)
		return;
	log_limited(&s->limit_device, LOG_L_NOTICE, "another subnet manager, with LID %u, has "
		    "written to devices: all that it may have written is read back", now);
	s->rivals = true;
}

const char *
peers_text(struct subnet *s, const struct peer_sm *p, char *buf, size_t size)
{
	const struct device *d = topo_find(&s->topo, p->node_guid);
	char name[DEVICE_TEXT_SIZE], guid[GUID_TEXT_SIZE];

	snprintf(buf, size, "%s port %u, GUID %s, LID %u, priority %u, %s",
		 d ? device_text(name, d, s->env.names) : "a device that is gone", p->port,
		 guid_text(guid, p->guid), p->lid, p->priority,
		 sm_state_text(p->state));
	return buf;
}

/* True if the peer goes before us (IBA 14.4.1.2: higher priority, then lower GUID). */
static bool
goes_before(const struct subnet *s, const struct peer_sm *p)
{
	if (p->priority != s->conf->priority)
		return p->priority > s->conf->priority;
	return p->guid < s->port->id.guid;
}

/* Who is at the other end of a directed route: back over the ports that it came in by; NULL: we do
 * not know. `last` is the last that we do. Whoever sends or forwards lives: the next look at it is
 * not put off. */
static struct device *
asker_by_path(const struct subnet *s, const uint8_t *return_path, unsigned hops,
	      struct device **last)
{
	struct device *d = *last = s->topo.own;

	for (unsigned i = hops; i && d; i--) {
		*last = d;
		d = return_path[i] <= d->info.num_ports ? d->ports[return_path[i]].peer : NULL;
		if (d && d->silent)
			d->retry_after = 0;
	}
	return d;
}

static bool
is_peer(const struct subnet *s, const struct device *d)
{
	for (unsigned i = 0; i < s->npeers; i++)
		if (s->peers[i].node_guid == d->guid && s->peers[i].presence != PEER_LOST)
			return true;
	return false;
}

/* When it was looked at, it had not found out yet what it is. */
static bool
is_undecided(const struct subnet *s, const struct device *d)
{
	for (unsigned i = 0; i < s->npeers; i++)
		if (s->peers[i].node_guid == d->guid && s->peers[i].state == SM_DISCOVERING)
			return true;
	return false;
}

/* A question came through a port of this device that nobody is known behind: somebody else may have
 * cleared the mark of the change, who leads no more. */
static void
look_behind(struct subnet *s, const struct device *d)
{
	monotime now = loop_now(s->env.loop);

	if (now < s->look_behind_at)
		return;
	s->look_behind_at = now + LOOK_BEHIND;
	subnet_want_device(s, d->guid);
}

void
peers_asked(struct subnet *s, const struct smp *smp)
{
	struct device *d, *last;

	if (smp->h.mgmt_class != MAD_CLASS_SUBN_DIRECT)
		return;
	if (s->role == ROLE_DISCOVERING) {
		memcpy(s->stranger, smp->return_path, sizeof(s->stranger));
		s->stranger_hops = smp->hop_count;
		return;
	}
	d = asker_by_path(s, smp->return_path, smp->hop_count, &last);
	if (d && d != s->topo.own && (!is_peer(s, d) || is_undecided(s, d)))
		subnet_want_device(s, d->guid);
	else if (!d && last)
		look_behind(s, last);
}

bool
peers_overlooked(struct subnet *s)
{
	struct device *last;
	const struct device *d = asker_by_path(s, s->stranger, s->stranger_hops, &last);
	bool overlooked = s->stranger_hops && !s->looked_again && (!d || !is_peer(s, d));

	s->stranger_hops = 0;
	s->looked_again = overlooked;
	return overlooked;
}

void
peers_hand_over(struct subnet *s)
{
	s->handovers = s->master.state == SM_MASTER ? HANDOVERS : 0;
	s->handover_put_off = false;
}

bool
peers_elect(struct subnet *s)
{
	bool leads = s->role == ROLE_MASTER || s->handover.from;
	const struct peer_sm *first = NULL;

	for (unsigned i = 0; i < s->npeers; i++) {
		const struct peer_sm *p = &s->peers[i];

		if (p->presence == PEER_LOST || p->wrong_key || p->unwanted ||
		    p->state == SM_NOT_ACTIVE || p->guid == s->port->id.guid)
			continue;
		if (p->state == SM_MASTER && !leads) {
			first = p;
			break;
		}
		/* A master stands back for a better one that is there now, and for nobody else. */
		if (leads && (p->state != SM_MASTER || p->sweep != s->sweep.id))
			continue;
		if (!goes_before(s, p))
			continue;
		if (!first || p->priority > first->priority ||
		    (p->priority == first->priority && p->guid < first->guid))
			first = p;
	}
	if (!first)
		return true;
	s->master = *first;
	return false;
}

/* How long it is until what others may have written is read back. */
static monotime
settle_delay(struct subnet *s)
{
	monotime now = loop_now(s->env.loop);

	if (now < s->settle_at)
		return s->settle_at - now;
	if (now - s->settle_at > PEACE)
		s->rivalries = 0;
	s->settle_at = now + backoff_delay(SETTLE_FIRST, SETTLE_MAX, s->rivalries++);
	return 0;
}

void
peers_settled(struct subnet *s)
{
	monotime delay;

	for (unsigned i = 0; i < s->npeers; i++)
		if (s->peers[i].state == SM_MASTER && s->peers[i].presence != PEER_LOST) {
			s->rivals = true;
			return;
		}
	if (!s->rivals)
		return;
	delay = settle_delay(s);
	if (delay) {
		loop_timer_set(s->settle_timer, delay);
		return;
	}
	s->rivals = false;
	guids_doubt(s);
	congestion_doubt(s);
	subnet_sweep(s);
}

/* The next look decides what is read back. */
static void
on_settle(void *subnet)
{
	struct subnet *s = subnet;

	if (s->role == ROLE_MASTER && s->rivals)
		subnet_want_sweep(s, SWEEP_LIGHT);
}

void
peers_init(struct subnet *s)
{
	s->settle_timer = loop_timer_new(s->env.loop, on_settle, s);
}

void
peers_free(struct subnet *s)
{
	loop_timer_free(s->settle_timer);
}

/* Standby: ask the master whether it lives; the answer comes to peers_done(). */
void
peers_poll(struct subnet *s)
{
	struct device *d = topo_find(&s->topo, s->master.node_guid);

	s->polled = loop_now(s->env.loop);
	s->polls_soon -= s->polls_soon > 0;
	handover_announce(s);
	if (!d) {
		takeover_begins(s, TAKEOVER_LOST, s->master.guid);
		subnet_want_sweep(s, SWEEP_HEAVY);
		return;
	}
	s->ask_port = s->poll_failures == 1;
	if (!s->ask_port)
		bits_set(&d->sminfo, s->master.port);
	transact_ready(s->transact, &d->agent.target);
	if (copies_want_port(s))
		transact_ready(s->transact, &s->topo.own->agent.target);
}

bool
peers_offer(struct subnet *s)
{
	struct peer_sm *heir = handover_heir(s);
	struct device *d = heir ? topo_find(&s->topo, heir->node_guid) : NULL;

	if (!d || d->silent || heir->port > d->info.num_ports)
		return false;
	s->handover.to = heir->guid;
	s->handover.given = false;
	subnet_set_stage(s, SUBNET_POLL);
	bits_set(&d->sminfo, heir->port);
	transact_ready(s->transact, &d->agent.target);
	return true;
}

void
peers_question(const struct subnet *s, uint8_t data[SMP_DATA_SIZE])
{
	struct sminfo i;

	if (s->role != ROLE_MASTER)
		return;
	notice_own_sminfo(s, &i);
	i.sm_key = 0;
	sminfo_encode(&i, data);
}

void
peers_configured(struct subnet *s)
{
	s->handover.announce_at = 0;
	s->handover.announced = 0;
	for (unsigned i = 0; i < s->npeers; i++)
		s->peers[i].offer_at = 0;
	if (s->port && s->port->up)
		subnet_want_sweep(s, SWEEP_LIGHT);
}

/* A poll has as many tries as fit between two. */
static uint8_t
tries_left_out(const struct subnet *s)
{
	unsigned fit = s->conf->timeout ? (unsigned)(s->conf->standby_poll / s->conf->timeout) : 1;

	fit = fit ? fit : 1;
	return (uint8_t)(s->conf->retries + 1 > fit ? s->conf->retries + 1 - fit : 0);
}

/* What the question becomes: we say what we were. */
static void
hand_over(struct subnet *s, struct transact_request *r)
{
	struct sminfo i;

	notice_own_sminfo(s, &i);
	i.state = SM_MASTER;
	i.sm_key = s->conf->sm_key;
	r->method = MAD_SET;
	r->attr_mod = SM_HANDOVER;
	sminfo_encode(&i, r->data);
}

/* Asked once: a host that is gone costs no more than that. */
static bool
port_next(struct subnet *s, struct device *d, struct transact_request *r)
{
	s->ask_port = false;
	r->method = MAD_GET;
	r->attr_id = ATTR_PORT_INFO;
	r->attr_mod = s->master.port;
	r->retries_less = UINT8_MAX;
	if (!subnet_address(s, d, s->master.port, r))
		return false;
	d->inflight++;
	return true;
}

bool
peers_next(struct subnet *s, struct agent *a, struct transact_request *r)
{
	struct device *d = list_entry(a, struct device, agent);
	int n;

	if (a->kind != AGENT_DEVICE)
		return false;
	if (s->ask_port && s->role == ROLE_STANDBY && d->guid == s->master.node_guid)
		return port_next(s, d, r);
	if (d == s->topo.own && copies_next(s, r)) {
		if (!subnet_address(s, d, s->topo.own_port, r))
			return false;
		d->inflight++;
		return true;
	}
	if ((n = bits_pop(&d->sminfo)) < 0)
		return false;
	r->method = MAD_GET;
	r->attr_id = ATTR_SM_INFO;
	r->cookie = (uint64_t)n;
	peers_question(s, r->data);
	if (s->role == ROLE_STANDBY)
		r->retries_less = tries_left_out(s);
	if (s->role == ROLE_MASTER)
		hand_over(s, r);
	else if (s->handovers && !s->handover_put_off && s->role == ROLE_STANDBY &&
		 d->guid == s->master.node_guid && n == s->master.port)
		hand_over(s, r);
	if (!subnet_address(s, d, (unsigned)n, r))
		return false;
	d->inflight++;
	return true;
}

static void
poll_failed(struct subnet *s, bool answered)
{
	char text[200];

	if (++s->poll_failures <= s->conf->standby_retries)
		return;
	takeover_begins(s, answered ? TAKEOVER_RESIGNED : TAKEOVER_LOST, s->master.guid);
	subnet_event(s, EVENT_ROLE, LOG_L_WARNING, s->master.guid, s->master.port,
		     "the master %s %u polls in a row: %s",
		     answered ? "says that it does not lead in" : "does not answer",
		     s->poll_failures, peers_text(s, &s->master, text, sizeof(text)));
	subnet_want_sweep(s, SWEEP_HEAVY);
}

/* A master that ended has left its port behind, which announces nobody: there is nothing to wait
 * for. One that hangs is announced, and a host that is gone does not answer: both are polled on. */
static void
port_done(struct subnet *s, struct device *d, const struct transact_result *res)
{
	struct portinfo i;
	char text[200];

	if (s->role != ROLE_STANDBY || d->guid != s->master.node_guid)
		return;
	if (!res->error && !res->mad_status) {
		portinfo_decode(&i, res->data);
		if (!(i.cap_mask & CAP_IS_SM)) {
			takeover_begins(s, TAKEOVER_LOST, s->master.guid);
			subnet_event(s, EVENT_ROLE, LOG_L_WARNING, s->master.guid, s->master.port,
				     "the master does not answer, and its port announces no "
				     "subnet manager any more: %s",
				     peers_text(s, &s->master, text, sizeof(text)));
			subnet_want_sweep(s, SWEEP_HEAVY);
			return;
		}
	}
	bits_set(&d->sminfo, s->master.port);
	transact_ready(s->transact, &d->agent.target);
}

void
peers_done(struct subnet *s, struct agent *a, const struct transact_result *res)
{
	struct device *d = list_entry(a, struct device, agent);
	struct sminfo i;

	if (a->kind != AGENT_DEVICE)
		return;
	d->inflight--;
	if (res->attr_id == ATTR_PORT_INFO) {
		if (d == s->topo.own && res->attr_mod == s->topo.own_port)
			copies_port(s, res);
		else
			port_done(s, d, res);
		return;
	}
	if (res->method == MAD_SET && s->role == ROLE_MASTER) {
		struct peer_sm *p = peer_find(s, d->guid, (unsigned)res->cookie);

		if (p && p->guid == s->handover.to)
			handover_answered(s, p, res);
		return;
	}
	if (res->method == MAD_SET) {
		s->handovers = res->error ? s->handovers - 1 : 0;
		s->handover_put_off = true;
		return;
	}
	s->handover_put_off = false;
	if (res->error || res->mad_status || res->attr_id != ATTR_SM_INFO) {
		poll_failed(s, false);
		return;
	}
	sminfo_decode(&i, res->data);
	peers_saw(s, d, (unsigned)res->cookie, &i);
	if (d->guid != s->master.node_guid || s->role != ROLE_STANDBY || s->handover.from)
		return;
	s->master.state = i.state;
	s->master.priority = i.priority;
	s->master.activity = i.activity;
	/* Whoever does not lead has the same patience as one that does not answer: it may be about
	 * to, or it may stand by as we do, and then nobody leads. */
	if (i.state == SM_MASTER) {
		s->poll_failures = 0;
		s->master.heard = loop_now(s->env.loop);
	} else if (!goes_before(s, &s->master) &&
		   (i.state == SM_STANDBY || (i.state == SM_NOT_ACTIVE && s->polls_soon))) {
		takeover_begins(s, TAKEOVER_RESIGNED, s->master.guid);
		subnet_want_sweep(s, SWEEP_HEAVY);	/* it waits for us */
	} else if (!s->polls_soon) {
		poll_failed(s, true);
	}
}
