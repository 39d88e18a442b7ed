/* SPDX-License-Identifier: BSD-2-Clause */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "offline/offline.h"
#include "routing/report.h"
#include "sm/base/clock.h"
#include "sm/base/mem.h"
#include "sm/base/text.h"
#include "sm/base/version.h"
#include "sm/conf/config.h"

/*
 * The `weft-offline` program. People call `weft route FILE`, `weft check --dump DIR` and
 * `weft import opensm DIR`; what they wrote comes here as it is, and is checked here.
 */
static int
usage(void)
{
	fprintf(stderr, "usage: weft-offline route FILE [--engine NAME]... [--roots GUID,...] "
			"[--lmc N] [--file TABLES] [--config FILE]\n"
			"           [--storage SELECTION]... [--other SELECTION]... "
			"[--names FILE] [--adaptive GROUPS]\n"
			"           [--plugin FILE] [--option NAME=VALUE]... [--time-limit TIME] "
			"[--memory-limit MIB]\n"
			"           [--lfts OUT] [--dump DIR] [--threads N] [--seed N] "
			"[--no-quality]\n"
			"       weft-offline \"plugin test\" FILE [--option NAME=VALUE]... "
			"[--time-limit TIME] [--memory-limit MIB]\n"
			"       weft-offline check DIR [--names FILE] [--threads N] [--seed N] "
			"[--no-quality]\n"
			"       weft-offline \"import opensm\" DIR [--state FILE]\n"
			"People use weft route FILE, weft check --dump DIR and weft import opensm "
			"DIR instead.\n");
	return OFFLINE_USAGE;
}

static bool
add_engine(struct offline *o, const char *name)
{
	if (o->nengines == OFFLINE_ENGINES || !*name)
		return false;
	o->engines[o->nengines++] = name;
	return true;
}

static bool
add_setting(struct offline *o, const char *text)
{
	if (o->nsettings == OFFLINE_SETTINGS || !strchr(text, '='))
		return false;
	o->settings[o->nsettings++] = text;
	return true;
}

static bool
add_selection(const char **list, unsigned *len, const char *text)
{
	struct error e = { 0 };
	struct selection *s = *len < OFFLINE_SELECTIONS ? selection_new(text, &e) : NULL;

	if (s)
		list[(*len)++] = text;
	selection_free(s);
	return s;
}

/* GUIDs with commas between; `list` is cut up. */
static bool
add_roots(struct offline *o, char *list)
{
	char *save = NULL;
	uint64_t guid;

	for (char *s = strtok_r(list, ",", &save); s; s = strtok_r(NULL, ",", &save)) {
		if (!guid_parse(s, &guid) || !guid)
			return false;
		o->roots = mem_realloc(o->roots, o->nroots + 1u, sizeof(*o->roots));
		o->roots[o->nroots++] = guid;
	}
	return o->nroots;
}

static bool
take_number(const char *text, uint64_t max, unsigned *value)
{
	uint64_t n;

	if (!number_parse(text, 0, max, &n))
		return false;
	*value = (unsigned)n;
	return true;
}

static bool
take_time(const char *text, unsigned *ms)
{
	int64_t ns;

	if (!duration_parse(text, &ns) || ns < MSEC(1) || ns > SEC(3600))
		return false;
	*ms = (unsigned)(ns / MSEC(1));
	return true;
}

static const struct option longs[] = {
	{ "engine", required_argument, NULL, 'e' }, { "roots", required_argument, NULL, 'r' },
	{ "lmc", required_argument, NULL, 'l' }, { "lfts", required_argument, NULL, 'o' },
	{ "file", required_argument, NULL, 'f' }, { "threads", required_argument, NULL, 't' },
	{ "storage", required_argument, NULL, 'S' }, { "other", required_argument, NULL, 'O' },
	{ "seed", required_argument, NULL, 's' }, { "no-quality", no_argument, NULL, 'q' },
	{ "names", required_argument, NULL, 'n' }, { "dump", required_argument, NULL, 'd' },
	{ "samples", required_argument, NULL, 'm' }, { "config", required_argument, NULL, 'c' },
	{ "state", required_argument, NULL, 'a' }, { "adaptive", required_argument, NULL, 'A' },
	{ "plugin", required_argument, NULL, 'p' }, { "option", required_argument, NULL, 'P' },
	{ "time-limit", required_argument, NULL, 'T' },
	{ "memory-limit", required_argument, NULL, 'M' },
	{ "version", no_argument, NULL, 'V' }, { 0 },
};

#define SELECTION "a name, a GUID or a /regular expression/, 64 times at most"

/* NULL, or what would have been right. */
static const char *
take_option(struct offline *o, int letter, char *value)
{
	switch (letter) {
	case 'e':
		return add_engine(o, value) ? NULL : "the name of an engine, 16 times at most";
	case 'r':
		return add_roots(o, value) ? NULL : "GUIDs with commas between";
	case 'S':
		return add_selection(o->storage, &o->nstorage, value) ? NULL : SELECTION;
	case 'O':
		return add_selection(o->other, &o->nother, value) ? NULL : SELECTION;
	case 'l':
		return take_number(value, 7, &o->lmc) ? NULL : "a number from 0 to 7";
	case 'o':
		o->lfts = value;
		return NULL;
	case 'd':
		o->dump = value;
		return NULL;
	case 'm':
		return take_number(value, REPORT_SAMPLES_MAX, &o->samples) && o->samples ? NULL :
			"a number from 1 to 100000";
	case 'n':
		o->names = value;
		return NULL;
	case 'c':
		o->config = value;
		return NULL;
	case 'a':
		o->state = value;
		return *value ? NULL : "a file";
	case 'A':
		return take_number(value, AR_GROUPS_MAX, &o->adaptive) && o->adaptive ? NULL :
			"a number of groups from 1 to 4096";
	case 'p':
		o->plugin = value;
		return *value ? NULL : "the shared object of a plugin";
	case 'P':
		return add_setting(o, value) ? NULL : "NAME=VALUE, 64 times at most";
	case 'T':
		return take_time(value, &o->time_ms) ? NULL : "a time from 1ms to 1h, such as 30s";
	case 'M':
		return take_number(value, 1u << 20, &o->memory) && o->memory ? NULL :
			"a number of MiB from 1 to 1048576";
	case 'f':
		o->tables = value;
		return NULL;
	case 't':
		return take_number(value, 64, &o->threads) ? NULL : "a number from 0 to 64";
	case 's':
		return number_parse(value, 0, UINT64_MAX, &o->seed) ? NULL : "a number";
	default:
		o->quality = false;
		return NULL;
	}
}

/* 0, or an exit status. */
static int
take_options(struct offline *o, int argc, char **argv)
{
	const char *want;
	int letter, i;

	while ((letter = getopt_long(argc, argv, "V", longs, &i)) != -1) {
		if (letter == '?')
			return usage();
		if (letter == 'V') {
			printf("weft-offline %s\n", WEFT_VERSION);
			exit(0);
		}
		want = take_option(o, letter, optarg);
		if (!want)
			continue;
		fprintf(stderr, "weft: --%s cannot be \"%s\": it is %s\n", longs[i].name, optarg,
			want);
		return OFFLINE_USAGE;
	}
	return 0;
}

int
main(int argc, char **argv)
{
	struct offline o = { .lmc = OFFLINE_LMC_FREE, .seed = REPORT_SEED,
			     .time_ms = OFFLINE_TIME_MS, .memory = OFFLINE_MEMORY,
			     .quality = true };
	int status = take_options(&o, argc, argv);

	if (!status && argc - optind != 2)
		status = usage();
	if (!status) {
		o.path = argv[optind + 1];
		if (strcmp(argv[optind], "route") == 0)
			status = offline_route(&o);
		else if (strcmp(argv[optind], "plugin test") == 0)
			status = offline_plugin_test(&o);
		else if (strcmp(argv[optind], "check") == 0)
			status = offline_check(&o);
		else if (strcmp(argv[optind], "import opensm") == 0)
			status = offline_import(&o);
		else
			status = usage();
	}
	mem_free(o.roots);
	return status;
}
