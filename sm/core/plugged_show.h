/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_PLUGGED_SHOW_H
#define CORE_PLUGGED_SHOW_H

#include "plugins/consumer.h"
#include "sm/fabric/plugin_view.h"

/* Plugins as commands show them. `consumers` may be NULL. */
/* Number `i`; false: there are fewer. */
bool
plugged_row(const struct plugin_set *set, const struct consumers *consumers, unsigned i,
	    struct plugin_row *row);
/* Option `n` of it, likewise. */
bool
plugged_option(const struct plugin_set *set, unsigned i, unsigned n,
	       struct plugin_option_row *row);

#endif
