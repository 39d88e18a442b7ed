/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>
#include "sm/base/mem.h"

/*
 * Rows of answers as people want to read them: in the natural order of names, and with a GUID
 * where a name alone does not tell which node is meant. JSON for programs is left as it came.
 */
struct name {
	const char *name;	/* borrowed from the row */
	const char *guid;	/* likewise */
};

struct names {
	struct name *list;	/* sorted; in the end only shared names, each once */
	size_t len;		/* of it */
	size_t size;		/* allocated */
};

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Two runs of digits by value: zeros in front do not count, then the longer one is greater. */
static int
compare_numbers(const char **a, const char **b)
{
	size_t x, y;
	int order;

	*a += strspn(*a, "0");
	*b += strspn(*b, "0");
	x = strspn(*a, "0123456789");
	y = strspn(*b, "0123456789");
	order = x != y ? (x > y) - (x < y) : strncmp(*a, *b, x);
	*a += x;
	*b += y;
	return order;
}

static int
compare_names(const char *a, const char *b)
{
	const char *whole_a = a, *whole_b = b;
	int order;

	while (*a && *b) {
		if (is_digit(*a) && is_digit(*b)) {
			order = compare_numbers(&a, &b);
			if (order)
				return order;
		} else if (*a == *b) {
			a++;
			b++;
		} else {
			break;
		}
	}
	if (*a || *b)
		return (unsigned char)*a - (unsigned char)*b;
	return strcmp(whole_a, whole_b);
}

static const json_t *
end_of(const json_t *row, const char *end)
{
	return *end ? json_object_get(row, end) : row;
}

static const char *
end_name(const json_t *end)
{
	const char *name = json_string_value(json_object_get(end, "node"));

	return name ? name : field_str(end, "name");
}

static int
compare_rows(const void *a, const void *b, void *arg)
{
	const json_t *x = end_of(*(json_t *const *)a, arg), *y = end_of(*(json_t *const *)b, arg);
	uint64_t p = field_uint(x, "port"), q = field_uint(y, "port");
	int order = compare_names(end_name(x), end_name(y));

	if (!order)
		order = strcmp(field_str(x, "guid"), field_str(y, "guid"));
	return order ? order : (p > q) - (p < q);
}

void
rows_sort(const json_t *rows, const char *end)
{
	json_t *array = (json_t *)(uintptr_t)rows, **list;
	size_t len = json_array_size(rows);

	if (len < 2)
		return;
	list = mem_array(len, sizeof(*list));
	for (size_t i = 0; i < len; i++)
		list[i] = json_incref(json_array_get(array, i));
	qsort_r(list, len, sizeof(*list), compare_rows, (void *)(uintptr_t)end);
	json_array_clear(array);
	for (size_t i = 0; i < len; i++)
		json_array_append_new(array, list[i]);
	mem_free(list);
}

static int
compare_shared(const void *a, const void *b)
{
	const struct name *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : strcmp(x->guid, y->guid);
}

static int
compare_key(const void *key, const void *member)
{
	return strcmp(key, ((const struct name *)member)->name);
}

static void
names_add(struct names *n, const json_t *end)
{
	if (!json_is_object(end))
		return;
	if (n->len == n->size) {
		n->size = n->size ? n->size * 2 : 256;
		n->list = mem_realloc(n->list, n->size, sizeof(*n->list));
	}
	n->list[n->len++] = (struct name){ end_name(end), field_str(end, "guid") };
}

/* Sorted by name and GUID: a name is shared where the GUID changes and the name does not. */
static void
keep_shared(struct names *n)
{
	size_t kept = 0;

	if (n->len)
		qsort(n->list, n->len, sizeof(*n->list), compare_shared);
	for (size_t i = 1; i < n->len; i++) {
		const struct name *last = &n->list[i - 1], *this = &n->list[i];

		if (strcmp(last->name, this->name) != 0 || strcmp(last->guid, this->guid) == 0)
			continue;
		if (!kept || strcmp(n->list[kept - 1].name, this->name) != 0)
			n->list[kept++] = *this;
	}
	n->len = kept;
}

struct names *
names_new(const json_t *rows, const char *one, const char *other)
{
	struct names *n = mem_zalloc(sizeof(*n));
	json_t *row;
	size_t i;

	json_array_foreach(rows, i, row) {
		names_add(n, end_of(row, one));
		if (other)
			names_add(n, end_of(row, other));
	}
	keep_shared(n);
	return n;
}

bool
names_shared(const struct names *n, const char *name)
{
	return n->len && bsearch(name, n->list, n->len, sizeof(*n->list), compare_key);
}

void
names_free(struct names *n)
{
	mem_free(n->list);
	mem_free(n);
}

const char *
ranges_text(const json_t *list, char text[RANGES_SIZE])
{
	size_t len = json_array_size(list), at = 0, i = 0;

	snprintf(text, RANGES_SIZE, "-");
	while (i < len && at < RANGES_SIZE) {
		long long first = (long long)json_integer_value(json_array_get(list, i));
		long long last = first;

		while (++i < len && json_integer_value(json_array_get(list, i)) == last + 1)
			last++;
		at += (size_t)snprintf(text + at, RANGES_SIZE - at, "%s%lld", at ? " " : "", first);
		if (last > first && at < RANGES_SIZE)
			at += (size_t)snprintf(text + at, RANGES_SIZE - at, "-%lld", last);
	}
	return text;
}
