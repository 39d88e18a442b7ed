/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/conf/doc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yaml.h>
#include "sm/base/text.h"

/*
 * YAML text into a tree, through libyaml's events.
 *
 * The tree belongs to the caller's region. libyaml's own document loader is not used: it loses the
 * place of keys, lets duplicate keys pass and follows aliases without a bound. Here every level is
 * one C call, so depth is bounded; so are the size of the text, the entries of a map, the anchors,
 * and the nodes of the whole tree with every alias written out, since readers walk it that way.
 * An anchor can be used only behind the end of what it names, which keeps the tree a tree.
 *
 * What we do not use is refused rather than ignored: tags, further documents, keys that are not
 * plain words.
 */
#define DEPTH_MAX 16u
#define NODES_MAX 3000000u
#define MAP_MAX 256u
#define ANCHORS_MAX 256u
#define SHOWN_MAX 48u		/* characters of a value that a message repeats */

struct anchor {
	struct anchor *next;		/* the one seen before */
	const char *name;		/* without the & */
	const struct doc_node *node;	/* what it names */
};

struct builder {
	struct doc *d;			/* where nodes and errors go */
	yaml_parser_t parser;		/* reads the text */
	const char *text;		/* the whole of it, to find places by offset */
	size_t len;			/* bytes of it */
	struct anchor *anchors;		/* newest first: a name may be used again */
	unsigned nanchors;		/* bounded */
	unsigned nodes;			/* built so far, bounded */
};

static int
build(struct builder *b, const yaml_event_t *event, unsigned depth, const struct doc_node **out);

int
doc_error(const struct doc *d, const struct doc_node *at, int code, const char *fmt, ...)
{
	char text[sizeof(d->error->text)];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return error_set(d->error, code, "%s:%u:%u: %s", d->name, at ? at->line : 1,
			 at ? at->column : 1, text);
}

bool
doc_text_ok(const char *text, size_t len)
{
	uint32_t cp;
	unsigned n;

	for (size_t i = 0; i < len; i += n) {
		n = utf8_decode(text + i, len - i, &cp);
		if (!n || cp < 0x20 || (cp >= 0x7f && cp < 0xa0))
			return false;
		if (cp == 0x2028 || cp == 0x2029 || cp == 0xfeff || (cp & 0xfffe) == 0xfffe)
			return false;
	}
	return true;
}

bool
doc_is_null(const struct doc_node *n)
{
	if (n->kind != DOC_SCALAR || n->quoted)
		return false;
	return !*n->text || strcmp(n->text, "~") == 0 || strcmp(n->text, "null") == 0;
}

const struct doc_node *
doc_get(const struct doc_node *map, const char *key)
{
	for (const struct doc_item *i = map->items; i; i = i->next) {
		if (strcmp(i->key->text, key) == 0)
			return i->value;
	}
	return NULL;
}

const char *
doc_describe(const struct doc *d, const struct doc_node *n)
{
	size_t len = 0, chars = 0, size;
	uint32_t cp;

	if (n->kind == DOC_MAP)
		return "a map";
	if (n->kind == DOC_LIST)
		return n->len ? "a list" : "an empty list";
	if (!*n->text)
		return n->quoted ? "an empty text" : "nothing";
	size = strlen(n->text);
	while (len < size && chars++ < SHOWN_MAX)
		len += utf8_decode(n->text + len, size - len, &cp);
	return region_printf(d->region, "\"%.*s%s\"", (int)len, n->text, len < size ? "..." : "");
}

static int
at_mark(struct builder *b, const yaml_mark_t *m, int code, const char *what)
{
	struct doc_node at = { .line = (unsigned)m->line + 1, .column = (unsigned)m->column + 1 };

	return doc_error(b->d, &at, code, "%s", what);
}

/* libyaml's reader tells only how many bytes in it gave up. */
static int
at_offset(struct builder *b, size_t offset, const char *what)
{
	yaml_mark_t m = { 0 };

	for (size_t i = 0; i < offset && i < b->len; i++) {
		if (b->text[i] == '\n') {
			m.line++;
			m.column = 0;
		} else if ((b->text[i] & 0xc0) != 0x80) {
			m.column++;
		}
	}
	return at_mark(b, &m, ERR_FORMAT, what);
}

static int
parser_failed(struct builder *b)
{
	const yaml_parser_t *p = &b->parser;
	const char *why = p->problem ? p->problem : "it makes no sense";

	if (p->error == YAML_MEMORY_ERROR)
		return doc_error(b->d, NULL, ERR_NOMEM, "not enough memory to read it");
	why = region_printf(b->d->region, "malformed YAML: %s", why);
	if (p->error == YAML_READER_ERROR)
		return at_offset(b, p->problem_offset, why);
	return at_mark(b, &p->problem_mark, ERR_FORMAT, why);
}

static int
next_event(struct builder *b, yaml_event_t *event)
{
	if (yaml_parser_parse(&b->parser, event))
		return 0;
	return parser_failed(b);
}

static struct doc_node *
node_new(struct builder *b, const yaml_event_t *event, enum doc_kind kind)
{
	struct doc_node *n = region_alloc(b->d->region, sizeof(*n));

	n->kind = kind;
	n->line = (unsigned)event->start_mark.line + 1;
	n->column = (unsigned)event->start_mark.column + 1;
	n->weight = 1;
	return n;
}

static int
build_scalar(struct builder *b, const yaml_event_t *event, const struct doc_node **out)
{
	const char *text = (const char *)event->data.scalar.value;
	size_t len = event->data.scalar.length;
	struct doc_node *n = node_new(b, event, DOC_SCALAR);

	if (!doc_text_ok(text, len))
		return at_mark(b, &event->start_mark, ERR_FORMAT,
			       "the value holds a control character or a line break");
	n->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
	n->text = region_strdup(b->d->region, text);
	*out = n;
	return 0;
}

static int
check_key(struct builder *b, const struct doc_node *map, const struct doc_node *key)
{
	const struct doc_item *i;

	if (key->kind != DOC_SCALAR)
		return doc_error(b->d, key, ERR_FORMAT, "expected a word as key, found %s",
				 doc_describe(b->d, key));
	if (map->len == MAP_MAX)
		return doc_error(b->d, key, ERR_FULL, "more than %u keys in one map", MAP_MAX);
	for (i = map->items; i; i = i->next) {
		if (strcmp(i->key->text, key->text) == 0)
			return doc_error(b->d, key, ERR_EXISTS,
					 "%s is set twice; it was set in line %u already",
					 doc_describe(b->d, key), i->key->line);
	}
	return 0;
}

static int
build_next(struct builder *b, unsigned depth, const struct doc_node **out, bool *end)
{
	yaml_event_t event;
	int rc = next_event(b, &event);

	if (rc)
		return rc;
	*end = event.type == YAML_MAPPING_END_EVENT || event.type == YAML_SEQUENCE_END_EVENT;
	if (!*end)
		rc = build(b, &event, depth, out);
	yaml_event_delete(&event);
	return rc;
}

static int
build_items(struct builder *b, struct doc_node *n, unsigned depth)
{
	struct doc_item **last = &n->items, *item;
	bool end;
	int rc;

	for (;;) {
		const struct doc_node *first = NULL, *value = NULL;

		rc = build_next(b, depth + 1, &first, &end);
		if (rc || end)
			return rc;
		item = region_alloc(b->d->region, sizeof(*item));
		item->value = first;
		if (n->kind == DOC_MAP) {
			item->key = first;
			rc = check_key(b, n, first);
			if (!rc)
				rc = build_next(b, depth + 1, &value, &end);
			if (rc)
				return rc;
			item->value = value;
			n->weight += first->weight;
		}
		n->weight += item->value->weight;
		n->len++;
		*last = item;
		last = &item->next;
	}
}

static int
build_alias(struct builder *b, const yaml_event_t *event, const struct doc_node **out)
{
	const char *name = (const char *)event->data.alias.anchor;

	for (const struct anchor *a = b->anchors; a; a = a->next) {
		if (strcmp(a->name, name) != 0)
			continue;
		b->nodes += a->node->weight;
		*out = a->node;
		if (b->nodes > NODES_MAX)
			return at_mark(b, &event->start_mark, ERR_FULL,
				       "the aliases stand for too many values");
		return 0;
	}
	return at_mark(b, &event->start_mark, ERR_NOT_FOUND,
		       "this alias names nothing that ends before it");
}

static int
add_anchor(struct builder *b, const yaml_event_t *event, const yaml_char_t *name,
	   const struct doc_node *n)
{
	struct anchor *a;

	if (!name)
		return 0;
	if (b->nanchors == ANCHORS_MAX)
		return at_mark(b, &event->start_mark, ERR_FULL, "too many anchors");
	a = region_alloc(b->d->region, sizeof(*a));
	a->name = region_strdup(b->d->region, (const char *)name);
	a->node = n;
	a->next = b->anchors;
	b->anchors = a;
	b->nanchors++;
	return 0;
}

static int
check_bounds(struct builder *b, const yaml_event_t *event, const yaml_char_t *tag, unsigned depth)
{
	if (tag)
		return at_mark(b, &event->start_mark, ERR_UNSUPPORTED,
			       "tags (!...) have no meaning in this file");
	if (depth > DEPTH_MAX)
		return at_mark(b, &event->start_mark, ERR_FULL, "nested too deeply");
	if (++b->nodes > NODES_MAX)
		return at_mark(b, &event->start_mark, ERR_FULL, "too many values");
	return 0;
}

static int
build_collection(struct builder *b, const yaml_event_t *event, unsigned depth,
		 const struct doc_node **out)
{
	bool map = event->type == YAML_MAPPING_START_EVENT;
	struct doc_node *n = node_new(b, event, map ? DOC_MAP : DOC_LIST);
	int rc;

	rc = check_bounds(b, event, map ? event->data.mapping_start.tag :
			  event->data.sequence_start.tag, depth);
	if (!rc)
		rc = build_items(b, n, depth);
	if (rc)
		return rc;
	*out = n;
	return add_anchor(b, event, map ? event->data.mapping_start.anchor :
			  event->data.sequence_start.anchor, n);
}

static int
build(struct builder *b, const yaml_event_t *event, unsigned depth, const struct doc_node **out)
{
	int rc;

	switch (event->type) {
	case YAML_ALIAS_EVENT:
		return build_alias(b, event, out);
	case YAML_SCALAR_EVENT:
		rc = check_bounds(b, event, event->data.scalar.tag, depth);
		if (!rc)
			rc = build_scalar(b, event, out);
		return rc ? rc : add_anchor(b, event, event->data.scalar.anchor, *out);
	case YAML_SEQUENCE_START_EVENT:
	case YAML_MAPPING_START_EVENT:
		return build_collection(b, event, depth, out);
	default:
		return at_mark(b, &event->start_mark, ERR_FORMAT, "expected a value");
	}
}

/* Stream start, one document at most, stream end. */
static int
build_stream(struct builder *b)
{
	unsigned documents = 0;
	yaml_event_t event;
	bool end = false;
	int rc = 0;

	while (!rc && !end) {
		rc = next_event(b, &event);
		if (rc)
			return rc;
		switch (event.type) {
		case YAML_STREAM_START_EVENT:
		case YAML_DOCUMENT_END_EVENT:
			break;
		case YAML_STREAM_END_EVENT:
			end = true;
			break;
		case YAML_DOCUMENT_START_EVENT:
			if (documents++)
				rc = at_mark(b, &event.start_mark, ERR_FORMAT,
					     "a second document starts here; one file is one");
			break;
		default:
			rc = build(b, &event, 1, &b->d->root);
			break;
		}
		yaml_event_delete(&event);
	}
	return rc;
}

int
doc_parse(struct doc *d, const char *text, size_t len)
{
	struct builder b = { .d = d, .text = text, .len = len };
	int rc;

	d->root = NULL;
	if (len > DOC_TEXT_MAX)
		return doc_error(d, NULL, ERR_FULL, "larger than %u bytes", DOC_TEXT_MAX);
	if (!yaml_parser_initialize(&b.parser))
		return doc_error(d, NULL, ERR_NOMEM, "not enough memory to read it");
	yaml_parser_set_encoding(&b.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&b.parser, (const unsigned char *)text, len);
	rc = build_stream(&b);
	yaml_parser_delete(&b.parser);
	return rc;
}

static ssize_t
read_all(int fd, char *data, size_t size)
{
	size_t len = 0;
	ssize_t n;

	while (len < size) {
		n = read(fd, data + len, size - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		len += (size_t)n;
	}
	return (ssize_t)len;
}

/* Half of what somebody is writing may read as a whole that says less. */
static bool
has_changed(int fd, const struct stat *before, size_t len)
{
	struct stat now;

	return S_ISREG(before->st_mode) && !fstat(fd, &now) &&
	       ((size_t)now.st_size != len || now.st_size != before->st_size ||
		now.st_mtim.tv_sec != before->st_mtim.tv_sec ||
		now.st_mtim.tv_nsec != before->st_mtim.tv_nsec);
}

char *
doc_read_file(const char *path, size_t max, size_t *len, struct error *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat before = { 0 };
	bool good = false;
	char *data;
	ssize_t n;

	if (fd < 0) {
		error_set(e, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "cannot read %s: %s", path,
			  strerror(errno));
		return NULL;
	}
	data = fstat(fd, &before) ? NULL : mem_alloc(max + 2);
	n = !data ? -1 : read_all(fd, data, max + 1);
	if (n < 0)
		error_set(e, ERR_IO, "cannot read %s: %s", path, strerror(errno));
	else if ((size_t)n > max)
		error_set(e, ERR_FULL, "%s:1:1: larger than %zu bytes", path, max);
	else if (has_changed(fd, &before, (size_t)n))
		error_set(e, ERR_BUSY, "%s changed while it was read: try again", path);
	else
		good = true;
	close(fd);
	if (!good) {
		mem_free(data);
		return NULL;
	}
	data[n] = '\0';
	*len = (size_t)n;
	return data;
}
