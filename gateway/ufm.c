/* SPDX-License-Identifier: BSD-2-Clause */
#include "gateway/ufm.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include "gateway/http.h"
#include "sm/base/frame.h"
#include "sm/base/json.h"
#include "sm/base/text.h"

/*
 * UFM's calls as the daemon's commands, and back. Both directions are functions of bytes, which
 * know no sockets and no state, for both sides of them are others' (the fuzz targets feed them).
 *
 * A body with a word that is not known is refused: to pass over a limit that somebody asked for
 * would be to promise it. What is so already is no error, and nothing that a body does not name is
 * taken away: Kubernetes asks again after each restart of its own.
 */
static const char prefix[] = "/ufmRest";

static int
refuse(struct error *e, int status, const char *sentence)
{
	error_set(e, ERR_INVALID, "%s", sentence);
	return status;
}

/* ---- Words ---- */

bool
ufm_guid(const char *text, uint64_t *guid)
{
	char digits[17];
	size_t len = strlen(text), n = 0;

	if (len == 23) {
		for (size_t i = 0; i < len; i++) {
			if ((i % 3 == 2) != (text[i] == ':'))
				return false;
			if (i % 3 != 2)
				digits[n++] = text[i];
		}
		digits[n] = '\0';
		if (strspn(digits, "0123456789abcdefABCDEF") != 16)
			return false;	/* "0x" is no pair */
		text = digits;
	}
	return guid_parse(text, guid) && *guid && *guid != UINT64_MAX;
}

bool
ufm_pkey(const char *text, uint16_t *pkey)
{
	uint64_t number;

	if (text[0] != '0' || (text[1] != 'x' && text[1] != 'X') ||
	    !number_parse(text, 1, 0xfffe, &number))
		return false;
	*pkey = (uint16_t)(number & 0x7fff);
	return *pkey && *pkey != 0x7fff;
}

/* ---- URLs ---- */

struct route {
	const char *path;	/* behind the prefix */
	const char *method;
	enum ufm_kind kind;
};

static const struct route routes[] = {
	{ "/app/ufm_version", "GET", UFM_VERSION },
	{ "/resources/pkeys", "POST", UFM_ADD },
	{ "/resources/pkeys", "GET", UFM_LIST },
	{ "/actions/remove_guids_from_pkey", "POST", UFM_REMOVE },
};
#define ROUTES (sizeof(routes) / sizeof(routes[0]))

/* Whether the path is that of the row, with or without a slash at its end; of a list *rest is what
 * stands behind the slash. */
static bool
is_route(const struct route *r, const char *path, const char **rest)
{
	size_t len = strlen(r->path);

	*rest = "";
	if (strncmp(path, r->path, len) != 0 || (path[len] && path[len] != '/'))
		return false;
	*rest = path[len] ? path + len + 1 : path + len;
	return !**rest || (r->kind == UFM_LIST && !strchr(*rest, '/'));
}

static int
take_route(const struct route *r, const char *rest, const char *query, struct ufm_call *call,
	   struct error *e)
{
	*call = (struct ufm_call){
		.kind = r->kind, .change = r->kind == UFM_ADD || r->kind == UFM_REMOVE,
		.guids = http_query_true(query, "guids_data"),
	};
	if (*rest && !strcasecmp(rest, "0x7fff"))
		call->pkey = 0x7fff;
	else if (*rest && !ufm_pkey(rest, &call->pkey))
		return refuse(e, 400, "the P_Key in the URL is to be 0x and its hexadecimal "
			      "digits, from 0x1 to 0x7fff");
	return 0;
}

int
ufm_route(const char *method, const char *path, const char *query, struct ufm_call *call,
	  const char **allow, struct error *e)
{
	const char *rest;

	*allow = NULL;
	if (strncmp(path, prefix, sizeof(prefix) - 1) != 0)
		return refuse(e, 404, "there is nothing of this name here");
	path += sizeof(prefix) - 1;
	for (size_t i = 0; i < ROUTES; i++) {
		if (!is_route(&routes[i], path, &rest))
			continue;
		if (!strcmp(routes[i].method, method))
			return take_route(&routes[i], rest, query, call, e);
		*allow = *allow ? "GET, POST" : routes[i].method;
	}
	if (*allow)
		return refuse(e, 405, "the URL is there, but not with this method");
	return refuse(e, 404, "there is nothing of this name here");
}

/* ---- Bodies ---- */

/* What a body says. */
struct said {
	uint16_t pkey;
	const char *membership;		/* borrowed from the body */
	bool index0;
	bool ipoib;
	const json_t *guids;		/* borrowed; an array */
};

static int
take_pkey(struct said *said, const json_t *value, struct error *e)
{
	const char *text = json_string_value(value);

	if (text && ufm_pkey(text, &said->pkey))
		return 0;
	return refuse(e, 400, "\"pkey\" is to be a string such as \"0x0042\", from 0x0001 to "
		      "0x7ffe, with or without the bit 0x8000 of full members");
}

static int
take_membership(struct said *said, const json_t *value, struct error *e)
{
	const char *text = json_string_value(value);

	if (!text || (strcmp(text, "full") && strcmp(text, "limited")))
		return refuse(e, 400, "\"membership\" is to be \"full\" or \"limited\"");
	said->membership = text;
	return 0;
}

static int
take_guids(struct said *said, const json_t *value, struct error *e)
{
	if (!json_is_array(value) || !json_array_size(value))
		return refuse(e, 400, "\"guids\" is to be a list of GUIDs, one at least");
	if (json_array_size(value) > UFM_GUIDS_MAX) {
		error_set(e, ERR_FULL, "a request has %u GUIDs at most", UFM_GUIDS_MAX);
		return 413;
	}
	said->guids = value;
	return 0;
}

static int
take_flag(bool *flag, const char *key, const json_t *value, struct error *e)
{
	if (!json_is_boolean(value)) {
		error_set(e, ERR_INVALID, "\"%s\" is to be true or false", key);
		return 400;
	}
	*flag = json_is_true(value);
	return 0;
}

static int
take_word(struct said *said, bool add, const char *key, const json_t *value, struct error *e)
{
	if (!strcmp(key, "pkey"))
		return take_pkey(said, value, e);
	if (!strcmp(key, "guids"))
		return take_guids(said, value, e);
	if (add && !strcmp(key, "membership"))
		return take_membership(said, value, e);
	if (add && !strcmp(key, "index0"))
		return take_flag(&said->index0, key, value, e);
	if (add && !strcmp(key, "ip_over_ib"))
		return take_flag(&said->ipoib, key, value, e);
	error_set(e, ERR_INVALID, "\"%.60s\" is not known here", key);
	return 400;
}

static int
take_body(struct said *said, bool add, json_t *body, struct error *e)
{
	const char *key;
	json_t *value;
	int rc;

	*said = (struct said){ .membership = "full", .ipoib = true };
	json_object_foreach(body, key, value) {
		rc = take_word(said, add, key, value, e);
		if (rc)
			return rc;
	}
	if (!said->pkey)
		return refuse(e, 400, "the body has no \"pkey\"");
	if (!said->guids)
		return refuse(e, 400, "the body has no \"guids\"");
	return 0;
}

static void
begin_command(struct json *j, struct buf *line, const char *command, const char *subnet)
{
	jw_init(j, line);
	jw_object(j, NULL);
	jw_str(j, "command", command);
	jw_str(j, "subnet", subnet);
	jw_object(j, "args");
}

static void
end_command(struct json *j)
{
	jw_end(j);
	jw_end(j);
}

static int
put_guids(struct json *j, const json_t *guids, struct error *e)
{
	const json_t *value;
	uint64_t guid;
	size_t i;

	jw_array(j, "members");
	json_array_foreach(guids, i, value) {
		const char *text = json_string_value(value);

		if (!text || !ufm_guid(text, &guid)) {
			error_set(e, ERR_INVALID, "\"%.40s\" is no GUID: 16 hexadecimal digits, "
				  "with or without 0x, or 8 pairs with colons", text ? text : "");
			return 400;
		}
		jw_guid(j, NULL, guid);
	}
	jw_end(j);
	return 0;
}

static int
change_command(const struct ufm_call *call, json_t *body, const char *subnet, struct buf *line,
	       struct error *e)
{
	bool add = call->kind == UFM_ADD;
	struct said said;
	struct json j;
	int rc = take_body(&said, add, body, e);

	if (rc)
		return rc;
	begin_command(&j, line, add ? "partition pkey add" : "partition pkey remove", subnet);
	jw_uint(&j, "pkey", said.pkey);
	if (add) {
		jw_str(&j, "membership", said.membership);
		jw_bool(&j, "index0", said.index0);
		jw_bool(&j, "ipoib", said.ipoib);
	}
	rc = put_guids(&j, said.guids, e);
	if (!rc)
		end_command(&j);
	return rc;
}

static int
parse_and_change(const struct ufm_call *call, const char *text, size_t len, const char *subnet,
		 struct buf *line, struct error *e)
{
	json_error_t where;
	json_t *body = json_loadb(text, len, JSON_REJECT_DUPLICATES, &where);
	int rc;

	if (!json_is_object(body)) {
		if (body)
			error_set(e, ERR_FORMAT, "the body is to be a JSON object");
		else
			error_set(e, ERR_FORMAT, "the body is no JSON: %s at byte %d", where.text,
				  where.position);
		json_decref(body);
		return 400;
	}
	rc = change_command(call, body, subnet, line, e);
	json_decref(body);
	return rc;
}

int
ufm_command(const struct ufm_call *call, const char *body, size_t len, const char *subnet,
	    struct buf *line, struct error *e)
{
	char pkey[8];
	struct json j;
	int rc = 0;

	if (call->change) {
		rc = parse_and_change(call, body, len, subnet, line, e);
	} else if (call->kind == UFM_VERSION) {
		begin_command(&j, line, "show engines", NULL);
		end_command(&j);
	} else {
		snprintf(pkey, sizeof(pkey), "0x%04x", call->pkey);
		begin_command(&j, line, "show partitions", subnet);
		if (call->pkey)
			jw_str(&j, "name", pkey);
		jw_bool(&j, "guids", call->guids);
		end_command(&j);
	}
	if (!rc && line->len >= FRAME_MAX_REQUEST)
		return refuse(e, 413, "the request is too long");
	return rc;
}

/* ---- Answers ---- */

static const struct {
	const char *reason;	/* of the daemon */
	int status;
} reasons[] = {
	{ "invalid", 400 }, { "denied", 403 }, { "not found", 404 }, { "exists", 409 },
	{ "refused", 409 }, { "full", 409 }, { "busy", 503 }, { "closed", 503 },
	{ "timeout", 504 },
};

static int
refusal(const json_t *answer, bool *busy, struct error *e)
{
	const char *reason = json_string_value(json_object_get(answer, "reason"));
	const char *sentence = json_string_value(json_object_get(answer, "error"));
	int status = 500;

	for (size_t i = 0; reason && i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (!strcmp(reasons[i].reason, reason))
			status = reasons[i].status;
	*busy = status == 503;
	error_set(e, ERR_REFUSED, "%s", sentence ? sentence : "the daemon does not say why not");
	return status;
}

static const char *
field(const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));

	return text ? text : "";
}

static void
put_guid(struct json *j, const json_t *member)
{
	bool limited = !strcmp(field(member, "membership"), "limited");
	char text[17];
	uint64_t guid;

	if (!guid_parse(field(member, "guid"), &guid))
		return;
	snprintf(text, sizeof(text), "%016" PRIx64, guid);
	jw_object(j, NULL);
	jw_str(j, "guid", text);
	jw_str(j, "membership", limited ? "limited" : "full");
	jw_bool(j, "index0", json_is_true(json_object_get(member, "index0")));
	jw_end(j);
}

static void
put_partition(struct json *j, const struct ufm_call *call, const char *key, const json_t *p)
{
	const json_t *member;
	size_t i;

	jw_object(j, key);
	jw_str(j, "partition", field(p, "name"));
	jw_bool(j, "ip_over_ib", json_is_true(json_object_get(p, "ipoib")));
	if (call->guids) {
		jw_array(j, "guids");
		json_array_foreach(json_object_get(p, "guids"), i, member)
			put_guid(j, member);
		jw_end(j);
	}
	jw_end(j);
}

static int
put_partitions(struct json *j, const struct ufm_call *call, const json_t *data, struct error *e)
{
	const json_t *list = json_object_get(data, "partitions"), *p;
	char key[24];
	size_t i;

	if (call->pkey) {
		p = json_array_get(list, 0);
		if (!p)
			return refuse(e, 404, "no partition has this P_Key");
		put_partition(j, call, NULL, p);
		return 200;
	}
	jw_object(j, NULL);
	json_array_foreach(list, i, p) {
		snprintf(key, sizeof(key), "0x%" PRIx64,
			 (uint64_t)json_integer_value(json_object_get(p, "pkey")));
		put_partition(j, call, key, p);
	}
	jw_end(j);
	return 200;
}

/* What the daemon said of a change, in short. */
static void
put_change(struct json *j, const json_t *data)
{
	jw_object(j, NULL);
	jw_str(j, "result", field(data, "text"));
	jw_int(j, "gain", json_integer_value(json_object_get(data, "gain")));
	jw_int(j, "lose", json_integer_value(json_object_get(data, "lose")));
	jw_end(j);
}

static int
put_data(const struct ufm_call *call, const json_t *data, const char *version, struct buf *body,
	 struct error *e)
{
	int status = 200;
	struct json j;

	jw_init(&j, body);
	if (call->kind == UFM_VERSION) {
		jw_object(&j, NULL);
		jw_str(&j, "ufm_release_version", version);
		jw_str(&j, "product", "weft");
		jw_end(&j);
	} else if (call->kind == UFM_LIST) {
		status = put_partitions(&j, call, data, e);
	} else {
		put_change(&j, data);
	}
	buf_char(body, '\n');
	return status;
}

int
ufm_answer(const struct ufm_call *call, const char *line, size_t len, const char *version,
	   struct buf *body, bool *busy, struct error *e)
{
	json_t *answer = json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL);
	const json_t *data = json_object_get(answer, "data");
	int status;

	*busy = false;
	if (json_is_true(json_object_get(answer, "ok")) && json_is_object(data))
		status = put_data(call, data, version, body, e);
	else if (json_is_false(json_object_get(answer, "ok")))
		status = refusal(answer, busy, e);
	else
		status = refuse(e, 502, "what the daemon answers cannot be understood");
	json_decref(answer);
	return status;
}
