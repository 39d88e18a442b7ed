/* SPDX-License-Identifier: BSD-2-Clause */
#include "offline/import_policy.h"

#include <stdlib.h>
#include <string.h>
#include "sm/base/buf.h"

/*
 * Keys of opensm.conf that start with qos_: tables of VL arbitration, VLHighLimit and the lane of
 * each service level, for all ports (qos_) and for kinds of them (qos_ca_ and the like), which come
 * before those of all.
 *
 * OpenSM reads numbers as far as they go: an entry that is not there is 0:0, a lane that is not
 * there is 0, and what a link does not run is cut off bit by bit, lane 9 of 8 being lane 1. The
 * same is done here, for the number of lanes that is known. What is no list of numbers is told.
 */
#define ENTRIES_MAX 64u		/* of a table of arbitration */
#define LANES_ALL 15u
#define DROP 15u

/* What OpenSM has built in. */
#define BUILT_IN_HIGH "0:4,1:0,2:0,3:0,4:0,5:0,6:0,7:0,8:0,9:0,10:0,11:0,12:0,13:0,14:0"
#define BUILT_IN_LOW "0:0,1:4,2:4,3:4,4:4,5:4,6:4,7:4,8:4,9:4,10:4,11:4,12:4,13:4,14:4"
#define BUILT_IN_SL2VL "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,7"

static const struct {
	const char *prefix;	/* of its keys */
	const char *word;	/* of qos.arbitration */
} kinds[IMPORT_PORTS] = {
	[IMPORT_HOSTS] = { "qos_ca_", "hosts" },
	[IMPORT_PORT0] = { "qos_sw0_", "port0" },
	[IMPORT_EXTERNAL] = { "qos_swe_", "switches" },
	[IMPORT_ROUTER_PORTS] = { "qos_rtr_", "routers" },
};

struct tables {
	const struct import_option *list;	/* all keys */
	const char *file;	/* for notes */
	unsigned lanes;		/* what links run */
	bool folded;		/* some lane was not among these */
	struct import_notes *n;	/* what is said of it */
};

#define NOTE(t, at, ...) import_note((t)->n, (t)->file, (at)->line, __VA_ARGS__)

/* NULL: it says nothing. */
static const struct import_option *
option_of(const struct tables *t, const char *prefix, const char *what)
{
	const char *name = region_printf(t->n->region, "%s%s", prefix, what);
	const struct import_option *at = import_option_of(t->list, name);

	return at && *at->value && strcmp(at->value, "-1") != 0 ? at : NULL;
}

/* The key of a kind, else that of all. */
static const struct import_option *
table_of(const struct tables *t, enum import_ports kind, const char *what)
{
	const struct import_option *at = option_of(t, kinds[kind].prefix, what);

	return at ? at : option_of(t, "qos_", what);
}

static unsigned
fold(struct tables *t, const struct import_option *at, unsigned vl)
{
	if (t->lanes >= LANES_ALL)
		return vl;
	t->folded |= at && vl >= t->lanes;
	return vl & (t->lanes - 1);
}

static bool
number_of(struct import_word w, unsigned *v)
{
	uint64_t n;

	if (!import_number(w, UINT32_MAX, &n))
		return false;
	*v = (unsigned)n;
	return true;
}

/* The next "VL:WEIGHT"; false: there is none, or it cannot be read. */
static bool
next_pair(struct import_word *rest, unsigned *lane, unsigned *weight)
{
	struct import_word piece, vl;

	import_cut(rest, ',', &piece);
	return import_cut(&piece, ':', &vl) && number_of(vl, lane) &&
	       number_of(import_trim(piece), weight);
}

/* Entries up to the first that cannot be read, as a table of Weft. */
static const char *
arbitration_of(struct tables *t, enum import_ports kind, const char *what, const char *built_in)
{
	const struct import_option *at = table_of(t, kind, what);
	const char *value = at ? at->value : built_in, *text;
	struct import_word rest = { value, strlen(value) };
	struct buf out = { 0 };
	unsigned lane, weight, len = 0;

	while (len < ENTRIES_MAX && rest.len && next_pair(&rest, &lane, &weight))
		buf_printf(&out, "%s%u:%u", len++ ? ", " : "", fold(t, at, lane % LANES_ALL),
			   weight & 0xff);
	text = region_strdup(t->n->region, len ? out.data : "0:0");
	buf_free(&out);
	return text;
}

/* Lanes up to the first that cannot be read; returns how many. */
static unsigned
read_lanes(const char *value, unsigned vl[16])
{
	struct import_word rest = { value, strlen(value) }, piece;
	unsigned len = 0;

	while (len < 16 && rest.len) {
		import_cut(&rest, ',', &piece);
		if (!number_of(piece, &vl[len]))
			break;
		vl[len++] &= 15;
	}
	return len;
}

static void
lanes_of(struct tables *t, enum import_ports kind, uint8_t vl[16])
{
	const struct import_option *at = table_of(t, kind, "sl2vl");
	unsigned lanes[16] = { 0 };

	read_lanes(at ? at->value : BUILT_IN_SL2VL, lanes);
	for (unsigned sl = 0; sl < 16; sl++)
		vl[sl] = (uint8_t)(lanes[sl] == DROP ? DROP : fold(t, at, lanes[sl]));
}

static bool
read_limit(const struct import_option *at, unsigned *limit)
{
	return at && number_of((struct import_word){ at->value, strlen(at->value) }, limit) &&
	       *limit <= 255;
}

/* What is no number of 8 bits is not said. */
static unsigned
limit_of(const struct tables *t, enum import_ports kind)
{
	unsigned limit;

	if (read_limit(option_of(t, kinds[kind].prefix, "high_limit"), &limit) ||
	    read_limit(option_of(t, "qos_", "high_limit"), &limit))
		return limit;
	return 0;
}

/* ---- What is said of it ---- */

/* Behind qos_, qos_ca_ and the like; NULL: it is no key of a table. */
static const char *
key_of(const char *name)
{
	static const char *const words[] = {
		"high_limit", "vlarb_high", "vlarb_low", "sl2vl", "max_vls",
	};

	for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(name + 4, words[i]) == 0)
			return words[i];
		for (unsigned k = 0; k < IMPORT_PORTS; k++) {
			size_t len = strlen(kinds[k].prefix);

			if (strncmp(name, kinds[k].prefix, len) == 0 &&
			    strcmp(name + len, words[i]) == 0)
				return words[i];
		}
	}
	return NULL;
}

static void
note_table(const struct tables *t, const struct import_option *at)
{
	struct import_word rest = { at->value, strlen(at->value) };
	unsigned lane, weight, len = 0;

	for (; rest.len; len++)
		if (len == ENTRIES_MAX || !next_pair(&rest, &lane, &weight)) {
			NOTE(t, at, "%s: from entry %u on nothing is taken: %s", at->name, len + 1,
			     len == ENTRIES_MAX ? "a table has no more" : "it is no VL:WEIGHT");
			return;
		}
}

static void
note_key(const struct tables *t, const struct import_option *at, const char *key)
{
	unsigned lanes[16], len;

	if (strcmp(key, "max_vls") == 0) {
		if (strcmp(at->value, "0") != 0 && strcmp(at->value, "15") != 0)
			NOTE(t, at, "%s is left out: OpenSM does nothing with it; max_op_vls is "
			     "what counts", at->name);
	} else if (strcmp(key, "high_limit") == 0) {
		if (strcmp(at->value, "-1") != 0 && !read_limit(at, &len))
			NOTE(t, at, "%s %s is left out, as in OpenSM: it is no number from 0 to "
			     "255", at->name, at->value);
	} else if (strcmp(key, "sl2vl") == 0) {
		len = read_lanes(at->value, lanes);
		if (len < 16)
			NOTE(t, at, "%s has no lane for service level %u: those from there on are "
			     "on lane 0, as in OpenSM", at->name, len);
	} else {
		note_table(t, at);
	}
}

static void
note_keys(const struct tables *t)
{
	for (const struct import_option *at = t->list; at; at = at->next) {
		const char *key;

		if (strncmp(at->name, "qos_", 4) != 0 || !*at->value ||
		    import_option_of(t->list, at->name) != at ||
		    strcmp(at->name, "qos_policy_file") == 0)
			continue;
		key = key_of(at->name);
		if (key)
			note_key(t, at, key);
		else
			NOTE(t, at, "%s is no key of OpenSM that Weft knows, and left out",
			     at->name);
	}
}

void
import_tables(const struct import_option *list, const char *file, unsigned lanes,
	      struct import_tables tables[IMPORT_PORTS], struct import_notes *n)
{
	struct tables t = { list, file, lanes, false, n };

	for (unsigned k = 0; k < IMPORT_PORTS; k++) {
		enum import_ports kind = (enum import_ports)k;

		lanes_of(&t, kind, tables[k].vl);
		tables[k].high = arbitration_of(&t, kind, "vlarb_high", BUILT_IN_HIGH);
		tables[k].low = arbitration_of(&t, kind, "vlarb_low", BUILT_IN_LOW);
		tables[k].limit = limit_of(&t, kind);
	}
	note_keys(&t);
	if (t.folded)
		import_note(n, file, 0, "tables of qos name lanes from %u on: they are folded to "
			    "lanes 0 to %u, as OpenSM does on links with %u lanes", lanes,
			    lanes - 1, lanes);
}

/* ---- Into a configuration ---- */

static bool
same(const struct import_tables *a, const struct import_tables *b)
{
	return a->limit == b->limit && strcmp(a->high, b->high) == 0 &&
	       strcmp(a->low, b->low) == 0;
}

static void
put(struct config *c, const char *ports, const struct import_tables *t)
{
	c->qos.arbitration[c->qos.narbitration++] = (struct config_arbitration){
		.ports = ports, .high = region_strdup(c->region, t->high),
		.low = region_strdup(c->region, t->low), .high_limit = t->limit,
	};
}

/* That of ports of switches is for all; who has another one, has an entry of its own. */
void
import_arbitration(const struct import_tables tables[IMPORT_PORTS], struct config *c)
{
	const struct import_tables *most = &tables[IMPORT_EXTERNAL];

	c->qos.arbitration = region_array(c->region, IMPORT_PORTS, sizeof(*c->qos.arbitration));
	c->qos.narbitration = 0;
	put(c, "all", most);
	for (unsigned k = 0; k < IMPORT_PORTS; k++)
		if (!same(&tables[k], most))
			put(c, kinds[k].word, &tables[k]);
	c->qos.high_limit = most->limit;
}
