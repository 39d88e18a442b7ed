/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/kernel/kernel.h"

#include <errno.h>
#include <string.h>
#include "sim/kernel/kernel_impl.h"
#include "sm/base/mem.h"

/*
 * The MAD layer of the simulated hosts, with the rules of Linux's mad.c and user_mad.c.
 *
 * A struct kernel owns its ports, which are the model's clients, and the agents on them. What an
 * agent sends goes out at once; if something is to come back, a struct kernel_sent waits for it.
 * What arrives is for one agent: a response for the one whose number its transaction id has, a
 * request for the one that registered for it. Telling an agent is always the last thing done, for
 * the agent may do whatever it likes then. MADs and their fields: IBA volume 1, 13.4.
 */
#define CLASS_CM 0x07
#define MAD_MIN 36u		/* of a write: MAD header and RMPP header */

struct kernel_watch {
	struct list link;	/* in kernel_port.watches */
	struct kernel_port *p;	/* what is watched */
	void (*fn)(void *arg);	/* whom to tell */
	void *arg;		/* handed to it */
};

/* ---- In ---- */

/* A MAD of the right version for the queue pair that it came to. */
static bool
is_valid(const struct model_mad *m)
{
	const uint8_t *mad = m->mad;

	if (mad[0] != 1 || kernel_is_smp(mad[1]) != (m->qp == 0))
		return false;
	return mad[1] != CLASS_CM || mad[3] == MAD_SEND ||
		(mad[16] << 8 | mad[17]) == ATTR_CLASS_PORT_INFO;
}

static struct kernel_agent *
agent_for(const struct kernel_port *p, const uint8_t *mad)
{
	const struct kernel *k = p->k;
	uint32_t slot;

	if (!kernel_is_response(mad))
		return kernel_reg_find(p, mad);
	slot = map_get(&k->by_number, tid_of(mad) >> 32);
	return slot != MAP_NONE && k->agents[slot]->p == p ? k->agents[slot] : NULL;
}

/* A response ends the wait of the request that it is for. An agent that does RMPP itself gets all
 * segments, the request may be over by then. */
static bool
end_wait(struct kernel_agent *a, const struct model_mad *m)
{
	struct kernel_sent *s = kernel_sent_find(a, m);

	if (s)
		kernel_sent_end(s);
	return s || (!a->rmpp && kernel_is_rmpp(m->mad[1]) && rmpp_is_active(m->mad));
}

static void
on_receive(void *arg, const struct model_mad *m)
{
	struct kernel_port *p = arg;
	struct kernel_agent *a = is_valid(m) ? agent_for(p, m->mad) : NULL;
	struct kernel_mad in;
	uint8_t *whole = NULL;

	kernel_sender(&in, p, m);
	in.data = m->mad;
	in.len = MAD_SIZE;
	if (a && a->rmpp && rmpp_is_active(m->mad) && !(whole = kernel_rmpp_receive(a, m, &in)))
		return;
	if (a && (!kernel_is_response(m->mad) || end_wait(a, m)))
		a->ev.receive(a->ev.arg, &in);
	else
		p->k->dropped++;
	mem_free(whole);
}

static void
on_changed(void *arg)
{
	struct kernel_port *p = arg;

	for (struct list *it = p->watches.next; it != &p->watches; it = p->walk) {
		struct kernel_watch *w = list_entry(it, struct kernel_watch, link);

		p->walk = it->next;
		w->fn(w->arg);
	}
	p->walk = NULL;
}

/* ---- Out ---- */

static void
address(struct model_mad *out, const struct kernel_agent *a, const struct kernel_mad *to)
{
	out->lid = to->lid;
	out->qp = a->reg.qp;
	out->sl = to->sl;
	out->pkey_index = to->pkey_index;
	out->path_bits = to->path_bits;
	out->has_grh = to->grh;
	if (to->grh)
		kernel_grh_fill(&out->grh, a->p, to);
}

void
kernel_emit(struct kernel_agent *a, const struct kernel_mad *to, const uint8_t mad[MAD_SIZE])
{
	struct model_mad out;

	memcpy(out.mad, mad, MAD_SIZE);
	address(&out, a, to);
	model_send(a->p->client, &out);
}

/* The agent's number makes its requests unlike those of others. */
static void
mark(const struct kernel_agent *a, uint8_t *mad)
{
	struct cursor c;

	if (kernel_is_response(mad))
		return;
	cursor_write(&c, mad + TID_OFFSET, 4);
	cursor_put_u32(&c, a->number);
}

/* What write() lets pass. */
static bool
may_send(const struct kernel_agent *a, const struct kernel_mad *m, bool rmpp)
{
	if (m->len < MAD_MIN || (a->reg.rmpp_version && !kernel_is_rmpp(m->data[1])))
		return false;
	if (m->grh && !kernel_has_gid(a->p, m->gid_index))
		return false;
	return rmpp ? m->len >= rmpp_data_offset(m->data[1]) : m->len <= MAD_SIZE;
}

int
kernel_send(struct kernel_agent *a, const struct kernel_mad *m)
{
	struct model_mad out;
	bool active = m->len >= MAD_MIN && kernel_is_rmpp(m->data[1]) && rmpp_is_active(m->data);

	if (!may_send(a, m, active && a->rmpp))
		return EINVAL;
	memcpy(out.mad, m->data, m->len < MAD_SIZE ? m->len : MAD_SIZE);
	if (m->len < MAD_SIZE)
		memset(out.mad + m->len, 0, MAD_SIZE - m->len);
	if (a->sent.len >= SENT_MAX ||
	    (active && a->rmpp && a->out_bytes && a->out_bytes + m->len > LONG_BYTES_MAX))
		return ENOMEM;
	mark(a, out.mad);
	if ((!active || a->rmpp) && kernel_sent_twice(a, m, out.mad))
		return EINVAL;
	if (active && a->rmpp) {
		kernel_rmpp_send(a, m, out.mad);
		return 0;
	}
	if (a->rmpp)
		memset(out.mad + MAD_HEADER_SIZE, 0, RMPP_HEADER_SIZE);
	if (m->timeout_ms)
		kernel_sent_add(a, m, out.mad);
	address(&out, a, m);
	model_send(a->p->client, &out);
	return 0;
}

/* ---- Ports ---- */

static struct kernel_port *
port_get(struct kernel *k, uint32_t node, unsigned port)
{
	uint64_t place = (uint64_t)node << 8 | (port & 0xff);
	uint32_t slot = map_get(&k->by_place, place);
	struct model_client_events ev = { .receive = on_receive, .changed = on_changed };
	struct kernel_port *p;

	if (slot != MAP_NONE)
		return port < 256 ? k->ports[slot] : NULL;
	ev.arg = p = mem_zalloc(sizeof(*p));
	p->client = model_attach(k->m, node, port, &ev);
	if (!p->client) {
		mem_free(p);
		return NULL;
	}
	p->k = k;
	p->node = node;
	p->port = (uint8_t)port;
	list_init(&p->classes);
	list_init(&p->watches);
	k->ports = mem_realloc(k->ports, k->nports + 1u, sizeof(struct kernel_port *));
	map_set(&k->by_place, place, k->nports);
	k->ports[k->nports++] = p;
	return p;
}

int
kernel_issm(struct kernel *k, uint32_t node, unsigned port, bool on)
{
	struct kernel_port *p = port_get(k, node, port);

	if (!p)
		return ENODEV;
	if (on && p->issm)
		return EBUSY;
	if (on != p->issm)
		model_set_issm(p->client, on);
	p->issm = on;
	return 0;
}

struct kernel_watch *
kernel_watch(struct kernel *k, uint32_t node, unsigned port, void (*fn)(void *arg), void *arg)
{
	struct kernel_port *p = port_get(k, node, port);
	struct kernel_watch *w;

	if (!p)
		return NULL;
	w = mem_zalloc(sizeof(*w));
	w->p = p;
	w->fn = fn;
	w->arg = arg;
	list_append(&p->watches, &w->link);
	return w;
}

void
kernel_unwatch(struct kernel_watch *w)
{
	if (!w)
		return;
	if (w->p->walk == &w->link)
		w->p->walk = w->link.next;
	list_remove(&w->link);
	mem_free(w);
}

/* ---- Agents ---- */

static void
agent_list(struct kernel *k, struct kernel_agent *a)
{
	k->agents = mem_realloc(k->agents, k->nagents + 1u, sizeof(struct kernel_agent *));
	a->slot = k->nagents++;
	k->agents[a->slot] = a;
	map_set(&k->by_number, a->number, a->slot);
}

static void
agent_unlist(struct kernel *k, struct kernel_agent *a)
{
	struct kernel_agent *last = k->agents[--k->nagents];

	map_remove(&k->by_number, a->number);
	if (last == a)
		return;
	last->slot = a->slot;
	k->agents[last->slot] = last;
	map_set(&k->by_number, last->number, last->slot);
}

int
kernel_register(struct kernel_agent **agent, struct kernel *k, uint32_t node, unsigned port,
		const struct kernel_registration *r, const struct kernel_events *ev)
{
	int rc = kernel_reg_check(r);
	struct kernel_port *p = rc ? NULL : port_get(k, node, port);
	struct kernel_agent *a;

	*agent = NULL;
	if (!p)
		return rc ? rc : ENODEV;
	a = mem_zalloc(sizeof(*a));
	a->p = p;
	a->reg = *r;
	a->ev = *ev;
	a->rmpp = r->rmpp_version && !r->user_rmpp;
	rc = kernel_reg_add(a);
	if (rc) {
		mem_free(a);
		return rc;
	}
	a->number = ++k->number ? k->number : ++k->number;
	agent_list(k, a);
	*agent = a;
	return 0;
}

void
kernel_unregister(struct kernel_agent *a)
{
	if (!a)
		return;
	kernel_reg_remove(a);
	kernel_sent_end_all(a);
	kernel_rmpp_end_all(a);
	agent_unlist(a->p->k, a);
	mem_free(a);
}

struct kernel *
kernel_new(struct model *m)
{
	struct kernel *k = mem_zalloc(sizeof(*k));

	k->m = m;
	k->loop = model_loop(m);
	return k;
}

static void
port_free(struct kernel_port *p)
{
	model_detach(p->client);
	while (!list_empty(&p->watches))
		kernel_unwatch(list_entry(p->watches.next, struct kernel_watch, link));
	mem_free(p);
}

void
kernel_free(struct kernel *k)
{
	if (!k)
		return;
	while (k->nagents)
		kernel_unregister(k->agents[k->nagents - 1]);
	for (uint32_t i = 0; i < k->nports; i++)
		port_free(k->ports[i]);
	kernel_sent_free(k);
	map_free(&k->by_place);
	map_free(&k->by_number);
	mem_free(k->ports);
	mem_free(k->agents);
	mem_free(k);
}

uint64_t
kernel_dropped(const struct kernel *k)
{
	return k->dropped;
}
