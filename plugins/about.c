/* SPDX-License-Identifier: BSD-2-Clause */
#include "plugins/impl.h"

#include <stdio.h>
#include <string.h>
#include "sm/base/log.h"
#include "sm/base/text.h"

/*
 * What a plugin says of itself, as its process has written it down. Nothing of it is trusted: each
 * offset is checked, texts are copied to their NUL at most once, and an option that the
 * configuration language could do nothing with refuses the plugin.
 */
#define OPTIONS_MAX 64u
#define WORDS_MAX 64u
#define TYPES_MAX 256u
#define TEXT_LEN 4096u		/* bytes of any text */

struct reader {
	struct region *region;	/* of what is made */
	const uint8_t *data;
	size_t size;
	struct error *e;	/* of the first thing that was wrong */
};

static int
wrong(struct reader *r, const char *what)
{
	return error_set(r->e, ERR_FORMAT, "gives a description that cannot be read: %s", what);
}

/* A text of at most `max` bytes, or NULL. */
static const char *
take_text(struct reader *r, uint64_t at, size_t max, const char *what)
{
	size_t room = at && at < r->size ? r->size - at : 0, len;
	char *text;

	len = strnlen((const char *)r->data + (room ? at : 0), room < max + 1 ? room : max + 1);
	if (len == room || len > max) {
		wrong(r, what);
		return NULL;
	}
	text = region_alloc(r->region, len + 1);
	text_take(text, len + 1, (const char *)r->data + at, len);
	return text;
}

/* A list of texts, ended by NULL; NULL. */
static const char *const *
take_texts(struct reader *r, uint64_t at, uint32_t len, uint32_t max, const char *what)
{
	const char **texts;
	uint64_t place;

	if (len > max || at > r->size || (uint64_t)len * sizeof(place) > r->size - at) {
		wrong(r, what);
		return NULL;
	}
	texts = region_array(r->region, len + 1, sizeof(*texts));
	for (uint32_t i = 0; i < len; i++) {
		memcpy(&place, r->data + at + i * sizeof(place), sizeof(place));
		texts[i] = take_text(r, place, 63, what);
		if (!texts[i])
			return NULL;
	}
	return texts;
}

static bool
is_name(const char *s, const char *chars)
{
	size_t len = strlen(s);

	return len >= 1 && len <= 31 && s[0] != '-' && strspn(s, chars) == len;
}

#define OPTION_CHARS "abcdefghijklmnopqrstuvwxyz0123456789_"

static bool
is_word(const struct plugin_option *o, const char *text)
{
	for (const char *const *w = o->words; *w; w++)
		if (!strcmp(*w, text))
			return true;
	return false;
}

static bool
is_initial(const struct plugin_option *o)
{
	uint64_t n;

	switch (o->type) {
	case WEFT_OPTION_NUMBER:
		return number_parse(o->initial, o->min, o->max, &n);
	case WEFT_OPTION_FLAG:
		return !strcmp(o->initial, "true") || !strcmp(o->initial, "false");
	case WEFT_OPTION_TEXT:
		return strlen(o->initial) <= o->max;
	default:
		return is_word(o, o->initial);
	}
}

static int
check_option(const struct plugin_about *a, const struct plugin_option *o, struct error *e)
{
	if (!is_name(o->name, OPTION_CHARS))
		return error_set(e, ERR_REFUSED, "declares an option \"%.40s\": its name is not "
				 "1 to 31 of a-z, 0-9 and _", o->name);
	for (const struct plugin_option *p = a->options; p < o; p++)
		if (!strcmp(p->name, o->name))
			return error_set(e, ERR_REFUSED, "declares option %s twice", o->name);
	if (o->type > WEFT_OPTION_WORD)
		return error_set(e, ERR_REFUSED, "declares option %s of type %u, which there is "
				 "not", o->name, o->type);
	if (o->type == WEFT_OPTION_TEXT && o->max > TEXT_LEN)
		return error_set(e, ERR_REFUSED, "declares option %s with texts of %llu bytes: at "
				 "most %u can be", o->name, (unsigned long long)o->max, TEXT_LEN);
	if (!is_initial(o))
		return error_set(e, ERR_REFUSED, "declares option %s with the initial value "
				 "\"%.60s\", which it does not allow", o->name, o->initial);
	return 0;
}

static int
take_option(struct reader *r, const struct plugin_about *a, const uint8_t *from,
	    struct plugin_option *o)
{
	struct layout_option raw;

	memcpy(&raw, from, sizeof(raw));
	*o = (struct plugin_option){
		.min = raw.min, .max = raw.max, .type = raw.type,
		.name = take_text(r, raw.name, 255, "the name of an option"),
		.initial = take_text(r, raw.initial, TEXT_LEN, "the initial value of an option"),
		.help = take_text(r, raw.help, TEXT_LEN, "the help of an option"),
		.words = take_texts(r, raw.words, raw.nwords, WORDS_MAX, "the words of an option"),
	};
	if (!o->name || !o->initial || !o->help || !o->words)
		return ERR_FORMAT;
	return check_option(a, o, r->e);
}

static int
take_options(struct reader *r, const struct layout_about *raw, struct plugin_about *a)
{
	struct plugin_option *options;
	int rc = 0;

	if (raw->noptions > OPTIONS_MAX || raw->options > r->size ||
	    raw->noptions * sizeof(struct layout_option) > r->size - raw->options)
		return wrong(r, "the number of options");
	options = region_array(r->region, raw->noptions + 1u, sizeof(*options));
	a->options = options;
	for (; a->noptions < raw->noptions && !rc; a->noptions++)
		rc = take_option(r, a, r->data + raw->options +
				 a->noptions * sizeof(struct layout_option), &options[a->noptions]);
	return rc;
}

static int
take_consumer(struct reader *r, const struct layout_about *raw, struct plugin_about *a)
{
	if (raw->level > LOG_L_DEBUG)
		return error_set(r->e, ERR_REFUSED, "wants events of level %u, which there is not",
				 raw->level);
	a->level = raw->level;
	if (!raw->types)
		return 0;
	a->types = take_texts(r, raw->types, raw->ntypes, TYPES_MAX, "types of events");
	return a->types ? 0 : ERR_FORMAT;
}

int
about_read(struct plugin_core *core, const uint8_t *output, size_t size, struct error *e)
{
	struct reader r = { .region = core->region, .data = output, .size = size, .e = e };
	struct plugin_about *a = &core->about;
	struct layout_about raw;

	if (size < sizeof(struct layout_output))
		return wrong(&r, "it is too short");
	memcpy(&raw, output + offsetof(struct layout_output, about), sizeof(raw));
	*a = (struct plugin_about){
		.abi = raw.abi, .flags = raw.flags, .is_engine = raw.is_engine,
		.name = take_text(&r, raw.name, 255, "its name"),
		.version = take_text(&r, raw.version, 63, "its version"),
		.help = take_text(&r, raw.help, 255, "its help"),
	};
	if (!a->name || !a->version || !a->help)
		return ERR_FORMAT;
	if (!is_name(a->name, OPTION_CHARS "-"))
		return error_set(e, ERR_REFUSED, "calls itself \"%.40s\": names are 1 to 31 of "
				 "a-z, 0-9, _ and -, not starting with -", a->name);
	if (!a->is_engine)
		return take_consumer(&r, &raw, a) ? e->code : take_options(&r, &raw, a);
	a->topologies = take_text(&r, raw.topologies, 255, "what it is for");
	return a->topologies ? take_options(&r, &raw, a) : ERR_FORMAT;
}
