/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sim/kernel/kernel.h"
#include "sim/kernel/rmpp.h"

/*
 * Any RMPP headers into an agent of a simulated kernel, which is sending two long messages and may
 * be receiving others. Two hosts on one cable: one has the kernel, the other sends what the input
 * says. The input is a list of records of 14 bytes: a control byte, a byte for the segment number
 * that is added to where the last one was, and the 12 bytes of the header. Control bits: 1 the MAD
 * is a response, 2 it belongs to the second message, 4 time passes before it, 8 it is of a class
 * without data offset of its own, 16 the header is made likely (version 1, active, status 0), 32
 * the segment number is relative.
 * Whatever comes, messages that arrive are as long as their segments allow.
 */
#define RECORD 14
#define CLASS_SA 3
#define GET_TABLE 0x12

static const char fabric[] =
	"caguid=0x10\nCa 1 \"h1\"\n[1](11) \"h2\"[1](21)  # lid 1 lmc 0 \"h2\" lid 2 4xEDR\n\n"
	"caguid=0x20\nCa 1 \"h2\"\n[1](21) \"h1\"[1](11)  # lid 2 lmc 0 \"h1\" lid 1 4xEDR\n";

struct fuzz {
	struct loop *loop;		/* virtual */
	struct model *m;		/* the two hosts */
	struct model_client *peer;	/* on the second */
	struct kernel *k;		/* on the first */
	uint64_t segments;		/* that were sent to it */
};

static void
must(bool holds)
{
	if (!holds)
		abort();
}

static void
on_receive(void *arg, const struct kernel_mad *m)
{
	struct fuzz *f = arg;
	uint32_t sum = 0;

	must(m->len >= 24 && m->len <= 64 + 232 * (f->segments + 1));
	for (size_t i = 0; i < m->len; i++)
		sum += m->data[i];
	must(sum < 0xffffffff);
}

static void
on_peer(void *arg, const struct model_mad *m)
{
	(void)arg;
	must(!m->qp || m->lid == 1);
}

static void
pass(struct fuzz *f, monotime time)
{
	loop_run_until(f->loop, loop_now(f->loop) + time, NULL);
}

/* Both ends to ARMED and to ACTIVE, by SMPs of the second host. */
static void
activate(struct fuzz *f, unsigned hops, uint8_t state)
{
	struct model_mad mad = { .lid = LID_PERMISSIVE };
	struct portinfo info = *model_portinfo(f->m, hops ? 0 : 1, 1);
	struct smp s = {
		.h = { .base_version = 1, .class_version = 1, .tid = 1, .method = MAD_SET,
		       .mgmt_class = MAD_CLASS_SUBN_DIRECT, .attr_id = ATTR_PORT_INFO,
		       .attr_mod = 1 },
		.dr_slid = LID_PERMISSIVE, .dr_dlid = LID_PERMISSIVE,
		.hop_count = (uint8_t)hops, .path = { 0, 1 },
	};

	info.state = state;
	info.phys_state = 0;
	info.sm_lid = 1;
	portinfo_encode(&info, s.data);
	smp_encode(&s, mad.mad);
	model_send(f->peer, &mad);
	pass(f, MSEC(1));
}

static void
send_long(struct kernel_agent *a, uint8_t method, uint32_t timeout_ms)
{
	uint8_t *mad = calloc(1, 20000);

	must(mad != NULL);
	mad[0] = 1;
	mad[1] = CLASS_SA;
	mad[2] = 2;
	mad[3] = method;
	mad[15] = method;
	mad[24] = mad[25] = mad[26] = 1;
	must(!kernel_send(a, &(struct kernel_mad){ .data = mad, .len = 20000, .lid = 2, .qpn = 1,
						   .timeout_ms = timeout_ms, .retries = 2 }));
	free(mad);
}

static void
send_record(struct fuzz *f, const uint8_t *r, uint32_t *segment)
{
	struct model_mad m = { .lid = 1, .qp = 1 };
	uint8_t *mad = m.mad;

	mad[0] = 1;
	mad[1] = r[0] & 8 ? 9 : CLASS_SA;
	mad[2] = 2;
	mad[3] = GET_TABLE | (r[0] & 1 ? MAD_RESPONSE : 0);
	mad[11] = r[0] & 1;		/* the agent's number */
	mad[15] = r[0] & 2 ? GET_TABLE | MAD_RESPONSE : GET_TABLE;
	memcpy(mad + 24, r + 2, 12);
	if (r[0] & 16) {
		mad[24] = 1;
		mad[26] |= 1;
		mad[27] = 0;
	}
	if (r[0] & 32) {
		*segment += (uint32_t)(int8_t)r[1];
		mad[28] = mad[29] = 0;
		mad[30] = (uint8_t)(*segment >> 8);
		mad[31] = (uint8_t)*segment;
	}
	f->segments++;
	model_send(f->peer, &m);
	pass(f, r[0] & 4 ? SEC(11) : USEC(10));
}

static struct ibnet *
net_of(void)
{
	struct ibnet *net = NULL;
	struct error e;

	must(ibnet_parse(&net, fabric, strlen(fabric), "net", &e) >= 0);
	return net;
}

static void
run(struct fuzz *f, const uint8_t *data, size_t size)
{
	struct kernel_registration r = {
		.qp = 1, .mgmt_class = CLASS_SA, .class_version = 2, .rmpp_version = 1,
		.methods = { 1u << GET_TABLE },
	};
	struct kernel_events ev = { on_receive, f };
	struct kernel_agent *a;
	uint32_t segment = 0;

	must(!kernel_register(&a, f->k, 0, 1, &r, &ev));
	send_long(a, GET_TABLE, 3000);
	send_long(a, GET_TABLE | MAD_RESPONSE, 0);
	pass(f, MSEC(1));
	for (; size >= RECORD; data += RECORD, size -= RECORD)
		send_record(f, data, &segment);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ibnet *net = net_of();
	struct model_client_events ev = { .receive = on_peer };
	struct fuzz f = { .loop = loop_new_virtual(1) };

	f.m = model_new(f.loop, net, NULL);
	f.peer = model_attach(f.m, 1, 1, &ev);
	must(f.peer != NULL);
	for (unsigned i = 0; i < 4; i++)
		activate(&f, i & 1, i < 2 ? PORT_ARMED : PORT_ACTIVE);
	must(model_portinfo(f.m, 0, 1)->state == PORT_ACTIVE);
	f.k = kernel_new(f.m);
	run(&f, data, size);
	kernel_free(f.k);
	model_free(f.m);
	loop_free(f.loop);
	ibnet_free(net);
	return 0;
}
