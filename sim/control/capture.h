/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_CAPTURE_H
#define SIM_CAPTURE_H

#include <stdbool.h>
#include "sim/model/model.h"
#include "sm/base/error.h"

/*
 * Every MAD of a model recorded in a file: as pcap of ERF records of the type InfiniBand (packets
 * from the local route header on), which tshark reads, or as one line of text each. Lost MADs are
 * in it too; the text says where they got lost.
 */
struct capture;

/* What the name of a file asks for: text if it ends in .txt. */
bool
capture_is_text(const char *path);
/* "-" is standard output. A file that is there is replaced. */
int
capture_open(struct capture **c, struct model *m, const char *path, bool text, struct error *e);
/* ERR_IO if not all of it could be written. NULL is allowed. */
int
capture_close(struct capture *c, struct error *e);
uint64_t
capture_count(const struct capture *c);	/* MADs recorded */

#endif
