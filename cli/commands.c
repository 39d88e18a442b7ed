/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cli.h"

/*
 * The commands of `weft`, one row each: words, options, help, and who prints the answer. The help
 * texts are what --help prints; docs/weft.1 says the same at more length.
 */
#define ALL { "all", NULL, "all", CLI_FLAG, "every row, however many there are" }
#define TYPE { "type", "TYPE", "type", CLI_STRING, "only ca (hosts), switch or router" }
#define FILTERS "FILTER is a name, a GUID, a LID, or a /regular expression/ on names.\n"
#define CUT "Without FILTER and options, a list of more than 50 rows is cut to the noteworthy:\n"

static const struct cli_option wait_options[] = {
	{ "timeout", "SECONDS", NULL, CLI_SECONDS, "give up after this time (status 4)" },
	{ 0 },
};

static const struct cli_option node_options[] = {
	TYPE,
	{ "silent", NULL, "silent", CLI_FLAG, "only what does not answer" },
	ALL,
	{ 0 },
};

static const struct cli_option switch_options[] = {
	{ "silent", NULL, "silent", CLI_FLAG, "only what does not answer" },
	ALL,
	{ 0 },
};

static const struct cli_option port_options[] = {
	TYPE,
	{ "down", NULL, "down", CLI_FLAG, "only what is not active" },
	{ "slow", NULL, "slow", CLI_FLAG, "only what runs slower than most of its kind" },
	ALL,
	{ 0 },
};

static const struct cli_option routes_options[] = {
	{ "all", NULL, "all", CLI_FLAG, "a switch: its forwarding table, LID by LID" },
	{ 0 },
};

static const struct cli_option event_options[] = {
	{ "last", "N", "last", CLI_NUMBER, "the newest N (100)" },
	{ "after", "N", "after", CLI_NUMBER, "those after event number N" },
	{ "type", "TYPE", "type", CLI_STRING, "only of one type, link-down for example" },
	{ "level", "LEVEL", "level", CLI_STRING, "error to debug: only what is as grave" },
	{ "follow", NULL, NULL, CLI_FLAG, "go on with what happens, until interrupted" },
	{ 0 },
};

static const struct cli_option check_options[] = {
	{ "no-quality", NULL, "no_quality", CLI_FLAG, "only prove, measure no load" },
	{ 0 },
};

static const struct cli_option reroute_options[] = {
	{ "engine", "NAME", "engine", CLI_STRING, "by this engine instead of the configured ones" },
	{ "full", NULL, "full", CLI_FLAG, "sweep the whole fabric first" },
	{ "dry-run", NULL, "dry_run", CLI_FLAG, "say what would be done, and change nothing" },
	{ 0 },
};

static const struct cli_option reload_options[] = {
	{ "dry-run", NULL, "dry_run", CLI_FLAG, "say what would change, and change nothing" },
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
		.more = FILTERS CUT
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
		.more = FILTERS "A link is shown if either end matches.\n" CUT
			"what is not active, runs slower than most links of its kind (to hosts,\n"
			"between switches), or refuses what is set.\n",
		.options = port_options,
		.words = { "filter" },
		.doing = "reading links",
		.print = print_links,
	}, {
		.name = "show routes",
		.synopsis = "NODE [--all]",
		.help = "a switch's routes by out port, or every switch's way to a host",
		.more = "NODE is a name, a GUID or a LID; a host's port is NODE/NUMBER.\n",
		.options = routes_options,
		.words = { "node" },
		.need = 1,
		.doing = "reading routes",
		.print = print_routes,
	}, {
		.name = "show engines",
		.synopsis = "",
		.help = "the routing engines, and which one each subnet runs",
		.doing = "asking",
		.print = print_engines,
	}, {
		.name = "show events",
		.synopsis = "[--last N | --after N] [--type TYPE] [--level LEVEL] [--follow]",
		.help = "what happened",
		.options = event_options,
		.doing = "reading events",
		.print = print_events,
		.run = run_events,
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
		.synopsis = "SRC DST",
		.help = "every hop from one place to another: node, ports, SL, VL",
		.more = "SRC and DST are names, GUIDs or LIDs; a port of a host is NODE/NUMBER.\n"
			"A beginning of a name is enough if only one node has it.\n",
		.words = { "source", "destination" },
		.need = 2,
		.doing = "asking",
		.print = print_path,
	}, {
		.name = "check",
		.synopsis = "[--no-quality]",
		.help = "prove the running routing, and report its quality",
		.more = "Status 1 if the tables are not proved.\n",
		.options = check_options,
		.doing = "proving the routing",
		.print = print_check,
		.verdict = check_verdict,
	}, {
		.name = "reroute",
		.synopsis = "[--engine NAME] [--full] [--dry-run]",
		.help = "compute the routing anew and program what differs",
		.options = reroute_options,
		.doing = "routing",
		.print = print_reroute,
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
