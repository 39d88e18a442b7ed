/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cli.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "sm/base/mem.h"

/*
 * Commands that need no daemon. They are done by a program of its own, weft-offline, which links
 * what this one must not know: it is found beside this program, or in ../libexec/weft, gets the
 * options as they were given, and answers with the one object that a daemon would send.
 */
#define PROGRAM "weft-offline"
#define MAX_ARGS 64
#define CHUNK 65536

struct call {
	char *argv[MAX_ARGS + 1];	/* of the program; each its own memory */
	unsigned argc;			/* how many */
	struct buf out;			/* what it wrote */
};

static void
add_arg(struct call *call, const char *arg)
{
	if (call->argc < MAX_ARGS)
		call->argv[call->argc++] = mem_strdup(arg);
}

static void
add_option(struct call *call, const char *name, const json_t *value)
{
	struct buf b = { 0 };
	json_t *each;
	size_t i;

	if (json_is_array(value)) {
		json_array_foreach(value, i, each)
			add_option(call, name, each);
		return;
	}
	buf_printf(&b, "--%s", name);
	if (json_is_string(value))
		buf_printf(&b, "=%s", json_string_value(value));
	else if (json_is_integer(value))
		buf_printf(&b, "=%lld", (long long)json_integer_value(value));
	add_arg(call, b.data);
	buf_free(&b);
}

/* NAME [OPTIONS] -- PATH, where the path is the argument that `key` names. */
static void
make_call(struct call *call, const struct cli *c, const char *program, const char *key)
{
	add_arg(call, program);
	add_arg(call, c->command->name);
	for (const struct cli_option *o = c->command->options; o->name; o++) {
		const json_t *value = o->key ? json_object_get(c->args, o->key) : NULL;

		if (value && strcmp(o->key, key) != 0)
			add_option(call, o->name, value);
	}
	add_arg(call, "--");
	add_arg(call, field_str(c->args, key));
}

/* Where the program is, in `path`. */
static bool
find_program(char path[PATH_MAX])
{
	static const char *const places[] = { "", "../libexec/weft/" };
	ssize_t len = readlink("/proc/self/exe", path, PATH_MAX - 64);

	while (len > 0 && path[len - 1] != '/')
		len--;
	for (size_t i = 0; len > 0 && i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(path + len, 64, "%s%s", places[i], PROGRAM);
		if (access(path, X_OK) == 0)
			return true;
	}
	return false;
}

static void
read_all(struct call *call, int fd)
{
	char *chunk = mem_alloc(CHUNK);
	ssize_t n;

	while ((n = read(fd, chunk, CHUNK)) > 0 || (n < 0 && errno == EINTR))
		if (n > 0)
			buf_add(&call->out, chunk, (size_t)n);
	mem_free(chunk);
}

/* Its exit status, or CLI_REFUSED and the reason said. */
static int
run_program(struct call *call)
{
	int fd[2], status = 0;
	pid_t pid;

	if (pipe(fd) < 0 || (pid = fork()) < 0) {
		emit(stderr, "weft: %s cannot be started: %s\n", PROGRAM, strerror(errno));
		return CLI_REFUSED;
	}
	if (pid == 0) {
		dup2(fd[1], STDOUT_FILENO);
		close(fd[0]);
		close(fd[1]);
		execv(call->argv[0], call->argv);
		_exit(127);
	}
	close(fd[1]);
	read_all(call, fd[0]);
	close(fd[0]);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status) && WEXITSTATUS(status) != 127)
		return WEXITSTATUS(status);
	if (WIFSIGNALED(status))
		emit(stderr, "weft: %s was ended by signal %d, %s\n", PROGRAM, WTERMSIG(status),
		     strsignal(WTERMSIG(status)));
	else
		emit(stderr, "weft: %s cannot be started\n", call->argv[0]);
	return CLI_REFUSED;
}

/* The program's status stands; where it answered, the answer is shown and judged. */
static int
show_answer(const struct cli *c, const struct call *call, int status)
{
	json_error_t error;
	json_t *data;

	if (!call->out.len)
		return status;
	data = json_loadb(call->out.data, call->out.len, 0, &error);
	if (!data) {
		emit(stderr, "weft: %s gave no answer that can be read: %s\n", PROGRAM, error.text);
		return CLI_REFUSED;
	}
	cli_show(c, data);
	if (c->command->verdict(data) && !status)
		status = CLI_REFUSED;
	json_decref(data);
	return status;
}

/* The answer as it is: it is meant for a file. */
static int
pass_answer(const struct call *call, int status)
{
	if (fwrite(call->out.data, 1, call->out.len, stdout) == call->out.len &&
	    fflush(stdout) == 0)
		return status;
	emit(stderr, "weft: the answer cannot be written: %s\n", strerror(errno));
	return CLI_REFUSED;
}

static int
run_offline(struct cli *c, const char *key, bool text)
{
	char program[PATH_MAX];
	struct call call = { 0 };
	int status;

	if (!find_program(program)) {
		emit(stderr, "weft: %s, which does this, is neither beside weft nor in "
			     "../libexec/weft of it\n", PROGRAM);
		return CLI_REFUSED;
	}
	make_call(&call, c, program, key);
	status = run_program(&call);
	status = text ? pass_answer(&call, status) : show_answer(c, &call, status);
	for (unsigned i = 0; i < call.argc; i++)
		mem_free(call.argv[i]);
	buf_free(&call.out);
	return status;
}

int
run_route(struct cli *c)
{
	return run_offline(c, "path", false);
}

int
run_import(struct cli *c)
{
	if (c->json) {
		emit(stderr, "weft: a configuration is YAML; -o json is for other commands\n");
		return CLI_USAGE;
	}
	return run_offline(c, "path", true);
}

/* Options that mean something only with --dump are no harm to the daemon, but a mistake. */
int
run_check(struct cli *c)
{
	if (json_object_get(c->args, "dump"))
		return run_offline(c, "dump", false);
	for (const struct cli_option *o = c->command->options; o->name; o++) {
		if (strcmp(o->name, "no-quality") == 0 || !json_object_get(c->args, o->key))
			continue;
		emit(stderr, "weft: --%s goes with --dump only\n", o->name);
		return CLI_USAGE;
	}
	return cli_run(c);
}
