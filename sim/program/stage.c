/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/program/stage.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "sim/control/capture.h"
#include "sim/program/cmd.h"

/*
 * A simulation on an event loop, with the socket that programs attach to. Everything is read and
 * checked before the socket is opened: whoever can connect finds the whole fabric.
 */
#define DEVICE_QUANTUM 0xd2f0u	/* NodeInfo.DeviceID of a switch that routes adaptively */
#define SCRIPT_MAX (64u << 20)	/* bytes of a script */

const char stage_help[] =
	"FABRIC is a file as ibnetdiscover prints it, \"-\" for standard input, or a recipe of\n"
	"\"weftsim generate\" in one word: \"fat-tree 8\" or ft3:8.\n\n"
	"  --script FILE        commands with times; weftsim(1) tells how they look\n"
	"  --seed N             of all that is drawn: lost MADs, random flaps, missing cables\n"
	"  --speed RATE         of the cables of a recipe, 4xEDR if not given\n"
	"  --adaptive LIST      switches route adaptively: \"on\", or NAME=VALUE,... as in\n"
	"                       weftsim(1): switches=all, features=ar+fr, group_cap=512\n"
	"  --latency            MADs take time on cables and in devices\n"
	"  --like-ibsim         capabilities and LIDs as packaged ibsim has them\n"
	"  --log FILE           what happens to the fabric, a line each; \"-\": standard output\n"
	"  --capture FILE       every MAD: as pcap, or as text where FILE ends in .txt\n";

static int
set_adaptive(struct stage_options *o, const char *value)
{
	struct error e = { 0 };

	o->adaptive = true;
	o->ar = ar_options_default;
	if (strcmp(value, "on") && ar_options_parse(&o->ar, value, &e) < 0)
		return cmd_complain("--adaptive", e.text);
	return CMD_DONE;
}

bool
stage_option(struct stage_options *o, int c, const char *value, int *rc)
{
	*rc = CMD_DONE;
	switch (c) {
	case 'A':
		*rc = set_adaptive(o, value);
		return true;
	case 'C':
		o->capture = value;
		return true;
	case 'L':
		o->latency = true;
		return true;
	case 'I':
		o->model.like_ibsim = true;
		return true;
	case 'l':
		o->log = value;
		return true;
	case 'f':
		o->script = value;
		return true;
	case 'S':
		if (!number_parse(value, 0, UINT64_MAX, &o->model.seed))
			*rc = cmd_complain("--seed takes a number, not", value);
		o->recipe.seed = o->model.seed;
		return true;
	case 'r':
		if (!link_parse(value, &o->recipe.width, &o->recipe.speed))
			*rc = cmd_complain("--speed takes " LINK_WORDS ", not", value);
		return true;
	}
	return false;
}

/* ---- The event log ---- */

static void
on_line(void *arg, const char *line)
{
	fprintf(arg, "%s\n", line);
}

static int
open_log(struct stage *g, const char *path, struct error *e)
{
	g->log = strcmp(path, "-") == 0 ? stdout : fopen(path, "we");
	if (!g->log)
		return error_set(e, ERR_IO, "the log %s cannot be written: %s", path,
				 strerror(errno));
	setvbuf(g->log, NULL, _IOLBF, BUFSIZ);
	sim_log(g->sim, on_line, g->log);
	return 0;
}

static int
close_log(struct stage *g, struct error *e)
{
	bool bad;

	if (!g->log)
		return 0;
	if (g->sim)
		sim_log(g->sim, NULL, NULL);
	bad = ferror(g->log) != 0;
	if (g->log != stdout && fclose(g->log) != 0)
		bad = true;
	g->log = NULL;
	return bad ? error_set(e, ERR_IO, "not all of the log could be written") : 0;
}

/* ---- The script ---- */

static int
read_file(struct buf *b, const char *path, struct error *e)
{
	char piece[65536];
	FILE *f = fopen(path, "re");
	size_t n;
	int rc = 0;

	if (!f)
		return error_set(e, ERR_IO, "the script %s cannot be read: %s", path,
				 strerror(errno));
	while ((n = fread(piece, 1, sizeof(piece), f)) > 0 && b->len <= SCRIPT_MAX)
		buf_add(b, piece, n);
	if (ferror(f))
		rc = error_set(e, ERR_IO, "the script %s cannot be read: %s", path,
			       strerror(errno));
	else if (b->len > SCRIPT_MAX)
		rc = error_set(e, ERR_FULL, "the script %s is longer than %u MiB", path,
			       SCRIPT_MAX >> 20);
	fclose(f);
	return rc;
}

static int
start_script(struct sim *s, const char *path, struct error *e)
{
	struct buf b = { 0 };
	int rc = read_file(&b, path, e);

	if (!rc && b.len)
		rc = sim_script(s, b.data, b.len, path, e);
	buf_free(&b);
	return rc;
}

/* ---- All of it ---- */

static void
stop_loop(void *arg)
{
	loop_stop(arg);
}

static void
on_quit(void *arg)
{
	struct stage *g = arg;

	loop_post(g->loop, stop_loop, g->loop);
}

/* Devices of recipes, and of files that do not say whose they are, are of the maker of those that
 * route adaptively; hosts, where they are to say something. */
static void
give_vendor(struct ibnet *net, bool hosts)
{
	for (uint32_t i = 0; i < net->nnodes; i++) {
		struct ibnet_node *n = &net->nodes[i];

		if ((n->type != IBNET_SWITCH && !hosts) || n->vendor_id)
			continue;
		n->vendor_id = AR_VENDOR;
		if (n->type == IBNET_SWITCH)
			n->device_id = DEVICE_QUANTUM;
	}
}

static int
open_parts(struct stage *g, const struct stage_options *o, const char *fabric, const char *socket,
	   struct error *e)
{
	struct model_options mo = o->model;
	struct ibnet *net;
	int rc;

	if ((rc = generate_or_read(&net, fabric, &o->recipe, e)) < 0)
		return rc;
	if (o->adaptive)
		give_vendor(net, o->ar.any_order);
	mo.instant = !o->latency;
	mo.ar = o->adaptive ? &o->ar : NULL;
	if ((rc = sim_new(&g->sim, g->loop, net, &mo, e)) < 0 ||
	    (o->log && (rc = open_log(g, o->log, e)) < 0) ||
	    (o->capture &&
	     (rc = sim_capture(g->sim, o->capture, capture_is_text(o->capture), e)) < 0) ||
	    (o->script && (rc = start_script(g->sim, o->script, e)) < 0))
		return rc;
	g->sim->host.quit = on_quit;
	g->sim->host.quit_arg = g;
	if (o->virtual_time)
		return 0;
	return server_new(&g->server, g->sim, socket, e);
}

int
stage_open(struct stage *g, const struct stage_options *o, const char *fabric, const char *socket,
	   struct error *e)
{
	int rc;

	memset(g, 0, sizeof(*g));
	g->loop = o->virtual_time ? loop_new_virtual(o->model.seed) : loop_new_event();
	rc = open_parts(g, o, fabric, socket, e);
	if (rc < 0)
		stage_close(g, NULL);
	return rc;
}

void
stage_signal(struct stage *g, int signo, void (*fn)(void *arg), void *arg)
{
	struct sigaction now;

	if (sigaction(signo, NULL, &now) == 0 && now.sa_handler == SIG_IGN)
		return;
	loop_signal(g->loop, signo, fn, arg);
}

void
stage_shield(bool on)
{
	signal(SIGPIPE, on ? SIG_IGN : SIG_DFL);
	signal(SIGXFSZ, on ? SIG_IGN : SIG_DFL);
}

int
stage_close(struct stage *g, struct error *e)
{
	int rc, log;

	server_free(g->server);
	rc = g->sim ? sim_capture_end(g->sim, e) : 0;
	log = close_log(g, rc ? NULL : e);
	sim_free(g->sim);
	loop_free(g->loop);
	memset(g, 0, sizeof(*g));
	return rc < 0 ? rc : log;
}
