/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include "sim/generate.h"
#include "sm/base/version.h"

/*
 * weftsim, the simulated fabric's program. Commands are dispatched here; each reads its own
 * options. Exit status: 0 done, 1 could not write, 2 usage or impossible numbers.
 */
static int
usage(FILE *out, int status)
{
	fprintf(out, "usage: weftsim generate TYPE NUMBERS... [--seed N] [--shuffle-guids] "
		"[--speed 4xNDR]\n\n"
		"Print a fabric as ibnetdiscover text. Types:\n%s\n"
		"  --speed RATE      of every cable, 4xEDR if not given\n"
		"  --shuffle-guids   GUIDs in random order instead of the nodes' order\n"
		"  --seed N          of that order\n"
		"  --help, --version\n", generate_help);
	return status;
}

static int
complain(const char *what, const char *detail)
{
	fprintf(stderr, "weftsim: %s%s%s\n", what, detail ? ": " : "", detail ? detail : "");
	return 2;
}

static int
print(const struct ibnet *net)
{
	struct buf b = { 0 };
	int rc = 0;

	ibnet_write(&b, net);
	if (fwrite(b.data, 1, b.len, stdout) != b.len || fflush(stdout) != 0) {
		fprintf(stderr, "weftsim: cannot write the fabric: %s\n", strerror(errno));
		rc = 1;
	}
	buf_free(&b);
	return rc;
}

static int
run_generate(int argc, char **argv, const struct generate_options *o)
{
	struct error e = { 0 };
	struct ibnet *net;
	int rc;

	if (argc < 1)
		return complain("generate takes a type of fabric; see weftsim --help", NULL);
	if (generate(&net, argv[0], (unsigned)argc - 1, argv + 1, o, &e) < 0)
		return complain(e.text, NULL);
	rc = print(net);
	ibnet_free(net);
	return rc;
}

int
main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "seed", required_argument, NULL, 's' },
		{ "shuffle-guids", no_argument, NULL, 'g' },
		{ "speed", required_argument, NULL, 'r' },
		{ "version", no_argument, NULL, 'v' },
		{ NULL, 0, NULL, 0 },
	};
	struct generate_options o = { 0 };
	int c;

	while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (c == 'h')
			return usage(stdout, 0);
		if (c == 'v')
			return printf("weftsim " WEFT_VERSION "\n") < 0;
		if (c == 'g')
			o.shuffle_guids = true;
		else if (c == 's' && !number_parse(optarg, 0, UINT64_MAX, &o.seed))
			return complain("--seed takes a number, not", optarg);
		else if (c == 'r' && !link_parse(optarg, &o.width, &o.speed))
			return complain("--speed takes a rate such as 4xNDR, not", optarg);
		else if (c == '?')
			return 2;
	}
	if (optind == argc)
		return usage(stderr, 2);
	if (strcmp(argv[optind], "generate") != 0)
		return complain("there is no command of this name; see weftsim --help",
				argv[optind]);
	return run_generate(argc - optind - 1, argv + optind + 1, &o);
}
