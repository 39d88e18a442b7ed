/* SPDX-License-Identifier: BSD-2-Clause */
#include "offline/import_policy.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>
#include "sm/base/buf.h"

/*
 * qos-policy.conf of OpenSM, as "QoS Management in OpenSM" defines it: sections, each between NAME
 * and end-NAME, with entries of "KEY: VALUE" lines in them, and qos-ulps, whose lines are rules
 * (import_ulps.c). A value that ends with a comma goes on in the next line.
 *
 * Of a file with one mistake OpenSM takes nothing, and every path has the SL of its partition. Here
 * a line that cannot be read is left out and told, with two exceptions lest more is matched than
 * was meant: a rule with such a line, and a level without SL or name, are left out as a whole.
 *
 * OpenSM loses the blanks in names; where they tell two names apart it mixes these up. Names of
 * groups and levels are compared likewise here, those of nodes are taken as they are written.
 */
#define WRONG "; OpenSM takes nothing of a file with that, and gives every path the service " \
	"level of its partition"
#define SERVICE_CLASS_MAX 4095u
#define PKEY_BITS 0x7fffu

enum block {
	TOP, GROUPS, GROUP, SETUP, LEVELS, LEVEL, RULES, RULE, ULPS, BLOCKS,
};

static const struct {
	const char *name;	/* its first line; the last one is "end-" and that */
	enum block in;		/* what it stands in */
} blocks[BLOCKS] = {
	[TOP] = { "", TOP },
	[GROUPS] = { "port-groups", TOP }, [GROUP] = { "port-group", GROUPS },
	[SETUP] = { "qos-setup", TOP },
	[LEVELS] = { "qos-levels", TOP }, [LEVEL] = { "qos-level", LEVELS },
	[RULES] = { "qos-match-rules", TOP }, [RULE] = { "qos-match-rule", RULES },
	[ULPS] = { "qos-ulps", TOP },
};

struct reader {
	struct import_text *t;		/* what is read */
	struct import_notes *n;		/* what is said of it */
	struct import_policy *p;	/* what it says */
	enum block block;		/* where the line stands */
	struct import_group *group;	/* the one being read, likewise below */
	struct import_level *level;
	struct import_rule *rule;
	struct import_group **groups;	/* where the next one goes, likewise below */
	struct import_level **levels;
	struct import_rule **rules;
	struct import_rule *ulps;	/* rules of protocols, which come last */
	struct import_rule **ulp;
};

#define NOTE(r, ...) import_note((r)->n, (r)->t->file, (r)->t->line, __VA_ARGS__)

/* ---- Values ---- */

const char *
import_policy_word(struct region *r, struct import_word w)
{
	w = import_trim(w);
	if (w.len >= 2 && *w.s == '"' && w.s[w.len - 1] == '"')
		w = import_trim((struct import_word){ w.s + 1, w.len - 2 });
	return import_copy(r, w);
}

void
import_policy_add(struct region *r, struct import_ranges *to, uint64_t from, uint64_t last)
{
	if (to->len == to->room) {
		struct config_range *more;

		to->room = to->room ? 2 * to->room : 4;
		more = region_array(r, to->room, sizeof(*more));
		if (to->len)
			memcpy(more, to->list, to->len * sizeof(*more));
		to->list = more;
	}
	to->list[to->len++] = (struct config_range){ from, last };
}

/* Its ends may be in either order. */
static bool
add_range(struct region *r, struct import_word piece, uint64_t max, struct import_ranges *to)
{
	struct import_word first;
	uint64_t from, last;
	bool has = import_cut(&piece, '-', &first);

	if (!import_number(first, max, &from))
		return false;
	last = from;
	if (has && !import_number(import_trim(piece), max, &last))
		return false;
	import_policy_add(r, to, from < last ? from : last, from < last ? last : from);
	return true;
}

bool
import_policy_ranges(struct region *r, struct import_word w, uint64_t max, struct import_ranges *to)
{
	struct import_word piece;
	bool right = w.len > 0;

	while (w.len) {
		import_cut(&w, ',', &piece);
		right &= add_range(r, piece, max, to);
	}
	return right;
}

static void
add_text(struct region *r, struct import_list *to, const char *text)
{
	if (to->len == to->room) {
		const char **more;

		to->room = to->room ? 2 * to->room : 4;
		more = region_array(r, to->room, sizeof(*more));
		if (to->len)
			memcpy(more, to->list, to->len * sizeof(*more));
		to->list = more;
	}
	to->list[to->len++] = text;
}

static bool
read_list(struct reader *r, struct import_word w, struct import_list *to)
{
	struct import_word piece;
	bool right = w.len > 0;

	while (w.len) {
		import_cut(&w, ',', &piece);
		if (piece.len)
			add_text(r->n->region, to, import_policy_word(r->n->region, piece));
		right &= piece.len > 0;
	}
	return right;
}

static bool
read_kinds(struct import_word w, unsigned *kinds)
{
	static const struct {
		const char *word;
		unsigned kind;
	} words[] = {
		{ "CA", IMPORT_KIND_CA }, { "SWITCH", IMPORT_KIND_SWITCH },
		{ "ROUTER", IMPORT_KIND_ROUTER }, { "SELF", IMPORT_KIND_SELF },
		{ "ALL", IMPORT_KIND_ALL },
	};
	struct import_word piece;
	bool right = w.len > 0;

	while (w.len) {
		unsigned kind = 0;

		import_cut(&w, ',', &piece);
		for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
			if (piece.len == strlen(words[i].word) &&
			    strncasecmp(piece.s, words[i].word, piece.len) == 0)
				kind = words[i].kind;
		*kinds |= kind;
		right &= kind != 0;
	}
	return right;
}

static bool
read_number(struct import_word w, uint64_t min, uint64_t max, unsigned *to)
{
	uint64_t v;

	if (!import_number(w, max, &v) || v < min)
		return false;
	*to = (unsigned)v;
	return true;
}

static bool
read_pkeys(struct region *r, struct import_word w, struct import_ranges *to)
{
	struct import_ranges all = { 0 };
	bool right = import_policy_ranges(r, w, 0xffff, &all);

	for (unsigned i = 0; i < all.len; i++) {
		uint64_t a = all.list[i].from & PKEY_BITS, b = all.list[i].to & PKEY_BITS;

		import_policy_add(r, to, a < b ? a : b, a < b ? b : a);
	}
	return right;
}

/* ---- Keys ---- */

enum value {
	VALUE_SKIP, VALUE_NAME, VALUE_LIST, VALUE_RANGES, VALUE_PKEYS, VALUE_NUMBER, VALUE_KINDS,
};

#define IN_GROUP(field) offsetof(struct import_group, field)
#define IN_LEVEL(field) offsetof(struct import_level, field)
#define IN_RULE(field) offsetof(struct import_rule, field)

static const struct key {
	enum block block;	/* where it may stand */
	const char *name;	/* before the colon */
	enum value value;	/* behind it */
	size_t offset;		/* in the entry of that block */
	uint64_t min, max;	/* of numbers; ranges: the greatest */
} keys[] = {
	{ GROUP, "name", VALUE_NAME, IN_GROUP(name), 0, 0 },
	{ GROUP, "use", VALUE_SKIP, 0, 0, 0 },
	{ GROUP, "port-guid", VALUE_RANGES, IN_GROUP(guids), 0, UINT64_MAX },
	{ GROUP, "port-name", VALUE_LIST, IN_GROUP(ports), 0, 0 },
	{ GROUP, "pkey", VALUE_PKEYS, IN_GROUP(pkeys), 0, 0 },
	{ GROUP, "partition", VALUE_LIST, IN_GROUP(partitions), 0, 0 },
	{ GROUP, "node-type", VALUE_KINDS, IN_GROUP(kinds), 0, 0 },
	{ LEVEL, "name", VALUE_NAME, IN_LEVEL(name), 0, 0 },
	{ LEVEL, "use", VALUE_SKIP, 0, 0, 0 },
	{ LEVEL, "sl", VALUE_NUMBER, IN_LEVEL(sl), 0, 15 },
	{ LEVEL, "mtu-limit", VALUE_NUMBER, IN_LEVEL(mtu), 1, 5 },
	{ LEVEL, "rate-limit", VALUE_NUMBER, IN_LEVEL(rate), 2, 24 },
	{ LEVEL, "packet-life", VALUE_NUMBER, IN_LEVEL(life), 1, 63 },
	{ LEVEL, "path-bits", VALUE_RANGES, IN_LEVEL(path_bits), 0, 127 },
	{ LEVEL, "pkey", VALUE_PKEYS, IN_LEVEL(pkeys), 0, 0 },
	{ RULE, "use", VALUE_SKIP, 0, 0, 0 },
	{ RULE, "qos-class", VALUE_RANGES, IN_RULE(classes), 0, SERVICE_CLASS_MAX },
	{ RULE, "source", VALUE_LIST, IN_RULE(source), 0, 0 },
	{ RULE, "destination", VALUE_LIST, IN_RULE(destination), 0, 0 },
	{ RULE, "service-id", VALUE_RANGES, IN_RULE(services), 0, UINT64_MAX },
	{ RULE, "pkey", VALUE_PKEYS, IN_RULE(pkeys), 0, 0 },
	{ RULE, "qos-level-name", VALUE_NAME, IN_RULE(level), 0, 0 },
};

static const struct key *
key_of(const struct reader *r, struct import_word name)
{
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (keys[i].block == r->block && import_is(name, keys[i].name))
			return &keys[i];
	return NULL;
}

/* As OpenSM has it: without blanks. */
static const char *
name_of(struct region *r, struct import_word w)
{
	char *s = (char *)import_policy_word(r, w), *to = s;

	for (const char *from = s; *from; from++)
		if (!isspace((unsigned char)*from))
			*to++ = *from;
	*to = '\0';
	return s;
}

static bool
read_value(struct reader *r, const struct key *k, struct import_word w)
{
	void *entry = r->block == GROUP ? (void *)r->group : r->block == LEVEL ?
		(void *)r->level : (void *)r->rule;
	void *to = (char *)entry + k->offset;

	switch (k->value) {
	case VALUE_NAME:
		*(const char **)to = name_of(r->n->region, w);
		return w.len > 0;
	case VALUE_LIST:
		return read_list(r, w, to);
	case VALUE_RANGES:
		return import_policy_ranges(r->n->region, w, k->max, to);
	case VALUE_PKEYS:
		return read_pkeys(r->n->region, w, to);
	case VALUE_NUMBER:
		return read_number(w, k->min, k->max, to);
	case VALUE_KINDS:
		return read_kinds(w, to);
	case VALUE_SKIP:
		break;
	}
	return true;
}

static void
read_key(struct reader *r, struct import_word line)
{
	struct import_word rest = line, name;
	bool has = import_cut(&rest, ':', &name);
	const struct key *k = has ? key_of(r, name) : NULL;

	if (k && read_value(r, k, import_trim(rest)))
		return;
	NOTE(r, "\"%.*s\" cannot be read%s" WRONG, IMPORT_WORD(line),
	     r->block == RULE ? ", and its rule is left out" : "");
	if (r->block == RULE)
		r->rule->broken = true;
}

/* ---- Blocks ---- */

static void
open_block(struct reader *r, enum block b)
{
	r->block = b;
	switch (b) {
	case GROUP:
		r->group = region_alloc(r->n->region, sizeof(*r->group));
		r->group->line = r->t->line;
		break;
	case LEVEL:
		r->level = region_alloc(r->n->region, sizeof(*r->level));
		r->level->line = r->t->line;
		r->level->sl = IMPORT_NO_SL;
		break;
	case RULE:
		r->rule = region_alloc(r->n->region, sizeof(*r->rule));
		r->rule->line = r->t->line;
		break;
	case SETUP:
		NOTE(r, "qos-setup is left out: OpenSM reads it and does nothing with it; its "
		     "tables are those of opensm.conf");
		break;
	default:
		break;
	}
}

static void
close_group(struct reader *r)
{
	if (!r->group->name || !*r->group->name) {
		import_note(r->n, r->t->file, r->group->line, "the group is left out: it has no "
			    "name" WRONG);
		return;
	}
	*r->groups = r->group;
	r->groups = &r->group->next;
}

static void
close_level(struct reader *r)
{
	if (!r->level->name || !*r->level->name || r->level->sl == IMPORT_NO_SL) {
		import_note(r->n, r->t->file, r->level->line, "the level is left out: it has no %s"
			    WRONG, r->level->sl == IMPORT_NO_SL ? "sl" : "name");
		return;
	}
	*r->levels = r->level;
	r->levels = &r->level->next;
}

static void
close_rule(struct reader *r)
{
	if (r->rule->broken)
		return;
	if (!r->rule->level) {
		import_note(r->n, r->t->file, r->rule->line, "the rule is left out: it has no "
			    "qos-level-name" WRONG);
		return;
	}
	*r->rules = r->rule;
	r->rules = &r->rule->next;
}

static void
close_block(struct reader *r)
{
	if (r->block == GROUP)
		close_group(r);
	else if (r->block == LEVEL)
		close_level(r);
	else if (r->block == RULE)
		close_rule(r);
	r->block = blocks[r->block].in;
}

/* Does the line begin or end a block? */
static bool
is_bracket(struct reader *r, struct import_word line)
{
	bool ends = line.len > 4 && memcmp(line.s, "end-", 4) == 0;
	struct import_word name = ends ? (struct import_word){ line.s + 4, line.len - 4 } : line;

	if (ends && r->block != TOP && import_is(name, blocks[r->block].name)) {
		close_block(r);
		return true;
	}
	for (unsigned b = GROUPS; !ends && r->block != SETUP && b < BLOCKS; b++)
		if (blocks[b].in == r->block && import_is(name, blocks[b].name)) {
			open_block(r, (enum block)b);
			return true;
		}
	return false;
}

static void
read_ulp(struct reader *r, struct import_word line)
{
	const char *why = NULL;
	struct import_rule *rule = import_ulp_read(r->n->region, line, &r->p->usual, &why);

	if (why)
		NOTE(r, "\"%.*s\" is left out: %s" WRONG, IMPORT_WORD(line), why);
	if (!rule)
		return;
	rule->line = r->t->line;
	*r->ulp = rule;
	r->ulp = &rule->next;
}

static void
read_line(struct reader *r, struct import_word line)
{
	if (is_bracket(r, line) || r->block == SETUP)
		return;
	if (r->block == ULPS)
		read_ulp(r, line);
	else if (r->block == GROUP || r->block == LEVEL || r->block == RULE)
		read_key(r, line);
	else
		NOTE(r, "\"%.*s\" is left out: it is nothing that stands %s%s" WRONG,
		     IMPORT_WORD(line), r->block ? "in " : "outside of sections",
		     blocks[r->block].name);
}

static bool
goes_on(struct import_word line)
{
	return line.len && line.s[line.len - 1] == ',';
}

/* A line, and those on which it goes on. */
static bool
whole_line(struct reader *r, struct import_word *line)
{
	struct buf whole = { 0 };
	struct import_word more;

	if (!import_line(r->t, line))
		return false;
	if (!goes_on(*line))
		return true;
	buf_add(&whole, line->s, line->len);
	do {
		if (!import_line(r->t, &more))
			break;
		buf_add(&whole, more.s, more.len);
	} while (goes_on(more));
	line->s = import_copy(r->n->region, (struct import_word){ whole.data, whole.len });
	line->len = whole.len;
	buf_free(&whole);
	return true;
}

struct import_policy *
import_policy_read(struct import_text *t, struct import_notes *n)
{
	struct reader r = { .t = t, .n = n };
	struct import_word line;

	r.p = region_alloc(n->region, sizeof(*r.p));
	r.p->usual = IMPORT_NO_SL;
	r.groups = &r.p->groups;
	r.levels = &r.p->levels;
	r.rules = &r.p->rules;
	r.ulp = &r.ulps;
	while (whole_line(&r, &line))
		if (line.len)
			read_line(&r, line);
	while (r.block != TOP) {
		NOTE(&r, "end-%s is missing" WRONG, blocks[r.block].name);
		close_block(&r);
	}
	*r.rules = r.ulps;
	return r.p;
}
