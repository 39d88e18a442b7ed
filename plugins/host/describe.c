/* SPDX-License-Identifier: BSD-2-Clause */
#include "plugins/host/host.h"

#include <string.h>

/*
 * Write down what the plugin says of itself. Its texts are copied as they are; the daemon checks
 * them, since it cannot trust what happened here anyway.
 */
struct writer {
	struct host *h;
	uint64_t at;		/* next free byte of the output */
};

static void *
room(struct writer *w, size_t size, uint64_t *at)
{
	*at = (w->at + 7) & ~UINT64_C(7);
	if (*at > LAYOUT_DESCRIPTION || size > LAYOUT_DESCRIPTION - *at)
		host_refuse(w->h, "says more of itself than %u KiB", LAYOUT_DESCRIPTION >> 10);
	w->at = *at + size;
	return (char *)w->h->out + *at;
}

static uint64_t
put_text(struct writer *w, const char *text, const char *what)
{
	uint64_t at;
	size_t len;

	if (!text)
		host_refuse(w->h, "has no %s: NULL is not allowed there", what);
	len = strnlen(text, LAYOUT_DESCRIPTION);
	memcpy(room(w, len + 1, &at), text, len);
	return at;
}

/* Texts up to NULL; their number in *len. */
static uint64_t
put_texts(struct writer *w, const char *const *texts, uint32_t *len)
{
	uint64_t at, *list;

	for (*len = 0; texts && texts[*len]; ++*len)
		;
	list = room(w, *len * sizeof(*list), &at);
	for (uint32_t i = 0; i < *len; i++)
		list[i] = put_text(w, texts[i], "");
	return at;
}

static void
put_options(struct writer *w, struct layout_about *a)
{
	const struct weft_plugin *p = &w->h->plugin;
	struct layout_option *to = room(w, p->noptions * sizeof(*to), &a->options);

	a->noptions = p->noptions;
	for (uint32_t i = 0; i < p->noptions; i++) {
		struct weft_option o = host_option(w->h, i);

		to[i] = (struct layout_option){ .type = o.type, .min = o.min, .max = o.max };
		to[i].name = put_text(w, o.name, "name of an option");
		to[i].initial = put_text(w, o.initial, "initial value of an option");
		to[i].help = put_text(w, o.help, "help of an option");
		to[i].words = put_texts(w, o.type == WEFT_OPTION_WORD ? o.words : NULL,
					&to[i].nwords);
	}
}

void
describe(struct host *h)
{
	struct writer w = { .h = h, .at = sizeof(*h->out) };
	const struct weft_plugin *p = &h->plugin;
	struct layout_about *a = &h->out->about;

	host_stage(h, LAYOUT_DESCRIBES);
	a->abi = p->abi;
	a->is_engine = p->engine != NULL;
	a->name = put_text(&w, p->name, "name");
	a->version = put_text(&w, p->version, "version");
	a->help = put_text(&w, p->help, "help");
	put_options(&w, a);
	if (p->engine) {
		a->flags = h->engine.flags;
		a->topologies = put_text(&w, h->engine.topologies, "topologies");
	} else {
		a->level = h->consumer.level;
		if (h->consumer.types)
			a->types = put_texts(&w, h->consumer.types, &a->ntypes);
	}
}
