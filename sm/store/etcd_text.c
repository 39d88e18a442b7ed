/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/store/etcd_text.h"

#include <jansson.h>
#include <openssl/evp.h>
#include <string.h>
#include "sm/base/json.h"
#include "sm/base/text.h"

/*
 * JSON of etcd's gateway. Answers come from the network: a field of an unexpected type counts as
 * absent, a row that is no text is passed over and counted, and nothing is believed of lengths.
 */

/* ---- Writing ---- */

static void
put_base64(struct buf *out, const char *name, const void *bytes, size_t size)
{
	unsigned char *text = mem_alloc(size / 3 * 4 + 8);

	EVP_EncodeBlock(text, bytes, (int)size);
	buf_printf(out, "\"%s\":\"", name);
	buf_str(out, (const char *)text);
	buf_char(out, '"');
	mem_free(text);
}

static void
put_text(struct buf *out, const char *name, const char *text)
{
	put_base64(out, name, text, strlen(text));
}

/* The first key behind all that begin with the prefix; it ends with a byte below 255. */
static void
put_end(struct buf *out, const char *prefix)
{
	char *end = mem_strdup(prefix);

	end[strlen(end) - 1]++;
	put_text(out, "range_end", end);
	mem_free(end);
}

void
etcd_write_get(struct buf *out, const char *key)
{
	buf_char(out, '{');
	put_text(out, "key", key);
	buf_char(out, '}');
}

void
etcd_write_range(struct buf *out, const char *prefix, const char *from, unsigned limit,
		 uint64_t revision)
{
	buf_char(out, '{');
	put_text(out, "key", from);
	buf_char(out, ',');
	put_end(out, prefix);
	buf_printf(out, ",\"limit\":\"%u\",\"revision\":\"%llu\"}", limit,
		   (unsigned long long)revision);
}

void
etcd_write_watch(struct buf *out, const char *prefix, uint64_t from_revision)
{
	buf_str(out, "{\"create_request\":{");
	put_text(out, "key", prefix);
	buf_char(out, ',');
	put_end(out, prefix);
	buf_printf(out, ",\"start_revision\":\"%llu\"}}",
		   (unsigned long long)from_revision);
}

void
etcd_write_login(struct buf *out, const char *user, const char *password)
{
	struct json j;

	jw_init(&j, out);
	jw_object(&j, NULL);
	jw_str(&j, "name", user);
	jw_str(&j, "password", password);
	jw_end(&j);
}

void
etcd_write_txn_begin(struct buf *out, const char *key, uint64_t revision)
{
	buf_str(out, "{\"compare\":[{\"target\":\"MOD\",\"result\":\"EQUAL\",");
	put_text(out, "key", key);
	buf_printf(out, ",\"mod_revision\":\"%llu\"}],\"success\":[",
		   (unsigned long long)revision);
}

static void
txn_next(struct buf *out)
{
	if (out->data[out->len - 1] != '[')
		buf_char(out, ',');
}

void
etcd_write_txn_put(struct buf *out, const char *key, const char *value)
{
	txn_next(out);
	buf_str(out, "{\"request_put\":{");
	put_text(out, "key", key);
	buf_char(out, ',');
	put_text(out, "value", value);
	buf_str(out, "}}");
}

void
etcd_write_txn_delete(struct buf *out, const char *key)
{
	txn_next(out);
	buf_str(out, "{\"request_delete_range\":{");
	put_text(out, "key", key);
	buf_str(out, "}}");
}

void
etcd_write_txn_end(struct buf *out, const char *key)
{
	buf_str(out, "],\"failure\":[{\"request_range\":{");
	put_text(out, "key", key);
	buf_str(out, "}}]}");
}

/* ---- Reading ---- */

/* A number, which is a string where it has 64 bits; 0 if it is none. */
static uint64_t
number_of(const json_t *object, const char *name)
{
	const json_t *v = json_object_get(object, name);
	const char *text = json_string_value(v);
	uint64_t n;

	if (text)
		return number_parse(text, 0, UINT64_MAX, &n) ? n : 0;
	return json_integer_value(v) > 0 ? (uint64_t)json_integer_value(v) : 0;
}

static const char *
text_of(struct etcd_answer *a, const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text ? region_strdup(a->region, text) : NULL;
}

/* The text that is base64 there ("" if there is nothing); NULL: it is no text. */
static const char *
bytes_of(struct etcd_answer *a, const json_t *object, const char *name)
{
	const json_t *v = json_object_get(object, name);
	const char *in = json_string_value(v);
	size_t len = json_string_length(v), pad = 0;
	char *out;
	int n;

	if (!v)
		return "";
	if (!in || len % 4)
		return NULL;
	while (pad < 2 && pad < len && in[len - 1 - pad] == '=')
		pad++;
	out = region_alloc(a->region, len / 4 * 3 + 1);
	n = EVP_DecodeBlock((unsigned char *)out, (const unsigned char *)in, (int)len);
	if (n < (int)pad)
		return NULL;
	out[(size_t)n - pad] = '\0';
	return strlen(out) == (size_t)n - pad ? out : NULL;
}

static void
read_row(struct etcd_answer *a, const json_t *kv, bool deleted)
{
	struct etcd_row *r = &a->rows[a->len];

	r->key = bytes_of(a, kv, "key");
	r->value = deleted ? NULL : bytes_of(a, kv, "value");
	r->revision = number_of(kv, "mod_revision");
	if (r->key && *r->key && (deleted || r->value))
		a->len++;
	else
		a->skipped++;
}

static void
read_range(struct etcd_answer *a, const json_t *range)
{
	const json_t *kvs = json_object_get(range, "kvs");
	size_t len = json_array_size(kvs);

	a->more = json_is_true(json_object_get(range, "more"));
	if (!len)
		return;
	a->rows = region_array(a->region, len, sizeof(*a->rows));
	a->len = 0;
	for (size_t i = 0; i < len; i++)
		read_row(a, json_array_get(kvs, i), false);
}

static void
read_events(struct etcd_answer *a, const json_t *events)
{
	size_t len = json_array_size(events);

	a->rows = region_array(a->region, len + 1, sizeof(*a->rows));
	for (size_t i = 0; i < len; i++) {
		const json_t *event = json_array_get(events, i);
		const char *type = json_string_value(json_object_get(event, "type"));

		read_row(a, json_object_get(event, "kv"), type && !strcmp(type, "DELETE"));
	}
}

static void
read_header(struct etcd_answer *a, const json_t *object)
{
	const json_t *header = json_object_get(object, "header");

	a->cluster = number_of(header, "cluster_id");
	a->revision = number_of(header, "revision");
}

/* Of a request {"error", "code"}, of a watch {"error": {"grpc_code", "message"}}. */
static void
read_error(struct etcd_answer *a, const json_t *object)
{
	const json_t *error = json_object_get(object, "error");
	bool nested = json_is_object(error);

	a->code = (unsigned)number_of(nested ? error : object, nested ? "grpc_code" : "code");
	a->error = nested ? text_of(a, error, "message") : text_of(a, object, "error");
	if (!a->error)
		a->error = "an error without a text";
	if (!a->code)
		a->code = 2;	/* unknown, by gRPC's list */
}

static void
read_object(struct etcd_answer *a, const json_t *object)
{
	const json_t *result = json_object_get(object, "result");
	const json_t *responses = json_object_get(object, "responses");

	if (json_object_get(object, "error")) {
		read_error(a, object);
		return;
	}
	read_header(a, result ? result : object);
	a->succeeded = json_is_true(json_object_get(object, "succeeded"));
	a->token = text_of(a, object, "token");
	for (size_t i = 0; i < json_array_size(responses) && !a->succeeded; i++)
		read_range(a, json_object_get(json_array_get(responses, i), "response_range"));
	if (json_object_get(object, "kvs"))
		read_range(a, object);
	if (!result)
		return;
	a->canceled = json_is_true(json_object_get(result, "canceled"));
	a->compacted = number_of(result, "compact_revision");
	read_events(a, json_object_get(result, "events"));
}

bool
etcd_read(struct etcd_answer *a, const char *text, size_t size)
{
	json_error_t e;
	json_t *object;

	*a = (struct etcd_answer){ .region = region_new() };
	object = size < ETCD_ANSWER_MAX ? json_loadb(text, size, JSON_REJECT_DUPLICATES, &e) : NULL;
	if (!json_is_object(object)) {
		a->error = size < ETCD_ANSWER_MAX ? "its answer is no JSON object" :
			"its answer is too long";
		json_decref(object);
		return false;
	}
	read_object(a, object);
	json_decref(object);
	if (a->code || a->cluster)
		return true;
	a->error = "its answer has no header";
	return false;
}
