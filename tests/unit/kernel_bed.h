/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef KERNEL_BED_H
#define KERNEL_BED_H

#include <errno.h>
#include "sim/kernel/kernel.h"
#include "tests/unit/sim_bed.h"

/* The fabric of sim_bed.h with all links ACTIVE and a kernel on it: h1 has LID 1, h2 LID 2. */
#define LID1 1
#define LID2 2
#define GETS { 1u << MAD_GET | 1u << MAD_SET }

struct mail {
	struct kernel_mad m;	/* as it came, `data` pointing at the copy */
	uint8_t *data;		/* from malloc */
	monotime at;		/* when */
};

struct inbox {			/* what an agent was told */
	struct kbed *b;
	struct mail mail[64];
	unsigned n;
	struct kernel_agent *victim;	/* unregistered by the next one that comes */
};

struct kbed {
	struct rig *r;
	struct kernel *k;
	struct inbox in[4];
	monotime start;		/* of the test */
};

static inline void
on_mail(void *arg, const struct kernel_mad *m)
{
	struct inbox *in = arg;
	struct mail *to = &in->mail[in->n++];

	assert_true(in->n <= 64);
	to->m = *m;
	to->data = malloc(m->len);
	memcpy(to->data, m->data, m->len);
	to->m.data = to->data;
	to->at = loop_now(in->b->r->loop) - in->b->start;
	kernel_unregister(in->victim);
	in->victim = NULL;
}

static inline void
activate(struct rig *r, const char *path, uint32_t mod)
{
	assert_int_equal(set_state(r, path, mod, PORT_ARMED), 0);
	assert_int_equal(set_state(r, path, mod, PORT_ACTIVE), 0);
}

static inline int
kernel_setup(void **state)
{
	struct kbed *b = calloc(1, sizeof(*b));
	void *rig;

	assert_non_null(b);
	setup(&rig);
	b->r = rig;
	bring_up(b->r);
	activate(b->r, "", 1);
	activate(b->r, "1", 1);
	activate(b->r, "1", 2);
	activate(b->r, "12", 1);
	activate(b->r, "12", 4);
	activate(b->r, "124", 1);
	model_detach(b->r->c1);
	model_detach(b->r->c2);
	b->k = kernel_new(b->r->m);
	for (unsigned i = 0; i < 4; i++)
		b->in[i].b = b;
	b->start = loop_now(b->r->loop);
	*state = b;
	return 0;
}

static inline void
empty(struct inbox *in)
{
	while (in->n)
		free(in->mail[--in->n].data);
}

static inline int
kernel_teardown(void **state)
{
	struct kbed *b = *state;
	void *rig = b->r;

	kernel_free(b->k);
	teardown(&rig);
	for (unsigned i = 0; i < 4; i++)
		empty(&b->in[i]);
	free(b);
	return 0;
}

/* An agent on a host whose mail goes to in[i]; its errno value, or 0. */
static inline int
enroll(struct kbed *b, struct kernel_agent **a, uint32_t node, unsigned i,
       struct kernel_registration r)
{
	struct kernel_events ev = { on_mail, &b->in[i] };

	return kernel_register(a, b->k, node, 1, &r, &ev);
}

static inline void
put32(uint8_t *at, uint32_t v)
{
	for (unsigned i = 0; i < 4; i++)
		at[i] = (uint8_t)(v >> (24 - 8 * i));
}

static inline uint32_t
get32(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* A MAD header; the lower half of the TID is given. */
static inline void
header(uint8_t *mad, uint8_t mgmt_class, uint8_t version, uint8_t method, uint32_t tid)
{
	memset(mad, 0, MAD_SIZE);
	mad[0] = 1;
	mad[1] = mgmt_class;
	mad[2] = version;
	mad[3] = method;
	put32(mad + 12, tid);
}

static inline int
mail_to(struct kernel_agent *a, const uint8_t *mad, uint16_t lid, uint32_t timeout_ms,
	uint32_t retries)
{
	return kernel_send(a, &(struct kernel_mad){
		.data = mad, .len = MAD_SIZE, .lid = lid, .qpn = 1, .timeout_ms = timeout_ms,
		.retries = retries,
	});
}

/* Answer the last mail of an inbox: the same MAD as a response. */
static inline int
answer(struct kernel_agent *a, const struct inbox *in)
{
	uint8_t mad[MAD_SIZE];
	const struct mail *m = &in->mail[in->n - 1];

	memcpy(mad, m->data, MAD_SIZE);
	mad[3] |= MAD_RESPONSE;
	return mail_to(a, mad, m->m.lid, 0, 0);
}

#define KTEST(name) cmocka_unit_test_setup_teardown(name, kernel_setup, kernel_teardown)

#endif
