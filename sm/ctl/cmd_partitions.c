/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/ctl/command.h"

#include <string.h>
#include "sm/base/map.h"
#include "sm/base/mem.h"
#include "sm/ctl/find.h"

/*
 * show partitions: what is in force of each partition, and who its members are, by the P_Keys of
 * the published plan; which GUIDs nobody has yet. One partition a step, its members in slices, for
 * there may be a thousand of thousands.
 */
#define SLICE 512u		/* members, or ports, of a step */
#define PENDING_NAMED 20u	/* of one partition, unless its members are listed */

struct listed {
	struct partition_view view;	/* as it was at the start */
	struct map by_alias;		/* alias -> its place in view.aliases */
	struct map by_port;		/* port GUID -> that of the first of its aliases, */
	uint32_t *next_alias;		/* and of each the next one of the port; MAP_NONE */
	const char *name;		/* the only partition; NULL: all */
	bool members;			/* list them */
	bool guids;			/* list what is said of GUIDs */
	uint32_t next;			/* partition */
	uint32_t at;			/* member, or port, of it */
	enum { MEMBERS_PENDING, MEMBERS_SAID, MEMBERS_LISTED } part;	/* what is written of it */
	uint32_t pending;		/* of it, so far */
	uint32_t ports[PKEY_NUMBER + 1];	/* by P_Key: ports that have it */
};

static void
listed_free(void *state)
{
	struct listed *l = state;

	map_free(&l->by_alias);
	map_free(&l->by_port);
	mem_free(l->next_alias);
	partition_view_free(&l->view);
	mem_free(l);
}

/* There may be a dozen for each host; what comes first in the view is found first. */
static void
index_aliases(struct listed *l)
{
	const struct partition_view *v = &l->view;

	l->next_alias = mem_array(v->naliases + 1u, sizeof(*l->next_alias));
	for (uint32_t i = v->naliases; i-- > 0;) {
		l->next_alias[i] = map_get(&l->by_port, v->aliases[i].port);
		map_set(&l->by_port, v->aliases[i].port, i);
		map_set(&l->by_alias, v->aliases[i].alias, i);
	}
}

/* Members of each partition: first ports of each table, then the numbers in it, once each. */
static void
count_ports(struct listed *l, const struct plan *p)
{
	const struct plan_pkeys *k = p->pkeys;
	uint32_t *used = mem_array(k->ntables + 1u, sizeof(*used));
	uint32_t *seen = mem_array(PKEY_NUMBER + 1u, sizeof(*seen));	/* by number: table + 1 */

	for (uint32_t port = 0; port < k->nports; port++)
		if (k->table[port] != PKEYS_NONE && selected_kind_of(p->fabric, port))
			used[k->table[port]]++;
	for (uint32_t t = 0; t < k->ntables; t++)
		for (uint32_t i = 0; used[t] && i < k->tables[t].len; i++) {
			uint16_t number = k->keys[k->tables[t].first + i] & PKEY_NUMBER;

			if (seen[number] != t + 1)
				l->ports[number] += used[t];
			seen[number] = t + 1;
		}
	mem_free(used);
	mem_free(seen);
}

static const char *
enforce_word(unsigned enforce)
{
	static const char *const words[] = {
		[ENFORCE_BOTH] = "both", [ENFORCE_IN] = "in", [ENFORCE_OUT] = "out",
		[ENFORCE_OFF] = "off",
	};

	return words[enforce];
}

static const char *
membership_word(unsigned membership)
{
	static const char *const words[] = {
		[MEMBERSHIP_LIMITED] = "limited", [MEMBERSHIP_FULL] = "full",
		[MEMBERSHIP_BOTH] = "both",
	};

	return words[membership];
}

static const char *
origin_word(unsigned origin)
{
	return origin == (PART_FILE | PART_COMMAND) ? "both" : origin == PART_COMMAND ? "command" :
	       origin == PART_FILE ? "file" : "built-in";
}

static bool
is_alias(const struct listed *l, const struct fabric *f, uint64_t guid)
{
	uint32_t i = map_get(&l->by_alias, guid);

	return i != MAP_NONE && fabric_port_by_guid(f, l->view.aliases[i].port) != FABRIC_NONE;
}

static void
put_head(struct json *j, const struct listed *l, const struct partition *p)
{
	jw_object(j, NULL);
	jw_str(j, "name", p->name);
	jw_uint(j, "pkey", p->pkey);
	jw_str(j, "origin", origin_word(p->origin));
	jw_str(j, "level", p->conf ? p->conf->level : NULL);
	jw_str(j, "enforce", enforce_word(p->enforce));
	jw_bool(j, "ipoib", p->ipoib || (p->conf && p->conf->nipoib));
	jw_uint(j, "members_there", l->ports[p->pkey]);
	jw_uint(j, "not_applied", p->others);
	jw_str(j, "first_not_applied", p->others ? p->first_other : NULL);
	jw_array(j, "pending");
}

/* GUIDs of members that nobody has. */
static void
put_pending(struct json *j, struct listed *l, const struct fabric *f, const struct part_member *m)
{
	if (fabric_port_by_guid(f, m->guid) != FABRIC_NONE ||
	    fabric_node_by_guid(f, m->guid) != FABRIC_NONE || is_alias(l, f, m->guid))
		return;
	if (++l->pending > PENDING_NAMED && !l->members)
		return;
	jw_object(j, NULL);
	jw_guid(j, "guid", m->guid);
	jw_str(j, "membership", membership_word(m->membership));
	jw_str(j, "origin", origin_word(m->origin));
	jw_end(j);
}

/* Who says that the port is a member: its own GUID's entry, an alias's, its node's, or the file by
 * what it is. */
static const char *
who_says(const struct listed *l, const struct partition *p, const struct fabric *f, uint32_t port)
{
	const struct part_member *m = partition_member(p, f->ports[port].guid);

	for (uint32_t i = map_get(&l->by_port, f->ports[port].guid); !m && i != MAP_NONE;
	     i = l->next_alias[i])
		m = partition_member(p, l->view.aliases[i].alias);
	if (!m)
		m = partition_member(p, f->nodes[f->ports[port].node].guid);
	return origin_word(m ? m->origin : p->origin & PART_FILE);
}

static void
put_member(struct json *j, const struct listed *l, const struct partition *p,
	   const struct plan *plan, uint32_t port)
{
	const struct plan_pkeys *k = plan->pkeys;
	const struct fabric *f = plan->fabric;
	uint32_t t = k->table[port];
	unsigned bits = 0;

	for (uint32_t i = 0; t != PKEYS_NONE && i < k->tables[t].len; i++) {
		uint16_t key = k->keys[k->tables[t].first + i];

		if ((key & PKEY_NUMBER) == p->pkey)
			bits |= key & PKEY_FULL ? 2 : 1;
	}
	if (!bits || !selected_kind_of(f, port))
		return;
	jw_object(j, NULL);
	jw_str(j, "node", f->nodes[f->ports[port].node].name);
	jw_guid(j, "guid", f->ports[port].guid);
	jw_uint(j, "port", f->ports[port].number);
	jw_str(j, "membership", bits == 3 ? "both" : bits == 2 ? "full" : "limited");
	jw_str(j, "origin", who_says(l, p, f, port));
	jw_end(j);
}

/* As it is said: also of an alias, and of who is not there. */
static void
put_said(struct json *j, const struct part_member *m)
{
	jw_object(j, NULL);
	jw_guid(j, "guid", m->guid);
	jw_str(j, "membership", membership_word(m->membership));
	jw_bool(j, "index0", m->index0);
	jw_str(j, "origin", origin_word(m->origin));
	jw_end(j);
}

static void
next_partition(struct json *j, struct listed *l)
{
	jw_end(j);
	l->next++;
	l->at = 0;
	l->pending = 0;
	l->part = MEMBERS_PENDING;
}

/* On to what else is wanted of the partition, or to the next one. */
static void
next_part(struct json *j, struct listed *l)
{
	l->at = 0;
	if (l->part < MEMBERS_SAID && l->guids) {
		jw_array(j, "guids");
		l->part = MEMBERS_SAID;
	} else if (l->part < MEMBERS_LISTED && l->members) {
		jw_array(j, "members");
		l->part = MEMBERS_LISTED;
	} else {
		next_partition(j, l);
	}
}

/* One slice of one partition. */
static void
partition_step(struct ctl_req *r, struct listed *l, const struct partition *p)
{
	struct json *j = &r->json;
	uint32_t end = l->part == MEMBERS_LISTED ? r->plan->fabric->nports : p->nmembers;
	uint32_t until = end - l->at < SLICE ? end : l->at + SLICE;

	if (l->part == MEMBERS_PENDING && !l->at)
		put_head(j, l, p);
	for (; l->at < until; l->at++) {
		if (l->part == MEMBERS_PENDING)
			put_pending(j, l, r->plan->fabric, &p->members[l->at]);
		else if (l->part == MEMBERS_SAID)
			put_said(j, &p->members[l->at]);
		else
			put_member(j, l, p, r->plan, l->at);
	}
	if (l->at < end)
		return;
	jw_end(j);
	if (l->part == MEMBERS_PENDING)
		jw_uint(j, "pending_total", l->pending);
	next_part(j, l);
}

static enum ctl_step
step(struct ctl_req *r)
{
	struct listed *l = r->state;
	const struct policy *policy = l->view.policy;

	while (policy && l->next < policy->len && l->name &&
	       strcmp(policy->list[l->next]->name, l->name) != 0)
		l->next++;
	if (policy && l->next < policy->len) {
		partition_step(r, l, policy->list[l->next]);
		return STEP_MORE;
	}
	jw_end(&r->json);
	return STEP_DONE;
}

/* By its name, or its P_Key. */
static const struct partition *
find(const struct partition_view *v, const char *text)
{
	const struct partition *p = v->policy ? policy_by_name(v->policy, text) : NULL;
	uint64_t number;

	if (!p && v->policy && number_parse(text, 1, 0xffff, &number))
		p = policy_by_pkey(v->policy, (uint16_t)number);
	return p;
}

static void
put_summary(struct json *j, const struct ctl_req *r, const struct listed *l)
{
	jw_str(j, "subnet", r->subnet->name);
	jw_bool(j, "configured", l->view.policy != NULL);
	jw_str(j, "refused", l->view.refused[0] ? l->view.refused : NULL);
	jw_uint(j, "overflows", l->view.report.overflows);
	jw_uint(j, "unenforced", l->view.report.unenforced);
	jw_array(j, "partitions");
}

static void
show_partitions(struct ctl_req *r)
{
	struct listed *l = mem_zalloc(sizeof(*l));
	const char *name = req_string(r, "name");
	const struct partition *p;
	struct error e;

	r->state = l;
	r->state_free = listed_free;
	r->subnet->partitions(r->subnet->subnet, &l->view);
	index_aliases(l);
	if (!r->plan->pkeys) {
		policy_unref(l->view.policy);
		l->view.policy = NULL;
	}
	p = name ? find(&l->view, name) : NULL;
	if (name && !p) {
		error_set(&e, ERR_NOT_FOUND, "subnet %s has no partition \"%.100s\": weft show "
			  "partitions lists those that it has", r->subnet->name, name);
		req_error(r, &e);
		return;
	}
	l->name = p ? p->name : NULL;
	l->members = req_flag(r, "members");
	l->guids = req_flag(r, "guids");
	if (l->view.policy)
		count_ports(l, r->plan);
	put_summary(req_begin(r), r, l);
	req_stream(r, step);
}

static const struct ctl_arg show_args[] = {
	{ .name = "name" },
	{ .name = "members", .kind = ARG_FLAG },
	{ .name = "guids", .kind = ARG_FLAG },
	{ 0 },
};

const struct ctl_command ctl_cmd_partitions[] = {
	{ .name = "show partitions", .args = show_args, .scope = SCOPE_PLAN,
	  .run = show_partitions },
	{ 0 },
};
