/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which devices a push looks at. In general all of them, each step in slices. Where one plan was
 * written whole and the next differs from it in P_Keys of few ports (a member more, among thousands
 * of hosts), only the devices of these: then the first Set is out before all others would have been
 * looked at.
 */
#include "sm/core/push_i.h"

#include "sm/base/mem.h"
#include "sm/core/snapshot.h"

struct push_few {
	uint64_t *guids;	/* of nodes, owned */
	uint32_t len;
};

void
push_few_free(struct push_few *few)
{
	if (few)
		mem_free(few->guids);
	mem_free(few);
}

bool
push_walk(struct subnet *s, void (*fn)(struct subnet *, struct device *))
{
	const struct push_few *few = s->push.few;
	const struct topo *t = &s->topo;
	uint32_t end = few ? few->len : t->len, ports = 0;

	while (s->push.at < end && ports < SNAPSHOT_SLICE) {
		uint32_t at = s->push.at++;
		struct device *d = few ? topo_find(t, few->guids[at]) : t->table[at];

		if (!d)
			continue;
		fn(s, d);
		ports += d->info.num_ports + SNAPSHOT_DEVICE;
	}
	return s->push.at >= end;
}

/* The device is where the plan's snapshot has it, or in none. */
static bool
is_placed(const struct fabric *f, const struct device *d)
{
	return d->fabric_node == FABRIC_NONE ||
	       (d->fabric_node < f->nnodes && f->nodes[d->fabric_node].guid == d->guid);
}

void
push_place(struct subnet *s)
{
	const struct fabric *f = s->push.plan->fabric;
	uint32_t at = 0;

	list_each(it, &s->topo.devices) {
		if (is_placed(f, list_entry(it, struct device, all)))
			continue;
		while (!snapshot_index(&s->topo, f, &at))
			;
		return;
	}
}

void
push_start_few(struct subnet *s, struct plan *plan, uint64_t *guids, uint32_t len)
{
	push_forget(s);
	s->push.plan = plan;
	push_place(s);
	s->push.few = mem_zalloc(sizeof(*s->push.few));
	*s->push.few = (struct push_few){ guids, len };
	s->push.live = true;
	s->push.started = loop_now(s->env.loop);
	for (uint32_t i = 0; i < len; i++) {
		struct device *d = topo_find(&s->topo, guids[i]);

		if (d)
			push_forget_device(d);
	}
	push_step_start(s, PUSH_PKEYS_SWITCHES);
}
