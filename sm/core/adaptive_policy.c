/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the configuration wants of adaptive routing: for which switches it is, and which packets may
 * be spread. The loop reads it into a plan job, switch by switch; the worker adds what levels of
 * service say, when their service levels are known.
 *
 * What a switch cannot be told it is not trusted with: one that does not know service levels or
 * transports apart spreads nothing unless all of them may be spread; it may still replace ports
 * that are dead, for which the order of packets does not matter.
 */
#include "sm/core/adaptive.h"

#include <string.h>
#include "sm/base/mem.h"
#include "sm/core/planner.h"
#include "sm/fabric/sls.h"

#define EVERY_SL UINT16_MAX
#define EVERY_TRANSPORT (AR_UD | AR_RC | AR_UC | AR_DC)

/* ---- Which switches ---- */

struct adaptive_chosen {
	struct selection **only;	/* NULL-terminated; none: all */
	struct selection **except;
};

static struct selection **
compile(const char **texts)
{
	struct selection **list;
	struct error e = { 0 };
	unsigned len = 0, n = 0;

	while (texts && texts[len])
		len++;
	list = mem_array(len + 1, sizeof(struct selection *));
	for (unsigned i = 0; i < len; i++) {
		struct selection *one = selection_new(texts[i], &e);

		if (one)	/* it was checked when it was read */
			list[n++] = one;
	}
	return list;
}

static void
drop(struct selection **list)
{
	for (unsigned i = 0; list[i]; i++)
		selection_free(list[i]);
	mem_free(list);
}

static bool
any_matches(struct selection *const *list, const struct fabric_node *n)
{
	for (unsigned i = 0; list[i]; i++)
		if (selection_match(list[i], n->name, n->guid))
			return true;
	return false;
}

struct adaptive_chosen *
adaptive_chosen_new(const struct config_subnet *c)
{
	struct adaptive_chosen *k = mem_zalloc(sizeof(*k));

	k->only = compile(c->routing.adaptive_switches);
	k->except = compile(c->routing.adaptive_except);
	return k;
}

bool
adaptive_chosen(const struct adaptive_chosen *k, const struct fabric_node *n)
{
	return (!k->only[0] || any_matches(k->only, n)) && !any_matches(k->except, n);
}

void
adaptive_chosen_free(struct adaptive_chosen *k)
{
	drop(k->only);
	drop(k->except);
	mem_free(k);
}

/* ---- What is known of them ---- */

static bool
fits(const struct config_ar_device *k, uint32_t vendor_id, uint16_t device_id)
{
	bool any = !k->ndevices;

	for (unsigned i = 0; i < k->ndevices; i++)
		any |= k->devices[i].from <= device_id && k->devices[i].to >= device_id;
	return k->vendor == vendor_id && any;
}

bool
adaptive_layout(const struct config_subnet *c, uint32_t vendor_id, uint16_t device_id,
		struct ar_layout *l)
{
	const struct ar_family *family = ar_family_of(vendor_id, device_id);

	*l = family ? family->layout : (struct ar_layout)AR_LAYOUT_UNKNOWN;
	for (unsigned i = 0; i < c->routing.nar_devices; i++) {
		const struct config_ar_device *k = &c->routing.ar_devices[i];

		if (!fits(k, vendor_id, device_id))
			continue;
		l->sub_groups_count = k->sub_groups == CONFIG_AR_COUNT;
		l->hbf_global_bit = (uint8_t)k->hbf_global_bit;
		return true;
	}
	return family != NULL;
}

/* ---- Which packets ---- */

static uint8_t
transports(const char **words)
{
	static const struct {
		const char *word;
		uint8_t bit;
	} all[] = { { "ud", AR_UD }, { "rc", AR_RC }, { "uc", AR_UC }, { "dc", AR_DC } };
	uint8_t bits = words ? 0 : AR_RC | AR_UC | AR_DC;

	for (unsigned i = 0; words && words[i]; i++)
		for (unsigned k = 0; k < 4; k++)
			if (!strcmp(words[i], all[k].word))
				bits |= all[k].bit;
	return bits;
}

void
adaptive_policy(const struct config_subnet *c, uint16_t any_order, struct adaptive_policy *p)
{
	static const uint8_t modes[] = {
		[CONFIG_SPREAD_FREE] = AR_FREE, [CONFIG_SPREAD_BOUNDED] = AR_BOUNDED,
		[CONFIG_SPREAD_HASH] = AR_HASH,
	};

	*p = (struct adaptive_policy){
		.sls = c->routing.nadaptive_sls ? 0 : EVERY_SL,
		.transports = EVERY_TRANSPORT & ~transports(c->routing.adaptive_transports),
		.mode = modes[c->routing.adaptive_mode],
		.recovery = c->routing.adaptive_recovery,
		.longer = c->routing.adaptive_nonminimal,
	};
	for (unsigned i = 0; i < c->routing.nadaptive_sls; i++)
		p->sls |= (uint16_t)(1u << c->routing.adaptive_sls[i]);
	/* Levels may add to what hosts say. By a hash all stays in order. */
	if (c->routing.adaptive == CONFIG_ADAPTIVE_AUTO && p->mode != AR_HASH)
		p->sls &= any_order;
	if (p->mode == AR_BOUNDED)
		p->ageing_us = (uint32_t)(c->routing.adaptive_ageing / USEC(1));
}

void
adaptive_policy_levels(struct adaptive_policy *p, const struct config_qos *q,
		       const struct plan_sls *s)
{
	unsigned yes = 0, no = 0;

	for (unsigned i = 0; s && i < q->nlevels && i < s->asked; i++)
		for (unsigned k = 0; k < s->classes; k++) {
			unsigned bit = 1u << s->sl[s->place[i] * s->classes + k];

			yes |= q->levels[i].adaptive == LEVEL_SPREAD_YES ? bit : 0;
			no |= q->levels[i].adaptive == LEVEL_SPREAD_NO ? bit : 0;
		}
	/* Levels may share one: who says no is heeded. */
	p->sls = (uint16_t)((p->sls | yes) & ~no);
}
