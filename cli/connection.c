/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cli.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "sm/base/frame.h"

/*
 * The client's end of the control socket. It blocks: a command line has nothing else to do. An
 * answer that takes longer than PATIENCE is accounted for on standard error, if that is a terminal.
 */
#define PATIENCE SEC(2)
#define HELLO_LIMIT SEC(10)
#define TURN_MS 200
#define READ_SIZE 65536

static int
lost(struct error *e)
{
	error_set(e, ERR_CLOSED, "the daemon closed the connection");
	return CLI_NO_DAEMON;
}

static void
progress(const struct cli *c, monotime since)
{
	char text[DURATION_TEXT_SIZE];

	fprintf(stderr, "\r\033[K%s, %s", c->command->doing,
		duration_text(text, since / SEC(1) * SEC(1)));
	fflush(stderr);
}

static int
receive(struct cli *c, struct error *e)
{
	char bytes[READ_SIZE];
	ssize_t len = recv(c->fd, bytes, sizeof(bytes), 0);

	if (len > 0)
		buf_add(&c->in, bytes, (size_t)len);
	else if (len == 0 || errno != EINTR)
		return lost(e);
	return 0;
}

/* One line, without its end, at the front of c->in; its length in *len. */
static int
read_line(struct cli *c, size_t *len, monotime limit, struct error *e)
{
	struct pollfd p = { .fd = c->fd, .events = POLLIN };
	monotime start = clock_monotonic();
	bool shown = false;
	size_t scanned = 0;
	char *end = NULL;
	int ret = 0;

	while (!ret) {
		monotime since = clock_monotonic() - start;

		end = c->in.len > scanned ? memchr(c->in.data + scanned, '\n', c->in.len - scanned)
					  : NULL;
		scanned = c->in.len;
		if (end)
			break;
		if (since > limit) {
			error_set(e, ERR_TIMEOUT, "the daemon does not answer");
			ret = CLI_TIMEOUT;
		} else if (poll(&p, 1, TURN_MS) > 0) {
			ret = receive(c, e);
		} else if (since > PATIENCE && isatty(STDERR_FILENO)) {
			shown = true;
			progress(c, since);
		}
	}
	if (shown)
		fprintf(stderr, "\r\033[K");
	*len = end ? (size_t)(end - c->in.data) : 0;
	return ret;
}

static int
read_json(struct cli *c, json_t **line, monotime limit, struct error *e)
{
	size_t len;
	int ret = read_line(c, &len, limit, e);

	if (ret)
		return ret;
	*line = json_loadb(c->in.data, len, 0, NULL);
	buf_consume(&c->in, len + 1);
	if (json_is_object(*line))
		return 0;
	json_decref(*line);
	*line = NULL;
	error_set(e, ERR_FORMAT, "what listens on %s does not speak the control protocol",
		  c->socket);
	return CLI_REFUSED;
}

static int
read_hello(struct cli *c, struct error *e)
{
	json_t *line;
	int ret = read_json(c, &line, HELLO_LIMIT, e);
	uint64_t protocol;

	if (ret)
		return ret;
	protocol = field_uint(line, "weft");
	if (protocol != FRAME_PROTOCOL) {
		error_set(e, ERR_UNSUPPORTED,
			  "the daemon (version %s) speaks protocol %llu, this program %d",
			  field_str(line, "version"), (unsigned long long)protocol, FRAME_PROTOCOL);
		ret = CLI_REFUSED;
	}
	json_decref(line);
	return ret;
}

int
connection_open(struct cli *c, struct error *e)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int ret;

	if (strlen(c->socket) >= sizeof(sa.sun_path)) {
		error_set(e, ERR_INVALID, "the socket's path is too long: %s", c->socket);
		return CLI_USAGE;
	}
	memcpy(sa.sun_path, c->socket, strlen(c->socket) + 1);
	c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (c->fd < 0 || connect(c->fd, (const struct sockaddr *)&sa, sizeof(sa))) {
		bool denied = errno == EACCES || errno == EPERM;

		error_set(e, ERR_CLOSED, denied ? "you may not use the daemon's socket %s: %s (see "
			  "control.group in weft.yaml(5))" : "no daemon on %s: %s", c->socket,
			  strerror(errno));
		connection_close(c);
		return denied ? CLI_REFUSED : CLI_NO_DAEMON;
	}
	ret = read_hello(c, e);
	if (ret)
		connection_close(c);
	return ret;
}

void
connection_close(struct cli *c)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
	buf_free(&c->in);
}

/* A daemon that turned us away has said why, which is better than a broken pipe: a failed write
 * is left for the read to find out about. */
static void
send_line(struct cli *c, char *text)
{
	size_t len = strlen(text), sent = 0;
	ssize_t n;

	text[len++] = '\n';
	while (sent < len) {
		n = send(c->fd, text + sent, len - sent, MSG_NOSIGNAL);
		if (n < 0 && errno != EINTR)
			break;
		sent += n > 0 ? (size_t)n : 0;
	}
	text[len - 1] = '\0';
}

static int
send_request(struct cli *c, struct error *e)
{
	json_t *request = json_pack("{s:s, s:O}", "command", c->command->name, "args", c->args);
	char *text;

	if (c->subnet)
		json_object_set_new(request, "subnet", json_string(c->subnet));
	text = json_dumps(request, JSON_COMPACT);
	json_decref(request);
	if (!text || strlen(text) >= FRAME_MAX_REQUEST) {
		error_set(e, ERR_INVALID, "the request is too long");
		free(text);
		return CLI_USAGE;
	}
	send_line(c, text);
	free(text);
	return 0;
}

int
connection_request(struct cli *c, json_t **data, struct error *e)
{
	json_t *line;
	int ret = send_request(c, e);

	*data = NULL;
	if (!ret)
		ret = read_json(c, &line, MONOTIME_NEVER, e);
	if (ret)
		return ret;
	if (field_bool(line, "ok")) {
		*data = json_incref(json_object_get(line, "data"));
	} else {
		ret = (int)field_uint(line, "code");
		ret = ret < CLI_REFUSED || ret > CLI_TIMEOUT ? CLI_REFUSED : ret;
		error_set(e, ERR_REFUSED, "%s", field_str(line, "error"));
	}
	json_decref(line);
	return ret;
}
