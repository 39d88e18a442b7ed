/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Partitions changed by commands (`weft partition ...`), one command at a time: checked against
 * what is in force, compiled on the worker, refused if a port that had room has none any more, put
 * to the store and pushed. The answer comes when both are done. A rehearsal ends when it is
 * compiled.
 */
#include "sm/core/subnet_i.h"

#include <stdio.h>
#include <string.h>
#include "sm/base/mem.h"
#include "sm/base/text.h"

/* What the store is at; it frees it, for the command and the subnet may be over before. */
struct part_commit {
	struct subnet *s;	/* NULL: nobody waits for it any more */
};

/* ---- The answer ---- */

static void
change_free(struct subnet *s)
{
	partition_change_free(s->parts.command.c);
	mem_free(s->parts.command.report.list);
	part_rows_free(&s->parts.command.rows);
}

void
part_change_answer(struct subnet *s, int err, const char *fmt, ...)
{
	partition_done_fn fn = s->parts.command.done;
	void *arg = s->parts.command.arg;
	struct partition_report report = s->parts.command.report;
	char text[1600];
	va_list ap;

	if (!fn)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	s->parts.command.report.list = NULL;
	if (s->parts.command.commit)
		s->parts.command.commit->s = NULL;
	change_free(s);
	memset(&s->parts.command, 0, sizeof(s->parts.command));
	fn(arg, err, text, err ? NULL : &report);
	mem_free(report.list);
}

/* ---- What is asked ---- */

static const struct partition *
in_force(const struct subnet *s, const char *name)
{
	return s->parts.policy ? policy_by_name(s->parts.policy, name) : NULL;
}

static int
no_partition(const struct subnet *s, const char *name, struct error *e)
{
	return error_set(e, ERR_NOT_FOUND, "subnet %s has no partition \"%s\": weft show "
			 "partitions lists those that it has", s->conf->name, name);
}

/* The least number that is free; 0: none. */
static uint16_t
free_pkey(const struct subnet *s, const struct part_rows *rows)
{
	const struct policy *p = s->parts.policy;
	bool *taken = mem_array(PKEY_NUMBER + 1u, sizeof(*taken));
	uint16_t pkey = 1;

	for (uint32_t i = 0; p && i < p->len; i++)
		taken[p->list[i]->pkey & PKEY_NUMBER] = true;
	for (uint32_t i = 0; i < rows->len; i++)
		taken[rows->list[i].pkey & PKEY_NUMBER] = true;
	while (pkey < PKEY_DEFAULT && taken[pkey])
		pkey++;
	mem_free(taken);
	return pkey < PKEY_DEFAULT ? pkey : 0;
}

static int
name_problem(const char *name, struct error *e)
{
	if (*name && strlen(name) <= PART_NAME_MAX && !strpbrk(name, "/:\"\\"))
		return 0;
	return error_set(e, ERR_INVALID, "a partition's name has 1 to %u characters, and none of "
			 "/ : \" \\", PART_NAME_MAX);
}

/* One that is there gets the groups of IPoIB too; of one of the file the file says which it has. */
static int
set_ipoib(const struct subnet *s, const struct partition_change *c, struct part_rows *rows,
	  struct error *e)
{
	const struct partition *p = in_force(s, c->name);
	struct part_row *row = part_rows_find(rows, c->name);

	if (!c->ipoib || (p->conf && p->conf->nipoib))
		return 0;
	if (p->conf)
		return error_set(e, ERR_REFUSED, "partition %s has no IPoIB by the configuration: "
				 "change it there, and reload", c->name);
	if (!row)
		row = part_rows_add(rows, c->name, p->pkey);
	row->ipoib = true;
	return 0;
}

static int
add_partition(struct subnet *s, const struct partition_change *c, struct part_rows *rows,
	      struct error *e)
{
	const struct partition *p = in_force(s, c->name), *other;
	bool is_default = !strcmp(c->name, "default");
	uint16_t pkey = c->pkey ? c->pkey : is_default ? PKEY_DEFAULT : 0;

	if (name_problem(c->name, e))
		return e->code;
	if (p && c->idempotent && (!pkey || p->pkey == pkey))
		return set_ipoib(s, c, rows, e);
	if (p || part_rows_find(rows, c->name))
		return error_set(e, ERR_EXISTS, "subnet %s has a partition %s already, with the "
				 "P_Key 0x%04x", s->conf->name, c->name, p ? p->pkey : 0);
	other = pkey && s->parts.policy ? policy_by_pkey(s->parts.policy, pkey) : NULL;
	if (other)
		return error_set(e, ERR_EXISTS, "the P_Key 0x%04x is that of partition %s", pkey,
				 other->name);
	if (pkey && (pkey == PKEY_DEFAULT) != is_default)
		return error_set(e, ERR_INVALID, "the partition with the P_Key 0x%04x, and no "
				 "other, is called default", PKEY_DEFAULT);
	if (!pkey)
		pkey = free_pkey(s, rows);
	if (!pkey)
		return error_set(e, ERR_FULL, "no P_Key is left");
	part_rows_add(rows, c->name, pkey)->ipoib = c->ipoib;
	return 0;
}

static int
remove_partition(struct subnet *s, const struct partition_change *c, struct part_rows *rows,
		 struct error *e)
{
	const struct partition *p = in_force(s, c->name);
	bool row = part_rows_find(rows, c->name) != NULL;

	if (!row && !p)
		return c->idempotent ? 0 : no_partition(s, c->name, e);
	if (!row && !p->origin)
		return error_set(e, ERR_REFUSED, "partition %s is always there, and no command has "
				 "changed it", c->name);
	if (!row)
		return error_set(e, ERR_REFUSED, "partition %s is in the configuration and no "
				 "command has changed it: take it out there, and reload", c->name);
	part_rows_remove(rows, c->name);
	return 0;
}

/* What the file says stays; to a change that may find things done, its index is good as well. */
static int
file_says(const struct partition *p, const struct part_member *m,
	  const struct partition_change *c, struct error *e)
{
	bool remove = c->kind == PARTITION_MEMBER_REMOVE;
	const struct part_member *is = p ? partition_member(p, m->guid) : NULL;
	char guid[GUID_TEXT_SIZE];

	if (!is || is->origin != PART_FILE ||
	    (!remove && is->membership == m->membership &&
	     (is->index0 == m->index0 || c->idempotent)))
		return 0;
	return error_set(e, ERR_REFUSED, "%s is a member of %s by the configuration: change it "
			 "there, and reload", guid_text(guid, m->guid), p->name);
}

/* Whom the file excepts is no member, whatever commands say: so none says that he is. */
static int
file_excepts(const struct subnet *s, const struct partition *p, uint64_t guid, struct error *e)
{
	const struct fabric *f = s->plan->fabric;
	uint32_t port = fabric_port_by_guid(f, guid);
	char text[GUID_TEXT_SIZE];

	if (!p || (!selected_has(&p->except, guid) &&
		   (port == FABRIC_NONE || !selected_port(&p->except, f, port))))
		return 0;
	return error_set(e, ERR_REFUSED, "%s is excepted from %s by the configuration: change it "
			 "there, and reload", guid_text(text, guid), p->name);
}

static int
change_members(struct subnet *s, const struct partition_change *c, struct part_rows *rows,
	       struct error *e)
{
	const struct partition *p = in_force(s, c->name);
	bool remove = c->kind == PARTITION_MEMBER_REMOVE;
	struct part_row *row = part_rows_find(rows, c->name);
	char guid[GUID_TEXT_SIZE];

	if (!p && !row)
		return no_partition(s, c->name, e);
	for (uint32_t i = 0; i < c->nmembers; i++) {
		const struct part_member *m = &c->members[i];

		if (file_says(p, m, c, e) || (!remove && file_excepts(s, p, m->guid, e)))
			return e->code;
		if (!row && !remove)
			row = part_rows_add(rows, c->name, p->conf ? 0 : p->pkey);
		if (!remove)
			part_row_set(row, m);
		else if (!(row && part_row_unset(row, m->guid)) && !c->idempotent)
			return error_set(e, ERR_NOT_FOUND, "%s is no member of %s by a command",
					 guid_text(guid, m->guid), c->name);
	}
	return 0;
}

static int
prepare(struct subnet *s, const struct partition_change *c, struct part_rows *rows,
	struct error *e)
{
	int rc = 0;

	switch (c->kind) {
	case PARTITION_ADD:
		rc = add_partition(s, c, rows, e);
		if (!rc && c->nmembers)
			rc = change_members(s, c, rows, e);
		break;
	case PARTITION_REMOVE:
		rc = remove_partition(s, c, rows, e);
		break;
	case PARTITION_MEMBER_ADD:
	case PARTITION_MEMBER_REMOVE:
		rc = change_members(s, c, rows, e);
		break;
	case PARTITION_APPLY:
		if (*c->name && !in_force(s, c->name))
			rc = no_partition(s, c->name, e);
		break;
	case PARTITION_RELOAD:
		if (!c->dry_run || !c->conf)
			rc = error_set(e, ERR_INVALID, "a reload is rehearsed here, not done");
		break;
	}
	return rc;
}

int
subnet_partition(struct subnet *s, const struct partition_change *c, partition_done_fn done,
		 void *arg, struct error *e)
{
	struct part_rows rows;
	int rc;

	if (s->role != ROLE_MASTER || !s->plan)
		return error_set(e, ERR_BUSY, "partitions of subnet %s cannot be changed now: "
				 "%s", s->conf->name, s->why_not);
	if (s->parts.command.done)
		return error_set(e, ERR_BUSY, "partitions of subnet %s are being changed by "
				 "another command: try again when it has ended", s->conf->name);
	part_rows_copy(&rows, &s->parts.rows);
	rc = prepare(s, c, &rows, e);
	if (rc) {
		part_rows_free(&rows);
		return rc;
	}
	s->parts.command.done = done;
	s->parts.command.arg = arg;
	s->parts.command.c = partition_change_copy(c);
	s->parts.command.rows = rows;
	if (s->stage == SUBNET_IDLE)
		partitions_start(s);
	else
		between_hurry(s);
	return 0;
}

/* ---- On its way ---- */

void
part_change_begin(struct subnet *s, struct partition_job *j)
{
	part_rows_free(&j->rows);
	part_rows_copy(&j->rows, &s->parts.command.rows);
	if (s->parts.command.c->kind == PARTITION_APPLY)
		j->apply = mem_strdup(s->parts.command.c->name);
	if (s->parts.command.c->kind == PARTITION_RELOAD) {
		config_free(j->conf);
		j->conf = config_ref(s->parts.command.c->conf);
	}
	if (*s->parts.command.c->name)
		j->changed = mem_strdup(s->parts.command.c->name);
	j->rebuild = j->change = true;
	s->parts.command.running = true;
}

/* A port's keys before (0) or after (1) the change; holes are 0. Where none were planned before it
 * is what the port holds. */
static const uint16_t *
keys_of(const struct partition_job *j, unsigned side, uint32_t port, uint32_t *len)
{
	static const uint16_t silent[] = { PKEY_DEFAULT | PKEY_FULL };
	const struct plan_pkeys *p = side ? j->pkeys : j->before;
	uint32_t t = p ? p->table[port] : PKEYS_NONE;

	*len = 0;
	if (p && t == PKEYS_NONE)
		return NULL;
	if (!p) {
		*len = j->held[port].keys ? j->held[port].len : 1;
		return j->held[port].keys ? j->held[port].keys : silent;
	}
	*len = p->tables[t].len;
	return p->keys + p->tables[t].first;
}

static void
note_access(struct partition_report *r, const struct fabric *f, uint32_t port, uint16_t number,
	    unsigned before, unsigned after)
{
	if (before == after)
		return;
	r->gain += !before;
	r->lose += !after;
	r->other += before && after;
	if (r->len == PARTITION_ACCESSES)
		return;
	if (!r->list)
		r->list = mem_array(PARTITION_ACCESSES, sizeof(*r->list));
	r->list[r->len++] = (struct partition_access){
		.guid = f->ports[port].guid, .pkey = number, .before = (uint8_t)before,
		.after = (uint8_t)after };
}

/* Each number in either table, once: `access` has the bits of its memberships, 1 limited and 2 full
 * before, four times that after, and is empty between ports. */
static void
compare_port(struct partition_report *r, const struct partition_job *j, uint32_t port,
	     uint8_t access[PKEY_NUMBER + 1])
{
	const uint16_t *keys[2];
	uint32_t len[2];

	for (unsigned side = 0; side < 2; side++) {
		keys[side] = keys_of(j, side, port, &len[side]);
		for (uint32_t i = 0; i < len[side]; i++)
			access[keys[side][i] & PKEY_NUMBER] |=
				(uint8_t)((keys[side][i] & PKEY_FULL ? 2 : 1) << 2 * side);
	}
	for (unsigned side = 0; side < 2; side++)
		for (uint32_t i = 0; i < len[side]; i++) {
			uint16_t number = keys[side][i] & PKEY_NUMBER;

			if (number)
				note_access(r, j->fabric, port, number, access[number] & 3,
					    access[number] >> 2);
			access[number] = 0;
		}
}

static uint32_t
blocks_differing(const struct partition_job *j, uint32_t port)
{
	uint32_t len[2], blocks = 0, max;
	const uint16_t *keys[2];

	for (unsigned side = 0; side < 2; side++)
		keys[side] = keys_of(j, side, port, &len[side]);
	max = len[0] > len[1] ? len[0] : len[1];
	for (uint32_t block = 0; block * TABLES_KEYS < max; block++) {
		bool same = true;

		for (uint32_t i = block * TABLES_KEYS; i < (block + 1) * TABLES_KEYS; i++)
			same &= (i < len[0] ? keys[0][i] : 0) == (i < len[1] ? keys[1][i] : 0);
		blocks += !same;
	}
	return blocks;
}

/* Where P_Keys were planned before only ports that differ are looked at. */
void
part_change_compare(struct partition_job *j)
{
	const struct partition *p = j->changed ? policy_by_name(j->policy, j->changed) : NULL;
	struct partition_report *r = &j->outcome;
	uint32_t len = j->before ? j->ndiffer : j->fabric->nports;
	uint8_t *access = mem_array(PKEY_NUMBER + 1u, sizeof(*access));

	r->pkey = p ? p->pkey : 0;
	r->pending = j->report.pending;
	for (uint32_t i = 0; i < len; i++) {
		uint32_t port = j->before ? j->differ[i] : i;

		if (j->pkeys->table[port] == PKEYS_NONE)
			continue;
		r->blocks += blocks_differing(j, port);
		if (selected_kind_of(j->fabric, port))
			compare_port(r, j, port, access);
	}
	mem_free(access);
}

/* ---- It is done ---- */

static void
saved(void *arg, int error, const char *why)
{
	struct part_commit *commit = arg;
	struct subnet *s = commit->s;

	(void)why;
	mem_free(commit);
	if (!s)
		return;
	s->parts.command.commit = NULL;
	s->parts.command.error = error;
	if (s->parts.command.pushed)
		part_change_pushed(s);
}

/* What commands say now is what this one made of it. */
static void
take_rows(struct subnet *s, struct partition_job *j)
{
	const char *name = s->parts.command.c->name;

	part_store_row(s, part_rows_find(&s->parts.rows, name), part_rows_find(&j->rows, name));
	part_rows_free(&s->parts.rows);
	s->parts.rows = j->rows;
	j->rows = (struct part_rows){ 0 };
	s->parts.command.commit = mem_zalloc(sizeof(*s->parts.command.commit));
	s->parts.command.commit->s = s;
	store_commit(s->env.store, saved, s->parts.command.commit);
}

/* A port that had room for its keys has none any more, or that had too many is to have more. */
static const struct pkeys_overflow *
new_overflow(const struct pkeys_report *old, const struct pkeys_report *new)
{
	for (uint32_t i = 0; i < new->overflows && i < PKEYS_OVERFLOWS; i++) {
		const struct pkeys_overflow *o = &new->overflow[i];
		bool known = false;

		for (uint32_t n = 0; n < old->overflows && n < PKEYS_OVERFLOWS; n++)
			known |= old->overflow[n].port == o->port &&
				 old->overflow[n].keys >= o->keys;
		if (!known && (old->overflows <= PKEYS_OVERFLOWS ||
			       new->overflows > old->overflows))
			return o;
	}
	return new->overflows > old->overflows ? &new->overflow[0] : NULL;
}

bool
part_change_made(struct subnet *s, struct partition_job *j)
{
	const struct pkeys_overflow *o = new_overflow(&s->parts.report, &j->report);
	char text[300];

	if (j->error) {
		part_change_answer(s, j->why.code, "nothing was changed: %s", j->why.text);
		return false;
	}
	if (o) {
		part_change_answer(s, ERR_FULL, "nothing was changed: %s",
				   pkeys_overflow_text(o, j->fabric, text, sizeof(text)));
		return false;
	}
	s->parts.command.report = j->outcome;
	j->outcome.list = NULL;
	if (s->parts.command.c->dry_run) {
		part_change_answer(s, 0, "nothing was changed");
		return false;
	}
	take_rows(s, j);
	return true;
}

void
part_change_pushed(struct subnet *s)
{
	if (!s->parts.command.running)
		return;
	s->parts.command.pushed = true;
	if (s->parts.command.commit)
		return;
	if (s->parts.command.error)
		part_change_answer(s, s->parts.command.error, "it is in force, but the state file "
				   "does not remember it: %s",
				   error_name(s->parts.command.error));
	else if (s->push_incomplete)
		part_change_answer(s, 0, "it is in force, but not all ports have it yet: %s",
				   s->why_not);
	else
		part_change_answer(s, 0, "it is in force");
}
