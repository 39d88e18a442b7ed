/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include "tests/unit/core_bed.h"
#include "tests/unit/conf_help.h"

/*
 * Partitions at scale: processor time from the moment at which something is asked to the first Set
 * of a P_Key table that leaves, by a subnet manager on a virtual loop and a simulated fabric. In
 * that time the fabric does nothing. Reading the file is said by itself, and so is how much is
 * written.
 *
 * usage: bench_partition [RECIPE [PARTITIONS [MEMBERS [ROUNDS]]]]
 */
struct bench {
	struct bed_sm *sm;		/* the manager */
	uint64_t *guids;		/* of hosts' ports */
	uint32_t len;			/* of them */
	unsigned partitions;
	unsigned members;		/* of each */
	double asked;			/* processor time then, ms; 0: nobody waits */
	double took;			/* until the first Set */
};

static double
cpu_ms(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e3 +
		(double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e3;
}

/* The first Set of a P_Key table goes out. */
static bool
leaves(struct bed_sm *sm, struct port_mad *m)
{
	struct bench *b = sm->arg;
	struct smp smp;

	if (b->asked <= 0 || smp_decode(&smp, m->mad, MAD_SIZE))
		return true;
	if (smp.h.method == MAD_SET && smp.h.attr_id == ATTR_P_KEY_TABLE) {
		b->took = cpu_ms() - b->asked;
		b->asked = 0;
	}
	return true;
}

static void
list_hosts(struct bench *b)
{
	const struct ibnet *net = b->sm->bed->net;

	b->guids = calloc(net->nnodes, sizeof(*b->guids));
	for (uint32_t node = bed_next(b->sm->bed, IBNET_CA, 0); node != IBNET_NONE;
	     node = bed_next(b->sm->bed, IBNET_CA, node + 1))
		b->guids[b->len++] = net->nodes[node].ports[1].guid;
}

/* Members lie next to each other, as a scheduler would give them out, shifted by so many hosts. */
static struct config *
make_config(const struct bench *b, unsigned shift)
{
	struct buf text = { 0 };
	double began = cpu_ms();
	struct config *c;

	buf_str(&text, "partitions:\n"
		"  - {name: default, pkey: 0x7fff, members: [{nodes: all}]}\n");
	for (unsigned p = 0; p < b->partitions; p++) {
		buf_printf(&text, "  - {name: tenant-%u, pkey: %u, members: [{membership: full, "
			   "nodes: [", p, p + 1);
		for (unsigned m = 0; m < b->members; m++)
			buf_printf(&text, "%s\"0x%016llx\"", m ? ", " : "", (unsigned long long)
				   b->guids[(p * b->members + m + shift) % b->len]);
		buf_str(&text, "]}]}\n");
	}
	began = cpu_ms();
	c = parse_ok(text.data);
	printf("file of %u partitions of %u members read in %.1f ms\n", b->partitions, b->members,
	       cpu_ms() - began);
	buf_free(&text);
	return c;
}

/* Hosts that do not hold the keys of the plan, or whose ports of switches do not. */
static unsigned
count_lacking(const struct bench *b)
{
	const struct bed *bed = b->sm->bed;
	const struct plan *plan = b->sm->s->plan;
	unsigned lacking = 0;

	for (uint32_t i = 0; i < plan->fabric->nnodes; i++) {
		const struct fabric_node *n = &plan->fabric->nodes[i];
		uint32_t at = bed->net->nnodes;
		bool lacks = false;

		while (n->type == NODE_CA && at-- && bed->net->nodes[at].guid != n->guid)
			continue;
		for (unsigned k = 0; n->type == NODE_CA && k < 32; k++) {
			const struct ibnet_port *cable = &bed->net->nodes[at].ports[1];
			uint16_t key = plan_pkeys_at(plan->pkeys, n->first_port + 1, k);

			lacks |= model_pkey(bed->m, at, 1, k) != key ||
				 model_pkey(bed->m, cable->peer, cable->peer_port, k) != key;
		}
		lacking += lacks;
	}
	return lacking;
}

static void
tell(struct bench *b, const char *what)
{
	printf("%-36s first Set after %6.1f ms, %llu P_Key blocks written\n", what,
	       b->asked > 0 ? -1 : b->took,
	       (unsigned long long)bed_count(b->sm->bed, MAD_SET, ATTR_P_KEY_TABLE));
	fflush(stdout);
	assert_int_equal(count_lacking(b), 0);
}

static void
reload(struct bench *b, unsigned shift, const char *what)
{
	struct config *c = make_config(b, shift);

	assert_true(bed_quiet(b->sm, SEC(600)));
	model_count_reset(b->sm->bed->m);
	b->asked = cpu_ms();
	subnet_set_policy(b->sm->s, c);
	subnet_configure(b->sm->s, &b->sm->conf, NULL, STAGE_PARTITIONS);
	assert_true(bed_quiet(b->sm, SEC(600)));
	tell(b, what);
	config_free(c);
}

static void
on_answer(void *arg, int error, const char *text, const struct partition_report *report)
{
	(void)report;
	if (error)
		fail_msg("%s", text);
	*(bool *)arg = true;
}

static void
add_member(struct bench *b, unsigned round)
{
	struct part_member m = { .guid = b->guids[(round * 977 + 5) % b->len],
				 .membership = MEMBERSHIP_FULL };
	char name[32];
	struct partition_change c = { .kind = PARTITION_MEMBER_ADD, .name = name, .members = &m,
				      .nmembers = 1 };
	struct error e = { 0 };
	bool done = false;

	snprintf(name, sizeof(name), "tenant-%u", (round * 7 + b->partitions / 2) % b->partitions);
	assert_true(bed_quiet(b->sm, SEC(600)));
	model_count_reset(b->sm->bed->m);
	b->asked = cpu_ms();
	if (subnet_partition(b->sm->s, &c, on_answer, &done, &e))
		fail_msg("%s", e.text);
	loop_run_until(b->sm->bed->loop, loop_now(b->sm->bed->loop) + SEC(60), &done);
	assert_true(bed_quiet(b->sm, SEC(600)));
	tell(b, "one member by command");
}

int
main(int argc, char **argv)
{
	struct bed *bed = bed_new(argc > 1 ? argv[1] : "ft3 32", 1);
	struct bench b = { .sm = bed_sm(bed, bed_next(bed, IBNET_CA, 0), 1),
			   .partitions = argc > 2 ? (unsigned)atoi(argv[2]) : 1000,
			   .members = argc > 3 ? (unsigned)atoi(argv[3]) : 64 };
	unsigned rounds = argc > 4 ? (unsigned)atoi(argv[4]) : 5;
	struct config *none = parse_ok("");

	b.sm->conf.sweep_interval = 0;
	list_hosts(&b);
	bed_start(b.sm);
	subnet_set_policy(b.sm->s, none);
	config_free(none);
	assert_int_equal(bed_run(b.sm, SEC(600)), 1);
	b.sm->arg = &b;
	b.sm->out = leaves;
	reload(&b, 0, "reload, none before");
	reload(&b, 1, "reload, one member of each is other");
	for (unsigned i = 0; i < rounds; i++)
		add_member(&b, i);
	bed_free(bed);
	free(b.guids);
	return 0;
}
