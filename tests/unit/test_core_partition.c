/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/core/subnet.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "tests/unit/partition_bed.h"

/*
 * Partitions changed by commands, judged in the devices: who has which P_Key at which place, what
 * switches hold and enforce, what a restart remembers, and that nothing is touched by what is
 * refused or rehearsed.
 */
/* Nobody says anything: a rehearsal writes nothing, also of what a sweep plans meanwhile. */
static void
test_rehearsal(void **state)
{
	struct bed_sm *sm = live("ft3 4", "");
	struct part_member m = member(sm->bed, "H0_0_1", MEMBERSHIP_FULL);
	struct outcome o;

	(void)state;
	change(sm, CHANGE(ADD, "blue", .dry_run = true, .members = &m, .nmembers = 1), 0, &o);
	assert_int_equal(o.report.gain, 1);
	assert_int_equal(o.report.lose + o.report.other, 0);
	assert_int_equal(o.report.blocks, 2);	/* the host, and the switch's port */
	assert_int_equal(o.report.pkey, 1);
	assert_int_equal(o.first.guid, m.guid);
	assert_int_equal(o.first.before, 0);
	assert_int_equal(o.first.after, 2);
	subnet_sweep(sm->s);
	bed_wait(sm->bed, MSEC(1));
	ask(sm, CHANGE(ADD, "blue", .dry_run = true), &o);
	await(sm, &o);
	assert_true(bed_quiet(sm, BOUND));
	assert_int_equal(written(sm->bed), 0);
	assert_null(sm->s->plan->pkeys);
	bed_free(sm->bed);
}

static void
on_rehearsed(void *arg)
{
	*(bool *)arg = true;
}

/* Who would gain and lose access by another configuration, before anybody does. */
static void
test_rehearsed_reload(void **state)
{
	static const char before[] = "partitions: [{name: blue, pkey: 5, members: "
		"[{nodes: [H0_0_0, H0_0_1], membership: full}]}]\n";
	static const char after[] = "partitions: [{name: blue, pkey: 5, members: "
		"[{nodes: [H0_0_1], membership: limited}, "
		"{nodes: [H1_0_0], membership: full}]}]\n";
	struct bed_sm *sm = live("ft3 4", before);
	struct config *conf = parse_ok(after);
	struct buf report = { 0 };
	bool done = false;
	uint64_t sets = written(sm->bed);

	(void)state;
	subnet_rehearse(sm->s, conf, &report, on_rehearsed, &done);
	config_free(conf);
	loop_run_until(sm->bed->loop, loop_now(sm->bed->loop) + BOUND, &done);
	assert_true(done);
	assert_non_null(strstr(report.data, "default: P_Key 0x0005 H0_0_0/1: full -> none\n"));
	assert_non_null(strstr(report.data, "default: P_Key 0x0005 H0_0_1/1: full -> limited\n"));
	assert_non_null(strstr(report.data, "default: P_Key 0x0005 H1_0_0/1: none -> full\n"));
	/* Three hosts, and the ports of switches before them. */
	assert_non_null(strstr(report.data, "1 gained, 1 lost, 1 of another kind; 6 blocks"));
	assert_true(bed_quiet(sm, BOUND));
	assert_int_equal(written(sm->bed), sets);
	buf_free(&report);
	bed_free(sm->bed);
}

/* Who holds the keys that his port's table in the plan has: all hosts, and what leads to them. */
static void
check_all_hold(const struct bed_sm *sm)
{
	const struct fabric *f = sm->s->plan->fabric;
	const struct bed *b = sm->bed;
	unsigned hosts = 0;

	for (uint32_t i = 0; i < f->nnodes; i++) {
		uint32_t at = f->nodes[i].type == NODE_CA ? bed_node(b, f->nodes[i].name) : 0;
		const struct ibnet_port *cable = &b->net->nodes[at].ports[1];

		for (unsigned n = 0; f->nodes[i].type == NODE_CA && n < 64; n++) {
			uint16_t key = plan_pkeys_at(sm->s->plan->pkeys, f->nodes[i].first_port + 1,
						     n);

			assert_int_equal(model_pkey(b->m, at, 1, n), key);
			assert_int_equal(model_pkey(b->m, cable->peer, cable->peer_port, n), key);
			hosts += !n;
		}
	}
	assert_int_equal(hosts, 16);
}

/* Nobody knows what ports that carry traffic hold, so it is read first; what then differs is
 * written, in whatever order requests and answers come. */
static void
test_read_and_written(void **state)
{
	static const unsigned windows[] = { 1, 2, 3, 7, 64 };

	(void)state;
	for (unsigned i = 0; i < 5; i++) {
		struct bed_sm *sm = live_options("ft3 4", &(struct model_options){ 0 });
		struct config *conf = parse_ok("partitions: [{name: blue, pkey: 5, "
					       "members: [{nodes: all}]}]\n");

		sm->conf.read_tables = false;
		sm->conf.max_smps = windows[i];
		start(sm, "");
		subnet_set_policy(sm->s, conf);
		subnet_configure(sm->s, &sm->conf, NULL, STAGE_PARTITIONS);
		config_free(conf);
		assert_true(bed_quiet(sm, BOUND));
		check_all_hold(sm);
		bed_free(sm->bed);
	}
}

/* When keys go to hosts, what a port of a switch took a moment ago is not known any more. */
static bool
forgets(struct bed_sm *sm, struct port_mad *m)
{
	struct live_port *host = &sm->s->topo.own->ports[sm->s->topo.own_port];
	struct smp smp;

	if (sm->s->stage != SUBNET_PUSH || sm->s->push.step != PUSH_PKEYS_HOSTS ||
	    smp_decode(&smp, m->mad, MAD_SIZE) || smp.h.method != MAD_SET)
		return true;
	tables_forget(&sm->s->topo.tables, live_peer(host));
	sm->out = NULL;
	return true;
}

/* A step does not count as done for what it sent: what is not known to be held is looked at
 * again. */
static void
test_not_known(void **state)
{
	struct bed_sm *sm = live_options("ft3 4", &(struct model_options){ 0 });
	struct part_member m = member(sm->bed, "H1_0_0", MEMBERSHIP_FULL);
	struct live_port *port;
	struct outcome o;

	(void)state;
	sm->conf.read_tables = false;
	start(sm, "");
	sm->out = forgets;
	change(sm, CHANGE(ADD, "blue", .members = &m, .nmembers = 1), 0, &o);
	assert_null(sm->out);
	assert_true(sm->s->push_incomplete);
	for (unsigned i = 0; i < 100 && sm->s->push_incomplete; i++)
		bed_wait(sm->bed, MSEC(100));
	assert_false(sm->s->push_incomplete);
	port = live_peer(&sm->s->topo.own->ports[sm->s->topo.own_port]);
	for (unsigned b = 0; b < tables_pkey_blocks(port); b++)
		assert_int_equal(tables_pkeys(&sm->s->topo.tables, port, b, NULL), TABLES_HELD);
	check_all_hold(sm);
	bed_free(sm->bed);
}

static void
test_add_and_remove(void **state)
{
	struct bed_sm *sm = live("ft3 4", "");
	struct bed *b = sm->bed;
	struct part_member m[3] = { member(b, "H0_0_1", MEMBERSHIP_FULL),
				    member(b, "H1_0_0", MEMBERSHIP_LIMITED),
				    { .guid = NOBODY, .membership = MEMBERSHIP_BOTH } };
	struct outcome o;

	(void)state;
	change(sm, CHANGE(ADD, "blue", .pkey = 0x7fff), ERR_INVALID, &o);
	change(sm, CHANGE(ADD, "default", .pkey = 1), ERR_INVALID, &o);
	change(sm, CHANGE(ADD, "blue", .members = m, .nmembers = 3), 0, &o);
	assert_int_equal(o.report.pending, 1);
	change(sm, CHANGE(ADD, "red", .pkey = 0x7fff), ERR_EXISTS, &o);
	change(sm, CHANGE(REMOVE, "default"), ERR_REFUSED, &o);
	assert_non_null(strstr(o.text, "always there"));
	assert_int_equal(key_at(b, "H0_0_1", 1), 0x8001);
	assert_int_equal(key_at(b, "H1_0_0", 1), 0x0001);
	assert_int_equal(key_at(b, "H0_0_0", 1), 0);
	change(sm, CHANGE(ADD, "blue"), ERR_EXISTS, &o);
	change(sm, CHANGE(ADD, "red", .pkey = 1), ERR_EXISTS, &o);
	change(sm, CHANGE(ADD, "blue", .idempotent = true, .members = m, .nmembers = 3), 0, &o);
	assert_int_equal(o.report.gain + o.report.blocks, 0);
	change(sm, CHANGE(ADD, "a/b"), ERR_INVALID, &o);
	change(sm, CHANGE(ADD, "red", .pkey = 5, .members = m, .nmembers = 1), 0, &o);
	assert_int_equal(key_at(b, "H0_0_1", 2), 0x8005);
	/* Another membership at the same place; a hole where a key was. */
	m[0].membership = MEMBERSHIP_LIMITED;
	change(sm, CHANGE(MEMBER_ADD, "blue", .members = m, .nmembers = 1), 0, &o);
	assert_int_equal(o.report.other, 1);
	assert_int_equal(key_at(b, "H0_0_1", 1), 0x0001);
	change(sm, CHANGE(MEMBER_REMOVE, "blue", .members = m, .nmembers = 1), 0, &o);
	assert_int_equal(key_at(b, "H0_0_1", 1), 0);
	assert_int_equal(key_at(b, "H0_0_1", 2), 0x8005);
	change(sm, CHANGE(MEMBER_REMOVE, "blue", .members = m, .nmembers = 1), ERR_NOT_FOUND, &o);
	change(sm, CHANGE(MEMBER_REMOVE, "blue", .members = m, .nmembers = 1, .idempotent = true),
	       0, &o);
	change(sm, CHANGE(MEMBER_ADD, "green", .members = m, .nmembers = 1), ERR_NOT_FOUND, &o);
	change(sm, CHANGE(REMOVE, "green"), ERR_NOT_FOUND, &o);
	change(sm, CHANGE(REMOVE, "blue"), 0, &o);
	change(sm, CHANGE(REMOVE, "red"), 0, &o);
	assert_false(has_key(b, "H0_0_1", 0x8005));
	assert_false(has_key(b, "H1_0_0", 0x0001));
	assert_int_equal(key_at(b, "H0_0_1", 0), 0xffff);
	bed_check(sm);
	bed_free(b);
}

/* One port's membership of the default partition, and nobody else's. */
static void
test_default(void **state)
{
	struct bed_sm *sm = live("ft3 4", "");
	struct part_member m = member(sm->bed, "H0_0_1", MEMBERSHIP_LIMITED);
	struct outcome o;

	(void)state;
	change(sm, CHANGE(ADD, "blue"), 0, &o);
	change(sm, CHANGE(MEMBER_ADD, "default", .members = &m, .nmembers = 1), 0, &o);
	assert_int_equal(o.report.other, 1);
	assert_int_equal(o.report.gain + o.report.lose, 0);
	assert_int_equal(key_at(sm->bed, "H0_0_1", 0), 0x7fff);
	assert_int_equal(key_at(sm->bed, "H1_0_0", 0), 0xffff);
	bed_free(sm->bed);
}

static void
test_file(void **state)
{
	struct bed_sm *sm = live("ft3 4", "partitions:\n"
		"  - {name: default, pkey: 0x7fff, members: [{nodes: all}]}\n"
		"  - {name: blue, pkey: 5, members: [{nodes: H0_0_1}]}\n");
	struct bed *b = sm->bed;
	struct part_member m = member(b, "H0_0_1", MEMBERSHIP_LIMITED);
	struct part_member other = member(b, "H1_0_0", MEMBERSHIP_FULL);
	struct outcome o;

	(void)state;
	assert_int_equal(key_at(b, "H0_0_1", 1), 0x8005);
	change(sm, CHANGE(MEMBER_REMOVE, "blue", .members = &m, .nmembers = 1), ERR_REFUSED, &o);
	change(sm, CHANGE(MEMBER_ADD, "blue", .members = &m, .nmembers = 1), ERR_REFUSED, &o);
	change(sm, CHANGE(REMOVE, "blue"), ERR_REFUSED, &o);
	change(sm, CHANGE(ADD, "blue", .pkey = 5, .idempotent = true, .ipoib = true), ERR_REFUSED,
	       &o);
	assert_int_equal(written(b), 0);
	/* A member already is one, wherever its key is. */
	m.membership = MEMBERSHIP_FULL;
	m.index0 = true;
	change(sm, CHANGE(MEMBER_ADD, "blue", .members = &m, .nmembers = 1), ERR_REFUSED, &o);
	change(sm, CHANGE(MEMBER_ADD, "blue", .members = &m, .nmembers = 1, .idempotent = true), 0,
	       &o);
	assert_int_equal(key_at(b, "H0_0_1", 1), 0x8005);
	assert_int_equal(written(b), 0);
	change(sm, CHANGE(MEMBER_ADD, "blue", .members = &other, .nmembers = 1), 0, &o);
	assert_int_equal(written(b), 2);	/* the host, and the switch's port */
	assert_int_equal(key_at(b, "H1_0_0", 1), 0x8005);
	change(sm, CHANGE(REMOVE, "blue"), 0, &o);
	assert_int_equal(key_at(b, "H0_0_1", 1), 0x8005);
	assert_int_equal(key_at(b, "H1_0_0", 1), 0);
	bed_free(b);
}

/* No command says that somebody is a member whom the file excepts, by GUID, node or kind. */
static void
test_excepted(void **state)
{
	struct bed_sm *sm = live("ft3 4", "partitions:\n"
		"  - {name: blue, pkey: 5, members: [all-hosts],\n"
		"     except: [H0_0_1, all-switches]}\n");
	struct bed *b = sm->bed;
	struct part_member list[] = {
		member(b, "H0_0_1", MEMBERSHIP_FULL),
		{ .guid = b->net->nodes[b->net->nodes[bed_node(b, "H0_0_1")].ports[1].peer].guid,
		  .membership = MEMBERSHIP_LIMITED },
	};
	struct outcome o;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		const struct part_member *m = &list[i];

		change(sm, CHANGE(MEMBER_ADD, "blue", .members = m, .nmembers = 1,
				  .idempotent = true), ERR_REFUSED, &o);
		assert_non_null(strstr(o.text, "is excepted from blue by the configuration"));
		/* That he is none is so already. */
		change(sm, CHANGE(MEMBER_REMOVE, "blue", .members = m, .nmembers = 1,
				  .idempotent = true), 0, &o);
	}
	assert_false(has_key(b, "H0_0_1", 0x8005));
	assert_int_equal(written(b), 0);
	bed_free(b);
}

static void
test_overflow(void **state)
{
	struct bed_sm *sm = live_options("ft3 4", &(struct model_options){ .caps.ca_pkeys = 3 });
	struct bed *b = sm->bed;
	struct part_member m = member(b, "H0_0_1", MEMBERSHIP_FULL);
	struct outcome o;
	uint64_t before;

	(void)state;
	start(sm, "");
	change(sm, CHANGE(ADD, "a", .members = &m, .nmembers = 1), 0, &o);
	change(sm, CHANGE(ADD, "b", .members = &m, .nmembers = 1), 0, &o);
	before = written(b);
	change(sm, CHANGE(ADD, "c", .members = &m, .nmembers = 1), ERR_FULL, &o);
	assert_non_null(strstr(o.text, "H0_0_1"));
	assert_non_null(strstr(o.text, "PartitionCap"));
	change(sm, CHANGE(REMOVE, "c"), ERR_NOT_FOUND, &o);
	assert_int_equal(written(b), before);
	assert_int_equal(key_at(b, "H0_0_1", 1), 0x8001);
	assert_int_equal(key_at(b, "H0_0_1", 2), 0x8002);
	bed_free(b);
}

/* What was said is there after a restart, which writes nothing; in the middle of a change it ends
 * before, or after, and the devices have what the store says. */
static void
test_restart(void **state)
{
	struct bed_sm *sm = live("ft3 4", "");
	struct bed *b = sm->bed;
	struct part_member m = member(b, "H0_0_1", MEMBERSHIP_FULL);
	struct part_member n = member(b, "H1_0_0", MEMBERSHIP_LIMITED);
	struct outcome o;

	(void)state;
	change(sm, CHANGE(ADD, "blue", .pkey = 9, .members = &m, .nmembers = 1), 0, &o);
	bed_stop(sm);
	model_count_reset(b->m);
	start(sm, "");
	assert_int_equal(written(b), 0);
	assert_int_equal(key_at(b, "H0_0_1", 1), 0x8009);
	for (unsigned at = 0; at < 12; at++) {
		ask(sm, CHANGE(MEMBER_ADD, "blue", .members = &n, .nmembers = 1), &o);
		bed_wait(b, USEC(300) * at);
		bed_stop(sm);
		assert_true(o.done);
		start(sm, "");
		assert_true(o.error || has_key(b, "H1_0_0", 0x0009));
		ask(sm, CHANGE(MEMBER_REMOVE, "blue", .members = &n, .nmembers = 1), &o);
		bed_wait(b, USEC(300) * at);
		bed_stop(sm);
		start(sm, "");
		assert_true(o.error || !has_key(b, "H1_0_0", 0x0009));
		assert_int_equal(key_at(b, "H0_0_1", 1), 0x8009);
		change(sm, CHANGE(MEMBER_REMOVE, "blue", .members = &n, .nmembers = 1,
				  .idempotent = true), 0, &o);
		assert_false(has_key(b, "H1_0_0", 0x0009));
	}
	bed_free(b);
}

/* A command's partition and the file's have one P_Key: what was in force stays, and the command can
 * be taken back. */
static void
test_refused_file(void **state)
{
	struct bed_sm *sm = live("ft3 4", "");
	struct bed *b = sm->bed;
	struct part_member m = member(b, "H0_0_1", MEMBERSHIP_FULL);
	struct config *conf = parse_ok("partitions:\n"
		"  - {name: default, pkey: 0x7fff, members: [{nodes: all}]}\n"
		"  - {name: red, pkey: 9, members: [{nodes: H1_0_0}]}\n");
	struct subnet_status st;
	struct outcome o;

	(void)state;
	change(sm, CHANGE(ADD, "blue", .pkey = 9, .members = &m, .nmembers = 1), 0, &o);
	subnet_set_policy(sm->s, conf);
	subnet_configure(sm->s, &sm->conf, NULL, STAGE_PARTITIONS);
	ask(sm, CHANGE(ADD, "green"), &o);	/* it waits for the other, and is refused as it */
	await(sm, &o);
	assert_int_not_equal(o.error, 0);
	assert_true(bed_quiet(sm, BOUND));
	assert_int_equal(key_at(b, "H0_0_1", 1), 0x8009);
	assert_int_equal(key_at(b, "H1_0_0", 1), 0);
	subnet_status(sm->s, &st);
	assert_true(st.nwarnings > 0);
	assert_non_null(strstr(st.warnings[0], "blue"));
	change(sm, CHANGE(REMOVE, "blue"), 0, &o);
	assert_int_equal(key_at(b, "H0_0_1", 1), 0);
	assert_int_equal(key_at(b, "H1_0_0", 1), 0x8009);
	subnet_status(sm->s, &st);
	assert_int_equal(st.nwarnings, 0);
	config_free(conf);
	bed_free(b);
}

/* Its port is lost while a command is under way: that is answered, and the next one works. */
static void
test_port_lost(void **state)
{
	struct bed_sm *sm = live("ft3 4", "");
	struct bed *b = sm->bed;
	struct part_member m = member(b, "H0_0_1", MEMBERSHIP_FULL);
	struct outcome o;

	(void)state;
	for (unsigned at = 0; at < 8; at++) {
		ask(sm, CHANGE(ADD, "blue", .idempotent = true, .members = &m, .nmembers = 1),
		    &o);
		bed_wait(b, USEC(400) * at);
		model_link_set(b->m, sm->node, 1, false);
		await(sm, &o);
		bed_wait(b, SEC(1));
		model_link_set(b->m, sm->node, 1, true);
		assert_int_equal(bed_run(sm, BOUND), 1);
		assert_true(bed_quiet(sm, BOUND));
		change(sm, CHANGE(REMOVE, "blue", .idempotent = true), 0, &o);
		assert_false(has_key(b, "H0_0_1", 0x8001));
	}
	bed_free(b);
}

/* A host that is not there is named; it has its key within two seconds after it has come. */
static void
test_pending_comes(void **state)
{
	struct bed_sm *sm = live("ft3 4", "");
	struct bed *b = sm->bed;
	struct part_member m = member(b, "H1_0_0", MEMBERSHIP_FULL);
	struct outcome o;

	(void)state;
	model_power(b->m, bed_node(b, "H1_0_0"), false);
	bed_wait(b, SEC(1));
	assert_true(bed_quiet(sm, BOUND));
	change(sm, CHANGE(ADD, "blue", .members = &m, .nmembers = 1), 0, &o);
	assert_int_equal(o.report.pending, 1);
	assert_int_equal(o.report.gain, 0);
	model_power(b->m, bed_node(b, "H1_0_0"), true);
	bed_wait(b, SEC(2));
	assert_int_equal(key_at(b, "H1_0_0", 1), 0x8001);
	bed_free(b);
}

/* Of the two devices that a change is about nobody else is asked anything, and what was done is
 * told in words of its own. */
static void
test_few_devices(void **state)
{
	struct bed_sm *sm = live("ft3 4", "");
	struct bed *b = sm->bed;
	struct part_member m = member(b, "H0_0_1", MEMBERSHIP_FULL);
	struct part_member n = member(b, "H1_0_0", MEMBERSHIP_LIMITED);
	struct outcome o;

	(void)state;
	change(sm, CHANGE(ADD, "blue", .members = &m, .nmembers = 1), 0, &o);
	assert_true(bed_quiet(sm, BOUND));
	model_count_reset(b->m);
	bed_forget(sm);
	change(sm, CHANGE(MEMBER_ADD, "blue", .members = &n, .nmembers = 1), 0, &o);
	assert_true(bed_quiet(sm, BOUND));
	assert_int_equal(key_at(b, "H1_0_0", 1), 0x0001);
	assert_int_equal(written(b), 2);
	for (unsigned attr = 0x10; attr < 0x40; attr++) {
		assert_int_equal(bed_count(b, MAD_GET, (uint16_t)attr), 0);
		if (attr != ATTR_P_KEY_TABLE)
			assert_int_equal(bed_count(b, MAD_SET, (uint16_t)attr), 0);
	}
	assert_non_null(bed_event(sm, EVENT_CONFIG, "partition blue: 1 port gained access, 0 "
				  "lost it, 0 changed membership, 2 P_Key blocks written"));
	assert_null(bed_event(sm, EVENT_ROUTED, " is up: "));
	bed_check(sm);
	bed_free(b);
}

/* There is always something to look at: a command has its turn after one sweep, and sweeps go on.
 */
static void
test_turn(void **state)
{
	struct bed_sm *sm = live("ft3 4", "");
	struct bed *b = sm->bed;
	struct part_member m = member(b, "H0_0_1", MEMBERSHIP_FULL);
	uint64_t sweeps;
	struct outcome o;

	(void)state;
	change(sm, CHANGE(ADD, "blue"), 0, &o);
	subnet_want_sweep(sm->s, SWEEP_LIGHT);
	for (unsigned i = 0; i < 20; i++) {
		ask(sm, i % 2 ? CHANGE(MEMBER_REMOVE, "blue", .members = &m, .nmembers = 1) :
		    CHANGE(MEMBER_ADD, "blue", .members = &m, .nmembers = 1), &o);
		sweeps = sm->s->st.sweeps;
		for (unsigned n = 0; n < 2000 && !o.done; n++) {
			subnet_want_sweep(sm->s, SWEEP_LIGHT);
			bed_wait(b, USEC(500));
		}
		assert_true(o.done);
		assert_int_equal(o.error, 0);
		assert_true(sm->s->st.sweeps - sweeps <= 2);
		assert_int_equal(has_key(b, "H0_0_1", 0x8001), i % 2 == 0);
	}
	bed_free(b);
}

/* A command that is given while names that were read anew are with the worker. */
struct overtaken {
	struct bed_sm *sm;
	const struct partition_change *c;
	struct outcome o;
	unsigned turns;		/* waited for */
};

static void
ask_meanwhile(void *arg)
{
	struct overtaken *t = arg;

	if (!t->sm->s->refresh.job && t->turns++ < 1000)
		loop_post(t->sm->bed->loop, ask_meanwhile, t);
	else
		ask(t->sm, t->c, &t->o);
}

/* They make another plan before the keys are compiled: the answer comes when keys are written. */
static void
test_overtaken(void **state)
{
	struct bed_sm *sm = live("ft3 4", "");
	struct bed *b = sm->bed;
	struct part_member m = member(b, "H0_0_1", MEMBERSHIP_FULL);
	uint32_t leaf = b->net->nodes[bed_node(b, "H0_0_1")].ports[1].peer;
	struct outcome o;

	(void)state;
	change(sm, CHANGE(ADD, "blue"), 0, &o);
	for (unsigned i = 0; i < 4; i++) {
		const struct fabric *f = sm->s->plan->fabric;
		struct overtaken t = { .sm = sm, .c = i % 2 ?
			CHANGE(MEMBER_REMOVE, "blue", .members = &m, .nmembers = 1) :
			CHANGE(MEMBER_ADD, "blue", .members = &m, .nmembers = 1) };

		assert_true(bed_quiet(sm, BOUND));
		model_delay(b->m, leaf, MSEC(5));
		refresh_all(sm->s);
		loop_post(b->loop, ask_meanwhile, &t);
		await(sm, &t.o);
		assert_true(t.turns < 1000);
		assert_int_equal(t.o.error, 0);
		assert_ptr_not_equal(sm->s->plan->fabric, f);
		assert_int_equal(has_key(b, "H0_0_1", 0x8001), i % 2 == 0);
		model_delay(b->m, leaf, 0);
	}
	bed_free(b);
}

/* ---- Many changes ---- */

#define HOSTS 16u
#define PARTS 12u
#define ROOM 8u		/* P_Keys of a host */
#define ROUNDS 10000u

struct model_of {
	int is[PARTS][HOSTS];		/* enum config_membership; -1: none */
	bool there[PARTS];		/* the partition is */
	uint32_t host[HOSTS];		/* node */
	uint64_t guid[HOSTS];		/* of its port */
	uint16_t had[HOSTS][ROOM];	/* its table before the change */
	unsigned refused, rehearsed;	/* changes */
};

static unsigned
keys_wanted(const struct model_of *m, unsigned h)
{
	unsigned n = 1;

	for (unsigned p = 0; p < PARTS; p++)
		n += m->is[p][h] < 0 ? 0 : m->is[p][h] == MEMBERSHIP_BOTH ? 2 : 1;
	return n;
}

/* The key is the host's by what was said. */
static bool
is_said(const struct model_of *m, unsigned h, uint16_t key)
{
	unsigned p = (key & 0x7fffu) - 1;
	int is = p < PARTS ? m->is[p][h] : -1;

	return key == 0xffff || is == MEMBERSHIP_BOTH ||
	       is == (key & 0x8000 ? MEMBERSHIP_FULL : MEMBERSHIP_LIMITED);
}

/* In the host: all that was said and nothing else, each once, none moved. In the switch's port:
 * the same, enforced. */
static void
judge(const struct bed *b, struct model_of *m, unsigned h)
{
	const struct ibnet_port *cable = &b->net->nodes[m->host[h]].ports[1];
	const struct portinfo *info = model_portinfo(b->m, cable->peer, cable->peer_port);
	unsigned found = 0;
	uint16_t keys[ROOM];

	for (unsigned i = 0; i < ROOM; i++) {
		keys[i] = model_pkey(b->m, m->host[h], 1, i);
		found += keys[i] != 0;
		assert_true(!keys[i] || is_said(m, h, keys[i]));
		for (unsigned n = 0; n < i; n++)
			assert_true(!keys[i] || keys[i] != keys[n]);
		assert_int_equal(model_pkey(b->m, cable->peer, cable->peer_port, i), keys[i]);
	}
	assert_int_equal(found, keys_wanted(m, h));
	assert_int_equal(keys[0], 0xffff);
	for (unsigned i = 0; i < ROOM; i++)
		for (unsigned n = 0; n < ROOM && m->had[h][i]; n++)
			assert_true(keys[n] != m->had[h][i] || n == i);
	memcpy(m->had[h], keys, sizeof(keys));
	assert_true(info->enforce_in && info->enforce_out);
}

/* A member is added, set or removed, or a partition is made or removed. */
static void
random_change(struct bed_sm *sm, struct model_of *m, struct outcome *o)
{
	unsigned p = (unsigned)rand() % PARTS, h = (unsigned)rand() % HOSTS;
	int is = rand() % 4 - 1, was = m->is[p][h];
	struct part_member one = { .guid = m->guid[h], .membership = (uint8_t)is };
	bool dry = rand() % 10 == 0, drop = m->there[p] && rand() % 50 == 0;
	char name[8];
	struct partition_change c = {
		.kind = drop ? PARTITION_REMOVE : !m->there[p] ? PARTITION_ADD :
			is < 0 ? PARTITION_MEMBER_REMOVE : PARTITION_MEMBER_ADD,
		.name = name, .dry_run = dry, .idempotent = true, .pkey = (uint16_t)(p + 1),
		.members = &one, .nmembers = !drop && (m->there[p] || is >= 0),
	};
	bool fits;

	snprintf(name, sizeof(name), "p%u", p);
	if (!drop)
		m->is[p][h] = is;
	fits = drop || keys_wanted(m, h) <= ROOM;
	if (dry || !fits)
		m->is[p][h] = was;
	change(sm, &c, fits ? 0 : ERR_FULL, o);
	m->refused += !fits;
	m->rehearsed += dry;
	if (dry || !fits)
		return;
	m->there[p] = !drop;
	for (unsigned i = 0; drop && i < HOSTS; i++)
		m->is[p][i] = -1;
}

static void
test_many_changes(void **state)
{
	struct bed_sm *sm = live_options("ft3 4", &(struct model_options){
		.caps.ca_pkeys = ROOM });
	struct model_of m = { 0 };
	struct bed *b = sm->bed;
	uint32_t node = 0;
	struct outcome o;

	(void)state;
	srand(11);
	start(sm, "");
	memset(m.is, -1, sizeof(m.is));
	for (unsigned h = 0; h < HOSTS; h++) {
		node = bed_next(b, IBNET_CA, node);
		m.host[h] = node;
		m.guid[h] = b->net->nodes[node++].ports[1].guid;
	}
	change(sm, CHANGE(ADD, "first", .pkey = 100), 0, &o);
	for (unsigned i = 0; i < ROUNDS; i++) {
		random_change(sm, &m, &o);
		for (unsigned h = 0; h < HOSTS; h++)
			judge(b, &m, h);
	}
	assert_true(m.refused > 100 && m.rehearsed > 100);
	bed_stop(sm);
	model_count_reset(b->m);
	start(sm, "");
	assert_int_equal(written(b), 0);
	bed_check(sm);
	bed_free(b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rehearsal), cmocka_unit_test(test_rehearsed_reload),
		cmocka_unit_test(test_read_and_written),
		cmocka_unit_test(test_not_known),
		cmocka_unit_test(test_add_and_remove),
		cmocka_unit_test(test_default),
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_excepted),
		cmocka_unit_test(test_overflow),
		cmocka_unit_test(test_restart),
		cmocka_unit_test(test_refused_file),
		cmocka_unit_test(test_port_lost),
		cmocka_unit_test(test_pending_comes),
		cmocka_unit_test(test_few_devices),
		cmocka_unit_test(test_turn),
		cmocka_unit_test(test_overtaken),
		cmocka_unit_test(test_many_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
