/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Clients of subnet administration, as hosts have them: they join groups, offer services, subscribe
 * to events and ask for alias GUIDs, once; what was acknowledged they take for granted, until they
 * are asked to register again (ClientReregister) or their port was down. At rest everything that
 * they take for granted is to be there, and nothing else of theirs.
 */
#include "tests/unit/harness.h"

#include <stdio.h>
#include <string.h>
#include "sim/direct.h"
#include "sm/base/mem.h"
#include "sm/sa/group.h"
#include "sm/sa/sa.h"
#include "sm/wire/sa.h"
#include "sm/wire/sa_record.h"

#define GROUPS 4u
#define REGISTRATIONS (GROUPS + 3)	/* groups, a service, a subscription, an alias */
#define SERVICE GROUPS
#define SUBSCRIPTION (GROUPS + 1)
#define ALIAS (GROUPS + 2)
#define PATIENCE 120u			/* times that a client asks again, */
#define PAUSE MSEC(250)			/* so much later */

struct registration {
	bool known;		/* it was asked for, once */
	bool wanted;		/* the last request was to set it, else to delete it */
	bool sure;		/* it was acknowledged */
	uint32_t tid;		/* of the last request */
};

struct harness_client {
	struct harness_run *run;	/* of which it is a part */
	struct port *port;		/* its own */
	uint32_t node;			/* where it is */
	unsigned number;		/* which of the clients */
	unsigned reregisters;		/* that it has obeyed */
	uint32_t tid;			/* of its last request */
	struct registration reg[REGISTRATIONS];
};

static void
doubt(struct harness_client *c)
{
	for (unsigned i = 0; i < REGISTRATIONS; i++)
		c->reg[i].sure = false;
}

/* ---- Asking ---- */

static struct sa_gid
gid_of(const struct harness_client *c)
{
	return (struct sa_gid){ UINT64_C(0xfe80000000000000),
				model_port_guid(c->run->b->m, c->node, 1) };
}

static struct sa_gid
mgid_of(unsigned i)
{
	return (struct sa_gid){ UINT64_C(0xff15401bffff0000), 0x0a000001 + i };
}

static uint64_t
alias_of(const struct harness_client *c)
{
	return UINT64_C(0xa11a5000) + c->number;
}

static void
send_request(struct harness_client *c, struct registration *reg, const struct sa_type *t,
	     const void *record, uint64_t mask)
{
	struct port_mad m = { .qp = 1, .timeout_ms = 200 };
	struct sa_header h = {
		.h = { .tid = ++c->tid, .attr_id = t->id, .base_version = 1,
		       .mgmt_class = MAD_CLASS_SUBN_ADM, .class_version = 2,
		       .method = reg->wanted ? MAD_SET : MAD_DELETE },
		.mask = mask,
	};

	if (t == &sa_inform_info_type)
		h.h.method = MAD_SET;
	reg->tid = c->tid;
	reg->known = true;
	reg->sure = false;
	m.lid = model_portinfo(c->run->b->m, c->node, 1)->sm_lid;
	if (!m.lid)
		return;
	sa_header_encode(&h, m.mad);
	sa_encode(t, record, m.mad + SA_HEADER_SIZE);
	(void)port_send(c->port, &m);
}

static void
ask_group(struct harness_client *c, unsigned i)
{
	struct sa_member r = { .mgid = mgid_of(i), .port_gid = gid_of(c), .qkey = 0x0b1b,
			       .pkey = 0xffff, .join_state = SA_JOIN_FULL };
	uint64_t mask = SA_BIT(SA_MEMBER_MGID) | SA_BIT(SA_MEMBER_PORT_GID) |
		SA_BIT(SA_MEMBER_JOIN_STATE);

	if (c->reg[i].wanted)
		mask |= SA_BIT(SA_MEMBER_QKEY) | SA_BIT(SA_MEMBER_TCLASS) |
			SA_BIT(SA_MEMBER_PKEY) | SA_BIT(SA_MEMBER_FLOW_LABEL) |
			SA_BIT(SA_MEMBER_SL);
	send_request(c, &c->reg[i], &sa_member_type, &r, mask);
}

static void
ask(struct harness_client *c, unsigned i)
{
	struct sa_service service = { .id = c->number, .gid = gid_of(c), .pkey = 0xffff,
				      .lease = SA_LEASE_INFINITE, .name = "harness" };
	struct sa_inform_info inform = {
		.lid_first = SA_INFORM_ALL_LIDS, .generic = 1, .subscribe = c->reg[i].wanted,
		.type = SA_INFORM_ALL_TYPES, .producer = SA_INFORM_ALL_PRODUCERS,
		.trap = SA_INFORM_ALL_TRAPS, .qpn = 1,
	};
	struct sa_guids guids = { .lid = model_portinfo(c->run->b->m, c->node, 1)->lid };

	if (i < GROUPS) {
		ask_group(c, i);
	} else if (i == SERVICE) {
		send_request(c, &c->reg[i], &sa_service_type, &service,
			     SA_BIT(SA_SERVICE_ID) | SA_BIT(SA_SERVICE_GID) |
			     SA_BIT(SA_SERVICE_PKEY) | SA_BIT(SA_SERVICE_LEASE) |
			     SA_BIT(SA_SERVICE_NAME));
	} else if (i == SUBSCRIPTION) {
		send_request(c, &c->reg[i], &sa_inform_info_type, &inform, 0);
	} else {
		guids.guids[1] = alias_of(c);
		send_request(c, &c->reg[i], &sa_guids_type, &guids, SA_BIT(SA_GUIDS_LID) |
			     SA_BIT(SA_GUIDS_BLOCK) | SA_BIT(SA_GUIDS_FIRST + 1));
	}
}

bool
harness_client_ask(struct harness_run *r, unsigned client, enum harness_kind kind, uint32_t what)
{
	struct harness_client *c = &r->clients[client];
	unsigned i = what % GROUPS;

	if (kind >= HARNESS_ALIAS)
		i = ALIAS;
	else if (kind >= HARNESS_SUBSCRIBE)
		i = SUBSCRIPTION;
	else if (kind >= HARNESS_SERVICE)
		i = SERVICE;
	c->reg[i].wanted = (kind - HARNESS_JOIN) % 2 == 0;
	ask(c, i);
	return true;
}

/* ---- Answers ---- */

/* Deleting what is not there is refused, and as good. */
static void
answered(struct harness_client *c, uint32_t tid, uint16_t status)
{
	for (unsigned i = 0; i < REGISTRATIONS; i++)
		if (c->reg[i].known && c->reg[i].tid == tid) {
			c->reg[i].sure = !status ||
				(!c->reg[i].wanted && status != MAD_STATUS_BUSY);
			harness_say(c->run, "client %u: registration %u, %s: status 0x%x",
				    c->number, i, c->reg[i].wanted ? "set" : "delete", status);
		}
}

static void
report(struct harness_client *c, const struct port_mad *m)
{
	struct port_mad out = { .qp = 1, .lid = m->lid, .remote_qp = m->remote_qp };

	memcpy(out.mad, m->mad, MAD_SIZE);
	out.mad[3] = MAD_REPORT_RESP;
	(void)port_send(c->port, &out);
}

static void
on_receive(void *arg, const struct port_mad *m)
{
	struct harness_client *c = arg;
	struct sa_header h;

	if (m->status || sa_header_decode(&h, port_mad_bytes(m), port_mad_len(m)))
		return;
	if (h.h.method == MAD_REPORT)
		report(c, m);
	else if (h.h.method & MAD_RESPONSE &&
		 !harness_query_answered(c->run, c->number, &h, port_mad_bytes(m)))
		answered(c, (uint32_t)h.h.tid, h.h.status);
}

/* Hosts register again when their port comes up. */
static void
on_state(void *arg, bool up, const char *why)
{
	(void)up;
	(void)why;
	doubt(arg);
}

void
harness_clients_new(struct harness_run *r)
{
	r->clients = mem_array(HARNESS_CLIENTS, sizeof(*r->clients));
	for (unsigned i = 0; i < HARNESS_CLIENTS; i++) {
		struct harness_client *c = &r->clients[i];
		struct port_events ev = { .receive = on_receive, .state = on_state, .arg = c };
		struct error e;

		c->run = r;
		c->number = i;
		c->node = r->hosts[HARNESS_SMS + i];
		if (direct_open(&c->port, r->b->m, c->node, 1, &ev, &e))
			harness_wrong(r, "client: %s", e.text);
	}
}

void
harness_client_send(struct harness_run *r, unsigned client, const struct port_mad *m)
{
	(void)port_send(r->clients[client].port, m);
}

void
harness_clients_free(struct harness_run *r)
{
	for (unsigned i = 0; r->clients && i < HARNESS_CLIENTS; i++)
		if (r->clients[i].port)
			port_close(r->clients[i].port);
	mem_free(r->clients);
}

/* ---- At rest ---- */

static bool
is_member(const struct sa *sa, unsigned group, uint64_t guid)
{
	struct sa_gid mgid = mgid_of(group);
	const struct sa_group *g = sa_groups_find(sa_groups(sa), &mgid);

	for (uint32_t k = 0; g && k < g->len; k++)
		if (g->joins[k].gid.guid == guid && g->joins[k].state & SA_JOIN_FULL)
			return true;
	return false;
}

static bool
offers(const struct subnet *s, const struct harness_client *c, uint64_t guid)
{
	struct service_row row = { 0 };

	while (subnet_service(s, row.next, &row))
		if (row.id == c->number && row.gid[1] == guid)
			return true;
	return false;
}

static bool
subscribes(const struct subnet *s, uint64_t guid)
{
	struct subscription_row row = { 0 };

	while (subnet_subscription(s, row.next, &row))
		if (row.guid == guid)
			return true;
	return false;
}

static bool
is_there(const struct harness_client *c, const struct subnet *s, unsigned i)
{
	uint64_t guid = gid_of(c).guid;

	if (i < GROUPS)
		return is_member(s->sa, i, guid);
	if (i == SERVICE)
		return offers(s, c, guid);
	if (i == SUBSCRIPTION)
		return subscribes(s, guid);
	return model_guid(c->run->b->m, c->node, 1, 1) == alias_of(c);
}

static const char *
name_of(unsigned i)
{
	return i < GROUPS ? "group" : i == SERVICE ? "service" : i == SUBSCRIPTION ?
		"subscription" : "alias";
}

/* Ask again whatever is not acknowledged; how much that is. */
static unsigned
ask_again(struct harness_client *c)
{
	unsigned n = 0, told = model_reregisters(c->run->b->m, c->node, 1);

	if (told != c->reregisters)
		doubt(c);
	c->reregisters = told;
	for (unsigned i = 0; i < REGISTRATIONS; i++)
		if (c->reg[i].known && !c->reg[i].sure) {
			ask(c, i);
			n++;
		}
	return n;
}

static bool
settled(struct harness_client *c, const struct subnet *s)
{
	for (unsigned i = 0; i < REGISTRATIONS; i++)
		if (c->reg[i].known && (!c->reg[i].sure || (i == ALIAS &&
				is_there(c, s, i) != c->reg[i].wanted)))
			return false;
	return true;
}

static void
check(struct harness_client *c, const struct subnet *s)
{
	for (unsigned i = 0; i < REGISTRATIONS; i++) {
		const struct registration *reg = &c->reg[i];

		if (!reg->known)
			continue;
		c->run->counts->registrations++;
		if (!reg->sure)
			harness_wrong(c->run, "client: %s of %s is not acknowledged", name_of(i),
				      c->run->b->net->nodes[c->node].name);
		else if (is_there(c, s, i) != reg->wanted)
			harness_wrong(c->run, "lost: %s %u of %s was acknowledged and is %s",
				      name_of(i), i, c->run->b->net->nodes[c->node].name,
				      reg->wanted ? "not there" : "still there");
	}
}

void
harness_clients_rest(struct harness_run *r)
{
	struct harness_sm *h = harness_master(r);

	for (unsigned i = 0; h && i < HARNESS_CLIENTS; i++) {
		struct harness_client *c = &r->clients[i];

		if (!bed_healthy(h->sm, c->node))
			continue;
		for (unsigned n = 0; n < PATIENCE && (ask_again(c), !settled(c, h->sm->s)); n++)
			harness_wait(r, PAUSE, NULL);
		check(c, h->sm->s);
	}
}
