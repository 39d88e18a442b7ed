/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GATEWAY_AUTH_H
#define GATEWAY_AUTH_H

#include <stdbool.h>
#include "sm/base/error.h"
#include "sm/base/loop.h"

/*
 * Who may ask: names with hashes of passwords (HTTP Basic, RFC 7617) and tokens (RFC 6750), of two
 * files. A line of either is NAME:SECRET or NAME:SECRET:read-only; empty lines and those that begin
 * with # are passed over. Hashes are those of crypt(5).
 */
struct auth;

enum auth_verdict {
	AUTH_GRANTED,
	AUTH_DENIED,		/* no credentials, or wrong ones */
	AUTH_BUSY,		/* too many passwords are being checked */
};

struct auth_outcome {
	enum auth_verdict verdict;
	const char *name;	/* of who asks; NULL unless granted; valid until auth_unref() by the
				 * owner, as long as a request may last after it */
	bool read_only;		/* may not change anything */
};

typedef void (*auth_done)(void *arg, const struct auth_outcome *outcome);

#define AUTH_TOKEN_MIN 16u	/* characters */

/*
 * Either file may be NULL; with both NULL everybody is granted all. Fails with a sentence if a file
 * cannot be read, has a mistake, names nobody, or can be read by other users of the machine.
 */
struct auth *
auth_load(struct loop *l, const char *users, const char *tokens, struct error *e);
struct auth *
auth_ref(struct auth *a);
void
auth_unref(struct auth *a);	/* NULL is allowed */

/* Judge the value of an Authorization header. done() comes within the call, or later: passwords
 * that were not right before are hashed by a worker. It comes once in any case. */
void
auth_check(struct auth *a, const char *authorization, auth_done done, void *arg);

/* The text of one file, for auth_load() and fuzzing: 0, or ERR_FORMAT and a sentence. */
int
auth_parse(struct auth *a, const char *text, bool tokens, const char *file, struct error *e);
struct auth *
auth_new(struct loop *l);

#endif
