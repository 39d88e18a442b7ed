/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/core/subnet_i.h"
#include "sm/sa/group.h"
#include "sm/sa/sa.h"
#include "tests/unit/member_bed.h"

/*
 * Hosts that join, leave, register, subscribe, set alias GUIDs and ask for everything at random,
 * while cables, switches and devices fail in all ways there are, and the manager is started anew or
 * loses its rule to another. When all is well again:
 *  - the fabric is as it should be, and so it stays: nothing is written any more;
 *  - each group reaches its members, once, and nobody else;
 *  - devices hold the alias GUIDs that the administrator tells of;
 *  - nothing is left unanswered or unsaid, and a restart changes nothing of all that.
 *
 * usage: test_sa_storm [STORMS [FIRST]]
 */
#define STEPS 150
#define GROUPS 12
#define ALIASES 8
#define CONFS 64

static unsigned storms = 20, first_storm = 1;

static const uint16_t attrs[] = {
	ATTR_NODE_DESCRIPTION, ATTR_NODE_INFO, ATTR_SWITCH_INFO, ATTR_GUID_INFO, ATTR_PORT_INFO,
	ATTR_P_KEY_TABLE, ATTR_SL_TO_VL, ATTR_VL_ARBITRATION, ATTR_LINEAR_FDB, ATTR_MULTICAST_FDB,
};

struct storm {
	struct crowd w;			/* who asks */
	struct bed *b;			/* the fabric */
	struct config_subnet confs[CONFS];	/* taken on one after the other */
	unsigned nconfs;		/* so far */
	struct bed_sm *first, *second;	/* managers; second NULL: there is one */
	uint64_t seed;			/* of all that is left to chance */
	uint32_t tid;			/* of the last request */
};

static uint32_t
draw(struct storm *s, uint32_t below)
{
	s->seed = s->seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(s->seed >> 33) % below;
}

/* ---- What clients ask ---- */

static void
send_request(struct storm *s, struct sa_bed *c, uint8_t method, const struct sa_type *t,
	     const void *want, uint64_t mask)
{
	struct port_mad m = { .qp = 1, .timeout_ms = 500, .retries = (uint8_t)draw(s, 3) };
	struct sa_header h = {
		.h = { .tid = ++s->tid, .attr_id = t->id, .base_version = 1,
		       .mgmt_class = MAD_CLASS_SUBN_ADM, .class_version = SA_CLASS_VERSION,
		       .method = method },
		.sm_key = draw(s, 4) == 0, .mask = mask,
	};

	m.lid = model_portinfo(s->b->m, c->node, 1)->sm_lid;
	if (!m.lid)
		return;
	sa_header_encode(&h, m.mad);
	sa_encode(t, want, m.mad + SA_HEADER_SIZE);
	(void)port_send(c->port, &m);
}

static uint64_t
alias(unsigned i)
{
	return 0x1000 + i;
}

static struct sa_gid
group_gid(unsigned i)
{
	return i ? (struct sa_gid){ mine.prefix, mine.guid + i } : broadcast;
}

static void
ask_group(struct storm *s, struct sa_bed *c)
{
	static const uint8_t states[] = { SA_JOIN_FULL, SA_JOIN_FULL, SA_JOIN_NON,
					  SA_JOIN_SEND_ONLY_FULL };
	struct sa_gid gid = group_gid(draw(s, GROUPS));
	struct sa_member r = request(c, &gid, states[draw(s, 4)]);

	if (draw(s, 5) == 0)
		r.port_gid.guid = alias(draw(s, ALIASES));
	if (draw(s, 3))
		send_request(s, c, MAD_SET, &sa_member_type, &r, CREATE);
	else
		send_request(s, c, MAD_DELETE, &sa_member_type, &r, JOIN);
}

static void
ask_guids(struct storm *s, struct sa_bed *c)
{
	struct sa_guids r = { .lid = model_portinfo(s->b->m, c->node, 1)->lid };
	unsigned i = 1 + draw(s, 7);

	r.guids[i] = draw(s, 2) ? 0 : alias(draw(s, ALIASES));
	send_request(s, c, draw(s, 3) ? MAD_SET : MAD_DELETE, &sa_guids_type, &r,
		     SA_BIT(SA_GUIDS_LID) | SA_BIT(SA_GUIDS_BLOCK) | SA_BIT(SA_GUIDS_FIRST + i));
}

static void
ask_service(struct storm *s, struct sa_bed *c)
{
	struct sa_service r = { .id = draw(s, 5), .gid = gid_of(c), .pkey = 0xffff,
				.lease = draw(s, 2) ? SA_LEASE_INFINITE : 1 + draw(s, 30),
				.name = "s" };
	uint64_t rid = SA_BIT(SA_SERVICE_ID) | SA_BIT(SA_SERVICE_GID) | SA_BIT(SA_SERVICE_PKEY);

	send_request(s, c, draw(s, 3) ? MAD_SET : MAD_DELETE, &sa_service_type, &r,
		     rid | SA_BIT(SA_SERVICE_LEASE) | SA_BIT(SA_SERVICE_NAME));
}

static void
ask_inform(struct storm *s, struct sa_bed *c)
{
	struct sa_inform_info r = {
		.lid_first = SA_INFORM_ALL_LIDS, .generic = 1, .subscribe = draw(s, 3) != 0,
		.type = SA_INFORM_ALL_TYPES, .producer = SA_INFORM_ALL_PRODUCERS,
		.trap = draw(s, 2) ? SA_INFORM_ALL_TRAPS : (uint16_t)(64 + draw(s, 4)), .qpn = 1,
	};

	send_request(s, c, MAD_SET, &sa_inform_info_type, &r, 0);
}

static void
ask_table(struct storm *s, struct sa_bed *c)
{
	static const struct sa_type *const types[] = {
		&sa_node_type, &sa_port_type, &sa_switch_type, &sa_lft_type, &sa_link_type,
		&sa_guids_type, &sa_service_type, &sa_inform_type, &sa_member_type,
		&sa_pkeys_type, &sa_sl2vl_type, &sa_vlarb_type, &sa_mft_type,
	};
	static const uint64_t none[64];
	const struct sa_type *t = types[draw(s, sizeof(types) / sizeof(types[0]))];
	struct sa_path path = { .sgid = gid_of(c), .numb_path = 127 };

	if (draw(s, 3))
		send_request(s, c, MAD_GET_TABLE, t, none, 0);
	else
		send_request(s, c, MAD_GET_TABLE, &sa_path_type, &path,
			     SA_BIT(SA_PATH_SGID) | SA_BIT(SA_PATH_NUMB_PATH));
}

static void
ask(struct storm *s)
{
	struct sa_bed *c = &s->w.c[draw(s, CLIENTS)];

	switch (draw(s, 6)) {
	case 0:
		ask_guids(s, c);
		return;
	case 1:
		ask_service(s, c);
		return;
	case 2:
		ask_inform(s, c);
		return;
	case 3:
		ask_table(s, c);
		return;
	default:
		ask_group(s, c);
	}
}

/* ---- What fails ---- */

static void
fail_cable(struct storm *s, uint32_t node)
{
	unsigned port = 1 + draw(s, s->b->net->nodes[node].nports);

	switch (draw(s, 5)) {
	case 0:
		model_link_set(s->b->m, node, port, false);
		return;
	case 1:
		model_link_drop(s->b->m, node, port, MODEL_BOTH, draw(s, 1000000));
		return;
	case 2:
		model_link_delay(s->b->m, node, port, MODEL_BOTH, MSEC(draw(s, 300)));
		return;
	default:
		model_link_flap(s->b->m, node, port, MSEC(draw(s, 3000)));
	}
}

static void
fail_device(struct storm *s, uint32_t node)
{
	uint16_t attr = attrs[draw(s, sizeof(attrs) / sizeof(attrs[0]))];
	struct model *m = s->b->m;

	switch (draw(s, 11)) {
	case 8:
		model_keep(m, node, 1u << draw(s, 9));
		return;
	case 9:
		model_set_description(m, node, draw(s, 2) ? "" : "other");
		return;
	case 0:
		model_reboot(m, node);
		return;
	case 1:
		model_silence(m, node, (enum model_silence)draw(s, 3));
		return;
	case 2:
		model_mute(m, node, attr, true);
		return;
	case 3:
		model_refuse(m, node, attr, draw(s, 2) ? 0x1c : 1);
		return;
	case 4:
		model_fail_get(m, node, attr, draw(s, 2) ? 0x1c : 1);
		return;
	case 5:
		model_drop(m, node, draw(s, 1000000));
		return;
	case 6:
		model_slow(m, node, 1 + draw(s, 500), 1 + draw(s, 32));
		return;
	case 7:
		model_delay(m, node, MSEC(draw(s, 1000)));
		return;
	default:
		model_power(m, node, draw(s, 2));
	}
}

static void
trap(struct storm *s, uint32_t node)
{
	unsigned port = s->b->net->nodes[node].type == IBNET_SWITCH ? 0 : 1;
	static const enum trap_number which[] = { TRAP_LOCAL_INTEGRITY, TRAP_BUFFER_OVERRUN };

	if (port && draw(s, 2))
		model_port_errors(s->b->m, node, port, which[draw(s, 2)]);
	else
		model_local_change(s->b->m, node, port, (uint16_t)(1u << draw(s, 3)));
}

static void
restart(struct bed_sm *sm)
{
	bed_stop(sm);
	bed_start(sm);
}

/* A program ends amid its questions, and starts again. */
static void
reopen(struct storm *s)
{
	struct sa_bed *c = &s->w.c[draw(s, CLIENTS)];
	struct port_events ev = { .receive = crowd_receive, .state = sa_bed_state, .arg = c };
	struct error e;

	port_close(c->port);
	assert_int_equal(direct_open(&c->port, s->b->m, c->node, 1, &ev, &e), 0);
}

static void
configure(struct storm *s, struct config_subnet *c);

static void
take_on(struct bed_sm *sm, const struct config_subnet *c, enum config_stage stage)
{
	subnet_configure(sm->s, c, NULL, stage);
	sm->conf = *c;
}

/* All managers get the same one. */
static void
reload(struct storm *s)
{
	struct config_subnet *c = &s->confs[s->nconfs++ % CONFS];
	enum config_stage stage = (enum config_stage)(STAGE_DISCOVER + draw(s, 5));

	*c = *s->first->s->conf;
	configure(s, c);
	if (c->lmc != s->first->conf.lmc)
		stage = STAGE_LIDS;
	if (s->second)
		take_on(s->second, c, stage);
	take_on(s->first, c, stage);
}

/* On hosts of managers only what they can live with. */
static void
break_one(struct storm *s)
{
	uint32_t node = draw(s, s->b->net->nnodes);
	bool own = node == s->first->node || (s->second && node == s->second->node);

	switch (draw(s, own ? 1 : 8)) {
	case 6:
		reopen(s);
		return;
	case 7:
		reload(s);
		return;
	case 0:
		model_heal(s->b->m, node);
		model_power(s->b->m, node, true);
		return;
	case 1:
		if (draw(s, 4) == 0)
			restart(s->second && draw(s, 2) ? s->second : s->first);
		return;
	case 2:
		trap(s, node);
		return;
	case 3:
		fail_cable(s, node);
		return;
	default:
		fail_device(s, node);
	}
}

static void
heal(struct storm *s)
{
	model_heal(s->b->m, MODEL_ALL);
	for (uint32_t n = 0; n < s->b->net->nnodes; n++) {
		model_power(s->b->m, n, true);
		for (unsigned p = 1; p <= s->b->net->nodes[n].nports; p++)
			model_link_set(s->b->m, n, p, true);
	}
}

/* ---- What is to be in the end ---- */

static struct bed_sm *
master(struct storm *s)
{
	if (s->second && s->second->s->role == ROLE_MASTER) {
		assert_int_not_equal(s->first->s->role, ROLE_MASTER);
		return s->second;
	}
	assert_int_equal(s->first->s->role, ROLE_MASTER);
	return s->first;
}

/* A packet to a multicast LID gets to the members of all groups that have it. */
static void
check_mlid(struct storm *s, const struct sa *sa, unsigned mlid)
{
	unsigned receivers = 0;
	int from = -1;

	for (const struct sa_group *g = sa_groups_at(sa_groups(sa), mlid); g; g = g->shares)
		for (uint32_t k = 0; k < g->len; k++)
			for (unsigned i = 0; i < CLIENTS; i++) {
				const struct sa_join *j = &g->joins[k];

				if (sa_base_guid(sa, j->gid.guid) != gid_of(&s->w.c[i]).guid)
					continue;
				if (j->state & (SA_JOIN_FULL | SA_JOIN_NON))
					receivers |= 1u << i;
				from = j->state & SA_JOIN_FULL ? (int)i : from;
			}
	if (from >= 0)
		expect(&s->w, (unsigned)from, (uint16_t)mlid, receivers);
}

/* Each member is a port that is there, by its own GUID or by an alias. */
static void
check_members(struct storm *s, const struct sa *sa)
{
	const struct sa_groups *groups = sa_groups(sa);

	for (uint32_t i = 0; i < sa_groups_slots(groups); i++) {
		const struct sa_group *g = sa_groups_slot(groups, i);

		for (uint32_t k = 0; g && k < g->len; k++)
			if (fabric_port_by_guid(master(s)->s->plan->fabric,
						sa_base_guid(sa, g->joins[k].gid.guid)) ==
			    FABRIC_NONE)
				fail_msg("member %llx is nobody",
					 (unsigned long long)g->joins[k].gid.guid);
	}
}

static void
check_groups(struct storm *s, const struct sa *sa)
{
	for (unsigned mlid = SA_MLID_FIRST; mlid < sa_groups_end(sa_groups(sa)); mlid++)
		check_mlid(s, sa, mlid);
	check_members(s, sa);
}

static void
check_guids(struct storm *s, const struct sa *sa)
{
	for (uint32_t n = 0; n < s->b->net->nnodes; n++) {
		unsigned port = s->b->net->nodes[n].type != IBNET_SWITCH;
		uint64_t wanted[8];

		if (!sa_guids(sa, model_port_guid(s->b->m, n, port), 0, wanted))
			continue;
		for (unsigned i = 1; i < 8; i++)
			if (model_guid(s->b->m, n, port, i) != wanted[i])
				fail_msg("%s holds alias %llx, not %llx", s->b->net->nodes[n].name,
					 (unsigned long long)model_guid(s->b->m, n, port, i),
					 (unsigned long long)wanted[i]);
	}
}

static void
check_answers(struct storm *s)
{
	struct sa_class_port_info info = { 0 };

	for (unsigned i = 0; i < CLIENTS; i++)
		assert_int_equal(sa_bed_get(&s->w.c[i], &sa_class_port_info_type, &info, 0, &info),
				 0);
}

static uint64_t
all_sets(const struct storm *s)
{
	uint64_t n = bed_count(s->b, MAD_SET, ATTR_SM_INFO);

	for (unsigned i = 0; i < sizeof(attrs) / sizeof(attrs[0]); i++)
		n += bed_count(s->b, MAD_SET, attrs[i]);
	return n;
}

static void
check_end(struct storm *s)
{
	struct bed_sm *sm;
	struct subnet_status st;
	uint64_t sets;

	sm = master(s);
	if (!bed_becomes_good(sm, SEC(120)))
		fail_msg("%s", sm->why);
	bed_wait(s->b, SEC(700));
	assert_ptr_equal(master(s), sm);
	bed_check(sm);
	sets = all_sets(s);
	bed_wait(s->b, SEC(60));
	if (all_sets(s) != sets)
		fail_msg("%u more Sets", (unsigned)(all_sets(s) - sets));
	subnet_status(sm->s, &st);
	for (unsigned i = 0; i < st.nwarnings; i++)
		if (!strstr(st.warnings[i], "share the multicast LID"))
			fail_msg("%s", st.warnings[i]);
	assert_true(subnet_is_up(sm->s));
	assert_int_equal(sa_pending(sm->s->sa), 0);
	check_answers(s);
	check_groups(s, sm->s->sa);
	check_guids(s, sm->s->sa);
}

static void
check_restart(struct storm *s)
{
	uint64_t sets = bed_count(s->b, MAD_SET, ATTR_MULTICAST_FDB) +
		bed_count(s->b, MAD_SET, ATTR_LINEAR_FDB);
	struct bed_sm *sm = master(s);

	restart(sm);
	bed_wait(s->b, SEC(30));
	assert_ptr_equal(master(s), sm);
	bed_check(sm);
	assert_int_equal(sets, bed_count(s->b, MAD_SET, ATTR_MULTICAST_FDB) +
			 bed_count(s->b, MAD_SET, ATTR_LINEAR_FDB));
	check_answers(s);
	check_groups(s, sm->s->sa);
	check_guids(s, sm->s->sa);
}

static void
configure(struct storm *s, struct config_subnet *c)
{
	static const monotime forget[] = { 0, MSEC(1), SEC(5), SEC(60) };

	c->lmc = draw(s, 4);
	c->max_rate = draw(s, 24);
	c->sweep_interval = SEC(1 + draw(s, 10));
	c->multicast.forget_after = forget[draw(s, 4)];
	c->multicast.share_solicited = draw(s, 2);
	c->sa_rate = draw(s, 2) ? 20000 : 1;
	c->health.babbling = ACTION_REPORT + (enum config_action)draw(s, 4);
	c->read_tables = draw(s, 4) != 0;
	c->standby_poll = MSEC(500);
}

static void
begin(struct storm *s, unsigned number)
{
	const struct model_options few = { .caps = { .multicast_fdb = 8, .mft_top = number & 2 } };

	s->seed = number * 0x9e3779b97f4a7c15u;
	crowd_up_options(&s->w, draw(s, 2) ? NULL : &few);
	s->first = s->w.first.sm;
	s->b = s->first->bed;
	bed_stop(s->first);
	configure(s, &s->first->conf);
	if (draw(s, 2)) {
		s->second = bed_sm(s->b, bed_node(s->b, "H3_0_1"), 1);
		s->second->conf = s->first->conf;
		s->second->conf.priority = draw(s, 2);
		bed_start(s->second);
	}
	bed_start(s->first);
	bed_wait(s->b, SEC(10));
}

static void
run_storm(unsigned number)
{
	struct storm s = { 0 };

	begin(&s, number);
	for (unsigned i = 0; i < STEPS; i++) {
		for (unsigned n = draw(&s, 20); n; n--)
			ask(&s);
		if (draw(&s, 2))
			break_one(&s);
		bed_wait(s.b, draw(&s, 3) ? MSEC(draw(&s, 100)) : MSEC(draw(&s, 2000)));
	}
	heal(&s);
	bed_wait(s.b, SEC(60));
	s.first->conf.sa_rate = 0;
	if (s.second)
		s.second->conf.sa_rate = 0;
	check_end(&s);
	if (!s.second)
		check_restart(&s);
	crowd_free(&s.w);
}

/* ---- What storms have found, each by itself ---- */

/* A host that refuses to tell of its port when it comes up is asked again, and gets in. */
static void
test_withheld_for_a_while(void **state)
{
	struct bed_sm *sm = bed_up("ft3 4", 1);
	uint32_t host = bed_node(sm->bed, "H1_0_0");

	(void)state;
	assert_int_equal(bed_run(sm, SEC(10)), 1);
	model_fail_get(sm->bed->m, host, ATTR_PORT_INFO, 0x1c);
	model_reboot(sm->bed->m, host);
	bed_wait(sm->bed, SEC(30));
	model_fail_get(sm->bed->m, host, ATTR_PORT_INFO, 0);
	if (!bed_becomes_good(sm, SEC(120)))
		fail_msg("%s", sm->why);
	bed_free(sm->bed);
}

/* A host that refuses the alias GUID that is asked for it. */
static void
refuse_alias(struct storm *s)
{
	struct sa_bed *c = &s->w.c[0];
	struct sa_guids r = { .guids = { [2] = 0xabcd } };

	crowd_up(&s->w);
	s->b = c->sm->bed;
	r.lid = model_portinfo(s->b->m, c->node, 1)->lid;
	model_refuse(s->b->m, c->node, ATTR_GUID_INFO, 0x1c);
	send_request(s, c, MAD_SET, &sa_guids_type, &r, SA_BIT(SA_GUIDS_LID) |
		     SA_BIT(SA_GUIDS_BLOCK) | SA_BIT(SA_GUIDS_FIRST + 2));
}

/* What a host refused is written when it takes it. */
static void
test_guids_refused_for_a_while(void **state)
{
	struct storm s = { 0 };

	(void)state;
	refuse_alias(&s);
	bed_wait(s.b, SEC(30));
	model_refuse(s.b->m, s.w.c[0].node, ATTR_GUID_INFO, 0);
	bed_wait(s.b, SEC(120));
	assert_int_equal(model_guid(s.b->m, s.w.c[0].node, 1, 2), 0xabcd);
	crowd_free(&s.w);
}

/* The same, and at the moment when it is tried again the host does not answer. */
static void
test_guids_refused_then_silent(void **state)
{
	struct storm s = { 0 };
	uint32_t host;

	(void)state;
	refuse_alias(&s);
	host = s.w.c[0].node;
	bed_wait(s.b, SEC(3));
	model_silence(s.b->m, host, MODEL_SILENT);
	subnet_sweep(s.w.c[0].sm->s);
	bed_wait(s.b, SEC(60));
	model_refuse(s.b->m, host, ATTR_GUID_INFO, 0);
	model_silence(s.b->m, host, MODEL_ANSWERS);
	bed_wait(s.b, SEC(700));
	assert_int_equal(model_guid(s.b->m, host, 1, 2), 0xabcd);
	crowd_free(&s.w);
}

/* A host that is reset once more before its port was seen to be active has forgotten them again. */
static void
test_guids_reset_twice(void **state)
{
	struct storm s = { 0 };
	struct sa_bed *c = &s.w.c[0];
	struct sa_guids r = { .guids = { [2] = 0xabcd } };

	(void)state;
	crowd_up(&s.w);
	s.b = c->sm->bed;
	r.lid = model_portinfo(s.b->m, c->node, 1)->lid;
	send_request(&s, c, MAD_SET, &sa_guids_type, &r, SA_BIT(SA_GUIDS_LID) |
		     SA_BIT(SA_GUIDS_BLOCK) | SA_BIT(SA_GUIDS_FIRST + 2));
	bed_wait(s.b, SEC(1));
	assert_int_equal(model_guid(s.b->m, c->node, 1, 2), 0xabcd);
	/* It takes its aliases, but not the rest of its programming. */
	model_refuse(s.b->m, c->node, ATTR_PORT_INFO, 0x1c);
	for (unsigned i = 0; i < 2; i++) {
		model_reboot(s.b->m, c->node);
		bed_wait(s.b, SEC(10));
		assert_int_equal(model_guid(s.b->m, c->node, 1, 2), 0xabcd);
	}
	crowd_free(&s.w);
}

/* No answer about another manager comes in. */
static bool
no_sm_info(struct bed_sm *sm, struct port_mad *m)
{
	const uint8_t *mad = port_mad_bytes(m);

	(void)sm;
	return mad[17] != ATTR_SM_INFO || mad[3] != MAD_GET_RESP;
}

/* One that takes the master for dead, and leads beside it until it hears of it again: what it has
 * written is found by who stays, and undone. */
static void
test_two_masters(void **state)
{
	struct bed_sm *sm = bed_up("ft3 4", 1), *other;

	(void)state;
	assert_int_equal(bed_run(sm, SEC(10)), 1);
	other = bed_sm(sm->bed, bed_node(sm->bed, "H3_0_1"), 1);
	other->conf.standby_poll = MSEC(500);
	bed_start(other);
	bed_wait(sm->bed, SEC(5));
	assert_int_equal(other->s->role, ROLE_STANDBY);
	other->in = no_sm_info;
	bed_wait(sm->bed, SEC(30));
	assert_int_equal(other->s->role, ROLE_MASTER);
	other->in = NULL;
	bed_wait(sm->bed, SEC(30));
	assert_int_equal(other->s->role, ROLE_STANDBY);
	bed_check(sm);
	bed_free(sm->bed);
}

/* Nothing is told of a handover. */
static bool
no_handover(struct bed_sm *sm, struct port_mad *m)
{
	(void)sm;
	return m->mad[17] != ATTR_SM_INFO || m->mad[3] != MAD_SET;
}

/* The same, but who stays gets no answer all the time: the other was lost as a standby and is a
 * standby when it answers again. It has told of its rule, or that was lost too: either way devices
 * are as they should be when it has stood back. */
static void
master_unheard(bool tells)
{
	struct bed_sm *sm = bed_up("ft3 4", 1), *other;

	assert_int_equal(bed_run(sm, SEC(10)), 1);
	other = bed_sm(sm->bed, bed_node(sm->bed, "H3_0_1"), 1);
	other->conf.standby_poll = MSEC(500);
	other->out = tells ? NULL : no_handover;
	bed_start(other);
	bed_wait(sm->bed, SEC(15));
	assert_int_equal(other->s->role, ROLE_STANDBY);
	sm->in = other->in = no_sm_info;
	bed_wait(sm->bed, SEC(30));
	assert_int_equal(sm->s->role, ROLE_MASTER);
	assert_int_equal(other->s->role, ROLE_MASTER);
	other->in = NULL;
	bed_wait(sm->bed, SEC(30));
	assert_int_equal(other->s->role, ROLE_STANDBY);
	/* What it wrote is seen at devices, if nobody hears of it. */
	if (!bed_good(sm))
		fail_msg("%s", sm->why);
	sm->in = NULL;
	if (!bed_becomes_good(sm, SEC(120)))
		fail_msg("%s", sm->why);
	bed_free(sm->bed);
}

static void
test_master_unheard(void **state)
{
	(void)state;
	master_unheard(true);
	master_unheard(false);
}

static uint16_t
change_alias(struct sa_bed *c, uint8_t method, uint64_t guid)
{
	struct sa_guids r = { .lid = model_portinfo(c->sm->bed->m, c->node, 1)->lid,
			      .guids = { [1] = guid } };

	assert_true(sa_bed_ask(c, method, &sa_guids_type, &r, SA_BIT(SA_GUIDS_LID) |
			       SA_BIT(SA_GUIDS_BLOCK) | SA_BIT(SA_GUIDS_FIRST + 1)));
	return c->h.h.status;
}

/* An alias that is freed is no member of any group, also where groups share multicast LIDs. */
static void
test_alias_in_shared_groups(void **state)
{
	const struct model_options few = { .caps = { .multicast_fdb = 8 } };
	struct sa_member r;
	struct crowd w;

	(void)state;
	crowd_up_options(&w, &few);
	assert_int_equal(change_alias(&w.c[0], MAD_SET, 0xabcd), 0);
	for (unsigned i = 1; i < 20; i++) {
		struct sa_gid mgid = { mine.prefix, i };

		r = request(&w.c[0], &mgid, SA_JOIN_FULL);
		r.port_gid.guid = 0xabcd;
		assert_int_equal(change(&w.c[0], MAD_SET, &r, CREATE), 0);
	}
	assert_int_equal(change_alias(&w.c[0], MAD_DELETE, 0), 0);
	/* The broadcast group is left. */
	assert_int_equal(sa_groups_len(sa_groups(w.first.sm->s->sa)), 1);
	crowd_free(&w);
}

/* A GUIDInfo that is never answered is asked for again after some time, and not in circles, however
 * often all ports are looked at meanwhile. */
static void
test_guids_unanswered(void **state)
{
	struct crowd w;
	struct bed *b;

	(void)state;
	crowd_up(&w);
	b = w.first.sm->bed;
	model_mute(b->m, w.c[0].node, ATTR_GUID_INFO, true);
	assert_int_equal(change_alias(&w.c[0], MAD_SET, 0xabcd), 0);
	for (unsigned i = 0; i < 40; i++) {
		guids_all(w.first.sm->s);
		bed_wait(b, MSEC(250));
	}
	/* What it holds is asked first, and nothing is written until it says. */
	assert_in_range(bed_count(b, MAD_GET, ATTR_GUID_INFO), 4, 64);
	assert_int_equal(bed_count(b, MAD_SET, ATTR_GUID_INFO), 0);
	model_mute(b->m, w.c[0].node, ATTR_GUID_INFO, false);
	bed_wait(b, SEC(10));
	assert_int_equal(model_guid(b->m, w.c[0].node, 1, 1), 0xabcd);
	crowd_free(&w);
}

/* A new configuration and a wish for a sweep do not keep a standby sweeping. */
static void
test_standby_reloads(void **state)
{
	struct bed_sm *sm = bed_up("ft3 4", 1), *other;
	struct config_subnet conf;
	uint64_t sweeps;

	(void)state;
	assert_int_equal(bed_run(sm, SEC(10)), 1);
	other = bed_sm(sm->bed, bed_node(sm->bed, "H3_0_1"), 1);
	bed_start(other);
	bed_wait(sm->bed, SEC(5));
	assert_int_equal(other->s->role, ROLE_STANDBY);
	sweeps = bed_count(sm->bed, MAD_GET, ATTR_NODE_INFO);
	conf = other->conf;
	subnet_configure(other->s, &conf, NULL, STAGE_ROUTING);
	bed_wait(sm->bed, SEC(5));
	subnet_sweep(other->s);
	bed_wait(sm->bed, SEC(5));
	/* One heavy sweep for each: every node is asked by every cable. */
	assert_in_range(bed_count(sm->bed, MAD_GET, ATTR_NODE_INFO) - sweeps, 1, 3 * 200);
	assert_int_equal(other->s->role, ROLE_STANDBY);
	bed_check(sm);
	bed_free(sm->bed);
}

static void
test_storms(void **state)
{
	(void)state;
	for (unsigned i = 0; i < storms; i++) {
		print_message("storm %u\n", first_storm + i);
		run_storm(first_storm + i);
	}
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_withheld_for_a_while),
		cmocka_unit_test(test_guids_refused_for_a_while),
		cmocka_unit_test(test_guids_refused_then_silent),
		cmocka_unit_test(test_guids_reset_twice),
		cmocka_unit_test(test_two_masters),
		cmocka_unit_test(test_master_unheard),
		cmocka_unit_test(test_standby_reloads),
		cmocka_unit_test(test_alias_in_shared_groups),
		cmocka_unit_test(test_guids_unanswered),
		cmocka_unit_test(test_storms),
	};

	if (argc > 1)
		storms = (unsigned)strtoul(argv[1], NULL, 10);
	if (argc > 2)
		first_storm = (unsigned)strtoul(argv[2], NULL, 10);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
