/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Adaptive routing as it is told: who spreads packets, who does not, and why. Nothing is asked for
 * it.
 */
#include "sm/core/adaptive_show.h"

#include <stdio.h>
#include "sm/core/adaptive.h"
#include "sm/core/subnet_i.h"

#define EVERY_TRANSPORT (AR_UD | AR_RC | AR_UC | AR_DC)

enum word {
	WORD_ON,
	WORD_RECOVERY,
	WORD_STATIC,
	WORD_ABSENT,
	WORD_UNASKED,
};

static enum word
word_of(const struct subnet *s, const struct device *d)
{
	const struct live_adaptive *ar = d->ar;

	if (adaptive_is_on(d))
		return ar->info.enable ? WORD_ON : WORD_RECOVERY;
	if (ar && ar->state == ADAPTIVE_STATIC)
		return WORD_STATIC;
	if (ar ? ar->state == ADAPTIVE_ABSENT : !adaptive_may_be(s, d))
		return WORD_ABSENT;
	/* One that failed is asked anew later. */
	return ar && ar->failures && s->conf->routing.adaptive != CONFIG_ADAPTIVE_OFF ?
		WORD_STATIC : WORD_UNASKED;
}

void
subnet_adaptive(const struct subnet *s, struct adaptive_view *v)
{
	static const char *const wanted[] = {
		[CONFIG_ADAPTIVE_OFF] = "off", [CONFIG_ADAPTIVE_ON] = "on",
		[CONFIG_ADAPTIVE_AUTO] = "auto",
	};
	static const char *const modes[] = {
		[CONFIG_SPREAD_FREE] = "free", [CONFIG_SPREAD_BOUNDED] = "bounded",
		[CONFIG_SPREAD_HASH] = "hash",
	};
	static const char *const hosts[] = {
		[CONFIG_HOSTS_IGNORE] = "ignore", [CONFIG_HOSTS_READ] = "read",
		[CONFIG_HOSTS_WRITE] = "write",
	};

	*v = (struct adaptive_view){
		.wanted = wanted[s->conf->routing.adaptive],
		.hosts_wanted = hosts[s->conf->routing.adaptive_hosts],
		.hosts = s->adaptive.hosts, .hosts_known = s->adaptive.hosts_known,
		.any_order = s->adaptive.any_order,
		.mode = modes[s->conf->routing.adaptive_mode],
		.recovery = s->conf->routing.adaptive_recovery,
	};
	list_each(it, &s->topo.devices) {
		const struct device *d = list_entry(it, struct device, all);
		enum word word;

		if (d->info.node_type != NODE_SWITCH)
			continue;
		word = word_of(s, d);
		v->switches++;
		v->on += word == WORD_ON;
		v->recovering += word == WORD_RECOVERY;
		v->plain += word == WORD_STATIC;
		v->absent += word == WORD_ABSENT;
		v->unasked += word == WORD_UNASKED;
		v->failed += adaptive_has_failed(s, d);
	}
}

static void
say_why(const struct subnet *s, const struct device *d, enum word word, struct adaptive_row *row)
{
	const struct live_adaptive *ar = d->ar;
	const char *why = "";

	if (word == WORD_ON)
		return;
	if (word == WORD_ABSENT && !ar) {
		snprintf(row->why, sizeof(row->why), "no switches of its vendor, 0x%06x, are known "
			 "to route adaptively", d->info.vendor_id);
		return;
	}
	if (word == WORD_RECOVERY)
		why = "nothing may be spread there";
	else if (word == WORD_ABSENT)
		why = "it does not know adaptive routing";
	else if (s->conf->routing.adaptive == CONFIG_ADAPTIVE_OFF)
		why = "adaptive routing is off";
	else if (ar && ar->excepted)
		why = "the configuration does not select it";
	else if (d->silent)
		why = "it does not answer";
	else if (ar && ar->failures)
		why = ar->why;
	else if (word == WORD_STATIC && !adaptive_section(s->plan, d))
		why = "nothing may be spread there, and dead ports are not replaced";
	else
		why = "it is not set up yet";
	snprintf(row->why, sizeof(row->why), "%s", why);
}

static void
fill(const struct subnet *s, const struct device *d, struct adaptive_row *row)
{
	static const char *const words[] = {
		[WORD_ON] = "on", [WORD_RECOVERY] = "recovery", [WORD_STATIC] = "static",
		[WORD_ABSENT] = "absent", [WORD_UNASKED] = "unasked",
	};
	const struct live_adaptive *ar = d->ar;
	const struct plan_ar_switch *goal = adaptive_section(s->plan, d);
	const struct ar_family *family = ar_family_of(d->info.vendor_id, d->info.device_id);
	enum word word = word_of(s, d);

	*row = (struct adaptive_row){ .guid = d->guid, .state = words[word],
				      .kind = family ? family->name : NULL };
	say_why(s, d, word, row);
	row->notable = adaptive_has_failed(s, d);
	if (ar)
		row->room = ar->info.group_cap ? ar->info.group_cap - 1 : 0;
	if (!adaptive_is_on(d))
		return;
	if (goal) {
		row->used = goal->used;
		row->left_out = goal->left_out;
		row->notable |= goal->left_out != 0;
	}
	row->recovery = ar->info.fr_en;
	if (!ar->info.enable)
		return;
	row->sls = ar->info.by_sl_en ? ar->info.sl_mask : UINT16_MAX;
	row->transports = (uint8_t)(EVERY_TRANSPORT & ~(ar->info.by_transp_cap ?
							ar->info.transport_disable : 0));
}

/* Rows are numbered by place in the table of devices. */
bool
subnet_adaptive_row(const struct subnet *s, uint64_t from, struct adaptive_row *row)
{
	for (uint64_t at = from; at < s->topo.len; at++) {
		const struct device *d = s->topo.table[at];

		if (!d || d->info.node_type != NODE_SWITCH)
			continue;
		fill(s, d, row);
		row->next = at + 1;
		return true;
	}
	return false;
}
