/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "sm/base/buf.h"
#include "sm/base/log.h"
#include "sm/base/mem.h"
#include "sm/conf/config.h"
#include "sm/conf/schema.h"
#include "tests/unit/conf_help.h"

/*
 * The configuration and files: loading, the sample in etc/, the manual page, whose list of options
 * `UPDATE=1 test_conf_files` writes anew.
 */

static char *
read_file(const char *path)
{
	FILE *f = fopen(path, "r");
	struct buf b = { 0 };
	char block[4096];
	size_t n;

	if (!f)
		fail_msg("%s: run this from the top of the tree", path);
	while ((n = fread(block, 1, sizeof(block), f)) > 0)
		buf_add(&b, block, n);
	fclose(f);
	return b.data;
}

static void
write_to(const char *path, const char *text, mode_t mode)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	assert_int_equal(chmod(path, mode), 0);
}

static bool
warns(const char *file, const char *log, const char *text, mode_t mode)
{
	struct config *c;
	struct error e;
	char *said;
	bool found;

	write_to(file, text, mode);
	write_to(log, "", 0600);
	assert_int_equal(log_open(log, LOG_L_NOTICE, &e), 0);
	c = config_load(file, &e);
	assert_int_equal(log_open("stderr", LOG_L_NOTICE, &e), 0);
	assert_non_null(c);
	assert_string_equal(c->file, file);
	config_free(c);
	said = read_file(log);
	found = said && strstr(said, "any user may open it");
	mem_free(said);
	return found;
}

static void
test_files(void **state)
{
	char dir[] = "/tmp/test-conf-XXXXXX", file[64], log[64], want[160];
	struct error e;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(file, sizeof(file), "%s/weft.yaml", dir);
	snprintf(log, sizeof(log), "%s/log", dir);
	assert_null(config_load(file, &e));
	assert_int_equal(e.code, ERR_NOT_FOUND);
	snprintf(want, sizeof(want), "cannot read %s: No such file or directory", file);
	assert_string_equal(e.text, want);
	assert_null(config_load(dir, &e));
	assert_int_equal(e.code, ERR_IO);
	assert_true(warns(file, log, "subnets:\n  - m_key: 5\n", 0644));
	assert_false(warns(file, log, "subnets:\n  - m_key: 5\n", 0640));
	assert_false(warns(file, log, "subnets:\n  - lmc: 5\n", 0644));
	assert_true(warns(file, log, "qos: {congestion: {key: 5}}\n", 0644));
	write_to(file, "threads: x\n", 0600);
	assert_null(config_load(file, &e));
	snprintf(want, sizeof(want),
		 "%s:1:10: threads: expected a whole number from 0 to 64, found \"x\"", file);
	assert_string_equal(e.text, want);
	unlink(file);
	unlink(log);
	rmdir(dir);
}

/* What can be said and is not acted on yet does not run. */
static void
test_unbuilt(void **state)
{
	static const char *const texts[][2] = {
		{ "partitions: [{name: a, sl: 3}]\nqos: {levels: [{name: a, sl: 2}]}\n",
		  "partitions[a].sl: no level of qos.levels is given service level 3" },
	};
	char file[] = "/tmp/test-conf-XXXXXX", want[160];
	int fd = mkstemp(file);
	struct error e;

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		write_to(file, texts[i][0], 0600);
		assert_null(config_load(file, &e));
		assert_int_equal(e.code, ERR_UNSUPPORTED);
		snprintf(want, sizeof(want), "%s:1:1: %s", file, texts[i][1]);
		assert_string_equal(e.text, want);
	}
	unlink(file);
}

static void
test_sample(void **state)
{
	struct config *c, *d = config_load(NULL, NULL);
	char *text = read_file("etc/weft.yaml");

	(void)state;
	c = parse_ok(text);
	mem_free(text);
	assert_int_equal(config_diff(d, c, NULL, NULL), STAGE_NONE);	/* it shows the defaults */
	config_free(c);
	config_free(d);
}

/* Every "#option: value" of the sample is one that the parser takes. */
static void
test_sample_comments(void **state)
{
	char *text = read_file("etc/weft.yaml"), *to = text;
	struct config *c;

	(void)state;
	for (char *p = text; *p; p++) {
		bool start = p == text || p[-1] == '\n';
		char *hash = p + strspn(p, " ");

		if (start && *hash == '#' && hash[1] != ' ' && hash[1] != '\n') {
			memmove(to, p, (size_t)(hash - p));
			to += hash - p;
			p = hash + 1;
		}
		*to++ = *p;
	}
	*to = '\0';
	c = parse_ok(text);
	assert_int_equal(c->subnets->routing.nroots, 2);
	assert_string_equal(c->names, "/etc/weft/node-names");
	assert_int_equal(c->partitions.len, 2);
	assert_int_equal(c->qos.nrules, 2);
	assert_int_equal(c->nplugins, 1);
	config_free(c);
	mem_free(text);
}

#define BEGIN_MARK ".\\\" Options: written by UPDATE=1 test_conf_files.\n"
#define END_MARK ".\\\" End of options.\n"

static void
test_manual(void **state)
{
	const char *path = "docs/weft.yaml.5";
	char *page = read_file(path), *begin = strstr(page, BEGIN_MARK), *end, *made = NULL;
	size_t size;
	FILE *f;

	(void)state;
	assert_non_null(begin);
	begin += strlen(BEGIN_MARK);
	end = strstr(begin, END_MARK);
	assert_non_null(end);
	f = open_memstream(&made, &size);
	config_manual(f);
	fclose(f);
	if (getenv("UPDATE")) {
		f = fopen(path, "w");
		assert_non_null(f);
		fprintf(f, "%.*s%s%s", (int)(begin - page), page, made, end);
		fclose(f);
	} else if (size != (size_t)(end - begin) || memcmp(begin, made, size) != 0) {
		fail_msg("%s is out of date: UPDATE=1 build/test_conf_files writes it anew", path);
	}
	for (const struct option *o = schema_subnet; o->name; o++) {
		char item[64];

		snprintf(item, sizeof(item), "subnets[].%s\n", o->name);
		assert_non_null(strstr(made, item));
	}
	free(made);
	mem_free(page);
}

#define EXAMPLE_MARK ".\\\" A configuration:\n.Bd -literal -offset indent\n"

/* What the manual page shows can be used. */
static void
test_manual_examples(void **state)
{
	char *page = read_file("docs/weft.yaml.5"), *at = page, *end;
	unsigned examples = 0;

	(void)state;
	while ((at = strstr(at, EXAMPLE_MARK))) {
		at += strlen(EXAMPLE_MARK);
		end = strstr(at, ".Ed\n");
		assert_non_null(end);
		*end = '\0';
		config_free(parse_ok(at));
		at = end + 1;
		examples++;
	}
	assert_int_equal(examples, 8);
	mem_free(page);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_unbuilt),
		cmocka_unit_test(test_sample),
		cmocka_unit_test(test_sample_comments),
		cmocka_unit_test(test_manual),
		cmocka_unit_test(test_manual_examples),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
