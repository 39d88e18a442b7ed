/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/fuzz/admin_bed.h"

/*
 * Any bytes as a request to the subnet administrator of a small subnet: two hosts, of LIDs 2 and 3
 * (LMC 1) and 4, on a switch of LID 6 whose table has no entry for itself. The first byte says
 * whether there is a plan, whether the class version is put right, whether the message is as long
 * as the input, whether it comes from the first host or from nobody, whether there is a proof that
 * all hosts reach each other, and whether P_Key tables are known; the rest is the message.
 * Each request is answered once or dropped once; what is answered has the request's TID, no key,
 * and whole records.
 */
static int
lend_send(void *arg, const struct port_mad *m)
{
	struct admin_bed *f = arg;
	const struct sa_type *t;
	struct sa_header h;

	f->answers++;
	must(port_mad_ok(m));
	must(!sa_header_decode(&h, port_mad_bytes(m), port_mad_len(m)));
	must(!memcmp(port_mad_bytes(m) + 8, f->asked + 8, 8));
	must(h.h.method & MAD_RESPONSE && h.sm_key == 0 && m->lid == f->lid);
	t = sa_type_find(h.h.attr_id);
	if (h.rmpp_flags) {
		must(t && !h.h.status);
		must((port_mad_len(m) - SA_HEADER_SIZE) % sa_stride(t) == 0);
	} else {
		must(port_mad_len(m) == MAD_SIZE);
	}
	return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
try_request(const uint8_t *data, size_t size)
{
	struct loop *loop = loop_new_virtual(1);
	struct store *store = store_open_memory(loop);
	struct admin_bed f = { .plan = admin_plan(2) };
	struct sa_env env = admin_env(&f, loop, store);
	struct port_mad m = { .qp = 1 };
	const struct sa_counters *c;
	struct sa *sa;

	env.send = lend_send;
	f.plan->check.pairs = data[0] & 32 ? 2 : 0;
	f.keyed = data[0] & 64;
	f.published = data[0] & 3;
	f.lid = m.lid = data[0] & 16 ? 2 : 9;
	memcpy(m.mad, data + 1, size - 1 < MAD_SIZE ? size - 1 : MAD_SIZE);
	if (data[0] & 4)
		m.mad[2] = SA_CLASS_VERSION;
	if (data[0] & 8) {
		m.data = data + 1;
		m.len = (uint32_t)size - 1;
	}
	f.asked = port_mad_bytes(&m);
	sa = sa_new(&env);
	if (!m.data || m.len)
		sa_request(sa, &m);
	/* What a change is confirmed with leaves when the store has it. */
	loop_run_until(loop, loop_now(loop) + SEC(1), NULL);
	c = sa_counters(sa);
	must(f.answers == c->answered + c->refused);
	must(f.answers + admin_dropped(sa) == c->requests);
	sa_free(sa);
	plan_unref(f.plan);
	store_close(store);
	loop_free(loop);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size)
		try_request(data, size);
	return 0;
}
