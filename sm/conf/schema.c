/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/conf/schema.h"

#include <ctype.h>
#include <string.h>
#include "sm/base/frame.h"
#include "sm/base/text.h"

/*
 * The options themselves, and the checks of those that are texts. Constant data; whatever a row
 * says holds at once for the parser, the printer, the comparison at reload and the manual page.
 *
 * Ranges of fields that go to devices are those of PortInfo, SwitchInfo and SMInfo (IBA volume 1,
 * 14.2.5). Initial values follow what subnet managers commonly use, so that a new one changes
 * little on a fabric that is up.
 */
#define MSEC_U(n) ((uint64_t)MSEC(n))
#define HOUR_U(n) ((uint64_t)SEC(3600) * (n))
#define IN_CONFIG(field) offsetof(struct config, field)
#define IN_SUBNET(field) offsetof(struct config_subnet, field)
/* Errors of one kind, by enum perf_error. */
#define PER_MINUTE(word, kind, most, text) \
	.name = "health.per_minute." word, .type = OPTION_NUMBER, .max = 1000000, \
	.initial = (most), .stage = STAGE_LIVE, .offset = IN_SUBNET(health.per_minute[kind]), \
	.help = (text)

static const char *const adaptive_words[] = { "off", "on", "auto", NULL };
static const char *const spread_words[] = { "free", "bounded", "hash", NULL };
static const char *const hosts_words[] = { "ignore", "read", "write", NULL };
static const char *const transport_words[] = { "rc", "uc", "dc", "ud", NULL };
static const char *const fallback_words[] = { "warn", "refuse", NULL };
static const char *const action_words[] = {
	"ignore", "report", "drain", "isolate", "disable", NULL,
};
static const char *const takeover_words[] = { "keep", "converge", NULL };
static const char *const vl_words[] = { "1", "2", "4", "8", "15", NULL };
/* Behind the first in the order of the codes of PathRecord, from 2 on (sa_rate.h). */
const char *const schema_rates[] = {
	"any", "2.5Gb", "10Gb", "30Gb", "5Gb", "20Gb", "40Gb", "60Gb", "80Gb", "120Gb", "14Gb",
	"56Gb", "112Gb", "168Gb", "25Gb", "100Gb", "200Gb", "300Gb", "28Gb", "50Gb", "400Gb",
	"600Gb", "800Gb", "1200Gb", NULL,
};
/* A word alone is more often a misspelt keyword than a file in the working directory. */
static const char *
check_path(struct region *r, const char *s)
{
	(void)r;
	return strchr(s, '/') && strlen(s) < 4096 ? s : NULL;
}

static const char *
check_socket(struct region *r, const char *s)
{
	return strlen(s) <= 107 ? check_path(r, s) : NULL;	/* sun_path of unix(7) */
}

static const char *
check_state(struct region *r, const char *s)
{
	return strcmp(s, ":memory:") == 0 ? s : check_path(r, s);
}

static const char *
check_log(struct region *r, const char *s)
{
	if (strcmp(s, "journal") == 0 || strcmp(s, "stderr") == 0)
		return s;
	return check_path(r, s);
}

static const char *
check_user(struct region *r, const char *s)
{
	(void)r;
	return *s && strlen(s) < 256 ? s : NULL;
}

/* Directory services allow nearly anything, blanks and backslashes included. */
static const char *
check_group(struct region *r, const char *s)
{
	unsigned char first = (unsigned char)*s;

	(void)r;
	if (!isalpha(first) && first != '_' && first < 0x80)
		return NULL;
	return strlen(s) < 256 && !strpbrk(s, ":,/") ? s : NULL;
}

static const char *
check_delays(struct region *r, const char *s)
{
	return schema_pairs(r, s, 3, 16383, 256);
}

/* One way to write each port, so that comparing texts finds a port that is named twice. */
static const char *
check_port(struct region *r, const char *s)
{
	const char *colon = strchr(s, ':');
	uint64_t n;

	if (strcmp(s, "auto") == 0)
		return s;
	if (guid_parse(s, &n))
		return n ? region_printf(r, "0x%016llx", (unsigned long long)n) : NULL;
	if (!colon || colon == s || colon - s > 63 || strpbrk(s, "/ "))
		return NULL;
	if (!isdigit((unsigned char)colon[1]) || !number_parse(colon + 1, 1, 254, &n))
		return NULL;
	return region_printf(r, "%.*s:%u", (int)(colon - s), s, (unsigned)n);
}

const struct option schema_root[] = {
	{
		.name = "state", .type = OPTION_TEXT, .initial = "/var/lib/weft/weft.db",
		.check = check_state, .form = "a path with a / in it, or :memory:",
		.stage = STAGE_RESTART, .offset = IN_CONFIG(state),
		.help = "File that keeps what must survive a restart: which LID belongs to which "
			"GUID, and the latest events. With :memory: nothing is kept.",
	}, {
		.name = "etcd.endpoints", .type = OPTION_NAMES, .filled = true, .initial = "null",
		.check = schema_check_endpoint, .form = "http://HOST:PORT or https://HOST:PORT",
		.stage = STAGE_RESTART, .offset = IN_CONFIG(etcd.endpoints),
		.help = "Members of an etcd cluster that the managers of a fabric share, at most "
			"16: each has what must survive beside its state file, and what the master "
			"confirms to a host no other loses. See ETCD in weftd(8). Without any the "
			"state is on this host alone.",
	}, {
		.name = "etcd.prefix", .type = OPTION_TEXT, .initial = "/weft/site",
		.check = schema_check_prefix,
		.form = "2 to 200 bytes that begin with / and do not end with it, without blanks",
		.stage = STAGE_RESTART, .offset = IN_CONFIG(etcd.prefix),
		.help = "What all keys in etcd begin with. All managers of a fabric have the same, "
			"and so have their subnets' names; two fabrics have different ones.",
	}, {
		.name = "etcd.ca", .type = OPTION_TEXT, .initial = "null", .check = check_path,
		.form = "a path with a / in it, or null",
		.stage = STAGE_RESTART, .offset = IN_CONFIG(etcd.ca),
		.help = "File of the certificates that vouch for those of the members (PEM). null: "
			"those of the system.",
	}, {
		.name = "etcd.cert", .type = OPTION_TEXT, .initial = "null", .check = check_path,
		.form = "a path with a / in it, or null",
		.stage = STAGE_RESTART, .offset = IN_CONFIG(etcd.cert),
		.help = "File of the certificate that this manager shows (PEM). It needs etcd.key.",
	}, {
		.name = "etcd.key", .type = OPTION_TEXT, .initial = "null", .check = check_path,
		.form = "a path with a / in it, or null",
		.stage = STAGE_RESTART, .offset = IN_CONFIG(etcd.key),
		.help = "File of its private key (PEM).",
	}, {
		.name = "etcd.user", .type = OPTION_TEXT, .initial = "null", .check = check_user,
		.form = "a name of at most 255 bytes, or null",
		.stage = STAGE_RESTART, .offset = IN_CONFIG(etcd.user),
		.help = "User of etcd that this manager is. It needs etcd.password_file.",
	}, {
		.name = "etcd.password_file", .type = OPTION_TEXT, .initial = "null",
		.check = check_path, .form = "a path with a / in it, or null",
		.stage = STAGE_RESTART, .offset = IN_CONFIG(etcd.password_file),
		.help = "File whose first line is the password of that user. Keep it from others.",
	}, {
		.name = "etcd.timeout", .type = OPTION_DURATION, .min = MSEC_U(50),
		.max = (uint64_t)SEC(30), .initial = "1s",
		.stage = STAGE_RESTART, .offset = IN_CONFIG(etcd.timeout),
		.help = "etcd is away when no member has answered a request for so long. An answer "
			"that confirms what a host left waits no longer than that; nothing else of "
			"the fabric waits for etcd.",
	}, {
		.name = "control.socket", .type = OPTION_TEXT, .initial = FRAME_DEFAULT_SOCKET,
		.check = check_socket,
		.form = "a path with a / in it, of at most 107 bytes",
		.stage = STAGE_RESTART, .offset = IN_CONFIG(control.socket),
		.help = "Socket that the weft command connects to.",
	}, {
		.name = "control.group", .type = OPTION_TEXT, .initial = "null",
		.check = check_group, .form = "the name of a group, or null",
		.stage = STAGE_RESTART, .offset = IN_CONFIG(control.group),
		.help = "Group whose members may use the socket. Without one only root and the "
			"user of the daemon may.",
	}, {
		.name = "log.level", .type = OPTION_WORD, .initial = "notice",
		.words = schema_levels,
		.stage = STAGE_LIVE, .offset = IN_CONFIG(log.level),
		.help = "The least important messages that are still written.",
	}, {
		.name = "log.to", .type = OPTION_TEXT, .initial = "journal", .check = check_log,
		.form = "journal, stderr, or a path with a / in it",
		.stage = STAGE_LIVE, .offset = IN_CONFIG(log.to),
		.help = "Where messages go. A file is appended to.",
	}, {
		.name = "events.keep", .type = OPTION_NUMBER, .min = 100, .max = 200000,
		.initial = "10000", .stage = STAGE_RESTART, .offset = IN_CONFIG(events.keep),
		.help = "Events that are kept, in memory (half a kilobyte each) and over restarts.",
	}, {
		.name = "events.days", .type = OPTION_NUMBER, .max = 36500, .initial = "0",
		.stage = STAGE_LIVE, .offset = IN_CONFIG(events.days),
		.help = "How old events may become that are kept over restarts. 0: any age.",
	}, {
		.name = "names", .type = OPTION_TEXT, .initial = "null", .check = check_path,
		.form = "a path with a / in it, or null",
		.stage = STAGE_LIVE, .offset = IN_CONFIG(names),
		.help = "File of lines with a GUID and a name in double quotes: node names that "
			"replace what devices call themselves.",
	}, {
		.name = "plugin_folder", .type = OPTION_TEXT,
		.initial = "/usr/local/lib/weft/plugins", .check = check_path,
		.form = "a path with a / in it",
		.stage = STAGE_LIVE, .offset = IN_CONFIG(plugin_folder),
		.help = "Where the files of plugins are. If the daemon is root it must be "
			"writable by root alone, and so must they.",
	}, {
		.name = "plugins", .type = OPTION_LIST, .max = 64, .routes = true,
		.initial = "[]", .fields = schema_plugin, .key = "name",
		.size = sizeof(struct config_plugin), .entry = "a plugin",
		.stage = STAGE_ROUTING, .offset = IN_CONFIG(plugins), .count = IN_CONFIG(nplugins),
		.help = "Routing engines and consumers of events that others made. Nothing else "
			"is loaded. See PLUGINS.",
	}, {
		.name = "threads", .type = OPTION_NUMBER, .max = 64, .initial = "0",
		.stage = STAGE_RESTART, .offset = IN_CONFIG(threads),
		.help = "Threads that compute and prove a routing; 0 takes one for each core.",
	}, {
		.name = "subnets", .type = OPTION_LIST, .min = 1, .max = 64, .placed = true,
		.initial = "[{name: default}]", .fields = schema_subnet,
		.size = sizeof(struct config_subnet), .entry = "a subnet",
		.stage = STAGE_RESTART, .offset = IN_CONFIG(subnets), .count = IN_CONFIG(nsubnets),
		.help = "The subnets to manage: a list of maps, one for each local port.",
	}, {
		.name = "groups", .type = OPTION_LIST, .max = 4096,
		.initial = "[]", .fields = schema_group, .key = "name",
		.size = sizeof(struct config_node_group), .entry = "a group",
		.stage = STAGE_PARTITIONS, .offset = IN_CONFIG(partitions.groups),
		.count = IN_CONFIG(partitions.ngroups),
		.help = "Nodes and ports that partitions and rules of qos name together, as "
			"group:NAME. See PARTITIONS.",
	}, {
		.name = "partitions", .type = OPTION_LIST, .max = 32767,
		.initial = "[]", .fields = schema_partition, .key = "name",
		.size = sizeof(struct config_partition), .entry = "a partition",
		.stage = STAGE_PARTITIONS, .offset = IN_CONFIG(partitions.list),
		.count = IN_CONFIG(partitions.len),
		.help = "Who may talk with whom. See PARTITIONS.",
	}, {
		.name = "qos.levels", .type = OPTION_LIST, .max = 16,
		.initial = "[]", .fields = schema_level, .key = "name",
		.size = sizeof(struct config_level), .entry = "a level",
		.stage = STAGE_ROUTING, .offset = IN_CONFIG(qos.levels),
		.count = IN_CONFIG(qos.nlevels),
		.help = "Levels of service, each with service levels and lanes of its own. The "
			"first is that of all traffic that no rule and no partition gives another. "
			"See QUALITY OF SERVICE.",
	}, {
		.name = "qos.rules", .type = OPTION_LIST, .max = 10000,
		.initial = "[]", .fields = schema_rule,
		.size = sizeof(struct config_rule), .entry = "a rule",
		.stage = STAGE_ROUTING, .offset = IN_CONFIG(qos.rules),
		.count = IN_CONFIG(qos.nrules),
		.help = "Which traffic is of which level. All that an entry says must hold; the "
			"first that does counts.",
	}, {
		.name = "qos.arbitration", .type = OPTION_LIST, .max = 5,
		.initial = "[]", .fields = schema_arbitration, .key = "ports",
		.size = sizeof(struct config_arbitration), .entry = "an arbitration",
		.stage = STAGE_PUSH, .offset = IN_CONFIG(qos.arbitration),
		.count = IN_CONFIG(qos.narbitration),
		.help = "Tables of VL arbitration as they are written to devices, where those "
			"that follow from the weights of the levels are not what is wanted.",
	}, {
		.name = "qos.high_limit", .type = OPTION_NUMBER, .max = 255, .initial = "255",
		.stage = STAGE_PUSH, .offset = IN_CONFIG(qos.high_limit),
		.help = "PortInfo VLHighLimit: how much lanes of high priority may send, in units "
			"of 4096 bytes, before one packet of low priority has its turn. 255: they "
			"are never held up, 0: by each packet.",
	}, {
		.name = "qos.merge", .type = OPTION_BOOL, .initial = "false",
		.stage = STAGE_ROUTING, .offset = IN_CONFIG(qos.merge),
		.help = "When service levels or lanes do not suffice for all levels and what the "
			"routing needs: let levels share them, the last ones first, with a "
			"warning. With false such a configuration is refused.",
	}, {
		.name = "qos.trust_names", .type = OPTION_BOOL, .initial = "false",
		.stage = STAGE_ROUTING, .offset = IN_CONFIG(qos.trust_names),
		.help = "Nodes that rules select by name are those that have the name at any time, "
			"though whoever is root on a host can choose it. With false they are those "
			"that had it when the rule was read first, or at the last weft qos apply.",
	}, {
		.name = "qos.congestion.enabled", .type = OPTION_BOOL, .initial = "false",
		.stage = STAGE_PUSH, .offset = IN_CONFIG(qos.congestion.enabled),
		.help = "Congestion control: switches mark packets where queues build up, and "
			"hosts whose packets are marked send more slowly. With false nothing is "
			"written of it; set to false while weftd runs, what it wrote is undone.",
	}, {
		.name = "qos.congestion.key", .type = OPTION_NUMBER64, .hex = true,
		.max = UINT64_MAX,
		.secret = true, .initial = "0x0",
		.stage = STAGE_PUSH, .offset = IN_CONFIG(qos.congestion.key),
		.help = "Key that devices ask for before their congestion control is changed; 0 "
			"is none. Keep the file from other users when you set it.",
	}, {
		.name = "qos.congestion.threshold", .type = OPTION_NUMBER, .max = 15,
		.initial = "15",
		.stage = STAGE_PUSH, .offset = IN_CONFIG(qos.congestion.threshold),
		.help = "How soon switches mark: 15 at the shortest queue, 1 at the longest, 0 "
			"never.",
	}, {
		.name = "qos.congestion.packet_size", .type = OPTION_NUMBER, .max = 255,
		.initial = "0",
		.stage = STAGE_PUSH, .offset = IN_CONFIG(qos.congestion.packet_size),
		.help = "Switches mark no packets that are smaller, in units of 64 bytes.",
	}, {
		.name = "qos.congestion.marking_rate", .type = OPTION_NUMBER, .max = 65535,
		.initial = "0",
		.stage = STAGE_PUSH, .offset = IN_CONFIG(qos.congestion.marking_rate),
		.help = "Mean number of packets that switches let pass between two that they "
			"mark. 0: each one is marked.",
	}, {
		.name = "qos.congestion.credit_starvation", .type = OPTION_BOOL,
		.initial = "false",
		.stage = STAGE_PUSH, .offset = IN_CONFIG(qos.congestion.credit_starvation),
		.help = "Switches mark, too, where packets wait because the next device has no "
			"room.",
	}, {
		.name = "qos.congestion.levels_off", .type = OPTION_NUMBERS, .max = 15,
		.initial = "[]",
		.stage = STAGE_PUSH, .offset = IN_CONFIG(qos.congestion.levels_off),
		.count = IN_CONFIG(qos.congestion.nlevels_off),
		.help = "Service levels whose packets are never held back.",
	}, {
		.name = "qos.congestion.increase", .type = OPTION_NUMBER, .max = 255,
		.initial = "1",
		.stage = STAGE_PUSH, .offset = IN_CONFIG(qos.congestion.increase),
		.help = "Steps that a host goes up in its table of delays for each marked packet.",
	}, {
		.name = "qos.congestion.timer", .type = OPTION_NUMBER, .max = 65535,
		.initial = "150",
		.stage = STAGE_PUSH, .offset = IN_CONFIG(qos.congestion.timer),
		.help = "Time after which it takes one step back, in units of 1.024 us.",
	}, {
		.name = "qos.congestion.trigger", .type = OPTION_NUMBER, .max = 255,
		.initial = "2",
		.stage = STAGE_PUSH, .offset = IN_CONFIG(qos.congestion.trigger),
		.help = "Step of the table at which a host logs an event.",
	}, {
		.name = "qos.congestion.least", .type = OPTION_NUMBER, .max = 255, .initial = "0",
		.stage = STAGE_PUSH, .offset = IN_CONFIG(qos.congestion.least),
		.help = "Step of the table that a host never goes below.",
	}, {
		.name = "qos.congestion.table", .type = OPTION_TEXT, .initial = "null",
		.check = check_delays,
		.form = "\"SHIFT:MULTIPLIER, ...\" with shifts from 0 to 3, multipliers from 0 to "
			"16383 and at most 256 of them, or null",
		.stage = STAGE_PUSH, .offset = IN_CONFIG(qos.congestion.table),
		.help = "The table of delays of hosts: at each step a packet waits for the time "
			"that it takes to send it, shifted right by SHIFT, times MULTIPLIER. null "
			"is a table of 128 steps whose delays grow evenly. A host with less room "
			"gets its beginning.",
	},
	{ .name = NULL },
};

const struct option schema_subnet[] = {
	{
		.name = "name", .type = OPTION_TEXT, .initial = "default",
		.check = schema_check_name, .form = SCHEMA_NAME_FORM,
		.stage = STAGE_RESTART, .offset = IN_SUBNET(name),
		.help = "What messages and commands call this subnet. No two may share a name.",
	}, {
		.name = "port", .type = OPTION_TEXT, .initial = "auto", .check = check_port,
		.form = "auto, DEVICE:PORT such as mlx5_0:1, or a port GUID",
		.stage = STAGE_RESTART, .offset = IN_SUBNET(port),
		.help = "The local port that is connected to the subnet; auto takes the first "
			"InfiniBand port, and is for a single subnet.",
	}, {
		.name = "prefix", .type = OPTION_NUMBER64, .hex = true,
		.min = 1, .max = 0xfeffffffffffffff,
		.initial = "0xfe80000000000000",
		.stage = STAGE_PUSH, .offset = IN_SUBNET(prefix),
		.help = "GID prefix of the subnet. Subnets that a router connects need different "
			"ones.",
	}, {
		.name = "priority", .type = OPTION_NUMBER, .max = 15, .initial = "0",
		.stage = STAGE_LIVE, .offset = IN_SUBNET(priority),
		.help = "Among several subnet managers the one with the highest priority is "
			"master; among equals the one with the lowest GUID. One that comes when "
			"another leads is handed the office if its priority is higher, not by "
			"a lower GUID alone.",
	}, {
		.name = "accept_handover", .type = OPTION_BOOL, .initial = "false",
		.stage = STAGE_LIVE, .offset = IN_SUBNET(accept_handover),
		.help = "As standby: take the office when the master offers it though its "
			"priority is not lower, as OpenSM does to a manager with a lower GUID. "
			"Otherwise such an offer is refused, and told.",
	}, {
		.name = "allowed_sm_guids", .type = OPTION_GUIDS, .min = 1, .max = UINT64_MAX,
		.initial = "[]", .stage = STAGE_LIVE, .offset = IN_SUBNET(allowed_sm_guids),
		.count = IN_SUBNET(nallowed_sm_guids),
		.help = "Port GUIDs of the subnet managers that may lead; without any, all may. "
			"This one may in any case. Others are shown and told of, and count for "
			"nothing: this one leads beside them, and does nothing of what they ask "
			"for.",
	}, {
		.name = "m_key", .type = OPTION_NUMBER64, .hex = true,
		.max = UINT64_MAX, .secret = true,
		.initial = "0x0", .stage = STAGE_RESTART, .offset = IN_SUBNET(m_key),
		.help = "Management key that every device asks for; 0 is none. Keep the file "
			"from other users when you set it. Devices that hold another key do not "
			"answer: take that key away with the manager that set it, or reset them, "
			"before a key is changed here.",
	}, {
		.name = "sm_key", .type = OPTION_NUMBER64, .hex = true,
		.max = UINT64_MAX, .secret = true,
		.initial = "0x1", .stage = STAGE_LIVE, .offset = IN_SUBNET(sm_key),
		.help = "Key that subnet managers of one subnet share; a manager with another "
			"one is not trusted. OpenSM, whose own is 1 too, ignores a manager that "
			"has not the same, and rules beside it.",
	}, {
		.name = "m_key_lease", .type = OPTION_NUMBER, .max = 65535, .initial = "0",
		.stage = STAGE_PUSH, .offset = IN_SUBNET(m_key_lease),
		.help = "Seconds after which a device that was asked with a wrong management "
			"key, and does not hear from its manager, gives up protection; 0 is "
			"never. It must be longer than sweep_interval.",
	}, {
		.name = "m_key_protect", .type = OPTION_NUMBER, .max = 3, .initial = "0",
		.stage = STAGE_PUSH, .offset = IN_SUBNET(m_key_protect),
		.help = "Protection level of the management key. At 0 and 1 others can read, at "
			"2 and 3 they cannot. It needs an m_key.",
	}, {
		.name = "lmc", .type = OPTION_NUMBER, .max = 7, .initial = "0",
		.stage = STAGE_LIDS, .offset = IN_SUBNET(lmc),
		.help = "Every host port gets 2 to this power LIDs, and as many paths.",
	}, {
		.name = "sweep_interval", .type = OPTION_DURATION, .min = MSEC_U(100),
		.max = HOUR_U(24), .zero = true, .initial = "10s",
		.stage = STAGE_LIVE, .offset = IN_SUBNET(sweep_interval),
		.help = "Time between two light sweeps, which ask each switch whether a port "
			"changed; 0 is never.",
	}, {
		.name = "standby_poll", .type = OPTION_DURATION, .min = MSEC_U(100),
		.max = HOUR_U(1), .initial = "400ms",
		.stage = STAGE_LIVE, .offset = IN_SUBNET(standby_poll),
		.help = "As standby: time from one question to the master to the next.",
	}, {
		.name = "standby_retries", .type = OPTION_NUMBER, .min = 1, .max = 100,
		.initial = "4", .stage = STAGE_LIVE, .offset = IN_SUBNET(standby_retries),
		.help = "As standby: questions without an answer that are forgiven; at one more "
			"in a row it takes over.",
	}, {
		.name = "standby_copy", .type = OPTION_DURATION, .min = MSEC_U(100),
		.max = HOUR_U(1), .zero = true, .initial = "3s",
		.stage = STAGE_LIVE, .offset = IN_SUBNET(standby_copy),
		.help = "As standby: time from one copy of the groups, services, subscriptions "
			"and alias GUIDs that clients left with the master to the next, longer "
			"where that takes long; 0 is never. It needs an sm_key, the master's.",
	}, {
		.name = "routing.engines", .type = OPTION_WORDS, .filled = true,
		.initial = "[auto, updn, minhop]",
		.words = schema_engines, .later = schema_later_engines, .late = true,
		.stage = STAGE_ROUTING, .offset = IN_SUBNET(routing.engines),
		.help = "Routing engines in order of preference. The first whose result is "
			"proved to reach every destination without loops and credit loops is "
			"used. auto finds out what the fabric is and takes the engine for that; "
			"weft show engines lists them all, and weft status says what was found. "
			"Names of entries of plugins are engines, too.",
	}, {
		.name = "routing.fallback", .type = OPTION_WORD, .initial = "warn",
		.words = fallback_words,
		.stage = STAGE_ROUTING, .offset = IN_SUBNET(routing.fallback),
		.help = "When an engine fails: warn and try the next one, or refuse and keep the "
			"tables that the devices hold.",
	}, {
		.name = "routing.adaptive", .type = OPTION_WORD, .initial = "off",
		.words = adaptive_words,
		.stage = STAGE_ROUTING, .offset = IN_SUBNET(routing.adaptive),
		.help = "on: switches that can do so spread packets over all of the shortest "
			"ways, by groups of ports that are proved as the tables are: in trees, and "
			"in a dragonfly within its rule; elsewhere over parallel cables. Packets "
			"of one connection overtake each other then, which not all hosts can put "
			"up with. auto: only levels of service are spread whose "
			"qos.levels[].adaptive is yes, and what hosts say that they take in any "
			"order (routing.adaptive_hosts); else groups do no more than replace ports "
			"that are dead. off: switches forward by their tables alone, and none is "
			"asked what it can; one that was on forwards nothing until its table is "
			"written. That is the initial value because neither what hosts "
			"put up with nor all of the attributes of switches are published.",
	}, {
		.name = "routing.adaptive_switches", .type = OPTION_SELECTIONS, .initial = "[]",
		.stage = STAGE_ROUTING, .offset = IN_SUBNET(routing.adaptive_switches),
		.help = "Switches that adaptive routing is for; without any, all.",
	}, {
		.name = "routing.adaptive_except", .type = OPTION_SELECTIONS, .initial = "[]",
		.stage = STAGE_ROUTING, .offset = IN_SUBNET(routing.adaptive_except),
		.help = "Switches that it is not for, whatever selects them.",
	}, {
		.name = "routing.adaptive_sls", .type = OPTION_NUMBERS, .max = 15,
		.initial = "[]", .stage = STAGE_ROUTING,
		.offset = IN_SUBNET(routing.adaptive_sls),
		.count = IN_SUBNET(routing.nadaptive_sls),
		.help = "Service levels whose packets may be spread; without any, all. What "
			"qos.levels[].adaptive says of a level counts instead. A switch that "
			"cannot tell service levels apart spreads none unless all may be.",
	}, {
		.name = "routing.adaptive_transports", .type = OPTION_WORDS, .filled = true,
		.initial = "[rc, uc, dc]", .words = transport_words,
		.stage = STAGE_ROUTING, .offset = IN_SUBNET(routing.adaptive_transports),
		.help = "Transports whose packets may be spread. Datagrams (ud) are left out "
			"because programs rely on their order, though nobody promised it. A "
			"switch that cannot tell transports apart spreads none unless all may "
			"be.",
	}, {
		.name = "routing.adaptive_mode", .type = OPTION_WORD, .initial = "free",
		.words = spread_words,
		.stage = STAGE_ROUTING, .offset = IN_SUBNET(routing.adaptive_mode),
		.help = "free: a port is chosen for each packet. bounded: it is kept until "
			"nothing came for routing.adaptive_ageing, so that fewer packets "
			"overtake others and links are loaded less evenly. hash: a connection has "
			"one port, by its header, so that none of its packets overtake others and "
			"adaptive: auto spreads whatever may be; where a switch can do that.",
	}, {
		.name = "routing.adaptive_ageing", .type = OPTION_DURATION, .min = 1000,
		.max = (uint64_t)SEC(4), .initial = "30us",
		.stage = STAGE_ROUTING, .offset = IN_SUBNET(routing.adaptive_ageing),
		.help = "Time without a packet that ends a burst, where the mode is bounded.",
	}, {
		.name = "routing.adaptive_recovery", .type = OPTION_BOOL, .initial = "true",
		.stage = STAGE_ROUTING, .offset = IN_SUBNET(routing.adaptive_recovery),
		.help = "Switches that can do so replace a dead port by another of its group by "
			"themselves, for packets of all kinds, until new tables are there.",
	}, {
		.name = "routing.adaptive_hosts", .type = OPTION_WORD, .initial = "ignore",
		.words = hosts_words,
		.stage = STAGE_ROUTING, .offset = IN_SUBNET(routing.adaptive_hosts),
		.help = "What hosts are asked. ignore: nothing. read: of which service levels they "
			"take packets in any order (OOOSLMask of ExtendedPortInfo); with adaptive: "
			"auto those are spread that all hosts take so. write: they are told to, of "
			"all that may be spread, and what they keep of that counts. What the field "
			"means is inferred from its name: try it out before.",
	}, {
		.name = "routing.adaptive_nonminimal", .type = OPTION_BOOL, .initial = "false",
		.stage = STAGE_ROUTING, .offset = IN_SUBNET(routing.adaptive_nonminimal),
		.help = "In a dragonfly or dragonfly+, if engine dragonfly runs, groups get a "
			"second sub-group of longer ways, over a third group of switches, where "
			"switches have two: for when the ports of the first are dead or too "
			"full. It takes half of the group numbers. Of the groups of switches "
			"those of higher numbers may send packets for one of a lower number over "
			"those that are lower still, so that nothing goes round, and that is "
			"proved as all else. Switches decide by themselves how full is too full, "
			"and nobody published that: so it is not the initial value.",
	}, {
		.name = "routing.adaptive_devices", .type = OPTION_LIST, .max = 64,
		.initial = "[]", .fields = schema_ar_device,
		.size = sizeof(struct config_ar_device), .entry = "a kind of device",
		.stage = STAGE_ROUTING, .offset = IN_SUBNET(routing.ar_devices),
		.count = IN_SUBNET(routing.nar_devices),
		.help = "What is known of kinds of switches and is not published; the first entry "
			"that fits a switch counts. What is not known is not used. See ADAPTIVE "
			"ROUTING.",
	}, {
		.name = "routing.adaptive_errors", .type = OPTION_NUMBER, .max = 1000,
		.initial = "10", .stage = STAGE_LIVE, .offset = IN_SUBNET(routing.adaptive_errors),
		.help = "Switches that may fail to be set up in a row, within "
			"routing.adaptive_error_window. At one more all that are not finished "
			"stay with their tables, and are tried again later.",
	}, {
		.name = "routing.adaptive_error_window", .type = OPTION_DURATION,
		.min = MSEC_U(1), .max = HOUR_U(1), .zero = true, .initial = "5s",
		.stage = STAGE_LIVE, .offset = IN_SUBNET(routing.adaptive_error_window),
		.help = "That time; 0: any number may fail.",
	}, {
		.name = "routing.roots", .type = OPTION_GUIDS, .min = 1, .max = UINT64_MAX,
		.initial = "[]", .stage = STAGE_ROUTING, .offset = IN_SUBNET(routing.roots),
		.count = IN_SUBNET(routing.nroots),
		.help = "GUIDs of the switches at the top of the tree, for engines that rank "
			"switches. Without any they are found.",
	}, {
		.name = "routing.classes.storage", .type = OPTION_SELECTIONS, .initial = "[]",
		.stage = STAGE_ROUTING, .offset = IN_SUBNET(routing.classes.storage),
		.help = "Hosts that serve storage. Engine fattree spreads their traffic over the "
			"tree apart from that of compute nodes, which all hosts are that no class "
			"selects, so that it is even for each. All that goes to storage in the "
			"same place of every rack would go up by the same links otherwise.",
	}, {
		.name = "routing.classes.other", .type = OPTION_SELECTIONS, .initial = "[]",
		.stage = STAGE_ROUTING, .offset = IN_SUBNET(routing.classes.other),
		.help = "Hosts of a third kind, such as those for login or management, spread "
			"apart likewise. A host that both classes select is storage.",
	}, {
		.name = "routing.lanes", .type = OPTION_NUMBER, .min = 1, .max = 15, .initial = "4",
		.stage = STAGE_ROUTING, .offset = IN_SUBNET(routing.lanes),
		.help = "Virtual lanes that engines nue and fatpaths take at most; nue takes as "
			"many service levels, too. With more of them ways are shorter, or more of "
			"them apart. Another number gives pairs of hosts other service levels "
			"under nue.",
	}, {
		.name = "routing.file", .type = OPTION_TEXT, .initial = "null", .check = check_path,
		.form = "a path with a / in it, or null",
		.stage = STAGE_ROUTING, .offset = IN_SUBNET(routing.file),
		.help = "Saved forwarding tables, which engine file takes: written by weft show "
			"routes --dump or weft route --lfts, by dump_lfts, or by OpenSM "
			"(opensm-lfts.dump). The file is read at start and at each reload.",
	}, {
		.name = "max_op_vls", .type = OPTION_NUMBER, .min = 1, .max = 15, .initial = "8",
		.words = vl_words, .stage = STAGE_PUSH, .offset = IN_SUBNET(max_op_vls),
		.help = "Data virtual lanes that a link operates at most. Both of its ends must "
			"support them.",
	}, {
		.name = "max_smps", .type = OPTION_NUMBER, .min = 1, .max = 256, .initial = "256",
		.stage = STAGE_RESTART, .offset = IN_SUBNET(max_smps),
		.help = "Management packets that may wait for an answer at one time. The number "
			"in use adapts itself and stays below.",
	}, {
		.name = "max_smps_per_device", .type = OPTION_NUMBER, .min = 1, .max = 64,
		.initial = "16", .stage = STAGE_RESTART, .offset = IN_SUBNET(max_smps_per_device),
		.help = "The same for a single device.",
	}, {
		.name = "timeout", .type = OPTION_DURATION, .min = MSEC_U(1), .max = MSEC_U(60000),
		.initial = "200ms", .stage = STAGE_RESTART, .offset = IN_SUBNET(timeout),
		.help = "How long an answer is waited for before the next try.",
	}, {
		.name = "retries", .type = OPTION_NUMBER, .max = 15, .initial = "3",
		.stage = STAGE_RESTART, .offset = IN_SUBNET(retries),
		.help = "Further tries after the first.",
	}, {
		.name = "read_tables", .type = OPTION_BOOL, .initial = "true",
		.stage = STAGE_LIVE, .offset = IN_SUBNET(read_tables),
		.help = "Read what devices hold in tables that bring-up does not need (P_Keys of "
			"switch ports, VL arbitration, SL to VL) when nothing else is to be done, "
			"at most 20,000 requests a second. With false they are read only when "
			"somebody has asked subnet administration for such a table.",
	}, {
		.name = "packet_life_time", .type = OPTION_NUMBER, .max = 31, .initial = "18",
		.stage = STAGE_PUSH, .offset = IN_SUBNET(packet_life_time),
		.help = "SwitchInfo LifeTimeValue: a packet is dropped after 4.096 us times 2 to "
			"this power in a switch; above 19 never.",
	}, {
		.name = "subnet_timeout", .type = OPTION_NUMBER, .max = 31, .initial = "18",
		.stage = STAGE_PUSH, .offset = IN_SUBNET(subnet_timeout),
		.help = "PortInfo SubnetTimeOut: a port sends traps no faster than one in 4.096 "
			"us times 2 to this power, and hosts reckon with this delay.",
	}, {
		.name = "max_rate", .type = OPTION_WORD, .initial = "any",
		.words = schema_rates, .stage = STAGE_LIVE, .offset = IN_SUBNET(max_rate),
		.help = "The highest rate that path records and multicast groups tell, for "
			"programs that do not know newer ones: no faster one is told, and none "
			"whose code was given out later (120Gb is the last of the first codes, "
			"300Gb of those that came with FDR and EDR). In any case a host is told "
			"only what its own port shows that it knows.",
	}, {
		.name = "sa_rate", .type = OPTION_NUMBER, .max = 1000000, .initial = "20000",
		.stage = STAGE_LIVE, .offset = IN_SUBNET(sa_rate),
		.help = "Requests a second that one port may put to the subnet administrator, "
			"after a second's worth at once; it is told BUSY beyond. 0: any number.",
	}, {
		.name = "hoq_life", .type = OPTION_NUMBER, .max = 31, .initial = "18",
		.stage = STAGE_PUSH, .offset = IN_SUBNET(hoq_life),
		.help = "PortInfo HOQLife between switches: a packet at the head of a queue is "
			"dropped after 4.096 us times 2 to this power; above 19 never.",
	}, {
		.name = "leaf_hoq_life", .type = OPTION_NUMBER, .max = 31, .initial = "16",
		.stage = STAGE_PUSH, .offset = IN_SUBNET(leaf_hoq_life),
		.help = "The same towards hosts.",
	}, {
		.name = "vl_stall_count", .type = OPTION_NUMBER, .max = 7, .initial = "7",
		.stage = STAGE_PUSH, .offset = IN_SUBNET(vl_stall_count),
		.help = "PortInfo VLStallCount between switches: packets dropped in a row before "
			"a lane drops all for a while.",
	}, {
		.name = "leaf_vl_stall_count", .type = OPTION_NUMBER, .max = 7,
		.initial = "7", .stage = STAGE_PUSH, .offset = IN_SUBNET(leaf_vl_stall_count),
		.help = "The same towards hosts.",
	}, {
		.name = "local_phy_errors", .type = OPTION_NUMBER, .max = 15, .initial = "8",
		.stage = STAGE_PUSH, .offset = IN_SUBNET(local_phy_errors),
		.help = "PortInfo LocalPhyErrors: physical errors that make a port report local "
			"link integrity errors.",
	}, {
		.name = "overrun_errors", .type = OPTION_NUMBER, .max = 15, .initial = "8",
		.stage = STAGE_PUSH, .offset = IN_SUBNET(overrun_errors),
		.help = "PortInfo OverrunErrors: buffer overruns that make a port report "
			"excessive overruns.",
	}, {
		.name = "sm_sl", .type = OPTION_NUMBER, .max = 15, .initial = "0",
		.stage = STAGE_PUSH, .offset = IN_SUBNET(sm_sl),
		.help = "Service level that ports use towards the subnet manager, unless the "
			"routing takes lanes: then that of the path.",
	}, {
		.name = "multicast.share_mlids", .type = OPTION_BOOL, .initial = "true",
		.stage = STAGE_LIVE, .offset = IN_SUBNET(multicast.share_mlids),
		.help = "When no multicast LID is left that all switches have room for, a new "
			"group shares that of a group with the same P_Key, MTU, rate and service "
			"level. Members of either then get what is sent to both, and drop what "
			"is not theirs. Otherwise the group is refused.",
	}, {
		.name = "multicast.share_solicited", .type = OPTION_BOOL, .initial = "false",
		.stage = STAGE_LIVE, .offset = IN_SUBNET(multicast.share_solicited),
		.help = "New groups of solicited nodes, of which IPv6 has one for nearly each "
			"host, share one multicast LID for each partition and scope.",
	}, {
		.name = "multicast.forget_after", .type = OPTION_DURATION, .min = MSEC_U(1),
		.max = HOUR_U(24), .zero = true, .initial = "1min",
		.stage = STAGE_LIVE, .offset = IN_SUBNET(multicast.forget_after),
		.help = "How long a port that is gone stays a member of its multicast groups. "
			"One that is back earlier need not join again.",
	}, {
		.name = "client_reregister", .type = OPTION_BOOL, .initial = "true",
		.stage = STAGE_LIVE, .offset = IN_SUBNET(client_reregister),
		.help = "Ask hosts to register their groups and services again when this manager "
			"cannot know them.",
	}, {
		.name = "health.flapping", .type = OPTION_WORD, .initial = "report",
		.words = action_words, .stage = STAGE_LIVE,
		.offset = IN_SUBNET(health.flapping),
		.help = "What is done about a cable that goes down again and again: ignore; "
			"report, an event and a warning; drain keeps traffic off a cable between "
			"switches until it was well for the time of release_after; isolate keeps "
			"it off until weft undrain is asked to; disable switches the port off, "
			"at the switch that is nearer, until weft undrain. What the fabric would "
			"fall apart without, and the subnet manager's own way, is left in use, "
			"and warned of; a host has no other way, so that only disable is done to "
			"its cable. weft show health lists what is wrong, and what is done.",
	}, {
		.name = "health.flaps", .type = OPTION_NUMBER, .min = 2, .max = 16,
		.initial = "5", .stage = STAGE_LIVE, .offset = IN_SUBNET(health.flaps),
		.help = "How often a cable goes down, within flap_window, to be one that flaps.",
	}, {
		.name = "health.flap_window", .type = OPTION_DURATION, .min = SEC(1),
		.max = HOUR_U(24), .initial = "5min", .stage = STAGE_LIVE,
		.offset = IN_SUBNET(health.flap_window),
		.help = "The time in which cables that go down are counted.",
	}, {
		.name = "health.unresponsive", .type = OPTION_WORD, .initial = "report",
		.words = action_words, .stage = STAGE_LIVE,
		.offset = IN_SUBNET(health.unresponsive),
		.help = "What is done about a device that does not answer though its cable is up. "
			"drain, isolate and disable keep traffic off a switch.",
	}, {
		.name = "health.unresponsive_after", .type = OPTION_DURATION,
		.max = HOUR_U(24), .initial = "30s", .stage = STAGE_LIVE,
		.offset = IN_SUBNET(health.unresponsive_after),
		.help = "How long it does not.",
	}, {
		.name = "health.babbling", .type = OPTION_WORD, .initial = "report",
		.words = action_words, .stage = STAGE_LIVE,
		.offset = IN_SUBNET(health.babbling),
		.help = "What is done about a port that sends ten traps of link errors (129, "
			"130, 131) with less than five seconds between them.",
	}, {
		.name = "health.refusing", .type = OPTION_WORD, .initial = "report",
		.words = action_words, .stage = STAGE_LIVE,
		.offset = IN_SUBNET(health.refusing),
		.help = "What is done about a device that refused three times what it was set to. "
			"drain, isolate and disable keep traffic off a switch.",
	}, {
		.name = "health.slow", .type = OPTION_WORD, .initial = "report",
		.words = action_words, .stage = STAGE_LIVE, .offset = IN_SUBNET(health.slow),
		.help = "What is done about a cable that is slower, or has fewer lanes, than both "
			"of its ends support.",
	}, {
		.name = "health.errors", .type = OPTION_WORD, .initial = "report",
		.words = action_words, .stage = STAGE_LIVE, .offset = IN_SUBNET(health.errors),
		.help = "What is done about a cable at an end of which more errors are "
			"counted than per_minute allows, or a counter was found where it "
			"stops, so that nobody knows since when. The worst are told one by "
			"one, of the others how many they are. drain, isolate and disable "
			"are for errors of the cable itself: symbol_errors, "
			"link_recoveries, link_downed, rcv_errors, "
			"local_link_integrity_errors, buffer_overrun_errors.",
	}, {
		.name = "health.counters_interval", .type = OPTION_DURATION, .min = SEC(1),
		.max = HOUR_U(24), .zero = true, .initial = "1min", .stage = STAGE_LIVE,
		.offset = IN_SUBNET(health.counters_interval),
		.help = "How often the error counters of all ports are read, by performance "
			"management, while this manager leads; 0: never. The reading is "
			"spread over that time, with few requests under way.",
	}, {
		.name = "health.clear_counters", .type = OPTION_BOOL, .initial = "false",
		.stage = STAGE_LIVE, .offset = IN_SUBNET(health.clear_counters),
		.help = "Set counters that are over three quarters of where they stop to 0, "
			"so that errors are counted on. It is the only thing that is "
			"written to counters: other monitors read them too. Devices whose "
			"PortCountersExtended has errors need no such thing.",
	}, {
		PER_MINUTE("symbol_errors", 0, "10",
			   "Symbol errors, of one port in a minute, that are not told of; "
			   "0: any number."),
	}, {
		PER_MINUTE("link_recoveries", 1, "1",
			   "Times that a link recovered from an error by training again; "
			   "as above."),
	}, {
		PER_MINUTE("link_downed", 2, "5",
			   "Times that a link went down; as above."),
	}, {
		PER_MINUTE("rcv_errors", 3, "10",
			   "Packets received with an error; as above."),
	}, {
		PER_MINUTE("rcv_remote_physical_errors", 4, "100",
			   "Packets received that were marked bad further away; as above."),
	}, {
		PER_MINUTE("rcv_switch_relay_errors", 5, "0",
			   "Packets received that a switch could not forward, as multicast "
			   "packets that lead nowhere else (by itself no error); as above."),
	}, {
		PER_MINUTE("xmit_discards", 6, "100",
			   "Packets that could not be sent; as above."),
	}, {
		PER_MINUTE("xmit_constraint_errors", 7, "100",
			   "Packets that were not sent for what their partition or raw "
			   "packets may not; as above."),
	}, {
		PER_MINUTE("rcv_constraint_errors", 8, "100",
			   "Packets that were not taken for that reason; as above."),
	}, {
		PER_MINUTE("local_link_integrity_errors", 9, "5",
			   "Times that local errors were more than local_phy_errors "
			   "allows; as above."),
	}, {
		PER_MINUTE("buffer_overrun_errors", 10, "5",
			   "Times that a receive buffer overran, more than overrun_errors "
			   "allows; as above."),
	}, {
		PER_MINUTE("vl15_dropped", 11, "100",
			   "Management packets (VL 15) for which there was no room; as "
			   "above."),
	}, {
		.name = "health.release_after", .type = OPTION_DURATION, .min = SEC(1),
		.max = HOUR_U(24), .initial = "1min", .stage = STAGE_LIVE,
		.offset = IN_SUBNET(health.release_after),
		.help = "How long all must be well before traffic goes there again; after each "
			"relapse within an hour twice as long, at most an hour.",
	}, {
		.name = "takeover", .type = OPTION_WORD, .initial = "keep",
		.words = takeover_words, .stage = STAGE_LIVE, .offset = IN_SUBNET(takeover),
		.help = "What becomes of the forwarding tables that are found when it begins to "
			"lead: keep writes none as long as nothing changes, if they connect all "
			"pairs and close no circle of waiting packets; converge writes those of "
			"its own engines, in an order that is safe.",
	}, {
		.name = "refuse_if_master", .type = OPTION_BOOL, .initial = "false",
		.stage = STAGE_LIVE, .offset = IN_SUBNET(refuse_if_master),
		.help = "Exit when another subnet manager is in charge, rather than stand by.",
	},
	{ .name = NULL },
};

const struct option *
schema_find(const struct option *table, const char *name)
{
	for (const struct option *o = table; o->name; o++) {
		if (strcmp(o->name, name) == 0)
			return o;
	}
	return NULL;
}

bool
schema_is_group(const struct option *table, const char *name)
{
	size_t len = strlen(name);

	for (const struct option *o = table; o->name; o++) {
		if (strncmp(o->name, name, len) == 0 && o->name[len] == '.')
			return true;
	}
	return false;
}

const char **
schema_words(struct region *r, const struct option *table, const char *prefix)
{
	size_t len = strlen(prefix), rows = 0, n = 0;
	const char **words;

	while (table[rows].name)
		rows++;
	words = region_array(r, rows + 1, sizeof(*words));
	for (const struct option *o = table; o->name; o++) {
		char *word;

		if (strncmp(o->name, prefix, len) != 0)
			continue;
		word = region_strdup(r, o->name + len);
		word[strcspn(word, ".")] = '\0';
		if (!n || strcmp(words[n - 1], word) != 0)	/* rows of a group stand together */
			words[n++] = word;
	}
	return words;
}
