/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a subnet says of itself: roles, stages and counts as they are now, and the warnings that an
 * administrator should see to, the gravest first.
 */
#include "sm/core/subnet_i.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "sm/fabric/levels.h"
#include "sm/sa/group.h"
#include "sm/sa/sa.h"

#define LISTED_DEVICES 8	/* of one kind of warning */
#define OUTCOME_TRIES 3		/* incomplete pushes after which --once gives up */

static void
warn(struct subnet_status *st, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void
warn(struct subnet_status *st, const char *fmt, ...)
{
	va_list ap;

	if (st->nwarnings == STATUS_MAX_WARNINGS) {
		st->more_warnings++;
		return;
	}
	va_start(ap, fmt);
	vsnprintf(st->warnings[st->nwarnings++], sizeof(st->warnings[0]), fmt, ap);
	va_end(ap);
}

/* One line a field, however many ports keep another value. */
static void
warn_stubborn(struct subnet *s, struct subnet_status *st)
{
	char text[DEVICE_TEXT_SIZE];

	for (unsigned bit = 0; bit < FIELD_COUNT; bit++) {
		uint32_t ports = remarks_stubborn_ports(&s->topo, bit);
		const struct device *d = ports ? remarks_stubborn_device(&s->topo, bit) : NULL;

		if (d)
			warn(st, "%u ports accept %s but keep another value than was set (one is "
			     "on %s); %s", ports, push_field_name(bit),
			     device_text(text, d, s->env.names),
			     1u << bit & FIELDS_FORWARDING ? "traffic may suffer" :
			     "traffic is not touched");
	}
}

static void
warn_congestion(struct subnet *s, struct subnet_status *st)
{
	char text[200];

	congestion_text(s, text, sizeof(text));
	if (text[0])
		warn(st, "congestion control: %s; see `weft show congestion`", text);
}

static void
warn_adaptive(struct subnet *s, struct subnet_status *st)
{
	const struct plan_adaptive *a = s->plan ? s->plan->adaptive : NULL;

	if (a && a->doubtful)
		warn(st, "adaptive routing: a switch that does not answer spreads packets: with "
		     "that freedom from deadlock is not proved");
	if (s->conf->routing.adaptive == CONFIG_ADAPTIVE_OFF)
		return;
	if (s->adaptive.none)
		warn(st, "adaptive routing: no switch does it, for none knows it or is selected; "
		     "see `weft show adaptive`");
	if (s->adaptive.failed)
		warn(st, "adaptive routing: %u %s not take it; see `weft show adaptive`",
		     s->adaptive.failed, s->adaptive.failed == 1 ? "switch does" : "switches do");
	if (a && a->cut)
		warn(st, "adaptive routing: %u groups are cut, which would not be safe; see `weft "
		     "show adaptive`", a->cut);
}

static void
warn_silent(struct subnet *s, struct subnet_status *st)
{
	char text[DEVICE_TEXT_SIZE];
	uint32_t unanswered = 0;

	list_each(it, &s->topo.remarked) {
		const struct device *d = list_entry(it, struct device, remarked);

		if (d->silent && ++st->silent <= LISTED_DEVICES)
			warn(st, "%s does not answer though its cable is up",
			     device_text(text, d, s->env.names));
		for (unsigned n = 1; n <= d->info.num_ports; n++) {
			if (!(d->ports[n].flags & LIVE_PORT_UNANSWERED) || d->ports[n].peer)
				continue;
			st->silent++;
			if (++unanswered <= LISTED_DEVICES)
				warn(st, "nobody answers behind port %u of %s though the link is "
				     "up", n, device_text(text, d, s->env.names));
		}
	}
	if (st->silent > LISTED_DEVICES)
		warn(st, "%u devices in all do not answer: `weft show nodes --silent` lists them",
		     st->silent);
}

static void
warn_duplicates(struct subnet *s, struct subnet_status *st)
{
	uint32_t ports = 0;

	list_each(it, &s->topo.remarked) {
		const struct device *d = list_entry(it, struct device, remarked);

		for (unsigned n = 1; n <= d->info.num_ports; n++)
			ports += (d->ports[n].flags & LIVE_PORT_DUPLICATE) != 0;
	}
	if (ports)
		warn(st, "behind %u port%s a device claims a GUID that is in use, and is left out: "
		     "see `weft show events`", ports, ports == 1 ? "" : "s");
}

static void
warn_too_far(struct subnet *s, struct subnet_status *st)
{
	char text[DEVICE_TEXT_SIZE];
	uint32_t ports = 0;

	list_each(it, &s->topo.remarked) {
		const struct device *d = list_entry(it, struct device, remarked);

		for (unsigned n = 1; n <= d->info.num_ports; n++) {
			const struct live_port *p = &d->ports[n];

			if (!(p->flags & LIVE_PORT_TOO_FAR) || p->peer || !live_port_up(p))
				continue;
			if (++ports <= LISTED_DEVICES)
				warn(st, "what is behind port %u of %s is more than %u hops away "
				     "and cannot be configured", n,
				     device_text(text, d, s->env.names), SMP_MAX_HOPS);
		}
	}
	if (ports > LISTED_DEVICES)
		warn(st, "behind %u ports in all are devices more than %u hops away", ports,
		     SMP_MAX_HOPS);
}

/* As other warnings name it. */
static const char *
switch_text(char text[DEVICE_TEXT_SIZE], const struct subnet *s, const struct fabric_node *n)
{
	const struct device *d = topo_find(&s->topo, n->guid);

	if (d)
		return device_text(text, d, s->env.names);
	return guid_text(text, n->guid);
}

/* Groups have fewer multicast LIDs than they need, or a switch has room for fewer than are used. */
static void
warn_mlids(const struct subnet *s, struct subnet_status *st)
{
	const struct sa_groups *groups = sa_groups(s->sa);
	unsigned used = sa_groups_end(groups) - SA_MLID_FIRST, short_of = 0;
	const struct fabric *f = s->plan->fabric;
	const struct fabric_node *least = NULL;
	char text[DEVICE_TEXT_SIZE];

	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		const struct fabric_node *n = fabric_switch_node(f, sw);

		if (n->mft_cap && (!least || n->mft_cap < least->mft_cap))
			least = n;
		if (n->mft_cap < used && ++short_of <= LISTED_DEVICES)
			warn(st, "%s has room for %u multicast LIDs, and does not forward what is "
			     "sent to those from 0x%04x on", switch_text(text, s, n), n->mft_cap,
			     SA_MLID_FIRST + n->mft_cap);
	}
	if (short_of > LISTED_DEVICES)
		warn(st, "%u switches in all have less room than multicast LIDs are used",
		     short_of);
	if (least && sa_groups_crowded(groups))
		warn(st, "%u multicast groups share the multicast LID of another one, for %s has "
		     "room for %u", sa_groups_crowded(groups),
		     switch_text(text, s, least), least->mft_cap);
}

/* Switches that hold something else than they should. */
static void
warn_tables(const struct subnet *s, struct subnet_status *st)
{
	char text[DEVICE_TEXT_SIZE];
	uint32_t refuse = 0, n = 0;

	list_each(it, &s->topo.remarked) {
		const struct device *d = list_entry(it, struct device, remarked);

		device_text(text, d, s->env.names);
		if (d->lft_refuses && !d->silent && ++refuse <= LISTED_DEVICES)
			warn(st, "%s refuses its forwarding table and forwards as it did: others "
			     "are routed around that; it is tried again", text);
		if (d->mft.failures && !d->silent && ++n <= LISTED_DEVICES)
			warn(st, "%s does not take its multicast table; it is tried again", text);
	}
	if (refuse > LISTED_DEVICES)
		warn(st, "%u switches in all refuse their forwarding tables", refuse);
	if (n > LISTED_DEVICES)
		warn(st, "%u switches in all do not take their multicast tables", n);
}

/* Hosts keep the service levels of their connections, whatever routing makes of them. */
static void
warn_stale(const struct subnet *s, struct subnet_status *st)
{
	const struct plan_sls *sls = s->plan ? s->plan->sls : NULL;
	char list[4 * SLS_LEN] = "";
	unsigned len = 0, dropped = 0;

	for (unsigned sl = 0; sls && sl < SLS_LEN; sl++) {
		bool gone = sls->slot[sl] == SLS_FREE && sls->classes > 1;

		if (!(sls->stale >> sl & 1) || (sls->stale_proved && !gone))
			continue;
		len += (unsigned)snprintf(list + len, sizeof(list) - len, "%s%u", len ? ", " : "",
					  sl);
		dropped += gone;
	}
	if (!len)
		return;
	warn(st, "connections made before engine %s ran keep service level %s: %s; they obey the "
	     "routing when they are made anew: say that all were by `weft reroute "
	     "--forget-levels`", s->plan->engine_running, list,
	     dropped == 0 ? "on these freedom from deadlock is not proved" :
	     sls->stale_proved ? "their packets are dropped" :
	     "freedom from deadlock is not proved, and some packets are dropped");
}

/* There is too little for all levels of service that are configured. */
static void
warn_merged(const struct subnet *s, struct subnet_status *st)
{
	const struct plan_sls *sls = s->plan ? s->plan->sls : NULL;

	if (sls && sls->merged[0])
		warn(st, "engine %s and the links leave too little for all levels of service: %s",
		     s->plan->engine_running, sls->merged);
}

static void
warn_multicast(const struct subnet *s, struct subnet_status *st)
{
	if (s->role == ROLE_MASTER && s->plan)
		warn_mlids(s, st);
	if (s->role == ROLE_MASTER)
		warn_tables(s, st);
	if (s->role == ROLE_MASTER && s->parts.astray)
		warn(st, "packets of %u multicast group%s are dropped, as are those of %s, which "
		     "no level of service has: have the group%s made anew", s->parts.astray,
		     s->parts.astray == 1 ? "" : "s", s->parts.astray_name,
		     s->parts.astray == 1 ? "" : "s");
	if (s->multicast.refused[0])
		warn(st, "multicast is not forwarded, for with its trees the routing would have a "
		     "%.200s", s->multicast.refused);
	else if (s->multicast.left_out)
		warn(st, "%u members of multicast groups are in no tree, as is %s: no switch leads "
		     "down to all members of their group", s->multicast.left_out,
		     s->multicast.left_name);
}

static void
warn_rules(const struct subnet *s, struct subnet_status *st)
{
	const struct plan_levels *l = s->plan ? s->plan->levels : NULL;

	if (l && l->others)
		warn(st, "rules of qos select by name %u ports that did not have it when it was "
		     "applied, as %s: `weft qos apply` makes the rules be for them", l->others,
		     l->first_other);
}

/* Ports whose VL arbitration has no room for all lanes, or is written without one. */
static void
warn_arbitration(struct subnet *s, struct subnet_status *st)
{
	char text[DEVICE_TEXT_SIZE];

	if (!s->plan || !s->plan->sls || !s->plan->levels)
		return;
	list_each(it, &s->topo.remarked) {
		const struct device *d = list_entry(it, struct device, remarked);

		for (unsigned n = 0; n <= d->info.num_ports; n++)
			if (d->ports[n].flags & LIVE_PORT_FEW_ENTRIES && !st->few_entries++)
				snprintf(st->few_entries_at, sizeof(st->few_entries_at),
					 "port %u of %s", n, device_text(text, d, s->env.names));
	}
	if (st->few_entries)
		warn(st, "VL arbitration tables of %u port%s are too small for what qos says, or "
		     "qos.arbitration leaves out a lane of a level, as those of %s: what is left "
		     "out waits for ever",
		     st->few_entries, st->few_entries == 1 ? "" : "s", st->few_entries_at);
}

static void
warn_health(struct subnet *s, struct subnet_status *st)
{
	struct health_row row = { 0 };
	unsigned n = 0;

	while (n < LISTED_DEVICES && subnet_health(s, row.next, &row)) {
		bool held = strcmp(row.action, "none") != 0;
		char port[16] = "", what[160];
		const char *hint = row.errors.counter && !row.errors.cable ? "" : row.left[0] ?
			"; check its cable" : ": check its cable";

		if (row.condition == health_name(HEALTH_ASKED) ||
		    row.condition == health_name(HEALTH_UNRESPONSIVE) ||
		    row.condition == health_name(HEALTH_REFUSING))
			continue;	/* said already, in other words */
		n++;
		if (row.port)
			snprintf(port, sizeof(port), " port %u", row.port);
		if (row.errors.counter)
			snprintf(what, sizeof(what), "counts errors (%s)", row.errors.text);
		else
			snprintf(what, sizeof(what), "is %s", row.condition);
		warn(st, "%s%s %s%s%s%s", row.node, port, what,
		     held ? ", and " : row.left[0] ? ": " : "",
		     !held ? row.left : !strcmp(row.action, "disable") ? "disabled: `weft undrain` "
		     "enables it" : "traffic is kept off it", held ? "" : hint);
	}
	if (s->health.told > n && n == LISTED_DEVICES)
		warn(st, "%u ports and devices in all are not well: `weft show health`",
		     s->health.told);
}

/* A policy that is not in force, ports that do not have what it says, names without effect. */
static void
warn_partitions(const struct subnet *s, struct subnet_status *st)
{
	const struct partitions *p = &s->parts;
	const struct pkeys_report *r = &p->report;
	const struct policy *policy = p->policy;
	char text[300];

	if (p->refused[0])
		warn(st, "partitions are not as they are said, but as they were: %.300s",
		     p->refused);
	if (!s->plan || !s->plan->pkeys)
		return;
	if (r->overflows)
		warn(st, "%u port%s no room for the P_Keys and get%s the default one alone: %s",
		     r->overflows, r->overflows == 1 ? " has" : "s have",
		     r->overflows == 1 ? "s" : "",
		     pkeys_overflow_text(&r->overflow[0], s->plan->fabric, text, sizeof(text)));
	if (r->unenforced)
		warn(st, "on %u port%s to hosts the switch cannot enforce partitions: what these "
		     "hosts send is not held back", r->unenforced, r->unenforced == 1 ? "" : "s");
	for (uint32_t i = 0; policy && i < policy->len; i++)
		if (policy->list[i]->others)
			warn(st, "partition %s selects by name %u port%s not among its members, as "
			     "is %s: `weft partition apply` makes members of them",
			     policy->list[i]->name, policy->list[i]->others,
			     policy->list[i]->others == 1 ? "" : "s",
			     policy->list[i]->first_other);
	if (r->pending)
		warn(st, "nobody has %u GUID%s of members of partitions yet: `weft show "
		     "partitions` names them", r->pending, r->pending == 1 ? "" : "s");
}

/* Those that lead beside us, or count for nothing. */
static void
warn_managers(struct subnet *s, struct subnet_status *st)
{
	char text[200];

	for (unsigned i = 0; i < s->npeers; i++) {
		const struct peer_sm *p = &s->peers[i];

		if (p->presence == PEER_LOST)
			continue;
		if (s->role == ROLE_MASTER && p->state == SM_MASTER)
			warn(st, "another subnet manager claims to be master too: %s",
			     peers_text(s, p, text, sizeof(text)));
		if (p->wrong_key || p->unwanted)
			warn(st, "another subnet manager %s and is ignored: %s", p->wrong_key ?
			     "has a different sm_key" : "is not among allowed_sm_guids",
			     peers_text(s, p, text, sizeof(text)));
	}
}

static void
warn_all(struct subnet *s, struct subnet_status *st)
{
	char text[200];

	remarks_settle(&s->topo);
	if (watchdog_text(s, text, sizeof(text)))
		warn(st, "%s", text);
	if (s->why_not[0] && s->role != ROLE_DISCOVERING)
		warn(st, "%s", s->why_not);
	if (s->plan && s->plan->reason[0])
		warn(st, "engine %s runs instead of %s: %s", s->plan->engine_running,
		     s->plan->engine_requested, s->plan->reason);
	plugged_warn(s, st, warn);
	warn_duplicates(s, st);
	warn_too_far(s, st);
	if (s->lids.unsaved)
		warn(st, "the LIDs could not be saved: see that there is room for the state file");
	if (s->lids.small_switches)
		warn(st, "%u switches forward fewer LIDs than the subnet needs and take no table",
		     s->lids.small_switches);
	if (s->plan && s->plan->check.cut_off)
		warn(st, "%llu pairs of hosts are joined by no cables",
		     (unsigned long long)s->plan->check.cut_off);
	warn_partitions(s, st);
	warn_multicast(s, st);
	warn_congestion(s, st);
	warn_adaptive(s, st);
	warn_stale(s, st);
	warn_merged(s, st);
	if (s->plan && s->plan->doubtful)
		warn(st, "of a switch that does not answer it is not known which tables it holds: "
		     "with some of what it may hold freedom from deadlock is not proved");
	if (s->unproved)
		warn(st, "a switch does not take its table, again and again: with what it holds "
		     "freedom from deadlock is not proved");
	warn_rules(s, st);
	warn_arbitration(s, st);
	warn_health(s, st);
	warn_silent(s, st);
	warn_stubborn(s, st);
	warn_managers(s, st);
}

/* Something has changed, or may have, that is not yet programmed. A look round that was asked for,
 * or is due, is not that as long as it has found nothing and written nothing. */
static bool
change_pending(const struct subnet *s)
{
	bool look = s->forced && !s->sweep.changed;

	if (s->multicast.then_plan)
		return true;
	if (s->stage == SUBNET_PUSH)
		return !look || s->push.sets;
	if (s->stage == SUBNET_ROUTE)
		return !look && !s->reroute.done;
	return s->told || s->dirty.len || (s->want_route && !look) ||
	       (s->stage == SUBNET_SWEEP && (s->sweep.changed || s->sweep.told));
}

static const char *
state_name(const struct subnet *s)
{
	switch (s->stage) {
	case SUBNET_WAITING:
		return "waiting for port";
	case SUBNET_SWEEP:
		return s->up && !change_pending(s) ? "up" : "discovering";
	case SUBNET_ROUTE:
		return s->up && !change_pending(s) ? "up" : "routing";
	case SUBNET_PUSH:
		return s->up && !change_pending(s) ? "up" : "programming";
	case SUBNET_MULTICAST:
		if (s->multicast.then_plan)
			return "programming";
		break;
	case SUBNET_IDLE:
	case SUBNET_POLL:
	case SUBNET_GUIDS:
	case SUBNET_CONGESTION:
	case SUBNET_ADAPTIVE:
	case SUBNET_PARTITIONS:
	case SUBNET_PORTS:
		break;
	}
	if (s->role == ROLE_STANDBY || s->role == ROLE_NOT_ACTIVE)
		return subnet_role_name(s);
	if (s->role == ROLE_WAITING)
		return "waiting for port";
	return s->up && !s->push_incomplete ? "up" : "degraded";
}

static void
status_engines(const struct subnet *s, struct subnet_status *st)
{
	const char **chain = s->conf->routing.engines;
	size_t len = 0;

	for (unsigned i = 0; chain[i] && len < sizeof(st->configured); i++)
		len += (size_t)snprintf(st->configured + len, sizeof(st->configured) - len, "%s%s",
					i ? ", " : "", chain[i]);
	st->override = s->engine_override[0] != '\0';
	snprintf(st->engine_requested, sizeof(st->engine_requested), "%s",
		 st->override ? s->engine_override : chain[0]);
}

/* What was published: current as long as we lead and have seen nothing else. */
static void
status_plan(const struct subnet *s, struct subnet_status *st)
{
	const struct plan *p = s->plan;
	const struct fabric *f = p->fabric;

	snprintf(st->engine_requested, sizeof(st->engine_requested), "%s", p->engine_requested);
	snprintf(st->engine_running, sizeof(st->engine_running), "%s", p->engine_running);
	snprintf(st->reason, sizeof(st->reason), "%s", p->reason);
	st->nodes = f->nnodes;
	st->switches = f->nswitches;
	st->hosts = f->ncas;
	st->drained_links = fabric_drained_links(f);
	st->links = f->nlinks + st->drained_links;
	st->top_lid = p->lids->top;
	st->state_wall = s->published_wall;
	st->current = s->role == ROLE_MASTER && !s->unrouted;
	if (f->sm_port != FABRIC_NONE)
		st->sm_lid = p->lids->base[f->sm_port];
}

/* Nothing was published: what discovery has found so far. */
static void
status_found(const struct subnet *s, struct subnet_status *st)
{
	const struct topo *t = &s->topo;

	list_each(it, &t->devices) {
		const struct device *d = list_entry(it, struct device, all);

		if (!d->complete)
			continue;
		st->nodes++;
		st->switches += d->info.node_type == NODE_SWITCH;
		st->hosts += d->info.node_type == NODE_CA;
		for (unsigned n = 1; n <= d->info.num_ports; n++)
			st->links += d->ports[n].peer && (d->ports[n].peer->index > d->index ||
				     (d->ports[n].peer == d && d->ports[n].peer_number > n));
	}
	if (t->own)
		st->sm_lid = t->own->ports[t->own_port].info.lid;
	st->state_wall = loop_wall(s->env.loop);
	st->current = s->role == ROLE_MASTER || s->role == ROLE_DISCOVERING;
}

static void
status_drained(const struct subnet *s, struct subnet_status *st)
{
	st->ndrained = 0;
	for (uint32_t i = 0; i < s->drains.len; i++) {
		const struct drain *d = &s->drains.list[i];

		if (d->act == DRAIN_ENABLING)
			continue;
		if (st->ndrained < STATUS_MAX_DRAINED) {
			st->drained[st->ndrained].guid = d->guid;
			st->drained[st->ndrained].port = d->port;
			st->drained[st->ndrained].why = d->act == DRAIN_DISABLED ? "disabled" :
				health_name(d->why);
		}
		st->ndrained++;
	}
}

bool
subnet_is_up(const struct subnet *s)
{
	return s->up && !change_pending(s);
}

void
subnet_status(struct subnet *s, struct subnet_status *st)
{
	const struct plan *p = s->plan;

	*st = s->st;
	snprintf(st->name, sizeof(st->name), "%s", s->conf->name);
	if (s->port && s->port->up) {
		snprintf(st->port, sizeof(st->port), "%s", s->port->id.name);
		st->port_guid = s->port->id.guid;
	}
	st->priority = (uint8_t)s->conf->priority;
	st->role = subnet_role_name(s);
	st->role_since = s->role_since;
	if (s->role != ROLE_STANDBY)
		st->master[0] = '\0';
	st->state = state_name(s);
	st->up = subnet_is_up(s);
	status_engines(s, st);
	st->proof_whole = s->proof.whole;
	status_drained(s, st);
	if (p)
		status_plan(s, st);
	else
		status_found(s, st);
	admin_status(s, st);
	if (s->transact) {
		const struct transact_counters *c = transact_counters(s->transact);

		st->mads_sent = c->sent_total;
		st->mads_timed_out = c->timed_out;
		st->mads_malformed += c->malformed;
		st->mads_unsolicited += c->unsolicited;
		st->mads_refused = c->refused;
	}
	warn_all(s, st);
}

bool
subnet_must_yield(const struct subnet *s)
{
	return s->role == ROLE_STANDBY && s->conf->refuse_if_master;
}

int
subnet_outcome(const struct subnet *s, struct error *why)
{
	if (s->stage == SUBNET_SWEEP || s->stage == SUBNET_ROUTE || s->stage == SUBNET_PUSH ||
	    s->multicast.then_plan)
		return 0;
	if (s->up && !s->push_incomplete)
		return 1;
	error_set(why, s->port && s->port->absent ? ERR_NOT_FOUND : ERR_REFUSED, "%s", s->why_not);
	if (s->stage == SUBNET_WAITING)
		return s->port_tried ? -1 : 0;
	if (s->push_incomplete && s->failures < OUTCOME_TRIES)
		return 0;
	return s->role == ROLE_STANDBY || s->role == ROLE_NOT_ACTIVE ||
	       s->role == ROLE_WAITING || s->unrouted ||
	       s->push_incomplete ? -1 : 0;
}
