/* SPDX-License-Identifier: BSD-2-Clause */
#include "plugins/host/host.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/sockios.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

/*
 * What this process takes away from itself before anything of the plugin runs; its constructors run
 * as soon as it is loaded.
 *
 * Engines compute: memory, threads, the clock and reading of files is all that they get. Consumers
 * talk to others, so they have all but what makes processes, meddles with other ones or with the
 * machine. System calls that are not allowed fail with EPERM, which libraries cope with; where they
 * try a newer one first they are told that there is none. If the kernel cannot confine the process
 * no plugin is run.
 */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITISED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITISED 1
#endif
#endif
#ifndef SANITISED
#define SANITISED 0
#endif

#if SANITISED
/* Signals end the process as they would without. */
const char *
__asan_default_options(void);
const char *
__asan_default_options(void)
{
	return "handle_segv=0:handle_abort=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0:"
	       "detect_leaks=0";
}
#endif

#define THREADS 512u		/* of one user, over all of its processes */
#define FILES_ENGINE 64u
#define FILES_CONSUMER 256u

static void
limit(int what, uint64_t most)
{
	struct rlimit l = { .rlim_cur = most, .rlim_max = most };

	if (setrlimit((__rlimit_resource_t)what, &l) < 0)
		host_fail("a limit of the process cannot be set: %s", strerror(errno));
}

/* Memory that is ours alone and can be written, as RLIMIT_DATA counts it. */
static uint64_t
data_now(void)
{
	FILE *f = fopen("/proc/self/status", "re");
	unsigned long long kb = 0;
	char line[128];

	while (f && fgets(line, sizeof(line), f) && !sscanf(line, "VmData: %llu kB", &kb))
		;
	if (f)
		fclose(f);
	return (uint64_t)kb << 10;
}

static void
limit_all(const struct layout_input *in)
{
	bool engine = in->mode != LAYOUT_EVENTS;

	limit(RLIMIT_CORE, 0);
	limit(RLIMIT_MEMLOCK, 0);
	limit(RLIMIT_NOFILE, engine ? FILES_ENGINE : FILES_CONSUMER);
	if (engine)
		limit(RLIMIT_FSIZE, 0);
	if (in->uid != LAYOUT_NOBODY)
		limit(RLIMIT_NPROC, THREADS);
	if (engine && in->time_ms)
		limit(RLIMIT_CPU, (uint64_t)in->threads * (in->time_ms / 1000 + 1) + 1);
	if (in->memory && !SANITISED)
		limit(RLIMIT_DATA, data_now() + in->memory);
}

/* If memory runs out it is this process that is to go, and not the daemon. */
static void
offer_to_oom(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (write(fd, "900", 3) < 0)
		fprintf(stderr, "<4>oom_score_adj: %s\n", strerror(errno));
	close(fd);
}

static void
change_user(const struct layout_input *in)
{
	if (in->uid == LAYOUT_NOBODY && geteuid())
		return;
	if (in->uid == LAYOUT_NOBODY)
		host_fail("the process would be one of root");
	if (setgroups(0, NULL) < 0 || setresgid(in->gid, in->gid, in->gid) < 0 ||
	    setresuid(in->uid, in->uid, in->uid) < 0)
		host_fail("the process cannot become user %u: %s", in->uid, strerror(errno));
}

/* ---- System calls ---- */

/* What engines may call, whatever the arguments. */
static const int allowed[] = {
	SCMP_SYS(access), SCMP_SYS(arch_prctl), SCMP_SYS(brk), SCMP_SYS(clock_getres),
	SCMP_SYS(clock_gettime), SCMP_SYS(clock_nanosleep), SCMP_SYS(close), SCMP_SYS(dup),
	SCMP_SYS(exit), SCMP_SYS(exit_group), SCMP_SYS(faccessat), SCMP_SYS(faccessat2),
	SCMP_SYS(fstat), SCMP_SYS(fstatfs), SCMP_SYS(futex), SCMP_SYS(getcpu), SCMP_SYS(getcwd),
	SCMP_SYS(getdents64), SCMP_SYS(getegid), SCMP_SYS(geteuid), SCMP_SYS(getgid),
	SCMP_SYS(getpid), SCMP_SYS(getppid), SCMP_SYS(getrandom), SCMP_SYS(getrlimit),
	SCMP_SYS(getrusage), SCMP_SYS(gettid), SCMP_SYS(gettimeofday), SCMP_SYS(getuid),
	SCMP_SYS(lseek), SCMP_SYS(lstat), SCMP_SYS(madvise), SCMP_SYS(membarrier),
	SCMP_SYS(mincore), SCMP_SYS(mprotect), SCMP_SYS(mremap), SCMP_SYS(munmap),
	SCMP_SYS(nanosleep), SCMP_SYS(newfstatat), SCMP_SYS(poll), SCMP_SYS(ppoll),
	SCMP_SYS(pread64), SCMP_SYS(preadv), SCMP_SYS(read), SCMP_SYS(readlink),
	SCMP_SYS(readlinkat), SCMP_SYS(readv), SCMP_SYS(restart_syscall), SCMP_SYS(rseq),
	SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigpending), SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn), SCMP_SYS(rt_sigsuspend), SCMP_SYS(rt_sigtimedwait),
	SCMP_SYS(sched_getaffinity), SCMP_SYS(sched_getparam), SCMP_SYS(sched_getscheduler),
	SCMP_SYS(sched_get_priority_max), SCMP_SYS(sched_get_priority_min),
	SCMP_SYS(sched_yield), SCMP_SYS(set_robust_list),
	SCMP_SYS(set_tid_address), SCMP_SYS(sigaltstack), SCMP_SYS(stat), SCMP_SYS(statfs),
	SCMP_SYS(statx), SCMP_SYS(sysinfo), SCMP_SYS(time), SCMP_SYS(times), SCMP_SYS(uname),
};

/* What consumers may not, whatever the arguments. */
static const int denied[] = {
	SCMP_SYS(acct), SCMP_SYS(add_key), SCMP_SYS(adjtimex), SCMP_SYS(bpf), SCMP_SYS(chroot),
	SCMP_SYS(clock_adjtime), SCMP_SYS(clock_settime), SCMP_SYS(delete_module),
	SCMP_SYS(execve), SCMP_SYS(execveat), SCMP_SYS(fanotify_init), SCMP_SYS(finit_module),
	SCMP_SYS(fork), SCMP_SYS(fsconfig), SCMP_SYS(fsmount), SCMP_SYS(fsopen), SCMP_SYS(fspick),
	SCMP_SYS(init_module), SCMP_SYS(ioperm), SCMP_SYS(iopl), SCMP_SYS(kcmp),
	SCMP_SYS(kexec_file_load), SCMP_SYS(kexec_load), SCMP_SYS(keyctl), SCMP_SYS(mbind),
	SCMP_SYS(migrate_pages), SCMP_SYS(mount), SCMP_SYS(mount_setattr), SCMP_SYS(move_mount),
	SCMP_SYS(move_pages), SCMP_SYS(msgctl), SCMP_SYS(msgget), SCMP_SYS(msgrcv),
	SCMP_SYS(msgsnd), SCMP_SYS(name_to_handle_at), SCMP_SYS(open_by_handle_at),
	SCMP_SYS(open_tree), SCMP_SYS(perf_event_open), SCMP_SYS(personality),
	SCMP_SYS(pidfd_getfd), SCMP_SYS(pidfd_send_signal), SCMP_SYS(pivot_root),
	SCMP_SYS(process_madvise), SCMP_SYS(process_vm_readv), SCMP_SYS(process_vm_writev),
	SCMP_SYS(ptrace), SCMP_SYS(quotactl), SCMP_SYS(reboot), SCMP_SYS(request_key),
	SCMP_SYS(rt_sigqueueinfo), SCMP_SYS(rt_tgsigqueueinfo), SCMP_SYS(semctl),
	SCMP_SYS(semget), SCMP_SYS(semop), SCMP_SYS(setdomainname), SCMP_SYS(sethostname),
	SCMP_SYS(setns), SCMP_SYS(setpriority), SCMP_SYS(settimeofday), SCMP_SYS(shmat),
	SCMP_SYS(shmctl), SCMP_SYS(shmget), SCMP_SYS(swapoff), SCMP_SYS(swapon),
	SCMP_SYS(syslog), SCMP_SYS(tkill), SCMP_SYS(umount2), SCMP_SYS(unshare),
	SCMP_SYS(userfaultfd), SCMP_SYS(vfork),
};

/* What there would be newer ones of that nobody needs: libraries then take the older ones. */
static const int unknown[] = {
	SCMP_SYS(clone3), SCMP_SYS(io_uring_enter), SCMP_SYS(io_uring_register),
	SCMP_SYS(io_uring_setup), SCMP_SYS(openat2), SCMP_SYS(memfd_create),
	SCMP_SYS(memfd_secret),
};

#define DENY SCMP_ACT_ERRNO(EPERM)

static int
add_all(scmp_filter_ctx f, uint32_t action, const int *calls, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (calls[i] >= 0 && seccomp_rule_add(f, action, calls[i], 0))
			return -1;
	return 0;
}

/* If one of its arguments compares so; SCMP_CMP_MASKED_EQ: what `a` leaves of it is `masked`. */
static int
add(scmp_filter_ctx f, uint32_t action, int call, unsigned arg, enum scmp_compare op, uint64_t a,
    uint64_t masked)
{
	const struct scmp_arg_cmp cmp = { .arg = arg, .op = op, .datum_a = a, .datum_b = masked };

	return call < 0 ? 0 : seccomp_rule_add_array(f, action, call, 1, &cmp);
}

/* If one of its arguments, of which the kernel looks at the lower half alone, is that. */
static int
add_int(scmp_filter_ctx f, uint32_t action, int call, unsigned arg, uint32_t value)
{
	return add(f, action, call, arg, SCMP_CMP_MASKED_EQ, UINT32_MAX, value);
}

#define WRITES (O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND)

/* Threads, but no processes; files, but not to be written; memory, but of its own. */
static int
add_engine(scmp_filter_ctx f)
{
	scmp_datum_t self = (scmp_datum_t)getpid();

	return add_all(f, SCMP_ACT_ALLOW, allowed, sizeof(allowed) / sizeof(allowed[0])) ||
		add(f, SCMP_ACT_ALLOW, SCMP_SYS(clone),
		    0, SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD) ||
		add(f, SCMP_ACT_ALLOW, SCMP_SYS(open),
		    1, SCMP_CMP_MASKED_EQ, WRITES, 0) ||
		add(f, SCMP_ACT_ALLOW, SCMP_SYS(openat),
		    2, SCMP_CMP_MASKED_EQ, WRITES, 0) ||
		add(f, SCMP_ACT_ALLOW, SCMP_SYS(mmap),
		    3, SCMP_CMP_MASKED_EQ, MAP_SHARED, 0) ||
		add(f, SCMP_ACT_ALLOW, SCMP_SYS(write), 0, SCMP_CMP_LE, 2, 0) ||
		add(f, SCMP_ACT_ALLOW, SCMP_SYS(writev), 0, SCMP_CMP_LE, 2, 0) ||
		add(f, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1, SCMP_CMP_LE, F_GETFL, 0) ||
		add(f, SCMP_ACT_ALLOW, SCMP_SYS(prctl), 0, SCMP_CMP_EQ, PR_SET_NAME, 0) ||
		add(f, SCMP_ACT_ALLOW, SCMP_SYS(prctl), 0, SCMP_CMP_EQ, PR_SET_VMA, 0) ||
		add(f, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 2, SCMP_CMP_EQ, 0, 0) ||
		add(f, SCMP_ACT_ALLOW, SCMP_SYS(sched_setaffinity), 0, SCMP_CMP_EQ, 0, 0) ||
		add(f, SCMP_ACT_ALLOW, SCMP_SYS(kill), 0, SCMP_CMP_EQ, self, 0) ||
		add(f, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 0, SCMP_CMP_EQ, self, 0);
}

/* Where the daemon has no rights to give away it is a process of the same user: nothing may have
 * the kernel signal it, or schedule it otherwise. */
static int
spare_others(scmp_filter_ctx f)
{
	static const int scheduling[] = {
		SCMP_SYS(sched_setaffinity), SCMP_SYS(sched_setattr), SCMP_SYS(sched_setparam),
		SCMP_SYS(sched_setscheduler),
	};
	int rc = add_int(f, DENY, SCMP_SYS(fcntl), 1, F_SETOWN) ||
		add_int(f, DENY, SCMP_SYS(fcntl), 1, F_SETOWN_EX) ||
		add_int(f, DENY, SCMP_SYS(fcntl), 1, F_SETSIG) ||
		add_int(f, DENY, SCMP_SYS(ioctl), 1, FIOSETOWN) ||
		add_int(f, DENY, SCMP_SYS(ioctl), 1, SIOCSPGRP);

	for (size_t i = 0; i < sizeof(scheduling) / sizeof(scheduling[0]) && !rc; i++)
		rc = add(f, DENY, scheduling[i], 0, SCMP_CMP_NE, 0, 0);
	return rc;
}

static int
add_consumer(scmp_filter_ctx f)
{
	scmp_datum_t self = (scmp_datum_t)getpid();

	return add_all(f, DENY, denied, sizeof(denied) / sizeof(denied[0])) ||
		add(f, DENY, SCMP_SYS(clone), 0, SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0) ||
		add(f, DENY, SCMP_SYS(kill), 0, SCMP_CMP_NE, self, 0) ||
		add(f, DENY, SCMP_SYS(tgkill), 0, SCMP_CMP_NE, self, 0) ||
		add_int(f, DENY, SCMP_SYS(prctl), 0, PR_SET_PDEATHSIG) ||
		add_int(f, DENY, SCMP_SYS(prctl), 0, PR_SET_DUMPABLE) ||
		add(f, DENY, SCMP_SYS(prlimit64), 2, SCMP_CMP_NE, 0, 0) ||
		add_int(f, DENY, SCMP_SYS(ioctl), 1, TIOCSTI) || spare_others(f);
}

static void
confine(const struct layout_input *in)
{
	bool engine = in->mode != LAYOUT_EVENTS;
	scmp_filter_ctx f = seccomp_init(engine ? DENY : SCMP_ACT_ALLOW);
	int rc = -ENOMEM;

	if (f && !add_all(f, SCMP_ACT_ERRNO(ENOSYS), unknown,
			  sizeof(unknown) / sizeof(unknown[0])) &&
	    !(engine ? add_engine(f) : add_consumer(f)))
		rc = seccomp_load(f);
	if (rc)
		host_fail("the kernel does not let the process be confined (seccomp): %s",
			  strerror(-rc));
	seccomp_release(f);
}

void
guard(const struct layout_input *in)
{
	offer_to_oom();
	limit_all(in);
	change_user(in);
	/* A change of user forgets it. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_DUMPABLE, 0) < 0)
		host_fail("the process cannot be confined: %s", strerror(errno));
	if ((uint32_t)getppid() != in->parent)
		_exit(1);
	confine(in);
}
