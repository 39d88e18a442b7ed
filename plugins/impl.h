/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PLUGINS_IMPL_H
#define PLUGINS_IMPL_H

#include <pthread.h>
#include "plugins/child.h"
#include "plugins/memory.h"
#include "plugins/plugin.h"
#include "plugins/plugins.h"
#include "routing/engine.h"
#include "sm/base/mem.h"

/* What all that was made from one file has in common. */
struct plugin_core {
	uint32_t refs;			/* atomic */
	struct region *region;		/* of what follows */
	const char *path;		/* of the file */
	struct plugin_about about;	/* of it */
	struct memory code;		/* sealed, mapped */
	pthread_mutex_t lock;		/* of the figures */
	struct plugin_figures figures;
};

struct plugin {
	struct engine engine;		/* for chains, if it is one */
	uint32_t refs;			/* atomic */
	struct plugin_core *core;	/* a reference */
	struct plugin_limits limits;	/* `user` is ours */
	uint32_t uid, gid;		/* of that user; LAYOUT_NOBODY: we may not choose */
	char **values;			/* about.noptions, ours; NULL entries: the initial one */
};

/* Fill core->about from what a process said; ERR_FORMAT or ERR_REFUSED and a sentence. `size` is
 * that of the output. */
int
about_read(struct plugin_core *core, const uint8_t *output, size_t size, struct error *e);

/* What a process gets: for engines with `in`, else NULL. Sealed. */
int
input_make(struct memory *m, const struct plugin *p, enum layout_mode mode,
	   const struct engine_input *in, struct error *e);

/* Have room for rows that are going to be needed, while the process is at work. */
void
result_prepare(const struct engine_input *in, struct engine_output *out);
/* What an engine made becomes rows and the rest; ERR_REFUSED or ERR_FORMAT and a sentence. */
int
result_take(const struct engine_input *in, const struct memory *output, struct engine_output *out,
	    struct error *e);
/* Links are numbered as in the snapshot; ports of switches are below this. */
uint32_t
input_ports(const struct fabric *f);
/* Lanes that an engine may use. */
unsigned
input_lanes(const struct engine_input *in);

/* A text of an output, cleaned: what is no UTF-8 or no character for people becomes '?'. */
void
text_take(char *to, size_t size, const char *from, size_t len);

/* What a process is to do. */
struct plugin_task {
	unsigned time_ms;		/* that it may take */
	char what[64];			/* it routes: "27648 hosts" */
	const struct engine_input *in;	/* NULL: it does not route */
	struct engine_output *out;
};

/* Run a process of plugin `p` to its end: 0 if its output is complete, and sealed. A failure is one
 * sentence without the plugin's name: "was ended by SIGSEGV while it routed 27648 hosts". */
int
plugin_run(const struct plugin *p, const struct memory *input, struct memory *output,
	   const struct plugin_task *task, struct error *e);
/* Count a run that took `us`; `failure`: why it failed, NULL if it did not. Below 0: the run was
 * counted before, and failed now. */
void
plugin_count(const struct plugin *p, int64_t us, const char *failure);

/* engine.route of all plugins. */
int
plugin_route(const struct engine_input *in, struct engine_output *out, struct error *e);

#endif
