/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/serve/holders.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/*
 * Who is at the other end of a socket, so that a signal meets no stranger. The process that
 * connected may have gone, its children hold the socket, and its number may be somebody else's by
 * now. So the kernel is asked for the inode of the other end (sock_diag(7)), and /proc for those
 * that hold it. A process is named by a pidfd from before it was looked at: if it is another one
 * by the time of the signal, the signal goes nowhere.
 *
 * Where that tells nothing, the process that connected is asked for (SO_PEERPIDFD); and with a
 * kernel that has no such thing its number is taken, if the process that has it now was there when
 * the connection was made.
 */
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif
#define ANSWER_SIZE 4096
#define PATH_SIZE 64

uint64_t
holders_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The peer's inode in an answer of sock_diag; 0 if it is no such answer. */
static uint64_t
peer_in(const char *answer, size_t len)
{
	struct nlmsghdr h;
	size_t pos = NLMSG_HDRLEN + NLMSG_ALIGN(sizeof(struct unix_diag_msg));

	if (len < sizeof(h))
		return 0;
	memcpy(&h, answer, sizeof(h));
	if (h.nlmsg_type != SOCK_DIAG_BY_FAMILY)
		return 0;
	while (pos + sizeof(struct nlattr) <= len) {
		struct nlattr a;
		uint32_t inode;

		memcpy(&a, answer + pos, sizeof(a));
		if (a.nla_len < sizeof(a))
			return 0;
		if (a.nla_type == UNIX_DIAG_PEER && a.nla_len == NLA_HDRLEN + sizeof(inode) &&
		    pos + a.nla_len <= len) {
			memcpy(&inode, answer + pos + NLA_HDRLEN, sizeof(inode));
			return inode;
		}
		pos += NLA_ALIGN(a.nla_len);
	}
	return 0;
}

uint64_t
holders_inode(int fd)
{
	struct {
		struct nlmsghdr h;
		struct unix_diag_req r;
	} ask = {
		.h = { .nlmsg_len = sizeof(ask), .nlmsg_type = SOCK_DIAG_BY_FAMILY,
		       .nlmsg_flags = NLM_F_REQUEST },
		.r = { .sdiag_family = AF_UNIX, .udiag_states = UINT32_MAX,
		       .udiag_show = UDIAG_SHOW_PEER,
		       .udiag_cookie = { UINT32_MAX, UINT32_MAX } },
	};
	char answer[ANSWER_SIZE];
	struct stat st;
	ssize_t len = -1;
	int diag;

	if (fstat(fd, &st))
		return 0;
	ask.r.udiag_ino = (uint32_t)st.st_ino;
	diag = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	if (diag < 0)
		return 0;
	if (send(diag, &ask, sizeof(ask), 0) == (ssize_t)sizeof(ask))
		len = recv(diag, answer, sizeof(answer), MSG_DONTWAIT);
	close(diag);
	return len < 0 ? 0 : peer_in(answer, (size_t)len);
}

/* True if it was sent. */
static bool
tell(int pidfd)
{
	return pidfd >= 0 && syscall(SYS_pidfd_send_signal, pidfd, SIGTERM, NULL, 0) == 0;
}

/* "socket:[NUMBER]" */
static uint64_t
inode_of_link(int folder, const char *name)
{
	char text[PATH_SIZE];
	ssize_t len = readlinkat(folder, name, text, sizeof(text) - 1);

	if (len < 0 || strncmp(text, "socket:[", 8) != 0)
		return 0;
	text[len] = '\0';
	return strtoull(text + 8, NULL, 10);
}

/* Marks what the process holds, and tells it once. */
static void
look_at(struct holder *list, unsigned len, const char *pid, int pidfd)
{
	char path[PATH_SIZE];
	bool holds = false;
	struct dirent *d;
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%.20s/fd", pid);
	folder = opendir(path);
	if (!folder)
		return;
	while ((d = readdir(folder))) {
		uint64_t inode = inode_of_link(dirfd(folder), d->d_name);

		for (unsigned i = 0; inode && i < len; i++) {
			if (list[i].inode != inode)
				continue;
			holds = holds || tell(pidfd);
			list[i].told += holds;
		}
	}
	closedir(folder);
}

static void
scan_processes(struct holder *list, unsigned len)
{
	DIR *proc = opendir("/proc");
	struct dirent *d;

	while (proc && (d = readdir(proc))) {
		long pid = isdigit((unsigned char)d->d_name[0]) ? strtol(d->d_name, NULL, 10) : 0;
		int pidfd = pid > 1 && pid != getpid() ?
			(int)syscall(SYS_pidfd_open, (pid_t)pid, 0) : -1;

		if (pidfd < 0)
			continue;
		look_at(list, len, d->d_name, pidfd);
		close(pidfd);
	}
	if (proc)
		closedir(proc);
}

/* When the process with this number started, as holders_now(); UINT64_MAX if there is none. */
static uint64_t
started(pid_t pid)
{
	char path[PATH_SIZE], text[1024], *p;
	unsigned long long ticks = 0;
	FILE *f;
	size_t len;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return UINT64_MAX;
	len = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[len] = '\0';
	p = strrchr(text, ')');
	/* Field 2 is the name, 22 the time. */
	for (unsigned field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	if (!p || sscanf(p, "%llu", &ticks) != 1)
		return UINT64_MAX;
	return ticks * (1000000000u / (unsigned)sysconf(_SC_CLK_TCK));
}

/* The process that connected. */
static void
tell_peer(struct holder *h)
{
	struct ucred peer = { 0 };
	socklen_t size = sizeof(peer);
	int pidfd = -1;

	if (getsockopt(h->fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) || peer.pid <= 1 ||
	    peer.pid == getpid())
		return;
	size = sizeof(pidfd);
	if (getsockopt(h->fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &size)) {
		pidfd = (int)syscall(SYS_pidfd_open, peer.pid, 0);
		if (pidfd >= 0 && started(peer.pid) > h->since) {
			close(pidfd);
			pidfd = -1;
		}
	}
	h->told += tell(pidfd);
	if (pidfd >= 0)
		close(pidfd);
}

void
holders_end(struct holder *list, unsigned len)
{
	bool known = false;

	for (unsigned i = 0; i < len; i++) {
		list[i].told = 0;
		list[i].inode = holders_inode(list[i].fd);
		known |= list[i].inode != 0;
	}
	if (known)
		scan_processes(list, len);
	for (unsigned i = 0; i < len; i++)
		if (!list[i].told)
			tell_peer(&list[i]);
}
