/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What must survive of partitions and of names in rules, in the store's table of that name:
 *
 *	"SUBNET/partition/NAME" -> "0xPKEY"	a command made it, perhaps with " ipoib"; 0x0000: it
 *						gave members to one of the file
 *	"SUBNET/member/NAME/0xGUID" -> "full"	limited, full or both, and " index0"
 *	"SUBNET/names/NAME/SELECTION" -> "0xGUID 0xGUID ..."
 *						what a name was found to mean when it was applied;
 *						"NAME:SELECTION" for an exception
 *	"SUBNET/rules/qos/SELECTION" -> likewise, of rules of quality of service
 *
 * Names of partitions have no "/" and no ":", those of subnets neither. A row that cannot be read
 * is told and passed over: nobody becomes a member by it. Of a name the GUIDs that can be read
 * count, so that it does not select those who have it at that moment.
 */
#include "sm/core/subnet_i.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "sm/base/buf.h"
#include "sm/base/mem.h"
#include "sm/base/text.h"

/* ---- Rows ---- */

static void
row_free(struct part_row *r)
{
	mem_free((char *)(uintptr_t)r->name);
	mem_free((struct part_member *)(uintptr_t)r->members);
}

void
part_rows_free(struct part_rows *r)
{
	for (uint32_t i = 0; i < r->len; i++)
		row_free(&r->list[i]);
	mem_free(r->list);
	*r = (struct part_rows){ 0 };
}

/* From the end: members are loaded row by row, in order of their partitions' names. */
struct part_row *
part_rows_find(const struct part_rows *r, const char *name)
{
	for (uint32_t i = r->len; i-- > 0;)
		if (!strcmp(r->list[i].name, name))
			return &r->list[i];
	return NULL;
}

struct part_row *
part_rows_add(struct part_rows *r, const char *name, uint16_t pkey)
{
	r->list = mem_realloc(r->list, r->len + 1u, sizeof(*r->list));
	r->list[r->len] = (struct part_row){ .name = mem_strdup(name), .pkey = pkey };
	return &r->list[r->len++];
}

void
part_rows_remove(struct part_rows *r, const char *name)
{
	struct part_row *row = part_rows_find(r, name);

	if (!row)
		return;
	row_free(row);
	*row = r->list[--r->len];
}

void
part_rows_copy(struct part_rows *to, const struct part_rows *from)
{
	*to = (struct part_rows){ .len = from->len };
	to->list = mem_array(from->len + 1u, sizeof(*to->list));
	for (uint32_t i = 0; i < from->len; i++) {
		const struct part_row *r = &from->list[i];
		struct part_member *m = mem_array(r->nmembers + 1u, sizeof(*m));

		if (r->nmembers)
			memcpy(m, r->members, r->nmembers * sizeof(*m));
		to->list[i] = *r;
		to->list[i].name = mem_strdup(r->name);
		to->list[i].members = m;
	}
}

/* Where the GUID is among the members, or belongs. */
static uint32_t
place_of(const struct part_row *r, uint64_t guid)
{
	uint32_t low = 0, high = r->nmembers;

	while (low < high) {
		uint32_t mid = (low + high) / 2;

		if (r->members[mid].guid < guid)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

void
part_row_set(struct part_row *r, const struct part_member *m)
{
	struct part_member *list = (struct part_member *)(uintptr_t)r->members;
	uint32_t at = place_of(r, m->guid);

	if (at == r->nmembers || list[at].guid != m->guid) {
		list = mem_realloc(list, r->nmembers + 1u, sizeof(*list));
		memmove(list + at + 1, list + at, (r->nmembers - at) * sizeof(*list));
		r->nmembers++;
		r->members = list;
	}
	list[at] = *m;
	list[at].origin = PART_COMMAND;
}

bool
part_row_unset(struct part_row *r, uint64_t guid)
{
	struct part_member *list = (struct part_member *)(uintptr_t)r->members;
	uint32_t at = place_of(r, guid);

	if (at == r->nmembers || list[at].guid != guid)
		return false;
	memmove(list + at, list + at + 1, (r->nmembers - at - 1u) * sizeof(*list));
	r->nmembers--;
	return true;
}

/* ---- Reading ---- */

static const char *const memberships[] = {
	[MEMBERSHIP_LIMITED] = "limited", [MEMBERSHIP_FULL] = "full", [MEMBERSHIP_BOTH] = "both",
};

static bool
load_partition(struct subnet *s, const char *name, const char *value)
{
	struct part_row *r = part_rows_find(&s->parts.rows, name);
	size_t word = strcspn(value, " ");
	char digits[8];
	uint64_t pkey;

	if (word >= sizeof(digits) || strlen(name) > PART_NAME_MAX ||
	    (value[word] && strcmp(value + word, " ipoib")))
		return false;
	snprintf(digits, sizeof(digits), "%.*s", (int)word, value);
	if (!number_parse(digits, 0, PKEY_NUMBER, &pkey))
		return false;
	if (!r)
		r = part_rows_add(&s->parts.rows, name, (uint16_t)pkey);
	r->pkey = (uint16_t)pkey;
	r->ipoib = value[word] != '\0';
	return true;
}

/* Members stand before partitions in the order of keys. */
static bool
load_member(struct subnet *s, const char *rest, const char *value)
{
	const char *slash = strrchr(rest, '/');
	char name[PART_NAME_MAX + 1];
	struct part_member m = { .origin = PART_COMMAND };
	size_t word = strcspn(value, " ");
	struct part_row *r;

	if (!slash || (size_t)(slash - rest) > PART_NAME_MAX || !guid_parse(slash + 1, &m.guid))
		return false;
	snprintf(name, sizeof(name), "%.*s", (int)(slash - rest), rest);
	while (m.membership <= MEMBERSHIP_BOTH &&
	       (strlen(memberships[m.membership]) != word ||
		strncmp(memberships[m.membership], value, word)))
		m.membership++;
	if (m.membership > MEMBERSHIP_BOTH)
		return false;
	m.index0 = strstr(value, " index0");
	r = part_rows_find(&s->parts.rows, name);
	part_row_set(r ? r : part_rows_add(&s->parts.rows, name, 0), &m);
	return true;
}

static bool
load_names(struct pins *pins, const char *key, const char *value)
{
	uint64_t *guids = mem_array(strlen(value) / 2 + 2, sizeof(*guids));
	char *copy = mem_strdup(value), *save = NULL;
	uint32_t len = 0;
	bool ok = true;

	for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
		bool is_guid = guid_parse(w, &guids[len]);

		len += is_guid;
		ok &= is_guid;
	}
	pins_set(pins, key, guids, len);
	mem_free(copy);
	mem_free(guids);
	return ok;
}

static void
load_row(void *arg, const char *key, const char *value)
{
	struct subnet *s = arg;
	size_t len = strlen(s->conf->name);
	bool ok = true;

	if (strncmp(key, s->conf->name, len) || key[len] != '/')
		return;
	key += len + 1;
	if (!strncmp(key, "partition/", 10))
		ok = load_partition(s, key + 10, value);
	else if (!strncmp(key, "member/", 7))
		ok = load_member(s, key + 7, value);
	else if (!strncmp(key, "names/", 6))
		ok = load_names(s->parts.pins, key + 6, value);
	else if (!strncmp(key, "rules/", 6))
		ok = load_names(s->parts.rule_pins, key + 6, value);
	else if (!strcmp(key, "ours"))
		s->parts.ours = true;
	if (!ok)
		log_warning("the stored \"%.80s\" of partitions cannot be read and is passed over",
			    key);
}

/* A partition of the file that commands gave members to has none of its own any more. */
static void
drop_if_empty(struct subnet *s, const struct part_row *r)
{
	if (!r->pkey && !r->nmembers)
		part_rows_remove(&s->parts.rows, r->name);
}

static void
unload_partition(struct subnet *s, const char *name)
{
	struct part_row *r = part_rows_find(&s->parts.rows, name);

	if (!r)
		return;
	r->pkey = 0;
	r->ipoib = false;
	drop_if_empty(s, r);
}

static void
unload_member(struct subnet *s, const char *rest)
{
	const char *slash = strrchr(rest, '/');
	char name[PART_NAME_MAX + 1];
	struct part_row *r;
	uint64_t guid;

	if (!slash || (size_t)(slash - rest) > PART_NAME_MAX || !guid_parse(slash + 1, &guid))
		return;
	snprintf(name, sizeof(name), "%.*s", (int)(slash - rest), rest);
	r = part_rows_find(&s->parts.rows, name);
	if (r && part_row_unset(r, guid))
		drop_if_empty(s, r);
}

/* What a name meant stays known when its row goes: nothing asks for it then. */
void
part_store_take(struct subnet *s, const char *key, const char *value)
{
	size_t len = strlen(s->conf->name);

	if (strncmp(key, s->conf->name, len) || key[len] != '/')
		return;
	if (value)
		load_row(s, key, value);
	else if (!strncmp(key + len + 1, "partition/", 10))
		unload_partition(s, key + len + 11);
	else if (!strncmp(key + len + 1, "member/", 7))
		unload_member(s, key + len + 8);
	if (strcmp(key + len + 1, "ours"))
		partitions_changed(s);
}

void
part_store_load(struct subnet *s)
{
	struct error e;

	if (store_scan(s->env.store, STORE_PARTITIONS, load_row, s, &e))
		log_warning("what is stored of partitions cannot be read: %s", e.text);
}

/* ---- Writing ---- */

/* The row of that name, or of a member of what has it (a GUID; ""); NULL as value: it goes. */
static void
put(struct subnet *s, const char *value, const char *kind, const char *name, const char *guid)
{
	struct buf key = { 0 };

	buf_printf(&key, "%s/%s/%s%s%s", s->conf->name, kind, name, *guid ? "/" : "", guid);
	if (value)
		store_put(s->env.store, STORE_PARTITIONS, key.data, value);
	else
		store_delete(s->env.store, STORE_PARTITIONS, key.data);
	buf_free(&key);
}

static const struct part_member *
member_of(const struct part_row *r, uint64_t guid)
{
	uint32_t at = r ? place_of(r, guid) : 0;

	return r && at < r->nmembers && r->members[at].guid == guid ? &r->members[at] : NULL;
}

static void
put_members(struct subnet *s, const struct part_row *from, const struct part_row *to)
{
	char guid[GUID_TEXT_SIZE], value[32];

	for (uint32_t i = 0; i < to->nmembers; i++) {
		const struct part_member *m = &to->members[i], *was = member_of(from, m->guid);

		if (was && was->membership == m->membership && was->index0 == m->index0)
			continue;
		snprintf(value, sizeof(value), "%s%s", memberships[m->membership],
			 m->index0 ? " index0" : "");
		put(s, value, "member", to->name, guid_text(guid, m->guid));
	}
}

static void
drop_members(struct subnet *s, const struct part_row *from, const struct part_row *to)
{
	char guid[GUID_TEXT_SIZE];

	for (uint32_t i = 0; i < from->nmembers; i++)
		if (!member_of(to, from->members[i].guid))
			put(s, NULL, "member", from->name,
			    guid_text(guid, from->members[i].guid));
}

void
part_store_row(struct subnet *s, const struct part_row *from, const struct part_row *to)
{
	char value[16];

	if (from)
		drop_members(s, from, to);
	if (from && !to)
		put(s, NULL, "partition", from->name, "");
	if (to && (!from || from->pkey != to->pkey || from->ipoib != to->ipoib)) {
		snprintf(value, sizeof(value), "0x%04x%s", to->pkey, to->ipoib ? " ipoib" : "");
		put(s, value, "partition", to->name, "");
	}
	if (to)
		put_members(s, from, to);
}

struct pin_diff {
	struct subnet *s;
	const char *kind;		/* "names" of partitions, "rules" */
	const struct pins *other;	/* held against it */
};

static void
drop_pin(void *arg, const char *key, const uint64_t *guids, uint32_t len)
{
	struct pin_diff *d = arg;

	(void)guids;
	if (!pins_get(d->other, key, &len))
		put(d->s, NULL, d->kind, key, "");
}

static void
put_pin(void *arg, const char *key, const uint64_t *guids, uint32_t len)
{
	struct pin_diff *d = arg;
	uint32_t was_len;
	const uint64_t *was = pins_get(d->other, key, &was_len);
	char guid[GUID_TEXT_SIZE];
	struct buf value = { 0 };

	if (was && was_len == len && !memcmp(was, guids, len * sizeof(*guids)))
		return;
	buf_str(&value, "");
	for (uint32_t i = 0; i < len; i++)
		buf_printf(&value, "%s%s", i ? " " : "", guid_text(guid, guids[i]));
	put(d->s, value.data, d->kind, key, "");
	buf_free(&value);
}

void
part_store_pins(struct subnet *s, const char *kind, const struct pins *from, const struct pins *to)
{
	struct pin_diff drop = { s, kind, to }, add = { s, kind, from };

	pins_each(from, drop_pin, &drop);
	pins_each(to, put_pin, &add);
}
