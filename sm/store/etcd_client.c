/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests to etcd.
 *
 * Objects. A `request` is made by the loop, handed to the thread, and back in `finished`, from
 * where a post takes it. On the thread it has an `attempt` for each endpoint that was asked: a
 * transfer of libcurl, which is a login first where there is a user and no token. `lock` guards
 * what both threads see: the request to come, those that are finished, the states of endpoints.
 *
 * Limits. An answer has at most ETCD_ANSWER_MAX bytes, a request the time-out of the options. No
 * proxies, no redirections, no protocols but HTTP and HTTPS; certificates are always checked.
 */
#include "sm/store/etcd_client.h"

#include <curl/curl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include "sm/base/list.h"
#include "sm/base/log.h"

#define TOKEN_SIZE 1024
#define IDLE_MS 60000

struct endpoint {
	char *url;		/* without a slash at its end */
	char token[TOKEN_SIZE];	/* of the last login; "". Thread only */
	enum store_endpoint_state state;	/* under `lock` */
	char why[200];		/* under `lock` */
};

struct attempt {
	struct endpoint *ep;	/* whom */
	CURL *easy;		/* the transfer; NULL: none */
	struct curl_slist *headers;	/* of it */
	struct buf in;		/* what came, of a watch without what was read */
	struct buf login;	/* body of a login */
	size_t size;		/* of all that came */
	bool logs_in;		/* the transfer is a login */
	bool logged_in;		/* once for this request: no second time */
	bool asked;		/* at all */
};

struct request {
	struct list link;	/* in `finished` */
	enum etcd_call call;
	struct buf body;	/* owned */
	uint64_t until;		/* ETCD_WATCH */
	etcd_reply_fn fn;
	void *arg;		/* for fn */
	struct etcd_reply reply;	/* owned */
};

struct etcd_client {
	struct list link;	/* in `closed`, or nowhere */
	struct loop *loop;	/* borrowed */
	unsigned timeout_ms;	/* of a request */
	char *ca, *cert, *key, *user, *password;	/* owned; NULL */
	struct endpoint *endpoints;	/* owned */
	unsigned len;		/* how many */
	pthread_t thread;
	CURLM *multi;		/* thread, but for wake-ups */
	struct request *now;	/* under way. Thread only */
	struct attempt *attempts;	/* of it, by endpoint. Thread only */
	unsigned first;		/* who is asked first. Thread only */
	unsigned asked;		/* of them. Thread only */
	monotime begun;		/* of it. Thread only */
	bool closed;		/* the owner let go; free when the post arrives */
	pthread_mutex_t lock;	/* of all below */
	struct request *next;	/* to be done */
	struct list finished;	/* to be told of */
	bool stop;		/* the thread should end */
	bool posted;		/* a post is on its way */
};

/* Closed clients that a post still refers to. Loop thread only. */
static struct list closed = { &closed, &closed };

static void
reply_free(struct etcd_reply *r)
{
	for (unsigned i = 0; i < r->len; i++)
		region_free(r->answers[i].region);
	mem_free(r->answers);
}

static void
request_free(struct request *q)
{
	if (!q)
		return;
	reply_free(&q->reply);
	buf_free(&q->body);
	mem_free(q);
}

/* ---- Endpoints, on the thread ---- */

static void
endpoint_is(struct etcd_client *c, struct endpoint *ep, enum store_endpoint_state state,
	    const char *why)
{
	pthread_mutex_lock(&c->lock);
	ep->state = state;
	snprintf(ep->why, sizeof(ep->why), "%s", why);
	pthread_mutex_unlock(&c->lock);
}

static size_t
on_bytes(char *bytes, size_t one, size_t len, void *arg)
{
	struct attempt *a = arg;

	a->size += len;
	if (a->size >= ETCD_ANSWER_MAX)
		return 0;
	buf_add(&a->in, bytes, len);
	return one * len;
}

static void
attempt_end(struct etcd_client *c, struct attempt *a)
{
	if (!a->easy)
		return;
	curl_multi_remove_handle(c->multi, a->easy);
	curl_easy_cleanup(a->easy);
	curl_slist_free_all(a->headers);
	a->easy = NULL;
	a->headers = NULL;
	buf_clear(&a->in);
	buf_clear(&a->login);
	a->size = 0;
}

static const char *
path_of(const struct etcd_client *c, const struct attempt *a)
{
	static const char *const paths[] = {
		[ETCD_RANGE] = "/v3/kv/range", [ETCD_TXN] = "/v3/kv/txn",
		[ETCD_WATCH] = "/v3/watch",
	};

	return a->logs_in ? "/v3/auth/authenticate" : paths[c->now->call];
}

static void
set_security(const struct etcd_client *c, CURL *h)
{
	curl_easy_setopt(h, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(h, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(h, CURLOPT_PROXY, "");
	curl_easy_setopt(h, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
	curl_easy_setopt(h, CURLOPT_SSL_VERIFYPEER, 1L);
	curl_easy_setopt(h, CURLOPT_SSL_VERIFYHOST, 2L);
	if (c->ca)
		curl_easy_setopt(h, CURLOPT_CAINFO, c->ca);
	if (c->cert)
		curl_easy_setopt(h, CURLOPT_SSLCERT, c->cert);
	if (c->key)
		curl_easy_setopt(h, CURLOPT_SSLKEY, c->key);
}

static void
set_headers(struct attempt *a)
{
	char line[TOKEN_SIZE + 20];

	a->headers = curl_slist_append(NULL, "Content-Type: application/json");
	a->headers = curl_slist_append(a->headers, "Expect:");
	if (a->ep->token[0] && !a->logs_in) {
		snprintf(line, sizeof(line), "Authorization: %s", a->ep->token);
		a->headers = curl_slist_append(a->headers, line);
	}
	curl_easy_setopt(a->easy, CURLOPT_HTTPHEADER, a->headers);
}

static void
attempt_begin(struct etcd_client *c, struct attempt *a)
{
	const struct buf *body = &c->now->body;
	char url[600];

	a->asked = true;
	a->easy = curl_easy_init();
	if (!a->easy)
		return;
	a->logs_in = c->user && !a->ep->token[0];
	if (a->logs_in) {
		etcd_write_login(&a->login, c->user, c->password);
		body = &a->login;
	}
	snprintf(url, sizeof(url), "%s%s", a->ep->url, path_of(c, a));
	curl_easy_setopt(a->easy, CURLOPT_URL, url);
	curl_easy_setopt(a->easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(a->easy, CURLOPT_POST, 1L);
	curl_easy_setopt(a->easy, CURLOPT_POSTFIELDS, body->data);
	curl_easy_setopt(a->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body->len);
	curl_easy_setopt(a->easy, CURLOPT_WRITEFUNCTION, on_bytes);
	curl_easy_setopt(a->easy, CURLOPT_WRITEDATA, a);
	curl_easy_setopt(a->easy, CURLOPT_PRIVATE, a);
	set_security(c, a->easy);
	set_headers(a);
	curl_multi_add_handle(c->multi, a->easy);
}

/* ---- Requests, on the thread ---- */

static void
report(void *arg);

static void
finish(struct etcd_client *c)
{
	struct request *q = c->now;
	bool wake;

	for (unsigned i = 0; i < c->len; i++) {
		attempt_end(c, &c->attempts[i]);
		c->attempts[i].asked = c->attempts[i].logged_in = false;
	}
	c->now = NULL;
	pthread_mutex_lock(&c->lock);
	list_append(&c->finished, &q->link);
	wake = !c->posted;
	c->posted = true;
	pthread_mutex_unlock(&c->lock);
	if (wake)
		loop_post(c->loop, report, c);
}

static void
add_answer(struct etcd_reply *r, const struct etcd_answer *a)
{
	r->answers = mem_realloc(r->answers, r->len + 1u, sizeof(*r->answers));
	r->answers[r->len++] = *a;
}

static void
ask_one_more(struct etcd_client *c)
{
	while (c->asked < c->len) {
		struct attempt *a = &c->attempts[(c->first + c->asked++) % c->len];

		attempt_begin(c, a);
		if (a->easy)
			return;
	}
}

static bool
any_under_way(const struct etcd_client *c)
{
	for (unsigned i = 0; i < c->len; i++)
		if (c->attempts[i].easy)
			return true;
	return false;
}

/* This endpoint is of no use: the next one. */
static void
attempt_failed(struct etcd_client *c, struct attempt *a, const char *why)
{
	struct etcd_reply *r = &c->now->reply;

	endpoint_is(c, a->ep, STORE_ENDPOINT_FAILED, why);
	snprintf(r->why, sizeof(r->why), "%.80s: %.200s", a->ep->url, why);
	r->error = ERR_IO;
	attempt_end(c, a);
	ask_one_more(c);
	if (!any_under_way(c))
		finish(c);
}

static void
succeed(struct etcd_client *c, struct attempt *a)
{
	endpoint_is(c, a->ep, STORE_ENDPOINT_ANSWERS, "");
	c->first = (unsigned)(a->ep - c->endpoints);
	c->now->reply.error = 0;
	finish(c);
}

static bool
wants_login(const struct etcd_client *c, const struct attempt *a, const struct etcd_answer *n)
{
	return c->user && !a->logs_in && !a->logged_in &&
	       (n->code == ETCD_UNAUTHENTICATED || strstr(n->error, "auth"));
}

/* A whole answer: of a login, or of what was asked. */
static void
take_answer(struct etcd_client *c, struct attempt *a, const struct etcd_answer *n)
{
	if (a->logs_in && n->token && strlen(n->token) < sizeof(a->ep->token) &&
	    !strpbrk(n->token, "\r\n")) {
		strcpy(a->ep->token, n->token);
		a->logged_in = true;
		region_free(n->region);
		attempt_end(c, a);
		attempt_begin(c, a);
	} else if (n->code && wants_login(c, a, n)) {
		a->ep->token[0] = '\0';
		region_free(n->region);
		attempt_end(c, a);
		attempt_begin(c, a);
		a->logged_in = true;
	} else if (a->logs_in || (n->code && n->code != ETCD_OUT_OF_RANGE)) {
		attempt_failed(c, a, n->error ? n->error : "it gave no token");
		region_free(n->region);
	} else {
		add_answer(&c->now->reply, n);
		succeed(c, a);
	}
}

/* Messages of a watch: each a line. Those of one endpoint count, the first that says a thing. */
static void
take_lines(struct etcd_client *c, struct attempt *a)
{
	struct etcd_answer n;
	char *end;

	while (a->easy && a->in.len && (end = memchr(a->in.data, '\n', a->in.len))) {
		size_t len = (size_t)(end - a->in.data);
		bool good = etcd_read(&n, a->in.data, len), last;

		buf_consume(&a->in, len + 1);
		if (!good || (n.code && n.code != ETCD_OUT_OF_RANGE)) {
			take_answer(c, a, &n);
			return;
		}
		last = n.canceled || n.code || (n.len && n.rows[n.len - 1].revision >=
						c->now->until);
		for (unsigned i = 0; i < c->len; i++)
			if (&c->attempts[i] != a)
				attempt_end(c, &c->attempts[i]);
		c->asked = c->len;
		add_answer(&c->now->reply, &n);
		if (last)
			succeed(c, a);
	}
}

static void
transfer_done(struct etcd_client *c, struct attempt *a, CURLcode rc)
{
	struct etcd_answer n;

	if (c->now->call == ETCD_WATCH && !a->logs_in && rc == CURLE_OK)
		take_lines(c, a);
	if (!a->easy)
		return;
	if (rc != CURLE_OK) {
		attempt_failed(c, a, a->size >= ETCD_ANSWER_MAX ? "its answer is too long" :
			       curl_easy_strerror(rc));
	} else if (c->now->call == ETCD_WATCH && !a->logs_in && c->now->reply.len) {
		attempt_failed(c, a, "the watch ended early");
	} else if (!etcd_read(&n, a->in.data ? a->in.data : "", a->in.len)) {
		attempt_failed(c, a, n.error);
		region_free(n.region);
	} else {
		take_answer(c, a, &n);
	}
}

static void
look_at_transfers(struct etcd_client *c)
{
	struct attempt *a;
	CURLMsg *m;
	int left;

	while (c->now && (m = curl_multi_info_read(c->multi, &left))) {
		if (m->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &a);
		transfer_done(c, a, m->data.result);
	}
	for (unsigned i = 0; i < c->len && c->now && c->now->call == ETCD_WATCH; i++)
		if (c->attempts[i].easy && !c->attempts[i].logs_in)
			take_lines(c, &c->attempts[i]);
}

static void
time_out(struct etcd_client *c)
{
	struct etcd_reply *r = &c->now->reply;

	for (unsigned i = 0; i < c->len; i++) {
		struct attempt *a = &c->attempts[i];

		if (!a->easy)
			continue;
		endpoint_is(c, a->ep, STORE_ENDPOINT_FAILED, "no answer in time");
		snprintf(r->why, sizeof(r->why), "%.80s: no answer within %u ms", a->ep->url,
			 c->timeout_ms);
	}
	r->error = ERR_TIMEOUT;
	c->first = (c->first + 1) % c->len;
	finish(c);
}

/* Another endpoint, or the end; the milliseconds until there is more to do. */
static int
pass_time(struct etcd_client *c)
{
	monotime spent = clock_monotonic() - c->begun, all = MSEC(c->timeout_ms);
	monotime step = all / c->len;

	if (spent >= all) {
		time_out(c);
		return 0;
	}
	if (spent >= step * c->asked)
		ask_one_more(c);
	if (c->asked < c->len)
		all = step * c->asked;
	return (int)((all - spent) / MSEC(1)) + 1;
}

static void
begin(struct etcd_client *c, struct request *q)
{
	c->now = q;
	c->begun = clock_monotonic();
	c->asked = 0;
	ask_one_more(c);
}

/* What is to be done next; false: end. */
static bool
take_request(struct etcd_client *c)
{
	struct request *q = NULL;
	bool stop;

	pthread_mutex_lock(&c->lock);
	stop = c->stop;
	if (!stop && !c->now) {
		q = c->next;
		c->next = NULL;
	}
	pthread_mutex_unlock(&c->lock);
	if (q)
		begin(c, q);
	return !stop;
}

static void *
client_main(void *arg)
{
	struct etcd_client *c = arg;
	int running, ms;

	while (take_request(c)) {
		curl_multi_perform(c->multi, &running);
		look_at_transfers(c);
		ms = c->now ? pass_time(c) : IDLE_MS;
		curl_multi_poll(c->multi, NULL, 0, ms, NULL);
	}
	for (unsigned i = 0; i < c->len; i++)
		attempt_end(c, &c->attempts[i]);
	return NULL;
}

/* ---- The loop's end ---- */

static void
client_release(struct etcd_client *c)
{
	list_remove(&c->link);
	mem_free(c);
}

static void
report(void *arg)
{
	struct etcd_client *c = arg;
	struct list *it;
	struct request *q;

	if (c->closed) {
		client_release(c);
		return;
	}
	pthread_mutex_lock(&c->lock);
	it = list_pop(&c->finished);
	c->posted = false;
	pthread_mutex_unlock(&c->lock);
	if (!it)
		return;
	q = list_entry(it, struct request, link);
	if (!q->reply.error && !q->reply.len)
		q->reply.error = ERR_IO;
	q->fn(q->arg, &q->reply);
	request_free(q);
}

void
etcd_ask(struct etcd_client *c, enum etcd_call call, struct buf *body, uint64_t until,
	 etcd_reply_fn fn, void *arg)
{
	struct request *q = mem_zalloc(sizeof(*q));

	list_init(&q->link);
	q->call = call;
	q->body = *body;
	*body = (struct buf){ 0 };
	q->until = until;
	q->fn = fn;
	q->arg = arg;
	pthread_mutex_lock(&c->lock);
	c->next = q;
	pthread_mutex_unlock(&c->lock);
	curl_multi_wakeup(c->multi);
}

bool
etcd_client_endpoint(struct etcd_client *c, unsigned i, struct store_endpoint *ep)
{
	if (i >= c->len)
		return false;
	snprintf(ep->url, sizeof(ep->url), "%s", c->endpoints[i].url);
	pthread_mutex_lock(&c->lock);
	ep->state = c->endpoints[i].state;
	snprintf(ep->why, sizeof(ep->why), "%s", c->endpoints[i].why);
	pthread_mutex_unlock(&c->lock);
	return true;
}

static char *
copy(const char *s)
{
	return s ? mem_strdup(s) : NULL;
}

static void
client_clear(struct etcd_client *c)
{
	struct list *it;

	while ((it = list_pop(&c->finished)))
		request_free(list_entry(it, struct request, link));
	request_free(c->next);
	request_free(c->now);
	for (unsigned i = 0; i < c->len; i++) {
		mem_free(c->endpoints[i].url);
		buf_free(&c->attempts[i].in);
		buf_free(&c->attempts[i].login);
	}
	mem_free(c->endpoints);
	mem_free(c->attempts);
	mem_free(c->ca);
	mem_free(c->cert);
	mem_free(c->key);
	mem_free(c->user);
	if (c->password)
		explicit_bzero(c->password, strlen(c->password));
	mem_free(c->password);
	curl_multi_cleanup(c->multi);
	pthread_mutex_destroy(&c->lock);
}

static void
take_endpoints(struct etcd_client *c, const struct store_etcd *o)
{
	c->len = o->nendpoints;
	c->endpoints = mem_array(c->len, sizeof(*c->endpoints));
	c->attempts = mem_array(c->len, sizeof(*c->attempts));
	for (unsigned i = 0; i < c->len; i++) {
		char *url = mem_strdup(o->endpoints[i]);

		while (*url && url[strlen(url) - 1] == '/')
			url[strlen(url) - 1] = '\0';
		c->endpoints[i].url = url;
		c->attempts[i].ep = &c->endpoints[i];
	}
}

struct etcd_client *
etcd_client_new(struct loop *l, const struct store_etcd *o, struct error *e)
{
	struct etcd_client *c = mem_zalloc(sizeof(*c));
	sigset_t all, old;
	int rc;

	list_init(&c->link);
	list_init(&c->finished);
	pthread_mutex_init(&c->lock, NULL);
	c->loop = l;
	c->timeout_ms = o->timeout_ms;
	c->ca = copy(o->ca);
	c->cert = copy(o->cert);
	c->key = copy(o->key);
	c->user = copy(o->user);
	c->password = copy(o->password ? o->password : "");
	take_endpoints(c, o);
	curl_global_init(CURL_GLOBAL_DEFAULT);
	c->multi = curl_multi_init();
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = c->multi ? pthread_create(&c->thread, NULL, client_main, c) : -1;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!rc) {
		pthread_setname_np(c->thread, "weft-etcd");
		return c;
	}
	error_set(e, ERR_NOMEM, "etcd: cannot start a thread");
	client_clear(c);
	mem_free(c);
	return NULL;
}

void
etcd_client_free(struct etcd_client *c)
{
	if (!c)
		return;
	pthread_mutex_lock(&c->lock);
	c->stop = true;
	pthread_mutex_unlock(&c->lock);
	curl_multi_wakeup(c->multi);
	pthread_join(c->thread, NULL);
	client_clear(c);
	c->closed = true;
	if (c->posted)
		list_append(&closed, &c->link);
	else
		client_release(c);
}
