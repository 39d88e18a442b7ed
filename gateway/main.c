/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * weft-gateway: HTTP for those who do not speak the control socket. It is no part of the daemon and
 * has none of its rights: a process of its own, of a user of its own, that may be broken into
 * without the fabric's manager being so. What it may do is what the control socket lets its user
 * do.
 *
 * As root it reads its secrets, takes its ports and then becomes somebody else (--user). Exit
 * status: 0 ended, 1 could not start (one line on standard error), 2 wrong usage.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <grp.h>
#include <jansson.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/un.h>
#include <unistd.h>
#include "gateway/gateway.h"
#include "gateway/stream.h"
#include "sm/base/version.h"

#define BODY_MAX (256u * 1024)
#define IDLE_LIMIT SEC(75)
#define SEND_LIMIT SEC(30)

struct program {
	struct options options;
	struct gateway gateway;
	struct server *server;
	bool stopping;		/* what is under way is being finished */
};

static int
complain(const struct error *e)
{
	fprintf(stderr, "weft-gateway: %s\n", e->text);
	return 1;
}

/* ---- Addresses ---- */

/* "ADDR", "ADDR:PORT", "[ADDR6]:PORT"; host[] without brackets. */
static bool
split_address(const char *text, char host[64], char port[8])
{
	const char *colon = strrchr(text, ':'), *end = text + strlen(text);
	bool bracket = text[0] == '[';
	const char *close = bracket ? strchr(text, ']') : NULL;

	if (bracket && (!close || (close[1] && close[1] != ':')))
		return false;
	if (bracket)
		colon = close[1] ? close + 1 : NULL;
	else if (colon && strchr(text, ':') != colon)
		colon = NULL;	/* an IPv6 address without a port */
	if (bracket)
		text++;
	end = bracket ? close : colon ? colon : end;
	if (end == text || end - text >= 64 || (colon && strlen(colon + 1) >= 8))
		return false;
	snprintf(host, 64, "%.*s", (int)(end - text), text);
	snprintf(port, 8, "%s", colon ? colon + 1 : GATEWAY_PORT);
	return true;
}

static bool
is_loopback(const struct sockaddr *a)
{
	const struct sockaddr_in *v4 = (const void *)a;
	const struct sockaddr_in6 *v6 = (const void *)a;

	if (a->sa_family == AF_INET)
		return ntohl(v4->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	return a->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
}

static int
allowed(const struct program *p, const char *text, const struct sockaddr *a, struct error *e)
{
	if (is_loopback(a))
		return 0;
	if (p->options.no_auth)
		return error_set(e, ERR_REFUSED, "%s is not of this machine alone: there everybody "
				 "has to say who he is (--users, --tokens)", text);
	if (!p->options.cert)
		return error_set(e, ERR_REFUSED, "%s is not of this machine alone: there passwords "
				 "need TLS (--tls-cert, --tls-key)", text);
	return 0;
}

static int
listen_on(struct program *p, const char *text, struct error *e)
{
	const struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM,
					.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV };
	struct addrinfo *found;
	char host[64], port[8];
	struct error why;
	int rc;

	if (!split_address(text, host, port) || getaddrinfo(host, port, &hints, &found))
		return error_set(e, ERR_INVALID, "\"%s\" is no address: 10.1.2.3:443, [::1]:443, "
				 "or without the port", text);
	rc = allowed(p, text, found->ai_addr, e);
	if (!rc && server_listen(p->server, found->ai_addr, found->ai_addrlen, &why))
		rc = error_set(e, ERR_IO, "%s cannot be listened on: %s", text, why.text);
	freeaddrinfo(found);
	return rc;
}

/* Loopback, in the versions of IP that this machine has. */
static int
listen_on_default(struct program *p, struct error *e)
{
	struct error other;
	int rc = listen_on(p, "127.0.0.1", e);
	int rc6 = listen_on(p, "::1", &other);

	if (rc && rc6)
		return rc;
	if (rc || rc6)
		log_notice("%s", rc ? e->text : other.text);
	return 0;
}

static int
listen_on_all(struct program *p, struct error *e)
{
	int rc = p->options.nlisten ? 0 : listen_on_default(p, e);

	for (unsigned i = 0; i < p->options.nlisten && !rc; i++)
		rc = listen_on(p, p->options.listen[i], e);
	return rc;
}

/* ---- Secrets ---- */

/* All of them, or none. */
static int
load_secrets(struct program *p, struct error *e)
{
	const struct options *o = &p->options;
	struct auth *auth = auth_load(p->gateway.loop, o->users, o->tokens, e);
	SSL_CTX *tls;

	if (!auth)
		return e->code;
	tls = o->cert ? tls_new(o->cert, o->key, e) : NULL;
	if (o->cert && !tls) {
		auth_unref(auth);
		return e->code;
	}
	auth_unref(p->gateway.auth);
	p->gateway.auth = auth;
	server_set_tls(p->server, tls);
	tls_free(tls);
	return 0;
}

/* ---- Rights ---- */

static int
become(const char *name, struct error *e)
{
	const struct passwd *pw = getpwnam(name);

	if (!pw)
		return error_set(e, ERR_NOT_FOUND, "there is no user \"%s\"", name);
	if (geteuid() == pw->pw_uid && getuid() == pw->pw_uid)
		return 0;
	if (initgroups(name, pw->pw_gid) || setgid(pw->pw_gid) || setuid(pw->pw_uid))
		return error_set(e, ERR_IO, "this process cannot become %s: %s", name,
				 strerror(errno));
	if (pw->pw_uid && !setuid(0))
		return error_set(e, ERR_IO, "this process became %s and can be root again", name);
	return 0;
}

static int
drop_rights(const struct options *o, struct error *e)
{
	const struct rlimit none = { 0, 0 };
	int rc = o->user ? become(o->user, e) : 0;

	if (!rc && !o->user && !geteuid())
		rc = error_set(e, ERR_REFUSED, "this has no use for root's rights: say by --user "
			       "whom to become");
	if (!rc && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		rc = error_set(e, ERR_IO, "privileges cannot be given up: %s", strerror(errno));
	/* Passwords must not end up in a core file. */
	if (!rc && setrlimit(RLIMIT_CORE, &none))
		rc = error_set(e, ERR_IO, "core files cannot be forbidden: %s", strerror(errno));
	return rc;
}

/* ---- Signals ---- */

static void
on_hup(void *arg)
{
	struct program *p = arg;
	struct error e = { 0 };

	if (load_secrets(p, &e))
		log_error("what was read before stays: %s", e.text);
	else
		log_notice("certificate, users and tokens were read again");
}

static void
on_usr1(void *arg)
{
	(void)arg;
	log_reopen();
}

static void
on_finished(void *arg)
{
	struct program *p = arg;

	loop_stop(p->gateway.loop);
}

/* A second signal ends it at once. */
static void
on_term(void *arg)
{
	struct program *p = arg;

	if (p->stopping) {
		loop_stop(p->gateway.loop);
		return;
	}
	p->stopping = true;
	log_notice("ending, when what is under way is answered");
	server_finish(p->server, on_finished, p);
}

static int
take_signals(struct program *p, struct error *e)
{
	struct loop *l = p->gateway.loop;

	signal(SIGPIPE, SIG_IGN);
	if (loop_signal(l, SIGHUP, on_hup, p) || loop_signal(l, SIGUSR1, on_usr1, p) ||
	    loop_signal(l, SIGTERM, on_term, p) || loop_signal(l, SIGINT, on_term, p))
		return error_set(e, ERR_IO, "signals cannot be watched");
	return 0;
}

/* ---- The program ---- */

static int
start(struct program *p, struct error *e)
{
	const struct options *o = &p->options;
	const struct server_limits limits = {
		.connections = o->connections, .requests = o->requests, .body = BODY_MAX,
		.receive = o->receive, .idle = IDLE_LIMIT, .send = SEND_LIMIT,
	};
	int rc = 0;

	if (strlen(o->socket) >= sizeof(((struct sockaddr_un *)NULL)->sun_path))
		return error_set(e, ERR_INVALID, "the socket's path is too long: %s", o->socket);
	p->gateway.loop = loop_new_event();
	p->gateway.control = control_new(p->gateway.loop, o->socket);
	p->gateway.subnet = o->subnet;
	p->gateway.patience = o->patience;
	p->server = server_new(p->gateway.loop, &limits, gateway_handle, &p->gateway);
	rc = take_signals(p, e);
	rc = rc ? rc : load_secrets(p, e);
	rc = rc ? rc : listen_on_all(p, e);
	rc = rc ? rc : drop_rights(o, e);
	return rc ? rc : log_open(o->log, (enum log_level)o->level, e);
}

static void
end(struct program *p)
{
	server_free(p->server);
	control_free(p->gateway.control);
	auth_unref(p->gateway.auth);
	if (p->gateway.loop)
		loop_free(p->gateway.loop);
}

int
main(int argc, char **argv)
{
	struct program p = { 0 };
	struct error e = { 0 };
	int rc = options_parse(&p.options, argc, argv);

	if (rc >= 0)
		return rc;
	json_object_seed(0);
	rc = start(&p, &e) ? complain(&e) : 0;
	if (!rc) {
		log_notice("weft-gateway %s is ready", WEFT_VERSION);
		loop_run(p.gateway.loop);
		log_notice("ended");
	}
	end(&p);
	return rc;
}
