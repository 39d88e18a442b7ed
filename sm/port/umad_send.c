/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Long messages leave by a thread.
 *
 * A whole table may be tens of megabytes in one write, which the kernel copies, cut into as many
 * segments as it has MADs, before it returns (weftsim's takes longer still). Until then the loop
 * would serve nobody. So whatever is longer than a MAD is put into a queue, from which a thread
 * writes one message after the other; what is short passes it, on the loop. Both use one agent:
 * a receiver's acknowledgements come to the one that is registered for its requests.
 *
 * A message belongs to the queue from umad_sender_put() on. What fails is kept, without its data,
 * until the loop asks for it.
 */
#include "sm/port/umad_send.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <infiniband/umad.h>
#include "sm/base/list.h"
#include "sm/base/mem.h"

struct outgoing {
	struct list link;		/* in waiting, or in failed */
	struct port_mad m;		/* how to send it */
	void *data;			/* all of it; NULL once it has failed */
	int agent;			/* by which */
	int err;			/* errno of its failure */
};

struct umad_sender {
	int fd;				/* borrowed */
	loop_fn told;			/* on the thread: something failed */
	void *arg;			/* with what */
	pthread_t thread;		/* valid if `runs`; the loop's */
	bool runs;			/* it was started; the loop's */
	pthread_mutex_t lock;		/* of all below */
	pthread_cond_t more;		/* waiting has grown, or quit was set */
	struct list waiting;		/* to be sent, in order */
	struct list failed;		/* could not be sent */
	size_t backlog;			/* bytes of waiting, and of what is being sent */
	bool quit;			/* the thread shall end */
};

static void
put_address(void *umad, const struct port_mad *m)
{
	ib_mad_addr_t *addr = umad_get_mad_addr(umad);
	int qp = m->qp == 0 ? 0 : m->remote_qp ? (int)m->remote_qp : 1;

	umad_set_addr(umad, m->lid, qp, m->sl, m->qp ? (int)PORT_Q_KEY : 0);
	umad_set_pkey(umad, m->pkey_index);
	addr->path_bits = m->path_bits;
	addr->grh_present = m->has_grh;
	if (!m->has_grh)
		return;
	memcpy(addr->gid, m->grh.gid, sizeof(addr->gid));
	addr->flow_label = htonl(m->grh.flow_label);
	addr->gid_index = m->grh.gid_index;
	addr->hop_limit = m->grh.hop_limit;
	addr->traffic_class = m->grh.traffic_class;
}

int
umad_send_now(int fd, int agent, void *room, const struct port_mad *m)
{
	uint32_t len = port_mad_len(m);

	memset(room, 0, sizeof(struct ib_user_mad));
	memcpy(umad_get_mad(room), port_mad_bytes(m), len);
	put_address(room, m);
	return umad_send(fd, agent, room, (int)len, (int)m->timeout_ms, m->retries) ? errno : 0;
}

/* ---- The thread ---- */

/* The next to send, or NULL when the thread shall end. */
static struct outgoing *
next_message(struct umad_sender *s)
{
	struct list *it = NULL;

	pthread_mutex_lock(&s->lock);
	while (!s->quit && !(it = list_pop(&s->waiting)))
		pthread_cond_wait(&s->more, &s->lock);
	pthread_mutex_unlock(&s->lock);
	return it ? list_entry(it, struct outgoing, link) : NULL;
}

static void
outgoing_free(struct outgoing *o)
{
	mem_free(o->data);
	mem_free(o);
}

static void
send_one(struct umad_sender *s, struct outgoing *o)
{
	void *room = mem_alloc(sizeof(struct ib_user_mad) + o->m.len);

	o->err = umad_send_now(s->fd, o->agent, room, &o->m);
	mem_free(room);
	mem_free(o->data);
	o->data = NULL;
	o->m.data = NULL;
	pthread_mutex_lock(&s->lock);
	s->backlog -= o->m.len;
	if (o->err)
		list_append(&s->failed, &o->link);
	pthread_mutex_unlock(&s->lock);
	if (o->err)
		s->told(s->arg);
	else
		outgoing_free(o);
}

static void *
sender_main(void *arg)
{
	struct umad_sender *s = arg;
	struct outgoing *o;

	while ((o = next_message(s)))
		send_one(s, o);
	return NULL;
}

/* Signals are for the loop's thread. */
static bool
start(struct umad_sender *s)
{
	sigset_t all, old;

	if (s->runs)
		return true;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	s->runs = pthread_create(&s->thread, NULL, sender_main, s) == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (s->runs)
		pthread_setname_np(s->thread, "weft-send");
	return s->runs;
}

/* ---- The loop's end ---- */

struct umad_sender *
umad_sender_new(int fd, loop_fn told, void *arg)
{
	struct umad_sender *s = mem_zalloc(sizeof(*s));

	s->fd = fd;
	s->told = told;
	s->arg = arg;
	list_init(&s->waiting);
	list_init(&s->failed);
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->more, NULL);
	return s;
}

void
umad_sender_free(struct umad_sender *s)
{
	struct list *it;

	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->quit = true;
	pthread_cond_signal(&s->more);
	pthread_mutex_unlock(&s->lock);
	if (s->runs)
		pthread_join(s->thread, NULL);
	while ((it = list_pop(&s->waiting)) || (it = list_pop(&s->failed)))
		outgoing_free(list_entry(it, struct outgoing, link));
	pthread_cond_destroy(&s->more);
	pthread_mutex_destroy(&s->lock);
	mem_free(s);
}

/* True: there is room for so many bytes more, and they are counted. */
static bool
reserve(struct umad_sender *s, size_t len)
{
	bool fits;

	pthread_mutex_lock(&s->lock);
	fits = !s->backlog || s->backlog + len <= UMAD_SENDER_MAX;
	if (fits)
		s->backlog += len;
	pthread_mutex_unlock(&s->lock);
	return fits;
}

static void *
take_data(const struct port_mad *m)
{
	void *data;

	if (m->holder && *m->holder == m->data) {
		data = *m->holder;
		*m->holder = NULL;
		return data;
	}
	data = mem_alloc(m->len);
	memcpy(data, m->data, m->len);
	return data;
}

int
umad_sender_put(struct umad_sender *s, int agent, const struct port_mad *m)
{
	struct outgoing *o;

	if (!start(s) || !reserve(s, m->len))
		return ERR_BUSY;
	o = mem_zalloc(sizeof(*o));
	list_init(&o->link);
	o->agent = agent;
	o->m = *m;
	memcpy(o->m.mad, m->data, MAD_SIZE);
	o->data = take_data(m);
	o->m.data = o->data;
	o->m.holder = NULL;
	pthread_mutex_lock(&s->lock);
	list_append(&s->waiting, &o->link);
	pthread_cond_signal(&s->more);
	pthread_mutex_unlock(&s->lock);
	return 0;
}

bool
umad_sender_any_failed(struct umad_sender *s)
{
	bool any;

	pthread_mutex_lock(&s->lock);
	any = !list_empty(&s->failed);
	pthread_mutex_unlock(&s->lock);
	return any;
}

bool
umad_sender_failed(struct umad_sender *s, struct port_mad *m, int *err)
{
	struct outgoing *o;
	struct list *it;

	pthread_mutex_lock(&s->lock);
	it = list_pop(&s->failed);
	pthread_mutex_unlock(&s->lock);
	if (!it)
		return false;
	o = list_entry(it, struct outgoing, link);
	*m = o->m;
	*err = o->err;
	outgoing_free(o);
	return true;
}
