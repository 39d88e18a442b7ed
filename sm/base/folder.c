/* SPDX-License-Identifier: BSD-2-Clause */
/* The folder of a file that is about to be made: one level, no more. */
#include "sm/base/folder.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

int
folder_make(const char *path, struct error *e)
{
	char folder[PATH_MAX];
	char *slash;

	if (snprintf(folder, sizeof(folder), "%s", path) >= (int)sizeof(folder))
		return error_set(e, ERR_INVALID, "%.200s...: the path is too long", path);
	slash = strrchr(folder, '/');
	if (!slash || slash == folder)
		return 0;
	*slash = '\0';
	if (mkdir(folder, 0755) && errno != EEXIST)
		return error_set(e, ERR_IO, "the folder %s cannot be made: %s", folder,
				 strerror(errno));
	return 0;
}
