/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "gateway/http.h"

/*
 * Any bytes as the head of a request. What is taken is taken the same when it comes byte by byte,
 * has a path, and ends within the bytes; what is refused has a status and a sentence.
 */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
must(bool holds)
{
	if (!holds)
		abort();
}

/* The first length at which it is not partial any more says the same as the whole. */
static void
by_pieces(const char *data, size_t size, int whole, const struct http_head *wanted, size_t end)
{
	struct http_head h;
	struct error e = { 0 };
	size_t used = 0;
	int rc = HTTP_PARTIAL;

	for (size_t len = 0; len <= size && rc == HTTP_PARTIAL; len++)
		rc = http_head_parse(data, len, &h, &used, &e);
	if (whole == HTTP_WHOLE)
		must(rc == HTTP_WHOLE && used == end && !memcmp(&h, wanted, sizeof(h)));
	else
		must(whole != HTTP_PARTIAL || rc == HTTP_PARTIAL);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = malloc(size ? size : 1);
	struct http_head h;
	struct error e = { 0 };
	size_t used = 0;
	int rc;

	must(copy != NULL);
	if (size)
		memcpy(copy, data, size);
	rc = http_head_parse(copy, size, &h, &used, &e);
	if (rc == HTTP_WHOLE) {
		must(used <= size && used >= 4 && h.path[0] == '/' && h.method[0]);
		http_query_true(h.query, "guids_data");
	} else if (rc != HTTP_PARTIAL) {
		must(rc >= 400 && rc <= 505 && e.text[0]);
		must(strcmp(http_status_text(rc), "Unknown") != 0);
	}
	if (size < 600)
		by_pieces(copy, size, rc, &h, used);
	free(copy);
	return 0;
}
