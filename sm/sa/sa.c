/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/sa/sa.h"

#include <string.h>
#include "sm/base/list.h"
#include "sm/base/mem.h"
#include "sm/sa/alias.h"
#include "sm/sa/ask.h"

/*
 * The frame of each request (IBA volume 1, 15.2 to 15.4): who may ask, what is asked for, by which
 * kind of record it is answered, and the way back. Each kind is a row of `kinds`; what it tells is
 * its own file's. What clients leave lasts (kept.h), as do multicast groups (group.h).
 *
 * A question is made where it arrives and nearly always answered there. One that takes longer than
 * its first slice moves into `open`, with the plan that it began with, and a timer gives each of
 * these a slice in turn.
 */
#define SLICE 4096		/* units of work */

struct sa {
	struct sa_env env;		/* what the owner lends */
	struct sa_counters count;	/* since sa_new() */
	struct list open;		/* of struct question; the next in turn first */
	size_t held;			/* bytes of the answers in `open` */
	struct loop_timer *turn;	/* for the next slice of what is open */
	struct sa_kept kept;		/* what clients left */
	struct sa_groups *groups;	/* multicast groups */
	struct sa_absent *absent;	/* and their members whose ports are gone */
	struct sa_links links;		/* between switches */
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
	struct list link;		/* in sa.open, or nowhere */
	struct sa_ask a;		/* it, and its answer as it grows */
	const struct sa_kind_ops *kind;	/* of what it asks for; NULL: nothing that there is */
	union any_record want;		/* the record asked for */
	struct port_mad in;		/* the request, once it is open */
	uint8_t *data;			/* of a long request, owned, once it is open; NULL */
};

static const struct sa_kind_ops *const kinds[] = {
	&sa_class_ops, &sa_node_ops, &sa_port_ops, &sa_switch_ops, &sa_lft_ops, &sa_sm_ops,
	&sa_link_ops, &sa_path_ops, &sa_multipath_ops, &sa_trace_ops,
	&sa_service_ops, &sa_inform_info_ops, &sa_inform_ops,
	&sa_member_ops, &sa_guids_ops,
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

static void
send_answer(struct sa *sa, const struct port_mad *in, struct sa_ask *a)
{
	struct port_mad out = { 0 };

	port_answer_to(&out, in);
	out.data = (const uint8_t *)a->out.data;
	out.len = (uint32_t)a->out.len;
	if (a->h.h.status)
		sa->count.refused++;
	else
		sa->count.answered++;
	sa->count.records += a->hits;
	if (!a->h.h.status && a->changes) {
		sa_kept_answer(&sa->kept, &out, (uint8_t *)a->out.data);
		a->out = (struct buf){ 0 };
		return;
	}
	if (sa->env.send(sa->env.arg, &out))
		sa->count.dropped[SA_DROP_UNSENT]++;
}

/* The header of the answer stands at the beginning of a->out, where there is room for it. */
static void
finish(struct sa *sa, struct sa_ask *a)
{
	static const uint8_t none[SA_DATA_SIZE];
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
	send_answer(sa, a->in, a);
	buf_free(&a->out);
}

/* ---- Questions that take longer ---- */

static void
close_question(struct sa *sa, struct question *q)
{
	list_remove(&q->link);
	sa->count.open--;
	plan_unref(q->a.plan);
	buf_free(&q->a.out);
	mem_free(q->data);
	mem_free(q);
}

/* A slice of the first one; then the others' turn comes. */
static void
on_turn(void *arg)
{
	struct sa *sa = arg;
	struct question *q = list_entry(sa->open.next, struct question, link);

	if (list_empty(&sa->open))
		return;
	sa->held -= q->a.out.len;
	sa_slice(&q->a, SLICE);
	q->kind->tell(&q->a);
	if (q->a.paused) {
		sa->held += q->a.out.len;
		list_remove(&q->link);
		list_append(&sa->open, &q->link);
	} else {
		finish(sa, &q->a);
		close_question(sa, q);
	}
	if (!list_empty(&sa->open))
		loop_timer_set(sa->turn, 0);
}

static bool
may_open(const struct sa *sa, uint16_t lid)
{
	unsigned len = 0;

	list_each(it, &sa->open)
		len += list_entry(it, struct question, link)->in.lid == lid;
	return len < SA_OPEN_PER_SOURCE && sa->count.open < SA_OPEN_MAX;
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
	q->a.want = q->a.query.want = &q->want;
	plan_ref(q->a.plan);
	sa->held += q->a.out.len;
	sa->count.open++;
	if (list_empty(&sa->open))
		loop_timer_set(sa->turn, 0);
	list_append(&sa->open, &q->link);
}

/* ---- The question ---- */

static void
look_up(struct question *q)
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
	sa_slice(a, SLICE);
	if (!a->changes)
		k->tell(a);
	else if (a->h.h.method == MAD_SET)
		k->set(a);
	else
		k->drop(a);
}

static void
answer(struct sa *sa, struct question *q)
{
	static const uint8_t head[SA_HEADER_SIZE];
	struct sa_ask *a = &q->a;

	buf_add(&a->out, head, sizeof(head));
	if (a->h.h.class_version != SA_CLASS_VERSION)
		a->status = MAD_STATUS_BAD_VERSION;
	else if (!q->kind)
		a->status = MAD_STATUS_BAD_ATTR;
	else if (!a->plan || !a->plan->lids)
		a->status = MAD_STATUS_BUSY;
	else
		look_up(q);
	if (a->paused && may_open(sa, a->in->lid)) {
		open_question(sa, q);
		return;
	}
	if (a->paused) {
		a->status = MAD_STATUS_BUSY;
		sa->count.busy++;
	}
	finish(sa, a);
}

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
	sa->count.by_method[h->h.method]++;
	sa->count.by_attr[h->h.attr_id & 255]++;
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

void
sa_request(struct sa *sa, const struct port_mad *m)
{
	struct question q = {
		.a = { .env = &sa->env, .in = m, .kept = &sa->kept, .groups = sa->groups,
		       .held = &sa->held, .links = &sa->links },
	};
	struct sa_ask *a = &q.a;

	if (m->status) {
		came_back(sa, m);
		return;
	}
	if (sa_header_decode(&a->h, port_mad_bytes(m), port_mad_len(m))) {
		sa->count.requests++;
		sa->count.dropped[SA_DROP_MALFORMED]++;
		return;
	}
	if (a->h.h.method == MAD_REPORT_RESP &&
	    sa_informs_answered(sa->kept.informs, a->h.h.tid, true))
		return;
	if (!is_question(sa, &a->h))
		return;
	a->trusted = a->h.sm_key != 0;
	a->plan = sa->env.plan(sa->env.arg);
	a->f = a->plan ? a->plan->fabric : NULL;
	q.kind = kind_of(&a->h);
	answer(sa, &q);
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
	sa_informs_settled(sa->kept.informs);
	sa_absent_settled(sa->absent);
}

/* ---- Life ---- */

struct sa *
sa_new(const struct sa_env *env)
{
	struct sa *sa = mem_zalloc(sizeof(*sa));

	sa->env = *env;
	list_init(&sa->open);
	sa->turn = loop_timer_new(env->loop, on_turn, sa);
	sa_kept_init(&sa->kept, env);
	sa->groups = sa_groups_new(env->store, env->conf(env->arg)->name);
	sa_member_broadcast(sa->groups, env->conf(env->arg));
	sa_groups_load(sa->groups);
	sa->absent = sa_absent_new(&sa->kept, sa->groups);
	return sa;
}

void
sa_free(struct sa *sa)
{
	if (!sa)
		return;
	list_each(it, &sa->open)
		close_question(sa, list_entry(it, struct question, link));
	loop_timer_free(sa->turn);
	plan_unref(sa->links.plan);
	sa_absent_free(sa->absent);
	sa_kept_free(&sa->kept);
	sa_groups_free(sa->groups);
	mem_free(sa);
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

bool
sa_guids(const struct sa *sa, uint64_t port_guid, unsigned block, uint64_t guids[8])
{
	return sa_aliases_block(sa->kept.aliases, port_guid, block, guids);
}

void
sa_guids_written(struct sa *sa, uint64_t port_guid, unsigned block)
{
	sa_aliases_written(sa->kept.aliases, port_guid, block);
}

const struct sa_groups *
sa_groups(const struct sa *sa)
{
	return sa->groups;
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
