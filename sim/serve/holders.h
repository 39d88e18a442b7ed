/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_HOLDERS_H
#define SIM_HOLDERS_H

#include <stdint.h>

/* The other end of a connected local socket. */
struct holder {
	int fd;			/* our end */
	uint64_t since;		/* holders_now() when it was accepted */
	uint64_t inode;		/* scratch: of the other end, 0 unknown */
	unsigned told;		/* processes that hold it and were told to end */
};

/* Nanoseconds since the machine started. */
uint64_t
holders_now(void);
/* Inode of the other end of a connected local socket; 0 where the kernel does not tell. */
uint64_t
holders_inode(int fd);
/* Ask all processes that hold the other ends to end: SIGTERM, as far as this process may send it,
 * and never to itself. Fills inode and told. */
void
holders_end(struct holder *list, unsigned len);

#endif
