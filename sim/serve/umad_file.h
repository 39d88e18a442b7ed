/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_UMAD_FILE_H
#define SIM_UMAD_FILE_H

#include <stdint.h>
#include "sim/attach.h"
#include "sim/kernel/kernel.h"
#include "sm/base/loop.h"

/*
 * Open umad files: the rings that a program shares with us, the agents behind them, and the turns
 * in which all of them are served alike. What the program writes into its memory is believed by
 * nobody: the worst that comes of it is the end of its file.
 */
struct umad_pump;	/* all open files of a server */
struct umad_file;

struct umad_pump *
umad_pump_new(struct loop *l, struct kernel *k);
void
umad_pump_free(struct umad_pump *p);	/* its files were freed before; NULL is allowed */

enum umad_file_fd {
	UMAD_FD_PROGRAM,	/* readable while a MAD waits */
	UMAD_FD_MEMORY,		/* struct attach_shared */
	UMAD_FD_BELL,		/* eventfd that wakes us */
	UMAD_FDS,
};

struct umad_file_options {
	uint32_t node;		/* whose port it is */
	uint8_t port;		/* of that node */
	uint8_t qps;		/* enum host_qps: which ones agents may have */
	/* The program broke the rules of the rings: free the file. Not called inside a call. */
	void (*broken)(void *arg, const char *why);
	void *arg;		/* of broken() */
};

/* The program's descriptors are the caller's, to hand over and close. 0 or an errno value. */
int
umad_file_new(struct umad_file **f, struct umad_pump *p, const struct umad_file_options *o,
	      int fds[UMAD_FDS]);
/* What the program has sent by now is still sent. NULL is allowed. */
void
umad_file_free(struct umad_file *f);

/* Requests; each returns 0 or an errno value, after what the program has sent before was sent. */
int
umad_file_register(struct umad_file *f, const struct attach_registration *r, uint32_t *id);
int
umad_file_unregister(struct umad_file *f, uint32_t id);
int
umad_file_send_long(struct umad_file *f, int memfd, uint64_t length);
int
umad_file_fetch_long(struct umad_file *f, uint32_t id, int *memfd, uint64_t *length);

#endif
