/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/serve/holders.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * Processes that hold the other end of a socket, whoever made the connection; and one beside them
 * that holds nothing and must live. Children that lose their parent become this process's.
 */
static int
listening(struct sockaddr_un *at)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	memset(at, 0, sizeof(*at));
	at->sun_family = AF_UNIX;
	snprintf(at->sun_path + 1, sizeof(at->sun_path) - 1, "weft-holders-%d", (int)getpid());
	assert_int_equal(bind(fd, (struct sockaddr *)at, sizeof(*at)), 0);
	assert_int_equal(listen(fd, 4), 0);
	return fd;
}

static pid_t
bystander(void)
{
	pid_t pid = fork();

	if (pid == 0)
		for (;;)
			pause();
	return pid;
}

/* A program that connects; with `leave` it leaves the connection to a child and is gone. The number
 * of the one that holds it comes through the pipe. */
static void
program(const struct sockaddr_un *at, bool leave, int tell)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	pid_t self;

	if (connect(fd, (const struct sockaddr *)at, sizeof(*at)))
		_exit(1);
	if (leave && fork() > 0)
		_exit(0);
	self = getpid();
	if (write(tell, &self, sizeof(self)) != sizeof(self))
		_exit(1);
	for (;;)
		pause();
}

/* The outcome of a process: the signal that ended it, or 0. */
static int
ended_by(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		assert_int_equal(errno, EINTR);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void
end_one(bool leave)
{
	struct sockaddr_un at;
	int server = listening(&at), pipes[2], fd;
	pid_t other = bystander(), child, holder = 0;
	struct holder h = { .since = holders_now() };

	assert_int_equal(pipe(pipes), 0);
	child = fork();
	if (child == 0)
		program(&at, leave, pipes[1]);
	fd = accept(server, NULL, NULL);
	assert_true(fd >= 0);
	assert_int_equal(read(pipes[0], &holder, sizeof(holder)), sizeof(holder));
	assert_int_equal(holder == child, !leave);
	if (leave)
		assert_int_equal(ended_by(child), 0);
	h.fd = fd;
	h.since = holders_now();
	if (leave && !holders_inode(fd)) {
		kill(holder, SIGKILL);
	} else {
		holders_end(&h, 1);
		assert_int_equal(h.told, 1);
		assert_int_equal(ended_by(holder), SIGTERM);
	}
	assert_int_equal(waitpid(other, NULL, WNOHANG), 0);
	kill(other, SIGKILL);
	assert_int_equal(ended_by(other), SIGKILL);
	/* Nobody holds it any more: nobody is told. */
	holders_end(&h, 1);
	assert_int_equal(h.told, 0);
	close(fd);
	close(server);
	close(pipes[0]);
	close(pipes[1]);
}

static void
test_connected(void **state)
{
	(void)state;
	end_one(false);
}

static void
test_left_to_a_child(void **state)
{
	(void)state;
	end_one(true);
}

/* Both ends of a pair are this process's, which is never told. */
static void
test_itself(void **state)
{
	int pair[2];
	struct holder h;
	struct stat st;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	h = (struct holder){ .fd = pair[0], .since = holders_now() };
	assert_int_equal(fstat(pair[1], &st), 0);
	if (holders_inode(pair[0]))
		assert_int_equal(holders_inode(pair[0]), st.st_ino);
	holders_end(&h, 1);
	assert_int_equal(h.told, 0);
	assert_int_equal(holders_inode(0), 0);
	close(pair[0]);
	close(pair[1]);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_connected), cmocka_unit_test(test_left_to_a_child),
		cmocka_unit_test(test_itself),
	};

	alarm(60);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
