/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/sa/sa.h"

#include "sm/base/mem.h"
#include "sm/sa/alias.h"
#include "sm/sa/ask.h"

/*
 * The frame of each request (IBA volume 1, 15.2 to 15.4): who may ask, what is asked for, by which
 * kind of record it is answered, and the way back. Each kind is a row of `kinds`; what it tells is
 * its own file's. What clients leave lasts (kept.h), as do multicast groups (group.h); else nothing
 * does from one request to the next but the counters.
 */
struct sa {
	struct sa_env env;		/* what the owner lends */
	struct sa_counters count;	/* since sa_new() */
	struct sa_kept kept;		/* what clients left */
	struct sa_groups *groups;	/* multicast groups */
};

/* Room for the struct of any record. */
union any_record {
	struct sa_class_port_info class_port_info;
	struct sa_node node;
	struct sa_port port;
	struct sa_service service;
	struct sa_path path;
	uint64_t words[64];
};

static const struct sa_kind_ops *const kinds[] = {
	&sa_class_ops, &sa_node_ops, &sa_port_ops, &sa_switch_ops, &sa_lft_ops, &sa_sm_ops,
	&sa_link_ops, &sa_path_ops,
	&sa_service_ops, &sa_inform_info_ops, &sa_inform_ops,
	&sa_member_ops, &sa_guids_ops,
};

static bool
has_method(const struct sa_kind_ops *k, uint8_t method)
{
	switch (method) {
	case MAD_GET:
		return k->tell;
	case MAD_GET_TABLE:
		return k->table;
	case MAD_SET:
		return k->set;
	case MAD_DELETE:
		return k->drop;
	}
	return false;
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
finish(struct sa *sa, const struct port_mad *in, struct sa_ask *a)
{
	static const uint8_t none[SA_DATA_SIZE];
	bool table = a->h.h.method == MAD_GET_TABLE && !a->status;

	if (a->status) {
		a->out.len = SA_HEADER_SIZE;
		buf_add(&a->out, none, sizeof(none));
		a->hits = 0;
	}
	a->h.h.method = sa_response(a->h.h.method);
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
	send_answer(sa, in, a);
}

/* ---- The question ---- */

static void
look_up(struct sa_ask *a, const struct sa_kind_ops *k, const uint8_t *data, size_t size)
{
	union any_record want;

	if (sa_decode(k->type, &want, data, size)) {
		a->status = SA_STATUS_INVALID;
		return;
	}
	a->type = k->type;
	a->want = &want;
	sa_query_init(&a->query, k->type, &want, a->h.mask & ~k->own,
		      a->h.h.attr_mod >> 31 ? k->by_bits : 0);
	a->changes = a->h.h.method == MAD_SET || a->h.h.method == MAD_DELETE;
	if (!a->changes)
		k->tell(a);
	else if (a->h.h.method == MAD_SET)
		k->set(a);
	else
		k->drop(a);
	if (!a->status && !a->hits && a->h.h.method == MAD_GET)
		a->status = SA_STATUS_NO_RECORDS;
	a->want = NULL;
}

static void
answer(struct sa *sa, const struct port_mad *in, struct sa_ask *a)
{
	static const uint8_t head[SA_HEADER_SIZE];
	const struct sa_kind_ops *k = kind_of(&a->h);

	buf_add(&a->out, head, sizeof(head));
	if (a->h.h.class_version != SA_CLASS_VERSION)
		a->status = MAD_STATUS_BAD_VERSION;
	else if (!k)
		a->status = MAD_STATUS_BAD_ATTR;
	else if (!a->plan || !a->plan->lids)
		a->status = MAD_STATUS_BUSY;
	else
		look_up(a, k, port_mad_bytes(in) + SA_HEADER_SIZE,
			port_mad_len(in) - SA_HEADER_SIZE);
	finish(sa, in, a);
	buf_free(&a->out);
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

void
sa_request(struct sa *sa, const struct port_mad *m)
{
	uint64_t key = sa->env.conf(sa->env.arg)->sm_key;
	struct sa_ask a = { .env = &sa->env, .in = m, .kept = &sa->kept,
			    .groups = sa->groups };

	if (m->status) {
		came_back(sa, m);
		return;
	}
	if (sa_header_decode(&a.h, port_mad_bytes(m), port_mad_len(m))) {
		sa->count.requests++;
		sa->count.dropped[SA_DROP_MALFORMED]++;
		return;
	}
	if (a.h.h.method == MAD_REPORT_RESP &&
	    sa_informs_answered(sa->kept.informs, a.h.h.tid, true))
		return;
	sa->count.requests++;
	sa->count.by_method[a.h.h.method]++;
	sa->count.by_attr[a.h.h.attr_id & 255]++;
	if (!sa_response(a.h.h.method) || a.h.h.method == MAD_REPORT) {
		sa->count.dropped[SA_DROP_METHOD]++;
		return;
	}
	if (a.h.sm_key && a.h.sm_key != key) {
		sa->count.dropped[SA_DROP_KEY]++;
		return;
	}
	a.trusted = a.h.sm_key != 0;
	a.plan = sa->env.plan(sa->env.arg);
	a.f = a.plan ? a.plan->fabric : NULL;
	answer(sa, m, &a);
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
	sa_informs_settled(sa->kept.informs);
}

/* ---- Life ---- */

struct sa *
sa_new(const struct sa_env *env)
{
	struct sa *sa = mem_zalloc(sizeof(*sa));

	sa->env = *env;
	sa_kept_init(&sa->kept, env);
	sa->groups = sa_groups_new(env->store, env->conf(env->arg)->name);
	sa_member_broadcast(sa->groups, env->conf(env->arg));
	sa_groups_load(sa->groups);
	return sa;
}

void
sa_free(struct sa *sa)
{
	if (!sa)
		return;
	sa_kept_free(&sa->kept);
	sa_groups_free(sa->groups);
	mem_free(sa);
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
