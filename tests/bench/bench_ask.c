/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A client of a subnet administrator that asks as much as it can, and the echo that tells how much
 * of the time is the transport's. Through libibumad alone, attached to a simulated or real fabric.
 *
 * Usage: bench_ask path WINDOW SECONDS TOP [COUNT]  Get(PathRecord) to the SM, from the own LID
 *                                      to random ones of 1 to TOP, WINDOW under way, until the
 *                                      time is over or SIGINT comes; COUNT: so many in all
 *        bench_ask echo WINDOW SECONDS LID      the same requests to `bench_ask serve` on that LID
 *        bench_ask table COUNT [LID BYTES]     GetTable of all NodeRecords, one after the other; or
 *                                      so many bytes from `bench_ask serve`
 *        bench_ask serve                        answer at once; says "ready"
 *
 * Prints one line: answers, answers a second, microseconds of the median, of 99 % and of the
 * slowest, answers with a status, and requests without an answer in 2 s (path, echo); or seconds
 * and bytes of the fastest (table). Both kinds of MAD have the header of the SA class: 24 bytes
 * common, 12 of RMPP, SM_Key, AttributeOffset, ComponentMask (IBA 15.2.1.1); records from byte 56.
 */
#include <endian.h>
#include <errno.h>
#include <infiniband/umad.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAD 256
#define HEADERS 56
#define LARGEST (32u << 20)	/* bytes of the longest answer */
#define SLOTS 65536u		/* requests under way at most, a power of two */
#define TIMEOUT_MS 2000
#define TABLE_TIMEOUT_MS 60000
#define SA_CLASS 3
#define QKEY 0x80010000u
enum { GET = 1, SET = 2, GET_TABLE = 0x12, NODE_RECORD = 0x11, PATH_RECORD = 0x35 };

struct client {
	int port, agent;	/* of libibumad */
	unsigned to;		/* LID of who answers */
	unsigned own;		/* our own LID */
	unsigned top;		/* highest LID to ask for; 0: echo */
	uint8_t *umad;		/* for all that comes */
	double sent[SLOTS];	/* when, by transaction */
	uint32_t *took;		/* microseconds of each answer */
	size_t len, size;	/* of them */
	unsigned long refused, lost;
};

static volatile sig_atomic_t enough;	/* SIGINT: ask no more */

static void
stop(int sig)
{
	(void)sig;
	enough = 1;
}

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void
must(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "bench_ask: %s failed\n", what);
	exit(1);
}

static void
put32(uint8_t *at, uint32_t v)
{
	for (unsigned i = 0; i < 4; i++)
		at[i] = (uint8_t)(v >> (24 - 8 * i));
}

static uint32_t
get32(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void
head(uint8_t *mad, int method, int attribute, uint32_t tid)
{
	memset(mad, 0, MAD);
	mad[0] = 1;
	mad[1] = SA_CLASS;
	mad[2] = 2;
	mad[3] = (uint8_t)method;
	put32(mad + 12, tid);
	mad[17] = (uint8_t)attribute;
}

/* DLID and SLID are components 4 and 5, NumbPath is 12 (IBA 15.2.5.16). */
static void
path_request(const struct client *c, uint8_t *mad, uint32_t tid)
{
	unsigned to = c->top ? 1 + (unsigned)rand() % c->top : 1;

	head(mad, GET, PATH_RECORD, tid);
	put32(mad + 52, 1u << 4 | 1u << 5 | 1u << 12);
	mad[HEADERS + 40] = (uint8_t)(to >> 8);
	mad[HEADERS + 41] = (uint8_t)to;
	mad[HEADERS + 42] = (uint8_t)(c->own >> 8);
	mad[HEADERS + 43] = (uint8_t)c->own;
	mad[HEADERS + 49] = 1;
}

static void
send_request(struct client *c, uint32_t tid)
{
	path_request(c, umad_get_mad(c->umad), tid);
	umad_set_addr(c->umad, (int)c->to, 1, 0, (int)QKEY);
	c->sent[tid % SLOTS] = now();
	must(umad_send(c->port, c->agent, c->umad, MAD, TIMEOUT_MS, 0) == 0, "umad_send");
}

static void
receive(struct client *c)
{
	int length, rc;
	uint8_t *mad = umad_get_mad(c->umad);
	double at;

	do {
		errno = 0;
		length = MAD;
		rc = umad_recv(c->port, c->umad, &length, 3 * TIMEOUT_MS);
	} while (rc < 0 && errno == EINTR);
	must(rc >= 0, "umad_recv");
	if (umad_status(c->umad)) {
		c->lost++;
		return;
	}
	at = now();
	if (c->len == c->size) {
		c->size = c->size ? 2 * c->size : 1u << 16;
		c->took = realloc(c->took, c->size * sizeof(*c->took));
		must(c->took != NULL, "realloc");
	}
	c->took[c->len++] = (uint32_t)((at - c->sent[get32(mad + 12) % SLOTS]) * 1e6);
	c->refused += (mad[4] | mad[5]) != 0;
}

static int
by_size(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void
ask(struct client *c, unsigned window, double seconds, unsigned long count)
{
	double began = now(), end = began + seconds;
	unsigned long sent = 0, back = 0;

	while (back < sent || !sent || (!enough && now() < end && (!count || sent < count))) {
		while (sent - back < window && (!count || sent < count) && now() < end && !enough)
			send_request(c, (uint32_t)++sent);
		receive(c);
		back++;
	}
	seconds = now() - began;
	must(c->len > 0, "all");
	qsort(c->took, c->len, sizeof(*c->took), by_size);
	printf("%zu answers, %.0f a second, median %u us, 99 %% %u us, slowest %u us, "
	       "%lu refused, %lu lost\n", c->len, (double)c->len / seconds, c->took[c->len / 2],
	       c->took[c->len - 1 - c->len / 100], c->took[c->len - 1], c->refused, c->lost);
}

static void
ask_table(struct client *c, unsigned count, unsigned bytes)
{
	uint8_t *mad = umad_get_mad(c->umad);
	double best = 0, began;
	int length = 0;

	for (unsigned i = 0; i < count; i++) {
		head(mad, GET_TABLE, NODE_RECORD, i + 1);
		put32(mad + HEADERS, bytes);
		umad_set_addr(c->umad, (int)c->to, 1, 0, (int)QKEY);
		began = now();
		length = (int)LARGEST;
		must(!umad_send(c->port, c->agent, c->umad, MAD, TABLE_TIMEOUT_MS, 0), "umad_send");
		must(umad_recv(c->port, c->umad, &length, 2 * TABLE_TIMEOUT_MS) >= 0, "umad_recv");
		must(umad_status(c->umad) == 0 && !mad[4] && !mad[5], "the table");
		if (!i || now() - began < best)
			best = now() - began;
	}
	printf("%.6f s, %d bytes\n", best, length);
}

/* A request comes back as the answer, a table as so many bytes as it says. */
static void
serve(struct client *c)
{
	uint8_t *mad = umad_get_mad(c->umad);
	int length;
	bool table;

	puts("ready");
	fflush(stdout);
	for (;;) {
		length = (int)LARGEST;
		must(umad_recv(c->port, c->umad, &length, -1) >= 0, "umad_recv");
		if (umad_status(c->umad))
			continue;
		table = mad[3] == GET_TABLE;
		length = table ? HEADERS + (int)(get32(mad + HEADERS) % LARGEST) : MAD;
		mad[3] |= 0x80;
		umad_set_addr(c->umad, be16toh(umad_get_mad_addr(c->umad)->lid), 1, 0, (int)QKEY);
		if (table)
			memcpy(mad + 24, "\x01\x01\x01", 3);	/* RMPP: version, DATA, active */
		must(umad_send(c->port, c->agent, c->umad, length, 0, 0) == 0, "umad_send");
	}
}

static void
attach(struct client *c, bool serves)
{
	long methods[16 / sizeof(long)] = { 0 };
	umad_port_t port;

	if (serves)
		methods[0] = 1l << GET | 1l << SET | 1l << GET_TABLE;
	must(umad_init() == 0, "umad_init");
	must(umad_get_port(NULL, 0, &port) == 0, "umad_get_port");
	c->own = port.base_lid;
	c->to = port.sm_lid;
	umad_release_port(&port);
	c->port = umad_open_port(NULL, 0);
	must(c->port >= 0, "umad_open_port");
	c->agent = umad_register(c->port, SA_CLASS, 2, 1, serves ? methods : NULL);
	must(c->agent >= 0, "umad_register");
	c->umad = calloc(1, umad_size() + LARGEST);
	must(c->umad != NULL, "calloc");
}

static unsigned
number(int argc, char **argv, int i)
{
	return i < argc ? (unsigned)strtoul(argv[i], NULL, 0) : 0;
}

int
main(int argc, char **argv)
{
	static struct client c;
	const char *what = argc > 1 ? argv[1] : "";
	unsigned window = number(argc, argv, 2);

	signal(SIGINT, stop);
	attach(&c, !strcmp(what, "serve"));
	if (!strcmp(what, "serve")) {
		serve(&c);
	} else if (!strcmp(what, "table") && window) {
		c.to = argc > 3 ? number(argc, argv, 3) : c.to;
		ask_table(&c, window, number(argc, argv, 4));
	} else if (argc > 4 && window && window < SLOTS) {
		c.top = strcmp(what, "path") ? 0 : number(argc, argv, 4);
		c.to = c.top ? c.to : number(argc, argv, 4);
		ask(&c, window, atof(argv[3]), number(argc, argv, 5));
	} else {
		fprintf(stderr, "usage: see tests/bench/bench_ask.c\n");
		return 2;
	}
	free(c.took);
	free(c.umad);
	umad_close_port(c.port);
	return 0;
}
