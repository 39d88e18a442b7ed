/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/model/counters.h"

#include <string.h>
#include <strings.h>
#include "sim/model/model_impl.h"
#include "sm/base/error.h"

/*
 * The counters behind the performance management agent.
 *
 * A counter only ever grows: by events of the model and commands (kept here, in a block that a node
 * gets with its first count), by a steady rate that a command gave it, and by traffic (asked from
 * the struct counter_source when somebody reads). An attribute that is written notes where the
 * counter must have begun to give that value; so PortCounters and PortCountersExtended are cleared
 * each on its own (IBA volume 1, 16.1.3.5 and 16.1.4.11), and a field of few bits stays full while
 * the counter goes on.
 */
struct counter_rate {
	uint64_t rate;		/* see meter_rate() */
	monotime since;		/* it grows since then */
	uint8_t port;		/* whose counter */
	uint8_t counter;	/* enum sim_counter */
};

struct counters {
	uint64_t *total;	/* CTR_KEPT a port */
	uint64_t *start[VIEWS];	/* where each view begins, view_len() a port; NULL: never written */
	struct counter_rate *rates;	/* nrates counters that grow on their own */
	unsigned nrates;		/* of these */
};

static const struct {
	const char *name;	/* for commands */
	uint8_t counter;	/* enum sim_counter */
	const char *shown;	/* as perfquery shows it; NULL: it does not */
} names[] = {
	{ "symbol_errors", CTR_SYMBOL, "SymbolErrorCounter" },
	{ "link_recoveries", CTR_RECOVERY, "LinkErrorRecoveryCounter" },
	{ "link_downed", CTR_DOWNED, "LinkDownedCounter" },
	{ "rcv_errors", CTR_RCV_ERRORS, "PortRcvErrors" },
	{ "rcv_remote_physical_errors", CTR_REMOTE_PHYSICAL, "PortRcvRemotePhysicalErrors" },
	{ "rcv_switch_relay_errors", CTR_SWITCH_RELAY, "PortRcvSwitchRelayErrors" },
	{ "xmit_discards", CTR_XMIT_DISCARDS, "PortXmitDiscards" },
	{ "xmit_constraint_errors", CTR_XMIT_CONSTRAINT, "PortXmitConstraintErrors" },
	{ "rcv_constraint_errors", CTR_RCV_CONSTRAINT, "PortRcvConstraintErrors" },
	{ "local_link_integrity_errors", CTR_LOCAL_INTEGRITY, "LocalLinkIntegrityErrors" },
	{ "buffer_overrun_errors", CTR_OVERRUN, "ExcessiveBufferOverrunErrors" },
	{ "vl15_dropped", CTR_VL15_DROPPED, "VL15Dropped" },
	{ "xmit_data", CTR_XMIT_DATA, "PortXmitData" },
	{ "rcv_data", CTR_RCV_DATA, "PortRcvData" },
	{ "xmit_packets", CTR_XMIT_PKTS, "PortXmitPkts" },
	{ "rcv_packets", CTR_RCV_PKTS, "PortRcvPkts" },
	{ "xmit_wait", CTR_XMIT_WAIT, "PortXmitWait" },
	{ "qp1_dropped", CTR_QP1_DROPPED, "QP1Dropped" },
	{ "unicast_xmit_packets", CTR_UNI_XMIT, "PortUnicastXmitPkts" },
	{ "unicast_rcv_packets", CTR_UNI_RCV, "PortUnicastRcvPkts" },
	{ "multicast_xmit_packets", CTR_MULTI_XMIT, "PortMulticastXmitPkts" },
	{ "multicast_rcv_packets", CTR_MULTI_RCV, "PortMulticastRcvPkts" },
	{ "rcv_local_physical_errors", CTR_RCV_PHYSICAL, NULL },
	{ "rcv_malformed_errors", CTR_RCV_MALFORMED, NULL },
	{ "rcv_buffer_overrun_errors", CTR_RCV_OVERRUN, NULL },
	{ "rcv_dlid_mapping_errors", CTR_RCV_DLID, NULL },
	{ "rcv_vl_mapping_errors", CTR_RCV_VL, NULL },
	{ "rcv_looping_errors", CTR_RCV_LOOPING, NULL },
	{ "xmit_inactive_discards", CTR_DISCARD_INACTIVE, NULL },
	{ "xmit_mtu_discards", CTR_DISCARD_MTU, NULL },
	{ "xmit_lifetime_discards", CTR_DISCARD_LIFETIME, NULL },
	{ "xmit_hoq_discards", CTR_DISCARD_HOQ, NULL },
	{ "op_rcv_packets", CTR_OP_PKTS, NULL },
	{ "op_rcv_data", CTR_OP_DATA, NULL },
	{ "flow_xmit_packets", CTR_FLOW_XMIT, NULL },
	{ "flow_rcv_packets", CTR_FLOW_RCV, NULL },
};
#define NAMES (sizeof(names) / sizeof(names[0]))

static unsigned
view_len(enum counter_view v)
{
	return v == VIEW_DETAIL ? CTR_ALL - CTR_SHARED : CTR_SHARED;
}

/* Where a view's start of a counter is. */
static size_t
start_at(enum counter_view v, unsigned port, unsigned counter)
{
	return (size_t)port * view_len(v) + counter - (v == VIEW_DETAIL ? CTR_SHARED : 0);
}

static struct counters *
counters_of(struct model *m, uint32_t node)
{
	struct sim_node *n = &m->nodes[node];

	if (!n->counters) {
		n->counters = mem_zalloc(sizeof(*n->counters));
		n->counters->total = mem_array((n->nports + 1u) * CTR_KEPT, sizeof(uint64_t));
	}
	return n->counters;
}

static uint64_t
grown(const struct model *m, const struct counters *c, unsigned port, unsigned counter)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < c->nrates; i++)
		if (c->rates[i].port == port && c->rates[i].counter == counter)
			sum += meter_value(meter_grown(c->rates[i].rate,
						       loop_now(m->loop) - c->rates[i].since));
	return sum;
}

void
counters_look(struct model *m)
{
	if (m->source)
		m->source->look(m->source->arg);
}

/* What has been counted from the start to when somebody looked: counters_look(). */
static uint64_t
counter_total(struct model *m, uint32_t node, unsigned port, unsigned counter)
{
	const struct counters *c = m->nodes[node].counters;
	uint64_t sum = m->source ? m->source->read(m->source->arg, node, port, counter) : 0;

	if (c && counter < CTR_KEPT)
		sum += c->total[port * CTR_KEPT + counter] + grown(m, c, port, counter);
	return sum;
}

uint64_t
counter_read(struct model *m, uint32_t node, unsigned port, enum counter_view v, unsigned counter)
{
	const struct counters *c = m->nodes[node].counters;
	uint64_t start = c && c->start[v] ? c->start[v][start_at(v, port, counter)] : 0;

	return counter_total(m, node, port, counter) - start;
}

void
counter_write(struct model *m, uint32_t node, unsigned port, enum counter_view v, unsigned counter,
	      uint64_t value)
{
	struct counters *c;

	if (counter_read(m, node, port, v, counter) == value)
		return;
	c = counters_of(m, node);
	if (!c->start[v])
		c->start[v] = mem_array((m->nodes[node].nports + 1u) * view_len(v),
					sizeof(uint64_t));
	c->start[v][start_at(v, port, counter)] = counter_total(m, node, port, counter) - value;
}

void
counter_add(struct model *m, uint32_t node, unsigned port, unsigned counter, uint64_t n)
{
	counters_of(m, node)->total[port * CTR_KEPT + counter] += n;
}

void
counters_reset(struct model *m, uint32_t node)
{
	struct sim_node *n = &m->nodes[node];

	counters_look(m);
	if (n->counters)
		n->counters->nrates = 0;
	for (unsigned v = 0; v < VIEWS; v++)
		for (unsigned p = 0; p <= n->nports; p++)
			for (unsigned i = 0; i < view_len(v); i++)
				counter_write(m, node, p, v,
					      v == VIEW_DETAIL ? CTR_SHARED + i : i, 0);
}

void
counters_free(struct model *m, uint32_t node)
{
	struct counters *c = m->nodes[node].counters;

	if (!c)
		return;
	for (unsigned v = 0; v < VIEWS; v++)
		mem_free(c->start[v]);
	mem_free(c->rates);
	mem_free(c->total);
	mem_free(c);
	m->nodes[node].counters = NULL;
}

/* ---- By name ---- */

const char *
model_counter_name(unsigned i)
{
	return i < NAMES ? names[i].name : NULL;
}

static int
find_name(const char *name, struct error *e)
{
	const char *words[NAMES + 1] = { NULL }, *near;

	for (size_t i = 0; i < NAMES; i++) {
		words[i] = names[i].name;
		if (!strcmp(names[i].name, name) ||
		    (names[i].shown && !strcasecmp(names[i].shown, name)))
			return names[i].counter;
	}
	if ((near = nearest_word(name, words)))
		return error_set(e, ERR_NOT_FOUND, "there is no counter \"%.60s\"; did you mean "
				 "\"%s\"?", name, near);
	return error_set(e, ERR_NOT_FOUND, "there is no counter \"%.60s\"; \"counters NODE/PORT "
			 "all\" lists them", name);
}

int
model_counter_known(const char *name, struct error *e)
{
	int counter = find_name(name, e);

	return counter < 0 ? counter : 0;
}

/* The counter of a name, for a port that exists; or ERR_*. */
static int
find(const struct model *m, uint32_t node, unsigned port, const char *name, struct error *e)
{
	if (!model_has_port(m, node, port) || (!port && m->nodes[node].type != NODE_SWITCH))
		return error_set(e, ERR_NOT_FOUND, "there is no port %u to count at", port);
	return find_name(name, e);
}

int
model_counter_get(struct model *m, uint32_t node, unsigned port, const char *name, uint64_t *value,
		  struct error *e)
{
	int counter = find(m, node, port, name, e);

	if (counter < 0)
		return counter;
	counters_look(m);
	*value = counter_read(m, node, port, counter < CTR_SHARED ? VIEW_EXTENDED : VIEW_DETAIL,
			      (unsigned)counter);
	return 0;
}

int
model_counter_set(struct model *m, uint32_t node, unsigned port, const char *name, uint64_t value,
		  struct error *e)
{
	int counter = find(m, node, port, name, e);

	if (counter < 0)
		return counter;
	counters_look(m);
	if (counter >= CTR_SHARED) {
		counter_write(m, node, port, VIEW_DETAIL, (unsigned)counter, value);
		return 0;
	}
	counter_write(m, node, port, VIEW_PLAIN, (unsigned)counter, value);
	counter_write(m, node, port, VIEW_EXTENDED, (unsigned)counter, value);
	return 0;
}

int
model_counter_add(struct model *m, uint32_t node, unsigned port, const char *name, uint64_t n,
		  struct error *e)
{
	int counter = find(m, node, port, name, e);

	if (counter < 0)
		return counter;
	counter_add(m, node, port, (unsigned)counter, n);
	trap_counted(m, node, port, (unsigned)counter, n);
	return 0;
}

int
model_counter_rate(struct model *m, uint32_t node, unsigned port, const char *name,
		   double per_second, struct error *e)
{
	int counter = find(m, node, port, name, e);
	struct counters *c;
	unsigned i = 0;

	if (counter < 0)
		return counter;
	if (!(per_second >= 0 && per_second <= MODEL_COUNTER_RATE_MAX))
		return error_set(e, ERR_INVALID, "a counter grows by 0 to %g a second",
				 MODEL_COUNTER_RATE_MAX);
	c = counters_of(m, node);
	/* What it has grown by so far stays. */
	counter_add(m, node, port, (unsigned)counter, grown(m, c, port, (unsigned)counter));
	while (i < c->nrates && (c->rates[i].port != port || c->rates[i].counter != counter))
		i++;
	if (i == c->nrates)
		c->rates = mem_realloc(c->rates, ++c->nrates, sizeof(*c->rates));
	c->rates[i] = (struct counter_rate){ meter_rate(per_second), loop_now(m->loop),
					     (uint8_t)port, (uint8_t)counter };
	if (per_second <= 0)
		c->rates[i] = c->rates[--c->nrates];
	return 0;
}

bool
model_counter_grows(struct model *m, uint32_t node, unsigned port, const char *name)
{
	int counter = find(m, node, port, name, NULL);
	const struct counters *c = counter < 0 ? NULL : m->nodes[node].counters;

	for (unsigned i = 0; c && i < c->nrates; i++)
		if (c->rates[i].port == port && c->rates[i].counter == counter)
			return true;
	return false;
}
