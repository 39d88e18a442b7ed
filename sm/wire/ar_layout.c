/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/wire/ar.h"

#include <stddef.h>
#include <string.h>
#include "sm/base/text.h"

/*
 * What no public source establishes about the adaptive-routing attributes, as text and as code.
 *
 * Each choice is a row of one table: its name, where it lives, and its range or its two words. An
 * attribute modifier of several parts has the block number in its lower 12 bits; where the others
 * are is a row's value.
 */
#define BLOCK_MASK 0xfffu
#define NAME_SIZE 32

const struct ar_layout ar_layout_default = AR_LAYOUT_DEFAULT;

/* By the device ids that the maker publishes. Of none more is known than of the others as yet. */
static const struct ar_family families[] = {
	{ "SwitchX", AR_VENDOR, 0xc738, 0xc738, AR_LAYOUT_UNKNOWN },
	{ "Switch-IB", AR_VENDOR, 0xcb20, 0xcb20, AR_LAYOUT_UNKNOWN },
	{ "Switch-IB 2", AR_VENDOR, 0xcf08, 0xcf08, AR_LAYOUT_UNKNOWN },
	{ "Quantum", AR_VENDOR, 0xd2f0, 0xd2f0, AR_LAYOUT_UNKNOWN },
	{ "Quantum-2", AR_VENDOR, 0xd2f2, 0xd2f2, AR_LAYOUT_UNKNOWN },
	{ "Quantum-3", AR_VENDOR, 0xd2f4, 0xd2f4, AR_LAYOUT_UNKNOWN },
	{ "other", AR_VENDOR, 0, UINT16_MAX, AR_LAYOUT_UNKNOWN },
};

const struct ar_family *
ar_family_of(uint32_t vendor_id, uint16_t device_id)
{
	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
		if (families[i].vendor == vendor_id && families[i].first <= device_id &&
		    families[i].last >= device_id)
			return &families[i];
	return NULL;
}

struct choice {
	const char *name;	/* in the text */
	size_t offset;		/* in struct ar_layout */
	unsigned min, max;	/* of a number; both 0: one of two words */
	const char *words[2];	/* for false and true */
};

#define NUMBER(member, min, max) { #member, offsetof(struct ar_layout, member), min, max, { NULL } }
#define WORDS(name, member, no, yes) { name, offsetof(struct ar_layout, member), 0, 0, { no, yes } }

static const struct choice choices[] = {
	NUMBER(lft_plft_shift, 12, 24),
	NUMBER(group_plft_shift, 12, 24),
	NUMBER(group_table_shift, 12, 24),
	NUMBER(gen_plft_shift, 12, 24),
	NUMBER(calc_bit, 0, 31),
	NUMBER(copy_direction_bit, 12, 31),
	NUMBER(hbf_global_bit, 12, 31),
	NUMBER(force_bit, 1, 7),
	WORDS("sub_groups", sub_groups_count, "zero-based", "count"),
	WORDS("tables", tables_last, "count", "last"),
	WORDS("copy_order", copy_first_first, "last-first", "first-last"),
	WORDS("copy_zero", copy_zero_unused, "group-0", "unused"),
};

#define CHOICES (sizeof(choices) / sizeof(choices[0]))

static int
set_choice(struct ar_layout *l, const struct choice *k, const char *value, struct error *e)
{
	uint8_t *at = (uint8_t *)l + k->offset;
	uint64_t v;

	if (k->max) {
		if (!number_parse(value, k->min, k->max, &v))
			return error_set(e, ERR_INVALID, "%s=%s: expected a number from %u to %u",
					 k->name, value, k->min, k->max);
		*at = (uint8_t)v;
		return 0;
	}
	for (unsigned i = 0; i < 2; i++) {
		bool yes = i != 0;

		if (strcmp(value, k->words[i]))
			continue;
		memcpy(at, &yes, sizeof(yes));
		return 0;
	}
	return error_set(e, ERR_INVALID, "%s=%s: expected %s or %s", k->name, value, k->words[0],
			 k->words[1]);
}

static int
unknown(const char *name, struct error *e)
{
	const char *words[CHOICES + 1] = { NULL }, *near;

	for (size_t i = 0; i < CHOICES; i++)
		words[i] = choices[i].name;
	near = nearest_word(name, words);
	return error_set(e, ERR_INVALID,
			 "\"%s\": no such choice of the adaptive-routing layout%s%s%s", name,
			 near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

static int
set_named(struct ar_layout *l, const char *name, const char *value, struct error *e)
{
	if (!strcmp(name, "plft_shift")) {
		int rc = set_choice(l, &choices[0], value, e);

		if (!rc)
			l->group_plft_shift = l->gen_plft_shift = l->lft_plft_shift;
		return rc;
	}
	for (size_t i = 0; i < CHOICES; i++)
		if (!strcmp(name, choices[i].name))
			return set_choice(l, &choices[i], value, e);
	return unknown(name, e);
}

/* The parts of 0xFF21's modifier, the only one with three, must keep apart. */
static int
check(const struct ar_layout *l, struct error *e)
{
	int distance = l->group_plft_shift - l->group_table_shift;

	if (distance > -8 && distance < 8)
		return error_set(e, ERR_INVALID, "group_table_shift=%u and group_plft_shift=%u "
				 "overlap: they must be 8 or more apart", l->group_table_shift,
				 l->group_plft_shift);
	return 0;
}

/* The next item of the list, "name=value", cut in two; false at its end. */
static bool
next_item(const char **text, char name[NAME_SIZE], char value[NAME_SIZE])
{
	size_t len = strcspn(*text, ","), cut = strcspn(*text, ",=");
	const char *after = *text + cut + (cut < len);
	size_t vlen = (size_t)(*text + len - after);

	if (!**text)
		return false;
	cut = cut < NAME_SIZE ? cut : NAME_SIZE - 1;
	vlen = vlen < NAME_SIZE ? vlen : NAME_SIZE - 1;
	memcpy(name, *text, cut);
	name[cut] = '\0';
	memcpy(value, after, vlen);
	value[vlen] = '\0';
	*text += len;
	*text += **text == ',';
	return true;
}

int
ar_layout_parse(struct ar_layout *l, const char *text, struct error *e)
{
	struct ar_layout new = *l;
	char name[NAME_SIZE], value[NAME_SIZE];
	int rc = 0;

	while (!rc && next_item(&text, name, value))
		rc = set_named(&new, name, value, e);
	if (!rc)
		rc = check(&new, e);
	if (!rc)
		*l = new;
	return rc;
}

/* ---- Modifiers ---- */

struct shifts {
	unsigned table, plft;	/* positions, AR_UNKNOWN: there is no such part */
};

static bool
shifts_of(struct shifts *s, uint16_t attr_id, const struct ar_layout *l)
{
	*s = (struct shifts){ AR_UNKNOWN, AR_UNKNOWN };
	switch (attr_id) {
	case AR_ATTR_LFT:
		s->plft = l->lft_plft_shift;
		return true;
	case AR_ATTR_GROUPS:
		s->plft = l->group_plft_shift;
		s->table = l->group_table_shift;
		return true;
	case AR_ATTR_RN_GEN:
		s->plft = l->gen_plft_shift;
		return true;
	}
	return false;
}

static uint32_t
put_part(uint8_t part, unsigned shift)
{
	return shift == AR_UNKNOWN ? 0 : (uint32_t)part << shift;
}

static uint8_t
get_part(uint32_t mod, unsigned shift)
{
	if (shift == AR_UNKNOWN)
		return 0;
	return (uint8_t)(mod >> shift);
}

uint32_t
ar_mod_encode(const struct ar_mod *a, uint16_t attr_id, const struct ar_layout *l)
{
	struct shifts s;

	shifts_of(&s, attr_id, l);
	return (a->block & BLOCK_MASK) | put_part(a->table, s.table) | put_part(a->plft, s.plft);
}

bool
ar_mod_decode(struct ar_mod *a, uint16_t attr_id, const struct ar_layout *l, uint32_t mod)
{
	struct shifts s;
	bool known = shifts_of(&s, attr_id, l);

	*a = (struct ar_mod){ .block = mod & BLOCK_MASK };
	if (!known)
		return false;
	a->table = get_part(mod, s.table);
	a->plft = get_part(mod, s.plft);
	return ar_mod_encode(a, attr_id, l) == mod;
}

unsigned
ar_sub_groups(const struct ar_layout *l, uint8_t sub_grps_active)
{
	if (!l->sub_groups_count)
		return sub_grps_active + 1u;
	return sub_grps_active ? sub_grps_active : 1;
}

uint8_t
ar_sub_grps_active(const struct ar_layout *l, unsigned sub_groups)
{
	return (uint8_t)(l->sub_groups_count ? sub_groups : sub_groups - 1);
}

unsigned
ar_tables(const struct ar_layout *l, uint8_t group_table_cap)
{
	return group_table_cap + (l->tables_last ? 1u : 0u);
}
