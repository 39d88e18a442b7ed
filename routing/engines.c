/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/engine.h"
#include <string.h>
#include "routing/auto.h"
#include "routing/dfsssp.h"
#include "routing/dragonfly.h"
#include "routing/fatpaths.h"
#include "routing/fattree.h"
#include "routing/file.h"
#include "routing/hyperx.h"
#include "routing/minhop.h"
#include "routing/nue.h"
#include "routing/torus.h"
#include "routing/updn.h"

/* The one list of routing engines. */
const struct engine *const engines[] = {
	&engine_auto,
	&engine_fattree,
	&engine_updn,
	&engine_minhop,
	&engine_torus,
	&engine_dragonfly,
	&engine_hyperx,
	&engine_fatpaths,
	&engine_nue,
	&engine_dfsssp,
	&engine_file,
	NULL,
};

const struct engine *
engine_find(const char *name)
{
	for (const struct engine *const *e = engines; *e; e++)
		if (strcmp((*e)->name, name) == 0)
			return *e;
	return NULL;
}
