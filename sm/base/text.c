/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/base/text.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/*
 * Text of GUIDs, numbers, durations, links and states, and back. Plain functions over callers'
 * buffers; nothing is owned. Parsers take the whole string or refuse it, and never read a locale.
 * Link widths, speeds and MTU codes: IBA volume 1, 14.2.5.6 (PortInfo).
 */

unsigned
utf8_decode(const char *s, size_t len, uint32_t *cp)
{
	const unsigned char *p = (const unsigned char *)s;
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	unsigned n;

	if (!len)
		return 0;
	if (p[0] < 0x80) {
		*cp = p[0];
		return 1;
	}
	n = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
	if (p[0] < 0xc2 || p[0] > 0xf4 || n > len)
		return 0;
	*cp = p[0] & (0x7fu >> n);
	for (unsigned i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		*cp = *cp << 6 | (p[i] & 0x3fu);
	}
	if (*cp < least[n] || *cp > 0x10ffff || (*cp >= 0xd800 && *cp <= 0xdfff))
		return 0;
	return n;
}

const char *
guid_text(char buf[GUID_TEXT_SIZE], uint64_t guid)
{
	snprintf(buf, GUID_TEXT_SIZE, "0x%016" PRIx64, guid);
	return buf;
}

static int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

static bool
has_0x(const char *s)
{
	return s[0] == '0' && (s[1] == 'x' || s[1] == 'X');
}

/* The digits that `s` starts with, in `base`; *end is behind them. False if none or too large. */
static bool
digits(const char *s, unsigned base, uint64_t *value, const char **end)
{
	const char *p = s;
	uint64_t v = 0;

	for (int d; (d = hex_digit(*p)) >= 0 && (unsigned)d < base; p++) {
		if (__builtin_mul_overflow(v, (uint64_t)base, &v) ||
		    __builtin_add_overflow(v, (uint64_t)d, &v))
			return false;
	}
	*value = v;
	*end = p;
	return p > s;
}

bool
guid_parse(const char *s, uint64_t *guid)
{
	const char *from = has_0x(s) ? s + 2 : s, *end;
	uint64_t v;

	if (!digits(from, 16, &v, &end) || *end || end - from > 16)
		return false;
	if (from == s && end - from != 16)
		return false;
	*guid = v;
	return true;
}

bool
number_parse(const char *s, uint64_t min, uint64_t max, uint64_t *value)
{
	bool hex = has_0x(s);
	const char *end;
	uint64_t v;

	if (!digits(hex ? s + 2 : s, hex ? 16 : 10, &v, &end) || *end)
		return false;
	if (v < min || v > max)
		return false;
	*value = v;
	return true;
}

bool
duration_parse(const char *s, int64_t *ns)
{
	static const struct {
		const char *name;	/* as written behind the number */
		int64_t ns;		/* its length */
	} units[] = {
		{ "us", 1000 },
		{ "ms", 1000000 },
		{ "s", INT64_C(1000000000) },
		{ "min", INT64_C(60000000000) },
		{ "h", INT64_C(3600000000000) },
		{ "d", INT64_C(86400000000000) },
	};
	const char *end;
	uint64_t v;

	if (!digits(s, 10, &v, &end) || v > INT64_MAX)
		return false;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(end, units[i].name) == 0)
			return !__builtin_mul_overflow((int64_t)v, units[i].ns, ns);
	}
	return false;
}

unsigned
link_lanes(enum link_width width)
{
	switch (width) {
	case LINK_1X:
		return 1;
	case LINK_2X:
		return 2;
	case LINK_4X:
		return 4;
	case LINK_8X:
		return 8;
	case LINK_12X:
		return 12;
	}
	return 0;
}

/*
 * Data rate of one lane as an exact fraction in Mb/s, so that wide links do not add up rounding:
 * signalling rate times 8/10 up to QDR, times 64/66 up to EDR (FDR: 14062.5 * 64 / 66, which is
 * 150000 / 11), nominal payload behind forward error correction from HDR on.
 */
static const struct {
	const char *name;	/* as printed */
	uint32_t mbps;		/* numerator */
	uint32_t divisor;	/* denominator */
} speeds[] = {
	[SPEED_NONE] = { "?", 0, 1 },
	[SPEED_SDR] = { "SDR", 2000, 1 },
	[SPEED_DDR] = { "DDR", 4000, 1 },
	[SPEED_QDR] = { "QDR", 8000, 1 },
	[SPEED_FDR10] = { "FDR10", 10000, 1 },
	[SPEED_FDR] = { "FDR", 150000, 11 },
	[SPEED_EDR] = { "EDR", 25000, 1 },
	[SPEED_HDR] = { "HDR", 50000, 1 },
	[SPEED_NDR] = { "NDR", 100000, 1 },
	[SPEED_XDR] = { "XDR", 200000, 1 },
};
#define SPEEDS (sizeof(speeds) / sizeof(speeds[0]))

uint32_t
link_rate_mbps(enum link_width width, enum link_speed speed)
{
	if ((size_t)speed >= SPEEDS)
		return 0;
	return link_lanes(width) * speeds[speed].mbps / speeds[speed].divisor;
}

const char *
link_speed_name(enum link_speed speed)
{
	return (size_t)speed < SPEEDS ? speeds[speed].name : "?";
}

const char *
link_text(char buf[LINK_TEXT_SIZE], enum link_width width, enum link_speed speed)
{
	unsigned lanes = link_lanes(width);

	if (lanes)
		snprintf(buf, LINK_TEXT_SIZE, "%ux%s", lanes, link_speed_name(speed));
	else
		snprintf(buf, LINK_TEXT_SIZE, "?x%s", link_speed_name(speed));
	return buf;
}

bool
link_parse(const char *s, enum link_width *width, enum link_speed *speed)
{
	static const enum link_width widths[] = { LINK_1X, LINK_2X, LINK_4X, LINK_8X, LINK_12X };
	enum link_width found = (enum link_width)0;
	const char *end;
	uint64_t lanes;

	if (!digits(s, 10, &lanes, &end) || (*end != 'x' && *end != 'X'))
		return false;
	for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
		if (link_lanes(widths[i]) == lanes)
			found = widths[i];
	}
	for (size_t i = SPEED_SDR; found && i < SPEEDS; i++) {
		if (strcasecmp(end + 1, speeds[i].name) == 0) {
			*width = found;
			*speed = (enum link_speed)i;
			return true;
		}
	}
	return false;
}

unsigned
mtu_bytes(unsigned code)
{
	return code >= 1 && code <= 5 ? 128u << code : 0;
}

unsigned
mtu_code(unsigned bytes)
{
	for (unsigned code = 1; code <= 5; code++) {
		if (mtu_bytes(code) == bytes)
			return code;
	}
	return 0;
}

const char *
port_state_name(unsigned state)
{
	static const char *const names[] = { "?", "down", "init", "armed", "active" };

	return state < sizeof(names) / sizeof(names[0]) ? names[state] : "?";
}

/* Words longer than this are no typing errors of ours. */
#define WORD_MAX 63

static bool
same_letter(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

static unsigned
least_of(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* Insertions, deletions, replacements, swaps of neighbours between `a` and `b`, whatever case. */
static unsigned
edit_distance(const char *a, size_t alen, const char *b, size_t blen)
{
	unsigned rows[3][WORD_MAX + 1];
	unsigned *before = rows[0], *last = rows[1], *row = rows[2], *swap;

	for (unsigned j = 0; j <= blen; j++)
		row[j] = j;
	for (unsigned i = 1; i <= alen; i++) {
		swap = before;
		before = last;
		last = row;
		row = swap;
		row[0] = i;
		for (unsigned j = 1; j <= blen; j++) {
			row[j] = last[j - 1] + !same_letter(a[i - 1], b[j - 1]);
			row[j] = least_of(row[j], least_of(last[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) &&
			    same_letter(a[i - 2], b[j - 1]))
				row[j] = least_of(row[j], before[j - 2] + 1);
		}
	}
	return row[blen];
}

const char *
nearest_word(const char *s, const char *const *words)
{
	size_t len = strlen(s);
	unsigned best = (unsigned)(1 + len / 3) + 1, d;
	const char *found = NULL;

	if (!len || len > WORD_MAX)
		return NULL;
	for (; *words; words++) {
		size_t wlen = strlen(*words);

		if (wlen > WORD_MAX)
			continue;
		d = edit_distance(s, len, *words, wlen);
		if (d < best) {
			best = d;
			found = *words;
		}
	}
	return found;
}
