/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GATEWAY_UFM_H
#define GATEWAY_UFM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "sm/base/buf.h"
#include "sm/base/error.h"

/*
 * The calls of UFM's REST interface that Kubernetes makes of a subnet manager, as functions: which
 * call a URL is, the daemon's command for its body, and the body of the answer for the daemon's.
 *
 *	GET  /ufmRest/app/ufm_version
 *	POST /ufmRest/resources/pkeys	{pkey, guids, membership, index0, ip_over_ib}
 *	POST /ufmRest/actions/remove_guids_from_pkey	{pkey, guids}
 *	GET  /ufmRest/resources/pkeys[/PKEY][?guids_data=true]
 */
enum ufm_kind {
	UFM_VERSION,
	UFM_ADD,
	UFM_REMOVE,
	UFM_LIST,
};

struct ufm_call {
	enum ufm_kind kind;
	bool change;		/* it changes something */
	bool guids;		/* UFM_LIST: with members */
	uint16_t pkey;		/* UFM_LIST: the only one; 0: all */
};

#define UFM_GUIDS_MAX 2500u	/* of one request: what one request to the daemon has room for */

/* Which call it is: 0, or 400, 404 or 405 and a sentence; *allow is then the method that there is,
 * or NULL. */
int
ufm_route(const char *method, const char *path, const char *query, struct ufm_call *call,
	  const char **allow, struct error *e);

/* The daemon's command, a line without its end, for a call with this body; `subnet` NULL: the only
 * one. 0, or 400 or 413 and a sentence. */
int
ufm_command(const struct ufm_call *call, const char *body, size_t len, const char *subnet,
	    struct buf *line, struct error *e);

/* The status and the body (empty unless it is 200) for the daemon's answer; else a sentence. 503
 * with `*busy`: it may be asked again a moment later. `version` is the daemon's. */
int
ufm_answer(const struct ufm_call *call, const char *line, size_t len, const char *version,
	   struct buf *body, bool *busy, struct error *e);

/* 16 digits, 8 colon-separated pairs, or 0x and up to 16 digits; neither 0 nor all ones. */
bool
ufm_guid(const char *text, uint64_t *guid);
/* "0x0042" or "0x8042", which are the same, as 0x0042; the default one is none of these. */
bool
ufm_pkey(const char *text, uint16_t *pkey);

#endif
