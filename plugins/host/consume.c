/* SPDX-License-Identifier: BSD-2-Clause */
#include "plugins/host/host.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "plugins/channel.h"

/*
 * A consumer for as long as the daemon lives: messages in, calls of the plugin out. What has been
 * handled is counted in memory that the daemon sees, so that it need not be told one by one; a byte
 * goes to it when there is nothing left to do, or much was done.
 */
#define TELL_AFTER 16u			/* messages */

struct channel {
	struct host *h;
	void *state;			/* the plugin's */
	uint64_t *handled;		/* what the daemon sees */
	unsigned untold;		/* of them */
	_Alignas(8) char room[CHANNEL_MAX];	/* a message, with a NUL behind */
};

static void
tell(struct channel *c)
{
	if (send(LAYOUT_CHANNEL, "", 1, MSG_NOSIGNAL) < 0)
		host_leave();		/* the daemon is gone */
	c->untold = 0;
}

/* The next message; false: there will be none. */
static bool
receive(struct channel *c)
{
	ssize_t n = recv(LAYOUT_CHANNEL, c->room, sizeof(c->room) - 1, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		if (c->untold)
			tell(c);
		do {
			n = recv(LAYOUT_CHANNEL, c->room, sizeof(c->room) - 1, 0);
		} while (n < 0 && errno == EINTR);
	}
	return n >= (ssize_t)sizeof(struct channel_message);
}

static int
hand_over(struct channel *c)
{
	const struct channel_message *m = (const void *)c->room;
	const struct weft_consumer *to = &c->h->consumer;
	const char *names[CHANNEL_FIGURES];
	struct weft_event ev = {
		.size = sizeof(ev), .level = m->level, .sequence = m->sequence,
		.time_us = m->time_us, .type = c->room + m->type, .subnet = c->room + m->subnet,
		.text = c->room + m->text, .json = c->room + m->json, .guid = m->guid,
		.peer_guid = m->peer_guid, .lid = m->lid, .port = m->port,
		.peer_port = m->peer_port, .nfigures = m->nfigures, .figure_name = names,
		.figure = m->figure,
	};

	for (uint32_t i = 0; i < m->nfigures; i++)
		names[i] = c->room + m->figure_name[i];
	call_begin(c->h);
	if (m->kind == CHANNEL_LOST)
		return to->lost ? to->lost(&c->h->table, c->state, m->count) : WEFT_OK;
	return to->event(&c->h->table, c->state, &ev);
}

void
consume(struct host *h)
{
	static struct channel c;
	int rc;

	c.h = h;
	c.handled = &((struct channel_output *)(void *)h->out)->handled;
	host_stage(h, LAYOUT_OPENS);
	call_begin(h);
	if (h->consumer.open && h->consumer.open(&h->table, &c.state) != WEFT_OK) {
		h->out->refused = 1;
		host_leave();
	}
	host_stage(h, LAYOUT_HANDLES);
	tell(&c);
	while (receive(&c)) {
		rc = hand_over(&c);
		if (rc != WEFT_OK)
			host_fail("its function for events returned %d%s%s", rc,
				  h->out->why[0] ? ": " : "", h->out->why);
		__atomic_add_fetch(c.handled, 1, __ATOMIC_RELEASE);
		if (++c.untold >= TELL_AFTER)
			tell(&c);
	}
	host_stage(h, LAYOUT_CLOSES);
	call_begin(h);
	if (h->consumer.close)
		h->consumer.close(&h->table, c.state);
}
