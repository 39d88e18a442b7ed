/* SPDX-License-Identifier: BSD-2-Clause */
#include "offline/import.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "sm/base/lockfile.h"
#include "sm/base/loop.h"
#include "sm/base/map.h"
#include "sm/base/text.h"
#include "sm/store/store.h"

/*
 * guid2lid of OpenSM: a port's GUID, its lowest and its highest LID in each line. They become
 * records of LIDs in a state file (sm/core/lids.c), so that ports that are away keep theirs when
 * they come back. Ports that are there keep what they hold in any case.
 *
 * A state file that weftd runs with, or that has LIDs of the subnet already, is left as it is: what
 * weftd knows is newer.
 */
#define LID_MAX 0xbfffu
#define SECOND 1000000		/* of loop_wall() */

struct reader {
	struct import_text *t;		/* what is read */
	struct import_notes *n;		/* what is said of it */
	struct map guids;		/* to the line that has them */
	struct map lids;		/* likewise */
};

#define NOTE(r, ...) import_note((r)->n, (r)->t->file, (r)->t->line, __VA_ARGS__)

/* Up to the next blank. */
static struct import_word
next_word(struct import_word *line)
{
	size_t len = 0;
	struct import_word w;

	while (len < line->len && line->s[len] != ' ' && line->s[len] != '\t')
		len++;
	w = (struct import_word){ line->s, len };
	*line = import_trim((struct import_word){ line->s + len, line->len - len });
	return w;
}

/* The LMC of a port with these LIDs; -1: no port has just these. */
static int
lmc_of(uint64_t low, uint64_t high)
{
	for (int lmc = 0; lmc <= 7; lmc++)
		if (high - low + 1 == UINT64_C(1) << lmc)
			return low % (UINT64_C(1) << lmc) ? -1 : lmc;
	return -1;
}

/* The line that says something of the GUID or one of the LIDs already; MAP_NONE. */
static uint32_t
said_before(const struct reader *r, const struct import_lid *l)
{
	uint32_t line = map_get(&r->guids, l->guid);

	for (unsigned i = 0; line == MAP_NONE && i < 1u << l->lmc; i++)
		line = map_get(&r->lids, l->lid + i);
	return line;
}

/* What one line says; NULL, or why nothing of it counts. */
static const char *
read_line(const struct reader *r, struct import_word line, struct import_lid *l)
{
	uint64_t low, high;
	uint32_t before;
	int lmc;

	if (!import_number(next_word(&line), UINT64_MAX, &l->guid) || !l->guid ||
	    !import_number(next_word(&line), UINT64_MAX, &low) ||
	    !import_number(next_word(&line), UINT64_MAX, &high) || line.len)
		return "it is no GUID with two LIDs";
	if (!low || low > high || high > LID_MAX)
		return "LIDs are from 1 to 0xbfff";
	lmc = lmc_of(low, high);
	if (lmc < 0)
		return "no port has just these LIDs, whatever its LMC";
	l->lid = (uint16_t)low;
	l->lmc = (uint8_t)lmc;
	before = said_before(r, l);
	return before == MAP_NONE ? NULL :
		region_printf(r->n->region, "line %u has the GUID or one of the LIDs already",
			      before);
}

struct import_lid *
import_lids_read(struct import_text *t, struct import_notes *n)
{
	struct reader r = { .t = t, .n = n };
	struct import_lid *first = NULL, **tail = &first;
	struct import_word line;

	while (import_line(t, &line)) {
		struct import_lid l = { .next = NULL };
		const char *why = line.len ? read_line(&r, line, &l) : NULL;

		if (why)
			NOTE(&r, "\"%.*s\" is left out: %s", IMPORT_WORD(line), why);
		if (why || !line.len)
			continue;
		map_set(&r.guids, l.guid, t->line);
		for (unsigned i = 0; i < 1u << l.lmc; i++)
			map_set(&r.lids, l.lid + i, t->line);
		*tail = region_alloc(n->region, sizeof(**tail));
		**tail = l;
		tail = &(*tail)->next;
	}
	map_free(&r.guids);
	map_free(&r.lids);
	return first;
}

/* ---- The state file ---- */

struct saving {
	const char *subnet;	/* whose LIDs they are */
	const char *path;	/* the state file */
	unsigned rows;		/* that it has of the subnet */
	int error;		/* of the commit */
	struct error *e;	/* why */
};

static void
count_row(void *arg, const char *key, const char *value)
{
	struct saving *s = arg;
	size_t len = strlen(s->subnet);

	(void)value;
	s->rows += strncmp(key, s->subnet, len) == 0 && key[len] == ' ';
}

static void
saved(void *arg, int error, const char *why)
{
	struct saving *s = arg;

	if (error)
		s->error = error_set(s->e, error, "the LIDs could not be saved: %s",
				     why ? why : error_name(error));
}

static void
put(struct store *store, const struct import_lid *l, const char *subnet, int64_t now)
{
	char key[64 + GUID_TEXT_SIZE], value[64], guid[GUID_TEXT_SIZE];

	snprintf(key, sizeof(key), "%.60s %s", subnet, guid_text(guid, l->guid));
	snprintf(value, sizeof(value), "%u %u %lld", l->lid, l->lmc, (long long)now);
	store_put(store, STORE_LIDS, key, value);
}

static int
save(struct saving *s, struct loop *loop, const struct import_lid *list)
{
	struct store *store = store_open_sqlite(loop, s->path, s->e);
	int rc;

	if (!store)
		return s->e->code;
	rc = store_scan(store, STORE_LIDS, count_row, s, s->e);
	if (!rc && s->rows)
		rc = error_set(s->e, ERR_EXISTS, "state file %s has %u LIDs of subnet %s already: "
			       "weftd led it, and knows better; name another file", s->path,
			       s->rows, s->subnet);
	for (; !rc && list; list = list->next)
		put(store, list, s->subnet, loop_wall(loop) / SECOND);
	if (!rc)
		store_commit(store, saved, s);
	store_close(store);
	return rc ? rc : s->error;
}

int
import_lids_save(const struct import_lid *list, const char *subnet, const char *path,
		 struct error *e)
{
	struct saving s = { .subnet = subnet, .path = path, .e = e };
	char holder[LOCKFILE_PID_SIZE];
	struct loop *loop;
	int lock = lockfile_take(path, holder, e), rc;

	if (lock == ERR_EXISTS)
		return error_set(e, ERR_EXISTS, "weftd (pid %s) runs with state file %s: stop it "
				 "first", holder, path);
	if (lock < 0)
		return lock;
	loop = loop_new_event();
	rc = save(&s, loop, list);
	loop_free(loop);
	close(lock);
	return rc;
}
