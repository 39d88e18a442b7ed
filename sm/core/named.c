/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/core/named.h"

#include <stdio.h>
#include "sm/base/mem.h"

/*
 * Files that the configuration names. They are read with it, at start and at each reload, so that
 * nothing is read while the daemon works, and a broken file is told before anything is taken on. A
 * file may hold something new under its old name: the tables are compared by what they hold. Names
 * need not be: they are read where they are used.
 */
struct named *
named_load(const struct config *c, struct error *e)
{
	struct named *n = mem_zalloc(sizeof(*n));
	bool good = !c->names || (n->names = name_map_load(c->names, e));

	n->nsubnets = c->nsubnets;
	n->tables = mem_array(c->nsubnets, sizeof(struct lfts *));
	for (unsigned i = 0; i < c->nsubnets && good; i++) {
		const char *path = c->subnets[i].routing.file;

		good = !path || !lfts_read(&n->tables[i], path, e);
	}
	if (good)
		return n;
	named_free(n);
	return NULL;
}

void
named_free(struct named *n)
{
	if (!n)
		return;
	for (unsigned i = 0; i < n->nsubnets; i++)
		lfts_free(n->tables[i]);
	mem_free(n->tables);
	name_map_free(n->names);
	mem_free(n);
}

enum config_stage
named_diff(const struct named *old, const struct named *fresh, config_diff_fn fn, void *arg)
{
	enum config_stage stage = STAGE_NONE;
	char option[64];

	for (unsigned i = 0; i < fresh->nsubnets && i < old->nsubnets; i++) {
		if (!old->tables[i] || !fresh->tables[i] ||
		    lfts_equal(old->tables[i], fresh->tables[i]))
			continue;
		stage = STAGE_ROUTING;
		snprintf(option, sizeof(option), "subnets[%u].routing.file", i);
		if (fn)
			fn(arg, option, "its tables", "other ones", STAGE_ROUTING);
	}
	return stage;
}
