/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/unit/ctl_fake.h"

#include <fcntl.h>
#include <grp.h>
#include <malloc.h>

/*
 * The server: framing, limits, rights, the socket file, and clients that misbehave. What the
 * commands say is in test_ctl_commands.c.
 */

static void
test_protocol(void **state)
{
	static const char *const malformed[] = {
		"",
		"{",
		"[]",
		"null",
		"nonsense",
		"{\"command\":7}",
		"{\"args\":{}}",
		"{\"command\":\"status\",\"command\":\"status\"}",
		"{\"command\":\"status\",\"zzz\":1}",
		"{\"command\":\"status\"} x",
		"{\"command\":\"status\",\"args\":[]}",
		"{\"command\":\"status\",\"args\":{\"x\":1}}",
		"{\"command\":\"wait\",\"args\":{\"timeout_ms\":-1}}",
		"{\"command\":\"wait\",\"args\":{\"timeout_ms\":\"1\"}}",
		"{\"command\":\"wait\",\"args\":{\"timeout_ms\":99999999999999}}",
		"{\"command\":\"path\",\"args\":{\"source\":\"1\"}}",
		"{\"command\":\"show ports\",\"args\":{\"filter\":\"/(/\"}}",
		"{\"command\":\"show nodes\",\"args\":{\"type\":\"swich\"}}",
		"{\"command\":\"show nodes\",\"args\":{\"filter\":\"\"}}",
		"{\"command\":\"show events\",\"args\":{\"last\":1,\"after\":1}}",
		"{\"command\":\"status\",\"args\":{\"a\":{\"a\":{\"a\":{\"a\":1}}}}}",
		"{\"command\":\"st\\u0000atus\"}",
		"\xff\xfe",
		"{\"command\":\"\xff\"}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++)
		refused(malformed[i], 2, "");
	refused("{\"command\":\"staus\"}", 2, "did you mean \"status\"?");
	refused("{\"command\":\"show nodes\",\"args\":{\"type\":\"swich\"}}", 2,
		"\"ca\", \"switch\" or \"router\"");
	refused("{\"command\":\"status\",\"subnet\":\"zwei\"}", 1,
		"no subnet \"zwei\"; the subnet is: one");
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
		"{\"command\":\"wait\"}\n",
		"{\"command\":\"check\"}\n",
		"{\"command\":\"reroute\"}\n",
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
	while (len < sizeof(text) - 1 &&
	       (got = recv(fd, text + len, sizeof(text) - 1 - len, 0)) > 0)
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

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		T(test_protocol), T(test_pieces), T(test_half_line), T(test_oversized),
		T(test_many_clients), T(test_slow_reader), T(test_leaves_at_work),
		T(test_socket_file), T(test_rights),
	};

	alarm(120);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
