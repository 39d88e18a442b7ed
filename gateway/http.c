/* SPDX-License-Identifier: BSD-2-Clause */
#include "gateway/http.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include "sm/base/text.h"

/*
 * Heads of requests and answers. What two readers of one message could understand differently is
 * refused, for that is how requests are smuggled past a proxy (RFC 9112, 11.2): a bare line feed,
 * folded lines, blanks before a colon, lengths that are said twice, transfer codings.
 */
struct lines {
	const char *at;		/* the next */
	const char *end;	/* of the head, behind its empty line */
};

/* A line without its end; NULL: there is none, or the empty one. */
static const char *
next_line(struct lines *l, size_t *len)
{
	const char *line = l->at;
	const char *end = memchr(line, '\r', (size_t)(l->end - line));

	if (!end || end == line)
		return NULL;
	*len = (size_t)(end - line);
	l->at = end + 2;
	return line;
}

static bool
is_token(char c)
{
	return c && ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		     strchr("!#$%&'*+-.^_`|~", c));
}

/* Where the head ends; 0: not yet. */
static size_t
head_end(const char *data, size_t len)
{
	const char *found = memmem(data, len, "\r\n\r\n", 4);

	return found ? (size_t)(found - data) + 4 : 0;
}

/* Every CR is before a LF and the other way round, and there is no NUL. */
static bool
ends_are_whole(const char *data, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (!data[i] || (data[i] == '\r' && (i + 1 == len || data[i + 1] != '\n')) ||
		    (data[i] == '\n' && (!i || data[i - 1] != '\r')))
			return false;
	}
	return true;
}

static int
refuse(struct error *e, int status, const char *sentence)
{
	error_set(e, ERR_FORMAT, "%s", sentence);
	return status;
}

/* ---- The request line ---- */

static int
hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 :
	       c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static int
decode_path(struct http_head *h, const char *s, size_t len, struct error *e)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		int c = (unsigned char)s[i];

		if (c == '%') {
			if (i + 2 >= len || hex_digit(s[i + 1]) < 0 || hex_digit(s[i + 2]) < 0)
				return refuse(e, 400, "the URL has a % without two digits");
			c = hex_digit(s[i + 1]) * 16 + hex_digit(s[i + 2]);
			i += 2;
		}
		if (c < ' ' || c == 0x7f)
			return refuse(e, 400, "the URL has a control character");
		if (n + 1 >= sizeof(h->path))
			return refuse(e, 414, "the URL is too long");
		h->path[n++] = (char)c;
	}
	h->path[n] = '\0';
	return 0;
}

/* "/path?query", or with "http://host" before it. */
static int
parse_target(struct http_head *h, const char *s, size_t len, struct error *e)
{
	const char *end = s + len, *query;

	if (len > 7 && (!strncmp(s, "http://", 7) || !strncmp(s, "https://", 8))) {
		s += s[4] == 's' ? 8 : 7;
		while (s < end && *s != '/')
			s++;
	}
	if (s == end || *s != '/')
		return refuse(e, 400, "the URL has no path");
	query = memchr(s, '?', (size_t)(end - s));
	if (query) {
		size_t size = (size_t)(end - query) - 1;

		if (size >= sizeof(h->query))
			return refuse(e, 414, "the URL is too long");
		memcpy(h->query, query + 1, size);
		h->query[size] = '\0';
		end = query;
	}
	return decode_path(h, s, (size_t)(end - s), e);
}

static int
parse_request_line(struct http_head *h, const char *line, size_t len, bool *old, struct error *e)
{
	const char *space = memchr(line, ' ', len), *last;
	size_t n = space ? (size_t)(space - line) : 0;

	for (size_t i = 0; i < n; i++)
		if (!is_token(line[i]))
			return refuse(e, 400, "this is no request of HTTP");
	if (!n || n >= sizeof(h->method))
		return refuse(e, n ? 501 : 400, "this is no request of HTTP that is known here");
	memcpy(h->method, line, n);
	h->method[n] = '\0';
	space++;
	last = memrchr(line, ' ', len);
	if (last < space || memchr(space, ' ', (size_t)(last - space)))
		return refuse(e, 400, "the line of the request is not METHOD URL HTTP/1.1");
	last++;
	n = (size_t)(line + len - last);
	if (n != 8 || strncmp(last, "HTTP/", 5))
		return refuse(e, 400, "the line of the request is not METHOD URL HTTP/1.1");
	if (strncmp(last, "HTTP/1.1", 8) && strncmp(last, "HTTP/1.0", 8))
		return refuse(e, 505, "only HTTP/1.1 and HTTP/1.0 are spoken here");
	*old = last[7] == '0';
	return parse_target(h, space, (size_t)(last - space) - 1, e);
}

/* ---- Header lines ---- */

/* What of a head is said by its lines. */
struct said {
	bool host;
	bool length;
	bool coding;	/* Transfer-Encoding */
	bool close;	/* Connection: close, */
	bool keep;	/* or keep-alive */
};

static bool
is_name(const char *name, size_t len, const char *wanted)
{
	return len == strlen(wanted) && !strncasecmp(name, wanted, len);
}

static int
parse_length(struct http_head *h, struct said *said, const char *value, struct error *e)
{
	bool digits = *value && strspn(value, "0123456789") == strlen(value);

	if (said->length || !digits || !number_parse(value, 0, INT64_MAX, &h->body_size))
		return refuse(e, 400, "the Content-Length is not one number");
	said->length = true;
	return 0;
}

static void
parse_connection(struct said *said, const char *value)
{
	while (*value) {
		size_t len = strcspn(value, ", \t");

		said->close |= is_name(value, len, "close");
		said->keep |= is_name(value, len, "keep-alive");
		value += len;
		value += strspn(value, ", \t");
	}
}

static int
take_header(struct http_head *h, struct said *said, const char *name, size_t len,
	    const char *value, struct error *e)
{
	size_t size;

	if (is_name(name, len, "host")) {
		if (said->host)
			return refuse(e, 400, "there are two Hosts");
		said->host = true;
	} else if (is_name(name, len, "content-length")) {
		return parse_length(h, said, value, e);
	} else if (is_name(name, len, "transfer-encoding")) {
		said->coding = true;
	} else if (is_name(name, len, "connection")) {
		parse_connection(said, value);
	} else if (is_name(name, len, "expect")) {
		if (strcasecmp(value, "100-continue"))
			return refuse(e, 417, "nothing can be expected but 100-continue");
		h->expect_continue = true;
	} else if (is_name(name, len, "authorization")) {
		if (h->authorization[0])
			return refuse(e, 400, "there are two Authorizations");
		size = strlen(value);
		if (size >= sizeof(h->authorization))
			return refuse(e, 431, "the Authorization is too long");
		memcpy(h->authorization, value, size + 1);
	}
	return 0;
}

static int
parse_header(struct http_head *h, struct said *said, const char *line, size_t len, struct error *e)
{
	char value[HTTP_HEAD_MAX];
	size_t name = 0, end = len, start;

	while (name < len && is_token(line[name]))
		name++;
	if (!name || name == len || line[name] != ':')
		return refuse(e, 400, "a line of the head is not NAME: VALUE");
	start = name + 1;
	while (start < end && (line[start] == ' ' || line[start] == '\t'))
		start++;
	while (end > start && (line[end - 1] == ' ' || line[end - 1] == '\t'))
		end--;
	for (size_t i = start; i < end; i++)
		if (((unsigned char)line[i] < ' ' && line[i] != '\t') || line[i] == 0x7f)
			return refuse(e, 400, "a line of the head has a control character");
	memcpy(value, line + start, end - start);
	value[end - start] = '\0';
	return take_header(h, said, line, name, value, e);
}

static int
settle(struct http_head *h, const struct said *said, bool old, struct error *e)
{
	if (!old && !said->host)
		return refuse(e, 400, "there is no Host");
	if (said->coding && said->length)
		return refuse(e, 400, "there is a Content-Length and a Transfer-Encoding");
	if (said->coding)
		return refuse(e, 411, "a body needs a Content-Length here");
	h->keep_alive = old ? said->keep && !said->close : !said->close;
	h->expect_continue = h->expect_continue && !old && h->body_size;
	return HTTP_WHOLE;
}

static int
parse_whole(struct http_head *h, struct lines *lines, struct error *e)
{
	struct said said = { 0 };
	unsigned n = 0;
	const char *line;
	size_t len;
	bool old = false;
	int rc;

	line = next_line(lines, &len);
	rc = line ? parse_request_line(h, line, len, &old, e) :
		refuse(e, 400, "this is no request of HTTP");
	while (!rc && (line = next_line(lines, &len))) {
		if (++n > HTTP_HEADERS_MAX)
			return refuse(e, 431, "the head has too many lines");
		rc = parse_header(h, &said, line, len, e);
	}
	return rc ? rc : settle(h, &said, old, e);
}

int
http_head_parse(const char *data, size_t len, struct http_head *h, size_t *used, struct error *e)
{
	struct lines lines;
	size_t skip = 0, end;

	memset(h, 0, sizeof(*h));
	/* An end of line after the body before is forgiven (RFC 9112, 2.2). */
	while (skip + 1 < len && data[skip] == '\r' && data[skip + 1] == '\n' && skip < 8)
		skip += 2;
	data += skip;
	len -= skip;
	if (len && data[0] == 0x16)
		return refuse(e, 400, "this port speaks HTTP without TLS");
	end = head_end(data, len < HTTP_HEAD_MAX ? len : HTTP_HEAD_MAX);
	if (!end && len < HTTP_HEAD_MAX)
		return HTTP_PARTIAL;
	if (!end)
		return refuse(e, 431, "the head of the request is longer than 8192 bytes");
	if (!ends_are_whole(data, end))
		return refuse(e, 400, "a line of the head does not end with CR and LF");
	lines = (struct lines){ .at = data, .end = data + end };
	*used = skip + end;
	return parse_whole(h, &lines, e);
}

/* ---- The rest ---- */

bool
http_query_true(const char *query, const char *name)
{
	size_t len = strlen(name);

	while (*query) {
		size_t word = strcspn(query, "&");

		if (word == len + 5 && !strncmp(query, name, len) &&
		    !strncasecmp(query + len, "=true", 5))
			return true;
		query += word;
		query += *query == '&';
	}
	return false;
}

const char *
http_status_text(int status)
{
	static const struct {
		int status;
		const char *text;
	} list[] = {
		{ 200, "OK" }, { 400, "Bad Request" }, { 401, "Unauthorized" },
		{ 403, "Forbidden" }, { 404, "Not Found" }, { 405, "Method Not Allowed" },
		{ 408, "Request Timeout" },
		{ 409, "Conflict" }, { 411, "Length Required" }, { 413, "Content Too Large" },
		{ 414, "URI Too Long" }, { 417, "Expectation Failed" },
		{ 431, "Request Header Fields Too Large" }, { 500, "Internal Server Error" },
		{ 501, "Not Implemented" }, { 502, "Bad Gateway" },
		{ 503, "Service Unavailable" }, { 504, "Gateway Timeout" },
		{ 505, "HTTP Version Not Supported" },
	};

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		if (list[i].status == status)
			return list[i].text;
	return "Unknown";
}

/* As RFC 9110, 5.6.7 has it, in English whatever the locale. */
static void
put_date(struct buf *out, int64_t wall)
{
	static const char days[] = "SunMonTueWedThuFriSat";
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	time_t t = (time_t)(wall / 1000000);
	struct tm tm;

	if (gmtime_r(&t, &tm))
		buf_printf(out, "Date: %.3s, %02d %.3s %04d %02d:%02d:%02d GMT\r\n",
			   days + 3 * tm.tm_wday, tm.tm_mday, months + 3 * tm.tm_mon,
			   tm.tm_year + 1900, tm.tm_hour, tm.tm_min, tm.tm_sec);
}

void
http_answer_head(struct buf *out, int status, size_t len, bool keep_alive, const char *more,
		 int64_t wall)
{
	buf_printf(out, "HTTP/1.1 %d %s\r\nServer: weft-gateway\r\n", status,
		   http_status_text(status));
	put_date(out, wall);
	buf_printf(out, "Content-Type: application/json\r\nContent-Length: %zu\r\n"
		   "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n%s%s\r\n", len,
		   keep_alive ? "" : "Connection: close\r\n", more);
}
