/* SPDX-License-Identifier: BSD-2-Clause */
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "gateway/ufm.h"
#include "sm/base/frame.h"

/*
 * The first byte says what the others are: the body of a request, an answer of the daemon's to one,
 * or "METHOD PATH?QUERY". A command is JSON that the daemon can take; a body is JSON, of a status
 * that is known; what is refused has a sentence. Nothing is neither.
 */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
must(bool holds)
{
	if (!holds)
		abort();
}

static void
check_command(const struct ufm_call *call, const char *text, size_t len)
{
	struct buf line = { 0 };
	struct error e = { 0 };
	int rc = ufm_command(call, text, len, "lab", &line, &e);
	json_t *command;

	if (rc) {
		must((rc == 400 || rc == 413) && e.text[0]);
	} else {
		command = json_loadb(line.data, line.len, JSON_REJECT_DUPLICATES, NULL);
		must(json_is_object(command) && line.len < FRAME_MAX_REQUEST);
		must(json_string_value(json_object_get(command, "command")) != NULL);
		must(!memchr(line.data, '\n', line.len));
		json_decref(command);
	}
	buf_free(&line);
}

static void
check_answer(const struct ufm_call *call, const char *text, size_t len)
{
	struct buf body = { 0 };
	struct error e = { 0 };
	bool busy = false;
	int status = ufm_answer(call, text, len, "0.1.0", &body, &busy, &e);
	json_t *said;

	if (status == 200) {
		said = json_loadb(body.data, body.len, 0, NULL);
		must(json_is_object(said));
		json_decref(said);
	} else {
		must(status >= 400 && status <= 504 && e.text[0]);
	}
	must(!busy || status == 503);
	buf_free(&body);
}

static void
check_route(char *text)
{
	char *path = strchr(text, ' '), *query;
	struct ufm_call call;
	const char *allow = NULL;
	struct error e = { 0 };
	uint64_t guid;
	uint16_t pkey;
	int rc;

	if (ufm_guid(text, &guid))
		must(guid != 0);
	if (ufm_pkey(text, &pkey))
		must(pkey > 0 && pkey < 0x7fff);
	if (!path)
		return;
	*path++ = '\0';
	query = strchr(path, '?');
	if (query)
		*query++ = '\0';
	rc = ufm_route(text, path, query ? query : "", &call, &allow, &e);
	must(rc ? e.text[0] && (rc == 400 || rc == 404 || (rc == 405 && allow)) :
	     call.pkey <= 0x7fff);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ufm_call call = { .guids = true };
	char *text;

	if (!size)
		return 0;
	text = malloc(size);
	must(text != NULL);
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	call.kind = data[0] >> 1 & 3;
	call.change = call.kind == UFM_ADD || call.kind == UFM_REMOVE;
	call.pkey = data[0] & 8 ? 0x42 : 0;
	if (data[0] & 16)
		check_route(text);
	else if (data[0] & 1)
		check_answer(&call, text, size - 1);
	else
		check_command(&call, text, size - 1);
	free(text);
	return 0;
}
