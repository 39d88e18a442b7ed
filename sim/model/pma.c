/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include "sim/model/counters.h"
#include "sim/model/model_impl.h"
#include "sm/base/error.h"

/*
 * The performance management agent of a simulated device (IBA volume 1, 16.1): each attribute is a
 * table of fields, where in the attribute a counter is shown and which bit of its select fields
 * chooses it for writing.
 *
 * A Get shows the counters of one port, or of all of a node added up (PortSelect 0xff); a Set first
 * gives the chosen ones the values that it carries. A field too narrow for its counter is full. A
 * port's number is checked against the node, not against the port that the request came through.
 */
#define PMA_DATA 64u		/* where the attribute begins in the MAD */
#define PMA_DATA_SIZE (MAD_SIZE - PMA_DATA)
#define ALL_PORTS 0xffu

enum pma_attr {
	PMA_CLASS_PORT_INFO = 0x01,
	PMA_SAMPLES_CONTROL = 0x10,
	PMA_COUNTERS = 0x12,
	PMA_RCV_ERROR_DETAILS = 0x15,
	PMA_XMIT_DISCARD_DETAILS = 0x16,
	PMA_OP_RCV_COUNTERS = 0x17,
	PMA_FLOW_CTL_COUNTERS = 0x18,
	PMA_VL_XMIT_WAIT = 0x1c,
	PMA_COUNTERS_EXT = 0x1d,
	PMA_XMIT_DATA_SL = 0x36,
	PMA_RCV_DATA_SL = 0x37,
};

/* ClassPortInfo. */
#define CAP_ALL_PORT_SELECT 0x0100u
#define CAP_EXTENDED_WIDTH 0x0200u
#define CAP_XMIT_WAIT 0x1000u
#define CAP_QP1_DROPPED 0x8000u
#define CAP2_EXTENDED_ERRORS 0x2u
#define RESPONSE_TIME 18u

struct pma_field {
	uint8_t counter;	/* enum sim_counter */
	uint8_t select;		/* bit of CounterSelect; 16 and up: of CounterSelect2 */
	uint16_t bit;		/* where it is in the attribute */
	uint8_t bits;		/* how long it is */
};

struct pma_attribute {
	uint16_t id;			/* enum pma_attr */
	uint8_t view;			/* enum counter_view */
	uint8_t select2;		/* byte where CounterSelect2 is, 0 = there is none */
	uint8_t select2_size;		/* bytes of it */
	uint8_t nfields;		/* of these */
	const struct pma_field *fields;	/* each counter that it shows */
};

#define AT(byte) ((byte) * 8)

static const struct pma_field plain[] = {
	{ CTR_SYMBOL, 0, AT(4), 16 },
	{ CTR_RECOVERY, 1, AT(6), 8 },
	{ CTR_DOWNED, 2, AT(7), 8 },
	{ CTR_RCV_ERRORS, 3, AT(8), 16 },
	{ CTR_REMOTE_PHYSICAL, 4, AT(10), 16 },
	{ CTR_SWITCH_RELAY, 5, AT(12), 16 },
	{ CTR_XMIT_DISCARDS, 6, AT(14), 16 },
	{ CTR_XMIT_CONSTRAINT, 7, AT(16), 8 },
	{ CTR_RCV_CONSTRAINT, 8, AT(17), 8 },
	{ CTR_LOCAL_INTEGRITY, 9, AT(19), 4 },
	{ CTR_OVERRUN, 10, AT(19) + 4, 4 },
	{ CTR_QP1_DROPPED, 17, AT(20), 16 },
	{ CTR_VL15_DROPPED, 11, AT(22), 16 },
	{ CTR_XMIT_DATA, 12, AT(24), 32 },
	{ CTR_RCV_DATA, 13, AT(28), 32 },
	{ CTR_XMIT_PKTS, 14, AT(32), 32 },
	{ CTR_RCV_PKTS, 15, AT(36), 32 },
	{ CTR_XMIT_WAIT, 16, AT(40), 32 },
};

static const struct pma_field extended[] = {
	{ CTR_XMIT_DATA, 0, AT(8), 64 },
	{ CTR_RCV_DATA, 1, AT(16), 64 },
	{ CTR_XMIT_PKTS, 2, AT(24), 64 },
	{ CTR_RCV_PKTS, 3, AT(32), 64 },
	{ CTR_UNI_XMIT, 4, AT(40), 64 },
	{ CTR_UNI_RCV, 5, AT(48), 64 },
	{ CTR_MULTI_XMIT, 6, AT(56), 64 },
	{ CTR_MULTI_RCV, 7, AT(64), 64 },
	{ CTR_SYMBOL, 16, AT(72), 64 },
	{ CTR_RECOVERY, 17, AT(80), 64 },
	{ CTR_DOWNED, 18, AT(88), 64 },
	{ CTR_RCV_ERRORS, 19, AT(96), 64 },
	{ CTR_REMOTE_PHYSICAL, 20, AT(104), 64 },
	{ CTR_SWITCH_RELAY, 21, AT(112), 64 },
	{ CTR_XMIT_DISCARDS, 22, AT(120), 64 },
	{ CTR_XMIT_CONSTRAINT, 23, AT(128), 64 },
	{ CTR_RCV_CONSTRAINT, 24, AT(136), 64 },
	{ CTR_LOCAL_INTEGRITY, 25, AT(144), 64 },
	{ CTR_OVERRUN, 26, AT(152), 64 },
	{ CTR_VL15_DROPPED, 27, AT(160), 64 },
	{ CTR_XMIT_WAIT, 28, AT(168), 64 },
	{ CTR_QP1_DROPPED, 29, AT(176), 64 },
};

static const struct pma_field rcv_errors[] = {
	{ CTR_RCV_PHYSICAL, 0, AT(4), 16 },
	{ CTR_RCV_MALFORMED, 1, AT(6), 16 },
	{ CTR_RCV_OVERRUN, 2, AT(8), 16 },
	{ CTR_RCV_DLID, 3, AT(10), 16 },
	{ CTR_RCV_VL, 4, AT(12), 16 },
	{ CTR_RCV_LOOPING, 5, AT(14), 16 },
};

static const struct pma_field discards[] = {
	{ CTR_DISCARD_INACTIVE, 0, AT(4), 16 },
	{ CTR_DISCARD_MTU, 1, AT(6), 16 },
	{ CTR_DISCARD_LIFETIME, 2, AT(8), 16 },
	{ CTR_DISCARD_HOQ, 3, AT(10), 16 },
};

static const struct pma_field op_rcv[] = {
	{ CTR_OP_PKTS, 0, AT(4), 32 },
	{ CTR_OP_DATA, 1, AT(8), 32 },
};

static const struct pma_field flow_ctl[] = {
	{ CTR_FLOW_XMIT, 0, AT(4), 32 },
	{ CTR_FLOW_RCV, 1, AT(8), 32 },
};

/* Sixteen counters one behind the other, one for each SL or VL. */
#define EACH_OF_16(first, size) { \
	{ (first), 0, AT(4), (size) }, { (first) + 1, 1, AT(4) + (size), (size) }, \
	{ (first) + 2, 2, AT(4) + 2 * (size), (size) }, \
	{ (first) + 3, 3, AT(4) + 3 * (size), (size) }, \
	{ (first) + 4, 4, AT(4) + 4 * (size), (size) }, \
	{ (first) + 5, 5, AT(4) + 5 * (size), (size) }, \
	{ (first) + 6, 6, AT(4) + 6 * (size), (size) }, \
	{ (first) + 7, 7, AT(4) + 7 * (size), (size) }, \
	{ (first) + 8, 8, AT(4) + 8 * (size), (size) }, \
	{ (first) + 9, 9, AT(4) + 9 * (size), (size) }, \
	{ (first) + 10, 10, AT(4) + 10 * (size), (size) }, \
	{ (first) + 11, 11, AT(4) + 11 * (size), (size) }, \
	{ (first) + 12, 12, AT(4) + 12 * (size), (size) }, \
	{ (first) + 13, 13, AT(4) + 13 * (size), (size) }, \
	{ (first) + 14, 14, AT(4) + 14 * (size), (size) }, \
	{ (first) + 15, 15, AT(4) + 15 * (size), (size) } }

static const struct pma_field xmit_sl[] = EACH_OF_16(CTR_XMIT_SL, 32);
static const struct pma_field rcv_sl[] = EACH_OF_16(CTR_RCV_SL, 32);
static const struct pma_field wait_vl[] = EACH_OF_16(CTR_WAIT_VL, 16);

#define FIELDS(f) sizeof(f) / sizeof((f)[0]), (f)

static const struct pma_attribute attributes[] = {
	{ PMA_COUNTERS, VIEW_PLAIN, 18, 1, FIELDS(plain) },
	{ PMA_COUNTERS_EXT, VIEW_EXTENDED, 4, 4, FIELDS(extended) },
	{ PMA_RCV_ERROR_DETAILS, VIEW_DETAIL, 0, 0, FIELDS(rcv_errors) },
	{ PMA_XMIT_DISCARD_DETAILS, VIEW_DETAIL, 0, 0, FIELDS(discards) },
	{ PMA_OP_RCV_COUNTERS, VIEW_DETAIL, 0, 0, FIELDS(op_rcv) },
	{ PMA_FLOW_CTL_COUNTERS, VIEW_DETAIL, 0, 0, FIELDS(flow_ctl) },
	{ PMA_VL_XMIT_WAIT, VIEW_DETAIL, 0, 0, FIELDS(wait_vl) },
	{ PMA_XMIT_DATA_SL, VIEW_DETAIL, 0, 0, FIELDS(xmit_sl) },
	{ PMA_RCV_DATA_SL, VIEW_DETAIL, 0, 0, FIELDS(rcv_sl) },
};

/* One request. */
struct pma_request {
	struct model *m;	/* the fabric */
	uint32_t node;		/* who is asked */
	unsigned first, last;	/* ports that are meant */
	uint8_t *data;		/* PMA_DATA_SIZE bytes, in and out */
};

static void
put(uint8_t *data, unsigned bit, unsigned bits, uint64_t v)
{
	if (bits < 8) {
		data[bit / 8] |= (uint8_t)(v << (8 - bits - bit % 8));
		return;
	}
	for (unsigned i = bits / 8; i--; v >>= 8)
		data[bit / 8 + i] = (uint8_t)v;
}

static uint64_t
get(const uint8_t *data, unsigned bit, unsigned bits)
{
	uint64_t v = 0;

	if (bits < 8)
		return (unsigned)data[bit / 8] >> (8 - bits - bit % 8) & ((1u << bits) - 1);
	for (unsigned i = 0; i < bits / 8; i++)
		v = v << 8 | data[bit / 8 + i];
	return v;
}

static void
write_fields(const struct pma_request *r, const struct pma_attribute *a)
{
	uint64_t chosen = get(r->data, AT(2), 16);

	if (a->select2)
		chosen |= get(r->data, AT(a->select2), AT(a->select2_size)) << 16;
	for (unsigned i = 0; i < a->nfields; i++) {
		const struct pma_field *f = &a->fields[i];

		for (unsigned p = r->first; chosen >> f->select & 1 && p <= r->last; p++)
			counter_write(r->m, r->node, p, a->view, f->counter,
				      get(r->data, f->bit, f->bits));
	}
}

/* Adds, where several ports are meant, and is full rather than wrong. */
static uint64_t
field_value(const struct pma_request *r, const struct pma_attribute *a, const struct pma_field *f)
{
	uint64_t max = UINT64_MAX >> (64 - f->bits), sum = 0;

	for (unsigned p = r->first; p <= r->last; p++) {
		uint64_t v = counter_read(r->m, r->node, p, a->view, f->counter);

		if (v > max - sum)
			return max;
		sum += v;
	}
	return sum;
}

static void
read_fields(const struct pma_request *r, const struct pma_attribute *a)
{
	uint8_t port = r->data[1];

	memset(r->data, 0, PMA_DATA_SIZE);
	r->data[1] = port;
	for (unsigned i = 0; i < a->nfields; i++)
		put(r->data, a->fields[i].bit, a->fields[i].bits,
		    field_value(r, a, &a->fields[i]));
}

static void
class_port_info(uint8_t *data)
{
	memset(data, 0, PMA_DATA_SIZE);
	data[0] = data[1] = 1;
	put(data, AT(2), 16, CAP_ALL_PORT_SELECT | CAP_EXTENDED_WIDTH | CAP_XMIT_WAIT |
	    CAP_QP1_DROPPED);
	put(data, AT(4), 32, CAP2_EXTENDED_ERRORS << 5 | RESPONSE_TIME);
}

/* The mandatory attribute of an agent that samples nothing: no mechanism, no counter. */
static void
samples_control(uint8_t *data)
{
	uint8_t port = data[1];

	memset(data, 0, PMA_DATA_SIZE);
	data[1] = port;
}

static bool
find_ports(struct pma_request *r)
{
	const struct sim_node *n = &r->m->nodes[r->node];
	unsigned port = r->data[1];

	r->first = r->last = port;
	if (port == ALL_PORTS) {
		r->first = 1;
		r->last = n->nports;
		return true;
	}
	return port <= n->nports && (port || n->type == NODE_SWITCH);
}

static uint16_t
answer(struct pma_request *r, uint16_t id, bool set)
{
	const struct pma_attribute *a = attributes, *end = a + sizeof(attributes) / sizeof(*a);

	if (id == PMA_CLASS_PORT_INFO && !set) {
		class_port_info(r->data);
		return 0;
	}
	while (a < end && a->id != id)
		a++;
	if (a == end && (id != PMA_SAMPLES_CONTROL || set))
		return MAD_STATUS_BAD_ATTR;
	if (!find_ports(r))
		return MAD_STATUS_BAD_FIELD;
	if (a == end) {
		samples_control(r->data);
		return 0;
	}
	counters_look(r->m);
	if (set)
		write_fields(r, a);
	read_fields(r, a);
	return 0;
}

bool
pma_answer(struct model *m, uint32_t node, uint8_t mad[MAD_SIZE])
{
	struct pma_request r = { .m = m, .node = node, .data = mad + PMA_DATA };
	struct mad_header h;

	if (mad_header_decode(&h, mad, MAD_SIZE) < 0 ||
	    (h.method != MAD_GET && h.method != MAD_SET))
		return false;
	h.status = h.class_version == 1 ? answer(&r, h.attr_id, h.method == MAD_SET) :
		MAD_STATUS_BAD_VERSION;
	h.method = MAD_GET_RESP;
	mad_header_encode(&h, mad);
	return true;
}
