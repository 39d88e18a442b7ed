/* SPDX-License-Identifier: BSD-2-Clause */
#include "gateway/auth.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

/* Who may ask. The hashes of "secret" are of other programs: openssl passwd -6, and the crypt of
 * Python with a salt of bcrypt's. */
#define SHA512 "$6$abcdefgh$ltjgWl6579NluT/Vi1nwEvcil.G5Nbc4NiXZaNGStk8PSwGfQv72N2CKPPrVACtLtip/" \
	       "cZ/1GM/O6IND4WQhG."
#define BCRYPT "$2b$05$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a"
#define TOKEN "0123456789abcdef0123"
/* base64 of "k8s:secret", "k8s:wrong", "ci:secret", "nobody:secret", "nocolon" */
#define K8S "Basic azhzOnNlY3JldA=="
#define K8S_WRONG "Basic azhzOndyb25n"
#define CI "basic Y2k6c2VjcmV0"
#define NOBODY "Basic bm9ib2R5OnNlY3JldA=="
#define NO_COLON "Basic bm9jb2xvbg=="

static char folder[] = "/tmp/weft-auth-XXXXXX";
static char users[64], tokens[64];

static void
write_file(const char *path, const char *text, mode_t mode)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	assert_int_equal(chmod(path, mode), 0);
}

struct outcome {
	unsigned times;
	enum auth_verdict verdict;
	char name[32];
	bool read_only;
};

static void
on_verdict(void *arg, const struct auth_outcome *o)
{
	struct outcome *out = arg;

	out->times++;
	out->verdict = o->verdict;
	out->read_only = o->read_only;
	snprintf(out->name, sizeof(out->name), "%s", o->name ? o->name : "");
}

static struct outcome
check(struct loop *l, struct auth *a, const char *authorization)
{
	struct outcome o = { 0 };

	auth_check(a, authorization, on_verdict, &o);
	loop_run_until(l, loop_now(l) + SEC(5), NULL);
	assert_int_equal(o.times, 1);
	return o;
}

static void
expect(struct loop *l, struct auth *a, const char *authorization, const char *name, bool read_only)
{
	struct outcome o = check(l, a, authorization);

	assert_int_equal(o.verdict, name ? AUTH_GRANTED : AUTH_DENIED);
	assert_string_equal(o.name, name ? name : "");
	assert_int_equal(o.read_only, read_only);
}

static void
test_credentials(void **state)
{
	struct loop *l = loop_new_virtual(1);
	struct error e = { 0 };
	struct auth *a;

	(void)state;
	write_file(users, "# who\n\nk8s:" SHA512 "\nci:" BCRYPT ":read-only\r\n", 0600);
	write_file(tokens, "tool:" TOKEN "\nseer:" TOKEN "4:read-only\n", 0640);
	a = auth_load(l, users, tokens, &e);
	assert_non_null(a);
	for (unsigned round = 0; round < 2; round++) {	/* hashed, and known */
		expect(l, a, K8S, "k8s", false);
		expect(l, a, K8S_WRONG, NULL, false);
		expect(l, a, CI, "ci", true);
		expect(l, a, NOBODY, NULL, false);
	}
	expect(l, a, "Bearer " TOKEN, "tool", false);
	expect(l, a, "bearer " TOKEN "4", "seer", true);
	expect(l, a, "Bearer " TOKEN "5", NULL, false);
	expect(l, a, "Bearer ", NULL, false);
	expect(l, a, NO_COLON, NULL, false);
	expect(l, a, "Basic !!!!", NULL, false);
	expect(l, a, "Basic azh", NULL, false);
	expect(l, a, "Basic " TOKEN, NULL, false);
	expect(l, a, "Digest x", NULL, false);
	expect(l, a, "", NULL, false);
	auth_unref(a);
	loop_free(l);
}

/* One check for all that come with the same; more passwords than are checked at a time are told. */
static void
test_many(void **state)
{
	struct loop *l = loop_new_virtual(1);
	struct error e = { 0 };
	struct outcome same[100] = { { 0 } }, others[100] = { { 0 } };
	struct auth *a;
	unsigned busy = 0;

	(void)state;
	write_file(users, "k8s:" BCRYPT "\n", 0600);
	a = auth_load(l, users, NULL, &e);
	assert_non_null(a);
	for (unsigned i = 0; i < 100; i++)
		auth_check(a, K8S, on_verdict, &same[i]);
	for (unsigned i = 0; i < 100; i++) {
		char text[40];

		/* base64 of "k8s:00" and three more bytes */
		snprintf(text, sizeof(text), "Basic azhzOjAw%c%cFh", 'a' + i / 10, 'a' + i % 10);
		auth_check(a, text, on_verdict, &others[i]);
	}
	loop_run_until(l, loop_now(l) + SEC(60), NULL);
	for (unsigned i = 0; i < 100; i++) {
		assert_int_equal(same[i].times + others[i].times, 2);
		assert_int_equal(same[i].verdict, AUTH_GRANTED);
		assert_int_not_equal(others[i].verdict, AUTH_GRANTED);
		busy += others[i].verdict == AUTH_BUSY;
	}
	assert_true(busy > 0);
	auth_unref(a);
	loop_free(l);
}

static void
bad(struct loop *l, const char *text, bool as_tokens, mode_t mode, const char *sentence)
{
	const char *path = as_tokens ? tokens : users;
	struct error e = { 0 };

	write_file(path, text, mode);
	assert_null(auth_load(l, as_tokens ? NULL : path, as_tokens ? path : NULL, &e));
	if (!strstr(e.text, sentence))
		fail_msg("\"%s\" does not say \"%s\"", e.text, sentence);
}

static void
test_files(void **state)
{
	struct loop *l = loop_new_virtual(1);
	struct error e = { 0 };

	(void)state;
	bad(l, "k8s:" BCRYPT "\n", false, 0644, "can be read");
	bad(l, "k8s:" BCRYPT "\n", false, 0620, "written");
	bad(l, "k8s:secret\n", false, 0600, "users:1: this is no hash");
	bad(l, "k8s:$apr1$abcdefgh$abcdefghabcdefghabcdef\n", false, 0600, "htpasswd -B");
	bad(l, "k8s\n", false, 0600, "NAME:SECRET");
	bad(l, ":" BCRYPT "\n", false, 0600, "NAME:SECRET");
	bad(l, "a:" BCRYPT "\na:" SHA512 "\n", false, 0600, "users:2: the name is there");
	bad(l, "a:" BCRYPT ":write\n", false, 0600, "read-only");
	bad(l, "# nobody\n", false, 0600, "names nobody");
	bad(l, "a:short\n", true, 0600, "16 characters");
	assert_null(auth_load(l, "/nowhere/users", NULL, &e));
	assert_non_null(strstr(e.text, "No such file"));
	assert_null(auth_load(l, folder, NULL, &e));
	assert_non_null(strstr(e.text, "no file"));
	loop_free(l);
}

static int
make_folder(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	snprintf(users, sizeof(users), "%s/users", folder);
	snprintf(tokens, sizeof(tokens), "%s/tokens", folder);
	return 0;
}

static int
remove_folder(void **state)
{
	(void)state;
	unlink(users);
	unlink(tokens);
	return rmdir(folder);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_credentials), cmocka_unit_test(test_many),
		cmocka_unit_test(test_files),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
