/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_PRELOAD_PATH_H
#define SIM_PRELOAD_PATH_H

#include <limits.h>
#include <stdbool.h>

/*
 * Which names belong to the simulated host: all below /sys/class/infiniband* and /dev/infiniband,
 * however they are written. They become names in the host's tree; others stay as they are.
 */
enum path_kind { PATH_OTHER, PATH_TREE, PATH_UMAD, PATH_ISSM };

struct path {
	const char *name;	/* to be used instead: the one given, or `text` */
	enum path_kind kind;	/* PATH_OTHER: name is the one given */
	unsigned index;		/* N of umadN, issmN */
	char text[PATH_MAX];	/* the name in the tree */
};

/* 0, or -1 with errno: the name is the simulated host's, but there is no simulator, or it is too
 * long. */
int
path_map(struct path *p, int dirfd, const char *name);
/* Take the tree's root off an absolute name, in place. */
void
path_unmap(char *name);

#endif
