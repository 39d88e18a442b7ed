/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of files. A name is ours if it is below one of the host's folders once it is absolute and
 * without "//", "/./" and "/../". A name that lies in the tree already (the program has changed
 * into it, or opened a folder of it) is taken for what it stands for, so that a relative "umad0" is
 * a device too. Most names are none of ours and are told apart by one look for a word.
 */
#include "sim/preload/path.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "sim/preload/link.h"
#include "sim/preload/real.h"

#define MINE_SYS "/sys/class/infiniband"	/* and infiniband_mad, infiniband_verbs, ... */
#define MINE_DEV "/dev/infiniband"

static bool
may_be_mine(const char *name)
{
	return name && (strstr(name, "infiniband") || strstr(name, "umad") ||
			strstr(name, "issm")) && link_wanted();
}

/* The folder that a relative name starts from. */
static bool
base_folder(char *buf, size_t size, int dirfd)
{
	char link[64];
	ssize_t n;

	if (dirfd == AT_FDCWD)
		return getcwd(buf, size) != NULL;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", dirfd);
	n = REAL(readlink)(link, buf, size - 1);
	if (n < 0)
		return false;
	buf[n] = '\0';
	return buf[0] == '/';
}

/* Append one component to the absolute name in `to`, of `len` characters. */
static bool
append(char *to, size_t *len, const char *part, size_t part_len)
{
	if (part_len == 0 || (part_len == 1 && part[0] == '.'))
		return true;
	if (part_len == 2 && part[0] == '.' && part[1] == '.') {
		while (*len && to[--*len] != '/')
			;
		to[*len] = '\0';
		return true;
	}
	if (*len + 1 + part_len >= PATH_MAX)
		return false;
	to[(*len)++] = '/';
	memcpy(to + *len, part, part_len);
	*len += part_len;
	to[*len] = '\0';
	return true;
}

static bool
append_all(char *to, size_t *len, const char *name)
{
	while (*name) {
		size_t n = strcspn(name, "/");

		if (!append(to, len, name, n))
			return false;
		name += n;
		name += *name == '/';
	}
	return true;
}

/* "" is the root folder. */
static bool
absolute(char *to, int dirfd, const char *name)
{
	char base[PATH_MAX];
	size_t len = 0;

	to[0] = '\0';
	if (name[0] != '/' &&
	    (!base_folder(base, sizeof(base), dirfd) || !append_all(to, &len, base)))
		return false;
	return append_all(to, &len, name);
}

static bool
below(const char *name, const char *folder)
{
	size_t n = strlen(folder);

	return n && strncmp(name, folder, n) == 0 && (name[n] == '/' || name[n] == '\0');
}

static bool
is_mine(const char *name)
{
	const char *end;

	if (below(name, MINE_DEV))
		return true;
	if (strncmp(name, MINE_SYS, strlen(MINE_SYS)) != 0)
		return false;
	end = name + strlen(MINE_SYS);
	return *end == '\0' || *end == '/' || *end == '_';
}

static bool
device_number(const char *digits, unsigned *index)
{
	size_t n = strspn(digits, "0123456789");

	if (n == 0 || n > 6 || digits[n] || (digits[0] == '0' && n > 1))
		return false;
	*index = (unsigned)atoi(digits);
	return true;
}

static enum path_kind
kind_of(const char *name, unsigned *index)
{
	const char *base = name + strlen(MINE_DEV "/");

	if (strncmp(name, MINE_DEV "/", strlen(MINE_DEV "/")) != 0)
		return PATH_TREE;
	if (strncmp(base, "umad", 4) == 0 && device_number(base + 4, index))
		return PATH_UMAD;
	if (strncmp(base, "issm", 4) == 0 && device_number(base + 4, index))
		return PATH_ISSM;
	return PATH_TREE;
}

/* What a name in the tree stands for, or NULL. Only for a relative one is the simulator asked. */
static const char *
in_tree(const char *whole, const char *name, char *root, size_t size)
{
	if (name[0] == '/' || link_root(root, size) < 0 || !below(whole, root))
		return NULL;
	whole += strlen(root);
	return is_mine(whole) ? whole : NULL;
}

int
path_map(struct path *p, int dirfd, const char *name)
{
	char whole[PATH_MAX], root[256];
	const char *mine = whole;
	int keep = errno;

	p->name = name;
	p->kind = PATH_OTHER;
	p->index = 0;
	if (!may_be_mine(name) || !absolute(whole, dirfd, name)) {
		errno = keep;
		return 0;
	}
	if (!is_mine(whole)) {
		mine = in_tree(whole, name, root, sizeof(root));
		errno = keep;
		if (!mine)
			return 0;
	} else if (link_root(root, sizeof(root)) < 0) {
		return -1;
	}
	if ((size_t)snprintf(p->text, sizeof(p->text), "%s%s", root, mine) >= sizeof(p->text)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	p->name = p->text;
	p->kind = kind_of(mine, &p->index);
	return 0;
}

void
path_unmap(char *name)
{
	char root[256];
	size_t n;

	if (link_root(root, sizeof(root)) < 0 || !below(name, root))
		return;
	n = strlen(root);
	memmove(name, name + n, strlen(name + n) + 1);
	if (!name[0])
		strcpy(name, "/");
}
