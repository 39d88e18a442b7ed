/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/program/client.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

/*
 * Questions to a server. One packet is one request or reply; nothing of a reply is believed that is
 * outside of its bounds.
 */
#define ANSWER_SECONDS 60

static int
receive(int fd, struct attach_reply *reply, struct error *e)
{
	ssize_t n;

	do
		n = recv(fd, reply, sizeof(*reply), 0);
	while (n < 0 && errno == EINTR);
	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return error_set(e, ERR_TIMEOUT, "no answer from the simulation within %d s",
				 ANSWER_SECONDS);
	if (n <= 0)
		return error_set(e, ERR_CLOSED, "the simulation has ended");
	if ((size_t)n != sizeof(*reply) || reply->magic != ATTACH_MAGIC ||
	    reply->version != ATTACH_VERSION)
		return error_set(e, ERR_FORMAT, "the simulation answers in another version of the "
				 "protocol: use the weftsim that serves it");
	if (reply->length_text > sizeof(reply->text))
		reply->length_text = sizeof(reply->text);
	return 0;
}

static int
connect_to(const char *path, struct error *e)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	struct timeval limit = { .tv_sec = ANSWER_SECONDS };
	int fd;

	if (strlen(path) >= sizeof(to.sun_path))
		return error_set(e, ERR_INVALID, "the path of a socket has at most %zu bytes: %s",
				 sizeof(to.sun_path) - 1, path);
	memcpy(to.sun_path, path, strlen(path) + 1);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return error_set(e, ERR_IO, "no socket could be had: %s", strerror(errno));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	if (connect(fd, (const struct sockaddr *)&to, sizeof(to)) == 0)
		return fd;
	error_set(e, ERR_CLOSED, "no fabric is served on %s: %s; \"weftsim serve FABRIC\" serves "
		  "one", path, strerror(errno));
	close(fd);
	return ERR_CLOSED;
}

int
client_open(const char *path, enum attach_kind kind, const char *node, struct attach_reply *reply,
	    struct error *e)
{
	struct attach_request q = {
		.magic = ATTACH_MAGIC, .version = ATTACH_VERSION, .kind = kind,
		.pid = (uint32_t)getpid(), .program = "weftsim",
	};
	int fd, rc;

	if (node && strlen(node) >= sizeof(q.node))
		return error_set(e, ERR_INVALID, "no node has so long a name");
	snprintf(q.node, sizeof(q.node), "%s", node ? node : "");
	if ((fd = connect_to(path, e)) < 0)
		return fd;
	if (send(fd, &q, sizeof(q), MSG_NOSIGNAL) < 0)
		rc = error_set(e, ERR_CLOSED, "the simulation has ended");
	else
		rc = receive(fd, reply, e);
	if (!rc)
		return fd;
	close(fd);
	return rc;
}

int
client_command(int fd, const char *line, void (*print)(const char *text, size_t len),
	       struct error *e)
{
	struct attach_reply reply;
	int rc;

	if (send(fd, line, strlen(line), MSG_NOSIGNAL) < 0)
		return error_set(e, ERR_CLOSED, "the simulation has ended");
	do {
		if ((rc = receive(fd, &reply, e)) < 0)
			return rc;
		if (reply.status)
			return error_set(e, ERR_REFUSED, "%.*s", (int)reply.length_text,
					 reply.text);
		print(reply.text, reply.length_text);
	} while (reply.more);
	return 0;
}
