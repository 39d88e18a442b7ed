/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/control/script.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "sim/control/command.h"
#include "sim/control/names.h"
#include "sim/model/model_impl.h"
#include "sm/base/list.h"

/*
 * Scripts: timed commands, and random flaps.
 *
 * What is to come is a list of events, each with a timer of the loop, which fires those of one
 * instant in order of age. Random flaps are drawn when their line is read, so that nothing that
 * happens meanwhile changes them: a seed gives the same flaps again. A command that fails when its
 * time comes is a line in the event log; it ends nothing.
 */
#define FLAPS_MAX 1000000u
#define HOLD_MIN SEC(1)
#define HOLD_MAX SEC(10)

struct timed {
	const char *command;	/* as typed, in the script's region */
	const char *where;	/* file:line, or "command" */
	monotime every;		/* until it comes again, 0: once */
	monotime until;		/* on the loop's clock */
	uint64_t left;		/* times that it comes */
};

enum event_kind {
	EVENT_COMMAND,		/* run timed->command */
	EVENT_FLAP,		/* a link goes down, and comes back */
};

struct event {
	struct list link;	/* of the script */
	struct script *script;	/* whose it is */
	struct loop_timer *timer;	/* until it is time */
	monotime at;		/* on the loop's clock */
	struct timed *timed;	/* EVENT_COMMAND */
	monotime hold;		/* EVENT_FLAP: how long */
	uint32_t node;		/* of the link */
	uint8_t port;		/* of the link */
	uint8_t kind;		/* enum event_kind */
};

struct script {
	struct sim *s;			/* what it acts on */
	struct region *region;		/* owns the commands' text */
	struct list events;		/* struct event, that are to come */
	unsigned len;			/* how many */
	unsigned lines;			/* taken in, for seeds of their own */
};

struct random_flaps {
	uint64_t n;			/* how many */
	monotime from, over;		/* when they begin, and in which time */
	monotime hold_min, hold_max;	/* how long a link stays down */
	uint64_t seed;			/* draws them */
	unsigned of;			/* enum links_of */
};

enum links_of { OF_SWITCHES, OF_HOSTS, OF_ALL };

/* ---- What happens ---- */

/* The answer of a command goes to the event log, line by line. */
static void
note_lines(struct sim *s, char *text)
{
	char *rest = text, *line;

	while ((line = strsep(&rest, "\n")))
		if (*line)
			sim_note(s, "  %s", line);
}

static void
run_command(struct script *k, const struct timed *t)
{
	struct error e = { 0 };
	struct buf out = { 0 };

	sim_note(k->s, "%s: %s", t->where, t->command);
	if (sim_command(k->s, t->command, &out, &e) < 0)
		sim_note(k->s, "%s: failed: %s", t->where, e.text);
	else if (out.len)
		note_lines(k->s, out.data);
	buf_free(&out);
}

/* A link that is down already has a reason of its own, which stays. */
static void
flap(struct script *k, const struct event *v)
{
	char hold[DURATION_TEXT_SIZE];

	if (!model_link_is_up(k->s->model, v->node, v->port))
		return;
	sim_note(k->s, "flap %s/%u for %s", names_text(k->s->names, v->node), v->port,
		 duration_text(hold, v->hold));
	model_link_flap(k->s->model, v->node, v->port, v->hold);
}

static void
event_free(struct event *v)
{
	v->script->len--;
	list_remove(&v->link);
	loop_timer_free(v->timer);
	mem_free(v);
}

static void
event_arm(struct event *v)
{
	loop_timer_set(v->timer, v->at - loop_now(v->script->s->loop));
}

static void
on_time(void *arg)
{
	struct event *v = arg;
	struct timed *t = v->timed;

	if (v->kind == EVENT_FLAP)
		flap(v->script, v);
	else
		run_command(v->script, t);
	if (v->kind == EVENT_COMMAND && t->every && --t->left && v->at + t->every <= t->until) {
		v->at += t->every;
		event_arm(v);
	} else {
		event_free(v);
	}
}

/* An event like this one is to come. */
static void
add_event(struct script *k, const struct event *like)
{
	struct event *v = mem_alloc(sizeof(*v));

	*v = *like;
	v->script = k;
	v->timer = loop_timer_new(k->s->loop, on_time, v);
	list_append(&k->events, &v->link);
	k->len++;
	event_arm(v);
}

struct script *
script_new(struct sim *s)
{
	struct script *k = mem_zalloc(sizeof(*k));

	k->s = s;
	k->region = region_new();
	list_init(&k->events);
	return k;
}

void
script_free(struct script *k)
{
	if (!k)
		return;
	list_each(it, &k->events)
		event_free(list_entry(it, struct event, link));
	region_free(k->region);
	mem_free(k);
}

unsigned
script_waiting(const struct script *k)
{
	return k->len;
}

/* ---- Lines ---- */

/* Words that are read one after the other. */
struct reader {
	const struct words *w;	/* of the line */
	unsigned next;		/* the next one to read */
	struct error *e;	/* for a sentence */
};

static bool
take(struct reader *r, const char *word)
{
	if (r->next >= r->w->len || strcmp(r->w->word[r->next], word) != 0)
		return false;
	r->next++;
	return true;
}

static int
read_time(struct reader *r, const char *before, monotime *t)
{
	if (r->next >= r->w->len)
		return error_set(r->e, ERR_INVALID, "a time is missing behind \"%s\"", before);
	return time_read(r->w->word[r->next++], t, r->e);
}

static int
read_number(struct reader *r, const char *before, uint64_t min, uint64_t max, uint64_t *n)
{
	if (r->next >= r->w->len || !number_parse(r->w->word[r->next], min, max, n))
		return error_set(r->e, ERR_INVALID, "behind \"%s\" stands a number from %" PRIu64
				 " to %" PRIu64, before, min, max);
	r->next++;
	return 0;
}

/* The rest of the line is a command, and one that may stand here. */
static int
read_command(struct script *k, struct reader *r, const char *line, const char **command)
{
	static const char *const timed[] = { "at", "every", "random" };
	const char *name = r->next < r->w->len ? r->w->word[r->next] : NULL;

	if (!name)
		return error_set(r->e, ERR_INVALID, "a command is missing at the end");
	for (size_t i = 0; i < sizeof(timed) / sizeof(timed[0]); i++)
		if (strcmp(name, timed[i]) == 0)
			return error_set(r->e, ERR_INVALID, "\"%s\" cannot be timed itself", name);
	*command = line + r->w->at[r->next];
	return command_check(k->s, *command, r->e);
}

static void
add_command(struct script *k, const struct timed *t, monotime first)
{
	struct timed *copy = region_alloc(k->region, sizeof(*copy));

	*copy = *t;
	copy->command = region_strdup(k->region, t->command);
	copy->where = region_strdup(k->region, t->where);
	add_event(k, &(struct event){ .kind = EVENT_COMMAND, .at = first, .timed = copy });
}

static int
line_at(struct script *k, struct reader *r, const char *line, const char *where, bool check)
{
	struct timed t = { .where = where };
	monotime when;
	int rc;

	if ((rc = read_time(r, "at", &when)) < 0 ||
	    (rc = read_command(k, r, line, &t.command)) < 0)
		return rc;
	if (!check)
		add_command(k, &t, loop_now(k->s->loop) + when);
	return 0;
}

static int
line_every(struct script *k, struct reader *r, const char *line, const char *where, bool check)
{
	struct timed t = { .where = where, .left = UINT64_MAX };
	monotime from = -1, until = MONOTIME_NEVER, now = loop_now(k->s->loop);
	int rc;

	if ((rc = read_time(r, "every", &t.every)) < 0)
		return rc;
	if (t.every < USEC(1))
		return error_set(r->e, ERR_INVALID, "every 0 would never end: say at least 1us");
	for (;;) {
		if (take(r, "from"))
			rc = read_time(r, "from", &from);
		else if (take(r, "until"))
			rc = read_time(r, "until", &until);
		else if (take(r, "times"))
			rc = read_number(r, "times", 1, UINT64_MAX, &t.left);
		else
			break;
		if (rc < 0)
			return rc;
	}
	if (from < 0)
		from = t.every;
	if (until < from)
		return error_set(r->e, ERR_INVALID, "it would end before it begins");
	t.until = until > TIME_MAX ? MONOTIME_NEVER - t.every : now + until;
	if ((rc = read_command(k, r, line, &t.command)) < 0)
		return rc;
	if (!check)
		add_command(k, &t, now + from);
	return 0;
}

/* ---- Random flaps ---- */

static bool
is_drawn(const struct model *m, uint32_t node, unsigned port, unsigned of)
{
	const struct sim_port *p = &m->nodes[node].ports[port];
	bool switches;

	if (!is_first_end(p, node, port))
		return false;
	switches = m->nodes[node].type == NODE_SWITCH && m->nodes[p->peer].type == NODE_SWITCH;
	return of == OF_ALL || switches == (of == OF_SWITCHES);
}

/* The links to draw from, each as one of its ports; *links is the caller's to free. */
static uint32_t
list_links(const struct model *m, unsigned of, struct event **links)
{
	uint32_t len = 0;

	*links = mem_array(m->net->nports / 2 + 1, sizeof(**links));
	for (uint32_t i = 0; i < m->net->nnodes; i++)
		for (unsigned p = 1; p <= m->nodes[i].nports; p++)
			if (is_drawn(m, i, p, of))
				(*links)[len++] = (struct event){ .node = i, .port = (uint8_t)p };
	return len;
}

/* Even over 0 .. most. */
static monotime
draw_time(struct rng *rng, monotime most)
{
	return (monotime)((double)(rng_next(rng) >> 11) * 0x1p-53 * (double)most);
}

static int
draw(struct script *k, const struct random_flaps *f, bool check, struct error *e)
{
	struct rng rng = { f->seed };
	struct event *links;
	uint32_t len = list_links(k->s->model, f->of, &links);

	for (uint64_t i = 0; len && !check && i < f->n; i++) {
		struct event v = links[rng_below(&rng, len)];

		v.kind = EVENT_FLAP;
		v.at = loop_now(k->s->loop) + f->from + draw_time(&rng, f->over);
		v.hold = f->hold_min + draw_time(&rng, f->hold_max - f->hold_min);
		add_event(k, &v);
	}
	mem_free(links);
	if (!len)
		return error_set(e, ERR_NOT_FOUND, "the fabric has no such links");
	return 0;
}

static int
read_hold(struct reader *r, struct random_flaps *f)
{
	const char *word = r->next < r->w->len ? r->w->word[r->next] : "";
	const char *dots = strstr(word, "..");
	char first[32];

	snprintf(first, sizeof(first), "%.*s", dots ? (int)(dots - word) : 31, word);
	if (!time_parse(first, &f->hold_min) ||
	    !time_parse(dots ? dots + 2 : first, &f->hold_max) || f->hold_max < f->hold_min)
		return error_set(r->e, ERR_INVALID,
				 "behind \"hold\" stands a time or MIN..MAX, as in "
				 "100ms..5s");
	r->next++;
	return 0;
}

static int
read_of(struct reader *r, struct random_flaps *f)
{
	static const char *const kinds[] = { "switches", "hosts", "all" };

	for (f->of = 0; f->of < 3; f->of++)
		if (take(r, kinds[f->of]))
			return 0;
	return error_set(r->e, ERR_INVALID, "behind \"of\" stands switches, hosts or all");
}

static int
read_flaps(struct reader *r, struct random_flaps *f)
{
	int rc = read_number(r, "random", 1, FLAPS_MAX, &f->n);

	if (rc < 0)
		return rc;
	if (!take(r, "flaps") && !take(r, "flap"))
		return error_set(r->e, ERR_INVALID, "behind the number stands \"flaps\"");
	while (r->next < r->w->len && !rc) {
		if (take(r, "of"))
			rc = read_of(r, f);
		else if (take(r, "over"))
			rc = read_time(r, "over", &f->over);
		else if (take(r, "from"))
			rc = read_time(r, "from", &f->from);
		else if (take(r, "hold"))
			rc = read_hold(r, f);
		else if (take(r, "seed"))
			rc = read_number(r, "seed", 0, UINT64_MAX, &f->seed);
		else
			return error_set(r->e, ERR_INVALID, "\"%.60s\" is none of of, over, from, "
					 "hold and seed", r->w->word[r->next]);
	}
	if (!rc && !f->over)
		return error_set(r->e, ERR_INVALID, "say in which time, as in: over 1h");
	return rc;
}

static int
line_random(struct script *k, struct reader *r, bool check)
{
	struct random_flaps f = {
		.hold_min = HOLD_MIN, .hold_max = HOLD_MAX, .seed = k->s->seed + k->lines,
	};
	int rc = read_flaps(r, &f);

	return rc < 0 ? rc : draw(k, &f, check, r->e);
}

int
script_line(struct script *k, const char *line, const struct words *w, const char *where,
	    bool check, struct error *e)
{
	static const char *const kinds[] = { "at", "every", "random", NULL };
	struct reader r = { .w = w, .e = e };
	const char *near;
	int rc;

	if (take(&r, "at"))
		rc = line_at(k, &r, line, where, check);
	else if (take(&r, "every"))
		rc = line_every(k, &r, line, where, check);
	else if (take(&r, "random"))
		rc = line_random(k, &r, check);
	else if ((near = nearest_word(w->word[0], kinds)))
		return error_set(e, ERR_INVALID, "a line begins with at, every or random, not "
				 "\"%.60s\"; did you mean \"%s\"?", w->word[0], near);
	else
		return error_set(e, ERR_INVALID, "a line begins with at, every or random, not "
				 "\"%.60s\"", w->word[0]);
	if (!check)
		k->lines++;
	return rc;
}

/* ---- Files ---- */

static int
each_line(struct sim *s, char *text, const char *file, bool check, struct error *e)
{
	struct words *w = mem_zalloc(sizeof(*w));
	struct error inner = { 0 };
	char where[300], *rest = text, *line;
	unsigned number = 0;
	int rc = 0;

	while (!rc && (line = strsep(&rest, "\n"))) {
		snprintf(where, sizeof(where), "%.250s:%u", file, ++number);
		rc = words_split(w, line, &inner);
		if (!rc && w->len)
			rc = script_line(s->script, line, w, where, check, &inner);
	}
	if (rc < 0)
		error_set(e, rc, "%s: %.240s", where, inner.text);
	mem_free(w);
	return rc;
}

static char *
copy_text(const char *text, size_t size)
{
	char *copy = mem_alloc(size + 1);

	memcpy(copy, text, size);
	copy[size] = '\0';
	return copy;
}

int
sim_script(struct sim *s, const char *text, size_t size, const char *file, struct error *e)
{
	char *copy;
	int rc;

	if (memchr(text, '\0', size))
		return error_set(e, ERR_FORMAT, "%.250s: this is no text: it has a NUL in it",
				 file);
	for (int run = 0; run < 2; run++) {
		copy = copy_text(text, size);
		rc = each_line(s, copy, file, !run, e);
		mem_free(copy);
		if (rc < 0)
			return rc;
	}
	return 0;
}
