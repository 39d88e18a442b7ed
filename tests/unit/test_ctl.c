/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <jansson.h>
#include <malloc.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include "sm/base/loop.h"
#include "sm/base/mem.h"
#include "sm/ctl/ctl.h"

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

extern char **environ;

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
	int reload_code;		/* what reload gives back */
	unsigned reroutes;		/* calls of reroute */
	char engine[32];		/* of the last one */
	bool full;			/* of the last one */
	bool dry_run;			/* of the last one */
	struct loop_timer *timer;	/* ends the reroute under way, or sets `up` */
	void (*done)(void *arg, int error, const char *text);	/* of the reroute */
	void *done_arg;			/* of the reroute */
};

static struct host h;

/* The fake host. */
static void
fake_status(void *subnet, struct subnet_status *st)
{
	(void)subnet;
	*st = (struct subnet_status){ .port = "mlx5_0:1", .port_guid = 0x2001, .sm_lid = 11,
		.role = "master", .state = h.up ? "up" : "programming", .up = h.up, .nodes = 8,
		.switches = 4, .hosts = 4, .links = 8, .top_lid = 14, .sweeps = 3,
		.last_sweep_wall = 1764450791123456, .last_sweep_ms = 12.5, .mads_sent = 321,
		.engine_requested = "fattree", .engine_running = "updn",
		.reason = "fattree: no levels", .nwarnings = 1, .more_warnings = 2 };
	strcpy(st->warnings[0], "gpu-4/1 keeps \x1b[31mSubnetTimeOut 0");
}

static const struct plan *
fake_plan(void *subnet)
{
	(void)subnet;
	return h.plan ? plan_ref(h.plan) : NULL;
}

static void
reroute_ends(void *arg)
{
	(void)arg;
	h.done(h.done_arg, 0, "updn: 4 switches, nothing differs");
}

static int
fake_reroute(void *subnet, const char *engine, bool full, bool dry_run,
	     void (*done)(void *arg, int error, const char *text), void *arg, struct error *e)
{
	(void)subnet;
	if (h.timer && loop_timer_pending(h.timer))
		return error_set(e, ERR_BUSY, "a sweep is under way");
	h.reroutes++;
	snprintf(h.engine, sizeof(h.engine), "%s", engine ? engine : "(configured)");
	h.full = full;
	h.dry_run = dry_run;
	h.done = done;
	h.done_arg = arg;
	loop_timer_free(h.timer);
	h.timer = loop_timer_new(h.loop, reroute_ends, NULL);
	loop_timer_set(h.timer, MSEC(30));
	return 0;
}

static int
fake_reload(void *arg, bool dry_run, struct buf *report, struct error *e)
{
	assert_ptr_equal(arg, &h);
	if (h.reload_code)
		return error_set(e, h.reload_code, "weft.yaml:3:1: unknown key \"prot\"");
	buf_printf(report, "subnets[0].lmc: 0 -> 1 (%s)\nlog.level: notice -> debug\n",
		   dry_run ? "dry" : "real");
	return 0;
}

/* The fabric. */
static uint32_t
add_switch(struct fabric_builder *b, uint64_t guid, const char *name, uint16_t lid)
{
	struct fabric_node n = { .guid = guid, .system_guid = guid, .name = name, .desc = name,
				 .type = NODE_SWITCH, .nports = NLEAF_PORTS, .lft_cap = 49152 };
	struct fabric_port p = { .guid = guid, .lid = lid, .state = PORT_ACTIVE };
	uint32_t node = fabric_add_node(b, &n);

	fabric_add_port(b, node, 0, &p);
	return node;
}

static uint32_t
add_host(struct fabric_builder *b, uint64_t guid, const char *name)
{
	struct fabric_node n = { .guid = guid, .system_guid = guid, .name = name, .desc = name,
				 .type = NODE_CA, .nports = 1 };

	return fabric_add_node(b, &n);
}

static void
join(struct fabric_builder *b, uint32_t a, unsigned aport, uint32_t z, unsigned zport,
     enum link_speed speed, enum port_state state, uint64_t aguid, uint16_t alid)
{
	struct fabric_port p = { .rate_mbps = link_rate_mbps(LINK_4X, speed), .state = (uint8_t)state,
				 .width = LINK_4X, .speed = (uint8_t)speed, .neighbor_mtu = 5,
				 .mtu_cap = 5, .op_vls = 4, .vl_cap = 4 };

	fabric_add_port(b, z, zport, &p);
	p.guid = aguid;
	p.lid = alid;
	fabric_add_port(b, a, aport, &p);
	fabric_add_link(b, a, aport, z, zport);
}

static struct fabric *
small_fabric(void)
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
		join(b, leaf[i / 2], 5 + i % 2, spine[i % 2], 1 + i / 2, SPEED_NDR, PORT_ACTIVE, 0, 0);
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

static const struct plan *
small_plan(void)
{
	static const uint16_t lids[8] = { 1, 2, 3, 4, 11, 12, 13, 14 };
	struct fabric *f = small_fabric();
	struct plan *p = plan_new(f);

	p->lids = plan_lids_from_fabric(f);
	assert_int_equal(p->lids->top, 14);
	for (unsigned sw = 0; sw < 4; sw++) {
		p->rows[sw] = plan_row_new(p->lids->top);
		for (unsigned i = 0; i < 8; i++)
			p->rows[sw]->port[lids[i]] = small_rows[sw][i];
	}
	strcpy(p->engine_requested, "fattree");
	strcpy(p->engine_running, "updn");
	p->check.pairs = 12;
	fabric_unref(f);
	return p;
}

/* One switch and hosts without number, unconnected: only its lists matter. */
static const struct plan *
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

static void
add_event(enum event_type type, enum log_level level, const char *text)
{
	struct event ev = { .wall = 1764450791123456, .type = type, .level = level, .subnet = "one" };

	snprintf(ev.text, sizeof(ev.text), "%s", text);
	event_ring_add(h.events, &ev);
}

static void
start_on(const char *group)
{
	struct error e = { 0 };

	h.ctl = ctl_new(h.loop, h.path, group, &h.host, &e);
	if (!h.ctl)
		fail_msg("%s", e.text);
}

static int
setup(void **state)
{
	(void)state;
	h = (struct host){ .up = true, .loop = loop_new_event() };
	log_open("stderr", LOG_L_ERROR, NULL);
	h.events = event_ring_new(64, 1);
	h.plan = small_plan();
	h.subnets[0] = (struct ctl_subnet){ .name = "one", .status = fake_status, .plan = fake_plan,
					    .reroute = fake_reroute };
	h.subnets[1] = h.subnets[0];
	h.subnets[1].name = "two";
	h.host = (struct ctl_host){ .subnets = h.subnets, .nsubnets = 1, .events = h.events,
				    .reload = fake_reload, .arg = &h };
	strcpy(h.dir, "/tmp/test_ctl.XXXXXX");
	assert_non_null(mkdtemp(h.dir));
	assert_int_equal(chmod(h.dir, 0755), 0);
	snprintf(h.path, sizeof(h.path), "%s/run/weft.sock", h.dir);
	start_on(NULL);
	return 0;
}

static int
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

static size_t
lines_of(const struct buf *b)
{
	size_t lines = 0;

	for (size_t i = 0; i < b->len; i++)
		lines += b->data[i] == '\n';
	return lines;
}

static void
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

static int
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
static void
peer_wait(struct peer *p, size_t lines)
{
	p->want = lines;
	p->got = p->eof || lines_of(&p->in) >= lines;
	if (!p->got)
		assert_true(loop_run_until(h.loop, loop_now(h.loop) + PATIENCE, &p->got));
}

static struct peer *
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

static void
peer_free(struct peer *p)
{
	loop_fd_free(p->watch);
	close(p->fd);
	buf_free(&p->in);
	mem_free(p);
}

static void
peer_send(struct peer *p, const char *text)
{
	assert_int_equal(send(p->fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/* The oldest line that was not taken yet, as JSON; the caller owns it. */
static json_t *
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
static json_t *
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

static const json_t *
at(const json_t *o, const char *path)
{
	char copy[128], *save, *word;

	snprintf(copy, sizeof(copy), "%s", path);
	for (word = strtok_r(copy, ".", &save); word; word = strtok_r(NULL, ".", &save))
		o = json_is_array(o) ? json_array_get(o, (size_t)atoi(word)) : json_object_get(o, word);
	if (!o)
		fail_msg("no field %s", path);
	return o;
}

static void
has_int(const json_t *o, const char *path, json_int_t value)
{
	const json_t *field = at(o, path);

	if (!json_is_integer(field) || json_integer_value(field) != value)
		fail_msg("%s is %lld, not %lld", path, (long long)json_integer_value(field),
			 (long long)value);
}

static void
has_str(const json_t *o, const char *path, const char *value)
{
	const json_t *field = at(o, path);

	if (!json_is_string(field))
		fail_msg("%s is no string", path);
	assert_string_equal(json_string_value(field), value);
}

static void
refused(const char *line, int code, const char *sentence)
{
	json_t *answer = ask(line);

	assert_true(json_is_false(at(answer, "ok")));
	has_int(answer, "code", code);
	if (!strstr(json_string_value(at(answer, "error")), sentence))
		fail_msg("\"%s\" is not in: %s", sentence, json_string_value(at(answer, "error")));
	json_decref(answer);
}

static void
test_protocol(void **state)
{
	static const char *const malformed[] = {
		"", "{", "[]", "null", "nonsense", "{\"command\":7}", "{\"args\":{}}",
		"{\"command\":\"status\",\"command\":\"status\"}",
		"{\"command\":\"status\",\"zzz\":1}", "{\"command\":\"status\"} x",
		"{\"command\":\"status\",\"args\":[]}", "{\"command\":\"status\",\"args\":{\"x\":1}}",
		"{\"command\":\"wait\",\"args\":{\"timeout_ms\":-1}}",
		"{\"command\":\"wait\",\"args\":{\"timeout_ms\":\"1\"}}",
		"{\"command\":\"wait\",\"args\":{\"timeout_ms\":99999999999999}}",
		"{\"command\":\"path\",\"args\":{\"source\":\"1\"}}",
		"{\"command\":\"show ports\",\"args\":{\"filter\":\"/(/\"}}",
		"{\"command\":\"show nodes\",\"args\":{\"type\":\"swich\"}}",
		"{\"command\":\"status\",\"args\":{\"a\":{\"a\":{\"a\":{\"a\":1}}}}}",
		"{\"command\":\"st\\u0000atus\"}", "\xff\xfe", "{\"command\":\"\xff\"}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++)
		refused(malformed[i], 2, "");
	refused("{\"command\":\"staus\"}", 2, "did you mean \"status\"?");
	refused("{\"command\":\"show nodes\",\"args\":{\"type\":\"swich\"}}", 2, "\"switch\"");
	refused("{\"command\":\"status\",\"subnet\":\"zwei\"}", 1, "no subnet \"zwei\"");
	refused("{\"command\":\"status\",\"args\":{\"a\":{\"a\":{\"a\":{\"a\":1}}}}}", 2, "nested");
}

/* Requests in one packet, in pieces, and after the client has shut its sending side. */
static void
test_pieces(void **state)
{
	struct peer *p = peer_new();
	json_t *json;

	(void)state;
	peer_send(p, "{\"command\":\"status\"}\n{\"command\":\"show engines\"}\n{\"comm");
	json_decref(peer_take(p));
	json = peer_take(p);
	has_str(json, "data.subnets.0.name", "one");
	json_decref(json);
	json = peer_take(p);
	assert_true(json_array_size(at(json, "data.engines")) >= 2);
	json_decref(json);
	peer_send(p, "and\":\"status\"}\n");
	shutdown(p->fd, SHUT_WR);
	json = peer_take(p);
	has_str(json, "data.subnets.0.state", "up");
	json_decref(json);
	peer_wait(p, 1);
	assert_true(p->eof);
	peer_free(p);
}

static void
test_half_line(void **state)
{
	struct peer *p = peer_new();
	json_t *json;

	(void)state;
	peer_send(p, "{\"command\":\"sta");
	peer_free(p);
	json = ask("{\"command\":\"status\"}");
	assert_true(json_is_true(at(json, "ok")));
	json_decref(json);
}

static void
test_oversized(void **state)
{
	struct peer *p = peer_new();
	char *line = mem_alloc(70001);
	json_t *json;

	(void)state;
	memset(line, 'x', 70000);
	line[70000] = '\0';
	peer_send(p, line);
	json_decref(peer_take(p));
	json = peer_take(p);
	has_int(json, "code", 2);
	json_decref(json);
	peer_wait(p, 1);
	assert_true(p->eof);
	mem_free(line);
	peer_free(p);
}

static void
test_many_clients(void **state)
{
	struct peer *peers[64], *p;
	json_t *json;

	(void)state;
	for (size_t i = 0; i < 64; i++)
		peers[i] = peer_new();
	p = peer_new();
	peer_wait(p, 3);
	assert_true(p->eof);
	json_decref(peer_take(p));
	json = peer_take(p);
	has_int(json, "code", 1);
	json_decref(json);
	peer_free(p);
	peer_free(peers[63]);
	/* The one that left has been seen when the others' requests after it are answered. */
	peer_send(peers[0], "{\"command\":\"status\"}\n");
	peer_wait(peers[0], 2);
	json_decref(ask("{\"command\":\"status\"}"));
	for (size_t i = 0; i < 63; i++)
		peer_free(peers[i]);
}

/* A reader that does not read costs one output buffer, and nobody else anything. */
static void
test_slow_reader(void **state)
{
	struct peer *p = peer_new();
	size_t before, size, nodes;
	json_t *json;
	bool never = false;

	(void)state;
	plan_unref(h.plan);
	h.plan = big_plan(30000);
	json_decref(peer_take(p));
	loop_fd_set(p->watch, 0);
	before = mallinfo2().uordblks;
	peer_send(p, "{\"command\":\"show nodes\",\"args\":{\"all\":true}}\n");
	loop_run_until(h.loop, loop_now(h.loop) + MSEC(300), &never);
	assert_true(mallinfo2().uordblks < before + 2000000);
	json_decref(ask("{\"command\":\"status\"}"));
	/* The plan it reads stays, whatever is published meanwhile. */
	plan_unref(h.plan);
	h.plan = small_plan();
	loop_fd_set(p->watch, LOOP_READ);
	peer_wait(p, 1);
	size = p->in.len;
	json = peer_take(p);
	nodes = json_array_size(at(json, "data.nodes"));
	assert_int_equal(nodes, 30001);
	assert_true(size > 6000000);
	json_decref(json);
	peer_free(p);
}

static void
test_leaves_at_work(void **state)
{
	static const char *const requests[] = {
		"{\"command\":\"wait\"}\n", "{\"command\":\"check\"}\n", "{\"command\":\"reroute\"}\n",
		"{\"command\":\"show topology\",\"args\":{\"format\":\"ibnetdiscover\"}}\n",
		"{\"command\":\"show events\",\"args\":{\"after\":0,\"wait_ms\":60000}}\n",
	};
	bool never = false;

	(void)state;
	h.up = false;
	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		struct peer *p = peer_new();

		peer_send(p, requests[i]);
		loop_run_until(h.loop, loop_now(h.loop) + MSEC(5), &never);
		peer_free(p);
	}
	loop_run_until(h.loop, loop_now(h.loop) + MSEC(200), &never);
	json_decref(ask("{\"command\":\"status\"}"));
}

static void
test_status(void **state)
{
	json_t *json;

	(void)state;
	add_event(EVENT_ROLE, LOG_L_NOTICE, "now master");
	json = ask("{\"command\":\"status\",\"subnet\":null,\"args\":{}}");
	has_str(json, "data.subnets.0.name", "one");
	has_str(json, "data.subnets.0.role", "master");
	has_str(json, "data.subnets.0.role_since", "2025-11-29T21:13:11.123Z");
	has_str(json, "data.subnets.0.state", "up");
	has_str(json, "data.subnets.0.engine_requested", "fattree");
	has_str(json, "data.subnets.0.engine_running", "updn");
	has_str(json, "data.subnets.0.reason", "fattree: no levels");
	has_int(json, "data.subnets.0.nodes", 8);
	has_int(json, "data.subnets.0.switches", 4);
	has_int(json, "data.subnets.0.hosts", 4);
	has_int(json, "data.subnets.0.links", 8);
	assert_true(json_number_value(at(json, "data.subnets.0.last_sweep_ms")) == 12.5);
	has_str(json, "data.subnets.0.warnings.0", "gpu-4/1 keeps \x1b[31mSubnetTimeOut 0");
	has_int(json, "data.subnets.0.more_warnings", 2);
	has_int(json, "data.subnets.0.mads.sent", 321);
	json_decref(json);
	h.host.nsubnets = 2;
	json = ask("{\"command\":\"status\"}");
	assert_int_equal(json_array_size(at(json, "data.subnets")), 2);
	json_decref(json);
	json = ask("{\"command\":\"status\",\"subnet\":\"two\"}");
	assert_int_equal(json_array_size(at(json, "data.subnets")), 1);
	has_str(json, "data.subnets.0.name", "two");
	json_decref(json);
	refused("{\"command\":\"show nodes\"}", 2, "one, two");
}

static void
comes_up(void *arg)
{
	(void)arg;
	h.up = true;
}

static void
test_wait(void **state)
{
	json_t *json = ask("{\"command\":\"wait\"}");

	(void)state;
	assert_true(json_is_true(at(json, "data.up")));
	json_decref(json);
	h.up = false;
	refused("{\"command\":\"wait\",\"args\":{\"timeout_ms\":80}}", 4, "subnet one is not up");
	h.timer = loop_timer_new(h.loop, comes_up, NULL);
	loop_timer_set(h.timer, MSEC(120));
	json = ask("{\"command\":\"wait\",\"args\":{\"timeout_ms\":15000}}");
	assert_true(json_is_true(at(json, "data.up")));
	assert_true(json_number_value(at(json, "data.waited_ms")) >= 100);
	json_decref(json);
}

static void
test_nodes(void **state)
{
	json_t *json = ask("{\"command\":\"show nodes\"}");

	(void)state;
	has_int(json, "data.summary.nodes", 8);
	has_int(json, "data.summary.switches", 4);
	has_int(json, "data.summary.hosts", 4);
	has_int(json, "data.summary.silent", 0);
	has_int(json, "data.shown", 8);
	has_str(json, "data.nodes.0.name", "spine");
	has_str(json, "data.nodes.0.guid", "0x00000000000000a0");
	has_int(json, "data.nodes.0.lid", 1);
	has_str(json, "data.nodes.7.type", "ca");
	has_int(json, "data.nodes.7.lid", 14);
	has_int(json, "data.nodes.7.active", 0);
	json_decref(json);
	json = ask("{\"command\":\"show nodes\",\"args\":{\"filter\":\"/^gpu-[12]$/\"}}");
	assert_int_equal(json_array_size(at(json, "data.nodes")), 2);
	has_str(json, "data.nodes.1.name", "gpu-2");
	json_decref(json);
	json = ask("{\"command\":\"show nodes\",\"args\":{\"filter\":\"13\"}}");
	assert_int_equal(json_array_size(at(json, "data.nodes")), 1);
	has_str(json, "data.nodes.0.name", "gpu-3");
	json_decref(json);
	json = ask("{\"command\":\"show nodes\",\"args\":{\"filter\":\"0x2002\"}}");
	has_str(json, "data.nodes.0.name", "gpu-2");
	json_decref(json);
	json = ask("{\"command\":\"show switches\",\"args\":{\"filter\":\"rack1/leaf1\"}}");
	has_int(json, "data.matched", 1);
	has_int(json, "data.switches.0.cabled", 4);
	has_int(json, "data.switches.0.hosts", 2);
	json_decref(json);
}

static void
test_ports(void **state)
{
	json_t *json = ask("{\"command\":\"show ports\",\"args\":{\"type\":\"ca\"}}");

	(void)state;
	has_int(json, "data.summary.ports", 4);
	has_int(json, "data.summary.by_state.active", 3);
	has_int(json, "data.summary.by_state.init", 1);
	has_int(json, "data.summary.by_speed.4xNDR", 3);
	has_int(json, "data.summary.by_speed.4xHDR", 1);
	has_int(json, "data.summary.slow", 1);
	has_str(json, "data.ports.3.node", "gpu-4");
	has_int(json, "data.ports.3.port", 1);
	has_int(json, "data.ports.3.lid", 14);
	has_int(json, "data.ports.3.rate_mbps", 200000);
	has_int(json, "data.ports.3.mtu", 4096);
	has_int(json, "data.ports.3.vls", 8);
	has_str(json, "data.ports.3.peer.node", "rack1/leaf2");
	has_int(json, "data.ports.3.peer.port", 2);
	json_decref(json);
	json = ask("{\"command\":\"show ports\",\"args\":{\"all\":true}}");
	has_int(json, "data.shown", 4 + 4 * 8);
	has_int(json, "data.summary.cabled", 16);
	json_decref(json);
	json = ask("{\"command\":\"show ports\",\"args\":{\"slow\":true}}");
	has_int(json, "data.shown", 2);
	json_decref(json);
}

static void
test_links(void **state)
{
	json_t *json = ask("{\"command\":\"show links\"}");

	(void)state;
	has_int(json, "data.summary.links", 8);
	has_int(json, "data.summary.by_state.active", 7);
	has_int(json, "data.summary.by_speed.4xNDR", 7);
	has_int(json, "data.notable", 1);
	has_int(json, "data.shown", 8);
	has_str(json, "data.links.0.a.node", "spine");
	json_decref(json);
	json = ask("{\"command\":\"show links\",\"args\":{\"filter\":\"gpu-1\"}}");
	has_int(json, "data.shown", 1);
	has_str(json, "data.links.0.link", "4xNDR");
	json_decref(json);
	json = ask("{\"command\":\"show links\",\"args\":{\"down\":true}}");
	has_int(json, "data.shown", 1);
	has_str(json, "data.links.0.state", "init");
	json_decref(json);
}

/* Long lists are cut to what is noteworthy, unless asked for. */
static void
test_cut(void **state)
{
	json_t *json;

	(void)state;
	plan_unref(h.plan);
	h.plan = big_plan(200);
	json = ask("{\"command\":\"show nodes\"}");
	has_int(json, "data.matched", 201);
	has_int(json, "data.notable", 0);
	has_int(json, "data.shown", 0);
	json_decref(json);
	json = ask("{\"command\":\"show nodes\",\"args\":{\"filter\":\"/^node-0001/\"}}");
	has_int(json, "data.shown", 10);
	json_decref(json);
}

static void
test_routes(void **state)
{
	json_t *json = ask("{\"command\":\"show routes\",\"args\":{\"node\":\"rack1/leaf1\",\"all\":true}}");

	(void)state;
	has_int(json, "data.lids", 8);
	has_int(json, "data.dropped", 0);
	/* Ports 0, 1, 2, 5, 6 carry LIDs 3; 11; 12; 1 4 13; 2 14. */
	has_int(json, "data.ports.0.lids", 1);
	has_int(json, "data.ports.3.port", 5);
	has_int(json, "data.ports.3.lids", 3);
	has_int(json, "data.ports.4.lids", 2);
	has_str(json, "data.ports.4.peer.guid", "0x00000000000000a1");
	has_int(json, "data.entries.7.lid", 14);
	has_int(json, "data.entries.7.out", 6);
	has_str(json, "data.entries.7.to.node", "gpu-4");
	json_decref(json);
	json = ask("{\"command\":\"show routes\",\"args\":{\"node\":\"gpu-3\"}}");
	has_int(json, "data.lid", 13);
	has_int(json, "data.switches", 4);
	has_int(json, "data.entries.2.out", 5);
	has_str(json, "data.entries.2.switch", "rack1/leaf1");
	has_int(json, "data.entries.3.out", 1);
	has_str(json, "data.entries.3.peer.node", "gpu-3");
	json_decref(json);
}

/* Every way to name the two ends; the hops are those of small_rows[]. */
static void
test_path(void **state)
{
	static const char *const sources[] = { "gpu-1", "GPU-1", "0x1001", "0x2001", "11", "gpu-1/1" };
	static const int hops[5][2] = { { 0, 1 }, { 1, 6 }, { 1, 2 }, { 6, 2 }, { 1, 0 } };
	char line[200], field[40];
	json_t *json;

	(void)state;
	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
		snprintf(line, sizeof(line), "{\"command\":\"path\",\"args\":{\"source\":\"%s\","
			 "\"destination\":\"gpu-4\"}}", sources[i]);
		json = ask(line);
		has_int(json, "data.src_lid", 11);
		has_int(json, "data.dst_lid", 14);
		has_int(json, "data.sl", 0);
		assert_int_equal(json_array_size(at(json, "data.hops")), 5);
		for (int k = 0; k < 5; k++) {
			snprintf(field, sizeof(field), "data.hops.%d.in", k);
			has_int(json, field, hops[k][0]);
			snprintf(field, sizeof(field), "data.hops.%d.out", k);
			has_int(json, field, hops[k][1]);
		}
		has_str(json, "data.hops.2.guid", "0x00000000000000a1");
		assert_int_equal(json_array_size(at(json, "data.hops.1.alternatives")), 0);
		json_decref(json);
	}
	json = ask("{\"command\":\"path\",\"args\":{\"source\":\"rack1/leaf2\",\"destination\":\"3\"}}");
	has_int(json, "data.src_lid", 4);
	has_int(json, "data.dst_lid", 3);
	json_decref(json);
}

static void
test_path_refused(void **state)
{
	struct plan *p = (struct plan *)(uintptr_t)h.plan;

	(void)state;
	refused("{\"command\":\"path\",\"args\":{\"source\":\"spine\",\"destination\":\"3\"}}", 1,
		"0x00000000000000a1");
	refused("{\"command\":\"path\",\"args\":{\"source\":\"gpu\",\"destination\":\"3\"}}", 1,
		"4 nodes match");
	refused("{\"command\":\"path\",\"args\":{\"source\":\"gpu-9\",\"destination\":\"3\"}}", 1, "gpu-9");
	refused("{\"command\":\"path\",\"args\":{\"source\":\"gpu-1/2\",\"destination\":\"3\"}}", 1,
		"no port 2");
	refused("{\"command\":\"path\",\"args\":{\"source\":\"10\",\"destination\":\"3\"}}", 1, "10");
	/* A hole on the way. */
	p->rows[1]->port[14] = LFT_NO_PORT;
	refused("{\"command\":\"path\",\"args\":{\"source\":\"11\",\"destination\":\"14\"}}", 1, "spine");
	plan_unref(h.plan);
	h.plan = NULL;
	refused("{\"command\":\"path\",\"args\":{\"source\":\"11\",\"destination\":\"14\"}}", 1, "routed yet");
}

static void
test_check(void **state)
{
	struct plan *p = (struct plan *)(uintptr_t)h.plan;
	json_t *json = ask("{\"command\":\"check\"}");

	(void)state;
	assert_true(json_is_true(at(json, "data.ok")));
	has_int(json, "data.pairs", 12);
	has_int(json, "data.unreachable", 0);
	has_int(json, "data.loops", 0);
	has_int(json, "data.credit_loops", 0);
	has_int(json, "data.cut_off", 0);
	has_int(json, "data.max_hops", 3);
	/* Four pairs on one leaf cross 1 switch, eight cross 3. */
	assert_true(json_number_value(at(json, "data.mean_hops")) > 2.333);
	assert_true(json_number_value(at(json, "data.mean_hops")) < 2.334);
	/* Each host has a link of its own up from the other leaf. */
	has_int(json, "data.shift_max", 1);
	has_int(json, "data.a2a", 1);
	has_int(json, "data.rp_median", 1);
	assert_true(json_number_value(at(json, "data.ebb")) == 1.0);
	json_decref(json);
	/* Leaf 1 and the second spine send LID 14 to each other. */
	p->rows[1]->port[14] = 1;
	json = ask("{\"command\":\"check\"}");
	assert_true(json_is_true(at(json, "ok")));
	assert_true(json_is_false(at(json, "data.ok")));
	assert_true(json_integer_value(at(json, "data.loops")) >= 2);
	assert_true(json_integer_value(at(json, "data.unreachable")) >= 2);
	assert_true(json_is_null(at(json, "data.shift_max")));
	assert_true(json_string_length(at(json, "data.first")) > 0);
	json_decref(json);
}

static void
test_events(void **state)
{
	struct peer *p = peer_new();
	json_t *json;

	(void)state;
	for (int i = 0; i < 70; i++)
		add_event(EVENT_SWEEP, LOG_L_INFO, "a sweep");
	add_event(EVENT_LINK_DOWN, LOG_L_WARNING, "a link");
	json = ask("{\"command\":\"show events\",\"args\":{\"last\":2}}");
	assert_int_equal(json_array_size(at(json, "data.events")), 2);
	has_int(json, "data.events.1.sequence", 71);
	has_str(json, "data.events.1.type", "link-down");
	has_str(json, "data.events.1.level", "warning");
	has_int(json, "data.last", 71);
	json_decref(json);
	json = ask("{\"command\":\"show events\",\"args\":{\"level\":\"warning\"}}");
	assert_int_equal(json_array_size(at(json, "data.events")), 1);
	json_decref(json);
	/* The ring holds 64: of events 1 to 71 the first 7 are lost. */
	json = ask("{\"command\":\"show events\",\"args\":{\"after\":0}}");
	assert_int_equal(json_array_size(at(json, "data.events")), 64);
	has_int(json, "data.lost", 7);
	json_decref(json);
	refused("{\"command\":\"show events\",\"args\":{\"type\":\"link-don\"}}", 2, "link-down");
	/* A follower gets what comes while it waits. */
	json_decref(peer_take(p));
	peer_send(p, "{\"command\":\"show events\",\"args\":{\"after\":71,\"wait_ms\":20000}}\n");
	json_decref(ask("{\"command\":\"status\"}"));
	assert_int_equal(p->in.len, 0);
	add_event(EVENT_LINK_UP, LOG_L_NOTICE, "the link again");
	json = peer_take(p);
	has_int(json, "data.events.0.sequence", 72);
	json_decref(json);
	peer_free(p);
}

static void
test_topology(void **state)
{
	json_t *json = ask("{\"command\":\"show topology\",\"args\":{\"format\":\"json\"}}");
	const json_t *lines;
	size_t edges = 0, switches = 0;

	(void)state;
	assert_int_equal(json_array_size(at(json, "data.nodes")), 8);
	assert_int_equal(json_array_size(at(json, "data.links")), 8);
	has_int(json, "data.nodes.4.lids.0.lid", 11);
	json_decref(json);
	json = ask("{\"command\":\"show topology\",\"args\":{\"format\":\"dot\"}}");
	lines = at(json, "data.lines");
	assert_int_equal(json_array_size(lines), 8 + 8 + 2);
	for (size_t i = 0; i < json_array_size(lines); i++)
		edges += strstr(json_string_value(json_array_get(lines, i)), " -- ") != NULL;
	assert_int_equal(edges, 8);
	json_decref(json);
	json = ask("{\"command\":\"show topology\"}");
	lines = at(json, "data.lines");
	for (size_t i = 0; i < json_array_size(lines); i++)
		switches += strncmp(json_string_value(json_array_get(lines, i)), "Switch\t", 7) == 0;
	assert_int_equal(switches, 4);
	json_decref(json);
}

static void
test_reroute(void **state)
{
	struct peer *p = peer_new();
	json_t *json = ask("{\"command\":\"reroute\",\"args\":{\"engine\":\"minhop\",\"full\":true}}");

	(void)state;
	has_str(json, "data.text", "updn: 4 switches, nothing differs");
	assert_string_equal(h.engine, "minhop");
	assert_true(h.full && !h.dry_run);
	json_decref(json);
	refused("{\"command\":\"reroute\",\"args\":{\"engine\":\"minhip\"}}", 2, "\"minhop\"");
	/* The second of two at a time is refused. */
	peer_send(p, "{\"command\":\"reroute\",\"args\":{\"dry_run\":true}}\n");
	refused("{\"command\":\"reroute\"}", 1, "under way");
	peer_wait(p, 2);
	assert_string_equal(h.engine, "(configured)");
	assert_true(h.dry_run);
	assert_int_equal(h.reroutes, 2);
	peer_free(p);
}

static void
test_reload(void **state)
{
	json_t *json = ask("{\"command\":\"reload\",\"args\":{\"dry_run\":true}}");

	(void)state;
	assert_int_equal(json_array_size(at(json, "data.changes")), 2);
	has_str(json, "data.changes.0", "subnets[0].lmc: 0 -> 1 (dry)");
	json_decref(json);
	h.reload_code = ERR_FORMAT;
	refused("{\"command\":\"reload\"}", 1, "weft.yaml:3:1");
}

static void
test_socket_file(void **state)
{
	struct error e = { 0 };
	struct stat st;
	int fd;

	(void)state;
	assert_int_equal(stat(h.path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_null(ctl_new(h.loop, h.path, NULL, &h.host, &e));
	assert_int_equal(e.code, ERR_EXISTS);
	assert_non_null(strstr(e.text, h.path));
	/* The failed attempt took nothing away. */
	assert_int_equal(access(h.path, F_OK), 0);
	assert_null(ctl_new(h.loop, "/nonexistent/dir/weft.sock", NULL, &h.host, &e));
	assert_int_equal(e.code, ERR_IO);
	assert_null(ctl_new(h.loop, h.path, "no-such-group", &h.host, &e));
	ctl_free(h.ctl);
	/* A plain file is not ours to remove, a socket that nobody listens on is. */
	fd = open(h.path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	close(fd);
	assert_null(ctl_new(h.loop, h.path, NULL, &h.host, &e));
	assert_int_equal(unlink(h.path), 0);
	start_on(NULL);
	assert_int_equal(rename(h.path, "/tmp/test_ctl.moved"), 0);
	ctl_free(h.ctl);
	assert_int_equal(rename("/tmp/test_ctl.moved", h.path), 0);
	start_on(NULL);
	json_decref(ask("{\"command\":\"status\"}"));
}

static void
ended(void *arg, int fd, unsigned events)
{
	(void)fd;
	(void)events;
	*(bool *)arg = true;
}

/* Serve until the child has ended; its exit status. */
static int
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

/* In a child: 0 if a reroute was done, 1 if it was refused, 2 if even a status was, 3 no way in. */
static int
try_rights(void)
{
	static const char requests[] = "{\"command\":\"status\"}\n{\"command\":\"reroute\"}\n";
	char text[65536];
	size_t len = 0;
	ssize_t got;
	int fd = dial();

	if (fd < 0)
		return 3;
	if (send(fd, requests, sizeof(requests) - 1, 0) < 0 || shutdown(fd, SHUT_WR))
		return 4;
	while (len < sizeof(text) - 1 && (got = recv(fd, text + len, sizeof(text) - 1 - len, 0)) > 0)
		len += (size_t)got;
	text[len] = '\0';
	if (!strstr(text, "\"role\":\"master\""))
		return 2;
	return strstr(text, "nothing differs") ? 0 : strstr(text, "only root") ? 1 : 5;
}

static int
rights_of(uid_t uid, gid_t gid, gid_t more)
{
	pid_t pid = fork();

	if (pid == 0) {
		if (setgroups(1, &more) || setgid(gid) || setuid(uid))
			_exit(9);
		_exit(try_rights());
	}
	return serve(pid);
}

static void
test_rights(void **state)
{
	struct group *g = getgrnam("daemon");
	gid_t gid;

	(void)state;
	if (geteuid() != 0 || !g) {
		print_message("not root, or no group daemon: skipped\n");
		skip();
	}
	gid = g->gr_gid;
	assert_int_equal(rights_of(0, 0, 0), 0);
	assert_int_equal(rights_of(65534, 65534, 65534), 3);
	/* Whoever the file's mode lets in may look, not touch. */
	assert_int_equal(chmod(h.path, 0666), 0);
	assert_int_equal(rights_of(65534, 65534, 65534), 1);
	ctl_free(h.ctl);
	start_on("daemon");
	assert_int_equal(rights_of(65534, 65534, 65534), 3);
	assert_int_equal(rights_of(65534, 65534, gid), 0);
	assert_int_equal(rights_of(65534, gid, 65534), 0);
}

/* The real client. */
struct result {
	int status;		/* its exit status */
	char out[65536];	/* standard output, cut */
	char err[4096];		/* standard error */
};

static void
slurp(int fd, char *text, size_t size)
{
	ssize_t len = pread(fd, text, size - 1, 0);

	text[len > 0 ? len : 0] = '\0';
	close(fd);
}

static void
weft(struct result *r, const char *line)
{
	char exe[300], copy[400], *argv[24] = { exe, (char *)(uintptr_t)"-s", h.path }, *save, *word;
	int out = memfd_create("out", MFD_CLOEXEC), err = memfd_create("err", MFD_CLOEXEC), n = 3;
	ssize_t len = readlink("/proc/self/exe", exe, sizeof(exe) - 10);
	posix_spawn_file_actions_t fa;
	pid_t pid;

	assert_true(len > 0);
	exe[len] = '\0';
	strcpy(strrchr(exe, '/') + 1, "weft");
	snprintf(copy, sizeof(copy), "%s", line);
	for (word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save))
		argv[n++] = word;
	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_adddup2(&fa, out, 1);
	posix_spawn_file_actions_adddup2(&fa, err, 2);
	assert_int_equal(posix_spawn(&pid, exe, &fa, NULL, argv, environ), 0);
	posix_spawn_file_actions_destroy(&fa);
	r->status = serve(pid);
	slurp(out, r->out, sizeof(r->out));
	slurp(err, r->err, sizeof(r->err));
}

static void
weft_says(const char *line, int status, const char *out, const char *err)
{
	static struct result r;
	char *newline;

	weft(&r, line);
	if (r.status != status || !strstr(r.out, out) || !strstr(r.err, err))
		fail_msg("weft %s: status %d\n%s\n%s", line, r.status, r.out, r.err);
	newline = strchr(r.err, '\n');
	if (status && status != 2 && (!newline || newline[1]))
		fail_msg("weft %s: not one line: %s", line, r.err);
	assert_null(strchr(r.out, '\x1b'));
}

static void
test_cli(void **state)
{
	(void)state;
	add_event(EVENT_ROLE, LOG_L_NOTICE, "now master");
	weft_says("status", 0, "fattree was requested: fattree: no levels", "");
	weft_says("status", 0, "?[31mSubnetTimeOut", "");
	weft_says("status", 0, "8 nodes: 4 hosts and 4 switches, 8 links", "");
	weft_says("wait --timeout 5", 0, "", "");
	weft_says("show nodes", 0, "gpu-3        0x0000000000001003  host     13", "");
	weft_says("show switches", 0, "rack1/leaf2", "");
	weft_says("show ports --slow", 0, "gpu-4/1", "");
	weft_says("show links", 0, "8 links: 7 active, 1 init", "");
	weft_says("show links", 0, "speeds: 7 4xNDR, 1 4xHDR; 1 slower than most", "");
	weft_says("show routes rack1/leaf1", 0, "8 LIDs, 0 of them dropped", "");
	weft_says("show routes gpu-3", 0, "to gpu-3/1, LID 13: 4 switches", "");
	weft_says("show engines", 0, "minhop", "");
	weft_says("show events", 0, "now master", "");
	weft_says("show topology -o dot", 0, "graph fabric {", "");
	weft_says("show topology", 0, "Switch\t8 ", "");
	weft_says("path gpu-1 gpu-4", 0, "LID 11 to LID 14, SL 0", "");
	weft_says("check", 0, "12, of which 0 unreachable", "");
	weft_says("reroute --engine updn --dry-run", 0, "dry run, nothing is changed: updn", "");
	assert_true(h.dry_run);
	weft_says("reload", 0, "the new configuration is in use", "");
	weft_says("--version", 0, "weft 0.", "");
	weft_says("check --help", 0, "usage: weft check", "");
}

static void
test_cli_json(void **state)
{
	static const char *const lines[] = {
		"status", "wait", "show nodes", "show switches", "show ports", "show links",
		"show routes spine/0", "show routes 13", "show engines", "show events", "show topology",
		"path 11 14", "check", "reroute", "reload --dry-run",
	};
	static struct result r;
	char line[80];

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		json_t *json;

		snprintf(line, sizeof(line), "%s%s", strcmp(lines[i], "show routes spine/0") ? "-o json " : "",
			 lines[i]);
		weft(&r, line);
		if (strstr(lines[i], "spine")) {
			assert_int_equal(r.status, 1);
			continue;
		}
		json = json_loads(r.out, JSON_REJECT_DUPLICATES, NULL);
		if (r.status || !json_is_object(json))
			fail_msg("%s: status %d: %s", line, r.status, r.out);
		json_decref(json);
	}
}

static void
test_cli_fails(void **state)
{
	struct plan *p = (struct plan *)(uintptr_t)h.plan;

	(void)state;
	weft_says("frobnicate", 2, "", "unknown command");
	weft_says("show nods", 2, "", "\"nodes\"");
	weft_says("show ports --dwon", 2, "", "\"--down\"");
	weft_says("path gpu-1", 2, "", "usage: weft path SRC DST");
	weft_says("path gpu-1 gpu-2 gpu-3", 2, "", "too many words");
	weft_says("status -o yaml", 2, "", "yaml");
	weft_says("wait --timeout soon", 2, "", "soon");
	weft_says("show nodes --type swich", 2, "", "\"switch\"");
	weft_says("reroute --engine updm", 2, "", "\"updn\"");
	weft_says("path gpu-1 nowhere", 1, "", "nowhere");
	weft_says("--subnet zwei status", 1, "", "zwei");
	h.reload_code = ERR_FORMAT;
	weft_says("reload", 1, "", "weft.yaml:3:1");
	h.up = false;
	weft_says("wait --timeout 200ms", 4, "", "subnet one is not up: programming");
	p->rows[1]->port[14] = LFT_NO_PORT;
	weft_says("check", 1, "FAILED", "not proved");
	weft_says("-s /nonexistent/weft.sock status", 3, "", "no daemon");
	weft_says("-s /nonexistent/weft.sock wait --timeout 300ms", 3, "", "no daemon");
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		T(test_protocol), T(test_pieces), T(test_half_line), T(test_oversized),
		T(test_many_clients), T(test_slow_reader), T(test_leaves_at_work), T(test_status),
		T(test_wait), T(test_nodes), T(test_ports), T(test_links), T(test_cut), T(test_routes),
		T(test_path), T(test_path_refused), T(test_check), T(test_events), T(test_topology),
		T(test_reroute), T(test_reload), T(test_socket_file), T(test_rights), T(test_cli),
		T(test_cli_json), T(test_cli_fails),
	};

	alarm(120);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
