/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A consumer of events: appends each to a file, one JSON object a line. The file must be one that
 * the plugin's user (`user` in the configuration) may write.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <weft/plugin.h>

static int refuse(const struct weft_host *host, const char *what)
{
	char text[300];

	snprintf(text, sizeof(text), "%s %s: %s", host->text(host, "file"), what, strerror(errno));
	host->refuse(host, text);
	return WEFT_REFUSED;
}

static int open_file(const struct weft_host *host, void **state)
{
	if (host->text(host, "file")[0] != '/') {
		host->refuse(host, "option file must be an absolute path: where lines go");
		return WEFT_REFUSED;
	}
	*state = fopen(host->text(host, "file"), "a");
	return *state ? WEFT_OK : refuse(host, "cannot be opened");
}

/* A line is in the file when this returns: whoever follows it sees it at once. */
static int put(const struct weft_host *host, FILE *file, const char *line)
{
	if (fputs(line, file) >= 0 && putc('\n', file) != EOF && !fflush(file))
		return WEFT_OK;
	return refuse(host, "cannot be written");
}

static int event(const struct weft_host *host, void *state, const struct weft_event *ev)
{
	return put(host, (FILE *)state, ev->json);
}

static int lost(const struct weft_host *host, void *state, uint64_t count)
{
	char line[80];

	snprintf(line, sizeof(line), "{\"type\":\"lost\",\"count\":%llu}",
		 (unsigned long long)count);
	return put(host, (FILE *)state, line);
}

static void close_file(const struct weft_host *host, void *state)
{
	(void)host;
	fclose((FILE *)state);
}

static const struct weft_option options[] = {
	{ sizeof(struct weft_option), WEFT_OPTION_TEXT, "file", "", 0, 4095, NULL,
	  "Absolute path of the file that lines are appended to." },
};
static const struct weft_consumer consumer = {
	sizeof(consumer), WEFT_LOG_DEBUG, NULL, open_file, event, lost, close_file,
};
WEFT_PLUGIN_EXPORT const struct weft_plugin weft_plugin = {
	WEFT_PLUGIN_ABI, sizeof(weft_plugin), "json-lines", "1.0",
	"appends events to a file, one JSON object a line", options, 1, NULL, &consumer,
};
