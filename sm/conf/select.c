/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/conf/config.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <string.h>
#include "sm/base/mem.h"
#include "sm/base/text.h"

/*
 * Node selection: which nodes a text means.
 *
 * Between slashes stands a regular expression (PCRE2) that is searched in the node's name; any
 * other text is the whole name, or a GUID. Expressions come from configuration files and from
 * clients of the control socket, and node names from the fabric, so one may be built to run for
 * ever on the other: length, steps, depth and memory of a match are bounded, and a match that
 * hits a bound counts as none, which selects less rather than more. It is logged.
 *
 * A selection belongs to its creator. Matching uses scratch of the selection: one thread at a time.
 */
#define TEXT_MAX 1000u		/* bytes of a selection */
#define MATCH_STEPS 20000u
#define MATCH_DEPTH 2000u
#define MATCH_HEAP 1024u	/* kibibytes */

struct selection {
	char *text;			/* as given */
	bool has_guid;			/* the text may be a GUID */
	uint64_t guid;			/* which */
	pcre2_code *code;		/* expressions only, else NULL */
	pcre2_match_data *match;	/* scratch of a match */
	pcre2_match_context *limits;	/* of a match */
	struct log_limit *limit;	/* of complaints about limits */
};

static int
compile_failed(int number, size_t offset, struct error *e)
{
	char why[128];

	if (pcre2_get_error_message(number, (PCRE2_UCHAR *)why, sizeof(why)) < 0)
		why[0] = '\0';
	return error_set(e, ERR_FORMAT, "the regular expression is wrong at character %zu: %s",
			 offset + 1, why);
}

static int
compile(struct selection *s, const char *pattern, size_t len, struct error *e)
{
	const uint32_t options = PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C;
	size_t offset;
	int number;

	s->code = pcre2_compile((PCRE2_SPTR)pattern, len, options, &number, &offset, NULL);
	if (!s->code)
		return compile_failed(number, offset, e);
	s->match = pcre2_match_data_create(1, NULL);
	s->limits = pcre2_match_context_create(NULL);
	if (!s->match || !s->limits)
		return error_set(e, ERR_NOMEM, "not enough memory for the selection");
	pcre2_set_match_limit(s->limits, MATCH_STEPS);
	pcre2_set_depth_limit(s->limits, MATCH_DEPTH);
	pcre2_set_heap_limit(s->limits, MATCH_HEAP);
	s->limit = mem_zalloc(sizeof(*s->limit));
	return 0;
}

static int
read_text(struct selection *s, struct error *e)
{
	size_t len = strlen(s->text);

	if (!len)
		return error_set(e, ERR_INVALID, "expected a name, a GUID, or a regular "
				 "expression between slashes, found an empty text");
	if (len > TEXT_MAX)
		return error_set(e, ERR_FULL, "a selection may have %u bytes at most", TEXT_MAX);
	if (*s->text != '/') {
		s->has_guid = guid_parse(s->text, &s->guid);
		return 0;
	}
	if (len < 2 || s->text[len - 1] != '/')
		return error_set(e, ERR_FORMAT,
				 "the / at the end of the regular expression is missing");
	if (len == 2)
		return error_set(e, ERR_FORMAT, "there is nothing between the slashes");
	return compile(s, s->text + 1, len - 2, e);
}

struct selection *
selection_new(const char *text, struct error *e)
{
	struct selection *s = mem_zalloc(sizeof(*s));

	s->text = mem_strdup(text);
	if (read_text(s, e) == 0)
		return s;
	selection_free(s);
	return NULL;
}

bool
selection_match(const struct selection *s, const char *name, uint64_t guid)
{
	int rc;

	if (!s->code)
		return strcmp(s->text, name) == 0 || (s->has_guid && s->guid == guid);
	rc = pcre2_match(s->code, (PCRE2_SPTR)name, strlen(name), 0, 0, s->match, s->limits);
	if (rc < 0 && rc != PCRE2_ERROR_NOMATCH)
		log_limited(s->limit, LOG_L_WARNING, "selection %s gave up on \"%s\" "
			    "(0x%016llx): taken as no match", s->text, name,
			    (unsigned long long)guid);
	return rc >= 0;
}

void
selection_free(struct selection *s)
{
	if (!s)
		return;
	pcre2_code_free(s->code);
	pcre2_match_data_free(s->match);
	pcre2_match_context_free(s->limits);
	mem_free(s->limit);
	mem_free(s->text);
	mem_free(s);
}
