/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Traps of devices (IBA 14.2.5.1, 13.4.9), as master: each is turned into an event or a Report to
 * whoever subscribed, and into the smallest look at what it names. Nothing here trusts the sender:
 * unknown LIDs and impossible ports are told (rate-limited) and looked for by a light sweep.
 *
 * A sender repeats a trap until it is repressed: what comes again under the same transaction was
 * heard already. A source is one kind of trap of one port of one sender, all senders that nobody
 * knows together; of one that sends more than MANY in a row, none QUIET apart, the rest is only
 * counted, but for one Report a WINDOW, and what changed there is looked at once a second. So none
 * can keep the others waiting, or fill the queues of subscribers. What a port that babbles comes to
 * is health.c's.
 */
#include "sm/core/trap.h"
#include "sm/core/subnet_i.h"

#include <stdio.h>
#include <string.h>
#include "sm/base/mem.h"

#define SOURCES 1024u		/* remembered; of more the oldest is forgotten */
#define QUIET SEC(5)
#define MANY 10
#define WINDOW SEC(60)		/* one event about a port, or a source, in this time */
#define LOOK SEC(1)

struct trap_source {
	uint64_t key;		/* sender, trap, port */
	uint64_t tid;		/* of the newest */
	monotime heard;		/* when that came; 0: never */
	monotime told;		/* last event; 0 never */
	monotime reported;	/* last Report that was let through above MANY; 0 never */
	monotime looked;	/* when it was acted on last; 0 never */
	uint32_t streak;	/* in a row, none QUIET apart */
	uint32_t count;		/* in all */
};

/* The device that holds a LID, by the published plan. */
static struct device *
device_by_lid(struct subnet *s, uint16_t lid)
{
	const struct plan_lids *l = s->plan ? s->plan->lids : NULL;
	uint32_t port;

	if (!l || !lid || lid > l->top || (port = l->dest[lid].port) == FABRIC_NONE)
		return NULL;
	return topo_find(&s->topo, s->plan->fabric->nodes[s->plan->fabric->ports[port].node].guid);
}

/* ---- Sources ---- */

static bool
is_known(uint16_t trap)
{
	return (trap >= TRAP_LINK_STATE && trap <= TRAP_FLOW_CONTROL) || trap == TRAP_CAPABILITY ||
	       trap == TRAP_SYSTEM_IMAGE_GUID ||
	       (trap >= TRAP_BAD_M_KEY && trap <= TRAP_SWITCH_BAD_P_KEY);
}

/* What a sender can say of itself at will makes no new source. */
static uint64_t
source_key(struct subnet *s, uint16_t from, const struct notice *n)
{
	const struct device *d = device_by_lid(s, from);
	uint64_t trap = n->generic && is_known(n->trap) ? n->trap : 0;
	unsigned port = notice_subject_port(n);

	if (!d)
		return trap;
	if (port > d->info.num_ports)
		port = 0;
	return (uint64_t)from << 32 | trap << 8 | port;
}

static struct trap_source *
source_of(struct subnet *s, uint64_t key)
{
	struct traps *t = &s->traps;
	uint32_t i = map_get(&t->by_key, key);

	if (i != MAP_NONE)
		return &t->sources[i];
	if (!t->sources)
		t->sources = mem_array(SOURCES, sizeof(*t->sources));
	i = t->next++ % SOURCES;
	if (t->sources[i].heard)
		map_remove(&t->by_key, t->sources[i].key);
	t->sources[i] = (struct trap_source){ .key = key };
	map_set(&t->by_key, key, i);
	return &t->sources[i];
}

/* False: it was heard already. */
static bool
is_new(struct subnet *s, struct trap_source *o, uint64_t tid)
{
	monotime now = loop_now(s->env.loop);
	bool again = o->heard && o->tid == tid && now - o->heard < QUIET;

	if (again) {
		s->st.traps_repeated++;
		return false;
	}
	o->streak = o->heard && now - o->heard < QUIET ? o->streak + 1 : 1;
	o->heard = now;
	o->tid = tid;
	o->count++;
	return true;
}

/* Once a window, from the first on. */
static bool
once(struct subnet *s, monotime *last)
{
	monotime now = loop_now(s->env.loop);

	if (*last && now - *last < WINDOW)
		return false;
	*last = now;
	return true;
}

/* ---- Looking ---- */

static void
on_timer(void *subnet)
{
	struct subnet *s = subnet;
	struct map *m = &s->traps.later;
	bool master = s->role == ROLE_MASTER;	/* or was, when the traps came */

	for (size_t i = 0; master && i < m->size; i++)
		if (m->values[i] != MAP_NONE)
			subnet_want_device(s, m->keys[i]);
	map_clear(m);
	if (master && s->traps.look)
		subnet_want_sweep(s, SWEEP_LIGHT);
	s->traps.look = false;
}

/* The device, or (NULL) somewhere, has changed. */
static void
look_at(struct subnet *s, struct trap_source *o, const struct device *d)
{
	monotime now = loop_now(s->env.loop);

	if (o->streak > MANY && now - o->looked < LOOK) {
		if (d)
			map_set(&s->traps.later, d->guid, 0);
		else
			s->traps.look = true;
		if (!loop_timer_pending(s->traps.timer))
			loop_timer_set(s->traps.timer, o->looked + LOOK - now);
		return;
	}
	o->looked = now;
	if (d) {
		subnet_want_device(s, d->guid);
	} else {
		s->told = true;
		subnet_want_sweep(s, SWEEP_LIGHT);
	}
}

static void
nobody(struct subnet *s, struct trap_source *o, const struct notice *n)
{
	s->st.traps_unknown++;
	log_limited(&s->limit_trap, LOG_L_NOTICE, "trap %u names LID %u port %u, which is nobody's"
		    ": a light sweep follows", n->trap, notice_subject_lid(n),
		    notice_subject_port(n));
	look_at(s, o, NULL);
}

/* ---- Each kind ---- */

/* Of what is to be read of it anyhow it is a part. */
static void
want_description(struct subnet *s, const struct device *d)
{
	if (map_get(&s->dirty, d->guid) == MAP_NONE)
		map_set(&s->dirty, d->guid, DIRTY_DESCRIPTION);
	subnet_want_sweep(s, SWEEP_PARTIAL);
}

static void
trap_link_state(struct subnet *s, struct trap_source *o, struct device *d)
{
	char text[DEVICE_TEXT_SIZE];

	/* Switches alone have such links (IBA 14.2.5.1): one of them has come with its LID. */
	if (d->info.node_type != NODE_SWITCH) {
		log_limited(&s->limit_trap, LOG_L_NOTICE, "trap 128 comes from the LID of %s, "
			    "which is no switch: a light sweep follows",
			    device_text(text, d, s->env.names));
		look_at(s, o, NULL);
		return;
	}
	log_limited(&s->limit_trap, LOG_L_INFO, "trap 128: a link of %s changed",
		    device_text(text, d, s->env.names));
	look_at(s, o, d);
	if (s->stage == SUBNET_PUSH && o->streak <= MANY)
		push_link_changed(s, d);
}

/* A description is read alone; with all else a new subnet manager shows in the capabilities. */
static void
trap_capability(struct subnet *s, struct trap_source *o, struct device *d, const struct notice *n)
{
	bool desc = notice_144_flags(n) == NOTICE_144_NODE_DESCRIPTION;
	char text[DEVICE_TEXT_SIZE];

	log_limited(&s->limit_trap, LOG_L_INFO, "trap 144: %s changed its %s",
		    device_text(text, d, s->env.names), desc ? "description" : "capabilities");
	if (desc && o->streak <= MANY)
		want_description(s, d);
	else
		look_at(s, o, d);
}

static void
trap_system_image(struct subnet *s, struct device *d, const struct notice *n)
{
	uint64_t guid = notice_145_guid(n);
	char text[DEVICE_TEXT_SIZE], g[GUID_TEXT_SIZE];

	if (!guid || d->info.system_guid == guid)
		return;
	d->info.system_guid = guid;
	subnet_event(s, EVENT_TRAP, LOG_L_NOTICE, d->guid, 0, "trap 145: %s is part of system %s "
		     "now", device_text(text, d, s->env.names), guid_text(g, guid));
}

static void
trap_port_errors(struct subnet *s, struct trap_source *o, struct device *d,
		 const struct notice *n)
{
	unsigned port = notice_subject_port(n);
	monotime now = loop_now(s->env.loop);
	char text[DEVICE_TEXT_SIZE];
	struct live_port *p;

	if (!port || port > d->info.num_ports) {
		nobody(s, o, n);
		return;
	}
	p = &d->ports[port];
	p->traps++;
	if (!p->trap_told || now - p->trap_told >= WINDOW) {
		p->trap_told = now;
		subnet_event(s, EVENT_TRAP, LOG_L_WARNING, d->guid, port,
			     "trap %u (%u in all): %s on port %u of %s: check its cable", n->trap,
			     p->traps, n->trap == TRAP_LOCAL_INTEGRITY ?
			     "local link integrity errors" : n->trap == TRAP_BUFFER_OVERRUN ?
			     "buffer overruns" : "flow control watchdog expired", port,
			     device_text(text, d, s->env.names));
	}
	health_trapped(s, p);
}

/* Who it was, as far as is known. */
static const char *
who(struct subnet *s, uint16_t lid, char text[DEVICE_TEXT_SIZE])
{
	const struct device *d = device_by_lid(s, lid);

	if (d)
		return device_text(text, d, s->env.names);
	if (lid == LID_PERMISSIVE)
		return "somebody by a directed route";
	snprintf(text, DEVICE_TEXT_SIZE, "LID %u, which is nobody's", lid);
	return text;
}

static void
trap_bad_key(struct subnet *s, struct trap_source *o, struct device *d, const struct notice *n)
{
	char at[DEVICE_TEXT_SIZE], from[DEVICE_TEXT_SIZE];
	struct notice_key k;

	if (!notice_bad_key(n, &k) || !once(s, &o->told))
		return;
	device_text(at, d, s->env.names);
	if (n->trap == TRAP_BAD_M_KEY)
		subnet_event(s, EVENT_TRAP, LOG_L_WARNING, d->guid, 0, "trap 256 (%u in all): %s "
			     "was asked %s(%s) with a wrong M_Key by %s", o->count, at,
			     mad_method_name(k.method), mad_attr_name(k.attr_id),
			     who(s, k.source, from));
	else
		subnet_event(s, EVENT_TRAP, LOG_L_WARNING, d->guid, k.port, "trap %u (%u in all): "
			     "a packet with the wrong %s_Key 0x%llx from %s came to %s%s", n->trap,
			     o->count, n->trap == TRAP_BAD_Q_KEY ? "Q" : "P",
			     (unsigned long long)k.key, who(s, k.source, from), at,
			     n->trap == TRAP_SWITCH_BAD_P_KEY ? " on its way" : "");
}

static void
handle(struct subnet *s, struct trap_source *o, const struct notice *n)
{
	uint16_t lid = notice_subject_lid(n);
	struct device *d = device_by_lid(s, lid ? lid : n->issuer_lid);

	if (!d) {
		nobody(s, o, n);
		return;
	}
	switch (n->trap) {
	case TRAP_LINK_STATE:
		trap_link_state(s, o, d);
		break;
	case TRAP_CAPABILITY:
		trap_capability(s, o, d, n);
		break;
	case TRAP_SYSTEM_IMAGE_GUID:
		trap_system_image(s, d, n);
		break;
	case TRAP_LOCAL_INTEGRITY:
	case TRAP_BUFFER_OVERRUN:
	case TRAP_FLOW_CONTROL:
		trap_port_errors(s, o, d, n);
		break;
	default:
		trap_bad_key(s, o, d, n);
	}
}

void
trap_came(struct subnet *s, uint16_t from, uint64_t tid, const struct notice *n)
{
	struct trap_source *o;

	s->st.traps++;
	if (s->role != ROLE_MASTER)
		return;		/* the master's business; ours was to stop the repeats */
	o = source_of(s, source_key(s, from, n));
	if (!is_new(s, o, tid))
		return;
	if (o->streak <= MANY || once(s, &o->reported)) {
		admin_trap(s, n);
	} else {
		s->st.traps_suppressed++;
		log_limited(&s->limit_trap, LOG_L_INFO, "trap %u from LID %u comes too often: it "
			    "is only counted (%u in all)", n->trap, from, o->count);
	}
	if (n->generic && is_known(n->trap))
		handle(s, o, n);
	else
		log_limited(&s->limit_trap, LOG_L_INFO, "%s %u from LID %u",
			    n->generic ? "trap" : "vendor notice", n->trap, n->issuer_lid);
}

void
trap_init(struct subnet *s)
{
	s->traps.timer = loop_timer_new(s->env.loop, on_timer, s);
}

void
trap_free(struct subnet *s)
{
	loop_timer_free(s->traps.timer);
	map_free(&s->traps.by_key);
	map_free(&s->traps.later);
	mem_free(s->traps.sources);
}
