/* SPDX-License-Identifier: BSD-2-Clause */
#include "plugins/impl.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "sm/base/clock.h"

/*
 * Plugins as they are loaded. A file is read once, into memory that is sealed; a
 * process says what it is. All that is made from one file with one description shares a core, and
 * so do the figures of what became of it.
 */
#define CODE_MAX (64u << 20)		/* bytes of a shared object */
#define LOAD_MS 5000u
#define USER "nobody"

/* ---- References ---- */

static void
core_unref(struct plugin_core *c)
{
	if (__atomic_sub_fetch(&c->refs, 1, __ATOMIC_ACQ_REL))
		return;
	memory_free(&c->code);
	pthread_mutex_destroy(&c->lock);
	region_free(c->region);
	mem_free(c);
}

static struct plugin_core *
core_new(const struct plugin_source *s)
{
	struct plugin_core *c = mem_zalloc(sizeof(*c));

	c->refs = 1;
	c->region = region_new();
	c->path = region_strdup(c->region, s->path);
	c->about.name = region_strdup(c->region, s->name ? s->name : "");
	c->code = MEMORY_NONE;
	pthread_mutex_init(&c->lock, NULL);
	return c;
}

/* Numbers of the user that its process becomes; LAYOUT_NOBODY: we may not choose. */
static int
find_user(struct plugin *p, struct error *e)
{
	char room[4096];
	struct passwd entry, *found = NULL;

	p->uid = p->gid = LAYOUT_NOBODY;
	if (geteuid())
		return 0;
	getpwnam_r(p->limits.user, &entry, room, sizeof(room), &found);
	if (!found)
		return error_set(e, ERR_NOT_FOUND, "its process would be one of user %s, whom "
				 "there is not", p->limits.user);
	if (!found->pw_uid)
		return error_set(e, ERR_INVALID, "its process would be one of user %s, who may do "
				 "everything", p->limits.user);
	p->uid = found->pw_uid;
	p->gid = found->pw_gid;
	return 0;
}

/* Takes the reference to `c`. */
static struct plugin *
plugin_new(struct plugin_core *c, const struct plugin_limits *limits)
{
	struct plugin *p = mem_zalloc(sizeof(*p));

	p->refs = 1;
	p->core = c;
	p->limits = *limits;
	p->limits.user = mem_strdup(limits->user ? limits->user : USER);
	return p;
}

/* For chains, once it is known what it is. */
static void
become_engine(struct plugin *p)
{
	const struct plugin_about *a = &p->core->about;

	p->engine = (struct engine){
		.name = a->name, .help = a->help, .topologies = a->topologies,
		.deadlock_free = a->flags & WEFT_ENGINE_DEADLOCK_FREE, .route = plugin_route,
	};
}

struct plugin *
plugin_with(const struct plugin *p, const char *const *values, const struct plugin_limits *limits,
	    struct error *e)
{
	struct error why = { 0 };
	struct plugin *q;

	__atomic_add_fetch(&p->core->refs, 1, __ATOMIC_RELAXED);
	q = plugin_new(p->core, limits);
	if (find_user(q, &why)) {
		error_set(e, why.code, "plugin %s: %.150s %s", p->core->about.name, p->core->path,
			  why.text);
		plugin_unref(q);
		return NULL;
	}
	become_engine(q);
	q->values = mem_array(p->core->about.noptions, sizeof(*q->values));
	for (unsigned i = 0; values && i < p->core->about.noptions; i++)
		q->values[i] = values[i] ? mem_strdup(values[i]) : NULL;
	return q;
}

struct plugin *
plugin_ref(const struct plugin *p)
{
	struct plugin *q = (struct plugin *)(uintptr_t)p;

	__atomic_add_fetch(&q->refs, 1, __ATOMIC_RELAXED);
	return q;
}

void
plugin_unref(const struct plugin *p)
{
	struct plugin *q = (struct plugin *)(uintptr_t)p;

	if (!q || __atomic_sub_fetch(&q->refs, 1, __ATOMIC_ACQ_REL))
		return;
	for (unsigned i = 0; q->values && i < q->core->about.noptions; i++)
		mem_free(q->values[i]);
	mem_free(q->values);
	mem_free((void *)(uintptr_t)q->limits.user);
	core_unref(q->core);
	mem_free(q);
}

const struct plugin_about *
plugin_about(const struct plugin *p)
{
	return &p->core->about;
}

const struct engine *
plugin_engine(const struct plugin *p)
{
	return p->core->about.is_engine ? &p->engine : NULL;
}

bool
plugin_same(const struct plugin *p, const struct plugin *q)
{
	const struct memory *a = &p->core->code, *b = &q->core->code;

	return p->core == q->core ||
		(a->size == b->size && !memcmp(a->at, b->at, a->size));
}

/* ---- Load ---- */

static bool
is_open_to_others(const struct stat *st)
{
	return (st->st_uid && st->st_uid != geteuid()) || (st->st_mode & (S_IWGRP | S_IWOTH));
}

static int
check_folder(const char *path, struct error *e)
{
	char folder[PATH_MAX];
	struct stat st;

	snprintf(folder, sizeof(folder), "%s", path);
	if (stat(dirname(folder), &st) < 0)
		return error_set(e, ERR_IO, "its folder cannot be looked at: %s", strerror(errno));
	return is_open_to_others(&st) ?
		error_set(e, ERR_REFUSED, "its folder can be written by others than root: chown "
			  "root, chmod go-w") : 0;
}

static int
check_file(const struct stat *st, bool trusted, struct error *e)
{
	if (!S_ISREG(st->st_mode))
		return error_set(e, ERR_INVALID, "is no file");
	if (trusted && is_open_to_others(st))
		return error_set(e, ERR_REFUSED, "can be written by others than root: chown root, "
				 "chmod go-w");
	if (st->st_size > CODE_MAX)
		return error_set(e, ERR_FULL, "is larger than %u MiB", CODE_MAX >> 20);
	return 0;
}

static int
read_file(struct memory *m, int fd, size_t size, struct error *e)
{
	size_t at = 0;
	ssize_t n = 1;
	int rc;

	if (size < 64)
		return error_set(e, ERR_FORMAT, "is no shared object: it is too short for one");
	rc = memory_new(m, "weft-plugin", size, true, e);
	if (rc)
		return rc;
	while (at < size && n > 0) {
		n = read(fd, m->at + at, size - at);
		at += n > 0 ? (size_t)n : 0;
	}
	if (at < size)
		return error_set(e, ERR_IO, "cannot be read: %s", n < 0 ? strerror(errno) :
				 "it became shorter");
	if (memcmp(m->at, "\177ELF", 4) || m->at[16] != 3)
		return error_set(e, ERR_FORMAT, "is no shared object (ELF)");
	rc = memory_seal(m, e);
	return rc ? rc : memory_look(m, e);
}

static int
take_file(struct plugin_core *c, bool trusted, struct error *e)
{
	int fd = open(c->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), rc;
	struct stat st;

	if (fd < 0)
		return error_set(e, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "cannot be read: %s",
				 strerror(errno));
	rc = fstat(fd, &st) < 0 ? error_set(e, ERR_IO, "cannot be read: %s", strerror(errno)) :
		check_file(&st, trusted, e);
	if (!rc && trusted)
		rc = check_folder(c->path, e);
	if (!rc)
		rc = read_file(&c->code, fd, (size_t)st.st_size, e);
	close(fd);
	return rc;
}

static int
describe(struct plugin *p, struct error *e)
{
	const struct plugin_task task = { .time_ms = LOAD_MS };
	struct memory input = MEMORY_NONE, output = MEMORY_NONE;
	int rc = input_make(&input, p, LAYOUT_DESCRIBE, NULL, e);

	if (!rc)
		rc = memory_new(&output, "weft-description", LAYOUT_DESCRIPTION, false, e);
	if (!rc)
		rc = plugin_run(p, &input, &output, &task, e);
	if (!rc && !(rc = memory_look(&output, e)))
		rc = about_read(p->core, output.at, output.size, e);
	memory_free(&input);
	memory_free(&output);
	return rc;
}

static int
load(struct plugin *p, const struct plugin_source *s, struct error *e)
{
	const struct plugin_about *a = &p->core->about;
	int rc = find_user(p, e);

	if (rc || (rc = take_file(p->core, s->trusted, e)) || (rc = describe(p, e)))
		return rc;
	if (s->name && strcmp(a->name, s->name))
		return error_set(e, ERR_REFUSED, "is plugin %s by its own account", a->name);
	return 0;
}

int
plugin_load(const struct plugin_source *s, struct plugin **p, struct error *e)
{
	struct plugin *made = plugin_new(core_new(s), &s->limits);
	struct error why = { 0 };
	int rc = load(made, s, &why);

	if (rc) {
		plugin_unref(made);
		return s->name ? error_set(e, rc, "plugin %s: %.150s %s", s->name, s->path,
					   why.text) :
			error_set(e, rc, "plugin %.150s %s", s->path, why.text);
	}
	become_engine(made);
	made->core->figures.loaded = clock_wall();
	*p = made;
	return 0;
}
