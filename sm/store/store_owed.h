/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef STORE_STORE_OWED_H
#define STORE_STORE_OWED_H

#include "sm/store/store_impl.h"

/* Changes that a backend could not write and still owes to its file, oldest first. */
struct store_owed {
	struct list batches;	/* struct store_batch; of each only region, ops and len count */
	unsigned len;		/* of their ops */
	unsigned squeeze_at;	/* length at which what newer changes made void is dropped */
};

void
owed_init(struct store_owed *w);
/* Take over the changes of a batch that has failed; it keeps none. */
void
owed_take(struct store_owed *w, struct store_batch *from);
/* They were written, or nobody will. */
void
owed_clear(struct store_owed *w);

#endif
