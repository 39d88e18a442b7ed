/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_PLUGIN_HELP_H
#define TESTS_PLUGIN_HELP_H

#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "plugins/set.h"
#include "sm/base/mem.h"

/*
 * A folder of plugins of a test's own, and sets of them. Files are copies of what was built of
 * tests/plugins, beside this program. Include it behind what cmocka.h needs.
 */
static char plugin_folder[64];

/* Nobody can go where they cannot look, so the folder is open; only its owner writes to it. */
static inline void
folder_open(void)
{
	snprintf(plugin_folder, sizeof(plugin_folder), "/tmp/test-plugins-XXXXXX");
	assert_non_null(mkdtemp(plugin_folder));
	assert_int_equal(chmod(plugin_folder, 0755), 0);
}

static inline const char *
folder_path(char path[PATH_MAX], const char *name)
{
	snprintf(path, PATH_MAX, "%s/%s", plugin_folder, name);
	return path;
}

/* A file of the folder, as a whole and at once, as an installer does it. */
static inline void
folder_write(const char *name, const void *data, size_t size, mode_t mode)
{
	char path[PATH_MAX], new[PATH_MAX];
	FILE *f = fopen(folder_path(new, "new"), "w");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, size, f), size);
	fclose(f);
	assert_int_equal(chmod(new, mode), 0);
	assert_int_equal(rename(new, folder_path(path, name)), 0);
}

static inline char *
read_all(const char *path, size_t *size)
{
	FILE *f = fopen(path, "r");
	char *data;

	if (!f)
		fail_msg("%s is not there", path);
	fseek(f, 0, SEEK_END);
	*size = (size_t)ftell(f);
	rewind(f);
	data = mem_alloc(*size + 1);
	assert_int_equal(fread(data, 1, *size, f), *size);
	data[*size] = '\0';
	fclose(f);
	return data;
}

/* Put what was built as `from` there as `name`. */
static inline void
folder_install(const char *from, const char *name)
{
	char path[PATH_MAX], self[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	size_t size;
	char *data;

	assert_true(len > 0);
	self[len] = '\0';
	snprintf(path, sizeof(path), "%.2000s/plugins/%.60s", dirname(self), from);
	data = read_all(path, &size);
	folder_write(name, data, size, 0644);
	mem_free(data);
}

static inline void
folder_close(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r %s", plugin_folder);
	assert_int_equal(system(command), 0);
}

/* A set of a configuration whose plugin_folder is this one. */
static inline struct plugin_set *
set_of(const struct plugin_set *old, const char *text)
{
	char all[8192];
	struct error e = { 0 };
	struct plugin_set *set;
	struct config *c;

	snprintf(all, sizeof(all), "plugin_folder: %s\n%s", plugin_folder, text);
	c = config_parse(all, strlen(all), "t.yaml", &e);
	if (!c)
		fail_msg("%s\n%s", e.text, all);
	set = plugin_set_load(c, old, NULL);
	config_free(c);
	return set;
}

/* The same, and all of it is well. */
static inline struct plugin_set *
set_ok(const struct plugin_set *old, const char *text)
{
	struct plugin_set *set = set_of(old, text);

	for (unsigned i = 0; i < set->len; i++)
		if (!set->entries[i].plugin || set->entries[i].why.code)
			fail_msg("%s%s", set->entries[i].why.text, set->entries[i].wrong.text);
	return set;
}

#endif
