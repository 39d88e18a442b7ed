/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include "sim/model/model.h"
#include "sim/model/model_impl.h"

/*
 * MADs under way in the simulated fabric, and the clients that send and get them.
 *
 * Whatever takes time is a struct flight in one heap, ordered by time and then by age, under one
 * loop timer. A MAD's way is walked when it is sent, so it sees the links and tables of that
 * moment (way.c); the node at its end acts when the flight lands, and its answer walks back then.
 *
 * What takes no time, in an instant model, queues up instead. The queue has turns: what is sent
 * lands in the loop's next one, all in order, along with the answers that devices give; what
 * clients send on that occasion waits for the turn after it, so that nobody starves the loop.
 */
#define CHUNK 64	/* flights allocated at a time */
#define SMA_QUEUE 16384	/* requests that wait for an SMA that is not slow */

struct due {
	monotime at;		/* when it lands */
	uint64_t seq;		/* order of those at one instant */
	struct flight *f;	/* what lands */
};

/* ---- What is under way ---- */

static void
more_flights(struct model *m)
{
	struct flight *f = region_array(m->region, CHUNK, sizeof(*f));

	for (unsigned i = 0; i < CHUNK; i++)
		flight_end(m, &f[i]);
}

struct flight *
flight_new(struct model *m, enum flight_kind kind, uint32_t node, unsigned port)
{
	struct flight *f;

	if (!m->spare)
		more_flights(m);
	f = m->spare;
	m->spare = f->next;
	f->kind = (uint8_t)kind;
	f->node = node;
	f->port = (uint8_t)port;
	f->gmp = false;
	f->mad.path_bits = 0;
	f->mad.has_grh = false;
	return f;
}

void
flight_end(struct model *m, struct flight *f)
{
	f->next = m->spare;
	m->spare = f;
}

static bool
before(const struct due *a, const struct due *b)
{
	return a->at != b->at ? a->at < b->at : a->seq < b->seq;
}

static void
heap_push(struct model *m, struct due d)
{
	size_t i = m->nheap++;

	if (m->nheap > m->heap_size) {
		m->heap_size = m->heap_size ? m->heap_size * 2 : 64;
		m->heap = mem_realloc(m->heap, m->heap_size, sizeof(*m->heap));
	}
	for (; i && before(&d, &m->heap[(i - 1) / 2]); i = (i - 1) / 2)
		m->heap[i] = m->heap[(i - 1) / 2];
	m->heap[i] = d;
}

static struct flight *
heap_pop(struct model *m)
{
	struct due top = m->heap[0], last = m->heap[--m->nheap];
	size_t i = 0, child;

	while ((child = 2 * i + 1) < m->nheap) {
		if (child + 1 < m->nheap && before(&m->heap[child + 1], &m->heap[child]))
			child++;
		if (!before(&m->heap[child], &last))
			break;
		m->heap[i] = m->heap[child];
		i = child;
	}
	m->heap[i] = last;
	return top.f;
}

static void
arm(struct model *m)
{
	if (m->nheap && !m->in_timer)
		loop_timer_set(m->timer, m->heap[0].at - loop_now(m->loop));
}

static void
queue_push(struct model *m, struct flight *f)
{
	f->turn = m->in_turn ? m->turn : m->turn + 1;
	f->next = NULL;
	*m->last = f;
	if (m->last == &m->first && !m->in_turn)
		loop_timer_set(m->turn_timer, 0);
	m->last = &f->next;
}

static struct flight *
queue_pop(struct model *m)
{
	struct flight *f = m->first;

	m->first = f->next;
	if (!m->first)
		m->last = &m->first;
	return f;
}

void
flight_start(struct model *m, struct flight *f, monotime delay)
{
	struct due d = { .seq = m->seq, .f = f };

	if (m->o.instant && delay <= 0) {
		queue_push(m, f);
		return;
	}
	m->seq++;
	d.at = loop_now(m->loop) + delay;
	heap_push(m, d);
	if (m->heap[0].f == f)
		arm(m);
}

/* And count it. */
static void
lose(struct model *m, struct flight *f)
{
	m->lost++;
	flight_end(m, f);
}

/* ---- Setting out ---- */

static bool
dropped(struct model *m, uint32_t node)
{
	uint32_t ppm = m->nodes[node].drop_ppm;

	if (m->nodes[node].off)
		return true;
	return ppm && rng_below(&m->rng, 1000000) < ppm;
}

static void
land_at(struct model *m, struct flight *f, const struct place *at, monotime wait)
{
	f->node = at->node;
	f->port = (uint8_t)at->port;
	wait += at->delay;
	flight_start(m, f, m->o.instant ? wait : wait + at->hops * m->o.hop_time);
}

/* It got lost on a faulty link on its way. */
static bool
link_lost(struct model *m, const struct place *at)
{
	return at->loss > 0 && rng_below(&m->rng, 1000000) < at->loss * 1e6;
}

static bool
find_way(struct model *m, struct flight *f, struct place *at)
{
	struct packet k = {
		.slid = f->slid, .dlid = f->dlid, .sl = f->mad.sl, .data = f->gmp, .counts = m,
		.pkey = f->gmp ? f->pkey : 0,
	};

	if (!f->gmp && f->smp.h.mgmt_class == MAD_CLASS_SUBN_DIRECT)
		return way_directed(m, &f->smp, f->dlid, at, &f->slid) && !link_lost(m, at);
	return way_by_lid(m, &k, at) >= 0 && !link_lost(m, at);
}

struct copies {
	struct model *m;	/* the fabric */
	const struct flight *f;	/* what is copied */
	struct place first;	/* where the first of them ends */
	unsigned n;		/* made */
};

static void
copy_to(void *arg, const struct place *end)
{
	struct copies *c = arg;
	struct flight *f;

	if (dropped(c->m, end->node) || link_lost(c->m, end))
		return;
	f = flight_new(c->m, FLIGHT_ARRIVE, end->node, end->port);
	f->gmp = true;
	f->slid = c->f->slid;
	f->dlid = c->f->dlid;
	f->pkey = c->f->pkey;
	f->mad = c->f->mad;
	land_at(c->m, f, end, 0);
	if (!c->n++)
		c->first = *end;
}

/* A copy for each port that the multicast LID leads to; false: for none. */
static bool
multiply(struct model *m, struct flight *f, struct place *at)
{
	struct packet k = {
		.slid = f->slid, .dlid = f->dlid, .sl = f->mad.sl, .data = true, .counts = m,
		.pkey = f->pkey,
	};
	struct copies c = { .m = m, .f = f, .first = *at };

	way_by_mlid(m, &k, at, copy_to, &c);
	*at = c.first;
	return c.n > 0;
}

static bool
is_multicast(const struct flight *f)
{
	return f->gmp && f->dlid >= MLID_MIN && f->dlid != LID_PERMISSIVE;
}

/* Is there a way? The flight lands at its end, or copies of it do. */
static bool
launch(struct model *m, struct flight *f, struct place *at, monotime wait)
{
	uint32_t node = at->node;

	if (dropped(m, node) || (f->gmp && !(f->pkey & 0x7fff)))
		return false;
	if (is_multicast(f)) {
		if (!multiply(m, f, at))
			return false;
		flight_end(m, f);
		return true;
	}
	if (!find_way(m, f, at) || (at->node != node && dropped(m, at->node)))
		return false;
	land_at(m, f, at, wait);
	return true;
}

/* What a LID or path bits have beyond the port's base LID. */
static uint8_t
path_bits(const struct portinfo *i, unsigned bits)
{
	return (uint8_t)(bits & ((1u << i->lmc) - 1));
}

/* From an end port, whose LID it bears: all but the addresses is in the flight. */
static void
set_out(struct model *m, struct flight *f, uint32_t node, unsigned port, uint16_t dlid,
	monotime wait)
{
	const struct place from = { .node = node, .port = port };
	const struct portinfo *i = &m->nodes[node].ports[port].info;
	struct place at = from;
	uint8_t wire[MAD_SIZE];
	bool lost;

	if (m->tap)
		watch_wire(f, wire);
	f->slid = i->lid + path_bits(i, f->mad.path_bits);
	f->dlid = dlid;
	lost = !launch(m, f, &at, wait);
	if (m->tap)
		watch_passage(m, f, wire, &from, &at, lost);
	if (lost)
		lose(m, f);
}

/* The P_Key at an index of a port's table; 0, which is invalid, beyond its end. */
static uint16_t
key_at(const struct model *m, uint32_t node, unsigned port, unsigned index)
{
	return index < model_pkeys(m, node, port) ? model_pkey(m, node, port, index) : 0;
}

/* What no port lets out. */
static void
send_malformed(struct model_client *c, struct flight *f, const struct model_mad *mad)
{
	const struct place at = { .node = c->node, .port = c->port };

	if (c->m->tap)
		watch_passage(c->m, f, mad->mad, &at, &at, true);
	lose(c->m, f);
}

void
model_send(struct model_client *c, const struct model_mad *mad)
{
	struct model *m = c->m;
	struct flight *f = flight_new(m, FLIGHT_ARRIVE, c->node, c->port);

	m->sent++;
	f->gmp = mad->qp != 0;
	f->dlid = mad->lid;
	if (f->gmp) {
		f->mad = *mad;
		f->pkey = key_at(m, c->node, c->port, mad->pkey_index);
	} else if (smp_decode(&f->smp, mad->mad, MAD_SIZE) < 0) {
		send_malformed(c, f, mad);
		return;
	}
	f->mad.path_bits = mad->path_bits;
	set_out(m, f, c->node, c->port, mad->lid, 0);
}

void
flight_send_smp(struct model *m, struct flight *f, uint32_t node, unsigned port, uint16_t lid)
{
	set_out(m, f, node, port, lid, 0);
}

/* ---- Landing ---- */

static void
deliver(struct model *m, struct flight *f)
{
	struct model_client *c = end_port(&m->nodes[f->node], f->port)->client;
	bool in_turn = m->in_turn;

	if (m->nodes[f->node].off || !c || !c->ev.receive) {
		lose(m, f);
		return;
	}
	if (!f->gmp) {
		smp_encode(&f->smp, f->mad.mad);
		f->mad.qp = 0;
		f->mad.sl = 0;
		f->mad.pkey_index = 0;
	}
	f->mad.lid = f->slid;
	f->mad.path_bits = f->dlid == LID_PERMISSIVE || is_multicast(f) ? 0 :
		path_bits(&end_port(&m->nodes[f->node], f->port)->info, f->dlid);
	m->in_turn = false;
	c->ev.receive(c->ev.arg, &f->mad);
	m->in_turn = in_turn;
	flight_end(m, f);
}

static void
swap_gids(struct model_grh *g)
{
	const struct model_grh came = *g;

	memcpy(g->sgid, came.dgid, sizeof(g->sgid));
	memcpy(g->dgid, came.sgid, sizeof(g->dgid));
}

/* The flight turns round and carries the answer. */
static void
turn_round(struct model *m, struct flight *f, monotime wait)
{
	f->kind = f->gmp ? FLIGHT_ARRIVE : FLIGHT_DELIVER;
	f->mad.path_bits = 0;
	if (f->gmp && f->mad.has_grh)
		swap_gids(&f->mad.grh);
	set_out(m, f, f->node, end_number(&m->nodes[f->node], f->port), f->slid, wait);
}

/* An SMA does one request after the other: how long until it has done one more. It is busy until it
 * has done all that wait, so the length of its queue is a time. False: the queue is full. */
static bool
sma_takes(struct model *m, struct sim_node *n, monotime *wait)
{
	monotime each = n->slow ? n->slow : m->o.instant ? 0 : m->o.sma_time, now, start;

	if (!each)
		return true;
	now = loop_now(m->loop);
	start = n->busy_until > now ? n->busy_until : now;
	if (start - now > each * (n->slow ? n->slow_queue : SMA_QUEUE))
		return false;
	n->busy_until = start + each;
	*wait = n->busy_until - now;
	return true;
}

static void
send_answer(struct model *m, struct flight *f, monotime wait)
{
	wait += m->nodes[f->node].delay;
	f->smp.direction = f->smp.h.mgmt_class == MAD_CLASS_SUBN_DIRECT;
	turn_round(m, f, wait);
}

static void
count(struct model *m, struct sim_node *n, const struct mad_header *h)
{
	if (h->attr_id >= ATTRS)
		return;
	m->counts[h->attr_id][model_method(h->method)]++;
	n->counts[h->attr_id][model_method(h->method)]++;
}

static bool
is_mute(const struct sim_node *n, uint16_t attr_id)
{
	if (n->silence != MODEL_ANSWERS || n->off)
		return true;
	for (unsigned i = 0; i < MUTES; i++)
		if (n->mute[i] && n->mute[i] == attr_id)
			return true;
	return false;
}

/* MADs that a subnet manager on the node answers, not the SMA. */
static bool
is_for_client(const struct smp *s)
{
	return s->h.method & MAD_RESPONSE || s->h.attr_id == ATTR_SM_INFO ||
		(s->h.method != MAD_GET && s->h.method != MAD_SET);
}

/* The receiver learns the index of its own P_Key (IBA volume 1, 10.9.2); without one, nothing. */
static bool
takes_key(struct model *m, struct flight *f)
{
	unsigned port = end_number(&m->nodes[f->node], f->port);
	int index = sma_pkey_index(&m->nodes[f->node], port, f->pkey);
	struct trap_packet p = {
		.key = f->pkey, .src_qp = 1, .dst_qp = 1, .slid = f->slid, .dlid = f->dlid,
		.sl = f->mad.sl,
	};

	if (index < 0) {
		trap_bad_pkey(m, f->node, port, &p);
		return false;
	}
	f->mad.pkey_index = (uint16_t)index;
	f->pkey = model_pkey(m, f->node, port, (unsigned)index);
	return true;
}

/* A request of congestion control: counted, and answered but for faults. */
static bool
answer_congestion(struct model *m, struct flight *f)
{
	struct sim_node *n = &m->nodes[f->node];
	struct mad_header h;

	if (mad_header_decode(&h, f->mad.mad, MAD_SIZE) < 0)
		return false;
	if (h.attr_id < CC_ATTRS) {
		m->cc_counts[h.attr_id][model_method(h.method)]++;
		n->cc_counts[h.attr_id][model_method(h.method)]++;
	}
	return !is_mute(n, (uint16_t)MODEL_CC(h.attr_id)) &&
		cca_answer(m, f->node, f->port, f->mad.mad);
}

/* GMPs that a device answers itself, whoever is attached: performance management, and congestion
 * control if it knows that. */
static bool
answer_gmp(struct model *m, struct flight *f)
{
	struct sim_node *n = &m->nodes[f->node];
	bool congestion = f->mad.mad[1] == MAD_CLASS_CONGESTION && cca_is_there(n);

	if ((f->mad.mad[1] != MAD_CLASS_PERF && !congestion) || f->mad.mad[3] & MAD_RESPONSE ||
	    is_multicast(f))
		return false;
	if (congestion ? answer_congestion(m, f) :
	    n->silence == MODEL_ANSWERS && pma_answer(m, f->node, f->mad.mad))
		turn_round(m, f, n->delay);
	else
		lose(m, f);
	return true;
}

static void
arrive_gmp(struct model *m, struct flight *f)
{
	if (!takes_key(m, f))
		lose(m, f);
	else if (!answer_gmp(m, f))
		deliver(m, f);
}

static void
arrive(struct model *m, struct flight *f)
{
	struct sim_node *n = &m->nodes[f->node];
	monotime wait = 0;

	if (f->gmp) {
		arrive_gmp(m, f);
		return;
	}
	if (!(f->smp.h.method & MAD_RESPONSE)) {
		count(m, n, &f->smp.h);
		if (is_mute(n, f->smp.h.attr_id)) {
			lose(m, f);
			return;
		}
	}
	if (f->smp.h.method == MAD_TRAP_REPRESS &&
	    trap_repressed(m, f->node, f->port, f->slid, &f->smp))
		flight_end(m, f);
	else if (is_for_client(&f->smp))
		deliver(m, f);
	else if (sma_takes(m, n, &wait) &&
		 sma_answer(m, f->node, f->port, f->slid, &f->smp))
		send_answer(m, f, wait);
	else
		lose(m, f);
}

void
flight_changed(struct model *m, uint32_t node, unsigned port)
{
	struct model_client *c = m->nodes[node].ports[port].client;
	bool in_turn = m->in_turn;

	m->in_turn = false;
	if (c && c->ev.changed)
		c->ev.changed(c->ev.arg);
	m->in_turn = in_turn;
}

static void
land(struct model *m, struct flight *f)
{
	switch ((enum flight_kind)f->kind) {
	case FLIGHT_ARRIVE:
		arrive(m, f);
		break;
	case FLIGHT_DELIVER:
		deliver(m, f);
		break;
	case FLIGHT_TRAP:
		trap_due(m, f);
		break;
	case FLIGHT_TRAIN:
		model_link_trained(m, f->node, f->port);
		flight_end(m, f);
		break;
	case FLIGHT_FLAP:
		fault_flap_ends(m, f);
		flight_end(m, f);
		break;
	case FLIGHT_SET_DOWN:
		model_port_set_down(m, f->node, f->port, f->tid);
		flight_end(m, f);
		break;
	case FLIGHT_CHANGED:
		flight_changed(m, f->node, f->port);
		flight_end(m, f);
		break;
	}
}

void
flight_timer(void *arg)
{
	struct model *m = arg;
	monotime now = loop_now(m->loop);

	m->in_timer = true;
	while (m->nheap && m->heap[0].at <= now)
		land(m, heap_pop(m));
	m->in_timer = false;
	arm(m);
}

void
flight_turn(void *arg)
{
	struct model *m = arg;

	m->turn++;
	m->in_turn = true;
	while (m->first && m->first->turn <= m->turn)
		land(m, queue_pop(m));
	m->in_turn = false;
	if (m->first)
		loop_timer_set(m->turn_timer, 0);
}

/* ---- Clients ---- */

struct model_client *
model_attach(struct model *m, uint32_t node, unsigned port, const struct model_client_events *ev)
{
	struct model_client *c;

	if (!model_has_port(m, node, port) ||
	    !is_end_port(&m->nodes[node], port) || m->nodes[node].ports[port].client)
		return NULL;
	c = mem_zalloc(sizeof(*c));
	c->m = m;
	c->ev = *ev;
	c->node = node;
	c->port = (uint8_t)port;
	m->nodes[node].ports[port].client = c;
	return c;
}

void
model_detach(struct model_client *c)
{
	model_set_issm(c, false);
	c->m->nodes[c->node].ports[c->port].client = NULL;
	mem_free(c);
}

void
model_set_issm(struct model_client *c, bool on)
{
	struct portinfo *i = &c->m->nodes[c->node].ports[c->port].info;
	uint32_t mask = on ? i->cap_mask | CAP_IS_SM : i->cap_mask & ~(uint32_t)CAP_IS_SM;

	if (mask == i->cap_mask)
		return;
	i->cap_mask = mask;
	trap_144(c->m, c->node, c->port, 0);
	flight_start(c->m, flight_new(c->m, FLIGHT_CHANGED, c->node, c->port), 0);
}
