/* SPDX-License-Identifier: BSD-2-Clause */
#include "plugins/consumer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "plugins/channel.h"
#include "plugins/impl.h"
#include "sm/base/buf.h"
#include "sm/base/list.h"

/*
 * The queue of a consumer is the ring of events itself: it has a place in it, and a bit for each
 * slot that tells whether it wants what is there. So an event costs a bit, however many wait; one
 * that the ring overwrites before it was sent is counted as lost, and told before the next.
 *
 * At most CHANNEL_WINDOW messages are under way. The process counts in shared memory what it has
 * handled: that tells a handler that takes too long from many that do not. When a process ends,
 * what was under way is sent to the next one, but for the event that it was at, which is lost: an
 * event that a consumer cannot bear must not end it for ever, and nor must to be told of losses.
 *
 * State x event:
 *	WAITING	 timer: start a process, OPENING
 *	OPENING	 byte: RUNNING; end, timer: failed, WAITING for longer than before
 *	RUNNING	 event, byte: send more; end, timer: failed, likewise
 *	CLOSING	 end, timer: gone; or WAITING for no time, if other code is to go on
 */
#define LOOKED_AT_ONCE 10000u		/* slots, before others have their turn */
#define LISTEN_AGAIN MSEC(20)		/* one that says much is not listened to all the time */
#define BACK_OFF SEC(1)			/* after the first failure */
#define BACK_OFF_MAX SEC(300)
#define OPEN_LEAST SEC(5)		/* for a process to load and open, whatever `time` is */
#define CLOSE_PATIENCE SEC(1)
#define SOUND_AFTER SEC(300)		/* without a failure: the next one is the first */

enum state {
	CONSUMER_WAITING,
	CONSUMER_OPENING,
	CONSUMER_RUNNING,
	CONSUMER_CLOSING,
};

struct consumers {
	struct loop *loop;
	struct event_ring *ring;
	struct event_sink *sink;
	unsigned slots;			/* of the ring */
	struct list list;		/* of struct consumer */
	bool ending;
};

struct consumer {
	struct list list;		/* in consumers.list */
	struct consumers *owner;
	const struct plugin_set *set;	/* a reference */
	const struct plugin_entry *x;	/* of the set */
	uint64_t types;			/* events that it wants, by bit */
	bool again;			/* it goes on with other code, when its process has ended */
	bool late;			/* it took too long, and is made to end */
	enum state state;
	int64_t since;			/* of `state` */
	struct child *child;		/* NULL: none */
	struct memory output;		/* of it, shared, */
	volatile struct channel_output *made;	/* and mapped */
	int channel;
	struct loop_fd *answers, *ended, *lines;
	struct loop_timer *timer;	/* to start, or until it takes too long */
	struct loop_timer *feed;	/* to send, at the next turn */
	struct loop_timer *listen;	/* to what it says for the log, again */
	uint64_t seen;			/* `handled`, when the timer was set */
	monotime back_off;		/* before the next start */
	monotime started;
	uint64_t *wanted;		/* by slot of the ring, bits */
	uint64_t next;			/* sequence of the first that was not sent */
	uint64_t window[CHANNEL_WINDOW];	/* sequences under way; 0: it tells of losses */
	uint64_t counts[CHANNEL_WINDOW];	/* of those */
	unsigned first, len;		/* of the window */
	uint64_t answered;		/* `handled`, as far as it is out of the window */
	unsigned due;			/* answers that it may give */
	uint64_t untold;		/* lost, and not told of yet */
	struct consumer_state figures;
	char told[320];			/* the failure that there was an event of; "" */
};

static void
set_state(struct consumer *c, enum state state)
{
	c->state = state;
	c->since = loop_wall(c->owner->loop);
}

static const char *
name_of(const struct consumer *c)
{
	return plugin_about(c->x->plugin)->name;
}

/* ---- What it wants ---- */

static bool
in_words(const char *const *words, const char *s)
{
	if (!words)
		return true;
	for (; *words; words++)
		if (strcmp(*words, s) == 0)
			return true;
	return false;
}

_Static_assert(EVENT_TYPES <= 64, "a type is a bit");

static uint64_t
types_of(const struct plugin_entry *x)
{
	const struct plugin_about *about = plugin_about(x->plugin);
	uint64_t types = 0;

	for (unsigned i = 0; i < EVENT_TYPES; i++) {
		const char *name = event_type_name((enum event_type)i);

		if (in_words(about->types, name) &&
		    in_words((const char *const *)x->conf->events, name))
			types |= UINT64_C(1) << i;
	}
	return types;
}

static bool
wants(const struct consumer *c, const struct event *ev)
{
	const struct config_plugin *conf = c->x->conf;

	return (c->types >> ev->type & 1) && ev->level <= conf->level &&
		(unsigned)ev->level <= plugin_about(c->x->plugin)->level &&
		(!ev->subnet[0] || in_words((const char *const *)conf->subnets, ev->subnet));
}

static bool
slot_wanted(const struct consumer *c, uint64_t sequence)
{
	uint64_t slot = sequence % c->owner->slots;

	return c->wanted[slot / 64] >> slot % 64 & 1;
}

static void
slot_set(struct consumer *c, uint64_t sequence, bool on)
{
	uint64_t slot = sequence % c->owner->slots, bit = UINT64_C(1) << slot % 64;

	if (on)
		c->wanted[slot / 64] |= bit;
	else
		c->wanted[slot / 64] &= ~bit;
}

static void
lose(struct consumer *c, uint64_t count)
{
	c->untold += count;
	c->figures.lost += count;
}

/* ---- Messages ---- */

static uint32_t
put_text(struct buf *b, const char *text)
{
	size_t at = b->len;

	buf_add(b, text, strlen(text) + 1);
	return (uint32_t)at;
}

static void
encode(struct buf *b, const struct event *ev)
{
	struct channel_message m = {
		.kind = CHANNEL_EVENT, .level = ev->level, .sequence = ev->sequence,
		.time_us = ev->wall, .guid = ev->guid, .peer_guid = ev->peer_guid, .lid = ev->lid,
		.port = ev->port, .peer_port = ev->peer_port,
	};
	struct buf text = { 0 };
	struct json j;

	buf_add(b, &m, sizeof(m));
	m.type = put_text(b, event_type_name(ev->type));
	m.subnet = put_text(b, ev->subnet);
	m.text = put_text(b, ev->text);
	jw_init(&j, &text);
	event_write(&j, NULL, ev);
	m.json = put_text(b, text.data);
	buf_free(&text);
	for (unsigned i = 0; i < EVENT_FIGURES; i++) {
		if (!(ev->has >> i & 1))
			continue;
		m.figure_name[m.nfigures] = put_text(b, event_figure_name((enum event_figure)i));
		m.figure[m.nfigures++] = ev->figure[i];
	}
	memcpy(b->data, &m, sizeof(m));
}

_Static_assert(EVENT_FIGURES <= CHANNEL_FIGURES, "a message has room for all figures");

/* False: there is no room just now. */
static bool
send_one(struct consumer *c, const struct event *ev)
{
	struct channel_message lost = { .kind = CHANNEL_LOST, .count = c->untold };
	unsigned at = (c->first + c->len) % CHANNEL_WINDOW;
	struct buf b = { 0 };
	ssize_t n;

	if (ev)
		encode(&b, ev);
	else
		buf_add(&b, &lost, sizeof(lost));
	n = send(c->channel, b.data, b.len, MSG_DONTWAIT | MSG_NOSIGNAL);
	buf_free(&b);
	if (n < 0)
		return false;
	c->window[at] = ev ? ev->sequence : 0;
	c->counts[at] = ev ? 1 : lost.count;
	c->len++;
	c->due++;
	return true;
}

/* ---- Time ---- */

static uint64_t
handled(const struct consumer *c)
{
	return __atomic_load_n(&c->made->handled, __ATOMIC_ACQUIRE);
}

/* To open takes what loading does. */
static monotime
limit_of(const struct consumer *c)
{
	const monotime time = c->x->conf->time;

	return c->state == CONSUMER_OPENING && time < OPEN_LEAST ? OPEN_LEAST : time;
}

/* From now on it has that long, if there is something that it is at. */
static void
watch(struct consumer *c)
{
	c->seen = handled(c);
	if (c->state == CONSUMER_OPENING || c->len)
		loop_timer_set(c->timer, limit_of(c));
	else
		loop_timer_cancel(c->timer);
}

/* ---- Send ---- */

static void
feed(void *arg)
{
	struct consumer *c = arg;
	const struct event_ring *ring = c->owner->ring;
	bool idle = !c->len;
	unsigned looked = 0;

	if (c->state != CONSUMER_RUNNING)
		return;
	while (c->len < CHANNEL_WINDOW && c->next <= event_last(ring)) {
		if (looked++ == LOOKED_AT_ONCE) {
			loop_timer_set(c->feed, 0);
			break;
		}
		const struct event *ev = slot_wanted(c, c->next) ? event_get(ring, c->next) : NULL;

		if (ev && c->untold) {
			if (!send_one(c, NULL))
				break;
			c->untold = 0;
			continue;
		}
		if (ev && !send_one(c, ev))
			break;
		c->next++;
	}
	if (idle && c->len)
		watch(c);
}

static void
on_event(void *arg, const struct event *ev)
{
	struct consumers *cs = arg;

	list_each(it, &cs->list) {
		struct consumer *c = list_entry(it, struct consumer, list);
		bool wanted = wants(c, ev);

		/* What was in its slot is no more. */
		if (ev->sequence >= cs->slots && c->next <= ev->sequence - cs->slots) {
			lose(c, slot_wanted(c, ev->sequence));
			c->next = ev->sequence - cs->slots + 1;
		}
		slot_set(c, ev->sequence, wanted);
		if (wanted && c->state == CONSUMER_RUNNING && !loop_timer_pending(c->feed))
			loop_timer_set(c->feed, 0);
	}
}

/* Out of the window goes what has been handled. */
static void
settle(struct consumer *c)
{
	uint64_t n = handled(c) - c->answered;

	n = n < c->len ? n : c->len;
	for (uint64_t i = 0; i < n; i++)
		c->figures.sent += c->window[(c->first + i) % CHANNEL_WINDOW] != 0;
	c->first = (unsigned)((c->first + n) % CHANNEL_WINDOW);
	c->len -= (unsigned)n;
	c->answered += n;
}

/* ---- Start and end ---- */

static void
tell(struct consumer *c, enum log_level level, const char *text)
{
	struct event ev = {
		.type = EVENT_PLUGIN, .level = level, .wall = loop_wall(c->owner->loop),
	};

	snprintf(ev.text, sizeof(ev.text), "plugin %s %.280s", name_of(c), text);
	event_ring_add(c->owner->ring, &ev);
}

/* What the process had is gone with it. */
static void
drop_process(struct consumer *c)
{
	loop_fd_free(c->answers);
	loop_fd_free(c->ended);
	loop_fd_free(c->lines);
	c->answers = c->ended = c->lines = NULL;
	if (c->child)
		child_free(c->child);
	c->child = NULL;
	if (c->channel >= 0)
		close(c->channel);
	c->channel = -1;
	memory_free(&c->output);
	c->made = NULL;
	c->late = false;
	loop_timer_cancel(c->timer);
	loop_timer_cancel(c->listen);
}

/* What was under way is to be sent again, but for the message that it was at. */
static void
take_back(struct consumer *c, bool failed)
{
	const uint64_t oldest = event_oldest(c->owner->ring);
	uint64_t next = 0;

	for (unsigned i = 0; i < c->len; i++) {
		unsigned at = (c->first + i) % CHANNEL_WINDOW;

		if (failed && !i && !c->window[at])
			continue;	/* that it cannot bear either */
		if (!c->window[at])
			c->untold += c->counts[at];
		else if ((failed && !i) || c->window[at] < oldest)
			lose(c, 1);
		else if (!next)
			next = c->window[at];
	}
	if (next)
		c->next = next;
	c->first = c->len = 0;
	c->answered = 0;
}

static void
free_one(struct consumer *c)
{
	drop_process(c);
	loop_timer_free(c->timer);
	loop_timer_free(c->feed);
	loop_timer_free(c->listen);
	plugin_set_unref(c->set);
	mem_free(c->wanted);
	list_remove(&c->list);
	mem_free(c);
}

static void
wait_for(struct consumer *c, monotime delay)
{
	set_state(c, CONSUMER_WAITING);
	loop_timer_set(c->timer, delay);
}

static void
fail(struct consumer *c, const char *why)
{
	const monotime took = loop_now(c->owner->loop) - c->started;
	const bool ran = c->state == CONSUMER_RUNNING;

	if (!c->back_off || (ran && took > SOUND_AFTER))
		c->back_off = BACK_OFF;
	else
		c->back_off = 2 * c->back_off < BACK_OFF_MAX ? 2 * c->back_off : BACK_OFF_MAX;
	snprintf(c->figures.why, sizeof(c->figures.why), "%s", why);
	c->figures.fails = true;
	drop_process(c);
	take_back(c, true);
	plugin_count(c->x->plugin, ran ? -1 : took / 1000, why);
	wait_for(c, c->back_off);
	if (strcmp(c->told, why) != 0) {
		snprintf(c->told, sizeof(c->told), "%s", why);
		tell(c, LOG_L_WARNING, why);
	}
}

/* "was ended by SIGSEGV while it handled event 17 (link-down)" */
static void
doing_text(const struct consumer *c, char *text, size_t size)
{
	uint64_t sequence = c->len ? c->window[c->first] : 0;
	const struct event *ev = sequence ? event_get(c->owner->ring, sequence) : NULL;

	if (c->state == CONSUMER_OPENING)
		snprintf(text, size, "%s", c->made->head.stage == LAYOUT_OPENS ? "was opened" :
			 "was being loaded");
	else if (sequence)
		snprintf(text, size, "handled event %llu%s%s", (unsigned long long)sequence,
			 ev ? ", " : "", ev ? event_type_name(ev->type) : "");
	else
		snprintf(text, size, "%s", c->len ? "was told of lost events" :
			 "had nothing to do");
}

static void
failed(struct consumer *c)
{
	char doing[96], time[DURATION_TEXT_SIZE], said[LAYOUT_TEXT];
	struct error e = { 0 };

	settle(c);
	doing_text(c, doing, sizeof(doing));
	text_take(said, sizeof(said), (const char *)(uintptr_t)c->made->head.why,
		  sizeof(c->made->head.why));
	if (c->late)
		error_set(&e, ERR_TIMEOUT, "took longer than %s while it %s",
			  duration_text(time, limit_of(c)), doing);
	else if (!child_verdict(c->child, doing, &e) && c->made->head.refused)
		error_set(&e, ERR_REFUSED, "%s%s", said[0] ? "refused to open: " :
			  "refused to open and did not say why", said);
	else if (!e.code)
		error_set(&e, ERR_REFUSED, "ended by itself while it %s", doing);
	fail(c, e.text);
}

/* It was asked to end, and has, or is made to. */
static void
gone(struct consumer *c)
{
	if (c->child)
		settle(c);
	drop_process(c);
	take_back(c, false);
	if (c->again) {
		c->again = false;
		c->back_off = 0;
		c->figures.fails = false;
		wait_for(c, 0);
	} else {
		free_one(c);
	}
}

static void
on_ended(void *arg, int fd, unsigned events)
{
	struct consumer *c = arg;

	(void)fd;
	(void)events;
	if (!child_ended(c->child))
		return;
	child_log(c->child);
	if (c->state == CONSUMER_CLOSING)
		gone(c);
	else
		failed(c);
}

static void
on_lines(void *arg, int fd, unsigned events)
{
	struct consumer *c = arg;

	(void)fd;
	(void)events;
	loop_fd_set(c->lines, 0);
	if (child_log(c->child))
		loop_timer_set(c->listen, LISTEN_AGAIN);
}

static void
listen_again(void *arg)
{
	struct consumer *c = arg;

	loop_fd_set(c->lines, LOOP_READ);
}

static void
opened(struct consumer *c)
{
	set_state(c, CONSUMER_RUNNING);
	plugin_count(c->x->plugin, (loop_now(c->owner->loop) - c->started) / 1000, NULL);
}

/* It answers: something was handled. */
static void
on_answer(void *arg, int fd, unsigned events)
{
	struct consumer *c = arg;
	char bytes[CHANNEL_WINDOW];
	uint64_t before = c->figures.sent;
	ssize_t n;

	(void)events;
	while ((n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0 && c->due)
		c->due--;
	/* It has ended, which on_ended() is told; or it chatters. */
	if (n >= 0)
		loop_fd_set(c->answers, 0);
	if (n > 0)
		child_kill(c->child);
	if (c->state == CONSUMER_OPENING && n < 0)
		opened(c);
	settle(c);
	if (c->state != CONSUMER_RUNNING)
		return;
	watch(c);
	if (c->figures.fails && c->figures.sent > before) {
		c->figures.fails = false;
		c->told[0] = '\0';
		tell(c, LOG_L_NOTICE, "works again");
	}
	feed(c);
}

static int
start_process(struct consumer *c, struct error *e)
{
	struct memory input = MEMORY_NONE;
	int ends[2] = { -1, -1 }, rc;
	struct child_start s;

	rc = input_make(&input, c->x->plugin, LAYOUT_EVENTS, NULL, e);
	if (!rc)
		rc = memory_new(&c->output, "weft-consumer", sizeof(*c->made), false, e);
	if (!rc && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		rc = error_set(e, ERR_IO, "cannot be run: %s", strerror(errno));
	if (!rc) {
		c->made = (volatile void *)c->output.at;
		c->channel = ends[0];
		s = (struct child_start){ .plugin = c->x->plugin, .input = input.fd,
					  .output = c->output.fd, .channel = ends[1] };
		c->child = child_start(&s, e);
		rc = c->child ? 0 : e->code;
	}
	if (ends[1] >= 0)
		close(ends[1]);
	memory_free(&input);
	return rc;
}

static void
start(struct consumer *c)
{
	struct loop *l = c->owner->loop;
	struct error e = { 0 };

	c->started = loop_now(l);
	if (start_process(c, &e)) {
		fail(c, e.text);
		return;
	}
	set_state(c, CONSUMER_OPENING);
	c->answers = loop_fd_new(l, c->channel, on_answer, c);
	c->ended = loop_fd_new(l, child_ended_fd(c->child), on_ended, c);
	c->lines = loop_fd_new(l, child_lines_fd(c->child), on_lines, c);
	loop_fd_set(c->answers, LOOP_READ);
	loop_fd_set(c->ended, LOOP_READ);
	loop_fd_set(c->lines, LOOP_READ);
	c->due = 1;
	watch(c);
}

static void
on_time(void *arg)
{
	struct consumer *c = arg;

	if (c->state == CONSUMER_WAITING) {
		start(c);
	} else if (c->state == CONSUMER_RUNNING && handled(c) != c->seen) {
		watch(c);
	} else {
		c->late = true;
		child_kill(c->child);		/* on_ended() follows */
	}
}

/* It has a second for what it is at. */
static void
close_one(struct consumer *c)
{
	if (c->state == CONSUMER_CLOSING)
		return;
	if (!c->child) {
		gone(c);
		return;
	}
	set_state(c, CONSUMER_CLOSING);
	shutdown(c->channel, SHUT_WR);
	loop_timer_set(c->timer, CLOSE_PATIENCE);
}

/* ---- The set ---- */

static void
take_entry(struct consumer *c, const struct plugin_set *set, const struct plugin_entry *x)
{
	const struct plugin_set *old = c->set;

	c->set = plugin_set_ref(set);
	c->x = x;
	c->types = types_of(x);
	plugin_set_unref(old);
}

static void
add(struct consumers *cs, const struct plugin_set *set, const struct plugin_entry *x)
{
	struct consumer *c = mem_zalloc(sizeof(*c));

	c->owner = cs;
	c->channel = -1;
	c->output = MEMORY_NONE;
	c->wanted = mem_array(cs->slots / 64 + 1, sizeof(*c->wanted));
	c->next = event_last(cs->ring) + 1;
	c->timer = loop_timer_new(cs->loop, on_time, c);
	c->feed = loop_timer_new(cs->loop, feed, c);
	c->listen = loop_timer_new(cs->loop, listen_again, c);
	take_entry(c, set, x);
	list_append(&cs->list, &c->list);
	wait_for(c, 0);
}

static struct consumer *
find(const struct consumers *cs, const char *name)
{
	list_each(it, &cs->list) {
		struct consumer *c = list_entry(it, struct consumer, list);

		if (strcmp(name_of(c), name) == 0)
			return c;
	}
	return NULL;
}

static const struct plugin_entry *
consumer_of(const struct plugin_set *set, const char *name)
{
	const struct plugin_entry *x = plugin_set_find(set, name);

	return x && x->plugin && !x->engine ? x : NULL;
}

static void
renew(struct consumer *c, const struct plugin_set *set)
{
	const struct plugin_entry *x = consumer_of(set, name_of(c));
	const bool same = x && plugin_entry_same(c->x, x);

	c->again = x && (!same || c->state == CONSUMER_CLOSING);
	if (x)
		take_entry(c, set, x);
	if (!same)
		close_one(c);
}

void
consumers_take(struct consumers *cs, const struct plugin_set *set)
{
	struct list *next;

	if (loop_is_virtual(cs->loop))
		return;
	for (struct list *it = cs->list.next; it != &cs->list; it = next) {
		struct consumer *c = list_entry(it, struct consumer, list);

		next = it->next;
		renew(c, set);
	}
	for (unsigned i = 0; set && i < set->len; i++) {
		const char *name = set->entries[i].conf->name;

		if (consumer_of(set, name) && !find(cs, name))
			add(cs, set, consumer_of(set, name));
	}
}

bool
consumers_end(struct consumers *cs)
{
	struct list *next;

	for (struct list *it = cs->list.next; it != &cs->list; it = next) {
		struct consumer *c = list_entry(it, struct consumer, list);

		next = it->next;
		c->again = false;
		close_one(c);
	}
	return list_empty(&cs->list);
}

struct consumers *
consumers_new(struct loop *l, struct event_ring *ring)
{
	struct consumers *cs = mem_zalloc(sizeof(*cs));

	cs->loop = l;
	cs->ring = ring;
	cs->slots = event_ring_len(ring);
	list_init(&cs->list);
	cs->sink = event_ring_sink(ring, on_event, cs);
	return cs;
}

void
consumers_free(struct consumers *cs)
{
	if (!cs)
		return;
	event_sink_free(cs->sink);
	while (!list_empty(&cs->list))
		free_one(list_entry(cs->list.next, struct consumer, list));
	mem_free(cs);
}

bool
consumers_state(const struct consumers *cs, const char *name, struct consumer_state *s)
{
	static const char *const states[] = {
		[CONSUMER_WAITING] = "waiting", [CONSUMER_OPENING] = "opening",
		[CONSUMER_RUNNING] = "running", [CONSUMER_CLOSING] = "closing",
	};
	const struct consumer *c = find(cs, name);

	if (!c)
		return false;
	*s = c->figures;
	s->state = states[c->state];
	s->since = c->since;
	s->waiting = (unsigned)(event_last(cs->ring) + 1 - c->next) + c->len;
	return true;
}
