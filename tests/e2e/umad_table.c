/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Long messages through sm/port/umad.c, real libibumad and what it is attached to: a question of
 * several MADs and an answer of as many bytes as it asks for.
 *
 * Usage: umad_table serve             answer for ever; says "ready"
 *        umad_table ask LID BYTES...  ask for so many bytes of records, one after the other; 0:
 *                                     no answer is to come. Exit status 0 if all was as it should
 *                                     be; prints a line for each.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sm/base/mem.h"
#include "sm/port/umad.h"
#include "sm/wire/sa.h"

#define QUESTION 3000u		/* bytes behind the headers */
#define TIMEOUT_MS 500		/* of a question that is not to be answered; others get a minute */

struct side {
	struct loop *loop;	/* real time */
	struct port *port;	/* transport under test */
	bool serves;		/* which of the two it is */
	uint32_t wanted;	/* bytes of the answer; 0: none comes */
	uint64_t tid;		/* of the last question */
	bool up;		/* the port can be used */
	bool over;		/* the question was answered, or given up */
	bool right;		/* as it should be */
};

/* Byte i of a message of `size`. */
static uint8_t
pattern(uint32_t i, uint32_t size)
{
	return (uint8_t)((i + size) * 2654435761u >> 24);
}

static bool
has_pattern(const uint8_t *data, uint32_t size)
{
	for (uint32_t i = 4; i < size; i++)
		if (data[i] != pattern(i, size))
			return false;
	return true;
}

/* Headers, and `size` bytes of pattern. Their first four are `told`. */
static uint8_t *
message(const struct sa_header *h, uint32_t size, uint32_t told)
{
	uint8_t *m = mem_alloc(SA_HEADER_SIZE + size);

	sa_header_encode(h, m);
	for (uint32_t i = 0; i < size; i++)
		m[SA_HEADER_SIZE + i] = (uint8_t)(i < 4 ? told >> (24 - 8 * i) : pattern(i, size));
	return m;
}

static void
answer(struct side *s, const struct port_mad *in, struct sa_header *h)
{
	const uint8_t *data = port_mad_bytes(in) + SA_HEADER_SIZE;
	uint32_t size = (uint32_t)data[0] << 24 | (uint32_t)data[1] << 16 |
			(uint32_t)data[2] << 8 | data[3];
	struct port_mad out = { .len = SA_HEADER_SIZE + size };
	uint8_t *m;

	if (port_mad_len(in) != SA_HEADER_SIZE + QUESTION || !has_pattern(data, QUESTION)) {
		printf("a question came as %u bytes or otherwise than sent\n", port_mad_len(in));
		return;
	}
	if (!size)
		return;
	h->h.method = sa_response(h->h.method);
	m = message(h, size, size);
	port_answer_to(&out, in);
	out.data = m;
	if (port_send(s->port, &out))
		printf("an answer was refused\n");
	mem_free(m);
}

static void
judge(struct side *s, const struct port_mad *in, const struct sa_header *h)
{
	const uint8_t *data = port_mad_bytes(in) + SA_HEADER_SIZE;

	s->over = true;
	if (in->status)
		s->right = !s->wanted;
	else
		s->right = s->wanted && h->h.method == MAD_GET_MULTI_RESP &&
			   port_mad_len(in) == SA_HEADER_SIZE + s->wanted &&
			   has_pattern(data, s->wanted);
}

static void
on_receive(void *arg, const struct port_mad *in)
{
	struct side *s = arg;
	struct sa_header h = { 0 };

	if (in->status ? mad_header_decode(&h.h, in->mad, MAD_HEADER_SIZE) :
	    sa_header_decode(&h, port_mad_bytes(in), port_mad_len(in)))
		return;
	if (s->serves && !in->status && h.h.method == MAD_GET_MULTI)
		answer(s, in, &h);
	else if (!s->serves && (uint32_t)h.h.tid == s->tid)
		judge(s, in, &h);
}

static void
on_state(void *arg, bool up, const char *why)
{
	struct side *s = arg;

	s->up = up;
	if (!up)
		fprintf(stderr, "%s\n", why);
}

static bool
ask(struct side *s, uint16_t lid, uint32_t size)
{
	struct sa_header h = {
		.h = { .base_version = 1, .mgmt_class = MAD_CLASS_SUBN_ADM,
		       .class_version = SA_CLASS_VERSION, .method = MAD_GET_MULTI,
		       .attr_id = SA_MULTI_PATH, .tid = ++s->tid },
		.rmpp_version = SA_RMPP_VERSION, .rmpp_type = SA_RMPP_DATA,
		.rmpp_flags = SA_RMPP_ACTIVE,
	};
	uint8_t *m = message(&h, QUESTION, size);
	struct port_mad out = {
		.data = m, .len = SA_HEADER_SIZE + QUESTION, .lid = lid, .qp = 1,
		.timeout_ms = size ? 60000 : TIMEOUT_MS,
	};

	s->wanted = size;
	s->over = s->right = false;
	if (!port_send(s->port, &out))
		loop_run_until(s->loop, loop_now(s->loop) + SEC(60), &s->over);
	mem_free(m);
	printf("%u bytes: %s\n", size, s->right ? "ok" : s->over ? "wrong" : "silence");
	return s->right;
}

int
main(int argc, char **argv)
{
	struct side s = { .serves = argc == 2 };
	const struct port_events events = { on_receive, on_state, &s };
	struct error e = { 0 };
	bool ok = true;

	if (argc < 2 || strcmp(argv[1], argc == 2 ? "serve" : "ask") != 0)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	s.loop = loop_new_event();
	s.port = umad_port_new(s.loop, "auto", &events, &e);
	if (!s.port || !loop_run_until(s.loop, loop_now(s.loop) + SEC(20), &s.up))
		return 1;
	printf("ready\n");
	if (s.serves)
		loop_run_until(s.loop, MONOTIME_NEVER, NULL);
	for (int i = 3; i < argc; i++)
		ok &= ask(&s, (uint16_t)strtoul(argv[2], NULL, 0),
			  (uint32_t)strtoul(argv[i], NULL, 0));
	port_close(s.port);
	loop_run_until(s.loop, loop_now(s.loop) + MSEC(1), NULL);
	loop_free(s.loop);
	return ok ? 0 : 1;
}
