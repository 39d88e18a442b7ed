/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A host that joins many multicast groups at once, for itself or for others, through libibumad,
 * attached to a simulated or real fabric.
 *
 * Usage: bench_join LIST WINDOW GO [LID]     the file LIST has a line "GROUP GUID" for each join:
 *                                      number of a group, and the port that becomes full member;
 *                                      WINDOW requests under way; it says "ready" and begins when
 *                                      the file GO is there; LID: asked instead of the subnet
 *                                      manager (bench_ask serve)
 *
 * The groups are the same for all hosts; who comes first makes them. Prints one line: "joined",
 * how many, and seconds. A request that is refused or lost ends it with status 1.
 */
#include <infiniband/umad.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "sm/wire/sa_record.h"

#define TIMEOUT_MS 2000
#define RETRIES 10
#define QKEY 0x80010000u
#define CREATE (SA_BIT(SA_MEMBER_MGID) | SA_BIT(SA_MEMBER_PORT_GID) | \
		SA_BIT(SA_MEMBER_JOIN_STATE) | SA_BIT(SA_MEMBER_QKEY) | \
		SA_BIT(SA_MEMBER_TCLASS) | SA_BIT(SA_MEMBER_PKEY) | \
		SA_BIT(SA_MEMBER_FLOW_LABEL) | SA_BIT(SA_MEMBER_SL))

#define JOINS 65536u	/* of a list */

struct join {
	unsigned group;		/* number */
	uint64_t guid;		/* of the port */
};

struct client {
	struct join *joins;	/* what to ask */
	unsigned count;		/* of them */
	int port, agent;	/* of libibumad */
	unsigned to;		/* LID of the subnet manager */
	struct sa_gid own;	/* GID of the port */
	uint8_t *umad;		/* for what is sent and what comes */
};

static void
must(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "bench_join: %s\n", what);
	exit(1);
}

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void
attach(struct client *c)
{
	umad_port_t p;
	uint8_t gid[16];

	must(umad_init() == 0 && umad_get_port(NULL, 0, &p) == 0, "no port");
	c->to = p.sm_lid;
	memcpy(gid, &p.gid_prefix, 8);
	memcpy(gid + 8, &p.port_guid, 8);
	c->own = sa_gid_get(gid);
	umad_release_port(&p);
	c->port = umad_open_port(NULL, 0);
	c->agent = umad_register(c->port, MAD_CLASS_SUBN_ADM, SA_CLASS_VERSION, 0, NULL);
	c->umad = calloc(1, umad_size() + MAD_SIZE);
	must(c->port >= 0 && c->agent >= 0 && c->umad, "cannot use the port");
}

static void
read_list(struct client *c, const char *path)
{
	FILE *f = fopen(path, "r");
	struct join j;

	c->joins = calloc(JOINS, sizeof(*c->joins));
	must(f && c->joins, "cannot read the list");
	while (c->count < JOINS && fscanf(f, "%u %" SCNx64, &j.group, &j.guid) == 2)
		c->joins[c->count++] = j;
	fclose(f);
}

static void
ask(struct client *c, unsigned n)
{
	uint8_t *mad = umad_get_mad(c->umad);
	struct sa_header h = {
		.h = { .tid = n + 1, .attr_id = SA_MC_MEMBER, .base_version = 1,
		       .mgmt_class = MAD_CLASS_SUBN_ADM, .class_version = SA_CLASS_VERSION,
		       .method = MAD_SET },
		.mask = CREATE,
	};
	struct sa_member r = {
		.mgid = { UINT64_C(0xff12401bffff0000), c->joins[n].group },
		.port_gid = { c->own.prefix, c->joins[n].guid },
		.qkey = 0x0b1b, .pkey = 0xffff, .join_state = SA_JOIN_FULL,
	};

	memset(mad, 0, MAD_SIZE);
	sa_header_encode(&h, mad);
	sa_encode(&sa_member_type, &r, mad + SA_HEADER_SIZE);
	umad_set_addr(c->umad, (int)c->to, 1, 0, (int)QKEY);
	must(umad_send(c->port, c->agent, c->umad, MAD_SIZE, TIMEOUT_MS, RETRIES) == 0,
	     "a request was not taken");
}

static void
answer(struct client *c)
{
	int len = MAD_SIZE;
	struct sa_header h;

	must(umad_recv(c->port, c->umad, &len, -1) >= 0, "no answer can be read");
	must(umad_status(c->umad) == 0, "a request was not answered");
	must(sa_header_decode(&h, umad_get_mad(c->umad), MAD_SIZE) == 0 && h.h.status == 0,
	     "a request was refused");
}

int
main(int argc, char **argv)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	struct client c = { 0 };
	unsigned window, sent = 0;
	double began;

	must(argc == 4 || argc == 5, "usage: bench_join LIST WINDOW GO [LID]");
	read_list(&c, argv[1]);
	window = (unsigned)atoi(argv[2]);
	attach(&c);
	if (argc == 5)
		c.to = (unsigned)atoi(argv[4]);
	puts("ready");
	fflush(stdout);
	while (access(argv[3], F_OK))
		nanosleep(&pause, NULL);
	began = now();
	for (unsigned got = 0; got < c.count; got++) {
		while (sent < c.count && sent - got < window)
			ask(&c, sent++);
		answer(&c);
	}
	printf("joined %u in %.3f s\n", c.count, now() - began);
	return 0;
}
