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
 */
#include "sm/core/subnet_i.h"

#include <stdio.h>
#include <string.h>

/* The slot of a subnet manager that is known, or a new one; NULL: there are too many. */
static struct peer_sm *
peer_slot(struct subnet *s, uint64_t node_guid, unsigned port)
{
	for (unsigned n = 0; n < s->npeers; n++)
		if (s->peers[n].node_guid == node_guid && s->peers[n].port == port)
			return &s->peers[n];
	if (s->npeers == PEERS_MAX)
		return NULL;
	s->peers[s->npeers] = (struct peer_sm){0};
	return &s->peers[s->npeers++];
}

static void
tell_peer(struct subnet *s, const struct peer_sm *before, const struct peer_sm *now)
{
	char text[200];

	peers_text(s, now, text, sizeof(text));
	if (now->wrong_key && !before->wrong_key)
		subnet_event(s, EVENT_ROLE, LOG_L_ERROR, now->guid, now->port, "another subnet "
			     "manager has a different sm_key and is ignored: %s", text);
	else if (s->role == ROLE_MASTER && now->state == SM_MASTER && before->state != SM_MASTER)
		subnet_event(s, EVENT_ROLE, LOG_L_WARNING, now->guid, now->port, "another subnet "
			     "manager is master too: %s; if neither gives way, stop one", text);
	else if (!before->guid)
		subnet_event(s, EVENT_ROLE, LOG_L_NOTICE, now->guid, now->port,
			     "another subnet manager is there: %s", text);
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
		.wrong_key = i->sm_key && i->sm_key != s->conf->sm_key,
		.sweep = s->sweep.id,
	};
	tell_peer(s, &before, peer);
}

void
peers_lost(struct subnet *s, const struct device *d, unsigned port)
{
	for (unsigned n = 0; n < s->npeers; n++)
		if (s->peers[n].node_guid == d->guid && s->peers[n].port == port)
			s->peers[n] = s->peers[--s->npeers];
}

const char *
peers_text(struct subnet *s, const struct peer_sm *p, char *buf, size_t size)
{
	static const char *const states[] = {"not active", "discovering", "standby", "master"};
	const struct device *d = topo_find(&s->topo, p->node_guid);
	char name[DEVICE_TEXT_SIZE], guid[GUID_TEXT_SIZE];

	snprintf(buf, size, "%s port %u, GUID %s, LID %u, priority %u, %s",
		 d ? device_text(name, d, s->env.names) : "a device that is gone", p->port,
		 guid_text(guid, p->guid), p->lid, p->priority,
		 p->state <= SM_MASTER ? states[p->state] : "in an unknown state");
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

/* Who is at the other end of a directed route: back over the ports that it came in by. */
static struct device *
asker_by_path(const struct subnet *s, const uint8_t *return_path, unsigned hops)
{
	struct device *d = s->topo.own;

	for (unsigned i = hops; i && d; i--)
		d = return_path[i] <= d->info.num_ports ? d->ports[return_path[i]].peer : NULL;
	return d;
}

static bool
is_peer(const struct subnet *s, const struct device *d)
{
	for (unsigned i = 0; i < s->npeers; i++)
		if (s->peers[i].node_guid == d->guid)
			return true;
	return false;
}

void
peers_asked(struct subnet *s, const struct smp *smp)
{
	struct device *d;

	if (smp->h.mgmt_class != MAD_CLASS_SUBN_DIRECT)
		return;
	if (s->role == ROLE_DISCOVERING) {
		memcpy(s->stranger, smp->return_path, sizeof(s->stranger));
		s->stranger_hops = smp->hop_count;
		return;
	}
	d = asker_by_path(s, smp->return_path, smp->hop_count);
	if (d && d != s->topo.own && !is_peer(s, d))
		subnet_want_device(s, d->guid);
}

bool
peers_overlooked(struct subnet *s)
{
	const struct device *d = asker_by_path(s, s->stranger, s->stranger_hops);
	bool overlooked = s->stranger_hops && !s->looked_again && (!d || !is_peer(s, d));

	s->stranger_hops = 0;
	s->looked_again = overlooked;
	return overlooked;
}

bool
peers_elect(struct subnet *s)
{
	const struct peer_sm *first = NULL;

	for (unsigned i = 0; i < s->npeers; i++) {
		const struct peer_sm *p = &s->peers[i];

		if (p->wrong_key || p->state == SM_NOT_ACTIVE || p->guid == s->port->id.guid)
			continue;
		if (p->state == SM_MASTER && s->role != ROLE_MASTER) {
			first = p;
			break;
		}
		/* A master stands back for a better one that is there now, and for nobody else. */
		if (s->role == ROLE_MASTER && (p->state != SM_MASTER || p->sweep != s->sweep.id))
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

void
peers_settled(struct subnet *s)
{
	for (unsigned i = 0; i < s->npeers; i++)
		if (s->peers[i].state == SM_MASTER) {
			s->rivals = true;
			return;
		}
	if (!s->rivals)
		return;
	s->rivals = false;
	guids_doubt(s);
	subnet_sweep(s);
}

/* Standby: ask the master whether it lives; the answer comes to peers_done(). */
void
peers_poll(struct subnet *s)
{
	struct device *d = topo_find(&s->topo, s->master.node_guid);

	if (!d) {
		subnet_want_sweep(s, SWEEP_HEAVY);
		return;
	}
	bits_set(&d->sminfo, s->master.port);
	transact_ready(s->transact, &d->agent.target);
}

bool
peers_next(struct subnet *s, struct agent *a, struct transact_request *r)
{
	struct device *d = list_entry(a, struct device, agent);
	int n;

	if (a->kind != AGENT_DEVICE || (n = bits_pop(&d->sminfo)) < 0)
		return false;
	r->method = MAD_GET;
	r->attr_id = ATTR_SM_INFO;
	r->cookie = (uint64_t)n;
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
	subnet_event(s, EVENT_ROLE, LOG_L_WARNING, s->master.guid, s->master.port,
		     "the master %s %u polls in a row: %s",
		     answered ? "says that it does not lead in" : "does not answer",
		     s->poll_failures, peers_text(s, &s->master, text, sizeof(text)));
	subnet_want_sweep(s, SWEEP_HEAVY);
}

void
peers_done(struct subnet *s, struct agent *a, const struct transact_result *res)
{
	struct device *d = list_entry(a, struct device, agent);
	struct sminfo i;

	if (a->kind != AGENT_DEVICE)
		return;
	d->inflight--;
	if (res->error || res->mad_status || res->attr_id != ATTR_SM_INFO) {
		poll_failed(s, false);
		return;
	}
	sminfo_decode(&i, res->data);
	peers_saw(s, d, (unsigned)res->cookie, &i);
	if (d->guid != s->master.node_guid)
		return;
	s->master.state = i.state;
	s->master.priority = i.priority;
	s->master.activity = i.activity;
	/* Whoever does not lead has the same patience as one that does not answer: it may be about
	 * to, or it may stand by as we do, and then nobody leads. */
	if (i.state == SM_MASTER)
		s->poll_failures = 0;
	else if (i.state == SM_STANDBY && !goes_before(s, &s->master))
		subnet_want_sweep(s, SWEEP_HEAVY);	/* it waits for us */
	else
		poll_failed(s, true);
}
