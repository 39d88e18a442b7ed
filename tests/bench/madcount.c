/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counts the MADs that a program sends, whichever program it is: preloaded before the simulator's
 * library, it stands in front of libibumad's umad_send() and adds one to a cell of the file named
 * by WEFT_MADCOUNT, an array of 256 attributes x 4 methods that the test maps or reads meanwhile.
 * What a program repeats after a time-out counts again if the program sends it again; repeats of
 * the kernel (or the simulator, which makes none) are not seen. Answers (TrapRepress, GetResp) are
 * counted as method 0: they are no requests.
 *
 * Three times follow the array, in nanoseconds of the monotonic clock: when the last Set(PortInfo)
 * before the first forwarding block went out, which ends the giving of LIDs; when the first
 * Set(SwitchInfo) or forwarding block after it did, by when routing is done; and when the last
 * block of a multicast table did. Then how many were sent in all, and a number that the test may
 * write: instead of sending its MAD of that number the program dies by SIGKILL. Then two times
 * more: when the first trap arrived since the test wrote 0 there, and when the last forwarding
 * block went out.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define ATTRIBUTES 256
#define METHODS 4
/* Offsets of common MAD header fields (IBA 13.4.3). */
#define MAD_METHOD 3
#define MAD_ATTRIBUTE 16
#define MAD_CLASS 1
#define CLASS_SUBN_LID 0x01
#define METHOD_SET 2
#define METHOD_TRAP 5
#define SWITCH_INFO 0x12
#define PORT_INFO 0x15
#define FORWARDING 0x19
#define MULTICAST 0x1b

typedef int (*send_fn)(int fd, int agent, void *umad, int length, int timeout_ms, int retries);
typedef int (*recv_fn)(int fd, void *umad, int *length, int timeout_ms);
void *
umad_get_mad(void *umad);
int
umad_send(int fd, int agent, void *umad, int length, int timeout_ms, int retries);
int
umad_recv(int fd, void *umad, int *length, int timeout_ms);

struct madcount {
	_Atomic uint64_t cell[ATTRIBUTES * METHODS];	/* sent */
	_Atomic uint64_t addressed;	/* when LIDs were all given; 0: not yet */
	_Atomic uint64_t routed;	/* when forwarding was first told of; 0: not yet */
	_Atomic uint64_t multicast;	/* when multicast was last told of; 0: not yet */
	_Atomic uint64_t total;		/* sent in all */
	_Atomic uint64_t last;		/* which of them is never sent; 0: none */
	_Atomic uint64_t trapped;	/* when a trap arrived; 0: not yet */
	_Atomic uint64_t forwarded;	/* when a forwarding block was last sent; 0: never */
};

static struct madcount *file;		/* mapped; NULL: nothing is counted */
static send_fn real_send;
static recv_fn real_recv;

static void __attribute__((constructor))
madcount_open(void)
{
	const char *path = getenv("WEFT_MADCOUNT");
	size_t size = sizeof(*file);
	int fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
	void *p;

	if (fd < 0)
		return;
	if (!ftruncate(fd, (off_t)size)) {
		p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		file = p == MAP_FAILED ? NULL : p;
	}
	close(fd);
}

static uint64_t
nanoseconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void
note_set(unsigned attribute)
{
	bool forwarding = file->cell[FORWARDING * METHODS + METHOD_SET];
	uint64_t now;

	if (attribute == MULTICAST)
		file->multicast = nanoseconds();
	if (attribute == FORWARDING)
		file->forwarded = nanoseconds();
	if (forwarding && file->routed)
		return;
	now = nanoseconds();
	if (attribute == PORT_INFO && !forwarding) {
		file->addressed = now;
		file->routed = 0;
	} else if ((attribute == SWITCH_INFO || attribute == FORWARDING) && !file->routed) {
		file->routed = now;
	}
}

static void
count(const uint8_t *mad)
{
	unsigned attribute = (unsigned)mad[MAD_ATTRIBUTE] << 8 | mad[MAD_ATTRIBUTE + 1];
	unsigned method = mad[MAD_METHOD];

	if (++file->total == file->last)
		kill(getpid(), SIGKILL);
	if (attribute >= ATTRIBUTES)
		attribute = ATTRIBUTES - 1;
	if (method >= METHODS)
		method = 0;
	atomic_fetch_add_explicit(&file->cell[attribute * METHODS + method], 1,
				  memory_order_relaxed);
	if (method == METHOD_SET)
		note_set(attribute);
}

int
umad_send(int fd, int agent, void *umad, int length, int timeout_ms, int retries)
{
	if (!real_send)
		*(void **)&real_send = dlsym(RTLD_NEXT, "umad_send");
	if (!real_send)
		return -1;
	if (file)
		count(umad_get_mad(umad));
	return real_send(fd, agent, umad, length, timeout_ms, retries);
}

int
umad_recv(int fd, void *umad, int *length, int timeout_ms)
{
	const uint8_t *mad = umad_get_mad(umad);
	int rc;

	if (!real_recv)
		*(void **)&real_recv = dlsym(RTLD_NEXT, "umad_recv");
	if (!real_recv)
		return -1;
	rc = real_recv(fd, umad, length, timeout_ms);
	if (rc >= 0 && file && !file->trapped && mad[MAD_CLASS] == CLASS_SUBN_LID &&
	    mad[MAD_METHOD] == METHOD_TRAP)
		file->trapped = nanoseconds();
	return rc;
}
