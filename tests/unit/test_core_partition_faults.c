/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/core/subnet.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "tests/unit/partition_bed.h"
#include "tests/unit/sa_bed.h"

/*
 * Random changes of partitions under faults: lost MADs, Sets refused and ignored, hosts and
 * switches that reboot, go silent or lose their cable, hosts that call themselves as members are
 * called, aliases that move, another LMC, a file that is reloaded, and the subnet manager killed,
 * started again or followed by another one on another host, in the middle of a change or not.
 *
 * What holds at every moment is looked at whenever a Set of P_Keys or PortInfo or its answer is on
 * its way, in the devices:
 * - a key that a host of an ACTIVE link has now and had not before is its by what was said before
 *   the change that is under way, or by what is said after it;
 * - a key that a port had and has is where it was;
 * - the default partition is there, and the subnet manager's port has it whole, at index 0;
 * - a switch that enforces lets that through; while nothing is wrong with it a host gets no key
 *   before its switch has it, and keeps none that its switch has no more.
 * When all is well again and quiet, hosts and switches have exactly what was said.
 *
 * usage: test_core_partition_faults [ROUNDS [SEED]]
 */
#define HOSTS 16u
#define PORTS_OF 9u		/* partitions 1.. whose members are ports, */
#define PARTS 12u		/* and of the others one alias each */
#define ALIASES 3u
#define ROOM 32u		/* P_Keys of a host */
#define ALIAS(a) (UINT64_C(0xa11a50000) + (a))
#define SRV 0x100u		/* the file's */
#define NO_STATUS 0x1c		/* of a refused Set */

static unsigned rounds = 250, seed = 7;

/* What was said. */
struct said {
	int8_t is[PARTS][HOSTS];	/* enum config_membership; -1: none */
	int8_t alias_is[PARTS][ALIASES];	/* likewise, of aliases */
	int at[ALIASES];		/* the host that has it; -1: none */
	bool there[PARTS];		/* the partition is */
	unsigned file;			/* which of the two */
};

struct world {
	struct bed *b;
	struct bed_sm *sm;		/* who leads */
	struct said now, next;		/* the same but while a change is under way */
	uint32_t host[HOSTS];		/* node */
	uint64_t guid[HOSTS];		/* of its port */
	const char *name[HOSTS];	/* at first */
	uint16_t had[HOSTS][ROOM];	/* its table when it was looked at last */
	bool active[HOSTS];		/* its link then */
	bool faulty[HOSTS];		/* something is wrong with it, or its switch */
	struct sa_bed client;		/* who sets aliases */
	unsigned looked, changed, refused, wrong;	/* how often */
	unsigned round;			/* for messages */
};

/* ---- What a host is to have ---- */

static unsigned
bit_of(int membership)
{
	return membership < 0 ? 0 : membership == MEMBERSHIP_BOTH ? 3 :
	       membership == MEMBERSHIP_FULL ? 2 : 1;
}

/* Bits: 1 the limited key, 2 the full one. */
static unsigned
bits_said(const struct world *w, const struct said *s, unsigned h, uint16_t number)
{
	unsigned p = number - 1u, bits = 0;

	if (number == PKEY_DEFAULT)
		return w->sm->node == w->host[h] ? 2 : 1;
	if (number == SRV + s->file)
		return !strncmp(w->name[h], "H0_", 3) && strcmp(w->name[h], "H0_1_1") ? 2 : 0;
	if (p >= PARTS)
		return 0;
	bits = bit_of(s->is[p][h]);
	for (unsigned a = 0; a < ALIASES; a++)
		if (s->at[a] == (int)h)
			bits |= bit_of(s->alias_is[p][a]);
	return bits;
}

static bool
may_have(const struct world *w, unsigned h, uint16_t key)
{
	unsigned bit = key & PKEY_FULL ? 2 : 1;

	return (bits_said(w, &w->now, h, key & PKEY_NUMBER) |
		bits_said(w, &w->next, h, key & PKEY_NUMBER)) & bit;
}

static unsigned
keys_said(const struct world *w, const struct said *s, unsigned h)
{
	unsigned n = 1;

	for (unsigned number = 1; number <= SRV + 1; number++)
		n += (unsigned)__builtin_popcount(bits_said(w, s, h, (uint16_t)number));
	return n;
}

/* ---- What devices have ---- */

static const struct ibnet_port *
cable_of(const struct world *w, unsigned h)
{
	return &w->b->net->nodes[w->host[h]].ports[1];
}

static bool
holds(const struct world *w, uint32_t node, unsigned port, uint16_t key)
{
	for (unsigned i = 0; i < ROOM; i++)
		if (model_pkey(w->b->m, node, port, i) == key)
			return true;
	return false;
}

static int
place_in(const uint16_t keys[ROOM], uint16_t key)
{
	for (int i = 0; i < (int)ROOM; i++)
		if (keys[i] == key)
			return i;
	return -1;
}

static bool
is_active(const struct world *w, unsigned h)
{
	return model_is_on(w->b->m, w->host[h]) &&
	       model_portinfo(w->b->m, w->host[h], 1)->state == PORT_ACTIVE;
}

/* Taken as it is: the device itself has changed. */
static void
note(struct world *w, unsigned h)
{
	for (unsigned i = 0; i < ROOM; i++)
		w->had[h][i] = model_pkey(w->b->m, w->host[h], 1, i);
	w->active[h] = is_active(w, h);
}

static void
wrong(const struct world *w, unsigned h, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void
wrong(const struct world *w, unsigned h, const char *fmt, ...)
{
	const struct ibnet_port *cable = cable_of(w, h);
	char text[200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	for (unsigned i = 0; i < ROOM; i++)
		fprintf(stderr, "%04x(%04x) ", model_pkey(w->b->m, w->host[h], 1, i),
			model_pkey(w->b->m, cable->peer, cable->peer_port, i));
	fail_msg("seed %u round %u host %s: %s", seed, w->round, w->name[h], text);
}

static void
look_at_key(const struct world *w, unsigned h, uint16_t key, int place)
{
	const struct ibnet_port *cable = cable_of(w, h);
	const struct portinfo *info = model_portinfo(w->b->m, cable->peer, cable->peer_port);
	int before = place_in(w->had[h], key);

	if ((before < 0 || !w->active[h]) && is_active(w, h) && !may_have(w, h, key))
		wrong(w, h, "has got 0x%04x, which nobody said", key);
	if (before > 0 && place > 0 && before != place)
		wrong(w, h, "0x%04x went from index %d to %d", key, before, place);
	if (before < 0 && !w->faulty[h] && info->enforce_in &&
	    !holds(w, cable->peer, cable->peer_port, key))
		wrong(w, h, "has 0x%04x before its switch", key);
}

static void
look_at_host(struct world *w, unsigned h)
{
	const struct ibnet_port *cable = cable_of(w, h);
	const struct portinfo *info = model_portinfo(w->b->m, cable->peer, cable->peer_port);
	uint16_t keys[ROOM];

	for (unsigned i = 0; i < ROOM; i++)
		keys[i] = model_pkey(w->b->m, w->host[h], 1, i);
	if (w->active[h] == is_active(w, h) && !memcmp(keys, w->had[h], sizeof(keys)))
		return;
	w->changed++;
	for (unsigned i = 0; i < ROOM; i++) {
		uint16_t lost = w->had[h][i];

		if (keys[i])
			look_at_key(w, h, keys[i], (int)i);
		if (lost && place_in(keys, lost) < 0 && !w->faulty[h] && info->enforce_in &&
		    place_in(keys, lost ^ PKEY_FULL) < 0 &&
		    holds(w, cable->peer, cable->peer_port, lost))
			wrong(w, h, "has lost 0x%04x before its switch", lost);
	}
	if (place_in(keys, PKEY_DEFAULT) < 0 && place_in(keys, PKEY_DEFAULT | PKEY_FULL) < 0)
		wrong(w, h, "has lost the default partition");
	if (w->host[h] == w->sm->node && w->active[h] && is_active(w, h) &&
	    w->had[h][0] == 0xffff && keys[0] != 0xffff)
		wrong(w, h, "the subnet manager has lost its key");
	if ((info->enforce_in || info->enforce_out) && is_active(w, h) &&
	    !holds(w, cable->peer, cable->peer_port, 0x7fff) &&
	    !holds(w, cable->peer, cable->peer_port, 0xffff))
		wrong(w, h, "its switch holds back the default partition");
	note(w, h);
}

static void
look(void *arg, const struct model_passage *p)
{
	struct world *w = arg;
	struct smp smp;

	if (p->qp || smp_decode(&smp, p->mad, MAD_SIZE) ||
	    (smp.h.attr_id != ATTR_P_KEY_TABLE && smp.h.attr_id != ATTR_PORT_INFO))
		return;
	w->looked++;
	for (unsigned h = 0; h < HOSTS; h++)
		look_at_host(w, h);
}

/* Exactly what was said. */
static void
judge_rest(struct world *w, unsigned h)
{
	const struct ibnet_port *cable = cable_of(w, h);
	const struct portinfo *info = model_portinfo(w->b->m, cable->peer, cable->peer_port);
	unsigned found = 0;

	if (!is_active(w, h))
		wrong(w, h, "is not up");
	for (unsigned i = 0; i < ROOM; i++) {
		uint16_t key = model_pkey(w->b->m, w->host[h], 1, i);

		found += key != 0;
		if (key && !may_have(w, h, key))
			wrong(w, h, "has 0x%04x for good", key);
		if (model_pkey(w->b->m, cable->peer, cable->peer_port, i) != key)
			wrong(w, h, "its switch has other keys");
	}
	if (found != keys_said(w, &w->now, h))
		wrong(w, h, "has %u keys of %u", found, keys_said(w, &w->now, h));
	if (!info->enforce_in || !info->enforce_out)
		wrong(w, h, "is not held back");
}

/* ---- The subnet manager ---- */

static const char *
file_of(unsigned which)
{
	return which ? "partitions:\n"
		"  - {name: default, pkey: 0x7fff, members: [{nodes: all, membership: limited}]}\n"
		"  - {name: srv, pkey: 0x101, members: [{nodes: [/^H0_/]}], except: H0_1_1}\n" :
		"partitions:\n"
		"  - {name: default, pkey: 0x7fff, members: [{nodes: all, membership: limited}]}\n"
		"  - {name: srv, pkey: 0x100, members: [{nodes: [/^H0_/]}], except: H0_1_1}\n";
}

static void
set_file(struct world *w)
{
	struct config *conf = parse_ok(file_of(w->next.file));

	subnet_set_policy(w->sm->s, conf);
	config_free(conf);
}

static void
rest(struct world *w)
{
	if (!bed_quiet(w->sm, SEC(600)))
		fail_msg("seed %u round %u: it does not come to rest", seed, w->round);
}

static void
begin(struct world *w)
{
	bed_start(w->sm);
	set_file(w);
	if (!bed_run(w->sm, SEC(600)))
		fail_msg("seed %u round %u: not up: %s", seed, w->round, w->sm->why);
}

/* One store's rows into another's place. */
struct copying {
	struct store *to;		/* NULL: rows of `from` go */
	struct store *from;
	enum store_table table;
};

static void
copy_row(void *arg, const char *key, const char *value)
{
	struct copying *c = arg;

	if (c->to)
		store_put(c->to, c->table, key, value);
	else
		store_delete(c->from, c->table, key);
}

static void
copy_store(struct store *to, struct store *from)
{
	for (unsigned t = 0; t < STORE_TABLES; t++) {
		struct copying drop = { NULL, to, t }, copy = { to, from, t };

		assert_int_equal(store_scan(to, t, copy_row, &drop, NULL), 0);
		assert_int_equal(store_scan(from, t, copy_row, &copy, NULL), 0);
	}
	store_commit(to, NULL, NULL);
}

/* What the store has of commands. */
struct stored {
	const struct world *w;
	struct said *s;
};

static void
read_row(void *arg, const char *key, const char *value)
{
	struct stored *st = arg;
	unsigned long long guid;
	unsigned p;
	int8_t is = !strcmp(value, "full") ? MEMBERSHIP_FULL : !strcmp(value, "both") ?
		MEMBERSHIP_BOTH : MEMBERSHIP_LIMITED;

	if (sscanf(key, "default/partition/p%u", &p) == 1)
		st->s->there[p] = true;
	if (sscanf(key, "default/member/p%u/%llx", &p, &guid) != 2)
		return;
	for (unsigned a = 0; a < ALIASES; a++)
		if (guid == ALIAS(a))
			st->s->alias_is[p][a] = is;
	for (unsigned h = 0; h < HOSTS; h++)
		if (guid == st->w->guid[h])
			st->s->is[p][h] = is;
}

static bool
same_said(const struct said *a, const struct said *b)
{
	return !memcmp(a->is, b->is, sizeof(a->is)) && !memcmp(a->there, b->there,
		sizeof(a->there)) && !memcmp(a->alias_is, b->alias_is, sizeof(a->alias_is));
}

/* A change that was not acknowledged is there, wholly, or it is not. */
static void
reconcile(struct world *w)
{
	struct said s = { 0 };
	struct stored st = { w, &s };

	memset(s.is, -1, sizeof(s.is));
	memset(s.alias_is, -1, sizeof(s.alias_is));
	assert_int_equal(store_scan(w->sm->store, STORE_PARTITIONS, read_row, &st, NULL), 0);
	if (same_said(&s, &w->next))
		w->now = w->next;
	else if (same_said(&s, &w->now))
		w->next = w->now;
	else
		fail_msg("seed %u round %u: half of a change is stored", seed, w->round);
}

/* It ends at once, and is started again, or another one on another host, with what was stored. */
static void
killed(struct world *w)
{
	struct bed_sm *old = w->sm, *other = &w->b->sms[old == &w->b->sms[0]];

	bed_stop(old);
	bed_wait(w->b, MSEC(1));
	if (rand() % 2) {
		copy_store(other->store, old->store);
		bed_wait(w->b, MSEC(1));
		w->sm = w->client.sm = other;
	}
	reconcile(w);
	begin(w);
}

/* ---- Faults ---- */

static void
all_faulty(struct world *w, uint32_t node)
{
	for (unsigned h = 0; h < HOSTS; h++)
		w->faulty[h] |= node == MODEL_ALL || w->host[h] == node ||
				cable_of(w, h)->peer == node;
}

/* Not on the hosts that the test itself needs. */
static unsigned
some_host(const struct world *w)
{
	unsigned h;

	do
		h = (unsigned)rand() % HOSTS;
	while (w->host[h] == w->b->sms[0].node || w->host[h] == w->b->sms[1].node ||
	       w->host[h] == w->client.node);
	return h;
}

static void
break_something(struct world *w)
{
	struct model *m = w->b->m;
	unsigned h = some_host(w);
	uint32_t host = w->host[h], leaf = cable_of(w, h)->peer, node = rand() % 2 ? host : leaf;

	w->wrong++;
	switch (rand() % 10) {
	case 0:
		model_drop(m, node = MODEL_ALL, 30000);
		break;
	case 1:
		model_refuse(m, node, ATTR_P_KEY_TABLE, NO_STATUS);
		break;
	case 2:
		model_keep(m, node, MODEL_KEEP_PKEYS);
		break;
	case 3:
		model_link_set(m, host, 1, false);
		break;
	case 4:
		model_reboot(m, node);
		break;
	case 5:
		model_power(m, host, false);
		break;
	case 6:
		model_silence(m, node, MODEL_SILENT);
		break;
	case 7:
		model_link_flap(m, host, 1, MSEC(1 + rand() % 3000));
		break;
	case 8:
		if (strncmp(w->name[h], "H0_", 3))
			model_set_description(m, host, "H0_0_9");
		break;
	default:
		w->sm->conf.lmc ^= 1;
		subnet_configure(w->sm->s, &w->sm->conf, NULL, STAGE_LIDS);
		return;
	}
	all_faulty(w, node);
	all_faulty(w, host);
	for (h = 0; h < HOSTS; h++)
		note(w, h);
}

static bool
is_faulty(const struct world *w)
{
	bool any = false;

	for (unsigned h = 0; h < HOSTS; h++)
		any |= w->faulty[h];
	return any;
}

static bool
is_well(const struct world *w)
{
	for (unsigned h = 0; h < HOSTS; h++) {
		const struct ibnet_port *cable = cable_of(w, h);
		unsigned keys = 0;

		for (unsigned i = 0; i < ROOM; i++) {
			uint16_t key = model_pkey(w->b->m, w->host[h], 1, i);

			keys += key != 0;
			if (key != model_pkey(w->b->m, cable->peer, cable->peer_port, i) ||
			    (key && !may_have(w, h, key)))
				return false;
		}
		if (!is_active(w, h) || keys != keys_said(w, &w->now, h) ||
		    fabric_port_by_guid(w->sm->s->plan->fabric, w->guid[h]) == FABRIC_NONE)
			return false;
	}
	return !w->sm->s->push_incomplete;
}

/* All is mended, and before long as it should be. */
static void
mend(struct world *w)
{
	for (unsigned h = 0; h < HOSTS; h++) {
		model_power(w->b->m, w->host[h], true);
		model_set_description(w->b->m, w->host[h], w->name[h]);
	}
	model_heal(w->b->m, MODEL_ALL);
	for (unsigned h = 0; h < HOSTS; h++)
		note(w, h);
	rest(w);
	for (unsigned i = 0; i < 20 && !is_well(w); i++) {
		bed_wait(w->b, SEC(30));
		subnet_sweep(w->sm->s);
		rest(w);
	}
	for (unsigned h = 0; h < HOSTS; h++)
		judge_rest(w, h);
	memset(w->faulty, 0, sizeof(w->faulty));
}

/* ---- Changes ---- */

static void
await_long(struct world *w, struct outcome *o)
{
	loop_run_until(w->b->loop, loop_now(w->b->loop) + SEC(900), &o->done);
	if (!o->done)
		fail_msg("seed %u round %u: no answer", seed, w->round);
}

/* A member is added, set or removed, or a partition is made or removed. */
static void
change_something(struct world *w)
{
	unsigned p = (unsigned)rand() % PARTS, h = (unsigned)rand() % HOSTS;
	bool port = p < PORTS_OF, there = w->now.there[p], drop = there && rand() % 40 == 0;
	unsigned a = port ? 0 : p - PORTS_OF;
	int8_t is = (int8_t)(rand() % 4 - 1), *said = port ? &w->next.is[p][h] :
		&w->next.alias_is[p][a];
	struct part_member one = { .guid = port ? w->guid[h] : ALIAS(a),
				   .membership = (uint8_t)is };
	char name[8];
	struct partition_change c = {
		.kind = drop ? PARTITION_REMOVE : !there ? PARTITION_ADD :
			is < 0 ? PARTITION_MEMBER_REMOVE : PARTITION_MEMBER_ADD,
		.name = name, .idempotent = true, .pkey = (uint16_t)(p + 1),
		.members = &one, .nmembers = !drop && (there || is >= 0),
	};
	struct outcome o;

	snprintf(name, sizeof(name), "p%u", p);
	w->next.there[p] = !drop;
	if (drop) {
		memset(w->next.is[p], -1, sizeof(w->next.is[p]));
		memset(w->next.alias_is[p], -1, sizeof(w->next.alias_is[p]));
	} else {
		*said = is;
	}
	ask(w->sm, &c, &o);
	if (rand() % 8 == 0) {
		bed_wait(w->b, USEC(rand() % 2000));
		if (rand() % 3)
			break_something(w);
		else
			killed(w);
	}
	await_long(w, &o);
	w->refused += o.error != 0;
	if (!o.error)
		w->now = w->next;
	else
		reconcile(w);
}

/* An alias comes, moves or goes. */
static void
move_alias(struct world *w)
{
	unsigned a = (unsigned)rand() % ALIASES;
	int to = rand() % (int)HOSTS - 1;
	struct sa_guids r = { 0 };

	rest(w);
	for (unsigned again = 0; again < 2; again++) {
		int h = again ? to : w->now.at[a];

		if (h < 0)
			continue;
		r.lid = model_portinfo(w->b->m, w->host[h], 1)->lid;
		r.guids[a + 1] = again ? ALIAS(a) : 0;
		w->next.at[a] = again ? to : -1;
		w->client.key = w->sm->conf.sm_key;
		assert_true(sa_bed_ask(&w->client, again ? MAD_SET : MAD_DELETE, &sa_guids_type, &r,
				       SA_BIT(SA_GUIDS_LID) | SA_BIT(SA_GUIDS_BLOCK) |
				       SA_BIT(SA_GUIDS_FIRST + a + 1)));
		assert_int_equal(w->client.h.h.status, 0);
		w->now.at[a] = w->next.at[a];
	}
	bed_wait(w->b, SEC(2));
	rest(w);
}

static void
reload(struct world *w)
{
	w->next.file ^= 1;
	set_file(w);
	subnet_configure(w->sm->s, &w->sm->conf, NULL, STAGE_PARTITIONS);
	if (rand() % 4 == 0) {
		bed_wait(w->b, USEC(rand() % 2000));
		bed_stop(w->sm);
		begin(w);
	}
	rest(w);
	w->now.file = w->next.file;
	mend(w);
}

static void
one_round(struct world *w)
{
	unsigned what = (unsigned)rand() % 40;

	if (what == 0)
		killed(w);
	else if (what == 1)
		reload(w);
	else if (what < 5 && !is_faulty(w))
		move_alias(w);
	else if (what < 8)
		break_something(w);
	else if (what < 13)
		mend(w);
	else if (what == 13)
		subnet_sweep(w->sm->s);
	else
		change_something(w);
}

static void
world_new(struct world *w)
{
	struct port_events ev = { .receive = sa_bed_receive, .state = sa_bed_state,
				  .arg = &w->client };
	uint32_t node = 0;
	struct error e;

	w->b = bed_new("ft3 4", seed);
	for (unsigned h = 0; h < HOSTS; h++) {
		node = bed_next(w->b, IBNET_CA, node);
		w->host[h] = node;
		w->name[h] = w->b->net->nodes[node].desc;
		w->guid[h] = w->b->net->nodes[node++].ports[1].guid;
	}
	for (unsigned i = 0; i < 2; i++)
		bed_sm(w->b, w->host[i * 6], 1)->conf.sweep_interval = 0;
	w->sm = &w->b->sms[0];
	memset(w->now.is, -1, sizeof(w->now.is));
	memset(w->now.alias_is, -1, sizeof(w->now.alias_is));
	memset(w->now.at, -1, sizeof(w->now.at));
	w->next = w->now;
	begin(w);
	rest(w);
	for (unsigned h = 0; h < HOSTS; h++)
		note(w, h);
	mend(w);
	w->client = (struct sa_bed){ .version = SA_CLASS_VERSION, .sm = w->sm,
				     .node = w->host[HOSTS - 1] };
	assert_int_equal(direct_open(&w->client.port, w->b->m, w->client.node, 1, &ev, &e), 0);
	model_tap(w->b->m, look, w);
}

static void
test_faults(void **state)
{
	static struct world w;

	(void)state;
	srand(seed);
	world_new(&w);
	for (w.round = 0; w.round < rounds; w.round++)
		one_round(&w);
	mend(&w);
	print_message("%u rounds, %u looks, %u tables changed, %u changes refused, %u faults\n",
		      rounds, w.looked, w.changed, w.refused, w.wrong);
	assert_true(w.changed > rounds / 2 && w.wrong > rounds / 20);
	model_tap(w.b->m, NULL, NULL);
	port_close(w.client.port);
	free(w.client.data);
	bed_free(w.b);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_faults) };

	if (argc > 1)
		rounds = (unsigned)strtoul(argv[1], NULL, 10);
	if (argc > 2)
		seed = (unsigned)strtoul(argv[2], NULL, 10);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
