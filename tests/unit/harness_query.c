/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Questions while things fail: hosts ask for paths to others (PathRecord, IBA volume 1, 15.2.5.16)
 * as faults strike and as tables are written. A pair that cables join as the plan in force knows
 * them has a path, and is told the one of that plan or of a newer one; and the answer comes, as
 * long as packets get from the host to the manager and back.
 *
 * A question is asked again while there is no answer. It is dropped when somebody else comes to
 * lead, or cables join the pair no more. Nothing is asked while devices or cables lose or delay
 * MADs: so no question draws from the generator that decides which, and a schedule goes the same
 * way with questions as without.
 */
#include "tests/unit/harness.h"

#include <inttypes.h>
#include <string.h>
#include "sim/model/model_impl.h"
#include "sm/base/mem.h"
#include "sm/fabric/plan.h"
#include "sm/wire/sa.h"
#include "sm/wire/sa_record.h"

#define AGAIN MSEC(50)			/* later it is asked again, */
#define TRIES 20u			/* so often */
#define TID (UINT32_C(1) << 31)		/* of questions; registrations have small ones */

struct harness_query {
	struct harness_run *run;	/* of which it is a part */
	struct loop_timer *timer;	/* asks again; pending while there is no answer */
	const struct plan *plan;	/* in force when it was asked; NULL: nothing is asked */
	unsigned leader;		/* and who led */
	unsigned client;		/* who asks */
	uint32_t from, to;		/* nodes */
	uint32_t tid;			/* of the last try */
	unsigned tries;			/* so far */
};

static void
drop(struct harness_query *q)
{
	loop_timer_cancel(q->timer);
	plan_unref(q->plan);
	q->plan = NULL;
}

/* ---- May it be asked? ---- */

static bool
is_odd(const struct sim_node *n)
{
	if (n->drop_ppm || n->guid != n->ib->guid)
		return true;
	for (unsigned p = 0; p <= n->nports; p++) {
		const struct link_faults *f = p ? n->ports[p].faults : NULL;

		if (n->ports[p].guid != n->ib->ports[p].guid || (f && (f->loss_ppm || f->delay)))
			return true;
	}
	return false;
}

/* MADs are lost or late, answers are wrong, or two claim one GUID. */
static bool
is_disturbed(const struct harness_run *r)
{
	if (r->damage)
		return true;
	for (uint32_t n = 0; n < r->b->net->nnodes; n++)
		if (is_odd(&r->b->m->nodes[n]))
			return true;
	return false;
}

/* Packets get from the host to the manager that it knows, and back. */
static bool
is_heard(const struct harness_run *r, const struct harness_query *q, const struct harness_sm *h)
{
	const struct portinfo *from = model_portinfo(r->b->m, q->from, 1);
	const struct portinfo *sm = model_portinfo(r->b->m, h->sm->node, 1);

	return from->lid && sm->lid && from->sm_lid == sm->lid &&
		harness_judge_arrives(r, q->from, h->sm->node, sm->lid, from->sm_sl) &&
		harness_judge_arrives(r, h->sm->node, q->from, from->lid, from->sm_sl);
}

static uint32_t
port_in(const struct harness_run *r, const struct plan *p, uint32_t node)
{
	return fabric_port_by_guid(p->fabric, model_port_guid(r->b->m, node, 1));
}

/* The nodes behind the links of a node that are not marked yet. */
static void
mark_next(const struct fabric *f, uint32_t node, bool *seen, uint32_t *queue, uint32_t *len)
{
	for (unsigned p = 0; p <= f->nodes[node].nports; p++) {
		const struct fabric_port *port = fabric_port_at(f, node, p);
		uint32_t next;

		if (port->peer == FABRIC_NONE)
			continue;
		next = f->ports[port->peer].node;
		if (!seen[next])
			queue[(*len)++] = next;
		seen[next] = true;
	}
}

/* By a switch that is silent, whose table is what it is. */
static bool
is_held_up(const struct plan *p)
{
	for (uint32_t sw = 0; p->fixed && sw < p->fabric->nswitches; sw++)
		if (p->fixed[sw])
			return true;
	return false;
}

/* The plan has addresses for both hosts, and knows cables that join them over switches. */
static bool
is_joined(const struct harness_run *r, const struct plan *p, uint32_t from, uint32_t to)
{
	uint32_t a = port_in(r, p, from), b = port_in(r, p, to), len = 0;
	const struct fabric *f = p->fabric;
	uint32_t *queue;
	bool *seen, joined;

	/* Who asks by another's address is not known. */
	if (a == FABRIC_NONE || b == FABRIC_NONE || !p->lids->base[b] || is_held_up(p) ||
	    p->lids->base[a] != model_portinfo(r->b->m, from, 1)->lid)
		return false;
	queue = mem_array(f->nnodes, sizeof(*queue));
	seen = mem_array(f->nnodes, sizeof(*seen));
	seen[f->ports[a].node] = true;
	mark_next(f, f->ports[a].node, seen, queue, &len);
	for (uint32_t i = 0; i < len; i++)
		if (f->nodes[queue[i]].sw != FABRIC_NONE)
			mark_next(f, queue[i], seen, queue, &len);
	joined = seen[f->ports[b].node];
	mem_free(queue);
	mem_free(seen);
	return joined;
}

/* Cables join both to who leads, and it is known what tables are in. */
static struct harness_sm *
leader_of(struct harness_run *r, const struct harness_query *q)
{
	struct harness_sm *h = harness_master(r);
	unsigned masters = 0;

	for (unsigned i = 0; i < r->nsms; i++)
		masters += r->sms[i].sm->s && r->sms[i].sm->s->role == ROLE_MASTER;
	return masters == 1 && h->sm->s->plan && !h->sm->s->outdated &&
		bed_healthy(h->sm, q->from) && bed_healthy(h->sm, q->to) ? h : NULL;
}

static uint32_t
choose_host(const struct harness_run *r, uint32_t from, uint64_t a)
{
	uint32_t len = 0;

	for (uint32_t n = 0; n < r->b->net->nnodes; n++)
		if (!harness_is_switch(r, n) && n != from)
			r->list[len++] = n;
	return r->list[a % len];
}

/* ---- Asking ---- */

static struct sa_gid
gid_of(const struct harness_run *r, uint32_t node)
{
	return (struct sa_gid){ UINT64_C(0xfe80000000000000), model_port_guid(r->b->m, node, 1) };
}

static void
send_question(struct harness_query *q)
{
	struct harness_run *r = q->run;
	const struct portinfo *i = model_portinfo(r->b->m, q->from, 1);
	struct port_mad m = { .qp = 1, .timeout_ms = 200, .lid = i->sm_lid, .sl = i->sm_sl };
	struct sa_path path = {
		.sgid = gid_of(r, q->from), .dgid = gid_of(r, q->to), .numb_path = 1,
		.reversible = true,
	};
	struct sa_header h = {
		.h = { .tid = q->tid = TID | ++r->questions, .attr_id = sa_path_type.id,
		       .base_version = 1, .mgmt_class = MAD_CLASS_SUBN_ADM, .class_version = 2,
		       .method = MAD_GET },
		.mask = SA_BIT(SA_PATH_SGID) | SA_BIT(SA_PATH_DGID) | SA_BIT(SA_PATH_NUMB_PATH) |
			SA_BIT(SA_PATH_REVERSIBLE),
	};

	q->tries++;
	sa_header_encode(&h, m.mad);
	sa_encode(&sa_path_type, &path, m.mad + SA_HEADER_SIZE);
	harness_client_send(r, q->client, &m);
	loop_timer_set(q->timer, AGAIN);
}

/* There is no answer yet. */
static void
on_timer(void *arg)
{
	struct harness_query *q = arg;
	struct harness_run *r = q->run;
	struct harness_sm *h = leader_of(r, q);

	if (!h || (unsigned)(h - r->sms) != q->leader || is_disturbed(r) || !is_heard(r, q, h))
		drop(q);
	else if (q->tries < TRIES)
		send_question(q);
	else
		harness_wrong(r, "unanswered: %s asks for a path to %s, and manager %u, which it "
			      "reaches, says nothing", r->b->net->nodes[q->from].name,
			      r->b->net->nodes[q->to].name, q->leader);
}

void
harness_query_ask(struct harness_run *r)
{
	if (is_disturbed(r))
		return;
	for (unsigned i = 0; i < HARNESS_CLIENTS; i++) {
		struct harness_query *q = &r->queries[i];
		struct harness_sm *h;

		if (q->plan)
			continue;
		q->to = choose_host(r, q->from, harness_mix(r->questions, i));
		h = leader_of(r, q);
		if (!h || !is_heard(r, q, h) || !is_joined(r, h->sm->s->plan, q->from, q->to))
			continue;
		q->plan = plan_ref(h->sm->s->plan);
		q->leader = (unsigned)(h - r->sms);
		q->tries = 0;
		r->counts->questions++;
		send_question(q);
	}
}

/* ---- Answers ---- */

/* It is a path of this plan. */
static bool
is_of(const struct harness_query *q, const struct plan *p, const struct sa_path *path)
{
	const struct plan_lids *l = p->lids;

	return path->slid && path->slid <= l->top && path->dlid && path->dlid <= l->top &&
		l->dest[path->slid].port == port_in(q->run, p, q->from) &&
		l->dest[path->dlid].port == port_in(q->run, p, q->to) &&
		path->sl == plan_path_sl(p, &l->dest[path->slid], &l->dest[path->dlid]);
}

/* What the plan in force has to say of the pair, for people. */
static void
say_why(const struct harness_query *q, const struct plan *p)
{
	const struct harness_run *r = q->run;
	uint16_t a = p->lids->base[port_in(r, p, q->from)], b = p->lids->base[port_in(r, p, q->to)];
	const struct plan_check *c = &p->check;
	struct plan_path way;
	struct error e;

	harness_say(r, "  %s plan, pairs %" PRIu64 ", unreachable %" PRIu64 ", loops %" PRIu64,
		    p == q->plan ? "the same" : "another", (uint64_t)c->pairs,
		    (uint64_t)c->unreachable, (uint64_t)c->loops);
	if (plan_path(p, a, b, &way, &e))
		harness_say(r, "  LID %u to %u: %s", a, b, e.text);
	if (plan_path(p, b, a, &way, &e))
		harness_say(r, "  LID %u to %u: %s", b, a, e.text);
}

/* Cables may be known to be lost since it asked. */
static void
judge(struct harness_query *q, const struct plan *now, uint16_t status, const uint8_t *mad)
{
	struct harness_run *r = q->run;
	const char *from = r->b->net->nodes[q->from].name, *to = r->b->net->nodes[q->to].name;
	struct sa_path path;

	if (!is_joined(r, now, q->from, q->to))
		return;
	r->counts->answers++;
	if (status)
		say_why(q, now);
	if (status)
		harness_wrong(r, "no path: %s asks for a path to %s, which the plan has, and is "
			      "answered with status 0x%x", from, to, status);
	else if (sa_decode(&sa_path_type, &path, mad + SA_HEADER_SIZE, SA_DATA_SIZE))
		harness_wrong(r, "no path: %s is told nonsense of %s", from, to);
	else if (!is_of(q, q->plan, &path) && !is_of(q, now, &path))
		harness_wrong(r, "wrong path: %s to %s is LID %u to %u on SL %u, by no plan", from,
			      to, path.slid, path.dlid, path.sl);
}

bool
harness_query_answered(struct harness_run *r, unsigned client, const struct sa_header *h,
		       const uint8_t *mad)
{
	struct harness_query *q = &r->queries[client];
	struct harness_sm *sm;

	if (!((uint32_t)h->h.tid & TID))
		return false;
	if (!q->plan || (uint32_t)h->h.tid != q->tid || h->h.status == MAD_STATUS_BUSY)
		return true;
	sm = leader_of(r, q);
	if (sm && (unsigned)(sm - r->sms) == q->leader)
		judge(q, sm->sm->s->plan, h->h.status, mad);
	drop(q);
	return true;
}

/* What the manager sends says nothing of what it is at. */
bool
harness_query_is_answer(const struct port_mad *m)
{
	const uint8_t *mad = port_mad_bytes(m);

	return mad[1] == MAD_CLASS_SUBN_ADM && (mad[16] << 8 | mad[17]) == sa_path_type.id;
}

/* ---- Life ---- */

void
harness_queries_new(struct harness_run *r)
{
	r->queries = mem_array(HARNESS_CLIENTS, sizeof(*r->queries));
	for (unsigned i = 0; i < HARNESS_CLIENTS; i++) {
		struct harness_query *q = &r->queries[i];

		q->run = r;
		q->client = i;
		q->from = r->hosts[HARNESS_SMS + i];
		q->timer = loop_timer_new(r->b->loop, on_timer, q);
	}
}

void
harness_queries_free(struct harness_run *r)
{
	for (unsigned i = 0; r->queries && i < HARNESS_CLIENTS; i++) {
		drop(&r->queries[i]);
		loop_timer_free(r->queries[i].timer);
	}
	mem_free(r->queries);
}
