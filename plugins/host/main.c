/* SPDX-License-Identifier: BSD-2-Clause */
#include "plugins/host/host.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "sm/base/version.h"

/*
 * The program. The daemon starts it with the descriptors of enum layout_fd and nothing else; people
 * have no use for it.
 */
void
host_leave(void)
{
	fflush(NULL);
	_exit(0);
}

void
host_fail(const char *fmt, ...)
{
	va_list args;

	fputs("<0>", stderr);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	_exit(1);
}

void
host_refuse(struct host *h, const char *fmt, ...)
{
	char text[LAYOUT_TEXT];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (!h->out)
		host_fail("%s", text);
	memcpy(h->out->why, text, sizeof(text));
	h->out->refused = 1;
	host_leave();
}

void
host_stage(struct host *h, enum layout_stage stage)
{
	if (h->out)
		h->out->stage = stage;
}

/* Map what is there, to its end; NULL: it is no memory. */
static void *
map(int fd, int prot, uint64_t least)
{
	struct stat st;
	void *at;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || (uint64_t)st.st_size < least)
		return NULL;
	at = mmap(NULL, (size_t)st.st_size, prot, MAP_SHARED, fd, 0);
	close(fd);
	return at == MAP_FAILED ? NULL : at;
}

int
main(void)
{
	static struct host h;

	setvbuf(stdout, NULL, _IOLBF, 0);
	h.in = map(LAYOUT_INPUT, PROT_READ, sizeof(*h.in));
	if (!h.in) {
		fputs("weft-plugin-host is started by weftd and weft, to run plugins in\n",
		      stderr);
		return 2;
	}
	if (strncmp(h.in->version, WEFT_VERSION, sizeof(h.in->version)))
		host_fail("weft-plugin-host is of version " WEFT_VERSION ", who started it of "
			  "%.31s", h.in->version);
	h.out = map(LAYOUT_OUTPUT, PROT_READ | PROT_WRITE, sizeof(*h.out));
	if (!h.out)
		host_fail("there is no place for what the plugin makes");
	guard(h.in);
	table_init(&h);
	load_plugin(&h);
	switch (h.in->mode) {
	case LAYOUT_DESCRIBE:
		describe(&h);
		break;
	case LAYOUT_ROUTE:
		route(&h);
		break;
	case LAYOUT_EVENTS:
		consume(&h);
		break;
	default:
		host_fail("there is no mode %u", h.in->mode);
	}
	host_stage(&h, LAYOUT_DONE);
	host_leave();
}
