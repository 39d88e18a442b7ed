/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_BED_H
#define SIM_BED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "sim/direct.h"
#include "sim/model/model.h"

/*
 * The simulated fabric, driven by hand-built SMPs from host h1 (and h2) over a virtual loop:
 *
 *   h1[1] --- [1]A[2] --- [1]B[4] --- [1]h2      A[3] --- [2]B as well; A-B are NDR, hosts SDR
 */
enum { A, B, H1, H2 };

static const char fabric[] =
	"switchguid=0xa0(a0)\nSwitch 4 \"A\"  # \"A\" enhanced port 0 lid 0 lmc 0\n"
	"[1] \"h1\"[1]\n"
	"[2] \"B\"[1]  # \"B\" lid 0 4xNDR\n"
	"[3] \"B\"[2]  # \"B\" lid 0 4xNDR\n\n"
	"switchguid=0xb0\nSwitch 4 \"B\"\n[4] \"h2\"[1]\n\n"
	"vendid=0x2c9\ndevid=0x1021\nsysimgguid=0x15\ncaguid=0x10\nCa 2 \"h1\"\n\n"
	"caguid=0x20\nCa 1 \"h2\"\n";

#define INBOX 64

struct box {
	struct smp smp[INBOX];		/* what came */
	uint16_t lid[INBOX];		/* from where */
	unsigned n;			/* how many */
	unsigned gmps;			/* that came besides */
	unsigned changes;		/* of its port, that it was told of */
};

struct rig {
	struct ibnet *net;
	struct loop *loop;
	struct model *m;
	struct model_client *c1, *c2;	/* on h1 and h2 */
	struct box in1, in2;		/* what they got */
	uint64_t tid;			/* of the last request */
};

static inline void
on_receive(void *arg, const struct model_mad *mad)
{
	struct box *b = arg;

	if (mad->qp) {
		b->gmps++;
		return;
	}
	assert_true(b->n < INBOX);
	assert_int_equal(smp_decode(&b->smp[b->n], mad->mad, MAD_SIZE), 0);
	b->lid[b->n++] = mad->lid;
}

static inline void
count_change(void *arg)
{
	((struct box *)arg)->changes++;
}

static inline int
setup_with(void **state, const struct model_options *o)
{
	struct rig *r = calloc(1, sizeof(*r));
	struct model_client_events ev = { .receive = on_receive, .changed = count_change };
	struct error e = { 0 };

	assert_non_null(r);
	if (ibnet_parse(&r->net, fabric, strlen(fabric), "net", &e) < 0)
		fail_msg("%s", e.text);
	if (o->like_ibsim)
		model_ibsim_text(r->net);
	r->loop = loop_new_virtual(1);
	r->m = model_new(r->loop, r->net, o);
	ev.arg = &r->in1;
	r->c1 = model_attach(r->m, H1, 1, &ev);
	ev.arg = &r->in2;
	r->c2 = model_attach(r->m, H2, 1, &ev);
	assert_non_null(r->c1);
	assert_non_null(r->c2);
	assert_null(model_attach(r->m, H2, 1, &ev));
	assert_null(model_attach(r->m, A, 1, &ev));
	*state = r;
	return 0;
}

static inline int
setup(void **state)
{
	struct model_options o = { .seed = 1, .hop_time = USEC(1), .sma_time = USEC(10) };

	return setup_with(state, &o);
}

static inline int
teardown(void **state)
{
	struct rig *r = *state;

	model_free(r->m);
	loop_free(r->loop);
	ibnet_free(r->net);
	free(r);
	return 0;
}

static inline void
run(struct rig *r, monotime time)
{
	loop_run_until(r->loop, loop_now(r->loop) + time, NULL);
}

struct ask {
	const char *path;	/* out ports as digits, "12"; NULL: by LID */
	uint16_t lid;		/* destination */
	uint8_t method;		/* 0: Get */
	uint16_t attr;		/* enum mad_attr */
	uint32_t mod;		/* modifier */
	uint64_t m_key;		/* in the header */
	const void *data;	/* SMP_DATA_SIZE bytes, NULL: zero */
};

static inline void
send_from(struct rig *r, struct model_client *c, const struct ask *a)
{
	struct model_mad mad = { .lid = a->path ? LID_PERMISSIVE : a->lid };
	struct smp s = {
		.h = { .base_version = 1, .class_version = 1, .tid = ++r->tid,
		       .method = a->method ? a->method : MAD_GET, .attr_id = a->attr,
		       .attr_mod = a->mod,
		       .mgmt_class = a->path ? MAD_CLASS_SUBN_DIRECT : MAD_CLASS_SUBN_LID },
		.m_key = a->m_key, .dr_slid = LID_PERMISSIVE, .dr_dlid = LID_PERMISSIVE,
	};

	for (; a->path && a->path[s.hop_count]; s.hop_count++)
		s.path[s.hop_count + 1] = (uint8_t)(a->path[s.hop_count] - '0');
	if (a->data)
		memcpy(s.data, a->data, sizeof(s.data));
	smp_encode(&s, mad.mad);
	model_send(c, &mad);
}

/* Ask from h1; the answer, or NULL if it is lost. Other MADs are left in in1 behind it. */
static const struct smp *
ask(struct rig *r, struct ask a)
{
	r->in1.n = 0;
	send_from(r, r->c1, &a);
	run(r, USEC(400));
	for (unsigned i = 0; i < r->in1.n; i++) {
		const struct smp *s = &r->in1.smp[i];

		if (s->h.tid == r->tid && s->h.method == MAD_GET_RESP)
			return s;
	}
	return NULL;
}

static const struct smp *
must(const struct smp *s)
{
	assert_non_null(s);
	assert_int_equal(s->h.status, 0);
	return s;
}

static inline struct portinfo
get_port(struct rig *r, const char *path, uint32_t mod)
{
	struct portinfo p;

	portinfo_decode(&p, must(ask(r, (struct ask){ .path = path, .attr = ATTR_PORT_INFO,
						     .mod = mod }))->data);
	return p;
}

/* Set, and the status of the answer. */
static inline unsigned
set_port(struct rig *r, const char *path, uint32_t mod, const struct portinfo *p)
{
	uint8_t data[SMP_DATA_SIZE];
	const struct smp *s;

	portinfo_encode(p, data);
	s = ask(r, (struct ask){ .path = path, .method = MAD_SET, .attr = ATTR_PORT_INFO,
				 .mod = mod, .data = data });
	assert_non_null(s);
	return s->h.status;
}

static inline unsigned
set_state(struct rig *r, const char *path, uint32_t mod, unsigned state)
{
	struct portinfo p = get_port(r, path, mod);

	p.state = (uint8_t)state;
	p.phys_state = 0;
	if (!p.lid)
		p.lid = p.sm_lid = 1;
	return set_port(r, path, mod, &p);
}

static inline void
give_lid(struct rig *r, const char *path, uint32_t mod, uint16_t lid)
{
	struct portinfo p = get_port(r, path, mod);

	p.lid = lid;
	p.sm_lid = 1;
	p.state = p.phys_state = 0;
	p.subnet_timeout = 10;	/* 4.2 ms; the simulator repeats traps every 10 ms at most */
	assert_int_equal(set_port(r, path, mod, &p), 0);
}

static inline unsigned
set_lft(struct rig *r, const char *path, uint16_t top, const char *ports)
{
	struct switchinfo sw;
	uint8_t data[SMP_DATA_SIZE];

	switchinfo_decode(&sw, must(ask(r, (struct ask){ .path = path,
							.attr = ATTR_SWITCH_INFO }))->data);
	sw.linear_fdb_top = top;
	sw.port_state_change = false;
	switchinfo_encode(&sw, data);
	must(ask(r, (struct ask){ .path = path, .method = MAD_SET, .attr = ATTR_SWITCH_INFO,
				  .data = data }));
	memset(data, LFT_NO_PORT, sizeof(data));
	memcpy(data, ports, 5);
	return ask(r, (struct ask){ .path = path, .method = MAD_SET, .attr = ATTR_LINEAR_FDB,
				    .data = data })->h.status;
}

/* h1 1, h2 2, A 3, B 4; all by A[2]-B[1]. */
static inline void
bring_up(struct rig *r)
{
	give_lid(r, "", 0, 1);
	give_lid(r, "124", 0, 2);
	give_lid(r, "1", 0, 3);
	give_lid(r, "12", 0, 4);
	assert_int_equal(set_lft(r, "1", 4, "\xff\x01\x02\x00\x02"), 0);
	assert_int_equal(set_lft(r, "12", 4, "\xff\x01\x04\x01\x00"), 0);
}

static inline struct switchinfo
get_switch(struct rig *r, const char *path)
{
	struct switchinfo sw;

	switchinfo_decode(&sw, must(ask(r, (struct ask){ .path = path,
							.attr = ATTR_SWITCH_INFO }))->data);
	return sw;
}

static inline unsigned
count_traps(const struct box *b, unsigned trap, struct notice *last, const struct smp **smp)
{
	unsigned n = 0;

	for (unsigned i = 0; i < b->n; i++) {
		struct notice notice;

		if (b->smp[i].h.method != MAD_TRAP)
			continue;
		notice_decode(&notice, b->smp[i].data);
		if (notice.trap != trap)
			continue;
		n++;
		*last = notice;
		*smp = &b->smp[i];
	}
	return n;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
