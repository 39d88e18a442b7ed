/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What ports say of themselves while they are programmed, in answers to Sets and when they are
 * read once more: what they kept, that a link came or went, that a device was reset. Whoever is not
 * as he was is looked at by the sweep that follows.
 *
 * An answer does not say whose it is, and while a plan is made and written cables can be moved, so
 * that what was meant for one device gets to another. So no link carries traffic before it is known
 * who is behind it. One that came up anew within the push is left to the sweep (live_port.fell), of
 * others that is asked once more (push_prove.c).
 */
#include "sm/core/push_i.h"

#include <stdio.h>

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

/* The link went down and perhaps the device with it, or to another port: what it holds else is not
 * known any more, and nobody brings the link up before it is known who is there. */
static bool
port_fell(struct subnet *s, struct live_port *p, const struct portinfo *got)
{
	bool is_port0 = p->device->info.node_type == NODE_SWITCH && !p->number;

	if (is_port0 || p->info.state <= PORT_INIT || got->state > PORT_INIT)
		return false;
	topo_doubt_link(p);
	tables_forget(&s->topo.tables, p);
	guids_forget(s, p);
	congestion_forget(s, p);
	order_forget(p->device);
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
	if (sent.state != PORT_NO_CHANGE && p->info.state < PORT_ARMED && got.state >= PORT_ARMED)
		p->raised = true;
	p->info = got;
	push_tell_kept(s, d, n, set, push_port_kept(&got, &sent, set));
}

void
push_port_read(struct subnet *s, struct device *d, const struct transact_result *res)
{
	unsigned n = res->attr_mod & 0xff;
	struct live_port *p = &d->ports[n];
	struct portinfo old, got;
	bool anew, fell;

	if (n > d->info.num_ports)
		return;
	old = p->info;
	portinfo_decode(&got, res->data);
	anew = port_fell(s, p, &got);
	/* It refused a Set, for the link went, and perhaps came again: who is behind it was perhaps
	 * reset. */
	if (n && p->flags & LIVE_PORT_REFUSED && got.state <= PORT_INIT && p->peer) {
		tables_forget(&s->topo.tables, live_peer(p));
		guids_forget(s, live_peer(p));
	}
	p->info = got;
	fell = n && old.state == PORT_ACTIVE && p->info.state < PORT_ACTIVE;
	/* It came up (or went, or both) between being read and the change bit being cleared. */
	if (anew || fell || (n && live_port_up(p) != (p->peer != NULL)) ||
	    push_end_port_off(s, p))
		subnet_want_device(s, d->guid);
	/* The Set that cleared the bit has also set LinearFDBTop, which told of a reset. */
	if (d->info.node_type == NODE_SWITCH && (fell || (!n && old.lid != p->info.lid))) {
		topo_doubt_table(d);
		d->lft_failed = true;
		push_failure(s, d, "lost a link or was reset while it was programmed");
	}
}

/* Read after a trap: if its cable is gone nothing more is sent across it. What else may have
 * changed is left to the sweep that follows. */
void
push_port_looked(struct subnet *s, struct device *d, const struct transact_result *res)
{
	unsigned n = res->attr_mod & 0xff;
	struct live_port *p = &d->ports[n];
	struct portinfo got;
	bool fell;

	if (n > d->info.num_ports || !p->peer)
		return;
	portinfo_decode(&got, res->data);
	fell = got.state == PORT_INIT && port_fell(s, p, &got);
	if (got.state >= PORT_INIT && !fell)
		return;
	p->info = got;
	subnet_want_device(s, d->guid);
	if (fell)
		return;
	subnet_want_device(s, p->peer->guid);
	topo_unlink(&s->topo, p);
	s->want_route = true;
}

void
push_port_doubt(struct subnet *s, struct live_port *p, const char *why)
{
	char text[DEVICE_TEXT_SIZE];

	device_text(text, p->device, s->env.names);
	log_limited(&s->limit_device, LOG_L_NOTICE, "where %s was found %s: it is looked at again",
		    text, why);
	topo_doubt_link(p);
	tables_forget(&s->topo.tables, p);
	guids_forget(s, p);
	congestion_forget(s, p);
	order_forget(p->device);
	/* Soon, but for one that answers otherwise each time, less and less often. */
	s->push.failed_ports++;
	if (!s->push.first_failure[0])
		snprintf(s->push.first_failure, sizeof(s->push.first_failure),
			 "where %s was found %s", text, why);
	push_look_again(s, p->peer);
}
