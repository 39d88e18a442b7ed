/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_PRELOAD_UMAD_H
#define SIM_PRELOAD_UMAD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Open umad files, as drivers/infiniband/core/user_mad.c has them. Functions return what the system
 * call would, and set errno.
 */
struct umad;

/* Open umadN: fills *u and gives the descriptor that the program sees. */
int
umad_open(struct umad **u, unsigned index, int flags);
/* Open issmN: an ordinary descriptor. */
int
umad_open_issm(unsigned index, int flags);

/* References: one a descriptor of the program, one a call that runs. */
bool
umad_hold(struct umad *u);	/* false: it is being closed */
void
umad_drop(struct umad *u);
/* In a child of fork(): so many descriptors have it. */
void
umad_set_references(struct umad *u, unsigned n);

/* A thread that is cancelled while it waits drops the call's reference. */
ssize_t
umad_read(struct umad *u, void *buf, size_t size);
ssize_t
umad_write(struct umad *u, const void *buf, size_t size);
/* A MAD waits, or comes within the moment that is spent looking for it if `look`. */
bool
umad_ready(struct umad *u, bool look);
/* Whoever waits for other things too: the same, of any file that MADs were just read from. */
void
umad_look(void);
/* poll() found the simulator gone, and might have waited so long (-1: for ever). */
void
umad_hung_up(struct umad *u, int timeout);
/* ENOTTY: none of this device's. */
int
umad_ioctl(struct umad *u, unsigned long request, void *arg);

/* Files in use, for those who must look at all of them: 0 .. UMAD_FILES - 1, NULL for unused. */
#define UMAD_FILES 256
struct umad *
umad_file(unsigned i);
void
umad_after_fork(void);
/* One of our descriptors was closed by a call that does not come by us. */
void
umad_lost(int fd);

#endif
