/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cli.h"

/*
 * The commands of `weft`, one row each: words, options, help, and who prints the answer. The help
 * texts are what --help prints; docs/weft.1 says the same at more length.
 */
#define FLAG(name, key, help) { name, NULL, key, CLI_FLAG, help, NULL }
#define ALL FLAG("all", "all", "every row, however many there are")
#define SILENT FLAG("silent", "silent", "only what does not answer")
#define TYPE { "type", "TYPE", "type", CLI_STRING, "only ca (hosts), switch or router", node_types }
#define FILTERS "FILTER is a /regular expression/ on names, or says which nodes as NODE does in\n" \
	"weft path; of names that match it takes all.\n"
#define PORTS "NODE/NUMBER is one port.\n"
#define CUT "Without FILTER and options, a list of more than 50 rows is cut to the noteworthy:\n"

static const char *const node_types[] = { "ca", "switch", "router", NULL };

static const char *const levels[] = { "error", "warning", "notice", "info", "debug", NULL };

static const char *const event_types[] = {
	"start", "port", "role", "sweep", "node-up", "node-down", "link-up", "link-down", "silent",
	"duplicate", "refused", "routed", "repaired", "fallback", "unrouted", "trap", "config",
	"health", "quarantined", "released", "overdue", "state", "adaptive", "plugin",
	NULL,
};

static const struct cli_option wait_options[] = {
	{ "timeout", "SECONDS", NULL, CLI_SECONDS, "give up after this time (status 4)", NULL },
	{ 0 },
};

static const struct cli_option node_options[] = {
	TYPE,
	SILENT,
	ALL,
	{ 0 },
};

static const struct cli_option switch_options[] = {
	SILENT,
	ALL,
	{ 0 },
};

static const struct cli_option port_options[] = {
	TYPE,
	FLAG("down", "down", "only what is not active, and lost cables"),
	FLAG("slow", "slow", "only what runs slower than most of its kind"),
	ALL,
	{ 0 },
};

static const struct cli_option adaptive_options[] = {
	FLAG("all", "all", "every switch"),
	{ 0 },
};

static const struct cli_option rails_options[] = {
	FLAG("all", "all", "the place of every rail"),
	{ 0 },
};

static const struct cli_option routes_options[] = {
	FLAG("all", "all", "a switch: its forwarding table, LID by LID"),
	FLAG("dump", "dump", "no NODE: all tables, as dump_lfts prints them"),
	{ 0 },
};

static const struct cli_option event_options[] = {
	{ "last", "N", "last", CLI_NUMBER, "the newest N (100)", NULL },
	{ "after", "N", "after", CLI_NUMBER, "those after event number N", NULL },
	{ "type", "TYPE", "type", CLI_STRING, "only of one type, link-down for example",
	  event_types },
	{ "level", "LEVEL", "level", CLI_STRING, "only what is at least as grave", levels },
	FLAG("follow", NULL, "go on with what happens, until interrupted"),
	{ 0 },
};

#define SAMPLES \
	{ "seed", "N", "seed", CLI_NUMBER, "of what is sampled to measure load (1)", NULL }, \
	{ "samples", "N", "samples", CLI_NUMBER, "how much is sampled", NULL }
#define THREADS { "threads", "N", "threads", CLI_NUMBER, "instead of one for each core", NULL }

#define NAMES { "names", "FILE", "names", CLI_STRING, "names of nodes by GUID", NULL }

static const struct cli_option check_options[] = {
	{ "dump", "DIR", "dump", CLI_STRING, "prove the tables in files, without a daemon", NULL },
	FLAG("no-quality", "no_quality", "only prove, measure no load"),
	NAMES,
	SAMPLES,
	THREADS,
	{ 0 },
};

#define PLUGIN_LIMITS \
	{ "option", "NAME=VALUE", "option", CLI_LIST, "an option of the plugin; again for more", \
	  NULL }, \
	{ "time-limit", "TIME", "time_limit", CLI_STRING, "that the plugin may take (30s)", \
	  NULL }, \
	{ "memory-limit", "MIB", "memory_limit", CLI_NUMBER, \
	  "memory that the plugin may have (1024)", NULL }

static const struct cli_option plugin_test_options[] = {
	PLUGIN_LIMITS,
	{ 0 },
};

static const struct cli_option route_options[] = {
	{ "engine", "NAME", "engine", CLI_LIST, "routing engine; again for the next to try", NULL },
	{ "roots", "GUID,...", "roots", CLI_STRING, "the switches at the top of the tree", NULL },
	{ "storage", "SELECTION", "storage", CLI_LIST,
	  "hosts that serve storage, by name, GUID or /expression/; again for more", NULL },
	{ "other", "SELECTION", "other", CLI_LIST, "hosts of a third class, likewise", NULL },
	{ "config", "FILE", "config", CLI_STRING,
	  "as a daemon with this configuration would, qos too", NULL },
	{ "lmc", "N", "lmc", CLI_NUMBER, "2 to this power LIDs for a host port (0)", NULL },
	{ "file", "TABLES", "file", CLI_STRING, "tables that engine file takes", NULL },
	{ "plugin", "FILE", "plugin", CLI_STRING, "by the engine of this shared object", NULL },
	PLUGIN_LIMITS,
	{ "adaptive", "GROUPS", "adaptive", CLI_NUMBER,
	  "also groups, if all switches could route adaptively with so many", NULL },
	{ "lfts", "OUT", "lfts", CLI_STRING, "write the tables to a file like dump_lfts", NULL },
	{ "dump", "DIR", "dump", CLI_STRING, "write all that check --dump reads, lanes too", NULL },
	NAMES,
	FLAG("no-quality", "no_quality", "only route and prove, measure no load"),
	SAMPLES,
	THREADS,
	{ 0 },
};

static const struct cli_option import_options[] = {
	{ "state", "FILE", "state", CLI_STRING, "also load the LIDs of guid2lid into this state "
	  "file of weftd", NULL },
	{ 0 },
};

static const struct cli_option reroute_options[] = {
	{ "engine", "NAME", "engine", CLI_STRING, "by this engine instead of the configured ones",
	  NULL },
	FLAG("full", "full", "sweep the whole fabric first, and start from nothing"),
	FLAG("forget-lost", "forget_lost", "cables that are lost will not come back"),
	FLAG("forget-levels", "forget_levels", "connections of before have all been made anew"),
	FLAG("dry-run", "dry_run", "say what would be done, and change nothing"),
	{ 0 },
};

static const struct cli_option path_options[] = {
	{ "service-id", "ID", "service_id", CLI_NUMBER, "as programs ask for the path", NULL },
	{ "pkey", "P_KEY", "pkey", CLI_NUMBER, "of this partition (the default one)", NULL },
	{ "class", "N", "class", CLI_NUMBER, "of this QoS class", NULL },
	{ 0 },
};

static const struct cli_option place_options[] = {
	FLAG("dry-run", "dry_run", "say what would be done, and change nothing"),
	{ 0 },
};

static const struct cli_option reload_options[] = {
	FLAG("dry-run", "dry_run", "say what would change, and change nothing"),
	{ 0 },
};

#define MEMBER "MEMBER is the GUID of a port, of a node (all its ports) or an alias GUID, which\n" \
	"nobody need have yet; or the name of a node that is there (its ports), as in\n" \
	"weft path.\n"
#define DRY_RUN FLAG("dry-run", "dry_run", "say whose access would change, and change nothing")
#define IDEMPOTENT FLAG("idempotent", "idempotent", "what is so already is no error")
#define PKEY(help) { "pkey", "N", "pkey", CLI_NUMBER, help, NULL }
#define HOW { "membership", "HOW", "membership", CLI_STRING, \
	      "full (if not said), limited or both", memberships }, \
	FLAG("index0", "index0", "its P_Key belongs to index 0 of the table")

static const char *const memberships[] = { "full", "limited", "both", NULL };

static const struct cli_option partitions_options[] = {
	FLAG("members", "members", "list the ports that are members"),
	{ 0 },
};

static const struct cli_option partition_add_options[] = {
	PKEY("its P_Key, 0x0001 to 0x7fff"),
	FLAG("ipoib", "ipoib", "with the broadcast group of IP over InfiniBand"),
	HOW,
	IDEMPOTENT,
	DRY_RUN,
	{ 0 },
};

static const struct cli_option member_add_options[] = {
	HOW,
	DRY_RUN,
	{ 0 },
};

static const struct cli_option partition_remove_options[] = {
	IDEMPOTENT,
	DRY_RUN,
	{ 0 },
};

static const struct cli_option dry_run_options[] = {
	DRY_RUN,
	{ 0 },
};

static const struct cli_option partition_check_options[] = {
	PKEY("only by this P_Key"),
	{ 0 },
};

const struct cli_command cli_commands[] = {
	{
		.name = "wait",
		.synopsis = "[--timeout SECONDS]",
		.help = "wait until every subnet is up and programmed",
		.more = "A daemon that was just started has 5 seconds to open its socket.\n",
		.options = wait_options,
		.doing = "waiting",
		.print = print_wait,
		.run = run_wait,
	}, {
		.name = "status",
		.synopsis = "",
		.help = "role, state, counts, routing and its proof, last sweep, warnings",
		.doing = "asking",
		.print = print_status,
	}, {
		.name = "show nodes",
		.synopsis = "[FILTER] [--type TYPE] [--silent] [--all]",
		.help = "nodes and their LIDs",
		.more = FILTERS CUT "what does not answer.\n",
		.options = node_options,
		.words = { "filter" },
		.doing = "reading nodes",
		.print = print_nodes,
	}, {
		.name = "show switches",
		.synopsis = "[FILTER] [--silent] [--all]",
		.help = "switches, their ports in use and their rank",
		.more = FILTERS CUT "what does not answer.\n",
		.options = switch_options,
		.words = { "filter" },
		.doing = "reading switches",
		.print = print_switches,
	}, {
		.name = "show ports",
		.synopsis = "[FILTER] [--type TYPE] [--down] [--slow] [--all]",
		.help = "ports by state and speed, and each one's peer",
		.more = FILTERS PORTS CUT
			"what is cabled and not active, runs slower than most links of its kind\n"
			"(to hosts, between switches), or refuses what is set.\n",
		.options = port_options,
		.words = { "filter" },
		.doing = "reading ports",
		.print = print_ports,
	}, {
		.name = "show links",
		.synopsis = "[FILTER] [--type TYPE] [--down] [--slow] [--all]",
		.help = "links by state and speed, with both their ends",
		.more = FILTERS PORTS "A link is shown if either end matches.\n"
			"A lost link was there earlier in this run: a port has no peer any more.\n"
			CUT
			"what is lost or not active, runs slower than most links of its kind (to\n"
			"hosts, between switches), or refuses what is set.\n",
		.options = port_options,
		.words = { "filter" },
		.doing = "reading links",
		.print = print_links,
	}, {
		.name = "show multicast",
		.synopsis = "",
		.help = "multicast groups, their members and trees",
		.more = "A group of fewer than two members has no tree, and no switch holds it.\n",
		.doing = "reading multicast groups",
		.print = print_multicast,
	}, {
		.name = "show partitions",
		.synopsis = "[NAME] [--members]",
		.help = "partitions, who said them, and how many members are there",
		.more = "NAME may be a P_Key. Pending are GUIDs that nobody has yet. Ports\n"
			"not applied have a name by which they are selected, and are no\n"
			"members until weft partition apply.\n",
		.options = partitions_options,
		.words = { "name" },
		.doing = "reading partitions",
		.print = print_partitions,
	}, {
		.name = "show qos",
		.synopsis = "",
		.help = "service levels, their lanes, levels and path classes; VL arbitration",
		.more = "Ports with fewer lanes or smaller tables have them folded.\n",
		.doing = "reading levels of service",
		.print = print_qos,
	}, {
		.name = "show health",
		.synopsis = "",
		.help = "what is wrong with ports and devices, and what is done about it",
		.more = "What is done is the configuration's: subnets[].health of weft.yaml(5).\n"
			"weft undrain puts back into use what is kept off or disabled.\n",
		.doing = "reading what is wrong",
		.print = print_health,
	}, {
		.name = "show adaptive",
		.synopsis = "[--all]",
		.help = "adaptive routing: which switches spread packets, and why others do not",
		.more = "Without --all, of more than 50 switches only the noteworthy are shown.\n",
		.options = adaptive_options,
		.doing = "reading adaptive routing",
		.print = print_adaptive,
	}, {
		.name = "show congestion",
		.synopsis = "",
		.help = "congestion control: what is wanted, and what each device was read to hold",
		.more = "Port 0 is a switch. Devices that were never asked are not listed.\n",
		.doing = "reading congestion control",
		.print = print_congestion,
	}, {
		.name = "show counters",
		.synopsis = "",
		.help = "error counters of ports that are not 0, as they were read last",
		.more = "How often they are read is subnets[].health.counters_interval of\n"
			"weft.yaml(5). Port - stands for a device that does not answer.\n",
		.doing = "reading error counters",
		.print = print_counters,
	}, {
		.name = "show rails",
		.synopsis = "[--all]",
		.help = "which device of the hosts sits on which leaf, and cables in wrong places",
		.more = "Hosts and devices are known by names such as \"node17 mlx5_3\". Of all\n"
			"subnets together; --subnet NAME looks at one alone.\n",
		.options = rails_options,
		.doing = "looking at cables",
		.print = print_rails,
	}, {
		.name = "show services",
		.synopsis = "",
		.help = "services that programs on hosts have registered",
		.doing = "reading services",
		.print = print_services,
	}, {
		.name = "show subscriptions",
		.synopsis = "",
		.help = "who is told of which events, and how that went",
		.more = "Numbers of Reports are those of the port, for all of its subscriptions.\n",
		.doing = "reading subscriptions",
		.print = print_subscriptions,
	}, {
		.name = "show routes",
		.synopsis = "NODE [--all] | --dump",
		.help = "a switch's routes by out port, or every switch's way to a host",
		.more = "NODE is a name, a GUID or a LID, as in weft path; a host's port is "
			"NODE/NUMBER.\nWhat --dump prints is what engine file reads, and weft "
			"check --dump.\n",
		.options = routes_options,
		.words = { "node" },
		.doing = "reading routes",
		.print = print_routes,
		.run = run_routes,
	}, {
		.name = "show engines",
		.synopsis = "",
		.help = "the routing engines, and which one each subnet runs",
		.doing = "asking",
		.print = print_engines,
	}, {
		.name = "show plugins",
		.synopsis = "",
		.help = "routing engines and consumers of events that others made",
		.doing = "asking",
		.print = print_plugins,
	}, {
		.name = "show events",
		.synopsis = "[--last N | --after N] [--type TYPE] [--level LEVEL] [--follow]",
		.help = "what happened",
		.more = "TYPE is start, port, role, sweep, node-up, node-down, link-up,\n"
			"link-down, silent, duplicate, refused, routed, repaired, fallback,\n"
			"unrouted, trap, config, health, quarantined, released, overdue, state,\n"
			"adaptive or plugin.\n"
			"LEVEL is error, warning, notice, info or debug.\n",
		.options = event_options,
		.doing = "reading events",
		.print = print_events,
		.run = run_events,
	}, {
		.name = "show ha",
		.synopsis = "",
		.help = "subnet managers: who leads, who stands by, is it safe to fail over",
		.more = "It is safe if another one takes over without loss when the master ends.\n",
		.doing = "asking",
		.print = print_ha,
	}, {
		.name = "show topology",
		.synopsis = "[-o ibnetdiscover|dot|json]",
		.help = "the fabric, for other programs to read",
		.more = "ibnetdiscover (the default) is what infiniband-diags and ibsim read,\n"
			"dot is Graphviz's language.\n",
		.doing = "writing the topology",
		.print = print_topology,
	}, {
		.name = "path",
		.synopsis = "SRC DST [--service-id ID] [--pkey P_KEY] [--class N]",
		.help = "every hop from one place to another: node, ports, SL, VL",
		.more = "SRC and DST are each a NODE, or NODE/NUMBER, a port of a host. NODE is,\n"
			"in this order: a name, a GUID of a node or port, a LID, a name without\n"
			"regard to case, the beginning of a name. Where several match they are\n"
			"listed.\n",
		.options = path_options,
		.words = { "source", "destination" },
		.need = 2,
		.doing = "asking",
		.print = print_path,
	}, {
		.name = "qos apply",
		.synopsis = "",
		.help = "take names that select ports for rules as nodes have them now",
		.doing = "routing",
		.print = print_reroute,
	}, {
		.name = "qos explain",
		.synopsis = "SRC DST [--service-id ID] [--pkey P_KEY] [--class N]",
		.help = "level and service level of a path, and which rule says so",
		.more = "Rules count from 0, in the order of the configuration.\n",
		.options = path_options,
		.words = { "source", "destination" },
		.need = 2,
		.doing = "asking",
		.print = print_explain,
	}, {
		.name = "check",
		.synopsis = "[--dump DIR] [--no-quality]",
		.help = "prove the running routing, or dumped tables, and report the quality",
		.more = "DIR holds what ibnetdiscover and dump_lfts printed, or OpenSM's\n"
			"opensm-lfts.dump; perhaps outputs of dump_mfts, smpquery sl2vl and\n"
			"saquery PR, too.\n"
			"Status 1 if the tables are not proved.\n",
		.options = check_options,
		.doing = "proving the routing",
		.print = print_check,
		.run = run_check,
		.verdict = check_verdict,
	}, {
		.name = "route",
		.synopsis = "FILE [--engine NAME]... [--plugin FILE] [--lfts OUT] [OPTIONS]",
		.help = "route a saved ibnetdiscover output without a daemon",
		.more = "FILE may be - for standard input. Without an engine those of the\n"
			"configuration are taken, else those of a daemon that has none. Status 1\n"
			"if no routing is proved.\n",
		.options = route_options,
		.words = { "path" },
		.need = 1,
		.print = print_route,
		.run = run_route,
		.verdict = route_verdict,
	}, {
		.name = "plugin test",
		.synopsis = "FILE [OPTIONS]",
		.help = "try the engine of a shared object on fabrics that people forget",
		.more = "Each is routed twice, with one thread and with two, and the tables are\n"
			"proved. An engine may refuse a fabric, in words. Faults are: to fail,\n"
			"tables that do not reach what cables reach, others the second time, and\n"
			"a credit loop, if it claims to close none.\n",
		.options = plugin_test_options,
		.words = { "path" },
		.need = 1,
		.print = print_plugin_test,
		.run = run_route,
		.verdict = route_verdict,
	}, {
		.name = "import opensm",
		.synopsis = "[--state FILE] DIR",
		.help = "print a configuration that does what the files of an OpenSM say",
		.more = "DIR is /etc/opensm or a copy of it: opensm.conf, partitions.conf,\n"
			"qos-policy.conf and the files that these name. Comments at the top say\n"
			"what is not as it was.\n",
		.options = import_options,
		.words = { "path" },
		.need = 1,
		.run = run_import,
	}, {
		.name = "reroute",
		.synopsis = "[--engine NAME] [--full] [--forget-lost] [--forget-levels] "
			    "[--dry-run]",
		.help = "compute the routing anew and program what differs",
		.more = "An engine given here stays until weft reroute without one, until a\n"
			"reload changes the configured engines, or until the daemon ends.\n",
		.options = reroute_options,
		.doing = "routing",
		.print = print_reroute,
	}, {
		.name = "fail",
		.synopsis = "NODE[/PORT] --dry-run",
		.help = "foretell what the loss of a node or a cable would do",
		.options = place_options,
		.words = { "place" },
		.need = 1,
		.doing = "routing",
		.print = print_change,
	}, {
		.name = "drain",
		.synopsis = "NODE[/PORT] [--dry-run]",
		.help = "move traffic off a switch or a cable, before it is seen to",
		.more = "It stays up. A restart of the daemon does not bring the traffic back.\n",
		.options = place_options,
		.words = { "place" },
		.need = 1,
		.doing = "routing",
		.print = print_change,
	}, {
		.name = "undrain",
		.synopsis = "NODE[/PORT] [--dry-run]",
		.help = "let traffic back",
		.more = "Also to what is kept off or disabled because it was not well: weft show\n"
			"health lists that.\n",
		.options = place_options,
		.words = { "place" },
		.need = 1,
		.doing = "routing",
		.print = print_change,
	}, {
		.name = "partition add",
		.synopsis = "NAME [--pkey N] [--ipoib] [MEMBER...] [--membership HOW] [--index0] "
			    "[--idempotent] [--dry-run]",
		.help = "a new partition, which is kept across restarts",
		.more = MEMBER "Without --pkey it gets the least P_Key that is free.\n",
		.options = partition_add_options,
		.words = { "name" },
		.rest = "members",
		.need = 1,
		.doing = "changing partitions",
		.print = print_partition_change,
	}, {
		.name = "partition remove",
		.synopsis = "NAME [--idempotent] [--dry-run]",
		.help = "take back what commands said of a partition",
		.more = "What the configuration says of it stays.\n",
		.options = partition_remove_options,
		.words = { "name" },
		.need = 1,
		.doing = "changing partitions",
		.print = print_partition_change,
	}, {
		.name = "partition set",
		.synopsis = "NAME MEMBER... [--membership HOW] [--index0] [--dry-run]",
		.help = "set the membership of members; who is none becomes one",
		.more = MEMBER,
		.options = member_add_options,
		.words = { "name" },
		.rest = "members",
		.need = 1,
		.doing = "changing partitions",
		.print = print_partition_change,
	}, {
		.name = "partition member add",
		.synopsis = "NAME MEMBER... [--membership HOW] [--index0] [--dry-run]",
		.help = "more members for a partition",
		.more = MEMBER,
		.options = member_add_options,
		.words = { "name" },
		.rest = "members",
		.need = 1,
		.doing = "changing partitions",
		.print = print_partition_change,
	}, {
		.name = "partition member remove",
		.synopsis = "NAME MEMBER... [--idempotent] [--dry-run]",
		.help = "take back members that commands gave a partition",
		.more = MEMBER "Members by the configuration stay.\n",
		.options = partition_remove_options,
		.words = { "name" },
		.rest = "members",
		.need = 1,
		.doing = "changing partitions",
		.print = print_partition_change,
	}, {
		.name = "partition apply",
		.synopsis = "[NAME] [--dry-run]",
		.help = "take names that select members as nodes have them now",
		.more = "Without NAME, of all partitions.\n",
		.options = dry_run_options,
		.words = { "name" },
		.doing = "changing partitions",
		.print = print_partition_change,
	}, {
		.name = "partition check",
		.synopsis = "A B [--pkey N]",
		.help = "whether two ports may talk, by which P_Keys, or why not",
		.more = "A and B are each a NODE or NODE/NUMBER as in weft path, or any GUID.\n"
			"Status 1 if they may not.\n",
		.options = partition_check_options,
		.words = { "source", "destination" },
		.need = 2,
		.doing = "asking",
		.print = print_partition_check,
		.verdict = partition_verdict,
	}, {
		.name = "plugin reload",
		.synopsis = "[NAME] [--dry-run]",
		.help = "read the files of plugins again, or that of one",
		.more = "One that is refused leaves the one of before in use.\n",
		.options = reload_options,
		.words = { "plugin" },
		.doing = "loading",
		.print = print_plugin_reload,
	}, {
		.name = "reload",
		.synopsis = "[--dry-run]",
		.help = "read the configuration again; on any error the old one stays",
		.options = reload_options,
		.doing = "reading the configuration",
		.print = print_reload,
	},
	{ 0 },
};
