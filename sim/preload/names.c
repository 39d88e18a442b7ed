/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The C library's functions that take names of files, as the program sees them. Each turns the name
 * into the one in the host's tree and calls the real function; opening a device opens it at the
 * simulator. scandir(), glob() and the like are needed too: inside the C library they do not come
 * by our open().
 */
#include "sim/preload/real.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/sysmacros.h>
#include "sim/preload/fds.h"
#include "sim/preload/path.h"
#include "sim/preload/umad.h"

#define EXPORT __attribute__((visibility("default")))
#define UMAD_MAJOR 231		/* device numbers, Documentation/admin-guide/devices.txt */
#define ISSM_MINOR 64		/* of issm0 */

/* ---- open ---- */

static int
open_umad(unsigned index, int flags)
{
	struct umad *u;
	int fd = umad_open(&u, index, flags);
	int rc, why;

	if (fd < 0)
		return -1;
	rc = fds_set(fd, u);
	why = errno;
	umad_drop(u);
	if (rc == 0)
		return fd;
	REAL(close)(fd);
	errno = why;
	return -1;
}

static bool
is_device(const struct path *p, int flags)
{
	return p->kind >= PATH_UMAD && !(flags & (O_PATH | O_DIRECTORY));
}

static int
open_device(const struct path *p, int flags)
{
	if ((flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL)) {
		errno = EEXIST;
		return -1;
	}
	return p->kind == PATH_UMAD ? open_umad(p->index, flags) : umad_open_issm(p->index, flags);
}

static bool
takes_mode(int flags)
{
	return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE;
}

/* The third or fourth argument, which is there only if the flags say so. */
#define MODE_ARGUMENT(flags, mode) \
	do { \
		va_list list; \
		va_start(list, flags); \
		(mode) = takes_mode(flags) ? va_arg(list, mode_t) : 0; \
		va_end(list); \
	} while (0)

#define DEFINE_OPEN(fn) \
	EXPORT int \
	fn(const char *path, int flags, ...) \
	{ \
		struct path p; \
		mode_t mode; \
		MODE_ARGUMENT(flags, mode); \
		if (path_map(&p, AT_FDCWD, path) < 0) \
			return -1; \
		if (is_device(&p, flags)) \
			return open_device(&p, flags); \
		return REAL(fn)(p.name, flags, mode); \
	}

#define DEFINE_OPENAT(fn) \
	EXPORT int \
	fn(int dirfd, const char *path, int flags, ...) \
	{ \
		struct path p; \
		mode_t mode; \
		MODE_ARGUMENT(flags, mode); \
		if (path_map(&p, dirfd, path) < 0) \
			return -1; \
		if (is_device(&p, flags)) \
			return open_device(&p, flags); \
		return REAL(fn)(dirfd, p.name, flags, mode); \
	}

DEFINE_OPEN(open)
DEFINE_OPEN(open64)
DEFINE_OPENAT(openat)
DEFINE_OPENAT(openat64)

/* _FORTIFY_SOURCE's forms, for calls without a mode. */
EXPORT int
__open_2(const char *path, int flags)
{
	return open(path, flags);
}

EXPORT int
__open64_2(const char *path, int flags)
{
	return open64(path, flags);
}

EXPORT int
__openat_2(int dirfd, const char *path, int flags)
{
	return openat(dirfd, path, flags);
}

EXPORT int
__openat64_2(int dirfd, const char *path, int flags)
{
	return openat64(dirfd, path, flags);
}

EXPORT int
creat(const char *path, mode_t mode)
{
	return open(path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

EXPORT int
creat64(const char *path, mode_t mode)
{
	return open64(path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

/* ---- streams and folders ---- */

/* A stream's reads do not come by ours, so devices cannot be opened as one. */
static bool
map_stream(struct path *p, const char *path)
{
	if (path_map(p, AT_FDCWD, path) < 0)
		return false;
	if (p->kind >= PATH_UMAD)
		errno = ENXIO;
	return p->kind < PATH_UMAD;
}

#define DEFINE_FOPEN(fn) \
	EXPORT FILE * \
	fn(const char *path, const char *mode) \
	{ \
		struct path p; \
		return map_stream(&p, path) ? REAL(fn)(p.name, mode) : NULL; \
	}

#define DEFINE_FREOPEN(fn) \
	EXPORT FILE * \
	fn(const char *path, const char *mode, FILE *f) \
	{ \
		struct path p; \
		return map_stream(&p, path) ? REAL(fn)(p.name, mode, f) : NULL; \
	}

#define DEFINE_SCANDIR(fn, entry) \
	EXPORT int \
	fn(const char *path, struct entry ***list, int (*filter)(const struct entry *), \
	     int (*compare)(const struct entry **, const struct entry **)) \
	{ \
		struct path p; \
		return path_map(&p, AT_FDCWD, path) < 0 ? -1 : \
		       REAL(fn)(p.name, list, filter, compare); \
	}

DEFINE_FOPEN(fopen)
DEFINE_FOPEN(fopen64)
DEFINE_FREOPEN(freopen)
DEFINE_FREOPEN(freopen64)
DEFINE_SCANDIR(scandir, dirent)
DEFINE_SCANDIR(scandir64, dirent64)

EXPORT DIR *
opendir(const char *path)
{
	struct path p;

	return path_map(&p, AT_FDCWD, path) < 0 ? NULL : REAL(opendir)(p.name);
}

EXPORT int
chdir(const char *path)
{
	struct path p;

	return path_map(&p, AT_FDCWD, path) < 0 ? -1 : REAL(chdir)(p.name);
}

/* ---- what a file is ---- */

static dev_t
device_of(const struct path *p)
{
	return makedev(UMAD_MAJOR, p->index + (p->kind == PATH_ISSM ? ISSM_MINOR : 0));
}

/* What stands in the tree for a device is shown as one. */
#define SHOW_DEVICE(p, rc, st) \
	do { \
		if ((rc) == 0 && (p)->kind >= PATH_UMAD) { \
			(st)->st_mode = ((st)->st_mode & 07777) | S_IFCHR; \
			(st)->st_rdev = device_of(p); \
		} \
	} while (0)

#define DEFINE_STAT(fn, type) \
	EXPORT int \
	fn(const char *path, struct type *st) \
	{ \
		struct path p; \
		int rc = path_map(&p, AT_FDCWD, path); \
		if (rc == 0) \
			rc = REAL(fn)(p.name, st); \
		SHOW_DEVICE(&p, rc, st); \
		return rc; \
	}

#define DEFINE_FSTATAT(fn, type) \
	EXPORT int \
	fn(int dirfd, const char *path, struct type *st, int flags) \
	{ \
		struct path p; \
		int rc = path_map(&p, dirfd, path); \
		if (rc == 0) \
			rc = REAL(fn)(dirfd, p.name, st, flags); \
		SHOW_DEVICE(&p, rc, st); \
		return rc; \
	}

DEFINE_STAT(stat, stat)
DEFINE_STAT(stat64, stat64)
DEFINE_STAT(lstat, stat)
DEFINE_STAT(lstat64, stat64)
DEFINE_FSTATAT(fstatat, stat)
DEFINE_FSTATAT(fstatat64, stat64)

/* Names that programs built before glibc 2.33 use; on 64-bit machines there is one version. */
#define DEFINE_OLD_STAT(old, name, type) \
	EXPORT int \
	old(int version, const char *path, struct type *st) \
	{ \
		(void)version; \
		return name(path, st); \
	}

#define DEFINE_OLD_FSTATAT(old, name, type) \
	EXPORT int \
	old(int version, int dirfd, const char *path, struct type *st, int flags) \
	{ \
		(void)version; \
		return name(dirfd, path, st, flags); \
	}

DEFINE_OLD_STAT(__xstat, stat, stat)
DEFINE_OLD_STAT(__xstat64, stat64, stat64)
DEFINE_OLD_STAT(__lxstat, lstat, stat)
DEFINE_OLD_STAT(__lxstat64, lstat64, stat64)
DEFINE_OLD_FSTATAT(__fxstatat, fstatat, stat)
DEFINE_OLD_FSTATAT(__fxstatat64, fstatat64, stat64)

EXPORT int
statx(int dirfd, const char *path, int flags, unsigned mask, struct statx *st)
{
	struct path p;
	int rc = path_map(&p, dirfd, path);

	if (rc == 0)
		rc = REAL(statx)(dirfd, p.name, flags, mask, st);
	if (rc == 0 && p.kind >= PATH_UMAD) {
		st->stx_mode = (uint16_t)((st->stx_mode & 07777) | S_IFCHR);
		st->stx_rdev_major = major(device_of(&p));
		st->stx_rdev_minor = minor(device_of(&p));
	}
	return rc;
}

EXPORT int
access(const char *path, int mode)
{
	struct path p;

	return path_map(&p, AT_FDCWD, path) < 0 ? -1 : REAL(access)(p.name, mode);
}

EXPORT int
faccessat(int dirfd, const char *path, int mode, int flags)
{
	struct path p;

	return path_map(&p, dirfd, path) < 0 ? -1 : REAL(faccessat)(dirfd, p.name, mode, flags);
}

EXPORT int
euidaccess(const char *path, int mode)
{
	struct path p;

	return path_map(&p, AT_FDCWD, path) < 0 ? -1 : REAL(euidaccess)(p.name, mode);
}

EXPORT int
eaccess(const char *path, int mode)
{
	return euidaccess(path, mode);
}

/* ls asks for these of everything it shows. */
#define DEFINE_GETXATTR(fn) \
	EXPORT ssize_t \
	fn(const char *path, const char *name, void *value, size_t size) \
	{ \
		struct path p; \
		return path_map(&p, AT_FDCWD, path) < 0 ? -1 : \
		       REAL(fn)(p.name, name, value, size); \
	}

#define DEFINE_LISTXATTR(fn) \
	EXPORT ssize_t \
	fn(const char *path, char *list, size_t size) \
	{ \
		struct path p; \
		return path_map(&p, AT_FDCWD, path) < 0 ? -1 : REAL(fn)(p.name, list, size); \
	}

DEFINE_GETXATTR(getxattr)
DEFINE_GETXATTR(lgetxattr)
DEFINE_LISTXATTR(listxattr)
DEFINE_LISTXATTR(llistxattr)

/* ---- links ---- */

EXPORT ssize_t
readlink(const char *path, char *buf, size_t size)
{
	struct path p;

	return path_map(&p, AT_FDCWD, path) < 0 ? -1 : REAL(readlink)(p.name, buf, size);
}

EXPORT ssize_t
readlinkat(int dirfd, const char *path, char *buf, size_t size)
{
	struct path p;

	return path_map(&p, dirfd, path) < 0 ? -1 : REAL(readlinkat)(dirfd, p.name, buf, size);
}

EXPORT ssize_t
__readlink_chk(const char *path, char *buf, size_t size, size_t buf_size)
{
	struct path p;

	return path_map(&p, AT_FDCWD, path) < 0 ? -1 :
	       REAL(__readlink_chk)(p.name, buf, size, buf_size);
}

EXPORT ssize_t
__readlinkat_chk(int dirfd, const char *path, char *buf, size_t size, size_t buf_size)
{
	struct path p;

	return path_map(&p, dirfd, path) < 0 ? -1 :
	       REAL(__readlinkat_chk)(dirfd, p.name, buf, size, buf_size);
}

/* The answer has the name that the program knows. */
static char *
unmapped(const struct path *p, char *resolved)
{
	if (resolved && p->kind != PATH_OTHER)
		path_unmap(resolved);
	return resolved;
}

EXPORT char *
realpath(const char *path, char *resolved)
{
	struct path p;

	return path_map(&p, AT_FDCWD, path) < 0 ? NULL :
	       unmapped(&p, REAL(realpath)(p.name, resolved));
}

EXPORT char *
__realpath_chk(const char *path, char *resolved, size_t size)
{
	struct path p;

	return path_map(&p, AT_FDCWD, path) < 0 ? NULL :
	       unmapped(&p, REAL(__realpath_chk)(p.name, resolved, size));
}

EXPORT char *
canonicalize_file_name(const char *path)
{
	return realpath(path, NULL);
}

/* ---- patterns ---- */

static void *
glob_opendir(const char *path)
{
	return opendir(path);
}

static void
glob_closedir(void *dir)
{
	closedir(dir);
}

static struct dirent *
glob_readdir(void *dir)
{
	return readdir(dir);
}

static struct dirent64 *
glob_readdir64(void *dir)
{
	return readdir64(dir);
}

/* glob() is told to use our functions, so that what it finds has the names it looked for. */
#define DEFINE_GLOB(fn, type, next, stat_name, lstat_name) \
	EXPORT int \
	fn(const char *pattern, int flags, int (*failed)(const char *, int), type *g) \
	{ \
		type with; \
		int rc; \
		if (!strstr(pattern, "infiniband") || (flags & GLOB_ALTDIRFUNC)) \
			return REAL(fn)(pattern, flags, failed, g); \
		with = *g; \
		with.gl_opendir = glob_opendir; \
		with.gl_closedir = glob_closedir; \
		with.gl_readdir = next; \
		with.gl_stat = stat_name; \
		with.gl_lstat = lstat_name; \
		rc = REAL(fn)(pattern, flags | GLOB_ALTDIRFUNC, failed, &with); \
		g->gl_pathc = with.gl_pathc; \
		g->gl_pathv = with.gl_pathv; \
		g->gl_offs = with.gl_offs; \
		g->gl_flags = with.gl_flags & ~GLOB_ALTDIRFUNC; \
		return rc; \
	}

DEFINE_GLOB(glob, glob_t, glob_readdir, stat, lstat)
DEFINE_GLOB(glob64, glob64_t, glob_readdir64, stat64, lstat64)
