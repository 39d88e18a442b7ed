/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/ctl/listing.h"

#include <stdlib.h>
#include <string.h>
#include "sm/base/mem.h"

/*
 * The engine behind the lists of nodes, ports and links. A listing belongs to its request and
 * reads the request's plan. It moves on only when the client's turn comes: SCAN candidates, or
 * ROWS rows, in one step, and less where a regular expression takes its time.
 */
#define SCAN 2048u
#define SCAN_TIME MSEC(1)
#define ROWS 128u
#define NOTABLE_BIT 0x80000000u

static void
listing_free(void *state)
{
	struct listing *l = state;

	filter_free(l->filter);
	mem_free(l->rows);
	mem_free(l);
}

static void
add_row(struct listing *l, uint32_t i, bool notable)
{
	if (l->len == l->size) {
		l->size = l->size ? l->size * 2 : 256;
		l->rows = mem_realloc(l->rows, l->size, sizeof(*l->rows));
	}
	l->rows[l->len++] = i | (notable ? NOTABLE_BIT : 0);
	l->notable += notable;
}

/* The picks are complete: drop the rows that will not be shown, and begin the answer. */
static void
begin(struct ctl_req *r, struct listing *l)
{
	struct json *j;

	l->matched = l->len;
	if (!l->all && l->len > LISTING_SHORT) {
		uint32_t kept = 0;

		for (uint32_t i = 0; i < l->len && kept < LISTING_SHORT; i++) {
			if (l->rows[i] & NOTABLE_BIT)
				l->rows[kept++] = l->rows[i];
		}
		l->len = kept;
	}
	l->shown = l->len;
	j = req_begin(r);
	jw_str(j, "subnet", r->subnet->name);
	l->ops->head(l, j);
	jw_uint(j, "matched", l->matched);
	jw_uint(j, "notable", l->notable);
	jw_uint(j, "shown", l->shown);
	jw_array(j, l->ops->array);
	l->next = 0;
	l->writing = true;
}

static enum ctl_step
listing_step(struct ctl_req *r)
{
	struct listing *l = r->state;
	monotime start = loop_now(r->loop);
	uint32_t count, end;

	if (l->writing) {
		end = l->len - l->next > ROWS ? l->next + ROWS : l->len;
		for (; l->next < end; l->next++)
			l->ops->row(l, &r->json, l->rows[l->next] & ~NOTABLE_BIT);
		return l->next == l->len ? STEP_DONE : STEP_MORE;
	}
	count = l->ops->count(l->plan);
	end = count - l->next > SCAN ? l->next + SCAN : count;
	for (; l->next < end && loop_now(r->loop) - start < SCAN_TIME; l->next++) {
		enum listing_pick pick = l->ops->pick(l, l->next);

		if (pick != PICK_NO)
			add_row(l, l->next, pick == PICK_NOTABLE);
	}
	if (l->next == count)
		begin(r, l);
	return STEP_MORE;
}

static int
type_code(const char *name)
{
	if (!name)
		return 0;
	return strcmp(name, "switch") == 0 ? NODE_SWITCH : strcmp(name, "router") == 0 ? NODE_ROUTER
	     : NODE_CA;
}

void
listing_run(struct ctl_req *r, const struct listing_ops *ops)
{
	const char *text = req_string(r, "filter");
	struct error e = { 0 };
	struct filter *filter = filter_new(r->plan, text, ops->ports, &e);
	struct listing *l;

	if (!filter) {
		req_fail(r, e.code == ERR_NOT_FOUND ? EXIT_REFUSED : EXIT_USAGE, "%s", e.text);
		return;
	}
	l = mem_zalloc(sizeof(*l));
	r->state = l;
	r->state_free = listing_free;
	l->ops = ops;
	l->plan = r->plan;
	l->filter = filter;
	l->port = filter_port(filter);
	l->type = type_code(req_string(r, "type"));
	l->down = req_flag(r, "down");
	l->slow = req_flag(r, "slow");
	l->silent = req_flag(r, "silent");
	l->all = text || l->type || l->down || l->slow || l->silent || req_flag(r, "all");
	l->node = FABRIC_NONE;
	if (ops->start)
		ops->start(l);
	req_stream(r, listing_step);
}

bool
listing_takes(struct listing *l, uint32_t node)
{
	if (node != l->node) {
		l->node = node;
		l->node_match = (!l->type || l->plan->fabric->nodes[node].type == l->type) &&
				filter_match(l->filter, l->plan, node);
	}
	return l->node_match;
}

bool
listing_takes_port(struct listing *l, const struct fabric_port *p)
{
	return listing_takes(l, p->node) && (l->port < 0 || l->port == p->number);
}

unsigned
listing_kind(const struct fabric *f, const struct fabric_port *p)
{
	uint32_t end = fabric_cable_end(f, (uint32_t)(p - f->ports));

	return f->nodes[p->node].type != NODE_SWITCH ||
	       (end != FABRIC_NONE && f->nodes[f->ports[end].node].type != NODE_SWITCH);
}

/* Few rates occur in one fabric; one that comes after SPEED_ROWS others is not the usual one. */
static void
tally(uint32_t (*seen)[2], unsigned *len, uint32_t rate)
{
	unsigned i = 0;

	while (i < *len && seen[i][0] != rate)
		i++;
	if (i == SPEED_ROWS)
		return;
	if (i == *len) {
		seen[i][0] = rate;
		seen[i][1] = 0;
		++*len;
	}
	seen[i][1]++;
}

void
listing_rates(struct listing *l)
{
	const struct fabric *f = l->plan->fabric;
	uint32_t seen[RATE_CLASSES][SPEED_ROWS][2], best;
	unsigned len[RATE_CLASSES] = { 0 };

	for (uint32_t i = 0; i < f->nports; i++) {
		unsigned kind;

		if (!f->ports[i].rate_mbps || fabric_cable_end(f, i) == FABRIC_NONE)
			continue;
		kind = listing_kind(f, &f->ports[i]);
		tally(seen[kind], &len[kind], f->ports[i].rate_mbps);
	}
	for (unsigned kind = 0; kind < RATE_CLASSES; kind++) {
		best = 0;
		for (unsigned i = 0; i < len[kind]; i++) {
			if (seen[kind][i][1] > best) {
				best = seen[kind][i][1];
				l->usual[kind] = seen[kind][i][0];
			}
		}
	}
}

bool
listing_is_slow(const struct listing *l, const struct fabric_port *p)
{
	const struct fabric *f = l->plan->fabric;

	return p->rate_mbps && fabric_cable_end(f, (uint32_t)(p - f->ports)) != FABRIC_NONE &&
	       p->rate_mbps < l->usual[listing_kind(f, p)];
}

void
listing_count_speed(struct listing *l, const struct fabric_port *p)
{
	unsigned i = 0;

	while (i < l->nspeeds && (l->speeds[i].width != p->width || l->speeds[i].speed != p->speed))
		i++;
	if (i == SPEED_ROWS)
		return;
	if (i == l->nspeeds) {
		l->speeds[i] = (struct listing_speed){ .width = p->width, .speed = p->speed,
						       .rate_mbps = p->rate_mbps };
		l->nspeeds++;
	}
	l->speeds[i].count++;
}

static int
faster_first(const void *a, const void *b)
{
	const struct listing_speed *x = a, *y = b;

	return (y->rate_mbps > x->rate_mbps) - (y->rate_mbps < x->rate_mbps);
}

void
listing_speeds(struct listing *l, struct json *j, const char *key)
{
	char text[LINK_TEXT_SIZE];

	qsort(l->speeds, l->nspeeds, sizeof(l->speeds[0]), faster_first);
	jw_object(j, key);
	for (unsigned i = 0; i < l->nspeeds; i++)
		jw_uint(j, link_text(text, (enum link_width)l->speeds[i].width,
				       (enum link_speed)l->speeds[i].speed), l->speeds[i].count);
	jw_end(j);
}
