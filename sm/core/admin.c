/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the subnet administrator (sm/sa) is lent of a live subnet: the published plan, and what the
 * devices are known to hold. A master alone has one: who stands by, or does not know yet, answers
 * nobody, and clients ask the master.
 */
#include "sm/core/subnet_i.h"

#include "sm/sa/sa.h"

static const struct plan *
lend_plan(void *arg)
{
	const struct subnet *s = arg;

	return s->outdated ? NULL : s->plan;
}

static const struct config_subnet *
lend_conf(void *arg)
{
	const struct subnet *s = arg;

	return s->conf;
}

static const struct nodeinfo *
lend_node(void *arg, uint64_t guid)
{
	struct subnet *s = arg;
	const struct device *d = topo_find_near(&s->topo, guid);

	return d ? &d->info : NULL;
}

static const struct switchinfo *
lend_switch(void *arg, uint64_t guid)
{
	struct subnet *s = arg;
	const struct device *d = topo_find_near(&s->topo, guid);

	return d && d->info.node_type == NODE_SWITCH ? &d->sw : NULL;
}

/* The port, if anything was ever read of it. */
static struct live_port *
find_port(struct subnet *s, uint64_t guid, unsigned port)
{
	struct device *d = topo_find_near(&s->topo, guid);

	if (!d || port > d->info.num_ports || !(d->ports[port].flags & LIVE_PORT_READ))
		return NULL;
	return &d->ports[port];
}

static const struct portinfo *
lend_port(void *arg, uint64_t guid, unsigned port)
{
	const struct live_port *p = find_port(arg, guid, port);

	return p ? &p->info : NULL;
}

/* What is not known is read next; but a device that did not answer has its back-off. */
static enum sa_held
held(struct subnet *s, const struct live_port *p, enum tables_state state)
{
	if (state != TABLES_UNKNOWN)
		return SA_HELD;
	if (p->device->silent || p->device->tables.failures)
		return SA_SILENT;
	reader_want(s, p->device);
	return SA_UNREAD;
}

static enum sa_held
lend_pkeys(void *arg, uint64_t guid, unsigned port, unsigned block, uint16_t keys[TABLES_KEYS])
{
	struct subnet *s = arg;
	const struct live_port *p = find_port(s, guid, port);

	if (!p || block >= tables_pkey_blocks(p))
		return SA_HELD_NOT;
	return held(s, p, tables_pkeys(&s->topo.tables, p, block, keys));
}

static uint64_t
lend_pkeys_changed(void *arg)
{
	return ((const struct subnet *)arg)->topo.tables.pkeys_changed;
}

static enum sa_held
lend_vlarb(void *arg, uint64_t guid, unsigned port, unsigned block, struct vlarb_entry entries[32])
{
	struct subnet *s = arg;
	const struct live_port *p = find_port(s, guid, port);

	return p ? held(s, p, tables_vlarb(&s->topo.tables, p, block, entries)) : SA_HELD_NOT;
}

static enum sa_held
lend_sl2vl(void *arg, uint64_t guid, unsigned in, unsigned out, uint8_t vl[TABLES_SLS])
{
	struct subnet *s = arg;
	const struct live_port *p = find_port(s, guid, out);

	return p ? held(s, p, tables_sl2vl(&s->topo.tables, p, in, vl)) : SA_HELD_NOT;
}

static unsigned
lend_mft_blocks(void *arg, uint64_t guid)
{
	const struct subnet *s = arg;
	const struct device *d = topo_find(&s->topo, guid);

	return d ? mft_blocks(d) : 0;
}

static enum sa_held
lend_mft(void *arg, uint64_t guid, unsigned block, unsigned position, uint16_t masks[32])
{
	const struct subnet *s = arg;
	const struct device *d = topo_find(&s->topo, guid);

	if (!d || !mft_has(d, block, position))
		return SA_HELD_NOT;
	if (mft_block(d, block, position, masks))
		return SA_HELD;
	return d->silent || d->mft.failures || d->mft.unreadable ? SA_SILENT : SA_UNREAD;
}

static unsigned
lend_sms(void *arg, struct sa_sm list[SA_SMS_MAX])
{
	const struct subnet *s = arg;
	const struct fabric *f = s->plan->fabric;
	unsigned len = 0;

	list[len].lid = f->sm_port == FABRIC_NONE ? 0 : s->plan->lids->base[f->sm_port];
	notice_own_sminfo(s, &list[len++].info);
	for (unsigned i = 0; i < s->npeers && len < SA_SMS_MAX; i++) {
		const struct peer_sm *p = &s->peers[i];
		uint32_t port = fabric_port_by_guid(f, p->guid);

		if (p->presence == PEER_LOST)
			continue;
		list[len].lid = port == FABRIC_NONE ? p->lid : s->plan->lids->base[port];
		list[len++].info = (struct sminfo){
			.guid = p->guid, .activity = p->activity, .priority = p->priority,
			.state = p->state,
		};
	}
	return len;
}

static int
lend_send(void *arg, const struct port_mad *m)
{
	struct subnet *s = arg;

	return transact_send(s->transact, m);
}

static void
lend_groups_changed(void *arg, uint16_t mlid)
{
	multicast_changed(arg, mlid);
}

static void
lend_guids_changed(void *arg, uint64_t port_guid)
{
	guids_changed(arg, port_guid);
}

static void
lend_port_forgotten(void *arg, uint64_t port_guid)
{
	struct subnet *s = arg;

	map_set(&s->forgotten, port_guid, 0);
}

static void
lend_told_all(void *arg, const struct port_mad *in, uint16_t attr_id, uint32_t len)
{
	copies_told(arg, in, attr_id, len);
}

static bool
lend_port_known(void *arg, uint64_t port_guid)
{
	return lids_known(arg, port_guid);
}

struct sa *
admin_new(struct subnet *s)
{
	struct sa_env env = {
		.plan = lend_plan, .conf = lend_conf, .node_info = lend_node,
		.switch_info = lend_switch, .port_info = lend_port, .pkey_block = lend_pkeys,
		.pkeys_changed = lend_pkeys_changed,
		.vlarb = lend_vlarb, .sl2vl = lend_sl2vl, .mft_blocks = lend_mft_blocks,
		.mft = lend_mft, .sms = lend_sms,
		.loop = s->env.loop, .store = s->env.store, .send = lend_send,
		.groups_changed = lend_groups_changed, .guids_changed = lend_guids_changed,
		.port_forgotten = lend_port_forgotten, .port_known = lend_port_known,
		.told_all = lend_told_all, .arg = s,
	};

	return sa_new(&env);
}

void
admin_status(const struct subnet *s, struct subnet_status *st)
{
	const struct sa_counters *c = sa_counters(s->sa);
	const struct sa_report_counters *r = sa_report_counters(s->sa);

	st->sa_requests = c->requests;
	st->sa_answered = c->answered;
	st->sa_refused = c->refused;
	st->sa_busy_rate = c->busy[SA_BUSY_RATE];
	st->sa_busy_queue = c->busy[SA_BUSY_QUEUE];
	st->sa_busy_open = c->busy[SA_BUSY_OPEN];
	st->sa_dropped = (struct sa_drops){
		.malformed = c->dropped[SA_DROP_MALFORMED], .method = c->dropped[SA_DROP_METHOD],
		.key = c->dropped[SA_DROP_KEY], .flood = c->dropped[SA_DROP_FLOOD],
		.resigned = c->dropped[SA_DROP_RESIGNED], .unsent = c->dropped[SA_DROP_UNSENT],
	};
	st->sa_pending = sa_pending(s->sa);
	st->sa_services = sa_services(s->sa);
	st->sa_subscriptions = sa_subscriptions(s->sa);
	st->reports_sent = r->sent;
	st->reports_answered = r->answered;
	st->reports_lost = r->lost;
	st->reports_forgotten = r->forgotten;
}

bool
subnet_service(const struct subnet *s, uint64_t from, struct service_row *row)
{
	return sa_service_row(s->sa, from, row);
}

bool
subnet_subscription(const struct subnet *s, uint64_t from, struct subscription_row *row)
{
	return sa_subscription_row(s->sa, from, row);
}

void
admin_request(struct subnet *s, const struct port_mad *m)
{
	if (s->role == ROLE_MASTER)
		sa_request(s->sa, m);
	else
		s->st.mads_unsolicited++;
}

void
admin_resigned(struct subnet *s)
{
	if (s->sa)
		sa_resigned(s->sa);
}

void
admin_trap(struct subnet *s, const struct notice *n)
{
	sa_tell(s->sa, n);
}

void
admin_settled(struct subnet *s)
{
	sa_settled(s->sa);
}
