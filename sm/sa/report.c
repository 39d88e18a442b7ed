/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/sa/inform.h"

#include "sm/base/log.h"
#include "sm/base/mem.h"
#include "sm/sa/alias.h"

/*
 * Reports (IBA 13.4.8.3, 13.4.9): events told to those who subscribed to them. A Report waits in
 * its subscriber's queue until there is room under way, for this subscriber and in all, so that one
 * who is silent delays nobody else. The transport sends it again by itself and gives it back in the
 * end; a deadline of our own stands behind that. Who leaves SILENT_MAX one after the other
 * unanswered is forgotten, where those that are under way together count as one, for a fabric that
 * is programmed may lose them all; and so is a port that is out of service: it subscribes again
 * when it is asked to register.
 *
 * Traps 64 and 65 come of comparing what is in service before and after tables were written, and of
 * aliases that are freed, or that devices have come to hold (IBA 14.2.5.1: they are of GIDs, and an
 * alias makes one as the port's own GUID does). What came or went while there was no administrator
 * is not told of.
 */
#define FLYING_MAX 64		/* Reports under way, in all */
#define FLYING_EACH 4		/* to one subscriber */
#define WAITING_MAX 1024	/* to one subscriber; what comes then is lost */
#define TRY_MS 1000
#define RETRIES 3
#define OVERDUE MSEC(TRY_MS * (RETRIES + 2))
#define PAUSE MSEC(100)
#define SILENT_MAX 3
#define TYPE_SUBNET 3		/* a notice of subnet management, */
#define PRODUCER_MANAGER 4	/* by a class manager */

struct report {
	struct list link;	/* in subscriber.waiting or sa_informs.flying */
	struct subscriber *u;	/* for whom */
	monotime left;		/* under way: since then, */
	monotime overdue;	/* and given up then */
	uint32_t qpn;		/* where it goes */
	uint32_t tid;		/* under way */
	uint8_t notice[80];	/* the Notice */
};

/* ---- Under way ---- */

static void
make_ready(struct sa_informs *s, struct subscriber *u)
{
	if (u->nwaiting && u->flying < FLYING_EACH && list_empty(&u->ready))
		list_append(&s->ready, &u->ready);
}

static void
set_timer(struct sa_informs *s)
{
	struct list *first = s->flying.next;

	loop_timer_set(s->timer, first == &s->flying ? MONOTIME_NEVER :
		       list_entry(first, struct report, link)->overdue - loop_now(s->env.loop));
}

/* Where it goes; 0: nowhere now. */
static uint16_t
lid_of(const struct sa_informs *s, uint64_t guid)
{
	const struct plan *p = s->env.plan(s->env.arg);
	uint32_t port = p && p->lids ? fabric_port_by_guid(p->fabric, guid) : FABRIC_NONE;

	return port == FABRIC_NONE ? 0 : p->lids->base[port];
}

/* The service level of the way there from our own port. */
static uint8_t
sl_to(const struct sa_informs *s, uint16_t lid)
{
	const struct plan *p = s->env.plan(s->env.arg);
	uint32_t own = p && p->lids ? p->fabric->sm_port : FABRIC_NONE;
	uint16_t from = own == FABRIC_NONE ? 0 : p->lids->base[own];

	if (!lid || !from || from == lid)
		return 0;
	return plan_path_sl(p, &p->lids->dest[from], &p->lids->dest[lid]);
}

static int
send_report(struct sa_informs *s, struct report *r)
{
	uint16_t lid = lid_of(s, r->u->guid);
	struct port_mad m = {
		.qp = 1, .lid = lid, .sl = sl_to(s, lid), .remote_qp = r->qpn,
		.timeout_ms = TRY_MS, .retries = RETRIES,
	};
	struct sa_header h = {
		.h = { .tid = ++s->tid, .attr_id = SA_NOTICE, .base_version = 1,
		       .mgmt_class = MAD_CLASS_SUBN_ADM, .class_version = SA_CLASS_VERSION,
		       .method = MAD_REPORT },
	};

	r->tid = s->tid;
	sa_header_encode(&h, m.mad);
	for (unsigned i = 0; i < sizeof(r->notice); i++)
		m.mad[SA_HEADER_SIZE + i] = r->notice[i];
	return m.lid ? s->env.send(s->env.arg, &m) : ERR_NOT_FOUND;
}

/* The oldest that waits for this subscriber. False: the transport takes nothing now. */
static bool
send_next(struct sa_informs *s, struct subscriber *u)
{
	struct report *r = list_entry(list_pop(&u->waiting), struct report, link);
	int rc = send_report(s, r);

	if (rc == ERR_BUSY || rc == ERR_CLOSED) {
		list_prepend(&u->waiting, &r->link);
		return false;
	}
	u->nwaiting--;
	if (rc) {
		s->count.lost++;
		u->lost++;
		mem_free(r);
		return true;
	}
	s->count.sent++;
	u->sent++;
	r->left = loop_now(s->env.loop);
	r->overdue = r->left + OVERDUE;
	list_append(&s->flying, &r->link);
	u->flying++;
	s->nflying++;
	return true;
}

static void
pump(struct sa_informs *s)
{
	while (s->nflying < FLYING_MAX && !list_empty(&s->ready) &&
	       !loop_timer_pending(s->pause)) {
		struct subscriber *u = list_entry(list_pop(&s->ready), struct subscriber, ready);

		if (!send_next(s, u))
			loop_timer_set(s->pause, PAUSE);
		make_ready(s, u);
	}
	set_timer(s);
}

static void
on_pause(void *arg)
{
	pump(arg);
}

/* One that was under way already when another was given up says nothing new. */
static void
was_silent(const struct sa_informs *s, struct subscriber *u, monotime left)
{
	if (u->silent && left < u->silent_since)
		return;
	u->silent++;
	u->silent_since = loop_now(s->env.loop);
}

/* It is over: answered, or not. */
static void
land(struct sa_informs *s, struct report *r, bool answered)
{
	struct subscriber *u = r->u;

	list_remove(&r->link);
	s->nflying--;
	u->flying--;
	if (answered) {
		u->silent = 0;
		s->count.answered++;
		u->answered++;
	} else {
		was_silent(s, u, r->left);
		s->count.lost++;
		u->lost++;
	}
	mem_free(r);
	if (u->silent >= SILENT_MAX) {
		log_notice("the subscriber at port 0x%016llx answers no Reports and is forgotten",
			   (unsigned long long)u->guid);
		s->count.forgotten++;
		inform_drop(s, u);
	} else {
		make_ready(s, u);
	}
}

static void
on_timer(void *arg)
{
	struct sa_informs *s = arg;

	while (!list_empty(&s->flying)) {
		struct report *r = list_entry(s->flying.next, struct report, link);

		if (r->overdue > loop_now(s->env.loop))
			break;
		land(s, r, false);
	}
	pump(s);
}

bool
sa_informs_answered(struct sa_informs *s, uint64_t tid, bool answered)
{
	bool known = false;

	list_each(it, &s->flying) {
		struct report *r = list_entry(it, struct report, link);

		if (r->tid == (uint32_t)tid) {
			land(s, r, answered);
			known = true;
			break;
		}
	}
	pump(s);
	return known;
}

void
report_forget(struct sa_informs *s, struct subscriber *u)
{
	struct list *it;

	while ((it = list_pop(&u->waiting)))
		mem_free(list_entry(it, struct report, link));
	list_each(f, &s->flying) {
		struct report *r = list_entry(f, struct report, link);

		if (r->u != u)
			continue;
		list_remove(&r->link);
		s->nflying--;
		mem_free(r);
	}
	list_remove(&u->ready);
	u->nwaiting = u->flying = 0;
}

void
sa_informs_resigned(struct sa_informs *s)
{
	list_each(it, &s->all) {
		struct subscriber *u = list_entry(it, struct subscriber, link);
		unsigned lost = u->nwaiting + u->flying;

		s->count.lost += lost;
		u->lost += lost;
		report_forget(s, u);
	}
	loop_timer_cancel(s->timer);
	loop_timer_cancel(s->pause);
}

/* ---- Whom to tell ---- */

static bool
wants_source(const struct sa_inform_info *i, const struct sa_notice *n, const struct sa_gid *gid)
{
	uint16_t last = i->lid_last ? i->lid_last : i->lid_first;

	if (i->gid.prefix || i->gid.guid)
		return sa_gid_equal(&i->gid, gid);
	return i->lid_first == SA_INFORM_ALL_LIDS ||
	       (n->n.issuer_lid >= i->lid_first && n->n.issuer_lid <= last);
}

static bool
wants(const struct inform *in, const struct sa_notice *n, const struct sa_gid *gid)
{
	const struct sa_inform_info *i = &in->r.info;
	bool security = n->n.generic && n->n.trap >= TRAP_BAD_M_KEY &&
		n->n.trap <= TRAP_SWITCH_BAD_P_KEY;

	return !!i->generic == n->n.generic &&
	       (i->type == SA_INFORM_ALL_TYPES || i->type == n->n.type) &&
	       (i->trap == SA_INFORM_ALL_TRAPS || i->trap == n->n.trap) &&
	       (i->producer == SA_INFORM_ALL_PRODUCERS || i->producer == n->n.producer) &&
	       wants_source(i, n, gid) && (!security || in->trusted);
}

static void
queue(struct sa_informs *s, struct subscriber *u, const struct inform *i,
      const struct sa_notice *n)
{
	struct report *r;

	if (u->nwaiting >= WAITING_MAX) {
		s->count.lost++;
		u->lost++;
		return;
	}
	r = mem_zalloc(sizeof(*r));
	r->u = u;
	r->qpn = i->r.info.qpn;
	sa_notice_encode(n, r->notice);
	list_append(&u->waiting, &r->link);
	u->nwaiting++;
	make_ready(s, u);
}

/* Traps 64 to 67 are of their GID, which is told of, all others of who issued them. */
void
sa_informs_tell(struct sa_informs *s, const struct sa_notice *n)
{
	struct sa_gid gid = n->issuer_gid;

	if (n->n.generic && n->n.trap >= TRAP_GID_IN_SERVICE && n->n.trap <= TRAP_GROUP_DELETED)
		gid = sa_notice_gid(&n->n);
	list_each(it, &s->all) {
		struct subscriber *u = list_entry(it, struct subscriber, link);

		list_each(in, &u->informs) {
			const struct inform *i = list_entry(in, struct inform, link);

			if (wants(i, n, &gid))
				queue(s, u, i, n);
		}
	}
	pump(s);
}

/* ---- What we tell of ourselves ---- */

void
sa_informs_tell_gid(struct sa_informs *s, uint16_t trap, const struct sa_gid *gid)
{
	const struct plan *p = s->env.plan(s->env.arg);
	uint32_t port = p ? p->fabric->sm_port : FABRIC_NONE;
	struct sa_notice n = { .n = { .generic = true, .type = TYPE_SUBNET,
				      .producer = PRODUCER_MANAGER, .trap = trap } };

	if (port == FABRIC_NONE || list_empty(&s->all))
		return;
	n.n.issuer_lid = p->lids->base[port];
	n.issuer_gid = (struct sa_gid){ s->env.conf(s->env.arg)->prefix,
					p->fabric->ports[port].guid };
	sa_notice_set_gid(&n.n, gid);
	sa_informs_tell(s, &n);
}

void
sa_informs_tell_alias(struct sa_informs *s, struct sa_aliases *aliases, uint64_t port,
		      unsigned index, bool in)
{
	struct sa_gid gid = { .prefix = s->env.conf(s->env.arg)->prefix,
			      .guid = sa_aliases_at(aliases, port, index) };

	if (sa_aliases_serve(aliases, port, index, in))
		sa_informs_tell_gid(s, in ? TRAP_GID_IN_SERVICE : TRAP_GID_OUT_OF_SERVICE, &gid);
}

/* Ports in service by `a` that are not by `b`. Their aliases go with them; they come when their
 * devices hold them (sa_guids_written). */
static void
compare(struct sa_informs *s, struct sa_aliases *aliases, const struct plan *a,
	const struct plan *b, uint16_t trap)
{
	struct sa_gid gid = { .prefix = s->env.conf(s->env.arg)->prefix };

	for (uint32_t p = 0; p < a->lids->nports; p++) {
		struct subscriber *u;
		uint32_t other;

		if (!a->lids->base[p])
			continue;
		gid.guid = a->fabric->ports[p].guid;
		other = fabric_port_by_guid(b->fabric, gid.guid);
		if (other != FABRIC_NONE && b->lids->base[other])
			continue;
		u = inform_find(s, gid.guid);
		if (trap == TRAP_GID_OUT_OF_SERVICE && u)
			inform_drop(s, u);
		sa_informs_tell_gid(s, trap, &gid);
		for (unsigned i = 1; trap == TRAP_GID_OUT_OF_SERVICE && i < SA_GUIDS_MAX; i++)
			sa_informs_tell_alias(s, aliases, gid.guid, i, false);
	}
}

void
sa_informs_settled(struct sa_informs *s, struct sa_aliases *aliases)
{
	const struct plan *p = s->env.plan(s->env.arg);
	struct plan *before = s->told;

	if (!p || !p->lids)
		return;
	s->told = plan_ref(p);
	if (before && before->lids != p->lids) {
		compare(s, aliases, before, p, TRAP_GID_OUT_OF_SERVICE);
		compare(s, aliases, p, before, TRAP_GID_IN_SERVICE);
	}
	plan_unref(before);
}

const struct sa_report_counters *
sa_informs_counters(const struct sa_informs *s)
{
	return &s->count;
}

/* ---- Life ---- */

void
report_init(struct sa_informs *s)
{
	list_init(&s->ready);
	list_init(&s->flying);
	s->tid = (uint32_t)loop_random(s->env.loop);	/* not those before a restart */
	s->timer = loop_timer_new(s->env.loop, on_timer, s);
	s->pause = loop_timer_new(s->env.loop, on_pause, s);
}

void
report_end(struct sa_informs *s)
{
	loop_timer_free(s->timer);
	loop_timer_free(s->pause);
	plan_unref(s->told);
}
