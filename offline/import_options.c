/* SPDX-License-Identifier: BSD-2-Clause */
#include "offline/import.h"

#include <string.h>
#include <strings.h>

/*
 * Keys of opensm.conf as options of a configuration. One table row a key: those that Weft has, with
 * where they go, and those that it has not, with why. A key that is at OpenSM's default says
 * nothing, but for the number of lanes, of which OpenSM uses all that there are.
 *
 * Keys that name files, and those of qos, are taken by others: see import.c and import_qos.c.
 */
enum kind {
	KIND_NUMBER,		/* unsigned */
	KIND_NUMBER64,		/* uint64_t */
	KIND_SECONDS,		/* monotime */
	KIND_MSEC,		/* monotime */
	KIND_BOOL,		/* bool */
	KIND_NOT,		/* bool, turned round */
	KIND_LANES,		/* unsigned; the code of OperationalVLs, 1 to 5 */
	KIND_FILE,		/* const char * of struct import_said */
	KIND_OTHER,		/* read elsewhere */
	KIND_NOTHING,		/* Weft has nothing of the kind, or needs it not */
	KIND_SILENT,		/* nor does anybody miss it */
};

struct row {
	const char *name;	/* the key */
	enum kind kind;		/* how to read it, and where it goes */
	const char *usual;	/* OpenSM's default */
	size_t offset;		/* in struct config_subnet; KIND_FILE: in struct import_said */
	uint64_t min;		/* least value that Weft takes */
	uint64_t max;		/* greatest */
	const char *why;	/* KIND_NOTHING: a phrase */
};

#define IN_SUBNET(field) offsetof(struct config_subnet, field)
#define IN_SAID(field) offsetof(struct import_said, field)
#define FILE_ROW(key, field) { key, KIND_FILE, "", IN_SAID(field), 0, 0, NULL }
#define NUMBER_ROW(key, usual, field, min, max) \
	{ key, KIND_NUMBER, usual, IN_SUBNET(field), min, max, NULL }
#define NOTHING(key, usual, why) { key, KIND_NOTHING, usual, 0, 0, 0, why }
#define SILENT(key) { key, KIND_SILENT, "", 0, 0, 0, NULL }
#define OTHER(key) { key, KIND_OTHER, "", 0, 0, 0, NULL }

#define HINTS "the engines of Weft find this themselves"
#define NO_PERF "Weft reads no performance counters"
#define BY_HAND "congestion control is another set of options in Weft: see qos.congestion"

static const struct row rows[] = {
	{ "m_key", KIND_NUMBER64, "0", IN_SUBNET(m_key), 0, UINT64_MAX, NULL },
	{ "sm_key", KIND_NUMBER64, "1", IN_SUBNET(sm_key), 0, UINT64_MAX, NULL },
	{ "subnet_prefix", KIND_NUMBER64, "0xfe80000000000000", IN_SUBNET(prefix), 1,
	  0xfeffffffffffffff, NULL },
	NUMBER_ROW("m_key_lease_period", "0", m_key_lease, 0, 65535),
	NUMBER_ROW("m_key_protection_level", "0", m_key_protect, 0, 3),
	NUMBER_ROW("sm_priority", "0", priority, 0, 15),
	NUMBER_ROW("lmc", "0", lmc, 0, 7),
	NUMBER_ROW("sm_sl", "0", sm_sl, 0, 15),
	NUMBER_ROW("packet_life_time", "0x12", packet_life_time, 0, 31),
	NUMBER_ROW("subnet_timeout", "18", subnet_timeout, 0, 31),
	NUMBER_ROW("head_of_queue_lifetime", "0x12", hoq_life, 0, 31),
	NUMBER_ROW("leaf_head_of_queue_lifetime", "0x10", leaf_hoq_life, 0, 31),
	NUMBER_ROW("vl_stall_count", "7", vl_stall_count, 0, 7),
	NUMBER_ROW("leaf_vl_stall_count", "7", leaf_vl_stall_count, 0, 7),
	NUMBER_ROW("local_phy_errors_threshold", "8", local_phy_errors, 0, 15),
	NUMBER_ROW("overrun_errors_threshold", "8", overrun_errors, 0, 15),
	NUMBER_ROW("polling_retry_number", "4", standby_retries, 1, 100),
	NUMBER_ROW("transaction_retries", "3", retries, 0, 15),
	NUMBER_ROW("max_wire_smps", "4", max_smps, 1, 256),
	{ "sweep_interval", KIND_SECONDS, "10", IN_SUBNET(sweep_interval), 0, 86400, NULL },
	{ "sminfo_polling_timeout", KIND_MSEC, "10000", IN_SUBNET(standby_poll), 100, 600000,
	  NULL },
	{ "transaction_timeout", KIND_MSEC, "200", IN_SUBNET(timeout), 1, 60000, NULL },
	{ "max_op_vls", KIND_LANES, "5", IN_SUBNET(max_op_vls), 1, 5, NULL },
	{ "consolidate_ipv6_snm_req", KIND_BOOL, "FALSE", IN_SUBNET(multicast.share_solicited), 0,
	  0, NULL },
	{ "no_clients_rereg", KIND_NOT, "FALSE", IN_SUBNET(client_reregister), 0, 0, NULL },
	FILE_ROW("partition_config_file", partitions),
	FILE_ROW("qos_policy_file", qos_policy),
	FILE_ROW("node_name_map_name", names),
	FILE_ROW("root_guid_file", roots),
	FILE_ROW("cn_guid_file", compute),
	FILE_ROW("io_guid_file", io),
	OTHER("guid"), OTHER("routing_engine"), OTHER("lfts_file"), OTHER("part_enforce"),
	OTHER("no_partition_enforcement"), OTHER("allow_both_pkeys"), OTHER("qos"),
	OTHER("babbling_port_policy"), OTHER("log_file"), OTHER("nue_max_num_vls"),
	NOTHING("sa_key", "1", "answers of Weft are not bound to a key of the administrator"),
	NOTHING("lmc_esp0", "FALSE", "port 0 of switches has one LID in Weft"),
	NOTHING("keep_pkey_indexes", "TRUE", "Weft always keeps the index of a key"),
	NOTHING("sm_assigned_guid", "0", "Weft chooses the alias GUIDs that it gives itself"),
	NOTHING("force_link_speed", "15", "Weft leaves the speeds of links as the devices have "
		"them"),
	NOTHING("force_link_speed_ext", "31", "Weft leaves the speeds of links as the devices "
		"have them"),
	NOTHING("force_link_width", "255", "Weft leaves the widths of links as the devices have "
		"them"),
	NOTHING("reassign_lids", "FALSE", "Weft never gives a port another LID without need"),
	NOTHING("force_heavy_sweep", "FALSE", "Weft reads what changed"),
	NOTHING("sweep_on_trap", "TRUE", "Weft always looks at what a trap names"),
	NOTHING("port_profile_switch_nodes", "FALSE", HINTS),
	NOTHING("port_prof_ignore_file", "", "Weft balances over all ports"),
	NOTHING("hop_weights_file", "", "Weft has no weights of links"),
	NOTHING("port_search_ordering_file", "", HINTS),
	NOTHING("guid_routing_order_file", "", HINTS),
	NOTHING("ids_guid_file", "", HINTS),
	NOTHING("torus_config", "/etc/opensm/torus-2QoS.conf", "the engine torus of Weft finds "
		"dimensions and datelines itself"),
	NOTHING("avoid_throttled_links", "FALSE", "the engines of Weft take the rates of links "
		"into account"),
	NOTHING("connect_roots", "FALSE", "Weft always connects all pairs, or says which it "
		"cannot"),
	NOTHING("max_reverse_hops", "0", HINTS),
	NOTHING("quasi_ftree_indexing", "FALSE", HINTS),
	NOTHING("do_mesh_analysis", "FALSE", HINTS),
	NOTHING("lash_start_vl", "0", "Weft gives lanes itself"),
	NOTHING("nue_include_switches", "FALSE", "Weft routes to switches, too"),
	NOTHING("port_shifting", "FALSE", HINTS),
	NOTHING("scatter_ports", "0", HINTS),
	NOTHING("lid_matrix_dump_file", "", "Weft needs no matrix beside saved tables"),
	NOTHING("sa_db_file", "", "Weft keeps what clients registered in its state file"),
	NOTHING("sa_db_dump", "FALSE", "Weft keeps what clients registered in its state file"),
	NOTHING("honor_guid2lid_file", "FALSE", "weft import --state loads guid2lid once; ports "
		"keep the LIDs that they have"),
	NOTHING("ignore_other_sm", "FALSE", "Weft always minds other subnet managers"),
	NOTHING("sm_inactive", "FALSE", "a Weft that shall not lead is not started"),
	NOTHING("drop_event_subscriptions", "FALSE", "Weft keeps subscriptions"),
	NOTHING("ipoib_mcgroup_creation_validation", "TRUE", "Weft always checks such groups"),
	NOTHING("mcgroup_join_validation", "TRUE", "Weft always checks joins"),
	NOTHING("use_original_extended_sa_rates_only", "FALSE", "see max_rate of weft.yaml"),
	NOTHING("disable_multicast", "FALSE", "Weft always does multicast"),
	NOTHING("perfmgr", "FALSE", NO_PERF),
	NOTHING("event_plugin_name", "", "Weft loads no plug-in of OpenSM; see weft show events "
		"--follow"),
	NOTHING("event_plugin_options", "", "Weft loads no plug-in of OpenSM"),
	NOTHING("console", "off", "weft is the console"),
	NOTHING("congestion_control", "FALSE", BY_HAND),
	NOTHING("prefix_routes_file", "/etc/opensm/prefix-routes.conf", "Weft has no routes to "
		"other subnets"),
	SILENT("m_key_lookup"), SILENT("fdr10"), SILENT("use_mfttop"), SILENT("use_ucast_cache"),
	SILENT("guid_routing_order_no_scatter"), SILENT("max_wire_smps2"),
	SILENT("max_smps_timeout"), SILENT("long_transaction_timeout"),
	SILENT("max_msg_fifo_timeout"), SILENT("single_thread"), SILENT("daemon"),
	SILENT("use_optimized_slvl"), SILENT("fsync_high_avail_files"), SILENT("log_flags"),
	SILENT("force_log_flush"), SILENT("log_max_size"), SILENT("accum_log_file"),
	SILENT("per_module_logging_file"), SILENT("dump_files_dir"), SILENT("enable_quirks"),
	SILENT("exit_on_fatal"), SILENT("console_port"), SILENT("event_db_dump_file"),
	SILENT("suppress_sl2vl_mad_status_errors"), SILENT("log_prefix"),
	SILENT("perfmgr_redir"), SILENT("perfmgr_sweep_time_s"), SILENT("perfmgr_ignore_cas"),
	SILENT("perfmgr_max_outstanding_queries"), SILENT("perfmgr_rm_nodes"),
	SILENT("perfmgr_log_errors"), SILENT("perfmgr_query_cpi"), SILENT("perfmgr_xmit_wait_log"),
	SILENT("perfmgr_xmit_wait_threshold"),
};

struct options {
	const struct import_option *list;	/* all */
	const char *file;		/* for notes */
	struct config *c;		/* gets them */
	struct config_subnet *subnet;	/* its only one */
	struct import_said *said;	/* gets what others need */
	struct import_notes *n;		/* what cannot be said */
};

#define NOTE(o, at, ...) import_note((o)->n, (o)->file, (at)->line, __VA_ARGS__)

static bool
number_of(const char *s, uint64_t max, uint64_t *v)
{
	return import_number((struct import_word){ s, strlen(s) }, max, v);
}

/* The value of a key, as OpenSM writes its default or otherwise the same. */
static bool
is_usual(const struct row *row, const char *value)
{
	uint64_t a, b;

	if (number_of(value, UINT64_MAX, &a) && number_of(row->usual, UINT64_MAX, &b))
		return a == b;
	return strcasecmp(value, row->usual) == 0;
}

static const struct row *
row_of(const char *name)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(rows[i].name, name) == 0)
			return &rows[i];
	return NULL;
}

/* TRUE or FALSE; what is neither is FALSE to OpenSM. */
static bool
bool_of(const struct options *o, const char *name, bool usual)
{
	const struct import_option *at = import_option_of(o->list, name);

	if (!at || !*at->value)
		return usual;
	if (strcmp(at->value, "TRUE") != 0 && strcmp(at->value, "FALSE") != 0)
		NOTE(o, at, "%s is %s, which is neither TRUE nor FALSE; it is FALSE, as in OpenSM",
		     name, at->value);
	return strcmp(at->value, "TRUE") == 0;
}

static void
set_number(const struct options *o, const struct row *row, const struct import_option *at)
{
	static const unsigned lanes[] = { 0, 1, 2, 4, 8, 15 };
	void *field = (char *)o->subnet + row->offset;
	uint64_t v;

	if (!number_of(at->value, UINT64_MAX, &v) || v < row->min || v > row->max) {
		NOTE(o, at, "%s %s is left out: Weft takes numbers from %llu to %llu", at->name,
		     at->value, (unsigned long long)row->min, (unsigned long long)row->max);
		return;
	}
	if (row->kind == KIND_NUMBER)
		*(unsigned *)field = (unsigned)v;
	else if (row->kind == KIND_NUMBER64)
		*(uint64_t *)field = v;
	else if (row->kind == KIND_LANES)
		*(unsigned *)field = lanes[v];
	else
		*(monotime *)field = row->kind == KIND_SECONDS ? SEC((int64_t)v) :
			MSEC((int64_t)v);
}

static void
set_row(const struct options *o, const struct row *row, const struct import_option *at)
{
	bool *flag = (bool *)((char *)o->subnet + row->offset);

	switch (row->kind) {
	case KIND_BOOL:
		*flag = bool_of(o, at->name, *flag);
		break;
	case KIND_NOT:
		*flag = !bool_of(o, at->name, !*flag);
		break;
	case KIND_FILE:
		*(const char **)((char *)o->said + row->offset) = *at->value ? at->value : NULL;
		break;
	case KIND_NOTHING:
		NOTE(o, at, "%s %s is left out: %s", at->name, at->value, row->why);
		break;
	case KIND_OTHER:
	case KIND_SILENT:
		break;
	default:
		set_number(o, row, at);
		break;
	}
}

/* Of qos and congestion control, which have many keys. */
static bool
is_of_family(const char *name)
{
	return strncmp(name, "qos_", 4) == 0 || strncmp(name, "cc_", 3) == 0;
}

static void
take_option(const struct options *o, const struct import_option *at)
{
	const struct row *row = row_of(at->name);

	if (import_option_of(o->list, at->name) != at)
		return;	/* a later one counts */
	if (!row && !is_of_family(at->name))
		NOTE(o, at, "%s is no key of OpenSM that Weft knows, and left out", at->name);
	if (!row || (!*at->value && row->kind != KIND_FILE))
		return;
	if (row->kind == KIND_FILE || !is_usual(row, at->value))
		set_row(o, row, at);
}

static const struct {
	const char *theirs;	/* OpenSM's engine */
	const char *ours;	/* what does the same */
	const char *why;	/* where it is another one; or NULL */
} engines[] = {
	{ "minhop", "minhop", NULL }, { "updn", "updn", NULL }, { "file", "file", NULL },
	{ "ftree", "fattree", NULL }, { "torus-2QoS", "torus", NULL }, { "nue", "nue", NULL },
	{ "dfsssp", "dfsssp", NULL },
	{ "lash", "nue", "for any fabric by lanes, too, and better balanced" },
	{ "sssp", "minhop", "balanced likewise, and as little kept from deadlock" },
	{ "dnup", "updn", "dnup closes credit loops on all that is no tree" },
	{ "dor", "auto", "torus or hyperx then, which keep to an order of dimensions, too" },
};

/* What does an engine's work; NULL: nothing. */
static const char *
engine_of(const struct options *o, const struct import_option *at, struct import_word name)
{
	for (size_t i = 0; i < sizeof(engines) / sizeof(engines[0]); i++) {
		if (!import_is(name, engines[i].theirs))
			continue;
		if (engines[i].why)
			NOTE(o, at, "engine %s is %s here: %s", engines[i].theirs, engines[i].ours,
			     engines[i].why);
		return engines[i].ours;
	}
	NOTE(o, at, "engine %.*s is left out: Weft has none like it", IMPORT_WORD(name));
	return NULL;
}

#define ENGINES 16u

static void
add_engine(const char **list, unsigned *len, const char *name)
{
	for (unsigned i = 0; i < *len; i++)
		if (strcmp(list[i], name) == 0)
			return;
	if (*len < ENGINES)
		list[(*len)++] = name;
}

/* Engines in their order; without no_fallback, minhop is tried last. */
static void
take_engines(const struct options *o)
{
	const struct import_option *at = import_option_of(o->list, "routing_engine");
	const char **list = region_array(o->c->region, ENGINES + 1, sizeof(*list)), *ours;
	struct import_word rest, name;
	unsigned len = 0;
	bool fallback = true;

	if (!at || !*at->value) {
		import_note(o->n, o->file, at ? at->line : 0, "OpenSM routes by minhop when no "
			    "engine is named; Weft finds the engine that fits the fabric. Name "
			    "routing.engines: [minhop] for the former");
		return;
	}
	for (rest = (struct import_word){ at->value, strlen(at->value) }; rest.len;) {
		import_cut(&rest, ',', &name);
		ours = NULL;
		if (import_is(name, "no_fallback"))
			fallback = false;
		else if (name.len)
			ours = engine_of(o, at, name);
		if (ours)
			add_engine(list, &len, ours);
	}
	if (fallback)
		add_engine(list, &len, "minhop");
	if (!len)
		return;
	o->subnet->routing.engines = list;
	if (!fallback && len == 1)
		o->subnet->routing.fallback = FALLBACK_REFUSE;
}

static void
take_tables(const struct options *o)
{
	const struct import_option *at = import_option_of(o->list, "lfts_file");
	uint64_t lanes;

	if (at && strchr(at->value, '/'))
		o->subnet->routing.file = region_strdup(o->c->region, at->value);
	else if (at && *at->value)
		NOTE(o, at, "lfts_file %s is left out: Weft wants a path with a / in it",
		     at->value);
	at = import_option_of(o->list, "nue_max_num_vls");
	if (at && number_of(at->value, 15, &lanes) && lanes > 1)
		o->subnet->routing.lanes = (unsigned)lanes;
}

static void
take_enforcement(const struct options *o)
{
	static const char *const words[] = { "both", "in", "out", "off" };
	const struct import_option *at = import_option_of(o->list, "part_enforce");
	unsigned i = 0;

	while (at && *at->value && i < 4 && strcmp(at->value, words[i]) != 0)
		i++;
	if (i == 4)
		NOTE(o, at, "part_enforce %s is none that there is; both are enforced", at->value);
	o->said->enforce = bool_of(o, "no_partition_enforcement", false) ? ENFORCE_OFF :
		i == 4 ? ENFORCE_BOTH : (enum config_enforce)i;
	o->said->both = bool_of(o, "allow_both_pkeys", false);
}

static void
take_port(const struct options *o)
{
	const struct import_option *at = import_option_of(o->list, "guid");
	uint64_t guid = 0;

	if (at && *at->value && !number_of(at->value, UINT64_MAX, &guid))
		NOTE(o, at, "guid %s is left out: it is no number", at->value);
	o->said->guid = guid;
	if (guid)
		o->subnet->port = region_printf(o->c->region, "0x%016llx",
						(unsigned long long)guid);
}

void
import_options(const struct import_option *list, const char *file, struct config *c,
	       struct import_said *said, struct import_notes *n)
{
	struct options o = { list, file, c, c->subnets, said, n };

	said->options = list;
	o.subnet->max_op_vls = 15;
	for (const struct import_option *at = list; at; at = at->next)
		take_option(&o, at);
	take_port(&o);
	take_engines(&o);
	take_tables(&o);
	take_enforcement(&o);
	said->qos = bool_of(&o, "qos", false);
	if (bool_of(&o, "babbling_port_policy", false))
		o.subnet->health.babbling = ACTION_DISABLE;
}
