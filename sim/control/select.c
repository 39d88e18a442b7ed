/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/control/select.h"

#include <fnmatch.h>
#include <regex.h>
#include <string.h>
#include "sim/control/names.h"
#include "sm/base/mem.h"

/*
 * Selections of nodes. Expressions come from whoever runs the simulation; their length is bounded
 * by that of a command line.
 */
struct matcher {
	const char *pattern;	/* with * ? [], or NULL */
	regex_t *regex;		/* or this, or NULL: all */
};

static bool
text_matches(const struct matcher *m, const char *text)
{
	if (m->pattern)
		return fnmatch(m->pattern, text, 0) == 0;
	return !m->regex || regexec(m->regex, text, 0, NULL, 0) == 0;
}

static int
collect(struct selection *s, const struct sim *sim, const struct matcher *m, bool switches)
{
	for (uint32_t i = 0; i < sim->net->nnodes; i++) {
		const struct ibnet_node *n = &sim->net->nodes[i];

		if (switches && n->type != IBNET_SWITCH)
			continue;
		if (text_matches(m, n->desc) || text_matches(m, n->name))
			s->nodes[s->len++] = i;
	}
	return s->len ? 0 : ERR_NOT_FOUND;
}

/* What stands between the slashes. */
static int
by_regex(struct selection *s, const struct sim *sim, const char *word, bool switches,
	 struct error *e)
{
	char *text = mem_strdup(word + 1), why[100];
	regex_t regex;
	int rc;

	text[strlen(text) - 1] = '\0';
	rc = regcomp(&regex, text, REG_EXTENDED | REG_NOSUB);
	if (rc) {
		regerror(rc, &regex, why, sizeof(why));
		rc = error_set(e, ERR_INVALID, "%.100s is no regular expression: %s", word, why);
	} else {
		rc = collect(s, sim, &(struct matcher){ .regex = &regex }, switches);
		regfree(&regex);
		if (rc < 0)
			error_set(e, rc, "%s matches %.100s", switches ? "no switch" : "no node",
				  word);
	}
	mem_free(text);
	return rc;
}

static int
by_pattern(struct selection *s, const struct sim *sim, const char *word, bool switches,
	   struct error *e)
{
	bool all = strcmp(word, "all") == 0;

	if (collect(s, sim, &(struct matcher){ .pattern = all ? NULL : word }, switches) < 0)
		return error_set(e, ERR_NOT_FOUND, "%s matches %.100s",
				 switches ? "no switch" : "no node", word);
	return 0;
}

static int
by_name(struct selection *s, const struct sim *sim, const char *word, bool switches,
	struct error *e)
{
	int rc = names_node(sim->names, word, &s->nodes[0], e);

	if (rc < 0)
		return rc;
	if (switches && sim->net->nodes[s->nodes[0]].type != IBNET_SWITCH)
		return error_set(e, ERR_INVALID, "%s is no switch",
				 names_text(sim->names, s->nodes[0]));
	s->len = 1;
	return 0;
}

int
select_nodes(struct selection *s, const struct sim *sim, const char *word, bool switches,
	     struct error *e)
{
	size_t len = strlen(word);
	uint32_t node;
	int rc;

	s->len = 0;
	s->nodes = mem_array(sim->net->nnodes, sizeof(*s->nodes));
	if (names_node(sim->names, word, &node, NULL) == 0)
		rc = by_name(s, sim, word, switches, e);
	else if (len > 2 && word[0] == '/' && word[len - 1] == '/')
		rc = by_regex(s, sim, word, switches, e);
	else if (strcmp(word, "all") == 0 || strpbrk(word, "*?["))
		rc = by_pattern(s, sim, word, switches, e);
	else
		rc = by_name(s, sim, word, switches, e);
	if (rc < 0)
		select_free(s);
	return rc;
}

void
select_free(struct selection *s)
{
	mem_free(s->nodes);
	s->nodes = NULL;
	s->len = 0;
}
