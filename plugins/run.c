/* SPDX-License-Identifier: BSD-2-Clause */
#include "plugins/impl.h"

#include <stdio.h>
#include <string.h>
#include "sm/base/clock.h"

/*
 * Runs of plugins, each in a process of its own, and what became of them.
 */
/* ---- Figures ---- */

void
plugin_figures(const struct plugin *p, struct plugin_figures *f)
{
	pthread_mutex_lock(&p->core->lock);
	*f = p->core->figures;
	pthread_mutex_unlock(&p->core->lock);
}

void
plugin_count(const struct plugin *p, int64_t us, const char *failure)
{
	struct plugin_figures *f = &p->core->figures;

	pthread_mutex_lock(&p->core->lock);
	if (us >= 0) {
		f->runs++;
		f->last_us = (uint64_t)us;
		f->most_us = f->most_us < f->last_us ? f->last_us : f->most_us;
	}
	if (failure) {
		f->failures++;
		f->failed = clock_wall();
		snprintf(f->failure, sizeof(f->failure), "%s", failure);
	}
	pthread_mutex_unlock(&p->core->lock);
}

/* ---- A process to its end ---- */

static void
stage_text(uint32_t stage, const char *routes, char *text, size_t size)
{
	static const char *const texts[LAYOUT_STAGES] = {
		[LAYOUT_STARTS] = "was being started", [LAYOUT_LOADS] = "was being loaded",
		[LAYOUT_DESCRIBES] = "said what it is",
		[LAYOUT_DONE] = "was being left",
	};

	if (stage == LAYOUT_ROUTES)
		snprintf(text, size, "routed %s", routes);
	else
		snprintf(text, size, "%s", stage < LAYOUT_STAGES && texts[stage] ? texts[stage] :
			 "did what is not known");
}

/* What the process left in its memory tells whether it came to its end. */
static int
look_at(const struct child *c, struct memory *output, const char *routes, struct error *e)
{
	struct layout_output made;
	char doing[96], why[LAYOUT_TEXT];
	int rc = memory_seal(output, e);

	if (rc)
		return rc;
	memory_read(output, &made, sizeof(made), 0);
	stage_text(made.stage, routes, doing, sizeof(doing));
	rc = child_verdict(c, doing, e);
	if (rc)
		return rc;
	text_take(why, sizeof(why), made.why, sizeof(made.why));
	if (made.refused && made.stage == LAYOUT_ROUTES)
		return error_set(e, ERR_UNSUPPORTED, "%s%s", why[0] ? "says: " :
				 "does not say why it refuses", why);
	if (made.refused)
		return error_set(e, ERR_REFUSED, "%s", why);
	if (made.stage != LAYOUT_DONE)
		return error_set(e, ERR_REFUSED, "ended with status 0 while it %s", doing);
	return 0;
}

int
plugin_run(const struct plugin *p, const struct memory *input, struct memory *output,
	   const struct plugin_task *task, struct error *e)
{
	struct child_start start = { .plugin = p, .input = input->fd, .output = output->fd,
				     .channel = -1 };
	struct child *c;
	int rc;

	memory_leave(output);
	c = child_start(&start, e);
	if (!c)
		return e->code;
	if (task->in)
		result_prepare(task->in, task->out);
	child_wait(c, task->time_ms);
	rc = look_at(c, output, task->what, e);
	child_free(c);
	return rc;
}

/* ---- Route ---- */

static int
route(const struct plugin *p, const struct engine_input *in, struct engine_output *out,
      struct error *e)
{
	struct memory input = MEMORY_NONE, output = MEMORY_NONE;
	const struct fabric *f = in->fabric;
	struct layout_result r;
	struct plugin_task task = { .time_ms = p->limits.time_ms, .in = in, .out = out };
	int rc;

	snprintf(task.what, sizeof(task.what), "%u host%s", f->ncas, f->ncas == 1 ? "" : "s");
	layout_result(&r, f->nswitches, f->nedges, plan_row_len(in->lids->top), input_ports(f));
	rc = input_make(&input, p, LAYOUT_ROUTE, in, e);
	if (!rc)
		rc = memory_new(&output, "weft-result", r.size, false, e);
	if (!rc)
		rc = plugin_run(p, &input, &output, &task, e);
	if (!rc)
		rc = result_take(in, &output, out, e);
	memory_free(&input);
	memory_free(&output);
	return rc;
}

int
plugin_route(const struct engine_input *in, struct engine_output *out, struct error *e)
{
	const struct plugin *p = (const struct plugin *)(const void *)in->engine;
	monotime start = clock_monotonic();
	struct error why = { 0 };
	int rc = route(p, in, out, &why);

	/* That a fabric does not suit it is no failure. */
	plugin_count(p, (clock_monotonic() - start) / 1000,
		     rc && rc != ERR_UNSUPPORTED ? why.text : NULL);
	return rc ? error_set(e, rc, "the plugin %s", why.text) : 0;
}
