/* SPDX-License-Identifier: BSD-2-Clause */
#include "offline/import.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <string.h>

/*
 * partitions.conf of OpenSM as its manual page defines it:
 *
 *	NAME=KEY, FLAG, FLAG=VALUE : MEMBER, MEMBER=MEMBERSHIP
 *		mgid=GID, FLAG=VALUE	(takes the rest of its line)
 *		MEMBER ;
 *
 * A statement ends at its semicolon and may have many lines; what stands before its colon is on the
 * first. Three things are unlike what OpenSM does, and each is told in a note where it happens:
 *
 * - OpenSM takes any beginning of a word for the word: "f" for full, "A" for ALL, and an empty
 *   membership, as in "0x1=", for full too. Here a word is the whole word: an unknown flag is none,
 *   an unknown membership is limited (as the manual says), an unknown member is nobody, so that
 *   nobody gets more than is written.
 * - Of a file with one mistake OpenSM takes nothing, and makes every port a full member of the
 *   default partition. Here what is wrong is left out, and all else counts.
 * - To OpenSM it is a mistake, too, if a line is longer than 4094 bytes, starts with a semicolon,
 *   or has flags behind the first colon, "name=1 : defmember=limited : 0x1", as its manual has it.
 *   Here all of that is what it looks like.
 */
#define OPEN "; OpenSM takes nothing of a file with that, and makes every port a full member of " \
	"the default partition"
#define OPENSM_LINE 4094u

struct reader {
	struct import_text *t;		/* what is read */
	struct import_notes *n;		/* what is said of it */
	struct import_partition *first;	/* statements, in order */
	struct import_partition **tail;	/* where the next one goes */
	struct import_partition *now;	/* the one being read; NULL: between two */
	struct import_member **member;	/* where its next member goes */
	struct import_mgid **mgid;	/* where its next group goes */
	enum config_membership defmember;	/* of its members */
	bool broken;			/* it is skipped up to its end */
};

#define NOTE(r, ...) import_note((r)->n, (r)->t->file, (r)->t->line, __VA_ARGS__)

static const char *const memberships[] = { "limited", "full", "both" };

/* What OpenSM would have made of it, or NULL. */
static const char *
prefix_of(struct import_word w, const char *const *words, unsigned len)
{
	for (unsigned i = 0; i < len; i++)
		if (import_abbreviates(w, words[i]))
			return words[i];
	return NULL;
}

/* NAME=VALUE; false: there is no "=". */
static bool
split(struct import_word piece, struct import_word *name, struct import_word *value)
{
	bool has = import_cut(&piece, '=', name);

	*value = import_trim(piece);
	return has;
}

struct number_flag {
	const char *name;	/* whole */
	uint64_t min;		/* least value */
	uint64_t max;		/* greatest */
};

enum {
	FLAG_MTU, FLAG_RATE, FLAG_SCOPE, FLAG_QKEY, FLAG_TCLASS, FLAG_SL, FLAG_LABEL, NUMBER_FLAGS,
};

static const struct number_flag number_flags[NUMBER_FLAGS] = {
	[FLAG_MTU] = { "mtu", 1, 5 },
	[FLAG_RATE] = { "rate", 2, 24 },
	[FLAG_SCOPE] = { "scope", 1, 15 },
	[FLAG_QKEY] = { "Q_Key", 0, UINT32_MAX },
	[FLAG_TCLASS] = { "TClass", 0, 255 },
	[FLAG_SL] = { "sl", 0, 15 },
	[FLAG_LABEL] = { "FlowLabel", 0, 0xfffff },
};

static void
set_flag(struct import_flags *f, int which, uint64_t v)
{
	switch (which) {
	case FLAG_MTU:
		f->mtu = (unsigned)v;
		break;
	case FLAG_RATE:
		f->rate = (unsigned)v;
		break;
	case FLAG_SCOPE:
		f->scopes |= 1u << v;
		break;
	case FLAG_QKEY:
		f->qkey = (uint32_t)v;
		break;
	case FLAG_TCLASS:
		f->tclass = (unsigned)v;
		break;
	case FLAG_SL:
		f->sl = (unsigned)v;
		break;
	default:
		f->flow_label = (unsigned)v;
		break;
	}
}

/* False: it is no flag of a multicast group. */
static bool
read_group_flag(struct reader *r, struct import_flags *f, struct import_word name,
		struct import_word value)
{
	for (int i = 0; i < NUMBER_FLAGS; i++) {
		const struct number_flag *flag = &number_flags[i];
		uint64_t v;

		if (!import_is(name, flag->name))
			continue;
		if (import_number(value, flag->max, &v) && v >= flag->min)
			set_flag(f, i, v);
		else
			NOTE(r, "%s=%.*s is left out: it is a number from %llu to %llu",
			     flag->name, IMPORT_WORD(value), (unsigned long long)flag->min,
			     (unsigned long long)flag->max);
		return true;
	}
	return false;
}

static void
unknown_flag(struct reader *r, struct import_word name)
{
	static const char *const words[] = {
		"mtu", "rate", "scope", "Q_Key", "TClass", "sl", "FlowLabel", "ipoib", "defmember",
		"indx0",
	};
	const char *taken = prefix_of(name, words, sizeof(words) / sizeof(words[0]));

	if (taken)
		NOTE(r, "flag %.*s is left out: OpenSM takes it for %s, write the whole word",
		     IMPORT_WORD(name), taken);
	else
		NOTE(r, "flag %.*s is unknown, to OpenSM too, and left out", IMPORT_WORD(name));
}

/* False: the membership is none, and *m is as it was. */
static bool
read_membership(struct import_word w, enum config_membership *m)
{
	for (unsigned i = 0; i < 3; i++) {
		if (import_is(w, memberships[i])) {
			*m = (enum config_membership)i;
			return true;
		}
	}
	return false;
}

static void
read_flag(struct reader *r, struct import_word piece)
{
	struct import_word name, value;

	split(piece, &name, &value);
	if (!name.len || read_group_flag(r, &r->now->flags, name, value))
		return;
	if (import_is(name, "ipoib"))
		r->now->ipoib = true;
	else if (import_is(name, "indx0"))
		r->now->index0 = true;
	else if (!import_is(name, "defmember"))
		unknown_flag(r, name);
	else if (!read_membership(value, &r->defmember))
		NOTE(r, "defmember=%.*s is left out: it is full, limited or both",
		     IMPORT_WORD(value));
}

/* 0 with *pkey, of which OpenSM keeps the low 15 bits; or false. */
static bool
read_pkey(struct reader *r, struct import_word w, unsigned *pkey)
{
	uint64_t v;

	if (!import_number(w, UINT64_MAX, &v))
		return false;
	if (v > 0xffff)
		NOTE(r, "P_Key %.*s has more than 16 bits; as in OpenSM the low 15 of them count",
		     IMPORT_WORD(w));
	*pkey = (unsigned)(v & 0x7fff);
	return true;
}

/* What stands before the first colon. */
static void
read_header(struct reader *r, struct import_word header)
{
	struct import_partition *p = region_alloc(r->n->region, sizeof(*p));
	struct import_word piece, name, key;
	bool more = import_cut(&header, ',', &piece);
	bool keyed = split(piece, &name, &key);

	if (!keyed && name.len && isdigit((unsigned char)*name.s)) {
		key = name;
		name.len = 0;
		keyed = true;
	}
	if (keyed && !read_pkey(r, key, &p->pkey)) {
		NOTE(r, "the statement is left out: \"%.*s\" is no P_Key" OPEN, IMPORT_WORD(key));
		r->broken = true;
		return;
	}
	p->name = import_copy(r->n->region, name);
	p->line = r->t->line;
	p->flags = (struct import_flags){ .mtu = 4, .rate = 3 };
	r->now = *r->tail = p;
	r->tail = &p->next;
	r->member = &p->members;
	r->mgid = &p->groups;
	r->defmember = MEMBERSHIP_LIMITED;
	while (more) {
		more = import_cut(&header, ',', &piece);
		read_flag(r, piece);
	}
}

/* mgid=GID and its flags, which are the rest of the line. */
static void
read_mgid(struct reader *r, struct import_word gid, struct import_word flags)
{
	struct import_mgid *g = region_alloc(r->n->region, sizeof(*g));
	struct import_word piece, name, value;
	char text[INET6_ADDRSTRLEN] = "";

	if (gid.len < sizeof(text))
		memcpy(text, gid.s, gid.len);
	if (inet_pton(AF_INET6, text, g->gid) != 1 || g->gid[0] != 0xff) {
		NOTE(r, "group %.*s is left out: it is no multicast GID, for OpenSM neither",
		     IMPORT_WORD(gid));
		return;
	}
	g->line = r->t->line;
	g->flags = r->now->flags;
	g->flags.tclass = 0;	/* the only one that OpenSM does not hand on */
	while (flags.len) {
		import_cut(&flags, ',', &piece);
		split(piece, &name, &value);
		if (name.len && !read_group_flag(r, &g->flags, name, value))
			unknown_flag(r, name);
	}
	*r->mgid = g;
	r->mgid = &g->next;
}

static const struct {
	const char *word;		/* whole */
	enum import_whom whom;		/* what it means */
} kinds[] = {
	{ "ALL", IMPORT_ALL }, { "ALL_CAS", IMPORT_CAS }, { "ALL_SWITCHES", IMPORT_SWITCHES },
	{ "ALL_ROUTERS", IMPORT_ROUTERS }, { "SELF", IMPORT_SELF },
};

/* False: it is nobody, which is said. */
static bool
read_whom(struct reader *r, struct import_word name, struct import_member *m)
{
	const char *taken = import_abbreviates(name, "NONE") ? "NONE" : NULL;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (import_is(name, kinds[i].word)) {
			m->whom = kinds[i].whom;
			return true;
		}
		if (!taken && import_abbreviates(name, kinds[i].word))
			taken = kinds[i].word;
	}
	m->whom = IMPORT_PORT;
	if (import_number(name, UINT64_MAX, &m->guid) && m->guid) {
		if (name.len > 1 && name.s[0] == '0' && isdigit((unsigned char)name.s[1]))
			NOTE(r, "%.*s is read as an octal number, as OpenSM does; GUIDs in hex "
			     "start with 0x", IMPORT_WORD(name));
		return true;
	}
	if (taken)
		NOTE(r, "member %.*s is left out: OpenSM takes it for %s, write the whole word",
		     IMPORT_WORD(name), taken);
	else
		NOTE(r, "member %.*s is left out: it is no port GUID" OPEN, IMPORT_WORD(name));
	return false;
}

static void
member_membership(struct reader *r, struct import_word name, struct import_word value,
		  enum config_membership *m)
{
	const char *taken;

	if (read_membership(value, m))
		return;
	taken = value.len ? prefix_of(value, memberships, 3) : "full";
	*m = MEMBERSHIP_LIMITED;
	if (!taken || strcmp(taken, "limited") == 0)
		NOTE(r, "%.*s=%.*s: that is no membership; it is a limited one, as in OpenSM",
		     IMPORT_WORD(name), IMPORT_WORD(value));
	else
		NOTE(r, "%.*s=%.*s: that is no membership, and a limited one here; OpenSM takes it "
		     "for %s: write the whole word if that is meant", IMPORT_WORD(name),
		     IMPORT_WORD(value), taken);
}

static void
read_member(struct reader *r, struct import_word name, bool said, struct import_word value)
{
	struct import_member m = { .membership = r->defmember, .line = r->t->line }, *kept;

	if (!name.len || import_is(name, "NONE") || !read_whom(r, name, &m))
		return;
	if (said)
		member_membership(r, name, value, &m.membership);
	kept = region_alloc(r->n->region, sizeof(*kept));
	*kept = m;
	*r->member = kept;
	r->member = &kept->next;
}

/* "defmember=full :" behind the first colon. */
static void
read_later_flags(struct reader *r, struct import_word *body)
{
	struct import_word rest = *body, flags, name, value;

	if (!import_cut(&rest, ':', &flags) || !split(flags, &name, &value) ||
	    !import_is(name, "defmember"))
		return;
	NOTE(r, "%.*s behind the colon is taken as the manual page of OpenSM shows it" OPEN,
	     IMPORT_WORD(flags));
	read_flag(r, flags);
	*body = rest;
}

static void
read_body(struct reader *r, struct import_word body)
{
	bool more = true;

	while (more) {
		struct import_word piece, name, value;
		bool said;

		more = import_cut(&body, ',', &piece);
		said = split(piece, &name, &value);
		if (said && import_is(name, "mgid")) {
			read_mgid(r, value, body);
			return;
		}
		read_member(r, name, said, value);
	}
}

/* A line, or what of it is of one statement. */
static void
read_piece(struct reader *r, struct import_word piece)
{
	struct import_word header;

	if (r->broken || !piece.len)
		return;
	if (!r->now) {
		if (!import_cut(&piece, ':', &header)) {
			NOTE(r, "the statement is left out: there is no colon in its first line"
			     OPEN);
			r->broken = true;
			return;
		}
		read_header(r, header);
		if (r->broken)
			return;
		read_later_flags(r, &piece);
	}
	read_body(r, piece);
}

struct import_partition *
import_partitions_read(struct import_text *t, struct import_notes *n)
{
	struct reader r = { .t = t, .n = n };
	struct import_word line, piece;

	r.tail = &r.first;
	while (import_line(t, &line)) {
		if (t->len > OPENSM_LINE)
			NOTE(&r, "the line has %zu bytes and is taken whole; OpenSM reads it in "
			     "pieces of %u, whose ends it may take for mistakes", t->len,
			     OPENSM_LINE);
		while (import_cut(&line, ';', &piece)) {
			if (!piece.len)
				NOTE(&r, "there is nothing before the semicolon" OPEN);
			read_piece(&r, piece);
			r.now = NULL;
			r.broken = false;
		}
		read_piece(&r, piece);
	}
	return r.first;
}
