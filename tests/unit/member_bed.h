/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_MEMBER_BED_H
#define TESTS_MEMBER_BED_H

#include "sm/sa/group.h"
#include "tests/unit/sa_bed.h"

/*
 * Clients that join and leave multicast groups, one after the other or a crowd of them in all parts
 * of a fat tree, and packets to a group that are counted where they arrive.
 */
#define JOIN (SA_BIT(SA_MEMBER_MGID) | SA_BIT(SA_MEMBER_PORT_GID) | SA_BIT(SA_MEMBER_JOIN_STATE))
#define CREATE (JOIN | SA_BIT(SA_MEMBER_QKEY) | SA_BIT(SA_MEMBER_TCLASS) | \
		SA_BIT(SA_MEMBER_PKEY) | SA_BIT(SA_MEMBER_FLOW_LABEL) | SA_BIT(SA_MEMBER_SL))
#define CLIENTS 6

static const struct sa_gid broadcast = { UINT64_C(0xff12401bffff0000), UINT64_C(0xffffffff) };
static const struct sa_gid mine = { UINT64_C(0xff15401bffff0000), UINT64_C(0x0a000001) };

/* One more client of the same fabric. */
static inline void
client(struct sa_bed *c, const struct sa_bed *first, const char *name)
{
	struct port_events ev = { .receive = sa_bed_receive, .state = sa_bed_state, .arg = c };
	struct error e;

	*c = (struct sa_bed){ .version = SA_CLASS_VERSION, .sm = first->sm };
	c->node = bed_node(c->sm->bed, name);
	assert_int_equal(direct_open(&c->port, c->sm->bed->m, c->node, 1, &ev, &e), 0);
	bed_wait(c->sm->bed, MSEC(10));
}

static inline void
client_free(struct sa_bed *c)
{
	port_close(c->port);
	free(c->data);
}

static inline struct sa_gid
gid_of(const struct sa_bed *b)
{
	return (struct sa_gid){ UINT64_C(0xfe80000000000000),
				model_port_guid(b->sm->bed->m, b->node, 1) };
}

static inline struct sa_member
request(const struct sa_bed *b, const struct sa_gid *mgid, uint8_t state)
{
	return (struct sa_member){
		.mgid = *mgid, .port_gid = gid_of(b), .qkey = 0x0b1b, .pkey = 0xffff,
		.join_state = state,
	};
}

/* The status; what is answered goes to *r. */
static inline uint16_t
change(struct sa_bed *b, uint8_t method, struct sa_member *r, uint64_t mask)
{
	assert_true(sa_bed_ask(b, method, &sa_member_type, r, mask));
	assert_int_equal(b->h.h.method, sa_response(method));
	assert_int_equal(sa_decode(&sa_member_type, r, b->data, b->size), 0);
	return b->h.h.status;
}

static inline uint16_t
join(struct sa_bed *b, const struct sa_gid *mgid, uint8_t state, struct sa_member *r)
{
	*r = request(b, mgid, state);
	return change(b, MAD_SET, r, CREATE);
}

static inline uint16_t
leave(struct sa_bed *b, const struct sa_gid *mgid, uint8_t state)
{
	struct sa_member r = request(b, mgid, state);

	return change(b, MAD_DELETE, &r, JOIN);
}

/* ---- Packets ---- */

static const char *const names[CLIENTS] = {
	"H1_0_0", "H1_1_0", "H2_0_0", "H2_1_1", "H3_0_0", "H3_1_1",
};

struct crowd {
	struct sa_bed first;		/* with the subnet manager */
	struct sa_bed c[CLIENTS];	/* hosts of all parts of the fabric */
	unsigned got[CLIENTS];		/* packets to a group */
};

static struct crowd *crowd;

static inline void
crowd_receive(void *arg, const struct port_mad *m)
{
	struct sa_bed *c = arg;

	if (!m->status && port_mad_bytes(m)[3] == MAD_REPORT)
		crowd->got[c - crowd->c]++;
	else
		sa_bed_receive(arg, m);
}

static inline void
crowd_up_options(struct crowd *w, const struct model_options *o)
{
	struct error e;

	memset(w, 0, sizeof(*w));
	crowd = w;
	sa_bed_up_options(&w->first, "ft3 4", "H1_0_1", o);
	for (unsigned i = 0; i < CLIENTS; i++) {
		struct sa_bed *c = &w->c[i];
		struct port_events ev = { .receive = crowd_receive, .state = sa_bed_state,
					  .arg = c };

		*c = (struct sa_bed){ .version = SA_CLASS_VERSION, .sm = w->first.sm };
		c->node = bed_node(c->sm->bed, names[i]);
		assert_int_equal(direct_open(&c->port, c->sm->bed->m, c->node, 1, &ev, &e), 0);
	}
	bed_wait(w->first.sm->bed, MSEC(10));
}

static inline void
crowd_up(struct crowd *w)
{
	crowd_up_options(w, NULL);
}

static inline void
crowd_free(struct crowd *w)
{
	for (unsigned i = 0; i < CLIENTS; i++)
		client_free(&w->c[i]);
	sa_bed_free(&w->first);
}

/* What each gets of a packet that one sends. */
static inline void
expect(struct crowd *w, unsigned from, uint16_t mlid, unsigned receivers)
{
	struct port_mad m = { .qp = 1, .lid = mlid };

	memset(w->got, 0, sizeof(w->got));
	m.mad[0] = 1;
	m.mad[1] = MAD_CLASS_SUBN_ADM;
	m.mad[2] = SA_CLASS_VERSION;
	m.mad[3] = MAD_REPORT;
	assert_int_equal(port_send(w->c[from].port, &m), 0);
	bed_wait(w->first.sm->bed, MSEC(10));
	for (unsigned i = 0; i < CLIENTS; i++)
		assert_int_equal(w->got[i], i != from && receivers >> i & 1);
}

/* Ask without waiting for the answer; MAD_SET or MAD_DELETE. */
static inline void
send_change(struct sa_bed *b, uint8_t method, const struct sa_gid *mgid, uint32_t tid)
{
	struct sa_member r = request(b, mgid, SA_JOIN_FULL);
	struct port_mad m = { .qp = 1, .timeout_ms = 1000 };
	struct sa_header h = {
		.h = { .tid = tid, .attr_id = SA_MC_MEMBER, .base_version = 1,
		       .mgmt_class = MAD_CLASS_SUBN_ADM, .class_version = SA_CLASS_VERSION,
		       .method = method },
		.mask = method == MAD_SET ? CREATE : JOIN,
	};

	m.lid = model_portinfo(b->sm->bed->m, b->node, 1)->sm_lid;
	sa_header_encode(&h, m.mad);
	sa_encode(&sa_member_type, &r, m.mad + SA_HEADER_SIZE);
	assert_int_equal(port_send(b->port, &m), 0);
}

#endif
