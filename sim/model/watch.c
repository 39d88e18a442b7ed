/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "sim/model/model.h"
#include "sim/model/model_impl.h"

/*
 * Those who watch a simulated fabric: one is told of each MAD that sets out, one of what happens to
 * links and devices. While nobody watches, a test of a pointer is all that it costs.
 */
#define LINE_SIZE 400

void
model_tap(struct model *m, model_tap_fn fn, void *arg)
{
	m->tap = fn;
	m->tap_arg = arg;
}

void
model_log(struct model *m, model_log_fn fn, void *arg)
{
	m->log = fn;
	m->log_arg = arg;
}

void
watch_say(const struct model *m, const char *fmt, ...)
{
	char line[LINE_SIZE];
	va_list args;

	if (!m->log || m->quiet)
		return;
	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	m->log(m->log_arg, line);
}

void
watch_link(const struct model *m, uint32_t node, unsigned port, const char *fmt, ...)
{
	const struct sim_port *p = &m->nodes[node].ports[port];
	char what[LINE_SIZE / 2];
	va_list args;

	if (!m->log || m->quiet)
		return;
	va_start(args, fmt);
	vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	if (p->peer == IBNET_NONE)
		watch_say(m, "%s/%u %s", m->nodes[node].desc, port, what);
	else
		watch_say(m, "%s/%u - %s/%u %s", m->nodes[node].desc, port,
			  m->nodes[p->peer].desc, p->peer_port, what);
}

const char *
watch_name(const struct model *m, uint32_t node)
{
	return node < m->net->nnodes ? m->nodes[node].desc : "every node";
}

void
watch_wire(const struct flight *f, uint8_t wire[MAD_SIZE])
{
	if (f->gmp)
		memcpy(wire, f->mad.mad, MAD_SIZE);
	else
		smp_encode(&f->smp, wire);
}

void
watch_passage(const struct model *m, const struct flight *f, const uint8_t wire[MAD_SIZE],
	      const struct place *from, const struct place *to, bool lost)
{
	bool directed = wire[1] == MAD_CLASS_SUBN_DIRECT &&
		(wire[4] & 0x80 ? wire[34] & wire[35] : wire[32] & wire[33]) == 0xff;
	struct model_passage p = {
		.mad = wire, .from = from->node, .to = to->node,
		.from_port = (uint8_t)from->port, .to_port = (uint8_t)to->port,
		.slid = directed ? LID_PERMISSIVE : m->nodes[from->node].ports[from->port].info.lid,
		.dlid = directed ? LID_PERMISSIVE : f->dlid,
		.qp = f->gmp, .sl = f->gmp ? f->mad.sl : 0, .lost = lost,
	};

	m->tap(m->tap_arg, &p);
}
