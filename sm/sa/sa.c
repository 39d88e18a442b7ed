/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/sa/sa.h"

#include <string.h>
#include "sm/base/mem.h"
#include "sm/sa/alias.h"
#include "sm/sa/ask.h"
#include "sm/sa/copy_i.h"
#include "sm/sa/queue.h"

/*
 * The frame of each request (IBA volume 1, 15.2 to 15.4): who may ask, what is asked for, by which
 * kind of record it is answered, and the way back. Each kind is a row of `kinds`; what it tells is
 * its own file's. What clients leave lasts (kept.h), as do multicast groups (group.h).
 *
 * A question is made where it arrives and nearly always answered there. When many come at once,
 * they wait in the queues of their sources (queue.h), of which a timer takes some of each in turn.
 * A question that takes longer than a slice stays open, with the plan that it began with, and gets
 * further slices in the same turns. So one turn takes some two milliseconds, whatever is asked.
 *
 * Work is counted in units: one for a record or a way that is looked at, REQUEST for a message that
 * is taken and answered. Who asks for too much is told to come again (BUSY), but that costs as much
 * as an answer: past BUSY_RATE a second it is said in the turns of that source, fewer than answers.
 */
#define REQUEST 32		/* units of work */
#define CHANGE 128		/* the same, if it puts something to the store */
#define AT_ONCE 2048		/* units within WINDOW that are worked where they arrive */
#define WINDOW MSEC(1)
#define QUANTUM 256		/* units of one source, twice, before the next one's turn */
#define REFUSALS 64		/* and units for what it is refused */
#define TURN 4096		/* units of one turn of the loop, */
#define TURN_TIME MSEC(2)	/* and its length */
#define BUSY_RATE 1000		/* answers a second to one source that are said at once */

struct sa {
	struct sa_env env;		/* what the owner lends */
	struct sa_counters count;	/* since sa_new() */
	struct sa_queue queue;		/* what waits, and struct question that are open */
	size_t held;			/* bytes of the answers that are open */
	monotime window;		/* begin of the time in which `spent` was */
	uint64_t spent;			/* units of work done where they arrived */
	struct loop_timer *turn;	/* for what waits and what is open */
	struct sa_kept kept;		/* what clients left */
	struct sa_groups *groups;	/* multicast groups */
	struct sa_absent *absent;	/* and their members whose ports are gone */
	struct sa_copy *copy;		/* of what another administrator keeps */
	struct sa_links links;		/* between switches */
	struct sa_first_pkeys first_pkeys;	/* of ports */
};

/* Room for the struct of any record. */
union any_record {
	struct sa_class_port_info class_port_info;
	struct sa_node node;
	struct sa_port port;
	struct sa_service service;
	struct sa_path path;
	struct sa_multipath multipath;
	uint64_t words[64];
};

struct question {
	struct list link;		/* in `open` of its source, or nowhere */
	struct sa_source *source;	/* who asks */
	struct sa_ask a;		/* it, and its answer as it grows */
	const struct sa_kind_ops *kind;	/* of what it asks for; NULL: nothing that there is */
	union any_record want;		/* the record asked for */
	struct sa_links links;		/* of its plan, once it is open */
	struct port_mad in;		/* the request, once it is open */
	uint8_t *data;			/* of a long request, owned, once it is open; NULL */
};

static const struct sa_kind_ops *const kinds[] = {
	&sa_class_ops, &sa_node_ops, &sa_port_ops, &sa_switch_ops, &sa_lft_ops, &sa_sm_ops,
	&sa_link_ops, &sa_path_ops, &sa_multipath_ops, &sa_trace_ops,
	&sa_service_ops, &sa_inform_info_ops, &sa_inform_ops,
	&sa_member_ops, &sa_guids_ops,
	&sa_pkeys_ops, &sa_sl2vl_ops, &sa_vlarb_ops, &sa_mft_ops,
};

static bool
has_method(const struct sa_kind_ops *k, uint8_t method)
{
	switch (method) {
	case MAD_GET:
		return k->tell && !k->method;
	case MAD_GET_TABLE:
		return k->table;
	case MAD_SET:
		return k->set;
	case MAD_DELETE:
		return k->drop;
	}
	return k->method && k->method == method;
}

static const struct sa_kind_ops *
kind_of(const struct sa_header *h)
{
	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (kinds[i]->type->id == h->h.attr_id)
			return has_method(kinds[i], h->h.method) ? kinds[i] : NULL;
	return NULL;
}

/* ---- The answer ---- */

/* A status and no record, without further ado. */
static void
send_status(struct sa *sa, const struct port_mad *in, const struct sa_header *asked,
	    uint16_t status)
{
	struct port_mad out = { 0 };
	struct sa_header h = { .h = asked->h, .mask = asked->mask };

	h.h.method = sa_response(h.h.method);
	h.h.status = status;
	sa_header_encode(&h, out.mad);
	port_answer_to(&out, in);
	sa->count.refused++;
	if (sa->env.send(sa->env.arg, &out))
		sa->count.dropped[SA_DROP_UNSENT]++;
}

/* A long answer is the transport's from here on, unless too much waits to be sent already. */
static void
send_made(struct sa *sa, struct port_mad *out, struct sa_ask *a, const struct sa_header *asked)
{
	int rc;

	out->holder = (uint8_t **)&a->out.data;
	rc = sa->env.send(sa->env.arg, out);
	if (!a->out.data)
		a->out = (struct buf){ 0 };
	if (rc == ERR_BUSY && out->len > MAD_SIZE) {
		sa->count.busy[SA_BUSY_OPEN]++;
		send_status(sa, a->in, asked, MAD_STATUS_BUSY);
		return;
	}
	if (a->h.h.status)
		sa->count.refused++;
	else
		sa->count.answered++;
	if (rc)
		sa->count.dropped[SA_DROP_UNSENT]++;
}

/* To what was `asked`. */
static void
send_answer(struct sa *sa, struct sa_ask *a, const struct sa_header *asked)
{
	struct port_mad out = { 0 };
	bool whole = a->trusted && asked->h.method == MAD_GET_TABLE && !asked->mask;

	if (whole && !a->h.h.status && sa->env.told_all)
		sa->env.told_all(sa->env.arg, a->in, a->type->id, a->hits);

	port_answer_to(&out, a->in);
	out.data = (const uint8_t *)a->out.data;
	out.len = (uint32_t)a->out.len;
	if (a->h.h.status || !a->changes) {
		send_made(sa, &out, a, asked);
		return;
	}
	sa->count.answered++;
	sa_kept_answer(&sa->kept, &out);
}

/* The header of the answer stands at the beginning of a->out, where there is room for it. */
static void
finish(struct sa *sa, struct sa_ask *a)
{
	static const uint8_t none[SA_DATA_SIZE];
	const struct sa_header asked = a->h;
	bool table = sa_is_table(a) && !a->status;

	if (!a->status && !a->hits && a->h.h.method == MAD_GET)
		a->status = SA_STATUS_NO_RECORDS;
	if (a->status) {
		a->out.len = SA_HEADER_SIZE;
		buf_add(&a->out, none, sizeof(none));
		a->hits = 0;
	}
	a->h.h.method = sa_response(a->h.h.method);
	a->h.h.attr_id = a->type ? a->type->id : a->h.h.attr_id;
	a->h.h.status = a->status;
	a->h.rmpp_version = table ? SA_RMPP_VERSION : 0;
	a->h.rmpp_type = table ? SA_RMPP_DATA : 0;
	a->h.rmpp_flags = table ? SA_RMPP_ACTIVE : 0;
	a->h.rmpp_resp_time = 0;
	a->h.rmpp_status = 0;
	a->h.rmpp_segment = a->h.rmpp_value = 0;
	a->h.sm_key = 0;
	a->h.attr_offset = a->status ? 0 : (uint16_t)(sa_stride(a->type) / 8);
	sa_header_encode(&a->h, (uint8_t *)a->out.data);
	send_answer(sa, a, &asked);
	buf_free(&a->out);
}

static void
say_busy(struct sa *sa, struct sa_source *s, const struct port_mad *in, const struct sa_header *h,
	 enum sa_busy why)
{
	sa->count.busy[why]++;
	if (sa_queue_within(&s->told, loop_now(sa->env.loop), BUSY_RATE)) {
		send_status(sa, in, h, MAD_STATUS_BUSY);
	} else if (sa_queue_refuse(&sa->queue, s, in)) {
		if (!loop_timer_pending(sa->turn))
			loop_timer_set(sa->turn, 0);
	} else {
		sa->count.dropped[SA_DROP_FLOOD]++;
	}
}

/* ---- Questions that take longer ---- */

static void
close_question(struct sa *sa, struct question *q)
{
	sa_queue_close(&sa->queue, q->source, &q->link);
	plan_unref(q->links.plan);
	plan_unref(q->a.plan);
	buf_free(&q->a.out);
	mem_free(q->data);
	mem_free(q);
}

/* What has been found so far goes with it; of the request what the answer needs. */
static void
open_question(struct sa *sa, const struct question *begun)
{
	struct question *q = mem_alloc(sizeof(*q));

	*q = *begun;
	q->in = *begun->a.in;
	if (q->in.data) {
		q->data = mem_alloc(q->in.len);
		memcpy(q->data, q->in.data, q->in.len);
		q->in.data = q->data;
	}
	q->a.in = &q->in;
	q->links = (struct sa_links){ 0 };
	q->a.links = &q->links;
	q->a.want = q->a.query.want = &q->want;
	plan_ref(q->a.plan);
	sa->held += q->a.out.len;
	sa_queue_open(&sa->queue, q->source, &q->link);
	loop_timer_set(sa->turn, 0);
}

/* A slice of a source's first question; then its other ones' turn comes. */
static uint64_t
go_on(struct sa *sa, struct sa_source *s)
{
	struct question *q = list_entry(s->open.next, struct question, link);
	uint64_t before = q->a.work, done;

	sa->held -= q->a.out.len;
	sa_slice(&q->a, QUANTUM);
	q->kind->tell(&q->a);
	done = q->a.work - before;
	if (q->a.paused) {
		sa->held += q->a.out.len;
		list_remove(&q->link);
		list_append(&s->open, &q->link);
	} else {
		finish(sa, &q->a);
		close_question(sa, q);
	}
	return done;
}

/* ---- The question ---- */

static void
look_up(struct question *q, unsigned slice)
{
	const struct sa_kind_ops *k = q->kind;
	const struct sa_type *asked = k->asked ? k->asked : k->type;
	struct sa_ask *a = &q->a;

	a->type = k->told ? k->told : k->type;
	if (sa_decode(asked, &q->want, port_mad_bytes(a->in) + SA_HEADER_SIZE,
		      port_mad_len(a->in) - SA_HEADER_SIZE)) {
		a->status = SA_STATUS_INVALID;
		return;
	}
	a->want = &q->want;
	sa_query_init(&a->query, asked, &q->want, a->h.mask & ~k->own,
		      a->h.h.attr_mod >> 31 ? k->by_bits : 0);
	a->changes = a->h.h.method == MAD_SET || a->h.h.method == MAD_DELETE;
	sa_slice(a, slice);
	if (!a->changes)
		k->tell(a);
	else if (a->h.h.method == MAD_SET)
		k->set(a);
	else
		k->drop(a);
}

static void
answer(struct sa *sa, struct question *q, unsigned slice)
{
	static const uint8_t head[SA_HEADER_SIZE];
	struct sa_source *s = q->source;
	struct sa_ask *a = &q->a;

	buf_add(&a->out, head, sizeof(head));
	if (a->h.h.class_version != SA_CLASS_VERSION)
		a->status = MAD_STATUS_BAD_VERSION;
	else if (!q->kind)
		a->status = MAD_STATUS_BAD_ATTR;
	else if (!a->plan || !a->plan->lids)
		a->status = MAD_STATUS_BUSY;
	else
		look_up(q, slice);
	if (!a->paused) {
		finish(sa, a);
	} else if (s->nopen < SA_OPEN_PER_SOURCE && sa->queue.open < SA_OPEN_MAX) {
		open_question(sa, q);
	} else {
		say_busy(sa, s, a->in, &a->h, SA_BUSY_OPEN);
		buf_free(&a->out);
	}
}

/* Begin with a request; returns the units of work that it took. */
static uint64_t
begin(struct sa *sa, struct sa_source *s, const struct port_mad *m, const struct sa_header *h,
      unsigned slice)
{
	struct question q = {
		.source = s,
		.kind = kind_of(h),
		.a = { .env = &sa->env, .in = m, .h = *h, .trusted = h->sm_key != 0,
		       .kept = &sa->kept, .groups = sa->groups, .held = &sa->held,
		       .links = &sa->links, .first_pkeys = &sa->first_pkeys,
		       .plan = sa->env.plan(sa->env.arg) },
	};

	q.a.f = q.a.plan ? q.a.plan->fabric : NULL;
	answer(sa, &q, slice);
	return q.a.work + (q.a.changes ? CHANGE : REQUEST);
}

/* ---- Turns ---- */

/* Some of the requests that a source is to be refused. */
static uint64_t
refuse(struct sa *sa, struct sa_source *s)
{
	uint64_t done = 0;

	for (; done < REFUSALS && s->nrefused; done += REQUEST) {
		struct sa_waiting *w = sa_queue_take_refused(&sa->queue, s);
		struct sa_header h;

		if (!sa_header_decode(&h, w->m.mad, sizeof(w->m.mad)))
			send_status(sa, &w->m, &h, MAD_STATUS_BUSY);
		mem_free(w);
	}
	return done;
}

/* Some of what a source has waiting, and a slice of what it has open. */
static uint64_t
serve(struct sa *sa, struct sa_source *s)
{
	uint64_t done = s->nopen ? go_on(sa, s) : 0, end;

	done += refuse(sa, s);
	end = done + QUANTUM;

	while (done < end && s->nwaiting) {
		struct sa_waiting *w = sa_queue_take(&sa->queue, s);
		struct sa_header h;

		/* It was decoded when it came, and is as it was. */
		if (!sa_header_decode(&h, port_mad_bytes(&w->m), port_mad_len(&w->m)))
			done += begin(sa, s, &w->m, &h, QUANTUM);
		mem_free(w);
	}
	return done;
}

static void
on_turn(void *arg)
{
	struct sa *sa = arg;
	monotime until = loop_now(sa->env.loop) + TURN_TIME;
	struct sa_source *s;
	uint64_t done = 0;

	while (done < TURN && loop_now(sa->env.loop) < until && (s = sa_queue_next(&sa->queue)))
		done += serve(sa, s);
	if (sa_pending(sa))
		loop_timer_set(sa->turn, 0);
}

/* ---- What arrives ---- */

/* An answer that was not taken, or a Report that was not answered. */
static void
came_back(struct sa *sa, const struct port_mad *m)
{
	struct mad_header h;

	if (!mad_header_decode(&h, m->mad, sizeof(m->mad)) && h.method == MAD_REPORT)
		sa_informs_answered(sa->kept.informs, h.tid, false);
	else
		sa->count.dropped[SA_DROP_UNSENT]++;
}

/* Is it for us? If not it is counted, and that is all. */
static bool
is_question(struct sa *sa, const struct sa_header *h)
{
	uint64_t key = sa->env.conf(sa->env.arg)->sm_key;

	sa->count.requests++;
	if (!sa_response(h->h.method) || h->h.method == MAD_REPORT) {
		sa->count.dropped[SA_DROP_METHOD]++;
		return false;
	}
	if (h->sm_key && h->sm_key != key) {
		sa->count.dropped[SA_DROP_KEY]++;
		return false;
	}
	return true;
}

/* A port, whichever of its LIDs it uses; behind a router, which many use, a GID. */
static uint64_t
source_key(const struct sa *sa, const struct port_mad *m)
{
	const struct plan *p = sa->env.plan(sa->env.arg);
	uint32_t port = FABRIC_NONE;
	struct sa_gid gid;

	if (p && p->lids && m->lid <= p->lids->top)
		port = p->lids->dest[m->lid].port;
	if (port == FABRIC_NONE)
		return m->lid;
	if (!m->has_grh || p->fabric->nodes[p->fabric->ports[port].node].type != NODE_ROUTER)
		return p->lids->base[port];
	gid = sa_gid_get(m->grh.gid);
	return (gid.prefix * UINT64_C(0x9e3779b97f4a7c15)) ^ gid.guid;
}

/* Answer it here and now if little was to be done lately and nobody waits, else in its turn. */
static void
take(struct sa *sa, const struct port_mad *m, const struct sa_header *h)
{
	monotime now = loop_now(sa->env.loop);
	struct sa_source *s = sa_queue_source(&sa->queue, source_key(sa, m), now);

	if (now >= sa->window + WINDOW) {
		sa->window = now;
		sa->spent = 0;
	}
	if (!sa_queue_within(&s->asked, now, sa->env.conf(sa->env.arg)->sa_rate)) {
		say_busy(sa, s, m, h, SA_BUSY_RATE);
	} else if (!sa->queue.waiting && sa->spent < AT_ONCE) {
		sa->spent += begin(sa, s, m, h, AT_ONCE);
	} else if (sa_queue_put(&sa->queue, s, m)) {
		if (!loop_timer_pending(sa->turn))
			loop_timer_set(sa->turn, 0);
	} else {
		say_busy(sa, s, m, h, SA_BUSY_QUEUE);
	}
}

void
sa_request(struct sa *sa, const struct port_mad *m)
{
	struct sa_header h;

	if (m->status) {
		came_back(sa, m);
		return;
	}
	if (sa_header_decode(&h, port_mad_bytes(m), port_mad_len(m))) {
		sa->count.requests++;
		sa->count.dropped[SA_DROP_MALFORMED]++;
		return;
	}
	if (h.h.method == MAD_REPORT_RESP && sa_informs_answered(sa->kept.informs, h.h.tid, true))
		return;
	if (is_question(sa, &h))
		take(sa, m, &h);
}

void
sa_resigned(struct sa *sa)
{
	struct sa_source *s;

	sa->count.dropped[SA_DROP_RESIGNED] += sa_pending(sa);
	while ((s = sa_queue_next(&sa->queue))) {
		while (s->nopen)
			close_question(sa, list_entry(s->open.next, struct question, link));
		while (s->nwaiting)
			mem_free(sa_queue_take(&sa->queue, s));
		while (s->nrefused)
			mem_free(sa_queue_take_refused(&sa->queue, s));
	}
	sa->held = 0;
	sa_informs_resigned(sa->kept.informs);
	sa_absent_resigned(sa->absent);
}

/* ---- Events ---- */

void
sa_tell(struct sa *sa, const struct notice *n)
{
	const struct plan *p = sa->env.plan(sa->env.arg);
	struct sa_notice told = { .n = *n };
	uint32_t port = FABRIC_NONE;

	if (p && p->lids && n->issuer_lid && n->issuer_lid <= p->lids->top)
		port = p->lids->dest[n->issuer_lid].port;
	told.issuer_gid.prefix = sa->env.conf(sa->env.arg)->prefix;
	told.issuer_gid.guid = port == FABRIC_NONE ? 0 : p->fabric->ports[port].guid;
	sa_informs_tell(sa->kept.informs, &told);
}

void
sa_settled(struct sa *sa)
{
	plan_unref(sa->links.plan);
	sa->links = (struct sa_links){ 0 };
	sa_first_pkeys_forget(&sa->first_pkeys);
	sa_informs_settled(sa->kept.informs, sa->kept.aliases);
	sa_absent_settled(sa->absent);
}

/* ---- Life ---- */

struct sa *
sa_new(const struct sa_env *env)
{
	const struct sa_member broadcast = sa_broadcast(env->conf(env->arg));
	struct sa *sa = mem_zalloc(sizeof(*sa));

	sa->env = *env;
	sa_queue_init(&sa->queue);
	sa->turn = loop_timer_new(env->loop, on_turn, sa);
	sa_kept_init(&sa->kept, env);
	sa->groups = sa_groups_new(env->store, env->conf(env->arg)->name);
	sa_groups_add_permanent(sa->groups, &broadcast);
	sa_groups_load(sa->groups);
	sa->absent = sa_absent_new(&sa->kept, sa->groups);
	sa->copy = sa_copy_new(&sa->kept, sa->groups);
	return sa;
}

uint16_t
sa_take_row(struct sa *sa, enum store_table table, const char *key, const char *value)
{
	if (table == STORE_GROUPS)
		return sa_groups_take(sa->groups, key, value);
	sa_kept_take(&sa->kept, key, value);
	return 0;
}

struct sa_stood
sa_set_groups(struct sa *sa, const struct sa_member *list, uint32_t len)
{
	const struct plan *plan = sa->env.plan(sa->env.arg);
	struct sa_mlid_rules rules = sa_member_rules(sa->env.conf(sa->env.arg),
						     plan ? plan->fabric : NULL);
	struct sa_stood stood = sa_groups_stand(sa->groups, list, len, &rules);

	store_commit(sa->env.store, NULL, NULL);
	return stood;
}

void
sa_free(struct sa *sa)
{
	if (!sa)
		return;
	sa_resigned(sa);
	sa_queue_end(&sa->queue);
	loop_timer_free(sa->turn);
	plan_unref(sa->links.plan);
	sa_first_pkeys_forget(&sa->first_pkeys);
	sa_absent_free(sa->absent);
	sa_copy_free(sa->copy);
	sa_kept_free(&sa->kept);
	sa_groups_free(sa->groups);
	mem_free(sa);
}

void
sa_copy_begin(struct sa *sa)
{
	sa_copy_start(sa->copy);
}

bool
sa_copy_add(struct sa *sa, enum sa_copied kind, const uint8_t *record)
{
	return sa_copy_take(sa->copy, kind, record);
}

bool
sa_copy_end(struct sa *sa, enum sa_copied kind, uint32_t work)
{
	return sa_copy_finish(sa->copy, kind, work);
}

uint32_t
sa_services(const struct sa *sa)
{
	return sa_services_len(sa->kept.services);
}

uint32_t
sa_subscriptions(const struct sa *sa)
{
	return sa_informs_len(sa->kept.informs);
}

bool
sa_service_row(const struct sa *sa, uint64_t from, struct service_row *row)
{
	return sa_services_row(sa->kept.services, from, row);
}

bool
sa_subscription_row(const struct sa *sa, uint64_t from, struct subscription_row *row)
{
	return sa_informs_row(sa->kept.informs, from, row);
}

uint64_t
sa_base_guid(const struct sa *sa, uint64_t guid)
{
	uint64_t port = sa_aliases_port(sa->kept.aliases, guid);

	return port ? port : guid;
}

void
sa_each_alias(const struct sa *sa, void (*fn)(void *arg, uint64_t alias, uint64_t port), void *arg)
{
	sa_aliases_each(sa->kept.aliases, fn, arg);
}

bool
sa_guids(const struct sa *sa, uint64_t port_guid, unsigned block, uint64_t guids[8])
{
	return sa_aliases_block(sa->kept.aliases, port_guid, block, guids);
}

void
sa_guids_written(struct sa *sa, uint64_t port_guid, unsigned block)
{
	sa_aliases_written(sa->kept.aliases, port_guid, block);
	for (unsigned i = block * SA_GUID_BLOCK; i < (block + 1) * SA_GUID_BLOCK; i++)
		sa_informs_tell_alias(sa->kept.informs, sa->kept.aliases, port_guid, i, true);
}

const struct sa_groups *
sa_groups(const struct sa *sa)
{
	return sa->groups;
}

unsigned
sa_pending(const struct sa *sa)
{
	return sa->queue.waiting + sa->queue.refused + sa->queue.open;
}

const struct sa_counters *
sa_counters(const struct sa *sa)
{
	return &sa->count;
}

const struct sa_report_counters *
sa_report_counters(const struct sa *sa)
{
	return sa_informs_counters(sa->kept.informs);
}
