/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/conf/config.h"

#include <stdio.h>
#include <string.h>
#include "sm/base/map.h"
#include "sm/conf/option.h"
#include "sm/conf/schema.h"

/*
 * What differs between two configurations, and what a reload cannot take on.
 *
 * Entries of a list are told apart by their key (a partition by its name), or by all that they say:
 * one that is put in between is one difference and not one of each that follows. Each entry that
 * came, went or differs is one line; where only the order is another, that is one. Subnets keep
 * their places, for a running daemon has as many as it started with.
 */
#define SHOWN_MAX 160u		/* bytes of a value of an entry in a line */
#define SHOWN_BEFORE 40u	/* bytes of it before the first that differs */

/* Where differences go, and the earliest stage so far. */
struct diff {
	config_diff_fn fn;		/* may be NULL */
	void *arg;			/* its first argument */
	enum config_stage stage;	/* smallest of all differences */
	const struct config *old;	/* the two, for what only counts where it is used */
	const struct config *new;
};

static void
report(struct diff *d, const char *option, const char *old, const char *new,
       enum config_stage stage)
{
	if (stage < d->stage)
		d->stage = stage;
	if (d->fn)
		d->fn(d->arg, option, old, new, stage);
}

static bool
routes(const struct config *c, const char *plugin)
{
	for (unsigned i = 0; i < c->nplugins; i++)
		if (strcmp(c->plugins[i].name, plugin) == 0)
			return c->plugins[i].routes.line;
	return false;
}

/* What happens to a plugin that no subnet routes by, before and after, needs no routing. */
static enum config_stage
stage_of(const struct diff *d, const struct option *o, const struct config_plugin *p)
{
	if (o->routes && !(p && (routes(d->old, p->name) || routes(d->new, p->name))))
		return STAGE_LIVE;
	return o->stage;
}

static void
diff_row(struct diff *d, const struct option *o, const char *prefix, const void *old,
	 const void *new)
{
	struct buf name = { 0 }, a = { 0 }, b = { 0 };

	if (option_equal(o, old, new))
		return;
	option_text(o, old, &a);
	option_text(o, new, &b);
	buf_printf(&name, "%s%s", prefix, o->name);
	report(d, name.data, o->secret ? "(hidden)" : a.data, o->secret ? "(hidden)" : b.data,
	       o->stage);
	buf_free(&name);
	buf_free(&a);
	buf_free(&b);
}

static void
diff_rows(struct diff *d, const struct option *table, const char *prefix, const void *old,
	  const void *new);

/* Entries that keep their places; those behind the end of the shorter list came or went. */
static void
diff_places(struct diff *d, const struct option *o, const void *old, const void *new)
{
	unsigned nold, nnew;
	const char *a = option_entries(o, old, &nold), *b = option_entries(o, new, &nnew);
	const struct option *key = o->fields;
	char prefix[64];

	for (unsigned i = 0; i < nold || i < nnew; i++, a += o->size, b += o->size) {
		struct buf name = { 0 };

		snprintf(prefix, sizeof(prefix), "%s[%u].", o->name, i);
		if (i < nold && i < nnew) {
			diff_rows(d, o->fields, prefix, a, b);
			continue;
		}
		option_text(key, i < nold ? a : b, &name);
		prefix[strlen(prefix) - 1] = '\0';
		report(d, prefix, i < nold ? name.data : "absent", i < nnew ? name.data : "absent",
		       o->stage);
		buf_free(&name);
	}
}

/* One list of entries, and where in it which key is. */
struct side {
	const char *entries;	/* of the configuration */
	unsigned len;		/* how many */
	struct buf *keys;	/* text of each */
	struct map at;		/* key to the first that has it */
};

static void
side_open(struct side *s, const struct option *o, const void *base)
{
	const struct option *key = o->key ? schema_find(o->fields, o->key) : NULL;

	s->entries = option_entries(o, base, &s->len);
	s->keys = mem_array(s->len, sizeof(*s->keys));
	for (unsigned i = 0; i < s->len; i++) {
		const void *entry = s->entries + i * o->size;
		uint64_t text;

		if (key)
			option_text(key, entry, &s->keys[i]);
		else
			option_entry_text(o, entry, &s->keys[i]);
		text = map_text(s->keys[i].data, s->keys[i].len);
		if (map_get(&s->at, text) == MAP_NONE)
			map_set(&s->at, text, i);
	}
}

static void
side_close(struct side *s)
{
	for (unsigned i = 0; i < s->len; i++)
		buf_free(&s->keys[i]);
	mem_free(s->keys);
	map_free(&s->at);
}

/* The entry with the key of entry `i` of `of`, or MAP_NONE. */
static uint32_t
side_find(const struct side *s, const struct side *of, unsigned i)
{
	return map_get(&s->at, map_text(of->keys[i].data, of->keys[i].len));
}

/* "partitions[tenant-a]", or "qos.rules[3]" where entries have no key. */
static void
report_entry(struct diff *d, const struct option *o, const struct side *s, unsigned i,
	     const char *old, const char *new, enum config_stage stage)
{
	struct buf name = { 0 };

	if (o->key)
		buf_printf(&name, "%s[%s]", o->name, s->keys[i].data);
	else
		buf_printf(&name, "%s[%u]", o->name, i);
	report(d, name.data, old, new, stage);
	buf_free(&name);
}

/* Cut a text to what a line has room for, from shortly before byte `from`. */
static void
shorten(struct buf *b, size_t from)
{
	size_t start = from > SHOWN_BEFORE ? from - SHOWN_BEFORE : 0, len = b->len - start;
	struct buf cut = { 0 };

	if (b->len <= SHOWN_MAX)
		return;
	while (start && ((unsigned char)b->data[start] & 0xc0) == 0x80)
		start--;
	len = len > SHOWN_MAX ? SHOWN_MAX : len;
	while (start + len < b->len && ((unsigned char)b->data[start + len] & 0xc0) == 0x80)
		len--;
	buf_printf(&cut, "%s%.*s%s", start ? "..." : "", (int)len, b->data + start,
		   start + len < b->len ? "..." : "");
	buf_free(b);
	*b = cut;
}

static void
diff_entry(struct diff *d, const struct option *o, const struct side *s, unsigned i,
	   const void *old, const void *new)
{
	enum config_stage stage = STAGE_NONE;
	struct buf a = { 0 }, b = { 0 };
	size_t same = 0;

	for (const struct option *field = o->fields; field->name; field++) {
		if (option_equal(field, old, new))
			continue;
		if (stage_of(d, field, new) < stage)
			stage = stage_of(d, field, new);
		buf_printf(&a, "%s%s: ", a.len ? ", " : "{", field->name);
		buf_printf(&b, "%s%s: ", b.len ? ", " : "{", field->name);
		option_text(field, old, &a);
		option_text(field, new, &b);
	}
	if (stage == STAGE_NONE)
		return;
	buf_char(&a, '}');
	buf_char(&b, '}');
	while (same < a.len && same < b.len && a.data[same] == b.data[same])
		same++;
	shorten(&a, same);
	shorten(&b, same);
	report_entry(d, o, s, i, a.data, b.data, stage);
	buf_free(&a);
	buf_free(&b);
}

/* An entry that is on one side only. */
static void
report_single(struct diff *d, const struct option *o, const struct side *s, unsigned i, bool came)
{
	const void *entry = s->entries + i * o->size;
	struct buf text = { 0 };

	option_entry_text(o, entry, &text);
	shorten(&text, 0);
	report_entry(d, o, s, i, came ? "absent" : text.data, came ? text.data : "absent",
		     stage_of(d, o, entry));
	buf_free(&text);
}

/* Are the entries that both have in another order, or some there more often? */
static bool
is_reordered(const struct side *old, const struct side *new)
{
	uint32_t last = 0, at;

	if (old->len != new->len)
		return true;
	for (unsigned i = 0; i < new->len; i++) {
		at = side_find(old, new, i);
		if (at < last)
			return true;
		last = at;
	}
	return false;
}

static void
diff_keyed(struct diff *d, const struct option *o, const void *old, const void *new)
{
	struct side a = { 0 }, b = { 0 };
	bool changed = false;
	uint32_t at;

	if (option_equal(o, old, new))
		return;
	side_open(&a, o, old);
	side_open(&b, o, new);
	for (unsigned i = 0; i < a.len; i++) {
		if (side_find(&b, &a, i) != MAP_NONE)
			continue;
		report_single(d, o, &a, i, false);
		changed = true;
	}
	for (unsigned i = 0; i < b.len; i++) {
		at = side_find(&a, &b, i);
		if (at != MAP_NONE) {
			diff_entry(d, o, &b, i, a.entries + at * o->size, b.entries + i * o->size);
			continue;
		}
		report_single(d, o, &b, i, true);
		changed = true;
	}
	if (!changed && is_reordered(&a, &b))
		report(d, o->name, "their order", "another order",
		       stage_of(d, o, NULL));
	side_close(&a);
	side_close(&b);
}

static void
diff_rows(struct diff *d, const struct option *table, const char *prefix, const void *old,
	  const void *new)
{
	for (const struct option *o = table; o->name; o++) {
		if (o->type == OPTION_LIST && o->placed)
			diff_places(d, o, old, new);
		else if (o->type == OPTION_LIST)
			diff_keyed(d, o, old, new);
		else
			diff_row(d, o, prefix, old, new);
	}
}

enum config_stage
config_diff(const struct config *old, const struct config *new, config_diff_fn fn, void *arg)
{
	struct diff d = { fn, arg, STAGE_NONE, old, new };

	diff_rows(&d, schema_root, "", old, new);
	return d.stage;
}

static void
keep_value(const struct option *o, struct region *r, void *fresh, const void *old)
{
	char *to = (char *)fresh + o->offset;
	const char *from = (const char *)old + o->offset, *text;

	switch (o->type) {
	case OPTION_NUMBER:
		memcpy(to, from, sizeof(unsigned));
		break;
	case OPTION_NUMBER64:
		memcpy(to, from, sizeof(uint64_t));
		break;
	case OPTION_DURATION:
		memcpy(to, from, sizeof(monotime));
		break;
	case OPTION_BOOL:
		memcpy(to, from, sizeof(bool));
		break;
	case OPTION_TEXT:
		memcpy(&text, from, sizeof(text));
		text = text ? region_strdup(r, text) : NULL;
		memcpy(to, &text, sizeof(text));
		break;
	default:
		break;	/* none of these waits for a restart, but the list of subnets as a whole */
	}
}

static void
keep_rows(const struct option *table, struct region *r, void *fresh, const void *old)
{
	for (const struct option *o = table; o->name; o++)
		if (o->stage == STAGE_RESTART)
			keep_value(o, r, fresh, old);
}

void
config_keep(struct config *fresh, const struct config *old)
{
	keep_rows(schema_root, fresh->region, fresh, old);
	for (unsigned i = 0; i < old->nsubnets && i < fresh->nsubnets; i++)
		keep_rows(schema_subnet, fresh->region, &fresh->subnets[i], &old->subnets[i]);
}
