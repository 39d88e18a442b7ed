/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_PRELOAD_LINK_H
#define SIM_PRELOAD_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "sim/attach.h"

/*
 * Connections to the simulator, by sim/attach.h. Functions return 0 or more, or -1 with errno set.
 */
#define LINK_FDS 3	/* at most so many descriptors come with a reply */

bool
link_wanted(void);	/* this program is to see a simulated host (WEFTSIM_SOCKET is set) */

/* A request of this kind with all that names the host and the program filled in. */
void
link_request(struct attach_request *q, enum attach_kind kind, uint32_t index);

/* A connection, close-on-exec. Nobody listens: ENXIO, as a device that is gone. */
int
link_connect(void);

/*
 * One question and its answer; `fd` (or -1) goes along. The `*nfds` descriptors (close-on-exec)
 * that came with the answer are the caller's; nfds may be NULL if none should come. A status other
 * than 0 is an error, in errno. With `interruptible`, a signal ends the wait (EINTR): then the
 * connection is of no further use. EIO: the server is gone or talks nonsense.
 */
int
link_ask(int conn, const struct attach_request *q, int fd, bool interruptible,
	 struct attach_reply *r, int fds[LINK_FDS], unsigned *nfds);

/* The root of the host's tree, without a slash at the end, copied into buf. */
int
link_root(char *buf, size_t size);
void
link_after_fork(void);	/* in the child */

#endif
