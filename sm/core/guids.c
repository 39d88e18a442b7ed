/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Alias GUIDs of end ports (IBA 14.2.5.5, GUIDInfo), which the subnet administrator hands out
 * (sm/sa/guid.c) and the devices are to hold.
 *
 * live_port.guids is what a port has acknowledged. When aliases have changed, or a plan was
 * published, the blocks in which ports differ from what is wanted are written as soon as nothing
 * else is under way (stage GUIDS, between others). A port that is read in INIT may have forgotten
 * them, be it for the second time, and so have we what it held (guids_forget()): they are written
 * once more. What a port that carries traffic holds and nobody here knows, after a restart, is read
 * first, so that what is there is not written again. A block that no alias was ever in is left as
 * it is. One that a device refuses is told once, and tried again when it is
 * changed, when the port comes up again, and after longer and longer.
 */
#include "sm/core/guids.h"
#include "sm/core/subnet_i.h"

#include <string.h>
#include "sm/base/mem.h"
#include "sm/sa/sa.h"

#define COLLECT MSEC(10)	/* changes of so long are written together */
#define RETRY SEC(5)
#define AGAIN_FIRST SEC(10)	/* what was refused is tried again */
#define AGAIN_MAX SEC(320)
#define BLOCK 8u		/* GUIDs of a GUIDInfo */
#define BLOCKS 32u		/* of a port at most */
#define CURSOR_NONE UINT8_MAX

/* A block of the port's, as its device shows it. */
static bool
wanted(const struct subnet *s, const struct live_port *p, unsigned block, uint64_t guids[BLOCK])
{
	if (!sa_guids(s->sa, p->guid, block, guids))
		return false;
	if (!block)
		guids[0] = p->guid;
	return true;
}

static bool
differs(const struct live_port *p, unsigned block, const uint64_t guids[BLOCK])
{
	return !(p->guids_known >> block & 1) ||
		memcmp(p->guids + block * BLOCK, guids, BLOCK * sizeof(*guids));
}

/* It was refused, and it is not time to try again. */
static bool
is_hopeless(const struct live_port *p, unsigned block)
{
	return p->guids_refused >> block & 1;
}

static bool
port_differs(const struct subnet *s, const struct live_port *p)
{
	uint64_t guids[BLOCK];

	for (unsigned b = 0; b < BLOCKS; b++)
		if (!is_hopeless(p, b) && wanted(s, p, b, guids) && differs(p, b, guids))
			return true;
	return false;
}

static struct live_port *
port_at(const struct subnet *s, uint32_t port)
{
	const struct fabric *f = s->plan->fabric;
	struct device *d = topo_find(&s->topo, f->nodes[f->ports[port].node].guid);

	return d && f->ports[port].number <= d->info.num_ports ?
		&d->ports[f->ports[port].number] : NULL;
}

/* ---- What is to be written ---- */

static void
begin_port(struct subnet *s, uint32_t port)
{
	struct live_port *p = port_at(s, port);

	if (!p || !p->guid || p->device->silent || !p->device->complete || !port_differs(s, p))
		return;
	bits_set(&p->device->guid_ports, p->number);
	transact_ready(s->transact, &p->device->agent.target);
}

static void
begin_all(struct subnet *s)
{
	const struct plan_lids *l = s->plan->lids;

	for (uint32_t port = 0; port < l->nports; port++)
		if (l->base[port])
			begin_port(s, port);
}

static void
begin_changed(struct subnet *s)
{
	const struct map *m = &s->guids.changed;

	for (size_t i = 0; i < m->size; i++) {
		uint32_t port = m->values[i] == MAP_NONE ? FABRIC_NONE :
			fabric_port_by_guid(s->plan->fabric, m->keys[i]);

		if (port != FABRIC_NONE)
			begin_port(s, port);
	}
}

/* What did not get through needs its time, whatever else is written meanwhile. */
static bool
all_due(const struct subnet *s)
{
	return s->guids.all && loop_now(s->env.loop) >= s->guids.not_before;
}

bool
guids_write(struct subnet *s)
{
	static const struct bits256 none;
	bool all = all_due(s);

	if ((!all && !s->guids.changed.len) || s->role != ROLE_MASTER || s->ending ||
	    !s->plan || !s->plan->lids)
		return false;
	list_each(it, &s->topo.devices) {
		struct device *d = list_entry(it, struct device, all);

		d->guid_ports = none;
		d->guid_port = CURSOR_NONE;
		d->guids_failed = false;
	}
	subnet_set_stage(s, SUBNET_GUIDS);
	s->guids.failed = false;
	s->guids.all &= !all;
	if (all)
		begin_all(s);
	else
		begin_changed(s);
	map_clear(&s->guids.changed);
	if (transact_is_idle(s->transact))
		guids_idle(s);
	return true;
}

/* ---- Requests and answers ---- */

static bool
is_to_be_read(const struct live_port *p, unsigned block)
{
	return p->info.state == PORT_ACTIVE && !((p->guids_known | p->guids_untold) >> block & 1);
}

/* The next block of the port at the cursor. */
static bool
block_next(const struct subnet *s, struct device *d, struct transact_request *r)
{
	const struct live_port *p = &d->ports[d->guid_port];

	while (d->guid_block < BLOCKS) {
		unsigned b = d->guid_block++;
		uint64_t guids[BLOCK];

		if (is_hopeless(p, b) || !wanted(s, p, b, guids) || !differs(p, b, guids))
			continue;
		r->method = is_to_be_read(p, b) ? MAD_GET : MAD_SET;
		r->attr_id = ATTR_GUID_INFO;
		r->attr_mod = b;
		r->cookie = p->number;
		guidinfo_encode(guids, r->data);
		return true;
	}
	return false;
}

bool
guids_next(struct subnet *s, struct agent *a, struct transact_request *r)
{
	struct device *d = list_entry(a, struct device, agent);

	if (a->kind != AGENT_DEVICE || d->guids_failed)
		return false;
	while (d->guid_port == CURSOR_NONE || !block_next(s, d, r)) {
		int n = bits_pop(&d->guid_ports);

		if (n < 0)
			return false;
		d->guid_port = (uint8_t)n;
		d->guid_block = 0;
	}
	if (!subnet_address(s, d, d->guid_port, r)) {
		d->guids_failed = s->guids.failed = true;
		return false;
	}
	d->inflight++;
	return true;
}

static void
refused(struct subnet *s, struct live_port *p, unsigned block, const char *why)
{
	char text[DEVICE_TEXT_SIZE];

	s->guids.refused = true;
	p->guids_refused |= 1u << block;
	if (p->guids_told >> block & 1)
		return;
	p->guids_told |= 1u << block;
	subnet_event(s, EVENT_REFUSED, LOG_L_WARNING, p->device->guid, p->number,
		     "port %u of %s does not take its alias GUIDs: %s", p->number,
		     device_text(text, p->device, s->env.names), why);
}

static void
block_seen(struct live_port *p, const struct transact_result *res)
{
	if (!p->guids)
		p->guids = mem_array(BLOCKS * BLOCK, sizeof(*p->guids));
	guidinfo_decode(p->guids + res->attr_mod * BLOCK, res->data);
	p->guids_known |= 1u << res->attr_mod;
}

/* It was read, and is to be written if it is not as it should be: the port's turn comes again. */
static void
block_read(struct subnet *s, struct live_port *p, const struct transact_result *res)
{
	uint64_t guids[BLOCK];

	if (res->mad_status)
		p->guids_untold |= 1u << res->attr_mod;
	else
		block_seen(p, res);
	if (!wanted(s, p, res->attr_mod, guids))
		return;
	if (!differs(p, res->attr_mod, guids)) {
		sa_guids_written(s->sa, p->guid, res->attr_mod);
		return;
	}
	bits_set(&p->device->guid_ports, p->number);
	transact_ready(s->transact, &p->device->agent.target);
}

static void
block_set(struct subnet *s, struct live_port *p, const struct transact_result *res)
{
	unsigned block = res->attr_mod;
	uint64_t guids[BLOCK], sent[BLOCK];

	block_seen(p, res);
	guidinfo_decode(sent, res->sent);
	if (differs(p, block, sent)) {
		refused(s, p, block, "it keeps others than were set");
		return;
	}
	p->guids_refused &= ~(1u << block);
	p->guids_told &= ~(1u << block);
	if (wanted(s, p, block, guids) && !differs(p, block, guids))
		sa_guids_written(s->sa, p->guid, block);
}

void
guids_done(struct subnet *s, struct agent *a, const struct transact_result *res)
{
	struct device *d = list_entry(a, struct device, agent);
	struct live_port *p;

	if (a->kind != AGENT_DEVICE)
		return;
	d->inflight--;
	if (res->attr_id != ATTR_GUID_INFO || res->cookie > d->info.num_ports ||
	    res->attr_mod >= BLOCKS)
		return;
	p = &d->ports[res->cookie];
	if (res->error) {
		p->guids_known &= ~(1u << res->attr_mod);
		d->guids_failed = s->guids.failed = true;
	} else if (res->method == MAD_GET) {
		block_read(s, p, res);
	} else if (res->mad_status) {
		p->guids_known &= ~(1u << res->attr_mod);
		refused(s, p, res->attr_mod, mad_status_text(res->mad_status));
	} else {
		block_set(s, p, res);
	}
}

/* The timer runs no later than what is left is due. */
static void
wait_for_all(struct subnet *s)
{
	monotime now = loop_now(s->env.loop), due = s->guids.not_before;

	if (s->guids.all && !loop_timer_pending(s->guids.timer))
		loop_timer_set(s->guids.timer, due > now ? due - now : 0);
}

static void
try_again_later(struct subnet *s)
{
	s->guids.refused = false;
	if (loop_timer_pending(s->guids.again))
		return;
	loop_timer_set(s->guids.again, backoff_delay(AGAIN_FIRST, AGAIN_MAX, ++s->guids.refusals));
}

void
guids_idle(struct subnet *s)
{
	bool again = s->guids.failed;

	s->guids.failed = false;
	if (s->guids.refused)
		try_again_later(s);
	if (again) {
		s->guids.all = true;
		s->guids.not_before = loop_now(s->env.loop) + RETRY;
	}
	wait_for_all(s);
	between_over(s);
}

/* ---- What has changed ---- */

static void
on_timer(void *subnet)
{
	struct subnet *s = subnet;

	if (s->stage == SUBNET_IDLE && (guids_write(s) || partitions_start(s)))
		return;
	if (s->guids.not_before > loop_now(s->env.loop))
		wait_for_all(s);
}

/* Timer: what was refused is tried again, by whoever is there now, or when he is back. */
static void
on_again(void *subnet)
{
	struct subnet *s = subnet;

	list_each(it, &s->topo.devices) {
		struct device *d = list_entry(it, struct device, all);

		for (unsigned n = 0; n <= d->info.num_ports; n++)
			d->ports[n].guids_refused = 0;
	}
	s->guids.all = true;
	if (s->stage == SUBNET_IDLE)
		guids_write(s);
}

void
guids_changed(struct subnet *s, uint64_t port_guid)
{
	uint32_t port = s->plan ? fabric_port_by_guid(s->plan->fabric, port_guid) : FABRIC_NONE;
	struct live_port *p = port == FABRIC_NONE ? NULL : port_at(s, port);

	if (p)
		p->guids_refused = p->guids_told = 0;
	s->guids.refusals = 0;
	partitions_aliased(s);
	map_set(&s->guids.changed, port_guid, 0);
	if (!loop_timer_pending(s->guids.timer) || s->guids.all)
		loop_timer_set(s->guids.timer, COLLECT);
}

void
guids_all(struct subnet *s)
{
	s->guids.all = true;
}

void
guids_forget(struct subnet *s, struct live_port *p)
{
	p->guids_known = p->guids_untold = p->guids_refused = p->guids_told = 0;
	if (p->guid)
		map_set(&s->guids.changed, p->guid, 0);
}

void
guids_doubt(struct subnet *s)
{
	list_each(it, &s->topo.devices) {
		struct device *d = list_entry(it, struct device, all);

		for (unsigned n = 0; n <= d->info.num_ports; n++)
			d->ports[n].guids_known = d->ports[n].guids_untold = 0;
	}
	s->guids.all = true;
}

/* ---- Life ---- */

void
guids_init(struct subnet *s)
{
	s->guids.timer = loop_timer_new(s->env.loop, on_timer, s);
	s->guids.again = loop_timer_new(s->env.loop, on_again, s);
}

void
guids_free(struct subnet *s)
{
	loop_timer_free(s->guids.timer);
	loop_timer_free(s->guids.again);
	map_free(&s->guids.changed);
}
