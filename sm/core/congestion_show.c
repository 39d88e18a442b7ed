/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Congestion control as it is told: what is wanted, and what each end port was read back to hold.
 * Nothing is asked for it.
 */
#include "sm/core/congestion_i.h"

#include <stdio.h>
#include <string.h>
#include "sm/base/buf.h"

static const struct config_congestion *
configured(const struct subnet *s)
{
	static const struct config_congestion none;

	return s->parts.conf ? &s->parts.conf->qos.congestion : &none;
}

void
subnet_congestion(const struct subnet *s, struct congestion_view *v)
{
	const struct config_congestion *c = configured(s);
	const uint32_t *count = s->topo.congestion;
	struct congestion_table table;

	congestion_table(c->table, &table);
	*v = (struct congestion_view){
		.enabled = c->enabled, .undoing = s->congestion.on && !c->enabled,
		.keyed = c->key != 0, .threshold = (uint8_t)c->threshold,
		.packet_size = (uint8_t)c->packet_size,
		.marking_rate = (uint16_t)c->marking_rate, .starvation = c->credit_starvation,
		.host = {
			.timer = (uint16_t)c->timer, .increase = (uint8_t)c->increase,
			.trigger = (uint8_t)c->trigger, .least = (uint8_t)c->least,
		},
		.steps = (uint16_t)table.len, .unread = count[CONGESTION_UNREAD],
		.absent = count[CONGESTION_ABSENT], .locked = count[CONGESTION_LOCKED],
		.refused = count[CONGESTION_REFUSED], .held = count[CONGESTION_HELD],
	};
	for (unsigned i = 0; i < c->nlevels_off; i++)
		v->levels_off |= (uint16_t)(1u << c->levels_off[i]);
}

static const char *
key_word(const struct subnet *s, const struct live_congestion *h)
{
	if (!(h->known >> ITEM_KEY & 1))
		return NULL;
	return congestion_locked(s, h) ? "other" : h->key.key ? "ours" : "none";
}

static uint16_t
overridden(const struct live_congestion *h)
{
	uint16_t n = 0;

	for (unsigned i = 0; h->ports && i < PORT_BLOCKS * CC_PORTS_BLOCK; i++)
		n = (uint16_t)(n + h->ports[i].valid);
	return n;
}

static void
fill(const struct subnet *s, const struct live_port *p, struct congestion_row *row)
{
	static const char *const states[] = {
		[CONGESTION_UNREAD] = "unread", [CONGESTION_ABSENT] = "absent",
		[CONGESTION_LOCKED] = "locked", [CONGESTION_REFUSED] = "refused",
		[CONGESTION_HELD] = "held",
	};
	const struct live_congestion *h = p->congestion;

	*row = (struct congestion_row){
		.guid = p->device->guid, .state = states[h->state], .why = h->why,
		.key = key_word(s, h), .violations = h->key.violations, .port = p->number,
		.is_switch = p->device->info.node_type == NODE_SWITCH,
		.known = h->known >> ITEM_SETTING & 1,
		.room = (uint16_t)(h->info.table_cap * CC_TABLE_BLOCK),
	};
	if (row->is_switch) {
		row->sw = h->sw;
		row->overridden = overridden(h);
	} else {
		row->ca = h->ca;
		row->steps = h->known >> ITEM_BLOCK & 1 ? h->steps : 0;
	}
}

/* Rows are numbered by place in the table of devices, and port. */
bool
subnet_congestion_row(const struct subnet *s, uint64_t from, struct congestion_row *row)
{
	unsigned n = from & 0xff;

	for (uint64_t at = from >> 8; at < s->topo.len; at++, n = 0) {
		const struct device *d = s->topo.table[at];

		for (; d && n <= d->info.num_ports; n++) {
			if (!d->ports[n].congestion)
				continue;
			fill(s, &d->ports[n], row);
			row->next = (at << 8) + n + 1;
			return true;
		}
	}
	return false;
}

static void
add_count(struct buf *b, uint32_t n, const char *one, const char *many)
{
	if (n)
		buf_printf(b, "%s%u %s %s", b->len ? ", " : "", n, n == 1 ? "port" : "ports",
			   n == 1 ? one : many);
}

void
congestion_text(const struct subnet *s, char *text, size_t size)
{
	const uint32_t *count = s->topo.congestion;
	struct buf b = { 0 };

	add_count(&b, count[CONGESTION_LOCKED], "has another key", "have another key");
	add_count(&b, count[CONGESTION_REFUSED], "does not take it", "do not take it");
	add_count(&b, count[CONGESTION_ABSENT], "does not know it", "do not know it");
	snprintf(text, size, "%s%s", s->congestion.on && !configured(s)->enabled && b.len ?
		 "it is off, but not undone everywhere: " : "", b.len ? b.data : "");
	buf_free(&b);
}
