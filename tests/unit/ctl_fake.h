/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_CTL_FAKE_H
#define TESTS_CTL_FAKE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include "sm/base/loop.h"
#include "sm/base/mem.h"
#include "sm/ctl/ctl.h"
#include "tests/unit/partition_fake.h"

/*
 * The control socket against a host that is not a daemon: one subnet with a plan made by hand.
 * Server, clients and the test share one thread and one event loop; the real `weft` and clients
 * with other credentials are child processes, whose end the loop waits for.
 *
 * The fabric: two spines that share a name, leaves "rack1/leaf1" and "rack1/leaf2" cabled to both
 * (ports 5 and 6), gpu-1 and gpu-2 on the first leaf, gpu-3 and gpu-4 on the second. The link of
 * gpu-4 is in INIT and runs at 4xHDR, all others are active at 4xNDR.
 */
#define PATIENCE SEC(20)
#define NLEAF_PORTS 8

struct host {
	struct loop *loop;		/* of everything */
	struct ctl *ctl;		/* under test */
	struct ctl_host host;		/* lent to it */
	struct ctl_subnet subnets[2];	/* lent to it */
	struct event_ring *events;	/* lent to it */
	const struct plan *plan;	/* the published one */
	char dir[40];			/* of the socket */
	char path[60];			/* the socket */
	bool up;			/* what status says */
	unsigned statuses;		/* calls of status */
	bool stale;			/* that it is not current */
	bool standby;			/* that another is in charge */
	bool override;			/* that weft reroute asked for the engine */
	int reload_code;		/* what reload gives back */
	unsigned reroutes;		/* calls of reroute */
	char engine[32];		/* of the last one */
	bool full;			/* of the last one */
	bool dry_run;			/* of the last one */
	struct loop_timer *timer;	/* ends the reroute under way, or sets `up` */
	struct change change;		/* that was asked for last */
	change_done_fn done;		/* of the reroute */
	void *done_arg;			/* of the reroute */
};

static struct host h;

/* The fake host. */
static inline bool
fake_up(void *subnet)
{
	(void)subnet;
	return h.up;
}

static inline void
fake_status(void *subnet, struct subnet_status *st)
{
	(void)subnet;
	h.statuses++;
	*st = (struct subnet_status){ .port = "mlx5_0:1", .port_guid = 0x2001, .sm_lid = 11,
		.role = "master", .state = h.up ? "up" : "programming", .up = h.up, .nodes = 8,
		.switches = 4, .hosts = 4, .links = 8, .top_lid = 14, .sweeps = 3,
		.role_since = 1764450791123456, .state_wall = 1764450792456000,
		.current = !h.stale, .override = h.override, .configured = "fattree, updn",
		.last_sweep_wall = 1764450791123456, .last_sweep_ms = 12.5, .discover_ms = 2.5,
		.mads_sent = 321,
		.engine_requested = "fattree", .engine_running = "updn",
		.reason = "fattree: no levels", .nwarnings = 1, .more_warnings = 2 };
	if (h.standby)
		st->role = st->state = "standby";
	strcpy(st->master, "gpu-9 (0x9009)");
	strcpy(st->warnings[0], "gpu-4/1 keeps \x1b[31mSubnetTimeOut 0");
}

static inline void
fake_ha(void *subnet, struct ha_status *ha)
{
	(void)subnet;
	*ha = (struct ha_status){
		.role = "standby", .role_since = 1764450791123456, .priority = 3, .guid = 0x9009,
		.lid = 4, .master = "gpu-9 \x1b[31m", .nreasons = 1, .nmanagers = 2,
		.takeover = { .why = TAKEOVER_LOST, .guid = 0x9010, .wall = 1764450791123456,
			      .lead_ms = 2700, .up_ms = 2750 },
		.managers = {
			{ .guid = 0x9010, .node_guid = 0x9000, .node = "gpu-9", .port = 1,
			  .lid = 9, .priority = 5, .state = "master", .key = "right",
			  .allowed = true, .leads = true, .activity = 77,
			  .heard = 1764450791123456,
			  .copy = { .wall = 1764450791123456, .members = 6, .services = 2,
				    .subscriptions = 3, .guids = 8 } },
			{ .guid = 0x9020, .port = 2, .state = "standby", .key = "wrong",
			  .allowed = true, .heard = 1764450791123456 },
		},
	};
	strcpy(ha->reasons[0], "there is no standby");
}

static inline bool
fake_multicast(void *subnet, unsigned from, struct multicast_row *row)
{
	(void)subnet;
	*row = (struct multicast_row){
		.mgid = { UINT64_C(0xff12401bffff0000), UINT64_C(0xffffffff) }, .qkey = 0xb1b,
		.members = 3, .full = 2, .switches = 5, .rate_mbps = 10000, .mlid = 0xc000,
		.pkey = 0xffff, .mtu = 2048,
	};
	return from == 0;
}

static inline bool
fake_service(void *subnet, uint64_t from, struct service_row *row)
{
	(void)subnet;
	*row = (struct service_row){
		.next = from + 1, .id = 0x1234, .gid = { UINT64_C(0xfe80000000000000), 0x9999 },
		.port_guid = from ? 0x9999 : h.plan->fabric->ports[h.plan->fabric->sm_port].guid,
		.lease = from ? UINT32_MAX : 60, .pkey = 0xffff, .name = "a \x1b[31mservice",
	};
	return from < 2;
}

static inline bool
fake_health(void *subnet, uint32_t from, struct health_row *row)
{
	static const struct health_row rows[] = {
		{ .next = 1, .guid = 0x1, .port = 3, .condition = "flapping", .action = "drain",
		  .since = 1000000, .count = 7, .node = "leaf 1" },
		{ .next = 2, .guid = 0x2, .condition = "unresponsive", .action = "none",
		  .count = 1, .node = "gpu-9", .left = "it is left in use, for reasons" },
		{ .next = 3, .guid = 0x3, .port = 9, .condition = "errors", .action = "none",
		  .since = 1000000, .count = 2, .node = "leaf 2",
		  .errors = { .counter = "symbol_errors", .count = 40, .seconds = 60, .value = 90,
			      .peer_guid = 0x1, .peer_port = 4, .text = "40 of them" } },
	};

	(void)subnet;
	if (from < 3)
		*row = rows[from];
	return from < 3;
}

static inline bool
fake_subscription(void *subnet, uint64_t from, struct subscription_row *row)
{
	static const struct subscription_row rows[] = {
		{ .guid = 0x9999, .qp = 1, .sent = 9, .answered = 7, .lost = 2, .type = 0xffff,
		  .trap = 0xffff, .producer = 0xffffff, .lid_first = 0xffff, .generic = true },
		{ .guid = 0x9999, .qp = 77, .trap = 129, .lid_first = 3, .lid_last = 5,
		  .generic = true, .trusted = true },
		{ .guid = 0x9999, .qp = 1, .trap = 0xffff, .producer = 0x2c9,
		  .gid = { UINT64_C(0xfe80000000000000), 5 } },
	};

	(void)subnet;
	if (from >= 3)
		return false;
	*row = rows[from];
	row->next = from + 1;
	return true;
}

static inline void
fake_counters(void *subnet, struct counters_view *v)
{
	(void)subnet;
	*v = (struct counters_view){
		.interval_s = 60, .sweeps = 3, .took_s = 60.04, .ports = 52, .unread = 1,
		.mads = 57,
	};
}

/* Both ends of a cable, and a device that does not answer. */
static inline bool
fake_counters_row(void *subnet, uint64_t from, struct counters_row *row)
{
	(void)subnet;
	*row = (struct counters_row){
		.next = from + 1, .guid = from == 2 ? 0x9999 : h.plan->fabric->nodes[from].guid,
		.peer_guid = from == 2 ? 0 : h.plan->fabric->nodes[!from].guid,
		.state = from == 2 ? "silent" : "read", .port = from != 2, .peer_port = from != 2,
		.extended = from == 0,
	};
	if (from == 0)
		row->errors[PERF_SYMBOL] = UINT64_C(5000000000);
	if (from == 1)
		row->errors[PERF_DOWNED] = row->errors[PERF_OVERRUN] = 15;
	return from < 3;
}

static inline void
fake_adaptive(void *subnet, struct adaptive_view *v)
{
	(void)subnet;
	*v = (struct adaptive_view){
		.wanted = "on", .mode = "free", .recovery = true, .switches = 3, .on = 1,
		.plain = 1, .absent = 1, .failed = 1,
	};
}

/* One that is on, one that failed, one that cannot. */
static inline bool
fake_adaptive_row(void *subnet, uint64_t from, struct adaptive_row *row)
{
	static const char *const states[] = { "on", "static", "absent" };

	(void)subnet;
	*row = (struct adaptive_row){
		.next = from + 1, .guid = from ? 0x9999 + from : h.plan->fabric->nodes[0].guid,
		.state = states[from < 3 ? from : 0], .notable = from == 1,
	};
	if (from == 0) {
		row->used = 5;
		row->room = 2047;
		row->sls = 0x9;
		row->transports = AR_RC | AR_UC;
		row->recovery = true;
	}
	if (from == 1)
		strcpy(row->why, "refuses \x1b[31mthings");
	return from < 3;
}

static inline void
fake_congestion(void *subnet, struct congestion_view *v)
{
	(void)subnet;
	*v = (struct congestion_view){
		.enabled = true, .keyed = true, .threshold = 8, .packet_size = 2,
		.host = { .timer = 77, .increase = 3 }, .levels_off = 1 << 3, .steps = 128,
		.held = 2, .locked = 1,
	};
}

/* A switch, a host with two kinds of levels, and one of which nothing is known. */
static inline bool
fake_congestion_row(void *subnet, uint64_t from, struct congestion_row *row)
{
	(void)subnet;
	*row = (struct congestion_row){
		.next = from + 1, .guid = from == 2 ? 0x9999 : h.plan->fabric->nodes[from].guid,
		.state = from == 2 ? "locked" : "held", .key = from == 2 ? "other" : "ours",
		.why = from == 2 ? "a \x1b[31mreason" : NULL, .port = from != 0,
		.is_switch = from == 0, .known = from != 2, .steps = 128, .room = 256,
	};
	row->sw.threshold = 8;
	for (unsigned p = 1; p < 4; p++)
		cc_ports_add(&row->sw.victim, p);
	row->ca.entries[3].timer = 5;
	return from < 3;
}

static inline const struct plan *
fake_plan(void *subnet)
{
	(void)subnet;
	return h.plan ? plan_ref(h.plan) : NULL;
}

static inline void
reroute_ends(void *arg)
{
	(void)arg;
	static const struct change_report report = {
		.engine = "updn", .entries = 12, .blocks = 3, .writes = 5, .switches = 2,
		.cables = 1, .measured = true, .load_before = 1, .load_after = 2,
		.cut_off = 6,
	};

	h.done(h.done_arg, 0, "updn: 4 switches, nothing differs", &report);
}

static inline int
fake_change(void *subnet, const struct change *c, change_done_fn done, void *arg, struct error *e)
{
	(void)subnet;
	if (h.timer && loop_timer_pending(h.timer))
		return error_set(e, ERR_BUSY, "a sweep is under way");
	h.reroutes++;
	snprintf(h.engine, sizeof(h.engine), "%s", c->engine ? c->engine : "(configured)");
	h.change = *c;
	h.full = c->full;
	h.dry_run = c->dry_run;
	h.done = done;
	h.done_arg = arg;
	loop_timer_free(h.timer);
	h.timer = loop_timer_new(h.loop, reroute_ends, NULL);
	loop_timer_set(h.timer, MSEC(30));
	return 0;
}

static inline int
fake_reload(void *arg, const struct ctl_reload *what, ctl_reload_fn done, void *done_arg,
	    struct error *e)
{
	assert_ptr_equal(arg, &h);
	if (h.reload_code)
		return error_set(e, h.reload_code, "weft.yaml:3:1: unknown key \"prot\"");
	if (what->plugins) {
		done(done_arg, 0, "", what->plugin ? what->plugin : "all\n");
		return 0;
	}
	done(done_arg, 0, "", what->dry_run ?
	     "subnets[0].lmc: 0 -> 1 (dry)\nlog.level: notice -> debug\n" :
	     "log.level: notice -> debug\n");
	return 0;
}

static inline bool
fake_plugin(void *arg, unsigned i, struct plugin_row *row)
{
	static const struct plugin_row rows[] = {
		{ .name = "rsp", .kind = "engine", .state = "loaded", .file = "/p/rsp.so",
		  .version = "1.2", .help = "Random paths", .topologies = "any", .abi = 0x10002,
		  .runs = 7, .failures = 1, .last_ms = 1.5, .most_ms = 9, .loaded = 1000000,
		  .failed = 2000000, .failure = "was ended by SIGSEGV" },
		{ .name = "broken", .state = "refused", .file = "/p/broken.so",
		  .refused = "plugin broken: /p/broken.so is no shared object" },
		{ .name = "trail", .kind = "consumer", .state = "running", .file = "/p/t.so",
		  .version = "3", .help = "Appends", .abi = 0x10000, .sent = 40, .lost = 2,
		  .since = 3000000 },
	};

	assert_ptr_equal(arg, &h);
	if (i < sizeof(rows) / sizeof(rows[0]))
		*row = rows[i];
	return i < sizeof(rows) / sizeof(rows[0]);
}

static inline bool
fake_plugin_option(void *arg, unsigned i, unsigned n, struct plugin_option_row *row)
{
	static const char *const words[] = { "narrow", "wide", NULL };
	static const struct plugin_option_row rows[] = {
		{ .name = "seed", .value = "7", .initial = "0", .help = "Seed.",
		  .type = "number", .max = UINT64_MAX },
		{ .name = "mode", .value = "wide", .initial = "wide", .help = "How.",
		  .type = "word", .words = words },
	};

	(void)arg;
	if (i || n >= 2)
		return false;
	*row = rows[n];
	return true;
}

/* The fabric. */
static inline uint32_t
add_switch(struct fabric_builder *b, uint64_t guid, const char *name, uint16_t lid)
{
	struct fabric_node n = { .guid = guid, .system_guid = guid, .name = name, .desc = name,
				 .type = NODE_SWITCH, .nports = NLEAF_PORTS, .lft_cap = 49152 };
	struct fabric_port p = { .guid = guid, .lid = lid, .state = PORT_ACTIVE };
	uint32_t node = fabric_add_node(b, &n);

	fabric_add_port(b, node, 0, &p);
	return node;
}

static inline uint32_t
add_host(struct fabric_builder *b, uint64_t guid, const char *name)
{
	struct fabric_node n = { .guid = guid, .system_guid = guid, .name = name, .desc = name,
				 .type = NODE_CA, .nports = 1, .pkey_cap = 32 };

	return fabric_add_node(b, &n);
}

static inline void
join(struct fabric_builder *b, uint32_t a, unsigned aport, uint32_t z, unsigned zport,
     enum link_speed speed, enum port_state state, uint64_t aguid, uint16_t alid)
{
	struct fabric_port p = { .rate_mbps = link_rate_mbps(LINK_4X, speed),
				 .state = (uint8_t)state,
				 .width = LINK_4X,
				 .speed = (uint8_t)speed,
				 .neighbor_mtu = 5,
				 .mtu_cap = 5,
				 .op_vls = 4,
				 .vl_cap = 4 };

	fabric_add_port(b, z, zport, &p);
	p.guid = aguid;
	p.lid = alid;
	fabric_add_port(b, a, aport, &p);
	fabric_add_link(b, a, aport, z, zport);
}

/* A port that was cabled to port `number` of the node with the GUID `peer`. */
static inline void
lose(struct fabric_builder *b, uint32_t node, unsigned port, uint64_t peer, uint8_t number)
{
	struct fabric_port p = { .state = PORT_DOWN, .lost_peer = peer, .lost_number = number };

	fabric_add_port(b, node, port, &p);
}

/* `lost`: the leaves miss a cable between their ports 8, and leaf 2 one to a host that is gone. */
static inline struct fabric *
small_fabric(bool lost)
{
	struct fabric_builder *b = fabric_builder_new();
	uint32_t spine[2], leaf[2], gpu[4];

	spine[0] = add_switch(b, 0xa0, "spine", 1);
	spine[1] = add_switch(b, 0xa1, "spine", 2);
	leaf[0] = add_switch(b, 0xb0, "rack1/leaf1", 3);
	leaf[1] = add_switch(b, 0xb1, "rack1/leaf2", 4);
	gpu[0] = add_host(b, 0x1001, "gpu-1");
	gpu[1] = add_host(b, 0x1002, "gpu-2");
	gpu[2] = add_host(b, 0x1003, "gpu-3");
	gpu[3] = add_host(b, 0x1004, "gpu-4");
	for (unsigned i = 0; i < 4; i++)
		join(b, gpu[i], 1, leaf[i / 2], 1 + i % 2, i == 3 ? SPEED_HDR : SPEED_NDR,
		     i == 3 ? PORT_INIT : PORT_ACTIVE, 0x2001 + i, (uint16_t)(11 + i));
	for (unsigned i = 0; i < 4; i++)
		join(b, leaf[i / 2], 5 + i % 2, spine[i % 2], 1 + i / 2, SPEED_NDR, PORT_ACTIVE, 0,
		     0);
	if (lost) {
		lose(b, leaf[0], 8, 0xb1, 8);
		lose(b, leaf[1], 8, 0xb0, 8);
		lose(b, leaf[1], 3, 0x1005, 1);
	}
	fabric_set_sm(b, gpu[0], 1);
	return fabric_build(b, 1);
}

/* Out ports for LIDs 1, 2, 3, 4, 11, 12, 13, 14; switches in GUID order: spines, then leaves. */
static const uint8_t small_rows[4][8] = {
	{ 0, 1, 1, 2, 1, 1, 2, 2 },
	{ 1, 0, 1, 2, 1, 1, 2, 2 },
	{ 5, 6, 0, 5, 1, 2, 5, 6 },
	{ 5, 6, 6, 0, 5, 6, 1, 2 },
};

static inline const struct plan *
small_plan_with(bool lost)
{
	static const uint16_t lids[8] = { 1, 2, 3, 4, 11, 12, 13, 14 };
	struct fabric *f = small_fabric(lost);
	struct plan *p = plan_new(f);

	p->lids = plan_lids_from_fabric(f);
	assert_int_equal(p->lids->top, 14);
	for (unsigned sw = 0; sw < 4; sw++) {
		p->rows[sw] = plan_row_new(p->lids->top);
		for (unsigned i = 0; i < 8; i++)
			plan_row_set(&p->rows[sw], lids[i], small_rows[sw][i]);
	}
	strcpy(p->engine_requested, "fattree");
	strcpy(p->engine_running, "updn");
	p->check.pairs = 12;
	fake_partitions_plan(p, 0x2001, 0x2003);
	fabric_unref(f);
	return p;
}

static inline const struct plan *
small_plan(void)
{
	return small_plan_with(false);
}

/* One switch and hosts without number, unconnected: only its lists matter. */
static inline const struct plan *
big_plan(unsigned hosts)
{
	struct fabric_builder *b = fabric_builder_new();
	struct fabric *f;
	struct plan *p;
	char name[64];

	add_switch(b, 0xa0, "lonely", 1);
	for (unsigned i = 0; i < hosts; i++) {
		snprintf(name, sizeof(name), "node-%05u with quite a long description mlx5_0", i);
		add_host(b, 0x100000 + i, name);
	}
	f = fabric_build(b, 2);
	p = plan_new(f);
	p->lids = plan_lids_from_fabric(f);
	fabric_unref(f);
	return p;
}

static inline void
add_event(enum event_type type, enum log_level level, const char *text)
{
	struct event ev = {
		.wall = 1764450791123456, .type = type, .level = level, .subnet = "one"
	};

	snprintf(ev.text, sizeof(ev.text), "%s", text);
	event_ring_add(h.events, &ev);
}

static inline void
start_on(const char *group)
{
	struct error e = { 0 };

	h.ctl = ctl_new(h.loop, h.path, group, &h.host, &e);
	if (!h.ctl)
		fail_msg("%s", e.text);
}

static inline int
setup(void **state)
{
	(void)state;
	h = (struct host){ .up = true, .loop = loop_new_event() };
	log_open("stderr", LOG_L_ERROR, NULL);
	h.events = event_ring_new(64, 1);
	h.plan = small_plan();
	h.subnets[0] = (struct ctl_subnet){ .name = "one", .status = fake_status,
					    .up = fake_up, .ha = fake_ha, .plan = fake_plan,
					    .change = fake_change, .multicast = fake_multicast,
					    .service = fake_service,
					    .subscription = fake_subscription,
					    .health = fake_health,
					    .partition = fake_partition,
					    .partitions = fake_partitions,
					    .adaptive = fake_adaptive,
					    .adaptive_row = fake_adaptive_row,
					    .congestion = fake_congestion,
					    .congestion_row = fake_congestion_row,
					    .counters = fake_counters,
					    .counters_row = fake_counters_row };
	h.subnets[1] = h.subnets[0];
	h.subnets[1].name = "two";
	h.host = (struct ctl_host){ .subnets = h.subnets, .nsubnets = 1, .events = h.events,
				    .reload = fake_reload, .plugin = fake_plugin,
				    .plugin_option = fake_plugin_option, .arg = &h };
	strcpy(h.dir, "/tmp/test_ctl.XXXXXX");
	assert_non_null(mkdtemp(h.dir));
	assert_int_equal(chmod(h.dir, 0755), 0);
	snprintf(h.path, sizeof(h.path), "%s/run/weft.sock", h.dir);
	start_on(NULL);
	return 0;
}

static inline int
teardown(void **state)
{
	char run[60];

	(void)state;
	ctl_free(h.ctl);
	loop_timer_free(h.timer);
	assert_int_equal(access(h.path, F_OK), -1);
	snprintf(run, sizeof(run), "%s/run", h.dir);
	assert_int_equal(rmdir(run), 0);
	assert_int_equal(rmdir(h.dir), 0);
	loop_free(h.loop);
	plan_unref(h.plan);
	event_ring_free(h.events);
	return 0;
}

/* A client in this process. */
struct peer {
	int fd;			/* its socket */
	struct loop_fd *watch;	/* of fd */
	struct buf in;		/* bytes received */
	size_t want;		/* lines wanted */
	bool got;		/* they are there, or eof */
	bool eof;		/* the server closed it */
};

static inline size_t
lines_of(const struct buf *b)
{
	size_t lines = 0;

	for (size_t i = 0; i < b->len; i++)
		lines += b->data[i] == '\n';
	return lines;
}

static inline void
peer_readable(void *arg, int fd, unsigned events)
{
	struct peer *p = arg;
	char bytes[65536];
	ssize_t len = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	(void)events;
	if (len > 0)
		buf_add(&p->in, bytes, (size_t)len);
	else if (len == 0 || errno != EAGAIN)
		p->eof = true;
	if (p->eof)
		loop_fd_set(p->watch, 0);
	p->got = p->eof || (len > 0 && bytes[len - 1] == '\n' && lines_of(&p->in) >= p->want);
}

static inline int
dial(void)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strcpy(sa.sun_path, h.path);
	if (connect(fd, (struct sockaddr *)&sa, sizeof(sa))) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Run the loop until `lines` lines have come, or the server has closed the connection. */
static inline void
peer_wait(struct peer *p, size_t lines)
{
	p->want = lines;
	p->got = p->eof || lines_of(&p->in) >= lines;
	if (!p->got)
		assert_true(loop_run_until(h.loop, loop_now(h.loop) + PATIENCE, &p->got));
}

static inline struct peer *
peer_new(void)
{
	struct peer *p = mem_zalloc(sizeof(*p));

	p->fd = dial();
	assert_true(p->fd >= 0);
	p->watch = loop_fd_new(h.loop, p->fd, peer_readable, p);
	loop_fd_set(p->watch, LOOP_READ);
	peer_wait(p, 1);
	return p;
}

static inline void
peer_free(struct peer *p)
{
	loop_fd_free(p->watch);
	close(p->fd);
	buf_free(&p->in);
	mem_free(p);
}

static inline void
peer_send(struct peer *p, const char *text)
{
	assert_int_equal(send(p->fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/* The oldest line that was not taken yet, as JSON; the caller owns it. */
static inline json_t *
peer_take(struct peer *p)
{
	char *end;
	json_t *json;

	peer_wait(p, 1);
	end = p->in.len ? memchr(p->in.data, '\n', p->in.len) : NULL;
	if (!end)
		return NULL;
	json = json_loadb(p->in.data, (size_t)(end - p->in.data), JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(json);
	buf_consume(&p->in, (size_t)(end - p->in.data) + 1);
	return json;
}

/* One request on a connection of its own; the answer belongs to the caller. */
static inline json_t *
ask(const char *line)
{
	struct peer *p = peer_new();
	json_t *hello = peer_take(p), *answer;

	assert_int_equal(json_integer_value(json_object_get(hello, "weft")), 1);
	json_decref(hello);
	peer_send(p, line);
	peer_send(p, "\n");
	answer = peer_take(p);
	assert_non_null(answer);
	peer_free(p);
	return answer;
}

static inline const json_t *
at(const json_t *o, const char *path)
{
	char copy[128], *save, *word;

	snprintf(copy, sizeof(copy), "%s", path);
	for (word = strtok_r(copy, ".", &save); word; word = strtok_r(NULL, ".", &save))
		o = json_is_array(o) ? json_array_get(o, (size_t)atoi(word))
				     : json_object_get(o, word);
	if (!o)
		fail_msg("no field %s", path);
	return o;
}

static inline void
has_int(const json_t *o, const char *path, json_int_t value)
{
	const json_t *field = at(o, path);

	if (!json_is_integer(field) || json_integer_value(field) != value)
		fail_msg("%s is %lld, not %lld", path, (long long)json_integer_value(field),
			 (long long)value);
}

static inline void
has_str(const json_t *o, const char *path, const char *value)
{
	const json_t *field = at(o, path);

	if (!json_is_string(field))
		fail_msg("%s is no string", path);
	assert_string_equal(json_string_value(field), value);
}

static inline void
refused(const char *line, int code, const char *sentence)
{
	json_t *answer = ask(line);

	assert_true(json_is_false(at(answer, "ok")));
	has_int(answer, "code", code);
	if (!strstr(json_string_value(at(answer, "error")), sentence))
		fail_msg("\"%s\" is not in: %s", sentence, json_string_value(at(answer, "error")));
	json_decref(answer);
}

static inline void
ended(void *arg, int fd, unsigned events)
{
	(void)fd;
	(void)events;
	*(bool *)arg = true;
}

/* Serve until the child has ended; its exit status. */
static inline int
serve(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0), status;
	bool over = false;
	struct loop_fd *w;

	assert_true(fd >= 0);
	w = loop_fd_new(h.loop, fd, ended, &over);
	loop_fd_set(w, LOOP_READ);
	assert_true(loop_run_until(h.loop, loop_now(h.loop) + PATIENCE, &over));
	loop_fd_free(w);
	close(fd);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
