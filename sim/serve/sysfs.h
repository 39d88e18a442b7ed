/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_SYSFS_H
#define SIM_SYSFS_H

#include "sim/kernel/kernel.h"
#include "sim/serve/host.h"
#include "sm/base/error.h"

/*
 * What programs find of a host's devices under /sys/class and /dev/infiniband, as files below a
 * folder of this object's own, which is gone with it. They follow the model: each change is
 * written, file by file and each at once, before the MAD that tells of it can be seen.
 */
struct sysfs;

/* The folder is made below $XDG_RUNTIME_DIR or, in memory if possible, /run, /dev/shm or /tmp; what
 * killed ones left there is removed. */
int
sysfs_new(struct sysfs **s, struct model *m, struct kernel *k, struct error *e);
void
sysfs_free(struct sysfs *s);	/* NULL is allowed */
/* The root of a host's tree, which is made when it is first asked for; NULL with a sentence. */
const char *
sysfs_root(struct sysfs *s, const struct host *h, struct error *e);
/* Has a port of the host an issm file? Ports without QP 0 have none. */
bool
sysfs_has_issm(const struct host *h, unsigned index);

#endif
