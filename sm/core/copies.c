/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What clients left with the subnet administrator of the master - groups and their members,
 * services, subscriptions, alias GUIDs - copied by a standby, so that when it takes over it answers
 * from them, and nothing of it depends on hosts that register again.
 *
 * The standby is a client of the master's administrator, be that Weft's or another: its own port
 * says where that is (PortInfo.MasterSMLID and MasterSMSL, IBA 15.4.2), and with the SM_Key it is
 * trusted (15.4.1.2), so that members have PortGIDs, services keys and subscriptions QPNs. It asks
 * GetTable of each kind, one at a time, and when all answers are there takes them on in slices
 * (sm/sa/copy.h): as if they had been left here, in the store too.
 *
 *   OFF --stand by--> WAIT --timer--> LOOK --own port--> ASKED --answers--> TAKE --done--> WAIT
 *                      ^----------------- refused, damaged, overdue ------------'
 *
 * A copy is begun each standby_copy, but so that it takes no more than a SHARE of the time, and
 * later and later where it fails. One that is under way when this manager leads is broken off: what
 * clients leave with it from then on is newer. Answers may be wrong in any way: they come from
 * where we asked or count for nothing, are bounded in size, and a table that came by halves is
 * refused as a whole, for what it lacks would be dropped here.
 *
 * Managers that share a store (beyond.c) have no need of it. A master knows from the questions what
 * which standby has copied, and when.
 */
#include "sm/core/copies.h"
#include "sm/core/gmp.h"
#include "sm/core/subnet_i.h"

#include <stdio.h>
#include <string.h>
#include "sm/base/mem.h"
#include "sm/sa/sa.h"

#define FIRST MSEC(20)		/* after we stand by */
#define SHARE 10		/* one of so many parts of the time */
#define LOOK_MAX SEC(10)	/* for an answer of our own port */
#define ANSWER_MS 10000		/* for a whole table: the kernel counts until its end */
#define OVERDUE MSEC(ANSWER_MS + 2000)
#define AGAIN_MAX SEC(60)	/* what failed is tried again */
#define SIZE_MAX_TABLE (64u << 20)	/* bytes */
#define TURN 512u		/* records in a turn of the loop */
#define GUIDS_EACH 10		/* times: they are many, and seldom change */
#define OLD 3			/* times missed: the last copy is too old to rely on */

static const char *const names[SA_COPIED_KINDS] = {
	[SA_COPIED_MEMBERS] = "multicast members", [SA_COPIED_SERVICES] = "services",
	[SA_COPIED_INFORMS] = "subscriptions", [SA_COPIED_GUIDS] = "alias GUIDs",
};

static void
forget_tables(struct copies *c)
{
	for (unsigned i = 0; i < SA_COPIED_KINDS; i++)
		mem_free(c->tables[i].records);
	memset(c->tables, 0, sizeof(c->tables));
}

static void
go_to(struct copies *c, enum copies_step step, monotime delay)
{
	c->step = step;
	c->want_port = step == COPIES_LOOK;
	loop_timer_set(c->timer, delay);
}

/* From one begin to the next. */
static monotime
spacing(const struct subnet *s)
{
	monotime least = SHARE * s->copies.last.took;

	return least > s->conf->standby_copy ? least : s->conf->standby_copy;
}

static void
wait_for_next(struct subnet *s)
{
	struct copies *c = &s->copies;
	monotime next = c->began + spacing(s) - loop_now(s->env.loop);

	if (c->failures)
		next = backoff_delay(s->conf->standby_copy, AGAIN_MAX, c->failures - 1);
	go_to(c, COPIES_WAIT, next > FIRST ? next : FIRST);
}

static void
failed(struct subnet *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void
failed(struct subnet *s, const char *fmt, ...)
{
	struct copies *c = &s->copies;
	char before[sizeof(c->why)];
	va_list ap;

	memcpy(before, c->why, sizeof(before));
	va_start(ap, fmt);
	vsnprintf(c->why, sizeof(c->why), fmt, ap);
	va_end(ap);
	forget_tables(c);
	c->failures++;
	if (strcmp(before, c->why))
		log_notice("what clients left with the master cannot be copied: %s", c->why);
	wait_for_next(s);
}

/* ---- Questions ---- */

static void
ask(struct subnet *s)
{
	struct copies *c = &s->copies;
	const struct sa_type *t = sa_copied_type(c->kind);
	struct port_mad m = {
		.qp = 1, .lid = c->lid, .sl = c->sl, .pkey_index = gmp_pkey_index(s),
		.timeout_ms = ANSWER_MS,
	};
	struct sa_header h = {
		.h = { .base_version = 1, .mgmt_class = MAD_CLASS_SUBN_ADM,
		       .class_version = SA_CLASS_VERSION, .method = MAD_GET_TABLE,
		       .attr_id = t->id, .tid = ++c->tid },
		.sm_key = s->conf->sm_key,
	};

	sa_header_encode(&h, m.mad);
	if (transact_send(s->transact, &m))
		failed(s, "the question for %s cannot be sent", names[c->kind]);
	else
		go_to(c, COPIES_ASKED, OVERDUE);
}

bool
copies_want_port(const struct subnet *s)
{
	return s->copies.want_port && s->topo.own;
}

bool
copies_next(struct subnet *s, struct transact_request *r)
{
	if (!copies_want_port(s) || s->role != ROLE_STANDBY)
		return false;
	s->copies.want_port = false;
	r->method = MAD_GET;
	r->attr_id = ATTR_PORT_INFO;
	r->attr_mod = s->topo.own_port;
	return true;
}

void
copies_port(struct subnet *s, const struct transact_result *res)
{
	struct copies *c = &s->copies;
	struct portinfo i;

	if (c->step != COPIES_LOOK)
		return;
	if (res->error || res->mad_status) {
		failed(s, "this manager's own port does not say where the master is");
		return;
	}
	portinfo_decode(&i, res->data);
	if (!i.lid || !i.sm_lid || i.sm_lid == i.lid) {
		failed(s, "the master has not told this manager's own port yet where it is");
		return;
	}
	c->lid = i.sm_lid;
	c->sl = i.sm_sl;
	c->guids = c->rounds++ % GUIDS_EACH == 0;
	c->began = loop_now(s->env.loop);
	c->kind = 0;
	ask(s);
}

/* ---- Answers ---- */

static bool
is_to_ours(const struct copies *c, const struct port_mad *m, const struct mad_header *h)
{
	if (c->step != COPIES_ASKED || (uint32_t)h->tid != c->tid ||
	    h->attr_id != sa_copied_type(c->kind)->id)
		return false;
	return m->status ? h->method == MAD_GET_TABLE :
		h->method == MAD_GET_TABLE_RESP && m->lid == c->lid;
}

/* Of a transport that knows no RMPP (packaged ibsim) a long answer comes cut, and no word of it. */
static bool
is_whole(const struct sa_header *h, const struct sa_type *t, size_t size)
{
	unsigned stride = h->attr_offset * 8u;

	if ((h->rmpp_flags & (SA_RMPP_ACTIVE | SA_RMPP_FIRST)) != (SA_RMPP_ACTIVE | SA_RMPP_FIRST))
		return false;
	return !size || (stride >= t->size && size % stride == 0);
}

static void
take_on_next(struct subnet *s)
{
	struct copies *c = &s->copies;

	c->kind++;
	if (c->kind < SA_COPIED_GUIDS || (c->kind == SA_COPIED_GUIDS && c->guids)) {
		ask(s);
		return;
	}
	c->kind = 0;
	c->ending = false;
	c->at = c->left_out = 0;
	sa_copy_begin(s->sa);
	go_to(c, COPIES_TAKE, 0);
}

static void
take_table(struct subnet *s, const struct sa_header *h, const uint8_t *records, size_t size)
{
	struct copies *c = &s->copies;
	struct copies_table *t = &c->tables[c->kind];

	if (size) {
		t->stride = h->attr_offset * 8u;
		t->len = (uint32_t)(size / t->stride);
		t->records = mem_alloc(size);
		memcpy(t->records, records, size);
	}
	take_on_next(s);
}

bool
copies_answer(struct subnet *s, const struct port_mad *m)
{
	struct copies *c = &s->copies;
	const struct sa_type *t;
	struct mad_header mad;
	struct sa_header h;
	size_t size;

	if (mad_header_decode(&mad, m->mad, sizeof(m->mad)) || !is_to_ours(c, m, &mad))
		return false;
	t = sa_copied_type(c->kind);
	size = port_mad_len(m) > SA_HEADER_SIZE ? port_mad_len(m) - SA_HEADER_SIZE : 0;
	if (m->status)
		failed(s, "it does not answer who shows this manager's sm_key: it may have "
		       "another, as OpenSM its sa_key");
	else if (sa_header_decode(&h, port_mad_bytes(m), port_mad_len(m)))
		failed(s, "its answer for %s is damaged", names[c->kind]);
	else if (h.h.status == SA_STATUS_NO_RECORDS)
		take_table(s, &h, NULL, 0);
	else if (h.h.status)
		failed(s, "it refuses to tell its %s: %s", names[c->kind],
		       sa_status_text(h.h.status));
	else if (!is_whole(&h, t, size))
		failed(s, "its answer for %s is damaged, or was cut on its way", names[c->kind]);
	else if (size > SIZE_MAX_TABLE)
		failed(s, "its answer for %s is too long", names[c->kind]);
	else
		take_table(s, &h, port_mad_bytes(m) + SA_HEADER_SIZE, size);
	return true;
}

/* ---- Taking them on ---- */

static void
whole(struct subnet *s)
{
	struct copies *c = &s->copies;
	bool first = !c->last.wall;

	store_commit(s->env.store, NULL, NULL);
	for (unsigned i = 0; i < SA_COPIED_KINDS; i++)
		if (i != SA_COPIED_GUIDS || c->guids)
			c->last.len[i] = c->tables[i].len;
	c->last.began = c->began;
	c->last.took = loop_now(s->env.loop) - c->began;
	c->last.wall = loop_wall(s->env.loop) - c->last.took / 1000;
	c->last.left_out = c->left_out;
	c->failures = 0;
	c->why[0] = '\0';
	forget_tables(c);
	if (first)
		subnet_event(s, EVENT_ROLE, LOG_L_INFO, c->master, 0, "what clients left with the "
			     "master is copied: %u multicast members, %u services, %u "
			     "subscriptions", c->last.len[SA_COPIED_MEMBERS],
			     c->last.len[SA_COPIED_SERVICES], c->last.len[SA_COPIED_INFORMS]);
	wait_for_next(s);
}

static void
take_turn(struct subnet *s)
{
	struct copies *c = &s->copies;
	const struct copies_table *t = &c->tables[c->kind];

	loop_doing(s->env.loop, "copying what clients left");
	for (unsigned n = 0; n < TURN && c->at < t->len; n++, c->at++)
		c->left_out += !sa_copy_add(s->sa, c->kind,
					    t->records + (size_t)c->at * t->stride);
	if (c->at < t->len || sa_copy_end(s->sa, c->kind, TURN)) {
		go_to(c, COPIES_TAKE, 0);
		return;
	}
	c->at = 0;
	c->kind++;
	if (c->kind < SA_COPIED_GUIDS || (c->kind == SA_COPIED_GUIDS && c->guids))
		go_to(c, COPIES_TAKE, 0);
	else
		whole(s);
}

/* ---- Time ---- */

/* What managers share has all that the master acknowledged: an older copy must not undo it. */
static bool
is_wanted(const struct subnet *s)
{
	struct store_beyond beyond;

	return s->conf->standby_copy && s->conf->sm_key && !store_beyond(s->env.store, &beyond);
}

static void
on_timer(void *subnet)
{
	struct subnet *s = subnet;
	struct copies *c = &s->copies;

	switch (c->step) {
	case COPIES_WAIT:
		if (!is_wanted(s))
			go_to(c, COPIES_WAIT, AGAIN_MAX);
		else
			go_to(c, COPIES_LOOK, LOOK_MAX);
		break;
	case COPIES_LOOK:
		failed(s, "this manager's own port does not say where the master is");
		break;
	case COPIES_ASKED:
		failed(s, "it does not answer");
		break;
	case COPIES_TAKE:
		take_turn(s);
		break;
	default:
		break;
	}
}

void
copies_stand_by(struct subnet *s)
{
	struct copies *c = &s->copies;

	if (c->step != COPIES_OFF && c->master == s->master.guid)
		return;
	copies_stop(s);
	if (c->master != s->master.guid) {
		memset(&c->last, 0, sizeof(c->last));
		c->why[0] = '\0';
		c->failures = c->rounds = 0;
	}
	c->master = s->master.guid;
	go_to(c, COPIES_WAIT, FIRST);
}

void
copies_stop(struct subnet *s)
{
	struct copies *c = &s->copies;

	loop_timer_cancel(c->timer);
	forget_tables(c);
	/* What was changed so far stays. */
	if (c->step == COPIES_TAKE)
		store_commit(s->env.store, NULL, NULL);
	c->step = COPIES_OFF;
	c->want_port = false;
	if (s->role == ROLE_MASTER)
		c->master = 0;
}

void
copies_configured(struct subnet *s)
{
	if (s->copies.step == COPIES_WAIT)
		go_to(&s->copies, COPIES_WAIT, FIRST);
}

/* ---- As master ---- */

void
copies_told(struct subnet *s, const struct port_mad *in, uint16_t attr_id, uint32_t len)
{
	monotime now = loop_now(s->env.loop);

	for (unsigned n = 0; n < s->npeers; n++) {
		struct copies_told *t = &s->peers[n].told;

		for (unsigned i = 0; i < SA_COPIED_KINDS; i++) {
			if (s->peers[n].lid != in->lid || sa_copied_type(i)->id != attr_id)
				continue;
			if (!i && t->at[i])
				t->gap = now - t->at[i];
			t->at[i] = now;
			t->len[i] = len;
		}
	}
}

/* ---- What is said of it ---- */

/* When it was told the first of what it holds; 0: not all, or not since we lead. */
static monotime
told_since(const struct subnet *s, const struct peer_sm *p)
{
	monotime first = MONOTIME_NEVER;

	for (unsigned i = 0; i < SA_COPIED_GUIDS; i++)
		first = p->told.at[i] < first ? p->told.at[i] : first;
	return first < s->takeover.led ? 0 : first;
}

/* Who would lead after us. */
static const struct peer_sm *
next_master(const struct subnet *s)
{
	const struct peer_sm *best = NULL;

	for (unsigned n = 0; n < s->npeers; n++) {
		const struct peer_sm *p = &s->peers[n];

		if (p->presence == PEER_LOST || p->wrong_key || p->unwanted ||
		    p->state != SM_STANDBY)
			continue;
		if (!best || p->priority > best->priority ||
		    (p->priority == best->priority && p->guid < best->guid))
			best = p;
	}
	return best;
}

static void
reason_as_master(const struct subnet *s, struct ha_status *h)
{
	const struct peer_sm *p = next_master(s);
	monotime since, each, age;
	char guid[GUID_TEXT_SIZE], text[DURATION_TEXT_SIZE];

	if (!p)
		return;
	since = told_since(s, p);
	age = loop_now(s->env.loop) - since;
	each = s->conf->standby_copy > SEC(1) ? s->conf->standby_copy : SEC(1);
	each = p->told.gap > each ? p->told.gap : each;
	if (!since)
		ha_reason(h, "the manager with GUID %s, which would lead, has not copied groups, "
			  "services and subscriptions from this one: after a takeover they are "
			  "gone until hosts register again", guid_text(guid, p->guid));
	else if (age > OLD * each)
		ha_reason(h, "the manager with GUID %s, which would lead, copied groups, services "
			  "and subscriptions last %s ago", guid_text(guid, p->guid),
			  duration_text(text, age));
}

static void
reason_as_standby(const struct subnet *s, struct ha_status *h)
{
	const struct copies *c = &s->copies;
	monotime age = loop_now(s->env.loop) - c->last.began;
	char text[DURATION_TEXT_SIZE];
	const char *sep = c->why[0] ? ": " : "";

	if (!s->conf->standby_copy || !s->conf->sm_key)
		ha_reason(h, "groups, services and subscriptions of the master are not copied, for "
			  "%s is 0: after a takeover they are gone until hosts register again",
			  s->conf->sm_key ? "standby_copy" : "sm_key");
	else if (!c->last.wall)
		ha_reason(h, "groups, services and subscriptions of the master are not copied yet"
			  "%s%s", sep, c->why);
	else if (age > OLD * spacing(s) + c->last.took)
		ha_reason(h, "groups, services and subscriptions of the master were copied last "
			  "%s ago%s%s", duration_text(text, age), sep, c->why);
	else if (c->last.left_out)
		ha_reason(h, "%u of the master's records of groups, services and subscriptions "
			  "are not copied: they are absurd, or too many", c->last.left_out);
}

void
copies_reasons(const struct subnet *s, struct ha_status *h)
{
	if (s->role == ROLE_MASTER)
		reason_as_master(s, h);
	else if (s->role == ROLE_STANDBY)
		reason_as_standby(s, h);
}

void
copies_status(const struct subnet *s, const struct peer_sm *p, struct ha_copy *to)
{
	monotime now = loop_now(s->env.loop), since = 0;
	const uint32_t *len = p->told.len;

	*to = (struct ha_copy){ 0 };
	if (s->role == ROLE_STANDBY && p->guid == s->copies.master && s->copies.last.wall) {
		to->wall = s->copies.last.wall;
		len = s->copies.last.len;
	} else if (s->role == ROLE_MASTER && (since = told_since(s, p))) {
		to->wall = loop_wall(s->env.loop) - (now - since) / 1000;
	} else {
		return;
	}
	to->members = len[SA_COPIED_MEMBERS];
	to->services = len[SA_COPIED_SERVICES];
	to->subscriptions = len[SA_COPIED_INFORMS];
	to->guids = len[SA_COPIED_GUIDS];
}

/* ---- Life ---- */

void
copies_init(struct subnet *s)
{
	s->copies.timer = loop_timer_new(s->env.loop, on_timer, s);
	/* Not those before a restart. */
	s->copies.tid = (uint32_t)(loop_wall(s->env.loop) / 1000);
}

void
copies_free(struct subnet *s)
{
	loop_timer_free(s->copies.timer);
	forget_tables(&s->copies);
}
