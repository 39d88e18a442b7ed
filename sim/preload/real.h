/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_PRELOAD_REAL_H
#define SIM_PRELOAD_REAL_H

#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>

/*
 * The functions that ours stand in front of: those of the C library, or of whoever was preloaded
 * behind us. REAL(open)(path, flags) calls the next `open`.
 */
#define REAL_NAMES(X) \
	X(open) X(open64) X(openat) X(openat64) X(creat) X(creat64) \
	X(fopen) X(fopen64) X(freopen) X(freopen64) X(opendir) X(scandir) X(scandir64) \
	X(stat) X(stat64) X(lstat) X(lstat64) X(fstatat) X(fstatat64) X(statx) \
	X(access) X(faccessat) X(euidaccess) X(readlink) X(readlinkat) X(realpath) \
	X(canonicalize_file_name) X(glob) X(glob64) X(chdir) \
	X(getxattr) X(lgetxattr) X(listxattr) X(llistxattr) \
	X(poll) X(__poll_chk) X(epoll_wait) \
	X(close) X(close_range) X(dup) X(dup2) X(dup3) X(fcntl) X(fcntl64) X(ioctl) \
	X(read) X(readv) X(write) X(writev) X(__read_chk) X(__readlink_chk) X(__readlinkat_chk) \
	X(__realpath_chk)

enum real_name {
#define X(name) REAL_##name,
	REAL_NAMES(X)
#undef X
	REAL_COUNT
};

#define REAL(name) ((__typeof__(&name))real_function(REAL_##name))

/* Never NULL: what the library lacks fails with ENOSYS. */
void *
real_function(enum real_name name);

/* Names of the C library that its headers declare only under _FORTIFY_SOURCE, or no longer. */
int
__open_2(const char *path, int flags);
int
__open64_2(const char *path, int flags);
int
__openat_2(int dirfd, const char *path, int flags);
int
__openat64_2(int dirfd, const char *path, int flags);
ssize_t
__read_chk(int fd, void *buf, size_t size, size_t buf_size);
ssize_t
__readlink_chk(const char *path, char *buf, size_t size, size_t buf_size);
ssize_t
__readlinkat_chk(int dirfd, const char *path, char *buf, size_t size, size_t buf_size);
int
__poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t fds_size);
char *
__realpath_chk(const char *path, char *resolved, size_t size);
int
__xstat(int version, const char *path, struct stat *st);
int
__xstat64(int version, const char *path, struct stat64 *st);
int
__lxstat(int version, const char *path, struct stat *st);
int
__lxstat64(int version, const char *path, struct stat64 *st);
int
__fxstatat(int version, int dirfd, const char *path, struct stat *st, int flags);
int
__fxstatat64(int version, int dirfd, const char *path, struct stat64 *st, int flags);

#endif
