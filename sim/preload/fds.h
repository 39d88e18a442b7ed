/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_PRELOAD_FDS_H
#define SIM_PRELOAD_FDS_H

#include <stdbool.h>

/*
 * Which descriptors of this process are umad files, and which are ours and none of the program's
 * business ("hidden").
 */
struct umad;

/* The umad file behind a descriptor, held until umad_drop(); or NULL. */
struct umad *
fds_hold(int fd);
/* The descriptor now is this file's (which it holds), or nobody's with NULL. What it was before is
 * dropped. EMFILE if its number is too large: then u is not held. */
int
fds_set(int fd, struct umad *u);
bool
fds_any(int fd);	/* the descriptor is a umad file */

/* Move a descriptor out of the program's way and hide it; -1 if that fails, then it is closed. */
int
fds_hide(int fd);
bool
fds_hidden(int fd);
void
fds_close_hidden(int fd);

/* False in a child of vfork(), which shares our memory but not our descriptors: it must leave the
 * table as it is. */
bool
fds_ours(void);

#define FDS_MAX 65536	/* descriptors from here on are nobody's */

#endif
