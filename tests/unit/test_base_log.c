/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <pthread.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cmocka.h>

#include "sm/base/log.h"

/* The log: what lines look like, what hostile text turns into, limits, sinks, threads. */

static char dir[] = "/tmp/weft-log-XXXXXX";
static char path[64];		/* the log file, in `dir` */
static char text[200000];	/* what read_log() found */

static int
set_up(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/log", dir);
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	log_open("stderr", LOG_L_NOTICE, NULL);
	unlink(path);
	return rmdir(dir);
}

static const char *
read_file(const char *name)
{
	FILE *f = fopen(name, "r");
	size_t len;

	assert_non_null(f);
	len = fread(text, 1, sizeof(text) - 1, f);
	text[len] = '\0';
	fclose(f);
	return text;
}

static void
fresh_log(enum log_level level)
{
	struct error e;

	unlink(path);
	assert_int_equal(log_open(path, level, &e), 0);
}

static bool
matches(const char *s, const char *pattern)
{
	regex_t re;
	bool found;

	assert_int_equal(regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB), 0);
	found = regexec(&re, s, 0, NULL, 0) == 0;
	regfree(&re);
	return found;
}

/* The one line in the log, from behind its time and level. */
static const char *
one_line(void)
{
	char *s;

	read_file(path);
	s = strchr(text, '\n');
	assert_non_null(s);
	assert_string_equal(s, "\n");
	*s = '\0';
	s = strstr(text, " notice ");
	assert_non_null(s);
	return s + strlen(" notice ");
}

static size_t
lines(void)
{
	size_t n = 0;

	for (const char *s = read_file(path); (s = strchr(s, '\n')); s++)
		n++;
	return n;
}

static void
test_levels(void **state)
{
	(void)state;
	for (int i = LOG_L_ERROR; i <= LOG_L_DEBUG; i++)
		assert_int_equal(log_level_parse(log_level_name((enum log_level)i)), i);
	assert_int_equal(log_level_parse("notice"), LOG_L_NOTICE);
	assert_int_equal(log_level_parse("verbose"), -1);
	fresh_log(LOG_L_WARNING);
	assert_true(log_enabled(LOG_L_ERROR));
	assert_true(log_enabled(LOG_L_WARNING));
	assert_false(log_enabled(LOG_L_NOTICE));
	log_error("one");
	log_warning("two");
	log_notice("three");
	log_debug("four");
	assert_int_equal(lines(), 2);
	assert_true(matches(text, "^[0-9]{4}-[0-9]{2}-[0-9]{2}T"
			    "[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z error one\n"
			    "[^ ]+Z warning two\n$"));
}

/* A NodeDescription must not forge a line nor reach the terminal's interpreter. */
static void
test_hostile(void **state)
{
	(void)state;
	fresh_log(LOG_L_NOTICE);
	log_notice("node '%s'", "a\n2026 error b\r\t\x1b[2J\x7f\xff\xc2\x9b\xc3\xbc\xc3");
	assert_string_equal(one_line(), "node 'a\\n2026 error b\\r\\t\\x1b[2J\\x7f\\xff\\xc2\\x9b"
			    "\xc3\xbc\\xc3'");
}

static void
test_long_lines(void **state)
{
	static char big[10000];
	const char *s;

	(void)state;
	memset(big, 'x', sizeof(big) - 1);
	fresh_log(LOG_L_NOTICE);
	log_notice("%s", big);
	s = one_line();
	assert_in_range(strlen(s), 1000, 2100);
	assert_string_equal(s + strlen(s) - 4, "x...");
	memset(big, '\x01', sizeof(big) - 1);
	fresh_log(LOG_L_NOTICE);
	log_notice("%s", big);
	s = one_line();
	assert_in_range(strlen(s), 1000, 2100);
	assert_string_equal(s + strlen(s) - 7, "\\x01...");
}

static void
test_limit(void **state)
{
	struct log_limit limit = { 0 };

	(void)state;
	fresh_log(LOG_L_NOTICE);
	for (int i = 0; i < 25; i++)
		log_limited(&limit, LOG_L_WARNING, "trap %d", i);
	for (int i = 0; i < 5; i++)
		log_limited(&limit, LOG_L_DEBUG, "below the level: not counted");
	assert_int_equal(lines(), 10);
	assert_int_equal(limit.suppressed, 15);
	limit.window -= SEC(10);	/* as if ten seconds had passed */
	log_limited(&limit, LOG_L_WARNING, "trap 25");
	log_limited(&limit, LOG_L_WARNING, "trap 26");
	assert_int_equal(lines(), 12);
	assert_true(matches(text, "warning trap 25 \\(15 more held back\\)\n[^\n]*trap 26\n$"));
}

/* C5: a hundred thousand errors that say the same are a line each ten seconds, with their number,
 * and what else there is to say by the same limit is said. */
static void
test_equal_lines(void **state)
{
	struct log_limit limit = { 0 };

	(void)state;
	fresh_log(LOG_L_NOTICE);
	for (int i = 0; i < 100000; i++) {
		log_limited(&limit, LOG_L_ERROR, "port %d does not answer", 7);
		if (i == 50000)
			log_limited(&limit, LOG_L_ERROR, "port %d does not answer", 8);
	}
	assert_int_equal(lines(), 2);
	assert_true(matches(text, "error port 7 does not answer\n[^\n]*port 8 does not answer "
			    "\\(50000 more held back\\)\n$"));
	for (int i = 0; i < 3; i++) {
		limit.window -= SEC(10);	/* as if ten seconds had passed */
		for (int n = 0; n < 100; n++)
			log_limited(&limit, LOG_L_ERROR, "port 7 does not answer");
	}
	assert_int_equal(lines(), 5);
	assert_true(matches(text, "port 7 does not answer \\(49999 more held back\\)\n"
			    "[^\n]*port 7 does not answer \\(99 more held back\\)\n"
			    "[^\n]*port 7 does not answer \\(99 more held back\\)\n$"));
}

static void
test_reopen(void **state)
{
	char rotated[80];
	struct stat st;

	(void)state;
	fresh_log(LOG_L_NOTICE);
	log_notice("before");
	snprintf(rotated, sizeof(rotated), "%s.1", path);
	assert_int_equal(rename(path, rotated), 0);
	log_notice("still there");
	log_reopen();
	log_notice("after");
	assert_int_equal(lines(), 1);
	assert_non_null(strstr(text, "after"));
	assert_non_null(strstr(read_file(rotated), "still there"));
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 037, 0);	/* nobody else writes, others do not read */
	unlink(rotated);
	/* a file is appended to */
	assert_int_equal(log_open(path, LOG_L_NOTICE, NULL), 0);
	log_notice("again");
	assert_int_equal(lines(), 2);
}

static void
test_bad_file(void **state)
{
	struct error e;

	(void)state;
	fresh_log(LOG_L_NOTICE);
	assert_int_equal(log_open("/nonexistent/dir/log", LOG_L_DEBUG, &e), ERR_IO);
	assert_non_null(strstr(e.text, "/nonexistent/dir/log"));
	assert_false(log_enabled(LOG_L_DEBUG));
	log_notice("the old sink stays");
	assert_int_equal(lines(), 1);
}

/* Log to a file that stands for stderr; `stream` as systemd would say. */
static void
to_stderr(const char *to, const char *stream, void (*log)(void))
{
	int saved = dup(STDERR_FILENO);
	int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
	char value[64];
	struct stat st;

	assert_true(saved >= 0 && fd >= 0);
	dup2(fd, STDERR_FILENO);
	fstat(fd, &st);
	snprintf(value, sizeof(value), stream, (unsigned long)st.st_dev, (unsigned long)st.st_ino);
	setenv("JOURNAL_STREAM", value, 1);
	log_open(to, LOG_L_DEBUG, NULL);
	log();
	dup2(saved, STDERR_FILENO);
	close(fd);
	close(saved);
	unsetenv("JOURNAL_STREAM");
	read_file(path);
}

static void
log_each_level(void)
{
	for (int i = LOG_L_ERROR; i <= LOG_L_DEBUG; i++)
		log_write((enum log_level)i, "x");
}

/* Priorities of syslog(3): error 3, warning 4, notice 5, info 6, debug 7. */
static void
test_journal(void **state)
{
	(void)state;
	to_stderr("journal", "%lu:%lu", log_each_level);
	assert_string_equal(text, "<3>x\n<4>x\n<5>x\n<6>x\n<7>x\n");
	to_stderr("journal", "%lu:1%lu", log_each_level);
	assert_true(matches(text, "^2[^ ]+Z error x\n"));
	to_stderr("journal", "nonsense", log_each_level);
	assert_true(matches(text, "^2[^ ]+Z error x\n"));
	to_stderr("stderr", "%lu:%lu", log_each_level);
	assert_true(matches(text, "^2[^ ]+Z error x\n"));
}

static char sent[2000];		/* what the journal was given: a field a line */
static int journal_answer;	/* what it says to that */

static int
take_fields(const struct iovec *iov, int n)
{
	size_t used = 0;

	for (int i = 0; i < n; i++)
		used += (size_t)snprintf(sent + used, sizeof(sent) - used, "%.*s\n",
					 (int)iov[i].iov_len, (const char *)iov[i].iov_base);
	return journal_answer;
}

static void
log_an_event(void)
{
	static const struct log_field fields[] = {
		{ "WEFT_EVENT", "link-down" }, { "WEFT_GUID", "0x1\n2" }, { NULL, NULL },
	};
	struct log_limit limit = { 0 };

	sent[0] = '\0';
	log_fields(&limit, LOG_L_WARNING, fields, "%s\n", "gone");
}

/* systemd.journal-fields(7): MESSAGE, PRIORITY (warning is 4), and ours. */
static void
test_fields(void **state)
{
	(void)state;
	to_stderr("journal", "%lu:%lu", log_an_event);
	assert_string_equal(text, "<4>gone\\n\n");
	log_set_journal(take_fields);
	to_stderr("journal", "%lu:%lu", log_an_event);
	assert_string_equal(text, "");
	assert_string_equal(sent, "MESSAGE=gone\\n\nPRIORITY=4\nWEFT_EVENT=link-down\n"
			    "WEFT_GUID=0x1\n2\n");
	journal_answer = -1;
	to_stderr("journal", "%lu:%lu", log_an_event);
	assert_string_equal(text, "<4>gone\\n\n");
	to_stderr("stderr", "%lu:%lu", log_an_event);
	assert_true(matches(text, "^2[^ ]+Z warning gone.n\n$"));
	assert_string_equal(sent, "");
	log_set_journal(NULL);
}

enum { WRITERS = 4, LINES_EACH = 500 };

static void *
write_many(void *arg)
{
	char letter = *(char *)arg, word[41];

	memset(word, letter, 40);
	word[40] = '\0';
	for (int i = 0; i < LINES_EACH; i++)
		log_notice("%s", word);
	return NULL;
}

/* Lines of several threads do not mix. */
static void
test_threads(void **state)
{
	static char letters[WRITERS] = "abcd";
	size_t counts[WRITERS] = { 0 };
	pthread_t threads[WRITERS];
	char *save = NULL;

	(void)state;
	fresh_log(LOG_L_NOTICE);
	for (int i = 0; i < WRITERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, write_many, &letters[i]), 0);
	for (int i = 0; i < WRITERS; i++)
		pthread_join(threads[i], NULL);
	read_file(path);
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		const char *word = strrchr(line, ' ') + 1;

		assert_int_equal(strlen(word), 40);
		assert_int_equal(strspn(word, (char[]){ word[0], '\0' }), 40);
		counts[word[0] - 'a']++;
	}
	for (int i = 0; i < WRITERS; i++)
		assert_int_equal(counts[i], LINES_EACH);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_levels),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_long_lines),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_equal_lines),
		cmocka_unit_test(test_reopen),
		cmocka_unit_test(test_bad_file),
		cmocka_unit_test(test_journal),
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
