/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What ports say of themselves while they are programmed, in answers to Sets and when they are
 * read once more: what they kept, that a link came or went, that a device was reset. Whoever is not
 * as he was is looked at by the sweep that follows.
 */
#include "sm/core/push_i.h"

void
push_tell_kept(struct subnet *s, struct device *d, unsigned n, uint32_t set, uint32_t kept)
{
	struct live_port *p = &d->ports[n];

	remarks_stubborn(&s->topo, p, (p->stubborn & ~set) | (kept & ~(uint32_t)FIELD_STATE));
	for (unsigned bit = 0; bit < FIELD_COUNT; bit++)
		if (kept & FIELDS_FORWARDING & 1u << bit && bit != 15)
			push_failure(s, d, "port %u keeps another %s than was set", n,
				push_field_name(bit));
}

/* The link went down and perhaps the device with it: what it holds else is not known any more. */
static bool
port_fell(struct subnet *s, struct live_port *p, const struct portinfo *got)
{
	bool is_port0 = p->device->info.node_type == NODE_SWITCH && !p->number;

	if (is_port0 || p->info.state <= PORT_INIT || got->state > PORT_INIT)
		return false;
	tables_forget(&s->topo.tables, p);
	guids_forget(s, p);
	congestion_forget(s, p);
	return true;
}

void
push_port_set(struct subnet *s, struct device *d, const struct transact_result *res)
{
	unsigned n = res->attr_mod & 0xff;
	struct live_port *p = &d->ports[n];
	struct portinfo got, sent;
	uint32_t set;

	if (n > d->info.num_ports)
		return;
	/* Compared with what was sent: what is wished for may have changed since. */
	portinfo_decode(&got, res->data);
	portinfo_decode(&sent, res->sent);
	set = push_port_diff(p, &sent);
	if (sent.client_reregister) {
		p->flags &= (uint16_t)~LIVE_PORT_REREGISTER;
		map_remove(&s->forgotten, p->guid);
	}
	if (port_fell(s, p, &got))
		subnet_want_device(s, d->guid);
	p->info = got;
	push_tell_kept(s, d, n, set, push_port_kept(&got, &sent, set));
}

void
push_port_read(struct subnet *s, struct device *d, const struct transact_result *res)
{
	unsigned n = res->attr_mod & 0xff;
	struct live_port *p = &d->ports[n];
	struct portinfo old, got;
	bool fell;

	if (n > d->info.num_ports)
		return;
	old = p->info;
	portinfo_decode(&got, res->data);
	port_fell(s, p, &got);
	/* It refused a Set, for the link went, and perhaps came again: who is behind it was perhaps
	 * reset. */
	if (n && p->flags & LIVE_PORT_REFUSED && got.state <= PORT_INIT && p->peer) {
		tables_forget(&s->topo.tables, live_peer(p));
		guids_forget(s, live_peer(p));
	}
	p->info = got;
	fell = n && old.state == PORT_ACTIVE && p->info.state < PORT_ACTIVE;
	/* It came up (or went, or both) between being read and the change bit being cleared. */
	if (fell || (n && live_port_up(p) != (p->peer != NULL)) || push_end_port_off(s, p))
		subnet_want_device(s, d->guid);
	/* The Set that cleared the bit has also set LinearFDBTop, which told of a reset. */
	if (d->info.node_type == NODE_SWITCH && (fell || (!n && old.lid != p->info.lid))) {
		topo_doubt_table(d);
		d->lft_failed = true;
		push_failure(s, d, "lost a link or was reset while it was programmed");
	}
}
