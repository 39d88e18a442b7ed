/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Load on the subnet administrator, by real libibumad: questions about the hosts of the fabric, a
 * number of them outstanding, the time of each answer measured.
 *
 * Usage: umad_load paths DEPTH SECONDS   Get(PathRecord) to one host after the other
 *        umad_load mixed DEPTH SECONDS   these, and Gets and tables of other kinds by turns
 *        umad_load tables DEPTH SECONDS  GetTable of all NodeRecords
 *        umad_load flood RATE SECONDS    Get(PathRecord) so often a second; nobody reads answers
 * It says "ready" when it begins, and ends with a line of what became of the questions, by status
 * ("none": NO_RECORDS, "other": any but that and BUSY), and percentiles of the time of answers in
 * microseconds. BUSY is no loss: such a question counts under "busy" and is over. "lost" are those
 * that the transport gave back.
 */
#include <endian.h>
#include <infiniband/umad.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define HEADER_SIZE 56
#define RECORD_NODE 0x11
#define RECORD_PORT 0x12
#define RECORD_PATH 0x35
#define CLASS_PORT_INFO 0x01
#define GET 1
#define GET_TABLE 0x12
#define QKEY 0x80010000u
#define ROOM (32u << 20)	/* for an answer */
#define DEPTH_MAX 16384u	/* power of two */
#define TIMEOUT_MS 20000
#define SAMPLES_MAX (4u << 20)
#define TYPE_HOST 1		/* NodeInfo.NodeType */

struct load {
	int fd, agent;			/* of libibumad */
	unsigned lid, sm_lid;		/* own, and whom to ask */
	uint16_t *hosts;		/* their LIDs */
	unsigned nhosts;		/* how many */
	void *out, *in;			/* one message either way */
	double sent[DEPTH_MAX];		/* by low bits of the TID: when; 0: free */
	unsigned next;			/* TID of the next question */
	unsigned outstanding;		/* not answered */
	unsigned long answered, busy, none, other, lost;	/* outcomes */
	float *us;			/* time of each answer */
	unsigned samples;		/* of them */
};

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void
put(uint8_t *to, unsigned bytes, uint64_t value)
{
	for (unsigned i = bytes; i--; value >>= 8)
		to[i] = (uint8_t)value;
}

static uint64_t
get(const uint8_t *from, unsigned bytes)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < bytes; i++)
		value = value << 8 | from[i];
	return value;
}

/* ---- one question ---- */

static uint8_t *
question(struct load *l, unsigned method, unsigned attr, uint64_t mask)
{
	uint8_t *mad = umad_get_mad(l->out);

	memset(l->out, 0, umad_size() + 256);
	mad[0] = 1;
	mad[1] = 3;
	mad[2] = 2;
	mad[3] = (uint8_t)method;
	put(mad + 8, 8, l->next);
	put(mad + 16, 2, attr);
	put(mad + 48, 8, mask);
	return mad + HEADER_SIZE;
}

static bool
send_it(struct load *l, int timeout)
{
	umad_set_addr(l->out, (int)l->sm_lid, 1, 0, (int)QKEY);
	if (umad_send(l->fd, l->agent, l->out, 256, timeout, 0))
		return false;
	if (timeout) {
		l->sent[l->next % DEPTH_MAX] = now();
		l->outstanding++;
	}
	l->next++;
	return true;
}

static void
path_question(struct load *l)
{
	uint8_t *r = question(l, GET, RECORD_PATH, 1u << 4 | 1u << 5);

	put(r + 40, 2, l->hosts[l->next % l->nhosts]);
	put(r + 42, 2, l->lid);
}

/* One kind after the other; a LID stands at the beginning of most records. */
static void
mixed_question(struct load *l)
{
	uint16_t host = l->hosts[l->next / 8 % l->nhosts];

	switch (l->next % 8) {
	case 0:
		put(question(l, GET, RECORD_NODE, 1), 2, host);
		return;
	case 1:
		put(question(l, GET_TABLE, RECORD_PORT, 1), 2, host);
		return;
	case 2:
		question(l, GET, CLASS_PORT_INFO, 0);
		return;
	case 3:
		put(question(l, GET_TABLE, RECORD_PATH, 1u << 4) + 40, 2, host);
		return;
	default:
		path_question(l);
	}
}

/* ---- answers ---- */

static void
note(struct load *l, unsigned tid, unsigned status)
{
	double *sent = &l->sent[tid % DEPTH_MAX];

	if (*sent == 0)
		return;
	if (l->samples < SAMPLES_MAX)
		l->us[l->samples++] = (float)((now() - *sent) * 1e6);
	*sent = 0;
	l->outstanding--;
	l->answered += status == 0;
	l->busy += status == 1;
	l->none += status == 0x300;
	l->other += status && status != 1 && status != 0x300;
}

/* The length of an answer, 0 if none came. */
static int
receive(struct load *l, int ms)
{
	int len = (int)ROOM;
	const uint8_t *mad = umad_get_mad(l->in);

	if (umad_recv(l->fd, l->in, &len, ms) < 0)
		return 0;
	if (umad_status(l->in)) {
		l->lost += l->sent[get(mad + 12, 4) % DEPTH_MAX] > 0;
		l->outstanding -= l->sent[get(mad + 12, 4) % DEPTH_MAX] > 0;
		l->sent[get(mad + 12, 4) % DEPTH_MAX] = 0;
		return 0;
	}
	note(l, (unsigned)get(mad + 12, 4), (unsigned)get(mad + 4, 2));
	return len;
}

/* LIDs of all hosts, by the first question of all. */
static bool
find_hosts(struct load *l)
{
	const uint8_t *mad = umad_get_mad(l->in);
	int len = 0;
	unsigned stride;

	question(l, GET_TABLE, RECORD_NODE, 0);
	if (!send_it(l, TIMEOUT_MS))
		return false;
	while (l->outstanding)
		len = receive(l, 1000);
	stride = 8 * (unsigned)get(mad + 44, 2);
	if (!stride || len <= HEADER_SIZE)
		return false;
	l->hosts = calloc((size_t)len / stride + 1, sizeof(*l->hosts));
	for (const uint8_t *r = mad + HEADER_SIZE; r + stride <= mad + len; r += stride)
		if (r[6] == TYPE_HOST)
			l->hosts[l->nhosts++] = (uint16_t)get(r, 2);
	l->answered = l->samples = 0;
	return l->nhosts > 0;
}

/* ---- the work ---- */

static void
ask_on(struct load *l, const char *what, unsigned depth, double until)
{
	while (now() < until || l->outstanding) {
		while (l->outstanding < depth && now() < until) {
			if (what[0] == 'p')
				path_question(l);
			else if (what[0] == 'm')
				mixed_question(l);
			else
				question(l, GET_TABLE, RECORD_NODE, 0);
			if (!send_it(l, TIMEOUT_MS))
				break;
			while (receive(l, 0))
				;
		}
		receive(l, 10);
	}
}

static void
flood(struct load *l, double rate, double seconds)
{
	double start = now(), sent = 0, passed;

	while ((passed = now() - start) < seconds) {
		if (sent >= passed * rate) {
			struct timespec pause = { .tv_nsec = 100000 };

			nanosleep(&pause, NULL);
			continue;
		}
		path_question(l);
		sent += send_it(l, 0);
	}
	printf("sent %.0f in %.2f s\n", sent, passed);
}

static int
compare(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return x < y ? -1 : x > y;
}

static double
percentile(const struct load *l, double part)
{
	return l->samples ? (double)l->us[(unsigned)(part * (l->samples - 1))] : 0;
}

static bool
open_port(struct load *l)
{
	umad_port_t port;

	umad_init();
	l->fd = umad_open_port(NULL, 0);
	if (l->fd < 0 || umad_get_port(NULL, 0, &port) < 0)
		return false;
	l->lid = port.base_lid;
	l->sm_lid = port.sm_lid;
	umad_release_port(&port);
	l->agent = umad_register(l->fd, 3, 2, 1, NULL);
	return l->agent >= 0;
}

int
main(int argc, char **argv)
{
	static struct load l;
	unsigned n = argc == 4 ? (unsigned)strtoul(argv[2], NULL, 0) : 0;
	double seconds = argc == 4 ? strtod(argv[3], NULL) : 0;

	if (!n || seconds <= 0 || !strchr("pmtf", argv[1][0]))
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	l.next = 1;
	l.out = calloc(1, umad_size() + 256);
	l.in = calloc(1, umad_size() + ROOM);
	l.us = calloc(SAMPLES_MAX, sizeof(*l.us));
	if (!l.out || !l.in || !l.us || !open_port(&l) || !find_hosts(&l)) {
		fprintf(stderr, "no port, or no answer\n");
		return 1;
	}
	printf("ready\n");
	if (argv[1][0] == 'f') {
		flood(&l, n, seconds);
		return 0;
	}
	ask_on(&l, argv[1], n < DEPTH_MAX / 2 ? n : DEPTH_MAX / 2, now() + seconds);
	qsort(l.us, l.samples, sizeof(*l.us), compare);
	printf("answered %lu busy %lu none %lu other %lu lost %lu p50 %.0f p99 %.0f max %.0f\n",
	       l.answered, l.busy, l.none, l.other, l.lost, percentile(&l, .5),
	       percentile(&l, .99), percentile(&l, 1));
	return 0;
}
