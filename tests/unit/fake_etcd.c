/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/unit/fake_etcd.h"

#include <arpa/inet.h>
#include <jansson.h>
#include <openssl/evp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "sm/base/buf.h"
#include "sm/base/mem.h"

/* The history of all changes is what it holds: a row is its last change. */
#define CHANGES 20000
#define CONNECTIONS 64
#define SLOW_MS 150

struct change {
	char *key;		/* owned */
	char *value;		/* owned; NULL: deleted */
	uint64_t revision;
};

struct history {
	struct change list[CHANGES];	/* oldest first */
	unsigned len;
	uint64_t revision;
	uint64_t compacted;	/* nothing before this one is told */
};

struct client {
	int fd;			/* -1: none */
	struct buf in;		/* what came */
};

struct fake_etcd {
	pthread_t thread;
	pthread_mutex_t lock;	/* of all below */
	int listener;
	int wake[2];		/* a byte: end */
	char url[64];
	enum fake_mood mood;
	uint64_t cluster;
	struct history now, saved;
	bool locked;		/* asks for a token */
	unsigned logins;
	struct client clients[CONNECTIONS];
};

/* ---- What it holds ---- */

static void
history_clear(struct history *h)
{
	for (unsigned i = 0; i < h->len; i++) {
		mem_free(h->list[i].key);
		mem_free(h->list[i].value);
	}
	memset(h, 0, sizeof(*h));
	h->revision = 1;
}

static void
history_add(struct history *h, const char *key, const char *value, uint64_t revision)
{
	if (h->len == CHANGES)
		abort();
	h->list[h->len++] = (struct change){
		mem_strdup(key), value ? mem_strdup(value) : NULL, revision,
	};
	h->revision = revision;
}

static const struct change *
find(const struct history *h, const char *key)
{
	for (unsigned i = h->len; i-- > 0;)
		if (!strcmp(h->list[i].key, key))
			return h->list[i].value ? &h->list[i] : NULL;
	return NULL;
}

static char *
decode(const json_t *v)
{
	const char *text = json_string_value(v);
	size_t len = text ? strlen(text) : 0;
	char *out = mem_zalloc(len + 4);
	int n = EVP_DecodeBlock((unsigned char *)out, (const unsigned char *)(text ? text : ""),
				(int)len);

	while (len && text[--len] == '=')
		n--;
	out[n > 0 ? n : 0] = '\0';
	return out;
}

static json_t *
encode(const char *text)
{
	char *out = mem_alloc(strlen(text) * 2 + 8);
	json_t *v;

	EVP_EncodeBlock((unsigned char *)out, (const unsigned char *)text, (int)strlen(text));
	v = json_string(out);
	mem_free(out);
	return v;
}

static json_t *
number(uint64_t n)
{
	return json_sprintf("%llu", (unsigned long long)n);
}

static uint64_t
number_in(const json_t *o, const char *name)
{
	const char *text = json_string_value(json_object_get(o, name));

	return text ? strtoull(text, NULL, 10) : 0;
}

static json_t *
header(const struct fake_etcd *f)
{
	return json_pack("{so so so}", "cluster_id", number(f->cluster), "member_id", number(7),
			 "revision", number(f->now.revision));
}

static json_t *
row(const struct change *c)
{
	json_t *kv = json_pack("{so so}", "key", encode(c->key), "mod_revision",
			       number(c->revision));

	if (c->value && *c->value)
		json_object_set_new(kv, "value", encode(c->value));
	return kv;
}

static int
by_key(const void *a, const void *b)
{
	return strcmp((*(const struct change *const *)a)->key,
		      (*(const struct change *const *)b)->key);
}

static json_t *
range(struct fake_etcd *f, const json_t *q)
{
	char *key = decode(json_object_get(q, "key"));
	char *end = decode(json_object_get(q, "range_end"));
	uint64_t limit = number_in(q, "limit"), at = number_in(q, "revision");
	const struct change **all = mem_array(f->now.len + 1u, sizeof(*all));
	json_t *kvs = json_array(), *answer;
	unsigned n = 0, told = 0;

	for (unsigned i = 0; i < f->now.len; i++) {
		const struct change *c = &f->now.list[i];

		if (*end ? strcmp(c->key, key) >= 0 && strcmp(c->key, end) < 0 :
		    !strcmp(c->key, key))
			if (find(&f->now, c->key) == c && (!at || c->revision <= at))
				all[n++] = c;
	}
	qsort(all, n, sizeof(*all), by_key);
	for (; told < n && (!limit || told < limit); told++)
		json_array_append_new(kvs, row(all[told]));
	answer = json_pack("{so}", "header", header(f));
	if (told)
		json_object_set(answer, "kvs", kvs);
	if (told < n)
		json_object_set_new(answer, "more", json_true());
	json_decref(kvs);
	mem_free(all);
	mem_free(key);
	mem_free(end);
	return answer;
}

static void
apply(struct fake_etcd *f, const json_t *op, uint64_t revision)
{
	const json_t *put = json_object_get(op, "request_put");
	const json_t *del = json_object_get(op, "request_delete_range");
	char *key = decode(json_object_get(put ? put : del, "key"));
	char *value = decode(json_object_get(put, "value"));

	if (put || find(&f->now, key))
		history_add(&f->now, key, put ? value : NULL, revision);
	mem_free(key);
	mem_free(value);
}

static json_t *
txn(struct fake_etcd *f, const json_t *q)
{
	const json_t *c = json_array_get(json_object_get(q, "compare"), 0), *ops;
	char *key = decode(json_object_get(c, "key"));
	const struct change *was = find(&f->now, key);
	bool holds = (was ? was->revision : 0) == number_in(c, "mod_revision");
	uint64_t next = f->now.revision + 1;
	json_t *answer, *range_answer;

	ops = json_object_get(q, holds ? "success" : "failure");
	for (size_t i = 0; holds && i < json_array_size(ops); i++)
		apply(f, json_array_get(ops, i), next);
	answer = json_pack("{so}", "header", header(f));
	if (holds) {
		json_object_set_new(answer, "succeeded", json_true());
	} else {
		range_answer = range(f, json_object_get(json_array_get(ops, 0),
							"request_range"));
		json_object_set_new(answer, "responses", json_pack("[{so}]", "response_range",
								   range_answer));
	}
	mem_free(key);
	return answer;
}

/* The whole history from there on, in one message; there is no more to come. */
static json_t *
watch(struct fake_etcd *f, const json_t *q)
{
	uint64_t from = number_in(json_object_get(q, "create_request"), "start_revision");
	json_t *events = json_array(), *result = json_pack("{so}", "header", header(f));

	for (unsigned i = 0; i < f->now.len; i++) {
		const struct change *c = &f->now.list[i];
		json_t *event = json_pack("{so}", "kv", row(c));

		if (!c->value)
			json_object_set_new(event, "type", json_string("DELETE"));
		if (c->revision >= from)
			json_array_append_new(events, event);
		else
			json_decref(event);
	}
	if (from < f->now.compacted) {
		json_object_set_new(result, "canceled", json_true());
		json_object_set_new(result, "compact_revision", number(f->now.compacted));
	} else {
		json_object_set(result, "events", events);
	}
	json_decref(events);
	return json_pack("{so}", "result", result);
}

static json_t *
answer_to(struct fake_etcd *f, const char *path, const char *head, const json_t *q)
{
	char token[40];
	char *sent = strstr(head, "Authorization: ");

	snprintf(token, sizeof(token), "token.%u", f->logins);
	if (!strcmp(path, "/v3/auth/authenticate")) {
		const char *name = json_string_value(json_object_get(q, "name"));
		const char *word = json_string_value(json_object_get(q, "password"));

		if (!name || !word || strcmp(name, "weft") || strcmp(word, "se\"cret"))
			return json_pack("{ss si}", "error", "authentication failed", "code", 3);
		snprintf(token, sizeof(token), "token.%u", ++f->logins);
		return json_pack("{so ss}", "header", header(f), "token", token);
	}
	if (f->locked && (!sent || strncmp(sent + 15, token, strlen(token))))
		return json_pack("{ss si}", "error", "invalid auth token", "code", 16);
	if (!strcmp(path, "/v3/kv/range"))
		return range(f, q);
	if (!strcmp(path, "/v3/kv/txn"))
		return txn(f, q);
	return watch(f, q);
}

/* ---- HTTP ---- */

static void
client_end(struct client *c)
{
	close(c->fd);
	c->fd = -1;
	buf_free(&c->in);
}

static void
send_all(struct client *c, const char *data, size_t len)
{
	while (len) {
		ssize_t n = send(c->fd, data, len, MSG_NOSIGNAL);

		if (n <= 0)
			return;
		data += n;
		len -= (size_t)n;
	}
}

static void
reply(struct client *c, unsigned status, const char *body, size_t announced)
{
	struct buf out = { 0 };

	buf_printf(&out, "HTTP/1.1 %u x\r\nContent-Type: application/json\r\n"
		   "Content-Length: %zu\r\n\r\n%s", status, announced, body);
	send_all(c, out.data, out.len);
	buf_free(&out);
}

/* True: the mood has dealt with it. */
static bool
moody(struct fake_etcd *f, struct client *c)
{
	char chunk[4097];

	memset(chunk, 'x', sizeof(chunk) - 1);
	chunk[sizeof(chunk) - 1] = '\0';
	switch (f->mood) {
	case FAKE_SILENT:
		return true;
	case FAKE_RUBBISH:
		reply(c, 200, "<html>{", 7);
		return true;
	case FAKE_HEADLESS:
		reply(c, 200, "{\"kvs\":7}", 9);
		return true;
	case FAKE_REFUSES:
		reply(c, 503, "{\"error\":\"etcdserver: no leader\",\"code\":14}", 43);
		return true;
	case FAKE_CUT:
		reply(c, 200, "{\"header\":{\"cluster_id\"", 100);
		client_end(c);
		return true;
	case FAKE_HUGE:
		reply(c, 200, "{\"x\":\"", 1u << 30);
		for (unsigned i = 0; i < (20u << 20) / sizeof(chunk); i++)
			send_all(c, chunk, sizeof(chunk) - 1);
		client_end(c);
		return true;
	case FAKE_SLOW:
		usleep(SLOW_MS * 1000);
		return false;
	default:
		return false;
	}
}

static void
serve(struct fake_etcd *f, struct client *c, char *body)
{
	char path[64] = "";
	json_t *q = json_loads(body, 0, NULL), *answer;
	char *text;

	sscanf(c->in.data, "POST %63s", path);
	if (!moody(f, c)) {
		answer = answer_to(f, path, c->in.data, q);
		text = json_dumps(answer, JSON_COMPACT);
		text = realloc(text, strlen(text) + 2);
		strcat(text, "\n");
		if (f->mood != FAKE_DEAF)
			reply(c, json_object_get(answer, "error") ? 400 : 200, text, strlen(text));
		free(text);
		json_decref(answer);
	}
	json_decref(q);
}

/* One request at a time, as libcurl sends them. */
static void
client_read(struct fake_etcd *f, struct client *c)
{
	char chunk[16384];
	ssize_t n = recv(c->fd, chunk, sizeof(chunk), 0);
	char *end, *length;

	if (n <= 0) {
		client_end(c);
		return;
	}
	buf_add(&c->in, chunk, (size_t)n);
	end = strstr(c->in.data, "\r\n\r\n");
	length = strcasestr(c->in.data, "content-length:");
	if (!end || !length || c->in.len < (size_t)(end + 4 - c->in.data) +
	    strtoull(length + 15, NULL, 10))
		return;
	*end = '\0';
	serve(f, c, end + 4);
	buf_free(&c->in);
}

static void
take_client(struct fake_etcd *f)
{
	int fd = accept4(f->listener, NULL, NULL, SOCK_CLOEXEC);

	for (unsigned i = 0; i < CONNECTIONS && fd >= 0; i++)
		if (f->clients[i].fd < 0) {
			f->clients[i].fd = fd;
			return;
		}
	if (fd >= 0)
		close(fd);
}

static void *
fake_main(void *arg)
{
	struct fake_etcd *f = arg;
	struct pollfd fds[CONNECTIONS + 2];

	for (;;) {
		fds[0] = (struct pollfd){ f->wake[0], POLLIN, 0 };
		fds[1] = (struct pollfd){ f->listener, POLLIN, 0 };
		for (unsigned i = 0; i < CONNECTIONS; i++)
			fds[i + 2] = (struct pollfd){ f->clients[i].fd, POLLIN, 0 };
		poll(fds, CONNECTIONS + 2, -1);
		if (fds[0].revents)
			return NULL;
		pthread_mutex_lock(&f->lock);
		for (unsigned i = 0; i < CONNECTIONS; i++)
			if (f->clients[i].fd >= 0 && fds[i + 2].revents)
				client_read(f, &f->clients[i]);
		if (fds[1].revents)
			take_client(f);
		pthread_mutex_unlock(&f->lock);
	}
}

/* ---- Life ---- */

struct fake_etcd *
fake_etcd_new(void)
{
	struct fake_etcd *f = mem_zalloc(sizeof(*f));
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);

	f->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(f->listener, (struct sockaddr *)&a, len) || listen(f->listener, 16) ||
	    getsockname(f->listener, (struct sockaddr *)&a, &len) || pipe(f->wake))
		abort();
	snprintf(f->url, sizeof(f->url), "http://127.0.0.1:%u", ntohs(a.sin_port));
	f->cluster = 0xfedcba9876543210;
	f->now.revision = f->saved.revision = 1;
	for (unsigned i = 0; i < CONNECTIONS; i++)
		f->clients[i].fd = -1;
	pthread_mutex_init(&f->lock, NULL);
	pthread_create(&f->thread, NULL, fake_main, f);
	return f;
}

void
fake_etcd_free(struct fake_etcd *f)
{
	if (write(f->wake[1], "", 1) != 1)
		abort();
	pthread_join(f->thread, NULL);
	for (unsigned i = 0; i < CONNECTIONS; i++)
		if (f->clients[i].fd >= 0)
			client_end(&f->clients[i]);
	close(f->listener);
	close(f->wake[0]);
	close(f->wake[1]);
	history_clear(&f->now);
	history_clear(&f->saved);
	pthread_mutex_destroy(&f->lock);
	mem_free(f);
}

const char *
fake_etcd_url(const struct fake_etcd *f)
{
	return f->url;
}

void
fake_etcd_mood(struct fake_etcd *f, enum fake_mood mood)
{
	pthread_mutex_lock(&f->lock);
	f->mood = mood;
	pthread_mutex_unlock(&f->lock);
}

void
fake_etcd_lock(struct fake_etcd *f)
{
	pthread_mutex_lock(&f->lock);
	f->locked = true;
	f->logins++;
	pthread_mutex_unlock(&f->lock);
}

unsigned
fake_etcd_logins(struct fake_etcd *f)
{
	unsigned n;

	pthread_mutex_lock(&f->lock);
	n = f->logins;
	pthread_mutex_unlock(&f->lock);
	return n;
}

/* With the key that all writers write, as the store does. */
void
fake_etcd_put(struct fake_etcd *f, const char *key, const char *value)
{
	const struct change *writer;
	char epoch[17] = "", text[80];
	uint64_t next;

	pthread_mutex_lock(&f->lock);
	next = f->now.revision + 1;
	history_add(&f->now, key, value, next);
	writer = find(&f->now, "/weft/t/writer");
	snprintf(epoch, sizeof(epoch), "%s", writer ? writer->value : "00000000000000aa");
	snprintf(text, sizeof(text), "%s 00000000000000bb %llu", epoch, (unsigned long long)next);
	history_add(&f->now, "/weft/t/writer", text, next);
	pthread_mutex_unlock(&f->lock);
}

char *
fake_etcd_get(struct fake_etcd *f, const char *key)
{
	const struct change *c;
	char *value;

	pthread_mutex_lock(&f->lock);
	c = find(&f->now, key);
	value = c ? mem_strdup(c->value) : NULL;
	pthread_mutex_unlock(&f->lock);
	return value;
}

void
fake_etcd_wipe(struct fake_etcd *f)
{
	pthread_mutex_lock(&f->lock);
	history_clear(&f->now);
	f->cluster++;
	pthread_mutex_unlock(&f->lock);
}

static void
copy(struct history *to, const struct history *from)
{
	history_clear(to);
	for (unsigned i = 0; i < from->len; i++)
		history_add(to, from->list[i].key, from->list[i].value, from->list[i].revision);
	to->revision = from->revision;
}

void
fake_etcd_save(struct fake_etcd *f)
{
	pthread_mutex_lock(&f->lock);
	copy(&f->saved, &f->now);
	pthread_mutex_unlock(&f->lock);
}

void
fake_etcd_restore(struct fake_etcd *f)
{
	pthread_mutex_lock(&f->lock);
	copy(&f->now, &f->saved);
	pthread_mutex_unlock(&f->lock);
}

void
fake_etcd_compact(struct fake_etcd *f)
{
	pthread_mutex_lock(&f->lock);
	f->now.compacted = f->now.revision + 1;
	pthread_mutex_unlock(&f->lock);
}
