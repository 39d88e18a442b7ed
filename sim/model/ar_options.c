/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/model/ar.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include "sm/base/buf.h"
#include "sm/base/text.h"

/* What adaptive switches can, as text: features, numbers and flags, each a row of a table. */
#define WORD_SIZE 128

const struct ar_options ar_options_default = {
	.support = {
		.features = AR_ALL, .group_cap = 2048, .group_tables = 1, .sub_groups_cap = 2,
		.plfts = 4, .glb_groups = true, .group_top = true, .lft_leaves = true,
	},
	.layout = AR_LAYOUT_DEFAULT,
};

const char ar_options_help[] =
	"  features=NAME+NAME...  general, ar, fr, copy, calc, plft, rn, hbf, pfrn; all, none\n"
	"  hosts=MASK             service levels that hosts take in any order, bit 0 is SL 0 (0)\n"
	"  switches=vendor|all    that route adaptively: of vendor 0x2c9, or all (vendor)\n"
	"  group_cap=N            groups, with one sub-group (2048)\n"
	"  group_tables=N         group tables (1)\n"
	"  sub_groups_cap=N       most sub-groups of a group (2)\n"
	"  plfts=N                private LFTs (4)\n"
	"  glb_groups=yes|no      one group table for all private LFTs (yes)\n"
	"  group_top=yes|no       groups above GroupTop are not used (yes)\n"
	"  lft_leaves=yes|no      a plain LFT written turns adaptive routing off (yes)\n"
	"  and what is not established about the attributes: plft_shift, lft_plft_shift,\n"
	"  group_plft_shift, group_table_shift, gen_plft_shift, calc_bit, copy_direction_bit,\n"
	"  hbf_global_bit, force_bit, sub_groups, tables, copy_order, copy_zero\n";

static const struct {
	const char *name;	/* in the text */
	unsigned features;	/* enum ar_feature */
} features[] = {
	{ "none", 0 },
	{ "general", AR_GENERAL },
	{ "ar", AR_ADAPTIVE },
	{ "fr", AR_RECOVERY },
	{ "copy", AR_COPYING },
	{ "calc", AR_CALC },
	{ "plft", AR_PLFT },
	{ "rn", AR_NOTIFY },
	{ "hbf", AR_HASHING },
	{ "pfrn", AR_PFRN },
	{ "all", AR_ALL },
};

static int
set_features(struct ar_support *s, char *value, struct error *e)
{
	unsigned all = 0;
	char *save = NULL;

	for (char *w = strtok_r(value, "+", &save); w; w = strtok_r(NULL, "+", &save)) {
		size_t i = 0;

		while (i < sizeof(features) / sizeof(features[0]) && strcmp(w, features[i].name))
			i++;
		if (i == sizeof(features) / sizeof(features[0]))
			return error_set(e, ERR_INVALID, "features=%s: expected general, ar, fr, "
					 "copy, calc, plft, rn, hbf, pfrn, all or none", w);
		all |= features[i].features;
	}
	s->features = all & ~(unsigned)AR_GENERAL ? all | AR_GENERAL | AR_ADAPTIVE : all;
	return 0;
}

/* The other words. */
static const struct {
	const char *name;	/* in the text */
	size_t offset;		/* in struct ar_support */
	unsigned max;		/* of a number from 1 on; 0: a flag */
} members[] = {
	{ "group_cap", offsetof(struct ar_support, group_cap), AR_GROUPS_MAX - 1 },
	{ "group_tables", offsetof(struct ar_support, group_tables), 14 },
	{ "sub_groups_cap", offsetof(struct ar_support, sub_groups_cap), 15 },
	{ "plfts", offsetof(struct ar_support, plfts), AR_PLFTS_MAX },
	{ "glb_groups", offsetof(struct ar_support, glb_groups), 0 },
	{ "group_top", offsetof(struct ar_support, group_top), 0 },
	{ "lft_leaves", offsetof(struct ar_support, lft_leaves), 0 },
};
#define MEMBERS (sizeof(members) / sizeof(members[0]))

static int
set_member(struct ar_support *s, unsigned i, const char *value, struct error *e)
{
	char *at = (char *)s + members[i].offset;
	bool yes = !strcmp(value, "yes");
	uint64_t v;

	if (!members[i].max) {
		if (!yes && strcmp(value, "no"))
			return error_set(e, ERR_INVALID, "%s=%s: expected yes or no",
					 members[i].name, value);
		memcpy(at, &yes, sizeof(yes));
		return 0;
	}
	if (!number_parse(value, 1, members[i].max, &v))
		return error_set(e, ERR_INVALID, "%s=%s: expected a number from 1 to %u",
				 members[i].name, value, members[i].max);
	if (members[i].offset == offsetof(struct ar_support, group_cap))
		s->group_cap = (uint16_t)v;
	else
		*(uint8_t *)at = (uint8_t)v;
	return 0;
}

static int
set_switches(struct ar_options *o, const char *value, struct error *e)
{
	o->all_switches = !strcmp(value, "all");
	if (o->all_switches || !strcmp(value, "vendor"))
		return 0;
	return error_set(e, ERR_INVALID, "switches=%s: expected all or vendor", value);
}

static int
set_hosts(struct ar_options *o, const char *value, struct error *e)
{
	uint64_t v;

	if (!number_parse(value, 0, UINT16_MAX, &v))
		return error_set(e, ERR_INVALID, "hosts=%s: expected a number from 0 to 0xffff",
				 value);
	o->any_order = (uint16_t)v;
	return 0;
}

/* One "name=value"; false if it is none of the support's. */
static bool
set_word(struct ar_options *o, char *word, int *rc, struct error *e)
{
	char *value = strchr(word, '=');
	unsigned i = 0;

	if (!value)
		return false;
	*value++ = '\0';
	while (i < MEMBERS && strcmp(word, members[i].name))
		i++;
	if (!strcmp(word, "features"))
		*rc = set_features(&o->support, value, e);
	else if (!strcmp(word, "switches"))
		*rc = set_switches(o, value, e);
	else if (!strcmp(word, "hosts"))
		*rc = set_hosts(o, value, e);
	else if (i < MEMBERS)
		*rc = set_member(&o->support, i, value, e);
	else
		return false;
	return true;
}

/* What is not for the support is for the layout, which checks its words together. */
int
ar_options_parse(struct ar_options *o, const char *text, struct error *e)
{
	struct ar_options new = *o;
	struct buf layout = { 0 };
	char word[WORD_SIZE];
	int rc = 0;

	for (size_t len; *text && !rc; text += len + (text[len] == ',')) {
		len = strcspn(text, ",");
		snprintf(word, sizeof(word), "%.*s", (int)len, text);
		if (!set_word(&new, word, &rc, e))
			buf_printf(&layout, "%s%.*s", layout.len ? "," : "", (int)len, text);
	}
	if (!rc && layout.len)
		rc = ar_layout_parse(&new.layout, layout.data, e);
	buf_free(&layout);
	if (!rc)
		*o = new;
	return rc;
}

void
ar_support_print(struct buf *out, const struct ar_support *s)
{
	unsigned len = 0;

	buf_str(out, "features=");
	for (size_t i = 1; i + 1 < sizeof(features) / sizeof(features[0]); i++)
		if (s->features & features[i].features)
			buf_printf(out, "%s%s", len++ ? "+" : "", features[i].name);
	if (!len)
		buf_str(out, "none");
	buf_printf(out, ",group_cap=%u,group_tables=%u,sub_groups_cap=%u,plfts=%u", s->group_cap,
		   s->group_tables, s->sub_groups_cap, s->plfts);
	buf_printf(out, ",glb_groups=%s,group_top=%s,lft_leaves=%s", s->glb_groups ? "yes" : "no",
		   s->group_top ? "yes" : "no", s->lft_leaves ? "yes" : "no");
}
