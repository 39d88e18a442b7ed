/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_SA_BED_H
#define TESTS_SA_BED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "sim/direct.h"
#include "sm/wire/sa_record.h"
#include "tests/unit/core_bed.h"

/*
 * A subnet that is up, with its subnet manager on the first host, and a client of subnet
 * administration on another. An answer is kept whole until the next question.
 */
struct sa_bed {
	struct bed_sm *sm;		/* the subnet manager */
	struct port *port;		/* the client's */
	uint32_t node;			/* where it is */
	uint64_t key;			/* SM_Key of its questions */
	uint32_t mod;			/* AttributeModifier */
	uint8_t version;		/* class version */
	struct sa_header h;		/* of the last answer */
	uint8_t *data;			/* its records */
	size_t size;			/* bytes of them */
	unsigned n;			/* records, of a table */
	bool answered;			/* the last question */
};

static inline void
sa_bed_receive(void *arg, const struct port_mad *m)
{
	struct sa_bed *b = arg;

	if (m->status)
		return;
	assert_int_equal(sa_header_decode(&b->h, port_mad_bytes(m), port_mad_len(m)), 0);
	b->answered = true;
	b->size = port_mad_len(m) - SA_HEADER_SIZE;
	b->data = realloc(b->data, b->size + 1);
	memcpy(b->data, port_mad_bytes(m) + SA_HEADER_SIZE, b->size);
}

static inline void
sa_bed_state(void *arg, bool up, const char *why)
{
	(void)arg;
	(void)up;
	(void)why;
}

/* `client` is the name of a host; `o` is the model's, NULL: defaults. */
static inline void
sa_bed_up_options(struct sa_bed *b, const char *fabric, const char *client,
		  const struct model_options *o)
{
	struct bed *bed = bed_new_options(fabric, 1, o);
	struct port_events ev = { .receive = sa_bed_receive, .state = sa_bed_state, .arg = b };
	struct error e;

	*b = (struct sa_bed){ .version = SA_CLASS_VERSION };
	b->sm = bed_sm(bed, bed_next(bed, IBNET_CA, 0), 1);
	bed_start(b->sm);
	assert_int_equal(bed_run(b->sm, SEC(10)), 1);
	assert_true(bed_quiet(b->sm, SEC(10)));
	b->node = bed_node(b->sm->bed, client);
	assert_int_equal(direct_open(&b->port, b->sm->bed->m, b->node, 1, &ev, &e), 0);
	bed_wait(b->sm->bed, MSEC(10));
	assert_true(bed_quiet(b->sm, SEC(10)));
}

static inline void
sa_bed_up(struct sa_bed *b, const char *fabric, const char *client)
{
	sa_bed_up_options(b, fabric, client, NULL);
}

static inline void
sa_bed_free(struct sa_bed *b)
{
	port_close(b->port);
	free(b->data);
	bed_free(b->sm->bed);
}

/* For cmocka: "ft3 4", asked from H1_0_0. */
static inline int
sa_bed_setup(void **state)
{
	struct sa_bed *b = calloc(1, sizeof(*b));

	assert_non_null(b);
	sa_bed_up(b, "ft3 4", "H1_0_0");
	*state = b;
	return 0;
}

static inline int
sa_bed_teardown(void **state)
{
	sa_bed_free(*state);
	free(*state);
	return 0;
}

static inline uint16_t
sa_bed_lid(const struct sa_bed *b, const char *name, unsigned port)
{
	return model_portinfo(b->sm->bed->m, bed_node(b->sm->bed, name), port)->lid;
}

/* Of a host's port 1, or of a switch. */
static inline uint64_t
sa_bed_guid(const struct sa_bed *b, const char *name)
{
	uint32_t n = bed_node(b->sm->bed, name);

	return model_port_guid(b->sm->bed->m, n, b->sm->bed->net->nodes[n].type != IBNET_SWITCH);
}

static inline struct sa_gid
sa_bed_gid(const struct sa_bed *b, const char *name)
{
	return (struct sa_gid){ b->sm->conf.prefix, sa_bed_guid(b, name) };
}

static inline uint32_t
sa_bed_node_of(const struct sa_bed *b, uint16_t lid)
{
	const struct bed *bed = b->sm->bed;

	for (uint32_t n = 0; n < bed->net->nnodes; n++)
		if (model_portinfo(bed->m, n, bed->net->nodes[n].type != IBNET_SWITCH)->lid == lid)
			return n;
	fail_msg("nobody has LID %u", lid);
	return IBNET_NONE;
}

/* Ask and wait for the answer; false if none comes within a second. */
static inline bool
sa_bed_ask(struct sa_bed *b, uint8_t method, const struct sa_type *t, const void *want,
	   uint64_t mask)
{
	static uint32_t tid;
	struct port_mad m = { .qp = 1, .timeout_ms = 1000 };
	struct sa_header h = {
		.h = { .tid = ++tid, .attr_id = t->id, .attr_mod = b->mod, .base_version = 1,
		       .mgmt_class = MAD_CLASS_SUBN_ADM, .class_version = b->version,
		       .method = method },
		.sm_key = b->key, .mask = mask,
	};

	m.lid = model_portinfo(b->sm->bed->m, b->node, 1)->sm_lid;
	sa_header_encode(&h, m.mad);
	sa_encode(t, want, m.mad + SA_HEADER_SIZE);
	b->answered = false;
	b->n = 0;
	assert_int_equal(port_send(b->port, &m), 0);
	for (unsigned i = 0; i < 1500 && !b->answered; i++)
		bed_wait(b->sm->bed, MSEC(1));
	if (b->answered && b->h.h.method == MAD_GET_TABLE_RESP && !b->h.h.status) {
		assert_int_equal(b->h.attr_offset * 8, sa_stride(t));
		assert_int_equal(b->size % sa_stride(t), 0);
		b->n = (unsigned)(b->size / sa_stride(t));
	}
	return b->answered;
}

/* The status of a Get; the record goes to `record`. */
static inline uint16_t
sa_bed_get(struct sa_bed *b, const struct sa_type *t, const void *want, uint64_t mask,
	   void *record)
{
	assert_true(sa_bed_ask(b, MAD_GET, t, want, mask));
	assert_int_equal(b->h.h.method, MAD_GET_RESP);
	assert_int_equal(b->h.sm_key, 0);
	assert_int_equal(sa_decode(t, record, b->data, b->size), 0);
	return b->h.h.status;
}

/* The number of records of a GetTable, which must succeed. */
static inline unsigned
sa_bed_table(struct sa_bed *b, const struct sa_type *t, const void *want, uint64_t mask)
{
	assert_true(sa_bed_ask(b, MAD_GET_TABLE, t, want, mask));
	assert_int_equal(b->h.h.status, 0);
	assert_int_equal(b->h.h.method, MAD_GET_TABLE_RESP);
	return b->n;
}

/* Two records say the same, in all their components. */
static inline void
sa_bed_same(const struct sa_type *t, const void *a, const void *b)
{
	uint8_t one[SA_DATA_SIZE] = { 0 }, two[SA_DATA_SIZE] = { 0 };

	sa_encode(t, a, one);
	sa_encode(t, b, two);
	assert_memory_equal(one, two, sizeof(one));
}

static inline void
sa_bed_record(const struct sa_bed *b, const struct sa_type *t, unsigned i, void *record)
{
	assert_true(i < b->n);
	assert_int_equal(sa_decode(t, record, b->data + i * sa_stride(t), sa_stride(t)), 0);
}

#endif
