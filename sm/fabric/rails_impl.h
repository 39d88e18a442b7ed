/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_RAILS_IMPL_H
#define FABRIC_RAILS_IMPL_H

#include "sm/fabric/rails.h"

#define RAILS_FEW 3u		/* who is fewer does not make a rule */

/* rails.c collects what there is; rails_judge.c finds units, what is expected, and mistakes. */
void
rails_judge(struct rails *r);

#endif
