/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/control/sim.h"

#include <stdarg.h>
#include <stdio.h>
#include "sim/control/capture.h"
#include "sim/control/command.h"
#include "sim/control/names.h"
#include "sim/control/script.h"
#include "sim/control/words.h"
#include "sim/kernel/kernel.h"
#include "sim/traffic/traffic.h"
#include "sm/base/mem.h"

/*
 * A simulation put together: the fabric's text, the model made from it, what works on the model,
 * and the event log. The parts know the model; none knows the struct sim but commands and scripts.
 */
static void
model_said(void *arg, const char *text)
{
	sim_note(arg, "%s", text);
}

int
sim_new(struct sim **sim, struct loop *l, struct ibnet *net, const struct model_options *options,
	struct error *e)
{
	static const struct model_options none;
	const struct model_options *o = options ? options : &none;
	struct sim *s;

	*sim = NULL;
	if (!net->nnodes) {
		ibnet_free(net);
		return error_set(e, ERR_INVALID, "a fabric without any node cannot be simulated");
	}
	s = mem_zalloc(sizeof(*s));
	s->loop = l;
	s->net = net;
	s->started = loop_now(l);
	s->seed = o->seed;
	if (o->like_ibsim)
		model_ibsim_text(net);
	s->model = model_new(l, net, o);
	s->kernel = kernel_new(s->model);
	s->traffic = traffic_new(s->model);
	s->names = names_new(s->model);
	s->script = script_new(s);
	*sim = s;
	return 0;
}

void
sim_free(struct sim *s)
{
	if (!s)
		return;
	sim_capture_end(s, NULL);
	script_free(s->script);
	names_free(s->names);
	traffic_free(s->traffic);
	kernel_free(s->kernel);
	model_free(s->model);
	ibnet_free(s->net);
	mem_free(s);
}

int
sim_capture(struct sim *s, const char *path, bool text, struct error *e)
{
	int rc = sim_capture_end(s, e);

	return rc < 0 ? rc : capture_open(&s->capture, s->model, path, text, e);
}

int
sim_capture_end(struct sim *s, struct error *e)
{
	struct capture *c = s->capture;

	s->capture = NULL;
	return capture_close(c, e);
}

void
sim_log(struct sim *s, void (*fn)(void *arg, const char *line), void *arg)
{
	s->log = fn;
	s->log_arg = arg;
	model_log(s->model, fn ? model_said : NULL, s);
}

monotime
sim_time(const struct sim *s)
{
	return loop_now(s->loop) - s->started;
}

void
sim_note(struct sim *s, const char *fmt, ...)
{
	char line[600], now[SECONDS_TEXT_SIZE];
	va_list ap;
	int len;

	if (!s->log)
		return;
	len = snprintf(line, sizeof(line), "%s ", seconds_text(now, sim_time(s)));
	va_start(ap, fmt);
	vsnprintf(line + len, sizeof(line) - (size_t)len, fmt, ap);
	va_end(ap);
	s->log(s->log_arg, line);
}
