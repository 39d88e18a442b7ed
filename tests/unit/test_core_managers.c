/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "tests/unit/ha_help.h"

/*
 * Three subnet managers, each on a leaf of its own, and what can come between them at any moment
 * (H3): questions, each Set(SMInfo) with the right key or another, in the name of any of them and
 * in any state, answers that do not come, cuts that make islands, priorities that change, ends and
 * restarts. However these are mixed:
 *
 * - who does not lead writes to no device, ever;
 * - when it is over, each island has one master within a bound, and keeps it; all others of the
 *   island stand by, or were disabled; its hosts are configured, and know it.
 *
 * usage: test_core_managers [ROUNDS [SEED]]: rounds from this seed on.
 */
#define FABRIC "ft2 3 1 1"
#define MANAGERS 3
#ifdef __SANITIZE_ADDRESS__
#define ROUNDS 2000u
#else
#define ROUNDS 12000u		/* each a new mixture, on the state that the one before left */
#endif
#define ROUNDS_A_BED 100u
#define KEY 0x77
#define BOUND SEC(150)		/* a device that was silent is asked again within a minute */
#define LOOK MSEC(1300)			/* more than from one light sweep to the next */
#define STEADY MSEC(600)		/* during which nothing changes then */
#define TOLD 25			/* events of each manager, after a failure */

enum op {
	OP_GET, OP_HANDOVER, OP_ACKNOWLEDGE, OP_DISABLE, OP_STAND_BY, OP_DISCOVER,
	OP_MUTE, OP_CUT, OP_JOIN, OP_PRIORITY, OP_KILL, OP_START, OP_LOSE, OP_WAIT,
	OPS,
};

struct manager {
	struct bed_sm *sm;		/* the daemon */
	struct config_subnet conf[2];	/* the one in force and the next */
	unsigned which;			/* conf[which] is in force */
	monotime mute_until;		/* its SMInfo does not come through */
	bool cut;			/* its leaf is an island */
};

struct field {
	struct bed *b;
	struct manager m[MANAGERS];
	uint64_t rng;			/* xorshift state */
	unsigned loss;			/* per cent of SMPs that are lost */
	unsigned seed;			/* of the round */
	bool wrote;			/* somebody wrote who does not lead */
};

static struct field f;
static unsigned first_round, rounds = ROUNDS;
static unsigned counts[OPS], legal, masters_of_island[MANAGERS + 1];

static uint32_t
draw(uint32_t below)
{
	f.rng ^= f.rng << 13;
	f.rng ^= f.rng >> 7;
	f.rng ^= f.rng << 17;
	return (uint32_t)((f.rng >> 11) % below);
}

/* ---- What passes a port ---- */

static struct manager *
manager_of(const struct bed_sm *sm)
{
	for (unsigned i = 0; i < MANAGERS; i++)
		if (f.m[i].sm == sm)
			return &f.m[i];
	return NULL;
}

static bool
passes(struct bed_sm *sm, const struct smp *smp)
{
	bool muted = loop_now(f.b->loop) < manager_of(sm)->mute_until;

	return !(muted && smp->h.attr_id == ATTR_SM_INFO) && draw(100) >= f.loss;
}

static bool
goes_out(struct bed_sm *sm, struct port_mad *m)
{
	struct smp smp;

	if (smp_decode(&smp, m->mad, MAD_SIZE))
		return true;
	if (smp.h.method == MAD_SET && smp.h.attr_id != ATTR_SM_INFO && !ha_is(sm, "master"))
		f.wrote = true;
	return passes(sm, &smp);
}

static bool
comes_in(struct bed_sm *sm, struct port_mad *m)
{
	struct smp smp;

	if (smp_decode(&smp, m->mad, MAD_SIZE))
		return true;
	/* Answers to what this test sent in its name. */
	if (smp.h.method == MAD_GET_RESP && (uint32_t)smp.h.tid == 0x4711) {
		legal += smp.h.attr_mod && !smp.h.status;
		return false;
	}
	return passes(sm, &smp);
}

/* ---- What happens ---- */

/* In the name of any of them. */
static void
send_sminfo(struct manager *from, const struct manager *to, uint8_t method, uint32_t modifier)
{
	static const uint64_t keys[] = { KEY, KEY, KEY, KEY, 0, 0x666 };
	const struct manager *name = draw(4) ? from : &f.m[draw(MANAGERS)];
	struct sminfo i = {
		.guid = model_port_guid(f.b->m, name->sm->node, 1),
		.sm_key = keys[draw(6)], .priority = (uint8_t)draw(4),
		.state = (uint8_t)(modifier == SM_ACKNOWLEDGE ? SM_STANDBY : SM_MASTER),
	};
	struct port_mad m = { .lid = LID_PERMISSIVE, .timeout_ms = 100 };

	if (!from->sm->inner || from == to)
		return;
	if (!draw(6))
		i.state = (uint8_t)draw(4);
	ha_sminfo(f.b, from->sm->node, to->sm->node, method, modifier, &i, m.mad);
	port_send(from->sm->inner, &m);
}

static void
set_cut(struct manager *m, bool cut)
{
	uint32_t leaf = f.b->net->nodes[m->sm->node].ports[1].peer, spine = bed_node(f.b, "S0");

	m->cut = cut;
	model_link_set(f.b->m, leaf, bed_port_to(f.b, leaf, spine), !cut);
}

static void
set_priority(struct manager *m)
{
	struct config_subnet *next = &m->conf[!m->which];

	if (!m->sm->s)
		return;
	*next = m->conf[m->which];
	next->priority = draw(3);
	next->accept_handover = draw(2);
	m->which = !m->which;
	subnet_configure(m->sm->s, next, NULL, STAGE_LIVE);
}

static void
start(struct manager *m)
{
	if (m->sm->s)
		return;
	m->sm->conf = m->conf[m->which];
	bed_start(m->sm);
	m->conf[m->which] = m->sm->conf;
	subnet_configure(m->sm->s, &m->conf[m->which], NULL, STAGE_LIVE);
}

static void
happen(enum op op)
{
	struct manager *m = &f.m[draw(MANAGERS)], *to = &f.m[draw(MANAGERS)];

	counts[op]++;
	switch (op) {
	case OP_GET:
		send_sminfo(m, to, MAD_GET, 0);
		break;
	case OP_HANDOVER:
	case OP_ACKNOWLEDGE:
	case OP_DISABLE:
	case OP_STAND_BY:
	case OP_DISCOVER:
		send_sminfo(m, to, MAD_SET, op - OP_HANDOVER + SM_HANDOVER);
		break;
	case OP_MUTE:
		m->mute_until = loop_now(f.b->loop) + MSEC(50 + draw(1500));
		break;
	case OP_CUT:
		set_cut(m, true);
		break;
	case OP_JOIN:
		set_cut(m, false);
		break;
	case OP_PRIORITY:
		set_priority(m);
		break;
	case OP_KILL:
		if (m->sm->s)
			bed_stop(m->sm);
		break;
	case OP_START:
		start(m);
		break;
	case OP_LOSE:
		f.loss = draw(2) ? draw(20) : 0;
		break;
	default:
		bed_wait(f.b, MSEC(draw(400)));
		break;
	}
}

/* ---- How it ends ---- */

/* Island 0: all that are not cut off; else 1 + the manager that is alone there. */
static unsigned
island_of(unsigned i)
{
	return f.m[i].cut ? 1 + i : 0;
}

/* A sentence, or NULL. Sets how many lead an island whose managers are not all disabled. */
static const char *
what_is_wrong(void)
{
	static char why[700];
	struct bed_sm *master;
	bool able;

	for (unsigned land = 0; land <= MANAGERS; land++) {
		master = NULL;
		able = false;
		for (unsigned i = 0; i < MANAGERS; i++) {
			struct bed_sm *sm = f.m[i].sm;
			const char *role = ha_role(sm);

			if (island_of(i) != land)
				continue;
			able |= strcmp(role, "not active") != 0;
			if (sm->s->handover.from)
				return "one is taking the office";
			if (strcmp(role, "master") == 0 && master)
				return "two lead one island";
			if (strcmp(role, "master") == 0)
				master = sm;
			else if (strcmp(role, "standby") != 0 && strcmp(role, "not active") != 0)
				return role;
		}
		if (able && !master)
			return "nobody leads";
		if (master && !bed_good(master)) {
			snprintf(why, sizeof(why), "not configured: %s", master->why);
			return why;
		}
	}
	return NULL;
}

/* The newest events of each, with their times. */
static void
tell_events(const struct bed_sm *sm, unsigned number)
{
	uint64_t last = event_last(sm->events);
	char at[CLOCK_TEXT_SIZE];

	for (uint64_t n = last > TOLD ? last - TOLD : 1; n <= last; n++) {
		const struct event *ev = event_get(sm->events, n);

		if (ev)
			print_message("%s manager %u: %s\n", clock_text(at, ev->wall), number,
				      ev->text);
	}
}

static void
give_up(const char *why)
{
	for (unsigned i = 0; i < MANAGERS; i++)
		tell_events(f.m[i].sm, i);
	fail_msg("round %u: %s; managers: %s, %s, %s; replay: test_core_managers %u %u", f.seed,
		 why, ha_role(f.m[0].sm), ha_role(f.m[1].sm), ha_role(f.m[2].sm),
		 f.seed % ROUNDS_A_BED + 1, f.seed - f.seed % ROUNDS_A_BED);
}

static void
settle(void)
{
	monotime end, good_since = loop_now(f.b->loop);
	const char *why;

	f.loss = 0;
	for (unsigned i = 0; i < MANAGERS; i++) {
		f.m[i].mute_until = 0;
		start(&f.m[i]);
	}
	end = loop_now(f.b->loop) + BOUND;
	/* As long as it takes all to have a look. */
	while (loop_now(f.b->loop) - good_since < LOOK) {
		why = what_is_wrong();
		if (why)
			good_since = loop_now(f.b->loop);
		if (why && loop_now(f.b->loop) > end)
			give_up(why);
		bed_wait(f.b, MSEC(50));
	}
	bed_wait(f.b, STEADY);
	why = what_is_wrong();
	if (why)
		give_up(why);
	for (unsigned i = 0; i < MANAGERS; i++)
		masters_of_island[island_of(i)] += ha_is(f.m[i].sm, "master");
}

static void
new_field(unsigned seed)
{
	static const char *const hosts[] = { "H0_0", "H1_0", "H2_0" };

	f = (struct field){ .b = bed_new(FABRIC, seed + 1) };
	f.rng = 88172645463325252u + seed * 7919u;
	for (unsigned i = 0; i < MANAGERS; i++) {
		struct manager *m = &f.m[i];

		m->sm = bed_sm(f.b, bed_node(f.b, hosts[i]), 1);
		m->sm->out = goes_out;
		m->sm->in = comes_in;
		m->sm->conf.sm_key = KEY;
		m->sm->conf.standby_poll = MSEC(100 + draw(100));
		m->sm->conf.standby_retries = 2;
		m->sm->conf.sweep_interval = SEC(1);
		m->sm->conf.timeout = MSEC(50);
		m->sm->conf.priority = draw(3);
		m->sm->conf.accept_handover = draw(2);
		m->sm->conf.read_tables = false;
		m->conf[0] = m->sm->conf;
	}
}

static void
test_mixtures(void **state)
{
	(void)state;
	for (unsigned n = 0; n < rounds; n++) {
		if (n % ROUNDS_A_BED == 0) {
			if (f.b)
				bed_free(f.b);
			new_field(first_round + n);
		}
		f.seed = first_round + n;
		for (unsigned k = 4 + draw(8); k; k--) {
			happen((enum op)draw(OPS));
			bed_wait(f.b, draw(3) ? USEC(draw(400)) : MSEC(draw(150)));
		}
		settle();
		if (f.wrote)
			give_up("who does not lead has written to a device");
	}
	bed_free(f.b);
	for (unsigned op = 0; rounds >= ROUNDS && op < OPS; op++)
		assert_true(counts[op] > ROUNDS / 10);
	for (unsigned i = 0; rounds >= ROUNDS && i <= MANAGERS; i++)
		assert_true(masters_of_island[i] > ROUNDS / 100);
	assert_true(rounds < ROUNDS || legal > ROUNDS / 25);
	print_message("%u mixtures; %u Sets were legal; masters: %u of all that is joined, %u, %u "
		      "and %u of single leaves\n", rounds, legal, masters_of_island[0],
		      masters_of_island[1], masters_of_island[2], masters_of_island[3]);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_mixtures) };

	if (argc > 1)
		rounds = (unsigned)strtoul(argv[1], NULL, 10);
	if (argc > 2)
		first_round = (unsigned)strtoul(argv[2], NULL, 10);
	return cmocka_run_group_tests_name("core_managers", tests, NULL, NULL);
}
