/* SPDX-License-Identifier: BSD-2-Clause */
/* Options of plugins, and the names of what is built in beside them. */
#include "sm/conf/schema.h"

#include <ctype.h>
#include <string.h>

#define IN_PLUGIN(field) offsetof(struct config_plugin, field)

/* Routing and events are of higher layers: their names are repeated here, and tests of those layers
 * compare. */
const char *const schema_engines[] = {
	"auto", "dfsssp", "dragonfly", "fatpaths", "fattree", "file", "hyperx", "minhop", "nue",
	"torus", "updn", NULL,
};
const char *const schema_later_engines[] = {
	"dnup", "dor", "ftree", "lash", "sssp", "torus-2qos", NULL,
};
const char *const schema_levels[] = { "error", "warning", "notice", "info", "debug", NULL };
static const char *const event_words[] = {
	"start", "port", "role", "sweep", "node-up", "node-down", "link-up", "link-down", "silent",
	"duplicate", "refused", "routed", "repaired", "fallback", "unrouted", "trap", "config",
	"health", "quarantined", "released", "overdue", "state", "adaptive", "plugin", NULL,
};

static const char *
check_file(struct region *r, const char *s)
{
	(void)r;
	return *s && *s != '.' && strlen(s) < 256 && !strchr(s, '/') ? s : NULL;
}

static const char *
check_user(struct region *r, const char *s)
{
	(void)r;
	return (isalpha((unsigned char)*s) || *s == '_') && strlen(s) < 256 &&
		!strpbrk(s, ":,/ ") ? s : NULL;
}

const struct option schema_plugin[] = {
	{
		.name = "name", .type = OPTION_TEXT, .required = true, .check = schema_check_name,
		.form = SCHEMA_NAME_FORM, .stage = STAGE_ROUTING, .routes = true,
		.offset = IN_PLUGIN(name),
		.help = "Name that the plugin has for itself. That of an engine may stand in "
			"routing.engines.",
	}, {
		.name = "file", .type = OPTION_TEXT, .initial = "null", .check = check_file,
		.form = "the name of a file in plugin_folder, without /, or null",
		.stage = STAGE_ROUTING, .routes = true, .offset = IN_PLUGIN(file),
		.help = "Shared object in plugin_folder; null: the name with .so behind it. It is "
			"read at start, at each reload, and by weft plugin reload.",
	}, {
		.name = "time", .type = OPTION_DURATION, .min = MSEC(100),
		.max = (uint64_t)SEC(3600), .initial = "30s",
		.stage = STAGE_LIVE, .offset = IN_PLUGIN(time),
		.help = "How long an engine may take for a routing, or a consumer for one event, "
			"until its process is ended.",
	}, {
		.name = "memory", .type = OPTION_NUMBER, .min = 16, .max = 1048576,
		.initial = "1024", .stage = STAGE_LIVE, .offset = IN_PLUGIN(memory),
		.help = "Memory in MiB that its process may have beside what it is given to read "
			"and to fill.",
	}, {
		.name = "user", .type = OPTION_TEXT, .initial = "nobody", .check = check_user,
		.form = "the name of a user", .stage = STAGE_LIVE, .offset = IN_PLUGIN(user),
		.help = "User that its processes belong to, if the daemon is root; otherwise they "
			"are the daemon's.",
	}, {
		.name = "options", .type = OPTION_PAIRS, .initial = "{}",
		.stage = STAGE_ROUTING, .routes = true, .offset = IN_PLUGIN(options),
		.count = IN_PLUGIN(noptions),
		.help = "The plugin's own options: weft show plugins lists them with what they "
			"mean. One that it does not have, or a value that it does not take, is an "
			"error.",
	}, {
		.name = "events", .type = OPTION_WORDS, .filled = true, .initial = "null",
		.words = event_words, .stage = STAGE_LIVE, .offset = IN_PLUGIN(events),
		.help = "Types of events that a consumer is told of, of those that it wants; null: "
			"all of them.",
	}, {
		.name = "level", .type = OPTION_WORD, .initial = "debug",
		.words = schema_levels, .stage = STAGE_LIVE, .offset = IN_PLUGIN(level),
		.help = "The least grave events that a consumer is told of, if it wants them.",
	}, {
		.name = "subnets", .type = OPTION_NAMES, .filled = true, .initial = "null",
		.check = schema_check_name, .form = "the name of a subnet",
		.stage = STAGE_LIVE, .offset = IN_PLUGIN(subnets),
		.help = "Subnets whose events a consumer is told of, besides those of the daemon "
			"itself; null: all.",
	},
	{ .name = NULL },
};
