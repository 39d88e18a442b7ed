/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/conf/schema.h"

#include <arpa/inet.h>

/*
 * Options of partitions, of their members and multicast groups, and of groups of nodes. Constant
 * data, as schema.c.
 *
 * Who is listed as a member is a full one unless it says otherwise: members that do not reach each
 * other are what nobody expects, and nobody else gets in by it.
 */
#define IN_GROUP(field) offsetof(struct config_node_group, field)
#define IN_MEMBERS(field) offsetof(struct config_members, field)
#define IN_ADDRESS(field) offsetof(struct config_group, field)
#define IN_PARTITION(field) offsetof(struct config_partition, field)

static const char *const membership_words[] = { "limited", "full", "both", NULL };
static const char *const enforce_words[] = { "both", "in", "out", "off", NULL };

/* One way to write each address. */
static const char *
check_mgid(struct region *r, const char *s)
{
	unsigned char gid[16];
	char text[INET6_ADDRSTRLEN];

	if (inet_pton(AF_INET6, s, gid) != 1 || gid[0] != 0xff)
		return NULL;
	return region_strdup(r, inet_ntop(AF_INET6, gid, text, sizeof(text)));
}

const struct option schema_group[] = {
	{
		.name = "name", .type = OPTION_TEXT, .required = true,
		.check = schema_check_name, .form = SCHEMA_NAME_FORM,
		.stage = STAGE_PARTITIONS, .offset = IN_GROUP(name),
		.help = "What others call it, behind group:.",
	}, {
		.name = "nodes", .type = OPTION_PORTS, .required = true,
		.stage = STAGE_PARTITIONS, .offset = IN_GROUP(nodes),
		.help = "Who belongs to it; of groups only those further up.",
	}, {
		.name = "except", .type = OPTION_PORTS, .initial = "[]",
		.stage = STAGE_PARTITIONS, .offset = IN_GROUP(except),
		.help = "Who of these does not.",
	},
	{ .name = NULL },
};

static const struct option schema_members[] = {
	{
		.name = "nodes", .type = OPTION_PORTS, .required = true,
		.stage = STAGE_PARTITIONS, .offset = IN_MEMBERS(nodes),
		.help = "Who they are.",
	}, {
		.name = "membership", .type = OPTION_WORD, .initial = "full",
		.words = membership_words,
		.stage = STAGE_PARTITIONS, .offset = IN_MEMBERS(membership),
		.help = "Full members reach all members, limited ones only full ones. A port "
			"with both holds both keys, and its programs choose.",
	}, {
		.name = "index0", .type = OPTION_BOOL, .initial = "false",
		.stage = STAGE_PARTITIONS, .offset = IN_MEMBERS(index0),
		.help = "The key is the first in the table of these ports, for programs that take "
			"the first whatever it is. The key of the default partition has another "
			"place then. The port of the subnet manager keeps that one first.",
	},
	{ .name = NULL },
};

/* What all multicast groups have. */
#define MULTICAST_ROWS \
	{ \
		.name = "mtu", .type = OPTION_MTU, .initial = "2048", \
		.stage = STAGE_PARTITIONS, .offset = IN_ADDRESS(mtu), \
		.help = "Largest packets. A port with less cannot join.", \
	}, { \
		.name = "rate", .type = OPTION_RATE, .initial = "10Gb", .words = schema_rates, \
		.stage = STAGE_PARTITIONS, .offset = IN_ADDRESS(rate), \
		.help = "Rate at which is sent. A port with less cannot join.", \
	}, { \
		.name = "sl", .type = OPTION_NUMBER, .max = 15, .initial = "auto", \
		.word = "auto", .word_value = CONFIG_SL_FREE, \
		.stage = STAGE_PARTITIONS, .offset = IN_ADDRESS(sl), \
		.help = "Service level; auto takes that of the level that rules or the " \
			"partition name, else of the first.", \
	}, { \
		.name = "qkey", .type = OPTION_NUMBER, .max = UINT32_MAX, .hex = true, \
		.initial = "0xb1b", \
		.stage = STAGE_PARTITIONS, .offset = IN_ADDRESS(qkey), \
		.help = "Q_Key of its packets.", \
	}, { \
		.name = "tclass", .type = OPTION_NUMBER, .max = 255, .initial = "0", \
		.stage = STAGE_PARTITIONS, .offset = IN_ADDRESS(tclass), \
		.help = "Traffic class of its packets.", \
	}, { \
		.name = "flow_label", .type = OPTION_NUMBER, .max = 0xfffff, .hex = true, \
		.initial = "0x0", \
		.stage = STAGE_PARTITIONS, .offset = IN_ADDRESS(flow_label), \
		.help = "Flow label of its packets.", \
	}

static const struct option schema_ipoib[] = {
	MULTICAST_ROWS,
	{
		.name = "scopes", .type = OPTION_NUMBERS, .min = 1, .max = 15, .filled = true,
		.initial = "[2]",
		.stage = STAGE_PARTITIONS, .offset = IN_ADDRESS(scopes),
		.count = IN_ADDRESS(nscopes),
		.help = "A group for each: 2 is link-local, as hosts take it, 5 site, 8 "
			"organisation, 14 global.",
	},
	{ .name = NULL },
};

static const struct option schema_multicast[] = {
	{
		.name = "mgid", .type = OPTION_TEXT, .required = true,
		.check = check_mgid,
		.form = "a multicast GID such as ff12:401b:ffff::1",
		.stage = STAGE_PARTITIONS, .offset = IN_ADDRESS(mgid),
		.help = "Its address.",
	},
	MULTICAST_ROWS,
	{ .name = NULL },
};

const struct option schema_partition[] = {
	{
		.name = "name", .type = OPTION_TEXT, .required = true,
		.check = schema_check_partition, .form = SCHEMA_PARTITION_FORM,
		.stage = STAGE_PARTITIONS, .offset = IN_PARTITION(name),
		.help = "What messages, commands and rules call it; default is that of the P_Key "
			"0x7fff.",
	}, {
		.name = "pkey", .type = OPTION_PKEY, .initial = "auto", .word = "auto",
		.stage = STAGE_PARTITIONS, .offset = IN_PARTITION(pkey),
		.help = "The key, by which ports know each other. Whether it has the bit 0x8000 "
			"is said by the membership of each member and not here. auto is one that "
			"is free.",
	}, {
		.name = "subnets", .type = OPTION_NAMES, .filled = true, .initial = "null",
		.check = schema_check_name, .form = "the name of a subnet",
		.stage = STAGE_PARTITIONS, .offset = IN_PARTITION(subnets),
		.help = "Subnets that it is in; null: in all.",
	}, {
		.name = "members", .type = OPTION_LIST, .max = 65536, .initial = "[]",
		.fields = schema_members, .size = sizeof(struct config_members),
		.entry = "a member", .shorthand = "nodes",
		.form = "selections of ports, or a list of maps",
		.stage = STAGE_PARTITIONS, .offset = IN_PARTITION(members),
		.count = IN_PARTITION(nmembers),
		.help = "Who may use it. A list of selections alone is one of full members.",
	}, {
		.name = "except", .type = OPTION_PORTS, .initial = "[]",
		.stage = STAGE_PARTITIONS, .offset = IN_PARTITION(except),
		.help = "Who is never a member, whatever entry or command says so.",
	}, {
		.name = "ipoib", .type = OPTION_MAP, .initial = "false",
		.fields = schema_ipoib, .size = sizeof(struct config_group),
		.entry = "ipoib",
		.stage = STAGE_PARTITIONS, .offset = IN_PARTITION(ipoib),
		.count = IN_PARTITION(nipoib),
		.help = "IP over InfiniBand: the broadcast groups of the partition are there from "
			"the start. true takes what is usual.",
	}, {
		.name = "multicast", .type = OPTION_LIST, .max = 1024, .initial = "[]",
		.fields = schema_multicast, .size = sizeof(struct config_group),
		.entry = "a multicast group", .key = "mgid",
		.stage = STAGE_PARTITIONS, .offset = IN_PARTITION(groups),
		.count = IN_PARTITION(ngroups),
		.help = "Further multicast groups that are there from the start.",
	}, {
		.name = "level", .type = OPTION_TEXT, .initial = "null",
		.check = schema_check_name, .form = "the name of an entry of qos.levels, or null",
		.stage = STAGE_PARTITIONS, .offset = IN_PARTITION(level),
		.help = "Level of service of all of its traffic that no rule names.",
	}, {
		.name = "sl", .type = OPTION_NUMBER, .max = 15, .initial = "auto", .word = "auto",
		.word_value = CONFIG_SL_FREE,
		.stage = STAGE_PARTITIONS, .offset = IN_PARTITION(sl),
		.help = "Service level of its traffic, where it is not said by a level.",
	}, {
		.name = "enforce", .type = OPTION_WORD, .initial = "both", .words = enforce_words,
		.stage = STAGE_PARTITIONS, .offset = IN_PARTITION(enforce),
		.help = "Where switches drop packets with a key that the host does not have: of "
			"what comes in from it, of what goes out to it, of both, or off.",
	}, {
		.name = "trust_names", .type = OPTION_BOOL, .initial = "false",
		.stage = STAGE_PARTITIONS, .offset = IN_PARTITION(trust_names),
		.help = "A node is a member by the name that it gives itself now. With false a "
			"name stands for the nodes that had it when the partition was applied, "
			"so that nobody gets in by renaming a host.",
	},
	{ .name = NULL },
};
