/* SPDX-License-Identifier: BSD-2-Clause */
#include "gateway/auth.h"

#include <crypt.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "sm/base/buf.h"
#include "sm/base/list.h"
#include "sm/base/log.h"
#include "sm/base/mem.h"

/*
 * Credentials. A good hash of a password takes a tenth of a second to compute, so a worker does it,
 * once: of a password that was right we keep a keyed digest (HMAC-SHA-256, the key is random and of
 * this process), and what has the same digest is right as well. A name that is not there is hashed
 * all the same, so that time does not tell which names there are. Requests that come with the same
 * credentials while these are being checked wait for that one check. Tokens are compared by their
 * digests, each with all, so that time tells nothing of them either.
 *
 * One struct auth is one reading of the files. A check holds a reference, so that the files may be
 * read again meanwhile.
 */
#define FILE_MAX (1u << 20)	/* bytes of a file */
#define DIGEST 32u		/* bytes */
#define CHECKS 16u		/* passwords with the worker at a time */
#define SECRET_MAX 512u		/* bytes of a password or token, with its name */

struct account {
	char *name;		/* owned */
	char *hash;		/* of the password; NULL: it has a token */
	unsigned char digest[DIGEST];	/* of the token, or of what was right before */
	bool known;		/* there is such a digest */
	bool read_only;
};

struct auth {
	unsigned refs;		/* the owner, and checks */
	struct loop *loop;	/* borrowed */
	bool open;		/* everybody is granted all */
	unsigned char key[DIGEST];	/* of the digests */
	struct account *accounts;
	unsigned naccounts;
	struct list checks;	/* under way */
	unsigned nchecks;
};

struct waiter {
	struct list list;	/* in the check's */
	auth_done done;
	void *arg;
};

struct check {
	struct list list;		/* in auth's */
	struct auth *auth;		/* reference held */
	unsigned account;		/* which; naccounts: none has the name */
	unsigned char digest[DIGEST];	/* of the credentials */
	char *password;			/* the worker's; wiped when it is done */
	const char *hash;		/* borrowed from `auth`, which does not change it */
	bool right;			/* what the worker found */
	struct list waiters;
};

/* ---- The files ---- */

static void
digest_of(const struct auth *a, const char *text, size_t len, unsigned char digest[DIGEST])
{
	unsigned size = DIGEST;

	HMAC(EVP_sha256(), a->key, sizeof(a->key), (const unsigned char *)text, len, digest, &size);
}

struct auth *
auth_new(struct loop *l)
{
	struct auth *a = mem_zalloc(sizeof(*a));

	a->refs = 1;
	a->loop = l;
	list_init(&a->checks);
	/* Without random numbers nothing that follows is worth anything. */
	if (RAND_bytes(a->key, sizeof(a->key)) != 1) {
		log_error("there are no random numbers to be had");
		_exit(1);
	}
	return a;
}

struct auth *
auth_ref(struct auth *a)
{
	a->refs++;
	return a;
}

void
auth_unref(struct auth *a)
{
	if (!a || --a->refs)
		return;
	for (unsigned i = 0; i < a->naccounts; i++) {
		mem_free(a->accounts[i].name);
		mem_free(a->accounts[i].hash);
	}
	OPENSSL_cleanse(a->key, sizeof(a->key));
	mem_free(a->accounts);
	mem_free(a);
}

static int
bad_line(struct error *e, const char *file, unsigned line, const char *why)
{
	return error_set(e, ERR_FORMAT, "%s:%u: %s", file, line, why);
}

/* A hash that this machine's crypt(3) can make. */
static bool
hash_is_good(const char *hash)
{
	int rc = crypt_checksalt(hash);

	return hash[0] == '$' && strlen(hash) > 20 &&
	       (rc == CRYPT_SALT_OK || rc == CRYPT_SALT_TOO_CHEAP);
}

static struct account *
account_add(struct auth *a, const char *name)
{
	a->accounts = mem_realloc(a->accounts, a->naccounts + 1u, sizeof(*a->accounts));
	a->accounts[a->naccounts] = (struct account){ .name = mem_strdup(name) };
	return &a->accounts[a->naccounts++];
}

static const struct account *
by_name(const struct auth *a, const char *name)
{
	for (unsigned i = 0; i < a->naccounts; i++)
		if (a->accounts[i].hash && !strcmp(a->accounts[i].name, name))
			return &a->accounts[i];
	return NULL;
}

/* NAME:SECRET[:read-only], in a copy that is cut up. */
static int
parse_line(struct auth *a, char *line, bool tokens, const char *file, unsigned n, struct error *e)
{
	char *secret = strchr(line, ':'), *more = secret ? strchr(secret + 1, ':') : NULL;
	struct account *account;

	if (!secret || secret == line)
		return bad_line(e, file, n, "a line is to be NAME:SECRET or NAME:SECRET:read-only");
	*secret++ = '\0';
	if (more)
		*more++ = '\0';
	if (more && strcmp(more, "read-only"))
		return bad_line(e, file, n, "nothing but read-only may follow the second colon");
	if (strlen(secret) >= SECRET_MAX)
		return bad_line(e, file, n, "the secret is too long");
	if (tokens && strlen(secret) < AUTH_TOKEN_MIN)
		return bad_line(e, file, n, "a token has 16 characters at least");
	if (!tokens && !hash_is_good(secret))
		return bad_line(e, file, n, "this is no hash of crypt(5), as mkpasswd and htpasswd "
				"-B make");
	if (!tokens && by_name(a, line))
		return bad_line(e, file, n, "the name is there already");
	account = account_add(a, line);
	account->read_only = more != NULL;
	account->known = tokens;
	if (tokens)
		digest_of(a, secret, strlen(secret), account->digest);
	else
		account->hash = mem_strdup(secret);
	return 0;
}

int
auth_parse(struct auth *a, const char *text, bool tokens, const char *file, struct error *e)
{
	unsigned before = a->naccounts;
	int rc = 0;

	for (unsigned n = 1; *text && !rc; n++) {
		size_t len = strcspn(text, "\n");
		char *line = mem_zalloc(len + 1);

		memcpy(line, text, len);
		if (len && line[len - 1] == '\r')
			line[len - 1] = '\0';
		if (line[0] && line[0] != '#')
			rc = parse_line(a, line, tokens, file, n, e);
		OPENSSL_cleanse(line, len);
		mem_free(line);
		text += len + (text[len] == '\n');
	}
	if (!rc && a->naccounts == before)
		return error_set(e, ERR_FORMAT, "%s names nobody", file);
	return rc;
}

/* Secrets that others can read, or replace, are none. */
static int
check_rights(int fd, const char *file, struct error *e)
{
	struct stat st;

	if (fstat(fd, &st))
		return error_set(e, ERR_IO, "%s: %s", file, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return error_set(e, ERR_INVALID, "%s is no file", file);
	if (st.st_mode & (S_IROTH | S_IWOTH | S_IWGRP))
		return error_set(e, ERR_REFUSED, "%s can be read or written by others than its "
				 "owner: chmod 0600 or 0640 it", file);
	if (st.st_size > (off_t)FILE_MAX)
		return error_set(e, ERR_INVALID, "%s is larger than a megabyte", file);
	return 0;
}

static int
load_file(struct auth *a, const char *file, bool tokens, struct error *e)
{
	char *text = mem_zalloc(FILE_MAX + 1u);
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK), rc;
	size_t len = 0;
	ssize_t n = 1;

	if (fd < 0) {
		mem_free(text);
		return error_set(e, ERR_IO, "%s: %s", file, strerror(errno));
	}
	rc = check_rights(fd, file, e);
	while (!rc && n > 0 && len < FILE_MAX) {
		n = read(fd, text + len, FILE_MAX - len);
		len += n > 0 ? (size_t)n : 0;
	}
	if (!rc && n < 0)
		rc = error_set(e, ERR_IO, "%s: %s", file, strerror(errno));
	else if (!rc && strlen(text) != len)
		rc = error_set(e, ERR_FORMAT, "%s is no text", file);
	if (!rc)
		rc = auth_parse(a, text, tokens, file, e);
	OPENSSL_cleanse(text, len);
	mem_free(text);
	close(fd);
	return rc;
}

struct auth *
auth_load(struct loop *l, const char *users, const char *tokens, struct error *e)
{
	struct auth *a = auth_new(l);

	a->open = !users && !tokens;
	if ((users && load_file(a, users, false, e)) || (tokens && load_file(a, tokens, true, e))) {
		auth_unref(a);
		return NULL;
	}
	return a;
}

/* ---- Passwords ---- */

static void
tell(const struct auth *a, unsigned account, enum auth_verdict verdict, auth_done done, void *arg)
{
	struct auth_outcome outcome = { .verdict = verdict };

	if (verdict == AUTH_GRANTED && account < a->naccounts) {
		outcome.name = a->accounts[account].name;
		outcome.read_only = a->accounts[account].read_only;
	}
	done(arg, &outcome);
}

static void
check_run(void *arg)
{
	struct check *c = arg;
	struct crypt_data *data = mem_zalloc(sizeof(*data));
	const char *made = crypt_r(c->password, c->hash, data);

	c->right = made && strlen(made) == strlen(c->hash) &&
		   !CRYPTO_memcmp(made, c->hash, strlen(made));
	OPENSSL_cleanse(c->password, strlen(c->password));
	OPENSSL_cleanse(data, sizeof(*data));
	mem_free(data);
}

static void
check_done(void *arg)
{
	struct check *c = arg;
	struct auth *a = c->auth;
	bool granted = c->right && c->account < a->naccounts;
	struct list *it;

	list_remove(&c->list);
	a->nchecks--;
	if (granted) {
		memcpy(a->accounts[c->account].digest, c->digest, DIGEST);
		a->accounts[c->account].known = true;
	}
	while ((it = list_pop(&c->waiters))) {
		struct waiter *w = list_entry(it, struct waiter, list);

		tell(a, c->account, granted ? AUTH_GRANTED : AUTH_DENIED, w->done, w->arg);
		mem_free(w);
	}
	mem_free(c->password);
	mem_free(c);
	auth_unref(a);
}

/* To be hashed with for a name that is not there: as long as for one that is. */
static const char *
any_hash(const struct auth *a)
{
	for (unsigned i = 0; i < a->naccounts; i++)
		if (a->accounts[i].hash)
			return a->accounts[i].hash;
	return "$6$weft$";
}

static struct check *
same_check(struct auth *a, unsigned account, const unsigned char digest[DIGEST])
{
	list_each(it, &a->checks) {
		struct check *c = list_entry(it, struct check, list);

		if (c->account == account && !CRYPTO_memcmp(c->digest, digest, DIGEST))
			return c;
	}
	return NULL;
}

static void
check_wait(struct check *c, auth_done done, void *arg)
{
	struct waiter *w = mem_zalloc(sizeof(*w));

	w->done = done;
	w->arg = arg;
	list_append(&c->waiters, &w->list);
}

static void
check_start(struct auth *a, unsigned account, const char *password,
	    const unsigned char digest[DIGEST], auth_done done, void *arg)
{
	struct check *c = mem_zalloc(sizeof(*c));

	c->auth = auth_ref(a);
	c->account = account;
	c->password = mem_strdup(password);
	c->hash = account < a->naccounts ? a->accounts[account].hash : any_hash(a);
	memcpy(c->digest, digest, DIGEST);
	list_init(&c->waiters);
	check_wait(c, done, arg);
	list_append(&a->checks, &c->list);
	a->nchecks++;
	loop_work(a->loop, check_run, check_done, c, MSEC(100));
}

/* `pair` is NAME:PASSWORD. */
static void
check_pair(struct auth *a, char *pair, auth_done done, void *arg)
{
	char *password = strchr(pair, ':');
	unsigned char digest[DIGEST];
	const struct account *found;
	struct check *same;
	unsigned account;

	if (!password) {
		tell(a, 0, AUTH_DENIED, done, arg);
		return;
	}
	digest_of(a, pair, strlen(pair), digest);
	*password++ = '\0';
	found = by_name(a, pair);
	account = found ? (unsigned)(found - a->accounts) : a->naccounts;
	same = same_check(a, account, digest);
	if (found && found->known && !CRYPTO_memcmp(found->digest, digest, DIGEST))
		tell(a, account, AUTH_GRANTED, done, arg);
	else if (same)
		check_wait(same, done, arg);
	else if (a->nchecks >= CHECKS)
		tell(a, 0, AUTH_BUSY, done, arg);
	else
		check_start(a, account, password, digest, done, arg);
}

static void
check_basic(struct auth *a, const char *text, auth_done done, void *arg)
{
	unsigned char pair[SECRET_MAX * 2 + 4] = { 0 };
	size_t len = strlen(text);
	int n = -1;

	if (len && len % 4 == 0 && len / 4 * 3 < sizeof(pair))
		n = EVP_DecodeBlock(pair, (const unsigned char *)text, (int)len);
	if (n > 0) {
		n -= text[len - 1] == '=';
		n -= text[len - 2] == '=';
		pair[n] = '\0';
	}
	if (n > 0 && strlen((char *)pair) == (size_t)n && n < (int)SECRET_MAX)
		check_pair(a, (char *)pair, done, arg);
	else
		tell(a, 0, AUTH_DENIED, done, arg);
	OPENSSL_cleanse(pair, sizeof(pair));
}

static void
check_token(const struct auth *a, const char *token, auth_done done, void *arg)
{
	unsigned found = a->naccounts;
	unsigned char digest[DIGEST];

	digest_of(a, token, strlen(token), digest);
	for (unsigned i = 0; i < a->naccounts; i++)
		if (!a->accounts[i].hash && !CRYPTO_memcmp(a->accounts[i].digest, digest, DIGEST))
			found = i;
	tell(a, found, found < a->naccounts ? AUTH_GRANTED : AUTH_DENIED, done, arg);
}

void
auth_check(struct auth *a, const char *authorization, auth_done done, void *arg)
{
	const char *rest = authorization + strcspn(authorization, " ");
	size_t len = (size_t)(rest - authorization);

	rest += strspn(rest, " ");
	if (a->open)
		tell(a, a->naccounts, AUTH_GRANTED, done, arg);
	else if (len == 5 && !strncasecmp(authorization, "Basic", len))
		check_basic(a, rest, done, arg);
	else if (len == 6 && !strncasecmp(authorization, "Bearer", len))
		check_token(a, rest, done, arg);
	else
		tell(a, a->naccounts, AUTH_DENIED, done, arg);
}
