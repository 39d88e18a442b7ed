/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROUTING_REPAIR_H
#define ROUTING_REPAIR_H

#include "routing/check.h"

/*
 * Prove what changed since tables that are proved. Both say true only where that is enough; false
 * means that a whole proof has to look, be it that there is something wrong or that too much
 * changed for this.
 */
bool
repair_prove(const struct check_input *in, const struct plan *previous, struct plan_check *report,
	     struct plan_proof **proof);
/* in->rows and in->also make no credit loop with each other, nor with in->proved. */
bool
repair_unites(const struct check_input *in);

#endif
