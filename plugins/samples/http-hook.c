/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A consumer of events: posts each as a JSON object to a URL, by libcurl. A hook that does not
 * answer costs the events that no longer fit into the queue, and nobody else anything.
 */
#include <curl/curl.h>
#include <stdio.h>
#include <string.h>
#include <weft/plugin.h>

static int refuse(const struct weft_host *host, const char *why)
{
	char text[300];

	snprintf(text, sizeof(text), "%.200s: %.90s", host->text(host, "url"), why);
	host->refuse(host, text);
	return WEFT_REFUSED;
}

/* Whatever the hook answers is of no interest. */
static size_t ignore(char *data, size_t size, size_t n, void *arg)
{
	(void)data;
	(void)arg;
	return size * n;
}

static int open_hook(const struct weft_host *host, void **state)
{
	CURL *curl;

	if (!host->text(host, "url")[0]) {
		host->refuse(host, "option url is not set: where events are posted to");
		return WEFT_REFUSED;
	}
	curl_global_init(CURL_GLOBAL_DEFAULT);
	curl = curl_easy_init();
	if (!curl)
		return refuse(host, "libcurl has no room");
	curl_easy_setopt(curl, CURLOPT_URL, host->text(host, "url"));
	curl_easy_setopt(curl, CURLOPT_TIMEOUT, (long)host->number(host, "timeout"));
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, ignore);
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L);
	curl_easy_setopt(curl, CURLOPT_HTTPHEADER,
			 curl_slist_append(NULL, "Content-Type: application/json"));
	*state = curl;
	return WEFT_OK;
}

static int post(const struct weft_host *host, CURL *curl, const char *body)
{
	CURLcode rc;

	curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
	rc = curl_easy_perform(curl);
	/* One event that the hook did not take is no reason to begin anew. */
	if (rc != CURLE_OK)
		host->log(host, WEFT_LOG_WARNING, curl_easy_strerror(rc));
	return WEFT_OK;
}

static int event(const struct weft_host *host, void *state, const struct weft_event *ev)
{
	return post(host, (CURL *)state, ev->json);
}

static int lost(const struct weft_host *host, void *state, uint64_t count)
{
	char body[80];

	snprintf(body, sizeof(body), "{\"type\":\"lost\",\"count\":%llu}",
		 (unsigned long long)count);
	return post(host, (CURL *)state, body);
}

static void close_hook(const struct weft_host *host, void *state)
{
	(void)host;
	curl_easy_cleanup((CURL *)state);
}

static const struct weft_option options[] = {
	{ sizeof(struct weft_option), WEFT_OPTION_TEXT, "url", "", 0, 2047, NULL,
	  "URL that events are posted to." },
	{ sizeof(struct weft_option), WEFT_OPTION_NUMBER, "timeout", "5", 1, 60, NULL,
	  "Seconds that the hook has for an answer." },
};
static const struct weft_consumer consumer = {
	sizeof(consumer), WEFT_LOG_NOTICE, NULL, open_hook, event, lost, close_hook,
};
WEFT_PLUGIN_EXPORT const struct weft_plugin weft_plugin = {
	WEFT_PLUGIN_ABI, sizeof(weft_plugin), "http-hook", "1.0",
	"posts events to a URL", options, 2, NULL, &consumer,
};
