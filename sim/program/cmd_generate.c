/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include "sim/control/words.h"
#include "sim/generate/generate.h"
#include "sim/program/cmd.h"
#include "sm/base/buf.h"

/* weftsim generate: a fabric by recipe, printed as ibnetdiscover text. */
static int
usage(FILE *out, int status)
{
	fprintf(out, "usage: weftsim generate TYPE NUMBERS... [OPTIONS]\n"
		"       weftsim generate TYPE:NUMBER:... [OPTIONS]\n\n"
		"Print a fabric as ibnetdiscover text. Types:\n%s\n"
		"  --speed RATE      of every cable, 4xEDR if not given\n"
		"  --parallel N      N cables for each one between switches\n"
		"  --missing N       leave out N cables between switches, or N%% of them, by seed\n"
		"  --names site      names as a site has them, instead of places in the shape\n"
		"  --shuffle-guids   GUIDs in random order instead of the nodes' order\n"
		"  --seed N          of missing cables and of that order\n", generate_help);
	return status;
}

static int
print(const struct ibnet *net)
{
	struct buf b = { 0 };
	int rc = CMD_DONE;

	ibnet_write(&b, net);
	if (fwrite(b.data, 1, b.len, stdout) != b.len || fflush(stdout) != 0) {
		fprintf(stderr, "weftsim: cannot write the fabric: %s\n", strerror(errno));
		rc = CMD_REFUSED;
	}
	buf_free(&b);
	return rc;
}

/* "12", or "1.5%". */
static bool
parse_missing(const char *text, struct generate_options *o)
{
	double share;
	uint64_t n;

	if (number_parse(text, 0, UINT32_MAX, &n)) {
		o->missing = (unsigned)n;
		return true;
	}
	if (!strchr(text, '%') || !decimal_parse(text, 0, 100, &share))
		return false;
	o->missing_ppm = (unsigned)(share * 10000 + .5);
	return true;
}

static int
option(int c, const char *arg, struct generate_options *o)
{
	uint64_t n;

	switch (c) {
	case 'g':
		o->shuffle_guids = true;
		return 0;
	case 's':
		if (number_parse(arg, 0, UINT64_MAX, &o->seed))
			return 0;
		return cmd_complain("--seed takes a number, not", arg);
	case 'r':
		if (link_parse(arg, &o->width, &o->speed))
			return 0;
		return cmd_complain("--speed takes " LINK_WORDS ", not", arg);
	case 'p':
		if (number_parse(arg, 1, 64, &n)) {
			o->parallel = (unsigned)n;
			return 0;
		}
		return cmd_complain("--parallel takes a number of 1 to 64, not", arg);
	case 'm':
		if (parse_missing(arg, o))
			return 0;
		return cmd_complain("--missing takes a number of cables or a share such as 1.5%, "
				    "not", arg);
	case 'n':
		o->site_names = !strcmp(arg, "site");
		if (o->site_names || !strcmp(arg, "plain"))
			return 0;
		return cmd_complain("--names takes plain or site, not", arg);
	default:
		return CMD_USAGE;
	}
}

int
cmd_generate(int argc, char **argv)
{
	static const struct option options[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "missing", required_argument, NULL, 'm' },
		{ "names", required_argument, NULL, 'n' },
		{ "parallel", required_argument, NULL, 'p' },
		{ "seed", required_argument, NULL, 's' },
		{ "shuffle-guids", no_argument, NULL, 'g' },
		{ "speed", required_argument, NULL, 'r' },
		{ NULL, 0, NULL, 0 },
	};
	struct generate_options o = { 0 };
	struct error e = { 0 };
	struct ibnet *net;
	int c, rc;

	while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (c == 'h')
			return usage(stdout, CMD_DONE);
		if ((rc = option(c, optarg, &o)) != 0)
			return rc;
	}
	if (optind == argc)
		return cmd_complain("generate takes a type of fabric; see weftsim generate --help",
				    NULL);
	if (optind + 1 == argc && strpbrk(argv[optind], ":,"))
		rc = generate_words(&net, argv[optind], &o, &e);
	else
		rc = generate(&net, argv[optind], (unsigned)(argc - optind) - 1,
			      argv + optind + 1, &o, &e);
	if (rc < 0)
		return cmd_complain(e.text, NULL);
	rc = print(net);
	ibnet_free(net);
	return rc;
}
