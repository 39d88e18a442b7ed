/* SPDX-License-Identifier: BSD-2-Clause */
#include "plugins/host/host.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/*
 * Load the plugin and look whether we can talk to each other. Structs of its may be shorter than
 * ours, if it was built for an earlier minor version, or (under the same version) of no use. All
 * that it has is copied as far as it goes; the rest is zero, which every field that is added must
 * take for "nothing".
 */
#define SELF "/proc/self/fd/"

/* Structs as version 1.0 had them: what a plugin must have at least. */
enum {
	PLUGIN_1_0 = offsetof(struct weft_plugin, consumer) + sizeof(void *),
	OPTION_1_0 = offsetof(struct weft_option, help) + sizeof(void *),
	ENGINE_1_0 = offsetof(struct weft_engine, route) + sizeof(void *),
	CONSUMER_1_0 = offsetof(struct weft_consumer, close) + sizeof(void *),
};

static void
check_size(struct host *h, const char *name, uint32_t size, uint32_t least)
{
	if (size < least)
		host_refuse(h, "has a struct %s of %u bytes, where %u is the least: its `size` "
			    "must be sizeof(struct %s)", name, size, least, name);
}

static void
take(void *to, size_t room, const void *from, size_t size)
{
	memset(to, 0, room);
	memcpy(to, from, size < room ? size : room);
}

static void
check_version(struct host *h, uint32_t abi)
{
	unsigned major = abi >> 16, minor = abi & 0xffff;

	if (major != WEFT_PLUGIN_MAJOR)
		host_refuse(h, "is made for version %u.%u of the plugin interface, this Weft has "
			    "%u.%u: it must be built with the header of this Weft, and may need "
			    "changes", major, minor, WEFT_PLUGIN_MAJOR, WEFT_PLUGIN_MINOR);
	if (minor > WEFT_PLUGIN_MINOR)
		host_refuse(h, "is made for version %u.%u of the plugin interface, this Weft has "
			    "only %u.%u: it needs a newer Weft, or must be built with the header "
			    "of this one", major, minor, WEFT_PLUGIN_MAJOR, WEFT_PLUGIN_MINOR);
}

static void
check_options(struct host *h)
{
	const struct weft_plugin *p = &h->plugin;

	if (p->noptions > 64)
		host_refuse(h, "declares %u options: at most 64 can be", p->noptions);
	if (p->noptions && !p->options)
		host_refuse(h, "declares %u options and has none", p->noptions);
	for (uint32_t i = 0; i < p->noptions; i++) {
		const char *at = (const char *)p->options + (size_t)i * p->options->size;
		uint32_t size = ((const struct weft_option *)(const void *)at)->size;

		check_size(h, "weft_option", size, OPTION_1_0);
		if (size != p->options->size)
			host_refuse(h, "has options of %u and of %u bytes", p->options->size, size);
	}
}

struct weft_option
host_option(const struct host *h, uint32_t n)
{
	const struct weft_option *first = h->plugin.options;
	struct weft_option o;

	take(&o, sizeof(o), (const char *)first + (size_t)n * first->size, first->size);
	return o;
}

static void
check_plugin(struct host *h)
{
	const struct weft_plugin *p = &h->plugin;

	check_version(h, h->theirs->abi);
	check_size(h, "weft_plugin", h->theirs->size, PLUGIN_1_0);
	take(&h->plugin, sizeof(h->plugin), h->theirs, h->theirs->size);
	if (!p->engine == !p->consumer)
		host_refuse(h, p->engine ? "is an engine and a consumer at once: make two of it" :
			    "is neither an engine nor a consumer");
	check_options(h);
	if (p->engine) {
		check_size(h, "weft_engine", p->engine->size, ENGINE_1_0);
		take(&h->engine, sizeof(h->engine), p->engine, p->engine->size);
		if (!h->engine.route)
			host_refuse(h, "is an engine without a function route");
	} else {
		check_size(h, "weft_consumer", p->consumer->size, CONSUMER_1_0);
		take(&h->consumer, sizeof(h->consumer), p->consumer, p->consumer->size);
		if (!h->consumer.event)
			host_refuse(h, "is a consumer without a function event");
	}
}

/* What dlopen() says, which knows the file by a number. */
static const char *
without_path(const char *why)
{
	if (strncmp(why, SELF, strlen(SELF)) == 0) {
		const char *colon = strchr(why, ':');

		return colon ? colon + 1 + (colon[1] == ' ') : why;
	}
	return why;
}

void
load_plugin(struct host *h)
{
	char path[64];
	void *so;

	host_stage(h, LAYOUT_LOADS);
	snprintf(path, sizeof(path), SELF "%d", LAYOUT_CODE);
	so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!so)
		host_refuse(h, "cannot be loaded: %s", without_path(dlerror()));
	close(LAYOUT_CODE);
	h->theirs = dlsym(so, "weft_plugin");
	if (!h->theirs)
		host_refuse(h, "does not export weft_plugin: it is no plugin, or the line does not "
			    "begin with WEFT_PLUGIN_EXPORT");
	check_plugin(h);
}
