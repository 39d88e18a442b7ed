/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/ctl/command.h"

#include <stdio.h>
#include <string.h>
#include "sm/base/mem.h"
#include "sm/ctl/find.h"

/*
 * partition add, remove, apply, set, member add and member remove, each also as a dry run: words
 * become members (GUIDs, which nobody need have yet, or names of nodes that are there), and the
 * core's answer tells whose access changes. The work is the core's, as that of cmd_admin.c.
 *
 * partition pkey add and remove are the same for programs that know partitions by their P_Keys
 * (weft-gateway): what is so already is no error, and a P_Key that no partition has gets one, whose
 * name says the P_Key.
 */

/* ---- Members ---- */

struct members {
	struct part_member *list;	/* owned */
	uint32_t len;
	uint32_t size;			/* that there is room for */
};

static void
add_member(struct members *m, uint64_t guid, uint8_t membership, bool index0)
{
	if (m->len == m->size) {
		m->size = m->size ? 2 * m->size : 16;
		m->list = mem_realloc(m->list, m->size, sizeof(*m->list));
	}
	m->list[m->len++] = (struct part_member){
		.guid = guid, .membership = membership, .origin = PART_COMMAND, .index0 = index0 };
}

static uint8_t
membership_of(const struct ctl_req *r)
{
	const char *word = req_string(r, "membership");

	return !word || !strcmp(word, "full") ? MEMBERSHIP_FULL :
	       !strcmp(word, "limited") ? MEMBERSHIP_LIMITED : MEMBERSHIP_BOTH;
}

/* A node's end ports, or the one that was named. */
static int
add_node(const struct ctl_req *r, struct members *m, const char *text, struct error *e)
{
	const struct fabric *f = r->plan->fabric;
	struct found found;
	uint32_t before = m->len;
	int rc = find_node(r->plan, text, true, &found, e);

	if (rc)
		return rc;
	if (find_is_inner(r->plan, &found))
		return error_set(e, ERR_INVALID, "\"%.100s\" is an outer port of a switch: what is "
				 "behind it may be a member", text);
	for (unsigned n = 0; n <= f->nodes[found.node].nports; n++) {
		uint32_t port = f->nodes[found.node].first_port + n;

		if (selected_kind_of(f, port) && f->ports[port].guid &&
		    (found.number < 0 || found.number == (int)n))
			add_member(m, f->ports[port].guid, membership_of(r),
				   req_flag(r, "index0"));
	}
	if (m->len == before)
		return error_set(e, ERR_NOT_FOUND, "no port of \"%.100s\" has a GUID that is known",
				 text);
	return 0;
}

static int
find_members(const struct ctl_req *r, struct members *m, struct error *e)
{
	const json_t *list = json_object_get(r->args, "members");
	json_t *value;
	size_t i;
	int rc = 0;

	json_array_foreach(list, i, value) {
		const char *text = json_string_value(value);
		uint64_t guid;

		if (guid_parse(text, &guid) && guid)
			add_member(m, guid, membership_of(r), req_flag(r, "index0"));
		else
			rc = add_node(r, m, text, e);
		if (rc)
			return rc;
	}
	return 0;
}

/* ---- The answer ---- */

static const char *
access_word(unsigned bits)
{
	static const char *const words[] = { NULL, "limited", "full", "both" };

	return words[bits & 3];
}

static void
put_access(struct json *j, const struct fabric *f, const struct partition_access *a)
{
	uint32_t port = fabric_port_by_guid(f, a->guid);

	jw_object(j, NULL);
	jw_str(j, "node", port == FABRIC_NONE ? NULL : f->nodes[f->ports[port].node].name);
	jw_guid(j, "guid", a->guid);
	jw_uint(j, "port", port == FABRIC_NONE ? 0 : f->ports[port].number);
	jw_uint(j, "pkey", a->pkey);
	jw_str(j, "before", access_word(a->before));
	jw_str(j, "after", access_word(a->after));
	jw_end(j);
}

static void
answer(struct ctl_req *r, const char *text, const struct partition_report *report)
{
	struct json *j = req_begin(r);

	jw_str(j, "subnet", r->subnet->name);
	jw_bool(j, "dry_run", req_flag(r, "dry_run"));
	jw_str(j, "name", req_string(r, "name"));
	if (report->pkey)
		jw_uint(j, "pkey", report->pkey);
	else
		jw_null(j, "pkey");
	jw_str(j, "text", text);
	jw_uint(j, "gain", report->gain);
	jw_uint(j, "lose", report->lose);
	jw_uint(j, "other", report->other);
	jw_uint(j, "pending", report->pending);
	jw_uint(j, "blocks", report->blocks);
	jw_real(j, "took_ms", (double)(loop_now(r->loop) - r->started) / 1e6);
	jw_array(j, "ports");
	for (uint32_t i = 0; i < report->len; i++)
		put_access(j, r->plan->fabric, &report->list[i]);
	req_end(r);
}

static void
changed(void *arg, int error, const char *text, const struct partition_report *report)
{
	struct ctl_req *r = arg;
	struct error e = { .code = error };

	if (r->client && error) {
		snprintf(e.text, sizeof(e.text), "%s", text);
		req_error(r, &e);
	} else if (r->client) {
		answer(r, text, report);
	}
	req_release(r);
}

static void
ask_for(struct ctl_req *r, const struct partition_change *what)
{
	uint64_t pkey = req_number(r, "pkey", 0);
	enum partition_change_kind kind = what->kind;
	struct partition_change c = *what;
	struct members m = { 0 };
	struct error e = { 0 };
	int rc;

	c.dry_run = req_flag(r, "dry_run");
	c.ipoib = req_flag(r, "ipoib");
	c.pkey = (uint16_t)(pkey & PKEY_NUMBER);
	if (json_object_get(r->args, "pkey") && !c.pkey) {
		req_fail(r, EXIT_USAGE, "a P_Key is 0x0001 to 0x7fff, with or without the bit "
			 "0x8000 of full members");
		return;
	}
	rc = find_members(r, &m, &e);
	if (!rc && !m.len && (kind == PARTITION_MEMBER_ADD || kind == PARTITION_MEMBER_REMOVE)) {
		req_fail(r, EXIT_USAGE, "name one member at least");
		mem_free(m.list);
		return;
	}
	c.members = m.list;
	c.nmembers = m.len;
	req_hold(r);
	if (!rc)
		rc = r->subnet->partition(r->subnet->subnet, &c, changed, r, &e);
	if (rc) {
		e.code = rc;
		req_error(r, &e);
		r->held--;
	}
	mem_free(m.list);
}

static void
ask(struct ctl_req *r, enum partition_change_kind kind)
{
	const char *name = req_string(r, "name");
	struct partition_change c = { .kind = kind, .idempotent = req_flag(r, "idempotent"),
				      .name = name ? name : "" };

	ask_for(r, &c);
}

/* Nobody is a member of what is not there. */
static void
answer_nobody(struct ctl_req *r)
{
	struct partition_report report = { 0 };

	answer(r, "no partition has this P_Key", &report);
}

static void
ask_by_pkey(struct ctl_req *r, enum partition_change_kind kind)
{
	uint16_t pkey = (uint16_t)(req_number(r, "pkey", 0) & PKEY_NUMBER);
	struct partition_change c = { .kind = kind, .idempotent = true };
	char name[PART_NAME_MAX + 1];
	const struct partition *p;
	struct partition_view v;

	if (!pkey || pkey == PKEY_DEFAULT) {
		req_fail(r, EXIT_USAGE, "the P_Key is to be from 0x0001 to 0x7ffe, with or without "
			 "the bit 0x8000 of full members");
		return;
	}
	r->subnet->partitions(r->subnet->subnet, &v);
	p = v.policy ? policy_by_pkey(v.policy, pkey) : NULL;
	snprintf(name, sizeof(name), "pkey-0x%04x", pkey);
	if (p)
		snprintf(name, sizeof(name), "%s", p->name);
	/* Of a partition of the file the file says whether it has IPoIB. */
	if (kind == PARTITION_ADD && p && p->conf)
		c.kind = PARTITION_MEMBER_ADD;
	partition_view_free(&v);
	c.name = name;
	if (kind == PARTITION_MEMBER_REMOVE && !p)
		answer_nobody(r);
	else
		ask_for(r, &c);
}

static void
pkey_add(struct ctl_req *r)
{
	ask_by_pkey(r, PARTITION_ADD);
}

static void
pkey_remove(struct ctl_req *r)
{
	ask_by_pkey(r, PARTITION_MEMBER_REMOVE);
}

static void
partition_add(struct ctl_req *r)
{
	ask(r, PARTITION_ADD);
}

static void
partition_remove(struct ctl_req *r)
{
	ask(r, PARTITION_REMOVE);
}

static void
member_add(struct ctl_req *r)
{
	ask(r, PARTITION_MEMBER_ADD);
}

static void
member_remove(struct ctl_req *r)
{
	ask(r, PARTITION_MEMBER_REMOVE);
}

static void
partition_apply(struct ctl_req *r)
{
	ask(r, PARTITION_APPLY);
}

/* ---- partition check ---- */

/* One of the two ports. */
struct side {
	const char *key;	/* in the answer */
	uint64_t guid;		/* of the port, or as it was said */
	uint32_t port;		/* fabric port index; FABRIC_NONE: it is not there */
};

static uint64_t
by_alias(const struct partition_view *v, uint64_t guid)
{
	for (uint32_t i = 0; i < v->naliases; i++)
		if (v->aliases[i].alias == guid)
			return v->aliases[i].port;
	return guid;
}

/* The port that was named, or a node's first end port with a LID. */
static int
find_side(const struct ctl_req *r, const struct partition_view *v, const char *key, struct side *s,
	  struct error *e)
{
	const struct fabric *f = r->plan->fabric;
	const char *text = req_string(r, key);
	struct found found;
	int rc;

	*s = (struct side){ .key = key, .port = FABRIC_NONE };
	if (guid_parse(text, &s->guid) && s->guid) {
		s->port = fabric_port_by_guid(f, by_alias(v, s->guid));
		if (s->port != FABRIC_NONE ||
		    fabric_node_by_guid(f, s->guid) == FABRIC_NONE)
			return 0;
	}
	rc = find_node(r->plan, text, true, &found, e);
	if (rc)
		return rc;
	if (find_is_inner(r->plan, &found))
		return error_set(e, ERR_INVALID, "\"%.100s\" is an outer port of a switch: packets "
				 "do not begin or end there", text);
	for (unsigned n = 0; n <= f->nodes[found.node].nports; n++) {
		uint32_t port = f->nodes[found.node].first_port + n;

		if (!selected_kind_of(f, port) || (found.number >= 0 && found.number != (int)n))
			continue;
		if (s->port == FABRIC_NONE || (!port_lid(r->plan, s->port) &&
					       port_lid(r->plan, port)))
			s->port = port;
	}
	s->guid = s->port == FABRIC_NONE ? f->nodes[found.node].guid : f->ports[s->port].guid;
	return 0;
}

/* Bits of a port's membership of a partition: 1 limited, 2 full. Where nobody says anything of
 * partitions all are full members of the default one. */
static unsigned
bits_of(const struct plan *p, const struct side *s, uint16_t number)
{
	uint32_t t;
	unsigned bits = 0;

	if (s->port == FABRIC_NONE)
		return 0;
	if (!p->pkeys)
		return number == PKEY_DEFAULT ? 2 : 0;
	t = p->pkeys->table[s->port];
	for (uint32_t i = 0; t != PKEYS_NONE && i < p->pkeys->tables[t].len; i++) {
		uint16_t key = p->pkeys->keys[p->pkeys->tables[t].first + i];

		if ((key & PKEY_NUMBER) == number)
			bits |= key & PKEY_FULL ? 2 : 1;
	}
	return bits;
}

static const char *
name_of(const struct partition_view *v, uint16_t number)
{
	const struct partition *p = v->policy ? policy_by_pkey(v->policy, number) : NULL;

	return p ? p->name : number == PKEY_DEFAULT ? "default" : NULL;
}

static void
put_side(struct json *j, const struct fabric *f, const struct side *s)
{
	bool there = s->port != FABRIC_NONE;

	jw_object(j, s->key);
	jw_str(j, "node", there ? f->nodes[f->ports[s->port].node].name : NULL);
	jw_guid(j, "guid", s->guid);
	if (there)
		jw_uint(j, "port", f->ports[s->port].number);
	else
		jw_null(j, "port");
	jw_end(j);
}

/* What both ports are members of, and whether they may talk by any of it. */
struct verdict {
	unsigned talk;		/* partitions by which they do */
	unsigned shared;	/* that both are members of */
	uint16_t limited;	/* one that both are limited members of; 0: none */
};

static void
put_shared(struct json *j, const struct plan *p, const struct partition_view *v,
	   const struct side sides[2], uint16_t number, struct verdict *verdict)
{
	unsigned a = bits_of(p, &sides[0], number), b = bits_of(p, &sides[1], number);
	bool talk = (a | b) & 2;

	if (!a || !b)
		return;
	verdict->shared++;
	verdict->talk += talk;
	if (!talk && (!verdict->limited || number != PKEY_DEFAULT))
		verdict->limited = number;
	jw_object(j, NULL);
	jw_uint(j, "pkey", number);
	jw_str(j, "partition", name_of(v, number));
	jw_str(j, "source", access_word(a));
	jw_str(j, "destination", access_word(b));
	jw_bool(j, "talk", talk);
	jw_end(j);
}

/* Each number that the source is a member of, or the one that is asked for. */
static void
put_all_shared(struct json *j, const struct plan *p, const struct partition_view *v,
	       const struct side sides[2], uint16_t only, struct verdict *verdict)
{
	uint32_t t = p->pkeys && sides[0].port != FABRIC_NONE ?
		p->pkeys->table[sides[0].port] : PKEYS_NONE;

	jw_array(j, "pkeys");
	if (only || !p->pkeys)
		put_shared(j, p, v, sides, only ? only : PKEY_DEFAULT, verdict);
	for (uint32_t i = 0; !only && t != PKEYS_NONE && i < p->pkeys->tables[t].len; i++) {
		uint16_t key = p->pkeys->keys[p->pkeys->tables[t].first + i];

		/* That of both bits is met twice. */
		if (key & PKEY_NUMBER &&
		    (key & PKEY_FULL || bits_of(p, &sides[0], key) == 1))
			put_shared(j, p, v, sides, key & PKEY_NUMBER, verdict);
	}
	jw_end(j);
}

static void
why_not(char *text, size_t size, const struct ctl_req *r, const struct partition_view *v,
	const struct side sides[2], uint16_t only, const struct verdict *verdict)
{
	const struct side *absent = sides[0].port == FABRIC_NONE ? &sides[0] :
		sides[1].port == FABRIC_NONE ? &sides[1] : NULL;
	const char *name = only ? name_of(v, only) : NULL;
	const struct side *out = only && !bits_of(r->plan, &sides[0], only) ? &sides[0] : &sides[1];

	if (absent)
		snprintf(text, size, "%s is not in the fabric", req_string(r, absent->key));
	else if (verdict->limited)
		snprintf(text, size, "both are limited members of %s, and limited members do not "
			 "talk to each other", name_of(v, verdict->limited));
	else if (!only)
		snprintf(text, size, "they have no partition in common");
	else if (!name)
		snprintf(text, size, "no partition has the P_Key 0x%04x", only);
	else
		snprintf(text, size, "%s is no member of %s", req_string(r, out->key), name);
}

static void
put_check(struct ctl_req *r, const struct partition_view *v, const struct side sides[2],
	  uint16_t only)
{
	struct json *j = req_begin(r);
	struct verdict verdict = { 0 };
	char text[400];

	put_side(j, r->plan->fabric, &sides[0]);
	put_side(j, r->plan->fabric, &sides[1]);
	put_all_shared(j, r->plan, v, sides, only, &verdict);
	jw_bool(j, "talk", verdict.talk);
	jw_bool(j, "configured", v->policy != NULL);
	why_not(text, sizeof(text), r, v, sides, only, &verdict);
	jw_str(j, "why", verdict.talk ? NULL : text);
	req_end(r);
}

static void
partition_check(struct ctl_req *r)
{
	uint16_t only = (uint16_t)(req_number(r, "pkey", 0) & PKEY_NUMBER);
	struct side sides[2];
	struct partition_view v;
	struct error e = { 0 };

	r->subnet->partitions(r->subnet->subnet, &v);
	if (find_side(r, &v, "source", &sides[0], &e) ||
	    find_side(r, &v, "destination", &sides[1], &e))
		req_error(r, &e);
	else
		put_check(r, &v, sides, only);
	partition_view_free(&v);
}

/* ---- The table ---- */

static const char *const memberships[] = { "full", "limited", "both", NULL };

#define DRY_RUN { .name = "dry_run", .kind = ARG_FLAG }
#define IDEMPOTENT { .name = "idempotent", .kind = ARG_FLAG }
#define MEMBERS { .name = "members", .kind = ARG_LIST }
#define HOW { .name = "membership", .words = memberships }, { .name = "index0", .kind = ARG_FLAG }

static const struct ctl_arg add_args[] = {
	{ .name = "name", .required = true },
	{ .name = "pkey", .kind = ARG_NUMBER, .max = 0xffff },
	{ .name = "ipoib", .kind = ARG_FLAG },
	MEMBERS, HOW, IDEMPOTENT, DRY_RUN,
	{ 0 },
};

static const struct ctl_arg pkey_add_args[] = {
	{ .name = "pkey", .kind = ARG_NUMBER, .max = 0xffff, .required = true },
	{ .name = "ipoib", .kind = ARG_FLAG },
	MEMBERS, HOW, DRY_RUN,
	{ 0 },
};

static const struct ctl_arg pkey_remove_args[] = {
	{ .name = "pkey", .kind = ARG_NUMBER, .max = 0xffff, .required = true },
	MEMBERS, DRY_RUN,
	{ 0 },
};

static const struct ctl_arg remove_args[] = {
	{ .name = "name", .required = true },
	IDEMPOTENT, DRY_RUN,
	{ 0 },
};

static const struct ctl_arg member_add_args[] = {
	{ .name = "name", .required = true },
	MEMBERS, HOW, IDEMPOTENT, DRY_RUN,
	{ 0 },
};

static const struct ctl_arg member_remove_args[] = {
	{ .name = "name", .required = true },
	MEMBERS, IDEMPOTENT, DRY_RUN,
	{ 0 },
};

static const struct ctl_arg apply_args[] = {
	{ .name = "name" },
	DRY_RUN,
	{ 0 },
};

static const struct ctl_arg check_args[] = {
	{ .name = "source", .required = true },
	{ .name = "destination", .required = true },
	{ .name = "pkey", .kind = ARG_NUMBER, .max = 0xffff },
	{ 0 },
};

#define CHANGE(words, list, fn) \
	{ .name = words, .args = list, .scope = SCOPE_PLAN, .change = true, .run = fn }

const struct ctl_command ctl_cmd_partition[] = {
	CHANGE("partition add", add_args, partition_add),
	CHANGE("partition remove", remove_args, partition_remove),
	CHANGE("partition set", member_add_args, member_add),
	CHANGE("partition member add", member_add_args, member_add),
	CHANGE("partition member remove", member_remove_args, member_remove),
	CHANGE("partition apply", apply_args, partition_apply),
	CHANGE("partition pkey add", pkey_add_args, pkey_add),
	CHANGE("partition pkey remove", pkey_remove_args, pkey_remove),
	{ .name = "partition check", .args = check_args, .scope = SCOPE_PLAN,
	  .run = partition_check },
	{ 0 },
};
