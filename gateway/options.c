/* SPDX-License-Identifier: BSD-2-Clause */
#include "gateway/gateway.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sm/base/frame.h"
#include "sm/base/text.h"
#include "sm/base/version.h"

/*
 * The command line of weft-gateway. What an option means for safety is judged where it matters
 * (main.c); here it is read.
 */
#define USAGE 2

static void
usage(FILE *out)
{
	fputs("usage: weft-gateway --users FILE | --tokens FILE | --no-auth [OPTION...]\n"
	      "\n"
	      "Who may ask\n"
	      "      --users FILE       lines NAME:HASH, of crypt(5) (mkpasswd, htpasswd -B)\n"
	      "      --tokens FILE      lines NAME:TOKEN; in both files :read-only may follow\n"
	      "      --no-auth          everybody on this machine; on loopback only\n"
	      "Where\n"
	      "      --listen ADDR[:PORT]  127.0.0.1 and [::1], port " GATEWAY_PORT ", else;\n"
	      "                         other addresses need TLS; may be given several times\n"
	      "      --tls-cert FILE    certificate, and those up to its root (PEM)\n"
	      "      --tls-key FILE     its key (PEM)\n"
	      "The daemon\n"
	      "  -s, --socket PATH      its control socket\n"
	      "      --subnet NAME      where it has several\n"
	      "      --patience TIME    for its answer to one request (30s)\n"
	      "The process\n"
	      "      --user NAME        whom to become after the start, as root\n"
	      "      --log TO           stderr, journal, or a file (stderr)\n"
	      "      --level LEVEL      error, warning, notice, info (each request), debug (info)\n"
	      "      --connections N    at a time (256)\n"
	      "      --requests N       at a time (128)\n"
	      "      --receive TIME     for a request to come whole (15s)\n"
	      "  -h, --help             this text\n"
	      "  -V, --version          the version\n"
	      "\n"
	      "Signals: HUP reads certificate, key, users and tokens again, USR1 reopens the log\n"
	      "file, TERM and INT end it when what is under way is answered.\n"
	      "See weft-gateway(8), weftd(8).\n", out);
}

enum {
	OPT_USERS = 256, OPT_TOKENS, OPT_NO_AUTH, OPT_LISTEN, OPT_CERT, OPT_KEY, OPT_SUBNET,
	OPT_PATIENCE, OPT_RECEIVE, OPT_USER, OPT_LOG, OPT_LEVEL, OPT_CONNECTIONS, OPT_REQUESTS,
};

static const struct option options[] = {
	{ "users", required_argument, NULL, OPT_USERS },
	{ "tokens", required_argument, NULL, OPT_TOKENS },
	{ "no-auth", no_argument, NULL, OPT_NO_AUTH },
	{ "listen", required_argument, NULL, OPT_LISTEN },
	{ "tls-cert", required_argument, NULL, OPT_CERT },
	{ "tls-key", required_argument, NULL, OPT_KEY },
	{ "socket", required_argument, NULL, 's' },
	{ "subnet", required_argument, NULL, OPT_SUBNET },
	{ "patience", required_argument, NULL, OPT_PATIENCE },
	{ "receive", required_argument, NULL, OPT_RECEIVE },
	{ "user", required_argument, NULL, OPT_USER },
	{ "log", required_argument, NULL, OPT_LOG },
	{ "level", required_argument, NULL, OPT_LEVEL },
	{ "connections", required_argument, NULL, OPT_CONNECTIONS },
	{ "requests", required_argument, NULL, OPT_REQUESTS },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ 0 },
};

static int
wrong(const char *what, const char *value, const char *expected)
{
	fprintf(stderr, "weft-gateway: --%s cannot be \"%s\": %s\n", what, value, expected);
	return USAGE;
}

static int
take_number(const char *name, const char *value, unsigned *to)
{
	uint64_t n;

	if (!number_parse(value, 1, 10000, &n))
		return wrong(name, value, "a number from 1 to 10000");
	*to = (unsigned)n;
	return -1;
}

static int
take_time(const char *name, const char *value, monotime *to)
{
	if (!duration_parse(value, to) || *to < MSEC(100) || *to > SEC(3600))
		return wrong(name, value, "a time from 100ms to 1h");
	return -1;
}

static int
take_value(struct options *o, int c, const char *value)
{
	switch (c) {
	case OPT_LISTEN:
		if (o->nlisten == GATEWAY_LISTEN_MAX)
			return wrong("listen", value, "there are too many");
		o->listen[o->nlisten++] = value;
		return -1;
	case OPT_PATIENCE:
		return take_time("patience", value, &o->patience);
	case OPT_RECEIVE:
		return take_time("receive", value, &o->receive);
	case OPT_LEVEL:
		o->level = log_level_parse(value);
		return o->level < 0 ?
			wrong("level", value, "error, warning, notice, info or debug") : -1;
	case OPT_CONNECTIONS:
		return take_number("connections", value, &o->connections);
	default:
		return take_number("requests", value, &o->requests);
	}
}

static int
take(struct options *o, int c, const char *value)
{
	const char **text = c == OPT_USERS ? &o->users : c == OPT_TOKENS ? &o->tokens :
			    c == OPT_CERT ? &o->cert : c == OPT_KEY ? &o->key :
			    c == 's' ? &o->socket : c == OPT_SUBNET ? &o->subnet :
			    c == OPT_USER ? &o->user : c == OPT_LOG ? &o->log : NULL;

	if (text) {
		*text = value;
	} else if (c == OPT_NO_AUTH) {
		o->no_auth = true;
	} else if (c == 'h') {
		usage(stdout);
		return 0;
	} else if (c == 'V') {
		puts("weft-gateway " WEFT_VERSION);
		return 0;
	} else if (c == '?') {
		fputs("weft-gateway: see weft-gateway --help\n", stderr);
		return USAGE;
	} else {
		return take_value(o, c, value);
	}
	return -1;
}

static int
judge(const struct options *o)
{
	const char *sentence = NULL;

	if (!o->cert != !o->key)
		sentence = "TLS needs --tls-cert and --tls-key";
	else if (o->no_auth && (o->users || o->tokens))
		sentence = "--no-auth and credentials exclude each other";
	else if (!o->no_auth && !o->users && !o->tokens)
		sentence = "nobody may ask: give --users or --tokens, or, for everybody on this "
			   "machine, --no-auth";
	if (!sentence)
		return -1;
	fprintf(stderr, "weft-gateway: %s\n", sentence);
	return USAGE;
}

int
options_parse(struct options *o, int argc, char **argv)
{
	const char *from_environment = getenv(FRAME_SOCKET_ENV);
	int c, rc;

	*o = (struct options){
		.socket = from_environment && *from_environment ? from_environment :
			  FRAME_DEFAULT_SOCKET,
		.log = "stderr", .level = LOG_L_INFO, .connections = 256, .requests = 128,
		.patience = SEC(30), .receive = SEC(15),
	};
	while ((c = getopt_long(argc, argv, "s:hV", options, NULL)) != -1) {
		rc = take(o, c, optarg);
		if (rc >= 0)
			return rc;
	}
	if (optind < argc) {
		fprintf(stderr, "weft-gateway: \"%s\" is one word too many\n", argv[optind]);
		return USAGE;
	}
	return judge(o);
}
