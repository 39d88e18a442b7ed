/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/fuzz/admin_bed.h"

/*
 * Many requests to the subnet administrator at one instant, of several hosts: every attribute,
 * method and component mask, bits of the header, records cut short and messages too long, each up
 * to 128 times. The input is a list of steps:
 *
 *	source and form, attribute, method, mask, bit, repeats, length, then so many bytes of record
 *
 * While that goes on another host has asked for all paths, if the first byte says so, of a subnet
 * of 18 hosts, which takes several slices where it has to wait for its turn. At the end each
 * request was answered or dropped, and counted; the paths came, once, and whole.
 */
#define HOSTS 18
#define PAIRS ((HOSTS + 2) * (HOSTS + 1) + 1)	/* of LIDs; to the switch only its own */
#define BEFORE 64		/* requests that are answered where they arrive */
#define VICTIM UINT64_C(0x1234567800000001)
#define REQUESTS_MAX 2048
#define LONG 20000u		/* bytes of a message that is too long to wait */

struct step {
	uint8_t source, attr, method, mask, bit, repeats, len;	/* see above */
	const uint8_t *record;		/* its bytes */
};

static uint8_t long_message[LONG];

static int
note_answer(void *arg, const struct port_mad *m)
{
	struct admin_bed *f = arg;
	struct sa_header h;

	must(port_mad_ok(m) && !sa_header_decode(&h, port_mad_bytes(m), port_mad_len(m)));
	must(h.h.method & MAD_RESPONSE && h.sm_key == 0);
	must(h.rmpp_flags || port_mad_len(m) == MAD_SIZE);
	f->answers++;
	if (h.h.tid != VICTIM)
		return 0;
	must(!f->told);
	f->told = h.h.tid;
	f->status = h.h.status;
	f->size = port_mad_len(m);
	return 0;
}

static void
ask_paths(struct sa *sa)
{
	struct port_mad m = { .qp = 1, .lid = 20 };
	struct sa_header h = {
		.h = { .tid = VICTIM, .attr_id = SA_PATH, .base_version = 1,
		       .class_version = SA_CLASS_VERSION, .mgmt_class = MAD_CLASS_SUBN_ADM,
		       .method = MAD_GET_TABLE },
	};

	sa_header_encode(&h, m.mad);
	for (unsigned i = 0; i < BEFORE; i++) {
		m.mad[15] = 0;	/* of another TID, */
		m.mad[17] = 0;	/* for nothing that there is */
		sa_request(sa, &m);
	}
	sa_header_encode(&h, m.mad);
	sa_request(sa, &m);
	must(sa_pending(sa) == 1);
}

static uint16_t
attr_of(uint8_t a)
{
	static const uint16_t known[] = {
		SA_CLASS_PORT_INFO, SA_NOTICE, SA_INFORM_INFO, SA_NODE, SA_PORT_INFO,
		SA_SL_TO_VL, SA_SWITCH_INFO, SA_LINEAR_FDB, SA_RANDOM_FDB, SA_MULTICAST_FDB,
		SA_SM_INFO, SA_LINK, SA_GUID_INFO, SA_SERVICE, SA_P_KEY_TABLE, SA_PATH,
		SA_VL_ARBITRATION, SA_MC_MEMBER, SA_TRACE, SA_MULTI_PATH,
		SA_SERVICE_ASSOCIATION, SA_INFORM_INFO_RECORD,
	};

	return a & 128 ? a & 127 : known[a % (sizeof(known) / sizeof(known[0]))];
}

static uint8_t
method_of(uint8_t m)
{
	static const uint8_t known[] = {
		MAD_GET, MAD_GET_TABLE, MAD_SET, MAD_DELETE, MAD_GET_MULTI, MAD_GET_TRACE,
		MAD_REPORT_RESP, MAD_GET_RESP,
	};

	return m & 128 ? m : known[m % sizeof(known)];
}

static uint64_t
mask_of(const struct step *s)
{
	uint64_t mask = 0;

	switch (s->mask & 3) {
	case 0:
		for (unsigned i = 0; i < 8 && i < s->len; i++)
			mask = mask << 8 | s->record[i];
		return mask;
	case 1:
		return SA_BIT(s->bit % 64);
	case 2:
		return UINT64_MAX;
	}
	return s->mask & 4 ? UINT64_MAX >> (63 - s->bit % 64) : 0;
}

/* A host, or nobody; of a long form the bytes are elsewhere, to the length that the step says. */
static void
send_step(struct sa *sa, const struct step *s, uint64_t tid)
{
	struct port_mad m = { .qp = 1, .remote_qp = 1, .lid = (uint16_t)(2 + (s->source & 7)) };
	struct sa_header h = {
		.h = { .tid = tid, .attr_id = attr_of(s->attr), .base_version = 1,
		       .class_version = s->mask & 128 ? s->bit : SA_CLASS_VERSION,
		       .mgmt_class = MAD_CLASS_SUBN_ADM, .method = method_of(s->method),
		       .attr_mod = s->mask & 64 ? UINT32_C(1) << (s->bit & 31) : 0 },
		.sm_key = s->source >> 6, .mask = mask_of(s),
		.rmpp_version = s->mask >> 5 & 1, .rmpp_type = s->bit & 7,
		.rmpp_flags = s->mask & 32 ? s->bit >> 5 : 0,
	};
	uint8_t exact[SA_HEADER_SIZE + 256];

	sa_header_encode(&h, m.mad);
	memcpy(m.mad + SA_HEADER_SIZE, s->record, s->len < SA_DATA_SIZE ? s->len : SA_DATA_SIZE);
	memcpy(exact, m.mad, SA_HEADER_SIZE);
	memcpy(exact + SA_HEADER_SIZE, s->record, s->len);
	if (s->source & 8) {
		m.data = exact;
		m.len = SA_HEADER_SIZE + s->len;
	} else if (s->source & 16) {
		memcpy(long_message, exact, SA_HEADER_SIZE + s->len);
		m.data = long_message;
		m.len = s->source & 32 ? LONG : LONG / 2;
	}
	sa_request(sa, &m);
}

static size_t
read_step(struct step *s, const uint8_t *data, size_t size)
{
	if (size < 7)
		return 0;
	*s = (struct step){ data[0], data[1], data[2], data[3], data[4], data[5], data[6],
			    data + 7 };
	if (s->len > size - 7)
		s->len = (uint8_t)(size - 7);
	return 7u + s->len;
}

static void
try_steps(struct sa *sa, struct loop *loop, const uint8_t *data, size_t size)
{
	uint64_t tid = 1;
	struct step s;
	size_t used;

	while ((used = read_step(&s, data, size)) && tid < REQUESTS_MAX) {
		for (unsigned i = s.repeats & 8 ? 1u << (s.repeats & 7) : 1; i; i--)
			send_step(sa, &s, tid++);
		if (s.repeats & 64)
			loop_run_until(loop, loop_now(loop) + USEC(1), NULL);
		if (s.repeats == 255)
			sa_settled(sa);
		data += used;
		size -= used;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct plan *small, *large;
	struct loop *loop = loop_new_virtual(1);
	struct store *store = store_open_memory(loop);
	struct admin_bed f = { .published = true };
	struct sa_env env = admin_env(&f, loop, store);
	const struct sa_counters *c;
	bool beside = size && (data[0] & 15) == 1;
	struct sa *sa;

	small = small ? small : admin_plan(2);
	large = large ? large : admin_plan(HOSTS);
	f.plan = beside ? large : small;
	f.conf.sa_rate = size && data[0] & 4 ? 100 : 0;
	env.send = note_answer;
	sa = sa_new(&env);
	if (beside)
		ask_paths(sa);
	if (size)
		try_steps(sa, loop, data + 1, size - 1);
	loop_run_until(loop, loop_now(loop) + SEC(1), NULL);
	c = sa_counters(sa);
	must(!sa_pending(sa) && f.answers == c->answered + c->refused);
	must(f.answers + admin_dropped(sa) == c->requests);
	must(!beside || (f.told && !f.status && f.size == SA_HEADER_SIZE + PAIRS * 64));
	sa_free(sa);
	store_close(store);
	loop_free(loop);
	return 0;
}
