/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/conf/schema.h"

/*
 * Options of entries of `qos`: levels of service, the rules that give traffic to them, and tables
 * of VL arbitration. Constant data, as schema.c. Ranges are those of PortInfo, PathRecord and
 * VLArbitrationTable (IBA volume 1, 14.2.5 and 15.2.5.16).
 */
#define IN_LEVEL(field) offsetof(struct config_level, field)
#define IN_RULE(field) offsetof(struct config_rule, field)
#define IN_ARBITRATION(field) offsetof(struct config_arbitration, field)
#define ENTRIES_MAX 64u		/* of one table of arbitration */

static const char *const spread_words[] = { "auto", "yes", "no", NULL };
static const char *const priority_words[] = { "low", "high", NULL };
static const char *const application_words[] = {
	"any", "ipoib", "iser", "lustre", "nvmeof", "rds", "sdp", "srp", NULL,
};
static const char *const port_words[] = {
	"all", "hosts", "port0", "switches", "routers", NULL,
};

static const char *
check_arbitration(struct region *r, const char *s)
{
	return schema_pairs(r, s, 14, 255, ENTRIES_MAX);
}

#define ARBITRATION_FORM "\"VL:WEIGHT, ...\" with lanes from 0 to 14, weights from 0 to 255 and " \
	"at most 64 of them, or null"

const struct option schema_level[] = {
	{
		.name = "name", .type = OPTION_TEXT, .required = true,
		.check = schema_check_name, .form = SCHEMA_NAME_FORM,
		.stage = STAGE_ROUTING, .offset = IN_LEVEL(name),
		.help = "What partitions and rules call it.",
	}, {
		.name = "weight", .type = OPTION_NUMBER, .min = 1, .max = 255, .initial = "32",
		.stage = STAGE_PUSH, .offset = IN_LEVEL(weight),
		.help = "Its share of a link among levels of its priority that have something to "
			"send: so many times 64 bytes at each turn.",
	}, {
		.name = "priority", .type = OPTION_WORD, .initial = "low", .words = priority_words,
		.stage = STAGE_PUSH, .offset = IN_LEVEL(priority),
		.help = "Levels of high priority go before those of low, up to qos.high_limit.",
	}, {
		.name = "sl", .type = OPTION_NUMBER, .max = 15, .initial = "auto", .word = "auto",
		.word_value = CONFIG_SL_FREE,
		.stage = STAGE_ROUTING, .offset = IN_LEVEL(sl),
		.help = "Its service level, for programs that have it built in. A routing with "
			"several classes of paths takes further ones from the top.",
	}, {
		.name = "vl", .type = OPTION_NUMBER, .max = 14, .initial = "auto", .word = "auto",
		.word_value = CONFIG_VL_FREE,
		.stage = STAGE_ROUTING, .offset = IN_LEVEL(vl),
		.help = "Its first virtual lane. Levels with the same one share it.",
	}, {
		.name = "rate", .type = OPTION_RATE, .initial = "any", .words = schema_rates,
		.word = "any",
		.stage = STAGE_ROUTING, .offset = IN_LEVEL(rate),
		.help = "Highest rate that path records of this level tell.",
	}, {
		.name = "mtu", .type = OPTION_MTU, .initial = "any", .word = "any",
		.stage = STAGE_ROUTING, .offset = IN_LEVEL(mtu),
		.help = "Largest MTU that they tell.",
	}, {
		.name = "packet_life", .type = OPTION_NUMBER, .min = 1, .max = 63,
		.initial = "auto", .word = "auto",
		.stage = STAGE_ROUTING, .offset = IN_LEVEL(packet_life),
		.help = "PacketLifeTime that they tell, 4.096 us times 2 to this power; auto is "
			"subnet_timeout.",
	}, {
		.name = "adaptive", .type = OPTION_WORD, .initial = "auto", .words = spread_words,
		.stage = STAGE_ROUTING, .offset = IN_LEVEL(adaptive),
		.help = "Whether switches that route adaptively spread its packets: yes, no, or "
			"auto, as routing.adaptive and routing.adaptive_sls have it.",
	},
	{ .name = NULL },
};

const struct option schema_rule[] = {
	{
		.name = "level", .type = OPTION_TEXT, .required = true,
		.check = schema_check_name, .form = "the name of an entry of qos.levels",
		.stage = STAGE_ROUTING, .offset = IN_RULE(level),
		.help = "Level of the traffic that the rule is for.",
	}, {
		.name = "application", .type = OPTION_TEXT, .initial = "null",
		.words = application_words,
		.form = "any, ipoib, iser, lustre, nvmeof, rds, sdp, srp or null",
		.stage = STAGE_ROUTING, .offset = IN_RULE(application),
		.help = "A protocol, known by its service IDs or, ipoib, by its partition. any is "
			"whichever, as null.",
	}, {
		.name = "partition", .type = OPTION_NAMES, .filled = true, .initial = "null",
		.check = schema_check_partition, .form = "the name of a partition",
		.stage = STAGE_ROUTING, .offset = IN_RULE(partitions),
		.help = "Paths in one of these partitions.",
	}, {
		.name = "pkey", .type = OPTION_PKEY_RANGES, .filled = true, .initial = "null",
		.stage = STAGE_ROUTING, .offset = IN_RULE(pkeys), .count = IN_RULE(npkeys),
		.help = "Paths with one of these P_Keys, which need not be those of partitions "
			"of this file.",
	}, {
		.name = "service_id", .type = OPTION_RANGES, .max = UINT64_MAX, .filled = true,
		.hex = true, .initial = "null",
		.stage = STAGE_ROUTING, .offset = IN_RULE(service_ids),
		.count = IN_RULE(nservice_ids),
		.help = "Paths that are asked for with one of these service IDs.",
	}, {
		.name = "class", .type = OPTION_RANGES, .max = 4095, .filled = true,
		.initial = "null",
		.stage = STAGE_ROUTING, .offset = IN_RULE(classes), .count = IN_RULE(nclasses),
		.help = "Paths that are asked for with one of these QoS classes.",
	}, {
		.name = "source", .type = OPTION_PORTS, .filled = true, .rules = true,
		.initial = "null", .stage = STAGE_ROUTING, .offset = IN_RULE(source),
		.help = "Paths from these ports.",
	}, {
		.name = "destination", .type = OPTION_PORTS, .filled = true, .rules = true,
		.initial = "null", .stage = STAGE_ROUTING, .offset = IN_RULE(destination),
		.help = "Paths to these ports.",
	}, {
		.name = "either", .type = OPTION_PORTS, .filled = true, .rules = true,
		.initial = "null", .stage = STAGE_ROUTING, .offset = IN_RULE(either),
		.help = "Paths from or to these ports.",
	},
	{ .name = NULL },
};

const struct option schema_arbitration[] = {
	{
		.name = "ports", .type = OPTION_TEXT, .required = true, .words = port_words,
		.form = "all, hosts, port0, switches or routers",
		.stage = STAGE_PUSH, .offset = IN_ARBITRATION(ports),
		.help = "Ports with these tables: those of hosts, of routers, port 0 of switches, "
			"the other ports of switches; all are those that no other entry names.",
	}, {
		.name = "high", .type = OPTION_TEXT, .initial = "null", .check = check_arbitration,
		.form = ARBITRATION_FORM,
		.stage = STAGE_PUSH, .offset = IN_ARBITRATION(high),
		.help = "Table of high priority, weights in units of 64 bytes; null: by the "
			"levels.",
	}, {
		.name = "low", .type = OPTION_TEXT, .initial = "null", .check = check_arbitration,
		.form = ARBITRATION_FORM,
		.stage = STAGE_PUSH, .offset = IN_ARBITRATION(low),
		.help = "Table of low priority, likewise.",
	}, {
		.name = "high_limit", .type = OPTION_NUMBER, .max = 255, .initial = "auto",
		.word = "auto", .word_value = SCHEMA_LIMIT_FREE,
		.stage = STAGE_PUSH, .offset = IN_ARBITRATION(high_limit),
		.help = "PortInfo VLHighLimit of these ports; auto is qos.high_limit.",
	},
	{ .name = NULL },
};
