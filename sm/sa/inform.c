/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/sa/inform.h"

#include <stdio.h>
#include <string.h>
#include "sm/base/mem.h"
#include "sm/sa/ask.h"

/*
 * InformInfo and InformInfoRecord (IBA 13.4.8.3, 15.2.5.12): who wants to be told of which events.
 * A subscription belongs to the port that asked for it, by its GUID, so that it outlives a new LID
 * and a restart of ours; Reports go to the QP that it asked from. To unsubscribe one has to say all
 * that was subscribed to, and the QP. Security traps are for those whom we trust.
 */
#define ID_SIZE 18		/* subscriber and number: the beginning of the record */

struct subscriber *
inform_find(const struct sa_informs *s, uint64_t guid)
{
	uint32_t i = map_get(&s->by_guid, guid);

	return i == MAP_NONE ? NULL : s->by_number.at[i];
}

static struct subscriber *
subscriber(struct sa_informs *s, uint64_t guid)
{
	struct subscriber *u = inform_find(s, guid);

	if (u)
		return u;
	u = mem_zalloc(sizeof(*u));
	u->guid = guid;
	list_init(&u->ready);
	list_init(&u->informs);
	list_init(&u->waiting);
	list_append(&s->all, &u->link);
	map_set(&s->by_guid, guid, sa_slots_take(&s->by_number, u));
	return u;
}

static void
free_subscriber(struct sa_informs *s, struct subscriber *u)
{
	report_forget(s, u);
	sa_slots_give(&s->by_number, map_get(&s->by_guid, u->guid));
	map_remove(&s->by_guid, u->guid);
	list_remove(&u->link);
	mem_free(u);
}

static void
free_inform(struct sa_informs *s, struct subscriber *u, struct inform *i)
{
	list_remove(&i->link);
	mem_free(i);
	u->len--;
	s->len--;
}

static void
forget(struct sa_informs *s, struct subscriber *u, struct inform *i)
{
	sa_keep(&s->env, "inform", &sa_inform_type, &i->r, ID_SIZE, NULL);
	free_inform(s, u, i);
}

void
inform_drop(struct sa_informs *s, struct subscriber *u)
{
	s->env.port_forgotten(s->env.arg, u->guid);
	list_each(it, &u->informs)
		forget(s, u, list_entry(it, struct inform, link));
	free_subscriber(s, u);
	store_commit(s->env.store, NULL, NULL);
}

/* In the order of numbers; one that is given already is not given twice. */
static struct inform *
add(struct sa_informs *s, struct subscriber *u, const struct sa_inform *r, bool trusted)
{
	struct inform *new = mem_zalloc(sizeof(*new));
	struct list *before = &u->informs;

	list_each(it, &u->informs)
		if (list_entry(it, struct inform, link)->r.number < r->number)
			before = it;
	new->r = *r;
	new->trusted = trusted;
	list_prepend(before, &new->link);
	u->len++;
	s->len++;
	return new;
}

static uint16_t
free_number(const struct subscriber *u)
{
	uint16_t number = 0;

	list_each(it, &u->informs)
		if (list_entry(it, struct inform, link)->r.number == number)
			number++;
	return number;
}

/* ---- Set ---- */

static bool
has_gid(const struct sa_inform_info *i)
{
	return i->gid.prefix || i->gid.guid;
}

/* All that makes a subscription what it is; a GID makes the LIDs meaningless. */
static bool
same(const struct sa_inform_info *a, const struct sa_inform_info *b)
{
	if (!sa_gid_equal(&a->gid, &b->gid) || a->generic != b->generic || a->type != b->type ||
	    a->trap != b->trap || a->producer != b->producer || a->qpn != b->qpn)
		return false;
	return has_gid(a) || (a->lid_first == b->lid_first && a->lid_last == b->lid_last);
}

static struct inform *
find(const struct subscriber *u, const struct sa_inform_info *info)
{
	if (!u)
		return NULL;
	list_each(it, &u->informs) {
		struct inform *i = list_entry(it, struct inform, link);

		if (same(&i->r.info, info))
			return i;
	}
	return NULL;
}

/* Sources are to be there, and within reach of who asks (o13-14.1.1): all share a partition. */
static bool
sources_ok(const struct sa_ask *a, const struct sa_inform_info *i)
{
	uint16_t last = i->lid_last ? i->lid_last : i->lid_first;

	if (has_gid(i))
		return sa_port_by_guid(a, i->gid.guid) != FABRIC_NONE;
	return i->lid_first == SA_INFORM_ALL_LIDS ||
	       (i->lid_first <= last && last <= a->plan->lids->top);
}

static bool
security_only(const struct sa_inform_info *i)
{
	return i->generic && i->trap >= TRAP_BAD_M_KEY && i->trap <= TRAP_SWITCH_BAD_P_KEY;
}

static void
save(const struct sa_informs *s, const struct inform *i)
{
	sa_keep(&s->env, "inform", &sa_inform_type, &i->r, ID_SIZE, i->trusted ? "1" : "0");
}

static void
subscribe(struct sa_ask *a, uint64_t guid, const struct sa_inform_info *info)
{
	struct sa_informs *s = a->kept->informs;
	struct subscriber *u = inform_find(s, guid);
	struct inform *i = find(u, info);
	struct sa_inform r = { .subscriber = { s->env.conf(s->env.arg)->prefix, guid } };

	if (!sources_ok(a, info) || (security_only(info) && !a->trusted)) {
		a->status = SA_STATUS_INVALID;
		return;
	}
	if (!i && (s->len >= SA_INFORMS_MAX || (u && u->len >= SA_INFORMS_PER_PORT))) {
		a->status = SA_STATUS_NO_RESOURCES;
		return;
	}
	if (!i) {
		u = subscriber(s, guid);
		r.number = free_number(u);
		r.info = *info;
		i = add(s, u, &r, a->trusted);
	}
	i->trusted = a->trusted;
	i->r.info.resp_time = info->resp_time;
	u->silent = 0;
	save(s, i);
	sa_reply(a, a->want);
}

static void
unsubscribe(struct sa_ask *a, uint64_t guid, const struct sa_inform_info *info)
{
	struct sa_informs *s = a->kept->informs;
	struct subscriber *u = inform_find(s, guid);
	struct inform *i = find(u, info);

	if (!i) {
		a->status = SA_STATUS_INVALID;
		return;
	}
	forget(s, u, i);
	if (!u->len)
		free_subscriber(s, u);
	sa_reply(a, a->want);
}

static void
set_inform(struct sa_ask *a)
{
	struct sa_inform_info info = *(const struct sa_inform_info *)a->want;
	uint32_t port = sa_asker(a);

	if (port == FABRIC_NONE || info.subscribe > 1) {
		a->status = SA_STATUS_INVALID;
		return;
	}
	if (info.subscribe) {
		info.qpn = a->in->remote_qp ? a->in->remote_qp : 1;
		subscribe(a, a->f->ports[port].guid, &info);
	} else {
		info.subscribe = 1;
		unsubscribe(a, a->f->ports[port].guid, &info);
	}
}

const struct sa_kind_ops sa_inform_info_ops = {
	.type = &sa_inform_info_type, .set = set_inform,
};

/* ---- Get ---- */

static bool
tell_subscriber(struct sa_ask *a, const struct subscriber *u)
{
	const struct sa_inform *want = a->want;

	sa_worked(a, u->len);
	list_each(it, &u->informs) {
		struct sa_inform r = list_entry(it, struct inform, link)->r;

		if (!a->trusted)
			r.info.qpn = 0;
		if (sa_asks(a, SA_INFORM_QPN) && r.info.qpn != want->info.qpn)
			continue;
		if (!sa_offer(a, &r))
			return false;
	}
	return true;
}

static void
tell_informs(struct sa_ask *a)
{
	const struct sa_inform *want = a->want;
	const struct sa_informs *s = a->kept->informs;
	const struct subscriber *u;

	if (sa_asks(a, SA_INFORM_SUBSCRIBER_GID)) {
		u = inform_find(s, want->subscriber.guid);
		if (u)
			tell_subscriber(a, u);
		return;
	}
	for (uint32_t i = (uint32_t)a->at; i < s->by_number.room; i++) {
		if (sa_pause(a)) {
			a->at = i;
			return;
		}
		u = s->by_number.at[i];
		if (u && !tell_subscriber(a, u))
			return;
	}
}

const struct sa_kind_ops sa_inform_ops = {
	.type = &sa_inform_type, .own = SA_BIT(SA_INFORM_QPN), .table = true, .tell = tell_informs,
};

/* ---- Copies; see copy.h ---- */

/* With its number, unless another of this copy has it: OpenSM gives all the same. */
static struct inform *
take_on(struct sa_informs *s, struct subscriber *u, const struct sa_inform *r, uint32_t copy)
{
	struct sa_inform new = *r;

	list_each(it, &u->informs) {
		struct inform *i = list_entry(it, struct inform, link);

		if (i->r.number != r->number)
			continue;
		if (i->copy == copy)
			new.number = free_number(u);
		else
			forget(s, u, i);
	}
	/* Whether it was asked for with the key is not told; these can be had in no other way. */
	return add(s, u, &new, security_only(&r->info));
}

bool
sa_informs_copy(struct sa_informs *s, const struct sa_inform *r, uint32_t copy)
{
	struct subscriber *u = inform_find(s, r->subscriber.guid);
	struct sa_inform mine = *r;
	struct inform *i;

	mine.info.subscribe = 1;
	mine.info.qpn = mine.info.qpn ? mine.info.qpn : 1;
	i = find(u, &mine.info);
	if (!r->subscriber.guid || (!i && (s->len >= SA_INFORMS_MAX ||
					   (u && u->len >= SA_INFORMS_PER_PORT))))
		return false;
	if (!i || i->r.info.resp_time != mine.info.resp_time) {
		if (!i)
			i = take_on(s, u ? u : subscriber(s, r->subscriber.guid), &mine, copy);
		i->r.info.resp_time = mine.info.resp_time;
		save(s, i);
	}
	i->copy = copy;
	return true;
}

bool
sa_informs_copied(struct sa_informs *s, uint32_t copy, uint64_t *at, uint32_t work)
{
	for (; *at < s->by_number.room && work; (*at)++, work--) {
		struct subscriber *u = s->by_number.at[*at];

		if (!u)
			continue;
		list_each(it, &u->informs) {
			struct inform *i = list_entry(it, struct inform, link);

			if (i->copy != copy)
				forget(s, u, i);
		}
		if (!u->len)
			free_subscriber(s, u);
	}
	return *at < s->by_number.room;
}

/* ---- What there is ---- */

uint32_t
sa_informs_len(const struct sa_informs *s)
{
	return s->len;
}

static void
fill(struct subscription_row *row, const struct subscriber *u, const struct inform *i)
{
	const struct sa_inform_info *f = &i->r.info;

	*row = (struct subscription_row){
		.guid = u->guid, .gid = { f->gid.prefix, f->gid.guid }, .sent = u->sent,
		.answered = u->answered, .lost = u->lost, .waiting = u->nwaiting, .qp = f->qpn,
		.producer = f->producer, .type = f->type, .trap = f->trap,
		.lid_first = f->lid_first, .lid_last = f->lid_last, .generic = f->generic != 0,
		.trusted = i->trusted,
	};
}

/* `from` is the subscriber's number, and behind it that of the subscription. */
bool
sa_informs_row(const struct sa_informs *s, uint64_t from, struct subscription_row *row)
{
	uint64_t at = from >> 16;
	uint32_t number = from & 0xffff;

	for (; at < s->by_number.room; at++, number = 0) {
		const struct subscriber *u = s->by_number.at[at];

		if (!u)
			continue;
		list_each(it, &u->informs) {
			const struct inform *i = list_entry(it, struct inform, link);

			if (i->r.number < number)
				continue;
			fill(row, u, i);
			row->next = (at << 16 | i->r.number) + 1;
			return true;
		}
	}
	return false;
}

/* ---- Life ---- */

struct sa_informs *
sa_informs_new(const struct sa_env *env)
{
	struct sa_informs *s = mem_zalloc(sizeof(*s));

	s->env = *env;
	list_init(&s->all);
	report_init(s);
	return s;
}

bool
sa_informs_load(struct sa_informs *s, const char *value)
{
	struct subscriber *u;
	struct sa_inform r;
	const char *rest;

	if (!sa_kept_record(&sa_inform_type, &r, value, &rest) ||
	    (strcmp(rest, " 0") && strcmp(rest, " 1")))
		return false;
	u = inform_find(s, r.subscriber.guid);
	if (find(u, &r.info))
		return false;
	add(s, u ? u : subscriber(s, r.subscriber.guid), &r, rest[1] == '1');
	return true;
}

void
sa_informs_forget(struct sa_informs *s, const struct sa_inform *r)
{
	struct subscriber *u = inform_find(s, r->subscriber.guid);

	if (!u)
		return;
	list_each(it, &u->informs) {
		struct inform *i = list_entry(it, struct inform, link);

		if (i->r.number == r->number)
			forget(s, u, i);
	}
	if (!u->len)
		free_subscriber(s, u);
}

void
sa_informs_free(struct sa_informs *s)
{
	list_each(it, &s->all) {
		struct subscriber *u = list_entry(it, struct subscriber, link);

		list_each(in, &u->informs)
			free_inform(s, u, list_entry(in, struct inform, link));
		free_subscriber(s, u);
	}
	report_end(s);
	map_free(&s->by_guid);
	sa_slots_end(&s->by_number);
	mem_free(s);
}
