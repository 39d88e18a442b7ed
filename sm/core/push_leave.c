/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A switch that stops routing adaptively in a push, for nobody knows what it holds, or it is wanted
 * so. What it goes by from the moment on is its plain table, and that is as old as the day when it
 * was turned on: it was never written since, and no proof has it. So the switch is shut first:
 * LinearFDBTop is 0, and it forwards nothing. Then E is cleared, the plain table is written whole,
 * and LinearFDBTop opens it.
 *
 * It is asked before it is shut. One that does not tell whether it is on, or does not take the
 * clear, is left as it is, opened again, and looked at again in the next push: its plain table is
 * not written while it may be on. If that does not help, time after time, it is written: most stop
 * routing adaptively by that. Of one that never knew the attributes nobody expects an answer.
 *
 * A top that is written behind the blocks hides that the switch was reset meanwhile; its LID does
 * not, and is read again.
 */
#include "sm/core/push_adaptive.h"
#include "sm/core/push_i.h"

#include "sm/core/adaptive.h"

void
push_leave_start(struct subnet *s, struct device *d)
{
	/* A reset takes the LID along, and E, unless that was set since. */
	bool was_reset = !d->sw.linear_fdb_top && !d->ports[0].info.lid;
	struct live_adaptive *ar;

	if (d->lft_trusted)
		return;
	if (!was_reset && adaptive_may_be(s, d))
		adaptive_live(s, d)->leave |= d->ar->state == ADAPTIVE_UNASKED;
	ar = d->ar;
	if (!ar || !ar->leave || ar->leaving == LEAVE_STUCK)
		return;
	ar->waits = ar->tried = false;
	ar->leaving = LEAVE_ASK;
}

bool
push_leaving(const struct device *d)
{
	return d->ar && d->ar->leaving != LEAVE_NOT && d->ar->leaving != LEAVE_STUCK;
}

bool
push_leave_stuck(const struct device *d)
{
	return d->ar && d->ar->leaving == LEAVE_STUCK;
}

/* In this push. But not for ever: then the next step is taken all the same. */
static void
stuck(struct subnet *s, struct device *d, const char *what)
{
	push_failure(s, d, "%s", what);
	if (d->ar->refusals == PUSH_LOSSES) {
		s->unproved = true;
		d->ar->leave &= ++d->ar->leaving != LEAVE_WRITE;
		return;
	}
	d->ar->leaving = LEAVE_STUCK;
	d->lft_failed = true;
	s->push.failed_tables++;
}

/* ---- Requests ---- */

static bool
ask_next(struct device *d, struct transact_request *r)
{
	d->ar->waits = true;
	r->method = MAD_GET;
	r->attr_id = AR_ATTR_INFO;
	r->attr_mod = 0;
	return true;
}

static bool
shut_next(struct device *d, struct transact_request *r)
{
	struct switchinfo w = d->sw;

	w.linear_fdb_top = 0;
	w.port_state_change = false;
	d->ar->tried = true;
	d->switch_info_sent = true;
	r->method = MAD_SET;
	r->attr_id = ATTR_SWITCH_INFO;
	switchinfo_encode(&w, r->data);
	return true;
}

static bool
clear_next(struct device *d, struct transact_request *r)
{
	struct ar_info w = d->ar->info;

	w.enable = w.fr_en = w.rn_xmit_en = w.pfrn_en = false;
	d->ar->waits = true;
	r->method = MAD_SET;
	r->attr_id = AR_ATTR_INFO;
	r->attr_mod = 0;
	ar_info_encode(&w, r->data);
	return true;
}

bool
push_leave_next(struct subnet *s, struct device *d, struct transact_request *r)
{
	if (!push_leaving(d) || d->ar->waits || d->switch_info_sent)
		return false;
	switch (d->ar->leaving) {
	case LEAVE_ASK:
		return ask_next(d, r);
	case LEAVE_SHUT:
		if (d->sw.linear_fdb_top && !d->ar->tried)
			return shut_next(d, r);
		if (!d->sw.linear_fdb_top)
			d->ar->leaving = LEAVE_CLEAR;
		else
			stuck(s, d, "does not stop forwarding, to stop routing adaptively");
		return push_leave_next(s, d, r);
	case LEAVE_CLEAR:
		return clear_next(d, r);
	case LEAVE_WRITE:
		if (push_table_next(s, d, r))
			return true;
		if (d->lft_pending || d->lft_failed)
			return false;
		d->ar->leaving = LEAVE_NOT;
		bits_set(&d->recheck, 0);
		return false;
	case LEAVE_NOT:
	case LEAVE_STUCK:
		break;
	}
	return false;
}

/* ---- Answers ---- */

/* Its plain table counts. */
static void
is_off(struct device *d)
{
	d->ar->leave = false;
	d->ar->refusals = 0;
	d->ar->leaving = d->sw.linear_fdb_top ? LEAVE_NOT : LEAVE_WRITE;
}

static void
asked(struct subnet *s, struct device *d, const struct transact_result *res)
{
	struct live_adaptive *ar = d->ar;

	if (res->error && ar->able) {
		stuck(s, d, "does not tell whether it routes adaptively");
		return;
	}
	if ((res->error || res->mad_status) && !ar->able) {
		is_off(d);
		return;
	}
	/* Perhaps it takes what it does not tell. */
	if (res->mad_status) {
		ar->leaving = LEAVE_SHUT;
		return;
	}
	ar->able = true;
	ar_info_decode(&ar->info, res->data);
	if (ar->info.enable || ar->info.fr_en)
		ar->leaving = LEAVE_SHUT;
	else
		is_off(d);
}

static void
cleared(struct subnet *s, struct device *d, const struct transact_result *res)
{
	struct ar_info info;

	if (res->error || res->mad_status) {
		stuck(s, d, res->error ? "does not answer whether it stops routing adaptively" :
					 "refuses to stop routing adaptively");
		return;
	}
	ar_info_decode(&info, res->data);
	if (info.enable || info.fr_en)
		stuck(s, d, "does not stop routing adaptively");
	else
		is_off(d);
}

void
push_leave_answer(struct subnet *s, struct device *d, const struct transact_result *res)
{
	d->ar->waits = false;
	if (!push_leaving(d))
		return;
	if (res->method == MAD_GET)
		asked(s, d, res);
	else
		cleared(s, d, res);
}
