/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/program/console.h"

#include <histedit.h>
#include <stdio.h>
#include <string.h>
#include "sm/base/mem.h"

/* The console's terminal, by libedit. */
#define HISTORY_LINES 500

static const char *
prompt(EditLine *el)
{
	(void)el;
	return "weftsim> ";
}

static void
read_all(EditLine *el, History *h, bool (*line)(void *arg, const char *text), void *arg)
{
	HistEvent event;
	const char *typed;
	bool more = true;
	char *text;
	int len;

	while (more && (typed = el_gets(el, &len)) && len > 0) {
		text = mem_strdup(typed);
		text[strcspn(text, "\n")] = '\0';
		if (text[strspn(text, " \t")])
			history(h, &event, H_ENTER, text);
		more = line(arg, text);
		mem_free(text);
	}
}

void
console_run(bool (*line)(void *arg, const char *text), void *arg)
{
	EditLine *el = el_init("weftsim", stdin, stdout, stderr);
	History *h = history_init();
	HistEvent event;

	if (el && h) {
		history(h, &event, H_SETSIZE, HISTORY_LINES);
		el_set(el, EL_PROMPT, prompt);
		el_set(el, EL_EDITOR, "emacs");
		el_set(el, EL_SIGNAL, 1);
		el_set(el, EL_HIST, history, h);
		puts("\"help\" lists the commands, \"wrong\" what is wrong; \"exit\" or Ctrl-D "
		     "leaves.");
		read_all(el, h, line, arg);
	}
	if (h)
		history_end(h);
	if (el)
		el_end(el);
}
