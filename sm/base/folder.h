/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_FOLDER_H
#define BASE_FOLDER_H

#include "sm/base/error.h"

/* Make the folder that the file `path` lies in (mode 0755), if its own parent exists. 0 if it is
 * there or was made, else ERR_IO or ERR_INVALID with a sentence. */
int
folder_make(const char *path, struct error *e);

#endif
