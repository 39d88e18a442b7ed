/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks of texts that rows of several tables share. */
#include "sm/conf/schema.h"

#include <string.h>
#include "sm/base/text.h"

const char *
schema_check_name(struct region *r, const char *s)
{
	static const char letters[] = "-abcdefghijklmnopqrstuvwxyz0123456789_";
	size_t len = strlen(s);

	(void)r;
	return len >= 1 && len <= 31 && *s != '-' && strspn(s, letters) == len ? s : NULL;
}

/* Names stand in commands beside ports and GUIDs, and behind "partition:". */
const char *
schema_check_partition(struct region *r, const char *s)
{
	(void)r;
	return strlen(s) <= 63 && !strpbrk(s, "/:") ? s : NULL;
}

const char *
schema_pairs(struct region *r, const char *s, unsigned first, unsigned second, unsigned most)
{
	char *copy = region_strdup(r, s), *next = copy;
	uint64_t a, b;
	unsigned n = 0;
	struct buf out = { 0 };

	while (next && n <= most) {
		char *pair = next + strspn(next, " "), *colon;

		next = strchr(pair, ',');
		if (next)
			*next++ = '\0';
		for (size_t len = strlen(pair); len && pair[len - 1] == ' '; len--)
			pair[len - 1] = '\0';
		colon = strchr(pair, ':');
		if (colon)
			*colon++ = '\0';
		if (!colon || !number_parse(pair, 0, first, &a) ||
		    !number_parse(colon, 0, second, &b))
			n = most;
		else
			buf_printf(&out, "%s%u:%u", n ? ", " : "", (unsigned)a, (unsigned)b);
		n++;
	}
	copy = n <= most ? region_strdup(r, out.data) : NULL;
	buf_free(&out);
	return copy;
}

const char *
schema_check_endpoint(struct region *r, const char *s)
{
	const char *host = !strncmp(s, "http://", 7) ? s + 7 : !strncmp(s, "https://", 8) ? s + 8 :
		NULL;
	size_t len = strlen(s);

	if (!host || len > 250 || !*host || *host == '/' || *host == ':')
		return NULL;
	for (const char *c = s; *c; c++)
		if (*c <= ' ' || *c >= 0x7f || strchr("\"\\@?#", *c))
			return NULL;
	while (s[len - 1] == '/')
		len--;
	return memchr(host, '/', (size_t)(s + len - host)) ? NULL :
		region_printf(r, "%.*s", (int)len, s);
}

const char *
schema_check_prefix(struct region *r, const char *s)
{
	size_t len = strlen(s);

	(void)r;
	if (*s != '/' || len < 2 || len > 200 || s[len - 1] == '/')
		return NULL;
	for (; *s; s++)
		if (*s <= ' ' || *s >= 0x7f)
			return NULL;
	return s - len;
}
