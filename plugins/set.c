/* SPDX-License-Identifier: BSD-2-Clause */
#include "plugins/set.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "plugins/plugin.h"
#include "routing/engine.h"
#include "sm/base/mem.h"

/*
 * From entries of the configuration to plugins. Whoever reads configurations calls this, on a
 * worker; the loop swaps one set for another, and routing jobs and consumers hold references.
 *
 * A plugin that is refused is no reason to let a fabric go without its manager, and so the set has
 * an entry for it whose engine refuses each routing with the reason: the chain goes on with the
 * next, and says why. What the configuration says of a plugin that can be loaded is as wrong as
 * anything else in it, and refuses all of it.
 */
#define MIB (UINT64_C(1) << 20)

/* An entry with room for what only a refused one has. */
struct slot {
	struct engine refuses;		/* what stands in chains for it */
	const char *why;		/* of the entry */
};

static int
refuse_route(const struct engine_input *in, struct engine_output *out, struct error *e)
{
	const struct slot *s = (const void *)((const char *)in->engine -
					      offsetof(struct slot, refuses));

	(void)out;
	return error_set(e, ERR_REFUSED, "%s", s->why);
}

static const struct engine *
stand_in(struct plugin_set *set, const struct plugin_entry *x)
{
	struct slot *s = region_alloc(set->region, sizeof(*s));

	s->why = x->why.text;
	s->refuses = (struct engine){
		.name = x->conf->name, .help = "not loaded", .topologies = "none",
		.route = refuse_route,
	};
	return &s->refuses;
}

/* What it declares, as the configuration's language has it. */
static const struct config_declared *
declared(const struct plugin_about *about, struct region *r)
{
	static const enum config_kind kinds[] = {
		[WEFT_OPTION_NUMBER] = CONFIG_KIND_NUMBER, [WEFT_OPTION_FLAG] = CONFIG_KIND_FLAG,
		[WEFT_OPTION_TEXT] = CONFIG_KIND_TEXT, [WEFT_OPTION_WORD] = CONFIG_KIND_WORD,
	};
	struct config_declared *d = region_array(r, about->noptions, sizeof(*d));

	for (unsigned i = 0; i < about->noptions; i++) {
		const struct plugin_option *o = &about->options[i];

		d[i] = (struct config_declared){
			.name = o->name, .kind = kinds[o->type], .min = o->min, .max = o->max,
			.words = o->words,
		};
	}
	return d;
}

static struct plugin_limits
limits_of(const struct config_plugin *p)
{
	return (struct plugin_limits){
		.memory = p->memory * MIB, .time_ms = (unsigned)(p->time / MSEC(1)),
		.user = p->user,
	};
}

/* What is said of it must suit what it is. */
static int
check_use(const struct plugin_set *set, const struct plugin_entry *x,
	  const struct plugin_about *about, struct error *e)
{
	const struct config_plugin *p = x->conf;

	if (!about->is_engine && p->routes.line)
		return config_wrong(set->conf, p->routes, e, "routing.engines: %s is a consumer of "
				    "events, and no engine", p->name);
	if (about->is_engine && (p->events || p->subnets))
		return config_wrong(set->conf, p->at, e, "plugins[%s].%s: %s is an engine, and no "
				    "consumer of events", p->name, p->events ? "events" : "subnets",
				    p->name);
	return 0;
}

/* Give it the values of its options. */
static void
furnish(struct plugin_set *set, struct plugin_entry *x, const struct plugin *p)
{
	const struct plugin_about *about = plugin_about(p);
	const struct plugin_limits limits = limits_of(x->conf);

	x->values = region_array(set->region, about->noptions + 1, sizeof(*x->values));
	if (check_use(set, x, about, &x->wrong) ||
	    config_plugin_values(set->conf, x->conf, declared(about, set->region),
				 about->noptions, set->region, x->values, &x->wrong))
		return;
	x->plugin = plugin_with(p, x->values, &limits, &x->why);
	x->engine = x->plugin ? plugin_engine(x->plugin) : stand_in(set, x);
}

/* `before` NULL: it is new. `again` false: the file is not looked at. */
static void
fill(struct plugin_set *set, struct plugin_entry *x, const struct plugin_entry *before, bool again)
{
	const struct plugin_source source = {
		.name = x->conf->name, .path = x->path, .trusted = geteuid() == 0,
		.limits = limits_of(x->conf),
	};
	struct plugin *fresh = NULL;

	if (before && (!before->plugin || strcmp(before->path, x->path)))
		before = NULL;
	if (again || !before)
		plugin_load(&source, &fresh, &x->why);
	if (before && (!fresh || plugin_same(fresh, before->plugin))) {
		plugin_unref(fresh);
		fresh = plugin_ref(before->plugin);
	}
	if (fresh)
		furnish(set, x, fresh);
	else
		x->engine = stand_in(set, x);
	plugin_unref(fresh);
}

struct plugin_set *
plugin_set_load(const struct config *conf, const struct plugin_set *old, const char *only)
{
	struct region *r = region_new();
	struct plugin_set *s = region_alloc(r, sizeof(*s));
	unsigned n = 0;

	s->refs = 1;
	s->region = r;
	s->conf = config_ref(conf);
	s->len = conf->nplugins;
	s->entries = region_array(r, s->len, sizeof(*s->entries));
	s->engines = region_array(r, s->len + 1, sizeof(*s->engines));
	for (unsigned i = 0; i < s->len; i++) {
		struct plugin_entry *x = &s->entries[i];

		x->conf = &conf->plugins[i];
		x->path = x->conf->file ?
			region_printf(r, "%s/%s", conf->plugin_folder, x->conf->file) :
			region_printf(r, "%s/%s.so", conf->plugin_folder, x->conf->name);
		fill(s, x, plugin_set_find(old, x->conf->name),
		     !only || strcmp(only, x->conf->name) == 0);
		if (x->engine)
			s->engines[n++] = x->engine;
	}
	return s;
}

const struct plugin_set *
plugin_set_ref(const struct plugin_set *s)
{
	if (s)
		__atomic_add_fetch(&((struct plugin_set *)(uintptr_t)s)->refs, 1,
				   __ATOMIC_RELAXED);
	return s;
}

void
plugin_set_unref(const struct plugin_set *s)
{
	if (!s || __atomic_sub_fetch(&((struct plugin_set *)(uintptr_t)s)->refs, 1,
				     __ATOMIC_ACQ_REL))
		return;
	for (unsigned i = 0; i < s->len; i++)
		plugin_unref(s->entries[i].plugin);
	config_free(s->conf);
	region_free(s->region);
}

int
plugin_set_wrong(const struct plugin_set *s, struct error *e)
{
	for (unsigned i = 0; i < s->len; i++)
		if (s->entries[i].wrong.code) {
			*e = s->entries[i].wrong;
			return e->code;
		}
	return 0;
}

const struct plugin_entry *
plugin_set_find(const struct plugin_set *s, const char *name)
{
	for (unsigned i = 0; s && i < s->len; i++)
		if (strcmp(s->entries[i].conf->name, name) == 0)
			return &s->entries[i];
	return NULL;
}

const struct engine *
plugin_set_engine(const struct plugin_set *s, const char *name)
{
	const struct plugin_entry *x = plugin_set_find(s, name);

	return x ? x->engine : NULL;
}

/* ---- What differs ---- */

static const char *
state_of(const struct plugin_entry *x, char *to, size_t size)
{
	if (!x->plugin)
		snprintf(to, size, "refused: %.300s", x->why.text);
	else
		snprintf(to, size, "version %s", plugin_about(x->plugin)->version);
	return to;
}

static bool
same_code(const struct plugin_entry *a, const struct plugin_entry *b)
{
	if (!a->plugin || !b->plugin)
		return a->plugin == b->plugin && strcmp(a->why.text, b->why.text) == 0;
	return plugin_same(a->plugin, b->plugin);
}

enum config_stage
plugin_set_diff(const struct plugin_set *old, const struct plugin_set *fresh, config_diff_fn fn,
		void *arg)
{
	enum config_stage stage = STAGE_NONE, one;
	char name[64], before[320], after[320];

	for (unsigned i = 0; i < fresh->len; i++) {
		const struct plugin_entry *x = &fresh->entries[i];
		const struct plugin_entry *was = plugin_set_find(old, x->conf->name);
		bool stays = x->plugin && x->why.code;

		if (was && same_code(was, x) && !(stays && strcmp(was->why.text, x->why.text)))
			continue;
		if (!was && x->plugin)
			continue;
		one = x->conf->routes.line && !stays ? STAGE_ROUTING : STAGE_LIVE;
		stage = one < stage ? one : stage;
		snprintf(name, sizeof(name), "plugins[%s].file", x->conf->name);
		state_of(x, after, sizeof(after));
		if (stays)
			snprintf(after, sizeof(after), "stays, for the file is refused: %.280s",
				 x->why.text);
		if (fn)
			fn(arg, name, was ? state_of(was, before, sizeof(before)) : "absent", after,
			   one);
	}
	return stage;
}

static bool
same_values(const struct plugin_entry *a, const struct plugin_entry *b)
{
	for (unsigned i = 0; i < plugin_about(a->plugin)->noptions; i++) {
		const char *v = a->values[i], *w = b->values[i];

		if (v && w ? strcmp(v, w) != 0 : v != w)
			return false;
	}
	return true;
}

bool
plugin_entry_same(const struct plugin_entry *a, const struct plugin_entry *b)
{
	return a->plugin && b->plugin && plugin_same(a->plugin, b->plugin) && same_values(a, b) &&
		a->conf->time == b->conf->time && a->conf->memory == b->conf->memory &&
		strcmp(a->conf->user, b->conf->user) == 0;
}
